"""Compiled loops of discounting and gambles. Bare arrays, no policy.

Every loop runs over pairs k of trials, which[k], and a psi; the decisions are those from starts[e]
to starts[e + 1], and row after row is filled. Slopes have no rows where they are not asked for.
"""

import numpy as np

from penchant._compiled import inner_njit, njit
from penchant.softmax._simd import exp_prefix_in_place, log_in_place

PRELEC, TVERSKY_KAHNEMAN = 1, 2  # weightings of probabilities
LARGE = 700.0  # exp(700) is all but infinite
NOTHING = 37.0  # exp(-37) of an amount is less than its rounding error: worth nothing
SLOTS = 24  # values of a shape parameter whose powers are kept, while the trials are the same


@inner_njit
def hyperbola(top, weight, rate, value):
    """A / (1 + k w)."""
    for j in range(len(value)):
        value[j] = top[j] * (1.0 / (1.0 + rate * weight[j]))


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


@inner_njit
def hyperbola_slopes(top, weight, log_amount, rate, utility, value, by_rate, by_power):
    """The same, and derivatives in k, and in the exponent of the top or, less 1, of the weight."""
    for j in range(len(value)):
        share = 1.0 / (1.0 + rate * weight[j])
        worth = top[j] * share
        fall = -worth * weight[j] * share
        value[j], by_rate[j] = worth, fall
        by_power[j] = (worth if utility else -rate * fall) * log_amount[j]


@njit(cache=True, nogil=True, error_model="numpy")
def by_magnitude(attributes, starts, which, psi, width, utility, rooms, x, slopes):
    """A / (1 + k A^-m D), or A^s / (1 + k D), and their derivatives in both parameters.

    attributes : (3, n), amounts, delays and log_in_place of amounts
    rooms : SLOTS for A^s or A^-m D of a person, and for exponents that they are of, after their
        number: they are kept from one psi to the next, as points of a grid share them
    """
    kept, known = rooms
    last, current = 0, -1
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        delay, log_amount = attributes[1, begin:end], attributes[2, begin:end]
        first, last = last, last + end - begin
        if which[k] != current:
            current, known[0] = which[k], 0.0
        rate, exponent, value = psi[k, 0], psi[k, 1], x[first:last]
        slot, is_known = slot_of(known, exponent)
        power = kept[slot, : end - begin]
        if not is_known:
            for j in range(len(power)):
                power[j] = min((exponent if utility else -exponent) * log_amount[j], LARGE)
            exp_prefix_in_place(kept[slot], len(power))
            if not utility:
                for j in range(len(power)):
                    power[j] *= delay[j]
        top, weight = power, delay
        if not utility:
            top, weight = attributes[0, begin:end], power
        if slopes.shape[1] > 0:
            steep = slopes[0, first:last], slopes[1, first:last]
            hyperbola_slopes(top, weight, log_amount, rate, utility, value, *steep)
        else:
            hyperbola(top, weight, rate, value)


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
        exp_prefix_in_place(room, len(factor))
        for j in range(len(value)):
            value[j] = amount[j] * factor[j] if rate * delay[j] <= NOTHING else 0.0
        if slopes.shape[1] > 0:
            fall = slopes[0, first:last]
            for j in range(len(fall)):
                fall[j] = -delay[j] * value[j]


@njit(cache=True, nogil=True, error_model="numpy")
def by_odds(attributes, starts, which, psi, width, x, slopes):
    """A p / (p + h (1 - p)), after delays over 1 + k D, and derivatives in k and h.

    attributes : (3 or 4, n), A p, p and 1 - p, and delays; psi is h, or k and h
    """
    last, q = 0, psi.shape[1] - 1
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        worth, p, rest = (
            attributes[0, begin:end],
            attributes[1, begin:end],
            attributes[2, begin:end],
        )
        first, last = last, last + end - begin
        value, rate = x[first:last], psi[k, q]
        for j in range(len(value)):
            value[j] = worth[j] / (p[j] + rate * rest[j])
        if q > 0:
            delay = attributes[3, begin:end]
            for j in range(len(value)):
                value[j] /= 1.0 + psi[k, 0] * delay[j]
            if slopes.shape[1] > 0:
                fall = slopes[0, first:last]
                for j in range(len(fall)):
                    fall[j] = -value[j] * delay[j] / (1.0 + psi[k, 0] * delay[j])
        if slopes.shape[1] > 0:
            fall = slopes[q, first:last]
            for j in range(len(fall)):
                fall[j] = -value[j] * rest[j] / (p[j] + rate * rest[j])


