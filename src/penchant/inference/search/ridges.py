"""Climbs among kinks, of many subjects at once: up by what is known of slopes on all sides.

Beside a kink the slope tells of one side only, and a step of Newton's method leads across it and
down. What is found there is not lost: around a place the profile is taken for the lowest of several
parabolas, one through each place that was looked at near by, with its height and its slope. Where
that is highest the next look is taken: bundles of slopes (Lemarechal 1975), with a curvature (Lewis
& Wylie 2019). Along a kink such steps are as good as Newton's on a smooth profile, and at a maximum
on one the parabolas promise nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search import _kernels as compiled
from penchant.inference.search.peaks import Peaks, expected_around

SHARES = np.array([3.0, 1.0, 0.25, 0.03])  # of a step, that are looked at together;
WHOLE = 1  # which of them is the step itself
MOST_KNOWN = 13  # places that are remembered
MOST_ROUNDS = 30
MOST_FAILED = 6  # rounds in a row that lead no higher
NOTHING = 1e-10  # log-units: where no more is promised a climb is over
ROUNDING = 1e-13  # of a height
FIRMER, SOFTER = 4.0, 0.25  # times the curvature after a step that fails, or gains more than hoped
MORE = 1.3  # times what was promised is more than was hoped for,
SOME = 0.1  # and so much of it is enough
PATIENT = 5  # rounds in which no climb is given up for others
MANY_GAINS = 10.0  # times what a step gains, that a climb does not make up
EDGE = 1e3  # times their size that weights move along a search unit: it is not far to where they
VERGE = 3e6  # are infinite; and nowhere else to go


@dataclass
class Ridges:
    """Climbs among kinks, one row each: they say where to look, and are told what is there.

    Attributes
    ----------
    bounds, held
        The range (n_shape, 2); shape parameters that stay where they are (n, n_shape).
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
    failed
        Rounds in a row that led no higher.
    """

    bounds: Matrix
    held: BoolVector
    u: Matrix
    value: Vector
    curvature: Matrix
    firmness: Vector
    places: Matrix
    heights: Matrix
    slopes: Matrix
    promised: Vector
    failed: IntVector

    @classmethod
    def at(
        cls,
        bounds: Matrix,
        held: BoolVector,
        u: Matrix,
        value: Vector,
        gradient: Matrix,
        curvature: Matrix,
    ) -> Ridges:
        """Climbs that begin."""
        n, q = u.shape
        places, slopes = np.full((2, n, MOST_KNOWN, q), np.nan)
        heights = np.full((n, MOST_KNOWN), np.nan)
        places[:, 0], heights[:, 0], slopes[:, 0] = u, value, gradient
        known = np.ones(n), places, heights, slopes
        now = u.copy(), value.copy(), curvature.copy()
        return cls(bounds, held, *now, *known, np.zeros(n), np.zeros(n, dtype=np.int64))

    def ahead(self, rows: IntVector) -> tuple[IntVector, Matrix]:
        """Those of some climbs that go on, and where to look: (n, n_shares, n_shape)."""
        q = self.u.shape[1]
        steps = np.empty((len(rows), q))
        compiled.lead(
            rows,
            (self.u, self.value, self.curvature, self.firmness),
            (self.bounds, self.held),
            (self.places, self.heights, self.slopes),
            steps,
            self.promised,
            compiled.rooms_to_lead(MOST_KNOWN, q),
        )
        on = (self.promised[rows] > NOTHING) & (self.failed[rows] < MOST_FAILED)
        on &= np.isfinite(steps.sum(axis=1))
        rows = rows[on]
        places = self.u[rows][:, None] + SHARES[:, None] * steps[on][:, None]
        return rows, np.clip(places, *self.bounds.T)

    def told(
        self, rows: IntVector, places: Matrix, heights: Vector, slopes: Matrix
    ) -> tuple[BoolVector, IntVector]:
        """Move to the highest of the places looked at; which climbs moved, and where to.

        Heights (n * n_shares,) and slopes (n * n_shares, n_shape) are those of place after place.
        Steps are held back more where they fail, and less where they gain more than was promised.
        """
        up, best = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=np.int64)
        compiled.hear(
            rows,
            (places, WHOLE),
            (heights, slopes),
            (self.u, self.value, self.firmness, self.promised, self.failed),
            (self.places, self.heights, self.slopes),
            up,
            best,
            (FIRMER, SOFTER, MORE, SOME, ROUNDING),
        )
        return up, best

    def in_vain(self, rows: IntVector, subject: IntVector) -> BoolVector:
        """Which of some climbs will not come as high as another of the same subject is."""
        highest = np.full(int(subject.max()) + 1, -np.inf)
        np.maximum.at(highest, subject, self.value)
        below = highest[subject[rows]] - self.value[rows]
        return np.asarray(below > MANY_GAINS * self.promised[rows])


Function = Callable[[Vector], tuple[float, Vector]]


def climb_ridge(function: Function, start: Vector, bounds: Matrix) -> tuple[Vector, float]:
    """A point from which a single climb gets no higher, and the height there.

    `function` gives height and gradient; of its curvature nothing is known.
    """
    value, gradient = function(start)
    free, unknown = np.zeros((1, len(start)), dtype=bool), np.eye(len(start))[None]
    climb = Ridges.at(bounds, free, start[None], np.array([value]), gradient[None], unknown)
    while True:
        rows, places = climb.ahead(np.zeros(1, dtype=np.int64))
        if not len(rows):
            return climb.u[0], float(climb.value[0])
        found = [function(place) for place in places[0]]
        heights, slopes = np.array([one[0] for one in found]), np.array([one[1] for one in found])
        climb.told(rows, places, heights, slopes)


def climb_ridges(
    profiles: Profiles,
    subject: IntVector,
    u: Matrix,
    theta: Matrix,
    planes: Planes | None = None,
    fixed: BoolVector | None = None,
    going: BoolVector | None = None,
) -> Peaks:
    """Where climbs among kinks come to, from u (n, n_shape) with weights near by.

    What is around them tells whether they are maxima. A climb ends on the verge of an edge, where
    weights are infinite, and if it will not come as high as another of the same subject.

    Parameters
    ----------
    planes
        Where the weights shall lie.
    fixed
        Shape parameters that stay where they are: (n, n_shape).
    going
        Which of them climb; what is at u is told of the others: (n,).
    """
    n, q = u.shape
    rows = np.arange(n) if going is None else np.flatnonzero(going)
    n_steps = np.zeros(n, dtype=np.int64)
    u = np.clip(u, *profiles.bounds.T)
    at = _solved(profiles, subject, u, theta, planes)
    held = np.zeros((n, q), dtype=bool) if fixed is None else fixed
    drift, expected, _ = expected_around(profiles, at, planes)
    climbs = Ridges.at(profiles.bounds, held, u, at.value, at.gradient, expected)
    for k in range(MOST_ROUNDS):
        rows, places = climbs.ahead(rows)
        if not len(rows):
            break
        m = places.shape[1]
        each = np.repeat(rows, m)
        on = None if planes is None else planes.take(each)
        found = _solved(profiles, subject[each], places.reshape(-1, q), at.theta[each], on)
        up, best = climbs.told(rows, places, found.value, found.gradient)
        mine, there = rows[up], found.take((np.arange(len(rows)) * m + best)[up])
        at.put(mine, there)
        on = None if planes is None else planes.take(mine)
        drift[mine], climbs.curvature[mine], off = expected_around(profiles, there, on)
        n_steps[mine] += 1
        over = np.zeros(len(rows), dtype=bool)
        over[up] = off > VERGE
        if k >= PATIENT and planes is None:
            over |= climbs.in_vain(rows, subject)
        rows = rows[~over]
    low, high = profiles.bounds.T
    at_bound = ((climbs.u <= low) | (climbs.u >= high)) & ~held
    nothing = np.zeros((2, n), dtype=bool)
    return Peaks(at, climbs.u, climbs.curvature, drift, at_bound, n_steps, *nothing)


def _solved(
    profiles: Profiles, subject: IntVector, u: Matrix, near: Matrix, planes: Planes | None
) -> Points:
    psi = profiles.from_search(u)
    return profiles.solve(subject, psi, near, planes=planes, proven=False)


def at_edges(profiles: Profiles, points: Points) -> BoolVector:
    """Whether psi is near an edge, where variables vanish and weights are infinite."""
    return np.asarray(expected_around(profiles, points)[2] > EDGE)
