"""Columns of a table by their roles: as codes, as numbers, and with the file that rows come from.

Each column is coded once, in NumPy or Arrow. Rows that are left out are counted under a reason, and
every row knows where it stands in the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector, Vector
from penchant.errors import DataError, closest_match_hint, format_list, format_names, mark_argument
from penchant.files.folder import RawTable
from penchant.files.table import column_from_values
from penchant.tables.cells import amount, amounts, is_nothing
from penchant.tables.frames import (
    Table,
    column_floats,
    joint_codes,
    joint_labels,
    open_frame,
    row_place,
)
from penchant.tables.labels import NUMBER, Coded, arrow_codes, column_codes, python_values
from penchant.tables.numbers import EXACT_INTEGERS, exact_floats

FILE_PREFIX = "file:"
FILE_STEM = "file:stem"
# Words of truth values, which programs write in different cases.
_TRUTHS = {"true": 1.0, "false": 0.0}
# What a column of 0/1 holds, by its key; -1 says nothing, as an empty cell does.
_FLAGS = {0.0: 0.0, 1.0: 1.0, -1.0: math.nan, ("truth", False): 0.0, ("truth", True): 1.0}


def code_key(label: Any) -> Any:
    """Canonical key of a code, equal for 1, 1.0 and "1", or True, "true" and "TRUE".

    >>> code_key("1") == code_key(1.0), code_key("TRUE") == code_key(True), code_key(" a ")
    (True, True, 'a')
    """
    if label is None or label != label:
        return ""
    if isinstance(label, (bool, np.bool_)):
        return ("truth", bool(label))
    if isinstance(label, (int, float, np.number)):
        return float(label)
    text = str(label).strip()
    if text.lower() in _TRUTHS:
        return ("truth", text.lower() == "true")
    return float(text) if NUMBER.match(text) else text


class PlacedError(DataError):
    """An error that says lines of files, or rows of the table as it was given."""


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, and the rows of it that count.

    Attributes
    ----------
    raw
        The files' own table, and where its rows stand.
    table
        The rows that count.
    rows
        Row of the files' table that each of these is.
    excluded
        {reason: rows left out}.
    notes
        What was done with the table.
    decimal, units
        The decimal point of amounts, and days of a month or a year.
    """

    raw: RawTable
    table: pa.Table
    rows: IntVector
    excluded: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decimal: str = "."
    units: Mapping[str, float] | None = None

    @classmethod
    def of(cls, raw: RawTable) -> SourceTable:
        """Make a source table of all rows of a raw table."""
        return cls(raw, raw.table, np.arange(len(raw.table)), notes=raw.notes)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    @cached_property
    def frame(self) -> Table:
        """The table for functions that take any kind of data frame."""
        return open_frame(self.table)

    @cached_property
    def _coded(self) -> dict[str, Coded]:
        return {}

    @cached_property
    def _keys(self) -> dict[tuple[str, ...], tuple[IntVector, int]]:
        return {}

    @cached_property
    def _nested_floats(self) -> dict[str, Vector]:
        return {}

    def check(self, name: str, role: str) -> str:
        """A column's name, if there is such a column."""
        if name not in self.names:
            hint = closest_match_hint(name, self.names) or " Correct the name."
            raise DataError(
                role,
                "must name a column of the table",
                got=f"{name!r}, but the columns are {format_names(self.names)}",
                fix=hint,
            )
        return name

    def codes(self, name: str, role: str) -> Coded:
        """A column as codes of its labels, in natural order; blanks around text do not count.

        Parameters
        ----------
        name
            The column, or "file:..." for what names of files say.
        role
            The key of the schema that names it.
        """
        if name not in self._coded:
            try:
                self._coded[name] = self._code(name, role)
            except DataError as error:
                raise self.placed(error) from None
        return self._coded[name]

    def _code(self, name: str, role: str) -> Coded:
        if name.startswith(FILE_PREFIX) and name not in self.names:
            return arrow_codes(pa.array(self.file_labels(name)))
        return column_codes(self.table[self.check(name, role)], role)

    def holds_words(self, name: str, role: str) -> bool:
        """Whether a column is text in which no cell is a number or an amount.

        A word among numbers is a fault of the file, no level of an attribute.
        """
        if not pa.types.is_string(self.table[name].type):
            return False
        return not any(_is_amount(label, self.decimal) for label in self.labels(name, role))

    def present(self, name: str, role: str) -> BoolVector:
        """Rows in which a column holds something."""
        there = np.ones(len(self), dtype=bool)
        there[self.codes(name, role).missing] = False
        return there

    def labels(self, name: str, role: str) -> list[Any]:
        """Distinct labels of a column, without missing ones."""
        coded = self.codes(name, role)
        if len(coded.missing) == len(self):
            return []
        seen = np.unique(coded.codes[self.present(name, role)])
        return list(python_values(coded.labels[seen]))

    def combined_codes(self, names: Sequence[str], role: str) -> Coded:
        """Several columns as one."""
        coded = [self.codes(name, role) for name in names]
        return coded[0] if len(coded) == 1 else joint_labels(coded)

    def key(self, names: Sequence[str], role: str) -> tuple[IntVector, int]:
        """Number the combinations of labels of some columns: code of each row, and count.

        Parameters
        ----------
        names
            The columns; all rows share one number where there are none.
        role
            The key of the schema that names them.
        """
        known = tuple(dict.fromkeys(names))
        if known not in self._keys:
            coded = [self.codes(name, role) for name in known]
            one = (np.zeros(len(self), dtype=np.int64), 1)
            self._keys[known] = joint_codes(coded) if coded else one
        return self._keys[known]

    def changes(self, values: Vector | IntVector, names: Sequence[str], role: str) -> BoolVector:
        """Rows whose value is not that of the first row with the same labels of some columns."""
        key, n = self.key(names, role)
        first = np.zeros(n, dtype=values.dtype)
        first[key[::-1]] = values[::-1]
        changed: BoolVector = values != first[key]
        return changed

    def varies(self, name: str, within: Sequence[str]) -> bool:
        """Whether a column has several labels in rows with the same labels of others."""
        return bool(self.changes(self.codes(name, "columns").codes, within, "columns").any())

    def floats(self, name: str, role: str) -> Vector:
        """A column as numbers; amounts with a unit are numbers, and what is missing is NaN."""
        if name not in self._nested_floats:
            try:
                self._nested_floats[name] = self._numbers(name, role)
            except DataError as error:
                raise self.placed(error) from None
        return self._nested_floats[name]

    def _numbers(self, name: str, role: str) -> Vector:
        column = self.table[self.check(name, role)]
        if pa.types.is_string(column.type):
            return self._amounts(name, role)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if pa.types.is_floating(column.type):
            return np.asarray(column.to_numpy(), dtype=np.float64)
        if not pa.types.is_integer(column.type):
            return column_floats(self.frame, name, role)
        whole = column.fill_null(0).to_numpy()
        is_exact = len(whole) and -EXACT_INTEGERS <= whole.min() <= whole.max() <= EXACT_INTEGERS
        said = f"{role} {name!r}"
        values = whole.astype(np.float64) if is_exact else exact_floats(whole, said, row_place)
        if column.null_count:
            values[column.is_null().to_numpy()] = np.nan
        return values

    def _amounts(self, name: str, role: str) -> Vector:
        """Numbers in text."""
        coded = self.codes(name, role)
        cells = python_values(coded.labels)
        here = self.present(name, role)
        read = amounts(
            cells,
            name,
            decimal=self.decimal,
            units=self.units,
            place=lambda k: f"row {int(np.argmax((coded.codes == k) & here))}",
        )
        if read is not None:
            values: Vector = read[coded.codes]
            values[coded.missing] = np.nan
            return values
        odd = [k for k, cell in enumerate(cells) if amount(cell, self.decimal) is None]
        rows = np.flatnonzero(np.isin(coded.codes, odd) & here)
        other = "," if self.decimal == "." else "."
        is_other = all(amount(cell, other) is not None for cell in cells if cell is not None)
        if not rows.size or (len(odd) == len(cells) and not is_other):
            return column_floats(self.frame, name, role)  # says which cell is no number
        said = (f"{coded.at(int(row))!r} at row {row}" for row in rows[:11])
        raise DataError(
            f"column {name}",
            "must hold numbers",
            got=format_list(said, rows.size),
            fix=f"Pass {mark_argument('decimal', other)} if these are numbers."
            if is_other
            else "Correct these cells, or leave the rows out.",
        )

    def chosen_flags(self, chosen: str, option: str | None) -> Vector:
        """Flags of chosen rows of a long table: 1 if chosen, 0 if not, NaN if unknown.

        Parameters
        ----------
        chosen
            A column of 0/1, or of the label of the option that was taken, in all of its rows.
        option
            The column of labels.
        """
        mine = self.codes(chosen, "columns.chosen")
        own = [code_key(label) for label in python_values(mine.labels)]
        if option is not None and pa.types.is_string(self.table[chosen].type):
            known = self.codes(option, "columns.option")
            keys = [code_key(label) for label in python_values(known.labels)]
            if {*own} & {*keys}:
                words = [str(label) for label in python_values(known.labels)]
                _check_known(mine, [key in keys for key in own], chosen, words)
                place = np.array([keys.index(key) if key in keys else -1 for key in own])
                return _without(place[mine.codes] == known.codes, mine.missing)
        _check_known(mine, [key in _FLAGS for key in own], chosen)
        return _without(np.array([_FLAGS.get(key) for key in own])[mine.codes], mine.missing)

    def file_labels(self, name: str) -> list[str]:
        """Label of each row from its file name: the stem, or the text after a key as "sub-"."""
        if not self.raw.pieces:
            raise DataError(
                repr(name), "must be asked of files", got="a table that comes from none"
            )
        key = name.removeprefix(FILE_PREFIX)
        own = [_label_from_path(Path(origin.name), key) for origin, _ in self.raw.pieces]
        sizes = [n_rows for _, n_rows in self.raw.pieces]
        of_row = np.repeat(np.arange(len(own)), sizes)
        return [own[k] for k in of_row[self.rows].tolist()]

    def keep_rows(self, mask: BoolVector, reason: str) -> SourceTable:
        """The rows of a mask; the others are counted under a reason."""
        n_left = int(len(mask) - mask.sum())
        if not n_left:
            return self
        if n_left == len(mask):
            raise DataError("The table", "must leave at least one row", got=f"0 after {reason}")
        counted = {**self.excluded, reason: self.excluded.get(reason, 0) + n_left}
        return replace(
            self, table=self.table.filter(pa.array(mask)), rows=self.rows[mask], excluded=counted
        )

    def with_columns(self, columns: Mapping[str, Any]) -> SourceTable:
        """The table with further columns beside its own."""
        table = self.table
        for name, values in columns.items():
            array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
            if name in table.column_names:
                table = table.set_column(table.column_names.index(name), name, array)
            else:
                table = table.append_column(name, array)
        return replace(self, table=table)

    def placed(self, error: DataError, rows: IntVector | None = None) -> PlacedError:
        """The error with lines of the files in place of rows, and the file's name before it.

        Parameters
        ----------
        error
            What is wrong with these rows.
        rows
            Row of this table of each row that the error counts; the same if not given.
        """
        if isinstance(error, PlacedError):
            return error
        own = (self.rows if rows is None else self.rows[rows]).tolist()
        name = self.raw.name if self.raw.pieces else ""
        found = error.rephrase(lambda text: self.raw.word_in_lines(text, own), name)
        return PlacedError(
            found.argument, found.rule, got=found.got, where=found.where, fix=found.fix
        )


