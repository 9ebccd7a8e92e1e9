"""Diagnosis of optima: the status of every estimate of a model, and the sentence that explains it.

`diagnose` is the only place where the status of a model's estimate is decided and worded. What it
rests on is computed elsewhere: whether a maximum of the weights exists (`existence_of_maximum`),
whether the likelihood rises for ever towards an end of psi (`separation_with_shape_parameters`),
which parameters the choices leave open (`identifiability`), and which ends of ranges were reached
(`search.local_maxima`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import (
    advise_prior,
    mark_argument,
    mark_weak_prior_argument,
    profile_interval_advice,
)
from penchant.inference.existence_of_maximum import (
    ExistenceCertificates,
    choices_at,
    has_prior_density,
    penalises_weights,
    weight_solution_at_optimum,
)
from penchant.inference.identifiability import (
    divergence_message,
    prior_expectations_diverged,
    shape_identified_despite_separation,
    weakly_identified,
)
from penchant.inference.joint_covariance import joint_covariances
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.grid_search import ProfileGrids
from penchant.inference.search.local_maxima import Optima, bounds_message, bounds_reached
from penchant.inference.separation_with_shape_parameters import (
    JOINT_SEPARATION,
    find_joint_separation,
    separated_solution,
)
from penchant.models.model import Declared, Model
from penchant.models.priors import DensityPrior
from penchant.softmax.estimate_diagnostics import Diagnostics, Status
from penchant.softmax.fit import diagnostics_of, status_of
from penchant.softmax.identification import Identification

# Log-units by which a profile falls at the ends of a 95 % interval: flatter grids exclude no value.
INTERVAL_DROP = 1.92
# Log-units that an end on a flat ridge may still gain: with more the search stopped too early.
MAX_RIDGE_GAIN = 0.01
# Weights that must be positive count as 0 below this: the solver holds them at 0 but for rounding.
ZERO_WEIGHT_TOL = 1e-12
REACHED = "The maximum exists and was reached."
# Statuses without standard errors: a remark on errors would be wrong.
WITHOUT_ESTIMATE = ("not identified", "separated", "stopped early")


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of one optimum: what its estimate says of it.

    `theta` and its covariance are those of weights and shape parameters; NaN without an estimate.
    """

    status: Status
    message: str
    theta: Vector
    covariance: Matrix
    log_likelihood: float
    checks: Diagnostics

    @classmethod
    def without_data(cls, n_parameters: int) -> Diagnosis:
        """Diagnosis before any decision."""
        return cls(
            "not identified",
            "No decision has been made that could tell anything. Observe some.",
            np.full(n_parameters, np.nan),
            np.full((n_parameters, n_parameters), np.nan),
            0.0,
            Diagnostics(0, (), (), 1, None, None, np.inf, 0, np.nan, None, ()),
        )


def diagnose(
    profiles: ProfileProblems, grids: ProfileGrids | None, optima: Optima
) -> tuple[Optima, list[Diagnosis]]:
    """Diagnose all optima; those beside an end to which the likelihood rises are moved there."""
    some, diverging_shape_index = _may_lack_maximum(profiles, optima), np.full(len(optima), -1)
    if len(some):
        optima, diverging_shape_index = find_joint_separation(profiles, optima, some)
    evidence = _OptimaProperties.from_optima(profiles, grids, optima, diverging_shape_index)
    covariances = joint_covariances(profiles, optima, evidence.weights_at_zero)
    found = evidence.diagnoses(covariances)
    reached = np.flatnonzero([diagnosis.status == "converged" for diagnosis in found])
    for k, message in weakly_identified(profiles, grids, optima, covariances, reached).items():
        rest = found[k].message.removeprefix(REACHED)
        found[k] = replace(found[k], status="weakly identified", message=message + rest)
    return optima, found


def _may_lack_maximum(profiles: ProfileProblems, optima: Optima) -> IntVector:
    """Optima that need not be maxima: some choices are certain, and no prior holds the weights."""
    if profiles.prior is not None or not profiles.n_shape:
        return np.empty(0, dtype=np.int64)
    theta = optima.points.theta
    apart = (np.abs(theta) * optima.points.largest[:, 1]).max(axis=1, initial=0.0)
    doubtful = (apart > JOINT_SEPARATION.certain_utility) | ~optima.converged
    return np.flatnonzero(doubtful & np.isfinite(theta).all(axis=1))


