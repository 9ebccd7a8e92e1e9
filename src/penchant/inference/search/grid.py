"""The profiles of many subjects on the grid of psi, each point from its neighbour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.profiles import NUMBERS_AT_ONCE, Profiles
from penchant.models.model import Declared, Model
from penchant.models.natural import Shape


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
        Points where the profile was looked at; elsewhere values and weights are made of those
        around. Values of a search are good to a hundredth of a log-unit near the best, and enough
        to tell that they are far below it elsewhere.
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

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, k: int) -> Grid:
        return Grid(self.psi, self.values[k], self.theta[k], self.dimensions, self.looked[k])

    def __iter__(self) -> Iterator[Grid]:
        return (self[k] for k in range(len(self)))

    def take(self, which: IntVector) -> Grids:
        """Those of some subjects."""
        mine = self.values[which], self.theta[which]
        return Grids(self.psi, *mine, self.dimensions, self.looked[which])

    @classmethod
    def single(cls, grid: Grid) -> Grids:
        """One as the only one."""
        values = grid.values[None], grid.theta[None]
        return cls(grid.psi, *values, grid.dimensions, grid.looked[None])

    @classmethod
    def joined(cls, grids: Sequence[Grid]) -> Grids:
        """Those of several subjects, one after another."""
        values, theta, looked = (
            np.stack([getattr(grid, name) for grid in grids])
            for name in ("values", "theta", "looked")
        )
        return cls(grids[0].psi, values, theta, grids[0].dimensions, looked)


# grids of subjects; one that is known to be far below its peak may be what computes it when asked
Searched = Grids | Sequence[Grid | Callable[[], Grid]]


def known_grids(grids: Searched) -> tuple[Grids | None, IntVector]:
    """Those that are known, together, or None if there are none; and which they are."""
    if isinstance(grids, Grids):
        return grids, np.arange(len(grids))
    known = {k: grid for k, grid in enumerate(grids) if isinstance(grid, Grid)}
    return Grids.joined(list(known.values())) if known else None, np.array(list(known), dtype=int)


def grids_of(grids: Searched, which: IntVector) -> Grids:
    """Those of some subjects, computed where they are not known."""
    if isinstance(grids, Grids):
        return grids.take(which)
    some = [grids[k] for k in which.tolist()]
    return Grids.joined([grid() if callable(grid) else grid for grid in some])


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


def _along(dimensions: tuple[int, ...]) -> IntVector:
    return np.array(dimensions, dtype=np.int64)


def best_cells(
    values: Matrix, dimensions: tuple[int, ...], most: int
) -> tuple[IntVector, BoolVector]:
    """Cells to climb from, for every subject, and which of them are local maxima of the grid.

    Local maxima come first, the highest before others. Ridges make few of them in sharp profiles:
    the best of all other points fill up.
    """
    size = len(values), min(most, values.shape[1])
    cells, maxima = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    compiled.choose_best(values, _along(dimensions), cells, maxima)
    return cells, maxima


def are_level(values: Matrix, dimensions: tuple[int, ...], cells: IntVector) -> BoolVector:
    """Which cells (n, most) are as high as their neighbours: no climb leads away from there."""
    found = np.empty(cells.shape, dtype=bool)
    compiled.mark_level(values, _along(dimensions), cells, LEVEL, found)
    return found


def vertices(
    values: Matrix, dimensions: tuple[int, ...], row: IntVector, cell: IntVector
) -> Matrix:
    """Where parabolas through cells and their neighbours peak, in steps from the cells.

    Parameters
    ----------
    values
        Of all subjects: (n_subjects, n_psi).
    row, cell
        (n,); along every axis the vertex is looked for, and at most half a step away.
    """
    shift = np.empty((len(cell), len(dimensions)))
    compiled.find_vertices(values, _along(dimensions), row, cell, shift)
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

    def around(self, marked: BoolVector) -> BoolVector:
        """Points of the whole grid beside those marked (n, n_coarse), and these: (n, n_psi)."""
        near = np.zeros((len(marked), math.prod(self.dimensions)), dtype=bool)
        compiled.mark_around(marked, self._beside, near)
        return near

    @property
    def _beside(self) -> IntVector:
        """Points of the whole grid up to a step from each of these: (n_coarse, 3^n); or -1."""
        ways = np.array(list(product((-1, 0, 1), repeat=len(self.dimensions))))
        places = np.stack(np.unravel_index(self.cells, self.dimensions), axis=1)[:, None] + ways
        inside = ((places >= 0) & (places < self.dimensions)).all(axis=2)
        number = np.ravel_multi_index(np.moveaxis(places, 2, 0), self.dimensions, mode="clip")
        return np.where(inside, number, -1)

    def filled(self, values: Matrix) -> Matrix:
        """Values (n, n_coarse, ...) at all points of the whole grid: in between they are linear."""
        found, behind = np.ascontiguousarray(values), math.prod(values.shape[2:])
        for known, n in reversed(list(zip(self.axes, self.dimensions, strict=True))):
            low = np.searchsorted(known, np.arange(n), side="right") - 1
            given = found.reshape(-1, len(known), behind)
            found = np.empty((len(given), n, behind))
            compiled.blend(given, low, low + (known[low] < np.arange(n)), found)
            behind *= n
        return found.reshape(len(values), -1, *values.shape[2:])


LEVEL = 1e-6  # log-units between neighbours where nothing that could be chosen differs any more
NEAR = 1e-7  # squared Newton decrement from which one step more is as good as exact,
ROUGH = 1e-3  # and from which it is right to a hundredth, mostly far better: enough for a search
GOOD_TO = 0.01  # log-units by which such a value may be off, of a point near the best
NEARLY_BEST = 0.5  # log-units below the best, within which suprema are solved to their end
CLOSE = 3.0  # log-units below the best within which no point of a grid is left out
DOWN = 4.0  # and from which on they are told roughly,
DEEP = 12.0  # and within which all local maxima are looked at closely
BENT = 1.0  # log-units by which a smooth profile may bend around a point: it is wider than a step
ROUNDS = 2  # of looking closer
FEWEST = {1: 9, 2: 5}  # points along an axis of which some are left out at first, by the number of
OF_MANY = 9  # shape parameters; in more dimensions, where the steps of a grid are long


def whole_grids(profiles: Profiles) -> Grids:
    """The profile at every point of the grid."""
    psi, dimensions = grid_points(profiles.model)
    values, theta, _ = _on_lines(profiles, psi, dimensions[-1] if dimensions else 1, NEAR)
    return Grids(psi, values, theta, dimensions, np.ones(values.shape, dtype=bool))


def searched_grids(profiles: Profiles) -> Grids:
    """The profile on the grid where it may matter for its maximum; elsewhere about what it is.

    Few points along each axis are looked at, then those between them that lie beside points which
    are among the best, or local maxima; and again. In between values and weights are linear.
    """
    psi, dimensions = grid_points(profiles.model)
    grids, rough = _searched(profiles, psi, dimensions, ROUNDS if dimensions else 0)
    _tell_the_best_apart(profiles, grids)
    subject, cell = np.nonzero(rough)
    near = grids.values[subject, cell] > grids.values.max(axis=1)[subject] - NEARLY_BEST
    subject, cell = subject[near], cell[near]
    if len(subject):
        points = profiles.solve(subject, psi[cell], with_slopes=False, patient=False)
        better = points.value > grids.values[subject, cell]
        at = subject[better], cell[better]
        grids.values[at], grids.theta[at] = points.value[better], points.theta[better]
    return grids


def _tell_the_best_apart(profiles: Profiles, grids: Grids) -> None:
    """Solve points that are as high as the best, as far as is known, as exactly as others need."""
    best = grids.values.max(axis=1, keepdims=True)
    subject, cell = np.nonzero(grids.looked & (grids.values > best - GOOD_TO))
    told = _one_by_one(profiles, subject, grids.psi[cell], grids.theta[subject, cell], NEAR)
    grids.values[subject, cell], grids.theta[subject, cell] = told[:2]


def _searched(
    profiles: Profiles, psi: Matrix, dimensions: tuple[int, ...], rounds: int
) -> tuple[Grids, BoolVector]:
    """The same of some grid, from one that is coarser by as many rounds; which points are rough."""
    if rounds == 0 or min(dimensions) < FEWEST.get(len(dimensions), OF_MANY):
        n_last = dimensions[-1] if dimensions else 1
        values, theta, rough = _on_lines(profiles, psi, n_last, ROUGH, DEEP)
        return Grids(psi, values, theta, dimensions, np.ones(values.shape, dtype=bool)), rough
    coarse = CoarseGrid.of(dimensions)
    found, of_found = _searched(profiles, psi[coarse.cells], coarse.shape, rounds - 1)
    values, theta = coarse.filled(found.values), coarse.filled(found.theta)
    looked = np.zeros(values.shape, dtype=bool)
    looked[:, coarse.cells] = found.looked
    rough = np.zeros_like(looked)
    rough[:, coarse.cells] = of_found
    bent = BENT if Declared(profiles.model).smooth and len(dimensions) in FEWEST else 0.0
    wanted = coarse.around(_worth_a_look(found, bent)) & ~looked
    at = np.nonzero(wanted)
    floor = found.values.max(axis=1)[at[0]] - DOWN
    pairs = at[0], psi[at[1]], theta[at]
    values[at], theta[at], rough[at] = _one_by_one(profiles, *pairs, ROUGH, floor)
    return Grids(psi, values, theta, dimensions, looked | wanted), rough


def _worth_a_look(grids: Grids, bent: float) -> BoolVector:
    """Points whose surroundings may hold the maximum.

    Not those inside the range around which a smooth profile bends by less than `bent`: what is
    between them and their neighbours is found by climbs.
    """
    found = np.empty(grids.looked.shape, dtype=bool)
    given = grids.values, grids.looked, _along(grids.dimensions)
    compiled.mark_promising(*given, (CLOSE, DEEP, bent), found)
    return found


def _is_compiled(profiles: Profiles) -> bool:
    return profiles.prior is None and profiles.n_options >= 2


def _on_lines(
    profiles: Profiles, psi: Matrix, n_last: int, enough: float, deep: float = np.inf
) -> tuple[Matrix, Matrix, BoolVector]:
    """Objective (n_subjects, n_psi) and weights (n_subjects, n_psi, n_weights) of all subjects.

    psi (n_psi, n_shape) lie in lines of n_last neighbours each; `enough`: the squared Newton
    decrement before the last step; `deep`: how far below others points are told roughly. Third,
    which are rough: suprema that Newton's method may have stopped below.
    """
    n, d = len(profiles.groups), profiles.n_weights
    values, theta = np.empty((n, len(psi))), np.empty((n, len(psi), d))
    rough, everyone = np.zeros(values.shape, dtype=bool), np.arange(n)
    if not _is_compiled(profiles):
        pairs = np.repeat(everyone, len(psi)), np.tile(psi, (n, 1))
        points = profiles.solve(*pairs, with_slopes=False, patient=False)
        return points.value.reshape(n, -1), points.theta.reshape(theta.shape), rough
    for who, some in _portions(profiles, len(psi)):
        n_who, n_some = who.stop - who.start, some.stop - some.start
        subject = np.repeat(everyone[who], n_some)
        near = _neighbours(n_some, n_last, n_who)
        best = np.zeros((len(subject), d))
        pairs = subject, np.tile(psi[some], (n_who, 1))
        found, doubts = _solve(profiles, *pairs, near, best, (enough, compiled.ANY_HEIGHT, deep))
        values[who, some] = found.reshape(n_who, n_some)
        theta[who, some] = best.reshape(n_who, n_some, d)
        rough[who, some] = doubts.reshape(n_who, n_some)
    return values, theta, rough


def _one_by_one(
    profiles: Profiles,
    subject: IntVector,
    psi: Matrix,
    start: Matrix,
    enough: float,
    floor: Vector | None = None,
) -> tuple[Vector, Matrix, BoolVector]:
    """Objective and weights of pairs of a subject and a psi, each from its own; which are rough.

    `floor`: heights below which pairs need not be told well.
    """
    none = np.zeros(len(subject), dtype=bool)
    if not len(subject):
        return np.empty(0), start, none
    if not _is_compiled(profiles):
        points = profiles.solve(subject, psi, with_slopes=False, patient=False)
        return points.value, points.theta, none
    theta, afresh = start.copy(), np.full(len(subject), -1)
    if floor is None:
        floor = np.full(len(subject), -np.inf)
    parts = [
        _solve(
            profiles,
            subject[some],
            psi[some],
            afresh[some],
            theta[some],
            (enough, floor[some], np.inf),
        )
        for some in (slice(*ends) for ends in profiles.portions(subject))
    ]
    values, rough = (np.concatenate(part) for part in zip(*parts, strict=True))
    return values, theta, rough


def _portions(profiles: Profiles, n_psi: int) -> Iterator[tuple[slice, slice]]:
    """Subjects and psi whose variables fit into memory together.

    A subject's psi are split by its own size alone, so that no result depends on the company.
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


