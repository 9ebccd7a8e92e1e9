"""Q-learning with an unknown rate: values against the literal loop, limits, events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belief_reference as dense
import penchant as pn
import played


@given(seed=st.integers(0, 10_000), rate=st.floats(0.0, 1.0), initial=st.floats(-5.0, 5.0))
def test_values_equal_the_literal_loop(seed, rate, initial):
    episode = played.random_episode(seed, 5)
    model = pn.QLearning(5, initial_value=initial)
    expected = dense.q_values(episode.chosen, episode.rewards, 5, rate, initial)
    found = model.explanatory(episode, rate)
    assert found.shape == (episode.n_events, 5, 1)
    np.testing.assert_allclose(found[:, :, 0], expected, rtol=1e-13, atol=1e-12)


def test_a_rate_of_one_remembers_the_last_reward_and_of_zero_nothing():
    episode = pn.Episode([1, 1, 0, 1], [3.0, 5.0, 2.0, 9.0])
    x = pn.QLearning(3, initial_value=1.5).explanatory(episode, 1.0)[:, :, 0]
    expected = [[1.5, 1.5, 1.5], [1.5, 3.0, 1.5], [1.5, 5.0, 1.5], [2.0, 5.0, 1.5]]
    np.testing.assert_array_equal(x, expected)
    x = pn.QLearning(3, initial_value=1.5).explanatory(episode, 0.0)
    np.testing.assert_array_equal(x, np.full((4, 3, 1), 1.5))


def test_timeouts_teach_nothing_and_options_shown_do():
    plain = pn.Episode([1, 2, 0], [3.0, 5.0, 2.0])
    gaps = pn.Episode([1, None, 2, 0], [3.0, None, 5.0, 2.0], is_choice=[False, True, True, True])
    one = pn.QLearning(3).explanatory(plain, 0.4)
    other = pn.QLearning(3).explanatory(gaps, 0.4)
    np.testing.assert_array_equal(other[[0, 2, 3]], one)
    np.testing.assert_array_equal(other[1], other[2])


def test_natural_parameters_are_temperature_and_rate():
    model = pn.QLearning(3)
    values = {n.name: n.value(np.array([4.0]), np.array([0.3])) for n in model.natural}
    assert values == {"temperature": 0.25, "learning_rate": 0.3}
    assert str(pn.QLearning(3, 0.5)) == "Q-learning, 3 options, initial value 0.5"


def test_options_beyond_the_last_are_refused():
    with pytest.raises(pn.DataError, match=r"chosen must lie in 0\.\.2; got 3 at decision 1"):
        pn.QLearning(3).explanatory(pn.Episode([0, 3], [1.0, 2.0]), 0.3)


@pytest.mark.parametrize("wrong", [{"n_options": 0}, {"n_options": 2.5}, {"initial_value": np.nan}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(pn.DataError, match=next(iter(wrong))):
        pn.QLearning(**{"n_options": 3, **wrong})
