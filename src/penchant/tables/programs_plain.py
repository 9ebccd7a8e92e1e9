"""Tables of known programs made plain: rows of decisions alone, and what programs surely say."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.files.folder import Raw
from penchant.tables.laboratory import cleaned
from penchant.tables.programs import program_of
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable

# What `cleaned` calls the roles that a program's own columns have.
_ROLES = {
    "subject": "columns.subject",
    "chosen": "columns.choice",
    "decision": "columns.trial",
    "block": "columns.block",
    "reward": "columns.reward",
}
# Keys of the record of a grid search: coordinates of the tiles, then their rewards.
_COLLECTED = ("xcollect", "ycollect", "zcollect")


@dataclass(frozen=True)
class PlainTable:
    """A table without what a program writes around decisions.

    Attributes
    ----------
    source
        Its rows.
    hints
        What the program says of its columns.
    own
        Columns that the program writes by itself: never attributes, choices or rewards.
    program
        What wrote it, if that is known.
    """

    source: SourceTable
    hints: Schema
    own: frozenset[str] = frozenset()
    program: str | None = None


def plain_table(raw: Raw) -> PlainTable:
    """Make a table plain, if a known program wrote it.

    Parameters
    ----------
    raw
        The table as files hold it.
    """
    nested = _grid_search(raw)
    if nested is not None:
        return nested
    if program_of(raw.table.column_names).name is None and not _is_otree(raw):
        return PlainTable(SourceTable.of(raw), Schema())
    clean = cleaned(raw.table)
    left = len(raw.table) - len(clean.table)
    # Rows that hold several decisions are unfolded: then there are more than before.
    excluded = {"no decisions, by the marks of the program": left} if left > 0 else {}
    source = SourceTable(
        raw, clean.table, np.asarray(clean.rows), excluded, (*raw.notes, *clean.notes)
    )
    told = {_ROLES[part]: name for part, name in clean.hints.items() if part in _ROLES}
    return PlainTable(source, Schema().with_answers(told), frozenset(clean.own), clean.program)


def _is_otree(raw: Raw) -> bool:
    return "participant.code" in raw.table.column_names


def _grid_search(raw: Raw) -> PlainTable | None:
    """One row per person, whose searches stand as lists of rounds in the JSON of one cell."""
    table = raw.table
    for name in table.column_names:
        if not pa.types.is_string(table[name].type) or '"xcollect"' not in str(table[name][0]):
            continue
        records = [json.loads(cell) if cell else {} for cell in table[name].to_pylist()]
        keys = [key for key in _COLLECTED if key in records[0]]
        if len(keys) != 2:  # two coordinates of a tile: which tile it is has to be said
            return None
        rows, rounds = [], []
        cells: dict[str, list[Any]] = {key: [] for key in keys}
        for row, record in enumerate(records):
            rounds_of = zip(*(record.get(key, ()) for key in keys), strict=True)
            for number, lists in enumerate(rounds_of):
                n = min(map(len, lists))
                rows += [row] * n
                rounds += [number + 1] * n
                for key, own in zip(keys, lists, strict=True):
                    cells[key] += own[:n]
        index = np.array(rows, dtype=np.int64)
        kept = table.drop_columns([name]).take(pa.array(index))
        source = replace(SourceTable.of(raw), table=kept, rows=index).with_columns(
            {f"{name}.round": rounds, **{f"{name}.{key}": own for key, own in cells.items()}}
        )
        hints: dict[str, Any] = {
            "kind": "episodes",
            "columns.block": f"{name}.round",
            "columns.choice": f"{name}.{keys[0]}",
            "columns.reward": f"{name}.{keys[1]}",
        }
        return PlainTable(source, Schema().with_answers(hints), frozenset(), "grid search")
    return None
