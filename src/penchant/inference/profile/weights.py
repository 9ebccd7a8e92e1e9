"""The weights at a fixed psi: one convex problem, inside its limits or under a natural prior.

Weights under a prior on natural parameters: Newton's method for many pairs together.

Such a prior is not quadratic in the weights, and the objective not always concave: Newton's method
starts from what the choices say under a weak prior, and from what the prior says, and the higher
end counts.

The maximum of a concave objective inside linear limits, from face to face.

On a face some limits hold with equality. Newton's method finds the maximum of a face; where it lies
outside, the way there ends at another limit, which then holds too. Where it lies inside, the
gradient is projected on the directions that lead inside: if nothing is left of it this is the
maximum of all (the conditions of Karush, Kuhn and Tucker), otherwise it leads to a higher face. The
objective rises from one such maximum to the next, so that no face is met twice.

The weights of one convex problem, followed to their end: limits, planes, maxima far out.

The objective is concave. A maximum of the whole that respects the limits is the answer; otherwise
the answer lies on the boundary. Before anything else every variable is brought to size 1, so that
one which all but vanishes is neither overlooked nor in the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.pairs import Planes, Rows
from penchant.models.model import Model, positive_weights
from penchant.models.natural_prior import Density
from penchant.softmax.batch import fit_table
from penchant.softmax.constraints import Constraints, null_basis
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise
from penchant.softmax.prior import ParameterPrior, ScaledPrior

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


MOST_STEPS = 100
MOST_VAIN = 3  # steps in a row that gain nothing
ENOUGH = 1e-9  # Newton decrement, in standard errors
LONGEST = 100.0  # by which a step may change an objective


class Ends(NamedTuple):
    """Where Newton's method ended: weights, objective, log-likelihood, minus the Hessian, how."""

    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    settled: BoolVector
    decrement: Vector


class Objective(NamedTuple):
    """Log-likelihood plus the prior's part that depends on the weights."""

    x: Matrix
    rows: Rows
    prior: Density
    psi: Matrix

    def at(self, theta: Matrix, which: IntVector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Objective, log-likelihood, gradient and minus the Hessian of some pairs."""
        n, d = theta.shape
        sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
        compiled.moments(self.x, *self.rows.only(which).scored, theta, sums, gradient, information)
        value, slope, hessian = self.prior.on_weights(theta, self.psi[which])
        return sums + value, sums, gradient + slope, information - hessian


def best_under(
    x: Matrix,
    rows: Rows,
    prior: Density,
    psi: Matrix,
    near: Matrix | None,
    planes: Planes | None,
) -> Ends:
    """The highest end from the usual starts, or from weights near by."""
    objective = Objective(x, rows, prior, psi)
    n, d = len(rows.bounds) - 1, x.shape[2]
    said = np.tile(prior.typical_weights(), (n, 1))
    near = np.full((n, d), np.nan) if near is None else near
    starts = [np.where(np.isnan(near), said, near)]
    if np.isnan(near).any():
        told = fit_table(x, rows.chosen, rows.grouping, ScaledPrior()).theta
        told = np.where(np.abs(told) > 1e-8, told, said)
        starts.append(np.where(np.isnan(near), told, near))
    best: Ends | None = None
    for start in starts:
        valid = np.isfinite(prior.on_weights(start, psi)[0])
        start = np.where(valid[:, None], start, said)
        if planes is not None:
            start = planes.origin + np.einsum("kar,kr->ka", planes.basis, planes.coordinates(start))
        ends = _newton(objective, start, planes)
        if best is None:
            best = ends
            continue
        higher = ends.value > best.value
        for mine, other in zip(best, ends, strict=True):
            mine[higher] = other[higher]
    assert best is not None
    return best


def _newton(objective: Objective, start: Matrix, planes: Planes | None) -> Ends:
    n = len(start)
    everyone = np.arange(n)
    theta = start.copy()
    value, likelihood, gradient, information = objective.at(theta, everyone)
    decrement, settled = np.full(n, np.inf), np.zeros(n, dtype=bool)
    active, vain = everyone, np.zeros(n, dtype=np.int64)
    size = np.abs(objective.x).max(axis=(0, 1), initial=0.0)
    for _ in range(MOST_STEPS):
        step, squared = _step(gradient[active], information[active], planes, active)
        decrement[active] = np.sqrt(np.maximum(squared, 0.0))
        settled[active] = decrement[active] < ENOUGH
        moving = ~settled[active]
        active, step = active[moving], step[moving]
        if not len(active):
            break
        step = _bounded(step, theta[active], size)
        before = value.copy()
        active = _advance(objective, theta, value, likelihood, gradient, information, active, step)
        gained = value[active] > before[active] + _rounding(before[active])
        vain[active] = np.where(gained, 0, vain[active] + 1)
        active = active[vain[active] < MOST_VAIN]
    return Ends(theta, value, likelihood, information, settled, decrement)


def _bounded(step: Matrix, theta: Matrix, size: Vector) -> Matrix:
    """Steps that do not carry an objective far beyond what it is: to where nothing has a slope."""
    most = LONGEST + 2 * (np.abs(theta) @ size)
    length = np.abs(step) @ size
    return np.asarray(step * np.minimum(1.0, most / np.maximum(length, 1e-300))[:, None])


def _rounding(value: Vector) -> Vector:
    """What two equal objectives may differ by."""
    return np.asarray(1e-13 * (1 + np.abs(np.where(np.isfinite(value), value, 0.0))))


def _advance(
    objective: Objective,
    theta: Matrix,
    value: Vector,
    likelihood: Vector,
    gradient: Matrix,
    information: Matrix,
    active: IntVector,
    step: Matrix,
) -> IntVector:
    """Take the first of step, step/2, step/4 ... that raises the objective; who could move."""
    left, moved = np.arange(len(active)), []
    fraction = 1.0
    while len(left) and fraction > 1e-12:
        mine = active[left]
        trial = theta[mine] + fraction * step[left]
        found = objective.at(trial, mine)
        up = found[0] >= value[mine] - _rounding(value[mine])
        taken = mine[up]
        theta[taken] = trial[up]
        for into, what in zip((value, likelihood, gradient, information), found, strict=True):
            into[taken] = what[up]
        moved.append(taken)
        left = left[~up]
        fraction /= 2
    return np.sort(np.concatenate(moved)) if moved else active[:0]


def _step(
    gradient: Matrix, information: Matrix, planes: Planes | None, which: IntVector
) -> tuple[Matrix, Vector]:
    """Newton's steps, made uphill where the objective is not concave; their squared lengths."""
    basis = None if planes is None else planes.basis[which]
    if basis is not None:
        if not basis.shape[2]:
            return np.zeros_like(gradient), np.zeros(len(gradient))
        gradient = np.einsum("kar,ka->kr", basis, gradient)
        information = basis.transpose(0, 2, 1) @ information @ basis
    size_of = np.abs(information.diagonal(0, 1, 2))
    scale = np.sqrt(np.where(size_of > 1e-100, size_of, 1.0))  # 1: nothing is known
    values, vectors = np.linalg.eigh(information / scale[:, :, None] / scale[:, None, :])
    size = np.maximum(np.abs(values), 1e-10)
    along = np.einsum("kab,ka->kb", vectors, gradient / scale)
    step = np.einsum("kab,kb->ka", vectors, along / size) / scale
    squared = (step * gradient).sum(axis=1)
    if basis is not None:
        step = np.einsum("kar,kr->ka", basis, step)
    return step, squared
