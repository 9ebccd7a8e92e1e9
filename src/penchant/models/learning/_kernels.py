"""Compiled loops of learning models. Bare arrays, no policy.

Every loop runs over pairs k of an episode, which[k], and a psi; its events are those from starts[e]
to starts[e + 1], and row after row is filled. x is (rows, n_options, n_weights) and dx the same for
every shape parameter along a first axis, which is empty where no derivatives are asked for; both
come as zeros. Row t is written before event t is learnt from. chosen is -1 where nothing was chosen
in time, and rewards are NaN where there was none. Loops on lines take eight pairs at a time.
"""

from functools import lru_cache

import numpy as np

from penchant._compiled import inner_njit, njit
from penchant._typing import Matrix, Vector
from penchant.models.learning._lines import (
    CHOSEN,
    HABIT,
    N_TOLD,
    REWARD,
    SHOWN,
    copy,
    deviate,
    gain,
    lay_out,
    lean,
    learn_mean,
    move,
    narrow,
    negate,
    pick,
    read_events,
    root,
    scale,
    speed,
    step,
    take_seats,
    tilt,
    tilt_mean,
    tilt_variance,
    times,
    trust,
    write_planes,
)
from penchant.softmax._simd import LANES

FORGETTING, FICTITIOUS, TIED = 1, 2, 3
BY_OUTCOME = 4  # added to the rule of options not taken: the sign of the reward picks the rate


# -- the Rescorla-Wagner learner -----------------------------------------------------------------
# Lines, see `_lines`: numbers that stay; numbers of options; rates of the option taken and of the
# others, of gains, of losses, of options not chosen, of choice traces; b, f and the trace of every
# option. Rates and what is learnt have a line for the value and one for each of its slopes.

ZERO, ONE, MINUS, START, SHARE, LEAST, AWAY, OPTIONS = 0, 4, 5, 6, 7, 8, 9, 10
TINY = 5e-324  # the least number above 0


@lru_cache(64)
def lines_of_learner(n_options: int, rule: int, initial: float, n_planes: int) -> Matrix:
    """Lines before play, but for the rates."""
    lines = np.zeros((OPTIONS + n_options + (6 + 3 * n_options) * n_planes, LANES))
    lines[ONE], lines[MINUS], lines[START], lines[LEAST] = 1.0, -1.0, initial, TINY
    lines[SHARE] = rule == FORGETTING
    lines[OPTIONS : OPTIONS + n_options] = np.arange(n_options)[:, None]
    state = lines[-3 * n_options * n_planes :: n_planes]
    state[:n_options], state[n_options : 2 * n_options] = initial, 1.0
    return lines


