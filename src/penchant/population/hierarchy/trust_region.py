"""Trust-region Newton maximisation of a population's marginal likelihood on fixed nodes.

The parameters are the coefficients beta, then the log-Cholesky parameters of the covariance between
people (see `marginal_likelihood`). On fixed nodes the log marginal likelihood F has exact
derivatives, so Newton's method with eigenvalue modification applies (Nocedal and Wright 2006,
section 3.4); steps stay within a region in which the nodes still cover the posteriors. REML adds
-log|I_beta| / 2, the Laplace integral over beta, linearised about the current point; a weak prior
of the covariance (Chung et al. 2013) may be added. Relies on `marginal_likelihood` alone: the model
is never evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.population.hierarchy.marginal_likelihood import (
    MarginalEvaluation,
    MarginalLikelihood,
    RandomEffectsStructure,
    ValueGradientHessian,
)
from penchant.population.hierarchy.subject_likelihoods import SubjectLikelihoods


@dataclass(frozen=True, slots=True)
class TrustRegionOptions:
    """Limits of the Newton iteration and of the parameter space."""

    max_newton_steps: int = 60  # a backstop against endless loops; Newton usually needs far fewer
    max_reml_updates: int = 20  # a backstop: two or three re-linearisations of REML are usual
    step_tol: float = 1e-3  # standard errors; smaller moves change no reported digit
    trust_radius: float = 0.7  # in log sd or Cholesky ratio: nodes placed for one sd serve half it
    max_log_sd_step: float = 0.7  # a factor of 2 in a step: F is far from quadratic beyond it
    max_cholesky_ratio: float = 8.0  # |t|; a correlation of 0.992, beyond which F hardly changes
    min_relative_sd: float = 0.002  # of a likelihood's sd: smaller spreads are not distinguishable
    vanishing_factor: float = 25.0  # times min_relative_sd: ends the slow descent to 0 early
    min_residual_sd: float = 0.1  # as min_relative_sd, given correlated ones: keeps S invertible
    full_power_subjects: float = 1000.0  # above it the floor falls: more people detect smaller sds


TRUST_REGION = TrustRegionOptions()


class MarginalObjective(NamedTuple):
    """The criterion: F, restricted (REML) or not, with or without a prior of the spread."""

    restricted: bool = False
    with_spread_prior: bool = False

    def log_prior(self, structure: RandomEffectsStructure, x: Vector) -> ValueGradientHessian:
        """Log-prior of the spread, with gradient and Hessian in all parameters."""
        gradient, hessian = np.zeros(len(x)), np.zeros((len(x), len(x)))
        if not self.with_spread_prior:
            return ValueGradientHessian(0.0, gradient, hessian)
        value, gradient[structure.n_beta :], hessian[structure.n_beta :, structure.n_beta :] = (
            structure.spread.log_prior(x[structure.n_beta :])
        )
        return ValueGradientHessian(value, gradient, hessian)

    def penalty(
        self,
        marginal: MarginalLikelihood,
        x: Vector,
        evaluation: MarginalEvaluation,
        held: BoolVector,
    ) -> Penalty:
        """Terms added to F, those of REML linearised about x."""
        if not (self.restricted and marginal.structure.spread.n_parameters):
            return Penalty(self, np.zeros(len(x)))
        return Penalty(self, -0.5 * log_determinant_gradient(marginal, x, evaluation, held))

    def value(self, marginal: MarginalLikelihood, x: Vector) -> float:
        """The criterion at x, REML's term exact."""
        structure = marginal.structure
        if not self.restricted:
            return marginal.value(x) + self.log_prior(structure, x).value
        evaluation = marginal.evaluate(x)
        return (
            evaluation.value
            + self.log_prior(structure, x).value
            - 0.5 * log_determinant(-evaluation.hessian[: structure.n_beta, : structure.n_beta])
        )


