"""Existence of the maximum: separation of the choices by a direction of theta.

A direction v with v'(x_chosen - x_j) >= 0 for every option j of every decision, and > 0 for some,
lets the log-likelihood rise without end: there is no maximum-likelihood estimate (Albert and
Anderson, 1984). It is found by linear programming (HiGHS through scipy), after cheaper tests by
non-negative least squares and a small dual simplex. Choices that are separated but for negligible
differences have a maximum that is far out and depends on these differences.

Paper: Theorem 1 needs the absence of separation and does not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import _likelihood_kernels as kernels
from penchant.softmax.identification import EPSILON, Identification, integer_variables
from penchant.softmax.likelihood import Likelihood, kernel_table_of_choices
from penchant.softmax.maximum_and_covariance import Solution, nan_unless_kept
from penchant.softmax.newton import Maximum


@dataclass(frozen=True, slots=True)
class SeparationOptions:
    """Tolerances of the search for recession directions; rows are scaled to largest entry 1."""

    # relative to the numbers subtracted: the few operations behind a difference round off less, so
    # that a smaller difference is taken for 0
    rounding: float = 64 * EPSILON
    lp_tol: float = 1e-9  # rise along a direction: HiGHS cannot tell smaller ones from 0
    zero_tol: float = 1e-12  # below every tolerance of the linear program: 0 for it in any case
    resolved_tol: float = 1e-7  # along a direction; a larger difference separates its option
    min_rise: float = 1e-6  # a smaller largest rise may be an artefact of the LP's tolerance
    vertex_gap: float = 1e-5  # no tolerance of the LP reaches so far from a vertex
    max_pivots: int = 50  # then HiGHS, which does not cycle; few parameters need fewer
    # by the last Newton step: its square, the error left, is 1e-16
    max_utility_change: float = 1e-8
    # a program of more would take HiGHS over a second; most rows never bind
    initial_rows: int = 4_000
    added_rows: int = 1_000  # per round: fewer take more rounds, more make every program slower


SEPARATION = SeparationOptions()
# Share of a variable's typical difference. A maximum that exists only because of smaller
# differences hangs on noise of measurement, and users are warned.
NEGLIGIBLE_DIFFERENCE = 1e-3
# Parts of a second direction that are tried in turn; a smaller one would be lost in rounding.
PARTS = 0.5 ** np.arange(40)


class UnsolvedProgramError(RuntimeError):
    """A linear program was given up: whether there is a recession direction is not known."""


def are_maxima_proven_to_exist(
    largest: Matrix, covariance: Matrix, decrement: Vector, total_weights: Vector
) -> BoolVector:
    """Whether Newton iterates of many subjects prove that their maxima exist; one row for each.

    With D the largest distance of two options of a set in the metric of the covariance, and the
    decrement lambda, D lambda < 1 suffices. D is bounded by the largest differences from the
    chosen option; rounding of the gradient is allowed for. `total_weights` are the weights of all
    decisions.
    """
    distance = max_utility_change(largest, covariance, 1.0)
    noise = np.finfo(np.float64).eps * np.sqrt(total_weights) * distance
    return np.asarray(distance * (decrement + noise) < 0.5)


def are_exact_maxima_proven(
    largest: Matrix, covariance: Matrix, decrement: Vector, total_weights: Vector
) -> BoolVector:
    """Whether the iterates prove that maxima exist, and are these to the last digit."""
    known = largest, covariance, decrement
    exact = max_utility_change(*known) <= SEPARATION.max_utility_change
    return np.asarray(exact & are_maxima_proven_to_exist(*known, total_weights))


def max_utility_change(largest: Matrix, covariance: Matrix, decrement: Vector | float) -> Vector:
    """Bound on the change of a utility by a step of this length in standard errors.

    Newton's method squares it with every step: the last one leaves no digit of theta in doubt if
    it changes none by more than `SEPARATION.max_utility_change`.
    """
    squared = np.einsum("sa,sac,sc->s", largest, np.abs(covariance), largest)
    return np.asarray(2.0 * np.sqrt(squared) * decrement)


class FeasibleDirection(NamedTuple):
    """A direction, the largest rise of a difference along it, and whether it is proven.

    Proven means that no difference falls, to the last digits; else to the tolerance of the linear
    program.
    """

    direction: Vector
    largest_rise: float
    is_proven: bool


class RecessionCone(Protocol):
    """Directions of theta that lower no difference x_chosen - x_j of the decisions.

    A direction is given in `unit`, in which differences are about of size 1, inside the unit box.
    """

    @property
    def unit(self) -> Vector:
        """Size of each variable's differences."""

    @property
    def n_differences(self) -> int:
        """Number of differences that are not 0."""

    @property
    def sum_of_differences(self) -> Vector:
        """Sum of the differences, each scaled to largest entry 1."""

    def nnls_bounds(self, goals: Sequence[Vector]) -> list[NnlsBound]:
        """Bounds by non-negative least squares, where these cost less than a linear program."""

    def furthest_feasible_direction(self, goal: Vector) -> FeasibleDirection:
        """Direction furthest along the goal, or 0.

        Raises `UnsolvedProgramError` where the linear program is given up.
        """

    def are_step_fractions_feasible(self, first: Vector, second: Vector) -> BoolVector:
        """Whether first + part * second lowers no difference, for each part of `PARTS`."""

    def vanishing_options_along(self, direction: Vector) -> Any:
        """Options whose probability falls to 0 along a direction, as `Solution.resolved`."""


