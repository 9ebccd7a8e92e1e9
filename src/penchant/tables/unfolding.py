"""Tables that fold several cells into one, or several decisions into a row, made plain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector
from penchant.errors import DataError, format_list
from penchant.files.folder import UNNAMED
from penchant.files.table import typed
from penchant.tables.cells import (
    amount,
    amount_and_chance,
    amount_and_delay,
    array_cell,
    is_nothing,
)
from penchant.tables.columns import FEWEST, USUAL, is_called, numbered_on
from penchant.tables.frames import row_place
from penchant.tables.offer_columns import USUAL as OFFERED

DECISION = "decision"
_MANY = 8  # items of lists that are all as long: more than the options of a decision
# What the column of choices is called where decisions have a column each.
CHOICES = (
    *USUAL["chosen"],
    *("answer", "picked", "pick", "preferred", "chose"),
    *OFFERED["chosen"],
)
_LIST = re.compile(r"(?:[ _.\-](?:seq|sequence|list|array|vector|history)|(?:Seq|List|Array))$")


class Unfolded(NamedTuple):
    """A table, the row of the old one that each of its rows comes from, and what was done."""

    table: pa.Table
    rows: IntVector
    notes: tuple[str, ...] = ()


def without_single_lists(table: pa.Table) -> pa.Table:
    """A table in which a list of one item, such as ['left'], is that item.

    >>> without_single_lists(pa.table({"keys": ["['left']", "right", None]}))["keys"].to_pylist()
    ['left', 'right', None]
    """
    for place, name in enumerate(table.column_names):
        if not pa.types.is_string(table[name].type):
            continue
        if not pc.any(pc.match_substring_regex(table[name], r"^\s*[\[(].*[\])]\s*$")).as_py():
            continue
        cells = table[name].to_pylist()
        lists = [array_cell(cell) for cell in cells]
        if {len(own) for own in lists if own is not None} == {1}:
            alone = [
                cell if own is None else own[0] for own, cell in zip(lists, cells, strict=True)
            ]
            table = table.set_column(place, name, typed(alone))
    return table


def unfolded(table: pa.Table, chosen: str | None = None) -> Unfolded:
    """A table in which every cell is one value.

    Lists over options become columns, those over decisions become rows.

    Parameters
    ----------
    table
        As a file holds it.
    chosen
        Column of the choices, where somebody named it.
    """
    lists = _list_columns(table)
    same: IntVector = np.arange(len(table))
    if not lists:
        lists = _unmarked(table, chosen)
        if not lists:
            return Unfolded(table, same)
        return _exploded(table, lists, list(lists))
    over_decisions = _over_decisions(lists, table.column_names, chosen)
    if over_decisions:
        return _exploded(table, lists, over_decisions)
    notes = []
    for name, cells in lists.items():
        lengths = {len(cell) for cell in cells if cell is not None}
        place = table.column_names.index(name)
        if len(lengths) == 1:
            table = _widened(table, place, name, cells)
            notes.append(f"lists in {name} taken for one {_held(cells)} per option")
    return Unfolded(table, same, tuple(notes))


def _held(cells: Sequence[Any]) -> str:
    """What lists hold, in a word."""
    items = [item for cell in cells if cell is not None for item in cell]
    if any(isinstance(item, dict) for item in items):
        return "offer"
    words = any(isinstance(item, str) and amount(item) is None for item in items)
    return "label" if words else "number"


def single_buttons(table: pa.Table) -> BoolVector:
    """Rows in which one label was shown where other rows list several: nothing to choose from.

    >>> single_buttons(pa.table({"choices": ['["Continue"]', '["left", "right"]']})).tolist()
    [True, False]
    """
    found: BoolVector = np.zeros(len(table), dtype=bool)
    for name, cells in _list_columns(table).items():
        lengths = np.array([0 if cell is None else len(cell) for cell in cells])
        several = is_called(CHOICES, name) or "button" in name.lower()
        if several and (lengths > 1).any():
            found |= lengths == 1
    return found


def objects_apart(table: pa.Table) -> Unfolded:
    """A table in which lists of objects, one per option, are a column per option and key.

    >>> step = objects_apart(pa.table({"options": ['[{"pay": 5}, {"pay": 9}]']}))
    >>> step.table.column_names
    ['pay_0', 'pay_1']
    """
    same: IntVector = np.arange(len(table))
    notes = []
    for name in list(table.column_names):
        cells = _objects(table[name])
        if cells is None:
            continue
        first = next(own for own in cells if own is not None)
        keys, size = list(first[0]), len(first)
        taken = {*table.column_names} - {name}
        free = not any(f"{key}_{i}" in taken for key in keys for i in range(size))
        table = table.remove_column(table.column_names.index(name))
        for key in keys:
            for i in range(size):
                items = typed([None if own is None else _item(own[i][key]) for own in cells])
                table = table.append_column(f"{key}_{i}" if free else f"{name}_{key}_{i}", items)
        notes.append(f"lists in {name} taken for {format_list(keys)} of every option")
    return Unfolded(table, same, tuple(notes))


def _objects(column: pa.ChunkedArray) -> list[list[dict[str, Any]] | None] | None:
    """The lists of objects that the cells write, all alike; None where they are not."""
    if not pa.types.is_string(column.type) or not _begins_list(column):
        return None
    found: list[list[dict[str, Any]] | None] = []
    shapes: set[tuple[int, frozenset[tuple[str, ...]]]] = set()
    for cell in column.to_pylist():
        own = None if is_nothing(cell) else _parsed(cell)
        if own is None and not is_nothing(cell):
            return None
        found.append(own)
        if own is not None:
            shapes.add((len(own), frozenset(tuple(one) for one in own)))
    if len(shapes) != 1:
        return None
    size, keys = next(iter(shapes))
    return found if size > 1 and len(keys) == 1 else None


def _parsed(cell: str) -> list[dict[str, Any]] | None:
    for text in (cell, cell.replace("'", '"').replace("None", "null")):
        try:
            own = json.loads(text)
        except ValueError:
            continue
        if isinstance(own, list) and own and all(isinstance(one, dict) and one for one in own):
            return own
    return None


def _unmarked(table: pa.Table, named: str | None) -> dict[str, list[list[Any] | None]]:
    """Columns of lists that no bracket marks, 0|1|1, by how many items their rows have."""
    found: dict[str, list[list[Any] | None]] = {}
    for name in table.column_names:
        if not pa.types.is_string(table[name].type):
            continue
        cells = table[name].to_pylist()
        for mark in ("|", ";", ",", " "):
            lists = _divided(cells, mark)
            if lists is not None:
                found[name] = lists
                break
    chosen = [name for name in found if name == named or is_called(CHOICES, name)]
    if not chosen:
        many = {name: own for name, own in found.items() if _shortest(own) >= _MANY}
        alike = {name: own for name, own in many.items() if _sizes(own) == _sizes(_first(many))}
        return alike if len(alike) > 1 and len(alike) == len(many) else {}
    wanted = _sizes(found[chosen[0]])
    alike = {name: own for name, own in found.items() if _sizes(own) == wanted}
    return alike if len(alike) > 1 else {}


def listed_columns(table: pa.Table) -> list[str]:
    """Columns whose cells may be lists over decisions, marked or not.

    >>> listed_columns(pa.table({"id": ["a"], "ans": ["[0, 1, 1, 0, 1]"], "won": ["1 0 1 1 0"]}))
    ['ans', 'won']
    """
    marked = {name for name, own in _list_columns(table).items() if _shortest(own) >= FEWEST}
    texts = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    bare = {
        name
        for name in texts
        if any(_divided(table[name].to_pylist(), mark) is not None for mark in ("|", ";", ",", " "))
    }
    return [name for name in table.column_names if name in marked | bare]


def _first(lists: Mapping[str, list[list[Any] | None]]) -> list[list[Any] | None]:
    return next(iter(lists.values()))


def _shortest(cells: Sequence[list[Any] | None]) -> int:
    return min((len(cell) for cell in cells if cell is not None), default=0)


def _divided(cells: Sequence[Any], mark: str) -> list[list[Any] | None] | None:
    """The lists that a mark divides the cells into; None from the first that is too short."""
    lists: list[list[Any] | None] = []
    for cell in cells:
        own = None if is_nothing(cell) else array_cell(f"[{_marked(cell, mark)}]")
        if own is not None and len(own) < FEWEST:
            return None
        lists.append(own)
    return lists if any(own is not None for own in lists) else None


def _marked(cell: str, mark: str) -> str:
    """A cell with commas between its items, if these are divided by the mark."""
    parts = cell.split() if mark == " " else cell.split(mark)
    return ",".join(part.strip() or "null" for part in parts) if len(parts) > 1 else cell


def _sizes(cells: Sequence[Any]) -> list[int | None]:
    return [None if cell is None else len(cell) for cell in cells]


def _list_columns(table: pa.Table) -> dict[str, list[list[Any] | None]]:
    """Columns whose cells are lists, and these lists."""
    found = {}
    for name in table.column_names:
        kind = table[name].type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_list(kind)):
            continue
        if not _is_list(kind) and not _begins_list(table[name]):
            continue
        cells = table[name].to_pylist()
        lists = [None if is_nothing(cell) else array_cell(cell) for cell in cells]
        given = [one for one, cell in zip(lists, cells, strict=True) if not is_nothing(cell)]
        if given and all(one for one in given):
            found[name] = lists
    return found


def _begins_list(column: pa.ChunkedArray) -> bool:
    """Whether the first cell that is filled begins as a list does."""
    first = next((cell for cell in column if cell.is_valid), None)
    return first is not None and str(first.as_py()).lstrip()[:1] in ("[", "(")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _over_decisions(
    lists: Mapping[str, Sequence[Any]], names: Sequence[str], named: str | None
) -> list[str]:
    """Columns whose lists have one item per decision: several long ones, or the choices' own."""
    lengths = {name: _sizes(cells) for name, cells in lists.items()}
    every = list(lengths.values())
    shortest = min((n for own in every for n in own if n is not None), default=0)
    if len(lists) > 1 and all(own == every[0] for own in every) and shortest >= _MANY:
        return list(lists)
    usual = any(is_called(CHOICES, name) for name in names if name not in lists)
    if usual and named not in lists:
        return []
    chosen = [
        name
        for name, own in lengths.items()
        if (name == named or is_called(CHOICES, name)) and any(n is not None and n > 1 for n in own)
    ]
    return [name for name, own in lengths.items() if chosen and own == lengths[chosen[0]]]


