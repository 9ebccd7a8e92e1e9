"""Compiled profiles of many subjects at many psi, and sums over their decisions. Bare arrays.

`profile` packs choices as fits of choices do: eight decisions in a block, rows relative to the
option chosen. Here all choice sets have the same size, the weights start from those of a psi
nearby, and the last step of Newton's method is taken for granted: it gains half the squared
decrement. Numbers are set one by one, because assigning to a slice compiles its shape errors too,
for seconds.
"""

import math

import numpy as np

from penchant._compiled import njit
from penchant.softmax._emit import LANES, exponentials, whole_blocks
from penchant.softmax._kernels import compiled, inner, lanes, newton_step, sum_chunks

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


STEPS = 80  # of Newton's method, halvings included; the likelihood of a choice may go to 1
ROUNDS = 8  # of which weights are held at 0


@inner
def pack(x, chosen, rows, values, side):
    """Write blocks of eight decisions, relative to the options chosen; returns their number.

    rows : which of the events of x (n_events, n_options, d) and chosen (n_events,) are scored
    """
    _, m, d = x.shape
    n = len(rows)
    n_blocks = (n + LANES - 1) // LANES
    for b in range(n_blocks):
        place = b * (m - 1) * d * LANES
        for lane in range(LANES):
            inside = b * LANES + lane < n
            r = rows[b * LANES + lane] if inside else rows[b * LANES]
            c = chosen[r]
            side[b, lane] = 1.0 if inside else 0.0
            side[b, LANES + lane] = 0.0
            for i in range(m - 1):
                other = i if i < c else i + 1
                for a in range(d):
                    values[place + (i * d + a) * LANES + lane] = x[r, other, a] - x[r, c, a]
    return n_blocks


@inner
def climb_face(problem, enough, least, held, theta, state, rooms):
    """Newton's method from theta where some weights are held; returns the value, NaN if it fails.

    least : the value at 0, from where it begins if theta is no better
    state : trial, step, information, gradient; the last is that of all weights, at the end
    """
    packed, n_blocks, variables = problem
    trial, step, information, gradient = state
    scratch, total, part, moments, room = rooms
    d = len(variables)
    best, fraction, promised = -np.inf, 1.0, 0.0
    for a in range(d):
        trial[a] = theta[a]
        step[a] = 0.0
    for _ in range(STEPS):
        sum_chunks(packed, n_blocks, trial, variables, (), scratch, total, part, moments)
        if best == -np.inf and not moments[0] >= least:
            for a in range(d):
                trial[a] = 0.0
            sum_chunks(packed, n_blocks, trial, variables, (), scratch, total, part, moments)
        if not moments[0] >= best + 0.25 * fraction * promised - 1e-12 * (1.0 + abs(best)):
            fraction *= 0.5
            for a in range(d):
                trial[a] = theta[a] + fraction * step[a]
            continue
        best, fraction = moments[0], 1.0
        for a in range(d):
            theta[a] = trial[a]
            gradient[a] = 0.0 if held[a] else -moments[1 + a]
            for c in range(a + 1):
                both = moments[1 + d + a * (a + 1) // 2 + c]
                if held[a] or held[c]:
                    both = 1.0 if a == c else 0.0
                information[a, c] = information[c, a] = both
        for a in range(d):
            if information[a, a] == 0.0:  # a variable that does not vary tells nothing
                information[a, a], gradient[a] = 1.0, 0.0
        promised = newton_step(information, gradient, step, room)
        if not promised >= 0.0:
            return np.nan
        for a in range(d):
            if held[a]:
                step[a] = 0.0
            trial[a] = theta[a] + step[a]
        if promised < enough:
            for a in range(d):
                theta[a] = trial[a]
                gradient[a] = -moments[1 + a]
            return best + 0.5 * promised
    return np.nan


@inner
def climb_inside(problem, enough, least, positive, held, theta, state, rooms):
    """Maximum where some weights are not negative; returns the value, NaN if it fails.

    held : which weights are 0; those that were nearby to begin with. The objective is concave: it
    is the maximum where weights that are held would only fall, and the others are positive.
    """
    for _ in range(ROUNDS):
        value = climb_face(problem, enough, least, held, theta, state, rooms)
        if not value <= 0.0:
            return np.nan
        fine = True
        for a in positive:
            wrong = state[3][a] > 0.0 if held[a] else theta[a] <= 0.0
            if wrong:
                held[a] = not held[a]
                theta[a] = 0.0
                fine = False
        if fine:
            return value
    return np.nan


@compiled
def profile(x, episodes, subject, near, enough, positive, variables, values, thetas):
    """The best weights of pairs, each from those of pair near[k] < k, or as given if that is -1.

    From the third point of a line on, where weights change evenly, it begins where they lead to.

    x : (rows, n_options, d), all events of pair after pair
    episodes : chosen options of all subjects' events, where those of each begin; which of them are
        scored, counted from there, and where those of each subject begin
    subject : (n,), of each pair
    enough : squared Newton decrement below which a last step is taken
    values : (n,), filled: log-likelihood, NaN where it needs a closer look
    thetas : (n, d), filled; to start from where near is -1
    """
    chosen, first_event, scored, first_scored = episodes
    _, m, d = x.shape
    n_moments = 1 + d + d * (d + 1) // 2
    most = 0
    for k in range(len(near)):
        most = max(most, first_scored[subject[k] + 1] - first_scored[subject[k]])
    most_blocks = (most + LANES - 1) // LANES
    packed = lanes(most_blocks * (m - 1) * d)
    side = lanes(most_blocks * 2).reshape((most_blocks, 2 * LANES))
    starts = np.arange(most_blocks + 1) * (m - 1)
    rooms = (
        lanes(m - 1),
        lanes(n_moments),
        np.empty(n_moments),
        np.empty(n_moments),
        np.empty((2 * d + 2, d)),
    )
    state = (np.empty(d), np.empty(d), np.empty((d, d)), np.empty(d))
    held = np.zeros(d, dtype=np.bool_)
    row = 0
    for k in range(len(near)):
        s = subject[k]
        n_events = first_event[s + 1] - first_event[s]
        mine = scored[first_scored[s] : first_scored[s + 1]]
        n = len(mine)
        theta = thetas[k]
        took = chosen[first_event[s] : first_event[s + 1]]
        n_blocks = pack(x[row : row + n_events], took, mine, packed, side)
        row += n_events
        problem = ((packed, starts, side), n_blocks, variables)
        j = near[k]
        if j >= 0:
            i = near[j]
            ahead = i >= 0 and k - j == j - i and math.isfinite(values[i])
            for a in range(d):
                theta[a] = thetas[j, a] if math.isfinite(values[j]) else 0.0
                if ahead and theta[a] != 0.0:
                    theta[a] += thetas[j, a] - thetas[i, a]
        for a in range(d):
            held[a] = False
        for a in positive:
            held[a] = j >= 0 and math.isfinite(values[j]) and thetas[j, a] <= 0.0
            if theta[a] <= 0.0:
                theta[a] = 0.0
        least = -n * math.log(m)
        values[k] = climb_inside(problem, enough, least, positive, held, theta, state, rooms)
