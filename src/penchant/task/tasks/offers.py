"""Offers from a list: amounts now and later, sure and risky."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penchant.task.draws import Key, order
from penchant.task.sections import Section, is_number
from penchant.task.tasks.adaptive import Adaptive, read_adaptive
from penchant.task.tasks.task import Past

ORDERS = ("listed", "adaptive")
ATTRIBUTES = ("amount", "delay", "probability")


@dataclass(frozen=True)
class OffersTask:
    """Two or more options at each decision, described by numbers; nothing is paid.

    Attributes
    ----------
    offers
        For each decision, for each attribute, the number of every option.
    attributes
        amount, and delay or probability.
    adaptive
        How the next offer is chosen by the answers; None for a list in its order.
    """

    kind: ClassVar[str] = "offers"
    offers: tuple[tuple[tuple[float, ...], ...], ...]
    attributes: tuple[str, ...]
    currency: str
    shuffled: bool
    adaptive: Adaptive | None = None

    @property
    def n_decisions(self) -> int:
        """As many as offers, or as questions."""
        return len(self.offers) if self.adaptive is None else self.adaptive.n_decisions

    @property
    def adapts(self) -> bool:
        """Whether offers are chosen by the answers."""
        return self.adaptive is not None

    def n_options(self, decision: int) -> int:
        """As many at every decision."""
        return len(self.offers[0][0])

    def shown(self) -> dict[str, Any]:
        """How many options, and what amounts are in."""
        return {"kind": self.kind, "options": self.n_options(0), "currency": self.currency}

    def place(self, decision: int, key: Key, past: Past = ()) -> int:
        """Which offer of the list comes at a decision."""
        if self.adaptive is not None:
            return self.adaptive.place(past)
        return order(len(self.offers), *key, "offers")[decision] if self.shuffled else decision

    def offer(self, decision: int, key: Key, past: Past = ()) -> dict[str, Any]:
        """The numbers of every option."""
        return self._numbers(self.place(decision, key, past))

    def _numbers(self, place: int) -> dict[str, Any]:
        rows = self.offers[place]
        return {name: list(row) for name, row in zip(self.attributes, rows, strict=True)}

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> None:
        """Nothing is paid."""

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """What was offered: amount_1, amount_2, delay_1 ..."""
        return {
            f"{name}_{i + 1}": value
            for name, row in self._numbers(
                self.place(decision, walk) if place is None else place
            ).items()
            for i, value in enumerate(row)
        }

    def analysis(self) -> dict[str, Any]:
        """A model that reads these attributes, and where it finds them."""
        options = range(1, self.n_options(0) + 1)
        model = None if self.adaptive is None else self.adaptive.model
        named = {name: "/".join(f"{name}_{i}" for i in options) for name in self.attributes}
        usual = "hyperbolic"
        if "delay" not in self.attributes:
            usual, named["outcome"] = "expected-utility", named.pop("amount")
        return {"model": model or usual, "offers": [f"{k}={v}" for k, v in named.items()]}


def read_offers_task(section: Section) -> OffersTask:
    """The settings of a list of offers."""
    given = section.sections("offer")
    if not given:
        section.refuse(
            "offer",
            "hold an offer or more",
            "Write [[block.offer]] amount = [20, 50], delay = [0, 30], or offers_file.",
        )
    adaptive = section.one_of("order", ORDERS, "listed") == "adaptive"
    if section.has("decisions") and not adaptive:
        section.whole("decisions", len(given), len(given))
    names = tuple(name for name in ATTRIBUTES if given[0].has(name))
    rows = tuple(_offer(offer, names, given[0]) for offer in given)
    currency, shuffled = section.text("currency", "points", most=20), section.yes("shuffle", True)
    if not adaptive:
        return OffersTask(rows, names, currency, shuffled)
    return OffersTask(rows, names, currency, False, read_adaptive(section, rows, names))


def _offer(offer: Section, names: tuple[str, ...], first: Section) -> tuple[tuple[float, ...], ...]:
    n = len(first.values.get("amount", ()))
    rows = []
    if "amount" not in names or len(names) < 2:
        first.refuse("amount", "be given with delay or probability", "Add them.")
    for name in names:
        row = offer.numbers(name, max(2, n), max(2, n))
        low, high = {"delay": (0.0, 1e9), "probability": (0.0, 1.0)}.get(name, (-1e12, 1e12))
        if not all(is_number(v) and low <= v <= high for v in row):
            offer.refuse(name, f"lie in {low:g}..{high:g}", "Correct it.")
        rows.append(tuple(row))
    offer.finish(ATTRIBUTES)
    return tuple(rows)
