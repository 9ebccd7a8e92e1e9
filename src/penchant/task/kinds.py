"""Kinds of task: what is shown, what a choice pays, and the random numbers of both.

Each random number is computed from a key, such as (study seed, session, block, decision), and
depends on nothing else: a server that starts again, or another one beside it, draws the same. A new
kind is added to `KINDS` and in `page/tasks`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from penchant.bandit.landscape import landscape_a, landscape_b
from penchant.errors import DataError
from penchant.models.catalogue import CATALOGUE
from penchant.task.sections import Section, is_number
from penchant.workflow.ask import Asker, ask

_STEPS = 2**53
_NORMAL = NormalDist()

Key = tuple[int | str, ...]


def uniform(*key: int | str) -> float:
    """A number between 0 and 1, neither of them included.

    Examples
    --------
    >>> uniform(7, "reward", 1, 0, 3) == uniform(7, "reward", 1, 0, 3)
    True
    >>> uniform(7, "reward", 1, 0, 3) == uniform(7, "reward", 1, 0, 4)
    False
    """
    words = "\x00".join(f"{type(part).__name__}:{part}" for part in key)
    bits = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 11
    return (bits + 0.5) / _STEPS


def normal(*key: int | str) -> float:
    """A standard normal number."""
    return _NORMAL.inv_cdf(uniform(*key))


def whole(n: int, *key: int | str) -> int:
    """A whole number from 0 to n - 1, all as likely."""
    return int(uniform(*key) * n)


def order(n: int, *key: int | str) -> list[int]:
    """The numbers 0 to n - 1 in a random order.

    >>> sorted(order(5, 1, "offers")), order(5, 1, "offers") == order(5, 1, "offers")
    ([0, 1, 2, 3, 4], True)
    """
    return sorted(range(n), key=lambda i: uniform(*key, i))


Past = tuple[tuple[int, int], ...]  # offers made so far, each by its place, and the options taken


class Task(Protocol):
    """A kind of task, with its settings.

    A key names what a random number is for; see `draws`.
    """

    kind: ClassVar[str]
    pays: ClassVar[bool]

    @property
    def n_decisions(self) -> int:
        """How many decisions a block of it has."""

    @property
    def unit(self) -> tuple[str, str]:
        """What rewards or amounts are counted in: the setting that says it, and the unit."""

    def n_options(self, decision: int) -> int:
        """How many options there are at a decision."""

    def shown(self) -> dict[str, Any]:
        """What the page is told before the first decision: never a mean reward."""

    @property
    def adapts(self) -> bool:
        """Whether what is offered depends on the choices before."""

    def place(self, decision: int, key: Key, past: Past) -> int | None:
        """Which offer of a list comes at a decision; None where there is no list."""

    def offer(self, decision: int, key: Key, past: Past = ()) -> dict[str, Any] | None:
        """What the page is told at a decision, in addition."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float | None:
        """What a choice pays; None where nothing is paid."""

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """What an export says of a decision in addition to what was chosen and paid.

        `place` is that of an offer that depended on choices, as it was kept.
        """

    def analysis(self) -> dict[str, Any]:
        """Settings of `penchant study` that follow from the task.

        Blocks are exported to one table only where these are the same.
        """


NoiseKind = Literal["gaussian", "integer", "bernoulli", "none"]
NOISES: tuple[NoiseKind, ...] = ("gaussian", "integer", "bernoulli", "none")


