"""Compiled loops of discounting and gambles. Bare arrays, no policy.

Every loop runs over pairs k of trials, which[k], and a psi; the decisions are those from starts[e]
to starts[e + 1], and row after row is filled. Slopes have no rows where they are not asked for.
"""

import numpy as np

from penchant._compiled import njit
from penchant.softmax._lanes import exponentials, exponentials_of, logarithms, whole_blocks

PRELEC, TVERSKY_KAHNEMAN = 1, 2  # weightings of probabilities
LARGE = 700.0  # exp(700) is all but infinite
NOTHING = 37.0  # exp(-37) of an amount is less than its rounding error: worth nothing
SLOTS = 64  # values of a shape parameter whose powers are kept, while the trials are the same


@njit(nogil=True, error_model="numpy")
def hyperbola(top, weight, rate, value):
    """A / (1 + k w)."""
    for j in range(len(value)):
        value[j] = top[j] / (1.0 + rate * weight[j])


@njit(cache=True, nogil=True, error_model="numpy")
def hyperbolic(amounts, delays, starts, which, psi, width, x, slopes):
    """A / (1 + k D), and its derivative in k."""
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        first, last = last, last + end - begin
        amount, delay, value, rate = amounts[begin:end], delays[begin:end], x[first:last], psi[k, 0]
        for j in range(len(value)):
            value[j] = amount[j] / (1.0 + rate * delay[j])
        fall = slopes[first:last]
        for j in range(len(fall)):
            factor = 1.0 / (1.0 + rate * delay[j])
            fall[j] = -amount[j] * delay[j] * factor * factor


@njit(nogil=True, error_model="numpy")
def hyperbola_slopes(value, weight, log_amount, rate, utility, by_rate, by_power):
    """Its derivatives in k, and in the exponent of the top or, with a minus, of the weight."""
    for j in range(len(value)):
        by_rate[j] = -value[j] * weight[j] / (1.0 + rate * weight[j])
    for j in range(len(value)):
        by_power[j] = (value[j] if utility else -rate * by_rate[j]) * log_amount[j]


@njit(cache=True, nogil=True, error_model="numpy")
def by_magnitude(attributes, starts, which, psi, width, utility, room, x, slopes):
    """A / (1 + k A^-m D), or A^s / (1 + k D), and their derivatives in both parameters.

    attributes : (3, n), amounts, delays and logarithms of amounts
    """
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        delay, log_amount = attributes[1, begin:end], attributes[2, begin:end]
        first, last = last, last + end - begin
        rate, exponent, power = psi[k, 0], psi[k, 1], room[: end - begin]
        for j in range(len(power)):
            power[j] = min((exponent if utility else -exponent) * log_amount[j], LARGE)
        exponentials_of(room, len(power))
        top, weight, value = power, delay, x[first:last]
        if not utility:
            for j in range(len(power)):
                power[j] *= delay[j]
            top, weight = attributes[0, begin:end], power
        hyperbola(top, weight, rate, value)
        if slopes.shape[1] > 0:
            steep = slopes[0, first:last], slopes[1, first:last]
            hyperbola_slopes(value, weight, log_amount, rate, utility, *steep)


@njit(cache=True, nogil=True, error_model="numpy")
def against_norms(offer, chosen, starts, which, psi, first, count, x, slopes):
    """Offers, how far they fall short of the norm, and how far they exceed it; one column or two.

    count : offers that the first norm counts for in the mean of all of them; below 0 norms move by
        the rate psi[k, 0]. To reject, the first option, compares nothing.
    """
    steep, m, d = slopes.shape[1] > 0, x.shape[1], x.shape[2]
    row = 0
    for k in range(len(which)):
        f, df, n = first, 0.0, count
        for t in range(starts[which[k]], starts[which[k] + 1]):
            o = offer[t, m - 1]
            norm = (n * f + o) / (n + 1.0) if count >= 0 else f
            for i in range(m):
                x[row, i, 0] = offer[t, i]
                x[row, i, 1] = -max(norm - offer[t, i], 0.0) if i > 0 else 0.0
                if d > 2:
                    x[row, i, 2] = -max(offer[t, i] - norm, 0.0) if i > 0 else 0.0
                if steep:
                    for q in range(len(slopes)):
                        for a in range(d):
                            slopes[q, row, i, a] = 0.0
                        if i > 0 and norm > offer[t, i]:
                            slopes[q, row, i, 1] = -df
            row += 1
            if chosen[t] < 0:
                continue
            if count >= 0:
                f, n = norm, n + 1.0
            else:
                rate = psi[k, 0]
                f, df = f + rate * (o - f), df * (1.0 - rate) + (o - f)


