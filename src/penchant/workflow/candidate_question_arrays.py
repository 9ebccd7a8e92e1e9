"""Candidate offers of an adaptive experiment: arguments of `ask` read into arrays.

`read_model_attributes_and_table` reads all candidates, `read_offer` the one that was asked, and
`attributes_at` evaluates a model's attributes of offers at many shape parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penchant._typing import Matrix
from penchant.choices.offers import Offers, described_from_frame, read_offers
from penchant.errors import DataError, format_list
from penchant.models.model import Declared, Model
from penchant.models.offers.attributes import Attributes
from penchant.models.record import Record
from penchant.models.task import Task
from penchant.tables.frames import open_frame

# Relative; larger differences of attributes come from the order of offers, not from rounding.
ORDER_TOL = 1e-9


class Offer(dict[str, Any]):
    """An offer, in the form in which offers were given: values by attribute, or a table's row.

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

    __hash__ = None  # mutable, as every dict: a hash could change while it is a key

    def __repr__(self) -> str:
        return f"Offer({describe_offer(self.attributes)})"


@dataclass(frozen=True)
class OfferTable:
    """The table that offers came from: what `next` gives, and `answer` takes.

    Attributes
    ----------
    cells
        Its columns, by name.
    option_columns
        For every attribute the column, or number, of each option, if they were named.
    attribute_names
        Attributes that may stand in numbered columns.
    """

    cells: dict[str, list[Any]]
    option_columns: Mapping[str, Sequence[Any]] | None
    attribute_names: tuple[str, ...]

    def row(self, number: int) -> dict[str, Any]:
        """Cells of a row, by column."""
        return {name: values[number] for name, values in self.cells.items()}

    def attributes(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Attributes of a row of one's own; None where it has other columns."""
        import pyarrow as pa

        try:
            read = described_from_frame(
                pa.table({str(name): [row[name]] for name in row}),
                self.option_columns,
                self.attribute_names,
            )
        except (DataError, pa.ArrowInvalid, TypeError):
            return None
        return {name: values[0] for name, values in read.items()}


def describe_offer(offer: Mapping[str, Any]) -> str:
    """An offer in words.

    >>> describe_offer({"outcome": [[9, 0], [25, -5]], "probability": [[1, 0], [0.5, 0.5]]})
    'outcome = 9 and 0, 25 and -5; probability = 1 and 0, 0.5 and 0.5'
    """
    parts = []
    for name, values in offer.items():
        options = np.asarray(values, dtype=np.float64)
        cells = (" and ".join(f"{v:g}" for v in np.atleast_1d(option)) for option in options)
        parts.append(f"{name} = {', '.join(cells)}")
    return "; ".join(parts)


def read_model_attributes_and_table(
    model: Model, offers: Any, columns: Mapping[str, Sequence[Any]] | None
) -> tuple[Any, dict[str, Matrix], OfferTable | None]:
    """Read the model, the offers' attributes that it uses, and the table that they came from.

    Parameters
    ----------
    model
        A model of offers; names of attributes that have a weight each; None for all of them.
    offers
        As `ask` takes them.
    columns
        Of a table: for every attribute the column, or number, of each option.
    """
    named = _listed_attribute_names(model)
    needed = tuple(named or (() if model is None else _declared_attribute_names(model)))
    described, source_table = _attribute_arrays_and_table(offers, needed, columns)
    if model is None or named is not None:
        model = Attributes(tuple(described) if named is None else named)
    missing = [name for name in Declared(model).attributes if name not in described]
    if missing:
        raise DataError(
            "offers",
            f"must have {' and '.join(Declared(model).attributes)} for {type(model).__name__}",
            got=format_list(described),
            fix=f"Add {missing[0]}.",
        )
    # Attributes that the model does not use stay out of offers: otherwise two offers that are the
    # same to the model would seem to differ.
    used = {name: described[name] for name in Declared(model).attributes or described}
    n_options = next(iter(used.values())).shape[1]
    if n_options < 2:
        raise DataError(
            "offers",
            "must have two options or more",
            got=n_options,
            fix="Stack a column per option.",
        )
    return model, used, source_table


def _listed_attribute_names(model: Model) -> tuple[str, ...] | None:
    if isinstance(model, str):
        raise DataError(
            "model",
            "must be a model of offers, a list of attributes, or None",
            got=repr(model),
            fix="Write pn.HyperbolicDiscounting(), or ['price', 'comfort'].",
        )
    if isinstance(model, (list, tuple)):
        return tuple(map(str, model))
    return None


def _declared_attribute_names(model: Model) -> tuple[str, ...]:
    declared = Declared(model)
    if declared.explanatory is None or isinstance(model, type):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            "model",
            "must be a model of offers, a list of attributes, or None",
            got=given,
            fix="Write pn.HyperbolicDiscounting(), or ['price', 'comfort'].",
        )
    if not declared.attributes and declared.explanatory_many is not None:
        raise DataError(
            "model",
            "must be a model of offers, a list of attributes, or None",
            got=f"{type(model).__name__}, which learns from rewards",
            fix="Use live for choices of a player.",
        )
    return tuple(declared.attributes)


