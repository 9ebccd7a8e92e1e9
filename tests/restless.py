"""People who play a restless bandit (Daw et al. 2006): payoffs from 1 to 98, four options."""

import numpy as np

import penchant as pn

DECAY, CENTRE, DRIFT_SD, NOISE_SD = 0.9836, 50.0, 2.8, 4.0


def payoffs(rng, n_decisions, n_options=4):
    """Gaussian random walks that decay to 50, with noise, rounded."""
    means = np.empty((n_decisions, n_options))
    means[0] = rng.uniform(20, 80, n_options)
    for t in range(1, n_decisions):
        wandering = rng.normal(0, DRIFT_SD, n_options)
        means[t] = DECAY * means[t - 1] + (1 - DECAY) * CENTRE + wandering
    return np.clip(np.rint(means + rng.normal(0, NOISE_SD, means.shape)), 1, 98)


def person(rng, subject, n_decisions=150):
    """One who tracks the walks, one who tries all first, one who learns simply, one at random."""
    paid, kind = payoffs(rng, n_decisions), subject % 4
    variance, temperature = rng.choice([4.0, 50.0, 400.0, 1e4]), rng.uniform(2, 12)
    bonus, rate = rng.choice([0.0, 0.5, 1.5, -0.5]), rng.uniform(0.1, 1)
    start = rng.choice([0.0, 50.0, 85.0])
    means, values, variances = np.full(4, start), np.full(4, start), np.full(4, variance)
    chosen, rewards = [], []
    for t in range(n_decisions):
        q = (means + bonus * np.sqrt(variances)) / temperature if kind < 2 else values / temperature
        q = np.zeros(4) if kind == 3 else q
        if kind == 1 and t < 4:
            q = 50.0 * ~np.isin(np.arange(4), chosen)
        p = np.exp(q - q.max())
        c = int(rng.choice(4, p=p / p.sum()))
        r = paid[t, c]
        chosen.append(c)
        rewards.append(r)
        gain = variances[c] / (variances[c] + NOISE_SD**2)
        means[c] += gain * (r - means[c])
        variances[c] *= 1 - gain
        means = DECAY * means + (1 - DECAY) * CENTRE
        variances = DECAY**2 * variances + DRIFT_SD**2
        values[c] += rate * (r - values[c])
    return pn.Episode(chosen, rewards, subject=subject)


def people(n, seed, n_decisions=150):
    """Some of each kind."""
    rng = np.random.default_rng(seed)
    return [person(rng, k, n_decisions) for k in range(n)]
