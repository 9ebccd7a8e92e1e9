"""Newton's method on the profiles of many subjects at once, step by step together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.planes import Planes
from penchant.inference.problem import Point
from penchant.inference.profiles import Points, Profiles
from penchant.models.model import is_smooth

HESSIAN_STEP = 3e-5  # of search units
ENOUGH = 1e-9
NEARLY = 1e-5  # a step after which secant steps are below 1e-9
STALE = 6  # steps after which the curvature is taken anew
LEAST = 1e-9  # share of a step below which it is given up


@dataclass(frozen=True)
class Peak:
    """A local maximum of the profile.

    Attributes
    ----------
    u
        Its place in search units.
    curvature
        Minus the Hessian of the profile in search units.
    drift
        Derivative of the weights in psi (search units) along the profile.
    at_bound
        Shape parameters at the end of their range.
    points
        The inner solution there, with what proves it.
    """

    point: Point
    u: Vector
    curvature: Matrix
    drift: Matrix
    at_bound: BoolVector
    n_steps: int
    converged: bool
    points: Points | None = None


@dataclass(frozen=True)
class Near:
    """Where to start a climb: weights (n, n_weights) and curvatures (n, n_shape, n_shape)."""

    theta: Matrix
    curvature: Matrix

    @classmethod
    def of(cls, peak: Peak) -> Near:
        """A single one, at the peak of similar data."""
        return cls(peak.point.theta[None], peak.curvature[None])


@dataclass
class Ascent:
    """Where the climbs of many subjects have come to, one row each."""

    points: Points
    u: Matrix
    curvature: Matrix
    drift: Matrix
    n_steps: IntVector
    converged: BoolVector
    at_bound: BoolVector

    def peak(self, k: int) -> Peak:
        """One of them."""
        points = self.points
        point = Point(
            points.psi[k],
            points.theta[k],
            float(points.value[k]),
            float(points.log_likelihood[k]),
            points.gradient[k],
            points.information[k],
        )
        return Peak(
            point,
            self.u[k],
            self.curvature[k],
            self.drift[k],
            self.at_bound[k],
            int(self.n_steps[k]),
            bool(self.converged[k]),
            points.take(slice(k, k + 1)),
        )


def climb_together(
    profiles: Profiles,
    subject: IntVector,
    psi: Matrix,
    near: Near | None = None,
    max_steps: int = 40,
    fixed: BoolVector | None = None,
    planes: Planes | None = None,
    finish: bool = True,
) -> Ascent:
    """Climb from psi[k] on the profile of subject[k], for every k.

    Steps are accepted if they do not lower the profile, and shortened otherwise; in between the
    curvature is brought up to date by what the steps show of it.

    Parameters
    ----------
    near
        Weights and curvatures to start from, of similar data.
    fixed
        Shape parameters that stay where they are: (n, n_shape).
    planes
        Where the weights shall lie.
    finish
        Take the curvature at the end; if not, that of the steps is good enough.
    """
    low, high = profiles.bounds[:, 0], profiles.bounds[:, 1]
    n, q = psi.shape
    u = np.clip(profiles.to_search(psi), low, high)
    start = None if near is None else near.theta
    points = profiles.solve(subject, profiles.from_search(u), start, with_cross=True, planes=planes)
    held = np.zeros((n, q), dtype=bool) if fixed is None else fixed
    everyone = np.arange(n)
    if near is None:
        curvature, drift = curvatures(profiles, u, points, everyone, planes)
    else:
        curvature, drift = near.curvature.copy(), np.zeros((n, profiles.n_weights, q))
    climb = Ascent(points, u, curvature, drift, np.zeros(n, np.int64), *np.zeros((2, n), bool))
    fresh = np.full(n, near is None)
    step = newton_steps(climb, profiles.bounds, everyone, held)
    fraction, smooth = np.ones(n), is_smooth(profiles.model)
    known = np.asarray(np.isfinite(points.gradient).all(axis=1))
    climb.converged = known & (np.abs(step).max(axis=1, initial=0.0) < ENOUGH)
    active = everyone[known & ~climb.converged] if max_steps else everyone[:0]
    while len(active):
        trial_u = np.clip(climb.u[active] + fraction[active, None] * step[active], low, high)
        trial = profiles.solve(
            subject[active],
            profiles.from_search(trial_u),
            climb.points.theta[active],
            with_cross=True,
            planes=None if planes is None else planes.take(active),
        )
        value = climb.points.value[active]
        fine = trial.value >= value - 1e-12 * (1 + np.abs(value))
        # where variables all but vanish, weights may be too large to say where up is
        fine &= np.isfinite(trial.gradient).all(axis=1)
        # up: take the step, and learn the curvature from it
        moved = active[fine]
        path = trial_u[fine] - climb.u[moved]
        change = climb.points.gradient[moved] - trial.gradient[fine]
        climb.curvature[moved] = _updated(climb.curvature[moved], path, change)
        climb.u[moved] = trial_u[fine]
        climb.points.put(moved, trial.take(fine))
        climb.n_steps[moved] += 1
        fresh[moved] = False
        stale = moved[climb.n_steps[moved] % STALE == 0]
        if len(stale):
            climb.curvature[stale], climb.drift[stale] = curvatures(
                profiles, climb.u, climb.points, stale, planes
            )
        step[moved] = newton_steps(climb, profiles.bounds, moved, held)
        # a step after this one would be shorter by far, unless it was cut short
        short = (np.abs(path).max(axis=1, initial=0.0) < NEARLY) & (climb.n_steps[moved] > 1)
        short &= fraction[moved] == 1
        fraction[moved] = 1.0
        arrived = short | (np.abs(step[moved]).max(axis=1, initial=0.0) < ENOUGH)
        climb.converged[moved[arrived]] = True
        # not up: less of the step
        stuck = active[~fine]
        slope = (climb.points.gradient[stuck] * step[stuck]).sum(axis=1)
        promised, gained = fraction[stuck] * slope, trial.value[~fine] - value[~fine]
        fraction[stuck] *= _less(promised, gained) if smooth else 0.5
        given_up = fraction[stuck] < LEAST
        climb.converged[stuck[given_up]] = np.abs(slope[given_up]) < 1e-8
        over = climb.converged[active] | (climb.n_steps[active] >= max_steps)
        over |= fraction[active] < LEAST
        active = active[~over]
    old = np.flatnonzero(~fresh)
    if len(old) and q and finish:
        climb.curvature[old], climb.drift[old] = curvatures(
            profiles, climb.u, climb.points, old, planes
        )
    climb.at_bound = ((climb.u <= low) | (climb.u >= high)) & ~held
    return climb


def newton_steps(climb: Ascent, bounds: Matrix, which: IntVector, fixed: BoolVector) -> Matrix:
    """Newton's steps among the free parameters, uphill and at most 1 search unit long."""
    u, gradient = climb.u[which], climb.points.gradient[which]
    if not u.size:
        return np.zeros_like(u)
    outwards = (u <= bounds[:, 0]) & (gradient <= 0) | (u >= bounds[:, 1]) & (gradient >= 0)
    held = outwards | fixed[which]
    curvature = climb.curvature[which].copy()
    curvature[held[:, :, None] | held[:, None, :]] = 0.0
    lost = ~np.isfinite(curvature).all(axis=(1, 2))
    curvature[lost] = 0.0
    values, vectors = np.linalg.eigh(curvature)
    # What is held has neither curvature nor gradient.
    size = np.abs(values)
    largest = np.maximum(size.max(axis=1, keepdims=True), 1e-12)
    size = np.maximum(size, 1e-6 * largest)
    free = np.where(held | ~np.isfinite(gradient), 0.0, gradient)
    along = np.einsum("kab,ka->kb", vectors, free)
    step = np.einsum("kab,kb->ka", vectors, along / size)
    step[held] = 0.0
    longest = np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300)
    return np.asarray(step * np.minimum(1.0, 1.0 / longest))


