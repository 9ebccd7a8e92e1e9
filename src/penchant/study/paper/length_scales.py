"""What the length scale changes in the estimates of either category of performance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.locations import grid
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import BackMap, nominal_point
from penchant.inference.problem import Problem
from penchant.models.ucl import UCL
from penchant.study.paper.ensembles import fitted
from penchant.study.paper.monte_carlo import Found
from penchant.study.paper.published import EXPERIMENT_NOISE_VARIANCE, GRID, NOMINALS

SCALES = {"low": (0.0, 0.05, 0.1, 0.2, 1.0), "high": (1.0, 2.0, 4.0, 8.0)}
NATURAL = ("nu", "mu0", "sigma0^2")


@dataclass(frozen=True, eq=False)
class LengthScales:
    """Linearised fits of the same plays at several length scales, for one category.

    Attributes
    ----------
    performance
        The category; its nominal point is the paper's.
    scales
        Length scales.
    theta
        Estimates: (n_scales, n_subjects, 3).
    log_likelihoods
        (n_scales, n_subjects).
    """

    performance: str
    scales: Vector
    theta: Matrix
    log_likelihoods: Matrix

    @property
    def correlations(self) -> Vector:
        """Of the mean rewards of neighbouring options: exp(-1 / length scale)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(-1.0 / self.scales))

    @property
    def natural(self) -> Matrix:
        """nu, mu0, sigma0^2 of the mean theta, as in Table II: (n_scales, 3)."""
        return np.array([self._mapped(row, scale) for row, scale in self._rows()])

    @property
    def best(self) -> float:
        """The length scale with the highest mean log-likelihood."""
        return float(self.scales[int(self.log_likelihoods.mean(axis=1).argmax())])

    def changes(self, one: float, two: float) -> list[Found]:
        """Relative change of nu, mu0, sigma0^2 between two length scales, by the jackknife."""
        places = [int(np.flatnonzero(self.scales == scale)[0]) for scale in (one, two)]
        n = self.theta.shape[1]
        whole = self._change(places, np.arange(n))
        without = np.array([self._change(places, np.delete(np.arange(n), i)) for i in range(n)])
        errors = np.sqrt((n - 1) * ((without - without.mean(axis=0)) ** 2).mean(axis=0))
        return list(zip(whole.tolist(), errors.tolist(), strict=True))

    def _change(self, places: Sequence[int], who: IntVector) -> Vector:
        one, two = (self._mapped(self.theta[i, who], float(self.scales[i])) for i in places)
        return np.asarray(np.abs(two - one) / ((np.abs(one) + np.abs(two)) / 2))

    def _rows(self) -> list[tuple[Matrix, float]]:
        return list(zip(self.theta, self.scales.tolist(), strict=True))

    def _mapped(self, theta: Matrix, scale: float) -> Vector:
        model = _model(scale)
        psi, ratios = nominal_point(model, replace(NOMINALS[self.performance], length_scale=None))
        return BackMap(model, psi, ratios, "delta").values(np.nanmean(theta, axis=0))

    def columns(self) -> dict[str, list[object]]:
        """One row per length scale."""
        found: dict[str, list[object]] = {
            "performance": [self.performance] * len(self.scales),
            "length_scale": self.scales.tolist(),
            "neighbour_correlation": self.correlations.tolist(),
            "mean_log_likelihood": self.log_likelihoods.mean(axis=1).tolist(),
        }
        for j, name in enumerate(("decision_noise", "prior_mean", "prior_variance")):
            found[name] = self.natural[:, j].tolist()
        return found


def _model(scale: float) -> UCL:
    return UCL(locations=grid(*GRID), noise_variance=EXPERIMENT_NOISE_VARIANCE, length_scale=scale)


def compared_length_scales(
    episodes: Sequence[Episode], performance: str, threads: int | None = None
) -> LengthScales:
    """Fit plays about the nominal point of a category at several length scales."""
    chosen = np.stack([episode.chosen for episode in episodes])
    theta, values = [], []
    for scale in SCALES[performance]:
        model = _model(scale)
        psi, ratios = nominal_point(model, replace(NOMINALS[performance], length_scale=None))
        x = [
            linearized_choices(Problem(model, (e,)), psi, ratios).explanatory.reshape(
                e.n_events, -1, 3
            )
            for e in episodes
        ]
        found = fitted(np.stack(x), chosen, np.full(3, np.nan), threads)
        theta.append(found.theta)
        values.append(found.log_likelihood)
    return LengthScales(
        performance, np.array(SCALES[performance]), np.array(theta), np.array(values)
    )
