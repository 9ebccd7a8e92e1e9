"""Hierarchical fit of a population by maximum marginal likelihood: `fit_population`.

A plan says what is fitted; `fit_population_plan` runs the adaptive quadrature of
`marginal_maximization` until the integration error is small, drops spreads whose maximum is at 0
and gives each an upper limit from its profile likelihood. That no spread was found does not mean
that people are alike: they are described with the spread that a weak prior keeps from vanishing
(Chung et al. 2013), so that their intervals are not those of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import Label, Names, Vector
from penchant.argument_checks import check_one_of
from penchant.choices import Choices
from penchant.choices.scan_protocols import SubjectScan
from penchant.errors import (
    DataError,
    PythonExpression,
    closest_match_hint,
    format_list,
    mark_argument,
)
from penchant.inference.fit import History
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.models.arguments import as_episodes, refuse_no_model
from penchant.models.coordinates import Coordinates, Links
from penchant.models.model import Model
from penchant.models.setting_warnings import doubts_of
from penchant.population.hierarchy.contrasts import WithinConditions, stack_conditions
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.design_matrix import Design, read_design
from penchant.population.hierarchy.marginal_likelihood import LogCholesky, RandomEffectsStructure
from penchant.population.hierarchy.marginal_maximization import (
    SearchProblem,
    SearchResult,
    StartingValues,
    evidences_on_other_nodes,
    maximize_by_quadrature,
    parameter_shift_on_other_nodes,
    starting_values,
)
from penchant.population.hierarchy.quadrature import (
    MIN_NODES_AND_DRAWS,
    NODES_AND_DRAWS_BY_SHAPES,
    NODES_BY_DIMENSION,
    QUADRATURE,
)
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.hierarchy.result_builder import build_result
from penchant.population.hierarchy.subject_likelihoods import (
    ChoiceLikelihoods,
    EpisodeLikelihoods,
    SubjectLikelihoods,
)
from penchant.population.hierarchy.trust_region import sds_over_floors, vanishing_spreads
from penchant.softmax.likelihood import available_threads


@dataclass(frozen=True, slots=True)
class PopulationFitOptions:
    """Limits by which a population fit judges its nodes, its spreads and its defaults."""

    max_fixed_shift: float = 1.0  # typical sds: farther the expansion in fixed coordinates is off
    limit_drop: float = 1.353  # log-units: chi-square(1) point of 90 % over 2, one-sided 95 %
    max_integration_error: float = 0.1  # log-units per hundred subjects: invisible in any digit
    max_nodes: int = 4000  # per subject; finer rules are not tried: time and memory grow with it
    max_draws_shift: float = 0.2  # standard errors; a smaller shift by other draws does no harm
    small_spread: float = 0.3  # of a likelihood's sd; only such spreads are worth a refit without
    min_spread_gain: float = 0.05  # log-units; a spread that gains less may be quadrature error
    diverged_sds: float = 100.0  # typical sds; no person is so far out, so the search has diverged
    suspect_correlation: float = 0.985  # beyond it a maximum is often a local one: restart
    min_subjects: int = 5  # with fewer, the variance between people is hardly estimable
    reml_subjects: int = 50  # REML below: ML understates variances by 1 / N, 2 % here
    subjects_per_covariance: int = 4  # per entry of S; with fewer, correlations run to +-1


FIT = PopulationFitOptions()


class PopulationFitPlan(NamedTuple):
    """A population to fit, before it is decided which coordinates have spread.

    Attributes
    ----------
    likelihoods, design
        Log-likelihoods of subjects, and the covariates of every coordinate's mean.
    random_effect_candidates
        Coordinates that may differ between subjects.
    correlated, group, n_groups
        Whether correlations are estimated; group of each subject with a covariance of its own.
    estimator, nodes
        "ml" or "reml"; nodes per dimension that were asked for.
    with_spread_prior
        Whether spreads have the weak prior that keeps them from vanishing.
    """

    likelihoods: SubjectLikelihoods
    design: Design
    random_effect_candidates: list[int]
    correlated: bool
    group: Any
    n_groups: int
    estimator: str
    nodes: int | None
    with_spread_prior: bool = False

    def random_effects_structure(self, random_coordinates: list[int]) -> RandomEffectsStructure:
        """Structure with spread in these coordinates."""
        n, p = len(self.likelihoods.subjects), len(self.likelihoods.coordinates)
        design = self.design.subject_design_matrices(n)
        fixed = np.array([a for a in range(p) if a not in random_coordinates], dtype=np.int64)
        # Coefficients of coordinates without spread may move until some subject's coordinate has
        # moved by a typical sd: the likelihood is an expansion in them.
        most = np.abs(design).max(axis=0)
        sd = self.likelihoods.typical_range.sd[fixed, None]
        room = np.divide(sd, most[fixed], out=np.full((len(fixed), most.shape[1]), np.inf),
                         where=most[fixed] > 0)  # fmt: skip
        return RandomEffectsStructure(
            design,
            np.array(random_coordinates, dtype=np.int64),
            fixed,
            LogCholesky(
                len(random_coordinates),
                self.correlated and len(random_coordinates) > 1,
                self.n_groups,
            ),
            self.group,
            np.ones(n),
            FIT.max_fixed_shift * room.min(axis=0, initial=np.inf),
        )

    def search_problem(self, random_coordinates: list[int]) -> SearchProblem:
        """Search problem with spread in these coordinates, on the usual nodes."""
        structure = self.random_effects_structure(random_coordinates)
        usual, draws = NODES_BY_DIMENSION.get(len(random_coordinates), 0), QUADRATURE.n_draws
        if not usual:
            usual, draws = NODES_AND_DRAWS_BY_SHAPES.get(
                sum(a < self.likelihoods.coordinates.n_shape for a in random_coordinates),
                MIN_NODES_AND_DRAWS,
            )
        return SearchProblem(
            self.likelihoods,
            structure,
            self.nodes or usual,
            self.estimator == "reml",
            n_draws=draws,
            with_spread_prior=self.with_spread_prior,
        )


class PopulationPlanFit(NamedTuple):
    """A fitted plan: problem, optimum, optimum that describes people, and what is wrong."""

    problem: SearchProblem
    optimum: SearchResult
    descriptive: SearchResult
    integration_error: float
    status: dict[str, str]


def fit_population_plan(plan: PopulationFitPlan) -> PopulationPlanFit:
    """Fit a population, drop spreads of 0, and collect what is wrong with it."""
    status: dict[str, str] = {}
    start = starting_values(
        plan.likelihoods, plan.random_effects_structure(plan.random_effect_candidates).design
    )
    best = _fit_with_random_effects_in(plan, plan.random_effect_candidates, start)
    random, dropped = list(plan.random_effect_candidates), []
    while True:
        reduced = _drop_smallest_random_effect(plan, random, best, start)
        if reduced is None:
            break
        dropped.append((random[reduced.dropped], best.optimum))
        random, best = reduced.random, reduced.candidate
    problem, optimum, error = best
    for a, before in dropped:
        name = plan.likelihoods.coordinates.names[a]
        words = f"No spread was found in {name}"
        if len(plan.random_effect_candidates) <= QUADRATURE.max_product_dimensions:
            most = _sd_upper_limit(plan, [*random, a], a, before, start)
            words += (
                f": its standard deviation is at most {most:.3g} "
                f"({plan.likelihoods.coordinates.links[name]})"
                if np.isfinite(most)
                else ", and the decisions set no limit to it"
            )
        status["no spread in " + name] = words + "."
    if not error.converged:
        worst = np.argsort(-np.abs(error.differences))[:5]  # a longer list would not be read
        people = format_list(str(plan.likelihoods.subjects[i]) for i in worst)
        other, advice = "more nodes", f"give more than nodes={problem.nodes_per_dimension}"
        if problem.uses_draws:
            other, advice = "other draws", _simplification_advice(problem)
        elif plan.nodes is None:
            advice = _simplification_advice(problem)
        status["integration not settled"] = (
            f"The log-likelihood changes by {error.total:.2g} with {other}, most for {people}: "
            f"{advice}."
        )
    if not optimum.converged:
        status["stopped early"] = (
            f"The search stopped after {optimum.n_rounds} rounds before parameters stood still: "
            f"{_simplification_advice(problem)}."
        )
    descriptive = _fit_with_spread_prior(plan, optimum, start) if dropped else optimum
    return PopulationPlanFit(problem, optimum, descriptive, error.total, status)


def _simplification_advice(problem: SearchProblem) -> str:
    """Advice for a population with more parameters than the decisions identify."""
    fewer = f"let fewer parameters differ ({mark_argument('random', PythonExpression('[...]'))})"
    if not problem.structure.spread.correlated:
        return fewer
    return f"leave correlations out ({mark_argument('spread', 'diagonal')}), or {fewer}"


class _Candidate(NamedTuple):
    """A problem, its optimum, and the integration error there."""

    problem: SearchProblem
    optimum: SearchResult
    error: _IntegrationError

    @classmethod
    def from_optimum(cls, problem: SearchProblem, optimum: SearchResult) -> _Candidate:
        """Estimate the integration error of an optimum."""
        return cls(problem, optimum, _integration_error(problem, optimum))


def _fit_with_random_effects_in(
    plan: PopulationFitPlan, random: list[int], start: StartingValues
) -> _Candidate:
    """Fit with spread in given coordinates, on finer rules until the integration error is small.

    A maximum at the end of a correlation's range is searched for from a second start as well.
    """
    problem = plan.search_problem(random)
    optimum = maximize_by_quadrature(problem, start)
    first = _Candidate.from_optimum(problem, optimum)
    if len(vanishing_spreads(problem.structure, optimum.x, optimum.log_sd_floors)):
        return first
    best = first
    while plan.nodes is None and not best.error.converged and _is_finer_rule_affordable(plan, best):
        problem = problem.with_finer_rule()
        structure = problem.structure
        here = start._replace(
            beta=optimum.x[: structure.n_beta],
            spread_parameters=optimum.x[structure.n_beta :],
            posterior=optimum.posterior,
        )
        optimum = maximize_by_quadrature(problem, here)
        best = _Candidate.from_optimum(problem, optimum)
    costly = optimum.converged and problem.uses_draws
    if problem.structure.spread.correlated and _may_be_local_maximum(optimum) and not costly:
        differences = start._replace(between_covariance=np.diag(np.diag(start.between_covariance)))
        other = maximize_by_quadrature(problem, differences)
        gain = problem.objective.value(other.marginal, other.x)
        gain -= problem.objective.value(optimum.marginal, optimum.x)
        if other.converged and (gain > 0 or not optimum.converged):
            return _Candidate.from_optimum(problem, other)
    return best


def _is_finer_rule_affordable(plan: PopulationFitPlan, reached: _Candidate) -> bool:
    """Whether the next finer rule stays within the nodes' budget; draws are doubled once only."""
    problem = reached.problem.with_finer_rule()
    if problem.uses_draws:
        return (
            reached.problem.n_draws
            == plan.search_problem(problem.structure.random_coordinates.tolist()).n_draws
        )
    return problem.quadrature_rule(problem.nodes_per_dimension).n_nodes <= FIT.max_nodes


