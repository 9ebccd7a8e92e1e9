"""Episodes from a long table: one row per event."""

from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import IntVector, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.events import check_events, read_events
from penchant.choices.exact import EXACT_INTEGERS, Place
from penchant.choices.frames import (
    Table,
    check_columns,
    check_roles,
    column_flags,
    column_floats,
    column_labels,
    open_frame,
    row_place,
)
from penchant.choices.ids import check_present, joint_codes
from penchant.choices.labels import Coded
from penchant.errors import DataError, listing

Owners = dict[str, Coded]


def episodes_from_frame(
    frame: Any,
    *,
    chosen: Any,
    reward: Any,
    subject: Any = None,
    block: Any = None,
    decision: Any = None,
    is_choice: Any = None,
    scored: Any = None,
    base: int = 0,
) -> list[Episode]:
    """Episodes from a long table with one row per event, sorted by subject and block.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table; columns that are not named here are not read.
    chosen
        Column of the option's number; empty or -1 where nothing was chosen in time.
    reward
        Column of the reward; empty where nothing was chosen.
    subject, block
        Columns that name the person and the play: every pair is an episode of its own.
    decision
        Column that numbers the events of each episode from 0 or 1 without a gap; rows are sorted by
        it. If not given, the rows of an episode are in order of time already.
    is_choice
        Column of True/False or 0/1: 0 for options that were shown, not chosen.
    scored
        Column of True/False or 0/1: 0 for decisions that shall not enter the likelihood.
    base
        Number of the first option, 0 or 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penchant.bandit import episodes_from_frame
    >>> table = pa.table(
    ...     {
    ...         "who": ["bo", "bo", "al", "al", "al"],
    ...         "trial": [1, 2, 3, 2, 1],
    ...         "square": [7, 3, 2, None, 2],
    ...         "points": [12.5, 30.0, 18.0, None, 22.0],
    ...     }
    ... )
    >>> al, bo = episodes_from_frame(
    ...     table, chosen="square", reward="points", subject="who", decision="trial"
    ... )
    >>> al.chosen
    array([ 2, -1,  2])
    >>> bo
    Episode: 2 decisions scored of 2 events, subject bo
    """
    if base not in (0, 1):
        raise DataError(
            f"base must be 0 or 1; got {base!r}. Say which number the first option has."
        )
    roles = {"chosen": chosen, "reward": reward, "subject": subject, "block": block}
    roles |= {"decision": decision, "is_choice": is_choice, "scored": scored}
    table = _checked(frame, {role: (name,) for role, name in roles.items() if name is not None})
    owners = _owners(table, {"subject": subject, "block": block})
    number = None if decision is None else _numbers(table, decision, owners)
    order, start = _in_time(owners, number, len(table))
    place = _places(order, owners, number)
    events = read_events(
        _floats(table, chosen, "chosen")[order],
        _floats(table, reward, "reward")[order],
        None if is_choice is None else column_flags(table, is_choice, "is_choice")[order],
        None if scored is None else column_flags(table, scored, "scored")[order],
        place,
        base,
    )
    stop = np.append(start[1:], len(order))
    last = np.zeros(len(order), dtype=bool)
    last[stop - 1] = True
    check_events(events, last, place)
    return [
        Episode.of_events(
            events.between(a, b), **{role: coded.at(order[a]) for role, coded in owners.items()}
        )
        for a, b in zip(start.tolist(), stop.tolist(), strict=True)
    ]


def _checked(frame: Any, roles: dict[str, tuple[Any]]) -> Table:
    table = open_frame(frame)
    check_columns(table, roles)
    check_roles(roles)
    return table


def _owners(table: Table, names: dict[str, Any]) -> Owners:
    """Labels of the person and of the play, where they are given."""
    named = [(role, name) for role, name in names.items() if name is not None]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    return {role: labels for (role, _), labels in zip(named, coded, strict=True)}


def _in_time(owners: Owners, number: IntVector | None, n_rows: int) -> tuple[IntVector, IntVector]:
    """Rows sorted by episode and time, and where in that order each episode starts."""
    episode: IntVector = np.zeros(n_rows, dtype=np.int64)
    if owners:
        episode, _ = joint_codes(tuple(owners.values()))
    order = np.argsort(episode, kind="stable") if number is None else np.lexsort((number, episode))
    start = np.flatnonzero(np.diff(episode[order], prepend=-1))
    if number is not None:
        _check_count(number[order], start, order, owners)
    return order, start


def _numbers(table: Table, name: Any, owners: Owners) -> IntVector:
    numbers = _floats(table, name, "decision")
    with np.errstate(invalid="ignore"):
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= EXACT_INTEGERS)
    wrong = np.flatnonzero(~whole)
    if wrong.size:
        place = _places(np.arange(len(numbers)), owners, None)
        cells = (_cell(numbers[row], place(row)) for row in wrong[:11])
        raise DataError(
            f"decision must hold whole numbers; got {listing(cells, wrong.size)}. "
            "Number the decisions of every episode from 0 or 1."
        )
    return numbers.astype(np.int64)


def _floats(table: Table, name: Any, role: str) -> Vector:
    series = table[name]
    if series.dtype.is_integer() and series.null_count():
        # `column_floats` cannot fill empty cells of pyarrow's integers
        table = table.with_columns(series.cast(nw.Float64))
    return column_floats(table, name, role)


def _cell(value: float, place: str) -> str:
    return f"{'an empty cell' if np.isnan(value) else format(value, 'g')} at {place}"


def _check_count(numbers: IntVector, start: IntVector, order: IntVector, owners: Owners) -> None:
    """Every episode counts from 0 or 1, in steps of 1."""
    place = _places(order, owners, None)
    wrong = start[(numbers[start] != 0) & (numbers[start] != 1)]
    if wrong.size:
        cells = (f"{numbers[k]} at {place(k)}" for k in wrong[:11])
        raise DataError(
            "decision must start at 0 or 1 in every episode; "
            f"got {listing(cells, wrong.size)}. Number the decisions of each subject and block "
            "afresh, and add the rows that are missing, with an empty choice."
        )
    step = np.diff(numbers, prepend=numbers[0] - 1)
    step[start] = 1
    again = np.flatnonzero(step == 0)
    if again.size:
        cells = (f"{numbers[k]} again at {place(k)}" for k in again[:11])
        raise DataError(
            f"decision must differ between the rows of an episode; got "
            f"{listing(cells, again.size)}. Name `subject` and `block`, or drop repeated rows."
        )
    gap = np.flatnonzero(step > 1)
    if gap.size:
        cells = (f"{numbers[k]} after {numbers[k - 1]} at {place(k)}" for k in gap[:11])
        raise DataError(
            f"decision must count on without a gap; got {listing(cells, gap.size)}. "
            "Add a row with an empty choice and an empty reward for each decision missed."
        )


def _places(order: IntVector, owners: Owners, number: IntVector | None) -> Place:
    def place(k: int) -> str:
        row = int(order[k])
        names = [f"{role} {coded.at(row)}" for role, coded in owners.items()]
        names += [] if number is None else [f"decision {number[row]}"]
        return row_place(row) + (f" ({', '.join(names)})" if names else "")

    return place
