"""Choices in mid-play whose reward a table does not know, and what may be done with them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.bandit.decision_numbers import InTime
from penchant.bandit.events import NOTHING, Events
from penchant.errors import DataError

MissingReward = Literal["error", "truncate", "skip"]
MISSING_REWARD: tuple[MissingReward, ...] = ("error", "truncate", "skip")


def check_policy(missing_reward: MissingReward) -> None:
    """The policy is one that there is."""
    if missing_reward not in MISSING_REWARD:
        raise DataError(
            f"missing_reward must be one of {', '.join(MISSING_REWARD)}; got {missing_reward!r}. "
            "Choose one."
        )


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
    >>> from penchant.bandit.events import read_events
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
    chosen = np.where(unknown, NOTHING, events.chosen)
    return events._replace(chosen=chosen, scored=events.scored & ~unknown), order


def _unknown_in_play(events: Events, order: InTime) -> BoolVector:
    """Choices before the last event of an episode that have no reward."""
    unknown: BoolVector = np.isnan(events.rewards) & (events.chosen != NOTHING) & events.is_choice
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
