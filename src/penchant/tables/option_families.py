"""Families of columns: one of each option, as A_price and B_price, or price1 and price2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_CUT = re.compile(r"[ _.\-]+")
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
