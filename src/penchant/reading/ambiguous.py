"""What can be read in two ways, and is asked about: codes, marks of no choice, rewards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector, Vector
from penchant.bandit.episode_table import episode_rows
from penchant.errors import DataError, argument, format_list
from penchant.files.table import typed
from penchant.output import format_count
from penchant.reading.asked import seen_words, with_column, word
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import (
    GAINS,
    LOSSES,
    NO_COLUMN,
    SESSION,
    USUAL,
    PlayColumns,
    is_called,
    plain_name,
    usual_column,
)
from penchant.tables.events import NOTHING
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.labels import NUMBER
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.options import NOTHING_WORDS
from penchant.tables.play import FAR, MARKS
from penchant.tables.surveys import CUTS, shown_at
from penchant.tables.where import where_said

_MINUS_ONE = -1.0  # a loss of 1 beside 0 and 1, a code beside other numbers
_FEW = 3  # different numbers besides, from which -1 may be a code


def odd_number(values: Vector) -> float | None:
    """The one number that may be a code, far from all others or the only one below 0.

    >>> odd_number(np.array([3.0, 7.0, 999.0])), odd_number(np.array([3.0, 7.0, -99.0]))
    (999.0, -99.0)
    >>> odd_number(np.array([-1.0, 0.0, 1.0])) is None
    True
    """
    numbers = np.unique(values[~np.isnan(values)])
    if len(numbers) < 3:
        return None
    low, high = float(numbers[0]), float(numbers[-1])
    if low < 0 <= numbers[1]:
        counted_on = bool((np.diff(numbers[:3]) == 1).all())  # -1, 0, 1 and more: one of them
        code = low == _MINUS_ONE and len(numbers) > _FEW and high > 1 and not counted_on
        return low if code or -low in MARKS else None
    if high in MARKS and FAR * np.abs(numbers[:-1]).max() < high:
        return high
    return None


def ask_about_codes(
    columns: Mapping[str, tuple[Sequence[str], Vector]], confirm: Mapping[str, str]
) -> None:
    """Refuse attributes of options among whose numbers one may be a code.

    Parameters
    ----------
    columns
        {attribute: its columns, and all of their numbers, NaN where there is none}.
    confirm
        {attribute: what to pass if the number is meant}.
    """
    for attribute, (names, values) in columns.items():
        odd = odd_number(values)
        if odd is None or abs(odd) == MARKS[0]:  # 9 may well be a price
            continue
        quoted = [name if name.isidentifier() else f"`{name}`" for name in names]
        kept = " and ".join(f"{name} != {odd:g}" for name in quoted)
        rows = format_count(int((values == odd).sum()), "cell")
        raise DataError(
            f"{argument('where')} must be given, as {odd:g} in {' and '.join(names)} ({rows}) can "
            f"be read in two ways: {attribute} of an option, or a mark of what is not known. Pass "
            f"{confirm[attribute]} for the first, or {where_said(kept)} to leave these rows out."
        )


# Names of columns that say whether a decision was missed.
FLAGS = frozenset(
    (
        *(
            "timeout",
            "timedout",
            "istimeout",
            "missed",
            "ismissed",
            "missedtrial",
            "late",
            "islate",
        ),
        *("toolate", "tooslow", "noresponse", "noanswer", "omission", "missing", "ismissing"),
    )
)
# Words among other words that may be an option, or say that there was no choice.
UNSURE = frozenset(
    (
        *("nokey", "nokeypress", "nopress", "noanswer", "nochoice", "nobutton", "nothing"),
        *("miss", "noresponse", "noresp", "tooslow", "toolate", "timedout", "expired"),
        *("omission", "omitted", "skipped", "skip", "invalid", "missing", "error", "late"),
        *("keine", "keineantwort", "verpasst", "aucune", "aucunereponse", "ninguna"),
    )
)


def without_marks(
    table: pa.Table, chosen: str, reward: str | tuple[str, str]
) -> tuple[pa.Table, tuple[str, ...]]:
    """The table without codes for no choice that stand beside the same code for the reward.

    Parameters
    ----------
    table
        Of play.
    chosen, reward
        Its columns; rewards in two columns say nothing here.
    """
    cells = table[chosen].to_pylist()
    odd = odd_word(table, chosen)
    if odd is None or not isinstance(reward, str):
        return table, ()
    paid = table[reward].to_pylist()
    rows = [row for row, cell in enumerate(cells) if not _is_nothing(cell) and word(cell) == odd]
    others = {
        word(paid[row]) for row in {*range(len(cells))} - {*rows} if not _is_nothing(paid[row])
    }
    if odd in others or not all(_is_nothing(paid[row]) or word(paid[row]) == odd for row in rows):
        return table, ()
    for name, own in ((chosen, cells), (reward, paid)):
        kept = [None if row in {*rows} else cell for row, cell in enumerate(own)]
        table = with_column(table, name, typed(kept))
    said = f"{odd} in {chosen}, where {reward} has no number of its own, taken for no choice"
    return table, (f"{said}: {format_count(len(rows), 'row')}",)


def ask_about_marks(table: pa.Table, chosen: str, counted_in: str | None) -> None:
    """Refuse choices among which a code stands, 999 or -1 or no_key, that may mean no choice.

    Parameters
    ----------
    table
        Of the choices.
    chosen
        Their column.
    counted_in
        The column that numbers decisions, if there is one: a row left out is then a gap.
    """
    seen = Counter(word(cell) for cell in table[chosen].to_pylist() if not _is_nothing(cell))
    odd = odd_word(table, chosen)
    if odd is None:
        return
    others = sorted(one for one in seen if one != odd)
    if not NUMBER.match(odd) and all(map(NUMBER.match, others)):
        return  # a word among numbers is refused with its place, see `refuse_stray_labels`
    column = chosen if chosen.isidentifier() else f"`{chosen}`"
    is_number = not pa.types.is_string(table[chosen].type)
    gaps = f" and {argument('gaps', 'timeout')}" if counted_in else ""
    labels = [*others, odd]
    named = [int(float(one)) if is_number else one for one in labels]
    options = argument("options", named)
    raise DataError(
        f"{argument('options')} must be given, as {odd!r} in {chosen} "
        f"({format_count(seen[odd], 'row')}) can be read in two ways: an option beside "
        f"{format_list(others)}, or a mark of decisions that nobody made. Pass "
        f"{options} for the first, or "
        f"{where_said(f'{column} != {odd if is_number else repr(odd)}')}{gaps} for the second."
    )


def _is_nothing(cell: Any) -> bool:
    return is_nothing(cell) or str(cell).strip() in NOTHING_WORDS


def odd_word(table: pa.Table, chosen: str) -> str | None:
    """The one word that may be a mark: of another kind than all others, or lacking what they have.

    A reaction time, a reward, anything that stands beside every other choice and never beside this
    one.
    """
    cells = [None if _is_nothing(cell) else word(cell) for cell in table[chosen].to_pylist()]
    seen = Counter(cell for cell in cells if cell is not None)
    odd = _mark(list(seen))
    rare = [one for one, count in seen.items() if count <= _RARE * sum(seen.values())]
    if odd is not None or not rare or len(seen) < 3 or len(seen) > _MOST:
        return odd
    for name in table.column_names:
        if name == chosen:
            continue
        filled = [not _is_nothing(cell) for cell in table[name].to_pylist()]
        beside = Counter(cell for cell, own in zip(cells, filled, strict=True) if own)
        lacking = [one for one in seen if not beside[one]]
        others = sum(seen[one] for one in seen if one not in lacking)
        had = sum(beside[one] for one in seen)
        if len(lacking) == 1 and lacking[0] in rare and had >= _ALMOST_ALL * others:
            return lacking[0]
    return None


_RARE = 0.25  # share of the decisions that nobody made, at most
_ALMOST_ALL = 0.9  # share of the others that have what a mark lacks
_MOST = 12  # options, beyond which a rare one is no sign


def _mark(words: Sequence[str]) -> str | None:
    """The one word that is of another kind than all others."""
    numbers = [one for one in words if NUMBER.match(one)]
    if len(numbers) == len(words):
        return _distant(numbers)
    if len(numbers) == 1 and len(words) > 2:
        return numbers[0]
    unsure = [one for one in words if plain_name(one) in UNSURE]
    return unsure[0] if len(unsure) == 1 and len(words) > 2 else None


def _distant(numbers: Sequence[str]) -> str | None:
    """A code such as 99 or -9, away from options that are counted on without a gap."""
    values = sorted((float(one), one) for one in numbers if float(one) != NOTHING)
    if len(values) < 3:
        return None
    odd, name = values.pop(0) if values[0][0] < 0 else values.pop()
    low, high = values[0][0], values[-1][0]
    counted_on = 0 <= low <= 1 and high - low == len(values) - 1
    return name if counted_on and (odd < 0 or (odd in MARKS and odd > FAR * high)) else None


def ask_about_flags(
    table: pa.Table, chosen: str, own: Collection[str], counted_in: str | None
) -> None:
    """Refuse a table in which a column says that a decision was missed that has a choice.

    Parameters
    ----------
    table, chosen, counted_in
        As in `ask_about_marks`.
    own
        Columns of the program that wrote the table.
    """
    taken = [not _is_nothing(cell) for cell in table[chosen].to_pylist()]
    for name, missed in _flags(table, {*own, chosen}):
        both = sum(a and b for a, b in zip(taken, missed, strict=True))
        if not both or both == sum(taken):
            continue
        column = name if name.isidentifier() else f"`{name}`"
        gaps = f" and {argument('gaps', 'timeout')}" if counted_in else ""
        kept = f"not {column}" if pa.types.is_boolean(table[name].type) else _unset(table, name)
        raise DataError(
            f"{argument('where')} must be given, as {name} is set in {format_count(both, 'row')} "
            f"with a choice in {chosen}, which can be read in two ways: decisions that nobody made "
            f"in time, or choices that count all the same. Pass {where_said(kept)}{gaps} for the "
            f"first, or {argument('chosen', chosen)} for the second."
        )


def _flags(table: pa.Table, used: Collection[str]) -> Iterator[tuple[str, list[bool]]]:
    """Columns that say whether a decision was missed, and where they do."""
    yes, no = {"1", "true", "yes", "y"}, {"0", "false", "no", "n"}
    for name in table.column_names:
        if name in used or plain_name(name) not in FLAGS:
            continue
        cells = [str(word(c)).lower() if c is not None else "" for c in table[name].to_pylist()]
        if {*cells} - {""} <= yes | no:
            yield name, [cell in yes for cell in cells]


def _unset(table: pa.Table, name: str) -> str:
    """A condition that the flag is not set, in the words of its column."""
    column = name if name.isidentifier() else f"`{name}`"
    seen = [cell for cell in dict.fromkeys(table[name].to_pylist()) if cell is not None]
    set_ = next(cell for cell in seen if str(word(cell)).lower() in ("1", "true", "yes", "y"))
    return f"{column} != {set_!r}"


TOTAL = re.compile(
    r"(total|cumulative|cum|cumul|running|balance|bank|guthaben|konto|sum)"
    r"(points|score|reward|win|earn|outcome|payoff|money|coins|gain|total|$)"
    r"|(points|score|reward|earnings?|outcome|money|coins|payoff)(total|sofar|cum|sum|balance)"
)
_SUMS = frozenset(("score", "points", "total", "balance", "bank", "earnings", "money", "punkte"))
_SO_FAR = frozenset(("total", "cum", "cumulative", "cumul", "running", "balance", "bank"))
_FEW_WORDS = 6  # for outcomes
FEWEST = 8  # choices of a block from which a total can be told from rewards
_MANY_EACH = 10  # rows for each number, below which a column has many numbers
_SELDOM = 0.15  # share of steps that are few
_SLOW = 3  # times that the range of a total is its largest step, at least


# Words of names that say when something was, or how long it took: never what was paid.
_TIMES = frozenset(
    (
        *("rt", "rts", "time", "times", "latency", "duration", "onset", "offset", "timestamp"),
        *("date", "elapsed", "started", "stopped", "iti", "isi", "jitter", "zeit", "tiempo"),
        *("temps", "reaktionszeit", "ms", "sec", "seconds", "reactiontime", "responsetime"),
    )
)
_EARNED = frozenset(
    plain_name(name) for name in USUAL["reward"] if len(name) > 1 and "_" not in name
) | {"total", "earnings", "balance", "bank", "cumulative", "winnings"}


def sounds_paid(name: str) -> bool:
    """Whether a name speaks of what was paid, whatever else it says.

    >>> sounds_paid("outcomeSeen"), sounds_paid("cum_points"), sounds_paid("left_card")
    (True, True, False)
    """
    words = {part.lower() for part in CUTS.split(name) if part}
    return bool(words & _EARNED) or is_called((*GAINS, *LOSSES), name) or sounds_total(name)


def sounds_total(name: str) -> bool:
    """Whether a name speaks of what was earned so far."""
    words = {part.lower() for part in CUTS.split(name) if part}
    return TOTAL.match(plain_name(name)) is not None or bool(words & _SO_FAR)


def as_reward(name: str, clean: Cleaned) -> str:
    """How to say that a column holds rewards; of a total, that its differences are.

    Parameters
    ----------
    name
        The column.
    clean
        Its table: what moves as a total does is one, too.
    """
    plain, grown = argument("reward", name), argument("reward", f"diff({name})")
    if sounds_total(name) or _moves_slowly(clean, name):
        return f"{grown} (what it grows by) or {plain}"
    return f"{plain} or {grown} (what it grows by)" if _are_many(clean, name) else plain


def _are_many(clean: Cleaned, name: str) -> bool:
    """Whether numbers differ in most rows, as totals do, whatever order the rows are in."""
    column = clean.table[name]
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return numbers and len(column.unique()) > max(_MOST, len(column) / _MANY_EACH)


def _moves_slowly(clean: Cleaned, name: str) -> bool:
    """Whether numbers of every person move in steps that are small beside how far they get."""
    table = clean.table
    if pa.types.is_string(table[name].type) or pa.types.is_boolean(table[name].type):
        return False
    subject = clean.hints.get("subject") or usual_column("subject", table.column_names)
    who = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    values = _floats(table, name)
    groups: dict[Any, list[int]] = {}
    for row, whose in enumerate(who):
        if not np.isnan(values[row]):
            groups.setdefault(whose, []).append(row)
    blocks = [np.array(rows) for rows in groups.values()]
    slow = _is_running(values, blocks, True) or _grows_by_few(values, blocks)
    return slow or _hardly_falls(values, blocks)


def _hardly_falls(values: Vector, people: Sequence[IntVector]) -> bool:
    """Whether numbers grow but for a few falls, as totals do that begin anew in every block."""
    own = [values[rows] for rows in people if len(rows) >= FEWEST]
    steps = np.concatenate([*(np.diff(numbers) for numbers in own), np.zeros(0)])
    if not steps.size or len(np.unique(np.concatenate(own))) <= 2:
        return False
    return bool((steps < 0).mean() < _SELDOM and (steps > 0).mean() > _SELDOM)


def _grows_by_few(values: Vector, people: Sequence[IntVector]) -> bool:
    """Whether numbers are many, and what they grow by is one of few, as totals do."""
    own = [values[rows] for rows in people if len(rows) >= FEWEST]
    many = {round(float(one), 6) for numbers in own for one in numbers}
    steps = [round(float(one), 6) for numbers in own for one in np.diff(numbers)]
    common = {one for one, count in Counter(steps).items() if count > 1}
    return bool(common) and len(many) > _SLOW * len(common) and len(common) > 1


def _without_a_part(clean: Cleaned, used: Collection[str]) -> list[str]:
    """Columns that vary and whose names speak of no person, block, trial or time."""
    parts = [name for part in ("subject", "block", "decision") for name in USUAL[part]]
    return [
        name
        for name in varying(clean)
        if name not in used and not is_of_time(name) and not is_called((*parts, *SESSION), name)
    ]


def may_be_paid(clean: Cleaned, used: Collection[str]) -> list[str]:
    """Columns that may say what each choice paid, those whose names speak of it first.

    Parameters
    ----------
    clean
        A table of decisions.
    used
        Columns that are something else.
    """
    free = _without_a_part(clean, used)
    told = [name for name in free if sounds_paid(name)]
    others = [name for name in free if name not in told]
    numbers = [name for name in others if not pa.types.is_string(clean.table[name].type)]
    texts = [name for name in others if name not in numbers and _tells(clean.table, name)]
    below = [name for name in clean.below if name not in used]
    amounts = [name for name in texts if _are_amounts(clean.table, name)]
    texts = [name for name in texts if name not in amounts]
    counters = [name for name in numbers if _counts_on(clean.table, name)]
    numbers = [name for name in numbers if name not in counters]
    return [*told, *below, *amounts, *numbers, *texts, *counters]


def _are_amounts(table: pa.Table, name: str) -> bool:
    """Whether nearly every text is a number, in some currency or none."""
    cells = [cell for cell in table[name].to_pylist() if not is_nothing(cell)]
    read = [amount(cell) is not None for cell in cells]
    return bool(cells) and sum(read) >= (1 - _RARE) * len(read)


def _counts_on(table: pa.Table, name: str) -> bool:
    """Whether most numbers are one more than the one before, as those of trials."""
    cells = [cell for cell in table[name].to_pylist() if isinstance(cell, int)]
    return len(cells) > 1 and float(np.mean(np.diff(cells) == 1)) > 0.5


def _tells(table: pa.Table, name: str) -> bool:
    """Whether text tells amounts, or is one of a few words, as won and lost are."""
    cells = [cell for cell in table[name].to_pylist() if not is_nothing(cell)]
    few = len({*cells}) <= _FEW_WORDS
    told = [any(mark.isdigit() for mark in str(cell)) for cell in cells]
    return few or sum(told) >= (1 - _RARE) * len(told)  # others are marks of no choice


def varying(clean: Cleaned) -> list[str]:
    """Columns of the experimenter's own that change within people."""
    table = clean.table
    subject = clean.hints.get("subject") or usual_column("subject", table.column_names)
    who = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    found = []
    for name in table.column_names:
        if name in clean.own or name == subject:
            continue
        seen: dict[Any, Any] = {}
        cells = [(whose, cell) for whose, cell in zip(who, table[name].to_pylist(), strict=True)]
        given = [(whose, cell) for whose, cell in cells if not is_nothing(cell)]
        if not all(seen.setdefault(whose, cell) == cell for whose, cell in given):
            found.append(name)
    return found


