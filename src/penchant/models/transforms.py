"""Smooth invertible functions: of weights and shape parameters, and links of parameters.

A transform takes a number u to a value, back, and knows the first two derivatives of the value in u
and of u in the value. As a link it has no limits of its own: u may be any number, and the value
lies in a range (a learning rate between 0 and 1). A link is called after the function that takes
the value to u, as in a generalised linear model: "log" is the link of a value exp(u).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from penchant._typing import Matrix
from penchant.argument_checks import check_one_of
from penchant.errors import DataError, closest_match_hint

LOG_3 = log(3.0)
# |u| beyond which an exponential is as good as 0 or infinite: no product of two overflows.
MAX_LOG_VALUE = 300.0


class Formulas(NamedTuple):
    """A transform written out: each takes a number, and the transform's two constants."""

    value: Callable[..., Matrix]
    inverse: Callable[..., Matrix]
    first: Callable[..., Matrix]
    second: Callable[..., Matrix]


def _exp(u: Matrix) -> Matrix:
    return np.exp(np.minimum(np.maximum(u, -MAX_LOG_VALUE), MAX_LOG_VALUE))


def _logistic_slope(u: Matrix, low: float, high: float) -> Matrix:
    return (high - low) * special.expit(u) * special.expit(-u)


FORMULAS = {
    "identity": Formulas(
        lambda u, a, b: u,
        lambda v, a, b: v,
        lambda u, a, b: np.ones_like(u),
        lambda u, a, b: np.zeros_like(u),
    ),
    "log": Formulas(
        lambda u, a, b: _exp(u),
        lambda v, a, b: np.log(v),
        lambda u, a, b: _exp(u),
        lambda u, a, b: _exp(u),
    ),
    "negative log": Formulas(
        lambda u, a, b: -_exp(u),
        lambda v, a, b: np.log(-v),
        lambda u, a, b: -_exp(u),
        lambda u, a, b: -_exp(u),
    ),
    # a at u = -inf, b at u = inf; falling where a > b. Both ends are reached without cancellation.
    "logit": Formulas(
        lambda u, a, b: b * special.expit(u) + a * special.expit(-u),
        lambda v, a, b: (
            special.logit((v - a) / (b - a)) if a < b else -special.logit((v - b) / (a - b))
        ),
        _logistic_slope,
        lambda u, a, b: _logistic_slope(u, a, b) * -np.tanh(0.5 * u),
    ),
    # a u^b
    "power": Formulas(
        lambda u, a, b: a * u**b,
        lambda v, a, b: (v / a) ** (1.0 / b),
        lambda u, a, b: a * b * u ** (b - 1.0),
        lambda u, a, b: a * b * (b - 1.0) * u ** (b - 2.0),
    ),
    "log3(1 + u)": Formulas(
        lambda u, a, b: np.log1p(u) / LOG_3,
        lambda v, a, b: np.expm1(LOG_3 * v),
        lambda u, a, b: 1.0 / (LOG_3 * (1.0 + u)),
        lambda u, a, b: -1.0 / (LOG_3 * (1.0 + u) ** 2),
    ),
    "1 - u": Formulas(
        lambda u, a, b: 1.0 - u,
        lambda v, a, b: 1.0 - v,
        lambda u, a, b: -np.ones_like(u),
        lambda u, a, b: np.zeros_like(u),
    ),
    "-log3 u": Formulas(
        lambda u, a, b: -np.log(u) / LOG_3,
        lambda v, a, b: np.exp(-LOG_3 * v),
        lambda u, a, b: -1.0 / (LOG_3 * u),
        lambda u, a, b: 1.0 / (LOG_3 * u**2),
    ),
}
LINKS = ("identity", "log", "negative log", "logit")


@dataclass(frozen=True)
class Transform:
    """A smooth invertible function by its name.

    Attributes
    ----------
    name
        One of `FORMULAS`.
    low, high
        The value at u = -inf and inf of a "logit"; the factor and the exponent of a "power".
    """

    name: str = "identity"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_one_of(self.name, "transform", FORMULAS)

    def value(self, u: ArrayLike) -> Matrix:
        """The value at u."""
        return FORMULAS[self.name].value(np.asarray(u, np.float64), self.low, self.high)

    def inverse(self, value: ArrayLike) -> Matrix:
        """The u of a value: infinite at the ends of the range, NaN outside."""
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.asarray(value, dtype=np.float64)
            return FORMULAS[self.name].inverse(own, self.low, self.high)

    def derivatives(self, u: ArrayLike) -> tuple[Matrix, Matrix]:
        """First and second derivative of the value at u."""
        _, _, first, second = FORMULAS[self.name]
        own = np.asarray(u, dtype=np.float64)
        return first(own, self.low, self.high), second(own, self.low, self.high)

    def first(self, u: ArrayLike) -> Matrix:
        """First derivative of the value at u."""
        return FORMULAS[self.name].first(np.asarray(u, np.float64), self.low, self.high)

    def inverse_derivatives(self, value: ArrayLike) -> tuple[Matrix, Matrix]:
        """First and second derivative of u at a value; NaN outside the range."""
        own = np.asarray(value, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            # For links in terms of the value: at large |u| the quotients below are 0 / 0.
            if self.name in ("log", "negative log"):
                return 1.0 / own, -1.0 / own**2
            if self.name == "logit":
                below, above = 1.0 / (own - self.low), 1.0 / (self.high - own)
                return below + above, above**2 - below**2
            first, second = self.derivatives(self.inverse(own))
            return 1.0 / first, -second / first**3

    def is_close(self, other: Transform) -> bool:
        """Whether it is the same but for the last digits of a range."""
        ends = (self.low, self.high), (other.low, other.high)
        return self.name == other.name and np.allclose(*ends, rtol=0.0, atol=1e-6)

    def __str__(self) -> str:
        whole = np.allclose((self.low, self.high), (0.0, 1.0), rtol=0.0, atol=1e-6)
        if self.name == "logit" and not whole:
            return f"logit of {self.low:.6g} to {self.high:.6g}"
        return self.name


IDENTITY = Transform()
LOG = Transform("log")
RECIPROCAL = Transform("power", 1.0, -1.0)


def read_link(name: str, given: Any) -> Transform:
    """A link as users give it: a name, or ("logit", low, high)."""
    if isinstance(given, Transform):
        return given
    if isinstance(given, Mapping):
        return Transform(**given)
    if isinstance(given, str) and given in LINKS:
        return Transform(given)
    if isinstance(given, tuple | list) and len(given) == 3 and given[0] == "logit":
        low, high = float(given[1]), float(given[2])
        if np.isfinite([low, high]).all() and low < high:
            return Transform("logit", low, high)
    raise DataError(
        f"links[{name!r}]",
        f"must be one of {', '.join(LINKS)} or ('logit', low, high)",
        got=repr(given),
        fix=closest_match_hint(str(given), LINKS) or "Choose one.",
    )
