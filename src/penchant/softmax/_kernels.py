"""Compiled loops of the softmax likelihood. Bare arrays, no policy.

Decisions are packed in blocks of eight lanes. A block holds, for each of its rows and variables,
eight numbers: x of that row's option relative to the option chosen, one per decision. The chosen
option itself needs no row (its objective is 0), so a block has one row fewer than its largest
choice set; smaller sets are filled up with zeros, and `side` counts those.
"""

import math
from typing import Any

import numpy as np

from penchant._compiled import njit
from penchant.softmax._emit import LANES
from penchant.softmax._lanes import block_moments, relative_rows

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# What makes no array needs no count of references, which costs more than a small set's arithmetic.
_BARE: dict[str, Any] = {**_OPTIONS, "_nrt": False}

compiled = njit(**_OPTIONS)
bare = njit(**_BARE)
# Called by compiled loops alone: without what Python needs to call it, it compiles sooner.
inner = njit(
    nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

CHUNK = 512  # blocks summed together; fixed, so that the number of threads changes no digit

MOVED, CONVERGED, STALLED, SINGULAR, SLOW = 0, 1, 2, 3, 4
ENOUGH = 1e-10  # Newton decrement, in standard errors
SMALL = 0.05  # below this a Newton step from a finite maximum at least squares the decrement
PATIENCE = 3
GAIN = 0.25  # of what a step promises: less, and it ends where all is certain and nothing moves


@compiled
def lanes(n):
    """Room for n vectors of eight numbers, none across two lines of the processor's cache."""
    room = np.empty((n + 1) * LANES)
    skip = -(room.ctypes.data // room.itemsize) % LANES
    return room[skip : skip + n * LANES]


@bare
def block_starts(order, n_rows, starts):
    """Row at which each block starts, for decisions in `order`; returns the number of blocks."""
    n_blocks = (len(order) + LANES - 1) // LANES
    starts[0] = 0
    for b in range(n_blocks):
        most = 0
        for j in range(b * LANES, min((b + 1) * LANES, len(order))):
            most = max(most, n_rows[order[j]])
        starts[b + 1] = starts[b] + most
    return n_blocks


@compiled
def places_for(n_rows, d):
    """Arrays in which `pack_blocks` notes where rows come from, and the sizes found so far."""
    return (
        np.empty((n_rows + 1, LANES), dtype=np.int64),  # one more: written before it is counted
        np.empty(LANES, dtype=np.int64),
        np.empty((2, d, LANES)),
    )


@bare
def pack_blocks(table, variables, offset, order, starts, begin, end, packed, largest, places):
    """Write blocks begin..end: rows relative to the chosen one, weights, numbers of filling rows.

    `largest` (2, n_columns) collects the largest |x| and the largest |x_i - x_chosen|. A filling
    row is the chosen one relative to itself; lanes beyond the last decision repeat the first.
    `places` are arrays for what stands in between.
    """
    values, side = packed
    rows, known, available, first_row, chosen, weights = table
    d = len(variables)
    n_columns = d + len(offset)
    sources, references, size = places
    for a in range(d):
        for lane in range(LANES):
            size[0, a, lane] = 0.0
            size[1, a, lane] = 0.0
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


@bare
def most_rows_of(starts, begin, end):
    """Rows of the largest of the blocks begin..end."""
    most = 1
    for b in range(begin, end):
        most = max(most, starts[b + 1] - starts[b])
    return most


@inner
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


@compiled
def sum_parts(packed, theta, variables, offset, begin, end, parts):
    """Moments of each chunk of the blocks begin..end, one row of `parts` for each chunk."""
    scratch = lanes(most_rows_of(packed[1], begin, end))
    total = lanes(parts.shape[1])
    for i in range(len(parts)):
        first = begin + i * CHUNK
        last = min(first + CHUNK, end)
        sum_chunk(packed, theta, variables, offset, first, last, scratch, total, parts[i])


@inner
def sum_chunks(packed, n_blocks, theta, variables, offset, scratch, total, part, moments):
    """Sum all blocks, chunk after chunk; `part` is room for one chunk's moments."""
    for j in range(len(moments)):
        moments[j] = 0.0
    for begin in range(0, n_blocks, CHUNK):
        end = min(begin + CHUNK, n_blocks)
        sum_chunk(packed, theta, variables, offset, begin, end, scratch, total, part)
        for j in range(len(moments)):
            moments[j] += part[j]


@inner
def newton_step(information, gradient, step, room):
    """Newton step on columns scaled to unit information; returns the squared decrement, or NaN.

    `room` (d + 2, d) or larger: for the Cholesky factor of the correlation, the scale and the
    scaled gradient. Views of it would cost more than the arithmetic.
    """
    d = len(gradient)
    scale, scaled = d, d + 1
    for a in range(d):
        room[scale, a] = math.sqrt(information[a, a]) if information[a, a] > 0.0 else np.nan
        room[scaled, a] = gradient[a] / room[scale, a]
    smallest = 1.0
    for a in range(d):
        for c in range(a + 1):
            rest = information[a, c] / room[scale, a] / room[scale, c]
            for e in range(c):
                rest -= room[a, e] * room[c, e]
            if a == c:
                smallest = min(smallest, rest)
                room[a, a] = math.sqrt(rest) if rest > 0.0 else np.nan
            else:
                room[a, c] = rest / room[c, c]
    if not smallest > 1e-15:
        return np.nan
    for a in range(d):
        rest = room[scaled, a]
        for c in range(a):
            rest -= room[a, c] * step[c]
        step[a] = rest / room[a, a]
    for a in range(d - 1, -1, -1):
        rest = step[a]
        for c in range(a + 1, d):
            rest -= room[c, a] * step[c]
        step[a] = rest / room[a, a]
    squared = 0.0
    for a in range(d):
        squared += step[a] * room[scaled, a]
        step[a] /= room[scale, a]
    return squared


@inner
def value_at(moments, precision, linear, theta):
    """Log-likelihood plus the prior -theta'P theta/2 + b'theta."""
    value = moments[0]
    for a in range(len(linear)):
        pull = 0.0
        for c in range(len(linear)):
            pull += precision[a, c] * theta[c]
        value += theta[a] * (linear[a] - 0.5 * pull)
    return value


@inner
def derivatives_at(moments, precision, linear, theta, gradient, information):
    """Gradient and information of the same sum."""
    d = len(linear)
    for a in range(d):
        pull = 0.0
        for c in range(d):
            pull += precision[a, c] * theta[c]
        gradient[a] = linear[a] - pull - moments[1 + a]
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            information[a, c] = both + precision[a, c]
            information[c, a] = both + precision[c, a]


@bare
def advance(moments, precision, linear, theta, best, step, information, gradient, memo, room):
    """One move of Newton's method with step halving: given the moments at theta, the next theta.

    `memo`: best value, fraction of the step tried, decrement, slow steps in a row, steps taken.
    `best`, `information`, `gradient` are those of the best point so far. At CONVERGED, theta is
    best + step: the polishing step, which needs no further evaluation. `room` is for
    `newton_step`.
    """
    d = len(linear)
    value = value_at(moments, precision, linear, theta)
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
    derivatives_at(moments, precision, linear, best, gradient, information)
    squared = newton_step(information, gradient, step, room)
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


@bare
def start_memo(memo):
    """Fresh memory of `advance`."""
    memo[0] = -np.inf
    memo[1] = 1.0
    memo[2] = np.inf
    memo[3] = 0.0
    memo[4] = 0.0


@bare
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


@compiled
def room_for(n_rows, d, n_columns):
    """Arrays for numbers in between, for blocks of at most `n_rows` rows."""
    n_moments = 1 + d + d * (d + 1) // 2
    return (
        lanes(n_rows),
        lanes(n_moments),
        np.empty(n_moments),
        np.ones(n_columns),
        np.empty((d + 2, d)),
    )


@bare
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


@bare
def scatter(problem, moments, rooms, weighted, spread):
    """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the set, in `spread`.

    It is the information at theta = 0, each set weighted by its size; `weighted`, of the shape of
    the packed `side`, is room for those weights. Returns whether `moments` are those of theta = 0
    afterwards: where all sets are of one size, they are the same sums.
    """
    packed, n_blocks, variables, offset = problem
    values, starts, side = packed
    scratch, total, part, full, _ = rooms
    d = len(variables)
    same = len(offset) == 0 and same_size(starts, side, n_blocks) > 0
    count = 0.0
    for b in range(n_blocks):
        of_block = 0.0
        for lane in range(LANES):
            weight = side[b, lane]
            if not same:
                weight *= starts[b + 1] - starts[b] - side[b, LANES + lane] + 1.0
                weighted[b, lane] = weight
                weighted[b, LANES + lane] = side[b, LANES + lane]
            of_block += weight
        count += of_block
    for a in range(len(full)):
        full[a] = 0.0
    aside = side if same else weighted
    sum_chunks(
        (values, starts, aside), n_blocks, full, variables, offset, scratch, total, part, moments
    )
    for a in range(len(full)):
        full[a] = 1.0
    for a in range(d):
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            spread[a, c] = both / count if count > 0.0 else 0.0
            spread[c, a] = spread[a, c]
    return same


@compiled
def fit_subjects(table, order, bounds, n_rows, variables, offset, prior, results, begin, end):
    """Fit subjects begin..end, whose decisions are order[bounds[s]:bounds[s + 1]].

    Each is packed into a scratch that stays in the processor's cache. `prior` holds a precision,
    a linear term and a multiple of the squared column scales to add to the precision.
    """
    base_precision, linear, ridge, max_steps = prior
    theta, information, gradient, memo, codes, spread, largest = results
    d = np.int64(len(variables))  # no literal: what is called is not compiled for each anew
    n_columns = d + len(offset)
    most_blocks, all_rows, most_rows = scratch_size(order, bounds, n_rows, begin, end)
    starts = np.empty(most_blocks + 1, dtype=np.int64)
    values = lanes(all_rows * n_columns)
    side = lanes(2 * most_blocks).reshape(most_blocks, 2 * LANES)
    weighted = np.empty((most_blocks, 2 * LANES))
    places = places_for(most_rows, d)
    moments = np.empty(1 + d + d * (d + 1) // 2)
    best, step = np.empty(d), np.zeros(d)
    precision = np.empty((d, d))
    rooms = room_for(most_rows, d, n_columns)
    for s in range(begin, end):
        mine = order[bounds[s] : bounds[s + 1]]
        n_blocks = block_starts(mine, n_rows, starts)
        size = largest[s]
        pack_blocks(
            table,
            variables,
            offset,
            mine,
            starts,
            np.int64(0),
            n_blocks,
            (values, side),
            size,
            places,
        )
        codes[s] = SINGULAR
        if n_blocks == 0:
            continue
        problem = ((values, starts, side), n_blocks, variables, offset)
        ready = scatter(problem, moments, rooms, weighted, spread[s])
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


@inner
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