def is_of_time(name: str) -> bool:
    """Whether a name says when something was, or how long it took."""
    words = {part.lower() for part in CUTS.split(name) if part}
    return bool(words & _TIMES) or plain_name(name) in _TIMES


def found_reward(
    table: pa.Table, found: PlayColumns, own: Collection[str]
) -> tuple[PlayColumns, tuple[str, ...]]:
    """The columns with the reward that is meant, and what was decided; asked where two may be.

    Parameters
    ----------
    table
        Of play, whose rewards are numbers.
    found
        Its columns.
    own
        Columns of the program that wrote it.
    """
    if not isinstance(found.reward, str):
        return found, ()
    try:
        blocks = _blocks(table, found)
    except DataError:  # said where episodes are made
        return found, ()
    notes: list[str] = []
    others = _others(table, found, own)
    people = _people(table, found, blocks)
    if others and _is_of_blocks(_floats(table, found.reward), people):
        notes.append(f"{found.reward} says the same in all rows of a subject: no reward")
        found = replace(found, reward=others.pop(0))
    for name in others:
        reward, other = (_floats(table, str(column)) for column in (found.reward, name))
        if _is_of_blocks(other, people):
            continue
        if _sums_up(other, reward, people, blocks):
            notes.append(f"{name} is the running total of {found.reward}: not used")
        elif _sums_up(reward, other, people, blocks):
            notes.append(f"{found.reward} is the running total of {name}: not used")
            found = replace(found, reward=name)
        elif not _is_same(reward, other):
            units = ", in other units" if _is_scaled(reward, other) else ""
            raise DataError(
                f"{argument('reward')} must be given, as {found.reward} ({_some(reward)}) and "
                f"{name} ({_some(other)}) can both be what a choice paid{units}. Pass "
                f"{argument('reward', str(found.reward))}, or {argument('reward', name)}."
            )
    _ask_about_losses(table, found, own)
    _ask_about_numbers(table, found, blocks)
    return found, tuple(notes)


