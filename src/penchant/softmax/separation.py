"""Does the maximum exist? Separation of the choices by a direction of theta.

A direction v with v'(x_chosen - x_j) >= 0 for every option j of every decision, and > 0 for some,
lets the log-likelihood rise for ever: there is no maximum-likelihood estimate. Theorem 1 of the
paper needs its absence and does not say so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices

SAME = 1e-9  # differences below this, in within-set standard deviations, are rounding noise
STRICT = 1e-7  # a difference along the direction above this is positive
ENOUGH = 1e-6  # and one above this is no artefact of the linear program's tolerance
ROWS_AT_FIRST = 4_000
ROWS_MORE = 1_000


@dataclass(frozen=True)
class Recession:
    """A direction of theta along which the likelihood never falls.

    Attributes
    ----------
    direction
        In the units of theta, largest entry of the scaled direction 1.
    resolved
        Rows whose probability falls to 0 along it.
    """

    direction: Vector
    resolved: BoolVector


def certificate(largest: Vector, covariance: Matrix, decrement: float, n: float) -> bool:
    """Whether a Newton iterate proves that the maximum exists.

    With D the largest distance of two options of a set in the metric of the covariance, and the
    decrement lambda, D lambda < 1 suffices. D is bounded by the largest differences from the
    chosen option; rounding of the gradient is allowed for.
    """
    one = certificates(largest[None], covariance[None], np.array([decrement]), np.array([n]))
    return bool(one[0])


def certificates(largest: Matrix, covariance: Matrix, decrement: Vector, n: Vector) -> BoolVector:
    """Whether the iterates of many subjects prove that their maxima exist; one row for each."""
    squared = np.einsum("sa,sac,sc->s", largest, np.abs(covariance), largest)
    distance = 2.0 * np.sqrt(squared)
    noise = np.finfo(np.float64).eps * np.sqrt(n) * distance
    return np.asarray(distance * (decrement + noise) < 0.5)


def recession(
    choices: Choices,
    scale: Vector,
    ignored: float = SAME,
    cone: Matrix | None = None,
) -> Recession | None:
    """A recession direction by linear programming, or None: then the maximum exists.

    Parameters
    ----------
    choices
        Decisions; those of weight 0 do not count.
    scale
        Within-set root mean square of each variable.
    ignored
        Differences below this, in units of `scale`, count as none.
    cone
        Rows c with c'v >= 0 required besides (directions allowed by linear constraints).
    """
    unit = typical_difference(choices, scale)
    rows, differences = _differences(choices, unit, ignored)
    if not len(differences):
        return None
    allowed = np.empty((0, len(scale))) if cone is None else cone / unit
    direction = _furthest(differences.mean(axis=0), differences, allowed)
    if not (differences @ direction).max() > ENOUGH:
        return None
    resolved = np.zeros(choices.n_rows, dtype=bool)
    resolved[rows] = differences @ direction > STRICT
    return Recession(direction / unit, resolved)


def typical_difference(choices: Choices, scale: Vector) -> Vector:
    """Size of a variable's differences from the chosen option that is rarely exceeded.

    Unlike the root mean square it does not grow with one outlier, beside which all the others would
    look like rounding noise.
    """
    _, differences = _differences(choices, np.ones_like(scale), 0.0, scaled=False)
    if not len(differences):
        return np.where(scale > 0, scale, 1.0)
    size = np.quantile(np.abs(differences), 0.99, axis=0, method="lower")
    return np.where(size > 0, size, np.where(scale > 0, scale, 1.0))


def without_small_differences(choices: Choices, scale: Vector, ignored: float) -> Choices | None:
    """The choices, variables that hardly differ from the chosen option's equal to these; or None.

    None where there are none. Hardly: by less than `ignored` of what is rarely exceeded.
    """
    unit = typical_difference(choices, scale)
    chosen = np.repeat(choices.chosen_row, np.diff(choices.first_row))
    rows, level = choices.explanatory, choices.explanatory[chosen]
    small = (np.abs(rows - level) <= ignored * unit) & (rows != level)
    if not small.any():
        return None
    return replace(choices, explanatory=np.where(small, level, rows))


def combined(choices: Choices, scale: Vector, first: Vector, second: Vector) -> Vector:
    """A recession direction along both: the first, with as much of the second as it bears.

    The second lowers no difference that the first leaves undecided, so a small part of it is safe.
    """
    unit = typical_difference(choices, scale)
    _, differences = _differences(choices, unit, SAME)
    one, two = first * unit, second * unit
    part = 1.0
    while part > 1e-12 and (differences @ (one + part * two)).min() < -SAME:
        part /= 2
    return np.asarray((one + part * two) / unit)


def _differences(
    choices: Choices, unit: Vector, ignored: float, scaled: bool = True
) -> tuple[IntVector, Matrix]:
    """Rows (x_chosen - x_j) / unit that differ, and their places; scaled to largest entry 1."""
    sizes = np.diff(choices.first_row)
    chosen = np.repeat(choices.chosen_row, sizes)
    counted = np.arange(choices.n_rows) != chosen
    if choices.available is not None:
        counted &= choices.available
    if choices.weights is not None:
        counted &= np.repeat(choices.weights > 0, sizes)
    rows = np.flatnonzero(counted)
    x = choices.explanatory
    differences = (x[chosen[rows]] - x[rows]) / unit
    size = np.abs(differences).max(axis=1)
    differs = size > ignored
    kept = differences[differs]
    return rows[differs], kept / size[differs, None] if scaled else kept


def _furthest(goal: Vector, differences: Matrix, allowed: Matrix) -> Vector:
    """Maximise goal'v over the directions v in the unit box that lower no difference.

    Constraints are added where the last direction breaks them, so that a few thousand stand for
    millions.
    """
    if len(goal) == 1:
        rows = np.concatenate([differences[:, 0], allowed[:, 0]])
        furthest = float(not (rows < 0).any()) if goal[0] > 0 else -float(not (rows > 0).any())
        return np.array([furthest])
    if len(goal) == 2:
        return _furthest_in_plane(goal, np.vstack([differences, allowed]))
    step = max(1, len(differences) // ROWS_AT_FIRST)
    active = np.arange(0, len(differences), step)
    while True:
        direction = _solve(goal, np.vstack([differences[active], allowed]))
        along = differences @ direction
        broken = np.setdiff1d(np.flatnonzero(along < -SAME), active, assume_unique=True)
        if not broken.size:
            return direction
        worst = broken[np.argsort(along[broken], kind="stable")[:ROWS_MORE]]
        active = np.concatenate([active, worst])


def _furthest_in_plane(goal: Vector, rows: Matrix) -> Vector:
    """The same for two parameters: the directions that lower no row are a wedge.

    Of the corners of the box inside it, and of its two sides, one is the furthest; or it is 0.
    """
    rows = rows[np.abs(rows).max(axis=1) > 0]
    along, across = rows @ goal, rows @ np.array([-goal[1], goal[0]])
    angle = np.arctan2(across, along)  # of each row, from the goal
    sides = rows[[np.argmin(angle), np.argmax(angle)]] if len(rows) else rows
    perpendicular = np.vstack([sides @ turn for turn in ([[0, 1], [-1, 0]], [[0, -1], [1, 0]])])
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    ways = np.vstack([corners, perpendicular / np.abs(perpendicular).max(axis=1, keepdims=True)])
    allowed = ways[(rows @ ways.T >= -SAME).all(axis=0)]
    best = allowed[np.argmax(allowed @ goal)] if len(allowed) else np.zeros(2)
    best = best if best @ goal > 0 else np.zeros(2)
    return np.where(np.abs(best) < SAME, 0.0, best)


def _solve(total: Vector, rows: Matrix) -> Vector:
    solution = optimize.linprog(
        -total,
        A_ub=-rows,
        b_ub=np.zeros(len(rows)),
        bounds=(-1.0, 1.0),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.x is None:
        raise RuntimeError(f"the linear program for separation failed: {solution.message}")
    direction = np.where(np.abs(solution.x) < SAME, 0.0, solution.x)
    return np.asarray(direction)


def limits(choices: Choices, scale: Vector, direction: Vector) -> Vector:
    """Where each parameter goes along the recession directions: +inf, -inf, or 0 for nowhere.

    NaN where some directions let it rise and others fall.
    """
    unit = typical_difference(choices, scale)
    _, differences = _differences(choices, unit, SAME)
    free = np.empty((0, len(scale)))
    result = np.zeros(len(scale))
    for a in np.flatnonzero(direction):
        sign = np.sign(direction[a])
        goal = -sign * np.eye(len(scale))[a]
        opposite = goal @ _furthest(goal, differences, free) > ENOUGH
        result[a] = np.nan if opposite else sign * np.inf
    return result
