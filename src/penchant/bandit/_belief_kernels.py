"""Compiled recursion of the agent's beliefs, by updates of rank one; arrays only, no policy.

The posterior covariance of all N options in units of the noise variance is S = A^-1 with
A = delta Sigma^-1 + diag(n). One observation of option j changes it by a matrix of rank one, and
the next observations need only its columns at options still to be observed. So only those columns
are kept: S[:, V] with V the options ever observed, ordered by their last observation, the latest
first, so that columns not needed any more stand at the end. No N x N matrix, no inverse.

Rows are independent of each other once the rows at V are known (`fill_observed_posteriors`); they
are done in blocks of options, side by side in vector registers (`fill_option_posteriors`). The mean
is b + mu0 f, so b and f stand for it. Index 0 is the quantity itself, 1 its derivative in delta, 2
in the length scale; `rows` has as many as are asked for. This is the Kalman filter of a Gaussian
process with noise of variance 1 (Rasmussen and Williams 2006, ch. 2): g is the variance of a
reward, k the gain, and `innovations` are the rewards less their expectation.
"""

import numpy as np

from penchant._numba_cache import njit

# A multiple of 8, the float64s of a 512-bit register; two blocks hold the 100 options of the paper
# with few lanes unused.
OPTIONS_PER_BLOCK = 56


