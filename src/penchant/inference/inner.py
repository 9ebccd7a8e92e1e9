"""The weights of one convex problem, followed to their end: limits, planes, maxima far out."""

from __future__ import annotations

import numpy as np

from penchant._typing import Vector
from penchant.choices import Choices
from penchant.models.model import Model, positive_weights
from penchant.softmax.constraints import Constraints, maximise_within, null_basis
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise
from penchant.softmax.prior import ParameterPrior


def limits_of(model: Model) -> Constraints | None:
    """Weights that the model wants positive."""
    rows = positive_weights(model)
    if not rows:
        return None
    names = model.weights
    return Constraints.single(names, {names[a]: 0.0 for a in rows}, 1.0)


def prior_quadratic(prior: ParameterPrior | None, d: int, scale: Vector | None) -> Quadratic:
    """The prior's part of the objective, less its constant, which depends on units."""
    if prior is None:
        return Quadratic.none(d)
    whole = prior.quadratic(d, scale)
    return Quadratic(whole.precision, whole.linear)


def best_weights(
    choices: Choices,
    limits: Constraints | None,
    prior: ParameterPrior | None,
    hypothesis: Hypothesis | None = None,
    near: Vector | None = None,
) -> Maximum:
    """Weights that maximise the objective, inside their limits and on the plane of a hypothesis."""
    likelihood = likelihood_of(choices, 1)
    d = choices.n_parameters
    scale = np.ones(d) if prior is None else np.sqrt(np.diag(likelihood.spread()))
    quadratic = prior_quadratic(prior, d, scale)
    if hypothesis is None:
        start = near if near is not None and np.abs(near).max() < 1e6 else None
        found = maximise(likelihood, quadratic, start, patient=True)
        if limits is None or (limits.matrix @ found.theta > 0).all():
            return found
    origin, basis = np.zeros(d), np.eye(d)
    if hypothesis is not None:
        origin, basis = hypothesis.point(), null_basis(hypothesis.matrix, d)
    plane = Restricted(likelihood, origin, basis)
    within = quadratic.within(origin, basis)
    inside = None if limits is None else limits.within(origin, basis)
    if basis.shape[1] == 0:
        moments = likelihood.moments(origin)
        value = moments.log_likelihood + quadratic(origin)
        return Maximum(origin, value, moments.gradient, moments.information, 0.0, 0, "fixed")
    found = maximise(plane, within, patient=True)
    if inside is not None and (inside.matrix @ found.theta < inside.bound).any():
        found, _ = maximise_within(plane, inside, within)
    theta = origin + basis @ found.theta
    if limits is not None:
        held = limits.matrix.any(axis=0)
        theta[held] = np.maximum(theta[held], 0.0)
    information = likelihood.moments(theta).information + quadratic.precision
    return Maximum(
        theta,
        found.value,
        found.gradient,
        information,
        found.decrement,
        found.n_steps,
        found.ending,
    )
