"""The rates of a Q-learner: which are known, which are estimated, and under what name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError
from penchant.models.natural import Limit, Shape

Rate = float | None
Tied = Literal["learning_rate"]
DUAL = ("learning_rate_positive", "learning_rate_negative")
MOST = 3
N_GRID = {1: 33, 2: 17, 3: 17}
FROM_ZERO = ("forgetting", "fictitious_rate")
# At 0 nothing is learnt, and no trace is left. As near to it values move in proportion to the rate,
# which the temperature makes up for: the likelihood is that of the limit.
LEAST = 1e-8
# At 1 the trace is the last choice; beside stickiness it tells of the choice before, too.
MOST_BESIDE_STICKINESS = 0.999


@dataclass(frozen=True)
class LearningRates:
    """A number for each rate that is known, a name for each that is estimated.

    Attributes
    ----------
    gains, losses
        Of the option taken, where its reward is above its value, and below.
    others
        Of options not taken.
    trace
        Of the trace of choices.
    """

    gains: str | float
    losses: str | float
    others: str | float
    trace: str | float

    @classmethod
    def of(cls, model: Any) -> LearningRates:
        """The rates of a `QLearning`, if they go together."""
        _check_numbers(model)
        gains, losses = _own(model.learning_rate, model.dual_rates)
        others = _rate(model.forgetting, "forgetting", gains)
        if model.fictitious != 0.0:
            others = _rate(model.fictitious, "fictitious_rate", gains)
        trace = _rate(model.choice_rate, "choice_rate", gains) if model.choice_kernel else 0.0
        rates = cls(gains, losses, others, trace)
        if len(rates.estimated) > MOST:
            raise DataError(
                f"rates to be estimated must be at most {MOST}; got {', '.join(rates.estimated)}. "
                "Give one a known value: learning_rate, forgetting, fictitious or choice_rate."
            )
        return rates

    @property
    def all_four(self) -> tuple[str | float, ...]:
        """In order."""
        return self.gains, self.losses, self.others, self.trace

    @property
    def estimated(self) -> tuple[str, ...]:
        """Names of the rates that are estimated, each once."""
        return tuple(dict.fromkeys(rate for rate in self.all_four if isinstance(rate, str)))

    def shape(self, stickiness: bool, trace_weight: int) -> tuple[Shape, ...]:
        """Their ranges, and what they are at the ends.

        Parameters
        ----------
        stickiness
            Whether the last choice has a weight of its own: a trace at rate 1 would be the same.
        trace_weight
            Which weight that of the trace is.
        """
        names = self.estimated
        sticky = {"choice_rate": MOST_BESIDE_STICKINESS} if stickiness else {}
        ends = _limits(trace_weight, stickiness, self._scale_with_the_rate)
        return tuple(
            Shape(
                name,
                0.0 if name in FROM_ZERO else LEAST,
                sticky.get(name, 1.0),
                n_grid=N_GRID[len(names)],
                at_low=ends[name][0],
                at_high=ends[name][1],
            )
            for name in names
        )

    @property
    def _scale_with_the_rate(self) -> bool:
        """Whether all values move in proportion to a single rate, if it is small."""
        own = {self.gains, self.losses}
        return own == {"learning_rate"} and self.others in ("learning_rate", "forgetting", 0.0)

    def index(self) -> IntVector:
        """Which shape parameter each of the four rates is, or -1."""
        names = self.estimated
        return np.array([names.index(r) if isinstance(r, str) else -1 for r in self.all_four])

    def at(self, psi: Matrix) -> Matrix:
        """The four rates at each psi: (n_psi, 4)."""
        columns = zip(self.all_four, self.index(), strict=True)
        found = [psi[:, q] if q >= 0 else np.full(len(psi), rate) for rate, q in columns]
        return np.column_stack(found)


def _limits(
    trace_weight: int, stickiness: bool, in_proportion: bool
) -> dict[str, tuple[Limit | None, Limit | None]]:
    """What rates are at both ends of their ranges."""
    together = ("learning_rate", "temperature")
    slowly = "values move in proportion to learning_rate, which temperature makes up for"
    product = ("learning_rate/temperature", 0, 1.0)
    slow = Limit(0.0, slowly, together, product) if in_proportion else None
    habits = Limit(
        0.0,
        "the trace counts all choices alike, in proportion to choice_rate",
        ("choice_rate", "choice_kernel"),
        ("choice_rate * choice_kernel", trace_weight, 1.0),
    )
    last = Limit(1.0, "the last reward of an option is all that counts")
    beside = "the trace tells of the last choice and the one before, as stickiness does of the last"
    return {
        "learning_rate": (slow or Limit(0.0, "rewards of options taken teach nothing"), last),
        DUAL[0]: (
            Limit(0.0, "rewards above the value teach nothing"),
            Limit(1.0, "rewards above the value become the value"),
        ),
        DUAL[1]: (
            Limit(0.0, "rewards below the value teach nothing"),
            Limit(1.0, "rewards below the value become the value"),
        ),
        "forgetting": (
            Limit(0.0, "options not taken keep their values"),
            Limit(1.0, "options not taken are forgotten at once"),
        ),
        "fictitious_rate": (
            Limit(0.0, "options not taken keep their values"),
            Limit(1.0, "options not taken are worth the opposite of the last reward"),
        ),
        "choice_rate": (
            habits,
            Limit(1.0, beside, ("choice_rate", "choice_kernel", "stickiness"))
            if stickiness
            else Limit(1.0, "the trace is the last choice"),
        ),
    }


def _own(known: Any, dual: bool) -> tuple[str | float, str | float]:
    """Rates of the option taken."""
    if dual:
        return DUAL if known is None else (float(known[0]), float(known[1]))
    rate = "learning_rate" if known is None else float(known)
    return rate, rate


def _rate(rate: Any, name: str, same: str | float) -> str | float:
    if rate is None:
        return name
    return same if rate == "learning_rate" else float(rate)


def _check_numbers(model: Any) -> None:
    """Every rate is a number from 0 to 1, to be estimated, or that of learning."""
    for name, rate in _given(model):
        tied = rate == "learning_rate" and name in ("forgetting", "fictitious")
        if not tied and rate is not None and not _is_share(rate):
            raise DataError(f"{name} must lie in 0..1, or be None; got {rate!r}. Correct it.")
        if tied and model.dual_rates and name == "forgetting":
            raise DataError(
                f"{name} must not be 'learning_rate' with dual_rates; got it. Give a number, "
                "or None to estimate it."
            )
    pair = model.learning_rate
    if model.dual_rates and pair is not None and not _is_pair(pair):
        raise DataError(
            f"learning_rate must be two numbers in 0..1 with dual_rates; got {pair!r}. "
            "Give those for rewards above and below the value, or None."
        )
    if model.forgetting != 0.0 and model.fictitious != 0.0:
        raise DataError(
            "forgetting and fictitious must not both be given: each says what becomes of "
            f"options not taken; got {model.forgetting!r} and {model.fictitious!r}. Choose one."
        )
    if model.choice_rate is not None and not model.choice_kernel:
        raise DataError(
            f"choice_rate must come with choice_kernel=True; got {model.choice_rate}. Add it."
        )


def _given(model: Any) -> Iterator[tuple[str, Any]]:
    if not model.dual_rates:
        yield "learning_rate", model.learning_rate
    yield "forgetting", model.forgetting
    yield "fictitious", model.fictitious
    yield "choice_rate", model.choice_rate


def _is_share(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return bool(number and 0 <= value <= 1)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_share, value))
