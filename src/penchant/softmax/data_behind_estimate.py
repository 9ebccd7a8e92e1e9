"""Source of an estimate: the data of the fit, or the parameters stored without them.

An `Estimate` holds numbers; its source knows how intervals, tests and predictions follow from the
data that it was fitted to. There are three: choices (`ChoiceSource`), a model with its episodes (in
`inference`), and parameters read from a file (`DetachedSource`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.errors import DataError, MarkedText
from penchant.softmax.estimate_diagnostics import Diagnostics, LinearizationValidity, Status
from penchant.softmax.intervals_and_tests import ParameterEstimate, TestResult

IntervalKind = Literal["wald", "profile", "calibrated"]
Space = Literal["theta", "parameters"]
Method = Literal["maximum likelihood", "MAP", "Firth"]
Rng = np.random.Generator | None


class NaturalEstimate(NamedTuple):
    """Natural parameters of an estimate: names, values (n,) and covariance (n, n)."""

    names: tuple[str, ...]
    values: Vector
    covariance: Matrix


class EstimateSource:
    """Source of estimates: answers what needs the data, or raises that they are missing.

    Attributes
    ----------
    space
        What an estimate is read by: theta, or the natural parameters of a model.
    default_interval
        Level and kind of intervals that are shown if nobody asks for others.
    n_weights
        How many of theta are linear weights.
    model, model_words
        The model, and what it is called; None and empty for choices.
    data
        Choices or episodes; None where they are not at hand.
    """

    space: ClassVar[Space]
    # Rule, what was got and remedy of the error where it is asked for what it has not.
    missing_data_error_text: ClassVar[tuple[str, str, str]] = (
        "must have the model and its data, which are not kept with an estimate",
        "neither",
        "Fit again with fit(data, model).",
    )
    model: Any
    data: Any

    @property
    def default_interval(self) -> tuple[float, IntervalKind]:
        """Level and kind of intervals shown by default: 95 %, from standard errors."""
        return 0.95, "wald"

    @property
    def n_weights(self) -> int:
        """Number of linear weights."""
        raise NotImplementedError

    @property
    def model_words(self) -> str:
        """Name of the model; empty for choices."""
        return ""

    def doubtful_setting_notes(self, sources: Iterable[EstimateSource]) -> tuple[str, ...]:
        """Sentences about settings of the model that the data of these sources speak against."""
        return ()

    @property
    def profile(self) -> Any:
        """The objective on the grid of a model's shape parameters."""
        self._raise_unsupported("profile")

    def natural(self, estimate: EstimateFields) -> NaturalEstimate:
        """Natural parameters with their covariance."""
        raise NotImplementedError

    def natural_names(self, estimate: EstimateFields) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return self.natural(estimate).names

    def has_ratios(self, estimate: EstimateFields) -> bool:
        """Whether some natural parameter is a ratio of weights, and its interval Fieller's."""
        return False

    def intervals(
        self,
        estimates: Sequence[Any],
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
        self, estimates: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[ParameterEstimate, ...]]:
        """Natural parameters of each estimate, with intervals."""
        raise NotImplementedError

    def robust(self, estimate: EstimateFields) -> Matrix:
        """Sandwich covariance."""
        self._raise_unsupported("robust()")

    def clustered(self, estimate: EstimateFields, cluster: Any) -> Matrix:
        """Sandwich covariance by clusters."""
        self._raise_unsupported("clustered()")

    def likelihood_ratio_test(self, estimate: EstimateFields, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test against the best estimate under the hypothesis."""
        self._raise_unsupported("likelihood_ratio_test()")

    def score_test(self, estimate: EstimateFields, hypothesis: Any) -> TestResult:
        """Score test, by the gradient at the best estimate under the hypothesis."""
        self._raise_unsupported("score_test()")

    def predict(self, estimate: EstimateFields, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities, of the data or of new ones."""
        self._raise_unsupported("predict()")

    def log_likelihoods(self, estimate: EstimateFields, data: Any) -> Any:
        """Log-probability of each decision, of the data or of new ones."""
        self._raise_unsupported("log_likelihoods()")

    def bias(self, estimate: EstimateFields) -> Vector:
        """First-order bias of theta."""
        self._raise_unsupported("bias")

    def belief_map(self, estimate: EstimateFields) -> Any:
        """Map of beliefs before the first choice."""
        self._raise_unsupported("belief_map()")

    def attached(self, estimate: EstimateFields, data: Any) -> EstimateSource:
        """Source with the data of the fit."""
        self._raise_unsupported("attach()")

    def without_data_for_pickling(self) -> EstimateSource:
        """Source without the data, to be pickled."""
        return self

    def _raise_unsupported(self, argument: str) -> NoReturn:
        rule, got, fix = self.missing_data_error_text
        raise DataError(argument, rule, got=got, fix=fix)


@dataclass(frozen=True, eq=False, repr=False)
class EstimateFields:
    """Fields of an estimate, described in `Estimate`; a base class, so that sources can use it."""

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
    subject: Label = None
    notes: tuple[str, ...] = ()
    n_subjects: int = 1
    validity: LinearizationValidity | None = None

    def __post_init__(self) -> None:
        """Word the sentences for Python; other front ends find what they name marked in them."""
        object.__setattr__(self, "message", MarkedText(self.message))
        object.__setattr__(self, "notes", tuple(map(MarkedText, self.notes)))


@dataclass(frozen=True, eq=False)
class DetachedSource(EstimateSource):
    """Natural parameters of a model, stored without its data.

    Attributes
    ----------
    stored_parameters
        The parameters, with intervals.
    level, kind
        Of these intervals.
    n_weights
        How many of theta are linear weights.
    model_words
        The model in words.
    covariance
        Of the parameters, if it was kept; else what their standard errors tell.
    ratios
        Whether some are ratios, whose intervals are Fieller's.
    """

    stored_parameters: tuple[ParameterEstimate, ...]
    level: float
    kind: IntervalKind
    n_weights: int = 0
    model_words: str = ""
    covariance: Matrix | None = None
    ratios: bool = False

    model = data = None
    space: ClassVar[Space] = "parameters"

    def has_ratios(self, estimate: EstimateFields) -> bool:
        """Whether some parameter is a ratio, as stored."""
        return self.ratios

    @property
    def default_interval(self) -> tuple[float, IntervalKind]:
        """Level and kind of the stored intervals."""
        return self.level, self.kind

    def natural(self, estimate: EstimateFields) -> NaturalEstimate:
        """Natural parameters with their covariance."""
        names = tuple(p.name for p in self.stored_parameters)
        covariance = self.covariance
        if covariance is None:
            # without it standard errors are all that is known: covariances are NaN, not 0
            covariance = np.full((len(names), len(names)), np.nan)
            np.fill_diagonal(covariance, [p.standard_error**2 for p in self.stored_parameters])
        values = np.array([p.estimate for p in self.stored_parameters])
        return NaturalEstimate(names, values, covariance)

    def parameters(
        self, estimates: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[ParameterEstimate, ...]]:
        """Parameters as stored."""
        return [estimate.source.parameters_kept_at(level, kind) for estimate in estimates]

    def parameters_kept_at(self, level: float, kind: IntervalKind) -> tuple[ParameterEstimate, ...]:
        """The parameters, if these are their level and kind."""
        if (level, kind) != (self.level, self.kind):
            raise DataError(
                "level and kind",
                f"must be those that were kept ({self.level:g}, {self.kind!r})",
                got=f"{level:g}, {kind!r}",
                fix="Fit again for others.",
            )
        return self.stored_parameters

    def intervals(
        self,
        estimates: Sequence[Any],
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: Rng,
        n_drawn: int,
    ) -> Matrix:
        """Intervals as stored."""
        if space == "theta":  # only natural parameters are stored with intervals
            self._raise_unsupported("intervals of theta")
        known = [{p.name: p for p in mine} for mine in self.parameters(estimates, level, kind, rng)]
        return np.array([[(mine[n].low, mine[n].high) for n in names] for mine in known])
