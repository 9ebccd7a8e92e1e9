"""Estimate of theta from decisions, or proof that there is none: Eqs. (4) and (6), Firth's penalty.

The plan of maximum likelihood: identification, Newton's method, a proof of existence from its last
iterate, and only where that fails a linear program for separation and the slower method of
`newton_without_cancellation`. A prior or a penalty makes sure of a maximum. Decisions may be in
memory or in chunks: see `decisions`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.softmax.constraints import (
    Constraints,
    maximise_constrained,
    solution_from_constrained_maximum,
    solve_constrained,
)
from penchant.softmax.decisions import ChoiceDecisions, Decisions
from penchant.softmax.estimate_diagnostics import Certificate
from penchant.softmax.identification import Identification, identify_from_scatter
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.maximum_and_covariance import (
    Solution,
    check_variable_magnitudes,
    inverse_and_condition,
    nan_unless_kept,
    penalised_solution,
    quadratic_in_unit,
    solution_in_given_weights,
    unidentified_solution,
)
from penchant.softmax.newton import UNDECIDED, Maximum, Quadratic, RestrictedLikelihood, maximise
from penchant.softmax.newton_without_cancellation import newton_without_cancellation
from penchant.softmax.prior import ParameterPrior, maximise_firth
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    Recession,
    RecessionCone,
    UnsolvedProgramError,
    combine_directions,
    direction_without_rounding_noise,
    find_recession,
    is_maximum_certified,
    is_separated,
    may_depend_on_small_differences,
    theta_and_covariance_in_limit,
)

Penalty = ParameterPrior | Literal["firth"]
MAX_NEWTON_STEPS = 100  # ordinary fits take 5 to 20; large offsets and weights begin far out
MAX_FIRTH_STEPS = 2000  # scoring converges linearly where choices are nearly separated


def solve(
    decisions: Decisions,
    penalty: Penalty | None = None,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int | None = None,
) -> Solution:
    """Solve for theta: maximum likelihood, or with a penalty the maximum of the two together.

    Parameters
    ----------
    penalty
        A prior, or "firth" for the penalty that removes the first-order bias, which stands alone.
    constraints
        Inequalities that theta satisfies.
    start
        Where Newton's method begins; the answer does not depend on it.
    max_steps
        Newton steps; 100 if not given, and 2000 for Firth's penalty.
    """
    if penalty == "firth":
        assert isinstance(decisions, ChoiceDecisions) and constraints is None
        # not in units of weights: these would change the balance of likelihood and penalty
        return _solve_firth(decisions, max_steps or MAX_FIRTH_STEPS)
    work, unit = decisions.with_unit_mean_weights_and_unit
    steps = max_steps or MAX_NEWTON_STEPS
    if penalty is None:
        found = _maximum_likelihood(work, constraints, start, steps)
    else:
        found = _maximum_a_posteriori(work, penalty, constraints, start, steps, unit)
    return solution_in_given_weights(found, unit)


def identify(decisions: Decisions) -> Identification:
    """Rank and coordinates of the identified part of theta."""
    likelihood = decisions.likelihood
    largest = likelihood.largest_values_and_differences
    check_variable_magnitudes(largest, decisions.names)
    return identify_from_scatter(decisions, likelihood.scatter_within_sets(), largest)


def _maximum_likelihood(
    decisions: Decisions,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = MAX_NEWTON_STEPS,
) -> Solution:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    known = identify(decisions)
    if known.rank == 0:
        return unidentified_solution(decisions.likelihood, known)
    applied = (
        None
        if constraints is None
        else constraints.unaffected_by_null_directions(known.null_directions)
    )
    if constraints is not None and applied is not None:
        return _solve_inside_constraints(decisions, known, (constraints, applied), start, max_steps)
    basis = known.basis
    inner = decisions if basis is None else decisions.in_coordinates(basis)
    begin = inner.start() if start is None else start_in_basis(basis, start)
    maximum = maximise(inner.likelihood, start=begin, max_steps=max_steps)
    inverse = inverse_and_condition(maximum.information)
    if is_maximum_certified(maximum, inner.likelihood, inverse[0], decisions.total_weight):
        near = near_separation(decisions, known, inner.likelihood, maximum)
        return finite_solution(known, maximum, inverse, "newton", near)
    return _solve_without_newton_certificate(decisions, known, inner, maximum, max_steps)


def _solve_without_newton_certificate(
    decisions: Decisions,
    known: Identification,
    inner: Decisions,
    maximum: Maximum,
    max_steps: int,
) -> Solution:
    """Maximum-likelihood estimate where Newton's method does not prove that there is one."""
    try:
        found, decided = find_recession(decisions.recession_cone(known.scale, known.basis)), True
    except UnsolvedProgramError:
        found, decided = None, False
    if found is not None and found.proven:
        return _separated_solution(decisions, known, found)
    # separated only within the linear program's tolerance, or no maximum proven: look closer
    stable = newton_without_cancellation(
        inner.stable_likelihood, maximum.theta, max_steps, maximum.n_steps
    )
    if found is not None and not stable.proves_maximum:
        return _separated_solution(decisions, known, found)
    if stable.settled or maximum.ending != "converged":
        maximum = stable.maximum()
    if not decided and not stable.proves_maximum:
        maximum = replace(maximum, ending=UNDECIDED)
    near = near_separation(decisions, known, inner.likelihood, maximum)
    inverse = inverse_and_condition(maximum.information)
    proof: Certificate = "linear program" if decided else "newton"
    return finite_solution(known, maximum, inverse, proof, near)


