"""What a model takes for known and the rewards speak against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.task_values import ends_of, is_open, rewards_of

STARTS = ("initial_value", "initial_mean")
ENOUGH = 5  # rewards beyond the first of an option that tell whether they vary


def doubts_of(model: Any, episodes: Sequence[Any]) -> tuple[str, ...]:
    """Sentences on settings in units of rewards that these episodes speak against.

    Parameters
    ----------
    model
        One with what it expects before play, a threshold of wins or a variance of the noise; of
        others there is nothing to say.
    episodes
        With their rewards.
    """
    if not any(hasattr(model, name) for name in (*STARTS, "win_above", "noise_variance")):
        return ()
    rewards = rewards_of(episodes)
    if not len(rewards):
        return ()
    return (*_starts(model, rewards), *_threshold(model, rewards), *_noise(model, episodes))


def _starts(model: Any, rewards: Vector) -> Iterator[str]:
    for name in STARTS:
        value = getattr(model, name, None)
        if value is None or is_open(value) or rewards.min() <= value <= rewards.max():
            continue
        yield (
            f"{name} = {value:g} lies outside the rewards ({ends_of(rewards)}): other parameters "
            "make up for it, such as a rate that leaves it quickly. Leave it out to choose it by "
            "the rewards."
        )


def _threshold(model: Any, rewards: Vector) -> Iterator[str]:
    above = getattr(model, "win_above", None)
    if above is None or is_open(above):
        return
    wins = float((rewards > above).mean())
    if wins in (0.0, 1.0):
        kind = "win" if wins else "loss"
        yield (
            f"win_above = {above:g} makes every reward a {kind} ({ends_of(rewards)}). Leave it out "
            "to choose it by the rewards."
        )


def _noise(model: Any, episodes: Sequence[Any]) -> Iterator[str]:
    """Options that always give the same, where all are taken for noisy."""
    if not hasattr(model, "noise_variance") or not hasattr(model, "uncertainty_words"):
        return
    n_options = int(model.n_options)
    variance, enough = _within(episodes, n_options)
    noisy = np.flatnonzero(enough & (variance > 0))
    fixed = [i for i in np.flatnonzero(enough & (variance == 0)) if model.noise_of(int(i)) > 0]
    if not fixed:
        return
    which = " and ".join(map(str, fixed))
    others = f", and that of others varies by {variance[noisy].mean():.3g}" if len(noisy) else ""
    yield (
        f"The reward of option {which} is always the same within an episode{others}: who sees this "
        f"is sure of it at once, while noise_variance = {model.noise_words} says that it stays "
        f"uncertain. {model.uncertainty_words}"
    )


def _within(episodes: Sequence[Any], n_options: int) -> tuple[Vector, Any]:
    """Variance of rewards of each option within episodes, and whether there are enough to tell."""
    squares, freedom = np.zeros(n_options), np.zeros(n_options)
    for episode in episodes:
        chosen, rewards = np.asarray(episode.chosen), np.asarray(episode.rewards)
        seen = (chosen >= 0) & (chosen < n_options) & np.isfinite(rewards)
        option, reward = chosen[seen], rewards[seen]
        counts = np.bincount(option, minlength=n_options)
        first: Matrix = np.zeros(n_options)
        first[option[::-1]] = reward[::-1]
        away = reward - first[option]  # exactly 0 where all are the same
        sums = np.bincount(option, away, n_options)
        squares += np.bincount(option, away**2, n_options) - sums**2 / np.maximum(counts, 1)
        freedom += np.maximum(counts - 1, 0)
    return squares / np.maximum(freedom, 1), freedom >= ENOUGH
