"""Compiled sums over the decisions of many profiles. Bare arrays, no policy.

Numbers are set one by one: assigning to a slice compiles its shape errors too, for seconds.
"""

import math

import numpy as np

from penchant._compiled import njit
from penchant.softmax._exponentials import exponentials, whole_blocks

FAST = {"contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy")
def most_rows(bounds):
    """Most rows that any pair has."""
    most = 0
    for k in range(len(bounds) - 1):
        most = max(most, bounds[k + 1] - bounds[k])
    return most


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def probabilities(x, chosen, rows, weights, counted, p):
    """Fill p with the probabilities of all options of rows; returns the log-likelihood if counted.

    p : whole blocks of eight, enough for all options of the rows
    """
    _, m, d = x.shape
    at, log_likelihood = 0, 0.0
    for r in rows:
        c, highest = chosen[r], 0.0
        for i in range(m):
            utility = 0.0
            for a in range(d):
                utility += weights[a] * (x[r, i, a] - x[r, c, a])
            p[at + i] = utility
            highest = max(highest, utility)
        for i in range(m):
            p[at + i] -= highest
        log_likelihood -= highest
        at += m
    exponentials(p[: whole_blocks(at)])
    for first in range(0, at, m):
        total = 0.0
        for i in range(first, first + m):
            total += p[i]
        if counted:
            log_likelihood -= math.log(total)
        for i in range(first, first + m):
            p[i] /= total
    return log_likelihood


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def derivatives(x, dx, chosen, order, bounds, theta, wanted, gradient, curvature, spreading):
    """Derivatives of log-likelihoods in psi at fixed theta, for pairs k of data and psi.

    x : (rows, n_options, d); dx : (n_shape, rows, n_options, d); chosen : (rows,)
    order, bounds : rows that are scored, those of pair k from bounds[k] to bounds[k + 1]
    theta : (n, d)
    wanted : 0: gradient only; 1: `curvature` too; 2: `spreading` too
    gradient : (n, n_shape), filled: of the log-likelihood in psi
    curvature : three arrays, filled: `cross` (n, d, n_shape), the derivative in psi of the gradient
        in theta; `mixed`, what is expected of it, with its sign turned; `fisher` (n, n_shape,
        n_shape), what is expected of minus the second derivative in psi
    spreading : (n, d, n_shape), filled: derivative in psi of the within-set mean squares
    """
    n_shape, _, m, d = dx.shape
    cross, mixed, fisher = curvature
    s, means = np.empty((n_shape, m)), np.empty(n_shape)
    away, first = np.empty((m, d)), np.empty(d)
    p = np.zeros(whole_blocks(most_rows(bounds) * m))
    counted = wanted < 0  # never; no literal, for which all would be compiled once more
    for k in range(len(theta)):
        for q in range(n_shape):
            gradient[k, q] = 0.0
            for o in range(n_shape):
                fisher[k, q, o] = 0.0
            for a in range(d):
                cross[k, a, q] = mixed[k, a, q] = spreading[k, a, q] = 0.0
        weights = theta[k]
        probabilities(x, chosen, order[bounds[k] : bounds[k + 1]], weights, counted, p)
        for j in range(bounds[k], bounds[k + 1]):
            r = order[j]
            c = chosen[r]
            at = (j - bounds[k]) * m
            for a in range(d):
                first[a] = 0.0
            for i in range(m):
                for a in range(d):
                    away[i, a] = x[r, i, a] - x[r, c, a]
                    first[a] += p[at + i] * away[i, a]
            for q in range(n_shape):
                mean = 0.0
                for i in range(m):
                    slope = 0.0
                    for a in range(d):
                        slope += weights[a] * (dx[q, r, i, a] - dx[q, r, c, a])
                    s[q, i] = slope
                    mean += p[at + i] * slope
                means[q] = mean
                gradient[k, q] -= mean
                if wanted == 0:
                    continue
                for a in range(d):
                    moved, both = 0.0, 0.0
                    for i in range(m):
                        moved += p[at + i] * (dx[q, r, i, a] - dx[q, r, c, a])
                        both += p[at + i] * away[i, a] * s[q, i]
                    both -= first[a] * mean
                    mixed[k, a, q] += both
                    cross[k, a, q] -= moved + both
                for o in range(q + 1):
                    both = 0.0
                    for i in range(m):
                        both += p[at + i] * s[q, i] * s[o, i]
                    fisher[k, q, o] += both - mean * means[o]
                if wanted == 1:
                    continue
                for a in range(d):
                    product, level, second = 0.0, 0.0, 0.0
                    for i in range(m):
                        change = dx[q, r, i, a] - dx[q, r, c, a]
                        product += away[i, a] * change
                        level += away[i, a]
                        second += change
                    spreading[k, a, q] += 2.0 * (product - level * second / m) / m
        for q in range(n_shape):
            for o in range(q):
                fisher[k, o, q] = fisher[k, q, o]
        n = bounds[k + 1] - bounds[k]
        if wanted == 2 and n > 0:
            for a in range(d):
                for q in range(n_shape):
                    spreading[k, a, q] /= n


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def moments(x, chosen, order, bounds, theta, sums, gradient, information):
    """Log-likelihood, gradient and information in theta, for pairs k of data and theta.

    sums : (n,), gradient : (n, d), information : (n, d, d); filled
    """
    _, m, d = x.shape
    mean = np.empty(d)
    p = np.zeros(whole_blocks(most_rows(bounds) * m))
    for k in range(len(theta)):
        rows = order[bounds[k] : bounds[k + 1]]
        sums[k] = probabilities(x, chosen, rows, theta[k], k >= 0, p)
        for a in range(d):
            gradient[k, a] = 0.0
            for b in range(d):
                information[k, a, b] = 0.0
        for j in range(bounds[k], bounds[k + 1]):
            r = order[j]
            c = chosen[r]
            at = (j - bounds[k]) * m
            for a in range(d):
                mean[a] = 0.0
            for i in range(m):
                for a in range(d):
                    mean[a] += p[at + i] * (x[r, i, a] - x[r, c, a])
            for i in range(m):
                for a in range(d):
                    away = x[r, i, a] - x[r, c, a] - mean[a]
                    for b in range(a + 1):
                        information[k, a, b] += (
                            p[at + i] * away * (x[r, i, b] - x[r, c, b] - mean[b])
                        )
            for a in range(d):
                gradient[k, a] -= mean[a]
        for a in range(d):
            for b in range(a):
                information[k, b, a] = information[k, a, b]
