"""Upper bounds of a profile over one shape parameter while decisions are added.

A decision more can but lower the likelihood, whatever the weights: l_new(theta, psi) <= l(theta,
psi), and so for their maxima over theta. What a cell of the grid was worth once it is worth at
most, and as long as that is far below the peak it needs no work.
"""

from __future__ import annotations

import numpy as np

from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import Grid, Grids, grid_steps, one_by_one
from penchant.inference.search.peaks import Peaks
from penchant.inference.weakness import DROP, REACH

CLEAR = 6.0  # log-units by which the rest of a grid must stay below the peak to be left alone
ALIKE = 1e-4  # and the limits of a model, not to be the estimate
BESIDE = 3.0  # steps of the grid around the peak that are no rest
ROUNDING = 1e-9
SMALL = 64  # numbers of one decision that are few


class Bounds:
    """What the cells of a subject's grid are worth at most."""

    def __init__(self, grids: Grids) -> None:
        self._psi, self._dimensions = grids.psi, grids.dimensions
        self._values = np.where(grids.looked[0], grids.values[0], np.inf)
        self._theta = grids.theta[0].copy()

    def is_far_below(self, profiles: Profiles, u: float, height: float) -> bool:
        """Whether the profile is far below its peak elsewhere, and lower at the model's limits.

        Cells that may not be are looked at again.
        """
        away = np.abs(profiles.to_search(self._psi)[:, 0] - u) > BESIDE * _step(profiles)
        most = np.where(away, height - CLEAR, np.inf)
        (shape,) = profiles.shape
        for end, upper in ((0, False), (-1, True)):
            if shape.limit(upper) is not None:
                most[end] = min(most[end], height - ALIKE)
        high = np.flatnonzero(self._values > most)
        if 2 * len(high) > len(most):
            return False  # it is as well to look at all of them
        if len(high):
            found = one_by_one(profiles, self._psi[high], self._theta[high])
            self._values[high], self._theta[high] = found
        return bool(away.any() and (self._values <= most).all())

    def all_anew(self, profiles: Profiles) -> Grid:
        """The profile at all cells."""
        self._values, self._theta = one_by_one(profiles, self._psi, self._theta)
        looked = np.ones(len(self._values), dtype=bool)
        return Grid(self._psi, self._values.copy(), self._theta.copy(), self._dimensions, looked)


def rises_to(profiles: Profiles, grid: Grid, u: float, height: float) -> bool:
    """Whether the cells rise to a peak from both sides, so that it is the only one to climb to.

    Those far below do not count.
    """
    values = grid.values
    best = int(values.argmax())
    near = abs(float(profiles.to_search(grid.psi[best : best + 1])[0, 0]) - u)
    if not (np.isfinite(values).all() and near <= _step(profiles)):
        return False
    if not height >= values[best] - ROUNDING:
        return False
    rising = np.diff(np.maximum(values, height - CLEAR))
    return bool((rising[:best] >= -ROUNDING).all() and (rising[best:] <= ROUNDING).all())


def is_small(profiles: Profiles) -> bool:
    """Whether the whole grid costs little more than some of it."""
    return profiles.n_options * profiles.n_weights <= SMALL


def may_reach_far(profiles: Profiles, peaks: Peaks) -> bool:
    """Whether weights may be of another order of magnitude not far below the peak.

    They change by as much along psi as at the peak, or twice that; towards a limit of the model by
    any amount.
    """
    u, width = float(peaks.u[0, 0]), BESIDE * _step(profiles)
    ends = zip(profiles.bounds[0], (False, True), strict=True)
    if any(abs(u - end) <= width and profiles.shape[0].limit(upper) for end, upper in ends):
        return True
    theta, drift = peaks.points.theta[0], peaks.drift[0, :, 0]
    reach = min(width, (2.0 * DROP / max(float(peaks.curvature[0, 0, 0]), 1e-300)) ** 0.5)
    own = profiles.positive
    return bool((2.0 * np.abs(drift[own]) * reach >= REACH * np.abs(theta[own])).any())


def _step(profiles: Profiles) -> float:
    return float(grid_steps(profiles.shape)[0])
