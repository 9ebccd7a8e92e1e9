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

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers._kernels import against_norms
from penchant.models.offers.attributes import (
    ColumnModel,
    StaticModel,
    check_attributes,
    ratios,
    shapes,
)
from penchant.models.record import Record, empty

NORM_RATE = Shape("norm_rate", 1e-8, 1.0, n_grid=41)


@dataclass(frozen=True)
class Inequity(ColumnModel):
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

    kind: Literal["fehr-schmidt", "erc"] = "fehr-schmidt"

    attributes = ("own", "other")
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        _one_of(self.kind, "kind", ("fehr-schmidt", "erc"))

    @property
    def shape(self) -> tuple[Shape, ...]:
        """None."""
        return ()

    @property
    def weights(self) -> tuple[str, ...]:  # type: ignore[override]  # by kind
        """1/tau, and envy/tau and guilt/tau, or equality/tau."""
        if self.kind == "erc":
            return ("inverse_temperature", "equality_weight")
        return ("inverse_temperature", "envy_weight", "guilt_weight")

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, envy and guilt; or temperature and equality."""
        return ratios("equality") if self.kind == "erc" else ratios("envy", "guilt")

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """Own, less envy and guilt, or less the squared distance from half."""
        own, other = offers["own"], offers["other"]
        if self.kind == "erc":
            total = own + other
            share = np.divide(own, total, out=np.full(own.shape, 0.5), where=total != 0)
            return np.stack([own, -((share - 0.5) ** 2)], axis=-1)
        return np.stack(
            [own, -np.maximum(other - own, 0.0), -np.maximum(own - other, 0.0)], axis=-1
        )

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """There is no shape."""
        return np.empty((0, *offers["own"].shape, len(self.weights)))

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """Own, less what inequity takes from it."""
        own, other = np.asarray(offers["own"]), np.asarray(offers["other"])
        if self.kind == "erc":
            total = np.where(own + other == 0, 1.0, own + other)
            away = np.where(own + other == 0, 0.0, (own - other) / (2.0 * total))
            return np.asarray(own - parameters["equality"] * away**2)
        more = own - other
        rate = np.where(more < 0, -parameters["envy"], parameters["guilt"])
        return np.asarray(own - rate * more)

    def __str__(self) -> str:
        how = "Fehr and Schmidt" if self.kind == "fehr-schmidt" else "ERC"
        return f"inequity aversion ({how})"


@dataclass(frozen=True)
class Ultimatum(StaticModel):
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

    norm: Literal["bayes", "delta"] = "bayes"
    first: float = 10.0
    count: float = 4.0

    attributes = ("offer",)
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        _one_of(self.norm, "norm", ("bayes", "delta"))
        if not (np.isfinite(self.first) and self.count > 0 and np.isfinite(self.count)):
            raise DataError(
                f"first and count must be finite, the latter positive; got {self.first} and "
                f"{self.count}. 10 and 4 are usual."
            )

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, envy/tau, and guilt/tau with norm="bayes"."""
        more = ("guilt_weight",) if self.norm == "bayes" else ()
        return ("inverse_temperature", "envy_weight", *more)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The rate of the norm with norm="delta"."""
        return () if self.norm == "bayes" else (NORM_RATE,)

    @property
    def smooth(self) -> bool:
        """Not with norm="delta": where the norm equals an offer, envy begins."""
        return self.norm == "bayes"

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, envy, and guilt or the rate of the norm."""
        if self.norm == "bayes":
            return ratios("envy", "guilt")
        return (*ratios("envy"), *shapes("norm_rate"))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Offers of each person in their order; see `CompiledModel`."""
        if "offer" not in record.offers:
            for decisions in record.episodes:
                check_attributes(decisions, self.attributes, type(self).__name__)
        offer = record.offers["offer"]
        n_rows = int(record.lengths(which).sum())
        x = empty(n_rows, offer.shape[1], len(self.weights))
        slopes = empty(len(self.shape), n_rows if with_slopes else 0, *x.shape[1:])
        count = self.count if self.norm == "bayes" else -1.0
        pairs = record.starts, which, np.ascontiguousarray(psi)
        against_norms(offer, record.chosen, *pairs, self.first, count, x, slopes)
        return x, slopes if with_slopes else None

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """Of offers that are all answered, in their order: to reject is worth its own offer."""
        given = np.asarray(offers["offer"], dtype=np.float64)
        values, norm, n = given.copy(), self.first, self.count
        for t, row in enumerate(given):
            if self.norm == "bayes":
                norm, n = (n * norm + row[-1]) / (n + 1.0), n + 1.0
            below = np.maximum(norm - row[1:], 0.0)
            above = np.maximum(row[1:] - norm, 0.0)
            guilt = parameters.get("guilt", 0.0)
            values[t, 1:] = row[1:] - parameters["envy"] * below - guilt * above
            if self.norm == "delta":
                norm += parameters["norm_rate"] * (row[-1] - norm)
        return values

    def __str__(self) -> str:
        how = "mean of offers" if self.norm == "bayes" else "norm by a rate"
        return f"ultimatum game, {how}, from {self.first:g}"


def _one_of(given: str, name: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise DataError(f"{name} must be one of {', '.join(known)}; got {given!r}. Choose one.")
