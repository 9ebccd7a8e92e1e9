"""Offers: one-shot choices among described options, a row per decision or per questionnaire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Vector
from penchant.bandit.episode_table import episode_rows
from penchant.choices.offers import offers_from_frame
from penchant.errors import DataError
from penchant.reading.built_data import (
    BuiltData,
    cell_numbers,
    code_options,
    named_rows,
    option_cells,
    option_codes,
    with_labels,
)
from penchant.result_tables import format_count
from penchant.tables.questionnaires import QUESTIONNAIRES
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable, column_list
from penchant.tables.unfolding import unfold_rows

CHOSEN = "option taken"
NO_COLUMN = "none"  # what the constructor is told of a part that no column has
Cell = Any  # a column, a number, or one of these for each item or outcome


def build_offers(source: SourceTable, schema: Schema) -> BuiltData:
    """Make offers."""
    choice = column_list(schema.columns.choice)
    if not choice:
        raise DataError("columns.choice", "must name the column of choices", got="none")
    given = schema.attributes or QUESTIONNAIRES.get(schema.task or "", {})
    if not given:
        raise DataError(
            "attributes",
            "must say what describes each option",
            got="none",
            fix='Write, for example, amount = ["amount_now", "amount_later"].',
        )
    if len(choice) > 1:
        for name in choice:
            source.check(name, "columns.choice")
        source = unfold_rows(source, {CHOSEN: choice}, ITEM)
        codes = option_codes(source, schema, CHOSEN)
        options = codes.options_of(source.codes(CHOSEN, "columns.choice"), f"column {CHOSEN}")
    else:
        codes = option_codes(source, schema, choice[0])
        options = codes.options_of(source.codes(choice[0], "columns.choice"), f"column {choice[0]}")
    columns: dict[str, Any] = {CHOSEN: option_cells(options)}
    offers: dict[str, tuple[Any, ...]] = {}
    for name, cells in given.items():
        if len(cells) != codes.n_options:
            raise DataError(
                f"attributes.{name}",
                f"must say a column or number for each of {codes.n_options} options",
                got=len(cells),
                fix="Group codes that mean one option, as in choice.labels = [[1, 2], [3, 4]].",
            )
        offers[name] = tuple(
            _made(
                source,
                columns,
                f"{name} of option {k + 1}",
                cell,
                f"attributes.{name}",
                len(choice),
            )
            for k, cell in enumerate(cells)
        )
    source = source.with_columns(columns)
    source, subject = named_rows(source, schema.columns.subject, "subject")
    source, block = named_rows(source, schema.columns.block, "block")
    reader_arguments: dict[str, Any] = {
        "subject": subject or NO_COLUMN,
        "block": block or NO_COLUMN,
        "scored": schema.columns.scored or NO_COLUMN,
        "chosen": CHOSEN,
        "offers": offers,
    }
    data = offers_from_frame(source.table, **reader_arguments)
    role_texts = {"chosen": ", ".join(choice)}
    role_texts |= {part: name for part, name in (("subject", subject), ("block", block)) if name}
    role_texts |= {name: ", ".join(map(_in_words, cells)) for name, cells in given.items()}
    n_missed = int((options < 0).sum())
    return BuiltData(
        data,
        source,
        replace(with_labels(schema, codes), attributes=given),
        role_texts,
        code_options(codes),
        {**reader_arguments, "rows": episode_rows(source.table, subject=subject, block=block)},
        (f"{format_count(n_missed, 'decision')} that nobody made",) if n_missed else (),
        n_missed=n_missed,
    )


ITEM = "item"  # which of several choices of a row of the table a decision is, from 1


def _made(
    source: SourceTable, columns: dict[str, Any], name: str, cell: Cell, role: str, n_items: int
) -> Any:
    """Make the column of an attribute of one option; several if the option has outcomes."""
    if not isinstance(cell, (tuple, list)):
        if isinstance(cell, str):
            columns[name] = pa.array(cell_numbers(source, cell, role), from_pandas=True)
            return name
        return float(cell)
    if n_items > 1 and len(cell) == n_items:
        columns[name] = pa.array(_by_item(source, cell, role), from_pandas=True)
        return name
    return tuple(
        _made(source, columns, f"{name}, outcome {k + 1}", one, role, 1)
        for k, one in enumerate(cell)
    )


def _by_item(source: SourceTable, cells: Any, role: str) -> Vector:
    """Numbers of each row by the item that it is."""
    item = source.floats(ITEM, role).astype(np.int64) - 1
    every = np.column_stack([cell_numbers(source, cell, role) for cell in cells])
    return every[np.arange(len(item)), item]


def _in_words(cell: Cell) -> str:
    if isinstance(cell, (tuple, list)):
        return f"[{', '.join(map(_in_words, cell[:3]))}{', ...' if len(cell) > 3 else ''}]"
    return str(cell)
