"""Rows that hold several decisions as a row for each: numbered columns, and lists in cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant.errors import DataError
from penchant.files.delimited_text import common_type
from penchant.files.table import column_from_values
from penchant.tables.cells import array_cell
from penchant.tables.columns import numbered_on
from penchant.tables.lexicon import named
from penchant.tables.source_table import SourceTable

MIN_NUMBERED = 5  # columns numbered on with fewer may be those of options rather than decisions
MAX_OPTIONS_IN_LIST = 6  # lists of at most as many cells, beside one choice, are of options
NUMBER = "trial"  # the column that says which of the row's decisions a decision is


def interleaved(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """Cells of several columns row by row: all of the first row, then all of the second."""
    kind = common_type([column.type for column in columns])
    cells = pa.concat_arrays([chunk for one in columns for chunk in one.cast(kind).chunks])
    n, width = len(columns[0]), len(columns)
    return cells.take(pa.array(np.arange(n * width).reshape(width, n).T.ravel()))


def unfold_rows(
    source: SourceTable, columns: Mapping[str, Sequence[str]], number: str
) -> SourceTable:
    """A row for each of several decisions that a row holds.

    Parameters
    ----------
    source
        The table.
    columns
        {column to make: its columns, in the order of the decisions}.
    number
        The column to make that numbers the decisions of a row, from 1.
    """
    width = len(next(iter(columns.values())))
    rows = np.repeat(np.arange(len(source)), width)
    cells = {name: interleaved([source.table[one] for one in own]) for name, own in columns.items()}
    whole = replace(source, table=source.table.take(pa.array(rows)), rows=source.rows[rows])
    return whole.with_columns({**cells, number: np.tile(np.arange(width) + 1, len(source))})


def unfold_numbered(source: SourceTable, minimum: int = MIN_NUMBERED) -> SourceTable:
    """A row per decision, where columns such as choice_1 to choice_40 hold a decision each.

    Only names count: one of the stems must say that it is what was chosen, and no other column may.
    """
    for stems in numbered_on(source.names):
        found = {stem.rstrip("_. "): own for stem, own in stems.items() if len(own) >= minimum}
        choice = named("choice", [*found])
        used = {name for own in found.values() for name in own.values()}
        if (
            choice.single is None
            or named("choice", [n for n in source.names if n not in used]).sure
        ):
            continue
        numbers = found[choice.single].keys()
        whole = {stem: tuple(own.values()) for stem, own in found.items() if own.keys() == numbers}
        number = NUMBER if NUMBER not in source.names else "number of column"
        done = unfold_rows(source, whole, number)
        gone = [name for own in whole.values() for name in own]
        note = f"a row for each of {len(numbers)} decisions: columns {gone[0]} to {gone[-1]}"
        return replace(done, table=done.table.drop_columns(gone), notes=(*done.notes, note))
    return source


def unfold_lists(source: SourceTable) -> SourceTable:
    """A row per decision, and a cell per value, where cells hold lists such as [1, 0, 1].

    Lists of one cell are that cell; those beside a single choice are of options, and become
    columns; lists of choices become rows.
    """
    source = _without_single_lists(source)
    lists = {name: own for name in source.names if (own := _lists(source, name)) is not None}
    single = {name: own for name, own in lists.items() if {len(x or [0]) for x in own} == {1}}
    if single:
        made = {
            name: column_from_values([x[0] if x else None for x in own])
            for name, own in single.items()
        }
        source = source.with_columns(made)
        lists = {name: own for name, own in lists.items() if name not in single}
    return _unfold_lists(source, lists) if lists else source


def _unfold_lists(source: SourceTable, lists: Mapping[str, Any]) -> SourceTable:
    sizes = [[len(own[row] or ()) for own in lists.values()] for row in range(len(source))]
    if (
        named("choice", [*lists]).columns
        and not named("choice", [name for name in source.names if name not in lists]).columns
    ):
        if any(len({*row}) > 1 for row in sizes):
            return source
        return _longer(source, lists, [row[0] for row in sizes])
    width = max(map(max, sizes))
    if not 1 < width <= MAX_OPTIONS_IN_LIST or any(
        {*row} - {0} != {width} for row in sizes if any(row)
    ):
        return source
    columns = {
        f"{name}_{k}": column_from_values([(x or [None] * width)[k] for x in own])
        for name, own in lists.items()
        for k in range(width)
    }
    done = source.with_columns(columns)
    return replace(done, table=done.table.drop_columns([*lists]))


# A list of one word, as programs write the one key that was pressed.
_ONE_WORD = r"""^\s*\[\s*(?P<word>'[^',]*'|"[^",]*")\s*\]\s*$"""


def _without_single_lists(source: SourceTable) -> SourceTable:
    """The word in place of a list of one, where a column holds no longer lists."""
    made = {}
    for name in source.names:
        column = source.table[name]
        if not pa.types.is_string(column.type):
            continue
        alone = pc.fill_null(pc.match_substring_regex(column, _ONE_WORD), False)
        opened = pc.fill_null(pc.starts_with(column, "["), False)
        if pc.any(alone).as_py() and pc.all(pc.equal(alone, opened)).as_py():
            word = pc.struct_field(pc.extract_regex(column, _ONE_WORD), "word")
            made[name] = pc.if_else(alone, pc.utf8_trim(word, "'\""), column)
    return source.with_columns(made) if made else source


def _lists(source: SourceTable, name: str) -> list[list[Any] | None] | None:
    """The lists in the cells of a column; None where other things stand there."""
    column = source.table[name]
    if not pa.types.is_string(column.type):
        return None
    column = pc.if_else(pc.equal(column, ""), None, column)
    if column.null_count == len(column):
        return None
    if not pc.all(pc.match_substring_regex(column, r"^\s*[\[(].*[\])]\s*$")).as_py():
        return None
    found = [None if cell is None else array_cell(cell) for cell in column.to_pylist()]
    return None if all(one is None for one in found) else found


def _longer(source: SourceTable, lists: Mapping[str, Any], sizes: Sequence[int]) -> SourceTable:
    """A row for each item of lists that are as long as one another."""
    rows = np.repeat(np.arange(len(source)), sizes)
    made: dict[str, Any] = {
        name: column_from_values([cell for one in own for cell in one or ()])
        for name, own in lists.items()
    }
    if NUMBER not in source.names:
        made[NUMBER] = [k + 1 for n in sizes for k in range(n)]
    table = source.table.drop_columns([*lists]).take(pa.array(rows))
    note = f"a row for each item of the lists in {', '.join(lists)}"
    done = replace(source, table=table, rows=source.rows[rows], notes=(*source.notes, note))
    return done.with_columns(made)


# Keys of the record of a grid search: coordinates of the tiles, then their rewards.
_COLLECTED = ("xcollect", "ycollect", "zcollect")


def unfold_grid_search(source: SourceTable) -> tuple[SourceTable, dict[str, Any]] | None:
    """Searches of people, which stand as lists of rounds in the JSON of one cell each.

    Returns
    -------
    tuple
        A row for each tile that was opened, and what is certain of the columns; None for other
        tables.
    """
    text = (x for x in source.names if pa.types.is_string(source.table[x].type))
    found = next((x for x in text if '"xcollect"' in str(source.table[x][0])), None)
    return None if found is None else _unfold_grid_search(source, found)


def _unfold_grid_search(
    source: SourceTable, name: str
) -> tuple[SourceTable, dict[str, Any]] | None:
    """Unfold the JSON column of grid-search records; None if it has another form."""
    table = source.table
    try:
        records = [json.loads(cell) if cell else {} for cell in table[name].to_pylist()]
    except json.JSONDecodeError as error:
        raise DataError(name, "must hold JSON", got=f"an error: {error}") from None
    keys = [key for key in _COLLECTED if key in records[0]]
    if len(keys) != 2:  # two coordinates of a tile: which tile it is has to be said
        return None
    rows, rounds = [], []
    cells: dict[str, list[Any]] = {key: [] for key in keys}
    for row, record in enumerate(records):
        rounds_of = zip(*(record.get(key, ()) for key in keys), strict=True)
        for number, own in enumerate(rounds_of):
            n = min(map(len, own))
            rows += [row] * n
            rounds += [number + 1] * n
            for key, values in zip(keys, own, strict=True):
                cells[key] += values[:n]
    index = np.array(rows, dtype=np.int64)
    kept = table.drop_columns([name]).take(pa.array(index))
    made = {f"{name}.round": rounds, **{f"{name}.{key}": own for key, own in cells.items()}}
    hints = {
        "kind": "episodes",
        "columns.block": f"{name}.round",
        "columns.choice": f"{name}.{keys[0]}",
        "columns.reward": f"{name}.{keys[1]}",
    }
    return replace(source, table=kept, rows=source.rows[index]).with_columns(made), hints
