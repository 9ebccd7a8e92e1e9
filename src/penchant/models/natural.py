"""Shape parameters psi, and natural parameters as functions of the weights theta and of psi.

There are seven forms. Each says what the parameter is and how it changes, where the weights lie
when it has a given value, between which ends it lies, and along which positions its profile is
followed: psi in unconstrained units for a shape parameter, the logarithm for a reciprocal, the
weight for a share, the value itself for weights and ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.links import Link

LOG_3 = float(np.log(3.0))
SQUEEZE = 8.0  # unconstrained units from 1 to either end of a range from 0 to infinity


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
        points = np.asarray(self.from_unconstrained(np.linspace(*self.search_range, self.n_grid)))
        points[0], points[-1] = self.low, self.high
        return points

    @property
    def search_range(self) -> tuple[float, float]:
        """Range on the scale of the search."""
        return float(self.to_unconstrained(self.low)), float(self.to_unconstrained(self.high))

    def to_unconstrained(self, value: Any) -> Any:
        """Value on the scale of the search: its logarithm, or the range in ten units."""
        if self.scale == "log":
            return SQUEEZE * np.tanh(np.log(value) / SQUEEZE) if self.squeezed else np.log(value)
        return (np.asarray(value, dtype=np.float64) - self.low) / self._linear_unit

    def from_unconstrained(self, value: Any) -> Any:
        """Value in its own units, kept inside the range."""
        if self.scale == "linear":
            return _inside(self.low + self._linear_unit * value, self.low, self.high)
        if self.squeezed:
            inside = np.clip(value, *self.search_range)  # infinite ones too
            value = SQUEEZE * np.arctanh(inside / SQUEEZE)
        return _inside(np.exp(value), self.low, self.high)

    def stretch(self, value: Any) -> Any:
        """Derivative of the value in unconstrained units."""
        if self.squeezed:
            return value * np.cosh(np.log(value) / SQUEEZE) ** 2
        return value if self.scale == "log" else self._linear_unit

    def limit(self, upper: bool) -> Limit | None:
        """What an end stands for, or None where it is the end of the search alone."""
        return self.at_high if upper else self.at_low

    @property
    def _linear_unit(self) -> float:
        return (self.high - self.low) / 10.0


def _inside(value: Any, low: float, high: float) -> Any:
    """The value, or the end of the range that it is beyond; np.clip takes five times as long."""
    return np.minimum(np.maximum(value, low), high)


Kind = Literal["weight", "reciprocal", "ratio", "share", "shape", "function", "shape function"]


class Curve(NamedTuple):
    """A smooth function that always rises, or always falls.

    Attributes
    ----------
    name
        What it is, in words.
    at
        Its values.
    slope, bend
        Its first and second derivative.
    inverse
        Where it has a value.
    """

    name: str
    at: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    bend: Callable[[Any], Any]
    inverse: Callable[[Any], Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """Those below are kept by name, as their functions have none."""
        kept = CURVES.get(self.name) is self
        return (_curve_named, (self.name,)) if kept else (Curve, tuple(self))


def _curve_named(name: str) -> Curve:
    return CURVES[name]


ITSELF = Curve(
    "itself", np.asarray, np.ones_like, np.zeros_like, lambda v: np.asarray(v, dtype=np.float64)
)
LOG_3_OF_1_MORE = Curve(
    "log3(1 + u)",
    lambda u: np.log1p(u) / LOG_3,
    lambda u: 1.0 / (LOG_3 * (1.0 + u)),
    lambda u: -1.0 / (LOG_3 * (1.0 + u) ** 2),
    lambda v: np.expm1(LOG_3 * v),
)
ONE_LESS = Curve(
    "1 - u", lambda u: 1.0 - u, lambda u: -np.ones_like(u), np.zeros_like, lambda v: 1.0 - v
)
MINUS_LOG_3 = Curve(
    "-log3 u",
    lambda u: -np.log(u) / LOG_3,
    lambda u: -1.0 / (LOG_3 * u),
    lambda u: 1.0 / (LOG_3 * u**2),
    lambda v: np.exp(-LOG_3 * v),
)
CURVES = {curve.name: curve for curve in (ITSELF, LOG_3_OF_1_MORE, ONE_LESS, MINUS_LOG_3)}


@dataclass(frozen=True)
class Natural:
    """A natural parameter as a function of weights and shape.

    `Natural(name, kind, index)` makes the one of its kind, such as a `ReciprocalParameter`.

    Attributes
    ----------
    name
        What it is called.
    kind
        "weight": a weight itself; "reciprocal": 1 / weight; "ratio": weight / other weight;
        "share": scale / (1 + e^weight); "shape": scale * psi^power; "function": a curve of a sum of
        weights, or of one sum over another; "shape function": a curve of psi.
    index, other
        Which weight or shape parameter; the denominator of a ratio.
    scale, power
        For "shape"; the scale for "share", too.
    parts, over
        For "function": weights of the sum, `index` if none are named; and of the sum that it is
        divided by, if any.
    curve
        For "function" and "shape function".
    low, high
        For "function" and "shape function": between which values it lies.
    """

    name: str
    kind: Kind
    index: int
    other: int = 0
    scale: float = 1.0
    power: float = 1.0
    parts: tuple[int, ...] = ()
    over: tuple[int, ...] = ()
    curve: Curve = ITSELF
    low: float = -np.inf
    high: float = np.inf

    is_weight: ClassVar[bool] = False
    is_shape: ClassVar[bool] = False
    is_ratio: ClassVar[bool] = False
    is_logarithmic: ClassVar[bool] = False  # the positions along it are logarithms
    is_curve: ClassVar[bool] = False  # it stands beside what it is made of, not in its place
    is_open: ClassVar[bool] = False  # it lies between finite ends, and never at one
    rises: ClassVar[float] = 1.0  # sign by which positions follow the weight; 0: they do not

    def __new__(cls, name: str = "", kind: str = "weight", *_: Any, **__: Any) -> Self:
        """Make the parameter of its kind."""
        if cls is not Natural:
            return super().__new__(cls)
        if kind not in FORMS:
            raise DataError(
                f"kind must be one of {', '.join(FORMS)}; got {kind!r} for {name}. Choose one."
            )
        return super().__new__(FORMS[kind])  # type: ignore[return-value]  # each is a Natural

    @property
    def weights(self) -> tuple[int, ...]:
        """Weights that it is made of."""
        return (self.index,)

    @property
    def moved(self) -> Natural:
        """The parameter whose values are the positions along this one, or their exponentials."""
        return self

    def refers(self, n_weights: int, n_shape: int) -> bool:
        """Whether a model of so many weights and shape parameters has what it is made of."""
        known = {a for a in self.weights if 0 <= a < n_weights}
        return len(known) == len(self.weights)

    # -- value and gradient ----------------------------------------------------------------------

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights (n, n_weights)."""
        return np.asarray(theta[:, self.index])

    def bends(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients (n, n_weights) and Hessians in the weights, at many of them."""
        n, d = theta.shape
        return np.repeat(np.eye(d)[None, self.index], n, axis=0), np.zeros((n, d, d))

    def slopes(self, theta: Matrix) -> Matrix:
        """Gradients in the weights at many of them; NaN where there are none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = self.bends(theta)[0]
        fine = np.asarray(np.isfinite(found).all(axis=1))
        fine &= np.isfinite(theta[:, list(self.weights)]).all(axis=1)
        return np.where(fine[:, None], found, np.nan)

    def value(self, theta: Vector, psi: Vector) -> float:
        """The natural parameter."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.of_weights(np.asarray(theta, dtype=np.float64)[None])[0])

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """Derivatives in all weights, then in all shape parameters; NaN where there are none."""
        theta = np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = np.append(self.bends(theta[None])[0][0], np.zeros(len(psi)))
        fine = np.isfinite(theta[list(self.weights)]).all() and np.isfinite(slope).all()
        return slope if fine else np.full(len(slope), np.nan)

    def put(self, value: float, theta: Vector, psi: Vector) -> None:
        """Write the weight or shape parameter that gives this value; ratios come last."""
        theta[self.index] = self.weight_at(np.float64(value)) * self.denominator(theta)

    # -- where the weights lie -------------------------------------------------------------------

    def denominator(self, theta: Vector) -> Any:
        """What its weight is divided by: the other weight of a ratio, else 1."""
        return 1.0

    def weight_at(self, values: Any) -> Any:
        """The weight that it is made of, at these values."""
        return values

    def plane(self, values: Vector, d: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
        """Where the d weights lie at these values: origin + basis phi, or row'theta = right."""
        n = len(values)
        origin, basis = np.zeros((n, d)), np.repeat(np.eye(d)[None], n, axis=0)
        row, right = np.zeros((n, d)), np.array(self.weight_at(values), dtype=np.float64)
        row[:, self.index] = 1.0
        origin[:, self.index] = right
        return origin, np.delete(basis, self.index, axis=2), row, right

    # -- positions and ends ----------------------------------------------------------------------

    def positions(self, theta: Matrix, u: Matrix) -> Vector:
        """Positions at many weights and unconstrained shape parameters; not finite: nowhere."""
        return self.moved.of_weights(theta)

    def from_positions(self, positions: Matrix) -> Matrix:
        """Values of `moved` at positions."""
        return positions

    def values_at(self, positions: Matrix, shape: Sequence[Shape]) -> Matrix:
        """Values at positions; infinite positions are beyond what was looked at."""
        return self.from_positions(positions)

    def is_positive(self, shape: Sequence[Shape]) -> bool:
        """Whether it is positive by nature, and known by its order of magnitude."""
        return self.is_logarithmic

    def ends(self, shape: Sequence[Shape]) -> tuple[float, float]:
        """Between which values it lies."""
        return (0.0 if self.is_logarithmic else -np.inf), np.inf

    # -- on a link, where it may be any number ---------------------------------------------------

    def link(self, shape: Sequence[Shape], positive: bool, below: bool) -> Link:
        """The link it needs, where its weight must be positive or stands below a ratio."""
        return Link("log" if positive or below else "identity")

    def weight_on(self, link: Link, h: Any) -> Any:
        """The weight, over its denominator, at coordinates."""
        return self.weight_at(link.value(h))

    def slope_on(self, link: Link, h: Any) -> Any:
        """Derivative of `weight_on`."""
        return link.slope(h)

    def coordinate_on(self, link: Link, theta: Matrix, psi: Matrix) -> Vector:
        """Coordinates at many weights and shape parameters."""
        return np.asarray(link.coordinate(self.of_weights(theta)))

    def unit(self, sizes: Vector) -> float:
        """Its typical size, where these are the sizes of the variables of the weights."""
        return float(1.0 / sizes[self.index])


def _slopes(theta: Vector, psi: Vector, parts: Sequence[tuple[int, float]]) -> Vector:
    """Derivatives in weights and shape parameters, 0 but for some; NaN where one is not finite."""
    fine = all(isfinite(theta[a]) and isfinite(slope) for a, slope in parts)
    found = np.zeros(len(theta) + len(psi)) if fine else np.full(len(theta) + len(psi), np.nan)
    for a, slope in parts if fine else ():
        found[a] = slope
    return found


class WeightParameter(Natural):
    """A weight itself."""

    is_weight: ClassVar[bool] = True

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """1 in the weight."""
        return _slopes(theta, psi, [(self.index, 1.0)])


class ReciprocalParameter(Natural):
    """1 over a weight, such as a temperature."""

    is_logarithmic: ClassVar[bool] = True
    rises: ClassVar[float] = -1.0

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights."""
        return np.asarray(1.0 / theta[:, self.index])

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """-1 over the square of the weight."""
        with np.errstate(divide="ignore", over="ignore"):
            slope = -1.0 / np.float64(theta[self.index]) ** 2
        return _slopes(theta, psi, [(self.index, slope)])

    def bends(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients and Hessians in the weights."""
        slope, bend = super().bends(theta)
        own = theta[:, self.index]
        slope[:, self.index] = -1.0 / own**2
        bend[:, self.index, self.index] = 2.0 / own**3
        return slope, bend

    def weight_at(self, values: Any) -> Any:
        """1 over the values."""
        return 1.0 / values

    def positions(self, theta: Matrix, u: Matrix) -> Vector:
        """Logarithms, infinite where the weight is not positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.log(np.maximum(theta[:, self.index], 0.0)))

    def from_positions(self, positions: Matrix) -> Matrix:
        """Exponentials."""
        return np.exp(positions)

    def link(self, shape: Sequence[Shape], positive: bool, below: bool) -> Link:
        """The logarithm."""
        return Link("log")

    def slope_on(self, link: Link, h: Any) -> Any:
        """Derivative of the weight."""
        return -link.slope(h) * self.weight_on(link, h) ** 2

    def unit(self, sizes: Vector) -> float:
        """The size of its variable."""
        return float(sizes[self.index])


class RatioParameter(Natural):
    """A weight over another one, such as a prior mean."""

    is_ratio: ClassVar[bool] = True
    rises: ClassVar[float] = 0.0

    @property
    def weights(self) -> tuple[int, ...]:
        """The numerator and the denominator."""
        return (self.index, self.other)

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights."""
        return np.asarray(theta[:, self.index] / theta[:, self.other])

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """1 over the denominator, and minus the ratio over it."""
        own, below = np.float64(theta[self.index]), np.float64(theta[self.other])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            parts = [(self.index, 1.0 / below), (self.other, -own / below**2)]
        return _slopes(theta, psi, parts)

    def bends(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients and Hessians in the weights."""
        slope, bend = super().bends(theta)
        a, b = self.weights
        own, below = theta[:, a], theta[:, b]
        slope[:, a], slope[:, b] = 1.0 / below, -own / below**2
        bend[:, a, b] = bend[:, b, a] = -1.0 / below**2
        bend[:, b, b] = 2.0 * own / below**3
        return slope, bend

    def denominator(self, theta: Vector) -> Any:
        """The other weight."""
        return theta[..., self.other]

    def plane(self, values: Vector, d: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
        """Planes through 0."""
        n = len(values)
        basis, row = np.repeat(np.eye(d)[None], n, axis=0), np.zeros((n, d))
        basis[:, self.index, self.other] = values
        row[:, self.index], row[:, self.other] = 1.0, -values
        return np.zeros((n, d)), np.delete(basis, self.index, axis=2), row, np.zeros(n)

    def link(self, shape: Sequence[Shape], positive: bool, below: bool) -> Link:
        """The logarithm where its weight must be positive."""
        return Link("log" if positive else "identity")

    def unit(self, sizes: Vector) -> float:
        """The size of the denominator's variable over that of its own."""
        return float(sizes[self.other] / sizes[self.index])


class ShareParameter(Natural):
    """A share of choices, scale / (1 + e^weight), such as the epsilon of a greedy agent."""

    is_open: ClassVar[bool] = True

    @property
    def moved(self) -> Natural:
        """The weight."""
        return Natural(self.name, "weight", self.index)

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights, which may be infinite."""
        return np.asarray(self.scale * special.expit(-theta[:, self.index]))

    def bends(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients and Hessians in the weights."""
        slope, bend = super().bends(theta)
        share = special.expit(-theta[:, self.index])
        slope[:, self.index] = -self.scale * share * (1 - share)
        bend[:, self.index, self.index] = self.scale * share * (1 - share) * (1 - 2 * share)
        return slope, bend

    def weight_at(self, values: Any) -> Any:
        """Log-odds of the rest."""
        return -special.logit(values / self.scale)

    def values_at(self, positions: Matrix, shape: Sequence[Shape]) -> Matrix:
        """Values at weights."""
        return np.asarray(self.scale * special.expit(-positions))

    def ends(self, shape: Sequence[Shape]) -> tuple[float, float]:
        """From 0 to the scale."""
        return 0.0, self.scale

    def link(self, shape: Sequence[Shape], positive: bool, below: bool) -> Link:
        """The logit of its range, of which the weight is the negative."""
        return Link("logit", 0.0, self.scale)

    def weight_on(self, link: Link, h: Any) -> Any:
        """Minus the coordinate."""
        return -h

    def slope_on(self, link: Link, h: Any) -> Any:
        """Minus 1."""
        return -np.ones_like(h)

    def coordinate_on(self, link: Link, theta: Matrix, psi: Matrix) -> Vector:
        """Minus the weight."""
        return np.asarray(-theta[:, self.index])


class ShapeParameter(Natural):
    """A shape parameter, or a power of it in other units."""

    is_shape: ClassVar[bool] = True
    rises: ClassVar[float] = 0.0

    @property
    def weights(self) -> tuple[int, ...]:
        """None."""
        return ()

    def refers(self, n_weights: int, n_shape: int) -> bool:
        """Whether there is such a shape parameter."""
        return 0 <= self.index < n_shape

    def of_psi(self, own: Any) -> Any:
        """Values at values of the shape parameter."""
        return self.scale * own**self.power

    def value(self, theta: Vector, psi: Vector) -> float:
        """The natural parameter."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.of_psi(np.float64(psi[self.index])))

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """Derivatives in all weights, then in all shape parameters."""
        slope, own = np.zeros(len(theta) + len(psi)), psi[self.index]
        if not np.isfinite(own):
            return np.full(len(slope), np.nan)
        slope[len(theta) + self.index] = self.scale * self.power * own ** (self.power - 1.0)
        return slope

    def put(self, value: float, theta: Vector, psi: Vector) -> None:
        """Write the shape parameter."""
        psi[self.index] = self.psi_at(value)

    def psi_at(self, value: float) -> float:
        """The shape parameter at this value."""
        return float((np.float64(value) / self.scale) ** (1.0 / self.power))

    def positions(self, theta: Matrix, u: Matrix) -> Vector:
        """The shape parameter in unconstrained units."""
        return np.asarray(u[:, self.index])

    def values_at(self, positions: Matrix, shape: Sequence[Shape]) -> Matrix:
        """Values at positions, with the limits of the model at its ends."""
        mine = shape[self.index]
        own = np.asarray(mine.from_unconstrained(positions))
        # A logarithmic range is where to look; a linear one, such as 0 to 1, is all there is.
        if mine.scale == "log":
            own = np.where(positions == -np.inf, 0.0, np.where(positions == np.inf, np.inf, own))
        for end, limit in ((-np.inf, mine.limit(False)), (np.inf, mine.limit(True))):
            if limit is not None:
                own = np.where(positions == end, limit.value, own)
        with np.errstate(divide="ignore"):
            return np.asarray(self.of_psi(own))

    def is_positive(self, shape: Sequence[Shape]) -> bool:
        """Whether its range is logarithmic."""
        return shape[self.index].scale == "log"

    def ends(self, shape: Sequence[Shape]) -> tuple[float, float]:
        """The range that is searched."""
        ends = self.of_psi(np.array([shape[self.index].low, shape[self.index].high]))
        return float(ends.min()), float(ends.max())

    def link(self, shape: Sequence[Shape], positive: bool, below: bool) -> Link:
        """The logarithm, or the logit of a linear range."""
        mine = shape[self.index]
        if mine.scale == "log":
            return Link("log")
        return Link("logit", self.scale * mine.low, self.scale * mine.high)

    def coordinate_on(self, link: Link, theta: Matrix, psi: Matrix) -> Vector:
        """Coordinates at many shape parameters."""
        return np.asarray(link.coordinate(self.of_psi(psi[:, self.index])))


class FunctionParameter(Natural):
    """A curve of a sum of weights, or of a sum over another, such as a share of two weights."""

    is_curve: ClassVar[bool] = True
    rises: ClassVar[float] = 0.0

    @property
    def _sum(self) -> tuple[int, ...]:
        return self.parts or (self.index,)

    @property
    def weights(self) -> tuple[int, ...]:
        """Those of both sums."""
        return tuple(dict.fromkeys((*self._sum, *self.over)))

    def _sums(self, theta: Matrix) -> tuple[Vector, Vector]:
        below = theta[:, list(self.over)].sum(axis=1) if self.over else np.ones(len(theta))
        return theta[:, list(self._sum)].sum(axis=1), below

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights."""
        above, below = self._sums(theta)
        return np.asarray(self.curve.at(above / below))

    def bends(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients and Hessians in the weights, by the chain rule."""
        d = theta.shape[1]
        above, below = self._sums(theta)
        u = above / below
        a, b = np.isin(np.arange(d), self._sum), np.isin(np.arange(d), self.over)
        slope = (a - u[:, None] * b) / below[:, None]
        cross = slope[:, :, None] * b / below[:, None, None]
        bend = -(cross + cross.transpose(0, 2, 1))
        first, second = self.curve.slope(u), self.curve.bend(u)
        outer = slope[:, :, None] * slope[:, None, :]
        return (
            np.asarray(first[:, None] * slope),
            np.asarray(first[:, None, None] * bend + second[:, None, None] * outer),
        )

    def put(self, value: float, theta: Vector, psi: Vector) -> None:
        """Write the weight that gives this value, beside the others, which are known."""
        _, _, row, right = self.plane(np.array([value]), len(theta))
        others = row[0].copy()
        others[self.index] = 0.0
        used = others != 0
        theta[self.index] = (right[0] - others[used] @ theta[used]) / row[0, self.index]

    def denominator(self, theta: Vector) -> Any:
        """The sum that it is divided by, else 1."""
        return theta[..., list(self.over)].sum(axis=-1) if self.over else 1.0

    def plane(self, values: Vector, d: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
        """Where a'theta = u b'theta, or a'theta = u."""
        u = np.asarray(self.curve.inverse(values), dtype=np.float64)
        a, b = np.isin(np.arange(d), self._sum), np.isin(np.arange(d), self.over)
        row = a - u[:, None] * b if self.over else np.repeat(a[None].astype(float), len(u), axis=0)
        right = np.zeros(len(u)) if self.over else u.copy()
        origin, basis = np.zeros((len(u), d)), np.empty((len(u), d, d - 1))
        for k, normal in enumerate(row):
            pivot = int(np.abs(normal).argmax())
            directions = np.eye(d)
            directions[pivot] = -normal / normal[pivot]
            basis[k] = np.delete(directions, pivot, axis=1)
            origin[k, pivot] = right[k] / normal[pivot]
        return origin, basis, row, right

    def values_at(self, positions: Matrix, shape: Sequence[Shape]) -> Matrix:
        """Values at positions, those beyond what was looked at as far as they can be."""
        return np.asarray(np.clip(positions, self.low, self.high))

    def ends(self, shape: Sequence[Shape]) -> tuple[float, float]:
        """As declared."""
        return self.low, self.high


class ShapeFunctionParameter(ShapeParameter):
    """A curve of a shape parameter."""

    is_curve: ClassVar[bool] = True

    def of_psi(self, own: Any) -> Any:
        """Values at values of the shape parameter."""
        return self.curve.at(own)

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """Derivatives in all weights, then in all shape parameters."""
        slope, own = np.zeros(len(theta) + len(psi)), psi[self.index]
        if not np.isfinite(own):
            return np.full(len(slope), np.nan)
        slope[len(theta) + self.index] = float(self.curve.slope(np.float64(own)))
        return slope

    def psi_at(self, value: float) -> float:
        """The shape parameter at this value."""
        return float(self.curve.inverse(np.float64(value)))

    def values_at(self, positions: Matrix, shape: Sequence[Shape]) -> Matrix:
        """Values at positions, those beyond what was looked at as far as they can be."""
        return np.asarray(np.clip(super().values_at(positions, shape), self.low, self.high))


FORMS: dict[str, type[Natural]] = {
    "weight": WeightParameter,
    "reciprocal": ReciprocalParameter,
    "ratio": RatioParameter,
    "share": ShareParameter,
    "shape": ShapeParameter,
    "function": FunctionParameter,
    "shape function": ShapeFunctionParameter,
}
