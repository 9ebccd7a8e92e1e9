"""What is said of a peak that stands alone: a maximum that exists, with all parameters told.

The same questions as in `inference.status`, for one peak and without the answers that need a closer
look: where one of them is not a plain yes, nothing is said here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.inference.following.neighbourhood import Neighbourhood
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import Grid
from penchant.inference.search.peaks import Peaks
from penchant.inference.status import FLAT, REACHED, Verdict, told_estimate
from penchant.inference.weakness import DROP, REACH, SURE, are_few, are_run_off
from penchant.softmax.diagnostics import Diagnostics
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import WEAK
from penchant.softmax.identification import CERTAIN, EPSILON
from penchant.softmax.separation import EXACT, NEGLIGIBLE

HUGE = 1e100  # no unit has such numbers


def plain_estimate(
    profiles: Profiles, near: Neighbourhood, peaks: Peaks, grid: Grid | Callable[[], Grid]
) -> Estimate | None:
    """The estimate at a peak, if there is nothing more to say.

    A grid is given as what computes it where it is known to be far below.
    """
    if peaks.at_bound[0, 0] or (peaks.points.theta[0, profiles.positive] <= 1e-12).any():
        return None
    proof = _proven(profiles, near, peaks)
    if proof is None or are_run_off(profiles, peaks)[0]:
        return None
    condition, inverse = proof
    covariance = _covariance(profiles, peaks, inverse)
    if covariance is None or not _is_told(profiles, peaks, covariance):
        return None
    if isinstance(grid, Grid) and _shows_more(profiles, peaks, grid):
        return None
    points = peaks.points
    checks = Diagnostics(
        rank=profiles.n_weights,
        null_directions=(),
        combinations=(),
        decisions_needed=0,
        separation=None,
        near_separation=None,
        condition=condition,
        iterations=int(peaks.n_steps[0]),
        decrement=float(points.decrement[0]),
        certificate="newton",
        bounds=(),
    )
    told = np.ones(1, dtype=bool)
    value = float(points.log_likelihood[0])
    verdict = Verdict("converged", REACHED, points.theta[0], told, value, checks)
    theta = np.append(points.theta[0], points.psi[0])
    return told_estimate(profiles, 0, grid, peaks[0], verdict, theta, covariance, None)


def _proven(profiles: Profiles, near: Neighbourhood, peaks: Peaks) -> tuple[float, Matrix] | None:
    """Where Newton's method proves that the weights have a maximum: their condition and inverse."""
    points = peaks.points
    largest, spread, n = points.largest[0], points.spread[0], float(profiles.n_decisions[0])
    unit, information = largest[1], points.information[0]
    if not (unit > 64 * EPSILON * largest[0]).all() or not largest.max() < HUGE:
        return None
    scales = np.sqrt(np.stack([spread.diagonal(), information.diagonal(), unit**2]))
    if not (scales > 0).all():
        return None
    scaled = np.stack([spread, information, information]) / scales[:, :, None] / scales[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    lowest, highest = values[:, 0], values[:, -1]
    if not (lowest[0] > CERTAIN and 0 < highest[1] <= WEAK * lowest[1]):
        return None
    inverse = (vectors[1] / values[1]) @ vectors[1].T / scales[1] / scales[1][:, None]
    decrement = float(points.decrement[0])
    if not _certified(unit, inverse, decrement, n):
        return None
    found = float(highest[1] / lowest[1]), inverse
    if lowest[2] > 2 * len(unit) * NEGLIGIBLE * n:  # see `softmax.separation.hang_on`
        return found if _moved(unit, inverse) * decrement <= EXACT else None
    return found if _holds_without(near, unit, n) else None


def _holds_without(near: Neighbourhood, unit: Vector, n: float) -> bool:
    """Whether the maximum exists without negligible differences, too."""
    found, information, decrement = near.without_small_differences(NEGLIGIBLE * unit)
    if not found or not np.isfinite(information).all() or not (information.diagonal() > 0).all():
        return False
    scale = np.sqrt(information.diagonal())
    values, vectors = np.linalg.eigh(information / scale / scale[:, None])
    inverse = (vectors / values) @ vectors.T / scale / scale[:, None]
    return bool(values[0] > 0 and _certified(unit, inverse, decrement, n))


def _moved(largest: Vector, covariance: Matrix) -> float:
    """By how much at most a step of one standard error moves an objective."""
    return float(2.0 * np.sqrt(largest @ np.abs(covariance) @ largest))


def _certified(largest: Vector, covariance: Matrix, decrement: float, n: float) -> bool:
    """Whether the last step proves that the maximum exists; see `softmax.separation`."""
    distance = _moved(largest, covariance)
    return bool(distance * (decrement + EPSILON * np.sqrt(n) * distance) < 0.5)


def _covariance(profiles: Profiles, peaks: Peaks, inverse: Matrix) -> Matrix | None:
    """Of weights and psi together, from that of the weights alone; None where all is flat."""
    curvature, d = float(peaks.curvature[0, 0, 0]), profiles.n_weights
    if not 0 < curvature < np.inf or curvature**-0.5 > np.ptp(profiles.bounds[0]):
        return None
    stretch = float(profiles.stretch(peaks.points.psi)[0, 0])
    drift = peaks.drift[0, :, 0]
    found = np.empty((d + 1, d + 1))
    found[:d, :d] = inverse + np.outer(drift, drift) / curvature
    found[:d, d] = found[d, :d] = drift * stretch / curvature
    found[d, d] = stretch**2 / curvature
    return found if np.isfinite(found).all() else None


def _is_told(profiles: Profiles, peaks: Peaks, covariance: Matrix) -> bool:
    """Whether no parameter may be weakly identified; where it may, the grid is asked."""
    if are_few(profiles)[0]:
        return True
    theta, largest = peaks.points.theta[0], peaks.points.largest[0, 0]
    for natural in profiles.natural:
        a = natural.index
        if natural.is_ratio:
            slope = np.array([1.0, -theta[a] / theta[natural.other]]) / theta[natural.other]
            pair = covariance[np.ix_((a, natural.other), (a, natural.other))]
            unit = natural.denominator(largest) / largest[a]
            if not slope @ pair @ slope <= unit**2:
                return False
            continue
        # relative to itself, the error of 1 over a weight is that of the weight
        asked = natural.is_logarithmic or (natural.is_weight and a in profiles.positive)
        if asked and not 0 < covariance[a, a] <= (SURE * theta[a]) ** 2:
            return False
    return True


def _shows_more(profiles: Profiles, peaks: Peaks, grid: Grid) -> bool:
    """Whether the profile is flat, or an interval of a parameter reaches far by its cells."""
    if np.ptp(grid.values) < FLAT:
        return True
    if are_few(profiles)[0]:
        return False
    inside = grid.theta[grid.values > peaks.points.value[0] - DROP]
    for natural in profiles.natural:
        if natural.is_logarithmic or (natural.is_weight and natural.index in profiles.positive):
            with np.errstate(divide="ignore"):
                logs = np.log(natural.of_weights(np.maximum(inside, 0.0)))
                centre = np.log(natural.of_weights(peaks.points.theta))
            if (np.abs(logs - centre) > REACH).any():
                return True
    return False
