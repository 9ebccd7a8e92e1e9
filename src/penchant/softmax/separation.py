"""Does the maximum exist? Separation of the choices by a direction of theta.

A direction v with v'(x_chosen - x_j) >= 0 for every option j of every decision, and > 0 for some,
lets the log-likelihood rise without end: there is no maximum-likelihood estimate. Theorem 1 of the
paper needs its absence and does not say so. Choices that are separated but for negligible
differences have a maximum that is far out and hangs on these differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import _kernels as kernels
from penchant.softmax.identification import EPSILON, Identification, whole_numbers
from penchant.softmax.likelihood import Likelihood, kernel_table, likelihood_of
from penchant.softmax.newton import Maximum, maximise
from penchant.softmax.solution import Solution, blank, scaled_inverse

ROUNDED = 64 * EPSILON  # differences below this, relative to what they are taken of, are rounding
SAME = 1e-9  # along a direction: what a linear program calls 0
HARDLY = 1e-12  # and what it takes for 0 whatever its tolerance
STRICT = 1e-7  # a difference along the direction above this is positive
ENOUGH = 1e-6  # and one above this is no artefact of the linear program's tolerance
CLEARLY = 1e-5  # distance from a vertex that no tolerance of a linear program reaches
MOST_TURNS = 50  # of constraints around a vertex
EXACT = 1e-8
ROWS_AT_FIRST = 4_000
ROWS_MORE = 1_000


class UnsolvedProgramError(RuntimeError):
    """A linear program was given up: whether there is a recession direction is not known."""


@dataclass(frozen=True)
class Recession:
    """A direction of theta along which the likelihood never falls.

    Attributes
    ----------
    direction
        In the units of theta, largest entry of the scaled direction 1.
    resolved
        Rows whose probability falls to 0 along it.
    proven
        No difference falls along it, to the last digits; else to the linear program's tolerance.
    differences
        Those that it was found from.
    """

    direction: Vector
    resolved: BoolVector
    proven: bool
    differences: Differences


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
    distance = moved(largest, covariance, 1.0)
    noise = np.finfo(np.float64).eps * np.sqrt(n) * distance
    return np.asarray(distance * (decrement + noise) < 0.5)


def moved(largest: Matrix, covariance: Matrix, decrement: Vector | float) -> Vector:
    """By how much at most a step of this length in standard errors moves an objective.

    Newton's method squares it with every step: the last one leaves no digit of theta in doubt if
    it moves none by more than `EXACT`.
    """
    squared = np.einsum("sa,sac,sc->s", largest, np.abs(covariance), largest)
    return np.asarray(2.0 * np.sqrt(squared) * decrement)


def recession(
    choices: Choices,
    scale: Vector,
    ignored: float = 0.0,
    cone: Matrix | None = None,
    basis: Matrix | None = None,
) -> Recession | None:
    """A recession direction by linear programming, or None: then the maximum exists.

    Raises `UnsolvedProgramError` where the linear program is given up.

    Parameters
    ----------
    choices
        Decisions; those of weight 0 do not count.
    scale
        Within-set root mean square of each variable.
    ignored
        Differences below this, in units of `scale`, count as none; so do rounding errors.
    cone
        Rows c with c'v >= 0 required besides (directions allowed by linear constraints).
    basis
        Coordinates in which to look for the direction, which is then given in them.
    """
    found = differences_of(choices, scale, ignored, basis)
    if not len(found.rows):
        return None
    allowed = np.empty((0, found.values.shape[1])) if cone is None else cone / found.unit
    if _balance(found.values.sum(axis=0), found.values, allowed).rules_out(len(found.rows)):
        return None
    direction = furthest(found.values.mean(axis=0), found.values, allowed, found.rounding)
    along = found.values @ direction
    if not along.max() > ENOUGH:
        return None
    resolved = np.zeros(choices.n_rows, dtype=bool)
    resolved[found.rows] = along > STRICT
    proven = bool((along >= -found.rounding).all())
    return Recession(direction / found.unit, resolved, proven, found)


def is_separated(choices: Choices, scale: Vector, cone: Matrix | None = None) -> bool:
    """Whether there is a recession direction, which itself is not asked for."""
    found = differences_of(choices, scale)
    if not len(found.rows):
        return False
    allowed = np.empty((0, found.values.shape[1])) if cone is None else cone / found.unit
    shown = _balance(found.values.sum(axis=0), found.values, allowed).shows(len(found.rows))
    return recession(choices, scale, cone=cone) is not None if shown is None else shown


def typical_difference(choices: Choices, scale: Vector) -> Vector:
    """Size of a variable's differences from the chosen option that is rarely exceeded.

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
    sizes = np.empty((choices.n_parameters, choices.n_rows - choices.n_decisions))
    n = kernels.sizes_of_differences(kernel_table(choices), sizes)
    return sizes[:, :n]


