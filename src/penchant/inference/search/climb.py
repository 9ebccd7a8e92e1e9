"""Newton's method on the profiles of many subjects at once, step by step together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.peaks import Peak, Peaks, free_inverse, held_or_inverses, rooms
from penchant.inference.search.ridges import climb_ridges
from penchant.models.model import Declared

STEP = 3e-3  # of search units, between slopes whose differences make a curvature
CLOSE_STEP = 3e-5  # the same beside a kink or the end of a range
NEARLY = 1e-6  # a step of search units that is too short to matter for the height of a peak
ENOUGH = 1e-9  # and one that matters for nothing
STEEP = 1e-3  # and one that no smooth profile would ask for at its peak
LAST_STEPS = 3
SHORT = 1e-3  # a step of search units that is too short to lead to another slope
LONG = 0.5  # and one that may
SPARE = 0.5  # log-units below a height, and times what a step gains, that a climb does not make up
MANY_GAINS = 4.0
HOPELESS = 2.0  # log-units below a height, from which no climb along kinks leads there
LOOKS = 12  # after each of which a climb is asked what it has gained,
MANY_ROUNDS = 25.0  # and so many times as much is not gained any more
TAKEN = 30.0  # times the curvature of a profile, that of which weights take back the rest
STALE, STALE_AMONG_KINKS = 8, 12  # steps after which the curvature is taken anew
LEAST = 1e-9  # share of a step below which it is given up
FURTHER = 4.0  # times as far as a shortened step led, the next may lead
FARTHEST = 4.0  # search units that a step may be long, after others as long as they might be
LEAST_AMONG_KINKS = 0.2  # the same where slopes jump: there is a better way to go on,
POOR = 1e-5  # and as soon as shortened steps gain less log-units
FLAT = 1e-8  # log-units that a step promises which leads nowhere, at a maximum


@dataclass(frozen=True)
class Near:
    """Where to start a climb: weights (n, n_weights) and curvatures (n, n_shape, n_shape)."""

    theta: Matrix
    curvature: Matrix

    @classmethod
    def of(cls, peak: Peak) -> Near:
        """A single one, at the peak of similar data."""
        return cls(peak.point.theta[None], peak.curvature[None])


class Climbs:
    """Climbs on the profiles of many subjects, step by step together, one row each.

    Steps are Newton's, with the curvature that is expected plus what the steps have shown of the
    rest. A step is taken if it does not lower the profile, and shortened otherwise. A row may begin
    anew as soon as it has ended, so that none waits for the slowest.

    Parameters
    ----------
    subject
        Whose profile each row climbs.
    fixed
        Shape parameters that stay where they are: (n, n_shape).
    planes
        Where the weights shall lie.
    max_steps
        Steps after which a climb ends.
    proven
        Whether to look closely at every step, and not at the end alone.
    told
        Heights of which it is enough to tell whether a climb comes to them.

    Attributes
    ----------
    u, points
        Where the climbs have come to, in search units; and the inner solutions there.
    curvature, drift
        Minus the Hessian of the profile, and the derivative of the weights along it.
    n_steps, converged, active
        Steps taken so far, whether a maximum was reached, whether the climb goes on.
    """

    def __init__(
        self,
        profiles: Profiles,
        subject: IntVector,
        fixed: BoolVector | None = None,
        planes: Planes | None = None,
        max_steps: int = 40,
        proven: bool = False,
        told: Vector | None = None,
    ) -> None:
        n, d, q = len(subject), profiles.n_weights, profiles.n_shape
        self.profiles, self.subject, self.planes = profiles, subject, planes
        self.max_steps, self._smooth = max_steps, Declared(profiles.model).smooth
        self._told, self._looks, self._mark = told, 0, np.full(n, -np.inf)
        self._least = LEAST if self._smooth else LEAST_AMONG_KINKS
        self._stale = STALE if self._smooth else STALE_AMONG_KINKS
        self._held = np.zeros((n, q), dtype=bool) if fixed is None else fixed
        self.points = profiles.blank(subject, np.zeros((n, q)))
        self.u, self._step, self._fraction = np.zeros((n, q)), np.zeros((n, q)), np.ones(n)
        self._reach = np.ones(n)
        self.curvature, self.drift = np.zeros((n, q, q)), np.zeros((n, d, q))
        self._unexpected = np.zeros((n, q, q))
        self.n_steps = np.zeros(n, dtype=np.int64)
        self.converged, self.active = np.zeros((2, n), dtype=bool)
        self._proven = proven or max_steps == 0  # else the end is looked at, in `finish`

    @classmethod
    def at(cls, profiles: Profiles, peaks: Peaks) -> Climbs:
        """Climbs that have come to peaks, one of each subject."""
        climbs = cls(profiles, peaks.points.subject)
        climbs.points, climbs.u, climbs.curvature = peaks.points, peaks.u, peaks.curvature
        climbs.n_steps, climbs.converged = peaks.n_steps, peaks.converged
        return climbs

    def begin(
        self, rows: IntVector, psi: Matrix, theta: Matrix | None, curvature: Matrix | None = None
    ) -> None:
        """Let rows start from psi, with weights and curvatures of similar data where known."""
        low, high = self.profiles.bounds.T
        self.u[rows] = np.clip(self.profiles.to_search(psi), low, high)
        self.points.theta[rows] = np.nan if theta is None else theta
        self.points.value[rows] = -np.inf
        self._unexpected[rows] = np.nan if curvature is None else curvature
        self._step[rows], self._fraction[rows], self.n_steps[rows] = 0.0, 1.0, -1
        self._reach[rows] = 1.0
        self.converged[rows], self.active[rows] = False, True

    def run(self) -> None:
        """Step until all have ended."""
        while self.active.any():
            self.advance()

    def advance(self) -> IntVector:
        """Take one step, or a shorter one, of every climb; returns the rows that ended by it."""
        rows = np.flatnonzero(self.active)
        target = self.targets(rows)
        up, known = self._move(rows, target, self._look(rows, target))
        over = self.converged[rows] | (self.n_steps[rows] >= self.max_steps) | (up & ~known)
        over |= self._fraction[rows] < self._least
        if self._told is not None:
            over |= (up & self._is_told(rows)) | self._crawl(rows)
        self.active[rows[over]] = False
        return rows[over]

    def _look(self, rows: IntVector, target: Matrix) -> Points:
        """What is found where steps would lead to."""
        return self.profiles.solve(
            self.subject[rows],
            self.profiles.from_search(target),
            self.points.theta[rows],
            planes=None if self.planes is None else self.planes.take(rows),
            proven=self._proven,
        )

    def _is_told(self, rows: IntVector) -> BoolVector:
        """Whether climbs have all but come to an end, or will not come to the height in question.

        The next step gains half of what the slope along it promises. A climb that will not come
        up there is not followed any further; one that does is, so that the next begins beside it.
        """
        assert self._told is not None
        step = self._step[rows]
        longest = np.abs(step).max(axis=1, initial=0.0)
        gain = 0.5 * (self.points.gradient[rows] * step).sum(axis=1)
        away = self._told[rows] - self.points.value[rows]
        vain = (away > SPARE + MANY_GAINS * gain) & (longest < LONG)
        return np.asarray(vain | (longest < SHORT) & (np.abs(away) > MANY_GAINS * gain))

    def _crawl(self, rows: IntVector) -> BoolVector:
        """Whether climbs that are long on their way are up there, or gain too little to come there.

        Along a ridge most steps are shortened: looks are counted, and not steps.
        """
        assert self._told is not None
        self._looks += 1
        if self._looks % LOOKS:
            return np.zeros(len(rows), dtype=bool)
        gained = self.points.value[rows] - self._mark[rows]
        self._mark[rows] = self.points.value[rows]
        away = self._told[rows] - self.points.value[rows]
        return np.asarray((away < 0) & np.isfinite(gained) | (away > MANY_ROUNDS * gained))

    def targets(self, rows: IntVector) -> Matrix:
        """Where the next steps of climbs lead to, in search units."""
        target = np.empty((len(rows), self.u.shape[1]))
        compiled.aim(rows, self.u, self._step, self._fraction, self.profiles.bounds, target)
        return target

    def summits(self, rows: IntVector) -> Matrix:
        """Where parabolas around climbs in two parameters peak in the range; NaN if they do not.

        A step leads there as far as it may be long.
        """
        found = np.empty((len(rows), 2))
        at = self.u, self.points.gradient, self.curvature
        compiled.find_summits(rows, *at, self.profiles.bounds, found)
        return found

    def give_up(self, rows: IntVector) -> None:
        """End climbs that lead nowhere new."""
        self.active[rows] = False

    def _move(
        self, rows: IntVector, target: Matrix, trial: Points
    ) -> tuple[BoolVector, BoolVector]:
        """Take steps that lead up, learn from them, and shorten others.

        Returns which were taken, and of which slopes are known where they lead to.
        """
        n, q = target.shape
        path, change, gained = np.empty((n, q)), np.empty((n, q)), np.empty(n)
        up, first, known = np.empty((3, n), dtype=bool)
        settled, climbs = (trial.settled, self.points.settled), (self.u, self.n_steps)
        taken = up, first, known
        places = trial.lines, self.points.lines
        compiled.judge(rows, target, *places, settled, climbs, taken, path, change, gained)
        if self._smooth and not Declared(self.profiles.model).outside:
            self._reach_further(rows, up, first, path)
        mine, begun = rows[up], first[up]
        expected = self._learn(mine, begun, path[up], change[up])
        stale = mine[~begun & (self.n_steps[mine] % self._stale == 0)]
        if len(stale):
            self._look_at_curvature(stale, roughly=True)
        self._step[mine] = step = self._newton_steps(mine, self.curvature[mine])
        longest = expecting = np.abs(step).max(axis=1, initial=0.0)
        if not self._smooth:
            expecting = np.abs(self._newton_steps(mine, expected)).max(axis=1, initial=0.0)
        compiled.settle(
            rows,
            self.points.gradient,
            self._step,
            (up, path, gained),
            (longest, expecting),
            self._fraction,
            self.converged,
            (self._smooth, FURTHER, NEARLY, STEEP, POOR, self._least, FLAT),
        )
        return up, known

    def _reach_further(
        self, rows: IntVector, up: BoolVector, first: BoolVector, path: Matrix
    ) -> None:
        """Let steps be longer after one that led up and was as long as it might be.

        Along a ridge that is all but straight most of them are. Among kinks it saves nothing, and
        where a model ends inside the range it leads beyond.
        """
        reach = self._reach[rows]
        whole = ~first & (np.abs(path).max(axis=1, initial=0.0) > 0.999 * reach)
        further = np.where(whole, np.minimum(2.0 * reach, FARTHEST), reach)
        self._reach[rows] = np.where(up, further, 1.0)

    def _learn(self, rows: IntVector, first: BoolVector, path: Matrix, change: Matrix) -> Matrix:
        """Curvatures, as expected where steps led to, with what these showed; those expected."""
        at, d = self.points, self.profiles.n_weights
        given = held_or_inverses(self.profiles, at, rows, self.planes)
        q = path.shape[1]
        expected = np.empty((len(rows), q, q))
        compiled.learn(
            rows,
            first,
            path,
            change,
            (at.information, at.theta, at.mixed, at.fisher),
            given,
            self.profiles.positive,
            (self.curvature, self._unexpected, expected),
            rooms(d),
            np.empty(q),
        )
        return expected

    def go_on_along_ridges(self) -> None:
        """Climb further from where steps across kinks led down, unless all is told by then."""
        rows = np.flatnonzero(~self.converged)
        if self._told is not None:
            away = (self._told - self.points.value)[rows]
            rows = rows[(away > 0) & (away < HOPELESS)]
        if self._smooth or not len(rows) or not self.max_steps or not self.u.shape[1]:
            return
        at = self.subject[rows], self.u[rows], self.points.theta[rows]
        planes = None if self.planes is None else self.planes.take(rows)
        found = climb_ridges(self.profiles, *at, planes, self._held[rows])
        higher = found.points.value > self.points.value[rows]
        mine = rows[higher]
        self.points.put(mine, found.points.take(higher))
        self.u[mine], self.curvature[mine] = found.u[higher], found.curvature[higher]
        self.n_steps[mine] += found.n_steps[higher]

    def step_once_more(self) -> None:
        """The step that is too short to matter for the height, by the curvature learnt so far."""
        self._fraction[:], self._proven = 1.0, True
        self._step = self._newton_steps(np.arange(len(self.u)), self.curvature)
        self._step_again(self._are_close)

    def finish(self) -> None:
        """The last of Newton's steps, with exact curvatures at their end."""
        n, q = self.u.shape
        if not q:
            return
        everyone = np.arange(n)
        self.step_once_more()  # the exact curvature is that of where this leads
        self._look_at_curvature(everyone)
        self._step = self._newton_steps(everyone, self.curvature)
        going = self._are_close
        for _ in range(LAST_STEPS):
            going = self._step_again(going)
            if not going.any():
                break
        self._prove()

    def _prove(self) -> None:
        """Look closely at where climbs ended that were not looked at since."""
        rows = np.flatnonzero(self.points.settled & ~np.isfinite(self.points.decrement))
        if len(rows):
            at = self.points.take(rows)
            planes = None if self.planes is None else self.planes.take(rows)
            found = self.profiles.solve(at.subject, at.psi, at.theta, planes=planes)
            same = found.value >= at.value - 1e-9 * (1 + np.abs(at.value))
            self.points.put(rows[same], found.take(same))

    @property
    def promised(self) -> Vector:
        """What Newton's steps from where climbs are would gain."""
        steps = self._newton_steps(np.arange(len(self.u)), self.curvature)
        return np.asarray(0.5 * (self.points.gradient * steps).sum(axis=1))

    @property
    def _are_close(self) -> BoolVector:
        """Climbs that have come to a maximum but for a short step."""
        return np.asarray(self.converged & (np.abs(self._step).max(axis=1) < 10 * NEARLY))

    def _step_again(self, going: BoolVector) -> BoolVector:
        """Take the steps of some that are worth it; returns which of them may take another."""
        rows = np.flatnonzero(going & (np.abs(self._step).max(axis=1) >= ENOUGH))
        if not len(rows):
            return np.zeros_like(going)
        target = self.targets(rows)
        trial, value = self._look(rows, target), self.points.value[rows]
        up = trial.value >= value - 1e-12 * (1 + np.abs(value))
        up &= np.isfinite(trial.gradient).all(axis=1)
        mine = rows[up]
        self.u[mine] = target[up]
        self.points.put(mine, trial.take(up))
        self._step[mine] = self._newton_steps(mine, self.curvature[mine])
        return np.isin(np.arange(len(going)), mine)

    @property
    def at_bound(self) -> BoolVector:
        """Shape parameters at the end of their range: (n, n_shape)."""
        low, high = self.profiles.bounds.T
        return np.asarray(((self.u <= low) | (self.u >= high)) & ~self._held)

    def peaks(self) -> Peaks:
        """Where all climbs have come to."""
        nothing = np.zeros(len(self.u), dtype=bool)
        return Peaks(
            self.points,
            self.u,
            self.curvature,
            self.drift,
            self.at_bound,
            self.n_steps,
            self.converged,
            nothing,
        )

    # -- curvature ---------------------------------------------------------------------------------

    def _free_inverse(self, points: Points, rows: IntVector) -> Matrix:
        planes = None if self.planes is None else self.planes.take(rows)
        return free_inverse(self.profiles, points, planes)

    def _look_at_curvature(self, rows: IntVector, roughly: bool = False) -> None:
        """Minus the Hessian of the profile, and the derivative of the weights along it.

        With I the information and C the derivative of the weights' gradient by psi, the weights
        follow psi as I^-1 C. Roughly: as well as a step needs it.
        """
        at = self.points.take(rows)
        self.drift[rows] = drift = self._free_inverse(at, rows) @ at.cross
        if self.profiles.density is not None:  # of which C does not tell all
            held = self._differences(rows, at, np.zeros_like(drift), roughly)
            self._set_curvature(rows, held + at.cross.transpose(0, 2, 1) @ drift)
            return
        hessian = self._differences(rows, at, drift, roughly)
        # where weights all but make up for psi, they must follow it closer than by a straight line
        given = np.einsum("kaq,kaq->kq", at.cross, drift)
        bent = (np.abs(given) > TAKEN * np.abs(hessian.diagonal(0, 1, 2))).any(axis=1)
        if bent.any():
            some = rows[bent], at.take(bent), drift[bent], roughly
            hessian[bent] = self._differences(*some, solved=True)
        self._set_curvature(rows, hessian)

    def _set_curvature(self, rows: IntVector, hessian: Matrix) -> None:
        expected = self.curvature[rows] - self._unexpected[rows]
        self.curvature[rows] = -(hessian + hessian.transpose(0, 2, 1)) / 2
        self._unexpected[rows] = self.curvature[rows] - expected

    def _differences(
        self, rows: IntVector, at: Points, drift: Matrix, roughly: bool, solved: bool = False
    ) -> Matrix:
        """Second derivative of the profile in psi, by differences of the first.

        The weights go with psi as `drift` (n, n_weights, n_shape) says, or are `solved` anew. With
        weights that stay, what they take back would have to be added: where choices tell little but
        a product of both, it is all but the whole.
        """
        profiles, u = self.profiles, self.u[rows]
        n, q = u.shape
        if not q:
            return np.zeros((n, q, q))
        smooth = self._smooth and not roughly
        stencils = [_stencil(u[:, a], profiles.bounds[a], smooth) for a in range(q)]
        m = len(stencils[0][0])
        # those of one subject side by side: what it has learnt is unfolded for all of them at once
        beside = np.tile(u[:, None, None], (1, q, m, 1))  # along each parameter, at each place
        for a, (places, _) in enumerate(stencils):
            beside[:, a, :, a] = places.T
        away = np.stack([beside[:, a, :, a] - u[:, a, None] for a in range(q)], axis=1)
        follows = away[..., None] * drift.transpose(0, 2, 1)[:, :, None]
        theta = (at.theta[:, None, None] + follows).reshape(n * q * m, -1)
        pairs = np.repeat(at.subject, q * m), profiles.from_search(beside.reshape(n * q * m, q))
        if solved:
            planes = None if self.planes is None else self.planes.take(np.repeat(rows, q * m))
            exact = profiles.solve(*pairs, theta, planes=planes, proven=not roughly)
            gradient = exact.gradient
        else:
            gradient = profiles.partial_gradient(*pairs, theta)
        shares = np.stack([share.T for _, share in stencils], axis=1)
        hessian = (shares[..., None] * gradient.reshape(n, q, m, q)).sum(axis=2)
        return np.asarray((hessian + hessian.transpose(0, 2, 1)) / 2)

    def _newton_steps(self, rows: IntVector, curvature: Matrix) -> Matrix:
        """Newton's steps among the free parameters, uphill and at most 1 search unit long."""
        steps = np.empty((len(rows), self.u.shape[1]))
        at = rows, self.u, self.points.gradient
        bounds, room = self.profiles.bounds, rooms(self.u.shape[1])
        given = np.ascontiguousarray(curvature), bounds, self._held, self._reach
        compiled.steer(*at, *given, steps, room)
        return steps


