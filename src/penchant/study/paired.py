"""Conditions compared within subjects: whoever has an estimate in both is their own control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from penchant._typing import Vector
from penchant.population.adjusting import adjusted_p_values
from penchant.study.data import StudyData
from penchant.study.plan import Plan
from penchant.study.subject_fit import SubjectFit
from penchant.study.working_scale import exact_on_working_scale
from penchant.tails import t_point, t_tail

TESTED = ("converged", "weakly identified")
FEWEST = 3  # pairs that a test is done with


@dataclass(frozen=True)
class PairedDifference:
    """One parameter of the same subjects in two conditions.

    Attributes
    ----------
    first, second, name
        The conditions, and the parameter, of whose logarithm where the name says so.
    n_pairs
        Subjects with an estimate in both.
    difference, standard_error, low, high
        Mean of first minus second, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Paired t test, two-sided; adjusted by Holm's method over all of them.
    wilcoxon_p_value
        Of the signed-rank test, which does not take differences for normal.
    cohens_dz
        Mean of the differences in their standard deviations.
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


def paired_comparison(
    data: StudyData, fits: Mapping[Any, SubjectFit], plan: Plan
) -> tuple[PairedDifference, ...]:
    """Paired tests of every parameter between all conditions; none without subjects in several."""
    if data.people is None:
        return ()
    estimates = exact_on_working_scale(fits, data.subjects, plan.model)
    known = np.array([status in TESTED for status in estimates.status])
    place = {(data.people[s], data.condition(s)): i for i, s in enumerate(data.subjects)}
    conditions = sorted({data.condition(s) for s in data.subjects})
    people = list(dict.fromkeys(data.people.values()))
    made = []
    for first, second in combinations(conditions, 2):
        both = [(place.get((p, first)), place.get((p, second))) for p in people]
        pairs = [(a, b) for a, b in both if a is not None and b is not None and known[[a, b]].all()]
        a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        apart = estimates.estimates[a] - estimates.estimates[b]
        made += [
            paired_difference(first, second, name, apart[:, j], plan.level)
            for j, name in enumerate(estimates.names)
        ]
    return _adjusted(made)


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
    ranks = float(scipy.stats.wilcoxon(apart).pvalue)
    ends = (mean - half, mean + half)
    return PairedDifference(
        first, second, name, n, mean, error, *ends, t, n - 1.0, p, p, ranks, mean / spread
    )


def _adjusted(made: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    adjusted = adjusted_p_values([d.p_value for d in made])
    return tuple(replace(d, adjusted_p_value=float(p)) for d, p in zip(made, adjusted, strict=True))
