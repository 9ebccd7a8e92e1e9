"""Models of one-shot choices written as columns of NumPy: what each weight multiplies."""

from __future__ import annotations

from penchant._typing import Matrix, Vector
from penchant.models.model import Described
from penchant.models.natural import Natural
from penchant.models.offers.variables import Pairs, Prepared, StaticModel

TEMPERATURE = Natural("temperature", "reciprocal", 0)


class ColumnModel(StaticModel):
    """Base of models whose first weight is 1/tau, and whose others are ratios to it.

    They define `columns`, `column_slopes` where there are shape parameters, and `option_values`, by
    which people are simulated: the equation in natural parameters, apart from the columns.
    """

    weights: tuple[str, ...]

    def columns(self, offers: Described, psi: Vector) -> Matrix:
        """Variables (n, n_options, n_weights) of some decisions at one psi."""
        raise NotImplementedError

    def column_slopes(self, offers: Described, psi: Vector) -> Matrix:
        """Their derivatives in each shape parameter, (n_shape, n, n_options, n_weights)."""
        raise NotImplementedError

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """The columns of every person at every psi."""
        starts, which, psi = pairs
        row = 0
        for k, e in enumerate(which):
            mine = slice(starts[e], starts[e + 1])
            end = row + int(starts[e + 1] - starts[e])
            names = zip(self.attributes, prepared, strict=True)
            offers = {name: values[mine] for name, values in names}
            x[row:end] = self.columns(offers, psi[k])
            if slopes.shape[1]:
                slopes[:, row:end] = self.column_slopes(offers, psi[k])
            row = end


def ratios(*names: str) -> tuple[Natural, ...]:
    """Temperature, and parameters that are the weights after the first over the first."""
    return (TEMPERATURE, *(Natural(name, "ratio", a, 0) for a, name in enumerate(names, start=1)))


def shapes(*names: str) -> tuple[Natural, ...]:
    """Shape parameters under their own names."""
    return tuple(Natural(name, "shape", a) for a, name in enumerate(names))
