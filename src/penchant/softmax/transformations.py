"""Functions of theta with their uncertainty: delta method and Fieller's interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.tails import normal_point


@dataclass(frozen=True)
class Parameter:
    """One parameter with its standard error and interval."""

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float


def numerical_jacobian(function: Callable[[Vector], Vector], theta: Vector, unit: Vector) -> Matrix:
    """Derivatives by central differences, refined once (Richardson): error of order h^4.

    Steps are a hundredth of `unit`, such as the standard errors. An infinite or missing parameter
    has derivative 0 where the function does not use it, else NaN.
    """
    h = np.where(unit > 0, 1e-2 * unit, 1e-3 * np.maximum(np.abs(theta), 1e-8))
    columns = [
        _refined(function, theta, a, h[a]) if np.isfinite(theta[a]) else _unused(function, theta, a)
        for a in range(len(theta))
    ]
    return np.column_stack(columns)


def _at(function: Callable[[Vector], Vector], theta: Vector, a: int, value: float) -> Vector:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.atleast_1d(function(np.where(np.arange(len(theta)) == a, value, theta)))


def _refined(function: Callable[[Vector], Vector], theta: Vector, a: int, h: float) -> Vector:
    def difference(size: float) -> Vector:
        up = _at(function, theta, a, theta[a] + size)
        down = _at(function, theta, a, theta[a] - size)
        with np.errstate(invalid="ignore"):
            return np.asarray((up - down) / (2 * size))

    return np.asarray((4 * difference(h / 2) - difference(h)) / 3)


def _unused(function: Callable[[Vector], Vector], theta: Vector, a: int) -> Vector:
    zero, one = _at(function, theta, a, 0.0), _at(function, theta, a, 1.0)
    return np.where(zero == one, 0.0, np.nan)


def delta_method(covariance: Matrix, jacobian: Matrix) -> Matrix:
    """Covariance of a function of theta to first order; parameters it does not use may be NaN."""
    used = (jacobian != 0).any(axis=0)
    inner = covariance[np.ix_(used, used)]
    return np.asarray(jacobian[:, used] @ inner @ jacobian[:, used].T)


def transformed(
    values: Vector, covariance: Matrix, names: tuple[str, ...], level: float
) -> tuple[Parameter, ...]:
    """Estimates with delta-method standard errors and Wald intervals."""
    check_level(level)
    z = float(normal_point((1 - level) / 2))
    errors = np.sqrt(np.diag(covariance))
    return tuple(
        Parameter(name, float(v), float(e), float(v - z * e), float(v + z * e))
        for name, v, e in zip(names, values, errors, strict=True)
    )


@dataclass(frozen=True)
class RatioInterval:
    """Fieller's set for a ratio.

    Attributes
    ----------
    kind
        "bounded": low to high. "excluded": everything but the open interval between them.
        "unbounded": every number; the denominator may be 0.
    """

    estimate: float
    low: float
    high: float
    kind: str


def fieller(
    numerator: float, denominator: float, covariance: Matrix, level: float
) -> RatioInterval:
    """Values a of the ratio with (n - a d)^2 <= z^2 var(n - a d).

    `covariance` is that of (numerator, denominator). Right also where the denominator is not well
    away from 0, where the delta method is not.
    """
    check_level(level)
    if not (np.isfinite(covariance).all() and np.isfinite([numerator, denominator]).all()):
        return RatioInterval(np.nan, np.nan, np.nan, "unknown")
    z2 = float(normal_point((1 - level) / 2)) ** 2
    (v_n, v_nd), (_, v_d) = covariance
    a = denominator**2 - z2 * v_d
    b = numerator * denominator - z2 * v_nd
    c = numerator**2 - z2 * v_n
    inside = b * b - a * c
    ratio = numerator / denominator if denominator else np.nan
    if a > 0:
        half = np.sqrt(max(inside, 0.0))
        return RatioInterval(ratio, float((b - half) / a), float((b + half) / a), "bounded")
    if inside <= 0 or a == 0:
        return RatioInterval(ratio, -np.inf, np.inf, "unbounded")
    half = np.sqrt(inside)
    return RatioInterval(ratio, float((b + half) / a), float((b - half) / a), "excluded")
