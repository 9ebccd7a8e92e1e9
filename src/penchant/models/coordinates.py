"""Parameters without limits: where a population of people is a normal distribution.

Every natural parameter has a link, on which it may be any number: a learning rate the logit of its
range, a temperature its logarithm, a weight that may have either sign itself. Of a parameter that
is one weight over another, such as a prior mean, the denominator has a logarithm: the ratio has all
its moments, and carries the population under its own name.

Shape parameters come first, so that nodes in them are shared by all nodes in the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import special

from penchant._typing import Matrix
from penchant.errors import DataError, nearest
from penchant.models.model import Model, natural_parameters, positive_weights
from penchant.models.natural import Natural, Shape

LinkName = Literal["identity", "log", "negative log", "logit"]
FURTHEST = 300.0  # |h| beyond which a logarithm or logit is at its end


@dataclass(frozen=True)
class Link:
    """The scale on which a parameter is unlimited.

    Attributes
    ----------
    name
        "identity"; "log"; "negative log" of what is always below 0; "logit" of a range.
    low, high
        The range of a logit.
    """

    name: LinkName
    low: float = 0.0
    high: float = 1.0

    def value(self, h: Any) -> Any:
        """The parameter at this coordinate."""
        h = np.asarray(h, dtype=np.float64)
        if self.name == "identity":
            return h
        inside = np.clip(h, -FURTHEST, FURTHEST)
        if self.name == "log":
            return np.exp(inside)
        if self.name == "negative log":
            return -np.exp(inside)
        return self.low + (self.high - self.low) * special.expit(inside)

    def slope(self, h: Any) -> Any:
        """Derivative of the parameter in its coordinate."""
        h = np.asarray(h, dtype=np.float64)
        if self.name == "identity":
            return np.ones_like(h)
        if self.name != "logit":
            return self.value(h)
        share = special.expit(np.clip(h, -FURTHEST, FURTHEST))
        return (self.high - self.low) * share * (1.0 - share)

    def coordinate(self, value: Any) -> Any:
        """The coordinate of a parameter; infinite at the ends, NaN outside."""
        value = np.asarray(value, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.name == "identity":
                return value
            if self.name == "log":
                return np.log(value)
            if self.name == "negative log":
                return np.log(-value)
            return special.logit((value - self.low) / (self.high - self.low))

    def bent(self, value: Any) -> tuple[Any, Any]:
        """First and second derivative of the coordinate in the parameter; NaN outside."""
        value = np.asarray(value, dtype=np.float64)
        if self.name == "identity":
            return np.ones_like(value), np.zeros_like(value)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.name != "logit":
                return 1.0 / value, -1.0 / value**2
            below, above = 1.0 / (value - self.low), 1.0 / (self.high - value)
            return below + above, above**2 - below**2

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bounds = {"low": self.low, "high": self.high} if self.name == "logit" else {}
        return {"name": self.name, **bounds}

    def __str__(self) -> str:
        whole = np.allclose((self.low, self.high), (0.0, 1.0), rtol=0.0, atol=1e-6)
        if self.name == "logit" and not whole:
            return f"logit of {self.low:.6g} to {self.high:.6g}"
        return self.name


@dataclass(frozen=True)
class Coordinate:
    """One natural parameter on its link.

    Attributes
    ----------
    natural
        What it is of weights and shape.
    link
        Where it is unlimited.
    """

    natural: Natural
    link: Link

    @property
    def name(self) -> str:
        """The natural parameter's."""
        return self.natural.name

    @property
    def is_shape(self) -> bool:
        """Whether it is made of a shape parameter."""
        return self.natural.kind == "shape"


