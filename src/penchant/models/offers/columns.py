"""Models of one-shot choices written as columns of NumPy: what each weight multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.models.model import Described
from penchant.models.natural import Natural
from penchant.models.offers.variables import Pairs, Prepared, StaticModel

TEMPERATURE = Natural("temperature", "reciprocal", 0)
AT_ONCE = 4096  # decisions whose numbers stay in the cache


class ColumnModel(StaticModel):
    """Base of models whose first weight is 1/tau, and whose others are ratios to it.

    They define `columns`, `column_slopes` where there are shape parameters, and `option_values`, by
    which people are simulated: the equation in natural parameters, apart from the columns.
    """

    weights: tuple[str, ...]

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """Variables (n, n_options, n_weights) of some decisions, each at a psi of its own.

        psi[a] is (n, 1): shape parameter a at every decision.
        """
        raise NotImplementedError

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """Their derivatives in each shape parameter, (n_shape, n, n_options, n_weights)."""
        raise NotImplementedError

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """The columns of every person at every psi, of many pairs at once."""
        starts, which, psi = pairs
        counts = np.diff(starts)[which]
        ends = np.cumsum(counts)
        first = 0
        while first < len(which):
            begin = ends[first] - counts[first]
            last = max(first + 1, int(np.searchsorted(ends, begin + AT_ONCE, side="right")))
            some, mine = slice(first, last), slice(begin, ends[last - 1])
            skipped = starts[which[some]] - (ends[some] - counts[some])
            rows = np.arange(mine.start, mine.stop) + np.repeat(skipped, counts[some])
            described = zip(self.attributes, prepared, strict=True)
            offers = {name: np.take(values, rows, axis=0) for name, values in described}
            at = np.repeat(psi[some], counts[some], axis=0).T[:, :, None]
            x[mine] = self.columns(offers, at)
            if slopes.shape[1]:
                slopes[:, mine] = self.column_slopes(offers, at)
            first = last


def ratios(*names: str) -> tuple[Natural, ...]:
    """Temperature, and parameters that are the weights after the first over the first."""
    return (TEMPERATURE, *(Natural(name, "ratio", a, 0) for a, name in enumerate(names, start=1)))


def shapes(*names: str) -> tuple[Natural, ...]:
    """Shape parameters under their own names."""
    return tuple(Natural(name, "shape", a) for a, name in enumerate(names))
