"""Rows of a chunk, read with pyarrow, as `Choices`: whole decisions one after another.

The first pass over a file checks every cell and names the file and row of what is wrong; later
passes are told that rows are `validated`, and only convert them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, closest_match_hint, format_names, mark_quoted_argument
from penchant.scale.data_files import SOURCE_FILE_COLUMN, SOURCE_ROW_COLUMN
from penchant.tables.arrays import decision_weights
from penchant.tables.labels import python_values
from penchant.tables.layouts import LongColumns
from penchant.tables.numbers import EXACT_INTEGERS, exact_floats

# Rows of the matrix that are filled column by column: a block of them stays in the cache.
ROWS_PER_BLOCK = 4096
MAX_BITMASK_OPTIONS = 62  # each option is a bit of an int64, whose sums must not overflow


@dataclass(frozen=True)
class FileRows:
    """Rows of one file, from `begin` on.

    Attributes
    ----------
    file
        Name in messages.
    source_names
        Names of the files that the rows of a sorted copy come from.
    """

    table: pa.Table
    file: str
    begin: int
    source_names: tuple[str, ...] = ()

    def locate(self, row: SupportsIndex) -> str:
        """Words for the file and the row, counted from 0 in the file."""
        if self.source_names:
            which, number = (
                self.table[name][int(row)].as_py()
                for name in (SOURCE_FILE_COLUMN, SOURCE_ROW_COLUMN)
            )
            return f"row {number} of {self.source_names[which]}"
        return f"row {self.begin + int(row)} of {self.file}"


@dataclass(frozen=True)
class ChoiceLayout:
    """Roles of the columns, the same in all files.

    Attributes
    ----------
    chosen_is_label
        Whether `chosen` repeats the label of an option, rather than marking rows.
    """

    columns: LongColumns
    weight_kind: str
    chosen_is_label: bool = False

    @property
    def decision_columns(self) -> tuple[str, ...]:
        """Columns that together name a decision."""
        subject = self.columns.subject
        return (*(() if subject is None else (subject,)), *self.columns.decision)

    @property
    def required_names(self) -> frozenset[str]:
        """Columns that later passes read: labels of options only where `chosen` repeats them."""
        needed = {role for role in self.columns.roles() if role != "option" or self.chosen_is_label}
        return frozenset(n for role in needed for n in self.columns.roles()[role])

    @property
    def columns_to_read(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        return tuple(dict.fromkeys(name for part in self.columns.roles().values() for name in part))


def _explanatory_matrix(parts: Sequence[ChoicePart], n_rows: int) -> Matrix:
    """Copy columns into a matrix, block by block of rows."""
    # Copying whole columns would load every cache line of the matrix once per column.
    matrix = np.empty((n_rows, len(parts[0].variables)))
    before = 0
    for part in parts:
        whole = matrix[before : before + part.n_rows]
        for begin in range(0, part.n_rows, ROWS_PER_BLOCK):
            block = whole[begin : begin + ROWS_PER_BLOCK]
            for a, column in enumerate(part.variables):
                block[:, a] = column[begin : begin + ROWS_PER_BLOCK]
        before += part.n_rows
    return matrix


def check_column_names(file: str, schema: pa.Schema, columns: LongColumns) -> None:
    """Raise if a column named is not in the file."""
    for role, names in columns.roles().items():
        for name in names:
            if name not in schema.names:
                hint = closest_match_hint(str(name), schema.names) or " Correct the name."
                raise DataError(
                    role,
                    "must name a column",
                    got=f"{name!r}, but {file} has {format_names(schema.names)}",
                    fix=hint,
                )


def describe_column_type(kind: pa.DataType) -> str:
    """Name of a type in messages, the same for types that are read alike."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    return "True/False" if pa.types.is_boolean(kind) else str(kind)


def check_types_agree(
    seen: dict[str, tuple[str, str]],
    file: str,
    schema: pa.Schema,
    names: Sequence[str],
    labels: Collection[str] = (),
) -> None:
    """Raise if a column has another type than in the files before, which `seen` remembers."""
    # Integers and floats may mix, except in labels, where 1 and 1.0 would be two.
    for name in names:
        word = describe_column_type(schema.field(name).type)
        if name not in labels and word == "whole numbers":
            word = "numbers"
        first, where = seen.setdefault(name, (word, file))
        if first != word:
            raise DataError(
                name,
                "must be of one type in all files",
                got=word,
                where=f"in {file}, but {first} in {where}",
                fix="Convert it.",
            )


