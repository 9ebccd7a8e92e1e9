"""Proximal bundle method for profiles whose gradient jumps, for many subjects at once.

With several learning rates the profile is continuous but piecewise smooth: beside a kink the
gradient describes one side only, and a Newton step leads across it and down. The method keeps a
bundle of cutting planes, one for each point evaluated near by, adds the same expected curvature to
all of them, and steps to the maximum of the lowest (Lemarechal 1975; with curvature, Lewis & Wylie
2019). Along a kink such steps are as good as Newton's on a smooth profile; at a maximum on one the
model predicts no further increase. It relies on the compiled steps of `_bundle_method_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.inference.profile.inner_problems import InnerSolutions, LinearConstraint
from penchant.inference.profile.profile_likelihood import ITERATE, ProfileProblems
from penchant.inference.search import _bundle_method_kernels as compiled
from penchant.inference.search.local_maxima import Optima, expected_curvature_at

# Fractions of a step that are evaluated in one call: a longer one finds out whether the proximal
# weight holds the step back, the shorter ones stay on this side of a kink that the step crosses.
STEP_FRACTIONS = np.array([3.0, 1.0, 0.25, 0.03])
FULL_STEP = 1  # index of the step itself: only its increase is comparable with the predicted one


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """Settings of the bundle method; increases are in log-units."""

    # Cuts kept: the current point and three rounds of fractions, about what a kink of two or three
    # parameters needs; older ones lie too far away to describe the kinks around the point.
    bundle_size: int = 13
    max_rounds: int = 30  # smaller: maxima along long kinks are missed; larger: more evaluations
    # Null steps in a row: by then the proximal weight has grown 4096-fold, and steps are tiny.
    max_null_steps: int = 6
    # Stop below this predicted increase. With 1e-8, which saves 2 % of the time, 6 people of five
    # models were called weakly identified who are not (benchmarks/MODELS.md).
    predicted_increase_tol: float = 1e-10
    value_rounding: float = 1e-13  # relative: smaller increases of a log-likelihood are rounding
    # Factor of the proximal weight after a null step: shorter steps stay where the cuts hold.
    proximal_increase: float = 4.0
    # Factor after a step that gained more than predicted: one success takes back one null step.
    proximal_decrease: float = 0.25
    # Ratio of actual to predicted increase above which steps are lengthened: the cuts then
    # underestimate the function, and a short step wastes a round. Below, 1.3 is within their error.
    underestimate_ratio: float = 1.3
    # Share of the predicted increase that lets a proximal weight raised above 1 fall again.
    sufficient_increase: float = 0.1
    # Rounds before an iteration may be dropped: first predictions, from few cuts, are too high.
    min_rounds: int = 5
    # Times its predicted increase that an iteration may gain: those further below are dropped.
    dominated_factor: float = 10.0
    # Growth of the weights along one unit of psi, relative to their size: psi is near an edge of
    # the domain, where variables vanish and weights diverge; beyond the second there is no way on.
    near_divergence_growth: float = 1e3
    divergence_growth: float = 3e6  # the second: weights no longer finite in effect


BUNDLE = BundleOptions()


@dataclass
class BundleState:
    """State of the bundle method, a row per iteration; `propose_trial_points`, `update` in turn.

    Attributes
    ----------
    bounds, fixed_shapes
        Range of psi (n_shape, 2); shape parameters that stay fixed (n, n_shape).
    u, value
        The current points in unconstrained units, and the profile there.
    curvature
        Expected minus Hessian at the current points: (n, n_shape, n_shape).
    proximal_weight
        Factor of the curvature by which steps are held back: (n,).
    points, values, gradients
        The bundle: the current point first, then the newest before others; (n, m, n_shape), (n, m),
        (n, m, n_shape). NaN where there is no cut.
    predicted_increase
        Increase that the model predicts for the last steps: (n,).
    n_null_steps
        Rounds in a row without an increase: (n,).
    """

    bounds: Matrix
    fixed_shapes: BoolMatrix
    u: Matrix
    value: Vector
    curvature: Matrix
    proximal_weight: Vector
    points: Matrix
    values: Matrix
    gradients: Matrix
    predicted_increase: Vector
    n_null_steps: IntVector

    @classmethod
    def start_at_points(
        cls,
        bounds: Matrix,
        held: BoolMatrix,
        u: Matrix,
        value: Vector,
        gradient: Matrix,
        curvature: Matrix,
    ) -> BundleState:
        """State at starting points, with one cut each."""
        n, q = u.shape
        points, gradients = np.full((2, n, BUNDLE.bundle_size, q), np.nan)
        values = np.full((n, BUNDLE.bundle_size), np.nan)
        points[:, 0], values[:, 0], gradients[:, 0] = u, value, gradient
        bundle = np.ones(n), points, values, gradients
        current = u.copy(), value.copy(), curvature.copy()
        return cls(bounds, held, *current, *bundle, np.zeros(n), np.zeros(n, dtype=np.int64))

    def propose_trial_points(self, rows: IntVector) -> tuple[IntVector, Matrix]:
        """Rows that continue, and the points to evaluate next: (n, n_fractions, n_shape)."""
        q = self.u.shape[1]
        steps = np.empty((len(rows), q))
        compiled.bundle_step(
            rows,
            (self.u, self.value, self.curvature, self.proximal_weight),
            (self.bounds, self.fixed_shapes),
            (self.points, self.values, self.gradients),
            steps,
            self.predicted_increase,
            compiled.bundle_workspace(BUNDLE.bundle_size, q),
        )
        going = self.predicted_increase[rows] > BUNDLE.predicted_increase_tol
        going &= self.n_null_steps[rows] < BUNDLE.max_null_steps
        going &= np.isfinite(steps.sum(axis=1))
        rows = rows[going]
        points = self.u[rows][:, None] + STEP_FRACTIONS[:, None] * steps[going][:, None]
        return rows, np.clip(points, *self.bounds.T)

    def update(
        self, rows: IntVector, points: Matrix, values: Vector, gradients: Matrix
    ) -> tuple[BoolVector, IntVector]:
        """Move to the best of the points evaluated; returns which rows moved, and to which point.

        Values (n * n_fractions,) and gradients (n * n_fractions, n_shape) are in the order of the
        points. The proximal weight grows after a null step, and shrinks where a step gained more
        than predicted.
        """
        moved, best = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=np.int64)
        compiled.update_bundle(
            rows,
            (points, FULL_STEP),
            (values, gradients),
            (self.u, self.value, self.proximal_weight, self.predicted_increase, self.n_null_steps),
            (self.points, self.values, self.gradients),
            moved,
            best,
            (
                BUNDLE.proximal_increase,
                BUNDLE.proximal_decrease,
                BUNDLE.underestimate_ratio,
                BUNDLE.sufficient_increase,
                BUNDLE.value_rounding,
            ),
        )
        return moved, best

    def is_dominated(self, rows: IntVector, subject: IntVector) -> BoolVector:
        """Whether rows will not come as high as another iteration of the same subject is."""
        highest = np.full(int(subject.max()) + 1, -np.inf)
        np.maximum.at(highest, subject, self.value)
        below = highest[subject[rows]] - self.value[rows]
        return np.asarray(below > BUNDLE.dominated_factor * self.predicted_increase[rows])


def bundle_search(
    profiles: ProfileProblems,
    subject: IntVector,
    u: Matrix,
    theta: Matrix,
    constraint: LinearConstraint | None = None,
    fixed: BoolMatrix | None = None,
    is_iterated: BoolVector | None = None,
) -> Optima:
    """Maximize profiles by the bundle method from u (n, n_shape), with weights to start from.

    Whether the ends are maxima is not decided here: see `maxima_at_kinks`. An iteration stops where
    the weights diverge, and where another one of the same subject is out of its reach.

    Parameters
    ----------
    constraint
        Linear constraint on the weights.
    fixed
        Shape parameters that stay fixed: (n, n_shape).
    is_iterated
        Rows to iterate; the others are evaluated at u only: (n,).
    """
    n, q = u.shape
    rows = np.arange(n) if is_iterated is None else np.flatnonzero(is_iterated)
    n_steps = np.zeros(n, dtype=np.int64)
    u = np.clip(u, *profiles.bounds.T)
    at = _evaluate_points(profiles, subject, u, theta, constraint)
    held = np.zeros((n, q), dtype=bool) if fixed is None else fixed
    expected = expected_curvature_at(profiles, at, constraint)
    drift = expected.weight_derivatives
    state = BundleState.start_at_points(
        profiles.bounds, held, u, at.value, at.gradient, expected.curvature
    )
    for k in range(BUNDLE.max_rounds):
        rows, points = state.propose_trial_points(rows)
        if not len(rows):
            break
        m = points.shape[1]
        each = np.repeat(rows, m)
        on = None if constraint is None else constraint.take(each)
        found = _evaluate_points(profiles, subject[each], points.reshape(-1, q), at.theta[each], on)
        moved, best = state.update(rows, points, found.value, found.gradient)
        mine, there = rows[moved], found.take((np.arange(len(rows)) * m + best)[moved])
        at.put(mine, there)
        on = None if constraint is None else constraint.take(mine)
        drift[mine], state.curvature[mine], growth = expected_curvature_at(profiles, there, on)
        n_steps[mine] += 1
        over = np.zeros(len(rows), dtype=bool)
        over[moved] = growth > BUNDLE.divergence_growth
        # Under a constraint every row is the end of another interval: none may be dropped.
        if k >= BUNDLE.min_rounds and constraint is None:
            over |= state.is_dominated(rows, subject)
        rows = rows[~over]
    low, high = profiles.bounds.T
    at_bound = ((state.u <= low) | (state.u >= high)) & ~held
    # Converged and kinked are left False: the probes of the caller decide both.
    undecided = np.zeros((2, n), dtype=bool)
    return Optima(at, state.u, state.curvature, drift, at_bound, n_steps, *undecided)


def _evaluate_points(
    profiles: ProfileProblems,
    subject: IntVector,
    u: Matrix,
    start_theta: Matrix,
    constraint: LinearConstraint | None,
) -> InnerSolutions:
    psi = profiles.from_unconstrained(u)
    return profiles.solve(subject, psi, start_theta, constraint=constraint, accuracy=ITERATE)


def near_divergence(profiles: ProfileProblems, points: InnerSolutions) -> BoolVector:
    """Whether psi is near an edge of the domain, where variables vanish and weights diverge."""
    return np.asarray(
        expected_curvature_at(profiles, points).weight_growth > BUNDLE.near_divergence_growth
    )
