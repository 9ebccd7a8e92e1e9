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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from scipy import special

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.errors import DataError

if TYPE_CHECKING:
    from penchant.bandit.beliefs import RewardPrior

Described = Mapping[str, Matrix]  # numbers that describe every option, by name
T = TypeVar("T")
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


class Agents(Protocol):
    """Agents in play."""

    def probabilities(self) -> Matrix:
        """Choice probabilities (n_agents, n_options)."""

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received."""


class Member(Generic[T]):
    """A member that a model may have, and what is taken where it has none."""

    def __init__(self, otherwise: T) -> None:
        self.otherwise = otherwise

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, declared: Declared, owner: type) -> T:
        found: T = getattr(declared.model, self.name, self.otherwise)
        return found


class Declared:
    """All that a model may say, with what is taken where it says nothing.

    Every part of the library asks a model through this class, so that these are all the members
    that have a meaning. `weights`, `shape` and `explanatory` are those that every model has.

    Attributes
    ----------
    natural
        Natural parameters; None for the weights and shape parameters themselves.
    positive
        Weights that must not be negative.
    smooth
        Whether the variables are smooth in psi.
    n_options, attributes
        Number of options; for a model of `Offers`, what it must know of every option.
    locations, noise_variance
        Where the options lie, and the variance of their rewards that the player takes for known.
    clock
        Whether an option that is shown takes the time of a choice: "events" if so, or "choices".
    explanatory_and_slopes
        Of an episode and psi: the variables, and their derivatives in psi along a first axis.
    explanatory_many
        Of a `Record`, the places of episodes in it and a psi for each: all variables in one call,
        and their derivatives if asked for; see `CompiledModel`.
    objective
        Of an episode, theta and psi: the objective written out, for `check_model` to compare.
    agents
        Of natural parameters and a number: as many `Agents` before play.
    parameter_names, usual_parameters
        Natural parameters that agents may be given, used or not; those that have a usual value.
    option_values
        Of offers by attribute and natural parameters: what every option is worth, which a
        simulation divides by the temperature.
    latent
        Of an episode, theta and psi: what the player believes before each event, by name; see
        `beliefs`.
    for_rewards, for_parameters
        The model with the defaults that these rewards, or these parameters of agents, call for.
    because
        Why such a default was chosen.
    doubts, notes_on
        Of episodes: sentences on settings that the data speak against, and on what a reader should
        know.
    unidentified
        For a weight that data may not tell: what to do, in a sentence.
    consistent_rates
        Of episodes: from which to which rate all choices are explained, or None.
    nominal_point
        Of a `RewardPrior`: psi, and the ratios of the weights to the first, to linearise about.
    holding
        Of a `RewardPrior`: the model with what the prior holds fixed, and the prior without it.
    largest_deviation
        Of an episode and psi: how far the first of psi may deviate in the linearised model.
    """

    weights: Member[tuple[str, ...] | None] = Member(None)
    shape: Member[tuple[Shape, ...] | None] = Member(None)
    explanatory: Member[Callable[..., Matrix] | None] = Member(None)
    natural: Member[Sequence[Natural] | None] = Member(None)
    positive: Member[Sequence[str]] = Member(())
    smooth: Member[bool] = Member(True)
    n_options: Member[int | None] = Member(None)
    attributes: Member[tuple[str, ...]] = Member(())
    locations: Member[Matrix | None] = Member(None)
    noise_variance: Member[Any] = Member(None)
    clock: Member[Literal["events", "choices"]] = Member("events")
    explanatory_and_slopes: Member[Callable[..., tuple[Matrix, Matrix]] | None] = Member(None)
    explanatory_many: Member[Callable[..., tuple[Matrix, Matrix | None]] | None] = Member(None)
    objective: Member[Callable[[Any, Vector, Vector], Any] | None] = Member(None)
    agents: Member[Callable[[dict[str, float], int], Agents] | None] = Member(None)
    parameter_names: Member[Sequence[str]] = Member(())
    usual_parameters: Member[Mapping[str, float]] = Member({})
    option_values: Member[Callable[[Described, Mapping[str, float]], Matrix] | None] = Member(None)
    latent: Member[Callable[[Any, Vector, Vector], Described] | None] = Member(None)
    for_rewards: Member[Callable[[Vector], Any] | None] = Member(None)
    for_parameters: Member[Callable[[Mapping[str, Any]], Any] | None] = Member(None)
    because: Member[str] = Member("")
    doubts: Member[Callable[[Sequence[Any]], tuple[str, ...]] | None] = Member(None)
    notes_on: Member[Callable[[Sequence[Any]], tuple[str, ...]] | None] = Member(None)
    unidentified: Member[Mapping[str, str]] = Member({})
    consistent_rates: Member[Callable[[Any], tuple[float, float] | None] | None] = Member(None)
    nominal_point: Member[Callable[[RewardPrior], tuple[Vector, Vector]] | None] = Member(None)
    holding: Member[Callable[[RewardPrior], tuple[Any, RewardPrior]] | None] = Member(None)
    largest_deviation: Member[Callable[[Episode, Vector], float] | None] = Member(None)

    def __init__(self, model: Any) -> None:
        self.model = model


def natural_parameters(model: Model) -> tuple[Natural, ...]:
    """What the model declares, or its weights and shape parameters themselves."""
    declared = Declared(model).natural
    if declared is not None:
        return tuple(declared)
    weights = [Natural(name, "weight", a) for a, name in enumerate(model.weights)]
    return (*weights, *(Natural(s.name, "shape", a) for a, s in enumerate(model.shape)))


def positive_weights(model: Model) -> tuple[int, ...]:
    """Weights that must be positive."""
    return tuple(model.weights.index(name) for name in Declared(model).positive)


def model_words(model: Any) -> str:
    """The model in words: its own, or the name of its class."""
    own: Any = type(model)
    silent = own.__str__ is object.__str__ and own.__repr__ is object.__repr__
    return str(own.__name__) if silent else str(model)
