"""Which decision, option and subject each row of a table belongs to, and rows in that order."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Labels, Matrix, Vector
from penchant.errors import SHOWN, DataError, listing
from penchant.tables.frames import Table, column_labels, row_place
from penchant.tables.labels import NONE_MISSING, SPREAD, Coded, integer_codes

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


@dataclass(frozen=True)
class Ids:
    """Codes of each row's decision, option and subject.

    Attributes
    ----------
    decision, n_decisions
        Code of the decision, in sorted order of subject and decision, and how many there are.
    parts
        The columns that together name a decision.
    names
        Their names.
    option, subject
        The columns that name the option and the person.
    per_row
        How many rows one row of the user's table makes.
    """

    decision: IntVector
    n_decisions: int
    parts: tuple[Coded, ...]
    names: tuple[str, ...]
    option: Coded
    subject: Coded | None
    per_row: int = 1

    def decision_name(self, row: int) -> str:
        """Name the decision of a row, in the user's labels."""
        labels = tuple(part.at(row) for part in self.parts)
        name = f"decision {labels[0] if len(labels) == 1 else labels}"
        return name if self.subject is None else f"{name} of subject {self.subject.at(row)}"

    def place(self, row: int) -> str:
        """Name a row, its decision and its option."""
        return f"{self.row_place(row)} ({self.decision_name(row)}, option {self.option.at(row)})"

    def row_place(self, row: int) -> str:
        """Name a row of the user's table."""
        return row_place(row // self.per_row)

    def rows_of(self, row: int) -> IntVector:
        """All rows of the decision that a row belongs to."""
        return np.flatnonzero(self.decision == self.decision[row])

    def first_rows(self, wrong: BoolVector) -> list[int]:
        """Find a row of each of the first decisions that are wrong."""
        decisions = np.flatnonzero(wrong)[: SHOWN + 1]
        return [int(np.argmax(self.decision == k)) for k in decisions]

    def listed(self, wrong: BoolVector) -> str:
        """List the decisions that are wrong, with their rows."""
        described = (
            f"{self.decision_name(row)} "
            f"({listing(dict.fromkeys(map(self.row_place, self.rows_of(row))))})"
            for row in self.first_rows(wrong)
        )
        return listing(described, int(wrong.sum()))

    def decision_labels(self, rows: IntVector) -> Labels:
        """Label of the decision of each row; a record where several columns name it."""
        columns = [part.labels[part.codes[rows]] for part in self.parts]
        if len(columns) == 1:
            return columns[0]
        named = list(zip(self.names, columns, strict=True))
        labels = np.empty(len(rows), dtype=[(name, column.dtype) for name, column in named])
        for name, column in named:
            labels[name] = column
        return labels


def read_ids(table: Table, decision: Sequence[Any], option: Any, subject: Any) -> Ids:
    """Codes of the decision, option and subject columns."""
    named = [("decision", name) for name in decision] + [("option", option)]
    named += [] if subject is None else [("subject", subject)]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    parts = tuple(coded[: len(decision)])
    person = None if subject is None else coded[-1]
    codes, n_decisions = joint_codes(parts if person is None else (person, *parts))
    names = tuple(str(name) for name in decision)
    return Ids(codes, n_decisions, parts, names, coded[len(decision)], person)


def check_present(columns: Iterable[tuple[tuple[str, Any], Coded]]) -> None:
    """No decision, option or subject lacks a label."""
    gaps = [
        (f"{role} {name!r}", row_place(row), coded.missing.size)
        for (role, name), coded in columns
        for row in coded.missing[: SHOWN + 1].tolist()
    ]
    if gaps:
        total = sum({what: size for what, _, size in gaps}.values())
        places = listing((f"{what} at {place}" for what, place, _ in gaps), total)
        role = gaps[0][0].partition(" ")[0]
        raise DataError(
            f"{role} must not be missing; got an empty cell in {places}. Fill or drop these rows."
        )


def joint_codes(columns: Sequence[Coded]) -> tuple[IntVector, int]:
    """One code for the labels of several columns taken together."""
    codes, count = columns[0].codes, len(columns[0])
    for column in columns[1:]:
        codes, count = _pair_codes(codes, column)
    return codes, count


def joint_labels(columns: Sequence[Coded]) -> Coded:
    """Several columns as one, whose labels are those of a row joined as in 1/3."""
    if len(columns) == 1:
        return columns[0]
    codes, count = joint_codes(columns)
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    labels = np.empty(count, dtype=object)
    labels[:] = ["/".join(str(column.at(row)) for column in columns) for row in first.tolist()]
    return Coded(codes, labels, NONE_MISSING)


def _pair_codes(first: IntVector, second: Coded) -> tuple[IntVector, int]:
    owner = np.zeros(len(second), dtype=np.int64)
    owner[second.codes] = first
    if (owner[second.codes] == first).all():  # the second column alone tells the pairs apart
        rank = np.empty(len(second), dtype=np.int64)
        rank[np.argsort(owner, kind="stable")] = np.arange(len(second))
        return rank[second.codes], len(second)
    codes, labels = integer_codes(first * len(second) + second.codes)
    return codes, len(labels)
