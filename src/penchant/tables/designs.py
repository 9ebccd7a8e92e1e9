"""The design of a table by what it holds, whatever its columns are called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector
from penchant.tables.cells import TIMES, amount, is_nothing
from penchant.tables.columns import LONG, USUAL, named_column, plain_name

MOST_OPTIONS = 20  # of a decision that has a row for each
FEWEST_DECISIONS = 3
UNANSWERED = 0.34  # share of decisions without an answer, above which a column is none of answers
OFTEN = 0.8  # of as many rows, different ones at most, where offers come again
FEW_LEVELS = 12  # of what an experiment varies
FEWEST_EACH = 4  # rows of a person
FEW_PARTS = 4  # of an experiment, as one column tells them
NEARLY = 0.95  # share of rows that is all but a few
FEW_FIRST = 0.25  # share of a person's rows that a first part has, which may be practice
_YES = frozenset(("1", "true", "yes", "y", "1.0", "x", "ja", "oui"))
_NO = frozenset(("0", "false", "no", "n", "0.0", "nein", "non"))


@dataclass(frozen=True)
class LongParts:
    """Columns of a table with a row for every option of a decision."""

    decision: str
    option: str
    chosen: str


def long_parts(
    table: pa.Table, subject: str | None, names: Sequence[str], answers: Sequence[str]
) -> LongParts | None:
    """Which columns number decisions, name options and say what was taken; None if none do.

    Rows of a decision stand together, every option of it has a row, and one of them is flagged, or
    all repeat the name of the one that was taken.

    Parameters
    ----------
    table
        As cleaned so far.
    subject
        Column of people, if there is one.
    names
        Columns that may play a part.
    answers
        Names that columns of choices often have.

    Examples
    --------
    >>> table = pa.table(
    ...     {"q": [1, 1, 2, 2, 3, 3], "j": [1, 2] * 3, "eur": [3, 4, 3, 5, 2, 1],
    ...      "y": [1, 0, 0, 1, 0, 1]}
    ... )
    >>> long_parts(table, None, table.column_names, ["choice"])
    LongParts(decision='q', option='j', chosen='y')
    """
    coded = {name: label_codes(table[name]) for name in names if name != subject}
    whose = np.zeros(len(table), dtype=np.int64) if subject is None else label_codes(table[subject])
    found: dict[str, tuple[list[str], list[str]]] = {}
    for name, codes in coded.items():
        first = _starts(whose, codes)
        if first is None or not _are_apart(whose, codes, first):
            continue
        others = {key: own for key, own in coded.items() if key != name}
        options = [key for key, own in others.items() if _names_options(own, first)]
        options = [key for key in options if not _runs_on(table[key], whose, first)]
        taken = [
            key
            for key, own in others.items()
            if _flags_one(table[key], first)
            or (_changes(whose, own, first) and _repeats_one(table, key, options, own, first))
        ]
        # 0 and 1 in one order throughout number the options; what changes was chosen
        changing = [key for key in taken if not _is_in_order(coded[key], first)]
        options = [key for key in options if key not in changing]
        taken = [key for key in taken if key not in options]
        if options and taken:
            found[name] = (options, taken)
    if not found:
        return None
    decision = named_column(LONG["decision"], list(found)) or next(iter(found))
    options, taken = found[decision]
    chosen = named_column((*LONG["chosen"], *answers), taken)
    if chosen is None and len(taken) > 1:
        return None
    option = named_column(LONG["option"], options) or options[0]
    return LongParts(decision, option, chosen or taken[0])


def label_codes(column: pa.ChunkedArray) -> IntVector:
    """A number for every different cell; -1 where it is empty."""
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), np.int64)


def _told_codes(column: pa.ChunkedArray) -> IntVector:
    """A number for every different cell; -1 where it is empty, or a word for nothing."""
    cells = column.combine_chunks().dictionary_encode().dictionary.to_pylist()
    known = [-1 if is_nothing(cell) else k for k, cell in enumerate(cells)]
    return np.asarray(np.array([*known, -1], dtype=np.int64)[label_codes(column)])


def _starts(whose: IntVector, codes: IntVector) -> IntVector | None:
    """First row of every decision, if all have several rows, and few."""
    if not len(codes) or (codes < 0).any():
        return None
    new = (np.diff(codes, prepend=codes[0] - 1) != 0) | (np.diff(whose, prepend=whose[0] - 1) != 0)
    first: IntVector = np.flatnonzero(new)
    sizes = np.diff(np.append(first, len(codes)))
    if len(first) < FEWEST_DECISIONS or sizes.min() < 2 or sizes.max() > MOST_OPTIONS:
        return None
    return first


def _are_apart(whose: IntVector, codes: IntVector, first: IntVector) -> bool:
    """Whether people have several decisions, no two of which have one number."""
    pairs = whose[first] * (codes.max() + 2) + codes[first]
    return len(np.unique(pairs)) == len(first) >= 2 * len(np.unique(whose))


def _names_options(codes: IntVector, first: IntVector) -> bool:
    """Whether no two options of a decision have one name, and the names come again."""
    n_names = len(np.unique(codes))
    if (codes < 0).any() or n_names > MOST_OPTIONS or n_names * 2 > len(codes):
        return False
    group = _groups(first, len(codes))
    return len(np.unique(group * (codes.max() + 2) + codes)) == len(codes)


def _runs_on(column: pa.ChunkedArray, whose: IntVector, first: IntVector) -> bool:
    """Whether numbers grow on through the decisions of everybody: of trials, not of options."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    steps = np.diff(column.to_numpy().astype(np.int64))[np.diff(whose) == 0]
    return len(first) > len(np.unique(whose)) and bool((steps > 0).all())


