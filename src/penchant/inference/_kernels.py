"""Compiled loops of a play that is followed: rows at nodes of psi, and Newton's steps between them.

Variables are kept at a few values of psi, the nodes, relative to the option chosen: z is (nodes,
decisions, d, n_options), so that options of one variable lie side by side. In between they are
those of the polynomial through the nodes, with its first and second derivatives. Cells of a grid
are packed as `profile._kernels.pack` packs one pair: blocks of eight decisions, relative to the
option chosen, so that sums are added up in the same order and have the same digits. Bare arrays, no
policy.
"""

import math
from typing import Any

import numpy as np

from penchant._compiled import njit
from penchant.inference.profile._kernels import STEPS as MOST_STEPS
from penchant.inference.profile._kernels import climb_inside
from penchant.softmax._kernels import bare
from penchant.softmax._lanes import LANES, exponentials_of

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_ALONE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}
_IN_ANY_ORDER = {"contract", "nsz", "reassoc"}

called = njit(cache=True, **_OPTIONS)
inner = njit(**_ALONE)
# Sums may be added up in any order. What takes exponentials must not be compiled so: their digits
# come from differences that would be rearranged.
fast = njit(cache=True, fastmath=_IN_ANY_ORDER, **_OPTIONS)
fast_inner = njit(fastmath=_IN_ANY_ORDER, **_ALONE)

FIRST = np.int64(0)  # no literal: what is called with one is compiled for it anew
REACHED, LEFT, LOST = 0, 1, 2
STEPS = 40
ENOUGH = 1e-11  # Newton decrement, in standard errors
NEARLY = 1e-7  # the same where rounding keeps steps from gaining anything


@fast
def add_rows(x, begin, picked, chosen, at, z, base):
    """Keep rows of variables relative to the option chosen.

    x : (nodes or more, events, n_options, d); picked : which events, counted from `begin`
    chosen : their options
    at : where the first of them goes in z (nodes, decisions, d, n_options) and base (nodes,
        decisions, d), the variables of the options chosen
    """
    n_nodes, _, d, m = z.shape
    for k in range(n_nodes):
        for j in range(len(picked)):
            t, c = begin + picked[j], chosen[j]
            for a in range(d):
                own = x[k, t, c, a]
                base[k, at + j, a] = own
                for i in range(m):
                    z[k, at + j, a, i] = x[k, t, i, a] - own


@fast
def sizes(z, begin, end, last, tails, largest):
    """Largest of the last two coefficients of the polynomials, and of the variables themselves.

    last : (2, nodes), what makes these coefficients; tails : (d, 2), largest : (d,), raised
    """
    n_nodes, _, d, m = z.shape
    for t in range(begin, end):
        for a in range(d):
            for i in range(m):
                one, two = 0.0, 0.0
                for k in range(n_nodes):
                    value = z[k, t, a, i]
                    one += last[0, k] * value
                    two += last[1, k] * value
                    largest[a] = max(largest[a], abs(value))
                tails[a, 0] = max(tails[a, 0], abs(one))
                tails[a, 1] = max(tails[a, 1], abs(two))


@inner
def place(s, width, basis, weights):
    """Fill weights (3, nodes): of the values at nodes for value, first and second derivative.

    s : place from -1 to 1; basis : (nodes, nodes), from values to Chebyshev coefficients
    """
    n = len(basis)
    for k in range(n):
        for order in range(3):
            weights[order, k] = 0.0
    before, now = 1.0, s  # polynomials of degree j - 1 and j
    d_before, d_now = 0.0, 1.0
    dd_before, dd_now = 0.0, 0.0
    for j in range(n):
        value, slope, bend = (1.0, 0.0, 0.0) if j == 0 else (now, d_now, dd_now)
        for k in range(n):
            weights[0, k] += basis[j, k] * value
            weights[1, k] += basis[j, k] * slope / width
            weights[2, k] += basis[j, k] * bend / width / width
        if j > 0:
            value, slope = 2.0 * s * now - before, 2.0 * now + 2.0 * s * d_now - d_before
            bend = 4.0 * d_now + 2.0 * s * dd_now - dd_before
            before, d_before, dd_before = now, d_now, dd_now
            now, d_now, dd_now = value, slope, bend


