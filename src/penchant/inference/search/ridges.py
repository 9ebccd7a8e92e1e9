"""Climbs among kinks, of many subjects at once: up by what is known of slopes on all sides.

Beside a kink the slope tells of one side only, and a step of Newton's method leads across it and
down. What is found there is not lost: around a place the profile is taken for the lowest of several
parabolas, one through each place that was looked at near by, with its height and its slope. Where
that is highest the next look is taken (bundles of slopes: Lemarechal 1975; with a curvature, Lewis &
Wylie 2019). Along a kink such steps are as good as Newton's on a smooth profile, and at a maximum
on one the parabolas promise nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.pairs import Points
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search import _kernels as compiled
from penchant.inference.search.climb import free_inverse
from penchant.inference.search.peaks import Peaks

SHARES = np.array([3.0, 1.0, 0.25, 0.03])  # of a step, that are looked at together
WHOLE = 1  # which of them is the step itself
MOST_KNOWN = 13  # places that are remembered
MOST_ROUNDS = 30
MOST_FAILED = 6  # rounds in a row that lead no higher
NOTHING = 1e-9  # log-units: where no more is promised a climb is over
ROUNDING = 1e-13  # of a height
FIRMER, SOFTER = 4.0, 0.25  # times the curvature after a step that fails, or gains more than hoped
MORE = 1.3  # times what was promised is more than was hoped for
PATIENT = 5  # rounds in which no climb is given up for others
MANY_GAINS = 10.0  # times what a step gains, that a climb does not make up
EDGE, VERGE = 1e3, 3e6
SOME = 0.1  # and so much of it is enough


@dataclass
class Ridges:
    """Climbs among kinks, one row each: they say where to look, and are told what is there.

    Attributes
    ----------
    bounds
        The range (n_shape, 2).
    u, value
        Where the climbs are, and how high.
    curvature
        What is expected of it there: (n, n_shape, n_shape).
    firmness
        Times the curvature that steps are held back by.
    places, heights, slopes
        What is known, where the climb is first and then the newest before others: (n, m, n_shape),
        (n, m), (n, m, n_shape). NaN where nothing is.
    promised
        What the last steps were to gain.
    failed, ended
        Rounds in a row that led no higher; whether nothing more was promised.
    """

    bounds: Matrix
    u: Matrix
    value: Vector
    curvature: Matrix
    firmness: Vector
    places: Matrix
    heights: Matrix
    slopes: Matrix
    promised: Vector
    failed: IntVector
    ended: BoolVector

    @classmethod
    def at(
        cls, bounds: Matrix, u: Matrix, value: Vector, gradient: Matrix, curvature: Matrix
    ) -> Ridges:
        """Climbs that begin."""
        n, q = u.shape
        places, slopes = np.full((2, n, MOST_KNOWN, q), np.nan)
        heights = np.full((n, MOST_KNOWN), np.nan)
        places[:, 0], heights[:, 0], slopes[:, 0] = u, value, gradient
        known = np.ones(n), places, heights, slopes, np.zeros(n)
        counts = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
        return cls(bounds, u.copy(), value.copy(), curvature.copy(), *known, *counts)

    def ahead(self, rows: IntVector) -> tuple[IntVector, Matrix]:
        """Those of some climbs that go on, and where to look: (n, n_shares, n_shape)."""
        q = self.u.shape[1]
        steps, promised = np.empty((len(rows), q)), np.empty(len(rows))
        compiled.lead(
            self.u[rows],
            self.value[rows],
            self.curvature[rows],
            self.firmness[rows],
            self.bounds,
            (self.places[rows], self.heights[rows], self.slopes[rows]),
            steps,
            promised,
            compiled.rooms_to_lead(MOST_KNOWN, q),
        )
        self.promised[rows] = promised
        self.ended[rows] = ~(promised > NOTHING)
        on = ~self.ended[rows] & (self.failed[rows] < MOST_FAILED)
        places = self.u[rows[on]][:, None] + SHARES[:, None] * steps[on][:, None]
        return rows[on], np.clip(places, *self.bounds.T)

    def told(
        self, rows: IntVector, places: Matrix, heights: Matrix, slopes: Matrix
    ) -> tuple[BoolVector, IntVector]:
        """Move to the highest of the places looked at; which climbs moved, and where to."""
        self._remember(rows, places, heights, slopes)
        row, best = np.arange(len(rows)), np.nanargmax(heights, axis=1)
        before, promised = self.value[rows], self.promised[rows]
        gained = heights[row, best] - before
        up = gained > ROUNDING * np.abs(before)
        up &= np.isfinite(slopes[row, best]).all(axis=1)
        mine, to = rows[up], 1 + best[up]
        for known in (self.places, self.heights, self.slopes):
            known[mine, 0], known[mine, to] = known[mine, to], known[mine, 0]
        self.u[mine], self.value[mine] = self.places[mine, 0], self.heights[mine, 0]
        firmness = self.firmness[rows]
        back = np.where(firmness > 1, np.maximum(1.0, SOFTER * firmness), firmness)
        firmness = np.where(gained > SOME * promised, back, firmness)
        more = heights[:, WHOLE] - before > MORE * promised
        firmness = np.where(more, SOFTER * self.firmness[rows], firmness)
        self.firmness[rows] = np.where(up, firmness, FIRMER * firmness)
        self.failed[rows] = np.where(up, 0, self.failed[rows] + 1)
        return up, best

    def in_vain(self, rows: IntVector, subject: IntVector) -> BoolVector:
        """Which of some climbs will not come as high as another of the same subject is."""
        highest = np.full(int(subject.max()) + 1, -np.inf)
        np.maximum.at(highest, subject, self.value)
        below = highest[subject[rows]] - self.value[rows]
        return np.asarray(below > MANY_GAINS * self.promised[rows])

    def _remember(
        self, rows: IntVector, places: Matrix, heights: Matrix, slopes: Matrix
    ) -> None:
        """What was found, before all that was known but where the climb is."""
        n = places.shape[1]
        told = (self.places, places), (self.heights, heights), (self.slopes, slopes)
        for known, new in told:
            known[rows, 1 + n :] = known[rows, 1:-n]
            known[rows, 1 : 1 + n] = new


Function = Callable[[Vector], tuple[float, Vector]]


def climb_ridge(function: Function, start: Vector, bounds: Matrix) -> tuple[Vector, float]:
    """A point from which a single climb gets no higher, and the height there.

    `function` gives height and gradient; of its curvature nothing is known.
    """
    value, gradient = function(start)
    unknown = np.eye(len(start))[None]
    climb = Ridges.at(bounds, start[None], np.array([value]), gradient[None], unknown)
    while True:
        rows, places = climb.ahead(np.zeros(1, dtype=np.int64))
        if not len(rows):
            return climb.u[0], float(climb.value[0])
        found = [function(place) for place in places[0]]
        heights, slopes = np.array([one[0] for one in found]), np.array([one[1] for one in found])
        climb.told(rows, places, heights[None], slopes[None])


def climb_ridges(
    profiles: Profiles, subject: IntVector, u: Matrix, theta: Matrix
) -> Peaks:
    """Where climbs among kinks come to, from u (n, n_shape) with weights near by.

    Converged are those whose own slope says so. The others are at a kink, or nowhere: what is
    around them tells.
    """
    u = np.clip(u, *profiles.bounds.T)
    at = _solved(profiles, subject, u, theta)
    climbs = Ridges.at(profiles.bounds, u, at.value, at.gradient, expected_curvature(profiles, at))
    rows, n_steps = np.arange(len(u)), np.zeros(len(u), dtype=np.int64)
    for k in range(MOST_ROUNDS):
        rows, places = climbs.ahead(rows)
        if not len(rows):
            break
        n, m, q = places.shape
        near = np.repeat(at.theta[rows], m, axis=0)
        found = _solved(profiles, np.repeat(subject[rows], m), places.reshape(n * m, q), near)
        heights, slopes = found.value.reshape(n, m), found.gradient.reshape(n, m, q)
        up, best = climbs.told(rows, places, heights, slopes)
        there = found.take((np.arange(n) * m + best)[up])
        at.put(rows[up], there)
        climbs.curvature[rows[up]] = expected_curvature(profiles, there)
        n_steps[rows[up]] += 1
        over = np.zeros(n, dtype=bool)
        over[up] = run_away(profiles, there) > VERGE
        rows = rows[~over]
        if k >= PATIENT:
            rows = rows[~climbs.in_vain(rows, subject)]
    low, high = profiles.bounds.T
    at_bound = (climbs.u <= low) | (climbs.u >= high)
    drift = np.zeros((len(u), profiles.n_weights, profiles.n_shape))
    told = n_steps, np.zeros(len(u), dtype=bool), np.zeros(len(u), dtype=bool)
    return Peaks(at, climbs.u, climbs.curvature, drift, at_bound, *told)


def _solved(profiles: Profiles, subject: IntVector, u: Matrix, near: Matrix) -> Points:
    psi = profiles.from_search(u)
    return profiles.solve(subject, psi, near, with_cross=True, proven=False)


def run_away(profiles: Profiles, points: Points) -> Vector:
    """How many times their own size the best weights move along a search unit, at points.

    At the edge of psi where variables vanish weights are infinite.
    """
    drift = free_inverse(profiles, points) @ points.mixed
    moved = np.einsum("kaq,kab,kbq->kq", drift, points.information, drift)
    size = np.einsum("ka,kab,kb->k", points.theta, points.information, points.theta)
    least = np.finfo(np.float64).tiny
    return np.asarray(np.sqrt(moved.max(axis=1) / np.maximum(size, least)))


def expected_curvature(profiles: Profiles, points: Points) -> Matrix:
    """Minus the Hessian of the profile, as it is expected: (n, n_shape, n_shape)."""
    drift = -free_inverse(profiles, points) @ points.mixed
    return np.asarray(points.fisher + points.mixed.transpose(0, 2, 1) @ drift)
