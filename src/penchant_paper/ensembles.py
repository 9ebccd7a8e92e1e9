"""Estimates from the first k decisions of many replicates, and their convergence.

Ensembles have many more replicates than the paper's hundred, at a few numbers of decisions.

More decisions never take an estimate away: a direction that separates k decisions separates any
part of them, and variation within choice sets only adds up. So each replicate has a first k at
which its maximum exists. A bisection finds it, by the certificates and the linear program of `fit`;
from there on wherever Newton's method arrived is the maximum.

A hundred replicates show a figure and do not decide a sentence: percentiles, biases and coverages
of so few are too noisy. These ensembles are drawn on the design of the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from penchant import Choices, Estimate
from penchant._typing import BoolMatrix, BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.result_tables import progress
from penchant.softmax.fit import WEAK_CONDITION, fit_choices
from penchant.softmax.fit_each import (
    Grouping,
    are_maxima_proven_and_identified,
    fit_batch,
    fit_each_choices,
)
from penchant.softmax.likelihood import available_threads
from penchant.tail_probabilities import normal_isf
from penchant_paper.published import PAPER_LEVEL

FINITE = ("converged", "weakly identified")


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Estimates from the first k = 1, 2 ... decisions of every replicate.

    Attributes
    ----------
    theta
        (n_decisions, n_replicates, n_parameters); NaN where there is no finite estimate.
    covariance
        Inverse information at each estimate.
    exists
        (n_decisions, n_replicates): whether there is a finite estimate.
    """

    theta: Matrix
    covariance: Matrix
    exists: BoolMatrix

    @property
    def n_decisions(self) -> IntVector:
        """k = 1, 2 ..."""
        return np.arange(1, len(self.theta) + 1)

    @property
    def n_replicates(self) -> int:
        """Number of replicates."""
        return int(self.exists.shape[1])

    @property
    def missing(self) -> IntVector:
        """Replicates without a finite estimate, for every k."""
        return np.asarray((~self.exists).sum(axis=1))

    @property
    def standard_errors(self) -> Matrix:
        """Standard errors; NaN where there is no finite estimate."""
        return np.sqrt(self.covariance.diagonal(0, 2, 3))

    def covers(self, truth: Vector, half_widths: float) -> Matrix:
        """Share of existing estimates within so many standard errors of the truth."""
        with np.errstate(invalid="ignore"):
            near = np.abs(self.theta - truth) <= half_widths * self.standard_errors
        existing = np.maximum(self.exists.sum(axis=1), 1)[:, None]
        share = near.sum(axis=1) / existing
        some = np.asarray(self.exists.any(axis=1))
        return np.where(some[:, None], share, np.nan)


def fit_prefixes(
    explanatory: Matrix, chosen: IntVector, *, what: str, threads: int | None = None
) -> Prefixes:
    """Fit the first k decisions of every replicate, for every k.

    Parameters
    ----------
    explanatory
        Variables of every decision: (n_replicates, n_decisions, n_options, n_parameters).
    chosen
        Options taken: (n_replicates, n_decisions).
    what
        Word for the progress bar.
    threads
        Processors; all if not given. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant_paper.ensembles import fit_prefixes
    >>> x = np.random.default_rng(0).normal(size=(5, 40, 4, 1))
    >>> found = fit_prefixes(x, x[..., 0].argmax(axis=2), what="Example")
    >>> found.missing[[0, -1]]                            # always the largest: separated
    array([5, 5])
    """
    repeats, n, m, d = explanatory.shape
    choices = Choices.from_arrays(explanatory.reshape(repeats * n, m, d), chosen.ravel())
    groups = _all_prefixes(repeats, n)
    workers = available_threads() if threads is None else threads
    with progress(what, repeats * n) as advance:
        batch = fit_batch(choices, groups, None, None, workers, advance)
    covariance, conditions = batch.covariances()
    totals = np.diff(groups.bounds).astype(np.float64)
    proven = are_maxima_proven_and_identified(
        batch, covariance, conditions, totals, has_prior=False
    )
    arrived = batch.converged & (conditions <= WEAK_CONDITION)
    found = _FittedCells(
        batch.theta.reshape(repeats, n, d),
        covariance.reshape(repeats, n, d, d),
        proven.reshape(repeats, n),
        (arrived | proven).reshape(repeats, n),
    )
    with progress(f"{what}: existence", repeats) as advance:
        for r in range(repeats):
            found.find_first_finite(r, partial(_fit_first, choices.subset(r * n + np.arange(n))))
            advance(1)
    return Prefixes(
        found.theta.transpose(1, 0, 2), found.covariance.transpose(1, 0, 2, 3), found.exists.T
    )


