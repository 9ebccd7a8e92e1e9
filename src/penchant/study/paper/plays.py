"""Plays of stochastic UCL agents, and the exact estimates from their first decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, landscape_a
from penchant.bandit.locations import grid
from penchant.inference.fit_each import fit_each_model
from penchant.models.simulate import simulate_many
from penchant.models.ucl import UCL
from penchant.study.paper.published import GRID, SIMULATION_NOISE_VARIANCE, UCLSetting

PARAMETERS = ("decision_noise", "prior_mean", "prior_variance")


def model_of(setting: UCLSetting) -> UCL:
    """Stochastic UCL on the paper's grid, with the length scale and noise of a figure."""
    return UCL(
        locations=grid(*GRID),
        noise_variance=SIMULATION_NOISE_VARIANCE,
        length_scale=setting.length_scale,
    )


def natural_truth(setting: UCLSetting) -> dict[str, float]:
    """nu, mu0, sigma0^2 of the agents of a figure."""
    return {
        "decision_noise": setting.decision_noise,
        "prior_mean": setting.prior.mean,
        "prior_variance": setting.prior.variance,
    }


def played(
    setting: UCLSetting, *, rng: np.random.Generator, n_replicates: int, n_decisions: int
) -> list[Episode]:
    """Plays of agents with the true prior of a figure on Landscape A.

    Notes
    -----
    Paper: the landscape of the simulations is not stated. A is assumed, as reconstructed here.
    """
    return simulate_many(
        landscape_a(*GRID, noise=GaussianNoise(SIMULATION_NOISE_VARIANCE)),
        model_of(setting),
        natural_truth(setting),
        n_decisions=n_decisions,
        n_agents=n_replicates,
        rng=rng,
    )


def beginnings(episodes: Sequence[Episode], t: int) -> list[Episode]:
    """The first t decisions of every play."""
    return [Episode(e.chosen[:t], e.rewards[:t], subject=e.subject) for e in episodes]


@dataclass(frozen=True, eq=False)
class ExactEstimates:
    """Exact maximum likelihood after the first t decisions, without linearisation.

    Attributes
    ----------
    t
        Decisions used.
    statuses
        How many replicates have each status.
    values
        nu, mu0, sigma0^2 of the converged replicates: (n_converged, 3).
    inside
        Whether each of their 95 % intervals holds the truth.
    """

    t: int
    statuses: dict[str, int]
    values: Matrix
    inside: Matrix

    @property
    def medians(self) -> Vector:
        """Of the converged replicates; NaN if there is none."""
        return np.median(self.values, axis=0) if len(self.values) else np.full(3, np.nan)

    @property
    def coverage(self) -> Vector:
        """Share of intervals that hold the truth."""
        return self.inside.mean(axis=0) if len(self.values) else np.full(3, np.nan)


def exact_estimates(
    setting: UCLSetting, episodes: Sequence[Episode], t: int, threads: int | None = None
) -> ExactEstimates:
    """Fit the first t decisions of every play exactly."""
    estimates = fit_each_model(beginnings(episodes, t), model_of(setting), threads=threads)
    converged = [e.parameters for e in estimates if e.status == "converged"]
    truth = tuple(natural_truth(setting).values())
    values = [[p.estimate for p in found] for found in converged]
    inside = [[p.low <= v <= p.high for p, v in zip(f, truth, strict=True)] for f in converged]
    return ExactEstimates(
        t=t,
        statuses=estimates.counts(),
        values=np.array(values).reshape(-1, 3),
        inside=np.array(inside).reshape(-1, 3),
    )
