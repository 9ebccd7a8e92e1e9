"""Tests between groups: conditions within a performance, performances within a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penchant.population.compare import compare_groups
from penchant.population.comparison import GroupComparison
from penchant.study.groups import Group, pairs_to_compare
from penchant.study.plan import CATEGORIES, Plan
from penchant.study.populations import LinearizedGroup
from penchant.study.subject_fit import SubjectFit
from penchant.study.working_scale import exact_on_working_scale


def exact_comparison(
    groups: Sequence[Group], fits: Mapping[Any, SubjectFit], plan: Plan, within: bool = False
) -> GroupComparison | None:
    """Welch's tests of the exact estimates of subjects; None with nothing to compare.

    Positive parameters are tested as logarithms. All tests of all pairs are one family.
    """
    pairs = pairs_to_compare(groups, within)
    if not pairs:
        return None
    estimates = {g.label: exact_on_working_scale(fits, g.subjects, plan.model) for g in groups}
    labels = [(first.label, second.label) for first, second in pairs]
    return compare_groups(estimates, labels, scale="natural", level=plan.level)


def linearized_comparisons(
    columns: Sequence[LinearizedGroup], plan: Plan
) -> tuple[GroupComparison, ...]:
    """The paper's tests: conditions within a performance, as theta is about one nominal point."""
    made = []
    for performance in CATEGORIES:
        mine = [column for column in columns if column.group.performance == performance]
        if len(mine) > 1:
            theta = {column.group.label: column.theta for column in mine}
            made.append(compare_groups(theta, degrees_of_freedom="subjects", level=plan.level))
    return tuple(made)
