"""Effort: what a reward is worth that one has to work for.

Linear V = R - k E; quadratic V = R - k E^2; power V = R - k E^q; hyperbolic V = R / (1 + k E);
exponential V = R exp(-k E); sigmoid V = R (1 - (S(E) - S(0)) (1 + exp(-k p))) with S(E) = 1 / (1 +
exp(-k (E - p))), which falls around the effort p (Klein-Fluegge et al. 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from penchant._typing import Vector
from penchant.models.offers.attributes import OfferModel
from penchant.models.parameters import TEMPERATURE, Row, Shape, per_temperature
from penchant.models.scalars import Fields, Numbers

KINDS = ("linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid")
POWER = Shape("effort_power", 0.1, 10.0, scale="log", n_grid=25)


@dataclass(frozen=True)
class Effort(OfferModel):
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

    in_brief = "rewards for effort"

    kind: Literal["linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid"] = "linear"
    rates: tuple[float, float] = (1e-4, 1e3)
    turns: tuple[float, float] = (1e-3, 1e2)

    attributes = ("reward", "effort")

    @property
    def parameters(self) -> tuple[Row, ...]:
        cost = per_temperature("effort_cost", "effort_weight")
        if self.kind in ("linear", "quadratic"):
            return (TEMPERATURE, cost)
        if self.kind == "power":
            return (TEMPERATURE, cost, POWER)
        is_sigmoid = self.kind == "sigmoid"
        rate = Shape("effort_rate", *self.rates, scale="log", n_grid=41 if is_sigmoid else 60)
        turn = Shape("effort_turn", *self.turns, scale="log", n_grid=31)
        return (TEMPERATURE, rate, turn) if is_sigmoid else (TEMPERATURE, rate)

    def steps(self, decisions: Any) -> dict[str, Vector]:
        """Turns at which a sigmoid that is steep passes an effort."""
        if self.kind != "sigmoid":
            return {}
        return {"effort_turn": np.unique(decisions.offers["effort"])}

    def settings(self) -> Mapping[str, int]:
        return {"kind": KINDS.index(self.kind)}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        if c.kind <= 2:
            x[0] = o.reward
        if c.kind == 0:
            x[1] = -o.effort
        if c.kind == 1:
            x[1] = -(o.effort * o.effort)
        if c.kind == 2:
            x[1] = -(o.effort**psi.effort_power)
        if c.kind == 3:
            x[0] = o.reward * (1.0 / (1.0 + psi.effort_rate * o.effort))
        if c.kind == 4:
            x[0] = o.reward * exp(-psi.effort_rate * o.effort)
        if c.kind == 5:
            k = psi.effort_rate
            rise = expit(k * (o.effort - psi.effort_turn)) - expit(-k * psi.effort_turn)
            x[0] = o.reward * (1.0 - rise * (1.0 + exp(-k * psi.effort_turn)))

    def __str__(self) -> str:
        formula = {
            "linear": "R - k E",
            "quadratic": "R - k E^2",
            "power": "R - k E^q",
            "hyperbolic": "R / (1 + k E)",
            "exponential": "R exp(-k E)",
            "sigmoid": "R falling as a sigmoid of E",
        }
        return f"effort, {formula[self.kind]}"
