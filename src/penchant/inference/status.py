"""Diagnosis of optima: existence certificate, status, message and covariance of many estimates.

A maximum of the weights is certified by the last Newton step where that suffices, and by linear
programs otherwise (Albert & Anderson 1984 on separation; see `softmax.separation`). Covariances are
inverses of the joint observed information of weights and psi. This module decides every status of
an estimate of a model; `identifiability` and `joint_separation` look at special cases for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Label, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import argument, prior_advice, profile_interval_advice
from penchant.inference.identifiability import (
    divergence_message,
    few_decisions_note,
    has_unpenalised_direction,
    near_unpenalised_separation,
    penalises_weights,
    prior_expectations_diverged,
    separated_advice,
    shape_identified_despite_separation,
    unpenalised_separation,
    weakly_identified,
)
from penchant.inference.joint_separation import (
    JOINT_SEPARATION,
    find_joint_separation,
    separated_solution,
)
from penchant.inference.model_estimate import ModelSource
from penchant.inference.profile._kernels import MIN_INFORMATION
from penchant.inference.profile.evaluations import Evaluations, scored_choices_of_pair
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import Grid, GridSource, evaluated_grids
from penchant.inference.search.optima import (
    Optima,
    Optimum,
    bounds_message,
    bounds_reached,
    pseudoinverse,
)
from penchant.models.model import Declared
from penchant.models.priors import Prior
from penchant.models.record import doubts_of
from penchant.output import pooled_notes
from penchant.softmax.decisions import ChoiceDecisions
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import WEAK_CONDITION, diagnostics_of, status_of
from penchant.softmax.fit_each import Batch, proven_maxima
from penchant.softmax.identification import Identification
from penchant.softmax.newton import UNDECIDED
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    UnsolvedProgramError,
    certified_maxima,
)
from penchant.softmax.solution import Solution, check_units, scaled_inverse
from penchant.softmax.solve import has_maximum, identify, proven_separation, solve

# Elasticity (per cent of a weight by one per cent of psi) beyond which the weight counts as known
# only together with psi: half-way between 0, independent, and 1, proportional.
MIN_ELASTICITY = 0.5
# Log-units by which a profile falls at the ends of a 95 % interval: flatter grids exclude no value.
INTERVAL_DROP = 1.92
# Log-units that an end on a flat ridge may still gain: with more the search stopped too early.
MAX_RIDGE_GAIN = 0.01
# Weights that must be positive count as 0 below this: the solver holds them at 0 but for rounding.
ZERO_WEIGHT_TOL = 1e-12


def joint_covariances(profiles: Profiles, optima: Optima, touched: BoolVector) -> Matrix:
    """Inverse joint observed information of weights and psi, one for each optimum.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi at the end of its range and weights held at 0 have
    none, nor has any parameter where the curvature is not positive, nor have weights that depend
    on where the range of the search ends: see `_artefacts`.
    """
    d, q, n = profiles.n_weights, profiles.n_shape, len(optima)
    information, held, drift = optima.points.information, optima.at_bound, optima.drift
    curvature, jacobian = optima.curvature, profiles.jacobian(optima.points.psi)
    closed = held[:, :, None] | held[:, None, :]
    shape = pseudoinverse(np.where(closed, np.eye(q), curvature)) * ~closed
    inner = pseudoinverse(information)
    covariance = np.empty((n, d + q, d + q))
    covariance[:, :d, :d] = inner + drift @ shape @ drift.transpose(0, 2, 1)
    mixed = drift @ shape * jacobian[:, None, :]
    covariance[:, :d, d:], covariance[:, d:, :d] = mixed, mixed.transpose(0, 2, 1)
    covariance[:, d:, d:] = shape * jacobian[:, :, None] * jacobian[:, None, :]
    without = np.concatenate([np.zeros((n, d), dtype=bool), held], axis=1)
    without[:, profiles.positive] |= touched
    without[:, :d] |= _artefacts(profiles, optima)
    covariance[without[:, :, None] | without[:, None, :]] = np.nan
    flat = ~_are_positive_definite(np.where(closed, np.eye(q), curvature))
    covariance[flat | ~_are_positive_definite(information)] = np.nan
    return covariance


def _artefacts(profiles: Profiles, optima: Optima) -> BoolVector:
    """Weights that follow a psi held where the search ended: (n, n_weights).

    A positive psi is held there at an end of a logarithmic range, or at the lower end of another
    one: it may go on to 0 or to infinity. A weight that changes in proportion to it, such as one
    over a learning rate, is known only together with it: its standard error would be that of where
    the range ends.
    """
    psi, theta = optima.points.psi, np.abs(optima.points.theta)
    decided = np.zeros(theta.shape, dtype=bool)
    for q, one in enumerate(profiles.shape):
        if one.low > 0:
            open_end = optima.at_bound[:, q] & ((one.scale == "log") | (psi[:, q] <= one.low))
            relative = psi[:, q] / np.broadcast_to(one.jacobian(psi[:, q]), len(psi))
            moves = np.abs(optima.drift[:, :, q]) * relative[:, None]
            decided |= open_end[:, None] & (moves > MIN_ELASTICITY * theta)
    return decided


def _are_positive_definite(matrices: Matrix) -> BoolVector:
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    fine &= (diagonal > MIN_INFORMATION).all(axis=1)
    if not matrices.shape[1]:
        return fine
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, np.eye(matrices.shape[1]))
    values = np.linalg.eigvalsh(scaled / scale[:, :, None] / scale[:, None, :])
    return np.asarray(fine & (values[:, 0] > 0))


@dataclass(frozen=True)
class ExistenceCertificates:
    """Certificates by Newton's method about the weights of each subject at one psi.

    Attributes
    ----------
    exists
        The maximum exists, is reached, and all weights are identified.
    good
        Besides, it does not rest on negligible differences; where not, linear programs decide.
    identified_all
        All weights are identified for certain, whether there is a maximum or not.
    """

    exists: BoolVector
    good: BoolVector
    identified_all: BoolVector
    conditions: Vector
    decrement: Vector
    n_weights: int
    prior: Prior | None

    @classmethod
    def of(
        cls, profiles: Profiles, points: Evaluations, thorough: bool = True
    ) -> ExistenceCertificates:
        """Certify by the last Newton steps; `thorough`: decide also whether they are `good`."""
        check_units(points.largest.max(axis=0, initial=0.0), profiles.weights)
        n, d = points.theta.shape
        memo = np.zeros((n, 5))
        memo[:, 2] = points.decrement
        # Without a decrement nothing is certified: such a point must not pass for converged.
        codes = np.isfinite(points.decrement).astype(np.int64)
        batch = Batch(
            points.theta,
            points.information,
            memo,
            codes * points.converged,
            points.spread,
            points.largest,
        )
        covariances, conditions = batch.covariances()
        totals = profiles.n_decisions[points.subject].astype(np.float64)
        inside = np.all(points.theta[:, profiles.positive] > 0, axis=1)
        good = inside & proven_maxima(
            batch, covariances, conditions, totals, profiles.prior is not None
        )
        identified_all = batch.surely_identified
        exists = inside & batch.converged & identified_all
        with np.errstate(invalid="ignore"):
            exists &= certified_maxima(batch.largest[:, 1], covariances, batch.decrement, totals)
        doubtful = np.flatnonzero(exists & ~good & (conditions <= WEAK_CONDITION))
        if thorough and len(doubtful) and profiles.prior is None:
            plain = profiles.without_small_differences(points.take(doubtful), NEGLIGIBLE_DIFFERENCE)
            good[doubtful] = plain.converged & certified_maxima(
                plain.largest[:, 1], plain.covariances()[0], plain.decrement, totals[doubtful]
            )
        return cls(exists, good, identified_all, conditions, points.decrement, d, profiles.prior)

    def identified(self, points: Evaluations, k: int) -> Identification | None:
        """Identification of one point, if all weights are identified for certain."""
        if not self.identified_all[k]:
            return None
        scale = np.sqrt(np.diag(points.spread[k]))
        return Identification(scale, len(scale), np.empty((0, len(scale))), None)

    def diagnostics(self, k: int, n_steps: int) -> Diagnostics:
        """Diagnostics of a certified maximum after so many steps."""
        return Diagnostics(
            rank=self.n_weights,
            null_directions=(),
            combinations=(),
            decisions_needed=0,
            separation=None,
            near_separation=None,
            condition=float(self.conditions[k]),
            iterations=n_steps,
            decrement=float(self.decrement[k]),
            certificate="newton" if self.prior is None else "prior",
            bounds=(),
        )


REACHED = "The maximum exists and was reached."
# Statuses without standard errors: a remark on errors would be wrong.
WITHOUT_ESTIMATE = ("not identified", "separated", "stopped early")


def _kink_message() -> str:
    return (
        "The profile has a kink at its maximum, where a reward equals the value of its option: it "
        "falls to all sides, but has no curvature there, and standard errors are those of the "
        f"expected information. {profile_interval_advice()}."
    )


def lacks_finite_maximum(profiles: Profiles, points: Evaluations) -> BoolVector:
    """Whether the weights have no finite maximum at the best psi of the grid."""
    lost = np.zeros(len(points), dtype=bool)
    if profiles.prior is not None:
        return lost
    newton_certificates = ExistenceCertificates.of(profiles, points, thorough=False)
    doubtful = np.flatnonzero(~newton_certificates.exists)
    for k, choices, _ in _choices_at(profiles, points, doubtful, False):
        # An undecided program is no failure: the search goes on, and its end is checked again.
        with suppress(UnsolvedProgramError):
            known = newton_certificates.identified(points, k)
            lost[k] = not has_maximum(ChoiceDecisions(choices, 1), profiles.limits, known)
    return lost


def _choices_at(
    profiles: Profiles, points: Evaluations, which: IntVector, with_derivatives: bool
) -> Iterator[tuple[int, Choices, Matrix | None]]:
    """Yield the decisions of some points with their variables, computed in one call.

    If asked for, with the derivatives of the variables: (n_shape, n_decisions, n_options,
    n_weights).
    """
    subject, psi = points.subject[which], points.psi[which]
    for begin, end in profiles.portions(subject) if len(which) else ():
        x, slopes = profiles.variables(subject[begin:end], psi[begin:end], with_derivatives)
        rows = profiles.rows(subject[begin:end])
        profiles.check_finite(x, rows)
        for i, k in enumerate(which[begin:end].tolist()):
            steep = None if slopes is None else slopes[:, rows.of(i)]
            yield k, scored_choices_of_pair(i, rows, x, profiles.weights), steep


def _solve_weights(
    profiles: Profiles, choices: Choices, known: Identification | None, near: Vector
) -> Solution:
    """Solve the weights at one psi; separation counts only along allowed directions.

    `known`: the identification, if certain; `near`: where Newton's method ended.
    """
    decisions = ChoiceDecisions(choices, 1)
    found = None if known is None else proven_separation(decisions, known)
    if found is None:
        start = near if known is not None and np.isfinite(near).all() else None
        found = solve(decisions, start=start)
    # Separated weights are infinite: -inf is not allowed, and needs the constrained solver.
    allowed = bool((found.theta[profiles.positive] > 0).all())
    if found.recession is None or allowed:
        return found
    return solve(decisions, constraints=profiles.limits)


def estimates_at(
    profiles: Profiles, grids: GridSource, optima: Optima, subjects: Sequence[Label]
) -> list[Estimate]:
    """Estimates of all subjects at their optima."""
    some, towards = _may_lack_maximum(profiles, optima), np.full(len(optima), -1)
    if len(some):
        optima, towards = find_joint_separation(profiles, optima, some)
    points = optima.points
    cases = DiagnosisBatch.of(profiles, grids, optima, towards)
    covariances = joint_covariances(profiles, optima, cases.touched)
    diagnoses = cases.diagnoses()
    reached = np.flatnonzero([diagnosis.status == "converged" for diagnosis in diagnoses])
    weak = weakly_identified(profiles, grids, optima, covariances, reached)
    theta = np.concatenate([points.theta, points.psi], axis=1)
    found = []
    for k, (grid, diagnosis) in enumerate(zip(grids, diagnoses, strict=True)):
        if k in weak:
            rest = diagnosis.message.removeprefix(REACHED)
            diagnosis = replace(diagnosis, status="weakly identified", message=weak[k] + rest)
        if diagnosis.status in WITHOUT_ESTIMATE:
            covariances[k] = np.nan
        theta[k, : profiles.n_weights] = diagnosis.weights
        theta[k, profiles.n_weights :][~diagnosis.known] = np.nan
        numbers = theta[k], covariances[k]
        found.append(make_estimate(profiles, k, grid, optima[k], diagnosis, *numbers, subjects[k]))
    return found


def _may_lack_maximum(profiles: Profiles, optima: Optima) -> IntVector:
    """Optima that need not be maxima: some choices are certain, and no prior holds the weights."""
    if profiles.prior is not None or not profiles.n_shape:
        return np.empty(0, dtype=np.int64)
    theta = optima.points.theta
    apart = (np.abs(theta) * optima.points.largest[:, 1]).max(axis=1, initial=0.0)
    doubtful = (apart > JOINT_SEPARATION.certain_utility) | ~optima.converged
    return np.flatnonzero(doubtful & np.isfinite(theta).all(axis=1))


def make_estimate(
    profiles: Profiles,
    k: int,
    grid: Grid | Callable[[], Grid],
    optimum: Optimum,
    diagnosis: Diagnosis,
    theta: Vector,
    covariance: Matrix,
    subject: Label,
) -> Estimate:
    """Build the estimate of subject k from its diagnosis."""
    episodes, n_decisions = profiles.groups[k], int(profiles.n_decisions[k])
    copies = float(profiles.log_copies[k])
    null = copies - n_decisions * math.log(profiles.n_options)
    whose = {episode.subject for episode in episodes}
    n_subjects = len(whose)  # episodes without a subject share None, and count as one person
    if subject is None and n_subjects == 1:
        (subject,) = whose
    return _estimate(
        ModelSource(profiles.model, episodes, grid, optimum, profiles.prior),
        (*profiles.weights, *(shape.name for shape in profiles.shape)),
        diagnosis.status,
        diagnosis.message,
        theta,
        covariance,
        (diagnosis.log_likelihood + copies, null),
        diagnosis.checks,
        n_decisions,
        log_posterior=None if profiles.prior is None else optimum.point.value + copies,
        n_options=_set_sizes(profiles, k),
        subject=subject,
        notes=(*pooled_notes(n_subjects), *_notes(profiles, episodes, n_decisions)),
        n_subjects=n_subjects,
    )


def _set_sizes(profiles: Profiles, k: int) -> tuple[int, int]:
    """Smallest and largest number of options that subject k could choose from."""
    if profiles.record.choice_sets is None:
        return profiles.n_options, profiles.n_options
    scored = profiles.record.n_copies[slice(*profiles.first_event[k : k + 2])]
    return profiles.n_options // int(scored.max()), profiles.n_options // int(scored.min())


def _estimate(
    source: ModelSource,
    names: tuple[str, ...],
    status: Status,
    message: str,
    theta: Vector,
    covariance: Matrix,
    log_likelihoods: tuple[float, float],
    checks: Diagnostics,
    n_decisions: int,
    **others: Any,
) -> Estimate:
    model, prior = source.model, source.prior
    return Estimate(
        status=status,
        message=with_advice(message, model, checks) if status == "not identified" else message,
        names=names,
        theta=theta,
        covariance=covariance,
        inverse_information=covariance,
        log_likelihood=log_likelihoods[0],
        null_log_likelihood=log_likelihoods[1],
        diagnostics=checks,
        n_decisions=n_decisions,
        total_weight=float(n_decisions),
        source=source,
        method="maximum likelihood" if prior is None else "MAP",
        prior=None if prior is None else str(prior),
        **others,
    )


def with_advice(message: str, model: Any, diagnostics: Diagnostics) -> str:
    """Replace advice for a table of variables by advice for a model.

    A model may know why one of its weights is not identified: it then has `unidentified`, a mapping
    from weights to sentences that say what to do.

    Parameters
    ----------
    message
        Message of weights that are not identified, with advice on variables.
    model
        Model of these weights.
    diagnostics
        Directions that are not identified.
    """
    known = Declared(model).unidentified
    alone = [_single_weight(direction) for direction in diagnostics.null_directions]
    own = "".join(f"{known[name]} " for name in alone if name is not None and name in known)
    return re.sub(
        rf"Drop a variable(, [^,]*)??, {re.escape(prior_advice())}",
        f"{own}Else use {argument('a parameter_prior')}"
        if own
        else f"Use {argument('a parameter_prior')}",
        message,
    )


def _single_weight(direction: Any) -> str | None:
    parts = [name for name, value in direction.items() if value != 0]
    return parts[0] if len(parts) == 1 else None


def estimate_at(
    profiles: Profiles, grid: Grid | Callable[[], Grid], optimum: Optimum, subject: Label = None
) -> Estimate:
    """Estimate of one subject at its optimum."""
    return estimates_at(profiles, [grid], optimum.alone(), [subject])[0]


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of one optimum; `known` are the shape parameters that have an estimate."""

    status: Status
    message: str
    weights: Vector
    known: BoolVector
    log_likelihood: float
    checks: Diagnostics


