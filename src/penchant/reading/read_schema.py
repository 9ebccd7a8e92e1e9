"""Read a table by a schema: complete it where names are certain, ask what is open, and build."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penchant._typing import FilePath
from penchant.errors import DataError
from penchant.files.folder import RawTable, read_raw
from penchant.files.text_source import TextSource
from penchant.reading.build import build
from penchant.reading.data_notes import reading_doubts
from penchant.reading.infer import Inference, infer
from penchant.tables.lexicon import named
from penchant.tables.programs import plain_table
from penchant.tables.reading import Reading
from penchant.tables.schema import Schema, schema_questions
from penchant.tables.source_table import column_list, frame_table, plain_text

SchemaLike = Schema | Mapping[str, Any] | FilePath | None


def read_by_schema(source: Any, schema: SchemaLike = None) -> Reading:
    """Read a table by a schema; infer the rest where names of columns are unambiguous."""
    given = Schema.of(schema)
    return read_raw_by_schema(open_source(source, given), given)


def open_source(source: Any, schema: Schema) -> RawTable:
    """The table of a file, a folder or a data frame, as the schema says that it is written."""
    if not isinstance(source, (str, os.PathLike, TextSource)):
        return RawTable(plain_text(frame_table(source)))
    written = schema.file
    raw = read_raw(
        source,
        delimiter=written.delimiter,
        decimal=written.decimal or ".",
        encoding=written.encoding or "utf-8",
        header=written.header is not False,
        is_wanted=_has_choices,
    )
    return replace(raw, table=plain_text(raw.table))


def _has_choices(names: Sequence[str]) -> bool:
    """Whether a table has a column that is called as choices are."""
    return bool(named("choice", names).columns)


def _said_choice(schema: Schema) -> str | None:
    choice = column_list(schema.columns.choice)
    return choice[0] if len(choice) == 1 else None


def draft_of(raw: RawTable, schema: Schema) -> Inference:
    """The schema as far as it is certain, and what is open."""
    return infer(plain_table(raw, _said_choice(schema)), schema)


def read_raw_by_schema(raw: RawTable, schema: Schema) -> Reading:
    """Read an opened table by a schema; see `read_by_schema`."""
    plain = plain_table(raw, _said_choice(schema))
    try:
        found = infer(plain, schema)
    except DataError as error:
        raise plain.source.placed(error) from None
    if found.questions:
        raise schema_questions(found.draft, tuple(found.questions), raw.name)
    reading = build(plain.source, found.draft)
    doubts = (*reading.doubts, *found.doubts, *reading_doubts(reading))
    return replace(reading, program=plain.program, doubts=doubts)
