"""Profile-likelihood intervals in natural units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from penchant._typing import Vector
from penchant.inference.climbing import Peak
from penchant.inference.planes import Planes
from penchant.inference.problem import Problem
from penchant.inference.search import Grid, climb
from penchant.models.model import Natural
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.intervals import falling_through

SOME_POINTS = 8  # of the grid, looked at for other peaks
FURTHEST = 40  # doublings of the step before a bound is called infinite


def profile_natural_interval(
    problem: Problem, grid: Grid, peak: Peak, natural: Natural, level: float
) -> tuple[float, float]:
    """Values at which everything else maximised loses chi-square(level)/2; infinite if nowhere."""
    drop = float(stats.chi2.isf(1 - level, 1)) / 2
    if natural.kind == "shape":
        return _shape_interval(problem, peak, natural, drop)
    if natural.kind == "share":
        weight = Natural(natural.name, "weight", natural.index)
        low, high = _weight_interval(problem, grid, peak, weight, drop)
        return natural.share_of(high), natural.share_of(low)
    return _weight_interval(problem, grid, peak, natural, drop)


def _crossing(
    height: Callable[[float], float], start: float, step: float, furthest: float
) -> float | None:
    """Where a height that is positive at start falls through 0; None if not before `furthest`."""
    inside = start
    for _ in range(FURTHEST):
        outside = inside + step
        outside = min(outside, furthest) if step > 0 else max(outside, furthest)
        if height(outside) <= 0:
            return falling_through(height, inside, outside, 1e-9 * abs(step))
        if outside == furthest:
            return None
        inside, step = outside, 2 * step
    return None


def _shape_interval(
    problem: Problem, peak: Peak, natural: Natural, drop: float
) -> tuple[float, float]:
    """Interval of a shape parameter, the others maximised, mapped to the natural unit."""
    q = natural.index
    fixed = np.arange(problem.n_shape) == q
    target = peak.point.value - drop
    near = [peak.u.copy()]

    def height(value: float) -> float:
        u = near[0].copy()
        u[q] = value
        found = climb(problem, problem.from_search(u), fixed=fixed)
        near[0] = found.u
        return found.point.value - target

    error = 1.0 / np.sqrt(max(float(peak.curvature[q, q]), 1e-4))
    low, high = problem.bounds[q]
    ends = []
    for step, furthest in ((-error, low), (error, high)):
        near[0] = peak.u.copy()
        found = _crossing(height, float(peak.u[q]), step, float(furthest))
        ends.append(found)
    shape = problem.model.shape[q]
    # A logarithmic range is where to look; a linear one, such as 0 to 1, is all there is.
    beyond = (0.0, np.inf) if shape.scale == "log" else (shape.low, shape.high)
    own = [
        limit if end is None else float(shape.from_search(end))
        for end, limit in zip(ends, beyond, strict=True)
    ]
    with np.errstate(divide="ignore"):
        values = natural.scale * np.array(own) ** natural.power
    return float(values.min()), float(values.max())


def _hypothesis(problem: Problem, natural: Natural, value: float) -> Hypothesis:
    """The linear restriction on the weights that says natural parameter = value."""
    row = np.zeros((1, len(problem.model.weights)))
    row[0, natural.index] = 1.0
    if natural.kind == "ratio":
        row[0, natural.other] = -value
        return Hypothesis(row, np.zeros(1))
    return Hypothesis(row, np.array([1.0 / value if natural.kind == "reciprocal" else value]))


def _weight_interval(
    problem: Problem, grid: Grid, peak: Peak, natural: Natural, drop: float
) -> tuple[float, float]:
    """Interval of a weight, its reciprocal (searched on its logarithm) or a ratio."""
    centre = natural.value(peak.point.theta, peak.point.psi)
    logarithmic = natural.kind == "reciprocal"
    if logarithmic and not (np.isfinite(centre) and centre > 0):
        return 0.0, np.inf
    if not np.isfinite(centre):
        return -np.inf, np.inf
    target = peak.point.value - drop
    near = [peak.point.psi]
    some = grid.psi[:: max(1, len(grid.psi) // SOME_POINTS)]

    def height(position: float) -> float:
        value = float(np.exp(position)) if logarithmic else position
        asked = _hypothesis(problem, natural, value)
        planes = Planes.of(natural, np.array([value]), len(problem.model.weights))
        # Further out another peak of the profile may be higher than that followed so far.
        heights = [problem.inner(problem.choices(psi), asked).value for psi in some]
        starts = (near[0], some[int(np.argmax(heights))])
        found = [climb(problem, psi, planes=planes) for psi in starts]
        best = max(found, key=lambda one: one.point.value)
        near[0] = best.point.psi
        return best.point.value - target

    start = float(np.log(centre)) if logarithmic else centre
    unit = _unit(peak, natural, centre, logarithmic)
    ends = []
    for step in (-unit, unit):
        near[0] = peak.point.psi
        furthest = start + np.sign(step) * (25.0 if logarithmic else 1e4 * unit)
        ends.append(_crossing(height, start, step, furthest))
    if logarithmic:
        low, high = (None if end is None else float(np.exp(end)) for end in ends)
        return (0.0 if low is None else low, np.inf if high is None else high)
    return (
        -np.inf if ends[0] is None else ends[0],
        np.inf if ends[1] is None else ends[1],
    )


def _unit(peak: Peak, natural: Natural, centre: float, logarithmic: bool) -> float:
    """A first step: about a standard error at fixed psi."""
    slope: Vector = natural.gradient(peak.point.theta, peak.point.psi)[: len(peak.point.theta)]
    inverse = np.linalg.pinv(peak.point.information, hermitian=True)
    error = float(np.sqrt(max(float(slope @ inverse @ slope), 0.0)))
    error = error / abs(centre) if logarithmic else error
    return min(max(error, 1e-3), 2.0) if logarithmic else max(error, 1e-6 * abs(centre), 1e-9)
