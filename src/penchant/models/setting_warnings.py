"""Settings of models that the rewards speak against, in sentences.

What a player expects before play, which reward is a win, and how noisy rewards are, has defaults or
is given by the user; the data say when these are far from what was received.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import executed_history
from penchant.errors import PythonExpression, mark_argument
from penchant.models.model import Declared


def doubts_of(model: Any, episodes: Sequence[Any]) -> tuple[str, ...]:
    """Warnings about settings of a model that the data contradict."""
    doubts = Declared(model).doubts
    return () if doubts is None else tuple(doubts(episodes))


def received_rewards(episodes: Sequence[Any]) -> Vector:
    """Concatenate the finite rewards of all episodes."""
    parts = [np.asarray(getattr(episode, "rewards", ()), dtype=np.float64) for episode in episodes]
    rewards = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])
    there = np.isfinite(rewards)
    return rewards if there.all() else np.asarray(rewards[there])


def range_text(rewards: Vector) -> str:
    """Text of the range of rewards: "0 to 1"."""
    return f"{rewards.min():g} to {rewards.max():g}"


def start_words(value: float | str | None) -> str:
    """Text of the setting of an initial value."""
    return "estimated" if value is None else f"{value:g}"


MIN_REPEATED_REWARDS = 5  # of an option after its first reward; fewer do not show a variance


def doubts_of_start(
    name: str, value: float | None, episodes: Sequence[Any], *, estimable: bool = True
) -> Iterator[str]:
    """Say that what is expected before play lies outside the rewards, and what to do.

    Parameters
    ----------
    name, value
        The setting; None where it is estimated.
    episodes
        With their rewards.
    estimable
        Whether the model can estimate it.
    """
    rewards = received_rewards(episodes)
    if value is None or not len(rewards) or rewards.min() <= value <= rewards.max():
        return
    free = mark_argument(name, PythonExpression("None"))
    estimate = f"estimate it ({free}), or " if estimable else ""
    remedy = f"{estimate}give another number, such as {_middle(name, rewards)}."
    yield (
        f"{name} = {value:g} lies outside the rewards ({range_text(rewards)}): other parameters "
        "make up for it, such as a rate that leaves it quickly. "
        f"{remedy[0].upper()}{remedy[1:]}"
    )


def _middle(name: str, rewards: Vector) -> str:
    """Advice that sets an argument to the midpoint of the range of rewards."""
    middle = PythonExpression(f"{(rewards.min() + rewards.max()) / 2:.3g}")
    return f"the middle of the rewards ({mark_argument(name, middle)})"


def doubts_of_threshold(above: float, episodes: Sequence[Any]) -> Iterator[str]:
    """Say that the threshold of a win makes every reward a win, or a loss, and what to do."""
    rewards = received_rewards(episodes)
    wins = float((rewards > above).mean()) if len(rewards) else 0.5
    if wins in (0.0, 1.0):
        kind = "win" if wins else "loss"
        yield (
            f"win_above = {above:g} makes every reward a {kind} ({range_text(rewards)}). Give "
            f"another number, such as {_middle('win_above', rewards)}."
        )


def doubts_of_noise(
    noise: Sequence[float], words: str, advice: str, episodes: Sequence[Any]
) -> Iterator[str]:
    """Warn of options that always paid the same although the model takes them for noisy.

    Parameters
    ----------
    noise, words
        Variance of each option's rewards, as the player takes it; the same in words.
    advice
        What it does to the model.
    episodes
        With their rewards.
    """
    if not any(np.asarray(noise) > 0) or not len(received_rewards(episodes)):
        return
    variance, enough = _variance_within_episodes(episodes, len(noise))
    noisy = np.flatnonzero(enough & (variance > 0))
    fixed = np.flatnonzero(enough & (variance == 0) & (np.asarray(noise) > 0))
    if not len(fixed):
        return
    which = " and ".join(map(str, fixed))
    others = f", and that of others varies by {variance[noisy].mean():.3g}" if len(noisy) else ""
    yield (
        f"The reward of option {which} is always the same within an episode{others}: who sees this "
        f"is sure of it at once, while noise_variance = {words} says that it stays "
        f"uncertain. {advice}"
    )


def _variance_within_episodes(episodes: Sequence[Any], n_options: int) -> tuple[Vector, Any]:
    """Variance of rewards of each option within episodes, and whether there are enough to tell."""
    squares, freedom = np.zeros(n_options), np.zeros(n_options)
    for episode in episodes:
        happened = executed_history(episode)
        chosen, rewards = np.asarray(happened.chosen), np.asarray(happened.rewards)
        seen = (chosen >= 0) & (chosen < n_options) & np.isfinite(rewards)
        option, reward = (chosen, rewards) if seen.all() else (chosen[seen], rewards[seen])
        counts = np.bincount(option, minlength=n_options)
        first: Matrix = np.zeros(n_options)
        first[option[::-1]] = reward[::-1]
        away = reward - first[option]  # exactly 0 where all are the same
        sums = np.bincount(option, away, n_options)
        squares += np.bincount(option, away**2, n_options) - sums**2 / np.maximum(counts, 1)
        freedom += np.maximum(counts - 1, 0)
    return squares / np.maximum(freedom, 1), freedom >= MIN_REPEATED_REWARDS