@dataclass(frozen=True)
class RewardNoise:
    """How rewards scatter around their mean.

    Attributes
    ----------
    kind
        gaussian; integer: whole numbers from -size to size, all as likely; bernoulli: 1 with the
        mean as probability, else 0; none.
    size
        The variance of gaussian noise, the largest deviation of integer noise.
    decimals
        To which a reward is rounded, as it is shown and kept.
    """

    kind: NoiseKind = "gaussian"
    size: float = 10.0
    decimals: int = 0

    @property
    def variance(self) -> float:
        """Variance of a reward around its mean; 1/4, the largest one, for bernoulli."""
        if self.kind == "integer":
            return self.size * (self.size + 1) / 3
        return {"gaussian": self.size, "bernoulli": 0.25, "none": 0.0}[self.kind]

    @property
    def unit(self) -> tuple[str, str]:
        """Points; or wins, which are 1 or 0."""
        return "noise", "wins" if self.kind == "bernoulli" else "points"

    def reward(self, mean: float, key: Key) -> float:
        """The reward of a choice.

        Examples
        --------
        >>> RewardNoise("integer", 5).reward(30, (7, 1, 0, 3)) in range(25, 36)
        True
        >>> RewardNoise("none").reward(12.25, (7, 1, 0, 3))
        12.0
        """
        if self.kind == "bernoulli":
            return float(uniform(*key) < mean)
        drawn = mean
        if self.kind == "gaussian":
            drawn += self.size**0.5 * normal(*key)
        elif self.kind == "integer":
            drawn += whole(2 * int(self.size) + 1, *key) - int(self.size)
        return round(drawn, self.decimals) + 0.0  # no minus zero


def read_noise(section: Section, default: NoiseKind = "gaussian") -> RewardNoise:
    """The keys noise, variance, largest and decimals."""
    kind = section.one_of("noise", NOISES, default)
    decimals = section.whole("decimals", 0, 6, 0)
    if kind == "integer":
        return RewardNoise(kind, section.whole("largest", 1, 10**6, 5), decimals)
    if kind == "gaussian":
        variance = section.number("variance", 0.0, 1e12, 10.0)
        if variance <= 0:
            section.refuse("variance", "be > 0", 'Write noise = "none" for none.')
        return RewardNoise(kind, variance, decimals)
    return RewardNoise(kind, 0.0, decimals)


BanditKind = Literal["static", "restless", "reversal"]
REWARDS: tuple[BanditKind, ...] = ("static", "restless", "reversal")


@dataclass(frozen=True)
class BanditTask:
    """A bandit with 2 to 10 options.

    Attributes
    ----------
    rewards
        static; restless: every mean walks by normal steps and is reflected at low and high;
        reversal: from each decision in `reversals` on, the means have moved on by one option.
    means
        Mean reward of each option at the first decision.
    """

    adapts: ClassVar[bool] = False
    kind: ClassVar[str] = "bandit"
    pays: ClassVar[bool] = True
    n_decisions: int
    rewards: BanditKind
    means: tuple[float, ...]
    noise: RewardNoise
    step_sd: float = 0.0
    low: float = 0.0
    high: float = 100.0
    reversals: tuple[int, ...] = ()

    @property
    def unit(self) -> tuple[str, str]:
        """That of the rewards."""
        return self.noise.unit

    def n_options(self, decision: int) -> int:
        """As many at every decision."""
        return len(self.means)

    def shown(self) -> dict[str, Any]:
        """How many options there are."""
        return {"kind": self.kind, "options": len(self.means)}

    def place(self, decision: int, key: Key, past: Past) -> None:
        """There is no list of offers."""

    def offer(self, decision: int, key: Key, past: Past = ()) -> None:
        """Nothing but the options."""

    def means_at(self, decision: int, walk: Key) -> tuple[float, ...]:
        """Mean rewards at a decision; a walk is the same whenever it is asked for.

        Examples
        --------
        >>> task = BanditTask(60, "reversal", (80, 20, 50), RewardNoise(), reversals=(30,))
        >>> task.means_at(29, (1,)), task.means_at(30, (1,))
        ((80, 20, 50), (50, 80, 20))
        """
        if self.rewards == "restless":
            return _walked(self, walk)[decision]
        n = len(self.means)
        moved = sum(decision >= at for at in self.reversals)
        return tuple(self.means[(i - moved) % n] for i in range(n))

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float:
        """The mean of the option at this decision and its noise."""
        return self.noise.reward(self.means_at(decision, walk)[option], key)

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """What every option paid on average at this decision."""
        means = self.means_at(decision, walk)
        return {f"mean_{i + 1}": round(mean, 6) for i, mean in enumerate(means)}

    def analysis(self) -> dict[str, Any]:
        """Q-learning, which needs no more than the choices."""
        return {"model": "q-learning", "options": [str(len(self.means))]}


