"""UCB1: the literal loop, and the convention for options never observed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import learning_reference as literal
import penchant as pn
import played


@given(seed=st.integers(0, 10_000), initial=st.floats(-50, 90))
def test_the_objective_equals_the_literal_loop(seed, initial):
    episode = played.random_episode(seed, 4)
    expected = literal.ucb1(episode, 4, 2.0, 1.7, initial, 0.4, (0.1, 0.2, -0.3))
    controls = [0.4, 0.1, 0.2, -0.3]
    free = pn.models.UCB1(4, None, stickiness=True, bias=True).explanatory(episode)
    theta = np.array([1 / 2.0, initial / 2.0, 1.7 / 2.0, *controls])
    np.testing.assert_allclose(free @ theta, expected, rtol=1e-11, atol=1e-11)
    known = pn.models.UCB1(4, initial, stickiness=True, bias=True).explanatory(episode)
    np.testing.assert_allclose(known @ np.delete(theta, 1), expected, rtol=1e-11, atol=1e-11)


def test_an_option_never_observed_has_the_initial_value_and_the_bonus_of_one_count():
    x = pn.models.UCB1(3, 5.0).explanatory(pn.Episode([0, 0, 1], [2.0, 4.0, 9.0]))
    np.testing.assert_array_equal(x[:, :, 0], [[5, 5, 5], [2, 5, 5], [3, 5, 5]])
    np.testing.assert_allclose(x[2, :, 1], np.sqrt(np.log(3) / np.array([2, 1, 1])), rtol=1e-14)
    np.testing.assert_array_equal(x[0, :, 1], 0.0)  # log 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_options": 1}, "n_options must be a whole number, 2 or more"),
        ({"initial_value": np.inf}, "initial_value must be finite; got inf"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.models.UCB1(**{"n_options": 3, **options})
