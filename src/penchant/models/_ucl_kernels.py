"""Compiled variables of stochastic UCL. Bare arrays, no policy."""

import numpy as np

from penchant._compiled import njit
from penchant.bandit._kernels import believe, observed_path


@njit(cache=True, nogil=True, error_model="numpy")
def upper_limits(columns, slopes, options, track, deltas, z, cooled, unit, n_derivatives, x, dx):
    """Variables of one episode at many delta, and their derivatives.

    columns, slopes : (n_options, n_observed) correlations with the options observed, and their
        derivative in the length scale; options : which those are
    track : which of them each event observes, or -1; after each observation, how many are observed
        again; the rewards
    z, cooled : quantile of the credible limit and inverse temperature of every event
    unit : of the bonus if it is part of the first variable; 0 if it is a variable of its own
    x : (n_delta * n_events, n_options, 2 or 3), filled
    dx : (n_derivatives, *x.shape), filled: in delta, in the length scale
    """
    events, active, rewards = track
    n_options, size = columns.shape
    n_events = len(events)
    kinds = 1 + n_derivatives
    place = np.full(n_options, -1, dtype=np.int64)
    for c in range(size):
        place[options[c]] = c
    visits = events[events >= 0]
    path, news = np.empty((len(active), kinds, size)), np.empty((len(active), kinds, 2))
    out = np.empty((3, kinds, n_events, n_options))
    square, d_square = columns[options], slopes[options]
    row = 0
    for delta in deltas:
        observed_path(square, d_square, delta, visits, active, rewards, path, news)
        believe(columns, slopes, delta, place, events, active, path, news, 0, n_options, out)
        for t in range(n_events):
            for i in range(n_options):
                sd = np.sqrt(out[2, 0, t, i])
                bonus = sd * z[t]
                x[row, i, 0] = (out[0, 0, t, i] + unit * bonus) * cooled[t]
                x[row, i, 1] = out[1, 0, t, i] * cooled[t]
                if unit == 0.0:
                    x[row, i, 2] = bonus * cooled[t]
                for q in range(1, kinds):
                    bonus = out[2, q, t, i] / (2.0 * sd) * z[t]
                    dx[q - 1, row, i, 0] = (out[0, q, t, i] + unit * bonus) * cooled[t]
                    dx[q - 1, row, i, 1] = out[1, q, t, i] * cooled[t]
                    if unit == 0.0:
                        dx[q - 1, row, i, 2] = bonus * cooled[t]
            row += 1
