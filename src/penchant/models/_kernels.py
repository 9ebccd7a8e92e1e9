"""Compiled loops of learning models. Bare arrays, no policy."""

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def q_values(chosen, rewards, learning_rate, values, slopes, x, dx):
    """Values before every event, and their derivative in the learning rate.

    values, slopes : (n_options,), before play; changed in place
    x, dx : (n_events, n_options), filled; an event without a reward teaches nothing
    """
    for t in range(len(chosen)):
        for i in range(len(values)):
            x[t, i] = values[i]
            dx[t, i] = slopes[i]
        if rewards[t] == rewards[t]:
            i = chosen[t]
            slopes[i] = (1.0 - learning_rate) * slopes[i] + (rewards[t] - values[i])
            values[i] += learning_rate * (rewards[t] - values[i])