def _exploded(
    table: pa.Table, lists: Mapping[str, list[list[Any] | None]], names: Sequence[str]
) -> Unfolded:
    """One row per decision, from lists over decisions."""
    first = lists[names[0]]
    sizes = np.array([0 if cell is None else len(cell) for cell in first])
    rows: IntVector = np.repeat(np.arange(len(table)), sizes)
    odd = [name for name in lists if name not in names and not is_called(CHOICES, name)]
    for name in odd:
        lengths = [0 if cell is None else len(cell) for cell in lists[name]]
        wrong = [k for k, n in enumerate(lengths) if n > FEWEST and n != sizes[k]]
        if wrong:
            raise DataError(
                f"{name} must list as many items as {names[0]}, one per decision; got "
                f"{lengths[wrong[0]]} and {sizes[wrong[0]]} at {row_place(wrong[0])}. Correct the "
                "row."
            )
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in table.column_names:
        if name in names:
            items = [item for cell in lists[name] if cell is not None for item in cell]
            columns[name] = typed(items)
        else:
            columns[name] = table[name].take(pa.array(rows))
    numbers = np.concatenate([np.arange(1, n + 1) for n in sizes] or [rows])
    if DECISION not in columns:
        columns[DECISION] = pa.array(numbers)
    said = f"lists in {format_list(names)} taken for one item per decision"
    table = pa.table(columns)
    return Unfolded(table.rename_columns(_singular(table.column_names, names)), rows, (said,))


