"""Events of a table of play: their order, decisions missed, options shown, rewards not known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.argument_checks import check_one_of, check_whole_number
from penchant.errors import (
    DataError,
    PenchantWarning,
    format_list,
    mark_argument,
    mark_quoted_argument,
)
from penchant.result_tables import format_count
from penchant.tables.events import NOTHING, Events
from penchant.tables.numbers import Place

Gaps = Literal["error", "timeout", "order"]
GAPS: tuple[Gaps, ...] = ("error", "timeout", "order")
ABSENT = -1


class InTime(NamedTuple):
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
    def stop(self) -> IntVector:
        """Where each episode ends."""
        return np.append(self.start[1:], len(self.rows))


def in_time(
    episode: IntVector,
    person: IntVector,
    number: IntVector | None,
    gaps: Gaps,
    place: Place,
    apart: Callable[[], str] = str,
) -> InTime:
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
        return InTime(rows, np.flatnonzero(np.diff(episode[rows], prepend=-1)))
    rows = np.lexsort((number, episode))
    start = np.flatnonzero(np.diff(episode[rows], prepend=-1))
    numbers = number[rows]
    step = np.diff(numbers, prepend=numbers[0] - 1)
    step[start] = 1
    _check_distinct(numbers, step, rows, place, apart)
    if gaps == "order":
        return InTime(rows, start)
    first = numbers[start]
    stop = np.append(start[1:], len(rows))
    runs_on = _runs_on(first, numbers[stop - 1], person[rows[start]], strict=gaps == "error")
    fresh = ~runs_on & (first != 0)
    if gaps == "error":
        _check_start(first, fresh & (first != 1), rows[start], place)
        _check_gaps(numbers, step, rows, place)
        return InTime(rows, start)
    _check_start(first, fresh & (first < 1), rows[start], place)
    step[start] = np.where(fresh, first, 1)
    return _with_absent(rows, start, step)


def _runs_on(first: IntVector, last: IntVector, person: IntVector, *, strict: bool) -> BoolVector:
    """Episodes whose numbers go on from another one of the same person.

    With `strict` they go on without a gap.
    """
    found = np.zeros(len(first), dtype=bool)
    for one in np.unique(person):
        mine = np.flatnonzero(person == one)
        in_order = mine[np.argsort(first[mine], kind="stable")]
        for own in (in_order, mine):  # of a person; or of each session, whose plays follow in order
            step = first[own[1:]] - last[own[:-1]]
            anew = (first[own[1:]] <= 1) & (own is mine)
            goes_on = (step == 1) if strict else (step >= 1)
            if len(own) > 1 and (goes_on | anew).all() and first[own[0]] in (0, 1):
                found[own[1:][~anew]] = True
                break
    return found


def _check_distinct(
    numbers: IntVector,
    step: IntVector,
    rows: IntVector,
    place: Place,
    apart: Callable[[], str],
) -> None:
    again = np.flatnonzero(step == 0)
    if again.size:
        cells = (f"{numbers[k]} again at {place(rows[k])}" for k in again[:11])
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


def _check_start(first: IntVector, wrong: BoolVector, rows: IntVector, place: Place) -> None:
    where = np.flatnonzero(wrong)
    if where.size:
        cells = (f"{first[k]} at {place(rows[k])}" for k in where[:11])
        raise DataError(
            "decision",
            "must start at 0 or 1 in every episode, or run on through the blocks of a subject",
            got=format_list(cells, where.size),
            fix="Number the decisions of each subject and block afresh, and add the rows that are "
            f"missing, with an empty choice. Or pass {mark_argument('gaps', 'order')} if the "
            "numbers only say what came first.",
        )


def _check_gaps(numbers: IntVector, step: IntVector, rows: IntVector, place: Place) -> None:
    gap = np.flatnonzero(step > 1)
    if gap.size:
        cells = (f"{numbers[k]} after {numbers[k - 1]} at {place(rows[k])}" for k in gap[:11])
        raise DataError(
            "decision",
            "must count on without a gap",
            got=format_list(cells, gap.size),
            fix="Add a row with an empty choice and an empty reward for each decision missed; or "
            f"pass {mark_argument('gaps', 'timeout')} to take them for missed, "
            f"{mark_argument('gaps', 'order')} if the gaps mean nothing.",
        )


def _with_absent(rows: IntVector, start: IntVector, step: IntVector) -> InTime:
    """Events with an absent one for every number that is left out."""
    at = np.cumsum(step) - 1
    filled = np.full(int(step.sum()), ABSENT, dtype=np.int64)
    filled[at] = rows
    return InTime(filled, at[start] - step[start] + 1)


# Numbers that files hold where nothing was chosen, far beyond the options.
MARKS = (9, 99, 999, 9999)
OUTLYING_CODE_RATIO = 4
# What files hold for a reward where nothing was chosen.
FILLERS = (0.0, -1.0)


def without_fillers(chosen: Vector, rewards: Vector, base: int) -> tuple[Vector, Vector]:
    """Options and rewards, both NaN where nothing was chosen.

    Files often have a reward in these rows, too, always 0, always -1 or a code such as -99 that no
    choice was paid, and where options are
    counted from 1 they often have option 0. Rewards that differ there, or are other numbers, are
    left as they are: more likely it is the options that are not numbered as `base` says.

    Examples
    --------
    >>> without_fillers(np.array([1.0, 0.0, 2.0]), np.array([5.0, 0.0, 7.0]), base=1)
    (array([ 1., nan,  2.]), array([ 5., nan,  7.]))
    >>> without_fillers(np.array([1.0, 0.0, 2.0]), np.array([5.0, 6.0, 7.0]), base=1)
    (array([1., 0., 2.]), array([5., 6., 7.]))
    """
    missed = np.isnan(chosen) | (chosen == NOTHING) | (chosen == base - 1)
    codes = [sign * mark for mark in MARKS for sign in (1.0, -1.0)]
    if not _is_filler(
        rewards[missed], (*FILLERS, *(c for c in codes if c not in rewards[~missed]))
    ):
        return chosen, rewards
    return np.where(missed, np.nan, chosen), np.where(missed, np.nan, rewards)


def doubt_zero(chosen: Vector, rewards: Vector, place: Place) -> None:
    """Options counted from 0: a 0 that never paid anything may mark decisions without a choice.

    Where it never has a reward this is an error, where the reward is always the same filler a
    warning, as some options do not pay.
    """
    zero = chosen == 0
    if not zero.any() or not (chosen > 1).any() or _is_filler(rewards[chosen > 0]):
        return
    if np.isnan(rewards[zero]).all():
        raise _no_reward(zero, place)
    if _is_filler(rewards[zero]):
        paid = np.nanmax(rewards[zero])
        warnings.warn(
            PenchantWarning(
                f"chosen is 0 in {format_count(int(zero.sum()), 'row')}, and the reward there "
                "always "
                f"{paid:g}: it is taken for an option. If 0 marks decisions without a choice, and "
                f"options are counted from 1, pass {mark_argument('base', 1)}.",
                "zero-option",
            ),
            stacklevel=3,
        )


def doubt_marks(chosen: Vector) -> None:
    """A number such as 99, far beyond all others, may mark decisions without a choice."""
    numbers = np.unique(chosen[~np.isnan(chosen)])
    if (
        len(numbers) < 2
        or numbers[-1] not in MARKS
        or OUTLYING_CODE_RATIO * numbers[-2] >= numbers[-1]
    ):
        return
    rows = int((chosen == numbers[-1]).sum())
    warnings.warn(
        PenchantWarning(
            f"chosen is {numbers[-1]:g} in {format_count(rows, 'row')}, and at most "
            f"{numbers[-2]:g} in "
            "all others: it is taken for an option. If it marks decisions without a choice, leave "
            "these cells and their rewards empty.",
            "distant-option",
        ),
        stacklevel=3,
    )


def _no_reward(zero: BoolVector, place: Place) -> DataError:
    where = np.flatnonzero(zero)
    places = format_list((f"0 at {place(int(row))}" for row in where[:11]), where.size)
    return DataError(
        "chosen",
        "must have a reward",
        got=f"none where it is 0, as in {places}",
        fix=(
            "If 0 marks decisions without a choice, and options are counted from 1, pass "
            f"{mark_argument('base', 1)}."
        ),
    )


def _is_filler(rewards: Vector, fillers: Sequence[float] = FILLERS) -> bool:
    """Whether rewards are missing, or all the same number that means nothing."""
    given = np.unique(rewards[~np.isnan(rewards)])
    return len(given) == 0 or (len(given) == 1 and given[0] in fillers)


def chosen_after(n_shown: int, start: IntVector, n_events: int) -> BoolVector:
    """Which events are choices where the first ones of each episode were shown.

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


