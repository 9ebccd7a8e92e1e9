"""What the length scale changes for subjects whose nominal one is a tenth of a tile."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.locations import grid
from penchant.bandit.reward_prior import RewardPrior
from penchant.errors import PenchantWarning
from penchant.inference.linearized import fit_linearized
from penchant.models.ucl import UCL
from penchant.study.paper.published import EXPERIMENT_NOISE_VARIANCE, GRID, NOMINALS

SCALES = (0.0, 0.05, 0.1, 0.2, 1.0, 4.0)


@dataclass(frozen=True, eq=False)
class LengthScales:
    """Linearised fits of the same plays at several length scales.

    Attributes
    ----------
    scales
        Length scales.
    correlations
        Of the mean rewards of neighbouring options: exp(-1 / length scale).
    log_likelihoods
        (n_scales, n_subjects).
    """

    scales: Vector
    correlations: Vector
    log_likelihoods: Matrix

    @property
    def differences(self) -> Vector:
        """Largest change of a log-likelihood from that at length scale 0."""
        return np.asarray(np.abs(self.log_likelihoods - self.log_likelihoods[0]).max(axis=1))

    def columns(self) -> dict[str, list[object]]:
        """One row per length scale."""
        return {
            "length_scale": self.scales.tolist(),
            "neighbour_correlation": self.correlations.tolist(),
            "mean_log_likelihood": self.log_likelihoods.mean(axis=1).tolist(),
            "largest_change_from_0": self.differences.tolist(),
        }


def compared_length_scales(episodes: Sequence[Episode]) -> LengthScales:
    """Fit the plays about the nominal point for low performance at several length scales."""
    nominal = NOMINALS["low"]
    about = RewardPrior(nominal.mean, nominal.variance)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for scale in SCALES:
            model = UCL(
                locations=grid(*GRID),
                noise_variance=EXPERIMENT_NOISE_VARIANCE,
                length_scale=scale,
            )
            fits = [fit_linearized(episode, model, nominal=about) for episode in episodes]
            rows.append([fit.log_likelihood for fit in fits])
    scales = np.array(SCALES)
    with np.errstate(divide="ignore"):
        correlations = np.exp(-1.0 / scales)
    return LengthScales(scales, correlations, np.array(rows))
