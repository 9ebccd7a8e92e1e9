"""Limits of models: the search goes to the ends of what a model can be, and says what they are."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.models.learning.q_learning import LEAST
from profile_problem import Problem
from restless import people

PRIORS = 10.0 ** np.arange(-9, 12.1, 0.25)  # 1e-3 to 1e3 were all that was looked at once
RATES = 10.0 ** np.arange(-8, 0.01, 0.1)
# Below the ends of the ranges as far as doubles tell them from the limits.
BEYOND = {"prior": [1e-11, 1e-10, 1e13, 1e14], "rate": [1e-10, 1e-9]}


def highest(model, episode, psis):
    values, _ = Problem(model, (episode,)).values(np.array(psis).reshape(len(psis), -1))
    return values.max()


def assert_nothing_is_higher(models, plays, axis, beyond):
    for model in models:
        for found in pn.fit_each(plays, model, threads=1):
            (episode,) = found.episodes
            if found.status == "separated":
                continue
            assert highest(model, episode, axis) <= found.log_likelihood + 1e-5
            # what is left to the limit itself: a ten-thousandth of a log-unit
            assert highest(model, episode, beyond) <= found.log_likelihood + 2e-4


def test_no_prior_variance_fits_a_restless_person_better_however_far_one_looks():
    restless = {"noise_variance": 16.0, "decay": 0.9836, "drift_variance": 7.84}
    models = [pn.KalmanFilter(4, initial_mean=50.0, **restless)]
    models += [pn.KalmanFilter(4, initial_mean=50.0, bonus=False)]
    assert_nothing_is_higher(models, people(8, seed=3), PRIORS, BEYOND["prior"])


def test_no_learning_rate_fits_a_restless_person_better_however_small():
    models = [pn.QLearning(4, initial_value=50.0), pn.QLearning(4, initial_value=None)]
    assert_nothing_is_higher(models, people(8, seed=3), RATES, BEYOND["rate"])


@pytest.mark.slow
def test_no_prior_drift_or_decay_fits_many_restless_people_better():
    plays = people(40, seed=1)
    settings = {"noise_variance": 16.0, "initial_mean": 50.0, "drift_variance": None}
    walk = pn.KalmanFilter(4, decay=1.0, **settings)
    full = pn.KalmanFilter(4, decay=None, **settings)
    priors, drifts = 10.0 ** np.arange(-9, 12.1, 1.5), 10.0 ** np.arange(-12, 12.1, 2.0)
    decays = [1e-8, 0.01, 0.1, 0.3, 0.6, 0.8, 0.9, 0.95, 0.97, 0.99, 0.999, 1.0]
    for model, axes in ((walk, (priors, drifts)), (full, (priors, decays, drifts))):
        psis = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
        missed = [
            found.subject
            for found in pn.fit_each(plays, model, threads=2)
            if found.status not in ("separated", "stopped early")
            and highest(model, found.episodes[0], psis) > found.log_likelihood + 0.01
        ]
        assert missed == []


# -- the value at a limit is the limit of values ---------------------------------------------------


def counted(episode, n_options, start):
    """Sums of rewards less what was expected, and counts, before every event."""
    sums, counts = np.zeros(n_options), np.zeros(n_options)
    rows = []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(np.stack([sums - start * counts, counts], axis=1))
        sums[c] += r
        counts[c] += 1
    return np.array(rows)


@pytest.fixture(scope="module")
def episode():
    return people(4, seed=8)[2]


def best(x, episode):
    return pn.fit(pn.Choices.from_arrays(x, episode.chosen)).log_likelihood


def test_at_rate_0_values_are_sums_of_rewards(episode):
    model = pn.QLearning(4, initial_value=61.0)
    at_limit = highest(model, episode, [[LEAST]])
    sums = counted(episode, 4, 61.0)[:, :, :1]
    expected = best(sums, episode)
    # negative weights are not allowed to the model: then the limit is random choice
    theta = pn.fit(pn.Choices.from_arrays(sums, episode.chosen)).theta[0]
    expected = expected if theta > 0 else -150 * np.log(4)
    assert at_limit == pytest.approx(expected, abs=1e-5)


def test_at_prior_variance_0_means_are_sums_of_rewards(episode):
    model = pn.KalmanFilter(4, initial_mean=20.0, bonus=False)
    low = model.shape[0].low
    sums = counted(episode, 4, 20.0)[:, :, :1]
    assert pn.fit(pn.Choices.from_arrays(sums, episode.chosen)).theta[0] > 0
    assert highest(model, episode, [[low]]) == pytest.approx(best(sums, episode), abs=1e-5)


def test_at_prior_variance_infinity_the_first_reward_is_the_mean(episode):
    model = pn.KalmanFilter(4, initial_mean=20.0, bonus=False)
    means, counts, rows = np.full(4, 20.0), np.zeros(4), []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(means.copy())
        counts[c] += 1
        means[c] = r if counts[c] == 1 else means[c] + (r - means[c]) / counts[c]
    expected = best(np.array(rows)[:, :, None], episode)
    at_limit = highest(model, episode, [[model.shape[0].high]])
    assert at_limit == pytest.approx(expected, abs=1e-6)


def test_at_prior_variance_infinity_uncertainty_is_that_of_options_not_seen_yet(episode):
    model = pn.KalmanFilter(4, initial_mean=20.0)
    means, counts, rows = np.full(4, 20.0), np.zeros(4), []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(np.stack([means, counts == 0], axis=1))
        counts[c] += 1
        means[c] = r if counts[c] == 1 else means[c] + (r - means[c]) / counts[c]
    expected = best(np.array(rows, dtype=float), episode)
    at_limit = highest(model, episode, [[model.shape[0].high]])
    assert at_limit == pytest.approx(expected, abs=1e-4)  # seen ones still count a millionth


# -- and is said -----------------------------------------------------------------------------------


def slow_learner(n=400):
    """Values move in proportion to the rate: sums of rewards decide."""
    rng = np.random.default_rng(5)
    sums, chosen, rewards = np.zeros(3), [], []
    for _ in range(n):
        p = np.exp(0.02 * (sums - sums.max()))
        c = int(rng.choice(3, p=p / p.sum()))
        r = float(rng.normal([0.4, -0.2, 0.1][c], 1.0))
        chosen.append(c)
        rewards.append(r)
        sums[c] += r
    return pn.Episode(chosen, rewards)


def test_a_rate_at_0_is_named_with_what_is_told_and_has_no_errors_of_its_own():
    found = pn.fit(slow_learner(), pn.QLearning(3))
    assert found.status == "at a bound"
    assert found.diagnostics.bounds == ("learning_rate = 0",)
    assert "limit of the model: learning_rate = 0, where values move in proportion" in found.message
    told = float(found.message.split("learning_rate/temperature = ")[1].split(" ")[0])
    assert told == pytest.approx(0.02, abs=0.01)
    for p in found.parameters:
        assert np.isnan([p.standard_error, p.low, p.high]).all()
    low, high = found.interval(kind="profile")[1]
    assert low == pytest.approx(0.0, abs=1e-7)
    assert 0 < high < 0.1


def test_live_names_the_limit_that_fit_names():
    episode = slow_learner(120)
    live = pn.live(pn.QLearning(3))
    for t, (c, r) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        live.observe(c, r)
        if t in (90, 91, 105, 119):
            so_far = pn.Episode(episode.chosen[: t + 1], episode.rewards[: t + 1])
            expected = pn.fit(so_far, pn.QLearning(3))
            assert live.estimate().message == expected.message


def test_an_initial_value_that_has_run_off_is_not_converged():
    models = [pn.QLearning(4, initial_value=None), pn.KalmanFilter(4, 1.0, 20.0, None)]
    plays, off = people(24, seed=5, n_decisions=100), 0
    for model in models:
        name = "initial_value" if isinstance(model, pn.QLearning) else "initial_mean"
        for found in pn.fit_each(plays, model, threads=1):
            value = {p.name: p.estimate for p in found.parameters}[name]
            if found.status == "converged":
                assert -1100 < value < 1200  # ten ranges of rewards from 1 to 98 away
            if found.status == "weakly identified" and "has run off" in found.message:
                off += 1
                assert f"{name} has run off to {value:.4g}" in found.message
    assert off > 0


# -- intervals at limits ---------------------------------------------------------------------------


def _towards(episode, rate):
    """Value of the option chosen over that of the other at every decision, from values of 0."""
    values, found = np.zeros(2), []
    for option, reward in zip(episode.chosen, episode.rewards, strict=True):
        found.append(values[option] - values[1 - option])
        values[option] += rate * (reward - values[option])
    return np.array(found)


@pytest.mark.parametrize("seed", [8, 22])
def test_the_temperature_at_a_rate_of_0_has_the_interval_that_plain_search_finds(seed):
    rng = np.random.default_rng(seed)
    while True:
        episode = pn.Episode(rng.integers(2, size=40), rng.normal(0.4, 0.3, 40))
        estimate = pn.fit(episode, pn.QLearning(2, initial_value=0.0))
        if estimate.diagnostics.bounds == ("learning_rate = 0",):
            break
    (low, high), (slow, _) = estimate.interval(kind="profile")
    assert low == 0 and slow == 0
    rates = np.concatenate([np.geomspace(1e-8, 1e-2, 300), np.linspace(0.01, 1.0, 400)])
    towards = np.array([_towards(episode, rate) for rate in rates])

    def profile(temperature):
        return -np.logaddexp(0, -towards / temperature).sum(axis=1).min()

    target = estimate.log_likelihood - stats.chi2.isf(0.05, 1) / 2
    if high < np.inf:
        assert profile(high) == pytest.approx(target, abs=1e-3)
    for temperature in np.geomspace(1e-6, min(high, 1e3) * 0.999, 30):
        assert profile(temperature) > target - 1e-3
    for temperature in np.geomspace(high * 1.01, 1e5, 30) if high < np.inf else ():
        assert profile(temperature) < target


def test_at_a_limit_the_rate_is_the_limit_and_what_makes_up_for_it_has_no_number():
    rng = np.random.default_rng(3)
    people = [
        pn.Episode(rng.integers(2, size=40), rng.normal(0.5, 0.4, 40), subject=s) for s in range(30)
    ]
    fits = pn.fit_each(people, pn.QLearning(2, initial_value=0.5))
    there = [f for f in fits if "learning_rate = 0" in f.diagnostics.bounds]
    assert there
    for fit in there:
        found = {p.name: p.estimate for p in fit.parameters}
        assert found["learning_rate"] == 0.0
        assert np.isnan(found["temperature"])
        assert np.isfinite(fit.predict()).all()


@pytest.mark.parametrize(
    ("chosen", "rewards"),
    [
        ([2, 3, 0, 0, 0, 1, 3], [-0.55, -0.19, 1.0, 1.44, 0.67, 0.17, -1.39]),
        (
            [1, 0, 3, 3, 0, 3, 0, 0, 0, 2, 1],
            [0.03, 0.09, 0.84, 0.82, 1.34, -0.32, 0.84, -0.16, 0.36, 0.79, 0.51],
        ),
    ],
)
def test_a_climb_among_slopes_that_are_rounding_ends_at_the_limit_that_is_as_high(chosen, rewards):
    episode, model = pn.Episode(chosen, rewards), pn.KalmanFilter(4)
    found = pn.fit(episode, model)
    assert found.status == "at a bound"  # not "stopped early": nothing lies beyond
    assert highest(model, episode, PRIORS) <= found.log_likelihood + 1e-5
    live = pn.live(model)
    for option, reward in zip(chosen, rewards, strict=True):
        live.observe(option, reward)
    now = live.estimate()
    assert now.status == found.status
    assert now.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-8)
