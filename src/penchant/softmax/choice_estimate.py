"""Estimates of choices: what needs the choices, asked of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.choices import Choices, NaturalParameters
from penchant.choices.chunks import Chunks
from penchant.errors import DataError, argument, either, interval_kind_argument, weak_prior_argument
from penchant.softmax.calibrated import N_DRAWN, LinearCase, check_drawing, further_level
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate_source import (
    DetachedSource,
    EstimateFields,
    EstimateSource,
    IntervalKind,
    Rng,
    Space,
)
from penchant.softmax.hypotheses import (
    Hypothesis,
    LinearProfile,
    Parameter,
    Profile,
    TestResult,
    clustered_covariance,
    delta_method,
    likelihood_ratio_test,
    linear_interval,
    profile_interval,
    robust_covariance,
    score_test,
    transformed,
    wald_interval,
)
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic
from penchant.softmax.prior import first_order_bias
from penchant.softmax.probabilities import decision_log_likelihoods, log_probabilities
from penchant.softmax.solution import in_coordinates

ILL_CONDITIONED = 1e6


def predicted(theta: Vector, names: Sequence[str], choices: Any, available: Any) -> Any:
    """Probabilities (n_decisions, n_options), or one per row where sets differ in size."""
    if not np.isfinite(theta).all():
        missing = [n for n, t in zip(names, theta, strict=True) if not np.isfinite(t)]
        raise DataError(
            f"predict must have a finite estimate; got none for {', '.join(missing)}. Fit with "
            f"{weak_prior_argument()} to predict."
        )
    if isinstance(choices, Chunks):
        return choices.map_chunks(PredictedAt(theta, tuple(names)), "Predicting")
    if not isinstance(choices, Choices):
        choices = Choices.from_arrays(choices, None, available=available, names=list(names))
    unknown = [name for name in names if name not in choices.names]
    if unknown:
        raise DataError(
            f"choices must have the variables of the estimate; got none named {', '.join(unknown)} "
            f"among {', '.join(choices.names)}. Add or rename them."
        )
    p = np.exp(log_probabilities(theta, choices.select(names)))
    sizes = np.diff(choices.first_row)
    return p.reshape(len(sizes), -1) if (sizes == sizes[0]).all() else p


@dataclass(frozen=True)
class PredictedAt:
    """Probabilities of the options of a piece."""

    theta: Vector
    names: tuple[str, ...]

    def __call__(self, choices: Choices) -> Any:
        """Of these choices."""
        return predicted(self.theta, self.names, choices, None)


@dataclass(frozen=True)
class LogLikelihoodsAt:
    """Log-probabilities of what was chosen in a piece."""

    theta: Vector
    names: tuple[str, ...]

    def __call__(self, choices: Choices) -> Vector:
        """Of these choices."""
        return decision_log_likelihoods(self.theta, choices.select(self.names))


class ChunkedChoices(Protocol):
    """What can be asked of choices that are looked at in passes."""

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
    map
        Map to the natural parameters, where the model has one; or what was kept of them.
    model, model_words
        The model that was linearised, if one was.
    passed
        Choices that are looked at in passes, as they do not fit in memory.
    """

    data: Choices | None
    scale: Vector
    quadratic: Quadratic | None = None
    constraints: Constraints | None = None
    map: NaturalParameters | DetachedSource | None = None
    model: Any = None
    model_words: str = ""
    chunked: ChunkedChoices | None = None

    space: ClassVar[Space] = "theta"
    lack: ClassVar[str] = "must be of a model; got an estimate of choices. Fit a model."

    @property
    def usual(self) -> tuple[float, IntervalKind]:
        """95 %, from standard errors, or what was kept."""
        return self.map.usual if isinstance(self.map, DetachedSource) else (0.95, "wald")

    @property
    def n_weights(self) -> int:
        """All of theta."""
        return len(self.scale)

    def natural(self, found: EstimateFields) -> tuple[tuple[str, ...], Vector, Matrix]:
        """Natural parameters; theta itself if there is no map."""
        if self.map is None:
            return found.names, found.theta, found.covariance
        if isinstance(self.map, DetachedSource):
            return self.map.natural(found)
        slopes = self.map.jacobian(found.theta)
        return self.map.names, self.map.values(found.theta), delta_method(found.covariance, slopes)

    def parameters(
        self, found: Sequence[Any], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[Parameter, ...]]:
        """Natural parameters with intervals; from standard errors only, where there is a map."""
        return [one.source._with_intervals(one, level, kind, rng) for one in found]

    def _with_intervals(
        self, found: EstimateFields, level: float, kind: IntervalKind, rng: Rng
    ) -> tuple[Parameter, ...]:
        if isinstance(self.map, DetachedSource):
            return self.map.at(level, kind)
        names, values, covariance = self.natural(found)
        known = transformed(values, covariance, names, level)
        if kind == "wald":
            return known
        ends = self._ends(found, names, "parameters", level, kind, rng, N_DRAWN)
        return tuple(
            dataclasses.replace(p, low=float(low), high=float(high))
            for p, (low, high) in zip(known, ends, strict=True)
        )

    # -- intervals -------------------------------------------------------------------------------

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
        """Intervals of each estimate by itself."""
        return np.array(
            [one.source._ends(one, names, space, level, kind, rng, n_drawn) for one in found]
        )

    def _ends(
        self,
        found: EstimateFields,
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: Rng,
        n_drawn: int,
    ) -> Matrix:
        if space == "parameters" and self.map is not None:
            if kind != "wald":
                raise DataError(
                    f"kind must be 'wald' for natural parameters of choices; got {kind!r}. "
                    "Ask for theta, or fit the model itself."
                )
            known = {p.name: p for p in self._with_intervals(found, level, "wald", None)}
            return np.array([(known[name].low, known[name].high) for name in names])
        wanted = [found.names.index(name) for name in names]
        if kind == "wald":
            errors = np.sqrt(np.diag(found.covariance))
            return wald_interval(found.theta, errors, level)[wanted]
        if kind == "profile":
            return self._profiled(found, level, wanted)
        plain = found.method == "maximum likelihood" and self.constraints is None
        seed = check_drawing(rng, n_drawn, not plain)
        choices = self._needed(f"interval({interval_kind_argument('calibrated')})")
        case = LinearCase(choices, found.theta, self._unidentified(found), self.scale)
        near, far = (self._profiled(found, at, wanted) for at in (level, further_level(level)))
        return case.intervals(wanted, near, far, level, seed, n_drawn)

    def _profiled(self, found: EstimateFields, level: float, wanted: list[int]) -> Matrix:
        """Intervals that invert the likelihood-ratio test."""
        check_level(level)
        choices = self._needed(f"interval({interval_kind_argument('profile')})")
        if self._nearly_dependent(found):
            return self._whitened(found, choices, wanted, level)
        profile = Profile(
            choices,
            likelihood_of(choices),
            self.quadratic or Quadratic.none(self.n_weights),
            found.method == "Firth",
            self._unidentified(found),
            self.scale,
            self.constraints,
        )
        return np.array([self._one(found, profile, a, level) for a in wanted])

    def _one(
        self, found: EstimateFields, profile: Profile, parameter: int, level: float
    ) -> tuple[float, float]:
        undetermined = found.status == "separated" and np.isnan(found.theta[parameter])
        if undetermined or (profile.unidentified[:, parameter] != 0).any():
            return -np.inf, np.inf
        error = np.sqrt(found.covariance[parameter, parameter])
        unit = error if np.isfinite(error) and error > 0 else 1.0 / self.scale[parameter]
        top = found.log_likelihood if found.log_posterior is None else found.log_posterior
        return profile_interval(profile, parameter, top, found.theta, unit, level)

    def _nearly_dependent(self, found: EstimateFields) -> bool:
        """Whether theta's own coordinates lose digits that others keep."""
        plain = self.quadratic is None and self.constraints is None and found.method != "Firth"
        known = bool(np.isfinite(found.inverse_information).all())
        return plain and known and found.diagnostics.condition > ILL_CONDITIONED

    def _whitened(
        self, found: EstimateFields, choices: Choices, wanted: list[int], level: float
    ) -> Matrix:
        """Profile intervals in coordinates in which the information is the identity."""
        inverse, errors = found.inverse_information, np.sqrt(np.diag(found.covariance))
        own = np.sqrt(np.diag(inverse))
        correlation = inverse / np.outer(own, own)
        # of columns equal to 8 digits it rounds to 1: coordinates need be good, not exact
        correlation += len(own) * np.finfo(float).eps * np.eye(len(own))
        factor = np.linalg.cholesky(correlation) * errors[:, None]
        profile = LinearProfile(likelihood_of(in_coordinates(choices, factor)), factor, found.theta)
        top = found.log_likelihood
        return np.array([linear_interval(profile, a, top, errors[a], level) for a in wanted])

    def _unidentified(self, found: EstimateFields) -> Matrix:
        """Directions of theta that change nothing, as rows; none where a prior decides."""
        directions = () if self.quadratic is not None else found.diagnostics.null_directions
        rows = [[v.get(name, 0.0) for name in found.names] for v in directions]
        return np.array(rows).reshape(len(rows), len(found.names))

    # -- covariances, tests, predictions ---------------------------------------------------------

    def robust(self, found: EstimateFields) -> Matrix:
        """Sandwich covariance (HC0)."""
        theta = _finite(found, "robust()")
        if self.chunked is not None:
            return self.chunked.robust(theta, found.inverse_information)
        choices = self._needed("robust()")
        return robust_covariance(theta, found.inverse_information, choices)

    def clustered(self, found: EstimateFields, cluster: Any) -> Matrix:
        """Sandwich covariance by subject, or by labels given."""
        if self.chunked is not None and cluster is None:
            theta = _finite(found, "clustered()")
            return self.chunked.clustered(theta, found.inverse_information)
        choices = self._needed("clustered()")
        labels = choices.subject if cluster is None else cluster
        if labels is None:
            raise DataError(
                f"{either('cluster', '--subject')} must be given where the choices have no "
                "subject; got None. "
                + either("Pass one label per decision.", "Name its column with --subject.")
            )
        theta = _finite(found, "clustered()")
        return clustered_covariance(theta, found.inverse_information, choices, labels)

    def likelihood_ratio_test(self, found: EstimateFields, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test of R theta = r."""
        choices = self._needed("likelihood_ratio_test()")
        if found.method != "maximum likelihood" or self.constraints is not None:
            raise DataError(
                "likelihood_ratio_test() must have plain maximum likelihood; got a prior, a "
                "penalty or constraints. Fit without them, or use the Wald test."
            )
        asked = Hypothesis.of(hypothesis, found.names)
        free = self._unidentified(found)
        return likelihood_ratio_test(found.log_likelihood, choices, asked, free, self.scale)

    def score_test(self, found: EstimateFields, hypothesis: Any) -> TestResult:
        """Score test of R theta = r."""
        choices = self._needed("score_test()")
        asked = Hypothesis.of(hypothesis, found.names)
        return score_test(choices, asked, self._unidentified(found), self.scale)

    def predict(self, found: EstimateFields, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities, Eq. (3)."""
        if average:
            raise DataError(
                "average must be left out for choices; got True. It averages over the shape "
                "parameters of a model."
            )
        if data is None and self.chunked is not None:
            return predicted(found.theta, found.names, self.chunked.chunks, None)
        choices = self._needed("predict()") if data is None else data
        return predicted(found.theta, found.names, choices, available)

    def log_likelihoods(self, found: EstimateFields, data: Any) -> Any:
        """Log-probability of each decision."""
        theta = _finite(found, "log_likelihoods()")
        if data is None and self.chunked is not None:
            data = self.chunked.chunks
        if isinstance(data, Chunks):
            return data.map_chunks(LogLikelihoodsAt(theta, found.names), "Predicting")
        choices = self._needed("log_likelihoods()") if data is None else data
        return decision_log_likelihoods(theta, choices.select(found.names))

    def bias(self, found: EstimateFields) -> Vector:
        """First-order bias of maximum likelihood at theta."""
        theta = _finite(found, "bias")
        return first_order_bias(theta, self._needed("bias"), found.inverse_information)

    def attached(self, found: EstimateFields, data: Any) -> ChoiceSource:
        """The same with its choices."""
        choices = data.select(found.names)
        if choices.n_decisions != found.n_decisions:
            raise DataError(
                f"choices must be those of the fit ({found.n_decisions} decisions); "
                f"got {choices.n_decisions}. Attach the data that the estimate was made from."
            )
        return dataclasses.replace(self, data=choices)

    def stored(self) -> ChoiceSource:
        """The same without the choices."""
        return dataclasses.replace(self, data=None, chunked=None)

    def _needed(self, what: str) -> Choices:
        if self.chunked is not None:
            raise DataError(
                f"{what} must have choices in memory; got a scan. Pass some of them, or fit them."
            )
        if self.data is None:
            raise DataError(
                f"{what} must have the choices, which are not stored with an estimate; "
                "got none. Call estimate.attach(choices) first."
            )
        return self.data


def _finite(found: EstimateFields, what: str) -> Vector:
    if np.isfinite(found.theta).all():
        return found.theta
    raise DataError(
        f"{what} must have a finite estimate; got status {found.status!r}. Use "
        f"{argument('method', 'firth')} or {either('a parameter_prior', '--prior weak')}."
    )
