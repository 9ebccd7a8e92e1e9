"""The order of events in a table of play: by their numbers, which may run on through blocks."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.choices.exact import Place
from penchant.errors import DataError, listing

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
    episode: IntVector, person: IntVector, number: IntVector | None, gaps: Gaps, place: Place
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
    """
    if number is None:
        rows = np.argsort(episode, kind="stable")
        return InTime(rows, np.flatnonzero(np.diff(episode[rows], prepend=-1)))
    rows = np.lexsort((number, episode))
    start = np.flatnonzero(np.diff(episode[rows], prepend=-1))
    numbers = number[rows]
    step = np.diff(numbers, prepend=numbers[0] - 1)
    step[start] = 1
    _check_distinct(numbers, step, rows, place)
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
        mine = mine[np.argsort(first[mine], kind="stable")]
        step = first[mine[1:]] - last[mine[:-1]]
        goes_on = (step == 1).all() if strict else (step >= 1).all()
        if len(mine) > 1 and goes_on and first[mine[0]] in (0, 1):
            found[mine[1:]] = True
    return found


def _check_distinct(numbers: IntVector, step: IntVector, rows: IntVector, place: Place) -> None:
    again = np.flatnonzero(step == 0)
    if again.size:
        cells = (f"{numbers[k]} again at {place(rows[k])}" for k in again[:11])
        raise DataError(
            f"decision must differ between the rows of an episode; got "
            f"{listing(cells, again.size)}. Name `subject` and `block`, or drop repeated rows."
        )


def _check_start(first: IntVector, wrong: BoolVector, rows: IntVector, place: Place) -> None:
    where = np.flatnonzero(wrong)
    if where.size:
        cells = (f"{first[k]} at {place(rows[k])}" for k in where[:11])
        raise DataError(
            "decision must start at 0 or 1 in every episode, or run on through the blocks of a "
            f"subject; got {listing(cells, where.size)}. Number the decisions of each subject and "
            "block afresh, and add the rows that are missing, with an empty choice. Or pass "
            "gaps='order' if the numbers only say what came first."
        )


def _check_gaps(numbers: IntVector, step: IntVector, rows: IntVector, place: Place) -> None:
    gap = np.flatnonzero(step > 1)
    if gap.size:
        cells = (f"{numbers[k]} after {numbers[k - 1]} at {place(rows[k])}" for k in gap[:11])
        raise DataError(
            f"decision must count on without a gap; got {listing(cells, gap.size)}. "
            "Add a row with an empty choice and an empty reward for each decision missed; or pass "
            "gaps='timeout' to take them for missed, gaps='order' if the gaps mean nothing."
        )


def _with_absent(rows: IntVector, start: IntVector, step: IntVector) -> InTime:
    """Events with an absent one for every number that is left out."""
    at = np.cumsum(step) - 1
    filled = np.full(int(step.sum()), ABSENT, dtype=np.int64)
    filled[at] = rows
    return InTime(filled, at[start] - step[start] + 1)
