"""Options that were shown before play, where no column says so: the first events of an episode."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.bandit.locations import whole_number


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
    n_shown = whole_number(n_shown, "shown", 0)
    lengths = np.diff(start, append=n_events)
    since_start = np.arange(n_events) - np.repeat(start, lengths)
    is_choice: BoolVector = since_start >= n_shown
    return is_choice
