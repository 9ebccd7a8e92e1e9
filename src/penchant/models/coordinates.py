"""Parameters without limits: where a population of people is a normal distribution.

Every natural parameter has a link, on which it may be any number: a learning rate the logit of its
range, a temperature its logarithm, a weight that may have either sign itself. Of a parameter that
is one weight over another, such as a prior mean, the denominator has a logarithm: the ratio has all
its moments, and carries the population under its own name. Or the weight itself carries it, if
asked for: what a decision weighs is then alike between people, and not what it weighs in units of
another weight, which few decisions tell of a person who hardly decides by it.

Shape parameters come first, so that nodes in them are shared by all nodes in the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError, closest_match_hint
from penchant.models.model import Model, natural_parameters, positive_weights
from penchant.models.parameters import Parameter, Shape, bound_weight
from penchant.models.transforms import IDENTITY, Transform, read_link

WEIGHT = "weight"  # the link of a ratio that its weight carries
WEIGHTS = "weights"  # the same of all ratios
Links = Mapping[str, Any] | str | None


@dataclass(frozen=True)
class Coordinate:
    """Natural parameter with its link function.

    Attributes
    ----------
    natural
        What it is of weights and shape.
    link
        Where it is unlimited.
    """

    natural: Parameter
    link: Transform

    @property
    def name(self) -> str:
        """The natural parameter's."""
        return self.natural.name

    @property
    def is_shape(self) -> bool:
        """Whether it is made of a shape parameter."""
        return self.natural.is_shape


@dataclass(frozen=True)
class Coordinates:
    """Unconstrained coordinates of a model: shape parameters, then weights, on their links.

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
    def of_model(cls, model: Model, links: Links = None) -> Coordinates:
        """Make the coordinates of a model, on the links that it declares or on those given."""
        naturals = _one_to_one(model)
        must = positive_weights(model)
        below = {n.over_indices[0] for n in naturals if n.is_ratio}
        if isinstance(links, str):
            asked = dict.fromkeys((n.name for n in naturals if n.is_ratio), _all_weights(links))
        else:
            asked = dict(links or {})
        declared = [n.name for n in naturals]
        naturals = [_on_weight(model, n) if _as_weight(n, asked) else n for n in naturals]
        _check_names(asked, list(dict.fromkeys([*declared, *(n.name for n in naturals)])))
        found = []
        for natural in naturals:
            default = natural.link(natural.index in must, natural.index in below)
            link = read_link(natural.name, asked[natural.name]) if natural.name in asked else None
            found.append(Coordinate(natural, _checked(natural, link, default)))
        found.sort(key=lambda c: not c.is_shape)
        return cls(tuple(found), tuple(model.shape), len(model.weights))

    @classmethod
    def of_names(cls, model: Model, names: Sequence[str], links: Mapping[str, Any]) -> Coordinates:
        """Make coordinates with given names, which tell for which ratios a weight stands."""
        ratios = {model.weights[n.index]: n.name for n in _one_to_one(model) if n.is_ratio}
        weights = {ratios[name]: WEIGHT for name in names if name in ratios}
        own = cls.of_model(model, weights)
        if set(own.names) != set(names):
            return own
        free = {n: links[n] for n in own.names if own.each[own.index(n)].link != links[n]}
        return cls.of_model(model, {**weights, **free}) if free else own

    @classmethod
    def of_variables(cls, names: Sequence[str], links: Links = None) -> Coordinates:
        """Make the coordinates of weights of explanatory variables: identity, or given links."""
        linear: Any = SimpleNamespace(weights=tuple(names), shape=())
        return cls.of_model(linear, links)

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
        """Number of shape parameters, which are the first coordinates."""
        return sum(c.is_shape for c in self.each)

    def index(self, name: str) -> int:
        """Index of the coordinate with a name."""
        return self.names.index(name)

    def natural(self, h: Matrix) -> Matrix:
        """Natural parameters (..., p) of coordinates (..., p)."""
        return np.stack([c.link.value(h[..., a]) for a, c in enumerate(self.each)], axis=-1)

    def coordinates(self, natural: Matrix) -> Matrix:
        """Coordinates of natural parameters."""
        return np.stack([c.link.inverse(natural[..., a]) for a, c in enumerate(self.each)], -1)

    def psi(self, h: Matrix) -> tuple[Matrix, Matrix]:
        """Shape parameters (n, q) of coordinates (n, q or more), and their slopes."""
        values, slopes = np.empty((len(h), self.n_shape)), np.empty((len(h), self.n_shape))
        for a, c in enumerate(self.each[: self.n_shape]):
            natural = c.natural
            own, shape = c.link.value(h[:, a]), self.shape[natural.index]
            raw = natural.transform.inverse(own)
            inside = np.clip(raw, shape.low, shape.high)
            slope = natural.transform.inverse_derivatives(own)[0] * c.link.first(h[:, a])
            values[:, natural.index] = inside
            slopes[:, natural.index] = np.where(raw == inside, slope, 0.0)
        return values, slopes

    def shape_order(self) -> list[int]:
        """Index in `model.shape` of each of the first `n_shape` coordinates."""
        return [c.natural.index for c in self.each[: self.n_shape]]

    def theta(self, h: Matrix) -> Matrix:
        """Weights (..., n_weights) of the coordinates of weights (..., p - q)."""
        theta = np.empty((*h.shape[:-1], self.n_weights))
        for a, c in self._singles_first():
            own = c.natural.weight_on(c.link, h[..., a])
            theta[..., c.natural.index] = own * c.natural.denominator(theta)
        return theta

    def theta_and_slopes(self, h: Matrix) -> tuple[Matrix, Matrix]:
        """Weights, and their derivatives (..., n_weights, p - q) in the coordinates."""
        theta = self.theta(h)
        slopes = np.zeros((*theta.shape, h.shape[-1]))
        for a, c in self._singles_first():
            own = c.natural.weight_slope_on(c.link, h[..., a])
            if c.natural.is_ratio:
                value = c.natural.weight_on(c.link, h[..., a])
                slopes[..., c.natural.index, :] = (
                    value[..., None] * slopes[..., c.natural.over_indices[0], :]
                )
            slopes[..., c.natural.index, a] += own * c.natural.denominator(theta)
        return theta, slopes

    def from_parts(self, theta: Matrix, psi: Matrix) -> Matrix:
        """Coordinates (n, p) of weights (n, d) and shape parameters (n, q)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            each = [c.natural.on_link(c.link, theta, psi) for c in self.each]
        return np.stack(each, axis=1) if each else np.empty((len(theta), 0))

    def _singles_first(self) -> list[tuple[int, Coordinate]]:
        """Coordinates of weights with their places: denominators before ratios."""
        own = list(enumerate(self.each[self.n_shape :]))
        return sorted(own, key=lambda one: one[1].natural.is_ratio)


