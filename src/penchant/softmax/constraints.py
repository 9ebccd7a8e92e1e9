"""Linear inequality constraints on theta, matrix theta >= bound, and the maximum inside them.

An active-set method (Nocedal and Wright, 2006, section 16.5). On a face some constraints hold with
equality. Newton's method finds the maximum of a face; if that lies outside, the step ends at
another constraint, which becomes active too. If it lies inside, the gradient is projected on the
feasible directions by non-negative least squares: if it vanishes this is the maximum (the
conditions of Karush, Kuhn and Tucker), otherwise it leads to a higher face. The objective rises
from one such maximum to the next, so that no face is met twice. A recession direction inside the
constraints (`separation`) means that there is no maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError
from penchant.softmax.decisions import Decisions
from penchant.softmax.estimate_diagnostics import unknown_name_error
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.maximum_and_covariance import (
    Solution,
    inverse_and_condition,
    nan_unless_kept,
    penalised_solution,
)
from penchant.softmax.newton import UNDECIDED, Maximum, Quadratic, RestrictedLikelihood, maximise
from penchant.softmax.separation import (
    Recession,
    UnsolvedProgramError,
    direction_without_rounding_noise,
    find_recession,
)


@dataclass(frozen=True, slots=True)
class ActiveSetOptions:
    """Tolerances and limits of the active-set method, for variables of about size 1."""

    active_tol: float = 1e-9  # relative distance to a bound: just above the maximum's own error
    max_faces: int = 100  # each is higher than the last, so none returns; 100 only ends a loop
    gradient_tol: float = 1e-10  # projected slope: smaller ones are the error of Newton's method
    # difference of utilities: beyond, curvature is too small to step
    max_start_utility: float = 8.0
    # intermediate planes, each a fit: very far out they lie further apart instead
    max_continuations: int = 30
    value_rounding: float = 1e-15  # of the objective, relative: a smaller gain is rounding
    curvature_rounding: float = 1e-15  # of the largest curvature, relative: less is rounding


ACTIVE_SET = ActiveSetOptions()


class InfeasibleError(DataError):
    """Constraints that no theta satisfies."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Inequalities matrix @ theta >= bound, one per row.

    Parameters
    ----------
    matrix
        Which weights an inequality is about: (n_constraints, n_parameters).
    bound
        Least value of each row.
    labels
        The inequalities in words; made from the numbers if not given.

    Examples
    --------
    >>> import penchant as pn
    >>> positive = pn.Constraints.at_least(["price", "quality"], quality=0.0)
    >>> positive.matrix
    array([[0., 1.]])
    >>> positive.labels
    ('quality >= 0',)
    """

    matrix: Matrix
    bound: Vector
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        matrix = np.atleast_2d(np.array(self.matrix, dtype=np.float64))
        bound = np.atleast_1d(np.array(self.bound, dtype=np.float64))
        if matrix.ndim != 2 or bound.shape != (len(matrix),) or not np.isfinite(matrix).all():
            raise DataError(
                "constraints",
                "must be a matrix (n_constraints, n_parameters) with one bound per row",
                got=f"shapes {matrix.shape} and {bound.shape}",
                fix="Match them.",
            )
        if not np.abs(matrix).max(axis=1, initial=0.0).all():
            raise DataError(
                "constraints",
                "must each name a parameter",
                got="a row of zeros",
                fix="Leave it out.",
            )
        if not np.isfinite(bound).all():
            raise DataError(
                "bound", "must be finite", got=bound.tolist(), fix="Leave that row out."
            )
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "bound", bound)
        if not self.labels:
            labels = tuple(f"constraint {i}" for i in range(len(bound)))
            object.__setattr__(self, "labels", labels)

    @classmethod
    def at_least(cls, names: Any, **lowest: float) -> Constraints:
        """Single parameters at or above a number: at_least(names, price=0.0)."""
        return cls.on_single_parameters(names, lowest, 1.0)

    @classmethod
    def at_most(cls, names: Any, **highest: float) -> Constraints:
        """Single parameters at or below a number."""
        return cls.on_single_parameters(names, highest, -1.0)

    @classmethod
    def on_single_parameters(
        cls, names: Any, bounds: Mapping[str, float], sign: float
    ) -> Constraints:
        """Bounds on single parameters; sign 1 for lower, -1 for upper ones."""
        known = list(names)
        for name in bounds:
            if name not in known:
                raise unknown_name_error("constraints", name, known)
        matrix = np.zeros((len(bounds), len(known)))
        for i, name in enumerate(bounds):
            matrix[i, known.index(name)] = sign
        symbol = ">=" if sign > 0 else "<="
        labels = tuple(f"{name} {symbol} {value:g}" for name, value in bounds.items())
        return cls(matrix, sign * np.array(list(bounds.values()), dtype=np.float64), labels)

    def __and__(self, other: Constraints) -> Constraints:
        return Constraints(
            np.vstack([self.matrix, other.matrix]),
            np.concatenate([self.bound, other.bound]),
            self.labels + other.labels,
        )

    def feasible_point(self) -> Vector:
        """The point nearest to 0 that satisfies every constraint with some slack, if any has."""
        return _feasible_point_nearest_zero(self.matrix, self.bound)

    def nearest(self, theta: Vector) -> Vector:
        """The point nearest to theta that satisfies every constraint."""
        return theta + _feasible_point_nearest_zero(self.matrix, self.bound - self.matrix @ theta)

    def satisfied(self, theta: Vector) -> bool:
        """Whether theta lies inside, but for rounding."""
        size = np.abs(self.matrix) @ np.abs(theta) + np.abs(self.bound)
        return bool((self.matrix @ theta - self.bound >= -1e-10 * (1.0 + size)).all())

    def active_constraints_at(self, theta: Vector, unit: Vector) -> BoolVector:
        """Constraints that hold with equality at theta, to a billionth of `unit`."""
        size = np.abs(self.matrix) @ (np.abs(theta) + unit)
        return np.asarray(self.matrix @ theta - self.bound <= ACTIVE_SET.active_tol * size)

    def unaffected_by_null_directions(self, null_directions: Matrix) -> Constraints | None:
        """Constraints that do not change along unidentified directions; None if none is left."""
        if not len(null_directions):
            return self
        size = np.abs(self.matrix) @ np.abs(null_directions).T
        # moving along an unidentified direction costs nothing, so that a constraint which changes
        # along it can always be satisfied and is left out
        applies = (np.abs(self.matrix @ null_directions.T) <= 1e-9 * size).all(axis=1)
        if not applies.any():
            return None
        labels = tuple(np.array(self.labels)[applies].tolist())
        return Constraints(self.matrix[applies], self.bound[applies], labels)

    def restricted_to(self, origin: Vector, basis: Matrix) -> Constraints | None:
        """Constraints on phi, where theta = origin + basis phi; None if none is left."""
        matrix = self.matrix @ basis
        bound = self.bound - self.matrix @ origin
        size = np.abs(self.matrix) @ np.abs(origin) + np.abs(self.bound)
        # the others do not change on the plane: one violated anywhere is violated everywhere
        open_ = np.abs(matrix).max(axis=1, initial=0.0) > 1e-12 * np.abs(self.matrix).max(axis=1)
        if (bound[~open_] > 1e-12 * size[~open_]).any():
            raise InfeasibleError(
                "constraints",
                "must hold on the plane asked for",
                got="one that nowhere does",
                fix="Choose another value.",
            )
        if not open_.any():
            return None
        labels = tuple(np.array(self.labels)[open_].tolist())
        return Constraints(matrix[open_], bound[open_], labels)


def _feasible_point_nearest_zero(matrix: Matrix, bound: Vector) -> Vector:
    """Least distance programming: min |y| subject to matrix y >= bound (Lawson & Hanson, 23)."""
    size = np.linalg.norm(matrix, axis=1)
    rows = matrix / size[:, None]
    right = bound / size
    if (right <= 0).all():
        return np.zeros(matrix.shape[1])
    unit = max(1.0, float(np.abs(right).max()))
    system = np.vstack([rows.T, right / unit])
    goal = np.zeros(len(system))
    goal[-1] = 1.0
    multipliers, _ = scipy.optimize.nnls(system, goal)
    residual = system @ multipliers - goal
    if abs(residual[-1]) < 1e-12:  # the dual fits exactly: no feasible point (Farkas' lemma)
        raise InfeasibleError(
            "constraints",
            "must leave some theta",
            got="inequalities that contradict each other",
            fix="Remove one.",
        )
    return np.asarray(-residual[:-1] / residual[-1] * unit)


def maximise_constrained(
    likelihood: Likelihood,
    constraints: Constraints,
    quadratic: Quadratic,
    max_steps: int = 100,
    start: Vector | None = None,
) -> tuple[Maximum, BoolVector]:
    """Maximise inside the constraints, for variables of about size 1; and which are active.

    It begins at the feasible point that is nearest to 0, or to `start`. The compiled twin for
    weights that are not negative is `solve_nonnegative` in
    `inference.profile._inner_problem_kernels`.
    """
    size = np.abs(constraints.matrix).max(axis=1)
    rows, bound = constraints.matrix / size[:, None], constraints.bound / size
    scaled = replace(constraints, matrix=rows, bound=bound)
    phi = scaled.feasible_point() if start is None else scaled.nearest(start)
    plane = RestrictedLikelihood(likelihood, np.zeros(len(phi)), np.eye(len(phi)))
    in_face = np.zeros(len(rows), dtype=bool)
    n_steps = 0
    for _ in range(ACTIVE_SET.max_faces):
        basis = null_basis(rows[in_face], len(phi))
        found = maximise_on_plane(plane, quadratic, phi, basis, max_steps)
        n_steps += found.n_steps
        phi, blocking = _step_to_boundary(rows, bound, in_face, phi, found.theta - phi)
        if blocking is not None:
            in_face[blocking] = True
            continue
        gradient = _objective_gradient(plane, quadratic, phi)
        multipliers = (
            scipy.optimize.nnls(rows[in_face].T, -gradient)[0] if in_face.any() else np.zeros(0)
        )
        uphill = gradient + rows[in_face].T @ multipliers
        if (
            np.linalg.norm(uphill) <= ACTIVE_SET.gradient_tol * (1.0 + np.linalg.norm(gradient))
            or not in_face.any()
        ):
            break
        in_face[in_face] = multipliers > 0
        along = maximise_on_plane(plane, quadratic, phi, uphill[:, None], max_steps)
        before = _objective_value(plane, quadratic, phi)
        phi, blocking = _step_to_boundary(rows, bound, in_face, phi, along.theta - phi)
        if blocking is not None:
            in_face[blocking] = True
        elif _objective_value(plane, quadratic, phi) <= before + ACTIVE_SET.value_rounding * (
            1.0 + abs(before)
        ):
            break  # far out the projected gradient is rounding, and another face gains nothing
    moments = likelihood.moments(phi)
    best = replace(
        found,
        theta=phi,
        value=moments.log_likelihood + quadratic(phi),
        gradient=moments.gradient + quadratic.linear - quadratic.precision @ phi,
        information=moments.information + quadratic.precision,
        n_steps=n_steps,
        ending="converged" if found.ending == "fixed" else found.ending,
    )
    curvature = np.diag(best.information)
    unit = np.where(curvature > 1e-200, 1.0 / np.sqrt(np.maximum(curvature, 1e-200)), 1.0)
    return best, constraints.active_constraints_at(phi, unit)


def maximise_on_plane(
    plane: RestrictedLikelihood,
    quadratic: Quadratic,
    origin: Vector,
    basis: Matrix,
    max_steps: int = 100,
) -> Maximum:
    """Maximise over origin + basis rho; unidentified directions stay at the origin."""
    whole = plane.basis @ basis
    around = quadratic.restricted_to(origin, basis)
    part = RestrictedLikelihood(plane.likelihood, plane.origin + plane.basis @ origin, whole)
    curved = _curved_directions(part.scatter_within_sets() + around.precision)
    if not curved.shape[1]:
        return Maximum(origin, 0.0, np.zeros(len(origin)), around.precision, 0.0, 0, "fixed")
    if curved.shape[1] < basis.shape[1]:
        part = replace(part, basis=whole @ curved)
        around, basis = around.restricted_to(np.zeros(len(curved)), curved), basis @ curved
    found = maximise(part, around, max_steps=max_steps, ignore_slow_steps=True)
    if found.ending != "converged" and part.origin.any():
        found = _maximise_on_plane_by_continuation(part, around, found)
    return replace(found, theta=origin + basis @ found.theta)


def _maximise_on_plane_by_continuation(
    part: RestrictedLikelihood, quadratic: Quadratic, found: Maximum
) -> Maximum:
    """Maximise on a plane so far out that every choice is certain at its origin, by continuation.

    The maximum of a nearer plane, scaled up, is the start on the next: a plane twice as far away
    has its maximum about twice as far out. Very far out the factor exceeds 2, so that there are at
    most `max_continuations` planes.
    """
    reach = float(np.abs(part.origin) @ part.likelihood.largest_values_and_differences[1])
    share = ACTIVE_SET.max_start_utility / max(reach, ACTIVE_SET.max_start_utility)
    times = max(2.0, share ** (-1.0 / ACTIVE_SET.max_continuations))
    phi, n_steps = np.zeros(part.n_parameters), found.n_steps
    while True:
        nearer = replace(part, origin=share * part.origin)
        last = maximise(nearer, quadratic, phi, ignore_slow_steps=True)
        n_steps += last.n_steps
        if _objective_value(nearer, quadratic, last.theta) >= _objective_value(
            nearer, quadratic, phi
        ):
            phi = last.theta
        if share == 1.0:
            break
        further = min(times * share, 1.0)
        phi, share = phi * (further / share), further
    value = _objective_value(part, quadratic, phi)
    if value <= found.value:
        return found
    return replace(last, theta=phi, value=value, n_steps=n_steps)


def _objective_value(plane: RestrictedLikelihood, quadratic: Quadratic, phi: Vector) -> float:
    return plane.moments(phi).log_likelihood + quadratic(phi)


def _curved_directions(curvature: Matrix) -> Matrix:
    """Directions along which the objective has curvature, as columns."""
    diagonal = np.diag(curvature)
    scale = np.where(diagonal > 0, np.sqrt(np.maximum(diagonal, 0.0)), 1.0)
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    return np.asarray(
        vectors[:, values > ACTIVE_SET.curvature_rounding * len(values)] / scale[:, None]
    )


def _step_to_boundary(
    rows: Matrix, bound: Vector, in_face: BoolVector, phi: Vector, step: Vector
) -> tuple[Vector, int | None]:
    """Step as far as the constraints allow, and the first constraint that blocks it."""
    slack = np.where(in_face, np.inf, np.maximum(rows @ phi - bound, 0.0))
    towards = -(rows @ step)
    # a step along a constraint would cross it by rounding only, and be cut to length 0
    crossing = ~in_face & (towards > 1e-15 * (np.abs(rows) @ np.abs(step)))
    share = np.where(crossing, slack / np.where(crossing, towards, 1.0), np.inf)
    first = int(np.argmin(share)) if len(share) else 0
    if not len(share) or share[first] >= 1:
        return phi + step, None
    return phi + share[first] * step, first


def _objective_gradient(plane: RestrictedLikelihood, quadratic: Quadratic, phi: Vector) -> Vector:
    return plane.moments(phi).gradient + quadratic.linear - quadratic.precision @ phi


def null_basis(rows: Matrix, n: int, scale: Vector | None = None) -> Matrix:
    """Basis of the directions orthogonal to all rows, orthonormal in units of 1/scale."""
    unit = np.ones(n) if scale is None else np.where(scale > 0, scale, 1.0)
    if not len(rows):
        return np.diag(1.0 / unit)
    scaled = rows / unit
    _, singular, right = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))
    rank = int((singular > 1e-12).sum())  # rows of unit length: rounding is some 1e-16
    return np.ascontiguousarray(right[rank:].T / unit[:, None])


def solve_constrained(
    decisions: Decisions,
    identified_part: Identification,
    constraints: Constraints,
    identified_constraints: Constraints,
    max_steps: int,
    unconstrained_maximum: Vector | None = None,
) -> Solution:
    """Maximum likelihood under linear inequalities, in coordinates of unit scale.

    `identified_constraints` are the constraints on identified parameters; `unconstrained_maximum`
    is the maximum without constraints, if it was computed.
    """
    basis = (
        np.diag(1.0 / identified_part.scale)
        if identified_part.basis is None
        else identified_part.basis
    )
    work: Likelihood = RestrictedLikelihood(decisions.likelihood, np.zeros(len(basis)), basis)
    if identified_part.basis is not None:
        work = decisions.in_coordinates(basis).likelihood
    inside = identified_constraints.restricted_to(np.zeros(len(basis)), basis)
    assert inside is not None  # the caller left out constraints on unidentified directions
    none = Quadratic.none(basis.shape[1])
    begin = (
        None
        if unconstrained_maximum is None
        else np.asarray(np.linalg.solve(basis, unconstrained_maximum), np.float64)
    )
    maximum, active = maximise_constrained(work, inside, none, max_steps, begin)
    if identified_part.complete:  # else a recession direction may be an unidentified one
        try:
            found = find_recession(
                decisions.recession_cone(identified_part.scale, constraint_rows=constraints.matrix)
            )
        except UnsolvedProgramError:
            found, maximum = None, replace(maximum, ending=UNDECIDED)
        if found is not None:
            point = _snap_to_bounds(basis @ maximum.theta, inside, active, basis)
            return _separated_solution(identified_part, found, maximum, point)
    solution = solution_from_constrained_maximum(identified_part, maximum, inside, active, basis)
    if len(active) == len(constraints.bound):
        return solution
    reached = np.array(inside.labels)[active]
    return replace(solution, active=np.isin(constraints.labels, reached))


def solution_from_constrained_maximum(
    known: Identification,
    maximum: Maximum,
    inside: Constraints,
    active: BoolVector,
    basis: Matrix,
) -> Solution:
    """Solution of a constrained maximum, in the user's coordinates."""
    work = Identification(
        np.ones(basis.shape[1]), basis.shape[1], np.empty((0, basis.shape[1])), None
    )
    on_face = _with_active_constraints(
        penalised_solution(maximum.value, work, maximum, "linear program"),
        maximum,
        inside,
        active,
    )
    theta = basis @ on_face.finite_theta
    certainty = basis @ on_face.unblanked_covariance @ basis.T
    unit = 1.0 / np.where(known.scale > 0, known.scale, 1.0)
    free = np.diag(certainty) > (1e-9 * unit) ** 2  # less is rounding of a fixed parameter
    shown, covariance = nan_unless_kept(theta, certainty, known.identified)
    covariance = np.where(np.outer(free, free), covariance, np.nan)
    return replace(
        on_face,
        theta=_snap_to_bounds(shown, inside, active, basis),
        covariance=covariance,
        log_posterior=None,
        identified_part=known,
        finite_theta=theta,
        unblanked_covariance=certainty,
    )


