"""One parameter that people were simulated with, and what a fit gave back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector

USABLE = ("converged", "weakly identified", "at a bound")
FEW_VALUES = 12  # true values that are tabled one by one


@dataclass(frozen=True, eq=False)
class RecoveredParameter:
    """True and estimated values of one natural parameter, one each per simulated person.

    People without a finite estimate are counted in `share_without`; bias, spread and correlations
    are of the others. Coverage is of all who have an interval.

    Attributes
    ----------
    name
        Of the parameter.
    true, estimated
        Values; an estimate is NaN where there is no finite one.
    interval
        (n, 2): low and high, NaN where there is none.
    statuses
        Of each person's estimate.
    positive
        Whether correlations, and log_bias and log_rmse, are of logarithms.
    """

    name: str
    true: Vector
    estimated: Vector
    interval: Matrix
    statuses: tuple[str, ...]
    positive: bool

    @property
    def has_estimate(self) -> BoolVector:
        """Who has a finite estimate."""
        return np.isfinite(self.estimated)

    @property
    def share_without(self) -> float:
        """Share of people without a finite estimate."""
        return float(1.0 - self.has_estimate.mean())

    @property
    def errors(self) -> Vector:
        """Estimated minus true, of those with an estimate."""
        return np.asarray((self.estimated - self.true)[self.has_estimate])

    @property
    def bias(self) -> float:
        """Mean error."""
        return _mean(self.errors)

    @property
    def bias_error(self) -> float:
        """Monte Carlo standard error of the bias."""
        n = len(self.errors)
        return float(self.errors.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(_mean(self.errors**2)))

    @property
    def log_bias(self) -> float:
        """Mean error of the logarithm, for positive parameters."""
        return _mean(self._log_errors)

    @property
    def log_rmse(self) -> float:
        """Root of the mean squared error of the logarithm, for positive parameters."""
        return float(np.sqrt(_mean(self._log_errors**2)))

    @property
    def _log_errors(self) -> Vector:
        if not self.positive:
            return np.empty(0)
        known = self.has_estimate
        return np.asarray(np.log(self.estimated[known]) - np.log(self.true[known]))

    @property
    def has_interval(self) -> BoolVector:
        """Who has an interval, bounded or not."""
        return np.asarray(~np.isnan(self.interval).any(axis=1))

    @property
    def covered(self) -> BoolVector:
        """Whose interval holds the true value."""
        low, high = self.interval.T
        with np.errstate(invalid="ignore"):
            return np.asarray((low <= self.true) & (self.true <= high))

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the true value."""
        return _mean(self.covered[self.has_interval].astype(float))

    @property
    def coverage_error(self) -> float:
        """Monte Carlo standard error of the coverage."""
        n = int(self.has_interval.sum())
        return float(np.sqrt(self.coverage * (1 - self.coverage) / n)) if n else np.nan

    @property
    def correlation(self) -> float:
        """Pearson's correlation of true and estimated values, or of their logarithms."""
        x, y = self._pairs()
        return float(np.corrcoef(x, y)[0, 1]) if _varies(x, y) else np.nan

    @property
    def rank_correlation(self) -> float:
        """Spearman's correlation of true and estimated values."""
        x, y = self._pairs()
        return float(scipy.stats.spearmanr(x, y).statistic) if _varies(x, y) else np.nan

    def _pairs(self) -> tuple[Vector, Vector]:
        known = self.has_estimate
        x, y = self.true[known], self.estimated[known]
        return (np.log(x), np.log(y)) if self.positive else (x, y)

    def where(self, n_parts: int = 5) -> list[dict[str, Any]]:
        """Where the data can tell, and where not: the same in parts of the range of true values.

        Parameters
        ----------
        n_parts
            Parts with about as many people each. Where people have few different true values, each
            of these is a part.

        Returns
        -------
        A row per part: smallest and largest true value, people, share without an estimate, bias,
        rmse, coverage, the median width of the interval relative to the true value, and the share
        of each status.
        """
        values = np.unique(self.true)
        if len(values) <= FEW_VALUES:
            parts = [np.flatnonzero(self.true == value) for value in values]
        else:
            parts = np.array_split(np.argsort(self.true, kind="stable"), max(n_parts, 1))
        every = sorted(set(self.statuses))
        return [self._row(part, every) for part in parts if len(part)]

    def _row(self, part: Any, every: Sequence[str]) -> dict[str, Any]:
        these = [self.statuses[i] for i in part]
        mine = RecoveredParameter(
            self.name,
            self.true[part],
            self.estimated[part],
            self.interval[part],
            tuple(these),
            self.positive,
        )
        width = (mine.interval[:, 1] - mine.interval[:, 0])[mine.has_interval]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = width / np.abs(mine.true[mine.has_interval])
        return {
            "true_low": float(mine.true.min()),
            "true_high": float(mine.true.max()),
            "n": len(part),
            "without_estimate": mine.share_without,
            "bias": mine.bias,
            "rmse": mine.rmse,
            "coverage": mine.coverage,
            "relative_width": float(np.median(relative)) if len(relative) else np.nan,
            **{status: these.count(status) / len(part) for status in every},
        }


def _mean(values: Vector) -> float:
    return float(values.mean()) if len(values) else np.nan


def _varies(x: Vector, y: Vector) -> bool:
    return len(x) > 2 and bool(np.ptp(x) > 0) and bool(np.ptp(y) > 0)