def _may_be_local_maximum(optimum: SearchResult) -> bool:
    """Whether a maximum is at the end of a correlation's range, or was not reached."""
    structure = optimum.marginal.structure
    matrices = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    r = matrices / (sd[:, :, None] * sd[:, None, :]) - np.eye(structure.spread.size)
    return not optimum.converged or float(np.abs(r).max()) > FIT.suspect_correlation


class _ReducedFit(NamedTuple):
    """Index of the spread that was dropped, the coordinates left with one, and their fit."""

    dropped: int
    random: list[int]
    candidate: _Candidate


def _drop_smallest_random_effect(
    plan: PopulationFitPlan, random: list[int], best: _Candidate, start: StartingValues
) -> _ReducedFit | None:
    """Fit without the smallest spread that is worth nothing; None where each is worth something."""
    problem, optimum = best.problem, best.optimum
    structure = problem.structure
    if not random or problem.with_spread_prior:
        return None
    shares = sds_over_floors(structure, optimum.x, optimum.log_sd_floors)
    flat = vanishing_spreads(structure, optimum.x, optimum.log_sd_floors)
    level = problem.objective.value(optimum.marginal, optimum.x) if optimum.converged else -np.inf
    if problem.uses_draws or not best.error.converged:
        # Refits are too costly, or differences of F not reliable: drop only spreads at 0.
        shares = np.where(np.isin(np.arange(len(shares)), flat), shares, np.inf)
    for c in np.argsort(shares):  # smallest first: likeliest worth nothing; refits are costly
        if shares[c] > FIT.small_spread:
            break
        others = [a for b, a in enumerate(random) if b != c]
        here = start._replace(beta=optimum.x[: structure.n_beta])
        without = _fit_with_random_effects_in(plan, others, here)
        loss = level - without.problem.objective.value(without.optimum.marginal, without.optimum.x)
        if loss < FIT.min_spread_gain or c in flat:
            return _ReducedFit(int(c), others, without)
    return None