def _singular(names: Sequence[str], lists: Sequence[str]) -> list[str]:
    """Names of columns without the word that says they were lists.

    >>> _singular(["pid", "choice_seq", "rewardList"], ["choice_seq", "rewardList"])
    ['pid', 'choice', 'reward']
    """
    bare = [_LIST.sub("", name) if name in lists else name for name in names]
    alone = {name for name in bare if name and bare.count(name) == 1}
    return [own if own in alone else name for own, name in zip(bare, names, strict=True)]


def _widened(table: pa.Table, place: int, name: str, cells: Sequence[Any]) -> pa.Table:
    """A column for every item of the lists, numbered from 0."""
    size = next(len(cell) for cell in cells if cell is not None)
    table = table.remove_column(place)
    for i in range(size):
        items = typed([None if cell is None else _item(cell[i]) for cell in cells])
        table = table.add_column(place + i, f"{name}_{i}", items)
    return table


def _item(value: Any) -> Any:
    return str(value) if isinstance(value, (list, dict)) else value


def offers_apart(table: pa.Table, chosen: str | None, decimal: str = ".") -> Unfolded:
    """A table whose columns of offers in words are amounts and delays, or chances, apart.

    These are £20 in 30 days, or 50% chance of £20. A choice that repeats the words of an offer
    becomes the name of its column.
    """
    same: IntVector = np.arange(len(table))
    if chosen is None:  # answers may look like offers, too
        return Unfolded(table, same)
    parts, offered = _DELAYED, _offered(table, chosen, amount_and_delay, decimal)
    if len(offered) < 2:
        parts, offered = _GAMBLE, _offered(table, chosen, _gamble, decimal)
        risky = any(one is not None and one[1] != "1" for own in offered.values() for one in own)
        offered = offered if risky else {}
    if len(offered) < 2:
        return Unfolded(table, same)
    table = _by_words(table, chosen, list(offered))
    for name, both in offered.items():
        table = table.remove_column(table.column_names.index(name))
        for k, part in enumerate(parts):
            cells = [None if one is None else one[k] for one in both]
            table = table.append_column(f"{name}_{part}", pa.array(cells, pa.string()))
    said = f"{format_list(offered)} taken for an {parts[0]} and a {parts[1]} each"
    return Unfolded(table, same, (said,))