@dataclass(frozen=True)
class DiagnosisBatch:
    """Properties of many optima from which their diagnoses follow.

    Attributes
    ----------
    touched
        Weights that must be positive and are 0.
    unmoved
        Shape parameters that change no probability, as the weights that they shape are 0.
    flat, loose
        The whole profile is within a 95 % interval; or a shape parameter is, along a ridge.
    towards
        Shape parameter to whose end the likelihood rises while weights diverge, or -1.
    is_plain
        Whether the maximum exists, away from all bounds: no closer look is needed.
    """

    profiles: Profiles
    optima: Optima
    newton_certificates: ExistenceCertificates
    touched: BoolVector
    unmoved: BoolVector
    flat: BoolVector
    loose: BoolVector
    towards: IntVector
    is_plain: BoolVector

    @classmethod
    def of(
        cls, profiles: Profiles, grids: GridSource, optima: Optima, towards: IntVector
    ) -> DiagnosisBatch:
        """Compute the properties of all optima."""
        newton_certificates = ExistenceCertificates.of(profiles, optima.points)
        touched = np.asarray(optima.points.theta[:, profiles.positive] <= ZERO_WEIGHT_TOL)
        unmoved = np.asarray(optima.points.fisher.diagonal(0, 1, 2) <= 0)
        unmoved &= np.any(touched, axis=1, keepdims=True)
        flat = _have_flat_profile(grids)
        loose = _loose_parameters(profiles, optima)
        doubtful = touched.any(axis=1) | optima.at_bound.any(axis=1) | flat | loose.any(axis=1)
        doubtful |= prior_expectations_diverged(profiles, optima) | (towards >= 0)
        plain = newton_certificates.good & optima.converged & ~optima.kinked & ~doubtful
        return cls(
            profiles, optima, newton_certificates, touched, unmoved, flat, loose, towards, plain
        )

    def default_diagnosis(self, k: int) -> Diagnosis:
        """Diagnosis of a maximum that exists and was reached."""
        points, checks = (
            self.optima.points,
            self.newton_certificates.diagnostics(k, int(self.optima.n_steps[k])),
        )
        reached = float(points.log_likelihood[k])
        moved = ~self.unmoved[k]
        return Diagnosis("converged", REACHED, points.theta[k], moved, reached, checks)

    def diagnoses(self) -> list[Diagnosis]:
        """Diagnosis of every optimum."""
        proven = self.newton_certificates.good & self.optima.converged & (self.towards < 0)
        doubtful = np.flatnonzero(~self.is_plain & ~proven)
        looked_into = {
            k: _diagnose_weights(
                self.profiles.for_subject(k),
                (choices, slopes),
                self.optima[k],
                self.default_diagnosis(k),
                self._identified(k),
                int(self.towards[k]),
            )
            for k, choices, slopes in _choices_at(
                self.profiles, self.optima.points, doubtful, self.profiles.n_shape > 0
            )
        }
        return [
            self.default_diagnosis(k) if plain else self._diagnose(k, looked_into.get(k))
            for k, plain in enumerate(self.is_plain.tolist())
        ]

    def _identified(self, k: int) -> Identification | None:
        """Identification of one optimum, if certain and no prior or bound holds the weights."""
        if self.profiles.prior is not None or self.touched[k].any():
            return None
        return self.newton_certificates.identified(self.optima.points, k)

    def _diagnose(self, k: int, found: Diagnosis | None) -> Diagnosis:
        """Diagnosis with the worst status that applies.

        `found`: the diagnosis of the weights, if that is not plain.
        """
        profiles, optimum = self.profiles, self.optima[k]
        found = self.default_diagnosis(k) if found is None else found
        held = _bounds_reached(profiles, optimum, self.touched[k], self.unmoved[k])
        checks = replace(found.checks, bounds=held, iterations=optimum.n_steps)
        inner = found.status, found.message
        status, message = self._status_and_message(k, inner, held)
        if optimum.kinked and status not in WITHOUT_ESTIMATE:
            message = f"{message} {_kink_message()}"
        return replace(found, status=status, message=message, checks=checks)

    def _status_and_message(
        self, k: int, inner: tuple[Status, str], held: tuple[str, ...]
    ) -> tuple[Status, str]:
        # From the gravest: without finite weights psi means nothing; a ridge explains large errors.
        status, sentence = inner
        optimum = self.optima[k]
        names = " and ".join(shape.name for shape in self.profiles.shape)
        if status in ("not identified", "separated"):
            advice = separated_advice(sentence, self.profiles.for_subject(k))
            at = ", ".join(
                f"{s.name} {'near ' if q == self.towards[k] else '= '}{v:.4g}"
                for q, (s, v) in enumerate(zip(self.profiles.shape, optimum.point.psi, strict=True))
            )
            return status, f"{advice} (At {at}.)" if at else advice
        if status == "stopped early":
            solved = re.split(" Allow more| To be sure", sentence)[0]
            return status, (
                f"{solved} The choices hardly bound the weights: {prior_advice()}; until then this "
                "is not an estimate."
            )
        if not optimum.converged and not (
            self.loose[k].any() and _is_flat_ridge(self.profiles, optimum)
        ):
            return "stopped early", (
                f"The search over {names} stopped after {optimum.n_steps} steps before it reached "
                "a maximum. Look at `profile`."
            )
        if held:
            return "at a bound", bounds_message(self.profiles, optimum, held)
        if self.flat[k]:
            return "weakly identified", (
                f"The profile over {names} is flat: it varies by less than {INTERVAL_DROP} "
                "log-units over the whole range, so that every value is in the 95 % interval. "
                "Hold it fixed."
            )
        if self.loose[k].any():
            which = " and ".join(
                s.name for s, far in zip(self.profiles.shape, self.loose[k], strict=True) if far
            )
            return "weakly identified", (
                f"The profile has a ridge: {which} can move across its whole range while the other "
                f"parameters make up for it. {profile_interval_advice()}, or hold it fixed."
            )
        run_off = divergence_message(self.profiles, optimum)
        if status == "converged" and run_off:
            return "weakly identified", run_off
        return status, sentence


