"""Decisions that are read chunk by chunk, with the answers of `decisions.ChoiceDecisions`.

Every question is one or a few passes over the chunks. Linear programs for separation use constraint
generation: in each pass every chunk gives the rows that the last direction violates most, until
none is violated, so that they hold a few thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation
from penchant.softmax.chunked_likelihood import (
    ChunkedLikelihood,
    ChunkedStableLikelihood,
    ChunkMapper,
    ChunkSummary,
    Transform,
    summarize_chunks,
)
from penchant.softmax.decisions import VanishingCounts
from penchant.softmax.identification import padded_triangle, r_factor_of_centred_rows
from penchant.softmax.maximum_and_covariance import (
    choices_in_coordinates,
    weight_unit_from_largest_and_mean,
)
from penchant.softmax.separation import SEPARATION, Differences, FeasibleDirection, NnlsBound

Bits = NDArray[np.uint64]

MAX_VIOLATED_PER_CHUNK = 200  # more make every linear program slow, fewer take more passes
MIN_FIRST_ROWS_PER_CHUNK = 20  # so that every chunk is represented in the first linear program
# Bits of a float64 fixed per pass of the radix search for an exact quantile: three passes of 4
# million bins, which fit in memory; more bits per pass would not.
RADIX_BITS = 22
RADIX_SHIFTS = (44, 22, 0)


@dataclass(frozen=True)
class VanishingOptions:
    """Options whose probabilities fall to 0 along directions, each taken off after the last."""

    removals: tuple[Transform, ...]

    def __or__(self, other: VanishingOptions) -> VanishingOptions:
        return VanishingOptions((*self.removals, *other.removals))


@dataclass(frozen=True)
class ChunkedDecisions:
    """Decisions of chunks, perhaps transformed, with what the first pass over them found."""

    reducer: ChunkMapper
    summary: ChunkSummary

    @classmethod
    def from_chunks(cls, reducer: ChunkMapper, with_start: bool = True) -> ChunkedDecisions:
        """Take the first pass; `with_start`: every chunk finds a maximum of its own."""
        return cls(reducer, summarize_chunks(reducer, with_start))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.reducer.chunks.names

    @property
    def total_weight(self) -> float:
        """Summed weights of the decisions."""
        return self.summary.total_weight

    @property
    def has_offset(self) -> bool:
        """Whether some known number is added to the utility of options."""
        return self.summary.largest_offset is not None

    @property
    def likelihood(self) -> ChunkedLikelihood:
        """Log-likelihood as a function of theta."""
        return ChunkedLikelihood(self.reducer, self.summary)

    @property
    def stable_likelihood(self) -> ChunkedStableLikelihood:
        """Likelihood without cancellation, for choices that are nearly certain."""
        return ChunkedStableLikelihood(
            self.reducer, self.summary.largest_values_by_variable[1], self.summary.largest_offset
        )

    def start(self) -> Vector | None:
        """Mean of the chunks' own maxima; None for 0."""
        return self.summary.start

    @cached_property
    def with_unit_mean_weights_and_unit(self) -> tuple[ChunkedDecisions, float]:
        """Decisions with weights of mean about 1, and the unit of these."""
        summary = self.summary
        mean = summary.weight_over_largest / summary.n_decisions
        unit = (
            weight_unit_from_largest_and_mean(summary.largest_weight, mean)
            if summary.weighted
            else 1.0
        )
        if unit == 1.0:
            return self, unit
        # unusual weights are rescaled by a power of 2, which needs a second first pass
        return ChunkedDecisions.from_chunks(
            self._reducer_with(partial(_rescaled_weights, unit=unit))
        ), unit

    def in_coordinates(self, basis: Matrix, rank: int | None = None) -> ChunkedDecisions:
        """Decisions for phi, where theta = basis phi."""
        turned = self._reducer_with(partial(choices_in_coordinates, basis=basis, rank=rank))
        # directions beyond the rank have a start of their own: the prior's
        return ChunkedDecisions.from_chunks(turned, with_start=rank is None)

    def _reducer_with(self, *transforms: Transform) -> ChunkMapper:
        return reduce(ChunkMapper.with_transform, transforms, self.reducer)

    def integer_variables(self) -> BoolVector:
        """Variables that hold nothing but whole numbers."""
        return self.summary.is_integer_variable

    def r_factor(self, columns: IntVector, unit: Vector) -> Matrix:
        """R of the QR factorisation of all rows: that of the triangles of chunks, in order."""
        triangle: Matrix = np.zeros((0, len(columns)))
        work = partial(r_factor_of_centred_rows, columns=columns, unit=unit)
        for part in self.reducer.map_chunks(work, "identification"):
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, part]), mode="r"))
        return padded_triangle(triangle)

    def total_rows(self) -> float:
        """Number of rows on offer, each counted as often as its decision."""
        return self.summary.total_rows

    def recession_cone(
        self, scale: Vector, basis: Matrix | None = None, constraint_rows: Matrix | None = None
    ) -> ChunkedRecessionCone | None:
        """Directions that lower no utility of an option chosen."""
        assert constraint_rows is None  # scans are fitted without constraints
        unit = large_difference_quantile(self.reducer, scale)
        differences = partial(
            separation.differences_from_chosen,
            unit=unit,
            is_integer_variable=self.summary.is_integer_variable,
            basis=basis,
        )
        inner = unit if basis is None else np.ones(basis.shape[1])
        return ChunkedRecessionCone.from_chunks(self.reducer, differences, inner)

    def without_vanishing_options(self, vanishing_options: VanishingOptions) -> ChunkedDecisions:
        """Decisions without the options that a recession direction resolves."""
        return ChunkedDecisions.from_chunks(self._reducer_with(*vanishing_options.removals))

    def count_vanishing_options(self, vanishing_options: VanishingOptions) -> VanishingCounts:
        """Count options that vanish, and the decisions that lose some."""
        parts = self.reducer.map_chunks(
            partial(_count_vanishing_options, vanishing_options=vanishing_options), "separation"
        )
        return VanishingCounts(*np.array(list(parts)).sum(axis=0).tolist())

    def large_difference_quantile(self, scale: Vector) -> Vector:
        """Size of each variable's differences."""
        return large_difference_quantile(self.reducer, scale)

    def small_difference_bound(self, theta: Vector) -> Vector:
        """`negligible` of `may_depend_on_small_differences`, summed over chunks: (1,)."""
        # the sum over chunks of their largest variables bounds that of all choices
        work = partial(
            separation.small_difference_bound,
            theta=theta,
            largest=self.summary.largest_values_by_variable[1],
        )
        return reduce(np.add, self.reducer.map_chunks(work, "small differences"))

    def with_small_differences_zeroed(self, limit: Vector) -> ChunkedDecisions | None:
        """Decisions with differences up to the limit set to 0; None if there are none."""
        work = partial(_has_negligible_differences, limit=limit)
        # a list: every chunk must be visited, or the pass would be left unfinished
        if not any(list(self.reducer.map_chunks(work, "small differences"))):
            return None
        plain = self._reducer_with(partial(_with_negligible_differences_zeroed, limit=limit))
        return ChunkedDecisions.from_chunks(plain, with_start=False)