@dataclass(frozen=True)
class Recession:
    """A direction of theta along which the likelihood never falls.

    Attributes
    ----------
    direction
        In the units of theta, largest entry of the scaled direction 1.
    resolved
        Options whose probability falls to 0 along it.
    proven
        No difference falls along it, to the last digits; else to the linear program's tolerance.
    cone
        The cone in which it was found.
    """

    direction: Vector
    resolved: Any
    proven: bool
    cone: RecessionCone


def find_recession(cone: RecessionCone | None) -> Recession | None:
    """A recession direction by linear programming, or None: then the maximum exists.

    `cone` is None where no option differs from the one chosen. Raises `UnsolvedProgramError` where
    the linear program is given up.
    """
    if cone is None or cone.nnls_bounds([cone.sum_of_differences])[0].proves_no_rise(
        cone.n_differences
    ):
        return None
    found = cone.furthest_feasible_direction(cone.sum_of_differences / cone.n_differences)
    if not found.largest_rise > SEPARATION.min_rise:
        return None
    vanishing_options = cone.vanishing_options_along(found.direction)
    return Recession(found.direction / cone.unit, vanishing_options, found.is_proven, cone)


def is_separated(cone: RecessionCone | None) -> bool:
    """Whether there is a recession direction; cheaper than finding it."""
    if cone is None:
        return False
    shown = cone.nnls_bounds([cone.sum_of_differences])[0].decide_whether_rise_exists(
        cone.n_differences
    )
    return find_recession(cone) is not None if shown is None else shown


def combine_directions(cone: RecessionCone, first: Vector, second: Vector) -> Vector:
    """Recession direction first + part * second, with the largest feasible part of `PARTS`.

    The second lowers no difference that the first leaves undecided, so a small part of it is safe.
    """
    one, two = (v * cone.unit / np.abs(v * cone.unit).max() for v in (first, second))
    feasible = cone.are_step_fractions_feasible(one, two)
    both = one + (PARTS[np.argmax(feasible)] if feasible.any() else PARTS[-1] / 2) * two
    return np.where(np.abs(both) > SEPARATION.rounding * np.abs(both).max(), both, 0.0) / cone.unit


def large_difference_quantile(choices: Choices, scale: Vector) -> Vector:
    """Quantile 0.99 of each variable's absolute differences from the chosen option.

    Unlike the root mean square it does not grow with one outlier, beside which all the others would
    look like rounding noise.
    """
    sizes = sizes_of_differences(choices)
    if not sizes.shape[1]:
        return np.where(scale > 0, scale, 1.0)
    place = int(0.99 * (sizes.shape[1] - 1))
    sizes.partition(place, axis=1)
    return np.where(sizes[:, place] > 0, sizes[:, place], np.where(scale > 0, scale, 1.0))


