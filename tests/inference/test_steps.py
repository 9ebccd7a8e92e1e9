"""Peaks between steps of a profile, where a sharp threshold passes what is offered."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import penchant as pn

MODEL = pn.models.Effort("sigmoid")


def person(seed, n=100):
    """Somebody who chooses between little for nothing and more for an effort."""
    rng = np.random.default_rng([seed, 3])
    effort = np.column_stack([np.zeros(n), rng.integers(1, 1001, n) / 1000])
    reward = np.column_stack([np.ones(n), rng.uniform(1.0, 10.0, n)])
    truth = {"temperature": np.exp(rng.uniform(np.log(0.2), np.log(2.0)))}
    truth["effort_rate"] = np.exp(rng.uniform(np.log(2.0), np.log(60.0)))
    truth["effort_turn"] = rng.uniform(0.1, 1.2)
    return pn.simulate({"reward": reward, "effort": effort}, MODEL, truth, rng=rng)


def highest_of_many(offers):
    """The log-likelihood at the best of many parameters, turns beside every effort among them.

    A share 1 / (1 + e^(rate (effort - turn))) of a reward is left: what it is at no effort, which
    the model divides by, belongs to the weight.
    """
    reward, effort = offers.offers["reward"], offers.offers["effort"]
    met = np.unique(effort)
    turns = np.concatenate([met, (met[1:] + met[:-1]) / 2])
    turns = turns[turns > 0]
    best = -np.inf
    for rate in np.geomspace(5.0, 500.0, 16):
        curve = expit(rate * (turns[:, None, None] - effort)) * reward
        for weight in np.geomspace(0.3, 10.0, 20):
            eta = weight * curve
            own = eta[:, np.arange(len(reward)), offers.chosen]
            best = max(best, float((own - logsumexp(eta, axis=2)).sum(axis=1).max()))
    return best


@pytest.mark.parametrize("seed", [5, 18])
def test_no_turn_between_two_efforts_is_better_than_the_estimate(seed):
    offers = person(seed)
    assert pn.fit(offers, MODEL).log_likelihood > highest_of_many(offers) - 1e-6


def log_likelihood(episode, weight, positive, negative):
    """Of a Q-learner with a rate for rewards above the value and another for those below."""
    values, total = np.zeros(2), 0.0
    for a, reward in zip(episode.chosen, episode.rewards, strict=True):
        total -= np.logaddexp(0.0, weight * (values[1 - a] - values[a]))
        values[a] += (positive if reward > values[a] else negative) * (reward - values[a])
    return total


def test_a_peak_where_two_rates_are_small_is_found():
    model = pn.QLearning(2, dual_rates=True, initial_value=0.0)
    truth = {"temperature": 1.0, "learning_rate_positive": 0.3, "learning_rate_negative": 0.3}
    task, rng = pn.Landscape([0.3, 0.5], pn.GaussianNoise(0.5)), np.random.default_rng([194, 8])
    play = pn.simulate(task, model, truth, n_decisions=60, rng=rng)
    better = log_likelihood(play, 1e4, 1.9e-5, 1.6e-4)
    assert pn.fit(play, model).log_likelihood > better - 1e-6
