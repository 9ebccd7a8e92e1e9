"""Choices of a fitted model: after what truly happened, or in play begun anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError
from penchant.inference.estimate import ModelEstimate
from penchant.study.choice_statistics import best_options
from penchant.study.parameter_draws import log_choice_probabilities, natural_draws
from penchant.study.task import Task


def after_history(
    estimate: ModelEstimate, episode: Any, draws: Matrix, rng: np.random.Generator
) -> list[IntVector]:
    """Choices drawn after the true history of every decision scored, one set for each draw."""
    d, found = estimate.n_weights, []
    for draw in draws:
        log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
        found.append(_picked(np.exp(log_p[episode.scored]), rng))
    return found


def anew(
    estimate: ModelEstimate, episode: Any, draws: Matrix, world: Any, rng: np.random.Generator
) -> list[Any]:
    """Play of agents in the same world, one for each draw, in the place of the person."""
    task = Task(world_of(world, episode), n_decisions=int(episode.is_choice.sum()))
    return [
        task.play_like(episode, estimate.model, parameters, rng=rng)
        for parameters in natural_draws(estimate, draws)
    ]


def world_of(world: Any, episode: Any) -> Any:
    """What options pay in an episode."""
    if hasattr(episode, "offers"):
        raise DataError(
            "world must be left out for Trials, whose offers are the world; got one. Leave it out."
        )
    if not isinstance(world, Mapping):
        return world
    for key in ((episode.subject, episode.block), episode.block, episode.subject):
        if key in world:
            return world[key]
    raise DataError(
        "world must hold what options pay in every block, or to every subject; got none for "
        f"{episode.block!r} of subject {episode.subject!r}. Add it, or give one world for all."
    )


@dataclass(frozen=True)
class BestOptions:
    """Which options pay best: as given, by the world, or by what was received.

    Attributes
    ----------
    n_options
        Number of options.
    given
        Option that pays best at each decision of an episode, from its first; None if not given.
    world
        What options pay; None if not given. Of a world that is drawn anew, what was received says
        which option is best in the episode.
    """

    n_options: int
    given: Any = None
    world: Any = None

    @property
    def by_receipt(self) -> bool:
        """Whether what was received says which option is best, in some episodes at least."""
        worlds = self.world.values() if isinstance(self.world, Mapping) else (self.world,)
        return self.given is None and any(own is None or callable(own) for own in worlds)

    def at(self, episode: Any, like: Any) -> Matrix:
        """Mask (n_events, n_options) for an episode that is played like one of the data."""
        is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
        number = np.maximum(np.cumsum(is_choice) - 1, 0)
        options = np.arange(self.n_options)
        if self.given is not None:
            return np.asarray(self._given()[number % len(self._given())][:, None] == options)
        own = None if self.world is None else world_of(self.world, like)
        if own is None or callable(own):
            return best_options(episode, self.n_options)
        if isinstance(own, Landscape):
            return np.tile(own.mean_rewards == own.best, (episode.n_events, 1))
        rows = np.asarray(own, dtype=np.float64)[number % len(own)]
        return np.asarray(rows == rows.max(axis=1, keepdims=True))

    def _given(self) -> IntVector:
        options = np.atleast_1d(np.asarray(self.given))
        whole = options.ndim == 1 and options.dtype.kind in "iu"
        if not whole or options.min() < 0 or options.max() >= self.n_options:
            raise DataError(
                f"best must hold options in 0..{self.n_options - 1}, one per decision; got "
                f"{self.given!r}. Correct it."
            )
        return options


def _picked(p: Matrix, rng: np.random.Generator) -> IntVector:
    below = p.cumsum(axis=1) < rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)
    return np.asarray(np.minimum(below.sum(axis=1), p.shape[1] - 1))
