"""Compiled loops of the softmax likelihood. Bare arrays, no policy.

Decisions are packed in blocks of eight lanes. A block holds, for each of its rows and variables,
eight numbers: x of that row's option relative to the option chosen, one per decision. The chosen
option itself needs no row (its objective is 0), so a block has one row fewer than its largest
choice set; smaller sets are filled up with zeros, and `side` counts those.
"""

import math

import numpy as np
from numba import njit

from penchant.softmax._lanes import LANES, block_moments, relative_rows

CHUNK = 512  # blocks summed together; fixed, so that the number of threads changes no digit

MOVED, CONVERGED, STALLED, SINGULAR, SLOW = 0, 1, 2, 3, 4
ENOUGH = 1e-10  # Newton decrement, in standard errors
SMALL = 0.05  # below this a Newton step from a finite maximum at least squares the decrement
PATIENCE = 3
GAIN = 0.25  # of what a step promises: less, and it ends where all is certain and nothing moves


@njit(cache=True, nogil=True, error_model="numpy")
def block_starts(order, n_rows, starts):
    """Row at which each block starts, for decisions in `order`; returns the number of blocks."""
    n_blocks = (len(order) + LANES - 1) // LANES
    starts[0] = 0
    for b in range(n_blocks):
        most = 0
        for k in order[b * LANES : (b + 1) * LANES]:
            most = max(most, n_rows[k])
        starts[b + 1] = starts[b] + most
    return n_blocks


@njit(cache=True, nogil=True, error_model="numpy")
def pack_blocks(table, variables, offset, order, starts, begin, end, values, side, largest):
    """Write blocks begin..end: rows relative to the chosen one, weights, numbers of filling rows.

    `largest` (2, n_columns) collects the largest |x| and the largest |x_i - x_chosen|. A filling
    row is the chosen one relative to itself; lanes beyond the last decision repeat the first.
    """
    rows, known, available, first_row, chosen, weights = table
    d = len(variables)
    n_columns = d + len(offset)
    most = 0
    for b in range(begin, end):
        most = max(most, starts[b + 1] - starts[b])
    sources = np.empty((most + 1, LANES), dtype=np.int64)  # one more: written before it is counted
    references = np.empty(LANES, dtype=np.int64)
    size = np.zeros((2, d, LANES))
    for b in range(begin, end):
        n_rows = starts[b + 1] - starts[b]
        place = starts[b] * n_columns * LANES
        for lane in range(LANES):
            inside = b * LANES + lane < len(order)
            k = order[b * LANES + lane] if inside else order[b * LANES]
            c = first_row[k] + chosen[k]
            references[lane] = c * d
            side[b, lane] = 0.0
            used = 0
            if inside:
                side[b, lane] = weights[k] if weights.size else 1.0
                for r in range(first_row[k], first_row[k + 1]):
                    sources[used, lane] = r * d
                    used += r != c and (not available.size or available[r])
            side[b, LANES + lane] = n_rows - used
            for row in range(used, n_rows):
                sources[row, lane] = c * d
        relative_rows(rows, sources, n_rows, references, variables, offset, values, place, size)
        if len(offset):
            for row in range(n_rows):
                for lane in range(LANES):
                    i, c = sources[row, lane] // d, references[lane] // d
                    values[place + (row * n_columns + d) * LANES + lane] = known[i] - known[c]
    for a in range(d):
        for lane in range(LANES):
            largest[0, a] = max(largest[0, a], size[0, a, lane])
            largest[1, a] = max(largest[1, a], size[1, a, lane])


