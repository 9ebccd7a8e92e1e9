"""Inference from a population's maximum: covariances, intervals of sds, posteriors of subjects.

Standard errors are those of the observed information (Louis 1982) or the sandwich over subjects;
intervals of standard deviations are Satterthwaite's (1946) or from the profile likelihood;
leave-one-out evidences take one Newton step. All of it rests on the nodes of the search: the model
is evaluated again only for profiles that leave the region in which these can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.population.hierarchy.marginal_likelihood import (
    LogCholesky,
    MarginalLikelihood,
    RandomEffectsStructure,
)
from penchant.population.hierarchy.marginal_maximization import (
    CentredNodes,
    SearchProblem,
    SearchResult,
    recentre_nodes,
)
from penchant.population.hierarchy.quadrature import QUADRATURE
from penchant.population.hierarchy.trust_region import (
    TRUST_REGION,
    MarginalObjective,
    Penalty,
    log_determinant,
    maximize_on_nodes,
    newton_ascent,
    parameter_bounds,
    standard_errors_from_information,
    trust_region_bounds,
)
from penchant.tail_probabilities import chi_square_isf, normal_isf, normal_sf


@dataclass(frozen=True, slots=True)
class InferenceOptions:
    """Limits of identification, profile intervals and the test of normality."""

    min_relative_curvature: float = 1e-9  # of a direction; less is rounding: it is unidentified
    # Component along a spread parameter of the unit eigenvector with negative curvature: the
    # largest is held, as its sd has no maximum inside; none above 0.1 means rounding is the cause.
    min_upward_part: float = 0.1
    min_normality_subjects: int = 20  # with fewer the test has hardly any power
    min_normality_reliability: float = 0.5  # below it posteriors have the population's shape
    max_log_sd_error: float = 0.15  # for Satterthwaite's interval; at 0.3 it covered only 91 %
    max_log_sd_error_of_draws: float = 0.3  # laxer: draws are too noisy for a profile instead
    profile_gain_tol: float = 1e-5  # log-units; the ends then move by less than profile_root_tol
    profile_root_tol: float = 5e-3  # of the signed root, 1.96 at 95 %: its ends have three digits
    max_profile_points: int = 16  # a backstop: on a nearly straight line secants take 3 to 5
    min_profile_distance: float = 1e-3  # in log sd; a sharper drop is a failed ascent, not data
    max_profile_sd: float = 20.0  # typical sds; nobody is so far out: beyond it the end is infinite
    max_fixed_shift: float = 2.0  # standard errors; farther the quadratic expansion goes astray
    fixed_shift_tol: float = 0.02  # of max_fixed_shift; after such a move the expansion is exact
    max_fixed_placements: int = 12  # a backstop: each placement evaluates the model again


INFERENCE = InferenceOptions()


class ParameterCovariances(NamedTuple):
    """Covariances of all parameters, model-based and robust; unidentified directions (m, size)."""

    model: Matrix
    robust: Matrix
    unidentified_directions: Matrix


def parameter_covariances(optimum: SearchResult, rank: int) -> ParameterCovariances:
    """Inverse of the observed information, and the sandwich over subjects.

    A spread parameter along which F is convex (it is hardly identified, or draws are few) counts as
    known: otherwise it would make the means look unidentified.
    """
    free = free_parameter_indices(optimum)
    size, n_beta = len(optimum.x), optimum.marginal.structure.n_beta
    model, robust = np.zeros((size, size)), np.zeros((size, size))
    while True:
        information = optimum.information[np.ix_(free, free)]
        scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        if not len(values) or values[0] > -INFERENCE.min_relative_curvature:
            break
        along = np.where(free < n_beta, 0.0, np.abs(vectors[:, 0]))
        if along.max() < INFERENCE.min_upward_part:
            break
        free = np.delete(free, int(along.argmax()))
    identified = values > INFERENCE.min_relative_curvature
    own = vectors[:, identified] / scale[:, None]
    inverse = (own / values[identified]) @ own.T
    scores = optimum.evaluation.scores[:, free]
    n = len(scores)
    meat = scores.T @ scores * (n / max(n - rank, 1))  # HC1: corrects for the rank fitted
    model[np.ix_(free, free)] = inverse
    robust[np.ix_(free, free)] = inverse @ meat @ inverse
    flat = np.zeros((int((~identified).sum()), size))
    flat[:, free] = (vectors[:, ~identified] / scale[:, None]).T
    return ParameterCovariances(model, robust, flat)


def unidentified_coefficients(optimum: SearchResult, errors: ParameterCovariances) -> BoolVector:
    """Coefficients that have a part in an unidentified direction, free of units."""
    size = np.sqrt(np.abs(np.diag(optimum.information)))
    directions = np.abs(errors.unidentified_directions * np.where(size > 0, size, 1.0))
    highest = directions.max(axis=1, initial=0.0)
    own = directions[:, : optimum.marginal.structure.n_beta]
    return np.asarray((own > 0.1 * highest[:, None]).any(axis=0))  # smaller parts are rounding


def free_parameter_indices(optimum: SearchResult) -> Any:
    """Parameters that are neither held nor at the end of their range."""
    low, high = parameter_bounds(optimum.marginal.structure, optimum.log_sd_floors)
    at_end = (optimum.x <= low + 1e-9) | (optimum.x >= high - 1e-9)  # clipping ends exactly there
    return np.flatnonzero(~(optimum.held.astype(bool) | at_end))


class SubjectPosteriors(NamedTuple):
    """Posterior means (n, p) and covariances (n, p, p), influences, leave-one-out evidences."""

    mean: Matrix
    covariance: Matrix
    influence: Vector
    loo: Vector


def subject_posteriors(optimum: SearchResult, covariance: Matrix) -> SubjectPosteriors:
    """Posteriors of subjects, with the uncertainty of the population's parameters added.

    By the delta method: d E_i[h] / d x = Cov_i(h, score_i), which moments of the nodes give.
    """
    structure, evaluation = optimum.marginal.structure, optimum.evaluation
    n, p = structure.design.shape[:2]
    r = len(structure.random_coordinates)
    mean = structure.means(optimum.x[: structure.n_beta])
    mean[:, structure.random_coordinates] += evaluation.means[:, :r]
    whole = np.zeros((n, p, p))
    rows = np.arange(n)[:, None, None]
    whole[rows, structure.random_coordinates[:, None], structure.random_coordinates[None]] = (
        evaluation.covariances[:, :r, :r]
    )
    slope = np.zeros((n, p, len(optimum.x)))
    slope[:, structure.random_coordinates] = np.swapaxes(
        evaluation.loadings @ evaluation.covariances[:, :, :r], 1, 2
    )
    slope[:, structure.fixed_coordinates, : structure.n_beta] = structure.design[
        :, structure.fixed_coordinates
    ]
    whole += slope @ covariance @ np.swapaxes(slope, 1, 2)
    influence = np.einsum("ia,ab,ib->i", evaluation.scores, covariance, evaluation.scores)
    loo = evaluation.evidence - influence
    # E_i - s' I^-1 s is exact to first order only: a subject who moves the maximum much gets a
    # Newton step instead.
    for i in np.flatnonzero(influence > 0.5):
        loo[i] = _log_evidence_without_subject(optimum, int(i))
    return SubjectPosteriors(mean, whole, influence, loo)


def _log_evidence_without_subject(optimum: SearchResult, i: int) -> float:
    """Evidence of a subject under the population of all others, by one Newton step."""
    structure, free = optimum.marginal.structure, free_parameter_indices(optimum)
    only_i = np.zeros(len(structure.subject_weights))
    only_i[i] = 1.0
    own = MarginalLikelihood(
        optimum.marginal.nodes, structure._replace(subject_weights=only_i)
    ).evaluate(optimum.x)
    rest = (optimum.information + own.hessian)[np.ix_(free, free)]
    step = np.linalg.lstsq(rest, -own.gradient[free], rcond=None)[0]
    x = optimum.x.copy()
    x[free] += np.clip(step, -1.0, 1.0)  # nodes miss the posteriors farther away
    return float(optimum.marginal.evidence(x)[i])


class SpreadErrors(NamedTuple):
    """Standard errors of log sds (n_groups, r) and of Fisher's z of correlations (n_groups, r, r).

    NaN where the information does not identify them.
    """

    log_sd: Matrix
    fisher_z_errors: Matrix


def spread_standard_errors(optimum: SearchResult, errors: ParameterCovariances) -> SpreadErrors:
    """Standard errors by the delta method, never smaller than with all coordinates observed.

    Observed coordinates would leave log sd an error of 1 / sqrt(2 df), and z one of 1 / sqrt(df -
    2) with df people less coefficients. NaN where the search did not converge, or where a spread
    parameter is at a bound. Draws that move a maximum along a correlation look like information on
    it: where nodes are draws, correlations have no errors.
    """
    structure = optimum.marginal.structure
    r, n_groups, size = (
        structure.spread.size,
        structure.spread.n_groups,
        structure.spread.n_per_group,
    )
    log_sd, z = np.full((n_groups, r), np.nan), np.full((n_groups, r, r), np.nan)
    for g, block in enumerate(optimum.x[structure.n_beta :].reshape(n_groups, size)):
        own = slice(structure.n_beta + g * size, structure.n_beta + (g + 1) * size)
        covariance = errors.model[own, own]
        if not optimum.converged or not (np.diag(covariance) > 0).all():
            continue
        df = _residual_df(structure, g)
        matrix = structure.spread.covariance_matrices(np.tile(block, n_groups))[0]
        slope = structure.spread.factor_and_covariance_slopes(block)[1]
        variance = np.diag(matrix)
        on_log_sd = np.einsum("kaa->ka", slope) / (2 * variance)
        squared = np.einsum("ka,kl,la->a", on_log_sd, covariance, on_log_sd)
        log_sd[g] = np.maximum(np.sqrt(squared), 1 / np.sqrt(2 * df))
        if structure.spread.correlated and r <= QUADRATURE.max_product_dimensions:
            sd = np.sqrt(variance)
            correlation = matrix / np.outer(sd, sd)
            on_r = slope / np.outer(sd, sd)
            on_r -= correlation * (on_log_sd[:, :, None] + on_log_sd[:, None, :])
            with np.errstate(divide="ignore", invalid="ignore"):
                on_z = on_r / (1 - correlation**2)
                squared = np.einsum("kab,kl,lab->ab", on_z, covariance, on_z)
            z[g] = np.maximum(np.sqrt(squared), 1 / np.sqrt(np.maximum(df - 2, 1.0))[:, None])
            np.fill_diagonal(z[g], np.nan)  # a constant has no error
    return SpreadErrors(log_sd, z)


def _residual_df(structure: RandomEffectsStructure, group: int) -> Vector:
    """Degrees of freedom of each sd if coordinates were observed: people less coefficients."""
    columns = (np.abs(structure.design[:, structure.random_coordinates]).sum(axis=0) > 0).sum(
        axis=1
    )
    people = float(structure.subject_weights[structure.group == group].sum())
    return np.asarray(np.maximum(people - columns / structure.spread.n_groups, 1.0))


def satterthwaite_sd_limits(optimum: SearchResult, errors: SpreadErrors, level: float) -> Matrix:
    """Satterthwaite intervals (n_groups, r, 2) of sds whose logarithm is well identified.

    A variance is estimated like that of 1 + 1 / (2 e^2) observed numbers, with e the standard error
    of log sd, so that its interval is that of chi-square. With many people this is the normal
    interval of log sd; with few it is as skewed as that of observed coordinates. NaN where e is
    large: such errors go with estimates that came out small, and the interval covers less.
    """
    structure = optimum.marginal.structure
    limits = np.full((*errors.log_sd.shape, 2), np.nan)
    matrices = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])
    largest = (
        INFERENCE.max_log_sd_error
        if structure.spread.size <= QUADRATURE.max_product_dimensions
        else INFERENCE.max_log_sd_error_of_draws
    )
    for g, a in zip(*np.nonzero(errors.log_sd <= largest), strict=True):
        df = 1 / (2 * errors.log_sd[g, a] ** 2)
        limits[g, a] = _chi_square_sd_limits(matrices[g, a, a], df, level)
    return limits


def _chi_square_sd_limits(variance: float, df: float, level: float) -> Vector:
    """Interval of the sd of observed normal numbers, from their variance."""
    points = special.chdtri(df, np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.asarray(np.sqrt(variance * df / points))


def sd_limits(
    problem: SearchProblem, optimum: SearchResult, errors: SpreadErrors, level: float
) -> Matrix:
    """Intervals (n_groups, r, 2) of all sds: Satterthwaite's, or the profile's where it fails.

    NaN where the search did not converge, and instead of a profile where nodes are draws, whose
    errors it would follow. A profile that is narrower than if all coordinates were observed did not
    reach its maxima, as where a covariance is all but singular: the interval is widened to that.
    """
    limits = satterthwaite_sd_limits(optimum, errors, level)
    structure = optimum.marginal.structure
    if not optimum.converged or structure.spread.size > QUADRATURE.max_product_dimensions:
        return limits
    matrices = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])
    for g, a in zip(*np.nonzero(np.isnan(limits[:, :, 0])), strict=True):
        low, high = profile_limits(problem, optimum, int(a), int(g), level)
        df = float(_residual_df(structure, int(g))[a])
        observed = _chi_square_sd_limits(float(matrices[g, a, a]), df, level)
        limits[g, a] = np.minimum(low, observed[0]), np.maximum(high, observed[1])
    return limits


def profile_limits(
    problem: SearchProblem, optimum: SearchResult, c: int, group: int, level: float
) -> tuple[float, float]:
    """Profile-likelihood interval of the sd of coordinate c among those with spread.

    The factor is reordered with c first, so that its sd is one parameter. The lower end is 0 where
    F without that spread is no lower than at an end of the interval.
    """
    structure = optimum.marginal.structure
    order = (c, *(a for a in range(structure.spread.size) if a != c))
    spread = LogCholesky(
        structure.spread.size, structure.spread.correlated, structure.spread.n_groups, order
    )
    matrices = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])
    x = np.concatenate([optimum.x[: structure.n_beta], spread.parametrize(matrices)])
    turned = replace(
        problem, structure=structure._replace(spread=spread, max_shift=_profile_max_shift(optimum))
    )
    marginal = MarginalLikelihood(optimum.marginal.nodes, turned.structure)
    index = structure.n_beta + group * spread.n_per_group
    held = np.zeros(len(x), dtype=bool)
    held[index] = True
    penalty = MarginalObjective(problem.restricted).penalty(marginal, x, marginal.evaluate(x), held)
    profile = _ProfileLikelihood(turned, optimum.log_sd_floors, held, penalty, index)
    profile.nodes_by_log_sd[float(x[index])] = CentredNodes(marginal, optimum.posterior)
    best = profile(x, x[index])
    drop = 0.5 * float(chi_square_isf(1 - level, 1))
    information = best.information
    rest = np.delete(np.arange(len(x)), index)
    direction = np.zeros(len(x))
    inner = information[np.ix_(rest, rest)]
    direction[rest] = -np.linalg.lstsq(inner, information[rest, index], rcond=None)[0]
    direction[index] = 1.0
    curvature = float(information[index] @ direction)
    first = np.sqrt(2 * drop / max(curvature, 1e-3))  # Wald's end, capped if F is flat
    typical = float(problem.likelihoods.typical_range.sd[structure.random_coordinates[c]])
    ends_at = (
        float(optimum.log_sd_floors[c]) + np.log(TRUST_REGION.vanishing_factor),
        max(
            np.log(INFERENCE.max_profile_sd * typical), float(x[index]) + TRUST_REGION.trust_radius
        ),
    )
    predictor = _ProfileExtrapolation(
        direction, standard_errors_from_information(information, held)
    )
    ends = [
        _profile_interval_end(profile, best, drop, sign * first, ends_at, predictor)
        for sign in (-1.0, 1.0)
    ]
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


def _profile_max_shift(optimum: SearchResult) -> Vector:
    """Largest move of coefficients of fixed coordinates between placements, in a profile.

    Their likelihood is a quadratic expansion: far from its centre it rises where the likelihood
    itself falls.
    """
    structure = optimum.marginal.structure
    errors = standard_errors_from_information(optimum.information, optimum.held)[: structure.n_beta]
    return np.where(
        np.isfinite(structure.max_shift),
        np.minimum(structure.max_shift, INFERENCE.max_fixed_shift * errors),
        structure.max_shift,
    )


class _ProfilePoint(NamedTuple):
    x: Vector
    value: float
    information: Matrix


@dataclass(frozen=True, eq=False)
class _ProfileLikelihood:
    """Profile of F in one log sd: the maximum over all other parameters while it is held.

    Nodes are re-centred where it leaves the trust region of the nearest ones. REML's term is
    linearised once, at the maximum: the error of that moves the maximum elsewhere on the profile,
    and so its value, in second order only.
    """

    problem: SearchProblem
    log_sd_floors: Vector
    held: BoolVector
    penalty: Penalty
    index: int
    nodes_by_log_sd: dict[float, CentredNodes] = field(default_factory=dict)

    def __call__(self, x: Vector, at: float) -> _ProfilePoint:
        start = x.copy()
        start[self.index] = at
        structure = self.problem.structure
        inner = min(self.nodes_by_log_sd, key=lambda other: abs(other - at))
        nodes = self.nodes_by_log_sd[inner]
        if abs(inner - at) > TRUST_REGION.trust_radius:
            nodes = self.nodes_by_log_sd[float(at)] = recentre_nodes(self.problem, start, nodes)
        for _ in range(INFERENCE.max_fixed_placements if structure.fixed_coordinates.size else 1):
            if (
                structure.fixed_coordinates.size
            ):  # the expansion is accurate only near where it was made
                nodes = recentre_nodes(self.problem, start, nodes)
            bounds = trust_region_bounds(structure, start, self.log_sd_floors)
            best, evaluation = newton_ascent(
                nodes.marginal, start, self.penalty, bounds, self.held, INFERENCE.profile_gain_tol
            )
            moved = np.abs(best - start)[: structure.n_beta][np.isfinite(structure.max_shift)]
            start = best
            if (
                moved
                < INFERENCE.fixed_shift_tol * structure.max_shift[np.isfinite(structure.max_shift)]
            ).all():
                break
        value = evaluation.value
        if self.problem.restricted:
            value -= 0.5 * log_determinant(
                -evaluation.hessian[: structure.n_beta, : structure.n_beta]
            )
        return _ProfilePoint(best, value, -evaluation.hessian)


class _ProfileExtrapolation(NamedTuple):
    """Linear predictor of the other parameters along a profile, limited to their errors."""

    direction: Vector
    errors: Vector

    def __call__(self, x: Vector, change: float) -> Vector:
        longest = np.minimum(self.errors, TRUST_REGION.trust_radius)
        return np.asarray(x + np.clip(change * self.direction, -longest, longest))


def _profile_interval_end(
    profile: _ProfileLikelihood,
    best: _ProfilePoint,
    drop: float,
    step: float,
    ends_at: tuple[float, float],
    predictor: _ProfileExtrapolation,
) -> float:
    """Point at which the profile has fallen by `drop`; infinite if beyond the range.

    The root of twice the fall is nearly a straight line: secant steps on it. NaN where the profile
    falls at once, which is no information on the sd: beside a correlation of 1 the other parameters
    cannot follow.
    """
    centre, target = float(best.x[profile.index]), float(np.sqrt(2 * drop))
    inner, outer = (centre, 0.0), None
    at, inner_x = centre + step, best.x
    for _ in range(INFERENCE.max_profile_points):
        at = min(max(at, ends_at[0]), ends_at[1])
        # Start from the last point within the interval: ascents from beyond may end on a lower
        # ridge, and make the interval too short.
        new = profile(predictor(inner_x, at - inner[0]), at)
        root = float(np.sqrt(2 * max(best.value - new.value, 0.0)))
        if abs(root - target) < INFERENCE.profile_root_tol:
            return at
        if root < target and at in ends_at:
            return -np.inf if at == ends_at[0] else np.inf
        if root < target:
            inner, inner_x = (at, root), new.x
        else:
            outer = (at, root)
        gap = np.inf if outer is None or inner[0] == centre else abs(outer[0] - inner[0])
        if gap < INFERENCE.min_profile_distance:
            outer = None  # a jump: the ascent at `outer` had not reached the maximum there
        if outer is None:
            grown = 1.05 * target / inner[1] if inner[1] > 0 else 2.0
            # No bracket yet: aim a little beyond, as a secant from one side would converge slowly.
            at = centre + (inner[0] - centre) * min(max(grown, 1.2), 2.0)
            continue
        # Kept off the ends of the bracket: a flat or steep end would stall the secant.
        share = (target - inner[1]) / (outer[1] - inner[1])
        at = inner[0] + min(max(share, 0.1), 0.9) * (outer[0] - inner[0])
    return at if abs(at - centre) > INFERENCE.min_profile_distance else np.nan


def normality_p_values(optimum: SearchResult) -> Matrix:
    """Two-sided p-values (r, 2) of skewness and kurtosis of the coordinates between people.

    In a normal population the posterior means of Hermite's polynomials He_k of the standardised
    coordinate have mean 0 and variance k! reliability^k: k = 3 tests skewness, k = 4 kurtosis. The
    latter is normalised as sample kurtosis is (Anscombe and Glynn 1983). 1 where reliability is
    low, or subjects are few.
    """
    structure, evaluation = optimum.marginal.structure, optimum.evaluation
    points, probabilities = optimum.marginal.nodes.points, evaluation.node_probabilities
    r, n = len(structure.random_coordinates), len(probabilities)
    matrices = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])[structure.group]
    centre = structure.means(optimum.x[: structure.n_beta])[:, structure.random_coordinates]
    p = np.ones((r, 2))
    if n < INFERENCE.min_normality_subjects:
        return p
    for a in range(r):
        variance = matrices[:, a, a]
        reliability = np.clip(1 - evaluation.covariances[:, a, a] / variance, 0.0, 1.0)
        if reliability.mean() < INFERENCE.min_normality_reliability:
            continue
        z = (points[:, :, a] - centre[:, a, None]) / np.sqrt(variance)[:, None]
        third, fourth = z**3 - 3 * z, z**4 - 6 * z**2 + 3
        skewness = (probabilities * third).sum() / np.sqrt(6 * (reliability**3).sum())
        kurtosis = (probabilities * fourth).sum() / np.sqrt(24 * (reliability**4).sum())
        for b, statistic in enumerate((skewness, _anscombe_glynn_z(float(kurtosis), n))):
            p[a, b] = 2 * normal_sf(abs(statistic))
    return p


def _anscombe_glynn_z(x: float, n: int) -> float:
    """Anscombe and Glynn's normal deviate of a standardised kurtosis of n numbers."""
    skew = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    skew *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    size = 6 + 8 / skew * (2 / skew + np.sqrt(1 + 4 / skew**2))
    below = 1 + x * np.sqrt(2 / (size - 4))
    root = np.sign(below) * (abs((1 - 2 / size) / below)) ** (1 / 3) if below else 0.0
    return float((1 - 2 / (9 * size) - root) / np.sqrt(2 / (9 * size)))


def normal_half_width(level: float) -> float:
    """Half width of a normal interval in standard deviations."""
    return float(normal_isf((1 - level) / 2))


def maximum_log_likelihood(optimum: SearchResult) -> float:
    """Maximize F itself on the nodes, whatever criterion was maximised: for likelihood ratios."""
    return maximize_on_nodes(
        optimum.marginal, optimum.x, optimum.log_sd_floors, optimum.held, MarginalObjective()
    ).evaluation.value