def _notes(profiles: Profiles, episodes: Sequence[Any], n_decisions: int) -> tuple[str, ...]:
    of_data = dict.fromkeys(note for e in episodes for note in e.notes)
    few = few_decisions_note(n_decisions, profiles.n_weights + profiles.n_shape)
    return (*of_data, *doubts_of(profiles.model, episodes), *few)


def _diagnose_weights(
    profiles: Profiles,
    described: tuple[Choices, Matrix | None],
    optimum: Optimum,
    found: Diagnosis,
    identified: Identification | None,
    towards: int,
) -> Diagnosis:
    """Diagnose weights that Newton's method alone does not certify.

    described : the decisions at the optimum, and derivatives of their variables
    towards : shape parameter to whose end the likelihood rises while weights diverge, or -1
    """
    choices, slopes = described
    has_prior = penalises_weights(profiles)
    solution = _inner_solution(profiles, choices, optimum, identified)
    # With weights so large even differences count that a linear program takes for 0.
    reached = optimum.point.log_likelihood
    if towards >= 0 and (solution.recession is None or solution.log_likelihood < reached):
        solution = separated_solution(solution, choices, optimum.point.theta, reached)
    checks = diagnostics_of(solution, choices, has_prior=has_prior)
    status, message = status_of(solution, checks, profiles.model.weights, has_prior)
    if status == "weakly identified":
        message = separated_advice(message, profiles)
    if status != "separated":
        return replace(found, status=status, message=message, weights=solution.theta, checks=checks)
    known = shape_identified_despite_separation(profiles, choices, slopes, solution)
    if towards >= 0:
        known[towards] = True
    return Diagnosis(status, message, solution.theta, known, solution.log_likelihood, checks)