class _WeightDiagnosis(NamedTuple):
    """Diagnosis of the weights at the best psi, and which shape parameters have an estimate."""

    status: Status
    message: str
    theta: Vector
    has_shape_estimate: BoolVector
    log_likelihood: float
    checks: Diagnostics


@dataclass(frozen=True)
class _OptimaProperties:
    """Properties of many optima from which their diagnoses follow.

    Attributes
    ----------
    weights_at_zero
        Weights that must be positive and are 0.
    shape_without_effect
        Shape parameters that change no probability, as the weights that they shape are 0.
    has_flat_profile, is_shape_on_ridge
        The whole profile is within a 95 % interval; or a shape parameter is, along a ridge.
    diverging_shape_index
        Shape parameter to whose end the likelihood rises while weights diverge, or -1.
    is_interior_maximum
        Whether the maximum exists, away from all bounds: no closer look is needed.
    """

    profiles: ProfileProblems
    optima: Optima
    newton_certificates: ExistenceCertificates
    weights_at_zero: BoolVector
    shape_without_effect: BoolMatrix
    has_flat_profile: BoolVector
    is_shape_on_ridge: BoolMatrix
    diverging_shape_index: IntVector
    is_interior_maximum: BoolVector

    @classmethod
    def from_optima(
        cls,
        profiles: ProfileProblems,
        grids: ProfileGrids | None,
        optima: Optima,
        diverging_shape_index: IntVector,
    ) -> _OptimaProperties:
        newton_certificates = ExistenceCertificates.certify_by_newton_steps(profiles, optima.points)
        weights_at_zero = np.asarray(optima.points.theta[:, profiles.positive] <= ZERO_WEIGHT_TOL)
        unmoved = np.asarray(optima.points.psi_information.diagonal(0, 1, 2) <= 0)
        unmoved &= np.any(weights_at_zero, axis=1, keepdims=True)
        flat = np.zeros(len(optima), dtype=bool) if grids is None else _have_flat_profile(grids)
        loose = _are_errors_as_wide_as_range(profiles, optima)
        doubtful = (
            weights_at_zero.any(axis=1) | optima.at_bound.any(axis=1) | flat | loose.any(axis=1)
        )
        doubtful |= prior_expectations_diverged(profiles, optima) | (diverging_shape_index >= 0)
        plain = (
            newton_certificates.is_fully_certified
            & optima.converged
            & ~optima.is_at_kink
            & ~doubtful
        )
        return cls(
            profiles,
            optima,
            newton_certificates,
            weights_at_zero,
            unmoved,
            flat,
            loose,
            diverging_shape_index,
            plain,
        )

    def diagnoses(self, covariances: Matrix) -> list[Diagnosis]:
        """Diagnosis of every optimum, with the covariances that go with it."""
        proven = (
            self.newton_certificates.is_fully_certified
            & self.optima.converged
            & (self.diverging_shape_index < 0)
        )
        doubtful = np.flatnonzero(~self.is_interior_maximum & ~proven)
        weights = [self._diagnosis_of_reached_maximum(k) for k in range(len(self.optima))]
        for k, choices, slopes in choices_at(
            self.profiles, self.optima.points, doubtful, self.profiles.n_shape > 0
        ):
            weights[k] = _diagnose_weights(
                self.profiles.for_subject(k),
                (choices, slopes),
                self.optima[k],
                weights[k],
                self._identification_of_optimum(k),
                int(self.diverging_shape_index[k]),
            )
        return [self._diagnose(k, found, covariances[k]) for k, found in enumerate(weights)]

    def _diagnosis_of_reached_maximum(self, k: int) -> _WeightDiagnosis:
        """Diagnosis of weights whose maximum exists and was reached."""
        points, checks = (
            self.optima.points,
            self.newton_certificates.diagnostics(k, int(self.optima.n_steps[k])),
        )
        reached = float(points.log_likelihood[k])
        return _WeightDiagnosis(
            "converged", REACHED, points.theta[k], ~self.shape_without_effect[k], reached, checks
        )

    def _identification_of_optimum(self, k: int) -> Identification | None:
        """Identification of one optimum, if certain and no prior or bound holds the weights."""
        if self.profiles.prior is not None or self.weights_at_zero[k].any():
            return None
        return self.newton_certificates.identification_of_point(self.optima.points, k)

    def _diagnose(self, k: int, weights: _WeightDiagnosis, covariance: Matrix) -> Diagnosis:
        """Diagnosis with the worst status that applies."""
        status, message, checks = weights.status, weights.message, weights.checks
        if not self.is_interior_maximum[k]:
            held = self._bounds_reached(k)
            checks = replace(checks, bounds=held, iterations=int(self.optima.n_steps[k]))
            status, message = self._status_and_message(k, (status, message), held)
            if status == "not identified":
                message = _advice_for_model(message, self.profiles.model, checks)
            if self.optima.is_at_kink[k] and status not in WITHOUT_ESTIMATE:
                message = f"{message} {_kink_message()}"
        psi = np.where(weights.has_shape_estimate, self.optima.points.psi[k], np.nan)
        lost = status in WITHOUT_ESTIMATE
        return Diagnosis(
            status,
            message,
            np.concatenate([weights.theta, psi]),
            np.full_like(covariance, np.nan) if lost else covariance,
            weights.log_likelihood,
            checks,
        )

    def _bounds_reached(self, k: int) -> tuple[str, ...]:
        profiles = self.profiles
        ends = ("low", "high")
        found = [
            f"{shape.name} = {getattr(shape, ends[upper]) if limit is None else limit.value:g}"
            for shape, upper, limit in bounds_reached(profiles.shape, self.optima[k])
            if not self.shape_without_effect[k, profiles.shape.index(shape)]
        ]
        if self.weights_at_zero[k].any():
            assert profiles.positive_weight_constraints is not None
            found += np.array(profiles.positive_weight_constraints.labels)[
                self.weights_at_zero[k]
            ].tolist()
        return tuple(found)

    def _is_flat_ridge(self, k: int) -> bool:
        free = np.where(self.optima.at_bound[k], 0.0, self.optima.points.gradient[k])
        return bool(np.abs(free) @ np.ptp(self.profiles.bounds, axis=1) < MAX_RIDGE_GAIN)

    def _status_and_message(
        self, k: int, weight_status_and_message: tuple[Status, str], held: tuple[str, ...]
    ) -> tuple[Status, str]:
        # From the gravest: without finite weights psi means nothing; a ridge explains large errors.
        status, sentence = weight_status_and_message
        optima = self.optima
        names = " and ".join(shape.name for shape in self.profiles.shape)
        if status in ("not identified", "separated"):
            advice = _advice_on_separation(sentence, self.profiles.for_subject(k))
            at = ", ".join(
                f"{s.name} {'near ' if q == self.diverging_shape_index[k] else '= '}{v:.4g}"
                for q, (s, v) in enumerate(
                    zip(self.profiles.shape, optima.points.psi[k], strict=True)
                )
            )
            return status, f"{advice} (At {at}.)" if at else advice
        if status == "stopped early":
            solved = re.split(" Allow more| To be sure", sentence)[0]
            return status, (
                f"{solved} The choices hardly bound the weights: {advise_prior()}; until then this "
                "is not an estimate."
            )
        if not optima.converged[k] and not (
            self.is_shape_on_ridge[k].any() and self._is_flat_ridge(k)
        ):
            return "stopped early", (
                f"The search over {names} stopped after {optima.n_steps[k]} steps before it "
                "reached a maximum. Look at `profile`."
            )
        if held:
            return "at a bound", bounds_message(self.profiles, optima[k], held)
        if self.has_flat_profile[k]:
            return "weakly identified", (
                f"The profile over {names} is flat: it varies by less than {INTERVAL_DROP} "
                "log-units over the whole range, so that every value is in the 95 % interval. "
                "Hold it fixed."
            )
        if self.is_shape_on_ridge[k].any():
            which = " and ".join(
                s.name
                for s, far in zip(self.profiles.shape, self.is_shape_on_ridge[k], strict=True)
                if far
            )
            return "weakly identified", (
                f"The profile has a ridge: {which} can move across its whole range while the other "
                f"parameters make up for it. {profile_interval_advice()}, or hold it fixed."
            )
        run_off = divergence_message(self.profiles, optima[k])
        if status == "converged" and run_off:
            return "weakly identified", run_off
        return status, sentence


