"""The search over psi: a grid, then Newton's method from the best cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.climbing import Near, Peak, climb_together, curvatures
from penchant.inference.grid_profile import profiles_on_grid
from penchant.inference.planes import Planes
from penchant.inference.problem import Problem
from penchant.inference.profiles import Points, Profiles
from penchant.models.model import Model, is_smooth

BEST_CELLS = 3
MANY_CELLS = 8  # in three dimensions, where the steps of a grid are long
ALIKE = 0.05  # log-units between cells that may share a supremum, which none reaches
LOOKS = (1.0, 0.5, 0.25, 0.125, 0.0625)  # steps of the grid looked away from a peak among kinks


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


def grid_points(model: Model) -> tuple[Matrix, tuple[int, ...]]:
    """All points of the model's grid (n, n_shape), and how many there are along each axis."""
    axes = [shape.grid() for shape in model.shape]
    if not axes:
        return np.empty((1, 0)), ()
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.stack([m.ravel() for m in mesh], axis=1), tuple(len(axis) for axis in axes)


def grid_search(profiles: Profiles) -> tuple[list[Grid], Points]:
    """The profile of every subject on the model's grid, and the points of the best cells."""
    psi, dimensions = grid_points(profiles.model)
    everyone = np.arange(len(profiles.groups))
    values, theta = profiles_on_grid(profiles, psi, dimensions[-1] if dimensions else 1)
    best = values.argmax(axis=1)
    grids = [Grid(psi, values[k], theta[k], dimensions) for k in everyone]
    near = theta[everyone, best]
    return grids, profiles.solve(everyone, psi[best], near, with_slopes=False, patient=False)


def climb(
    problem: Problem,
    psi: Vector,
    max_steps: int = 40,
    near: Peak | None = None,
    fixed: BoolVector | None = None,
    planes: Planes | None = None,
) -> Peak:
    """Climb on one profile: see `climb_together`."""
    whose = np.zeros(1, dtype=np.int64)
    held = None if fixed is None else fixed[None]
    start = None if near is None else Near.of(near)
    return climb_together(problem.profiles, whose, psi[None], start, max_steps, held, planes).peak(
        0
    )


def best_peaks(
    profiles: Profiles, grids: Sequence[Grid], known: Sequence[Sequence[Peak]], lost: BoolVector
) -> list[Peak]:
    """The highest peak of every subject reached from the best cells of its grid, or known.

    A cell that leads to a peak already found is not climbed from: a local maximum of the grid
    beside the peak's own cell, or another cell within three steps. Where the best cell has no
    finite weights (`lost`) nothing is climbed. Around the peak of a model that is not smooth there
    may be others inside a cell.
    """
    found = [list(peaks) for peaks in known]
    most = BEST_CELLS if profiles.n_shape < 3 else MANY_CELLS
    starts = [_starts(grid, most) for grid in grids]
    psi = grids[0].psi
    u = profiles.to_search(psi)
    endless = np.flatnonzero(lost)
    middles = [_middle_of_flat(profiles, k, grids[k], u) for k in endless.tolist()]
    _climb_all(profiles, psi, endless, np.array(middles, dtype=np.int64), found, max_steps=0)
    for turn in range(most):
        whose = [
            k
            for k in np.flatnonzero(~lost)
            if turn < len(starts[k]) and not _reached(profiles, u, starts[k][turn], found[k])
        ]
        cells = np.array([starts[k][turn][0] for k in whose], dtype=np.int64)
        _climb_all(profiles, psi, np.array(whose, dtype=np.int64), cells, found)
    if not is_smooth(profiles.model) and not lost.all():
        for share in LOOKS:
            _look_around(profiles, np.flatnonzero(~lost), found, share)
    return _finished(profiles, [_highest(peaks) for peaks in found])


