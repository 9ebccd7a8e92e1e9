"""Global maximization of profiles over psi: a grid, then Newton's method from its best cells.

A multistart method (Rinnooy Kan & Timmer 1987): starts are the best cells of the grid, clusters of
them share one iteration, and iterations that lead to a known maximum are dropped. What was tried to
save starts, and which maxima that lost, is in benchmarks/MODELS.md.

Choices may be separated at every psi: some weights diverge, while the others and psi still have a
best value. The profile is then the supremum over weights, and its maximum is found by a pattern
search without gradients, which mean little where weights diverge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.profile.inner_problems import InnerSolutions, LinearConstraint
from penchant.inference.profile.profile_likelihood import FINITE_VALUES, VALUES, ProfileProblems
from penchant.inference.search.bundle_method import bundle_search, near_divergence
from penchant.inference.search.extra_starts import (
    newton_from_profile_jumps,
    newton_from_small_rates,
)
from penchant.inference.search.grid_search import (
    GRID,
    ProfileGrid,
    ProfileGrids,
    are_flat,
    best_cells,
    parabola_vertices,
    search_grids,
    unconstrained_grid_steps,
)
from penchant.inference.search.local_maxima import Optima, move_to_limits, values_near_optima
from penchant.inference.search.maxima_at_kinks import polish_nonsmooth_maxima
from penchant.inference.search.projected_newton import BatchNewton, WarmStart, newton_batch
from penchant.inference.small_learning_rates import rate_parameter_mask
from penchant.models.model import Declared


@dataclass(frozen=True, slots=True)
class SeparatedOptions:
    """Settings of the search where weights diverge; heights are in log-units."""

    # Halvings of the pattern, from half a grid step: psi to four digits, at some cost for each.
    max_halvings: int = 14
    # A choice that is not certain any more costs log 2 = 0.69 at once: half-way marks the interval.
    interval_drop: float = 0.5
    max_bisections: int = 30  # halvings of a grid step: ends to nine digits, more than are shown
    min_gain: float = 1e-4  # smaller gains may be errors of suprema, and would move psi at random


SEPARATED = SeparatedOptions()


def maximize_separated_profile(
    profiles: ProfileProblems,
    subjects: IntVector,
    psi: Matrix,
    steps: Matrix,
    min_gain: float = SEPARATED.min_gain,
) -> Matrix:
    """Maximize profiles of separated choices by a pattern search from psi.

    A pattern of all neighbours, diagonals included, whose step is halved where none is higher
    (Hooke & Jeeves 1961): the supremum jumps where a choice ceases to be certain, and its gradient
    means little.

    Parameters
    ----------
    psi
        The best point of the grid of each subject.
    steps
        ProfileGrid steps, in unconstrained units.
    least
        Log-units for which psi is moved.
    """
    n_shape = profiles.n_shape
    if not n_shape:
        return psi
    around = [way for way in product((-1.0, 0.0, 1.0), repeat=n_shape) if any(way)]
    directions = np.array(around).reshape(-1, n_shape)
    low, high = profiles.bounds.T
    u = profiles.to_unconstrained(psi)
    reached = profiles.solve_points(subjects, u[:, None], None, FINITE_VALUES).value
    step = np.full(len(subjects), 0.5)
    moving = np.flatnonzero(reached <= -min_gain)
    for _ in range(2 * SEPARATED.max_halvings):
        if not len(moving):
            break
        neighbours = np.clip(
            u[moving][:, None] + step[moving, None, None] * steps * directions, low, high
        )
        points = profiles.solve_points(subjects[moving], neighbours, None, FINITE_VALUES)
        values = points.value.reshape(len(moving), -1)
        gain = values - reached[moving, None]
        row, best = np.arange(len(moving)), values.argmax(axis=1)
        higher = gain[row, best] > min_gain
        up = moving[higher]
        u[up], reached[up] = neighbours[row, best][higher], values[row, best][higher]
        step[moving[~higher]] /= 2
        # At 0 every choice is certain, and level neighbours stay level: nothing is left to gain.
        done = (reached[moving] > -min_gain) | (np.abs(gain) <= min_gain).all(axis=1)
        moving = moving[~done & (step[moving] > 2.0**-SEPARATED.max_halvings)]
    return profiles.from_unconstrained(u)


def interval_reaching_supremum(
    profiles: ProfileProblems,
    grids: Sequence[ProfileGrid],
    psi: Matrix,
    suprema: Vector,
    index: int,
) -> Matrix:
    """Interval of one shape parameter in which subjects' suprema are reached: (n_subjects, 2).

    Where choices become certain in the limit, all psi up to one at which a chosen option ceases to
    be the best explain them equally well. Infinite where the range of the search ends.

    Parameters
    ----------
    grids, psi, suprema
        Of each subject: the profile, a psi at which it reaches its supremum, and the supremum.
    index
        Index of the shape parameter.
    """
    bounds, steps = profiles.bounds[index], unconstrained_grid_steps(profiles.shape)
    u = profiles.to_unconstrained(psi)
    cells = profiles.to_unconstrained(grids[0].psi)
    ends = np.empty((len(grids), 2))
    for side, sign in enumerate((-1.0, 1.0)):
        inside = np.array(
            [
                _outermost_reached_cell(
                    cells, grid.values > top - SEPARATED.interval_drop, at, sign, index
                )
                for grid, top, at in zip(grids, suprema, u, strict=True)
            ]
        )
        limit = bounds[side]
        outside = sign * np.minimum(sign * (inside[:, index] + sign * steps[index]), sign * limit)
        found = _bisect_interval_end(profiles, suprema, inside, outside, index)
        ends[:, side] = np.where(sign * found >= sign * limit, sign * np.inf, found)
    return ends


def _outermost_reached_cell(
    cells: Matrix, reached: BoolVector, u: Vector, sign: float, index: int
) -> Vector:
    further = np.flatnonzero(reached & (sign * (cells[:, index] - u[index]) > 0))
    if not len(further):
        return u
    return np.asarray(cells[further[np.argmax(sign * cells[further, index])]])


def _bisect_interval_end(
    profiles: ProfileProblems, suprema: Vector, inside: Matrix, outside: Vector, index: int
) -> Vector:
    subjects = np.arange(len(inside))

    def reaches(at: Vector) -> BoolVector:
        u = inside.copy()
        u[:, index] = at
        points = profiles.solve(
            subjects,
            profiles.from_unconstrained(u),
            accuracy=FINITE_VALUES,
        )
        return np.asarray(points.value > suprema - SEPARATED.interval_drop)

    low, high = inside[:, index], outside
    low = np.where(reaches(high), high, low)
    for _ in range(SEPARATED.max_bisections):
        middle = (low + high) / 2
        further = reaches(middle)
        low, high = np.where(further, middle, low), np.where(further, high, middle)
    return low


# Cells to start from, by number of shape parameters: fewer lose maxima (benchmarks/MODELS.md).
N_STARTS = {0: 1, 1: 3, 2: 8}
N_STARTS_MANY = 16  # in more dimensions, where grid steps are long and cells far from their maxima


@dataclass(frozen=True, slots=True)
class MultistartOptions:
    """Settings of the multistart search; heights in log-units, distances in grid steps."""

    # Cells this close to the best may belong to one plateau, whose supremum none of them reaches.
    plateau_tol: float = 0.05
    # Nonsmooth profiles have maxima of their own close together: cells nearly as high as the best
    # are started from unless very close to a known maximum. Of 300 people with two rates 10 ended
    # lower by up to 0.05 without this, 3 by up to 0.002 with it.
    nonsmooth_max_deficit: float = 0.1
    nonsmooth_distance: float = 0.5  # grid steps from a known maximum
    # An iteration this close to the end of another one would end there too, and is dropped.
    same_optimum_distance: float = 0.25
    # It is also dropped if its next step or quadratic model leads this close to a maximum: only in
    # two dimensions, as grid steps of more are long, and in one nothing is saved.
    leads_to_optimum_distance: float = 1.0
    # Rounds of the best cell's iteration before others join in: most then turn out to lead there.
    head_start: int = 6
    # Rounds after which close cells are all started: waiting longer only prolongs the search.
    max_wait: int = 40
    # Continuations of an unconverged iteration, each if the last gained min_gain: for long ridges.
    max_continuations: int = 4
    min_gain: float = 1e-6  # smaller gains are the tolerance of the inner solver
    max_bundle_deficit: float = 2.0  # further below the best the bundle method rarely catches up
    # Predicted gain of last steps at a smooth maximum: beside a kink gradients predict more.
    smooth_gain: float = 1e-8
    probe_gain: float = 1e-9  # a probe this much higher than its maximum is worth an iteration
    # Suprema that differ by less are the same, and the plateau's centre is taken.
    tie_tol: float = 1e-6
    # Distances of probes around maxima of nonsmooth profiles; without the one at 0.06, 4 of 4,000
    # people ended lower. The closest only where the maximum seems to lie on a kink.
    probe_distances: tuple[float, ...] = (1.0, 0.5, 0.25, 0.125, 0.06, 0.03, 0.015, 0.007, 0.003)
    min_smooth_probe: float = 0.03  # grid steps; the closest for a maximum off every kink


SEARCH = MultistartOptions()


def grids_and_best_cells(
    profiles: ProfileProblems,
) -> tuple[ProfileGrids, InnerSolutions]:
    """Profile of every subject on the model's grid, and the inner solutions at the best cells."""
    everyone = np.arange(len(profiles.groups))
    if not profiles.n_shape:
        nowhere = np.empty((len(everyone), 0))
        points = profiles.solve(everyone, nowhere)
        solved = np.ones((len(everyone), 1), dtype=bool)
        return ProfileGrids(
            nowhere[:1], points.value[:, None], points.theta[:, None], (), solved
        ), points
    grids = search_grids(profiles)
    best = grids.values.argmax(axis=1)
    start_theta = grids.theta[everyone, best]
    return grids, profiles.solve(everyone, grids.psi[best], start_theta, accuracy=FINITE_VALUES)