def _diagnose_weights(
    profiles: ProfileProblems,
    choices_and_slopes: tuple[Choices, Matrix | None],
    optimum: Optima,
    reached: _WeightDiagnosis,
    identified: Identification | None,
    diverging_shape_index: int,
) -> _WeightDiagnosis:
    """Diagnose weights that Newton's method alone does not certify.

    choices_and_slopes : the decisions at the optimum, and derivatives of their variables
    reached : diagnosis if the maximum exists
    diverging_shape_index : shape parameter to whose end the likelihood rises while weights diverge,
    or -1
    """
    choices, slopes = choices_and_slopes
    has_prior = penalises_weights(profiles)
    solution = weight_solution_at_optimum(profiles, choices, optimum, identified)
    # With weights so large even differences count that a linear program takes for 0.
    value = reached.log_likelihood
    if diverging_shape_index >= 0 and (
        solution.recession is None or solution.log_likelihood < value
    ):
        solution = separated_solution(solution, choices, optimum.points.theta[0], value)
    checks = diagnostics_of(solution, choices, has_prior=has_prior)
    status, message = status_of(solution, checks, profiles.model.weights, has_prior)
    if status == "weakly identified":
        message = _advice_on_separation(message, profiles)
    found = reached._replace(status=status, message=message, theta=solution.theta, checks=checks)
    if status != "separated":
        return found
    known = shape_identified_despite_separation(profiles, choices, slopes, solution)
    if diverging_shape_index >= 0:
        known[diverging_shape_index] = True
    return found._replace(has_shape_estimate=known, log_likelihood=solution.log_likelihood)


