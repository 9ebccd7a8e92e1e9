"""Groups of subjects: their estimates, subjects left out, and tests of differences.

The scale is the logarithm for positive parameters. Decision noise and prior variance are positive
and spread over orders of magnitude: their mean is that of the largest few, and no test of means
holds. Their logarithms are well behaved; the average, mapped back, is a geometric mean.

Subjects without a finite estimate rank too. Who has an estimate that can be averaged ranks by it.
The others are selected by their answers, and leaving them out is not neutral, but their choices say
something of where they rank: an estimate at an end of the parameter's range (a temperature of 0, as
choices are separated) ranks there, and any other one somewhere in its interval.

People without a finite estimate are not a random sample: the most consistent choosers are separated
or at a bound. A difference between groups in how many they are is a finding of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolMatrix, Label, Matrix
from penchant.models.model import Model, natural_parameters
from penchant.models.parameters import Parameter
from penchant.population.compare_groups import compare_groups
from penchant.population.group_comparison_result import Difference
from penchant.population.group_tests import adjusted_p_values, welch_anova
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.pooled_estimates import pool
from penchant.population.rank_tests import rank_test
from penchant.population.subject_estimates import (
    SubjectEstimates,
    positive_parameter_mask,
    proportion_parameter_mask,
    transform_to_logs,
)
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.studies.fitting import SubjectFit
from penchant.studies.plan import CATEGORIES, Category, Plan
from penchant.studies.study_data import ALL, StudyData
from penchant.tables.labels import in_natural_order

LOG = "log "


def exact_on_working_scale(
    fits: Mapping[Any, SubjectFit], subjects: Sequence[Label], model: Model
) -> SubjectEstimates:
    """Exact estimates of some subjects, with the logarithms of positive parameters."""
    logs = positive_parameter_mask(model)
    mine = [fits[subject].exact for subject in subjects]
    names = tuple(n.name for n in natural_parameters(model))
    made = [transform_to_logs(fit.natural, fit.natural_covariance, logs) for fit in mine]
    values, covariances = map(np.array, zip(*made, strict=True))
    return SubjectEstimates(
        tuple(LOG + name if log else name for name, log in zip(names, logs, strict=True)),
        tuple(subjects),
        values,
        covariances,
        tuple(fit.status for fit in mine),
        "natural",
    )


def to_natural_scale(
    population: PopulationEstimate, level: float, model: Model | None = None
) -> tuple[ParameterEstimate, ...]:
    """Parameters of a population in natural units: geometric means of pooled logarithms.

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
            found.append(ParameterEstimate(p.name.removeprefix(LOG), value, error, low, high))
        elif p.name in limited:
            value, low, high = (float(np.clip(v, 0.0, 1.0)) for v in (p.estimate, p.low, p.high))
            found.append(replace(p, estimate=value, low=low, high=high))
        else:
            found.append(p)
    return tuple(found)


def _names_of_shares(model: Model) -> tuple[str, ...]:
    named = zip(natural_parameters(model), proportion_parameter_mask(model), strict=True)
    return tuple(n.name for n, share in named if share)


@dataclass(frozen=True)
class Group:
    """Subjects of one performance in one condition; of all, if performance is undefined."""

    performance: Category | None
    condition: str
    subjects: tuple[Label, ...]

    @property
    def label(self) -> str:
        """Name of the group: performance and condition.

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


@dataclass(frozen=True)
class Factor:
    """A column of conditions, and the groups that its labels make.

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
RANGE_END_TOL = 1e-9  # relative distance at which an estimate lies at the end of a range


def left_out_reasons(estimates: SubjectEstimates) -> dict[Any, str]:
    """{subject: reason} of the subjects whom no average can use."""
    status = dict(zip(estimates.subjects, estimates.status, strict=True))
    return {
        left.subject: left.why if status[left.subject] == "converged" else status[left.subject]
        for left in estimates.left_out()
    }