def sizes_of_differences(choices: Choices) -> Matrix:
    """|x_chosen - x_j| of rows that differ from the option chosen: (n_parameters, n)."""
    rejected = _rejected_rows(choices)
    sizes = np.abs(rejected.chosen_variables - rejected.variables)
    return np.ascontiguousarray(sizes[sizes.any(axis=1)].T)


def with_differences_zeroed(choices: Choices, limit: Vector) -> Choices | None:
    """Choices with differences from the chosen option up to `limit` set to 0; None if none is."""
    x = choices.explanatory
    chosen = np.repeat(x[choices.chosen_row], np.diff(choices.first_row), axis=0)
    away = np.abs(x - chosen)
    small = (away > 0) & (away <= limit)
    return replace(choices, explanatory=np.where(small, chosen, x)) if small.any() else None


@dataclass(frozen=True)
class Differences:
    """Differences x_chosen - x_j of the rows that differ from the option chosen.

    Attributes
    ----------
    rows
        Their rows in the choices.
    values
        In some unit, each row scaled to largest entry 1.
    rounding
        Bound on the rounding error of a scaled row.
    """

    rows: IntVector
    values: Matrix
    rounding: Vector

    def are_step_fractions_feasible(self, first: Vector, second: Vector) -> BoolVector:
        """Whether first + part * second lowers none of them, for each part of `PARTS`."""
        one, two = self.values @ first, self.values @ second
        least = -self.rounding - SEPARATION.lp_tol
        return np.array([bool((one + part * two >= least).all()) for part in PARTS])


@dataclass(frozen=True)
class ChoiceRecessionCone:
    """The cone of choices in memory; `constraint_rows` are rows c with c'v >= 0 besides."""

    n_rows: int
    differences_from_choice: Differences
    unit: Vector
    constraint_rows: Matrix

    @property
    def n_differences(self) -> int:
        """Number of differences that are not 0."""
        return len(self.differences_from_choice.values)

    @property
    def sum_of_differences(self) -> Vector:
        """Sum of the differences."""
        return np.asarray(self.differences_from_choice.values.sum(axis=0))

    def nnls_bounds(self, goals: Sequence[Vector]) -> list[NnlsBound]:
        """Bounds by non-negative least squares."""
        return nnls_bounds(goals, self.differences_from_choice.values, self.constraint_rows)

    def furthest_feasible_direction(self, goal: Vector) -> FeasibleDirection:
        """Direction furthest along the goal, or 0."""
        found = self.differences_from_choice
        direction = furthest_direction(goal, found.values, self.constraint_rows, found.rounding)
        along = found.values @ direction
        is_proven = bool((along >= -found.rounding).all())
        return FeasibleDirection(direction, float(along.max()), is_proven)

    def are_step_fractions_feasible(self, first: Vector, second: Vector) -> BoolVector:
        """Whether first + part * second lowers no difference, for each part of `PARTS`."""
        return self.differences_from_choice.are_step_fractions_feasible(first, second)

    def vanishing_options_along(self, direction: Vector) -> BoolVector:
        """Rows whose probability falls to 0 along a direction."""
        resolved = np.zeros(self.n_rows, dtype=bool)
        along = self.differences_from_choice.values @ direction
        resolved[self.differences_from_choice.rows] = along > SEPARATION.resolved_tol
        return resolved


def build_recession_cone(
    choices: Choices, scale: Vector, basis: Matrix | None = None, allowed: Matrix | None = None
) -> ChoiceRecessionCone | None:
    """The cone of choices in memory; None where no option differs from the one chosen.

    Parameters
    ----------
    choices
        Decisions; those of weight 0 do not count.
    scale
        Within-set root mean square of each variable.
    basis
        Coordinates in which to look for directions, which are then given in them.
    allowed
        Rows c with c'v >= 0 required besides (directions allowed by linear constraints).
    """
    unit = large_difference_quantile(choices, scale)
    found = differences_from_chosen(choices, unit, integer_variables(choices), basis)
    if not len(found.rows):
        return None
    unit = unit if basis is None else np.ones(basis.shape[1])
    rows = np.empty((0, len(unit))) if allowed is None else allowed / unit
    return ChoiceRecessionCone(choices.n_rows, found, unit, rows)


