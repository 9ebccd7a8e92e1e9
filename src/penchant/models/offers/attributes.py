"""What models of offers share, and the plainest of them: attributes with a weight each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError, closest_match_hint
from penchant.models.model import Described, natural_parameters
from penchant.models.natural import Natural, Shape
from penchant.models.record import CompiledModel, Record, empty
from penchant.softmax._simd import LANES

Prepared = tuple[Matrix, ...]  # what does not depend on psi
Pairs = tuple[IntVector, IntVector, Matrix]  # where each person starts, which person, at which psi


class StaticModel(CompiledModel):
    """Base of models of `Offers`: they define `fill` and `option_values`.

    Attributes
    ----------
    attributes
        What must be known of every option.
    """

    attributes: ClassVar[tuple[str, ...]]
    weights: Any
    shape: Any

    def prepare(self, offers: Described) -> Prepared:
        """What `fill` needs of the attributes of all decisions, whatever psi is."""
        return tuple(offers[name] for name in self.attributes)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Fill the variables, and the slopes if they have rows.

        Parameters
        ----------
        prepared
            What `prepare` made of the offers.
        pairs
            Where the decisions of each person start, which person, and at which psi.
        x, slopes
            (rows, n_options, n_weights), and the same for every shape parameter.
        """
        raise NotImplementedError

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """Value of every option in natural parameters; a simulation divides it by temperature."""
        raise NotImplementedError

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """What every option is worth; not known where a ratio of weights is infinite."""
        natural = natural_parameters(self)
        parameters = {n.name: n.value(theta, psi) for n in natural}
        if not all(np.isfinite(parameters[n.name]) for n in natural if n.is_ratio):
            offered = np.asarray(next(iter(episode.offers.values())))
            return {"value": np.full(offered.shape[:2], np.nan)}
        return {"value": self.option_values(episode.offers, parameters)}

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of person which[k] at psi[k], one after another; see `CompiledModel`."""
        offers = record.offers
        if not set(self.attributes) <= set(offers):
            for decisions in record.episodes:
                check_attributes(decisions, self.attributes, type(self).__name__)
        n_rows = int(record.lengths(which).sum())
        x = empty(n_rows, offers[self.attributes[0]].shape[1], len(self.weights))
        slopes = empty(psi.shape[1], n_rows if with_slopes else 0, *x.shape[1:])
        if self not in record.prepared:
            record.prepared[self] = self.prepare(offers)
        pairs = record.starts, which, np.ascontiguousarray(psi)
        self.fill(record.prepared[self], pairs, x, slopes)
        return x, slopes if with_slopes else None


def side_by_side(*attributes: Matrix) -> Matrix:
    """Attributes as rows, one option of a decision after another: (n_attributes, n)."""
    return np.stack([attribute.reshape(-1) for attribute in attributes])


def blocks_for(pairs: Pairs, width: int, n_rooms: int = 1) -> Matrix:
    """Rooms for `width` numbers of every decision of any person, in whole blocks of eight."""
    longest = int(np.diff(pairs[0]).max(initial=0))
    return np.zeros((n_rooms, -(-longest * width // LANES) * LANES))


def check_attributes(decisions: Any, wanted: tuple[str, ...], whose: str) -> None:
    """Raise an error unless the offers say what a model needs to know."""
    offers = getattr(decisions, "offers", None)
    if offers is None:
        raise DataError(
            f"{whose} must be given Offers; got {type(decisions).__name__}. "
            "Make them with Offers(chosen, offers) or offers_from_frame."
        )
    missing = [name for name in wanted if name not in offers]
    if missing:
        raise DataError(
            f"offers must have {' and '.join(wanted)} for {whose}; got {', '.join(offers)}."
            f"{closest_match_hint(missing[0], offers) or f' Add {missing[0]}.'}"
        )


TEMPERATURE = Natural("temperature", "reciprocal", 0)
AT_ONCE = 4096  # decisions whose numbers stay in the cache


class ColumnModel(StaticModel):
    """Base of models whose first weight is 1/tau, and whose others are ratios to it.

    They define `columns`, `column_slopes` where there are shape parameters, and `option_values`, by
    which people are simulated: the equation in natural parameters, apart from the columns.
    """

    weights: tuple[str, ...]

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """Variables (n, n_options, n_weights) of some decisions, each at a psi of its own.

        psi[a] is (n, 1): shape parameter a at every decision.
        """
        raise NotImplementedError

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """Their derivatives in each shape parameter, (n_shape, n, n_options, n_weights)."""
        raise NotImplementedError

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """The columns of every person at every psi, of many pairs at once."""
        starts, which, psi = pairs
        counts = np.diff(starts)[which]
        ends = np.cumsum(counts)
        first = 0
        while first < len(which):
            begin = ends[first] - counts[first]
            last = max(first + 1, int(np.searchsorted(ends, begin + AT_ONCE, side="right")))
            some, mine = slice(first, last), slice(begin, ends[last - 1])
            skipped = starts[which[some]] - (ends[some] - counts[some])
            rows = np.arange(mine.start, mine.stop) + np.repeat(skipped, counts[some])
            described = zip(self.attributes, prepared, strict=True)
            offers = {name: np.take(values, rows, axis=0) for name, values in described}
            at = np.repeat(psi[some], counts[some], axis=0).T[:, :, None]
            x[mine] = self.columns(offers, at)
            if slopes.shape[1]:
                slopes[:, mine] = self.column_slopes(offers, at)
            first = last


class LinearModel(StaticModel):
    """Base of models without a shape: `prepare` gives their columns as they are."""

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Those of the decisions asked for."""
        starts, which, _ = pairs
        rows = np.concatenate([np.arange(starts[e], starts[e + 1]) for e in which])
        x[:] = prepared[0][rows]


def ratios(*names: str) -> tuple[Natural, ...]:
    """Temperature, and parameters that are the weights after the first over the first."""
    return (TEMPERATURE, *(Natural(name, "ratio", a, 0) for a, name in enumerate(names, start=1)))


def shapes(*names: str) -> tuple[Natural, ...]:
    """Shape parameters under their own names."""
    return tuple(Natural(name, "shape", a) for a, name in enumerate(names))


@dataclass(frozen=True)
class Attributes(LinearModel):
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
                f"{closest_match_hint(self.price, names) or ' Choose one.'}"
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
