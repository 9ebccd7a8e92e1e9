"""From choices to the maximum of their likelihood, with proof that it is one, Eq. (4).

The compiled sums take each set relative to the option chosen and stop at a length of the step in
standard errors. Where nearly all choices are nearly certain that is not enough: where another
option is all but certain the variance is a difference of equal numbers, and where standard errors
are huge a short step still moves theta. There each set is taken relative to its most likely option,
and the end is a step that moves no objective: no digit is lost, and no step too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.constraints import Constraints, constrained
from penchant.softmax.identification import EPSILON, Identification
from penchant.softmax.likelihood import (
    MAX_ROWS_IN_MEMORY,
    Likelihood,
    PackedLikelihood,
    likelihood_of,
)
from penchant.softmax.newton import UNDECIDED, Maximum, maximise
from penchant.softmax.separation import (
    UnsolvedProgramError,
    certified,
    cleaned,
    limit_along,
    near_separation,
)
from penchant.softmax.solution import (
    Solution,
    blank,
    in_coordinates,
    nothing_identified,
    prepared,
    scaled_inverse,
    without_dust,
)

MANY_BLOCKS = 4096


def maximum_likelihood(
    choices: Choices,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    threads: int | None = None,
) -> Solution:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    likelihood, known = prepared(choices, threads)
    if known.rank == 0:
        return nothing_identified(likelihood, known)
    applied = None if constraints is None else constraints.on(known.null_directions)
    if constraints is not None and applied is not None:
        free = None
        if choices.offset is not None and known.basis is None:
            free = maximum_likelihood(choices, None, start, max_steps, threads)
            if _inside(free, constraints):
                return replace(free, active=np.zeros(len(constraints.bound), dtype=bool))
        near = None if free is None or not np.isfinite(free.theta).all() else free.theta
        return constrained(choices, likelihood, known, constraints, applied, max_steps, near)
    basis = known.basis
    work = choices if basis is None else in_coordinates(choices, basis)
    inner = likelihood if basis is None else likelihood_of(work, threads)
    begin = start_in(basis, start)
    if begin is None:
        begin = _start_from_part(inner)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    if maximum.ending != "slow":
        inverse = scaled_inverse(maximum.information)
        if certified(maximum, inner, inverse[0], choices.total_weight):
            near = near_separation(choices, known, inner, maximum)
            return finite_solution(known, maximum, inverse, "newton", near)
    try:
        found, decided = separating.recession(choices, known.scale, basis=basis), True
    except UnsolvedProgramError:
        found, decided = None, False
    if found is not None and found.proven:
        return _separated(choices, known, found, threads)
    careful = careful_maximum(work, inner.largest[1], maximum.theta, max_steps, maximum.n_steps)
    if found is not None and not careful.proof:
        return _separated(choices, known, found, threads)
    if careful.settled or maximum.ending != "converged":
        maximum = careful.maximum()
    if not decided and not careful.proof:
        maximum = replace(maximum, ending=UNDECIDED)
    near = near_separation(choices, known, inner, maximum)
    inverse = scaled_inverse(maximum.information)
    proof = "linear program" if decided else "newton"
    return finite_solution(known, maximum, inverse, proof, near)


def proven_separation(
    choices: Choices, known: Identification, threads: int | None = None
) -> Solution | None:
    """What `maximum_likelihood` finds where a direction separates to the last digits; else None.

    It is quicker to ask first where Newton's method is known to lead nowhere. `known` is what the
    choices identify.
    """
    try:
        found = separating.recession(choices, known.scale, basis=known.basis)
    except UnsolvedProgramError:
        return None
    if found is None or not found.proven:
        return None
    return _separated(choices, known, found, threads)


def _inside(free: Solution, constraints: Constraints) -> bool:
    """Whether a maximum without constraints is one with them: it touches none."""
    theta = free.theta
    if free.certificate is None or not np.isfinite(theta).all():
        return False
    room = constraints.matrix @ theta - constraints.bound
    return bool((room > 1e-9 * (np.abs(constraints.matrix) @ np.abs(theta))).all())


def has_maximum(
    choices: Choices, constraints: Constraints | None = None, known: Identification | None = None
) -> bool:
    """Whether the likelihood has one maximum: all weights are told, and none goes to infinity.

    `known` is what the choices identify, if it is.
    """
    known = prepared(choices, 1)[1] if known is None else known
    if not known.complete:
        return False
    cone = None if constraints is None else constraints.matrix
    return not separating.is_separated(choices, known.scale, cone)


def _start_from_part(likelihood: Likelihood) -> Vector | None:
    """The estimate of the first decisions of large data: near enough to save whole passes."""
    if not isinstance(likelihood, PackedLikelihood) or likelihood.n_blocks < MANY_BLOCKS:
        return None
    found = maximise(likelihood.part(likelihood.n_blocks // 32), max_steps=12)
    return found.theta if found.ending == "converged" else None


def start_in(basis: Matrix | None, start: Vector | None) -> Vector | None:
    """Where to begin, in coordinates of the basis."""
    if start is None or basis is None:
        return start
    return np.asarray(np.linalg.lstsq(basis, start, rcond=None)[0])


def finite_solution(
    known: Identification,
    maximum: Maximum,
    inverse: tuple[Matrix, float],
    proof: str,
    near: Vector | None,
) -> Solution:
    """A maximum that exists, back in the user's coordinates; `inverse` of its information."""
    covariance, condition = inverse
    theta = maximum.theta
    if known.basis is not None:
        theta = known.basis @ theta
        covariance = known.basis @ covariance @ known.basis.T
        condition = max(condition, _user_condition(covariance, known))
    shown, blanked = blank(theta, covariance, known.identified)
    return Solution(
        theta=shown,
        covariance=blanked,
        log_likelihood=maximum.value,
        known=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        near=near,
        point=theta,
        certainty=covariance,
    )


