"""Choices that are separated where a learning rate goes to 1 and the temperature to 0 together."""

import numpy as np
import pytest

import penchant as pn


def reversal(seed, share, n=120, period=30):
    """A Q-learner whose better option changes; rate 0.7, temperature 0.15."""
    rng = np.random.default_rng([seed, 14])
    values, chosen, rewards = np.zeros(2), [], []
    for t in range(n):
        p = np.exp((values - values.max()) / 0.15)
        a = int(rng.random() > p[0] / p.sum())
        better = a == (t // period) % 2
        reward = float(rng.random() < (share if better else 1.0 - share))
        values[a] += 0.7 * (reward - values[a])
        chosen.append(a)
        rewards.append(reward)
    return pn.Episode(chosen, rewards, subject=seed)


def log_likelihood(episode, rate, weight):
    """Of a Q-learner, decision by decision."""
    values, total = np.zeros(2), 0.0
    for a, reward in zip(episode.chosen, episode.rewards, strict=True):
        total -= np.logaddexp(0.0, weight * (values[1 - a] - values[a]))
        values[a] += rate * (reward - values[a])
    return total


@pytest.mark.parametrize(("seed", "share"), [(6, 0.8), (25, 1.0), (83, 1.0)])
def test_choices_that_the_last_rewards_separate_are_called_separated(seed, share):
    episode = reversal(seed, share)
    found = pn.fit(episode, pn.QLearning(2, initial_value=0.0))
    assert found.status == "separated"
    assert found.theta[0] == np.inf
    assert "learning_rate near 1" in found.message
    # the likelihood rises towards what is reported while both go to their ends
    nearer = [
        max(log_likelihood(episode, 1.0 - d, w) for w in np.geomspace(1.0, 10.0 / d**5, 300))
        for d in (0.1, 0.03, 0.01)
    ]
    assert nearer == sorted(nearer)
    assert found.log_likelihood == pytest.approx(nearer[-1], abs=0.03)
    assert found.log_likelihood > nearer[-1] - 1e-4


def test_a_person_whose_rate_the_choices_tell_is_not_called_separated():
    found = pn.fit(reversal(1, 0.7), pn.QLearning(2, initial_value=0.0))
    assert found.status != "separated"
    assert np.isfinite(found.theta).all()
