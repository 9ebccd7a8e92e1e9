"""Who is left out of the tests of means, group by group, and whether groups differ in that.

People without a finite estimate are not a random sample: the most consistent choosers are separated
or at a bound. A difference between groups in how many they are is a finding of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix
from penchant.studies.data import ALL, StudyData
from penchant.studies.factors import Factor, why_left_out
from penchant.studies.groups import exact_on_working_scale
from penchant.studies.plan import Plan
from penchant.studies.subject_fit import SubjectFit


@dataclass(frozen=True)
class LeftOutGroup:
    """How many of a group have no estimate that can be averaged.

    Attributes
    ----------
    column, stratum, group
        The column that names the group (empty for all subjects), in which other condition, if any.
    n_subjects, n_left_out
        Subjects of the group, and those left out of its mean and of tests of means.
    reasons
        Why, with counts, such as "3 separated, 1 at a bound".
    test, p_value
        Of the difference in the share left out between all groups of the column; none where nobody
        or everybody is left out.
    """

    column: str
    stratum: str
    group: str
    n_subjects: int
    n_left_out: int
    reasons: str
    test: str
    p_value: float


def left_out_groups(
    data: StudyData, factors: Sequence[Factor], fits: Mapping[Any, SubjectFit], plan: Plan
) -> tuple[LeftOutGroup, ...]:
    """A row for every group of every column; one for all subjects where no column is named."""
    why = why_left_out(exact_on_working_scale(fits, data.subjects, plan.model))
    if not factors:
        return (_row(("", "", ALL), data.subjects, why, ("", np.nan)),)
    made = []
    for factor in factors:
        test = _paired_test(data, factor, why) if factor.within else _test(factor, why)
        made += [
            _row((factor.column, factor.stratum, label), subjects, why, test)
            for label, subjects in factor.groups.items()
        ]
    return tuple(made)


def _row(
    names: tuple[str, str, str],
    subjects: Sequence[Any],
    why: Mapping[Any, str],
    test: tuple[str, float],
) -> LeftOutGroup:
    reasons = Counter(why[subject] for subject in subjects if subject in why)
    words = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return LeftOutGroup(*names, len(subjects), reasons.total(), words, *test)


def _test(factor: Factor, why: Mapping[Any, str]) -> tuple[str, float]:
    """Of groups of different people."""
    lost = [sum(s in why for s in subjects) for subjects in factor.groups.values()]
    counts = np.array([lost, [len(s) for s in factor.groups.values()]])
    table: Matrix = np.array([counts[0], counts[1] - counts[0]])
    if not table.sum(axis=1).all():
        return "", np.nan
    if len(lost) == 2:
        return "Fisher's exact test", float(scipy.stats.fisher_exact(table).pvalue)
    return "chi-square test", float(scipy.stats.chi2_contingency(table, correction=False).pvalue)


def _paired_test(data: StudyData, factor: Factor, why: Mapping[Any, str]) -> tuple[str, float]:
    """Of conditions that the same people were in, over those who were in all of them."""
    lost: dict[Any, list[bool]] = {}
    for subjects in factor.groups.values():
        for subject in subjects:
            lost.setdefault(data.person(subject), []).append(subject in why)
    k = len(factor.groups)
    rows: BoolVector = np.array([row for row in lost.values() if len(row) == k], dtype=bool)
    rows = rows.reshape(-1, k)
    changed = rows[rows.any(axis=1) & ~rows.all(axis=1)]
    if not len(changed):
        return "", np.nan
    if k == 2:
        n = int(changed[:, 0].sum())
        return "McNemar's exact test", float(scipy.stats.binomtest(n, len(changed)).pvalue)
    per_condition, per_person = changed.sum(axis=0), changed.sum(axis=1)
    mean = per_condition.mean()
    spread = float((per_person * (k - per_person)).sum())
    statistic = k * (k - 1) * float(((per_condition - mean) ** 2).sum()) / spread
    return "Cochran's Q test", float(scipy.stats.chi2.sf(statistic, k - 1))