def _rescaled_weights(choices: Choices, unit: float) -> Choices:
    if choices.weights is None:
        return choices
    return replace(choices, weights=choices.weights / unit)


def _has_negligible_differences(choices: Choices, limit: Vector) -> bool:
    return separation.with_differences_zeroed(choices, limit) is not None


def _with_negligible_differences_zeroed(choices: Choices, limit: Vector) -> Choices:
    return separation.with_differences_zeroed(choices, limit) or choices


def _count_vanishing_options(
    choices: Choices, vanishing_options: VanishingOptions
) -> VanishingCounts:
    left = reduce(lambda some, removal: removal(some), vanishing_options.removals, choices)
    lost = choices.n_options - left.n_options
    return VanishingCounts(
        int(lost.sum()), int((choices.n_options - 1).sum()), int((lost > 0).sum())
    )


def large_difference_quantile(reducer: ChunkMapper, scale: Vector) -> Vector:
    """Compute `separation.large_difference_quantile` to the last bit by a radix search.

    Positive floats are ordered as their bits, of which three passes find 20, 22 and 22.
    """
    d = len(scale)
    prefix: tuple[int, ...] | None = None
    rank = np.zeros(d, dtype=np.int64)
    for shift in RADIX_SHIFTS:
        n, counts = 0, [dict[int, int]() for _ in range(d)]
        work = partial(_histograms_of_difference_bits, shift=shift, prefix=prefix)
        for rows, parts in reducer.map_chunks(work, "size of differences"):
            n += rows
            for mine, (bits, times) in zip(counts, parts, strict=True):
                for bit, time in zip(bits.tolist(), times.tolist(), strict=True):
                    mine[bit] = mine.get(bit, 0) + time
        if not n:
            return np.where(scale > 0, scale, 1.0)
        if prefix is None:
            # as in `separation`: chunks and memory must agree
            rank[:] = int(np.floor((n - 1) * 0.99))
        prefix = tuple(_bin_of_rank(counts[a], rank, a) for a in range(d))
    size = np.array(prefix, dtype=np.uint64).view(np.float64)
    return np.where(size > 0, size, np.where(scale > 0, scale, 1.0))