_DELAYED, _GAMBLE = ("amount", "delay"), ("amount", "probability")
_Offer = tuple[str, str] | None


def _gamble(cell: Any, decimal: str) -> _Offer:
    """A gamble in words; a bare number is none."""
    return None if amount(cell, decimal) is not None else amount_and_chance(cell, decimal)


def _offered(
    table: pa.Table, chosen: str | None, read: Callable[[Any, str], _Offer], decimal: str
) -> dict[str, list[_Offer]]:
    """Columns all of whose cells are offers in words, and what these say."""
    offered: dict[str, list[_Offer]] = {}
    for name in table.column_names:
        if name == chosen or not pa.types.is_string(table[name].type):
            continue
        cells = table[name].to_pylist()
        if not any(cell and any(mark.isdigit() for mark in cell) for cell in cells[:20]):
            continue
        own = [None if is_nothing(cell) else read(cell, decimal) for cell in cells]
        if any(own) and all(one or is_nothing(c) for one, c in zip(own, cells, strict=True)):
            offered[name] = own
    return offered


def _by_words(table: pa.Table, chosen: str, names: Sequence[str]) -> pa.Table:
    """The choices by the name of the column whose words they repeat, if all repeat one."""
    offers = [table[name].to_pylist() for name in names]
    taken: list[str | None] = []
    for row, cell in enumerate(table[chosen].to_pylist()):
        if is_nothing(cell):
            taken.append(None)
            continue
        own = [
            k for k, column in enumerate(offers) if str(column[row]).strip() == str(cell).strip()
        ]
        if len(own) != 1:
            return table
        taken.append(names[own[0]])
    place = table.column_names.index(chosen)
    return table.set_column(place, chosen, pa.array(taken, pa.string()))


