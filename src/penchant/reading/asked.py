"""What the user said of a table, and what a reader of one kind of table makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from penchant._typing import IntVector
from penchant.errors import DataError, named, nearest
from penchant.tables.cells import is_nothing
from penchant.tables.columns import named_column
from penchant.tables.laboratory import Cleaned
from penchant.tables.surveys import DOUBTFUL, plain
from penchant.wording import argument, ticked


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Arguments of `read`; None where nothing was said.

    Attributes
    ----------
    columns
        {part: column}.
    attributes
        Attributes of options: names, or a formula.
    rivals
        {name: attributes} of sets that are compared: all of their variables are made.
    offers
        {attribute: column or number of each option}, as for `offers_from_frame`.
    options
        Words of the choices in the order of the options, or {word: option}.
    opt_out
        Word for the option that is none of those shown.
    reference
        {attribute: level} that others are compared with.
    base
        Number of the first option.
    units
        Days of a month or a year.
    decimal
        Decimal point.
    policies
        Keyword arguments for the reader of this kind of table.
    task
        Name of a task whose columns the table has.
    said
        Parts whose columns somebody named, rather than the program that wrote the table.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    attributes: str | Sequence[str] | None = None
    rivals: Mapping[str, str | Sequence[str]] | None = None
    offers: Mapping[str, Sequence[Any]] | None = None
    options: Sequence[Any] | Mapping[Any, Any] | None = None
    opt_out: str | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)
    base: int | None = None
    units: Mapping[str, float] | None = None
    decimal: str = "."
    policies: Mapping[str, Any] = field(default_factory=dict)
    task: str | None = None
    said: frozenset[str] = frozenset()

    def renamed(self, names: Mapping[str, str]) -> Asked:
        """The same, with columns by the names that they are read by."""
        columns = {
            part: names.get(column, column) if isinstance(column, str) else column
            for part, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def with_hints(self, clean: Cleaned) -> Asked:
        """The same, with what the program that wrote the table says of its columns."""
        said = {part: name for part, name in self.columns.items() if name is not None}
        hints = {part: name for part, name in clean.hints.items() if part not in said}
        return replace(self, columns={**hints, **said}, said=frozenset(said))


@dataclass
class Place:
    """Where the rows of the table at hand come from, to name lines of the file in errors."""

    rows: IntVector


@dataclass(frozen=True)
class Built:
    """Data of one kind, and what was taken for what."""

    data: Any
    columns: dict[str, str]
    options: dict[str, Any]
    table: pa.Table
    notes: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    doubts: tuple[str, ...] = ()
    task: str | None = None


def chosen_column(table: pa.Table, asked: Asked, usual: Sequence[str]) -> str:
    """The column of choices: given, or of a usual name."""
    names = table.column_names
    given = asked.columns.get("chosen")
    if given is not None:
        if given not in names:
            raise DataError(
                f"{argument('chosen')} must name a column; got {given!r}, but they are "
                f"{named(names)}."
                f"{nearest(str(given), names) or ' Correct it.'}"
            )
        return str(given)
    found = named_column(usual, names)
    if found is None:
        raise DataError(
            f"{argument('chosen')} must be given, as no column is called "
            f"{' or '.join(usual[:3])}; got columns {named(names)}. Name the column with "
            f"{ticked('chosen')}."
        )
    return found


def seen_words(table: pa.Table, name: str, doubtful: bool = False) -> list[str]:
    """Every word of a column once, words for nothing aside unless they may be an option."""
    cells = [cell for cell in dict.fromkeys(table[name].to_pylist()) if cell is not None]
    kept = DOUBTFUL if doubtful else frozenset()
    return [word(cell) for cell in cells if not is_nothing(cell) or plain(cell) in kept]


def word(cell: Any) -> str:
    """A cell as a word: whole numbers without a point."""
    if isinstance(cell, float) and cell == int(cell):
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, bool) else str(cell).strip()


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """A table with a column in place of the one of that name, or beside all others."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, values)
    return table.append_column(name, values)
