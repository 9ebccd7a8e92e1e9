"""The maximum of a concave objective inside linear limits, from face to face.

On a face some limits hold with equality. Newton's method finds the maximum of a face; where it lies
outside, the way there ends at another limit, which then holds too. Where it lies inside, the
gradient is projected on the directions that lead inside: if nothing is left of it this is the
maximum of all (the conditions of Karush, Kuhn and Tucker), otherwise it leads to a higher face. The
objective rises from one such maximum to the next, so that no face is met twice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector
from penchant.softmax.constraints import Constraints, null_basis
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise

MOST_FACES = 100
LEVEL = 1e-10  # slope left, for variables of size 1
WITHIN_REACH = 8.0  # differences of objectives that Newton's method takes from theta = 0
NOTHING = 1e-15  # share of a direction's curvature below which it is rounding


def maximise_on_faces(plane: Restricted, quadratic: Quadratic, limits: Constraints) -> Maximum:
    """The maximum on a plane inside the limits, for variables of about size 1."""
    size = np.abs(limits.matrix).max(axis=1)
    rows, bound = limits.matrix / size[:, None], limits.bound / size
    phi = replace(limits, matrix=rows, bound=bound).feasible_point()
    held = np.zeros(len(rows), dtype=bool)
    n_steps = 0
    for _ in range(MOST_FACES):
        found = maximise_freely(plane, quadratic, phi, null_basis(rows[held], len(phi)))
        n_steps += found.n_steps
        phi, blocking = _until_a_limit(rows, bound, held, phi, found.theta - phi)
        if blocking is not None:
            held[blocking] = True
            continue
        gradient = _gradient(plane, quadratic, phi)
        multipliers = scipy.optimize.nnls(rows[held].T, -gradient)[0] if held.any() else np.zeros(0)
        uphill = gradient + rows[held].T @ multipliers
        if np.linalg.norm(uphill) <= LEVEL * (1.0 + np.linalg.norm(gradient)) or not held.any():
            break
        held[held] = multipliers > 0
        along = maximise_freely(plane, quadratic, phi, uphill[:, None])
        phi, blocking = _until_a_limit(rows, bound, held, phi, along.theta - phi)
        if blocking is not None:
            held[blocking] = True
    return replace(found, theta=phi, n_steps=n_steps)


def maximise_freely(
    plane: Restricted, quadratic: Quadratic, origin: Vector, basis: Matrix
) -> Maximum:
    """The maximum among origin + basis rho; directions that tell nothing stay where they are."""
    whole = plane.basis @ basis
    around = quadratic.within(origin, basis)
    part = Restricted(plane.likelihood, plane.origin + plane.basis @ origin, whole)
    telling = _telling(part.spread() + around.precision)
    if not telling.shape[1]:
        return Maximum(origin, 0.0, np.zeros(len(origin)), around.precision, 0.0, 0, "fixed")
    if telling.shape[1] < basis.shape[1]:
        part = replace(part, basis=whole @ telling)
        around, basis = around.within(np.zeros(len(telling)), telling), basis @ telling
    found = maximise(part, around, patient=True)
    if found.ending != "converged" and part.origin.any():
        found = _along_the_origin(part, around, found)
    return replace(found, theta=origin + basis @ found.theta)


def _along_the_origin(part: Restricted, quadratic: Quadratic, found: Maximum) -> Maximum:
    """The maximum on a plane far out, where nothing is left to chance at its origin.

    Planes nearer by lead there: one twice as far away has its maximum about twice as far out.
    """
    reach = float(np.abs(part.origin) @ part.likelihood.largest[1])
    share = WITHIN_REACH / max(reach, WITHIN_REACH)
    phi, n_steps = np.zeros(part.n_parameters), found.n_steps
    while True:
        nearer = replace(part, origin=share * part.origin)
        last = maximise(nearer, quadratic, phi, patient=True)
        n_steps += last.n_steps
        if _value(nearer, quadratic, last.theta) >= _value(nearer, quadratic, phi):
            phi = last.theta
        if share == 1.0:
            break
        further = min(2 * share, 1.0)
        phi, share = phi * (further / share), further
    value = _value(part, quadratic, phi)
    if value <= found.value:
        return found
    return replace(last, theta=phi, value=value, n_steps=n_steps)


def _value(plane: Restricted, quadratic: Quadratic, phi: Vector) -> float:
    return plane.moments(phi).log_likelihood + quadratic(phi)


def _telling(curvature: Matrix) -> Matrix:
    """Directions along which the objective bends."""
    diagonal = np.diag(curvature)
    scale = np.where(diagonal > 0, np.sqrt(np.maximum(diagonal, 0.0)), 1.0)
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    return np.asarray(vectors[:, values > NOTHING * len(values)] / scale[:, None])


def _until_a_limit(
    rows: Matrix, bound: Vector, held: BoolVector, phi: Vector, step: Vector
) -> tuple[Vector, int | None]:
    """As far along a step as the limits allow, and the limit in the way."""
    room = np.where(held, np.inf, np.maximum(rows @ phi - bound, 0.0))
    towards = -(rows @ step)
    # what moves along a limit, but for rounding, does not cross it
    crossing = ~held & (towards > 1e-15 * (np.abs(rows) @ np.abs(step)))
    share = np.where(crossing, room / np.where(crossing, towards, 1.0), np.inf)
    first = int(np.argmin(share)) if len(share) else 0
    if not len(share) or share[first] >= 1:
        return phi + step, None
    return phi + share[first] * step, first


def _gradient(plane: Restricted, quadratic: Quadratic, phi: Vector) -> Vector:
    return plane.moments(phi).gradient + quadratic.linear - quadratic.precision @ phi
