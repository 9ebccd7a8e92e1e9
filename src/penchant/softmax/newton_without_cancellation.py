"""Newton's method without cancellation, where nearly all choices are nearly certain.

The compiled sums take each set relative to the option chosen and stop at a length of the step in
standard errors. Where nearly all choices are nearly certain that is not enough: if another option
is all but certain the variance is a difference of equal numbers, and if standard errors are huge a
short step still moves theta. This method takes each set relative to its most likely option, and
ends with a step that changes no utility.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.identification import EPSILON
from penchant.softmax.newton import Maximum

MAX_TEMPORARY_ROWS = 100_000  # rows of temporary arrays: some tens of megabytes at most


@dataclass(frozen=True, slots=True)
class StableNewtonOptions:
    """Tolerances of the stable Newton's method, in units of utility unless said otherwise."""

    utility_tol: float = 1e-9  # change by the last step: the next would be its square, 1e-18
    continuation_tol: float = 0.1  # at reduced offsets: their maximum is only a start
    overshoot: float = 0.5  # slope that a step may reverse: more, and it went too far
    fast_region: float = 0.1  # below, steps at least square, or rounding holds them up
    max_slow_steps: int = 4  # in a row in the fast region: then rounding is all that is left
    # p of the likeliest rejected option: below, log(1 + p) is p to the last digit, and sums are
    # taken in units of p, as p squared would underflow
    certain_log_probability: float = -40.0
    max_start_offset: float = 8.0  # offsets that differ by more leave no curvature at theta = 0
    max_utility_change: float = 1e16  # per step: more would leave no digit of the theta before


STABLE = StableNewtonOptions()


@dataclass(frozen=True)
class StableMoments:
    """Log-likelihood, gradient and information, all divided by exp(log_unit).

    `noise` bounds the rounding of the gradient.
    """

    log_likelihood: float
    gradient: Vector
    information: Matrix
    noise: Vector
    log_unit: float


class StableLikelihood(Protocol):
    """Log-likelihood without cancellation or overflow, with a share of the choices' offsets."""

    @property
    def largest_differences(self) -> Vector:
        """Largest |x_i - x_chosen| of each variable."""

    @property
    def largest_offset(self) -> float | None:
        """Largest difference of an offset from that of the option chosen; None without offsets."""

    def moments(self, theta: Vector) -> StableMoments:
        """Sums over decisions, each relative to its most likely option."""

    def with_offset_share(self, share: float) -> StableLikelihood:
        """Likelihood with another share of the offsets."""


