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
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers._kernels import beside_peers, by_odds
from penchant.models.offers.attributes import (
    TEMPERATURE,
    ColumnModel,
    Pairs,
    Prepared,
    StaticModel,
    blocks_for,
    ratios,
    shapes,
    side_by_side,
)
from penchant.models.offers.discounting import N_RATES, RATES
from penchant.models.offers.gambles import CURVATURE

ODDS = (1e-4, 1e4)


@dataclass(frozen=True)
class ProbabilityDiscounting(StaticModel):
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

    delays: bool = False
    odds: tuple[float, float] = ODDS
    rates: tuple[float, float] = RATES

    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)

    @property
    def attributes(self) -> tuple[str, ...]:  # type: ignore[override]  # by delays
        """Amount and probability, and the delay."""
        return ("amount", "probability", "delay") if self.delays else ("amount", "probability")

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Rates of discounting, on logarithmic scales."""
        if not self.delays:
            return (Shape("odds_rate", *self.odds, scale="log", n_grid=N_RATES),)
        return (
            Shape("discount_rate", *self.rates, scale="log", n_grid=45),
            Shape("odds_rate", *self.odds, scale="log", n_grid=31),
        )

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, and the rates."""
        return (TEMPERATURE, *shapes(*(s.name for s in self.shape)))

    def prepare(self, offers: Described) -> Prepared:
        """A p, p, and 1 - p, with delays."""
        amount, p, *delays = super().prepare(offers)
        return (side_by_side(amount * p, p, 1.0 - p, *delays),)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """V; - V odds / (1 + h odds), and - V D / (1 + k D)."""
        steep = slopes.reshape(len(slopes), slopes.shape[1] * x.shape[1])
        by_odds(*prepared, *pairs, x.shape[1], x.reshape(-1), steep)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A / (1 + h odds), and less after a delay; nothing where it never comes."""
        amount, p = np.asarray(offers["amount"]), np.asarray(offers["probability"])
        odds = np.divide(1.0 - p, p, out=np.full(p.shape, np.inf), where=p > 0)
        value = np.where(p > 0, amount / (1.0 + parameters["odds_rate"] * odds), 0.0)
        if self.delays:
            value = value / (1.0 + parameters["discount_rate"] * np.asarray(offers["delay"]))
        return np.asarray(value)

    def __str__(self) -> str:
        said = "A / ((1 + k D) (1 + h odds))" if self.delays else "A / (1 + h odds)"
        return f"probability discounting, {said}"


@dataclass(frozen=True)
class Ambiguity(ColumnModel):
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

    kind: Literal["linear", "exponential"] = "linear"

    attributes = ("amount", "probability", "ambiguity")
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        if self.kind not in ("linear", "exponential"):
            raise DataError(
                f"kind must be one of linear, exponential; got {self.kind!r}. Choose one."
            )

    @property
    def weights(self) -> tuple[str, ...]:  # type: ignore[override]  # by kind
        """1/tau, and beta/tau."""
        linear = ("ambiguity_weight",) if self.kind == "linear" else ()
        return ("inverse_temperature", *linear)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Curvature of utility, and ambiguity aversion where it is in an exponent."""
        if self.kind == "linear":
            return (CURVATURE,)
        return (CURVATURE, Shape("ambiguity_aversion", -0.95, 6.0, n_grid=21))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, ambiguity aversion, curvature."""
        if self.kind == "linear":
            return (*ratios("ambiguity_aversion"), *shapes("curvature"))
        return (TEMPERATURE, *shapes("curvature", "ambiguity_aversion"))

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """p v^alpha and -(a / 2) v^alpha; or p^(1 + beta a) v^alpha."""
        utility = offers["amount"] ** psi[0]
        p, a = offers["probability"], offers["ambiguity"]
        if self.kind == "linear":
            return np.stack([p * utility, -0.5 * a * utility], axis=-1)
        return np.asarray((p ** (1.0 + psi[1] * a) * utility)[:, :, None])

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """Times log v, and times a log p."""
        x, v = self.columns(offers, psi), offers["amount"]
        by_alpha = x * np.log(np.where(v > 0, v, 1.0))[:, :, None]
        if self.kind == "linear":
            return np.asarray(by_alpha[None])
        p = offers["probability"]
        log_p = np.log(np.where(p > 0, p, 1.0))
        return np.stack([by_alpha, x * (offers["ambiguity"] * log_p)[:, :, None]])

    def prepare(self, offers: Described) -> tuple[Matrix, ...]:
        """The attributes, if amounts are gains."""
        if (offers["amount"] < 0).any():
            raise DataError(
                "offers['amount'] must not be negative for Ambiguity; got "
                f"{offers['amount'].min():g}. Fit gains and losses apart."
            )
        return super().prepare(offers)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """(p - beta a / 2) v^alpha, or p^(1 + beta a) v^alpha."""
        beta, a = parameters["ambiguity_aversion"], np.asarray(offers["ambiguity"])
        p = np.asarray(offers["probability"])
        chance = p - beta * a / 2.0 if self.kind == "linear" else p ** (1.0 + beta * a)
        return np.asarray(chance * np.asarray(offers["amount"]) ** parameters["curvature"])

    def __str__(self) -> str:
        said = "(p - beta a / 2) v^alpha" if self.kind == "linear" else "p^(1 + beta a) v^alpha"
        return f"ambiguity, {said}"


@dataclass(frozen=True)
class PeerInfluence(StaticModel):
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

    attributes = ("high", "low", "probability", "condition")
    weights = ("inverse_temperature", "influence_weight")
    positive = ("inverse_temperature",)
    natural = (*ratios("peer_influence"), *shapes("curvature"))

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Curvature of utility."""
        return (CURVATURE,)

    def prepare(self, offers: Described) -> Prepared:
        """Chances and logarithms of the amounts, and 1 for what peers took."""
        p, condition = offers["probability"], offers["condition"]
        taken = np.zeros(p.shape)
        taken[:, 0] = condition[:, 0] == 1
        taken[:, -1] = condition[:, -1] == 3
        outcomes = []
        for chance, amount in ((p, offers["high"]), (1.0 - p, offers["low"])):
            gained = np.where(
                amount < 0, np.nan, chance * (amount > 0)
            )  # of losses nothing is known
            outcomes += [gained, np.log(np.where(amount > 0, amount, 1.0))]
        return (side_by_side(*outcomes, taken),)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Expected utility, its slope, and what peers took."""
        rooms = blocks_for(pairs, x.shape[1], 2)
        beside_peers(*prepared, *pairs, x.shape[1], rooms, x.reshape(-1), slopes.reshape(-1))

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """p H^rho + (1 - p) L^rho, and the bonus of what peers took."""
        rho, p = parameters["curvature"], np.asarray(offers["probability"])
        value = p * np.asarray(offers["high"]) ** rho
        value = value + (1.0 - p) * np.asarray(offers["low"]) ** rho
        took = np.array([1.0, *[np.nan] * (p.shape[1] - 2), 3.0])
        shown = np.asarray(offers["condition"]) == took
        return np.asarray(value + parameters["peer_influence"] * shown)

    def __str__(self) -> str:
        return "expected utility and what peers took"
