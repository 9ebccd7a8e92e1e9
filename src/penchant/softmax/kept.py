"""What was kept of an estimate: natural parameters with their intervals, without data or model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.softmax.hypotheses import TestResult
from penchant.softmax.source import Found, IntervalKind, Space
from penchant.softmax.transformations import Parameter


@dataclass(frozen=True, eq=False)
class Kept:
    """Natural parameters of a model as they were kept.

    Attributes
    ----------
    model_words
        The model in words.
    kept
        Its parameters, with intervals.
    level, kind
        Of these intervals.
    covariance
        Of the parameters, if it was kept; else what their standard errors tell.
    n_weights
        How many of theta are linear weights, if that was kept.
    """

    model_words: str
    kept: tuple[Parameter, ...]
    level: float
    kind: IntervalKind
    covariance: Matrix | None = None
    n_weights: int | None = None

    model: ClassVar[None] = None
    data: ClassVar[None] = None
    space: ClassVar[Space] = "parameters"

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
        self,
        found: Sequence[Found],
        level: float,
        kind: IntervalKind,
        rng: np.random.Generator | None,
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
        found: Sequence[Found],
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: np.random.Generator | None,
        n_drawn: int,
    ) -> Matrix:
        """Intervals as they were kept."""
        if space == "theta":
            _refuse("intervals of theta")
        known = [{p.name: p for p in mine} for mine in self.parameters(found, level, kind, rng)]
        return np.array([[(mine[n].low, mine[n].high) for n in names] for mine in known])

    def robust(self, found: Found) -> Matrix:
        """Needs the data."""
        _refuse("robust()")

    def clustered(self, found: Found, cluster: Any) -> Matrix:
        """Needs the data."""
        _refuse("clustered()")

    def likelihood_ratio_test(self, found: Found, hypothesis: Any) -> TestResult:
        """Needs the data."""
        _refuse("likelihood_ratio_test()")

    def score_test(self, found: Found, hypothesis: Any) -> TestResult:
        """Needs the data."""
        _refuse("score_test()")

    def predict(self, found: Found, data: Any, available: Any, average: bool) -> Any:
        """Needs the model."""
        _refuse("predict()")

    def log_likelihoods(self, found: Found, data: Any) -> Vector:
        """Needs the model."""
        _refuse("log_likelihoods()")

    def bias(self, found: Found) -> Vector:
        """Needs the data."""
        _refuse("bias")

    @property
    def profile(self) -> NoReturn:
        """Needs the data."""
        _refuse("profile")

    def attached(self, found: Found, data: Any) -> Kept:
        """Needs the model."""
        _refuse("attach()")

    def stored(self) -> Kept:
        """As it is."""
        return self


def _refuse(what: str) -> NoReturn:
    raise DataError(
        f"{what} must have the model and its data, which are not kept with an estimate; got "
        "neither. Fit again with fit(data, model)."
    )