def _fit_with_spread_prior(
    plan: PopulationFitPlan, optimum: SearchResult, start: StartingValues
) -> SearchResult:
    """Fit under a weak prior that keeps spreads from vanishing, to describe people by.

    The prior sets no upper end: where the decisions set none either, as of people at the bounds of
    a rate, spread and mean may diverge together. Then the optimum without it describes people.
    """
    problem = replace(plan.search_problem(plan.random_effect_candidates), with_spread_prior=True)
    reached = optimum.x[: problem.structure.n_beta]
    for first in (reached, start.beta):
        if not _has_diverged(plan, problem.structure, first):
            wide = maximize_by_quadrature(problem, start._replace(beta=first))
            if not _has_diverged(plan, wide.marginal.structure, wide.x):
                return wide
    return optimum


def _has_diverged(plan: PopulationFitPlan, structure: RandomEffectsStructure, x: Vector) -> bool:
    """Whether means, or spreads if x has them, are far beyond the typical range of people."""
    centre, sd = plan.likelihoods.typical_range
    far = (np.abs(structure.means(x[: structure.n_beta]) - centre) > FIT.diverged_sds * sd).any()
    if len(x) > structure.n_beta:
        matrices = structure.spread.covariance_matrices(x[structure.n_beta :])
        spreads = np.sqrt(np.einsum("gaa->ga", matrices))
        far |= (spreads > FIT.diverged_sds * sd[structure.random_coordinates]).any()
    return bool(far)


