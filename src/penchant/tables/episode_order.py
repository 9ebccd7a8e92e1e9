"""Events of a table of play: their order, decisions missed, options shown, rewards not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.argument_checks import check_whole_number
from penchant.errors import (
    DataError,
    format_list,
    mark_argument,
    mark_quoted_argument,
)
from penchant.tables.events import NOTHING, Events
from penchant.tables.numbers import Place

Gaps = Literal["error", "timeout", "order"]
GAPS: tuple[Gaps, ...] = ("error", "timeout", "order")
ABSENT = -1


class EpisodeOrder(NamedTuple):
    """Rows in order of episode and time.

    Attributes
    ----------
    rows
        Row of each event; -1 for a decision that has no row, as time ran out.
    start
        Where each episode starts among the events.
    """

    rows: IntVector
    start: IntVector

    @property
    def first(self) -> IntVector:
        """Row of the first event of each episode."""
        return self.rows[self.start]

    @property
    def stop(self) -> IntVector:
        """Index after the last row of each episode."""
        return np.append(self.start[1:], len(self.rows))

    def by_episode(self) -> list[IntVector]:
        """Rows of the events of each episode."""
        return np.split(self.rows, self.start[1:])


def order_episodes(
    episode: IntVector,
    number: IntVector | None,
    person: IntVector,
    gaps: Gaps,
    place: Place,
    apart: Callable[[], str] = str,
) -> EpisodeOrder:
    """Rows sorted by episode and time.

    Parameters
    ----------
    episode, person
        Code of the episode and of the person of each row; codes of episodes are in sorted order.
    number
        Number of each decision; None where the rows are in order of time already.
    gaps
        What a gap in the numbers means: "error", "timeout" (a decision without a choice that has no
        row), or "order" (nothing: the numbers only say what came first).
    place
        Where a row is, in words.
    apart
        What to do about decisions of the same number, if it comes to that, in a sentence.
    """
    if number is None:
        rows = np.argsort(episode, kind="stable")
        return EpisodeOrder(rows, np.flatnonzero(np.diff(episode[rows], prepend=-1)))
    rows = np.lexsort((number, episode))
    order = EpisodeOrder(rows, np.flatnonzero(np.diff(episode[rows], prepend=-1)))
    _check_distinct(order, number, place, apart)
    if gaps == "error":
        check_counting(order, number, person, place)
    return _insert_absent_events(order, number, person, place) if gaps == "timeout" else order


def _steps(order: EpisodeOrder, number: IntVector) -> IntVector:
    """Differences of numbers between events that follow one another; 1 at the first of each."""
    numbers = number[order.rows]
    step = np.diff(numbers, prepend=numbers[0] - 1)
    step[order.start] = 1
    return step


def check_counting(order: EpisodeOrder, number: IntVector, person: IntVector, place: Place) -> None:
    """Raise an error unless numbers count on from 0 or 1, or through the blocks of a person."""
    fresh = ~_continues_numbering(order, number, person, strict=True)
    _check_start(order, number, fresh & ~np.isin(number[order.first], (0, 1)), place)
    gap = np.flatnonzero(_steps(order, number) > 1)
    if gap.size:
        rows = order.rows
        cells = (
            f"{number[rows[k]]} after {number[rows[k - 1]]} at {place(int(rows[k]))}"
            for k in gap[:11]
        )
        raise DataError(
            "decision",
            "must count on without a gap",
            got=format_list(cells, gap.size),
            fix="Add a row with an empty choice and an empty reward for each decision missed; or "
            f"pass {mark_argument('gaps', 'timeout')} to take them for missed, "
            f"{mark_argument('gaps', 'order')} if the gaps mean nothing.",
        )


def _continues_numbering(
    order: EpisodeOrder, number: IntVector, person: IntVector, *, strict: bool
) -> BoolVector:
    """Episodes whose numbers go on from another one of the same person.

    With `strict` they go on without a gap.
    """
    first, last = number[order.first], number[order.rows[order.stop - 1]]
    found = np.zeros(len(first), dtype=bool)
    people = person[order.first]
    by_person = np.argsort(people, kind="stable")
    for mine in np.split(by_person, _starts(people[by_person])):
        in_order = mine[np.argsort(first[mine], kind="stable")]
        for own in (in_order, mine):  # of a person; or of each session, whose plays follow in order
            step = first[own[1:]] - last[own[:-1]]
            anew = (first[own[1:]] <= 1) & (own is mine)
            goes_on = (step == 1) if strict else (step >= 1)
            if len(own) > 1 and (goes_on | anew).all() and first[own[0]] in (0, 1):
                found[own[1:][~anew]] = True
                break
    return found


def _starts(codes: IntVector) -> IntVector:
    """Indices at which a code differs from the one before."""
    return np.flatnonzero(np.diff(codes)) + 1


def _check_distinct(
    order: EpisodeOrder, number: IntVector, place: Place, apart: Callable[[], str]
) -> None:
    again = order.rows[_steps(order, number) == 0]
    if again.size:
        cells = (f"{number[row]} again at {place(row)}" for row in again[:11])
        names = (
            f"Name {mark_quoted_argument('subject')} and {mark_quoted_argument('block')}, "
            "or drop repeated rows."
        )
        raise DataError(
            "decision",
            "must differ between the rows of an episode",
            got=format_list(cells, again.size),
            fix=apart() or names,
        )


def _check_start(order: EpisodeOrder, number: IntVector, wrong: BoolVector, place: Place) -> None:
    rows = order.first[wrong]
    if rows.size:
        cells = (f"{number[row]} at {place(row)}" for row in rows[:11].tolist())
        raise DataError(
            "decision",
            "must start at 0 or 1 in every episode, or run on through the blocks of a subject",
            got=format_list(cells, rows.size),
            fix="Number the decisions of each subject and block afresh, and add the rows that are "
            f"missing, with an empty choice. Or pass {mark_argument('gaps', 'order')} if the "
            "numbers only say what came first.",
        )


def _insert_absent_events(
    order: EpisodeOrder, number: IntVector, person: IntVector, place: Place
) -> EpisodeOrder:
    """Insert an absent event for every missing number of a trial."""
    first = number[order.first]
    fresh = ~_continues_numbering(order, number, person, strict=False) & (first != 0)
    _check_start(order, number, fresh & (first < 1), place)
    step = _steps(order, number)
    step[order.start] = np.where(fresh, first, 1)
    at = np.cumsum(step) - 1
    filled = np.full(int(step.sum()), ABSENT, dtype=np.int64)
    filled[at] = order.rows
    return EpisodeOrder(filled, at[order.start] - step[order.start] + 1)


# Numbers that files hold for a reward where nothing was chosen, beside those far from all others.
FILLERS = (0.0, -1.0)
DISTANT_FILLERS = tuple(sign * code for code in (9.0, 99.0, 999.0, 9999.0) for sign in (1.0, -1.0))


def filler_mask(rewards: Vector, missed: BoolVector) -> bool:
    """Whether rewards where nothing was chosen are what programs write for none.

    Files often have a reward in these rows, too: always 0, always -1 or a code such as -99 that no
    choice was paid. Rewards that differ there, or are other numbers, are none of these: more likely
    it is the choices that are read amiss.

    Examples
    --------
    >>> filler_mask(np.array([5.0, 0.0, 7.0]), np.array([False, True, False]))
    True
    """
    given = np.unique(rewards[missed & ~np.isnan(rewards)])
    if len(given) > 1:
        return False
    is_distant = np.isin(given, DISTANT_FILLERS) & ~np.isin(given, rewards[~missed])
    return bool((np.isin(given, FILLERS) | is_distant).all())


def chosen_after(n_shown: int, start: IntVector, n_events: int) -> BoolVector:
    """Mask of events that are choices, if the first ones of each episode were only shown.

    Parameters
    ----------
    n_shown
        How many options were shown before the first choice of an episode.
    start
        Where each episode starts among the events.
    n_events
        Number of events of all episodes.

    Examples
    --------
    >>> chosen_after(1, np.array([0, 3]), 5)
    array([False,  True,  True, False,  True])
    """
    n_shown = check_whole_number(n_shown, mark_argument("shown"), 0)
    lengths = np.diff(start, append=n_events)
    since_start = np.arange(n_events) - np.repeat(start, lengths)
    is_choice: BoolVector = since_start >= n_shown
    return is_choice


MissingReward = Literal["error", "truncate", "skip"]
MISSING_REWARD: tuple[MissingReward, ...] = ("error", "truncate", "skip")


def drop_unknown_events(
    events: Events, order: EpisodeOrder, missing_reward: MissingReward
) -> tuple[Events, EpisodeOrder, Any]:
    """Events and their order after the policy, and which of them are left.

    "truncate" ends an episode with the first choice whose reward is not known, which is scored:
    beliefs before it are known. "skip" takes such a choice for none: it is counted in time, neither
    scored nor learnt from, and beliefs go on from before it. The last choice of an episode needs no
    reward. With "error" nothing changes.

    Examples
    --------
    >>> from penchant.tables.events import read_events
    >>> events = read_events([0, 1, 0, 1], [5.0, np.nan, 7.0, np.nan], None, None, str)
    >>> order = EpisodeOrder(np.arange(4), np.array([0]))
    >>> drop_unknown_events(events, order, "truncate")[0].chosen
    array([0, 1])
    >>> drop_unknown_events(events, order, "skip")[0].chosen
    array([ 0, -1,  0,  1])
    """
    if missing_reward == "error":
        return events, order, slice(None)
    unknown = _unknown_in_play(events, order)
    if missing_reward == "truncate":
        return _truncate_at_first(unknown, events, order)
    chosen, executed = (
        np.where(unknown, NOTHING, taken) for taken in (events.chosen, events.executed)
    )
    scored = events.scored & ~unknown
    return events._replace(chosen=chosen, executed=executed, scored=scored), order, slice(None)


def _unknown_in_play(events: Events, order: EpisodeOrder) -> BoolVector:
    """Choices before the last event of an episode that have no reward."""
    done: BoolVector = events.executed != NOTHING
    unknown: BoolVector = np.isnan(events.rewards) & done & events.is_choice
    unknown[order.stop - 1] = False
    return unknown


def _truncate_at_first(
    unknown: BoolVector, events: Events, order: EpisodeOrder
) -> tuple[Events, EpisodeOrder, Any]:
    """Truncate every episode after its first choice without a reward."""
    before: IntVector = np.cumsum(unknown) - unknown
    lengths = order.stop - order.start
    kept: BoolVector = before == np.repeat(before[order.start], lengths)
    n_kept = np.add.reduceat(kept, order.start, dtype=np.int64)
    start = np.cumsum(n_kept) - n_kept
    return events.where(kept), EpisodeOrder(order.rows[kept], start), kept
