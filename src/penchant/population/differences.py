"""Two populations side by side: Welch's test, the joint test, effect sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.tails import chi_square_tail, f_tail, normal_point, t_tail


class Welch(NamedTuple):
    """Welch's test of each parameter."""

    difference: Vector
    standard_error: Vector
    statistic: Vector
    degrees_of_freedom: Vector
    p_value: Vector


def welch(
    first: Vector,
    second: Vector,
    errors: tuple[Vector, Vector],
    degrees_of_freedom: tuple[float, float],
) -> Welch:
    """t = (a - b) / sqrt(s^2 + r^2), with s and r the standard errors of a and b; two-sided.

    The degrees of freedom are (s^2 + r^2)^2 / (s^4 / f + r^4 / g); with f and g infinite the test
    is the normal one.
    """
    variances = errors[0] ** 2, errors[1] ** 2
    total = variances[0] + variances[1]
    f, g = degrees_of_freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.divide(total**2, variances[0] ** 2 / f + variances[1] ** 2 / g)
        statistic = (first - second) / np.sqrt(total)
    p = 2 * t_tail(np.abs(statistic), df)
    return Welch(first - second, np.sqrt(total), statistic, df, np.asarray(p))


class SeveralMeans(NamedTuple):
    """Welch's test of several means."""

    statistic: float
    degrees_of_freedom: tuple[float, float]
    p_value: float


def welch_of_several(means: Vector, errors: Vector, degrees_of_freedom: Vector) -> SeveralMeans:
    """Test that k groups with unequal variances have the same mean (Welch, 1951).

    With weights w = 1 / s^2 of the standard errors s, W their sum, m the weighted mean of the means
    and L = sum (1 - w / W)^2 / f, the statistic

        F = [sum w (mean - m)^2 / (k - 1)] / [1 + 2 (k - 2) / (k^2 - 1) L]

    has k - 1 and (k^2 - 1) / (3 L) degrees of freedom; for k = 2 it is the square of Welch's t. NaN
    for fewer than two groups, or where a group does not vary.
    """
    k = len(means)
    if k < 2 or not (np.isfinite(errors) & (errors > 0)).all():
        return SeveralMeans(np.nan, (np.nan, np.nan), np.nan)
    weights = 1.0 / errors**2
    share = weights / weights.sum()
    spread = float(weights @ (means - share @ means) ** 2) / (k - 1)
    left = float(((1.0 - share) ** 2 / degrees_of_freedom).sum())
    statistic = spread / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * left)
    df = (k - 1.0, (k**2 - 1) / (3.0 * left))
    return SeveralMeans(statistic, df, float(f_tail(statistic, *df)))


@dataclass(frozen=True)
class JointTest:
    """All parameters at once: T2 = d' (V + U)^-1 d with full covariances.

    Attributes
    ----------
    kind
        "F": Hotelling's test with unequal covariances, where they come from the spread between
        subjects. "chi-square": Wald's test, where they come from a model. "none": not possible.
    statistic, degrees_of_freedom
        F and its two, or chi-square and its one followed by infinity.
    note
        Why there is no test.
    """

    kind: str
    statistic: float
    degrees_of_freedom: tuple[float, float]
    p_value: float
    note: str = ""

    def __str__(self) -> str:
        if self.kind == "none":
            return f"no joint test: {self.note}"
        first, second = self.degrees_of_freedom
        shown = f"{first:g}, {second:.1f}" if self.kind == "F" else f"{first:g}"
        return f"{self.kind}({shown}) = {self.statistic:.4g}, p = {self.p_value:.3g}"


def joint_test(
    difference: Vector,
    covariances: tuple[Matrix, Matrix],
    degrees_of_freedom: tuple[float, float],
) -> JointTest:
    """Test that two populations have the same parameters.

    With infinite degrees of freedom T2 is chi-square. Otherwise T2 (v - p + 1) / (v p) is F with p
    and v - p + 1 degrees of freedom, v after Krishnamoorthy and Yu (2004):

        v = p (p + 1) / sum_i [tr((V_i V^-1)^2) + tr(V_i V^-1)^2] / f_i,    V = V_1 + V_2.

    It does not depend on the units or combinations of the parameters, and for p = 1 it is Welch's.
    """
    p = len(difference)
    total = covariances[0] + covariances[1]
    if not (np.isfinite(total).all() and np.isfinite(difference).all()):
        return _no_test("the covariances are not all known")
    if min(degrees_of_freedom) <= 0:
        return _no_test("one subject tells nothing of how subjects differ")
    unit = np.sqrt(np.diag(total))
    if not (unit > 0).all() or np.linalg.cond(total / np.outer(unit, unit)) > 1e13:
        return _no_test("the covariance of the difference is singular")
    scaled = difference / unit
    inverse = np.linalg.inv(total / np.outer(unit, unit))
    distance = float(scaled @ inverse @ scaled)
    spread = 0.0
    for covariance, df in zip(covariances, degrees_of_freedom, strict=True):
        share = covariance / np.outer(unit, unit) @ inverse
        spread += (np.trace(share @ share) + np.trace(share) ** 2) / df
    if spread == 0:
        return JointTest("chi-square", distance, (p, np.inf), float(chi_square_tail(distance, p)))
    v = p * (p + 1) / spread
    if v <= p - 1:
        return _no_test(f"too few subjects for {p} parameters")
    f = distance * (v - p + 1) / (v * p)
    return JointTest("F", f, (p, v - p + 1), float(f_tail(f, p, v - p + 1)))


def _no_test(why: str) -> JointTest:
    return JointTest("none", np.nan, (np.nan, np.nan), np.nan, why)


class EffectSize(NamedTuple):
    """Hedges' g of each parameter, with its interval."""

    g: Vector
    low: Vector
    high: Vector


def hedges_g(
    difference: Vector, sds: tuple[Vector, Vector], counts: tuple[int, int], level: float
) -> EffectSize:
    """Difference in units of the pooled standard deviation, corrected for small samples.

    g = J(f) (a - b) / s with f = n + m - 2 and J = Gamma(f/2) / (sqrt(f/2) Gamma((f - 1)/2)); its
    variance is J^2 [(n + m) / (n m) + (g/J)^2 / (2 f)] (Hedges and Olkin), the interval normal.
    """
    n, m = counts
    f = n + m - 2
    if f < 2 or min(counts) < 2:
        blank = np.full(len(difference), np.nan)
        return EffectSize(blank, blank, blank)
    pooled = np.sqrt(((n - 1) * sds[0] ** 2 + (m - 1) * sds[1] ** 2) / f)
    correction = np.exp(special.gammaln(f / 2) - special.gammaln((f - 1) / 2)) / np.sqrt(f / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(pooled > 0, difference / pooled, np.nan)
    error = correction * np.sqrt((n + m) / (n * m) + plain**2 / (2 * f))
    half = normal_point((1 - level) / 2) * error
    g = correction * plain
    return EffectSize(g, g - half, g + half)
