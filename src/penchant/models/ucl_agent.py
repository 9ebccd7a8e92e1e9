"""Agents that play by stochastic UCL, many at once.

Beliefs are kept as means and covariances in the units of rewards and updated by Gaussian
conditioning: another way than the recursion behind the likelihood, so that one can check the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.locations import distances
from penchant.errors import DataError
from penchant.models.ucl import UCL


@dataclass
class UCLAgents:
    """The state of agents in play: (n_agents, n_options) means, and covariances."""

    model: UCL
    decision_noise: float
    bonus: float
    mean: Matrix
    covariance: Matrix
    time: int = 1

    @classmethod
    def of(cls, model: UCL, parameters: dict[str, float], n_agents: int) -> UCLAgents:
        """Agents before play.

        Parameters
        ----------
        parameters
            decision_noise (0: the deterministic UCL, always the largest heuristic), prior_mean,
            prior_variance, and length_scale where the model does not fix it.
        """
        nu, variance = parameters["decision_noise"], parameters["prior_variance"]
        scale = model.length_scale if model.length_scale is not None else parameters["length_scale"]
        if not (np.isfinite(nu) and nu >= 0):
            raise DataError(f"decision_noise must be >= 0; got {nu}. 0 means deterministic UCL.")
        if not (np.isfinite(variance) and variance > 0):
            raise DataError(f"prior_variance must be > 0 and finite; got {variance}. Correct it.")
        if not (np.isfinite(scale) and scale >= 0):
            raise DataError(f"length_scale must be >= 0; got {scale}. 0: independent options.")
        if not np.isfinite(parameters["prior_mean"]):
            raise DataError(
                f"prior_mean must be finite; got {parameters['prior_mean']}. Correct it."
            )
        correlation = model.kernel(distances(model.locations), float(scale))
        shape = (n_agents, model.n_options)
        return cls(
            model,
            float(nu),
            _bonus(model, parameters),
            np.full(shape, float(parameters["prior_mean"])),
            np.repeat(variance * correlation[None], n_agents, axis=0),
        )

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent at this time, Eq. (14)."""
        t = np.array([float(self.time)])
        sd = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        heuristic = self.mean + self.bonus * sd * self.model.credible_z(t)
        if self.decision_noise == 0:
            best = heuristic >= heuristic.max(axis=1, keepdims=True)
            return np.asarray(best / best.sum(axis=1, keepdims=True))
        q = heuristic * self.model.inverse_temperature(t) / self.decision_noise
        e = np.exp(q - q.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from the option each agent chose and the reward it received."""
        agents = np.arange(len(chosen))
        column = self.covariance[agents, :, chosen]
        gain = column / (column[agents, chosen] + self.model.noise_variance)[:, None]
        self.mean += gain * (rewards - self.mean[agents, chosen])[:, None]
        self.covariance -= gain[:, :, None] * column[:, None, :]
        self.time += 1


def _bonus(model: UCL, parameters: dict[str, float]) -> float:
    """How much of its standard deviation an option is given: 1, or as a free bonus says."""
    known = float(np.sqrt(model.noise_variance))
    return parameters.get("implied_noise_sd", known) / known if model.bonus == "free" else 1.0
