"""The covariance S between people, in numbers without limits, with its derivatives.

S = L L' with L_ab = exp(lambda_a) t_ab, t_aa = 1 and t_ab = 0 above the diagonal: lambda is a
logarithm in units of the coordinate, t has no unit. The first coordinate's standard deviation is
exp(lambda) itself, which is why profiles put the one they are about first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant._typing import Matrix, Vector


@dataclass(frozen=True)
class Spread:
    """How S is written in numbers.

    Attributes
    ----------
    size
        Number of coordinates that differ between people.
    correlated
        Whether their correlations are estimated.
    n_groups
        Covariances: one for everybody, or one per group.
    order
        Coordinates in the order of the factor L; as they are, if empty.
    """

    size: int
    correlated: bool = True
    n_groups: int = 1
    order: tuple[int, ...] = ()

    @cached_property
    def below(self) -> list[tuple[int, int]]:
        """Places of t."""
        if not self.correlated:
            return []
        return [(a, b) for a in range(self.size) for b in range(a)]

    @property
    def n_block(self) -> int:
        """Numbers of one group: logarithms, then t."""
        return self.size + len(self.below)

    @property
    def n_parameters(self) -> int:
        """Numbers of all groups."""
        return self.n_groups * self.n_block

    @property
    def places(self) -> list[int]:
        """The order of the factor."""
        return list(self.order or range(self.size))

    def factor(self, block: Vector) -> Matrix:
        """L of one group, in the order of the factor."""
        lower = np.eye(self.size)
        for value, (a, b) in zip(block[self.size :], self.below, strict=True):
            lower[a, b] = value
        return np.asarray(np.exp(block[: self.size])[:, None] * lower)

    def matrices(self, numbers: Vector) -> Matrix:
        """S of every group: (n_groups, size, size)."""
        blocks = numbers.reshape(self.n_groups, self.n_block)
        return np.stack([self._back(f @ f.T) for f in map(self.factor, blocks)])

    def many(self, numbers: Matrix) -> Matrix:
        """S of every group for many sets of numbers: (n, n_groups, size, size)."""
        blocks = numbers.reshape(len(numbers), self.n_groups, self.n_block)
        lower = np.zeros((*blocks.shape[:2], self.size, self.size))
        lower[...] = np.eye(self.size)
        for k, (a, b) in enumerate(self.below, start=self.size):
            lower[..., a, b] = blocks[..., k]
        lower *= np.exp(blocks[..., : self.size])[..., None]
        return self._back(lower @ np.swapaxes(lower, -1, -2))

    def numbers(self, matrices: Matrix) -> Vector:
        """Inverse of `matrices`."""
        found = []
        for own in matrices:
            ordered = own[np.ix_(self.places, self.places)]
            if not self.correlated:
                found.append(0.5 * np.log(np.diag(ordered)))
                continue
            lower = np.linalg.cholesky(ordered)
            level = np.diag(lower)
            below = [lower[a, b] / level[a] for a, b in self.below]
            found.append(np.concatenate([np.log(level), below]))
        return np.concatenate(found) if found else np.zeros(0)

    def slopes(self, block: Vector) -> tuple[Matrix, Matrix]:
        """Derivatives of L and of S in the numbers of one group: (n_block, size, size) each."""
        factor = self.factor(block)
        first = np.zeros((self.n_block, self.size, self.size))
        for a in range(self.size):
            first[a, a] = factor[a]
        level = np.exp(block[: self.size])
        for k, (a, b) in enumerate(self.below, start=self.size):
            first[k, a, b] = level[a]
        half = first @ factor.T
        return first, self._back(half + np.swapaxes(half, -1, -2))

    def bends(self, block: Vector, pull: Matrix) -> Matrix:
        """tr(pull d2S) of all pairs of numbers of one group, for a symmetric matrix `pull`."""
        factor, (first, _) = self.factor(block), self.slopes(block)
        places = self.places
        own = pull[np.ix_(places, places)]
        found = 2.0 * np.einsum("kxz,lxz->kl", own @ first, first)
        along = 2.0 * own @ factor  # tr(pull dL L') = sum of dL * pull L
        for a in range(self.size):
            found[a, a] += factor[a] @ along[a]
        for k, (a, b) in enumerate(self.below, start=self.size):
            both = np.exp(block[a]) * along[a, b]
            found[a, k] += both
            found[k, a] += both
        return np.asarray(found)

    def prior(self, numbers: Vector) -> tuple[float, Vector, Matrix]:
        """Log-density that keeps spreads from vanishing and correlations from 1; its derivatives.

        Proportional to each standard deviation (the limit of Chung et al. 2013's gamma of shape 2)
        and to the determinant of the correlations, LKJ(2): sum_a lambda_a - log(n_a) / 2 with
        n_a = 1 + sum_b t_ab^2.
        """
        size = self.n_parameters
        value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
        for g in range(self.n_groups):
            first = g * self.n_block
            value += float(numbers[first : first + self.size].sum())
            gradient[first : first + self.size] = 1.0
            for a in range(self.size):
                own = [first + self.size + k for k, (c, _) in enumerate(self.below) if c == a]
                t = numbers[own]
                level = 1.0 + float(t @ t)
                value -= 0.5 * float(np.log(level))
                gradient[own] = -t / level
                bend = -np.eye(len(own)) / level + 2.0 * np.outer(t, t) / level**2
                hessian[np.ix_(own, own)] = bend
        return value, gradient, hessian

    def _back(self, ordered: Matrix) -> Matrix:
        """From the order of the factor to that of the coordinates."""
        if not self.order:
            return ordered
        inverse = np.argsort(self.places)
        return ordered[..., inverse, :][..., :, inverse]
