"""Shape parameters psi: their ranges, scales of the search, and what the ends stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError

SQUEEZE = 8.0  # search units from 1 to either end of a range from 0 to infinity


@dataclass(frozen=True)
class Limit:
    """What the end of a range stands for, where a model has a limit there.

    Attributes
    ----------
    value
        The limit: 0, 1 or infinity. The end is so near to it that the likelihood is the same.
    meaning
        What the model is there, in words that continue a sentence.
    lost
        Natural parameters that go there together, so that they have no value of their own.
    told
        What choices tell of them instead: its name, and the weight that times psi^power it is.
    """

    value: float
    meaning: str
    lost: tuple[str, ...] = ()
    told: tuple[str, int, float] | None = None

    def words(self, name: str, psi: float, theta: Vector) -> str:
        """The limit of a shape parameter in words, at the best weights."""
        said = f"{name} = {self.value:g}, where {self.meaning}"
        if self.told is None:
            return said
        product, weight, power = self.told
        return f"{said}: choices tell {product} = {psi**power * theta[weight]:.4g} alone"


@dataclass(frozen=True)
class Shape:
    """A shape parameter: its range, and the scale on which it is searched.

    Parameters
    ----------
    name
        What it is called.
    low, high
        Smallest and largest value looked at.
    scale
        "linear", or "log" for a positive parameter known to its order of magnitude.
    n_grid
        Points of the grid from which the search starts.
    squeezed
        For a "log" range that stands for all from 0 to infinity: the grid is dense around 1, where
        something changes, and squeezed towards the ends.
    at_low, at_high
        What the ends stand for, where they are limits of the model and not of the search alone.
    """

    name: str
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    n_grid: int = 25
    squeezed: bool = False
    at_low: Limit | None = None
    at_high: Limit | None = None

    def __post_init__(self) -> None:
        if self.scale not in ("linear", "log"):
            raise DataError(f"scale must be 'linear' or 'log'; got {self.scale!r}. Choose one.")
        lowest = 0.0 if self.scale == "log" else -np.inf
        if not lowest < self.low < self.high < np.inf:
            raise DataError(
                f"low and high of {self.name} must be increasing"
                + (" and positive" if self.scale == "log" else "")
                + f"; got {self.low} and {self.high}. Correct the range."
            )
        if self.squeezed and self.scale != "log":
            raise DataError(
                f"squeezed must come with scale='log'; got {self.scale!r}. Leave it out, or "
                "give a positive range."
            )
        if self.n_grid < 3:
            raise DataError(f"n_grid must be at least 3; got {self.n_grid}. 25 is usual.")

    def grid(self) -> Vector:
        """Points from low to high, equally spaced on the scale of the search."""
        points = np.asarray(self.from_search(np.linspace(*self.search_range, self.n_grid)))
        points[0], points[-1] = self.low, self.high
        return points

    @property
    def search_range(self) -> tuple[float, float]:
        """Range on the scale of the search."""
        return float(self.to_search(self.low)), float(self.to_search(self.high))

    def to_search(self, value: Any) -> Any:
        """Value on the scale of the search: its logarithm, or the range in ten units."""
        if self.scale == "log":
            return SQUEEZE * np.tanh(np.log(value) / SQUEEZE) if self.squeezed else np.log(value)
        return (np.asarray(value, dtype=np.float64) - self.low) / self._linear_unit

    def from_search(self, value: Any) -> Any:
        """Value in its own units, kept inside the range."""
        if self.scale == "linear":
            return np.clip(self.low + self._linear_unit * value, self.low, self.high)
        if self.squeezed:
            inside = np.clip(value, *self.search_range)  # infinite ones too
            value = SQUEEZE * np.arctanh(inside / SQUEEZE)
        return np.clip(np.exp(value), self.low, self.high)

    def stretch(self, value: Any) -> Any:
        """Derivative of the value in search units."""
        if self.squeezed:
            return value * np.cosh(np.log(value) / SQUEEZE) ** 2
        return value if self.scale == "log" else self._linear_unit

    def limit(self, upper: bool) -> Limit | None:
        """What an end stands for, or None where it is the end of the search alone."""
        return self.at_high if upper else self.at_low

    @property
    def _linear_unit(self) -> float:
        return (self.high - self.low) / 10.0