@lru_cache(maxsize=4096)
def _walked(task: BanditTask, walk: Key) -> tuple[tuple[float, ...], ...]:
    rows = [task.means]
    for t in range(1, task.n_decisions):
        steps = (task.step_sd * normal(*walk, t, i) for i in range(len(task.means)))
        moved = zip(rows[-1], steps, strict=True)
        rows.append(tuple(_reflected(m + step, task.low, task.high) for m, step in moved))
    return tuple(rows)


def _reflected(value: float, low: float, high: float) -> float:
    """Where a walk that is thrown back at both ends has come to.

    >>> _reflected(103, 0, 100), _reflected(-4, 0, 100), _reflected(205, 0, 100)
    (97, 4, 5)
    """
    width = high - low
    place = (value - low) % (2 * width)
    return low + (place if place <= width else 2 * width - place)


def read_bandit(section: Section) -> BanditTask:
    """The settings of a bandit: means, rewards, noise, and how means change."""
    decisions = section.whole("decisions", 1, 10_000, 100)
    means = tuple(section.numbers("means", 2, 10))
    rewards = section.one_of("rewards", REWARDS, "static")
    noise = read_noise(section)
    if noise.kind == "bernoulli" and not all(0 <= mean <= 1 for mean in means):
        section.refuse("means", "lie in 0..1 with bernoulli noise", "Give probabilities.")
    if rewards == "restless":
        low, high = section.number("low", -1e9, 1e9, 0.0), section.number("high", -1e9, 1e9, 100.0)
        if not low < high or not all(low <= mean <= high for mean in means):
            section.refuse("means", f"lie between low and high, {low:g} and {high:g}", "Move them.")
        if noise.kind == "bernoulli" and (low < 0 or high > 1):
            section.refuse(
                "high", "lie in 0..1 with bernoulli noise, as low", "Correct both.", high
            )
        step = section.number("step_sd", 1e-9, 1e9)
        return BanditTask(decisions, rewards, means, noise, step, low, high)
    if rewards == "reversal":
        given = section.numbers("reversals", 1, 1000)
        turns = tuple(int(at) for at in given)
        if list(turns) != given or list(turns) != sorted(set(turns)) or turns[0] < 1:
            section.refuse("reversals", "be rising whole numbers from 1 on", "Write [40, 80].")
        return BanditTask(decisions, rewards, means, noise, reversals=turns)
    return BanditTask(decisions, rewards, means, noise)


LANDSCAPES = {"a": landscape_a, "b": landscape_b}


@dataclass(frozen=True)
class GridTask:
    """A bandit whose options are the squares of a grid.

    Attributes
    ----------
    means
        Mean reward of option x + width * y.
    landscape
        What the landscape is called in exports.
    """

    adapts: ClassVar[bool] = False
    kind: ClassVar[str] = "grid"
    pays: ClassVar[bool] = True
    n_decisions: int
    width: int
    height: int
    landscape: str
    means: tuple[float, ...]
    noise: RewardNoise

    @property
    def unit(self) -> tuple[str, str]:
        """That of the rewards."""
        return self.noise.unit

    def n_options(self, decision: int) -> int:
        """As many at every decision."""
        return self.width * self.height

    def shown(self) -> dict[str, Any]:
        """The size of the grid."""
        return {"kind": self.kind, "width": self.width, "height": self.height}

    def place(self, decision: int, key: Key, past: Past) -> None:
        """There is no list of offers."""

    def offer(self, decision: int, key: Key, past: Past = ()) -> None:
        """Nothing but the grid."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float:
        """The mean of the square and its noise."""
        return self.noise.reward(self.means[option], key)

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """Which landscape it was."""
        return {"landscape": self.landscape}

    def analysis(self) -> dict[str, Any]:
        """The paper's model on this grid."""
        return {
            "model": "ucl",
            "grid": f"{self.width}x{self.height}",
            "noise_variance": max(self.noise.variance, 1e-6),
            "length_scale": 4.0,
        }


