"""What was kept of an estimate: natural parameters with their intervals, without data or model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.softmax.source import Found, IntervalKind, Rng, Source, Space
from penchant.softmax.transformations import Parameter


@dataclass(frozen=True, eq=False)
class Kept(Source):
    """Natural parameters of a model as they were kept.

    Attributes
    ----------
    kept
        The parameters, with intervals.
    level, kind
        Of these intervals.
    model_words
        The model in words.
    covariance
        Of the parameters, if it was kept; else what their standard errors tell.
    n_weights
        How many of theta are linear weights, if that was kept.
    ratios
        Whether some are ratios, whose intervals are Fieller's.
    """

    kept: tuple[Parameter, ...]
    level: float
    kind: IntervalKind
    model_words: str = ""
    covariance: Matrix | None = None
    n_weights: int | None = None
    ratios: bool = False

    model = data = None
    space: ClassVar[Space] = "parameters"

    def has_ratios(self, found: Found) -> bool:
        """As it was kept."""
        return self.ratios

    @property
    def usual(self) -> tuple[float, IntervalKind]:
        """Those that were kept."""
        return self.level, self.kind

    def natural(self, found: Found) -> tuple[tuple[str, ...], Vector, Matrix]:
        """Natural parameters: names, values, covariance."""
        names = tuple(p.name for p in self.kept)
        covariance = self.covariance
        if covariance is None:
            covariance = np.full((len(names), len(names)), np.nan)
            np.fill_diagonal(covariance, [p.standard_error**2 for p in self.kept])
        return names, np.array([p.estimate for p in self.kept]), covariance

    def parameters(
        self, found: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[Parameter, ...]]:
        """As they were kept."""
        return [one.source.at(level, kind) for one in found]

    def at(self, level: float, kind: IntervalKind) -> tuple[Parameter, ...]:
        """The parameters, if these are their level and kind."""
        if (level, kind) != (self.level, self.kind):
            raise DataError(
                f"level and kind must be those that were kept ({self.level:g}, {self.kind!r}); "
                f"got {level:g}, {kind!r}. Fit again for others."
            )
        return self.kept

    def intervals(
        self,
        found: Sequence[Any],
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: Rng,
        n_drawn: int,
    ) -> Matrix:
        """Intervals as they were kept."""
        if space == "theta":
            self._lacks("intervals of theta")
        known = [{p.name: p for p in mine} for mine in self.parameters(found, level, kind, rng)]
        return np.array([[(mine[n].low, mine[n].high) for n in names] for mine in known])
