"""What sigma0^2 the paper's procedure reports, whatever the subjects believed.

Linearised about sigma0^2 = 1e6, agents who were far surer are reported as about a third of that:
the deviation sits on the bound 2 of Section VI.C, where delta is three times its nominal value.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from penchant._progress import progress
from penchant._typing import Matrix, Vector
from penchant.bandit.landscape import GaussianNoise, landscape_a
from penchant.bandit.locations import grid
from penchant.errors import PenchantWarning
from penchant.inference.linearized import fit_linearized
from penchant.models.simulate import simulate_many
from penchant.models.ucl import UCL
from penchant.study.paper.published import (
    EXPERIMENT_DECISIONS,
    EXPERIMENT_NOISE_VARIANCE,
    GRID,
    NOMINALS,
)

TRUE_VARIANCES = (1.0, 10.0, 100.0, 1e3, 3.3e5)
DECISION_NOISE, PRIOR_MEAN = 8.0, 60.0


@dataclass(frozen=True, eq=False)
class Artefact:
    """Linearised estimates of agents with several true sigma0^2.

    Attributes
    ----------
    true_variances
        sigma0^2 of the agents.
    variances, ratios
        Estimated sigma0^2 and Delta_delta over nominal, (n_true, n_replicates); NaN where there is
        no estimate inside the model.
    """

    true_variances: Vector
    variances: Matrix
    ratios: Matrix

    @property
    def n_replicates(self) -> int:
        """Agents for every true value."""
        return int(self.variances.shape[1])

    @property
    def medians(self) -> Vector:
        """Median estimate for every true value."""
        return np.nanmedian(self.variances, axis=1)

    @property
    def median_ratios(self) -> Vector:
        """Median deviation for every true value."""
        return np.nanmedian(self.ratios, axis=1)

    def columns(self) -> dict[str, list[object]]:
        """One row per true value."""
        low, high = np.nanpercentile(self.variances, [10, 90], axis=1)
        return {
            "true_prior_variance": self.true_variances.tolist(),
            "median_estimate": self.medians.tolist(),
            "percentile_10": low.tolist(),
            "percentile_90": high.tolist(),
            "median_ratio": self.median_ratios.tolist(),
            "unusable": np.isnan(self.variances).sum(axis=1).tolist(),
        }


def model_of_high() -> UCL:
    """The model of the high-performing subjects, with the length scale of their nominal point."""
    return UCL(
        locations=grid(*GRID),
        noise_variance=EXPERIMENT_NOISE_VARIANCE,
        length_scale=NOMINALS["high"].length_scale,
    )


def artefact(*, rng: np.random.Generator, n_replicates: int) -> Artefact:
    """Let agents with several true sigma0^2 play 90 decisions, and linearise about (200, 1e6, 4).

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Agents for every true value.
    """
    nominal = NOMINALS["high"]
    model = model_of_high()
    place = landscape_a(*GRID, noise=GaussianNoise(EXPERIMENT_NOISE_VARIANCE))
    variances = np.full((len(TRUE_VARIANCES), n_replicates), np.nan)
    ratios = np.full_like(variances, np.nan)
    with progress("Tables", variances.size) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for i, variance in enumerate(TRUE_VARIANCES):
            episodes = simulate_many(
                place,
                model,
                {
                    "decision_noise": DECISION_NOISE,
                    "prior_mean": PRIOR_MEAN,
                    "prior_variance": variance,
                },
                n_decisions=EXPERIMENT_DECISIONS,
                n_agents=n_replicates,
                rng=rng,
            )
            for j, episode in enumerate(episodes):
                about = replace(nominal, length_scale=None)
                found = fit_linearized(episode, model, nominal=about)
                ratios[i, j] = found.ratio
                variances[i, j] = found.parameters[2].estimate
                advance(1)
    return Artefact(np.array(TRUE_VARIANCES), variances, ratios)
