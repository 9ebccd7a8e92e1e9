"""Do the groups that the user names differ? The direct comparison of different people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.population.compare import compare_groups
from penchant.population.comparison import Difference, adjusted_p_values, welch_of_several
from penchant.population.estimate import PopulationEstimate
from penchant.population.pool import pool
from penchant.population.significance import rank_test
from penchant.studies.fitting import SubjectFit
from penchant.studies.groups import LOG, Factor, exact_on_working_scale, ranges_of
from penchant.studies.plan import Plan

Fits = Mapping[Any, SubjectFit]


@dataclass(frozen=True)
class GroupDifference:
    """One parameter of two groups of different people.

    Attributes
    ----------
    column, stratum
        The column that names the groups, and in which other condition, if any.
    first, second, name
        The groups, and the parameter, of whose logarithm where the name says so.
    first_n, second_n
        Subjects with a finite estimate, who are averaged.
    first_mean, second_mean
        Means of their estimates; geometric means where logarithms are averaged.
    difference, standard_error, low, high
        First minus second, with its interval; of the logarithms where the name says so.
    ratio, ratio_low, ratio_high
        First over second, where logarithms are compared; else NaN.
    hedges_g, hedges_g_low, hedges_g_high
        The difference in standard deviations between subjects, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Welch's t test, two-sided; adjusted by Holm's method over all parameters and pairs.
    first_ranked, second_ranked
        Subjects who take part in the test by rank: also those without a finite estimate, where
        their choices say where they rank.
    superiority
        Probability that somebody of the first group is higher than somebody of the second.
    rank_p_value, adjusted_rank_p_value
        Mann-Whitney's test of everybody who ranks, two-sided.
    """

    column: str
    stratum: str
    first: str
    second: str
    name: str
    first_n: int
    second_n: int
    first_mean: float
    second_mean: float
    difference: float
    standard_error: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    hedges_g: float
    hedges_g_low: float
    hedges_g_high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    first_ranked: int
    second_ranked: int
    superiority: float
    rank_p_value: float
    adjusted_rank_p_value: float


@dataclass(frozen=True)
class OverallTest:
    """One parameter of more than two groups at once.

    Attributes
    ----------
    column, stratum, name
        As for `GroupDifference`.
    n_groups, n_subjects
        Groups with two estimates or more, and the subjects with one in these.
    statistic, df_1, df_2, p_value, adjusted_p_value
        Welch's F test of means with unequal variances; adjusted by Holm's method over parameters.
    n_ranked, rank_statistic, rank_p_value, adjusted_rank_p_value
        Kruskal-Wallis's test of everybody who ranks.
    """

    column: str
    stratum: str
    name: str
    n_groups: int
    n_subjects: int
    statistic: float
    df_1: float
    df_2: float
    p_value: float
    adjusted_p_value: float
    n_ranked: int
    rank_statistic: float
    rank_p_value: float
    adjusted_rank_p_value: float


@dataclass(frozen=True)
class GroupTests:
    """The direct comparison of groups of different people.

    Attributes
    ----------
    differences
        One per pair of groups and parameter.
    overall
        One per parameter where a column names more than two groups.
    """

    differences: tuple[GroupDifference, ...] = ()
    overall: tuple[OverallTest, ...] = ()


def group_tests(factors: Sequence[Factor], fits: Fits, plan: Plan) -> GroupTests:
    """Compare the groups of every column whose groups are different people."""
    between = [factor for factor in factors if not factor.within]
    differences = [d for factor in between for d in _differences(factor, fits, plan)]
    several = [factor for factor in between if len(factor.groups) > 2]
    overall = [test for factor in several for test in _overall(factor, fits, plan)]
    return GroupTests(tuple(_adjusted(differences)), tuple(_adjusted(overall)))


def _differences(factor: Factor, fits: Fits, plan: Plan) -> list[GroupDifference]:
    estimates = {
        label: exact_on_working_scale(fits, subjects, plan.model)
        for label, subjects in factor.groups.items()
    }
    compared = compare_groups(estimates, scale="natural", level=plan.level)
    ranges = {label: ranges_of(fits, s, plan.model) for label, s in factor.groups.items()}
    names = next(iter(estimates.values())).names
    made = []
    for pair, found in zip(
        combinations(estimates, 2), _by_pair(compared.differences, len(names)), strict=True
    ):
        populations = [compared.populations[label] for label in pair]
        for j, difference in enumerate(found):
            places = [ranges[label][:, j] for label in pair]
            made.append(_difference(factor, difference, populations, j, places))
    return made


def _by_pair(differences: Sequence[Difference], n: int) -> list[Sequence[Difference]]:
    return [differences[i : i + n] for i in range(0, len(differences), n)]


def _difference(
    factor: Factor,
    found: Difference,
    populations: Sequence[PopulationEstimate],
    j: int,
    places: Sequence[Matrix],
) -> GroupDifference:
    is_log = found.name.startswith(LOG)
    means = [float(population.estimate[j]) for population in populations]
    ends = (found.difference, found.low, found.high)
    ranked = rank_test(places)
    return GroupDifference(
        column=factor.column,
        stratum=factor.stratum,
        first=str(found.first),
        second=str(found.second),
        name=found.name,
        first_n=populations[0].n_subjects,
        second_n=populations[1].n_subjects,
        first_mean=_exponential(means[0]) if is_log else means[0],
        second_mean=_exponential(means[1]) if is_log else means[1],
        difference=found.difference,
        standard_error=found.standard_error,
        low=found.low,
        high=found.high,
        **dict(
            zip(
                ("ratio", "ratio_low", "ratio_high"),
                map(_exponential, ends) if is_log else (np.nan,) * 3,
                strict=True,
            )
        ),
        hedges_g=found.hedges_g,
        hedges_g_low=found.hedges_g_low,
        hedges_g_high=found.hedges_g_high,
        statistic=found.statistic,
        degrees_of_freedom=found.degrees_of_freedom,
        p_value=found.p_value,
        adjusted_p_value=np.nan,
        first_ranked=ranked.n[0],
        second_ranked=ranked.n[1],
        superiority=ranked.superiority,
        rank_p_value=ranked.p_value,
        adjusted_rank_p_value=np.nan,
    )


def _overall(factor: Factor, fits: Fits, plan: Plan) -> list[OverallTest]:
    groups = factor.groups.values()
    pooled = [
        pool(exact_on_working_scale(fits, subjects, plan.model), rule="mean-sample")
        for subjects in groups
    ]
    ranges = [ranges_of(fits, subjects, plan.model) for subjects in groups]
    fine = [one for one in pooled if one.n_subjects > 1]
    made = []
    for j, name in enumerate(pooled[0].names):
        means, errors = (np.array([getattr(one, what)[j] for one in fine]) for what in _MEANS)
        welch = welch_of_several(means, errors, np.array([one.n_subjects - 1 for one in fine]))
        ranked = rank_test([places[:, j] for places in ranges])
        made.append(
            OverallTest(
                column=factor.column,
                stratum=factor.stratum,
                name=name,
                n_groups=len(fine),
                n_subjects=sum(one.n_subjects for one in fine),
                statistic=welch.statistic,
                df_1=welch.degrees_of_freedom[0],
                df_2=welch.degrees_of_freedom[1],
                p_value=welch.p_value,
                adjusted_p_value=np.nan,
                n_ranked=sum(ranked.n),
                rank_statistic=ranked.statistic,
                rank_p_value=ranked.p_value,
                adjusted_rank_p_value=np.nan,
            )
        )
    return made


_MEANS = ("estimate", "standard_errors")


def _exponential(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _adjusted(made: Sequence[Any]) -> list[Any]:
    """All parameters and pairs are one family; tests of means are one, tests by rank another."""
    means = adjusted_p_values([one.p_value for one in made])
    ranks = adjusted_p_values([one.rank_p_value for one in made])
    return [
        replace(one, adjusted_p_value=float(p), adjusted_rank_p_value=float(r))
        for one, p, r in zip(made, means, ranks, strict=True)
    ]
