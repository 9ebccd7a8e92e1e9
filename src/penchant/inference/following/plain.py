"""What is said of a peak that stands alone: a maximum that exists, with all parameters told.

The same questions as in `inference.status`, for one peak and without the answers that need a closer
look: where one of them is not a plain yes, nothing is said here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from penchant._typing import Matrix
from penchant.inference.following.cells import Cells
from penchant.inference.following.neighbourhood import FollowedPeak, Neighbourhood
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
EXACT_STEP = 1e-10  # Newton decrement, in standard errors


def plain_estimate(
    profiles: Profiles, near: Neighbourhood, found: FollowedPeak, grid: Callable[[], Grid]
) -> Estimate | None:
    """The estimate at a peak, if there is nothing more to say.

    The grid is given as what computes it. Where it is not known to be far below the peak, the
    neighbourhood has its cells.
    """
    peaks = found.peaks
    if peaks.at_bound[0, 0] or (peaks.points.theta[0, profiles.positive] <= 1e-12).any():
        return None
    if not _is_proven(near, found) or are_run_off(profiles, peaks)[0]:
        return None
    covariance = _covariance(profiles, found)
    if covariance is None or not _is_told(profiles, peaks, covariance):
        return None
    if near.cells is not None and _shows_more(profiles, peaks, near.cells):
        return None
    points = peaks.points
    checks = Diagnostics(
        rank=profiles.n_weights,
        null_directions=(),
        combinations=(),
        decisions_needed=0,
        separation=None,
        near_separation=None,
        condition=found.highest / found.lowest,
        iterations=int(peaks.n_steps[0]),
        decrement=found.decrement,
        certificate="newton",
        bounds=(),
    )
    told = np.ones(1, dtype=bool)
    value = float(points.log_likelihood[0])
    verdict = Verdict("converged", REACHED, points.theta[0], told, value, checks)
    theta = np.append(points.theta[0], points.psi[0])
    return told_estimate(profiles, 0, grid, peaks[0], verdict, theta, covariance, None)


def _is_proven(near: Neighbourhood, found: FollowedPeak) -> bool:
    """Whether Newton's method proves that the weights have a maximum, and tells them apart."""
    largest = found.peaks.points.largest[0]
    if not found.known or not (largest[1] > 64 * EPSILON * largest[0]).all():
        return False
    if not (largest.max() < HUGE and found.spread > CERTAIN):
        return False
    if not 0 < found.highest <= WEAK * found.lowest:
        return False
    n, decrement = float(found.n_decisions), found.decrement
    if not _certified(found.distance, decrement, n):
        return False
    if found.in_units > 2 * len(found.inverse) * NEGLIGIBLE * n:  # `softmax.separation.hang_on`
        return found.distance * decrement <= EXACT
    return _holds_without(near, found, n)


def _holds_without(near: Neighbourhood, found: FollowedPeak, n: float) -> bool:
    """Whether the maximum exists without negligible differences, too.

    A short step of Newton's method is proof enough: at first one as short as the standard errors
    of the whole ask for.
    """
    unit = found.peaks.points.largest[0, 1]
    for enough in (0.1 / found.distance, EXACT_STEP):
        reached, information, decrement = near.without_small_differences(NEGLIGIBLE * unit, enough)
        if not reached or not (information.diagonal() > 0).all():
            return False
        scale = np.sqrt(information.diagonal())
        values, vectors = np.linalg.eigh(information / scale / scale[:, None])
        if not values[0] > 0:
            return False
        inverse = (vectors / values) @ vectors.T / scale / scale[:, None]
        distance = float(2.0 * np.sqrt(unit @ np.abs(inverse) @ unit))
        if _certified(distance, decrement, n):
            return True
    return False


def _certified(distance: float, decrement: float, n: float) -> bool:
    """Whether the last step proves that the maximum exists; see `softmax.separation`.

    A step of one standard error moves an objective by `distance` at most.
    """
    return bool(distance * (decrement + EPSILON * math.sqrt(n) * distance) < 0.5)


def _covariance(profiles: Profiles, found: FollowedPeak) -> Matrix | None:
    """Of weights and psi together, from that of the weights alone; None where all is flat."""
    curvature, d = found.curvature, profiles.n_weights
    low, high = profiles.bounds[0]
    if not 0 < curvature < np.inf or curvature**-0.5 > high - low:
        return None
    peaks = found.peaks
    stretch = float(profiles.shape[0].stretch(peaks.points.psi[0, 0]))
    along = np.append(peaks.drift[0, :, 0], stretch)
    covariance = along[:, None] * (along / curvature)
    covariance[:d, :d] += found.inverse
    return covariance if np.isfinite(covariance).all() else None


def _is_told(profiles: Profiles, peaks: Peaks, covariance: Matrix) -> bool:
    """Whether no parameter may be weakly identified; where it may, the grid is asked."""
    if are_few(profiles)[0]:
        return True
    theta, largest = peaks.points.theta[0], peaks.points.largest[0, 0]
    for natural in profiles.natural:
        a = natural.index
        if natural.is_ratio:
            b = natural.other
            above, below = 1.0 / theta[b], -theta[a] / theta[b] ** 2
            mixed = 2.0 * above * below * covariance[a, b]
            variance = above**2 * covariance[a, a] + mixed + below**2 * covariance[b, b]
            if not variance <= (largest[b] / largest[a]) ** 2:
                return False
            continue
        # relative to itself, the error of 1 over a weight is that of the weight
        asked = natural.is_logarithmic or (natural.is_weight and a in profiles.positive)
        if asked and not 0 < covariance[a, a] <= (SURE * theta[a]) ** 2:
            return False
    return True


def _shows_more(profiles: Profiles, peaks: Peaks, cells: Cells) -> bool:
    """Whether the profile is flat, or an interval of a parameter reaches far by its cells."""
    if cells.range < FLAT:
        return True
    if are_few(profiles)[0]:
        return False
    inside = np.maximum(cells.inside(float(peaks.points.value[0]) - DROP), 0.0)
    for natural in profiles.natural:
        if natural.is_logarithmic or (natural.is_weight and natural.index in profiles.positive):
            with np.errstate(divide="ignore"):
                logs = np.log(natural.of_weights(inside))
                centre = np.log(natural.of_weights(peaks.points.theta))
            if (np.abs(logs - centre) > REACH).any():
                return True
    return False
