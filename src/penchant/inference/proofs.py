"""Proof, for many subjects at once, that their weights are a maximum that exists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.inference.points import Points
from penchant.inference.profiles import Profiles
from penchant.models.natural_prior import Prior
from penchant.softmax.batch import Batch
from penchant.softmax.diagnostics import Diagnostics
from penchant.softmax.fit import WEAK
from penchant.softmax.fit_each import settled
from penchant.softmax.separation import certificates
from penchant.softmax.solve import NEGLIGIBLE, check_units


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

    exists: BoolVector
    good: BoolVector
    conditions: Vector
    decrement: Vector
    n_weights: int
    prior: Prior | None

    @classmethod
    def of(cls, profiles: Profiles, points: Points, thorough: bool = True) -> Proofs:
        """From the last steps of Newton's method; thorough, if `good` shall be told too."""
        check_units(points.largest.max(axis=0, initial=0.0), profiles.weights)
        n, d = points.theta.shape
        memo = np.zeros((n, 5))
        memo[:, 2] = points.decrement
        codes = np.isfinite(points.decrement).astype(np.int64)  # 1: converged
        batch = Batch(
            points.theta,
            points.information,
            memo,
            codes * points.settled,
            points.spread,
            points.largest,
        )
        covariances, conditions = batch.covariances()
        totals = profiles.n_decisions[points.subject].astype(np.float64)
        inside = np.all(points.theta[:, profiles.positive] > 0, axis=1)
        good = inside & settled(batch, covariances, conditions, totals, profiles.prior is not None)
        exists = inside & batch.converged & batch.surely_identified
        with np.errstate(invalid="ignore"):
            exists &= certificates(batch.largest[:, 1], covariances, batch.decrement, totals)
        doubtful = np.flatnonzero(exists & ~good & (conditions <= WEAK))
        if thorough and len(doubtful) and profiles.prior is None:
            plain = profiles.without_small_differences(points.take(doubtful), NEGLIGIBLE)
            good[doubtful] = plain.converged & certificates(
                plain.largest[:, 1], plain.covariances()[0], plain.decrement, totals[doubtful]
            )
        return cls(exists, good, conditions, points.decrement, d, profiles.prior)

    def diagnostics(self, k: int, n_steps: int) -> Diagnostics:
        """The same in the form of diagnostics, after so many steps of a climb."""
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
