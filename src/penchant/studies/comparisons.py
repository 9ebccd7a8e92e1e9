"""Pooled estimates of groups, tests between groups, and paired tests within subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import IntVector, Label, Vector
from penchant.errors import DataError
from penchant.inference.linearized_model import nominal_psi_and_ratios
from penchant.models.coordinates import Coordinates
from penchant.population.compare_groups import compare_groups
from penchant.population.group_comparison_result import GroupComparison
from penchant.population.group_tests import adjusted_p_values
from penchant.population.hierarchy.contrasts import Contrast
from penchant.population.hierarchy.fit import fit_population
from penchant.population.hierarchy.quadrature import QUADRATURE
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.least_squares import t_test
from penchant.population.meta_analysis import PopulationEstimate, Rule
from penchant.population.pooled_estimates import pool, population_in_natural_parameters
from penchant.population.rank_tests import signed_rank_p_value, smallest_certain_differences
from penchant.population.subject_estimates import SubjectEstimates
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_diagnostics import LARGEST_RATIO, OUTSIDE
from penchant.studies.fitting import SubjectFit, validity_of
from penchant.studies.groups import (
    LOG,
    Factor,
    Group,
    exact_on_working_scale,
    left_out_reasons,
    pairs_to_compare,
    ranking_ranges,
)
from penchant.studies.plan import CATEGORIES, Plan
from penchant.studies.study_data import StudyData
from penchant.tail_probabilities import normal_isf

RULES: tuple[Rule, ...] = ("mean-pooled", "mean-sample", "fixed-effect", "random-effects")


@dataclass(frozen=True, eq=False)
class LinearizedGroup:
    """The paper's estimate of a group: its column of Tables I and II.

    Attributes
    ----------
    group
        Whose it is.
    theta
        Mean of theta with the pooled covariance: Table I.
    natural
        The mean mapped back: Table II.
    mean_log_likelihood
        Of the linearised fits that theta rests on.
    ratio, bound
        Delta / nominal of the pooled theta, and the smallest upper bound of a subject.
    n_valid
        Subjects for whom Delta / nominal is small, of those used.
    """

    group: Group
    theta: PopulationEstimate
    natural: PopulationEstimate
    mean_log_likelihood: float
    ratio: float
    bound: float
    n_valid: int

    @property
    def valid(self) -> bool:
        """Whether the pooled deviation is a small one."""
        return bool(-1.0 < self.ratio < min(self.bound, LARGEST_RATIO))


def linearized_subjects(
    fits: Mapping[Any, SubjectFit], subjects: Sequence[Label]
) -> SubjectEstimates | None:
    """Linearised theta of those subjects that have one; None if none has.

    theta that no parameters of the model have is an estimate all the same: it is averaged, as in
    the paper.
    """
    mine = [(s, fits[s].linearized) for s in subjects]
    found: list[tuple[Any, Estimate]] = [(s, fit) for s, fit in mine if fit is not None]
    if not found:
        return None
    return SubjectEstimates(
        found[0][1].names,
        tuple(subject for subject, _ in found),
        np.array([fit.theta for _, fit in found]),
        np.array([fit.covariance for _, fit in found]),
        tuple("converged" if fit.status == OUTSIDE else fit.status for _, fit in found),
        "theta",
    )


def linearized_group(
    group: Group, fits: Mapping[Any, SubjectFit], plan: Plan
) -> LinearizedGroup | None:
    """The paper's population estimate of a group; None where nobody has a linearised estimate."""
    everyone = linearized_subjects(fits, group.subjects)
    if everyone is None or group.performance is None or group.performance not in plan.nominals:
        return None
    model, nominal = plan.linear(group.performance)
    theta = pool(everyone, rule="mean-pooled")
    natural = population_in_natural_parameters(theta, model, nominal=nominal)
    used = [fits[subject].linearized for subject in theta.subjects]
    fine = [fit for fit in used if fit is not None]
    psi, ratios = nominal_psi_and_ratios(model, nominal)
    slope = theta.estimate[len(ratios)] / theta.estimate[0] if len(theta.names) > len(ratios) else 0
    return LinearizedGroup(
        group,
        theta,
        natural,
        float(np.mean([fit.log_likelihood for fit in fine])) if fine else float("nan"),
        float(slope / psi[0]) if len(psi) else float("nan"),
        min((validity_of(fit).bounds[1] for fit in fine), default=float("inf")),
        sum(validity_of(fit).valid for fit in fine),
    )


