"""Episodes from a long table: one row per event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import IntVector, Vector
from penchant.bandit.episode import Episode, Seen, read_seen
from penchant.bandit.landscape import check_locations
from penchant.errors import DataError, argument, either, format_list
from penchant.output import preserve_frame_backend
from penchant.tables.columns import flagged
from penchant.tables.events import Events, check_events, read_events
from penchant.tables.frames import (
    Table,
    check_columns,
    check_present,
    check_roles,
    column_flags,
    column_floats,
    column_labels,
    joint_codes,
    joint_labels,
    open_frame,
    row_place,
)
from penchant.tables.labels import Coded
from penchant.tables.numbers import EXACT_INTEGERS, Place
from penchant.tables.options import labelled_options, placed_options, written_options
from penchant.tables.play import (
    ABSENT,
    GAPS,
    Gaps,
    InTime,
    MissingReward,
    check_policy,
    chosen_after,
    doubt_marks,
    doubt_zero,
    in_time,
    without_fillers,
    without_unknown,
)
from penchant.tables.where import where_said

Owners = dict[str, Coded]
Seeable = str | Sequence[Any] | Mapping[str, Any]

FEW_BLOCKS = 20  # labels of a column that may name the plays of people


@preserve_frame_backend
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
    executed: Any = None,
    base: int = 0,
    options: Sequence[Any] | None = None,
    locations: Any = None,
    gaps: Gaps = "error",
    shown: int = 0,
    missing_reward: MissingReward = "error",
    before: Seeable = (),
    after: Seeable = (),
    available: Sequence[Any] = (),
) -> list[Episode]:
    """Episodes from a long table with one row per event, sorted by subject and block.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table; columns that are not named here are not read.
    chosen
        Column of the option's number; empty or -1 where nothing was chosen in time, with `base` 1
        also 0. With `options` the column of its label; with `locations` a tuple of columns, its
        coordinates.
    reward
        Column of the reward; where nothing was chosen empty, always 0 or always -1. A tuple of two
        columns, gain and loss, stands for gain - abs(loss).
    subject, block
        Columns that name the person and the play: every pair is an episode of its own. A play may
        be named by several columns, such as ("session", "block"); its label is then like "1/3".
    decision
        Column that numbers the events of each episode from 0 or 1 without a gap, or that runs on
        through the blocks of a subject; rows are sorted by it. If not given, the rows of an episode
        are in order of time already.
    is_choice
        Column of True/False or 0/1: 0 for options that were shown, not chosen. "not forced" stands
        for a column that says the opposite, here one called forced.
    scored
        Column of True/False or 0/1: 0 for decisions that shall not enter the likelihood.
    executed
        Column of the option that was done, written as in `chosen`, where it may be another: the
        reward is its own, and it is learnt from. Empty where nothing was done.
    base
        Number of the first option, 0 or 1; with `locations`, of the first coordinate.
    options
        Labels of all options, in the order of their indices.
    locations
        Where the options lie: (n_options, n_coordinates).
    gaps
        What a gap in the numbers of the decisions means: "error", "timeout" (a decision without a
        choice has no row), or "order" (nothing: the numbers only say what came first).
    shown
        How many options were shown, not chosen, at the start of every episode, beside those that
        `is_choice` says: 1 where a round starts with a tile that is turned over already.
    missing_reward
        What a choice before the last means whose reward is not known: "error"; "truncate" (the
        episode ends with it: the choice is scored, what comes after is left out); or "skip" (it is
        taken for a decision without a choice: counted in time, neither scored nor learnt from).
    before, after
        Columns of what was seen at a decision, such as a cue, and learnt after it, such as a gain
        and a loss; or {name: column}.
    available
        Columns of True/False or 0/1, one for every option: whether it could be chosen.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penchant import episodes_from_frame
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
    _check_settings(base, gaps, chosen, options, locations)
    check_policy(missing_reward)
    roles = {"chosen": chosen, "reward": reward, "subject": subject, "block": block}
    roles |= {"decision": decision, "is_choice": is_choice, "scored": scored}
    roles |= {"executed": executed}
    named = {role: _names(flagged(name)[0]) for role, name in roles.items() if name is not None}
    told = {"before": _columns(before), "after": _columns(after)}
    check_columns(
        open_frame(frame),
        {role: tuple(names.values()) for role, names in told.items() if names}
        | ({"available": tuple(available)} if len(available) else {}),
    )
    table = _checked(frame, named)
    owners = _owners(table, {"subject": subject, "block": block})
    order, number = _event_order(table, owners, decision, gaps, subject, block)
    picked, first = _picked(table, chosen, base, options, locations, _row_places(owners))
    rewards = _rewards(table, reward)
    done = picked
    if executed is not None:
        done, _ = _picked(
            table, executed, base, options, locations, _row_places(owners), "executed"
        )
    if not isinstance(chosen, (tuple, list)) and options is None:
        doubt_marks(picked)
        if base == 0:
            doubt_zero(done, rewards, _row_places(owners))
    done, rewards = without_fillers(done, rewards, first)
    picked = done if executed is None else picked
    events = read_events(
        _in_order(picked, order.rows, np.nan),
        _in_order(rewards, order.rows, np.nan),
        _choices(table, is_choice, shown, order),
        _flags(table, scored, "scored", order.rows),
        _places(order.rows, owners, number),
        first,
        None if executed is None else _in_order(done, order.rows, np.nan),
    )
    events, order = without_unknown(events, order, missing_reward)
    last = np.zeros(len(order.rows), dtype=bool)
    last[order.stop - 1] = True
    check_events(events, last, _places(order.rows, owners, number))
    place = _places(order.rows, owners, number)
    seen = _seen(table, told, available, events, order, place)
    return _episodes(events, order, owners, seen)