def _is_in_order(codes: IntVector, first: IntVector) -> bool:
    """Whether rows of all decisions say the same in the same order."""
    place = np.arange(len(codes)) - first[_groups(first, len(codes))]
    return bool(len(np.unique(place * (codes.max() + 2) + codes)) == place.max() + 1)


def _groups(first: IntVector, n: int) -> IntVector:
    return np.repeat(np.arange(len(first)), np.diff(np.append(first, n)))


def _changes(whose: IntVector, codes: IntVector, first: IntVector) -> bool:
    """Whether somebody has different cells in different decisions: a group or a list has not."""
    pairs = {(int(whose[row]), int(codes[row])) for row in first}
    return len(pairs) > len({who for who, _ in pairs})


def _flags_one(column: pa.ChunkedArray, first: IntVector) -> bool:
    """Whether one option of each decision is flagged, or none where nobody answered."""
    set_ = flags(column)
    if set_ is None:
        return False
    count = np.add.reduceat(set_.astype(np.int64), first)
    return bool(count.max() == 1 and (count == 0).mean() <= UNANSWERED)


def flags(column: pa.ChunkedArray) -> BoolVector | None:
    """Where a column of flags is set, an empty cell not; None for other columns.

    >>> flags(pa.chunked_array([["yes", "no", None]])).tolist()
    [True, False, False]
    >>> flags(pa.chunked_array([[1, 2]])) is None
    True
    """
    encoded = column.combine_chunks().dictionary_encode()
    words = [
        "" if is_nothing(cell) else str(cell).strip().lower()
        for cell in encoded.dictionary.to_pylist()
    ]
    if len({*words} - {""}) > 2 or not {*words} - {""} <= _YES | _NO or not {*words} & _YES:
        return None
    known = np.array([word in _YES for word in (*words, "")])
    return np.asarray(known[label_codes(column)], dtype=bool)


def _repeats_one(
    table: pa.Table, name: str, options: Collection[str], codes: IntVector, first: IntVector
) -> bool:
    """Whether all rows of a decision repeat the name of one of its options."""
    group = _groups(first, len(codes))
    if (codes != codes[first][group]).any() or len(np.unique(codes)) < 2:
        return False
    words = {_word(cell) for cell in pc.unique(table[name]).to_pylist() if not is_nothing(cell)}
    for option in options:
        known = {_word(cell) for cell in pc.unique(table[option]).to_pylist()}
        if words <= known and len(words) > 1:
            return True
    return False


