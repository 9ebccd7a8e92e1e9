"""Agents that track means by Kalman filters, many at once, in units of rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.choosing import Habits, finite, positive, share, softmax


@dataclass
class Tracker:
    """Means and variances of the options (n_agents, n_options), brought forward by Bayes' rule."""

    means: Matrix
    variances: Matrix
    noise_variance: Vector

    @classmethod
    def of(
        cls,
        n_options: int,
        n_agents: int,
        mean: float,
        variance: float,
        noise_variance: float | Sequence[float],
    ) -> Tracker:
        """The prior; the noise is that of all options, or of each."""
        shape = (n_agents, n_options)
        noise = np.broadcast_to(np.asarray(noise_variance, dtype=np.float64), n_options)
        return cls(np.full(shape, mean), np.full(shape, variance), noise)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Precisions add up, and means are weighted with them."""
        agents = np.arange(len(chosen))
        sure = self.noise_variance[chosen] == 0
        self.means[agents[sure], chosen[sure]] = rewards[sure]
        self.variances[agents[sure], chosen[sure]] = 0.0
        agents, chosen, rewards = agents[~sure], chosen[~sure], rewards[~sure]
        noise = self.noise_variance[chosen]
        before = 1.0 / self.variances[agents, chosen]
        after = before + 1.0 / noise
        weighted = before * self.means[agents, chosen] + rewards / noise
        self.means[agents, chosen] = weighted / after
        self.variances[agents, chosen] = 1.0 / after


@dataclass
class KalmanAgents:
    """The state of agents in play."""

    tracker: Tracker
    habits: Habits
    temperature: float
    bonus: float
    decay: float
    drift_variance: float
    centre: float

    @classmethod
    def of(
        cls, n_options: int, n_agents: int, parameters: Mapping[str, float], noise_variance: float
    ) -> KalmanAgents:
        """Agents before play, from all numbers of the model, known or given; no centre: m0."""
        mean = finite(parameters, "initial_mean")
        drift = finite(parameters, "drift_variance")
        if drift < 0:
            raise DataError(f"drift_variance must be >= 0; got {drift}. 0 is none.")
        variance = positive(parameters, "prior_variance")
        return cls(
            Tracker.of(n_options, n_agents, mean, variance, noise_variance),
            Habits.of(parameters, n_agents, n_options),
            temperature=positive(parameters, "temperature"),
            bonus=finite(parameters, "uncertainty_bonus"),
            decay=share(parameters, "decay"),
            drift_variance=drift,
            centre=finite(parameters, "centre") if "centre" in parameters else mean,
        )

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        heuristic = self.tracker.means + self.bonus * np.sqrt(self.tracker.variances)
        return softmax(heuristic / self.temperature + self.habits.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received, then let the world move."""
        self.tracker.observe(chosen, rewards)
        self.tracker.means += (1.0 - self.decay) * (self.centre - self.tracker.means)
        self.tracker.variances *= self.decay**2
        self.tracker.variances += self.drift_variance
        self.habits.observe(chosen)


@dataclass
class HybridAgents:
    """Agents with two options who weigh value, relative uncertainty and their ratio."""

    tracker: Tracker
    habits: Habits
    weights: tuple[float, float, float]

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent: a logistic function of what speaks for option 0."""
        m, s = self.tracker.means, self.tracker.variances
        value = m[:, 0] - m[:, 1]
        uncertainty = np.sqrt(s[:, 0]) - np.sqrt(s[:, 1])
        total = np.sqrt(s[:, 0] + s[:, 1])
        w = self.weights
        habit = self.habits.objective() @ np.array([1.0, -1.0])
        first = 1.0 / (
            1.0 + np.exp(-(w[0] * value + w[1] * uncertainty + w[2] * value / total + habit))
        )
        return np.column_stack([first, 1.0 - first])

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received."""
        self.tracker.observe(chosen, rewards)
        self.habits.observe(chosen)
