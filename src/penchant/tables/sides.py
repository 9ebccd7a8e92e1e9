"""Places that were pressed, and columns that say which option stood where."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from penchant.errors import DataError, listing
from penchant.tables.answers import are_flags, flag
from penchant.tables.cells import is_nothing
from penchant.tables.labels import in_natural_order
from penchant.tables.surveys import CUTS, NOT, SIDES, keyboard_sides, tag
from penchant.wording import argument

_SIDE = frozenset(
    (
        *("side", "position", "pos", "location", "loc", "placement", "left", "right", "swap"),
        *("swapped", "flip", "flipped", "mirrored", "seite", "cote", "lado"),
    )
)
_CORRECT = frozenset(("correct", "corr", "best", "better", "optimal", "target"))
_FILLERS = frozenset(("is", "on", "at", "the", "of", "in", "was", "shown"))
OFTEN = 0.2  # share of decisions at which a side changes: reversals are fewer
AGREE = re.compile(r"(?P<chosen>.+?)\s*(?P<sign>==|!=)\s*(?P<side>.+)")


def side_of(name: str) -> str | None:
    """The option whose place a column tells; None for other columns.

    >>> side_of("A_side"), side_of("ll_on_left"), side_of("correct_key"), side_of("price")
    ('A', 'll', 'correct', None)
    """
    parts = [part for part in CUTS.split(name) if part]
    tokens = [part.lower() for part in parts]
    if len(parts) > 1 and tokens[0] in _CORRECT:
        return tokens[0]
    if not {*tokens} & _SIDE:
        return None
    left = [part for part in parts if part.lower() not in _SIDE | _FILLERS]
    return "_".join(left) or "first"


def ask_about_sides(
    table: pa.Table, chosen: str, own: Collection[str], subject: str | None
) -> None:
    """Refuse places that were pressed where a column says that an option changes its place.

    Parameters
    ----------
    table
        Of decisions.
    chosen
        Column of what was pressed.
    own
        Columns that the program writes by itself, and others that are known.
    subject
        Column that says who.
    """
    pressed = [None if is_nothing(c) else _word(c) for c in table[chosen].to_pylist()]
    words = list(dict.fromkeys(word for word in pressed if word is not None))
    if not _are_places(words):
        return
    who = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    for name in table.column_names:
        option = None if name in own or name in (chosen, subject) else side_of(name)
        if option is None:
            continue
        cells = [None if is_nothing(c) else _word(c) for c in table[name].to_pylist()]
        if len({*cells} - {None}) == 2 and _changes(cells, who) and _apart(pressed, cells):
            if option in _CORRECT and not _comparable(words, cells):
                continue
            raise _asked(chosen, name, option, words, cells)


def _asked(
    chosen: str, name: str, option: str, words: Sequence[str], cells: Sequence[str | None]
) -> DataError:
    same, other = (argument("chosen", f"{chosen} {sign} {name}") for sign in ("==", "!="))
    if _places(words, chosen) and _places([c for c in cells if c is not None], name):
        way = f"{same} for the second"
    else:
        way = f"{same} or {other} for the second, whichever says that {option} was chosen"
    return DataError(
        f"{argument('chosen')} must be given, as {chosen} ({', '.join(sorted(words))}) is a place, "
        f"and {name} says that the place of {option} changes: the option can be the place, or what "
        f"stood there. Pass {argument('chosen', chosen)} for the first, or {way}."
    )


def agreement(
    pressed: Sequence[Any], cells: Sequence[Any], sign: str, names: tuple[str, str]
) -> list[str | None]:
    """The option of a side, or the other, by whether what was pressed agrees with the side.

    >>> agreement(["f", "j"], ["left", "left"], "==", ("response", "A_side"))
    ['A', 'not A']
    """
    option = side_of(names[1]) or names[1]
    both: list[list[str | None]] = []
    written = [{_word(c) for c in own if not is_nothing(c)} for own in (pressed, cells)]
    for name, own in zip(names, (pressed, cells), strict=True):
        words = [None if is_nothing(cell) else _word(cell) for cell in own]
        alike = written[0] == written[1]  # compared as they are written
        places = {} if alike else _places([word for word in words if word is not None], name)
        both.append([None if word is None else places.get(word, word) for word in words])
    first, second = ({word for word in own if word is not None} for own in both)
    if not first & second:
        if len(first) != 2 or len(second) != 2:
            raise DataError(
                f"{argument('chosen')} must compare columns of the same words; got "
                f"{_some(written[0])} in {names[0]} and {_some(written[1])} in {names[1]}. Name "
                "others."
            )
        ranks = dict(zip(sorted(first), sorted(second), strict=True))  # 0 and 1: left and right
        both[0] = [None if word is None else ranks[word] for word in both[0]]
    return [
        None if a is None or b is None else option if (a == b) == (sign == "==") else NOT + option
        for a, b in zip(*both, strict=True)
    ]


def _word(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()


def _are_places(words: Sequence[str]) -> bool:
    """Whether two words are sides, keys or numbers rather than names of options."""
    bare = {tag(word) for word in words}
    numbers = bare in ({"0", "1"}, {"1", "2"}, {"-1", "1"})
    return len(bare) == 2 and (bare <= SIDES or numbers or bool(keyboard_sides(words)))


def _places(words: Sequence[str], name: str) -> dict[str, str]:
    """Left or right by each word, where words or the name of their column say so."""
    known = list(dict.fromkeys(words))
    if {tag(word) for word in known} <= {"left", "right"}:
        return {word: tag(word) for word in known}
    if not are_flags(known):
        return keyboard_sides(known)
    tokens = {part.lower() for part in CUTS.split(name)}
    for side, other in (("left", "right"), ("right", "left")):
        if side in tokens:
            return {word: side if flag(word) else other for word in known}
    return {}


def _comparable(words: Sequence[str], cells: Sequence[str | None]) -> bool:
    return {tag(cell) for cell in cells if cell is not None} <= {tag(word) for word in words}


def _changes(cells: Sequence[Any], who: Sequence[Any]) -> bool:
    """Whether a column changes often from one decision of a subject to the next."""
    pairs = [(a, b) for (a, x), (b, y) in pairwise(zip(cells, who, strict=True)) if x == y]
    return bool(pairs) and sum(a != b for a, b in pairs) > OFTEN * len(pairs)


def _apart(pressed: Sequence[Any], cells: Sequence[Any]) -> bool:
    """Whether two columns say different things: neither follows from the other."""
    return len({p for p in zip(pressed, cells, strict=True) if None not in p}) > 2


MOST_OPTIONS = 12
_CHOSEN = frozenset(("chosen", "chose", "selected", "picked", "pressed"))
_OBJECTS = frozenset(
    (
        *("stim", "stimulus", "option", "arm", "side", "image", "img", "color", "colour", "card"),
        *("deck", "item", "shape", "symbol", "cue", "object", "name", "label", "key", "button"),
        *("bandit", "machine", "door", "action", "picture", "pic", "fractal", "slot"),
    )
)


def says_choice(name: str) -> bool:
    """Whether a name says what was chosen, such as chosen_stim or selected_card.

    >>> says_choice("chosen_stim"), says_choice("chosenCard"), says_choice("chosen_value")
    (True, True, False)
    """
    tokens = {part.lower() for part in CUTS.split(name) if part}
    return len(tokens) == 2 and bool(tokens & _CHOSEN) and bool(tokens & _OBJECTS)


def ask_about_rivals(table: pa.Table, chosen: str, names: Sequence[str]) -> None:
    """Refuse choices beside which another column says something else of what was chosen.

    Parameters
    ----------
    table
        Of decisions.
    chosen
        The column that is taken for the choices.
    names
        Others that may say what was chosen.
    """
    first = _words_of(table, chosen)
    made = sum(cell is not None for cell in first)
    for name in names:
        other = _words_of(table, name)
        both = [pair for pair in zip(first, other, strict=True) if None not in pair]
        mine, theirs = ({pair[k] for pair in both} for k in (0, 1))
        few = len(mine) <= MOST_OPTIONS and 2 <= len(theirs) <= MOST_OPTIONS
        if few and len(both) >= _MOSTLY * made and len({*both}) > max(len(mine), len(theirs)):
            raise DataError(
                f"{argument('chosen')} must be given, as {chosen} ({_some(mine)}) and {name} "
                f"({_some(theirs)}) can both be what was chosen, and neither follows from the "
                f"other. Pass {argument('chosen', chosen)}, or {argument('chosen', name)}."
            )


_MOSTLY = 0.9  # share of the choices beside which another column has to be filled, too


def _words_of(table: pa.Table, name: str) -> list[str | None]:
    return [None if is_nothing(cell) else _word(cell) for cell in table[name].to_pylist()]


def _some(words: Collection[Any]) -> str:
    return listing(in_natural_order(map(str, words)))
