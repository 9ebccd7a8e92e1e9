"""Agents that play by Gaussian-process UCB, many at once.

Beliefs are means and covariances of all options in units of rewards, updated by Gaussian
conditioning: another way than the recursion behind the likelihood, so that one can check the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.locations import distances
from penchant.errors import DataError
from penchant.models.locality_agent import LocalityAgents, softmax

if TYPE_CHECKING:
    from penchant.models.gp_ucb import GPUCB


@dataclass
class GPUCBAgents:
    """The state of agents in play: (n_agents, n_options) means, covariances, and the past."""

    parameters: dict[str, float]
    noise_variance: float
    mean: Matrix
    covariance: Matrix
    locality: LocalityAgents

    @classmethod
    def of(cls, model: GPUCB, parameters: dict[str, float], n_agents: int) -> GPUCBAgents:
        """Agents before play.

        Parameters
        ----------
        parameters
            temperature, bonus, a weight for each term of locality; and prior_mean, length_scale and
            noise_ratio where the model does not fix them.
        """
        given = {name: float(value) for name, value in parameters.items()}
        for name in ("length_scale", "noise_ratio", "prior_mean"):
            fixed = getattr(model, name)
            given[name] = given[name] if fixed is None else float(fixed)
        _check(given)
        correlation = model.kernel(distances(model.locations), given["length_scale"])
        variance = model.prior_sd**2
        return cls(
            given,
            variance * given["noise_ratio"],
            np.full((n_agents, model.n_options), given["prior_mean"]),
            np.repeat(variance * correlation[None], n_agents, axis=0),
            LocalityAgents.of(model.locations, tuple(model.locality), given, n_agents),
        )

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        variance = np.diagonal(self.covariance, axis1=1, axis2=2) + self.noise_variance
        heuristic = self.mean + self.parameters["bonus"] * np.sqrt(variance)
        return softmax(heuristic / self.parameters["temperature"] + self.locality.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from the option each agent chose and the reward it received."""
        agents = np.arange(len(chosen))
        column = self.covariance[agents, :, chosen]
        gain = column / (column[agents, chosen] + self.noise_variance)[:, None]
        self.mean += gain * (rewards - self.mean[agents, chosen])[:, None]
        self.covariance -= gain[:, :, None] * column[:, None, :]
        self.locality.observe(chosen, rewards)


def _check(given: dict[str, float]) -> None:
    for name, value in given.items():
        if not np.isfinite(value):
            raise DataError(f"{name} must be finite; got {value}. Correct it.")
    for name in ("temperature", "noise_ratio"):
        if given[name] <= 0:
            raise DataError(f"{name} must be > 0; got {given[name]}. Correct it.")
    if given["length_scale"] < 0:
        raise DataError(f"length_scale must be >= 0; got {given['length_scale']}. Correct it.")