def _snap_to_bounds(
    theta: Vector, inside: Constraints, active: BoolVector, basis: Matrix
) -> Vector:
    """Set parameters at a bound of their own to exactly that bound."""
    exact = theta.copy()
    back = np.linalg.pinv(basis)
    for row, bound in zip(inside.matrix[active] @ back, inside.bound[active], strict=True):
        alone = np.abs(row) > 1e-9 * np.abs(row).max()
        if alone.sum() == 1:
            (a,) = np.flatnonzero(alone)
            exact[a] = bound / row[a]
    return exact


def _separated_solution(
    known: Identification, found: Recession, maximum: Maximum, point: Vector
) -> Solution:
    """Solution without a maximum inside the constraints; the last value is the supremum to 1e-8."""
    d = len(known.scale)
    direction = direction_without_rounding_noise(found.direction, known)
    return Solution(
        theta=np.where(direction != 0, np.copysign(np.inf, direction), point),
        covariance=np.full((d, d), np.nan),
        log_likelihood=maximum.value,
        identified_part=known,
        ending="slow",
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=np.inf,
        certificate="linear program",
        recession=direction,
        vanishing_options=found.resolved,
        finite_theta=point,
        unblanked_covariance=np.full((d, d), np.nan),
    )


def _with_active_constraints(
    solution: Solution, maximum: Maximum, constraints: Constraints, active: BoolVector
) -> Solution:
    """Covariance on the face of the active constraints; none for parameters fixed by them."""
    if not active.any():
        return replace(solution, active=active)
    d = len(solution.finite_theta)
    basis = null_basis(constraints.matrix[active], d)
    inner, _ = inverse_and_condition(basis.T @ maximum.information @ basis)
    covariance = basis @ inner @ basis.T
    free = np.abs(basis).max(axis=1, initial=0.0) > 1e-12
    shown = np.where(np.outer(free, free), covariance, np.nan)
    return replace(solution, covariance=shown, unblanked_covariance=covariance, active=active)
