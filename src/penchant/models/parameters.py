"""Parameters of a model: its weights theta, its shape parameters psi, and what they mean.

A model writes its parameter table once, as `parameters`. Each row is a number that readers know,
made of weights or of a shape parameter:

    value = transform((sum of weights) / (sum of other weights))    or    transform(psi_j)

A temperature is the reciprocal of a weight, a prior mean a weight over another one, a share of
choices the logistic function of a weight, a learning rate a shape parameter itself. Names of
weights and of shape parameters, signs, ranges, links, gradients and intervals follow from the rows.

The profile of a parameter is followed along positions: psi in unconstrained units for a shape
parameter, the logarithm for a reciprocal, the weight for a share, the value itself otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from penchant._typing import BoolVector, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError
from penchant.models.transforms import IDENTITY, LOG, RECIPROCAL, Transform

SQUEEZE = 8.0  # unconstrained units from 1 to either end of a range from 0 to infinity


class WeightPlane(NamedTuple):
    """Affine sets of d weights at n values of a parameter: origin + basis phi, row'theta = right.

    Attributes
    ----------
    origin, basis
        (n, d) and (n, d, d - 1).
    row, right
        (n, d) and (n,).
    """

    origin: Matrix
    basis: Matrix
    row: Matrix
    right: Vector


@dataclass(frozen=True)
class Limit:
    """Limit of a model at an end of the range of a shape parameter.

    Attributes
    ----------
    value
        The limit: 0, 1 or infinity. The end is so near to it that the likelihood is the same.
    meaning
        What the model is there, in words that continue a sentence.
    lost
        Natural parameters that go there together, so that they have no value of their own.
    identified_product
        Product of them that is identified there: name, index of a weight, and power of psi, such
        that it equals weight * psi^power.
    """

    value: float
    meaning: str
    lost: tuple[str, ...] = ()
    identified_product: tuple[str, int, float] | None = None

    def describe(self, name: str, psi: float, theta: Vector) -> str:
        """The limit of a shape parameter in words, at the best weights."""
        text = f"{name} = {self.value:g}, where {self.meaning}"
        if self.identified_product is None:
            return text
        product, weight, power = self.identified_product
        return f"{text}: choices tell {product} = {psi**power * theta[weight]:.4g} alone"


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
        check_one_of(self.scale, "scale", ("linear", "log"))
        lowest = 0.0 if self.scale == "log" else -np.inf
        if not lowest < self.low < self.high < np.inf:
            raise DataError(
                f"low and high of {self.name}",
                f"must be increasing{' and positive' if self.scale == 'log' else ''}",
                got=f"{self.low} and {self.high}",
                fix="Correct the range.",
            )
        if self.squeezed and self.scale != "log":
            raise DataError(
                "squeezed",
                "must come with scale='log'",
                got=repr(self.scale),
                fix="Leave it out, or give a positive range.",
            )
        if self.n_grid < 3:
            raise DataError("n_grid", "must be at least 3", got=self.n_grid, fix="25 is usual.")

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

    def jacobian(self, value: Any) -> Any:
        """Derivative of the value in unconstrained units."""
        if self.squeezed:
            return value * np.cosh(np.log(value) / SQUEEZE) ** 2
        return value if self.scale == "log" else self._linear_unit

    def limit(self, upper: bool) -> Limit | None:
        """Limit at the upper or lower end; None if the end only bounds the search."""
        return self.at_high if upper else self.at_low

    @property
    def _linear_unit(self) -> float:
        return (self.high - self.low) / 10.0


def _inside(value: Any, low: float, high: float) -> Any:
    """The value, or the end of the range that it is beyond; np.clip takes five times as long."""
    return np.minimum(np.maximum(value, low), high)


@dataclass(frozen=True)
class Parameter:
    """A row of a model's parameter table: a number as a function of weights, or of psi.

    `Parameter.weight`, `reciprocal`, `ratio` and `share` make the usual ones. A `Shape` in the
    table stands for the shape parameter itself.

    Attributes
    ----------
    name
        What it is called.
    of, over
        Weights whose sum it is made of; and those by whose sum that is divided. The first weight
        of `of` is the parameter's own, which its value decides when the others are known.
    shape
        The shape parameter that it is made of instead: its range, or the name of one that is
        declared in another row.
    transform
        From that quotient, or from psi, to the parameter.
    is_positive_weight
        Whether the weights of `of` must not be negative.
    is_derived
        Whether it stands beside what it is made of, and not in its place.
    low, high
        Between which values a derived parameter lies.
    index, others
        Places of the weight or shape parameter, and of the other weights of `of` and of `over`, in
        the model: `bound` finds them.
    """

    name: str
    of: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    shape: Shape | str | None = None
    transform: Transform = IDENTITY
    is_positive_weight: bool = False
    is_derived: bool = False
    low: float = -np.inf
    high: float = np.inf
    sum_indices: tuple[int, ...] = ()
    over_indices: tuple[int, ...] = ()
    index: int = -1

    # -- usual rows ------------------------------------------------------------------------------

    @classmethod
    def weight(cls, name: str, *, positive: bool = False) -> Parameter:
        """A weight itself."""
        return cls(name, (name,), is_positive_weight=positive)

    @classmethod
    def reciprocal(cls, name: str, weight: str) -> Parameter:
        """1 over a weight that must be positive, such as a temperature."""
        return cls(name, (weight,), transform=RECIPROCAL, is_positive_weight=True)

    @classmethod
    def ratio(cls, name: str, weight: str, over: str, *, positive: bool = False) -> Parameter:
        """A weight over another one, such as a prior mean."""
        return cls(name, (weight,), (over,), is_positive_weight=positive)

    @classmethod
    def share(cls, name: str, weight: str, scale: float = 1.0) -> Parameter:
        """A share of choices, scale / (1 + e^weight), such as the epsilon of a greedy agent."""
        return cls(name, (weight,), transform=Transform("logit", scale, 0.0))

    def bound(self, weights: Sequence[str], shape: Sequence[Shape]) -> Parameter:
        """Resolve the names of weights and shape parameters to their indices in a model."""
        try:
            if self.shape is not None:
                named = self.shape if isinstance(self.shape, str) else self.shape.name
                index = [one.name for one in shape].index(named)
                return replace(self, shape=shape[index], index=index)
            of, over = (tuple(map(list(weights).index, part)) for part in (self.of, self.over))
            return replace(self, sum_indices=of, over_indices=over, index=of[0])
        except (ValueError, IndexError):
            names = [*weights, *(one.name for one in shape)]
            raise DataError(
                "parameters",
                (
                    "must be made of the model's weights and shape parameters, which are "
                    f"{', '.join(names)}"
                ),
                got=f"{self.name!r}, which is not",
                fix="Correct its row.",
            ) from None

    # -- kinds -----------------------------------------------------------------------------------

    @property
    def is_shape(self) -> bool:
        """Whether it is made of a shape parameter, not of weights."""
        return self.shape is not None

    @property
    def is_weight(self) -> bool:
        """Whether it is a weight itself."""
        return self._is_one_weight and self.transform.name == "identity"

    @property
    def is_reciprocal(self) -> bool:
        """Whether it is 1 over a weight: positions along it are logarithms."""
        return self._is_one_weight and self.transform == RECIPROCAL

    @property
    def is_share(self) -> bool:
        """Whether it is a share of choices: it lies between finite ends, and never at one."""
        return self._is_one_weight and self.transform.name == "logit"

    @property
    def is_ratio(self) -> bool:
        """Whether it is a weight over another one."""
        return bool(self.over) and not self.is_derived

    @property
    def is_falling(self) -> bool:
        """Whether it falls where the shape parameter that it is made of rises."""
        return bool(self.transform.first(1.0) < 0)

    @property
    def _is_one_weight(self) -> bool:
        return not (self.is_derived or self.is_shape or self.over)

    @property
    def is_positive(self) -> bool:
        """Whether it is positive by nature, and known by its order of magnitude."""
        if self.is_shape:
            return self.range.scale == "log"
        return self.is_reciprocal

    @property
    def range(self) -> Shape:
        """The shape parameter that it is made of."""
        assert isinstance(self.shape, Shape)
        return self.shape

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Places of the weights that it is made of."""
        return tuple(dict.fromkeys((*self.sum_indices, *self.over_indices)))

    # -- value and derivatives -------------------------------------------------------------------

    def of_weights(self, theta: Matrix) -> Vector:
        """Values at many weights (n, n_weights)."""
        return np.asarray(self.transform.value(self._quotient(theta)))

    def of_psi(self, own: ArrayLike) -> Matrix:
        """Values at values of the shape parameter."""
        return self.transform.value(own)

    def _quotient(self, theta: Matrix) -> Vector:
        above = _sum(theta, self.sum_indices)
        return np.asarray(above / _sum(theta, self.over_indices) if self.over_indices else above)

    def derivatives(self, theta: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """Values at many weights (n, n_weights), with their gradients and Hessians in these."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._fill_psi_derivatives(theta)

    def _fill_psi_derivatives(self, theta: Matrix) -> tuple[Vector, Matrix, Matrix]:
        n, d = theta.shape
        gradient, hessian = np.zeros((n, d)), np.zeros((n, d, d))
        u, slope = self._quotient(theta), self._quotient_slopes(theta)
        first, second = self.transform.derivatives(u)
        linear = self.transform.name == "identity"
        own = list(self.weights)
        for i, a in enumerate(own):
            gradient[:, a] = first * slope[i]
            for j, b in enumerate(own):
                bend = 0.0 if linear else second * slope[i] * slope[j]
                if self.over_indices:
                    below = _sum(theta, self.over_indices)
                    # of a quotient u = s / t: d2u = -(ds dt + dt ds) / t^2 + 2 u dt dt / t^2
                    of_i, of_j = (a in self.over_indices), (b in self.over_indices)
                    bend = bend - first * (of_j * slope[i] + of_i * slope[j]) / below
                hessian[:, a, b] = bend
        return self.of_weights(theta), gradient, hessian

    def _quotient_slopes(self, theta: Matrix) -> list[Any]:
        """Derivatives of the quotient in each of `weights`."""
        if not self.over_indices:
            return [np.float64(1.0)] * len(self.weights)
        below, u = _sum(theta, self.over_indices), self._quotient(theta)
        return [
            ((a in self.sum_indices) - u * (a in self.over_indices)) / below for a in self.weights
        ]

    def slopes(self, theta: Matrix) -> Matrix:
        """Gradients in the weights at many of them; NaN where there are none."""
        _, found, _ = self.derivatives(theta)
        own = list(self.weights)
        both = np.concatenate([found[:, own], theta[:, own]], axis=1)
        fine: BoolVector = np.all(np.isfinite(both), axis=1)
        return np.where(fine[:, None], found, np.nan)

    def value(self, theta: Vector, psi: Vector) -> float:
        """The parameter at weights and shape parameters."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_shape:
                return float(self.of_psi(psi[self.index]))
            return float(self.of_weights(np.asarray(theta, dtype=np.float64)[None])[0])

    def gradient(self, theta: Vector, psi: Vector) -> Vector:
        """Derivatives in all weights, then in all shape parameters; NaN where there are none."""
        if not self.is_shape:
            slope = self.slopes(np.asarray(theta, dtype=np.float64)[None])[0]
            beside = np.zeros(len(psi)) if np.isfinite(slope).all() else np.full(len(psi), np.nan)
            return np.concatenate([slope, beside])
        found, own = np.zeros(len(theta) + len(psi)), psi[self.index]
        if not np.isfinite(own):
            return np.full(len(found), np.nan)
        found[len(theta) + self.index] = self.transform.first(own)
        return found

    # -- where the weights lie -------------------------------------------------------------------

    def set_value(self, value: float, theta: Vector, psi: Vector) -> None:
        """Write the weight or shape parameter that gives this value, beside the others."""
        if self.is_shape:
            psi[self.index] = float(self.transform.inverse(value))
            return
        row, right = self._row(np.array([value]), len(theta))
        others = row[0].copy()
        others[self.index] = 0.0
        used = others != 0
        theta[self.index] = (right[0] - others[used] @ theta[used]) / row[0, self.index]

    def denominator(self, theta: Vector) -> Any:
        """Denominator of the parameter: the other weight of a ratio, else 1."""
        return _sum(theta, self.over_indices) if self.over_indices else 1.0

    def plane(self, values: Vector, d: int) -> WeightPlane:
        """Affine set of the d weights at given values: origin + basis phi, row'theta = right."""
        row, right = self._row(values, d)
        n = len(values)
        origin, basis = np.zeros((n, d)), np.empty((n, d, d - 1))
        # The own weight follows from the others; that of a share of a sum may not, at a share of 1.
        pivots = np.abs(row).argmax(axis=1) if self.is_derived else np.full(n, self.index)
        for pivot in np.unique(pivots):
            some = np.flatnonzero(pivots == pivot)
            directions = np.repeat(np.eye(d)[None], len(some), axis=0)
            directions[:, pivot] = -row[some] / row[some, pivot, None]
            basis[some] = np.delete(directions, pivot, axis=2)
            origin[some, pivot] = right[some] / row[some, pivot]
        return WeightPlane(origin, basis, row, right)

    def _row(self, values: Vector, d: int) -> tuple[Matrix, Vector]:
        """Rows and right-hand sides: (a - u b)'theta = 0 of a quotient, else a'theta = u."""
        u = np.asarray(self.transform.inverse(values), dtype=np.float64)
        row = np.zeros((len(u), d))
        row[:, list(self.sum_indices)] = 1.0
        for a in self.over_indices:
            row[:, a] -= u
        return row, np.zeros(len(u)) if self.over_indices else u.copy()

    # -- positions and ends ----------------------------------------------------------------------

    @property
    def along(self) -> Parameter:
        """The parameter whose values, or their logarithms, are positions: the weight of a share."""
        return replace(self, transform=IDENTITY) if self.is_share else self

    @property
    def direction(self) -> float:
        """Sign by which positions follow the parameter's one weight; 0 where there are more."""
        if not self._is_one_weight:
            return 0.0
        return -1.0 if self.is_reciprocal else 1.0

    def positions(self, theta: Matrix, u: Matrix) -> Vector:
        """Positions at many weights and unconstrained shape parameters; not finite: nowhere."""
        if self.is_shape:
            return np.asarray(u[:, self.index])
        if self.is_reciprocal:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(-np.log(np.maximum(theta[:, self.index], 0.0)))
        return self.along.of_weights(theta)

    def from_positions(self, positions: Matrix) -> Matrix:
        """Values of `along` at positions."""
        return np.asarray(np.exp(positions)) if self.is_reciprocal else positions

    def values_at(self, positions: Matrix) -> Matrix:
        """Values at positions; infinite positions are beyond what was looked at."""
        if self.is_shape:
            return self._shape_values(positions)
        if self.is_share:
            return np.asarray(self.transform.value(positions))
        values = self.from_positions(positions)
        return np.asarray(np.clip(values, self.low, self.high)) if self.is_derived else values

    def _shape_values(self, positions: Matrix) -> Matrix:
        """Values at positions in unconstrained units, with the limits of the model at its ends."""
        own = np.asarray(self.range.from_unconstrained(positions))
        # A logarithmic range is where to look; a linear one, such as 0 to 1, is all there is.
        if self.range.scale == "log":
            own = np.where(positions == -np.inf, 0.0, np.where(positions == np.inf, np.inf, own))
        for end, limit in ((-np.inf, self.range.at_low), (np.inf, self.range.at_high)):
            if limit is not None:
                own = np.where(positions == end, limit.value, own)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(self.of_psi(own), self.low, self.high))

    @property
    def ends(self) -> tuple[float, float]:
        """Between which values it lies."""
        if self.is_shape:
            ends = self.of_psi(np.array([self.range.low, self.range.high]))
            return float(ends.min()), float(ends.max())
        if self.is_share:
            return 0.0, self.transform.low
        return (0.0 if self.is_reciprocal else self.low), self.high

    # -- on a link, where it may be any number ---------------------------------------------------

    def link(self, positive: bool, below: bool) -> Transform:
        """The link it needs, where its weight must be positive or stands below a ratio."""
        if self.is_shape:
            if self.range.scale == "log":
                return LOG
            low, high = (float(self.of_psi(end)) for end in (self.range.low, self.range.high))
            return Transform("logit", low, high)
        if self.is_share:
            return Transform("logit", 0.0, self.transform.low)
        return LOG if self.is_reciprocal or positive or (below and not self.is_ratio) else IDENTITY

    def weight_on(self, link: Transform, h: Matrix) -> Matrix:
        """The weight, over its denominator, at values h on the link."""
        return -h if self.is_share else self.transform.inverse(link.value(h))

    def weight_slope_on(self, link: Transform, h: Matrix) -> Matrix:
        """Derivative of `weight_on`."""
        if self.is_share:
            return -np.ones_like(h)
        return self.transform.inverse_derivatives(link.value(h))[0] * link.first(h)

    def on_link(self, link: Transform, theta: Matrix, psi: Matrix) -> Vector:
        """Values on the link at many weights and shape parameters."""
        if self.is_share:
            return np.asarray(-theta[:, self.index])
        own = self.of_psi(psi[:, self.index]) if self.is_shape else self.of_weights(theta)
        return np.asarray(link.inverse(own))

    def typical_size(self, sizes: Vector) -> float:
        """Its typical size, where these are the sizes of the variables of the weights."""
        if self.is_reciprocal:
            return float(sizes[self.index])
        above = sizes[self.over_indices[0]] if self.is_ratio else 1.0
        return float(above / sizes[self.index])


