"""The weights of one convex problem, followed to their end: limits, planes, maxima far out.

The objective is concave. A maximum of the whole that respects the limits is the answer; otherwise
the answer lies on the boundary. Before anything else every variable is brought to size 1, so that
one which all but vanishes is neither overlooked nor in the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.inference.active_limits import maximise_freely, maximise_on_faces
from penchant.models.model import Model, positive_weights
from penchant.softmax.constraints import Constraints
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted
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
) -> Maximum:
    """Weights that maximise the objective, inside their limits and on the plane of a hypothesis."""
    likelihood, quadratic, unit = _of_size_one(choices, prior)
    origin, basis = np.zeros(len(unit)), np.eye(len(unit))
    if hypothesis is not None:
        origin, basis = _plane(hypothesis.matrix[0] * unit, float(hypothesis.values[0]))
    plane = Restricted(likelihood, origin, basis)
    within = quadratic.within(origin, basis)
    inside = None
    if limits is not None:
        inside = replace(limits, matrix=limits.matrix * unit).within(origin, basis)
    found = _best(plane, within, inside)
    own = unit * (origin + basis @ found.theta)
    if limits is not None:
        held = limits.matrix.any(axis=0)
        own[held] = np.maximum(own[held], 0.0)
    moments = likelihood.moments(own / unit)
    information = (moments.information + quadratic.precision) / unit / unit[:, None]
    return replace(
        found,
        theta=own,
        value=moments.log_likelihood + quadratic(own / unit),
        information=information,
    )


def _of_size_one(
    choices: Choices, prior: ParameterPrior | None
) -> tuple[Likelihood, Quadratic, Vector]:
    """The problem with weights in units of which one matters, and these units.

    One matters that changes an objective by 1 somewhere, or by which the prior bends by 1.
    """
    likelihood = likelihood_of(choices, 1)
    scale = None if prior is None else np.sqrt(np.diag(likelihood.spread()))
    quadratic = prior_quadratic(prior, choices.n_parameters, scale)
    size = np.hypot(np.asarray(likelihood.largest)[1], np.sqrt(np.diag(quadratic.precision)))
    # powers of 2 change no digit
    unit = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
    scaled = replace(choices, explanatory=choices.explanatory * unit)
    own = Quadratic(quadratic.precision * unit * unit[:, None], quadratic.linear * unit)
    return likelihood_of(scaled, 1), own, unit


def _plane(row: Vector, value: float) -> tuple[Vector, Matrix]:
    """Origin and basis of row' theta = value, made of single weights: the largest is told."""
    told = int(np.argmax(np.abs(row)))
    origin, basis = np.zeros(len(row)), np.eye(len(row))
    origin[told] = value / row[told]
    basis[told] = -row / row[told]
    return origin, np.delete(basis, told, axis=1)


def _best(plane: Restricted, quadratic: Quadratic, limits: Constraints | None) -> Maximum:
    """The maximum on a plane, inside the limits."""
    d = plane.n_parameters
    found = maximise_freely(plane, quadratic, np.zeros(d), np.eye(d))
    if limits is None or (limits.matrix @ found.theta >= limits.bound).all():
        return found
    return maximise_on_faces(plane, quadratic, limits)
