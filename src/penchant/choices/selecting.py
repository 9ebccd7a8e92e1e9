"""Methods of `Choices` that keep some of the decisions, or some of the variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.choices import arrays
from penchant.errors import DataError, nearest

if TYPE_CHECKING:
    from penchant.choices.choices import Choices


def subset(self: Choices, decisions: Any) -> Choices:
    """Keep some decisions: a boolean mask or indices, in their given order."""
    kept = arrays.decision_indices(decisions, self.n_decisions)
    if not kept.size:
        raise DataError("decisions must keep at least one; got none. Check the filter.")
    sizes = self.first_row[kept + 1] - self.first_row[kept]
    first_row = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(sizes, out=first_row[1:])
    rows = np.repeat(self.first_row[kept] - first_row[:-1], sizes) + np.arange(first_row[-1])

    def per_row(values: Any) -> Any:
        return None if values is None else values[rows]

    def per_decision(values: Any) -> Any:
        return None if values is None else values[kept]

    subject, labels = per_decision(self.subject), self.subject_labels
    if subject is not None and labels is not None:
        present, subject = np.unique(subject, return_inverse=True)
        labels = tuple(labels[i] for i in present)
    return dataclasses.replace(
        self,
        explanatory=self.explanatory[rows],
        first_row=first_row,
        chosen=self.chosen[kept],
        available=per_row(self.available),
        weights=per_decision(self.weights),
        offset=per_row(self.offset),
        option=per_row(self.option),
        subject=subject,
        subject_labels=labels,
        decision_labels=per_decision(self.decision_labels),
    )


def select(self: Choices, names: Sequence[str]) -> Choices:
    """Keep some variables, in the order given."""
    columns = [column_of(self, name) for name in names]
    if not columns:
        raise DataError("names must keep at least one variable; got none. Name one.")
    return dataclasses.replace(
        self,
        explanatory=np.ascontiguousarray(self.explanatory[:, columns]),
        names=tuple(self.names[a] for a in columns),
        natural=None,
    )


def drop(self: Choices, *names: str) -> Choices:
    """Leave some variables out."""
    for name in names:
        column_of(self, name)
    return self.select([name for name in self.names if name not in names])


def column_of(choices: Choices, name: str) -> int:
    """Position of a variable, by name."""
    if name not in choices.names:
        raise DataError(
            f"names must be variables; got {name!r}, but they are {', '.join(choices.names)}."
            f"{nearest(name, choices.names) or ' Correct it.'}"
        )
    return choices.names.index(name)
