"""Choices of a fitted model: after what truly happened, or in play begun anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError
from penchant.inference.estimate import ModelEstimate
from penchant.study.choice_statistics import Decisions, best_options, decisions_of
from penchant.study.parameter_draws import log_choice_probabilities, natural_draws
from penchant.study.task import Task


def after_history(
    estimate: ModelEstimate,
    episode: Any,
    draws: Matrix,
    best: Matrix,
    n_parts: int,
    rng: np.random.Generator,
) -> list[Decisions]:
    """Choices drawn after the true history of every decision, one set for each draw."""
    d, found = estimate.n_weights, []
    for draw in draws:
        log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
        p = np.exp(log_p[episode.scored])
        found.append(decisions_of(episode, best, n_parts, _picked(p, rng)))
    return found


def anew(
    estimate: ModelEstimate,
    episode: Any,
    draws: Matrix,
    world: Any,
    n_options: int,
    n_parts: int,
    rng: np.random.Generator,
) -> list[Decisions]:
    """Play of agents in the same world, one for each draw."""
    found = []
    for parameters in natural_draws(estimate, draws):
        own = _world_of(world, episode)
        if callable(own):
            own = own(rng)
        task = Task(own, n_decisions=episode.n_decisions)
        (played,) = task.play(estimate.model, parameters, rng=rng)
        found.append(decisions_of(played, best_by(own, played, n_options), n_parts))
    return found


def _world_of(world: Any, episode: Any) -> Any:
    if hasattr(episode, "offers"):
        raise DataError(
            "world must be left out for Trials, whose offers are the world; got one. Leave it out."
        )
    if not isinstance(world, Mapping):
        return world
    if episode.block not in world:
        raise DataError(
            f"world must hold what options pay in every block; got none for {episode.block!r}. "
            "Add it, or give one world for all."
        )
    return world[episode.block]


def best_by(world: Any, episode: Any, n_options: int) -> Matrix:
    """Which options pay best at each event, by the world, or by what was received."""
    own = None if world is None else _world_of(world, episode)
    if isinstance(own, Landscape):
        found = np.zeros((episode.n_events, n_options), dtype=bool)
        found[:, own.mean_rewards == own.best] = True
        return found
    if own is None or callable(own):
        return best_options(episode, n_options)
    schedule = np.asarray(own, dtype=np.float64)
    rows = schedule[np.arange(episode.n_events) % len(schedule)]
    return np.asarray(rows == rows.max(axis=1, keepdims=True))


def _picked(p: Matrix, rng: np.random.Generator) -> IntVector:
    below = p.cumsum(axis=1) < rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)
    return np.asarray(np.minimum(below.sum(axis=1), p.shape[1] - 1))