def _histograms_of_difference_bits(
    choices: Choices, shift: int, prefix: tuple[int, ...] | None
) -> tuple[int, list[tuple[Bits, IntVector]]]:
    """Number of differences, and for each variable their next bits with counts.

    Those are counted whose leading bits are the prefix; all of them without one.
    """
    sizes = separation.sizes_of_differences(choices)
    bits = np.ascontiguousarray(sizes + 0.0).view(np.uint64)  # + 0.0 makes -0.0 positive
    found = []
    for a, mine in enumerate(bits):
        if prefix is not None:
            before = np.uint64(shift + RADIX_BITS)
            mine = mine[(mine >> before) == np.uint64(prefix[a])]
        found.append(np.unique(mine >> np.uint64(shift), return_counts=True))
    return sizes.shape[1], found


def _bin_of_rank(counts: dict[int, int], rank: IntVector, a: int) -> int:
    """Bin that holds the number of this rank; the rank becomes that within the bin."""
    for bit in sorted(counts):
        if rank[a] < counts[bit]:
            return bit
        rank[a] -= counts[bit]
    raise AssertionError("a rank is among the numbers")


@dataclass
class ChunkedRecessionCone:
    """The cone of chunks, by constraints generated in passes."""

    reducer: ChunkMapper
    differences: Callable[[Choices], Differences]
    unit: Vector
    values: Matrix
    rounding: Vector
    sum_of_differences: Vector
    n_differences: int
    seen: set[bytes] = field(default_factory=set)

    @classmethod
    def from_chunks(
        cls, reducer: ChunkMapper, differences: Callable[[Choices], Differences], unit: Vector
    ) -> ChunkedRecessionCone | None:
        """Start with a sample of rows from each chunk; None where no row differs."""
        per_chunk = SEPARATION.initial_rows // reducer.chunks.n_chunks
        n_rows = max(per_chunk, MIN_FIRST_ROWS_PER_CHUNK)
        work = partial(_sample_differences, differences=differences, n_rows=n_rows)
        parts = list(reducer.map_chunks(work, "separation"))
        n = sum(part.n for part in parts)
        if not n:
            return None
        total = reduce(np.add, [part.total for part in parts])
        values = np.vstack([part.values for part in parts])
        rounding = np.concatenate([part.rounding for part in parts])
        seen = {row.tobytes() for row in values}
        return cls(reducer, differences, unit, values, rounding, total, n, seen)

    def nnls_bounds(self, goals: Sequence[Vector]) -> list[NnlsBound]:
        """Infinite bounds: finite ones would need all rows at once."""
        return [NnlsBound(np.inf, np.nan)] * len(goals)

    def furthest_feasible_direction(self, goal: Vector) -> FeasibleDirection:
        """Direction furthest along the goal, or 0."""
        free = np.empty((0, len(goal)))
        while True:
            direction = separation.furthest_direction(goal, self.values, free, self.rounding)
            if not direction.any():
                return FeasibleDirection(direction, 0.0, True)
            work = partial(_violated_rows, differences=self.differences, direction=direction)
            parts = list(self.reducer.map_chunks(work, "separation"))
            if not self._add_violated_rows(parts):
                rise = max(part.largest_rise for part in parts)
                return FeasibleDirection(direction, rise, all(part.all_rise for part in parts))

    def _add_violated_rows(self, parts: list[_ViolatedRows]) -> bool:
        """Add violated rows; whether any was new (the same row twice would loop for ever)."""
        before = len(self.values)
        values, rounding = [self.values], [self.rounding]
        for part in parts:
            new = [k for k, row in enumerate(part.rows) if row.tobytes() not in self.seen]
            self.seen |= {part.rows[k].tobytes() for k in new}
            values.append(part.rows[new])
            rounding.append(part.rounding[new])
        self.values, self.rounding = np.vstack(values), np.concatenate(rounding)
        return len(self.values) > before

    def are_step_fractions_feasible(self, first: Vector, second: Vector) -> BoolVector:
        """Whether first + part * second lowers no difference, for each part of `PARTS`."""
        work = partial(
            _are_step_fractions_feasible, differences=self.differences, first=first, second=second
        )
        return reduce(np.logical_and, self.reducer.map_chunks(work, "separation"))

    def vanishing_options_along(self, direction: Vector) -> VanishingOptions:
        """Options whose probability falls to 0 along a direction."""
        removal = partial(
            _without_vanishing_options, differences=self.differences, direction=direction
        )
        return VanishingOptions((removal,))


