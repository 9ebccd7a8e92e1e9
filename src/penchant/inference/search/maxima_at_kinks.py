"""Maxima of profiles at kinks, where no gradient vanishes.

With two learning rates the profile is continuous, but where a reward equals the value of its option
another rate takes over, and the gradient jumps. A maximum may lie there: the profile falls to all
sides, though nowhere with a gradient of 0. The bundle method leads there (`bundle_method`); whether
it has arrived is decided by probing all directions, as in a direct search (Kolda, Lewis & Torczon
2003).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.inference.profile.profile_likelihood import VALUES, ProfileProblems
from penchant.inference.search.bundle_method import bundle_search, near_divergence
from penchant.inference.search.local_maxima import Optima, expected_curvature_at, values_near_optima


@dataclass(frozen=True, slots=True)
class NonsmoothOptions:
    """Settings of the check for maxima at kinks; distances are in unconstrained units."""

    # Rounds of probing and moving on: more than two are rare; the limit ends moves by rounding.
    max_rounds: int = 12
    # No point may be higher at these distances: the first finds another maximum in the same grid
    # cell, the last one the ascent that the bundle method's tolerance leaves.
    probe_distances: tuple[float, ...] = (1e-1, 1e-3, 1e-5)
    min_gain: float = 1e-8  # log-units: smaller gains are not worth a search
    # One-sided slopes are taken at both: at a smooth maximum they shrink with the distance.
    slope_distances: tuple[float, float] = (1e-5, 1e-6)
    min_jump: float = 1e-4  # log-units per unit: smaller jumps of a slope are rounding


NONSMOOTH = NonsmoothOptions()


def polish_nonsmooth_maxima(
    profiles: ProfileProblems, optima: Optima, weights_diverge: BoolVector
) -> Optima:
    """Move optima that have not converged to a maximum at a kink, if there is one.

    Subjects that are `weights_diverge` have no finite weights, and stay. Most others have stopped
    so close to the maximum that probing around is all that is needed.
    """
    stuck = np.flatnonzero(~optima.converged & ~weights_diverge)
    inside = ~near_divergence(profiles, optima.points.take(stuck))
    moved = _restart_from_probes(profiles, stuck[inside], optima)
    optima.converged[np.setdiff1d(stuck, moved)] = True
    at_maximum = stuck[optima.converged[stuck]]
    optima.is_at_kink[at_maximum] = _are_kinks(profiles, at_maximum, optima)
    _set_expected_curvature(profiles, optima)
    return optima


def _restart_from_probes(
    profiles: ProfileProblems, subject: IntVector, optima: Optima
) -> IntVector:
    """Restart the bundle method from the highest probe; returns rows that never stop rising.

    Where the bundle method has made no step before, later rounds only move to the highest probe.
    """
    directions = _probe_directions(profiles.n_shape, 4 * profiles.n_shape)
    offsets = np.concatenate([distance * directions for distance in NONSMOOTH.probe_distances])
    productive = np.ones(len(optima), dtype=bool)
    for _ in range(NONSMOOTH.max_rounds):
        u = optima.unconstrained_psi[subject][:, None] + offsets
        u = np.clip(u, *profiles.bounds.T)
        values = values_near_optima(profiles, subject, optima, u).value.reshape(u.shape[:2])
        best = values.argmax(axis=1)
        row = np.arange(len(subject))
        higher = values[row, best] > optima.points.value[subject] + NONSMOOTH.min_gain
        subject, start = subject[higher], u[row, best][higher]
        if not len(subject):
            break
        start_theta = optima.points.theta[subject]
        found = bundle_search(
            profiles, subject, start, start_theta, is_iterated=productive[subject]
        )
        productive[subject] &= found.n_steps > 0
        found.n_steps[:] += optima.n_steps[subject]
        optima.put(subject, found)
        subject = subject[~near_divergence(profiles, found.points)]
    return subject


def _are_kinks(profiles: ProfileProblems, subject: IntVector, optima: Optima) -> BoolVector:
    """Whether one-sided slopes at optima jump: forwards and backwards do not add up to 0.

    A smooth profile is ten times flatter ten times nearer to its maximum. Parameters at the end of
    their range stay there.
    """
    directions = (
        _probe_directions(profiles.n_shape, 2 * profiles.n_shape)
        * ~optima.at_bound[subject][:, None]
    )
    jumps = []
    for distance in NONSMOOTH.slope_distances:
        u = np.clip(
            optima.unconstrained_psi[subject][:, None] + distance * directions, *profiles.bounds.T
        )
        start_theta, accuracy = optima.points.theta[subject], replace(VALUES, certificate=False)
        values = profiles.solve_points(subject, u, start_theta, accuracy).value.reshape(u.shape[:2])
        fall = values - optima.points.value[subject, None]
        jumps.append(
            -fall.reshape(len(subject), 2, directions.shape[1] // 2).sum(axis=1) / distance
        )
    largest = np.arange(len(subject)), jumps[1].argmax(axis=1)
    return np.asarray(jumps[1][largest] > np.maximum(NONSMOOTH.min_jump, 0.5 * jumps[0][largest]))


def _set_expected_curvature(profiles: ProfileProblems, optima: Optima) -> None:
    kinked = np.flatnonzero(optima.is_at_kink)
    points = optima.points.take(kinked)
    expected = expected_curvature_at(profiles, points)
    optima.weight_derivatives[kinked] = expected.weight_derivatives
    optima.curvature[kinked] = expected.curvature


def _probe_directions(n: int, n_random: int) -> Matrix:
    """Unit vectors along all axes and `n_random` random ones, followed by their opposites."""
    if n == 1:
        return np.array([[1.0], [-1.0]])
    # Axes alone miss a kink that runs diagonally; a fixed seed keeps fits reproducible.
    normal = np.random.default_rng(0).normal(size=(n_random, n))
    directions = np.concatenate([np.eye(n), normal / np.linalg.norm(normal, axis=1)[:, None]])
    return np.concatenate([directions, -directions])
