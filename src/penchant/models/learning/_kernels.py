"""Compiled loops of learning models. Bare arrays, no policy.

Every loop runs over pairs k of an episode, which[k], and a psi; its events are those from starts[e]
to starts[e + 1], and row after row is filled. x is (rows, n_options, n_weights) and dx the same for
every shape parameter along a first axis, which is empty where no derivatives are asked for; both
come as zeros. Row t is written before event t is learnt from. chosen is -1 where nothing was chosen
in time, and rewards are NaN where there was none. Loops on lines take eight pairs at a time.
"""

import numpy as np

from penchant._compiled import njit
from penchant.models.learning._lines import (
    CHOSEN,
    HABIT,
    N_TOLD,
    REWARD,
    SHOWN,
    copy,
    move,
    negate,
    pick,
    read_events,
    speed,
    take_seats,
    tilt,
    write_planes,
)
from penchant.softmax._lanes import LANES

FORGETTING, FICTITIOUS, TIED = 1, 2, 3
BY_OUTCOME = 4  # added to the rule of options not taken: the sign of the reward picks the rate


# -- the Rescorla-Wagner learner -----------------------------------------------------------------
# Lines, see `_lines`: numbers that stay; numbers of options; rates of the option taken and of the
# others, of gains, of losses, of options not chosen, of choice traces; b, f and the trace of every
# option. Rates and what is learnt have a line for the value and one for each of its slopes.

ZERO, ONE, MINUS, START, SHARE, LEAST, AWAY, OPTIONS = 0, 4, 5, 6, 7, 8, 9, 10
TINY = 5e-324  # the least number above 0


def n_lines_of_learner(n_options: int, n_planes: int) -> int:
    """Number of lines but for events."""
    return OPTIONS + n_options + (6 + 3 * n_options) * n_planes


@njit(cache=True, nogil=True, error_model="numpy")
def learner(told, starts, which, rates, index, initial, others, columns, room, shape, out):
    """Values b + Q0 f and choice traces of the composable Rescorla-Wagner learner.

    told : (3 n_events,), see `Record.told`
    rates : (pairs, 4), of gains, of losses, of options not chosen, of choice traces
    index : (4,), which shape parameter each of them is, or -1
    initial : value before play, 0 where it is estimated
    others : what options not chosen do: 0 nothing, FORGETTING, FICTITIOUS, or TIED: fictitious at
        the rate of the option chosen; and BY_OUTCOME more
    columns : (2,), where f and the choice traces go, or -1
    room : lines, most events of an episode, seats
    shape, out : (1 + n_slopes, rows, n_options, n_weights), variables and then slopes, in a row
    """
    lines, events, longest, seats = room
    n_planes, _, n_options, n_weights = shape
    rule, shown = others % BY_OUTCOME, events + N_TOLD * longest
    speeds = OPTIONS + n_options + 2 * n_planes
    state = speeds + 4 * n_planes
    for lane in range(LANES):
        lines[ONE * LANES + lane], lines[MINUS * LANES + lane] = 1.0, -1.0
        lines[START * LANES + lane], lines[LEAST * LANES + lane] = initial, TINY
        lines[SHARE * LANES + lane] = 1.0 if rule == FORGETTING else 0.0
        for i in range(n_options):
            lines[(OPTIONS + i) * LANES + lane] = i
    row = 0
    for first in range(0, len(which), LANES):
        row, n, fewest, same, new = take_seats(
            starts, which, first, n_options * n_weights, row, seats
        )
        if new:
            read_events(told, seats, n, fewest, lines, events)
        for a in range(4):
            for lane in range(LANES):
                k = first + lane if first + lane < len(which) else first
                for q in range(n_planes):
                    place = (speeds + a * n_planes + q) * LANES + lane
                    lines[place] = rates[k, a] if q == 0 else 1.0 * (index[a] == q - 1)
        for k in range(3 * n_options):
            for q in range(n_planes):
                start = START if k < n_options else ONE if k < 2 * n_options else ZERO
                copy(lines, (state + k * n_planes + q, start if q == 0 else ZERO))
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


@njit(nogil=True, error_model="numpy", forceinline=True)
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


