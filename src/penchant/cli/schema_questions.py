"""Questions about a table as one answers them at the terminal: options, or lines of a schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penchant.cli.option_wording import quoted
from penchant.errors import SchemaQuestions
from penchant.result_tables import format_count
from penchant.tables.columns import NO_COLUMN
from penchant.tables.schema import Question

# The option that says a role of the schema.
ROLE_OPTIONS = {
    "columns.subject": "--subject",
    "columns.block": "--block",
    "columns.trial": "--decision",
    "columns.decision": "--decision",
    "columns.option": "--option",
    "columns.chosen": "--chosen",
    "columns.choice": "--chosen",
    "columns.reward": "--reward",
    "columns.executed": "--executed",
    "columns.is_choice": "--is-choice",
    "columns.scored": "--scored",
    "columns.weight": "--weight",
    "columns.offset": "--offset",
    "attributes.columns": "--explanatory",
    "available.flags": "--available",
    "choice.labels": "--options",
    "choice.opt_out": "--opt-out",
    "rows.keep": "--where",
    "shown.first": "--shown",
}
# Of these an answer is a column, or some that are divided by commas.
_OF_COLUMNS = {role for role in ROLE_OPTIONS if role.startswith("columns.")}
_OF_COLUMNS |= {"attributes.columns"}
_ROLE = re.compile("|".join(map(re.escape, ROLE_OPTIONS)))


def roles_as_options(text: str) -> str:
    """A text with the options that say the roles that it names.

    >>> roles_as_options("columns.block must name a column of the table")
    '--block must name a column of the table'
    """
    return _ROLE.sub(lambda found: ROLE_OPTIONS[found[0]], text)


def questions_to_paste(asked: SchemaQuestions, about: str) -> SchemaQuestions:
    """The same questions with answers to paste: options, or else lines of a schema.

    Parameters
    ----------
    asked
        The questions.
    about
        What messages call the table.
    """
    open_ones = [one for one in asked.questions if one.is_shown] or [*asked.questions]
    return SchemaQuestions(
        f"{about}: schema",
        got=format_count(len(open_ones), "question"),
        fix=numbered_questions(open_ones),
        draft=asked.draft,
        questions=open_ones,
    )


def numbered_questions(questions: Sequence[Question]) -> str:
    """Every question with its answers on lines of their own, and where answers go."""
    typed = [[_as_option(one.role, answer) for answer in _answers(one)] for one in questions]
    if all(answers and None not in answers for answers in typed):
        where = "Add an option for each question."
    else:
        typed = [[one.line(answer) for answer in _answers(one)] for one in questions]
        where = "Write the lines that hold into reading.toml, and add --schema reading.toml."
    lines = [
        "\n   ".join(map(str, (f"{k + 1}. {one.text}", *answers)))
        for k, (one, answers) in enumerate(zip(questions, typed, strict=True))
    ]
    return "\n".join([*lines, where])


def _answers(question: Question) -> tuple[Any, ...]:
    """Possible answers; a word in capitals for a column that names say nothing of."""
    unknown = not question.answers and question.role in _OF_COLUMNS
    return ("COLUMN",) if unknown else question.answers


def _as_option(role: str, answer: Any) -> str | None:
    """The option that answers a question; None where no option can."""
    if role == "rows.keep":
        return f"--where {quoted(answer)}"
    if role == "shown.first":
        return f"--shown {answer}"
    if role not in _OF_COLUMNS and role != "choice.labels":
        return None
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    names = [answer] if isinstance(answer, str) else list(answer)
    if any(set(",=") & set(str(name)) or isinstance(name, (list, tuple)) for name in names):
        return None
    words = ",".join(map(str, names)) or NO_COLUMN
    return f"{ROLE_OPTIONS[role]} {quoted(words)}"