@dataclass(frozen=True)
class StableChoiceLikelihood:
    """Stable log-likelihood of choices in memory, with a share of their offsets.

    `largest_differences` holds the largest |x_i - x_chosen| of each variable; `offsets` those of
    every row, relative to the option chosen.
    """

    choices: Choices
    largest_differences: Vector
    offsets: Vector | None
    share: float = 1.0

    @classmethod
    def from_choices_with_offsets(cls, choices: Choices, largest: Vector) -> StableChoiceLikelihood:
        """Likelihood with all of the offsets."""
        if choices.offset is None:
            return cls(choices, largest, None)
        sizes = np.diff(choices.first_row)
        offsets = choices.offset - np.repeat(choices.offset[choices.chosen_row], sizes)
        if choices.available is not None:
            offsets[~choices.available] = 0.0
        return cls(choices, largest, offsets)

    @property
    def largest_offset(self) -> float | None:
        """Largest difference of an offset from that of the option chosen; None without offsets."""
        return None if self.offsets is None else float(np.abs(self.offsets).max())

    def with_offset_share(self, share: float) -> StableChoiceLikelihood:
        """Likelihood with another share of the offsets."""
        return replace(self, share=share)

    @cached_property
    def _rows_of_each_set(self) -> IntVector:
        """Rows of each set."""
        return np.diff(self.choices.first_row)

    @cached_property
    def _rows_per_set(self) -> int | IntVector:
        """Rows of each set as one number, if all have as many: `np.repeat` is quicker then."""
        sizes = self._rows_of_each_set
        return int(sizes[0]) if (sizes == sizes[0]).all() else sizes

    @cached_property
    def _chosen_row_of_rows(self) -> IntVector:
        """Chosen row of the set of every row."""
        return np.repeat(self.choices.chosen_row, self._rows_of_each_set)

    @cached_property
    def _is_rejected_row(self) -> BoolVector:
        """Rows that were not chosen, of sets that count."""
        c = self.choices
        missed = np.ones(c.n_rows, dtype=bool)
        if c.weights is not None:
            missed = np.repeat(c.weights > 0, self._rows_of_each_set)
        missed[c.chosen_row] = False
        return missed

    def _relative_variables(self, rows: slice) -> tuple[Matrix, Matrix]:
        """Variables relative to the option chosen, and their sizes; 0 where not on offer."""
        return (
            self._cached_relative_variables
            if self._fits_in_one_part
            else self._compute_relative_variables(rows)
        )

    @property
    def _fits_in_one_part(self) -> bool:
        return self.choices.n_rows <= MAX_TEMPORARY_ROWS

    @cached_property
    def _cached_relative_variables(self) -> tuple[Matrix, Matrix]:
        return self._compute_relative_variables(slice(None))

    def _compute_relative_variables(self, rows: slice) -> tuple[Matrix, Matrix]:
        c = self.choices
        z = c.explanatory[rows] - c.explanatory[self._chosen_row_of_rows[rows]]
        if c.available is not None:
            z[~c.available[rows]] = 0.0
        return z, np.abs(z)

    def utilities_and_rounding_bounds(self, theta: Vector) -> tuple[Vector, Vector]:
        """theta'x relative to the chosen option of each set, and a bound of its rounding."""
        c = self.choices
        q, size = np.empty(c.n_rows), np.empty(c.n_rows)
        for begin in range(0, c.n_rows, MAX_TEMPORARY_ROWS):
            rows = slice(begin, begin + MAX_TEMPORARY_ROWS)
            z, of_z = self._relative_variables(rows)
            q[rows], size[rows] = z @ theta, of_z @ np.abs(theta)
        if self.offsets is not None:
            q += self.share * self.offsets
            size += np.abs(self.share * self.offsets)
        if c.available is not None:
            q[~c.available] = -np.inf
        return q, EPSILON * (4.0 + size)

    def moments(self, theta: Vector) -> StableMoments:
        """Sums over decisions, each relative to its most likely option."""
        c = self.choices
        q, error = self.utilities_and_rounding_bounds(theta)
        starts, sizes, missed = c.first_row[:-1], self._rows_per_set, self._is_rejected_row
        weights = np.ones(c.n_decisions) if c.weights is None else c.weights
        top = np.maximum.reduceat(q, starts)
        at_top = np.flatnonzero(q == np.repeat(top, sizes))
        first = at_top[np.searchsorted(at_top, starts)]
        e = np.exp(q - np.repeat(top, sizes))
        # the likeliest option adds exactly 1: log1p of the others keeps their digits
        e[first] = 0.0
        others = np.add.reduceat(e, starts)
        log_p = q - np.repeat(top + np.log1p(others), sizes)
        unit = float(log_p[missed].max(initial=-np.inf))
        unit = unit if np.isfinite(unit) and unit < STABLE.certain_log_probability else 0.0
        if unit:  # every choice is all but certain: scale, as squares of p would underflow
            log_p[missed] -= unit
        p = np.exp(np.where(missed, log_p, np.minimum(log_p, 0.0)))
        if unit:
            value = -float(weights @ np.add.reduceat(np.where(missed, p, 0.0), starts))
        else:
            value = -float(weights @ (top + np.log1p(others)))
        if c.weights is not None:
            p *= np.repeat(weights, sizes)
        return self._moments_from_probabilities(value, p, unit, first, error)

    @cached_property
    def _part_bounds(self) -> list[int]:
        """Decisions at which to cut, so that each part has a bounded number of rows."""
        c = self.choices
        if self._fits_in_one_part:
            return [0, c.n_decisions]
        inner = np.searchsorted(c.first_row, np.arange(0, c.n_rows, MAX_TEMPORARY_ROWS))
        return [int(k) for k in np.union1d(inner, [0, c.n_decisions])]

    def _moments_from_probabilities(
        self, value: float, p: Vector, unit: float, first: IntVector, error: Vector
    ) -> StableMoments:
        """Gradient and information for probabilities p, times the weights and less the unit."""
        c = self.choices
        d = c.n_parameters
        gradient, noise, information = np.zeros(d), np.zeros(d), np.zeros((d, d))
        for begin, end in pairwise(self._part_bounds):
            edges = c.first_row[begin : end + 1]
            rows = slice(int(edges[0]), int(edges[-1]))
            sizes = (
                self._rows_per_set if self._fits_in_one_part else self._rows_of_each_set[begin:end]
            )
            z, of_z = self._relative_variables(rows)
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
        return StableMoments(value, gradient, information, noise, unit)


@dataclass(frozen=True)
class StableMaximum:
    """Last iterate of the stable Newton's method; whether it settled, and proves a maximum."""

    theta: Vector
    moments: StableMoments
    decrement: float
    n_steps: int
    settled: bool
    proves_maximum: bool

    def maximum(self) -> Maximum:
        """Convert to the record of the fast Newton's method, in natural units."""
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


