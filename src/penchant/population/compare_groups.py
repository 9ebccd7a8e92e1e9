"""Comparison of groups of subjects, or of subjects by a score: `compare_groups`.

Groups become differences of means with their covariances, of each group by itself or, at the same
covariates, from one least squares for all; `group_tests` has the tests of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_level, check_one_of
from penchant.errors import DataError
from penchant.population.group_comparison_result import (
    Adjustment,
    Difference,
    GroupComparison,
    PairTest,
)
from penchant.population.group_tests import (
    SpreadWithinGroups,
    adjusted_p_values,
    hedges_g,
    joint_difference_test,
    welch_t_test,
)
from penchant.population.least_squares import least_squares
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.parameter_score_correlations import score_relations
from penchant.population.pooled_estimates import pool
from penchant.population.subject_estimates import (
    ByKind,
    GroupScale,
    Scale,
    SubjectEstimates,
    group_labels_of_subjects,
    is_score,
    subject_estimates,
    with_log_parameters,
)


class Covariates(NamedTuple):
    """Covariates of each subject.

    Attributes
    ----------
    names
        As they were given.
    columns
        (n_subjects, n_columns): numbers less their mean; of words, 0/1 for each but the first.
    """

    names: tuple[str, ...]
    columns: Matrix

    def subset_of_subjects(self, indices: Sequence[int]) -> Covariates:
        """Covariates of the subjects at these places."""
        return Covariates(self.names, self.columns[list(indices)])


def read_covariates(estimates: Any, covariates: Any, people: Any) -> Covariates:
    """Columns of people, or {name: labels}, as columns of numbers."""
    if isinstance(covariates, str):
        covariates = [covariates]
    given: Mapping[str, Any]
    if isinstance(covariates, Mapping):
        given = covariates
    elif isinstance(covariates, Sequence) and all(isinstance(one, str) for one in covariates):
        given = {name: name for name in covariates}
    else:
        raise DataError(
            "covariates",
            "must be names of columns, or {name: values}",
            got=type(covariates).__name__,
            fix="Write covariates=['age', 'sex'].",
        )
    if not given:
        raise DataError("covariates", "must name at least one", got="none", fix="Leave it out.")
    columns = []
    for name, by in given.items():
        try:
            labels = group_labels_of_subjects(estimates, by, people)
        except DataError as error:
            if error.argument == "by":
                error.argument = f"covariates[{name!r}]"
            raise
        columns += _dummy_code_covariate(name, labels)
    return Covariates(tuple(given), np.column_stack(columns))


def _dummy_code_covariate(name: str, labels: Sequence[Label]) -> list[Vector]:
    levels = sorted({str(one) for one in labels})
    if len(levels) < 2:
        raise DataError(
            "covariates",
            "must differ between subjects",
            got=f"{labels[0]} for all in {name!r}",
            fix="Leave it out.",
        )
    if all(isinstance(one, int | float | np.number) for one in labels):
        values = np.array(labels, dtype=np.float64)
        return [values - values.mean()]
    words = np.array([str(one) for one in labels])
    return [(words == level).astype(np.float64) for level in levels[1:]]


DegreesOfFreedom = Literal["own", "subjects"]


class GroupPair(NamedTuple):
    """Two groups, and what their difference is tested with.

    Attributes
    ----------
    labels
        First and second group.
    difference
        First minus second, of every parameter.
    covariances, degrees_of_freedom
        Of the two parts that the difference is made of: of each group, or the second 0 and known
        where both come from one least squares.
    within
        What effect sizes are measured by.
    """

    labels: tuple[Any, Any]
    difference: Vector
    covariances: tuple[Matrix, Matrix]
    degrees_of_freedom: tuple[float, float]
    within: SpreadWithinGroups

    def tests(self, names: Sequence[str], level: float) -> tuple[list[Difference], PairTest]:
        """Tests of every parameter, and of all at once; p-values are not adjusted yet."""
        errors = tuple(np.sqrt(np.diag(covariance)) for covariance in self.covariances)
        columns = (
            welch_t_test(
                self.difference, (errors[0], errors[1]), self.degrees_of_freedom, level
            )._asdict()
            | hedges_g(self.difference, self.within, level)._asdict()
        )
        differences = [
            Difference(
                *self.labels,
                name,
                adjusted_p_value=np.nan,
                **{k: float(v[i]) for k, v in columns.items()},
            )
            for i, name in enumerate(names)
        ]
        joint = joint_difference_test(self.difference, self.covariances, self.degrees_of_freedom)
        return differences, PairTest(*self.labels, joint, np.nan)


def _group_pair_of_populations(
    populations: Mapping[Any, PopulationEstimate],
    labels: tuple[Any, Any],
    degrees_of_freedom: DegreesOfFreedom,
) -> GroupPair:
    """Two populations; effect sizes only where errors come from the spread between subjects."""
    a, b = (populations[label] for label in labels)
    own = degrees_of_freedom == "own"
    df = tuple(p.degrees_of_freedom if own else p.n_subjects - 1.0 for p in (a, b))
    if a.rule == b.rule == "mean-sample":
        sds = tuple(np.sqrt(p.n_subjects) * p.standard_errors for p in (a, b))
        within = SpreadWithinGroups.of_groups((sds[0], sds[1]), (a.n_subjects, b.n_subjects))
    else:
        within = SpreadWithinGroups(np.full(len(a.names), np.nan), np.nan, np.nan)
    difference = a.estimate - b.estimate
    return GroupPair(labels, difference, (a.covariance, b.covariance), (df[0], df[1]), within)


def _group_pairs_adjusted_for_covariates(
    usable: SubjectEstimates,
    labels: Sequence[Label],
    pairs: Sequence[tuple[Any, Any]],
    covariates: Covariates,
) -> list[GroupPair]:
    """Differences at the same covariates: least squares of all groups that are compared."""
    groups = list(dict.fromkeys(label for pair in pairs for label in pair))
    inside = np.array([[own == group for group in groups] for own in labels])
    kept = inside.any(axis=1)
    x = np.column_stack([inside[kept].astype(np.float64), covariates.columns[kept]])
    fit = least_squares(x, usable.estimates[kept], covariates.names)
    counts = inside.sum(axis=0)
    found = []
    for pair in pairs:
        a, b = map(groups.index, pair)
        contrast = np.zeros(x.shape[1])
        contrast[[a, b]] = 1.0, -1.0
        # A group of one tells nothing of how its people differ.
        known = 1.0 if min(counts[a], counts[b]) > 1 else np.nan
        covariance = known * np.einsum("a,paqb,b->pq", contrast, fit.robust, contrast)
        df = fit.degrees_of_freedom
        within = SpreadWithinGroups(fit.residual_sd, df, float(contrast @ fit.bread @ contrast))
        parts = covariance, np.zeros_like(covariance)
        difference = known * (contrast @ fit.coefficients)
        found.append(GroupPair(pair, difference, parts, (df, np.inf), within))
    return found


def compare_groups(
    groups: Any,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    *,
    by: Any = None,
    people: Any = None,
    kind: ByKind | None = None,
    covariates: Any = None,
    scale: GroupScale = "log",
    adjust: Adjustment = "holm",
    degrees_of_freedom: DegreesOfFreedom = "own",
    level: float = 0.95,
) -> GroupComparison:
    """Test whether groups of subjects differ: per parameter, and in all of them together.

    Parameters
    ----------
    groups
        {label: estimates}. With estimates of subjects (as for `pool`) the tests are Welch's, and
        Hotelling's with unequal covariances. With `PopulationEstimate`s they rest on these and
        their covariances. Or estimates of all subjects, as `fit_each` returns them, and `by`.
    pairs
        Labels to compare; by default all pairs.
    by
        What tells subjects apart: a column of the table that was read, or of `people`;
        {subject: label}; a table with a column of subjects and one other; or one label for each
        subject in their order. Words are groups. Numbers are scores: each parameter is regressed
        on them, with correlation and rank correlation.
    people
        A table with a column of subjects, of which `by` names another.
    kind
        "groups" or "scores", where numbers may be either.
    covariates
        With `by`: what shall be held the same, such as ["age", "sex"], columns as `by` is, or
        {name: values}. Groups are then compared by least squares of every parameter on groups and
        covariates, with HC3 errors, as groups may differ in how far their people differ; scores by
        partial slopes and correlations.
    scale
        For estimates of subjects, where they are compared. "log": the parameters that summaries
        show, positive ones (a temperature, a rate of discounting) by their logarithm, as they
        spread over orders of magnitude: a difference of 0.69 is a factor of 2. "natural": all of
        them as they are shown. "theta": the parameters that were fitted, such as 1/temperature.
    adjust
        For the number of tests: "holm", "bonferroni", "benjamini-hochberg" or "none". The tests per
        parameter are one family, the joint ones another.
    degrees_of_freedom
        "own": of each population, which makes the test of model-based standard errors normal.
        "subjects": n_subjects - 1 whatever the rule, as the paper does.
    level
        Of the intervals of differences and effect sizes.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(1)
    >>> quick, slow = rng.normal(1.0, 0.3, (17, 1)), rng.normal(0.9, 0.2, (53, 1))
    >>> found = pn.compare_groups({"quick": quick, "slow": slow})
    >>> round(found.differences[0].p_value, 4)
    0.0027

    Estimates of subjects, by what is known of each:

    >>> delays = pn.read(pn.datasets.load("delays"), labels=[0, 1])  # 1: the later one was chosen
    >>> weak = pn.ScaledPrior()
    >>> estimates = pn.fit_each(delays, pn.HyperbolicDiscounting(), parameter_prior=weak)
    >>> age = {subject: 20 + 1.5 * k for k, subject in enumerate(estimates.subjects)}
    >>> pn.compare_groups(estimates, by=age)
    <GroupComparison by score: 2 parameters>
    """
    check_level(level)
    _check_scale(scale)
    logs: tuple[str, ...] = ()
    held: Covariates | None = None
    if covariates is not None:
        if by is None:
            raise DataError(
                "covariates",
                "must be left out without `by`",
                got="some",
                fix="Pass the estimates of all subjects, and by='group'.",
            )
        held = read_covariates(groups, covariates, people)
    if by is not None:
        labels = group_labels_of_subjects(groups, by, people)
        everyone, logs = _all_subject_estimates(groups, scale)
        if is_score(labels, kind):
            called = by if isinstance(by, str) else "score"
            found = _correlate_parameters_with_score(everyone, labels, adjust, level, called, held)
            return replace(found, logs=logs)
        groups = {
            label: everyone.subset([i for i, own in enumerate(labels) if own == label])
            for label in sorted(dict.fromkeys(labels), key=str)
        }
    if not isinstance(groups, Mapping):
        raise DataError(
            "groups",
            "must be {label: estimates}",
            got=type(groups).__name__,
            fix="Say what tells subjects apart, such as by='group'.",
        )
    check_one_of(degrees_of_freedom, "degrees_of_freedom", ("own", "subjects"))
    pooled = {label: _as_population_estimate(found, scale) for label, found in groups.items()}
    populations = {label: population for label, (population, _) in pooled.items()}
    logs = (*logs, *dict.fromkeys(name for _, own in pooled.values() for name in own))
    _check_same_parameters(populations)
    chosen = _checked_pairs(populations, pairs)
    if held is None:
        made = [
            _group_pair_of_populations(populations, pair, degrees_of_freedom) for pair in chosen
        ]
    else:
        places = _usable_subject_indices(everyone)
        made = _group_pairs_adjusted_for_covariates(
            everyone.subset(places),
            [labels[i] for i in places],
            chosen,
            held.subset_of_subjects(places),
        )
    names = next(iter(populations.values())).names
    tested = [pair.tests(names, level) for pair in made]
    differences = [difference for own, _ in tested for difference in own]
    tests = [joint for _, joint in tested]
    single = adjusted_p_values([d.p_value for d in differences], adjust)
    several = adjusted_p_values([t.test.p_value for t in tests], adjust)
    return GroupComparison(
        populations=populations,
        differences=tuple(
            replace(d, adjusted_p_value=float(p)) for d, p in zip(differences, single, strict=True)
        ),
        joint=tuple(
            replace(t, adjusted_p_value=float(p)) for t, p in zip(tests, several, strict=True)
        ),
        adjustment=adjust,
        level=level,
        logs=logs,
        covariates=() if held is None else held.names,
    )


def _usable_subject_indices(everyone: SubjectEstimates) -> list[int]:
    """Positions of subjects with an estimate that can be averaged."""
    lost = {left.subject for left in everyone.left_out()}
    return [i for i, subject in enumerate(everyone.subjects) if subject not in lost]


def _check_scale(scale: str) -> None:
    check_one_of(scale, "scale", ("log", "natural", "theta"), "Leave it out for 'log'.")


def _all_subject_estimates(
    estimates: Any, scale: GroupScale
) -> tuple[SubjectEstimates, tuple[str, ...]]:
    """Estimates of subjects on this scale, and which of them are logarithms."""
    if scale == "log":
        return with_log_parameters(estimates)
    plain: Scale = scale
    return subject_estimates(estimates, scale=plain), ()


def _correlate_parameters_with_score(
    everyone: SubjectEstimates,
    labels: Sequence[float],
    adjust: Adjustment,
    level: float,
    score: str,
    covariates: Covariates | None,
) -> GroupComparison:
    """Every parameter against a score, at the same covariates where there are some."""
    places = _usable_subject_indices(everyone)
    usable = everyone.subset(places)
    scores = np.array([float(labels[i]) for i in places])
    if len(usable) < 3 or np.ptp(scores) == 0:
        raise DataError(
            "by",
            "must be a score that differs, of 3 subjects or more with a finite estimate",
            got=f"{len(usable)} with {len(set(scores.tolist()))} values",
            fix="A weak prior gives everybody an estimate.",
        )
    same = Covariates((), np.empty((len(labels), 0))) if covariates is None else covariates
    found = score_relations(usable, scores, same.columns[places], same.names, level)
    adjusted = adjusted_p_values([one.p_value for one in found], adjust)
    return GroupComparison(
        populations={"all": pool(everyone, rule="mean-sample")},
        differences=(),
        joint=(),
        adjustment=adjust,
        level=level,
        relations=tuple(
            replace(one, adjusted_p_value=float(p)) for one, p in zip(found, adjusted, strict=True)
        ),
        score=score,
        covariates=same.names,
    )


def _as_population_estimate(
    found: Any, scale: GroupScale
) -> tuple[PopulationEstimate, tuple[str, ...]]:
    """Population estimate of a group, and the parameters that are logarithms."""
    if isinstance(found, PopulationEstimate):
        return found, ()
    everyone, logs = _all_subject_estimates(found, scale)
    return pool(everyone, rule="mean-sample"), logs


def _check_same_parameters(populations: Mapping[Any, PopulationEstimate]) -> None:
    if len(populations) < 2:
        raise DataError("groups", "must be at least two", got=len(populations), fix="Name both.")
    for what in ("names", "scale"):
        kinds = {getattr(population, what) for population in populations.values()}
        if len(kinds) > 1:
            raise DataError(
                "groups",
                f"must have the same {what}",
                got=" and ".join(map(str, sorted(kinds))),
                fix="Parameters of different models cannot be compared.",
            )


def _checked_pairs(
    populations: Mapping[Any, PopulationEstimate], pairs: Sequence[tuple[Any, Any]] | None
) -> list[tuple[Any, Any]]:
    if pairs is None:
        return list(combinations(populations, 2))
    for pair in pairs:
        if len(pair) != 2 or any(label not in populations for label in pair):
            raise DataError(
                "pairs",
                f"must be of two groups among {', '.join(map(str, populations))}",
                got=repr(pair),
                fix="Correct it.",
            )
    return [(first, second) for first, second in pairs]
