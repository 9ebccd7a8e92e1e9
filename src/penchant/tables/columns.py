"""Names of columns: their spelling, numbers in them, and which column a usual name is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import Any, NamedTuple
from unicodedata import normalize

from penchant.errors import DataError

MIN_COLUMNS_OF_A_RUN = 5  # columns that are numbered on, below which they may be anything
COORDINATES = ("x", "y", "z")
NO_COLUMN = "none"
NOT = "not "  # before the column of a flag that says the opposite
_NUMBERED = re.compile(r"(.*?[^\W\d_].*?)([ _.\-]?)[\[(]?(\d+)[\])]?")


class _Run(NamedTuple):
    """Columns with one name, numbered on."""

    stem: str
    divider: str
    first: str
    last: str


def refuse_one_row_per_subject(names: Sequence[str], subject: str | None = None) -> None:
    """Raise an error that says how to make a table long, if its columns number the decisions.

    Parameters
    ----------
    names
        Columns of a table in which those that are needed were not found.
    subject
        Column that names the subject, if there is one.
    """
    runs = _runs(names)
    if not runs:
        return
    if len(runs) == 1:
        first, last = runs[0].first, runs[0].last
        raise DataError(
            "The table",
            "must say what was offered in every question",
            got=(
                f"one row per subject, and answers in columns {first} to {last} whose offers "
                "stand in the texts of the questions"
            ),
            fix=(
                "Write a table with a row for each question (its name, amounts, delays or "
                "attributes), join it to the answers by the name of the question, and read "
                "the result: one row per subject and question."
            ),
        )
    columns = " and ".join(f"{run.first} to {run.last}" for run in runs)
    table, who = (
        ("table", subject) if subject else ('table.reset_index(names="subject")', "subject")
    )
    stems = ", ".join(f'"{run.stem}"' for run in runs)
    raise DataError(
        "The table",
        (
            "must have one row per decision, with what was chosen and what it paid, or "
            "what was offered"
        ),
        got=f"one row per subject, columns {columns}",
        fix=(
            f'Make it long, with pandas by pd.wide_to_long({table}, [{stems}], i="{who}", '
            f'j="decision", sep="{runs[0].divider}").reset_index(), or in R by '
            f"tidyr::pivot_longer, and name the columns."
        ),
    )


# Numbers of decisions in names of columns, after what the columns hold or before it.
_COUNTED = (
    re.compile(
        r"(?P<stem>.*?[^\W\d_].*?)(?:[ _.\-](?:t|T|trial|Trial|round|Round))?"
        r"[ _.\-]?[\[(]?(?P<number>\d+)[\])]?"
    ),
    re.compile(
        r"(?:T|t|Q|q|CS|cs|task|Task|set|Set|trial|Trial|round|Round|choice_?set|screen|card)?"
        r"[ _.\-]?(?P<number>\d+)[ _.\-](?P<stem>.*[^\W\d_].*)"
    ),
)


def numbered_on(names: Sequence[str]) -> list[dict[str, dict[int, str]]]:
    """Columns that are numbered on, by what is left of the name; for either place of the number.

    >>> numbered_on(["id", "pick_1", "pick_2", "won_1", "won_2"])[0]
    {'pick': {1: 'pick_1', 2: 'pick_2'}, 'won': {1: 'won_1', 2: 'won_2'}}
    """
    runs = []
    for pattern in _COUNTED:
        found: dict[str, dict[int, str]] = {}
        for name in names:
            match = pattern.fullmatch(str(name))
            if match is not None:
                found.setdefault(match["stem"], {})[int(match["number"])] = str(name)
        runs.append(
            {
                stem: dict(sorted(own.items()))
                for stem, own in found.items()
                if len(own) > 1 and sorted(own) in (_count(own, 0), _count(own, 1))
            }
        )
    return runs


def _count(own: Mapping[int, str], start: int) -> list[int]:
    return list(range(start, start + len(own)))


def _runs(names: Sequence[str]) -> list[_Run]:
    """Columns that are numbered on, as many of each name, divided alike."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(str(name))
        if match is not None:
            found.setdefault((match[1], match[2]), []).append((int(match[3]), str(name)))
    runs = {key: sorted(own) for key, own in found.items() if _counts_on([n for n, _ in own])}
    if not runs:
        return []
    most = max(map(len, runs.values()))
    divider = next(key[1] for key, own in runs.items() if len(own) == most)
    return [
        _Run(stem, by, own[0][1], own[-1][1])
        for (stem, by), own in runs.items()
        if len(own) == most and by == divider
    ]


def _counts_on(numbers: Sequence[int]) -> bool:
    n = len(numbers)
    return (
        n >= MIN_COLUMNS_OF_A_RUN and max(numbers) - min(numbers) == n - 1 == len(set(numbers)) - 1
    )


def named_column(usual: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the first of some names that there is, however it is spelt.

    >>> named_column(("choice", "response"), ["subject", "Response", "rt"])
    'Response'
    """
    by_name = {plain_name(name): name for name in reversed(names)}
    found = (by_name.get(plain_name(name)) for name in usual)
    return next((name for name in found if name is not None), None)


def in_condition(name: Any) -> str:
    """A column as a condition on rows names it: in backticks, unless it is a name of Python's.

    >>> in_condition("rt"), in_condition("Reaction Time"), in_condition("class")
    ('rt', '`Reaction Time`', '`class`')
    """
    text = str(name)
    plain = text.isidentifier() and not iskeyword(text) and normalize("NFKC", text) == text
    return text if plain else f"`{text}`"


def flagged(name: Any) -> tuple[Any, bool]:
    """The column that a flag is read from, and whether it says the opposite.

    >>> flagged("is_choice"), flagged("not forced")
    (('is_choice', False), ('forced', True))
    """
    if isinstance(name, str) and name.startswith(NOT):
        return name.removeprefix(NOT), True
    return name, False


def unaccented(text: str) -> str:
    """A text without accents, and without letters that ASCII lacks."""
    return (
        text
        if text.isascii()
        else "".join(mark for mark in normalize("NFKD", text) if mark.isascii())
    )


def plain_name(name: Any) -> str:
    """A name without case, punctuation and accents: SubjID, subj_id and subj.id are one.

    >>> plain_name("Später"), plain_name("subj.ID")
    ('spater', 'subjid')
    """
    return _plain(str(name))


@lru_cache(10_000)
def _plain(name: str) -> str:
    text = name.lower()
    return re.sub(r"[^a-z0-9]", "", text if text.isascii() else normalize("NFKD", text))
