"""Compiled loops of models of the clinic. Bare arrays, no policy.

As in `learning/_kernels`: pairs k of an episode, which[k], and psi[k]; row t is written before
event t is learnt from. chosen is -1 where nothing was chosen, rewards are NaN where there was none.

Without derivatives, where dx is None, neighbours that share an episode are unfolded side by side, a
lane each: a number that is learnt from the one before it leaves a processor waiting, and it does
not wait for others. With derivatives there is one lane. Of those that go together, pairs holds the
episode, how many they are, and their first row; psi is (n, n_psi, lanes), and value (n, n_state,
lanes) what they know, before play at first, slope (n, n_shape, n_state, lanes) its derivatives. x
and dx come empty, and every number is written.

Loops that write more than they wait unfold pair after pair: value (n_state,) and slope (n_slopes,
n_state) are room for one of them, x is (rows, n_options n_weights) and dx the same for every shape
parameter along a first axis; slope and dx are None where no derivatives are asked for.
"""

import numpy as np

from penchant._compiled import njit
from penchant.softmax._simd import exp_prefix_in_place, log_in_place, padded_length

SIDE_BY_SIDE = 8  # pairs of one episode that are unfolded together
LARGE = 700.0  # exp(700) is all but infinite
ROUNDING = 6755399441055744.0  # 1.5 2^52: added to a number, it leaves a whole one
LOG_2 = 0.693147180369123816490, 1.90821492927058770002e-10  # of which the first has zeros behind


@njit(cache=True, nogil=True, error_model="numpy")
def two_step(
    chosen,
    rewards,
    is_choice,
    state,
    starts,
    which,
    psi,
    common,
    after,
    known,
    columns,
    value,
    slope,
    x,
    dx,
):
    """Columns: model-based, model-free at lambda 0 and 1, last choice; values of stage 2.

    psi: rates of both stages, or one for both. known: lambda, and one model-free column; below 0
    there are two. columns: where the last choice goes, or -1; where the values of stage 2 go, or -1
    for the columns of stage 1. value: four of stage 2, two model-free, two traces.
    """
    row, w, of_second = 0, x.shape[1] // 2, psi.shape[1] - 1
    n_values = 2 if known >= 0 else 3
    for k in range(len(which)):
        a1, a2 = psi[k, 0], psi[k, of_second]
        clear(value, slope)
        last, first = -1, -1
        for t in range(starts[which[k]], starts[which[k] + 1]):
            s, j = state[t], chosen[t]
            blank(x, dx, row)
            if s == 0:
                best0 = 0 if value[0] >= value[1] else 1
                best1 = 2 if value[2] >= value[3] else 3
                stage_1(value, best0, best1, common, known, x[row])
                if dx is not None:
                    for q in range(len(slope)):
                        stage_1(slope[q], best0, best1, common, known, dx[q, row])
                if last >= 0 and columns[0] >= 0:
                    x[row, last * w + columns[0]] = 1.0
                first = j
                if j >= 0 and is_choice[t]:
                    last = j
            elif s > 0:
                for i in range(2):
                    for a in range(n_values if columns[1] < 0 else 1):
                        at = i * w + (a if columns[1] < 0 else columns[1])
                        x[row, at] = value[2 * s - 2 + i]
                        if dx is not None:
                            for q in range(len(slope)):
                                dx[q, row, at] = slope[q, 2 * s - 2 + i]
                r, there = rewards[t], 2 * s - 2 + j
                if j >= 0 and r == r:
                    old = value[there]
                    new = old + a2 * (r - old)
                    error = r - new if after else r - old
                    if dx is not None:
                        for q in range(len(slope)):
                            d_old = slope[q, there]
                            d_new = d_old * (1.0 - a2) + (r - old if q == of_second else 0.0)
                            slope[q, there] = d_new
                            if first >= 0:
                                free, trace = value[4 + first], value[6 + first]
                                moves = (old - free, error - trace) if q == 0 else (0.0, 0.0)
                                d_free, d_trace = slope[q, 4 + first], slope[q, 6 + first]
                                d_error = -d_new if after else -d_old
                                slope[q, 4 + first] = d_free + a1 * (d_old - d_free) + moves[0]
                                slope[q, 6 + first] = d_trace + a1 * (d_error - d_trace) + moves[1]
                    if first >= 0:
                        value[4 + first] += a1 * (old - value[4 + first])
                        value[6 + first] += a1 * (error - value[6 + first])
                    value[there] = new
                first = -1
            row += 1


