"""`fit`: one estimate from the choices of one decision-maker, or of many taken together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.choices import Choices
from penchant.errors import (
    DataError,
    NotConvergedError,
    NotIdentifiedError,
    SeparationError,
    mark_argument,
    mark_quoted_argument,
)
from penchant.result_tables import pooled_notes
from penchant.softmax import estimate_diagnostics as words
from penchant.softmax.constraints import Constraints
from penchant.softmax.data_behind_estimate import Method
from penchant.softmax.decisions import ChoiceDecisions, Decisions
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_diagnostics import Combination, Diagnostics, Separation, Status
from penchant.softmax.identification import Identification, reduced_echelon
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.maximum_and_covariance import Solution, rescale_case_weights
from penchant.softmax.maximum_likelihood import Penalty, solve
from penchant.softmax.newton import SLOW_DECREMENT_TOL, UNDECIDED
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import log_probabilities

# Condition number of the scaled information. Beyond, half the digits of the standard errors are
# rounding, and users are told that the weights are weakly identified.
WEAK_CONDITION = 1e8


class FitEachOptions(TypedDict, total=False):
    """Options of a fit of choices, also of each subject; `penchant.fit` says what they are."""

    parameter_prior: ParameterPrior | None
    method: Literal["ml", "firth"]
    constraints: Constraints | None
    max_steps: int | None
    threads: int | None
    covariance: Literal["model", "robust", "clustered"]


class FitOptions(FitEachOptions, total=False):
    """Options of one fit of choices."""

    strict: bool
    start: Any


def fit_choices(
    choices: Choices,
    *,
    parameter_prior: ParameterPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    strict: bool = False,
    start: Any = None,
    max_steps: int | None = None,
    threads: int | None = None,
) -> Estimate:
    """Estimate theta from choices: maximum likelihood, Eq. (4), or MAP, Eq. (6)."""
    _check_arguments(choices, method, parameter_prior, constraints, max_steps)
    check_covariance(covariance)
    begin = checked_start(start, choices.n_parameters)
    penalty: Penalty | None = "firth" if method == "firth" else parameter_prior
    solution = solve(ChoiceDecisions(choices, threads), penalty, constraints, begin, max_steps)
    estimate = estimate_from(solution, choices, parameter_prior, method, constraints)
    if strict:
        raise_unless_usable(estimate)
    return with_covariance(estimate, covariance)


def check_covariance(kind: str) -> None:
    """Whether there is such a covariance."""
    check_one_of(kind, "covariance", ("model", "robust", "clustered"))


def with_covariance(estimate: Estimate, kind: str) -> Estimate:
    """The covariance asked for; none where there is no finite estimate to compute it at."""
    if kind == "model":
        return estimate
    if not np.isfinite(estimate.theta).all():
        nothing = np.full_like(estimate.covariance, np.nan)
        return dataclasses.replace(estimate, covariance=nothing, covariance_kind=kind)
    return estimate.robust() if kind == "robust" else estimate.clustered()


def _check_arguments(
    choices: Any,
    method: str,
    prior: ParameterPrior | None,
    constraints: Constraints | None,
    max_steps: int | None,
) -> None:
    if not isinstance(choices, Choices):
        raise TypeError(
            f"choices must be Choices; got {type(choices).__name__}. "
            "Make them with Choices.from_arrays or Choices.from_frame."
        )
    if not choices.observed:
        raise DataError(
            "choices",
            "must say what was chosen",
            got="sets without",
            fix=f"Pass {mark_quoted_argument('chosen')}.",
        )
    check_one_of(method, "method", ("ml", "firth"))
    if method == "firth" and (prior is not None or constraints is not None):
        raise DataError(
            mark_argument("method", "firth"),
            "must stand alone",
            got="a parameter_prior or constraints besides",
            fix="Drop one.",
        )
    if constraints is not None and constraints.matrix.shape[1] != choices.n_parameters:
        raise DataError(
            "constraints",
            f"must have {choices.n_parameters} columns",
            got=constraints.matrix.shape[1],
            fix="Match the variables.",
        )
    if max_steps is not None and max_steps < 1:
        raise DataError("max_steps", "must be at least 1", got=f"{max_steps}. 100 is the default")


def checked_start(start: Any, n_parameters: int) -> Vector | None:
    """Start as an array, after a check."""
    if start is None:
        return None
    begin = np.asarray(start, dtype=np.float64)
    if begin.shape != (n_parameters,) or not np.isfinite(begin).all():
        raise DataError(
            "start",
            f"must hold {n_parameters} finite numbers",
            got=repr(start),
            fix="Leave it out: the answer does not depend on it.",
        )
    return begin


def estimate_from(
    solution: Solution,
    choices: Choices,
    prior: ParameterPrior | None = None,
    method: str = "ml",
    constraints: Constraints | None = None,
    subject: Label = None,
) -> Estimate:
    """Build the user's estimate from a solution and its choices."""
    sizes, people = choices.n_options, choices.subject
    summary = DataSummary(
        names=choices.names,
        n_decisions=choices.n_decisions,
        total_weight=choices.total_weight,
        n_options=(int(sizes.min()), int(sizes.max())),
        n_subjects=1 if people is None else len(np.unique(people)),
        null_log_likelihood=null_log_likelihood(choices),
        notes=choices.notes,
    )
    quadratic = None
    if prior is not None:
        quadratic = prior.quadratic(choices.n_parameters, solution.identified_part.scale)
    source = ChoiceSource(
        choices, solution.identified_part.scale, quadratic, constraints, choices.natural
    )
    separation = separation_of(solution, ChoiceDecisions(choices))
    found = build_estimate(solution, summary, separation, source, prior, method, constraints)
    return found if subject is None else replace(found, subject=subject)


