"""Probabilities of decisions in episodes: at one estimate, or averaged over what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.posterior import SEEN, Places
from penchant.inference.profile.profiles import Problem
from penchant.inference.search.grid import Grid
from penchant.inference.search.peaks import Peak
from penchant.models.model import Model
from penchant.models.record import as_episodes
from penchant.softmax.probabilities import log_probabilities
from penchant.wording import weak_prior


def _log_probabilities(
    model: Model, episodes: Sequence[Episode], theta: Vector, psi: Vector
) -> Matrix:
    if not (np.isfinite(theta).all() and np.isfinite(psi).all()):
        raise DataError(
            f"predict must have a finite estimate; got one that is not. Fit with {weak_prior()} to "
            "predict."
        )
    return _Asked.of(model, episodes, psi).log_probabilities(theta)


@dataclass(frozen=True)
class _Asked:
    """Decisions to predict, described at one psi."""

    problem: Problem
    choices: Choices

    @classmethod
    def of(cls, model: Model, episodes: Sequence[Episode], psi: Vector) -> _Asked:
        problem = Problem(model, tuple(episodes))
        return cls(problem, problem.choices(psi))

    def log_probabilities(self, theta: Vector) -> Matrix:
        """Of every option at every decision scored."""
        choices, episodes = self.choices, self.problem.episodes
        log_p = np.asarray(log_probabilities(theta, choices).reshape(choices.n_decisions, -1))
        record = self.problem.profiles.record
        if record.shown is None:
            return log_p
        scored = np.concatenate([episode.scored for episode in episodes])
        masks = [e.available[e.scored] for e in episodes if e.available is not None]
        every = np.full(np.concatenate(masks).shape, -np.inf)
        np.put_along_axis(every, record.shown[scored], log_p, axis=1)
        return every


def probabilities(model: Model, episodes: Sequence[Episode], theta: Vector, psi: Vector) -> Matrix:
    """Probability of every option at every decision scored."""
    return np.exp(_log_probabilities(model, episodes, theta, psi))


def decision_log_likelihoods(
    model: Model, episodes: Sequence[Episode], theta: Vector, psi: Vector
) -> Vector:
    """Log-probability of what was chosen."""
    log_p = _log_probabilities(model, episodes, theta, psi)
    chosen = np.concatenate([e.scored_options for e in episodes])
    return np.asarray(log_p[np.arange(len(chosen)), chosen])


@dataclass(frozen=True)
class Predicted:
    """What a model says of the decisions of some subjects of a scan; picklable."""

    model: Model
    theta: Vector
    psi: Vector

    def __call__(self, data: Any) -> Matrix:
        """Probability of every option at every decision scored."""
        return probabilities(self.model, as_episodes(data), self.theta, self.psi)


@dataclass(frozen=True)
class PredictedChosen:
    """The same of what was chosen alone."""

    model: Model
    theta: Vector
    psi: Vector

    def __call__(self, data: Any) -> Vector:
        """Log-probability of what was chosen."""
        return decision_log_likelihoods(self.model, as_episodes(data), self.theta, self.psi)


@dataclass(frozen=True)
class PredictedOnAverage:
    """The same averaged over psi."""

    model: Model
    grid: Grid
    peak: Peak

    def __call__(self, data: Any) -> Matrix:
        """Probability of every option at every decision scored."""
        return averaged(self.model, as_episodes(data), self.grid, self.peak)


@dataclass(frozen=True)
class PredictedOverPosterior:
    """The same averaged over all that a person may be under a population."""

    model: Model
    places: Places

    def __call__(self, data: Any) -> Matrix:
        """Probability of every option at every decision scored."""
        return over_posterior(self.model, as_episodes(data), self.places)


def over_posterior(model: Model, episodes: Sequence[Episode], places: Places) -> Matrix:
    """Probabilities averaged over places in a posterior."""
    found: Any = np.zeros(())
    for psi, theta, share in zip(*places, strict=True):
        mine = np.flatnonzero(share > SEEN)
        if len(mine):
            asked = _Asked.of(model, episodes, psi)
            each = (share[i] * np.exp(asked.log_probabilities(theta[i])) for i in mine)
            found = sum(each, start=found)
    return np.asarray(found / places.share[places.share > SEEN].sum())


def averaged(model: Model, episodes: Sequence[Episode], grid: Grid, peak: Peak) -> Matrix:
    """Probabilities averaged over the grid and the peak, each weighted by its profile."""
    psi = np.vstack([grid.psi, peak.point.psi])
    theta = np.vstack([grid.theta, peak.point.theta])
    values = np.append(grid.values, peak.point.value)
    weights = np.exp(values - values.max())
    weights = np.where(weights > 1e-6, weights, 0.0)
    weights /= weights.sum()
    used = np.flatnonzero(weights)
    return sum(
        (weights[i] * probabilities(model, episodes, theta[i], psi[i]) for i in used),
        start=np.zeros(()),
    )
