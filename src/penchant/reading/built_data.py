"""`BuiltData`: data of one kind as a builder returns it, and steps that all builders share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector, Vector
from penchant.errors import DataError, format_list
from penchant.tables.choice_coding import OptionCodes
from penchant.tables.row_conditions import rows_where
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable, code_index, code_key, column_list


@dataclass(frozen=True)
class BuiltData:
    """Data of one kind with its source rows, schema, notes and doubts.

    Attributes
    ----------
    data
        `Choices`, or a list of `Episode` or `Offers`.
    source
        The rows that were used, with the columns that were made.
    schema
        The schema, whole.
    columns, options, arguments
        {part: column}, {code: option}, and what the constructor was told.
    notes, doubts
        What was done, and what is often a mistake.
    n_missed
        Decisions that nobody made.
    model, task
        The usual model for such data, in Python and on the command line.
    """

    data: Any
    source: SourceTable
    schema: Schema
    columns: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    n_missed: int = 0
    model: str | None = None
    task: str | None = None


def option_codes(source: SourceTable, schema: Schema, name: str) -> OptionCodes:
    """The codes of the options: those of the schema, or all labels of the column."""
    labels = schema.choice.labels
    if labels is None and schema.choice.places is not None:
        base = schema.choice.base or 0
        labels = tuple(range(base, base + len(schema.choice.places)))
    missed = column_list(schema.choice.missed) if schema.choice.missed is not None else ()
    if not labels:
        nothing = {str(code) for code in missed}
        labels = tuple(x for x in source.labels(name, "columns.choice") if str(x) not in nothing)
    out = opt_out(schema)
    if out is not None and code_key(out) not in code_index(labels):
        labels = (*labels, out)
    names = schema.choice.names
    if names is not None and out is not None and len(names) == len(labels) - 1:
        names = (*names, out)
    if names is not None and len(names) != len(labels):
        raise DataError(
            "choice.names", f"must be as many as choice.labels, {len(labels)}", got=len(names)
        )
    if len(labels) < 2:
        raise DataError(
            "choice.labels",
            "must list at least two options",
            got=f"{format_list(map(str, labels))} in {name}",
            fix="List all of them.",
        )
    return OptionCodes(tuple(labels), tuple(missed), None if names is None else tuple(names))


def opt_out(schema: Schema) -> Any:
    """The code for taking none of the options shown; None where there is none."""
    return None if schema.choice.opt_out == "" else schema.choice.opt_out


def named_rows(source: SourceTable, value: Any, role: str) -> tuple[SourceTable, str | None]:
    """The table and the one column that names whose rows these are; joined, if there are several.

    What file names say becomes a column of the role's name.
    """
    names = column_list(value)
    if not names:
        return source, None
    for name in names:
        if not name.startswith("file:"):
            source.check(name, f"columns.{role}")
    if len(names) == 1 and names[0] in source.names:
        return source, names[0]
    coded = source.combined_codes(names, f"columns.{role}")
    words = ["/".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in _labels(coded)]
    made = role if role not in source.names else f"{role} of {' and '.join(names)}"
    column = pa.array(words).take(pa.array(coded.codes))
    return source.with_columns({made: column}), made


def _labels(coded: Any) -> list[Any]:
    return [tuple(x) if isinstance(x, (tuple, list)) else x for x in coded.labels.tolist()]


def on_offer(source: SourceTable, schema: Schema, codes: OptionCodes) -> BoolVector | None:
    """Mask of the options on offer, (n_rows, n_options); None if all always are."""
    flags, offered = schema.available.flags, schema.available.offered
    if flags:
        if len(flags) != codes.n_options:
            raise DataError(
                "available.flags",
                f"must be one for each of {codes.n_options} options",
                got=len(flags),
                fix="Write true for an option that is always on offer.",
            )
        mask = np.column_stack([_flag(source, one) for one in flags])
        return None if mask.all() else mask
    if offered:
        mask = np.zeros((len(source), codes.n_options), dtype=bool)
        for name in offered:
            options = codes.options_of(source.codes(name, "available.offered"), f"column {name}")
            rows = np.flatnonzero(options >= 0)
            mask[rows, options[rows]] = True
        return None if mask.all() else mask
    return None


def _flag(source: SourceTable, given: Any) -> BoolVector:
    """Whether an option is on offer: by a column, by a condition, or always or never."""
    if isinstance(given, (bool, int)):
        return np.full(len(source), bool(given))
    if given in source.names:
        values = source.floats(given, "available.flags")
        wrong = np.flatnonzero(~np.isin(values, (0.0, 1.0)))
        if wrong.size:
            cells = (f"{values[k]:g} at row {k}" for k in wrong[:11])
            raise DataError(
                "available.flags",
                "must be columns of 0/1",
                got=f"{format_list(cells, wrong.size)} in {given}",
                fix=f'Write a condition, such as "{given} != 3".',
            )
        mask: BoolVector = values == 1
        return mask
    return rows_where(source.frame, given)


def cell_numbers(source: SourceTable, given: Any, role: str) -> Vector:
    """Numbers of each row: those of a column, its opposite ("-loss"), or a constant."""
    if isinstance(given, str):
        if given.startswith("-") and given not in source.names:
            return -np.abs(source.floats(given[1:], role))
        return source.floats(given, role)
    return np.full(len(source), float(given))


def option_cells(options: IntVector, base: int = 0) -> pa.Array:
    """Options as a column of numbers from `base` on that is empty where nobody decided."""
    return pa.array(options + base, mask=options < 0)


def code_options(codes: OptionCodes) -> dict[str, Any]:
    """{code: option} of all codes."""
    found = {}
    for own, name in zip(codes.labels, codes.option_names, strict=True):
        for code in own if isinstance(own, tuple) else (own,):
            found[str(code)] = name
    return found


def with_labels(schema: Schema, codes: OptionCodes) -> Schema:
    """The schema with the codes of the options."""
    return replace(schema, choice=replace(schema.choice, labels=codes.labels, missed=codes.missed))
