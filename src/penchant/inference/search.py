"""The search over psi: a grid, then Newton's method from the best cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.inference.problem import Point, Problem
from penchant.models.model import Model
from penchant.softmax.hypotheses import Hypothesis

BEST_CELLS = 3
HESSIAN_STEP = 1e-3  # of search units
ENOUGH = 1e-9
NEARLY = 1e-5  # a step after which secant steps are below 1e-9
STALE = 6  # steps after which the curvature is taken anew


@dataclass(frozen=True)
class Grid:
    """The profile on a grid of psi.

    Attributes
    ----------
    psi
        Points (n, n_shape), in the shape parameters' own units.
    values
        Maximised objective at each.
    dimensions
        Points along each shape parameter.
    """

    psi: Matrix
    values: Vector
    theta: Matrix
    dimensions: tuple[int, ...]

    def starts(self, most: int = BEST_CELLS) -> tuple[list[int], list[int]]:
        """Points no lower than their neighbours, the highest first; and the best others."""
        shaped = self.values.reshape(self.dimensions)
        top = np.ones(self.dimensions, dtype=bool)
        for axis in range(shaped.ndim):
            for shift in (1, -1):
                beside = np.roll(shaped, shift, axis)
                edge: list[slice | int] = [slice(None)] * shaped.ndim
                edge[axis] = 0 if shift == 1 else -1
                beside[tuple(edge)] = -np.inf
                top &= shaped >= beside
        found = np.flatnonzero(top.ravel() & np.isfinite(self.values))
        ranked = found[np.argsort(-self.values[found], kind="stable")]
        # Ridges make few local maxima of sharp profiles: fill up with the best of all points.
        maxima = ranked[:most].tolist()
        others = [i for i in np.argsort(-self.values, kind="stable").tolist() if i not in maxima]
        return maxima, others[: most - len(maxima)]


def grid_search(problem: Problem) -> Grid:
    """Evaluate the profile on the model's grid."""
    psi, dimensions = grid_points(problem.model)
    values, theta = problem.values(psi)
    return Grid(psi, values, theta, dimensions)


def grid_points(model: Model) -> tuple[Matrix, tuple[int, ...]]:
    """All points of the model's grid (n, n_shape), and how many there are along each axis."""
    axes = [shape.grid() for shape in model.shape]
    if not axes:
        return np.empty((1, 0)), ()
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.stack([m.ravel() for m in mesh], axis=1), tuple(len(axis) for axis in axes)


@dataclass(frozen=True)
class Peak:
    """A local maximum of the profile.

    Attributes
    ----------
    curvature
        Minus the Hessian of the profile in search units, over the free shape parameters.
    at_bound
        Shape parameters at the end of their range.
    drift
        Derivative of the weights in psi (search units) along the profile.
    """

    point: Point
    u: Vector
    curvature: Matrix
    drift: Matrix
    at_bound: BoolVector
    n_steps: int
    converged: bool


def climb(
    problem: Problem,
    psi: Vector,
    hypothesis: Hypothesis | None = None,
    fixed: BoolVector | None = None,
    max_steps: int = 40,
    near: Peak | None = None,
) -> Peak:
    """Newton's method on the profile, inside the range of psi; `near` is a peak of similar data."""
    low, high = problem.bounds[:, 0], problem.bounds[:, 1]
    held = np.zeros(problem.n_shape, dtype=bool) if fixed is None else fixed
    u = np.clip(problem.to_search(psi), low, high)
    point = problem.at(
        problem.from_search(u), hypothesis, None if near is None else near.point.theta
    )
    if near is None:
        curvature, drift = _curvature(problem, u, point, hypothesis, held)
    else:
        curvature, drift = near.curvature, near.drift
    n_steps, converged, fresh = 0, False, near is None
    while n_steps < max_steps:
        at_low = (u <= low) & (point.gradient <= 0)
        at_high = (u >= high) & (point.gradient >= 0)
        free = ~(at_low | at_high | held)
        step = _newton_step(point.gradient, curvature, free)
        if not free.any() or float(np.abs(step).max()) < ENOUGH:
            converged = True
            break
        trial = _uphill(problem, u, point, step, hypothesis)
        if trial is None:
            converged = bool(np.abs(point.gradient @ step) < 1e-8)
            break
        moved = trial[0] - u
        curvature = _updated(curvature, moved, point.gradient - trial[1].gradient)
        u, point = trial
        n_steps, fresh = n_steps + 1, False
        if float(np.abs(moved).max()) < NEARLY and n_steps > 1:
            converged = True  # the next step would be shorter than this one by far
            break
        if n_steps % STALE == 0:
            curvature, drift = _curvature(problem, u, point, hypothesis, held)
    if not fresh:
        curvature, drift = _curvature(problem, u, point, hypothesis, held)
    at_bound = ((u <= low) | (u >= high)) & ~held
    return Peak(point, u, curvature, drift, at_bound, n_steps, converged)


