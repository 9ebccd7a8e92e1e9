"""Links: scales on which a limited parameter may be any number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from penchant.errors import DataError, closest_match_hint

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

    def is_close(self, other: Link) -> bool:
        """Whether it is the same but for the last digits of a range."""
        ends = (self.low, self.high), (other.low, other.high)
        return self.name == other.name and np.allclose(*ends, rtol=0.0, atol=1e-6)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bounds = {"low": self.low, "high": self.high} if self.name == "logit" else {}
        return {"name": self.name, **bounds}

    def __str__(self) -> str:
        whole = np.allclose((self.low, self.high), (0.0, 1.0), rtol=0.0, atol=1e-6)
        if self.name == "logit" and not whole:
            return f"logit of {self.low:.6g} to {self.high:.6g}"
        return self.name


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
        f"{asked!r}.{closest_match_hint(str(asked), known) or ' Choose one.'}"
    )
