"""How the agent expects rewards at two locations to go together, Eq. (10)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix


@dataclass(frozen=True)
class Kernel:
    """Correlation as a function of distance / length scale, and its derivative in that ratio."""

    name: str
    correlation: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]

    def __call__(self, distance: Matrix, length_scale: float) -> Matrix:
        """Correlations; a length scale of 0 means none between different locations."""
        if length_scale == 0:
            return np.asarray(distance == 0, dtype=np.float64)
        return self.correlation(_ratio(distance, length_scale))

    def derivative(self, distance: Matrix, length_scale: float) -> Matrix:
        """Derivative of the correlations in the length scale; 0 at 0."""
        if length_scale == 0:
            return np.zeros_like(distance)
        ratio = _ratio(distance, length_scale)
        return np.asarray(-self.slope(ratio) * ratio / length_scale)


def _ratio(distance: Matrix, length_scale: float) -> Matrix:
    """Distance over length scale; beyond 1000 every correlation is 0 in any case."""
    return np.asarray(
        np.where(distance < 1e3 * length_scale, distance, 1e3 * length_scale) / length_scale
    )


def _exponential(u: Matrix) -> Matrix:
    return np.exp(-u)


def _exponential_slope(u: Matrix) -> Matrix:
    return -np.exp(-u)


def _gaussian(u: Matrix) -> Matrix:
    return np.exp(-0.5 * u * u)


def _gaussian_slope(u: Matrix) -> Matrix:
    return -u * np.exp(-0.5 * u * u)


def _matern32(u: Matrix) -> Matrix:
    v = np.sqrt(3.0) * u
    return np.asarray((1.0 + v) * np.exp(-v))


def _matern32_slope(u: Matrix) -> Matrix:
    return np.asarray(-3.0 * u * np.exp(-np.sqrt(3.0) * u))


def _matern52(u: Matrix) -> Matrix:
    v = np.sqrt(5.0) * u
    return np.asarray((1.0 + v + v * v / 3.0) * np.exp(-v))


def _matern52_slope(u: Matrix) -> Matrix:
    v = np.sqrt(5.0) * u
    return np.asarray(-(5.0 / 3.0) * u * (1.0 + v) * np.exp(-v))


EXPONENTIAL = Kernel("exponential", _exponential, _exponential_slope)
GAUSSIAN = Kernel("gaussian", _gaussian, _gaussian_slope)
MATERN32 = Kernel("matern-3/2", _matern32, _matern32_slope)
MATERN52 = Kernel("matern-5/2", _matern52, _matern52_slope)
