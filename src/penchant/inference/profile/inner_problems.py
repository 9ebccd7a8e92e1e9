"""Inner problems: the weights of pairs of a subject and a psi, one concave problem each.

Every variable is first scaled to size 1, so that one which nearly vanishes is neither overlooked
nor makes the problem ill-conditioned. An unconstrained maximum that respects the positivity of
weights is the answer; otherwise the answer lies on a face
(`softmax.constraints.maximise_constrained`).

A density of natural parameters is not quadratic in the weights, and the objective under it not
always concave: Newton's method, for many pairs together, starts from the weights that choices
estimate under a weak prior and from those typical of the density, and the higher end counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile._inner_problem_kernels import ScoredDecisions
from penchant.models.model import Model, positive_weights
from penchant.models.parameters import Parameter
from penchant.models.priors import Density
from penchant.softmax.constraints import Constraints, maximise_constrained, maximise_on_plane
from penchant.softmax.fit_each import (
    Grouping,
    LogLikelihoodDerivatives,
    fit_decision_array,
    group_log_likelihood_derivatives,
    kernel_table_of_array,
)
from penchant.softmax.intervals_and_tests import Hypothesis
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, RestrictedLikelihood
from penchant.softmax.prior import ParameterPrior, ScaledPrior


class DecisionIndex(NamedTuple):
    """Index of the decisions of pairs, one pair after another.

    Attributes
    ----------
    chosen
        Option of every event of every pair.
    events
        First event of each pair, and the end of the last one.
    order, bounds
        Events that are scored; those of pair k are order[bounds[k] : bounds[k + 1]].
    """

    chosen: IntVector
    events: IntVector
    order: IntVector
    bounds: IntVector

    def moments(self, x: Matrix, theta: Matrix) -> LogLikelihoodDerivatives:
        """Log-likelihoods, gradients and informations of pairs in theta (n, n_weights)."""
        found = group_log_likelihood_derivatives(
            kernel_table_of_array(x, self.chosen), self.grouping, theta[:, None]
        )
        return LogLikelihoodDerivatives(*(each[:, 0] for each in found))

    @property
    def to_scored_decisions(self) -> ScoredDecisions:
        """Index that `psi_derivatives` takes: rows are counted from the first pair's."""
        nothing = np.zeros(len(self.bounds) - 1, dtype=np.int64)
        counts = np.diff(self.bounds)
        return ScoredDecisions(self.chosen, self.order, self.bounds[:-1], counts, nothing, nothing)

    @property
    def grouping(self) -> Grouping:
        """Scored decisions, and where those of each pair begin."""
        return Grouping(self.order, self.bounds)

    def scored_events(self, k: int) -> IntVector:
        """Indices of the scored events of pair k."""
        return self.order[self.bounds[k] : self.bounds[k + 1]]

    def select_pairs(self, which: IntVector) -> DecisionIndex:
        """Select pairs, of the same events."""
        lengths = np.diff(self.bounds)[which]
        return DecisionIndex(
            self.chosen,
            self.events,
            self.order[concatenate_ranges(self.bounds, which)],
            np.concatenate([[0], np.cumsum(lengths)]),
        )


def scored_choices_of_pair(
    pair: int, rows: DecisionIndex, x: Matrix, names: tuple[str, ...]
) -> Choices:
    """Scored decisions of one (subject, psi) pair; their variables are known to be finite."""
    mine = rows.scored_events(pair)
    n, (_, m, d) = len(mine), x.shape
    return Choices(
        explanatory=x[mine].reshape(n * m, d),
        first_row=np.arange(0, (n + 1) * m, m),
        chosen=rows.chosen[mine],
        names=names,
    )


def concatenate_ranges(starts: IntVector, which: IntVector) -> IntVector:
    """Integers from starts[w] to starts[w + 1], concatenated over `which`."""
    lengths = starts[which + 1] - starts[which]
    ends = np.cumsum(lengths)
    return np.repeat(starts[which] - ends + lengths, lengths) + np.arange(int(lengths.sum()))


