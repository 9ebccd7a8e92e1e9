"""Maximum marginal likelihood of a population by adaptive quadrature with re-centred nodes.

Each round places Gauss-Hermite nodes about every subject's posterior (Pinheiro and Bates 1995),
maximises the marginal likelihood on them by trust-region Newton steps (`trust_region`), and
re-centres the nodes of subjects whose posterior moved, until parameters stand still. Early rounds
use few nodes. Where coordinates are too many for product nodes, nodes are importance draws: a Monte
Carlo EM phase with SQUAREM extrapolation (Varadhan and Roland 2008) comes first, then trust-region
maximisation on re-drawn nodes. Relies on `quadrature` for nodes and `marginal_likelihood` for F.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.population.hierarchy.marginal_likelihood import (
    MarginalEvaluation,
    MarginalLikelihood,
    RandomEffectsStructure,
)
from penchant.population.hierarchy.quadrature import (
    QUADRATURE,
    NormalPosteriors,
    QuadratureRule,
    build_quadrature_nodes,
    find_modes,
    laplace_posteriors,
    posterior_shift,
    starting_points,
    updated_posterior,
)
from penchant.population.hierarchy.subject_likelihoods import SubjectLikelihoods
from penchant.population.hierarchy.trust_region import (
    TRUST_REGION,
    MarginalObjective,
    NodeMaximum,
    floors_of_log_sd,
    log_determinant_gradient,
    maximize_on_nodes,
    modified_newton_step,
    parameter_bounds,
    standard_errors_from_information,
    vanishing_spreads,
)


@dataclass(frozen=True, slots=True)
class MarginalSearchOptions:
    """Rounds, tolerances and sizes of the adaptive quadrature and of the Monte Carlo EM."""

    max_rounds: int = 60  # a backstop: 4 to 10 placements of nodes are usual
    patience_rounds: int = 15  # later ones would alternate: tolerances widen, steps shorten
    rough_step_tol: float = 0.2  # standard errors; for shorter steps rough nodes are too inexact
    shift_tol: float = 0.1  # posterior sds; after smaller moves old nodes still serve: saves time
    min_damping: float = 0.02  # of a full step; repeated halving would bring rounds to a standstill
    max_drop: float = 0.5  # log-units per 100 subjects; a larger loss of F is no quadrature noise
    node_noise: float = 0.5  # standard errors; re-placed nodes alone may move a parameter so far
    max_extrapolation: float = 8.0  # SQUAREM step length; longer ones overshoot with few draws
    em_step_tol: float = 0.05  # complete-data standard errors: EM hands over to Newton below it
    em_draws_divisor: int = 4  # EM uses a quarter of the draws: its steps are long and approximate
    plateau_rounds: int = 6  # fewer would mistake the noise of new draws for a plateau of F
    plateau_gain: float = 0.5  # log-units; EM that gains less creeps along a ridge: Newton's turn
    max_recentrings: int = 3  # a backstop: the second re-centring hardly moves nodes any more
    max_redraws: int = 8  # a backstop: with noisy draws a maximum may move for ever
    max_nodes_at_once: int = 500_000  # bounds memory: finer rules are evaluated in such portions
    max_total_nodes: int = 80_000  # of all subjects: bounds the time of the last, finest stage


SEARCH = MarginalSearchOptions()


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A population to be estimated: data, structure, quadrature rule and criterion.

    Attributes
    ----------
    likelihoods, structure
        Log-likelihoods of subjects, and how means and covariances depend on parameters.
    nodes_per_dimension, n_draws
        Nodes per dimension; importance draws of the weights where dimensions are too many.
    restricted
        REML.
    step_tol, shift_tol
        Standard errors by which a parameter may move in the last round, and posterior standard
        deviations by which a subject may without new nodes.
    extra_shape_nodes
        Nodes more in each dimension of a shape parameter.
    with_spread_prior
        Whether spreads have the weak prior that keeps them from vanishing.
    """

    likelihoods: SubjectLikelihoods
    structure: RandomEffectsStructure
    nodes_per_dimension: int
    restricted: bool
    n_draws: int = QUADRATURE.n_draws
    step_tol: float = TRUST_REGION.step_tol
    shift_tol: float = SEARCH.shift_tol
    extra_shape_nodes: int = 0
    with_spread_prior: bool = False

    @property
    def n_shape(self) -> int:
        """Number of coordinates with spread that are shape parameters."""
        return int((self.structure.random_coordinates < self.likelihoods.coordinates.n_shape).sum())

    @property
    def uses_draws(self) -> bool:
        """Whether the weights' nodes are importance draws, as dimensions are too many."""
        return len(self.structure.random_coordinates) > QUADRATURE.max_product_dimensions

    def quadrature_rule(self, k: int) -> QuadratureRule:
        """Build the rule with k nodes per dimension, of the coordinates that have spread."""
        n_weights = len(self.structure.random_coordinates) - self.n_shape
        return QuadratureRule.for_dimensions(
            self.n_shape, n_weights, k, self.n_draws, self.extra_shape_nodes
        )

    def marginal_around(
        self, x: Vector, posterior: NormalPosteriors, k: int | None = None
    ) -> MarginalLikelihood:
        """Marginal likelihood on nodes about everybody's posterior under parameters x."""
        rule, everyone = (
            self.quadrature_rule(k or self.nodes_per_dimension),
            np.arange(len(self.structure.design)),
        )
        nodes = build_quadrature_nodes(
            self.likelihoods, self.structure, rule, x, posterior, everyone
        )
        return MarginalLikelihood(nodes, self.structure)

    def with_coarser_rule(self) -> SearchProblem:
        """Copy with two nodes fewer per dimension and half the draws."""
        fewer = (
            self.nodes_per_dimension
            if self.uses_draws and self.nodes_per_dimension < 5
            else max(self.nodes_per_dimension - 2, 1)
        )
        return replace(self, nodes_per_dimension=fewer, n_draws=max(self.n_draws // 2, 8))

    def with_check_rule(self) -> SearchProblem:
        """Copy on other and more draws: by two nodes more per shape, or twice the draws."""
        return replace(
            self,
            nodes_per_dimension=self.nodes_per_dimension + 2,
            n_draws=self.n_draws * (1 if self.n_shape else 2),
        )

    def with_finer_rule(self) -> SearchProblem:
        """Copy on the next finer rule: more nodes where posteriors are least normal."""
        r, q = len(self.structure.random_coordinates), self.n_shape
        if self.uses_draws:
            return replace(
                self,
                nodes_per_dimension=self.nodes_per_dimension + (2 if q == 1 else 0),
                n_draws=2 * self.n_draws,
            )
        if not q:
            return replace(
                self,
                nodes_per_dimension=self.nodes_per_dimension
                + (4 if r < QUADRATURE.max_product_dimensions else 2),
            )
        # Twice the nodes of a single shape: with two more, two wrong rules may agree by chance.
        on_shape = self.nodes_per_dimension + self.extra_shape_nodes
        on_shape = 2 * on_shape + 1 if q == 1 else on_shape + 4
        return replace(
            self,
            nodes_per_dimension=self.nodes_per_dimension + 2,
            extra_shape_nodes=on_shape - self.nodes_per_dimension - 2,
        )

    @property
    def objective(self) -> MarginalObjective:
        """The criterion to maximise."""
        return MarginalObjective(self.restricted, self.with_spread_prior)


class SearchResult(NamedTuple):
    """Parameters at the maximum, the nodes they rest on, and how the search went."""

    x: Vector
    marginal: MarginalLikelihood
    evaluation: MarginalEvaluation
    information: Matrix
    posterior: NormalPosteriors
    held: BoolVector
    k: int
    n_rounds: int
    converged: bool
    log_sd_floors: Vector
    n_draws: int


class StartingValues(NamedTuple):
    """Starting values of the search for the maximum of the marginal likelihood.

    Attributes
    ----------
    beta, between_covariance
        Coefficients; covariance of all coordinates between people.
    h, information
        Modes of subjects under a broad prior, and informations of their likelihoods there.
    spread_parameters
        Log-Cholesky parameters of the spread; those of `between_covariance`, if not given.
    posterior
        Posteriors of subjects, where a search has ended nearby: all nodes are used at once.
    """

    beta: Vector
    between_covariance: Matrix
    h: Matrix
    information: Matrix
    spread_parameters: Vector | None = None
    posterior: NormalPosteriors | None = None

    def parameter_vector(self, structure: RandomEffectsStructure) -> Vector:
        """Parameters of the structure, before any bound."""
        numbers = self.spread_parameters
        if numbers is None:
            own = self.between_covariance[
                np.ix_(structure.random_coordinates, structure.random_coordinates)
            ]
            if not structure.spread.correlated:
                own = np.diag(np.diag(own))
            numbers = structure.spread.parametrize(np.stack([own] * structure.spread.n_groups))
        return np.concatenate([self.beta, numbers])


def starting_values(likelihoods: SubjectLikelihoods, design: Matrix) -> StartingValues:
    """Starting values from the modes of subjects under a broad prior."""
    centre, sd = likelihoods.typical_range
    n, p = len(likelihoods.subjects), len(likelihoods.coordinates)
    everyone, free = np.arange(n), np.arange(p)
    precision = np.broadcast_to(np.diag(1 / sd**2), (n, p, p))
    mean = np.broadcast_to(centre, (n, p))
    modes = find_modes(likelihoods, everyone, starting_points(likelihoods), mean, precision, free)
    covariances = np.asarray(np.linalg.inv(modes.information + precision), dtype=np.float64)
    beta = _weighted_least_squares(design, modes.posterior_modes, covariances)
    residual = modes.posterior_modes - design @ beta
    between = (residual[:, :, None] * residual[:, None, :]).mean(axis=0)
    # Modes are shrunken: part of their posterior variance is added back. Correlations are halved,
    # as a start at +-1 would be a start at a bound.
    diagonal = np.diag(between) + 0.25 * np.einsum("naa->na", covariances).mean(axis=0)
    matrix = 0.5 * between
    np.fill_diagonal(matrix, np.maximum(diagonal, 1e-4 * sd**2))
    return StartingValues(beta, matrix, modes.posterior_modes, modes.information)


def _weighted_least_squares(design: Matrix, h: Matrix, covariances: Matrix) -> Vector:
    variance = np.einsum("naa->na", covariances)
    # The median variance stands for the spread between people, which is not known yet.
    weight = 1.0 / (variance + np.median(variance, axis=0))
    left = np.einsum("nab,na,nac->bc", design, weight, design)
    right = np.einsum("nab,na,na->b", design, weight, h)
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])


