"""What an asker may offer, and parameters on scales that suit what is offered.

Every parameter of a model has a link, on which it may be any number (`Coordinates`). Here each is
shifted and scaled besides, to z, so that priors mean the same whatever the offers are in:

- a shape parameter is its link itself;
- a temperature is log(s / tau), with s the root mean square within offers of the variable that
  1/tau multiplies, at the same psi: how consistent somebody is among these offers;
- a weight, or a ratio of two, is multiplied by the root mean square of its variable, or by the
  ratio of both, at the middle of the ranges of psi.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import stats

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, format_list
from penchant.models.coordinates import Coordinate, Coordinates
from penchant.models.model import Declared
from penchant.models.offers.attributes import Attributes
from penchant.models.offers.offers import Offers, described_from_frame, read_offers
from penchant.models.priors import NaturalPrior, PopulationPrior
from penchant.models.record import Record
from penchant.models.task import Task
from penchant.softmax.prior import GaussianPrior, ScaledPrior
from penchant.tables.frames import open_frame

SAME = 1e-9  # of a variable's size within which it is the same wherever an offer stands


class Offer(dict[str, Any]):
    """One offer, as the offers were given: numbers of its options by attribute, or a table's row.

    Attributes
    ----------
    number
        Which of the offers it is, from 0; None for one that is not among them.
    attributes
        For every attribute the numbers of its options; `offer[name]` finds them in a row, too.

    Examples
    --------
    >>> import penchant as pn
    >>> offer = pn.results.Offer({"amount": [20, 50], "delay": [0, 30]})
    >>> offer
    Offer(amount = 20, 50; delay = 0, 30)
    >>> offer["delay"][1], offer == {"amount": [20.0, 50.0], "delay": [0.0, 30.0]}
    (np.float64(30.0), True)
    """

    def __init__(
        self,
        attributes: Mapping[str, Any],
        number: int | None = None,
        row: Mapping[str, Any] | None = None,
    ) -> None:
        self.attributes: dict[str, Matrix] = {
            n: np.array(v, dtype=np.float64) for n, v in attributes.items()
        }
        self.number = number
        super().__init__(self.attributes if row is None else row)

    def __missing__(self, name: str) -> Matrix:
        return self.attributes[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists of the numbers of its options by attribute, ready for JSON."""
        return {name: values.tolist() for name, values in self.attributes.items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(document)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping) or set(self) != set(other):
            return False
        return all(np.array_equal(values, other[name]) for name, values in self.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as of every dict

    def __repr__(self) -> str:
        return f"Offer({offer_words(self.attributes)})"


@dataclass(frozen=True)
class Rows:
    """The table that offers came from: what `next` gives, and `answer` takes.

    Attributes
    ----------
    cells
        Its columns, by name.
    columns
        For every attribute the column, or number, of each option, if they were named.
    wanted
        Attributes that may stand in numbered columns.
    """

    cells: dict[str, list[Any]]
    columns: Mapping[str, Sequence[Any]] | None
    wanted: tuple[str, ...]

    def row(self, number: int) -> dict[str, Any]:
        """One row, by column."""
        return {name: values[number] for name, values in self.cells.items()}

    def attributes(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Attributes of a row of one's own; None where it has other columns."""
        import pyarrow as pa

        try:
            read = described_from_frame(
                pa.table({str(name): [row[name]] for name in row}), self.columns, self.wanted
            )
        except (DataError, pa.ArrowInvalid, TypeError):
            return None
        return {name: values[0] for name, values in read.items()}


def offer_words(offer: Mapping[str, Any]) -> str:
    """An offer in words.

    >>> offer_words({"outcome": [[9, 0], [25, -5]], "probability": [[1, 0], [0.5, 0.5]]})
    'outcome = 9 and 0, 25 and -5; probability = 1 and 0, 0.5 and 0.5'
    """
    said = []
    for name, values in offer.items():
        options = np.asarray(values, dtype=np.float64)
        cells = (" and ".join(f"{v:g}" for v in np.atleast_1d(option)) for option in options)
        said.append(f"{name} = {', '.join(cells)}")
    return "; ".join(said)


def read_questions(
    model: Any, offers: Any, columns: Mapping[str, Sequence[Any]] | None
) -> tuple[Any, dict[str, Matrix], Rows | None]:
    """The model, the offers that it describes by attribute, and the table that they came from.

    Parameters
    ----------
    model
        A model of offers; names of attributes that have a weight each; None for all of them.
    offers
        As `ask` takes them.
    columns
        Of a table: for every attribute the column, or number, of each option.
    """
    named = _named_attributes(model)
    wanted = tuple(named or (() if model is None else _attributes_of(model)))
    described, rows = _described(offers, wanted, columns)
    if model is None or named is not None:
        model = Attributes(tuple(described) if named is None else named)
    missing = [name for name in Declared(model).attributes if name not in described]
    if missing:
        raise DataError(
            f"offers must have {' and '.join(Declared(model).attributes)} for "
            f"{type(model).__name__}; got {format_list(described)}. Add {missing[0]}."
        )
    shared = {name: described[name] for name in Declared(model).attributes or described}
    n_options = next(iter(shared.values())).shape[1]
    if n_options < 2:
        raise DataError(
            f"offers must have two options or more; got {n_options}. Stack a column per option."
        )
    return model, shared, rows


def _named_attributes(model: Any) -> tuple[str, ...] | None:
    if isinstance(model, str):
        raise DataError(
            f"model must be a model of offers, a list of attributes, or None; got {model!r}. "
            "Write pn.HyperbolicDiscounting(), or ['price', 'comfort']."
        )
    if isinstance(model, (list, tuple)):
        return tuple(map(str, model))
    return None


def _attributes_of(model: Any) -> tuple[str, ...]:
    declared = Declared(model)
    if declared.explanatory is None or isinstance(model, type):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            f"model must be a model of offers, a list of attributes, or None; got {given}. "
            "Write pn.HyperbolicDiscounting(), or ['price', 'comfort']."
        )
    if not declared.attributes and declared.explanatory_many is not None:
        raise DataError(
            f"model must be a model of offers, a list of attributes, or None; got "
            f"{type(model).__name__}, which learns from rewards. Use live for choices of a player."
        )
    return tuple(declared.attributes)


def _described(
    offers: Any, wanted: tuple[str, ...], columns: Mapping[str, Sequence[Any]] | None
) -> tuple[dict[str, Matrix], Rows | None]:
    """Attributes as arrays, whatever the offers come as; and the table, if they come as one."""
    if isinstance(offers, Offers):
        return dict(offers.offers), None
    if isinstance(offers, (list, tuple)) and offers and isinstance(offers[0], Offers):
        return dict(Record.of(offers).offers), None
    if isinstance(offers, Task):
        offers = offers.world
    if isinstance(offers, Mapping) and columns is None:
        dimensions = {np.ndim(values) for values in offers.values()}
        if not offers or dimensions != {1}:
            sizes = [len(values) for values in offers.values() if np.ndim(values)]
            n = sizes[0] if sizes else 0
            if offers and not n:
                raise DataError(
                    "offers must hold one offer or more; got none. Give a row for each."
                )
            return read_offers(offers, n, lambda row: f"offer {row}"), None
    if isinstance(offers, Mapping):
        import pyarrow as pa  # one column after another, as a table

        try:
            offers = pa.table({str(name): np.asarray(v) for name, v in offers.items()})
        except (pa.ArrowInvalid, TypeError, ValueError):
            raise DataError(
                "offers must hold columns of the same length; got others. Give every attribute "
                "(n_offers, n_options), or every column n_offers numbers."
            ) from None
    if offers is None or isinstance(offers, (list, tuple, str, np.ndarray)):
        raise DataError(
            f"offers must be attributes by name, or a pandas, polars or pyarrow table; got "
            f"{type(offers).__name__}. Give one array (n_offers, n_options) for each attribute."
        )
    described = described_from_frame(offers, columns, wanted)
    table = open_frame(offers)
    cells = {str(name): table[name].to_list() for name in table.columns}
    return described, Rows(cells, columns, wanted)


def read_offer(offer: Any, like: Mapping[str, Matrix], rows: Rows | None = None) -> Offer:
    """One offer that has the attributes and the options of others, or a row of their table."""
    number = getattr(offer, "number", None) if isinstance(offer, Offer) else None
    if isinstance(offer, Offer):
        offer = offer.attributes
    elif rows is not None and hasattr(offer, "keys") and not all(name in offer for name in like):
        offer = rows.attributes({name: offer[name] for name in offer.keys()}) or offer  # noqa: SIM118
    if isinstance(offer, (int, np.integer)) and not isinstance(offer, bool):
        n = len(next(iter(like.values())))
        if not 0 <= offer < n:
            raise DataError(f"offer must lie in 0..{n - 1}; got {offer}. Give what next() gave.")
        return Offer({name: values[offer] for name, values in like.items()}, int(offer))
    missing = [] if isinstance(offer, Mapping) else list(like)
    if isinstance(offer, Mapping):
        missing = [name for name in like if name not in offer]
    if missing:
        got = format_list(map(str, offer)) if isinstance(offer, Mapping) else type(offer).__name__
        raise DataError(
            f"offer must have {' and '.join(like)}, as the offers have; got {got}. "
            "Give what next() gave."
        )
    read = read_offers({name: [offer[name]] for name in like}, 1, lambda _: "this offer")
    for name, values in like.items():
        if read[name].shape[1:] != values.shape[1:]:
            raise DataError(
                f"offer[{name!r}] must have shape {values.shape[1:]}, as in the offers; got "
                f"{read[name].shape[1:]}. Give what next() gave."
            )
    found = Offer({name: read[name][0] for name in like}, number)
    if found.number is None:
        found.number = _place(found, like)
    return found


def _place(offer: Offer, like: Mapping[str, Matrix]) -> int | None:
    """Which of the offers it is, or None."""
    same = np.ones(len(next(iter(like.values()))), dtype=bool)
    for name, values in like.items():
        same &= (values == offer.attributes[name]).reshape(len(values), -1).all(axis=1)
    where = np.flatnonzero(same)
    return int(where[0]) if len(where) else None


def as_record(offers: Mapping[str, Matrix]) -> Record:
    """Offers that nobody has answered, as models read them."""
    n = len(next(iter(offers.values())))
    copies = {name: np.array(values) for name, values in offers.items()}
    unanswered = Offers.of_checked(np.zeros(n, dtype=np.int64), copies, np.ones(n, dtype=bool))
    return Record.of([unanswered])


def check_stands_alone(model: Any, offers: Mapping[str, Matrix], psi: Matrix) -> None:
    """Refuse a model whose variables depend on the offers before."""
    some = {name: values[: min(len(values), 20)] for name, values in offers.items()}
    turned = {name: values[::-1] for name, values in some.items()}
    one = variables(model, as_record(some), psi)
    other = variables(model, as_record(turned), psi)[:, ::-1]
    if not np.allclose(one, other, rtol=SAME, atol=SAME * np.abs(one).max(initial=0.0)):
        raise DataError(
            f"model must describe every offer by itself; got {type(model).__name__}, in which an "
            "offer depends on those before it. Ask with a model that does not learn."
        )


def variables(model: Any, record: Record, psi: Matrix) -> Matrix:
    """Explanatory variables (n_psi, n_offers, n_options, n_weights) at many psi."""
    many = Declared(model).explanatory_many
    if many is None:
        return np.stack([np.asarray(model.explanatory(record.episodes[0], *row)) for row in psi])
    x, _ = many(record, np.zeros(len(psi), dtype=np.int64), np.ascontiguousarray(psi), False)
    return x.reshape(len(psi), -1, *x.shape[1:])


CONSISTENCY = stats.norm(np.log(2.0), 1.0)  # of log(s / tau), where nothing else is said
SIZE = stats.norm(0.0, 2.0)  # of a weight times s, or of a ratio
ORDER = stats.norm(0.0, 1.5)  # of the logarithm of a positive one
FAR = 5.0  # standard deviations up to which a normal prior is looked at
TAIL = 1e-6  # of other priors
LOOKED_AT = 81  # values of a shape parameter at which it is asked what offers tell of it
LEAST = 1e-3  # of the largest density of a shape parameter that is left anywhere in its range
STEEP = 9.0  # logits up to which a range is looked at
SOME = 64  # offers that tell how variables spread, at most
MIDDLE = 9  # values of each shape parameter among which the middle is

AskPrior = NaturalPrior | PopulationPrior | GaussianPrior | ScaledPrior


class Place(NamedTuple):
    """Parameters at many nodes.

    Attributes
    ----------
    h, theta, psi
        On links (n, p), weights (n, d), shape parameters (n, q).
    spread
        Root mean square of every variable within offers, (n, d).
    """

    h: Matrix
    theta: Matrix
    psi: Matrix
    spread: Matrix


@dataclass(frozen=True, eq=False)
class Units:
    """From z to the parameters of a model, and the prior of z.

    Attributes
    ----------
    model, coordinates
        The model, and its parameters on their links.
    offers
        Attributes of the offers.
    prior
        What is believed before answers; None for the scales above.
    """

    model: Any
    coordinates: Coordinates
    offers: Mapping[str, Matrix]
    prior: AskPrior | None

    @classmethod
    def of(cls, model: Any, offers: Mapping[str, Matrix], prior: Any) -> Units:
        """Of a model and its offers."""
        if prior is not None and not isinstance(prior, AskPrior):
            raise DataError(
                "prior must be a NaturalPrior, a PopulationPrior, a GaussianPrior, a ScaledPrior "
                f"or None; got {type(prior).__name__}. Try pn.NaturalPrior."
            )
        if isinstance(prior, PopulationPrior):
            return cls(model, prior.coordinates_of(model), offers, prior)
        coordinates = Coordinates.of_model(model)
        if isinstance(prior, NaturalPrior):
            for name in prior.densities:
                if name not in coordinates.names:
                    raise DataError(
                        f"prior must name parameters that are asked about; got {name!r}, but they "
                        f"are {', '.join(coordinates.names)}. Correct it."
                    )
        if isinstance(prior, (GaussianPrior, ScaledPrior)):
            prior.quadratic(len(model.weights), np.ones(len(model.weights)))
        return cls(model, coordinates, offers, prior)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are."""
        return len(self.coordinates)

    @property
    def n_shape(self) -> int:
        """How many are of shape: the first ones."""
        return self.coordinates.n_shape

    # -- from z to parameters ----------------------------------------------------------------------

    def psi(self, z: Matrix) -> Matrix:
        """Shape parameters (n, q) at nodes whose first columns are theirs."""
        return self.coordinates.psi(z)[0]

    def spread(self, psi: Matrix) -> Matrix:
        """Root mean square of every variable within offers, (n_psi, n_weights)."""
        if not len(self.model.shape):
            return np.repeat(self._spread_of(np.zeros((1, 0))), len(psi), axis=0)
        return self._spread_of(psi)

    def _spread_of(self, psi: Matrix) -> Matrix:
        x = variables(self.model, self._some, psi)
        with np.errstate(over="ignore", invalid="ignore"):
            away = x - x.mean(axis=2, keepdims=True)
            found = np.sqrt((away**2).mean(axis=(1, 2)))
        return np.where(np.isfinite(found) & (found > 0), found, 1.0)

    @cached_property
    def _some(self) -> Any:
        n = len(next(iter(self.offers.values())))
        which = np.unique(np.linspace(0, n - 1, min(n, SOME)).astype(np.int64))
        return as_record({name: values[which] for name, values in self.offers.items()})

    @cached_property
    def middle(self) -> Vector:
        """Spread of every variable in the middle of the ranges of psi."""
        return np.asarray(np.median(self.spread(self.typical_psi()), axis=0))

    def typical_psi(self) -> Matrix:
        """Shape parameters over their ranges, at the quarters of each search."""
        inside = np.linspace(0.0, 1.0, MIDDLE + 2)[1:-1]
        axes = [
            s.from_search(s.search_range[0] + (s.search_range[1] - s.search_range[0]) * inside)
            for s in self.model.shape
        ]
        every = list(product(*axes))
        return np.array(every, dtype=np.float64).reshape(len(every), len(axes))

    def place(self, z: Matrix, psi: Matrix, spread: Matrix) -> Place:
        """Parameters at nodes z (n, p), whose psi (n, q) and spread (n, d) are known."""
        h = z.copy()
        for a, c in enumerate(self.coordinates.each):
            if not c.is_shape:
                h[:, a] = self._on_link(c, z[:, a], spread)
        return Place(h, self.coordinates.theta(h[:, self.n_shape :]), psi, spread)

    def _on_link(self, c: Coordinate, z: Vector, spread: Matrix) -> Vector:
        natural, link = c.natural, c.link.name
        if natural.kind == "reciprocal":
            return np.asarray(np.log(spread[:, natural.index]) - z)
        if natural.kind == "ratio":
            unit = self.middle[natural.other] / self.middle[natural.index]
            return np.asarray(np.log(unit) + z if link == "log" else unit * z)
        if link == "log":
            return np.asarray(z - np.log(spread[:, natural.index]))
        return np.asarray(z if link == "logit" else z / self.middle[natural.index])

    # -- the prior of z ----------------------------------------------------------------------------

    def log_prior(self, z: Matrix, place: Place) -> Vector:
        """Log-density of z, up to a constant; -inf where a parameter cannot be."""
        found = np.zeros(len(z))
        for a, c in enumerate(self.coordinates.each):
            if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
                found += self._of_natural(c, place.h[:, a])
            elif c.is_shape and not isinstance(self.prior, PopulationPrior):
                found += self._of_range(c, z[:, a])
            elif self.prior is None or isinstance(self.prior, NaturalPrior):
                found += usual(c).logpdf(z[:, a])
        if isinstance(self.prior, PopulationPrior):
            density = self.prior.of_model(self.model)
            value, _, _ = density.on_weights(place.theta, place.psi)
            found += value
            found += sum(self._inside(c, z[:, a]) for a, c in self._shapes())
        if isinstance(self.prior, (GaussianPrior, ScaledPrior)):
            found += self._of_weights(place)
        return found

    def log_masses(self, natural: Matrix) -> Vector:
        """Log-masses of natural parameters (n, p) that are given one by one."""
        found = np.zeros(len(natural))
        if isinstance(self.prior, NaturalPrior):
            for name, density in self.prior.densities.items():
                found += density.logpdf(natural[:, self.coordinates.index(name)])
        return found

    def _shapes(self) -> list[tuple[int, Coordinate]]:
        return list(enumerate(self.coordinates.each[: self.n_shape]))

    def _of_natural(self, c: Coordinate, h: Vector) -> Vector:
        assert isinstance(self.prior, NaturalPrior)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self.prior.densities[c.name].logpdf(c.link.value(h))
            found = density + np.log(np.abs(c.link.slope(h)))
        inside = self._inside(c, h) if c.is_shape else 0.0
        return np.where(np.isnan(found), -np.inf, found) + inside

    def _inside(self, c: Coordinate, h: Vector) -> Vector:
        """0 inside the range of a shape parameter, -inf outside."""
        if c.link.name == "logit":
            return np.zeros(len(h))
        low, high = self._range(c)
        room = 1e-9 * (high - low)
        return np.where((h >= low - room) & (h <= high + room), 0.0, -np.inf)

    def _of_range(self, c: Coordinate, h: Vector) -> Vector:
        """As likely as the offers tell values apart from their neighbours."""
        places, log_density = self._told_apart[c.natural.index]
        return np.asarray(np.interp(h, places, log_density) + self._inside(c, h))

    @cached_property
    def _told_apart(self) -> dict[int, tuple[Vector, Vector]]:
        """Of every shape parameter: places on its link, and the log-density of its prior there.

        The density is how fast the variables change, in units of their own spread: the root mean
        square over offers, as in the prior of Jeffreys.
        """
        found = {}
        middle = np.median(self.typical_psi(), axis=0)
        for _, c in self._shapes():
            ends = (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
            places = np.linspace(*ends, LOOKED_AT)
            own = (c.link.value(places) / c.natural.scale) ** (1.0 / c.natural.power)
            shape = self.model.shape[c.natural.index]
            psi = np.repeat(middle[None], LOOKED_AT, axis=0)
            psi[:, c.natural.index] = np.clip(own, shape.low, shape.high)
            x = variables(self.model, self._some, psi)
            with np.errstate(over="ignore", invalid="ignore"):
                x = (x - x.mean(axis=2, keepdims=True)) / self.spread(psi)[:, None, None, :]
                change = np.sqrt((np.gradient(x, places, axis=0) ** 2).mean(axis=(1, 2, 3)))
            change = np.where(np.isfinite(change), change, 0.0)
            top = change.max()
            density = np.maximum(change, LEAST * top) if top > 0 else np.ones(LOOKED_AT)
            found[c.natural.index] = places, np.log(density)
        return found

    def _of_weights(self, place: Place) -> Vector:
        """A prior of weights, as a density of z."""
        d = place.theta.shape[1]
        if isinstance(self.prior, ScaledPrior):
            value = -0.5 * self.prior.c * ((place.theta * place.spread) ** 2).sum(axis=1)
            value += np.log(place.spread).sum(axis=1)
        else:
            assert isinstance(self.prior, GaussianPrior)
            quadratic = self.prior.quadratic(d, np.ones(d))
            centre = np.linalg.solve(quadratic.precision, quadratic.linear)
            away = place.theta - centre
            value = -0.5 * np.einsum("na,ab,nb->n", away, quadratic.precision, away)
        if any(c.natural.kind != "weight" or c.link.name != "identity" for c in self._weights()):
            _, slopes = self.coordinates.theta_and_slopes(place.h[:, self.n_shape :])
            with np.errstate(divide="ignore"):
                value += np.linalg.slogdet(slopes)[1]
        return np.asarray(value)

    def _weights(self) -> tuple[Coordinate, ...]:
        return self.coordinates.each[self.n_shape :]

    # -- where to look -----------------------------------------------------------------------------

    def ends(self) -> Matrix:
        """From where to where each z is looked at before answers: (p, 2)."""
        return np.array([self._ends(a, c) for a, c in enumerate(self.coordinates.each)])

    def _ends(self, a: int, c: Coordinate) -> tuple[float, float]:
        if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
            density = self.prior.densities[c.name]
            ends = c.link.coordinate(np.array([density.ppf(TAIL), density.ppf(1 - TAIL)]))
            return self._from_link(c, *np.clip(ends, -300.0, 300.0))
        if isinstance(self.prior, PopulationPrior):
            at = self.prior.names.index(c.name)
            away = FAR * float(np.sqrt(self.prior.covariance[at, at]))
            mean = float(self.prior.mean[at])
            return self._from_link(c, mean - away, mean + away)
        if c.is_shape:
            return (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
        low, high = usual(c).mean() + FAR * usual(c).std() * np.array([-1.0, 1.0])
        if isinstance(self.prior, GaussianPrior):
            low, high = self._wide_enough(c, low, high)
        return float(low), float(high)

    def spreads_of_z(self) -> Vector:
        """About the standard deviation of each z before answers."""
        widths = np.diff(self.ends(), axis=1)[:, 0]
        found = widths / (2 * FAR)
        for a, c in self._shapes():
            if self.prior is None or not _holds(self.prior, c.name):
                places, log_density = self._told_apart[c.natural.index]
                density = np.exp(log_density) / np.exp(log_density).sum()
                found[a] = np.sqrt(density @ (places - density @ places) ** 2)
        return np.asarray(found)

    def _range(self, c: Coordinate) -> tuple[float, float]:
        ends = np.sort(c.link.coordinate(np.array(c.natural.ends(self.model.shape))))
        return float(ends[0]), float(ends[1])

    def _from_link(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """From ends on the link to ends of z, at any psi."""
        if c.is_shape:
            own = (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
            inside = max(low, own[0]), min(high, own[1])
            return inside if inside[0] < inside[1] else own
        spreads = self.spread(self.typical_psi())
        both = np.array([low, high])
        natural = c.natural
        if natural.kind == "reciprocal":
            logs = np.log(spreads[:, natural.index])
            return float(logs.min() - high), float(logs.max() - low)
        if natural.kind == "ratio":
            unit = self.middle[natural.other] / self.middle[natural.index]
            found = both - np.log(unit) if c.link.name == "log" else both / unit
        elif c.link.name == "log":
            logs = np.log(spreads[:, natural.index])
            found = both + np.array([logs.min(), logs.max()])
        else:
            found = both * (1.0 if c.link.name == "logit" else self.middle[natural.index])
        return float(found[0]), float(found[1])

    def _wide_enough(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """Ends that a Gaussian prior of a weight asks for."""
        assert isinstance(self.prior, GaussianPrior)
        d = len(self.model.weights)
        quadratic = self.prior.quadratic(d, np.ones(d))
        covariance = np.linalg.inv(quadratic.precision)
        a = c.natural.index
        mean, sd = (covariance @ quadratic.linear)[a], float(np.sqrt(covariance[a, a]))
        unit = self.middle[a]
        if c.natural.kind == "reciprocal" or c.link.name == "log":
            most = float(np.log((abs(mean) + FAR * sd) * unit))
            return min(low, most - 8.0), max(high, most)
        if c.natural.kind == "ratio":
            return low, high
        return float((mean - FAR * sd) * unit), float((mean + FAR * sd) * unit)


def _holds(prior: AskPrior, name: str) -> bool:
    """Whether a prior says anything of a shape parameter."""
    return isinstance(prior, (NaturalPrior, PopulationPrior)) and prior.holds(name)


def usual(c: Coordinate) -> Any:
    """What is believed of a weight before answers where nothing is said: a density of z."""
    if c.natural.kind == "reciprocal":
        return CONSISTENCY
    return ORDER if c.link.name == "log" else SIZE