def _solve_inside_constraints(
    decisions: Decisions,
    known: Identification,
    both: tuple[Constraints, Constraints],
    start: Vector | None,
    max_steps: int,
) -> Solution:
    """Maximum inside constraints; `both` are all of these, and those on identified parameters."""
    constraints, applied = both
    near = None
    # with offsets the search inside constraints may start where every choice is certain: the free
    # maximum is the answer or a better start
    if decisions.has_offset and known.basis is None:
        free = _maximum_likelihood(decisions, None, start, max_steps)
        if _is_strictly_inside(free, constraints):
            return replace(free, active=np.zeros(len(constraints.bound), dtype=bool))
        near = free.theta if np.isfinite(free.theta).all() else None
    return solve_constrained(decisions, known, constraints, applied, max_steps, near)


def solve_if_separated(decisions: Decisions, known: Identification) -> Solution | None:
    """Maximum-likelihood solution if a direction separates to the last digits; else None.

    Quicker than `solve` for data on which Newton's method is known to diverge. `known` is the
    identification of the decisions.
    """
    try:
        found = find_recession(decisions.recession_cone(known.scale, known.basis))
    except UnsolvedProgramError:
        return None
    if found is None or not found.proven:
        return None
    return _separated_solution(decisions, known, found)


def _is_strictly_inside(free: Solution, constraints: Constraints) -> bool:
    """Whether a maximum without constraints is one with them: it touches none."""
    theta = free.theta
    if free.certificate is None or not np.isfinite(theta).all():
        return False
    room = constraints.matrix @ theta - constraints.bound
    # strictly inside, by more than rounding and the error of the maximum
    return bool((room > 1e-9 * (np.abs(constraints.matrix) @ np.abs(theta))).all())


def has_maximum(
    decisions: Decisions,
    constraints: Constraints | None = None,
    known: Identification | None = None,
) -> bool:
    """Whether the likelihood has one maximum: all weights are identified, and none diverges.

    `known` is the identification of the decisions, if it was computed before.
    """
    known = identify(decisions) if known is None else known
    if not known.complete:
        return False
    allowed = None if constraints is None else constraints.matrix
    return not is_separated(decisions.recession_cone(known.scale, constraint_rows=allowed))


