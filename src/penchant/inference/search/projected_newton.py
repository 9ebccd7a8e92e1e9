"""Projected Newton's method on the profiles of many subjects at once, one step of all at a time.

The Hessian on the way is the expected information of the profile plus a correction that the steps
teach by symmetric rank-one updates (Nocedal & Wright 2006, section 6.2); bounds on psi are handled
by an active set. At the end the observed Hessian is taken by differences of gradients. Where the
gradient jumps the bundle method takes over (`bundle_method`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.profile.inner_problems import InnerSolutions, LinearConstraint
from penchant.inference.profile.profile_likelihood import CERTIFIED, ITERATE, ProfileProblems
from penchant.inference.search.bundle_method import bundle_search
from penchant.inference.search.local_maxima import (
    Optima,
    fixed_weight_or_inverses,
    inverse_information_of_free_weights,
    inverse_workspace,
)
from penchant.models.model import Declared


@dataclass(frozen=True, slots=True)
class NewtonOptions:
    """Settings of Newton's method on profiles; u is psi in unconstrained units.

    Heights are in log-units. What was tried instead, and which maxima it lost, is in
    benchmarks/MODELS.md.
    """

    # Steps of u between the gradients that make a Hessian: wide where the profile is smooth,
    # against rounding; close beside a kink, which they must not cross.
    difference_step: float = 3e-3
    close_difference_step: float = 3e-5  # of u
    converged_step: float = 1e-6  # of u; changes the height of a maximum by less than rounding
    step_tol: float = 1e-9  # of u; shorter steps change no reported digit
    # Step of u that gives a kink away: at a smooth maximum no gradient asks for one so long.
    kink_step: float = 1e-3
    max_final_steps: int = 3  # Newton converges quadratically: one is nearly always enough
    min_fraction: float = 1e-9  # shorter fractions of a step change values by rounding only
    # Where gradients jump, short steps and small gains are left early to the bundle method.
    min_fraction_nonsmooth: float = 0.2
    min_gain_nonsmooth: float = 1e-5  # log-units
    # Growth of a step's length after a shortened one: what made the last step fail may be near.
    expansion: float = 4.0
    max_step: float = 4.0  # of u; with 2 or 3 first steps stopped short, and maxima were lost
    # Predicted gain below which a step that fails at every length proves a maximum: it is rounding.
    negligible_predicted_gain: float = 1e-8
    # Steps after which the Hessian is measured again. Every 16 steps saves 15 % of the time of
    # restless filters, but 8 of 120 of their maxima are lost.
    curvature_refresh_steps: int = 8
    refresh_every_nonsmooth: int = 12  # such rows leave early to the bundle method
    # If the weights take back this many times what is left of the curvature, following them along
    # a straight line is too inexact, and they are solved anew.
    max_cancellation: float = 30.0
    # Where a target height is all that matters: predicted gains hold for short steps of u only.
    short_step: float = 1e-3
    long_step: float = 0.5  # of u; predictions of longer steps say nothing
    # Height that a row may still gain: max_predicted_gain_multiple predicted gains, and
    # height_error_allowance for errors.
    height_error_allowance: float = 0.5
    max_predicted_gain_multiple: float = 4.0  # times the predicted gain
    max_bundle_deficit: float = 2.0  # further below the target the bundle method is not worth a try
    # Rows stop whose target is further than stall_factor times their gain in so many evaluations.
    stall_evaluations: int = 12
    stall_factor: float = 25.0  # ratio; a row that near may still arrive


NEWTON = NewtonOptions()
VALUE_ROUNDING = 1e-12  # of a log-likelihood, relative: a step that loses less does not lower it


@dataclass(frozen=True)
class WarmStart:
    """Weights (n, n_weights) and curvatures (n, n_shape, n_shape) to start Newton's method from."""

    theta: Matrix
    curvature: Matrix

    @classmethod
    def from_optimum(cls, optimum: Optima) -> WarmStart:
        """Start from the optimum of similar data."""
        return cls(optimum.points.theta, optimum.curvature)


