"""The profiles of many subjects: for each psi the weights are solved exactly, in compiled code.

All subjects share a model, not their parameters. A pair of a subject and a psi is a convex problem;
any number of pairs is evaluated in one call, and no pair depends on the company it is evaluated in.
psi is searched on the scale that its `Shape` declares: "search units".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import history_learnt_from
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile import _kernels as grid
from penchant.inference.profile.pairs import (
    Planes,
    Points,
    Rows,
    best_on_planes,
    best_under,
    best_weights,
    limits_of,
    ranges,
)
from penchant.models.model import Declared, Model, natural_parameters, positive_weights
from penchant.models.natural import Natural, Shape
from penchant.models.priors import Density, DensityPrior, Prior
from penchant.models.record import Record
from penchant.softmax.constraints import Constraints, InfeasibleError
from penchant.softmax.fit_each import Batch, fit_table
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.newton import Maximum
from penchant.softmax.prior import GaussianPrior, ParameterPrior, ScaledPrior

EXACT = 1e-20  # squared Newton decrement before the last step
ALMOST = 1e-8  # the same where heights alone are asked for: what is left is the square of it;
CRUDE = 1e-3  # and where it is asked which of them are above another
FAR = 1e6  # weights from which Newton's method does not begin
FEW_STEPS = 25  # of Newton's method, after which a maximum may lie far out
STEPS_OF_ONE = 60  # the same of one weight, which has no other to go along with


def keep_positive(
    profiles: Profiles,
    points: Points,
    x: Matrix,
    rows: Rows,
    batch: Batch,
    inside: BoolVector,
    roughly: bool,
) -> None:
    """Solve again, with the weight held at 0, where one that must be positive is not.

    The objective is concave: if a single weight leaves the range, its best value inside is 0.
    `inside`: pairs that are solved inside the range already. `roughly`: other weights may go on to
    infinity from where Newton's method stopped.
    """
    must = profiles.positive
    wrong = (points.theta[:, must] <= 0) & ~inside[:, None]
    if not wrong.any():
        return
    which = np.flatnonzero(wrong.any(axis=1))
    if len(must) == 1:
        _hold(profiles, points, which, must, x, rows, batch)
        return
    which = which[~on_faces(profiles, points, which, x, rows)]
    held = wrong[which]
    left = _on_faces_of_prior(profiles, points, which, held, x, rows, batch, roughly)
    profiles.follow(points, left, x, rows)


def _on_faces_of_prior(
    profiles: Profiles,
    points: Points,
    which: IntVector,
    held: BoolVector,
    x: Matrix,
    rows: Rows,
    batch: Batch,
    roughly: bool,
) -> IntVector:
    """Solve pairs with weights held at 0 that would be negative; returns those left.

    A face has the maximum if no free weight is negative and the objective falls from every weight
    that is held: it is concave. A weight from which it rises is let go on the next face.
    """
    must = profiles.positive
    for _ in range(2 * len(must)):
        again = np.zeros(len(which), dtype=bool)
        for pattern in np.unique(held, axis=0):
            mine = np.flatnonzero((held == pattern).all(axis=1))
            rises = _hold(profiles, points, which[mine], must[pattern], x, rows, batch)
            negative = points.theta[which[mine]][:, must] < 0
            again[mine] = rises.any(axis=1) | negative.any(axis=1)
            if not roughly:
                again[mine] |= ~points.settled[which[mine]]
            held[mine] |= negative
            held[np.ix_(mine, pattern)] &= ~rises
        which, held = which[again], held[again]
    return which


def on_faces(
    profiles: Profiles, points: Points, which: IntVector, x: Matrix, rows: Rows
) -> BoolVector:
    """Solve some pairs where weights must not be negative; returns which of them are solved."""
    if not len(which) or profiles.prior is not None or x.shape[1] < 2:
        return np.zeros(len(which), dtype=bool)
    n, d = len(which), profiles.n_weights
    mine = rows.only(which)
    values, theta, afresh = np.empty(n), np.zeros((n, d)), np.full(n, -1)
    subject = np.ascontiguousarray(points.subject[which])
    pairs = x[ranges(rows.events, which)], profiles.decisions, subject, afresh
    grid.profile(*pairs, EXACT, profiles.positive, values, theta)
    found = np.isfinite(values)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *mine.scored, theta, sums, gradient, information)
    done = which[found]
    points.theta[done], points.value[done] = theta[found], sums[found]
    points.information[done] = information[found]
    points.settled[done] = True
    points.decrement[done] = np.inf  # on a boundary Newton's method proves nothing
    return found


def _hold(
    profiles: Profiles,
    points: Points,
    which: IntVector,
    held: IntVector,
    x: Matrix,
    rows: Rows,
    batch: Batch,
) -> BoolVector:
    """Maximum on the face where the weights held are 0; from which of them the objective rises."""
    d = profiles.n_weights
    free = np.setdiff1d(np.arange(d), held)
    mine = rows.only(which)
    theta = np.zeros((len(which), d))
    settled = np.ones(len(which), dtype=bool)
    if len(free):
        prior = _prior_of(profiles.weight_prior, free, d)
        face = fit_table(x[:, :, free], rows.chosen, mine.grouping, prior)
        theta[:, free], settled = face.theta, face.converged
    n = len(which)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *mine.scored, theta, sums, gradient, information)
    spread = batch.spread[which]
    points.theta[which] = theta
    points.value[which] = sums + profiles.prior_value(theta, spread)
    points.information[which] = information + profiles.precision(spread)
    points.settled[which] = settled
    points.decrement[which] = np.inf  # on a boundary Newton's method proves nothing
    slope = gradient[:, held]
    if isinstance(profiles.weight_prior, GaussianPrior):
        quadratic = profiles.weight_prior.quadratic(d, None)
        slope = slope + (quadratic.linear - theta @ quadratic.precision)[:, held]
    return np.asarray(~((slope <= 0) & np.isfinite(sums)[:, None]))


def _with_one_held(
    profiles: Profiles,
    prior: ScaledPrior,
    points: Points,
    x: Matrix,
    rows: Rows,
    planes: Planes,
    near: Matrix | None,
) -> BoolVector:
    """Solve pairs whose weight on the plane is told, under a prior; returns which are solved.

    The prior is one of each weight by itself: of those that are free it is what it was.
    """
    n, d = points.theta.shape
    kept = planes.kept
    free = np.setdiff1d(np.arange(d), kept)
    theta, settled = np.zeros((n, d)), np.ones(n, dtype=bool)
    theta[:, kept] = planes.value
    spread = np.zeros((n, d, d))
    spread[:, kept, kept] = _spread_of(x[:, :, kept], rows)
    if len(free):
        offset = x[:, :, kept] * np.repeat(planes.value, np.diff(rows.events))[:, None]
        known = offset if offset.any() else None
        start = None if near is None else np.nan_to_num(near[:, free])
        batch = fit_table(x[:, :, free], rows.chosen, rows.grouping, prior, start, known)
        theta[:, free], settled = batch.theta, batch.converged & np.isfinite(batch.value)
        spread[:, free[:, None], free] = batch.spread
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *rows.scored, theta, sums, gradient, information)
    points.theta[:], points.log_likelihood[:] = theta, sums
    points.value[:] = sums + profiles.prior_value(theta, spread)
    points.information[:] = information + profiles.precision(spread)
    points.decrement[:] = np.inf  # proves nothing
    allowed: BoolVector = np.all(theta[:, profiles.positive] > 0, axis=1)
    points.settled[:] = settled & np.isfinite(sums) & allowed
    return points.settled.copy()


def _spread_of(column: Matrix, rows: Rows) -> Vector:
    """Mean squares of a variable (n_events, n_options) inside sets, of each pair."""
    mine = column[rows.order]
    squares = mine.var(axis=1)
    counts = np.diff(rows.bounds)
    total = np.concatenate([[0.0], np.cumsum(squares)])
    return np.asarray(np.diff(total[rows.bounds]) / np.maximum(counts, 1))


def _prior_of(prior: ParameterPrior | None, free: IntVector, d: int) -> ParameterPrior | None:
    """The prior of some weights, given that the others are 0."""
    if not isinstance(prior, GaussianPrior):
        return prior
    quadratic = prior.quadratic(d, None)
    precision = quadratic.precision[np.ix_(free, free)]
    covariance = np.linalg.inv(precision)
    return GaussianPrior(covariance @ quadratic.linear[free], (covariance + covariance.T) / 2)


NUMBERS_AT_ONCE = 400_000  # of explanatory variables: they stay in the processor's cache, nearly
STEP = 1e-5  # of a numerical derivative, relative to the range searched
OF_THE_MODEL = ("shape", "weights", "positive", "limits", "natural", "density", "bounds")


@dataclass(frozen=True)
class Profiles:
    """Episodes of many subjects, a model, and a prior on the weights.

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

    def of_others(self, groups: tuple[tuple[Any, ...], ...]) -> Profiles:
        """The same of other episodes; what the model alone tells is not asked again."""
        found = Profiles(self.model, groups, self.prior)
        known = {name: self.__dict__[name] for name in OF_THE_MODEL if name in self.__dict__}
        found.__dict__.update(known)
        return found

    def of_one(self, k: int) -> Problem:
        """The profile of one of the subjects by itself."""
        found = Problem(self.model, self.groups[k], self.prior)
        found.__dict__["profiles"] = self.of_others((self.groups[k],))
        return found

    # -- scales of psi -----------------------------------------------------------------------------

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
                f"model must have at least one weight; got none of {type(self.model).__name__}. "
                "A choice that is not a softmax of weighted variables cannot be fitted here."
            )
        return names

    @cached_property
    def positive(self) -> IntVector:
        """Weights that must be positive."""
        return np.array(positive_weights(self.model), dtype=np.int64)

    @cached_property
    def limits(self) -> Constraints | None:
        """The same as constraints."""
        return limits_of(self.model)

    @cached_property
    def natural(self) -> tuple[Natural, ...]:
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
        """Range of psi in search units: (n_shape, 2)."""
        return np.array([s.search_range for s in self.shape]).reshape(self.n_shape, 2)

    def to_search(self, psi: Matrix) -> Matrix:
        """Psi (n, n_shape) in search units."""
        return self._columns(psi, "to_search")

    def from_search(self, u: Matrix) -> Matrix:
        """Psi (n, n_shape) in its own units."""
        return self._columns(u, "from_search")

    def stretch(self, psi: Matrix) -> Matrix:
        """Derivative of psi in search units: (n, n_shape)."""
        return self._columns(psi, "stretch")

    def _columns(self, values: Matrix, method: str) -> Matrix:
        """What a method of each shape parameter makes of its column."""
        found = np.empty((len(values), self.n_shape))
        for q, shape in enumerate(self.shape):
            found[:, q] = getattr(shape, method)(values[:, q])
        return found

    # -- data --------------------------------------------------------------------------------------

    @cached_property
    def record(self) -> Record:
        """All episodes, subject after subject."""
        return Record.of(self._episodes)

    @cached_property
    def _episodes(self) -> tuple[Any, ...]:
        return tuple(episode for group in self.groups for episode in group)

    @cached_property
    def _chosen(self) -> IntVector:
        """Options of all events that choices are scored on: those proposed."""
        return np.concatenate([episode.chosen for episode in self._episodes])

    @cached_property
    def _places(self) -> IntVector:
        """The same, counted among the options that could be chosen."""
        return self.record.places_of(self._chosen)

    @cached_property
    def first_episode(self) -> IntVector:
        """Where the episodes of each subject begin."""
        return np.concatenate([[0], np.cumsum([len(group) for group in self.groups])])

    @cached_property
    def _one_each(self) -> bool:
        """Whether every subject has a single episode."""
        return all(len(group) == 1 for group in self.groups)

    @cached_property
    def first_event(self) -> IntVector:
        """Where the events of each subject begin."""
        return self.record.starts[self.first_episode]

    @cached_property
    def n_events(self) -> IntVector:
        """Events of each subject."""
        return np.diff(self.first_event)

    @cached_property
    def _scored(self) -> BoolVector:
        return np.concatenate([episode.scored for episode in self._episodes])

    @cached_property
    def decisions(self) -> tuple[IntVector, IntVector, IntVector, IntVector]:
        """Options chosen, first events; events scored, counted from those; their first ones."""
        scored = np.flatnonzero(self._scored)
        first_scored = np.concatenate([[0], np.cumsum(self.n_decisions)])
        begins = np.repeat(self.first_event[:-1], self.n_decisions)
        return self._places, self.first_event, scored - begins, first_scored

    def _scored_of(self, subject: IntVector) -> compiled.Scored:
        """The decisions of pairs, as those of their subjects."""
        chosen, first_event, order, first = self.decisions
        row = _begins(self.n_events[subject])[:-1]
        counts = self.n_decisions[subject]
        return compiled.Scored(chosen, order, first[subject], counts, row, first_event[subject])

    @cached_property
    def n_decisions(self) -> IntVector:
        """Decisions scored of each subject."""
        if len(self.groups) == 1:
            return np.array([sum(episode.n_decisions for episode in self.groups[0])])
        counts = np.concatenate([[0], np.cumsum(self._scored)])
        return np.diff(counts[self.first_event])

    @cached_property
    def n_options(self) -> int:
        """Number of options of every decision."""
        known = Declared(self.model).n_options
        if self.record.shown is not None:
            return int(self.record.shown.shape[1])
        if known is not None:
            return int(known)
        middle = self.from_search(self.bounds.mean(axis=1)[None])
        return int(self.variables(np.zeros(1, dtype=np.int64), middle, False)[0].shape[1])

    @cached_property
    def _last_rows(self) -> dict[bytes, Rows]:
        return {}

    def rows(self, subject: IntVector) -> Rows:
        """The decisions of pairs; steps of a search ask for the same ones again and again."""
        key = subject.tobytes()
        found = self._last_rows.get(key)
        if found is None:
            found = self._rows(subject)
            self._last_rows.clear()
            self._last_rows[key] = found
        return found

    def _rows(self, subject: IntVector) -> Rows:
        events, bounds = _begins(self.n_events[subject]), _begins(self.n_decisions[subject])
        chosen, order = np.empty(events[-1], np.int64), np.empty(bounds[-1], np.int64)
        places = self._places, self.first_event, self._scored
        compiled.copy_rows(*places, np.ascontiguousarray(subject), chosen, order)
        return Rows(chosen, events, order, bounds)

    def variables(
        self, subject: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of all events of pairs, and their derivatives in psi's own units.

        Of the options that could be chosen, where that is not all.
        """
        x, slopes = self._of_all_options(subject, psi, with_slopes)
        shown = self.record.shown
        if shown is not None:
            mine = shown[ranges(self.first_event, subject)]
            if slopes is not None:
                slopes = np.take_along_axis(slopes, mine[None, :, :, None], axis=2)
            x = np.take_along_axis(x, mine[:, :, None], axis=1)
        return np.ascontiguousarray(x), None if slopes is None else np.ascontiguousarray(slopes)

    def _of_all_options(
        self, subject: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        many = Declared(self.model).explanatory_many
        if many is not None:
            which, at = subject, psi
            if not self._one_each:
                which = ranges(self.first_episode, subject)
                at = np.repeat(psi, np.diff(self.first_episode)[subject], axis=0)
            x, slopes = many(self.record, which, at, with_slopes)
            return x, slopes if with_slopes else None
        if not with_slopes:
            return self._one_by_one(subject, psi, self._explained), None
        own = Declared(self.model).explanatory_and_slopes
        if own is None:
            return self._one_by_one(subject, psi, self._explained), self._differences(subject, psi)
        pairs = [
            own(history_learnt_from(e), *at)
            for s, at in zip(subject, psi, strict=True)
            for e in self.groups[s]
        ]
        x = np.concatenate([pair[0] for pair in pairs])
        return x, np.concatenate([pair[1] for pair in pairs], axis=1)

    def _one_by_one(self, subject: IntVector, psi: Matrix, describe: Any) -> Matrix:
        parts = [
            describe(e, at) for s, at in zip(subject, psi, strict=True) for e in self.groups[s]
        ]
        return np.concatenate(parts)

    def _explained(self, episode: Any, psi: Vector) -> Matrix:
        x = self.model.explanatory(history_learnt_from(episode), *psi)
        array = np.asarray(x, dtype=np.float64)
        d = self.n_weights
        if array.ndim != 3 or len(array) != episode.n_events or array.shape[2] != d:
            raise DataError(
                "explanatory of a model must return shape (n_events, n_options, n_weights) = "
                f"({episode.n_events}, n_options, {d}); got {array.shape}. Correct the model."
            )
        episode.check_options(array.shape[1])
        return array

    def _differences(self, subject: IntVector, psi: Matrix) -> Matrix:
        """Derivatives of a model that does not give its own, by central differences."""
        found = []
        for q in range(self.n_shape):
            low, high = self.beside(psi, q, STEP * float(np.ptp(self.bounds[q])))
            above = self._one_by_one(subject, high, self._explained)
            below = self._one_by_one(subject, low, self._explained)
            width = np.repeat(high[:, q] - low[:, q], self.n_events[subject])
            found.append((above - below) / width[:, None, None])
        return np.stack(found) if found else np.empty((0, 0, 0, 0))

    def beside(self, psi: Matrix, q: int, step: float) -> tuple[Matrix, Matrix]:
        """Psi a step below and above in one coordinate, in search units, inside the range."""
        u = self.to_search(psi)
        low, high = u.copy(), u.copy()
        low[:, q] = np.maximum(u[:, q] - step, self.bounds[q, 0])
        high[:, q] = np.minimum(u[:, q] + step, self.bounds[q, 1])
        return self.from_search(low), self.from_search(high)

    # -- evaluation --------------------------------------------------------------------------------

    def solve(
        self,
        subject: IntVector,
        psi: Matrix,
        near: Matrix | None = None,
        *,
        with_slopes: bool = True,
        patient: bool = True,
        planes: Planes | None = None,
        proven: bool = True,
        roughly: bool = False,
        floor: Vector | None = None,
    ) -> Points:
        """Best weights at every pair, on the whole or on planes.

        `near` are weights to start from, NaN where none are known; unless `patient`, Newton's
        method stops where steps no longer shrink as they do near a finite maximum. Unless `proven`,
        what proves a maximum may be left out, and the information without slopes: numbers on the
        way to one are found sooner. `roughly`: where weights are held at 0 and
        others go to infinity, as high as Newton's method came. `floor`: heights of pairs below
        which one that is not proven need not be told well.
        """
        parts = []
        for begin, end in self.portions(subject, with_slopes):
            portion = slice(begin, end)
            start = None if near is None or np.isnan(near[portion]).all() else near[portion]
            plane = None if planes is None else planes.take(portion)
            if not proven and self._is_quick(plane):
                pairs = subject[portion], psi[portion]
                described = self.variables(*pairs, with_slopes)
                how, ends = (with_slopes, patient), None
                if floor is not None:
                    ends = ALMOST, floor[portion]
                parts.append(self._on_the_way(*described, *pairs, start, plane, how, ends))
                continue
            x, slopes = self.variables(
                subject[portion], psi[portion], with_slopes and self.n_shape > 0
            )
            rows = self.rows(subject[portion])
            nowhere = self.outside(x, slopes, subject[portion])
            self.check_finite(x, rows)
            points = self.blank(subject[portion], psi[portion])
            if self.density is not None:
                self._solve_under(self.density, points, x, rows, start, plane)
            elif plane is None:
                self._solve(points, x, rows, start, patient, roughly)
            else:
                self._solve_on_planes(points, x, rows, plane, start, patient)
            if slopes is not None:
                self._differentiate(points, x, slopes, np.empty_like(points.information))
            points.value[nowhere] = points.log_likelihood[nowhere] = -np.inf
            points.settled[nowhere] = False
            parts.append(points)
        return Points.joined(parts)

    def _is_quick(self, planes: Planes | None) -> bool:
        """Whether the loops of a grid solve such pairs."""
        if self.prior is not None or self.n_options < 2 or not self.n_shape:
            return False
        if planes is None:
            return True
        kept = planes.kept
        allowed = kept not in self.positive or bool((planes.value > 0).all())
        return kept >= 0 and allowed

    def heights(
        self,
        subject: IntVector,
        psi: Matrix,
        near: Matrix,
        planes: Planes,
        patient: bool,
        place: IntVector,
        floor: Vector,
    ) -> Vector:
        """The profile on planes, at pairs of which two may be at the same place.

        Pairs with the same `place` have the same subject and the same psi: their variables are
        made once. Good to a thousandth where it is above the floor: enough to tell what may be
        above a height.
        """
        if Declared(self.model).outside or not self._is_quick(planes):
            return self.solve(
                subject, psi, near, with_slopes=False, patient=patient, planes=planes, proven=False
            ).value
        order = np.argsort(place, kind="stable")
        again = np.diff(place[order], prepend=-1) == 0
        two = np.append(again[1:], False)
        first = np.concatenate([order[two], order[~two & ~again]])
        second, found = order[again], np.empty(len(place))
        for begin, end in self.portions(subject[first]):
            x, _ = self.variables(subject[first[begin:end]], psi[first[begin:end]], False)
            for which in (first[begin:end], second[begin:end]):
                if len(which):
                    mine = x[: int(self.n_events[subject[which]].sum())]
                    pairs = subject[which], psi[which], near[which], planes.take(which)
                    how = False, patient
                    ends = CRUDE, floor[which]
                    found[which] = self._on_the_way(mine, None, *pairs, how, ends).value
        return found

    def _on_the_way(
        self,
        x: Matrix,
        slopes: Matrix | None,
        subject: IntVector,
        psi: Matrix,
        near: Matrix | None,
        planes: Planes | None,
        how: tuple[bool, bool],
        ends: tuple[float, Vector] | None = None,
    ) -> Points:
        """Pairs solved by the loops of a grid; by those of fits where these do not get there."""
        with_slopes, patient = how
        points = self.blank(subject, psi)
        kept = -1 if planes is None else planes.kept
        theta = points.theta
        if near is not None:
            theta[:] = near
            far = ~(np.abs(near) < FAR)
            if far.any():
                theta[far.any(axis=1)] = 0.0
        if planes is not None:
            theta[:, kept] = planes.value
        pairs = x, self.decisions, np.ascontiguousarray(subject)
        afresh, positive = np.full(len(subject), -1), self.positive[self.positive != kept]
        if ends is None:
            ends = EXACT if with_slopes else ALMOST, compiled.ANY_HEIGHT
        given = *pairs, afresh, ends[0], positive, points.value, theta
        n_steps = STEPS_OF_ONE if self.n_weights == 1 else FEW_STEPS
        compiled.profile(*given, kept, n_steps, ends[1])
        left = np.isnan(points.value)  # so are those of pairs some of whose variables are
        lost = bool(left.any())
        nowhere = self.outside(x, slopes, subject, left) if lost else left
        points.settled[:] = ~left
        if slopes is not None:
            theta[left] = 0.0
            self._differentiate(points, x, slopes, points.information)
        points.value[nowhere] = -np.inf
        points.log_likelihood[:] = points.value
        rest = np.flatnonzero(left & ~nowhere) if lost else ()
        if len(rest):
            found = self.solve(
                subject[rest],
                psi[rest],
                None if near is None else near[rest],
                with_slopes=with_slopes,
                patient=patient,
                planes=None if planes is None else planes.take(rest),
            )
            points.put(rest, found)
        return points

    def blank(self, subject: IntVector, psi: Matrix) -> Points:
        """Pairs of which nothing is known yet."""
        n, d, q = len(subject), self.n_weights, self.n_shape
        numbers = np.zeros((n, d)), np.zeros(n), np.zeros(n), np.zeros((n, d, d))
        slopes = np.zeros((n, q)), np.zeros((n, d, q)), np.zeros((n, d, q)), np.zeros((n, q, q))
        proof = np.full(n, np.inf), np.zeros((n, 2, d)), np.zeros((n, d, d))
        return Points(subject, psi, *numbers, *slopes, np.zeros(n, dtype=bool), *proof)

    def portions(self, subject: IntVector, with_slopes: bool = False) -> Iterator[tuple[int, int]]:
        """Ranges of pairs whose variables, and slopes if asked for, fit into memory together."""
        size = self._numbers[subject] * (1 + self.n_shape * with_slopes)
        if size.sum() < NUMBERS_AT_ONCE:
            yield 0, len(subject)
            return
        portion = np.cumsum(size) // NUMBERS_AT_ONCE
        edges = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [len(subject)]])
        yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)

    @cached_property
    def _numbers(self) -> IntVector:
        """Explanatory variables of each subject."""
        return self.n_events * self.n_options * max(self.n_weights, 1)

    def _solve(
        self,
        points: Points,
        x: Matrix,
        rows: Rows,
        near: Matrix | None,
        patient: bool,
        roughly: bool,
    ) -> None:
        batch = self._fit(x, rows, near)
        points.theta[:], points.value[:] = batch.theta, batch.value
        points.information[:] = batch.information
        points.decrement[:], points.largest[:] = batch.decrement, batch.largest
        points.spread[:] = batch.spread
        points.settled[:] = batch.converged & np.isfinite(batch.value)
        left = ~points.settled if patient else ~np.isfinite(points.value)
        rest = np.flatnonzero(left)
        self.follow(points, rest[~on_faces(self, points, rest, x, rows)], x, rows)
        keep_positive(self, points, x, rows, batch, left, roughly)
        points.log_likelihood[:] = points.value - self.prior_value(points.theta, batch.spread)

    def _solve_under(
        self,
        prior: Density,
        points: Points,
        x: Matrix,
        rows: Rows,
        near: Matrix | None,
        planes: Planes | None,
    ) -> None:
        """Under a prior on natural parameters."""
        ends = best_under(x, rows, prior, points.psi, near, planes)
        on_shape, _ = prior.on_shape(points.psi, ends.theta)
        points.theta[:], points.value[:] = ends.theta, ends.value + on_shape
        points.log_likelihood[:], points.information[:] = ends.log_likelihood, ends.information
        points.settled[:], points.decrement[:] = ends.settled, ends.decrement

    def _solve_on_planes(
        self,
        points: Points,
        x: Matrix,
        rows: Rows,
        planes: Planes,
        near: Matrix | None,
        patient: bool,
    ) -> None:
        everyone = np.arange(len(points))
        if self.prior is not None:
            if isinstance(self.prior, ScaledPrior) and planes.kept >= 0:
                solved = _with_one_held(self, self.prior, points, x, rows, planes, near)
                everyone = everyone[~solved]
            self.follow(points, everyone, x, rows, planes)
            return
        theta, value, information, settled = best_on_planes(x, rows, planes, near)
        points.theta[:], points.value[:], points.information[:] = theta, value, information
        allowed: BoolVector = np.all(theta[:, self.positive] > 0, axis=1)
        points.settled[:] = settled & np.isfinite(value) & allowed
        left = ~points.settled if patient else ~(np.isfinite(value) & allowed)
        self.follow(points, everyone[left], x, rows, planes)
        points.log_likelihood[:] = points.value

    def _differentiate(
        self, points: Points, x: Matrix, slopes: Matrix, information: Matrix
    ) -> None:
        """Fill in derivatives in psi at the best weights, and the information there."""
        curvature = points.cross, points.mixed, points.fisher, information
        pairs = points.subject, points.theta, points.psi
        self._derivatives(x, slopes, *pairs, points.gradient, curvature)

    def without_small_differences(self, points: Points, ignored: float) -> Batch:
        """Fits in which variables that hardly differ from the chosen option's are equal to these.

        Hardly: by less than `ignored` of the largest difference.
        """
        parts = []
        for begin, end in self.portions(points.subject):
            some = points.take(slice(begin, end))
            x, _ = self.variables(some.subject, some.psi, False)
            rows = self.rows(some.subject)
            limits, away = ignored * some.largest[:, 1], np.empty_like(x)
            compiled.without_small(x, rows.chosen, rows.events, limits, away)
            parts.append(fit_table(away, rows.chosen, rows.grouping, None, some.theta))
        return Batch.joined(parts)

    def partial_gradient(self, subject: IntVector, psi: Matrix, theta: Matrix) -> Matrix:
        """Derivative of the objective in psi at fixed weights, in search units."""
        found = []
        for begin, end in self.portions(subject, with_slopes=True):
            at = subject[begin:end], psi[begin:end]
            x, slopes = self.variables(*at, True)
            assert slopes is not None
            self.outside(x, slopes, at[0])
            n, d, q = end - begin, self.n_weights, self.n_shape
            gradient, both = np.empty((n, q)), np.empty((2, n, d, q))
            curvature = both[0], both[1], np.empty((n, q, q)), np.empty((n, d, d))
            self._derivatives(x, slopes, at[0], theta[begin:end], at[1], gradient, curvature)
            found.append(gradient)
        return np.concatenate(found)

    def outside(
        self,
        x: Matrix,
        slopes: Matrix | None,
        subject: IntVector,
        perhaps: BoolVector | None = None,
    ) -> BoolVector:
        """Pairs at whose psi the model does not exist; their variables become 0.

        A model that says of psi that they may lie outside returns NaN there. Where it does not say
        so, what is not finite is an error. `perhaps`: pairs that are looked at.
        """
        found = np.zeros(len(subject), dtype=bool)
        if perhaps is None:
            perhaps = ~found
        if not Declared(self.model).outside or not perhaps.any():
            return found
        scored, width = self._scored_of(subject), self.n_options * self.n_weights
        dx = np.empty((0, 0, 0)) if slopes is None else slopes.reshape(len(slopes), -1, width)
        ends = scored.row + self.n_events[subject]
        compiled.clear_lost(x.reshape(-1, width), dx, scored, ends, perhaps, found)
        return found

    def check_finite(self, x: Matrix, rows: Rows) -> None:
        """What a model returns must be finite; the error names the decision."""
        if np.isfinite(x.sum()) or np.isfinite(x[rows.order]).all():
            return
        for k in range(len(rows.bounds) - 1):
            mine = rows.of(k)
            Choices.from_arrays(x[mine], rows.chosen[mine], names=self.weights)

    def _fit(self, x: Matrix, rows: Rows, near: Matrix | None) -> Batch:
        start = None
        if near is not None:
            near_enough: BoolVector = np.all(np.abs(near) < FAR, axis=1)
            start = np.where(near_enough[:, None], near, 0.0)
        batch = fit_table(x, rows.chosen, rows.grouping, self.weight_prior, start)
        if start is not None:
            # So far out that every choice is certain: the answer does not depend on the start.
            lost = np.flatnonzero(~batch.converged & start.any(axis=1))
            if len(lost):
                batch.put(
                    lost, fit_table(x, rows.chosen, rows.only(lost).grouping, self.weight_prior)
                )
        return batch

    def follow(
        self,
        points: Points,
        which: IntVector,
        x: Matrix,
        rows: Rows,
        planes: Planes | None = None,
    ) -> None:
        """Solve some pairs one by one, to the end: maxima far out or on a boundary, or none."""
        for k in which:
            mine = rows.of(k)
            choices = Choices.from_arrays(x[mine], rows.chosen[mine], names=self.weights)
            asked = None
            if planes is not None:
                asked = Hypothesis(planes.row[k : k + 1], planes.value[k : k + 1])
            try:
                found = best_weights(choices, self.limits, self.weight_prior, asked)
            except InfeasibleError:  # no weights that may be have this value of the parameter
                points.value[k], points.settled[k] = -np.inf, False
                continue
            points.theta[k], points.value[k] = found.theta, found.value
            points.information[k] = found.information
            points.settled[k] = found.ending in ("converged", "fixed")
            points.decrement[k] = np.inf  # proves nothing

    # -- the prior ---------------------------------------------------------------------------------

    def precision(self, spread: Matrix) -> Matrix:
        """Of the prior on the weights, at each pair: (n, n_weights, n_weights)."""
        prior = self.weight_prior
        n, d = spread.shape[:2]
        if prior is None:
            return np.zeros((n, d, d))
        scales = np.sqrt(spread.diagonal(0, 1, 2))
        return np.stack([prior.quadratic(d, scale).precision for scale in scales])

    def prior_value(self, theta: Matrix, spread: Matrix) -> Vector:
        """The prior's part of the objective, less its constant, which depends on units."""
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

    def _derivatives(
        self,
        x: Matrix,
        slopes: Matrix,
        subject: IntVector,
        theta: Matrix,
        psi: Matrix,
        gradient: Matrix,
        curvature: tuple[Matrix, Matrix, Matrix, Matrix],
    ) -> None:
        """Fill in derivatives of the objective in psi, in search units: see `derivatives`."""
        scored = self._scored_of(subject)
        compiled.derivatives(x, slopes, scored, theta, gradient, curvature)
        if self.density is not None:
            gradient += self.density.on_shape(psi, theta)[1]
        if isinstance(self.prior, ScaledPrior):
            spreading = np.empty_like(curvature[0])
            compiled.spreading(x, slopes, scored, spreading)
            pull = self.prior.c * theta[:, :, None] * spreading
            gradient -= 0.5 * (theta[:, :, None] * pull).sum(axis=1)
            curvature[0][:] -= pull
        compiled.stretch(self.stretch(psi), gradient, *curvature[:3])


def _begins(lengths: IntVector) -> IntVector:
    """Where parts of these lengths begin, and where the last one ends."""
    found = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


@dataclass(frozen=True)
class Point:
    """The inner solution at one psi."""

    psi: Vector
    theta: Vector
    value: float
    log_likelihood: float
    gradient: Vector
    information: Matrix


@dataclass(frozen=True)
class Problem:
    """Episodes that share their parameters, a model, and a prior on the weights.

    psi is searched on the scale that its `Shape` declares: "search units".
    """

    model: Model
    episodes: tuple[Any, ...]
    prior: Prior | None = None

    @cached_property
    def profiles(self) -> Profiles:
        """The same, as one of many."""
        return Profiles(self.model, (self.episodes,), self.prior)

    @cached_property
    def chosen(self) -> IntVector:
        """Options of all decisions scored, counted among those that could be chosen."""
        record = self.profiles.record
        if record.shown is not None:
            return np.asarray(self.profiles._places[self.profiles._scored])
        return np.concatenate([episode.scored_options for episode in self.episodes])

    @property
    def n_shape(self) -> int:
        """Number of shape parameters."""
        return self.profiles.n_shape

    def to_search(self, psi: Sequence[float] | Vector) -> Vector:
        """Psi in search units."""
        return np.asarray(self.profiles.to_search(np.asarray(psi, dtype=np.float64)[None])[0])

    def from_search(self, u: Vector) -> Vector:
        """Psi in its own units."""
        return np.asarray(self.profiles.from_search(np.asarray(u)[None])[0])

    @property
    def bounds(self) -> Matrix:
        """Range of psi in search units: (n_shape, 2)."""
        return self.profiles.bounds

    def stretch(self, psi: Vector) -> Vector:
        """Derivative of psi in its search units."""
        return np.asarray(self.profiles.stretch(np.asarray(psi)[None])[0])

    def variables(self, psi: Vector) -> Matrix:
        """Explanatory variables of all decisions scored: (n_decisions, n_options, n_weights)."""
        return self._described(psi, False)[0]

    def variables_and_slopes(self, psi: Vector) -> tuple[Matrix, Matrix]:
        """The variables, and their derivatives in psi: the model's own, or by differences."""
        x, slopes = self._described(psi, True)
        assert slopes is not None
        return x, slopes

    def _described(self, psi: Vector, with_slopes: bool) -> tuple[Matrix, Matrix | None]:
        whose = np.zeros(1, dtype=np.int64)
        x, slopes = self.profiles.variables(
            whose, np.asarray(psi, dtype=np.float64)[None], with_slopes
        )
        scored = self.profiles.rows(whose).order
        if len(scored) < len(x):
            x = x[scored]
            slopes = None if slopes is None else slopes[:, scored]
        return x, slopes

    def choices(self, psi: Vector) -> Choices:
        """The decisions as the model describes them at this psi."""
        return Choices.from_arrays(self.variables(psi), self.chosen, names=self.model.weights)

    @property
    def positive(self) -> Constraints | None:
        """Weights that the model wants positive."""
        return self.profiles.limits

    def values(self, psis: Matrix) -> tuple[Vector, Matrix]:
        """Profile at many psi (n, n_shape), and the weights there."""
        whose = np.zeros(len(psis), dtype=np.int64)
        points = self.profiles.solve(whose, psis, with_slopes=False, patient=False)
        return points.value, points.theta

    def inner(self, choices: Choices) -> Maximum:
        """Weights that maximise the objective at fixed psi, positive where they must be."""
        return best_weights(choices, self.positive, self.profiles.weight_prior)

    def at(self, psi: Vector, planes: Planes | None = None, near: Vector | None = None) -> Point:
        """Inner solution and the profile's gradient in search units (envelope theorem).

        `near` are weights to start from, of a psi near by.
        """
        start = None if near is None else near[None]
        whose = np.zeros(1, dtype=np.int64)
        points = self.profiles.solve(whose, psi[None], start, planes=planes)
        return Point(
            psi,
            points.theta[0],
            float(points.value[0]),
            float(points.log_likelihood[0]),
            points.gradient[0],
            points.information[0],
        )
