"""Calibrated intervals of the weights: a parametric bootstrap of the likelihood-ratio test.

The interval inverts the test (test-inversion bootstrap, Carpenter 1999). At a candidate value of a
parameter everything else is estimated, choices are drawn from that, and each draw is asked how much
better its own best fit is than the best with the candidate value: twice the difference, W, is the
likelihood-ratio statistic. The share of draws whose W exceeds that of the choices made is the
candidate's p-value, whatever the size of the sample. Draws whose W is the same count half (the
mid-p value): few binary answers have few outcomes, and many of them tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy import special

from penchant._typing import BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, interval_kind_argument
from penchant.softmax import _bootstrap_kernels as compiled
from penchant.softmax.constraints import null_basis
from penchant.tail_probabilities import chi_square_isf, chi_square_sf

N_DRAWN = 499  # simulated data sets: the standard error of a p-value of 0.05 is then 0.01
# The search for an end steps by the slope of the root of W between two profile intervals; this is
# the ratio of their W: nearer to 1 rounding spoils the slope.
FURTHER_RATIO = 2.0


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """Limits and tolerances of calibrated intervals; W is the likelihood-ratio statistic."""

    min_draws: int = 39  # 40 with the data: fewer have less than two beyond the 0.95 quantile
    # units of W: above the error of a fit, below the gaps between distinct outcomes
    tie_tol: float = 1e-5
    # starts of a draw's fit, in multiples of the fitted weights: draws may be much more or less
    # certain than the data, and Newton's method takes fewest steps from the right order of size
    weight_factors: tuple[float, ...] = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    # units of utility: starts are cut to it, as certain choices leave Newton no slope
    certain_utility: float = 20.0
    # of the coarse search, for 1 and 2 dimensions: fewer points to fit
    strides: tuple[int, ...] = (2, 4)
    # values tried per end: each fits all draws anew, and most halve the bracket
    max_trials: int = 14
    end_tol: float = 0.1  # units of sqrt(W): below the noise of a quantile of 499 draws
    min_step: float = 0.05  # units of sqrt(W): without it a margin near 0 would stop the search
    # units of sqrt(W): further out the search gives up: the end is infinite
    max_distance: float = 100.0


CALIBRATION = CalibrationOptions()


class LatticeMaxima(NamedTuple):
    """Highest log-likelihoods (n_draws,), indices of their points, and weights (n_draws, d)."""

    log_likelihood: Vector
    point: IntVector
    theta: Matrix


@dataclass(frozen=True)
class DecisionsOnShapeGrid:
    """Decisions as they are described at points of a lattice of shape parameters.

    Attributes
    ----------
    x
        (n_points, n_decisions, n_options, n_weights).
    offset
        Known part of the objective, -inf where an option is not on offer:
        (n_points, n_decisions, n_options).
    positive
        Weights that must not be negative.
    dimensions
        Points along each shape parameter; none without shape parameters.
    start_candidates
        Where to begin: points, candidates for the weights at each, and what they sum to.
    """

    x: Matrix
    offset: Matrix
    positive: BoolVector
    dimensions: tuple[int, ...]
    start_candidates: tuple[IntVector, Matrix, Matrix] | None = None

    @cached_property
    def _log_sum_exp_cache(self) -> Vector:
        return np.full(len(self.x), np.nan)

    def on_plane(self, origin: Vector, basis: Matrix, positive: BoolVector) -> DecisionsOnShapeGrid:
        """Lattice restricted to theta = origin + basis phi, with phi as weights."""
        known = self.offset + self.x @ origin
        return DecisionsOnShapeGrid(
            np.ascontiguousarray(self.x @ basis), known, positive, self.dimensions
        )

    def with_candidates(self, chosen: IntVector) -> DecisionsOnShapeGrid:
        """Lattice with candidate weights, as starts for choices drawn around those made."""
        if self.x.shape[3] == 0 or len(self.x) == 1:
            return self
        cells, n_cells = self._coarse_positions, len(self._coarse_positions)
        points = self._flat_index(cells)
        values, near = np.empty(n_cells), np.zeros((n_cells, self.x.shape[3]))
        for c in range(n_cells):
            start = near[max(c - 1, 0)][None]
            value, theta = self._log_likelihoods_and_weights_at(
                chosen[None], np.zeros(1, np.int64), cells[c][None], start
            )
            values[c], near[c] = value[0], theta[0]
        near = np.stack([near, np.repeat(near[values.argmax()][None], n_cells, axis=0)], axis=1)
        largest = np.abs(np.einsum("ctma,cja->cjtm", self.x[points], near)).max(axis=(2, 3))
        near *= np.minimum(
            1.0, CALIBRATION.certain_utility / np.maximum(largest, CALIBRATION.certain_utility)
        )[:, :, None]
        scaled = near[:, :, None] * np.array(CALIBRATION.weight_factors)[:, None]
        candidates = scaled.reshape(n_cells, -1, self.x.shape[3])
        q = np.einsum("ctma,cja->cjtm", self.x[points], candidates)
        sums = special.logsumexp(q + self.offset[points][:, None], axis=3).sum(axis=2)
        return replace(self, start_candidates=(points, np.ascontiguousarray(candidates), sums))

    @cached_property
    def _strides(self) -> IntVector:
        # Sure choices make many peaks along psi, which a coarse search would miss; without weights
        # every point costs little, and all are tried.
        stride = (
            CALIBRATION.strides[min(len(self.dimensions), len(CALIBRATION.strides)) - 1]
            if self.x.shape[3]
            else 1
        )
        return np.array([min(stride, max(n // 4, 1)) for n in self.dimensions], dtype=np.int64)

    @cached_property
    def _coarse_positions(self) -> IntMatrix:
        """Points a stride apart, the last ones included: (n_cells, n_dimensions)."""
        axes = [
            np.unique([*range(0, size, stride), size - 1])
            for size, stride in zip(self.dimensions, self._strides, strict=True)
        ]
        mesh = np.meshgrid(*axes, indexing="ij")
        if not axes:
            return np.empty((1, 0), dtype=np.int64)
        return np.stack([m.ravel() for m in mesh], axis=1)

    def maximise_over_lattice(self, chosen: IntMatrix) -> LatticeMaxima:
        """Highest points of the log-likelihoods of draws (n_draws, n_decisions)."""
        n, d = len(chosen), self.x.shape[3]
        best = np.full(n, -np.inf)
        position, theta = np.zeros((n, len(self.dimensions)), dtype=np.int64), np.zeros((n, d))
        everyone, start_theta = np.arange(n), np.zeros((n, d))
        if self.start_candidates is not None:
            cells = np.zeros(n, dtype=np.int64)
            compiled.find_best_candidate_starts(
                self.x, self.offset, chosen, *self.start_candidates, cells, start_theta
            )
            position[:] = self._coarse_positions[cells]
            best[:], theta[:] = self._log_likelihoods_and_weights_at(
                chosen, everyone, position, start_theta
            )
        else:
            for cell in self._coarse_positions:
                target = np.repeat(cell[None], n, axis=0)
                value, start_theta = self._log_likelihoods_and_weights_at(
                    chosen, everyone, target, start_theta
                )
                _update_best(everyone, value, target, start_theta, best, position, theta)
        strides = self._strides
        while len(strides):
            self._hill_climb(chosen, strides, best, position, theta)
            if (strides == 1).all():
                break
            strides = np.maximum(strides // 2, 1)
        return LatticeMaxima(best, self._flat_index(position), theta)

    def _hill_climb(
        self,
        chosen: IntMatrix,
        strides: IntVector,
        best: Vector,
        position: IntMatrix,
        theta: Matrix,
    ) -> None:
        """Move to higher points a stride away, until there are none."""
        shifts = [
            np.array(shift, dtype=np.int64)
            for shift in product((-1, 0, 1), repeat=len(strides))
            if any(shift)
        ]
        moving = np.arange(len(best))
        last = np.array(self.dimensions) - 1
        while len(moving):
            start, before = position[moving].copy(), best[moving].copy()
            for shift in shifts:
                target = np.clip(start + shift * strides, 0, last)
                new = (target != start).any(axis=1)
                rows = moving[new]
                value, weights = self._log_likelihoods_and_weights_at(
                    chosen, rows, target[new], theta[rows]
                )
                _update_best(rows, value, target[new], weights, best, position, theta)
            moving = moving[best[moving] > before + CALIBRATION.tie_tol / 10]

    def _log_likelihoods_and_weights_at(
        self, chosen: IntMatrix, draw: IntVector, position: IntMatrix, start_theta: Matrix
    ) -> tuple[Vector, Matrix]:
        """Log-likelihood and weights of draws at points."""
        values, theta = np.empty(len(draw)), np.array(start_theta)
        compiled.solve_weights_of_draws(
            self.x,
            self.offset,
            chosen,
            draw,
            self._flat_index(position),
            self.positive,
            self._log_sum_exp_cache,
            values,
            theta,
        )
        return values, theta

    def _flat_index(self, position: IntMatrix) -> IntVector:
        if not self.dimensions:
            return np.zeros(len(position), dtype=np.int64)
        return np.asarray(np.ravel_multi_index(tuple(position.T), self.dimensions))

    def probabilities(self, point: int, theta: Vector) -> Matrix:
        """Choice probabilities at a point: (n_decisions, n_options)."""
        q = self.offset[point] + self.x[point] @ theta
        e = np.exp(q - q.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))


def _update_best(
    rows: IntVector,
    value: Vector,
    target: IntMatrix,
    weights: Matrix,
    best: Vector,
    position: IntMatrix,
    theta: Matrix,
) -> None:
    """Update the best value, position and weights of draws where a value is higher."""
    higher = value > best[rows]
    which = rows[higher]
    best[which], position[which], theta[which] = value[higher], target[higher], weights[higher]


def draw_options(probabilities: Matrix, uniforms: Matrix) -> IntMatrix:
    """Options drawn by uniform numbers (n_draws, n_decisions) with these probabilities."""
    ends = probabilities.cumsum(axis=1)
    chosen = np.zeros(uniforms.shape, dtype=np.int64)
    for i in range(probabilities.shape[1] - 1):
        chosen += uniforms * ends[:, -1] >= ends[:, i]
    # an option not on offer has probability 0, so no uniform number falls between its two ends
    last = probabilities.shape[1] - 1 - (probabilities > 0)[:, ::-1].argmax(axis=1)
    return np.asarray(np.minimum(chosen, last))


@dataclass(frozen=True)
class BootstrapTest:
    """Bootstrap likelihood-ratio test of candidate values of a parameter.

    Attributes
    ----------
    unrestricted_decisions
        The decisions at all points.
    chosen
        Options taken: (n_decisions,).
    uniforms
        One number per draw and decision, the same for all candidates.
    """

    unrestricted_decisions: DecisionsOnShapeGrid
    chosen: IntVector
    uniforms: Matrix

    def test(self, restricted: DecisionsOnShapeGrid, level: float) -> tuple[bool, float]:
        """Whether a candidate is inside the interval, and how far, on the scale of the root of W.

        Parameters
        ----------
        restricted
            The decisions where the parameter has its candidate value.
        level
            Of the interval: candidates are inside whose p-value is above 1 - level.
        """
        best = restricted.maximise_over_lattice(self.chosen[None])
        probabilities = restricted.probabilities(int(best.point[0]), best.theta[0])
        bootstrap = draw_options(probabilities, self.uniforms)
        every = np.concatenate([self.chosen[None], bootstrap])
        short, which = np.unique(every.astype(np.int16), axis=0, return_inverse=True)
        outcomes = short.astype(np.int64)
        refined = restricted.with_candidates(self.chosen)
        fixed = refined.maximise_over_lattice(outcomes).log_likelihood
        w = 2 * (np.maximum(self._best_values(outcomes), fixed) - fixed)
        made, others = w[which.ravel()[0]], w[which.ravel()[1:]]
        p = (
            (others > made + CALIBRATION.tie_tol).mean()
            + (others >= made - CALIBRATION.tie_tol).mean()
        ) / 2
        margin = np.sqrt(np.quantile(others, level)) - np.sqrt(made)
        return bool(p > 1 - level), float(margin)

    @cached_property
    def _with_candidates(self) -> DecisionsOnShapeGrid:
        return self.unrestricted_decisions.with_candidates(self.chosen)

    @cached_property
    def _value_cache(self) -> dict[bytes, float]:
        return {}

    def _best_values(self, outcomes: IntMatrix) -> Vector:
        """Highest log-likelihoods: few binary answers have few outcomes, each is fitted once."""
        keys = [row.tobytes() for row in outcomes]
        new = [k for k, key in enumerate(keys) if key not in self._value_cache]
        if new:
            found = self._with_candidates.maximise_over_lattice(outcomes[new]).log_likelihood
            self._value_cache.update(zip((keys[k] for k in new), found.tolist(), strict=True))
        return np.array([self._value_cache[key] for key in keys])


@dataclass(frozen=True)
class EndSearch:
    """Start and limits of the search for an end of an interval.

    Attributes
    ----------
    inside_position
        A position inside: that of the estimate.
    first
        The position to begin with: where the likelihood ratio is that of large samples.
    step_per_root_deviance
        Change of position by which the root of W changes by 1 around target, away from
        `inside_position`.
    limit
        A position beyond which unrestricted is looked for.
    """

    inside_position: float
    first: float
    step_per_root_deviance: float
    limit: float


def search_interval_end(
    test_position: Callable[[float], tuple[bool, float]], end: EndSearch
) -> float:
    """Position of the end of an interval; that of its limit if it is inside.

    test_position : whether a position is inside, and how far, on the scale of the root of W
    """
    side = np.sign(end.step_per_root_deviance)
    inside, outside = (end.inside_position, np.nan), (np.nan, np.nan)
    position, stretch, kept = end.first, 1.0, 0
    for _ in range(CALIBRATION.max_trials):
        is_inside, margin = test_position(position)
        margin = (
            max(margin, CALIBRATION.min_step) if is_inside else min(margin, -CALIBRATION.min_step)
        )
        if is_inside and side * (position - end.limit) >= 0:
            return end.limit
        if is_inside:
            inside, outside = (position, margin), (outside[0], outside[1] / (1 + (kept == 1)))
            kept = 1
        else:
            inside, outside = (inside[0], inside[1] / (1 + (kept == -1))), (position, margin)
            kept = -1
        if np.isnan(outside[1]) or np.isnan(inside[1]):  # one side only: go on, faster and faster
            position = float(
                position
                + end.step_per_root_deviance
                * stretch
                * (margin + np.sign(margin) * CALIBRATION.min_step)
            )
            lowest, highest = sorted((end.inside_position, end.limit))
            position = min(max(position, lowest), highest)
            stretch *= 1.5
            if position == end.inside_position:
                inside, position = (
                    (end.inside_position, 1.0),
                    (end.inside_position + outside[0]) / 2,
                )
            continue
        share = inside[1] / (inside[1] - outside[1])
        if abs(outside[0] - inside[0]) <= CALIBRATION.end_tol * abs(end.step_per_root_deviance):
            return float(inside[0] + share * (outside[0] - inside[0]))
        position = float(inside[0] + np.clip(share, 0.2, 0.8) * (outside[0] - inside[0]))
    return float(inside[0] if np.isnan(outside[0]) else outside[0])


def generator_for(chosen: IntVector, seed: int) -> np.random.Generator:
    """Randomness of one person: by the seed and their choices, whoever else is fitted."""
    return np.random.default_rng([seed, crc32(np.ascontiguousarray(chosen).tobytes())])


def seed_for_calibration(rng: np.random.Generator | None, n_drawn: int, has_prior: bool) -> int:
    """Seed from the generator, after checks that choices can be drawn from the estimate."""
    if has_prior:
        raise DataError(
            interval_kind_argument("calibrated"),
            "must have plain maximum likelihood",
            got="a prior, a penalty or constraints",
            fix=f"Fit without them, or use {interval_kind_argument('profile')}.",
        )
    if not isinstance(rng, np.random.Generator):
        raise DataError(
            "rng",
            f"must be a numpy.random.Generator with {interval_kind_argument('calibrated')}",
            got=repr(rng),
            fix="Pass numpy.random.default_rng(1).",
        )
    if n_drawn < CALIBRATION.min_draws:
        raise DataError(
            "n_drawn",
            f"must be at least {CALIBRATION.min_draws}",
            got=n_drawn,
            fix=f"{N_DRAWN} is usual.",
        )
    return int(rng.integers(2**63))


@dataclass(frozen=True)
class LinearCalibration:
    """Decisions that are linear in theta.

    Attributes
    ----------
    choices
        The decisions; each counts once.
    theta
        The estimate, infinite where it is separated.
    unidentified
        Directions of theta that change unrestricted, as rows.
    scale
        Within-set root mean square of each variable.
    """

    choices: Choices
    theta: Vector
    unidentified: Matrix
    scale: Vector

    def intervals(
        self,
        indices: Sequence[int],
        profile_interval_ends: Matrix,
        further_profile_interval_ends: Matrix,
        level: float,
        seed: int,
        n: int,
    ) -> Matrix:
        """Intervals of some weights, from profile intervals at this level and at a further one.

        Parameters
        ----------
        profile_interval_ends, further_profile_interval_ends
            (n_wanted, 2), at `level` and at `level_of_further_interval(level)`.
        seed, n
            Of the draws, and how many.
        """
        plain, d = self._lattice(), len(self.theta)
        basis = null_basis(self.unidentified, d, self.scale)
        whole = plain.on_plane(np.zeros(d), basis, np.zeros(basis.shape[1], dtype=bool))
        chosen = self.choices.chosen
        uniforms = generator_for(chosen, seed).random((n, len(chosen)))
        bootstrap = BootstrapTest(whole, chosen, uniforms)

        def at(a: int, value: float) -> tuple[bool, float]:
            fixed = np.vstack([np.eye(d)[a], self.unidentified])
            left = null_basis(fixed, d, self.scale)
            free = np.zeros(left.shape[1], dtype=bool)
            return bootstrap.test(plain.on_plane(value * np.eye(d)[a], left, free), level)

        ends = [
            [
                interval_end(
                    partial(at, a),
                    float(self.theta[a]),
                    profile_interval_ends[k, side],
                    further_profile_interval_ends[k, side],
                    level,
                )
                for side in (0, 1)
            ]
            for k, a in enumerate(indices)
        ]
        return np.array(ends)

    def _lattice(self) -> DecisionsOnShapeGrid:
        """Choice sets as one array; smaller ones are padded with options not available."""
        choices = self.choices
        if choices.weights is not None:
            raise DataError(
                "choices",
                f"must count once each with {interval_kind_argument('calibrated')}",
                got="weights",
                fix=f"Repeat the decisions instead, or use {interval_kind_argument('profile')}.",
            )
        sizes = np.diff(choices.first_row)
        n, m = len(sizes), int(sizes.max())
        position = (
            np.repeat(np.arange(n), sizes),
            np.arange(choices.n_rows) - np.repeat(choices.first_row[:-1], sizes),
        )
        x, offset = np.zeros((n, m, choices.n_parameters)), np.full((n, m), -np.inf)
        offered = np.ones(choices.n_rows, dtype=bool)
        if choices.available is not None:
            offered = np.asarray(choices.available)
        rows = choices.explanatory - choices.explanatory[np.repeat(choices.chosen_row, sizes)]
        x[position] = np.where(offered[:, None], rows, 0.0)
        known = 0.0 if choices.offset is None else choices.offset
        offset[position] = np.where(offered, known, -np.inf)
        unrestricted = np.zeros(choices.n_parameters, dtype=bool)
        return DecisionsOnShapeGrid(x[None], offset[None], unrestricted, ())


def interval_end(
    test_position: Callable[[float], tuple[bool, float]],
    centre: float,
    profile_end: float,
    further_profile_end: float,
    level: float,
) -> float:
    """End of an interval, searched from those of profile intervals; infinite if far beyond."""
    if not np.isfinite(profile_end) or profile_end == centre:
        return profile_end
    root = np.sqrt(chi_square_isf(1 - level, 1))
    side = np.sign(profile_end - centre)
    pace = (
        abs(further_profile_end - profile_end) / (root * (np.sqrt(FURTHER_RATIO) - 1))
        if np.isfinite(further_profile_end)
        else np.inf
    )
    known = abs(profile_end - centre) / root if np.isfinite(centre) else np.inf
    pace = side * (pace if np.isfinite(pace) else known if np.isfinite(known) else 1.0)
    inner = centre if np.isfinite(centre) else profile_end - 2 * root * pace
    limit = profile_end + side * CALIBRATION.max_distance * abs(pace)
    found = search_interval_end(
        test_position, EndSearch(inner, profile_end, float(pace), float(limit))
    )
    return float(side * np.inf) if found == limit else found


def level_of_further_interval(level: float) -> float:
    """Level at which the large-sample likelihood ratio is `FURTHER_RATIO` times as large."""
    return float(1.0 - chi_square_sf(FURTHER_RATIO * chi_square_isf(1 - level, 1), 1))