def _finished(profiles: Profiles, peaks: list[Peak]) -> list[Peak]:
    """The peaks with their curvature, which climbs among several leave to the highest."""
    if not profiles.n_shape:
        return peaks
    points = Points.joined([peak.points for peak in peaks if peak.points is not None])
    u = np.stack([peak.u for peak in peaks])
    curvature, drift = curvatures(profiles, u, points, np.arange(len(peaks)))
    return [replace(peak, curvature=curvature[k], drift=drift[k]) for k, peak in enumerate(peaks)]


def _middle_of_flat(profiles: Profiles, subject: int, grid: Grid, u: Matrix) -> int:
    """The best cell; the middle one of those that are as good, where the supremum is shared."""
    best = int(np.argmax(grid.values))
    near = np.flatnonzero(grid.values > grid.values[best] - ALIKE)
    steps = grid_steps(profiles)
    away = ((u[near] - u[near].mean(axis=0)) / steps) ** 2
    middle = int(near[np.argmin(away.sum(axis=1))])
    if middle == best:
        return best
    both = np.array([best, middle])
    points = profiles.solve(np.full(2, subject), grid.psi[both], with_slopes=False)
    return middle if points.value[1] > points.value[0] - 1e-6 else best


def _highest(peaks: Sequence[Peak]) -> Peak:
    return max(peaks, key=lambda peak: peak.point.value)


def _look_around(
    profiles: Profiles, whose: IntVector, found: list[list[Peak]], share: float
) -> None:
    """Climb from points beside the peaks, a share of a grid's step away, that are higher still."""
    best = [_highest(found[k]) for k in whose]
    ways = np.array([way for way in product((-1, 0, 1), repeat=profiles.n_shape) if any(way)])
    low, high = profiles.bounds[:, 0], profiles.bounds[:, 1]
    beside = np.stack([peak.u + share * grid_steps(profiles) * ways for peak in best])
    u = np.clip(beside, low, high).reshape(-1, profiles.n_shape)
    points = profiles.solve(
        np.repeat(whose, len(ways)), profiles.from_search(u), with_slopes=False, patient=False
    )
    values = points.value.reshape(len(whose), len(ways))
    known = np.array([peak.point.value for peak in best])
    higher = np.flatnonzero(values.max(axis=1) > known + 1e-9)
    cells = higher * len(ways) + values[higher].argmax(axis=1)
    _climb_all(profiles, points.psi, whose[higher], cells, found)


def _starts(grid: Grid, most: int) -> list[tuple[int, int]]:
    """Cells to climb from, and how near a peak must be to make that needless."""
    maxima, others = grid.starts(most)
    return [(i, 1) for i in maxima] + [(i, 3) for i in others]


def _climb_all(
    profiles: Profiles,
    psi: Matrix,
    whose: IntVector,
    cells: IntVector,
    found: list[list[Peak]],
    max_steps: int = 40,
) -> None:
    if len(whose):
        climbed = climb_together(profiles, whose, psi[cells], max_steps=max_steps, finish=False)
        for row, k in enumerate(whose):
            found[k].append(climbed.peak(row))


def _reached(profiles: Profiles, u: Matrix, start: tuple[int, int], peaks: Sequence[Peak]) -> bool:
    """Whether a peak lies within so many steps of the grid from a cell."""
    cell, steps = start
    reach = steps * grid_steps(profiles)
    return any(bool((np.abs(u[cell] - peak.u) <= reach).all()) for peak in peaks)


def grid_steps(profiles: Profiles) -> Vector:
    """Steps of the grid along each shape parameter, in search units."""
    n_steps = np.array([shape.n_grid - 1 for shape in profiles.shape])
    return np.asarray((profiles.bounds[:, 1] - profiles.bounds[:, 0]) / n_steps)


def best_peak(problem: Problem, grid: Grid, known: Sequence[Peak] = ()) -> Peak:
    """The highest peak of one subject."""
    return best_peaks(problem.profiles, [grid], [known], np.zeros(1, dtype=bool))[0]
