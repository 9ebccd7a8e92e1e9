"""The best psi where weights have no maximum: the supremum of the profile, looked at closely.

Choices may be separated in part: some weights grow without end, while the others and psi still
have a best value. The likelihood then rises towards a supremum at every psi, and the highest of
these is between the points of the grid. No gradient is asked for: where weights grow without end
it tells little.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.inference.profiles import Profiles

ROUNDS = 14  # halvings of a step of the grid
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