@dataclass(frozen=True)
class DataSummary:
    """Facts about the data that an estimate reports."""

    names: tuple[str, ...]
    n_decisions: int
    total_weight: float
    n_options: tuple[int, int]
    n_subjects: int
    null_log_likelihood: float
    notes: tuple[str, ...]


def build_estimate(
    solution: Solution,
    summary: DataSummary,
    separation: Separation | None,
    source: ChoiceSource,
    prior: ParameterPrior | None = None,
    method: str = "ml",
    constraints: Constraints | None = None,
) -> Estimate:
    """Build the estimate from a solution and a summary of the data."""
    has_prior, most = prior is not None, summary.n_options[1]
    checks = _diagnostics(solution, summary.names, most, separation, constraints, has_prior)
    status, message = status_of(solution, checks, summary.names, has_prior)
    if constraints is not None and status == "not identified":
        message += " The constraints were not applied."
    covariance = solution.covariance
    if status == "stopped early":  # not at a maximum: the curvature is no standard error
        covariance = np.full_like(covariance, np.nan)
    label: Method = "maximum likelihood"
    if prior is not None:
        label = "MAP"
    elif method == "firth":
        label = "Firth"
    return Estimate(
        status=status,
        message=message,
        names=summary.names,
        theta=solution.theta,
        covariance=covariance,
        inverse_information=covariance,
        log_likelihood=solution.log_likelihood,
        null_log_likelihood=summary.null_log_likelihood,
        log_posterior=solution.log_posterior,
        diagnostics=checks,
        n_decisions=summary.n_decisions,
        total_weight=summary.total_weight,
        n_options=summary.n_options,
        source=source,
        method=label,
        prior=None if prior is None else str(prior),
        notes=(*pooled_notes(summary.n_subjects), *summary.notes),
        n_subjects=summary.n_subjects,
    )


def null_log_likelihood(choices: Choices) -> float:
    """Log-likelihood at theta = 0."""
    choices, unit = rescale_case_weights(choices)
    if choices.offset is None:  # exact: sets of m options contribute -log m
        counts = np.bincount(choices.n_options, choices.weights)
        return -float(counts[1:] @ np.log(np.arange(1, len(counts)))) * unit
    weights = np.ones(choices.n_decisions) if choices.weights is None else choices.weights
    log_p = log_probabilities(np.zeros(choices.n_parameters), choices)
    return float(weights @ log_p[choices.chosen_row]) * unit


def diagnostics_of(
    solution: Solution,
    choices: Choices,
    constraints: Constraints | None = None,
    has_prior: bool = False,
) -> Diagnostics:
    """Diagnostics with the names of the variables."""
    most = int(choices.n_options.max())
    separation = separation_of(solution, ChoiceDecisions(choices))
    return _diagnostics(solution, choices.names, most, separation, constraints, has_prior)