def maximize_by_quadrature(
    problem: SearchProblem, start: StartingValues, hold: BoolVector | None = None
) -> SearchResult:
    """Maximize the marginal likelihood by adaptive quadrature with re-centred nodes.

    Parameters
    ----------
    problem, start
        What is maximised, and from where.
    hold
        Spread parameters that stay as they are (True), for profiles.
    """
    structure = problem.structure
    log_sd_floors = floors_of_log_sd(structure, start.information, problem.likelihoods)
    x = np.clip(start.parameter_vector(structure), *parameter_bounds(structure, log_sd_floors))
    held = np.zeros(len(x), dtype=bool)
    if hold is not None:
        held[structure.n_beta :] = hold
    if problem.uses_draws:
        return _maximize_by_draws(problem, x, start.h, log_sd_floors, held, start.posterior)
    return _AdaptiveQuadrature(problem, x, start, log_sd_floors, held).run()


class _AdaptiveQuadrature:
    """Rounds of adaptive quadrature: parameters, and the nodes on which they are maximised."""

    def __init__(
        self,
        problem: SearchProblem,
        x: Vector,
        start: StartingValues,
        log_sd_floors: Vector,
        held: BoolVector,
    ) -> None:
        self.problem, self.log_sd_floors, self.held = problem, log_sd_floors, held
        self.x, self.k, posterior = x, problem.nodes_per_dimension, start.posterior
        if posterior is None:
            self.k = min(QUADRATURE.rough_nodes, problem.nodes_per_dimension)
            posterior = laplace_posteriors(problem.likelihoods, problem.structure, x, start.h)
        self.posterior = posterior
        self.marginal = problem.marginal_around(x, self.posterior, self.k)
        self.value, self.damping = -np.inf, 1.0
        self.last_step = np.zeros(len(x))
        # Quadrature errors of all subjects add up, so tolerances grow with the number of subjects.
        self.hundreds = max(1.0, len(start.h) / 100)

    def run(self) -> SearchResult:
        """Run rounds until parameters stand still, or a spread vanishes."""
        rough_tol = SEARCH.rough_step_tol * np.sqrt(self.hundreds)
        converged, structure = False, self.problem.structure
        for rounds in range(1, SEARCH.max_rounds + 1):
            best, evaluation, information = self._maximize(max_reml_updates=1)
            # A vanishing spread would take many rounds to reach 0: the search ends, and the caller
            # fits again without that coordinate.
            if not self.held.any() and vanishing_spreads(structure, best, self.log_sd_floors).size:
                self.x = best
                break
            errors = standard_errors_from_information(information, self.held)
            step_size = float(np.max(np.abs(best - self.x) / errors, initial=0.0))
            iterate = self._damped_step(best, errors, rounds)
            there = evaluation if iterate is best else self.marginal.evaluate(iterate)
            new = updated_posterior(there, structure, iterate, self.posterior)
            shift = posterior_shift(new, self.posterior)
            if (
                structure.fixed_coordinates.size
            ):  # the expansion in fixed coordinates holds only where it was made
                shift = np.full(len(shift), np.inf)
            step_tol, shift_tol = self._tolerances(rounds)
            nodes_stay = not (shift > shift_tol).any() or np.isinf(shift).all()
            small_step = self.damping * step_size < step_tol and step_size < SEARCH.node_noise
            if self.k == self.problem.nodes_per_dimension and small_step and nodes_stay:
                self.x, converged = best, True
                break
            moving = np.flatnonzero(shift > shift_tol)
            if rounds == 1 or step_size > rough_tol:
                moving = np.arange(len(shift))
            if self.k < self.problem.nodes_per_dimension and step_size < rough_tol:
                self.k, self.value, moving = (
                    self.problem.nodes_per_dimension,
                    -np.inf,
                    np.arange(len(shift)),
                )
            self._recentre(iterate, new, moving)
        if not converged and rounds == SEARCH.max_rounds:
            # x was damped: standard errors and gradients are reported at a maximum on its nodes.
            self.x, evaluation, information = self._maximize()
        reached = self.x, self.marginal, evaluation, information, self.posterior, self.held
        problem = self.problem
        return SearchResult(
            *reached, self.k, rounds, converged, self.log_sd_floors, problem.n_draws
        )

    def _maximize(self, max_reml_updates: int = TRUST_REGION.max_reml_updates) -> NodeMaximum:
        """Maximum on the nodes as they are, within the region in which they serve."""
        return maximize_on_nodes(
            self.marginal,
            self.x,
            self.log_sd_floors,
            self.held,
            self.problem.objective,
            self.problem.step_tol,
            within_trust_region=True,
            max_reml_updates=max_reml_updates,
        )

    def _damped_step(self, best: Vector, errors: Vector, rounds: int) -> Vector:
        """Go a share of the way to the maximum on these nodes.

        Steps that reverse the last one are halved, steps that continue it are not; late ones are
        short in any case, so that rounds which alternate between two sets of nodes settle.
        """
        step = best - self.x
        damping = self.damping / 2 if self.last_step @ step < 0 else min(1.5 * self.damping, 1.0)
        self.damping = max(min(damping, SEARCH.patience_rounds / rounds), SEARCH.min_damping)
        iterate = best if self.damping == 1.0 else self.x + self.damping * step
        self.last_step = (iterate - self.x) / errors**2
        return iterate

    def _tolerances(self, rounds: int) -> tuple[float, float]:
        """Standard errors that parameters, and posterior sds that subjects may move at the end."""
        # Fixed coordinates rest on an expansion, which must be exact at the end.
        problem = self.problem
        step_tol = problem.step_tol * (1e-3 if problem.structure.fixed_coordinates.size else 1.0)
        if rounds <= SEARCH.patience_rounds:
            return step_tol, problem.shift_tol
        # Subjects at the edge of the shift tolerance may take turns for ever.
        return max(step_tol, 50 * problem.step_tol), 5 * problem.shift_tol

    def _recentre(self, iterate: Vector, new: NormalPosteriors, moving: IntVector) -> None:
        """Go on at the iterate, with new nodes of moving subjects, unless F is much lower there."""
        problem, structure = self.problem, self.problem.structure
        recentred = self.posterior.replace_subjects(moving, new)
        trial = self.marginal
        if len(moving):
            rule = problem.quadrature_rule(self.k)
            nodes = build_quadrature_nodes(
                problem.likelihoods, structure, rule, iterate, recentred, moving
            )
            trial = MarginalLikelihood(
                self.marginal.nodes.replace_subjects(moving, nodes), structure
            )
        value = problem.objective.value(trial, iterate)
        if value >= self.value - SEARCH.max_drop * self.hundreds:
            self.x, self.posterior, self.marginal, self.value = iterate, recentred, trial, value
            return
        # The old nodes may have promised a gain that was quadrature error: re-centre all of them
        # at the last point, and go on with shorter steps.
        self.damping = 0.3 * self.damping
        evaluation = self.marginal.evaluate(self.x)
        self.posterior = updated_posterior(evaluation, structure, self.x, self.posterior)
        self.marginal = problem.marginal_around(self.x, self.posterior, self.k)
        self.value = problem.objective.value(self.marginal, self.x)


