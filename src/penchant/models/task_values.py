"""Defaults in units of rewards: chosen when the rewards are known, and said with the result.

What a player expects before play is in units of rewards. A model is made before they are seen, so
that its default is "task": 0 where 0 is among the rewards, as for wins of 1 and losses of 0 or for
gains and losses, and else estimated, or their median where a model must know it. Where agents play
without data, it is what their parameters say, or 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.model import Declared

M = TypeVar("M")
Task = Literal["task"]
TASK: Task = "task"
RARE = 0.025  # share of rewards on one side of 0 below which 0 is at their edge


def for_task(model: Any, episodes: Sequence[Any]) -> Any:
    """The model with what its defaults are for these episodes; itself, if nothing is left open.

    Parameters
    ----------
    model
        One with `for_rewards`, or any other.
    episodes
        All that belong to the task: people who are fitted one by one share what is chosen.
    """
    choose = Declared(model).for_rewards
    return model if choose is None else choose(rewards_of(episodes))


def for_agents(model: Any, parameters: Mapping[str, Any]) -> Any:
    """The model as agents with these parameters play it; itself, if nothing is left open."""
    choose = Declared(model).for_parameters
    return model if choose is None else choose(parameters)


def doubts_of(model: Any, episodes: Sequence[Any]) -> tuple[str, ...]:
    """Sentences on settings of the model that these episodes speak against."""
    doubts = Declared(model).doubts
    return () if doubts is None else tuple(doubts(episodes))


def rewards_of(episodes: Sequence[Any]) -> Vector:
    """All rewards that were received."""
    parts = [np.asarray(getattr(episode, "rewards", ()), dtype=np.float64) for episode in episodes]
    rewards = np.concatenate([np.zeros(0), *parts])
    return np.asarray(rewards[np.isfinite(rewards)])


def is_open(value: Any) -> bool:
    """Whether a number shall be chosen when the rewards are known."""
    return isinstance(value, str) and value == TASK


def before_rewards(value: Any) -> Any:
    """The number itself; what is open is 0 as long as nothing is known."""
    return 0.0 if is_open(value) else value


def expected_before_play(rewards: Vector, *, estimable: bool) -> tuple[float | None, str]:
    """What to expect of an option before play, None to estimate it; and why, in words."""
    if not len(rewards):
        return 0.0, ""
    if rewards.min() <= 0 <= rewards.max():
        other = "None estimates it" if estimable else "give another"
        rare = "" if zero_is_common(rewards) else f", at the edge of them: {other}"
        return 0.0, f"0 is among the rewards{rare}"
    why = f"0 is not among the rewards, {ends_of(rewards)}"
    if estimable:
        return None, why
    return float(np.median(rewards)), f"the median reward: {why}"


def with_start(model: M, name: str, rewards: Vector, *, estimable: bool) -> M:
    """The model with what its player expects before play of these rewards, if it is open."""
    if not is_open(vars(model)[name]):
        return model
    start, why = expected_before_play(rewards, estimable=estimable)
    return replace(model, **{name: start, "because": why})  # type: ignore[type-var]


def with_agents_start(model: M, name: str, parameters: Mapping[str, Any]) -> M:
    """The model with the start of agents, if it is open: a parameter of theirs, or 0."""
    if not is_open(vars(model)[name]):
        return model
    return replace(model, **{name: None if name in parameters else 0.0})  # type: ignore[type-var]


def zero_is_common(rewards: Vector) -> bool:
    """Whether 0 is a reward like others: at least 1 in 40 is not above it, and 1 in 40 not below.

    Examples
    --------
    >>> import numpy as np
    >>> zero_is_common(np.array([0.0, 1.0, 1.0])), zero_is_common(np.array([31.0, 64.0]))
    (True, False)
    """
    return bool(min((rewards <= 0).mean(), (rewards >= 0).mean()) >= RARE)


def ends_of(rewards: Vector) -> str:
    """From where to where rewards go."""
    return f"{rewards.min():g} to {rewards.max():g}"


def start_words(value: Any, because: str) -> str:
    """What is expected before play in words, and why."""
    if is_open(value):
        return "by the rewards"
    words = "estimated" if value is None else f"{value:g}"
    return f"{words} ({because})" if because else words


ENOUGH = 5  # rewards beyond the first of an option that tell whether they vary


def doubts_of_start(name: str, value: Any, episodes: Sequence[Any]) -> Iterator[str]:
    """That what is expected before play lies outside the rewards."""
    rewards = rewards_of(episodes)
    if value is None or is_open(value) or not len(rewards):
        return
    if not rewards.min() <= value <= rewards.max():
        yield (
            f"{name} = {value:g} lies outside the rewards ({ends_of(rewards)}): other parameters "
            "make up for it, such as a rate that leaves it quickly. Leave it out to choose it by "
            "the rewards."
        )


def doubts_of_threshold(above: Any, episodes: Sequence[Any]) -> Iterator[str]:
    """That the threshold of a win makes every reward a win, or a loss."""
    rewards = rewards_of(episodes)
    if is_open(above) or not len(rewards):
        return
    wins = float((rewards > above).mean())
    if wins in (0.0, 1.0):
        kind = "win" if wins else "loss"
        yield (
            f"win_above = {above:g} makes every reward a {kind} ({ends_of(rewards)}). Leave it out "
            "to choose it by the rewards."
        )


def doubts_of_noise(
    noise: Sequence[float], words: str, advice: str, episodes: Sequence[Any]
) -> Iterator[str]:
    """That options always give the same which are taken for noisy.

    Parameters
    ----------
    noise, words
        Variance of each option's rewards, as the player takes it; the same in words.
    advice
        What it does to the model.
    episodes
        With their rewards.
    """
    if not len(rewards_of(episodes)):
        return
    variance, enough = _within(episodes, len(noise))
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
