"""Points of indifference: the discount rates at which two options are worth the same.

On one side of such a point one option is better, on the other side the other. The rates between two
neighbouring points explain the same choices; a person who is perfectly consistent has their rate in
one of these intervals, whatever their temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.models.static import check_attributes

Option = tuple[Vector, Vector]  # amount and delay


class Discounting(Protocol):
    """A model with one rate k, in which two options change places at most once."""

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """Rate at which two options are worth the same."""


def consistent_range(model: Discounting, trials: Any) -> tuple[float, float] | None:
    """The rates under which every choice is the better option, or None."""
    points, until = crossings(model, trials)
    if np.isnan(points).any():
        return None
    low = float(points[~until].max(initial=0.0))
    high = float(points[until].min(initial=np.inf))
    return (low, high) if low < high else None


def crossings(model: Discounting, trials: Any) -> tuple[Vector, BoolVector]:
    """Where each option taken changes places with each of the others.

    Returns
    -------
    Points of indifference, one per option not taken: infinity where the option taken is better at
    every rate, NaN where it is at none; and whether it is better up to the point, or from there.
    """
    several = trials if isinstance(trials, Sequence) else [trials]
    found = [_crossings(model, one) for one in several]
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _crossings(model: Discounting, trials: Any) -> tuple[Vector, BoolVector]:
    check_attributes(trials, ("amount", "delay"), type(model).__name__)
    taken = np.repeat(trials.scored_options, trials.n_options - 1)
    others = [[i for i in range(trials.n_options) if i != c] for c in trials.scored_options]
    other = np.array(others, dtype=np.int64).reshape(-1)
    row = np.repeat(np.flatnonzero(trials.scored), trials.n_options - 1)
    amount, delay = trials.offers["amount"], trials.offers["delay"]
    return _points(
        model, (amount[row, taken], delay[row, taken]), (amount[row, other], delay[row, other])
    )


def _points(model: Discounting, taken: Option, other: Option) -> tuple[Vector, BoolVector]:
    """The same for options taken and as many others."""
    points = model.indifferent_at(taken, other)
    crosses = (points > 0) & np.isfinite(points)
    (a, d), (b, e) = taken, other
    # without discounting the larger amount is better; of equal ones, that which loses less first
    never = (a < b) | ((a == b) & (a * d > b * e))
    apart = np.where(never, np.nan, np.inf)
    return np.where(crosses, points, apart), np.where(crosses, a > b, True)
