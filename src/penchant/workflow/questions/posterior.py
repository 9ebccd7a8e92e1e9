"""What is believed of the parameters, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.coordinates import Coordinate
from penchant.output.notes import counted
from penchant.output.shown import Shown
from penchant.output.table import Table
from penchant.workflow.questions.belief import Belief


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Shown):
    """Parameters as they are believed to be after the answers.

    Attributes
    ----------
    names
        Natural parameters.
    about
        Whether each was asked about.
    scales
        "log" where mean and sd are those of the logarithm, as of every positive parameter that is
        known by its order of magnitude; "natural" where they are of the parameter itself.
    mean, sd
        On these scales.
    median, low, high
        In natural units; `level` of the probability lies between low and high.
    level
        Of the interval.
    n_answers
        Answers so far.
    """

    names: tuple[str, ...]
    about: tuple[bool, ...]
    scales: tuple[str, ...]
    mean: Vector
    sd: Vector
    median: Vector
    low: Vector
    high: Vector
    level: float
    n_answers: int

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Of one parameter, by name."""
        if name not in self.names:
            raise DataError(
                f"name must be one of {', '.join(self.names)}; got {name!r}. Choose one."
            )
        return self._row(self.names.index(name))

    def _row(self, a: int) -> dict[str, Any]:
        numbers = ("mean", "sd", "median", "low", "high")
        found: dict[str, Any] = {"name": self.names[a], "scale": self.scales[a]}
        return found | {name: float(getattr(self, name)[a]) for name in numbers}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """A table with one row per parameter."""
        rows = [self._row(a) for a in range(len(self.names))]
        return frame(
            {name: [row[name] for row in rows] for name in rows[0]}, backend or came_as(self)
        )

    def table(self) -> Table:
        """The summary as a table."""
        said = f"What is believed after {counted(self.n_answers, 'answer')}"
        return replace(super().table(), caption=said)

    def document(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        rows = [self._row(a) for a in range(len(self.names))]
        return {"level": self.level, "n_answers": self.n_answers, "parameters": rows}

    def __repr__(self) -> str:
        each = zip(self.names, self.median, self.low, self.high, strict=True)
        said = ", ".join(f"{n} {m:.3g} ({lo:.3g} to {hi:.3g})" for n, m, lo, hi in each)
        return f"<Posterior after {self.n_answers}: {said}>"


def posterior_of(belief: Belief, about: tuple[int, ...], level: float) -> Posterior:
    """Moments and quantiles of every parameter."""
    each = belief.units.coordinates.each
    weights = belief.weights.ravel()
    rows = [_described(c, belief.nodes.place.h[:, a], weights, level) for a, c in enumerate(each)]
    columns: Matrix = np.array(rows, dtype=np.float64).T
    mean, sd, median, low, high = columns
    return Posterior(
        names=belief.units.coordinates.names,
        about=tuple(a in about for a in range(len(each))),
        scales=tuple("log" if is_log(c) else "natural" for c in each),
        mean=mean,
        sd=sd,
        median=median,
        low=low,
        high=high,
        level=level,
        n_answers=len(belief.answers),
    )


def is_log(c: Coordinate) -> bool:
    """Whether a parameter is known by its logarithm."""
    return c.link.name in ("log", "negative log")


def _described(c: Coordinate, h: Vector, weights: Vector, level: float) -> tuple[float, ...]:
    scaled = h if is_log(c) else np.asarray(c.link.value(h))
    mean = float(weights @ scaled)
    sd = float(weights @ (scaled - mean) ** 2) ** 0.5
    ends = _quantiles(h, weights, np.array([0.5, (1 - level) / 2, (1 + level) / 2]))
    values = np.asarray(c.link.value(ends))
    if c.link.name == "negative log":
        values[1:] = values[:0:-1]
    return (mean, sd, *map(float, values))


def _quantiles(values: Vector, weights: Vector, at: Vector) -> Vector:
    """Quantiles of weighted values: half of the weight of each lies below it."""
    points, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which, weights, len(points))
    below = np.cumsum(mass) - mass / 2
    kept = mass > 0
    return np.asarray(np.interp(at, below[kept], points[kept]))
