"""Rank tests between groups and of pairs that keep subjects whose estimate is at a bound.

A person's place is a range from low to high: a point where there is an estimate, an end of the
scale where the estimate lies there. Of two people one is higher if their ranges do not overlap; if
they do, the two are tied (Gehan, 1965). With points alone these are the usual tests by rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector

MAX_EXACT_SPLITS = 20_000  # counted in 0.1 s; with more the normal approximation is good
SCORE_SUM_TOL = 1e-9  # sums of whole numbers differ by 1 or not at all: less is rounding


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


def has_known_range(rank_ranges: Matrix) -> BoolVector:
    """Whether a place, a range (low, high), says anything of where a person ranks."""
    return np.asarray(~np.isnan(rank_ranges).any(axis=1))


def gehan_scores(rank_ranges: Matrix) -> Vector:
    """For each person how many are lower, minus how many are higher.

    Examples
    --------
    >>> gehan_scores(np.array([[1.0, 1.0], [2.0, 2.0], [-np.inf, 1.5]]))
    array([-1.,  2., -1.])
    """
    low, high = rank_ranges.T
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
    placed = [one[has_known_range(one)] for one in groups]
    n = tuple(map(len, placed))
    if min(n) < 1 or sum(n) < 3:
        return RankTest(n, np.nan, np.nan, np.nan)
    found = gehan_scores(np.concatenate(placed))
    owners = np.repeat(np.arange(len(n)), n)
    sums = np.bincount(owners, found, minlength=len(n))
    spread = float(found @ found)
    two = len(n) == 2
    # Ties count one half, so that groups without a difference get 0.5; defined for two groups only.
    higher = 0.5 + _cliffs_delta_of_ranges(placed) / 2 if two else np.nan
    if not spread > 0:  # all are tied: the statistic would be 0 / 0
        return RankTest(n, higher, 0.0, 1.0)
    total = len(found)
    statistic = float((total - 1) / spread * (sums**2 / np.array(n)).sum())
    if two and comb(total, n[0]) <= MAX_EXACT_SPLITS:
        p = _exact_permutation_p_value(found, n[0], float(sums[0]))
    else:
        p = float(scipy.stats.chi2.sf(statistic, len(n) - 1))
    return RankTest(n, higher, statistic, p)


def _cliffs_delta_of_ranges(placed: Sequence[Matrix]) -> float:
    """Share of pairs in which the first is higher, minus those in which it is lower."""
    first, second = placed
    lower = np.searchsorted(np.sort(second[:, 1]), first[:, 0], side="left").sum()
    higher = len(first) * len(second) - int(
        np.searchsorted(np.sort(second[:, 0]), first[:, 1], side="right").sum()
    )
    return float(lower - higher) / (len(first) * len(second))


def _exact_permutation_p_value(found: Vector, n: int, observed: float) -> float:
    """Share of the splits whose sum of scores is at least as far from 0."""
    splits = np.array(list(combinations(range(len(found)), n)))
    far = np.abs(found[splits].sum(axis=1)) >= abs(observed) - SCORE_SUM_TOL
    return float(far.mean())


def smallest_certain_differences(first: Matrix, second: Matrix) -> Vector:
    """The least difference between two places that is certain; 0 where the ranges overlap.

    Examples
    --------
    >>> first, second = np.array([[2.0, 5.0], [1.0, 1.0]]), np.array([[1.5, 1.5], [1.0, 3.0]])
    >>> smallest_certain_differences(first, second)
    array([0.5, 0. ])
    """
    with np.errstate(invalid="ignore"):  # inf - inf: both at the same end
        above, below = first[:, 0] - second[:, 1], first[:, 1] - second[:, 0]
    found = np.where(above > 0, above, np.where(below < 0, below, 0.0))
    return np.where(has_known_range(first) & has_known_range(second), found, np.nan)


def signed_rank_p_value(differences: Vector) -> float:
    """Wilcoxon's signed-rank test, two-sided; infinite differences are the largest."""
    known = differences[~np.isnan(differences) & (differences != 0)]  # as Wilcoxon's
    if not len(known):
        return float("nan")
    # Ranks with their signs: infinite differences are ranked, but cannot be passed on.
    ranks = np.sign(known) * scipy.stats.rankdata(np.abs(known))
    return float(scipy.stats.wilcoxon(ranks).pvalue)
