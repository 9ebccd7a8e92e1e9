"""What stands behind an estimate: the data of the fit, or what was kept without them.

An `Estimate` has numbers; its source knows how intervals, tests and predictions follow from the
data that the numbers were found in. There are three: choices, a model with the episodes it
explains (in `inference`), and what was kept in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.softmax.diagnostics import Diagnostics, Status, Validity
from penchant.softmax.hypotheses import Parameter, TestResult

IntervalKind = Literal["wald", "profile", "calibrated"]
Space = Literal["theta", "parameters"]
Method = Literal["maximum likelihood", "MAP", "Firth"]
Rng = np.random.Generator | None


class EstimateSource:
    """What stands behind estimates, and answers what needs the data, or says that they lack.

    Attributes
    ----------
    space
        What an estimate is read by: theta, or the natural parameters of a model.
    usual
        Level and kind of intervals that are shown if nobody asks for others.
    n_weights
        How many of theta are linear weights; None if that was not kept.
    model, model_words
        The model, and what it is called; None and empty for choices.
    data
        Choices or episodes; None where they are not at hand.
    """

    space: ClassVar[Space]
    lack: ClassVar[str] = (
        "must have the model and its data, which are not kept with an estimate; got neither. "
        "Fit again with fit(data, model)."
    )
    model: Any
    data: Any

    @property
    def usual(self) -> tuple[float, IntervalKind]:
        """95 %, from standard errors."""
        return 0.95, "wald"

    @property
    def n_weights(self) -> int | None:
        """Not known."""
        return None

    @property
    def model_words(self) -> str:
        """None."""
        return ""

    def doubts(self, sources: Iterable[EstimateSource]) -> tuple[str, ...]:
        """Settings of the model that the data of all these sources speak against, in sentences."""
        return ()

    @property
    def profile(self) -> Any:
        """The objective on the grid of a model's shape parameters."""
        self._lacks("profile")

    def natural(self, found: EstimateFields) -> tuple[tuple[str, ...], Vector, Matrix]:
        """Natural parameters: names, values, covariance."""
        raise NotImplementedError

    def natural_names(self, found: EstimateFields) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return self.natural(found)[0]

    def has_ratios(self, found: EstimateFields) -> bool:
        """Whether some natural parameter is a ratio of weights, and its interval Fieller's."""
        return False

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
        """Intervals (n_estimates, n_names, 2) of estimates that have a source of this kind."""
        raise NotImplementedError

    def parameters(
        self, found: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[Parameter, ...]]:
        """Natural parameters of each estimate, with intervals."""
        raise NotImplementedError

    def robust(self, found: EstimateFields) -> Matrix:
        """Sandwich covariance."""
        self._lacks("robust()")

    def clustered(self, found: EstimateFields, cluster: Any) -> Matrix:
        """Sandwich covariance by clusters."""
        self._lacks("clustered()")

    def likelihood_ratio_test(self, found: EstimateFields, hypothesis: Any) -> TestResult:
        """Against the best estimate that obeys the hypothesis."""
        self._lacks("likelihood_ratio_test()")

    def score_test(self, found: EstimateFields, hypothesis: Any) -> TestResult:
        """By the slope at the best estimate that obeys the hypothesis."""
        self._lacks("score_test()")

    def predict(self, found: EstimateFields, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities, of the data or of new ones."""
        self._lacks("predict()")

    def log_likelihoods(self, found: EstimateFields, data: Any) -> Any:
        """Log-probability of each decision, of the data or of new ones."""
        self._lacks("log_likelihoods()")

    def bias(self, found: EstimateFields) -> Vector:
        """First-order bias of theta."""
        self._lacks("bias")

    def belief_map(self, found: EstimateFields) -> Any:
        """The map that somebody had in mind before play."""
        self._lacks("belief_map()")

    def attached(self, found: EstimateFields, data: Any) -> EstimateSource:
        """The same with the data of the fit."""
        self._lacks("attach()")

    def stored(self) -> EstimateSource:
        """The same without the data, to be pickled."""
        return self

    def _lacks(self, what: str) -> NoReturn:
        raise DataError(f"{what} {self.lack}")


@dataclass(frozen=True, eq=False, repr=False)
class EstimateFields:
    """The numbers of an estimate, which `Estimate` describes."""

    status: Status
    message: str
    names: tuple[str, ...]
    theta: Vector
    covariance: Matrix
    inverse_information: Matrix
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    diagnostics: Diagnostics
    n_decisions: int
    total_weight: float
    n_options: tuple[int, int]
    source: EstimateSource
    method: Method = "maximum likelihood"
    prior: str | None = None
    covariance_kind: str = "model"
    subject: Any = None
    notes: tuple[str, ...] = ()
    n_subjects: int = 1
    validity: Validity | None = None


@dataclass(frozen=True, eq=False)
class DetachedSource(EstimateSource):
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

    def has_ratios(self, found: EstimateFields) -> bool:
        """As it was kept."""
        return self.ratios

    @property
    def usual(self) -> tuple[float, IntervalKind]:
        """Those that were kept."""
        return self.level, self.kind

    def natural(self, found: EstimateFields) -> tuple[tuple[str, ...], Vector, Matrix]:
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