def newton_from(
    profiles: ProfileProblems,
    psi: Vector,
    max_steps: int = 40,
    fixed: BoolMatrix | None = None,
    constraint: LinearConstraint | None = None,
) -> Optima:
    """Maximize one profile from psi: see `newton_batch`."""
    subjects = np.zeros(1, dtype=np.int64)
    held = None if fixed is None else fixed[None]
    newton = newton_batch(profiles, subjects, psi[None], None, max_steps, held, constraint)
    return newton.optima()


def best_optima(
    profiles: ProfileProblems,
    grids: ProfileGrids,
    weights_diverge: BoolVector,
    known: Optima | None = None,
) -> Optima:
    """Highest optimum of every subject, reached from the best cells of its grid, or known.

    Where the best cell has no finite weights (`weights_diverge`) Newton's method is not used.
    Around the optimum of a nonsmooth model there may be others inside a cell: the neighbourhood is
    probed.
    """
    best = Optima.unsolved_optima(profiles, len(weights_diverge)) if known is None else known
    if not profiles.n_shape and known is not None:
        return best
    bounded = np.flatnonzero(~weights_diverge)
    _evaluate_plateau_centres(profiles, grids, np.flatnonzero(weights_diverge), best)
    _newton_from_cells(profiles, grids, bounded, best)
    _restart_from_grid(profiles, grids, bounded, best)
    if Declared(profiles.model).steps is not None:
        newton_from_profile_jumps(profiles, grids, bounded, best)
    if len(bounded) and profiles.n_shape > 1 and rate_parameter_mask(profiles).sum() > 1:
        newton_from_small_rates(profiles, bounded, best)
    if Declared(profiles.model).smooth:
        _continue_unconverged(profiles, grids, bounded[~best.converged[bounded]], best)
        # Where the domain ends inside the range gradients are missing: compare values only.
        if Declared(profiles.model).outside:
            _pattern_search(profiles, bounded[~best.converged[bounded]], best)
    if not Declared(profiles.model).smooth and len(bounded):
        _restart_from_higher_probes(profiles, bounded, best)
        _newton_polish(profiles, bounded[~best.converged[bounded]], best)
    newton = BatchNewton.start_at_optima(profiles, best)
    newton.take_final_steps()
    optima = newton.optima()
    if not Declared(profiles.model).smooth and profiles.n_shape:
        optima = polish_nonsmooth_maxima(profiles, optima, weights_diverge)
    return move_to_limits(profiles, optima, weights_diverge)


