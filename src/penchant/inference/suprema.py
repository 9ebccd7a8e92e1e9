"""The best psi where weights have no maximum: the supremum of the profile, looked at closely.

Choices may be separated in part: some weights grow without end, while the others and psi still
have a best value. The likelihood then rises towards a supremum at every psi, and the highest of
these is between the points of the grid. No gradient is asked for: where weights grow without end
it tells little.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.grids import Grid, grid_steps
from penchant.inference.profiles import Profiles

ROUNDS = 14  # halvings of a step of the grid
LOST = 0.5  # log-units: a choice that is certain no more costs log 2 = 0.69 at once
HALVINGS = 30  # of a step of the grid, at whose end it is lost
GAIN = 1e-4  # log-units for which psi is moved; suprema are known a little better than that


def highest_suprema(profiles: Profiles, whose: IntVector, psi: Matrix, steps: Matrix) -> Matrix:
    """Psi of some subjects, moved to where the profile is highest around it.

    Parameters
    ----------
    psi
        The best point of the grid of each.
    steps
        Those of the grid, in search units.
    """
    n_shape = profiles.n_shape
    if not n_shape:
        return psi
    ways = np.array(list(product((-1.0, 0.0, 1.0), repeat=n_shape))).reshape(-1, n_shape)
    low, high = profiles.bounds.T
    u = profiles.to_search(psi)
    middle = int(np.flatnonzero(~ways.any(axis=1))[0])
    step = np.full(len(whose), 0.5)
    moving = np.arange(len(whose))
    for _ in range(2 * ROUNDS):
        if not len(moving):
            break
        beside = np.clip(u[moving][:, None] + step[moving, None, None] * steps * ways, low, high)
        points = profiles.solve(
            np.repeat(whose[moving], len(ways)),
            profiles.from_search(beside.reshape(-1, n_shape)),
            with_slopes=False,
            patient=False,
        )
        values = points.value.reshape(len(moving), len(ways))
        best = values.argmax(axis=1)
        row = np.arange(len(moving))
        higher = values[row, best] > values[:, middle] + GAIN
        u[moving[higher]] = beside[row, best][higher]
        step[moving[~higher]] /= 2
        # nothing to gain from where all is certain
        certain = values[:, middle] > -GAIN
        moving = moving[~certain & (step[moving] > 2.0**-ROUNDS)]
    return profiles.from_search(u)


def shared_suprema(
    profiles: Profiles, grids: Sequence[Grid], psi: Matrix, suprema: Vector, index: int
) -> Matrix:
    """Ends of one shape parameter between which subjects' suprema are reached: (n_subjects, 2).

    Where choices become certain in the limit, all psi up to one at which an option taken changes
    places with another explain them equally well. Infinite where the range of the search ends.

    Parameters
    ----------
    grids, psi, suprema
        Of each subject: the profile, a psi at which it comes to its supremum, and that.
    index
        Which shape parameter.
    """
    bounds, steps = profiles.bounds[index], grid_steps(profiles.shape)
    u = profiles.to_search(psi)
    cells = profiles.to_search(grids[0].psi)
    ends = np.empty((len(grids), 2))
    for side, sign in enumerate((-1.0, 1.0)):
        inside = np.array(
            [
                _outermost(cells, grid.values > top - LOST, at, sign, index)
                for grid, top, at in zip(grids, suprema, u, strict=True)
            ]
        )
        limit = bounds[side]
        outside = sign * np.minimum(sign * (inside[:, index] + sign * steps[index]), sign * limit)
        found = _last(profiles, suprema, inside, outside, index)
        ends[:, side] = np.where(sign * found >= sign * limit, sign * np.inf, found)
    return ends


def _outermost(cells: Matrix, reached: BoolVector, u: Vector, sign: float, index: int) -> Vector:
    """The cell of a grid furthest out that comes to the supremum, or u if none is further."""
    further = np.flatnonzero(reached & (sign * (cells[:, index] - u[index]) > 0))
    if not len(further):
        return u
    return np.asarray(cells[further[np.argmax(sign * cells[further, index])]])


def _last(
    profiles: Profiles, suprema: Vector, inside: Matrix, outside: Vector, index: int
) -> Vector:
    """The last position from inside to outside that comes to the supremum, by halving."""
    whose = np.arange(len(inside))

    def reaches(at: Vector) -> BoolVector:
        u = inside.copy()
        u[:, index] = at
        points = profiles.solve(whose, profiles.from_search(u), with_slopes=False, patient=False)
        return np.asarray(points.value > suprema - LOST)

    low, high = inside[:, index], outside
    low = np.where(reaches(high), high, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        further = reaches(middle)
        low, high = np.where(further, middle, low), np.where(further, high, middle)
    return low
