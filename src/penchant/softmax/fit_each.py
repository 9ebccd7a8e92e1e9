"""`fit_each`: one estimate per subject, thousands in one parallel call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Unpack

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.output import progress
from penchant.softmax.batch import Batch, Grouping, fit_batch, settled
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.fit import NEWTON_STEPS, EachOptions, estimate_from, fit_choices
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import MANY_VARIABLES, available_threads
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.separation import differ_hardly
from penchant.softmax.solution import Solution, check_units, weight_unit
from penchant.wording import ticked


def fit_each_choices(choices: Choices, **given: Unpack[EachOptions]) -> Estimates:
    """Fit every subject by itself: the numbers of `fit`, for thousands in one call."""
    if choices.subject is None or choices.subject_labels is None:
        raise DataError(
            f"choices must say whose they are; got none with a subject. Pass {ticked('subject')}, "
            "or use fit."
        )
    groups = Grouping.of(choices)
    prior, threads = given.get("parameter_prior"), given.get("threads")
    max_steps = given.get("max_steps")
    workers = available_threads() if threads is None else threads
    options: EachOptions = {**given, "threads": 1}
    n = len(choices.subject_labels)
    work, units = _unit_weights(choices, n)
    compiled = (
        given.get("method", "ml") == "ml"
        and (prior is None or (units == 1.0).all())
        and given.get("constraints") is None
        and given.get("covariance", "model") == "model"
        and choices.n_parameters <= MANY_VARIABLES
        and choices.observed
    )
    with progress("Fitting subjects", n) as advance:
        batch = None
        good = np.zeros(n, dtype=bool)
        if compiled:
            batch = fit_batch(work, groups, prior, max_steps or NEWTON_STEPS, workers, advance)
            check_units(batch.largest.max(axis=0), choices.names)
            covariances, conditions = batch.covariances()
            totals = _totals(work, groups)
            good = settled(
                batch,
                covariances,
                conditions,
                totals,
                prior is not None,
                _weight_of_small(work, batch),
            )
            with np.errstate(over="ignore"):  # infinite, where no number is as large
                batch.memo[:, 0] *= units
                covariances = covariances / units[:, None, None]
        others = {}
        for i in np.flatnonzero(~good):
            others[int(i)] = _one(choices, int(i), options)
            if not compiled:
                advance(1)
    if batch is None:
        return Estimates.of_each(choices.subject_labels, [others[i] for i in range(n)])
    return _estimates(choices, groups, batch, covariances, conditions, others, prior)


def _weight_of_small(choices: Choices, batch: Batch) -> Callable[[IntVector], Vector]:
    """Weight of decisions in which a variable hardly differs from the chosen option's."""

    def weight(some: IntVector) -> Vector:
        assert choices.subject is not None
        if not len(some):
            return np.zeros(0)
        mine = np.flatnonzero(np.isin(choices.subject, some))
        subject, part = choices.subject[mine], choices.subset(mine)
        small = differ_hardly(part, batch.largest[subject, 1])
        weights = small.astype(np.float64) if part.weights is None else part.weights * small
        return np.asarray(np.bincount(subject, weights, len(batch.theta))[some], dtype=np.float64)

    return weight


def _totals(choices: Choices, groups: Grouping) -> Vector:
    if choices.weights is None:
        return np.diff(groups.bounds).astype(np.float64)
    cumulated = np.concatenate([[0.0], np.cumsum(choices.weights[groups.order])])
    return np.asarray(cumulated[groups.bounds[1:]] - cumulated[groups.bounds[:-1]])


def _unit_weights(choices: Choices, n_subjects: int) -> tuple[Choices, Vector]:
    """The same choices with weights of mean about 1 for each subject, and the units of these."""
    units = np.ones(n_subjects)
    if choices.weights is None or choices.subject is None:
        return choices, units
    order = np.argsort(choices.subject, kind="stable")
    bounds = np.searchsorted(choices.subject[order], np.arange(n_subjects + 1))
    for i in range(n_subjects):
        units[i] = weight_unit(choices.weights[order[bounds[i] : bounds[i + 1]]])
    if (units == 1.0).all():
        return choices, units
    return replace(choices, weights=choices.weights / units[choices.subject]), units