def newton_without_cancellation(
    likelihood: StableLikelihood, start: Vector, max_steps: int, n_steps_taken: int = 0
) -> StableMaximum:
    """Maximise by `damped_newton`; if it does not settle, by continuation in the offsets.

    Offsets of hundreds make every choice certain at theta = 0, where no step can be computed. A
    share of them that Newton's method can handle is doubled until it is 1, each maximum scaled up
    as the start of the next.
    """
    found = damped_newton(likelihood, start, max_steps, n_steps_taken)
    size = likelihood.largest_offset
    if found.settled or size is None:
        return found
    share = min(1.0, STABLE.max_start_offset / size) if size > 0 else 1.0
    theta, steps = (
        np.zeros(len(start)),
        found.n_steps if found.n_steps < max_steps else n_steps_taken,
    )
    while share < 1.0:
        part = damped_newton(
            likelihood.with_offset_share(share), theta, max_steps, steps, STABLE.continuation_tol
        )
        if not part.settled:
            return replace(found, n_steps=max(found.n_steps, part.n_steps))
        steps = part.n_steps
        further = min(1.0, 2.0 * share)
        theta, share = part.theta * (further / share), further
    return damped_newton(likelihood, theta, max_steps, steps)


def damped_newton(
    likelihood: StableLikelihood,
    start: Vector,
    max_steps: int,
    n_steps_taken: int = 0,
    utility_tol: float = STABLE.utility_tol,
) -> StableMaximum:
    """Take Newton steps until one changes no utility; halve steps that overshoot."""
    theta, n_steps, decrement = np.array(start), n_steps_taken, np.inf
    here = likelihood.moments(theta)
    closest, n_slow = np.inf, 0
    while True:
        covariance = _scaled_inverse(here.information, likelihood.largest_differences)
        step = covariance @ here.gradient
        slope = float(here.gradient @ step)
        reach = float(likelihood.largest_differences @ np.abs(step))
        noise = float(likelihood.largest_differences @ (np.abs(covariance) @ here.noise))
        decrement = float(np.sqrt(max(slope, 0.0) * np.exp(here.log_unit)))
        if reach <= (noise if utility_tol < noise < STABLE.fast_region else utility_tol):
            proof = _proves_maximum(likelihood.largest_differences, covariance, slope, here.noise)
            theta = theta + step
            return StableMaximum(theta, likelihood.moments(theta), decrement, n_steps, True, proof)
        n_slow = n_slow + 1 if STABLE.fast_region > reach > 0.5 * closest else 0
        closest = min(closest, reach)
        if n_steps >= max_steps or n_slow >= STABLE.max_slow_steps:
            return StableMaximum(theta, here, decrement, n_steps, False, False)
        accepted = _backtrack(
            likelihood, theta, step, here, min(1.0, STABLE.max_utility_change / reach)
        )
        if accepted is None:
            return StableMaximum(theta, here, decrement, n_steps, False, False)
        theta, here = accepted
        n_steps += 1


def _backtrack(
    likelihood: StableLikelihood,
    theta: Vector,
    step: Vector,
    current_moments: StableMoments,
    longest: float,
) -> tuple[Vector, StableMoments] | None:
    """Backtrack by halving until the step does not overshoot the maximum along it; None if never.

    The slope, not the value, is tested: where the likelihood is all but flat, differences of values
    are rounding errors, while slopes keep their digits.
    """
    fraction, slope = longest, float(current_moments.gradient @ step)
    while fraction > 1e-15 * longest:
        trial = theta + fraction * step
        there = likelihood.moments(trial)
        left = float(there.gradient @ step) * np.exp(there.log_unit - current_moments.log_unit)
        if np.isfinite(left) and left >= -STABLE.overshoot * slope:
            return trial, there
        fraction /= 2
    return None


def _scaled_inverse(information: Matrix, largest: Vector) -> Matrix:
    """Inverse of the information, with eigenvalues raised to 1e-15 of the largest."""
    diagonal = np.diag(information)
    least = 1e-100 * largest  # a smaller scale would underflow when squared
    scale = np.where(diagonal > least**2, np.sqrt(np.maximum(diagonal, least**2)), largest)
    values, vectors = np.linalg.eigh(information / scale[:, None] / scale[None, :])
    values = np.maximum(values, 1e-15 * values[-1]) if values[-1] > 1e-9 else np.ones_like(values)
    return np.asarray((vectors / values) @ vectors.T / scale[:, None] / scale[None, :])


def _proves_maximum(largest: Vector, covariance: Matrix, slope: float, noise: Vector) -> bool:
    """Whether the last iterate proves that the maximum exists, as in `separation.certificate`."""
    distance = 2.0 * float(np.sqrt(largest @ np.abs(covariance) @ largest))
    blurred = float(np.sqrt(noise @ np.abs(covariance) @ noise))
    return distance * (float(np.sqrt(max(slope, 0.0))) + blurred) < 0.5
