"""Names of columns: their spelling, numbers in them, and which column a usual name is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

COORDINATES = ("x", "y", "z")
NO_COLUMN = "none"
NOT = "not "  # before the column of a flag that says the opposite


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
                if len(own) > 1 and min(own) in (0, 1) and max(own) - min(own) == len(own) - 1
            }
        )
    return runs


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
    return _alphanumeric(str(name))


@lru_cache(10_000)
def _alphanumeric(name: str) -> str:
    text = name.lower()
    return re.sub(r"[^a-z0-9]", "", text if text.isascii() else normalize("NFKD", text))
