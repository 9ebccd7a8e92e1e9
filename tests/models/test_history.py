"""Regression on past rewards and choices: the literal loop, and what lags count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import learning_reference as literal
import penchant as pn
import played


@given(seed=st.integers(0, 10_000), rewards=st.integers(0, 5), choices=st.integers(0, 5))
def test_the_objective_equals_the_literal_loop(seed, rewards, choices):
    if rewards + choices == 0:
        return
    episode = played.random_episode(seed, 3)
    model = pn.models.HistoryRegression(3, reward_lags=rewards, choice_lags=choices, bias=True)
    rng = np.random.default_rng(seed)
    a, k, b = rng.normal(size=rewards), rng.normal(size=choices), rng.normal(size=2)
    found = model.explanatory(episode) @ np.concatenate([a, k, b])
    expected = literal.history(episode, 3, a, k, b)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_lags_count_choices_and_pass_over_the_rest():
    episode = pn.Episode(
        [1, 0, None, 1, 0],
        [5.0, 2.0, None, 3.0, None],
        is_choice=[False, True, True, True, True],
    )
    x = pn.models.HistoryRegression(2, reward_lags=2, choice_lags=1).explanatory(episode)
    np.testing.assert_array_equal(x[1], np.zeros((2, 3)))  # what was shown is no choice
    np.testing.assert_array_equal(x[2], [[2, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(x[3], x[2])
    np.testing.assert_array_equal(x[4], [[0, 2, 0], [3, 0, 1]])


def test_names_say_the_lags():
    model = pn.models.HistoryRegression(3, reward_lags=2, choice_lags=1, bias=True)
    assert model.weights == ("reward_1", "reward_2", "choice_1", "bias_0", "bias_1")
    assert "2 past rewards and 1 past choices" in str(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward_lags": -1}, "reward_lags must be a whole number, 0 or more; got -1"),
        ({"choice_lags": 1.5}, "choice_lags must be a whole number, 0 or more; got 1.5"),
        ({"reward_lags": 0, "choice_lags": 0}, "must be 1 or more; got 0 for both"),
        ({"n_options": 1}, "n_options must be a whole number, 2 or more"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.models.HistoryRegression(**{"n_options": 2, **options})