def _inner_solution(
    profiles: Profiles, choices: Choices, optimum: Optimum, known: Identification | None
) -> Solution:
    """Solution of the weights at the best psi, with its existence decided.

    Where the prior penalises every direction of the weights a maximum exists, and no linear
    program is needed.
    """
    point = optimum.point
    decisions = ChoiceDecisions(choices, 1)
    identified = identify(decisions)
    near, ending = None, "converged"
    if has_unpenalised_direction(
        profiles, point.theta, np.asarray(decisions.likelihood.largest_values_and_differences)[1]
    ):
        found = _solve_weights(profiles, choices, known, point.theta)
        if not penalises_weights(profiles):
            finite = np.isfinite(found.theta).all()
            return replace(found, theta=point.theta, point=point.theta) if finite else found
        if found.recession is not None or found.ending == UNDECIDED:
            try:
                separated = unpenalised_separation(profiles, choices, found, point.theta)
            except UnsolvedProgramError:
                separated, ending = None, UNDECIDED
            if separated is not None:
                return replace(separated, log_likelihood=point.log_likelihood)
        near = near_unpenalised_separation(profiles, choices, point.theta, point.information)
    inverse, condition = scaled_inverse(point.information)
    return Solution(
        theta=point.theta,
        covariance=inverse,
        log_likelihood=point.log_likelihood,
        known=identified,
        ending=ending,
        decrement=float(optimum.optima.points.decrement[optimum.row]),
        n_steps=optimum.n_steps,
        condition=condition,
        point=point.theta,
        certainty=inverse,
        certificate="prior" if ending == "converged" else None,
        near=near,
    )


