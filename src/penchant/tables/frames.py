"""Columns of a table, read as numbers or labels, and whose decision and option each row is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from penchant._typing import BoolVector, IntVector, Labels, Matrix, Vector
from penchant.errors import (
    MAX_LISTED,
    DataError,
    PythonExpression,
    closest_match_hint,
    format_list,
    format_names,
    mark_argument,
)
from penchant.tables.columns import in_condition
from penchant.tables.labels import (
    NONE_MISSING,
    SPREAD,
    Coded,
    arrow_codes,
    float_codes,
    integer_codes,
    object_codes,
)
from penchant.tables.numbers import exact_floats, reject_containers

Table = nw.DataFrame[Any]


def row_place(row: int) -> str:
    """Text that names a row of the table, counted from 0, for messages."""
    return f"row {row}"


def open_frame(frame: Any) -> Table:
    """Return the table, if it is one and has rows."""
    reject_containers(frame, mark_argument("frame"))
    try:
        table: Table = nw.from_native(frame, eager_only=True)
    except DuplicateError as error:
        raise DataError(
            "frame",
            "must have columns of different names",
            got=f"{_repeated(frame)} more than once",
            fix="Rename or drop one.",
        ) from error
    except TypeError as error:
        raise DataError(
            "frame",
            "must be a pandas, polars or pyarrow table",
            got=type(frame).__name__,
            fix="Convert it, e.g. with pandas.DataFrame.",
        ) from error
    if not len(table):
        raise DataError(
            "frame",
            "must hold at least one row",
            got="0 rows, so 0 decisions",
            fix="Check the file, or the filter that removed them.",
        )
    return table


def _repeated(frame: Any) -> str:
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    return format_list(dict.fromkeys(repr(name) for name in names if names.count(name) > 1))


def check_columns(table: Table, roles: Mapping[str, Sequence[Any]]) -> None:
    """Every column named exists."""
    present = list(table.columns)
    unknown = [(role, name) for role, names in roles.items() for name in names]
    unknown = [(role, name) for role, name in unknown if name not in present]
    if not unknown:
        return
    first = unknown[0][0]
    got = format_list(f"{name!r} for {role}" for role, name in unknown)
    hints = (closest_match_hint(str(name), map(str, present)) for _, name in unknown)
    raise DataError(
        first if "[" in first else mark_argument(first),
        "must name a column of the table",
        got=f"{got}, but the columns are {format_names(present)}",
        fix=next(filter(None, hints), " Correct the name."),
    )


def check_roles(roles: Mapping[str, Sequence[Any]]) -> None:
    """Refuse a column that is given two roles."""
    played: dict[Any, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in played:
                raise DataError(
                    role,
                    "must not use a column twice",
                    got=f"{name!r}, which is used for {played[name]} already",
                    fix="Give each its own column.",
                )
            played[name] = role


def column_labels(
    table: Table, name: Any, role: str, is_nothing: Callable[[str], bool] | None = None
) -> Coded:
    """Read a column as labels in sorted order; words for nothing may stand beside numbers."""
    series = table[name]
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return _integer_labels(series)
    if dtype.is_float():
        return float_codes(series.to_numpy())
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Boolean) or dtype.is_temporal():
        try:
            return arrow_codes(series.to_arrow())
        except (TypeError, ValueError):
            return object_codes(series.to_list(), role, is_nothing)
    return object_codes(series.to_list(), role, is_nothing)


def _integer_labels(series: Any) -> Coded:
    missing = NONE_MISSING
    if series.null_count():
        missing = np.flatnonzero(series.is_null().to_numpy())
        series = series.fill_null(series.max() if len(missing) < len(series) else 0)
    return Coded(*integer_codes(series.to_numpy()), missing)


def column_floats(table: Table, name: Any, role: str) -> Vector:
    """Read a column as float64, missing cells as NaN; not copied where it is float64 already."""
    series = table[name]
    dtype = series.dtype
    label = f"{role} {name!r}"
    if dtype.is_float():
        return exact_floats(series.to_numpy(), label, row_place)
    if dtype.is_integer() or dtype == nw.Boolean:
        return _filled_floats(series, label)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object) or dtype.is_decimal():
        return exact_floats(_objects(series.to_list()), label, row_place)
    raise DataError(
        label,
        "must hold numbers",
        got=f"dtype {dtype}",
        fix="Convert it to float, or leave it out.",
    )


def read_floats(table: Table, named: Sequence[tuple[str, Any]]) -> dict[tuple[str, Any], Vector]:
    """Columns of numbers by part and name; all that hold something else are named at once."""
    numbers: dict[tuple[str, Any], Vector] = {}
    wrong: list[DataError] = []
    for role, name in named:
        try:
            numbers[role, name] = column_floats(table, name, role)
        except DataError as error:
            wrong.append(error)
    if wrong:
        wrong[0].fix = " ".join([wrong[0].fix, *(error.text for error in wrong[1:])])
        raise wrong[0]
    return numbers


def _filled_floats(series: Any, label: str) -> Vector:
    if not series.null_count():
        return exact_floats(_plain_numpy(series), label, row_place)
    missing = series.is_null().to_numpy()
    zero = False if series.dtype == nw.Boolean else 0
    floats = exact_floats(_plain_numpy(series.fill_null(zero)), label, row_place)
    floats[missing] = np.nan
    return floats


def _plain_numpy(series: Any) -> Any:
    values = series.to_numpy()
    if values.dtype == object:
        return values.astype(bool) if series.dtype == nw.Boolean else values
    return values


def _objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def column_flags(table: Table, name: Any, role: str) -> BoolVector:
    """Read a column of True/False or 0/1."""
    return flags_of(column_labels(table, name, role), f"{role} {name!r}")


def flags_of(coded: Coded, said: str) -> BoolVector:
    """A column of True/False or 0/1 as a mask."""
    values = coded.labels.tolist()
    if coded.missing.size:
        places = format_list(map(row_place, coded.missing[:11].tolist()), coded.missing.size)
        raise DataError(
            said,
            "must not be missing",
            got=f"an empty cell at {places}",
            fix="Fill it with 0 or 1.",
        )
    if not all(type(value) in (int, bool) and value in (0, 1) for value in values):
        raise DataError(
            said,
            "must hold True/False or 0/1",
            got=format_list(map(repr, values)),
            fix="Convert it.",
        )
    return np.array(values, dtype=bool)[coded.codes]


# rows of a block are written variable by variable while they stay in the processor's cache
BLOCK = 8192


def sorted_rows(
    decision: IntVector, option: IntVector, n_options: int, kept: BoolVector
) -> IntVector:
    """Rows kept, by decision then option; fewer than those kept where a pair repeats."""
    rows = np.flatnonzero(kept)
    key = (decision * n_options + option)[rows]
    order = _by_slot(key) if key.size * SPREAD + 1000 > key.max(initial=0) else _by_sort(key)
    return rows[order]


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
    decision: IntVector, option: IntVector, n_options: int, kept: BoolVector
) -> tuple[list[tuple[int, int]], int]:
    """First pairs of rows that name the same option of a decision, and how many there are."""
    rows = np.flatnonzero(kept)
    key = (decision * n_options + option)[rows]
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    pairs = [(int(rows[order[i]]), int(rows[order[i + 1]])) for i in same[: MAX_LISTED + 1]]
    return pairs, same.size


def gather(columns: Sequence[Vector], order: IntVector) -> Matrix:
    """Matrix whose rows are the columns' cells in the order given."""
    matrix = np.empty((order.size, len(columns)), dtype=np.float64)
    sources = [np.ascontiguousarray(column) for column in columns]
    for start in range(0, order.size, BLOCK):
        rows = order[start : start + BLOCK]
        for a, source in enumerate(sources):
            matrix[start : start + BLOCK, a] = source.take(rows)
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
        PythonExpression of the decision, in sorted order of subject and decision, and how many
        there are.
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

    def locate_row(self, row: int) -> str:
        """Name a row, its decision and its option."""
        return f"{self.row_place(row)} ({self.decision_name(row)}, option {self.option.at(row)})"

    def row_place(self, row: SupportsIndex) -> str:
        """Name a row of the user's table."""
        return row_place(int(row) // self.per_row)

    def rows_of(self, row: int) -> IntVector:
        """Indices of all rows of the decision that a row belongs to."""
        return np.flatnonzero(self.decision == self.decision[row])

    def are_in(self, rows: IntVector | BoolVector) -> BoolVector:
        """Decisions that some of the rows belong to."""
        found = np.zeros(self.n_decisions, dtype=bool)
        found[self.decision[rows]] = True
        return found

    def first_rows(self, wrong: BoolVector) -> list[int]:
        """Find a row of each of the first decisions that are wrong."""
        decisions = np.flatnonzero(wrong)[: MAX_LISTED + 1]
        return [int(np.argmax(self.decision == k)) for k in decisions]

    def listed(self, wrong: BoolVector) -> str:
        """List the decisions that are wrong, with their rows."""
        described = (
            f"{self.decision_name(row)} "
            f"({format_list(dict.fromkeys(map(self.row_place, self.rows_of(row))))})"
            for row in self.first_rows(wrong)
        )
        return format_list(described, int(wrong.sum()))

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


def check_present(given: Iterable[tuple[tuple[str, Any], Coded]]) -> None:
    """Refuse missing labels of decisions, options or subjects."""
    columns = list(given)
    gaps = [
        (f"{role} {name!r}", row_place(row), coded.missing.size)
        for (role, name), coded in columns
        for row in coded.missing[: MAX_LISTED + 1].tolist()
    ]
    if gaps:
        total = sum({what: size for what, _, size in gaps}.values())
        places = format_list((f"{what} at {place}" for what, place, _ in gaps), total)
        role = gaps[0][0].partition(" ")[0]
        raise DataError(
            role,
            "must not be missing",
            got=f"an empty cell in {places}",
            fix=f"Fill or drop these rows{_without_empty(columns)}.",
        )


def _without_empty(columns: Sequence[tuple[tuple[str, Any], Coded]]) -> str:
    """Advice on how to drop rows without a label, if labels are numbers; else ""."""
    (_, name), coded = next(column for column in columns if column[1].missing.size)
    numbers = [label for label in coded.labels.tolist() if isinstance(label, (int, float))]
    if len(numbers) != len(coded.labels) or not numbers:
        return ""
    kept = f"{in_condition(name)} >= {min(numbers):g}"
    condition = mark_argument("keep", PythonExpression(f'"{kept}"'))
    return f", such as by {condition} when reading"


def joint_codes(columns: Sequence[Coded]) -> tuple[IntVector, int]:
    """Code each combination of labels of several columns: codes and their count."""
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