@fast_inner
def mix(z, t, a, weights, factor, row, slope, bend):
    """Add the values at nodes times their weights: value, slope, and bend times a factor.

    Four nodes at a time, each read once for all three.
    """
    m = len(row)
    for k in range(0, len(z), 4):
        one, two, three, four = z[k, t, a], z[k + 1, t, a], z[k + 2, t, a], z[k + 3, t, a]
        v1, v2, v3, v4 = weights[0, k], weights[0, k + 1], weights[0, k + 2], weights[0, k + 3]
        s1, s2, s3, s4 = weights[1, k], weights[1, k + 1], weights[1, k + 2], weights[1, k + 3]
        b1, b2 = factor * weights[2, k], factor * weights[2, k + 1]
        b3, b4 = factor * weights[2, k + 2], factor * weights[2, k + 3]
        for i in range(m):
            row[i] += v1 * one[i] + v2 * two[i] + v3 * three[i] + v4 * four[i]
            slope[i] += s1 * one[i] + s2 * two[i] + s3 * three[i] + s4 * four[i]
            bend[i] += b1 * one[i] + b2 * two[i] + b3 * three[i] + b4 * four[i]


@fast_inner
def lay(z, first, n, theta, weights, rows, slopes, bends, p):
    """Variables and their slopes; slopes and bends of objectives; objectives less the highest.

    Of decisions from `first` to n, which p begins with.
    bends : (n, 2, n_options), filled with theta times the slopes, and theta times the bends
    p : filled with the objectives less the highest of each decision, which are at its end
    """
    _, _, d, m = z.shape
    for t in range(first, n):
        at = (t - first) * m
        objective = p[at : at + m]
        for i in range(m):
            objective[i] = 0.0
            bends[t, 0, i] = 0.0
            bends[t, 1, i] = 0.0
        for a in range(d):
            row, slope, along = rows[t, a], slopes[t, a], bends[t, 0]
            for i in range(m):
                row[i] = 0.0
                slope[i] = 0.0
            mix(z, t, a, weights, theta[a], row, slope, bends[t, 1])
            for i in range(m):
                objective[i] += theta[a] * row[i]
            for i in range(m):
                along[i] += theta[a] * slope[i]
        highest = 0.0
        for i in range(m):
            highest = max(highest, objective[i])
        for i in range(m):
            objective[i] -= highest
        p[len(p) - 1 - t] = highest


@fast_inner
def dot(p, x):
    """Sum of products."""
    total = 0.0
    for i in range(len(p)):
        total += p[i] * x[i]
    return total


@fast_inner
def dot_of_three(p, x, y):
    """Sum of products of three."""
    total = 0.0
    for i in range(len(p)):
        total += p[i] * x[i] * y[i]
    return total


@fast_inner
def add_up(known, n, rows, slopes, bends, p, sums):
    """Sums over decisions; p holds exponentials, and at its end what was taken off the exponents.

    sums : (d + 4, d + 1); decisions from `known` on are added to those before. Row 0:
    log-likelihood; 1: gradient, psi last; from 2 on: minus the second derivative; then the expected
    part of what is mixed, and of psi alone.
    """
    _, d, m = rows.shape
    if known == 0:
        for a in range(len(sums)):
            for c in range(d + 1):
                sums[a, c] = 0.0
    for t in range(known, n):
        e = p[(t - known) * m : (t - known) * m + m]
        total = 0.0
        for i in range(m):
            total += e[i]
        sums[0, 0] -= math.log(total) + p[len(p) - 1 - t]
        share = 1.0 / total
        along = bends[t, 0]
        mean = share * dot(e, along)
        varying = share * dot_of_three(e, along, along) - mean * mean
        sums[1, d] -= mean
        sums[3 + d, d] += varying
        sums[2 + d, d] += varying + share * dot(e, bends[t, 1])
        for a in range(d):
            first = share * dot(e, rows[t, a])
            both = share * dot_of_three(e, rows[t, a], along) - first * mean
            sums[1, a] -= first
            sums[3 + d, a] += both
            sums[2 + d, a] += both + share * dot(e, slopes[t, a])
            for c in range(a + 1):
                other = share * dot(e, rows[t, c])
                sums[2 + a, c] += share * dot_of_three(e, rows[t, a], rows[t, c]) - first * other


