"""Profile likelihoods of many subjects: for each psi the weights are maximized out exactly.

All subjects share a model, not their parameters. Given psi, the choices of a subject are a concave
conditional logit problem in the weights (McFadden 1974); any number of pairs of a subject and a psi
is evaluated in one call, and no result depends on which pairs are evaluated together. psi is
searched on the scale that its `Shape` declares, called unconstrained units here, inside its range.
Compiled Newton steps solve most pairs; `softmax` solves those whose maximum is far out or infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import executed_history
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.profile.inner_problems import (
    DecisionIndex,
    InnerSolutions,
    LinearConstraint,
    best_weights,
    concatenate_ranges,
    positivity_constraints,
    solve_on_constraint,
    solve_under_density,
)
from penchant.models.model import Declared, Model, natural_parameters, positive_weights
from penchant.models.parameters import Parameter, Shape
from penchant.models.priors import Density, DensityPrior, Prior
from penchant.models.record import Record
from penchant.softmax.constraints import Constraints, InfeasibleError
from penchant.softmax.fit_each import Batch, fit_decision_array
from penchant.softmax.intervals_and_tests import Hypothesis
from penchant.softmax.prior import GaussianPrior, ParameterPrior, ScaledPrior


@dataclass(frozen=True, slots=True)
class InnerProblemOptions:
    """Tolerances of the inner problem: squared Newton decrements before the last step, and limits.

    The last step leaves about the square of its squared decrement, in log-units.
    """

    # For gradients of the profile, to which errors of the weights add in first order.
    exact_decrement: float = 1e-20
    value_decrement: float = 1e-8  # for values alone: the error that is left is below rounding
    compare_decrement: float = 1e-3  # for values only compared with a height: 1e-6 does not matter
    # |weights| beyond which a start makes all choices certain, and Newton's method cannot move.
    max_start: float = 1e6
    # Steps after which the maximum may lie at infinity: the general solver decides.
    max_steps: int = 25
    max_steps_one_weight: int = 60  # steps of one weight cost less than calling that solver


INNER = InnerProblemOptions()


@dataclass(frozen=True, slots=True)
class InnerProblemAccuracy:
    """Quantities computed for every inner problem, and their accuracy.

    Attributes
    ----------
    derivatives
        Of the profile in psi.
    certificate
        What certifies a maximum, and the information also without derivatives; points on the way to
        a maximum do not need it.
    suprema
        Pairs on which Newton's method did not converge are solved one by one to their supremum.
    accept_unbounded_weights
        Where weights are held at 0 and others diverge, the value is accepted that Newton's method
        reached.
    exact_above_height
        Heights of pairs (n,) below which values that are not certified may be inexact.
    """

    derivatives: bool = True
    certificate: bool = True
    suprema: bool = True
    accept_unbounded_weights: bool = False
    exact_above_height: Vector | None = None

    def take(self, rows: Any) -> InnerProblemAccuracy:
        """Select pairs."""
        return (
            self
            if self.exact_above_height is None
            else replace(self, exact_above_height=self.exact_above_height[rows])
        )


CERTIFIED = InnerProblemAccuracy()
ITERATE = InnerProblemAccuracy(certificate=False)  # of a search: derivatives, but no proof
VALUES = InnerProblemAccuracy(derivatives=False)
FINITE_VALUES = InnerProblemAccuracy(
    derivatives=False, suprema=False
)  # suprema at infinity need not be exact
SCREENING = InnerProblemAccuracy(
    derivatives=False, suprema=False, certificate=False
)  # to be compared only


def enforce_positive(
    profiles: ProfileProblems,
    points: InnerSolutions,
    x: Matrix,
    rows: DecisionIndex,
    batch: Batch,
    inside: BoolVector,
    allow_unbounded: bool,
) -> None:
    """Solve pairs again, with the weight held at 0, where one that must be positive is not.

    The objective is concave: if a single weight leaves the range, its best value inside is 0.
    `inside`: pairs that are solved inside the range already. `roughly`: other weights may go on to
    infinity from where Newton's method stopped.
    """
    positive = profiles.positive
    wrong = (points.theta[:, positive] <= 0) & ~inside[:, None]
    if not wrong.any():
        return
    which = np.flatnonzero(wrong.any(axis=1))
    if len(positive) == 1:
        _solve_face(profiles, points, which, positive, x, rows, batch)
        return
    which = which[~solve_nonnegative_pairs(profiles, points, which, x, rows)]
    held = wrong[which]
    left = _solve_with_negative_weights_at_zero(
        profiles, points, which, held, x, rows, batch, allow_unbounded
    )
    profiles.solve_to_supremum(points, left, x, rows)


def _solve_with_negative_weights_at_zero(
    profiles: ProfileProblems,
    points: InnerSolutions,
    which: IntVector,
    held: BoolVector,
    x: Matrix,
    rows: DecisionIndex,
    batch: Batch,
    allow_unbounded: bool,
) -> IntVector:
    """Solve pairs with weights held at 0 that would be negative; returns those left unsolved.

    An active-set method. A face has the maximum if no free weight is negative and the objective
    falls from every held one: it is concave. A weight from which it rises is freed next.
    """
    positive = profiles.positive
    for _ in range(2 * len(positive)):
        repeated = np.zeros(len(which), dtype=bool)
        for pattern in np.unique(held, axis=0):
            mine = np.flatnonzero((held == pattern).all(axis=1))
            rises = _solve_face(profiles, points, which[mine], positive[pattern], x, rows, batch)
            negative = points.theta[which[mine]][:, positive] < 0
            repeated[mine] = rises.any(axis=1) | negative.any(axis=1)
            if not allow_unbounded:
                repeated[mine] |= ~points.converged[which[mine]]
            held[mine] |= negative
            held[np.ix_(mine, pattern)] &= ~rises
        which, held = which[repeated], held[repeated]
    return which


def solve_nonnegative_pairs(
    profiles: ProfileProblems,
    points: InnerSolutions,
    which: IntVector,
    x: Matrix,
    rows: DecisionIndex,
) -> BoolVector:
    """Solve pairs with nonnegative weights by compiled steps; returns which of them are solved."""
    if not len(which) or profiles.prior is not None or x.shape[1] < 2:
        return np.zeros(len(which), dtype=bool)
    n, d = len(which), profiles.n_weights
    mine = rows.select_pairs(which)
    values, theta, no_start_pair = np.empty(n), np.zeros((n, d)), np.full(n, -1)
    subject = np.ascontiguousarray(points.subject[which])
    pairs = x[concatenate_ranges(rows.events, which)], profiles.decisions, subject, no_start_pair
    compiled.solve_weights(*pairs, INNER.exact_decrement, profiles.positive, values, theta)
    found = np.isfinite(values)
    moments = mine.moments(x, theta)
    done = which[found]
    points.theta[done], points.value[done] = theta[found], moments.value[found]
    points.information[done] = moments.information[found]
    points.converged[done] = True
    # A decrement proves that a maximum exists only where all weights are free, not on a boundary.
    points.decrement[done] = np.inf
    return found


def _solve_face(
    profiles: ProfileProblems,
    points: InnerSolutions,
    which: IntVector,
    held: IntVector,
    x: Matrix,
    rows: DecisionIndex,
    batch: Batch,
) -> BoolVector:
    """Solve on the face where `held` weights are 0; returns from which the objective rises."""
    d = profiles.n_weights
    free = np.setdiff1d(np.arange(d), held)
    mine = rows.select_pairs(which)
    theta = np.zeros((len(which), d))
    converged = np.ones(len(which), dtype=bool)
    if len(free):
        prior = _prior_of_free_weights(profiles.weight_prior, free, d)
        face = fit_decision_array(x[:, :, free], rows.chosen, mine.grouping, prior)
        theta[:, free], converged = face.theta, face.converged
    moments = mine.moments(x, theta)
    spread = batch.within_set_mean_square[which]
    points.theta[which] = theta
    points.value[which] = moments.value + profiles.prior_value(theta, spread)
    points.information[which] = moments.information + profiles.precision_of_prior(spread)
    points.converged[which] = converged
    points.decrement[which] = np.inf  # on a boundary it does not prove that a maximum exists
    slope = moments.gradient[:, held]
    if isinstance(profiles.weight_prior, GaussianPrior):
        quadratic = profiles.weight_prior.quadratic(d, None)
        slope = slope + (quadratic.linear - theta @ quadratic.precision)[:, held]
    return np.asarray(~((slope <= 0) & np.isfinite(moments.value)[:, None]))


def _solve_with_fixed_weight(
    profiles: ProfileProblems,
    prior: ScaledPrior,
    points: InnerSolutions,
    x: Matrix,
    rows: DecisionIndex,
    constraint: LinearConstraint,
    start_theta: Matrix | None,
) -> BoolVector:
    """Solve pairs under a prior with one weight fixed; returns which are solved.

    The prior is one of each weight by itself: that of the free ones does not change.
    """
    n, d = points.theta.shape
    fixed_weight = constraint.fixed_weight
    free = np.setdiff1d(np.arange(d), fixed_weight)
    theta, converged = np.zeros((n, d)), np.ones(n, dtype=bool)
    theta[:, fixed_weight] = constraint.value
    spread = np.zeros((n, d, d))
    spread[:, fixed_weight, fixed_weight] = _mean_within_set_variance(x[:, :, fixed_weight], rows)
    if len(free):
        offset = x[:, :, fixed_weight] * np.repeat(constraint.value, np.diff(rows.events))[:, None]
        known = offset if offset.any() else None
        start = None if start_theta is None else np.nan_to_num(start_theta[:, free])
        batch = fit_decision_array(x[:, :, free], rows.chosen, rows.grouping, prior, start, known)
        theta[:, free], converged = batch.theta, batch.converged & np.isfinite(batch.value)
        spread[:, free[:, None], free] = batch.within_set_mean_square
    moments = rows.moments(x, theta)
    points.theta[:], points.log_likelihood[:] = theta, moments.value
    points.value[:] = moments.value + profiles.prior_value(theta, spread)
    points.information[:] = moments.information + profiles.precision_of_prior(spread)
    points.decrement[:] = np.inf  # under a constraint it does not prove that a maximum exists
    allowed: BoolVector = np.all(theta[:, profiles.positive] > 0, axis=1)
    points.converged[:] = converged & np.isfinite(moments.value) & allowed
    return points.converged.copy()


def _mean_within_set_variance(column: Matrix, rows: DecisionIndex) -> Vector:
    mine = column[rows.order]
    squares = mine.var(axis=1)
    counts = np.diff(rows.bounds)
    total = np.concatenate([[0.0], np.cumsum(squares)])
    return np.asarray(np.diff(total[rows.bounds]) / np.maximum(counts, 1))


def _prior_of_free_weights(
    prior: ParameterPrior | None, free: IntVector, d: int
) -> ParameterPrior | None:
    if not isinstance(prior, GaussianPrior):
        return prior
    quadratic = prior.quadratic(d, None)
    precision = quadratic.precision[np.ix_(free, free)]
    covariance = np.linalg.inv(precision)
    return GaussianPrior(covariance @ quadratic.linear[free], (covariance + covariance.T) / 2)


# Numbers of explanatory variables evaluated in one call: about what the processor's cache holds.
# Smaller portions are up to 15 % slower, larger ones up to 9 %.
NUMBERS_AT_ONCE = 400_000
# Step of numerical derivatives, a share of the range: balances truncation and rounding errors.
RELATIVE_DIFFERENCE_STEP = 1e-5
MODEL_ATTRIBUTES = ("shape", "weights", "positive", "limits", "natural", "density", "bounds")


@dataclass(frozen=True)
class ProfileProblems:
    """Profile problems of many subjects: their episodes, a model, and a prior on the weights.

    Attributes
    ----------
    model
        Declares weights, shape parameters and explanatory variables.
    groups
        The episodes of each subject.
    prior
        On the weights.
    """

    model: Model
    groups: tuple[tuple[Any, ...], ...]
    prior: Prior | None = None

    def with_data(self, groups: tuple[tuple[Any, ...], ...]) -> ProfileProblems:
        """Problem of other episodes; what depends on the model alone is not computed again."""
        found = ProfileProblems(self.model, groups, self.prior)
        known = {name: self.__dict__[name] for name in MODEL_ATTRIBUTES if name in self.__dict__}
        found.__dict__.update(known)
        return found

    def for_subject(self, k: int) -> ProfileProblems:
        """Problem of one of the subjects alone."""
        return self.with_data((self.groups[k],))

    @property
    def episodes(self) -> tuple[Any, ...]:
        """Episodes of all subjects."""
        return tuple(episode for group in self.groups for episode in group)

    def scored_variables(
        self, psi: Vector, with_derivatives: bool = False
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of the first subject's scored decisions, with derivatives if asked for."""
        whose = np.zeros(1, dtype=np.int64)
        x, slopes = self.variables(whose, np.asarray(psi, np.float64)[None], with_derivatives)
        scored = self.decision_index(whose).order
        return x[scored], None if slopes is None else slopes[:, scored]

    @property
    def scored_options(self) -> IntVector:
        """Options that the first subject chose, counted among those that could be chosen."""
        rows = self.decision_index(np.zeros(1, dtype=np.int64))
        return np.asarray(rows.chosen[rows.order])

    def choices_at(self, psi: Vector) -> Choices:
        """The first subject's scored decisions with the variables of this psi."""
        x, _ = self.scored_variables(psi)
        return Choices.from_arrays(x, self.scored_options, names=self.weights)

    @cached_property
    def shape(self) -> tuple[Shape, ...]:
        """Shape parameters, as the model declares them."""
        return self.model.shape

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """Names of the linear weights."""
        names = self.model.weights
        if not names:
            raise DataError(
                "model",
                "must have at least one weight",
                got=f"none of {type(self.model).__name__}",
                fix="A choice that is not a softmax of weighted variables cannot be fitted here.",
            )
        return names

    @cached_property
    def positive(self) -> IntVector:
        """Weights that must be positive."""
        return np.array(positive_weights(self.model), dtype=np.int64)

    @cached_property
    def positive_weight_constraints(self) -> Constraints | None:
        """Positivity of the weights as constraints."""
        return positivity_constraints(self.model)

    @cached_property
    def natural(self) -> tuple[Parameter, ...]:
        """Natural parameters, as the model declares them."""
        return natural_parameters(self.model)

    @cached_property
    def weight_prior(self) -> ParameterPrior | None:
        """The prior, if it is one on the weights themselves."""
        return None if isinstance(self.prior, DensityPrior) else self.prior

    @cached_property
    def density(self) -> Density | None:
        """The prior, if it is a density of natural parameters."""
        return self.prior.of_model(self.model) if isinstance(self.prior, DensityPrior) else None

    @property
    def n_shape(self) -> int:
        """Number of shape parameters."""
        return len(self.shape)

    @property
    def n_weights(self) -> int:
        """Number of linear weights."""
        return len(self.weights)

    @cached_property
    def bounds(self) -> Matrix:
        """Range of psi in unconstrained units: (n_shape, 2)."""
        return np.array([s.search_range for s in self.shape]).reshape(self.n_shape, 2)

    def to_unconstrained(self, psi: Matrix) -> Matrix:
        """Psi (n, n_shape) in unconstrained units."""
        return self._columns(psi, "to_unconstrained")

    def from_unconstrained(self, u: Matrix) -> Matrix:
        """Psi (n, n_shape) in its own units."""
        return self._columns(u, "from_unconstrained")

    def jacobian(self, psi: Matrix) -> Matrix:
        """Derivative of psi in unconstrained units: (n, n_shape)."""
        return self._columns(psi, "jacobian")

    def _columns(self, values: Matrix, method: str) -> Matrix:
        found = np.empty((len(values), self.n_shape))
        for q, shape in enumerate(self.shape):
            found[:, q] = getattr(shape, method)(values[:, q])
        return found

    @cached_property
    def record(self) -> Record:
        """Events of all episodes, subject after subject."""
        return Record.of(self.episodes)

    @cached_property
    def _chosen(self) -> IntVector:
        return np.concatenate([episode.chosen for episode in self.episodes])

    @cached_property
    def _option_ranks(self) -> IntVector:
        return self.record.ranks_of(self._chosen)

    @cached_property
    def first_episode(self) -> IntVector:
        """First episode of each subject, and the end of the last."""
        return np.concatenate([[0], np.cumsum([len(group) for group in self.groups])])

    @cached_property
    def _has_one_episode_per_subject(self) -> bool:
        return all(len(group) == 1 for group in self.groups)

    @cached_property
    def first_event(self) -> IntVector:
        """First event of each subject, and the end of the last."""
        return self.record.starts[self.first_episode]

    @cached_property
    def n_events(self) -> IntVector:
        """Number of events of each subject."""
        return np.diff(self.first_event)

    @cached_property
    def _is_scored_event(self) -> BoolVector:
        return np.concatenate([episode.scored for episode in self.episodes])

    @cached_property
    def decisions(self) -> tuple[IntVector, IntVector, IntVector, IntVector]:
        """Chosen options, first events, scored events, first scored: see `solve_weights`."""
        scored = np.flatnonzero(self._is_scored_event)
        first_scored = np.concatenate([[0], np.cumsum(self.n_decisions)])
        begins = np.repeat(self.first_event[:-1], self.n_decisions)
        return self._option_ranks, self.first_event, scored - begins, first_scored

    def _scored_decisions_of(self, subject: IntVector) -> compiled.ScoredDecisions:
        """Decisions of pairs, as indices into those of their subjects."""
        chosen, first_event, order, first = self.decisions
        row = _cumulative_offsets(self.n_events[subject])[:-1]
        counts = self.n_decisions[subject]
        return compiled.ScoredDecisions(
            chosen, order, first[subject], counts, row, first_event[subject]
        )

    @cached_property
    def n_decisions(self) -> IntVector:
        """Number of scored decisions of each subject."""
        if len(self.groups) == 1:
            return np.array([sum(episode.n_decisions for episode in self.groups[0])])
        counts = np.concatenate([[0], np.cumsum(self._is_scored_event)])
        return np.diff(counts[self.first_event])

    @cached_property
    def log_likelihood_copy_correction(self) -> Vector:
        """Log-likelihood of each subject that copies of options in small choice sets take away.

        Values of profiles are without it: it is a constant, which is added to what is reported.
        """
        own = np.where(self._is_scored_event, np.log(self.record.n_copies), 0.0)
        return np.diff(np.concatenate([[0.0], np.cumsum(own)])[self.first_event])

    @cached_property
    def n_options(self) -> int:
        """Number of options of every decision."""
        known = Declared(self.model).n_options
        if self.record.choice_sets is not None:
            return int(self.record.choice_sets.shape[1])
        if known is not None:
            return int(known)
        middle = self.from_unconstrained(self.bounds.mean(axis=1)[None])
        return int(self.variables(np.zeros(1, dtype=np.int64), middle, False)[0].shape[1])

    @cached_property
    def _decision_index_cache(self) -> dict[bytes, DecisionIndex]:
        return {}

    def decision_index(self, subject: IntVector) -> DecisionIndex:
        """Decisions of pairs; the last result is kept, as steps of a search ask for the same."""
        key = subject.tobytes()
        found = self._decision_index_cache.get(key)
        if found is None:
            found = self._build_decision_index(subject)
            self._decision_index_cache.clear()
            self._decision_index_cache[key] = found
        return found

    def _build_decision_index(self, subject: IntVector) -> DecisionIndex:
        events, bounds = (
            _cumulative_offsets(self.n_events[subject]),
            _cumulative_offsets(self.n_decisions[subject]),
        )
        chosen, order = np.empty(events[-1], np.int64), np.empty(bounds[-1], np.int64)
        places = self._option_ranks, self.first_event, self._is_scored_event
        compiled.fill_chosen_and_scored_rows(*places, np.ascontiguousarray(subject), chosen, order)
        return DecisionIndex(chosen, events, order, bounds)

    def variables(
        self, subject: IntVector, psi: Matrix, with_derivatives: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of all events of pairs, and their derivatives in psi's own units.

        Where only some options could be chosen, the variables are those of these.
        """
        x, slopes = self._variables_of_all_options(subject, psi, with_derivatives)
        choice_sets = self.record.choice_sets
        if choice_sets is not None:
            mine = choice_sets[concatenate_ranges(self.first_event, subject)]
            if slopes is not None:
                slopes = np.take_along_axis(slopes, mine[None, :, :, None], axis=2)
            x = np.take_along_axis(x, mine[:, :, None], axis=1)
        return np.ascontiguousarray(x), None if slopes is None else np.ascontiguousarray(slopes)

    def _variables_of_all_options(
        self, subject: IntVector, psi: Matrix, with_derivatives: bool
    ) -> tuple[Matrix, Matrix | None]:
        many = Declared(self.model).explanatory_many
        if many is not None:
            which, at = subject, psi
            if not self._has_one_episode_per_subject:
                which = concatenate_ranges(self.first_episode, subject)
                at = np.repeat(psi, np.diff(self.first_episode)[subject], axis=0)
            x, slopes = many(self.record, which, at, with_derivatives)
            return x, slopes if with_derivatives else None
        if not with_derivatives:
            return self._concatenate_episodes(subject, psi, self._variables_of), None
        own = Declared(self.model).explanatory_and_slopes
        if own is None:
            return self._concatenate_episodes(
                subject, psi, self._variables_of
            ), self._variable_slopes_by_differences(subject, psi)
        pairs = [
            own(executed_history(e), *at)
            for s, at in zip(subject, psi, strict=True)
            for e in self.groups[s]
        ]
        x = np.concatenate([pair[0] for pair in pairs])
        return x, np.concatenate([pair[1] for pair in pairs], axis=1)

    def _concatenate_episodes(self, subject: IntVector, psi: Matrix, describe: Any) -> Matrix:
        parts = [
            describe(e, at) for s, at in zip(subject, psi, strict=True) for e in self.groups[s]
        ]
        return np.concatenate(parts)

    def _variables_of(self, episode: Any, psi: Vector) -> Matrix:
        x = self.model.explanatory(executed_history(episode), *psi)
        array = np.asarray(x, dtype=np.float64)
        d = self.n_weights
        if array.ndim != 3 or len(array) != episode.n_events or array.shape[2] != d:
            raise DataError(
                "explanatory of a model",
                (
                    f"must return shape (n_events, n_options, n_weights) = ({episode.n_events}, "
                    f"n_options, {d})"
                ),
                got=array.shape,
                fix="Correct the model.",
            )
        episode.check_options(array.shape[1])
        return array

    def _variable_slopes_by_differences(self, subject: IntVector, psi: Matrix) -> Matrix:
        found = []
        for q in range(self.n_shape):
            low, high = self._neighbours(
                psi, q, RELATIVE_DIFFERENCE_STEP * float(np.ptp(self.bounds[q]))
            )
            above = self._concatenate_episodes(subject, high, self._variables_of)
            below = self._concatenate_episodes(subject, low, self._variables_of)
            width = np.repeat(high[:, q] - low[:, q], self.n_events[subject])
            found.append((above - below) / width[:, None, None])
        return np.stack(found) if found else np.empty((0, 0, 0, 0))

    def _neighbours(self, psi: Matrix, q: int, step: float) -> tuple[Matrix, Matrix]:
        """psi a step of u below and above in one coordinate, inside the range."""
        u = self.to_unconstrained(psi)
        low, high = u.copy(), u.copy()
        low[:, q] = np.maximum(u[:, q] - step, self.bounds[q, 0])
        high[:, q] = np.minimum(u[:, q] + step, self.bounds[q, 1])
        return self.from_unconstrained(low), self.from_unconstrained(high)

    def solve(
        self,
        subject: IntVector,
        psi: Matrix,
        start_theta: Matrix | None = None,
        *,
        accuracy: InnerProblemAccuracy = CERTIFIED,
        constraint: LinearConstraint | None = None,
    ) -> InnerSolutions:
        """Solve the weights of every (subject, psi) pair, free or under a constraint.

        `start_theta` are weights to start from, NaN where none are known.
        """
        parts = []
        for begin, end in self.portions(subject, accuracy.derivatives):
            portion = slice(begin, end)
            start = (
                None
                if start_theta is None or np.isnan(start_theta[portion]).all()
                else start_theta[portion]
            )
            plane = None if constraint is None else constraint.take(portion)
            if not accuracy.certificate and self._has_fast_solver(plane):
                pairs = subject[portion], psi[portion]
                described = self.variables(*pairs, accuracy.derivatives)
                own = accuracy.take(portion)
                parts.append(self._solve_fast(*described, *pairs, start, plane, own))
                continue
            x, slopes = self.variables(
                subject[portion], psi[portion], accuracy.derivatives and self.n_shape > 0
            )
            rows = self.decision_index(subject[portion])
            outside = self.zero_outside_domain(x, slopes, subject[portion])
            self.check_finite(x, rows)
            points = self.empty_evaluations(subject[portion], psi[portion])
            if self.density is not None:
                self._solve_under_density(self.density, points, x, rows, start, plane)
            elif plane is None:
                self._solve(points, x, rows, start, accuracy)
            else:
                self._solve_on_constraint(points, x, rows, plane, start, accuracy)
            if slopes is not None:
                self._differentiate(points, x, slopes, np.empty_like(points.information))
            points.value[outside] = points.log_likelihood[outside] = -np.inf
            points.converged[outside] = False
            parts.append(points)
        return InnerSolutions.concatenated(parts)

    def solve_points(
        self,
        subject: IntVector,
        u: Matrix,
        start_theta: Matrix | None,
        accuracy: InnerProblemAccuracy,
    ) -> InnerSolutions:
        """Solve several points u (n, n_points, n_shape), in unconstrained units, of each subject.

        `start_theta` are weights to start from, (n, n_weights) or one set for each point.
        """
        n, m, q = u.shape
        if start_theta is not None:
            start_theta = (
                start_theta if start_theta.ndim == 3 else np.repeat(start_theta[:, None], m, axis=1)
            )
            start_theta = start_theta.reshape(n * m, self.n_weights)
        psi = self.from_unconstrained(u.reshape(n * m, q))
        return self.solve(np.repeat(subject, m), psi, start_theta, accuracy=accuracy)

    def _has_fast_solver(self, constraint: LinearConstraint | None) -> bool:
        if self.prior is not None or self.n_options < 2 or not self.n_shape:
            return False
        if constraint is None:
            return True
        fixed_weight = constraint.fixed_weight
        allowed = fixed_weight not in self.positive or bool((constraint.value > 0).all())
        return fixed_weight >= 0 and allowed

    def values_on_constraint(
        self,
        subject: IntVector,
        psi: Matrix,
        start_theta: Matrix,
        constraint: LinearConstraint,
        place: IntVector,
        accuracy: InnerProblemAccuracy,
    ) -> Vector:
        """Profile values under a constraint, at pairs of which two may share their variables.

        Pairs with the same `place` have the same subject and the same psi: their variables are
        computed once. Right to a thousandth above the floor: enough to compare with a height.
        """
        if Declared(self.model).outside or not self._has_fast_solver(constraint):
            screened = replace(accuracy, exact_above_height=None)
            return self.solve(
                subject, psi, start_theta, accuracy=screened, constraint=constraint
            ).value
        order = np.argsort(place, kind="stable")
        repeated = np.diff(place[order], prepend=-1) == 0
        two = np.append(repeated[1:], False)
        first = np.concatenate([order[two], order[~two & ~repeated]])
        second, found = order[repeated], np.empty(len(place))
        for begin, end in self.portions(subject[first]):
            x, _ = self.variables(subject[first[begin:end]], psi[first[begin:end]], False)
            for which in (first[begin:end], second[begin:end]):
                if len(which):
                    mine = x[: int(self.n_events[subject[which]].sum())]
                    pairs = subject[which], psi[which], start_theta[which], constraint.take(which)
                    own = accuracy.take(which), INNER.compare_decrement
                    found[which] = self._solve_fast(mine, None, *pairs, *own).value
        return found

    def _solve_fast(
        self,
        x: Matrix,
        slopes: Matrix | None,
        subject: IntVector,
        psi: Matrix,
        start_theta: Matrix | None,
        constraint: LinearConstraint | None,
        accuracy: InnerProblemAccuracy,
        decrement: float | None = None,
    ) -> InnerSolutions:
        points = self.empty_evaluations(subject, psi)
        fixed_weight = -1 if constraint is None else constraint.fixed_weight
        theta = points.theta
        if start_theta is not None:
            theta[:] = start_theta
            far = ~(np.abs(start_theta) < INNER.max_start)
            if far.any():
                theta[far.any(axis=1)] = 0.0
        if constraint is not None:
            theta[:, fixed_weight] = constraint.value
        pairs = x, self.decisions, np.ascontiguousarray(subject)
        no_start_pair, positive = (
            np.full(len(subject), -1),
            self.positive[self.positive != fixed_weight],
        )
        if decrement is None:
            exact = accuracy.derivatives
            decrement = INNER.exact_decrement if exact else INNER.value_decrement
        floor = (
            compiled.NO_FLOOR
            if accuracy.exact_above_height is None
            else accuracy.exact_above_height
        )
        given = *pairs, no_start_pair, decrement, positive, points.value, theta
        n_steps = INNER.max_steps_one_weight if self.n_weights == 1 else INNER.max_steps
        compiled.solve_weights(*given, fixed_weight, n_steps, floor)
        # NaN is either an unconverged point or one outside the domain, with NaN variables.
        left = np.isnan(points.value)
        unsolved = bool(left.any())
        outside = self.zero_outside_domain(x, slopes, subject, left) if unsolved else left
        points.converged[:] = ~left
        if slopes is not None:
            theta[left] = 0.0
            self._differentiate(points, x, slopes, points.information)
        points.value[outside] = -np.inf
        points.log_likelihood[:] = points.value
        rest = np.flatnonzero(left & ~outside) if unsolved else ()
        if len(rest):
            found = self.solve(
                subject[rest],
                psi[rest],
                None if start_theta is None else start_theta[rest],
                accuracy=replace(accuracy, certificate=True, exact_above_height=None),
                constraint=None if constraint is None else constraint.take(rest),
            )
            points.put(rest, found)
        return points

    def empty_evaluations(self, subject: IntVector, psi: Matrix) -> InnerSolutions:
        """Evaluations that are not solved yet."""
        n, d, q = len(subject), self.n_weights, self.n_shape
        numbers = np.zeros((n, d)), np.zeros(n), np.zeros(n), np.zeros((n, d, d))
        slopes = np.zeros((n, q)), np.zeros((n, d, q)), np.zeros((n, d, q)), np.zeros((n, q, q))
        proof = np.full(n, np.inf), np.zeros((n, 2, d)), np.zeros((n, d, d))
        return InnerSolutions(subject, psi, *numbers, *slopes, np.zeros(n, dtype=bool), *proof)

    def portions(
        self, subject: IntVector, with_derivatives: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Split pairs into ranges whose variables, and derivatives if asked for, fit the cache."""
        size = self._n_variable_values_per_subject[subject] * (1 + self.n_shape * with_derivatives)
        if size.sum() < NUMBERS_AT_ONCE:
            yield 0, len(subject)
            return
        portion = np.cumsum(size) // NUMBERS_AT_ONCE
        edges = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [len(subject)]])
        yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)

    @cached_property
    def _n_variable_values_per_subject(self) -> IntVector:
        return self.n_events * self.n_options * max(self.n_weights, 1)

    def _solve(
        self,
        points: InnerSolutions,
        x: Matrix,
        rows: DecisionIndex,
        start_theta: Matrix | None,
        accuracy: InnerProblemAccuracy,
    ) -> None:
        batch = self._fit_weight_batch(x, rows, start_theta)
        points.theta[:], points.value[:] = batch.theta, batch.value
        points.information[:] = batch.information
        points.decrement[:], points.largest[:] = batch.decrement, batch.largest_values_by_variable
        points.spread[:] = batch.within_set_mean_square
        points.converged[:] = batch.converged & np.isfinite(batch.value)
        left = ~points.converged if accuracy.suprema else ~np.isfinite(points.value)
        rest = np.flatnonzero(left)
        self.solve_to_supremum(
            points, rest[~solve_nonnegative_pairs(self, points, rest, x, rows)], x, rows
        )
        enforce_positive(self, points, x, rows, batch, left, accuracy.accept_unbounded_weights)
        points.log_likelihood[:] = points.value - self.prior_value(
            points.theta, batch.within_set_mean_square
        )

    def _solve_under_density(
        self,
        prior: Density,
        points: InnerSolutions,
        x: Matrix,
        rows: DecisionIndex,
        start_theta: Matrix | None,
        constraint: LinearConstraint | None,
    ) -> None:
        ends = solve_under_density(x, rows, prior, points.psi, start_theta, constraint)
        on_shape, _ = prior.on_shape(points.psi, ends.theta)
        points.theta[:], points.value[:] = ends.theta, ends.value + on_shape
        points.log_likelihood[:], points.information[:] = ends.log_likelihood, ends.information
        points.converged[:], points.decrement[:] = ends.converged, ends.decrement

    def _solve_on_constraint(
        self,
        points: InnerSolutions,
        x: Matrix,
        rows: DecisionIndex,
        constraint: LinearConstraint,
        start_theta: Matrix | None,
        accuracy: InnerProblemAccuracy,
    ) -> None:
        everyone = np.arange(len(points))
        if self.prior is not None:
            if isinstance(self.prior, ScaledPrior) and constraint.fixed_weight >= 0:
                solved = _solve_with_fixed_weight(
                    self, self.prior, points, x, rows, constraint, start_theta
                )
                everyone = everyone[~solved]
            self.solve_to_supremum(points, everyone, x, rows, constraint)
            return
        found = solve_on_constraint(x, rows, constraint, start_theta)
        points.theta[:], points.value[:] = found.theta, found.log_likelihood
        points.information[:] = found.information
        allowed: BoolVector = np.all(found.theta[:, self.positive] > 0, axis=1)
        allowed &= np.isfinite(found.log_likelihood)
        points.converged[:] = found.converged & allowed
        left = ~points.converged if accuracy.suprema else ~allowed
        self.solve_to_supremum(points, everyone[left], x, rows, constraint)
        points.log_likelihood[:] = points.value

    def _differentiate(
        self, points: InnerSolutions, x: Matrix, slopes: Matrix, information: Matrix
    ) -> None:
        """Fill in derivatives in psi at the best weights (envelope theorem) and the information."""
        curvature = (
            points.gradient_slope_in_psi,
            points.weight_psi_information,
            points.psi_information,
            information,
        )
        pairs = points.subject, points.theta, points.psi
        self._fill_psi_derivatives(x, slopes, *pairs, points.gradient, curvature)

    def without_small_differences(self, points: InnerSolutions, ignored: float) -> Batch:
        """Fit with differences from the chosen option set to 0 where they are negligible.

        Negligible: below `ignored` times the largest difference of the variable.
        """
        parts = []
        for begin, end in self.portions(points.subject):
            some = points.take(slice(begin, end))
            x, _ = self.variables(some.subject, some.psi, False)
            rows = self.decision_index(some.subject)
            away = x - x[np.arange(len(x)), rows.chosen][:, None]
            limits = np.repeat(ignored * some.largest[:, 1], np.diff(rows.events), axis=0)
            away[np.abs(away) <= limits[:, None]] = 0.0
            parts.append(fit_decision_array(away, rows.chosen, rows.grouping, None, some.theta))
        return Batch.concatenated(parts)

    def psi_gradient_at_fixed_weights(
        self, subject: IntVector, psi: Matrix, theta: Matrix
    ) -> Matrix:
        """Derivative of the objective in psi at fixed weights, in unconstrained units."""
        found = []
        for begin, end in self.portions(subject, with_derivatives=True):
            at = subject[begin:end], psi[begin:end]
            x, slopes = self.variables(*at, True)
            assert slopes is not None
            self.zero_outside_domain(x, slopes, at[0])
            n, d, q = end - begin, self.n_weights, self.n_shape
            gradient, both = np.empty((n, q)), np.empty((2, n, d, q))
            curvature = both[0], both[1], np.empty((n, q, q)), np.empty((n, d, d))
            self._fill_psi_derivatives(
                x, slopes, at[0], theta[begin:end], at[1], gradient, curvature
            )
            found.append(gradient)
        return np.concatenate(found)

    def zero_outside_domain(
        self,
        x: Matrix,
        slopes: Matrix | None,
        subject: IntVector,
        perhaps: BoolVector | None = None,
    ) -> BoolVector:
        """Pairs whose psi is outside the model's domain; their variables become 0.

        A model that declares a domain returns NaN outside of it; of any other model a value that is
        not finite is an error. `perhaps`: pairs to check.
        """
        found = np.zeros(len(subject), dtype=bool)
        if perhaps is None:
            perhaps = ~found
        if not Declared(self.model).outside or not perhaps.any():
            return found
        scored, width = self._scored_decisions_of(subject), self.n_options * self.n_weights
        dx = np.empty((0, 0, 0)) if slopes is None else slopes.reshape(len(slopes), -1, width)
        ends = scored.first_row_of_pair + self.n_events[subject]
        compiled.zero_nonfinite_variables(x.reshape(-1, width), dx, scored, ends, perhaps, found)
        return found

    def check_finite(self, x: Matrix, rows: DecisionIndex) -> None:
        """Raise an error that names the decision where a model's variables are not finite."""
        if np.isfinite(x.sum()) or np.isfinite(x[rows.order]).all():
            return
        for k in range(len(rows.bounds) - 1):
            mine = rows.scored_events(k)
            Choices.from_arrays(x[mine], rows.chosen[mine], names=self.weights)

    def _fit_weight_batch(
        self, x: Matrix, rows: DecisionIndex, start_theta: Matrix | None
    ) -> Batch:
        start = None
        if start_theta is not None:
            near_enough: BoolVector = np.all(np.abs(start_theta) < INNER.max_start, axis=1)
            start = np.where(near_enough[:, None], start_theta, 0.0)
        batch = fit_decision_array(x, rows.chosen, rows.grouping, self.weight_prior, start)
        if start is not None:
            # From a start so far out that every choice is certain no step leads back: begin at 0.
            unsolved = np.flatnonzero(~batch.converged & start.any(axis=1))
            if len(unsolved):
                batch.put(
                    unsolved,
                    fit_decision_array(
                        x, rows.chosen, rows.select_pairs(unsolved).grouping, self.weight_prior
                    ),
                )
        return batch

    def solve_to_supremum(
        self,
        points: InnerSolutions,
        which: IntVector,
        x: Matrix,
        rows: DecisionIndex,
        constraint: LinearConstraint | None = None,
    ) -> None:
        """Solve pairs one by one to the end: maxima far out, on a boundary, or at infinity."""
        for k in which:
            mine = rows.scored_events(int(k))
            choices = Choices.from_arrays(x[mine], rows.chosen[mine], names=self.weights)
            hypothesis = None
            if constraint is not None:
                hypothesis = Hypothesis(constraint.row[k : k + 1], constraint.value[k : k + 1])
            try:
                found = best_weights(
                    choices, self.positive_weight_constraints, self.weight_prior, hypothesis
                )
            except InfeasibleError:  # without allowed weights on the constraint the profile is -inf
                points.value[k], points.converged[k] = -np.inf, False
                continue
            points.theta[k], points.value[k] = found.theta, found.value
            points.information[k] = found.information
            points.converged[k] = found.ending in ("converged", "fixed")
            points.decrement[k] = np.inf  # a supremum at infinity: no proof of a maximum

    def precision_of_prior(self, spread: Matrix) -> Matrix:
        """Precision of the prior on the weights, at each pair: (n, n_weights, n_weights)."""
        prior = self.weight_prior
        n, d = spread.shape[:2]
        if prior is None:
            return np.zeros((n, d, d))
        scales = np.sqrt(spread.diagonal(0, 1, 2))
        return np.stack([prior.quadratic(d, scale).precision for scale in scales])

    def prior_value(self, theta: Matrix, spread: Matrix) -> Vector:
        """Log-prior of the weights without its constant, which depends on units."""
        prior = self.weight_prior
        if prior is None:
            return np.zeros(len(theta))
        if isinstance(prior, ScaledPrior):
            squared = spread.diagonal(0, 1, 2)
            held = np.where(squared > 0, squared, 1.0)
            return np.asarray(-0.5 * prior.c * (held * theta**2).sum(axis=1))
        quadratic = prior.quadratic(self.n_weights, None)
        pull = theta @ quadratic.precision
        return np.asarray((theta * (quadratic.linear - 0.5 * pull)).sum(axis=1))

    def _fill_psi_derivatives(
        self,
        x: Matrix,
        slopes: Matrix,
        subject: IntVector,
        theta: Matrix,
        psi: Matrix,
        gradient: Matrix,
        curvature: tuple[Matrix, Matrix, Matrix, Matrix],
    ) -> None:
        scored = self._scored_decisions_of(subject)
        compiled.psi_derivatives(x, slopes, scored, theta, gradient, curvature)
        if self.density is not None:
            gradient += self.density.on_shape(psi, theta)[1]
        if isinstance(self.prior, ScaledPrior):
            spreading = np.empty_like(curvature[0])
            compiled.scatter_derivative(x, slopes, scored, spreading)
            pull = self.prior.c * theta[:, :, None] * spreading
            gradient -= 0.5 * (theta[:, :, None] * pull).sum(axis=1)
            curvature[0][:] -= pull
        compiled.to_unconstrained_derivatives(self.jacobian(psi), gradient, *curvature[:3])


def _cumulative_offsets(lengths: IntVector) -> IntVector:
    found = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found
