"""Intervals of shares."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from penchant._typing import Matrix, Vector


def wilson(shares: Vector, counts: Vector, level: float = 0.95) -> Matrix:
    """Wilson's interval of shares out of counts: (n, 2); NaN where nothing was counted.

    Examples
    --------
    >>> wilson(np.array([0.5]), np.array([20.0])).round(3)
    array([[0.299, 0.701]])
    """
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    counted = np.where(counts > 0, counts, np.nan)
    centre = (shares + z2 / (2 * counted)) / (1 + z2 / counted)
    spread = shares * (1 - shares) / counted + z2 / (4 * counted**2)
    half = np.sqrt(z2 * spread) / (1 + z2 / counted)
    return np.column_stack([np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)])
