"""The result of comparing groups: tests, effect sizes and p-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, either, format_list
from penchant.output import (
    MAX_TABLE_WIDTH,
    Backend,
    Result,
    Table,
    format_count,
    format_number,
    format_p_value,
    frame_backend,
    make_frame,
    to_json_label,
    to_json_numbers,
)
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.score_relations import NAMES as RELATED
from penchant.population.score_relations import Relation, relations_table
from penchant.tails import chi_square_sf, f_sf, normal_isf, t_sf

Adjustment = Literal["holm", "bonferroni", "benjamini-hochberg", "none"]
RULES = {"mean-sample": "plain mean"}
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
    if method not in ADJUSTMENTS:
        raise DataError(
            f"adjust must be one of {', '.join(ADJUSTMENTS)}; got {method!r}. Choose one."
        )
    if ((given < 0) | (given > 1)).any():
        wrong = given[(given < 0) | (given > 1)][0]
        raise DataError(f"p_values must lie between 0 and 1; got {wrong}. Correct it.")
    known = np.isfinite(given)
    given[known] = np.minimum(_adjust_p_values(given[known], method), 1.0)
    return given


def _adjust_p_values(p: Vector, method: Adjustment) -> Vector:
    n = len(p)
    if method == "none" or not n:
        return p
    if method == "bonferroni":
        return n * p
    order = np.argsort(p, kind="stable")
    if method == "holm":
        stepped = np.maximum.accumulate((n - np.arange(n)) * p[order])
    else:
        scaled = n / np.arange(1, n + 1) * p[order]
        stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    found = np.empty(n)
    found[order] = stepped
    return found


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
    p = 2 * t_sf(np.abs(statistic), df)
    return Welch(first - second, np.sqrt(total), statistic, df, np.asarray(p))


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


@dataclass(frozen=True)
class JointTest:
    """Joint test of all parameters: T2 = d' (V + U)^-1 d with full covariances.

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
        return _impossible_joint_test("the covariances are not all known")
    if min(degrees_of_freedom) <= 0:
        return _impossible_joint_test("one subject tells nothing of how subjects differ")
    unit = np.sqrt(np.diag(total))
    if not (unit > 0).all() or np.linalg.cond(total / np.outer(unit, unit)) > 1e13:
        return _impossible_joint_test("the covariance of the difference is singular")
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
        return _impossible_joint_test(f"too few subjects for {p} parameters")
    f = distance * (v - p + 1) / (v * p)
    return JointTest("F", f, (p, v - p + 1), float(f_sf(f, p, v - p + 1)))


def _impossible_joint_test(why: str) -> JointTest:
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
    correction = hedges_correction(f)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(pooled > 0, difference / pooled, np.nan)
    error = correction * np.sqrt((n + m) / (n * m) + plain**2 / (2 * f))
    half = normal_isf((1 - level) / 2) * error
    g = correction * plain
    return EffectSize(g, g - half, g + half)


def hedges_correction(f: float) -> float:
    """J(f) = Gamma(f/2) / (sqrt(f/2) Gamma((f - 1)/2)); NaN below two degrees of freedom."""
    if f < 2:
        return float("nan")
    log = special.gammaln(f / 2) - special.gammaln((f - 1) / 2)
    return float(np.exp(log) / np.sqrt(f / 2))


@dataclass(frozen=True)
class Difference:
    """Difference of a parameter between two groups.

    Attributes
    ----------
    difference, standard_error
        First minus second.
    statistic, degrees_of_freedom
        Welch's t.
    low, high
        Interval of the difference.
    p_value, adjusted_p_value
        Two-sided, as it is and adjusted for the number of comparisons.
    hedges_g, hedges_g_low, hedges_g_high
        The difference in standard deviations between subjects; NaN where these are not known.
    """

    first: Any
    second: Any
    name: str
    difference: float
    standard_error: float
    statistic: float
    degrees_of_freedom: float
    low: float
    high: float
    p_value: float
    adjusted_p_value: float
    hedges_g: float
    hedges_g_low: float
    hedges_g_high: float


@dataclass(frozen=True)
class PairTest:
    """The joint test of two groups."""

    first: Any
    second: Any
    test: JointTest
    adjusted_p_value: float

    def __str__(self) -> str:
        said = f"{self.first} against {self.second}, all parameters: {self.test}"
        return said if self.test.kind == "none" else f"{said}, adjusted {self.adjusted_p_value:.3g}"


def _left_out_note(label: Any, population: PopulationEstimate) -> str:
    """Note on subjects that a population's mean leaves out."""
    lost = population.left_out
    everyone = population.n_subjects + len(lost)
    return f"Left out of {label}, {len(lost)} of {everyone}: {format_list(map(str, lost))}."


