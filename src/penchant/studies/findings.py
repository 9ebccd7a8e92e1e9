"""The result of a study: every number that the report shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.population.group_comparison_result import GroupComparison
from penchant.population.meta_analysis import PopulationEstimate, Rule
from penchant.population.regret_growth_categories import GrowthOrders
from penchant.result_tables import Backend, make_frame, stack_columns
from penchant.softmax.estimate import Estimate
from penchant.studies.comparisons import LinearizedGroup, PairedDifference, StudyPopulation
from penchant.studies.fitting import (
    How,
    SubjectFit,
    Timings,
    how_simulated,
    parameters_of,
    validity_of,
)
from penchant.studies.groups import Group, GroupTests, LeftOutGroup, to_natural_scale
from penchant.studies.landscapes import Landscapes, Measures
from penchant.studies.plan import Plan, fingerprint, nominal_text
from penchant.studies.study_data import StudyData

MEASURES = ("reward", "regret", "distance", "likeliest")


def subject_and_agent_measures(
    group: Group, measure: str, observed: Mapping[Any, Measures], fits: Mapping[Any, SubjectFit]
) -> tuple[Matrix, Matrix]:
    """A measure of the subjects of a group and of their agents: (n_subjects, n_decisions) each.

    Subjects without an estimate to simulate with are left out of both. NaN where a subject has no
    such decision, and for rewards and regret of agents that do not play. That the likeliest option
    is chosen is said one step ahead only.
    """
    people: list[Any] = []
    agents: list[Any] = []
    for subject in group.subjects:
        played = fits[subject].simulated
        if played is None or (measure == "likeliest" and played.met is None):
            continue
        people.append(played.met if measure == "likeliest" else getattr(observed[subject], measure))
        made = getattr(played, measure)
        unknown = measure == "regret" and np.isnan(played.loss).all()
        agents.append(np.full(len(made), np.nan) if unknown else made)
    return stack_padded(people), stack_padded(agents)


def left_out(groups: Sequence[Group], fits: Mapping[Any, SubjectFit]) -> list[Any]:
    """Subjects of the groups who have no estimate to simulate with."""
    return [s for group in groups for s in group.subjects if fits[s].simulated is None]


def stack_padded(rows: Sequence[Vector]) -> Matrix:
    """Vectors of different lengths as one matrix, NaN behind the end of each."""
    longest = max(map(len, rows), default=0)
    filled = np.full((len(rows), longest), np.nan)
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled


def forward_columns(
    groups: Sequence[Group],
    observed: Mapping[Any, Measures],
    fits: Mapping[Any, SubjectFit],
    how: str,
) -> dict[str, list[Any]]:
    """Table of means over the subjects of every group, with standard errors, and of agents."""
    made: dict[str, list[Any]] = {
        name: []
        for name in (
            *("performance", "condition", "measure", "decision", "n_subjects"),
            *("people", "people_standard_error", "simulated", "simulated_standard_error"),
            "how",
        )
    }
    for group in groups:
        for measure in MEASURES:
            people, agents = subject_and_agent_measures(group, measure, observed, fits)
            for t in range(people.shape[1]):
                known = ~np.isnan(people[:, t])
                cells = (
                    *(group.performance, group.condition, measure, t + 1, int(known.sum())),
                    *_mean_error(people[known, t]),
                    *_mean_error(agents[known, t]),
                    how,
                )
                for name, cell in zip(made, cells, strict=True):
                    made[name].append(cell)
    return made


def _mean_error(values: Vector) -> tuple[float, float]:
    """Mean, and its standard error from the spread between subjects."""
    n = len(values)
    if not n:
        return float("nan"), float("nan")
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return float(values.mean()), error


Columns = dict[str, list[Any]]
NOT_CLASSIFIED = "not classified"


def columns(study: Findings, name: str) -> Columns:
    """Return a table of the results as {column: values}.

    Parameters
    ----------
    study
        The result.
    name
        One of `TABLES`.
    """
    check_one_of(name, "name", TABLES)
    return TABLES[name](study)


def _as_lists(found: Mapping[str, Sequence[Any]]) -> Columns:
    return {name: list(values) for name, values in found.items()}


def _subjects(study: Findings) -> Columns:
    """Table of subjects: condition, rewards, performance, exact estimates."""
    data, subjects = study.data, study.subjects
    made: Columns = {"subject": [data.person(s) for s in subjects]}
    made |= {name: [by[s] for s in subjects] for name, by in data.conditions.items()}
    made["n_episodes"] = [len(data.of(s)) for s in subjects]
    made["n_decisions"] = [study.fits[s].exact.n_decisions for s in subjects]
    made |= _performance_columns(study) if data.is_play else {}
    return made | _estimates([study.fits[s].exact for s in subjects])


def _performance_columns(study: Findings) -> Columns:
    """Rewards of every subject; regret and performance, where the plan has these."""
    subjects = study.subjects
    rewards: Columns = {"mean_reward": [_mean(study.observed[s].reward) for s in subjects]}
    if not study.plan.performance:
        return rewards
    orders = [study.growth.of(s) for s in subjects]
    return rewards | {
        "regret": [_last(study.observed[s].regret) for s in subjects],
        "growth": [order.order for order in orders],
        "performance": [order.category or NOT_CLASSIFIED for order in orders],
        "performance_aic_weight": [order.category_weight for order in orders],
        "performance_bootstrap_share": [order.confidence for order in orders],
    }


def _linearized(study: Findings) -> Columns:
    """Table of linearised estimates by subject, with their range of validity."""
    found = [(s, study.fits[s].linearized) for s in study.subjects]
    mine = [(s, fit) for s, fit in found if fit is not None]
    performances = [study.growth.of(s).category for s, _ in mine]
    made: Columns = {
        "subject": [s for s, _ in mine],
        "condition": [study.data.condition(s) for s, _ in mine],
        "performance": list(performances),
        "nominal": [nominal_text(study.plan.nominals[p]) for p in performances if p],
    }
    for j, name in enumerate(mine[0][1].names if mine else ()):
        made[name] = [float(fit.theta[j]) for _, fit in mine]
        made[f"{name}_standard_error"] = [_root(fit.covariance[j, j]) for _, fit in mine]
    validity = [validity_of(fit) for _, fit in mine]
    made["ratio"] = [one.ratio for one in validity]
    made["ratio_low"] = [one.bounds[0] for one in validity]
    made["ratio_high"] = [one.bounds[1] for one in validity]
    made["valid"] = [one.valid for one in validity]
    made["exact_log_likelihood"] = [one.exact_log_likelihood for one in validity]
    return made | _estimates([fit for _, fit in mine])


def _estimates(fits: Sequence[Estimate]) -> Columns:
    made: Columns = {
        "status": [fit.status for fit in fits],
        "log_likelihood": [fit.log_likelihood for fit in fits],
        "null_log_likelihood": [fit.null_log_likelihood for fit in fits],
    }
    for j, name in enumerate(fits[0].natural_names if fits else ()):
        mine = [parameters_of(fit)[j] for fit in fits]
        made[name] = [p.estimate for p in mine]
        made[f"{name}_standard_error"] = [p.standard_error for p in mine]
        made[f"{name}_low"] = [p.low for p in mine]
        made[f"{name}_high"] = [p.high for p in mine]
    return made | {"message": [fit.message for fit in fits]}


def _growth(study: Findings) -> Columns:
    """Table of the three curves of regret that are fitted to each subject."""
    made = _as_lists(study.growth.frame_columns()) if study.growth else {}
    return made


def _table_1(study: Findings) -> Columns:
    """theta of every group: Table I of the paper, with the validity ratio."""
    return _by_rows(
        {
            "performance": column.group.performance,
            "condition": column.group.condition,
            "n_subjects": column.theta.n_subjects,
            "n_left_out": len(column.group.subjects) - column.theta.n_subjects,
            "mean_log_likelihood": column.mean_log_likelihood,
            "parameter": p.name,
            "estimate": p.estimate,
            "standard_error": p.standard_error,
            "ratio": column.ratio,
            "ratio_bound": column.bound,
            "valid": column.valid,
            "n_valid": column.n_valid,
        }
        for column in study.linearized
        for p in column.theta.parameters_at(study.plan.level)
    )


def _table_2(study: Findings) -> Columns:
    """Natural parameters of every group, linearised and exact: Table II of the paper."""
    rows: list[tuple[Any, ...]] = [
        ("linearised", column.group, p, column.natural, column.ratio, column.valid)
        for column in study.linearized
        for p in column.natural.parameters_at(study.plan.level)
    ]
    for group in study.groups:
        population = study.exact[group.label]["random-effects"]
        rows += [
            ("exact", group, p, population, float("nan"), None)
            for p in to_natural_scale(population, study.plan.level, study.plan.model)
        ]
    return _by_rows(
        {
            "estimator": estimator,
            **_group_columns(group),
            "n_subjects": population.n_subjects,
            "parameter": p.name,
            "estimate": p.estimate,
            "standard_error": p.standard_error,
            "low": p.low,
            "high": p.high,
            "ratio": ratio,
            "valid": valid,
            "status": population.status,
        }
        for estimator, group, p, population, ratio, valid in rows
    )


def _populations(study: Findings) -> Columns:
    """Exact estimates of every group by every rule."""
    rows = []
    for group in study.groups:
        rules = dict(study.exact[group.label])
        if group.label in study.joint:
            rules["joint"] = study.joint[group.label]
        for rule, population in rules.items():
            known = population.heterogeneity
            i2 = [float("nan")] * len(population.names) if known is None else known.i2_each
            for p, share in zip(
                to_natural_scale(population, study.plan.level, study.plan.model), i2, strict=True
            ):
                rows.append((group, rule, population, p, float(share)))
    return _by_rows(
        {
            **_group_columns(group),
            "rule": rule,
            "n_subjects": population.n_subjects,
            "n_left_out": len(population.left_out),
            "parameter": p.name,
            "estimate": p.estimate,
            "standard_error": p.standard_error,
            "low": p.low,
            "high": p.high,
            "i2": share,
            "status": population.status,
            "message": population.message,
        }
        for group, rule, population, p, share in rows
    )


def _tests(study: Findings) -> Columns:
    """Tests between groups, parameter by parameter."""
    rows = []
    for estimator, comparison in _comparisons(study):
        for d in comparison.differences:
            rows.append({"estimator": estimator} | vars(d))
    return _by_rows(rows)


def _joint_tests(study: Findings) -> Columns:
    """Tests between groups, all parameters at once."""
    return _by_rows(
        {
            "estimator": estimator,
            "first": pair.first,
            "second": pair.second,
            "test": pair.test.kind,
            "statistic": pair.test.statistic,
            "df_1": pair.test.degrees_of_freedom[0],
            "df_2": pair.test.degrees_of_freedom[1],
            "p_value": pair.test.p_value,
            "adjusted_p_value": pair.adjusted_p_value,
            "note": pair.test.note,
        }
        for estimator, comparison in _comparisons(study)
        for pair in comparison.joint
    )


def _comparisons(study: Findings) -> list[tuple[str, GroupComparison]]:
    exact = [] if study.exact_tests is None else [("exact", study.exact_tests)]
    return exact + [("linearised", comparison) for comparison in study.linearized_tests]


def _failures(study: Findings) -> Columns:
    """Fits without a converged estimate, and why."""
    rows = []
    for subject in study.subjects:
        fit = study.fits[subject]
        for estimator, found in (("exact", fit.exact), ("linearised", fit.linearized)):
            if found is not None and found.status != "converged":
                rows.append((subject, estimator, found.status, found.message))
    names = ("subject", "estimator", "status", "message")
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def _forward(study: Findings) -> Columns:
    """Table of the choices and rewards of subjects and of simulated agents, by decision."""
    if not study.observed:
        return {}
    made = forward_columns(study.groups, study.observed, study.fits, study.how_simulated)
    if study.plan.performance or not made:
        return made
    kept = [i for i, measure in enumerate(made["measure"]) if measure != "regret"]
    return {
        name: [column[i] for i in kept] for name, column in made.items() if name != "performance"
    }


def _comparison(study: Findings) -> Columns:
    """The direct comparison of groups of different people: every pair and parameter."""
    return _by_rows(vars(difference) for difference in study.group_tests.differences)


def _overall(study: Findings) -> Columns:
    """More than two groups at once, parameter by parameter."""
    return _by_rows(vars(test) for test in study.group_tests.overall)


def _left_out(study: Findings) -> Columns:
    """Table of the numbers of subjects left out of tests of means, by group."""
    return _by_rows(vars(group) for group in study.left_out)


def _paired_tests(study: Findings) -> Columns:
    """Tests between conditions that the same subjects were in."""
    return _by_rows(vars(difference) for difference in study.paired_tests)


def _population(study: Findings) -> Columns:
    """Coefficients of the population, fitted to everybody at once."""
    if study.everybody is None:
        return {}
    return _as_lists(study.everybody.fit.frame_columns(study.plan.level))


def _population_spreads(study: Findings) -> Columns:
    """Table of standard deviations between people on the link scale, and reliabilities."""
    if study.everybody is None:
        return {}
    fit = study.everybody.fit
    return _by_rows(
        {
            "name": s.name,
            "link": fit.links[s.name],
            "sd": s.sd,
            "low": s.low,
            "high": s.high,
            "reliability": fit.reliability[s.name],
        }
        for s in fit.spreads(study.plan.level)
    )


def _population_contrasts(study: Findings) -> Columns:
    """Differences between groups, or conditions, of the population."""
    if study.everybody is None:
        return {}
    parts = []
    for contrast, adjusted in zip(study.everybody.contrasts, study.everybody.adjusted, strict=True):
        n, columns = len(contrast.names), {**contrast.frame_columns()}
        own = {"parameter": columns.pop("name"), **columns, "adjusted_p_value": adjusted}
        parts.append({"column": [contrast.factor] * n, "contrast": [contrast.words] * n, **own})
    return stack_columns(parts)


def _population_people(study: Findings) -> Columns:
    """Table of the subjects' estimates under the population model."""
    if study.everybody is None:
        return {}
    subjects = study.everybody.fit.subjects
    return _as_lists(subjects.frame_columns(study.plan.level))


