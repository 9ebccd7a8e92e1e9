"""Chances: unlikely, unknown, or taken by others.

Probability discounting (Rachlin et al. 1991): V = A / (1 + h odds), odds against = (1 - p) / p;
with delays V = A / ((1 + k D) (1 + h odds)).

Ambiguity (Levy et al. 2010): V = (p - beta a / 2) v^alpha, where a is the share of chances that is
hidden; or V = p^(1 + beta a) v^alpha (Hsu et al. 2005).

Peers (Chung et al. 2015): the expected utility p H^rho + (1 - p) L^rho of a safe and a risky
option, and a bonus for the one that others took: condition 1 both safe, 3 both risky, others none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.offers.attributes import OfferModel
from penchant.models.offers.discounting import N_RATES, RATES, discount_rate
from penchant.models.offers.gambles import CURVATURE
from penchant.models.parameters import TEMPERATURE, Row, Shape, per_temperature
from penchant.models.scalars import Fields, Numbers

ODDS = (1e-4, 1e4)


@dataclass(frozen=True)
class ProbabilityDiscounting(OfferModel):
    """Probability discounting: V = A / (1 + h odds), odds = (1 - p) / p (Rachlin et al. 1991).

    theta = 1/tau, psi = h: 1 is the expected value, more is averse to risks. With delays V = A /
    ((1 + k D) (1 + h odds)), psi = (k, h). What never comes (p = 0) is worth nothing.

    Parameters
    ----------
    delays
        Whether amounts come after delays, too.
    odds
        Range of h in which to search.
    rates
        Range of k, per unit of delay.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"amount": [[9.0, 25.0]], "probability": [[1.0, 0.2]]})
    >>> pn.models.ProbabilityDiscounting().explanatory(decisions, 1.0)[0, :, 0].tolist()
    [9.0, 5.0]
    """

    in_brief = "A / (1 + h odds against)"

    delays: bool = False
    odds: tuple[float, float] = ODDS
    rates: tuple[float, float] = RATES

    @property
    def attributes(self) -> tuple[str, ...]:  # type: ignore[override]  # by delays
        """Attributes that every option must have."""
        return ("amount", "probability", "delay") if self.delays else ("amount", "probability")

    @property
    def parameters(self) -> tuple[Row, ...]:
        delayed = (discount_rate(self.rates, 45),) if self.delays else ()
        n_grid = 31 if self.delays else N_RATES
        return (TEMPERATURE, *delayed, Shape("odds_rate", *self.odds, scale="log", n_grid=n_grid))

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        value = o.amount * o.probability / (o.probability + psi.odds_rate * (1.0 - o.probability))
        if c.delays == 1:
            value /= 1.0 + psi.discount_rate * o.delay
        x[0] = value

    def __str__(self) -> str:
        formula = "A / ((1 + k D) (1 + h odds))" if self.delays else "A / (1 + h odds)"
        return f"probability discounting, {formula}"


@dataclass(frozen=True)
class Ambiguity(OfferModel):
    """Ambiguity aversion: V = (p - beta a / 2) v^alpha (Levy et al. 2010).

    a is the share of chances that is hidden. theta = (1/tau, beta/tau), psi = alpha, the curvature
    of utility; beta > 0 is averse to ambiguity. With kind="exponential" V = p^(1 + beta a) v^alpha:
    theta = 1/tau, psi = (alpha, beta).

    Parameters
    ----------
    kind
        "linear" or "exponential".

    Examples
    --------
    >>> import penchant as pn
    >>> offers = {"amount": [[5, 16]], "probability": [[0.5, 0.5]], "ambiguity": [[0, 0.5]]}
    >>> pn.models.Ambiguity().explanatory(pn.Offers([1], offers), 0.5)[0, 1].tolist()
    [2.0, -1.0]
    """

    in_brief = "hidden chances (Levy)"

    kind: Literal["linear", "exponential"] = "linear"

    attributes = ("amount", "probability", "ambiguity")

    @property
    def parameters(self) -> tuple[Row, ...]:
        if self.kind == "linear":
            aversion = per_temperature("ambiguity_aversion", "ambiguity_weight")
            return (TEMPERATURE, aversion, CURVATURE)
        return (TEMPERATURE, CURVATURE, Shape("ambiguity_aversion", -0.95, 6.0, n_grid=21))

    def fields(self, offers: Described) -> Described:
        if (offers["amount"] < 0).any():
            raise DataError(
                "offers['amount']",
                "must not be negative for Ambiguity",
                got=f"{offers['amount'].min():g}",
                fix="Fit gains and losses apart.",
            )
        return super().fields(offers)

    def settings(self) -> Mapping[str, int]:
        return {"is_linear": int(self.kind == "linear")}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        utility = o.amount**psi.curvature
        if c.is_linear == 1:
            x[0] = o.probability * utility
            x[1] = -0.5 * o.ambiguity * utility
        else:
            x[0] = o.probability ** (1.0 + psi.ambiguity_aversion * o.ambiguity) * utility

    def __str__(self) -> str:
        formula = "(p - beta a / 2) v^alpha" if self.kind == "linear" else "p^(1 + beta a) v^alpha"
        return f"ambiguity, {formula}"


@dataclass(frozen=True)
class PeerInfluence(OfferModel):
    """Choices of peers: expected utility, and a bonus for what others took (Chung et al. 2015).

    V = p H^rho + (1 - p) L^rho, plus the influence of peers for the safe option (the first) in
    condition 1, for the risky one (the second) in condition 3; none in others (0 alone, 2 peers who
    disagree). theta = (1/tau, influence/tau), psi = rho; influence is in units of utility.

    Examples
    --------
    >>> import penchant as pn
    >>> offers = {"high": [[25, 49]], "low": [[16, 1]], "probability": [[0.5, 0.5]],
    ...           "condition": [[3, 3]]}
    >>> pn.models.PeerInfluence().explanatory(pn.Offers([1], offers), 0.5)[0].round(9).tolist()
    [[4.5, 0.0], [4.0, 1.0]]
    """

    in_brief = "gambles, and what others took"

    attributes = ("high", "low", "probability", "condition")
    parameters = (TEMPERATURE, per_temperature("peer_influence", "influence_weight"), CURVATURE)

    def fields(self, offers: Described) -> Described:
        condition = offers["condition"]
        taken = np.zeros(condition.shape)
        taken[:, 0] = condition[:, 0] == 1
        taken[:, -1] = condition[:, -1] == 3
        return {**super().fields(offers), "taken": taken}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        p = o.probability
        x[0] = p * o.high**psi.curvature + (1.0 - p) * o.low**psi.curvature
        x[1] = o.taken

    def __str__(self) -> str:
        return "expected utility and what peers took"