class _IntegrationError(NamedTuple):
    """Estimated error of F, change of each subject's evidence, and whether they are small."""

    total: float
    differences: Vector
    converged: bool


def _integration_error(problem: SearchProblem, optimum: SearchResult) -> _IntegrationError:
    """Integration error: changes of subjects' evidences with the next finer rule.

    Its total sums absolute changes, as signed ones may cancel although every integral is off. The
    signed sum has a stricter limit with many subjects: an error that all have in common moves
    estimates in units of their standard errors the more, the more people there are.
    """
    n = len(problem.structure.design)
    if not len(problem.structure.random_coordinates):
        return _IntegrationError(0.0, np.zeros(n), True)
    if problem.uses_draws:
        return _integration_error_of_draws(replace(problem, n_draws=optimum.n_draws), optimum)
    differences = (
        evidences_on_other_nodes(problem.with_finer_rule(), optimum) - optimum.evaluation.evidence
    )
    total, common = float(np.abs(differences).sum()), abs(float(differences.sum()))
    hundreds = max(1.0, n / 100)
    converged = (
        total < FIT.max_integration_error * hundreds
        and common < FIT.max_integration_error * np.sqrt(hundreds)
    )
    return _IntegrationError(total, differences, bool(converged))


def _integration_error_of_draws(problem: SearchProblem, optimum: SearchResult) -> _IntegrationError:
    """Integration error of draws: change of F with half of them, or with others and more.

    Errors of draws are many, small and independent, so that the root of the sum of their squares is
    the size of their sum. It is enough that parameters hardly move with other draws.
    """
    differences = optimum.evaluation.evidence - evidences_on_other_nodes(
        problem.with_coarser_rule(), optimum
    )
    enough = FIT.max_integration_error * max(1.0, float(np.sqrt(len(differences) / 100)))
    if _total_integration_error(differences) < enough:
        return _IntegrationError(_total_integration_error(differences), differences, True)
    other = problem.with_check_rule().marginal_around(optimum.x, optimum.posterior)
    differences = other.evidence(optimum.x) - optimum.evaluation.evidence
    converged = (
        _total_integration_error(differences) < enough
        or parameter_shift_on_other_nodes(other, optimum) < FIT.max_draws_shift
    )
    return _IntegrationError(_total_integration_error(differences), differences, converged)


def _total_integration_error(differences: Vector) -> float:
    return float(max(abs(differences.sum()), np.sqrt((differences**2).sum())))