@njit(inline="always", nogil=True, error_model="numpy")
def stage_1(value, best0, best1, common, known, x):
    """Model-based and model-free values of the first stage, or their slopes."""
    w = len(x) // 2
    for i in range(2):
        best, other = (value[best0], value[best1]) if i == 0 else (value[best1], value[best0])
        x[i * w] = common * best + (1.0 - common) * other
        free, traced = value[4 + i], value[4 + i] + value[6 + i]
        if known >= 0:
            x[i * w + 1] = (1.0 - known) * free + known * traced
        else:
            x[i * w + 1], x[i * w + 2] = free, traced


@njit(cache=True, nogil=True, error_model="numpy")
def stay(chosen, rewards, state, starts, which, win_above, x):
    """1, reward, transition and their product, at the option of the last first-stage choice."""
    row = 0
    for k in range(len(which)):
        last, first, won, usual = -1, -1, 0.0, 0.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            s, j, r = state[t], chosen[t], rewards[t]
            if s == 0:
                if last >= 0:
                    x[row, last, 0] = 1.0
                    x[row, last, 1] = won
                    x[row, last, 2] = usual
                    x[row, last, 3] = won * usual
                first = j
            elif s > 0:
                if first >= 0 and j >= 0 and np.isfinite(r):
                    last = first
                    won = 1.0 if r > win_above else -1.0
                    usual = 1.0 if s - 1 == first else -1.0
                first = -1
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def prospect_traces(
    chosen, rewards, log_size, is_choice, starts, which, psi, rule, felt, value, slope, x, dx
):
    """Traces of gains and losses of an Iowa player; of wins and losses chosen, where asked for.

    psi: A, alpha, K. rule: 0 decay, 1 delta, 2 delta with perseverance. log_size: log |r|, or 0.
    felt: room for what is felt at all events of an episode.
    """
    w = 4 if rule == 2 else 2
    n_options, row = len(value) // w, 0
    for k in range(len(which)):
        begin, end = starts[which[k]], starts[which[k] + 1]
        rate = psi[k, 0]
        for t in range(begin, end):
            felt[t - begin] = min(psi[k, 1] * log_size[t], LARGE)
        exp_prefix_in_place(felt, end - begin)
        clear(value, slope)
        for t in range(begin, end):
            show_all(value, slope, row, x, dx)
            row += 1
            j, r = chosen[t], rewards[t]
            if j < 0 or r != r:
                continue
            for v in range(2):
                weight = (1.0 if r > 0 else 0.0) if v == 0 else (-1.0 if r < 0 else 0.0)
                own = weight * felt[t - begin]
                if rule == 0:
                    for i in range(n_options):
                        fade(value, slope, i * w + v, rate, 0)
                    value[j * w + v] += own
                else:
                    approach(value, slope, j * w + v, own, rate, 0)
                if dx is not None:
                    slope[1, j * w + v] += (1.0 if rule == 0 else rate) * own * log_size[t]
            if rule == 2 and is_choice[t]:
                for i in range(n_options):
                    fade(value, slope, i * w + 2, psi[k, 2], 2)
                    fade(value, slope, i * w + 3, psi[k, 2], 2)
                value[j * w + 2] += 1.0 if r >= 0 else 0.0
                value[j * w + 3] += 0.0 if r >= 0 else 1.0


@njit(inline="always", nogil=True, error_model="numpy")
def clear(value, slope):
    """Know nothing."""
    for a in range(len(value)):
        value[a] = 0.0
        if slope is not None:
            for q in range(len(slope)):
                slope[q, a] = 0.0