def ranking_ranges(
    fits: Mapping[Any, SubjectFit], subjects: Sequence[Label], model: Model
) -> Matrix:
    """Ranges that rank the subjects, on the working scale: (n_subjects, n_parameters, 2).

    Low and high are the same for a point. NaN where nothing is known.
    """
    estimates = exact_on_working_scale(fits, subjects, model)
    lost = left_out_reasons(estimates)
    naturals = natural_parameters(model)
    found = np.repeat(estimates.estimates[:, :, None], 2, axis=2)
    for i, subject in enumerate(subjects):
        if subject in lost:
            fit = fits[subject].exact
            found[i] = [
                _range(p, natural, natural.ends, fit.status)
                for natural, p in zip(naturals, fit.parameters, strict=True)
            ]
            found[i] = np.where(
                positive_parameter_mask(model)[:, None], _logarithm(found[i]), found[i]
            )
    return found


def _logarithm(values: Matrix) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values)


def _range(
    p: ParameterEstimate, natural: Parameter, ends: tuple[float, float], status: str
) -> tuple[float, float]:
    """Range of values for a subject without an estimate that can be averaged."""
    low, high = max(p.low, ends[0]), min(p.high, ends[1])
    if _is_at_end(low, ends[0]) and _is_at_end(high, ends[1]):  # anything is possible
        return np.nan, np.nan
    goes_on = status == "separated" and np.isnan(p.estimate) and not natural.is_shape
    for value, end in zip((low, high), ends, strict=True):
        if _is_at_end(p.estimate, end) or (
            goes_on and _is_at_end(value, end)
        ):  # its weight is infinite
            return end, end
    if np.isnan([p.low, p.high]).any():  # Wald intervals know nothing here
        return (np.nan, np.nan) if status in OPEN else (p.estimate, p.estimate)
    return low, high


def _is_at_end(value: float, end: float) -> bool:
    return value == end or bool(np.isclose(value, end, rtol=RANGE_END_TOL, atol=0.0))


@dataclass(frozen=True)
class LeftOutGroup:
    """Number of subjects of a group without an estimate that can be averaged.

    Attributes
    ----------
    column, stratum, group
        The column that names the group (empty for all subjects), in which other condition, if any.
    n_subjects, n_left_out
        Subjects of the group, and those left out of its mean and of tests of means.
    reasons
        Why, with counts, such as "3 separated, 1 at a bound".
    test, p_value
        Of the difference in the share left out between all groups of the column; none where nobody
        or everybody is left out.
    """

    column: str
    stratum: str
    group: str
    n_subjects: int
    n_left_out: int
    reasons: str
    test: str
    p_value: float


def left_out_groups(
    data: StudyData, factors: Sequence[Factor], fits: Mapping[Any, SubjectFit], plan: Plan
) -> tuple[LeftOutGroup, ...]:
    """Count the subjects left out of every group; of all subjects, if there are no groups."""
    why = left_out_reasons(exact_on_working_scale(fits, data.subjects, plan.model))
    if not factors:
        return (_row(("", "", ALL), data.subjects, why, ("", np.nan)),)
    made = []
    for factor in factors:
        test = _paired_test(data, factor, why) if factor.within else _test(factor, why)
        made += [
            _row((factor.column, factor.stratum, label), subjects, why, test)
            for label, subjects in factor.groups.items()
        ]
    return tuple(made)


def _row(
    names: tuple[str, str, str],
    subjects: Sequence[Label],
    why: Mapping[Any, str],
    test: tuple[str, float],
) -> LeftOutGroup:
    reasons = Counter(why[subject] for subject in subjects if subject in why)
    words = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return LeftOutGroup(*names, len(subjects), reasons.total(), words, *test)


def _test(factor: Factor, why: Mapping[Any, str]) -> tuple[str, float]:
    """Test whether the share of subjects left out differs between groups of different people."""
    lost = [sum(s in why for s in subjects) for subjects in factor.groups.values()]
    counts = np.array([lost, [len(s) for s in factor.groups.values()]])
    table: Matrix = np.array([counts[0], counts[1] - counts[0]])
    if not table.sum(axis=1).all():
        return "", np.nan
    if len(lost) == 2:
        return "Fisher's exact test", float(scipy.stats.fisher_exact(table).pvalue)
    return "chi-square test", float(scipy.stats.chi2_contingency(table, correction=False).pvalue)


