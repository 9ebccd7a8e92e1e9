"""`build`: the data that a whole schema says a table holds. Nothing is guessed here.

Every row is used, or counted under a reason. Faults are told with the line and column they stand
in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penchant.errors import DataError, SchemaQuestions
from penchant.reading.build_choices import build_choices
from penchant.reading.build_episodes import build_episodes
from penchant.reading.build_offers import build_offers
from penchant.reading.build_task import build_task
from penchant.reading.built_data import BuiltData
from penchant.reading.tasks import TASKS
from penchant.result_tables import format_count
from penchant.tables.reading import Reading
from penchant.tables.row_conditions import check_some_left, rows_where
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable

BUILDERS: Mapping[str, Callable[[SourceTable, Schema], BuiltData]] = {
    "choices": build_choices,
    "episodes": build_episodes,
    "offers": build_offers,
}
_KINDS = {"episodes": "play"}


def build(source: SourceTable, schema: Schema) -> Reading:
    """Make the data that a schema describes."""
    if schema.kind is None:
        raise DataError(
            "kind", "must be given in the schema", got="none", fix='Say kind = "episodes".'
        )
    try:
        _check_roles(schema)
        source = kept_rows(source, schema)
        task = TASKS.get(schema.task or "")
        if task is not None:
            built = build_task(source, schema, task)
        else:
            built = BUILDERS[schema.kind](source, schema)
    except SchemaQuestions:
        raise
    except DataError as error:
        raise source.placed(error) from None
    used = built.source
    roles = {part.strip() for name in built.columns.values() for part in name.split(",")}
    made = [name for name in used.names if name not in source.names and name not in roles]
    left = tuple(f"{format_count(n, 'row')} left out: {why}" for why, n in used.excluded.items())
    return Reading(
        data=built.data,
        kind=_KINDS.get(schema.kind, schema.kind),  # type: ignore[arg-type]  # one of three words
        columns=built.columns,
        table=used.table,
        source=source.raw.name,
        options=built.options,
        notes=(*source.notes, *left, *built.notes),
        arguments=built.arguments,
        model=built.model or _usual_model(built.data, schema),
        task=built.task,
        doubts=tuple(
            source.raw.word_in_lines(doubt, source.rows.tolist()) for doubt in built.doubts
        ),
        raw=source.raw,
        rows=used.rows.tolist(),
        schema=built.schema,
        excluded=dict(used.excluded),
        missed=built.n_missed,
        made=tuple(made),
    )


# Roles that say nothing of a kind of table: something else was meant.
_FOREIGN: Mapping[str, tuple[str, ...]] = {
    "episodes": ("columns.decision", "columns.option", "columns.chosen", "attributes"),
    "choices": ("columns.reward", "columns.state", "columns.executed", "shown.first"),
    "offers": ("columns.reward", "columns.decision", "columns.chosen", "shown.first"),
}


def _check_roles(schema: Schema) -> None:
    """Raise an error if the schema says what the kind of the table has no use for."""
    for role in _FOREIGN[str(schema.kind)]:
        if schema.get(role):
            raise DataError(
                role,
                f'must be left out of a schema of kind = "{schema.kind}"',
                got=repr(schema.get(role)),
                fix="Leave it out, or say another kind.",
            )


def _usual_model(data: Any, schema: Schema) -> str | None:
    """The model to begin with, in Python; none for a choice experiment, which needs none."""
    if schema.kind == "choices":
        return None
    if schema.kind == "episodes":
        known = schema.choice.labels
        last = max(int(one.chosen.max()) for one in data)
        return f"QLearning(n_options={len(known) if known else last + 1})"
    offers = data[0].offers
    if "delay" in offers:
        return "HyperbolicDiscounting()"
    loses = "outcome" in offers and any((one.offers["outcome"] < 0).any() for one in data)
    return "models.ProspectValue()" if loses else "models.ExpectedUtility()"


def kept_rows(source: SourceTable, schema: Schema) -> SourceTable:
    """The rows that the schema's condition keeps."""
    written = schema.file
    if written.units is not None or written.decimal is not None:
        source = replace(source, decimal=written.decimal or ".", units=written.units)
    condition = schema.rows.keep
    if not condition:
        return source
    mask = rows_where(source.frame, condition)
    check_some_left(mask, source.frame, condition)
    return source.keep_rows(mask, f"not {condition}")
