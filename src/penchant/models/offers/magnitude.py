"""Discounting in which the size of amounts matters, and heuristics of amounts and delays.

Magnitude effect: V = A / (1 + k D) with k = k0 A^-m, so that large amounts are discounted less.
Utility: V = A^s / (1 + k D). ITCH (Ericson et al. 2015): the log-odds of the later of two options
are linear in what it brings more and how much later it comes, absolutely and relative to the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.offers.attributes import LinearModel, OfferModel
from penchant.models.offers.discounting import RATES, discount_rate
from penchant.models.parameters import TEMPERATURE, Parameter, Row, Shape
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class MagnitudeDiscounting(OfferModel):
    """Hyperbolic discounting that depends on the amount: V = A / (1 + k0 A^-m D).

    theta = 1/tau; psi = (k0, m): the rate of an amount of 1, per unit of delay, and how fast it
    falls with the amount; m = 0 is hyperbolic. With kind="utility" V = A^s / (1 + k D), psi = (k,
    s): the temperature is then in units of amount^s. Amounts must be positive.

    Parameters
    ----------
    kind
        "rate": the rate falls with the amount; "utility": amounts have a curved utility.
    rates
        Range of k0 or k in which to search, per unit of delay.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([1], {"amount": [[4.0, 100.0]], "delay": [[0.0, 5.0]]})
    >>> pn.models.MagnitudeDiscounting().explanatory(decisions, 2.0, 0.5)[0, :, 0].tolist()
    [4.0, 50.0]
    """

    in_brief = "A / (1 + k A^-m D)"

    kind: Literal["rate", "utility"] = "rate"
    rates: tuple[float, float] = RATES

    attributes = ("amount", "delay")

    @property
    def parameters(self) -> tuple[Row, ...]:
        # Every fourth point of a grid, both ends among them, is looked at first.
        if self.kind == "rate":
            effect = Shape("magnitude_effect", -1.0, 2.0, n_grid=17)
            return (TEMPERATURE, discount_rate(self.rates, 41), effect)
        curvature = Shape("curvature", 0.05, 5.0, scale="log", n_grid=15)
        return (TEMPERATURE, discount_rate(self.rates, 45), curvature)

    def fields(self, offers: Described) -> Described:
        if (offers["amount"] <= 0).any():
            raise DataError(
                "offers['amount']",
                "must be positive for MagnitudeDiscounting",
                got=f"{offers['amount'].min():g}",
                fix="Leave such decisions out.",
            )
        return super().fields(offers)

    def settings(self) -> Mapping[str, int]:
        return {"is_utility": int(self.kind == "utility")}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        if c.is_utility == 1:
            x[0] = o.amount**psi.curvature / (1.0 + psi.discount_rate * o.delay)
        else:
            rate = psi.discount_rate * o.amount ** (-psi.magnitude_effect)
            x[0] = o.amount / (1.0 + rate * o.delay)

    def __str__(self) -> str:
        formula = "A / (1 + k A^-m D)" if self.kind == "rate" else "A^s / (1 + k D)"
        return f"discounting by magnitude, {formula}"


@dataclass(frozen=True)
class ITCH(LinearModel):
    """Intertemporal choice heuristics: five weights, no shape (Ericson et al. 2015).

    The log-odds of the second of two options, the later one, are b0 + b1 (x2 - x1) + b2 (x2 - x1) /
    mean x + b3 (t2 - t1) + b4 (t2 - t1) / mean t, with amounts x and delays t. A mean of 0 makes
    no relative difference. Where the sooner option is always now, the relative delay is always 2:
    its weight cannot be told from b0, and the status says so.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([1], {"amount": [[30.0, 50.0]], "delay": [[0.0, 20.0]]})
    >>> pn.models.ITCH().explanatory(decisions)[0, 1].tolist()
    [1.0, 20.0, 0.5, 20.0, 2.0]
    """

    in_brief = "amounts and delays, absolute and relative"

    attributes = ("amount", "delay")
    parameters = tuple(
        map(Parameter.weight, ("later", "amount", "relative_amount", "delay", "relative_delay"))
    )

    def columns(self, offers: Described) -> Matrix:
        """Differences of the second option from the first."""
        amount, delay = offers["amount"], offers["delay"]
        if amount.shape[1] != 2:
            raise DataError(
                "offers", "must have two options for ITCH", got=amount.shape[1], fix="Choose two."
            )
        x = np.zeros((*amount.shape, 5))
        x[:, 1, 0] = 1.0
        for place, values in ((1, amount), (3, delay)):
            more, mean = values[:, 1] - values[:, 0], values.mean(axis=1)
            x[:, 1, place] = more
            x[:, 1, place + 1] = np.divide(more, mean, out=np.zeros(len(more)), where=mean != 0)
        return x

    def latent(self, episode: object, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Weights of differences have no value of an option of its own."""
        return {}

    def __str__(self) -> str:
        return "intertemporal choice heuristics"
