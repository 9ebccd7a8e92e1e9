"""Compiled loops of models on places: beliefs of a Gaussian process, and where play has been.

Bare arrays, no policy. Every loop runs over pairs k of an episode, which[k], and a psi; its events
are those from starts[e] to starts[e + 1], and row after row is filled. What depends on the episode
and the length scale alone is kept from a pair to the next.
"""

import numpy as np

from penchant._numba_cache import njit
from penchant.bandit._belief_kernels import fill_observed_posteriors, fill_option_posteriors

KERNELS = ("exponential", "gaussian", "matern-3/2", "matern-5/2")
TERMS = ("distance", "log_distance", "same", "visited")


@njit(cache=True, nogil=True, error_model="numpy")
def credible_limits(
    chosen,
    rewards,
    starts,
    which,
    locations,
    kernel,
    scales,
    ratios,
    z,
    cooled,
    form,
    derived,
    x,
    dx,
):
    """Mean and bonus of every option before every event, and their derivatives.

    kernel : index in KERNELS; scales, ratios : length scale and noise ratio of every pair
    z, cooled : of every event the quantile of the limit, and the inverse temperature
    form : prior mean, if known; unit of the bonus; whether it is that of a new reward, noise
        included; columns of the share of an unknown prior mean and of the bonus, -1 for none: a
        bonus without a column is added to the mean
    derived : for each derivative wanted, 1 in the noise ratio or 2 in the length scale
    x : (rows, n_options, n_weights), filled; dx : (n_derivatives, *x.shape), filled
    """
    prior, unit, is_predictive, prior_at, bonus_at = form
    n_options = len(locations)
    kinds = 1
    for q in derived:
        kinds = max(kinds, 1 + q)
    place = np.empty(n_options, dtype=np.int64)
    row = 0
    for k in range(len(which)):
        begin, end = starts[which[k]], starts[which[k] + 1]
        if k == 0 or which[k] != which[k - 1] or scales[k] != scales[k - 1]:
            options, events, active, paid = arranged(chosen[begin:end], rewards[begin:end], place)
            columns, slopes = correlations(locations, options, kernel, scales[k])
            path = np.empty((len(active), kinds, len(options)))
            news = np.empty((len(active), kinds, 2))
            visits = _visits(events, len(active))
            square, d_square = _rows(columns, options), _rows(slopes, options)
            out = np.empty((3, kinds, end - begin, n_options))
        ratio = ratios[k]
        fill_observed_posteriors(square, d_square, ratio, visits, active, paid, path, news)
        fill_option_posteriors(
            columns, slopes, ratio, place, events, active, path, news, 0, n_options, out
        )
        b, f, s = out[0], out[1], out[2]
        for t in range(end - begin):
            cold, limit = cooled[begin + t], z[begin + t]
            for i in range(n_options):
                root = np.sqrt(ratio * (1.0 + s[0, t, i]) if is_predictive else s[0, t, i])
                bonus = unit * (root * limit)
                mean = b[0, t, i] + prior * f[0, t, i]
                x[row, i, 0] = (mean if bonus_at >= 0 else mean + bonus) * cold
                if prior_at >= 0:
                    x[row, i, prior_at] = f[0, t, i] * cold
                if bonus_at >= 0:
                    x[row, i, bonus_at] = bonus * cold
                for a in range(len(derived)):
                    q = derived[a]
                    change = s[q, t, i]
                    if is_predictive:
                        change = ratio * change + (1.0 + s[0, t, i] if q == 1 else 0.0)
                    bonus = unit * (change / (2.0 * root) * limit)
                    mean = b[q, t, i] + prior * f[q, t, i]
                    dx[a, row, i, 0] = (mean if bonus_at >= 0 else mean + bonus) * cold
                    if prior_at >= 0:
                        dx[a, row, i, prior_at] = f[q, t, i] * cold
                    if bonus_at >= 0:
                        dx[a, row, i, bonus_at] = bonus * cold
            row += 1