def episode_rows(
    frame: Any,
    *,
    subject: Any = None,
    block: Any = None,
    decision: Any = None,
    gaps: Gaps = "error",
) -> list[IntVector]:
    """Rows of the table that each of `episodes_from_frame` comes from, one per event.

    A decision that has no row, as time ran out, is -1. Where an episode ends with a choice whose
    reward is missing, what comes after it in the table has rows all the same.

    Parameters
    ----------
    frame, subject, block, decision, gaps
        As in `episodes_from_frame`.

    Examples
    --------
    >>> import penchant as pn
    >>> import pyarrow as pa
    >>> table = pa.table({"who": ["bo", "al", "bo", "al"], "trial": [2, 1, 1, 2]})
    >>> [rows.tolist() for rows in pn.results.episode_rows(table, subject="who", decision="trial")]
    [[1, 3], [2, 0]]
    """
    table = open_frame(frame)
    owners = _owners(table, {"subject": subject, "block": block})
    order, _ = _event_order(table, owners, decision, gaps, subject, block)
    return [order.rows[a:b] for a, b in zip(order.start, order.stop, strict=True)]


def _event_order(
    table: Table, owners: Owners, decision: Any, gaps: Gaps, subject: Any, block: Any
) -> tuple[InTime, IntVector | None]:
    """Rows in order of episode and time, and the number of each row's decision."""
    zeros: IntVector = np.zeros(len(table), dtype=np.int64)
    episode = joint_codes(tuple(owners.values()))[0] if owners else zeros
    person = owners["subject"].codes if "subject" in owners else zeros
    number = None if decision is None else _numbers(table, decision, owners)
    if number is None:
        return in_time(episode, person, None, gaps, _row_places(owners)), None

    def apart() -> str:
        columns = _telling_apart(table, episode, number)
        found = _remedy(table, columns, subject, block) or _restarting(episode, number, decision)
        found = found or _in_any_order(table, episode, number, block)
        return f"{found}, or drop repeated rows.{_one_label(table, columns)}" if found else ""

    return in_time(episode, person, number, gaps, _row_places(owners), apart), number


