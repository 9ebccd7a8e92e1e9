"""A case where larger options are picked more often, and the estimate is biased downwards.

The paper explains the upward bias of Figure 2 by the choice of larger options. The first-order bias
is -I'/(2 I^2) instead: its sign is that of the third moment of the variables. With positively
skewed variables and small theta0 > 0, where larger options are still picked more often, information
rises with theta and the bias points down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant.choices import Choices
from penchant.softmax.fit_each import fit_each
from penchant.study.paper.information import asymptotics
from penchant.study.paper.prefixes import FINITE

OPTIONS, DECISIONS, THETA = 10, 20, 0.25


@dataclass(frozen=True)
class Counterexample:
    """Estimates with exponential variables, theta0 = 0.25, ten options, twenty decisions.

    `excess_picked` is the mean variable of the options picked less that of all options.
    """

    truth: float
    mean: float
    error_of_mean: float
    predicted_bias: float
    excess_picked: float
    missing: int
    n_replicates: int

    @property
    def bias(self) -> float:
        """Mean estimate less the truth."""
        return self.mean - self.truth


def counterexample(
    *, rng: np.random.Generator, n_replicates: int, threads: int | None = None
) -> Counterexample:
    """Estimate theta from choices among options with exponential variables on one design."""
    x = rng.exponential(size=(DECISIONS, OPTIONS, 1))
    q = THETA * x[..., 0]
    noisy = q + rng.gumbel(size=(n_replicates, DECISIONS, OPTIONS))
    chosen = noisy.argmax(axis=2)
    picked = np.take_along_axis(x[None, ..., 0], chosen[..., None], axis=2)[..., 0]
    choices = Choices.from_arrays(
        np.tile(x, (n_replicates, 1, 1)),
        chosen.ravel(),
        subject=np.repeat(np.arange(n_replicates), DECISIONS),
    )
    estimates = fit_each(choices, threads=threads)
    exists = np.isin(estimates.status, FINITE)
    theta = estimates.theta[exists, 0]
    return Counterexample(
        truth=THETA,
        mean=float(theta.mean()),
        error_of_mean=float(theta.std() / np.sqrt(len(theta))),
        predicted_bias=float(asymptotics(x, np.array([THETA])).bias[-1, 0]),
        excess_picked=float(picked.mean() - x.mean()),
        missing=int((~exists).sum()),
        n_replicates=n_replicates,
    )
