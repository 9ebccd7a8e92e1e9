"""Groups of subjects, and the scale on which their estimates are averaged and tested.

The scale is the logarithm for positive parameters. Decision noise and prior variance are positive
and spread over orders of magnitude: their mean is that of the largest few, and no test of means
holds. Their logarithms are well behaved; the average, mapped back, is a geometric mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from penchant.models.model import Model, natural_parameters
from penchant.population.estimate import PopulationEstimate
from penchant.population.subjects import SubjectEstimates, logarithms, positive, shares
from penchant.softmax.transformations import Parameter
from penchant.studies.data import ALL, StudyData
from penchant.studies.plan import CATEGORIES, Category
from penchant.studies.subject_fit import SubjectFit

LOG = "log "


def exact_on_working_scale(
    fits: Mapping[Any, SubjectFit], subjects: Sequence[Any], model: Model
) -> SubjectEstimates:
    """Exact estimates of some subjects, with the logarithms of positive parameters."""
    logs = positive(model)
    mine = [fits[subject].exact for subject in subjects]
    names = tuple(n.name for n in natural_parameters(model))
    made = [logarithms(fit.natural, fit.natural_covariance, logs) for fit in mine]
    values, covariances = map(np.array, zip(*made, strict=True))
    return SubjectEstimates(
        tuple(LOG + name if log else name for name, log in zip(names, logs, strict=True)),
        tuple(subjects),
        values,
        covariances,
        tuple(fit.status for fit in mine),
        "natural",
    )


def natural_again(
    population: PopulationEstimate, level: float, model: Model | None = None
) -> tuple[Parameter, ...]:
    """A population's parameters in their own units: geometric means where logarithms were pooled.

    The standard error of a geometric mean is that of the logarithm times the mean. Of rates and
    shares of a model, what lies beyond 0 and 1 is cut off: a mean of shares is a share, so that
    the interval holds it as often as before.
    """
    found = []
    limited = () if model is None else _names_of_shares(model)
    for p in population.parameters_at(level):
        if p.name.startswith(LOG):
            with np.errstate(over="ignore"):  # an end that nothing bounds is infinite
                value, low, high = (float(np.exp(v)) for v in (p.estimate, p.low, p.high))
            error = value * p.standard_error
            found.append(Parameter(p.name.removeprefix(LOG), value, error, low, high))
        elif p.name in limited:
            value, low, high = (float(np.clip(v, 0.0, 1.0)) for v in (p.estimate, p.low, p.high))
            found.append(replace(p, estimate=value, low=low, high=high))
        else:
            found.append(p)
    return tuple(found)


def _names_of_shares(model: Model) -> tuple[str, ...]:
    named = zip(natural_parameters(model), shares(model), strict=True)
    return tuple(n.name for n, share in named if share)


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
