"""Profile-likelihood intervals (Venzon & Moolgavkar 1988) of many subjects and parameters.

The ends of an interval are where the objective, everything else maximised, has fallen by half the
chi-square quantile. Each end is a task of its own: a position moves outwards until the profile has
fallen through, then regula falsi (the Illinois variant) closes in on the root. All tasks take their
steps together, so that every step is one call of the compiled profiles.

Positions are psi in unconstrained units for a shape parameter, the logarithm for a reciprocal, the
value itself for weights and ratios, the weight for a share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.inner_problems import InnerSolutions, LinearConstraint
from penchant.inference.profile.profile_likelihood import SCREENING, ProfileProblems
from penchant.inference.search.grid_search import (
    GRID,
    ProfileGrid,
    ProfileGrids,
    unconstrained_grid_steps,
)
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.projected_newton import WarmStart, newton_batch
from penchant.inference.small_learning_rates import evaluate_proportional_rates, rate_parameter_mask
from penchant.models.parameters import Parameter
from penchant.tail_probabilities import chi_square_isf


@dataclass(frozen=True, slots=True)
class IntervalOptions:
    """Settings of the search for ends of intervals.

    "Root" is the signed root of the deviance, nearly linear in the parameter.
    """

    # Root at which an end counts as found; with position_tol, below every digit that is shown.
    root_tol: float = 1e-9
    position_tol: float = 1e-10  # relative; where rounding keeps roots above root_tol
    # Evaluations of bracketing and regula falsi: about 10 are usual, more where profiles jump.
    max_steps: int = 80
    # Factor of steps outwards. Larger: Newton's method starts further from its maximum.
    step_growth: float = 1.6
    # Restarts where another psi is above the target: each moves the end, and must end some time.
    max_returns: int = 10
    min_return: float = 1e-6  # root above the target worth a restart: less is a search's tolerance
    # Root by which a cell may be below the target, and yet lead above it by Newton's method.
    max_cell_deficit: float = 0.3
    # Log-units by which a maximum between cells may be above them: lower cells are not tried.
    max_peak_above_cells: float = 1.0
    # Factor of a rate beyond which the curvature, in proportion to 1 / rate^2, is not used again.
    max_rate_growth: float = 3.0
    # Cells up to which a coarse search tries all: thinning saves time only where there are more.
    min_cells_to_thin: int = 12
    # Log-units searched from a reciprocal: beyond a factor of e^25 an end counts as open.
    max_log_distance: float = 25.0
    # Standard errors searched from a weight: an end that is not found by then counts as open.
    max_errors: float = 1e5
    # Share of its range within which psi counts as at the end: rounding must not decide it.
    at_limit: float = 1e-7
    # Information of choices that are all certain: below this its inverse would overflow unscaled.
    min_information: float = 1e-200
    # Times the distance at which a quadratic profile has fallen enough: looking at the far end
    # alone called one of 500 people converged whose temperature reaches down to 7e-7.
    quadratic_margin: float = 1.5
    # Change of a utility that changes a choice for certain: longer first steps would skip the end.
    max_utility_change: float = 10.0
    # Grid steps between a cell and an end's psi below which Newton steps lead to the same maximum.
    max_grid_steps: float = 1.5


INTERVALS = IntervalOptions()


def profile_intervals(
    profiles: ProfileProblems,
    grids: Sequence[ProfileGrid],
    optima: Optima,
    naturals: Sequence[Parameter],
    level: float,
    rise_directions: Matrix | None = None,
) -> Matrix:
    """Intervals (n_subjects, n_natural, 2); infinite where the profile never falls so far.

    `rise_directions` (n_subjects, n_weights) is not 0 for weights that have no finite maximum: the
    sign of the direction in which the objective goes on rising.
    """
    ends = profile_positions(profiles, grids, optima, naturals, level, rise_directions)
    for a, natural in enumerate(naturals):
        ends[:, a] = np.sort(ParameterLine(profiles, natural).natural_values(ends[:, a]), axis=1)
    return ends


def profile_positions(
    profiles: ProfileProblems,
    grids: Sequence[ProfileGrid],
    optima: Optima,
    naturals: Sequence[Parameter],
    level: float,
    rise_directions: Matrix | None = None,
) -> Matrix:
    """Intervals as positions along the parameters: the lower end, then the upper one."""
    drop = float(chi_square_isf(1 - level, 1)) / 2
    ends = np.empty((len(optima), len(naturals), 2))
    cells = ProfileGrids.stacked(grids)
    for a, natural in enumerate(naturals):
        line = ParameterLine(profiles, natural)
        centre = line.positions_of_optima(optima)
        sought = np.isfinite(centre)
        ends[~sought, a] = line.whole_range
        for side, sign in enumerate((-1.0, 1.0)):
            subjects = np.flatnonzero(sought)
            endless = line.rises_at_end(rise_directions, subjects, sign)
            ends[subjects[endless], a, side] = sign * np.inf
            subjects = subjects[~endless]
            if len(subjects):
                each = np.ones(len(subjects))
                mine = cells.take(subjects), optima.take(subjects)
                tasks = _EndSearch.from_estimates(
                    line, *mine, subjects, centre[subjects], sign * each, drop * each
                )
                ends[subjects, a, side] = tasks.find_end_positions()
    return ends


def profile_exceeds_target(
    profiles: ProfileProblems,
    grids: ProfileGrids,
    optima: Optima,
    natural: Parameter,
    subjects: IntVector,
    distance: Vector,
    drop: Vector,
    error: Vector,
) -> BoolVector:
    """Whether the profiles of some subjects are above their targets at distances from their optima.

    Distances are on the logarithm of a parameter that is made of one weight, and so are the
    standard errors, which tell how far to go at first. ProfileGrids and optima are those of the
    subjects, of whom one may be asked for twice.
    """
    line = ParameterLine(profiles, natural)
    centre = line.positions_of_optima(optima)
    far = line.scale_positions(centre, distance)
    tasks = _EndSearch.from_estimates(
        line, grids, optima, subjects, centre, np.sign(far - centre), drop
    )
    reached = np.isinf(
        tasks.limited_to(
            far, line.quadratic_reach(centre, distance, error, drop)
        ).find_end_positions()
    )
    return np.asarray(reached)


def natural_values_at(profiles: ProfileProblems, natural: Parameter, positions: Matrix) -> Matrix:
    """Natural parameters at positions; infinite ones are beyond what was looked at."""
    return ParameterLine(profiles, natural).natural_values(positions)


@dataclass(frozen=True)
class ParameterLine:
    """Line of positions along one natural parameter."""

    profiles: ProfileProblems
    natural: Parameter

    @property
    def is_shape(self) -> bool:
        """Whether it is made of a shape parameter, not of weights."""
        return self.natural.is_shape

    @property
    def is_bounded(self) -> bool:
        """Whether the range of a shape parameter is all there is, not where to look only."""
        return self.is_shape and self.profiles.shape[self.natural.index].scale != "log"

    @property
    def whole_range(self) -> tuple[float, float]:
        """Interval of a parameter that has no estimate."""
        return (-np.inf, np.inf)

    def positions_of_optima(self, optima: Optima) -> Vector:
        """Positions of optima; NaN where there is none."""
        if self.is_shape:
            return optima.unconstrained_psi[:, self.natural.index].copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.natural.along.of_weights(optima.points.theta)
            if self.natural.is_reciprocal:
                values = np.log(np.where(values > 0, values, np.nan))
        return np.where(np.isfinite(values), values, np.nan)

    def cell_positions(self, theta: Matrix, u: Matrix) -> Vector:
        """Positions of cells of a grid; NaN or infinite where they have none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.natural.positions(theta, u)

    def natural_values(self, positions: Matrix) -> Matrix:
        """Natural parameters at positions; infinite positions are beyond what was looked at."""
        return self.natural.values_at(positions)

    def rises_at_end(
        self, rise_directions: Matrix | None, subjects: IntVector, sign: float
    ) -> BoolVector:
        """Whether the objective goes on rising towards this end."""
        if rise_directions is None or not self.natural.direction:
            return np.zeros(len(subjects), dtype=bool)
        return np.asarray(
            rise_directions[subjects, self.natural.index] * self.natural.direction * sign > 0
        )

    def scale_positions(self, positions: Vector, log_factor: Vector) -> Vector:
        """Positions of parameters made of one weight that are e^log_factor times as large."""
        if self.natural.is_reciprocal:
            return positions + log_factor
        return np.asarray(positions * np.exp(log_factor))

    def quadratic_reach(
        self, centre: Vector, distance: Vector, error: Vector, drop: Vector
    ) -> Vector:
        """Upper bound on the distance at which a quadratic profile falls below the target.

        Quadratic in the weight, which is the parameter or 1 over it; errors are relative. Infinite
        where that is beyond `distance`.
        """
        rises = self.natural.direction * np.sign(distance)
        share = INTERVALS.quadratic_margin * error * np.sqrt(2 * drop)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(rises > 0, np.log1p(share), -np.log1p(-np.minimum(share, 1.0)))
        steps = np.abs(self.scale_positions(centre, np.sign(distance) * apart) - centre)
        return np.where(apart < np.abs(distance), steps, np.inf)

    def constraint_fixing_parameter(self, positions: Vector) -> LinearConstraint:
        """Constraint on the weights that puts the parameter at these positions."""
        values = self.natural.from_positions(positions)
        return LinearConstraint(*self.natural.along.plane(values, self.profiles.n_weights))

    def approximate_errors(self, optima: Optima, subjects: IntVector) -> Vector:
        """Approximate standard error of each of the subjects."""
        if not len(optima):
            return np.empty(0)
        points, moved = optima.points, self.natural.along
        if self.is_shape:
            curvature = optima.curvature[:, self.natural.index, self.natural.index]
            return np.asarray(1.0 / np.sqrt(np.maximum(curvature, 1e-4)))
        slope, information = moved.slopes(points.theta), points.information
        largest = np.abs(information).max(axis=(1, 2), initial=0.0)
        scale = np.where((largest > 0) & (largest < INTERVALS.min_information), largest, 1.0)
        inverse = np.linalg.pinv(information / scale[:, None, None], hermitian=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = np.abs(moved.of_weights(points.theta))
        variance = np.maximum(np.einsum("ka,kab,kb->k", slope, inverse, slope), 0.0)
        error = np.sqrt(variance) / np.sqrt(scale)
        if self.natural.is_reciprocal:
            return np.asarray(np.clip(error / centre, 1e-3, 2.0))
        error = np.minimum(error, centre + self._weight_change_that_alters_choice(points, subjects))
        return np.asarray(np.maximum(error, np.maximum(1e-6 * centre, 1e-9)))

    def _weight_change_that_alters_choice(
        self, points: InnerSolutions, subjects: IntVector
    ) -> Vector:
        """Changes of a weight, or a ratio, that certainly change some choice.

        Where choices are separated, the curvature is that of where Newton's method stopped, and a
        standard error by it may have any size.
        """
        largest = points.largest[:, 1].copy()
        unknown = np.flatnonzero(~largest.any(axis=1))
        largest[unknown] = self._largest_differences(points.psi[unknown], subjects[unknown])
        own, reach = largest[:, self.natural.index], self.natural.denominator(largest)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(own > 0, INTERVALS.max_utility_change * reach / own, np.inf)

    def _largest_differences(self, psi: Matrix, subjects: IntVector) -> Matrix:
        """Largest |x_i - x_chosen| of each variable, where it was not computed before."""
        parts = [np.empty((0, self.profiles.n_weights))]
        for begin, end in self.profiles.portions(subjects) if len(subjects) else ():
            x, _ = self.profiles.variables(subjects[begin:end], psi[begin:end], False)
            rows = self.profiles.decision_index(subjects[begin:end])
            away = np.abs(x - x[np.arange(len(x)), rows.chosen][:, None])[rows.order]
            parts.append(np.maximum.reduceat(away.max(axis=1), rows.bounds[:-1]))
        return np.concatenate(parts)

    def search_limits(self, centre: Vector, unit: Vector, sign: Vector) -> Vector:
        """Positions at which the search for an end stops."""
        if self.is_shape:
            return np.asarray(self.profiles.bounds[self.natural.index, (sign > 0).astype(int)])
        reach = (
            INTERVALS.max_log_distance
            if self.natural.is_reciprocal
            else INTERVALS.max_errors * unit
        )
        return np.asarray(centre + sign * reach)


@dataclass
class _EndSearch:
    """Searches for the same end of one natural parameter's interval, one per subject.

    Attributes
    ----------
    inside, outside
        Positions where the profile is above its target, and where it is not (NaN: not yet found).
    residual_in, residual_out
        Root of the deviance less that of the target: nearly linear in the position.
    psi, theta
        psi and weights at the last position inside.
    highest
        The profile at the estimate.
    start
        Positions of the estimates, or of restarts.
    only_before_limit
        Whether it is enough to know that an end is before the limit.
    """

    line: ParameterLine
    grids: ProfileGrids
    optima: Optima
    subjects: IntVector
    sign: Vector
    drop: Vector
    inside: Vector
    outside: Vector
    residual_in: Vector
    residual_out: Vector
    limit: Vector
    step: Vector
    psi: Matrix
    theta: Matrix
    highest: Vector
    start: Vector
    only_before_limit: bool = False

    @classmethod
    def from_estimates(
        cls,
        line: ParameterLine,
        grids: ProfileGrids,
        optima: Optima,
        subjects: IntVector,
        centre: Vector,
        sign: Vector,
        drop: Vector,
    ) -> _EndSearch:
        """Start tasks at the estimates."""
        unit, points = line.approximate_errors(optima, subjects), optima.points
        tasks = cls(
            line=line,
            grids=grids,
            optima=optima,
            subjects=subjects,
            sign=sign,
            drop=drop,
            inside=centre.copy(),
            outside=np.full(len(subjects), np.nan),
            residual_in=np.full(len(subjects), -np.sqrt(2 * drop)),
            residual_out=np.full(len(subjects), np.nan),
            limit=line.search_limits(centre, unit, sign),
            step=unit * np.sqrt(2 * drop),
            psi=points.psi.copy(),
            theta=points.theta.copy(),
            highest=points.value,
            start=centre,
        )
        tasks._start_at_outermost_cell()
        tasks._start_along_ridges()
        return tasks

    def limited_to(self, limit: Vector, step: Vector) -> _EndSearch:
        """Search only as far as `limit`, with long first steps."""
        covered = np.abs(self.inside - self.start)
        return replace(
            self, limit=limit, only_before_limit=True, step=np.maximum(step - covered, step / 2)
        )

    def _start_at_outermost_cell(self) -> None:
        grids = self.grids
        high = grids.solved & (
            grids.values - GRID.rough_error > (self.highest - self.drop)[:, None]
        )
        task, cell = np.nonzero(high)
        theta = grids.theta[task, cell]
        at = self.line.cell_positions(theta, self.line.profiles.to_unconstrained(grids.psi)[cell])
        outwards = self.sign[task] * at
        above = np.isfinite(at) & (outwards > (self.sign * self.inside)[task])
        above &= self.line.is_shape | (outwards < (self.sign * self.limit)[task])
        found = np.flatnonzero(above)
        order = found[np.lexsort((-outwards[found], task[found]))]
        best = order[np.flatnonzero(np.diff(task[order], prepend=-1))]
        k = task[best]
        self.inside[k], self.psi[k], self.theta[k] = at[best], grids.psi[cell[best]], theta[best]
        self.residual_in[k] = self._residual(grids.values[k, cell[best]], k)

    def _start_along_ridges(self) -> None:
        """Start further out where small rates grow in proportion, along which a profile is flat."""
        profiles = self.line.profiles
        found = evaluate_proportional_rates(profiles, self.subjects, self.optima.points.psi)
        above = found.points.value > (self.highest - self.drop)[found.rows]
        task, points = found.rows[above], found.points.take(above)
        at = self.line.cell_positions(points.theta, profiles.to_unconstrained(points.psi))
        # From the inside out, so that the outermost point above the target is the one that stays.
        for i in np.argsort(self.sign[task] * at):
            k = task[i]
            inside = np.isfinite(at[i]) and self.sign[k] * (self.limit[k] - at[i]) > 0
            if inside and self.sign[k] * (at[i] - self.inside[k]) > 0:
                self.inside[k], self.psi[k], self.theta[k] = at[i], points.psi[i], points.theta[i]
                self.residual_in[k] = self._residual(points.value[i], k)
                # The standard error at the estimate, across the ridge, is too short a step here.
                self.step[k] = max(self.step[k], abs(at[i] - self.start[k]))

    def find_end_positions(self) -> Vector:
        """Positions of the ends; infinite where the profile never falls so far."""
        found = self._bracketed_root()
        psi, moved = self.psi.copy(), np.arange(len(found))
        for _ in range(INTERVALS.max_returns):
            moved, repeated = self._restart_where_still_above_target(found, moved)
            if not len(moved):
                break
            found[moved] = repeated._bracketed_root()
            psi[moved] = repeated.psi
        if not (self.only_before_limit or self.line.is_shape):
            open_ = np.isfinite(found) & self._are_undefined_at_limit(psi)
            found[open_] = self.sign[open_] * np.inf
        return found

    def _are_undefined_at_limit(self, psi: Matrix) -> BoolVector:
        """Whether psi is at a limit that leaves the parameter undefined: only the range ends it."""
        profiles = self.line.profiles
        u, found = profiles.to_unconstrained(psi), np.zeros(len(psi), dtype=bool)
        for q, shape in enumerate(profiles.shape):
            for end, limit in zip(profiles.bounds[q], map(shape.limit, (False, True)), strict=True):
                if limit is not None and self.line.natural.name in limit.lost:
                    away = np.abs(u[:, q] - end)
                    found |= away < INTERVALS.at_limit * np.ptp(profiles.bounds[q])
        return found

    def _bracketed_root(self) -> Vector:
        """Positions where the profile falls through its target, by bracketing and regula falsi."""
        found = np.full(len(self.subjects), np.nan)
        active = np.arange(len(self.subjects))
        last_side = np.zeros(len(self.subjects), dtype=np.int64)
        for _ in range(INTERVALS.max_steps):
            quadratic_reach = self.sign[active] * (self.inside[active] - self.limit[active])
            beyond = active[quadratic_reach >= 0]
            found[beyond] = self.sign[beyond] * np.inf
            active = np.setdiff1d(active, beyond)
            if not len(active):
                break
            position = self._next_position(active)
            is_number = self._weights_are_finite(position)
            unending = active[~is_number]
            found[unending] = self.sign[unending] * np.inf
            active, position = active[is_number], position[is_number]
            if not len(active):
                break
            residual = self._residuals_at(active, position)
            arrived = np.abs(residual) < INTERVALS.root_tol
            arrived |= np.abs(position - self.inside[active]) < INTERVALS.position_tol * (
                1 + np.abs(position)
            )
            inwards = residual < 0
            arrived |= self.only_before_limit & ~inwards
            self._update_bracket(active, position, residual, inwards, last_side)
            found[active[arrived]] = position[arrived]
            active = active[~arrived]
        found[active] = self.inside[active]
        return found

    def _weights_are_finite(self, position: Vector) -> BoolVector:
        """Whether weights at the positions are finite numbers; beyond, the interval is open.

        3^u - 1 of a consistency u, for one, overflows from u = 647 on.
        """
        _, constraint = self._fixed_shape_or_constraint(position)
        if constraint is None:
            return np.ones(len(position), dtype=bool)
        return np.asarray(
            np.isfinite(constraint.value) & np.isfinite(constraint.origin).all(axis=1)
        )

    def _next_position(self, active: IntVector) -> Vector:
        inside, outside = self.inside[active], self.outside[active]
        limit, sign = self.limit[active], self.sign[active]
        further = sign * np.minimum(sign * inside + self.step[active], sign * limit)
        width = self.residual_out[active] - self.residual_in[active]
        share = np.clip(-self.residual_in[active] / width, 0.01, 0.99)
        return np.where(np.isnan(outside), further, inside + share * (outside - inside))

    def _update_bracket(
        self,
        active: IntVector,
        position: Vector,
        residual: Vector,
        inwards: BoolVector,
        last_side: IntVector,
    ) -> None:
        """Update the bracket; halve the residual of a side that stays twice in a row (Illinois)."""
        deeper, farther = active[inwards], active[~inwards]
        self.inside[deeper], self.residual_in[deeper] = position[inwards], residual[inwards]
        repeated = deeper[(last_side[deeper] == 1) & ~np.isnan(self.outside[deeper])]
        self.residual_out[repeated] /= 2
        last_side[deeper] = 1
        self.step[deeper] *= INTERVALS.step_growth
        self.outside[farther], self.residual_out[farther] = position[~inwards], residual[~inwards]
        repeated = farther[last_side[farther] == -1]
        self.residual_in[repeated] /= 2
        last_side[farther] = -1

    def _residuals_at(self, active: IntVector, position: Vector) -> Vector:
        """Maximize with the parameter fixed at the positions; returns roots less the target's."""
        line, profiles = self.line, self.line.profiles
        psi = self.psi[active].copy()
        fixed, constraint = self._fixed_shape_or_constraint(position)
        if line.is_shape:
            u = profiles.to_unconstrained(psi)
            u[:, line.natural.index] = position
            psi = profiles.from_unconstrained(u)
        near = WarmStart(self.theta[active], self._start_curvatures(active))
        maximized = newton_batch(
            profiles,
            self.subjects[active],
            psi,
            near,
            fixed=fixed,
            constraint=constraint,
            finish=False,
            target=self.highest[active] - self.drop[active] if self.only_before_limit else None,
        )
        residual = self._residual(maximized.points.value, active)
        # Only what is inside is followed: further out Newton's method may end on the slope of
        # another optimum.
        inside = residual < 0
        self.psi[active[inside]] = maximized.points.psi[inside]
        self.theta[active[inside]] = maximized.points.theta[inside]
        return residual

    def _start_curvatures(self, active: IntVector) -> Matrix:
        """Curvatures to start Newton's method with; NaN where the expected one is closer.

        At an optimum the free weights take back a part of the curvature; a weight that is held
        takes back less. Where small rates have grown, nothing of it is left.
        """
        n_shape = self.line.profiles.n_shape
        if self.only_before_limit:
            return np.full((len(active), n_shape, n_shape), np.nan)
        known, there = self.optima.points.psi[active], self.psi[active]
        far = np.any(
            rate_parameter_mask(self.line.profiles) & (there > INTERVALS.max_rate_growth * known),
            axis=1,
        )
        return np.where(far[:, None, None], np.nan, self.optima.curvature[active])

    def _residual(self, value: Vector, which: Sequence[int] | IntVector) -> Vector:
        """Root of the deviance less that of the target."""
        deviance = np.maximum(2 * (self.highest[which] - value), 0.0)
        return np.asarray(np.sqrt(deviance) - np.sqrt(2 * self.drop[which]))

    def _restart_where_still_above_target(
        self, found: Vector, which: IntVector
    ) -> tuple[IntVector, _EndSearch]:
        """Tasks whose profile at the end found is above its target at another psi, restarted.

        Newton's method starts from the best cell of the grid with the parameter fixed at its end,
        if that may be above the target; or nearly so, and not beside the psi of the end.
        """
        profiles = self.line.profiles
        which = which[np.isfinite(found[which])]
        task, cell, psi = self._candidate_cells(found, which)
        if not len(task):
            return which[:0], self
        fixed, constraint = self._fixed_shape_or_constraint(found[task])
        start_theta = self.grids.theta[task, cell]
        if constraint is None:
            values = profiles.solve(
                self.subjects[task],
                psi,
                start_theta,
                accuracy=replace(SCREENING, suprema=not self.only_before_limit),
            ).value
        else:
            values = self._cell_values(task, cell, constraint)
        residual = self._residual(values + GRID.rough_error, task)
        best = np.lexsort((residual, task))[np.flatnonzero(np.diff(task, prepend=-1))]
        far = self._are_far_from_end(profiles.to_unconstrained(psi[best]), task[best])
        best = best[residual[best] < np.where(far, INTERVALS.max_cell_deficit, 0.0)]
        moved = task[best]
        if not len(moved):
            return moved, self
        maximized = newton_batch(
            profiles,
            self.subjects[moved],
            psi[best],
            fixed=None if fixed is None else fixed[best],
            constraint=None if constraint is None else constraint.take(best),
            finish=False,
        ).points
        residual = self._residual(maximized.value, moved)
        above = residual < -INTERVALS.min_return
        return moved[above], self._restarted_at(
            moved[above], found, residual[above], maximized.take(above)
        )

    def _cell_values(
        self, task: IntVector, cell: IntVector, constraint: LinearConstraint
    ) -> Vector:
        """Profiles under the constraint at cells, exact where they may be above the targets.

        Of many cells of a coarse search every other along each axis is solved first; the rest if
        one of these is not far below.
        """
        floor = (
            self.highest
            - (np.sqrt(2 * self.drop) + INTERVALS.max_cell_deficit) ** 2 / 2
            - GRID.rough_error
        )
        values = np.full(len(task), -np.inf)

        def evaluate(which: IntVector) -> None:
            at, there = task[which], cell[which]
            pairs = self.subjects[at], self.grids.psi[there], self.grids.theta[at, there]
            place = self.subjects[at] * len(self.grids.psi) + there
            accuracy = replace(
                SCREENING, suprema=not self.only_before_limit, exact_above_height=floor[at]
            )
            on = constraint.take(which), place, accuracy
            values[which] = self.line.profiles.values_on_constraint(*pairs, *on)

        first = np.ones(len(task), dtype=bool)
        if self.only_before_limit:
            places = np.unravel_index(cell, self.grids.dimensions)
            even = np.all([axis % 2 == 0 for axis in places], axis=0)
            first = even | (np.bincount(task)[task] <= INTERVALS.min_cells_to_thin)
        evaluate(np.flatnonzero(first))
        best = np.full(len(self.subjects), -np.inf)
        np.maximum.at(best, task[first], values[first])
        rest = np.flatnonzero(~first & (best > floor - INTERVALS.max_peak_above_cells)[task])
        if len(rest):
            evaluate(rest)
        return values

    def _candidate_cells(
        self, found: Vector, which: IntVector
    ) -> tuple[IntVector, IntVector, Matrix]:
        """Cells of the grid that may be above the target: their tasks, indices, and psi."""
        profiles, q = self.line.profiles, self.line.natural.index
        u = profiles.to_unconstrained(self.grids.psi)
        if not profiles.n_shape or (self.line.is_shape and profiles.n_shape == 1):
            which = which[:0]
        if self.line.is_shape:
            away = np.abs(u[:, q] - found[which, None])
            near = away <= away.min(axis=1, keepdims=True, initial=np.inf) + 1e-9
        else:
            near = self._are_cells_near_target(u, which)
        row, cell = np.nonzero(near)
        task, at = which[row], u[cell]
        if self.line.is_shape:
            at[:, q] = found[task]
        return task, cell, profiles.from_unconstrained(at)

    def _are_cells_near_target(self, u: Matrix, which: IntVector) -> BoolVector:
        """Whether cells (n, n_psi) may be above the target, or nearly, under a constraint.

        A constraint can only lower a cell: one that was solved and is far below need not be solved
        again. Between cells a maximum may be higher than they are.
        """
        values = self.grids.values[which]
        target = self.highest[which] - self.drop[which]
        near = values - target[:, None] > -INTERVALS.max_peak_above_cells
        row, cell = np.nonzero(near & self.grids.solved[which])
        task = which[row]
        residual = self._residual(values[row, cell] + GRID.rough_error, task)
        lost = residual >= np.where(
            self._are_far_from_end(u[cell], task), INTERVALS.max_cell_deficit, 0.0
        )
        near[row[lost], cell[lost]] = False
        return near & self.grids.solved[which] if self.only_before_limit else near

    def _are_far_from_end(self, u: Matrix, task: IntVector) -> BoolVector:
        profiles = self.line.profiles
        away = np.abs(u - profiles.to_unconstrained(self.psi[task]))
        return np.asarray(
            (away > INTERVALS.max_grid_steps * unconstrained_grid_steps(profiles.shape)).any(axis=1)
        )

    def _restarted_at(
        self, moved: IntVector, found: Vector, residual: Vector, points: InnerSolutions
    ) -> _EndSearch:
        optima = self.optima.take(moved)
        unit = self.line.approximate_errors(optima, self.subjects[moved])
        return replace(
            self,
            grids=self.grids.take(moved),
            optima=optima,
            subjects=self.subjects[moved],
            sign=self.sign[moved],
            drop=self.drop[moved],
            inside=found[moved],
            outside=np.full(len(moved), np.nan),
            residual_in=residual,
            residual_out=np.full(len(moved), np.nan),
            limit=self.limit[moved],
            step=unit * np.sqrt(2 * self.drop[moved]),
            psi=points.psi,
            theta=points.theta,
            highest=self.highest[moved],
            start=found[moved],
        )

    def _fixed_shape_or_constraint(
        self, position: Vector
    ) -> tuple[BoolVector | None, LinearConstraint | None]:
        if not self.line.is_shape:
            return None, self.line.constraint_fixing_parameter(position)
        shape = np.arange(self.line.profiles.n_shape) == self.line.natural.index
        return np.tile(shape, (len(position), 1)), None
