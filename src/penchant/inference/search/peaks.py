"""Maxima of profiles, of many subjects at once or of one, and maxima at a limit of the model.

Beside them, what weights that follow psi make of curvatures, and how far they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.errors import argument, either, profile_interval_advice
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Point, Profiles
from penchant.models.natural import Limit, Shape


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

    @classmethod
    def joined(cls, peaks: Sequence[Peak]) -> Peaks:
        """Those of several subjects, one after another, as a copy."""
        if len({id(peak.peaks) for peak in peaks}) == 1:
            return peaks[0].peaks.take([peak.row for peak in peaks])
        parts = [peak.alone() for peak in peaks]
        rest = (np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)[1:])
        return cls(Points.joined([part.points for part in parts]), *rest)

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

    def improve_by_any(self, rows: IntVector, others: Peaks, which: IntVector) -> None:
        """Replace those that some of others are higher than, by the highest of several."""
        value = others.points.value[which]
        order = np.lexsort((-value, rows))
        mine = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
        higher = mine[value[mine] > self.points.value[rows[mine]]]
        if len(higher):
            self.put(rows[higher], others.take(which[higher]))


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


NEAR = 0.15  # share of a range within which a peak may belong to the limit at its end
ALIKE = 1e-5  # log-units by which a limit may be lower than a peak beside it to be the estimate
LEVEL = 1e-8  # and by which other parameters may be
BESIDE = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)  # search units from a limit at which nothing is higher


def settled_at_limits(profiles: Profiles, peaks: Peaks, lost: BoolVector) -> Peaks:
    """Peaks beside a limit that is as high are moved there: nothing tells them apart.

    Towards a limit profiles are flat, and a climb ends where steps gain nothing any more. Weights
    may be so large there that slopes are rounding, and a climb comes to no end: it has come to the
    limit if that is as high, and nothing beside it is higher.
    """
    if not profiles.n_shape:
        return peaks
    width = np.ptp(profiles.bounds, axis=1)
    for q, shape in enumerate(profiles.shape):
        for upper in (False, True):
            if shape.limit(upper) is None:
                continue
            end = profiles.bounds[q, int(upper)]
            away = np.abs(peaks.u[:, q] - end)
            near = (away < NEAR * width[q]) & ~lost & ~peaks.kinked
            near &= (away > 0) | ~peaks.converged
            _move(profiles, peaks, np.flatnonzero(near), q, upper)
    return peaks


def _move(profiles: Profiles, peaks: Peaks, rows: IntVector, q: int, upper: bool) -> None:
    """Put those at the limit that lose nothing by it."""
    if not len(rows):
        return
    u = peaks.u[rows].copy()
    u[:, q] = profiles.bounds[q, int(upper)]
    points = profiles.solve(
        peaks.points.subject[rows],
        profiles.from_search(u),
        peaks.points.theta[rows],
    )
    alike = points.value >= peaks.points.value[rows] - ALIKE
    going = np.flatnonzero(alike & ~peaks.converged[rows])
    if len(going):
        ended = _nothing_is_higher(profiles, points.take(going), u[going], q)
        alike[going], peaks.converged[rows[going]] = ended, ended
    peaks.points.put(rows[alike], points.take(alike))
    peaks.u[rows[alike]] = u[alike]
    peaks.at_bound[rows[alike], q] = True


def _nothing_is_higher(profiles: Profiles, points: Points, u: Matrix, q: int) -> BoolVector:
    """Whether profiles are as high as at places beside them, along all parameters.

    Along parameter q, which is at its limit, they need be alike only.
    """
    low, high = profiles.bounds.T
    ways = np.vstack([np.eye(len(low)), -np.eye(len(low))])
    more = np.tile(np.where(ways[:, q] != 0, ALIKE, LEVEL), len(BESIDE))
    beside = np.stack([np.clip(u + far * way, low, high) for far in BESIDE for way in ways], axis=1)
    n, m, n_shape = beside.shape
    found = profiles.solve(
        np.repeat(points.subject, m),
        profiles.from_search(beside.reshape(n * m, n_shape)),
        np.repeat(points.theta, m, axis=0),
        with_slopes=False,
        patient=False,
    )
    return np.asarray((found.value.reshape(n, m) <= points.value[:, None] + more).all(axis=1))


def ends_reached(shape: Sequence[Shape], peak: Peak) -> Iterator[tuple[Shape, bool, Limit | None]]:
    """Shape parameters at an end of their range: which end, and what it stands for."""
    for q, one in enumerate(shape):
        if peak.at_bound[q]:
            upper = bool(peak.u[q] > np.mean(one.search_range))
            yield one, upper, one.limit(upper)


def at_limits(shape: Sequence[Shape], peak: Peak, psi: Vector) -> Vector:
    """Psi with the limits themselves, 0 or infinity, where their ends were reached."""
    found = psi.copy()
    for one, _, limit in ends_reached(shape, peak):
        q = list(shape).index(one)
        if limit is not None and np.isfinite(found[q]):
            found[q] = limit.value
    return found


def lost_there(shape: Sequence[Shape], peak: Peak) -> frozenset[str]:
    """Natural parameters that have no value of their own at the limits reached."""
    reached = (limit for _, _, limit in ends_reached(shape, peak) if limit is not None)
    return frozenset(name for limit in reached for name in limit.lost)


def at_bounds(profiles: Profiles, peak: Peak, held: Sequence[str]) -> str:
    """The sentence that says where the estimate lies, and what it means there."""
    reached = list(ends_reached(profiles.shape, peak))
    point = peak.point
    limits = [
        limit.words(s.name, float(point.psi[profiles.shape.index(s)]), point.theta)
        for s, _, limit in reached
        if limit is not None
    ]
    n_others = len(held) - len(limits)
    said = [f"The estimate lies at a limit of the model: {'; '.join(limits)}."] if limits else []
    if n_others:
        ends = [
            h for h in held if not any(h.startswith(f"{s.name} = ") for s, _, x in reached if x)
        ]
        of_length = all(h.startswith("length_scale") for h in ends)
        fixed = argument("length_scale" if of_length else "settings")
        said.append(
            f"The estimate lies at a bound ({', '.join(ends)}): the choices do not say how far "
            f"beyond. {profile_interval_advice()}, "
            + either(
                "widen the range, or hold it fixed.",
                f"or hold it fixed ({fixed}).",
            )
        )
    else:
        said.append(f"Nothing lies beyond. {profile_interval_advice()}, or hold it fixed.")
    return " ".join(said)


NOTHING = compiled.NOTHING
STEADY = 3.0  # times their own size, along a search unit, that weights may be expected to move


def expected_around(
    profiles: Profiles, points: Points, planes: Planes | None = None
) -> tuple[Matrix, Matrix, Vector]:
    """What is expected around points: how weights follow psi, the curvature, how far weights run.

    Derivatives of the best weights in psi (n, n_weights, n_shape); minus the Hessian of profiles
    (n, n_shape, n_shape); and how many times their own size the weights move along a search unit.
    Where psi comes to an edge at which variables vanish, weights grow without end.
    """
    n, d, q = points.mixed.shape
    drift, curvature, off = np.empty((n, d, q)), np.empty((n, q, q)), np.empty(n)
    given = held_or_inverses(profiles, points, slice(None), planes)
    known = points.information, points.theta, points.mixed, points.fisher
    compiled.expect(known, given, profiles.positive, drift, curvature, off, rooms(d))
    return drift, curvature, off


def held_or_inverses(
    profiles: Profiles, points: Points, rows: Any, planes: Planes | None
) -> tuple[int, Matrix]:
    """The weight that planes of some rows hold, or -1; and, if they hold others, inverses there."""
    none = np.empty((0, profiles.n_weights, profiles.n_weights))
    if planes is None or planes.kept >= 0:
        return -1 if planes is None else planes.kept, none
    return -1, free_inverse(profiles, points.take(rows), planes.take(rows))


def heights_beside(profiles: Profiles, subject: IntVector, peaks: Peaks, u: Matrix) -> Points:
    """Profiles at places (n, n_places, n_shape) beside peaks of subjects, told where higher.

    Weights begin where they are expected to follow psi to, if that is not far.
    """
    n, m, q = u.shape
    at = peaks.points.take(subject)
    drift, _, off = expected_around(profiles, at)
    drift[~(off < STEADY)] = 0.0
    near = at.theta[:, None] + np.einsum("kaq,kmq->kma", drift, u - peaks.u[subject][:, None])
    return profiles.solve(
        np.repeat(subject, m),
        profiles.from_search(u.reshape(n * m, q)),
        near.reshape(n * m, near.shape[2]),
        with_slopes=False,
        patient=False,
        proven=False,
        floor=np.repeat(at.value, m),
    )


def rooms(n: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
    """For what stands between a matrix (n, n) and its inverse."""
    return np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty(n)


def free_inverse(profiles: Profiles, points: Points, planes: Planes | None = None) -> Matrix:
    """Inverse information of the weights that may move: not held at 0, and on their planes."""
    held = np.zeros(points.theta.shape, dtype=bool)
    held[:, profiles.positive] = points.theta[:, profiles.positive] <= 0
    cut = np.where(held[:, :, None] | held[:, None, :], 0.0, points.information)
    if planes is None:
        return pseudoinverse(cut)
    across = planes.basis.transpose(0, 2, 1)
    return np.asarray(planes.basis @ pseudoinverse(across @ cut @ planes.basis) @ across)


def pseudoinverse(matrices: Matrix) -> Matrix:
    """Inverses by way of a unit diagonal; zeros for directions without information."""
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    scale = np.sqrt(np.where(diagonal > NOTHING, diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, 0.0) / scale[:, :, None] / scale[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    large = values > 1e-14
    inverted = np.where(large, 1.0 / np.where(large, values, 1.0), 0.0)
    inverse = (vectors * inverted[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(inverse / scale[:, :, None] / scale[:, None, :])