def _maximize_by_draws(
    problem: SearchProblem,
    x: Vector,
    h: Matrix,
    log_sd_floors: Vector,
    held: BoolVector,
    posterior: NormalPosteriors | None,
) -> SearchResult:
    """Monte Carlo EM first; then trust-region maximisation of F on re-drawn nodes.

    A maximum on few draws far from where they were placed would follow their errors. EM steps are
    safe there with few draws; trust-region steps go only as far as draws can be trusted.
    """
    structure, rounds = problem.structure, 0
    if posterior is None:
        posterior = laplace_posteriors(problem.likelihoods, structure, x, h)
        fewer = max(problem.n_draws // SEARCH.em_draws_divisor, 8)
        few = replace(
            problem, nodes_per_dimension=min(3, problem.nodes_per_dimension), n_draws=fewer
        )
        x, posterior, rounds = _run_monte_carlo_em(few, x, posterior, log_sd_floors, held)
    many = max(problem.n_draws, _n_draws_of_last_stage(problem))
    stages = [problem, replace(problem, n_draws=many)] if many > problem.n_draws else [problem]
    # The more dimensions, the sooner a changed spread leaves draws of nearly all weight to a few.
    trust_radius = 2 * TRUST_REGION.trust_radius / len(structure.random_coordinates)
    converged = False
    for stage in stages:
        for _ in range(SEARCH.max_redraws):
            rounds += 1
            marginal = stage.marginal_around(x, posterior)
            best, evaluation, information = maximize_on_nodes(
                marginal,
                x,
                log_sd_floors,
                held,
                problem.objective,
                within_trust_region=True,
                max_reml_updates=2,
                trust_radius=trust_radius,
            )
            gained = problem.objective.value(marginal, best) - problem.objective.value(marginal, x)
            posterior, x = updated_posterior(evaluation, structure, best, posterior), best
            # A move of e standard errors gains e^2 / 2: less than that is noise of the draws.
            converged = gained < SEARCH.node_noise**2 / 2
            vanished = _has_vanishing_spread(problem, x, held, log_sd_floors)
            if converged or vanished:
                break
        if vanished:
            converged = False
            break
    reached = x, marginal, evaluation, information, posterior, held
    return SearchResult(
        *reached, stage.nodes_per_dimension, rounds, converged, log_sd_floors, stage.n_draws
    )


def _has_vanishing_spread(
    problem: SearchProblem, x: Vector, held: BoolVector, log_sd_floors: Vector
) -> bool:
    kept = held.any() or problem.with_spread_prior  # neither can vanish
    return not kept and bool(vanishing_spreads(problem.structure, x, log_sd_floors).size)


def _n_draws_of_last_stage(problem: SearchProblem) -> int:
    """Number of draws in the last stage: up to eight times, as far as the nodes' budget goes."""
    n_nodes = (
        len(problem.structure.design) * problem.quadrature_rule(problem.nodes_per_dimension).n_nodes
    )
    budget = SEARCH.max_total_nodes / n_nodes
    # Rounded down to a power of two: Sobol points are balanced at no other number.
    return problem.n_draws * int(2 ** np.floor(np.log2(np.clip(budget, 1.0, 8.0))))


class _MonteCarloEmResult(NamedTuple):
    """Parameters that Monte Carlo EM ended at, posteriors of the subjects, and rounds taken."""

    x: Vector
    posterior: NormalPosteriors
    n_rounds: int


def _run_monte_carlo_em(
    problem: SearchProblem,
    x: Vector,
    posterior: NormalPosteriors,
    log_sd_floors: Vector,
    held: BoolVector,
) -> _MonteCarloEmResult:
    """Monte Carlo EM with SQUAREM extrapolation until F gains little; draws are new each round."""
    structure, objective = problem.structure, problem.objective
    bounds, hundreds = (
        parameter_bounds(structure, log_sd_floors),
        max(1.0, len(structure.design) / 100),
    )
    squarem, values = _SquaremAccelerator(structure, bounds, SEARCH.max_drop * hundreds), [-np.inf]
    rounds, max_rounds = 0, SEARCH.max_rounds // 2
    while rounds < max_rounds:
        rounds += 1
        marginal = problem.marginal_around(x, posterior)
        evaluation = marginal.evaluate(x)
        if squarem.has_overshot(evaluation.value):
            x = squarem.fall_back()
            continue
        posterior = updated_posterior(evaluation, structure, x, posterior)
        step, errors = _em_step_and_standard_errors(
            marginal, x, evaluation, objective, held, bounds
        )
        values.append(evaluation.value + objective.log_prior(structure, x).value)
        done = bool(np.max(np.abs(step) / errors, initial=0.0) < SEARCH.em_step_tol)
        earlier = max(values[: -SEARCH.plateau_rounds], default=-np.inf)
        done |= bool(max(values) - earlier < SEARCH.plateau_gain)
        if done or _has_vanishing_spread(problem, x, held, log_sd_floors):
            break
        x = squarem.advance(x, step, errors, evaluation.value)
    return _MonteCarloEmResult(x, posterior, rounds)


class _SquaremAccelerator:
    """SQUAREM extrapolation of every second EM step (Varadhan and Roland 2008), within bounds."""

    def __init__(
        self, structure: RandomEffectsStructure, bounds: tuple[Vector, Vector], max_drop: float
    ) -> None:
        self._n_beta, self._max_drop = structure.n_beta, max_drop
        self._bounds = bounds
        self._before: Vector | None = None
        self._fallback: tuple[Vector, float] | None = None

    def has_overshot(self, value: float) -> bool:
        """Whether F is lower than before the last extrapolation."""
        return self._fallback is not None and value < self._fallback[1] - self._max_drop

    def fall_back(self) -> Vector:
        """Undo the extrapolation: the end of the plain EM step before it."""
        assert self._fallback is not None
        x, self._fallback, self._before = self._fallback[0], None, None
        return x

    def advance(self, x: Vector, step: Vector, errors: Vector, value: float) -> Vector:
        """Take an EM step, extrapolated if it is the second since the last extrapolation."""
        longest = np.abs(step[self._n_beta :]).max(initial=0.0)
        low, high = self._bounds
        fraction = min(1.0, TRUST_REGION.max_log_sd_step / max(float(longest), 1e-9))
        new = np.asarray(np.clip(x + fraction * step, low, high))
        before, self._fallback = self._before, None
        self._before = x if before is None else None
        if before is None:
            return new
        r, v = x - before, (new - x) - (x - before)
        v_norm = max(float(np.linalg.norm(v / errors)), 1e-12)
        # Their scheme S3 with the sign of alpha turned; 1 is the plain step, the shortest sensible.
        alpha = min(max(float(np.linalg.norm(r / errors)) / v_norm, 1.0), SEARCH.max_extrapolation)
        self._fallback = new, value
        return np.asarray(np.clip(before + 2 * alpha * r + alpha**2 * v, low, high))


def _em_step_and_standard_errors(
    marginal: MarginalLikelihood,
    x: Vector,
    evaluation: MarginalEvaluation,
    objective: MarginalObjective,
    held: BoolVector,
    bounds: tuple[Vector, Vector],
) -> tuple[Vector, Vector]:
    """EM step in its gradient form, and the complete-data standard errors.

    The M-step is a Newton step with the complete-data information (Lange 1995), which has no noise
    of the draws.
    """
    structure = marginal.structure
    gradient = evaluation.gradient + objective.log_prior(structure, x).gradient
    if objective.restricted:
        gradient -= 0.5 * log_determinant_gradient(marginal, x, evaluation, held)
    information = marginal.complete_data_information(x, evaluation)
    step = np.zeros(len(x))
    at_bound = ((x <= bounds[0]) & (gradient < 0)) | ((x >= bounds[1]) & (gradient > 0))
    free = np.flatnonzero(~held & ~at_bound)
    step[free] = modified_newton_step(gradient[free], information[np.ix_(free, free)])
    return step, standard_errors_from_information(information, held)


def evidences_on_other_nodes(problem: SearchProblem, optimum: SearchResult) -> Vector:
    """Evidences on another problem's nodes about the optimum's posteriors, in memory chunks."""
    structure, rule = problem.structure, problem.quadrature_rule(problem.nodes_per_dimension)
    at_once = max(SEARCH.max_nodes_at_once // rule.n_nodes, 1)
    evidences = []
    for first in range(0, len(structure.design), at_once):
        which = np.arange(first, min(first + at_once, len(structure.design)))
        own = problem.likelihoods, structure, rule, optimum.x, optimum.posterior, which
        nodes = build_quadrature_nodes(*own, with_fixed_derivatives=False)
        mine = structure._replace(
            design=structure.design[which],
            group=structure.group[which],
            subject_weights=structure.subject_weights[which],
        )
        evidences.append(MarginalLikelihood(nodes, mine).evidence(optimum.x))
    return np.concatenate(evidences)


class CentredNodes(NamedTuple):
    """Marginal likelihood on nodes, and the posteriors about which these lie."""

    marginal: MarginalLikelihood
    posterior: NormalPosteriors


def recentre_nodes(problem: SearchProblem, x: Vector, nearby: CentredNodes) -> CentredNodes:
    """Place nodes about the posteriors under parameters x, starting from nodes of nearby ones."""
    marginal, before = nearby
    for _ in range(SEARCH.max_recentrings):
        posterior = updated_posterior(marginal.evaluate(x), problem.structure, x, before)
        marginal = problem.marginal_around(x, posterior)
        if posterior_shift(posterior, before).max(initial=0.0) < SEARCH.node_noise:
            break
        before = posterior
    return CentredNodes(marginal, posterior)


def parameter_shift_on_other_nodes(marginal: MarginalLikelihood, optimum: SearchResult) -> float:
    """Largest move of a parameter, in standard errors, that other nodes would cause.

    By one Newton step from the difference of the gradients.
    """
    low, high = parameter_bounds(marginal.structure, optimum.log_sd_floors)
    inside = (optimum.x > low + 1e-9) & (optimum.x < high - 1e-9)
    free = np.flatnonzero(~optimum.held & inside)
    information = optimum.information[np.ix_(free, free)]
    errors = standard_errors_from_information(information, optimum.held[free])
    change = (marginal.evaluate(optimum.x).gradient - optimum.evaluation.gradient)[free]
    return float(np.max(np.abs(modified_newton_step(change, information)) / errors, initial=0.0))
