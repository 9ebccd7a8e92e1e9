"""The peak of a profile over one shape parameter, followed from event to event, and what is said.

Variables are kept at a few psi around the peak, the nodes of Chebyshev; a decision adds one row to
each. Between the nodes the variables are those of the polynomial through them, whose error falls
geometrically with their number: its last coefficients tell how large it is, and the nodes move
closer together where it is not negligible. The weights and psi are found together by Newton's
method, from where they were before, with exact second derivatives.

Where a decision has few numbers, the variables of every cell of the grid are kept beside those of
the nodes. A decision more can but lower the likelihood, whatever the weights, and so its maximum
over them: what a cell was worth once it is worth at most, and as long as that is far below the peak
it needs no work.

The same questions as in `inference.status`, for one peak and without the answers that need a closer
look: where one of them is not a plain yes, nothing is said here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import learnt_from
from penchant.inference import _kernels as compiled
from penchant.inference._kernels import prove
from penchant.inference.profile.pairs import Points
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import GOOD_TO, NEAR, Grid, Grids, grid_steps, one_by_one
from penchant.inference.search.peaks import Peaks
from penchant.inference.status import FLAT, REACHED, Verdict, told_estimate
from penchant.inference.weakness import DROP, REACH, SURE, are_few, are_run_off
from penchant.models.model import Declared, Tracker
from penchant.models.record import Record
from penchant.softmax._lanes import LANES, kind_of
from penchant.softmax.diagnostics import Diagnostics
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import WEAK
from penchant.softmax.identification import CERTAIN, EPSILON
from penchant.softmax.likelihood import n_moments, rooms_for, vectors
from penchant.softmax.separation import EXACT, NEGLIGIBLE

FEW, MANY = 8, 12  # nodes, where there are many numbers to keep for each and where there are few
SMALL = 64  # numbers of one decision that are few
WIDTHS = {FEW: 0.2, MANY: 0.4}  # half the distance between the outermost nodes, in search units
NARROWEST = 0.01
ERROR = 1e-12  # of the variables between nodes, relative to the largest of them
ROOM = 64  # decisions that arrays have room for at first
MOVES = 6  # of the nodes until a peak is found
ONLY = np.zeros(1, dtype=np.int64)


class FollowedPeak(NamedTuple):
    """A peak that was found, and what proves it; see `_cell_kernels.prove`.

    Attributes
    ----------
    peaks
        The peak as the only one.
    known
        Whether what follows is.
    n_decisions, decrement
        Decisions scored, and the last step of Newton's method in standard errors.
    inverse
        Of the information of the weights.
    spread, lowest, highest, in_units
        Eigenvalues: the lowest of the variables' spread, lowest and highest of the information,
        all with unit diagonal; the lowest of the information in units of the largest differences.
    distance
        By how much at most a step of one standard error moves an objective.
    curvature
        That of the profile, in search units.
    """

    peaks: Peaks
    known: bool
    n_decisions: int
    decrement: float
    inverse: Matrix
    spread: float
    lowest: float
    highest: float
    in_units: float
    distance: float
    curvature: float


class Neighbourhood:
    """The decisions of a play at psi near a peak.

    Attributes
    ----------
    u, theta
        The peak: psi in search units, and the weights.
    cells
        The grid, where its variables are kept too.
    """

    def __init__(
        self, profiles: Profiles, u: float, theta: Vector, cells: Cells | None = None
    ) -> None:
        self.model, self.cells = profiles.model, cells
        self.u, self.theta = u, theta.copy()
        self._m, self._d = profiles.n_options, profiles.n_weights
        self._bounds = profiles.bounds[0]
        self._n_nodes = MANY if self._m * self._d <= SMALL else FEW
        self._basis, self._nodes = _chebyshev(self._n_nodes)
        self._seen: list[int] = []
        self._n = self._n_summed = 0
        self._tracker: Tracker | None = None
        k, m, d = self._n_nodes, self._m, self._d
        self._z, self._base = np.empty((k, 0, d, m)), np.empty((k, 0, d))
        self._room_for(ROOM)
        self._lay(u, WIDTHS[self._n_nodes])

    @property
    def height(self) -> float:
        """The log-likelihood at the peak."""
        return float(self._sums[0, 0])

    def rest(self) -> None:
        """Give back the memory of all decisions; the next peak is found from all of them."""
        self._n_summed = 0
        self._lay(self.u, float(self._window[1]))
        self._room_for(0)

    # -- rows ------------------------------------------------------------------------------------

    def _room_for(self, n: int) -> None:
        """Arrays for n decisions, with what they hold."""
        k, m, d = self._n_nodes, self._m, self._d
        z, base = np.empty((k, n, d, m)), np.empty((k, n, d))
        z[:, : self._n], base[:, : self._n] = self._z[:, : self._n], self._base[:, : self._n]
        self._z, self._base = z, base
        p = np.zeros(-(-n * m // 8) * 8 + n)
        rows = np.empty((n, d, m)), np.empty((n, d, m)), np.empty((n, 2, m)), p
        small = np.empty((3, k)), np.empty((d + 2, d + 1)), np.empty(d + 1), np.empty(d)
        self._rooms = (*rows, *small)
        if self._n_summed == 0:
            self._sums, self._proof = np.empty((d + 4, d + 1)), np.empty(2)

    def _lay(self, centre: float, width: float) -> None:
        """Put the nodes around a place; no decision is known there yet."""
        low, high = self._bounds
        width = min(width, (high - low) / 2)
        self._window = np.array([min(max(centre, low + width), high - width), width])
        u = np.clip(self._window[0] + width * self._nodes, low, high)
        self._psi = np.asarray(self.model.shape[0].from_search(u))[:, None]
        if self.cells is not None:
            self._psi = np.concatenate([self._psi, self.cells.psi])
            self.cells.forget()
        self._seen, self._n, self._tracker = [], 0, None
        self._tails, self._largest = np.zeros((self._d, 2)), np.zeros(self._d)

    def _read(self, profiles: Profiles) -> None:
        """Add the events that are new."""
        for place, episode in enumerate(profiles.groups[0]):
            if place == len(self._seen):
                self._seen.append(0)
                self._tracker = self._new_tracker()
            begin = self._seen[place]
            if episode.n_events > begin:
                self._add(profiles.record, place, episode, begin)
                self._seen[place] = episode.n_events

    def _new_tracker(self) -> Tracker | None:
        tracker = Declared(self.model).tracker
        return None if tracker is None else tracker(self._psi)

    def _add(self, record: Record, place: int, episode: Any, begin: int) -> None:
        picked = np.flatnonzero(episode.scored[begin:])
        if self._tracker is not None:
            x, first = self._tracker.follow(learnt_from(episode), begin), 0
        else:
            many = Declared(self.model).explanatory_many
            assert many is not None
            rows, _ = many(record, np.full(len(self._psi), place), self._psi, False)
            x, first = rows.reshape(len(self._psi), episode.n_events, self._m, self._d), begin
        n = self._n + len(picked)
        if n > self._z.shape[1]:
            self._room_for(n + n // 2)
        chosen = episode.chosen[begin:][picked]
        compiled.add_rows(x, first, picked, chosen, self._n, self._z, self._base)
        last = self._basis[-2:]
        compiled.sizes(self._z, self._n, n, last, self._tails, self._largest)
        if self.cells is not None:
            self.cells.add(x, self._n_nodes, first, picked, chosen)
        self._n = n

    @property
    def _is_exact(self) -> bool:
        """Whether the polynomials are the variables, to rounding."""
        before, last = self._tails.T
        noise = 1e-15 * self._largest
        ahead = last * np.minimum(1.0, last / np.maximum(before, noise + 1e-300))
        return bool(np.isfinite(last).all() and (ahead <= ERROR * self._largest + noise).all())

    # -- the peak --------------------------------------------------------------------------------

    def follow(self, profiles: Profiles) -> bool:
        """Find the peak of a play that goes on from the one before; whether it was found."""
        at = np.array([self.u])
        for _ in range(MOVES):
            self._read(profiles)
            while not self._is_exact:
                if self._window[1] < NARROWEST:
                    return False
                self._lay(float(at[0]), self._window[1] / 2)
                self._read(profiles)
            code = compiled.settle(
                self._z,
                self._n_summed,
                self._n,
                self._basis,
                self._window,
                self._bounds,
                self.theta,
                at,
                self._rooms,
                self._sums,
                self._proof,
            )
            self.u = float(at[0])
            self._n_summed = self._n if code == compiled.REACHED else 0
            if code == compiled.REACHED:
                return True
            if code == compiled.LOST:
                return False
            self._lay(self.u, self._window[1])
        return False

    def peak(self) -> FollowedPeak:
        """The peak that was found, as a search would tell it."""
        d, sums = self._d, self._sums
        largest, spread = np.empty((1, 2, d)), np.empty((1, d, d))
        rows, weights, step = self._rooms[0], self._rooms[4], self._rooms[6]
        compiled.told(self._n, self._base, weights, rows, largest[0], spread[0], step)
        inverse, drift, facts = np.empty((d, d)), np.empty(d), np.empty(7)
        known = prove(sums, largest[0], spread[0], np.empty((d + 2, d)), inverse, drift, facts)
        low, high = self._bounds
        only, height, decrement = ONLY, np.array([sums[0, 0]]), float(self._proof[1])
        points = Points(
            only,
            np.array([[float(self.model.shape[0].from_search(self.u))]]),
            self.theta[None].copy(),
            height,
            height.copy(),
            _mirrored(sums[2 : 2 + d, :d])[None],
            np.array([[sums[1, d]]]),
            -sums[2 + d, :d, None][None],
            sums[3 + d, :d, None][None].copy(),
            np.array([[[sums[3 + d, d]]]]),
            np.ones(1, dtype=bool),
            np.array([decrement]),
            largest,
            spread,
        )
        peaks = Peaks(
            points,
            u=np.array([[self.u]]),
            curvature=facts[5].reshape(1, 1, 1).copy(),
            drift=drift[None, :, None],
            at_bound=np.array([[not low < self.u < high]]),
            n_steps=np.array([int(self._proof[0])]),
            converged=np.ones(1, dtype=bool),
            kinked=np.zeros(1, dtype=bool),
        )
        return FollowedPeak(peaks, known, self._n, decrement, inverse, *facts[:6].tolist())

    def without_small_differences(self, limit: Vector, enough: float) -> tuple[bool, Matrix, float]:
        """A fit where differences up to a limit count as none, at the psi of the peak.

        Returns whether its Newton decrement fell below `enough`, the information there, and the
        decrement.
        """
        d, proof = self._d, np.zeros(2)
        rows, _, _, p, _, room, step, _ = self._rooms
        sums = np.zeros_like(self._sums)
        given = self._n, limit, rows, p, self.theta.copy(), enough
        found = compiled.settle_without(*given, room, step, sums, proof)
        return found, _mirrored(sums[2 : 2 + d, :d]), float(proof[1])


def _mirrored(lower: Matrix) -> Matrix:
    """The symmetric matrix of which a lower triangle is known, with zeros above it."""
    whole = lower + lower.T
    whole.flat[:: len(whole) + 1] /= 2.0
    return whole


def _chebyshev(n: int) -> tuple[Matrix, Vector]:
    """What makes coefficients of values at nodes (n, n), and the nodes from -1 to 1.

    >>> basis, nodes = _chebyshev(4)
    >>> np.round(basis @ (4 * nodes**3 - 3 * nodes), 12) + 0.0
    array([0., 0., 0., 1.])
    """
    angles = np.pi * (np.arange(n) + 0.5) / n
    basis = 2.0 / n * np.cos(np.arange(n)[:, None] * angles)
    basis[0] /= 2.0
    return np.ascontiguousarray(basis), np.cos(angles)


HUGE = 1e100  # no unit has such numbers
EXACT_STEP = 1e-10  # Newton decrement, in standard errors


def plain_estimate(
    profiles: Profiles, near: Neighbourhood, found: FollowedPeak, grid: Callable[[], Grid]
) -> Estimate | None:
    """The estimate at a peak, if there is nothing more to say.

    The grid is given as what computes it. Where it is not known to be far below the peak, the
    neighbourhood has its cells.
    """
    peaks = found.peaks
    if peaks.at_bound[0, 0] or (peaks.points.theta[0, profiles.positive] <= 1e-12).any():
        return None
    if not _is_proven(near, found) or are_run_off(profiles, peaks)[0]:
        return None
    covariance = _covariance(profiles, found)
    if covariance is None or not _is_told(profiles, peaks, covariance):
        return None
    if near.cells is not None and _shows_more(profiles, peaks, near.cells):
        return None
    points = peaks.points
    checks = Diagnostics(
        rank=profiles.n_weights,
        null_directions=(),
        combinations=(),
        decisions_needed=0,
        separation=None,
        near_separation=None,
        condition=found.highest / found.lowest,
        iterations=int(peaks.n_steps[0]),
        decrement=found.decrement,
        certificate="newton",
        bounds=(),
    )
    told = np.ones(1, dtype=bool)
    value = float(points.log_likelihood[0])
    verdict = Verdict("converged", REACHED, points.theta[0], told, value, checks)
    theta = np.append(points.theta[0], points.psi[0])
    return told_estimate(profiles, 0, grid, peaks[0], verdict, theta, covariance, None)


def _is_proven(near: Neighbourhood, found: FollowedPeak) -> bool:
    """Whether Newton's method proves that the weights have a maximum, and tells them apart."""
    largest = found.peaks.points.largest[0]
    if not found.known or not (largest[1] > 64 * EPSILON * largest[0]).all():
        return False
    if not (largest.max() < HUGE and found.spread > CERTAIN):
        return False
    if not 0 < found.highest <= WEAK * found.lowest:
        return False
    n, decrement = float(found.n_decisions), found.decrement
    if not _certified(found.distance, decrement, n):
        return False
    if found.in_units > 2 * len(found.inverse) * NEGLIGIBLE * n:  # `softmax.separation.hang_on`
        return found.distance * decrement <= EXACT
    return _holds_without(near, found, n)


