"""Compiled loops of the softmax likelihood and of Newton's method on it: plain arrays, no policy.

Decisions are packed in blocks of eight lanes. A block holds, for each of its rows and variables,
eight numbers: x of that row's option relative to the option chosen, one per decision. The chosen
option itself needs no row (its utility is 0), so a block has one row fewer than its largest choice
set; smaller sets are padded with rows of zeros, and `side` counts these.

A `kernel` (see `_moment_codegen.moment_kernel`) holds the vector code for a number of variables;
the loops here are compiled once for any number. No loop makes an array, and none assigns to a
slice, takes a minimum or is inlined: each of these costs more to compile than the loop itself.
"""

import math
from typing import Any

import numpy as np

from penchant._numba_cache import njit
from penchant.softmax._moment_codegen import (
    LANES,
    MAX_CACHED_VECTORS,
    add_block_moments,
    write_rows_relative_to_chosen,
)

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

compiled = njit(**_OPTIONS)
# Without arrays to make, numba's reference counting is not needed; it would cost more than a small
# choice set's arithmetic.
compiled_no_alloc = njit(**_OPTIONS, _nrt=False)
# Called by compiled loops only: without wrappers for Python and C it compiles sooner.
compiled_inner = njit(
    nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

# Blocks whose sums are added up before they join the total: the order of additions, and so every
# bit, is the same for any number of threads.
CHUNK_BLOCKS = 512

INDEX_ZERO = np.int64(0)  # typed: numba would compile a callee anew for the literal 0
MOVED, CONVERGED, STALLED, SINGULAR, SLOW = 0, 1, 2, 3, 4
# Slots of the vector `progress`: compiled code and Python take turns at the steps of one search,
# and a vector of numbers is the cheapest state to hand over.
BEST_VALUE, FRACTION, DECREMENT, N_SLOW, N_STEPS = 0, 1, 2, 3, 4
NEWTON_START = (-np.inf, 1.0, np.inf, 0.0, 0.0)
# Standard errors. Newton's last step squares the distance, to 1e-20: no digit of theta is left to
# gain, and a smaller tolerance would run into rounding.
DECREMENT_TOL = 1e-10
# Standard errors. Below, a Newton step towards a finite maximum at least squares the decrement;
# steps that do not are a sign that the maximum is at infinity.
FAST_DECREMENT = 0.05
MAX_SLOW_STEPS = 3  # in a row: one or two can be slow by rounding alone, without separation
# Fraction of the promised gain that a step must achieve (Armijo's condition). Without it steps may
# land where all choices are certain, the value is flat, and the next step is no step.
SUFFICIENT_GAIN = 0.25


@compiled_no_alloc
def pack_blocks(table, kernel, order, decision_range, starts, block_range, packed, buffers):
    """Write blocks blocks[0] to blocks[1] of the decisions order[bounds[0]:bounds[1]].

    Written are rows relative to the chosen one to `values`, weights and numbers of padding rows to
    `side`. A padding row is the chosen one relative to itself; lanes beyond the last decision
    repeat the first with weight 0. `buffers` are those of `likelihood.allocate_packing_buffers`;
    the last, (2, d, 8), is left with the largest |x| and |x_i - x_chosen|. Returns whether all
    sets have one size.
    """
    first, last = decision_range
    values, side = packed
    rows, offset, available, first_row, chosen, weights = table
    _, _, d, n_columns = kernel
    sources, references, size = buffers
    uniform, most = True, starts[block_range[0] + 1] - starts[block_range[0]]
    for a in range(d):
        for lane in range(LANES):
            size[0, a, lane] = 0.0
            size[1, a, lane] = 0.0
    for b in range(block_range[0], block_range[1]):
        n_rows = starts[b + 1] - starts[b]
        position = starts[b] * n_columns * LANES
        for lane in range(LANES):
            j = first + b * LANES + lane
            inside = j < last
            k = order[j] if inside else order[first + b * LANES]
            c = first_row[k] + chosen[k]
            references[lane] = c * d
            side[b, lane] = 0.0
            used = 0
            if inside:
                side[b, lane] = weights[k] if weights.size else 1.0
                for r in range(first_row[k], first_row[k + 1]):
                    # before the test, and overwritten if that fails: no branch
                    sources[used, lane] = r * d
                    used += r != c and (not available.size or available[r])
                uniform = uniform and used == most
            side[b, LANES + lane] = n_rows - used
            for row in range(used, n_rows):
                sources[row, lane] = c * d
        write_rows_relative_to_chosen(
            kernel, rows, sources, n_rows, references, values, position, size
        )
        if n_columns > d:
            for row in range(n_rows):
                for lane in range(LANES):
                    i, c = sources[row, lane] // d, references[lane] // d
                    values[position + (row * n_columns + d) * LANES + lane] = offset[i] - offset[c]
    return uniform


@compiled_inner
def n_uniform_blocks(starts, b, last, n_columns):
    """Number of blocks from b on with as many rows as b that fit in the cache together."""
    n_rows, n = starts[b + 1] - starts[b], 1
    of_block = n_rows * (n_columns + 1) + n_columns + 2
    while b + n < last and (n + 1) * of_block <= MAX_CACHED_VECTORS:
        if starts[b + n + 1] - starts[b + n] != n_rows:
            break
        n += 1
    return n


@compiled_inner
def _add_sums_over_lanes(total, parts, i, moments):
    """Add the eight lanes of each sum, write them to row i of `parts` and add them to `moments`."""
    for j in range(len(moments)):
        both = 0.0
        for lane in range(LANES):
            both += total[j * LANES + lane]
        parts[i, j] = both
    for j in range(len(moments)):
        moments[j] += parts[i, j]


@compiled_no_alloc
def sum_block_moments(packed, kernel, theta, begin, end, workspace, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of blocks begin..end.

    `workspace` holds the scratch of `add_block_moments`, 8 numbers per moment (one sum per lane),
    and one row for each chunk, which is left with that chunk's sums.
    """
    values, starts, side = packed
    scratch, total, parts = workspace
    n_columns = kernel[3]
    for j in range(len(moments)):
        moments[j] = 0.0
    for i in range((end - begin + CHUNK_BLOCKS - 1) // CHUNK_BLOCKS):
        first = begin + i * CHUNK_BLOCKS
        last = first + CHUNK_BLOCKS if first + CHUNK_BLOCKS < end else end
        for j in range(len(total)):
            total[j] = 0.0
        b = first
        while b < last:
            sizes = starts[b + 1] - starts[b], n_uniform_blocks(starts, b, last, n_columns)
            position = starts[b] * n_columns * LANES
            add_block_moments(kernel, values, position, sizes, theta, side, b, scratch, total)
            b += sizes[1]
        _add_sums_over_lanes(total, parts, i, moments)


@compiled_inner
def newton_step(information, gradient, step, work):
    """Solve for the Newton step by Cholesky; returns the squared decrement, or NaN if singular.

    Columns are scaled to unit information first, so that units of variables do not matter.
    `work` (d + 2, d) or larger: for the Cholesky factor of the correlation, the scale and the
    scaled gradient. Views of it would cost more than the arithmetic.
    """
    d = len(gradient)
    scale, scaled = d, d + 1
    for a in range(d):
        work[scale, a] = math.sqrt(information[a, a]) if information[a, a] > 0.0 else np.nan
        work[scaled, a] = gradient[a] / work[scale, a]
    smallest = 1.0
    for a in range(d):
        for c in range(a + 1):
            rest = information[a, c] / work[scale, a] / work[scale, c]
            for e in range(c):
                rest -= work[a, e] * work[c, e]
            if a == c:
                if not rest >= smallest:
                    smallest = rest
                work[a, a] = math.sqrt(rest) if rest > 0.0 else np.nan
            else:
                work[a, c] = rest / work[c, c]
    if not smallest > 1e-15:  # a pivot of rounding errors: singular to working precision
        return np.nan
    for a in range(d):
        rest = work[scaled, a]
        for c in range(a):
            rest -= work[a, c] * step[c]
        step[a] = rest / work[a, a]
    for a in range(d - 1, -1, -1):
        rest = step[a]
        for c in range(a + 1, d):
            rest -= work[c, a] * step[c]
        step[a] = rest / work[a, a]
    squared = 0.0
    for a in range(d):
        squared += step[a] * work[scaled, a]
        step[a] /= work[scale, a]
    return squared


@compiled_no_alloc
def take_newton_step(
    moments, precision, linear, theta, best, step, information, gradient, progress, work
):
    """Take one step of Newton's method with step halving, from the moments at theta.

    The objective is the log-likelihood plus a prior -theta'P theta/2 + b'theta. `theta` becomes the
    next point to evaluate; `progress` is updated (see its slots above); `best`, `information` and
    `gradient` are those of the best point so far. At CONVERGED, theta is best + step: a last step
    that needs no further evaluation. `work` is for `newton_step`.
    """
    d = len(linear)
    value = moments[0]
    for a in range(d):
        pull = 0.0
        for c in range(d):
            pull += precision[a, c] * theta[c]
        value += theta[a] * (linear[a] - 0.5 * pull)
        work[d, a] = pull
    # a long sum may fall by rounding at the maximum itself: not a reason to halve the step
    least = progress[BEST_VALUE] - 1e-13 * (1.0 + abs(progress[BEST_VALUE]))
    # the first point has no step before it; the slope along a step is decrement^2
    if progress[N_STEPS] > 0.0:
        least += SUFFICIENT_GAIN * progress[FRACTION] * (progress[DECREMENT] * progress[DECREMENT])
    # overshot: Newton's step is too long far from the maximum, so halve it
    if not (math.isfinite(value) and value >= least):
        progress[FRACTION] *= 0.5
        for a in range(d):
            theta[a] = best[a] + progress[FRACTION] * step[a]
        # after 40 halvings a step only moves rounding errors
        return MOVED if progress[FRACTION] > 1e-12 else STALLED
    progress[BEST_VALUE] = value
    for a in range(d):
        best[a] = theta[a]
        gradient[a] = linear[a] - work[d, a] - moments[1 + a]
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            information[a, c] = both + precision[a, c]
            information[c, a] = both + precision[c, a]
    squared = newton_step(information, gradient, step, work)
    if not math.isfinite(squared):
        return SINGULAR
    previous = progress[DECREMENT]
    progress[DECREMENT] = math.sqrt(squared) if squared > 0.0 else 0.0
    for a in range(d):
        theta[a] = best[a] + step[a]
    if progress[DECREMENT] < DECREMENT_TOL:
        return CONVERGED
    progress[N_SLOW] = (
        progress[N_SLOW] + 1.0
        if previous < FAST_DECREMENT and progress[DECREMENT] > 0.25 * previous
        else 0.0
    )
    progress[FRACTION] = 1.0
    progress[N_STEPS] += 1.0
    return SLOW if progress[N_SLOW] >= MAX_SLOW_STEPS else MOVED


@compiled_no_alloc
def maximise(
    problem,
    prior,
    theta,
    best_step_information_gradient,
    progress,
    max_steps,
    moments,
    moments_known,
    workspace,
):
    """Maximise the log-likelihood plus a quadratic from theta; returns a code of how it ended.

    problem : packed choices, number of blocks, and their kernel
    best_step_information_gradient : best, step, information, gradient; all are filled
    progress : NEWTON_START to begin with
    moments : those at theta if `moments_known`
    workspace : see `PackedLikelihood.workspace`
    """
    packed, n_blocks, kernel = problem
    precision, linear = prior
    best, step, information, gradient = best_step_information_gradient
    of_sums, full, work = workspace
    while True:
        if not moments_known:
            for a in range(kernel[2]):
                full[a] = theta[a]
            sum_block_moments(packed, kernel, full, INDEX_ZERO, n_blocks, of_sums, moments)
        moments_known = False
        code = take_newton_step(
            moments, precision, linear, theta, best, step, information, gradient, progress, work
        )
        if code != MOVED or progress[N_STEPS] >= max_steps:
            return code


@compiled_no_alloc
def write_within_set_scatter(
    problem, sets_have_one_size, moments, workspace, size_weighted_side, spread
):
    """Write the within-set scatter, the mean of (x_i - mean)(x_i - mean)' over rows, to `spread`.

    It is the information at theta = 0, each set weighted by its size; `size_weighted_side`, of the
    shape of the packed `side`, is overwritten with these weights. Where all sets have the
    `sets_have_one_size` size and there is no offset, `moments` are those of theta = 0 afterwards.
    """
    (values, starts, side), n_blocks, kernel = problem
    of_sums, full, _ = workspace
    d = kernel[2]
    count = 0.0
    for b in range(n_blocks):
        of_block = 0.0
        for lane in range(LANES):
            weight = side[b, lane]
            if not sets_have_one_size:
                weight *= starts[b + 1] - starts[b] - side[b, LANES + lane] + 1.0
            size_weighted_side[b, lane] = weight
            size_weighted_side[b, LANES + lane] = side[b, LANES + lane]
            of_block += weight
        count += of_block
    for a in range(len(full)):
        full[a] = 0.0
    sum_block_moments(
        (values, starts, size_weighted_side), kernel, full, INDEX_ZERO, n_blocks, of_sums, moments
    )
    # theta was zeroed for the scatter; an offset column always has weight 1
    for a in range(len(full)):
        full[a] = 1.0
    for a in range(d):
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            spread[a, c] = both / count if count > 0.0 else 0.0
            spread[c, a] = spread[a, c]


@compiled_inner
def _pack_subject(table, kernel, order, bounds, s, block_rows_and_starts, packed, buffers):
    """Pack subject s alone; returns its number of blocks, and whether all its sets have one size.

    bounds, block_rows_and_starts : as in `fit_subjects`
    """
    n_rows, first_block = block_rows_and_starts
    values, starts, side = packed
    n_blocks = first_block[s + 1] - first_block[s]
    starts[0] = 0
    for b in range(n_blocks):
        starts[b + 1] = starts[b] + n_rows[first_block[s] + b]
    mine, all_blocks, into = (bounds[s], bounds[s + 1]), (INDEX_ZERO, n_blocks), (values, side)
    if n_blocks == 0:
        return n_blocks, True
    return n_blocks, pack_blocks(table, kernel, order, mine, starts, all_blocks, into, buffers)


@compiled_no_alloc
def sum_subject_moments(table, kernel, order, bounds, blocks, theta, results, packed, workspace):
    """Moments of every subject at several theta each: values, gradients, informations.

    theta : (n, n_theta, d); results : (n, n_theta), (n, n_theta, d), (n, n_theta, d, d), filled
    """
    values, gradient, information = results
    buffers, (of_sums, full, _), _, moments = workspace[:4]
    d = kernel[2]
    for s in range(len(theta)):
        n_blocks, _ = _pack_subject(table, kernel, order, bounds, s, blocks, packed, buffers)
        for t in range(theta.shape[1]):
            for a in range(d):
                full[a] = theta[s, t, a]
            sum_block_moments(packed, kernel, full, INDEX_ZERO, n_blocks, of_sums, moments)
            values[s, t] = moments[0]
            for a in range(d):
                gradient[s, t, a] = -moments[1 + a]
                for c in range(a + 1):
                    both = moments[1 + d + a * (a + 1) // 2 + c]
                    information[s, t, a, c] = information[s, t, c, a] = both


@compiled_no_alloc
def fit_subjects(
    table, kernel, order, bounds, blocks, prior, results, begin, end, packed, workspace
):
    """Fit subjects begin..end, whose decisions are order[bounds[s]:bounds[s + 1]].

    Each subject is packed into the same `packed`, which stays in the processor's cache. `blocks`
    holds the rows of every block and the first block of each subject; `prior` a precision, a linear
    term, a multiple of the squared column scales to add to the precision, and the maximum number of
    steps; `workspace` is that of `fit_each.Scratch`.
    """
    base_precision, linear, ridge, max_steps = prior
    theta, information, gradient, progress, codes, spread, largest = results
    buffers, of_steps, weighted, moments, best, step, precision = workspace
    d, n_columns = kernel[2], kernel[3]
    for s in range(begin, end):
        n_blocks, uniform = _pack_subject(table, kernel, order, bounds, s, blocks, packed, buffers)
        codes[s] = SINGULAR
        if n_blocks == 0:
            continue
        problem = (packed, n_blocks, kernel)
        moments_known = uniform and d == n_columns
        write_within_set_scatter(problem, moments_known, moments, of_steps, weighted, spread[s])
        for a in range(d):
            for what in range(2):
                for lane in range(LANES):
                    if buffers[2][what, a, lane] > largest[s, what, a]:
                        largest[s, what, a] = buffers[2][what, a, lane]
            for c in range(d):
                precision[a, c] = base_precision[a, c]
            # Rooted and squared as in `ScaledPrior`: a batch and a single fit agree in every bit.
            scale = math.sqrt(spread[s, a, a])
            precision[a, a] += ridge * (scale * scale if scale > 0.0 else 1.0)
            moments_known = moments_known and theta[s, a] == 0.0
            best[a], step[a] = theta[s, a], 0.0
        state = (best, step, information[s], gradient[s])
        quadratic = (precision, linear)
        codes[s] = maximise(
            problem,
            quadratic,
            theta[s],
            state,
            progress[s],
            max_steps,
            moments,
            moments_known,
            of_steps,
        )
        if codes[s] != CONVERGED:
            for a in range(d):
                theta[s, a] = best[a]


@compiled_no_alloc
def bound_gradients_of_small_differences(table, groups, theta, limits, work, found):
    """Bound the sums over decisions and options of p_j |x_ja - x_chosen,a| from above.

    Only small differences are summed: not 0, and within the limit. p_j is at most
    exp(q_j) / (1 + exp(q_j)), with q_j the utility relative to the option chosen, which saves the
    sum over the set. And the mean of a set's small differences is at most the largest of them.

    groups : decisions in the order of groups, where those of each begin, which groups to do
    theta, limits : of each of these groups, (n, d)
    work : (2, d); found : (n, d), filled
    """
    rows, offset, available, first_row, chosen, weights = table
    order, bounds, which = groups
    d = theta.shape[1]
    for i in range(len(which)):
        for a in range(d):
            found[i, a] = 0.0
        for j in range(bounds[which[i]], bounds[which[i] + 1]):
            k = order[j]
            c = first_row[k] + chosen[k]
            some = False
            for r in range(first_row[k], first_row[k + 1]):
                small = False
                for a in range(d):
                    away = math.fabs(rows[r, a] - rows[c, a])
                    small |= (away > 0.0) & (away <= limits[i, a])
                if not small or (available.size and not available[r]):
                    continue
                if not some:
                    some = True
                    for a in range(d):
                        work[0, a] = 0.0
                        work[1, a] = 0.0
                q = offset[r] - offset[c] if offset.size else 0.0
                for a in range(d):
                    q += theta[i, a] * (rows[r, a] - rows[c, a])
                p = 1.0 / (1.0 + math.exp(-q))  # 0, too, where the exponential is infinite
                for a in range(d):
                    away = math.fabs(rows[r, a] - rows[c, a])
                    if away <= limits[i, a]:
                        work[0, a] += p * away
                        if away > work[1, a]:
                            work[1, a] = away
            if some:
                weight = weights[k] if weights.size else 1.0
                for a in range(d):
                    less = work[0, a] if work[0, a] < work[1, a] else work[1, a]
                    found[i, a] += weight * less


@compiled_no_alloc
def sizes_of_differences(table, sizes):
    """Write |x_ja - x_chosen,a| of available options that differ from the chosen; count them.

    sizes : (d, n) with n at least the number of rows less that of decisions
    """
    rows, _, available, first_row, chosen, weights = table
    d, n = len(sizes), 0
    for k in range(len(chosen)):
        if weights.size and not weights[k] > 0.0:
            continue
        c = first_row[k] + chosen[k]
        for r in range(first_row[k], first_row[k + 1]):
            if r == c or (available.size and not available[r]):
                continue
            differs = False
            for a in range(d):
                sizes[a, n] = math.fabs(rows[c, a] - rows[r, a])
                differs |= sizes[a, n] != 0.0
            n += differs
    return n