def _attribute_arrays_and_table(
    offers: Any, needed: tuple[str, ...], columns: Mapping[str, Sequence[Any]] | None
) -> tuple[dict[str, Matrix], OfferTable | None]:
    """Attributes as arrays, whatever the offers come as; and the table, if they come as one."""
    if isinstance(offers, Offers):
        return dict(offers.offers), None
    if isinstance(offers, (list, tuple)) and offers and isinstance(offers[0], Offers):
        return dict(Record.of(offers).offers), None
    if isinstance(offers, Task):
        offers = offers.world
    # A mapping of matrices holds attributes; one of vectors is a table, column by column.
    if isinstance(offers, Mapping) and columns is None:
        dimensions = {np.ndim(values) for values in offers.values()}
        if not offers or dimensions != {1}:
            sizes = [len(values) for values in offers.values() if np.ndim(values)]
            n = sizes[0] if sizes else 0
            if offers and not n:
                raise DataError(
                    "offers", "must hold one offer or more", got="none", fix="Give a row for each."
                )
            return read_offers(offers, n, lambda row: f"offer {row}"), None
    if isinstance(offers, Mapping):
        import pyarrow as pa

        try:
            offers = pa.table({str(name): np.asarray(v) for name, v in offers.items()})
        except (pa.ArrowInvalid, TypeError, ValueError):
            raise DataError(
                "offers",
                "must hold columns of the same length",
                got="others",
                fix="Give every attribute (n_offers, n_options), or every column n_offers numbers.",
            ) from None
    if offers is None or isinstance(offers, (list, tuple, str, np.ndarray)):
        raise DataError(
            "offers",
            "must be attributes by name, or a pandas, polars or pyarrow table",
            got=type(offers).__name__,
            fix="Give one array (n_offers, n_options) for each attribute.",
        )
    described = described_from_frame(offers, columns, needed)
    table = open_frame(offers)
    cells = {str(name): table[name].to_list() for name in table.columns}
    return described, OfferTable(cells, columns, needed)


def read_offer(
    offer: Any, candidates: Mapping[str, Matrix], source_table: OfferTable | None = None
) -> Offer:
    """Read an offer with the attributes and options of others, a row of their table, or a number.

    Parameters
    ----------
    offer
        As `Asker.answer` takes it.
    candidates
        Attributes of the candidate offers.
    source_table
        The table that these came from, if they did.
    """
    number = getattr(offer, "number", None) if isinstance(offer, Offer) else None
    if isinstance(offer, Offer):
        offer = offer.attributes
    elif (
        source_table is not None
        and hasattr(offer, "keys")
        and not all(name in offer for name in candidates)
    ):
        # `keys()`, as iterating over a row of pandas gives its cells, not its names.
        cells = {name: offer[name] for name in offer.keys()}  # noqa: SIM118
        offer = source_table.attributes(cells) or offer
    if isinstance(offer, (int, np.integer)) and not isinstance(offer, bool):
        n = len(next(iter(candidates.values())))
        if not 0 <= offer < n:
            raise DataError(
                "offer", f"must lie in 0..{n - 1}", got=offer, fix="Give what next() gave."
            )
        return Offer({name: values[offer] for name, values in candidates.items()}, int(offer))
    missing = [] if isinstance(offer, Mapping) else list(candidates)
    if isinstance(offer, Mapping):
        missing = [name for name in candidates if name not in offer]
    if missing:
        got = format_list(map(str, offer)) if isinstance(offer, Mapping) else type(offer).__name__
        raise DataError(
            "offer",
            f"must have {' and '.join(candidates)}, as the offers have",
            got=got,
            fix="Give what next() gave.",
        )
    read = read_offers({name: [offer[name]] for name in candidates}, 1, lambda _: "this offer")
    for name, values in candidates.items():
        if read[name].shape[1:] != values.shape[1:]:
            raise DataError(
                f"offer[{name!r}]",
                f"must have shape {values.shape[1:]}, as in the offers",
                got=read[name].shape[1:],
                fix="Give what next() gave.",
            )
    found = Offer({name: read[name][0] for name in candidates}, number)
    if found.number is None:
        found.number = _index_of_equal_candidate(found, candidates)
    return found


def _index_of_equal_candidate(offer: Offer, candidates: Mapping[str, Matrix]) -> int | None:
    """Number of the first candidate that equals an offer, or None."""
    same = np.ones(len(next(iter(candidates.values()))), dtype=bool)
    for name, values in candidates.items():
        same &= (values == offer.attributes[name]).reshape(len(values), -1).all(axis=1)
    where = np.flatnonzero(same)
    return int(where[0]) if len(where) else None


def unanswered_record(offers: Mapping[str, Matrix]) -> Record:
    """A record of unanswered offers, from which models compute attributes."""
    n = len(next(iter(offers.values())))
    copies = {name: np.array(values) for name, values in offers.items()}
    unanswered = Offers.of_checked(np.zeros(n, dtype=np.int64), copies, np.ones(n, dtype=bool))
    return Record.of([unanswered])


def check_attributes_ignore_order(model: Model, offers: Mapping[str, Matrix], psi: Matrix) -> None:
    """Refuse a model whose attributes depend on the offers before."""
    # A learning model gives other attributes in reversed order; 20 offers are enough to show it.
    first = {name: values[: min(len(values), 20)] for name, values in offers.items()}
    turned = {name: values[::-1] for name, values in first.items()}
    x = attributes_at(model, unanswered_record(first), psi)
    other = attributes_at(model, unanswered_record(turned), psi)[:, ::-1]
    if not np.allclose(x, other, rtol=ORDER_TOL, atol=ORDER_TOL * np.abs(x).max(initial=0.0)):
        raise DataError(
            "model",
            "must describe every offer by itself",
            got=f"{type(model).__name__}, in which an offer depends on those before it",
            fix="Ask with a model that does not learn.",
        )


def attributes_at(model: Model, record: Record, psi: Matrix) -> Matrix:
    """Attributes (n_psi, n_offers, n_options, n_weights) at many psi."""
    many = Declared(model).explanatory_many
    if many is None:
        return np.stack([np.asarray(model.explanatory(record.episodes[0], *row)) for row in psi])
    x, _ = many(record, np.zeros(len(psi), dtype=np.int64), np.ascontiguousarray(psi), False)
    return x.reshape(len(psi), -1, *x.shape[1:])
