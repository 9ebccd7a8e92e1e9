"""Beliefs, UCL and Q-learning, transcribed literally: dense matrices, loops, nothing shared.

An event is (option, reward): option -1 or reward NaN means that nothing was observed. Row t of all
results is what holds before event t. `exact_*` do the same in mpmath with as many digits as set.
"""

import math

import numpy as np
from scipy import optimize, special


def distance(one, other):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))


def correlation(name, apart, length_scale, lib=math):
    """Sigma_ij as a function of the distance, one pair at a time."""
    if length_scale == 0:
        return 1.0 if apart == 0 else 0.0
    u = apart / length_scale
    if name == "exponential":
        return lib.exp(-u)
    if name == "gaussian":
        return lib.exp(-u * u / 2)
    if name == "matern-3/2":
        return (1 + lib.sqrt(3) * u) * lib.exp(-lib.sqrt(3) * u)
    if name == "matern-5/2":
        return (1 + lib.sqrt(5) * u + 5 * u * u / 3) * lib.exp(-lib.sqrt(5) * u)
    raise ValueError(name)


def correlations(locations, length_scale, name="exponential"):
    n = len(locations)
    sigma = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            sigma[i, j] = correlation(name, distance(locations[i], locations[j]), length_scale)
    return sigma


def correlation_slopes(locations, length_scale):
    """dSigma/dlambda = Sigma o Dist / lambda^2, for the exponential kernel."""
    n = len(locations)
    slopes = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if length_scale > 0:
                apart = distance(locations[i], locations[j])
                slopes[i, j] = math.exp(-apart / length_scale) * apart / length_scale**2
    return slopes


def seen_before(chosen, rewards, n_options):
    """Counts n and sums of rewards s of every option before each event."""
    counts, sums = np.zeros(n_options), np.zeros(n_options)
    before = []
    for option, reward in zip(chosen, rewards, strict=True):
        before.append((counts.copy(), sums.copy()))
        if reward == reward and option >= 0:
            counts[option] += 1
            sums[option] += reward
    return before


def beliefs(chosen, rewards, locations, delta, length_scale, name="exponential"):
    """b = S s, f = 1 - S n and diag S, S = (delta Lambda + diag n)^-1: (n_events, n_options)."""
    precision = np.linalg.inv(correlations(locations, length_scale, name))
    before = seen_before(chosen, rewards, len(locations))
    s = np.linalg.inv(np.stack([delta * precision + np.diag(n) for n, _ in before]))
    b = [s[t] @ sums for t, (_, sums) in enumerate(before)]
    f = [1 - s[t] @ n for t, (n, _) in enumerate(before)]
    return np.array(b), np.array(f), np.diagonal(s, axis1=1, axis2=2)


ALPHA_SCALE = math.sqrt(2 * math.pi * math.e)


def credible_z(t, scale=ALPHA_SCALE, power=1.0):
    """Phi^-1(1 - alpha_t) by the tail, which keeps the digits."""
    return -special.ndtri(1 / (scale * t**power))


def linearised(chosen, rewards, locations, noise_variance, mean, delta, length_scale):
    """x1 to x4 of the linearisation about (mean, delta, lambda): (n_events, n_options, 4)."""
    sigma = correlations(locations, length_scale)
    precision = np.linalg.inv(sigma)
    d_sigma = correlation_slopes(locations, length_scale)
    rows = []
    for t, (n, s) in enumerate(seen_before(chosen, rewards, len(locations)), start=1):
        inverse = np.linalg.inv(delta * precision + np.diag(n))
        p = inverse @ precision @ inverse
        d_lambda = delta * inverse @ precision @ d_sigma @ precision @ inverse
        sd = np.sqrt(noise_variance * np.diag(inverse))
        z, log_t = credible_z(t), math.log(t)
        gap = s - n * mean
        x1 = (mean + inverse @ gap + sd * z) * log_t
        x2 = (1 - inverse @ n) * log_t
        x3 = (-p @ gap - noise_variance * np.diag(p) / (2 * sd) * z) * log_t
        x4 = (d_lambda @ gap + noise_variance * np.diag(d_lambda) / (2 * sd) * z) * log_t
        rows.append(np.stack([x1, x2, x3, x4], axis=1))
    return np.array(rows)


