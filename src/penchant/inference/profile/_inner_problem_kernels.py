"""Compiled inner problems of many subjects at many psi, their derivatives, and outer steps.

`solve_weights` packs choices as fits of choices do: eight decisions in a block, variables relative
to the option chosen. All choice sets have the same size, the weights start from those of a psi
nearby, and the last Newton step is taken without evaluating it: it gains half the squared decrement
(Boyd & Vandenberghe 2004, section 9.5). Scratch arrays are allocated in Python: loops that allocate
none, and assign to no slice, compile in a fraction of the time. Symbols: m options, d weights, q or
n_shape shape parameters, k a pair of a subject and a psi.
"""

import math
import threading
from typing import Any, NamedTuple

import numpy as np

from penchant._numba_cache import njit
from penchant._typing import IntVector, Matrix, Vector
from penchant.softmax._likelihood_kernels import (
    INDEX_ZERO,
    compiled_inner,
    compiled_no_alloc,
    newton_step,
    sum_block_moments,
)
from penchant.softmax._moment_codegen import LANES, exp_prefix_in_place, moment_kernel
from penchant.softmax.likelihood import aligned_vectors, allocate_sum_workspace, n_moments

_FAST: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
    "_nrt": False,
}
NO_FLOOR = np.full(1, -np.inf)
# Newton steps of one pair, halvings included: where weights diverge each adds about 1 to a utility,
# and by 80 the probabilities of all choices are 1 but for rounding.
MAX_INNER_STEPS = 80

# Unsigned indices: a signed one may be negative and wrap around, and the compiler then does not
# vectorize the loop.
FIRST_PLACE, ONE, TWO, WIDE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(LANES)


class ScoredDecisions(NamedTuple):
    """Scored decisions of pairs: those of pair k are counts[k] of `order`, from first[k] on.

    Row order[j] of its own is first_row_of_pair[k] + order[j] of the variables, and option
    chosen[first_event_of_pair[k] + order[j]] was taken there.
    """

    chosen: IntVector
    order: IntVector
    first: IntVector
    counts: IntVector
    first_row_of_pair: IntVector
    first_event_of_pair: IntVector


fast = njit(cache=True, **_FAST)
fast_inner = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_FAST)


