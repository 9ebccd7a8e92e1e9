"""Episodes from a long table with one row per event.

Rows are sorted by subject, block and decision, options coded from numbers, labels or coordinates,
and everything is checked before episodes are made. Where numbers of decisions repeat, the error
proposes the columns by which they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import IntVector, Vector
from penchant.argument_checks import check_one_of
from penchant.bandit.episode import Episode, EventContext, read_event_context
from penchant.bandit.landscape import check_locations
from penchant.errors import DataError, PythonExpression, format_list, mark_argument
from penchant.tables.columns import flagged, in_condition
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
ContextColumns = str | Sequence[Any] | Mapping[str, Any]

# Distinct labels; a column with more hardly names the plays of a person, so it is not proposed.
MAX_BLOCK_LABELS = 20


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
    before: ContextColumns = (),
    after: ContextColumns = (),
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
    _check_episode_settings(base, gaps, chosen, options, locations)
    check_policy(missing_reward)
    roles = {"chosen": chosen, "reward": reward, "subject": subject, "block": block}
    roles |= {"decision": decision, "is_choice": is_choice, "scored": scored}
    roles |= {"executed": executed}
    named = {role: _as_tuple(flagged(name)[0]) for role, name in roles.items() if name is not None}
    context = {"before": _context_columns_by_name(before), "after": _context_columns_by_name(after)}
    check_columns(
        open_frame(frame),
        {role: tuple(names.values()) for role, names in context.items() if names}
        | ({"available": tuple(available)} if len(available) else {}),
    )
    table = _open_table_and_check_columns(frame, named)
    owners = _subject_and_block_labels(table, {"subject": subject, "block": block})
    order, number = _events_in_time_order(table, owners, decision, gaps, subject, block)
    picked, first = _option_numbers_and_base(
        table, chosen, base, options, locations, _row_describer(owners)
    )
    rewards = _reward_column(table, reward)
    done = picked
    if executed is not None:
        done, _ = _option_numbers_and_base(
            table, executed, base, options, locations, _row_describer(owners), "executed"
        )
    if not isinstance(chosen, (tuple, list)) and options is None:
        # Only numbers as they are in the file can be codes such as 99 for a missing response.
        doubt_marks(picked)
        if base == 0:
            doubt_zero(done, rewards, _row_describer(owners))
    # Programs write 0 or -1 as the reward of no choice; such rewards are missing, not paid.
    done, rewards = without_fillers(done, rewards, first)
    picked = done if executed is None else picked
    events = read_events(
        _take_rows_or_absent(picked, order.rows, np.nan),
        _take_rows_or_absent(rewards, order.rows, np.nan),
        _choice_flags(table, is_choice, shown, order),
        _flags_in_time_order(table, scored, "scored", order.rows),
        _event_row_describer(order.rows, owners, number),
        first,
        None if executed is None else _take_rows_or_absent(done, order.rows, np.nan),
    )
    events, order = without_unknown(events, order, missing_reward)
    last = np.zeros(len(order.rows), dtype=bool)
    # Only the last reward may be missing, as no choice follows that it could explain.
    last[order.stop - 1] = True
    check_events(events, last, _event_row_describer(order.rows, owners, number))
    place = _event_row_describer(order.rows, owners, number)
    seen = _read_context(table, context, available, events, order, place)
    return _split_episodes(events, order, owners, seen)


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
    owners = _subject_and_block_labels(table, {"subject": subject, "block": block})
    order, _ = _events_in_time_order(table, owners, decision, gaps, subject, block)
    return [order.rows[a:b] for a, b in zip(order.start, order.stop, strict=True)]


def _events_in_time_order(
    table: Table, owners: Owners, decision: Any, gaps: Gaps, subject: Any, block: Any
) -> tuple[InTime, IntVector | None]:
    """Sort rows by episode and time; return also the number of each row's decision, if given."""
    # Without a subject and a block nothing divides the rows: they are one episode.
    zeros: IntVector = np.zeros(len(table), dtype=np.int64)
    episode = joint_codes(tuple(owners.values()))[0] if owners else zeros
    person = owners["subject"].codes if "subject" in owners else zeros
    number = None if decision is None else _decision_numbers(table, decision, owners)
    if number is None:
        return in_time(episode, person, None, gaps, _row_describer(owners)), None

    def repeated_number_remedy() -> str:
        # The likeliest cause first: a column of blocks, a counter that restarts, unsorted rows.
        columns = _candidate_block_columns(table, episode, number)
        found = _block_column_remedy(table, columns, subject, block) or _restarted_numbering_remedy(
            episode, number, decision
        )
        return f"{found}, or drop repeated rows." if found else ""

    return in_time(
        episode, person, number, gaps, _row_describer(owners), repeated_number_remedy
    ), number