def _paired_test(data: StudyData, factor: Factor, why: Mapping[Any, str]) -> tuple[str, float]:
    """Test whether the share left out differs between conditions, over people in all of them."""
    lost: dict[Any, list[bool]] = {}
    for subjects in factor.groups.values():
        for subject in subjects:
            lost.setdefault(data.person(subject), []).append(subject in why)
    k = len(factor.groups)
    rows: BoolMatrix = np.array([row for row in lost.values() if len(row) == k], dtype=bool)
    rows = rows.reshape(-1, k)
    changed = rows[rows.any(axis=1) & ~rows.all(axis=1)]
    if not len(changed):
        return "", np.nan
    if k == 2:
        n = int(changed[:, 0].sum())
        return "McNemar's exact test", float(scipy.stats.binomtest(n, len(changed)).pvalue)
    per_condition, per_person = changed.sum(axis=0), changed.sum(axis=1)
    mean = per_condition.mean()
    spread = float((per_person * (k - per_person)).sum())
    statistic = k * (k - 1) * float(((per_condition - mean) ** 2).sum()) / spread
    return "Cochran's Q test", float(scipy.stats.chi2.sf(statistic, k - 1))


Fits = Mapping[Any, SubjectFit]


@dataclass(frozen=True)
class GroupDifference:
    """Tests of one parameter between two groups of different people.

    Attributes
    ----------
    column, stratum
        The column that names the groups, and in which other condition, if any.
    first, second, name
        The groups, and the parameter, of whose logarithm where the name says so.
    first_n, second_n
        Subjects with a finite estimate, who are averaged.
    first_mean, second_mean
        Means of their estimates; geometric means where logarithms are averaged.
    difference, standard_error, low, high
        First minus second, with its interval; of the logarithms where the name says so.
    ratio, ratio_low, ratio_high
        First over second, where logarithms are compared; else NaN.
    hedges_g, hedges_g_low, hedges_g_high
        The difference in standard deviations between subjects, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Welch's t test, two-sided; adjusted by Holm's method over all parameters and pairs.
    first_ranked, second_ranked
        Subjects who take part in the test by rank: also those without a finite estimate, where
        their choices say where they rank.
    superiority
        Probability that somebody of the first group is higher than somebody of the second.
    rank_p_value, adjusted_rank_p_value
        Mann-Whitney's test of everybody who ranks, two-sided.
    """

    column: str
    stratum: str
    first: str
    second: str
    name: str
    first_n: int
    second_n: int
    first_mean: float
    second_mean: float
    difference: float
    standard_error: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    hedges_g: float
    hedges_g_low: float
    hedges_g_high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    first_ranked: int
    second_ranked: int
    superiority: float
    rank_p_value: float
    adjusted_rank_p_value: float


@dataclass(frozen=True)
class OverallTest:
    """Tests of one parameter over three or more groups at once.

    Attributes
    ----------
    column, stratum, name
        As for `GroupDifference`.
    n_groups, n_subjects
        Groups with two estimates or more, and the subjects with one in these.
    statistic, df_1, df_2, p_value, adjusted_p_value
        Welch's F test of means with unequal variances; adjusted by Holm's method over parameters.
    n_ranked, rank_statistic, rank_p_value, adjusted_rank_p_value
        Kruskal-Wallis's test of everybody who ranks.
    """

    column: str
    stratum: str
    name: str
    n_groups: int
    n_subjects: int
    statistic: float
    df_1: int | float
    df_2: float
    p_value: float
    adjusted_p_value: float
    n_ranked: int
    rank_statistic: float
    rank_p_value: float
    adjusted_rank_p_value: float


@dataclass(frozen=True)
class GroupTests:
    """The direct comparison of groups of different people.

    Attributes
    ----------
    differences
        One per pair of groups and parameter.
    overall
        One per parameter where a column names more than two groups.
    """

    differences: tuple[GroupDifference, ...] = ()
    overall: tuple[OverallTest, ...] = ()


def group_tests(factors: Sequence[Factor], fits: Fits, plan: Plan) -> GroupTests:
    """Compare the groups of every column whose groups are different people."""
    between = [factor for factor in factors if not factor.within]
    differences = [d for factor in between for d in _differences(factor, fits, plan)]
    several = [factor for factor in between if len(factor.groups) > 2]
    overall = [test for factor in several for test in _overall(factor, fits, plan)]
    return GroupTests(tuple(_adjusted(differences)), tuple(_adjusted(overall)))