def _bounds_reached(
    profiles: Profiles, optimum: Optimum, touched: BoolVector, unmoved: BoolVector
) -> tuple[str, ...]:
    found = [
        f"{shape.name} = {(shape.high if upper else shape.low) if limit is None else limit.value:g}"
        for shape, upper, limit in bounds_reached(profiles.shape, optimum)
        if not unmoved[profiles.shape.index(shape)]
    ]
    if touched.any():
        assert profiles.limits is not None
        found += np.array(profiles.limits.labels)[touched].tolist()
    return tuple(found)


def _is_flat_ridge(profiles: Profiles, optimum: Optimum) -> bool:
    free = np.where(optimum.at_bound, 0.0, optimum.point.gradient)
    return bool(np.abs(free) @ np.ptp(profiles.bounds, axis=1) < MAX_RIDGE_GAIN)


def _have_flat_profile(grids: GridSource) -> BoolVector:
    """Whether whole grids lie within what a 95 % interval gives away."""
    flat = np.zeros(len(grids), dtype=bool)
    known, rows = evaluated_grids(grids)
    if known is None:
        return flat
    highest = np.fmax.reduce(known.values, axis=1, keepdims=True)
    # Cells outside the domain do not count; one that has fallen far decides for most subjects.
    fallen = (known.values <= highest - INTERVAL_DROP) & (known.values > -np.inf)
    some = np.flatnonzero(~fallen.any(axis=1))
    there = np.isfinite(known.values[some])
    flat[rows[some]] = np.count_nonzero(there, axis=1) > 1
    return flat


