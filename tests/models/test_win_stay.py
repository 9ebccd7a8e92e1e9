"""Win-stay-lose-shift: the literal loop, closed forms, epsilon and its intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import learning_reference as literal
import penchant as pn
import played


@given(seed=st.integers(0, 10_000), above=st.floats(-20, 80))
def test_the_objective_equals_the_literal_loop(seed, above):
    episode = played.random_episode(seed, 4)
    x = pn.models.WinStayLoseShift(4, win_above=above).explanatory(episode)
    expected = literal.win_stay(episode, 4, 1.3, 0.4, above)
    np.testing.assert_allclose(x @ [1.3, 0.4], expected, rtol=1e-14)
    one = pn.models.WinStayLoseShift(4, win_above=above, equal=True).explanatory(episode)
    np.testing.assert_array_equal(one[:, :, 0], x.sum(axis=2))


def test_a_reward_at_the_threshold_is_no_win():
    x = pn.models.WinStayLoseShift(2, win_above=3.0, equal=True).explanatory(
        pn.Episode([0, 1, 1], [3.0, 3.5, 1.0])
    )
    np.testing.assert_array_equal(x[:, :, 0], [[0, 0], [-1, 0], [0, 1]])


def noisy(n_errors=7, n=40):
    """A player of two options who errs so often, and a first choice that tells nothing."""
    rng = np.random.default_rng(2)
    errs = np.zeros(n, dtype=bool)
    errs[rng.choice(n, n_errors, replace=False)] = True
    chosen, rewards = [0], [float(rng.random() < 0.5)]
    for wrong in errs:
        stay = (rewards[-1] > 0) != wrong
        chosen.append(chosen[-1] if stay else 1 - chosen[-1])
        rewards.append(float(rng.random() < 0.5))
    return pn.Episode(chosen, rewards)


def test_epsilon_is_twice_the_share_of_errors():
    estimate = pn.fit(noisy(), pn.models.WinStayLoseShift(2, equal=True))
    (epsilon,) = estimate.parameters
    assert (epsilon.name, epsilon.estimate) == ("epsilon", pytest.approx(2 * 7 / 40, rel=1e-9))
    # the delta method is that of a binomial share, and Wald's interval that of its log-odds
    share, n = 7 / 40, 40
    error = np.sqrt(share * (1 - share) / n)
    assert epsilon.standard_error == pytest.approx(2 * error, rel=1e-6)
    reach = stats.norm.ppf(0.975) * error / (share * (1 - share))
    expected = 2 * special.expit(special.logit(share) + np.array([-reach, reach]))
    np.testing.assert_allclose([epsilon.low, epsilon.high], expected, rtol=1e-6)


def test_the_profile_interval_of_epsilon_gives_away_what_it_should():
    ((low, high),) = pn.fit(noisy(), pn.models.WinStayLoseShift(2, equal=True)).interval(
        kind="profile"
    )
    at = np.array([low, 7 / 20, high]) / 2
    heights = stats.binom.logpmf(7, 40, at)
    drop = stats.chi2.isf(0.05, 1) / 2
    np.testing.assert_allclose(heights[1] - heights[[0, 2]], drop, rtol=1e-5)


def test_probabilities_are_those_of_the_formula():
    episode = pn.Episode([1, 2, None, 0], [1.0, -1.0, None, None])
    p = special.softmax(pn.models.WinStayLoseShift(3).explanatory(episode) @ [1.3, 0.4], axis=1)
    assert p[1, 1] == pytest.approx(np.exp(1.3) / (np.exp(1.3) + 2))
    assert 1 - p[2, 2] == pytest.approx(2 / (2 + np.exp(-0.4)))
    np.testing.assert_array_equal(p[3], p[2])
    np.testing.assert_allclose(p[0], 1 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_options": 1}, "n_options must be a whole number, 2 or more; got 1"),
        ({"win_above": np.nan}, "win_above must be finite; got nan"),
        ({"win_above": None}, "win_above must be a number; got None"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.models.WinStayLoseShift(**{"n_options": 2, **options})


@pytest.mark.parametrize("epsilon", [-0.1, 2.5, np.nan])
def test_agents_need_a_possible_epsilon(epsilon):
    with pytest.raises(pn.errors.DataError, match="epsilon must"):
        pn.models.WinStayLoseShift(2, equal=True).agents({"epsilon": epsilon}, 1)
