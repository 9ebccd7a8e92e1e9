"""Kinds of task: what the page shows, what a choice pays, and the random numbers of both.

Random numbers come from a counter-based generator (Salmon et al. 2011; here SHA-256): each is
computed from a key, such as (study seed, session, block, decision), and depends on nothing else. A
server that restarts, or another one beside it, draws the same. A new kind is added to
`TASK_READERS` and in `page/tasks`.
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
from penchant.task.study_file_sections import StudyFileSection, is_number
from penchant.workflow.adaptive_questions import Asker, ask

_N_UNIFORM_VALUES = 2**53  # a double has no more digits: finer values would be rounded, to 1 even
_STANDARD_NORMAL = NormalDist()

KeyPart = int | str
Key = tuple[KeyPart, ...]


def random_uniform(*key: KeyPart) -> float:
    """Uniform number in the open interval from 0 to 1, determined by the key.

    Examples
    --------
    >>> random_uniform(7, "reward", 1, 0, 3) == random_uniform(7, "reward", 1, 0, 3)
    True
    >>> random_uniform(7, "reward", 1, 0, 3) == random_uniform(7, "reward", 1, 0, 4)
    False
    """
    words = "\x00".join(f"{type(part).__name__}:{part}" for part in key)
    # type names keep 1 and "1" apart; half a step avoids 0 and 1, whose normal
    # quantiles are infinite
    bits = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 11
    return (bits + 0.5) / _N_UNIFORM_VALUES


def random_normal(*key: KeyPart) -> float:
    """Standard normal number, determined by the key."""
    return _STANDARD_NORMAL.inv_cdf(random_uniform(*key))


def random_integer(n: int, *key: KeyPart) -> int:
    """Uniform integer from 0 to n - 1, determined by the key."""
    return int(random_uniform(*key) * n)


def random_permutation(n: int, *key: KeyPart) -> list[int]:
    """Random permutation of 0 to n - 1, determined by the key.

    >>> sorted(random_permutation(5, 1, "offers"))
    [0, 1, 2, 3, 4]
    """
    return sorted(range(n), key=lambda i: random_uniform(*key, i))


OfferHistory = tuple[tuple[int, int], ...]
"""Index of the offer and option taken, of every decision so far."""


class Task(Protocol):
    """A kind of task, with its settings.

    A key names what a random number is for; see `random_uniform`.
    """

    kind: ClassVar[str]
    pays: ClassVar[bool]

    @property
    def n_decisions(self) -> int:
        """Number of decisions in a block."""

    @property
    def unit_setting_and_unit(self) -> tuple[str, str]:
        """Name of the setting that fixes the unit of rewards or amounts, and the unit."""

    def n_options(self, decision: int) -> int:
        """Number of options at a decision."""

    def page_settings(self) -> dict[str, Any]:
        """Settings sent to the page before the first decision: never a mean reward."""

    @property
    def is_adaptive(self) -> bool:
        """Whether offers depend on earlier choices."""

    def offer_index(self, decision: int, key: Key, history: OfferHistory) -> int | None:
        """Index of the offer at a decision; None for tasks without a list of offers."""

    def offer(self, decision: int, key: Key, history: OfferHistory = ()) -> dict[str, Any] | None:
        """Offer sent to the page at a decision; None where there is none."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float | None:
        """Reward of a choice; None where nothing is paid."""

    def export_columns(self, decision: int, walk: Key, index: int | None = None) -> dict[str, Any]:
        """Columns of an export beyond choice and reward.

        `index` is the stored index of an offer that was chosen adaptively.
        """

    def analysis_settings(self) -> dict[str, Any]:
        """Settings of `penchant study` that follow from the task.

        Blocks are exported to one table only where these are the same.
        """


NoiseKind = Literal["gaussian", "integer", "bernoulli", "none"]
NOISE_KINDS: tuple[NoiseKind, ...] = ("gaussian", "integer", "bernoulli", "none")


