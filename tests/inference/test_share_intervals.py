"""Profile intervals of shares: against the constrained maximum, by an optimiser of its own."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, special, stats

import penchant as pn
from penchant.models.parameters import Parameter, Shape

DROP = stats.chi2.isf(0.05, 1) / 2


@dataclass(frozen=True)
class StayOrLearn:
    """A learner whose tendency to switch is told as a share: 0.8 / (1 + e^weight)."""

    weights = ("inverse_temperature", "stay")
    shape = (Shape("learning_rate", 0.01, 1.0),)
    positive = ("inverse_temperature",)
    parameters = (
        Parameter.reciprocal("temperature", "inverse_temperature"),
        Parameter.share("switching", "stay", 0.8),
        shape[0],
    )

    def explanatory(self, episode, learning_rate):
        values, last = np.zeros(2), -1
        x = np.zeros((episode.n_events, 2, 2))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            if last >= 0:
                x[t, last, 1] = 1.0
            values[option] += learning_rate * (reward - values[option])
            last = option
        return x


def played(seed, n=80):
    rng = np.random.default_rng(seed)
    chosen, rewards = np.zeros(n, dtype=int), np.zeros(n)
    values, last = np.zeros(2), 0
    for t in range(n):
        stay = np.where(np.arange(2) == last, 0.7, 0.0)
        chosen[t] = rng.choice(2, p=special.softmax(2.0 * values + stay))
        rewards[t] = rng.normal([0.2, 0.6][chosen[t]], 0.5)
        last = chosen[t]
        values[last] += 0.3 * (rewards[t] - values[last])
    return pn.Episode(chosen, rewards)


def solution_from_constrained_maximum(model, episode, share):
    """Log-likelihood with the share held, all else by bounded searches from many starts."""
    held = np.log(0.8 / share - 1)

    def lost(z):
        x = model.explanatory(episode, z[1])
        log_p = special.log_softmax(x @ [np.exp(z[0]), held], axis=1)
        return -log_p[np.arange(len(x)), episode.chosen].sum()

    limits = [(-9.0, 5.0), (0.01, 1.0)]
    starts = [(b, a) for b in (-3.0, 0.5) for a in (0.05, 0.4, 0.9)]
    ends = [optimize.minimize(lost, s, method="L-BFGS-B", bounds=limits) for s in starts]
    return -min(end.fun for end in ends)


@pytest.mark.parametrize("seed", range(2))
def test_the_profile_has_fallen_by_chi_square_at_the_ends_of_a_share(seed):
    model, episode = StayOrLearn(), played(seed)
    estimate = pn.fit(episode, model)
    low, high = estimate.interval(0.95, "profile")[1]
    told = [p.estimate for p in estimate.parameters][1]
    assert 0 < low < told < high < 0.8
    for end in (low, high):
        fallen = estimate.log_likelihood - solution_from_constrained_maximum(model, episode, end)
        # the reference stops at 1e-5 or so of the slope: 1e-4 of a log-unit
        assert fallen == pytest.approx(DROP, abs=1e-3)


def test_the_share_of_win_stay_is_that_of_a_binomial():
    """With two options epsilon/2 is the probability of the odd choice: a binomial interval."""
    rng = np.random.default_rng(5)
    model = pn.models.WinStayLoseShift(2, equal=True)
    n = 60
    chosen, rewards = [0], [1.0]
    for _ in range(n):
        stays = rewards[-1] > 0
        follows = rng.random() < 0.85
        chosen.append(chosen[-1] if stays == follows else 1 - chosen[-1])
        rewards.append(float(rng.random() < 0.6))
    rewards = np.array(rewards)
    episode = pn.Episode(chosen, rewards)
    estimate = pn.fit(episode, model)
    won = rewards[:-1] > 0
    odd = int(np.sum((np.diff(chosen) == 0) != won))
    assert estimate.parameters[0].name == "epsilon"
    assert estimate.parameters[0].estimate == pytest.approx(2 * odd / n, rel=1e-8)

    def fallen(epsilon):
        p, best = epsilon / 2, odd / n
        gap = odd * np.log(best / p) + (n - odd) * np.log((1 - best) / (1 - p))
        return gap - DROP

    best = 2 * odd / n
    ends = [optimize.brentq(fallen, 1e-9, best), optimize.brentq(fallen, best, 2 - 1e-9)]
    assert estimate.interval(0.95, "profile")[0] == pytest.approx(ends, rel=1e-6)
    curve = pn.results.profile_curve(estimate, "epsilon")
    heights = [estimate.log_likelihood - DROP - fallen(value) for value in curve.values]
    assert curve.log_likelihoods == pytest.approx(heights, abs=1e-8)
