"""Rows in the order of decisions, and of options inside each: the same for any input order."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices.labels import SPREAD
from penchant.errors import SHOWN

# rows of a block are written variable by variable while they stay in the processor's cache
BLOCK = 8192


def sorted_rows(
    decision: IntVector, option: IntVector, n_options: int, kept: BoolVector | None
) -> IntVector:
    """Rows kept, by decision then option; fewer than those kept where a pair repeats."""
    rows = None if kept is None else np.flatnonzero(kept)
    key = decision * n_options
    key += option
    if rows is not None:
        key = key[rows]
    order = _by_slot(key) if key.size * SPREAD + 1000 > key.max(initial=0) else _by_sort(key)
    return order if rows is None else rows[order]


def _by_slot(key: IntVector) -> IntVector:
    slot = np.full(int(key.max(initial=0)) + 1, -1, dtype=np.int64)
    slot[key] = np.arange(key.size)
    return slot[slot >= 0]


def _by_sort(key: IntVector) -> IntVector:
    order = np.argsort(key)
    ascending = key[order]
    distinct: IntVector = order[np.append(True, ascending[1:] != ascending[:-1])]
    return distinct


def repeated_rows(
    decision: IntVector, option: IntVector, n_options: int, kept: BoolVector | None
) -> tuple[list[tuple[int, int]], int]:
    """First pairs of rows that name the same option of a decision, and how many there are."""
    rows = np.arange(decision.size) if kept is None else np.flatnonzero(kept)
    key = (decision * n_options + option)[rows]
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    pairs = [(int(rows[order[i]]), int(rows[order[i + 1]])) for i in same[: SHOWN + 1]]
    return pairs, same.size


def gather(columns: Sequence[Vector], order: IntVector) -> Matrix:
    """Matrix whose rows are the columns' cells in the order given."""
    matrix = np.empty((order.size, len(columns)), dtype=np.float64)
    sources = [np.ascontiguousarray(column) for column in columns]

    def fill(starts: range) -> None:
        for start in starts:
            rows = order[start : start + BLOCK]
            block = matrix[start : start + BLOCK]
            for a, source in enumerate(sources):
                block[:, a] = source.take(rows)

    starts = range(0, order.size, BLOCK)
    n_threads = min(4, os.cpu_count() or 1, len(starts) // 4)
    if n_threads < 2:
        fill(starts)
        return matrix
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(fill, (starts[i::n_threads] for i in range(n_threads))))
    return matrix


def set_starts(decision: IntVector, order: IntVector, n_decisions: int) -> IntVector:
    """First row of each decision that has rows, and their number at the end."""
    sizes = np.bincount(decision[order], minlength=n_decisions)
    sizes = sizes[sizes > 0]
    first_row = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=first_row[1:])
    return first_row