def _check_known(
    coded: Coded, known: Sequence[bool], name: str, options: Sequence[str] | None = None
) -> None:
    """Refuse labels that are neither options nor, where these are not given, 0 and 1."""
    wrong = ~np.array(known)[coded.codes]
    wrong[coded.missing] = False
    rows = np.flatnonzero(wrong)
    if not rows.size:
        return
    if options is None:
        rows = rows[np.unique(coded.codes[rows], return_index=True)[1]]  # each label once
    cells = (f"{coded.at(int(row))!r} at row {row}" for row in rows[:11])
    rule, fix = "must say 1 for the option taken and 0 for the others", "Convert it to 0/1."
    if options is not None:
        rule = f"must be one of the options {format_list(options)}"
        fix = closest_match_hint(str(coded.at(int(rows[0]))), options) or "Correct it."
    raise DataError(f"column {name}", rule, got=format_list(cells, rows.size), fix=fix)


def _without(values: Any, missing: IntVector) -> Vector:
    """Numbers that are NaN in some rows."""
    found: Vector = np.asarray(values, dtype=np.float64)
    found[missing] = np.nan
    return found


def _is_amount(label: str, decimal: str) -> bool:
    """Whether a text is a number with either decimal point, or an amount."""
    other = "," if decimal == "." else "."
    return amount(label, decimal) is not None or amount(label, other) is not None


