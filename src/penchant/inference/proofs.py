"""Proof, for many subjects at once, that their weights are a maximum that exists."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.climbing import Peak
from penchant.inference.profiles import Profiles
from penchant.softmax.batch import Batch
from penchant.softmax.diagnostics import Diagnostics
from penchant.softmax.fit_each import batch_solution, settled
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.separation import certificates
from penchant.softmax.solve import Solution


@dataclass(frozen=True)
class Proofs:
    """What Newton's method proves about the weights of each subject at one psi.

    Attributes
    ----------
    exists
        The maximum exists, is reached, and all weights are told apart.
    good
        Besides, nothing hangs on differences that are negligible; where not, more must be looked
        at than Newton's method.
    """

    batch: Batch
    covariances: Matrix
    conditions: Vector
    exists: BoolVector
    good: BoolVector
    n_options: int
    prior: ParameterPrior | None

    @classmethod
    def of(cls, profiles: Profiles, subject: IntVector, psi: Matrix, theta: Matrix) -> Proofs:
        """At the best weights of each subject."""
        batch, n_options = profiles.confirm(subject, psi, theta)
        covariances, conditions = batch.covariances()
        totals = profiles.n_decisions[subject].astype(np.float64)
        inside = np.all(batch.theta[:, profiles.positive] > 0, axis=1)
        good = inside & settled(batch, covariances, conditions, totals, profiles.prior)
        exists = inside & batch.converged & batch.surely_identified
        exists &= certificates(batch.largest[:, 1], covariances, batch.decrement, totals)
        return cls(batch, covariances, conditions, exists, good, n_options, profiles.prior)

    def solution(self, k: int, peak: Peak) -> Solution:
        """What the estimator of choices would have said of the weights."""
        found = batch_solution(self.batch, self.covariances, self.conditions, k, self.prior)
        return replace(found, theta=peak.point.theta, point=peak.point.theta)

    def diagnostics(self, k: int) -> Diagnostics:
        """The same in the form of diagnostics."""
        return Diagnostics(
            rank=self.batch.theta.shape[1],
            null_directions=(),
            combinations=(),
            decisions_needed=0,
            separation=None,
            near_separation=None,
            condition=float(self.conditions[k]),
            iterations=0,
            decrement=float(self.batch.decrement[k]),
            certificate="newton" if self.prior is None else "prior",
            bounds=(),
        )
