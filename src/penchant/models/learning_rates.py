"""The rates of a Q-learner: which are known, which are estimated, and under what name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError
from penchant.models.model import Shape

Rate = float | None
Tied = Literal["learning_rate"]
DUAL = ("learning_rate_positive", "learning_rate_negative")
MOST = 3
N_GRID = {1: 33, 2: 17, 3: 17}
# Others begin at 0.001: nothing is learnt, and no trace is left, at 0.
FROM_ZERO = ("forgetting", "fictitious_rate")


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

    def shape(self, stickiness: bool) -> tuple[Shape, ...]:
        """Their ranges; a trace at rate 1 would be the last choice, which stickiness is, too."""
        names = self.estimated
        return tuple(
            Shape(
                name,
                0.0 if name in FROM_ZERO else 0.001,
                0.95 if name == "choice_rate" and stickiness else 1.0,
                n_grid=N_GRID[len(names)],
            )
            for name in names
        )

    def index(self) -> IntVector:
        """Which shape parameter each of the four rates is, or -1."""
        names = self.estimated
        return np.array([names.index(r) if isinstance(r, str) else -1 for r in self.all_four])

    def at(self, psi: Matrix) -> Matrix:
        """The four rates at each psi: (n_psi, 4)."""
        columns = zip(self.all_four, self.index(), strict=True)
        found = [psi[:, q] if q >= 0 else np.full(len(psi), rate) for rate, q in columns]
        return np.column_stack(found)


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
        if tied and model.dual_rates:
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
    for name in ("forgetting", "fictitious", "choice_rate"):
        yield name, getattr(model, name)


def _is_share(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return bool(number and 0 <= value <= 1)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_share, value))