class Penalty(NamedTuple):
    """Terms added to F: the prior of the spread, and the linearised REML term."""

    objective: MarginalObjective
    reml_gradient: Vector

    def __call__(self, structure: RandomEffectsStructure, x: Vector) -> ValueGradientHessian:
        """Evaluate value, gradient and Hessian at x."""
        value, gradient, hessian = self.objective.log_prior(structure, x)
        return ValueGradientHessian(
            value + float(self.reml_gradient @ x), gradient + self.reml_gradient, hessian
        )


class NodeMaximum(NamedTuple):
    """Maximum x of an objective on given nodes, F there, and minus the objective's Hessian."""

    x: Vector
    evaluation: MarginalEvaluation
    information: Matrix


def maximize_on_nodes(
    marginal: MarginalLikelihood,
    x: Vector,
    log_sd_floors: Vector,
    held: BoolVector,
    objective: MarginalObjective,
    step_tol: float = TRUST_REGION.step_tol,
    *,
    within_trust_region: bool = False,
    max_reml_updates: int = TRUST_REGION.max_reml_updates,
    trust_radius: float = TRUST_REGION.trust_radius,
) -> NodeMaximum:
    """Maximize the objective on given nodes.

    Parameters
    ----------
    held
        Parameters that stay as they are (True).
    step_tol
        Standard errors by which parameters may be off.
    within_trust_region, trust_radius
        Go no farther from x than the nodes reach, in parameters of the spread by this radius.
    max_reml_updates
        How often the REML term is linearised anew.
    """
    structure = marginal.structure
    evaluation = marginal.evaluate(x)
    if within_trust_region:
        bounds = trust_region_bounds(structure, x, log_sd_floors, trust_radius)
    else:
        bounds = parameter_bounds(structure, log_sd_floors)
    # A step of e standard errors promises e^2 / 2: this is well below step_tol, but above rounding.
    gain_tol = max((0.03 * step_tol) ** 2, 1e-14)
    for _ in range(max_reml_updates if objective.restricted else 1):
        penalty = objective.penalty(marginal, x, evaluation, held)
        before = x
        x, evaluation = newton_ascent(marginal, x, penalty, bounds, held, gain_tol, evaluation)
        information = -evaluation.hessian - objective.log_prior(structure, x).hessian
        errors = standard_errors_from_information(information, held)
        if np.max(np.abs(x - before) / errors, initial=0.0) < step_tol:
            break
    return NodeMaximum(x, evaluation, information)


def newton_ascent(
    marginal: MarginalLikelihood,
    x: Vector,
    penalty: Penalty | Callable[[RandomEffectsStructure, Vector], ValueGradientHessian],
    bounds: tuple[Vector, Vector],
    held: BoolVector,
    gain_tol: float,
    evaluation: MarginalEvaluation | None = None,
) -> tuple[Vector, MarginalEvaluation]:
    """Maximize F plus the penalty by projected Newton steps with backtracking.

    `penalty` returns value, gradient and Hessian of what is added to F. Ends when a step's
    predicted gain is below `gain_tol` log-units.
    """
    low, high = bounds
    structure = marginal.structure
    evaluation = marginal.evaluate(x) if evaluation is None else evaluation
    added = penalty(structure, x)
    value = evaluation.value + added.value
    for _ in range(TRUST_REGION.max_newton_steps):
        gradient = evaluation.gradient + added.gradient
        # Parameters that the gradient presses against a bound are left out: their step would be
        # cut off there, and spoil the direction of the others.
        at_bound = ((x <= low) & (gradient < 0)) | ((x >= high) & (gradient > 0))
        free = np.flatnonzero(~held & ~at_bound)
        if not len(free):
            break
        step = np.zeros(len(x))
        hessian = evaluation.hessian + added.hessian
        step[free] = modified_newton_step(gradient[free], -hessian[np.ix_(free, free)])
        predicted = float(step @ gradient)
        if predicted < gain_tol:
            break
        longest = np.abs(step[structure.n_beta :]).max(initial=0.0)
        step *= min(1.0, TRUST_REGION.max_log_sd_step / max(longest, 1e-300))
        fraction = 1.0
        while fraction > 1e-8:
            trial = np.clip(x + fraction * step, low, high)
            new = marginal.evaluate(trial)
            new_added = penalty(structure, trial)
            finite = np.isfinite(new.hessian).all()
            gained = new.value + new_added.value - value if finite else -np.inf
            # Armijo's condition; near the maximum the gain drowns in rounding, so that a full step
            # with a tiny predicted gain is accepted unless it falls by more than rounding does.
            if gained >= 1e-4 * fraction * min(predicted, 1.0) or (
                fraction == 1.0 and gained >= -1e-10 and predicted < 1e-6
            ):
                break
            fraction /= 3
        else:
            break
        x, evaluation, added = trial, new, new_added
        value = new.value + added.value
    return x, evaluation


