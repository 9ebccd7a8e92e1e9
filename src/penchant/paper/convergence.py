"""How estimates of many replicates approach the truth as decisions add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.paper.prefixes import Prefixes
from penchant.paper.published import LEVEL
from penchant.tails import normal_point

HALF_WIDTHS = float(normal_point((1 - LEVEL) / 2))


@dataclass(frozen=True, eq=False)
class Convergence:
    """Estimates of all replicates at every number of decisions, given that they exist.

    Attributes
    ----------
    n
        Numbers of decisions.
    truth
        The true theta.
    missing
        Replicates without a finite estimate: they enter no other column.
    mean, median, low, high
        Of the existing estimates; low and high enclose 95 % of them.
    error_of_mean
        Monte Carlo error of the mean.
    standard_error
        Median of the standard errors of the existing estimates.
    coverage
        Share of their 95 % intervals that hold the truth.
    """

    n: IntVector
    n_replicates: int
    truth: Vector
    missing: IntVector
    mean: Matrix
    median: Matrix
    low: Matrix
    high: Matrix
    error_of_mean: Matrix
    standard_error: Matrix
    coverage: Matrix

    def at(self, n: int) -> int:
        """Row of a number of decisions."""
        return int(np.searchsorted(self.n, n))

    def columns(self, names: tuple[str, ...]) -> dict[str, list[float]]:
        """One row per number of decisions."""
        found: dict[str, list[float]] = {"n": self.n.tolist(), "missing": self.missing.tolist()}
        for a, name in enumerate(names):
            found[f"{name}_true"] = [float(self.truth[a])] * len(self.n)
            for word in ("mean", "median", "low", "high", "standard_error", "coverage"):
                found[f"{name}_{word}"] = getattr(self, word)[:, a].tolist()
        return found


def convergence(estimates: Prefixes, truth: Vector) -> Convergence:
    """Summaries of the estimates that exist; NaN where none does."""
    theta = estimates.theta
    tail = 50 * (1 - LEVEL)
    count = np.maximum(estimates.exists.sum(axis=1), 1)[:, None]
    some = np.flatnonzero(estimates.exists.any(axis=1))

    def of_existing(summary: Matrix) -> Matrix:
        found = np.full((len(theta), theta.shape[2]), np.nan)
        found[some] = summary
        return found

    spread = of_existing(np.nanstd(theta[some], axis=1))
    return Convergence(
        n=estimates.n_decisions,
        n_replicates=estimates.n_replicates,
        truth=truth,
        missing=estimates.missing,
        mean=of_existing(np.nanmean(theta[some], axis=1)),
        median=of_existing(np.nanmedian(theta[some], axis=1)),
        low=of_existing(np.nanpercentile(theta[some], tail, axis=1)),
        high=of_existing(np.nanpercentile(theta[some], 100 - tail, axis=1)),
        error_of_mean=spread / np.sqrt(count),
        standard_error=of_existing(np.nanmedian(estimates.standard_errors[some], axis=1)),
        coverage=estimates.covers(truth, HALF_WIDTHS),
    )
