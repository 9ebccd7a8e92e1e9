"""What stands behind an estimate: the data of the fit, and all that needs them.

An `Estimate` has numbers; its source knows how intervals, tests and predictions follow from the
data that the numbers were found in. There are three: choices, a model with the episodes it
explains (in `inference`), and what was kept in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.softmax.diagnostics import Diagnostics
from penchant.softmax.hypotheses import TestResult
from penchant.softmax.transformations import Parameter

IntervalKind = Literal["wald", "profile", "calibrated"]
Space = Literal["theta", "parameters"]


class Found(Protocol):
    """The numbers of an estimate that a source works with."""

    @property
    def status(self) -> str:
        """Whether it converged, or what is wrong."""

    @property
    def method(self) -> str:
        """How it was estimated."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of theta."""

    @property
    def theta(self) -> Vector:
        """What was fitted."""

    @property
    def covariance(self) -> Matrix:
        """Of theta."""

    @property
    def inverse_information(self) -> Matrix:
        """Covariance of theta if the model is right."""

    @property
    def log_likelihood(self) -> float:
        """At theta."""

    @property
    def log_posterior(self) -> float | None:
        """With a prior or penalty: what was maximised."""

    @property
    def diagnostics(self) -> Diagnostics:
        """How it was reached."""

    @property
    def n_decisions(self) -> int:
        """Decisions of the fit."""

    @property
    def source(self) -> Any:
        """What stands behind it."""


class Source(Protocol):
    """What stands behind estimates, and answers what needs the data."""

    @property
    def space(self) -> Space:
        """What an estimate is read by: theta, or the natural parameters of a model."""

    @property
    def usual(self) -> tuple[float, IntervalKind]:
        """Level and kind of intervals that are shown if nobody asks for others."""

    @property
    def n_weights(self) -> int | None:
        """How many of theta are linear weights; None if that was not kept."""

    @property
    def model(self) -> Any:
        """The model, or None for choices."""

    @property
    def model_words(self) -> str:
        """The model in words; empty for choices."""

    @property
    def data(self) -> Any:
        """Choices or episodes; None where they are not at hand."""

    @property
    def profile(self) -> Any:
        """The objective on the grid of a model's shape parameters."""

    def natural(self, found: Found) -> tuple[tuple[str, ...], Vector, Matrix]:
        """Natural parameters: names, values, covariance."""

    def intervals(
        self,
        found: Sequence[Any],
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: np.random.Generator | None,
        n_drawn: int,
    ) -> Matrix:
        """Intervals (n_estimates, n_names, 2) of estimates that have a source of this kind."""

    def parameters(
        self,
        found: Sequence[Any],
        level: float,
        kind: IntervalKind,
        rng: np.random.Generator | None,
    ) -> list[tuple[Parameter, ...]]:
        """Natural parameters of each estimate, with intervals."""

    def robust(self, found: Found) -> Matrix:
        """Sandwich covariance."""

    def clustered(self, found: Found, cluster: Any) -> Matrix:
        """Sandwich covariance by clusters."""

    def likelihood_ratio_test(self, found: Found, hypothesis: Any) -> TestResult:
        """Against the best estimate that obeys the hypothesis."""

    def score_test(self, found: Found, hypothesis: Any) -> TestResult:
        """By the slope at the best estimate that obeys the hypothesis."""

    def predict(self, found: Found, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities, of the data or of new ones."""

    def log_likelihoods(self, found: Found, data: Any) -> Vector:
        """Log-probability of each decision, of the data or of new ones."""

    def bias(self, found: Found) -> Vector:
        """First-order bias of theta."""

    def attached(self, found: Found, data: Any) -> Source:
        """The same with the data of the fit."""

    def stored(self) -> Source:
        """The same without the data, to be pickled."""
