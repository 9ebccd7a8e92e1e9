"""Estimates of many subjects at once: many small problems in one compiled, parallel call.

Newton's method runs for all subjects in `_likelihood_kernels.fit_subjects`; those whose maximum is
proven by vectorised checks are done, and the others are fitted one by one by `fit_choices`, with
the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Unpack

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, mark_quoted_argument
from penchant.result_tables import progress
from penchant.softmax import _likelihood_kernels as kernels
from penchant.softmax import separation
from penchant.softmax._moment_codegen import LANES, MomentKernel, moment_kernel
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.fit import (
    WEAK_CONDITION,
    FitEachOptions,
    estimate_from,
    fit_choices,
)
from penchant.softmax.identification import Identification, surely_identified, varies_within_sets
from penchant.softmax.likelihood import (
    aligned_vectors,
    allocate_packing_buffers,
    allocate_sum_workspace,
    available_threads,
    block_rows,
    kernel_table_of_choices,
    map_threads,
    n_moments,
    positive_weight_decisions,
    read_only_kernel_table,
)
from penchant.softmax.maximum_and_covariance import (
    Solution,
    check_variable_magnitudes,
    inverses_and_conditions,
    power_of_two_near_mean_weight,
)
from penchant.softmax.maximum_likelihood import MAX_NEWTON_STEPS
from penchant.softmax.prior import GaussianPrior, ParameterPrior, ScaledPrior
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    bounds_on_small_differences,
    may_depend_on_small_differences,
)

MAX_THETA = 1e150  # squares of larger numbers overflow
SUBJECTS_PER_TASK = 64  # more work than a thread's overhead, and few enough for even loads


@dataclass(frozen=True)
class Batch:
    """Results of the compiled fits, one row per subject."""

    theta: Matrix
    information: Matrix
    search_progress: Matrix
    ending_codes: IntVector
    within_set_mean_square: Matrix
    largest_values_by_variable: Matrix

    def take(self, which: IntVector) -> Batch:
        """Rows of these subjects."""
        return Batch(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    @classmethod
    def concatenated(cls, parts: Sequence[Batch]) -> Batch:
        """Rows of several, one after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def put(self, which: IntVector, others: Batch) -> None:
        """Replace some of the rows in place."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[which] = getattr(others, name)

    @property
    def value(self) -> Vector:
        """Objective at its maximum, without the constant of the prior."""
        return np.asarray(self.search_progress[:, kernels.BEST_VALUE])

    @property
    def decrement(self) -> Vector:
        """Length of the last Newton step, in standard errors."""
        return np.asarray(self.search_progress[:, kernels.DECREMENT])

    @property
    def n_steps(self) -> IntVector:
        """Newton steps."""
        return self.search_progress[:, kernels.N_STEPS].astype(np.int64)

    @property
    def converged(self) -> BoolVector:
        """Newton's method ended at a maximum."""
        return np.asarray(self.ending_codes == kernels.CONVERGED)

    @property
    def surely_identified(self) -> BoolVector:
        """Whether all variables vary inside sets, and no combination of them is near constant."""
        return surely_identified(
            self.within_set_mean_square, varies_within_sets(self.largest_values_by_variable)
        )

    def covariances(self) -> tuple[Matrix, Vector]:
        """Inverse informations and their condition numbers; NaN and infinity where singular."""
        return inverses_and_conditions(self.information)


@dataclass(frozen=True)
class Grouping:
    """Decisions in the order of subjects, and where each subject's begin."""

    order: IntVector
    bounds: IntVector

    @classmethod
    def from_choices(cls, choices: Choices) -> Grouping:
        """Group by subject, each subject's decisions in order of the size of their sets."""
        assert choices.subject is not None and choices.subject_labels is not None
        sizes, subject = choices.n_options, choices.subject
        in_order = bool((subject[1:] >= subject[:-1]).all()) and sizes.min() == sizes.max()
        order = np.arange(len(subject)) if in_order else np.lexsort((sizes, subject))
        kept = positive_weight_decisions(choices, order)
        if not in_order or len(kept) < len(order):
            subject = subject[kept]
        return cls(kept, np.searchsorted(subject, np.arange(len(choices.subject_labels) + 1)))