def _stencil(u: Vector, bounds: Vector, smooth: bool) -> tuple[Matrix, Matrix]:
    """Places around u inside bounds, and the shares by which slopes there make a derivative.

    (n_places, n) each. Two places on each side, whose error is of the fourth order, so that they
    need not be so close that little is left of the slopes' digits. Beside a kink or the end of a
    range one on each side, close by.
    """
    close = np.stack([np.maximum(u - CLOSE_STEP, bounds[0]), np.minimum(u + CLOSE_STEP, bounds[1])])
    apart = np.stack([[-1.0], [1.0]]) / (close[1] - close[0])
    if not smooth:
        return close, apart
    wide = np.minimum(STEP, np.minimum(u - bounds[0], bounds[1] - u) / 2.0)
    inside = wide >= 10.0 * CLOSE_STEP
    wide = np.where(inside, wide, 1.0)
    places = u + np.array([[-2.0], [-1.0], [1.0], [2.0]]) * wide
    shares = np.array([[1.0], [-8.0], [8.0], [-1.0]]) / (12.0 * wide)
    none = np.zeros_like(u)
    near = np.stack([u, *close, u]), np.stack([none, *apart, none])
    return np.where(inside, places, near[0]), np.where(inside, shares, near[1])


def climb_together(
    profiles: Profiles,
    subject: IntVector,
    psi: Matrix,
    near: Near | None = None,
    max_steps: int = 40,
    fixed: BoolVector | None = None,
    planes: Planes | None = None,
    finish: bool = True,
    told: Vector | None = None,
) -> Climbs:
    """Climb from psi[k] on the profile of subject[k], for every k.

    Parameters
    ----------
    near
        Weights and curvatures to start from, of similar data.
    fixed, planes, max_steps, told
        As in `Climbs`.
    finish
        Take the last steps and the curvature at the end; if not, what was found is good enough to
        tell how high the peak is.
    """
    climbs = Climbs(profiles, subject, fixed, planes, max_steps, told=told)
    known = (None, None) if near is None else (near.theta, near.curvature)
    climbs.begin(np.arange(len(subject)), psi, *known)
    climbs.run()
    climbs.go_on_along_ridges()
    if finish:
        climbs.finish()
    return climbs
