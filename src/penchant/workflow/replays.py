"""Choices of a fitted model after what truly happened or in play begun anew, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import learnt_from
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError
from penchant.models.simulate import picked, play_like
from penchant.models.task import Task
from penchant.models.worlds import World
from penchant.softmax.estimate import Estimate
from penchant.tables.events import NOTHING
from penchant.workflow.draws import log_choice_probabilities, natural_draws

MOST_SHARES = 12  # options whose shares are told one by one


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions of one or more episodes, one after another.

    Attributes
    ----------
    chosen
        Option taken.
    previous
        Option taken at the choice before, in the same episode; -1 at the first.
    is_best
        Whether the option taken pays best.
    part
        Which part of its episode the decision is in, from 0.
    """

    chosen: IntVector
    previous: IntVector
    is_best: BoolVector
    part: IntVector


def decisions_of(episode: Any, best: Matrix, n_parts: int, replaced: Any = None) -> Decisions:
    """The decisions scored of an episode.

    Parameters
    ----------
    episode
        What happened.
    best
        (n_events, n_options): which options pay best.
    n_parts
        Into how many parts of as many decisions it is cut.
    replaced
        Options to take the place of those chosen, (n_decisions,); what came before stays.
    """
    at = np.flatnonzero(episode.scored)
    chosen = episode.chosen[at] if replaced is None else np.asarray(replaced)
    is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
    made = np.flatnonzero((episode.chosen != NOTHING) & is_choice)
    before = np.searchsorted(made, at) - 1
    previous = np.where(before >= 0, episode.chosen[made[np.maximum(before, 0)]], NOTHING)
    part = np.arange(len(at)) * n_parts // max(len(at), 1)
    return Decisions(chosen, previous, best[at, chosen], part)


def best_options(episode: Any, n_options: int) -> Matrix:
    """The option whose rewards were highest on average in the episode; none if there are none."""
    found = np.zeros((episode.n_events, n_options), dtype=bool)
    rewards = getattr(episode, "rewards", np.full(episode.n_events, np.nan))
    done = learnt_from(episode).chosen
    known = ~np.isnan(rewards) & (done != NOTHING)
    if known.any():
        counts = np.bincount(done[known], minlength=n_options)
        sums = np.bincount(done[known], rewards[known], n_options)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
        found[:, means == means.max()] = True
    return found


def statistic_names(n_options: int, n_parts: int) -> tuple[str, ...]:
    """Of the numbers that `statistics` gives."""
    shares = [f"share of option {i}" for i in range(n_options)] if n_options <= MOST_SHARES else []
    parts = [f"best option, part {j + 1} of {n_parts}" for j in range(n_parts)]
    return (*shares, "switches", "best option", *parts)


def statistics(plays: list[Decisions], n_options: int, n_parts: int) -> Vector:
    """Shares of all decisions, NaN where there are none: see `statistic_names`."""
    chosen, previous, is_best, part = (
        np.concatenate([getattr(play, name) for play in plays])
        for name in ("chosen", "previous", "is_best", "part")
    )
    found: list[float] = []
    if n_options <= MOST_SHARES:
        found += (np.bincount(chosen, minlength=n_options) / max(len(chosen), 1)).tolist()
    follows = previous != NOTHING
    found.append(_share(chosen[follows] != previous[follows]))
    found.append(_share(is_best))
    found += [_share(is_best[part == j]) for j in range(n_parts)]
    return np.array(found)


def _share(which: BoolVector) -> float:
    return float(which.mean()) if len(which) else np.nan


def after_history(
    estimate: Estimate, episode: Any, draws: Matrix, rng: np.random.Generator
) -> list[IntVector]:
    """Choices drawn after the true history of every decision scored, one set for each draw."""
    d, found = estimate.n_weights, []
    for draw in draws:
        log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
        found.append(picked(np.exp(log_p[episode.scored]), rng))
    return found


def anew(
    estimate: Estimate, episode: Any, draws: Matrix, world: Any, rng: np.random.Generator
) -> list[Any]:
    """Play of agents in the same world, one for each draw, in the place of the person."""
    task = Task(world_of(world, episode), n_decisions=int(episode.is_choice.sum()))
    return [
        play_like(episode, task, estimate.model, parameters, rng)
        for parameters in natural_draws(estimate, draws)
    ]


def world_of(world: Any, episode: Any) -> Any:
    """What options pay in an episode."""
    if hasattr(episode, "offers"):
        raise DataError(
            "world must be left out for Offers, whose offers are the world; got one. Leave it out."
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


def _is_drawn(world: Any) -> bool:
    """Whether a world is drawn anew for every person."""
    return callable(world) or isinstance(world, World)


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
        return self.given is None and any(own is None or _is_drawn(own) for own in worlds)

    def at(self, episode: Any, like: Any) -> Matrix:
        """Mask (n_events, n_options) for an episode that is played like one of the data."""
        is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
        number = np.maximum(np.cumsum(is_choice) - 1, 0)
        options = np.arange(self.n_options)
        if self.given is not None:
            return np.asarray(self._given()[number % len(self._given())][:, None] == options)
        own = None if self.world is None else world_of(self.world, like)
        if own is None or _is_drawn(own):
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