def _fit_first(choices: Choices, k: int) -> Estimate:
    return fit_choices(choices.subset(np.arange(k)), threads=1)


def _all_prefixes(repeats: int, n: int) -> Grouping:
    """Grouping with the first k decisions of every replicate as a subject, for every k."""
    one = np.concatenate([np.arange(k) for k in range(1, n + 1)])
    order = (np.arange(repeats)[:, None] * n + one).ravel()
    sizes = np.tile(np.arange(1, n + 1), repeats)
    return Grouping(order, np.concatenate([[0], np.cumsum(sizes)]))


@dataclass
class _FittedCells:
    """Estimates by replicate and number of decisions, filled in replicate by replicate.

    `exists` begins as what is proven and ends as what is true; `arrived` says where Newton's method
    ended at a maximum, if there is one.
    """

    theta: Matrix
    covariance: Matrix
    exists: BoolMatrix
    arrived: BoolMatrix

    def find_first_finite(self, r: int, fitted: Callable[[int], Estimate]) -> None:
        """Find the first k with a finite estimate; without one before, and with one from there."""
        n = self.exists.shape[1]
        known: dict[int, Estimate] = {}

        def finite(k: int) -> bool:
            known[k] = known.get(k) or fitted(k)
            return known[k].status in FINITE

        proven = np.flatnonzero(self.exists[r])
        first = first_true(finite, int(proven[0]) + 1 if len(proven) else n + 1)
        self.exists[r] = np.arange(1, n + 1) >= first
        for k in (np.flatnonzero(self.exists[r] & ~self.arrived[r]) + 1).tolist():
            self.exists[r, k - 1] = finite(k)
            self.theta[r, k - 1] = known[k].theta
            self.covariance[r, k - 1] = known[k].covariance
        self.theta[r, ~self.exists[r]] = np.nan
        self.covariance[r, ~self.exists[r]] = np.nan


def first_true(condition: Callable[[int], bool], end: int) -> int:
    """First k in 1..end-1 at which a condition that stays true becomes true; else `end`.

    >>> first_true(lambda k: k >= 7, 100), first_true(lambda k: False, 100)
    (7, 100)
    """
    low, high = 1, end
    if end > 1 and not condition(end - 1):
        return end
    while low < high:
        middle = (low + high) // 2
        if middle < end and not condition(middle):
            low = middle + 1
        else:
            high = middle
    return low


HALF_WIDTHS = float(normal_isf((1 - PAPER_LEVEL) / 2))


@dataclass(frozen=True, eq=False)
class Convergence:
    """Estimates of all replicates at every number of decisions, given that they exist.

    Attributes
    ----------
    n
        Numbers of decisions.
    truth
        The true theta.
    missing
        Replicates without a finite estimate: they enter no other column.
    mean, median, low, high
        Of the existing estimates; low and high enclose 95 % of them.
    error_of_mean
        Monte Carlo error of the mean.
    standard_error
        Median of the standard errors of the existing estimates.
    coverage
        Share of their 95 % intervals that hold the truth.
    """

    n: IntVector
    n_replicates: int
    truth: Vector
    missing: IntVector
    mean: Matrix
    median: Matrix
    low: Matrix
    high: Matrix
    error_of_mean: Matrix
    standard_error: Matrix
    coverage: Matrix

    def at(self, n: int) -> int:
        """Row of a number of decisions."""
        return int(np.searchsorted(self.n, n))

    def columns(self, names: tuple[str, ...]) -> dict[str, Sequence[float]]:
        """Table of the estimates by number of decisions."""
        found: dict[str, Sequence[float]] = {"n": self.n.tolist(), "missing": self.missing.tolist()}
        for a, name in enumerate(names):
            found[f"{name}_true"] = [float(self.truth[a])] * len(self.n)
            for word in ("mean", "median", "low", "high", "standard_error", "coverage"):
                found[f"{name}_{word}"] = getattr(self, word)[:, a].tolist()
        return found


