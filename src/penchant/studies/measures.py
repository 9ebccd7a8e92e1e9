"""What play looks like, decision by decision: rewards, regret, distance from the last choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import learnt_from
from penchant.bandit.locations import distances
from penchant.studies.data import StudyData
from penchant.studies.landscapes import Landscapes
from penchant.tables.events import NOTHING

NAMES = ("reward", "loss", "distance", "likeliest", "met")


@dataclass(frozen=True)
class Measures:
    """Numbers of one play, or means over several: one per decision, NaN where there is none.

    Attributes
    ----------
    reward
        Mean reward of the option chosen where it is known, else the reward received.
    loss
        What the best option would have paid more.
    distance
        Distance from the last choice; 1 for another option and 0 for the same where options lie
        nowhere.
    likeliest, met
        One step ahead: probability of the option that the model held likeliest, and whether it was
        chosen; None for play.
    """

    reward: Vector
    loss: Vector
    distance: Vector
    likeliest: Vector | None = None
    met: Vector | None = None

    @property
    def regret(self) -> Vector:
        """Cumulative regret; a decision without a choice adds nothing."""
        return np.cumsum(np.nan_to_num(self.loss, nan=0.0))


class Measurer:
    """Measures play in the landscapes of a study.

    Parameters
    ----------
    data
        The episodes.
    landscapes
        What their options paid.
    locations
        Where the options lie, if anywhere.
    """

    def __init__(self, data: StudyData, landscapes: Landscapes, locations: Any = None) -> None:
        self.data = data
        self.landscapes = landscapes
        self.apart = None if locations is None else distances(locations)

    def subject(self, subject: Any) -> Measures:
        """What a subject did, averaged over its episodes."""
        return averaged([self.episode(i) for i in self.data.of(subject)])

    def episode(self, i: int) -> Measures:
        """What was done in one episode."""
        episode = self.data.episodes[i]
        done = learnt_from(episode).chosen[episode.is_choice]
        return self.play(i, done[None], episode.rewards[episode.is_choice][None])

    def play(self, i: int, chosen: IntVector, rewards: Matrix) -> Measures:
        """Means over plays (n_plays, n_decisions) in the landscape of an episode."""
        place = self.landscapes.of_episode[i]
        nothing = chosen == NOTHING
        best: Any = self.landscapes.best[place]
        if self.landscapes.source == "estimated":
            paid = rewards
        elif self.landscapes.source == "payoffs":
            means = self._payoffs(i)
            paid, best = means[np.arange(len(means)), chosen], means.max(axis=1)
        else:
            paid = self.landscapes.means[place][chosen]
        paid = np.where(nothing, np.nan, paid)
        return Measures(
            paid.mean(axis=0),
            (best - paid).mean(axis=0),
            self._distance(chosen, nothing).mean(axis=0),
        )

    def _payoffs(self, i: int) -> Matrix:
        """Mean rewards of all options at every decision of an episode."""
        assert self.data.payoffs is not None
        means: Matrix = self.data.payoffs.means(i)[self.data.episodes[i].is_choice]
        return means

    def ahead(self, i: int, p: Matrix) -> Measures:
        """What is expected of a subject at every decision, given what truly happened before it.

        Rewards are not known, as nobody knows what options paid that were not chosen.

        Parameters
        ----------
        i
            The episode.
        p
            Choice probabilities (n_decisions, n_options) after the subject's own history.
        """
        episode = self.data.episodes[i]
        chosen = episode.chosen[episode.is_choice]
        unknown = np.full(len(chosen), np.nan)
        made = chosen != NOTHING
        top = p.argmax(axis=1)
        step = unknown.copy()
        after = np.flatnonzero(made[1:] & made[:-1]) + 1
        if self.apart is None:
            step[after] = 1 - p[after, chosen[after - 1]]
        else:
            step[after] = (p[after] * self.apart[chosen[after - 1]]).sum(axis=1)
        likeliest = np.where(made, p.max(axis=1), np.nan)
        met = np.where(made, chosen == top, np.nan)
        return Measures(unknown, unknown, step, likeliest, met)

    def _distance(self, chosen: IntVector, nothing: BoolVector) -> Matrix:
        before, after = chosen[:, :-1], chosen[:, 1:]
        moved = (before != after).astype(float) if self.apart is None else self.apart[before, after]
        known = ~(nothing[:, :-1] | nothing[:, 1:])
        first = np.full((len(chosen), 1), np.nan)
        return np.hstack([first, np.where(known, moved, np.nan)])


def averaged(measures: Sequence[Measures]) -> Measures:
    """Mean at every decision over those that have it; plays may differ in length."""
    names = [name for name in NAMES if getattr(measures[0], name) is not None]
    return Measures(**{name: mean_of([getattr(m, name) for m in measures]) for name in names})


def mean_of(rows: Sequence[Vector]) -> Vector:
    """Mean of vectors of different lengths at every place, over those that are known there.

    >>> mean_of([np.array([1.0, 3.0]), np.array([2.0, np.nan, 7.0])])
    array([1.5, 3. , 7. ])
    """
    longest = max(map(len, rows))
    total, count = np.zeros((2, longest))
    for row in rows:
        known = ~np.isnan(row)
        total[: len(row)][known] += row[known]
        count[: len(row)] += known
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)