class BatchNewton:
    """Newton iterations on the profiles of many subjects, one row each, stepped together.

    A step is accepted if it does not lower the profile, and shortened otherwise. A row may begin
    anew as soon as it has ended, so that none waits for the slowest.

    Parameters
    ----------
    subject
        Subject whose profile each row maximizes.
    fixed
        Shape parameters that stay fixed: (n, n_shape).
    constraint
        Linear constraint on the weights.
    max_steps
        Accepted steps after which a row ends.
    certify
        Whether to compute what certifies the inner solution at every step, not at the end alone.
    target
        Heights of which only has to be decided whether a row reaches them: (n,).

    Attributes
    ----------
    u, points
        The current psi in unconstrained units, and the inner solutions there.
    curvature, drift
        Minus the Hessian of the profile, and the derivative of the weights along it.
    n_steps, converged, active
        Accepted steps so far, whether a maximum was reached, whether the row goes on.
    """

    def __init__(
        self,
        profiles: ProfileProblems,
        subject: IntVector,
        fixed: BoolVector | None = None,
        constraint: LinearConstraint | None = None,
        max_steps: int = 40,
        certify: bool = False,
        target: Vector | None = None,
    ) -> None:
        n, d, q = len(subject), profiles.n_weights, profiles.n_shape
        self.profiles, self.subject, self.constraint = profiles, subject, constraint
        self.max_steps, self._smooth = max_steps, Declared(profiles.model).smooth
        self._target, self._n_evaluations, self._last_value = target, 0, np.full(n, -np.inf)
        self._min_fraction = NEWTON.min_fraction if self._smooth else NEWTON.min_fraction_nonsmooth
        self._refresh_every = (
            NEWTON.curvature_refresh_steps if self._smooth else NEWTON.refresh_every_nonsmooth
        )
        self._held = np.zeros((n, q), dtype=bool) if fixed is None else fixed
        self.points = profiles.empty_evaluations(subject, np.zeros((n, q)))
        self.u, self._step, self._fraction = np.zeros((n, q)), np.zeros((n, q)), np.ones(n)
        self._max_step = np.ones(n)
        self.curvature, self.drift = np.zeros((n, q, q)), np.zeros((n, d, q))
        self._correction = np.zeros((n, q, q))
        self.n_steps = np.zeros(n, dtype=np.int64)
        self.converged, self.active = np.zeros((2, n), dtype=bool)
        # Only ends need certificates, which the final steps add; without steps there are none.
        self._certify = certify or max_steps == 0

    @classmethod
    def start_at_optima(cls, profiles: ProfileProblems, optima: Optima) -> BatchNewton:
        """State at given optima, one of each subject."""
        newton = cls(profiles, optima.points.subject)
        newton.points, newton.u, newton.curvature = (
            optima.points,
            optima.unconstrained_psi,
            optima.curvature,
        )
        newton.n_steps, newton.converged = optima.n_steps, optima.converged
        return newton

    def begin(
        self, rows: IntVector, psi: Matrix, theta: Matrix | None, curvature: Matrix | None = None
    ) -> None:
        """Start rows from psi, with weights and curvatures of similar data where known."""
        low, high = self.profiles.bounds.T
        self.u[rows] = np.clip(self.profiles.to_unconstrained(psi), low, high)
        self.points.theta[rows] = np.nan if theta is None else theta
        self.points.value[rows] = -np.inf
        self._correction[rows] = np.nan if curvature is None else curvature
        self._step[rows], self._fraction[rows], self.n_steps[rows] = 0.0, 1.0, -1
        self._max_step[rows] = 1.0
        self.converged[rows], self.active[rows] = False, True

    def run(self) -> None:
        """Advance until all rows have ended."""
        while self.active.any():
            self.advance()

    def advance(self) -> IntVector:
        """Try one step, or a shorter one, of every active row; returns the rows that ended."""
        rows = np.flatnonzero(self.active)
        target = self.targets(rows)
        up, known = self._accept_steps(rows, target, self._evaluate(rows, target))
        over = self.converged[rows] | (self.n_steps[rows] >= self.max_steps) | (up & ~known)
        over |= self._fraction[rows] < self._min_fraction
        if self._target is not None:
            over |= (up & self._can_stop_early(rows)) | self._is_stalled(rows)
        self.active[rows[over]] = False
        return rows[over]

    def _evaluate(self, rows: IntVector, target: Matrix) -> InnerSolutions:
        return self.profiles.solve(
            self.subject[rows],
            self.profiles.from_unconstrained(target),
            self.points.theta[rows],
            constraint=None if self.constraint is None else self.constraint.take(rows),
            accuracy=CERTIFIED if self._certify else ITERATE,
        )

    def _can_stop_early(self, rows: IntVector) -> BoolVector:
        """Whether rows have nearly converged, or will not reach their target.

        The next step gains half of what the gradient along it predicts. A row that is above its
        target goes on, so that the next search starts close to the maximum.
        """
        assert self._target is not None
        step = self._step[rows]
        longest = np.abs(step).max(axis=1, initial=0.0)
        gain = 0.5 * (self.points.gradient[rows] * step).sum(axis=1)
        away = self._target[rows] - self.points.value[rows]
        vain = (
            away > NEWTON.height_error_allowance + NEWTON.max_predicted_gain_multiple * gain
        ) & (longest < NEWTON.long_step)
        return np.asarray(
            vain
            | (longest < NEWTON.short_step)
            & (np.abs(away) > NEWTON.max_predicted_gain_multiple * gain)
        )

    def _is_stalled(self, rows: IntVector) -> BoolVector:
        """Whether long-running rows are above their target, or gain too little to reach it.

        Along a ridge most steps are shortened: evaluations are counted, not accepted steps.
        """
        assert self._target is not None
        self._n_evaluations += 1
        if self._n_evaluations % NEWTON.stall_evaluations:
            return np.zeros(len(rows), dtype=bool)
        gained = self.points.value[rows] - self._last_value[rows]
        self._last_value[rows] = self.points.value[rows]
        away = self._target[rows] - self.points.value[rows]
        return np.asarray((away < 0) & np.isfinite(gained) | (away > NEWTON.stall_factor * gained))

    def targets(self, rows: IntVector) -> Matrix:
        """Points that the next steps lead to, in unconstrained units and inside the bounds."""
        target = np.empty((len(rows), self.u.shape[1]))
        compiled.cut_steps_at_first_bound(
            rows, self.u, self._step, self._fraction, self.profiles.bounds, target
        )
        return target

    def quadratic_maxima(self, rows: IntVector) -> Matrix:
        """Maxima of the quadratic models in two parameters inside the range; NaN if there is none.

        Steps lead there, but no further than their longest length.
        """
        found = np.empty((len(rows), 2))
        at = self.u, self.points.gradient, self.curvature
        compiled.quadratic_maxima(rows, *at, self.profiles.bounds, found)
        return found

    def deactivate_rows(self, rows: IntVector) -> None:
        """End rows that lead to a maximum already known."""
        self.active[rows] = False

    def _accept_steps(
        self, rows: IntVector, target: Matrix, trial: InnerSolutions
    ) -> tuple[BoolVector, BoolVector]:
        """Accept steps that lead up, update curvatures, and shorten the other steps.

        Returns which were accepted, and which of the points have a finite gradient.
        """
        before, first = self.points.value[rows], self.n_steps[rows] < 0
        path, change = target - self.u[rows], self.points.gradient[rows] - trial.gradient
        known: BoolVector = np.all(np.isfinite(trial.gradient), axis=1)
        # Weights of nearly vanishing variables may be so large that gradients overflow: reject.
        up = first | (known & (trial.value >= before - VALUE_ROUNDING * (1.0 + np.abs(before))))
        self.n_steps[rows[up]] += 1
        self.u[rows[up]] = target[up]
        self.points.put(rows[up], trial.take(up))
        if self._smooth and not Declared(self.profiles.model).outside:
            self._expand_steps(rows, up, first, path)
        mine, begun = rows[up], first[up]
        expected = self._update_curvatures(mine, begun, path[up], change[up])
        stale = mine[~begun & (self.n_steps[mine] % self._refresh_every == 0)]
        if len(stale):
            self._measure_curvature(stale, approximate=True)
        self._step[mine] = step = self._newton_steps(mine, self.curvature[mine])
        longest = expecting = np.abs(step).max(axis=1, initial=0.0)
        if not self._smooth:
            expecting = np.abs(self._newton_steps(mine, expected)).max(axis=1, initial=0.0)
        with np.errstate(invalid="ignore"):  # from nowhere to nowhere
            gained = trial.value - before
        self._shorten_failed_steps(rows[~up], gained[~up])
        self._set_step_fractions(mine, path[up], gained[up], longest, expecting)
        return up, known

    def _shorten_failed_steps(self, rows: IntVector, gained: Vector) -> None:
        """Shorten steps to the vertex of a parabola, by a factor between 0.1 and 0.5."""
        slope = (self.points.gradient[rows] * self._step[rows]).sum(axis=1)
        share = np.full(len(rows), 0.5)
        if self._smooth:
            promised = self._fraction[rows] * slope
            with np.errstate(divide="ignore", invalid="ignore"):
                share = promised / (2.0 * (promised - gained))
            share = np.where(np.isfinite(share), np.clip(share, 0.1, 0.5), 0.25)
        self._fraction[rows] *= share
        short = self._fraction[rows] < self._min_fraction
        self.converged[rows[short]] = np.abs(slope[short]) < NEWTON.negligible_predicted_gain

    def _set_step_fractions(
        self,
        rows: IntVector,
        path: Matrix,
        gained: Vector,
        longest: Vector,
        expected_step_lengths: Vector,
    ) -> None:
        """Set the fractions of the next steps after accepted ones, and mark converged rows.

        longest, expected_step_lengths : lengths of the next steps, also by the curvature that is
        expected
        """
        length = np.abs(path).max(axis=1, initial=0.0)
        shortened = (length > 0.0) & (self._fraction[rows] < 1.0)
        fraction, converged = np.ones(len(rows)), longest < NEWTON.converged_step
        if self._smooth:
            far = shortened & (longest > NEWTON.expansion * length)
            fraction[far] = NEWTON.expansion * length[far] / longest[far]
        else:
            # Steps are short beside a kink too, which is no maximum: the bundle method follows it.
            kink = converged & (expected_step_lengths > NEWTON.kink_step)
            kink |= shortened & (gained < NEWTON.min_gain_nonsmooth)
            fraction[kink], converged[kink] = 0.0, False
        self._fraction[rows], self.converged[rows] = fraction, converged

    def _expand_steps(
        self, rows: IntVector, up: BoolVector, first: BoolVector, path: Matrix
    ) -> None:
        """Double the longest step after an accepted one that was as long as allowed.

        Along a nearly straight ridge most of them are. Among kinks it saves nothing, and where the
        domain of a model ends inside the range it leads beyond: there it is not used.
        """
        max_step = self._max_step[rows]
        whole = ~first & (np.abs(path).max(axis=1, initial=0.0) > 0.999 * max_step)
        further = np.where(whole, np.minimum(2.0 * max_step, NEWTON.max_step), max_step)
        self._max_step[rows] = np.where(up, further, 1.0)

    def _update_curvatures(
        self, rows: IntVector, first: BoolVector, path: Matrix, change: Matrix
    ) -> Matrix:
        at, d = self.points, self.profiles.n_weights
        given = fixed_weight_or_inverses(self.profiles, at, rows, self.constraint)
        q = path.shape[1]
        expected = np.empty((len(rows), q, q))
        compiled.update_curvatures(
            rows,
            first,
            path,
            change,
            (at.information, at.theta, at.weight_psi_information, at.psi_information),
            given,
            self.profiles.positive,
            (self.curvature, self._correction, expected),
            inverse_workspace(d),
            np.empty(q),
        )
        return expected

    def continue_by_bundle(self) -> None:
        """Continue rows that stopped at a kink by the bundle method, unless already decided."""
        rows = np.flatnonzero(~self.converged)
        if self._target is not None:
            away = (self._target - self.points.value)[rows]
            rows = rows[(away > 0) & (away < NEWTON.max_bundle_deficit)]
        if self._smooth or not len(rows) or not self.max_steps or not self.u.shape[1]:
            return
        at = self.subject[rows], self.u[rows], self.points.theta[rows]
        constraint = None if self.constraint is None else self.constraint.take(rows)
        found = bundle_search(self.profiles, *at, constraint, self._held[rows])
        higher = found.points.value > self.points.value[rows]
        mine = rows[higher]
        self.points.put(mine, found.points.take(higher))
        self.u[mine], self.curvature[mine] = (
            found.unconstrained_psi[higher],
            found.curvature[higher],
        )
        self.n_steps[mine] += found.n_steps[higher]

    def take_negligible_step(self) -> None:
        """Take the step that is too short to matter for the height, by the current curvature."""
        self._fraction[:], self._certify = 1.0, True
        self._step = self._newton_steps(np.arange(len(self.u)), self.curvature)
        self._repeat_steps(self._nearly_converged)

    def take_final_steps(self) -> None:
        """Take the last Newton steps, and the observed Hessian at their end."""
        n, q = self.u.shape
        if not q:
            return
        everyone = np.arange(n)
        # first, so that the Hessian is measured at the end that is reported
        self.take_negligible_step()
        self._measure_curvature(everyone)
        self._step = self._newton_steps(everyone, self.curvature)
        going = self._nearly_converged
        for _ in range(NEWTON.max_final_steps):
            going = self._repeat_steps(going)
            if not going.any():
                break
        self._certify_ends()

    def _certify_ends(self) -> None:
        """Solve the ends again with what certifies them, where that was left out on the way."""
        rows = np.flatnonzero(self.points.converged & ~np.isfinite(self.points.decrement))
        if len(rows):
            at = self.points.take(rows)
            constraint = None if self.constraint is None else self.constraint.take(rows)
            found = self.profiles.solve(at.subject, at.psi, at.theta, constraint=constraint)
            # Another solve may end lower by its tolerance: never exchange a better end for it.
            same = found.value >= at.value - 1e-9 * (1 + np.abs(at.value))
            self.points.put(rows[same], found.take(same))

    @property
    def predicted_increase(self) -> Vector:
        """Increase that full Newton steps from the current points predict."""
        steps = self._newton_steps(np.arange(len(self.u)), self.curvature)
        return np.asarray(0.5 * (self.points.gradient * steps).sum(axis=1))

    @property
    def _nearly_converged(self) -> BoolVector:
        return np.asarray(
            self.converged & (np.abs(self._step).max(axis=1) < 10 * NEWTON.converged_step)
        )

    def _repeat_steps(self, going: BoolVector) -> BoolVector:
        rows = np.flatnonzero(going & (np.abs(self._step).max(axis=1) >= NEWTON.step_tol))
        if not len(rows):
            return np.zeros_like(going)
        target = self.targets(rows)
        trial, value = self._evaluate(rows, target), self.points.value[rows]
        # At a maximum no step can gain, but gradients improve: accept equal values too.
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

    def optima(self) -> Optima:
        """Current state of all rows as optima."""
        nothing = np.zeros(len(self.u), dtype=bool)
        return Optima(
            self.points,
            self.u,
            self.curvature,
            self.drift,
            self.at_bound,
            self.n_steps,
            self.converged,
            nothing,
        )

    def _free_inverse(self, points: InnerSolutions, rows: IntVector) -> Matrix:
        constraint = None if self.constraint is None else self.constraint.take(rows)
        return inverse_information_of_free_weights(self.profiles, points, constraint)

    def _measure_curvature(self, rows: IntVector, approximate: bool = False) -> None:
        """Measure minus the Hessian of the profile, and the derivative of the weights along it.

        With I the information and C the derivative of the weights' gradient by psi, the weights
        follow psi as I^-1 C. `approximate`: as well as a step needs it.
        """
        at = self.points.take(rows)
        self.drift[rows] = drift = self._free_inverse(at, rows) @ at.gradient_slope_in_psi
        # C lacks the density's part: hold the weights, and add what they would take back.
        if self.profiles.density is not None:
            held = self._hessian_by_differences(rows, at, np.zeros_like(drift), approximate)
            self._set_curvature(rows, held + at.gradient_slope_in_psi.transpose(0, 2, 1) @ drift)
            return
        hessian = self._hessian_by_differences(rows, at, drift, approximate)
        # Where the weights nearly compensate for psi, the Hessian is a small difference of large
        # numbers: they must follow psi closer than along a straight line.
        given = np.einsum("kaq,kaq->kq", at.gradient_slope_in_psi, drift)
        bent = (np.abs(given) > NEWTON.max_cancellation * np.abs(hessian.diagonal(0, 1, 2))).any(
            axis=1
        )
        if bent.any():
            some = rows[bent], at.take(bent), drift[bent], approximate
            hessian[bent] = self._hessian_by_differences(*some, solve_weights_anew=True)
        self._set_curvature(rows, hessian)

    def _set_curvature(self, rows: IntVector, hessian: Matrix) -> None:
        expected = self.curvature[rows] - self._correction[rows]
        self.curvature[rows] = -(hessian + hessian.transpose(0, 2, 1)) / 2
        self._correction[rows] = self.curvature[rows] - expected

    def _hessian_by_differences(
        self,
        rows: IntVector,
        at: InnerSolutions,
        drift: Matrix,
        approximate: bool,
        solve_weights_anew: bool = False,
    ) -> Matrix:
        """Second derivative of the profile in psi, by differences of the gradient.

        The weights follow psi as `drift` (n, n_weights, n_shape) says, or are `solve_weights_anew`
        anew. With fixed weights, what they take back would have to be subtracted: where choices
        identify little but a product of both, that is nearly all of it, and cancels.
        """
        profiles, u = self.profiles, self.u[rows]
        n, q = u.shape
        if not q:
            return np.zeros((n, q, q))
        smooth = self._smooth and not approximate
        stencils = [
            _difference_nodes_and_coefficients(u[:, a], profiles.bounds[a], smooth)
            for a in range(q)
        ]
        m = len(stencils[0][0])
        # Points of one subject side by side: the model runs its recursion for all at once.
        beside = np.tile(u[:, None, None], (1, q, m, 1))
        for a, (nodes, _) in enumerate(stencils):
            beside[:, a, :, a] = nodes.T
        away = np.stack([beside[:, a, :, a] - u[:, a, None] for a in range(q)], axis=1)
        follows = away[..., None] * drift.transpose(0, 2, 1)[:, :, None]
        theta = (at.theta[:, None, None] + follows).reshape(n * q * m, -1)
        pairs = (
            np.repeat(at.subject, q * m),
            profiles.from_unconstrained(beside.reshape(n * q * m, q)),
        )
        if solve_weights_anew:
            constraint = (
                None if self.constraint is None else self.constraint.take(np.repeat(rows, q * m))
            )
            accuracy = ITERATE if approximate else CERTIFIED
            exact = profiles.solve(*pairs, theta, accuracy=accuracy, constraint=constraint)
            gradient = exact.gradient
        else:
            gradient = profiles.psi_gradient_at_fixed_weights(*pairs, theta)
        coefficients = np.stack([coefficient.T for _, coefficient in stencils], axis=1)
        hessian = (coefficients[..., None] * gradient.reshape(n, q, m, q)).sum(axis=2)
        return np.asarray((hessian + hessian.transpose(0, 2, 1)) / 2)

    def _newton_steps(self, rows: IntVector, curvature: Matrix) -> Matrix:
        steps = np.empty((len(rows), self.u.shape[1]))
        at = rows, self.u, self.points.gradient
        bounds, work = self.profiles.bounds, inverse_workspace(self.u.shape[1])
        given = np.ascontiguousarray(curvature), bounds, self._held, self._max_step
        compiled.projected_newton_step(*at, *given, steps, work)
        return steps


