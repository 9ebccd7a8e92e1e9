"""Linear inequality constraints on theta: matrix theta >= bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError, nearest
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise
from penchant.wording import either

TOUCHING = 1e-9


class InfeasibleError(DataError):
    """No theta satisfies the constraints."""


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
                f"{either('constraints', '--constraint')} must be a matrix (n_constraints, "
                f"n_parameters) with one bound per row; got shapes {matrix.shape} and "
                f"{bound.shape}. Match them."
            )
        if not np.abs(matrix).max(axis=1, initial=0.0).all():
            raise DataError(
                f"{either('constraints', '--constraint')} must each name a parameter; got a row of "
                "zeros. Leave it out."
            )
        if not np.isfinite(bound).all():
            raise DataError(
                f"{either('bound', 'The bound of --constraint')} must be finite; got "
                f"{bound.tolist()}. Leave that row out."
            )
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "bound", bound)
        if not self.labels:
            labels = tuple(f"constraint {i}" for i in range(len(bound)))
            object.__setattr__(self, "labels", labels)

    @classmethod
    def at_least(cls, names: Any, **lowest: float) -> Constraints:
        """Single parameters at or above a number: at_least(names, price=0.0)."""
        return cls.single(names, lowest, 1.0)

    @classmethod
    def at_most(cls, names: Any, **highest: float) -> Constraints:
        """Single parameters at or below a number."""
        return cls.single(names, highest, -1.0)

    @classmethod
    def single(cls, names: Any, bounds: Mapping[str, float], sign: float) -> Constraints:
        """Bounds on single parameters; sign 1 for lower, -1 for upper ones."""
        known = list(names)
        for name in bounds:
            if name not in known:
                raise DataError(
                    f"{either('constraints', '--constraint')} must name variables; got {name!r}, "
                    f"but they are {', '.join(known)}.{nearest(name, known) or ' Correct it.'}"
                )
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
        """The point nearest to 0 that satisfies every constraint with some room, if any has."""
        return _nearest_to_zero(self.matrix, self.bound)

    def nearest(self, theta: Vector) -> Vector:
        """The point nearest to theta that satisfies every constraint."""
        return theta + _nearest_to_zero(self.matrix, self.bound - self.matrix @ theta)

    def satisfied(self, theta: Vector) -> bool:
        """Whether theta lies inside, but for rounding."""
        size = np.abs(self.matrix) @ np.abs(theta) + np.abs(self.bound)
        return bool((self.matrix @ theta - self.bound >= -1e-10 * (1.0 + size)).all())

    def touched(self, theta: Vector, unit: Vector) -> BoolVector:
        """Constraints that hold with equality at theta, to a billionth of `unit`."""
        size = np.abs(self.matrix) @ (np.abs(theta) + unit)
        return np.asarray(self.matrix @ theta - self.bound <= TOUCHING * size)

    def on(self, null_directions: Matrix) -> Constraints | None:
        """Those that moving along unidentified directions cannot satisfy; None if none is."""
        if not len(null_directions):
            return self
        size = np.abs(self.matrix) @ np.abs(null_directions).T
        applies = (np.abs(self.matrix @ null_directions.T) <= 1e-9 * size).all(axis=1)
        if not applies.any():
            return None
        labels = tuple(np.array(self.labels)[applies].tolist())
        return Constraints(self.matrix[applies], self.bound[applies], labels)

    def within(self, origin: Vector, basis: Matrix) -> Constraints | None:
        """The inequalities left for phi, where theta = origin + basis phi; None if none is."""
        matrix = self.matrix @ basis
        bound = self.bound - self.matrix @ origin
        size = np.abs(self.matrix) @ np.abs(origin) + np.abs(self.bound)
        open_ = np.abs(matrix).max(axis=1, initial=0.0) > 1e-12 * np.abs(self.matrix).max(axis=1)
        if (bound[~open_] > 1e-12 * size[~open_]).any():
            raise InfeasibleError(
                f"{either('constraints', '--constraint')} must hold on the plane asked for; got "
                "one that nowhere does. Choose another value."
            )
        if not open_.any():
            return None
        labels = tuple(np.array(self.labels)[open_].tolist())
        return Constraints(matrix[open_], bound[open_], labels)


def _nearest_to_zero(matrix: Matrix, bound: Vector) -> Vector:
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
    if abs(residual[-1]) < 1e-12:
        raise InfeasibleError(
            f"{either('constraints', '--constraint')} must leave some theta; got inequalities that "
            "contradict each other. Remove one."
        )
    return np.asarray(-residual[:-1] / residual[-1] * unit)


def maximise_within(
    likelihood: Likelihood,
    constraints: Constraints,
    quadratic: Quadratic,
    max_steps: int = 100,
    near: Vector | None = None,
) -> tuple[Maximum, BoolVector]:
    """Maximise under the constraints; also which of them are active.

    It begins at the point allowed that is nearest to 0, or to `near`. Newton steps, each the
    solution of a small quadratic program, until the set of touched constraints settles; then
    Newton's method on that face.
    """
    theta = constraints.feasible_point() if near is None else constraints.nearest(near)
    value, gradient, information = _objective(likelihood, quadratic, theta)
    n_steps, decrement = 0, np.inf
    while n_steps < max_steps:
        step = _constrained_step(gradient, information, constraints, theta)
        slope = float(gradient @ step)
        decrement = float(np.sqrt(max(float(step @ information @ step), 0.0)))
        if not constraints.satisfied(theta):
            theta = theta + step  # back inside, whatever it costs
            value, gradient, information = _objective(likelihood, quadratic, theta)
            n_steps += 1
            continue
        if decrement < 1e-8 or slope <= 0:
            break
        fraction = 1.0
        while fraction > 1e-10:
            trial = _objective(likelihood, quadratic, theta + fraction * step)
            if np.isfinite(trial[0]) and trial[0] >= value + 1e-4 * fraction * slope - 1e-12:
                break
            fraction /= 2
        else:
            break
        theta = theta + fraction * step
        value, gradient, information = trial
        n_steps += 1
    return _on_face(likelihood, constraints, quadratic, theta, n_steps)


def _on_face(
    likelihood: Likelihood,
    constraints: Constraints,
    quadratic: Quadratic,
    theta: Vector,
    n_steps: int,
) -> tuple[Maximum, BoolVector]:
    """Finish with Newton's method on the face of the touched constraints."""
    curvature = np.diag(_objective(likelihood, quadratic, theta)[2])
    unit = np.where(curvature > 1e-200, 1.0 / np.sqrt(np.maximum(curvature, 1e-200)), 1.0)
    active = constraints.touched(theta, unit)
    rows = constraints.matrix[active] * unit
    gap = constraints.bound[active] - constraints.matrix[active] @ theta
    theta = theta + unit * np.linalg.lstsq(rows, gap, rcond=None)[0]
    basis = null_basis(constraints.matrix[active], len(theta), 1.0 / unit)
    if not basis.shape[1]:
        value, gradient, information = _objective(likelihood, quadratic, theta)
        return Maximum(theta, value, gradient, information, 0.0, n_steps, "converged"), active
    face = Restricted(likelihood, theta, basis)
    inner = maximise(face, quadratic.within(theta, basis))
    best = theta + basis @ inner.theta
    slack = TOUCHING * (np.abs(constraints.matrix) @ (np.abs(best) + unit))
    if (constraints.matrix @ best < constraints.bound - slack).any():
        best = theta
    value, gradient, information = _objective(likelihood, quadratic, best)
    ended = Maximum(
        best, value, gradient, information, inner.decrement, n_steps + inner.n_steps, inner.ending
    )
    return ended, active


