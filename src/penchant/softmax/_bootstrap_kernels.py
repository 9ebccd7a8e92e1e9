"""Compiled fits of choices drawn anew in the same choice sets. Bare arrays, no policy.

With s the sum of the variables of the options taken, the log-likelihood is theta's - A(theta), and
A is the same for all draws: what differs between them is s alone.
"""

import math

import numpy as np

from penchant.softmax._kernels import compiled, compiled_no_alloc, newton_step

STEPS = 60  # of Newton's method, halvings included; separated choices take the most
ENOUGH = 1e-5  # squared Newton decrement from which one step more is taken for granted


@compiled_no_alloc
def log_sums(x, offset, theta, room, gradient, information):
    """A(theta), the sum of log sum exp Q over decisions, with its derivatives.

    x : (n_decisions, n_options, d), offset : (n_decisions, n_options), -inf where not on offer
    room : (n_options + d,)
    """
    n, m, d = x.shape
    total = 0.0
    for a in range(d):
        gradient[a] = 0.0
        for c in range(d):
            information[a, c] = 0.0
    mean = room[m:]
    for t in range(n):
        top, at = -np.inf, 0
        for i in range(m):
            q = offset[t, i]
            for a in range(d):
                q += theta[a] * x[t, i, a]
            room[i] = q
            if q > top:
                top, at = q, i
        z = 1.0
        for i in range(m):
            if i == at:
                room[i] = 1.0
            else:
                room[i] = math.exp(room[i] - top)
                z += room[i]
        total += top + math.log(z)
        for a in range(d):
            mean[a] = 0.0
        for i in range(m):
            p = room[i] / z
            room[i] = p
            for a in range(d):
                mean[a] += p * x[t, i, a]
        for a in range(d):
            gradient[a] += mean[a]
        for i in range(m):
            for a in range(d):
                away = room[i] * (x[t, i, a] - mean[a])
                for c in range(a + 1):
                    information[a, c] += away * (x[t, i, c] - mean[c])
    for a in range(d):
        for c in range(a):
            information[c, a] = information[a, c]
    return total


@compiled_no_alloc
def climb(x, offset, known, s, positive, theta, state, rooms):
    """Maximum of known + theta's - A(theta) from theta, which is filled; or as far as it rises.

    positive : (d,), weights that must not be negative
    """
    d = len(s)
    trial, step, gradient, information = state
    room, solving = rooms
    best, fraction = -np.inf, 1.0
    for a in range(d):
        trial[a] = theta[a]
    for _ in range(STEPS):
        value = known - log_sums(x, offset, trial, room, gradient, information)
        for a in range(d):
            value += trial[a] * s[a]
        if not value >= best - 1e-12 * (1.0 + abs(best)):
            fraction *= 0.5
            if fraction < 1e-6:
                return best
            for a in range(d):
                trial[a] = theta[a] + fraction * step[a]
                if positive[a] and trial[a] < 0.0:
                    trial[a] = 0.0
            continue
        best, fraction = value, 1.0
        for a in range(d):
            theta[a] = trial[a]
            gradient[a] = s[a] - gradient[a]
        for a in range(d):
            held = positive[a] and theta[a] <= 0.0 and gradient[a] <= 0.0
            if held or information[a, a] <= 0.0:
                for c in range(d):
                    information[a, c] = information[c, a] = 0.0
                information[a, a], gradient[a] = 1.0, 0.0
        promised = newton_step(information, gradient, step, solving)
        if not promised >= 0.0:
            return best
        if promised < ENOUGH:
            return best + 0.5 * promised
        for a in range(d):
            trial[a] = theta[a] + step[a]
            if positive[a] and trial[a] < 0.0:
                trial[a] = 0.0
    return best


@compiled
def solve_pairs(x, offset, chosen, draw, point, positive, sums, values, thetas):
    """Best weights of pairs of a draw and a point of psi.

    x : (n_points, n_decisions, n_options, d), offset : (n_points, n_decisions, n_options)
    chosen : (n_draws, n_decisions)
    draw, point : (n,), which pairs
    sums : (n_points,), A where there are no weights, NaN where it is not known yet
    values, thetas : (n,), (n, d), filled; weights start from what thetas hold
    """
    _, n_decisions, m, d = x.shape
    state = np.empty(d), np.empty(d), np.empty(d), np.empty((d, d))
    rooms = np.empty(m + d), np.empty((2 * d + 2, d))
    s = np.empty(d)
    for k in range(len(draw)):
        g, took = point[k], chosen[draw[k]]
        known = 0.0
        for a in range(d):
            s[a] = 0.0
        for t in range(n_decisions):
            known += offset[g, t, took[t]]
            for a in range(d):
                s[a] += x[g, t, took[t], a]
        if d == 0:
            if math.isnan(sums[g]):
                sums[g] = log_sums(x[g], offset[g], thetas[k], rooms[0], state[2], state[3])
            values[k] = known - sums[g]
            continue
        values[k] = climb(x[g], offset[g], known, s, positive, thetas[k], state, rooms)


@compiled
def screened(x, offset, chosen, points, candidates, sums, cells, thetas):
    """The best of some candidates for the weights, at some points: where to begin.

    points : (n_cells,), which of the points of x
    candidates : (n_cells, n_candidates, d), weights; sums : A at each
    cells, thetas : (n_draws,), (n_draws, d), filled
    """
    n_decisions, d = x.shape[1], x.shape[3]
    s = np.empty(d)
    for k in range(len(chosen)):
        took, best = chosen[k], -np.inf
        for c in range(len(points)):
            g, known = points[c], 0.0
            for a in range(d):
                s[a] = 0.0
            for t in range(n_decisions):
                known += offset[g, t, took[t]]
                for a in range(d):
                    s[a] += x[g, t, took[t], a]
            for j in range(candidates.shape[1]):
                value = known - sums[c, j]
                for a in range(d):
                    value += candidates[c, j, a] * s[a]
                if value > best:
                    best, cells[k] = value, c
                    for a in range(d):
                        thetas[k, a] = candidates[c, j, a]
