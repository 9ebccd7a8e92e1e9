"""Profiles along ridges on which learning rates near 0 grow in proportion while weights shrink.

Where all rates of a model are small, values are proportional to them, and choices tell the products
of rates and weights alone: the profile has a ridge along which rates grow a thousandfold. On the
linear scale of the search its curvature there is that across the ridge, divided by the square of
the rates: no step along it is as long as the ridge, and a standard error is that of where the climb
ended. The ridge is found by evaluating the profile at multiples of all small rates.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.pairs import Points
from penchant.inference.profile.profiles import Profiles

SMALL = 1e-3  # share of its range below which values are proportional to a rate
LARGEST = 0.1  # share of its range up to which a rate is multiplied
LOWEST = 1e-6  # of a range, whose lower end stands for 0
MULTIPLES = 10.0 ** np.arange(0.5, 7.1, 0.5)


def are_rates(profiles: Profiles) -> BoolVector:
    """Shape parameters of a linear range from nearly 0: (n_shape,)."""
    return np.array(
        [s.scale == "linear" and 0 < s.low <= LOWEST * s.high for s in profiles.shape], dtype=bool
    )


def points_along_ridges(
    profiles: Profiles, subject: IntVector, psi: Matrix
) -> tuple[IntVector, Vector, Points]:
    """Profiles where all small rates of some psi are multiplied: rows of psi, multiples, points."""
    rates = are_rates(profiles)
    share = np.where(rates, psi, np.inf) / np.where(rates, [s.high for s in profiles.shape], 1.0)
    small = share < SMALL
    largest = np.where(small, share, 0.0).max(axis=1, initial=0.0)
    row, which = np.nonzero((largest[:, None] > 0) & (largest[:, None] * MULTIPLES < LARGEST))
    multiples = MULTIPLES[which]
    there = np.where(small[row], psi[row] * multiples[:, None], psi[row])
    if not len(row):
        return row, multiples, profiles.blank(subject[row], there)
    points = profiles.solve(subject[row], there, with_slopes=False, patient=False)
    return row, multiples, points
