"""Roles by the names of columns: a lexicon in several languages, kept as data in lexicon.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from penchant.tables.columns import plain_name, unaccented

# Roles that a word in a name may say beside words that are not known.
_WITH_RIVALS = ("choice", "reward")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@cache
def _lexicon() -> dict[str, dict[str, list[str]]]:
    text = (files("penchant.tables") / "lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return {
        role: {key: frozenset(names) for key, names in own.items()}
        for role, own in _lexicon().items()
    }


def words_of(name: str) -> tuple[str, ...]:
    """Words of a name, in lower case: by case, punctuation and digits.

    >>> words_of("isBiased_choice2")
    ('is', 'biased', 'choice', '2')
    """
    return tuple(word.lower() for word in _WORDS.findall(unaccented(str(name))))


def vocabulary(key: str) -> frozenset[str]:
    """Words of the lexicon that are of no role, such as those for nothing.

    >>> "timeout" in vocabulary("nothing")
    True
    """
    return frozenset(_entries()["words"][key])


def offer_names(part: str) -> list[str]:
    """Usual names of the column of a part of offers, in the order in which they are tried."""
    return _lexicon()["offers"][part]


@cache
def units() -> dict[str, str]:
    """The name of each spelling of a unit.

    >>> units()["wks"], units()["percent"]
    ('weeks', '%')
    """
    return {spelling: name for name, own in _lexicon()["units"].items() for spelling in own}


_DASHES = frozenset((".", "-", "--", "\u2013", "\u2014"))


def says_nothing(word: str) -> bool:
    """Whether a cell is empty, or says in words that there was no answer.

    >>> says_nothing("NA"), says_nothing("Time-Out"), says_nothing("left")
    (True, True, False)
    """
    text = word.strip()
    return not text or text in _DASHES or plain_name(text) in vocabulary("unanswered")


@dataclass(frozen=True)
class Match:
    """Columns whose names say a role.

    Attributes
    ----------
    columns
        Those that say it as surely as any does.
    rivals
        Those that may say it, too, by one word of theirs.
    sure
        Whether the names of the columns have no other meaning.
    """

    columns: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    sure: bool = False

    @property
    def single(self) -> str | None:
        """The column, where only one can be meant."""
        certain = len(self.columns) == 1 and (self.sure or not self.rivals)
        return self.columns[0] if certain else None

    @property
    def candidates(self) -> tuple[str, ...]:
        """Columns that may have the role: matches, and rivals of these."""
        return (*self.columns, *self.rivals)


def named(role: str, names: Sequence[str], used: Collection[str] = ()) -> Match:
    """Columns that are called as a role often is.

    >>> named("reward", ["id", "reward", "reward_1"]).single
    'reward'
    >>> named("choice", ["side_choice", "is_biased_choice"])
    Match(columns=('side_choice',), rivals=('is_biased_choice',), sure=False)
    """
    entry = _entries()[role]
    free = [name for name in names if name not in used]
    sure = tuple(name for name in free if plain_name(name) in entry["sure"])
    if sure:
        return Match(sure, sure=True)
    likely = tuple(
        name
        for name in free
        if plain_name(name) in entry.get("likely", ()) or _is_composed(name, entry)
    )
    rivals: tuple[str, ...] = ()
    if role in _WITH_RIVALS:
        rivals = tuple(name for name in free if name not in likely and _is_rival(name, entry))
    return Match(likely, rivals)


def role_column(role: str, names: Sequence[str]) -> str | None:
    """The column whose name says a role most surely; None where none does.

    Of several, the one that is spelt as the lexicon has it.

    >>> role_column("choice", ["Choice", "choice", "response"])
    'choice'
    """
    found = named(role, [name for name in names if isinstance(name, str)]).columns
    plain = (name for name in found if name == plain_name(name))
    return next(plain, found[0] if found else None)


def is_named(role: str, name: str) -> bool:
    """Whether a name surely says a role: as a whole, or by all of its words."""
    entry = _entries()[role]
    return plain_name(name) in entry["sure"] or (role == "phase" and _is_composed(name, entry))


def has_last_word(role: str, name: str) -> bool:
    """Whether the first or the last word of a name says a role."""
    words = words_of(name)
    return bool(words) and bool({words[0], words[-1]} & _entries()[role]["sure"])


def _is_composed(name: str, entry: dict[str, Any]) -> bool:
    words = {*words_of(name)}
    heads = words & entry.get("heads", frozenset())
    return bool(heads) and words <= entry["heads"] | entry.get("modifiers", frozenset())


def _is_rival(name: str, entry: dict[str, Any]) -> bool:
    words = words_of(name)
    timed = {"rt", "time", "onset", "duration", "prob", "probability", "latency", "correct", "p"}
    if {*words} & timed or (words and words[-1].isdigit()):
        return False
    return bool({*words} & entry.get("heads", frozenset()))