def read_grid(section: Section) -> GridTask:
    """The settings of a grid: width, height, landscape or means, noise."""
    width = section.whole("width", 1, 40, 10)
    height = section.whole("height", 1, 40, 10)
    if width * height < 2:
        section.refuse("width", "give two squares or more", "Make the grid larger.")
    name, means = _means(section, width, height)
    return GridTask(
        section.whole("decisions", 1, 10_000, 90), width, height, name, means, read_noise(section)
    )


def _means(section: Section, width: int, height: int) -> tuple[str, tuple[float, ...]]:
    """Mean rewards: those of a landscape of the paper, or given one by one."""
    n = width * height
    name = section.text("landscape", "own" if section.has("means") else "a", most=40)
    if section.has("means"):
        return name, tuple(section.numbers("means", n, n))
    if name not in LANDSCAPES:
        section.refuse(
            "landscape", "be a, b, or a name with means or means_file", "Choose one.", name
        )
    try:
        landscape = LANDSCAPES[name](width, height)
    except DataError:
        section.refuse("width", f"be 3 or more with landscape {name}", "Make it wider.", width)
    return name, tuple(float(mean) for mean in landscape.mean_rewards)


Rows = tuple[tuple[tuple[float, ...], ...], ...]
KEPT = 256  # people whose beliefs are kept between two of their answers
MODELS = tuple(name for name, entry in CATALOGUE.items() if entry.data == "offers")


@dataclass(frozen=True)
class Adaptive:
    """How the next offer is chosen.

    Attributes
    ----------
    rows, attributes
        For each offer, for each attribute, the number of every option.
    model
        Name of the model.
    about
        Parameters in question; all, if none are named.
    n_decisions
        Questions asked.
    """

    rows: Rows
    attributes: tuple[str, ...]
    model: str
    about: tuple[str, ...]
    n_decisions: int

    def place(self, past: Past) -> int:
        """Which offer is next after these answers; the same whenever it is asked for."""
        number = _asked(self, past).next().number
        assert number is not None
        return number

    def asker(self) -> Asker:
        """An asker before any answer."""
        numbers = np.array(self.rows, dtype=np.float64)
        offers = {_named(name, self.model): numbers[:, a] for a, name in enumerate(self.attributes)}
        model = CATALOGUE[self.model].example()
        return ask(model, offers, about=self.about or None, repeats=False)


@lru_cache(maxsize=KEPT)
def _asked(adaptive: Adaptive, past: Past) -> Asker:
    if not past:
        return adaptive.asker()
    (place, option), before = past[-1], past[:-1]
    return _asked(adaptive, before).after(place, option)


def _named(attribute: str, model: str) -> str:
    """What a model calls an attribute: an amount is an outcome of a gamble."""
    wanted = CATALOGUE[model].example().attributes
    return "outcome" if attribute == "amount" and "outcome" in wanted else attribute


def read_adaptive(section: Section, rows: Rows, names: tuple[str, ...]) -> Adaptive:
    """The settings of questions: model, about, decisions."""
    usual = "hyperbolic" if "delay" in names else "expected-utility"
    model = section.one_of("model", MODELS, usual)
    about = tuple(section.texts("about", []))
    decisions = section.whole("decisions", 1, len(rows), min(20, len(rows)))
    found = Adaptive(rows, names, model, about, decisions)
    try:
        found.asker()
    except DataError as error:
        section.refuse("order", f"be possible ({error})", "Correct it.")
    return found


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
    pays: ClassVar[bool] = False
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
    def unit(self) -> tuple[str, str]:
        """The currency of the amounts."""
        return "currency", self.currency

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


KINDS: Mapping[str, Callable[[Section], Task]] = {
    "grid": read_grid,
    "bandit": read_bandit,
    "offers": read_offers_task,
}
