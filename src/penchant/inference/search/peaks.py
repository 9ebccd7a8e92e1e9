"""Maxima of profiles: of many subjects at once, and one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.pairs import Points
from penchant.inference.profile.problem import Point
from penchant.inference.profile.profiles import Profiles


@dataclass(frozen=True)
class Peaks:
    """Local maxima of profiles, one row each.

    Attributes
    ----------
    points
        The inner solutions there, with what proves them.
    u
        Their places in search units: (n, n_shape).
    curvature
        Minus the Hessian of the profile in search units: (n, n_shape, n_shape).
    drift
        Derivative of the weights in psi (search units) along the profile: (n, n_weights, n_shape).
    at_bound
        Shape parameters at the end of their range: (n, n_shape).
    n_steps, converged
        Steps that led there, and whether to a maximum.
    kinked
        The profile falls to all sides, but with slopes that jump there.
    """

    points: Points
    u: Matrix
    curvature: Matrix
    drift: Matrix
    at_bound: BoolVector
    n_steps: IntVector
    converged: BoolVector
    kinked: BoolVector

    @classmethod
    def none(cls, profiles: Profiles, n: int) -> Peaks:
        """As many that are not found yet."""
        d, q = profiles.n_weights, profiles.n_shape
        points = profiles.blank(np.arange(n), np.full((n, q), np.nan))
        points.value[:], points.theta[:], points.information[:] = -np.inf, np.nan, np.nan
        shaped = np.full((n, q), np.nan), np.zeros((n, q, q)), np.zeros((n, d, q))
        told = np.zeros((n, q), dtype=bool), np.zeros(n, dtype=np.int64), *np.zeros((2, n), bool)
        return cls(points, *shaped, *told)

    @classmethod
    def of(cls, profiles: Profiles, points: Points) -> Peaks:
        """The inner solutions of a model without shape parameters: there is nothing to climb."""
        found = cls.none(profiles, len(points))
        found.points.put(slice(None), points)
        found.converged[:] = True
        return found

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, k: int) -> Peak:
        return Peak(self, k)

    def __iter__(self) -> Iterator[Peak]:
        return (Peak(self, k) for k in range(len(self)))

    def take(self, rows: Any) -> Peaks:
        """Some of them, as a copy."""
        points = self.points.take(rows)
        return Peaks(points, *(getattr(self, f.name)[rows] for f in fields(self)[1:]))

    def put(self, rows: Any, others: Peaks) -> None:
        """Replace some of them in place."""
        self.points.put(rows, others.points)
        for f in fields(self)[1:]:
            getattr(self, f.name)[rows] = getattr(others, f.name)

    def improve(self, rows: IntVector, others: Peaks) -> None:
        """Replace those that others are higher than."""
        higher = others.points.value > self.points.value[rows]
        self.put(rows[higher], others.take(higher))


@dataclass(frozen=True)
class Peak:
    """One of many peaks."""

    peaks: Peaks
    row: int

    @property
    def point(self) -> Point:
        """The inner solution there."""
        points, k = self.peaks.points, self.row
        return Point(
            points.psi[k],
            points.theta[k],
            float(points.value[k]),
            float(points.log_likelihood[k]),
            points.gradient[k],
            points.information[k],
        )

    @property
    def u(self) -> Vector:
        """Its place in search units."""
        return np.asarray(self.peaks.u[self.row])

    @property
    def curvature(self) -> Matrix:
        """Minus the Hessian of the profile in search units."""
        return np.asarray(self.peaks.curvature[self.row])

    @property
    def at_bound(self) -> BoolVector:
        """Shape parameters at the end of their range."""
        return np.asarray(self.peaks.at_bound[self.row])

    @property
    def n_steps(self) -> int:
        """Steps that led there."""
        return int(self.peaks.n_steps[self.row])

    @property
    def converged(self) -> bool:
        """Whether it is a maximum."""
        return bool(self.peaks.converged[self.row])

    @property
    def kinked(self) -> bool:
        """Whether the profile has a kink there."""
        return bool(self.peaks.kinked[self.row])

    def alone(self) -> Peaks:
        """The same as the only one, as a copy."""
        return self.peaks.take([self.row])

    def __getstate__(self) -> dict[str, Any]:
        return {"peaks": self.alone(), "row": 0}