def _remedy(table: Table, columns: Sequence[Any], subject: Any, block: Any) -> str:
    """What to do about repeated numbers that a column tells apart; "" where none does."""
    if not columns:
        return ""
    names = " or ".join(map(str, columns))
    known = [name for name in _names(block) if name is not None]
    blocks = " or ".join(argument("block", _coarse_first(table, [*known, c])) for c in columns)
    if subject is None:
        people = " or ".join(argument("subject", str(column)) for column in columns)
        ways = f"{people} if it names people, or {blocks}"
        return f"Column {names} tells them apart: add {ways} if each of its labels is a play"
    both = either(
        f"subject='{subject}+{columns[0]}' of `read`", f"--subject {subject}+{columns[0]}"
    )
    return (
        f"Column {names} tells them apart: add {blocks} if each of its labels is a play of its "
        f"own, {both} if the same label of {subject} is several people"
    )


def _coarse_first(table: Table, columns: Sequence[Any]) -> str | tuple[str, ...]:
    """Columns that tell plays apart, those that change least often first: sessions, then blocks."""
    changes = {}
    for name in columns:
        cells = table[name].to_list()
        changes[str(name)] = sum(a != b for a, b in pairwise(cells))
    ordered = tuple(sorted(changes, key=lambda name: changes[name]))
    return ordered if len(ordered) > 1 else ordered[0]


FEWEST_REPEATED = 0.1  # share of rows whose numbers are repeated because plays are not told apart


def _in_any_order(table: Table, episode: IntVector, number: IntVector, block: Any) -> str:
    """One or two columns that tell repeated numbers apart, though rows stand in no order."""
    plays = np.unique(np.stack([episode, number], axis=1), axis=0)
    if len(number) - len(plays) < max(3, FEWEST_REPEATED * len(number)):
        return ""  # rows that were written twice
    known = [name for name in _names(block) if name is not None]
    coded: dict[Any, IntVector] = {}
    for name in table.columns:
        try:
            codes = column_labels(table, name, "block").codes
        except DataError:
            continue
        if name not in known and (codes >= 0).all() and 1 < len(np.unique(codes)) <= FEW_BLOCKS:
            coded[name] = codes
    for names in (*((name,) for name in coded), *combinations(coded, 2)):
        own = np.stack([episode, number, *(coded[name] for name in names)], axis=1)
        if len(np.unique(own, axis=0)) == len(number):
            told = " and ".join(map(str, names))
            said = argument("block", _coarse_first(table, [*known, *names]))
            return (
                f"By {told} they are told apart: pass {said} if these are plays of their own, or "
                f"{_kept(table, names[-1])} if the other rows are no part of it"
            )
    return ""


def _one_label(table: Table, columns: Sequence[Any]) -> str:
    """That rows of one label alone may be meant, as those of a test after practice."""
    if len(columns) != 1:
        return ""
    return f" Or pass {_kept(table, columns[0])} if the other rows are no part of it."


def _kept(table: Table, column: Any) -> str:
    """A condition that keeps the rows of the label that most have, as an argument."""
    cells = [cell for cell in table[column].to_list() if cell is not None]
    name = str(column) if str(column).isidentifier() else f"`{column}`"
    kept = where_said(f"{name} == {max(cells, key=cells.count)!r}")
    return f"{kept}{either(' to `read`', '')}"


def _restarting(episode: IntVector, number: IntVector, decision: Any) -> str:
    """What to do about numbers that begin anew in the rows of a person; "" where they do not."""
    for one in np.unique(episode):
        own = number[episode == one]
        falls = np.diff(own, prepend=own[0] - 1) <= 0
        plays = np.cumsum(falls)
        if (own[falls] != own[0]).any() or len(
            np.unique(np.stack([plays, own], axis=1), axis=0)
        ) < len(own):
            return ""
    fresh = either(f"block='restarts({decision})' of `read`", f"--block 'restarts({decision})'")
    on = either("decision='none' of `read`", "--decision none")
    return (
        f"{decision} begins anew among the rows of a subject: add {fresh} if each time another "
        f"play begins, in which beliefs start afresh; {on} if it goes on in the order of the rows"
    )


