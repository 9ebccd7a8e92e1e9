"""Numbers of a simulation with the standard errors that its replicates leave them with."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Vector

Found = tuple[float, float]


def mean_of(values: Any) -> Found:
    """Mean of the finite values and its error; infinite with fewer than two.

    >>> mean_of([1.0, 3.0, float("nan")])
    (2.0, 1.0)
    """
    known = _finite(values)
    if len(known) < 2:
        return float(known.mean()) if len(known) else np.nan, np.inf
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))


def share_of(yes: Any) -> Found:
    """Share of the replicates for which something is so, and its error.

    The error is that of the share with one more on either side, so that it is never 0.

    >>> share, error = share_of([True] * 98)
    >>> share, round(error, 3)
    (1.0, 0.01)
    """
    yes = np.asarray(yes, dtype=bool)
    n = yes.size
    if not n:
        return np.nan, np.inf
    near = (yes.sum() + 1) / (n + 2)
    return float(yes.mean()), float(np.sqrt(near * (1 - near) / n))


def quantile_of(values: Any, p: float) -> Found:
    """A quantile of the finite values, and half the distance of those one error away in rank."""
    known = _finite(values)
    n = len(known)
    if n < 2:
        return float(known[0]) if n else np.nan, np.inf
    reach = np.sqrt(p * (1 - p) / n)
    low, middle, high = np.quantile(known, np.clip([p - reach, p, p + reach], 0.0, 1.0))
    return float(middle), float(high - low) / 2


def median_of(values: Any) -> Found:
    """Median of the finite values, and its error.

    >>> middle, error = median_of(range(101))
    >>> middle, round(error, 1)
    (50.0, 5.0)
    """
    return quantile_of(values, 0.5)


def _finite(values: Any) -> Vector:
    known = np.asarray(values, dtype=np.float64).ravel()
    return known[np.isfinite(known)]
