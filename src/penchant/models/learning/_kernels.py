"""Compiled loops of learning models. Bare arrays, no policy.

Every loop runs over pairs k of an episode, which[k], and a psi; its events are those from starts[e]
to starts[e + 1], and row after row is filled. x is (rows, n_options, n_weights) and dx the same for
every shape parameter along a first axis, which is empty where no derivatives are asked for; both
come as zeros. Row t is written before event t is learnt from. chosen is -1 where nothing was chosen
in time, and rewards are NaN where there was none.

Compiled loops of learning models for variables alone: what a grid of psi asks for.

As in `_kernels`, without derivatives; arguments are the same.
"""

import numpy as np

from penchant._compiled import njit

FORGETTING, FICTITIOUS, TIED = 1, 2, 3
BY_OUTCOME = 4  # added to the rule of options not taken: the sign of the reward picks the rate


@njit(cache=True, nogil=True, error_model="numpy")
def learner(
    chosen, rewards, is_choice, starts, which, rates, index, initial, others, columns, x, dx
):
    """Values b + Q0 f and choice traces of the composable Rescorla-Wagner learner.

    rates : (pairs, 4), of gains, of losses, of options not chosen, of choice traces
    index : (4,), which shape parameter each of them is, or -1
    initial : value before play, 0 where it is estimated
    others : what options not chosen do: 0 nothing, FORGETTING, FICTITIOUS, or TIED: fictitious at
        the rate of the option chosen; and BY_OUTCOME more
    columns : (2,), where f and the choice traces go, or -1
    """
    n_options, n_slopes = x.shape[1], dx.shape[0]
    at_f, at_trace = columns
    b, f, trace = np.empty(n_options), np.empty(n_options), np.empty(n_options)
    db, df = np.empty((n_slopes, n_options)), np.empty((n_slopes, n_options))
    d_trace = np.empty((n_slopes, n_options))
    row = 0
    for k in range(len(which)):
        up, down, other, trace_rate = rates[k]
        b[:], f[:], trace[:] = initial, 1.0, 0.0
        db[:], df[:], d_trace[:] = 0.0, 0.0, 0.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            show(b, db, row, 0, x, dx)
            if at_f >= 0:
                show(f, df, row, at_f, x, dx)
            if at_trace >= 0:
                show(trace, d_trace, row, at_trace, x, dx)
            row += 1
            j, reward = chosen[t], rewards[t]
            if j < 0 or reward != reward:
                continue
            gains = reward > 0 if others >= BY_OUTCOME else reward >= b[j]
            rate, own = (up, index[0]) if gains else (down, index[1])
            approach(b, db, j, reward, rate, own)
            if at_f >= 0:
                approach(f, df, j, 0.0, rate, own)
            rule = others % BY_OUTCOME
            if rule:
                target, share = (initial, 1.0) if rule == FORGETTING else (-reward, 0.0)
                speed, whose = (rate, own) if rule == TIED else (other, index[2])
                for i in range(n_options):
                    if i != j:
                        approach(b, db, i, target, speed, whose)
                        if at_f >= 0:
                            approach(f, df, i, share, speed, whose)
            if at_trace >= 0 and is_choice[t]:
                for i in range(n_options):
                    approach(trace, d_trace, i, 1.0 if i == j else 0.0, trace_rate, index[3])


@njit(inline="always", nogil=True, error_model="numpy")
def show(values, slopes, row, column, x, dx):
    """Write the values of all options, and their slopes, into a column."""
    for i in range(len(values)):
        x[row, i, column] = values[i]
        for q in range(len(slopes)):
            dx[q, row, i, column] = slopes[q, i]


@njit(inline="always", nogil=True, error_model="numpy")
def approach(values, slopes, i, target, rate, own):
    """Move values[i] to the target by a rate, which is shape parameter `own`, or none."""
    gap = target - values[i]
    for q in range(len(slopes)):
        slopes[q, i] *= 1.0 - rate
        if q == own:
            slopes[q, i] += gap
    values[i] += rate * gap


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


SIDE_BY_SIDE = 8  # psi of one episode whose values are learnt together


