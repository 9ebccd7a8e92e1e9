"""Profiles of many subjects on a grid of psi, refined where the maximum may lie.

Each point is a concave problem in the weights, solved by compiled Newton steps from the weights of
its neighbour. A search solves few points first, and then those between points that are near the
best or local maxima. The grid begins at both ends of the range: no start value has to be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.profile.profile_likelihood import (
    FINITE_VALUES,
    NUMBERS_AT_ONCE,
    ProfileProblems,
)
from penchant.models.model import Declared, Model
from penchant.models.parameters import Shape


@dataclass(frozen=True)
class ProfileGrid:
    """Profile of one subject on a grid of psi.

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
    solved
        Points where the profile was solved; elsewhere values and weights are interpolated. Values
        of a search are right to a hundredth of a log-unit near the best; elsewhere they only show
        that the point is far below it.
    """

    psi: Matrix
    values: Vector
    theta: Matrix
    dimensions: tuple[int, ...]
    solved: BoolVector


@dataclass(frozen=True)
class ProfileGrids:
    """Profiles of many subjects on the same grid: a `ProfileGrid` with subjects along a first axis.

    values and solved are (n, n_psi), theta is (n, n_psi, n_weights).
    """

    psi: Matrix
    values: Matrix
    theta: Matrix
    dimensions: tuple[int, ...]
    solved: BoolMatrix

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, k: int) -> ProfileGrid:
        return ProfileGrid(self.psi, self.values[k], self.theta[k], self.dimensions, self.solved[k])

    def __iter__(self) -> Iterator[ProfileGrid]:
        return (self[k] for k in range(len(self)))

    def take(self, which: IntVector) -> ProfileGrids:
        """Select subjects."""
        mine = self.values[which], self.theta[which]
        return ProfileGrids(self.psi, *mine, self.dimensions, self.solved[which])

    @classmethod
    def stacked(cls, grids: Sequence[ProfileGrid]) -> ProfileGrids:
        """Stack the grids of several subjects."""
        values, theta, solved = (
            np.stack([getattr(grid, name) for grid in grids])
            for name in ("values", "theta", "solved")
        )
        return cls(grids[0].psi, values, theta, grids[0].dimensions, solved)


def grid_points(model: Model) -> tuple[Matrix, tuple[int, ...]]:
    """Points of the model's grid (n, n_shape), and their number along each axis."""
    axes = [shape.grid() for shape in model.shape]
    if not axes:
        return np.empty((1, 0)), ()
    return product_points(axes), tuple(len(axis) for axis in axes)


def product_points(axes: Sequence[Vector]) -> Matrix:
    """Combine the values along axes in all ways: (n_points, n_axes)."""
    return np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)


def unconstrained_grid_steps(shape: Sequence[Shape]) -> Vector:
    """Grid step along each shape parameter, in unconstrained units."""
    return np.array([float(np.ptp(s.search_range)) / (s.n_grid - 1) for s in shape])


