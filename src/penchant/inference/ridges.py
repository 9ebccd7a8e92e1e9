"""Climbing along ridges with kinks: BFGS with a line search that asks for little.

A quasi-Newton method learns from gradients on both sides of a kink which way it runs, if a step
need only raise the function enough and pass the point where its slope has fallen (the weak
conditions of Wolfe; Lewis & Overton 2013).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector

MOST_STEPS = 300
MOST_TRIALS = 40
ENOUGH_RISE, ENOUGH_FALL = 1e-4, 0.9  # of the slope at the beginning of a step
LEAST_GAIN = 1e-11
MOST_POOR = 20  # steps in a row that gain less

Function = Callable[[Vector], tuple[float, Vector]]


def climb_ridge(function: Function, start: Vector, bounds: Matrix) -> tuple[Vector, float]:
    """A point from which BFGS gets no higher, inside the bounds (n, 2), and the height there.

    `function` gives height and gradient.
    """
    u, (value, gradient) = start, function(start)
    inverse, poor = np.eye(len(u)), 0
    held = _held(u, gradient, bounds)
    for _ in range(MOST_STEPS):
        way = np.where(held, 0.0, inverse @ np.where(held, 0.0, gradient))
        if not way @ gradient > 0 or poor > MOST_POOR:
            break
        furthest = _furthest(u, way, bounds)
        share, higher, steeper = _weak_wolfe(function, u, value, gradient, way, furthest)
        if share == 0:
            break
        step, change = share * way, gradient - steeper
        poor = poor + 1 if higher - value < LEAST_GAIN else 0
        u = np.clip(u + step, bounds[:, 0], bounds[:, 1])
        value, gradient = higher, steeper
        now = _held(u, gradient, bounds)
        inverse = np.eye(len(u)) if (now != held).any() else _updated(inverse, step, change)
        held = now
    return u, value


def _held(u: Vector, gradient: Vector, bounds: Matrix) -> BoolVector:
    """Coordinates at the end of their range that would lead out of it."""
    low, high = bounds.T
    return np.asarray((u <= low) & (gradient <= 0) | (u >= high) & (gradient >= 0))


def _furthest(u: Vector, way: Vector, bounds: Matrix) -> float:
    """How often a step fits into the range."""
    ends = np.where(way > 0, bounds[:, 1], bounds[:, 0])
    moving = way != 0
    return float(np.min((ends - u)[moving] / way[moving], initial=np.inf))


def _weak_wolfe(
    function: Function, u: Vector, value: float, gradient: Vector, way: Vector, furthest: float
) -> tuple[float, float, Vector]:
    """A share of the step that rises enough, with height and gradient there; 0 if none does."""
    slope = float(gradient @ way)
    low, high = 0.0, np.inf
    found = (0.0, value, gradient)
    share = min(1.0, furthest)
    for _ in range(MOST_TRIALS):
        there, steep = function(u + share * way)
        if not there >= value + ENOUGH_RISE * share * slope:
            high = share
        else:
            low, found = share, (share, there, steep)
            if share >= furthest or steep @ way <= ENOUGH_FALL * slope:
                break
        share = (low + high) / 2 if np.isfinite(high) else min(2 * share, furthest)
    return found


def _updated(inverse: Matrix, step: Vector, change: Vector) -> Matrix:
    """The inverse curvature by what a step has shown."""
    product = float(step @ change)
    if product <= 1e-300:
        return inverse
    less = np.eye(len(step)) - np.outer(step, change) / product
    return np.asarray(less @ inverse @ less.T + np.outer(step, step) / product)
