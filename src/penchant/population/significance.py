"""Tests over subjects: do parameters go with a score, and tests by rank that keep everybody.

A person's place is a range from low to high: a point where there is an estimate, an end of the
scale where the estimate lies there. Of two people one is higher if their ranges do not overlap; if
they do, the two are tied (Gehan, 1965). With points alone these are the usual tests by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector
from penchant.output import MAX_TABLE_WIDTH, Table, format_number, format_p_value
from penchant.population.subjects import SubjectEstimates
from penchant.tails import normal_isf, t_isf, t_sf

MIN_CORRELATION_SUBJECTS = 4  # Fisher's z has variance 1 / (n - 3)


@dataclass(frozen=True)
class Relation:
    """Relation of a parameter to a score over subjects.

    Attributes
    ----------
    slope, standard_error, low, high
        What one more of the score adds to the parameter: least squares, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Student's t of the slope, two-sided, as it is and adjusted for the number of parameters.
    correlation, correlation_low, correlation_high
        Pearson's, with Fisher's interval.
    rank_correlation, rank_correlation_low, rank_correlation_high, rank_p_value
        Spearman's, with the interval of Bonett and Wright (2000) and the p-value of its t.
    """

    name: str
    n_subjects: int
    slope: float
    standard_error: float
    low: float
    high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    correlation: float
    correlation_low: float
    correlation_high: float
    rank_correlation: float
    rank_correlation_low: float
    rank_correlation_high: float
    rank_p_value: float


NAMES = tuple(field.name for field in fields(Relation))


Residuals = Callable[[Matrix], Matrix]


@dataclass(frozen=True)
class PartialOut:
    """Covariates to partial out: residuals of columns and of ranks, and the columns they cost."""

    residuals: Residuals
    residual_ranks: Residuals
    n_columns: int


def relations(
    usable: SubjectEstimates, scores: Vector, level: float, partial: PartialOut | None = None
) -> list[Relation]:
    """Each parameter against the scores, which are in the order of the subjects.

    Parameters
    ----------
    usable, scores, level
        Estimates, scores, and the level of the intervals.
    partial
        Covariates that slopes and correlations are partial in, if there are some.
    """
    return [
        _relation(name, values, scores, level, partial)
        for name, values in zip(usable.names, usable.estimates.T, strict=True)
    ]


def _relation(
    name: str, given: Vector, given_scores: Vector, level: float, partial: PartialOut | None
) -> Relation:
    both = np.column_stack([given, given_scores])
    ranked = np.column_stack([ranks(given), ranks(given_scores)])
    people, n = len(given), len(given)
    if partial is not None:
        both, ranked = partial.residuals(both), partial.residual_ranks(ranked)
        n = n - partial.n_columns
    values, scores = both.T
    away, df = scores - scores.mean(), n - 2.0
    spread = float(away @ away)
    slope = float(away @ values) / spread
    left = values - values.mean() - slope * away
    error = float(np.sqrt(left @ left / df / spread))
    half = float(t_isf((1 - level) / 2, df)) * error
    r, rank = _correlation(values, scores), _correlation(*ranked.T)
    t = slope / error if error > 0 else float(np.sign(slope)) * np.inf
    return Relation(
        name,
        people,
        slope,
        error,
        slope - half,
        slope + half,
        t,
        df,
        float(2 * t_sf(abs(t), df)),
        float("nan"),
        r,
        *_fisher(r, 1.0, n, level),
        rank,
        *_fisher(rank, 1.0 + rank**2 / 2, n, level),
        float(2 * t_sf(abs(rank) * np.sqrt(df / max(1 - rank**2, 1e-300)), df)),
    )


def _correlation(a: Vector, b: Vector) -> float:
    x, y = a - a.mean(), b - b.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / size, -1.0, 1.0)) if size > 0 else float("nan")


def ranks(values: Vector) -> Vector:
    """Ranks from 1, those of equal values averaged."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[place], dtype=np.float64)


def _fisher(r: float, variance: float, n: int, level: float) -> tuple[float, float]:
    """Interval by the inverse hyperbolic tangent, whose variance is this over n - 3."""
    if n < MIN_CORRELATION_SUBJECTS or not abs(r) < 1:
        return (r, r) if abs(r) == 1 else (float("nan"), float("nan"))
    half = float(normal_isf((1 - level) / 2)) * np.sqrt(variance / (n - 3))
    low, high = np.tanh(np.arctanh(r) + half * np.array([-1.0, 1.0]))
    return float(low), float(high)


def relations_table(found: Sequence[Relation], score: str, level: float) -> Table:
    """The summary as a table, with a note for each correlation."""
    percent = f"{100 * level:g} %"
    header = ("", "slope", f"({percent})", "t", "df", "p", "adj. p", "r", "rank r")
    rows = tuple(
        (
            one.name,
            format_number(one.slope, 4),
            f"{format_number(one.low, 3)} to {format_number(one.high, 3)}",
            format_number(one.statistic, 3),
            format_number(one.degrees_of_freedom, 3),
            format_p_value(one.p_value),
            format_p_value(one.adjusted_p_value),
            format_number(one.correlation, 3),
            format_number(one.rank_correlation, 3),
        )
        for one in found
    )
    notes = tuple(
        f"{one.name}: r {format_number(one.correlation, 3)} ({percent} "
        f"{format_number(one.correlation_low, 3)} "
        f"to {format_number(one.correlation_high, 3)}), rank r "
        f"{format_number(one.rank_correlation, 3)} "
        f"({format_number(one.rank_correlation_low, 3)} to "
        f"{format_number(one.rank_correlation_high, 3)}, p {format_p_value(one.rank_p_value)})."
        for one in found
    )
    facts = (("Subjects", str(found[0].n_subjects)), ("Score", score))
    return Table(f"Parameters against {score}", facts, header, rows, notes, MAX_TABLE_WIDTH)