def without_small_differences(choices: Choices, scale: Vector, ignored: float) -> Choices | None:
    """The choices, variables that hardly differ from the chosen option's equal to these; or None.

    None where there are none. Hardly: by less than `ignored` of what is rarely exceeded.
    """
    return without_differences(choices, ignored * typical_difference(choices, scale))


def without_differences(choices: Choices, limit: Vector) -> Choices | None:
    """The choices, variables that differ from the chosen option's by at most this equal to these.

    None where there are none.
    """
    levelled = np.empty_like(choices.explanatory, order="C")
    if not kernels.zero_small_differences(kernel_table(choices), limit, levelled):
        return None
    return replace(choices, explanatory=levelled)


def combined(choices: Choices, scale: Vector, first: Vector, second: Vector) -> Vector:
    """A recession direction along both: the first, with as much of the second as it bears.

    The second lowers no difference that the first leaves undecided, so a small part of it is safe.
    """
    found = differences_of(choices, scale)
    one, two = (v * found.unit / np.abs(v * found.unit).max() for v in (first, second))
    part = 1.0
    while part > 1e-12 and (found.values @ (one + part * two) < -found.rounding - SAME).any():
        part /= 2
    both = one + part * two
    return np.where(np.abs(both) > ROUNDED * np.abs(both).max(), both, 0.0) / found.unit


@dataclass(frozen=True)
class Differences:
    """Differences x_chosen - x_j of the rows that differ from the option chosen.

    Attributes
    ----------
    rows
        Their places.
    values
        In units of `unit`, each row scaled to largest entry 1.
    rounding
        What of a scaled row may be rounding.
    """

    rows: IntVector
    values: Matrix
    rounding: Vector
    unit: Vector


def differences_of(
    choices: Choices, scale: Vector, ignored: float = 0.0, basis: Matrix | None = None
) -> Differences:
    """Differences larger than rounding, and than `ignored` typical ones.

    What is rounding is told by the numbers of which the difference is, and by the size of the
    variable's differences elsewhere: small ones may be what is left of larger numbers.
    """
    unit = typical_difference(choices, scale)
    return differences_in(choices, unit, whole_numbers(choices), ignored, basis)


def differences_in(
    choices: Choices,
    unit: Vector,
    whole: BoolVector,
    ignored: float = 0.0,
    basis: Matrix | None = None,
) -> Differences:
    """The same, where typical differences and variables of whole numbers are known."""
    rows, taken, others = _compared(choices)
    values = (taken - others) / unit
    size = np.maximum(np.maximum(np.abs(taken), np.abs(others)) / unit, 1.0)
    noise = np.where(whole, 0.0, ROUNDED) * size
    equal = np.abs(values) <= noise
    values[equal], noise[equal] = 0.0, 0.0
    if basis is not None:
        inner = basis * unit[:, None]
        values, noise = values @ inner, noise @ np.abs(inner)
        values[np.abs(values) <= noise] = 0.0
        unit = np.ones(basis.shape[1])
    largest = np.abs(values).max(axis=1)
    differs = largest > ignored
    kept = values[differs] / largest[differs, None]
    rounding = noise[differs].sum(axis=1) / largest[differs] + 8 * EPSILON
    return Differences(rows[differs], kept, rounding, unit)