def _neighbour_values_along_axes(
    values: Matrix, dimensions: tuple[int, ...]
) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield the values below and above every point along each axis; its own at the ends."""
    whole = values.reshape(len(values), *dimensions)
    for axis, n in enumerate(dimensions, start=1):
        points = np.arange(n)
        below = whole.take(np.maximum(points - 1, 0), axis)
        above = whole.take(np.minimum(points + 1, n - 1), axis)
        yield below.reshape(values.shape), above.reshape(values.shape)


def _local_maximum_mask(values: Matrix, dimensions: tuple[int, ...]) -> BoolMatrix:
    """Points that no neighbour along an axis exceeds: (n, n_psi)."""
    found = np.isfinite(values)
    for below, above in _neighbour_values_along_axes(values, dimensions):
        found &= (values >= below) & (values >= above)
    return found


def best_cells(
    values: Matrix, dimensions: tuple[int, ...], n_cells: int
) -> tuple[IntMatrix, BoolMatrix]:
    """Best cells of every subject to start from, and which of them are local maxima of the grid.

    Local maxima come first, the highest before others. A ridge across the grid has few of them in
    sharp profiles: the best of all other points fill up.
    """
    maxima = _local_maximum_mask(values, dimensions)
    cells = np.lexsort((-values, ~maxima))[:, :n_cells]
    return cells, np.take_along_axis(maxima, cells, axis=1)


def are_flat(values: Matrix, dimensions: tuple[int, ...], cells: IntMatrix) -> BoolMatrix:
    """Whether cells (n, n_cells) are level with their neighbours: no gradient leads away."""
    level = np.ones(values.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for pair in _neighbour_values_along_axes(values, dimensions):
            for beside in pair:
                level &= np.abs(beside - values) < GRID.flat_tol
    return np.take_along_axis(level, cells, axis=1)


def parabola_vertices(
    values: Matrix, dimensions: tuple[int, ...], row: IntVector, cell: IntVector
) -> Matrix:
    """Vertices of parabolas through cells and their neighbours, in grid steps from the cells.

    Parameters
    ----------
    values
        ProfileProblems of all subjects: (n_subjects, n_psi).
    row, cell
        Subject and cell, (n,). Axes are treated one by one; a vertex is at most half a step away.
    """
    shift, own = np.zeros((len(cell), len(dimensions))), values[row, cell]
    for axis, place in enumerate(np.unravel_index(cell, dimensions)):
        inside = (place > 0) & (place < dimensions[axis] - 1)
        stride = np.where(inside, math.prod(dimensions[axis + 1 :]), 0)
        below, above = values[row, cell - stride], values[row, cell + stride]
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = 2.0 * own - below - above
            found = 0.5 * (above - below) / bend
        known = inside & np.isfinite(found) & (bend > 0)
        shift[:, axis] = np.where(known, np.clip(found, -0.5, 0.5), 0.0)
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
    def from_dimensions(cls, dimensions: tuple[int, ...]) -> CoarseGrid:
        """Coarsen a grid with so many points along its axes."""
        return cls(dimensions, tuple(np.unique([*range(0, n, 2), n - 1]) for n in dimensions))

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(map(len, self.axes))

    @property
    def cells(self) -> IntVector:
        """Indices of its points in the whole grid."""
        mesh = np.meshgrid(*self.axes, indexing="ij")
        return np.asarray(np.ravel_multi_index([m.ravel() for m in mesh], self.dimensions))

    def mark_neighbours(self, marked: BoolVector) -> BoolVector:
        """Mark points of the whole grid at and beside those marked (n, n_coarse): (n, n_psi)."""
        # Neighbours outside the grid are number -1: a last column, which is dropped.
        near = np.zeros((len(marked), math.prod(self.dimensions) + 1), dtype=bool)
        row, cell = np.nonzero(marked)
        near[row[:, None], self._neighbour_table[cell]] = True
        return near[:, :-1]

    @property
    def _neighbour_table(self) -> IntVector:
        """Points of the whole grid up to a step from each coarse one, or -1: (n_coarse, 3^n)."""
        ways = np.array(list(product((-1, 0, 1), repeat=len(self.dimensions))))
        places = np.stack(np.unravel_index(self.cells, self.dimensions), axis=1)[:, None] + ways
        inside = ((places >= 0) & (places < self.dimensions)).all(axis=2)
        number = np.ravel_multi_index(np.moveaxis(places, 2, 0), self.dimensions, mode="clip")
        return np.where(inside, number, -1)

    def interpolated(self, values: Matrix) -> Matrix:
        """Values (n, n_coarse, ...) at all points of the whole grid, by linear interpolation."""
        found, behind = values, math.prod(values.shape[2:])
        for known, n in reversed(list(zip(self.axes, self.dimensions, strict=True))):
            low = np.searchsorted(known, np.arange(n), side="right") - 1
            high = low + (known[low] < np.arange(n))
            given = found.reshape(-1, len(known), behind)
            with np.errstate(invalid="ignore"):  # between suprema at opposite infinities is none
                found = 0.5 * (given[:, low] + given[:, high])
            behind *= n
        return found.reshape(len(values), -1, *values.shape[2:])


@dataclass(frozen=True, slots=True)
class ProfileGridOptions:
    """Accuracy and refinement of grids; heights are in log-units.

    Squared Newton decrements are those before the last step, which leaves their square.
    """

    exact_decrement: float = 1e-7  # one more step squares it: exact to rounding
    # One more step leaves an error of a hundredth at most: enough to choose cells to start from.
    rough_decrement: float = 1e-3
    # Error allowed for in rough values: cells closer than this are solved again to compare.
    rough_error: float = 0.01
    # Suprema this close to the best are solved to their end: diverging weights may gain as much.
    solve_suprema_within: float = 0.5
    # Refine around all points this close to the best. With 2, 5 of 1,500 people end lower, by up
    # to 1.9, and cells fall by 1 to 20 % only.
    max_refined_deficit: float = 3.0
    # Further below, one or two steps show that a point is not needed.
    max_exact_deficit: float = 4.0
    # Local maxima this close to the best are refined and started from: plateaus lie deeper, from
    # which no gradient leads away.
    max_local_maximum_deficit: float = 12.0
    # A smooth profile that bends less around a point is wider than a grid step: what lies between
    # is found by Newton's method. Of 12,000 people 2 end lower by it, by up to 5e-5.
    max_second_difference: float = 1.0
    # Difference of neighbours of a flat profile: no probability differs, gradients are rounding.
    flat_tol: float = 1e-6
    n_refinements: int = 2  # halvings of the coarsest step; with more it would overlook maxima


GRID = ProfileGridOptions()
# Points along an axis below which no coarser grid is solved first, by the number of shape
# parameters; in more dimensions grid steps are long, and a coarser grid overlooks maxima.
MIN_POINTS_TO_COARSEN = {1: 9, 2: 5}
MIN_POINTS_TO_COARSEN_MANY = 9  # of three and more shape parameters


def full_grids(profiles: ProfileProblems) -> ProfileGrids:
    """Profile at every point of the grid."""
    psi, dimensions = grid_points(profiles.model)
    values, theta, _ = _solve_along_grid_lines(
        profiles, psi, dimensions[-1] if dimensions else 1, GRID.exact_decrement
    )
    return ProfileGrids(psi, values, theta, dimensions, np.ones(values.shape, dtype=bool))


def search_grids(profiles: ProfileProblems) -> ProfileGrids:
    """Profile on the grid, solved where the maximum may lie and interpolated elsewhere.

    Few points along each axis are solved, then those beside points that are among the best or
    local maxima; and again. In between values and weights are linear.
    """
    psi, dimensions = grid_points(profiles.model)
    grids, rough = _refine_grids(profiles, psi, dimensions, GRID.n_refinements if dimensions else 0)
    _solve_near_ties_exactly(profiles, grids)
    subject, cell = np.nonzero(rough)
    near = (
        grids.values[subject, cell] > grids.values.max(axis=1)[subject] - GRID.solve_suprema_within
    )
    subject, cell = subject[near], cell[near]
    if len(subject):
        points = profiles.solve(subject, psi[cell], accuracy=FINITE_VALUES)
        better = points.value > grids.values[subject, cell]
        at = subject[better], cell[better]
        grids.values[at], grids.theta[at] = points.value[better], points.theta[better]
    return grids


def _solve_near_ties_exactly(profiles: ProfileProblems, grids: ProfileGrids) -> None:
    """Re-solve all points within the error of the best exactly, so that the best is decided."""
    best = grids.values.max(axis=1, keepdims=True)
    subject, cell = np.nonzero(grids.solved & (grids.values > best - GRID.rough_error))
    exact = _solve_pairs_in_portions(
        profiles, subject, grids.psi[cell], grids.theta[subject, cell], GRID.exact_decrement
    )
    grids.values[subject, cell], grids.theta[subject, cell] = exact.values, exact.theta


def _refine_grids(
    profiles: ProfileProblems, psi: Matrix, dimensions: tuple[int, ...], rounds: int
) -> tuple[ProfileGrids, BoolVector]:
    """Refine recursively from a coarser grid; second, which points are rough suprema."""
    if rounds == 0 or min(dimensions) < MIN_POINTS_TO_COARSEN.get(
        len(dimensions), MIN_POINTS_TO_COARSEN_MANY
    ):
        n_per_line = dimensions[-1] if dimensions else 1
        values, theta, rough = _solve_along_grid_lines(
            profiles, psi, n_per_line, GRID.rough_decrement, GRID.max_local_maximum_deficit
        )
        return ProfileGrids(
            psi, values, theta, dimensions, np.ones(values.shape, dtype=bool)
        ), rough
    coarse = CoarseGrid.from_dimensions(dimensions)
    found, rough_found = _refine_grids(profiles, psi[coarse.cells], coarse.shape, rounds - 1)
    values, theta = coarse.interpolated(found.values), coarse.interpolated(found.theta)
    solved = np.zeros(values.shape, dtype=bool)
    solved[:, coarse.cells] = found.solved
    rough = np.zeros_like(solved)
    rough[:, coarse.cells] = rough_found
    bent = (
        GRID.max_second_difference
        if Declared(profiles.model).smooth and len(dimensions) in MIN_POINTS_TO_COARSEN
        else 0.0
    )
    to_solve = coarse.mark_neighbours(_cells_to_refine(found, bent)) & ~solved
    at = np.nonzero(to_solve)
    floor = found.values.max(axis=1)[at[0]] - GRID.max_exact_deficit
    pairs = at[0], psi[at[1]], theta[at]
    values[at], theta[at], rough[at] = _solve_pairs_in_portions(
        profiles, *pairs, GRID.rough_decrement, floor
    )
    return ProfileGrids(psi, values, theta, dimensions, solved | to_solve), rough


def _cells_to_refine(grids: ProfileGrids, max_second_difference: float) -> BoolVector:
    """Points between which and their neighbours the maximum may lie.

    They are among the best, or local maxima not far below; not those inside the range around which
    a smooth profile bends by less than `max_second_difference`: what lies between is found by
    Newton's method.
    """
    values = grids.values
    best = values.max(axis=1, keepdims=True)
    resolved = np.pad(np.ones([n - 2 for n in grids.dimensions], dtype=bool), 1).ravel()
    with np.errstate(invalid="ignore"):
        below = best - values
        # At an end of an axis there is no second difference to judge by. Neighbours that were not
        # solved are interpolated: the profile bent little on a coarser grid.
        resolved = np.tile(resolved, (len(values), 1))
        for low, high in _neighbour_values_along_axes(values, grids.dimensions):
            resolved &= np.abs(low + high - 2.0 * values) < max_second_difference
        # On a plateau small second differences do not exclude a narrow maximum between cells.
        resolved &= best - values.min(axis=1, keepdims=True) >= GRID.max_refined_deficit
    high_maxima = (below < GRID.max_local_maximum_deficit) & _local_maximum_mask(
        values, grids.dimensions
    )
    return np.asarray(grids.solved & ((below < GRID.max_refined_deficit) | high_maxima) & ~resolved)


def _has_compiled_inner_solver(profiles: ProfileProblems) -> bool:
    return profiles.prior is None and profiles.n_options >= 2


class _RoughSolutions(NamedTuple):
    """Objective and best weights (..., n_weights) of pairs of a subject and a psi.

    Those that `is_rough` are suprema that Newton's method may have stopped below.
    """

    values: Matrix
    theta: Matrix
    is_rough: BoolMatrix


def _solve_along_grid_lines(
    profiles: ProfileProblems,
    psi: Matrix,
    n_per_line: int,
    decrement_tol: float,
    rough_below: float = np.inf,
) -> _RoughSolutions:
    """Solve all psi for all subjects: (n_subjects, n_psi).

    psi (n_psi, n_shape) lie in lines of n_per_line neighbours each; `decrement_tol`: of squared
    Newton decrements before the last step; `rough_below`: how far below others points are rough.
    """
    n, d = len(profiles.groups), profiles.n_weights
    values, theta = np.empty((n, len(psi))), np.empty((n, len(psi), d))
    rough, everyone = np.zeros(values.shape, dtype=bool), np.arange(n)
    if not _has_compiled_inner_solver(profiles):
        pairs = np.repeat(everyone, len(psi)), np.tile(psi, (n, 1))
        points = profiles.solve(*pairs, accuracy=FINITE_VALUES)
        return _RoughSolutions(
            points.value.reshape(n, -1), points.theta.reshape(theta.shape), rough
        )
    for who, some in _cache_portions(profiles, len(psi)):
        n_who, n_some = who.stop - who.start, some.stop - some.start
        subject = np.repeat(everyone[who], n_some)
        start_pair = _start_pair_indices(n_some, n_per_line, n_who)
        best = np.zeros((len(subject), d))
        pairs = subject, np.tile(psi[some], (n_who, 1))
        found, doubts = _solve_pairs(
            profiles, *pairs, start_pair, best, (decrement_tol, compiled.NO_FLOOR, rough_below)
        )
        values[who, some] = found.reshape(n_who, n_some)
        theta[who, some] = best.reshape(n_who, n_some, d)
        rough[who, some] = doubts.reshape(n_who, n_some)
    return _RoughSolutions(values, theta, rough)


def _solve_pairs_in_portions(
    profiles: ProfileProblems,
    subject: IntVector,
    psi: Matrix,
    start: Matrix,
    decrement_tol: float,
    floor: Vector | None = None,
) -> _RoughSolutions:
    """Solve pairs, each from its own start.

    `floor`: heights below which values may be inexact.
    """
    none = np.zeros(len(subject), dtype=bool)
    if not len(subject):
        return _RoughSolutions(np.empty(0), start, none)
    if not _has_compiled_inner_solver(profiles):
        points = profiles.solve(subject, psi, accuracy=FINITE_VALUES)
        return _RoughSolutions(points.value, points.theta, none)
    theta, afresh = start.copy(), np.full(len(subject), -1)
    if floor is None:
        floor = np.full(len(subject), -np.inf)
    parts = [
        _solve_pairs(
            profiles,
            subject[some],
            psi[some],
            afresh[some],
            theta[some],
            (decrement_tol, floor[some], np.inf),
        )
        for some in (slice(*ends) for ends in profiles.portions(subject))
    ]
    values, rough = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _RoughSolutions(values, theta, rough)


def _cache_portions(profiles: ProfileProblems, n_psi: int) -> Iterator[tuple[slice, slice]]:
    """Split subjects and psi into portions whose variables stay in the processor's cache.

    A subject's psi are split by its own size alone, so that no result depends on other subjects.
    """
    numbers = profiles.n_events * profiles.n_options * profiles.n_weights
    first = 0
    while first < len(numbers):
        at_once = max(1, NUMBERS_AT_ONCE // max(int(numbers[first]), 1))
        if at_once < n_psi:
            for begin in range(0, n_psi, at_once):
                yield slice(first, first + 1), slice(begin, min(begin + at_once, n_psi))
            first += 1
            continue
        whole = np.cumsum(numbers[first:]) * n_psi <= NUMBERS_AT_ONCE
        last = first + max(1, int(whole.sum()))
        yield slice(first, last), slice(0, n_psi)
        first = last


def _start_pair_indices(n_psi: int, n_per_line: int, n_subjects: int) -> IntVector:
    """Index of the pair each starts from: the one before in its line, or the last line's first."""
    point = np.arange(n_psi)
    before = point - np.where(point % n_per_line, 1, n_per_line)
    first = n_psi * np.arange(n_subjects)[:, None]
    return np.asarray(np.where(before >= 0, before + first, -1).ravel())


