"""Profiles along ridges on which learning rates near 0 grow in proportion while weights shrink.

Where all rates of a model are small, values are proportional to them, and choices tell the products
of rates and weights alone: the profile has a ridge along which rates grow a thousandfold. On the
linear scale of the search its curvature there is that across the ridge, divided by the square of
the rates: no step along it is as long as the ridge, and a standard error is that of where Newton's
method stopped. The ridge is found by evaluating the profile at multiples of all small rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.inner_problems import InnerSolutions
from penchant.inference.profile.profile_likelihood import FINITE_VALUES, ProfileProblems

# Share of its range below which learnt values are proportional to a rate: after some hundred trials
# the next term is a tenth of it.
SMALL_RATE = 1e-3
# Share of its range up to which a rate is multiplied: beyond it values are not proportional to it.
MAX_MULTIPLIED_RATE = 0.1
# Share of its range by which a rate may begin above 0: other ranges have no such ridge.
MAX_RATE_LOW = 1e-6
# Half powers of ten: neighbours are near enough on a ridge that is straight in the logarithm.
MULTIPLES = 10.0 ** np.arange(0.5, 7.1, 0.5)


def rate_parameter_mask(profiles: ProfileProblems) -> BoolVector:
    """Whether shape parameters are rates, with a linear range from nearly 0: (n_shape,)."""
    return np.array(
        [s.scale == "linear" and 0 < s.low <= MAX_RATE_LOW * s.high for s in profiles.shape],
        dtype=bool,
    )


class ProportionalRates(NamedTuple):
    """Profiles with all small rates multiplied: rows of psi, multiples (n,) and solutions there."""

    rows: IntVector
    multiples: Vector
    points: InnerSolutions


def evaluate_proportional_rates(
    profiles: ProfileProblems, subject: IntVector, psi: Matrix
) -> ProportionalRates:
    """Evaluate profiles along the ridge on which small rates grow in proportion."""
    rates = rate_parameter_mask(profiles)
    share = np.where(rates, psi, np.inf) / np.where(rates, [s.high for s in profiles.shape], 1.0)
    small = share < SMALL_RATE
    largest = np.where(small, share, 0.0).max(axis=1, initial=0.0)
    row, which = np.nonzero(
        (largest[:, None] > 0) & (largest[:, None] * MULTIPLES < MAX_MULTIPLIED_RATE)
    )
    multiples = MULTIPLES[which]
    there = np.where(small[row], psi[row] * multiples[:, None], psi[row])
    if not len(row):
        points = profiles.empty_evaluations(subject[row], there)
        return ProportionalRates(row, multiples, points)
    points = profiles.solve(subject[row], there, accuracy=FINITE_VALUES)
    return ProportionalRates(row, multiples, points)