NAMES = tuple(field.name for field in fields(Difference))
LABELS = ("first", "second", "name")


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(Result):
    """Tests between groups.

    Attributes
    ----------
    populations
        What was compared.
    differences
        One per pair and parameter.
    joint
        One per pair: all parameters at once, with full covariances.
    relations, score
        One per parameter where subjects were compared by a score, and what that is called.
    logs
        Parameters that were compared by their logarithm.
    covariates
        What was held the same where groups or scores were compared, if anything.
    """

    populations: Mapping[Any, PopulationEstimate]
    differences: tuple[Difference, ...]
    joint: tuple[PairTest, ...]
    adjustment: Adjustment
    level: float
    relations: tuple[Relation, ...] = ()
    score: str = ""
    logs: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    def of(self, name: str) -> tuple[Difference, ...]:
        """The differences of one parameter."""
        return tuple(d for d in self.differences if d.name == name)

    def table(self) -> Table:
        """The summary as a table."""
        if self.relations:
            table = relations_table(self.relations, self.score, self.level)
            said = (
                *self._left_out_notes("all"),
                *self._scale_notes(),
                *self._adjustment_notes(),
                *table.notes,
            )
            return replace(table, notes=said)
        rows: list[tuple[str, ...]] = []
        for pair, found in groupby(self.differences, lambda d: f"{d.first} - {d.second}"):
            rows.append((pair, *[""] * 8))
            rows += [
                (
                    f"  {d.name}",
                    format_number(d.difference, 4),
                    format_number(d.low, 3),
                    format_number(d.high, 3),
                    format_number(d.statistic, 3),
                    format_number(d.degrees_of_freedom, 3),
                    format_p_value(d.p_value),
                    format_p_value(d.adjusted_p_value),
                    format_number(d.hedges_g, 3),
                )
                for d in found
            ]
        percent = f"{100 * self.level:g} %"
        header = ("", "difference", f"{percent} low", "high", "t", "df", "p", "adj. p", "g")
        facts = tuple(
            (str(label), f"{format_count(p.n_subjects, 'subject')}, {RULES.get(p.rule, p.rule)}")
            for label, p in self.populations.items()
        )
        doubts = (f"{c}: {p.message}" for c, p in self.populations.items() if p.message)
        notes = (
            *self._left_out_notes(),
            *self._scale_notes(),
            *self._adjustment_notes(),
            f"p-values adjusted: {self.adjustment}.",
            *map(str, self.joint),
            *doubts,
        )
        return Table(
            "Differences between groups", facts, header, tuple(rows), notes, MAX_TABLE_WIDTH
        )

    def _left_out_notes(self, label: str = "") -> tuple[str, ...]:
        """Notes on subjects left out of all means, with a remedy."""
        lost = [
            _left_out_note(label or own, p) for own, p in self.populations.items() if p.left_out
        ]
        keeps = either("fit_population(..., covariates=)", "penchant population --covariates")
        doubt = f"Those left out are seldom like the others: {keeps} compares everybody."
        return (*lost, doubt) if lost else ()

    def _scale_notes(self) -> tuple[str, ...]:
        """On which scale parameters are compared, where it is not their own."""
        if not self.logs:
            return ()
        what = "adds to the logarithm" if self.relations else "is of logarithms"
        subject = "a slope" if self.relations else "a difference"
        return (
            f"{format_list(self.logs)} on the logarithmic scale, as positive parameters spread "
            f"over orders of magnitude: {subject} {what}, 0.69 for a factor of 2.",
        )

    def _adjustment_notes(self) -> tuple[str, ...]:
        """Notes on covariates and on how standard errors were computed."""
        if not self.covariates:
            return ()
        if self.relations:
            return (
                f"Slopes and correlations at the same {format_list(self.covariates)}: least "
                "squares, and what it leaves.",
            )
        return (
            f"Differences at the same {format_list(self.covariates)}: least squares with HC3 "
            "errors; g in standard deviations left within groups.",
        )

    def __repr__(self) -> str:
        if self.relations:
            return f"<GroupComparison by {self.score}: {len(self.relations)} parameters>"
        groups = ", ".join(map(str, self.populations))
        return f"<GroupComparison of {groups}: {len(self.differences)} differences>"

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Table by pair and parameter; by parameter alone, with a score."""
        names, found = (RELATED, self.relations) if self.relations else (NAMES, self.differences)
        columns = {name: [getattr(one, name) for one in found] for name in names}
        columns["scale"] = ["log" if one.name in self.logs else "identity" for one in found]
        return make_frame(columns, backend or frame_backend(self))

    def document(self) -> dict[str, Any]:
        """Result as a dictionary for JSON."""
        return {
            "format": "penchant-group-comparison",
            "version": 1,
            "adjustment": self.adjustment,
            "level": self.level,
            "logarithms": list(self.logs),
            **({"covariates": list(self.covariates)} if self.covariates else {}),
            "groups": [
                {"group": to_json_label(label), "n_subjects": p.n_subjects, "rule": p.rule}
                for label, p in self.populations.items()
            ],
            "differences": [
                {
                    n: (to_json_label if n in LABELS else to_json_numbers)(getattr(d, n))
                    for n in NAMES
                }
                for d in self.differences
            ],
            "joint": [
                {
                    "first": to_json_label(t.first),
                    "second": to_json_label(t.second),
                    "kind": t.test.kind,
                    "statistic": to_json_numbers(t.test.statistic),
                    "degrees_of_freedom": [to_json_numbers(df) for df in t.test.degrees_of_freedom],
                    "p_value": to_json_numbers(t.test.p_value),
                    "adjusted_p_value": to_json_numbers(t.adjusted_p_value),
                    "note": t.test.note,
                }
                for t in self.joint
            ],
            **({"relations": [vars(one) for one in self.relations]} if self.relations else {}),
        }