MAX_EXACT_SPLITS = 20_000  # of people into two groups: all are counted in 0.1 s; else normal
MAX_EXACT_SIGNS = 13  # tied pairs, 2^13 signs; more are well approximated by the normal
SCORE_SUM_TOL = 1e-9  # scores are whole numbers: sums that differ by less are equal


class RankTest(NamedTuple):
    """Whether groups differ by rank.

    Attributes
    ----------
    n
        People of each group who take part.
    superiority
        Probability that a person of the first of two groups is higher than one of the second, ties
        counted half; NaN for more groups.
    statistic
        Chi-square of the ranks, on one degree of freedom less than groups.
    p_value
        Two-sided. Of two small groups it counts all ways to split them; else it is the normal or
        chi-square one.
    """

    n: tuple[int, ...]
    superiority: float
    statistic: float
    p_value: float


def is_placed(places: Matrix) -> BoolVector:
    """Whether a place, a range (low, high), says anything of where a person ranks."""
    return np.asarray(~np.isnan(places).any(axis=1))


def scores(places: Matrix) -> Vector:
    """For each person how many are lower, minus how many are higher.

    Examples
    --------
    >>> scores(np.array([[1.0, 1.0], [2.0, 2.0], [-np.inf, 1.5]]))
    array([-1.,  2., -1.])
    """
    low, high = places.T
    lower = np.searchsorted(np.sort(high), low, side="left")
    higher = len(low) - np.searchsorted(np.sort(low), high, side="right")
    return np.asarray(lower - higher, dtype=np.float64)


def rank_test(groups: Sequence[Matrix]) -> RankTest:
    """Test whether groups differ by rank: Mann-Whitney's test of two, Kruskal-Wallis's of more.

    Parameters
    ----------
    groups
        Places of the people of each group, (n_subjects, 2); NaN for those who take no part.
    """
    placed = [one[is_placed(one)] for one in groups]
    n = tuple(map(len, placed))
    if min(n) < 1 or sum(n) < 3:
        return RankTest(n, np.nan, np.nan, np.nan)
    found = scores(np.concatenate(placed))
    owners = np.repeat(np.arange(len(n)), n)
    sums = np.bincount(owners, found, minlength=len(n))
    spread = float(found @ found)
    two = len(n) == 2
    higher = 0.5 + _superiority(placed) / 2 if two else np.nan  # ties count one half
    if not spread > 0:  # all are tied
        return RankTest(n, higher, 0.0, 1.0)  # all tied
    total = len(found)
    statistic = float((total - 1) / spread * (sums**2 / np.array(n)).sum())
    if two and comb(total, n[0]) <= MAX_EXACT_SPLITS:
        p = _exact(found, n[0], float(sums[0]))
    else:
        p = float(scipy.stats.chi2.sf(statistic, len(n) - 1))
    return RankTest(n, higher, statistic, p)


def _superiority(placed: Sequence[Matrix]) -> float:
    """Share of pairs in which the first is higher, minus those in which it is lower."""
    first, second = placed
    lower = np.searchsorted(np.sort(second[:, 1]), first[:, 0], side="left").sum()
    higher = len(first) * len(second) - int(
        np.searchsorted(np.sort(second[:, 0]), first[:, 1], side="right").sum()
    )
    return float(lower - higher) / (len(first) * len(second))


def _exact(found: Vector, n: int, observed: float) -> float:
    """Share of the splits whose sum of scores is at least as far from 0."""
    splits = np.array(list(combinations(range(len(found)), n)))
    far = np.abs(found[splits].sum(axis=1)) >= abs(observed) - SCORE_SUM_TOL
    return float(far.mean())


def surest_differences(first: Matrix, second: Matrix) -> Vector:
    """The least difference between two places that is certain; 0 where the ranges overlap.

    Examples
    --------
    >>> surest_differences(np.array([[2.0, 5.0], [1.0, 1.0]]), np.array([[1.5, 1.5], [1.0, 3.0]]))
    array([0.5, 0. ])
    """
    with np.errstate(invalid="ignore"):  # both at the same end of the scale: no difference is sure
        above, below = first[:, 0] - second[:, 1], first[:, 1] - second[:, 0]
    found = np.where(above > 0, above, np.where(below < 0, below, 0.0))
    return np.where(is_placed(first) & is_placed(second), found, np.nan)


def signed_rank_p_value(differences: Vector) -> float:
    """Wilcoxon's signed-rank test, two-sided; infinite differences are the largest."""
    known = differences[~np.isnan(differences) & (differences != 0)]  # zeros tell no sign
    if not len(known):
        return float("nan")
    ranks = scipy.stats.rankdata(np.abs(known))
    tied = len(np.unique(ranks)) < len(ranks) or len(known) < (~np.isnan(differences)).sum()
    if tied and len(known) <= MAX_EXACT_SIGNS:
        return _exact_signed(np.rint(2 * ranks).astype(int), known > 0)
    return float(scipy.stats.wilcoxon(np.sign(known) * ranks).pvalue)


def _exact_signed(ranks: Vector, positive: BoolVector) -> float:
    """Exact two-sided p-value of the signed-rank test: counts all signs by sum of ranks."""
    ways = np.ones(1)
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    observed = int(ranks[positive].sum())
    tails = ways[: observed + 1].sum(), ways[observed:].sum()
    return float(min(1.0, 2.0 * min(tails) / ways.sum()))