@njit(cache=True, nogil=True, error_model="numpy")
def stakes_seen(p, points, stake, won, lost):
    """Fill q log(1 + W), and what is left after a loss; rooms are whole blocks of eight."""
    for j in range(len(p)):
        won[j] = 1.0 + points[j] * (1.0 + stake[j])
        lost[j] = points[j] * (1.0 - stake[j])
    log_in_place(won)
    for j in range(len(p)):
        won[j] *= p[j]


@njit(cache=True, nogil=True, error_model="numpy")
def of_stakes(worth, chances, delays, starts, which, psi, width, room, x, slopes):
    """q log(1 + W) + (1 - q) log(1 + rho L), its derivative in rho, and minus the delay.

    worth : (2, n), q log(1 + W) and what is left after a loss, L; chances q
    room : ones
    x, slopes : two columns, in a row
    """
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        won, lost = worth[0, begin:end], worth[1, begin:end]
        chance, wait = chances[begin:end], delays[begin:end]
        first, last = last, last + 2 * (end - begin)
        rate, both, value = psi[k, 0], x[first:last], room[: end - begin]
        for j in range(len(value)):
            value[j] = 1.0 + rate * lost[j]
        log_in_place(room)
        for j in range(len(value)):
            value[j] = won[j] + (1.0 - chance[j]) * value[j]
        for j in range(len(value)):
            both[2 * j] = value[j]
            both[2 * j + 1] = -wait[j]
        if len(slopes) > 0:
            rise = slopes[first:last]
            for j in range(len(value)):
                value[j] = (1.0 - chance[j]) * lost[j] / (1.0 + rate * lost[j])
            for j in range(len(value)):
                rise[2 * j] = value[j]
                rise[2 * j + 1] = 0.0
        for j in range(len(value)):
            value[j] = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def beside_peers(attributes, starts, which, psi, width, rooms, x, slopes):
    """p H^rho + (1 - p) L^rho, its derivative in rho, and what peers took.

    attributes : (5, n), p and log H, 1 - p and log L, and what peers took
    x, slopes : two columns, in a row
    """
    last = 0
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        first, last = last, last + 2 * (end - begin)
        high, low, both = rooms[0, : end - begin], rooms[1, : end - begin], x[first:last]
        p, log_high = attributes[0, begin:end], attributes[1, begin:end]
        rest, log_low = attributes[2, begin:end], attributes[3, begin:end]
        taken, rho = attributes[4, begin:end], psi[k, 0]
        for j in range(len(high)):
            high[j] = min(rho * log_high[j], LARGE)
        for j in range(len(low)):
            low[j] = min(rho * log_low[j], LARGE)
        exp_prefix_in_place(rooms[0], len(high))
        exp_prefix_in_place(rooms[1], len(low))
        for j in range(len(high)):
            high[j] *= p[j]
        for j in range(len(low)):
            low[j] *= rest[j]
        for j in range(len(high)):
            both[2 * j] = high[j] + low[j]
            both[2 * j + 1] = taken[j]
        if len(slopes) > 0:
            rise = slopes[first:last]
            for j in range(len(high)):
                rise[2 * j] = high[j] * log_high[j] + low[j] * log_low[j]
                rise[2 * j + 1] = 0.0


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

    attributes : (3, n), amounts, delays and log_in_place of delays, 0 where there is none
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
        exp_prefix_in_place(rooms[0], len(z))
        for j in range(len(z)):
            z[j] = 0.0 if delay[j] == 0 else z[j]
        for j in range(len(z)):
            factor[j] = -min(z[j], NOTHING + 1.0)
        exp_prefix_in_place(rooms[1], len(z))
        for j in range(len(value)):
            value[j] = amount[j] * factor[j] if z[j] <= NOTHING else 0.0
        if slopes.shape[1] > 0:
            by_rate, by_power = slopes[0, first:last], slopes[1, first:last]
            for j in range(len(value)):
                by_rate[j] = -value[j] * z[j] * power / psi[k, 0] if z[j] <= NOTHING else 0.0
            for j in range(len(value)):
                fall = -value[j] * z[j] if z[j] <= NOTHING else 0.0
                by_power[j] = fall * (log_rate + log_delay[j])


