"""Units in which pooled precision is the identity: what is found there holds in all units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Whitened:
    """Estimates and covariances in units of their pooled precision.

    z = R theta with R'R the mean of the precisions C_s^-1. Parameters as unlike in size as 1e-7 and
    10 become alike, and no result depends on their units or on how they are combined.
    """

    estimates: Matrix
    covariances: Matrix
    root: Matrix

    @classmethod
    def of(cls, estimates: Matrix, covariances: Matrix, between: Matrix | None = None) -> Whitened:
        """The units of these subjects; with what is `between` them added to each covariance."""
        spread = covariances if between is None else covariances + between
        unit = np.exp(0.5 * np.log(spread.diagonal(0, 1, 2)).mean(axis=0))
        precision = np.linalg.inv(spread / np.outer(unit, unit)).mean(axis=0)
        root = np.linalg.cholesky((precision + precision.T) / 2).T / unit
        return cls(estimates @ root.T, np.einsum("ab,sbc,dc->sad", root, covariances, root), root)

    def covariance_here(self, covariance: Matrix) -> Matrix:
        """A covariance of the user's units in these."""
        made = self.root @ covariance @ self.root.T
        return np.asarray((made + made.T) / 2)

    def mean_back(self, mean: Vector) -> Vector:
        """A mean in the units of the user."""
        return np.asarray(np.linalg.solve(self.root, mean))

    def covariance_back(self, covariance: Matrix) -> Matrix:
        """A covariance in the units of the user."""
        inverse = np.linalg.inv(self.root)
        made = inverse @ covariance @ inverse.T
        return np.asarray((made + made.T) / 2)


def weighted_mean(estimates: Matrix, covariances: Matrix) -> tuple[Vector, Matrix]:
    """Inverse-variance mean and its covariance: C = (sum C_s^-1)^-1, C sum C_s^-1 theta_s."""
    precisions = np.linalg.inv(covariances)
    covariance = np.linalg.inv(precisions.sum(axis=0))
    return covariance @ np.einsum("sab,sb->a", precisions, estimates), covariance