def one_row_per_decision(
    table: pa.Table, subject: str | None, named: str | None = None
) -> Unfolded:
    """A table with one row per subject and numbered columns, with one row per decision.

    The choices are among the numbered columns, and every row is another subject's; else the table
    stays as it is.

    Parameters
    ----------
    table
        As a file holds it.
    subject
        Column that says who.
    named
        What columns of choices are called without their numbers, where somebody said so.
    """
    same: IntVector = np.arange(len(table))
    runs = _runs(table.column_names, named)
    chosen = [stem for stem in runs if stem == named or is_called(CHOICES, stem)]
    chosen.sort(key=lambda stem: stem != named)
    if not chosen and not _are_of_play(table, runs):
        return Unfolded(table, same)
    numbers = list(runs[chosen[0]] if chosen else max(map(list, runs.values()), key=len))
    stems = {stem: own for stem, own in runs.items() if [*own] == numbers}
    alone = subject is None or len({*table[subject].to_pylist()}) == len(table)
    if len(stems) < 2 or not alone or (subject is None and len(numbers) < FEWEST):
        return Unfolded(table, same)
    numbered = {name for own in stems.values() for name in own.values()}
    rows: IntVector = np.repeat(same, len(numbers))
    columns: dict[str, Any] = {
        name: table[name].take(pa.array(rows))
        for name in table.column_names
        if name not in numbered and name not in stems
    }
    if DECISION not in columns:
        columns[DECISION] = pa.array(np.tile(numbers, len(table)))
    for stem, own in stems.items():
        cells = [table[name].to_pylist() for name in own.values()]
        columns[stem] = typed([column[row] for row in same for column in cells])
    if subject is None and UNNAMED in columns and len({*table[UNNAMED].to_pylist()}) == len(table):
        columns = {"subject" if name == UNNAMED else name: own for name, own in columns.items()}
    names = [next(iter(own.values())) for own in stems.values()]
    lasts = [list(own.values())[-1] for own in stems.values()]
    firsts = [f"{a} to {b}" for a, b in zip(names, lasts, strict=True)]
    more = f" and {len(firsts) - 2} more such runs" if len(firsts) > 2 else ""
    runs_said = f"{', '.join(firsts[:2])}{more}"
    return Unfolded(pa.table(columns), rows, (f"columns {runs_said} taken for one decision each",))


def _are_of_play(table: pa.Table, runs: Mapping[str, Mapping[int, str]]) -> bool:
    """Whether many decisions have a column each, though none is called a choice: which is asked."""
    size = max(map(len, runs.values()), default=0)
    longest = [stem for stem, own in runs.items() if len(own) == size]
    paid = any(is_called(USUAL["reward"], stem) for stem in longest)
    numbers = {str(number) for own in runs.values() for number in own}
    free = not any(
        is_called(CHOICES, name) and {*map(str, table[name].drop_null().to_pylist())} <= numbers
        for name in table.column_names
    )
    return size >= _MANY and len(longest) > 1 and paid and free


def _runs(names: Sequence[str], named: str | None = None) -> dict[str, dict[int, str]]:
    """Columns that are numbered on, by what is left of the name without its number."""
    best: dict[str, dict[int, str]] = {}
    usual = (*CHOICES, *USUAL["reward"], *([named] if named else []))
    for runs in numbered_on(names):
        if any(is_called(usual, stem) for stem in runs) and len(runs) > len(best):
            best = runs
    return best