def _sd_upper_limit(
    plan: PopulationFitPlan, random: list[int], a: int, optimum: SearchResult, start: StartingValues
) -> float:
    """Upper 95 % limit of coordinate a's sd: where its profile likelihood falls by 1.35."""
    random = sorted(random)
    problem = plan.search_problem(random)
    structure = problem.structure
    c = random.index(a)
    order = (c, *(b for b in range(len(random)) if b != c))
    spread = LogCholesky(
        structure.spread.size, structure.spread.correlated, structure.spread.n_groups, order
    )
    own = replace(
        problem,
        structure=structure._replace(spread=spread),
        nodes_per_dimension=min(problem.nodes_per_dimension, 5),
        n_draws=32,
        restricted=False,
        with_spread_prior=False,
        step_tol=0.05,
    )
    hold = np.zeros(spread.n_parameters, dtype=bool)
    hold[:: spread.n_per_group] = True
    first = np.stack(
        [np.diag(np.diag(start.between_covariance)[random])] * structure.spread.n_groups
    )
    floor = float(
        optimum.log_sd_floors[optimum.marginal.structure.random_coordinates.tolist().index(a)]
    )

    def profile_log_likelihood_at(log_sd: float) -> float:
        numbers = spread.parametrize(first)
        numbers[:: spread.n_per_group] = log_sd
        here = start._replace(beta=optimum.x[: structure.n_beta], spread_parameters=numbers)
        return maximize_by_quadrature(own, here, hold).evaluation.value

    # Step up by factors of 3 from a negligible sd until the profile has fallen, then bisect to
    # about 15 %: the limit is reported to few digits, and every value is a search.
    low, high = floor + np.log(40.0), np.inf
    best = profile_log_likelihood_at(low)
    while not np.isfinite(high):
        if low > floor + 12:  # 160 000 times the floor: the decisions set no limit
            return float("inf")
        value = profile_log_likelihood_at(low + np.log(3.0))
        best = max(best, value)
        if value < best - FIT.limit_drop:
            high = low + np.log(3.0)
        else:
            low += np.log(3.0)
    for _ in range(3):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if profile_log_likelihood_at(middle) >= best - FIT.limit_drop
            else (low, middle)
        )
    return float(np.exp(0.5 * (low + high)))


