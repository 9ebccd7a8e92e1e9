"""Defaults in units of rewards: chosen when the rewards are known, and said with the result.

What a player expects before play is in units of rewards. A model is made before they are seen, so
that its default is "task": 0 where 0 is among the rewards, as for wins of 1 and losses of 0 or for
gains and losses, and else estimated, or their median where a model must know it. Where agents play
without data, it is what their parameters say, or 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from penchant._typing import Vector

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
    choose = getattr(model, "for_rewards", None)
    return model if choose is None else choose(rewards_of(episodes))


def for_agents(model: Any, parameters: Mapping[str, Any]) -> Any:
    """The model as agents with these parameters play it; itself, if nothing is left open."""
    choose = getattr(model, "for_parameters", None)
    return model if choose is None else choose(parameters)


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


def said_with(words: str, because: str) -> str:
    """A setting in words, and why it is so."""
    return f"{words} ({because})" if because else words


def start_words(value: Any) -> str:
    """What is expected before play in words."""
    if is_open(value):
        return "by the rewards"
    return "estimated" if value is None else f"{value:g}"
