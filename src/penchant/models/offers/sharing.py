"""Sharing: what somebody gets, and how unfair it is.

Inequity (Fehr & Schmidt 1999): V = own - envy max(other - own, 0) - guilt max(own - other, 0). ERC
(Bolton & Ockenfels 2000): V = own - equality (own / (own + other) - 1/2)^2.

Ultimatum (Xiang, Lohrenz & Montague 2013): an offer o is compared with the offer f that is usual,
V(accept) = o - envy max(f - o, 0) - guilt max(o - f, 0), V(reject) = 0. Bayes: f is the mean of all
offers up to the one at hand, and of n0 offers of f0 before the first. Delta: f begins with f0, and
after each offer f <- f + epsilon (o - f). Decisions must be in their order; an offer without an
answer teaches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.offers.attributes import LinearModel, check_attributes
from penchant.models.parameters import TEMPERATURE, Row, Shape, per_temperature
from penchant.models.record import Record
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers

ENVY, GUILT, EQUALITY = (
    per_temperature(name, f"{name}_weight") for name in ("envy", "guilt", "equality")
)
NORM_RATE = Shape("norm_rate", 1e-8, 1.0, n_grid=41)


@dataclass(frozen=True)
class Inequity(LinearModel):
    """Inequity aversion: V = own - envy (other - own)+ - guilt (own - other)+ (Fehr & Schmidt).

    Fully linear: theta = (1/tau, envy/tau, guilt/tau), no shape. All are in units of the amounts;
    envy and guilt are without a unit. With kind="erc", V = own - equality (share - 1/2)^2.

    Parameters
    ----------
    kind
        "fehr-schmidt", or "erc", where share = own / (own + other), 1/2 of nothing.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"own": [[8.0, 5.0]], "other": [[2.0, 9.0]]})
    >>> (pn.models.Inequity().explanatory(decisions)[0] + 0.0).tolist()
    [[8.0, 0.0, -6.0], [5.0, -4.0, 0.0]]
    """

    in_brief = "envy and guilt (Fehr-Schmidt, ERC)"

    kind: Literal["fehr-schmidt", "erc"] = "fehr-schmidt"

    attributes = ("own", "other")

    @property
    def parameters(self) -> tuple[Row, ...]:
        return (TEMPERATURE, EQUALITY) if self.kind == "erc" else (TEMPERATURE, ENVY, GUILT)

    def columns(self, offers: Described) -> Matrix:
        """Own, less envy and guilt, or less the squared distance from half."""
        own, other = offers["own"], offers["other"]
        if self.kind == "erc":
            total = own + other
            share = np.divide(own, total, out=np.full(own.shape, 0.5), where=total != 0)
            return np.stack([own, -((share - 0.5) ** 2)], axis=-1)
        return np.stack(
            [own, -np.maximum(other - own, 0.0), -np.maximum(own - other, 0.0)], axis=-1
        )

    def __str__(self) -> str:
        how = "Fehr and Schmidt" if self.kind == "fehr-schmidt" else "ERC"
        return f"inequity aversion ({how})"


@dataclass(frozen=True)
class Ultimatum(Recursion):
    """Ultimatum game: V(accept) = o - envy (f - o)+ - guilt (o - f)+, V(reject) = 0.

    f is the offer that is usual, learnt from offers (Xiang, Lohrenz & Montague 2013). With
    norm="bayes" it is their mean, with the one at hand and n0 of f0 before: fully linear, theta =
    (1/tau, envy/tau, guilt/tau). With norm="delta" it moves by a rate epsilon after every offer:
    theta = (1/tau, envy/tau), psi = epsilon. Offers above the norm that are never rejected do not
    tell guilt: the status says so.

    Parameters
    ----------
    norm
        "bayes" or "delta".
    first
        The offer f0 that is usual before the first: half of what is shared, 10 of 20.
    count
        How many offers n0 it counts for with norm="bayes".

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([1, 0], {"offer": [[0.0, 5.0], [0.0, 16.0]]})
    >>> (pn.models.Ultimatum().explanatory(decisions)[:, 1] + 0.0).round(3).tolist()
    [[5.0, -4.0, 0.0], [16.0, 0.0, -5.833]]
    """

    in_brief = "accept or reject, norms learnt"

    norm: Literal["bayes", "delta"] = "bayes"
    first: float = 10.0
    count: float = 4.0

    attributes = ("offer",)
    optional = ("offer",)
    agents = None  # type: ignore[assignment]  # offers are put before people: nobody plays

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.first) and self.count > 0 and np.isfinite(self.count)):
            raise DataError(
                "first and count",
                "must be finite, the latter positive",
                got=f"{self.first} and {self.count}",
                fix="10 and 4 are usual.",
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        return (TEMPERATURE, ENVY, GUILT if self.norm == "bayes" else NORM_RATE)

    @property
    def smooth(self) -> bool:
        """Not with norm="delta": where the norm equals an offer, envy begins."""
        return self.norm == "bayes"

    def options(self, record: Record) -> int:
        if "offer" not in record.offers:
            for decisions in record.episodes:
                check_attributes(decisions, self.attributes, type(self).__name__)
        return int(record.offers["offer"].shape[1])

    def events(self, record: Record) -> Mapping[str, Any]:
        return {"offer": record.offers["offer"], "choice": record.chosen}

    def settings(self) -> Mapping[str, float]:
        """Whether the norm is the mean of offers, the offers it counts for; column of guilt."""
        is_mean = self.norm == "bayes"
        return {"is_mean": int(is_mean), "count": self.count, "guilt": 2 if is_mean else -1}

    def bindings(self) -> Mapping[str, float]:
        return {"norm_rate": 0.0}

    def state(self) -> Mapping[str, float]:
        """The norm, and the offers that were answered."""
        return {"norm": float(self.first), "n": 0.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        m = len(e.offer)
        n = c.count + s.n
        norm = (n * s.norm + e.offer[m - 1]) / (n + 1.0) if c.is_mean == 1 else s.norm
        x[0, 0] = e.offer[0]  # to reject compares nothing
        for i in range(1, m):
            x[i, 0] = e.offer[i]
            x[i, 1] = min(e.offer[i] - norm, 0.0)
            if c.guilt >= 0:
                x[i, c.guilt] = -max(e.offer[i] - norm, 0.0)

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Count an offer that was answered, or move the norm towards it."""
        if e.choice >= 0:
            o = e.offer[len(e.offer) - 1]
            n = c.count + s.n
            mean = (n * s.norm + o) / (n + 1.0)
            s.norm = mean if c.is_mean == 1 else s.norm + psi.norm_rate * (o - s.norm)
            s.n += 1.0

    def __str__(self) -> str:
        how = "mean of offers" if self.norm == "bayes" else "norm by a rate"
        return f"ultimatum game, {how}, from {self.first:g}"
