"""The search over psi: a grid, then Newton's method from the best cells.

Where weights have no maximum, the supremum of the profile is looked at closely instead. Choices may
be separated in part: some weights grow without end, while the others and psi still have a best
value. The likelihood then rises towards a supremum at every psi, and the highest of these is
between the points of the grid. No gradient is asked for: where weights grow without end it tells
little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Problem, Profiles
from penchant.inference.proportional import are_rates
from penchant.inference.search.climb import Climbs, Near, climb_together
from penchant.inference.search.grid import (
    DEEP,
    Grid,
    Grids,
    are_level,
    best_cells,
    grid_steps,
    searched_grids,
    vertices,
)
from penchant.inference.search.kinks import settled_at_kinks
from penchant.inference.search.peaks import Peak, Peaks, heights_beside, settled_at_limits
from penchant.inference.search.ridges import at_edges, climb_ridges
from penchant.inference.search.steps import climb_from_small_rates, climb_from_steps
from penchant.models.model import Declared

ROUNDS = 14  # halvings of a step of the grid
LOST = 0.5  # log-units: a choice that is certain no more costs log 2 = 0.69 at once
HALVINGS = 30  # of a step of the grid, at whose end it is lost
GAIN = 1e-4  # log-units for which psi is moved; suprema are known a little better than that


def highest_suprema(
    profiles: Profiles, whose: IntVector, psi: Matrix, steps: Matrix, least: float = GAIN
) -> Matrix:
    """Psi of some subjects, moved to where the profile is highest around it.

    Parameters
    ----------
    psi
        The best point of the grid of each.
    steps
        Those of the grid, in search units.
    least
        Log-units for which psi is moved.
    """
    n_shape = profiles.n_shape
    if not n_shape:
        return psi
    around = [way for way in product((-1.0, 0.0, 1.0), repeat=n_shape) if any(way)]
    ways = np.array(around).reshape(-1, n_shape)
    low, high = profiles.bounds.T
    u = profiles.to_search(psi)
    reached = _suprema(profiles, whose, u[:, None])[:, 0]
    step = np.full(len(whose), 0.5)
    moving = np.flatnonzero(reached <= -least)
    for _ in range(2 * ROUNDS):
        if not len(moving):
            break
        beside = np.clip(u[moving][:, None] + step[moving, None, None] * steps * ways, low, high)
        values = _suprema(profiles, whose[moving], beside)
        gain = values - reached[moving, None]
        row, best = np.arange(len(moving)), values.argmax(axis=1)
        higher = gain[row, best] > least
        up = moving[higher]
        u[up], reached[up] = beside[row, best][higher], values[row, best][higher]
        step[moving[~higher]] /= 2
        # nothing to gain from where all is certain, or where nothing differs so close by
        done = (reached[moving] > -least) | (np.abs(gain) <= least).all(axis=1)
        moving = moving[~done & (step[moving] > 2.0**-ROUNDS)]
    return profiles.from_search(u)


def _suprema(profiles: Profiles, whose: IntVector, u: Matrix) -> Matrix:
    """The profiles of subjects at several places each, (n, n_places, n_shape): (n, n_places)."""
    n, n_places, n_shape = u.shape
    psi = profiles.from_search(u.reshape(-1, n_shape))
    subject = np.repeat(whose, n_places)
    points = profiles.solve(subject, psi, with_slopes=False, patient=False)
    return points.value.reshape(n, n_places)


def shared_suprema(
    profiles: Profiles, grids: Sequence[Grid], psi: Matrix, suprema: Vector, index: int
) -> Matrix:
    """Ends of one shape parameter between which subjects' suprema are reached: (n_subjects, 2).

    Where choices become certain in the limit, all psi up to one at which an option taken changes
    places with another explain them equally well. Infinite where the range of the search ends.

    Parameters
    ----------
    grids, psi, suprema
        Of each subject: the profile, a psi at which it comes to its supremum, and that.
    index
        Which shape parameter.
    """
    bounds, steps = profiles.bounds[index], grid_steps(profiles.shape)
    u = profiles.to_search(psi)
    cells = profiles.to_search(grids[0].psi)
    ends = np.empty((len(grids), 2))
    for side, sign in enumerate((-1.0, 1.0)):
        inside = np.array(
            [
                _outermost(cells, grid.values > top - LOST, at, sign, index)
                for grid, top, at in zip(grids, suprema, u, strict=True)
            ]
        )
        limit = bounds[side]
        outside = sign * np.minimum(sign * (inside[:, index] + sign * steps[index]), sign * limit)
        found = _last(profiles, suprema, inside, outside, index)
        ends[:, side] = np.where(sign * found >= sign * limit, sign * np.inf, found)
    return ends


def _outermost(cells: Matrix, reached: BoolVector, u: Vector, sign: float, index: int) -> Vector:
    """The cell of a grid furthest out that comes to the supremum, or u if none is further."""
    further = np.flatnonzero(reached & (sign * (cells[:, index] - u[index]) > 0))
    if not len(further):
        return u
    return np.asarray(cells[further[np.argmax(sign * cells[further, index])]])


def _last(
    profiles: Profiles, suprema: Vector, inside: Matrix, outside: Vector, index: int
) -> Vector:
    """The last position from inside to outside that comes to the supremum, by halving."""
    whose = np.arange(len(inside))

    def reaches(at: Vector) -> BoolVector:
        u = inside.copy()
        u[:, index] = at
        points = profiles.solve(whose, profiles.from_search(u), with_slopes=False, patient=False)
        return np.asarray(points.value > suprema - LOST)

    low, high = inside[:, index], outside
    low = np.where(reaches(high), high, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        further = reaches(middle)
        low, high = np.where(further, middle, low), np.where(further, high, middle)
    return low


BEST_CELLS = {0: 1, 1: 3, 2: 8}  # to climb from, by the number of shape parameters
MANY_CELLS = 16  # in more dimensions, where the steps of a grid are long
ALIKE = 0.05  # log-units between cells that may share a supremum, which none reaches
CLOSE = 0.1  # log-units below the best cell, of one that may have a peak of its own among kinks,
BESIDE = 0.5  # so many steps of the grid from others
THERE = 0.25  # steps of the grid from where another climb came to, to where one is given up,
LEADS = 1.0  # or from a maximum that it leads to, of a smooth profile of two shape parameters: with
# more the steps of a grid are long, with one it saves nothing
ALONE = 6  # rounds of climbing from a subject's best cell before others join in,
PATIENCE = 40  # and after which they wait no longer for each other
MORE_CLIMBS = 4  # from where one came to no end, each as long,
RISE = 1e-6  # if the last led up by so many log-units
HOPELESS = 2.0  # log-units below the best, of a climb that is not worth going on with
NEARLY = 1e-8  # log-units that Newton's last steps gain at a smooth maximum
# steps of the grid looked away from a peak among kinks; the last ones if it is on one itself
LOOKS = (1.0, 0.5, 0.25, 0.125, 0.06, 0.03, 0.015, 0.007, 0.003)
NOT_CLOSER = 0.03


def grid_search(profiles: Profiles) -> tuple[Grids, Points]:
    """The profile of every subject on the model's grid, and the points of the best cells."""
    everyone = np.arange(len(profiles.groups))
    if not profiles.n_shape:
        nowhere = np.empty((len(everyone), 0))
        points = profiles.solve(everyone, nowhere)
        looked = np.ones((len(everyone), 1), dtype=bool)
        return Grids(nowhere[:1], points.value[:, None], points.theta[:, None], (), looked), points
    grids = searched_grids(profiles)
    best = grids.values.argmax(axis=1)
    near = grids.theta[everyone, best]
    return grids, profiles.solve(everyone, grids.psi[best], near, with_slopes=False, patient=False)


