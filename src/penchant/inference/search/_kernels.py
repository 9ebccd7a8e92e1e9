"""Compiled steps at kinks: up by several slopes at once. Bare arrays."""

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