def _check_names(asked: Mapping[str, Any], known: list[str]) -> None:
    for name in asked:
        if name not in known:
            raise DataError(
                "links",
                "must name parameters",
                got=f"{name!r}, but they are {', '.join(known)}",
                fix=closest_match_hint(str(name), known) or "Correct it.",
            )


def _all_weights(asked: str) -> str:
    if asked != WEIGHTS:
        raise DataError(
            "links",
            f"must be {WEIGHTS!r} or a link by parameter",
            got=repr(asked),
            fix="Give {'price': 'log'}, say.",
        )
    return WEIGHT


def _as_weight(natural: Parameter, asked: Mapping[str, Any]) -> bool:
    """Whether a parameter's weight is to carry the population."""
    if asked.get(natural.name) != WEIGHT:
        return False
    if not natural.is_ratio:
        raise DataError(
            f"links[{natural.name!r}]",
            f"must be {WEIGHT!r} for a ratio of weights alone",
            got="it for a parameter that is none",
            fix="Leave it out.",
        )
    return True


def _on_weight(model: Model, ratio: Parameter) -> Parameter:
    return bound_weight(model.weights[ratio.index], ratio.index)


def _checked(natural: Parameter, link: Transform | None, default: Transform) -> Transform:
    """Check a link asked for: only free weights and ratios may depart from the default."""
    if link is None or link.is_close(default):
        return default
    free = natural.is_ratio or (natural.is_weight and default.name != "log")
    if not free:
        raise DataError(
            f"links[{natural.name!r}]",
            f"must be {str(default)!r}, which keeps it inside its limits",
            got=repr(str(link)),
            fix="Leave it out.",
        )
    return link


def _one_to_one(model: Model) -> list[Parameter]:
    """Natural parameters that are as many as weights and shape parameters, and tell them all."""
    declared = natural_parameters(model)
    found: list[Parameter] = []
    told_weights: set[int] = set()
    told_shape: set[int] = set()
    for natural in declared:
        if natural.is_derived:
            continue  # the weight or shape parameter itself stands for it
        told = told_shape if natural.is_shape else told_weights
        bent = natural.transform not in (IDENTITY, Transform("power", natural.transform.low, 1.0))
        odd = bent and natural.is_shape and natural.range.scale == "linear"
        if natural.index in told or odd:
            continue
        told.add(natural.index)
        found.append(natural)
    singles = {n.index for n in found if not (n.is_shape or n.is_ratio)}
    for a, natural in enumerate(found):
        if natural.is_ratio and natural.over_indices[0] not in singles:
            found[a] = _on_weight(model, natural)
    found += [
        bound_weight(name, a) for a, name in enumerate(model.weights) if a not in told_weights
    ]
    found += [
        Parameter(shape.name, shape=shape, index=a)
        for a, shape in enumerate(model.shape)
        if a not in told_shape
    ]
    return found
