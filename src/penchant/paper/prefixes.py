"""Estimates from the first k decisions, for every k and every replicate, in one compiled call.

More decisions never take an estimate away: a direction that separates k decisions separates any
part of them, and variation within choice sets only adds up. So each replicate has a first k at
which its maximum exists. A bisection finds it, by the certificates and the linear program of `fit`;
from there on wherever Newton's method arrived is the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from penchant._progress import progress
from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.batch import Grouping, fit_batch, settled
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import NEWTON_STEPS, WEAK, fit_choices
from penchant.softmax.likelihood import available_threads

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
    exists: BoolVector

    @property
    def n_decisions(self) -> IntVector:
        """k = 1, 2 ..."""
        return np.arange(1, len(self.theta) + 1)

    @property
    def n_replicates(self) -> int:
        """How many replicates there are."""
        return int(self.exists.shape[1])

    @property
    def missing(self) -> IntVector:
        """Replicates without a finite estimate, for every k."""
        return np.asarray((~self.exists).sum(axis=1))

    @property
    def standard_errors(self) -> Matrix:
        """NaN where there is no finite estimate."""
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
    >>> from penchant.paper.prefixes import fit_prefixes
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
        batch = fit_batch(choices, groups, None, NEWTON_STEPS, workers, advance)
    covariance, conditions = batch.covariances()
    totals = np.diff(groups.bounds).astype(np.float64)
    proven = settled(batch, covariance, conditions, totals, has_prior=False)
    arrived = batch.converged & (conditions <= WEAK)
    found = _Found(
        batch.theta.reshape(repeats, n, d),
        covariance.reshape(repeats, n, d, d),
        proven.reshape(repeats, n),
        (arrived | proven).reshape(repeats, n),
    )
    with progress(f"{what}: existence", repeats) as advance:
        for r in range(repeats):
            found.settle(r, partial(_fit_first, choices.subset(r * n + np.arange(n))))
            advance(1)
    return Prefixes(
        found.theta.transpose(1, 0, 2), found.covariance.transpose(1, 0, 2, 3), found.exists.T
    )


def _fit_first(choices: Choices, k: int) -> Estimate:
    return fit_choices(choices.subset(np.arange(k)), threads=1)


def _all_prefixes(repeats: int, n: int) -> Grouping:
    """Every beginning of every replicate as a subject of its own."""
    one = np.concatenate([np.arange(k) for k in range(1, n + 1)])
    order = (np.arange(repeats)[:, None] * n + one).ravel()
    sizes = np.tile(np.arange(1, n + 1), repeats)
    return Grouping(order, np.concatenate([[0], np.cumsum(sizes)]))


@dataclass
class _Found:
    """Results by replicate, settled one replicate after the other.

    `exists` begins as what is proven and ends as what is true; `arrived` says where Newton's method
    ended at a maximum, if there is one.
    """

    theta: Matrix
    covariance: Matrix
    exists: BoolVector
    arrived: BoolVector

    def settle(self, r: int, fitted: Callable[[int], Estimate]) -> None:
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
