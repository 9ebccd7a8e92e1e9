"""What may be the choice or the reward of a table of play, said as one would pass it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.errors import argument
from penchant.reading.ambiguous import as_reward, is_of_time, may_be_paid, odd_word, varying
from penchant.reading.asked import seen_words
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import SESSION, USUAL, is_called
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.surveys import shown_at

MOST_WAYS = 12
MOST_AMOUNTS = 0.75  # share of cells that are numbers; others are marks of no choice
MOST_LABELS = 12  # that change places: more are another stimulus in every trial


def chosen_ways(clean: Cleaned, used: Collection[str] = ()) -> list[str]:
    """Ways to say which column holds the choices, those whose names speak of it first.

    Where a column holds places, and labels change theirs, there are two: the place and the label.

    Parameters
    ----------
    clean
        A table of decisions.
    used
        Columns that are something else.
    """
    table = clean.table
    parts = [name for part in ("subject", "block", "decision") for name in USUAL[part]]
    free = [
        name
        for name in varying(clean)
        if name not in used
        and not is_of_time(name)
        and not is_called((*parts, *SESSION), name)
        and 2 <= len(seen_words(table, name)) <= MOST_LABELS
    ]
    free.sort(key=lambda name: not is_called(CHOSEN, name))
    ways = []
    for name in free:
        ways.append(argument("chosen", name))
        others = [other for other in table.column_names if other != name and other not in clean.own]
        words = [word for word in seen_words(table, name) if word != odd_word(table, name)]
        for stem, columns, _ in shown_at(others, words):
            if change_places(table, columns):
                ways[-1] += f" (a place) or {argument('chosen', f'{stem}[{name}]')} (what is there)"
    return ways[:MOST_WAYS]


def change_places(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether labels stand now in one of these columns, now in another."""
    cells = zip(*(map(_whole, table[name].to_pylist()) for name in columns), strict=True)
    rows = [row for row in cells if None not in row]
    kinds = {type(label) for labels in rows for label in labels}
    if kinds not in ({str}, {int}):
        return False
    places = {(label, place) for labels in rows for place, label in enumerate(labels)}
    labels = {label for label, _ in places}
    apart = all(len({*own}) == len(own) for own in rows)
    if kinds == {int} and (len(labels) != len(columns) or labels <= {0, 1}):  # amounts, or flags
        return False
    return apart and len(places) > len(labels) and len(labels) <= MOST_LABELS


def _whole(cell: Any) -> Any:
    """A cell, whole numbers without a point."""
    return int(cell) if isinstance(cell, float) and cell == int(cell) else cell


def reward_ways(clean: Cleaned, used: Collection[str]) -> list[str]:
    """Ways to say which column holds what choices paid; two where gains and losses are apart.

    Parameters
    ----------
    clean, used
        As in `chosen_ways`.
    """
    names = may_be_paid(clean, used)
    pairs = [argument("reward", pair) for pair in _gains_and_losses(clean.table, names)]
    said = [f"{way} (the first less the second)" for way in pairs[:4]]
    return [*said, *(as_reward(name, clean) for name in names)][:MOST_WAYS]


def _gains_and_losses(table: pa.Table, names: Sequence[str]) -> list[tuple[str, str]]:
    """Two columns of numbers of which one is 0 wherever the other is not: gains, then losses."""
    paid = {name: _amounts(table, name) for name in names}
    pairs = []
    for gain, loss in permutations(names, 2):
        first, second = paid[gain], paid[loss]
        if first is None or second is None or first.min() < 0:
            continue
        never_both = not ((first != 0) & (second != 0)).any()
        if never_both and len(np.unique(first)) > 2 and len(np.unique(second)) > 1:
            pairs.append((gain, loss))
    return pairs


def _amounts(table: pa.Table, name: str) -> Any:
    """Numbers of a column, 0 where there is none; None where it holds others, or no 0."""
    if pa.types.is_boolean(table[name].type):
        return None
    cells = [cell for cell in table[name].to_pylist() if not is_nothing(cell)]
    read = [amount(cell) for cell in cells]
    if sum(one is not None for one in read) < MOST_AMOUNTS * len(read):
        return None
    values = np.array(
        [
            0.0 if is_nothing(cell) or (one := amount(cell)) is None else one[0]
            for cell in table[name].to_pylist()
        ]
    )
    return values if len(values) and (values == 0).any() and (values != 0).any() else None