def _compared(choices: Choices) -> tuple[IntVector, Matrix, Matrix]:
    """Rows on offer that were not chosen, of decisions that count.

    Also the variables of the options chosen instead, and their own.
    """
    sizes = np.diff(choices.first_row)
    counted = np.ones(choices.n_rows, dtype=bool)
    if choices.available is not None:
        counted &= choices.available
    if choices.weights is not None:
        counted &= np.repeat(choices.weights > 0, sizes)
    counted[choices.chosen_row] = False
    rows = np.flatnonzero(counted)
    chosen = np.repeat(choices.chosen_row, sizes)[rows]
    return rows, choices.explanatory[chosen], choices.explanatory[rows]


def furthest(goal: Vector, differences: Matrix, allowed: Matrix, rounding: Vector) -> Vector:
    """Maximise goal'v over the directions v in the unit box that lower no difference.

    Constraints are added where the last direction breaks them, so that a few thousand stand for
    millions.
    """
    if len(goal) == 1:
        rows = np.concatenate([differences[:, 0], allowed[:, 0]])
        furthest = float(not (rows < 0).any()) if goal[0] > 0 else -float(not (rows > 0).any())
        return np.array([furthest])
    if len(goal) == 2:
        slack = np.concatenate([rounding, np.full(len(allowed), 8 * EPSILON)])
        return _furthest_in_plane(goal, np.vstack([differences, allowed]), slack)
    step = max(1, len(differences) // ROWS_AT_FIRST)
    active = np.arange(0, len(differences), step)
    while True:
        rows = np.vstack([differences[active], allowed])
        direction = _only_vertex(goal, rows)
        if direction is None:
            direction = _solve(goal, rows)
        along = differences @ direction
        broken = np.flatnonzero(along < -SAME)
        if broken.size:
            broken = np.setdiff1d(broken, active, assume_unique=True)
        if not broken.size:
            return direction
        worst = broken[np.argsort(along[broken], kind="stable")[:ROWS_MORE]]
        active = np.concatenate([active, worst])


@dataclass(frozen=True)
class _Balance:
    """How far a sum of rows with multipliers that are not negative comes to minus a goal.

    With r = goal + rows'lambda and no v'row below 0, goal'v <= r'v: where r is 0 no direction leads
    towards the goal. Where it is not, and lambda is the best, r itself is such a direction
    (Stiemke's lemma; the conditions of non-negative least squares).

    Attributes
    ----------
    highest
        goal'v is at most this for all v in the unit box, with rows down to minus `SAME`.
    gain
        goal'v of the direction r, scaled to the unit box; NaN where that lowers a row.
    """

    highest: float
    gain: float

    def rules_out(self, n: int) -> bool:
        """Whether a goal that is the sum of n of the rows shows that none can rise."""
        return self.highest + n * SAME < ENOUGH

    def shows(self, n: int = 1) -> bool | None:
        """Whether a linear program comes further than `ENOUGH`, on the mean of n; None: ask it."""
        if self.rules_out(n):
            return False
        return True if self.gain > 2 * n * ENOUGH else None


def _balance(goal: Vector, differences: Matrix, allowed: Matrix) -> _Balance:
    """Non-negative least squares, where they cost less than a linear program."""
    return _balances([goal], differences, allowed)[0]


def _balances(goals: Sequence[Vector], differences: Matrix, allowed: Matrix) -> list[_Balance]:
    """The same for several goals."""
    largest = np.abs(allowed).max(axis=1, keepdims=True, initial=1.0)
    rows = np.vstack([differences, allowed / largest])
    d = rows.shape[1]
    if d < 3 or len(rows) > ROWS_AT_FIRST or not np.isfinite(rows).all():
        return [_Balance(np.inf, np.nan)] * len(goals)
    size = np.abs(rows)
    return [_balanced(goal, rows, size) for goal in goals]


def _balanced(goal: Vector, rows: Matrix, sizes: Matrix) -> _Balance:
    try:
        multipliers, _ = scipy.optimize.nnls(rows.T, -goal)
    except RuntimeError:  # it goes round in circles
        return _Balance(np.inf, np.nan)
    rest = goal + rows.T @ multipliers
    noise = EPSILON * (sizes.T @ multipliers + np.abs(goal)).sum()
    highest = np.abs(rest).sum() + len(rows) * noise + SAME * multipliers.sum()
    size = np.abs(rest).max()
    if not size > 0:
        return _Balance(float(highest), np.nan)
    way = rest / size
    falls = bool((rows @ way < -HARDLY).any())
    return _Balance(float(highest), np.nan if falls else float(goal @ way))


def _furthest_in_plane(goal: Vector, rows: Matrix, rounding: Vector | None = None) -> Vector:
    """The same for two parameters: the directions that lower no row are a wedge.

    Of the corners of the box inside it, and of its two sides, one is the furthest; or it is 0.
    """
    kept = np.abs(rows).max(axis=1) > 0
    slack = 8 * EPSILON if rounding is None else rounding[kept, None]
    rows = rows[kept]
    along, across = rows @ goal, rows @ np.array([-goal[1], goal[0]])
    angle = np.arctan2(across, along)  # of each row, from the goal
    sides = rows[[np.argmin(angle), np.argmax(angle)]] if len(rows) else rows
    perpendicular = np.vstack([sides @ turn for turn in ([[0, 1], [-1, 0]], [[0, -1], [1, 0]])])
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    ways = np.vstack([corners, perpendicular / np.abs(perpendicular).max(axis=1, keepdims=True)])
    allowed = ways[(rows @ ways.T >= -slack).all(axis=0)]
    best = allowed[np.argmax(allowed @ goal)] if len(allowed) else np.zeros(2)
    best = best if best @ goal > 0 else np.zeros(2)
    return np.where(np.abs(best) < ROUNDED, 0.0, best)


def _only_vertex(goal: Vector, rows: Matrix) -> Vector | None:
    """The vertex that a linear program ends at, where there can be but one; else None.

    From the corner of the box that is furthest, constraints that are broken replace others, the
    most broken first: the dual simplex method, which for a handful of parameters takes as many
    steps. The vertex is the only one if all that it rests on holds it back, firmly enough that
    whatever a linear program takes for 0 leads nowhere else, or if there is no other direction;
    and if no other constraint passes by so closely that it might count as one or not.
    """
    d = len(goal)
    if not (np.isfinite(rows).all() and goal.all()):
        return None
    eye, sign = np.eye(d), np.sign(goal)
    normals = np.vstack([rows, eye, -eye])
    bounds = np.concatenate([np.zeros(len(rows)), np.full(2 * d, -1.0)])
    held = len(rows) + np.arange(d) + d * (sign > 0)
    pull = np.abs(goal)  # of each constraint held: together they outweigh the goal
    inverse, direction = np.diag(-sign), sign
    for _ in range(MOST_TURNS):
        room = normals @ direction - bounds
        room[held] = np.inf
        worst = int(np.argmin(room))
        if room[worst] >= -HARDLY:
            apart = ((room > CLEARLY) | (np.abs(room) < HARDLY)).all()
            loose = np.abs(inverse).sum(axis=1).max() * pull.sum() * SAME
            firm = loose < CLEARLY * pull.min()
            if not (apart and (firm or _is_only_way(goal, direction, rows))):
                return None
            return np.where(np.abs(direction) < SAME, 0.0, direction)
        share = normals[worst] @ inverse
        taking = share > HARDLY
        if not taking.any():
            return None
        ratio = np.divide(pull, share, out=np.full(d, np.inf), where=taking)
        gone = int(np.argmin(ratio))
        pull = pull - ratio[gone] * share
        pull[gone] = ratio[gone]
        held[gone] = worst
        try:
            inverse = np.linalg.inv(normals[held])
        except np.linalg.LinAlgError:
            return None
        direction = inverse @ bounds[held]
    return None


def _is_only_way(goal: Vector, direction: Vector, rows: Matrix) -> bool:
    """Whether no other direction lowers no row: those that this one leaves alone rule them out.

    With multipliers of at least 1 these add up to 0, so that none of them can rise unless another
    falls; and but for this direction itself there is none along which all of them stay.
    """
    along = rows @ direction
    left = rows[np.abs(along) < HARDLY]
    leads = goal @ direction > CLEARLY and along.max(initial=0.0) > CLEARLY
    if not leads or not 0 < len(left) <= ROWS_AT_FIRST:
        return False
    unit = direction / np.linalg.norm(direction)
    spread = np.linalg.eigvalsh(left.T @ left + np.outer(unit, unit))[0]
    if not spread > CLEARLY:
        return False
    try:
        more, distance = scipy.optimize.nnls(left.T, -left.sum(axis=0))
    except RuntimeError:  # it goes round in circles
        return False
    slack = SAME * (len(left) + more.sum())  # how far a linear program may let one of them rise
    return bool(distance < SAME and slack * np.sqrt(len(left) / spread) < CLEARLY)


def _solve(total: Vector, rows: Matrix) -> Vector:
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(largest > 1.0, largest, 1.0)  # HiGHS refuses entries above 1e15
    for tolerance in (1e-10, 1e-9, 1e-7):  # now and then it gives up on the finest
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
            return np.where(np.abs(solution.x) < SAME, 0.0, solution.x)
    raise UnsolvedProgramError(f"the linear program for separation failed: {solution.message}")


def limits(found: Differences, direction: Vector) -> Vector:
    """Where each parameter goes along the recession directions: +inf, -inf, or 0 for nowhere.

    NaN where some directions let it rise and others fall, or where that could not be told.
    """
    free = np.empty((0, len(direction)))
    result = np.zeros(len(direction))
    going = np.flatnonzero(direction)
    goals = [-np.sign(direction[a]) * np.eye(len(direction))[a] for a in going]
    balances = _balances(goals, found.values, free)
    for a, goal, balance in zip(going, goals, balances, strict=True):
        opposite = balance.shows()
        if opposite is None:
            try:
                opposite = goal @ furthest(goal, found.values, free, found.rounding) > ENOUGH
            except UnsolvedProgramError:
                opposite = True
        result[a] = np.nan if opposite else np.sign(direction[a]) * np.inf
    return result


def limit_along(
    choices: Choices,
    known: Identification,
    direction: Vector,
    rest: Solution,
    found: Differences | None = None,
) -> tuple[Vector, Matrix]:
    """Parameters in the limit: infinite along the direction, finite where the rest identifies.

    `found` are the differences of the choices, if they are known.
    """
    where = np.zeros(len(direction))
    if known.complete and _is_only_one(direction * known.scale, rest, known.scale):
        where[direction != 0] = np.copysign(np.inf, direction[direction != 0])
    elif known.complete:
        where = limits(differences_of(choices, known.scale) if found is None else found, direction)
    return finite_where(where, known, rest)


def _is_only_one(direction: Vector, rest: Solution, unit: Vector) -> bool:
    """Whether there is no other recession direction.

    The rest has a maximum, and all of it is told but for this one: another would separate the rest,
    or change nothing of it either. The direction is scaled, by `unit`.
    """
    null = rest.known.null_directions
    if rest.certificate is None or rest.recession is not None or len(null) != 1:
        return False
    other = null[0] * unit
    along = np.abs(other @ direction) / np.linalg.norm(other) / np.linalg.norm(direction)
    return bool(along > 1.0 - SAME)


def finite_where(where: Vector, known: Identification, rest: Solution) -> tuple[Vector, Matrix]:
    """Parameters infinite where they go somewhere, finite where the rest identifies them."""
    finite = rest.known.identified & (where == 0) & known.identified & np.isfinite(rest.theta)
    theta, covariance = blank(rest.theta, rest.covariance, finite)
    theta = np.where(np.isinf(where), where, theta)
    return theta, covariance


def cleaned(direction: Vector, known: Identification) -> Vector:
    """Entries that are rounding noise in standard units set to 0; the largest made 1."""
    size = np.abs(direction * known.scale)
    kept = np.where(size > 1e-8 * size.max(), direction, 0.0)
    return np.asarray(kept / np.abs(kept).max())


NEGLIGIBLE = 1e-3  # differences below this, of those that are rarely exceeded


def hang_on(negligible: Vector, largest: Matrix, information: Matrix) -> BoolVector:
    """Whether maxima may hang on negligible differences: where not, this is a proof.

    Let v separate the choices once differences x_chosen - x_j = u_j + e_j are rounded to u_j, with
    sum_a |v_a| largest_a = 1, so that v'u_j >= 0. At the maximum the score along v, the sum of
    p_j v'(u_j + e_j), is 0: the sum of p_j v'u_j is at most that of p_j |v'e_j|, which is at most
    `negligible`. The variance of v'x, summed over decisions, which is v'I v, is at most the sum of
    p_j |v'(u_j + e_j)|, or twice that: an eigenvalue of the information in units of `largest` is
    small.

    Parameters
    ----------
    negligible
        Sum of p_j |e_ja| / largest_a over all options, of the variable a that has most, or more;
        at most `NEGLIGIBLE` times the weight of all decisions. One for each information.
    largest
        Largest |x_i - x_chosen| of each variable.
    information
        At the maxima.
    """
    d = largest.shape[1]
    unit = np.where(largest > 0, largest, 1.0)
    lowest = np.linalg.eigvalsh(information / unit[:, :, None] / unit[:, None, :])[:, 0]
    return np.asarray(lowest <= 2 * d * negligible)


def near_separation(
    choices: Choices, known: Identification, likelihood: Likelihood, maximum: Maximum
) -> Vector | None:
    """Direction that separates all but negligible differences, looked for where there may be one.

    Where it is, the maximum exists by these differences only. None, too, where it is not known.
    """
    if not known.complete:
        return None
    if known.basis is None:  # else the variables of the likelihood are not those of the choices
        largest = likelihood.largest[1]
        bounds = largest[None], maximum.information[None]
        if not hang_on(NEGLIGIBLE * np.array([choices.total_weight]), *bounds)[0]:
            return None
        if not hang_on(negligible_differences(choices, maximum.theta, largest), *bounds)[0]:
            return None
    plain = without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None or (known.basis is None and _has_maximum(plain, maximum.theta)):
        return None
    try:
        found = recession(plain, known.scale)
    except UnsolvedProgramError:  # the maximum exists all the same
        return None
    return None if found is None else found.direction


def negligible_differences(choices: Choices, theta: Vector, largest: Vector) -> Vector:
    """What `hang_on` asks of choices at theta, (1,): most are settled by it in one compiled pass.

    Differences count up to `NEGLIGIBLE` of the largest, as typical ones are no larger.
    """
    groups = np.arange(choices.n_decisions), np.array([0, choices.n_decisions]), np.array([0])
    return negligible_in_groups(choices, groups, theta[None], largest[None])


def negligible_in_groups(
    choices: Choices,
    groups: tuple[IntVector, IntVector, IntVector],
    theta: Matrix,
    largest: Matrix,
) -> Vector:
    """The same of groups of decisions, each with its theta.

    `groups` are the decisions in the order of groups, where those of each begin, and which groups.
    """
    found, room = np.empty_like(theta), np.empty((2, theta.shape[1]))
    given = kernel_table(choices), groups, np.array(theta), NEGLIGIBLE * largest, room, found
    kernels.bound_small_differences(*given)
    return np.asarray((found / np.where(largest > 0, largest, 1.0)).max(axis=1))


def _has_maximum(choices: Choices, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = likelihood_of(choices, 1)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return certified(maximum, likelihood, covariance, choices.total_weight)


def certified(
    maximum: Maximum, likelihood: Likelihood, covariance: Matrix, total_weight: float
) -> bool:
    """Whether where Newton's method ended proves that the maximum exists."""
    if not np.isfinite(covariance).all() or maximum.ending == "slow":
        return False
    distance = moved(likelihood.largest[1][None], covariance[None], maximum.decrement)
    if distance[0] > EXACT:
        return False
    return certificate(likelihood.largest[1], covariance, maximum.decrement, total_weight)
