"""Questions about a table as one answers them at the terminal: options, or lines of a schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penchant.cli.option_wording import quote_for_shell
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
_COLUMN_ROLES = {role for role in ROLE_OPTIONS if role.startswith("columns.")}
_COLUMN_ROLES |= {"attributes.columns"}
_ROLE_PATTERN = re.compile("|".join(map(re.escape, ROLE_OPTIONS)))


def roles_as_options(text: str) -> str:
    """Replace the roles that a text names by their options.

    >>> roles_as_options("columns.block must name a column of the table")
    '--block must name a column of the table'
    """
    return _ROLE_PATTERN.sub(lambda found: ROLE_OPTIONS[found[0]], text)


def questions_to_paste(asked: SchemaQuestions, about: str) -> SchemaQuestions:
    """Reword questions with answers to paste: options, or else lines of a schema.

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
    """Number the questions with their possible answers, and say where answers go."""
    typed = [
        [_option_for_answer(one.role, answer) for answer in _possible_answers(one)]
        for one in questions
    ]
    if all(answers and None not in answers for answers in typed):
        where = "Add an option for each question."
    else:
        typed = [[one.line(answer) for answer in _possible_answers(one)] for one in questions]
        where = "Write the lines that hold into reading.toml, and add --schema reading.toml."
    lines = [
        "\n   ".join(map(str, (f"{k + 1}. {one.text}", *answers)))
        for k, (one, answers) in enumerate(zip(questions, typed, strict=True))
    ]
    return "\n".join([*lines, where])


def _possible_answers(question: Question) -> tuple[Any, ...]:
    """Possible answers; COLUMN where the names of columns suggest none."""
    unknown = not question.answers and question.role in _COLUMN_ROLES
    return ("COLUMN",) if unknown else question.answers


def _option_for_answer(role: str, answer: Any) -> str | None:
    """The option that answers a question; None where no option can."""
    if role == "rows.keep":
        return f"--where {quote_for_shell(answer)}"
    if role == "shown.first":
        return f"--shown {answer}"
    if role not in _COLUMN_ROLES and role != "choice.labels":
        return None
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    names = [answer] if isinstance(answer, str) else list(answer)
    if any(set(",=") & set(str(name)) or isinstance(name, (list, tuple)) for name in names):
        return None
    words = ",".join(map(str, names)) or NO_COLUMN
    return f"{ROLE_OPTIONS[role]} {quote_for_shell(words)}"