def differences_from_chosen(
    choices: Choices, unit: Vector, is_integer_variable: BoolVector, basis: Matrix | None = None
) -> Differences:
    """Differences larger than rounding, in given units.

    Rounding is judged by the size of the numbers subtracted, and by the size of the variable's
    differences elsewhere: small numbers may themselves be rounded differences of larger ones.
    Those of variables of `is_integer_variable` numbers are exact. With a basis, of the variables x
    @ basis.
    """
    rows, variables, chosen_variables = _rejected_rows(choices)
    values = (chosen_variables - variables) / unit
    size = np.maximum(np.maximum(np.abs(chosen_variables), np.abs(variables)) / unit, 1.0)
    noise = np.where(is_integer_variable, 0.0, SEPARATION.rounding) * size
    equal = np.abs(values) <= noise
    values[equal], noise[equal] = 0.0, 0.0
    if basis is not None:
        inner = basis * unit[:, None]
        values, noise = values @ inner, noise @ np.abs(inner)
        values[np.abs(values) <= noise] = 0.0
    largest = np.abs(values).max(axis=1)
    differs = largest > 0
    kept = values[differs] / largest[differs, None]
    rounding = noise[differs].sum(axis=1) / largest[differs] + 8 * EPSILON
    return Differences(rows[differs], kept, rounding)


class _RejectedRows(NamedTuple):
    """Rows available but not chosen, their variables, and those of the options chosen instead."""

    rows: IntVector
    variables: Matrix
    chosen_variables: Matrix


def _rejected_rows(choices: Choices) -> _RejectedRows:
    """Rows available but not chosen, of decisions of positive weight."""
    sizes = np.diff(choices.first_row)
    counted = np.ones(choices.n_rows, dtype=bool)
    if choices.available is not None:
        counted &= choices.available
    if choices.weights is not None:
        counted &= np.repeat(choices.weights > 0, sizes)
    counted[choices.chosen_row] = False
    rows = np.flatnonzero(counted)
    chosen = np.repeat(choices.chosen_row, sizes)[rows]
    return _RejectedRows(rows, choices.explanatory[rows], choices.explanatory[chosen])


