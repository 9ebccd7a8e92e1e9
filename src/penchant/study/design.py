"""The result of a search for how much data a goal needs, and the search itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import Backend, frame
from penchant.errors import DataError, nearest
from penchant.models.model import Model, natural_parameters
from penchant.softmax.tables import Table, number

FINE = 1.05  # neighbouring numbers differ by no more than this ratio when the search ends


@dataclass(frozen=True)
class Tried:
    """A number that was tried: the share of successes among simulations, and its error.

    Attributes
    ----------
    n
        Decisions, or subjects in each group.
    share, error
        Share of simulations that reach the goal, with its Monte Carlo standard error.
    typical
        Median width of the intervals; NaN where the goal is a power.
    """

    n: int
    share: float
    error: float
    typical: float


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """How much data a goal needs.

    Attributes
    ----------
    needed
        The smallest number tried that reaches the goal; None if none did.
    unit
        "decisions" or "subjects in each group".
    goal
        In words.
    target
        Share of simulations that must reach it.
    tried
        Every number that was tried, increasing.
    """

    needed: int | None
    unit: str
    goal: str
    target: float
    tried: tuple[Tried, ...]

    @property
    def bracket(self) -> tuple[int | None, int | None]:
        """Largest number tried that is surely too small, and smallest that surely reaches the goal.

        Surely: by two Monte Carlo standard errors. None where no number is.
        """
        small = [t.n for t in self.tried if t.share + 2 * t.error < self.target]
        large = [t.n for t in self.tried if t.share - 2 * t.error >= self.target]
        return max(small, default=None), min(large, default=None)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per number tried."""
        names = ("n", "share", "error", "typical")
        return frame({name: [getattr(t, name) for t in self.tried] for name in names}, backend)

    def table(self) -> Table:
        """The summary as a table."""
        widths = not all(np.isnan(t.typical) for t in self.tried)
        rows = tuple(
            (str(t.n), f"{t.share:.3f}", f"{t.error:.3f}", number(t.typical, 4))[: 3 + widths]
            for t in self.tried
        )
        needed = f"none up to {self.tried[-1].n}" if self.needed is None else str(self.needed)
        return Table(
            f"{self.unit.capitalize()} needed: {needed}",
            (("Goal", self.goal), ("Share of simulations that must reach it", f"{self.target:g}")),
            (self.unit, "share", "Monte Carlo s.e.", "median width")[: 3 + widths],
            rows,
            (_bracket_words(*self.bracket),),
        )

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Design: {self.needed} {self.unit} needed for {self.goal}>"

    def _repr_html_(self) -> str:
        return self.table().html()


def searched(
    work: Callable[[int], Tried], first: int, most: int, target: float, unit: str, goal: str
) -> Design:
    """Smallest number that reaches the target: doubled until one does, then bisected."""
    tried: dict[int, Tried] = {}

    def reached(n: int) -> bool:
        if n not in tried:
            tried[n] = work(n)
        return tried[n].share >= target

    low, high = 0, first
    while not reached(high):
        if high >= most:
            return Design(None, unit, goal, target, _sorted(tried))
        low, high = high, min(2 * high, most)
    while low and high > low + 1 and high > FINE * low:
        middle = int(np.clip(round(np.sqrt(low * high)), low + 1, high - 1))
        low, high = (low, middle) if reached(middle) else (middle, high)
    return Design(high, unit, goal, target, _sorted(tried))


def _sorted(tried: dict[int, Tried]) -> tuple[Tried, ...]:
    return tuple(tried[n] for n in sorted(tried))


def binomial_error(share: float, n: int) -> float:
    """Monte Carlo standard error of a share."""
    # Agresti and Coull: not 0 where all or none succeed
    p = (share * n + 2) / (n + 4)
    return float(np.sqrt(p * (1 - p) / (n + 4)))


def _bracket_words(small: int | None, large: int | None) -> str:
    said = "By two Monte Carlo standard errors, "
    said += "no number tried is too small" if small is None else f"{small} is too small"
    return said + (" and none is surely enough." if large is None else f" and {large} is enough.")


def check_goal(model: Model, parameter: str, size: float, name: str) -> None:
    """Refuse a parameter that the model does not have, and a size that is not positive."""
    known = [natural.name for natural in natural_parameters(model)]
    if parameter not in known:
        raise DataError(
            f"parameter must be one of {', '.join(known)}; got {parameter!r}."
            f"{nearest(parameter, known) or ' Choose one.'}"
        )
    if not (np.isfinite(size) and size > 0):
        raise DataError(f"{name} must be > 0; got {size}. Correct it.")


def check_share(value: float, name: str) -> None:
    """Refuse what does not lie between 0 and 1."""
    if not 0 < value < 1:
        raise DataError(f"{name} must lie between 0 and 1; got {value}. Correct it.")