@njit(inline="always", nogil=True, error_model="numpy")
def blank(x, dx, row):
    """Write zeros into a row."""
    for a in range(x.shape[1]):
        x[row, a] = 0.0
    if dx is not None:
        for q in range(len(dx)):
            for a in range(x.shape[1]):
                dx[q, row, a] = 0.0


@njit(inline="always", nogil=True, error_model="numpy")
def approach(value, slope, a, target, rate, own):
    """Move a value to the target by a rate, which is shape parameter `own`, and its slopes."""
    error = target - value[a]
    if slope is not None:
        for q in range(len(slope)):
            slope[q, a] = slope[q, a] * (1.0 - rate) + (error if q == own else 0.0)
    value[a] += rate * error


@njit(inline="always", nogil=True, error_model="numpy")
def show_all(value, slope, row, x, dx):
    """Write all values, and their slopes, into a row."""
    for a in range(len(value)):
        x[row, a] = value[a]
    if slope is not None:
        for q in range(len(slope)):
            for a in range(len(value)):
                dx[q, row, a] = slope[q, a]


@njit(inline="always", nogil=True, error_model="numpy")
def fade(value, slope, i, kept, own):
    """Keep a share of a value, which is shape parameter `own`, and of its slopes."""
    if slope is not None:
        for q in range(len(slope)):
            slope[q, i] *= kept
            if q == own:
                slope[q, i] += value[i]
    value[i] *= kept


@njit(cache=True, nogil=True, error_model="numpy")
def outcome_frequency(chosen, rewards, is_choice, starts, which, psi, value, slope, x, dx):
    """Value, frequency of wins, perseverance; psi: rates of rewards and punishments, keep.

    value: of all options the first, then the second, then the third.
    """
    m, row = len(value) // 3, 0
    for k in range(len(which)):
        clear(value, slope)
        for t in range(starts[which[k]], starts[which[k] + 1]):
            show_three(value, m, x[row])
            if dx is not None:
                for q in range(3):
                    show_three(slope[q], m, dx[q, row])
            row += 1
            j, r = chosen[t], rewards[t]
            if j < 0 or r != r:
                continue
            own, sign = 0 if r >= 0 else 1, np.sign(r)
            rate, other, opposite = psi[k, own], psi[k, 1 - own], -sign / (m - 1)
            if dx is not None:
                for q in range(2):
                    mine = slope[q, m + j]
                    for i in range(m, 2 * m):
                        gain = opposite - value[i] if q != own else 0.0
                        slope[q, i] = slope[q, i] * (1.0 - other) + gain
                    slope[q, m + j] = mine * (1.0 - rate)
                    slope[q, j] *= 1.0 - rate
                slope[own, m + j] += sign - value[m + j]
                slope[own, j] += r - value[j]
            value[j] += rate * (r - value[j])
            often = value[m + j]
            for i in range(m, 2 * m):
                value[i] += other * (opposite - value[i])
            value[m + j] = often + rate * (sign - often)
            if is_choice[t]:
                value[2 * m + j] = 1.0
                if dx is not None:
                    slope[2, 2 * m + j] = 0.0
                    for i in range(2 * m, 3 * m):
                        slope[2, i] = slope[2, i] * psi[k, 2] + value[i]
                for i in range(2 * m, 3 * m):
                    value[i] *= psi[k, 2]


@njit(inline="always", nogil=True, error_model="numpy")
def show_three(value, m, x):
    """Write three numbers of all options, or slopes of these."""
    for i in range(m):
        x[3 * i], x[3 * i + 1], x[3 * i + 2] = value[i], value[m + i], value[2 * m + i]