def _diagnostics(
    solution: Solution,
    names: tuple[str, ...],
    most_options: int,
    separation: Separation | None,
    constraints: Constraints | None,
    has_prior: bool,
) -> Diagnostics:
    known = solution.identified_part
    missing = len(names) - known.rank
    largest_set = max(most_options, 2)
    bounds: tuple[str, ...] = ()
    if solution.active is not None and constraints is not None:
        bounds = tuple(np.array(constraints.labels)[solution.active].tolist())
    return Diagnostics(
        rank=known.rank,
        null_directions=tuple(nonzero_direction_by_name(v, names) for v in known.null_directions),
        combinations=_estimable_combinations(solution, names) if missing and not has_prior else (),
        # users ask how many decisions they need: a set of m options adds at most m - 1 directions
        decisions_needed=-(-missing // (largest_set - 1)),
        separation=separation,
        near_separation=None
        if solution.near_separation_direction is None
        else nonzero_direction_by_name(solution.near_separation_direction, names),
        condition=solution.condition,
        iterations=solution.n_steps,
        decrement=solution.decrement,
        certificate=solution.certificate,
        bounds=bounds,
    )


def nonzero_direction_by_name(direction: Vector, names: tuple[str, ...]) -> Mapping[str, float]:
    """Entries of a direction that are not 0, by name; the largest is 1."""
    size = np.abs(direction).max()
    return {name: float(v / size) for name, v in zip(names, direction, strict=True) if v != 0}


def _estimable_combinations(solution: Solution, names: tuple[str, ...]) -> tuple[Combination, ...]:
    """Estimable combinations that are not single parameters."""
    if solution.recession is not None or not solution.identified_part.rank:
        return ()
    rows = _combinations_unchanged_by_null(solution.identified_part)
    found = []
    for row in rows[(rows != 0).sum(axis=1) > 1]:
        error = float(np.sqrt(row @ solution.unblanked_covariance @ row))
        found.append(
            Combination(
                _nonzero_entries_by_name(row, names), float(row @ solution.finite_theta), error
            )
        )
    return tuple(found)


def _nonzero_entries_by_name(row: Vector, names: tuple[str, ...]) -> Mapping[str, float]:
    return {name: float(v) for name, v in zip(names, row, strict=True) if v != 0}


def _combinations_unchanged_by_null(known: Identification) -> Matrix:
    """Echelon basis of the combinations that no null direction changes."""
    null = known.null_directions
    _, _, right = np.linalg.svd(null / np.linalg.norm(null, axis=1, keepdims=True))
    return reduced_echelon(right[len(null) :])


def separation_of(solution: Solution, decisions: Decisions) -> Separation | None:
    """Separating direction and the decisions that it resolves; None without separation."""
    if solution.recession is None or solution.vanishing_options is None:
        return None
    counts = decisions.count_vanishing_options(solution.vanishing_options)
    return Separation(
        kind="complete" if counts.n_vanishing == counts.n_possible else "quasi-complete",
        direction=nonzero_direction_by_name(solution.recession, decisions.names),
        supremum=solution.log_likelihood,
        n_resolved=counts.n_decisions,
    )


def status_of(
    solution: Solution, checks: Diagnostics, names: tuple[str, ...], has_prior: bool
) -> tuple[Status, str]:
    """Status of the solution and its sentence; of several problems, the gravest one."""
    if checks.rank < len(names) and not has_prior:
        sentence = words.not_identified_sentence(
            checks.rank, len(names), checks.null_directions, checks.decisions_needed
        )
        return "not identified", sentence
    if checks.separation is not None:
        return "separated", words.separated_sentence(checks.separation)
    if solution.ending == UNDECIDED:
        return "stopped early", words.undecided_existence_sentence()
    # a decrement this small is as good as converged: rounding kept the last steps up
    if solution.ending != "converged" and not solution.decrement < SLOW_DECREMENT_TOL:
        return "stopped early", words.stopped_early_sentence(solution.n_steps, solution.decrement)
    if checks.bounds:
        return "at a bound", words.active_bounds_sentence(checks.bounds)
    if checks.near_separation is not None:
        return "weakly identified", words.near_separation_sentence(checks.near_separation)
    if checks.condition > WEAK_CONDITION and not has_prior:
        weak = _weakest_variables(solution, names)
        return "weakly identified", words.weakly_identified_sentence(checks.condition, weak)
    return "converged", "The maximum exists and was reached."


def _weakest_variables(solution: Solution, names: tuple[str, ...]) -> list[str]:
    """Variables in the least certain direction, in standard units."""
    scale = solution.identified_part.scale
    if not np.isfinite(solution.unblanked_covariance).all():
        return list(names)
    _, vectors = np.linalg.eigh(solution.unblanked_covariance * np.outer(scale, scale))
    size = np.abs(vectors[:, -1])
    # a tenth of the largest: smaller parts would bury the variables that matter in the message
    return [name for name, s in zip(names, size, strict=True) if s > 0.1 * size.max()]


def raise_unless_usable(estimate: Any) -> None:
    """Raise what `strict=True` promises."""
    if estimate.status == "not identified":
        raise NotIdentifiedError(estimate.message)
    if estimate.status == "separated":
        raise SeparationError(estimate.message)
    if estimate.status in ("stopped early", "weakly identified"):
        raise NotConvergedError(estimate.message)
