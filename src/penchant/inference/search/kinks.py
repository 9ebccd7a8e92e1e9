"""Maxima of profiles at kinks, where no gradient vanishes.

With two learning rates the profile is continuous, but where a reward equals the value of its option
another rate takes over, and its slope jumps. A maximum may lie there: the profile falls to all
sides, though nowhere with a slope of 0, and Newton's steps from beside it lead nowhere. Climbs
along ridges lead there (`ridges`); where the profile falls in all directions, it is reached.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.peaks import Peaks, expected_around, heights_beside
from penchant.inference.search.ridges import at_edges, climb_ridges

MOST_LOOKS = 12
AROUND = (1e-1, 1e-3, 1e-5)  # distances at which nothing may be higher
SLACK = 1e-8  # log-units that are not worth a search
NEAR, NEARER = 1e-5, 1e-6  # distances at which slopes to all sides are taken
STEEP = 1e-4  # log-units per search unit: below, the slope is rounding


def settled_at_kinks(profiles: Profiles, peaks: Peaks, lost: BoolVector) -> Peaks:
    """The peaks, with those that stopped before a maximum led to one at a kink, if there is.

    Those that are `lost` have no finite weights, and stay. Most have stopped so close to the
    maximum that a look around is all that is needed.
    """
    stuck = np.flatnonzero(~peaks.converged & ~lost)
    inside = ~at_edges(profiles, peaks.points.take(stuck))
    moved = _moved_up(profiles, stuck[inside], peaks)
    peaks.converged[np.setdiff1d(stuck, moved)] = True
    there = stuck[peaks.converged[stuck]]
    peaks.kinked[there] = _are_kinks(profiles, there, peaks)
    _expect_curvature(profiles, peaks)
    return peaks


def _moved_up(profiles: Profiles, subject: IntVector, peaks: Peaks) -> IntVector:
    """Climb on from the highest of the places around peaks; returns those that go on and on.

    Those from which a climb led nowhere are moved to the highest place without another.
    """
    ways = _directions(profiles.n_shape, 4 * profiles.n_shape)
    offsets = np.concatenate([distance * ways for distance in AROUND])
    leads = np.ones(len(peaks), dtype=bool)
    for _ in range(MOST_LOOKS):
        u = peaks.u[subject][:, None] + offsets
        u = np.clip(u, *profiles.bounds.T)
        heights = heights_beside(profiles, subject, peaks, u).value.reshape(u.shape[:2])
        best = heights.argmax(axis=1)
        row = np.arange(len(subject))
        higher = heights[row, best] > peaks.points.value[subject] + SLACK
        subject, to = subject[higher], u[row, best][higher]
        if not len(subject):
            break
        near = peaks.points.theta[subject]
        found = climb_ridges(profiles, subject, to, near, going=leads[subject])
        leads[subject] &= found.n_steps > 0
        found.n_steps[:] += peaks.n_steps[subject]
        peaks.put(subject, found)
        subject = subject[~at_edges(profiles, found.points)]
    return subject


def _heights(profiles: Profiles, subject: IntVector, peaks: Peaks, u: Matrix) -> Matrix:
    """Profiles at several places (n, n_places, n_shape) of each subject, inside the range."""
    n_places = u.shape[1]
    inside = np.clip(u, *profiles.bounds.T).reshape(-1, profiles.n_shape)
    found = profiles.solve(
        np.repeat(subject, n_places),
        profiles.from_search(inside),
        np.repeat(peaks.points.theta[subject], n_places, axis=0),
        with_slopes=False,
        proven=False,
    )
    return found.value.reshape(len(subject), n_places)


def _are_kinks(profiles: Profiles, subject: IntVector, peaks: Peaks) -> BoolVector:
    """Whether slopes jump at peaks: forwards and backwards they do not add up to 0, however near.

    A smooth profile is ten times flatter ten times nearer to its maximum. Parameters at the end of
    their range stay there.
    """
    ways = _directions(profiles.n_shape, 2 * profiles.n_shape) * ~peaks.at_bound[subject][:, None]
    jumps = []
    for far in (NEAR, NEARER):
        u = peaks.u[subject][:, None] + far * ways
        fall = _heights(profiles, subject, peaks, u) - peaks.points.value[subject, None]
        jumps.append(-fall.reshape(len(subject), 2, ways.shape[1] // 2).sum(axis=1) / far)
    largest = np.arange(len(subject)), jumps[1].argmax(axis=1)
    return np.asarray(jumps[1][largest] > np.maximum(STEEP, 0.5 * jumps[0][largest]))


def _expect_curvature(profiles: Profiles, peaks: Peaks) -> None:
    """Where a peak has no curvature, that which is expected stands in for it."""
    kinked = np.flatnonzero(peaks.kinked)
    points = peaks.points.take(kinked)
    peaks.drift[kinked], peaks.curvature[kinked], _ = expected_around(profiles, points)


def _directions(n: int, more: int) -> Matrix:
    """Unit vectors along all axes and so many others, and their opposites after them."""
    if n == 1:
        return np.array([[1.0], [-1.0]])
    some = np.random.default_rng(0).normal(size=(more, n))
    ways = np.concatenate([np.eye(n), some / np.linalg.norm(some, axis=1)[:, None]])
    return np.concatenate([ways, -ways])
