"""A few options: their means stay, walk, or change places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from penchant.task.draws import Key, normal
from penchant.task.sections import Section
from penchant.task.tasks.noise import RewardNoise, read_noise
from penchant.task.tasks.task import Past

BanditKind = Literal["static", "restless", "reversal"]
KINDS: tuple[BanditKind, ...] = ("static", "restless", "reversal")


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
    n_decisions: int
    rewards: BanditKind
    means: tuple[float, ...]
    noise: RewardNoise
    step_sd: float = 0.0
    low: float = 0.0
    high: float = 100.0
    reversals: tuple[int, ...] = ()

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
    rewards = section.one_of("rewards", KINDS, "static")
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