def _newton_from_cells(
    profiles: ProfileProblems,
    grids: ProfileGrids,
    subjects: IntVector,
    best: Optima,
    certify: bool = False,
) -> None:
    """Run Newton's method from the best cells of every subject, several at once if far apart.

    A cell that leads to an optimum already found is skipped: a local maximum of the grid beside
    the optimum's own cell, or another cell within three steps; in nonsmooth profiles, where optima
    lie close together, cells nearly as high as the best only if within half a step. An iteration
    that leads to such an optimum is dropped: 3 to 40 % fewer evaluations, by the model, and 3 of
    14,625 people end lower (by up to 0.02), 11 higher. `certify`: certify every step.
    """
    starts = _StartingCells.from_grids(profiles, grids, subjects, best)
    smooth = Declared(profiles.model).smooth
    in_plane = smooth and profiles.n_shape == 2
    leading = SEARCH.leads_to_optimum_distance if in_plane else SEARCH.same_optimum_distance
    newton = BatchNewton(profiles, np.repeat(subjects, starts.n_cells), certify=certify)
    idle, rounds = np.arange(len(subjects)), np.zeros(len(subjects), dtype=np.int64)
    while True:
        waited = rounds[idle]
        rows = starts.next_rows(idle, waited >= SEARCH.max_wait, waited < SEARCH.head_start)
        if len(rows):
            newton.begin(rows, *starts.at(profiles, grids, rows))
        if not newton.active.any():
            break
        ended = newton.advance()
        if len(ended):
            starts.record_ends(ended, newton.u[ended], newton.converged[ended])
            best.replace_by_highest(newton.subject[ended], newton.optima(), ended)
        rows = np.flatnonzero(newton.active)
        low = np.flatnonzero(newton.points.value[rows] <= best.points.value[newton.subject[rows]])
        dropped = rows[low]
        mine, target = dropped // starts.n_cells, newton.targets(dropped)
        leads = starts.is_near_optimum(mine, target, leading, starts.certain)
        if in_plane:
            leads |= starts.is_near_optimum(
                mine, newton.quadratic_maxima(dropped), leading, starts.certain
            )
        there = starts.is_near_optimum(
            mine, newton.u[dropped], SEARCH.same_optimum_distance, np.ones_like(starts.certain)
        )
        dropped = dropped[there | leads]
        newton.deactivate_rows(dropped)
        ended = np.concatenate([ended, dropped])
        busy: BoolVector = np.any(newton.active.reshape(len(subjects), -1), axis=1)
        idle = np.unique(ended // starts.n_cells)
        idle = idle[~busy[idle]]
        rounds[busy] += 1
        idle = np.union1d(
            idle, np.flatnonzero((rounds == SEARCH.head_start) | (rounds == SEARCH.max_wait))
        )
    if not smooth:
        _continue_by_bundle(profiles, newton, starts.unconverged_rows, best)


def _continue_by_bundle(
    profiles: ProfileProblems, newton: BatchNewton, unconverged_rows: IntVector, best: Optima
) -> None:
    below = (
        best.points.value[newton.subject[unconverged_rows]] - newton.points.value[unconverged_rows]
    )
    rows = unconverged_rows[below < SEARCH.max_bundle_deficit]
    if len(rows):
        subject = newton.subject[rows]
        found = bundle_search(profiles, subject, newton.u[rows], newton.points.theta[rows])
        best.replace_by_highest(subject, found, np.arange(len(rows)))


def _restart_from_grid(
    profiles: ProfileProblems, grids: ProfileGrids, subjects: IntVector, best: Optima
) -> None:
    """Restart from best cells that are higher than all ends.

    Iterations start at the vertex of parabolas through a cell and its neighbours; beside a kink
    that may be lower than the cell itself.
    """
    cell = grids.values[subjects].argmax(axis=1)
    low = best.points.value[subjects] < grids.values[subjects, cell] - SEARCH.min_gain
    if low.any():
        subjects, cell = subjects[low], cell[low]
        newton = BatchNewton(profiles, subjects)
        newton.begin(np.arange(len(subjects)), grids.psi[cell], grids.theta[subjects, cell])
        newton.run()
        best.improve(subjects, newton.optima())


def _continue_unconverged(
    profiles: ProfileProblems, grids: ProfileGrids, subjects: IntVector, best: Optima
) -> None:
    """Continue the highest iterations that did not converge, while that leads up.

    Along a ridge steps are short, and going on leads higher than starting again does. Where weights
    diverge every step from the best cells is certified: only that finds the supremum.
    """
    rising = subjects
    for _ in range(SEARCH.max_continuations):
        before = best.points.value[rising]
        _continue_newton(profiles, rising, best)
        higher = best.points.value[rising] > before + SEARCH.min_gain
        rising = rising[higher & ~best.converged[rising]]
    lost = subjects[~(best.converged | best.points.converged)[subjects]]
    if len(lost):
        certified = Optima.unsolved_optima(profiles, len(best.converged))
        _newton_from_cells(profiles, grids, lost, certified, certify=True)
        best.improve(lost, certified.take(lost))
        _continue_newton(profiles, lost, best)


def _pattern_search(profiles: ProfileProblems, subjects: IntVector, best: Optima) -> None:
    """Derivative-free pattern search where Newton's method stopped at the edge of the domain.

    There the gradient points outside, while the profile may still rise along the edge. Of 500
    people with the Gaussian filter two gain 0.2 and 1.1 log-units by it, in a tenth more time.
    """
    for _ in range(SEARCH.max_continuations):
        if not len(subjects):
            return
        before = best.points.value[subjects]
        at = best.points.psi[subjects]
        psi = maximize_separated_profile(
            profiles,
            subjects,
            at,
            unconstrained_grid_steps(profiles.shape),
            min_gain=SEARCH.min_gain,
        )
        newton = newton_batch(profiles, subjects, psi, max_steps=0, finish=False)
        best.improve(subjects, newton.optima())
        subjects = subjects[best.points.value[subjects] > before + SEARCH.min_gain]
        _continue_newton(profiles, subjects, best)
        subjects = subjects[~best.converged[subjects]]


def _continue_newton(profiles: ProfileProblems, subjects: IntVector, best: Optima) -> None:
    if len(subjects):
        at = best.take(subjects)
        near = WarmStart(at.points.theta, at.curvature)
        further = newton_batch(profiles, subjects, at.points.psi, near, finish=False)
        best.improve(subjects, further.optima())


@dataclass
class _StartingCells:
    """Cells to start from, subject by subject, the most promising first.

    Attributes
    ----------
    subjects, cells, u
        The subjects, their cells (n, n_cells), and psi of these in unconstrained units.
    reach
        ProfileGrid steps around an optimum within which a cell leads there: (n, n_cells).
    waiting
        Cells not started from yet, and not known to lead to an optimum.
    optima, certain
        u of the ends of iterations, of known optima first; NaN where there is none yet. Whether
        they are maxima: not so if the iteration did not converge.
    steps
        ProfileGrid steps in unconstrained units.
    """

    subjects: IntVector
    cells: IntMatrix
    u: Matrix
    reach: Matrix
    waiting: BoolMatrix
    optima: Matrix
    certain: BoolMatrix
    steps: Vector

    @classmethod
    def from_grids(
        cls, profiles: ProfileProblems, grids: ProfileGrids, subjects: IntVector, known: Optima
    ) -> _StartingCells:
        """Best cells of the grids, with optima known before."""
        n_cells = N_STARTS.get(profiles.n_shape, N_STARTS_MANY)
        values = grids.values[subjects]
        cells, maxima = best_cells(values, grids.dimensions, n_cells)
        u = profiles.to_unconstrained(grids.psi)[cells]
        found = np.isfinite(known.points.value[subjects])[:, None]
        optima = np.full((len(subjects), 1 + cells.shape[1], profiles.n_shape), np.nan)
        optima[:, 0] = np.where(found, known.unconstrained_psi[subjects], np.nan)
        height = np.take_along_axis(values, cells, axis=1)
        highest = height.max(axis=1, initial=-np.inf)[:, None]
        reach = np.where(maxima, 1.0, 3.0)
        waiting = (height > highest - GRID.max_local_maximum_deficit) | ~are_flat(
            values, grids.dimensions, cells
        )
        if not Declared(profiles.model).smooth:
            reach[height > highest - SEARCH.nonsmooth_max_deficit] = SEARCH.nonsmooth_distance
        steps, certain = (
            unconstrained_grid_steps(profiles.shape),
            np.zeros(optima.shape[:2], dtype=bool),
        )
        certain[:, 0] = found[:, 0] & known.converged[subjects]
        return cls(subjects, cells, u, reach, waiting, optima, certain, steps)

    @property
    def n_cells(self) -> int:
        """Number of cells of each subject."""
        return int(self.cells.shape[1])

    @property
    def unconverged_rows(self) -> IntVector:
        """Rows of iterations that ended, but not at a maximum."""
        ended = ~np.isnan(self.optima[:, 1:]).any(axis=2) & ~self.certain[:, 1:]
        return np.flatnonzero(ended)

    def next_rows(self, subjects: IntVector, at_once: BoolVector, alone: BoolVector) -> IntVector:
        """Rows, subject by subject and cell by cell, to start now.

        Of cells so close that one may lead where the other does, the better one comes first, unless
        all are to be started `at_once`. `alone`: the best before all others, so that these can be
        dropped where they lead to the same optimum.
        """
        chosen = np.zeros((len(subjects), self.n_cells), dtype=bool)
        known = self.waiting, self.u, self.reach, self.optima, self.steps
        compiled.mark_cells_to_start(subjects, at_once, alone, *known, chosen)
        subject, cell = np.nonzero(chosen)
        return np.asarray(subjects[subject] * self.n_cells + cell)

    def at(
        self, profiles: ProfileProblems, grids: ProfileGrids, rows: IntVector
    ) -> tuple[Matrix, Matrix]:
        """psi and weights to start from: vertices of parabolas through the cells."""
        subject, cell = self.subjects[rows // self.n_cells], self.cells.ravel()[rows]
        shift = parabola_vertices(grids.values, grids.dimensions, subject, cell)
        u = self.u.reshape(-1, profiles.n_shape)[rows] + shift * self.steps
        return profiles.from_unconstrained(u), grids.theta[subject, cell]

    def record_ends(self, rows: IntVector, u: Matrix, certain: BoolVector) -> None:
        """Record the ends of iterations, and whether they are maxima."""
        at = rows // self.n_cells, 1 + rows % self.n_cells
        self.optima[at], self.certain[at] = u, certain

    def is_near_optimum(
        self, subjects: IntVector, u: Matrix, steps: float, which: BoolVector
    ) -> BoolVector:
        """Whether one of the selected optima lies within `steps` of u, along every parameter."""
        away = np.abs(self.optima[subjects] - u[:, None])
        near: BoolVector = np.all(away <= steps * self.steps, axis=2)
        return np.asarray((near & which[subjects]).any(axis=1))


def _evaluate_plateau_centres(
    profiles: ProfileProblems, grids: ProfileGrids, subjects: IntVector, best: Optima
) -> None:
    if len(subjects):
        cells = _plateau_centres(profiles, subjects, grids)
        psi = maximize_separated_profile(
            profiles, subjects, grids.psi[cells], unconstrained_grid_steps(profiles.shape)
        )
        newton = newton_batch(profiles, subjects, psi, max_steps=0, finish=False)
        best.improve(subjects, newton.optima())


def _plateau_centres(
    profiles: ProfileProblems, subjects: IntVector, grids: ProfileGrids
) -> IntVector:
    """Best cells; the centre of those as good, where it shares their supremum."""
    values = grids.values[subjects]
    best: IntVector = values.argmax(axis=1)
    tied = values > values[np.arange(len(subjects)), best][:, None] - SEARCH.plateau_tol
    u, steps = profiles.to_unconstrained(grids.psi), unconstrained_grid_steps(profiles.shape)
    middle = np.array([_central_cell(np.flatnonzero(near), u, steps) for near in tied])
    undecided = np.flatnonzero(middle != best)
    if not len(undecided):
        return best
    both = np.concatenate([best[undecided], middle[undecided]])
    points = profiles.solve(np.tile(subjects[undecided], 2), grids.psi[both], accuracy=VALUES)
    of_best, of_middle = points.value.reshape(2, -1)
    shared = undecided[of_middle > of_best - SEARCH.tie_tol]
    best[shared] = middle[shared]
    return best


def _central_cell(cells: IntVector, u: Matrix, steps: Vector) -> int:
    away = ((u[cells] - u[cells].mean(axis=0)) / steps) ** 2
    return int(cells[np.argmin(away.sum(axis=1))])


def _restart_from_higher_probes(
    profiles: ProfileProblems, subjects: IntVector, best: Optima
) -> None:
    not_closer = [share for share in SEARCH.probe_distances if share >= SEARCH.min_smooth_probe]
    for _ in SEARCH.probe_distances:
        smooth = best.converged[subjects]
        smooth_ones = _higher_neighbours(profiles, subjects[smooth], best, not_closer)
        others = _higher_neighbours(profiles, subjects[~smooth], best, SEARCH.probe_distances)
        subjects, u, theta = (
            np.concatenate(both) for both in zip(smooth_ones, others, strict=True)
        )
        if not len(subjects):
            return
        found = bundle_search(profiles, subjects, u, theta)
        best.improve(subjects, found)
        subjects = subjects[~near_divergence(profiles, found.points)]


class _HigherPoints(NamedTuple):
    """Subjects with a point higher than their optimum: u (n, n_shape) and weights there."""

    subjects: IntVector
    u: Matrix
    theta: Matrix


def _higher_neighbours(
    profiles: ProfileProblems, subjects: IntVector, best: Optima, shares: Sequence[float]
) -> _HigherPoints:
    """Subjects with a higher point at these distances from their optimum."""
    directions = np.array([way for way in product((-1, 0, 1), repeat=profiles.n_shape) if any(way)])
    offsets = np.concatenate(
        [share * unconstrained_grid_steps(profiles.shape) * directions for share in shares]
    )
    neighbours = np.clip(best.unconstrained_psi[subjects][:, None] + offsets, *profiles.bounds.T)
    if not len(subjects):
        none = np.empty((0, profiles.n_shape)), np.empty((0, profiles.n_weights))
        return _HigherPoints(subjects, *none)
    points = values_near_optima(profiles, subjects, best, neighbours)
    values = points.value.reshape(len(subjects), len(offsets))
    higher = np.flatnonzero(values.max(axis=1) > best.points.value[subjects] + SEARCH.probe_gain)
    cells = higher * len(offsets) + values[higher].argmax(axis=1)
    u = neighbours.reshape(-1, profiles.n_shape)[cells]
    return _HigherPoints(subjects[higher], u, points.theta[cells])


def _newton_polish(profiles: ProfileProblems, subjects: IntVector, best: Optima) -> None:
    smooth_ones = subjects[
        BatchNewton.start_at_optima(profiles, best.take(subjects)).predicted_increase
        < SEARCH.smooth_gain
    ]
    if not len(smooth_ones):
        return
    at = best.take(smooth_ones)
    newton = BatchNewton(profiles, smooth_ones)
    newton.begin(np.arange(len(smooth_ones)), at.points.psi, at.points.theta)
    newton.run()
    there = np.flatnonzero(
        newton.converged & (newton.points.value > at.points.value - SEARCH.smooth_gain)
    )
    best.put(smooth_ones[there], newton.optima().take(there))
