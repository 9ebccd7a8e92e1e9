"""Quadrature rules about each subject's posterior, and the posterior modes they start from.

Up to four coordinates with spread: adaptive Gauss-Hermite product rules (Pinheiro and Bates 1995,
Liu and Pierce 1994), with k nodes per dimension and more in the shape parameters, in which
posteriors are least normal. Above that: Gauss-Hermite in the shape parameters, and for each of
their nodes importance sampling of the weights at quasi-random points of a Student t about the
conditional mode. A share of the draws comes from the population itself, which bounds the importance
weights (defensive mixture, Hesterberg 1995); each subject's points have a rotation of their own, so
that errors average out over subjects. Relies on `subject_likelihoods` for log-likelihoods
and derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.predict import (
    PROPOSAL_DF,
    log_student_t_density,
    quasi_random_t_points,
    random_rotations,
    squared_distances_and_log_determinants,
)
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.marginal_likelihood import (
    MarginalEvaluation,
    QuadratureNodes,
    RandomEffectsStructure,
)
from penchant.population.hierarchy.subject_likelihoods import SubjectLikelihoods

# Nodes per dimension of product rules, by number of dimensions: the marginal likelihood of the
# reference data sets then moves by less than 0.1 log-units with more nodes.
NODES_BY_DIMENSION = {0: 1, 1: 11, 2: 9, 3: 7, 4: 5}
# (nodes per shape parameter, draws of the weights) by number of shape parameters, where nodes are
# draws. Nodes multiply, so that draws fall as shape parameters grow: 600 to 1600 nodes per subject.
NODES_AND_DRAWS_BY_SHAPES = {0: (1, 256), 1: (5, 128), 2: (5, 64), 3: (3, 32)}
MIN_NODES_AND_DRAWS = (3, 16)  # with more shape parameters: 3^q nodes leave time for few draws
# Grid points per shape parameter in the search for modes, by number of parameters: fewer for each
# where there are more, as their product is what costs (11 to 64 points in all).
GRID_POINTS_BY_SHAPES = {1: 11, 2: 6, 3: 4}


@dataclass(frozen=True, slots=True)
class QuadratureOptions:
    """Sizes of rules, and limits of the search for posterior modes."""

    max_product_dimensions: int = 4  # 5^4 = 625 nodes; one more dimension costs more than draws
    rough_nodes: int = 5  # per dimension in early rounds, which only have to point the right way
    n_draws: int = 128  # a power of two: Sobol points are balanced at no other number
    min_information: float = 1e-10  # relative to the diagonal; keeps unidentified widths finite
    population_share: float = 0.1  # of draws; its inverse, 10, bounds every importance weight
    max_mode_steps: int = 40  # a backstop: Fisher scoring takes 5 to 15
    mode_gain_tol: float = 1e-6  # log-units: the mode is then known to 0.001 sd, enough for nodes
    max_mode_step: float = 2.0  # population sds; longer scoring steps overshoot on flat tails


QUADRATURE = QuadratureOptions()


@dataclass(frozen=True, eq=False)
class QuadratureRule:
    """Quadrature rule for a standard normal posterior.

    Attributes
    ----------
    n_shape
        Number of first coordinates that are shape parameters.
    standard_nodes
        (K, L, r): standard nodes; the first n_shape coordinates are the same for all of L.
    shape_log_weights, weight_log_weights
        (K,) and (L,): log-weights of dz, of the shape parameters and of the weights.
    uses_draws
        Whether the weights' nodes are importance draws, whose density has to be divided by.
    is_population_draw
        (L,): draws that come from the population instead of the Student t.
    """

    n_shape: int
    standard_nodes: Matrix
    shape_log_weights: Vector
    weight_log_weights: Vector
    uses_draws: bool
    is_population_draw: BoolVector

    @property
    def n_nodes(self) -> int:
        """Number of nodes of each subject."""
        return int(self.standard_nodes.shape[0] * self.standard_nodes.shape[1])

    @property
    def log_weights(self) -> Matrix:
        """Log-weights of dz: (K, L)."""
        return np.asarray(self.shape_log_weights[:, None] + self.weight_log_weights)

    @classmethod
    def for_dimensions(
        cls,
        n_shape: int,
        n_weights: int,
        k: int,
        n_draws: int = QUADRATURE.n_draws,
        extra_shape_nodes: int = 0,
    ) -> QuadratureRule:
        """Build a product rule, or one with draws of the weights if dimensions are too many.

        Parameters
        ----------
        k, extra_shape_nodes
            Nodes per dimension, and how many more in those of shape parameters.
        n_draws
            Draws of the weights where product nodes are too many.
        """
        uses_draws = n_shape + n_weights > QUADRATURE.max_product_dimensions
        on_shape, first = gauss_hermite(n_shape, k + extra_shape_nodes)
        if uses_draws:
            on_weights, second = quasi_random_t_points(n_weights, n_draws), np.zeros(n_draws)
        else:
            on_weights, second = gauss_hermite(n_weights, k)
        shape = len(on_shape), len(on_weights)
        z = np.concatenate(
            [
                np.broadcast_to(on_shape[:, None], (*shape, n_shape)),
                np.broadcast_to(on_weights[None], (*shape, n_weights)),
            ],
            axis=2,
        )
        count = round(QUADRATURE.population_share * n_draws) if uses_draws else 0
        # Every tenth draw, not the first tenth of them: both parts stay evenly spread.
        every_tenth = np.arange(shape[1]) % max(n_draws // max(count, 1), 1) == 0
        from_population = every_tenth if uses_draws else np.zeros(shape[1], dtype=bool)
        return cls(n_shape, z, first, second, uses_draws, from_population)

    def product_nodes(self, centre: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
        """Product nodes (n, K, L, r) and their log-weights (n, K, L).

        Parameters
        ----------
        centre, factor
            (n, r) and (n, r, r): each subject's posterior, the factor lower triangular.
        """
        h = centre[:, None, None] + np.einsum("nab,klb->nkla", factor, self.standard_nodes)
        level = np.log(np.einsum("naa->na", factor))
        weights = self.log_weights + level[:, : self.n_shape].sum(axis=1)[:, None, None]
        return h, weights + level[:, self.n_shape :].sum(axis=1)[:, None, None]

    def shape_nodes(self, centre: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
        """Nodes (n, K, q) in the shape parameters alone, and their log-weights (n, K)."""
        q = self.n_shape
        own = factor[:, :q, :q]
        h = centre[:, None, :q] + np.einsum("nab,kb->nka", own, self.standard_nodes[:, 0, :q])
        level = np.log(np.einsum("naa->na", own)).sum(axis=1)
        return h, self.shape_log_weights + level[:, None]

    def importance_draws(
        self,
        mode: Matrix,
        factor: Matrix,
        population_mean: Matrix,
        population_factor: Matrix,
        rotations: Matrix,
    ) -> tuple[Matrix, Matrix]:
        """Importance draws (n, K, L, d) of the weights at each shape node, and their log-weights.

        Parameters
        ----------
        mode, factor
            (n, K, d) and (n, K, d, d): conditional mode of the weights given the shape, and the
            lower factor of their covariance.
        population_mean, population_factor
            Conditional mean and lower factor under the population alone.
        rotations
            (n, d, d): orthogonal matrices that rotate the draws of each subject.
        """
        z = np.einsum("nab,lb->nla", rotations, self.standard_nodes[0, :, self.n_shape :])
        h = mode[:, :, None] + np.einsum("nkab,nlb->nkla", factor, z)
        from_population = self.is_population_draw
        own = _t_to_normal_points(z[:, from_population])
        h[:, :, from_population] = population_mean[:, :, None] + np.einsum(
            "nkab,nlb->nkla", population_factor, own
        )
        log_t_density = log_student_t_density(h - mode[:, :, None], factor)
        log_population = _log_density_of_normal(h - population_mean[:, :, None], population_factor)
        share = from_population.mean()
        density = np.logaddexp(np.log1p(-share) + log_t_density, np.log(share) + log_population)
        return h, -density - np.log(z.shape[1])


@cache
def _gauss_hermite_1d(k: int) -> tuple[Vector, Vector]:
    z, w = np.polynomial.hermite_e.hermegauss(k)
    return z, np.log(w) + 0.5 * z**2  # as integrands include their own density


def gauss_hermite(n: int, k: int) -> tuple[Matrix, Vector]:
    """Product nodes (k^n, n) and the logarithms of their weights of dz."""
    z, w = _gauss_hermite_1d(k)
    if not n:
        return np.zeros((1, 0)), np.zeros(1)
    grid = np.stack(np.meshgrid(*[z] * n, indexing="ij"), axis=-1).reshape(-1, n)
    weights = np.stack(np.meshgrid(*[w] * n, indexing="ij"), axis=-1).reshape(-1, n)
    return grid, weights.sum(axis=1)


def _t_to_normal_points(z: Matrix) -> Matrix:
    """Points of Student's t with their lengths mapped to the same quantiles of a normal's."""
    n = z.shape[-1]
    squared = (z**2).sum(axis=-1)
    share = special.fdtrc(n, PROPOSAL_DF, squared / n)
    return np.asarray(z * np.sqrt(special.chdtri(n, share) / squared)[..., None])


def _log_density_of_normal(away: Matrix, factor: Matrix) -> Matrix:
    squared, level = squared_distances_and_log_determinants(away, factor)
    return np.asarray(-0.5 * squared - level - 0.5 * away.shape[-1] * np.log(2 * np.pi))


class PosteriorModes(NamedTuple):
    """Modes (n, p), log-posteriors there, informations of the likelihood alone (n, p, p)."""

    posterior_modes: Matrix
    value: Vector
    information: Matrix


def find_modes(
    likelihoods: SubjectLikelihoods,
    subject_indices: IntVector,
    h: Matrix,
    mean: Matrix,
    precision: Matrix,
    free: IntVector,
    *,
    max_steps: int = QUADRATURE.max_mode_steps,
    with_shape_slopes: bool = True,
) -> PosteriorModes:
    """Maximize log-likelihood plus log N(mean, precision^-1) by damped Fisher scoring.

    All subjects at once, each with a step length of its own.

    Parameters
    ----------
    subject_indices, h
        Subjects (n,), and starting points (n, p).
    mean, precision
        (n, r) and (n, r, r): of the normal density of the free coordinates.
    free
        Coordinates that move; the others stay as they are.
    with_shape_slopes
        False where no shape parameter is free: their derivatives are expensive.
    """
    h = h.copy()
    n = len(subject_indices)
    first = likelihoods.derivatives(subject_indices, h[:, None, None], with_shape_slopes)
    gradient, information = first.gradient[:, 0, 0], first.information[:, 0, 0]
    value = first.value[:, 0, 0] + _log_kernel_of_normal(h[:, free], mean, precision)
    limit = QUADRATURE.max_mode_step / np.sqrt(np.einsum("naa->na", precision))
    active, fraction = np.arange(n), np.ones(n)
    step = np.zeros((n, len(free)))
    accepted = np.ones(n, dtype=bool)  # rejected ones retry a shorter step
    for _ in range(max_steps):
        mine = active[accepted[active]]
        shrinkage = np.einsum("nab,nb->na", precision[mine], h[mine][:, free] - mean[mine])
        score = gradient[mine][:, free] - shrinkage
        # Expected, not observed, information: always positive definite, so that the direction is
        # uphill even where the log-posterior is convex.
        curvature = information[mine][:, free][:, :, free] + precision[mine]
        direction = np.linalg.solve(curvature, score[:, :, None])[:, :, 0]
        scale = np.maximum(np.abs(direction / limit[mine]).max(axis=1, initial=0.0), 1.0)
        step[mine] = direction / scale[:, None]
        predicted = (direction * score).sum(axis=1)
        done = np.zeros(n, dtype=bool)
        done[mine] = predicted < QUADRATURE.mode_gain_tol
        done |= fraction < 1e-4  # nine failed cuts by 3: what is left to gain is rounding
        active = active[~done[active]]
        if not len(active):
            break
        trial = h[active]
        trial[:, free] += fraction[active, None] * step[active]
        tried = likelihoods.derivatives(
            subject_indices[active], trial[:, None, None], with_shape_slopes
        )
        new = tried.value[:, 0, 0] + _log_kernel_of_normal(
            trial[:, free], mean[active], precision[active]
        )
        up = new > value[active]
        moved = active[up]
        h[moved], value[moved] = trial[up], new[up]
        gradient[moved] = tried.gradient[up, 0, 0]
        information[moved] = tried.information[up, 0, 0]
        accepted[active] = up
        fraction[active] = np.where(up, 1.0, fraction[active] / 3)
    return PosteriorModes(h, value, information)


def starting_points(likelihoods: SubjectLikelihoods) -> Matrix:
    """Best point of a coarse grid over the shape parameters for every subject.

    Likelihoods may have several modes in the shape parameters, but are concave in the weights,
    which a few scoring steps bring near their conditional mode.
    """
    coordinates, (centre, sd) = likelihoods.coordinates, likelihoods.typical_range
    n, p, q = len(likelihoods.subjects), len(coordinates), coordinates.n_shape
    grid = shape_parameter_grid(coordinates)
    weights = np.arange(q, p)
    subject_indices = np.repeat(np.arange(n), len(grid))
    h = np.tile(centre, (len(subject_indices), 1))
    h[:, :q] = np.tile(grid, (n, 1))
    precision = np.broadcast_to(np.diag(1 / sd[q:] ** 2), (len(subject_indices), p - q, p - q))
    mean = np.broadcast_to(centre[q:], (len(subject_indices), p - q))
    modes = find_modes(
        likelihoods,
        subject_indices,
        h,
        mean,
        precision,
        weights,
        max_steps=6,
        with_shape_slopes=False,
    )
    value = modes.value - 0.5 * (((h[:, :q] - centre[:q]) / sd[:q]) ** 2).sum(axis=1)
    best = value.reshape(n, len(grid)).argmax(axis=1)
    return np.asarray(modes.posterior_modes.reshape(n, len(grid), p)[np.arange(n), best])


def shape_parameter_grid(coordinates: Coordinates) -> Matrix:
    """Grid over the ranges of the shape parameters, on their links: (n_points, q)."""
    q = coordinates.n_shape
    if not q:
        return np.zeros((1, 0))
    axes = []
    own = sum(c.link.name != "identity" for c in coordinates.each[:q])
    for c in coordinates.each[:q]:
        count = GRID_POINTS_BY_SHAPES.get(own, 3)
        if c.link.name == "identity":
            # A difference between conditions: 0 is near enough, and a grid would multiply the cost.
            axes.append(np.zeros(1))
        elif c.link.name == "logit":
            # Rates of 0.02 to 0.97: nearer to 0 and 1 likelihoods are flat, and hold few modes.
            axes.append(np.linspace(-4.0, 3.5, count))
        else:
            shape = coordinates.shape[c.natural.index]
            inside = np.linspace(*shape.search_range, count + 2)[1:-1]
            psi = np.asarray(shape.from_unconstrained(inside))
            axes.append(c.link.inverse(c.natural.of_psi(psi)))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)


def _log_kernel_of_normal(h: Matrix, mean: Matrix, precision: Matrix) -> Vector:
    away = h - mean
    return np.asarray(-0.5 * np.einsum("na,nab,nb->n", away, precision, away))


class NormalPosteriors(NamedTuple):
    """Mean and lower factor of the covariance of each subject's coordinates with spread."""

    centre: Matrix
    factor: Matrix

    def replace_subjects(self, which: IntVector, others: NormalPosteriors) -> NormalPosteriors:
        """Copy with the posteriors of some subjects replaced by their own of others."""
        made = NormalPosteriors(self.centre.copy(), self.factor.copy())
        made.centre[which], made.factor[which] = others.centre[which], others.factor[which]
        return made


