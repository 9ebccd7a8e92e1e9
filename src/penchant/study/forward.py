"""Play again: agents with a subject's estimates in the subject's own task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.events import NOTHING
from penchant.models.simulate import Agents, agents_of
from penchant.study.landscapes import Landscapes
from penchant.study.measures import Measurer, Measures, averaged


def played_again(
    subject: Any,
    parameters: Mapping[str, float],
    model: Any,
    measurer: Measurer,
    *,
    n_replicates: int,
    rng: np.random.Generator,
) -> Measures:
    """What agents with these parameters do in the episodes of a subject, on average.

    They are shown what the subject was shown, run out of time where the subject did, and draw their
    own rewards.

    Parameters
    ----------
    subject
        Whose task it is.
    parameters
        Natural parameters of the model.
    model
        How the agents decide.
    measurer
        Knows the episodes and their landscapes.
    n_replicates
        Agents in every episode.
    rng
        Source of randomness.
    """
    found = []
    for i in measurer.data.of(subject):
        episode = measurer.data.episodes[i]
        agents = agents_of(model, dict(parameters), n_replicates)
        draw = _draws(measurer.landscapes, i, model, rng)
        chosen, rewards = _play(agents, episode, draw, n_replicates, model, rng)
        found.append(measurer.play(i, chosen, rewards))
    return averaged(found)


def _draws(landscapes: Landscapes, i: int, model: Any, rng: np.random.Generator) -> Any:
    """A function that draws the rewards of options chosen in an episode."""
    means = landscapes.means[landscapes.of_episode[i]]
    if landscapes.binary:
        return lambda options: (rng.random(len(options)) < means[options]).astype(float)
    variance = getattr(model, "noise_variance", landscapes.noise_variance)
    sd = np.sqrt(variance) if np.isfinite(variance) else 0.0
    return lambda options: means[options] + sd * rng.standard_normal(len(options))


def _play(
    agents: Agents, episode: Episode, draw: Any, n: int, model: Any, rng: np.random.Generator
) -> tuple[IntVector, Matrix]:
    """Options and rewards of every decision: (n, n_decisions) each."""
    chosen, rewards = [], []
    for option, reward, is_choice in zip(
        episode.chosen, episode.rewards, episode.is_choice, strict=True
    ):
        if not is_choice:
            agents.observe(np.full(n, option), np.full(n, reward))
            if getattr(model, "clock", "events") == "choices":
                _turn_clock(agents, -1)
            continue
        if option == NOTHING:
            chosen.append(np.full(n, NOTHING))
            rewards.append(np.full(n, np.nan))
            _turn_clock(agents, 1)
            continue
        picked = _picked(agents.probabilities(), rng)
        paid: Vector = draw(picked)
        agents.observe(picked, paid)
        chosen.append(picked)
        rewards.append(paid)
    if not chosen:
        return np.empty((n, 0), dtype=np.int64), np.empty((n, 0))
    return np.stack(chosen, axis=1), np.stack(rewards, axis=1)


def _turn_clock(agents: Any, steps: int) -> None:
    """Move the time of agents that have one: what is shown takes none, running out of time does."""
    if hasattr(agents, "time"):
        agents.time += steps


def _picked(p: Matrix, rng: np.random.Generator) -> IntVector:
    below = p.cumsum(axis=1) < rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)
    return np.asarray(np.minimum(below.sum(axis=1), p.shape[1] - 1))
