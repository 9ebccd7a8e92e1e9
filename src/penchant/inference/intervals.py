"""Profile-likelihood intervals in natural units, of many subjects and parameters together.

The ends of an interval are where the objective, everything else maximised, has fallen by half the
chi-square quantile. Each end is a task of its own: a position moves outwards until the profile has
fallen through, then closes in on the root. All tasks take their steps together, so that every step
is one call of the compiled profiles.

Positions are psi in search units for a shape parameter, the logarithm for a reciprocal, the value
itself for weights and ratios, the weight for a share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Profiles
from penchant.inference.proportional import are_rates, points_along_ridges
from penchant.inference.search.climb import Near, climb_together
from penchant.inference.search.grid import GOOD_TO, Grid, Grids, grid_steps
from penchant.inference.search.peaks import Peak, Peaks
from penchant.models.natural import Natural
from penchant.tails import chi_square_isf

CLOSE = 1e-9  # of the root of the deviance
MOST_STEPS = 80
MOST_RETURNS = 10  # to a profile that is still above its target at another psi
RETURN = 1e-6  # how far above, on the scale of the root of the deviance
NEARLY = 0.3  # how far below a cell may be that a climb could lead above, on the same scale
BETWEEN = 1.0  # log-units by which a peak may be higher than the cells around it
FAR = 3.0  # times a rate of which the curvature, in proportion to 1 / rate^2, is another
FEW = 12  # cells of a task, of which none is left out
FURTHEST = 25.0  # logarithms searched from a reciprocal
MANY_UNITS = 1e5  # standard errors searched from a weight
AT_LIMIT = 1e-7  # share of a range: nearer to its end psi is at it
TINY = 1e-200  # information of choices that are all certain, whose inverse may overflow
BEYOND = 1.5  # times as far as where a quadratic profile has fallen so much
LONGEST = 10.0  # by which a unit of a weight may change an objective


def profile_intervals(
    profiles: Profiles,
    grids: Sequence[Grid],
    peaks: Sequence[Peak],
    naturals: Sequence[Natural],
    level: float,
    rising: Matrix | None = None,
) -> Matrix:
    """Intervals (n_subjects, n_natural, 2); infinite where the profile never falls so far.

    `rising` (n_subjects, n_weights) is not 0 for weights that have no finite maximum: the sign of
    the direction in which the objective goes on rising.
    """
    ends = profile_positions(profiles, grids, peaks, naturals, level, rising)
    for a, natural in enumerate(naturals):
        ends[:, a] = np.sort(Line(profiles, natural).values(ends[:, a]), axis=1)
    return ends


def profile_positions(
    profiles: Profiles,
    grids: Sequence[Grid],
    peaks: Sequence[Peak],
    naturals: Sequence[Natural],
    level: float,
    rising: Matrix | None = None,
) -> Matrix:
    """The same as positions along the parameters: the lower end, then the upper one."""
    drop = float(chi_square_isf(1 - level, 1)) / 2
    ends = np.empty((len(peaks), len(naturals), 2))
    everyone, cells = Peaks.joined(peaks), Grids.joined(grids)
    for a, natural in enumerate(naturals):
        line = Line(profiles, natural)
        centre = line.of_peaks(everyone)
        sought = np.isfinite(centre)
        ends[~sought, a] = line.everything
        for side, sign in enumerate((-1.0, 1.0)):
            whose = np.flatnonzero(sought)
            endless = line.rises(rising, whose, sign)
            ends[whose[endless], a, side] = sign * np.inf
            whose = whose[~endless]
            if len(whose):
                each = np.ones(len(whose))
                mine = cells.take(whose), everyone.take(whose)
                tasks = _Tasks.of(line, *mine, whose, centre[whose], sign * each, drop * each)
                ends[whose, a, side] = tasks.run()
    return ends


def still_above(
    profiles: Profiles,
    grids: Grids,
    peaks: Peaks,
    natural: Natural,
    whose: IntVector,
    distance: Vector,
    drop: Vector,
    error: Vector,
) -> BoolVector:
    """Whether the profiles of some subjects are above their targets at distances from their peaks.

    Distances are on the logarithm of a parameter that is made of one weight, and so are the
    standard errors, which tell how far to go at first. Grids and peaks are those of the subjects,
    of whom one may be asked for twice.
    """
    line = Line(profiles, natural)
    centre = line.of_peaks(peaks)
    far = line.further(centre, distance)
    tasks = _Tasks.of(line, grids, peaks, whose, centre, np.sign(far - centre), drop)
    reached = np.isinf(tasks.towards(far, line.ahead(centre, distance, error, drop)).run())
    return np.asarray(reached)


def values_at(profiles: Profiles, natural: Natural, positions: Matrix) -> Matrix:
    """Natural parameters at positions; infinite ones are beyond what was looked at."""
    return Line(profiles, natural).values(positions)


@dataclass(frozen=True)
class Line:
    """One natural parameter, and the positions along it."""

    profiles: Profiles
    natural: Natural

    @property
    def is_shape(self) -> bool:
        """Whether it is made of a shape parameter, not of weights."""
        return self.natural.is_shape

    @property
    def is_bounded(self) -> bool:
        """Whether the range of a shape parameter is all there is, not where to look only."""
        return self.is_shape and self.profiles.shape[self.natural.index].scale != "log"

    @property
    def everything(self) -> tuple[float, float]:
        """Positions from end to end."""
        return (-np.inf, np.inf)

    def of_peaks(self, peaks: Peaks) -> Vector:
        """Where estimates are; NaN where there is none."""
        if self.is_shape:
            return peaks.u[:, self.natural.index].copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.natural.moved.of_weights(peaks.points.theta)
            if self.natural.is_logarithmic:
                values = np.log(np.where(values > 0, values, np.nan))
        return np.where(np.isfinite(values), values, np.nan)

    def positions(self, theta: Matrix, u: Matrix) -> Vector:
        """Where cells of a grid are; NaN or infinite where they are nowhere."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.natural.positions(theta, u)

    def values(self, positions: Matrix) -> Matrix:
        """Natural parameters at positions; infinite positions are beyond what was looked at."""
        return self.natural.values_at(positions, self.profiles.shape)

    def rises(self, rising: Matrix | None, whose: IntVector, sign: float) -> BoolVector:
        """Whether the objective goes on rising towards this end."""
        if rising is None or not self.natural.rises:
            return np.zeros(len(whose), dtype=bool)
        return np.asarray(rising[whose, self.natural.index] * self.natural.rises * sign > 0)

    def further(self, positions: Vector, distance: Vector) -> Vector:
        """Positions of parameters made of one weight that are e^distance as large."""
        if self.natural.is_logarithmic:
            return positions + distance
        return np.asarray(positions * np.exp(distance))

    def ahead(self, centre: Vector, distance: Vector, error: Vector, drop: Vector) -> Vector:
        """Steps to where a profile quadratic in its weight is surely lower; infinite if beyond.

        The weight itself, or 1 over it, is the parameter; errors are relative.
        """
        rises = self.natural.rises * np.sign(distance)
        share = BEYOND * error * np.sqrt(2 * drop)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(rises > 0, np.log1p(share), -np.log1p(-np.minimum(share, 1.0)))
        steps = np.abs(self.further(centre, np.sign(distance) * apart) - centre)
        return np.where(apart < np.abs(distance), steps, np.inf)

    def planes(self, positions: Vector) -> Planes:
        """Where the weights lie if the parameter has this position."""
        values = self.natural.from_positions(positions)
        return Planes(*self.natural.moved.plane(values, self.profiles.n_weights))

    def units(self, peaks: Peaks, subjects: IntVector) -> Vector:
        """About a standard error of each of the subjects."""
        if not len(peaks):
            return np.empty(0)
        points, moved = peaks.points, self.natural.moved
        if self.is_shape:
            curvature = peaks.curvature[:, self.natural.index, self.natural.index]
            return np.asarray(1.0 / np.sqrt(np.maximum(curvature, 1e-4)))
        slope, information = moved.slopes(points.theta), points.information
        largest = np.abs(information).max(axis=(1, 2), initial=0.0)
        scale = np.where((largest > 0) & (largest < TINY), largest, 1.0)
        inverse = np.linalg.pinv(information / scale[:, None, None], hermitian=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = np.abs(moved.of_weights(points.theta))
        variance = np.maximum(np.einsum("ka,kab,kb->k", slope, inverse, slope), 0.0)
        error = np.sqrt(variance) / np.sqrt(scale)
        if self.natural.is_logarithmic:
            return np.asarray(np.clip(error / centre, 1e-3, 2.0))
        error = np.minimum(error, centre + self._telling(points, subjects))
        return np.asarray(np.maximum(error, np.maximum(1e-6 * centre, 1e-9)))

    def _telling(self, points: Points, subjects: IntVector) -> Vector:
        """Changes of a weight, or a ratio, after which some choice is surely another.

        Where choices are separated, the curvature is that of where Newton's method stopped, and a
        standard error by it may have any length.
        """
        largest = points.largest[:, 1].copy()
        unknown = np.flatnonzero(~largest.any(axis=1))
        largest[unknown] = self._largest(points.psi[unknown], subjects[unknown])
        own, reach = largest[:, self.natural.index], self.natural.denominator(largest)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(own > 0, LONGEST * reach / own, np.inf)

    def _largest(self, psi: Matrix, subjects: IntVector) -> Matrix:
        """The largest |x_i - x_chosen| of each variable, where nothing told it."""
        parts = [np.empty((0, self.profiles.n_weights))]
        for begin, end in self.profiles.portions(subjects) if len(subjects) else ():
            x, _ = self.profiles.variables(subjects[begin:end], psi[begin:end], False)
            rows = self.profiles.rows(subjects[begin:end])
            away = np.abs(x - x[np.arange(len(x)), rows.chosen][:, None])[rows.order]
            parts.append(np.maximum.reduceat(away.max(axis=1), rows.bounds[:-1]))
        return np.concatenate(parts)

    def limits(self, centre: Vector, unit: Vector, sign: Vector) -> Vector:
        """Positions beyond which nothing is looked for."""
        if self.is_shape:
            return np.asarray(self.profiles.bounds[self.natural.index, (sign > 0).astype(int)])
        reach = FURTHEST if self.natural.is_logarithmic else MANY_UNITS * unit
        return np.asarray(centre + sign * reach)


@dataclass
class _Tasks:
    """Searches for the same end of one natural parameter's interval, one per subject.

    Attributes
    ----------
    inside, outside
        Positions where the profile is above its target, and where it is not (NaN: not yet found).
    short_in, short_out
        How far the root of the deviance is below, or above, that of the target: nearly linear in
        the position.
    psi, theta
        Where the last climb of each task ended.
    highest
        The profile at the estimate.
    begun
        Positions of the estimates, or of where a search began anew.
    coarse
        Whether it is enough to know that an end is before the limit.
    """

    line: Line
    grids: Grids
    peaks: Peaks
    whose: IntVector
    sign: Vector
    drop: Vector
    inside: Vector
    outside: Vector
    short_in: Vector
    short_out: Vector
    limit: Vector
    step: Vector
    psi: Matrix
    theta: Matrix
    highest: Vector
    begun: Vector
    coarse: bool = False

    @classmethod
    def of(
        cls,
        line: Line,
        grids: Grids,
        peaks: Peaks,
        whose: IntVector,
        centre: Vector,
        sign: Vector,
        drop: Vector,
    ) -> _Tasks:
        """Begin at the estimates."""
        unit, points = line.units(peaks, whose), peaks.points
        tasks = cls(
            line=line,
            grids=grids,
            peaks=peaks,
            whose=whose,
            sign=sign,
            drop=drop,
            inside=centre.copy(),
            outside=np.full(len(whose), np.nan),
            short_in=np.full(len(whose), -np.sqrt(2 * drop)),
            short_out=np.full(len(whose), np.nan),
            limit=line.limits(centre, unit, sign),
            step=unit * np.sqrt(2 * drop),
            psi=points.psi.copy(),
            theta=points.theta.copy(),
            highest=points.value,
            begun=centre,
        )
        tasks._begin_at_the_outermost_cell()
        tasks._begin_along_ridges()
        return tasks

    def towards(self, limit: Vector, step: Vector) -> _Tasks:
        """The same up to limits, which is all to be told, by first steps that are long."""
        gone = np.abs(self.inside - self.begun)
        return replace(self, limit=limit, coarse=True, step=np.maximum(step - gone, step / 2))

    def _begin_at_the_outermost_cell(self) -> None:
        """The grid shows how far out the profile of a parameter is still above its target."""
        grids = self.grids
        high = grids.looked & (grids.values - GOOD_TO > (self.highest - self.drop)[:, None])
        task, cell = np.nonzero(high)
        theta = grids.theta[task, cell]
        at = self.line.positions(theta, self.line.profiles.to_search(grids.psi)[cell])
        outwards = self.sign[task] * at
        above = np.isfinite(at) & (outwards > (self.sign * self.inside)[task])
        above &= self.line.is_shape | (outwards < (self.sign * self.limit)[task])
        found = np.flatnonzero(above)
        order = found[np.lexsort((-outwards[found], task[found]))]
        best = order[np.flatnonzero(np.diff(task[order], prepend=-1))]
        k = task[best]
        self.inside[k], self.psi[k], self.theta[k] = at[best], grids.psi[cell[best]], theta[best]
        self.short_in[k] = self._short(grids.values[k, cell[best]], k)

    def _begin_along_ridges(self) -> None:
        """Where small rates grow in proportion, a profile may stay above its target far out."""
        profiles = self.line.profiles
        task, _, points = points_along_ridges(profiles, self.whose, self.peaks.points.psi)
        above = points.value > (self.highest - self.drop)[task]
        task, points = task[above], points.take(above)
        at = self.line.positions(points.theta, profiles.to_search(points.psi))
        for i in np.argsort(self.sign[task] * at):  # the outermost last
            k = task[i]
            inside = np.isfinite(at[i]) and self.sign[k] * (self.limit[k] - at[i]) > 0
            if inside and self.sign[k] * (at[i] - self.inside[k]) > 0:
                self.inside[k], self.psi[k], self.theta[k] = at[i], points.psi[i], points.theta[i]
                self.short_in[k] = self._short(points.value[i], k)
                # where the estimate is, a standard error is that across the ridge
                self.step[k] = max(self.step[k], abs(at[i] - self.begun[k]))

    def run(self) -> Vector:
        """Positions of the ends; infinite where the profile never falls so far."""
        found = self._closed_in()
        psi, moved = self.psi.copy(), np.arange(len(found))
        for _ in range(MOST_RETURNS):
            moved, again = self._above_elsewhere(found, moved)
            if not len(moved):
                break
            found[moved] = again._closed_in()
            psi[moved] = again.psi
        if not (self.coarse or self.line.is_shape):
            open_ = np.isfinite(found) & self._at_limits(psi)
            found[open_] = self.sign[open_] * np.inf
        return found

    def _at_limits(self, psi: Matrix) -> BoolVector:
        """Whether psi is at a limit where the parameter is too: only the range ends it there."""
        profiles = self.line.profiles
        u, found = profiles.to_search(psi), np.zeros(len(psi), dtype=bool)
        for q, shape in enumerate(profiles.shape):
            for end, limit in zip(profiles.bounds[q], map(shape.limit, (False, True)), strict=True):
                if limit is not None and self.line.natural.name in limit.lost:
                    away = np.abs(u[:, q] - end)
                    found |= away < AT_LIMIT * np.ptp(profiles.bounds[q])
        return found

    def _closed_in(self) -> Vector:
        """Where the profile has fallen through its target, followed from where it begins."""
        found = np.full(len(self.whose), np.nan)
        active = np.arange(len(self.whose))
        kept = np.zeros(len(self.whose), dtype=np.int64)
        for _ in range(MOST_STEPS):
            ahead = self.sign[active] * (self.inside[active] - self.limit[active])
            beyond = active[ahead >= 0]
            found[beyond] = self.sign[beyond] * np.inf
            active = np.setdiff1d(active, beyond)
            if not len(active):
                break
            position = self._next(active)
            is_number = self._are_numbers(position)
            unending = active[~is_number]
            found[unending] = self.sign[unending] * np.inf
            active, position = active[is_number], position[is_number]
            if not len(active):
                break
            short = self._measure(active, position)
            arrived = np.abs(short) < CLOSE
            arrived |= np.abs(position - self.inside[active]) < 1e-10 * (1 + np.abs(position))
            inwards = short < 0
            arrived |= self.coarse & ~inwards
            self._move(active, position, short, inwards, kept)
            found[active[arrived]] = position[arrived]
            active = active[~arrived]
        found[active] = self.inside[active]
        return found

    def _are_numbers(self, position: Vector) -> BoolVector:
        """Whether weights of that size can be written down; a profile not fallen by then never is.

        3^u - 1 of a consistency u, for one, is not from u = 647 on.
        """
        _, planes = self._held(position)
        if planes is None:
            return np.ones(len(position), dtype=bool)
        return np.asarray(np.isfinite(planes.value) & np.isfinite(planes.origin).all(axis=1))

    def _next(self, active: IntVector) -> Vector:
        """Further out while nothing is outside; then where a line through both ends crosses."""
        inside, outside = self.inside[active], self.outside[active]
        limit, sign = self.limit[active], self.sign[active]
        further = sign * np.minimum(sign * inside + self.step[active], sign * limit)
        width = self.short_out[active] - self.short_in[active]
        share = np.clip(-self.short_in[active] / width, 0.01, 0.99)
        return np.where(np.isnan(outside), further, inside + share * (outside - inside))

    def _move(
        self,
        active: IntVector,
        position: Vector,
        short: Vector,
        inwards: BoolVector,
        kept: IntVector,
    ) -> None:
        """Replace an end; that of the other side counts half if it stays twice in a row."""
        deeper, farther = active[inwards], active[~inwards]
        self.inside[deeper], self.short_in[deeper] = position[inwards], short[inwards]
        again = deeper[(kept[deeper] == 1) & ~np.isnan(self.outside[deeper])]
        self.short_out[again] /= 2
        kept[deeper] = 1
        self.step[deeper] *= 1.6
        self.outside[farther], self.short_out[farther] = position[~inwards], short[~inwards]
        again = farther[kept[farther] == -1]
        self.short_in[again] /= 2
        kept[farther] = -1

    def _measure(self, active: IntVector, position: Vector) -> Vector:
        """Climb with the parameter held at its position; how far the deviance's root is off."""
        line, profiles = self.line, self.line.profiles
        psi = self.psi[active].copy()
        fixed, planes = self._held(position)
        if line.is_shape:
            u = profiles.to_search(psi)
            u[:, line.natural.index] = position
            psi = profiles.from_search(u)
        near = Near(self.theta[active], self._curvatures(active))
        climbed = climb_together(
            profiles,
            self.whose[active],
            psi,
            near,
            fixed=fixed,
            planes=planes,
            finish=False,
            told=self.highest[active] - self.drop[active] if self.coarse else None,
        )
        short = self._short(climbed.points.value, active)
        # Only what is inside is followed: further out a climb may end on the slope of another peak.
        inside = short < 0
        self.psi[active[inside]] = climbed.points.psi[inside]
        self.theta[active[inside]] = climbed.points.theta[inside]
        return short

    def _curvatures(self, active: IntVector) -> Matrix:
        """Curvatures to begin climbs with; NaN where the one expected there is nearer.

        That of a peak is what weights leave of it that are free to follow. A weight that is held
        leaves more. Where small rates have grown, nothing of it is left.
        """
        n_shape = self.line.profiles.n_shape
        if self.coarse:
            return np.full((len(active), n_shape, n_shape), np.nan)
        known, there = self.peaks.points.psi[active], self.psi[active]
        far = np.any(are_rates(self.line.profiles) & (there > FAR * known), axis=1)
        return np.where(far[:, None, None], np.nan, self.peaks.curvature[active])

    def _short(self, value: Vector, which: Sequence[int] | IntVector) -> Vector:
        """Root of the deviance less that of the target."""
        deviance = np.maximum(2 * (self.highest[which] - value), 0.0)
        return np.asarray(np.sqrt(deviance) - np.sqrt(2 * self.drop[which]))

    def _above_elsewhere(self, found: Vector, which: IntVector) -> tuple[IntVector, _Tasks]:
        """Tasks whose profile at the end found is above its target at another psi, begun there.

        The best cell of the grid with the parameter held at its end is climbed from, if it is above
        the target as far as is known; or nearly, and not beside the psi that led to the end.
        """
        profiles = self.line.profiles
        which = which[np.isfinite(found[which])]
        task, cell, psi = self._cells(found, which)
        if not len(task):
            return which[:0], self
        fixed, planes = self._held(found[task])
        near = self.grids.theta[task, cell]
        if planes is None:
            values = profiles.solve(
                self.whose[task],
                psi,
                near,
                with_slopes=False,
                patient=not self.coarse,
                proven=False,
            ).value
        else:
            values = self._heights(task, cell, planes)
        short = self._short(values + GOOD_TO, task)
        best = np.lexsort((short, task))[np.flatnonzero(np.diff(task, prepend=-1))]
        far = self._are_far(profiles.to_search(psi[best]), task[best])
        best = best[short[best] < np.where(far, NEARLY, 0.0)]
        moved = task[best]
        if not len(moved):
            return moved, self
        climbed = climb_together(
            profiles,
            self.whose[moved],
            psi[best],
            fixed=None if fixed is None else fixed[best],
            planes=None if planes is None else planes.take(best),
            finish=False,
        ).points
        short = self._short(climbed.value, moved)
        kept = short < -RETURN
        return moved[kept], self._begun_at(moved[kept], found, short[kept], climbed.take(kept))

    def _heights(self, task: IntVector, cell: IntVector, planes: Planes) -> Vector:
        """Profiles on planes at cells of tasks, well told where they may be above the targets.

        Of many cells of a coarse search every other along each axis is looked at first; the rest if
        one of these is not far below.
        """
        floor = self.highest - (np.sqrt(2 * self.drop) + NEARLY) ** 2 / 2 - GOOD_TO
        values = np.full(len(task), -np.inf)

        def look(which: IntVector) -> None:
            at, there = task[which], cell[which]
            pairs = self.whose[at], self.grids.psi[there], self.grids.theta[at, there]
            place = self.whose[at] * len(self.grids.psi) + there
            on = planes.take(which), not self.coarse, place
            values[which] = self.line.profiles.heights(*pairs, *on, floor[at])

        first = np.ones(len(task), dtype=bool)
        if self.coarse:
            places = np.unravel_index(cell, self.grids.dimensions)
            even = np.all([axis % 2 == 0 for axis in places], axis=0)
            first = even | (np.bincount(task)[task] <= FEW)
        look(np.flatnonzero(first))
        best = np.full(len(self.whose), -np.inf)
        np.maximum.at(best, task[first], values[first])
        rest = np.flatnonzero(~first & (best > floor - BETWEEN)[task])
        if len(rest):
            look(rest)
        return values

    def _cells(self, found: Vector, which: IntVector) -> tuple[IntVector, IntVector, Matrix]:
        """Cells of the grid that may be above the target: their tasks, which they are, and psi."""
        profiles, q = self.line.profiles, self.line.natural.index
        u = profiles.to_search(self.grids.psi)
        if not profiles.n_shape or (self.line.is_shape and profiles.n_shape == 1):
            which = which[:0]
        if self.line.is_shape:
            away = np.abs(u[:, q] - found[which, None])
            near = away <= away.min(axis=1, keepdims=True, initial=np.inf) + 1e-9
        else:
            near = self._may_be_above(u, which)
        row, cell = np.nonzero(near)
        task, at = which[row], u[cell]
        if self.line.is_shape:
            at[:, q] = found[task]
        return task, cell, profiles.from_search(at)

    def _may_be_above(self, u: Matrix, which: IntVector) -> BoolVector:
        """Cells (n, n_psi) that may be above the target, or nearly, where weights are held.

        Weights that are held can but lower what a cell is worth: what was looked at and is so far
        below need not be solved again. Between cells a peak may be higher than they are.
        """
        values = self.grids.values[which]
        target = self.highest[which] - self.drop[which]
        near = values - target[:, None] > -BETWEEN
        row, cell = np.nonzero(near & self.grids.looked[which])
        task = which[row]
        short = self._short(values[row, cell] + GOOD_TO, task)
        lost = short >= np.where(self._are_far(u[cell], task), NEARLY, 0.0)
        near[row[lost], cell[lost]] = False
        return near & self.grids.looked[which] if self.coarse else near

    def _are_far(self, u: Matrix, task: IntVector) -> BoolVector:
        """Whether places are not beside the psi that led to the ends of tasks."""
        profiles = self.line.profiles
        away = np.abs(u - profiles.to_search(self.psi[task]))
        return np.asarray((away > 1.5 * grid_steps(profiles.shape)).any(axis=1))

    def _begun_at(self, moved: IntVector, found: Vector, short: Vector, points: Points) -> _Tasks:
        """The search for some ends, begun anew where the profile is above its target."""
        peaks = self.peaks.take(moved)
        unit = self.line.units(peaks, self.whose[moved])
        return replace(
            self,
            grids=self.grids.take(moved),
            peaks=peaks,
            whose=self.whose[moved],
            sign=self.sign[moved],
            drop=self.drop[moved],
            inside=found[moved],
            outside=np.full(len(moved), np.nan),
            short_in=short,
            short_out=np.full(len(moved), np.nan),
            limit=self.limit[moved],
            step=unit * np.sqrt(2 * self.drop[moved]),
            psi=points.psi,
            theta=points.theta,
            highest=self.highest[moved],
            begun=found[moved],
        )

    def _held(self, position: Vector) -> tuple[BoolVector | None, Planes | None]:
        """What is held while the others climb: a shape parameter, or weights on planes."""
        if not self.line.is_shape:
            return None, self.line.planes(position)
        shape = np.arange(self.line.profiles.n_shape) == self.line.natural.index
        return np.tile(shape, (len(position), 1)), None
