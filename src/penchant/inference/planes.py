"""Weights on planes: what is known of the others where one natural parameter is held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.inference import _kernels as compiled
from penchant.inference.rows import Rows
from penchant.models.model import Natural
from penchant.softmax.batch import fit_table


@dataclass(frozen=True)
class Planes:
    """Planes theta = origin + basis phi, one for each pair of a subject and a psi.

    Attributes
    ----------
    origin, basis
        (n, n_weights) and (n, n_weights, dimension).
    row, value
        The same as an equation: row' theta = value.
    """

    origin: Matrix
    basis: Matrix
    row: Matrix
    value: Vector

    @classmethod
    def of(cls, natural: Natural, values: Vector, d: int) -> Planes:
        """Where a natural parameter made of weights has these values."""
        n = len(values)
        origin, basis = np.zeros((n, d)), np.repeat(np.eye(d)[None], n, axis=0)
        row, right = np.zeros((n, d)), np.zeros(n)
        row[:, natural.index] = 1.0
        if natural.kind == "ratio":
            basis[:, natural.index, natural.other] = values
            row[:, natural.other] = -values
        else:
            right = _weight(natural, values)
            origin[:, natural.index] = right
        return cls(origin, np.delete(basis, natural.index, axis=2), row, right)

    @classmethod
    def joined(cls, parts: Sequence[Planes]) -> Planes:
        """One after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def take(self, which: object) -> Planes:
        """Some of them."""
        return Planes(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def coordinates(self, theta: Matrix) -> Matrix:
        """phi of weights near the planes."""
        away = theta - self.origin
        inverse = np.linalg.pinv(self.basis)
        return np.asarray(np.einsum("kra,ka->kr", inverse, away))


def _weight(natural: Natural, values: Vector) -> Vector:
    """The weight of which a natural parameter is made."""
    if natural.kind == "reciprocal":
        return 1.0 / values
    if natural.kind == "share":
        return -np.asarray(special.logit(values / natural.scale))
    return values.copy()


def best_on_planes(
    x: Matrix, rows: Rows, planes: Planes, near: Matrix | None
) -> tuple[Matrix, Vector, Matrix, BoolVector]:
    """Weights, log-likelihoods, informations, and whether Newton's method ended at a maximum."""
    n, d, dimension = planes.basis.shape
    theta, settled = planes.origin.copy(), np.ones(n, dtype=bool)
    if dimension:
        lengths = np.diff(rows.events)
        on_plane, offset = np.empty((*x.shape[:2], dimension)), np.empty(x.shape[:2])
        for k in range(n):
            mine = slice(rows.events[k], rows.events[k + 1])
            np.matmul(x[mine], planes.basis[k], out=on_plane[mine])
            np.matmul(x[mine], planes.origin[k], out=offset[mine])
        assert int(lengths.sum()) == len(x)
        start = None if near is None else planes.coordinates(np.nan_to_num(near))
        known = offset if offset.any() else None
        batch = fit_table(on_plane, rows.chosen, rows.grouping, None, start, known)
        theta += np.einsum("kar,kr->ka", planes.basis, batch.theta)
        settled = batch.converged & np.isfinite(batch.value)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *rows.scored, theta, sums, gradient, information)
    return theta, sums, information, settled
