"""Histories of play: what was chosen and what it paid, one row per event."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.bandit.episode import highest_option
from penchant.bandit.episode_table import episodes_from_frame
from penchant.errors import DataError
from penchant.reading.asked import Asked, Built, Place, seen_words, with_column, word
from penchant.tables.cells import amounts, is_nothing
from penchant.tables.columns import PlayColumns, play_columns
from penchant.tables.frames import open_frame, row_place
from penchant.tables.labels import NUMBER
from penchant.tables.laboratory import Cleaned
from penchant.tables.options import NOTHING_WORDS, labelled_options, refuse_stray_labels
from penchant.wording import argument, ticked

PARTS = ("chosen", "reward", "subject", "block", "decision", "is_choice", "scored", "executed")


def from_play(clean: Cleaned, asked: Asked, place: Place) -> Built:
    """Episodes of all subjects."""
    del place  # rows stay what they are
    table = clean.table
    given = {part: asked.columns.get(part) for part in PARTS}
    locations = asked.policies.get("locations")
    sides = 0 if locations is None else np.shape(locations)[1]
    found = play_columns(table.column_names, given, coordinates=sides)
    if asked.columns.get("chosen") is None:
        _check_places(table, str(found.chosen))
    table, notes = with_rewards(table, found, asked)
    policies = dict(asked.policies)
    if clean.counted_on:
        policies.setdefault("gaps", "order")
    labels, words = _labels(table, found, asked, clean.words)
    base = 0
    if labels is None and isinstance(found.chosen, str) and not words:
        base = _base(table, found.chosen, asked.base)
        words = {key: str(int(key) - base) for key in seen_words(table, found.chosen)}
        words = {key: index for key, index in words.items() if int(index) >= 0}
    arguments: dict[str, Any] = {
        **found.arguments(),
        "base": base,
        "options": labels,
        **policies,
    }
    if isinstance(asked.options, Mapping):
        table = with_column(table, _NUMBER, pa.array(_mapped(table, str(found.chosen), words)))
        arguments |= {"chosen": _NUMBER, "options": None}
        if found.executed is not None:
            done = pa.array(_mapped(table, str(found.executed), words))
            table = with_column(table, _DONE, done)
            arguments["executed"] = _DONE
    episodes = episodes_from_frame(table, **arguments)
    columns = dict(part.split(" = ", 1) for part in found.words().split("; "))
    n_options = len(labels) if labels is not None else _n_options(episodes)
    if isinstance(asked.options, Mapping):
        n_options = max(int(index) for index in words.values()) + 1
    ordered = dict(sorted(words.items(), key=lambda pair: int(pair[1])))
    return Built(
        episodes, columns, ordered, table, notes, arguments, f"QLearning(n_options={n_options})"
    )


_NUMBER = "option taken"
_DONE = "option executed"


def _n_options(episodes: Sequence[Any]) -> int:
    return max(map(highest_option, episodes)) + 1


def _check_places(table: pa.Table, chosen: str) -> None:
    """Refuse places of labels that change theirs: which of both is the option has to be said."""
    if not pa.types.is_integer(table[chosen].type):
        return
    for name in table.column_names:
        stem = name.removesuffix("_0")
        several = [
            other for other in table.column_names if re.fullmatch(f"{re.escape(stem)}_\\d", other)
        ]
        if stem == name or len(several) < 2:
            continue
        shown = [table[other].to_pylist() for other in several]
        rows = [labels for labels in zip(*shown, strict=True) if None not in labels]
        text = all(isinstance(label, str) for labels in rows for label in labels)
        if text and len({*rows}) > 1 and len({frozenset(labels) for labels in rows}) == 1:
            labelled = f"{stem}[{chosen}]"
            raise DataError(
                f"{argument('chosen')} must be given, as {chosen} is a place and the labels in "
                f"{stem} change theirs: the option can be the place or the label. Pass "
                f"{argument('chosen', chosen)}, or {argument('chosen', labelled)}."
            )


def with_rewards(
    table: pa.Table, found: PlayColumns, asked: Asked
) -> tuple[pa.Table, tuple[str, ...]]:
    """Rewards as numbers, whatever currency they are in."""
    notes = []
    for name in (found.reward,) if isinstance(found.reward, str) else found.reward:
        if not pa.types.is_string(table[name].type):
            continue
        cells = table[name].to_pylist()
        read = amounts(cells, name, decimal=asked.decimal, units=asked.units)
        if read is None:
            row = next(
                k
                for k, cell in enumerate(cells)
                if not is_nothing(cell) and amounts([cell], name, decimal=asked.decimal) is None
            )
            raise DataError(
                f"reward {name!r} must hold numbers; got {cells[row]!r} at {row_place(row)}. "
                f"Correct it, leave its row out by {ticked('where')}, or name another column with "
                f"{ticked('reward')}."
            )
        table = with_column(table, name, pa.array(read.values, from_pandas=True))
        if read.unit is not None:
            notes.append(f"{name} is in {read.unit}")
    return table, tuple(notes)


def _labels(
    table: pa.Table, found: PlayColumns, asked: Asked, are_words: bool
) -> tuple[tuple[Any, ...] | None, dict[str, str]]:
    """Labels of the options where the choices are words, and the number of each word."""
    if not isinstance(found.chosen, str):
        return None, {}
    if isinstance(asked.options, Mapping):
        words = {word(key): str(value) for key, value in asked.options.items()}
        odd = [value for value in words.values() if not value.isdigit()]
        if odd:
            raise DataError(
                f"options must map words to numbers of options, from 0; got {odd[0]!r}. "
                "Write {'left': 0, 'right': 1}, or a list of words."
            )
        return None, words
    text = pa.types.is_string(table[found.chosen].type)
    truth = pa.types.is_boolean(table[found.chosen].type)
    if asked.options is None and not (text or truth or are_words):
        return None, {}
    frame = open_frame(table)
    if asked.options is None and text and not are_words:
        if all(NUMBER.match(key) for key in seen_words(table, found.chosen)):
            return None, {}
        refuse_stray_labels(frame, found.chosen, row_place)
    given = None if asked.options is None else list(asked.options)
    _, labels = labelled_options(frame, found.chosen, given, row_place)
    return labels, {word(label): str(k) for k, label in enumerate(labels)}


def _base(table: pa.Table, name: str, base: int | None) -> int:
    """Number of the first option; asked where none is 0, as there may be one nobody chose."""
    if base is not None:
        return base
    numbers = [float(key) for key in seen_words(table, name) if NUMBER.match(key)]
    numbers = [number for number in numbers if number >= 0]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    if low == 0:
        return 0
    listed = sorted({int(number) for number in numbers})
    raise DataError(
        f"base must be given, as {name} holds {low:g} to {high:g}, which can be read in two ways: "
        f"options counted from 1 ({int(high)} of them), or from 0 ({int(high) + 1}, of which "
        f"nobody chose 0). Pass base=1 or base=0; or options={listed[:9]!r} for labels."
    )


def _mapped(table: pa.Table, name: str, words: Mapping[str, str]) -> list[int | None]:
    """Numbers of options by the words that were said to mean them."""
    found: list[int | None] = []
    for row, cell in enumerate(table[name].to_pylist()):
        if is_nothing(cell) or str(cell).strip() in NOTHING_WORDS:
            found.append(None)
        elif word(cell) in words:
            found.append(int(words[word(cell)]))
        else:
            raise DataError(
                f"options must say what every word of {name} means; got {word(cell)!r} at "
                f"{row_place(row)}. Add it."
            )
    return found