def _word(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()


def of_people(table: pa.Table, name: str, subject: str | None) -> bool:
    """Whether a column says the same in all rows of a person: it tells nothing of decisions.

    >>> table = pa.table({"id": ["a", "a", "b"], "age": [30, 30, 40], "rt": [1, 2, 3]})
    >>> of_people(table, "age", "id"), of_people(table, "rt", "id")
    (True, False)
    """
    codes = label_codes(table[name])
    if subject is None or subject not in table.column_names:
        return len(np.unique(codes)) < 2
    whose = label_codes(table[subject])
    pairs = whose * (codes.max(initial=0) + 2) + codes + 1
    return len(np.unique(pairs)) == len(np.unique(whose))


# What stands together in a table, and is no person.
_NO_PEOPLE = frozenset(
    (
        *("condition", "group", "phase", "part", "stage", "day", "run", "list", "version", "order"),
        *("site", "wave", "arm", "cohort", "experiment", "study", "task", "age", "sex", "gender"),
        *("set", "choiceset", "scenario", "sequence", "date", "timestamp", "mode", "section"),
    )
)


def people_column(table: pa.Table, names: Sequence[str]) -> str | None:
    """The column of people by its rows: the first one whose rows stand together, some of each.

    >>> table = pa.table({"code": ["a"] * 4 + ["b"] * 4, "k": [1, 2, 3, 4] * 2})
    >>> people_column(table, table.column_names)
    'code'
    """
    usual = [*LONG["decision"], *(name for part in USUAL.values() for name in part)]
    known = {plain_name(name) for name in usual} | _NO_PEOPLE
    for name in names:
        column = table[name]
        if column.null_count or pa.types.is_floating(column.type) or plain_name(name) in known:
            continue
        codes = label_codes(column)
        starts = np.flatnonzero(np.append(True, np.diff(codes) != 0))
        n_people = len(np.unique(codes))
        if len(starts) == n_people > 1 and len(codes) >= FEWEST_EACH * n_people:
            return str(name)
    return None


def first_words(table: pa.Table, name: str, subject: str | None) -> str | None:
    """The word that few rows of a column hold, the first ones of everybody; None if none does.

    >>> table = pa.table({"part": ["try", "go", "go", "go", "go"] * 2, "id": [1] * 5 + [2] * 5})
    >>> first_words(table, "part", "id")
    'try'
    """
    if not pa.types.is_string(table[name].type):
        return None
    codes = _told_codes(table[name])
    filled = codes >= 0
    whose = np.zeros(len(codes), dtype=np.int64) if subject is None else label_codes(table[subject])
    codes, whose = codes[filled], whose[filled]
    if not 2 <= len(np.unique(codes)) <= FEW_PARTS:
        return None
    first = codes[0]
    for person in np.unique(whose):
        own = codes[whose == person] == first
        n = int(own.sum())
        if not own[:n].all() or not 0 < n <= FEW_FIRST * len(own):
            return None
    return str(table[name][int(np.flatnonzero(filled)[0])].as_py())


def is_never_nothing(table: pa.Table, name: str) -> bool:
    """Whether a column holds amounts other than 0 in nearly every row.

    >>> is_never_nothing(pa.table({"win": [3, 5, 2]}), "win")
    True
    """
    cells = [amount(cell) for cell in table[name].to_pylist()]
    return bool(np.mean([cell is not None and cell[0] != 0 for cell in cells]) > NEARLY)


def alike_in(table: pa.Table) -> Callable[[Sequence[str]], float]:
    """How likely columns hold one attribute of several options: the same words, like numbers.

    >>> table = pa.table({"a": [1, 3], "b": [1, 5], "c": [90, 80], "d": ["x", "y"]})
    >>> alike = alike_in(table)
    >>> alike(["a", "b"]), alike(["a", "c"]), alike(["a", "d"])
    (0.5, 0.0, 0.0)
    """
    known: dict[str, _Held] = {}

    def alike(names: Sequence[str]) -> float:
        for name in names:
            if name not in known:
                known[name] = _held(table[name])
        return min(known[names[0]].shared(known[name]) for name in names[1:])

    return alike


@dataclass(frozen=True)
class _Held:
    """What a column holds: a range of numbers, in some unit, or words."""

    low: float = np.nan
    high: float = np.nan
    unit: str | None = None
    words: frozenset[str] = frozenset()

    def shared(self, other: _Held) -> float:
        """The share of words, or of the range, that both have."""
        if self.words or other.words:
            return len(self.words & other.words) / len(self.words | other.words)
        if np.isnan(self.low) or np.isnan(other.low):
            return 1.0
        if self.unit != other.unit:
            return 0.0
        low, high = min(self.low, other.low), max(self.high, other.high)
        both = min(self.high, other.high) - max(self.low, other.low)
        return 1.0 if high == low else max(0.0, both / (high - low))


def _held(column: pa.ChunkedArray) -> _Held:
    cells = [cell for cell in pc.unique(column).to_pylist() if not is_nothing(cell)]
    read = [amount(cell) for cell in cells if not isinstance(cell, bool)]
    if not cells or len(read) < len(cells) or any(one is None for one in read):
        return _Held(words=frozenset(map(str, cells)))
    numbers = [one[0] for one in read if one is not None]
    units = [one[1] for one in read if one is not None and one[0] != 0]
    unit = units[0] if units else None
    return _Held(min(numbers), max(numbers), "time" if unit in TIMES else unit)


def is_counter(table: pa.Table, name: str, subject: str | None) -> bool:
    """Whether a column of whole numbers never falls within the rows of a person.

    >>> table = pa.table({"id": ["a", "a", "b"], "k": [1, 2, 1], "x": [2, 1, 3]})
    >>> is_counter(table, "k", "id"), is_counter(table, "x", "id")
    (True, False)
    """
    if not pa.types.is_integer(table[name].type) or table[name].null_count:
        return False
    values = table[name].to_numpy().astype(np.int64)
    same = np.ones(len(values) - 1, dtype=bool)
    if subject is not None and subject in table.column_names:
        same = np.diff(label_codes(table[subject])) == 0
    return bool((np.diff(values)[same] >= 0).all())


def is_of_design(table: pa.Table, name: str, subject: str | None) -> bool:
    """Whether a column holds few numbers that come again for everybody, in no order.

    >>> table = pa.table({"x": [1, 5, 1, 5, 5, 1, 1, 5], "k": [1, 2, 3, 4, 5, 6, 7, 8]})
    >>> is_of_design(table, "x", None), is_of_design(table, "k", None)
    (True, False)
    """
    cells = [cell for cell in pc.unique(table[name]).to_pylist() if not is_nothing(cell)]
    few = 2 <= len(cells) <= min(FEW_LEVELS, len(table) / 4)
    if not few or any(isinstance(cell, bool) or amount(cell) is None for cell in cells):
        return False
    if flags(table[name]) is not None:
        return False
    return not of_people(table, name, subject) and not is_counter(table, name, subject)


def follows(table: pa.Table, name: str, others: Sequence[str]) -> bool:
    """Whether a column says the same wherever the others do, and these come again and again.

    >>> table = pa.table({"a": [1, 2, 1, 2], "b": [5, 6, 5, 6], "c": [1, 1, 2, 2]})
    >>> follows(table, "b", ["a"]), follows(table, "c", ["a"])
    (True, False)
    """
    joint = np.zeros(len(table), dtype=np.int64)
    for other in others:
        codes = label_codes(table[other])
        _, joint = np.unique(joint * (codes.max(initial=0) + 2) + codes + 1, return_inverse=True)
    own = label_codes(table[name])
    pairs = np.unique(joint * (own.max(initial=0) + 2) + own + 1)
    n_joint = len(np.unique(joint))
    return len(pairs) == n_joint <= OFTEN * len(table)
