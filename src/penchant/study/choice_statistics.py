"""What play looks like in a few numbers: shares of options, switches, a learning curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.events import NOTHING

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
    known = ~np.isnan(rewards) & (episode.chosen != NOTHING)
    if known.any():
        counts = np.bincount(episode.chosen[known], minlength=n_options)
        sums = np.bincount(episode.chosen[known], rewards[known], n_options)
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
