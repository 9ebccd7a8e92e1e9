"""Whose decisions rows are, where that can be read in two ways: asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, combinations, groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.errors import DataError, argument, format_list, format_names
from penchant.tables.cells import is_nothing
from penchant.tables.columns import NO_COLUMN, SESSION, USUAL, PlayColumns, is_called, plain_name
from penchant.tables.designs import first_words, label_codes
from penchant.tables.surveys import CUTS
from penchant.tables.where import where_said

FEWEST = 5  # rows from which a label for each is more likely their number
# What people have that does not change from one session to the next.
_PERSONAL = frozenset(
    (
        *(
            "sex",
            "gender",
            "geschlecht",
            "sexe",
            "sexo",
            "age",
            "alter",
            "edad",
            "dob",
            "birthyear",
        ),
        *("yearofbirth", "handedness", "hand", "initials", "native", "nationality"),
    )
)


def ask_about_people(table: pa.Table, subject: str | None) -> None:
    """Refuse a column of subjects that is another in every row: it may number the rows.

    Parameters
    ----------
    table
        Of decisions.
    subject
        Its column of subjects, where one was recognised.
    """
    if subject is None or subject == NO_COLUMN or subject not in table.column_names:
        return
    cells = table[subject].to_pylist()
    if len(cells) >= FEWEST and len({*cells}) == len(cells):
        raise DataError(
            f"{argument('subject')} must be given, as {subject} differs in every row, which can be "
            f"read in two ways: as many people, with one decision each, or a number of the rows. "
            f"Pass {argument('subject', subject)} for the first, or {argument('subject', 'none')} "
            "for the second."
        )


FEW_BLOCKS = 12  # labels of a column that may tell plays apart
MOST_PEOPLE = 0.4  # of the rows, beyond which a label is not of somebody's decisions


def ask_for_people(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Ask who people are, where no column has a usual name of them and others may tell.

    Parameters
    ----------
    table
        Of play.
    found
        Its columns.
    own
        Columns of the program that wrote it.
    """
    if found.subject is not None:
        return
    used = found.used() | {*own}
    free = [name for name in table.column_names if name not in used]
    ways = [name for name in free if _may_name(table, name)]
    ways = ways or [name for name in free if _tells_more(table, name, free)]
    ways = ways or [name for name in free if _is_counted_in(table, name, free, found.chosen)]
    if ways:
        said = " or ".join(argument("subject", name) for name in ways[:8])
        raise DataError(
            f"{argument('subject')} must be given, as no column has a usual name of people; got "
            f"columns {format_names(table.column_names)}. Pass {said} if that names them, or "
            f"{argument('subject', 'none')} if all rows are of one person."
        )


def _is_counted_in(table: pa.Table, name: str, others: Sequence[str], chosen: Any) -> bool:
    """Whether numbers count the rows of each label, in any order; or of each part of them."""
    cells = table[name].to_pylist()
    labels = {*cells}
    if None in labels or not 1 < len(labels) <= len(cells) / SHORTEST:
        return False
    left = [one for one in others if one != name]
    whole = [one for one in left if pa.types.is_integer(table[one].type)]
    parts = [(), *((part,) for part in left if 1 < len(table[part].unique()) <= FEWEST)]
    return any(
        number not in part and _counts_otherwise(table, [name, *part], number, chosen)
        for number in whole
        for part in parts
    )


def _tells_more(table: pa.Table, name: str, others: Sequence[str]) -> bool:
    """Whether another column says the same in all rows of each label, as the group of people."""
    cells = table[name].to_pylist()
    labels = Counter(cells)
    if None in labels or any(isinstance(cell, float) for cell in labels):
        return False
    if len(labels) < 2 or min(labels.values()) < SHORTEST:
        return False
    for other in others:
        said = table[other].to_pylist()
        pairs = {*zip(cells, said, strict=True)}
        if other != name and len(pairs) == len(labels) > len({*said}) > 1:
            return True
    return False


