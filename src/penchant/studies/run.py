"""A whole study: fits, groups compared, regret and performance, forward simulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant.arguments import check_threads
from penchant.errors import DataError, listing
from penchant.models.model import Declared
from penchant.models.record import for_task
from penchant.output.document import numbers, plain
from penchant.population.estimate import PopulationEstimate
from penchant.population.growth import GrowthOrders, growth_orders
from penchant.population.pool import pool
from penchant.studies.comparisons import (
    exact_comparison,
    exact_groups,
    linearized_comparisons,
    linearized_group,
    paired_comparison,
    study_population,
)
from penchant.studies.findings import Findings
from penchant.studies.fitting import Keeper, Nowhere, Timings, fit_subjects
from penchant.studies.groups import (
    Group,
    conditions_of,
    factors_of,
    group_tests,
    groups_of,
    left_out_groups,
)
from penchant.studies.landscapes import Landscapes, Measurer, Measures, landscapes_of
from penchant.studies.payoffs import check_count
from penchant.studies.plan import Category, Plan, fingerprint
from penchant.studies.read import StudyData


def carry_out(
    data: StudyData,
    plan: Plan,
    *,
    landscape: Any = None,
    joint: bool = False,
    threads: int | None = None,
    keeper: Keeper | None = None,
    begin: Callable[[dict[str, Any]], None] | None = None,
) -> Findings:
    """Carry out a plan, keeping what is done.

    Parameters
    ----------
    data, plan, landscape, joint, threads
        As for `study`.
    keeper
        Where parts of the work are kept.
    begin
        Called with the fingerprint of the study before the work starts; it may refuse.
    """
    check_threads(threads)
    timings: Timings = {}
    clock = _Clock(timings)
    locations = Declared(plan.model).locations
    plan = replace(plan, model=for_task(plan.model, data.episodes))
    n_options = int(Declared(plan.model).n_options or data.n_options)
    landscapes = Landscapes.none()
    if data.is_play:
        data = _with_payoffs(data, n_options)
        landscapes = landscapes_of(data, n_options, locations, landscape)
    plan = _decided(plan, data, landscapes)
    if begin is not None:
        begin(fingerprint(data, landscapes, plan) | {"joint": joint})
    measurer = Measurer(data, landscapes, locations)
    played = data.subjects if data.is_play else ()
    observed = {subject: measurer.subject(subject) for subject in played}
    clock.lap("regret")
    growth = _growth(observed if plan.performance else {}, plan)
    categories: dict[Any, Category | None] = dict.fromkeys(data.subjects)
    categories |= dict(zip(growth.subjects, growth.categories, strict=True))
    clock.lap("growth of regret")
    keep = Nowhere() if keeper is None else keeper
    fits = fit_subjects(measurer, plan, categories, keeper=keep, threads=threads, timings=timings)
    clock.start()
    groups = groups_of(data, categories) if plan.performance else conditions_of(data)
    factors = factors_of(data)
    together = _jointly(groups, data, plan, keep) if joint else {}
    if joint:
        clock.lap("joint likelihood")
    everybody = study_population(data, factors, plan, threads)
    if everybody is not None:
        clock.lap("population")
    columns = [linearized_group(group, fits, plan) for group in groups]
    linear = tuple(column for column in columns if column is not None)
    study = Findings(
        data=data,
        plan=plan,
        landscapes=landscapes,
        observed=observed,
        growth=growth,
        fits=fits,
        groups=groups,
        exact=exact_groups(groups, fits, plan),
        joint=together,
        linearized=linear,
        exact_tests=exact_comparison(groups, fits, plan, within=data.people is not None),
        linearized_tests=linearized_comparisons(linear, plan) if data.people is None else (),
        group_tests=group_tests(factors, fits, plan),
        paired_tests=paired_comparison(data, factors, fits, plan),
        left_out=left_out_groups(data, factors, fits, plan),
        everybody=everybody,
        timings=timings,
    )
    clock.lap("groups and tests")
    return study


def _decided(plan: Plan, data: StudyData, landscapes: Landscapes) -> Plan:
    """The plan with what these data allow: whether there is performance, and what rests on it."""
    if not data.is_play:
        if plan.performance:
            raise DataError(
                "performance must be left out for choices among offers; got True. They pay no "
                "rewards that regret could be measured in."
            )
        return replace(plan, performance=False, nominals={}, n_replicates=0, n_bootstrap=0)
    known = landscapes.source in ("known", "expected") or data.landscapes_named
    known |= data.payoffs is not None and data.payoffs.best_stays
    if known if plan.performance is None else plan.performance:
        return replace(plan, performance=True)
    return replace(plan, performance=False, nominals={}, n_bootstrap=0)


def _with_payoffs(data: StudyData, n_options: int) -> StudyData:
    """The data with payoffs of all options of the model, or without any."""
    paid = data.payoffs
    if paid is None or paid.n_options == n_options:
        return data
    if not paid.recognised:
        check_count(paid.n_options, n_options)
    remark = (
        f"Columns {listing(paid.columns)} are not taken for payoffs of the options, of which the "
        f"model has {n_options}."
    )
    return replace(data, payoffs=None, remarks=(*data.remarks, remark))


class _Clock:
    """Adds the seconds since it was last looked at to a step."""

    def __init__(self, timings: Timings) -> None:
        self.timings = timings
        self.start()

    def start(self) -> None:
        self.begun = time.perf_counter()

    def lap(self, step: str) -> None:
        self.timings[step] = time.perf_counter() - self.begun
        self.start()


def _growth(observed: Mapping[Any, Measures], plan: Plan) -> GrowthOrders:
    regrets = {subject: _known_regret(measures) for subject, measures in observed.items()}
    rng = np.random.default_rng([plan.seed, len(observed)])
    return growth_orders(regrets, n_bootstrap=plan.n_bootstrap, rng=rng)


def _known_regret(measures: Measures) -> Any:
    """Cumulative regret up to the last decision whose loss is known."""
    known = np.flatnonzero(~np.isnan(measures.loss))
    return measures.regret[: known[-1] + 1 if known.size else 0]


def _jointly(
    groups: Sequence[Group], data: StudyData, plan: Plan, keeper: Keeper
) -> dict[str, PopulationEstimate]:
    found = {}
    for i, group in enumerate(groups):
        name = f"joint-{i + 1:02d}"
        document = keeper.kept(name)
        if document is None:
            document = _joint(group, data, plan)
            keeper.keep(name, document)
        found[group.label] = _population(document, group, name)
    return found


def _joint(group: Group, data: StudyData, plan: Plan) -> dict[str, Any]:
    episodes = [data.episodes[i] for subject in group.subjects for i in data.of(subject)]
    scored = [episode for episode in episodes if episode.n_decisions]
    pooled = pool(scored, model=plan.model, rule="joint", scale="natural")
    return {
        "names": list(pooled.names),
        "estimate": plain(pooled.estimate),
        "covariance": plain(pooled.covariance),
        "status": pooled.status,
        "message": pooled.message,
        "log_likelihood": plain(pooled.log_likelihood),
    }


def _population(document: Any, group: Group, name: str) -> PopulationEstimate:
    try:
        return PopulationEstimate(
            names=tuple(document["names"]),
            estimate=numbers(document["estimate"]),
            covariance=numbers(document["covariance"]),
            rule="joint",
            n_subjects=len(group.subjects),
            subjects=group.subjects,
            status=document["status"],
            message=document["message"],
            scale="natural",
            log_likelihood=float(numbers(document["log_likelihood"])),
        )
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{name} must hold the joint estimate of a group; got something else. The file is "
            "damaged: remove it, and resume."
        ) from None