def fit_population(
    data: Choices | Sequence[History] | SubjectScan,
    model: Model | None = None,
    *,
    covariates: Sequence[str] | None = None,
    formula: Mapping[str, str] | None = None,
    people: Any = None,
    within: Any = None,
    varying: Sequence[str] | None = None,
    random: Sequence[str] | None = None,
    spread: str | None = None,
    links: Links = None,
    estimator: Literal["ml", "reml"] | None = None,
    nodes: int | None = None,
    covariance: Literal["model", "robust"] = "model",
    spread_prior: Literal["gamma"] | None = None,
    threads: int | None = None,
) -> PopulationFit:
    """Estimate a population and everybody in it together.

    Every subject has parameters of their own, drawn from a normal distribution on scales without
    limits (`links`). Its mean, which may depend on covariates, and its covariance maximise the
    likelihood of all decisions, the parameters of the subjects integrated out by adaptive
    Gauss-Hermite nodes. Nobody is left out.

    Parameters
    ----------
    data
        Episodes or offers of many subjects, with a model; or `Choices` with subjects, without: a
        mixed logit. Or a `scan` of these, which is read at once.
    model
        As in `fit`.
    covariates
        Columns of `people` on which the mean of every parameter depends. Numbers are centred,
        factors have treatment coding: a level's coefficient is its difference from the first.
    formula
        Instead, a formula per parameter: {"learning_rate": "~ group * age"}. Needs
        penchant[formula].
    people
        A table with a row per subject and a column `subject`.
    within
        Conditions under which the same subjects decided: a name for what the blocks of the episodes
        are, such as "drug", or {"drug": labels}, a label per episode.
    varying
        Parameters that differ between conditions; all, if not given.
    random
        Parameters that differ between subjects; all, if not given. The others are the same for
        everybody but for covariates.
    spread
        "full": parameters are correlated between people; "diagonal": they are not; "by group": each
        level of a factor has a spread of its own ("by sex" for the factor sex). If not given,
        "full" where people are four times its variances and covariances or more (12, 24, 40 and 60
        people of two, three, four and five parameters), otherwise "diagonal", and the notes say so.
    links
        Scales by parameter: "identity", "log", "negative log" or ("logit", low, high); for weights
        and ratios. A weight on "log" is log-normal. A ratio of weights, such as a bonus in units of
        rewards, on "weight" is carried by its weight (bonus/temperature); "weights": all ratios
        are. That predicts people better who hardly decide by what they would be measured in.
    estimator
        "ml", or "reml", which does not count the means as known; REML below 50 subjects, if not
        given.
    nodes
        Nodes in each direction; 11, 9 and 7 of one, two and three parameters, if not given.
    covariance
        Of the coefficients: "model", by the observed information; "robust", over subjects.
    spread_prior
        "gamma" keeps standard deviations from vanishing and correlations from 1, with a prior
        proportional to each standard deviation (Chung et al. 2013) and LKJ(2); none, if not given.
    threads
        Processors to use; all, if not given. The answer does not depend on it.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_population(people, pn.HyperbolicDiscounting())
    <PopulationFit of 20 subjects, one subject decides: discount_rate=0.0235, temperature=2.37>
    """
    refuse_no_model(model)
    _check_arguments(spread, estimator, nodes, covariance, spread_prior)
    if isinstance(data, SubjectScan):
        data = data.load("a population")
    workers = available_threads() if threads is None else threads
    if people is None and hasattr(data, "people"):
        people = _covariate_table_of_reading(data, covariates, formula)
    if getattr(data, "kind", None) == "choices":  # what pn.read returns wraps them
        data = getattr(data, "data", data)
    likelihoods, conditions = build_likelihoods(data, model, within, varying, links, workers)
    n = len(likelihoods.subjects)
    if n < FIT.min_subjects:
        raise DataError(
            "data",
            f"must hold at least {FIT.min_subjects} subjects for a population",
            got=n,
            fix="Fit them one by one with fit_each.",
        )
    names = likelihoods.coordinates.names
    differing = _random_effect_indices(random, names)
    design = read_design(names, likelihoods.subjects, covariates, formula, people)
    notes = [] if model is None else list(doubts_of(model, as_episodes(data)))
    if spread is None:
        spread = "full" if spread_prior is not None else default_spread(n, len(differing))
        notes += diagonal_spread_note(n, len(differing)) if spread == "diagonal" else []
    correlated = spread != "diagonal" and len(differing) > 1
    group = np.zeros(n, dtype=np.int64)
    labels: tuple[Label, ...] = ()
    if spread.startswith("by "):
        factor = design.find_factor(spread.removeprefix("by "))
        group, labels = factor.values.astype(np.int64), factor.levels
        fewest = int(np.bincount(group).min())
        if fewest < FIT.min_subjects:
            raise DataError(
                "spread",
                f"must have at least {FIT.min_subjects} subjects in every group",
                got=f"{fewest} in {labels[int(np.bincount(group).argmin())]}",
                fix="Use spread='full'.",
            )
    way = estimator or ("reml" if n < FIT.reml_subjects else "ml")
    with_prior = spread_prior is not None
    if with_prior:
        notes.append(
            "Standard deviations have a weak prior that keeps them from 0, and correlations one "
            "that keeps them from 1 (spread_prior='gamma')."
        )
    n_groups = max(len(labels), 1)
    plan = PopulationFitPlan(
        likelihoods, design, differing, correlated, group, n_groups, way, nodes, with_prior
    )
    fitted = fit_population_plan(plan)
    source = PopulationSource(
        likelihoods=likelihoods,
        model=model,
        data=data,
        design=design,
        conditions=conditions,
        optimum=fitted.optimum,
        descriptive_optimum=fitted.descriptive,
        problem=fitted.problem,
        group_labels=labels,
        covariance_kind=covariance,
    )
    return build_result(source, fitted.integration_error, fitted.status, notes)


def default_spread(n: int, n_differing: int) -> str:
    """Default of `spread` for n people who differ in so many parameters."""
    enough = n >= FIT.subjects_per_covariance * _n_covariances(n_differing)
    return "full" if enough or n_differing < 2 else "diagonal"


def diagonal_spread_note(n: int, n_differing: int) -> list[str]:
    """Note that correlations are left out, why, and how to have them."""
    return [
        f"Correlations between parameters are taken for 0 ({mark_argument('spread', 'diagonal')}): "
        f"{n} subjects are fewer than {FIT.subjects_per_covariance} for each of "
        f"{_n_covariances(n_differing)} variances and covariances. "
        f"{mark_argument('spread', 'full')} estimates them all the same."
    ]


def _n_covariances(n_differing: int) -> int:
    return n_differing * (n_differing + 1) // 2