def ask_for_order(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Ask whether a column numbers the trials, where rows are not in its order.

    Parameters
    ----------
    table, found, own
        As in `ask_for_people`.
    """
    if found.decision is not None:
        return
    parts = (str(found.subject), *_blocks(found))
    keys = [name for name in parts if name in table.column_names]
    free = [name for name in table.column_names if name not in found.used() and name not in own]
    whole = [name for name in free if pa.types.is_integer(table[name].type)]
    for name in whole:
        if _counts_otherwise(table, keys, name, found.chosen):
            raise DataError(
                f"{argument('decision')} must be given, as {name} counts the rows of everybody, in "
                "another order than they are in, which can be read in two ways: the order of time, "
                f"or something else. Pass {argument('decision', name)} for the first, or "
                f"{argument('decision', 'none')} for the second."
            )
    for name, more in _counted_within(table, keys, whole, free):
        if _counts_otherwise(table, [*keys, *more], name, found.chosen):
            both = _joined((*_blocks(found), *more))
            raise DataError(
                f"{argument('decision')} must be given, as {name} counts the rows of everybody and "
                f"{' and '.join(more)}, in another order than they are in, which can be read in "
                "two ways: the order of time in plays of their own, or something else. Pass "
                f"{argument('decision', name)} and {argument('block', both)} for the first, or "
                f"{argument('decision', 'none')} for the second; or {_kept(table, more[-1])} and "
                f"{argument('decision', name)} to leave the other rows out, as practice."
            )


def _counted_within(
    table: pa.Table, keys: Sequence[str], whole: Sequence[str], free: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Numbers, and one or two columns of few labels, that together are another in every row."""
    most = min(FEW_BLOCKS, len(table) / SHORTEST)
    few = [name for name in free if 1 < len(table[name].unique()) <= most]
    codes = {name: label_codes(table[name]) for name in {*keys, *whole, *few}}
    for more in (*((one,) for one in few), *combinations(few, 2)):
        for name in whole:
            own = np.stack([codes[key] for key in (*keys, *more, name)])
            if name not in more and len(np.unique(own, axis=1).T) == len(table):
                yield name, more


def _counts_otherwise(table: pa.Table, keys: Sequence[str], name: str, chosen: Any) -> bool:
    """Whether numbers count the decisions that share these keys, in another order than rows."""
    plays = list(zip(*(table[key].to_pylist() for key in keys), strict=True)) if keys else []
    taken = table[chosen].to_pylist() if chosen in table.column_names else []
    numbers: dict[Any, list[Any]] = {}
    for row, cell in enumerate(table[name].to_pylist()):
        if cell is not None or not taken or not is_nothing(taken[row]):
            numbers.setdefault(plays[row] if plays else None, []).append(cell)
    long = any(len(cells) >= SHORTEST for cells in numbers.values())
    return (
        long
        and all(map(_counts, numbers.values()))
        and any(cells != sorted(cells) for cells in numbers.values())
    )


def _counts(cells: Sequence[Any]) -> bool:
    """Whether numbers are all those from the least on, each once."""
    whole = None not in cells and len(cells) > 1
    return whole and sorted(cells) == list(range(min(cells), min(cells) + len(cells)))


def _blocks(found: PlayColumns) -> tuple[str, ...]:
    block = found.block
    named_so = (block,) if isinstance(block, str) else block or ()
    return tuple(name for name in named_so if name != NO_COLUMN)


def _may_name(table: pa.Table, name: str) -> bool:
    """Whether several labels stand in many rows each, one after another, and come no more."""
    cells = table[name].to_pylist()
    labels = {*cells}
    if None in labels or any(isinstance(cell, float) for cell in labels) or len(labels) < 2:
        return False
    return len(list(groupby(cells))) == len(labels) <= MOST_PEOPLE * len(cells)


def ask_about_sessions(table: pa.Table, subject: str | None, block: Any) -> None:
    """Refuse sessions of one label in which age, sex and the like differ: they may be two people.

    Parameters
    ----------
    table
        Of decisions.
    subject, block
        Its columns, as recognised.
    """
    blocks = (block,) if isinstance(block, str) else block or ()
    usual = {plain_name(name) for name in SESSION}
    session = next((name for name in blocks if plain_name(name) in usual), None)
    if subject is None or session is None:
        return
    who, when = table[subject].to_pylist(), table[session].to_pylist()
    for name in table.column_names:
        if plain_name(name) not in _PERSONAL:
            continue
        said: dict[Any, dict[Any, set[Any]]] = {}
        for label, time, cell in zip(who, when, table[name].to_pylist(), strict=True):
            said.setdefault(label, {}).setdefault(time, set()).add(cell)
        for label, times in said.items():
            own = [next(iter(cells)) for cells in times.values() if len(cells) == 1]
            far = len({*own}) > 1 and not _may_have_aged(own)
            if far:
                joined = f"{subject}+{session}"
                raise DataError(
                    f"{argument('subject')} must be given, as {name} of {subject} {label} differs "
                    f"between its labels of {session} ({', '.join(map(str, own))}), which can be "
                    "read in two ways: several people of one label, or one with a mistake. Pass "
                    f"{argument('subject', joined)} for the first, or "
                    f"{argument('subject', subject)} for the second."
                )


SHORTEST = 4  # rows of a play, below which labels that change are those of trials
_OF_TRIALS = frozenset(
    (
        *("best", "correct", "corr", "optimal", "good", "better", "p", "prob", "probability"),
        *("chance", "target", "rich", "high", "stim", "stimulus", "cue", "image", "outcome"),
    )
)


def ask_about_counter(table: pa.Table, found: PlayColumns) -> None:
    """Ask whether a block that is another in nearly every row numbers the trials.

    Parameters
    ----------
    table, found
        As in `ask_for_people`.
    """
    block = next(iter(_blocks(found)[::-1]), None)
    if block is None or block not in table.column_names or found.decision is not None:
        return
    _ask_which_block(table, block, found.used())
    people = _rows_in_time(table, str(found.subject), None) if found.subject else []
    cells = table[block].to_pylist()
    steps = [
        cells[b] - cells[a] for rows in people for a, b in pairwise(rows) if _whole(cells, a, b)
    ]
    if not steps or sum(step == 1 for step in steps) <= MOSTLY * len(steps):
        return
    others = _blocks(found)[:-1]
    rest = argument("block", _joined(others) if others else "none")
    raise DataError(
        f"{argument('decision')} must be given, as {block} is one more in nearly every row, which "
        "can be read in two ways: it numbers the trials, or plays of one trial each. Pass "
        f"{argument('decision', block)} and {rest} for the first, or {argument('block', block)} "
        f"and {argument('decision', 'none')} for the second."
    )


def _ask_which_block(table: pa.Table, block: str, used: Collection[str]) -> None:
    """Ask which of two columns called blocks is which, where each has labels of the other."""
    mine = table[block].to_pylist()
    for name in table.column_names:
        if name in used or not is_called(USUAL["block"], name):
            continue
        cells = table[name].to_pylist()
        pairs = {*zip(mine, cells, strict=True)}
        n, m = len({*mine}), len({*cells})
        if min(n, m) < 2 or len(pairs) <= max(n, m):
            continue
        plays, trials = (block, name) if n < m else (name, block)
        raise DataError(
            f"{argument('block')} must be given, as {block} and {name} have both a usual name of "
            f"plays, which can be read in two ways: {trials} numbers the trials of each {plays}, "
            f"or both tell plays apart. Pass {argument('block', plays)} and "
            f"{argument('decision', trials)} for the first, or "
            f"{argument('block', (plays, trials))} for the second."
        )


MOSTLY = 0.8  # share of rows that are nearly all


def _whole(cells: Sequence[Any], *rows: int) -> bool:
    return all(isinstance(cells[row], int) for row in rows)


def ask_about_plays(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Refuse a table in which a column without a part runs on as the number of a play does.

    Each of its labels stands in many rows one after another of everybody, and never comes again:
    sessions, runs, conditions one after the other. Whether beliefs begin anew there has to be said.

    Parameters
    ----------
    table
        Of play.
    found
        Its columns.
    own
        Columns of the program that wrote it.
    """
    subject = found.subject
    if subject is None or subject == NO_COLUMN or subject not in table.column_names:
        return
    blocks = tuple(name for name in _blocks(found) if len({*table[name].to_pylist()}) > 1)
    people = _rows_in_time(table, subject, found.decision)
    if len(people) < 2:
        return
    free = [
        name
        for name in table.column_names
        if name not in found.used()
        and name not in own
        and not {part.lower() for part in CUTS.split(name)} & _OF_TRIALS
    ]
    several: list[str] = []
    while (
        name := _next_play(table, (*blocks, *several), people, free, found.decision)
    ) is not None:
        several.append(name)
    repeated = _are_repeated(table, (subject, *blocks), found.decision)
    if not several or (repeated and len(several) == 1):  # said where plays are made
        return
    if repeated and _are_repeated(table, (subject, *blocks, *several), found.decision):
        return
    runs = {name: _runs(table[name].to_pylist(), people)[0] for name in (*blocks, *several)}
    both = sorted(runs, key=lambda name: len(runs[name]))  # a session has several blocks
    told = [
        f"{name} ({format_list(dict.fromkeys(str(label) for label, _ in runs[name]))})"
        for name in several
    ]
    some = [own for k in range(len(several) - 1, 0, -1) for own in combinations(several, k)]
    alone = [
        argument("block", _joined([n for n in both if n in own or n in blocks])) for own in some
    ]
    other = argument("block", "none" if not blocks else _joined(blocks))
    parts = sorted(several, key=lambda name: first_words(table, name, subject) is None)
    raise DataError(
        f"{argument('block')} must be given, as {' and '.join(told)} "
        f"{'changes' if len(several) == 1 else 'change'} once and again within people, which can "
        "be read in two ways: plays of their own, in which beliefs begin anew; or one that goes "
        f"on. Pass {' or '.join([argument('block', _joined(both)), *alone])} for the first, or "
        f"{other} for the second; or {_kept(table, parts[0])} to leave the other rows out, as "
        "practice."
    )


def _next_play(
    table: pa.Table,
    blocks: Sequence[str],
    people: Sequence[list[int]],
    names: Sequence[str],
    decision: str | None,
) -> str | None:
    """A column that runs on as the number of a play does, besides these blocks."""
    labels = list(zip(*(table[name].to_pylist() for name in blocks), strict=True))
    known = _runs(labels, people) if blocks else []
    plays = _parted(table, labels, people, decision) if blocks else people
    for name in names:
        runs = _runs(table[name].to_pylist(), people)
        anew = _are_plays(runs) or _are_plays(_runs(table[name].to_pylist(), plays))
        if name not in blocks and anew and not (blocks and _is_within(known, runs)):
            return name
    return None


def ask_about_first_rows(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Ask about the few rows that everybody began with, where a word tells them apart.

    Parameters
    ----------
    table, found, own
        As in `ask_about_plays`.
    """
    subject = found.subject
    if subject is None or subject not in table.column_names:
        return
    for name in table.column_names:
        word = None if name in found.used() or name in own else first_words(table, name, subject)
        if word is None or {part.lower() for part in CUTS.split(name)} & _OF_TRIALS:
            continue
        others = [one for one in dict.fromkeys(table[name].to_pylist()) if one not in (word, None)]
        column = name if name.isidentifier() else f"`{name}`"
        raise DataError(
            f"{argument('where')} must be given, as everybody's first rows have {word!r} in "
            f"{name}, which can be read in two ways: practice, or decisions like those with "
            f"{format_list(map(repr, others))}. Pass {where_said(f'{column} != {word!r}')} to "
            f"leave them out, or {where_said(f'{column} in {[word, *others]!r}')} to keep them."
        )


def _kept(table: pa.Table, name: str) -> str:
    """A condition that keeps the rows of the label that most have."""
    most = Counter(table[name].to_pylist()).most_common(1)[0][0]
    column = name if name.isidentifier() else f"`{name}`"
    return where_said(f"{column} == {most!r}")


def _joined(names: Sequence[str]) -> Any:
    """One column, or several, as they are said."""
    return names[0] if len(names) == 1 else tuple(names)


_Runs = list[tuple[Any, int]]


def _rows_in_time(table: pa.Table, subject: str, decision: str | None) -> list[list[int]]:
    """Rows of every person, in order of time as far as it is told."""
    found: dict[Any, list[int]] = {}
    for row, whose in enumerate(table[subject].to_pylist()):
        found.setdefault(whose, []).append(row)
    numbers = table[decision].to_pylist() if decision in table.column_names else []
    return [_in_time(rows, numbers) for rows in found.values()]


def _in_time(rows: list[int], numbers: Sequence[Any]) -> list[int]:
    """Rows in the order of their numbers, where they have one each."""
    own = [numbers[row] for row in rows] if numbers else []
    told = bool(own) and None not in own and len({*own}) == len(own)
    return sorted(rows, key=lambda row: numbers[row]) if told else rows


def _are_repeated(table: pa.Table, keys: Sequence[str], decision: str | None) -> bool:
    """Whether decisions of one play have the same number, which is said where plays are made."""
    if decision not in table.column_names:
        return False
    cells = [table[name].to_pylist() for name in (*keys, str(decision))]
    rows = list(zip(*cells, strict=True))
    return len({*rows}) < len(rows)


def _runs(cells: Sequence[Any], people: Sequence[Sequence[int]]) -> list[_Runs]:
    """Labels of every person one after another, and how many rows each stands in."""
    return [
        [(label, len(list(rows))) for label, rows in groupby(cells[row] for row in own)]
        for own in people
    ]


def _parted(
    table: pa.Table, labels: Sequence[Any], people: Sequence[Sequence[int]], decision: str | None
) -> list[list[int]]:
    """Rows of every person apart by these labels, as blocks count anew in every session."""
    numbers = table[decision].to_pylist() if decision in table.column_names else []
    found: list[list[int]] = []
    for own in people:
        plays: dict[Any, list[int]] = {}
        for row in own:
            plays.setdefault(labels[row], []).append(row)
        found += [_in_time(rows, numbers) for rows in plays.values()]
    return found


def _are_plays(people: Sequence[_Runs]) -> bool:
    """Whether everybody has the same labels once each, in many rows; numbers of them count on."""
    several = [runs for runs in people if len(runs) > 1]
    labels = [[label for label, _ in runs] for runs in several]
    if len(several) < 2 or len(several) < len(people) - 1 or None in labels[0]:
        return False
    if any(len({*own}) < len(own) or {*own} != {*labels[0]} for own in labels):
        return False
    shortest = min(count for runs in several for _, count in runs)
    if all(isinstance(label, str) for label in labels[0]):
        return shortest >= SHORTEST or (shortest > 1 and all(own == labels[0] for own in labels))
    if shortest < SHORTEST:
        return False
    first = labels[0]
    counts = all(isinstance(one, int) and one == first[0] + k for k, one in enumerate(first))
    return counts and first[0] in (0, 1) and all(own == first for own in labels)


def _is_within(blocks: Sequence[_Runs], runs: Sequence[_Runs]) -> bool:
    """Whether blocks change wherever a column does, and never come again."""
    for own, other in zip(blocks, runs, strict=True):
        ends = {*accumulate(count for _, count in own)}
        again = len({label for label, _ in own}) < len(own)
        if again or not {*accumulate(count for _, count in other)} <= ends:
            return False
    return True


def _may_have_aged(cells: list[Any]) -> bool:
    """Whether numbers are a year or two apart, as ages of one person may be."""
    numbers = [cell for cell in cells if isinstance(cell, (int, float))]
    return len(numbers) == len(cells) and max(numbers) - min(numbers) <= 2


def may_be_people(table: pa.Table, used: Collection[str]) -> list[str]:
    """That a column may name people, where none has a usual name: its rows stand together."""
    found: dict[str, int] = {}
    for name in table.column_names:
        cells = table[name].to_pylist()
        runs = 1 + sum(a != b for a, b in pairwise(cells))
        if name not in used and 1 < runs == len({*cells}) <= len(cells) / 2:
            found[name] = runs
    if not found:
        return []
    most = max(found, key=lambda name: found[name])
    return [
        f"nobody is told apart: pass {argument('subject', most)} if {most} names {found[most]} "
        "people"
    ]