@njit(cache=True, nogil=True, error_model="numpy")
def earlier_pumps(chosen, balloon, burst, starts, place, first, pumps, bursts):
    """Number the balloons, and count the pumps and bursts of earlier ones of an episode.

    place: the balloon of every event, -1 where none was seen. first: that of every episode, and
    their number at the end. pumps, bursts: before each balloon; there are no more than events.
    """
    number = 0
    for e in range(len(starts) - 1):
        first[e] = number
        n, popped, last = 0.0, 0.0, np.nan
        for t in range(starts[e], starts[e + 1]):
            place[t] = -1
            if balloon[t] != balloon[t]:
                continue
            if balloon[t] != last:
                pumps[number], bursts[number], last = n, popped, balloon[t]
                number += 1
            place[t] = number - 1
            if chosen[t] == 1:
                n += 1.0
                if burst[t] == 1:
                    popped += 1.0
    first[len(starts) - 1] = number


@njit(cache=True, nogil=True, error_model="numpy")
def balloons(place, first, pumps, bursts, pump, starts, which, psi, rule, value, slope, x, dx):
    """What a pump is worth against stopping; counts are of earlier balloons.

    psi: chance of bursting that is believed at first, updating, loss aversion (rule 1 alone).
    rule: 0 the best number of pumps, and this one; 1 mean and variance. value: that number, or the
    chance of bursting, of each balloon of an episode, in whole blocks of eight.
    """
    row = 0
    for k in range(len(which)):
        episode = which[k]
        low, high = first[episode], first[episode + 1]
        believe(psi[k], pumps[low:high], bursts[low:high], rule, value, slope)
        begin, end = starts[episode], starts[episode + 1]
        seen = place[begin:end], low, pump[begin:end]
        if rule == 0:
            aim(seen, value, slope, row, x, dx)
        else:
            weigh(seen, psi[k, 2], value, slope, row, x, dx)
        row += end - begin


@njit(nogil=True, error_model="numpy")
def aim(seen, value, slope, row, x, dx):
    """The best number of pumps, and minus this one."""
    place, low, pump = seen
    mine = x[row : row + len(place)]
    for t in range(len(place)):
        mine[t, 0], mine[t, 1] = 0.0, 0.0
        mine[t, 2] = value[place[t] - low] if place[t] >= 0 else 0.0
        mine[t, 3] = -pump[t] if place[t] >= 0 else 0.0
    if dx is not None:
        for q in range(len(dx)):
            steep, rise = dx[q, row : row + len(place)], slope[q]
            for t in range(len(place)):
                steep[t, 0], steep[t, 1], steep[t, 3] = 0.0, 0.0, 0.0
                steep[t, 2] = rise[place[t] - low] if place[t] >= 0 else 0.0


@njit(nogil=True, error_model="numpy")
def weigh(seen, aversion, value, slope, row, x, dx):
    """Mean and variance of a pump."""
    place, low, pump = seen
    for t in range(len(place)):
        at, j = row + t, place[t] - low
        blank(x, dx, at)
        if place[t] >= 0:
            b, more = value[j], pump[t] - 1.0
            loss = 1.0 + aversion * more
            x[at, 2] = (1.0 - b) - b * (aversion * more)
            x[at, 3] = b * (1.0 - b) * loss**2
            if dx is not None:
                for q in range(2):
                    dx[q, at, 2] = -loss * slope[q, j]
                    dx[q, at, 3] = (1.0 - 2.0 * b) * loss**2 * slope[q, j]
                dx[2, at, 2] = -b * more
                dx[2, at, 3] = 2.0 * b * (1.0 - b) * loss * more


@njit(nogil=True, error_model="numpy")
def believe(psi, pumps, bursts, rule, value, slope):
    """The best number of pumps, or the chance of bursting, after some pumps and bursts."""
    first, eta, n = psi[0], psi[1], len(pumps)
    if rule == 0:
        for j in range(n):
            value[j] = (1.0 - first + eta * (pumps[j] - bursts[j])) / (1.0 + eta * pumps[j])
        whole = padded_length(n)
        for j in range(n, whole):
            value[j] = 1.0
        if slope is not None:
            for j in range(n):
                safe = value[j]
                slope[0, j] = -1.0 / ((1.0 + eta * pumps[j]) * safe)
                slope[1, j] = safe * pumps[j] - (pumps[j] - bursts[j])
        log_in_place(value[:whole])
        for j in range(n):
            value[j] = -1.0 / value[j]
        if slope is not None:
            for j in range(n):
                slope[0, j] *= value[j] * value[j]
                slope[1, j] *= slope[0, j]
        return
    for j in range(n):
        value[j] = -eta * pumps[j]
    exp_prefix_in_place(value, n)
    for j in range(n):
        kept, away = value[j], bursts[j] / pumps[j] - first if pumps[j] > 0 else 0.0
        value[j] = first + (1.0 - kept) * away
        if slope is not None:
            slope[0, j], slope[1, j] = kept, pumps[j] * kept * away


