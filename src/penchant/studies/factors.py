"""The groups that the user names, and where every subject ranks on every parameter.

Subjects without a finite estimate rank too. Who has an estimate that can be averaged ranks by it.
The others are selected by their answers, and leaving them out is not neutral, but their choices say
something of where they rank: an estimate at an end of the parameter's range (a temperature of 0, as
choices are separated) ranks there, and any other one somewhere in its interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.models.model import Model, natural_parameters
from penchant.models.natural import Natural
from penchant.population.subjects import SubjectEstimates, positive
from penchant.softmax.transformations import Parameter
from penchant.studies.data import StudyData
from penchant.studies.groups import exact_on_working_scale
from penchant.studies.subject_fit import SubjectFit
from penchant.tables.labels import in_natural_order


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
    >>> factors_of(pn.read_study(table, conditions=["dose"]))[0].groups
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


OPEN = ("separated", "not identified", "stopped early")  # the estimate is no point of the model
SAME = 1e-9  # relative distance at which an estimate lies at the end of a range


def why_left_out(estimates: SubjectEstimates) -> dict[Any, str]:
    """{subject: status, or what else is wrong} of those whom no average can use."""
    status = dict(zip(estimates.subjects, estimates.status, strict=True))
    return {
        left.subject: left.why if status[left.subject] == "converged" else status[left.subject]
        for left in estimates.left_out()
    }


def ranges_of(fits: Mapping[Any, SubjectFit], subjects: Sequence[Any], model: Model) -> Matrix:
    """Where subjects rank, on the working scale: (n_subjects, n_parameters, 2).

    Low and high are the same for a point. NaN where nothing is known.
    """
    estimates = exact_on_working_scale(fits, subjects, model)
    lost = why_left_out(estimates)
    naturals = natural_parameters(model)
    found = np.repeat(estimates.estimates[:, :, None], 2, axis=2)
    for i, subject in enumerate(subjects):
        if subject in lost:
            fit = fits[subject].exact
            found[i] = [
                _range(p, natural, natural.ends(model.shape), fit.status)
                for natural, p in zip(naturals, fit.parameters, strict=True)
            ]
            found[i] = np.where(positive(model)[:, None], _logarithm(found[i]), found[i])
    return found


def _logarithm(values: Matrix) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values)


def _range(
    p: Parameter, natural: Natural, ends: tuple[float, float], status: str
) -> tuple[float, float]:
    """Between which values a subject lies who has no estimate that can be averaged."""
    low, high = max(p.low, ends[0]), min(p.high, ends[1])
    if _same(low, ends[0]) and _same(high, ends[1]):  # anything is possible
        return np.nan, np.nan
    goes_on = status == "separated" and np.isnan(p.estimate) and not natural.is_shape
    for value, end in zip((low, high), ends, strict=True):
        if _same(p.estimate, end) or (goes_on and _same(value, end)):  # its weight is infinite
            return end, end
    if np.isnan([p.low, p.high]).any():  # Wald intervals know nothing here
        return (np.nan, np.nan) if status in OPEN else (p.estimate, p.estimate)
    return low, high


def _same(value: float, end: float) -> bool:
    return value == end or bool(np.isclose(value, end, rtol=SAME, atol=0.0))
