"""Named tasks other than two-step: their documented columns as events."""

from __future__ import annotations

from penchant.reading.asked import Asked, Place
from penchant.reading.built import Built
from penchant.reading.tasks import NamedTask, from_task
from penchant.tables.laboratory import Cleaned
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable, column_list


def build_task(source: SourceTable, schema: Schema, task: NamedTask) -> Built:
    """Make the data of a named task.

    Parameters
    ----------
    source
        The rows that count.
    schema
        What is said of the table beside its task.
    task
        The task.
    """
    columns = schema.columns
    block = column_list(columns.block)
    given = {
        "subject": columns.subject or None,
        "block": (block[0] if len(block) == 1 else block) or None,
        "decision": columns.trial or None,
    }
    told = frozenset(part for part, name in given.items() if name)
    clean = Cleaned(source.table, source.rows)
    made = from_task(
        clean, Asked(columns=given, task=task.name, said=told), task, Place(source.rows)
    )
    own = SourceTable(source.raw, made.table, source.rows, source.excluded)
    return Built(
        made.data,
        own,
        schema,
        made.columns,
        made.options,
        made.arguments,
        made.notes,
        made.doubts,
        model=made.model,
        task=made.task,
    )