CERTAIN = 500.0  # log-odds of a belief, beyond which it is none
FELT = 21  # lines of the state of a filter, before those of its slopes


@njit(cache=True, nogil=True, error_model="numpy")
def gaussian_filter(chosen, inputs, groups, begins, rows, psi, start, lanes, state, x, dx):
    """Tendency of a binary input, by the three-level Gaussian filter; NaN where it breaks down.

    psi: omega of the second level, exp(omega) of the third, kappa. start: mean and variance of the
    second level, then of the third. Derivatives are in both omega, and in kappa where there are
    three. Every lane has an episode of its own: groups (n, 2) holds how many lanes are taken, and
    how many events they have, begins and rows (n, lanes) their first events and rows.

    state: a line of lanes for each number, in one array: numbers of one are known not to overlap
    where they are written. Lines 0-3 what is known, as in start; 4-6 psi; 7 the input, 8 whether it
    is learnt from; 9-20 what is felt of it (`feel_input`); then four slopes in each psi.
    """
    w, n_slopes = len(lanes), 0 if dx is None else len(dx)
    for k in range(len(groups)):
        n, n_events = groups[k, 0], groups[k, 1]
        for lane in range(w):
            for a in range(4):
                state[a * w + lane] = start[a]
            for a in range(3):
                state[(4 + a) * w + lane] = psi[k, a, lane]
            for a in range(4 * n_slopes):
                state[(FELT + a) * w + lane] = 0.0
        for t in range(n_events):
            for lane in range(w):
                event = begins[k, lane] + t
                u, at = inputs[event], rows[k, lane] + t
                learns = chosen[event] >= 0 and u == u
                state[7 * w + lane] = u if learns else 0.0
                state[8 * w + lane] = 1.0 if learns else 0.0
                if lane < n:
                    x[at, 0, 0], x[at, 1, 0] = 0.0, state[lane]
                    if dx is not None:
                        for q in range(n_slopes):
                            dx[q, at, 0, 0] = 0.0
                            dx[q, at, 1, 0] = state[(FELT + 4 * q) * w + lane]
            feel_input(state, w)
            if dx is not None:
                filter_slopes(state, 0, w)
                filter_slopes(state, 1, w)
                if n_slopes == 3:
                    filter_slopes(state, 2, w)
            for lane in range(w):
                learns = state[8 * w + lane] > 0.0
                mu2 = state[lane] + state[13 * w + lane]
                # a third level so uncertain that it jumps anywhere
                lost = state[18 * w + lane] > 0.0 or not abs(mu2) < CERTAIN
                state[lane] = (np.nan if lost else mu2) if learns else state[lane]
                state[w + lane] = state[12 * w + lane] if learns else state[w + lane]
                state[2 * w + lane] += state[20 * w + lane] if learns else 0.0
                state[3 * w + lane] = state[19 * w + lane] if learns else state[3 * w + lane]