def _solve_pairs(
    profiles: ProfileProblems,
    subject: IntVector,
    psi: Matrix,
    start_pair: IntVector,
    theta: Matrix,
    stopping_limits: tuple[float, Vector, float],
) -> tuple[Vector, BoolVector]:
    """Objective of pairs, and which are rough; theta, the starts, becomes the weights.

    `stopping_limits`: the squared Newton decrement before the last step; heights below which a step
    more is not worth it, of each pair, and relative to the highest pair of the subject before.
    """
    x, _ = profiles.variables(subject, psi, False)
    values = np.empty(len(subject))
    compiled.solve_weights(
        x,
        profiles.decisions,
        np.ascontiguousarray(subject),
        start_pair,
        stopping_limits[0],
        profiles.positive,
        values,
        theta,
        floor=stopping_limits[1],
        unbounded_height=stopping_limits[2],
    )
    lost, rough = np.isnan(values), np.zeros(len(subject), dtype=bool)
    nowhere = profiles.zero_outside_domain(x, None, subject, lost)
    values[nowhere] = -np.inf
    # Compiled steps give NaN where the weights diverge: only the general solver finds the supremum.
    left = np.flatnonzero(lost & ~nowhere)
    if len(left):
        pairs = subject[left], psi[left]
        points = profiles.solve(
            *pairs, accuracy=replace(FINITE_VALUES, accept_unbounded_weights=True)
        )
        values[left], theta[left] = points.value, points.theta
        held = (points.theta[:, profiles.positive] <= 0).any(axis=1)
        rough[left] = held & ~points.converged & (len(profiles.positive) > 1)
    return values, rough