@dataclass(frozen=True)
class Coordinates:
    """All parameters of a model on their links: first of shape, then of weights.

    Attributes
    ----------
    each
        One per parameter.
    shape
        Ranges of the shape parameters: outside, the likelihood is that of the end.
    n_weights
        Number of weights.
    """

    each: tuple[Coordinate, ...]
    shape: tuple[Shape, ...]
    n_weights: int

    @classmethod
    def of_model(cls, model: Model, links: Mapping[str, Any] | None = None) -> Coordinates:
        """Of a model, with the links that its declarations ask for, or others."""
        naturals = _one_to_one(model)
        must = positive_weights(model)
        below = {n.other for n in naturals if n.kind == "ratio"}
        asked = dict(links or {})
        _check_names(asked, [n.name for n in naturals])
        found = []
        for natural in naturals:
            default = _default(natural, model.shape, must, below)
            link = read_link(natural.name, asked[natural.name]) if natural.name in asked else None
            _check_link(natural, link, default)
            found.append(Coordinate(natural, link or default))
        found.sort(key=lambda c: not c.is_shape)
        return cls(tuple(found), tuple(model.shape), len(model.weights))

    @classmethod
    def of_variables(
        cls, names: Sequence[str], links: Mapping[str, Any] | None = None
    ) -> Coordinates:
        """Of the weights of explanatory variables: themselves, or on the links asked for."""
        asked = dict(links or {})
        _check_names(asked, list(names))
        each = tuple(
            Coordinate(
                Natural(name, "weight", a),
                read_link(name, asked[name]) if name in asked else Link("identity"),
            )
            for a, name in enumerate(names)
        )
        return cls(each, (), len(names))

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return tuple(c.name for c in self.each)

    @property
    def links(self) -> dict[str, str]:
        """The link of each, in words."""
        return {c.name: str(c.link) for c in self.each}

    @cached_property
    def n_shape(self) -> int:
        """How many are of shape: the first ones."""
        return sum(c.is_shape for c in self.each)

    def index(self, name: str) -> int:
        """Where a parameter stands."""
        return self.names.index(name)

    def natural(self, h: Matrix) -> Matrix:
        """Natural parameters (..., p) of coordinates (..., p)."""
        return np.stack([c.link.value(h[..., a]) for a, c in enumerate(self.each)], axis=-1)

    def coordinates(self, natural: Matrix) -> Matrix:
        """Coordinates of natural parameters."""
        return np.stack([c.link.coordinate(natural[..., a]) for a, c in enumerate(self.each)], -1)

    def psi(self, h: Matrix) -> tuple[Matrix, Matrix]:
        """Shape parameters (n, q) of coordinates (n, q or more), and their slopes."""
        values, slopes = np.empty((len(h), self.n_shape)), np.empty((len(h), self.n_shape))
        for a, c in enumerate(self.each[: self.n_shape]):
            natural = c.natural
            own, shape = c.link.value(h[:, a]), self.shape[natural.index]
            raw = (own / natural.scale) ** (1.0 / natural.power)
            inside = np.clip(raw, shape.low, shape.high)
            # a range may hold 0, where a power other than 1 has no slope
            rise = 1.0 / natural.scale if natural.power == 1.0 else raw / (natural.power * own)
            slope = rise * c.link.slope(h[:, a])
            values[:, natural.index] = inside
            slopes[:, natural.index] = np.where(raw == inside, slope, 0.0)
        return values, slopes

    def shape_order(self) -> list[int]:
        """Which shape parameter each of the first coordinates is."""
        return [c.natural.index for c in self.each[: self.n_shape]]

    def theta(self, h: Matrix) -> Matrix:
        """Weights (..., n_weights) of the coordinates of weights (..., p - q)."""
        theta = np.empty((*h.shape[:-1], self.n_weights))
        for a, c in self._singles_first():
            natural = c.natural
            value = c.link.value(h[..., a])
            if natural.kind == "reciprocal":
                theta[..., natural.index] = 1.0 / value
            elif natural.kind == "ratio":
                theta[..., natural.index] = value * theta[..., natural.other]
            elif natural.kind == "share":
                theta[..., natural.index] = -h[..., a]
            else:
                theta[..., natural.index] = value
        return theta

    def theta_and_slopes(self, h: Matrix) -> tuple[Matrix, Matrix]:
        """Weights, and their derivatives (..., n_weights, p - q) in the coordinates."""
        theta = self.theta(h)
        slopes = np.zeros((*theta.shape, h.shape[-1]))
        for a, c in self._singles_first():
            natural = c.natural
            own = c.link.slope(h[..., a])
            if natural.kind == "reciprocal":
                slopes[..., natural.index, a] = -own * theta[..., natural.index] ** 2
            elif natural.kind == "ratio":
                value = c.link.value(h[..., a])
                slopes[..., natural.index, :] = value[..., None] * slopes[..., natural.other, :]
                slopes[..., natural.index, a] += own * theta[..., natural.other]
            elif natural.kind == "share":
                slopes[..., natural.index, a] = -1.0
            else:
                slopes[..., natural.index, a] = own
        return theta, slopes

    def from_parts(self, theta: Matrix, psi: Matrix) -> Matrix:
        """Coordinates (n, p) of weights (n, d) and shape parameters (n, q)."""
        h = np.empty((len(theta), len(self)))
        with np.errstate(divide="ignore", invalid="ignore"):
            for a, c in enumerate(self.each):
                natural = c.natural
                if natural.kind == "shape":
                    own = natural.scale * psi[:, natural.index] ** natural.power
                elif natural.kind == "reciprocal":
                    own = 1.0 / theta[:, natural.index]
                elif natural.kind == "ratio":
                    own = theta[:, natural.index] / theta[:, natural.other]
                elif natural.kind == "share":
                    h[:, a] = -theta[:, natural.index]
                    continue
                else:
                    own = theta[:, natural.index]
                h[:, a] = c.link.coordinate(own)
        return h

    def _singles_first(self) -> list[tuple[int, Coordinate]]:
        """Coordinates of weights with their places: denominators before ratios."""
        own = list(enumerate(self.each[self.n_shape :]))
        return sorted(own, key=lambda one: one[1].natural.kind == "ratio")

    def to_dict(self) -> dict[str, Any]:
        """For JSON: names and links."""
        return {c.name: c.link.to_dict() for c in self.each}