def _ask_about_losses(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Ask whether losses in a column of their own are to be taken off the rewards."""
    reward = _floats(table, str(found.reward))
    for name in table.column_names:
        if name in found.used() or name in own or not is_called(LOSSES, name):
            continue
        if not pa.types.is_integer(table[name].type) and not pa.types.is_floating(table[name].type):
            continue
        lost = np.nan_to_num(_floats(table, name))
        if len(np.unique(lost)) < 2 or (reward[lost != 0] < 0).any():
            continue  # nothing to tell, or taken off already
        alone = argument("reward", str(found.reward))
        both = argument("reward", (found.reward, name))
        raise DataError(
            f"{argument('reward')} must be given, as {name} ({_some(lost)}) beside {found.reward} "
            f"({_some(reward)}) can be read in two ways: taken off the rewards, or not. Pass "
            f"{both} for the first, or {alone} for the second."
        )


def _others(table: pa.Table, found: PlayColumns, own: Collection[str]) -> list[str]:
    """Columns of numbers besides the reward whose name is one of rewards or totals."""
    return [
        name
        for name in table.column_names
        if name not in found.used()
        and name not in own
        and (is_called(USUAL["reward"], name) or TOTAL.match(plain_name(name)))
        and (pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type))
    ]


def _floats(table: pa.Table, name: Any) -> Vector:
    return column_floats(open_frame(table), name, "reward")


def _some(values: Vector) -> str:
    given = np.unique(values[~np.isnan(values)])
    if len(given) <= 4:
        return ", ".join(f"{value:g}" for value in given)
    return f"{given[0]:g} to {given[-1]:g}"


def _blocks(table: pa.Table, found: PlayColumns) -> list[IntVector]:
    """Rows of every block of every person in order of time, those with a choice."""
    parts = {part: getattr(found, part) for part in ("subject", "block", "decision")}
    named: dict[str, Any] = {p: None if name == NO_COLUMN else name for p, name in parts.items()}
    chosen = found.chosen if isinstance(found.chosen, str) else found.chosen[0]
    made = np.array([not is_nothing(cell) for cell in table[chosen].to_pylist()])
    rows = episode_rows(table, **named, gaps="order")
    return [own[made[own]] for own in rows]


def _people(table: pa.Table, found: PlayColumns, blocks: Sequence[IntVector]) -> list[IntVector]:
    """The same of every person."""
    if found.subject is None or found.subject == NO_COLUMN:
        return [np.concatenate(list(blocks))] if blocks else []
    who = table[found.subject].to_pylist()
    joined: dict[Any, list[IntVector]] = {}
    for rows in blocks:
        if rows.size:
            joined.setdefault(who[int(rows[0])], []).append(rows)
    return [np.concatenate(own) for own in joined.values()]


def _sums_up(
    total: Vector, paid: Vector, people: Sequence[IntVector], blocks: Sequence[IntVector]
) -> bool:
    """Whether one column is the running total of another, of a person or of a block."""
    return any(
        all(_is_total(total[rows], paid[rows]) for rows in histories)
        and any(len(rows) > 2 for rows in histories)
        for histories in (people, blocks)
    )


def _is_total(total: Vector, paid: Vector) -> bool:
    known = ~np.isnan(total) & ~np.isnan(paid)
    steps = np.diff(total[known])
    return bool(
        np.allclose(steps, paid[known][1:], atol=1e-6)
        or np.allclose(steps, paid[known][:-1], atol=1e-6)  # before the choice
    )


def _is_same(first: Vector, second: Vector) -> bool:
    """Whether both columns say the same, or the second always the same thing."""
    known = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[known], second[known]
    return len(b) == 0 or bool(np.ptp(b) == 0 or np.allclose(a, b))


def _is_scaled(first: Vector, second: Vector) -> bool:
    """Whether one column is the other, shifted and stretched."""
    known = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[known], second[known]
    return bool(np.ptp(a) > 0 and np.corrcoef(a, b)[0, 1] > 1 - 1e-9)


def _ask_about_numbers(table: pa.Table, found: PlayColumns, blocks: Sequence[IntVector]) -> None:
    name = str(found.reward)
    values = _floats(table, name)
    given = [rows[~np.isnan(values[rows])] for rows in blocks]
    given = [rows for rows in given if rows.size]
    people = _people(table, found, given)
    first = argument("reward", name)
    if _is_of_blocks(values, given) or _is_of_blocks(values, people):
        whole = "block" if len(given) > len(people) else "subject"
        raise DataError(
            f"{argument('reward')} must be given, as {name} says the same in all rows of a "
            f"{whole}, which can be read in two ways: what every choice paid, or a score of the "
            f"{whole} as a whole, which tells nothing of single choices. Pass {first} for the "
            f"first; else {argument('reward')} with the column of what each choice paid."
        )
    if _is_running(values, given, plain_name(name) in _SUMS):
        raise DataError(
            f"{argument('reward')} must be given, as {name} "
            f"({format_list(f'{v:g}' for v in values[given[0]][:6])} ...) moves as a running total "
            "does, and can be read in two ways: what each choice paid, or what was earned so far. "
            f"Pass {first} for the first, or {argument('reward', f'diff({name})')} for the second."
        )
    rows = np.concatenate([*given, np.zeros(0, dtype=np.int64)])
    odd = odd_number(values[rows])
    if odd is not None:
        column = name if name.isidentifier() else f"`{name}`"
        gaps = f" and {argument('gaps', 'timeout')}" if found.decision else ""
        raise DataError(
            f"{argument('reward')} must be given, as {odd:g} in {name} "
            f"({format_count(int((values[rows] == odd).sum()), 'row')} with a choice) can be read "
            "in two ways: what a choice paid, or a mark of rewards that are not known. Pass "
            f"{first} for the first, or {where_said(f'{column} != {odd:g}')}{gaps} for the second."
        )


def _is_of_blocks(values: Vector, blocks: Sequence[IntVector]) -> bool:
    """Whether numbers are the same in all rows of every block, and differ between blocks."""
    own = [values[rows][~np.isnan(values[rows])] for rows in blocks]
    long = [numbers for numbers in own if len(numbers) > 2]
    return (
        len(long) > 1
        and all(np.ptp(numbers) == 0 for numbers in long)
        and len({float(numbers[0]) for numbers in long}) > 1
    )


def _is_running(values: Vector, blocks: Sequence[IntVector], is_sum: bool) -> bool:
    """Whether rewards of every block only grow; or move slowly, where the name is one of sums."""
    long = [values[rows] for rows in blocks if len(rows) >= FEWEST]
    if not long:
        return False
    if all((np.diff(own) >= 0).all() and len(np.unique(own)) > 2 for own in long):
        return True
    steps = [np.abs(np.diff(own)).max() for own in long]
    return is_sum and all(
        0 < _SLOW * step <= np.ptp(own) for own, step in zip(long, steps, strict=True)
    )


_COMMA = re.compile(r"[+-]?\d*,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_IN_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def comma_number(table: pa.Table) -> str | None:
    """A cell such as 0,25 of a column that holds numbers by decimal commas; None without one.

    Examples
    --------
    >>> comma_number(pa.table({"a": ["3", "0,25"], "b": [1, 2]}))
    '0,25'
    >>> comma_number(pa.table({"a": ["1,000", "3"]})) is None
    True
    """
    for name in table.column_names:
        if not pa.types.is_string(table[name].type):
            continue
        cells = table[name].unique().to_pylist()
        given = [str(cell).strip() for cell in cells if not is_nothing(cell)]
        commas = [cell for cell in given if _COMMA.fullmatch(cell)]
        are_numbers = all(cell in commas or _WHOLE.fullmatch(cell) for cell in given)
        fractions = [cell for cell in commas if not _IN_THOUSANDS.fullmatch(cell)]
        if are_numbers and fractions:
            return fractions[0]
    return None


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
    free = [
        name
        for name in _without_a_part(clean, used)
        if 2 <= len(seen_words(table, name)) <= MOST_LABELS
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