def exact_groups(
    groups: Sequence[Group], fits: Mapping[Any, SubjectFit], plan: Plan
) -> dict[str, dict[Rule, PopulationEstimate]]:
    """Exact estimates of every group pooled by every rule, positive parameters as logarithms."""
    found: dict[str, dict[Rule, PopulationEstimate]] = {}
    for group in groups:
        everyone = exact_on_working_scale(fits, group.subjects, plan.model)
        found[group.label] = {rule: pool(everyone, rule=rule) for rule in RULES}
    return found


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


MIN_PAIRS = 3  # pairs that a test is done with


@dataclass(frozen=True)
class PairedDifference:
    """Paired tests of one parameter between two conditions within subjects.

    Attributes
    ----------
    first, second, name
        The conditions, and the parameter, of whose logarithm where the name says so.
    n_pairs
        Subjects with a finite estimate in both, who are averaged.
    difference, standard_error, low, high
        Mean of first minus second, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Paired t test, two-sided; adjusted by Holm's method over all of them.
    wilcoxon_p_value, adjusted_wilcoxon_p_value
        Of the signed-rank test, which does not take differences for normal, and in which all take
        part whose choices say in which condition they are higher.
    cohens_dz, cohens_dz_low, cohens_dz_high
        Mean of the differences in their standard deviations, with its interval.
    n_both, n_ranked
        Subjects who were in both conditions, and those whose places in both are known.
    column, stratum
        The column that names the conditions, and in which other condition, if any.
    first_mean, second_mean
        Means over the pairs; geometric means where logarithms are averaged.
    """

    first: str
    second: str
    name: str
    n_pairs: int
    difference: float
    standard_error: float
    low: float
    high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    wilcoxon_p_value: float
    cohens_dz: float
    cohens_dz_low: float = np.nan
    cohens_dz_high: float = np.nan
    adjusted_wilcoxon_p_value: float = np.nan
    n_both: int = 0
    n_ranked: int = 0
    column: str = ""
    stratum: str = ""
    first_mean: float = np.nan
    second_mean: float = np.nan


def paired_comparison(
    data: StudyData, factors: Sequence[Factor], fits: Mapping[Any, SubjectFit], plan: Plan
) -> tuple[PairedDifference, ...]:
    """Paired tests of every parameter between all conditions that the same people were in."""
    made = [
        difference
        for factor in factors
        if factor.within
        for pair in combinations(factor.groups, 2)
        for difference in _test_pair(data, factor, pair, fits, plan)
    ]
    return _adjusted(made)


def _test_pair(
    data: StudyData,
    factor: Factor,
    pair: tuple[str, str],
    fits: Mapping[Any, SubjectFit],
    plan: Plan,
) -> list[PairedDifference]:
    """Test every parameter between two conditions within subjects."""
    one, other = ({data.person(s): s for s in factor.groups[label]} for label in pair)
    both = [person for person in one if person in other]
    if not both:
        return []
    sides = [[mine[person] for person in both] for mine in (one, other)]
    first, second = (exact_on_working_scale(fits, side, plan.model) for side in sides)
    lost = {**left_out_reasons(first), **left_out_reasons(second)}
    kept: IntVector = np.array(
        [i for i, s in enumerate(zip(*sides, strict=True)) if not lost.keys() & s], dtype=np.int64
    )
    places = [ranking_ranges(fits, side, plan.model) for side in sides]
    made = []
    for j, name in enumerate(first.names):
        values = first.estimates[kept, j], second.estimates[kept, j]
        found = paired_difference(*pair, name, values[0] - values[1], plan.level)
        differences = smallest_certain_differences(places[0][:, j], places[1][:, j])
        n_ranked = int((~np.isnan(differences)).sum())
        means = [_mean(value, name) for value in values]
        made.append(
            replace(
                found,
                wilcoxon_p_value=signed_rank_p_value(differences)
                if n_ranked >= MIN_PAIRS
                else np.nan,
                n_both=len(both),
                n_ranked=n_ranked,
                column=factor.column,
                stratum=factor.stratum,
                first_mean=means[0],
                second_mean=means[1],
            )
        )
    return made


