"""Choices in other forms, flags of every option or the level of an attribute, as options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penchant.errors import DataError, listing
from penchant.output.notes import counted
from penchant.tables.cells import is_nothing
from penchant.tables.columns import plain_name
from penchant.tables.frames import row_place
from penchant.tables.surveys import NOT, OPT_OUTS, halves, plain, tag, wide_layouts
from penchant.wording import ticked

# What a flag says of its option, in one spelling.
VERBS = frozenset(
    (
        *("chose", "chosen", "choice", "choose", "ischosen", "selected", "select", "isselected"),
        *("picked", "pick", "took", "taken", "clicked", "pressed", "response", "resp", "answer"),
        *("wahl", "gewahlt", "gewaehlt", "choix", "choisi", "eleccion", "elegido", "keuze"),
    )
)
NO_OPTION = "none"  # where no flag is set
NONE = "none of these"
_YES = frozenset(("1", "true", "yes", "y", "x", "selected", "ja", "oui", "si"))
_NO = frozenset(("0", "false", "no", "n", "notselected", "nein", "non"))
_STEPS = re.compile(r"(?:level|stage|step|phase|time|trial|round|part|task|block)\d+")  # of a task
_ODD = 0.1  # share of rows with several flags, above which they are not of one choice
_OPPOSITE = {"left": "right", "right": "left"}


class Answers(NamedTuple):
    """A table with one column of choices, its name, and what was done."""

    table: pa.Table
    chosen: str
    note: str


def flag(cell: Any) -> bool | None:
    """Whether a flag is set; None where it is empty.

    >>> flag(1), flag("TRUE"), flag(0.0), flag("")
    (True, True, False, None)
    """
    if is_nothing(cell):
        return None
    text = plain_name(f"{cell:g}" if isinstance(cell, float) else cell)
    return True if text in _YES else False if text in _NO else None


def are_flags(cells: Sequence[Any]) -> bool:
    """Whether all cells that are filled say yes or no."""
    given = [cell for cell in cells if not is_nothing(cell)]
    return bool(given) and all(flag(cell) is not None for cell in given)


def flags_of_options(names: Sequence[str]) -> list[dict[str, str]]:
    """Columns that may say of every option whether it was chosen: {option: column}.

    >>> flags_of_options(["subject", "chose_A", "chose_B", "A_price", "B_price"])
    [{'A': 'chose_A', 'B': 'chose_B'}]
    """
    found: dict[str, dict[str, str]] = {}
    for name in names:
        for pair in halves(name):
            for verb, option in (pair, pair[::-1]):
                if plain_name(verb) in VERBS and not _STEPS.fullmatch(plain_name(option)):
                    found.setdefault(plain_name(verb), {})[option] = name
    return [own for own in found.values() if len(own) > 1]


def one_choice(table: pa.Table, names: Sequence[str], rows: Sequence[int]) -> Answers | None:
    """One column of choices in place of a flag for each option; None where there are no flags.

    Parameters
    ----------
    table
        Of decisions.
    names
        Columns that may be flags.
    rows
        Row of the file that each row comes from.
    """
    for columns in flags_of_options(names):
        cells = [table[name].to_pylist() for name in columns.values()]
        if not all(map(are_flags, cells)):
            continue
        is_set = np.array([[flag(cell) is True for cell in own] for own in cells])
        several = is_set.sum(axis=0) > 1
        if several.sum() > _ODD * is_set.any(axis=0).sum():
            continue
        if several.any():
            row = int(np.flatnonzero(several)[0])
            both = [name for name, own in zip(columns.values(), is_set, strict=True) if own[row]]
            raise DataError(
                f"{listing(columns.values())} must say which option was chosen, one in each row; "
                f"got {' and '.join(both)} at {row_place(int(rows[row]))} "
                f"({counted(int(several.sum()), 'row')} so). Correct these rows, or leave them out "
                f"by {ticked('where')}."
            )
        # that none was chosen is said, not the lack of an answer
        options = [NONE if plain_name(option) == NO_OPTION else option for option in columns]
        taken = [
            options[int(own.argmax())] if own.any() else _unset(row, cells)
            for row, own in enumerate(is_set.T)
        ]
        left = table.drop_columns(list(columns.values()))
        chosen = next(n for n in ("choice", "chosen", "chose") if n not in left.column_names)
        said = f"{listing(columns.values())} taken for the choice: the option whose flag is set"
        return Answers(left.append_column(chosen, pa.array(taken, pa.string())), chosen, said)
    return None


def _unset(row: int, cells: Sequence[Sequence[Any]]) -> str | None:
    """The word for a row without a flag that is set: nothing where all are empty."""
    return None if all(is_nothing(own[row]) for own in cells) else NO_OPTION


def single_flag(table: pa.Table, names: Sequence[str]) -> tuple[str, str] | None:
    """The one column that says whether one option was chosen, and that option.

    >>> single_flag(pa.table({"chose_left": [1, 0], "rt": [1, 0]}), ["chose_left", "rt"])
    ('chose_left', 'left')
    """
    found = {
        name: option
        for name in names
        for pair in halves(name)
        for verb, option in (pair, pair[::-1])
        if plain_name(verb) in VERBS and not option.isdigit() and are_flags(table[name].to_pylist())
    }
    return next(iter(found.items())) if len(found) == 1 else None


def by_flag(cells: Sequence[Any], option: str) -> list[str | None]:
    """What was chosen, by the flag of one of two options.

    >>> by_flag([1, 0, None], "left"), by_flag([1, 0], "ss")
    (['left', 'right', None], ['ss', 'not ss'])
    """
    other = _OPPOSITE.get(tag(option), f"{NOT}{option}")
    return [None if (own := flag(cell)) is None else option if own else other for cell in cells]


def by_level(
    table: pa.Table, chosen: str, names: Sequence[str], rows: Sequence[int]
) -> Answers | None:
    """The choices by option, where they repeat the level of an attribute; None where they do not.

    Parameters
    ----------
    table, chosen
        Of decisions, and its column of choices.
    names
        Columns that may describe options.
    rows
        Row of the file that each row comes from.
    """
    taken = [None if is_nothing(cell) else _level(cell) for cell in table[chosen].to_pylist()]
    words = {word for word in taken if word is not None}
    layouts = wide_layouts(names)
    known = {tag(one) for options, _ in layouts for one in options}
    if not words or any(tag(word) in known or plain(word) in OPT_OUTS for word in words):
        return None
    for options, attributes in layouts:
        if all(word.isdigit() and int(word) <= len(options) for word in words):
            continue  # numbers of options
        for attribute, columns in attributes.items():
            cells = {o: [_level(c) for c in table[columns[o]].to_pylist()] for o in options}
            having = [
                [o for o, own in cells.items() if own[row] == word]
                for row, word in enumerate(taken)
            ]
            if all(own or word is None for own, word in zip(having, taken, strict=True)):
                _check_single(having, taken, chosen, attribute, rows)
                found = pa.array([own[0] if own else None for own in having], pa.string())
                table = table.set_column(table.column_names.index(chosen), chosen, found)
                said = f"{chosen} repeats {attribute}: taken for the option that has it"
                return Answers(table, chosen, said)
    return None


def _level(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()


def _check_single(
    having: Sequence[Sequence[str]],
    taken: Sequence[str | None],
    chosen: str,
    attribute: str,
    rows: Sequence[int],
) -> None:
    """Refuse a level that several options have where it was chosen."""
    both = next((row for row, own in enumerate(having) if len(own) > 1), None)
    if both is not None:
        raise DataError(
            f"{chosen} must say which option was chosen; got {taken[both]!r} at "
            f"{row_place(int(rows[both]))}, the {attribute} of {' and '.join(having[both])} alike, "
            f"so that either can be meant. Leave such rows out by {ticked('where')}, or name a "
            "column that says the option."
        )
