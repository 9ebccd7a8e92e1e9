"""Episodes from a long table with one row per event.

Rows are sorted by subject, block and decision, options coded from numbers, labels or coordinates,
and everything is checked before episodes are made. Where numbers of decisions repeat, the error
proposes the columns by which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.argument_checks import check_one_of
from penchant.bandit.episode import Episode, EventContext, read_event_context
from penchant.bandit.landscape import check_locations
from penchant.errors import (
    DataError,
    PythonExpression,
    format_list,
    mark_argument,
    mark_quoted_argument,
)
from penchant.tables.choice_coding import OptionCodes, options_at
from penchant.tables.columns import flagged, in_condition
from penchant.tables.episode_order import (
    ABSENT,
    GAPS,
    MISSING_REWARD,
    EpisodeOrder,
    Gaps,
    MissingReward,
    check_counting,
    chosen_after,
    drop_unknown_events,
    filler_mask,
    order_episodes,
)
from penchant.tables.events import NOTHING, Events, check_events, option_indices
from penchant.tables.frames import (
    Table,
    check_columns,
    check_present,
    check_roles,
    column_flags,
    column_floats,
    column_labels,
    flags_of,
    joint_codes,
    joint_labels,
    open_frame,
    row_place,
)
from penchant.tables.labels import NUMBER, Coded
from penchant.tables.lexicon import says_nothing
from penchant.tables.numbers import EXACT_INTEGERS, Place
from penchant.tables.row_conditions import condition_text
from penchant.tables.source_table import code_index

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
    _check_episode_settings(base, chosen, options, locations)
    roles = {"chosen": chosen, "reward": reward, "subject": subject, "block": block}
    roles |= {"decision": decision, "is_choice": is_choice, "scored": scored}
    roles |= {"executed": executed}
    named = {role: _as_tuple(flagged(name)[0]) for role, name in roles.items() if name is not None}
    context = {"before": _context_columns_by_name(before), "after": _context_columns_by_name(after)}
    table = open_frame(frame)
    check_columns(
        table,
        {role: tuple(names.values()) for role, names in context.items() if names}
        | ({"available": tuple(available)} if len(available) else {}),
    )
    check_columns(table, named)
    check_roles(named)
    owners = owner_labels(_labels_in(table), {"subject": subject, "block": block})
    number = (
        None
        if decision is None
        else decision_numbers(_float_column(table, decision, "decision"), decision, owners)
    )
    place = _row_describer(owners, number)
    first = 0 if options is not None or locations is not None else base

    def picked_of(name: Any, role: str) -> IntVector:
        if isinstance(name, (tuple, list)):
            return _placed_options(table, name, locations, base, place)
        if options is not None:
            codes = OptionCodes(tuple(options))
            code_index(codes.labels, "options")
            coded = column_labels(table, name, f"{role} {name!r}", says_nothing)
            return codes.options_of(coded, role, place, says_nothing)
        numbers = _numbers_as_written(table, name, role, place)
        missed = np.isnan(numbers) | (numbers == NOTHING) | (numbers == first - 1)
        if filler_mask(rewards, missed):  # else 0 is a fault, where options are counted from 1
            numbers = np.where(missed, np.nan, numbers)
        return option_indices(numbers, place, first, role)

    rewards = _reward_column(table, reward)
    taken = picked_of(chosen, "chosen")
    rows = EventRows(
        taken,
        rewards,
        owners,
        number,
        row_flags(_labels_in(table), is_choice, "is_choice"),
        row_flags(_labels_in(table), scored, "scored"),
        taken if executed is None else picked_of(executed, "executed"),
        {role: _context_columns(table, role, names) for role, names in context.items()},
        np.column_stack([column_flags(table, c, "available") for c in available])
        if len(available)
        else None,
    )

    def repeated_number_remedy() -> str:
        # The likeliest cause first: a column of blocks, a counter that restarts, unsorted rows.
        assert number is not None
        episode, _ = rows.owner_codes()
        columns = _candidate_block_columns(table, episode, number)
        found = _block_column_remedy(table, columns, subject, block) or _restarted_numbering_remedy(
            episode, number, decision
        )
        return f"{found}, or drop repeated rows." if found else ""

    return episodes_of_rows(rows, gaps, shown, missing_reward, repeated_number_remedy)[0]


@dataclass(frozen=True)
class EventRows:
    """What the rows of a table say of events, a cell per row, in any order.

    Attributes
    ----------
    chosen, executed
        Index of the option, from 0; -1 for none.
    rewards
        NaN for none.
    owners
        {"subject": its labels, "block": its labels}, of these those that are known.
    number
        Number of the decision; None where rows are in order of time.
    is_choice, scored
        Masks; None where all are.
    context
        {"before": {name: cells}, "after": {name: cells}}.
    available
        (n_rows, n_options); None where all options could be chosen.
    """

    chosen: IntVector
    rewards: Vector
    owners: Owners
    number: IntVector | None
    is_choice: BoolVector | None
    scored: BoolVector | None
    executed: IntVector
    context: Mapping[str, Mapping[str, Vector]]
    available: BoolVector | None

    def owner_codes(self) -> tuple[IntVector, IntVector]:
        """Code of the episode and of the person of each row."""
        # Without a subject and a block nothing divides the rows: they are one episode.
        zeros: IntVector = np.zeros(len(self.chosen), dtype=np.int64)
        episode = joint_codes(tuple(self.owners.values()))[0] if self.owners else zeros
        return episode, self.owners["subject"].codes if "subject" in self.owners else zeros

    def check_counting(self, order: EpisodeOrder) -> None:
        """Raise an error unless decisions are numbered without a gap."""
        if self.number is not None:
            place = _row_describer(self.owners)
            check_counting(order, self.number, self.owner_codes()[1], place)


def episodes_of_rows(
    rows: EventRows,
    gaps: Gaps = "order",
    shown: int = 0,
    missing_reward: MissingReward = "error",
    repeated_number_remedy: Callable[[], str] = str,
) -> tuple[list[Episode], EpisodeOrder]:
    """Episodes of the rows of a table, and the row that each event comes from.

    Parameters
    ----------
    rows
        What they say.
    gaps, shown, missing_reward
        As for `episodes_from_frame`.
    repeated_number_remedy
        What to do about decisions of the same number, in a sentence.
    """
    check_one_of(gaps, "gaps", GAPS)
    check_one_of(missing_reward, "missing_reward", MISSING_REWARD)
    missed, rewards = rows.executed == NOTHING, rows.rewards
    # Programs write 0 or -1 as the reward of no choice; such rewards are missing, not paid.
    if filler_mask(rewards, missed):
        rewards = np.where(missed, np.nan, rewards)
    episode, person = rows.owner_codes()
    order = order_episodes(
        episode, rows.number, person, gaps, _row_describer(rows.owners), repeated_number_remedy
    )

    def place(k: int) -> str:
        return _row_describer(rows.owners, rows.number)(int(order.rows[k]))

    def in_order(values: Any, absent: Any) -> Any:
        # `values[rows]` alone would take the last row for ABSENT, as -1 is a valid index.
        cells = values[order.rows]
        cells[order.rows == ABSENT] = absent
        return cells

    chosen = in_order(rows.chosen, NOTHING)
    done = chosen if rows.executed is rows.chosen else in_order(rows.executed, NOTHING)
    played = np.ones(len(chosen), dtype=bool)
    if rows.is_choice is not None:
        played = in_order(rows.is_choice, True)
    if shown:
        played &= chosen_after(shown, order.start, len(chosen))
    scored = played & (chosen != NOTHING)
    if rows.scored is not None:
        scored &= in_order(rows.scored, True)
    context = {
        role: {name: in_order(values, np.nan) for name, values in own.items()}
        for role, own in rows.context.items()
    }
    mask = None if rows.available is None else in_order(rows.available, True)
    events = Events(chosen, in_order(rewards, np.nan), played, scored, done)
    events, order, kept = drop_unknown_events(events, order, missing_reward)
    last = np.zeros(len(order.rows), dtype=bool)
    # Only the last reward may be missing, as no choice follows that it could explain.
    last[order.stop - 1] = True
    check_events(events, last, place)
    seen = EventContext()
    if context or mask is not None:
        own = {role: {x: cells[kept] for x, cells in one.items()} for role, one in context.items()}
        on_offer = None if mask is None else mask[kept]
        seen = read_event_context(
            own.get("before", {}), own.get("after", {}), on_offer, events, place
        )
    return _split_episodes(events, order, rows.owners, seen), order


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
    owners = owner_labels(_labels_in(table), {"subject": subject, "block": block})
    zeros: IntVector = np.zeros(len(table), dtype=np.int64)
    number = (
        None
        if decision is None
        else decision_numbers(_float_column(table, decision, "decision"), decision, owners)
    )
    nothing = np.full(len(table), np.nan)
    rows = EventRows(zeros, nothing, owners, number, None, None, zeros, {}, None)
    episode, person = rows.owner_codes()
    return order_episodes(episode, number, person, gaps, _row_describer(owners)).by_episode()


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
    both = mark_argument("subject", (str(subject), str(columns[0])))
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


def _check_episode_settings(base: int, chosen: Any, options: Any, locations: Any) -> None:
    check_one_of(base, "base", (0, 1), "Say which number the first option has.")
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


def owner_labels(labels_of: Callable[[Any, str], Coded], names: Mapping[str, Any]) -> Owners:
    """Labels of subject and block of each row, for those of the two that are given.

    Parameters
    ----------
    labels_of
        From a column, and what messages call it, to its labels.
    names
        {"subject": its column, "block": its column, or several}.
    """
    named = [(role, name) for role, given in names.items() for name in _as_tuple(given)]
    named = [(role, name) for role, name in named if name is not None]
    coded = [labels_of(name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    parts: dict[str, list[Coded]] = {}
    for (role, _), labels in zip(named, coded, strict=True):
        parts.setdefault(role, []).append(labels)
    return {role: joint_labels(columns) for role, columns in parts.items()}


def _labels_in(table: Table) -> Callable[[Any, str], Coded]:
    return lambda name, said: column_labels(table, name, said)


def _placed_options(
    table: Table, names: Sequence[Any], locations: Any, base: int, place: Place
) -> IntVector:
    """Option of each row whose coordinates some columns say."""
    known = check_locations(locations)
    if len(names) != known.shape[1]:
        raise DataError(
            "chosen",
            f"must have {known.shape[1]} coordinates, as the locations have",
            got=f"columns {', '.join(map(str, names))}",
            fix="Name one column for each.",
        )
    there = np.column_stack([column_floats(table, name, "chosen") for name in names])
    return options_at(there, known, base, place)


def _numbers_as_written(table: Table, name: Any, role: str, place: Place) -> Vector:
    """Numbers of options, which may be text beside words for nothing."""
    series = table[name]
    is_text = series.dtype in (nw.String, nw.Categorical, nw.Enum) or (
        series.dtype == nw.Object and any(isinstance(cell, str) for cell in series.to_list())
    )
    if not is_text:
        return _float_column(table, name, role)
    coded = column_labels(table, name, f"{role} {name!r}", says_nothing)
    words = [str(label).strip() for label in coded.labels.tolist()]
    odd = [not NUMBER.match(word) and not says_nothing(word) for word in words]
    wrong = np.flatnonzero(np.array(odd)[coded.codes])
    if wrong.size:
        cells = (f"{coded.at(int(row))!r} at {place(int(row))}" for row in wrong[:11])
        labels = [repr(word) for word, is_odd in zip(words, odd, strict=True) if is_odd]
        raise DataError(
            f"{role} {name!r}",
            f"must hold numbers of options, or labels that {mark_quoted_argument('options')} names",
            got=format_list(cells, wrong.size),
            fix=f"Pass options=[{format_list(labels)}] if these are the labels, or leave cells "
            "empty where nothing was chosen.",
        )
    values = np.array([float(word) if NUMBER.match(word) else np.nan for word in words])
    numbers: Vector = values[coded.codes]
    numbers[coded.missing] = np.nan
    return numbers


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


def row_flags(labels_of: Callable[[Any, str], Coded], name: Any, role: str) -> BoolVector | None:
    """Mask of a column of flags, or of one that says the opposite; None without one."""
    if name is None:
        return None
    column, is_opposite = flagged(name)
    said = f"{role} {column!r}"
    return flags_of(labels_of(column, said), said) ^ is_opposite


def _context_columns(table: Table, role: str, names: Mapping[str, Any]) -> dict[str, Vector]:
    return {name: _float_column(table, column, role) for name, column in names.items()}


def _context_columns_by_name(columns: ContextColumns) -> dict[str, Any]:
    """Columns by their name in episodes."""
    if isinstance(columns, Mapping):
        return dict(columns)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    return {str(name): name for name in names}


def _split_episodes(
    events: Events, order: EpisodeOrder, owners: Owners, context: EventContext
) -> list[Episode]:
    """Make one episode of each run of events.

    Its labels come from its last row: others may be absent, as decisions without a row.
    """
    return [
        Episode.of_events(
            events.rows_between(a, b),
            context=context.select_events(slice(a, b)),
            **{role: coded.at(order.rows[b - 1]) for role, coded in owners.items()},
        )
        for a, b in zip(order.start.tolist(), order.stop.tolist(), strict=True)
    ]


def decision_numbers(numbers: Vector, name: Any, owners: Owners) -> IntVector:
    """Numbers of decisions of a column, which are whole."""
    with np.errstate(invalid="ignore"):
        # Beyond 2^53 neighbouring numbers of a float64 column would be equal.
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= EXACT_INTEGERS)
    wrong = np.flatnonzero(~whole)
    if wrong.size:
        place = _row_describer(owners)
        cells = (_format_cell(numbers[row], place(row)) for row in wrong[:11].tolist())
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
    kept = condition_text(f"{in_condition(name)} >= {given.min():g}")
    return f", or pass {kept} when reading if nobody decided in the other rows"


def _float_column(table: Table, name: Any, role: str) -> Vector:
    series = table[name]
    if series.dtype.is_integer() and series.null_count():
        # Pyarrow's integers need this way: `column_floats` cannot fill their empty cells.
        table = table.with_columns(series.cast(nw.Float64))
    return column_floats(table, name, role)


def _format_cell(value: float, place: str) -> str:
    return f"{'an empty cell' if np.isnan(value) else format(value, 'g')} at {place}"


def _row_describer(owners: Owners, number: IntVector | None = None) -> Place:
    """Function that names a row of the table in messages: its subject, block and number."""

    def locate(row: int) -> str:
        names = [f"{role} {coded.at(int(row))}" for role, coded in owners.items()]
        names += [] if number is None else [f"decision {number[row]}"]
        return row_place(int(row)) + (f" ({', '.join(names)})" if names else "")

    return locate
