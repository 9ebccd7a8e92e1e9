"""Rewards that a table has in another form: what the chosen option paid, totals, words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from penchant._typing import IntVector, Vector
from penchant.errors import DataError, listing
from penchant.tables.cells import is_nothing, told
from penchant.tables.columns import plain_name
from penchant.tables.frames import row_place
from penchant.wording import argument

DIFFERENCES = re.compile(r"diff\((?P<name>[^,()]+)(?:,\s*(?P<start>[+-]?[\d.]+))?\)")
BY_PLACE = re.compile(r"(?P<name>.+)\[(?P<place>[1-9])\]")
BY_WORD = re.compile(r"(?P<name>.+)\[(?P<words>[^\[\]]*=[^\[\]]*)\]")
# Words of outcomes, and what they often stand for: won or not, won or lost.
_GOOD = frozenset(("win", "won", "gain", "reward", "rewarded", "correct", "hit", "gewonnen", "yes"))
_BAD = frozenset(
    ("loss", "lost", "lose", "noreward", "unrewarded", "incorrect", "wrong", "miss", "verloren")
)


def by_words(cells: Sequence[Any], said: str, name: str, rows: Sequence[int]) -> list[float | None]:
    """Numbers by the words that were said to mean them.

    >>> by_words(["win", "loss", None], "win=1, loss=-1", "outcome", [0, 1, 2])
    [1.0, -1.0, None]
    """
    known: dict[str, float] = {}
    for pair in said.split(","):
        key, _, value = (part.strip() for part in pair.rpartition("="))
        try:
            known[plain_name(key)] = float(value)
        except ValueError:
            raise DataError(
                f"{argument('reward')} must say a number for every word; got {pair.strip()!r}. "
                f"Write {name}[win=1, loss=0]."
            ) from None
    found: list[float | None] = []
    for row, cell in enumerate(cells):
        if is_nothing(cell):
            found.append(None)
        elif plain_name(cell) in known:
            found.append(known[plain_name(cell)])
        else:
            raise DataError(
                f"{argument('reward')} must say what every word of {name} means; got {cell!r} at "
                f"{row_place(int(rows[row]))}. Add it."
            )
    return found


def differences(
    totals: Vector,
    histories: Sequence[Sequence[IntVector]],
    start: float | None,
    name: str,
) -> Vector:
    """What each choice paid, by running totals of every person.

    Totals that begin anew in every block are told by how far they fall there.

    Parameters
    ----------
    totals
        What was earned so far; NaN where nothing is said, as nothing was earned.
    histories
        Rows of every block of every person in order of time.
    start
        What people began with; 0 if not given.
    name
        Column of the totals.

    Examples
    --------
    >>> rows = [[np.arange(4)]]
    >>> differences(np.array([3.0, 5.0, np.nan, 4.0]), rows, None, "score")
    array([ 3.,  2., nan, -1.])
    """
    paid = np.full(len(totals), np.nan)
    plays = [[rows[~np.isnan(totals[rows])] for rows in blocks] for blocks in histories]
    plays = [[rows for rows in blocks if rows.size] for blocks in plays]
    within = [np.diff(totals[rows]) for blocks in plays for rows in blocks]
    steps = np.concatenate([*within, np.zeros(0)])
    low, high = steps.min(initial=0.0), steps.max(initial=0.0)
    jumps = [totals[b[0]] - totals[a[-1]] for blocks in plays for a, b in pairwise(blocks)]
    anew = any(not low <= jump <= high for jump in jumps)
    begun: list[int] = []
    for blocks in plays:
        parts = blocks if anew else [np.concatenate(blocks)] if blocks else []
        for rows in parts:
            paid[rows] = np.diff(totals[rows], prepend=start or 0.0)
            begun.append(int(rows[0]))
    far = [row for row in begun if abs(paid[row]) > 3 * max(abs(low), abs(high))]
    if start is None and far:
        raise DataError(
            f"{argument('reward')} must say what people began with, as the first {name} "
            f"({totals[far[0]]:g} at {row_place(far[0])}) is far more than one choice pays. Pass "
            f"{argument('reward', f'diff({name}, {totals[far[0]]:g})')} with that number."
        )
    return paid


def told_at(
    cells: Sequence[Any], place: int, name: str, decimal: str, rows: Sequence[int]
) -> list[float | None]:
    """The number at one place, from 1, among those that each sentence tells.

    >>> told_at(["You won 5 of 10", None], 1, "feedback", ".", [0, 1])
    [5.0, None]
    """
    found: list[float | None] = []
    for row, cell in enumerate(cells):
        numbers = None if is_nothing(cell) else told(cell, decimal)
        if numbers is not None and len(numbers) == 1 and not np.isfinite(numbers[0]):
            numbers = None
        elif numbers is not None and len(numbers) < place:
            raise DataError(
                f"{argument('reward')} must be one of the numbers of every text; got {cell!r} at "
                f"{row_place(int(rows[row]))}, which has {len(numbers)}. Count from 1."
            )
        found.append(None if numbers is None else numbers[place - 1])
    return found


def by_sentences(cells: Sequence[Any], name: str, decimal: str) -> Vector:
    """Rewards by the one number that each sentence tells, such as You won 5 points."""
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if is_nothing(cell):
            continue
        numbers = told(cell, decimal)
        if numbers is None:
            raise _no_number(cells, row, name)
        if len(numbers) > 1:
            ways = [
                f"{argument('reward', f'{name}[{k + 1}]')} for {number:g}"
                for k, number in enumerate(numbers)
            ]
            raise DataError(
                f"{argument('reward')} must be given, as {cell!r} in {name} at {row_place(row)} "
                f"can be read in {len(numbers)} ways. Pass {', or '.join(ways)}."
            )
        found[row] = numbers[0]
    return found


def _no_number(cells: Sequence[Any], row: int, name: str) -> DataError:
    """What words of outcomes may stand for, where they are few; else that a number is missing."""
    words = list(dict.fromkeys(str(cell).strip() for cell in cells if not is_nothing(cell)))
    if len(words) > 6 or any(told(word) for word in words):
        return DataError(
            f"reward {name!r} must hold numbers; got {cells[row]!r} at {row_place(row)}. Correct "
            f"it, leave its row out by {argument('where')}, or name another column with "
            f"{argument('reward')}."
        )
    ways = " or ".join(argument("reward", f"{name}[{_pairs(own)}]") for own in _readings(words))
    return DataError(
        f"{argument('reward')} must say what {listing(map(repr, words))} in {name} pay, which can "
        f"be read in two ways. Pass {ways}, or other numbers."
    )


def _readings(words: Sequence[str]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Both readings of words of outcomes: won or not, and won or lost."""
    good = [word for word in words if plain_name(word) in _GOOD]
    bad = [word for word in words if plain_name(word) in _BAD]
    if good and bad:
        first = {word: int(word in good) for word in words}
        return first, {word: first[word] - (word in bad) for word in words}
    first = {word: len(words) - 1 - k for k, word in enumerate(words)}
    return first, dict(zip(words, reversed(first.values()), strict=True))


def _pairs(words: Mapping[str, int]) -> str:
    return ", ".join(f"{word}={value}" for word, value in words.items())