def check_policy(missing_reward: MissingReward) -> None:
    """The policy is one that there is."""
    check_one_of(missing_reward, "missing_reward", MISSING_REWARD)


def without_unknown(
    events: Events, order: InTime, missing_reward: MissingReward
) -> tuple[Events, InTime]:
    """Events and their order after the policy.

    "truncate" ends an episode with the first choice whose reward is not known, which is scored:
    beliefs before it are known. "skip" takes such a choice for none: it is counted in time, neither
    scored nor learnt from, and beliefs go on from before it. The last choice of an episode needs no
    reward. With "error" nothing changes.

    Parameters
    ----------
    events
        Events of all episodes.
    order
        The row of each, and where episodes start.
    missing_reward
        What to do.

    Examples
    --------
    >>> from penchant.tables.events import read_events
    >>> events = read_events([0, 1, 0, 1], [5.0, np.nan, 7.0, np.nan], None, None, str)
    >>> order = InTime(np.arange(4), np.array([0]))
    >>> without_unknown(events, order, "truncate")[0].chosen
    array([0, 1])
    >>> without_unknown(events, order, "skip")[0].chosen
    array([ 0, -1,  0,  1])
    """
    if missing_reward == "error":
        return events, order
    unknown = _unknown_in_play(events, order)
    if missing_reward == "truncate":
        return _until_first(unknown, events, order)
    chosen, executed = (
        np.where(unknown, NOTHING, taken) for taken in (events.chosen, events.executed)
    )
    scored = events.scored & ~unknown
    return events._replace(chosen=chosen, executed=executed, scored=scored), order


def _unknown_in_play(events: Events, order: InTime) -> BoolVector:
    """Choices before the last event of an episode that have no reward."""
    done: BoolVector = events.executed != NOTHING
    unknown: BoolVector = np.isnan(events.rewards) & done & events.is_choice
    unknown[order.stop - 1] = False
    return unknown


def _until_first(unknown: BoolVector, events: Events, order: InTime) -> tuple[Events, InTime]:
    """Every episode up to its first choice of which this is true, that one included."""
    before: IntVector = np.cumsum(unknown) - unknown
    lengths = order.stop - order.start
    kept: BoolVector = before == np.repeat(before[order.start], lengths)
    n_kept = np.add.reduceat(kept, order.start, dtype=np.int64)
    start = np.cumsum(n_kept) - n_kept
    return events.where(kept), InTime(order.rows[kept], start)
