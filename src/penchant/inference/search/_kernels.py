"""Compiled looks at grids, and steps at kinks: up by several slopes at once. Bare arrays."""

import math
from typing import Any

import numpy as np

from penchant.inference.profile._kernels import fast, fast_inner

ROUNDS = 60  # of finding the shares of slopes, at most
APART = 0.2  # of what the curvature takes from a place to another, that one is doubted by
TINY = 1e-13  # relative: what is below is rounding


@fast_inner
def _invert(a, n, inverse):
    """Inverse of a positive matrix by elimination; a is lost."""
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for i in range(n):
        pivot = a[i, i]
        for j in range(n):
            a[i, j] /= pivot
            inverse[i, j] /= pivot
        for r in range(n):
            if r != i:
                share = a[r, i]
                for j in range(n):
                    a[r, j] -= share * a[i, j]
                    inverse[r, j] -= share * inverse[i, j]


@fast_inner
def _eliminate(a, b, n):
    """Solve a x = b, with the largest pivot of each column; b becomes x. Whether it could be."""
    for i in range(n):
        top = i
        for r in range(i + 1, n):
            if abs(a[r, i]) > abs(a[top, i]):
                top = r
        if not abs(a[top, i]) > 0.0:
            return False
        if top != i:
            for j in range(n):
                a[i, j], a[top, j] = a[top, j], a[i, j]
            b[i], b[top] = b[top], b[i]
        for r in range(i + 1, n):
            share = a[r, i] / a[i, i]
            b[r] -= share * b[i]
            for j in range(i, n):
                a[r, j] -= share * a[i, j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return True


@fast_inner
def _shares(products, above, n, share, used, system, right):
    """Shares of slopes that make the least of `above' share + share' products share / 2`.

    Shares are positive and add up to 1. They begin with all of the first; one joins at a time, and
    those that would be negative leave.
    """
    for i in range(n):
        share[i], used[i] = 0.0, 0
    share[0], used[0], size = 1.0, 0, 1
    scale = 1e-300
    for i in range(n):
        scale = max(scale, products[i, i])
    for _ in range(ROUNDS):
        least, best, level = math.inf, -1, 0.0
        for i in range(n):
            slope = above[i]
            for k in range(size):
                slope += products[i, used[k]] * share[used[k]]
            level += share[i] * slope
            if slope < least:
                least, best = slope, i
        if least >= level - TINY * scale:
            return
        for k in range(size):
            if used[k] == best:
                return
        used[size] = best
        size += 1
        while True:
            for k in range(size):
                for o in range(size):
                    system[k, o] = products[used[k], used[o]]
                system[k, k] += 1e-14 * scale
                system[k, size] = system[size, k] = scale
                right[k] = -above[used[k]]
            system[size, size], right[size] = 0.0, scale
            if not _eliminate(system, right, size + 1):
                return
            part = 1.0
            for k in range(size):
                if right[k] <= 0.0:
                    part = min(part, share[used[k]] / (share[used[k]] - right[k] + 1e-300))
            kept = 0
            for k in range(size):
                i = used[k]
                share[i] += part * (right[k] - share[i])
                if share[i] > 0.0 and not (part < 1.0 and right[k] <= 0.0 and share[i] < 1e-15):
                    used[kept] = i
                    kept += 1
                else:
                    share[i] = 0.0
            if kept == size:
                break
            size = kept
            if part == 1.0 or size == 0:
                break
        if size == 0:
            share[0], used[0], size = 1.0, 0, 1


@fast
def lead(rows, climbs, range_, known, steps, gains, rooms):
    """Steps up at kinks, by what is known of the slopes around, and what they promise.

    Around a place the profile is taken for the lowest of parabolas, one through every place known,
    with its height and slope, and all with the same curvature.

    rows : (n,), of climbs, which are rows of `climbs`, `known` and `gains`
    climbs : where they are, u (all, n_shape), value (all,) and curvature (all, n_shape, n_shape);
        and firmness (all,), times the curvature that a step is held back by
    range_ : bounds (n_shape, 2), and what stays where it is (all, n_shape)
    known : places (all, m, n_shape), heights (all, m) and slopes (all, m, n_shape); the first is
        where the climb is; heights are NaN where nothing is known
    steps, gains : (n, n_shape), (all,), filled
    """
    u, value, curvature, firmness = climbs
    bounds, held = range_
    places, heights, slopes = known
    at, tilted, pulled, a, inverse, products, above, share, used, system, right = rooms
    q = u.shape[1]
    for r in range(len(rows)):
        k, n = rows[r], 0
        for i in range(heights.shape[1]):
            if not math.isfinite(heights[k, i]):
                continue
            height, apart = heights[k, i], 0.0
            for c in range(q):
                away = u[k, c] - places[k, i, c]
                bend, soft = 0.0, min(1.0, firmness[k])
                for e in range(q):
                    bend += soft * curvature[k, c, e] * (u[k, e] - places[k, i, e])
                at[n, c] = slopes[k, i, c] - bend
                height += away * (slopes[k, i, c] - 0.5 * bend)
                apart += away * bend
            above[n] = max(abs(height - value[k]), APART * apart)
            n += 1
        for c in range(q):
            pulled[c] = 1.0 if held[k, c] else 0.0
        for _ in range(q + 1):
            largest = 1e-12
            for c in range(q):
                largest = max(largest, curvature[k, c, c])
            for c in range(q):
                for e in range(q):
                    free = pulled[c] == 0.0 and pulled[e] == 0.0
                    a[c, e] = firmness[k] * curvature[k, c, e] if free else 0.0
                a[c, c] += 1e-8 * largest if pulled[c] == 0.0 else 1.0
            _invert(a, q, inverse)
            for i in range(n):
                for c in range(q):
                    tilted[i, c] = at[i, c] if pulled[c] == 0.0 else 0.0
            for i in range(n):
                for j in range(i + 1):
                    product = 0.0
                    for c in range(q):
                        for e in range(q):
                            product += tilted[i, c] * inverse[c, e] * tilted[j, e]
                    products[i, j] = products[j, i] = product
            _shares(products, above, n, share, used, system, right)
            gains[k] = 0.0
            for i in range(n):
                gains[k] += share[i] * above[i]
                for j in range(n):
                    gains[k] += 0.5 * share[i] * products[i, j] * share[j]
            out = False
            for c in range(q):
                steps[r, c] = 0.0
                for e in range(q):
                    for i in range(n):
                        steps[r, c] += inverse[c, e] * share[i] * tilted[i, e]
            for c in range(q):
                low = u[k, c] <= bounds[c, 0] and steps[r, c] < 0.0
                if pulled[c] != 0.0:
                    continue
                if low or (u[k, c] >= bounds[c, 1] and steps[r, c] > 0.0):
                    pulled[c] = 1.0
                    out = True
            if not out:
                break
        longest = 1.0
        for c in range(q):
            if not abs(steps[r, c]) <= longest:
                longest = abs(steps[r, c])
        for c in range(q):
            steps[r, c] = steps[r, c] / longest if pulled[c] == 0.0 else 0.0


def rooms_to_lead(m: int, q: int) -> tuple[Any, ...]:
    """For what stands in between, of m slopes."""
    return (
        np.empty((m, q)),
        np.empty((m, q)),
        np.empty(q),
        np.empty((q, q)),
        np.empty((q, q)),
        np.empty((m, m)),
        np.empty(m),
        np.empty(m),
        np.empty(m, dtype=np.int64),
        np.empty((m + 2, m + 2)),
        np.empty(m + 2),
    )


@fast
def hear(rows, looks, found, now, known, up, best, changes):
    """Move climbs to the highest of the places looked at, and remember what was found there.

    rows : (n,), of climbs, which are rows of `now` and `known`
    looks : places (n, m, n_shape), and which of them is the whole step
    found : heights (n * m,), slopes (n * m, n_shape)
    now : u, value, firmness, promised, failed; changed
    known : places, heights, slopes, where the climb is first and then the newest; changed
    up, best : (n,), filled: whether a climb moved, and to which of the places
    changes : times firmness after steps that fail, or gain more than hoped; what is more, or enough
    """
    places, whole = looks
    heights, slopes = found
    u, value, firmness, promised, failed = now
    firmer, softer, more, some, rounding = changes
    m, q = places.shape[1], u.shape[1]
    for i in range(len(rows)):
        k, top, most = rows[i], 0, -math.inf
        gain_of_whole = -math.inf
        for j in range(known[1].shape[1] - 1, m, -1):
            _copy_place(known, k, j, j - m, q)
        for j in range(m):
            height = heights[i * m + j]
            for a in range(q):
                known[0][k, 1 + j, a] = places[i, j, a]
                known[2][k, 1 + j, a] = slopes[i * m + j, a]
                if not math.isfinite(slopes[i * m + j, a]):
                    height = math.nan
            known[1][k, 1 + j] = height
            gain = height - value[k] if height == height else -math.inf
            if gain > most:
                top, most = j, gain
            if j == whole:
                gain_of_whole = gain
        best[i], up[i] = top, most > rounding * abs(value[k])
        if not up[i]:
            firmness[k] *= firmer
            failed[k] += 1
            continue
        failed[k] = 0
        if gain_of_whole > more * promised[k]:
            firmness[k] *= softer
        elif most > some * promised[k] and firmness[k] > 1.0:
            firmness[k] = max(1.0, softer * firmness[k])
        for a in range(q):
            u[k, a] = known[0][k, 1 + top, a]
        value[k] = known[1][k, 1 + top]
        _swap_places(known, k, 1 + top, q)


@fast_inner
def _copy_place(known, k, to, of, q):
    """Remember at one place what stands at another."""
    places, heights, slopes = known
    heights[k, to] = heights[k, of]
    for a in range(q):
        places[k, to, a] = places[k, of, a]
        slopes[k, to, a] = slopes[k, of, a]


@fast_inner
def _swap_places(known, k, to, q):
    """Let the first place and another change places."""
    places, heights, slopes = known
    heights[k, 0], heights[k, to] = heights[k, to], heights[k, 0]
    for a in range(q):
        places[k, 0, a], places[k, to, a] = places[k, to, a], places[k, 0, a]
        slopes[k, 0, a], slopes[k, to, a] = slopes[k, to, a], slopes[k, 0, a]


# Grids of many subjects: values (n, n_psi), of points that lie in lines along several axes.


@fast_inner
def _beside(cell, stride, n, upper):
    """The neighbour of a cell along an axis of n points, or the cell itself at the end."""
    place = cell // stride % n
    if upper:
        return cell + stride if place < n - 1 else cell
    return cell - stride if place > 0 else cell


@fast_inner
def _is_top(values, k, cell, dimensions):
    """Whether a cell is no lower than its neighbours along every axis."""
    height, stride = values[k, cell], 1
    top = math.isfinite(height)
    for axis in range(len(dimensions) - 1, -1, -1):
        n = dimensions[axis]
        top = top and height >= values[k, _beside(cell, stride, n, False)]
        top = top and height >= values[k, _beside(cell, stride, n, True)]
        stride *= n
    return top


@fast
def tops(values, dimensions, found):
    """Mark cells that are no lower than their neighbours along every axis."""
    for k in range(values.shape[0]):
        for cell in range(values.shape[1]):
            found[k, cell] = _is_top(values, k, cell, dimensions)


@fast
def choose_best(values, dimensions, cells, maxima):
    """Fill the best cells of each subject (n, most), local maxima first, and which these are."""
    most = cells.shape[1]
    for k in range(values.shape[0]):
        size = 0
        for cell in range(values.shape[1]):
            top, height = _is_top(values, k, cell, dimensions), values[k, cell]
            at = size
            while at > 0:
                other = values[k, cells[k, at - 1]]
                before = maxima[k, at - 1]
                if not ((top and not before) or (top == before and height > other)):
                    break
                at -= 1
            if at >= most:
                continue
            for j in range(min(size, most - 1), at, -1):
                cells[k, j], maxima[k, j] = cells[k, j - 1], maxima[k, j - 1]
            cells[k, at], maxima[k, at] = cell, top
            size = min(size + 1, most)


@fast
def level_cells(values, dimensions, cells, limit, found):
    """Mark cells (n, most) that are as high as their neighbours but for a limit."""
    for k in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            cell, stride = cells[k, c], 1
            found[k, c] = True
            for axis in range(len(dimensions) - 1, -1, -1):
                for upper in (False, True):
                    beside = values[k, _beside(cell, stride, dimensions[axis], upper)]
                    found[k, c] = found[k, c] and abs(beside - values[k, cell]) < limit
                stride *= dimensions[axis]


@fast
def peaks_of_parabolas(values, dimensions, rows, cells, shift):
    """Fill where parabolas through cells (n,) of rows, and their neighbours, peak: in steps."""
    for i in range(len(cells)):
        k, cell, stride = rows[i], cells[i], 1
        for axis in range(len(dimensions) - 1, -1, -1):
            n = dimensions[axis]
            below, above = _beside(cell, stride, n, False), _beside(cell, stride, n, True)
            bend = 2.0 * values[k, cell] - values[k, below] - values[k, above]
            found = 0.5 * (values[k, above] - values[k, below]) / bend
            inside = below != cell and above != cell and bend > 0.0 and math.isfinite(found)
            shift[i, axis] = min(max(found, -0.5), 0.5) if inside else 0.0
            stride *= n


@fast
def blend(values, corners, filled):
    """Fill points with the mean of others: values (n, n_coarse, d), filled (n, n_psi, d).

    corners : (n_psi, m), those around each point, one of them several times where it is that
    """
    m = corners.shape[1]
    for k in range(values.shape[0]):
        for cell in range(corners.shape[0]):
            for a in range(values.shape[2]):
                total = 0.0
                for j in range(m):
                    total += values[k, corners[cell, j], a]
                filled[k, cell, a] = total / m


@fast
def mark_around(marked, beside, near):
    """Mark all that lies beside points which are marked (n, n_coarse): near (n, n_psi).

    beside : (n_coarse, m), the points of the whole grid; -1 where there are fewer
    """
    for k in range(marked.shape[0]):
        for cell in range(marked.shape[1]):
            for j in range(beside.shape[1]):
                if marked[k, cell] and beside[cell, j] >= 0:
                    near[k, beside[cell, j]] = True


@fast_inner
def _is_resolved(values, k, cell, dimensions, bent):
    """Whether a profile bends so little around a cell that it hides nothing between neighbours.

    Where these were not looked at, as it bent little around points further apart, so it does.
    """
    fine, stride = True, 1
    for axis in range(len(dimensions) - 1, -1, -1):
        n = dimensions[axis]
        below, above = _beside(cell, stride, n, False), _beside(cell, stride, n, True)
        bend = values[k, below] + values[k, above] - 2.0 * values[k, cell]
        fine = fine and below != cell and above != cell  # beyond an end the model may be another
        fine = fine and abs(bend) < bent
        stride *= n
    return fine


@fast
def mark_promising(values, looked, dimensions, limits, found):
    """Mark points that were looked at and are close to the best, or local maxima not far below.

    limits : how far below the best either may be; and how much a profile may bend around a point
        between whose neighbours nothing is looked for
    """
    close, deep, bent = limits
    for k in range(values.shape[0]):
        best, lowest = -math.inf, math.inf
        for cell in range(values.shape[1]):
            best, lowest = max(best, values[k, cell]), min(lowest, values[k, cell])
        even = best - lowest < close  # a plateau tells nothing of what may stand out of it
        for cell in range(values.shape[1]):
            below = best - values[k, cell]
            found[k, cell] = (
                looked[k, cell]
                and (below < close or (below < deep and _is_top(values, k, cell, dimensions)))
                and (even or not _is_resolved(values, k, cell, dimensions, bent))
            )
