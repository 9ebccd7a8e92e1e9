"""Families of columns: one of each option, as A_price and B_price, or price1 and price2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penchant.tables.lexicon import vocabulary, words_of

_CUT = re.compile(r"[ _.\-()]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBERED = re.compile(r"(?P<stem>.*[^\W\d_])[ _.\-]?(?P<number>\d{1,3})")


@dataclass(frozen=True)
class Families:
    """Columns of attributes by option.

    Attributes
    ----------
    options
        Words that tell the options apart in the names of columns.
    columns
        {attribute: {option: column}}; an attribute may lack some options.
    """

    options: tuple[str, ...]
    columns: Mapping[str, Mapping[str, str]]

    @property
    def whole(self) -> dict[str, tuple[str, ...]]:
        """Attributes that every option has, with their columns in the order of the options."""
        return {
            name: tuple(own[option] for option in self.options)
            for name, own in self.columns.items()
            if len(own) == len(self.options)
        }


def families(names: Sequence[str]) -> list[Families]:
    """Ways in which names of columns are divided into attributes and options, the widest first.

    >>> found, *_ = families(["id", "A_price", "B_price", "A_time", "B_time"])
    >>> found.options, found.whole["price"]
    (('A', 'B'), ('A_price', 'B_price'))
    """
    found = [
        _divided(names, first=True),
        _divided(names, first=False),
        _numbered(names),
    ]
    kept = [one for one in found if one is not None]
    return sorted(kept, key=lambda one: -sum(map(len, one.columns.values())))


def may_be_offered(name: str) -> bool:
    """Whether a column is called as delays or chances of offers are.

    >>> may_be_offered("probability_of_win"), may_be_offered("income")
    (True, False)
    """
    said = {*words_of(name)}
    return any(said & vocabulary(key) for key in ("delays", "chances", "time_units"))


def offer_families(names: Sequence[str]) -> dict[str, tuple[str, ...]] | None:
    """Amounts of every option with their delays or chances, where names of columns say both.

    >>> offer_families(["id", "amount_1", "amount_2", "prob_1", "prob_2", "choice"])
    {'outcome': ('amount_1', 'amount_2'), 'probability': ('prob_1', 'prob_2')}
    >>> offer_families(["id", "price_1", "price_2", "wait_1", "wait_2"]) is None
    True
    """
    for one in families(names):
        found: dict[str, list[tuple[str, ...]]] = {"amount": [], "delay": [], "probability": []}
        words = {"amount": "amounts", "delay": "delays", "probability": "chances"}
        for stem, columns in one.whole.items():
            for attribute, own in words.items():
                if {*words_of(stem)} & vocabulary(own):
                    found[attribute].append(columns)
        n = {attribute: len(own) for attribute, own in found.items()}
        if n["amount"] == 1 and n["delay"] + n["probability"] == 1:
            said = {attribute: own[0] for attribute, own in found.items() if own}
            if "probability" in said:
                said = {"outcome": said["amount"], "probability": said["probability"]}
            return said
    return None


def _divided(names: Sequence[str], *, first: bool) -> Families | None:
    """Options by the first, or by the last word of names of two parts or more."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        parts = [part for part in _CUT.split(name) if part]
        if len(parts) < 2:
            continue
        option, attribute = (
            (parts[0], "_".join(parts[1:])) if first else (parts[-1], "_".join(parts[:-1]))
        )
        columns.setdefault(attribute, {})[option] = name
    several = {name: own for name, own in columns.items() if len(own) > 1}
    if not several:
        return None
    widest = max(several.values(), key=len)
    options = tuple(widest)
    kept = {name: own for name, own in several.items() if {*own} <= {*options}}
    return Families(options, kept)


def _numbered(names: Sequence[str]) -> Families | None:
    """Options by the number at the end of names, counted on from 0 or 1."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            columns.setdefault(match["stem"], {})[match["number"]] = name
    several = {
        stem: own
        for stem, own in columns.items()
        if len(own) > 1 and _counts_on([int(number) for number in own])
    }
    if not several:
        return None
    widest = max(several.values(), key=len)
    kept = {stem: own for stem, own in several.items() if {*own} == {*widest}}
    return Families(tuple(sorted(widest, key=int)), kept)


def _counts_on(numbers: Sequence[int]) -> bool:
    ordered = sorted(numbers)
    return ordered[0] in (0, 1) and ordered == list(range(ordered[0], ordered[0] + len(ordered)))