def _holds_without(near: Neighbourhood, found: FollowedPeak, n: float) -> bool:
    """Whether the maximum exists without negligible differences, too.

    A short step of Newton's method is proof enough: at first one as short as the standard errors
    of the whole ask for.
    """
    unit = found.peaks.points.largest[0, 1]
    for enough in (0.1 / found.distance, EXACT_STEP):
        reached, information, decrement = near.without_small_differences(NEGLIGIBLE * unit, enough)
        if not reached or not (information.diagonal() > 0).all():
            return False
        scale = np.sqrt(information.diagonal())
        values, vectors = np.linalg.eigh(information / scale / scale[:, None])
        if not values[0] > 0:
            return False
        inverse = (vectors / values) @ vectors.T / scale / scale[:, None]
        distance = float(2.0 * np.sqrt(unit @ np.abs(inverse) @ unit))
        if _certified(distance, decrement, n):
            return True
    return False


def _certified(distance: float, decrement: float, n: float) -> bool:
    """Whether the last step proves that the maximum exists; see `softmax.separation`.

    A step of one standard error moves an objective by `distance` at most.
    """
    return bool(distance * (decrement + EPSILON * math.sqrt(n) * distance) < 0.5)


def _covariance(profiles: Profiles, found: FollowedPeak) -> Matrix | None:
    """Of weights and psi together, from that of the weights alone; None where all is flat."""
    curvature, d = found.curvature, profiles.n_weights
    low, high = profiles.bounds[0]
    if not 0 < curvature < np.inf or curvature**-0.5 > high - low:
        return None
    peaks = found.peaks
    stretch = float(profiles.shape[0].stretch(peaks.points.psi[0, 0]))
    along = np.append(peaks.drift[0, :, 0], stretch)
    covariance = along[:, None] * (along / curvature)
    covariance[:d, :d] += found.inverse
    return covariance if np.isfinite(covariance).all() else None