def paired_difference(
    first: str, second: str, name: str, differences: Vector, level: float
) -> PairedDifference:
    """The tests of one parameter, from each subject's difference."""
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else np.nan
    mean = float(differences.mean()) if n else np.nan
    if n < MIN_PAIRS or not spread > 0:
        unknown = (np.nan,) * 9
        return PairedDifference(first, second, name, n, mean, *unknown)
    error = spread / np.sqrt(n)
    found = t_test(np.array([mean]), np.array([error]), n - 1.0, level)
    p = float(found.p_value[0])
    return PairedDifference(
        first,
        second,
        name,
        n,
        mean,
        error,
        float(found.low[0]),
        float(found.high[0]),
        float(found.statistic[0]),
        n - 1.0,
        p,
        p,
        signed_rank_p_value(differences),
        *_cohens_dz(mean / spread, n, level),
    )


class _CohensDz(NamedTuple):
    """Cohen's dz with its interval."""

    dz: float
    low: float
    high: float


def _cohens_dz(dz: float, n: int, level: float) -> _CohensDz:
    """Cohen's dz with its normal interval: variance 1 / n + dz^2 / (2 n), as Hedges and Olkin's."""
    half = float(normal_isf((1 - level) / 2)) * np.sqrt(1 / n + dz**2 / (2 * n))
    return _CohensDz(dz, dz - half, dz + half)


def _mean(values: Vector, name: str) -> float:
    if not len(values):
        return np.nan
    mean = float(values.mean())
    return float(np.exp(mean)) if name.startswith(LOG) else mean


def _adjusted(made: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    means = adjusted_p_values([d.p_value for d in made])
    ranks = adjusted_p_values([d.wilcoxon_p_value for d in made])
    return tuple(
        replace(d, adjusted_p_value=float(p), adjusted_wilcoxon_p_value=float(r))
        for d, p, r in zip(made, means, ranks, strict=True)
    )


MIN_PEOPLE_PER_GROUP = 8  # people of every group from which on a population is fitted unasked


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
    """Fit the population model that the plan asks for; None if it asks for none."""
    if plan.population is False:
        return None
    between = tuple(dict.fromkeys(f.column for f in factors if not f.within))
    within = tuple(dict.fromkeys(f.column for f in factors if f.within))
    if plan.population is None and not _large_enough(data, between, within, plan):
        return None
    if len(within) > 1:
        raise DataError(
            "population",
            "must be left out with several conditions within subjects",
            got=" and ".join(within),
            fix="Join them to one column, or pass population=False.",
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
    if (
        len(Coordinates.of_model(plan.model)) * (2 if within else 1)
        > QUADRATURE.max_product_dimensions
    ):
        return False
    people: dict[tuple[str, Any], set[Any]] = {}
    for subject in data.subjects:
        has_decisions = any(data.episodes[i].n_decisions for i in data.of(subject))
        for column in (*between, *within):
            mine = people.setdefault((column, data.conditions[column][subject]), set())
            mine |= {data.person(subject)} if has_decisions else set()
        people.setdefault(("", ""), set()).update(
            {data.person(subject)} if has_decisions else set()
        )
    return min(map(len, people.values()), default=0) >= MIN_PEOPLE_PER_GROUP


def _label(value: Any) -> str:
    """Label of a condition without " - ", which separates the two labels of a contrast."""
    return str(value).replace(" - ", " to ")