@inner_njit
def slot_of(known, value):
    """Where a value is kept, and whether it was there already; known[0] counts those that were."""
    n_known = int(known[0])
    for a in range(min(n_known, SLOTS)):
        if known[1 + a] == value:
            return a, True
    known[0] = n_known + 1
    known[1 + n_known % SLOTS] = value
    return n_known % SLOTS, False


@inner_njit
def fill_utilities(sign, log_size, rho, utility):
    """sign(z) |z|^rho of outcomes; utility has room for whole blocks of eight."""
    for j in range(len(sign)):
        utility[j] = min(rho * log_size[j], LARGE)
    exp_prefix_in_place(utility, len(sign))
    for j in range(len(sign)):
        utility[j] *= sign[j]


@inner_njit
def prelec_weights(log_l, gamma, power, weight, tilt, steep):
    """exp(-L^gamma) with L = -log p, and its derivative."""
    n = len(log_l)
    for j in range(n):
        power[j] = gamma * log_l[j]
    exp_prefix_in_place(power, n)
    for j in range(n):
        weight[j] = -min(power[j], NOTHING + 1.0)
    exp_prefix_in_place(weight, n)
    for j in range(n):
        weight[j] = 0.0 if power[j] > NOTHING else weight[j]
    if steep:
        for j in range(n):
            tilt[j] = 0.0 if power[j] > NOTHING else -weight[j] * power[j] * log_l[j]


@inner_njit
def tversky_kahneman_weights(log_p, log_rest, gamma, power, weight, tilt):
    """p^g / S^(1/g) with S = p^g + (1 - p)^g, and its derivative."""
    n = len(log_p)
    for j in range(n):
        power[j], tilt[j] = gamma * log_p[j], gamma * log_rest[j]
    exp_prefix_in_place(power, n)
    exp_prefix_in_place(tilt, n)
    for j in range(n):
        change = power[j] * log_p[j] + tilt[j] * log_rest[j]
        power[j] += tilt[j]
        tilt[j] = change / (gamma * power[j])
    for j in range(n, len(power)):
        power[j] = 1.0
    log_in_place(power)
    for j in range(n):
        weight[j] = gamma * log_p[j] - power[j] / gamma
    exp_prefix_in_place(weight, n)
    for j in range(n):
        tilt[j] = weight[j] * (log_p[j] + power[j] / (gamma * gamma) - tilt[j])


@inner_njit
def fill_weights(p, log_p, log_rest, gamma, weighting, room, weight, tilt, steep):
    """Weights of probabilities, and their derivatives in gamma; rooms are whole blocks of eight.

    steep : whether derivatives are asked for
    """
    if weighting == PRELEC:
        prelec_weights(log_p, gamma, room, weight, tilt, steep)
    elif weighting == TVERSKY_KAHNEMAN:
        tversky_kahneman_weights(log_p, log_rest, gamma, room, weight, tilt)
    if weighting == 0:
        for j in range(len(p)):
            weight[j], tilt[j] = p[j], 0.0
        return
    for j in range(len(p)):
        weight[j] = p[j] if (p[j] <= 0.0) | (p[j] >= 1.0) else weight[j]
    if steep:
        for j in range(len(p)):
            tilt[j] = 0.0 if (p[j] <= 0.0) | (p[j] >= 1.0) else tilt[j]