def _block_column_remedy(table: Table, columns: Sequence[Any], subject: Any, block: Any) -> str:
    """Remedy for repeated numbers that differ in one of these columns; "" without columns."""
    if not columns:
        return ""
    names = " or ".join(map(str, columns))
    known = [name for name in _as_tuple(block) if name is not None]
    blocks = " or ".join(
        mark_argument("block", _sort_columns_by_changes(table, [*known, c])) for c in columns
    )
    if subject is None:
        people = " or ".join(mark_argument("subject", str(column)) for column in columns)
        ways = f"{people} if it names people, or {blocks}"
        return f"Column {names} tells them apart: add {ways} if each of its labels is a play"
    both = (
        f"{mark_argument('subject', (str(subject), str(columns[0])))}{mark_argument(' of `read`')}"
    )
    return (
        f"Column {names} tells them apart: add {blocks} if each of its labels is a play of its "
        f"own, {both} if the same label of {subject} is several people"
    )


def _sort_columns_by_changes(table: Table, columns: Sequence[Any]) -> str | tuple[str, ...]:
    """Sort columns by how often their cells change between rows: sessions before blocks."""
    changes = {}
    for name in columns:
        cells = table[name].to_list()
        changes[str(name)] = sum(a != b for a, b in pairwise(cells))
    ordered = tuple(sorted(changes, key=lambda name: changes[name]))
    return ordered if len(ordered) > 1 else ordered[0]


def _restarted_numbering_remedy(episode: IntVector, number: IntVector, decision: Any) -> str:
    """Remedy for numbers that start again among the rows of a subject; "" if they do not."""
    for one in np.unique(episode):
        own = number[episode == one]
        falls = np.diff(own, prepend=own[0] - 1) <= 0
        plays = np.cumsum(falls)
        # Every play must begin with the same number, and have no number twice.
        if (own[falls] != own[0]).any() or len(
            np.unique(np.stack([plays, own], axis=1), axis=0)
        ) < len(own):
            return ""
    first = number[episode == episode[0]][0]
    return (
        f"{decision} begins anew among the rows of a subject. If another play begins there, number "
        f"the plays, table['play'] = (table[{decision!r}] == {first}).cumsum(), and add "
        f"{mark_argument('block', 'play')}. If it goes on, leave {decision} out"
    )


def _candidate_block_columns(table: Table, episode: IntVector, number: IntVector) -> list[Any]:
    """Columns that may name blocks: few labels, and no number repeats within one.

    Rows of a block must stand together, and have two rows on average, or any code would qualify.
    """
    found = []
    for name in table.columns:
        try:
            own = column_labels(table, name, "block").codes
        except DataError:
            continue
        if len(np.unique(own)) > MAX_BLOCK_LABELS or (own < 0).any():
            continue
        apart = len(np.unique(np.stack([episode, number, own], axis=1), axis=0)) == len(own)
        plays = np.stack([episode, own], axis=1)
        runs = 1 + int((np.diff(plays, axis=0) != 0).any(axis=1).sum())
        if apart and runs == len(np.unique(plays, axis=0)) <= len(own) / 2:
            found.append(name)
    return found


