"""Choices and rewards in other forms: flags, levels, places pressed, totals, words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector, Vector
from penchant.errors import DataError, argument, format_list, quoted_argument
from penchant.output import format_count
from penchant.tables.cells import is_nothing, outcome_words, tells_of_outcomes, told
from penchant.tables.columns import plain_name
from penchant.tables.frames import row_place
from penchant.tables.labels import NUMBER, in_natural_order
from penchant.tables.surveys import (
    CUTS,
    NOT,
    OPT_OUTS,
    SIDES,
    halves,
    keyboard_sides,
    plain,
    tag,
    wide_layouts,
)
from penchant.tables.where import where_said

# What a flag says of its option, in one spelling.
VERBS = frozenset(
    (
        *("chose", "chosen", "choice", "choose", "ischosen", "selected", "select", "isselected"),
        *("picked", "pick", "took", "taken", "clicked", "pressed", "response", "resp", "answer"),
        *("wahl", "gewahlt", "gewaehlt", "choix", "choisi", "eleccion", "elegido", "keuze"),
    )
)
FLAG_VERBS = VERBS | {"is", "was", "preferred", "prefers", "prefer", "opted", "wanted", "accepted"}
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


_PAIRS = (("1", "0"), ("true", "false"), ("yes", "no"), ("y", "n"), ("ja", "nein"), ("oui", "non"))


def in_one_pair(cells: Sequence[Any]) -> list[Any]:
    """Flags as they are, and None for cells that say neither word of the pair that others do.

    >>> in_one_pair(["yes", "no", "x", "no"])
    ['yes', 'no', None, 'no']
    """
    words = [
        "" if is_nothing(c) else plain_name(f"{c:g}" if isinstance(c, float) else c) for c in cells
    ]
    pair = next((own for own in _PAIRS if {*own} <= {*words}), None)
    if pair is None:
        return list(cells)
    return [cell if word in pair else None for cell, word in zip(cells, words, strict=True)]


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
    for columns in _likely_flags(table, names):
        cells = [table[name].to_pylist() for name in columns.values()]
        is_set = np.array([[flag(cell) is True for cell in own] for own in cells])
        several = is_set.sum(axis=0) > 1
        if several.sum() > _ODD * is_set.any(axis=0).sum():
            continue
        if several.any():
            row = int(np.flatnonzero(several)[0])
            both = [name for name, own in zip(columns.values(), is_set, strict=True) if own[row]]
            raise DataError(
                f"{format_list(columns.values())} must say which option was chosen, one in each "
                f"row; got {' and '.join(both)} at {row_place(int(rows[row]))} "
                f"({format_count(int(several.sum()), 'row')} so). Correct these rows, or leave "
                f"them out by {quoted_argument('where')}."
            )
        # that none was chosen is said, not the lack of an answer
        options = [NONE if plain_name(option) == NO_OPTION else option for option in columns]
        taken = [
            options[int(own.argmax())] if own.any() else _unset(row, cells)
            for row, own in enumerate(is_set.T)
        ]
        left = table.drop_columns(list(columns.values()))
        chosen = next(n for n in ("choice", "chosen", "chose") if n not in left.column_names)
        said = f"{format_list(columns.values())} taken for the choice: the option whose flag is set"
        return Answers(left.append_column(chosen, pa.array(taken, pa.string())), chosen, said)
    return None


def _likely_flags(table: pa.Table, names: Sequence[str]) -> list[dict[str, str]]:
    """Flags of options; where several are set, those without one, as chose_best beside chose_A."""
    found = []
    for every in flags_of_options(names):
        cells = {option: table[name].to_pylist() for option, name in every.items()}
        columns = {option: name for option, name in every.items() if are_flags(cells[option])}
        if len(columns) < len(every) and not any(option.isdigit() for option in every):
            _ask_about_odd_flags(table, every, cells)
        if len(columns) < 2:
            continue
        ways = [[*columns], *([o for o in columns if o != odd] for odd in columns)]
        sums = [
            np.sum([[flag(cell) is True for cell in cells[o]] for o in own], axis=0) for own in ways
        ]
        fits = [way for way, n in zip(ways, sums, strict=True) if len(way) > 1 and (n == 1).all()]
        best = fits[0] if len(fits) == 1 else ways[0]
        found.append({option: columns[option] for option in best})
    return found


def _ask_about_odd_flags(
    table: pa.Table, columns: Mapping[str, str], cells: Mapping[str, Sequence[Any]]
) -> None:
    """Ask about flags that hold words in the rows of another task, which a column tells apart."""
    for option, name in columns.items():
        odd = [not is_nothing(cell) and flag(cell) is None for cell in cells[option]]
        if any(NUMBER.match(_word(c)) for c, own in zip(cells[option], odd, strict=True) if own):
            continue
        said = [not is_nothing(cell) and flag(cell) is not None for cell in cells[option]]
        if not 0 < sum(odd) <= _FEW_ODD * sum(said):
            continue
        for other in table.column_names:
            kinds = [] if other in columns.values() else table[other].to_pylist()
            others = {kind for kind, own in zip(kinds, odd, strict=False) if own}
            own_kinds = {kind for kind, own in zip(kinds, said, strict=False) if own}
            if None in own_kinds or others & own_kinds or len(own_kinds) != 1:
                continue
            column = other if other.isidentifier() else f"`{other}`"
            words = {str(c) for c, own in zip(cells[option], odd, strict=True) if own}
            raise DataError(
                f"{argument('where')} must be given, as {name} says yes or no, but "
                f"{_some(words)} where {other} is {_some(others)}, which can be read in two ways: "
                "another task, or mistakes. Pass "
                f"{where_said(f'{column} == {own_kinds.pop()!r}')} for the first; else correct "
                "these cells."
            )


_FEW_ODD = 1.0  # words for each flag, at most


def _unset(row: int, cells: Sequence[Sequence[Any]]) -> str | None:
    """The word for a row without a flag that is set: nothing where all are empty."""
    return None if all(is_nothing(own[row]) for own in cells) else NO_OPTION


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


_BEST = {"best": "worst", "most": "least", "b": "w"}


def best_and_worst(table: pa.Table) -> tuple[str, str] | None:
    """The columns of the best and of the worst of each set, where both are told; None if not.

    >>> best_and_worst(pa.table({"item1": ["x"], "item2": ["y"], "best": ["y"], "worst": ["x"]}))
    ('best', 'worst')
    >>> best_and_worst(pa.table({"most": [3, 4], "least": [3, 1]})) is None
    True
    """
    lower = {name.lower(): name for name in table.column_names}
    for low, best in lower.items():
        parts = re.split(r"([^a-z]+)", low)
        for k, part in enumerate(parts):
            other = "".join([*parts[:k], _BEST.get(part, part), *parts[k + 1 :]])
            if part in _BEST and other in lower and _are_apart(table, best, lower[other]):
                return best, lower[other]
    return None


def _are_apart(table: pa.Table, best: str, worst: str) -> bool:
    """Whether two columns never name the same, or flag different rows, as many of each."""
    words = [
        [None if is_nothing(cell) else _level(cell) for cell in table[name].to_pylist()]
        for name in (best, worst)
    ]
    seen = [{*own} - {None} for own in words]
    if seen[0] | seen[1] <= {"0", "1"}:
        flagged = [[one == "1" for one in own] for own in words]
        both = any(a and b for a, b in zip(*flagged, strict=True))
        return not both and sum(flagged[0]) == sum(flagged[1]) > 0
    pairs = [(a, b) for a, b in zip(*words, strict=True) if a is not None and b is not None]
    others = (name for name in table.column_names if name not in (best, worst))
    shown = {
        _level(cell) for name in others for cell in table[name].to_pylist() if cell is not None
    }
    named = bool(seen[0] & seen[1]) or seen[0] | seen[1] <= shown
    return bool(pairs) and named and all(a != b for a, b in pairs)


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
            f"so that either can be meant. Leave such rows out by {quoted_argument('where')}, or "
            "name a column that says the option."
        )


DIFFERENCES = re.compile(r"diff\((?P<name>[^,()]+)(?:,\s*(?P<start>[+-]?[\d.]+))?\)")
BY_PLACE = re.compile(r"(?P<name>.+)\[(?P<place>[1-9])\]")
BY_WORD = re.compile(r"(?P<name>.+)\[(?P<words>[^\[\]]*=[^\[\]]*)\]")
BY_LOSS = re.compile(r"(?P<name>.+)\[(?P<word>[^\[\]=<>]+?)\s*<\s*0\]")
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
        elif NUMBER.match(str(cell).strip()):
            found.append(float(cell))
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


def by_losses(cells: Sequence[Any], word: str, decimal: str = ".") -> list[Any]:
    """Texts as they are, and numbers below 0 where this word tells that they were lost.

    >>> by_losses(["You gain 5 tokens", "You forfeit 3 tokens", None], "forfeit")
    [5.0, -3.0, None]
    """
    found: list[Any] = []
    for cell in cells:
        numbers = None if is_nothing(cell) else told(cell, decimal)
        if numbers is None or not np.isfinite(numbers[0]):
            found.append(None)
        else:
            lost = word.lower() in outcome_words(cell)
            found.append(-abs(numbers[0]) if lost else numbers[0])
    return found


def _ask_about_losses(cells: Sequence[Any], name: str) -> None:
    """Ask which of several texts tells of losses, where it is in no word that is known."""
    kinds: dict[frozenset[str], Any] = {}
    for cell in cells:
        words = () if is_nothing(cell) else outcome_words(cell)
        if words:
            kinds.setdefault(frozenset(word.rstrip("s") for word in words), cell)
    if len(kinds) < 2 or all(tells_of_outcomes(outcome_words(cell)) for cell in kinds.values()):
        return
    ways = []
    for kind, cell in kinds.items():
        others = frozenset[str]().union(*(one for one in kinds if one != kind))
        own = [word for word in outcome_words(cell) if word.rstrip("s") not in others]
        if own:
            ways.append(argument("reward", f"{name}[{max(own, key=len)} < 0]"))
    raise DataError(
        f"{argument('reward')} must be given, as {format_list(map(repr, kinds.values()))} in "
        f"{name} "
        "can be read in two ways: all of them say what was won, or one of them what was lost. Pass "
        f"{argument('reward', f'{name}[1]')} for the first, or {' or '.join(ways[:4])} for what "
        "tells of losses."
    )


def by_sentences(cells: Sequence[Any], name: str, decimal: str) -> Vector:
    """Rewards by the one number that each sentence tells, such as You won 5 points."""
    _ask_about_losses(cells, name)
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
    words = [word for word in words if not NUMBER.match(word)]
    if len(words) == 1 or len(words) > 6 or any(mark.isdigit() for word in words for mark in word):
        return DataError(
            f"reward {name!r} must hold numbers; got {cells[row]!r} at {row_place(row)}. Correct "
            f"it, leave its row out by {argument('where')}, or name another column with "
            f"{argument('reward')}."
        )
    ways = " or ".join(argument("reward", f"{name}[{_pairs(own)}]") for own in _readings(words))
    return DataError(
        f"{argument('reward')} must say what {format_list(map(repr, words))} in {name} pay, which "
        f"can be read in two ways. Pass {ways}, or other numbers."
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
    words = words if _are_places(words) else _without_rare(pressed)
    if not _are_places(words):
        return
    pressed = [word if word in words else None for word in pressed]
    who = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    for name in table.column_names:
        if name in own or name in (chosen, subject):
            continue
        option = side_of(name) or _of_twins(name, table.column_names)
        if option is None or _is_mirrored(name, table.column_names):
            continue
        cells = [None if is_nothing(c) else _word(c) for c in table[name].to_pylist()]
        if len({*cells} - {None}) == 2 and _changes(cells, who) and _apart(pressed, cells):
            if option in _CORRECT and not _comparable(words, cells):
                continue
            raise _asked(chosen, name, option, words, cells)


_RARE = 0.25  # share of decisions that a mark of those nobody made has, at most


def _without_rare(words: Sequence[str | None]) -> list[str]:
    """Words without the one that is rarest, where it is rare."""
    count = Counter(word for word in words if word is not None)
    rarest = min(count, key=lambda word: count[word], default="")
    rare = count[rarest] <= _RARE * count.total()
    return [word for word in count if word != rarest or not rare]


def _is_mirrored(name: str, names: Collection[str]) -> bool:
    """Whether a column of the left stands beside one of the right: what is there, of either."""
    other = re.sub("left|right", lambda found: _OPPOSITE[found[0]], name)
    return other != name and other in names


def _of_twins(name: str, names: Collection[str]) -> str | None:
    """What stood on the left by a column beside one of the right, as stimL beside stimR."""
    other = {"l": "r", "L": "R"}.get(name[-1:])
    stem = name[:-1].rstrip("_. ")
    return stem if other is not None and stem and name[:-1] + other in names else None


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

    A word that is no place beside two that are stays as it is.

    >>> agreement(["f", "j"], ["left", "left"], "==", ("response", "A_side"))
    ['A', 'not A']
    """
    told = [None if is_nothing(cell) else _word(cell) for cell in pressed]
    kept = _without_rare(told)
    if not _are_places([*{*told} - {None}]) and _are_places(kept):  # type: ignore[list-item]
        beside = [None if word in kept else word for word in told]
        inside = [cell if word in kept else None for cell, word in zip(pressed, told, strict=True)]
        found = agreement(inside, cells, sign, names)
        return [own if word is None else word for own, word in zip(found, beside, strict=True)]
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
    return format_list(in_natural_order(map(str, words)))