def _is_told(profiles: Profiles, peaks: Peaks, covariance: Matrix) -> bool:
    """Whether no parameter may be weakly identified; where it may, the grid is asked."""
    if are_few(profiles)[0]:
        return True
    theta, largest = peaks.points.theta[0], peaks.points.largest[0, 0]
    for natural in profiles.natural:
        a = natural.index
        if natural.is_ratio:
            b = natural.other
            above, below = 1.0 / theta[b], -theta[a] / theta[b] ** 2
            mixed = 2.0 * above * below * covariance[a, b]
            variance = above**2 * covariance[a, a] + mixed + below**2 * covariance[b, b]
            if not variance <= (largest[b] / largest[a]) ** 2:
                return False
            continue
        # relative to itself, the error of 1 over a weight is that of the weight
        asked = natural.is_logarithmic or (natural.is_weight and a in profiles.positive)
        if asked and not 0 < covariance[a, a] <= (SURE * theta[a]) ** 2:
            return False
    return True


def _shows_more(profiles: Profiles, peaks: Peaks, cells: Cells) -> bool:
    """Whether the profile is flat, or an interval of a parameter reaches far by its cells."""
    if cells.range < FLAT:
        return True
    if are_few(profiles)[0]:
        return False
    inside = np.maximum(cells.inside(float(peaks.points.value[0]) - DROP), 0.0)
    for natural in profiles.natural:
        if natural.is_logarithmic or (natural.is_weight and natural.index in profiles.positive):
            with np.errstate(divide="ignore"):
                logs = np.log(natural.of_weights(inside))
                centre = np.log(natural.of_weights(peaks.points.theta))
            if (np.abs(logs - centre) > REACH).any():
                return True
    return False