def _label_from_path(file: Path, key: str) -> str:
    """Extract the label after a key in the path of a file; the stem for the key "stem"."""
    if key == "stem":
        return file.stem
    for part in (file.stem, *reversed(file.parent.parts)):
        match = re.search(rf"(?:^|_){re.escape(key)}([A-Za-z0-9.]+)", part)
        if match is not None:
            return match[1]
    raise DataError("file names", f"must have {key!r}", got=file.name, fix="Name another key.")


def column_list(value: Any) -> tuple[str, ...]:
    """The columns of a role, one or several, as a tuple."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def code_index(options: Iterable[Any], role: str = "choice.labels") -> dict[Any, int]:
    """Place of each code among options, of which each has one code or several."""
    found: dict[Any, int] = {}
    for place, own in enumerate(options):
        for code in own if isinstance(own, (tuple, list)) else (own,):
            if code_key(code) in found:
                raise DataError(
                    role, "must list every code once", got=f"{code!r} twice", fix="Correct it."
                )
            found[code_key(code)] = place
    return found


def frame_table(frame: Any) -> pa.Table:
    """A data frame as a table of plain columns."""
    try:
        opened = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            "source",
            "must be a file, a folder or a pandas, polars or pyarrow table",
            got=type(frame).__name__,
            fix="Convert it, e.g. with pandas.DataFrame.",
        ) from error
    columns = {}
    for name in opened.columns:
        try:
            columns[str(name)] = opened[name].to_arrow()
        except (TypeError, ValueError, pa.ArrowException):
            columns[str(name)] = column_from_values(
                [_plain_cell(cell) for cell in opened[name].to_list()]
            )
    return pa.table(columns)


def _plain_cell(cell: Any) -> Any:
    if isinstance(cell, (str, int, bool)):
        return cell
    return None if is_nothing(cell) else cell if isinstance(cell, float) else str(cell)


def plain_text(table: pa.Table) -> pa.Table:
    """The table with text of any kind, categories too, as plain text without blanks around it."""
    for place, name in enumerate(table.column_names):
        column, kind = table[name], table[name].type
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        text = any(
            test(inner)
            for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        )
        own = pa.string() if text else inner
        if own != kind:
            column = column.cast(own)
        if text:
            trimmed = pc.utf8_trim_whitespace(column)
            column = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
        if text or own != kind:
            table = table.set_column(place, name, column)
    return table
