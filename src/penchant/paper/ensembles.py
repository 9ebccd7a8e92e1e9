"""Many more replicates than the paper's hundred, at a few numbers of decisions.

A hundred replicates show a figure and do not decide a sentence: percentiles, biases and coverages
of so few are too noisy. These ensembles are drawn on the design of the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._progress import progress
from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.paper.convergence import HALF_WIDTHS
from penchant.paper.prefixes import FINITE
from penchant.softmax.fit_each import fit_each_choices

CELLS = 4_000_000  # explanatory values that are fitted at once


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
        """Which replicates have a finite estimate."""
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
    chosen = sampled(x[: max(at)], truth, n_replicates, rng)
    found = []
    with progress(f"{what}: replicates", len(at) * n_replicates) as advance:
        for n in at:
            parts = []
            size = max(1, CELLS // x[:n].size)
            for first in range(0, n_replicates, size):
                some = chosen[first : first + size, :n]
                repeated = np.broadcast_to(x[:n], (len(some), *x[:n].shape))
                parts.append(fitted(repeated, some, truth, threads))
                advance(len(some))
            found.append(joined(parts))
    return tuple(found)


def joined(parts: Sequence[Ensemble]) -> Ensemble:
    """Replicates of several ensembles as one."""
    theta, errors, values = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("theta", "standard_errors", "log_likelihood")
    )
    return Ensemble(parts[0].n, parts[0].truth, theta, errors, values)


def sampled(x: Matrix, theta: Vector, n_replicates: int, rng: np.random.Generator) -> IntVector:
    """Options chosen with the probabilities of Eq. (3): (n_replicates, n_decisions)."""
    q = x @ theta
    p = np.exp(q - q.max(axis=1, keepdims=True))
    ends = np.cumsum(p, axis=1)
    drawn = rng.uniform(size=(len(x), n_replicates)) * ends[:, -1:]
    rows = [np.searchsorted(e, u, side="right") for e, u in zip(ends, drawn, strict=True)]
    return np.asarray(np.minimum(np.stack(rows, axis=1), x.shape[1] - 1))


def fitted(x: Matrix, chosen: IntVector, truth: Vector, threads: int | None) -> Ensemble:
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