@njit(cache=True, nogil=True, error_model="numpy")
def arranged(chosen, rewards, place):
    """The observations of an episode, arranged for the recursion of beliefs.

    place : (n_options,), filled: which of the options observed an option is, or -1
    Returns the options observed, that with the latest last observation first; which of them each
    event observes, or -1; after each observation, how many will be observed again; the rewards.
    """
    n = len(chosen)
    for i in range(len(place)):
        place[i] = -1
    options, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    size = n_seen = 0
    for t in range(n - 1, -1, -1):
        if rewards[t] == rewards[t]:
            n_seen += 1
            if place[chosen[t]] < 0:
                place[chosen[t]] = size
                options[size] = chosen[t]
                last[size] = t
                size += 1
    events = np.empty(n, dtype=np.int64)
    active, paid = np.empty(n_seen, dtype=np.int64), np.empty(n_seen)
    n_active, seen = size, 0
    for t in range(n):
        events[t] = -1
        if rewards[t] == rewards[t]:
            events[t] = place[chosen[t]]
            if n_active > 0 and last[n_active - 1] == t:
                n_active -= 1
            active[seen] = n_active
            paid[seen] = rewards[t]
            seen += 1
    return options[:size], events, active, paid


@njit(cache=True, nogil=True, error_model="numpy")
def correlations(locations, options, kernel, scale):
    """Correlations (n_options, n_observed) with options observed, and derivatives in the scale."""
    n, size = len(locations), len(options)
    columns, slopes = np.empty((n, size)), np.empty((n, size))
    for i in range(n):
        for c in range(size):
            apart = 0.0
            for a in range(locations.shape[1]):
                apart += (locations[i, a] - locations[options[c], a]) ** 2
            columns[i, c], slopes[i, c] = correlation(kernel, np.sqrt(apart), scale)
    return columns, slopes


@njit(cache=True, nogil=True, error_model="numpy")
def correlation(kernel, apart, scale):
    """Correlation at a distance, and its derivative in the length scale; scale 0: independent."""
    if apart == 0.0:
        return 1.0, 0.0
    if apart >= 1e3 * scale:
        return 0.0, 0.0
    u = apart / scale
    if kernel == 0:
        value = np.exp(-u)
        return value, value * u / scale
    if kernel == 1:
        value = np.exp(-0.5 * u * u)
        return value, value * u * u / scale
    if kernel == 2:
        v = np.sqrt(3.0) * u
        value = np.exp(-v)
        return (1.0 + v) * value, value * v * v / scale
    v = np.sqrt(5.0) * u
    value = np.exp(-v)
    return (1.0 + v + v * v / 3.0) * value, value * v * v * (1.0 + v) / (3.0 * scale)


@njit(cache=True, nogil=True, error_model="numpy")
def nearness(chosen, starts, which, locations, spacing, terms, x):
    """Fill the columns of locality: distance from the last option, repetition, visits.

    terms : indices in TERMS, one per column; x : (rows, n_options, n_terms), filled
    An option shown counts like one chosen; an event without any changes nothing.
    """
    n_options = len(locations)
    apart = np.empty(n_options)
    visited = np.empty(n_options)
    row = 0
    for e in which:
        last = -1
        for i in range(n_options):
            apart[i] = 0.0
            visited[i] = 0.0
        for t in range(starts[e], starts[e + 1]):
            for c in range(len(terms)):
                for i in range(n_options):
                    if terms[c] == 0:
                        x[row, i, c] = apart[i]
                    elif terms[c] == 1:
                        x[row, i, c] = np.log(1.0 + apart[i] / spacing)
                    elif terms[c] == 2:
                        x[row, i, c] = 1.0 if i == last else 0.0
                    else:
                        x[row, i, c] = visited[i]
            row += 1
            if chosen[t] >= 0:
                last = chosen[t]
                visited[last] = 1.0
                for i in range(n_options):
                    apart[i] = 0.0
                    for a in range(locations.shape[1]):
                        apart[i] += abs(locations[i, a] - locations[last, a])


# Loops, as arrays of places and of truths take longer to compile than all around them.


@njit(nogil=True, error_model="numpy")
def _visits(events, n_seen):
    """Options of the events that observe one: (n_seen,)."""
    visits = np.empty(n_seen, dtype=np.int64)
    seen = 0
    for t in range(len(events)):
        if events[t] >= 0:
            visits[seen] = events[t]
            seen += 1
    return visits


@njit(nogil=True, error_model="numpy")
def _rows(columns, options):
    """The rows of these options."""
    rows = np.empty((len(options), columns.shape[1]))
    for i in range(len(options)):
        for c in range(columns.shape[1]):
            rows[i, c] = columns[options[i], c]
    return rows


