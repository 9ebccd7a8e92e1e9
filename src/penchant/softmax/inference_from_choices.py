"""Source of estimates of choices: intervals, covariances, tests and predictions from the choices.

The choices are in memory, or chunks that are read again for what needs them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_level
from penchant.choices import Choices, NaturalParameters
from penchant.choices.scan_protocols import Chunks
from penchant.errors import (
    DataError,
    interval_kind_argument,
    mark_argument,
    mark_weak_prior_argument,
)
from penchant.softmax.calibrated_intervals import (
    N_DRAWN,
    LinearCalibration,
    level_of_further_interval,
    seed_for_calibration,
)
from penchant.softmax.constraints import Constraints
from penchant.softmax.data_behind_estimate import (
    DetachedSource,
    EstimateFields,
    EstimateSource,
    IntervalKind,
    NaturalEstimate,
    Rng,
    Space,
)
from penchant.softmax.intervals_and_tests import (
    Hypothesis,
    ParameterEstimate,
    Profile,
    TestResult,
    WhitenedProfile,
    clustered_covariance,
    delta_method,
    delta_method_parameters,
    likelihood_ratio_test,
    profile_interval,
    robust_covariance,
    score_test,
    wald_interval,
    whitened_profile_interval,
)
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.maximum_and_covariance import choices_in_coordinates
from penchant.softmax.newton import Quadratic
from penchant.softmax.prior import first_order_bias
from penchant.softmax.probabilities import decision_log_likelihoods, log_probabilities

MAX_PLAIN_CONDITION = 1e6  # of the information; beyond, profiles in theta lose over six digits


def predict_probabilities(theta: Vector, names: Sequence[str], choices: Any, available: Any) -> Any:
    """Probabilities (n_decisions, n_options), or one per row where sets differ in size."""
    if not np.isfinite(theta).all():
        missing = [n for n, t in zip(names, theta, strict=True) if not np.isfinite(t)]
        raise DataError(
            "predict",
            "must have a finite estimate",
            got=f"none for {', '.join(missing)}",
            fix=f"Fit with {mark_weak_prior_argument()} to predict.",
        )
    if isinstance(choices, Chunks):
        return choices.map_chunks(ChunkProbabilities(theta, tuple(names)), "Predicting")
    if not isinstance(choices, Choices):
        choices = Choices.from_arrays(choices, None, available=available, names=list(names))
    # by name: new data may have more variables, or another order
    unknown = [name for name in names if name not in choices.names]
    if unknown:
        raise DataError(
            "choices",
            "must have the variables of the estimate",
            got=f"none named {', '.join(unknown)} among {', '.join(choices.names)}",
            fix="Add or rename them.",
        )
    p = np.exp(log_probabilities(theta, choices.select(names)))
    sizes = np.diff(choices.first_row)
    return p.reshape(len(sizes), -1) if (sizes == sizes[0]).all() else p


@dataclass(frozen=True)
class ChunkProbabilities:
    """Work on a chunk: probabilities of its options."""

    theta: Vector
    names: tuple[str, ...]

    def __call__(self, choices: Choices) -> Any:
        """Probabilities of these choices."""
        return predict_probabilities(self.theta, self.names, choices, None)


@dataclass(frozen=True)
class ChunkLogLikelihoods:
    """Work on a chunk: log-probabilities of the chosen options."""

    theta: Vector
    names: tuple[str, ...]

    def __call__(self, choices: Choices) -> Vector:
        """Log-probabilities of these choices."""
        return decision_log_likelihoods(self.theta, choices.select(self.names))


class ChunkedChoices(Protocol):
    """Chunks of choices with the covariances that need a pass over them."""

    @property
    def chunks(self) -> Chunks:
        """The choices."""

    def robust(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance (HC0)."""

    def clustered(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance by subject."""


@dataclass(frozen=True, eq=False)
class ChoiceSource(EstimateSource):
    """The choices behind an estimate of theta.

    Attributes
    ----------
    data
        The choices, kept for intervals and tests that need them; not pickled.
    scale
        Spread of each variable.
    quadratic, constraints
        What was added to the likelihood.
    natural_parameter_map
        Map to the natural parameters, where the model has one; or these as stored.
    model, model_words
        The model that was linearised, if one was.
    passed
        Choices that are read chunk by chunk, as they do not fit in memory.
    """

    data: Choices | None
    scale: Vector
    quadratic: Quadratic | None = None
    constraints: Constraints | None = None
    natural_parameter_map: NaturalParameters | DetachedSource | None = None
    model: Any = None
    model_words: str = ""
    chunked: ChunkedChoices | None = None

    space: ClassVar[Space] = "theta"
    missing_data_error_text: ClassVar[tuple[str, str, str]] = (
        "must be of a model",
        "an estimate of choices",
        "Fit a model.",
    )

    @property
    def default_interval(self) -> tuple[float, IntervalKind]:
        """Level and kind of intervals shown by default: 95 % Wald, or those stored."""
        return (
            self.natural_parameter_map.default_interval
            if isinstance(self.natural_parameter_map, DetachedSource)
            else (0.95, "wald")
        )

    @property
    def n_weights(self) -> int:
        """Number of weights: all of theta."""
        return len(self.scale)

    def natural(self, estimate: EstimateFields) -> NaturalEstimate:
        """Natural parameters; theta itself if there is no map."""
        if self.natural_parameter_map is None:
            return NaturalEstimate(estimate.names, estimate.theta, estimate.covariance)
        if isinstance(self.natural_parameter_map, DetachedSource):
            return self.natural_parameter_map.natural(estimate)
        slopes = self.natural_parameter_map.jacobian(estimate.theta)
        return NaturalEstimate(
            self.natural_parameter_map.names,
            self.natural_parameter_map.values(estimate.theta),
            delta_method(estimate.covariance, slopes),
        )

    def parameters(
        self, estimates: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[ParameterEstimate, ...]]:
        """Natural parameters with intervals; from standard errors only, where there is a map."""
        return [
            estimate.source._with_intervals(estimate, level, kind, rng) for estimate in estimates
        ]

    def _with_intervals(
        self, estimate: EstimateFields, level: float, kind: IntervalKind, rng: Rng
    ) -> tuple[ParameterEstimate, ...]:
        if isinstance(self.natural_parameter_map, DetachedSource):
            return self.natural_parameter_map.parameters_kept_at(level, kind)
        names, values, covariance = self.natural(estimate)
        known = delta_method_parameters(values, covariance, names, level)
        if kind == "wald":
            return known
        ends = self._interval_ends(estimate, names, "parameters", level, kind, rng, N_DRAWN)
        return tuple(
            dataclasses.replace(p, low=float(low), high=float(high))
            for p, (low, high) in zip(known, ends, strict=True)
        )

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
        """Intervals of each estimate by itself."""
        return np.array(
            [
                estimate.source._interval_ends(estimate, names, space, level, kind, rng, n_drawn)
                for estimate in estimates
            ]
        )

    def _interval_ends(
        self,
        estimate: EstimateFields,
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: Rng,
        n_drawn: int,
    ) -> Matrix:
        if space == "parameters" and self.natural_parameter_map is not None:
            if kind != "wald":
                raise DataError(
                    "kind",
                    "must be 'wald' for natural parameters of choices",
                    got=repr(kind),
                    fix="Ask for theta, or fit the model itself.",
                )
            known = {p.name: p for p in self._with_intervals(estimate, level, "wald", None)}
            return np.array([(known[name].low, known[name].high) for name in names])
        indices = [estimate.names.index(name) for name in names]
        if kind == "wald":
            errors = np.sqrt(np.diag(estimate.covariance))
            return wald_interval(estimate.theta, errors, level)[indices]
        if kind == "profile":
            return self._profile_intervals(estimate, level, indices)
        # draws from a penalised or bounded estimate would not be draws from the model
        plain = estimate.method == "maximum likelihood" and self.constraints is None
        seed = seed_for_calibration(rng, n_drawn, not plain)
        choices = self._require_choices(f"interval({interval_kind_argument('calibrated')})")
        case = LinearCalibration(
            choices, estimate.theta, self._unidentified_directions(estimate), self.scale
        )
        # two profile intervals tell how fast W rises, and so how far the search should step
        near, far = (
            self._profile_intervals(estimate, at, indices)
            for at in (level, level_of_further_interval(level))
        )
        return case.intervals(indices, near, far, level, seed, n_drawn)

    def _profile_intervals(
        self, estimate: EstimateFields, level: float, indices: list[int]
    ) -> Matrix:
        """Intervals that invert the likelihood-ratio test."""
        check_level(level)
        choices = self._require_choices(f"interval({interval_kind_argument('profile')})")
        if self._needs_whitened_profile(
            estimate
        ):  # in theta itself Newton's steps would be rounding
            return self._whitened_profile_intervals(estimate, choices, indices, level)
        profile = Profile(
            choices,
            likelihood_of(choices),
            self.quadratic or Quadratic.none(self.n_weights),
            estimate.method == "Firth",
            self._unidentified_directions(estimate),
            self.scale,
            self.constraints,
        )
        return np.array([self._profile_interval(estimate, profile, a, level) for a in indices])

    def _profile_interval(
        self, estimate: EstimateFields, profile: Profile, parameter: int, level: float
    ) -> tuple[float, float]:
        undetermined = estimate.status == "separated" and np.isnan(estimate.theta[parameter])
        # along an unidentified direction the profile is flat: no search would find an end
        if undetermined or (profile.unidentified[:, parameter] != 0).any():
            return -np.inf, np.inf
        error = np.sqrt(estimate.covariance[parameter, parameter])
        # the search needs some unit: without a standard error, the change of a typical utility by 1
        unit = error if np.isfinite(error) and error > 0 else 1.0 / self.scale[parameter]
        top = estimate.log_likelihood if estimate.log_posterior is None else estimate.log_posterior
        return profile_interval(profile, parameter, top, estimate.theta, unit, level)

    def _needs_whitened_profile(self, estimate: EstimateFields) -> bool:
        """Whether profiles lose digits in the coordinates of theta that whitened ones keep."""
        plain = self.quadratic is None and self.constraints is None and estimate.method != "Firth"
        known = bool(np.isfinite(estimate.inverse_information).all())
        return plain and known and estimate.diagnostics.condition > MAX_PLAIN_CONDITION

    def _whitened_profile_intervals(
        self, estimate: EstimateFields, choices: Choices, indices: list[int], level: float
    ) -> Matrix:
        """Profile intervals in coordinates in which the information is the identity."""
        inverse, errors = estimate.inverse_information, np.sqrt(np.diag(estimate.covariance))
        own = np.sqrt(np.diag(inverse))
        correlation = inverse / np.outer(own, own)
        # correlations of 1 - 1e-16 round to 1 and have no Cholesky factor: coordinates need only
        # be good, not exact
        correlation += len(own) * np.finfo(float).eps * np.eye(len(own))
        factor = np.linalg.cholesky(correlation) * errors[:, None]
        profile = WhitenedProfile(
            likelihood_of(choices_in_coordinates(choices, factor)), factor, estimate.theta
        )
        top = estimate.log_likelihood
        return np.array(
            [whitened_profile_interval(profile, a, top, errors[a], level) for a in indices]
        )

    def _unidentified_directions(self, estimate: EstimateFields) -> Matrix:
        """Directions of theta that change nothing, as rows; none where a prior decides."""
        # a prior gives every direction curvature: none is left to be fixed
        directions = () if self.quadratic is not None else estimate.diagnostics.null_directions
        rows = [[v.get(name, 0.0) for name in estimate.names] for v in directions]
        return np.array(rows).reshape(len(rows), len(estimate.names))

    def robust(self, estimate: EstimateFields) -> Matrix:
        """Sandwich covariance (HC0)."""
        theta = _finite_theta(estimate, "robust()")
        if self.chunked is not None:
            return self.chunked.robust(theta, estimate.inverse_information)
        choices = self._require_choices("robust()")
        return robust_covariance(theta, estimate.inverse_information, choices)

    def clustered(self, estimate: EstimateFields, cluster: Any) -> Matrix:
        """Sandwich covariance by subject, or by labels given."""
        if self.chunked is not None and cluster is None:
            theta = _finite_theta(estimate, "clustered()")
            return self.chunked.clustered(theta, estimate.inverse_information)
        choices = self._require_choices("clustered()")
        labels = choices.subject if cluster is None else cluster
        if labels is None:
            raise DataError(
                "cluster",
                "must be given where the choices have no subject",
                got="None",
                fix=f"Name their column with {mark_argument('subject')}, or give one label per "
                "decision.",
            )
        theta = _finite_theta(estimate, "clustered()")
        return clustered_covariance(theta, estimate.inverse_information, choices, labels)

    def likelihood_ratio_test(self, estimate: EstimateFields, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test of R theta = r."""
        choices = self._require_choices("likelihood_ratio_test()")
        if estimate.method != "maximum likelihood" or self.constraints is not None:
            raise DataError(
                "likelihood_ratio_test()",
                "must have plain maximum likelihood",
                got="a prior, a penalty or constraints",
                fix="Fit without them, or use the Wald test.",
            )
        asked = Hypothesis.parse_hypothesis(hypothesis, estimate.names)
        free = self._unidentified_directions(estimate)
        return likelihood_ratio_test(estimate.log_likelihood, choices, asked, free, self.scale)

    def score_test(self, estimate: EstimateFields, hypothesis: Any) -> TestResult:
        """Score test of R theta = r."""
        choices = self._require_choices("score_test()")
        asked = Hypothesis.parse_hypothesis(hypothesis, estimate.names)
        return score_test(choices, asked, self._unidentified_directions(estimate), self.scale)

    def predict(self, estimate: EstimateFields, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities, Eq. (3)."""
        if average:
            raise DataError(
                "average",
                "must be left out for choices",
                got="True",
                fix="It averages over the shape parameters of a model.",
            )
        if data is None and self.chunked is not None:
            return predict_probabilities(estimate.theta, estimate.names, self.chunked.chunks, None)
        choices = self._require_choices("predict()") if data is None else data
        return predict_probabilities(estimate.theta, estimate.names, choices, available)

    def log_likelihoods(self, estimate: EstimateFields, data: Any) -> Any:
        """Log-probability of each decision."""
        theta = _finite_theta(estimate, "log_likelihoods()")
        if data is None and self.chunked is not None:
            data = self.chunked.chunks
        if isinstance(data, Chunks):
            return data.map_chunks(ChunkLogLikelihoods(theta, estimate.names), "Predicting")
        choices = self._require_choices("log_likelihoods()") if data is None else data
        return decision_log_likelihoods(theta, choices.select(estimate.names))

    def bias(self, estimate: EstimateFields) -> Vector:
        """First-order bias of maximum likelihood at theta."""
        theta = _finite_theta(estimate, "bias")
        return first_order_bias(theta, self._require_choices("bias"), estimate.inverse_information)

    def attached(self, estimate: EstimateFields, data: Any) -> ChoiceSource:
        """Source with its choices."""
        choices = data.select(estimate.names)
        # a cheap check; other choices of the same number cannot be told apart
        if choices.n_decisions != estimate.n_decisions:
            raise DataError(
                "choices",
                f"must be those of the fit ({estimate.n_decisions} decisions)",
                got=choices.n_decisions,
                fix="Attach the data that the estimate was made from.",
            )
        return dataclasses.replace(self, data=choices)

    def without_data_for_pickling(self) -> ChoiceSource:
        """Source without the choices."""
        return dataclasses.replace(self, data=None, chunked=None)

    def _require_choices(self, argument: str) -> Choices:
        if self.chunked is not None:
            raise DataError(
                argument,
                "must have choices in memory",
                got="a scan",
                fix="Pass some of them, or fit them.",
            )
        if self.data is None:
            raise DataError(
                argument,
                "must have the choices, which are not stored with an estimate",
                got="none",
                fix="Call estimate.attach(choices) first.",
            )
        return self.data


def _finite_theta(estimate: EstimateFields, argument: str) -> Vector:
    if np.isfinite(estimate.theta).all():
        return estimate.theta
    raise DataError(
        argument,
        "must have a finite estimate",
        got=f"status {estimate.status!r}",
        fix=f"Use {mark_argument('method', 'firth')} or {mark_weak_prior_argument()}.",
    )
