"""Bandit tasks: where the options are, what they pay, and what happened in play."""

from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episode_rows, episodes_from_frame
from penchant.bandit.landscape import (
    GaussianNoise,
    IntegerNoise,
    Landscape,
    landscape_a,
    landscape_b,
)
from penchant.bandit.locations import grid
from penchant.bandit.regret import cumulative_regret
from penchant.bandit.reward_prior import RewardPrior

__all__ = [
    "Episode",
    "GaussianNoise",
    "IntegerNoise",
    "Landscape",
    "RewardPrior",
    "cumulative_regret",
    "episode_rows",
    "episodes_from_frame",
    "grid",
    "landscape_a",
    "landscape_b",
]