@njit(cache=True, nogil=True, error_model="numpy")
def fill_observed_posteriors(
    columns, d_correlations, delta, observed_indices, n_active_columns, rewards, rows, innovations
):
    """Update S[V, V], b and f of the observed options by every observation.

    Only what is needed later is updated: rows and columns of options observed again.

    columns, d_correlations : (U, U) correlations among V and their derivative in the length scale
    observed_indices : which of V each observation is of; n_active_columns : columns needed after it
    rows : (n, 1 to 3, U), filled: row of the observed option just before, as far as it is needed
    innovations : (n, 1 to 3, 2), filled: reward less b, and f, of the observed option just before
    """
    size = len(columns)
    n_orders = rows.shape[1]
    s = np.empty((3, size, size))
    for i in range(size):
        for c in range(size):
            s[0, i, c] = columns[i, c] / delta
            s[1, i, c] = -columns[i, c] / delta / delta
            s[2, i, c] = d_correlations[i, c] / delta
    b, f = np.zeros((n_orders, size)), np.zeros((n_orders, size))
    for i in range(size):
        f[0, i] = 1.0
    k, dk = np.empty(size), np.empty(size)
    before = size
    for t in range(len(observed_indices)):
        j, n_active = observed_indices[t], n_active_columns[t]
        row = rows[t]
        for q in range(n_orders):
            for c in range(before):
                row[q, c] = s[q, j, c]
            innovations[t, q, 0] = (rewards[t] if q == 0 else 0.0) - b[q, j]
            innovations[t, q, 1] = f[q, j]
        before = n_active
        g = 1.0 + row[0, j]
        for c in range(n_active):
            k[c] = row[0, c] / g
        k[j] = row[0, j] / g
        # Derivatives come first, as they need the values before the update.
        for q in range(1, n_orders):
            p_j = row[q, j]
            for c in range(n_active):
                dk[c] = (row[q, c] - k[c] * p_j) / g
            # In closed form: the difference of large numbers above would lose the digits of this
            # option.
            dk[j] = p_j / g / g
            for i in range(n_active):
                left, k_i = row[q, i] - p_j * k[i], k[i]
                for c in range(n_active):
                    s[q, i, c] -= left * k[c] + k_i * row[q, c]
                b[q, i] += k_i * innovations[t, q, 0] + dk[i] * innovations[t, 0, 0]
                f[q, i] -= k_i * innovations[t, q, 1] + dk[i] * innovations[t, 0, 1]
            for c in range(n_active):
                s[q, j, c] = dk[c]
                s[q, c, j] = dk[c]
            b[q, j] = dk[j] * innovations[t, 0, 0] - innovations[t, q, 0] / g
            f[q, j] = innovations[t, q, 1] / g - dk[j] * innovations[t, 0, 1]
        for i in range(n_active):
            k_i = k[i]
            for c in range(n_active):
                s[0, i, c] -= k_i * row[0, c]
            b[0, i] += k_i * innovations[t, 0, 0]
            f[0, i] -= k_i * innovations[t, 0, 1]
        f[0, j] = innovations[t, 0, 1] / g
        for c in range(n_active):
            s[0, j, c] = k[c]
            s[0, c, j] = k[c]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_option_posteriors(
    columns, d_columns, delta, observed_position, events, active, rows, innovations, begin, end, out
):
    """Compute b, f and S_ii of options begin..end before every event.

    columns, d_columns : (N, U) correlations of all options with V, and their derivative
    observed_position : which of V an option is, or -1; events : which of V each observes, or -1
    out : (3, 1 to 3, n_events, N), filled: b, f, S_ii; each with its derivatives
    """
    size = columns.shape[1]
    n_orders = rows.shape[1]
    s = np.empty((3, size, OPTIONS_PER_BLOCK))
    own, b, f = (
        np.empty((3, OPTIONS_PER_BLOCK)),
        np.empty((3, OPTIONS_PER_BLOCK)),
        np.empty((3, OPTIONS_PER_BLOCK)),
    )
    k, p, dk = np.empty(OPTIONS_PER_BLOCK), np.empty(OPTIONS_PER_BLOCK), np.empty(OPTIONS_PER_BLOCK)
    for first in range(begin, end, OPTIONS_PER_BLOCK):
        width = min(OPTIONS_PER_BLOCK, end - first)
        # Lanes beyond the last option repeat it, so that loops have a fixed length and vectorise.
        for lane in range(OPTIONS_PER_BLOCK):
            i = min(first + lane, end - 1)
            for c in range(size):
                s[0, c, lane] = columns[i, c] / delta
                s[1, c, lane] = -columns[i, c] / delta / delta
                s[2, c, lane] = d_columns[i, c] / delta
            for q in range(3):
                b[q, lane] = 0.0
                f[q, lane] = 1.0 if q == 0 else 0.0
            own[0, lane], own[1, lane], own[2, lane] = 1.0 / delta, -1.0 / delta / delta, 0.0
        n_seen = 0
        for t in range(len(events)):
            for q in range(n_orders):
                for lane in range(width):
                    out[0, q, t, first + lane] = b[q, lane]
                    out[1, q, t, first + lane] = f[q, lane]
                    out[2, q, t, first + lane] = own[q, lane]
            j = events[t]
            if j < 0:
                continue
            row, new, n_active = rows[n_seen], innovations[n_seen], active[n_seen]
            n_seen += 1
            g = 1.0 + row[0, j]
            for lane in range(OPTIONS_PER_BLOCK):
                k[lane] = s[0, j, lane] / g
                own[0, lane] -= k[lane] * s[0, j, lane]
            for q in range(1, n_orders):
                p_j = row[q, j]
                for lane in range(OPTIONS_PER_BLOCK):
                    p[lane] = s[q, j, lane]
                    dk[lane] = (p[lane] - k[lane] * p_j) / g
                    own[q, lane] += k[lane] * (p_j * k[lane] - 2.0 * p[lane])
                    b[q, lane] += k[lane] * new[q, 0] + dk[lane] * new[0, 0]
                    f[q, lane] -= k[lane] * new[q, 1] + dk[lane] * new[0, 1]
                for c in range(n_active):
                    k_c = row[0, c] / g
                    left = row[q, c] - p_j * k_c
                    for lane in range(OPTIONS_PER_BLOCK):
                        s[q, c, lane] -= p[lane] * k_c + k[lane] * left
                for lane in range(OPTIONS_PER_BLOCK):
                    s[q, j, lane] = dk[lane]
            for c in range(n_active):
                s_c = row[0, c]
                for lane in range(OPTIONS_PER_BLOCK):
                    s[0, c, lane] -= k[lane] * s_c
            for lane in range(OPTIONS_PER_BLOCK):
                b[0, lane] += k[lane] * new[0, 0]
                f[0, lane] -= k[lane] * new[0, 1]
                s[0, j, lane] = k[lane]
            for lane in range(width):
                if observed_position[first + lane] == j:
                    set_covariance_row_of_observed(s, own, b, f, row, new, j, g, lane, n_active)


@njit(cache=True, nogil=True, error_model="numpy")
def set_covariance_row_of_observed(s, own, b, f, row, new, j, g, lane, n_active):
    """Set the row of the option just observed by its closed form.

    The general update subtracts nearly equal numbers there, and would lose digits where delta is
    small.
    """
    own[0, lane] = row[0, j] / g
    f[0, lane] = new[0, 1] / g
    for q in range(1, len(row)):
        dk_j = row[q, j] / g / g
        own[q, lane] = dk_j
        b[q, lane] = dk_j * new[0, 0] - new[q, 0] / g
        f[q, lane] = new[q, 1] / g - dk_j * new[0, 1]
        for c in range(n_active):
            s[q, c, lane] = (row[q, c] - row[0, c] / g * row[q, j]) / g
        s[q, j, lane] = dk_j
    for c in range(n_active):
        s[0, c, lane] = row[0, c] / g
    s[0, j, lane] = row[0, j] / g