def climb(
    problem: Problem,
    psi: Vector,
    max_steps: int = 40,
    fixed: BoolVector | None = None,
    planes: Planes | None = None,
) -> Peak:
    """Climb on one profile: see `climb_together`."""
    whose = np.zeros(1, dtype=np.int64)
    held = None if fixed is None else fixed[None]
    climbs = climb_together(problem.profiles, whose, psi[None], None, max_steps, held, planes)
    return climbs.peaks()[0]


def best_peaks(
    profiles: Profiles, grids: Grids, lost: BoolVector, known: Peaks | None = None
) -> Peaks:
    """The highest peak of every subject reached from the best cells of its grid, or known.

    Where the best cell has no finite weights (`lost`) nothing is climbed. Around the peak of a
    model that is not smooth there may be others inside a cell.
    """
    best = Peaks.none(profiles, len(lost)) if known is None else known
    if not profiles.n_shape and known is not None:
        return best
    climbing = np.flatnonzero(~lost)
    _evaluate_at_the_middle(profiles, grids, np.flatnonzero(lost), best)
    _climb_from_cells(profiles, grids, climbing, best)
    _rise_to_the_grid(profiles, grids, climbing, best)
    if Declared(profiles.model).steps is not None:
        climb_from_steps(profiles, grids, climbing, best)
    if len(climbing) and profiles.n_shape > 1 and are_rates(profiles).sum() > 1:
        climb_from_small_rates(profiles, grids, climbing, best)
    if Declared(profiles.model).smooth:
        _climb_again(profiles, grids, climbing[~best.converged[climbing]], best)
        if Declared(profiles.model).outside:
            _feel_the_way(profiles, climbing[~best.converged[climbing]], best)
    if not Declared(profiles.model).smooth and len(climbing):
        _look_around(profiles, climbing, best)
        _arrive(profiles, climbing[~best.converged[climbing]], best)
    climbs = Climbs.at(profiles, best)
    climbs.finish()
    peaks = climbs.peaks()
    if not Declared(profiles.model).smooth and profiles.n_shape:
        peaks = settled_at_kinks(profiles, peaks, lost)
    return settled_at_limits(profiles, peaks, lost)


