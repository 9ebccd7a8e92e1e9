"""What agents of all models share: choosing, the checks of their parameters, a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.errors import DataError
from penchant.models.model import Model


def softmax(q: Matrix) -> Matrix:
    """Choice probabilities of each agent from its objective: (n_agents, n_options)."""
    e = np.exp(q - q.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def positive(parameters: Mapping[str, float], name: str) -> float:
    """A parameter above 0."""
    value = float(parameters[name])
    if not (np.isfinite(value) and value > 0):
        raise DataError(f"{name} must be > 0; got {value}. Correct it.")
    return value


def share(parameters: Mapping[str, float], name: str) -> float:
    """A parameter from 0 to 1."""
    value = float(parameters[name])
    if not 0 <= value <= 1:
        raise DataError(f"{name} must lie in 0..1; got {value}. Correct it.")
    return value


def finite(parameters: Mapping[str, float], name: str) -> float:
    """A parameter that is any number."""
    value = float(parameters[name])
    if not np.isfinite(value):
        raise DataError(f"{name} must be finite; got {value}. Correct it.")
    return value


@dataclass
class Habits:
    """What agents do whatever they learnt: repeat the last choice, prefer some options."""

    stickiness: float
    biases: Vector
    last: Matrix

    @classmethod
    def of(cls, parameters: Mapping[str, float], n_agents: int, n_options: int) -> Habits:
        """Habits among the parameters, stickiness and bias_0, bias_1 ...; none where not named."""
        names = [f"bias_{i}" for i in range(n_options)]
        biases = [finite(parameters, name) if name in parameters else 0.0 for name in names]
        stickiness = finite(parameters, "stickiness") if "stickiness" in parameters else 0.0
        return cls(stickiness, np.array(biases), np.zeros((n_agents, n_options)))

    def objective(self) -> Matrix:
        """What the habits add to the objective: (n_agents, n_options)."""
        return self.stickiness * self.last + self.biases

    def observe(self, chosen: IntVector) -> None:
        """Remember what each agent chose."""
        self.last[:] = 0.0
        self.last[np.arange(len(chosen)), chosen] = 1.0


class RememberingAgents:
    """Agents that keep all that happened, and choose by the model's variables."""

    def __init__(self, model: Model, theta: Vector, psi: Vector, n_agents: int) -> None:
        self.model, self.theta, self.psi, self.n_agents = model, theta, psi, n_agents
        self.before: list[Mapping[str, Vector]] = []
        self.after: list[Mapping[str, Vector]] = []
        self.chosen: list[IntVector] = []
        self.rewards: list[Vector] = []
        self.is_choice: list[bool] = []

    def probabilities(self, before: Mapping[str, Vector] | None = None) -> Matrix:
        """Choice probabilities (n_agents, n_options) after what happened, and what is seen."""
        self.before = [*self.before[: len(self.chosen)], before or {}]
        return softmax(np.stack([self._objective(a) for a in range(self.n_agents)]))

    def _objective(self, agent: int) -> Vector:
        # the variables of an event do not depend on what is chosen at it
        episode = Episode(
            [*(options[agent] for options in self.chosen), 0],
            [*(rewards[agent] for rewards in self.rewards), np.nan],
            is_choice=[*self.is_choice, True],
            before=_by_name(self.before, agent),
            after=_by_name([*self.after, {}], agent),
        )
        x = np.asarray(self.model.explanatory(episode, *self.psi))[-1]
        return np.asarray(x @ self.theta)

    def observe(
        self,
        chosen: IntVector,
        rewards: Vector,
        after: Mapping[str, Vector] | None = None,
        is_choice: bool = True,
    ) -> None:
        """Remember what was chosen, or shown, received and learnt."""
        self.before += [{}] * (len(self.chosen) + 1 - len(self.before))
        self.after.append(after or {})
        self.chosen.append(np.array(chosen))
        self.rewards.append(np.array(rewards))
        self.is_choice.append(is_choice)


def _by_name(told: Sequence[Mapping[str, Vector]], agent: int) -> dict[str, list[float]]:
    """What one agent was told event by event, by name."""
    names = dict.fromkeys(name for one in told for name in one)
    return {
        name: [float(one[name][agent]) if name in one else np.nan for one in told] for name in names
    }
