"""Compiled loops of discounting and gambles. Bare arrays, no policy.

Every loop runs over pairs k of trials, which[k], and a psi; the decisions are those from starts[e]
to starts[e + 1], and row after row is filled. Slopes have no rows where they are not asked for.
"""

import numpy as np
from numba import njit

NOTHING = 37.0  # exp(-37) of an amount is less than its rounding error: worth nothing
SLOTS = 64  # values of a shape parameter whose powers are kept, while the trials are the same


@njit(cache=True, nogil=True, error_model="numpy")
def hyperbolic(amount, delay, starts, which, psi, x, slopes):
    """A / (1 + k D), and its derivative in k."""
    steep = slopes.shape[1] > 0
    row = 0
    for k in range(len(which)):
        rate = psi[k, 0]
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(x.shape[1]):
                factor = 1.0 / (1.0 + rate * delay[t, i])
                x[row, i, 0] = amount[t, i] * factor
                if steep:
                    slopes[0, row, i, 0] = -amount[t, i] * delay[t, i] * factor * factor
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def exponential(amount, delay, starts, which, psi, x, slopes):
    """A exp(-k D), and its derivative in k; with two weights the first is of what comes now."""
    steep = slopes.shape[1] > 0
    last = x.shape[2] - 1
    row = 0
    for k in range(len(which)):
        rate = psi[k, 0]
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(x.shape[1]):
                later = last if delay[t, i] > 0 else 0
                for a in range(last + 1):
                    x[row, i, a] = 0.0
                    if steep:
                        slopes[0, row, i, a] = 0.0
                if rate * delay[t, i] > NOTHING:
                    continue
                value = amount[t, i] * np.exp(-rate * delay[t, i])
                x[row, i, later] = value
                if steep:
                    slopes[0, row, i, later] = -delay[t, i] * value
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def constant_sensitivity(amount, delay, starts, which, psi, x, slopes):
    """A exp(-z) with z = (a D)^s, and its derivatives in a and s."""
    steep = slopes.shape[1] > 0
    log_delay = np.log(delay)
    row = 0
    for k in range(len(which)):
        log_rate, power = np.log(psi[k, 0]), psi[k, 1]
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(x.shape[1]):
                if delay[t, i] == 0:
                    x[row, i, 0] = amount[t, i]
                    if steep:
                        slopes[0, row, i, 0] = slopes[1, row, i, 0] = 0.0
                    continue
                log_z = power * (log_rate + log_delay[t, i])
                z = np.exp(log_z)
                value = amount[t, i] * np.exp(-z) if z <= NOTHING else 0.0
                x[row, i, 0] = value
                if steep:
                    fall = -value * z if z <= NOTHING else 0.0
                    slopes[0, row, i, 0] = fall * power / psi[k, 0]
                    slopes[1, row, i, 0] = fall * (log_rate + log_delay[t, i])
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def prelec_weight(p, gamma):
    """exp(-L^gamma) with L = -log p, and its derivative."""
    if p <= 0 or p >= 1:
        return p, 0.0
    log_l = np.log(-np.log(p))
    power = np.exp(gamma * log_l)
    if power > NOTHING:
        return 0.0, 0.0
    weight = np.exp(-power)
    return weight, -weight * power * log_l


@njit(cache=True, nogil=True, error_model="numpy")
def tversky_kahneman_weight(p, gamma):
    """p^g / S^(1/g) with S = p^g + (1 - p)^g, and its derivative."""
    if p <= 0 or p >= 1:
        return p, 0.0
    log_p, log_rest = np.log(p), np.log1p(-p)
    power, rest = np.exp(gamma * log_p), np.exp(gamma * log_rest)
    total = power + rest
    weight = np.exp(gamma * log_p - np.log(total) / gamma)
    change = (power * log_p + rest * log_rest) / (gamma * total)
    return weight, weight * (log_p + np.log(total) / (gamma * gamma) - change)


@njit(cache=True, nogil=True, error_model="numpy")
def _slot(known, n_known, value):
    """Where a value is kept, and whether it was there already."""
    for a in range(min(n_known, SLOTS)):
        if known[a] == value:
            return a, True
    return n_known % SLOTS, False


@njit(cache=True, nogil=True, error_model="numpy")
def gambles(outcome, p, starts, which, psi, weighting, joint, x, slopes):
    """Weighted utility of gains, and minus that of losses; in one column where they are joint.

    weighting : 0 none, 1 Prelec, 2 Tversky and Kahneman

    Powers of outcomes and weights of probabilities are kept from one psi to the next, as points of
    a grid share them.
    """
    steep = slopes.shape[1] > 0
    n_options, n_outcomes, d = x.shape[1], outcome.shape[2], x.shape[2]
    longest = 0
    for k in range(len(which)):
        longest = max(longest, starts[which[k] + 1] - starts[which[k]])
    shape = (longest, n_options, n_outcomes)
    log_size = np.empty(shape)
    powers = np.empty((SLOTS, *shape))
    weights, tilts = np.empty((SLOTS, *shape)), np.empty((SLOTS, *shape))
    curvatures, sensitivities = np.empty(SLOTS), np.empty(SLOTS)
    n_curvatures, n_sensitivities, current = 0, 0, -1
    row = 0
    for k in range(len(which)):
        begin = starts[which[k]]
        n = starts[which[k] + 1] - begin
        if which[k] != current:
            current, n_curvatures, n_sensitivities = which[k], 0, 0
            for t in range(n):
                for i in range(n_options):
                    for j in range(n_outcomes):
                        size = abs(outcome[begin + t, i, j])
                        log_size[t, i, j] = np.log(size) if size > 0 else 0.0
        rho = psi[k, 0]
        u, known = _slot(curvatures, n_curvatures, rho)
        if not known:
            curvatures[u] = rho
            n_curvatures += 1
            for t in range(n):
                for i in range(n_options):
                    for j in range(n_outcomes):
                        powers[u, t, i, j] = np.exp(rho * log_size[t, i, j])
        gamma = psi[k, 1] if weighting > 0 else 1.0
        w, known = _slot(sensitivities, n_sensitivities, gamma)
        if not known:
            sensitivities[w] = gamma
            n_sensitivities += 1
            for t in range(n):
                for i in range(n_options):
                    for j in range(n_outcomes):
                        weight, tilt = p[begin + t, i, j], 0.0
                        if weighting == 1:
                            weight, tilt = prelec_weight(weight, gamma)
                        elif weighting == 2:
                            weight, tilt = tversky_kahneman_weight(weight, gamma)
                        weights[w, t, i, j] = weight
                        tilts[w, t, i, j] = tilt
        for t in range(n):
            for i in range(n_options):
                for a in range(d):
                    x[row, i, a] = 0.0
                    if steep:
                        for q in range(slopes.shape[0]):
                            slopes[q, row, i, a] = 0.0
                for j in range(n_outcomes):
                    gain = outcome[begin + t, i, j]
                    if gain == 0:
                        continue
                    sign = 1.0 if gain > 0 else -1.0
                    a = 0 if joint or gain > 0 else 1
                    size = sign * powers[u, t, i, j]
                    x[row, i, a] += weights[w, t, i, j] * size
                    if steep:
                        slopes[0, row, i, a] += weights[w, t, i, j] * size * log_size[t, i, j]
                        if weighting > 0:
                            slopes[1, row, i, a] += tilts[w, t, i, j] * size
            row += 1