def furthest_direction(
    goal: Vector, differences: Matrix, allowed: Matrix, rounding: Vector
) -> Vector:
    """Maximise goal'v over the directions v in the unit box that lower no difference.

    Constraint generation: those that the last direction violates are added, so that a few thousand
    stand for millions. One and two parameters have closed forms.
    """
    if len(goal) == 1:
        rows = np.concatenate([differences[:, 0], allowed[:, 0]])
        end = float(not (rows < 0).any()) if goal[0] > 0 else -float(not (rows > 0).any())
        return np.array([end])
    if len(goal) == 2:
        slack = np.concatenate([rounding, np.full(len(allowed), 8 * EPSILON)])
        return _furthest_in_plane(goal, np.vstack([differences, allowed]), slack)
    step = max(1, len(differences) // SEPARATION.initial_rows)
    active = np.arange(0, len(differences), step)
    while True:
        rows = np.vstack([differences[active], allowed])
        direction = _unique_vertex(goal, rows)
        if direction is None:
            direction = _solve_linear_program(goal, rows)
        along = differences @ direction
        broken = np.flatnonzero(along < -SEPARATION.lp_tol)
        if broken.size:
            broken = np.setdiff1d(broken, active, assume_unique=True)
        if not broken.size:
            return direction
        worst = broken[np.argsort(along[broken], kind="stable")[: SEPARATION.added_rows]]
        active = np.concatenate([active, worst])


@dataclass(frozen=True)
class NnlsBound:
    """Bounds on goal'v by non-negative least squares of -goal on the rows.

    With r = goal + rows'lambda and no v'row below 0, goal'v <= r'v: where r is 0 no direction leads
    towards the goal. Where it is not, and lambda is the best, r itself is such a direction
    (Stiemke's lemma; the optimality conditions of non-negative least squares).

    Attributes
    ----------
    upper_bound
        goal'v is at most this for all v in the unit box, with rows down to minus `lp_tol`.
    gain
        goal'v of the direction r, scaled to the unit box; NaN where that lowers a row.
    """

    upper_bound: float
    gain: float

    def proves_no_rise(self, n: int) -> bool:
        """Whether no row can rise, where the goal is the sum of n rows."""
        return self.upper_bound + n * SEPARATION.lp_tol < SEPARATION.min_rise

    def decide_whether_rise_exists(self, n: int = 1) -> bool | None:
        """Whether the linear program would exceed `min_rise` on the mean of n; None: undecided."""
        if self.proves_no_rise(n):
            return False
        return True if self.gain > 2 * n * SEPARATION.min_rise else None


def nnls_bounds(goals: Sequence[Vector], differences: Matrix, allowed: Matrix) -> list[NnlsBound]:
    """Bounds by non-negative least squares for several goals."""
    largest = np.abs(allowed).max(axis=1, keepdims=True, initial=1.0)
    rows = np.vstack([differences, allowed / largest])
    d = rows.shape[1]
    if d < 3 or len(rows) > SEPARATION.initial_rows or not np.isfinite(rows).all():
        return [NnlsBound(np.inf, np.nan)] * len(goals)
    size = np.abs(rows)
    return [_solve_nnls(goal, rows, size) for goal in goals]


def _solve_nnls(goal: Vector, rows: Matrix, sizes: Matrix) -> NnlsBound:
    try:
        multipliers, _ = scipy.optimize.nnls(rows.T, -goal)
    except RuntimeError:  # it cycles on degenerate rows
        return NnlsBound(np.inf, np.nan)
    rest = goal + rows.T @ multipliers
    noise = EPSILON * (sizes.T @ multipliers + np.abs(goal)).sum()
    upper_bound = np.abs(rest).sum() + len(rows) * noise + SEPARATION.lp_tol * multipliers.sum()
    size = np.abs(rest).max()
    if not size > 0:
        return NnlsBound(float(upper_bound), np.nan)
    direction = rest / size
    falls = bool((rows @ direction < -SEPARATION.zero_tol).any())
    return NnlsBound(float(upper_bound), np.nan if falls else float(goal @ direction))


def _furthest_in_plane(goal: Vector, rows: Matrix, rounding: Vector | None = None) -> Vector:
    """Furthest direction of two parameters, where the feasible directions are a wedge.

    The maximum is at a corner of the box inside the wedge, at one of its two sides, or 0.
    """
    kept = np.abs(rows).max(axis=1) > 0
    slack = 8 * EPSILON if rounding is None else rounding[kept, None]
    rows = rows[kept]
    along, across = rows @ goal, rows @ np.array([-goal[1], goal[0]])
    angle = np.arctan2(across, along)  # in the plane the two extreme angles bound the cone: no LP
    sides = rows[[np.argmin(angle), np.argmax(angle)]] if len(rows) else rows
    perpendicular = np.vstack([sides @ turn for turn in ([[0, 1], [-1, 0]], [[0, -1], [1, 0]])])
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    ways = np.vstack([corners, perpendicular / np.abs(perpendicular).max(axis=1, keepdims=True)])
    allowed = ways[(rows @ ways.T >= -slack).all(axis=0)]
    best = allowed[np.argmax(allowed @ goal)] if len(allowed) else np.zeros(2)
    best = best if best @ goal > 0 else np.zeros(2)
    return np.where(np.abs(best) < SEPARATION.rounding, 0.0, best)


def _unique_vertex(goal: Vector, rows: Matrix) -> Vector | None:
    """Unique optimal vertex of the linear program by the dual simplex method; else None.

    It starts at the furthest corner of the box, and the most violated constraint enters: for a
    handful of parameters a handful of pivots, faster than HiGHS. None, and HiGHS decides, unless
    the vertex is unique: all multipliers so far above 0 that the LP's tolerance leads nowhere else,
    and no further constraint within the tolerance of the vertex.
    """
    d = len(goal)
    if not (np.isfinite(rows).all() and goal.all()):
        return None
    eye, sign = np.eye(d), np.sign(goal)
    normals = np.vstack([rows, eye, -eye])
    bounds = np.concatenate([np.zeros(len(rows)), np.full(2 * d, -1.0)])
    basis_rows = len(rows) + np.arange(d) + d * (sign > 0)
    multipliers = np.abs(goal)
    inverse, direction = np.diag(-sign), sign
    for _ in range(SEPARATION.max_pivots):
        slack = normals @ direction - bounds
        slack[basis_rows] = np.inf
        worst = int(np.argmin(slack))
        if slack[worst] >= -SEPARATION.zero_tol:
            is_separate = (
                (slack > SEPARATION.vertex_gap) | (np.abs(slack) < SEPARATION.zero_tol)
            ).all()
            shift = np.abs(inverse).sum(axis=1).max() * multipliers.sum() * SEPARATION.lp_tol
            if not (is_separate and shift < SEPARATION.vertex_gap * multipliers.min()):
                return None
            return np.where(np.abs(direction) < SEPARATION.lp_tol, 0.0, direction)
        share = normals[worst] @ inverse
        positive = share > SEPARATION.zero_tol
        if not positive.any():
            return None
        ratio = np.divide(multipliers, share, out=np.full(d, np.inf), where=positive)
        leaving = int(np.argmin(ratio))
        multipliers = multipliers - ratio[leaving] * share
        multipliers[leaving] = ratio[leaving]
        basis_rows[leaving] = worst
        try:
            inverse = np.linalg.inv(normals[basis_rows])
        except np.linalg.LinAlgError:
            return None
        direction = inverse @ bounds[basis_rows]
    return None


def _solve_linear_program(total: Vector, rows: Matrix) -> Vector:
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(largest > 1.0, largest, 1.0)  # HiGHS refuses entries above 1e15
    for tolerance in (1e-10, 1e-9, 1e-7):  # HiGHS now and then gives up on a fine tolerance
        solution = scipy.optimize.linprog(
            -total,
            A_ub=-rows,
            b_ub=np.zeros(len(rows)),
            bounds=(-1.0, 1.0),
            method="highs",
            options=dict.fromkeys(
                ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), tolerance
            ),
        )
        if solution.x is not None:
            return np.where(np.abs(solution.x) < SEPARATION.lp_tol, 0.0, solution.x)
    raise UnsolvedProgramError(f"the linear program for separation failed: {solution.message}")


