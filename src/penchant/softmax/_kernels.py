"""Compiled loops of the softmax likelihood. Bare arrays, no policy.

Decisions are packed in blocks of eight lanes. A block holds, for each of its rows and variables,
eight numbers: x of that row's option relative to the option chosen, one per decision. The chosen
option itself needs no row (its objective is 0), so a block has one row fewer than its largest
choice set; smaller sets are filled up with zeros, and `side` counts those.
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from penchant.softmax._lanes import LANES, _Emit, block_moments

CHUNK = 512  # blocks summed together; fixed, so that the number of threads changes no digit

MOVED, CONVERGED, STALLED, SINGULAR, SLOW = 0, 1, 2, 3, 4
ENOUGH = 1e-10  # Newton decrement, in standard errors
SMALL = 0.05  # below this a Newton step from a finite maximum at least squares the decrement
PATIENCE = 3


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


@intrinsic
def relative_rows(
    typingctx, rows, sources, n_rows, references, variables, offset, values, place, size
):
    """Write the rows of one block relative to its chosen rows, eight decisions at a time.

    Parameters (in compiled code)
    ----------
    rows : variables of all options, (n, d)
    sources : flat position in `rows` of each row to write, (n_rows, 8)
    references : flat position of the chosen rows, (8,)
    variables : tuple of length d; offset : tuple of length 1 with an offset column, else 0
    values : packed variables, flat; `place` the flat position of the block
    size : (2, d, 8): the largest |x| and |x_i - x_chosen| so far
    """
    d = len(variables)
    stride = (d + len(offset)) * LANES

    def build(context, builder, signature, arguments):
        def data(i):
            return context.make_array(signature.args[i])(context, builder, arguments[i]).data

        emit = _Emit(builder)
        table, places, size = data(0), data(1), data(8)
        block = builder.gep(data(6), [arguments[7]])
        near = _gathered(builder, table, data(3), _at(0), d)
        before = [emit.load(size, _at(j * LANES)) for j in range(2 * d)]
        starts = [emit.max(_absolute(emit, near[a]), before[a]) for a in range(d)] + before[d:]

        def body(row, carried):
            x = _gathered(builder, table, places, builder.mul(row, _at(LANES)), d)
            z = [builder.fsub(x[a], near[a]) for a in range(d)]
            first = builder.mul(row, _at(stride))
            for a in range(d):
                emit.store(z[a], block, builder.add(first, _at(a * LANES)))
            return [emit.max(_absolute(emit, v), c) for v, c in zip(x + z, carried, strict=True)]

        for j, largest in enumerate(emit.over_rows(arguments[2], body, starts)):
            emit.store(largest, size, _at(j * LANES))
        return context.get_dummy_value()

    return types.void(
        rows, sources, types.int64, references, variables, offset, values, types.int64, size
    ), build


def _at(number):
    return ir.Constant(ir.IntType(64), number)


def _absolute(emit, lanes):
    """|x| by clearing the sign bit."""
    bits = emit.builder.bitcast(lanes, ir.VectorType(ir.IntType(64), LANES))
    return emit.builder.bitcast(emit.builder.and_(bits, emit.all_ints(2**63 - 1)), lanes.type)


def _gathered(builder, table, places, first, d):
    """Vectors of the d variables of the eight rows that begin at places[first..first + 7]."""
    begins = [
        builder.gep(table, [builder.load(builder.gep(places, [builder.add(first, _at(lane))]))])
        for lane in range(LANES)
    ]
    vectors = []
    for a in range(d):
        vector = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), ir.Undefined)
        for lane, begin in enumerate(begins):
            number = builder.load(builder.gep(begin, [_at(a)]))
            vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
        vectors.append(vector)
    return vectors


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
def sum_blocks(packed, theta, variables, offset, begin, end, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of blocks begin..end."""
    values, starts, side = packed
    d = len(variables)
    n_moments = 1 + d + d * (d + 1) // 2
    n_columns = d + len(offset)
    most = 1
    for b in range(begin, end):
        most = max(most, starts[b + 1] - starts[b])
    scratch = np.empty(most * LANES)
    total = np.zeros(n_moments * LANES)
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
    for j in range(n_moments):
        moments[j] = 0.0
        for lane in range(LANES):
            moments[j] += total[j * LANES + lane]