def _user_condition(covariance: Matrix, known: Identification) -> float:
    """Condition number of the correlation of the parameters, where all are identified."""
    if not known.complete:
        return 1.0
    if not np.isfinite(covariance).all():
        return np.inf
    sd = np.sqrt(np.diag(covariance))
    singular = np.linalg.svd(covariance / np.outer(sd, sd), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf


def _separated(
    choices: Choices, known: Identification, found: separating.Recession, threads: int | None
) -> Solution:
    """The limit along the recession direction: the fit to what it leaves undecided."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = cleaned(direction, known)
    on_offer = ~found.resolved
    if choices.available is not None:
        on_offer = on_offer & choices.available
    left = without_dust(replace(choices, available=on_offer))
    rest = maximum_likelihood(left, threads=threads)
    resolved = found.resolved
    if rest.recession is not None and rest.resolved is not None:
        resolved = resolved | rest.resolved
        direction = separating.combined(choices, known.scale, direction, rest.recession)
    differences = found.differences if known.basis is None else None
    theta, covariance = limit_along(choices, known, direction, rest, differences)
    return replace(
        rest,
        theta=theta,
        covariance=covariance,
        known=known,
        certificate="linear program",
        recession=direction,
        resolved=resolved,
        near=None,
        condition=np.inf,
    )


STILL = 1e-9  # largest change of an objective by the last step; one step more squares it
NEAR = 0.1  # the same, on the way along the offsets
OVERSHOT = 0.5  # of the slope: a step may end so far beyond the maximum along it
SMALL = 0.1  # below this steps shrink fast, but for rounding
PATIENCE = 4
CERTAIN = -40.0  # log-probabilities below which log(1 + p) is p
WITHIN_REACH = 8.0  # differences of offsets that Newton's method takes from theta = 0
FAR = 1e16  # no objective moves further in one step


@dataclass(frozen=True)
class CarefulMoments:
    """Log-likelihood, gradient and information, all divided by exp(log_unit).

    `noise` bounds the rounding of the gradient.
    """

    log_likelihood: float
    gradient: Vector
    information: Matrix
    noise: Vector
    log_unit: float


class CarefulLikelihood(Protocol):
    """What careful steps need to know of the choices, with a share of their offsets."""

    @property
    def largest(self) -> Vector:
        """Largest |x_i - x_chosen| of each variable."""

    @property
    def furthest_offset(self) -> float | None:
        """Largest difference of an offset from that of the option chosen; None without offsets."""

    def moments(self, theta: Vector) -> CarefulMoments:
        """Sums over decisions, each relative to its most likely option."""

    def with_share(self, share: float) -> CarefulLikelihood:
        """The same with another share of the offsets."""


@dataclass(frozen=True)
class Careful:
    """The log-likelihood of choices, with a share of their offsets."""

    choices: Choices
    largest: Vector  # |x_i - x_chosen| of each variable
    offsets: Vector | None  # of every row, relative to the option chosen
    share: float = 1.0

    @classmethod
    def of(cls, choices: Choices, largest: Vector) -> Careful:
        """Of all that is known of the choices."""
        if choices.offset is None:
            return cls(choices, largest, None)
        sizes = np.diff(choices.first_row)
        offsets = choices.offset - np.repeat(choices.offset[choices.chosen_row], sizes)
        if choices.available is not None:
            offsets[~choices.available] = 0.0
        return cls(choices, largest, offsets)

    @property
    def furthest_offset(self) -> float | None:
        """Largest difference of an offset from that of the option chosen; None without offsets."""
        return None if self.offsets is None else float(np.abs(self.offsets).max())

    def with_share(self, share: float) -> Careful:
        """The same with another share of the offsets."""
        return replace(self, share=share)

    @cached_property
    def _sizes(self) -> IntVector:
        """Rows of each set."""
        return np.diff(self.choices.first_row)

    @cached_property
    def _times(self) -> int | IntVector:
        """The same as one number, if all sets have as many: repeating is quicker then."""
        sizes = self._sizes
        return int(sizes[0]) if (sizes == sizes[0]).all() else sizes

    @cached_property
    def _chosen(self) -> IntVector:
        """Of every row, the row that was chosen in its set."""
        return np.repeat(self.choices.chosen_row, self._sizes)

    @cached_property
    def _missed(self) -> BoolVector:
        """Rows that were not chosen, of sets that count."""
        c = self.choices
        missed = np.ones(c.n_rows, dtype=bool)
        if c.weights is not None:
            missed = np.repeat(c.weights > 0, self._sizes)
        missed[c.chosen_row] = False
        return missed

    def _relative(self, rows: slice) -> tuple[Matrix, Matrix]:
        """Variables relative to the option chosen, and their sizes; 0 where not on offer."""
        return self._all_relative if self._is_small else self._made_relative(rows)

    @property
    def _is_small(self) -> bool:
        return self.choices.n_rows <= MAX_ROWS_IN_MEMORY

    @cached_property
    def _all_relative(self) -> tuple[Matrix, Matrix]:
        return self._made_relative(slice(None))

    def _made_relative(self, rows: slice) -> tuple[Matrix, Matrix]:
        c = self.choices
        z = c.explanatory[rows] - c.explanatory[self._chosen[rows]]
        if c.available is not None:
            z[~c.available[rows]] = 0.0
        return z, np.abs(z)

    def objectives(self, theta: Vector) -> tuple[Vector, Vector]:
        """theta'x relative to the chosen option of each set, and a bound of its rounding."""
        c = self.choices
        q, size = np.empty(c.n_rows), np.empty(c.n_rows)
        for begin in range(0, c.n_rows, MAX_ROWS_IN_MEMORY):
            rows = slice(begin, begin + MAX_ROWS_IN_MEMORY)
            z, of_z = self._relative(rows)
            q[rows], size[rows] = z @ theta, of_z @ np.abs(theta)
        if self.offsets is not None:
            q += self.share * self.offsets
            size += np.abs(self.share * self.offsets)
        if c.available is not None:
            q[~c.available] = -np.inf
        return q, EPSILON * (4.0 + size)

    def moments(self, theta: Vector) -> CarefulMoments:
        """Sums over decisions, each relative to its most likely option."""
        c = self.choices
        q, error = self.objectives(theta)
        starts, sizes, missed = c.first_row[:-1], self._times, self._missed
        weights = np.ones(c.n_decisions) if c.weights is None else c.weights
        top = np.maximum.reduceat(q, starts)
        at_top = np.flatnonzero(q == np.repeat(top, sizes))
        first = at_top[np.searchsorted(at_top, starts)]
        e = np.exp(q - np.repeat(top, sizes))
        e[first] = 0.0
        others = np.add.reduceat(e, starts)
        log_p = q - np.repeat(top + np.log1p(others), sizes)
        unit = float(log_p[missed].max(initial=-np.inf))
        unit = unit if np.isfinite(unit) and unit < CERTAIN else 0.0
        if unit:
            log_p[missed] -= unit
        p = np.exp(np.where(missed, log_p, np.minimum(log_p, 0.0)))
        if unit:
            value = -float(weights @ np.add.reduceat(np.where(missed, p, 0.0), starts))
        else:
            value = -float(weights @ (top + np.log1p(others)))
        if c.weights is not None:
            p *= np.repeat(weights, sizes)
        return self._summed(value, p, unit, first, error)

    @cached_property
    def _marks(self) -> list[int]:
        """Decisions at which to cut, so that each part has a bounded number of rows."""
        c = self.choices
        if self._is_small:
            return [0, c.n_decisions]
        inner = np.searchsorted(c.first_row, np.arange(0, c.n_rows, MAX_ROWS_IN_MEMORY))
        return [int(k) for k in np.union1d(inner, [0, c.n_decisions])]

    def _summed(
        self, value: float, p: Vector, unit: float, first: IntVector, error: Vector
    ) -> CarefulMoments:
        """Gradient and information for probabilities p, times the weights and less the unit."""
        c = self.choices
        d = c.n_parameters
        gradient, noise, information = np.zeros(d), np.zeros(d), np.zeros((d, d))
        for begin, end in pairwise(self._marks):
            edges = c.first_row[begin : end + 1]
            rows = slice(int(edges[0]), int(edges[-1]))
            sizes = self._times if self._is_small else self._sizes[begin:end]
            z, of_z = self._relative(rows)
            y = c.explanatory[rows] - c.explanatory[np.repeat(first[begin:end], sizes)]
            if c.available is not None:
                y[~c.available[rows]] = 0.0
            mine = p[rows]
            gradient -= mine @ z
            noise += (mine * error[rows]) @ of_z
            total = np.add.reduceat(mine, edges[:-1] - edges[0])
            if unit:  # the chosen option is certain: its share is not in units of the others
                information += (y.T * mine) @ y
                continue
            share = mine / np.repeat(np.where(total > 0, total, 1.0), sizes)
            mean = np.add.reduceat(share[:, None] * y, edges[:-1] - edges[0])
            centred = y - np.repeat(mean, sizes, axis=0)
            information += (centred.T * mine) @ centred
        return CarefulMoments(value, gradient, information, noise, unit)


@dataclass(frozen=True)
class Climb:
    """Where careful steps ended: whether they settled, and whether that proves a maximum."""

    theta: Vector
    moments: CarefulMoments
    decrement: float
    n_steps: int
    settled: bool
    proof: bool

    def maximum(self) -> Maximum:
        """The same in the words of Newton's method."""
        unit = np.exp(self.moments.log_unit)
        return Maximum(
            self.theta,
            self.moments.log_likelihood * unit,
            self.moments.gradient * unit,
            self.moments.information * unit,
            self.decrement,
            self.n_steps,
            "converged" if self.settled else "slow",
        )


def careful_maximum(
    choices: Choices, largest: Vector, start: Vector, max_steps: int, taken: int = 0
) -> Climb:
    """The maximum from a point near it; or from afar, by way of smaller offsets.

    `largest` bounds |x_i - x_chosen| of each variable; `taken` are steps taken before.
    """
    return careful_climb(Careful.of(choices, largest), start, max_steps, taken)


def careful_climb(
    careful: CarefulLikelihood, start: Vector, max_steps: int, taken: int = 0
) -> Climb:
    """The same for a likelihood that is known."""
    found = climb(careful, start, max_steps, taken)
    size = careful.furthest_offset
    if found.settled or size is None:
        return found
    share = min(1.0, WITHIN_REACH / size) if size > 0 else 1.0
    theta, steps = np.zeros(len(start)), found.n_steps if found.n_steps < max_steps else taken
    while share < 1.0:
        part = climb(careful.with_share(share), theta, max_steps, steps, NEAR)
        if not part.settled:
            return replace(found, n_steps=max(found.n_steps, part.n_steps))
        steps = part.n_steps
        further = min(1.0, 2.0 * share)
        theta, share = part.theta * (further / share), further
    return climb(careful, theta, max_steps, steps)


def climb(
    careful: CarefulLikelihood, start: Vector, max_steps: int, taken: int = 0, still: float = STILL
) -> Climb:
    """Newton's steps until none moves an objective; shortened while they overshoot."""
    theta, n_steps, decrement = np.array(start), taken, np.inf
    here = careful.moments(theta)
    closest, vain = np.inf, 0
    while True:
        covariance = _inverse(here.information, careful.largest)
        step = covariance @ here.gradient
        slope = float(here.gradient @ step)
        reach = float(careful.largest @ np.abs(step))
        noise = float(careful.largest @ (np.abs(covariance) @ here.noise))
        decrement = float(np.sqrt(max(slope, 0.0) * np.exp(here.log_unit)))
        if reach <= (noise if still < noise < SMALL else still):
            proof = _proves(careful.largest, covariance, slope, here.noise)
            theta = theta + step
            return Climb(theta, careful.moments(theta), decrement, n_steps, True, proof)
        vain = vain + 1 if SMALL > reach > 0.5 * closest else 0
        closest = min(closest, reach)
        if n_steps >= max_steps or vain >= PATIENCE:
            return Climb(theta, here, decrement, n_steps, False, False)
        ahead = _shortened(careful, theta, step, here, min(1.0, FAR / reach))
        if ahead is None:
            return Climb(theta, here, decrement, n_steps, False, False)
        theta, here = ahead
        n_steps += 1


def _shortened(
    careful: CarefulLikelihood, theta: Vector, step: Vector, here: CarefulMoments, longest: float
) -> tuple[Vector, CarefulMoments] | None:
    """The first of this part of a step, its half ... that does not overshoot the maximum along it.

    Where the slope hardly changes, and then falls at once, the half comes close in a few steps.
    """
    fraction, slope = longest, float(here.gradient @ step)
    while fraction > 1e-15 * longest:
        trial = theta + fraction * step
        there = careful.moments(trial)
        left = float(there.gradient @ step) * np.exp(there.log_unit - here.log_unit)
        if np.isfinite(left) and left >= -OVERSHOT * slope:
            return trial, there
        fraction /= 2
    return None


def _inverse(information: Matrix, largest: Vector) -> Matrix:
    """Inverse of the information; of a matrix near it where that is singular."""
    diagonal = np.diag(information)
    least = 1e-100 * largest  # less is as good as nothing, and its square no number
    scale = np.where(diagonal > least**2, np.sqrt(np.maximum(diagonal, least**2)), largest)
    values, vectors = np.linalg.eigh(information / scale[:, None] / scale[None, :])
    values = np.maximum(values, 1e-15 * values[-1]) if values[-1] > 1e-9 else np.ones_like(values)
    return np.asarray((vectors / values) @ vectors.T / scale[:, None] / scale[None, :])


def _proves(largest: Vector, covariance: Matrix, slope: float, noise: Vector) -> bool:
    """Whether the end proves that the maximum exists, as `separation.certificate` has it."""
    distance = 2.0 * float(np.sqrt(largest @ np.abs(covariance) @ largest))
    blurred = float(np.sqrt(noise @ np.abs(covariance) @ noise))
    return distance * (float(np.sqrt(max(slope, 0.0))) + blurred) < 0.5
