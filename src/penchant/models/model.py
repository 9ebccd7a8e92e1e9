"""What a model is: explanatory variables as a function of a few shape parameters psi.

A model declares its linear weights theta and its shape parameters psi, and gives the explanatory
variables of every decision for a given psi. That is all a user writes to add one:

    class Learner:
        weights = ("inverse_temperature",)
        shape = (pn.models.Shape("learning_rate", 0.0, 1.0),)

        def explanatory(self, episode, learning_rate):
            values, x = np.zeros(4), np.empty((episode.n_events, 4, 1))
            for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards)):
                x[t, :, 0] = values
                values[option] += learning_rate * (reward - values[option])
            return x

Row t may use what happened before event t only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
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


@dataclass(frozen=True)
class Natural:
    """A natural parameter as a function of weights and shape.

    Attributes
    ----------
    name
        What it is called.
    kind
        "weight": a weight itself; "reciprocal": 1 / weight; "ratio": weight / other weight;
        "share": scale / (1 + e^weight); "shape": scale * psi^power.
    index, other
        Which weight or shape parameter; the denominator of a ratio.
    scale, power
        For "shape"; the scale for "share", too.
    """

    name: str
    kind: Literal["weight", "reciprocal", "ratio", "share", "shape"]
    index: int
    other: int = 0
    scale: float = 1.0
    power: float = 1.0

    def value(self, theta: Vector, psi: Vector) -> float:
        """The natural parameter."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "weight":
                return float(theta[self.index])
            if self.kind == "reciprocal":
                return float(np.float64(1.0) / theta[self.index])
            if self.kind == "ratio":
                return float(np.float64(theta[self.index]) / theta[self.other])
            if self.kind == "share":
                return self.share_of(theta[self.index])
            return float(self.scale * np.float64(psi[self.index]) ** self.power)

    def share_of(self, weight: float) -> float:
        """The share that a weight, which may be infinite, stands for."""
        return float(self.scale * special.expit(-weight))

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """Derivatives in all weights, then in all shape parameters."""
        slope = np.zeros(len(theta) + len(psi))
        used = [theta[self.index]] if self.kind != "shape" else [psi[self.index]]
        used += [theta[self.other]] if self.kind == "ratio" else []
        divides = {"reciprocal": used[0], "ratio": used[-1]}.get(self.kind, 1.0)
        if not np.isfinite(used).all() or divides == 0:
            return np.full(len(slope), np.nan)
        if self.kind == "weight":
            slope[self.index] = 1.0
        elif self.kind == "reciprocal":
            slope[self.index] = -1.0 / theta[self.index] ** 2
        elif self.kind == "ratio":
            slope[self.index] = 1.0 / theta[self.other]
            slope[self.other] = -theta[self.index] / theta[self.other] ** 2
        elif self.kind == "share":
            share = special.expit(-theta[self.index])
            slope[self.index] = -self.scale * share * (1.0 - share)
        else:
            own = psi[self.index]
            slope[len(theta) + self.index] = self.scale * self.power * own ** (self.power - 1.0)
        return slope


@runtime_checkable
class Model(Protocol):
    """A softmax model that is linear in weights once the shape parameters are fixed."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the linear weights."""

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Shape parameters."""

    def explanatory(self, episode: Episode, *psi: float) -> Matrix:
        """Variables (n_events, n_options, n_weights), row t from what happened before event t."""


def natural_parameters(model: Model) -> tuple[Natural, ...]:
    """What the model declares, or its weights and shape parameters themselves."""
    declared: Sequence[Natural] | None = getattr(model, "natural", None)
    if declared is not None:
        return tuple(declared)
    weights = [Natural(name, "weight", a) for a, name in enumerate(model.weights)]
    return (*weights, *(Natural(s.name, "shape", a) for a, s in enumerate(model.shape)))


def positive_weights(model: Model) -> tuple[int, ...]:
    """Weights that must be positive."""
    names = getattr(model, "positive", ())
    return tuple(model.weights.index(name) for name in names)


def is_smooth(model: Model) -> bool:
    """Whether the variables are smooth in psi: yes, unless the model says `smooth = False`."""
    return bool(getattr(model, "smooth", True))


def model_words(model: Any) -> str:
    """The model in words: its own, or the name of its class."""
    own: Any = type(model)
    silent = own.__str__ is object.__str__ and own.__repr__ is object.__repr__
    return str(own.__name__) if silent else str(model)