@njit(cache=True, nogil=True, error_model="numpy")
def learner_values(chosen, rewards, is_choice, starts, which, rates, initial, others, columns, x):
    """Values b + Q0 f and choice traces of the composable Rescorla-Wagner learner.

    Neighbours that share an episode are learnt side by side: events are read once for all of them.
    """
    n_options = x.shape[1]
    b, f = np.empty((n_options, SIDE_BY_SIDE)), np.empty((n_options, SIDE_BY_SIDE))
    trace, mine = np.empty((n_options, SIDE_BY_SIDE)), np.empty((4, SIDE_BY_SIDE))
    first, row = 0, 0
    while first < len(which):
        episode, n = which[first], 1
        while n < SIDE_BY_SIDE and first + n < len(which) and which[first + n] == episode:
            n += 1
        for a in range(4):
            for lane in range(SIDE_BY_SIDE):
                mine[a, lane] = rates[first + (lane if lane < n else 0), a]
        b[:], f[:], trace[:] = initial, 1.0, 0.0
        history = chosen, rewards, is_choice, starts[episode], starts[episode + 1]
        if n == 1:
            values_of_one(history, mine, initial, others, columns, (b, f, trace), row, x)
        else:
            values_of_many(history, mine, initial, others, columns, (b, f, trace), row, n, x)
        row += n * (starts[episode + 1] - starts[episode])
        first += n


@njit(nogil=True, error_model="numpy")
def values_of_one(history, rates, initial, others, columns, state, row, x):
    """Those of one pair, from `row` on; rates and state are in the first lane."""
    chosen, rewards, is_choice, begin, end = history
    at_f, at_trace = columns
    n_options, speed = x.shape[1], rates[:, 0].copy()
    b, f, trace = state[0][:, 0].copy(), state[1][:, 0].copy(), state[2][:, 0].copy()
    for t in range(begin, end):
        for i in range(n_options):
            x[row, i, 0] = b[i]
        if at_f >= 0:
            for i in range(n_options):
                x[row, i, at_f] = f[i]
        if at_trace >= 0:
            for i in range(n_options):
                x[row, i, at_trace] = trace[i]
        row += 1
        j, reward = chosen[t], rewards[t]
        if j < 0 or reward != reward:
            continue
        learn(b, f, j, reward, speed, initial, others)
        if at_trace >= 0 and is_choice[t]:
            trace_choice(trace, j, speed[3])


@njit(nogil=True, error_model="numpy")
def values_of_many(history, rates, initial, others, columns, state, row, n, x):
    """Those of n pairs, from `row` on, one lane each."""
    chosen, rewards, is_choice, begin, end = history
    b, f, trace = state
    at_f, at_trace = columns
    n_options, n_events = x.shape[1], end - begin
    rule, by_outcome = others % BY_OUTCOME, others >= BY_OUTCOME
    rate, speed = np.empty(SIDE_BY_SIDE), np.empty(SIDE_BY_SIDE)
    for t in range(begin, end):
        for i in range(n_options):
            for lane in range(n):
                x[row + lane * n_events, i, 0] = b[i, lane]
                if at_f >= 0:
                    x[row + lane * n_events, i, at_f] = f[i, lane]
                if at_trace >= 0:
                    x[row + lane * n_events, i, at_trace] = trace[i, lane]
        row += 1
        j, reward = chosen[t], rewards[t]
        if j < 0 or reward != reward:
            continue
        for lane in range(SIDE_BY_SIDE):
            gains = reward > 0 if by_outcome else reward >= b[j, lane]
            rate[lane] = rates[0, lane] if gains else rates[1, lane]
            speed[lane] = rate[lane] if rule == TIED else rates[2, lane]
        if rule:
            target, share = (initial, 1.0) if rule == FORGETTING else (-reward, 0.0)
            for i in range(n_options):
                if i != j:
                    for lane in range(SIDE_BY_SIDE):
                        b[i, lane] += speed[lane] * (target - b[i, lane])
                        f[i, lane] += speed[lane] * (share - f[i, lane])
        for lane in range(SIDE_BY_SIDE):
            b[j, lane] += rate[lane] * (reward - b[j, lane])
            f[j, lane] += rate[lane] * (0.0 - f[j, lane])
        if at_trace >= 0 and is_choice[t]:
            for i in range(n_options):
                habit = 1.0 if i == j else 0.0
                for lane in range(SIDE_BY_SIDE):
                    trace[i, lane] += rates[3, lane] * (habit - trace[i, lane])


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
