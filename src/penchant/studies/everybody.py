"""Everybody of a study at once: the population, and what differs between its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from penchant.errors import DataError
from penchant.models.coordinates import Coordinates
from penchant.population.comparison import adjusted_p_values
from penchant.population.hierarchy.contrasts import Contrast
from penchant.population.hierarchy.fit import fit_population
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.hierarchy.rules import MOST
from penchant.studies.data import StudyData
from penchant.studies.factors import Factor
from penchant.studies.plan import Plan

FEWEST = 8  # people of every group from which on a population is fitted unasked


@dataclass(frozen=True, eq=False)
class StudyPopulation:
    """The population of a study.

    Attributes
    ----------
    fit
        Mean and spread of all people, and everybody under them.
    between, within
        Columns of conditions that people differ in, and that they were all in.
    groups
        {column: labels} of these, in natural order.
    contrasts
        Of every pair of labels, column by column.
    adjusted
        p-values of the contrasts, adjusted by Holm's method over all of them: a tuple each.
    """

    fit: PopulationFit
    between: tuple[str, ...]
    within: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    contrasts: tuple[Contrast, ...]
    adjusted: tuple[tuple[float, ...], ...]


def study_population(
    data: StudyData, factors: Sequence[Factor], plan: Plan, threads: int | None
) -> StudyPopulation | None:
    """The population that the plan asks for; None where it asks for none."""
    if plan.population is False:
        return None
    between = tuple(dict.fromkeys(f.column for f in factors if not f.within))
    within = tuple(dict.fromkeys(f.column for f in factors if f.within))
    if plan.population is None and not _large_enough(data, between, within, plan):
        return None
    if len(within) > 1:
        raise DataError(
            f"population must be left out with several conditions within subjects; got "
            f"{' and '.join(within)}. Join them to one column, or pass population=False."
        )
    episodes, drugs = [], []
    table: dict[str, dict[Any, str]] = {column: {} for column in between}
    for subject in data.subjects:
        person = data.person(subject)
        for column in between:
            table[column][person] = _label(data.conditions[column][subject])
        for i in data.of(subject):
            if data.episodes[i].n_decisions:
                episodes.append(replace(data.episodes[i], subject=person))
                drugs.append(_label(data.conditions[within[0]][subject]) if within else "")
    seen = list(dict.fromkeys(episode.subject for episode in episodes))
    people = {"subject": seen} | {c: [table[c][person] for person in seen] for c in between}
    fit = fit_population(
        episodes,
        plan.model,
        covariates=list(between) or None,
        people=people if between else None,
        within={within[0]: drugs} if within else None,
        threads=threads,
    )
    groups: dict[str, tuple[str, ...]] = {}
    for factor in factors:
        known = groups.get(factor.column, ())
        groups[factor.column] = tuple(dict.fromkeys((*known, *map(_label, factor.groups))))
    contrasts = tuple(
        fit.contrast(column, f"{first} - {second}", level=plan.level)
        for column, labels in groups.items()
        for first, second in combinations(labels, 2)
    )
    every = adjusted_p_values([p for c in contrasts for p in c.p_value.tolist()])
    size = len(contrasts[0].names) if contrasts else 0
    adjusted = tuple(
        tuple(float(p) for p in every[i * size : (i + 1) * size]) for i in range(len(contrasts))
    )
    return StudyPopulation(fit, between, within, groups, contrasts, adjusted)


def _large_enough(
    data: StudyData, between: Sequence[str], within: Sequence[str], plan: Plan
) -> bool:
    """Whether every group has people enough, and the model few enough parameters."""
    if len(within) > 1 or plan.parameter_prior is not None:
        return False
    if len(Coordinates.of_model(plan.model)) * (2 if within else 1) > MOST:
        return False
    people: dict[tuple[str, Any], set[Any]] = {}
    for subject in data.subjects:
        told = any(data.episodes[i].n_decisions for i in data.of(subject))
        for column in (*between, *within):
            mine = people.setdefault((column, data.conditions[column][subject]), set())
            mine |= {data.person(subject)} if told else set()
        people.setdefault(("", ""), set()).update({data.person(subject)} if told else set())
    return min(map(len, people.values()), default=0) >= FEWEST


def _label(value: Any) -> str:
    """A label of a condition, without what a contrast is told by."""
    return str(value).replace(" - ", " to ")