@njit(cache=True, nogil=True, error_model="numpy")
def longest_of(starts, which):
    """Most decisions that any of the trials has."""
    most = 0
    for e in which:
        most = max(most, starts[e + 1] - starts[e])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def exponential(attributes, starts, which, psi, width, room, x, slopes):
    """A exp(-k D), and its derivative in k.

    attributes : (2, n), amounts and delays
    """
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        amount, delay = attributes[0, begin:end], attributes[1, begin:end]
        first, last = last, last + end - begin
        rate, factor, value = psi[k, 0], room[: end - begin], x[first:last]
        for j in range(len(factor)):
            factor[j] = -rate * delay[j]
        exponentials_of(room, len(factor))
        for j in range(len(value)):
            value[j] = amount[j] * factor[j] if rate * delay[j] <= NOTHING else 0.0
        if slopes.shape[1] > 0:
            fall = slopes[0, first:last]
            for j in range(len(fall)):
                fall[j] = -delay[j] * value[j]


@njit(cache=True, nogil=True, error_model="numpy")
def now_or_later(delay, starts, which, width, value, x):
    """Values of what comes now in the first of two columns, of what comes later in the second."""
    j = 0
    for e in which:
        for t in range(width * starts[e], width * starts[e + 1]):
            later = delay[t] > 0
            x[2 * j] = 0.0 if later else value[j]
            x[2 * j + 1] = value[j] if later else 0.0
            j += 1


@njit(cache=True, nogil=True, error_model="numpy")
def constant_sensitivity(attributes, starts, which, psi, width, rooms, x, slopes):
    """A exp(-z) with z = (a D)^s, and its derivatives in a and s.

    attributes : (3, n), amounts, delays and logarithms of delays, 0 where there is none
    """
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        first, last = last, last + end - begin
        log_rate, power = np.log(psi[k, 0]), psi[k, 1]
        z, factor, value = rooms[0, : end - begin], rooms[1, : end - begin], x[first:last]
        amount, delay = attributes[0, begin:end], attributes[1, begin:end]
        log_delay = attributes[2, begin:end]
        for j in range(len(z)):
            z[j] = min(power * (log_rate + log_delay[j]), LARGE)
        exponentials_of(rooms[0], len(z))
        for j in range(len(z)):
            z[j] = 0.0 if delay[j] == 0 else z[j]
        for j in range(len(z)):
            factor[j] = -min(z[j], NOTHING + 1.0)
        exponentials_of(rooms[1], len(z))
        for j in range(len(value)):
            value[j] = amount[j] * factor[j] if z[j] <= NOTHING else 0.0
        if slopes.shape[1] > 0:
            by_rate, by_power = slopes[0, first:last], slopes[1, first:last]
            for j in range(len(value)):
                by_rate[j] = -value[j] * z[j] * power / psi[k, 0] if z[j] <= NOTHING else 0.0
            for j in range(len(value)):
                fall = -value[j] * z[j] if z[j] <= NOTHING else 0.0
                by_power[j] = fall * (log_rate + log_delay[j])


@njit(cache=True, nogil=True, error_model="numpy")
def _slot(known, n_known, value):
    """Where a value is kept, and whether it was there already."""
    for a in range(min(n_known, SLOTS)):
        if known[a] == value:
            return a, True
    return n_known % SLOTS, False


@njit(cache=True, nogil=True, error_model="numpy")
def fill_utilities(outcome, log_size, rho, utility):
    """sign(z) |z|^rho of outcomes; utility has room for whole blocks of eight."""
    for j in range(len(outcome)):
        utility[j] = min(rho * log_size[j], LARGE)
    exponentials(utility)
    for j in range(len(outcome)):
        utility[j] *= np.sign(outcome[j])


@njit(cache=True, nogil=True, error_model="numpy")
def prelec_weights(p, log_l, gamma, power, weight, tilt):
    """exp(-L^gamma) with L = -log p, and its derivative."""
    n = len(p)
    for j in range(n):
        power[j] = gamma * log_l[j]
    exponentials(power)
    for j in range(n):
        weight[j] = -min(power[j], NOTHING + 1.0)
    exponentials(weight)
    for j in range(n):
        nothing = power[j] > NOTHING
        weight[j] = 0.0 if nothing else weight[j]
        tilt[j] = 0.0 if nothing else -weight[j] * power[j] * log_l[j]