@dataclass(frozen=True)
class RewardNoise:
    """Distribution of rewards around their mean.

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
    def unit_setting_and_unit(self) -> tuple[str, str]:
        """Points; or wins, which are 1 or 0."""
        return "noise", "wins" if self.kind == "bernoulli" else "points"

    def reward(self, mean: float, key: Key) -> float:
        """Draw the reward of a choice.

        Examples
        --------
        >>> RewardNoise("integer", 5).reward(30, (7, 1, 0, 3)) in range(25, 36)
        True
        >>> RewardNoise("none").reward(12.25, (7, 1, 0, 3))
        12.0
        """
        if self.kind == "bernoulli":
            return float(random_uniform(*key) < mean)
        drawn = mean
        if self.kind == "gaussian":
            drawn += self.size**0.5 * random_normal(*key)
        elif self.kind == "integer":
            drawn += random_integer(2 * int(self.size) + 1, *key) - int(self.size)
        # turns -0.0 into 0.0: people would wonder at a reward of -0
        return round(drawn, self.decimals) + 0.0


def read_noise(section: StudyFileSection, default: NoiseKind = "gaussian") -> RewardNoise:
    """Read the keys noise, variance, largest and decimals."""
    kind = section.one_of("noise", NOISE_KINDS, default)
    decimals = section.integer("decimals", 0, 6, 0)
    if kind == "integer":
        return RewardNoise(kind, section.integer("largest", 1, 10**6, 5), decimals)
    if kind == "gaussian":
        variance = section.number("variance", 0.0, 1e12, 10.0)
        if variance <= 0:
            section.refuse("variance", "be > 0", 'Write noise = "none" for none.')
        return RewardNoise(kind, variance, decimals)
    return RewardNoise(kind, 0.0, decimals)


BanditKind = Literal["static", "restless", "reversal"]
BANDIT_KINDS: tuple[BanditKind, ...] = ("static", "restless", "reversal")


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

    is_adaptive: ClassVar[bool] = False
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
    def unit_setting_and_unit(self) -> tuple[str, str]:
        """Unit of the rewards."""
        return self.noise.unit_setting_and_unit

    def n_options(self, decision: int) -> int:
        """Number of options, the same at every decision."""
        return len(self.means)

    def page_settings(self) -> dict[str, Any]:
        """Settings for the page: the number of options."""
        return {"kind": self.kind, "options": len(self.means)}

    def offer_index(self, decision: int, key: Key, history: OfferHistory) -> None:
        """Return None: there is no list of offers."""

    def offer(self, decision: int, key: Key, history: OfferHistory = ()) -> None:
        """Return None: the options are described by their number."""

    def mean_rewards_at(self, decision: int, walk: Key) -> tuple[float, ...]:
        """Mean rewards at a decision; a walk is determined by its key.

        Examples
        --------
        >>> task = BanditTask(60, "reversal", (80, 20, 50), RewardNoise(), reversals=(30,))
        >>> task.mean_rewards_at(29, (1,)), task.mean_rewards_at(30, (1,))
        ((80, 20, 50), (50, 80, 20))
        """
        if self.rewards == "restless":
            return _random_walk_of_means(self, walk)[decision]
        n = len(self.means)
        # shifted, not swapped: the best option changes at every reversal, whatever their number
        moved = sum(decision >= at for at in self.reversals)
        return tuple(self.means[(i - moved) % n] for i in range(n))

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float:
        """The mean of the option at this decision and its noise."""
        return self.noise.reward(self.mean_rewards_at(decision, walk)[option], key)

    def export_columns(self, decision: int, walk: Key, index: int | None = None) -> dict[str, Any]:
        """Mean reward of every option at this decision."""
        means = self.mean_rewards_at(decision, walk)
        return {f"mean_{i + 1}": round(mean, 6) for i, mean in enumerate(means)}

    def analysis_settings(self) -> dict[str, Any]:
        """Q-learning, which needs no more than the choices."""
        return {"model": "q-learning", "options": [str(len(self.means))]}


@lru_cache(maxsize=4096)  # every choice needs the whole walk; more sessions compute theirs again
def _random_walk_of_means(task: BanditTask, walk: Key) -> tuple[tuple[float, ...], ...]:
    rows = [task.means]
    for t in range(1, task.n_decisions):
        steps = (task.step_sd * random_normal(*walk, t, i) for i in range(len(task.means)))
        moved = zip(rows[-1], steps, strict=True)
        rows.append(tuple(_reflect_into_range(m + step, task.low, task.high) for m, step in moved))
    return tuple(rows)


def _reflect_into_range(value: float, low: float, high: float) -> float:
    """Fold a value into low..high by reflection at both ends.

    >>> [_reflect_into_range(value, 0, 100) for value in (103, -4, 205)]
    [97, 4, 5]
    """
    width = high - low
    # reflections at both ends repeat with a period of two widths, so any step is folded at once
    folded = (value - low) % (2 * width)
    return low + (folded if folded <= width else 2 * width - folded)


def read_bandit_task(section: StudyFileSection) -> BanditTask:
    """Read the settings of a bandit: means, rewards, noise, and how means change."""
    decisions = section.integer("decisions", 1, 10_000, 100)
    means = tuple(section.numbers("means", 2, 10))
    rewards = section.one_of("rewards", BANDIT_KINDS, "static")
    noise = read_noise(section)
    # with Bernoulli noise means are probabilities
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

    is_adaptive: ClassVar[bool] = False
    kind: ClassVar[str] = "grid"
    pays: ClassVar[bool] = True
    n_decisions: int
    width: int
    height: int
    landscape: str
    means: tuple[float, ...]
    noise: RewardNoise

    @property
    def unit_setting_and_unit(self) -> tuple[str, str]:
        """Unit of the rewards."""
        return self.noise.unit_setting_and_unit

    def n_options(self, decision: int) -> int:
        """Number of options, the same at every decision."""
        return self.width * self.height

    def page_settings(self) -> dict[str, Any]:
        """The size of the grid."""
        return {"kind": self.kind, "width": self.width, "height": self.height}

    def offer_index(self, decision: int, key: Key, history: OfferHistory) -> None:
        """Return None: there is no list of offers."""

    def offer(self, decision: int, key: Key, history: OfferHistory = ()) -> None:
        """Return None: the grid is described by its size."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float:
        """The mean of the square and its noise."""
        return self.noise.reward(self.means[option], key)

    def export_columns(self, decision: int, walk: Key, index: int | None = None) -> dict[str, Any]:
        """Name of the landscape."""
        return {"landscape": self.landscape}

    def analysis_settings(self) -> dict[str, Any]:
        """The paper's model on this grid."""
        return {
            "model": "ucl",
            "grid": f"{self.width}x{self.height}",
            # the model requires a positive variance, also where the task has no noise
            "noise_variance": max(self.noise.variance, 1e-6),
            "length_scale": 4.0,
        }