def _check_episode_settings(
    base: int, gaps: Gaps, chosen: Any, options: Any, locations: Any
) -> None:
    check_one_of(base, "base", (0, 1), "Say which number the first option has.")
    check_one_of(gaps, "gaps", GAPS)
    several = isinstance(chosen, (tuple, list))
    if several and locations is None:
        raise DataError(
            "locations",
            "must be given where the columns of chosen are coordinates",
            got="none",
            fix=(
                "Say where the options lie, e.g. "
                f"{mark_argument('locations', PythonExpression('grid(10, 10)'))}."
            ),
        )
    if several and options is not None:
        raise DataError(
            "options",
            "must be left out where the columns of chosen are coordinates",
            got="labels",
            fix="Name the one column that holds the label.",
        )


def _as_tuple(name: Any) -> tuple[Any, ...]:
    return tuple(name) if isinstance(name, (tuple, list)) else (name,)


def _open_table_and_check_columns(frame: Any, roles: dict[str, tuple[Any, ...]]) -> Table:
    table = open_frame(frame)
    check_columns(table, roles)
    check_roles(roles)
    return table


def _subject_and_block_labels(table: Table, names: dict[str, Any]) -> Owners:
    """Labels of subject and block of each row, for those of the two that are given."""
    named = [(role, name) for role, given in names.items() for name in _as_tuple(given)]
    named = [(role, name) for role, name in named if name is not None]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    parts: dict[str, list[Coded]] = {}
    for (role, _), labels in zip(named, coded, strict=True):
        parts.setdefault(role, []).append(labels)
    return {role: joint_labels(columns) for role, columns in parts.items()}


def _option_numbers_and_base(
    table: Table,
    chosen: Any,
    base: int,
    options: Any,
    locations: Any,
    place: Place,
    role: str = "chosen",
) -> tuple[Vector, int]:
    """Option of each row as a number, and the number of the first option."""
    if isinstance(chosen, (tuple, list)):
        return placed_options(table, chosen, check_locations(locations), base, place), 0
    if options is not None:
        return labelled_options(table, chosen, options, place)[0], 0
    if _is_text_column(table, chosen):
        return written_options(table, chosen, place), base
    return _float_column(table, chosen, role), base


def _is_text_column(table: Table, name: Any) -> bool:
    """Whether a column holds text; of mixed cells, whether some are."""
    series = table[name]
    if series.dtype == nw.Object:
        return any(isinstance(cell, str) for cell in series.to_list())
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _reward_column(table: Table, reward: Any) -> Vector:
    if not isinstance(reward, (tuple, list)):
        return _float_column(table, reward, "reward")
    if len(reward) != 2:
        raise DataError(
            "reward",
            "must be one column, or two: gain and loss",
            got=len(reward),
            fix="Correct it.",
        )
    # The loss counts as one, with whichever sign it is written.
    gain, loss = (_float_column(table, name, "reward") for name in reward)
    return gain - np.abs(loss)


def _flags_in_time_order(table: Table, name: Any, role: str, rows: IntVector) -> Any:
    if name is None:
        return None
    column, is_opposite = flagged(name)
    return _take_rows_or_absent(column_flags(table, column, role) ^ is_opposite, rows, True)


def _choice_flags(table: Table, is_choice: Any, shown: int, order: InTime) -> Any:
    """Mask of the events that are choices, in order; None if all are."""
    flags = _flags_in_time_order(table, is_choice, "is_choice", order.rows)
    if shown == 0:
        return flags
    after = chosen_after(shown, order.start, len(order.rows))
    return after if flags is None else np.where(after, flags, False)


def _take_rows_or_absent(values: Any, rows: IntVector, absent: Any) -> Any:
    # `values[rows]` alone would take the last row for ABSENT, as -1 is a valid index.
    return np.where(rows == ABSENT, absent, values[rows])


