"""Starts beside steps of profiles and at small rates, where peaks are narrower than grid cells.

Where a threshold is sharp, the profile over it has a step at every value that was offered, and a
peak of its own may lie between any two of them. The model declares the values (`Declared.steps`).
The profile is evaluated at each of them and half-way between neighbours, for every other point of
the grid of the other shape parameters, and Newton's method begins from the highest local maxima.

Where two or more learning rates are near 0, values follow their ratio, and a peak is as narrow as
the rates are small: the profile is evaluated below the first step of the grid, too.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.inference.profile.profiles import Profiles
from penchant.inference.proportional import are_rates
from penchant.inference.search.climb import climb_together
from penchant.inference.search.grid import Grids, best_cells, grid_steps
from penchant.inference.search.peaks import Peaks
from penchant.models.model import Declared

MOST_STEPS = 200  # values of one person; of more, as many are taken at equal ranks
N_STARTS = 8  # local maxima from which Newton's method begins
CLOSE = 2.0  # the same for small rates, of which most lie on the slope of a peak already found
BELOW = 6.0  # log-units below the best, from which a climb is hopeless


def climb_from_steps(profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks) -> None:
    """Climb from beside the steps that the model declares; `best` is improved in place."""
    declared = Declared(profiles.model).steps
    assert declared is not None
    for subject in whose.tolist():
        found = [declared(episode) for episode in profiles.groups[subject]]
        for q, shape in enumerate(profiles.shape):
            values = [one[shape.name] for one in found if shape.name in one]
            if values:
                places = _places(np.unique(np.concatenate(values)), shape.low, shape.high)
                _climb(profiles, grids, subject, q, places, best)


def _places(values: Vector, low: float, high: float) -> Vector:
    """Values inside a range, thinned out if they are many, and the middles between them."""
    values = values[(values > low) & (values < high)]
    if len(values) > MOST_STEPS:
        values = values[np.linspace(0, len(values) - 1, MOST_STEPS).round().astype(int)]
    ends = np.concatenate([[low], values, [high]])
    return np.unique(np.concatenate([values, (ends[1:] + ends[:-1]) / 2]))


def _climb(
    profiles: Profiles, grids: Grids, subject: int, q: int, places: Vector, best: Peaks
) -> None:
    """Climb from the best of some places of parameter q, with the others on their grids."""
    axes = [shape.grid()[::2] for shape in profiles.shape]
    axes[q] = places
    dimensions = tuple(len(axis) for axis in axes)
    psi = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    top = float(best.points.value[subject])
    points = profiles.solve(
        np.full(len(psi), subject),
        psi,
        _weights_near(profiles, grids, subject, psi),
        with_slopes=False,
        patient=False,
        proven=False,
        floor=np.full(len(psi), top - BELOW),
    )
    cells, _ = best_cells(points.value[None], dimensions, N_STARTS)
    cells = cells[0][points.value[cells[0]] > top - BELOW]
    if len(cells):
        whose = np.full(len(cells), subject)
        climbs = climb_together(profiles, whose, psi[cells], finish=False)
        best.improve_by_any(whose, climbs.peaks(), np.arange(len(cells)))


def _weights_near(profiles: Profiles, grids: Grids, subject: int, psi: Matrix) -> Matrix:
    """Weights of the nearest points of the grid, to start Newton's method from."""
    low = profiles.bounds[:, 0]
    rank = np.rint((profiles.to_search(psi) - low) / grid_steps(profiles.shape)).astype(int)
    rank = np.clip(rank, 0, np.array(grids.dimensions) - 1)
    return np.asarray(grids.theta[subject, np.ravel_multi_index(rank.T, grids.dimensions)])


SMALL_RATES = (0.01, 0.05, 0.25)  # steps of the grid from 0
THINNED = 4  # every how manyth point of the grid is taken beside them


def climb_from_small_rates(profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks) -> None:
    """Climb from rates below the first step of the grid; `best` is improved in place."""
    rates = are_rates(profiles)
    steps = [shape.grid()[1] - shape.low for shape in profiles.shape]
    coarse = [shape.grid()[::THINNED] for shape in profiles.shape]
    axes = [
        np.concatenate([step * np.array(SMALL_RATES), axis[1:]]) if rate else axis
        for rate, step, axis in zip(rates, steps, coarse, strict=True)
    ]
    psi = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    n, m = len(whose), len(psi)
    subject, at = np.repeat(whose, m), np.tile(np.arange(m), n)
    top = best.points.value[subject]
    values = profiles.solve(
        subject, psi[at], with_slopes=False, patient=False, proven=False, floor=top - BELOW
    ).value.reshape(n, m)
    cells, _ = best_cells(values, tuple(len(axis) for axis in axes), N_STARTS)
    row, rank = np.nonzero(
        np.take_along_axis(values, cells, 1) > best.points.value[whose, None] - CLOSE
    )
    cell = cells[row, rank]
    small = np.any(rates & (psi[cell] < steps), axis=1)
    row, cell = row[small], cell[small]
    if len(row):
        climbs = climb_together(profiles, whose[row], psi[cell], finish=False)
        best.improve_by_any(whose[row], climbs.peaks(), np.arange(len(row)))