def ucl_log_probabilities(
    chosen, rewards, locations, noise_variance, natural, times=None, cooling="logarithmic", bonus=1
):
    """log P of every option before each event; natural = (nu, mu0, sigma0^2, lambda)."""
    nu, mean, variance, length_scale = natural
    b, f, s = beliefs(chosen, rewards, locations, noise_variance / variance, length_scale)
    t = np.arange(1.0, len(chosen) + 1) if times is None else np.asarray(times, dtype=float)
    heuristic = b + mean * f + bonus * np.sqrt(noise_variance * s) * credible_z(t)[:, None]
    q = heuristic * (np.log(t)[:, None] if cooling == "logarithmic" else 1.0) / nu
    return q - special.logsumexp(q, axis=1, keepdims=True)


def ucl_log_likelihood(chosen, rewards, locations, noise_variance, natural, **options):
    """Sum of log P(chosen) over the events with a choice."""
    log_p = ucl_log_probabilities(chosen, rewards, locations, noise_variance, natural, **options)
    return math.fsum(log_p[k, option] for k, option in enumerate(chosen) if option >= 0)


def q_values(chosen, rewards, n_options, rate, initial=0.0):
    """V of every option before each event."""
    values = [initial] * n_options
    rows = []
    for option, reward in zip(chosen, rewards, strict=True):
        rows.append(list(values))
        if reward == reward:
            values[option] = values[option] + rate * (reward - values[option])
    return np.array(rows)


def q_log_likelihood(chosen, rewards, n_options, temperature, rate, initial=0.0):
    q = q_values(chosen, rewards, n_options, rate, initial) / temperature
    log_p = q - special.logsumexp(q, axis=1, keepdims=True)
    return math.fsum(log_p[k, option] for k, option in enumerate(chosen) if option >= 0)


# -- the same with many digits -------------------------------------------------------------------


def exact_beliefs(mp, events, locations, delta, length_scale, name="exponential"):
    """b, f and diag S after all events, in mpmath; by the options observed, so Sigma may be 1 1'.

    mu = mu0 + K C^-1 (means - mu0), S = (Sigma - K C^-1 K')/delta, C = Sigma_UU + delta diag(1/n).
    """
    where = [[mp.mpf(float(v)) for v in row] for row in locations]
    delta, length_scale = mp.mpf(delta), mp.mpf(length_scale)

    def rho(i, j):
        squares = ((a - b) ** 2 for a, b in zip(where[i], where[j], strict=True))
        return mp.mpf(correlation(name, mp.sqrt(mp.fsum(squares)), length_scale, mp))

    seen = sorted({option for option, reward in events if reward == reward})
    options = range(len(where))
    if not seen:
        return [mp.mpf(0) for _ in options], [mp.mpf(1) for _ in options], [1 / delta] * len(where)
    rewards = {u: [mp.mpf(float(r)) for o, r in events if o == u and r == r] for u in seen}
    c, k = mp.matrix(len(seen), len(seen)), mp.matrix(len(where), len(seen))
    for p, u in enumerate(seen):
        for q, v in enumerate(seen):
            c[p, q] = rho(u, v) + (delta / len(rewards[u]) if p == q else 0)
        for i in options:
            k[i, p] = rho(i, u)
    gain = k * c**-1
    means = [mp.fsum(rewards[u]) / len(rewards[u]) for u in seen]
    known = range(len(seen))
    b = [mp.fsum(gain[i, p] * means[p] for p in known) for i in options]
    f = [1 - mp.fsum(gain[i, p] for p in known) for i in options]
    s = [(1 - mp.fsum(gain[i, p] * k[i, p] for p in known)) / delta for i in options]
    return b, f, s


# -- estimates by general optimisers ---------------------------------------------------------------


def best_of_starts(negative, starts, method="L-BFGS-B"):
    """Lowest value of a function from several starts, each polished by Nelder-Mead."""
    lowest = math.inf
    for start in starts:
        first = optimize.minimize(negative, start, method=method)
        options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
        second = optimize.minimize(negative, first.x, method="Nelder-Mead", options=options)
        lowest = min(lowest, float(first.fun), float(second.fun))
    return lowest


def hessian(function, point, steps):
    """Central second differences."""
    n = len(point)
    result = np.empty((n, n))
    for a in range(n):
        for c in range(n):
            total = 0.0
            for sa in (1, -1):
                for sc in (1, -1):
                    moved = np.array(point, dtype=float)
                    moved[a] += sa * steps[a]
                    moved[c] += sc * steps[c]
                    total += sa * sc * function(moved)
            result[a, c] = total / (4 * steps[a] * steps[c])
    return result