@njit(cache=True, nogil=True, error_model="numpy")
def map_shares(
    chosen,
    rewards,
    starts,
    which,
    locations,
    kernel,
    scales,
    ratios,
    functions,
    cooled,
    column,
    x,
    dx,
):
    """Fill the columns of a prior map before every event: the residuals F of Eq. (12).

    F = delta S Sigma^-1 Phi follows by recursion: an observation of option j changes it by
    -k F_j, with k = S e_j / (1 + S_jj). No inverse.

    First arguments and cooled : as in `credible_limits`
    functions : Phi, (n_options, n_functions); column : of the first of them in x
    x : (rows, n_options, n_functions or more), filled
    dx : (n_derivatives, *x.shape), filled: in the noise ratio delta, in the length scale
    """
    n_options = len(locations)
    n = functions.shape[1]
    kinds = 1 + len(dx)
    place = np.empty(n_options, dtype=np.int64)
    f = np.empty((kinds, n_options, n))
    k, dk, own = np.empty(n_options), np.empty(n_options), np.empty((kinds, n))
    row = 0
    for pair in range(len(which)):
        begin, end = starts[which[pair]], starts[which[pair] + 1]
        if pair == 0 or which[pair] != which[pair - 1] or scales[pair] != scales[pair - 1]:
            options, events, active, _ = arranged(chosen[begin:end], rewards[begin:end], place)
            columns, slopes = correlations(locations, options, kernel, scales[pair])
            s = np.empty((kinds, len(options), n_options))
        delta = ratios[pair]
        for c in range(len(options)):
            for i in range(n_options):
                s[0, c, i] = columns[i, c] / delta
                if kinds > 1:
                    s[1, c, i] = -columns[i, c] / delta / delta
                if kinds > 2:
                    s[2, c, i] = slopes[i, c] / delta
        for q in range(kinds):
            for i in range(n_options):
                for a in range(n):
                    f[q, i, a] = functions[i, a] if q == 0 else 0.0
        n_seen = 0
        for t in range(len(events)):
            _show(f[0], cooled[begin + t], x[row], column)
            for q in range(1, kinds):
                _show(f[q], cooled[begin + t], dx[q - 1, row], column)
            row += 1
            j = events[t]
            if j < 0:
                continue
            n_active = active[n_seen]
            n_seen += 1
            at = options[j]
            g = 1.0 + s[0, j, at]
            for i in range(n_options):
                k[i] = s[0, j, i] / g
            for q in range(kinds):
                for a in range(n):
                    own[q, a] = f[q, at, a]
            for q in range(1, kinds):
                p_j = s[q, j, at]
                for i in range(n_options):
                    dk[i] = (s[q, j, i] - k[i] * p_j) / g
                dk[at] = p_j / g / g
                _lessen_both(f[q], k, own[q], dk, own[0])
                for a in range(n):
                    f[q, at, a] = own[q, a] / g - dk[at] * own[0, a]
                for c in range(n_active):
                    if c != j:
                        k_c, p_c = s[0, j, options[c]] / g, s[q, j, options[c]]
                        _lessen_column(s[q, c], s[q, j], k_c, k, p_c - p_j * k_c)
                        s[q, c, at] = (p_c - k_c * p_j) / g
                for i in range(n_options):
                    s[q, j, i] = dk[i]
            for c in range(n_active):
                if c != j:
                    s_c = s[0, j, options[c]]
                    for i in range(n_options):
                        s[0, c, i] -= k[i] * s_c
                    s[0, c, at] = s_c / g
            for i in range(n_options):
                s[0, j, i] = k[i]
            _lessen(f[0], k, own[0])
            for a in range(n):
                f[0, at, a] = own[0, a] / g


# Loops of their own, on arrays of two dimensions: a compiler sees that they run side by side.


@njit(nogil=True, error_model="numpy")
def _show(f, cooled, x, column):
    for i in range(len(f)):
        for a in range(f.shape[1]):
            x[i, column + a] = f[i, a] * cooled


@njit(nogil=True, error_model="numpy")
def _lessen(f, k, own):
    for i in range(len(f)):
        for a in range(f.shape[1]):
            f[i, a] -= k[i] * own[a]


@njit(nogil=True, error_model="numpy")
def _lessen_both(f, k, own, dk, first):
    for i in range(len(f)):
        for a in range(f.shape[1]):
            f[i, a] -= k[i] * own[a] + dk[i] * first[a]


@njit(nogil=True, error_model="numpy")
def _lessen_column(column, p, k_c, k, left):
    for i in range(len(column)):
        column[i] -= p[i] * k_c + k[i] * left
