"""Tests of differences between groups, and adjustment of p-values for their number.

Welch's t test per parameter and Hotelling's T2 with unequal covariances (Krishnamoorthy and Yu
2004) over all of them. All take means and covariances: samples are not always known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError
from penchant.population.group_comparison_result import Adjustment, JointTest
from penchant.population.least_squares import TTest, t_test
from penchant.tail_probabilities import chi_square_sf, f_sf, normal_isf

ADJUSTMENTS: tuple[Adjustment, ...] = ("holm", "bonferroni", "benjamini-hochberg", "none")


def adjusted_p_values(p_values: Any, method: Adjustment = "holm") -> Vector:
    """p-values of one family, so that a small one among many does not mislead.

    Parameters
    ----------
    p_values
        NaN where a test could not be done: it stays NaN and does not count.
    method
        "holm" and "bonferroni" bound the chance of any false difference (Holm's is never larger);
        "benjamini-hochberg" bounds the share of false ones among those found.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.results.adjusted_p_values([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = np.array(p_values, dtype=np.float64)
    check_one_of(method, "adjust", ADJUSTMENTS)
    if ((given < 0) | (given > 1)).any():
        wrong = given[(given < 0) | (given > 1)][0]
        raise DataError("p_values", "must lie between 0 and 1", got=wrong, fix="Correct it.")
    known = np.isfinite(given)
    given[known] = np.minimum(_adjust_p_values(given[known], method), 1.0)
    return given


def _adjust_p_values(p: Vector, method: Adjustment) -> Vector:
    n = len(p)
    if method == "none" or not n:
        return p
    if method == "bonferroni":
        return n * p
    if method == "benjamini-hochberg":
        return np.asarray(scipy.stats.false_discovery_control(p))
    order = np.argsort(p, kind="stable")
    found = np.empty(n)
    found[order] = np.maximum.accumulate((n - np.arange(n)) * p[order])
    return found


def welch_t_test(
    difference: Vector,
    errors: tuple[Vector, Vector],
    degrees_of_freedom: tuple[float, float],
    level: float,
) -> TTest:
    """Welch's test of a - b with s and r the standard errors: t = (a - b) / sqrt(s^2 + r^2).

    The degrees of freedom are (s^2 + r^2)^2 / (s^4 / f + r^4 / g); with f and g infinite the test
    is the normal one. `scipy.stats.ttest_ind` takes samples, which published tables do not give.
    """
    variances = errors[0] ** 2, errors[1] ** 2
    total = variances[0] + variances[1]
    f, g = degrees_of_freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.divide(total**2, variances[0] ** 2 / f + variances[1] ** 2 / g)
    return t_test(difference, np.sqrt(total), df, level)


class WelchAnova(NamedTuple):
    """Welch's test of several means."""

    statistic: float
    degrees_of_freedom: tuple[float, float]
    p_value: float


def welch_anova(means: Vector, errors: Vector, degrees_of_freedom: Vector) -> WelchAnova:
    """Test that k groups with unequal variances have the same mean (Welch, 1951).

    With weights w = 1 / s^2 of the standard errors s, W their sum, m the weighted mean of the means
    and L = sum (1 - w / W)^2 / f, the statistic

        F = [sum w (mean - m)^2 / (k - 1)] / [1 + 2 (k - 2) / (k^2 - 1) L]

    has k - 1 and (k^2 - 1) / (3 L) degrees of freedom; for k = 2 it is the square of Welch's t. NaN
    for fewer than two groups, or where a group does not vary.
    """
    k = len(means)
    if k < 2 or not (np.isfinite(errors) & (errors > 0)).all():
        return WelchAnova(np.nan, (np.nan, np.nan), np.nan)
    weights = 1.0 / errors**2
    share = weights / weights.sum()
    spread = float(weights @ (means - share @ means) ** 2) / (k - 1)
    left = float(((1.0 - share) ** 2 / degrees_of_freedom).sum())
    statistic = spread / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * left)
    df = (k - 1.0, (k**2 - 1) / (3.0 * left))
    return WelchAnova(statistic, df, float(f_sf(statistic, *df)))


def joint_difference_test(
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
        return _undefined_joint_test("the covariances are not all known")
    if min(degrees_of_freedom) <= 0:
        return _undefined_joint_test("one subject tells nothing of how subjects differ")
    unit = np.sqrt(np.diag(total))
    if not (unit > 0).all() or np.linalg.cond(total / np.outer(unit, unit)) > 1e13:
        return _undefined_joint_test("the covariance of the difference is singular")
    scaled = difference / unit
    inverse = np.linalg.inv(total / np.outer(unit, unit))
    distance = float(scaled @ inverse @ scaled)
    spread = 0.0
    for covariance, df in zip(covariances, degrees_of_freedom, strict=True):
        share = covariance / np.outer(unit, unit) @ inverse
        spread += (np.trace(share @ share) + np.trace(share) ** 2) / df
    if spread == 0:
        return JointTest("chi-square", distance, (p, np.inf), float(chi_square_sf(distance, p)))
    v = p * (p + 1) / spread
    if v <= p - 1:
        return _undefined_joint_test(f"too few subjects for {p} parameters")
    f = distance * (v - p + 1) / (v * p)
    return JointTest("F", f, (p, v - p + 1), float(f_sf(f, p, v - p + 1)))


def _undefined_joint_test(reason: str) -> JointTest:
    return JointTest("none", np.nan, (np.nan, np.nan), np.nan, reason)


class EffectSize(NamedTuple):
    """Hedges' g of each parameter, with its interval."""

    hedges_g: Vector
    hedges_g_low: Vector
    hedges_g_high: Vector


class SpreadWithinGroups(NamedTuple):
    """Pooled standard deviation within groups, the unit of effect sizes.

    Attributes
    ----------
    sd, degrees_of_freedom
        Of each parameter within groups.
    difference_variance
        Variance of a difference in units of that of one subject: 1 / n + 1 / m of two groups.
    """

    sd: Vector
    degrees_of_freedom: float
    difference_variance: float

    @classmethod
    def of_groups(
        cls, sds: tuple[Vector, Vector], group_sizes: tuple[int, int]
    ) -> SpreadWithinGroups:
        """Pool the standard deviations of two groups of n and m subjects."""
        n, m = np.array(group_sizes, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):  # a group of none or one has no g
            pooled = np.sqrt(((n - 1) * sds[0] ** 2 + (m - 1) * sds[1] ** 2) / (n + m - 2))
            return cls(pooled, float(n + m - 2), float(1 / n + 1 / m))


def hedges_g(difference: Vector, within: SpreadWithinGroups, level: float) -> EffectSize:
    """Differences in units of the standard deviation within groups, corrected for small samples.

    g = J(f) (a - b) / s with J = Gamma(f/2) / (sqrt(f/2) Gamma((f - 1)/2)); its variance is
    J^2 [v + (g/J)^2 / (2 f)] with v that of a difference, 1 / n + 1 / m of two groups (Hedges and
    Olkin), and c'(X'X)^-1 c at the same covariates; the interval is normal.
    """
    correction = hedges_correction(within.degrees_of_freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(within.sd > 0, difference / within.sd, np.nan)
    df = within.degrees_of_freedom
    error = correction * np.sqrt(within.difference_variance + plain**2 / (2 * df))
    half = normal_isf((1 - level) / 2) * error
    g = correction * plain
    return EffectSize(g, g - half, g + half)


def hedges_correction(degrees_of_freedom: float) -> float:
    """J(f) = Gamma(f/2) / (sqrt(f/2) Gamma((f - 1)/2)); NaN below two degrees of freedom."""
    if degrees_of_freedom < 2:
        return float("nan")
    log = special.gammaln(degrees_of_freedom / 2) - special.gammaln((degrees_of_freedom - 1) / 2)
    return float(np.exp(log) / np.sqrt(degrees_of_freedom / 2))
