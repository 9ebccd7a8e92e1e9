"""Grids of psi: the profile at their points, and the cells from which to climb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.models.model import Model, Shape


@dataclass(frozen=True)
class Grid:
    """The profile of one subject on a grid of psi.

    Attributes
    ----------
    psi
        Points (n, n_shape), in the shape parameters' own units.
    values
        Maximised objective at each.
    theta
        The best weights at each.
    dimensions
        Points along each shape parameter.
    looked
        Points where values and weights are exact; elsewhere they are made of those around.
    """

    psi: Matrix
    values: Vector
    theta: Matrix
    dimensions: tuple[int, ...]
    looked: BoolVector


@dataclass(frozen=True)
class Grids:
    """The profiles of many subjects on the same grid: a `Grid` with subjects along a first axis.

    values and looked are (n, n_psi), theta is (n, n_psi, n_weights).
    """

    psi: Matrix
    values: Matrix
    theta: Matrix
    dimensions: tuple[int, ...]
    looked: BoolVector

    def of(self, k: int) -> Grid:
        """That of one subject."""
        return Grid(self.psi, self.values[k], self.theta[k], self.dimensions, self.looked[k])

    @classmethod
    def single(cls, grid: Grid) -> Grids:
        """One as the only one."""
        values = grid.values[None], grid.theta[None]
        return cls(grid.psi, *values, grid.dimensions, grid.looked[None])


def grid_points(model: Model) -> tuple[Matrix, tuple[int, ...]]:
    """All points of the model's grid (n, n_shape), and how many there are along each axis."""
    axes = [shape.grid() for shape in model.shape]
    if not axes:
        return np.empty((1, 0)), ()
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.stack([m.ravel() for m in mesh], axis=1), tuple(len(axis) for axis in axes)


def grid_steps(shape: Sequence[Shape]) -> Vector:
    """Steps of the grid along each shape parameter, in search units."""
    return np.array([float(np.ptp(s.search_range)) / (s.n_grid - 1) for s in shape])


def local_maxima(values: Matrix, dimensions: tuple[int, ...]) -> BoolVector:
    """Points (n_subjects, n_psi) that are no lower than their neighbours along every axis."""
    shaped = values.reshape(-1, *dimensions)
    top = np.isfinite(shaped)
    for axis in range(1, shaped.ndim):
        low, high = [slice(None)] * shaped.ndim, [slice(None)] * shaped.ndim
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        below, above = shaped[tuple(low)], shaped[tuple(high)]
        top[tuple(low)] &= below >= above
        top[tuple(high)] &= above >= below
    return top.reshape(values.shape)


def best_cells(
    values: Matrix, dimensions: tuple[int, ...], most: int
) -> tuple[IntVector, BoolVector]:
    """Cells to climb from, for every subject, and which of them are local maxima of the grid.

    Local maxima come first, the highest before others. Ridges make few of them in sharp profiles:
    the best of all other points fill up.
    """
    top = local_maxima(values, dimensions)
    rank = np.lexsort((-values, ~top), axis=-1)[:, :most]
    return rank, np.take_along_axis(top, rank, axis=1)


def vertices(values: Matrix, dimensions: tuple[int, ...], cell: IntVector) -> Matrix:
    """Where parabolas through cells and their neighbours peak, in steps from the cells.

    Parameters
    ----------
    values
        (n, n_psi), one row for every cell.
    cell
        (n,); along every axis the vertex is looked for, and at most half a step away.
    """
    row = np.arange(len(cell))
    shift = np.zeros((len(cell), len(dimensions)))
    stride = 1
    for axis in reversed(range(len(dimensions))):
        place = cell // stride % dimensions[axis]
        inside = (place > 0) & (place < dimensions[axis] - 1)
        below = values[row, np.where(inside, cell - stride, cell)]
        above = values[row, np.where(inside, cell + stride, cell)]
        with np.errstate(invalid="ignore", divide="ignore"):
            bend = 2 * values[row, cell] - below - above
            found = np.clip(0.5 * (above - below) / bend, -0.5, 0.5)
        shift[:, axis] = np.where(np.isfinite(found) & (bend > 0), found, 0.0)
        stride *= dimensions[axis]
    return shift


@dataclass(frozen=True)
class CoarseGrid:
    """Every other point of a grid along each axis, the ends included.

    Attributes
    ----------
    dimensions
        Points along each axis of the whole grid.
    axes
        Which of them belong to the coarse grid.
    """

    dimensions: tuple[int, ...]
    axes: tuple[IntVector, ...]

    @classmethod
    def of(cls, dimensions: tuple[int, ...]) -> CoarseGrid:
        """Of a grid with so many points along its axes."""
        return cls(dimensions, tuple(np.unique([*range(0, n, 2), n - 1]) for n in dimensions))

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(map(len, self.axes))

    @property
    def cells(self) -> IntVector:
        """Its points as points of the whole grid."""
        mesh = np.meshgrid(*self.axes, indexing="ij")
        return np.asarray(np.ravel_multi_index([m.ravel() for m in mesh], self.dimensions))

    @property
    def corners(self) -> IntVector:
        """For every point of the whole grid, a point of the coarse one beside it."""
        nearest = [
            np.searchsorted(axis, np.arange(n), side="right") - 1
            for axis, n in zip(self.axes, self.dimensions, strict=True)
        ]
        mesh = np.meshgrid(*nearest, indexing="ij")
        return np.asarray(np.ravel_multi_index([m.ravel() for m in mesh], self.shape))

    def around(self, marked: BoolVector) -> BoolVector:
        """Points of the whole grid beside those marked (n, n_coarse), and these: (n, n_psi)."""
        near = np.zeros((len(marked), *self.dimensions), dtype=bool)
        near.reshape(len(marked), -1)[:, self.cells] = marked
        for axis in range(1, near.ndim):
            wide = near.copy()
            low, high = [slice(None)] * near.ndim, [slice(None)] * near.ndim
            low[axis], high[axis] = slice(None, -1), slice(1, None)
            wide[tuple(low)] |= near[tuple(high)]
            wide[tuple(high)] |= near[tuple(low)]
            near = wide
        return near.reshape(len(marked), -1)

    def filled(self, values: Matrix) -> Matrix:
        """Values (n, n_coarse) at all points of the whole grid: in between they are linear."""
        filled = values.reshape(-1, *self.shape)
        for axis, (known, n) in enumerate(zip(self.axes, self.dimensions, strict=True), start=1):
            place = np.interp(np.arange(n), known, np.arange(len(known)))
            below = np.minimum(place.astype(np.int64), len(known) - 2)
            share = (place - below).reshape(-1, *[1] * (filled.ndim - axis - 1))
            low, high = filled.take(below, axis), filled.take(below + 1, axis)
            filled = np.where(share == 0, low, np.where(share == 1, high, (low + high) / 2))
        return filled.reshape(len(values), -1)
