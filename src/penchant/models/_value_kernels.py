"""Compiled loops of learning models for variables alone: what a grid of psi asks for.

As in `_kernels`, without derivatives; arguments are the same.
"""

import numpy as np

from penchant._compiled import njit
from penchant.models._kernels import FICTITIOUS, FORGETTING


@njit(cache=True, nogil=True, error_model="numpy")
def learner_values(chosen, rewards, is_choice, starts, which, rates, initial, others, columns, x):
    """Values b + Q0 f and choice traces of the composable Rescorla-Wagner learner."""
    n_options = x.shape[1]
    at_f, at_trace = columns
    b, f, trace = np.empty(n_options), np.empty(n_options), np.empty(n_options)
    row = 0
    for k in range(len(which)):
        up, down, other, trace_rate = rates[k]
        b[:], f[:], trace[:] = initial, 1.0, 0.0
        for t in range(starts[which[k]], starts[which[k] + 1]):
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
            own, own_f = b[j], f[j]
            rate = up if reward >= own else down
            if others == FORGETTING:
                for i in range(n_options):
                    b[i] += other * (initial - b[i])
                    f[i] += other * (1.0 - f[i])
            elif others == FICTITIOUS:
                for i in range(n_options):
                    b[i] += other * (-reward - b[i])
                    f[i] += other * (0.0 - f[i])
            b[j] = own + rate * (reward - own)
            f[j] = own_f + rate * (0.0 - own_f)
            if at_trace >= 0 and is_choice[t]:
                habit = trace[j]
                for i in range(n_options):
                    trace[i] += trace_rate * (0.0 - trace[i])
                trace[j] = habit + trace_rate * (1.0 - habit)


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
