"""Compiled steps of climbs, one row after another. Bare arrays.

Every row is a climb by itself: nothing here depends on the others. Matrices have as many rows as a
model has weights, or shape parameters: so few that Jacobi's rotations tell their eigenvalues.
"""

import math

from penchant.inference.profile._kernels import fast, fast_inner

SWEEPS = 30  # of rotations; a handful is enough
NOTHING = 1e-290  # information of choices so certain that its inverse would overflow: none
LARGEST = 1e100  # error of a slope that a curvature is updated by
EVEN = 1e-14  # eigenvalue, of a matrix with a unit diagonal, below which a direction tells nothing
FLAT = 1e-6  # of the largest curvature, that a step takes for the smallest


@fast_inner
def _eigen(a, n, vectors):
    """Diagonalise the symmetric matrix a (n, n), in place; its eigenvectors are columns."""
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
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
def _invert(information, theta, k, positive, room):
    """Fill the third of the rooms with the inverse information of weights that may move.

    By way of a unit diagonal; zeros for directions without information.
    """
    a, vectors, inverse, scale = room
    d = theta.shape[1]
    fine = True
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 0.0
            a[i, j] = information[k, i, j]
    for j in range(len(positive)):
        held = positive[j]
        if theta[k, held] <= 0.0:
            for i in range(d):
                a[i, held] = 0.0
                a[held, i] = 0.0
    for i in range(d):
        for j in range(d):
            fine = fine and math.isfinite(a[i, j])
        scale[i] = math.sqrt(a[i, i]) if a[i, i] > NOTHING else 1.0
    if not fine:
        return
    for i in range(d):
        for j in range(d):
            a[i, j] = a[i, j] / scale[i] / scale[j]
    _eigen(a, d, vectors)
    for c in range(d):
        if a[c, c] > EVEN:
            for i in range(d):
                for j in range(d):
                    inverse[i, j] += vectors[i, c] * vectors[j, c] / a[c, c]
    for i in range(d):
        for j in range(d):
            inverse[i, j] = inverse[i, j] / scale[i] / scale[j]


@fast_inner
def _expect(mixed, fisher, k, inverse, expected):
    """Expected information of the profile: that on psi less what the weights take of it."""
    d, q = mixed.shape[1], mixed.shape[2]
    for a in range(q):
        for b in range(q):
            taken = 0.0
            for i in range(d):
                for j in range(d):
                    taken += mixed[k, i, a] * inverse[i, j] * mixed[k, j, b]
            expected[a, b] = fisher[k, a, b] - taken


@fast_inner
def _update(curvature, k, path, change, i, miss):
    """Symmetric rank-one update of a curvature by what a step showed of it."""
    q = path.shape[1]
    largest, size, of_miss, of_step = 0.0, 0.0, 0.0, 0.0
    for a in range(q):
        miss[a] = change[i, a]
        for b in range(q):
            miss[a] -= curvature[k, a, b] * path[i, b]
        if not abs(miss[a]) <= largest:
            largest = abs(miss[a])
    # nearly certain choices have slopes whose squares overflow; nothing is learnt from them
    if not largest < LARGEST:
        return
    for a in range(q):
        size += miss[a] * path[i, a]
        of_miss += miss[a] * miss[a]
        of_step += path[i, a] * path[i, a]
    if size == 0.0 or not abs(size) >= 1e-8 * math.sqrt(of_miss) * math.sqrt(of_step):
        return
    for a in range(q):
        for b in range(q):
            curvature[k, a, b] += miss[a] * miss[b] / size


@fast
def learn(rows, first, path, change, points, given, positive, curvature, unexpected, room, small):
    """Curvatures of climbs that have taken steps: those expected, and what the steps showed beside.

    rows : (n,), of the climbs; first : (n,), whether they begin; path, change : (n, n_shape), the
        steps and by how much the slopes fell
    points : information (all, d, d), theta (all, d), mixed and fisher of all climbs
    given : (n, d, d), inverse informations of weights that may move; (0, d, d) if not known
    curvature, unexpected : (all, n_shape, n_shape), filled
    """
    information, theta, mixed, fisher = points
    inverse = room[2]
    expected, miss = small
    d, q = mixed.shape[1], path.shape[1]
    for i in range(len(rows)):
        k = rows[i]
        if len(given):
            for a in range(d):
                for b in range(d):
                    inverse[a, b] = given[i, a, b]
        else:
            _invert(information, theta, k, positive, room)
        _expect(mixed, fisher, k, inverse, expected)
        for a in range(q):
            for b in range(q):
                if first[i]:
                    known = math.isfinite(unexpected[k, a, b])
                    curvature[k, a, b] = unexpected[k, a, b] if known else expected[a, b]
                else:
                    curvature[k, a, b] = expected[a, b] + unexpected[k, a, b]
        if not first[i]:
            _update(curvature, k, path, change, i, miss)
        for a in range(q):
            for b in range(q):
                unexpected[k, a, b] = curvature[k, a, b] - expected[a, b]


@fast
def steer(rows, u, gradient, curvature, bounds, fixed, steps, room):
    """Newton's steps among the free parameters, uphill and at most 1 search unit long.

    rows : (n,), of u, gradient and fixed (all, n_shape); curvature : (n, n_shape, n_shape)
    steps : (n, n_shape), filled
    """
    a, vectors, _, along = room
    q = u.shape[1]
    for i in range(len(rows)):
        k = rows[i]
        fine, largest = True, 1e-12
        for c in range(q):
            slope = gradient[k, c]
            out = (u[k, c] <= bounds[c, 0] and slope <= 0.0) or (
                u[k, c] >= bounds[c, 1] and slope >= 0.0
            )
            # what is held has neither curvature nor gradient
            along[c] = 0.0 if out or fixed[k, c] else 1.0
        for c in range(q):
            for e in range(q):
                free = along[c] != 0.0 and along[e] != 0.0
                a[c, e] = curvature[i, c, e] if free else 0.0
                fine = fine and math.isfinite(a[c, e])
        for c in range(q):
            steps[i, c] = 0.0
            for e in range(q):
                a[c, e] = a[c, e] if fine else 0.0
        _eigen(a, q, vectors)
        for c in range(q):
            if abs(a[c, c]) > largest:
                largest = abs(a[c, c])
        for c in range(q):
            share = 0.0
            for e in range(q):
                if along[e] != 0.0 and math.isfinite(gradient[k, e]):
                    share += vectors[e, c] * gradient[k, e]
            size = abs(a[c, c])
            share /= size if size > FLAT * largest else FLAT * largest
            for e in range(q):
                steps[i, e] += vectors[e, c] * share
        longest = 1.0
        for c in range(q):
            if along[c] == 0.0:
                steps[i, c] = 0.0
            if not abs(steps[i, c]) <= longest:
                longest = abs(steps[i, c])
        for c in range(q):
            steps[i, c] /= longest