def limits_along_recession(cone: RecessionCone, direction: Vector) -> Vector:
    """Limit of each parameter along the recession directions: +inf, -inf, or 0 if it stays finite.

    NaN where some directions let it rise and others fall, or where that could not be decided.
    """
    result = np.zeros(len(direction))
    going = np.flatnonzero(direction)
    goals = [-np.sign(direction[a]) * np.eye(len(direction))[a] for a in going]
    for a, goal, bound in zip(going, goals, cone.nnls_bounds(goals), strict=True):
        opposite = bound.decide_whether_rise_exists()
        if opposite is None:
            try:
                rise = goal @ cone.furthest_feasible_direction(goal).direction
                opposite = bool(rise > SEPARATION.min_rise)
            except UnsolvedProgramError:  # undecided: report NaN rather than a wrong infinity
                opposite = True
        result[a] = np.nan if opposite else np.sign(direction[a]) * np.inf
    return result


def theta_and_covariance_in_limit(
    cone: Callable[[], RecessionCone], known: Identification, direction: Vector, rest: Solution
) -> tuple[Vector, Matrix]:
    """Parameters in the limit: infinite along the direction, finite where the rest identifies.

    `cone` is called if it is needed. `rest` is the solution of the decisions without the options
    that the direction resolves.
    """
    where = np.zeros(len(direction))
    if known.complete and _is_unique_recession(direction * known.scale, rest, known.scale):
        where[direction != 0] = np.copysign(np.inf, direction[direction != 0])
    elif known.complete:
        where = limits_along_recession(cone(), direction)
    finite = (
        rest.identified_part.identified & (where == 0) & known.identified & np.isfinite(rest.theta)
    )
    theta, covariance = nan_unless_kept(rest.theta, rest.covariance, finite)
    return np.where(np.isinf(where), where, theta), covariance


