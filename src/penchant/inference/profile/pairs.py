"""Pairs of a subject and a psi: their decisions, their inner solutions, weights held on planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile import _kernels as compiled
from penchant.models.natural import Natural
from penchant.softmax.batch import Grouping, fit_table


class Rows(NamedTuple):
    """The decisions of pairs, one pair after another.

    Attributes
    ----------
    chosen
        Option of every event of every pair.
    events
        Where the events of each pair begin.
    order, bounds
        Which of the events are scored; those of pair k from bounds[k] to bounds[k + 1].
    """

    chosen: IntVector
    events: IntVector
    order: IntVector
    bounds: IntVector

    @property
    def scored(self) -> tuple[IntVector, IntVector, IntVector]:
        """As the compiled loops take them."""
        return self.chosen, self.order, self.bounds

    @property
    def grouping(self) -> Grouping:
        """The decisions scored, and where those of each pair begin."""
        return Grouping(self.order, self.bounds)

    def of(self, k: int) -> IntVector:
        """The decisions of one pair."""
        return self.order[self.bounds[k] : self.bounds[k + 1]]

    def only(self, which: IntVector) -> Rows:
        """Some of the pairs, of the same events."""
        lengths = np.diff(self.bounds)[which]
        return Rows(
            self.chosen,
            self.events,
            self.order[ranges(self.bounds, which)],
            np.concatenate([[0], np.cumsum(lengths)]),
        )


def ranges(starts: IntVector, which: IntVector) -> IntVector:
    """The numbers from starts[w] to starts[w + 1], for one w after another."""
    lengths = starts[which + 1] - starts[which]
    ends = np.cumsum(lengths)
    return np.repeat(starts[which] - ends + lengths, lengths) + np.arange(int(lengths.sum()))


@dataclass(frozen=True)
class Points:
    """Inner solutions of pairs of a subject and a psi, one row each.

    Attributes
    ----------
    subject, psi
        The pairs: (n,), (n, n_shape).
    theta, value, information
        The best weights, the objective there, and minus its second derivative in the weights.
    log_likelihood
        The objective without the prior.
    gradient
        Derivative of the profile in search units (envelope theorem).
    cross
        Derivative of the gradient in the weights by psi, in search units: (n, n_weights, n_shape).
    mixed, fisher
        Expected information on weights and psi together, and on psi: (n, n_weights, n_shape),
        (n, n_shape, n_shape), in search units.
    settled
        Newton's method ended at a maximum.
    decrement, largest, spread
        What proves it: the last Newton step in standard errors; the largest |x| and the largest
        |x_i - x_chosen| of each variable; the variables' spread inside sets.
    """

    subject: IntVector
    psi: Matrix
    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    gradient: Matrix
    cross: Matrix
    mixed: Matrix
    fisher: Matrix
    settled: BoolVector
    decrement: Vector
    largest: Matrix
    spread: Matrix

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, which: Any) -> Points:
        """Some of the rows."""
        return Points(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def put(self, which: Any, others: Points) -> None:
        """Replace some of the rows in place."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[which] = getattr(others, name)

    @classmethod
    def joined(cls, parts: Sequence[Points]) -> Points:
        """Rows of several, one after another."""
        if len(parts) == 1:
            return parts[0]
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


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
        return cls(*natural.plane(values, d))

    @classmethod
    def joined(cls, parts: Sequence[Planes]) -> Planes:
        """One after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def kept(self) -> int:
        """The weight that alone is told by all of them, which have its value; -1 if there is none.

        What is left are the other weights, as they are.
        """
        told = np.flatnonzero(self.row.any(axis=0))
        alone = len(told) == 1 and bool((self.row[:, told[0]] == 1.0).all())
        return int(told[0]) if alone else -1

    def take(self, which: object) -> Planes:
        """Some of them."""
        return Planes(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def coordinates(self, theta: Matrix) -> Matrix:
        """phi of weights near the planes."""
        away = theta - self.origin
        inverse = np.linalg.pinv(self.basis)
        return np.asarray(np.einsum("kra,ka->kr", inverse, away))


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