@njit(cache=True, nogil=True, error_model="numpy")
def tversky_kahneman_weights(p, log_p, log_rest, gamma, power, weight, tilt):
    """p^g / S^(1/g) with S = p^g + (1 - p)^g, and its derivative."""
    n = len(p)
    for j in range(n):
        power[j], tilt[j] = gamma * log_p[j], gamma * log_rest[j]
    exponentials(power)
    exponentials(tilt)
    for j in range(n):
        change = power[j] * log_p[j] + tilt[j] * log_rest[j]
        power[j] += tilt[j]
        tilt[j] = change / (gamma * power[j])
    logarithms(power)
    for j in range(n):
        weight[j] = gamma * log_p[j] - power[j] / gamma
    exponentials(weight)
    for j in range(n):
        tilt[j] = weight[j] * (log_p[j] + power[j] / (gamma * gamma) - tilt[j])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_weights(chances, gamma, weighting, room, weight, tilt):
    """Weights of probabilities, and their derivatives in gamma; rooms are whole blocks of eight.

    chances : probabilities, and what `gambles` says of logarithms
    """
    p, log_p, log_rest = chances
    if weighting == PRELEC:
        prelec_weights(p, log_p, gamma, room, weight, tilt)
    elif weighting == TVERSKY_KAHNEMAN:
        tversky_kahneman_weights(p, log_p, log_rest, gamma, room, weight, tilt)
    for j in range(len(p)):
        if weighting == 0 or p[j] <= 0.0 or p[j] >= 1.0:
            weight[j], tilt[j] = p[j], 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def gambles(prepared, starts, which, psi, weighting, x, slopes):
    """Weighted utility of gains, and of losses; in one column if there is but one.

    prepared : outcomes, probabilities, log |outcome|, and two logarithms of the probabilities:
        log(-log p) for PRELEC, otherwise log p; and log(1 - p)
    weighting : 0 none, PRELEC or TVERSKY_KAHNEMAN

    Utilities of outcomes and weights of probabilities are kept from one psi to the next, as points
    of a grid share them.
    """
    n_options, n_outcomes = x.shape[1], prepared[0].shape[2]
    width = n_options * n_outcomes
    outcomes, chances, log_sizes = (
        prepared[0].reshape(-1),
        prepared[1].reshape(-1),
        prepared[2].reshape(-1),
    )
    log_p, log_rest = prepared[3].reshape(-1), prepared[4].reshape(-1)
    size = whole_blocks(longest_of(starts, which) * width)
    room, utilities = np.ones(size), np.zeros((SLOTS, size))
    weights, tilts = np.zeros((SLOTS, size)), np.zeros((SLOTS, size))
    curvatures, sensitivities = np.empty(SLOTS), np.empty(SLOTS)
    n_curvatures, n_sensitivities, current = 0, 0, -1
    row = 0
    for k in range(len(which)):
        begin = starts[which[k]]
        n = starts[which[k] + 1] - begin
        mine, blocks = slice(begin * width, (begin + n) * width), whole_blocks(n * width)
        if which[k] != current:
            current, n_curvatures, n_sensitivities = which[k], 0, 0
        u, known = _slot(curvatures, n_curvatures, psi[k, 0])
        utility = utilities[u, :blocks]
        if not known:
            curvatures[u] = psi[k, 0]
            n_curvatures += 1
            fill_utilities(outcomes[mine], log_sizes[mine], psi[k, 0], utility)
        gamma = psi[k, 1] if weighting > 0 else 1.0
        w, known = _slot(sensitivities, n_sensitivities, gamma)
        weight, tilt = weights[w, :blocks], tilts[w, :blocks]
        if not known:
            sensitivities[w] = gamma
            n_sensitivities += 1
            said = chances[mine], log_p[mine], log_rest[mine]
            fill_weights(said, gamma, weighting, room[:blocks], weight, tilt)
        add_up(utility, weight, n, n_outcomes, x[row : row + n])
        if slopes.shape[1] > 0:
            steep = slopes[:, row : row + n]
            add_up_slopes(utility, weight, tilt, log_sizes[mine], n, n_outcomes, steep)
        row += n


@njit(cache=True, nogil=True, error_model="numpy")
def add_up_slopes(utility, weight, tilt, log_size, n, n_outcomes, slopes):
    """Derivatives of weighted utilities in the curvature, and in gamma if there is one."""
    n_options, last = slopes.shape[2], slopes.shape[3] - 1
    j = 0
    for t in range(n):
        for i in range(n_options):
            for q in range(len(slopes)):
                for a in range(last + 1):
                    slopes[q, t, i, a] = 0.0
            for _ in range(n_outcomes):
                a = last if utility[j] < 0 else 0
                slopes[0, t, i, a] += weight[j] * utility[j] * log_size[j]
                if len(slopes) > 1:
                    slopes[1, t, i, a] += tilt[j] * utility[j]
                j += 1


@njit(cache=True, nogil=True, error_model="numpy")
def add_up(utility, weight, n, n_outcomes, x):
    """Weighted utilities of gains in the first column, of losses in the last."""
    n_options, last = x.shape[1], x.shape[2] - 1
    j = 0
    for t in range(n):
        for i in range(n_options):
            gains, losses = 0.0, 0.0
            for _ in range(n_outcomes):
                part = weight[j] * utility[j]
                gains += max(part, 0.0)
                losses += min(part, 0.0)
                j += 1
            x[t, i, 0] = gains
            x[t, i, last] = losses if last > 0 else gains + losses