@njit(inline="always", nogil=True, error_model="numpy")
def feel_input(state, w):
    """What an input changes, in lines 9 to 20 of the state of a filter."""
    for lane in range(w):
        mu2, s2, mu3, s3 = state[lane], state[w + lane], state[2 * w + lane], state[3 * w + lane]
        omega2, drift, kappa = state[4 * w + lane], state[5 * w + lane], state[6 * w + lane]
        p = 1.0 / (1.0 + exponential(-mu2))
        volatility = exponential(kappa * mu3 + omega2)
        unit = 1.0 / (s2 + volatility)
        new_s2 = 1.0 / (unit + p * (1.0 - p))
        step = new_s2 * (state[7 * w + lane] - p)
        share = volatility * unit
        surprise = (new_s2 + step * step) * unit - 1.0
        bend = share + (2.0 * share - 1.0) * surprise
        precise = 1.0 / (s3 + drift)
        precision = precise + 0.5 * kappa * kappa * share * bend
        broken = precision <= 0.0
        new_s3 = 1.0 / (1.0 if broken else precision)
        state[9 * w + lane], state[10 * w + lane], state[11 * w + lane] = p, volatility, unit
        state[12 * w + lane], state[13 * w + lane], state[14 * w + lane] = new_s2, step, share
        state[15 * w + lane], state[16 * w + lane], state[17 * w + lane] = surprise, bend, precise
        state[18 * w + lane], state[19 * w + lane] = 1.0 if broken else 0.0, new_s3
        state[20 * w + lane] = 0.5 * kappa * share * surprise * new_s3


@njit(inline="always", nogil=True, error_model="numpy")
def filter_slopes(state, q, w):
    """Derivatives in shape parameter q of what a filter knows, after what it felt."""
    own2, own3, own_kappa = 1.0 if q == 0 else 0.0, 1.0 if q == 1 else 0.0, 1.0 if q == 2 else 0.0
    first = (FELT + 4 * q) * w
    for lane in range(w):
        at = first + lane
        d_mu2, d_s2, d_mu3, d_s3 = state[at], state[at + w], state[at + 2 * w], state[at + 3 * w]
        mu3, drift, kappa = state[2 * w + lane], state[5 * w + lane], state[6 * w + lane]
        p, volatility, unit = state[9 * w + lane], state[10 * w + lane], state[11 * w + lane]
        new_s2, step, share = state[12 * w + lane], state[13 * w + lane], state[14 * w + lane]
        surprise, bend, precise = state[15 * w + lane], state[16 * w + lane], state[17 * w + lane]
        new_s3, jump = state[19 * w + lane], state[20 * w + lane]
        learns = state[8 * w + lane] > 0.0
        d_v = volatility * (own_kappa * mu3 + kappa * d_mu3 + own2)
        d_p, d_wide = p * (1.0 - p) * d_mu2, d_s2 + d_v
        d_new = new_s2 * new_s2 * (d_wide * unit * unit - (1.0 - 2.0 * p) * d_p)
        d_step = d_new * (state[7 * w + lane] - p) - new_s2 * d_p
        d_share = (d_v - share * d_wide) * unit
        d_surprise = (d_new + 2.0 * step * d_step - (surprise + 1.0) * d_wide) * unit
        d_bend = d_share * (1.0 + 2.0 * surprise) + (2.0 * share - 1.0) * d_surprise
        d_precision = kappa * (
            own_kappa * share * bend + 0.5 * kappa * (d_share * bend + share * d_bend)
        )
        d_precision -= precise * precise * (d_s3 + own3 * drift)
        d_precision = 0.0 if state[18 * w + lane] > 0.0 else d_precision
        change = own_kappa * share * surprise
        change += kappa * (d_share * surprise + share * d_surprise)
        d_jump = (0.5 * change - jump * d_precision) * new_s3
        state[at] = d_mu2 + (d_step if learns else 0.0)
        state[at + w] = d_new if learns else d_s2
        state[at + 2 * w] = d_mu3 + (d_jump if learns else 0.0)
        state[at + 3 * w] = -new_s3 * new_s3 * d_precision if learns else d_s3