def read_link(name: str, asked: Any) -> Link:
    """A link as users give it: a name, or ("logit", low, high)."""
    known = ("identity", "log", "negative log", "logit")
    if isinstance(asked, Link):
        return asked
    if isinstance(asked, Mapping):
        return Link(**asked)
    if isinstance(asked, str) and asked in known:
        return Link(asked)  # type: ignore[arg-type]  # one of the names
    if isinstance(asked, tuple | list) and len(asked) == 3 and asked[0] == "logit":
        low, high = float(asked[1]), float(asked[2])
        if np.isfinite([low, high]).all() and low < high:
            return Link("logit", low, high)
    raise DataError(
        f"links[{name!r}] must be one of {', '.join(known)} or ('logit', low, high); got "
        f"{asked!r}.{nearest(str(asked), known) or ' Choose one.'}"
    )


def _check_names(asked: Mapping[str, Any], known: list[str]) -> None:
    for name in asked:
        if name not in known:
            raise DataError(
                f"links must name parameters; got {name!r}, but they are {', '.join(known)}."
                f"{nearest(str(name), known) or ' Correct it.'}"
            )


def _check_link(natural: Natural, link: Link | None, default: Link) -> None:
    """What is limited must stay inside; only free weights and ratios have a choice."""
    if link is None or link == default:
        return
    limited = natural.kind in ("shape", "reciprocal", "share") or default.name == "log"
    if limited and natural.kind != "ratio":
        raise DataError(
            f"links[{natural.name!r}] must be {str(default)!r}, which keeps it inside its limits; "
            f"got {str(link)!r}. Leave it out."
        )


def _default(
    natural: Natural, shapes: Sequence[Shape], must: Sequence[int], below: set[int]
) -> Link:
    if natural.kind == "shape":
        shape = shapes[natural.index]
        if shape.scale == "log":
            return Link("log")
        return Link("logit", natural.scale * shape.low, natural.scale * shape.high)
    if natural.kind == "reciprocal":
        return Link("log")
    if natural.kind == "share":
        return Link("logit", 0.0, natural.scale)
    if natural.kind == "ratio":
        return Link("log" if natural.index in must else "identity")
    return Link("log" if natural.index in must or natural.index in below else "identity")


def _one_to_one(model: Model) -> list[Natural]:
    """Natural parameters that are as many as weights and shape parameters, and tell them all."""
    declared = natural_parameters(model)
    found: list[Natural] = []
    told_weights: set[int] = set()
    told_shape: set[int] = set()
    for natural in declared:
        if natural.kind in ("function", "shape function"):
            continue  # the weight or shape parameter itself stands for it
        told = told_shape if natural.kind == "shape" else told_weights
        linear_power = natural.kind == "shape" and natural.power != 1.0
        odd = linear_power and model.shape[natural.index].scale == "linear"
        if natural.index in told or odd:
            continue
        told.add(natural.index)
        found.append(natural)
    singles = {n.index for n in found if n.kind in ("reciprocal", "weight", "share")}
    for a, natural in enumerate(found):
        if natural.kind == "ratio" and natural.other not in singles:
            found[a] = Natural(model.weights[natural.index], "weight", natural.index)
    found += [
        Natural(name, "weight", a) for a, name in enumerate(model.weights) if a not in told_weights
    ]
    found += [
        Natural(shape.name, "shape", a)
        for a, shape in enumerate(model.shape)
        if a not in told_shape
    ]
    return found