@inner_njit
def first_parts(weight, utility, gains, losses):
    """Weighted utilities of an outcome, as those of gains or of losses."""
    for j in range(len(gains)):
        part = weight[j] * utility[j]
        gains[j] = 0.0 if utility[j] < 0 else part
        losses[j] = part if utility[j] < 0 else 0.0


@inner_njit
def add_parts(weight, utility, gains, losses):
    """Add those of another outcome."""
    for j in range(len(gains)):
        part = weight[j] * utility[j]
        gains[j] += 0.0 if utility[j] < 0 else part
        losses[j] += part if utility[j] < 0 else 0.0


@inner_njit
def multiply(weight, log_size, product):
    """Weights times log |outcome|: with these, utilities are their derivatives in the exponent."""
    for j in range(len(log_size)):
        product[j] = weight[j] * log_size[j]


@inner_njit
def put_down(gains, losses, n_columns, place):
    """Sums of gains in the first column, of losses in the last."""
    if n_columns == 1:
        for j in range(len(gains)):
            place[j] = gains[j] + losses[j]
    else:
        for j in range(len(gains)):
            place[2 * j] = gains[j]
            place[2 * j + 1] = losses[j]


@njit(cache=True, nogil=True, error_model="numpy")
def gambles(attributes, starts, which, psi, weighting, sizes, rooms, x, slopes):
    """Weighted utility of gains, and of losses; in one column if there is but one.

    attributes : (n_attributes, n_outcomes, n), signs of outcomes, and log |outcome|; probabilities,
        and log_in_place of them: log(-log p) for PRELEC; log p and log(1 - p) for TVERSKY_KAHNEMAN
    weighting : 0 none, PRELEC or TVERSKY_KAHNEMAN
    sizes : number of options, and of columns
    rooms : one for numbers of a person, two for sums, SLOTS for utilities, weights and slopes of
        weights, and for psi that they are of, after their number

    Utilities of outcomes and weights of probabilities are kept from one psi to the next, as points
    of a grid share them.
    """
    room, sums, utilities, weights, tilts, known = rooms
    width, n_columns = sizes
    signs, log_sizes, chances = attributes[0], attributes[1], attributes[2]
    log_p, log_rest = attributes[min(3, len(attributes) - 1)], attributes[len(attributes) - 1]
    steep = slopes.shape[1] > 0
    row, current = 0, -1
    for k in range(len(which)):
        begin, end = width * starts[which[k]], width * starts[which[k] + 1]
        if which[k] != current:
            current, known[0, 0], known[1, 0] = which[k], 0.0, 0.0
        rho, gamma = psi[k, 0], psi[k, 1] if weighting > 0 else 1.0
        u, is_known = slot_of(known[0], rho)
        if not is_known:
            for o in range(len(signs)):
                mine = signs[o, begin:end], log_sizes[o, begin:end]
                fill_utilities(*mine, rho, utilities[u, o])
        w, is_known = slot_of(known[1], gamma)
        if not is_known:
            for o in range(len(signs)):
                said = chances[o, begin:end], log_p[o, begin:end], log_rest[o, begin:end]
                fill_weights(*said, gamma, weighting, room, weights[w, o], tilts[w, o], steep)
        gains, losses = sums[0, : end - begin], sums[1, : end - begin]
        first, last = row * n_columns, (row + end - begin) * n_columns
        for q in range(-1, len(slopes) if steep else 0):
            for o in range(len(signs)):
                weight = tilts[w, o] if q == 1 else weights[w, o]
                if q == 0:
                    multiply(weight, log_sizes[o, begin:end], room)
                    weight = room
                if o == 0:
                    first_parts(weight, utilities[u, o], gains, losses)
                else:
                    add_parts(weight, utilities[u, o], gains, losses)
            place = x[first:last] if q < 0 else slopes[q, first:last]
            put_down(gains, losses, n_columns, place)
        row += end - begin
