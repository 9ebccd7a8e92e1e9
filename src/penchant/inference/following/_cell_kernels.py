"""Compiled loops of the cells of a grid that are followed, and of what proves a peak. Bare arrays.

Cells are packed as `profile._kernels.pack` packs one pair: blocks of eight decisions, relative to
the option chosen, so that sums are added up in the same order and have the same digits.
"""

import math

from penchant.inference.following._kernels import called, inner
from penchant.inference.profile._kernels import STEPS, climb_inside
from penchant.softmax._kernels import bare
from penchant.softmax._lanes import LANES

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
        problem = ((packed[k], starts, side), n_blocks, kind)
        values[k] = climb_inside(problem, (enough, STEPS), least, positive, theta, state, rooms)
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
