"""All cells of a grid over one shape parameter, followed from decision to decision, with bounds.

Where a decision has few numbers, the variables of every cell are kept beside those of the nodes: a
decision adds a row to each. A decision more can but lower the profile: what a cell was worth once
it is worth at most, and cells whose bound is far below the peak need no work.

A decision more can but lower the likelihood, whatever the weights: l_new(theta, psi) <= l(theta,
psi), and so for their maxima over theta. What a cell of the grid was worth once it is worth at
most, and as long as that is far below the peak it needs no work.
"""

from __future__ import annotations

import math

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.inference.following import _cell_kernels as compiled
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import NEAR, Grid, Grids, grid_steps, one_by_one
from penchant.inference.search.peaks import Peaks
from penchant.inference.weakness import DROP, REACH
from penchant.softmax._lanes import LANES, kind_of
from penchant.softmax.likelihood import n_moments, rooms_for, vectors


class Cells:
    """The decisions of a play at every psi of a grid, and what the profile is worth there.

    Attributes
    ----------
    psi
        The cells: (n_cells, 1).
    """

    def __init__(self, profiles: Profiles, grids: Grids) -> None:
        self.psi, self._dimensions = grids.psi, grids.dimensions
        self._values = np.where(grids.looked[0], grids.values[0], np.inf)
        self._theta = grids.theta[0].copy()
        self._u = profiles.to_search(self.psi)[:, 0]
        self._step = float(grid_steps(profiles.shape)[0])
        ends = [profiles.shape[0].limit(upper) is not None for upper in (False, True)]
        self._limits = np.array([0, len(self._u) - 1])[ends]
        self._positive = profiles.positive
        self._m, d = profiles.n_options, profiles.n_weights
        self._kind = kind_of(d, False)
        state = np.empty(d), np.empty(d), np.empty((d, d)), np.empty(d), np.zeros(d, dtype=bool)
        self._into = self._values, self._theta, state
        self._most = np.empty(len(self._u))
        self._n = 0
        self._packed, self._side = np.empty((len(self._u), 0)), np.empty((0, 2 * LANES))
        self._room_for(0)

    def forget(self) -> None:
        """Let all decisions go, to be added anew; what cells are worth at most stays known."""
        self._n = 0
        self._room_for(0)

    def add(self, x: Matrix, first: int, begin: int, picked: IntVector, chosen: IntVector) -> None:
        """Add decisions; x (n_psi, n_events, n_options, n_weights), the cells from `first` on."""
        n = self._n + len(picked)
        if n > LANES * len(self._side):
            self._room_for(n + n // 2)
        compiled.add_to_cells(x, first, begin, picked, chosen, self._n, self._packed, self._side)
        self._n = n

    def _room_for(self, n: int) -> None:
        """Blocks for n decisions, with what they hold."""
        d, n_blocks = self._theta.shape[1], -(-n // LANES)
        size, kept = n_blocks * (self._m - 1) * d, -(-self._n // LANES)
        packed = vectors(len(self._u) * size).reshape(len(self._u), size * LANES)
        side = vectors(2 * n_blocks).reshape(n_blocks, 2 * LANES)
        if kept:
            used = kept * (self._m - 1) * d * LANES
            packed[:, :used], side[:kept] = self._packed[:, :used], self._side[:kept]
        self._packed, self._side = packed, side
        self._starts = np.arange(n_blocks + 1) * (self._m - 1)
        own = rooms_for(self._m - 1, n_blocks, d)
        self._rooms = own, np.empty(n_moments(d)), np.empty((d + 2, d))

    def rise_to(self, u: float, height: float) -> bool:
        """Whether the profile rises to a peak from both sides, and is lower at the model's limits.

        It is then the only one to climb to. Cells far below do not count; the others are solved.
        """
        self._most.fill(height - compiled.CLEAR)
        blocks = self._packed, self._starts, self._side, -(-self._n // LANES)
        least = -self._n * math.log(self._m)
        problem = self._kind, self._positive, NEAR, least, self._most
        if compiled.climb_cells(*blocks, *problem, self._into, self._rooms):
            self._values[np.isnan(self._values)] = np.inf
            return False
        return bool(compiled.rises(self._values, self._u, self._limits, u, height, self._step))

    def inside(self, lowest: float) -> Matrix:
        """Weights of the cells that are higher than that; asked after `rise_to`."""
        return np.asarray(self._theta[self._values > lowest])

    @property
    def range(self) -> float:
        """By how much the profile varies, or less, where cells are far below its peak."""
        return float(self._values.max() - self._values.min())

    def grid(self) -> Grid:
        """The profile at all cells: exact where it may matter for the maximum."""
        looked = self._values > self._most
        return Grid(self.psi, self._values.copy(), self._theta.copy(), self._dimensions, looked)


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