def fit_batch(
    choices: Choices,
    groups: Grouping,
    prior: ParameterPrior | None,
    max_steps: int | None,
    threads: int,
    report_progress: Callable[[int], None],
    start: Matrix | None = None,
) -> Batch:
    """Fit every subject by Newton's method in compiled code, in parallel."""
    return _fit_in_tasks(
        kernel_table_of_choices(choices),
        choices.n_options - 1,
        choices.n_parameters,
        groups,
        prior,
        max_steps or MAX_NEWTON_STEPS,
        threads,
        report_progress,
        start,
    )


def fit_decision_array(
    x: Matrix,
    chosen: IntVector,
    groups: Grouping,
    prior: ParameterPrior | None,
    start: Matrix | None = None,
    offset: Matrix | None = None,
) -> Batch:
    """Fit groups of the decisions x (n_rows, n_options, n_parameters), taken as they are.

    `offset` (n_rows, n_options) is added to the objective.
    """
    n, m, d = x.shape
    table = kernel_table_of_array(x, chosen, offset)
    return _fit_in_tasks(
        table, np.full(n, m - 1), d, groups, prior, 100, 1, lambda done: None, start
    )


def kernel_table_of_array(
    x: Matrix, chosen: IntVector, offset: Matrix | None = None
) -> tuple[Any, ...]:
    """Table of compiled loops for decisions x (n_rows, n_options, n_parameters)."""
    n, m, d = x.shape
    return read_only_kernel_table(
        np.ascontiguousarray(x).reshape(n * m, d),
        None if offset is None else np.ascontiguousarray(offset).reshape(n * m),
        None,
        np.arange(0, (n + 1) * m, m),
        chosen,
        None,
    )


class LogLikelihoodDerivatives(NamedTuple):
    """Log-likelihoods (...), their gradients (..., d) and expected informations (..., d, d)."""

    value: Matrix
    gradient: Matrix
    information: Matrix


def group_log_likelihood_derivatives(
    table: tuple[Any, ...], groups: Grouping, theta: Matrix
) -> LogLikelihoodDerivatives:
    """Log-likelihoods, gradients and informations of groups at theta (n, n_theta, d) of each.

    Log-likelihoods are NaN where theta is not finite, or nearly so.
    """
    n, n_theta, d = theta.shape
    found = np.empty((n, n_theta)), np.empty((n, n_theta, d)), np.empty((n, n_theta, d, d))
    blocks = _block_rows_and_starts(groups, np.diff(table[3]) - 1)
    kernel = moment_kernel(d, len(table[1]) > 0)
    given = table, kernel, groups.order, groups.bounds, blocks, np.ascontiguousarray(theta)
    kernels.sum_subject_moments(
        *given, found, *_ScratchSizes.from_block_rows(*blocks).allocate_fit_workspace(kernel)
    )
    # Comparisons of vector code pass over NaN, which large numbers would end in, too.
    found[0][~(np.abs(theta) < MAX_THETA).all(axis=2)] = np.nan
    return LogLikelihoodDerivatives(*found)


def _fit_in_tasks(
    table: tuple[Any, ...],
    n_rows: IntVector,
    d: int,
    groups: Grouping,
    prior: ParameterPrior | None,
    max_steps: int,
    threads: int,
    advance: Callable[[int], None],
    start: Matrix | None,
) -> Batch:
    n = len(groups.bounds) - 1
    batch = Batch(
        theta=np.zeros((n, d)) if start is None else np.array(start),
        information=np.zeros((n, d, d)),
        search_progress=np.tile(kernels.NEWTON_START, (n, 1)),
        ending_codes=np.zeros(n, dtype=np.int64),
        within_set_mean_square=np.zeros((n, d, d)),
        largest_values_by_variable=np.zeros((n, 2, d)),
    )
    results = (
        batch.theta,
        batch.information,
        np.zeros((n, d)),
        batch.search_progress,
        batch.ending_codes,
        batch.within_set_mean_square,
        batch.largest_values_by_variable,
    )
    kernel = moment_kernel(d, len(table[1]) > 0)
    blocks = _block_rows_and_starts(groups, n_rows)
    given = table, kernel, groups.order, groups.bounds, blocks
    added = _kernel_prior_terms(prior, d, max_steps)

    scratch = _ScratchSizes.from_block_rows(*blocks)

    def work(begin: int, workspace: Any = None) -> None:
        end = min(begin + SUBJECTS_PER_TASK, n)
        mine = scratch.allocate_fit_workspace(kernel) if workspace is None else workspace
        kernels.fit_subjects(*given, added, results, begin, end, *mine)
        advance(end - begin)

    starts = range(0, n, SUBJECTS_PER_TASK)
    if threads == 1:  # tasks that follow each other can share a workspace
        workspace = scratch.allocate_fit_workspace(kernel)
        for begin in starts:
            work(begin, workspace)
    else:
        map_threads(work, starts, threads)
    return batch