def read_grid_task(section: StudyFileSection) -> GridTask:
    """Read the settings of a grid: width, height, landscape or means, noise."""
    width = section.integer("width", 1, 40, 10)
    height = section.integer("height", 1, 40, 10)
    if width * height < 2:
        section.refuse("width", "give two squares or more", "Make the grid larger.")
    name, means = _read_grid_means(section, width, height)
    return GridTask(
        section.integer("decisions", 1, 10_000, 90), width, height, name, means, read_noise(section)
    )


def _read_grid_means(
    section: StudyFileSection, width: int, height: int
) -> tuple[str, tuple[float, ...]]:
    """Mean rewards: those of a landscape of the paper, or given one by one."""
    n = width * height
    # a table named by means_file needs no case here: it was inserted as means before
    name = section.text("landscape", "own" if section.has_key("means") else "a", most=40)
    if section.has_key("means"):
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


OfferRows = tuple[tuple[tuple[float, ...], ...], ...]
MAX_CACHED_ASKERS = 256  # more keep more memory; fewer compute posteriors again from all answers
OFFER_MODELS = tuple(name for name, entry in CATALOGUE.items() if entry.data == "offers")


@dataclass(frozen=True)
class AdaptiveOffers:
    """Adaptive choice of the next offer, by its information about the parameters.

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

    rows: OfferRows
    attributes: tuple[str, ...]
    model: str
    about: tuple[str, ...]
    n_decisions: int

    def next_offer_index(self, history: OfferHistory) -> int:
        """Index of the next offer after these answers, a function of them alone."""
        number = _asker_after_answers(self, history).next().number
        assert number is not None
        return number

    def make_asker(self) -> Asker:
        """Make an asker before any answer."""
        numbers = np.array(self.rows, dtype=np.float64)
        offers = {
            _attribute_name_in_model(name, self.model): numbers[:, a]
            for a, name in enumerate(self.attributes)
        }
        model = CATALOGUE[self.model].example()
        return ask(model, offers, about=self.about or None, repeats=False)


@lru_cache(maxsize=MAX_CACHED_ASKERS)
def _asker_after_answers(adaptive: AdaptiveOffers, history: OfferHistory) -> Asker:
    # by recursion, because all answers but the last are usually in the cache
    if not history:
        return adaptive.make_asker()
    (index, option), before = history[-1], history[:-1]
    return _asker_after_answers(adaptive, before).after(index, option)


def _attribute_name_in_model(attribute: str, model: str) -> str:
    """Name of an attribute in a model: an amount is the outcome of a gamble."""
    wanted = CATALOGUE[model].example().attributes
    return "outcome" if attribute == "amount" and "outcome" in wanted else attribute


def read_adaptive_offers(
    section: StudyFileSection, rows: OfferRows, names: tuple[str, ...]
) -> AdaptiveOffers:
    """Read the settings of adaptive offers: model, about, decisions."""
    # the attributes decide: delays need a discounting model, probabilities one of risk
    usual = "hyperbolic" if "delay" in names else "expected-utility"
    model = section.one_of("model", OFFER_MODELS, usual)
    about = tuple(section.texts("about", []))
    decisions = section.integer("decisions", 1, len(rows), min(20, len(rows)))
    found = AdaptiveOffers(rows, names, model, about, decisions)
    try:  # now, because otherwise a wrong setting would be found by the first person
        found.make_asker()
    except DataError as error:
        section.refuse("order", f"be possible ({error})", "Correct it.")
    return found


OFFER_ORDERS = ("listed", "adaptive")
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
    adaptive: AdaptiveOffers | None = None

    @property
    def n_decisions(self) -> int:
        """Number of offers in the list, or of adaptive questions."""
        return len(self.offers) if self.adaptive is None else self.adaptive.n_decisions

    @property
    def unit_setting_and_unit(self) -> tuple[str, str]:
        """The currency of the amounts."""
        return "currency", self.currency

    @property
    def is_adaptive(self) -> bool:
        """Whether offers are chosen by the answers."""
        return self.adaptive is not None

    def n_options(self, decision: int) -> int:
        """Number of options, the same at every decision."""
        return len(self.offers[0][0])

    def page_settings(self) -> dict[str, Any]:
        """Settings for the page: number of options, and currency."""
        return {"kind": self.kind, "options": self.n_options(0), "currency": self.currency}

    def offer_index(self, decision: int, key: Key, history: OfferHistory = ()) -> int:
        """Index of the offer at a decision."""
        if self.adaptive is not None:
            return self.adaptive.next_offer_index(history)
        return (
            random_permutation(len(self.offers), *key, "offers")[decision]
            if self.shuffled
            else decision
        )

    def offer(self, decision: int, key: Key, history: OfferHistory = ()) -> dict[str, Any]:
        """The numbers of every option."""
        return self._option_values_by_attribute(self.offer_index(decision, key, history))

    def _option_values_by_attribute(self, index: int) -> dict[str, Any]:
        rows = self.offers[index]
        return {name: list(row) for name, row in zip(self.attributes, rows, strict=True)}

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> None:
        """Return None: offers are hypothetical."""

    def export_columns(self, decision: int, walk: Key, index: int | None = None) -> dict[str, Any]:
        """Numbers of the offer: amount_1, amount_2, delay_1 ..."""
        return {
            f"{name}_{i + 1}": value
            for name, row in self._option_values_by_attribute(
                self.offer_index(decision, walk) if index is None else index
            ).items()
            for i, value in enumerate(row)
        }

    def analysis_settings(self) -> dict[str, Any]:
        """A model that reads these attributes, and where it finds them."""
        options = range(1, self.n_options(0) + 1)
        model = None if self.adaptive is None else self.adaptive.model
        named = {name: "/".join(f"{name}_{i}" for i in options) for name in self.attributes}
        usual = "hyperbolic"
        if "delay" not in self.attributes:  # a gamble, which has nothing to discount
            usual, named["outcome"] = "expected-utility", named.pop("amount")
        return {"model": model or usual, "offers": [f"{k}={v}" for k, v in named.items()]}


def read_offers_task(section: StudyFileSection) -> OffersTask:
    """Read the settings of a list of offers."""
    given = section.sections("offer")
    if not given:
        section.refuse(
            "offer",
            "hold an offer or more",
            "Write [[block.offer]] amount = [20, 50], delay = [0, 30], or offers_file.",
        )
    adaptive = section.one_of("order", OFFER_ORDERS, "listed") == "adaptive"
    # a list is played whole, so any other number of decisions is a mistake in the file
    if section.has_key("decisions") and not adaptive:
        section.integer("decisions", len(given), len(given))
    names = tuple(name for name in ATTRIBUTES if given[0].has_key(name))
    rows = tuple(_read_offer(offer, names, given[0]) for offer in given)
    currency, shuffled = (
        section.text("currency", "points", most=20),
        section.boolean("shuffle", True),
    )
    if not adaptive:
        return OffersTask(rows, names, currency, shuffled)
    return OffersTask(rows, names, currency, False, read_adaptive_offers(section, rows, names))


def _read_offer(
    offer: StudyFileSection, names: tuple[str, ...], first: StudyFileSection
) -> tuple[tuple[float, ...], ...]:
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
    offer.refuse_unread_keys(ATTRIBUTES)
    return tuple(rows)


TASK_READERS: Mapping[str, Callable[[StudyFileSection], Task]] = {
    "grid": read_grid_task,
    "bandit": read_bandit_task,
    "offers": read_offers_task,
}
