"""Agents that play by Q-learning, many at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.q_learning import QLearning


@dataclass
class QLearningAgents:
    """The state of agents in play: values (n_agents, n_options)."""

    values: Matrix
    learning_rate: float
    temperature: float

    @classmethod
    def of(cls, model: QLearning, parameters: dict[str, float], n_agents: int) -> QLearningAgents:
        """Agents before play: parameters temperature and learning_rate."""
        temperature, rate = parameters["temperature"], parameters["learning_rate"]
        if not (np.isfinite(temperature) and temperature > 0):
            raise DataError(f"temperature must be > 0; got {temperature}. Correct it.")
        if not 0 <= rate <= 1:
            raise DataError(f"learning_rate must lie in 0..1; got {rate}. Correct it.")
        values = np.full((n_agents, model.n_options), float(model.initial_value))
        return cls(values, float(rate), float(temperature))

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        q = self.values / self.temperature
        e = np.exp(q - q.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from the option each agent chose and the reward it received."""
        agents = np.arange(len(chosen))
        error = rewards - self.values[agents, chosen]
        self.values[agents, chosen] += self.learning_rate * error
