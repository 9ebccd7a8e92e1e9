"""Pooling of subjects' estimates into one for the population by named rules, and mapping back.

With theta_s and C_s the estimate and covariance of subject s, n subjects:

"mean-pooled"        mean of theta_s, covariance sum C_s / n^2. The reading that fits Table I of the
                     paper: differences between subjects do not count, and one subject who is hardly
                     known decides the standard error.
"mean-sample"        mean of theta_s, covariance S / n with S the sample covariance: what Welch's
                     test is about. C_s is not used.
"fixed-effect"       C = (sum C_s^-1)^-1 and C sum C_s^-1 theta_s: right if all subjects are alike.
"random-effects"     theta_s ~ N(theta, Omega + C_s), Omega by restricted maximum likelihood.
"dersimonian-laird"  the same with Omega by the method of moments.
"joint"              the likelihood of all subjects together with shared parameters. Subjects whose
                     own maximum does not exist count too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError, format_list
from penchant.inference.fit import fit
from penchant.inference.linearized_model import (
    Coordinate,
    LinearizedParameterMap,
    Nominal,
    nominal_psi_and_ratios,
)
from penchant.models.model import Model, natural_parameters
from penchant.population.meta_analysis import (
    PopulationEstimate,
    PopulationEstimates,
    Rule,
    WhitenedEstimates,
    dersimonian_laird,
    heterogeneity,
    inverse_variance_mean_and_covariance,
    reml_covariance_and_convergence,
)
from penchant.population.subject_estimates import (
    Scale,
    SubjectEstimates,
    names_values_and_covariance,
    subject_estimates,
)
from penchant.softmax.estimate import Estimate


def _fit_one_for_all_subjects(
    data: Choices | Sequence[Episode], model: Model | None = None, *, scale: Scale = "theta"
) -> PopulationEstimate:
    """The estimate that all subjects share, the exact fixed effect: `fit` of all decisions."""
    found = fit(data) if isinstance(data, Choices) else fit(data, model)  # type: ignore[arg-type]
    return _population_estimate_of_fit(found, _subject_labels(data), scale)


def _pool_by_joint_fit(
    data_or_estimates: Any, model: Model | None, scale: Scale
) -> PopulationEstimate:
    """The joint fit of data, or of the episodes that estimates were made from."""
    if isinstance(data_or_estimates, Choices) or model is not None:
        return _fit_one_for_all_subjects(data_or_estimates, model, scale=scale)
    fits = (
        list(data_or_estimates) if hasattr(data_or_estimates, "__iter__") else [data_or_estimates]
    )
    if not fits or not all(isinstance(f, Estimate) and f.episodes for f in fits):
        raise DataError(
            "estimates",
            "must be of episodes, and hold them, for rule 'joint'",
            got="others",
            fix="Use pool(data, model=model, rule='joint').",
        )
    if any(f.model != fits[0].model for f in fits[1:]):
        raise DataError(
            "estimates",
            "must be of the same model for rule 'joint'",
            got="several",
            fix="Use pool(episodes, model=model, rule='joint').",
        )
    episodes = [episode for f in fits for episode in f.episodes]
    return _fit_one_for_all_subjects(episodes, fits[0].model, scale=scale)


def _subject_labels(data: Choices | Sequence[Episode]) -> tuple[Any, ...]:
    if isinstance(data, Choices):
        return tuple(data.subject_labels or ())
    episodes = (data,) if isinstance(data, Episode) else data
    return tuple(dict.fromkeys(episode.subject for episode in episodes))


def _population_estimate_of_fit(
    found: Any, subjects: tuple[Label, ...], scale: Scale
) -> PopulationEstimate:
    names, values, covariance = names_values_and_covariance(found, scale)
    fine = found.status == "converged"
    return PopulationEstimate(
        names=names,
        estimate=np.array(values),
        covariance=np.array(covariance),
        rule="joint",
        n_subjects=max(len(subjects), 1),
        subjects=subjects,
        status="estimated" if fine else found.status,
        message="" if fine else found.message,
        scale=scale,
        log_likelihood=found.log_likelihood,
    )


WEAK = "weakly identified"


class PooledMoments(NamedTuple):
    """Result of a pooling rule."""

    estimate: Vector
    covariance: Matrix
    degrees_of_freedom: float = np.inf
    between: Matrix | None = None
    caution_note: str = ""


@overload
def pool(
    estimates: Any,
    covariances: Any = ...,
    *,
    rule: Rule = ...,
    scale: Scale = ...,
    names: Sequence[str] | None = ...,
    subjects: Sequence[Label] | None = ...,
    model: Model | None = ...,
) -> PopulationEstimate: ...
@overload
def pool(
    estimates: Any,
    covariances: Any = ...,
    *,
    categories: Sequence[Label],
    rule: Rule = ...,
    scale: Scale = ...,
    names: Sequence[str] | None = ...,
    subjects: Sequence[Label] | None = ...,
) -> PopulationEstimates: ...
def pool(
    estimates: Any,
    covariances: Any = None,
    *,
    categories: Sequence[Label] | None = None,
    rule: Rule = "random-effects",
    scale: Scale = "theta",
    names: Sequence[str] | None = None,
    subjects: Sequence[Label] | None = None,
    model: Model | None = None,
) -> PopulationEstimate | PopulationEstimates:
    """Pool subjects' estimates into one for the population, or into one for each category.

    Subjects without a finite estimate (separated, not identified, at a bound, stopped early, or
    numbers that are not finite) are listed in `left_out` and never averaged in; only the joint
    likelihood can use them.

    Parameters
    ----------
    estimates
        What `fit_each` returns; a list of estimates, exact, linearised or of choices; or numbers
        (n_subjects, n_parameters). For rule "joint" also the data: `Choices`, or episodes.
    covariances
        With numbers: (n_subjects, n_parameters, n_parameters). "mean-sample" does without.
    categories
        One label per subject, such as ("high", "A"); None leaves a subject out of all. There is one
        population estimate for each.
    rule
        "mean-pooled", "mean-sample", "fixed-effect", "random-effects", "dersimonian-laird" or
        "joint"; `penchant.population.pooled_estimates` has the formulas.
    scale
        "theta": parameters as fitted; "natural": natural ones. The map of an average is not the
        average of the maps.
    names, subjects
        Labels for numbers.
    model
        Of episodes, for rule "joint".

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> found = pn.pool([1.0, 2.0, np.nan], [0.25, 1.0, 1.0], rule="fixed-effect")
    >>> found
    <PopulationEstimate fixed-effect of 2 subjects: theta1=1.2>
    >>> found.left_out
    (ExcludedSubject(subject=2, why='no finite theta1'),)
    >>> rng = np.random.default_rng(0)
    >>> sets = pn.Choices.from_arrays(
    ...     rng.normal(size=(600, 4, 1)), None, names=["gain"], subject=["ann", "bob"] * 300
    ... )
    >>> pn.pool(pn.simulate(sets, [1.0], rng=rng), rule="joint")
    <PopulationEstimate joint of 2 subjects: gain=0.93583>
    """
    check_one_of(rule, "rule", (*RULES, "joint"))
    places = None if categories is None else _indices_by_category(categories, len(estimates))
    if rule == "joint":
        if places is None:
            return _pool_by_joint_fit(estimates, model, scale)
        return PopulationEstimates(
            {
                c: _pool_by_joint_fit([estimates[i] for i in mine], model, scale)
                for c, mine in places.items()
            }
        )
    everyone = subject_estimates(
        estimates, covariances, scale=scale, names=names, subjects=subjects
    )
    if places is None:
        return _pool_by_rule(everyone, rule)
    return PopulationEstimates(
        {c: _pool_by_rule(everyone.subset(mine), rule) for c, mine in places.items()}
    )


def _indices_by_category(categories: Sequence[Label], n_subjects: int) -> dict[Any, list[int]]:
    """Positions of the subjects of each category."""
    if len(categories) != n_subjects:
        raise DataError(
            "categories",
            f"must be one per subject ({n_subjects})",
            got=len(categories),
            fix="Match them.",
        )
    places: dict[Any, list[int]] = {}
    for i, category in enumerate(categories):
        if category is not None:
            places.setdefault(category, []).append(i)
    return places


def _pool_by_rule(everyone: SubjectEstimates, rule: Rule) -> PopulationEstimate:
    """Apply a rule to the subjects that can be used."""
    if everyone.covariances is None and rule != "mean-sample":
        raise DataError(
            "covariances",
            f"must be given for rule {rule!r}",
            got="none",
            fix="Pass one matrix per subject, or use rule='mean-sample'.",
        )
    used = everyone.usable()
    n, d = used.estimates.shape
    blank = np.full((d, d), np.nan)
    found, status, message, known = PooledMoments(np.full(d, np.nan), blank), "estimated", "", None
    if n == 0:
        status, message = "no subjects", "No subject has a finite estimate: nothing to average."
    elif n == 1 and rule not in ("mean-pooled", "fixed-effect"):
        found = PooledMoments(used.estimates[0].copy(), blank)
        status = "one subject"
        message = "One subject tells nothing of how subjects differ: no standard error."
    else:
        found = RULES[rule](used)
        message = " ".join(filter(None, (found.caution_note, _weak_identification_note(used))))
        if used.covariances is not None:
            known = heterogeneity(used.estimates, used.covariances, found.between)
    return PopulationEstimate(
        names=used.names,
        estimate=found.estimate,
        covariance=found.covariance,
        rule=rule,
        n_subjects=n,
        subjects=used.subjects,
        left_out=everyone.left_out(),
        degrees_of_freedom=found.degrees_of_freedom,
        heterogeneity=known,
        status=status,
        message=message,
        scale=used.scale,
    )


def _weak_identification_note(used: SubjectEstimates) -> str:
    """Note on estimates that are finite but weakly identified."""
    weak = [str(s) for s, k in zip(used.subjects, used.status, strict=True) if k == WEAK]
    return f"Weakly identified, and kept: {format_list(weak)}." if weak else ""


def _pool_by_unweighted_mean(used: SubjectEstimates) -> PooledMoments:
    assert used.covariances is not None
    n = len(used)
    return PooledMoments(used.estimates.mean(axis=0), used.covariances.sum(axis=0) / n**2)


def _pool_by_sample_mean(used: SubjectEstimates) -> PooledMoments:
    n = len(used)
    spread = np.atleast_2d(np.cov(used.estimates.T))
    return PooledMoments(used.estimates.mean(axis=0), spread / n, n - 1.0)


def _pool_by_fixed_effect(used: SubjectEstimates) -> PooledMoments:
    white = _whitened_estimates(used)
    return _pooled_in_original_units(
        white, *inverse_variance_mean_and_covariance(white.estimates, white.covariances)
    )


def _pool_by_reml(used: SubjectEstimates) -> PooledMoments:
    white = _whitened_estimates(used)
    between, arrived = reml_covariance_and_convergence(white)
    doubt = "" if arrived else "REML stopped before its maximum: use rule='dersimonian-laird'."
    return _pool_with_between_covariance(white, between)._replace(caution_note=doubt)


def _pool_by_dersimonian_laird(used: SubjectEstimates) -> PooledMoments:
    white = _whitened_estimates(used)
    return _pool_with_between_covariance(white, dersimonian_laird(white))


def _whitened_estimates(used: SubjectEstimates) -> WhitenedEstimates:
    assert used.covariances is not None
    return WhitenedEstimates.from_estimates(used.estimates, used.covariances)


def _pool_with_between_covariance(white: WhitenedEstimates, between: Matrix) -> PooledMoments:
    mean, covariance = inverse_variance_mean_and_covariance(
        white.estimates, white.covariances + between
    )
    return _pooled_in_original_units(white, mean, covariance)._replace(
        between=white.unwhiten_covariance(between)
    )


def _pooled_in_original_units(
    white: WhitenedEstimates, mean: Vector, covariance: Matrix
) -> PooledMoments:
    return PooledMoments(white.unwhiten_mean(mean), white.unwhiten_covariance(covariance))


RULES: dict[str, Callable[[SubjectEstimates], PooledMoments]] = {
    "mean-pooled": _pool_by_unweighted_mean,
    "mean-sample": _pool_by_sample_mean,
    "fixed-effect": _pool_by_fixed_effect,
    "random-effects": _pool_by_reml,
    "dersimonian-laird": _pool_by_dersimonian_laird,
}


def population_in_natural_parameters(
    population: PopulationEstimate,
    model: Model,
    *,
    nominal: Nominal,
    coordinate: Coordinate = "delta",
) -> PopulationEstimate:
    """Natural parameters of a population whose theta is that of the linearised model.

    Standard errors are the delta method's. They are NaN where they need covariances that are not
    known. Averaging theta and mapping it is not mapping theta and averaging.

    Parameters
    ----------
    population
        Pooled from linearised estimates on scale "theta".
    model, nominal, coordinate
        As for `fit_linearized`: all subjects must have the same nominal point.

    Examples
    --------
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=0.1)
    >>> table_1 = [0.36, -5.22, 0.433], [90.4, 1270.0, 102.0], 153
    >>> low_a = pn.results.PopulationEstimate.from_summary(*table_1)
    >>> prior = pn.RewardPrior(mean=30, variance=10)
    >>> found = pn.paper.population_in_natural_parameters(low_a, model, nominal=prior)
    >>> [(p.name, round(p.estimate, 2)) for p in found.parameters]
    [('decision_noise', 2.78), ('prior_mean', 15.5), ('prior_variance', 4.54)]
    """
    psi, ratios = nominal_psi_and_ratios(model, nominal)
    if population.scale != "theta" or len(population.names) != len(psi) + len(ratios):
        raise DataError(
            "population",
            f"must hold the {len(psi) + len(ratios)} parameters theta of the linearised model",
            got=f"{', '.join(population.names)} on scale {population.scale!r}",
            fix="Pool linearised estimates with scale='theta'.",
        )
    back = LinearizedParameterMap(model, psi, ratios, coordinate)
    names = tuple(natural.name for natural in natural_parameters(model))
    theta = population.estimate
    inside = bool(np.isfinite(theta).all()) and back.is_inside_model(theta)
    values, covariance = np.full(len(names), np.nan), np.full((len(names), len(names)), np.nan)
    message = population.message
    if inside:
        values = back.values(theta)
        covariance = _delta_method_covariance(population.covariance, back.jacobian(theta))
    elif np.isfinite(theta).all():
        message = "theta lies outside the model: it has no natural parameters."
    return replace(
        population,
        names=names,
        estimate=values,
        covariance=covariance,
        heterogeneity=None,
        status=population.status if inside else "outside the model",
        message=message,
        scale="natural",
    )


def _delta_method_covariance(covariance: Matrix, jacobian: Matrix) -> Matrix:
    """Delta method, entry by entry: one that uses no unknown covariance is known."""
    uses = jacobian != 0
    made = np.empty((len(jacobian), len(jacobian)))
    for i, row in enumerate(jacobian):
        for j, other in enumerate(jacobian):
            inner = covariance[np.ix_(uses[i], uses[j])]
            made[i, j] = row[uses[i]] @ inner @ other[uses[j]]
    return made
