"""Choice experiments: every attribute of an option has a weight, or a price that it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError, nearest
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers.variables import Pairs, Prepared, StaticModel


@dataclass(frozen=True)
class Attributes(StaticModel):
    """Attributes of options, each with a weight: the objective is theta'x, without a shape.

    Parameters
    ----------
    attributes
        Names of the attributes.
    price
        One of them, what an option costs. Natural parameters are then the sensitivity to it, less
        than nothing for what costs too much, and what a unit of each of the others is worth: the
        willingness to pay, - weight / weight of the price.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"cost": [[3.0, 5.0]], "size": [[1.0, 2.0]]})
    >>> pn.models.Attributes(("cost", "size"), price="cost").explanatory(decisions)[0].tolist()
    [[-3.0, 1.0], [-5.0, 2.0]]
    """

    attributes: tuple[str, ...]  # type: ignore[misc]  # of every model of its own
    price: str | None = None
    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.attributes
        names = (given,) if isinstance(given, str) else tuple(map(str, given))
        if not names or len(set(names)) < len(names):
            raise DataError(
                f"attributes must be one name or more, each once; got {names!r}. Name them."
            )
        if self.price is not None and self.price not in names:
            raise DataError(
                f"price must be one of the attributes {', '.join(names)}; got {self.price!r}."
                f"{nearest(self.price, names) or ' Choose one.'}"
            )
        object.__setattr__(self, "attributes", names)

    @property
    def weights(self) -> tuple[str, ...]:
        """A weight for every attribute."""
        return self.attributes

    @property
    def natural(self) -> tuple[Natural, ...]:
        """The weights; or the sensitivity to the price, and what other attributes are worth."""
        if self.price is None:
            return tuple(Natural(name, "weight", i) for i, name in enumerate(self.attributes))
        at = self.attributes.index(self.price)
        return tuple(
            Natural(f"{name}_sensitivity", "weight", i)
            if i == at
            else Natural(f"{name}_worth", "ratio", i, at)
            for i, name in enumerate(self.attributes)
        )

    def prepare(self, offers: Described) -> Prepared:
        """The attributes, what it costs with a minus."""
        columns = [-offers[name] if name == self.price else offers[name] for name in self.weights]
        return (np.stack(columns, axis=-1),)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Those of the decisions asked for."""
        starts, which, _ = pairs
        rows = np.concatenate([np.arange(starts[e], starts[e + 1]) for e in which])
        x[:] = prepared[0][rows]

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """What the attributes are worth together, in units of the objective."""
        if self.price is None:
            return np.asarray(sum(parameters[name] * offers[name] for name in self.attributes))
        others = (name for name in self.attributes if name != self.price)
        worth = sum((parameters[f"{n}_worth"] * offers[n] for n in others), -offers[self.price])
        return np.asarray(parameters[f"{self.price}_sensitivity"] * worth)

    def __str__(self) -> str:
        worth = "" if self.price is None else f", worth in {self.price}"
        return f"attributes {', '.join(self.attributes)}{worth}"