def _block_rows_and_starts(groups: Grouping, n_rows: IntVector) -> tuple[IntVector, IntVector]:
    """Rows of every subject's blocks of eight decisions, and where those of each subject begin."""
    counts = -(-np.diff(groups.bounds) // LANES)
    first = np.append(0, np.cumsum(counts))
    inside = np.arange(first[-1]) - np.repeat(first[:-1], counts)
    begins = np.repeat(groups.bounds[:-1], counts) + LANES * inside
    return block_rows(n_rows, groups.order, begins), first


@dataclass(frozen=True)
class _ScratchSizes:
    """Sizes of the largest subject: number of blocks, rows of all blocks, rows of one block."""

    n_blocks: int
    n_rows: int
    most_rows: int

    @classmethod
    def from_block_rows(cls, rows: IntVector, first: IntVector) -> _ScratchSizes:
        rows_of_subjects = np.diff(np.append(0, np.cumsum(rows))[first])
        most = (int(sizes.max(initial=1)) for sizes in (np.diff(first), rows_of_subjects, rows))
        return cls(*most)

    def allocate_fit_workspace(self, kernel: MomentKernel) -> Any:
        """Packed arrays for one subject, and the workspace of `fit_subjects`."""
        _, _, d, n_columns = kernel
        side = aligned_vectors(2 * self.n_blocks).reshape(self.n_blocks, 2 * LANES)
        starts = np.empty(self.n_blocks + 1, dtype=np.int64)
        of_sums = allocate_sum_workspace(self.most_rows, self.n_blocks, d)
        of_steps = of_sums, np.ones(n_columns), np.empty((d + 2, d))
        state = np.empty(n_moments(d)), np.empty(d), np.empty(d), np.empty((d, d))
        packed = aligned_vectors(self.n_rows * n_columns), starts, side
        return packed, (
            allocate_packing_buffers(self.most_rows, d),
            of_steps,
            np.empty_like(side),
            *state,
        )


def _kernel_prior_terms(
    prior: ParameterPrior | None, d: int, max_steps: int
) -> tuple[Matrix, Vector, float, int]:
    """Precision, linear term, multiple of the squared scales, and the steps allowed."""
    if isinstance(prior, GaussianPrior):
        quadratic = prior.quadratic(d, None)
        return quadratic.precision, quadratic.linear, 0.0, max_steps
    c = prior.c if isinstance(prior, ScaledPrior) else 0.0
    return np.zeros((d, d)), np.zeros(d), float(c), max_steps


def are_maxima_proven_and_identified(
    batch: Batch,
    covariances: Matrix,
    conditions: Vector,
    total_weights: Vector,
    has_prior: bool,
    bound_small_differences: Callable[[IntVector], Vector] | None = None,
) -> BoolVector:
    """Whether the maximum of each subject is proven to exist and to be well identified.

    `total_weights` are the weights of all decisions of each subject, or their number;
    `bound_small_differences` gives the argument of `may_depend_on_small_differences` for some
    subjects, a sharper bound than the totals.
    """
    good = batch.converged & batch.surely_identified
    if has_prior:  # a proper prior guarantees a maximum
        return np.asarray(good)
    good &= conditions <= WEAK_CONDITION
    # the bound by totals is free and clears most subjects; the sharper one costs a pass
    doubtful = np.flatnonzero(good)
    for bound in filter(
        None, ((NEGLIGIBLE_DIFFERENCE * total_weights).__getitem__, bound_small_differences)
    ):
        bounds = batch.largest_values_by_variable[doubtful, 1], batch.information[doubtful]
        doubtful = doubtful[may_depend_on_small_differences(bound(doubtful), *bounds)]
    good[doubtful] = False
    known = batch.largest_values_by_variable[good, 1], covariances[good], batch.decrement[good]
    good[good] = separation.are_exact_maxima_proven(*known, total_weights[good])
    return np.asarray(good)


def fit_each_choices(choices: Choices, **given: Unpack[FitEachOptions]) -> Estimates:
    """Fit every subject by itself: the numbers of `fit`, for thousands in one call."""
    if choices.subject is None or choices.subject_labels is None:
        raise DataError(
            "choices",
            "must say whose they are",
            got="none with a subject",
            fix=f"Pass {mark_quoted_argument('subject')}, or use fit.",
        )
    groups = Grouping.from_choices(choices)
    prior, threads = given.get("parameter_prior"), given.get("threads")
    max_steps = given.get("max_steps")
    workers = available_threads() if threads is None else threads
    options: FitEachOptions = {**given, "threads": 1}  # for subjects that are fitted one by one
    n = len(choices.subject_labels)
    work, units = _rescale_case_weights(choices, n)
    compiled = (  # rarer options are not in the compiled batch: they go subject by subject
        given.get("method", "ml") == "ml"
        and (prior is None or (units == 1.0).all())
        and given.get("constraints") is None
        and given.get("covariance", "model") == "model"
        and choices.observed
    )
    with progress("Fitting subjects", n) as advance:
        batch = None
        good = np.zeros(n, dtype=bool)
        if compiled:
            batch = fit_batch(work, groups, prior, max_steps, workers, advance)
            check_variable_magnitudes(
                batch.largest_values_by_variable.max(axis=0), choices.names
            )  # before anything is inverted
            covariances, conditions = batch.covariances()
            totals = _total_weights(work, groups)
            good = are_maxima_proven_and_identified(
                batch,
                covariances,
                conditions,
                totals,
                prior is not None,
                _small_difference_bounds(work, groups, batch),
            )
            with np.errstate(over="ignore"):  # an infinite variance is the right answer there
                batch.search_progress[:, kernels.BEST_VALUE] *= units
                covariances = covariances / units[:, None, None]
        others = {}
        for i in np.flatnonzero(~good):
            others[int(i)] = _fit_subject(choices, int(i), options)
            if not compiled:
                advance(1)
    if batch is None:
        return Estimates.from_single_estimates(
            choices.subject_labels, [others[i] for i in range(n)]
        )
    return _build_estimates(choices, groups, batch, covariances, conditions, others, prior)


def _small_difference_bounds(
    choices: Choices, groups: Grouping, batch: Batch
) -> Callable[[IntVector], Vector]:
    """Argument `negligible` of `may_depend_on_small_differences` at the estimates, by subjects."""

    def of_some(some: IntVector) -> Vector:
        if not len(some):
            return np.zeros(0)
        given = groups.order, groups.bounds, some
        return bounds_on_small_differences(
            choices, given, batch.theta[some], batch.largest_values_by_variable[some, 1]
        )

    return of_some


def _total_weights(choices: Choices, groups: Grouping) -> Vector:
    if choices.weights is None:
        return np.diff(groups.bounds).astype(np.float64)
    cumulated = np.concatenate([[0.0], np.cumsum(choices.weights[groups.order])])
    return np.asarray(cumulated[groups.bounds[1:]] - cumulated[groups.bounds[:-1]])


def _rescale_case_weights(choices: Choices, n_subjects: int) -> tuple[Choices, Vector]:
    """Choices with weights of mean about 1 for each subject, and the units of these."""
    units = np.ones(n_subjects)
    if choices.weights is None or choices.subject is None:
        return choices, units
    order = np.argsort(choices.subject, kind="stable")
    bounds = np.searchsorted(choices.subject[order], np.arange(n_subjects + 1))
    for i in range(n_subjects):
        units[i] = power_of_two_near_mean_weight(choices.weights[order[bounds[i] : bounds[i + 1]]])
    if (units == 1.0).all():
        return choices, units
    return replace(choices, weights=choices.weights / units[choices.subject]), units


def _fit_subject(choices: Choices, i: int, options: FitEachOptions) -> Estimate:
    """Fit one subject by `fit_choices`."""
    assert choices.subject_labels is not None
    mine = choices.subset(choices.subject == i)
    return replace(fit_choices(mine, **options), subject=choices.subject_labels[i])


def _build_estimates(
    choices: Choices,
    groups: Grouping,
    batch: Batch,
    covariances: Matrix,
    conditions: Vector,
    others: dict[int, Estimate],
    prior: ParameterPrior | None,
) -> Estimates:
    """Estimates from the compiled results and those of subjects fitted one by one."""
    assert choices.subject_labels is not None and choices.subject is not None
    labels = choices.subject_labels
    decisions_of = _decisions_by_subject(choices)

    def estimate(
        i: int,
    ) -> Estimate:  # made on demand: most callers read arrays, and never ask for every object
        if i in others:
            return others[i]
        mine = choices.subset(decisions_of(i))
        found = batch_solution(batch, covariances, conditions, i, prior)
        return estimate_from(found, mine, prior, subject=labels[i])

    theta, likelihood = batch.theta.copy(), batch.value.copy()
    if prior is not None:
        likelihood = np.array([_log_likelihood(batch, i, prior) for i in range(len(labels))])
    status = ["converged"] * len(labels)
    messages = ["The maximum exists and was reached."] * len(labels)
    steps, covariance, condition = batch.n_steps.tolist(), covariances.copy(), conditions.copy()
    for i, other in others.items():
        theta[i], covariance[i], likelihood[i] = other.theta, other.covariance, other.log_likelihood
        status[i], messages[i] = other.status, other.message
        steps[i], condition[i] = other.diagnostics.iterations, other.diagnostics.condition
    return Estimates(
        subjects=labels,
        names=choices.names,
        theta=theta,
        covariance=covariance,
        log_likelihood=likelihood,
        status=tuple(status),
        n_decisions=tuple(_n_decisions(choices, groups).tolist()),
        iterations=tuple(steps),
        condition=condition,
        messages=tuple(messages),
        estimate=estimate,
    )


def _n_decisions(choices: Choices, groups: Grouping) -> IntVector:
    """Number of decisions of each subject, those of weight 0 included."""
    if len(groups.order) == choices.n_decisions:
        return np.diff(groups.bounds)
    assert choices.subject is not None
    return np.bincount(choices.subject, minlength=len(groups.bounds) - 1)


def _decisions_by_subject(choices: Choices) -> Callable[[int], IntVector]:
    """Function that returns the decisions of a subject in order; sorted at the first call."""
    assert choices.subject is not None
    subject = choices.subject

    @cache
    def by_subject() -> Grouping:
        order = np.argsort(subject, kind="stable")
        return Grouping(order, np.searchsorted(subject[order], np.arange(subject.max() + 2)))

    def decisions_of(i: int) -> IntVector:
        groups = by_subject()
        return groups.order[groups.bounds[i] : groups.bounds[i + 1]]

    return decisions_of


def _log_likelihood(batch: Batch, i: int, prior: ParameterPrior) -> float:
    """Objective less the prior's part, in the order of additions of `maximum_a_posteriori`."""
    quadratic = prior.quadratic(
        batch.theta.shape[1], np.sqrt(np.diag(batch.within_set_mean_square[i]))
    )
    return float(batch.value[i]) + quadratic.constant - quadratic(batch.theta[i])


def batch_solution(
    batch: Batch, covariances: Matrix, conditions: Vector, i: int, prior: ParameterPrior | None
) -> Solution:
    """Solution of one subject, as `solve` would return it."""
    d = batch.theta.shape[1]
    scale = np.sqrt(np.diag(batch.within_set_mean_square[i]))
    value, posterior = float(batch.value[i]), None
    if prior is not None:
        posterior = value + prior.quadratic(d, scale).constant
        value = _log_likelihood(batch, i, prior)
    return Solution(
        theta=batch.theta[i],
        covariance=covariances[i],
        log_likelihood=value,
        log_posterior=posterior,
        identified_part=Identification(scale, d, np.empty((0, d)), None),
        ending="converged",
        decrement=float(batch.decrement[i]),
        n_steps=int(batch.n_steps[i]),
        condition=float(conditions[i]),
        certificate="newton" if prior is None else "prior",
        finite_theta=batch.theta[i],
        unblanked_covariance=covariances[i],
    )