def _population_means_and_covariances(
    structure: RandomEffectsStructure, x: Vector
) -> tuple[Matrix, Matrix]:
    """Means (n, p) and covariances (n, r, r) of every subject under the population."""
    matrices = structure.spread.covariance_matrices(x[structure.n_beta :])
    return structure.means(x[: structure.n_beta]), matrices[structure.group]


def laplace_posteriors(
    likelihoods: SubjectLikelihoods, structure: RandomEffectsStructure, x: Vector, h: Matrix
) -> NormalPosteriors:
    """Laplace approximation of every posterior: mode, and inverse of the expected information."""
    means, covariances = _population_means_and_covariances(structure, x)
    h = h.copy()
    h[:, structure.fixed_coordinates] = means[:, structure.fixed_coordinates]
    precision = np.asarray(np.linalg.inv(covariances), dtype=np.float64)
    if not len(structure.random_coordinates):
        return NormalPosteriors(np.zeros((len(h), 0)), np.zeros((len(h), 0, 0)))
    found = find_modes(
        likelihoods,
        np.arange(len(h)),
        h,
        means[:, structure.random_coordinates],
        precision,
        structure.random_coordinates,
    )
    information = (
        found.information[:, structure.random_coordinates][:, :, structure.random_coordinates]
        + precision
    )
    return NormalPosteriors(
        found.posterior_modes[:, structure.random_coordinates], cholesky_of_inverses(information)
    )


