"""Existence of a finite maximum of the weights at given shape parameters.

The last Newton step certifies most maxima; linear programs decide the others (Albert & Anderson
1984 on separation; see `softmax.separation`). Under a density of natural parameters only directions
of the weights along which all densities are flat can separate the choices.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile.inner_problems import InnerSolutions, scored_choices_of_pair
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.local_maxima import Optima
from penchant.models.parameters import Parameter
from penchant.models.priors import DensityPrior, Prior
from penchant.softmax import separation as separating
from penchant.softmax.constraints import null_basis
from penchant.softmax.decisions import ChoiceDecisions
from penchant.softmax.estimate_diagnostics import Diagnostics
from penchant.softmax.fit import WEAK_CONDITION
from penchant.softmax.fit_each import Batch, are_maxima_proven_and_identified
from penchant.softmax.identification import Identification
from penchant.softmax.maximum_and_covariance import (
    Solution,
    check_variable_magnitudes,
    inverse_and_condition,
)
from penchant.softmax.maximum_likelihood import has_maximum, identify, solve, solve_if_separated
from penchant.softmax.newton import UNDECIDED
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    UnsolvedProgramError,
    are_maxima_proven_to_exist,
    direction_without_rounding_noise,
)


@dataclass(frozen=True)
class ExistenceCertificates:
    """Certificates by Newton's method about the weights of each subject at one psi.

    Attributes
    ----------
    exists
        The maximum exists, is reached, and all weights are identified.
    is_fully_certified
        Besides, it does not rest on negligible differences; where not, linear programs decide.
    identified_all
        All weights are identified for certain, whether there is a maximum or not.
    """

    exists: BoolVector
    is_fully_certified: BoolVector
    identified_all: BoolVector
    conditions: Vector
    decrement: Vector
    n_weights: int
    prior: Prior | None

    @classmethod
    def certify_by_newton_steps(
        cls,
        profiles: ProfileProblems,
        points: InnerSolutions,
        check_negligible_differences: bool = True,
    ) -> ExistenceCertificates:
        """Certify by the last Newton steps, and fully where `check_negligible_differences`."""
        check_variable_magnitudes(points.largest.max(axis=0, initial=0.0), profiles.weights)
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
        good = inside & are_maxima_proven_and_identified(
            batch, covariances, conditions, totals, profiles.prior is not None
        )
        identified_all = batch.surely_identified
        exists = inside & batch.converged & identified_all
        with np.errstate(invalid="ignore"):
            exists &= are_maxima_proven_to_exist(
                batch.largest_values_by_variable[:, 1], covariances, batch.decrement, totals
            )
        doubtful = np.flatnonzero(exists & ~good & (conditions <= WEAK_CONDITION))
        if check_negligible_differences and len(doubtful) and profiles.prior is None:
            plain = profiles.without_small_differences(points.take(doubtful), NEGLIGIBLE_DIFFERENCE)
            good[doubtful] = plain.converged & are_maxima_proven_to_exist(
                plain.largest_values_by_variable[:, 1],
                plain.covariances()[0],
                plain.decrement,
                totals[doubtful],
            )
        return cls(exists, good, identified_all, conditions, points.decrement, d, profiles.prior)

    def identification_of_point(self, points: InnerSolutions, k: int) -> Identification | None:
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


def lacks_finite_maximum(profiles: ProfileProblems, points: InnerSolutions) -> BoolVector:
    """Whether the weights have no finite maximum at the best psi of the grid."""
    lost = np.zeros(len(points), dtype=bool)
    if profiles.prior is not None:
        return lost
    newton_certificates = ExistenceCertificates.certify_by_newton_steps(
        profiles, points, check_negligible_differences=False
    )
    doubtful = np.flatnonzero(~newton_certificates.exists)
    for k, choices, _ in choices_at(profiles, points, doubtful, False):
        # An undecided program is no failure: the search goes on, and its end is checked again.
        with suppress(UnsolvedProgramError):
            known = newton_certificates.identification_of_point(points, k)
            lost[k] = not has_maximum(
                ChoiceDecisions(choices, 1), profiles.positive_weight_constraints, known
            )
    return lost


def choices_at(
    profiles: ProfileProblems, points: InnerSolutions, which: IntVector, with_derivatives: bool
) -> Iterator[tuple[int, Choices, Matrix | None]]:
    """Yield the decisions of some points with their variables, computed in one call.

    If asked for, with the derivatives of the variables: (n_shape, n_decisions, n_options,
    n_weights).
    """
    subject, psi = points.subject[which], points.psi[which]
    for begin, end in profiles.portions(subject) if len(which) else ():
        x, slopes = profiles.variables(subject[begin:end], psi[begin:end], with_derivatives)
        rows = profiles.decision_index(subject[begin:end])
        profiles.check_finite(x, rows)
        for i, k in enumerate(which[begin:end].tolist()):
            steep = None if slopes is None else slopes[:, rows.scored_events(i)]
            yield k, scored_choices_of_pair(i, rows, x, profiles.weights), steep


def weight_solution_at_optimum(
    profiles: ProfileProblems, choices: Choices, optimum: Optima, known: Identification | None
) -> Solution:
    """Solution of the weights at the best psi, with its existence decided.

    Where the prior penalises every direction of the weights a maximum exists, and no linear
    program is needed.
    """
    theta, information = optimum.points.theta[0], optimum.points.information[0]
    log_likelihood = float(optimum.points.log_likelihood[0])
    decisions = ChoiceDecisions(choices, 1)
    identified = identify(decisions)
    near, ending = None, "converged"
    if has_unpenalised_direction(
        profiles, theta, np.asarray(decisions.likelihood.largest_values_and_differences)[1]
    ):
        found = _solve_weights(profiles, choices, known, theta)
        if not penalises_weights(profiles):
            finite = np.isfinite(found.theta).all()
            return replace(found, theta=theta, finite_theta=theta) if finite else found
        if found.recession is not None or found.ending == UNDECIDED:
            try:
                separated = unpenalised_separation(profiles, choices, found, theta)
            except UnsolvedProgramError:
                separated, ending = None, UNDECIDED
            if separated is not None:
                return replace(separated, log_likelihood=log_likelihood)
        near = near_unpenalised_separation(profiles, choices, theta, information)
    inverse, condition = inverse_and_condition(information)
    return Solution(
        theta=theta,
        covariance=inverse,
        log_likelihood=log_likelihood,
        identified_part=identified,
        ending=ending,
        decrement=float(optimum.points.decrement[0]),
        n_steps=int(optimum.n_steps[0]),
        condition=condition,
        finite_theta=theta,
        unblanked_covariance=inverse,
        certificate="prior" if ending == "converged" else None,
        near_separation_direction=near,
    )


def _solve_weights(
    profiles: ProfileProblems, choices: Choices, known: Identification | None, near: Vector
) -> Solution:
    """Solve the weights at one psi; separation counts only along allowed directions.

    `known`: the identification, if certain; `near`: where Newton's method ended.
    """
    decisions = ChoiceDecisions(choices, 1)
    found = None if known is None else solve_if_separated(decisions, known)
    if found is None:
        start = near if known is not None and np.isfinite(near).all() else None
        found = solve(decisions, start=start)
    # Separated weights are infinite: -inf is not allowed, and needs the constrained solver.
    allowed = bool((found.theta[profiles.positive] > 0).all())
    if found.recession is None or allowed:
        return found
    return solve(decisions, constraints=profiles.positive_weight_constraints)


def has_prior_density(profiles: ProfileProblems, natural: Parameter) -> bool:
    """Whether the prior has a density of a parameter, or of the weight that stands for a ratio."""
    assert isinstance(profiles.prior, DensityPrior)
    names = [natural.name]
    if natural.is_ratio:
        names.append(profiles.model.weights[natural.index])
    return any(map(profiles.prior.holds, names))


def penalises_weights(profiles: ProfileProblems) -> bool:
    """Whether the prior penalises any weight."""
    prior = profiles.prior
    if prior is None or not isinstance(prior, DensityPrior):
        return prior is not None
    return len(flat_prior_constraints(profiles, np.ones(len(profiles.model.weights)))) > 0


def has_unpenalised_direction(profiles: ProfileProblems, theta: Vector, largest: Vector) -> bool:
    """Whether the prior is flat along some direction of the weights, or there is no prior."""
    if profiles.prior is None or not isinstance(profiles.prior, DensityPrior):
        return profiles.prior is None
    unit = np.where(largest > 0, largest, 1.0)
    return bool(null_basis(flat_prior_constraints(profiles, theta) / unit, len(theta)).shape[1])


def flat_prior_constraints(profiles: ProfileProblems, theta: Vector) -> Matrix:
    """Rows c with c'v = 0 for directions v of the weights along which all densities are flat.

    A ratio stays where its weights grow in proportion.
    """
    rows = []
    d = len(theta)
    assert isinstance(profiles.prior, DensityPrior)
    for natural in profiles.natural:
        if natural.is_shape or not has_prior_density(profiles, natural):
            continue
        row = natural.denominator(theta) * np.eye(d)[natural.index]
        for other in natural.weights[1:]:
            row = row - theta[natural.index] * np.eye(d)[other]
        rows.append(row)
    return np.array(rows).reshape(-1, d)


def unpenalised_separation(
    profiles: ProfileProblems, choices: Choices, found: Solution, theta: Vector
) -> Solution | None:
    """Solution separated along directions on which the prior is flat, or None.

    `found`: the solution without the prior; `theta`: where Newton's method ended. Raises
    `UnsolvedProgramError` where that could not be decided.
    """
    cone = _flat_prior_cone_rows(profiles, flat_prior_constraints(profiles, theta))
    decisions = ChoiceDecisions(choices, 1)
    known = identify(decisions)
    recession = separating.find_recession(
        decisions.recession_cone(known.scale, constraint_rows=cone)
    )
    if recession is None:
        return None
    direction = direction_without_rounding_noise(recession.direction, known)
    nothing = np.full((len(theta), len(theta)), np.nan)
    return replace(
        found,
        theta=np.where(direction != 0, np.copysign(np.inf, direction), theta),
        covariance=nothing,
        unblanked_covariance=nothing,
        recession=direction,
        vanishing_options=recession.resolved,
        near_separation_direction=None,
        condition=np.inf,
        certificate="linear program",
    )


def near_unpenalised_separation(
    profiles: ProfileProblems, choices: Choices, theta: Vector, information: Matrix
) -> Vector | None:
    """Unpenalised direction that separates all but negligible differences, or None.

    Along it no density changes, so that the bound on maxima of the likelihood holds here too: where
    there is such a direction, the information along it is next to 0.
    """
    rows = flat_prior_constraints(profiles, theta)
    decisions = ChoiceDecisions(choices, 1)
    known = identify(decisions)
    largest = np.asarray(decisions.likelihood.largest_values_and_differences)[1]
    if not known.complete:
        return None
    free = null_basis(rows / largest, len(theta))
    if not free.shape[1]:
        return None
    along = free.T @ (information / largest / largest[:, None]) @ free
    most = 2 * len(theta) * float(decisions.small_difference_bound(theta)[0])
    if np.linalg.eigvalsh(along)[0] > most:
        return None
    limit = NEGLIGIBLE_DIFFERENCE * decisions.large_difference_quantile(known.scale)
    plain = decisions.with_small_differences_zeroed(limit)
    if plain is None:
        return None
    try:
        cone = plain.recession_cone(
            known.scale, constraint_rows=_flat_prior_cone_rows(profiles, rows)
        )
        recession = separating.find_recession(cone)
    except UnsolvedProgramError:  # only a hint is lost: the maximum is known to exist
        return None
    return (
        None if recession is None else direction_without_rounding_noise(recession.direction, known)
    )


def _flat_prior_cone_rows(profiles: ProfileProblems, rows: Matrix) -> Matrix:
    """Cone c'v >= 0 of directions along which densities are flat and signs are kept."""
    cone = [rows, -rows]
    if profiles.positive_weight_constraints is not None:
        cone.append(profiles.positive_weight_constraints.matrix)
    return np.vstack(cone)