@inner
def step_of(sums, size, step, room):
    """Newton's step among the first `size` parameters; returns its squared length, or NaN.

    The matrix is brought to a unit diagonal first.
    """
    for a in range(size):
        if not sums[2 + a, a] > 0.0:
            return np.nan
        room[size, a] = math.sqrt(sums[2 + a, a])
    for a in range(size):
        for c in range(a + 1):
            value = sums[2 + a, c] / room[size, a] / room[size, c]
            for e in range(c):
                value -= room[a, e] * room[c, e]
            if a == c:
                if not value > 1e-14:
                    return np.nan
                room[a, a] = math.sqrt(value)
            else:
                room[a, c] = value / room[c, c]
    squared = 0.0
    for a in range(size):
        value = sums[1, a] / room[size, a]
        for e in range(a):
            value -= room[a, e] * step[e]
        step[a] = value / room[a, a]
        squared += step[a] * step[a]
    for b in range(size):
        a = size - 1 - b
        value = step[a]
        for e in range(a + 1, size):
            value -= room[e, a] * step[e]
        step[a] = value / room[a, a]
    for a in range(size):
        step[a] /= room[size, a]
    return squared


@called
def settle(z, known, n, basis, window, bounds, theta, at, rooms, sums, proof):
    """Newton's method in the weights and psi together, between the nodes.

    known : decisions whose sums where it begins are given; the first step needs the others only
    window : where the nodes lie: centre and half their width, in search units
    bounds : range of psi
    theta, at : where it begins, and ends; at : (1,)
    sums : filled, see `add_up`; proof : (2,), steps and the last Newton decrement of all
    Returns REACHED; LEFT if it leads out of the window, `at` being where to; LOST if nowhere.
    """
    rows, slopes, bends, p, weights, room, step, trial = rooms
    d = z.shape[2]
    best, fraction, u = -np.inf, 1.0, at[0]
    to = u
    for a in range(d):
        trial[a] = theta[a]
    proof[1] = np.inf
    for n_steps in range(STEPS):
        place((to - window[0]) / window[1], window[1], basis, weights)
        first = known if n_steps == 0 else FIRST
        lay(z, first, n, trial, weights, rows, slopes, bends, p)
        exponentials_of(p, (n - first) * z.shape[3])
        add_up(first, n, rows, slopes, bends, p, sums)
        proof[0] = n_steps
        if not sums[0, 0] >= best - 1e-13 * (1.0 + abs(best)):
            fraction *= 0.5
            if fraction < 1e-6:
                return LOST
            to = u + fraction * step[d]
            for a in range(d):
                trial[a] = theta[a] + fraction * step[a]
            continue
        best, fraction, u = sums[0, 0], 1.0, to
        for a in range(d):
            theta[a] = trial[a]
        at[0] = u
        out = (u <= bounds[0] and sums[1, d] <= 0.0) or (u >= bounds[1] and sums[1, d] >= 0.0)
        step[d] = 0.0
        squared = step_of(sums, d if out else d + 1, step, room)
        if not squared >= 0.0:
            return LOST
        gained = proof[1] > 1.5 * math.sqrt(squared)
        proof[1] = math.sqrt(squared)
        if first == 0 and (proof[1] < ENOUGH or (proof[1] < NEARLY and not gained)):
            return REACHED
        if abs(step[d]) > 1.0:
            for a in range(d + 1):
                step[a] /= abs(step[d])
        to = min(max(u + step[d], bounds[0]), bounds[1])
        step[d] = to - u
        for a in range(d):
            trial[a] = theta[a] + step[a]
        if abs(to - window[0]) > window[1] * (1.0 + 1e-9):
            at[0] = to
            return LEFT
    return LOST


