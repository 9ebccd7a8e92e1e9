"""Estimates under linear inequalities: maxima on faces, and none where a cone lets theta go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.constraints import Constraints, maximise_within, null_basis
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted
from penchant.softmax.separation import cleaned
from penchant.softmax.solution import (
    Solution,
    blank,
    in_coordinates,
    penalised_solution,
    scaled_inverse,
)


def constrained(
    choices: Choices,
    likelihood: Likelihood,
    known: Identification,
    constraints: Constraints,
    applied: Constraints,
    max_steps: int,
    near: Vector | None = None,
) -> Solution:
    """Maximum likelihood under linear inequalities, in coordinates of unit scale.

    `applied` are those of the constraints that concern identified parameters; `near` is the
    maximum without them, where it is known.
    """
    basis = np.diag(1.0 / known.scale) if known.basis is None else known.basis
    work = likelihood
    if known.basis is not None:
        work = likelihood_of(in_coordinates(choices, basis))
        inside = applied.within(np.zeros(len(basis)), basis)
    else:
        work = Restricted(likelihood, np.zeros(len(basis)), basis)
        inside = applied.within(np.zeros(len(basis)), basis)
    assert inside is not None  # it concerns identified parameters
    none = Quadratic.none(basis.shape[1])
    begin = None if near is None else np.asarray(np.linalg.solve(basis, near), np.float64)
    maximum, active = maximise_within(work, inside, none, max_steps, begin)
    if known.complete:
        found = separating.recession(choices, known.scale, cone=constraints.matrix)
        if found is not None:
            point = _exactly_at(basis @ maximum.theta, inside, active, basis)
            return _separated_within(known, found, maximum, point)
    solution = constrained_maximum(choices, known, maximum, inside, active, basis)
    if len(active) == len(constraints.bound):
        return solution
    reached = np.array(inside.labels)[active]
    return replace(solution, active=np.isin(constraints.labels, reached))


def constrained_maximum(
    choices: Choices,
    known: Identification,
    maximum: Maximum,
    inside: Constraints,
    active: BoolVector,
    basis: Matrix,
) -> Solution:
    """A constrained maximum back in the user's coordinates."""
    work = Identification(
        np.ones(basis.shape[1]), basis.shape[1], np.empty((0, basis.shape[1])), None
    )
    held = _on_face(
        penalised_solution(maximum.value, work, maximum, "linear program"),
        maximum,
        inside,
        active,
    )
    theta = basis @ held.point
    certainty = basis @ held.certainty @ basis.T
    unit = 1.0 / np.where(known.scale > 0, known.scale, 1.0)
    free = np.diag(certainty) > (1e-9 * unit) ** 2
    shown, covariance = blank(theta, certainty, known.identified)
    covariance = np.where(np.outer(free, free), covariance, np.nan)
    return replace(
        held,
        theta=_exactly_at(shown, inside, active, basis),
        covariance=covariance,
        log_posterior=None,
        known=known,
        point=theta,
        certainty=certainty,
    )


def _exactly_at(theta: Vector, inside: Constraints, active: BoolVector, basis: Matrix) -> Vector:
    """Parameters held by a bound of their own get exactly that value."""
    exact = theta.copy()
    back = np.linalg.pinv(basis)
    for row, bound in zip(inside.matrix[active] @ back, inside.bound[active], strict=True):
        alone = np.abs(row) > 1e-9 * np.abs(row).max()
        if alone.sum() == 1:
            (a,) = np.flatnonzero(alone)
            exact[a] = bound / row[a]
    return exact


def _separated_within(
    known: Identification, found: separating.Recession, maximum: Maximum, point: Vector
) -> Solution:
    """No maximum among the theta allowed; the value where Newton ended is the supremum to 1e-8."""
    d = len(known.scale)
    direction = cleaned(found.direction, known)
    return Solution(
        theta=np.where(direction != 0, np.copysign(np.inf, direction), point),
        covariance=np.full((d, d), np.nan),
        log_likelihood=maximum.value,
        known=known,
        ending="slow",
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=np.inf,
        certificate="linear program",
        recession=direction,
        resolved=found.resolved,
        point=point,
        certainty=np.full((d, d), np.nan),
    )


def _on_face(
    solution: Solution, maximum: Maximum, constraints: Constraints, active: BoolVector
) -> Solution:
    """Covariance on the face of the active constraints; none for parameters held by them."""
    if not active.any():
        return replace(solution, active=active)
    d = len(solution.point)
    basis = null_basis(constraints.matrix[active], d)
    inner, _ = scaled_inverse(basis.T @ maximum.information @ basis)
    covariance = basis @ inner @ basis.T
    free = np.abs(basis).max(axis=1, initial=0.0) > 1e-12
    shown = np.where(np.outer(free, free), covariance, np.nan)
    return replace(solution, covariance=shown, certainty=covariance, active=active)