def _telling_apart(table: Table, episode: IntVector, number: IntVector) -> list[Any]:
    """Columns of few labels, each of rows that stand together, that divide episodes into plays.

    In a play no two rows have the same number.
    """
    found = []
    for name in table.columns:
        try:
            own = column_labels(table, name, "block").codes
        except DataError:
            continue
        if len(np.unique(own)) > FEW_BLOCKS or (own < 0).any():
            continue
        apart = len(np.unique(np.stack([episode, number, own], axis=1), axis=0)) == len(own)
        plays = np.stack([episode, own], axis=1)
        runs = 1 + int((np.diff(plays, axis=0) != 0).any(axis=1).sum())
        if apart and runs == len(np.unique(plays, axis=0)) <= len(own) / 2:
            found.append(name)
    return found


def _check_settings(base: int, gaps: Gaps, chosen: Any, options: Any, locations: Any) -> None:
    if base not in (0, 1):
        raise DataError(
            f"base must be 0 or 1; got {base!r}. Say which number the first option has."
        )
    if gaps not in GAPS:
        raise DataError(f"gaps must be one of {', '.join(GAPS)}; got {gaps!r}. Choose one.")
    several = isinstance(chosen, (tuple, list))
    if several and locations is None:
        raise DataError(
            f"{argument('locations')} must be given where the columns of chosen are coordinates; "
            "got none. Say where the options lie, e.g. "
            f"{either('locations=grid(10, 10)', '--grid 10x10')}."
        )
    if several and options is not None:
        raise DataError(
            f"{argument('options')} must be left out where the columns of chosen are coordinates; "
            "got labels. Name the one column that holds the label."
        )


def _names(name: Any) -> tuple[Any, ...]:
    return tuple(name) if isinstance(name, (tuple, list)) else (name,)


def _checked(frame: Any, roles: dict[str, tuple[Any, ...]]) -> Table:
    table = open_frame(frame)
    check_columns(table, roles)
    check_roles(roles)
    return table


def _owners(table: Table, names: dict[str, Any]) -> Owners:
    """Labels of the person and of the play, where they are given."""
    named = [(role, name) for role, given in names.items() for name in _names(given)]
    named = [(role, name) for role, name in named if name is not None]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    parts: dict[str, list[Coded]] = {}
    for (role, _), labels in zip(named, coded, strict=True):
        parts.setdefault(role, []).append(labels)
    return {role: joint_labels(columns) for role, columns in parts.items()}


def _picked(
    table: Table,
    chosen: Any,
    base: int,
    options: Any,
    locations: Any,
    place: Place,
    role: str = "chosen",
) -> tuple[Vector, int]:
    """Number of the option of each row, and the number that they are counted from."""
    if isinstance(chosen, (tuple, list)):
        return placed_options(table, chosen, check_locations(locations), base, place), 0
    if options is not None:
        return labelled_options(table, chosen, options, place)[0], 0
    if _is_text(table, chosen):
        return written_options(table, chosen, place), base
    return _floats(table, chosen, role), base


def _is_text(table: Table, name: Any) -> bool:
    """Whether cells are text, at least some of them."""
    series = table[name]
    if series.dtype == nw.Object:
        return any(isinstance(cell, str) for cell in series.to_list())
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _rewards(table: Table, reward: Any) -> Vector:
    if not isinstance(reward, (tuple, list)):
        return _floats(table, reward, "reward")
    if len(reward) != 2:
        raise DataError(
            f"reward must be one column, or two: gain and loss; got {len(reward)}. Correct it."
        )
    gain, loss = (_floats(table, name, "reward") for name in reward)
    return gain - np.abs(loss)


def _flags(table: Table, name: Any, role: str, rows: IntVector) -> Any:
    if name is None:
        return None
    column, is_opposite = flagged(name)
    return _in_order(column_flags(table, column, role) ^ is_opposite, rows, True)


