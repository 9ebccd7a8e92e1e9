"""Maxima of profiles at kinks, where no gradient vanishes.

With two learning rates the profile is continuous, but where a reward equals the value of its option
another rate takes over, and its slope jumps. A maximum may lie there: the profile falls to all
sides, though nowhere with a slope of 0, and Newton's steps from beside it lead nowhere. What leads
up along a kink is the shortest convex combination of the gradients on its sides (Burke, Lewis &
Overton 2005); where nothing is left of that, and the profile falls in all directions, the maximum
is reached.

The way up along such a ridge is BFGS with a line search that asks for little. A quasi-Newton method
learns from gradients on both sides of a kink which way it runs, if a step need only raise the
function enough and pass the point where its slope has fallen (the weak conditions of Wolfe; Lewis &
Overton 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import numpy as np
import scipy

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.climb import Climbs, free_inverse
from penchant.inference.search.peaks import Peaks

MOST_STEPS = 300
MOST_TRIALS = 40
AHEAD = 3  # trials that are looked at together, whatever comes of each
ENOUGH_RISE, ENOUGH_FALL = 1e-4, 0.9  # of the slope at the beginning of a step
LEAST_GAIN = 1e-11
MOST_POOR = 20  # steps in a row that gain less

Function = Callable[[Vector], tuple[float, Vector]]
# A way up that asks for heights and gradients at places (n, n_shape): many go side by side.
Way = Generator[Matrix, tuple[Vector, Matrix], tuple[Vector, float]]


def climb_ridge(function: Function, start: Vector, bounds: Matrix) -> tuple[Vector, float]:
    """A point from which BFGS gets no higher, inside the bounds (n, 2), and the height there.

    `function` gives height and gradient.
    """
    way = _ridge(start, bounds)
    places = next(way)
    while True:
        told = [function(place) for place in places]
        heights, gradients = np.array([one[0] for one in told]), np.array([one[1] for one in told])
        try:
            places = way.send((heights, gradients))
        except StopIteration as ended:
            end: tuple[Vector, float] = ended.value
            return end


def _ridge(start: Vector, bounds: Matrix) -> Way:
    """The way of BFGS, one place after another."""
    u = start
    heights, gradients = yield u[None]
    value, gradient = float(heights[0]), gradients[0]
    inverse, poor = np.eye(len(u)), 0
    held = _held(u, gradient, bounds)
    for _ in range(MOST_STEPS):
        way = np.where(held, 0.0, inverse @ np.where(held, 0.0, gradient))
        if not way @ gradient > 0 or poor > MOST_POOR:
            break
        furthest = _furthest(u, way, bounds)
        share, higher, steeper = yield from _weak_wolfe(u, value, gradient, way, furthest)
        if share == 0:
            break
        step, change = share * way, gradient - steeper
        poor = poor + 1 if higher - value < LEAST_GAIN else 0
        u = np.clip(u + step, bounds[:, 0], bounds[:, 1])
        value, gradient = higher, steeper
        now = _held(u, gradient, bounds)
        inverse = np.eye(len(u)) if (now != held).any() else _updated(inverse, step, change)
        held = now
    return u, value


def _held(u: Vector, gradient: Vector, bounds: Matrix) -> BoolVector:
    """Coordinates at the end of their range that would lead out of it."""
    low, high = bounds.T
    return np.asarray((u <= low) & (gradient <= 0) | (u >= high) & (gradient >= 0))


def _furthest(u: Vector, way: Vector, bounds: Matrix) -> float:
    """How often a step fits into the range."""
    ends = np.where(way > 0, bounds[:, 1], bounds[:, 0])
    moving = way != 0
    return float(np.min((ends - u)[moving] / way[moving], initial=np.inf))


def _weak_wolfe(
    u: Vector, value: float, gradient: Vector, way: Vector, furthest: float
) -> Generator[Matrix, tuple[Vector, Matrix], tuple[float, float, Vector]]:
    """A share of the step that rises enough, with height and gradient there; 0 if none does."""
    slope = float(gradient @ way)
    low, high = 0.0, np.inf
    found = (0.0, value, gradient)
    share = min(1.0, furthest)
    told: dict[float, tuple[float, Vector]] = {}
    for trial in range(MOST_TRIALS):
        if share not in told:
            shares = _halved(low, high, share, furthest, AHEAD if trial else 1)
            heights, gradients = yield u + np.array(shares)[:, None] * way
            told.update(zip(shares, zip(heights.tolist(), gradients, strict=True), strict=True))
        there, steep = told[share]
        if not there >= value + ENOUGH_RISE * share * slope:
            high = share
        else:
            low, found = share, (share, there, steep)
            if share >= furthest or steep @ way <= ENOUGH_FALL * slope:
                break
        share = _next_share(low, high, share, furthest)
    return found


def _next_share(low: float, high: float, share: float, furthest: float) -> float:
    return (low + high) / 2 if np.isfinite(high) else min(2 * share, furthest)


def _halved(low: float, high: float, share: float, furthest: float, n: int) -> list[float]:
    """The share to try, and those that may be asked for in the n - 1 trials after it."""
    if n == 0:
        return []
    rest = _halved(low, share, _next_share(low, share, share, furthest), furthest, n - 1)
    if share < furthest:
        further = _next_share(share, high, share, furthest)
        rest += _halved(share, high, further, furthest, n - 1)
    return [share, *rest]


def _updated(inverse: Matrix, step: Vector, change: Vector) -> Matrix:
    """The inverse curvature by what a step has shown."""
    product = float(step @ change)
    if product <= 1e-300:
        return inverse
    less = np.eye(len(step)) - np.outer(step, change) / product
    return np.asarray(less @ inverse @ less.T + np.outer(step, step) / product)


FIRST, LAST = 1e-2, 1e-8  # distances, in search units, from which gradients are taken
SHARES = np.geomspace(1e-3, 1e2, 16)  # of that distance: steps along a kink
MOST_ROUNDS = 60
MOST_LOOKS = 12
AROUND = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # distances at which nothing may be higher
SLACK = 1e-8  # log-units that are not worth a search
NEAR, NEARER = 1e-5, 1e-6  # distances at which slopes to all sides are taken
STEEP = 1e-4  # log-units per search unit: below, the slope is rounding


def settled_at_kinks(profiles: Profiles, peaks: Peaks, lost: BoolVector) -> Peaks:
    """The peaks, with those that stopped before a maximum led to one at a kink, if there is.

    Those that are `lost` have no finite weights, and stay. Most have stopped so close to the
    maximum that a look around is all that is needed.
    """
    stuck = np.flatnonzero(~peaks.converged & ~lost)
    moved = _moved_up(profiles, stuck, peaks)
    if len(moved):
        peaks.put(moved, _settled(profiles, moved, peaks))
    peaks.converged[np.setdiff1d(stuck, moved)] = True
    there = stuck[peaks.converged[stuck]]
    peaks.kinked[there] = _are_kinks(profiles, there, peaks)
    _expect_curvature(profiles, peaks)
    return peaks


def _moved_up(profiles: Profiles, subject: IntVector, peaks: Peaks) -> IntVector:
    """Move peaks to the highest of the places around them; returns those that go on and on."""
    ways = _directions(profiles.n_shape)
    offsets = np.concatenate([distance * ways for distance in AROUND])
    for _ in range(MOST_LOOKS):
        u = peaks.u[subject][:, None] + offsets
        heights = _heights(profiles, subject, peaks, u)
        best = heights.argmax(axis=1)
        row = np.arange(len(subject))
        higher = heights[row, best] > peaks.points.value[subject] + SLACK
        subject, to = subject[higher], u[row, best][higher]
        if not len(subject):
            break
        climbs = Climbs(profiles, subject, max_steps=0)
        psi = profiles.from_search(np.clip(to, *profiles.bounds.T))
        climbs.begin(np.arange(len(subject)), psi, peaks.points.theta[subject])
        climbs.run()
        steps = peaks.n_steps[subject]
        peaks.put(subject, climbs.peaks())
        peaks.n_steps[subject], peaks.converged[subject] = steps, False
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
    ways = _directions(profiles.n_shape) * ~peaks.at_bound[subject][:, None]
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
    drift = -free_inverse(profiles, points) @ points.mixed
    peaks.drift[kinked] = drift
    peaks.curvature[kinked] = points.fisher + points.mixed.transpose(0, 2, 1) @ drift


def _directions(n: int) -> Matrix:
    """Unit vectors to all sides; they come in pairs of opposites."""
    if n == 1:
        return np.array([[1.0], [-1.0]])
    some = np.random.default_rng(0).normal(size=(8 * n, n))
    ways = np.concatenate([np.eye(n), some / np.linalg.norm(some, axis=1)[:, None]])
    return np.concatenate([ways, -ways])


def _settled(profiles: Profiles, subject: IntVector, peaks: Peaks) -> Peaks:
    """Lead peaks up along kinks, side by side; whether they are maxima."""
    ways = [_led_up(u, profiles.bounds) for u in peaks.u[subject]]
    ends = _side_by_side(profiles, subject, ways)
    climbs = Climbs(profiles, subject, max_steps=0)
    u = np.array([end for end, _ in ends])
    climbs.begin(np.arange(len(subject)), profiles.from_search(u), None)
    climbs.run()
    climbs.finish()
    found = climbs.peaks()
    found.n_steps[:], found.converged[:] = peaks.n_steps[subject], [top > 0 for _, top in ends]
    return found


def _side_by_side(
    profiles: Profiles, subject: IntVector, ways: Sequence[Way]
) -> list[tuple[Vector, float]]:
    """Where ways end that each ask for the profile of a subject; all are answered together."""
    asked = {k: next(way) for k, way in enumerate(ways)}
    ends: dict[int, tuple[Vector, float]] = {}
    while asked:
        counts = [len(places) for places in asked.values()]
        u = np.clip(np.vstack(list(asked.values())), *profiles.bounds.T)
        row = np.repeat(list(asked), counts)
        points = profiles.solve(subject[row], profiles.from_search(u))
        cuts = np.cumsum(counts)[:-1]
        told = zip(np.split(points.value, cuts), np.split(points.gradient, cuts), strict=True)
        for k, found in zip(list(asked), told, strict=True):
            try:
                asked[k] = ways[k].send(found)
            except StopIteration as ended:
                ends[k] = ended.value
                del asked[k]
    return [ends[k] for k in range(len(ways))]


def _around(u: Vector, distance: float, bounds: Matrix) -> Matrix:
    """Places so far away to all sides, inside the range."""
    return np.clip(u + distance * _directions(len(u)), *bounds.T)


def _led_up(start: Vector, bounds: Matrix) -> Way:
    """Along ridges, then by the shortest combination of gradients near by, until nothing does.

    Returns where, and 1 if nothing around is higher, else 0.
    """
    u, value = yield from _ridge(start, bounds)
    distance = FIRST
    for _ in range(MOST_ROUNDS):
        if distance < LAST:
            break
        beside = _around(u, distance, bounds)
        near, gradients = yield np.vstack([u[None], beside])
        uphill = _shortest(gradients, _outwards(bounds, u))
        length = float(np.linalg.norm(uphill))
        ahead = np.clip(u + distance * SHARES[:, None] * uphill / max(length, 1e-300), *bounds.T)
        further, _ = yield ahead
        tried, values = np.vstack([beside, ahead]), np.append(near[1:], further)
        best = int(np.argmax(values))
        if values[best] > value + 1e-12 * (1.0 + abs(value)):
            u, value = tried[best], float(values[best])
        else:
            distance /= 4.0
    around, _ = yield np.vstack([_around(u, NEAR, bounds), _around(u, NEARER, bounds)])
    return u, float((around <= value + 1e-12 * (1.0 + abs(value))).all())


def _outwards(bounds: Matrix, u: Vector) -> Matrix:
    """Unit vectors that lead out of the range."""
    ways = np.eye(len(u))
    return np.vstack([-ways[u <= bounds[:, 0]], ways[u >= bounds[:, 1]]])


def _shortest(gradients: Matrix, outwards: Matrix) -> Vector:
    """The shortest convex combination of gradients, less what leads out of the range."""
    n = len(gradients)
    size = max(float(np.abs(gradients).max()), 1e-300)
    columns = np.vstack([gradients / size, -outwards]).T
    whole = 1e4 * np.concatenate([np.ones(n), np.zeros(len(outwards))])  # shares add up to 1
    system = np.vstack([columns, whole])
    goal = np.append(np.zeros(len(columns)), 1e4)
    shares, _ = scipy.optimize.nnls(system, goal, maxiter=50 * system.shape[1])
    return np.asarray(size * (columns @ shares))
