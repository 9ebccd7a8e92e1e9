"""Compiled loops of the softmax likelihood. Bare arrays, no policy.

Decisions are packed in blocks of eight lanes. A block holds, for each of its rows and variables,
eight numbers: x of that row's option relative to the option chosen, one per decision. The chosen
option itself needs no row (its objective is 0), so a block has one row fewer than its largest
choice set; smaller sets are filled up with zeros, and `side` counts those.

A kind (see `kind_of`) tells the loops of the variables: they are compiled once for any number of
them. No loop makes an array, and none assigns to a slice, takes a minimum or is inlined: each of
these costs more to compile than the loop itself.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from penchant._compiled import njit
from penchant.softmax._lanes import AT_ONCE, LANES, block_moments, relative_rows

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

compiled = njit(**_OPTIONS)
# What makes no array needs no count of references, which costs more than a small set's arithmetic.
bare = njit(**_OPTIONS, _nrt=False)
# Called by compiled loops alone: without what Python needs to call it, it compiles sooner.
inner = njit(
    nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

CHUNK = 512  # blocks summed together; fixed, so that the number of threads changes no digit

FIRST = np.int64(0)  # no literal: what is called with one is compiled for it anew
MOVED, CONVERGED, STALLED, SINGULAR, SLOW = 0, 1, 2, 3, 4
MEMO = (-np.inf, 1.0, np.inf, 0.0, 0.0)  # see `advance`
ENOUGH = 1e-10  # Newton decrement, in standard errors
SMALL = 0.05  # below this a Newton step from a finite maximum at least squares the decrement
PATIENCE = 3
GAIN = 0.25  # of what a step promises: less, and it ends where all is certain and nothing moves


@bare
def pack_blocks(table, kind, order, bounds, starts, blocks, packed, places):
    """Write some blocks: rows relative to the chosen one, weights, numbers of filling rows.

    Decisions order[bounds[0]:bounds[1]], eight in a block; blocks[0] to blocks[1] of them are
    written. A filling row is the chosen one relative to itself; lanes beyond the last decision
    repeat the first. `places` are arrays for what stands in between (see `likelihood.places_for`);
    the last, (2, d, 8), is left with the largest |x| and the largest |x_i - x_chosen|. Returns
    whether all these sets are of one size.
    """
    first, last = bounds
    values, side = packed
    rows, known, available, first_row, chosen, weights = table
    _, _, d, n_columns = kind
    sources, references, size = places
    even, most = True, starts[blocks[0] + 1] - starts[blocks[0]]
    for a in range(d):
        for lane in range(LANES):
            size[0, a, lane] = 0.0
            size[1, a, lane] = 0.0
    for b in range(blocks[0], blocks[1]):
        n_rows = starts[b + 1] - starts[b]
        place = starts[b] * n_columns * LANES
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
                    sources[used, lane] = r * d
                    used += r != c and (not available.size or available[r])
                even = even and used == most
            side[b, LANES + lane] = n_rows - used
            for row in range(used, n_rows):
                sources[row, lane] = c * d
        relative_rows(kind, rows, sources, n_rows, references, values, place, size)
        if n_columns > d:
            for row in range(n_rows):
                for lane in range(LANES):
                    i, c = sources[row, lane] // d, references[lane] // d
                    values[place + (row * n_columns + d) * LANES + lane] = known[i] - known[c]
    return even


@inner
def n_alike(starts, b, last, n_columns):
    """Blocks from b on that are gone over together: of as many rows each, and close at hand."""
    n_rows, n = starts[b + 1] - starts[b], 1
    of_block = n_rows * (n_columns + 1) + n_columns + 2
    while b + n < last and (n + 1) * of_block <= AT_ONCE:
        if starts[b + n + 1] - starts[b + n] != n_rows:
            break
        n += 1
    return n


@inner
def _add_lanes(total, parts, i, moments):
    """Leave the sums of all lanes in row i of the parts, and add them to the moments."""
    for j in range(len(moments)):
        both = 0.0
        for lane in range(LANES):
            both += total[j * LANES + lane]
        parts[i, j] = both
    parts[i, 0] -= _logarithm_of_product(total, len(moments) * LANES)
    for j in range(len(moments)):
        moments[j] += parts[i, j]


@inner
def _logarithm_of_product(total, first):
    """Of eight numbers, none below 1; 0 where there is none yet."""
    if total[first] == 0.0:
        return 0.0
    product, found = 1.0, 0.0
    for j in range(first, first + LANES):
        if product * total[j] == np.inf:
            found += math.log(product)
            product = 1.0
        product *= total[j]
    return found + math.log(product)


@bare
def sum_blocks(packed, kind, theta, begin, end, rooms, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of blocks begin..end.

    Chunk after chunk, whose sums are left in the last of the `rooms`, one row for each chunk. The
    others are the scratch of `block_moments`, and 8 numbers for each moment: the sums of every
    eighth decision.
    """
    values, starts, side = packed
    scratch, total, parts = rooms
    n_columns = kind[3]
    for j in range(len(moments)):
        moments[j] = 0.0
    for i in range((end - begin + CHUNK - 1) // CHUNK):
        first = begin + i * CHUNK
        last = first + CHUNK if first + CHUNK < end else end
        for j in range(len(total)):
            total[j] = 0.0
        b = first
        while b < last:
            sizes = starts[b + 1] - starts[b], n_alike(starts, b, last, n_columns)
            place = starts[b] * n_columns * LANES
            block_moments(kind, values, place, sizes, theta, side, b, scratch, total)
            b += sizes[1]
        _add_lanes(total, parts, i, moments)


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
                if not rest >= smallest:
                    smallest = rest
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


@bare
def advance(moments, precision, linear, theta, best, step, information, gradient, memo, room):
    """One move of Newton's method with step halving: given the moments at theta, the next theta.

    The objective is the log-likelihood plus a prior -theta'P theta/2 + b'theta. `memo`: best value,
    fraction of the step tried, decrement, slow steps in a row, steps taken. `best`, `information`,
    `gradient` are those of the best point so far. At CONVERGED, theta is best + step: the polishing
    step, which needs no further evaluation. `room` is for `newton_step`.
    """
    d = len(linear)
    value = moments[0]
    for a in range(d):
        pull = 0.0
        for c in range(d):
            pull += precision[a, c] * theta[c]
        value += theta[a] * (linear[a] - 0.5 * pull)
        room[d, a] = pull
    least = memo[0] - 1e-13 * (1.0 + abs(memo[0]))
    if memo[4] > 0.0:
        least += GAIN * memo[1] * (memo[2] * memo[2])
    if not (math.isfinite(value) and value >= least):
        memo[1] *= 0.5
        for a in range(d):
            theta[a] = best[a] + memo[1] * step[a]
        return MOVED if memo[1] > 1e-12 else STALLED
    memo[0] = value
    for a in range(d):
        best[a] = theta[a]
        gradient[a] = linear[a] - room[d, a] - moments[1 + a]
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            information[a, c] = both + precision[a, c]
            information[c, a] = both + precision[c, a]
    squared = newton_step(information, gradient, step, room)
    if not math.isfinite(squared):
        return SINGULAR
    previous = memo[2]
    memo[2] = math.sqrt(squared) if squared > 0.0 else 0.0
    for a in range(d):
        theta[a] = best[a] + step[a]
    if memo[2] < ENOUGH:
        return CONVERGED
    memo[3] = memo[3] + 1.0 if previous < SMALL and memo[2] > 0.25 * previous else 0.0
    memo[1] = 1.0
    memo[4] += 1.0
    return SLOW if memo[3] >= PATIENCE else MOVED


@bare
def maximise(problem, prior, theta, state, memo, max_steps, moments, ready, rooms):
    """Maximise the log-likelihood plus a quadratic from theta; returns how it ended.

    problem : packed choices, number of blocks, and their kind
    state : best, step, information, gradient; all are filled
    memo : MEMO to begin with
    moments : those at theta if `ready`; rooms : numbers in between (see `PackedLikelihood.rooms`)
    """
    packed, n_blocks, kind = problem
    precision, linear = prior
    best, step, information, gradient = state
    of_sums, full, room = rooms
    while True:
        if not ready:
            for a in range(kind[2]):
                full[a] = theta[a]
            sum_blocks(packed, kind, full, FIRST, n_blocks, of_sums, moments)
        ready = False
        code = advance(
            moments, precision, linear, theta, best, step, information, gradient, memo, room
        )
        if code != MOVED or memo[4] >= max_steps:
            return code


@inner
def moments_on_plane(moments, basis, half, within):
    """Moments with respect to phi where theta = origin + basis phi, from those of theta.

    moments : of d weights; basis : (d, n); half : (d, n), room; within : of n coordinates, filled
    """
    d, n = basis.shape
    within[0] = moments[0]
    for r in range(n):
        slope = 0.0
        for a in range(d):
            slope += basis[a, r] * moments[1 + a]
            bent = 0.0
            for c in range(d):
                place = a * (a + 1) // 2 + c if c <= a else c * (c + 1) // 2 + a
                bent += moments[1 + d + place] * basis[c, r]
            half[a, r] = bent
        within[1 + r] = slope
    for r in range(n):
        for e in range(r + 1):
            both = 0.0
            for a in range(d):
                both += basis[a, r] * half[a, e]
            within[1 + n + r * (r + 1) // 2 + e] = both


@bare
def maximise_on_plane(problem, plane, prior, phi, state, memo, ends, rooms):
    """The same on the plane theta = origin + basis phi, from phi.

    ends : most steps, and the decrement above which slow steps are gone on with
    rooms : as in `maximise`; then moments of theta, (d, n), and moments of phi
    """
    packed, n_blocks, kind = problem
    origin, basis = plane
    precision, linear = prior
    best, step, information, gradient = state
    max_steps, least = ends
    (of_sums, full, _), moments, half, within, room = rooms
    d, n = basis.shape
    while True:
        for a in range(d):
            full[a] = origin[a]
            for r in range(n):
                full[a] += basis[a, r] * phi[r]
        sum_blocks(packed, kind, full, FIRST, n_blocks, of_sums, moments)
        moments_on_plane(moments, basis, half, within)
        code = advance(
            within, precision, linear, phi, best, step, information, gradient, memo, room
        )
        going = code == MOVED or (code == SLOW and memo[2] > least)
        if not going or memo[4] >= max_steps:
            return code


@bare
def scatter(problem, same, moments, rooms, weighted, spread):
    """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the set, in `spread`.

    It is the information at theta = 0, each set weighted by its size; `weighted`, of the shape of
    the packed `side`, is room for those weights. Where all sets are of the `same` size and nothing
    is known of an objective, `moments` are those of theta = 0 afterwards.
    """
    (values, starts, side), n_blocks, kind = problem
    of_sums, full, _ = rooms
    d = kind[2]
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
    sum_blocks((values, starts, weighted), kind, full, FIRST, n_blocks, of_sums, moments)
    for a in range(len(full)):
        full[a] = 1.0
    for a in range(d):
        for c in range(a + 1):
            both = moments[1 + d + a * (a + 1) // 2 + c]
            spread[a, c] = both / count if count > 0.0 else 0.0
            spread[c, a] = spread[a, c]


@bare
def fit_subjects(table, kind, order, bounds, blocks, prior, results, begin, end, packed, rooms):
    """Fit subjects begin..end, whose decisions are order[bounds[s]:bounds[s + 1]].

    Each is packed into `packed`, a scratch that stays in the processor's cache. `blocks` holds the
    rows of every block and where those of each subject begin; `prior` a precision, a linear term
    and a multiple of the squared column scales to add to the precision; `rooms` what stands in
    between (see `batch`).
    """
    base_precision, linear, ridge, max_steps = prior
    theta, information, gradient, memo, codes, spread, largest = results
    n_rows, first_block = blocks
    values, starts, side = packed
    places, of_steps, weighted, moments, best, step, precision = rooms
    d, n_columns = kind[2], kind[3]
    for s in range(begin, end):
        n_blocks = first_block[s + 1] - first_block[s]
        codes[s] = SINGULAR
        if n_blocks == 0:
            continue
        starts[0] = 0
        for b in range(n_blocks):
            starts[b + 1] = starts[b] + n_rows[first_block[s] + b]
        mine, all_blocks = (bounds[s], bounds[s + 1]), (FIRST, n_blocks)
        into = (values, side)
        even = pack_blocks(table, kind, order, mine, starts, all_blocks, into, places)
        problem = (packed, n_blocks, kind)
        ready = even and d == n_columns
        scatter(problem, ready, moments, of_steps, weighted, spread[s])
        for a in range(d):
            for what in range(2):
                for lane in range(LANES):
                    if places[2][what, a, lane] > largest[s, what, a]:
                        largest[s, what, a] = places[2][what, a, lane]
            for c in range(d):
                precision[a, c] = base_precision[a, c]
            scale = math.sqrt(spread[s, a, a])  # as the prior has it, to the last digit
            precision[a, a] += ridge * (scale * scale if scale > 0.0 else 1.0)
            ready = ready and theta[s, a] == 0.0
            best[a], step[a] = theta[s, a], 0.0
        state = (best, step, information[s], gradient[s])
        quadratic = (precision, linear)
        codes[s] = maximise(
            problem, quadratic, theta[s], state, memo[s], max_steps, moments, ready, of_steps
        )
        if codes[s] != CONVERGED:
            for a in range(d):
                theta[s, a] = best[a]


@intrinsic
def _number_at(typingctx, address, row):
    """The number of a row of the column that begins at this address."""

    def build(context, builder, signature, arguments):
        column = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(column, [arguments[1]]))

    return types.float64(types.int64, types.int64), build


@bare
def sum_columns(columns, table, order, rows, kind, theta, places, rooms, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of decisions `order`.

    columns : addresses of the variables' columns, and of that of the offset if there is one
    table : first row of decisions, their chosen options, their weights (empty: 1 each)
    rows : rows of each block of eight decisions, see `likelihood.block_rows`
    places : arrays for what stands in between: rows and lanes of a block, of the chosen options,
        weights and numbers of filling rows, the block itself
    rooms : as in `_kernels.sum_blocks`
    """
    first_row, chosen, weights = table
    sources, references, side, values = places
    scratch, total, parts = rooms
    n_columns = kind[3]
    for j in range(len(moments)):
        moments[j] = 0.0
    n_blocks = len(rows)
    for i in range((n_blocks + CHUNK - 1) // CHUNK):
        last = (i + 1) * CHUNK if (i + 1) * CHUNK < n_blocks else n_blocks
        for j in range(len(total)):
            total[j] = 0.0
        for b in range(i * CHUNK, last):
            n_rows = rows[b]
            for lane in range(LANES):
                j = b * LANES + lane
                inside = j < len(order)
                k = order[j] if inside else order[b * LANES]
                c = first_row[k] + chosen[k]
                used = first_row[k + 1] - first_row[k] - 1 if inside else 0
                references[lane] = c
                side[0, lane] = 0.0
                if inside:
                    side[0, lane] = weights[k] if weights.size else 1.0
                side[0, LANES + lane] = n_rows - used
                for row in range(n_rows):
                    r = first_row[k] + row
                    sources[row, lane] = (r + (r >= c)) if row < used else c
            for a in range(n_columns):
                column = columns[a]
                for row in range(n_rows):
                    place = (row * n_columns + a) * LANES
                    for lane in range(LANES):
                        x = _number_at(column, sources[row, lane])
                        values[place + lane] = x - _number_at(column, references[lane])
            block_moments(kind, values, 0, (n_rows, 1), theta, side, 0, scratch, total)
        _add_lanes(total, parts, i, moments)


@bare
def small_differences(table, groups, theta, limits, room, found):
    """Sums over decisions and options of p_j |x_ja - x_chosen,a| where that is small, or more.

    Small: not 0, and within the limit. p_j is at most exp(q_j) / (1 + exp(q_j)), with q_j the
    objective relative to that of the option chosen: no set has to be gone through for its sum. Nor
    is the mean of a set's small differences more than the largest of them.

    groups : decisions in the order of groups, where those of each begin, which groups to look at
    theta, limits : of each of these groups, (n, d)
    room : (2, d); found : (n, d), filled
    """
    rows, known, available, first_row, chosen, weights = table
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
                        room[0, a] = 0.0
                        room[1, a] = 0.0
                q = known[r] - known[c] if known.size else 0.0
                for a in range(d):
                    q += theta[i, a] * (rows[r, a] - rows[c, a])
                p = 1.0 / (1.0 + math.exp(-q))  # 0, too, where the exponential is infinite
                for a in range(d):
                    away = math.fabs(rows[r, a] - rows[c, a])
                    if away <= limits[i, a]:
                        room[0, a] += p * away
                        if away > room[1, a]:
                            room[1, a] = away
            if some:
                weight = weights[k] if weights.size else 1.0
                for a in range(d):
                    less = room[0, a] if room[0, a] < room[1, a] else room[1, a]
                    found[i, a] += weight * less


@bare
def sizes_of_differences(table, sizes):
    """Write |x_ja - x_chosen,a| of options on offer that differ from that chosen, and count them.

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


@bare
def level_small_differences(table, limits, levelled):
    """Write variables, those within their limit of the chosen option's equal to it; count these."""
    rows, _, _, first_row, chosen, _ = table
    d, n = len(limits), 0
    for k in range(len(chosen)):
        c = first_row[k] + chosen[k]
        for r in range(first_row[k], first_row[k + 1]):
            for a in range(d):
                away = math.fabs(rows[r, a] - rows[c, a])
                small = (away > 0.0) & (away <= limits[a])
                levelled[r, a] = rows[c, a] if small else rows[r, a]
                n += small
    return n