def _difference_nodes_and_coefficients(
    u: Vector, bounds: Vector, smooth: bool
) -> tuple[Matrix, Matrix]:
    """Points of a difference stencil around u inside bounds, and their coefficients.

    (n_points, n) each. Two points on each side, whose error is of the fourth order, so that they
    need not be so close that rounding of the gradients matters. Beside a kink or the end of a
    range one on each side, close by.
    """
    close = np.stack(
        [
            np.maximum(u - NEWTON.close_difference_step, bounds[0]),
            np.minimum(u + NEWTON.close_difference_step, bounds[1]),
        ]
    )
    apart = np.stack([[-1.0], [1.0]]) / (close[1] - close[0])
    if not smooth:
        return close, apart
    wide = np.minimum(NEWTON.difference_step, np.minimum(u - bounds[0], bounds[1] - u) / 2.0)
    inside = wide >= 10.0 * NEWTON.close_difference_step
    wide = np.where(inside, wide, 1.0)
    nodes = u + np.array([[-2.0], [-1.0], [1.0], [2.0]]) * wide
    coefficients = np.array([[1.0], [-8.0], [8.0], [-1.0]]) / (12.0 * wide)
    none = np.zeros_like(u)
    beside = np.stack([u, *close, u]), np.stack([none, *apart, none])
    return np.where(inside, nodes, beside[0]), np.where(inside, coefficients, beside[1])


def newton_batch(
    profiles: ProfileProblems,
    subject: IntVector,
    psi: Matrix,
    warm_start: WarmStart | None = None,
    max_steps: int = 40,
    fixed: BoolVector | None = None,
    constraint: LinearConstraint | None = None,
    finish: bool = True,
    target: Vector | None = None,
) -> BatchNewton:
    """Maximize the profile of subject[k] by Newton's method from psi[k], for every k.

    Parameters
    ----------
    warm_start
        Weights and curvatures to start from, of similar data.
    fixed, constraint, max_steps, target
        As in `BatchNewton`.
    finish
        Take the last steps and the Hessian at the end; without, the height of the optimum is
        right, but its place and curvature are approximate.
    """
    newton = BatchNewton(profiles, subject, fixed, constraint, max_steps, target=target)
    known = (None, None) if warm_start is None else (warm_start.theta, warm_start.curvature)
    newton.begin(np.arange(len(subject)), psi, *known)
    newton.run()
    newton.continue_by_bundle()
    if finish:
        newton.take_final_steps()
    return newton