@fast
def told(n, base, weights, rows, largest, spread, room):
    """What proves the weights: largest |x| and |x_i - x_chosen|, and the spread inside sets.

    base : (nodes, decisions, d); largest : (2, d), spread : (d, d), filled
    """
    _, d, m = rows.shape
    for a in range(d):
        largest[0, a] = 0.0
        largest[1, a] = 0.0
        for c in range(d):
            spread[a, c] = 0.0
    for t in range(n):
        for a in range(d):
            own, mean = 0.0, 0.0
            for k in range(len(base)):
                own += weights[0, k] * base[k, t, a]
            for i in range(m):
                value = rows[t, a, i]
                mean += value
                largest[0, a] = max(largest[0, a], abs(value + own))
                largest[1, a] = max(largest[1, a], abs(value))
            room[a] = mean / m
        for a in range(d):
            for c in range(a + 1):
                product = 0.0
                for i in range(m):
                    product += (rows[t, a, i] - room[a]) * (rows[t, c, i] - room[c])
                spread[a, c] += product / m
    for a in range(d):
        for c in range(a + 1):
            spread[a, c] /= n
            spread[c, a] = spread[a, c]


@called
def settle_without(n, limit, rows, p, theta, enough, room, step, sums, proof):
    """Newton's method where differences up to a limit (d,) count as none; rows are changed.

    Returns whether a decrement fell below `enough`, or rounding keeps it; it is in proof[1].
    """
    _, d, m = rows.shape
    for t in range(n):
        for a in range(d):
            for i in range(m):
                if abs(rows[t, a, i]) <= limit[a]:
                    rows[t, a, i] = 0.0
    best, fraction = -np.inf, 1.0
    for a in range(d):
        step[a] = 0.0
    proof[1] = np.inf
    for _ in range(STEPS):
        taken = exponents(n, theta, fraction, step, rows, p)
        exponentials_of(p, n * m)
        log_likelihood = moments(n, rows, p, sums) - taken
        if not log_likelihood >= best - 1e-13 * (1.0 + abs(best)):
            fraction *= 0.5
            if fraction < 1e-6:
                return False
            continue
        best = log_likelihood
        for a in range(d):
            theta[a] += fraction * step[a]
        fraction = 1.0
        squared = step_of(sums, d, step, room)
        if not squared >= 0.0:
            return False
        gained = proof[1] > 1.5 * math.sqrt(squared)
        proof[1] = math.sqrt(squared)
        if proof[1] < enough or (proof[1] < NEARLY and not gained):
            return True
    return False


@fast_inner
def exponents(n, theta, fraction, step, rows, p):
    """Objectives at theta plus a share of a step, less the highest of each decision: their sum."""
    _, d, m = rows.shape
    at, taken = FIRST, 0.0
    for t in range(n):
        for i in range(m):
            p[at + i] = 0.0
        for a in range(d):
            weight = theta[a] + fraction * step[a]
            for i in range(m):
                p[at + i] += weight * rows[t, a, i]
        highest = 0.0
        for i in range(m):
            highest = max(highest, p[at + i])
        for i in range(m):
            p[at + i] -= highest
        taken += highest
        at += m
    return taken