def _loose_parameters(profiles: Profiles, optima: Optima) -> BoolVector:
    """Shape parameters whose standard error, by the curvature, is as long as their range."""
    if not profiles.n_shape:
        return np.zeros((len(optima), 0), dtype=bool)
    values, vectors = np.linalg.eigh(optima.curvature)
    fine = values > 0
    lengths = np.where(fine, 1.0 / np.where(fine, values, 1.0), 1e300)
    variance = np.einsum("kab,kb->ka", vectors**2, lengths)
    return np.asarray(np.sqrt(variance) > np.ptp(profiles.bounds, axis=1))


def estimate_without_data(profiles: Profiles, subject: Label = None) -> Estimate:
    """Estimate before any decision."""
    d, n = profiles.n_weights, profiles.n_shape
    nowhere = Grid(
        np.zeros((0, n)), np.zeros(0), np.zeros((0, d)), (0,) * n, np.zeros(0, dtype=bool)
    )
    optimum = Optima.none(profiles, 1)[0]
    return _estimate(
        ModelSource(profiles.model, profiles.episodes, nowhere, optimum, profiles.prior),
        (*profiles.weights, *(shape.name for shape in profiles.shape)),
        "not identified",
        "No decision has been made that could tell anything. Observe some.",
        np.full(d + n, np.nan),
        np.full((d + n, d + n), np.nan),
        (0.0, 0.0),
        Diagnostics(0, (), (), 1, None, None, np.inf, 0, np.nan, None, ()),
        0,
        log_posterior=None,
        n_options=(0, 0),
        subject=subject,
    )
