"""Do groups differ? All parameters, all pairs of groups, adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np

from penchant._frames import as_it_came
from penchant.arguments import check_level
from penchant.errors import DataError
from penchant.population.adjusted import (
    Covariates,
    adjusted_differences,
    read_covariates,
    without,
)
from penchant.population.comparison import (
    Adjustment,
    Difference,
    EffectSize,
    GroupComparison,
    PairTest,
    adjusted_p_values,
    hedges_g,
    joint_test,
    welch,
)
from penchant.population.estimate import PopulationEstimate
from penchant.population.people import ByKind, is_score, labels_by
from penchant.population.pool import pool
from penchant.population.scores import Held, relations
from penchant.population.subjects import (
    GroupScale,
    Scale,
    SubjectEstimates,
    subject_estimates,
    with_logarithms,
)
from penchant.tails import t_point

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
        half = t_point((1 - self.level) / 2, found.degrees_of_freedom) * found.standard_error
        effect = self._effect()
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

    def _effect(self) -> EffectSize:
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


@as_it_came
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
        labels = labels_by(groups, by, people)
        everyone, logs = _everyone(groups, scale)
        if is_score(labels, kind):
            called = by if isinstance(by, str) else "score"
            found = _by_score(everyone, labels, adjust, level, called, held)
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
    pooled = {label: _population(found, scale) for label, found in groups.items()}
    populations = {label: population for label, (population, _) in pooled.items()}
    logs = (*logs, *dict.fromkeys(name for _, own in pooled.values() for name in own))
    _check_alike(populations)
    chosen = _checked_pairs(populations, pairs)
    if held is not None:
        mine, own, same = _usable(everyone, labels, held)
        differences, tests = adjusted_differences(mine, own, chosen, same, level)
    else:
        made = [_pair(populations, pair, degrees_of_freedom, level) for pair in chosen]
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


def _usable(
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


def _everyone(estimates: Any, scale: GroupScale) -> tuple[SubjectEstimates, tuple[str, ...]]:
    """Estimates of subjects on this scale, and which of them are logarithms."""
    if scale == "log":
        return with_logarithms(estimates)
    plain: Scale = scale
    return subject_estimates(estimates, scale=plain), ()


def _by_score(
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
        found = relations(usable, scores, level)
    else:
        _, _, same = _usable(everyone, labels, held)
        out, of_ranks = (partial(without, covariates=one) for one in (same, same.ranked()))
        found = relations(usable, scores, level, Held(out, of_ranks, same.columns.shape[1]))
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


def _population(found: Any, scale: GroupScale) -> tuple[PopulationEstimate, tuple[str, ...]]:
    """What is known of a group, and which parameters are logarithms."""
    if isinstance(found, PopulationEstimate):
        return found, ()
    everyone, logs = _everyone(found, scale)
    return pool(everyone, rule="mean-sample"), logs


def _check_alike(populations: Mapping[Any, PopulationEstimate]) -> None:
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


def _pair(
    populations: Mapping[Any, PopulationEstimate],
    labels: tuple[Any, Any],
    degrees_of_freedom: DegreesOfFreedom,
    level: float,
) -> _Pair:
    first, second = (populations[label] for label in labels)
    own = degrees_of_freedom == "own"
    df = tuple(p.degrees_of_freedom if own else p.n_subjects - 1.0 for p in (first, second))
    return _Pair(labels, first, second, (df[0], df[1]), level)