@njit(cache=True, nogil=True, error_model="numpy")
def sum_chunks(packed, n_blocks, theta, variables, offset, moments):
    """Sum all blocks, chunk after chunk."""
    for j in range(len(moments)):
        moments[j] = 0.0
    part = np.empty(len(moments))
    for begin in range(0, n_blocks, CHUNK):
        sum_blocks(packed, theta, variables, offset, begin, min(begin + CHUNK, n_blocks), part)
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
def newton_step(information, gradient, step):
    """Newton step on columns scaled to unit information; returns the squared decrement, or NaN."""
    d = len(gradient)
    scale = np.empty(d)
    for a in range(d):
        scale[a] = math.sqrt(information[a, a]) if information[a, a] > 0.0 else np.nan
    correlation = np.empty((d, d))
    for a in range(d):
        for c in range(d):
            correlation[a, c] = information[a, c] / scale[a] / scale[c]
    factor = np.empty((d, d))
    smallest = cholesky(correlation, factor)
    if not smallest > 1e-15:
        return np.nan
    scaled = np.empty(d)
    for a in range(d):
        scaled[a] = gradient[a] / scale[a]
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
def advance(moments, precision, linear, theta, best, step, information, gradient, memo):
    """One move of Newton's method with step halving: given the moments at theta, the next theta.

    `memo`: best value, fraction of the step tried, decrement, slow steps in a row, steps taken.
    `best`, `information`, `gradient` are those of the best point so far. At CONVERGED, theta is
    best + step: the polishing step, which needs no further evaluation.
    """
    d = len(linear)
    trial_gradient = np.empty(d)
    trial_information = np.empty((d, d))
    value = unpack_moments(moments, precision, linear, theta, trial_gradient, trial_information)
    slack = 1e-13 * (1.0 + abs(memo[0]))
    if not (math.isfinite(value) and value >= memo[0] - slack):
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
    squared = newton_step(information, gradient, step)
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
def maximise(
    packed, n_blocks, variables, offset, prior, theta, best, information, gradient, memo, max_steps
):
    """Maximise the log-likelihood plus a quadratic from theta; returns how it ended."""
    precision, linear = prior
    d = len(variables)
    moments = np.empty(1 + d + d * (d + 1) // 2)
    step = np.zeros(d)
    full = np.ones(d + len(offset))
    start_memo(memo)
    while True:
        for a in range(d):
            full[a] = theta[a]
        sum_chunks(packed, n_blocks, full, variables, offset, moments)
        code = advance(moments, precision, linear, theta, best, step, information, gradient, memo)
        if code != MOVED or memo[4] >= max_steps:
            return code


@njit(cache=True, nogil=True, error_model="numpy")
def scatter(packed, n_blocks, variables, offset, n_options, moments):
    """Within-set scatter, the sum of (x_i - mean)(x_i - mean)' over all rows, in `moments`."""
    values, starts, side = packed
    weighted = np.empty((n_blocks, 2 * LANES))
    for b in range(n_blocks):
        rows = starts[b + 1] - starts[b]
        for lane in range(LANES):
            options = rows - side[b, LANES + lane] + 1.0
            weighted[b, lane] = side[b, lane] * options
            weighted[b, LANES + lane] = side[b, LANES + lane]
            n_options[0] += weighted[b, lane]
    theta = np.zeros(len(variables) + len(offset))
    sum_chunks((values, starts, weighted), n_blocks, theta, variables, offset, moments)


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
    most_blocks, most_rows = scratch_size(order, bounds, n_rows, begin, end)
    starts = np.empty(most_blocks + 1, dtype=np.int64)
    values = np.empty(most_rows * n_columns * LANES)
    side = np.empty((most_blocks, 2 * LANES))
    moments = np.empty(1 + d + d * (d + 1) // 2)
    best = np.empty(d)
    precision = np.empty((d, d))
    count = np.zeros(1)
    for s in range(begin, end):
        mine = order[bounds[s] : bounds[s + 1]]
        n_blocks = block_starts(mine, n_rows, starts)
        pack_blocks(table, variables, offset, mine, starts, 0, n_blocks, values, side, largest[s])
        packed = (values, starts, side)
        codes[s] = SINGULAR
        if n_blocks == 0:
            continue
        count[0] = 0.0
        scatter(packed, n_blocks, variables, offset, count, moments)
        for a in range(d):
            for c in range(d):
                precision[a, c] = base_precision[a, c]
        for a in range(d):
            for c in range(a + 1):
                spread[s, a, c] = moments[1 + d + a * (a + 1) // 2 + c] / count[0]
                spread[s, c, a] = spread[s, a, c]
            scale = math.sqrt(spread[s, a, a])  # as the prior has it, to the last digit
            precision[a, a] += ridge * (scale * scale)
        codes[s] = maximise(
            packed,
            n_blocks,
            variables,
            offset,
            (precision, linear),
            theta[s],
            best,
            information[s],
            gradient[s],
            memo[s],
            max_steps,
        )
        if codes[s] != CONVERGED:
            for a in range(d):
                theta[s, a] = best[a]


@njit(cache=True, nogil=True, error_model="numpy")
def scratch_size(order, bounds, n_rows, begin, end):
    """Blocks and block rows of the largest subject, for any order of its decisions."""
    most_blocks = 0
    most_rows = 0
    for s in range(begin, end):
        n_blocks = (bounds[s + 1] - bounds[s] + LANES - 1) // LANES
        rows = 0
        for b in range(n_blocks):
            most = 0
            for j in range(bounds[s] + b * LANES, min(bounds[s] + (b + 1) * LANES, bounds[s + 1])):
                most = max(most, n_rows[order[j]])
            rows += most
        most_blocks = max(most_blocks, n_blocks)
        most_rows = max(most_rows, rows)
    return most_blocks, most_rows
