"""The profile log-likelihood of one natural parameter, as a curve to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.arguments import check_level
from penchant.errors import DataError, nearest
from penchant.inference.estimate import ModelEstimate
from penchant.inference.profile.pairs import Planes
from penchant.inference.profile.problem import Problem
from penchant.inference.search.search import climb
from penchant.models.model import Natural

BEYOND = 0.5  # shown outside the interval at each side, in units of its own half
EDGE = 1e-3  # how near to 0 and to its scale a share is shown, next to the estimate
OPEN_RATIO = 30.0  # shown where a positive parameter has no bound


@dataclass(frozen=True)
class ProfileCurve:
    """Profile of a natural parameter.

    Attributes
    ----------
    name
        Which parameter.
    values
        Values of the parameter, increasing; the estimate is one of them.
    log_likelihoods
        Log-likelihood (log-posterior, with a prior on the weights) at each, maximised over all
        other parameters.
    estimate, low, high
        The maximum, and the profile interval; infinite where the data set no bound.
    """

    name: str
    values: Vector
    log_likelihoods: Vector
    estimate: float
    low: float
    high: float


def profile_curve(
    estimate: ModelEstimate, name: str, *, level: float = 0.95, n_points: int = 41
) -> ProfileCurve:
    """Profile log-likelihood around the estimate, from somewhat below the interval to above it.

    Parameters
    ----------
    estimate
        Of a fit whose episodes are at hand.
    name
        Which natural parameter.
    level
        Of the interval.
    n_points
        How many values.
    """
    check_level(level)
    natural = _named(estimate, name)
    if n_points < 3:
        raise DataError(f"n_points must be at least 3; got {n_points}. 41 is usual.")
    centre = natural.value(estimate.weights, estimate.psi)
    defined = estimate.status not in ("separated", "not identified") and np.isfinite(centre)
    if not defined or estimate.episodes is None:
        why = f"status {estimate.status!r}" if not defined else "an estimate without its episodes"
        raise DataError(f"estimate must have a profile of {name}; got {why}. Fit other data.")
    problem = Problem(estimate.model, estimate.episodes, estimate.prior)
    place = [one.name for one in estimate.natural].index(name)
    low, high = (float(end) for end in estimate.interval(level, "profile")[place])
    values = _values(estimate, natural, centre, (low, high), n_points)
    upward, downward = values[values >= centre], values[values < centre][::-1]
    start = estimate.peak.point.psi
    heights = [
        *_heights(problem, natural, downward, start)[::-1],
        *_heights(problem, natural, upward, start),
    ]
    return ProfileCurve(name, values, np.array(heights), centre, low, high)


def _named(estimate: ModelEstimate, name: str) -> Natural:
    known = {natural.name: natural for natural in estimate.natural}
    if name not in known:
        raise DataError(
            f"name must be one of {', '.join(known)}; got {name!r}."
            f"{nearest(name, known) or ' Choose one.'}"
        )
    return known[name]


def _values(
    estimate: ModelEstimate,
    natural: Natural,
    centre: float,
    interval: tuple[float, float],
    n_points: int,
) -> Vector:
    """Values on both sides of the estimate, in equal ratios for a positive parameter."""
    shape = estimate.model.shape
    positive = natural.is_positive(shape)
    low, high = interval
    if positive:
        below = low / centre if low > 0 else 1 / OPEN_RATIO
        above = high / centre if np.isfinite(high) else OPEN_RATIO
        first, last = centre * below ** (1 + BEYOND), centre * above ** (1 + BEYOND)
    else:
        halves = [half for half in (centre - low, high - centre) if np.isfinite(half)]
        usual = max(halves, default=abs(centre) or 1.0)
        first = centre - (1 + BEYOND) * (centre - low if np.isfinite(low) else 2 * usual)
        last = centre + (1 + BEYOND) * (high - centre if np.isfinite(high) else 2 * usual)
    start, end = natural.ends(shape)
    room = EDGE * min(centre - start, end - centre) if natural.is_open else 0.0
    first, last = max(first, start + room), min(last, end - room)
    space = np.geomspace if positive else np.linspace
    half = n_points // 2
    sides = [space(first, centre, half + 1)[:-1], space(centre, last, n_points - half)]
    return np.unique(np.concatenate([sides[0], [centre], sides[1][1:]]))


def _heights(problem: Problem, natural: Natural, values: Vector, psi: Vector) -> list[float]:
    """Maximised log-likelihood at values that lead away from the estimate, whose shape is psi."""
    found = []
    free = np.ones(problem.n_shape, dtype=bool)
    free[natural.index if natural.is_shape else []] = False
    for value in values:
        psi, height = _highest(problem, natural, float(value), psi, free)
        found.append(height)
    return found


def _highest(
    problem: Problem, natural: Natural, value: float, psi: Vector, free: BoolVector
) -> tuple[Vector, float]:
    """Shape and log-likelihood of the best that has this value, looked for from psi."""
    start = psi.copy()
    asked = None
    if natural.is_shape:
        natural.put(value, np.empty(0), start)
    else:
        asked = Planes.of(natural, np.array([value]), len(problem.model.weights))
    peak = climb(problem, start, fixed=~free, planes=asked)
    return peak.point.psi, peak.point.value