@njit(cache=True, nogil=True, error_model="numpy")
def most_rows_of(starts, begin, end):
    """Rows of the largest of the blocks begin..end."""
    most = 1
    for b in range(begin, end):
        most = max(most, starts[b + 1] - starts[b])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def sum_chunk(packed, theta, variables, offset, begin, end, scratch, total, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of blocks begin..end.

    `scratch` holds 8 numbers for each row of the largest block, `total` 8 for each moment.
    """
    values, starts, side = packed
    n_columns = len(variables) + len(offset)
    for j in range(len(total)):
        total[j] = 0.0
    for b in range(begin, end):
        block_moments(
            values,
            starts[b] * n_columns * LANES,
            starts[b + 1] - starts[b],
            theta,
            variables,
            offset,
            side[b],
            scratch,
            total,
        )
    for j in range(len(moments)):
        moments[j] = 0.0
        for lane in range(LANES):
            moments[j] += total[j * LANES + lane]


@njit(cache=True, nogil=True, error_model="numpy")
def sum_parts(packed, theta, variables, offset, begin, end, parts):
    """Moments of each chunk of the blocks begin..end, one row of `parts` for each chunk."""
    scratch = np.empty(most_rows_of(packed[1], begin, end) * LANES)
    total = np.empty(parts.shape[1] * LANES)
    for i in range(len(parts)):
        first = begin + i * CHUNK
        last = min(first + CHUNK, end)
        sum_chunk(packed, theta, variables, offset, first, last, scratch, total, parts[i])


@njit(cache=True, nogil=True, error_model="numpy")
def sum_chunks(packed, n_blocks, theta, variables, offset, scratch, total, part, moments):
    """Sum all blocks, chunk after chunk; `part` is room for one chunk's moments."""
    for j in range(len(moments)):
        moments[j] = 0.0
    for begin in range(0, n_blocks, CHUNK):
        end = min(begin + CHUNK, n_blocks)
        sum_chunk(packed, theta, variables, offset, begin, end, scratch, total, part)
        for j in range(len(moments)):
            moments[j] += part[j]


@njit(cache=True, nogil=True, error_model="numpy")
def cholesky(matrix, factor):
    """Cholesky factor of a matrix with unit diagonal; returns the smallest pivot."""
    d = len(matrix)
    smallest = 1.0
    for a in range(d):
        for c in range(a + 1):
            rest = matrix[a, c]
            for e in range(c):
                rest -= factor[a, e] * factor[c, e]
            if a == c:
                smallest = min(smallest, rest)
                factor[a, a] = math.sqrt(rest) if rest > 0.0 else np.nan
            else:
                factor[a, c] = rest / factor[c, c]
    return smallest


@njit(cache=True, nogil=True, error_model="numpy")
def solve(factor, right, solution):
    """Solve with a Cholesky factor."""
    d = len(right)
    for a in range(d):
        rest = right[a]
        for c in range(a):
            rest -= factor[a, c] * solution[c]
        solution[a] = rest / factor[a, a]
    for a in range(d - 1, -1, -1):
        rest = solution[a]
        for c in range(a + 1, d):
            rest -= factor[c, a] * solution[c]
        solution[a] = rest / factor[a, a]


@njit(cache=True, nogil=True, error_model="numpy")
def newton_step(information, gradient, step, room):
    """Newton step on columns scaled to unit information; returns the squared decrement, or NaN.

    `room` (2 d + 2, d): for the correlation, its factor, the scale and the scaled gradient.
    """
    d = len(gradient)
    correlation, factor = room[:d], room[d : 2 * d]
    scale, scaled = room[2 * d], room[2 * d + 1]
    for a in range(d):
        scale[a] = math.sqrt(information[a, a]) if information[a, a] > 0.0 else np.nan
        scaled[a] = gradient[a] / scale[a]
    for a in range(d):
        for c in range(d):
            correlation[a, c] = information[a, c] / scale[a] / scale[c]
    smallest = cholesky(correlation, factor)
    if not smallest > 1e-15:
        return np.nan
    solve(factor, scaled, step)
    squared = 0.0
    for a in range(d):
        squared += step[a] * scaled[a]
        step[a] /= scale[a]
    return squared


@njit(cache=True, nogil=True, error_model="numpy")
def unpack_moments(moments, precision, linear, theta, gradient, information):
    """Add the prior -theta'P theta/2 + b'theta to the moments; returns the value."""
    d = len(linear)
    value = moments[0]
    for a in range(d):
        pull = 0.0
        for c in range(d):
            pull += precision[a, c] * theta[c]
        value += theta[a] * (linear[a] - 0.5 * pull)
        gradient[a] = linear[a] - pull - moments[1 + a]
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            information[a, c] = both + precision[a, c]
            information[c, a] = both + precision[c, a]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def advance(moments, precision, linear, theta, best, step, information, gradient, memo, room):
    """One move of Newton's method with step halving: given the moments at theta, the next theta.

    `memo`: best value, fraction of the step tried, decrement, slow steps in a row, steps taken.
    `best`, `information`, `gradient` are those of the best point so far. At CONVERGED, theta is
    best + step: the polishing step, which needs no further evaluation. `room` (3 d + 3, d) is for
    numbers in between.
    """
    d = len(linear)
    trial_information, trial_gradient = room[:d], room[d]
    value = unpack_moments(moments, precision, linear, theta, trial_gradient, trial_information)
    least = memo[0] - 1e-13 * (1.0 + abs(memo[0]))
    if memo[4] > 0.0:
        least += GAIN * memo[1] * memo[2] ** 2
    if not (math.isfinite(value) and value >= least):
        memo[1] *= 0.5
        for a in range(d):
            theta[a] = best[a] + memo[1] * step[a]
        return MOVED if memo[1] > 1e-12 else STALLED
    memo[0] = value
    for a in range(d):
        best[a] = theta[a]
        gradient[a] = trial_gradient[a]
        for c in range(d):
            information[a, c] = trial_information[a, c]
    squared = newton_step(information, gradient, step, room[d + 1 :])
    if not math.isfinite(squared):
        return SINGULAR
    previous = memo[2]
    memo[2] = math.sqrt(max(squared, 0.0))
    for a in range(d):
        theta[a] = best[a] + step[a]
    if memo[2] < ENOUGH:
        return CONVERGED
    memo[3] = memo[3] + 1.0 if previous < SMALL and memo[2] > 0.25 * previous else 0.0
    memo[1] = 1.0
    memo[4] += 1.0
    return SLOW if memo[3] >= PATIENCE else MOVED


@njit(cache=True, nogil=True, error_model="numpy")
def start_memo(memo):
    """Fresh memory of `advance`."""
    memo[0] = -np.inf
    memo[1] = 1.0
    memo[2] = np.inf
    memo[3] = 0.0
    memo[4] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def maximise(problem, prior, theta, state, memo, max_steps, moments, ready, rooms):
    """Maximise the log-likelihood plus a quadratic from theta; returns how it ended.

    problem : packed choices, number of blocks, and the two tuples of lengths
    state : best, step, information, gradient; all are filled
    moments : those at theta if `ready`; rooms : numbers in between (see `room_for`)
    """
    packed, n_blocks, variables, offset = problem
    precision, linear = prior
    best, step, information, gradient = state
    scratch, total, part, full, room = rooms
    d = len(variables)
    start_memo(memo)
    while True:
        if not ready:
            for a in range(d):
                full[a] = theta[a]
            sum_chunks(packed, n_blocks, full, variables, offset, scratch, total, part, moments)
        ready = False
        code = advance(
            moments, precision, linear, theta, best, step, information, gradient, memo, room
        )
        if code != MOVED or memo[4] >= max_steps:
            return code


@njit(cache=True, nogil=True, error_model="numpy")
def room_for(n_rows, variables, offset):
    """Arrays for numbers in between, for blocks of at most `n_rows` rows."""
    d = len(variables)
    n_moments = 1 + d + d * (d + 1) // 2
    return (
        np.empty(n_rows * LANES),
        np.empty(n_moments * LANES),
        np.empty(n_moments),
        np.ones(d + len(offset)),
        np.empty((3 * d + 3, d)),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def same_size(starts, side, n_blocks):
    """Number of rows of every set that counts, or 0 if they differ."""
    rows = starts[1] - starts[0]
    for b in range(n_blocks):
        if starts[b + 1] - starts[b] != rows:
            return 0
        for lane in range(LANES):
            if side[b, lane] != 0.0 and side[b, LANES + lane] != 0.0:
                return 0
    return rows


@njit(cache=True, nogil=True, error_model="numpy")
def scatter(problem, moments, rooms, spread):
    """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the set, in `spread`.

    It is the information at theta = 0, each set weighted by its size. Returns whether `moments` are
    those of theta = 0 afterwards: where all sets are of one size, they are the same sums.
    """
    packed, n_blocks, variables, offset = problem
    values, starts, side = packed
    scratch, total, part, full, _ = rooms
    d = len(variables)
    same = same_size(starts, side, n_blocks) if len(offset) == 0 else 0
    weighted = side
    count = 0.0
    if not same:
        weighted = np.empty((n_blocks, 2 * LANES))
    for b in range(n_blocks):
        for lane in range(LANES):
            weight = side[b, lane]
            if not same:
                weight *= starts[b + 1] - starts[b] - side[b, LANES + lane] + 1.0
                weighted[b, lane] = weight
                weighted[b, LANES + lane] = side[b, LANES + lane]
            count += weight
    for a in range(len(full)):
        full[a] = 0.0
    sum_chunks(
        (values, starts, weighted), n_blocks, full, variables, offset, scratch, total, part, moments
    )
    for a in range(len(full)):
        full[a] = 1.0
    for a in range(d):
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            spread[a, c] = both / count if count > 0.0 else 0.0
            spread[c, a] = spread[a, c]
    return same > 0


@njit(cache=True, nogil=True, error_model="numpy")
def fit_subjects(table, order, bounds, n_rows, variables, offset, prior, results, begin, end):
    """Fit subjects begin..end, whose decisions are order[bounds[s]:bounds[s + 1]].

    Each is packed into a scratch that stays in the processor's cache. `prior` holds a precision,
    a linear term and a multiple of the squared column scales to add to the precision.
    """
    base_precision, linear, ridge, max_steps = prior
    theta, information, gradient, memo, codes, spread, largest = results
    d = len(variables)
    n_columns = d + len(offset)
    most_blocks, all_rows, most_rows = scratch_size(order, bounds, n_rows, begin, end)
    starts = np.empty(most_blocks + 1, dtype=np.int64)
    values = np.empty(all_rows * n_columns * LANES)
    side = np.empty((most_blocks, 2 * LANES))
    moments = np.empty(1 + d + d * (d + 1) // 2)
    best, step = np.empty(d), np.zeros(d)
    precision = np.empty((d, d))
    rooms = room_for(most_rows, variables, offset)
    for s in range(begin, end):
        mine = order[bounds[s] : bounds[s + 1]]
        n_blocks = block_starts(mine, n_rows, starts)
        pack_blocks(table, variables, offset, mine, starts, 0, n_blocks, values, side, largest[s])
        codes[s] = SINGULAR
        if n_blocks == 0:
            continue
        problem = ((values, starts, side), n_blocks, variables, offset)
        ready = scatter(problem, moments, rooms, spread[s])
        for a in range(d):
            for c in range(d):
                precision[a, c] = base_precision[a, c]
            scale = math.sqrt(spread[s, a, a])  # as the prior has it, to the last digit
            precision[a, a] += ridge * (scale * scale if scale > 0.0 else 1.0)
            ready = ready and theta[s, a] == 0.0
        state = (best, step, information[s], gradient[s])
        codes[s] = maximise(
            problem, (precision, linear), theta[s], state, memo[s], max_steps, moments, ready, rooms
        )
        if codes[s] != CONVERGED:
            for a in range(d):
                theta[s, a] = best[a]


@njit(cache=True, nogil=True, error_model="numpy")
def scratch_size(order, bounds, n_rows, begin, end):
    """Blocks and rows of the largest subject, and rows of the largest block."""
    most_blocks, all_rows, most_rows = 0, 0, 1
    for s in range(begin, end):
        n_blocks = (bounds[s + 1] - bounds[s] + LANES - 1) // LANES
        rows = 0
        for b in range(n_blocks):
            most = 0
            for j in range(bounds[s] + b * LANES, min(bounds[s] + (b + 1) * LANES, bounds[s + 1])):
                most = max(most, n_rows[order[j]])
            rows += most
            most_rows = max(most_rows, most)
        most_blocks = max(most_blocks, n_blocks)
        all_rows = max(all_rows, rows)
    return most_blocks, all_rows, most_rows