def psi_derivatives(
    x: Matrix,
    dx: Matrix,
    scored: ScoredDecisions,
    theta: Matrix,
    gradient: Matrix,
    curvature: tuple[Matrix, Matrix, Matrix, Matrix],
) -> None:
    """Derivatives of log-likelihoods in psi at fixed theta, for pairs k of data and psi.

    x : (rows, n_options, d); dx : (n_shape, rows, n_options, d)
    scored : which rows are scored, and what was chosen there
    theta : (n, d)
    gradient : (n, n_shape), filled: of the log-likelihood in psi
    curvature : four arrays, filled: `cross` (n, d, n_shape), the derivative in psi of the gradient
        in theta; `mixed`, minus its expectation; `fisher` (n, n_shape, n_shape), the expectation of
        minus the second derivative in psi; and (n, d, d), the information in theta
    """
    n_shape, _, m, d = dx.shape
    n = -(-int(scored.counts.max(initial=0)) // LANES) * LANES
    n_sums = n_shape + 2 * d * n_shape + d * (d + 1) // 2 + n_shape * (n_shape + 1) // 2
    workspace = (
        np.empty((1 + n_shape) * (m - 1) * d * n),
        (np.empty((m, LANES)), np.zeros((m, n_shape, LANES)), np.empty((2, LANES))),
        (np.empty((d, LANES)), np.empty((n_shape, LANES))),
        np.empty((n_sums, LANES)),
    )
    lines = (np.ascontiguousarray(variables).reshape(-1) for variables in (x, dx))
    _psi_derivatives(*lines, m, scored, theta, gradient, curvature, workspace)


def scatter_derivative(
    x: Matrix, dx: Matrix, scored: ScoredDecisions, derivative_out: Matrix
) -> None:
    """Derivative in psi of the variables' scatter within choice sets: (n, d, n_shape), filled."""
    derivative_out[...] = 0.0
    _add_scatter_derivative(x, dx, scored, derivative_out)
    derivative_out *= (2.0 / x.shape[1] / np.maximum(scored.counts, 1))[:, None, None]


def solve_weights(
    x: Matrix,
    episodes: tuple[IntVector, IntVector, IntVector, IntVector],
    subject: IntVector,
    start_pair: IntVector,
    tolerance: float,
    positive: IntVector,
    values: Vector,
    thetas: Matrix,
    fixed_weight: int = -1,
    max_steps: int = MAX_INNER_STEPS,
    floor: Vector = NO_FLOOR,
    unbounded_height: float = math.inf,
) -> None:
    """Solve the weights of pairs by Newton's method, each from those of pair near[k] < k.

    Where near[k] is -1 it starts from thetas[k]. From the third point of a line on it starts from
    the linear extrapolation of the two before: along a line weights change evenly.

    x : (rows, n_options, d), all events of pair after pair
    episodes : chosen options of all subjects' events, and the first event of each subject; scored
        events, counted from there, and the first scored one of each subject
    subject : (n,), of each pair
    tolerance : squared Newton decrement below which a last step is taken
    values : (n,), filled: log-likelihood, NaN where it needs a closer look
    thetas : (n, d), filled; to start from where near is -1
    kept : a weight that stays as it is given, none of those that must be positive; or -1
    max_steps : of Newton's method, halvings included, after which a pair needs a closer look
    floor : (n,), heights below which one need not be told well; of one number, for all
    unbounded_height : the same, so far below the highest pair of the same subject, one after
    another
    """
    _, m, d = x.shape
    first_scored = episodes[3]
    most = int((first_scored[subject + 1] - first_scored[subject]).max(initial=0))
    numbers = np.ascontiguousarray(x).reshape(-1), m, d
    ends = tolerance, max_steps, floor, unbounded_height
    given = numbers, episodes, subject, start_pair, ends, positive, moment_kernel(d, False)
    _solve_weights(
        *given, values, thetas, fixed_weight, *_WORKSPACE.arrays_of_sizes(-(-most // LANES), m, d)
    )


class _Workspace(threading.local):
    """Scratch arrays of `solve_weights`, kept by each thread: packed choices, state, workspace."""

    size: tuple[int, int, int] = (-1, -1, -1)
    arrays: Any = None

    def arrays_of_sizes(self, n_blocks: int, m: int, d: int) -> Any:
        """Arrays for n_blocks blocks of decisions among m options with d weights."""
        if self.size != (n_blocks, m, d):
            side = aligned_vectors(2 * n_blocks).reshape(n_blocks, 2 * LANES)
            packed = (
                aligned_vectors(n_blocks * (m - 1) * d),
                np.arange(n_blocks + 1) * (m - 1),
                side,
            )
            workspace = (
                allocate_sum_workspace(m - 1, n_blocks, d),
                np.empty(n_moments(d)),
                np.empty((d + 2, d)),
            )
            held = np.zeros(d, dtype=np.bool_)
            state = np.empty(d), np.empty(d), np.empty((d, d)), np.empty(d), held
            self.size, self.arrays = (n_blocks, m, d), (packed, state, workspace)
        return self.arrays


_WORKSPACE = _Workspace()


@fast
def fill_chosen_and_scored_rows(places, first_event, scored, subject, chosen, order):
    """Fill `chosen` with the options of all events of pairs, `order` with those that are scored."""
    row, n = INDEX_ZERO, INDEX_ZERO
    for k in range(len(subject)):
        for event in range(first_event[subject[k]], first_event[subject[k] + 1]):
            chosen[row] = places[event]
            if scored[event]:
                order[n] = row
                n += 1
            row += 1


@fast
def zero_nonfinite_variables(x, dx, scored, ends, pairs_to_check, has_nonfinite):
    """Mark pairs of whose variables some are not finite; these, and their derivatives, become 0.

    x : (rows, all of an event); dx : (n_shape, rows, the same), or empty
    ends : where the rows of each pair end; perhaps : pairs that are looked at
    """
    for k in range(len(has_nonfinite)):
        j, last = scored.first[k], scored.first[k] + scored.counts[k]
        while pairs_to_check[k] and j < last and not has_nonfinite[k]:
            for a in range(x.shape[1]):
                has_nonfinite[k] = has_nonfinite[k] or not math.isfinite(
                    x[scored.first_row_of_pair[k] + scored.order[j], a]
                )
            j += 1
        if has_nonfinite[k]:
            for r in range(scored.first_row_of_pair[k], ends[k]):
                for a in range(x.shape[1]):
                    x[r, a] = 0.0
                    for q in range(len(dx)):
                        dx[q, r, a] = 0.0


@fast
def _psi_derivatives(x, dx, m, scored, theta, gradient, curvature, workspace):
    """Fill the derivatives of `psi_derivatives`, eight decisions at a time.

    x, dx : in one line
    workspace : blocks of variables and, so many numbers further on, of their slopes in each shape
        parameter; probabilities, slopes of utilities and two vectors of one block; means of its
        variables and slopes; sums, one of every lane
    """
    cross, mixed, fisher, information = curvature
    values, of_block, means, sums = workspace
    d, n_shape = theta.shape[1], gradient.shape[1]
    plane, n_rows, size = len(values) // (1 + n_shape), len(x) // (m * d), (m, d)
    for k in range(len(theta)):
        n = scored.counts[k]
        events = (scored.order, scored.first[k], n)
        for q in range(1 + n_shape):
            table, row = (
                (dx, scored.first_row_of_pair[k] + (q - 1) * n_rows)
                if q
                else (x, scored.first_row_of_pair[k])
            )
            to = (values, q * plane)
            pack_decisions(
                table, row, size, (scored.chosen, scored.first_event_of_pair[k]), events, to
            )
        for j in range(len(sums)):
            for lane in range(LANES):
                sums[j, lane] = 0.0
        for b in range((n + LANES - 1) // LANES):
            begin = np.uint64(b * (m - 1) * d * LANES)
            _block_probabilities(values, begin, theta, k, of_block)
            _add_slope_means(values, (begin, np.uint64(plane)), theta, k, of_block, means, sums)
            _add_slope_products(values, begin, of_block, means, sums)
        _unpack_sums(k, sums, gradient, cross, mixed, fisher, information)


@fast_inner
def _block_probabilities(values, begin, theta, k, of_block):
    """Fill the probabilities of a block's options; the last row is that of the options chosen."""
    p, _, pair = of_block
    d, last = np.uint64(theta.shape[1]), np.uint64(len(p) - 1)
    for lane in range(WIDE):
        p[last, lane] = pair[0, lane] = pair[1, lane] = 0.0
    for i in range(last):
        for lane in range(WIDE):
            p[i, lane] = 0.0
        for a in range(d):
            place, weight = begin + (i * d + a) * WIDE, theta[k, a]
            for lane in range(WIDE):
                p[i, lane] += weight * values[place + lane]
        for lane in range(WIDE):
            pair[0, lane] = max(pair[0, lane], p[i, lane])
    for i in range(last + ONE):
        for lane in range(WIDE):
            p[i, lane] -= pair[0, lane]
    exp_prefix_in_place(p.reshape(-1), len(p) * LANES)
    for i in range(last + ONE):
        for lane in range(WIDE):
            pair[1, lane] += p[i, lane]
    for lane in range(WIDE):
        pair[1, lane] = 1.0 / pair[1, lane]
    for i in range(last + ONE):
        for lane in range(WIDE):
            p[i, lane] *= pair[1, lane]


@fast_inner
def _add_slope_means(values, places, theta, k, of_block, means, sums):
    """Add p s_q and p dz_qa to the sums, and fill the slopes s_q, and the means of these and z_a.

    z_a is the difference of variable a between an option and the one chosen, dz_qa its slope in
    shape parameter q, and s_q = sum_a theta_a dz_qa.
    """
    (p, slopes, _), (mean, mean_slope), (begin, plane) = of_block, means, places
    d, n_shape = np.uint64(len(mean)), np.uint64(len(mean_slope))
    for a in range(d):
        for lane in range(WIDE):
            mean[a, lane] = 0.0
    for q in range(n_shape):
        for lane in range(WIDE):
            mean_slope[q, lane] = 0.0
    for i in range(np.uint64(len(p) - 1)):
        for a in range(d):
            place = begin + (i * d + a) * WIDE
            for lane in range(WIDE):
                mean[a, lane] += p[i, lane] * values[place + lane]
        for q in range(n_shape):
            for lane in range(WIDE):
                slopes[i, q, lane] = 0.0
            for a in range(d):
                place = (ONE + q) * plane + begin + (i * d + a) * WIDE
                j, weight = n_shape + a * n_shape + q, theta[k, a]
                for lane in range(WIDE):
                    slopes[i, q, lane] += weight * values[place + lane]
                    sums[j, lane] += p[i, lane] * values[place + lane]
            for lane in range(WIDE):
                mean_slope[q, lane] += p[i, lane] * slopes[i, q, lane]
    for q in range(n_shape):
        for lane in range(WIDE):
            sums[q, lane] += mean_slope[q, lane]


@fast_inner
def _add_slope_products(values, begin, of_block, means, sums):
    """Add the covariances of z_a and z_c, of z_a and s_q, and of s_q and s_o to the sums."""
    (p, slopes, pair), (mean, mean_slope) = of_block, means
    d, n_shape = np.uint64(len(mean)), np.uint64(len(mean_slope))
    last, first = np.uint64(len(p) - 1), n_shape + d * n_shape
    for i in range(last + ONE):
        own = 0.0 if i == last else 1.0  # no values there: the option chosen has z = 0
        row = FIRST_PLACE if i == last else i
        for a in range(d):
            j, place = first + a * (a + ONE) // TWO, begin + (row * d + a) * WIDE
            for lane in range(WIDE):
                # centred before they are multiplied: no cancellation of large numbers
                away = own * values[place + lane] - mean[a, lane]
                pair[0, lane] = p[i, lane] * away
            for c in range(a + ONE):
                place = begin + (row * d + c) * WIDE
                for lane in range(WIDE):
                    sums[j + c, lane] += pair[0, lane] * (
                        own * values[place + lane] - mean[c, lane]
                    )
            j = first + d * (d + ONE) // TWO + a * n_shape
            for q in range(n_shape):
                for lane in range(WIDE):
                    away = slopes[i, q, lane] - mean_slope[q, lane]
                    sums[j + q, lane] += pair[0, lane] * away
        for q in range(n_shape):
            j = first + d * (d + ONE) // TWO + d * n_shape + q * (q + ONE) // TWO
            for lane in range(WIDE):
                pair[0, lane] = p[i, lane] * (slopes[i, q, lane] - mean_slope[q, lane])
            for o in range(q + ONE):
                for lane in range(WIDE):
                    away = slopes[i, o, lane] - mean_slope[o, lane]
                    sums[j + o, lane] += pair[0, lane] * away


@fast_inner
def _unpack_sums(k, sums, gradient, cross, mixed, fisher, information):
    _, d, n_shape = cross.shape
    at = n_shape + d * n_shape
    bent = at + d * (d + 1) // 2
    last = bent + d * n_shape
    for j in range(len(sums)):
        for lane in range(1, LANES):
            sums[j, 0] += sums[j, lane]
    for q in range(n_shape):
        gradient[k, q] = -sums[q, 0]
        for o in range(q + 1):
            fisher[k, q, o] = fisher[k, o, q] = sums[last + q * (q + 1) // 2 + o, 0]
    for a in range(d):
        for c in range(a + 1):
            information[k, a, c] = information[k, c, a] = sums[at + a * (a + 1) // 2 + c, 0]
        for q in range(n_shape):
            mixed[k, a, q] = sums[bent + a * n_shape + q, 0]
            cross[k, a, q] = -mixed[k, a, q] - sums[n_shape + a * n_shape + q, 0]


@fast
def to_unconstrained_derivatives(psi_slope_by_unconstrained, gradient, cross, mixed, fisher):
    """Chain rule: derivatives in unconstrained units, with dpsi/du = by (n, n_shape)."""
    d, n_shape = cross.shape[1:]
    for k in range(len(psi_slope_by_unconstrained)):
        for q in range(n_shape):
            gradient[k, q] *= psi_slope_by_unconstrained[k, q]
            for a in range(d):
                cross[k, a, q] *= psi_slope_by_unconstrained[k, q]
                mixed[k, a, q] *= psi_slope_by_unconstrained[k, q]
            for o in range(n_shape):
                fisher[k, q, o] *= (
                    psi_slope_by_unconstrained[k, q] * psi_slope_by_unconstrained[k, o]
                )


@fast
def _add_scatter_derivative(x, dx, scored, into):
    m, d = x.shape[1:]
    for k in range(len(into)):
        for j in range(scored.first[k], scored.first[k] + scored.counts[k]):
            r = scored.first_row_of_pair[k] + scored.order[j]
            for a in range(d):
                level = 0.0
                for i in range(m):
                    level += x[r, i, a] / m
                for q in range(len(dx)):
                    for i in range(m):
                        into[k, a, q] += (x[r, i, a] - level) * dx[q, r, i, a]


# Changes of the weights held at 0: more mean cycling, and the general solver takes over.
MAX_ACTIVE_SET_ROUNDS = 8
# Squared decrements that a maximum may be above a value: four times what a Newton step gains.
MAX_DECREMENT_GAIN = 2.0
# Squared decrements below both, the second relative to the one before, converge quadratically.
MAX_QUADRATIC_DECREMENT = 1e-12
MAX_QUADRATIC_RATIO = 1e-3  # a linear rate of convergence would leave a ratio near 1


@compiled_inner
def fill_decision_weights(n, side):
    """Weights of n decisions in blocks of eight, 0 in the lanes that fill the last one."""
    for b in range((n + LANES - 1) // LANES):
        for lane in range(LANES):
            side[b, lane] = 1.0 if b * LANES + lane < n else 0.0
            side[b, LANES + lane] = 0.0


@compiled_inner
def pack_decisions(x, row, size, chosen_and_begin, events, packed_destination):
    """Write blocks of eight decisions, relative to the options chosen; 0 in filling lanes.

    x : variables (rows, n_options, d), in one line; row : the first of the pair
    size : n_options and d; taken : options chosen, and where those of the pair begin
    events : which of its events are scored: n of an array, from the second number on
    packed_destination : blocks in one line, and where they begin
    """
    chosen, scored, n, values = (
        chosen_and_begin[0],
        events[0],
        np.uint64(events[2]),
        packed_destination[0],
    )
    row, m, d = np.uint64(row), np.uint64(size[0]), np.uint64(size[1])
    first, begin, place = (
        np.uint64(chosen_and_begin[1]),
        np.uint64(events[1]),
        np.uint64(packed_destination[1]),
    )
    others = (m - ONE) * d
    for b in range((n + WIDE - ONE) // WIDE):
        for lane in range(WIDE):
            j = b * WIDE + lane
            event = np.uint64(scored[begin + (j if j < n else b * WIDE)])
            c, r = np.uint64(chosen[first + event]) * d, (row + event) * m * d
            for a in range(d):
                own, at, i = x[r + c + a], place + (b * others + a) * WIDE + lane, a
                while i < others:
                    values[at] = x[r + (i if i < c else i + d)] - own if j < n else 0.0
                    at += d * WIDE
                    i += d


@compiled_inner
def sum_value_gradient_information(problem, theta, workspace):
    """Fill the second of the workspace with the moments of all decisions, see `sum_block_moments`.

    problem : packed choices, number of blocks, and their kernel
    """
    packed, n_blocks, kernel = problem
    of_sums, moments, _ = workspace
    sum_block_moments(packed, kernel, theta, INDEX_ZERO, n_blocks, of_sums, moments)


@compiled_inner
def solve_on_face(problem, stopping_rules, value_at_zero, theta, state, workspace):
    """Newton's method from theta where some weights are held; returns the value, NaN if it fails.

    stopping_rules : squared decrement below which the last step is taken, most steps, and a height
    that
        ends the iteration if it is out of reach; it ends, too, where the decrement converges
        quadratically, as it does near a finite maximum only
    value_at_zero : the value at 0, where it starts if theta is no better
    state : trial, step, information, gradient; the last is that of all weights, at the end
    """
    tolerance, max_steps, floor = stopping_rules
    trial, step, information, gradient, held = state
    _, moments, factor = workspace
    d = len(gradient)
    best, fraction, squared = -np.inf, 1.0, 0.0
    for a in range(d):
        trial[a] = theta[a]
        step[a] = 0.0
    for _ in range(max_steps):
        sum_value_gradient_information(problem, trial, workspace)
        if best == -np.inf and not moments[0] >= value_at_zero:
            for a in range(d):
                trial[a] = theta[a] if held[a] else 0.0
            sum_value_gradient_information(problem, trial, workspace)
            if moments[0] != moments[0]:
                return np.nan
        # Armijo's condition with a quarter of the predicted gain, but for rounding at a maximum.
        if not moments[0] >= best + 0.25 * fraction * squared - 1e-12 * (1.0 + abs(best)):
            fraction *= 0.5
            for a in range(d):
                trial[a] = theta[a] + fraction * step[a]
            continue
        best, fraction = moments[0], 1.0
        for a in range(d):
            theta[a] = trial[a]
            gradient[a] = 0.0 if held[a] else -moments[1 + a]
            for c in range(a + 1):
                both = moments[1 + d + a * (a + 1) // 2 + c]
                if held[a] or held[c]:
                    both = 1.0 if a == c else 0.0
                information[a, c] = information[c, a] = both
        for a in range(d):
            # A variable that does not vary has no information: leave its weight, or divide by 0.
            if information[a, a] == 0.0:
                information[a, a], gradient[a] = 1.0, 0.0
        before = squared
        if d == 1:
            step[0] = gradient[0] / information[0, 0]
            squared = gradient[0] * step[0]
        else:
            squared = newton_step(information, gradient, step, factor)
        if not squared >= 0.0:
            return np.nan
        for a in range(d):
            if held[a]:
                step[a] = 0.0
            trial[a] = theta[a] + step[a]
        below = best + MAX_DECREMENT_GAIN * squared < floor
        if (
            squared < tolerance
            or squared < min(MAX_QUADRATIC_DECREMENT, MAX_QUADRATIC_RATIO * before)
            or below
        ):
            for a in range(d):
                theta[a] = trial[a]
                gradient[a] = -moments[1 + a]
            return best + 0.5 * squared
    return np.nan


@compiled_inner
def solve_nonnegative(problem, stopping_rules, value_at_zero, positive, theta, state, workspace):
    """Maximum where some weights are not negative; returns the value, NaN if it fails.

    An active-set method: the last of `state` marks weights held at 0, first those of the pair
    nearby. The objective is concave: a point is the maximum if the gradient of held weights is not
    positive, and the others are positive.
    """
    gradient, held = state[3], state[4]
    for _ in range(MAX_ACTIVE_SET_ROUNDS):
        value = solve_on_face(problem, stopping_rules, value_at_zero, theta, state, workspace)
        if not value <= 0.0:
            return np.nan
        fine = True
        for j in range(len(positive)):
            a = positive[j]
            wrong = gradient[a] > 0.0 if held[a] else theta[a] <= 0.0
            if wrong:
                held[a] = not held[a]
                theta[a] = 0.0
                fine = False
        if fine:
            return value
    return np.nan


@compiled_no_alloc
def _solve_weights(
    x,
    episodes,
    subject,
    near,
    ends,
    positive,
    kernel,
    values,
    thetas,
    fixed_weight,
    packed,
    state,
    workspace,
):
    numbers, m, d = x
    chosen, first_event, scored, first_scored = episodes
    held = state[4]
    row, n_last, highest = INDEX_ZERO, INDEX_ZERO, -np.inf
    for k in range(len(near)):
        s = subject[k]
        theta = thetas[k]
        n = first_scored[s + 1] - first_scored[s]
        n_blocks = (n + LANES - 1) // LANES
        taken, events, to = (
            (chosen, first_event[s]),
            (scored, first_scored[s], n),
            (packed[0], INDEX_ZERO),
        )
        pack_decisions(numbers, row, (m, d), taken, events, to)
        if n != n_last:
            n_last = n
            fill_decision_weights(n_last, packed[2])
        row += first_event[s + 1] - first_event[s]
        problem = (packed, n_blocks, kernel)
        j = near[k]
        if j >= 0:
            i = near[j]
            ahead = i >= 0 and k - j == j - i and math.isfinite(values[i])
            for a in range(d):
                theta[a] = thetas[j, a] if math.isfinite(values[j]) else 0.0
                if ahead and theta[a] != 0.0:
                    theta[a] += thetas[j, a] - thetas[i, a]
        for a in range(d):
            held[a] = a == fixed_weight
        for e in range(len(positive)):
            a = positive[e]
            held[a] = j >= 0 and math.isfinite(values[j]) and thetas[j, a] <= 0.0
            if theta[a] <= 0.0:
                theta[a] = 0.0
        least = (
            -(first_scored[s + 1] - first_scored[s]) * math.log(m) if fixed_weight < 0 else -np.inf
        )
        if k == 0 or subject[k - 1] != s:
            highest = -np.inf
        floor = max(ends[2][k if len(ends[2]) > 1 else INDEX_ZERO], highest - ends[3])
        limits = (ends[0], ends[1], floor)
        values[k] = solve_nonnegative(problem, limits, least, positive, theta, state, workspace)
        if values[k] > highest:
            highest = values[k]


# Jacobi's rotations converge quadratically, in a handful of sweeps: this only ends those on NaN.
MAX_JACOBI_SWEEPS = 30
# Information below which it counts as none: choices are so certain that its inverse would overflow.
MIN_INFORMATION = 1e-290
MAX_SECANT_ERROR = 1e100  # error of a gradient beyond which its square overflows: update skipped
# Eigenvalue of a matrix with a unit diagonal below which a direction counts as carrying no
# information: about a hundred times the rounding of its entries.
MIN_EIGENVALUE = 1e-14
SMALLEST_NORMAL = 2.2250738585072014e-308  # numbers below lose digits: not to be divided by
# Share of the largest eigenvalue given to flatter directions, whose steps would be far too long.
MIN_RELATIVE_CURVATURE = 1e-6


@fast_inner
def _jacobi_eigenvalues(a, n, vectors):
    """Diagonalise the symmetric matrix a (n, n), in place; its eigenvectors are columns."""
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(MAX_JACOBI_SWEEPS):
        done = True
        for p in range(n - 1):
            for q in range(p + 1, n):
                apart = a[p, q]
                if abs(apart) <= 1e-17 * math.sqrt(abs(a[p, p])) * math.sqrt(abs(a[q, q])):
                    a[p, q] = 0.0
                    a[q, p] = 0.0
                    continue
                done = False
                ratio = (a[q, q] - a[p, p]) / (2.0 * apart)
                t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                if ratio < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for i in range(n):
                    left, right = a[i, p], a[i, q]
                    a[i, p] = c * left - s * right
                    a[i, q] = s * left + c * right
                for i in range(n):
                    left, right = a[p, i], a[q, i]
                    a[p, i] = c * left - s * right
                    a[q, i] = s * left + c * right
                a[p, q] = 0.0
                a[q, p] = 0.0
                for i in range(n):
                    left, right = vectors[i, p], vectors[i, q]
                    vectors[i, p] = c * left - s * right
                    vectors[i, q] = s * left + c * right
        if done:
            return


@fast_inner
def _zero_held_rows(a, held, d):
    for i in range(d):
        a[i, held] = 0.0
        a[held, i] = 0.0


@fast_inner
def _invert_information(information, theta, k, positive, fixed_weight_and_inverses, j, workspace):
    """Fill the third array of the workspace with the inverse information of the free weights.

    A pseudoinverse after scaling to a unit diagonal; 0 along directions without information.
    `fixed_weight_and_inverses`: a fixed weight, or -1; and inverses (n, d, d), of which j is
    copied, or none (0, d, d).
    """
    a, vectors, inverse, scale = workspace
    fixed_weight, inverses = fixed_weight_and_inverses
    d = theta.shape[1]
    if len(inverses) > 0:
        for i in range(d):
            for e in range(d):
                inverse[i, e] = inverses[j, i, e]
        return
    fine = True
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 0.0
            a[i, j] = information[k, i, j]
    for i in range(d):
        if i == fixed_weight:
            _zero_held_rows(a, i, d)
    for e in range(len(positive)):
        if theta[k, positive[e]] <= 0.0:
            _zero_held_rows(a, positive[e], d)
    for i in range(d):
        for j in range(d):
            fine = fine and math.isfinite(a[i, j])
        scale[i] = math.sqrt(a[i, i]) if a[i, i] > MIN_INFORMATION else 1.0
    if not fine:
        return
    for i in range(d):
        for j in range(d):
            a[i, j] = a[i, j] / scale[i] / scale[j]
    _jacobi_eigenvalues(a, d, vectors)
    for c in range(d):
        if a[c, c] > MIN_EIGENVALUE:
            for i in range(d):
                for j in range(d):
                    inverse[i, j] += vectors[i, c] * vectors[j, c] / a[c, c]
    for i in range(d):
        for j in range(d):
            inverse[i, j] = inverse[i, j] / scale[i] / scale[j]


@fast_inner
def _profile_information(mixed, fisher, k, inverse, expected, at):
    """Expected information of the profile: the Schur complement of that of the weights."""
    d, q = mixed.shape[1], mixed.shape[2]
    for a in range(q):
        for b in range(q):
            taken = 0.0
            for i in range(d):
                for j in range(d):
                    taken += mixed[k, i, a] * inverse[i, j] * mixed[k, j, b]
            expected[at, a, b] = fisher[k, a, b] - taken


@fast_inner
def _sr1_update(curvature, k, path, change, i, miss):
    """Symmetric rank-one (SR1) update of a curvature by a step and the change of the gradient."""
    q = path.shape[1]
    largest, size, of_miss, of_step = 0.0, 0.0, 0.0, 0.0
    for a in range(q):
        miss[a] = change[i, a]
        for b in range(q):
            miss[a] -= curvature[k, a, b] * path[i, b]
        if not abs(miss[a]) <= largest:
            largest = abs(miss[a])
    # Gradients of nearly certain choices have squares that overflow: keep the curvature as it is.
    if not largest < MAX_SECANT_ERROR:
        return
    for a in range(q):
        size += miss[a] * path[i, a]
        of_miss += miss[a] * miss[a]
        of_step += path[i, a] * path[i, a]
    # Safeguard of SR1 (Nocedal & Wright 2006, eq. 6.26): else the curvature could blow up.
    if size == 0.0 or not abs(size) >= 1e-8 * math.sqrt(of_miss) * math.sqrt(of_step):
        return
    for a in range(q):
        for b in range(q):
            curvature[k, a, b] += miss[a] * miss[b] / size


@fast
def expected_curvature(
    points, fixed_weight_and_inverses, positive, drift, curvature, growth, workspace
):
    """Expected derivative of the weights in psi, and expected minus Hessian of profiles.

    points : information (n, d, d), theta (n, d), mixed (n, d, n_shape), fisher (n, n_shape,
        n_shape)
    fixed_weight_and_inverses : a weight that stays as it is, or -1; and inverse informations of
    weights that may move
        (n, d, d), or (0, d, d) if they are not known
    drift, curvature : (n, d, n_shape), (n, n_shape, n_shape), filled
    growth : (n,), filled: how many times their own size the weights move along one unit of u
    """
    information, theta, mixed, fisher = points
    inverse = workspace[2]
    d, q = mixed.shape[1], mixed.shape[2]
    for k in range(len(theta)):
        _invert_information(
            information, theta, k, positive, fixed_weight_and_inverses, k, workspace
        )
        _profile_information(mixed, fisher, k, inverse, curvature, k)
        size, farthest = 0.0, 0.0
        for i in range(d):
            for j in range(d):
                size += theta[k, i] * information[k, i, j] * theta[k, j]
        for a in range(q):
            for i in range(d):
                drift[k, i, a] = 0.0
                for j in range(d):
                    drift[k, i, a] -= inverse[i, j] * mixed[k, j, a]
            moved = 0.0
            for i in range(d):
                for j in range(d):
                    moved += drift[k, i, a] * information[k, i, j] * drift[k, j, a]
            if not moved <= farthest:
                farthest = moved
        growth[k] = math.sqrt(farthest / max(size, SMALLEST_NORMAL))


@fast
def update_curvatures(
    rows,
    first,
    path,
    change,
    points,
    fixed_weight_and_inverses,
    positive,
    curvatures,
    workspace,
    miss,
):
    """Update curvatures by accepted steps: the expected ones plus a correction by SR1.

    rows : (n,), of all iterations; first : (n,), whether it is the first point; path, change : (n,
        n_shape), the steps and by how much the gradient fell
    points : information (all, d, d), theta (all, d), mixed and fisher of all iterations
    fixed_weight_and_inverses : a weight that stays as it is, or -1; and inverse informations of
    weights that may move
        (n, d, d), or (0, d, d) if they are not known
    curvatures : the whole and its correction (all, n_shape, n_shape), and the expected one (n,
        n_shape, n_shape); filled. A correction to begin with is the curvature of similar data
    """
    information, theta, mixed, fisher = points
    inverse = workspace[2]
    curvature, correction, expected = curvatures
    q = path.shape[1]
    for i in range(len(rows)):
        k = rows[i]
        _invert_information(
            information, theta, k, positive, fixed_weight_and_inverses, i, workspace
        )
        _profile_information(mixed, fisher, k, inverse, expected, i)
        for a in range(q):
            for b in range(q):
                if first[i]:
                    known = math.isfinite(correction[k, a, b])
                    curvature[k, a, b] = correction[k, a, b] if known else expected[i, a, b]
                else:
                    curvature[k, a, b] = expected[i, a, b] + correction[k, a, b]
        if not first[i]:
            _sr1_update(curvature, k, path, change, i, miss)
        for a in range(q):
            for b in range(q):
                correction[k, a, b] = curvature[k, a, b] - expected[i, a, b]


@fast
def projected_newton_step(rows, u, gradient, curvature, bounds, fixed, reach, steps, workspace):
    """Newton steps among the free parameters, uphill and at most `reach` units of u long.

    A parameter at an end of its range beyond which the slope leads, or the step, stays there.

    rows : (n,), of u, gradient, fixed (all, n_shape) and reach (all,)
    curvature : (n, n_shape, n_shape); steps : (n, n_shape), filled
    """
    along, q = workspace[3], u.shape[1]
    for i in range(len(rows)):
        k, again = rows[i], True
        for c in range(q):
            # Parameters held take no part: clipping a step of all would leave the ridge.
            held = fixed[k, c] or _leaves_bounds(u[k, c], bounds, c, gradient[k, c])
            along[c] = 0.0 if held else 1.0
        while again:
            _newton_step(k, i, gradient, curvature, reach[k], steps, workspace)
            again = False
            for c in range(q):
                if steps[i, c] != 0.0 and _leaves_bounds(u[k, c], bounds, c, steps[i, c]):
                    along[c] = 0.0
                    again = True


@fast_inner
def _leaves_bounds(u, bounds, c, move_direction):
    """Whether a parameter at an end of its range would move beyond it, or not at all."""
    return (u <= bounds[c, 0] and move_direction <= 0.0) or (
        u >= bounds[c, 1] and move_direction >= 0.0
    )


@fast_inner
def _newton_step(k, i, gradient, curvature, reach, steps, workspace):
    """Newton step of row k, the i-th of those given, along parameters that are not held.

    Absolute eigenvalues make it an ascent direction where the curvature is not positive.
    """
    a, vectors, _, along = workspace
    q = len(along)
    fine, largest = True, 1e-12
    for c in range(q):
        for e in range(q):
            free = along[c] != 0.0 and along[e] != 0.0
            a[c, e] = curvature[i, c, e] if free else 0.0
            fine = fine and math.isfinite(a[c, e])
    for c in range(q):
        steps[i, c] = 0.0
        for e in range(q):
            a[c, e] = a[c, e] if fine else 0.0
    _jacobi_eigenvalues(a, q, vectors)
    for c in range(q):
        if abs(a[c, c]) > largest:
            largest = abs(a[c, c])
    for c in range(q):
        share = 0.0
        for e in range(q):
            if along[e] != 0.0 and math.isfinite(gradient[k, e]):
                share += vectors[e, c] * gradient[k, e]
        size = abs(a[c, c])
        share /= (
            size if size > MIN_RELATIVE_CURVATURE * largest else MIN_RELATIVE_CURVATURE * largest
        )
        for e in range(q):
            steps[i, e] += vectors[e, c] * share
    longest = reach
    for c in range(q):
        if along[c] == 0.0:
            steps[i, c] = 0.0
        if not abs(steps[i, c]) <= longest:
            longest = abs(steps[i, c])
    for c in range(q):
        steps[i, c] *= reach / longest


@fast
def quadratic_maxima(rows, u, gradient, curvature, bounds, found):
    """Maxima of quadratic models in two parameters inside the range, (n, 2); NaN without one."""
    for i in range(len(rows)):
        k = rows[i]
        first, both, second = curvature[k, 0, 0], curvature[k, 0, 1], curvature[k, 1, 1]
        area = first * second - both * both
        peaked = first > 0.0 and area > 0.0
        found[i, 0] = u[k, 0] + (second * gradient[k, 0] - both * gradient[k, 1]) / area
        found[i, 1] = u[k, 1] + (first * gradient[k, 1] - both * gradient[k, 0]) / area
        for c in range(2):
            inside = min(max(found[i, c], bounds[c, 0]), bounds[c, 1])
            # With one parameter on its bound, the quadratic's maximum in the other one moves.
            if inside != found[i, c]:
                rest = gradient[k, 1 - c] - both * (inside - u[k, c])
                found[i, c] = inside
                found[i, 1 - c] = u[k, 1 - c] + rest / curvature[k, 1 - c, 1 - c]
        for c in range(2):
            found[i, c] = min(max(found[i, c], bounds[c, 0]), bounds[c, 1]) if peaked else np.nan


@fast
def cut_steps_at_first_bound(rows, u, steps, fraction, bounds, target):
    """Points that fractions of steps lead to, cut off at the first bound that they cross.

    A step that was only projected on the bound would leave the ridge it follows. Where a parameter
    is at a bound already, and the step leads beyond, the others go on. target : (n, n_shape)
    """
    q = u.shape[1]
    for i in range(len(rows)):
        k, share, first = rows[i], 1.0, -1
        for c in range(q):
            move = fraction[k] * steps[k, c]
            end = bounds[c, 1] if move > 0.0 else bounds[c, 0]
            target[i, c] = u[k, c] if u[k, c] == end else u[k, c] + move
            if u[k, c] != end and move != 0.0 and (end - u[k, c]) / move < share:
                share, first = (end - u[k, c]) / move, c
        if first < 0:
            continue
        for c in range(q):
            target[i, c] = u[k, c] + share * (target[i, c] - u[k, c])
            target[i, c] = min(max(target[i, c], bounds[c, 0]), bounds[c, 1])
        target[i, first] = bounds[first, 1] if steps[k, first] > 0.0 else bounds[first, 0]


@fast_inner
def _is_near_optimum(places, k, j, u, i, c, reach, steps):
    """Whether point j of k lies within `reach` steps of point c of i, along every parameter."""
    near = True
    for q in range(len(steps)):
        near = near and abs(places[k, j, q] - u[i, c, q]) <= reach * steps[q]
    return near


@fast
def mark_cells_to_start(
    subjects, start_all_together, one_start_at_first, waiting, cells, reach, optima, steps, chosen
):
    """Mark cells to start from now, and remove them from `waiting`: see `_StartingCells.next`.

    start_all_together, one_start_at_first : of each of the subjects; cells : (all, most, n_shape);
    chosen : filled
    """
    for i in range(len(subjects)):
        k = subjects[i]
        none_yet, some = True, False
        for j in range(optima.shape[1]):
            none_yet = none_yet and math.isnan(optima[k, j, 0])
        for c in range(cells.shape[1]):
            free = waiting[k, c]
            for j in range(optima.shape[1]):
                if free and _is_near_optimum(optima, k, j, cells, k, c, reach[k, c], steps):
                    waiting[k, c] = free = False
            for j in range(c):
                if free and not start_all_together[i] and chosen[i, j]:
                    free = not _is_near_optimum(cells, k, j, cells, k, c, reach[k, c], steps)
            if free and not (some and none_yet and one_start_at_first[i]):
                chosen[i, c] = some = True
                waiting[k, c] = False