def _updated(curvature: Matrix, step: Vector, change: Vector) -> Matrix:
    """Symmetric rank-one update of the curvature by what a step showed of it."""
    miss = change - curvature @ step
    size = float(miss @ step)
    if abs(size) < 1e-8 * float(np.linalg.norm(miss) * np.linalg.norm(step)) or size == 0:
        return curvature
    return np.asarray(curvature + np.outer(miss, miss) / size)


def _newton_step(gradient: Vector, curvature: Matrix, free: BoolVector) -> Vector:
    """Newton's step among the free parameters, uphill and at most 1 search unit long."""
    step = np.zeros_like(gradient)
    if free.any():
        inner = curvature[np.ix_(free, free)]
        values, vectors = np.linalg.eigh(inner)
        size = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max()), 1e-12))
        step[free] = vectors @ ((vectors.T @ gradient[free]) / size)
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
    return step


def _uphill(
    problem: Problem, u: Vector, point: Point, step: Vector, hypothesis: Hypothesis | None
) -> tuple[Vector, Point] | None:
    """The first of step, step/2, step/4 ... that does not lower the profile."""
    low, high = problem.bounds[:, 0], problem.bounds[:, 1]
    for _ in range(30):
        trial_u = np.clip(u + step, low, high)
        trial = problem.at(problem.from_search(trial_u), hypothesis, point.theta)
        if trial.value >= point.value - 1e-12 * (1 + abs(point.value)):
            return trial_u, trial
        step = step / 2
    return None


def _curvature(
    problem: Problem, u: Vector, point: Point, hypothesis: Hypothesis | None, held: BoolVector
) -> tuple[Matrix, Matrix]:
    """Minus the Hessian, and the derivative of the weights, by differences of the gradient."""
    n = problem.n_shape
    curvature = np.zeros((n, n))
    drift = np.zeros((len(problem.model.weights), n))
    for q in np.flatnonzero(~held):
        h = HESSIAN_STEP
        below, above = u.copy(), u.copy()
        below[q] = max(u[q] - h, problem.bounds[q, 0])
        above[q] = min(u[q] + h, problem.bounds[q, 1])
        first = problem.at(problem.from_search(below), hypothesis, point.theta)
        second = problem.at(problem.from_search(above), hypothesis, point.theta)
        width = above[q] - below[q]
        curvature[:, q] = -(second.gradient - first.gradient) / width
        drift[:, q] = (second.theta - first.theta) / width
    return (curvature + curvature.T) / 2, drift


def best_peak(problem: Problem, grid: Grid, known: Sequence[Peak] = ()) -> Peak:
    """The highest peak reached from the best cells of the grid, or among those known.

    A cell that leads to a peak already found is not climbed from: a local maximum of the grid
    beside the peak's own cell, or another cell within three steps.
    """
    peaks = list(known)
    maxima, others = grid.starts()
    for steps, cells in ((1, maxima), (3, others)):
        for i in cells:
            u = problem.to_search(grid.psi[i])
            if not any(_beside(problem, u, peak.u, steps) for peak in peaks):
                peaks.append(climb(problem, grid.psi[i]))
    return max(peaks, key=lambda peak: peak.point.value)


def _beside(problem: Problem, u: Vector, peak: Vector, steps: int) -> bool:
    """Whether two places are within so many steps of the grid."""
    cells = np.array([shape.n_grid - 1 for shape in problem.model.shape])
    step = (problem.bounds[:, 1] - problem.bounds[:, 0]) / cells
    return bool((np.abs(u - peak) <= steps * step).all())