class Cells:
    """The decisions of a play at every psi of a grid, and what the profile is worth there.

    Attributes
    ----------
    psi
        The cells: (n_cells, 1).
    """

    def __init__(self, profiles: Profiles, grids: Grids) -> None:
        self.psi, self._dimensions = grids.psi, grids.dimensions
        self._values = np.where(grids.looked[0], grids.values[0] + GOOD_TO, np.inf)
        self._theta = grids.theta[0].copy()
        self._u = profiles.to_search(self.psi)[:, 0]
        self._step = float(grid_steps(profiles.shape)[0])
        ends = [profiles.shape[0].limit(upper) is not None for upper in (False, True)]
        self._limits = np.array([0, len(self._u) - 1])[ends]
        self._positive = profiles.positive
        self._m, d = profiles.n_options, profiles.n_weights
        self._kind = kind_of(d, False)
        state = np.empty(d), np.empty(d), np.empty((d, d)), np.empty(d), np.zeros(d, dtype=bool)
        self._into = self._values, self._theta, state
        self._most = np.empty(len(self._u))
        self._n = 0
        self._packed, self._side = np.empty((len(self._u), 0)), np.empty((0, 2 * LANES))
        self._room_for(0)

    def forget(self) -> None:
        """Let all decisions go, to be added anew; what cells are worth at most stays known."""
        self._n = 0
        self._room_for(0)

    def add(self, x: Matrix, first: int, begin: int, picked: IntVector, chosen: IntVector) -> None:
        """Add decisions; x (n_psi, n_events, n_options, n_weights), the cells from `first` on."""
        n = self._n + len(picked)
        if n > LANES * len(self._side):
            self._room_for(n + n // 2)
        compiled.add_to_cells(x, first, begin, picked, chosen, self._n, self._packed, self._side)
        self._n = n

    def _room_for(self, n: int) -> None:
        """Blocks for n decisions, with what they hold."""
        d, n_blocks = self._theta.shape[1], -(-n // LANES)
        size, kept = n_blocks * (self._m - 1) * d, -(-self._n // LANES)
        packed = vectors(len(self._u) * size).reshape(len(self._u), size * LANES)
        side = vectors(2 * n_blocks).reshape(n_blocks, 2 * LANES)
        if kept:
            used = kept * (self._m - 1) * d * LANES
            packed[:, :used], side[:kept] = self._packed[:, :used], self._side[:kept]
        self._packed, self._side = packed, side
        self._starts = np.arange(n_blocks + 1) * (self._m - 1)
        own = rooms_for(self._m - 1, n_blocks, d)
        self._rooms = own, np.empty(n_moments(d)), np.empty((d + 2, d))

    def rise_to(self, u: float, height: float) -> bool:
        """Whether the profile rises to a peak from both sides, and is lower at the model's limits.

        It is then the only one to climb to. Cells far below do not count; the others are solved.
        """
        self._most.fill(height - compiled.CLEAR)
        blocks = self._packed, self._starts, self._side, -(-self._n // LANES)
        least = -self._n * math.log(self._m)
        problem = self._kind, self._positive, NEAR, least, self._most
        if compiled.climb_cells(*blocks, *problem, self._into, self._rooms):
            self._values[np.isnan(self._values)] = np.inf
            return False
        return bool(compiled.rises(self._values, self._u, self._limits, u, height, self._step))

    def inside(self, lowest: float) -> Matrix:
        """Weights of the cells that are higher than that; asked after `rise_to`."""
        return np.asarray(self._theta[self._values > lowest])

    @property
    def range(self) -> float:
        """By how much the profile varies, or less, where cells are far below its peak."""
        return float(self._values.max() - self._values.min())

    def grid(self) -> Grid:
        """The profile at all cells: exact where it may matter for the maximum."""
        looked = self._values > self._most
        return Grid(self.psi, self._values.copy(), self._theta.copy(), self._dimensions, looked)


CLEAR = 6.0  # log-units by which the rest of a grid must stay below the peak to be left alone
ALIKE = 1e-4  # and the limits of a model, not to be the estimate
BESIDE = 3.0  # steps of the grid around the peak that are no rest
ROUNDING = 1e-9


class Bounds:
    """What the cells of a subject's grid are worth at most."""

    def __init__(self, grids: Grids) -> None:
        self._psi, self._dimensions = grids.psi, grids.dimensions
        self._values = np.where(grids.looked[0], grids.values[0] + GOOD_TO, np.inf)
        self._theta = grids.theta[0].copy()

    def is_far_below(self, profiles: Profiles, u: float, height: float) -> bool:
        """Whether the profile is far below its peak elsewhere, and lower at the model's limits.

        Cells that may not be are looked at again.
        """
        away = np.abs(profiles.to_search(self._psi)[:, 0] - u) > BESIDE * _step(profiles)
        most = np.where(away, height - CLEAR, np.inf)
        (shape,) = profiles.shape
        for end, upper in ((0, False), (-1, True)):
            if shape.limit(upper) is not None:
                most[end] = min(most[end], height - ALIKE)
        high = np.flatnonzero(self._values > most)
        if 2 * len(high) > len(most):
            return False  # it is as well to look at all of them
        if len(high):
            found = one_by_one(profiles, self._psi[high], self._theta[high])
            self._values[high], self._theta[high] = found
        return bool(away.any() and (self._values <= most).all())

    def all_anew(self, profiles: Profiles) -> Grid:
        """The profile at all cells."""
        self._values, self._theta = one_by_one(profiles, self._psi, self._theta)
        looked = np.ones(len(self._values), dtype=bool)
        return Grid(self._psi, self._values.copy(), self._theta.copy(), self._dimensions, looked)


def rises_to(profiles: Profiles, grid: Grid, u: float, height: float) -> bool:
    """Whether the cells rise to a peak from both sides, so that it is the only one to climb to.

    Those far below do not count.
    """
    values = grid.values
    best = int(values.argmax())
    near = abs(float(profiles.to_search(grid.psi[best : best + 1])[0, 0]) - u)
    if not (np.isfinite(values).all() and near <= _step(profiles)):
        return False
    if not height >= values[best] - ROUNDING:
        return False
    rising = np.diff(np.maximum(values, height - CLEAR))
    return bool((rising[:best] >= -ROUNDING).all() and (rising[best:] <= ROUNDING).all())


def is_small(profiles: Profiles) -> bool:
    """Whether the whole grid costs little more than some of it."""
    return profiles.n_options * profiles.n_weights <= SMALL


def may_reach_far(profiles: Profiles, peaks: Peaks) -> bool:
    """Whether weights may be of another order of magnitude not far below the peak.

    They change by as much along psi as at the peak, or twice that; towards a limit of the model by
    any amount.
    """
    u, width = float(peaks.u[0, 0]), BESIDE * _step(profiles)
    ends = zip(profiles.bounds[0], (False, True), strict=True)
    if any(abs(u - end) <= width and profiles.shape[0].limit(upper) for end, upper in ends):
        return True
    theta, drift = peaks.points.theta[0], peaks.drift[0, :, 0]
    reach = min(width, (2.0 * DROP / max(float(peaks.curvature[0, 0, 0]), 1e-300)) ** 0.5)
    own = profiles.positive
    return bool((2.0 * np.abs(drift[own]) * reach >= REACH * np.abs(theta[own])).any())


def _step(profiles: Profiles) -> float:
    return float(grid_steps(profiles.shape)[0])