def _group_columns(group: Group) -> dict[str, Any]:
    """Columns that name the group of a row."""
    condition = {"condition": group.condition}
    return (
        condition if group.performance is None else {"performance": group.performance} | condition
    )


def _by_rows(rows: Iterable[Mapping[str, Any]]) -> Columns:
    return stack_columns({name: [cell] for name, cell in row.items()} for row in rows)


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _last(values: Any) -> float:
    return float(values[-1]) if len(values) else float("nan")


def _root(variance: float) -> float:
    return float(np.sqrt(variance)) if variance >= 0 else float("nan")


TABLES: dict[str, Callable[[Findings], Columns]] = {
    "subjects": _subjects,
    "linearized": _linearized,
    "growth": _growth,
    "table-1": _table_1,
    "table-2": _table_2,
    "populations": _populations,
    "tests": _tests,
    "joint-tests": _joint_tests,
    "paired-tests": _paired_tests,
    "failures": _failures,
    "forward": _forward,
    "comparison": _comparison,
    "comparison-overall": _overall,
    "left-out": _left_out,
    "population": _population,
    "population-spreads": _population_spreads,
    "population-contrasts": _population_contrasts,
    "population-people": _population_people,
}


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Results of a study: the estimates of every subject and of the groups.

    Attributes
    ----------
    data, plan, landscapes
        What was analysed and how.
    observed
        What every subject did, decision by decision.
    growth
        How every subject's regret grows, and so the performance; empty where the plan has none.
    fits
        Exact and linearised estimates of every subject, and what agents with them do.
    groups
        Performance and condition together; conditions alone where there is no performance.
    exact
        {group: {rule: population estimate}} of the exact estimates, positive parameters as
        logarithms.
    joint
        {group: population estimate} of the joint likelihood, where it was asked for.
    linearized
        Tables I and II of the paper, a column per group.
    exact_tests, linearized_tests
        Between `groups`.
    group_tests
        Between the groups that each column of conditions names, whatever the performance.
    paired_tests
        Between conditions that the same subjects were in.
    left_out
        How many subjects of every such group have no estimate that can be averaged, and why.
    everybody
        The population of all subjects, fitted at once; None where the plan has none.
    timings
        Seconds of each step, summed over threads; of what was done in this run only.
    """

    data: StudyData
    plan: Plan
    landscapes: Landscapes
    observed: Mapping[Any, Measures]
    growth: GrowthOrders
    fits: Mapping[Any, SubjectFit]
    groups: tuple[Group, ...]
    exact: Mapping[str, Mapping[Rule, PopulationEstimate]]
    joint: Mapping[str, PopulationEstimate]
    linearized: tuple[LinearizedGroup, ...]
    exact_tests: GroupComparison | None
    linearized_tests: tuple[GroupComparison, ...]
    group_tests: GroupTests
    paired_tests: tuple[PairedDifference, ...]
    left_out: tuple[LeftOutGroup, ...]
    everybody: StudyPopulation | None
    timings: Timings

    @property
    def subjects(self) -> tuple[Label, ...]:
        """Every subject, sorted."""
        return self.data.subjects

    def counts(self) -> dict[str, int]:
        """Number of exact fits by status."""
        found = [self.fits[subject].exact.status for subject in self.subjects]
        return {status: found.count(status) for status in sorted(set(found))}

    @property
    def how_simulated(self) -> How:
        """Source of the rewards of simulated agents; "one step ahead" if none are simulated."""
        return how_simulated(self.data, self.landscapes)

    def fingerprint(self) -> dict[str, Any]:
        """Hashes and settings that two studies with the same results share."""
        return fingerprint(self.data, self.landscapes, self.plan)

    def columns(self, name: str) -> dict[str, list[Any]]:
        """Return a table as {column: values}; `penchant.studies.TABLES` has the names."""
        return columns(self, name)

    def to_frame(self, name: str = "subjects", backend: Backend = "pandas") -> Any:
        """Return a table as a data frame."""
        return make_frame(self.columns(name), backend)

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        name = type(self).__name__
        return f"<{name} of {len(self.subjects)} subjects in {len(self.groups)} groups: {said}>"