@dataclass(frozen=True)
class InnerSolutions:
    """Inner solutions of pairs of a subject and a psi, one row each.

    Attributes
    ----------
    subject, psi
        The pairs: (n,), (n, n_shape).
    theta, value, information
        The best weights, the objective there, and minus its Hessian in the weights.
    log_likelihood
        The objective without the prior.
    gradient
        Derivative of the profile in unconstrained units (envelope theorem).
    gradient_slope_in_psi
        Derivative of the weights' gradient in psi, in unconstrained units: (n, n_weights, n_shape).
    weight_psi_information, psi_information
        Expected information on weights and psi together, and on psi: (n, n_weights, n_shape),
        (n, n_shape, n_shape), in unconstrained units.
    settled
        Newton's method ended at a maximum.
    decrement, largest, spread
        What certifies it: the last Newton step in standard errors; the largest |x| and the largest
        |x_i - x_chosen| of each variable; the variables' scatter within choice sets.
    """

    subject: IntVector
    psi: Matrix
    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    gradient: Matrix
    gradient_slope_in_psi: Matrix
    weight_psi_information: Matrix
    psi_information: Matrix
    converged: BoolVector
    decrement: Vector
    largest: Matrix
    spread: Matrix

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, which: Any) -> InnerSolutions:
        """Select rows."""
        return InnerSolutions(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def put(self, which: Any, others: InnerSolutions) -> None:
        """Replace rows in place."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[which] = getattr(others, name)

    @classmethod
    def concatenated(cls, parts: Sequence[InnerSolutions]) -> InnerSolutions:
        """Concatenate rows."""
        if len(parts) == 1:
            return parts[0]
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


@dataclass(frozen=True)
class LinearConstraint:
    """Linear constraint theta = origin + basis phi on the weights of each pair.

    Attributes
    ----------
    origin, basis
        (n, n_weights) and (n, n_weights, dimension).
    row, value
        The equivalent equation row' theta = value: (n, n_weights), (n,).
    """

    origin: Matrix
    basis: Matrix
    row: Matrix
    value: Vector

    @classmethod
    def from_parameter(cls, natural: Parameter, values: Vector, d: int) -> LinearConstraint:
        """Constrain a natural parameter made of weights to these values."""
        return cls(*natural.plane(values, d))

    @classmethod
    def concatenated(cls, parts: Sequence[LinearConstraint]) -> LinearConstraint:
        """Concatenate rows."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @cached_property
    def fixed_weight(self) -> int:
        """Index of the single weight that every row fixes, or -1.

        The other weights are then free as they are, and compiled loops can hold the one.
        """
        constrained = np.flatnonzero(self.row.any(axis=0))
        alone = len(constrained) == 1 and bool((self.row[:, constrained[0]] == 1.0).all())
        return int(constrained[0]) if alone else -1

    def take(self, which: object) -> LinearConstraint:
        """Select rows."""
        found = LinearConstraint(
            *(getattr(self, name)[which] for name in self.__dataclass_fields__)
        )
        found.__dict__["fixed_weight"] = self.fixed_weight
        return found

    def coordinates(self, theta: Matrix) -> Matrix:
        """Coordinates phi of the weights' projection onto the constraint."""
        away = theta - self.origin
        inverse = np.linalg.pinv(self.basis)
        return np.asarray(np.einsum("kra,ka->kr", inverse, away))


class ConstrainedWeights(NamedTuple):
    """Best weights (n, d) on a constraint, moments there, and whether Newton's method converged."""

    theta: Matrix
    log_likelihood: Vector
    information: Matrix
    converged: BoolVector


def solve_on_constraint(
    x: Matrix, rows: DecisionIndex, constraint: LinearConstraint, start_theta: Matrix | None
) -> ConstrainedWeights:
    """Maximize the log-likelihoods of pairs on the constraint."""
    n, _, dimension = constraint.basis.shape
    theta, converged = constraint.origin.copy(), np.ones(n, dtype=bool)
    if dimension:
        lengths = np.diff(rows.events)
        on_plane, offset = np.empty((*x.shape[:2], dimension)), np.empty(x.shape[:2])
        for k in range(n):
            mine = slice(rows.events[k], rows.events[k + 1])
            np.matmul(x[mine], constraint.basis[k], out=on_plane[mine])
            np.matmul(x[mine], constraint.origin[k], out=offset[mine])
        assert int(lengths.sum()) == len(x)
        start = None if start_theta is None else constraint.coordinates(np.nan_to_num(start_theta))
        known = offset if offset.any() else None
        batch = fit_decision_array(on_plane, rows.chosen, rows.grouping, None, start, known)
        theta += np.einsum("kar,kr->ka", constraint.basis, batch.theta)
        converged = batch.converged & np.isfinite(batch.value)
    moments = rows.moments(x, theta)
    return ConstrainedWeights(theta, moments.value, moments.information, converged)


def positivity_constraints(model: Model) -> Constraints | None:
    """Constraints on the weights that the model declares positive."""
    rows = positive_weights(model)
    if not rows:
        return None
    names = model.weights
    return Constraints.on_single_parameters(names, {names[a]: 0.0 for a in rows}, 1.0)


def prior_quadratic(prior: ParameterPrior | None, d: int, scale: Vector | None) -> Quadratic:
    """Log-prior of the weights without its constant, which depends on units."""
    if prior is None:
        return Quadratic.none(d)
    whole = prior.quadratic(d, scale)
    return Quadratic(whole.precision, whole.linear)


def best_weights(
    choices: Choices,
    limits: Constraints | None,
    prior: ParameterPrior | None,
    hypothesis: Hypothesis | None = None,
) -> Maximum:
    """Maximize the objective in the weights, inside their limits and under a hypothesis."""
    likelihood, quadratic, unit = _rescale_weights(choices, prior)
    origin, basis = np.zeros(len(unit)), np.eye(len(unit))
    if hypothesis is not None:
        origin, basis = _hyperplane(hypothesis.matrix[0] * unit, float(hypothesis.values[0]))
    plane = RestrictedLikelihood(likelihood, origin, basis)
    within = quadratic.restricted_to(origin, basis)
    inside = None
    if limits is not None:
        inside = replace(limits, matrix=limits.matrix * unit).restricted_to(origin, basis)
    found = _maximize_on_hyperplane(plane, within, inside)
    own = unit * (origin + basis @ found.theta)
    if limits is not None:
        held = limits.matrix.any(axis=0)
        own[held] = np.maximum(own[held], 0.0)
    moments = likelihood.moments(own / unit)
    information = (moments.information + quadratic.precision) / unit / unit[:, None]
    return replace(
        found,
        theta=own,
        value=moments.log_likelihood + quadratic(own / unit),
        information=information,
    )


class _RescaledProblem(NamedTuple):
    """Log-likelihood and log-prior of weights in multiples of `unit`: (n_weights,)."""

    likelihood: Likelihood
    quadratic: Quadratic
    unit: Vector


def _rescale_weights(choices: Choices, prior: ParameterPrior | None) -> _RescaledProblem:
    """Rescale the weights so that a change of 1 matters.

    It matters if it changes a utility by 1 somewhere, or the log-prior by about 1.
    """
    likelihood = likelihood_of(choices, 1)
    scale = None if prior is None else np.sqrt(np.diag(likelihood.scatter_within_sets()))
    quadratic = prior_quadratic(prior, choices.n_parameters, scale)
    size = np.hypot(
        np.asarray(likelihood.largest_values_and_differences)[1],
        np.sqrt(np.diag(quadratic.precision)),
    )
    # Scaling by powers of 2 is exact: rounding does not depend on the units of the attributes.
    unit = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
    own = Quadratic(quadratic.precision * unit * unit[:, None], quadratic.linear * unit)
    return _RescaledProblem(likelihood.in_units(unit), own, unit)


def _hyperplane(row: Vector, value: float) -> tuple[Vector, Matrix]:
    """Origin and basis of row' theta = value; the weight with the largest entry is eliminated."""
    eliminated = int(np.argmax(np.abs(row)))
    origin, basis = np.zeros(len(row)), np.eye(len(row))
    origin[eliminated] = value / row[eliminated]
    basis[eliminated] = -row / row[eliminated]
    return origin, np.delete(basis, eliminated, axis=1)


def _maximize_on_hyperplane(
    plane: RestrictedLikelihood, quadratic: Quadratic, limits: Constraints | None
) -> Maximum:
    d = plane.n_parameters
    found = maximise_on_plane(plane, quadratic, np.zeros(d), np.eye(d))
    if limits is None or (limits.matrix @ found.theta >= limits.bound).all():
        return found
    return maximise_constrained(plane, limits, quadratic)[0]


@dataclass(frozen=True, slots=True)
class DensityNewtonOptions:
    """Settings of Newton's method on the weights under a density of natural parameters."""

    max_steps: int = 100  # densities need not be concave, and steps are often shortened
    # Steps in a row that gain no more than rounding: the maximum is reached.
    max_idle_steps: int = 3
    # Newton decrement, in standard errors, at which to stop: the next one would be its square.
    decrement_tol: float = 1e-9
    # Change of a utility by one step: beyond, all probabilities are 0 or 1, and gradients vanish.
    max_utility_change: float = 100.0
    min_fraction: float = 1e-12  # shorter fractions of a step change values by rounding only
    value_rounding: float = 1e-13  # relative: equal objectives, summed differently, differ by it
    # Least eigenvalue of the scaled information: flatter directions would get endless steps.
    min_eigenvalue: float = 1e-10


DENSITY_NEWTON = DensityNewtonOptions()


class NewtonResults(NamedTuple):
    """Ends of Newton's method: weights, objective, log-likelihood, minus Hessian, certificate."""

    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    converged: BoolVector
    decrement: Vector


class ObjectiveValues(NamedTuple):
    """Objective and log-likelihood of pairs, gradient, and minus the Hessian of the objective."""

    value: Vector
    log_likelihood: Vector
    gradient: Matrix
    information: Matrix


class Objective(NamedTuple):
    """Log-likelihood plus the part of the log-prior that depends on the weights."""

    x: Matrix
    rows: DecisionIndex
    prior: Density
    psi: Matrix

    def evaluate_pairs(self, theta: Matrix, which: IntVector) -> ObjectiveValues:
        """Evaluate selected pairs."""
        moments = self.rows.select_pairs(which).moments(self.x, theta)
        value, slope, hessian = self.prior.on_weights(theta, self.psi[which])
        return ObjectiveValues(
            moments.value + value,
            moments.value,
            moments.gradient + slope,
            moments.information - hessian,
        )


def solve_under_density(
    x: Matrix,
    rows: DecisionIndex,
    prior: Density,
    psi: Matrix,
    start_theta: Matrix | None,
    constraint: LinearConstraint | None,
) -> NewtonResults:
    """Highest end of Newton's method from the usual starts, or from weights near by."""
    objective = Objective(x, rows, prior, psi)
    n, d = len(rows.bounds) - 1, x.shape[2]
    typical = np.tile(prior.typical_weights(), (n, 1))
    start_theta = np.full((n, d), np.nan) if start_theta is None else start_theta
    starts = [np.where(np.isnan(start_theta), typical, start_theta)]
    if np.isnan(start_theta).any():
        estimated = fit_decision_array(x, rows.chosen, rows.grouping, ScaledPrior()).theta
        # No gradient leads away from 0 in a density of a logarithm: start from the typical weight.
        estimated = np.where(np.abs(estimated) > 1e-8, estimated, typical)
        starts.append(np.where(np.isnan(start_theta), estimated, start_theta))
    best: NewtonResults | None = None
    for start in starts:
        valid = np.isfinite(prior.on_weights(start, psi)[0])
        start = np.where(valid[:, None], start, typical)
        if constraint is not None:
            start = constraint.origin + np.einsum(
                "kar,kr->ka", constraint.basis, constraint.coordinates(start)
            )
        ends = _newton(objective, start, constraint)
        if best is None:
            best = ends
            continue
        higher = ends.value > best.value
        for mine, other in zip(best, ends, strict=True):
            mine[higher] = other[higher]
    assert best is not None
    return best


def _newton(
    objective: Objective, start: Matrix, constraint: LinearConstraint | None
) -> NewtonResults:
    n = len(start)
    everyone = np.arange(n)
    theta = start.copy()
    reached = objective.evaluate_pairs(theta, everyone)
    decrement, converged = np.full(n, np.inf), np.zeros(n, dtype=bool)
    active, n_idle = everyone, np.zeros(n, dtype=np.int64)
    size = _largest_variable_values(objective.x, objective.rows)
    for _ in range(DENSITY_NEWTON.max_steps):
        step, squared = _newton_step(
            reached.gradient[active], reached.information[active], constraint, active
        )
        decrement[active] = np.sqrt(np.maximum(squared, 0.0))
        converged[active] = decrement[active] < DENSITY_NEWTON.decrement_tol
        moving = ~converged[active]
        active, step = active[moving], step[moving]
        if not len(active):
            break
        step = _limit_utility_change(step, theta[active], size[active])
        before = reached.value.copy()
        active = _take_step_with_halving(objective, theta, reached, active, step)
        gained = reached.value[active] > before[active] + _rounding_error(before[active])
        n_idle[active] = np.where(gained, 0, n_idle[active] + 1)
        active = active[n_idle[active] < DENSITY_NEWTON.max_idle_steps]
    return NewtonResults(
        theta, reached.value, reached.log_likelihood, reached.information, converged, decrement
    )


def _largest_variable_values(x: Matrix, rows: DecisionIndex) -> Matrix:
    """Largest |x| of each variable of every pair: (n, n_weights)."""
    each = np.abs(x).max(axis=1)
    sizes = np.zeros((len(rows.events) - 1, x.shape[2]))
    some = np.diff(rows.events) > 0
    sizes[some] = np.maximum.reduceat(each, rows.events[:-1][some])
    return sizes


def _limit_utility_change(step: Matrix, theta: Matrix, size: Matrix) -> Matrix:
    """Shorten steps that would carry utilities to where the likelihood is flat."""
    most = DENSITY_NEWTON.max_utility_change + 2 * (np.abs(theta) * size).sum(axis=1)
    length = (np.abs(step) * size).sum(axis=1)
    return np.asarray(step * np.minimum(1.0, most / np.maximum(length, 1e-300))[:, None])


def _rounding_error(value: Vector) -> Vector:
    return np.asarray(
        DENSITY_NEWTON.value_rounding * (1 + np.abs(np.where(np.isfinite(value), value, 0.0)))
    )


def _take_step_with_halving(
    objective: Objective,
    theta: Matrix,
    reached: ObjectiveValues,
    active: IntVector,
    step: Matrix,
) -> IntVector:
    """Take the first of step, step/2, step/4 ... that raises the objective; returns who moved.

    Weights theta, and the values `reached` there, are updated in place.
    """
    left, moved = np.arange(len(active)), []
    fraction = 1.0
    while len(left) and fraction > DENSITY_NEWTON.min_fraction:
        mine = active[left]
        trial = theta[mine] + fraction * step[left]
        found = objective.evaluate_pairs(trial, mine)
        up = found.value >= reached.value[mine] - _rounding_error(reached.value[mine])
        raised = mine[up]
        theta[raised] = trial[up]
        for old, new in zip(reached, found, strict=True):
            old[raised] = new[up]
        moved.append(raised)
        left = left[~up]
        fraction /= 2
    return np.sort(np.concatenate(moved)) if moved else active[:0]


def _newton_step(
    gradient: Matrix, information: Matrix, constraint: LinearConstraint | None, which: IntVector
) -> tuple[Matrix, Vector]:
    """Newton steps, uphill also where the objective is not concave; squared decrements."""
    basis = None if constraint is None else constraint.basis[which]
    if basis is not None:
        if not basis.shape[2]:
            return np.zeros_like(gradient), np.zeros(len(gradient))
        gradient = np.einsum("kar,ka->kr", basis, gradient)
        information = basis.transpose(0, 2, 1) @ information @ basis
    size_of = np.abs(information.diagonal(0, 1, 2))
    # Directions without information are left unscaled: dividing by 0 would spoil the others.
    scale = np.sqrt(np.where(size_of > 1e-100, size_of, 1.0))
    values, vectors = np.linalg.eigh(information / scale[:, :, None] / scale[:, None, :])
    # Absolute eigenvalues turn a step around that would lead down along negative curvature.
    size = np.maximum(np.abs(values), DENSITY_NEWTON.min_eigenvalue)
    along = np.einsum("kab,ka->kb", vectors, gradient / scale)
    step = np.einsum("kab,kb->ka", vectors, along / size) / scale
    squared = (step * gradient).sum(axis=1)
    if basis is not None:
        step = np.einsum("kar,kr->ka", basis, step)
    return step, squared
