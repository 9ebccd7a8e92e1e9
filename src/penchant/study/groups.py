"""Groups of subjects: performance and condition together, as in Section VII of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from penchant.study.data import ALL, StudyData
from penchant.study.plan import CATEGORIES, Category


@dataclass(frozen=True)
class Group:
    """Subjects of one performance in one condition."""

    performance: Category
    condition: str
    subjects: tuple[Any, ...]

    @property
    def label(self) -> str:
        """What the group is called.

        >>> Group("high", "A", (1, 2)).label, Group("low", ALL, ()).label
        ('high, A', 'low')
        """
        return (
            self.performance if self.condition == ALL else f"{self.performance}, {self.condition}"
        )


def groups_of(data: StudyData, categories: Mapping[Any, Category | None]) -> tuple[Group, ...]:
    """Every group that has a subject: high performance first, conditions sorted."""
    found: dict[tuple[Category, str], list[Any]] = {}
    for subject in data.subjects:
        performance = categories[subject]
        if performance is not None:
            found.setdefault((performance, data.condition(subject)), []).append(subject)
    order = sorted(found, key=lambda key: (CATEGORIES.index(key[0]), key[1]))
    return tuple(Group(*key, tuple(found[key])) for key in order)


def pairs_to_compare(groups: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Pairs that differ in one respect only: in condition, or in performance."""
    return [
        (first, second)
        for first, second in combinations(groups, 2)
        if first.performance == second.performance or first.condition == second.condition
    ]