def near_separation(
    decisions: Decisions, known: Identification, likelihood: Likelihood, maximum: Maximum
) -> Vector | None:
    """Direction that separates all but negligible differences, by which alone a maximum exists.

    `likelihood` is that of the maximum, perhaps in other coordinates than the decisions. None also
    where the linear program fails. Bounds from cheap to sharp come first.
    """
    if not known.complete:
        return None
    if known.basis is None:  # else the variables of the likelihood are not those of the decisions
        largest = likelihood.largest_values_and_differences[1]
        bounds = largest[None], maximum.information[None]
        most = NEGLIGIBLE_DIFFERENCE * np.array([decisions.total_weight])
        if not may_depend_on_small_differences(most, *bounds)[0]:
            return None
        if not may_depend_on_small_differences(
            decisions.small_difference_bound(maximum.theta), *bounds
        )[0]:
            return None
    limit = NEGLIGIBLE_DIFFERENCE * decisions.large_difference_quantile(known.scale)
    plain = decisions.with_small_differences_zeroed(limit)
    if plain is None or (known.basis is None and _has_certified_maximum(plain, maximum.theta)):
        return None
    try:
        found = find_recession(plain.recession_cone(known.scale))
    # the maximum is proven; only the warning of near separation is lost
    except UnsolvedProgramError:
        return None
    return None if found is None else found.direction


