"""Compiled loops of learning models. Bare arrays, no policy.

Every loop runs over pairs k of an episode, which[k], and a psi; its events are those from starts[e]
to starts[e + 1], and row after row is filled.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def q_values(chosen, rewards, starts, which, learning_rates, initial_value, x, dx):
    """Values before every event, and their derivative in the learning rate.

    x, dx : (rows, n_options), filled; an event without a reward teaches nothing
    """
    n_options = x.shape[1]
    values, slopes = np.empty(n_options), np.empty(n_options)
    row = 0
    for k in range(len(which)):
        rate = learning_rates[k]
        values[:] = initial_value
        slopes[:] = 0.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
            for i in range(n_options):
                x[row, i] = values[i]
                dx[row, i] = slopes[i]
            row += 1
            if rewards[t] == rewards[t]:
                i = chosen[t]
                slopes[i] = (1.0 - rate) * slopes[i] + (rewards[t] - values[i])
                values[i] += rate * (rewards[t] - values[i])
