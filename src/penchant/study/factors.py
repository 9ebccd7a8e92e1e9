"""The groups that the user names: each column of conditions, between or within people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penchant.choices.natural_order import in_natural_order
from penchant.study.data import StudyData


@dataclass(frozen=True)
class Factor:
    """One column of conditions, and the groups that its labels make.

    Attributes
    ----------
    column
        The column.
    within
        Whether the same people were in several of its groups.
    stratum
        In which of the other conditions, where those vary within people: one comparison is made in
        each. Empty where there is none.
    groups
        {label: subjects}, labels in natural order.
    """

    column: str
    within: bool
    stratum: str
    groups: Mapping[str, tuple[Any, ...]]


def factors_of(data: StudyData) -> tuple[Factor, ...]:
    """Every column that has two groups or more; all subjects of a label are one group.

    Where a column varies within people, so that they are fitted once in each of its conditions, the
    others are compared in each of these conditions by itself.

    Examples
    --------
    >>> import penchant as pn
    >>> import pyarrow as pa
    >>> table = pa.table({"subject": [3, 2, 1], "choice": [0, 1, 0], "reward": [1.0, 0.0, 1.0],
    ...                   "dose": ["10 mg", "2 mg", "10 mg"]})
    >>> factors_of(pn.study_data(table, conditions=["dose"]))[0].groups
    {'2 mg': (2,), '10 mg': (1, 3)}
    """
    varying = {column for column in data.conditions if _varies(data, column)}
    made = []
    for column in data.conditions:
        others = [other for other in data.conditions if other in varying and other != column]
        strata: dict[tuple[Any, ...], dict[Any, list[Any]]] = {}
        for subject in data.subjects:
            where = tuple(data.conditions[other][subject] for other in others)
            label = data.conditions[column][subject]
            strata.setdefault(where, {}).setdefault(label, []).append(subject)
        made += [
            Factor(column, column in varying, ", ".join(map(str, where)), _named(strata[where]))
            for where in in_natural_order(strata)
            if len(strata[where]) > 1
        ]
    return tuple(made)


def _varies(data: StudyData, column: str) -> bool:
    """Whether a person was in more than one condition of the column."""
    first: dict[Any, Any] = {}
    labels = data.conditions[column]
    return any(first.setdefault(data.person(s), labels[s]) != labels[s] for s in data.subjects)


def _named(groups: Mapping[Any, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {str(label): tuple(groups[label]) for label in in_natural_order(groups)}
