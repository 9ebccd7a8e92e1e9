"""Models of decisions that stand by themselves: variables from what is offered, at many psi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError, nearest
from penchant.models.record import CompiledModel, Record

Offers = Mapping[str, Matrix]


class StaticModel(CompiledModel):
    """Base of models of `Trials`: they define `variables` and `values`.

    Attributes
    ----------
    attributes
        What must be known of every option.
    """

    attributes: ClassVar[tuple[str, ...]]

    def variables(
        self, offers: Offers, psi: tuple[Vector, ...], with_slopes: bool
    ) -> tuple[list[Matrix], list[list[Matrix]]]:
        """Columns of the weights, and, if asked for, their derivatives in each shape parameter.

        Parameters
        ----------
        offers
            Attributes of the options: (rows, n_options), or with outcomes along a third axis.
        psi
            Shape parameters of every row, shaped to fit beside the offers.

        Returns
        -------
        For every weight (rows, n_options); for every shape parameter the same.
        """
        raise NotImplementedError

    def values(self, offers: Offers, parameters: Mapping[str, float]) -> Matrix:
        """Value of every option in natural parameters; a simulation divides it by temperature."""
        raise NotImplementedError

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of trials which[k] at psi[k], one after another; see `CompiledModel`."""
        rows, lengths = record.rows(which), record.lengths(which)
        offers = {name: record.offers[name][rows] for name in self._known(record)}
        n_axes = next(iter(offers.values())).ndim
        at = [np.repeat(column, lengths).reshape(-1, *[1] * (n_axes - 1)) for column in psi.T]
        columns, slopes = self.variables(offers, tuple(at), with_slopes)
        if not with_slopes:
            return np.stack(columns, axis=-1), None
        shape = (len(slopes), *columns[0].shape, len(columns))
        stacked = [np.stack(slope, axis=-1) for slope in slopes]
        return np.stack(columns, axis=-1), np.array(stacked).reshape(shape)

    def _known(self, record: Record) -> tuple[str, ...]:
        """The attributes, where all trials have them."""
        for trials in record.episodes:
            check_attributes(trials, self.attributes, type(self).__name__)
        return self.attributes


def check_attributes(trials: Any, wanted: tuple[str, ...], whose: str) -> None:
    """Raise an error unless the trials say what a model needs to know."""
    offers = getattr(trials, "offers", None)
    if offers is None:
        raise DataError(
            f"{whose} must be given Trials; got {type(trials).__name__}. "
            "Make them with Trials(chosen, offers) or trials_from_frame."
        )
    missing = [name for name in wanted if name not in offers]
    if missing:
        raise DataError(
            f"offers must have {' and '.join(wanted)} for {whose}; got {', '.join(offers)}."
            f"{nearest(missing[0], offers) or f' Add {missing[0]}.'}"
        )
