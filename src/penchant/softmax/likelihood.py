"""Log-likelihood of softmax choices (conditional logit, McFadden 1974) and derivatives, Eq. (5).

`PackedLikelihood` rearranges decisions once for the vector kernels of `_likelihood_kernels` and
`_moment_codegen`. Sums are added in a fixed order, so that results have the same bits for any
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from penchant._typing import BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.argument_checks import check_threads
from penchant.choices import Choices
from penchant.softmax import _likelihood_kernels as kernels
from penchant.softmax._moment_codegen import LANES, MAX_CACHED_VECTORS, MomentKernel, moment_kernel

_T = TypeVar("_T")
_Item = TypeVar("_Item")

# A multiple of a chunk, so that tasks add up whole chunks; less work is not worth a thread.
BLOCKS_PER_TASK = 4 * kernels.CHUNK_BLOCKS


@dataclass(frozen=True)
class Moments:
    """Log-likelihood, gradient and information at one theta, Eq. (5)."""

    log_likelihood: float
    gradient: Vector
    information: Matrix


class Likelihood(Protocol):
    """Log-likelihood of choices as a function of theta, as the estimators use it."""

    @property
    def n_parameters(self) -> int:
        """Number of weights theta."""

    @property
    def largest_values_and_differences(self) -> Matrix:
        """Largest |x| and largest |x_i - x_chosen| of each variable: (2, n_parameters)."""

    def moments(self, theta: Vector) -> Moments:
        """Log-likelihood, gradient and information."""

    def scatter_within_sets(self) -> Matrix:
        """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the choice set."""


def available_threads() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_threads(work: Callable[[_Item], _T], items: Sequence[_Item], threads: int) -> list[_T]:
    """Results of work on items, in their order; compiled code runs side by side in threads."""
    if threads == 1 or len(items) < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def likelihood_of(choices: Choices, threads: int | None = None) -> PackedLikelihood:
    """Pack the choices for evaluation."""
    check_threads(threads)
    return PackedLikelihood.from_choices(
        choices, available_threads() if threads is None else threads
    )


def kernel_table_of_choices(choices: Choices) -> tuple[Any, ...]:
    """The arrays of the choices as the compiled loops take them."""
    return read_only_kernel_table(
        choices.explanatory,
        choices.offset,
        choices.available,
        choices.first_row,
        choices.chosen,
        choices.weights,
    )


def read_only_kernel_table(
    rows: Matrix,
    offset: Vector | None,
    available: BoolVector | None,
    first_row: IntVector,
    chosen: IntVector,
    weights: Vector | None,
) -> tuple[Any, ...]:
    """Read-only views, empty where absent: one numba type, so that loops are compiled once."""
    empty = np.empty(0)
    table = (
        np.ascontiguousarray(rows),
        empty if offset is None else np.ascontiguousarray(offset),
        np.empty(0, dtype=np.bool_) if available is None else available,
        first_row,
        np.ascontiguousarray(chosen),
        empty if weights is None else weights,
    )
    return read_only_views(table)


def read_only_views(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Read-only views of arrays: a writable one would be another type for numba."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def order_by_size(n_rows: IntVector) -> IntVector:
    """Decisions in order of the size of their choice sets, so that blocks need little padding."""
    if not np.count_nonzero(n_rows != n_rows[0]):
        return np.arange(len(n_rows))
    return np.argsort(n_rows, kind="stable")


def positive_weight_decisions(choices: Choices, order: IntVector) -> IntVector:
    """Decisions of `order` with positive weight."""
    if choices.weights is None or choices.weights.all():
        return order
    return order[choices.weights[order] > 0]


def block_rows(n_rows: IntVector, order: IntVector, firsts: IntVector) -> IntVector:
    """Number of rows of each block, that of its largest set; blocks begin at order[firsts]."""
    if not len(firsts):
        return np.empty(0, dtype=np.int64)
    most = n_rows[order[0]]
    if not np.count_nonzero(n_rows != most):
        return np.full(len(firsts), most)
    return np.asarray(np.maximum.reduceat(n_rows[order], firsts))


def aligned_vectors(n: int) -> Vector:
    """Uninitialised array of n vectors of eight doubles, aligned to cache lines."""
    memory = np.empty((n + 1) * LANES)
    skip = -(memory.__array_interface__["data"][0] // memory.itemsize) % LANES
    return memory[skip : skip + n * LANES]


def allocate_packing_buffers(n_rows: int, d: int) -> tuple[IntVector, IntVector, Vector]:
    """Buffers of `pack_blocks` for blocks of n_rows rows: sources, chosen rows, sizes."""
    return (
        # one row more: an index is written before it is known whether the row counts
        np.empty((n_rows + 1, LANES), dtype=np.int64),
        np.empty(LANES, dtype=np.int64),
        np.empty((2, d, LANES)),
    )


def allocate_sum_workspace(n_rows: int, n_blocks: int, d: int) -> tuple[Vector, Vector, Matrix]:
    """Workspace of `sum_block_moments` for n_blocks blocks of at most n_rows rows."""
    n = n_moments(d)
    # per block: an exponential per row, a mean per variable, and the shift and mass of each set
    of_block = n_rows + d + 2
    scratch = max(of_block, min(n_blocks * of_block, MAX_CACHED_VECTORS))
    memory = aligned_vectors(scratch + n)
    end = scratch * LANES
    return memory[:end], memory[end:], np.empty((-(-n_blocks // kernels.CHUNK_BLOCKS), n))


def n_moments(d: int) -> int:
    """Number of sums of d variables: a value, a gradient, and a triangle of information."""
    return 1 + d + d * (d + 1) // 2


@dataclass(frozen=True)
class PackedLikelihood:
    """Log-likelihood of decisions packed in blocks of eight lanes (see `_likelihood_kernels`)."""

    packed: tuple[Vector, IntVector, Matrix]
    n_blocks: int
    n_parameters: int
    has_offset: bool
    largest_values_and_differences: Matrix
    threads: int
    most_rows: int
    sets_have_one_size: bool  # all sets of one size: the scatter then follows from the moments at 0

    @classmethod
    def from_choices(cls, choices: Choices, threads: int) -> PackedLikelihood:
        """Pack the choices, with several threads where there is much to do."""
        d = choices.n_parameters
        n_rows = choices.n_options - 1
        order = positive_weight_decisions(choices, order_by_size(n_rows))
        rows = block_rows(n_rows, order, np.arange(0, len(order), LANES))
        n_blocks, has_offset = len(rows), choices.offset is not None
        starts = np.zeros(n_blocks + 1, dtype=np.int64)
        np.cumsum(rows, out=starts[1:])
        values = aligned_vectors(int(starts[-1]) * (d + has_offset))
        side = aligned_vectors(2 * n_blocks).reshape(n_blocks, 2 * LANES)
        table, kernel = kernel_table_of_choices(choices), moment_kernel(d, has_offset)
        most_rows = max(int(rows[-1]), 1) if n_blocks else 1  # decisions are in order of size
        given = table, kernel, order, (0, len(order)), starts

        def pack(begin: int, end: int) -> tuple[bool, Matrix]:
            places = allocate_packing_buffers(most_rows, d)
            even = kernels.pack_blocks(*given, (begin, end), (values, side), places)
            return even, places[2]

        parts = _map_block_ranges(pack, n_blocks, threads)
        sizes = [size for _, size in parts] or [np.zeros((2, d, LANES))]
        largest = reduce(np.maximum, sizes).max(axis=2)
        even = all(even for even, _ in parts) and (not n_blocks or bool(rows[0] == rows[-1]))
        packed = values, starts, side
        return cls(packed, n_blocks, d, has_offset, largest, threads, most_rows, even)

    @property
    def _kernel(self) -> MomentKernel:
        return moment_kernel(self.n_parameters, self.has_offset)

    @property
    def packed_problem(self) -> tuple[Any, ...]:
        """Packed choices, number of blocks and kernel: the first argument of compiled loops."""
        return (self.packed, self.n_blocks, self._kernel)

    def workspace(self) -> tuple[Any, Vector, Matrix]:
        """Workspace of `maximise`: of the sums, theta and 1 for an offset, Cholesky."""
        d = self.n_parameters
        of_sums = allocate_sum_workspace(self.most_rows, self.n_blocks, d)
        return of_sums, np.ones(d + self.has_offset), np.empty((d + 2, d))

    def _moment_sums(self, theta: Vector) -> Vector:
        """Sum all moments in one vector; chunks are added in order for any number of threads."""
        full = np.append(theta, 1.0) if self.has_offset else np.ascontiguousarray(theta)
        d, kernel = self.n_parameters, self._kernel
        n = n_moments(d)
        # starting threads would take longer than the sums
        if self.threads == 1 or self.n_blocks <= BLOCKS_PER_TASK:
            total = np.empty(n)
            workspace = allocate_sum_workspace(self.most_rows, self.n_blocks, d)
            kernels.sum_block_moments(self.packed, kernel, full, 0, self.n_blocks, workspace, total)
            return total

        def add_up(begin: int, end: int) -> Matrix:
            workspace = allocate_sum_workspace(self.most_rows, end - begin, d)
            kernels.sum_block_moments(self.packed, kernel, full, begin, end, workspace, np.empty(n))
            return workspace[2]

        total = np.zeros(n)
        for parts in _map_block_ranges(add_up, self.n_blocks, self.threads):
            for part in parts:
                total += part
        return total

    def moments(self, theta: Vector) -> Moments:
        """Log-likelihood, gradient and information."""
        # cached: Newton's method starts at 0, and the scatter needs the same sums
        if not np.count_nonzero(theta):
            return moments_from_sums(self._sums_at_zero, self.n_parameters)
        return moments_from_sums(self._moment_sums(theta), self.n_parameters)

    @cached_property
    def _sums_at_zero(self) -> Vector:
        """Sums at theta = 0: Newton's method starts there, and the scatter follows from them."""
        return self._moment_sums(np.zeros(self.n_parameters))

    def scatter_within_sets(self) -> Matrix:
        """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the choice set."""
        side = self.packed[2]
        # sets of one size without offsets: the scatter is the information at theta = 0
        if self.n_blocks and self.sets_have_one_size and not self.has_offset:
            information = moments_from_sums(self._sums_at_zero, self.n_parameters).information
            return np.asarray(information / side[:, :LANES].sum())
        d = self.n_parameters
        spread = np.zeros((d, d))
        if self.n_blocks:
            sums = np.empty(n_moments(d))
            kernels.write_within_set_scatter(
                self.packed_problem, False, sums, self.workspace(), np.empty_like(side), spread
            )
        return spread

    def in_units(self, unit: Vector) -> PackedLikelihood:
        """Likelihood of the variables times `unit`; the bits of packing them if powers of 2."""
        values, starts, side = self.packed
        n_columns = self.n_parameters + self.has_offset
        times = np.append(unit, 1.0) if self.has_offset else unit
        scaled = aligned_vectors(len(values) // LANES)
        shape = -1, n_columns, LANES
        np.multiply(values.reshape(shape), times[:, None], out=scaled.reshape(shape))
        return replace(
            self,
            packed=(scaled, starts, side),
            largest_values_and_differences=self.largest_values_and_differences * unit,
        )


@lru_cache(maxsize=64)
def lower_triangle(d: int) -> tuple[IntVector, IntVector]:
    """Rows and columns of the lower triangle, in the order of the compiled sums."""
    return np.tril_indices(d)


@lru_cache(maxsize=64)
def _information_positions(d: int) -> IntMatrix:
    """Index into the compiled sums of each entry of the information: (d, d)."""
    places = np.empty((d, d), dtype=np.int64)
    rows, columns = lower_triangle(d)
    places[rows, columns] = places[columns, rows] = np.arange(1 + d, n_moments(d))
    return places


def moments_from_sums(sums: Vector, d: int) -> Moments:
    """Moments from the vector of sums of the compiled loops, which hold minus the gradient."""
    return Moments(float(sums[0]), -sums[1 : 1 + d], sums[_information_positions(d)])


def _map_block_ranges(work: Callable[[int, int], _T], n_blocks: int, threads: int) -> list[_T]:
    """Results of work(begin, end) over ranges of blocks, in their order, by several threads."""
    if threads == 1 or n_blocks <= BLOCKS_PER_TASK:
        return [work(0, n_blocks)] if n_blocks else []
    starts = range(0, n_blocks, BLOCKS_PER_TASK)
    return map_threads(
        lambda begin: work(begin, min(begin + BLOCKS_PER_TASK, n_blocks)), starts, threads
    )