def _context_columns_by_name(given: ContextColumns) -> dict[str, Any]:
    """Columns by their name in episodes."""
    if isinstance(given, Mapping):
        return dict(given)
    names = (given,) if isinstance(given, str) else tuple(given)
    return {str(name): name for name in names}


def _read_context(
    table: Table,
    context: dict[str, dict[str, Any]],
    available: Sequence[Any],
    events: Events,
    order: InTime,
    place: Place,
) -> EventContext:
    """Read what the player saw at all events, in order."""
    found = {
        role: {
            name: _take_rows_or_absent(_float_column(table, column, role), order.rows, np.nan)
            for name, column in names.items()
        }
        for role, names in context.items()
    }
    masks = [
        _take_rows_or_absent(column_flags(table, c, "available"), order.rows, True)
        for c in available
    ]
    return read_event_context(
        found["before"],
        found["after"],
        np.column_stack(masks) if masks else None,
        events,
        place,
    )


def _split_episodes(
    events: Events, order: InTime, owners: Owners, context: EventContext
) -> list[Episode]:
    """Make one episode of each run of events.

    Its labels come from its last row: others may be absent, as decisions without a row.
    """
    return [
        Episode.of_events(
            events.between(a, b),
            context=context.select_events(slice(a, b)),
            **{role: coded.at(order.rows[b - 1]) for role, coded in owners.items()},
        )
        for a, b in zip(order.start.tolist(), order.stop.tolist(), strict=True)
    ]


def _decision_numbers(table: Table, name: Any, owners: Owners) -> IntVector:
    numbers = _float_column(table, name, "decision")
    with np.errstate(invalid="ignore"):
        # Beyond 2^53 neighbouring numbers of a float64 column would be equal.
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= EXACT_INTEGERS)
    wrong = np.flatnonzero(~whole)
    if wrong.size:
        place = _row_describer(owners)
        cells = (_format_cell(numbers[row], place(row)) for row in wrong[:11])
        raise DataError(
            "decision",
            "must hold whole numbers",
            got=format_list(cells, wrong.size),
            fix=(
                "Number the decisions of every episode from 0 or 1"
                f"{_unnumbered_rows_remedy(name, numbers)}."
            ),
        )
    return numbers.astype(np.int64)


def _unnumbered_rows_remedy(name: Any, numbers: Vector) -> str:
    """Remedy that leaves out rows without a number, if nothing else is wrong."""
    given = numbers[~np.isnan(numbers)]
    if len(given) in (0, len(numbers)) or (given != np.floor(given)).any():
        return ""
    kept = where_said(f"{in_condition(name)} >= {given.min():g}")
    return f", or pass {kept}{mark_argument(' to `read`')} if nobody decided in the other rows"


def _float_column(table: Table, name: Any, role: str) -> Vector:
    series = table[name]
    if series.dtype.is_integer() and series.null_count():
        # Pyarrow's integers need this way: `column_floats` cannot fill their empty cells.
        table = table.with_columns(series.cast(nw.Float64))
    return column_floats(table, name, role)


def _format_cell(value: float, place: str) -> str:
    return f"{'an empty cell' if np.isnan(value) else format(value, 'g')} at {place}"


def _row_describer(owners: Owners) -> Place:
    """Function that names a row of the table in messages, with its subject and block."""

    def locate(row: int) -> str:
        names = [f"{role} {coded.at(row)}" for role, coded in owners.items()]
        return row_place(int(row)) + (f" ({', '.join(names)})" if names else "")

    return locate


def _event_row_describer(rows: IntVector, owners: Owners, number: IntVector | None) -> Place:
    """Function that names an event in messages: its row, subject, block and number."""

    def locate(k: int) -> str:
        row = int(rows[k])
        names = [f"{role} {coded.at(row)}" for role, coded in owners.items()]
        names += [] if number is None else [f"decision {number[row]}"]
        return row_place(row) + (f" ({', '.join(names)})" if names else "")

    return locate