@fast_inner
def moments(n, rows, p, sums):
    """Log-likelihood less what was taken off the exponents; gradient and information in sums."""
    _, d, m = rows.shape
    log_likelihood = 0.0
    for a in range(d):
        sums[1, a] = 0.0
        for c in range(d):
            sums[2 + a, c] = 0.0
    at = FIRST
    for t in range(n):
        total = 0.0
        for i in range(m):
            total += p[at + i]
        log_likelihood -= math.log(total)
        share = 1.0 / total
        for a in range(d):
            first = 0.0
            for i in range(m):
                first += p[at + i] * rows[t, a, i]
            first *= share
            sums[1, a] -= first
            for c in range(a + 1):
                product, other = 0.0, 0.0
                for i in range(m):
                    weighted = p[at + i] * rows[t, c, i]
                    product += weighted * rows[t, a, i]
                    other += weighted
                sums[2 + a, c] += share * product - first * share * other
        at += m
    return log_likelihood


CLEAR = 6.0  # log-units below the peak from which on a bound is as good as a value
ALIKE = 1e-4  # log-units by which an end must be lower that is a limit of the model
ROUNDING = 1e-9
SWEEPS = 30  # of Jacobi's rotations; a few are enough


@called
def add_to_cells(x, first, begin, picked, chosen, at, packed, side):
    """Write decisions into the blocks of all cells.

    x : (psi, events, n_options, d); the cells are the psi from `first` on
    picked : which events, counted from `begin`; chosen : their options
    at : decisions written before
    packed : (cells, flat blocks); side : (n_blocks, 16), see `softmax._lanes.block_moments`
    """
    m, d = x.shape[2:]
    for j in range(len(picked)):
        t, c = begin + picked[j], chosen[j]
        block, lane = (at + j) // LANES, (at + j) % LANES
        last = lane + 1
        if lane == 0:  # lanes beyond the last decision repeat the first
            last = LANES
            for e in range(2 * LANES):
                side[block, e] = 0.0
        side[block, lane] = 1.0
        for k in range(len(packed)):
            place = block * (m - 1) * d * LANES
            for i in range(m):
                if i == c:
                    continue
                for a in range(d):
                    away = x[first + k, t, i, a] - x[first + k, t, c, a]
                    for e in range(lane, last):
                        packed[k, place + e] = away
                    place += LANES


@bare
def climb_cells(packed, starts, side, n_blocks, kind, positive, enough, least, most, into, rooms):
    """The best weights of cells that may be above `most`, each from where they were.

    into : values (cells,) and weights (cells, d): those that are looked at are filled; NaN where
        a value needs a closer look
    Returns how many need one.
    """
    values, thetas, state = into
    held, n_left = state[4], 0
    for k in range(len(values)):
        if values[k] <= most[k]:
            continue
        theta = thetas[k]
        for a in range(len(held)):
            held[a] = False
        for e in range(len(positive)):
            a = positive[e]
            held[a] = theta[a] <= 0.0
            if held[a]:
                theta[a] = 0.0
        problem = ((packed[k], starts, side), n_blocks, kind, (0, 0))
        values[k] = climb_inside(
            problem, (enough, MOST_STEPS, -math.inf), least, positive, theta, state, rooms
        )
        n_left += math.isnan(values[k])
    return n_left


@called
def rises(values, places, limits, u, height, step):
    """Whether values rise to a height at u from both sides, and are lower at some of the cells.

    Those that are CLEAR below are as good as equal.
    """
    best = 0
    for k in range(len(values)):
        if not math.isfinite(values[k]):
            return False
        if values[k] > values[best]:
            best = k
    if not (abs(places[best] - u) <= step and height >= values[best] - ROUNDING):
        return False
    for j in range(len(limits)):
        if values[limits[j]] > height - ALIKE:
            return False
    for k in range(1, len(values)):
        change = max(values[k], height - CLEAR) - max(values[k - 1], height - CLEAR)
        if (change < -ROUNDING) if k <= best else (change > ROUNDING):
            return False
    return True