def _differences(factor: Factor, fits: Fits, plan: Plan) -> list[GroupDifference]:
    estimates = {
        label: exact_on_working_scale(fits, subjects, plan.model)
        for label, subjects in factor.groups.items()
    }
    compared = compare_groups(estimates, scale="natural", level=plan.level)
    ranges = {label: ranking_ranges(fits, s, plan.model) for label, s in factor.groups.items()}
    names = next(iter(estimates.values())).names
    made = []
    for pair, found in zip(
        combinations(estimates, 2), _by_pair(compared.differences, len(names)), strict=True
    ):
        populations = [compared.populations[label] for label in pair]
        for j, difference in enumerate(found):
            places = [ranges[label][:, j] for label in pair]
            made.append(_difference(factor, difference, populations, j, places))
    return made


def _by_pair(differences: Sequence[Difference], n: int) -> list[Sequence[Difference]]:
    return [differences[i : i + n] for i in range(0, len(differences), n)]


def _difference(
    factor: Factor,
    found: Difference,
    populations: Sequence[PopulationEstimate],
    j: int,
    places: Sequence[Matrix],
) -> GroupDifference:
    # Means, and ratios where logarithms are compared, are shown in the parameter's own units.
    is_log = found.name.startswith(LOG)
    means = [float(population.estimate[j]) for population in populations]
    means = [_exponential(mean) for mean in means] if is_log else means
    ends = found.difference, found.low, found.high
    ratios = [_exponential(end) for end in ends] if is_log else [np.nan] * 3
    ranked = rank_test(places)
    tests = vars(found) | {"first": str(found.first), "second": str(found.second)}
    return GroupDifference(
        **tests,
        column=factor.column,
        stratum=factor.stratum,
        first_n=populations[0].n_subjects,
        second_n=populations[1].n_subjects,
        first_mean=means[0],
        second_mean=means[1],
        ratio=ratios[0],
        ratio_low=ratios[1],
        ratio_high=ratios[2],
        first_ranked=ranked.n[0],
        second_ranked=ranked.n[1],
        superiority=ranked.superiority,
        rank_p_value=ranked.p_value,
        adjusted_rank_p_value=np.nan,
    )


def _overall(factor: Factor, fits: Fits, plan: Plan) -> list[OverallTest]:
    groups = factor.groups.values()
    pooled = [
        pool(exact_on_working_scale(fits, subjects, plan.model), rule="mean-sample")
        for subjects in groups
    ]
    ranges = [ranking_ranges(fits, subjects, plan.model) for subjects in groups]
    fine = [one for one in pooled if one.n_subjects > 1]
    made = []
    for j, name in enumerate(pooled[0].names):
        means, errors = (np.array([getattr(one, what)[j] for one in fine]) for what in _MEANS)
        welch = welch_anova(means, errors, np.array([one.n_subjects - 1 for one in fine]))
        ranked = rank_test([places[:, j] for places in ranges])
        made.append(
            OverallTest(
                column=factor.column,
                stratum=factor.stratum,
                name=name,
                n_groups=len(fine),
                n_subjects=sum(one.n_subjects for one in fine),
                statistic=welch.statistic,
                df_1=welch.degrees_of_freedom[0],
                df_2=welch.degrees_of_freedom[1],
                p_value=welch.p_value,
                adjusted_p_value=np.nan,
                n_ranked=sum(ranked.n),
                rank_statistic=ranked.statistic,
                rank_p_value=ranked.p_value,
                adjusted_rank_p_value=np.nan,
            )
        )
    return made


_MEANS = ("estimate", "standard_errors")


def _exponential(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _adjusted(made: Sequence[Any]) -> list[Any]:
    """Adjust p-values by Holm's method: tests of means are one family, rank tests another."""
    means = adjusted_p_values([one.p_value for one in made])
    ranks = adjusted_p_values([one.rank_p_value for one in made])
    return [
        replace(one, adjusted_p_value=float(p), adjusted_rank_p_value=float(r))
        for one, p, r in zip(made, means, ranks, strict=True)
    ]