def _choices(table: Table, is_choice: Any, shown: int, order: InTime) -> Any:
    """Which events are choices, in order; None where all are."""
    flags = _flags(table, is_choice, "is_choice", order.rows)
    if shown == 0:
        return flags
    after = chosen_after(shown, order.start, len(order.rows))
    return after if flags is None else np.where(after, flags, False)


def _in_order(values: Any, rows: IntVector, absent: Any) -> Any:
    return np.where(rows == ABSENT, absent, values[rows])


def _columns(given: Seeable) -> dict[str, Any]:
    """Columns by the name that they have in episodes."""
    if isinstance(given, Mapping):
        return dict(given)
    names = (given,) if isinstance(given, str) else tuple(given)
    return {str(name): name for name in names}


def _seen(
    table: Table,
    told: dict[str, dict[str, Any]],
    available: Sequence[Any],
    events: Events,
    order: InTime,
    place: Place,
) -> Seen:
    """What was seen and learnt at all events, and which options there were, in order."""
    found = {
        role: {
            name: _in_order(_floats(table, column, role), order.rows, np.nan)
            for name, column in names.items()
        }
        for role, names in told.items()
    }
    masks = [_in_order(column_flags(table, c, "available"), order.rows, True) for c in available]
    return read_seen(
        found["before"],
        found["after"],
        np.column_stack(masks) if masks else None,
        events,
        place,
    )


def _episodes(events: Events, order: InTime, owners: Owners, seen: Seen) -> list[Episode]:
    """One episode for each run of events; its last row, which is never absent, says whose."""
    return [
        Episode.of_events(
            events.between(a, b),
            seen=seen.at(slice(a, b)),
            **{role: coded.at(order.rows[b - 1]) for role, coded in owners.items()},
        )
        for a, b in zip(order.start.tolist(), order.stop.tolist(), strict=True)
    ]


def _numbers(table: Table, name: Any, owners: Owners) -> IntVector:
    numbers = _floats(table, name, "decision")
    with np.errstate(invalid="ignore"):
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= EXACT_INTEGERS)
    wrong = np.flatnonzero(~whole)
    if wrong.size:
        place = _row_places(owners)
        cells = (_cell(numbers[row], place(row)) for row in wrong[:11])
        raise DataError(
            f"decision must hold whole numbers; got {format_list(cells, wrong.size)}. "
            f"Number the decisions of every episode from 0 or 1{_unnumbered(name, numbers)}."
        )
    return numbers.astype(np.int64)


def _unnumbered(name: Any, numbers: Vector) -> str:
    """How to leave out rows that have no number, where that alone is wrong."""
    given = numbers[~np.isnan(numbers)]
    if len(given) in (0, len(numbers)) or (given != np.floor(given)).any():
        return ""
    column = str(name) if str(name).isidentifier() else f"`{name}`"
    kept = where_said(f"{column} >= {given.min():g}")
    return f", or pass {kept}{either(' to `read`', '')} if nobody decided in the other rows"


def _floats(table: Table, name: Any, role: str) -> Vector:
    series = table[name]
    if series.dtype.is_integer() and series.null_count():
        # `column_floats` cannot fill empty cells of pyarrow's integers
        table = table.with_columns(series.cast(nw.Float64))
    return column_floats(table, name, role)


def _cell(value: float, place: str) -> str:
    return f"{'an empty cell' if np.isnan(value) else format(value, 'g')} at {place}"


def _row_places(owners: Owners) -> Place:
    """Where a row of the table is, and whose it is."""

    def place(row: int) -> str:
        names = [f"{role} {coded.at(row)}" for role, coded in owners.items()]
        return row_place(int(row)) + (f" ({', '.join(names)})" if names else "")

    return place


def _places(rows: IntVector, owners: Owners, number: IntVector | None) -> Place:
    """Where an event is: its row, whose it is, and its number."""

    def place(k: int) -> str:
        row = int(rows[k])
        names = [f"{role} {coded.at(row)}" for role, coded in owners.items()]
        names += [] if number is None else [f"decision {number[row]}"]
        return row_place(row) + (f" ({', '.join(names)})" if names else "")

    return place
