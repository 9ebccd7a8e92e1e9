"""What was lost by not choosing the best option, choice by choice."""

from typing import Literal

import numpy as np

from penchant._typing import Vector
from penchant.bandit.episode import Episode
from penchant.bandit.events import NOTHING
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError


def cumulative_regret(
    episode: Episode,
    landscape: Landscape,
    kind: Literal["expected", "received"] = "expected",
) -> Vector:
    """Sum over the decisions so far of what the best option would have paid more.

    Parameters
    ----------
    episode
        Options chosen and rewards received.
    landscape
        The true mean rewards, which the player does not know.
    kind
        "expected": best mean reward minus the mean reward of the option chosen; never falls.
        "received": best mean reward minus the reward received; falls where noise was kind.

    Returns
    -------
    Vector with one number per decision, scored or not; options shown are left out. A decision
    without a choice adds nothing, but takes its place in time. "received" ends in NaN where the
    last reward is missing.

    Examples
    --------
    >>> from penchant.bandit import Episode, GaussianNoise, Landscape, cumulative_regret
    >>> landscape = Landscape([10.0, 40.0, 25.0], GaussianNoise(variance=4.0))
    >>> episode = Episode([2, 0, 1, 1], [26.5, 8.0, 43.5, 39.0])
    >>> cumulative_regret(episode, landscape)
    array([15., 45., 45., 45.])
    >>> cumulative_regret(episode, landscape, kind="received")
    array([13.5, 45.5, 42. , 43. ])
    """
    if kind not in ("expected", "received"):
        raise DataError(f"kind must be 'expected' or 'received'; got {kind!r}. Choose one.")
    episode.check_options(landscape.n_options)
    paid = landscape.mean_rewards[episode.chosen] if kind == "expected" else episode.rewards
    lost = np.where(episode.chosen == NOTHING, 0.0, landscape.best - paid)
    return np.cumsum(lost[episode.is_choice])