def _has_certified_maximum(decisions: Decisions, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    maximum = maximise(decisions.likelihood, start=start)
    covariance, _ = inverse_and_condition(maximum.information)
    return is_maximum_certified(maximum, decisions.likelihood, covariance, decisions.total_weight)


def start_in_basis(basis: Matrix | None, start: Vector) -> Vector:
    """Start in coordinates of the basis."""
    return start if basis is None else np.asarray(np.linalg.lstsq(basis, start, rcond=None)[0])


def finite_solution(
    known: Identification,
    maximum: Maximum,
    covariance_and_condition: tuple[Matrix, float],
    proof: Certificate,
    near_separation_direction: Vector | None,
) -> Solution:
    """Solution of a finite maximum, in the user's coordinates."""
    covariance, condition = covariance_and_condition
    theta = maximum.theta
    if known.basis is not None:
        theta = known.basis @ theta
        covariance = known.basis @ covariance @ known.basis.T
        condition = max(condition, _correlation_condition_number(covariance, known))
    shown, blanked = nan_unless_kept(theta, covariance, known.identified)
    return Solution(
        theta=shown,
        covariance=blanked,
        log_likelihood=maximum.value,
        identified_part=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        near_separation_direction=near_separation_direction,
        finite_theta=theta,
        unblanked_covariance=covariance,
    )


def _correlation_condition_number(covariance: Matrix, known: Identification) -> float:
    """Condition number of the correlation of the parameters, where all are identified."""
    if not known.complete:
        return 1.0
    if not np.isfinite(covariance).all():
        return np.inf
    sd = np.sqrt(np.diag(covariance))
    singular = np.linalg.svd(covariance / np.outer(sd, sd), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf


def _separated_solution(decisions: Decisions, known: Identification, found: Recession) -> Solution:
    """Limit along the recession direction: the fit to the options that it does not resolve."""

    @cache
    def cone() -> RecessionCone:  # in theta, computed where it is needed
        in_theta = found.cone if known.basis is None else decisions.recession_cone(known.scale)
        assert in_theta is not None  # some option differs, or no direction would have been found
        return in_theta

    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = direction_without_rounding_noise(direction, known)
    # what is left may be separated again
    rest = _maximum_likelihood(decisions.without_vanishing_options(found.resolved))
    resolved = found.resolved
    if rest.recession is not None and rest.vanishing_options is not None:
        resolved = resolved | rest.vanishing_options
        direction = combine_directions(cone(), direction, rest.recession)
    theta, covariance = theta_and_covariance_in_limit(cone, known, direction, rest)
    return replace(
        rest,
        theta=theta,
        covariance=covariance,
        identified_part=known,
        certificate="linear program",
        recession=direction,
        vanishing_options=resolved,
        near_separation_direction=None,
        condition=np.inf,
    )


def _maximum_a_posteriori(
    decisions: Decisions,
    prior: ParameterPrior,
    constraints: Constraints | None,
    start: Vector | None,
    max_steps: int,
    unit: float,
) -> Solution:
    """MAP estimate with a Gaussian prior, Eq. (6): it always exists.

    The weights of the decisions are in units of `unit`; the prior is not.
    """
    known = identify(decisions)
    d = len(known.scale)
    quadratic = quadratic_in_unit(prior.quadratic(d, known.scale), unit)
    basis = _basis_with_prior_directions(known, quadratic)
    work: Likelihood = RestrictedLikelihood(decisions.likelihood, np.zeros(d), basis)
    if known.basis is not None:
        work = decisions.in_coordinates(basis, known.rank).likelihood
    within = quadratic.restricted_to(np.zeros(d), basis)
    if constraints is not None:
        inside = constraints.restricted_to(np.zeros(d), basis)
        assert inside is not None  # a basis of the whole space leaves no constraint out
        maximum, active = maximise_constrained(work, inside, within, max_steps)
        return replace(
            solution_from_constrained_maximum(known, maximum, inside, active, basis),
            log_likelihood=maximum.value - within(maximum.theta),
            log_posterior=maximum.value,
            certificate="prior",
        )
    near = decisions.start() if start is None else start
    begin = None if near is None else np.asarray(np.linalg.solve(basis, near), np.float64)
    maximum = maximise(work, within, begin, max_steps, ignore_slow_steps=True)
    solution = penalised_solution(maximum.value - within(maximum.theta), known, maximum, "prior")
    theta = basis @ maximum.theta
    covariance = basis @ solution.covariance @ basis.T
    return replace(
        solution,
        theta=theta,
        covariance=covariance,
        finite_theta=theta,
        unblanked_covariance=covariance,
    )


def _basis_with_prior_directions(known: Identification, quadratic: Quadratic) -> Matrix:
    """Coordinates for all of theta: identified directions, then those the prior decides."""
    d = len(known.scale)
    if known.basis is None:
        return np.eye(d)
    null = known.null_directions
    # scaled to prior standard deviations, so that the whole problem is well conditioned
    size = np.sqrt(np.einsum("na,ac,nc->n", null, quadratic.precision, null))
    return np.hstack([known.basis, (null / size[:, None]).T])


def _solve_firth(decisions: ChoiceDecisions, max_steps: int) -> Solution:
    """Firth's estimate: finite whenever theta is identified."""
    known = identify(decisions)
    if known.rank == 0:
        return unidentified_solution(decisions.likelihood, known)
    # well conditioned without a basis: new coordinates would only cost a copy of the data
    work = decisions if known.basis is None else decisions.in_coordinates(known.basis)
    likelihood = work.likelihood
    begin = _firth_start(work)
    maximum = maximise_firth(work.choices, likelihood, begin, max_steps=max_steps)
    at_maximum = likelihood.moments(maximum.theta).log_likelihood
    solution = penalised_solution(at_maximum, known, maximum, "penalty")
    if known.basis is None:
        return solution
    point = known.basis @ solution.finite_theta
    certainty = known.basis @ solution.unblanked_covariance @ known.basis.T
    theta, covariance = nan_unless_kept(point, certainty, known.identified)
    # det I changes by a constant with the coordinates, which moves no maximum.
    shift = float(np.linalg.slogdet(known.basis)[1]) if known.complete else 0.0
    posterior = None if solution.log_posterior is None else solution.log_posterior - shift
    return replace(
        solution,
        theta=theta,
        covariance=covariance,
        finite_theta=point,
        unblanked_covariance=certainty,
        log_posterior=posterior,
    )


def _firth_start(decisions: ChoiceDecisions) -> Vector | None:
    """Start of Firth's search: None for 0, or the ML estimate if offsets leave 0 no information."""
    if not decisions.has_offset:
        return None
    at_zero = decisions.likelihood.moments(np.zeros(decisions.likelihood.n_parameters))
    if np.isfinite(inverse_and_condition(at_zero.information)[0]).all():
        return None
    found = _maximum_likelihood(decisions).theta
    return found if np.isfinite(found).all() else None
