"""Probabilities of decisions in episodes: at one estimate, or averaged over its uncertainty.

Under a population the average is over where the parameters of one person may lie, and how probable
each place is. It is normal on the links h = (shape, weights), and the decisions have the
likelihood L:

    p(h | decisions) is proportional to L(h) N(h; mean, covariance).

Places of the shape parameters are drawn from what is known of the profile, on the links: cells of
its grid, by height, and about its optimum; a few from the population itself. The best weights are
solved exactly at each; about these, places are drawn from a Student t as wide as the posterior
there. Every place counts by p / (density of the draw), so that neither is taken for the posterior
itself. All draws are quasi-random, and always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, mark_weak_prior_argument
from penchant.inference.profile.inner_problems import DecisionIndex
from penchant.inference.profile.profile_likelihood import VALUES, ProfileProblems
from penchant.inference.search.grid_search import ProfileGrid
from penchant.inference.search.local_maxima import Optima
from penchant.models.arguments import as_episodes
from penchant.models.model import Model
from penchant.models.priors import OnLinks
from penchant.softmax.probabilities import log_probabilities

if TYPE_CHECKING:
    from penchant.inference.fit import History

# Degrees of freedom of the Student t proposals: tails heavy enough that importance weights of a
# skewed posterior stay bounded, and not so heavy that many points are wasted.
PROPOSAL_DF = 7.0


@cache
def sobol_points(n_cube_dimensions: int, count: int) -> Matrix:
    """Quasi-random points (count, n) in the unit cube, the same ones every time."""
    # scipy.stats takes long to import, and few predictions need it.
    from scipy.stats import qmc

    return np.asarray(
        qmc.Sobol(n_cube_dimensions, rng=np.random.default_rng(20260101)).random(count)
    )


def quasi_random_t_points(n: int, count: int) -> Matrix:
    """Quasi-random points of a standard Student t, each with its opposite: (count, n)."""
    u = np.clip(sobol_points(n + 1, (count + 1) // 2), 1e-6, 1 - 1e-6)
    z = special.ndtri(u[:, :n])
    divisor = np.sqrt(special.chdtri(PROPOSAL_DF, u[:, n]) / PROPOSAL_DF)
    own = z / divisor[:, None]
    return np.concatenate([own, -own])[:count]


@cache
def random_rotations(n: int, d: int) -> Matrix:
    """Random orthogonal matrices (n, d, d), the same ones every time."""
    rng = np.random.default_rng([20260101, d])
    found, triangle = np.linalg.qr(rng.standard_normal((n, d, d)))
    return np.asarray(found * np.sign(np.einsum("naa->na", triangle))[:, None])


def squared_distances_and_log_determinants(away: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
    """Squared lengths in the units of factors (n, K, d, d), and their log-determinants."""
    inverse = np.linalg.inv(factor)
    z = np.einsum("nkab,nklb->nkla", inverse, away)
    level = np.log(np.einsum("nkaa->nka", factor)).sum(axis=-1)
    return (z**2).sum(axis=-1), level[:, :, None]


def log_student_t_density(away: Matrix, factor: Matrix) -> Matrix:
    """Log-density of the Student t that `quasi_random_t_points` draws from."""
    n = away.shape[-1]
    squared, level = squared_distances_and_log_determinants(away, factor)
    constant = special.gammaln((PROPOSAL_DF + n) / 2) - special.gammaln(PROPOSAL_DF / 2)
    constant -= 0.5 * n * np.log(PROPOSAL_DF * np.pi)
    return np.asarray(constant - level - 0.5 * (PROPOSAL_DF + n) * np.log1p(squared / PROPOSAL_DF))


# Points of psi by number of shape parameters: powers of 2, for which Sobol points are balanced.
N_SHAPE_POINTS = {0: 1, 1: 64, 2: 128}
N_SHAPE_POINTS_MANY = 256  # with three or more: twice those of two
# Points of psi and weights together: more cost in proportion, and reduce errors slowly.
N_POINTS = 1024
# Shares drawn about the optimum, from cells of the grid, which has other maxima, and from the
# population, which bounds the importance weights where both are wrong.
PROPOSAL_SHARES = (0.45, 0.45, 0.1)
# Factor of the width by the curvature: narrower proposals leave importance weights unbounded.
PROPOSAL_INFLATION = 1.3
# Standard deviations of the population that the outermost cells reach to: beyond is no mass.
MAX_PRIOR_SDS = 6.0
# Points with less posterior weight are left out: they change no digit that is shown.
MIN_POSTERIOR_WEIGHT = 1e-7


class PosteriorSample(NamedTuple):
    """Weighted sample of the posterior of a person's parameters.

    Attributes
    ----------
    psi, theta
        Shape parameters (K, q), and weights (K, L, d) at each.
    posterior_probability
        (K, L): posterior probabilities.
    """

    psi: Matrix
    theta: Matrix
    posterior_probability: Matrix


def draw_posterior_sample(
    profiles: ProfileProblems, population_on_links: OnLinks, grid: ProfileGrid, optimum: Optima
) -> PosteriorSample:
    """Importance sample of the posterior of the only subject of `profiles`, under a population."""
    coordinates, q = population_on_links.coordinates, population_on_links.coordinates.n_shape
    proposal = _propose_shape_points(population_on_links, grid, optimum)
    psi, _ = coordinates.psi(proposal.h_shape)
    subject = np.zeros(len(psi), dtype=np.int64)
    points = profiles.solve(subject, psi, proposal.start_theta, accuracy=VALUES)
    h = coordinates.from_parts(points.theta, psi)
    # psi is clipped to its range, but the proposal's density belongs to the point that was drawn.
    h[:, :q] = proposal.h_shape
    right = np.isfinite(h).all(axis=1) & np.isfinite(points.value)
    psi, h, subject = psi[right], h[right], subject[right]
    turned = random_rotations(len(h), coordinates.n_weights)
    parts = [
        _sample_weights(
            profiles, population_on_links, psi[begin:end], h[begin:end], turned[begin:end]
        )
        for begin, end in profiles.portions(subject)
    ]
    theta, log_share = (np.concatenate(both) for both in zip(*parts, strict=True))
    log_share -= proposal.log_density[right, None]
    share = np.exp(log_share - log_share.max())
    return PosteriorSample(psi, theta, share / share.sum())


class _ShapeProposal(NamedTuple):
    """Points drawn for the shape parameters.

    Attributes
    ----------
    h_shape, log_density
        Points (n, n_shape) on their links, and the log-density that they were drawn from.
    start_theta
        Weights (n, n_weights) to solve from; NaN where none are known.
    """

    h_shape: Matrix
    log_density: Vector
    start_theta: Matrix


def _propose_shape_points(known: OnLinks, grid: ProfileGrid, optimum: Optima) -> _ShapeProposal:
    q = known.coordinates.n_shape
    if not q:
        return _ShapeProposal(np.empty((1, 0)), np.zeros(1), optimum.points.theta)
    low, high = _cell_corners(known, grid)
    volume = (high - low).prod(axis=1)
    finite = np.isfinite(grid.values)
    mass = volume * np.exp(np.where(finite, grid.values, -np.inf) - grid.values[finite].max())
    mass /= mass.sum()
    centre = known.coordinates.from_parts(optimum.points.theta, optimum.points.psi)[0, :q]
    about = _Normal(centre, _proposal_factor(known, grid, optimum))
    far = _Normal(known.mean[:q], np.linalg.cholesky(np.linalg.inv(known.precision)[:q, :q]))
    sample = sobol_points(q + 1, N_SHAPE_POINTS.get(q, N_SHAPE_POINTS_MANY))
    edges = np.cumsum(PROPOSAL_SHARES)
    kind = np.searchsorted(edges, sample[:, 0], side="right")
    rank = (sample[:, 0] - edges[0]) / PROPOSAL_SHARES[1]
    cell = np.minimum(np.searchsorted(np.cumsum(mass), rank), len(mass) - 1)
    on_cells = low[cell] + sample[:, 1:] * (high - low)[cell]
    h = np.choose(
        kind[:, None], [about.quantiles(sample[:, 1:]), on_cells, far.quantiles(sample[:, 1:])]
    )
    inside = ((h[:, None] >= low) & (h[:, None] < high)).all(axis=2)
    flat = (inside * (mass / volume)).sum(axis=1)
    density = (
        PROPOSAL_SHARES[0] * about.density(h)
        + PROPOSAL_SHARES[1] * flat
        + PROPOSAL_SHARES[2] * far.density(h)
    )
    nearest = (((low + high) / 2 - h[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    start_theta = np.where(finite[nearest, None], grid.theta[nearest], np.nan)
    return _ShapeProposal(h, np.log(density), start_theta)


class _Normal(NamedTuple):
    """Normal distribution of shape parameters on their links."""

    mean: Vector
    factor: Matrix

    def quantiles(self, ranks: Matrix) -> Matrix:
        """Quantiles (n, q) of points in the unit cube."""
        z = special.ndtri(np.clip(ranks, 1e-9, 1 - 1e-9))
        return np.asarray(self.mean + z @ self.factor.T)

    def density(self, h: Matrix) -> Vector:
        """Probability density at points (n, q)."""
        z = np.linalg.solve(self.factor, (h - self.mean).T)
        level = np.abs(np.diag(self.factor)).prod() * (2 * np.pi) ** (len(self.mean) / 2)
        return np.asarray(np.exp(-0.5 * (z**2).sum(axis=0)) / level)


def _cell_corners(population_on_links: OnLinks, grid: ProfileGrid) -> tuple[Matrix, Matrix]:
    """Lower and upper corners (n_psi, q) of the grid's cells on the links.

    Cells at an end reach as far as the population does.
    """
    coordinates = population_on_links.coordinates
    sd = np.sqrt(np.diag(np.linalg.inv(population_on_links.precision)))
    low, high = np.empty_like(grid.psi), np.empty_like(grid.psi)
    for a, c in enumerate(coordinates.each[: coordinates.n_shape]):
        axis, place = np.unique(grid.psi[:, c.natural.index], return_inverse=True)
        shape = coordinates.shape[c.natural.index]
        u = np.asarray(shape.to_unconstrained(axis))
        between = np.asarray(shape.from_unconstrained((u[1:] + u[:-1]) / 2))
        edges = np.sort(c.link.inverse(c.natural.of_psi(between)))
        first = min(population_on_links.mean[a] - MAX_PRIOR_SDS * sd[a], edges[0] - sd[a])
        last = max(population_on_links.mean[a] + MAX_PRIOR_SDS * sd[a], edges[-1] + sd[a])
        edges = np.concatenate([[first], edges, [last]])
        if c.natural.is_falling:
            place = len(axis) - 1 - place
        low[:, a], high[:, a] = edges[place], edges[place + 1]
    return low, high


def _proposal_factor(known: OnLinks, grid: ProfileGrid, optimum: Optima) -> Matrix:
    coordinates, q = known.coordinates, known.coordinates.n_shape
    shape, order = coordinates.shape, coordinates.shape_order()
    h = coordinates.from_parts(optimum.points.theta, optimum.points.psi)[:, :q]
    _, slope = coordinates.psi(h)
    jacobian = np.array(
        [float(s.jacobian(p)) for s, p in zip(shape, optimum.points.psi[0], strict=True)]
    )
    # Curvatures are in unconstrained units, proposals in those of the link: convert.
    own = (slope[0] / jacobian)[order]
    precision = optimum.curvature[0][np.ix_(order, order)] * np.outer(own, own)
    precision = np.where(np.isfinite(precision), precision, 0.0)
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    least = 1.0 / np.diag(np.linalg.inv(known.precision))[:q].max()
    inverse = (vectors / np.maximum(values, least)) @ vectors.T
    return np.asarray(PROPOSAL_INFLATION * np.linalg.cholesky(inverse))


def _sample_weights(
    profiles: ProfileProblems,
    known: OnLinks,
    psi: Matrix,
    linked_shape_points: Matrix,
    random_rotation_matrices: Matrix,
) -> tuple[Matrix, Matrix]:
    """Weights (K, L, d) about the best ones at each psi; log-posteriors less log-densities."""
    coordinates, q = known.coordinates, known.coordinates.n_shape
    n, d = len(linked_shape_points), coordinates.n_weights
    theta, bend = coordinates.theta_and_slopes(linked_shape_points[:, q:])
    subject = np.zeros(n, dtype=np.int64)
    x, _ = profiles.variables(subject, psi, False)
    rows = profiles.decision_index(subject)
    profiles.zero_outside_domain(x, None, subject)
    information = _value_and_information(x, rows, theta)[1]
    curvature = np.swapaxes(bend, 1, 2) @ information @ bend + known.precision[q:, q:]
    width = _inverted_cholesky_factor(curvature)
    n_draws = N_POINTS // N_SHAPE_POINTS.get(q, N_SHAPE_POINTS_MANY)
    z = np.einsum("nab,lb->nla", random_rotation_matrices, quasi_random_t_points(d, n_draws))
    away = np.einsum("nab,nlb->nla", width, z)
    density = log_student_t_density(away[None], width[None])[0]
    sample = np.repeat(linked_shape_points[:, None], n_draws, axis=1)
    sample[..., q:] += away
    many = rows.select_pairs(np.repeat(np.arange(n), n_draws))
    theta = coordinates.theta(sample[..., q:])
    value = _value_and_information(x, many, theta.reshape(-1, d))[0].reshape(n, n_draws)
    from_mean = sample - known.mean
    prior = -0.5 * np.einsum("nla,ab,nlb->nl", from_mean, known.precision, from_mean)
    return theta, np.asarray(value + prior - density)


def _value_and_information(x: Matrix, rows: DecisionIndex, theta: Matrix) -> tuple[Vector, Matrix]:
    moments = rows.moments(x, theta)
    return np.where(np.isfinite(moments.value), moments.value, -np.inf), moments.information


def _inverted_cholesky_factor(curvature: Matrix) -> Matrix:
    unit = 1.0 / np.sqrt(np.einsum("naa->na", curvature))
    inverse = np.linalg.inv(curvature * unit[:, :, None] * unit[:, None, :])
    inverse = (inverse + np.swapaxes(inverse, 1, 2)) / 2
    return np.asarray(unit[:, :, None] * np.linalg.cholesky(inverse))


def _log_probabilities(
    model: Model, episodes: Sequence[History], theta: Vector, psi: Vector
) -> Matrix:
    if not (np.isfinite(theta).all() and np.isfinite(psi).all()):
        raise DataError(
            "predict",
            "must have a finite estimate",
            got="one that is not",
            fix=f"Fit with {mark_weak_prior_argument()} to predict.",
        )
    return _ScoredDecisions.from_episodes(model, episodes, psi).log_probabilities(theta)


@dataclass(frozen=True)
class _ScoredDecisions:
    """Decisions to predict, with their variables at one psi."""

    profiles: ProfileProblems
    choices: Choices

    @classmethod
    def from_episodes(
        cls, model: Model, episodes: Sequence[History], psi: Vector
    ) -> _ScoredDecisions:
        profiles = ProfileProblems(model, (tuple(episodes),))
        return cls(profiles, profiles.choices_at(psi))

    def log_probabilities(self, theta: Vector) -> Matrix:
        """Probability of every option at every decision scored."""
        choices, episodes = self.choices, self.profiles.episodes
        log_p = np.asarray(log_probabilities(theta, choices).reshape(choices.n_decisions, -1))
        record = self.profiles.record
        if record.choice_sets is None or record.available is None:
            return log_p
        scored = np.concatenate([episode.scored for episode in episodes])
        every = np.full(record.available[scored].shape, -np.inf)
        whole = log_p + np.log(record.n_copies[scored])[:, None]
        np.put_along_axis(every, record.choice_sets[scored], whole, axis=1)
        return every


def probabilities(model: Model, episodes: Sequence[History], theta: Vector, psi: Vector) -> Matrix:
    """Probability of every option at every decision scored."""
    return np.exp(_log_probabilities(model, episodes, theta, psi))


def decision_log_likelihoods(
    model: Model, episodes: Sequence[History], theta: Vector, psi: Vector
) -> Vector:
    """Log-probability of what was chosen."""
    if not any(episode.n_decisions for episode in episodes):
        return np.empty(0)
    log_p = _log_probabilities(model, episodes, theta, psi)
    chosen = np.concatenate([e.scored_options for e in episodes])
    return np.asarray(log_p[np.arange(len(chosen)), chosen])


@dataclass(frozen=True)
class Predictor:
    """Predict the decisions of some subjects of a scan; picklable.

    Attributes
    ----------
    function
        Of a model, its episodes and what else it takes: `probabilities`, for one.
    model, further_arguments
        What is given to it beside the episodes.
    """

    function: Callable[..., Matrix]
    model: Model
    further_arguments: tuple[Any, ...]

    def __call__(self, data: Any) -> Matrix:
        """Predictions of every decision scored."""
        return self.function(self.model, as_episodes(data), *self.further_arguments)


def probabilities_over_posterior(
    model: Model, episodes: Sequence[History], sample: PosteriorSample
) -> Matrix:
    """Probabilities averaged over a posterior sample."""
    found: Any = np.zeros(())
    for psi, theta, share in zip(*sample, strict=True):
        mine = np.flatnonzero(share > MIN_POSTERIOR_WEIGHT)
        if len(mine):
            asked = _ScoredDecisions.from_episodes(model, episodes, psi)
            each = (share[i] * np.exp(asked.log_probabilities(theta[i])) for i in mine)
            found = sum(each, start=found)
    return np.asarray(
        found
        / sample.posterior_probability[sample.posterior_probability > MIN_POSTERIOR_WEIGHT].sum()
    )


def probabilities_over_profile(
    model: Model, episodes: Sequence[History], grid: ProfileGrid, optimum: Optima
) -> Matrix:
    """Probabilities averaged over the grid and the optimum, each weighted by its profile."""
    psi = np.vstack([grid.psi, optimum.points.psi])
    theta = np.vstack([grid.theta, optimum.points.theta])
    values = np.append(grid.values, optimum.points.value)
    weights = np.exp(values - values.max())
    weights = np.where(weights > 1e-6, weights, 0.0)
    weights /= weights.sum()
    used = np.flatnonzero(weights)
    return sum(
        (weights[i] * probabilities(model, episodes, theta[i], psi[i]) for i in used),
        start=np.zeros(()),
    )
