"""Local maxima of profiles, and their neighbourhood: limits of the model and expected curvature.

A maximum beside an end of psi's range that stands for a limit of the model is moved there
(`move_to_limits`). The expected curvature is the Schur complement of the joint expected information
of weights and psi.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.errors import profile_interval_advice
from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.profile.inner_problems import InnerSolutions, LinearConstraint
from penchant.inference.profile.profile_likelihood import FINITE_VALUES, SCREENING, ProfileProblems
from penchant.models.parameters import Limit, Shape


@dataclass(frozen=True)
class Optima:
    """Local maxima of profiles, one row each.

    Attributes
    ----------
    points
        The inner solutions there, with what proves them.
    unconstrained_psi
        psi in unconstrained units: (n, n_shape).
    curvature
        Minus the Hessian of the profile in unconstrained units: (n, n_shape, n_shape).
    weight_derivatives
        Derivative of the weights along the profile, by u: (n, n_weights, n_shape).
    at_bound
        Shape parameters at the end of their range: (n, n_shape).
    n_steps, converged
        Steps taken, and whether they ended at a maximum.
    is_at_kink
        The profile falls to all sides, but its gradient jumps there.
    """

    points: InnerSolutions
    unconstrained_psi: Matrix
    curvature: Matrix
    weight_derivatives: Matrix
    at_bound: BoolVector
    n_steps: IntVector
    converged: BoolVector
    is_at_kink: BoolVector

    @classmethod
    def unsolved_optima(cls, profiles: ProfileProblems, n: int) -> Optima:
        """n optima that are not found yet."""
        d, q = profiles.n_weights, profiles.n_shape
        points = profiles.empty_evaluations(np.arange(n), np.full((n, q), np.nan))
        points.value[:], points.theta[:], points.information[:] = -np.inf, np.nan, np.nan
        shaped = np.full((n, q), np.nan), np.zeros((n, q, q)), np.zeros((n, d, q))
        flags = np.zeros((n, q), dtype=bool), np.zeros(n, dtype=np.int64), *np.zeros((2, n), bool)
        return cls(points, *shaped, *flags)

    @classmethod
    def from_inner_solutions(cls, profiles: ProfileProblems, points: InnerSolutions) -> Optima:
        """Optima of a model without shape parameters: its inner solutions."""
        found = cls.unsolved_optima(profiles, len(points))
        found.points.put(slice(None), points)
        found.converged[:] = True
        return found

    @classmethod
    def concatenated(cls, parts: Sequence[Optima]) -> Optima:
        """Concatenate rows."""
        rest = (np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)[1:])
        return cls(InnerSolutions.concatenated([part.points for part in parts]), *rest)

    def __len__(self) -> int:
        return len(self.unconstrained_psi)

    def __getitem__(self, k: int) -> Optima:
        """Optimum of row k, as a batch of one that shares memory."""
        return self.take(slice(k, k + 1))

    def __iter__(self) -> Iterator[Optima]:
        return (self[k] for k in range(len(self)))

    def take(self, rows: Any) -> Optima:
        """Select rows, as a copy if they are given by an array."""
        points = self.points.take(rows)
        return Optima(points, *(getattr(self, f.name)[rows] for f in fields(self)[1:]))

    def put(self, rows: Any, others: Optima) -> None:
        """Replace rows in place."""
        self.points.put(rows, others.points)
        for f in fields(self)[1:]:
            getattr(self, f.name)[rows] = getattr(others, f.name)

    def improve(self, rows: IntVector, others: Optima) -> None:
        """Replace rows where the others are higher."""
        higher = others.points.value > self.points.value[rows]
        self.put(rows[higher], others.take(higher))

    def replace_by_highest(self, rows: IntVector, others: Optima, which: IntVector) -> None:
        """Replace rows by the highest of several others, where that is higher."""
        value = others.points.value[which]
        order = np.lexsort((-value, rows))
        mine = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
        higher = mine[value[mine] > self.points.value[rows[mine]]]
        if len(higher):
            self.put(rows[higher], others.take(which[higher]))


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """When an optimum counts as one at a limit of the model; heights are in log-units."""

    # Share of the range: profiles are flat towards a limit, and Newton's method stops well before.
    max_distance: float = 0.15
    # A limit may be this much lower than the optimum beside it: far less than any interval shows.
    height_tol: float = 1e-5
    # Tolerance along the other parameters: stricter, because profiles are not flat there.
    other_height_tol: float = 1e-8
    # Unconstrained units probed around the limit: from a grid step to where rounding hides all.
    probe_distances: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)


LIMITS = LimitOptions()


def move_to_limits(
    profiles: ProfileProblems, optima: Optima, weights_diverge: BoolVector
) -> Optima:
    """Move optima beside a limit that is as high to the limit: no data distinguish the two.

    Towards a limit profiles are flat, and Newton's method ends where steps gain nothing any more.
    Weights may be so large there that gradients are rounding, so that it does not converge: it
    counts as converged to the limit if that is as high, and no point beside it is higher.
    """
    if not profiles.n_shape:
        return optima
    width = np.ptp(profiles.bounds, axis=1)
    for q, shape in enumerate(profiles.shape):
        for upper in (False, True):
            if shape.limit(upper) is None:
                continue
            end = profiles.bounds[q, int(upper)]
            away = np.abs(optima.unconstrained_psi[:, q] - end)
            near = (away < LIMITS.max_distance * width[q]) & ~weights_diverge & ~optima.is_at_kink
            near &= (away > 0) | ~optima.converged  # a converged one at the limit needs no move
            _move_to_bound_if_as_high(profiles, optima, np.flatnonzero(near), q, upper)
    return optima


def _move_to_bound_if_as_high(
    profiles: ProfileProblems, optima: Optima, rows: IntVector, q: int, upper: bool
) -> None:
    if not len(rows):
        return
    u = optima.unconstrained_psi[rows].copy()
    u[:, q] = profiles.bounds[q, int(upper)]
    points = profiles.solve(
        optima.points.subject[rows], profiles.from_unconstrained(u), optima.points.theta[rows]
    )
    as_high = points.value >= optima.points.value[rows] - LIMITS.height_tol
    unconverged = np.flatnonzero(as_high & ~optima.converged[rows])
    if len(unconverged):
        ended = _no_neighbour_is_higher(profiles, points.take(unconverged), u[unconverged], q)
        as_high[unconverged], optima.converged[rows[unconverged]] = ended, ended
    optima.points.put(rows[as_high], points.take(as_high))
    optima.unconstrained_psi[rows[as_high]] = u[as_high]
    optima.at_bound[rows[as_high], q] = True


def _no_neighbour_is_higher(
    profiles: ProfileProblems, points: InnerSolutions, u: Matrix, q: int
) -> BoolVector:
    """Whether no point beside rows is higher, along all parameters.

    Along parameter q, which is at its limit, the coarser tolerance applies.
    """
    low, high = profiles.bounds.T
    directions = np.vstack([np.eye(len(low)), -np.eye(len(low))])
    tolerance = np.tile(
        np.where(directions[:, q] != 0, LIMITS.height_tol, LIMITS.other_height_tol),
        len(LIMITS.probe_distances),
    )
    probes = np.stack(
        [np.clip(u + far * way, low, high) for far in LIMITS.probe_distances for way in directions],
        axis=1,
    )
    found = profiles.solve_points(points.subject, probes, points.theta, FINITE_VALUES)
    values = found.value.reshape(probes.shape[:2])
    return np.asarray((values <= points.value[:, None] + tolerance).all(axis=1))


class BoundReached(NamedTuple):
    """Shape parameter at an end of its range, and the limit of the model that it stands for."""

    shape: Shape
    is_upper: bool
    limit: Limit | None


def bounds_reached(shape: Sequence[Shape], optimum: Optima) -> Iterator[BoundReached]:
    """Yield the shape parameters that are at an end of their range."""
    for q, one in enumerate(shape):
        if optimum.at_bound[0, q]:
            upper = bool(optimum.unconstrained_psi[0, q] > np.mean(one.search_range))
            yield BoundReached(one, upper, one.limit(upper))


def psi_at_limits(shape: Sequence[Shape], optimum: Optima, psi: Vector) -> Vector:
    """psi with the limits themselves, 0 or infinity, where their ends were reached."""
    found = psi.copy()
    for bound in bounds_reached(shape, optimum):
        q = list(shape).index(bound.shape)
        if bound.limit is not None and np.isfinite(found[q]):
            found[q] = bound.limit.value
    return found


def parameters_undefined_at_limits(shape: Sequence[Shape], optimum: Optima) -> frozenset[str]:
    """Natural parameters that have no value of their own at the limits reached."""
    limits = (bound.limit for bound in bounds_reached(shape, optimum))
    return frozenset(name for limit in limits if limit is not None for name in limit.lost)


def bounds_message(profiles: ProfileProblems, optimum: Optima, held: Sequence[str]) -> str:
    """Message of an estimate at a bound or a limit, and what it means there."""
    reached = list(bounds_reached(profiles.shape, optimum))
    psi, theta = optimum.points.psi[0], optimum.points.theta[0]
    limits = [
        limit.describe(s.name, float(psi[profiles.shape.index(s)]), theta)
        for s, _, limit in reached
        if limit is not None
    ]
    n_others = len(held) - len(limits)
    said = [f"The estimate lies at a limit of the model: {'; '.join(limits)}."] if limits else []
    if n_others:
        ends = [
            h for h in held if not any(h.startswith(f"{s.name} = ") for s, _, x in reached if x)
        ]
        said.append(
            f"The estimate lies at a bound ({', '.join(ends)}): the choices do not say how far "
            f"beyond. {profile_interval_advice()}, widen the range, or hold it fixed."
        )
    else:
        said.append(f"Nothing lies beyond. {profile_interval_advice()}, or hold it fixed.")
    return " ".join(said)


# Multiples of their size that weights may move per unit of u: faster ones are no straight line.
MAX_EXTRAPOLATION = 3.0


class ExpectedCurvature(NamedTuple):
    """Expected derivatives at points.

    Attributes
    ----------
    weight_derivatives
        Derivatives of the best weights in psi: (n, n_weights, n_shape).
    curvature
        Minus the Hessian of the profile: (n, n_shape, n_shape).
    weight_growth
        How many times their own size the weights move along one unit of u: (n,). Where psi comes
        to an edge at which variables vanish, it goes to infinity.
    """

    weight_derivatives: Matrix
    curvature: Matrix
    weight_growth: Vector


def expected_curvature_at(
    profiles: ProfileProblems, points: InnerSolutions, constraint: LinearConstraint | None = None
) -> ExpectedCurvature:
    """Expected derivatives of the best weights and of the profile in psi at points."""
    n, d, q = points.weight_psi_information.shape
    drift, curvature, off = np.empty((n, d, q)), np.empty((n, q, q)), np.empty(n)
    given = fixed_weight_or_inverses(profiles, points, slice(None), constraint)
    known = points.information, points.theta, points.weight_psi_information, points.psi_information
    compiled.expected_curvature(
        known, given, profiles.positive, drift, curvature, off, inverse_workspace(d)
    )
    return ExpectedCurvature(drift, curvature, off)


def fixed_weight_or_inverses(
    profiles: ProfileProblems,
    points: InnerSolutions,
    rows: Any,
    constraint: LinearConstraint | None,
) -> tuple[int, Matrix]:
    """Weight that the constraint fixes, or -1; if it is another one, inverse informations on it."""
    none = np.empty((0, profiles.n_weights, profiles.n_weights))
    if constraint is None or constraint.fixed_weight >= 0:
        return -1 if constraint is None else constraint.fixed_weight, none
    return -1, inverse_information_of_free_weights(
        profiles, points.take(rows), constraint.take(rows)
    )


def values_near_optima(
    profiles: ProfileProblems, subject: IntVector, optima: Optima, u: Matrix
) -> InnerSolutions:
    """Profiles at points u (n, n_points, n_shape) beside optima; exact only where higher.

    Weights start from their linear extrapolation in psi, if that is not far.
    """
    at = optima.points.take(subject)
    drift, _, off = expected_curvature_at(profiles, at)
    drift[~(off < MAX_EXTRAPOLATION)] = 0.0
    start_theta = at.theta[:, None] + np.einsum(
        "kaq,kmq->kma", drift, u - optima.unconstrained_psi[subject][:, None]
    )
    floor = np.repeat(at.value, u.shape[1])
    return profiles.solve_points(
        subject, u, start_theta, replace(SCREENING, exact_above_height=floor)
    )


def inverse_workspace(n: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
    """Scratch arrays of the compiled inverse of an (n, n) matrix."""
    return np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty(n)


def inverse_information_of_free_weights(
    profiles: ProfileProblems, points: InnerSolutions, constraint: LinearConstraint | None = None
) -> Matrix:
    """Inverse information of the free weights: not held at 0, and inside their constraint."""
    held = np.zeros(points.theta.shape, dtype=bool)
    held[:, profiles.positive] = points.theta[:, profiles.positive] <= 0
    cut = np.where(held[:, :, None] | held[:, None, :], 0.0, points.information)
    if constraint is None:
        return pseudoinverse(cut)
    across = constraint.basis.transpose(0, 2, 1)
    return np.asarray(constraint.basis @ pseudoinverse(across @ cut @ constraint.basis) @ across)


def pseudoinverse(matrices: Matrix) -> Matrix:
    """Pseudoinverses of matrices scaled to unit diagonal; 0 along uninformative directions."""
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    scale = np.sqrt(np.where(diagonal > compiled.MIN_INFORMATION, diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, 0.0) / scale[:, :, None] / scale[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    large = values > compiled.MIN_EIGENVALUE
    inverted = np.where(large, 1.0 / np.where(large, values, 1.0), 0.0)
    inverse = (vectors * inverted[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(inverse / scale[:, :, None] / scale[:, None, :])
