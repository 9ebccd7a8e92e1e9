"""Inner solutions of pairs of a subject and a psi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector


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