def _covariate_table_of_reading(
    data: Any, covariates: Names | None, formula: Mapping[str, str] | None
) -> Any:
    """Table of people from the table that was read; None where no covariate is asked for."""
    asked = [covariates] if isinstance(covariates, str) else [*(covariates or ())]
    for words in (formula or {}).values():
        asked += [name for name in re.findall(r"[^\W\d]\w*", words) if name not in asked]
    return data.people(asked) if asked else None


def build_likelihoods(
    data: Any,
    model: Model | None,
    within: Any,
    varying: Sequence[str] | None,
    links: Links,
    threads: int,
) -> tuple[SubjectLikelihoods, WithinConditions | None]:
    """Log-likelihoods of the data's subjects, and the within-subject conditions if any."""
    if isinstance(data, Choices):
        if model is not None:
            raise DataError(
                "model",
                "must be left out with Choices",
                got="one",
                fix="Their variables are the model.",
            )
        if within is not None or varying is not None:
            raise DataError(
                "within",
                "must be left out with Choices",
                got="it",
                fix="Multiply variables with the condition, Choices.with_interaction.",
            )
        if data.subject is None:
            raise DataError(
                "subject",
                "must be given for a population, as it says who decided",
                got="Choices without subjects",
                fix="Give one label per decision.",
            )
        if not data.observed:
            raise DataError(
                "data", "must hold choices made", got="sets yet to be decided", fix="Fit others."
            )
        coordinates = Coordinates.of_variables(data.names, links)
        return ChoiceLikelihoods(data, coordinates=coordinates, threads=threads), None
    episodes = as_episodes(data)
    if model is None:
        raise DataError(
            "model",
            "must be given with episodes",
            got="none",
            fix="Pass UCL(...) or QLearning(...).",
        )
    coordinates = Coordinates.of_model(model, links)
    by_subject: dict[Any, list[Any]] = {}
    for episode in episodes:
        if episode.subject is None:
            raise DataError(
                "data",
                "must say who decided",
                got="an episode without a subject",
                fix="Give Episode(..., subject=...).",
            )
        by_subject.setdefault(episode.subject, []).append(episode)
    silent = [str(s) for s, mine in by_subject.items() if not any(e.n_decisions for e in mine)]
    if silent:
        raise DataError(
            "data",
            "must hold a decision of every subject",
            got=f"none of {format_list(silent)}",
            fix="Leave them out.",
        )
    if within is None:
        if varying is not None:
            raise DataError(
                "varying",
                "must come with within",
                got="it alone",
                fix="Say what the conditions are.",
            )
        groups = tuple(tuple(mine) for mine in by_subject.values())
        profiles = ProfileProblems(model, groups)
        return EpisodeLikelihoods(
            profiles, tuple(by_subject), coordinates=coordinates, threads=threads
        ), None
    likelihoods, conditions = stack_conditions(
        episodes, model, coordinates, within, varying, threads
    )
    return likelihoods, conditions


def _random_effect_indices(random: Sequence[str] | None, names: Sequence[str]) -> list[int]:
    if random is None:
        return list(range(len(names)))
    asked = [random] if isinstance(random, str) else list(random)
    for name in asked:
        if name not in names:
            raise DataError(
                "random",
                "must name parameters",
                got=f"{name!r}, but they are {', '.join(names)}",
                fix=closest_match_hint(str(name), names) or "Correct it.",
            )
    return [a for a, name in enumerate(names) if name in asked]


def _check_arguments(
    spread: Any, estimator: Any, nodes: Any, covariance: Any, spread_prior: Any
) -> None:
    if not (spread in (None, "full", "diagonal") or str(spread).startswith("by ")):
        raise DataError(
            "spread",
            "must be 'full', 'diagonal' or 'by group'",
            got=repr(spread),
            fix="Choose one.",
        )
    check_one_of(estimator, "estimator", (None, "ml", "reml"))
    check_one_of(covariance, "covariance", ("model", "robust"))
    check_one_of(spread_prior, "spread_prior", (None, "gamma"))
    whole = isinstance(nodes, int | np.integer) and not isinstance(nodes, bool)
    if nodes is not None and not (whole and 3 <= nodes <= 99):
        raise DataError(
            "nodes",
            "must be a whole number from 3 to 99",
            got=repr(nodes),
            fix="Leave it out for the usual.",
        )