def _scaled_eigensystem(matrix: Matrix) -> tuple[Vector, Matrix, Vector]:
    """Eigenvalues and vectors of a matrix scaled to unit diagonal, and the scale.

    Coordinates have units: only so do eigenvalues compare across them.
    """
    size = np.abs(np.diag(matrix))
    scale = np.sqrt(np.where(size > 1e-12, size, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    return values, vectors, scale


def modified_newton_step(gradient: Vector, information: Matrix) -> Vector:
    """Newton step with eigenvalues of the information made positive: uphill where F is convex."""
    values, vectors, scale = _scaled_eigensystem(information)
    positive = np.maximum(np.abs(values), 1e-8)  # a flat direction would give an infinite step
    return np.asarray(vectors @ ((vectors.T @ (gradient / scale)) / positive) / scale)


def log_determinant_gradient(
    marginal: MarginalLikelihood, x: Vector, evaluation: MarginalEvaluation, held: BoolVector
) -> Vector:
    """Total derivative of log|I_beta| in the spread's parameters, beta following its maximum.

    By central differences: third derivatives of F are not available.
    """
    structure = marginal.structure
    b = structure.n_beta
    own = -evaluation.hessian[:b, :b]
    mixed = evaluation.hessian[:b, b:]
    # d beta / d spread by the implicit function theorem, so that differences follow the ridge.
    follow = np.column_stack([-modified_newton_step(column, own) for column in mixed.T])
    gradient = np.zeros(len(x))
    step = 1e-4  # of unit-free parameters: errors of truncation and rounding are both about 1e-8
    for a in range(b, len(x)):
        if held[a]:
            continue
        sides = []
        for sign in (1.0, -1.0):
            at = x.copy()
            at[a] += sign * step
            at[:b] -= sign * step * follow[:, a - b]
            sides.append(log_determinant(-marginal.evaluate(at).hessian[:b, :b]))
        gradient[a] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def log_determinant(information: Matrix) -> float:
    """Logarithm of |information|; unidentified directions count with a relative 1e-12."""
    values, _, scale = _scaled_eigensystem(information)
    return float(np.log(np.maximum(np.abs(values), 1e-12)).sum() + 2 * np.log(scale).sum())


def standard_errors_from_information(information: Matrix, held: BoolVector) -> Vector:
    """Approximate standard errors, by which moves are judged; infinite where held.

    Finite where the information is singular or indefinite: a scale is needed in any case.
    """
    values, vectors, scale = _scaled_eigensystem(information)
    inverse = (vectors / np.maximum(np.abs(values), 1e-8)) @ vectors.T
    return np.asarray(np.where(held, np.inf, np.sqrt(np.diag(inverse)) / scale))


def parameter_bounds(
    structure: RandomEffectsStructure, log_sd_floors: Vector
) -> tuple[Vector, Vector]:
    """Lower and upper bounds of all parameters: spreads above 0, correlations inside (-1, 1).

    The residual sd of a coordinate given those before it in the Cholesky factor has a higher floor,
    below which it cannot be detected: a covariance of less than full rank is then reached at a
    bound, where otherwise the search would creep towards minus infinity.
    """
    n_beta, r = structure.n_beta, structure.spread.size
    lowest = log_sd_floors[structure.spread.factor_order]
    if structure.spread.correlated:
        # The error of a variance shrinks with the square root of the number of people, so that the
        # smallest detectable sd shrinks with the fourth root.
        n = max(len(structure.subject_weights), 1)
        power = min(1.0, (TRUST_REGION.full_power_subjects / n) ** 0.25)
        detectable = TRUST_REGION.min_residual_sd * power
        lowest[1:] += np.log(detectable / TRUST_REGION.min_relative_sd)
    size = n_beta + structure.spread.n_parameters
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for g in range(structure.spread.n_groups):
        first = n_beta + g * structure.spread.n_per_group
        low[first : first + r] = lowest
        low[first + r : first + structure.spread.n_per_group] = -TRUST_REGION.max_cholesky_ratio
        high[first + r : first + structure.spread.n_per_group] = TRUST_REGION.max_cholesky_ratio
    return low, high


def trust_region_bounds(
    structure: RandomEffectsStructure,
    x: Vector,
    log_sd_floors: Vector,
    trust_radius: float = TRUST_REGION.trust_radius,
) -> tuple[Vector, Vector]:
    """Bounds about x within which its nodes serve: a much narrower spread falls between them."""
    radius = np.full(len(x), np.inf)
    radius[: len(structure.max_shift)] = structure.max_shift
    for g in range(structure.spread.n_groups):
        first = structure.n_beta + g * structure.spread.n_per_group
        radius[first : first + structure.spread.size] = trust_radius
        ratios = slice(first + structure.spread.size, first + structure.spread.n_per_group)
        # With t = tan(a) a correlation is sin(a): far from 0 a change of t matters less, so that
        # the region may be wider there.
        radius[ratios] = trust_radius * np.sqrt(1 + x[ratios] ** 2)
    low, high = parameter_bounds(structure, log_sd_floors)
    return np.maximum(low, x - radius), np.minimum(high, x + radius)


def floors_of_log_sd(
    structure: RandomEffectsStructure, information: Matrix, likelihoods: SubjectLikelihoods
) -> Vector:
    """Logarithm of the smallest sd between people of each coordinate that is considered.

    In units of the median subject's likelihood sd; where decisions tell next to nothing, of ten
    times the typical sd, so that the floor stays finite.
    """
    diagonal = np.einsum("naa->na", information)[:, structure.random_coordinates]
    typical = likelihoods.typical_range.sd[structure.random_coordinates]
    sd = 1.0 / np.sqrt(np.maximum(np.median(diagonal, axis=0), 1.0 / (10 * typical) ** 2))
    return np.asarray(np.log(TRUST_REGION.min_relative_sd * sd))


def sds_over_floors(structure: RandomEffectsStructure, x: Vector, log_sd_floors: Vector) -> Vector:
    """Standard deviations between people over those of a likelihood, in the widest group."""
    if not structure.spread.size:
        return np.zeros(0)
    sd = np.sqrt(np.einsum("gaa->ga", structure.spread.covariance_matrices(x[structure.n_beta :])))
    return np.asarray((TRUST_REGION.min_relative_sd * sd / np.exp(log_sd_floors)).max(axis=0))


def vanishing_spreads(
    structure: RandomEffectsStructure, x: Vector, log_sd_floors: Vector
) -> IntVector:
    """Coordinates whose spread is 0 in effect, in every group."""
    smallest = TRUST_REGION.vanishing_factor * TRUST_REGION.min_relative_sd
    return np.flatnonzero(sds_over_floors(structure, x, log_sd_floors) < smallest)