class _DifferenceSample(NamedTuple):
    """Number n and sum of all differences; a sample of them (n_rows, d), and their rounding."""

    n: int
    total: Vector
    values: Matrix
    rounding: Vector


def _sample_differences(
    choices: Choices, differences: Callable[[Choices], Differences], n_rows: int
) -> _DifferenceSample:
    """Sample about n_rows differences."""
    found = differences(choices)
    # evenly spaced, not the first rows: data are often sorted by subject or condition
    some = slice(None, None, max(1, len(found.values) // n_rows))
    return _DifferenceSample(
        len(found.values), found.values.sum(axis=0), found.values[some], found.rounding[some]
    )


class _ViolatedRows(NamedTuple):
    """Rows that a direction lowers most, and their rounding; how all rows of the chunk move."""

    rows: Matrix
    rounding: Vector
    largest_rise: float
    all_rise: bool


def _violated_rows(
    choices: Choices, differences: Callable[[Choices], Differences], direction: Vector
) -> _ViolatedRows:
    found = differences(choices)
    along = found.values @ direction
    # as in `separation.furthest_direction`, so that chunks and choices in memory agree: with one or
    # two parameters no linear program rounds
    slack = 0.0 if len(direction) == 1 else SEPARATION.lp_tol
    room = along + (found.rounding if len(direction) == 2 else slack)
    broken = np.flatnonzero(room < 0)
    worst = broken[np.argsort(room[broken], kind="stable")[:MAX_VIOLATED_PER_CHUNK]]
    return _ViolatedRows(
        found.values[worst],
        found.rounding[worst],
        float(along.max(initial=0.0)),
        bool((along >= -found.rounding).all()),
    )


def _are_step_fractions_feasible(
    choices: Choices,
    differences: Callable[[Choices], Differences],
    first: Vector,
    second: Vector,
) -> BoolVector:
    return differences(choices).are_step_fractions_feasible(first, second)


def _without_vanishing_options(
    choices: Choices, differences: Callable[[Choices], Differences], direction: Vector
) -> Choices:
    found = differences(choices)
    on_offer = np.ones(choices.n_rows, dtype=bool)
    if choices.available is not None:
        on_offer &= choices.available
    on_offer[found.rows[found.values @ direction > SEPARATION.resolved_tol]] = False
    return replace(choices, available=on_offer)