def _one(choices: Choices, i: int, options: EachOptions) -> Estimate:
    """Fit one subject by itself."""
    assert choices.subject_labels is not None
    mine = choices.subset(choices.subject == i)
    return replace(fit_choices(mine, **options), subject=choices.subject_labels[i])


def _estimates(
    choices: Choices,
    groups: Grouping,
    batch: Batch,
    covariances: Matrix,
    conditions: Vector,
    others: dict[int, Estimate],
    prior: ParameterPrior | None,
) -> Estimates:
    """Compiled results, with the subjects that were looked at one by one put in."""
    assert choices.subject_labels is not None and choices.subject is not None
    labels = choices.subject_labels
    decisions_of = _decisions_by_subject(choices)

    def estimate(i: int) -> Estimate:
        if i in others:
            return others[i]
        mine = choices.subset(decisions_of(i))
        found = batch_solution(batch, covariances, conditions, i, prior)
        return estimate_from(found, mine, prior, subject=labels[i])

    theta, likelihood = batch.theta.copy(), batch.value.copy()
    if prior is not None:
        likelihood = np.array([_log_likelihood(batch, i, prior) for i in range(len(labels))])
    status = ["converged"] * len(labels)
    messages = ["The maximum exists and was reached."] * len(labels)
    steps, covariance, condition = batch.n_steps.tolist(), covariances.copy(), conditions.copy()
    for i, other in others.items():
        theta[i], covariance[i], likelihood[i] = other.theta, other.covariance, other.log_likelihood
        status[i], messages[i] = other.status, other.message
        steps[i], condition[i] = other.diagnostics.iterations, other.diagnostics.condition
    return Estimates(
        subjects=labels,
        names=choices.names,
        theta=theta,
        covariance=covariance,
        log_likelihood=likelihood,
        status=tuple(status),
        n_decisions=tuple(_n_decisions(choices, groups).tolist()),
        iterations=tuple(steps),
        condition=condition,
        messages=tuple(messages),
        estimate=estimate,
    )


def _n_decisions(choices: Choices, groups: Grouping) -> IntVector:
    """Number of decisions of each subject, those of weight 0 included."""
    if len(groups.order) == choices.n_decisions:
        return np.diff(groups.bounds)
    assert choices.subject is not None
    return np.bincount(choices.subject, minlength=len(groups.bounds) - 1)


def _decisions_by_subject(choices: Choices) -> Callable[[int], IntVector]:
    """Look up the decisions of a subject, in their order; they are sorted when first asked for."""
    assert choices.subject is not None
    subject = choices.subject

    @cache
    def by_subject() -> tuple[IntVector, IntVector]:
        order = np.argsort(subject, kind="stable")
        return order, np.searchsorted(subject[order], np.arange(subject.max() + 2))

    def decisions_of(i: int) -> IntVector:
        order, bounds = by_subject()
        return order[bounds[i] : bounds[i + 1]]

    return decisions_of


def _log_likelihood(batch: Batch, i: int, prior: ParameterPrior) -> float:
    """The objective less the prior's part, as `solve` computes it."""
    quadratic = prior.quadratic(batch.theta.shape[1], np.sqrt(np.diag(batch.spread[i])))
    return float(batch.value[i]) + quadratic.constant - quadratic(batch.theta[i])


def batch_solution(
    batch: Batch, covariances: Matrix, conditions: Vector, i: int, prior: ParameterPrior | None
) -> Solution:
    """What `solve` would have returned for this subject."""
    d = batch.theta.shape[1]
    scale = np.sqrt(np.diag(batch.spread[i]))
    value, posterior = float(batch.value[i]), None
    if prior is not None:
        posterior = value + prior.quadratic(d, scale).constant
        value = _log_likelihood(batch, i, prior)
    return Solution(
        theta=batch.theta[i],
        covariance=covariances[i],
        log_likelihood=value,
        log_posterior=posterior,
        known=Identification(scale, d, np.empty((0, d)), None),
        ending="converged",
        decrement=float(batch.decrement[i]),
        n_steps=int(batch.n_steps[i]),
        condition=float(conditions[i]),
        certificate="newton" if prior is None else "prior",
        point=batch.theta[i],
        certainty=covariances[i],
    )
