"""Agents that follow places, many at once: the terms of locality from the past, one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.locations import distances
from penchant.errors import DataError


@dataclass
class LocalityAgents:
    """Where agents have been, and how much they mind."""

    locations: Matrix
    weights: dict[str, float]
    n_agents: int
    past: list[IntVector] = field(default_factory=list)

    @classmethod
    def of(
        cls, locations: Matrix, terms: tuple[str, ...], parameters: dict[str, float], n_agents: int
    ) -> LocalityAgents:
        """Agents before play, with a parameter for each term."""
        for name in terms:
            if not np.isfinite(parameters[name]):
                raise DataError(f"{name} must be finite; got {parameters[name]}. Correct it.")
        return cls(locations, {name: float(parameters[name]) for name in terms}, n_agents)

    def objective(self) -> Matrix:
        """Weighted sum of the terms (n_agents, n_options); 0 before the first choice."""
        total = np.zeros((self.n_agents, len(self.locations)))
        if self.past:
            for name, weight in self.weights.items():
                total += weight * self._term(name)
        return total

    def _term(self, name: str) -> Matrix:
        options, last = np.arange(len(self.locations)), self.past[-1]
        if name == "visited":
            been = [np.isin(options, mine) for mine in np.array(self.past).T]
            return np.array(been, dtype=np.float64)
        if name == "same":
            return np.asarray(options == last[:, None], dtype=np.float64)
        there = self.locations[last][:, None, :]
        apart: Matrix = np.abs(self.locations[None, :, :] - there).sum(axis=2)
        if name == "distance":
            return apart
        between = distances(self.locations)
        return np.asarray(np.log(1.0 + apart / between[between > 0].min(initial=np.inf)))

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(self.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember the option each agent chose; what it received does not matter."""
        self.past.append(np.array(chosen))


def softmax(q: Matrix) -> Matrix:
    """Probabilities proportional to exp(q), along the last axis."""
    e = np.exp(q - q.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
