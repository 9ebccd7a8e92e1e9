"""Conditions compared within subjects: whoever has an estimate in both is their own control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from penchant._typing import IntVector, Vector
from penchant.population.adjusting import adjusted_p_values
from penchant.population.ranks import signed_rank_p_value, surest_differences
from penchant.study.data import StudyData
from penchant.study.factors import Factor
from penchant.study.plan import Plan
from penchant.study.ranges import ranges_of, why_left_out
from penchant.study.subject_fit import SubjectFit
from penchant.study.working_scale import LOG, exact_on_working_scale
from penchant.tails import normal_point, t_point, t_tail

FEWEST = 3  # pairs that a test is done with


@dataclass(frozen=True)
class PairedDifference:
    """One parameter of the same subjects in two conditions.

    Attributes
    ----------
    first, second, name
        The conditions, and the parameter, of whose logarithm where the name says so.
    n_pairs
        Subjects with a finite estimate in both, who are averaged.
    difference, standard_error, low, high
        Mean of first minus second, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Paired t test, two-sided; adjusted by Holm's method over all of them.
    wilcoxon_p_value, adjusted_wilcoxon_p_value
        Of the signed-rank test, which does not take differences for normal, and in which all take
        part whose choices say in which condition they are higher.
    cohens_dz, cohens_dz_low, cohens_dz_high
        Mean of the differences in their standard deviations, with its interval.
    n_both, n_ranked
        Subjects who were in both conditions, and those whose places in both are known.
    column, stratum
        The column that names the conditions, and in which other condition, if any.
    first_mean, second_mean
        Means over the pairs; geometric means where logarithms are averaged.
    """

    first: str
    second: str
    name: str
    n_pairs: int
    difference: float
    standard_error: float
    low: float
    high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    wilcoxon_p_value: float
    cohens_dz: float
    cohens_dz_low: float = np.nan
    cohens_dz_high: float = np.nan
    adjusted_wilcoxon_p_value: float = np.nan
    n_both: int = 0
    n_ranked: int = 0
    column: str = ""
    stratum: str = ""
    first_mean: float = np.nan
    second_mean: float = np.nan


def paired_comparison(
    data: StudyData, factors: Sequence[Factor], fits: Mapping[Any, SubjectFit], plan: Plan
) -> tuple[PairedDifference, ...]:
    """Paired tests of every parameter between all conditions that the same people were in."""
    made = [
        difference
        for factor in factors
        if factor.within
        for pair in combinations(factor.groups, 2)
        for difference in _of_pair(data, factor, pair, fits, plan)
    ]
    return _adjusted(made)


def _of_pair(
    data: StudyData,
    factor: Factor,
    pair: tuple[str, str],
    fits: Mapping[Any, SubjectFit],
    plan: Plan,
) -> list[PairedDifference]:
    """All parameters of two conditions."""
    one, other = ({data.person(s): s for s in factor.groups[label]} for label in pair)
    both = [person for person in one if person in other]
    if not both:
        return []
    sides = [[mine[person] for person in both] for mine in (one, other)]
    first, second = (exact_on_working_scale(fits, side, plan.model) for side in sides)
    lost = {**why_left_out(first), **why_left_out(second)}
    kept: IntVector = np.array(
        [i for i, s in enumerate(zip(*sides, strict=True)) if not lost.keys() & s], dtype=np.int64
    )
    places = [ranges_of(fits, side, plan.model) for side in sides]
    made = []
    for j, name in enumerate(first.names):
        values = first.estimates[kept, j], second.estimates[kept, j]
        found = paired_difference(*pair, name, values[0] - values[1], plan.level)
        apart = surest_differences(places[0][:, j], places[1][:, j])
        n_ranked = int((~np.isnan(apart)).sum())
        means = [_mean(value, name) for value in values]
        made.append(
            replace(
                found,
                wilcoxon_p_value=signed_rank_p_value(apart) if n_ranked >= FEWEST else np.nan,
                n_both=len(both),
                n_ranked=n_ranked,
                column=factor.column,
                stratum=factor.stratum,
                first_mean=means[0],
                second_mean=means[1],
            )
        )
    return made


def paired_difference(
    first: str, second: str, name: str, apart: Vector, level: float
) -> PairedDifference:
    """The tests of one parameter, from each subject's difference."""
    apart = apart[np.isfinite(apart)]
    n = len(apart)
    spread = float(apart.std(ddof=1)) if n > 1 else np.nan
    mean = float(apart.mean()) if n else np.nan
    if n < FEWEST or not spread > 0:
        unknown = (np.nan,) * 9
        return PairedDifference(first, second, name, n, mean, *unknown)
    error = spread / np.sqrt(n)
    half = float(t_point((1 - level) / 2, n - 1)) * error
    t = mean / error
    p = float(2 * t_tail(abs(t), n - 1))
    ends = (mean - half, mean + half)
    return PairedDifference(
        first,
        second,
        name,
        n,
        mean,
        error,
        *ends,
        t,
        n - 1.0,
        p,
        p,
        signed_rank_p_value(apart),
        *_effect(mean / spread, n, level),
    )


def _effect(dz: float, n: int, level: float) -> tuple[float, float, float]:
    """Cohen's dz with its normal interval: variance 1 / n + dz^2 / (2 n), as Hedges and Olkin's."""
    half = float(normal_point((1 - level) / 2)) * np.sqrt(1 / n + dz**2 / (2 * n))
    return dz, dz - half, dz + half


def _mean(values: Vector, name: str) -> float:
    if not len(values):
        return np.nan
    mean = float(values.mean())
    return float(np.exp(mean)) if name.startswith(LOG) else mean


def _adjusted(made: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    means = adjusted_p_values([d.p_value for d in made])
    ranks = adjusted_p_values([d.wilcoxon_p_value for d in made])
    return tuple(
        replace(d, adjusted_p_value=float(p), adjusted_wilcoxon_p_value=float(r))
        for d, p, r in zip(made, means, ranks, strict=True)
    )
