"""Groups of subjects: performance and condition together, as in Section VII of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from penchant.study.data import ALL, StudyData
from penchant.study.plan import CATEGORIES, Category


@dataclass(frozen=True)
class Group:
    """Subjects of one performance in one condition; of any where nothing can be performed."""

    performance: Category | None
    condition: str
    subjects: tuple[Any, ...]

    @property
    def label(self) -> str:
        """What the group is called.

        >>> Group("high", "A", (1, 2)).label, Group("low", ALL, ()).label
        ('high, A', 'low')
        >>> Group(None, "A", (1, 2)).label
        'A'
        """
        if self.performance is None:
            return self.condition
        return (
            self.performance if self.condition == ALL else f"{self.performance}, {self.condition}"
        )


def groups_of(data: StudyData, categories: Mapping[Any, Category | None]) -> tuple[Group, ...]:
    """Every group that has a subject: high performance first, conditions in natural order."""
    found: dict[tuple[Category, str], list[Any]] = {}
    for subject in data.subjects:
        performance = categories[subject]
        if performance is not None:
            found.setdefault((performance, data.condition(subject)), []).append(subject)
    order = product(CATEGORIES, data.condition_labels)
    return tuple(Group(*key, tuple(found[key])) for key in order if key in found)


def conditions_of(data: StudyData) -> tuple[Group, ...]:
    """A group for every condition, where there is no performance."""
    found: dict[str, list[Any]] = {}
    for subject in data.subjects:
        found.setdefault(data.condition(subject), []).append(subject)
    return tuple(Group(None, label, tuple(found[label])) for label in data.condition_labels)


def pairs_to_compare(groups: Sequence[Group], within: bool = False) -> list[tuple[Group, Group]]:
    """Pairs that differ in one respect only: in condition, or in performance.

    Conditions that the same subjects were in (`within`) are compared elsewhere, as pairs.
    """
    return [
        (first, second)
        for first, second in combinations(groups, 2)
        if (first.performance == second.performance and not within)
        or first.condition == second.condition
    ]