@njit(nogil=True, error_model="numpy")
def exponential(number):
    """exp(number) to about 1 unit in the last place, without a call; below -708 it is 3e-308.

    exp(number) = 2^k exp(rest): k is read from the last digits of a large number, and the rest, at
    most log(2)/2, is put into a Taylor polynomial.
    """
    v = -708.0 if number < -708.0 else (710.0 if number > 710.0 else number)
    large = v * 1.4426950408889634 + ROUNDING
    k = large - ROUNDING
    r = (v - k * LOG_2[0]) - k * LOG_2[1]
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0))
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    high += r4 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
    half = np.int64((np.float64(large).view(np.int64) + 1022) << 52).view(np.float64)
    return 2.0 * ((low + r4 * (middle + r4 * high)) * half)


@njit(cache=True, nogil=True, error_model="numpy")
def successors(chosen, rewards, is_choice, state, starts, which, psi, value, slope, x, dx):
    """Columns: value by successors, last choice if asked for, values of stage 2; psi: both rates.

    value: successors of either option among the four of stage 2, then what these pay.
    """
    row, w = 0, x.shape[1] // 2
    for k in range(len(which)):
        clear(value, slope)
        last, first = -1, -1
        for t in range(starts[which[k]], starts[which[k] + 1]):
            s, j = state[t], chosen[t]
            blank(x, dx, row)
            if s == 0:
                for i in range(2):
                    ahead, by_rate, by_pay = 0.0, 0.0, 0.0
                    for o in range(4):
                        ahead += value[4 * i + o] * value[8 + o]
                        if dx is not None:
                            by_rate += slope[0, 4 * i + o] * value[8 + o]
                            by_pay += value[4 * i + o] * slope[1, 8 + o]
                    x[row, i * w] = ahead
                    if dx is not None:
                        dx[0, row, i * w], dx[1, row, i * w] = by_rate, by_pay
                if last >= 0 and w > 2:
                    x[row, last * w + 1] = 1.0
                first = j
                if j >= 0 and is_choice[t]:
                    last = j
            elif s > 0:
                for i in range(2):
                    x[row, i * w + w - 1] = value[6 + 2 * s + i]
                    if dx is not None:
                        dx[1, row, i * w + w - 1] = slope[1, 6 + 2 * s + i]
                r = rewards[t]
                if j >= 0 and r == r:
                    there = 2 * (s - 1) + j
                    if first >= 0:
                        for o in range(4):
                            came = 1.0 if o == there else 0.0
                            approach(value, slope, 4 * first + o, came, psi[k, 0], 0)
                    approach(value, slope, 8 + there, r, psi[k, 1], 1)
                first = -1
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def beads(drawn, firsts, starts, which, psi, chance, share, win, loss, value, slope, x, dx):
    """Value of drawing on, and of naming either jar, by backward induction; psi: cost of a draw.

    chance (n, b): of the first jar after b of n beads. value: of the best, and of drawing on.
    """
    most = len(chance) - 1
    on, row = len(value) // 2, 0
    for k in range(len(which)):
        clear(value, slope)
        for n in range(most, -1, -1):
            for b in range(n + 1):
                p, at = chance[n, b], n * (most + 1) + b
                named = max(win * p - loss * (1.0 - p), win * (1.0 - p) - loss * p)
                value[at] = named
                if n < most:
                    later = at + most + 1
                    up = p * share + (1.0 - p) * (1.0 - share)
                    drawing = up * value[later + 1] + (1.0 - up) * value[later] - psi[k, 0]
                    value[on + at] = drawing
                    value[at] = max(drawing, named)
                    if dx is not None:
                        for q in range(len(slope)):
                            rise = up * slope[q, later + 1] + (1.0 - up) * slope[q, later] - 1.0
                            slope[q, on + at] = rise
                            slope[q, at] = rise if drawing > named else 0.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            blank(x, dx, row)
            n, b = drawn[t], firsts[t]
            if n >= 0 and b >= 0:
                p, at = chance[n, b], on + n * (most + 1) + b
                x[row, 0] = value[at]
                x[row, 1] = win * p - loss * (1.0 - p)
                x[row, 2] = win * (1.0 - p) - loss * p
                if dx is not None:
                    for q in range(len(slope)):
                        dx[q, row, 0] = slope[q, at]
            row += 1
