"""Base classes of models of offers, and the linear model with one weight per attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.choices.offers import Offers
from penchant.errors import DataError, closest_match_hint
from penchant.models.model import Described, natural_parameters, weights_and_shape
from penchant.models.offers.program import OfferDeclarations, offer_program
from penchant.models.parameters import Parameter, Row
from penchant.models.record import CompiledModel, Record
from penchant.models.scalars import Fields, Numbers


class OfferModel(CompiledModel):
    """Base of models of `Offers`, which define `features`: see `penchant.models.offers.program`.

    Attributes
    ----------
    attributes
        What must be known of every option.

    Examples
    --------
    >>> import penchant as pn
    >>> class Regret(pn.models.OfferModel):
    ...     attributes = ("gain", "cost")
    ...     weights = ("inverse_temperature",)
    ...     shape = (pn.models.Shape("curvature", 0.1, 3.0),)
    ...     @staticmethod
    ...     def features(o, psi, c, x):
    ...         x[0] = o.gain - o.cost ** psi.curvature
    >>> decisions = pn.Offers([0], {"gain": [[5.0, 9.0]], "cost": [[2.0, 3.0]]})
    >>> Regret().explanatory(decisions, 2.0).round(9).tolist()
    [[[1.0], [0.0]]]
    """

    attributes: ClassVar[tuple[str, ...]]

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Fill the attributes of one option."""
        raise NotImplementedError

    def fields(self, offers: Described) -> Described:
        """Inputs of `features` that do not depend on psi (argument o): (n, n_options) each.

        Fields with several outcomes are (n, n_options, n_outcomes).
        """
        return {name: offers[name] for name in self.attributes}

    def bindings(self) -> Mapping[str, float]:
        """Fields of psi that are no shape parameters."""
        return {}

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of every option; NaN if the temperature is infinite."""
        tempered = any(one.name == "temperature" for one in natural_parameters(self))
        scale = (theta[0] or np.nan) if tempered else 1.0
        return {"value": self.explanatory(episode, *psi) @ (theta / scale)}

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Attributes of person which[k] at psi[k], one after another; see `CompiledModel`."""
        self.check_attributes(record)
        program, arrays, numbers = record.cached(self, lambda: self._prepared(record))
        n_rows = int(record.lengths(which).sum())
        n_options = record.offers[self.attributes[0]].shape[1]
        x = np.empty((n_rows, n_options, len(self.weights)))
        given = (
            n_options,
            record.starts,
            which,
            np.ascontiguousarray(psi),
            *arrays,
            *numbers,
            x.reshape(-1),
        )
        slopes = np.empty((psi.shape[1], *x.shape)) if with_slopes else None
        if slopes is None or not len(slopes):
            program.attributes(*given)
        else:
            program.attributes_and_slopes(*given, slopes.reshape(len(slopes), -1))
        return x, slopes

    def check_attributes(self, record: Record) -> None:
        """Raise an error unless all offers have what the model must know."""
        if not set(self.attributes) <= set(record.offers):
            for decisions in record.episodes:
                check_attributes(decisions, self.attributes, type(self).__name__)

    def _prepared(self, record: Record) -> tuple[Any, list[Any], list[float]]:
        """Compiled loops of the model, and what they take of all options, whatever psi is."""
        vectors, outcomes = _end_to_end(self.fields(record.offers))
        settings = self.settings()
        shape = tuple(one.name for one in self.shape)
        whole = tuple((name, v) for name, v in settings.items() if isinstance(v, int))
        declared = OfferDeclarations(shape, outcomes, whole, len(self.weights))
        program = offer_program(type(self).__name__, type(self).features, declared)
        known = {**settings, **self.bindings()}
        numbers = [float(known[name]) for name in (*program.fixed, *program.settings)]
        arrays = [vectors[name] for name in program.fields]
        n_rows = int(np.prod(record.offers[self.attributes[0]].shape[:2]))
        parts = np.empty((program.n_parts, n_rows))
        program.module.prepare(n_rows, *arrays, *numbers, parts)
        return program.module, [*arrays, parts], numbers


def _end_to_end(
    fields: Described,
) -> tuple[dict[str, Vector], tuple[tuple[str, int], ...]]:
    """Fields as vectors, option after option; numbers of outcomes, 0 without an axis of them."""
    vectors = {
        name: np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        for name, values in fields.items()
    }
    outcomes = ((name, v.shape[2] if v.ndim == 3 else 0) for name, v in fields.items())
    return vectors, tuple(outcomes)


def option_values(model: Any, offers: Described, parameters: Mapping[str, float]) -> Matrix:
    """Value of every option in natural parameters; a simulation divides it by temperature."""
    nobody = Offers(np.zeros(len(next(iter(offers.values())))), offers)
    theta, psi = weights_and_shape(model, {**parameters, "temperature": 1.0})
    return np.asarray(model.explanatory(nobody, *psi)) @ theta


def check_attributes(decisions: Any, wanted: tuple[str, ...], whose: str) -> None:
    """Raise an error unless the offers say what a model needs to know."""
    offers = getattr(decisions, "offers", None)
    if offers is None:
        raise DataError(
            whose,
            "must be given Offers",
            got=type(decisions).__name__,
            fix="Make them with Offers(chosen, offers) or offers_from_frame.",
        )
    missing = [name for name in wanted if name not in offers]
    if missing:
        raise DataError(
            "offers",
            f"must have {' and '.join(wanted)} for {whose}",
            got=", ".join(offers),
            fix=closest_match_hint(missing[0], offers) or f"Add {missing[0]}.",
        )


class LinearModel(OfferModel):
    """Base of models without a shape: they define `columns`, the attributes as they are."""

    def columns(self, offers: Described) -> Matrix:
        """Attributes of all options: (n, n_options, n_weights)."""
        raise NotImplementedError

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Explanatory variables of the episodes `which`; none depends on psi."""
        self.check_attributes(record)
        every = record.cached(self, lambda: self.columns(record.offers))
        rows = np.concatenate([np.arange(record.starts[e], record.starts[e + 1]) for e in which])
        return every[rows], np.empty((0, len(rows), *every.shape[1:])) if with_slopes else None


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

    def __post_init__(self) -> None:
        given: Any = self.attributes
        names = (given,) if isinstance(given, str) else tuple(map(str, given))
        if not names or len(set(names)) < len(names):
            raise DataError(
                "attributes",
                "must be one name or more, each once",
                got=repr(names),
                fix="Name them.",
            )
        if self.price is not None and self.price not in names:
            raise DataError(
                "price",
                f"must be one of the attributes {', '.join(names)}",
                got=repr(self.price),
                fix=closest_match_hint(self.price, names) or "Choose one.",
            )
        object.__setattr__(self, "attributes", names)

    @property
    def weights(self) -> tuple[str, ...]:
        """A weight for every attribute."""
        return self.attributes

    @property
    def parameters(self) -> tuple[Row, ...]:
        """The weights; or the sensitivity to the price, and what other attributes are worth."""
        if self.price is None:
            return tuple(map(Parameter.weight, self.attributes))
        return tuple(
            Parameter(f"{name}_sensitivity", (name,))
            if name == self.price
            else Parameter.ratio(f"{name}_worth", name, self.price)
            for name in self.attributes
        )

    def columns(self, offers: Described) -> Matrix:
        """The attributes, what it costs with a minus."""
        columns = [-offers[name] if name == self.price else offers[name] for name in self.weights]
        return np.stack(columns, axis=-1)

    def __str__(self) -> str:
        worth = "" if self.price is None else f", worth in {self.price}"
        return f"attributes {', '.join(self.attributes)}{worth}"