def _sum(theta: Matrix, indices: tuple[int, ...]) -> Any:
    return theta[..., indices[0]] if len(indices) == 1 else theta[..., list(indices)].sum(axis=-1)


def bound_weight(name: str, index: int) -> Parameter:
    """The parameter that is the weight at a place."""
    return Parameter(name, (name,), sum_indices=(index,), index=index)


Row = Parameter | Shape
TEMPERATURE = Parameter.reciprocal("temperature", "inverse_temperature")


def per_temperature(name: str, weight: str | None = None) -> Parameter:
    """A parameter in units of rewards: a weight over the inverse temperature."""
    return Parameter.ratio(name, weight or f"{name}/temperature", "inverse_temperature")


class ParameterTable:
    """Base of models that write their parameters once, as `parameters`.

    Rows of `parameters` are in the order in which results report them. Weights and shape parameters
    are in the order in which rows first name them.
    """

    @property
    def parameters(self) -> Any:
        """The rows; None for a model that declares weights and shape parameters themselves."""
        return None

    @cached_property
    def rows(self) -> tuple[Parameter, ...]:
        """The table, with rows of shape parameters written out."""
        return tuple(map(_as_parameter, self.parameters or ()))

    @cached_property
    def bound_rows(self) -> tuple[Parameter, ...]:
        """The table, with places of weights and shape parameters."""
        return bound_table(self.rows, self.weights, self.shape)

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """Names of the linear weights."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.of))

    @cached_property
    def positive(self) -> tuple[str, ...]:
        """Weights that must not be negative."""
        marked = {name for row in self.rows if row.is_positive_weight for name in row.of}
        return tuple(name for name in self.weights if name in marked)

    @cached_property
    def shape(self) -> tuple[Shape, ...]:
        """Shape parameters."""
        return tuple(row.shape for row in self.rows if isinstance(row.shape, Shape))


def _as_parameter(row: Row) -> Parameter:
    return Parameter(row.name, shape=row) if isinstance(row, Shape) else row


def bound_table(
    rows: Sequence[Row], weights: Sequence[str], shape: Sequence[Shape]
) -> tuple[Parameter, ...]:
    """Rows of a table with their places among these weights and shape parameters."""
    return tuple(_as_parameter(row).bound(weights, shape) for row in rows)
