"""What is found of a subject's regret: the curves, the order, the category."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from penchant._frames import Backend, frame
from penchant._typing import Vector
from penchant.errors import DataError
from penchant.population import growth_curves
from penchant.population.growth_curves import ORDERS
from penchant.softmax.document import plain, plain_label

Order = Literal["linear", "power", "logarithmic", "none"]
Category = Literal["low", "high"]
Status = Literal["growing", "not growing", "too few decisions"]
FEWEST = 4  # two parameters, the variance, and one decision that can contradict them
CLEAR = 2.0  # a gap of AIC below this is no evidence


@dataclass(frozen=True)
class Curve:
    """One curve of cumulative regret: its two numbers and how well it fits.

    Attributes
    ----------
    a, b
        a + b t, a t^b or a + b log t.
    residual
        Residual sum of squares.
    aic
        n log(residual / n) + 6. All curves have as many parameters, so that AICc and BIC give the
        same weights.
    weight
        exp(-AIC / 2), the three summing to 1. Residuals of a cumulative sum go together, so that
        these are too sure: the bootstrap is the better measure.
    """

    order: Order
    a: float
    b: float
    residual: float
    aic: float
    weight: float

    def at(self, t: Any) -> Vector:
        """The curve at the times t, counted from 1."""
        times = np.asarray(t, dtype=np.float64)
        return growth_curves.values(ORDERS.index(self.order), self.a, self.b, times)


@dataclass(frozen=True)
class GrowthOrder:
    """How a subject's cumulative regret grows, and how sure that is.

    Attributes
    ----------
    status
        "growing"; "not growing": no order can be told, as nothing is lost any more; "too few
        decisions": nothing can be told.
    order
        The curve with the least residual, or "none".
    category
        The paper's: "low" for linear and power, "high" for logarithmic and for regret that does not
        grow; None with too few decisions.
    curves
        All three, in the order linear, power, logarithmic; none with too few decisions.
    shares
        Share of bootstrap replicates in which each order was best, where it was asked for.
    """

    status: Status
    order: Order
    category: Category | None
    curves: tuple[Curve, ...]
    n_decisions: int
    shares: Mapping[str, float] | None = None
    subject: Any = None

    def curve(self, order: Order | None = None) -> Curve:
        """The curve of an order; the best one if none is named."""
        wanted = self.order if order is None else order
        for curve in self.curves:
            if curve.order == wanted:
                return curve
        raise DataError(
            f"order must be one that was fitted; got {wanted!r}. "
            f"{self.message or 'Choose linear, power or logarithmic.'}"
        )

    @property
    def margin(self) -> float:
        """AIC of the second best curve minus that of the best: below 2 is no evidence."""
        ranked = sorted(curve.aic for curve in self.curves)
        return ranked[1] - ranked[0] if ranked else float("nan")

    @property
    def category_margin(self) -> float:
        """AIC of the best curve of the other category minus that of the best of this one."""
        if not self.curves:
            return float("nan")
        linear, power, logarithmic = (curve.aic for curve in self.curves)
        return abs(min(linear, power) - logarithmic)

    @property
    def category_weight(self) -> float:
        """Summed AIC weights of the category's curves; NaN where regret does not grow."""
        if self.status != "growing":
            return float("nan")
        linear, power, logarithmic = (curve.weight for curve in self.curves)
        return logarithmic if self.category == "high" else linear + power

    @property
    def confidence(self) -> float:
        """Share of bootstrap replicates that fall in the category; NaN without a bootstrap."""
        if self.shares is None:
            return float("nan")
        low = self.shares["linear"] + self.shares["power"]
        return low if self.category == "low" else 1.0 - low

    @property
    def message(self) -> str:
        """What the status means; empty where regret grows."""
        if self.status == "too few decisions":
            return (
                f"{FEWEST} decisions are needed to tell how regret grows; got {self.n_decisions}."
            )
        if self.status == "not growing":
            return "Regret does not grow, so no order can be told: no faster than a logarithm."
        return ""

    @property
    def words(self) -> str:
        """The order in words, with its doubts."""
        if self.message:
            return self.message
        linear, power, _ = self.curves
        said = f"{self.order.capitalize()} growth, {self.category} performance"
        said += f" (AIC weight of the category {self.category_weight:.2f}"
        said += "" if self.shares is None else f", bootstrap share {self.confidence:.2f}"
        said += ")."
        if self.category_margin < CLEAR:
            said += " The category is close to arbitrary: the next one fits as well."
        if self.category == "low" and abs(linear.aic - power.aic) < CLEAR:
            said += " Linear against power is close to arbitrary; both are low."
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        return {
            "subject": plain_label(self.subject),
            "status": self.status,
            "order": self.order,
            "category": self.category,
            "n_decisions": self.n_decisions,
            "margin": plain(self.margin),
            "category_margin": plain(self.category_margin),
            "category_weight": plain(self.category_weight),
            "confidence": plain(self.confidence),
            "curves": [vars(curve) | {"order": curve.order} for curve in self.curves],
            "words": self.words,
        }

    def __repr__(self) -> str:
        return f"<GrowthOrder {self.order}, {self.category}: {self.n_decisions} decisions>"


@dataclass(frozen=True, eq=False, repr=False)
class GrowthOrders(Sequence[GrowthOrder]):
    """The growth orders of many subjects: by position, `of(subject)`, or all in `to_frame()`."""

    subjects: tuple[Any, ...]
    orders: tuple[GrowthOrder, ...]

    def __len__(self) -> int:
        return len(self.orders)

    @overload
    def __getitem__(self, index: int) -> GrowthOrder: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GrowthOrder, ...]: ...
    def __getitem__(self, index: int | slice) -> GrowthOrder | tuple[GrowthOrder, ...]:
        return self.orders[index]

    def __iter__(self) -> Iterator[GrowthOrder]:
        return iter(self.orders)

    def of(self, subject: Any) -> GrowthOrder:
        """The growth order of one subject, by label."""
        if subject not in self.subjects:
            raise DataError(
                f"subject must be one of the {len(self)} given; got {subject!r}. See `subjects`."
            )
        return self.orders[self.subjects.index(subject)]

    @property
    def categories(self) -> tuple[Category | None, ...]:
        """One category per subject."""
        return tuple(order.category for order in self.orders)

    def counts(self) -> dict[str, int]:
        """How many subjects have each order."""
        found = [order.order for order in self.orders]
        return {name: found.count(name) for name in (*ORDERS, "none") if name in found}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per subject: order, category, weights, shares, the numbers of each curve."""
        columns: dict[str, list[Any]] = {"subject": list(self.subjects)}
        for name in ("status", "order", "category", "n_decisions", "margin", "category_margin"):
            columns[name] = [getattr(order, name) for order in self.orders]
        columns["category_weight"] = [order.category_weight for order in self.orders]
        columns["confidence"] = [order.confidence for order in self.orders]
        for k, name in enumerate(ORDERS):
            for what in ("a", "b", "residual", "aic", "weight"):
                columns[f"{name}_{what}"] = [
                    getattr(order.curves[k], what) if order.curves else float("nan")
                    for order in self.orders
                ]
        return frame(columns, backend)

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        return f"<GrowthOrders of {len(self)} subjects: {said}>"