def null_basis(rows: Matrix, n: int, scale: Vector | None = None) -> Matrix:
    """Basis of the directions orthogonal to all rows, orthonormal in units of 1/scale."""
    unit = np.ones(n) if scale is None else np.where(scale > 0, scale, 1.0)
    if not len(rows):
        return np.diag(1.0 / unit)
    scaled = rows / unit
    _, singular, right = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))
    rank = int((singular > 1e-12).sum())
    return np.ascontiguousarray(right[rank:].T / unit[:, None])


def _objective(
    likelihood: Likelihood, quadratic: Quadratic, theta: Vector
) -> tuple[float, Vector, Matrix]:
    moments = likelihood.moments(theta)
    return (
        moments.log_likelihood + quadratic(theta),
        moments.gradient + quadratic.linear - quadratic.precision @ theta,
        moments.information + quadratic.precision,
    )


def _factor(correlation: Matrix) -> Matrix:
    """Cholesky factor, with as little added to the diagonal as it takes."""
    for added in (1e-14, 1e-11, 1e-8, 1e-5):
        try:
            return np.asarray(np.linalg.cholesky(correlation + added * np.eye(len(correlation))))
        except np.linalg.LinAlgError:
            continue
    return np.eye(len(correlation))


def _constrained_step(
    gradient: Vector, information: Matrix, constraints: Constraints, theta: Vector
) -> Vector:
    """Maximise g's - s'Is/2 with matrix (theta + s) >= bound."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    correlation = information / np.outer(scale, scale)
    factor = _factor(correlation)
    centre = np.linalg.solve(factor, gradient / scale)  # y = L's, so s = L^-T y
    rows: Matrix = np.asarray(np.linalg.solve(factor, (constraints.matrix / scale).T).T, float)
    right = constraints.bound - constraints.matrix @ theta
    shifted = _nearest_to_zero(rows, right - rows @ centre)
    return np.linalg.solve(factor.T, shifted + centre) / scale