def _less(promised: Vector, gained: Vector) -> Vector:
    """Share of a step that failed to try next: where a parabola through what is known peaks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = promised / (2.0 * (promised - gained))
    return np.asarray(np.where(np.isfinite(share), np.clip(share, 0.1, 0.5), 0.25))


def _updated(curvature: Matrix, step: Matrix, change: Matrix) -> Matrix:
    """Symmetric rank-one updates of the curvatures by what the steps showed of them."""
    miss = change - np.einsum("kab,kb->ka", curvature, step)
    size = (miss * step).sum(axis=1)
    length = np.linalg.norm(miss, axis=1) * np.linalg.norm(step, axis=1)
    useful = (np.abs(size) >= 1e-8 * length) & (size != 0)
    outer = miss[:, :, None] * miss[:, None, :]
    return np.asarray(curvature + outer * (useful / np.where(useful, size, 1.0))[:, None, None])


def curvatures(
    profiles: Profiles, u: Matrix, points: Points, which: IntVector, planes: Planes | None = None
) -> tuple[Matrix, Matrix]:
    """Minus the Hessian of the profile, and the derivative of the weights along it.

    With I the information and C the derivative of the weights' gradient by psi, the weights follow
    psi as I^-1 C, and the Hessian is that at fixed weights plus C' I^-1 C. The former comes from
    differences of the gradient at fixed weights.
    """
    at = points.take(which)
    held = hessian_at_fixed_weights(profiles, u[which], at)
    inverse = free_inverse(profiles, at, None if planes is None else planes.take(which))
    drift = inverse @ at.cross
    hessian = held + at.cross.transpose(0, 2, 1) @ drift
    return -(hessian + hessian.transpose(0, 2, 1)) / 2, drift


def hessian_at_fixed_weights(profiles: Profiles, u: Matrix, points: Points) -> Matrix:
    """Second derivative of the objective in psi, by central differences of the first."""
    n, q = u.shape
    hessian = np.zeros((n, q, q))
    subject, theta = np.tile(points.subject, 2), np.tile(points.theta, (2, 1))
    for a in range(q):
        both = np.stack([u, u])
        both[0, :, a] = np.maximum(u[:, a] - HESSIAN_STEP, profiles.bounds[a, 0])
        both[1, :, a] = np.minimum(u[:, a] + HESSIAN_STEP, profiles.bounds[a, 1])
        psi = profiles.from_search(both.reshape(2 * n, q))
        below, above = profiles.partial_gradient(subject, psi, theta).reshape(2, n, q)
        hessian[:, :, a] = (above - below) / (both[1, :, a] - both[0, :, a])[:, None]
    return (hessian + hessian.transpose(0, 2, 1)) / 2


def free_inverse(profiles: Profiles, points: Points, planes: Planes | None = None) -> Matrix:
    """Inverse information of the weights that may move: not held at 0, and on their planes."""
    held = np.zeros(points.theta.shape, dtype=bool)
    held[:, profiles.positive] = points.theta[:, profiles.positive] <= 0
    cut = np.where(held[:, :, None] | held[:, None, :], 0.0, points.information)
    if planes is None:
        return pseudoinverse(cut)
    across = planes.basis.transpose(0, 2, 1)
    return np.asarray(planes.basis @ pseudoinverse(across @ cut @ planes.basis) @ across)


def pseudoinverse(matrices: Matrix) -> Matrix:
    """Inverses by way of a unit diagonal; zeros for directions without information."""
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, 0.0) / scale[:, :, None] / scale[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    large = values > 1e-14
    inverted = np.where(large, 1.0 / np.where(large, values, 1.0), 0.0)
    inverse = (vectors * inverted[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(inverse / scale[:, :, None] / scale[:, None, :])
