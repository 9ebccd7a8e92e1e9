"""Agents that play by Q-learning, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.choosing import Habits, finite, positive, share, softmax
from penchant.models.learning_rates import LearningRates


@dataclass
class QLearningAgents:
    """The state of agents in play: values and traces of choices (n_agents, n_options)."""

    values: Matrix
    traces: Matrix
    habits: Habits
    temperature: float
    kernel_weight: float
    rates: dict[str, float]
    initial_value: float
    fictitious: bool
    agents: IntVector = field(init=False)

    def __post_init__(self) -> None:
        self.agents = np.arange(len(self.values))

    @classmethod
    def of(
        cls,
        n_options: int,
        n_agents: int,
        parameters: Mapping[str, float],
        *,
        rates: LearningRates,
        initial_value: float | None,
        fictitious: bool,
    ) -> QLearningAgents:
        """Agents before play.

        Parameters
        ----------
        parameters
            temperature, the rates that are estimated, and what the options of the model add.
        rates
            Each a number, or the name of a parameter.
        initial_value
            Value before play; None if it is a parameter.
        fictitious
            Whether options not taken learn the opposite, rather than forget.
        """
        start = finite(parameters, "initial_value") if initial_value is None else initial_value
        found = {
            role: share(parameters, rate) if isinstance(rate, str) else rate
            for role, rate in asdict(rates).items()
        }
        kernel = finite(parameters, "choice_kernel") if "choice_kernel" in parameters else 0.0
        return cls(
            values=np.full((n_agents, n_options), float(start)),
            traces=np.zeros((n_agents, n_options)),
            habits=Habits.of(parameters, n_agents, n_options),
            temperature=positive(parameters, "temperature"),
            kernel_weight=kernel,
            rates=found,
            initial_value=float(start),
            fictitious=fictitious,
        )

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        q = self.values / self.temperature + self.kernel_weight * self.traces
        return softmax(q + self.habits.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from the option each agent chose and the reward it received."""
        error = rewards - self.values[self.agents, chosen]
        taken = self.values[self.agents, chosen] + error * np.where(
            error >= 0, self.rates["gains"], self.rates["losses"]
        )
        elsewhere = -rewards[:, None] if self.fictitious else self.initial_value
        self.values = self.values + self.rates["others"] * (elsewhere - self.values)
        self.values[self.agents, chosen] = taken
        self.traces *= 1.0 - self.rates["trace"]
        self.traces[self.agents, chosen] += self.rates["trace"]
        self.habits.observe(chosen)