@njit(cache=True, nogil=True, error_model="numpy")
def learner(told, starts, which, rates, others, columns, room, shape, out):
    """Values b + Q0 f and choice traces of the composable Rescorla-Wagner learner.

    told : (3 n_events,), see `Record.told`
    rates : (groups, n), of gains, of losses, of options not chosen, of choice traces, each with
        its slopes, in lines
    others : what options not chosen do: 0 nothing, FORGETTING, FICTITIOUS, or TIED: fictitious at
        the rate of the option chosen; and BY_OUTCOME more
    columns : (2,), where f and the choice traces go, or -1
    room : see `room_for`
    shape, out : (1 + n_slopes, rows, n_options, n_weights), variables and then slopes, in a row
    """
    lines, own, rows, longest, seats = room
    n_planes, _, n_options, n_weights = shape
    events = len(own) // LANES
    shown, speeds = events + N_TOLD * longest, OPTIONS + n_options + 2 * n_planes
    state = speeds + 4 * n_planes
    for first in range(0, len(which), LANES):
        width = n_options * n_weights
        n, fewest, same, new = take_seats(starts, which, first, rows, width, seats)
        if new:
            read_events(told, seats, n, fewest, lines, events)
        lay_out(lines, own, rates, first // LANES, speeds)
        for begin in range(0, n, SHOWN):
            end = min(begin + SHOWN, n)
            for t in range(begin, end):
                for i in range(n_options):
                    for q in range(n_planes):
                        to = shown + ((q * SHOWN + t - begin) * n_options + i) * n_weights
                        b = state + i * n_planes + q
                        copy(lines, (to, b))
                        if columns[0] >= 0:
                            copy(lines, (to + columns[0], b + n_options * n_planes))
                        if columns[1] >= 0:
                            copy(lines, (to + columns[1], b + 2 * n_options * n_planes))
                event = events + N_TOLD * t
                taken = int(lines[event * LANES]) if same else -2
                if taken != -1:
                    learn_lines(lines, event, taken, others, columns, n_options, n_planes)
            write_planes(lines, shown, begin, end, fewest, seats, shape, out)


@step
def learn_lines(lines, event, taken, others, columns, n_options, n_planes):
    """Learn from an event; `taken` is the option that all of a line took, or -2."""
    rule, by_outcome = others % BY_OUTCOME, others >= BY_OUTCOME
    own = OPTIONS + n_options
    up = own + 2 * n_planes
    down, other, trace, b = up + n_planes, up + 2 * n_planes, up + 3 * n_planes, up + 4 * n_planes
    f, habits = b + n_options * n_planes, b + 2 * n_options * n_planes
    chosen, reward, habit = event + CHOSEN, event + REWARD, event + HABIT
    rest = own + n_planes if rule else ZERO
    if rule == TIED:
        for i in range(n_options):
            level = LEAST if by_outcome else b + i * n_planes
            for q in range(n_planes):
                to = own + q
                speed(lines, (to, chosen, OPTIONS + i, reward, level, up + q, down + q, to))
        other = own
    if rule:
        for q in range(n_planes):
            pick(lines, (rest + q, chosen, MINUS, ZERO, other + q))
        if rule == FORGETTING:
            copy(lines, (AWAY, START))
        else:
            negate(lines, (AWAY, reward))
    for i in range(n_options):
        if rule == 0 and taken >= 0 and taken != i:
            continue
        level = LEAST if by_outcome else b + i * n_planes
        how = chosen, OPTIONS + i, reward, level
        if columns[0] >= 0:
            approach(lines, f + i * n_planes, how, (ZERO, SHARE), (up, down, rest), n_planes)
        approach(lines, b + i * n_planes, how, (reward, AWAY), (up, down, rest), n_planes)
    if columns[1] >= 0:
        still = own + n_planes
        for q in range(n_planes):
            pick(lines, (still + q, habit, MINUS, ZERO, trace + q))
        for i in range(n_options):
            how = habit, OPTIONS + i, ONE, ONE
            approach(
                lines, habits + i * n_planes, how, (ONE, ZERO), (trace, trace, still), n_planes
            )


@inner_njit
def approach(lines, value, how, targets, rates, n_planes):
    """Move a value, and its slopes in the lines after it, to the target."""
    up, down, rest = rates
    for q in range(1, n_planes):
        tilt(lines, (value + q, value, *how, *targets, *rates, up + q, down + q, rest + q))
    move(lines, (value, *how, *targets, *rates))


@njit(cache=True, nogil=True, error_model="numpy")
def last_choice(chosen, is_choice, starts, which, column, x):
    """1 for the last choice made, in one column."""
    row = 0
    for k in range(len(which)):
        last = -1
        for t in range(starts[which[k]], starts[which[k] + 1]):
            if last >= 0:
                x[row, last, column] = 1.0
            row += 1
            if is_choice[t] and chosen[t] >= 0:
                last = chosen[t]


# -- the Kalman filter ---------------------------------------------------------------------------
# Of every option: b, f and g, whose mean is b + m0 f + c g for an initial mean m0 and a centre c
# that are estimated, and the variance s in units of the noise variance, each with its slopes.
# Lines: numbers that stay, with the centre of b, f and g; numbers of pairs, with the pull (1 -
# decay) centre; numbers of options and their noise; standard deviation of every option and its
# derivative in s; the state.

NOTHING, SINGLE, SCALE, GAIN, KEPT, UNIT, SUM, TOTAL, GROWTH, CENTRES = range(10)
PRIOR, DECAY, SQUARE, TWICE, DRIFT, PULLS, NUMBERS = 13, 14, 15, 16, 17, 18, 21


@lru_cache(64)
def lines_of_filter(
    start: tuple[float, ...],
    centre: tuple[float, ...],
    noise_sd: float,
    noises: tuple[float, ...],
    n_planes: int,
    priors: tuple[float, ...] | None = None,
) -> Matrix:
    """Lines before play, but for the numbers of pairs: prior, decay, and what follows from it.

    noises : noise variances of all options, in units of noise_sd^2
    priors : prior variances of all options as multiples of that of a pair; None: all 1
    """
    n_options = len(noises)
    lines = np.zeros((NUMBERS + 4 * n_options + 4 * n_options * n_planes, LANES))
    lines[SINGLE], lines[SCALE] = 1.0, noise_sd
    lines[CENTRES : CENTRES + 3] = np.array(centre)[:, None]
    lines[NUMBERS : NUMBERS + n_options] = np.arange(n_options)[:, None]
    lines[NUMBERS + n_options : NUMBERS + 2 * n_options] = np.array(noises)[:, None]
    state = lines[-4 * n_options * n_planes :].reshape(4, n_options, n_planes, LANES)[:, :, 0]
    state[:3] = np.array(start)[:, None, None]
    state[3] = 1.0 if priors is None else np.array(priors)[:, None]
    return lines


def numbers_of_filter(filters: Matrix, centre: Vector) -> Matrix:
    """Of every pair (prior variance, decay, drift variance): the numbers of its lines."""
    prior, decay, drift = filters.T
    pulls = np.outer(1.0 - decay, centre)
    return np.column_stack([prior, decay, decay * decay, 2.0 * decay, drift, pulls])


@inner_njit
def before_play(lines, index, n_options, n_planes):
    """The prior of eight pairs."""
    for i in range(n_options):
        s = NUMBERS + 4 * n_options + (3 * n_options + i) * n_planes
        times(lines, (s, s, PRIOR))
        if 0 <= index[0] < n_planes - 1:
            copy(lines, (s + 1 + index[0], SINGLE))
        spread(lines, i, n_options, n_planes)


@step
def spread(lines, i, n_options, n_planes):
    """Standard deviation of option i, and its derivative in the variance."""
    sd = NUMBERS + 2 * n_options + i
    variance = NUMBERS + 4 * n_options + (3 * n_options + i) * n_planes
    if n_planes == 1:
        deviate(lines, (sd, variance, SCALE))
    else:
        root(lines, (sd, sd + n_options, variance, SCALE))


@step
def observe(lines, event, i, n_means, n_options, n_planes):
    """Learn from the reward of option i, where it is that of the event."""
    chosen, reward, option = event + CHOSEN, event + REWARD, NUMBERS + i
    noise, state, more = option + n_options, NUMBERS + 4 * n_options, n_options * n_planes
    mean, s = state + i * n_planes, state + 3 * more + i * n_planes
    if n_planes == 1 and n_means == 1:
        gain(lines, (GAIN, chosen, option, s, noise))
    else:
        trust(lines, (GAIN, KEPT, UNIT, chosen, option, s, noise))
    for a in range(n_means):
        target = reward if a == 0 else NOTHING
        for q in range(1, n_planes):
            v = mean + a * more
            tilt_mean(lines, (v + q, s + q, v, target, KEPT, UNIT))
    for q in range(1, n_planes):
        tilt_variance(lines, (s + q, KEPT, UNIT, noise, chosen, option))
    learn_mean(lines, (mean, reward, GAIN))
    for a in range(1, n_means):
        times(lines, (mean + a * more, mean + a * more, KEPT))
    narrow(lines, (s, GAIN, noise, chosen, option))


@step
def diffuse(lines, i, n_means, index, n_options, n_planes):
    """One step of time: means of option i go to the centre, its variance grows by the drift."""
    state, more = NUMBERS + 4 * n_options, n_options * n_planes
    s = state + 3 * more + i * n_planes
    for a in range(n_means):
        v = state + a * more + i * n_planes
        for q in range(1, n_planes):
            if index[1] == q - 1:
                lean(lines, (v + q, DECAY, v, SINGLE, CENTRES + a))
            else:
                times(lines, (v + q, v + q, DECAY))
        scale(lines, (v, DECAY, PULLS + a))
    for q in range(1, n_planes):
        if index[1] == q - 1:
            lean(lines, (s + q, SQUARE, s, TWICE, NOTHING))
        else:
            scale(lines, (s + q, SQUARE, SINGLE if index[2] == q - 1 else NOTHING))
    scale(lines, (s, SQUARE, DRIFT))


@njit(cache=True, nogil=True, error_model="numpy")
def kalman(told, starts, which, filters, index, columns, room, shape, out):
    """Means and standard deviations of the Kalman filter.

    filters : (groups, n), see `numbers_of_filter`, in lines
    index : (4,), which shape parameters prior variance, decay and drift variance are, or -1; and
        whether anything happens as time goes by
    columns : (3,), where f, g and the standard deviation go, or -1
    told, room, shape, out : as for `learner`
    """
    lines, own, rows, longest, seats = room
    n_planes, _, n_options, n_weights = shape
    n_means = 3 if columns[0] >= 0 or columns[1] >= 0 else 1
    events, state, sds = len(own) // LANES, NUMBERS + 4 * n_options, NUMBERS + 2 * n_options
    shown, moves = events + N_TOLD * longest, index[3] > 0
    for first in range(0, len(which), LANES):
        width = n_options * n_weights
        n, fewest, same, new = take_seats(starts, which, first, rows, width, seats)
        if new:
            read_events(told, seats, n, fewest, lines, events)
        lay_out(lines, own, filters, first // LANES, PRIOR)
        before_play(lines, index, n_options, n_planes)
        for begin in range(0, n, SHOWN):
            end = min(begin + SHOWN, n)
            for t in range(begin, end):
                for i in range(n_options):
                    for q in range(n_planes):
                        to = shown + ((q * SHOWN + t - begin) * n_options + i) * n_weights
                        v = state + i * n_planes + q
                        copy(lines, (to, v))
                        for a in range(2):
                            if columns[a] >= 0:
                                copy(lines, (to + columns[a], v + (a + 1) * n_options * n_planes))
                        if columns[2] >= 0 and q == 0:
                            copy(lines, (to + columns[2], sds + i))
                        elif columns[2] >= 0:
                            s = v + 3 * n_options * n_planes
                            times(lines, (to + columns[2], s, sds + n_options + i))
                event = events + N_TOLD * t
                taken = int(lines[event * LANES]) if same else -2
                for i in range(n_options):
                    if taken == -2 or taken == i:
                        observe(lines, event, i, n_means, n_options, n_planes)
                    if moves:
                        diffuse(lines, i, n_means, index, n_options, n_planes)
                    if columns[2] >= 0 and (moves or taken == -2 or taken == i):
                        spread(lines, i, n_options, n_planes)
            write_planes(lines, shown, begin, end, fewest, seats, shape, out)