def decision_starts(table: pa.Table, key: Sequence[str]) -> IntVector:
    """First rows of decisions: rows whose key differs from that of the row before."""
    differs = np.zeros(len(table), dtype=bool)
    differs[:1] = True
    for name in key:
        column = decoded_array(table[name])
        changed = pc.not_equal(column.slice(1), column.slice(0, max(len(column) - 1, 0)))
        differs[1:] |= changed.to_numpy(zero_copy_only=False)
    return np.flatnonzero(differs)


def decoded_array(column: pa.ChunkedArray) -> pa.Array:
    """Column as one array, without dictionary encoding."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # pyarrow leaves a column of no chunks a ChunkedArray
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def check_no_empty_cells(
    rows: FileRows, name: str, role: str, on_offer: BoolVector | None = None
) -> None:
    """Raise if a cell of a column is empty in a row on offer."""
    column = rows.table[name]
    if not column.null_count:
        return
    empty = column.is_null().to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(empty if on_offer is None else empty & on_offer)
    if wrong.size:
        raise DataError(
            role,
            "must not be missing",
            got=f"an empty cell in {name} at {rows.locate(wrong[0])}",
            fix="Fill it, or drop the decision.",
        )


def number_column(
    rows: FileRows, name: str, role: str, on_offer: BoolVector | None, validated: bool = False
) -> Vector:
    """Column of numbers, finite in rows on offer; not checked again if `validated`."""
    column = decoded_array(rows.table[name])
    # The common case needs no copy.
    if validated and column.type == pa.float64() and not column.null_count:
        return np.asarray(column.to_numpy())
    check_no_empty_cells(rows, name, role, on_offer)
    values = exact_float_column(rows, name, role)
    with np.errstate(over="ignore", invalid="ignore"):
        # One sum is faster than a mask; a sum that overflows only leads to the check below.
        if np.isfinite(np.add.reduce(values)):
            return values
    odd = ~np.isfinite(values)
    wrong = np.flatnonzero(odd if on_offer is None else odd & on_offer)
    if wrong.size:
        raise DataError(
            role,
            "must be finite",
            got=values[wrong[0]],
            where=f"in {name} at {rows.locate(wrong[0])}",
            fix=(
                f"Mark options that were not on offer in {mark_quoted_argument('available')}, or "
                "correct this cell."
            ),
        )
    return values


def exact_float_column(rows: FileRows, name: str, role: str) -> Vector:
    """Column as float64, NaN where empty; integers beyond 2^53, which it rounds, are errors."""
    column = decoded_array(rows.table[name])
    label = f"{role} {name!r}"
    if describe_column_type(column.type) == "text":
        return exact_floats(column.to_numpy(zero_copy_only=False), label, rows.locate)
    if describe_column_type(column.type) not in ("numbers", "whole numbers", "True/False"):
        raise DataError(
            label,
            "must hold numbers",
            got=column.type,
            where=f"in {rows.file}",
            fix="Convert it to float, or leave it out.",
        )
    values = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if not pa.types.is_floating(column.type):  # only integers and decimals can be rounded
        large = np.flatnonzero(np.abs(values) >= EXACT_INTEGERS)
        cells = column.take(pa.array(large)).to_numpy(zero_copy_only=False)
        exact_floats(cells, label, lambda k: rows.locate(large[k]))
    return values


def flag_column(rows: FileRows, name: str, role: str) -> BoolVector:
    """Column of 0/1 or True/False as a mask."""
    check_no_empty_cells(rows, name, role)
    column = decoded_array(rows.table[name])
    if pa.types.is_boolean(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    marked = values == 1
    wrong = np.flatnonzero(~(marked | (values == 0)))
    if wrong.size:
        raise DataError(
            role,
            "must hold 0/1 or True/False",
            got=repr(column[int(wrong[0])].as_py()),
            where=f"in {name} at {rows.locate(wrong[0])}",
            fix="Correct it.",
        )
    return np.asarray(marked, dtype=bool)


def chosen_holds_labels(rows: FileRows, layout: ChoiceLayout) -> bool:
    """Whether `chosen` holds labels of options: text, or one number in all rows of a decision."""
    name = layout.columns.chosen
    column = decoded_array(rows.table[name])
    if pa.types.is_boolean(column.type):
        return False
    values = column.drop_null().unique().to_pylist()
    if any(value not in (0, 1) for value in values):
        return True
    options = set(decoded_array(rows.table[layout.columns.option]).drop_null().unique().to_pylist())
    # Labels 0 and 1 look like flags, but are the same in all rows of a decision.
    starts = decision_starts(rows.table, layout.decision_columns)
    same = len(decision_starts(rows.table, (*layout.decision_columns, name))) == len(starts)
    return same and len(starts) < len(rows.table) and set(values) <= options


def chosen_flags(rows: FileRows, layout: ChoiceLayout) -> BoolVector:
    """Mask of the chosen rows."""
    columns = layout.columns
    if not layout.chosen_is_label:
        return flag_column(rows, columns.chosen, "chosen")
    check_no_empty_cells(rows, columns.chosen, "chosen")
    picked, option = (
        decoded_array(rows.table[columns.chosen]),
        decoded_array(rows.table[columns.option]),
    )
    if describe_column_type(picked.type) != describe_column_type(option.type):
        raise DataError(
            "chosen",
            "must hold 0/1, True/False or the label of the chosen option",
            got=describe_column_type(picked.type),
            where=(
                f"in {columns.chosen}, but {columns.option} holds "
                f"{describe_column_type(option.type)}"
            ),
            fix="Convert it.",
        )
    same = pc.equal(picked.cast(option.type), option)
    return np.asarray(pc.fill_null(same, False).to_numpy(zero_copy_only=False), dtype=bool)


def _check_no_repeated_option(rows: FileRows, name: str, first_row: IntVector) -> None:
    """Raise if an option appears twice in a decision."""
    check_no_empty_cells(rows, name, "option")
    coded = decoded_array(rows.table[name]).dictionary_encode()
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    if len(coded.dictionary) <= MAX_BITMASK_OPTIONS:
        # The OR of distinct bits equals their sum: two passes instead of a sort of all rows.
        bits = np.left_shift(np.int64(1), codes)
        starts = first_row[:-1]
        if (np.bitwise_or.reduceat(bits, starts) == np.add.reduceat(bits, starts)).all():
            return
    decision = np.repeat(np.arange(len(first_row) - 1), np.diff(first_row))
    key = decision * len(coded.dictionary) + codes
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    if same.size:
        row = int(order[same[0] + 1])
        raise DataError(
            "option",
            "must differ between the rows of a decision",
            got=f"{coded.dictionary[codes[row]].as_py()!r} twice at {rows.locate(row)}",
            fix="Drop one.",
        )


@dataclass(frozen=True)
class ChoicePart:
    """Decisions of some rows of one file, as arrays; rows not on offer are left out."""

    variables: tuple[Vector, ...]
    sizes: IntVector
    chosen: IntVector
    weights: Vector | None
    offset: Vector | None
    subject: pa.Array | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())


def choice_part(rows: FileRows, layout: ChoiceLayout, validated: bool = False) -> ChoicePart:
    """Convert rows to arrays of whole decisions, without the rows not on offer.

    `validated` skips the checks, which an earlier pass has done.
    """
    columns = layout.columns
    for name in () if validated else layout.decision_columns:
        check_no_empty_cells(rows, name, "subject" if name == columns.subject else "decision")
    on_offer = None
    if columns.available is not None:
        on_offer = flag_column(rows, columns.available, "available")
        on_offer = None if on_offer.all() else on_offer  # the common case copies nothing
    starts = decision_starts(rows.table, layout.decision_columns)
    first_row = np.append(starts, len(rows.table))
    picked = chosen_flags(rows, layout)
    variables = [
        number_column(rows, n, "explanatory", on_offer, validated) for n in columns.explanatory
    ]
    weight, offset = (
        None if name is None else number_column(rows, name, role, on_offer, validated)
        for role, name in (("weight", columns.weight), ("offset", columns.offset))
    )
    if not validated:
        _check_no_repeated_option(rows, columns.option, first_row)
    sizes = np.diff(first_row)
    if on_offer is not None:
        if (picked & ~on_offer).any():
            raise DataError(
                "chosen",
                "must be an available option",
                got=f"an unavailable one at {rows.locate(int(np.argmax(picked & ~on_offer)))}",
                fix="Mark it available, or drop the decision.",
            )
        sizes = np.add.reduceat(on_offer.astype(np.int64), starts)
    if not validated:
        _check_one_chosen(rows, picked, starts, sizes)
    kept = slice(None) if on_offer is None else on_offer
    decided = sizes > 0  # decisions with nothing on offer say nothing about preferences
    first = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=first[1:])
    at = np.flatnonzero(picked[kept])
    if not at.size:
        raise DataError(
            "available",
            "must leave some option on offer",
            got=f"none from {rows.locate(0)} to row {rows.begin + len(rows.table) - 1}",
            fix="Correct it, or drop these decisions.",
        )
    return ChoicePart(
        variables=tuple(variables if on_offer is None else (v[on_offer] for v in variables)),
        sizes=sizes[decided],
        chosen=at - first[:-1][decided],
        weights=None
        if weight is None
        else _decision_weights(rows, weight, starts, on_offer, layout)[decided],
        offset=None if offset is None else offset[kept],
        subject=None
        if columns.subject is None
        else decoded_array(rows.table[columns.subject]).take(pa.array(starts[decided])),
    )


def _check_one_chosen(
    rows: FileRows, picked: BoolVector, starts: IntVector, sizes: IntVector
) -> None:
    counts = np.add.reduceat(picked.astype(np.int64), starts)
    # Decisions of which nothing was on offer need no choice.
    wrong = np.flatnonzero((counts != 1) & ((sizes > 0) | (counts > 1)))
    if wrong.size:
        k = wrong[0]
        raise DataError(
            "chosen",
            "must mark one option of each decision",
            got=counts[k] or "none",
            where=f"at the decision from {rows.locate(starts[k])}",
            fix="Mark one, or drop the decision.",
        )


def _value_per_decision(
    rows: FileRows, values: Vector, starts: IntVector, on_offer: BoolVector | None
) -> Vector:
    """Value of each decision; raise if its rows on offer differ."""
    sizes = np.diff(np.append(starts, len(values)))
    first = starts
    # Rows not on offer may hold anything; a decision without a row on offer is dropped later.
    if on_offer is not None:
        kept = np.append(np.flatnonzero(on_offer), len(values) - 1)
        first = kept[np.searchsorted(kept[:-1], starts)]
    odd = values != np.repeat(values[first], sizes)
    if on_offer is not None:
        odd &= on_offer
    if odd.any():
        raise DataError(
            "weight",
            "must be the same in all rows of a decision",
            got=f"different weights at {rows.locate(int(np.argmax(odd)))}",
            fix="Give each decision one weight.",
        )
    return values[first]


def _decision_weights(
    rows: FileRows,
    values: Vector,
    starts: IntVector,
    on_offer: BoolVector | None,
    layout: ChoiceLayout,
) -> Vector:
    """Checked weights of decisions; unlike those of a whole data set, all may be 0 in a chunk."""
    weights = _value_per_decision(rows, values, starts, on_offer)
    if weights.any():
        kind = layout.weight_kind
        decision_weights(weights, len(weights), kind, lambda k: rows.locate(starts[k]))
    return weights


def merge_choices(parts: Sequence[ChoicePart], layout: ChoiceLayout) -> Choices:
    """Concatenate parts to `Choices`."""
    first_row = np.append(0, np.cumsum(_concat([part.sizes for part in parts])))
    subject, labels = None, None
    if layout.columns.subject is not None:
        coded = pa.chunked_array([p.subject for p in parts]).combine_chunks().dictionary_encode()
        subject = np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        labels = python_values(np.asarray(coded.dictionary.to_pylist(), dtype=object))
    weights = None if layout.columns.weight is None else _concat([p.weights for p in parts])
    return Choices(
        explanatory=_explanatory_matrix(parts, int(first_row[-1])),
        first_row=first_row,
        chosen=_concat([part.chosen for part in parts]),
        names=tuple(str(name) for name in layout.columns.explanatory),
        weights=weights,
        weight_kind="probability" if layout.weight_kind == "probability" else "frequency",
        offset=None if layout.columns.offset is None else _concat([p.offset for p in parts]),
        subject=subject,
        subject_labels=labels,
    )


def _concat(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