@inner
def extremes(matrix, d, ends):
    """Fill ends with the lowest and the highest eigenvalue of a symmetric matrix, by Jacobi."""
    for _ in range(SWEEPS):
        off = 0.0
        for p in range(d):
            for q in range(p):
                off += matrix[p, q] * matrix[p, q]
        if off < 1e-36:
            break
        for p in range(d):
            for q in range(p):
                if matrix[p, q] == 0.0:
                    continue
                angle = (matrix[p, p] - matrix[q, q]) / (2.0 * matrix[p, q])
                t = 1.0 / (abs(angle) + math.sqrt(1.0 + angle * angle))
                t = t if angle >= 0.0 else -t
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for k in range(d):
                    one, two = matrix[k, q], matrix[k, p]
                    matrix[k, q], matrix[k, p] = c * one - s * two, s * one + c * two
                for k in range(d):
                    one, two = matrix[q, k], matrix[p, k]
                    matrix[q, k], matrix[p, k] = c * one - s * two, s * one + c * two
    ends[0], ends[1] = matrix[0, 0], matrix[0, 0]
    for p in range(1, d):
        ends[0], ends[1] = min(ends[0], matrix[p, p]), max(ends[1], matrix[p, p])


@inner
def scaled(source, scale, d, into):
    """A symmetric matrix, of which a lower triangle is known, over scales of rows and columns."""
    for a in range(d):
        for c in range(a + 1):
            into[a, c] = into[c, a] = source[a, c] / scale[a] / scale[c]


@inner
def inverted(matrix, d, room):
    """Replace a symmetric positive matrix by its inverse; whether it is one."""
    for p in range(d):
        pivot = matrix[p, p]
        if not pivot > 0.0:
            return False
        for a in range(d):
            room[a] = matrix[a, p]
        for a in range(d):
            if a != p:
                for c in range(d):
                    if c != p:
                        matrix[a, c] -= room[a] * matrix[p, c] / pivot
        for a in range(d):
            if a != p:
                matrix[a, p] = room[a] / pivot
                matrix[p, a] = -matrix[p, a] / pivot
        matrix[p, p] = 1.0 / pivot
    return True


@called
def prove(sums, largest, spread, room, inverse, drift, facts):
    """What proves the weights at a peak, and the curvature of the profile there.

    sums : see `_kernels.add_up`; largest : (2, d); spread : (d, d)
    room : (d + 2, d); inverse : (d, d), filled, of the information of the weights
    drift : (d,), filled: derivative of the weights along the profile
    facts : (7,), filled: lowest eigenvalue of the spread with unit diagonal; lowest and highest of
        the information with unit diagonal; lowest of the information where each variable is in
        units of its largest difference; what a standard error moves an objective by at most; the
        curvature; 0
    Returns whether all of that is known.
    """
    d = len(drift)
    matrix, scale, ends = room[:d], room[d], room[d + 1]
    for a in range(d):
        if not (spread[a, a] > 0.0 and sums[2 + a, a] > 0.0 and largest[1, a] > 0.0):
            return False
        scale[a] = math.sqrt(spread[a, a])
    scaled(spread, scale, d, matrix)
    extremes(matrix, d, facts[5:])
    facts[0] = facts[5]
    scaled(sums[2:], largest[1], d, matrix)
    extremes(matrix, d, facts[5:])
    facts[3] = facts[5]
    for a in range(d):
        scale[a] = math.sqrt(sums[2 + a, a])
    scaled(sums[2:], scale, d, matrix)
    scaled(sums[2:], scale, d, inverse)
    extremes(matrix, d, facts[1:])
    if not inverted(inverse, d, ends):
        return False
    far = 0.0
    for a in range(d):
        for c in range(d):
            inverse[a, c] /= scale[a] * scale[c]
    for a in range(d):
        for c in range(a):
            inverse[a, c] = inverse[c, a] = 0.5 * (inverse[a, c] + inverse[c, a])
    curvature = sums[2 + d, d]
    for a in range(d):
        drift[a] = 0.0
        for c in range(d):
            far += largest[1, a] * abs(inverse[a, c]) * largest[1, c]
            drift[a] -= inverse[a, c] * sums[2 + d, c]
        curvature += sums[2 + d, a] * drift[a]
    facts[4], facts[5], facts[6] = 2.0 * math.sqrt(far), curvature, 0.0
    return True
