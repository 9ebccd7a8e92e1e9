"""`penchant check` with a schema: begin one, say what is open, show decisions as they are read."""

from __future__ import annotations

from penchant.cli.options import Data, History
from penchant.cli.schema_questions import numbered_questions
from penchant.cli.table_input import open_raw, schema_from_options
from penchant.cli.terminal import say
from penchant.errors import DataError
from penchant.files.output import json_text, write_text
from penchant.reading.decision_examples import decision_examples
from penchant.reading.read_schema import draft_of, read_raw_by_schema
from penchant.result_tables import format_count
from penchant.tables.reading import TITLES


def run_check_schema(
    file: str | None, data: Data, history: History, write: str | None, json: bool
) -> int:
    """Say what a table is by a schema and its names, and write that; the exit code.

    Parameters
    ----------
    file
        The table.
    data, history
        What was typed.
    write
        Where to write the schema.
    json
        Whether to print JSON.
    """
    if file is None:
        raise DataError(
            "FILE", "must be given with --write or --schema", got="none", fix="Name the table."
        )
    raw = open_raw(file, data)
    typed = schema_from_options(data, history, None, raw.table.column_names)
    found = draft_of(raw, typed)
    reading = None if found.questions else read_raw_by_schema(raw, typed)
    open_questions = [one for one in found.questions if one.is_shown] or found.questions
    schema = found.draft if reading is None or reading.schema is None else reading.schema
    if write is not None:
        write_text(write, schema.to_toml(found.questions) + "\n", overwrite=True)
    if json:
        document = {
            "schema": schema.to_dict(),
            "questions": [
                {"role": one.role, "text": one.text, "answers": list(one.answers)}
                for one in found.questions
            ],
            "decisions": [] if reading is None else decision_examples(reading),
        }
        print(json_text(document), end="")
    elif reading is not None:
        begin = "This is" if reading.kind == "choices" else "These are"
        print("\n".join([f"{begin} {TITLES[reading.kind]}.", *decision_examples(reading)]))
    else:
        print(f"{format_count(len(open_questions), 'question')} open.")
        print(numbered_questions(open_questions))
    if write is not None:
        say(f"Schema: {write}. Use it by --schema {write}.")
    return 1 if found.questions else 0