def _have_flat_profile(grids: ProfileGrids) -> BoolVector:
    """Whether whole grids lie within what a 95 % interval gives away."""
    highest = np.fmax.reduce(grids.values, axis=1, keepdims=True)
    # Cells outside the domain do not count; one that has fallen far decides for most subjects.
    fallen = (grids.values <= highest - INTERVAL_DROP) & (grids.values > -np.inf)
    return np.asarray(~fallen.any(axis=1) & (np.isfinite(grids.values).sum(axis=1) > 1))


def _are_errors_as_wide_as_range(profiles: ProfileProblems, optima: Optima) -> BoolVector:
    """Shape parameters whose standard error, by the curvature, is as long as their range."""
    if not profiles.n_shape:
        return np.zeros((len(optima), 0), dtype=bool)
    values, vectors = np.linalg.eigh(optima.curvature)
    fine = values > 0
    lengths = np.where(fine, 1.0 / np.where(fine, values, 1.0), 1e300)
    variance = np.einsum("kab,kb->ka", vectors**2, lengths)
    return np.asarray(np.sqrt(variance) > np.ptp(profiles.bounds, axis=1))


def _kink_message() -> str:
    return (
        "The profile has a kink at its maximum, where a reward equals the value of its option: it "
        "falls to all sides, but has no curvature there, and standard errors are those of the "
        f"expected information. {profile_interval_advice()}."
    )


def _advice_for_model(message: str, model: Model, checks: Diagnostics) -> str:
    """Replace advice for a table of variables by advice for a model.

    A model may know why one of its weights is not identified: it then has `unidentified`, a mapping
    from weights to sentences that say what to do.
    """
    known = Declared(model).unidentified
    alone = [_only_nonzero_weight(direction) for direction in checks.null_directions]
    own = "".join(f"{known[name]} " for name in alone if name is not None and name in known)
    use = "Else use" if own else "Use"
    return re.sub(
        rf"Drop a variable(, [^,]*)??, {re.escape(advise_prior())}",
        f"{own}{use} {mark_weak_prior_argument()}",
        message,
    )


def _only_nonzero_weight(direction: Mapping[str, float]) -> str | None:
    parts = [name for name, value in direction.items() if value != 0]
    return parts[0] if len(parts) == 1 else None


def _advice_on_separation(sentence: str, profiles: ProfileProblems) -> str:
    """Message with the advice that applies where unpenalised weights have no maximum."""
    if profiles.prior is None or not isinstance(profiles.prior, DensityPrior):
        return sentence.replace(f"{mark_argument('method', 'firth')} or ", "").replace(
            f" or use {mark_argument('method', 'firth')}", ""
        )
    free = [
        natural.name
        for natural in profiles.natural
        if not natural.is_shape and not has_prior_density(profiles, natural)
    ]
    if not free:
        return sentence.replace(
            f"Use {mark_argument('method', 'firth')} or {mark_weak_prior_argument()}, or r", "R"
        )
    density = f"ive {' and '.join(free)} a density too"
    return sentence.replace(
        f"Use {mark_argument('method', 'firth')} or {mark_weak_prior_argument()}", f"G{density}"
    ).replace(f"{advise_prior()} or use {mark_argument('method', 'firth')}", f"g{density}")