@njit(nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def cooled(factor, log_t, values, x, dx):
    """Known values times what the cooling makes of time, row by row, and derivatives in its power.

    factor, log_t : (rows,)
    """
    for row in range(len(factor)):
        for i in range(len(values)):
            x[row, i, 0] = factor[row] * values[i]
            for q in range(len(dx)):
                dx[q, row, i, 0] = x[row, i, 0] * log_t[row]


@njit(cache=True, nogil=True, error_model="numpy")
def stay_or_shift(chosen, rewards, is_choice, starts, which, win_above, x):
    """1 for the last choice if it won, -1 if it lost; losses in a column of their own, if any."""
    losses = x.shape[2] - 1
    row = 0
    for k in range(len(which)):
        last, won = -1, False
        for t in range(starts[which[k]], starts[which[k] + 1]):
            if last >= 0:
                x[row, last, 0 if won else losses] = 1.0 if won else -1.0
            row += 1
            if is_choice[t] and chosen[t] >= 0:
                last, won = chosen[t], rewards[t] > win_above


@njit(cache=True, nogil=True, error_model="numpy")
def lagged(chosen, rewards, is_choice, starts, which, reward_lags, choice_lags, x):
    """Reward of the choice j choices ago, then that choice itself, for every lag j."""
    longest = max(reward_lags, choice_lags)
    options, received = np.empty(longest, np.int64), np.empty(longest)
    row = 0
    for k in range(len(which)):
        n_made = 0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for j in range(min(longest, n_made)):
                at = (n_made - 1 - j) % longest
                if j < reward_lags:
                    x[row, options[at], j] = received[at]
                if j < choice_lags:
                    x[row, options[at], reward_lags + j] = 1.0
            row += 1
            if is_choice[t] and chosen[t] >= 0:
                options[n_made % longest] = chosen[t]
                received[n_made % longest] = rewards[t]
                n_made += 1


@njit(cache=True, nogil=True, error_model="numpy")
def counts_and_means(chosen, rewards, starts, which, initial, columns, x):
    """Mean reward of every option and sqrt(log t / n), n at least 1.

    initial : the mean of an option never observed
    columns : (2,), where its indicator goes, or -1; where the bonus goes
    """
    n_options = x.shape[1]
    counts, sums = np.empty(n_options), np.empty(n_options)
    row = 0
    for k in range(len(which)):
        counts[:], sums[:], time = 0.0, 0.0, 1.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(n_options):
                x[row, i, 0] = sums[i] / counts[i] if counts[i] > 0 else initial
                if counts[i] == 0 and columns[0] >= 0:
                    x[row, i, columns[0]] = 1.0
                x[row, i, columns[1]] = np.sqrt(np.log(time) / max(counts[i], 1.0))
            row += 1
            if chosen[t] >= 0 and rewards[t] == rewards[t]:
                counts[chosen[t]] += 1.0
                sums[chosen[t]] += rewards[t]
                time += 1.0


# -- the Kalman filter ---------------------------------------------------------------------------
# Of every option: b, f and g, whose mean is b + m0 f + c g for an initial mean m0 and a centre c
# that are estimated, and the variance s in units of the noise variance: state (4, n_options).
# slopes is (n_slopes, 4, n_options). filters (pairs, 3): prior variance and drift variance in the
# same units with the decay between them; index (3,): which shape parameter each is, or -1.


@njit(cache=True, nogil=True, error_model="numpy")
def before_play(state, slopes, start, variance, index):
    """The prior: start (3,) is that of b, f and g."""
    slopes[:] = 0.0
    for i in range(state.shape[1]):
        for a in range(3):
            state[a, i] = start[a]
        state[3, i] = variance
        if len(slopes) and index[0] >= 0:
            slopes[index[0], 3, i] = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def observe(state, slopes, j, reward, noise):
    """Learn from the reward of option j, whose noise variance is in the same units."""
    s = state[3, j]
    gain, kept = (s / (noise + s), noise / (noise + s)) if s > 0 else (0.0, 1.0)
    unit = 1.0 / (noise + s) if s > 0 else 0.0
    for q in range(len(slopes)):
        d_gain = slopes[q, 3, j] * kept * unit
        slopes[q, 0, j] = kept * slopes[q, 0, j] + d_gain * (reward - state[0, j])
        for a in range(1, 3):
            slopes[q, a, j] = kept * slopes[q, a, j] - d_gain * state[a, j]
        slopes[q, 3, j] = d_gain * noise
    state[0, j] += gain * (reward - state[0, j])
    state[1, j] *= kept
    state[2, j] *= kept
    state[3, j] = gain * noise


@njit(cache=True, nogil=True, error_model="numpy")
def diffuse(state, slopes, centre, decay, drift, index):
    """One step of time: means go to the centre (3,), variances grow by the drift."""
    for i in range(state.shape[1]):
        for q in range(len(slopes)):
            own = 1.0 if index[1] == q else 0.0
            for a in range(3):
                slopes[q, a, i] = decay * slopes[q, a, i] + own * (state[a, i] - centre[a])
            slopes[q, 3, i] = decay * decay * slopes[q, 3, i] + 2.0 * decay * own * state[3, i]
            if index[2] == q:
                slopes[q, 3, i] += 1.0
        for a in range(3):
            state[a, i] = decay * state[a, i] + (1.0 - decay) * centre[a]
        state[3, i] = decay * decay * state[3, i] + drift


@njit(cache=True, nogil=True, error_model="numpy")
def kalman(chosen, rewards, starts, which, filters, index, start, centre, noise_sd, columns, x, dx):
    """Means and standard deviations of the Kalman filter.

    columns : (3,), where f, g and the standard deviation go, or -1
    """
    n_options, n_slopes = x.shape[1], dx.shape[0]
    state, slopes = np.empty((4, n_options)), np.empty((n_slopes, 4, n_options))
    row = 0
    for k in range(len(which)):
        prior, decay, drift = filters[k]
        restless = decay != 1.0 or drift != 0.0 or index[1] >= 0 or index[2] >= 0
        before_play(state, slopes, start, prior, index)
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(n_options):
                x[row, i, 0] = state[0, i]
                for q in range(n_slopes):
                    dx[q, row, i, 0] = slopes[q, 0, i]
                for a in range(2):
                    if columns[a] >= 0:
                        x[row, i, columns[a]] = state[a + 1, i]
                        for q in range(n_slopes):
                            dx[q, row, i, columns[a]] = slopes[q, a + 1, i]
                if columns[2] >= 0:
                    sd = np.sqrt(state[3, i])
                    x[row, i, columns[2]] = noise_sd * sd
                    for q in range(n_slopes):
                        if sd > 0:
                            dx[q, row, i, columns[2]] = noise_sd * slopes[q, 3, i] / (2.0 * sd)
            row += 1
            if chosen[t] >= 0 and rewards[t] == rewards[t]:
                observe(state, slopes, chosen[t], rewards[t], 1.0)
            if restless:
                diffuse(state, slopes, centre, decay, drift, index)


@njit(cache=True, nogil=True, error_model="numpy")
def hybrid(chosen, rewards, starts, which, priors, index, initial_mean, noise_sd, noises, x, dx):
    """Mean, standard deviation, and mean over total uncertainty of two options.

    priors : (pairs,), prior variance in units of the noise variance
    noises : (2,), noise variance of each option in these units
    """
    n_slopes = dx.shape[0]
    state, slopes = np.empty((4, 2)), np.empty((n_slopes, 4, 2))
    start = np.array([initial_mean, 0.0, 0.0])
    row = 0
    for k in range(len(which)):
        before_play(state, slopes, start, priors[k], index)
        for t in range(starts[which[k]], starts[which[k] + 1]):
            total = noise_sd * np.sqrt(state[3, 0] + state[3, 1])
            for i in range(2):
                sd = np.sqrt(state[3, i])
                x[row, i, 0] = state[0, i]
                x[row, i, 1] = noise_sd * sd
                x[row, i, 2] = state[0, i] / total
                for q in range(n_slopes):
                    growth = (slopes[q, 3, 0] + slopes[q, 3, 1]) / (state[3, 0] + state[3, 1])
                    dx[q, row, i, 0] = slopes[q, 0, i]
                    dx[q, row, i, 1] = noise_sd * slopes[q, 3, i] / (2.0 * sd) if sd > 0 else 0.0
                    dx[q, row, i, 2] = (slopes[q, 0, i] - state[0, i] * growth / 2.0) / total
            row += 1
            if chosen[t] >= 0 and rewards[t] == rewards[t]:
                observe(state, slopes, chosen[t], rewards[t], noises[chosen[t]])


@njit(inline="always", nogil=True, error_model="numpy")
def learn(b, f, j, reward, rates, initial, others):
    """Move the values b + Q0 f of the option taken, and of others, by what it gave."""
    own, own_f = b[j], f[j]
    gains = reward > 0 if others >= BY_OUTCOME else reward >= own
    rate, other = rates[0] if gains else rates[1], rates[2]
    rule = others % BY_OUTCOME
    if rule == FORGETTING:
        for i in range(len(b)):
            b[i] += other * (initial - b[i])
            f[i] += other * (1.0 - f[i])
    elif rule:
        speed = rate if rule == TIED else other
        for i in range(len(b)):
            b[i] += speed * (-reward - b[i])
            f[i] += speed * (0.0 - f[i])
    b[j] = own + rate * (reward - own)
    f[j] = own_f + rate * (0.0 - own_f)


@njit(inline="always", nogil=True, error_model="numpy")
def trace_choice(trace, j, rate):
    """Move the trace of choices to the one that was made."""
    habit = trace[j]
    for i in range(len(trace)):
        trace[i] += rate * (0.0 - trace[i])
    trace[j] = habit + rate * (1.0 - habit)


@njit(cache=True, nogil=True, error_model="numpy")
def learner_goes_on(
    chosen, rewards, is_choice, begin, rates, initial, others, columns, state, last, x
):
    """The same for events from `begin` on of one episode, at psi k whose state is known.

    columns : (4,), where f, the choice traces, the last choice and the first bias go, or -1
    state : (n_psi, 3, n_options), b, f and traces before the events; those after them at the end
    last : (1,), the last choice before the events, or -1; and after them
    x : (n_psi, n_new, n_options, n_weights), zeros
    """
    n_psi, n_new, n_options, _ = x.shape
    at_f, at_trace, at_last, at_bias = columns
    before = last[0]
    for k in range(n_psi):
        b, f, trace = state[k]
        made = before
        for row in range(n_new):
            for i in range(n_options):
                x[k, row, i, 0] = b[i]
                if at_f >= 0:
                    x[k, row, i, at_f] = f[i]
                if at_trace >= 0:
                    x[k, row, i, at_trace] = trace[i]
                if at_bias >= 0 and i < n_options - 1:
                    x[k, row, i, at_bias + i] = 1.0
            if at_last >= 0 and made >= 0:
                x[k, row, made, at_last] = 1.0
            t = begin + row
            j, reward = chosen[t], rewards[t]
            if is_choice[t] and j >= 0:
                made = j
            if j < 0 or reward != reward:
                continue
            learn(b, f, j, reward, rates[k], initial, others)
            if at_trace >= 0 and is_choice[t]:
                trace_choice(trace, j, rates[k, 3])
        last[0] = made


@njit(cache=True, nogil=True, error_model="numpy")
def kalman_values(chosen, rewards, starts, which, filters, start, centre, noise_sd, columns, x):
    """Means and standard deviations of the Kalman filter."""
    n_options = x.shape[1]
    at_f, at_g, at_sd = columns
    b, f, g, s = np.empty((4, n_options))
    affine = at_f >= 0 or at_g >= 0
    row = 0
    for k in range(len(which)):
        prior, decay, drift = filters[k]
        restless = decay != 1.0 or drift != 0.0
        rest = 1.0 - decay
        b[:], f[:], g[:], s[:] = start[0], start[1], start[2], prior
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(n_options):
                x[row, i, 0] = b[i]
            if at_f >= 0:
                for i in range(n_options):
                    x[row, i, at_f] = f[i]
            if at_g >= 0:
                for i in range(n_options):
                    x[row, i, at_g] = g[i]
            if at_sd >= 0:
                for i in range(n_options):
                    x[row, i, at_sd] = noise_sd * np.sqrt(s[i])
            row += 1
            j, reward = chosen[t], rewards[t]
            if j >= 0 and reward == reward:
                gain, kept = s[j] / (1.0 + s[j]), 1.0 / (1.0 + s[j])
                b[j] += gain * (reward - b[j])
                f[j] *= kept
                g[j] *= kept
                s[j] = gain
            if restless:
                for i in range(n_options):
                    b[i] = decay * b[i] + rest * centre[0]
                    s[i] = decay * decay * s[i] + drift
                if affine:
                    for i in range(n_options):
                        f[i] = decay * f[i] + rest * centre[1]
                        g[i] = decay * g[i] + rest * centre[2]
