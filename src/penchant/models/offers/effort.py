"""Effort: what a reward is worth that one has to work for.

Linear V = R - k E; quadratic V = R - k E^2; power V = R - k E^q; hyperbolic V = R / (1 + k E);
exponential V = R exp(-k E); sigmoid V = R (1 - (S(E) - S(0)) (1 + exp(-k p))) with S(E) = 1 / (1 +
exp(-k (E - p))), which falls around the effort p (Klein-Fluegge et al. 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers.attributes import TEMPERATURE, ColumnModel, ratios, shapes

KINDS = ("linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid")
POWER = Shape("effort_power", 0.1, 10.0, scale="log", n_grid=25)


@dataclass(frozen=True)
class Effort(ColumnModel):
    """Effort discounting: a reward R for an effort E.

    linear, quadratic: V = R - k E, R - k E^2; theta = (1/tau, k/tau), no shape. power: V = R - k
    E^q; psi = q. hyperbolic, exponential: V = R / (1 + k E), R exp(-k E); theta = 1/tau, psi = k.
    sigmoid: V = R (1 - (S(E) - S(0)) (1 + e^(-k p))), S(E) = 1 / (1 + e^(-k (E - p))); psi = (k,
    p).

    Parameters
    ----------
    kind
        How effort costs: "linear", "quadratic", "power", "hyperbolic", "exponential" or "sigmoid".
    rates
        Range of k in which to search where it is a shape parameter, per unit of effort.
    turns
        Range of p, in units of effort.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"reward": [[2.0, 5.0]], "effort": [[0.0, 4.0]]})
    >>> pn.models.Effort("quadratic").explanatory(decisions)[0].tolist()
    [[2.0, -0.0], [5.0, -16.0]]
    >>> pn.models.Effort("hyperbolic").explanatory(decisions, 0.25)[0].tolist()
    [[2.0], [2.5]]
    """

    kind: Literal["linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid"] = "linear"
    rates: tuple[float, float] = (1e-4, 1e3)
    turns: tuple[float, float] = (1e-3, 1e2)

    attributes = ("reward", "effort")
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(
                f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}. Choose one."
            )

    @property
    def _subtracts(self) -> bool:
        return self.kind in ("linear", "quadratic", "power")

    @property
    def weights(self) -> tuple[str, ...]:  # type: ignore[override]  # by kind
        """1/tau, and k/tau where the cost is subtracted."""
        cost = ("effort_weight",) if self._subtracts else ()
        return ("inverse_temperature", *cost)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The power of effort, or how fast it discounts, and where."""
        if self.kind in ("linear", "quadratic"):
            return ()
        if self.kind == "power":
            return (POWER,)
        rate = Shape("effort_rate", *self.rates, scale="log", n_grid=60)
        if self.kind != "sigmoid":
            return (rate,)
        rate = Shape("effort_rate", *self.rates, scale="log", n_grid=41)
        return (rate, Shape("effort_turn", *self.turns, scale="log", n_grid=31))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, the cost of effort, and shape parameters."""
        first = ratios("effort_cost") if self._subtracts else (TEMPERATURE,)
        return (*first, *shapes(*(s.name for s in self.shape)))

    def steps(self, decisions: Any) -> dict[str, Vector]:
        """Turns at which a sigmoid that is steep passes an effort."""
        if self.kind != "sigmoid":
            return {}
        return {"effort_turn": np.unique(decisions.offers["effort"])}

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """What a reward is worth; and minus what the effort costs where it is subtracted."""
        reward, effort = offers["reward"], offers["effort"]
        if self._subtracts:
            known = {"linear": 1.0, "quadratic": 2.0}.get(self.kind)
            return np.stack([reward, -(effort ** (known or psi[0]))], axis=-1)
        return np.asarray((reward * self._left(effort, psi))[:, :, None])

    def _left(self, effort: Matrix, psi: Any) -> Matrix:
        """Share of a reward that is left after an effort."""
        k = psi[0]
        if self.kind == "hyperbolic":
            return np.asarray(1.0 / (1.0 + k * effort))
        if self.kind == "exponential":
            return np.asarray(np.exp(-k * effort))
        p = psi[1]
        rise = special.expit(k * (effort - p)) - special.expit(-k * p)
        return np.asarray(1.0 - rise * (1.0 + np.exp(-k * p)))

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """Their derivatives in q, k or p."""
        reward, effort = offers["reward"], offers["effort"]
        found = np.zeros((len(self.shape), *reward.shape, len(self.weights)))
        if self.kind == "power":
            log_effort = np.log(np.where(effort > 0, effort, 1.0))
            found[0, :, :, 1] = -(effort ** psi[0]) * log_effort
        elif self.kind == "hyperbolic":
            found[0, :, :, 0] = -reward * effort / (1.0 + psi[0] * effort) ** 2
        elif self.kind == "exponential":
            found[0, :, :, 0] = -reward * effort * np.exp(-psi[0] * effort)
        elif self.kind == "sigmoid":
            k, p = psi
            here, start = special.expit(k * (effort - p)), special.expit(-k * p)
            fade = np.exp(-k * p)
            bend, begin = here * (1.0 - here), start * (1.0 - start)
            rise = here - start
            by_k = bend * (effort - p) + begin * p
            by_p = k * (begin - bend)
            found[0, :, :, 0] = -reward * (by_k * (1.0 + fade) - rise * p * fade)
            found[1, :, :, 0] = -reward * (by_p * (1.0 + fade) - rise * k * fade)
        return found

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """What is left of the reward after the effort."""
        reward, effort = np.asarray(offers["reward"]), np.asarray(offers["effort"])
        if self._subtracts:
            power = {"linear": 1.0, "quadratic": 2.0}.get(self.kind)
            power = parameters["effort_power"] if power is None else power
            return np.asarray(reward - parameters["effort_cost"] * effort**power)
        k = parameters["effort_rate"]
        if self.kind == "hyperbolic":
            return np.asarray(reward / (1.0 + k * effort))
        if self.kind == "exponential":
            return np.asarray(reward * np.exp(-k * effort))
        p = parameters["effort_turn"]
        fall = 0.5 * (np.tanh(0.5 * k * (effort - p)) + np.tanh(0.5 * k * p))
        return np.asarray(reward * (1.0 - fall * (1.0 + np.exp(-k * p))))

    def __str__(self) -> str:
        said = {
            "linear": "R - k E",
            "quadratic": "R - k E^2",
            "power": "R - k E^q",
            "hyperbolic": "R / (1 + k E)",
            "exponential": "R exp(-k E)",
            "sigmoid": "R falling as a sigmoid of E",
        }
        return f"effort, {said[self.kind]}"