def _neighbours(n_psi: int, n_last: int, n_subjects: int) -> IntVector:
    """The pair whose weights each starts from: before it in its line, or where the last began."""
    point = np.arange(n_psi)
    before = point - np.where(point % n_last, 1, n_last)
    first = n_psi * np.arange(n_subjects)[:, None]
    return np.asarray(np.where(before >= 0, before + first, -1).ravel())


def _solve(
    profiles: Profiles,
    subject: IntVector,
    psi: Matrix,
    near: IntVector,
    theta: Matrix,
    ends: tuple[float, Vector, float],
) -> tuple[Vector, BoolVector]:
    """The objective of pairs, and which are rough; theta, from where they start, is filled.

    `ends`: the squared Newton decrement before the last step; heights below which none is worth
    another, of each pair and relative to the highest of the subject before.
    """
    x, _ = profiles.variables(subject, psi, False)
    values = np.empty(len(subject))
    compiled.profile(
        x,
        profiles.decisions,
        np.ascontiguousarray(subject),
        near,
        ends[0],
        profiles.positive,
        values,
        theta,
        floor=ends[1],
        deep=ends[2],
    )
    lost, rough = np.isnan(values), np.zeros(len(subject), dtype=bool)
    nowhere = profiles.outside(x, None, subject, lost)
    values[nowhere] = -np.inf
    left = np.flatnonzero(lost & ~nowhere)
    if len(left):
        pairs = subject[left], psi[left]
        points = profiles.solve(*pairs, with_slopes=False, patient=False, roughly=True)
        values[left], theta[left] = points.value, points.theta
        held = (points.theta[:, profiles.positive] <= 0).any(axis=1)
        rough[left] = held & ~points.settled & (len(profiles.positive) > 1)
    return values, rough