def cholesky_of_inverses(
    information: Matrix, min_relative: float = QUADRATURE.min_information
) -> Matrix:
    """Lower Cholesky factors of the inverses; unidentified directions get a finite width.

    `min_relative`: least eigenvalue of an information scaled to unit diagonal.
    """
    scale = np.sqrt(np.maximum(np.einsum("naa->na", information), 1e-300))
    values, vectors = np.linalg.eigh(information / (scale[:, :, None] * scale[:, None, :]))
    inside = np.maximum(values, min_relative)
    inverse = (vectors / inside[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.asarray(np.linalg.cholesky(inverse) / scale[:, :, None], dtype=np.float64)


def build_quadrature_nodes(
    likelihoods: SubjectLikelihoods,
    structure: RandomEffectsStructure,
    rule: QuadratureRule,
    x: Vector,
    posterior: NormalPosteriors,
    subject_indices: IntVector,
    *,
    with_fixed_derivatives: bool = True,
) -> QuadratureNodes:
    """Place nodes of some subjects about their posteriors, and evaluate the likelihood there.

    Derivatives in coordinates without spread are 0 unless `with_fixed_derivatives`: they are needed
    only where F is evaluated away from x.
    """
    means, covariances = _population_means_and_covariances(structure, x)
    means, covariances = means[subject_indices], covariances[subject_indices]
    own = NormalPosteriors(posterior.centre[subject_indices], posterior.factor[subject_indices])
    if rule.uses_draws:
        points, weights = _place_importance_draws(
            likelihoods, structure, rule, subject_indices, own, means, covariances
        )
    else:
        points, weights = rule.product_nodes(*own)
    h = np.empty((*points.shape[:3], means.shape[1]))
    h[..., structure.random_coordinates] = points
    h[..., structure.fixed_coordinates] = means[:, None, None, structure.fixed_coordinates]
    n, n_nodes = len(subject_indices), rule.n_nodes
    f = len(structure.fixed_coordinates)
    gradient, information = np.zeros((n, n_nodes, f)), np.zeros((n, n_nodes, f, f))
    if f and with_fixed_derivatives:
        q = likelihoods.coordinates.n_shape
        found = likelihoods.derivatives(
            subject_indices, h, with_shape_slopes=bool((structure.fixed_coordinates < q).any())
        )
        value = found.value
        gradient[:] = found.gradient[..., structure.fixed_coordinates].reshape(n, n_nodes, f)
        information[:] = found.information[..., structure.fixed_coordinates, :][
            ..., structure.fixed_coordinates
        ].reshape(n, n_nodes, f, f)
    else:
        value = likelihoods.log_likelihoods(subject_indices, h)
    # Utilities overflow far out, where the likelihood is 0 anyway: one NaN there would spoil the
    # subject's whole integral.
    overflowed = ~(
        np.isfinite(value.reshape(n, n_nodes)) & np.isfinite(information).all(axis=(2, 3))
    )
    overflowed |= ~np.isfinite(gradient).all(axis=2)
    gradient[overflowed], information[overflowed] = 0.0, 0.0
    value = np.where(overflowed.reshape(value.shape), -np.inf, value)
    return QuadratureNodes(
        points.reshape(n, n_nodes, len(structure.random_coordinates)),
        (value + weights).reshape(n, n_nodes),
        means[:, structure.fixed_coordinates].copy(),
        gradient,
        information,
    )


def _place_importance_draws(
    likelihoods: SubjectLikelihoods,
    structure: RandomEffectsStructure,
    rule: QuadratureRule,
    subject_indices: IntVector,
    own: NormalPosteriors,
    means: Matrix,
    covariances: Matrix,
) -> tuple[Matrix, Matrix]:
    """Product nodes in the shape parameters; at each, draws about the weights' conditional mode."""
    q, n = rule.n_shape, len(subject_indices)
    shape_points, weights = rule.shape_nodes(*own)
    n_psi = shape_points.shape[1]
    mean = means[:, structure.random_coordinates]
    # Weights are drawn given each shape node, so that the prior there must be the conditional one.
    regression = np.zeros((n, mean.shape[1] - q, q))
    conditional = covariances[:, q:, q:]
    if q:
        regression = np.swapaxes(
            np.linalg.solve(covariances[:, :q, :q], covariances[:, :q, q:]), 1, 2
        )
        conditional = conditional - regression @ covariances[:, :q, q:]
    conditional_mean = mean[:, None, q:] + np.einsum(
        "nab,nkb->nka", regression, shape_points - mean[:, None, :q]
    )
    h = np.repeat(means[:, None], n_psi, axis=1)
    h[:, :, structure.random_coordinates[:q]] = shape_points
    h[:, :, structure.random_coordinates[q:]] = own.centre[:, None, q:] + np.einsum(
        "nab,kb->nka", own.factor[:, q:, :q], rule.standard_nodes[:, 0, :q]
    )
    pairs = n * n_psi
    precision = np.repeat(np.linalg.inv(conditional), n_psi, axis=0)
    modes = find_modes(
        likelihoods,
        np.repeat(subject_indices, n_psi),
        h.reshape(pairs, -1),
        conditional_mean.reshape(pairs, -1),
        precision,
        structure.random_coordinates[q:],
        max_steps=15,  # importance weights correct an inexact mode: it only costs efficiency
        with_shape_slopes=False,
    )
    information = (
        modes.information[:, structure.random_coordinates[q:]][
            :, :, structure.random_coordinates[q:]
        ]
        + precision
    )
    d = conditional_mean.shape[2]
    mode = modes.posterior_modes[:, structure.random_coordinates[q:]].reshape(n, n_psi, d)
    factor = cholesky_of_inverses(information).reshape(n, n_psi, d, d)
    population_factor = np.repeat(np.linalg.cholesky(conditional)[:, None], n_psi, axis=1)
    rotations = random_rotations(len(likelihoods.subjects), d)[subject_indices]
    draws, log_weights = rule.importance_draws(
        mode, factor, conditional_mean, population_factor, rotations
    )
    points = np.empty((*draws.shape[:3], mean.shape[1]))
    points[..., :q] = shape_points[:, :, None]
    points[..., q:] = draws
    return points, weights[:, :, None] + log_weights


def updated_posterior(
    evaluation: MarginalEvaluation,
    structure: RandomEffectsStructure,
    x: Vector,
    before: NormalPosteriors,
) -> NormalPosteriors:
    """Posterior means and covariances of subjects, estimated from their nodes.

    Variances change at most by factors 0.2 and 9 at a time: nodes that are far too wide or too
    narrow estimate them badly.
    """
    r = len(structure.random_coordinates)
    if not r:
        return before
    means = (
        structure.means(x[: structure.n_beta])[:, structure.random_coordinates]
        + evaluation.means[:, :r]
    )
    covariances = evaluation.covariances[:, :r, :r]
    inverse = np.linalg.inv(before.factor)
    relative = inverse @ covariances @ np.swapaxes(inverse, 1, 2)
    values, vectors = np.linalg.eigh(relative)
    inside = np.clip(values, 0.2, 9.0)
    limited = (vectors * inside[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    covariances = before.factor @ limited @ np.swapaxes(before.factor, 1, 2)
    return NormalPosteriors(means, np.linalg.cholesky(covariances))


def posterior_shift(new: NormalPosteriors, old: NormalPosteriors) -> Vector:
    """Largest move of each posterior in its standard deviations, or change of log width."""
    if not new.centre.shape[1]:
        return np.zeros(len(new.centre))
    inverse = np.linalg.inv(old.factor)
    moved = np.abs(np.einsum("nab,nb->na", inverse, new.centre - old.centre)).max(axis=1)
    width = np.einsum("naa->na", new.factor) / np.einsum("naa->na", old.factor)
    return np.asarray(np.maximum(moved, np.abs(np.log(width)).max(axis=1)))