def convergence(estimates: Prefixes, truth: Vector) -> Convergence:
    """Summaries of the estimates that exist; NaN where none does."""
    theta = estimates.theta
    tail = 50 * (1 - PAPER_LEVEL)
    count = np.maximum(estimates.exists.sum(axis=1), 1)[:, None]
    some = np.flatnonzero(estimates.exists.any(axis=1))

    def of_existing(summary: Matrix) -> Matrix:
        found = np.full((len(theta), theta.shape[2]), np.nan)
        found[some] = summary
        return found

    spread = of_existing(np.nanstd(theta[some], axis=1))
    return Convergence(
        n=estimates.n_decisions,
        n_replicates=estimates.n_replicates,
        truth=truth,
        missing=estimates.missing,
        mean=of_existing(np.nanmean(theta[some], axis=1)),
        median=of_existing(np.nanmedian(theta[some], axis=1)),
        low=of_existing(np.nanpercentile(theta[some], tail, axis=1)),
        high=of_existing(np.nanpercentile(theta[some], 100 - tail, axis=1)),
        error_of_mean=spread / np.sqrt(count),
        standard_error=of_existing(np.nanmedian(estimates.standard_errors[some], axis=1)),
        coverage=estimates.covers(truth, HALF_WIDTHS),
    )


MAX_VALUES_FITTED_AT_ONCE = 4_000_000  # explanatory values that are fitted at once


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Estimates of many replicates from the same number of decisions.

    Attributes
    ----------
    n
        Decisions.
    truth
        The true theta.
    theta, standard_errors
        (n_replicates, n_parameters); NaN where there is no finite estimate.
    log_likelihood
        At the estimate, or its supremum.
    """

    n: int
    truth: Vector
    theta: Matrix
    standard_errors: Matrix
    log_likelihood: Vector

    @property
    def exists(self) -> BoolVector:
        """Mask of the replicates with a finite estimate."""
        return np.asarray(np.isfinite(self.theta).all(axis=1))

    @property
    def covers(self) -> Matrix:
        """Whether each 95 % interval holds the truth; rows of the existing estimates only."""
        here = self.exists
        reach = HALF_WIDTHS * self.standard_errors[here]
        return np.asarray(np.abs(self.theta[here] - self.truth) <= reach)


def ensembles(
    x: Matrix,
    truth: Vector,
    at: Sequence[int],
    *,
    rng: np.random.Generator,
    n_replicates: int,
    what: str,
    threads: int | None = None,
) -> tuple[Ensemble, ...]:
    """Draw choices on a design and fit the first n of them, for some n.

    Parameters
    ----------
    x
        Variables of every decision: (n_decisions, n_options, n_parameters).
    truth
        The true theta.
    at
        Numbers of decisions.
    rng, n_replicates
        Source of randomness, and draws of the choices.
    what
        Word for the progress bar.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    chosen = sample_choices(x[: max(at)], truth, n_replicates, rng)
    found = []
    with progress(f"{what}: replicates", len(at) * n_replicates) as advance:
        for n in at:
            parts = []
            size = max(1, MAX_VALUES_FITTED_AT_ONCE // x[:n].size)
            for first in range(0, n_replicates, size):
                some = chosen[first : first + size, :n]
                repeated = np.broadcast_to(x[:n], (len(some), *x[:n].shape))
                parts.append(fitted(repeated, some, truth, threads))
                advance(len(some))
            found.append(join_ensembles(parts))
    return tuple(found)


def join_ensembles(parts: Sequence[Ensemble]) -> Ensemble:
    """Replicates of several ensembles as one."""
    theta, errors, values = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("theta", "standard_errors", "log_likelihood")
    )
    return Ensemble(parts[0].n, parts[0].truth, theta, errors, values)


def sample_choices(
    x: Matrix, theta: Vector, n_replicates: int, rng: np.random.Generator
) -> IntMatrix:
    """Options chosen with the probabilities of Eq. (3): (n_replicates, n_decisions)."""
    q = x @ theta
    p = np.exp(q - q.max(axis=1, keepdims=True))
    ends = np.cumsum(p, axis=1)
    drawn = rng.uniform(size=(len(x), n_replicates)) * ends[:, -1:]
    rows = [np.searchsorted(e, u, side="right") for e, u in zip(ends, drawn, strict=True)]
    return np.asarray(np.minimum(np.stack(rows, axis=1), x.shape[1] - 1))


def fitted(x: Matrix, chosen: IntMatrix, truth: Vector, threads: int | None) -> Ensemble:
    """Fit every replicate: x (n_replicates, n_decisions, n_options, n_parameters)."""
    repeats, n = chosen.shape
    choices = Choices.from_arrays(
        x.reshape(repeats * n, *x.shape[2:]),
        chosen.ravel(),
        subject=np.repeat(np.arange(repeats), n),
    )
    found = fit_each_choices(choices, threads=threads)
    exists = np.isin(found.status, FINITE)[:, None]
    return Ensemble(
        n,
        truth,
        np.where(exists, found.theta, np.nan),
        np.where(exists, found.standard_errors, np.nan),
        np.asarray(found.log_likelihood),
    )
