"""Example 3: Q-learning with known values, unknown temperature and learning rate."""

import numpy as np
import pytest

import penchant as pn


def play(seed: int, n: int = 300, alpha: float = 0.3, tau: float = 0.2):
    """A literal Q-learner: values before each choice, choices, rewards."""
    rng = np.random.default_rng(seed)
    means = [0.2, 0.9, 0.5, 0.4]
    values = np.zeros((n, 4))
    chosen = np.zeros(n, dtype=int)
    rewards = np.zeros(n)
    v = np.zeros(4)
    for t in range(n):
        values[t] = v
        p = np.exp(v / tau) / np.exp(v / tau).sum()
        chosen[t] = rng.choice(4, p=p)
        rewards[t] = rng.normal(means[chosen[t]], 0.4)
        v[chosen[t]] += alpha * (rewards[t] - v[chosen[t]])
    return values, chosen, rewards


def test_the_objective_is_the_learners_value_over_the_temperature():
    values, chosen, rewards = play(1, n=30)
    choices = pn.paper.q_learning_choices(values, chosen, rewards)
    objective = choices.explanatory @ np.array([1 / 0.2, 0.3 / 0.2])
    # V^t = V^{t-1} + alpha delta: the same numbers by one multiplication and addition
    np.testing.assert_allclose(objective.reshape(30, 4), values / 0.2, rtol=1e-12, atol=1e-12)


def test_temperature_and_learning_rate_are_recovered_within_their_intervals():
    estimate = pn.fit(pn.paper.q_learning_choices(*play(2, n=600)))
    temperature, rate = estimate.parameters
    assert (temperature.name, rate.name) == ("temperature", "learning_rate")
    assert temperature.low < 0.2 < temperature.high
    assert rate.low < 0.3 < rate.high


def test_the_jacobian_of_the_natural_parameters_is_that_of_differences():
    estimate = pn.fit(pn.paper.q_learning_choices(*play(3)))
    numerical = estimate.transform(lambda t: np.array([1 / t[0], t[1] / t[0]]))
    for exact, differences in zip(estimate.parameters, numerical, strict=True):
        assert exact.standard_error == pytest.approx(differences.standard_error, rel=1e-8)


def test_delta_method_errors_match_the_spread_of_estimates():
    """The paper's Example 3 at alpha = .3, tau = .2: sd of the estimates over 100 runs."""
    fits = [pn.fit(pn.paper.q_learning_choices(*play(seed))) for seed in range(100)]
    estimates = np.array([[p.estimate for p in f.parameters] for f in fits])
    errors = np.array([[p.standard_error for p in f.parameters] for f in fits])
    ratio = estimates.std(axis=0, ddof=1) / errors.mean(axis=0)
    # sd of a standard deviation of 100 is 7 %; skewness of 1/theta adds some
    assert np.all((ratio > 0.75) & (ratio < 1.45))


def test_the_last_reward_is_not_needed():
    values, chosen, rewards = play(4, n=50)
    full = pn.fit(pn.paper.q_learning_choices(values, chosen, rewards))
    rewards[-1] = np.nan
    np.testing.assert_array_equal(
        pn.fit(pn.paper.q_learning_choices(values, chosen, rewards)).theta, full.theta
    )


def test_one_subject_never_explains_another():
    first, second = play(5, n=40), play(6, n=50)
    both = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    subject = np.repeat(["a", "b"], [40, 50])
    estimates = pn.fit_each(pn.paper.q_learning_choices(*both, subject=subject))
    for played, estimate in zip((first, second), estimates, strict=True):
        alone = pn.fit(pn.paper.q_learning_choices(*played))
        np.testing.assert_array_equal(estimate.theta, alone.theta)


def test_a_missing_reward_is_an_error():
    values, chosen, rewards = play(7, n=10)
    rewards[3] = np.nan
    with pytest.raises(
        pn.errors.DataError, match="rewards must be finite; got nan in rewards at dec"
    ):
        pn.paper.q_learning_choices(values, chosen, rewards)


def test_rewards_must_be_one_per_decision():
    values, chosen, rewards = play(8, n=10)
    with pytest.raises(pn.errors.DataError, match=r"rewards must have shape \(10,\)"):
        pn.paper.q_learning_choices(values, chosen, rewards[:-1])
