"""Tests of differences between groups, adjusted for their number and for covariates.

Welch's t test per parameter and Hotelling's T2 with unequal covariances (Krishnamoorthy and Yu
2004) over all of them; with covariates least squares with HC3 errors (MacKinnon and White 1985).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.errors import DataError, format_names
from penchant.output import preserve_frame_backend
from penchant.population.group_comparison import (
    Adjustment,
    Difference,
    EffectSize,
    GroupComparison,
    PairTest,
    adjusted_p_values,
    hedges_correction,
    hedges_g,
    joint_test,
    welch,
)
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.pool import pool
from penchant.population.score_relations import PartialOut, ranks, score_relations
from penchant.population.subject_estimates import (
    ByKind,
    GroupScale,
    Scale,
    SubjectEstimates,
    is_score,
    labels_of_subjects,
    subject_estimates,
    with_logarithms,
)
from penchant.tails import normal_isf, t_isf, t_sf


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

    def ranked(self) -> Covariates:
        """Covariates as ranks, for partial rank correlations."""
        return Covariates(self.names, np.apply_along_axis(ranks, 0, self.columns))


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
            "covariates must be names of columns, or {name: values}; got "
            f"{type(covariates).__name__}. Write covariates=['age', 'sex']."
        )
    if not given:
        raise DataError("covariates must name at least one; got none. Leave it out.")
    columns = []
    for name, by in given.items():
        try:
            labels = labels_of_subjects(estimates, by, people)
        except DataError as error:
            said = str(error).replace("by must", f"covariates[{name!r}] must", 1)
            raise DataError(said) from None
        columns += _code_columns(name, labels)
    return Covariates(tuple(given), np.column_stack(columns))


def _code_columns(name: str, labels: Sequence[Any]) -> list[Vector]:
    if all(isinstance(one, int | float | np.number) for one in labels):
        values = np.array(labels, dtype=np.float64)
        if np.ptp(values) == 0:
            raise DataError(
                f"covariates must differ between subjects; got {values[0]:g} for all in {name!r}. "
                "Leave it out."
            )
        return [values - values.mean()]
    levels = sorted({str(one) for one in labels})
    if len(levels) < 2:
        raise DataError(
            f"covariates must differ between subjects; got {levels[0]!r} for all in {name!r}. "
            "Leave it out."
        )
    words = np.array([str(one) for one in labels])
    return [(words == level).astype(np.float64) for level in levels[1:]]


class LeastSquares(NamedTuple):
    """Every parameter regressed on the same columns.

    Attributes
    ----------
    coefficients
        (n_columns, n_parameters).
    bread
        (X'X)^-1.
    robust
        (n_parameters, n_columns, n_parameters, n_columns): covariances of all coefficients, HC3.
    residual_sd
        Of each parameter, with n - n_columns degrees of freedom.
    degrees_of_freedom
        n_subjects less n_columns.
    """

    coefficients: Matrix
    bread: Matrix
    robust: Any
    residual_sd: Vector
    degrees_of_freedom: float


def least_squares(x: Matrix, y: Matrix, names: Sequence[str]) -> LeastSquares:
    """Least squares with HC3 errors: residuals over 1 - h, h the leverage of each subject.

    HC3, as groups may differ in how far their people differ: (X'X)^-1 [sum x x' e^2 / (1 - h)^2]
    (X'X)^-1 (MacKinnon and White, 1985).
    """
    n, k = x.shape
    if n <= k or np.linalg.matrix_rank(x) < k:
        raise DataError(
            f"covariates must be told apart from the groups by more subjects than columns; got {n} "
            f"subjects, and {k} columns of groups and {format_names(names)}. Leave one out."
        )
    bread: Matrix = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    coefficients = bread @ x.T @ y
    left = y - x @ coefficients
    leverage = np.einsum("na,ab,nb->n", x, bread, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = left / (1.0 - leverage)[:, None]
    scores = np.einsum("ab,nb,np->npa", bread, x, scaled)
    return LeastSquares(
        coefficients,
        bread,
        np.einsum("npa,nqb->paqb", scores, scores),
        np.sqrt((left**2).sum(axis=0) / (n - k)),
        float(n - k),
    )


def adjusted_differences(
    usable: SubjectEstimates,
    labels: Sequence[Any],
    pairs: Sequence[tuple[Any, Any]],
    covariates: Covariates,
    level: float,
) -> tuple[list[Difference], list[PairTest]]:
    """Differences between groups at the same covariates, and all parameters at once.

    Parameters
    ----------
    usable
        Estimates that can be averaged.
    labels
        Group of each of them, in their order.
    pairs
        Groups to compare.
    covariates
        Of the same subjects.
    level
        Of the intervals.
    """
    groups = list(dict.fromkeys(label for pair in pairs for label in pair))
    inside = np.array([[own == group for group in groups] for own in labels])
    kept = inside.any(axis=1)
    x = np.column_stack([inside[kept].astype(np.float64), covariates.columns[kept]])
    fit = least_squares(x, usable.estimates[kept], covariates.names)
    counts = inside.sum(axis=0)
    differences, tests = [], []
    for first, second in pairs:
        a, b = groups.index(first), groups.index(second)
        contrast = np.zeros(x.shape[1])
        contrast[[a, b]] = 1.0, -1.0
        gap = contrast @ fit.coefficients
        covariance = np.einsum("a,paqb,b->pq", contrast, fit.robust, contrast)
        found = _difference_columns(fit, contrast, gap, np.sqrt(np.diag(covariance)), level)
        enough = min(counts[a], counts[b]) > 1
        differences += [
            Difference(
                first,
                second,
                name,
                **{k: float(v[i]) if enough else np.nan for k, v in found.items()},
            )
            for i, name in enumerate(usable.names)
        ]
        none = np.zeros_like(covariance)
        joint = joint_test(gap, (covariance, none), (fit.degrees_of_freedom, np.inf))
        tests.append(PairTest(first, second, joint, np.nan))
    return differences, tests


def _difference_columns(
    fit: LeastSquares, contrast: Vector, gap: Vector, error: Vector, level: float
) -> dict[str, Vector]:
    """Everything of the differences of one pair: t tests, intervals, and sizes of effects.

    Hedges' g is in standard deviations that are left within groups at the same covariates; its
    variance is J^2 [c'(X'X)^-1 c + (g/J)^2 / (2 f)], which without covariates is the usual one.
    """
    df = fit.degrees_of_freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = gap / error
        plain = np.where(fit.residual_sd > 0, gap / fit.residual_sd, np.nan)
    half = t_isf((1 - level) / 2, df) * error
    correction = hedges_correction(df)
    spread = np.sqrt(contrast @ fit.bread @ contrast + plain**2 / (2 * df))
    wide = normal_isf((1 - level) / 2) * correction * spread
    return {
        "difference": gap,
        "standard_error": error,
        "statistic": statistic,
        "degrees_of_freedom": np.full(len(gap), df),
        "low": gap - half,
        "high": gap + half,
        "p_value": np.asarray(2 * t_sf(np.abs(statistic), df)),
        "adjusted_p_value": np.full(len(gap), np.nan),
        "hedges_g": correction * plain,
        "hedges_g_low": correction * plain - wide,
        "hedges_g_high": correction * plain + wide,
    }


def residuals_on_covariates(values: Matrix, covariates: Covariates) -> Matrix:
    """Residuals of values after least squares on the covariates.

    >>> import numpy as np
    >>> age = Covariates(("age",), np.array([[-1.0], [0.0], [1.0]]))
    >>> residuals_on_covariates(np.array([[1.0], [2.0], [3.0]]), age).round(12).ravel()
    array([0., 0., 0.])
    """
    x = np.column_stack([np.ones(len(values)), covariates.columns])
    least_squares(x, values, covariates.names)  # only for its check of collinearity
    return np.asarray(values - x @ np.linalg.lstsq(x, values, rcond=None)[0])


DegreesOfFreedom = Literal["own", "subjects"]


@dataclass(frozen=True)
class _Pair:
    """Two populations, their labels, and the degrees of freedom to test with."""

    labels: tuple[Any, Any]
    first: PopulationEstimate
    second: PopulationEstimate
    degrees_of_freedom: tuple[float, float]
    level: float

    def differences(self) -> list[Difference]:
        a, b = self.first, self.second
        found = welch(
            a.estimate,
            b.estimate,
            (a.standard_errors, b.standard_errors),
            self.degrees_of_freedom,
        )
        half = t_isf((1 - self.level) / 2, found.degrees_of_freedom) * found.standard_error
        effect = self._effect_sizes()
        columns = {
            **found._asdict(),
            "low": found.difference - half,
            "high": found.difference + half,
            "adjusted_p_value": np.full(len(a.names), np.nan),
            "hedges_g": effect.g,
            "hedges_g_low": effect.low,
            "hedges_g_high": effect.high,
        }
        first, second = self.labels
        return [
            Difference(first, second, name, **{k: float(v[i]) for k, v in columns.items()})
            for i, name in enumerate(a.names)
        ]

    def _effect_sizes(self) -> EffectSize:
        """Hedges' g, where the standard errors come from the spread between subjects."""
        a, b = self.first, self.second
        if not a.rule == b.rule == "mean-sample":
            blank = np.full(len(a.names), np.nan)
            return EffectSize(blank, blank, blank)
        sds = tuple(np.sqrt(p.n_subjects) * p.standard_errors for p in (a, b))
        counts = a.n_subjects, b.n_subjects
        return hedges_g(a.estimate - b.estimate, (sds[0], sds[1]), counts, self.level)

    def joint(self) -> PairTest:
        gap = self.first.estimate - self.second.estimate
        covariances = self.first.covariance, self.second.covariance
        found = joint_test(gap, covariances, self.degrees_of_freedom)
        return PairTest(self.labels[0], self.labels[1], found, np.nan)


@preserve_frame_backend
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

    >>> delays, weak = pn.read(pn.datasets.load("delays")), pn.ScaledPrior()
    >>> estimates = pn.fit_each(delays, pn.HyperbolicDiscounting(), parameter_prior=weak)
    >>> age = {subject: 20 + 1.5 * k for k, subject in enumerate(estimates.subjects)}
    >>> pn.compare_groups(estimates, by=age)
    <GroupComparison by score: 2 parameters>
    """
    check_level(level)
    _check_scale(scale)
    logs: tuple[str, ...] = ()
    held = None
    if covariates is not None:
        if by is None:
            raise DataError(
                "covariates must be left out without `by`; got some. Pass the estimates of all "
                "subjects, and by='group'."
            )
        held = read_covariates(groups, covariates, people)
    if by is not None:
        labels = labels_of_subjects(groups, by, people)
        everyone, logs = _all_subject_estimates(groups, scale)
        if is_score(labels, kind):
            called = by if isinstance(by, str) else "score"
            found = _compare_by_score(everyone, labels, adjust, level, called, held)
            return replace(found, logs=logs)
        groups = {
            label: everyone.subset([i for i, own in enumerate(labels) if own == label])
            for label in sorted(dict.fromkeys(labels), key=str)
        }
    if not isinstance(groups, Mapping):
        raise DataError(
            f"groups must be {{label: estimates}}; got {type(groups).__name__}. Say what tells "
            "subjects apart, such as by='group'."
        )
    if degrees_of_freedom not in ("own", "subjects"):
        raise DataError(
            f"degrees_of_freedom must be 'own' or 'subjects'; got {degrees_of_freedom!r}. "
            "Choose one."
        )
    pooled = {label: _as_population_estimate(found, scale) for label, found in groups.items()}
    populations = {label: population for label, (population, _) in pooled.items()}
    logs = (*logs, *dict.fromkeys(name for _, own in pooled.values() for name in own))
    _check_same_parameters(populations)
    chosen = _checked_pairs(populations, pairs)
    if held is not None:
        mine, own, same = _select_usable_subjects(everyone, labels, held)
        differences, tests = adjusted_differences(mine, own, chosen, same, level)
    else:
        made = [_group_pair(populations, pair, degrees_of_freedom, level) for pair in chosen]
        differences = [difference for pair in made for difference in pair.differences()]
        tests = [pair.joint() for pair in made]
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


def _select_usable_subjects(
    everyone: SubjectEstimates, labels: Sequence[Any], held: Covariates
) -> tuple[SubjectEstimates, list[Any], Covariates]:
    """Subjects with an estimate that can be averaged, their labels and covariates."""
    lost = {left.subject for left in everyone.left_out()}
    kept = [i for i, subject in enumerate(everyone.subjects) if subject not in lost]
    same = Covariates(held.names, held.columns[kept])
    return everyone.subset(kept), [labels[i] for i in kept], same


def _check_scale(scale: str) -> None:
    if scale not in ("log", "natural", "theta"):
        raise DataError(
            f"scale must be 'log', 'natural' or 'theta'; got {scale!r}. Leave it out for 'log'."
        )


def _all_subject_estimates(
    estimates: Any, scale: GroupScale
) -> tuple[SubjectEstimates, tuple[str, ...]]:
    """Estimates of subjects on this scale, and which of them are logarithms."""
    if scale == "log":
        return with_logarithms(estimates)
    plain: Scale = scale
    return subject_estimates(estimates, scale=plain), ()


def _compare_by_score(
    everyone: SubjectEstimates,
    labels: Sequence[Any],
    adjust: Adjustment,
    level: float,
    score: str,
    held: Covariates | None,
) -> GroupComparison:
    """Every parameter against a score, at the same covariates where there are some."""
    known = dict(zip(everyone.subjects, labels, strict=True))
    usable = everyone.usable()
    scores = np.array([float(known[subject]) for subject in usable.subjects])
    if len(usable) < 3 or np.ptp(scores) == 0:
        raise DataError(
            f"by must be a score that differs, of 3 subjects or more with a finite estimate; got "
            f"{len(usable)} with {len(set(scores.tolist()))} values. A weak prior gives everybody "
            "an estimate."
        )
    if held is None:
        found = score_relations(usable, scores, level)
    else:
        _, _, same = _select_usable_subjects(everyone, labels, held)
        out, of_ranks = (
            partial(residuals_on_covariates, covariates=one) for one in (same, same.ranked())
        )
        found = score_relations(
            usable, scores, level, PartialOut(out, of_ranks, same.columns.shape[1])
        )
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
        covariates=() if held is None else held.names,
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
        raise DataError(f"groups must be at least two; got {len(populations)}. Name both.")
    for what in ("names", "scale"):
        kinds = {getattr(population, what) for population in populations.values()}
        if len(kinds) > 1:
            raise DataError(
                f"groups must have the same {what}; got {' and '.join(map(str, sorted(kinds)))}. "
                "Parameters of different models cannot be compared."
            )


def _checked_pairs(
    populations: Mapping[Any, PopulationEstimate], pairs: Sequence[tuple[Any, Any]] | None
) -> list[tuple[Any, Any]]:
    if pairs is None:
        return list(combinations(populations, 2))
    for pair in pairs:
        if len(pair) != 2 or any(label not in populations for label in pair):
            raise DataError(
                f"pairs must be of two groups among {', '.join(map(str, populations))}; "
                f"got {pair!r}. Correct it."
            )
    return [(first, second) for first, second in pairs]


def _group_pair(
    populations: Mapping[Any, PopulationEstimate],
    labels: tuple[Any, Any],
    degrees_of_freedom: DegreesOfFreedom,
    level: float,
) -> _Pair:
    first, second = (populations[label] for label in labels)
    own = degrees_of_freedom == "own"
    df = tuple(p.degrees_of_freedom if own else p.n_subjects - 1.0 for p in (first, second))
    return _Pair(labels, first, second, (df[0], df[1]), level)