def _climb_from_cells(
    profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks, proven: bool = False
) -> None:
    """Climb from the best cells of every subject, from several at once where they lie apart.

    A cell that leads to a peak already found is not climbed from: a local maximum of the grid
    beside the peak's own cell, or another cell within three steps; among kinks, where peaks lie
    close together, those nearly as high as the best only if within half a step. Nor is a climb
    followed that comes to such a peak. `proven`: look closely at every step.
    """
    starts = _Starts.of(profiles, grids, whose, best)
    smooth = Declared(profiles.model).smooth
    in_plane = smooth and profiles.n_shape == 2
    leading = LEADS if in_plane else THERE
    climbs = Climbs(profiles, np.repeat(whose, starts.most), proven=proven)
    idle, rounds = np.arange(len(whose)), np.zeros(len(whose), dtype=np.int64)
    while True:
        waited = rounds[idle]
        rows = starts.next(idle, waited >= PATIENCE, waited < ALONE)
        if len(rows):
            climbs.begin(rows, *starts.at(profiles, grids, rows))
        if not climbs.active.any():
            break
        ended = climbs.advance()
        if len(ended):
            starts.found(ended, climbs.u[ended], climbs.converged[ended])
            best.improve_by_any(climbs.subject[ended], climbs.peaks(), ended)
        rows = np.flatnonzero(climbs.active)
        low = np.flatnonzero(climbs.points.value[rows] <= best.points.value[climbs.subject[rows]])
        vain = rows[low]
        mine, target = vain // starts.most, climbs.targets(vain)
        leads = starts.near(mine, target, leading, starts.certain)
        if in_plane:
            leads |= starts.near(mine, climbs.summits(vain), leading, starts.certain)
        there = starts.near(mine, climbs.u[vain], THERE, np.ones_like(starts.certain))
        vain = vain[there | leads]
        climbs.give_up(vain)
        ended = np.concatenate([ended, vain])
        busy: BoolVector = np.any(climbs.active.reshape(len(whose), -1), axis=1)
        idle = np.unique(ended // starts.most)
        idle = idle[~busy[idle]]
        rounds[busy] += 1
        idle = np.union1d(idle, np.flatnonzero((rounds == ALONE) | (rounds == PATIENCE)))
    if not smooth:
        _go_on_among_kinks(profiles, climbs, starts.halted, best)


def _go_on_among_kinks(profiles: Profiles, climbs: Climbs, halted: IntVector, best: Peaks) -> None:
    """Climb further from where steps across kinks led down, if that is not far below the best."""
    below = best.points.value[climbs.subject[halted]] - climbs.points.value[halted]
    rows = halted[below < HOPELESS]
    if len(rows):
        subject = climbs.subject[rows]
        found = climb_ridges(profiles, subject, climbs.u[rows], climbs.points.theta[rows])
        best.improve_by_any(subject, found, np.arange(len(rows)))


def _rise_to_the_grid(profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks) -> None:
    """Climb from the best cells themselves that no climb came up to.

    Climbs begin beside them, where parabolas around them peak; among kinks that may be lower.
    """
    cell = grids.values[whose].argmax(axis=1)
    low = best.points.value[whose] < grids.values[whose, cell] - RISE
    if low.any():
        whose, cell = whose[low], cell[low]
        climbs = Climbs(profiles, whose)
        climbs.begin(np.arange(len(whose)), grids.psi[cell], grids.theta[whose, cell])
        climbs.run()
        best.improve(whose, climbs.peaks())


def _climb_again(profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks) -> None:
    """Go on from where the highest climb came to no end, while that leads up.

    Along a ridge steps are short. Where weights grow without end, every step from the best cells is
    looked at closely: only that tells what is reached in the limit.
    """
    rising = whose
    for _ in range(MORE_CLIMBS):
        before = best.points.value[rising]
        _go_on(profiles, rising, best)
        higher = best.points.value[rising] > before + RISE
        rising = rising[higher & ~best.converged[rising]]
    lost = whose[~(best.converged | best.points.settled)[whose]]
    if len(lost):
        closely = Peaks.none(profiles, len(best.converged))
        _climb_from_cells(profiles, grids, lost, closely, proven=True)
        best.improve(lost, closely.take(lost))
        _go_on(profiles, lost, best)


def _feel_the_way(profiles: Profiles, whose: IntVector, best: Peaks) -> None:
    """Go up without slopes from where climbs came to an end: it may be where the model does.

    Up there slopes lead outside, while it still rises along the edge.
    """
    for _ in range(MORE_CLIMBS):
        if not len(whose):
            return
        before = best.points.value[whose]
        at = best.points.psi[whose]
        psi = highest_suprema(profiles, whose, at, grid_steps(profiles.shape), least=RISE)
        climbs = climb_together(profiles, whose, psi, max_steps=0, finish=False)
        best.improve(whose, climbs.peaks())
        whose = whose[best.points.value[whose] > before + RISE]
        _go_on(profiles, whose, best)
        whose = whose[~best.converged[whose]]


def _go_on(profiles: Profiles, whose: IntVector, best: Peaks) -> None:
    """Climb further from where the highest climbs ended."""
    if len(whose):
        at = best.take(whose)
        near = Near(at.points.theta, at.curvature)
        further = climb_together(profiles, whose, at.points.psi, near, finish=False)
        best.improve(whose, further.peaks())


@dataclass
class _Starts:
    """Cells to climb from, subject by subject, the most promising first.

    Attributes
    ----------
    whose, cells, u
        The subjects, their cells (n, most), and where these lie in search units.
    reach
        Steps of the grid around a peak in which a cell leads there: (n, most).
    waiting
        Cells not climbed from, and not known to lead to a peak.
    peaks, certain
        Where peaks were found, those known before first; NaN where there is none yet. Whether they
        are maxima, and not where a climb came to no end.
    steps
        Those of the grid.
    """

    whose: IntVector
    cells: IntVector
    u: Matrix
    reach: Matrix
    waiting: BoolVector
    peaks: Matrix
    certain: BoolVector
    steps: Vector

    @classmethod
    def of(cls, profiles: Profiles, grids: Grids, whose: IntVector, known: Peaks) -> _Starts:
        """All of them."""
        most = BEST_CELLS.get(profiles.n_shape, MANY_CELLS)
        values = grids.values[whose]
        cells, maxima = best_cells(values, grids.dimensions, most)
        u = profiles.to_search(grids.psi)[cells]
        found = np.isfinite(known.points.value[whose])[:, None]
        peaks = np.full((len(whose), 1 + cells.shape[1], profiles.n_shape), np.nan)
        peaks[:, 0] = np.where(found, known.u[whose], np.nan)
        height = np.take_along_axis(values, cells, axis=1)
        highest = height.max(axis=1, initial=-np.inf)[:, None]
        reach = np.where(maxima, 1.0, 3.0)
        waiting = (height > highest - DEEP) | ~are_level(values, grids.dimensions, cells)
        if not Declared(profiles.model).smooth:
            reach[height > highest - CLOSE] = BESIDE
        steps, certain = grid_steps(profiles.shape), np.zeros(peaks.shape[:2], dtype=bool)
        certain[:, 0] = found[:, 0] & known.converged[whose]
        return cls(whose, cells, u, reach, waiting, peaks, certain, steps)

    @property
    def most(self) -> int:
        """Cells of each subject."""
        return int(self.cells.shape[1])

    @property
    def halted(self) -> IntVector:
        """Rows of climbs that came to an end, but to no maximum."""
        ended = ~np.isnan(self.peaks[:, 1:]).any(axis=2) & ~self.certain[:, 1:]
        return np.flatnonzero(ended)

    def next(self, subjects: IntVector, at_once: BoolVector, alone: BoolVector) -> IntVector:
        """Rows, subject by subject and cell by cell, to climb from now.

        Of cells that lie so close that one may lead where the other does, the better one is first,
        unless all are to be climbed from `at_once`. `alone`: the best before all others, so that
        these can be given up where they lead to the same peak.
        """
        chosen = np.zeros((len(subjects), self.most), dtype=bool)
        known = self.waiting, self.u, self.reach, self.peaks, self.steps
        compiled.choose_cells(subjects, at_once, alone, *known, chosen)
        subject, cell = np.nonzero(chosen)
        return np.asarray(subjects[subject] * self.most + cell)

    def at(self, profiles: Profiles, grids: Grids, rows: IntVector) -> tuple[Matrix, Matrix]:
        """Psi and weights to start from: where parabolas around the cells peak."""
        subject, cell = self.whose[rows // self.most], self.cells.ravel()[rows]
        shift = vertices(grids.values, grids.dimensions, subject, cell)
        u = self.u.reshape(-1, profiles.n_shape)[rows] + shift * self.steps
        return profiles.from_search(u), grids.theta[subject, cell]

    def found(self, rows: IntVector, u: Matrix, certain: BoolVector) -> None:
        """Where some climbs have come to, and whether to a maximum."""
        at = rows // self.most, 1 + rows % self.most
        self.peaks[at], self.certain[at] = u, certain

    def near(self, subjects: IntVector, u: Matrix, steps: float, which: BoolVector) -> BoolVector:
        """Whether one of some peaks lies within so many steps of u, along every parameter."""
        found = np.empty(len(u), dtype=bool)
        compiled.near_peaks(self.peaks, which, subjects, u[:, None], steps, self.steps, found)
        return found


def _evaluate_at_the_middle(
    profiles: Profiles, grids: Grids, whose: IntVector, best: Peaks
) -> None:
    """Do not climb where no weights are finite: look at the middle of the best cells."""
    if len(whose):
        cells = _middles_of_flats(profiles, whose, grids)
        psi = highest_suprema(profiles, whose, grids.psi[cells], grid_steps(profiles.shape))
        climbs = climb_together(profiles, whose, psi, max_steps=0, finish=False)
        best.improve(whose, climbs.peaks())


def _middles_of_flats(profiles: Profiles, whose: IntVector, grids: Grids) -> IntVector:
    """The best cells; the middle ones of those that are as good, where the supremum is shared."""
    values = grids.values[whose]
    best: IntVector = values.argmax(axis=1)
    alike = values > values[np.arange(len(whose)), best][:, None] - ALIKE
    u, steps = profiles.to_search(grids.psi), grid_steps(profiles.shape)
    middle = np.array([_middle(np.flatnonzero(near), u, steps) for near in alike])
    asked = np.flatnonzero(middle != best)
    if not len(asked):
        return best
    both = np.concatenate([best[asked], middle[asked]])
    points = profiles.solve(np.tile(whose[asked], 2), grids.psi[both], with_slopes=False)
    of_best, of_middle = points.value.reshape(2, -1)
    shared = asked[of_middle > of_best - 1e-6]
    best[shared] = middle[shared]
    return best


def _middle(cells: IntVector, u: Matrix, steps: Vector) -> int:
    """The cell nearest to the mean of some, whose places in search units are u."""
    away = ((u[cells] - u[cells].mean(axis=0)) / steps) ** 2
    return int(cells[np.argmin(away.sum(axis=1))])


def _look_around(profiles: Profiles, whose: IntVector, best: Peaks) -> None:
    """Climb from points beside the peaks that are higher still, until there are none."""
    not_closer = [share for share in LOOKS if share >= NOT_CLOSER]
    for _ in LOOKS:
        smooth = best.converged[whose]
        some = _higher_beside(profiles, whose[smooth], best, not_closer)
        others = _higher_beside(profiles, whose[~smooth], best, LOOKS)
        whose, u, theta = (np.concatenate(both) for both in zip(some, others, strict=True))
        if not len(whose):
            return
        found = climb_ridges(profiles, whose, u, theta)
        best.improve(whose, found)
        whose = whose[~at_edges(profiles, found.points)]


def _higher_beside(
    profiles: Profiles, whose: IntVector, best: Peaks, shares: Sequence[float]
) -> tuple[IntVector, Matrix, Matrix]:
    """Who is higher so many steps of the grid beside a peak; where, and with which weights."""
    ways = np.array([way for way in product((-1, 0, 1), repeat=profiles.n_shape) if any(way)])
    offsets = np.concatenate([share * grid_steps(profiles.shape) * ways for share in shares])
    beside = np.clip(best.u[whose][:, None] + offsets, *profiles.bounds.T)
    if not len(whose):
        return whose, np.empty((0, profiles.n_shape)), np.empty((0, profiles.n_weights))
    points = heights_beside(profiles, whose, best, beside)
    values = points.value.reshape(len(whose), len(offsets))
    higher = np.flatnonzero(values.max(axis=1) > best.points.value[whose] + 1e-9)
    cells = higher * len(offsets) + values[higher].argmax(axis=1)
    return whose[higher], beside.reshape(-1, profiles.n_shape)[cells], points.theta[cells]


def _arrive(profiles: Profiles, whose: IntVector, best: Peaks) -> None:
    """Newton's last steps, where climbs among kinks came to a maximum that is smooth."""
    some = whose[Climbs.at(profiles, best.take(whose)).promised < NEARLY]
    if not len(some):
        return
    at = best.take(some)
    climbs = Climbs(profiles, some)
    climbs.begin(np.arange(len(some)), at.points.psi, at.points.theta)
    climbs.run()
    there = np.flatnonzero(climbs.converged & (climbs.points.value > at.points.value - NEARLY))
    best.put(some[there], climbs.peaks().take(there))


def best_peak(problem: Problem, grid: Grid) -> Peak:
    """The highest peak of one subject."""
    return best_peaks(problem.profiles, Grids.single(grid), np.zeros(1, dtype=bool))[0]