def _is_unique_recession(direction: Vector, rest: Solution, unit: Vector) -> bool:
    """Whether there is no other recession direction than this one, scaled by `unit`.

    True if the decisions that it leaves undecided have a maximum in which only this direction is
    unidentified: another one would separate them, or be unidentified too.
    """
    null = rest.identified_part.null_directions
    if rest.certificate is None or rest.recession is not None or len(null) != 1:
        return False
    other = null[0] * unit
    along = np.abs(other @ direction) / np.linalg.norm(other) / np.linalg.norm(direction)
    return bool(along > 1.0 - SEPARATION.lp_tol)


def direction_without_rounding_noise(direction: Vector, known: Identification) -> Vector:
    """Entries that are rounding noise in standard units set to 0; the largest made 1."""
    size = np.abs(direction * known.scale)
    # the linear program's tolerance leaves entries of some 1e-10 where there should be none
    kept = np.where(size > 1e-8 * size.max(), direction, 0.0)
    return np.asarray(kept / np.abs(kept).max())


def may_depend_on_small_differences(
    small_difference_bounds: Vector, largest: Matrix, information: Matrix
) -> BoolVector:
    """Whether maxima may depend on negligible differences; False is a proof that they do not.

    Let v separate the choices once differences x_chosen - x_j = u_j + e_j are rounded to u_j, with
    sum_a |v_a| largest_a = 1, so that v'u_j >= 0. At the maximum the score along v, the sum of
    p_j v'(u_j + e_j), is 0: the sum of p_j v'u_j is at most that of p_j |v'e_j|, which is at most
    `small_difference_bounds`. The variance of v'x, summed over decisions, which is v'I v, is at
    most the sum of p_j |v'(u_j + e_j)|, or twice that: an eigenvalue of the information in units of
    `largest` is small.

    Parameters
    ----------
    small_difference_bounds
        Sum of p_j |e_ja| / largest_a over all options, of the variable a that has most, or more;
        at most `NEGLIGIBLE_DIFFERENCE` times the weight of all decisions. One for each information.
    largest
        Largest |x_i - x_chosen| of each variable.
    information
        At the maxima.
    """
    d = largest.shape[1]
    unit = np.where(largest > 0, largest, 1.0)
    lowest = np.linalg.eigvalsh(information / unit[:, :, None] / unit[:, None, :])[:, 0]
    return np.asarray(lowest <= 2 * d * small_difference_bounds)


def small_difference_bound(choices: Choices, theta: Vector, largest: Vector) -> Vector:
    """Argument `negligible` of `may_depend_on_small_differences` for choices at theta: (1,).

    Differences count up to `NEGLIGIBLE_DIFFERENCE` of the largest, as typical ones are no larger.
    """
    groups = np.arange(choices.n_decisions), np.array([0, choices.n_decisions]), np.array([0])
    return bounds_on_small_differences(choices, groups, theta[None], largest[None])


def bounds_on_small_differences(
    choices: Choices,
    groups: tuple[IntVector, IntVector, IntVector],
    theta: Matrix,
    largest: Matrix,
) -> Vector:
    """`negligible` of `may_depend_on_small_differences` for groups of decisions, each its theta.

    `groups` are the decisions in the order of groups, where those of each begin, and which groups.
    """
    found, work = np.empty_like(theta), np.empty((2, theta.shape[1]))
    given = (
        kernel_table_of_choices(choices),
        groups,
        np.array(theta),
        NEGLIGIBLE_DIFFERENCE * largest,
        work,
        found,
    )
    kernels.bound_gradients_of_small_differences(*given)
    return np.asarray((found / np.where(largest > 0, largest, 1.0)).max(axis=1))


def is_maximum_certified(
    maximum: Maximum, likelihood: Likelihood, covariance: Matrix, total_weight: float
) -> bool:
    """Whether the last iterate of Newton's method proves that the maximum exists."""
    if not np.isfinite(covariance).all() or maximum.ending == "slow":
        return False
    largest = likelihood.largest_values_and_differences[1]
    known = largest[None], covariance[None], np.array([maximum.decrement])
    return bool(are_exact_maxima_proven(*known, np.array([total_weight]))[0])
