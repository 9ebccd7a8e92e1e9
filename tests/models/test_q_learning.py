"""Q-learning with an unknown rate: values against the literal loop, limits, events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belief_reference as dense
import learning_reference as literal
import penchant as pn
import played
from learners import CASES, weights_and_shape
from penchant.models.model import natural_parameters


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
    values = {n.name: n.value(np.array([4.0]), np.array([0.3])) for n in natural_parameters(model)}
    assert values == {"temperature": 0.25, "learning_rate": 0.3}
    assert str(pn.QLearning(3, 0.5)) == "Q-learning, 3 options, initial value 0.5"


def test_options_beyond_the_last_are_refused():
    with pytest.raises(
        pn.errors.DataError, match=r"chosen must lie in 0\.\.2; got 3 at decision 1"
    ):
        pn.QLearning(3).explanatory(pn.Episode([0, 3], [1.0, 2.0]), 0.3)


def objective(model, natural, episode):
    theta, psi = weights_and_shape(model, natural)
    return model.explanatory(episode, *psi) @ theta


# options of the model, its natural parameters, and what the literal loop calls them
RULES = {
    "dual": (
        {"initial_value": 0.2, "dual_rates": True, "stickiness": True},
        {"learning_rate_positive": 0.45, "learning_rate_negative": 0.2, "stickiness": 0.4},
        {"up": 0.45, "down": 0.2, "initial": 0.2, "stickiness": 0.4},
    ),
    "dual, known": (
        {"dual_rates": True, "learning_rate": (0.45, 0.2), "bias": True},
        {"bias_0": 0.3, "bias_1": -0.7, "bias_2": 0.1},
        {"up": 0.45, "down": 0.2, "biases": (0.3, -0.7, 0.1)},
    ),
    "forgetting": (
        {"initial_value": None, "forgetting": None},
        {"learning_rate": 0.3, "forgetting": 0.15, "initial_value": 1.7},
        {"up": 0.3, "down": 0.3, "forgetting": 0.15, "initial": 1.7},
    ),
    "forgetting, known start": (
        {"initial_value": -1.3, "forgetting": 0.15},
        {"learning_rate": 0.3},
        {"up": 0.3, "down": 0.3, "forgetting": 0.15, "initial": -1.3},
    ),
    "forgetting, tied": (
        {"initial_value": None, "forgetting": "learning_rate"},
        {"learning_rate": 0.3, "initial_value": 1.7},
        {"up": 0.3, "down": 0.3, "forgetting": 0.3, "initial": 1.7},
    ),
    "fictitious": (
        {"initial_value": None, "fictitious": None},
        {"learning_rate": 0.3, "fictitious_rate": 0.2, "initial_value": 1.7},
        {"up": 0.3, "down": 0.3, "fictitious": 0.2, "initial": 1.7},
    ),
    "fictitious, tied": (
        {"fictitious": "learning_rate", "learning_rate": 0.25},
        {},
        {"up": 0.25, "down": 0.25, "fictitious": 0.25},
    ),
    "kernel": (
        {"initial_value": None, "choice_kernel": True, "stickiness": True, "bias": True},
        {
            **{"learning_rate": 0.3, "initial_value": 1.7, "choice_rate": 0.6},
            **{"choice_kernel": 0.8, "stickiness": -0.4},
            **{"bias_0": 0.3, "bias_1": -0.7, "bias_2": 0.1},
        },
        {
            **{"up": 0.3, "down": 0.3, "initial": 1.7, "kernel": 0.8, "choice_rate": 0.6},
            **{"stickiness": -0.4, "biases": (0.3, -0.7, 0.1)},
        },
    ),
}


@pytest.mark.parametrize("name", sorted(RULES))
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_every_option_equals_the_literal_loop(name, seed):
    options, natural, said = RULES[name]
    episode = played.random_episode(seed, 4, 30, spread=3.0)
    found = objective(pn.QLearning(4, **options), {"temperature": 0.7, **natural}, episode)
    expected = literal.q_learning(episode, 4, 0.7, **said)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_options_reduce_to_each_other():
    episode = played.random_episode(3, 3)
    plain = pn.QLearning(3, 0.7).explanatory(episode, 0.3)
    dual = pn.QLearning(3, 0.7, dual_rates=True).explanatory(episode, 0.3, 0.3)
    forgetting = pn.QLearning(3, 0.7, forgetting=None).explanatory(episode, 0.3, 0.0)
    known = pn.QLearning(3, 0.7, learning_rate=0.3).explanatory(episode)
    for other in (dual, forgetting, known):
        np.testing.assert_array_equal(other, plain)
    kernel = pn.QLearning(3, choice_kernel=True, choice_rate=1.0, stickiness=True)
    x = kernel.explanatory(episode, 0.3)
    np.testing.assert_array_equal(x[:, :, 1], x[:, :, 2])


def test_forgetting_at_the_learning_rate_is_a_regression_on_past_rewards():
    played_out = played.random_episode(4, 3, 12)
    episode = pn.Episode(played_out.chosen, played_out.rewards, is_choice=np.ones(12, dtype=bool))
    x = pn.QLearning(3, forgetting="learning_rate").explanatory(episode, 0.3)[:, :, 0]
    lags = pn.models.HistoryRegression(3, reward_lags=12, choice_lags=0).explanatory(episode)
    np.testing.assert_allclose(x, lags @ (0.3 * 0.7 ** np.arange(12)), rtol=1e-12, atol=1e-12)


def test_a_known_rate_is_no_shape_parameter():
    model = pn.QLearning(2, learning_rate=0.1, forgetting=0.2)
    assert model.shape == ()
    assert [n.name for n in natural_parameters(model)] == ["temperature"]
    free = pn.QLearning(2, choice_kernel=True, choice_rate=0.3)
    assert [s.name for s in free.shape] == ["learning_rate"]


def test_the_words_name_the_options():
    model = pn.QLearning(
        4,
        learning_rate=0.1,
        forgetting="learning_rate",
        choice_kernel=True,
        stickiness=True,
        bias=True,
    )
    assert str(model) == (
        "Q-learning, 4 options, initial value 0, learning rate 0.1, forgetting at the learning "
        "rate, choice kernel estimated, stickiness, option bias"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 1.2}, r"learning_rate must lie in 0\.\.1; got 1\.2"),
        ({"learning_rate": "fast"}, "learning_rate must be a number"),
        ({"learning_rate": (0.1, 0.2)}, r"learning_rate must be a number"),
        ({"forgetting": -0.1}, "forgetting must lie in .* got -0.1"),
        ({"fictitious": np.nan}, "fictitious must lie in .* got nan"),
        ({"choice_kernel": True, "choice_rate": 2}, "choice_rate must lie in .* got 2"),
        ({"choice_rate": 0.2}, "choice_rate must come with choice_kernel=True; got 0.2"),
        (
            {"dual_rates": True, "learning_rate": 0.2},
            "learning_rate must be two numbers in 0..1 with dual_rates; got 0.2",
        ),
        (
            {"dual_rates": True, "initial_value": None},
            "initial_value must be known with dual_rates; got None",
        ),
        (
            {"dual_rates": True, "forgetting": "learning_rate"},
            "forgetting must not be 'learning_rate' with dual_rates",
        ),
        (
            {"forgetting": 0.1, "fictitious": None},
            "forgetting and fictitious must not both be given.* got 0.1 and None",
        ),
        (
            {"dual_rates": True, "forgetting": None, "choice_kernel": True},
            "at most 3; got learning_rate_positive, .*, forgetting, choice_rate.\nGive one",
        ),
        ({"initial_value": "zero"}, "initial_value must be a number; got 'zero'"),
    ],
)
def test_options_that_make_no_model_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.QLearning(3, **options)


def test_agents_need_possible_parameters():
    model, natural, task = CASES["q-learning, forgetting"]
    for name, wrong in (("forgetting", 1.5), ("initial_value", np.nan), ("bias_1", np.inf)):
        with pytest.raises(pn.errors.DataError, match=name):
            pn.simulate(
                *(task, model, {**natural, name: wrong}),
                n_decisions=2,
                rng=np.random.default_rng(1),
            )


@pytest.mark.parametrize("wrong", [{"n_options": 0}, {"n_options": 2.5}, {"initial_value": np.nan}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(pn.errors.DataError, match=next(iter(wrong))):
        pn.QLearning(**{"n_options": 3, **wrong})


def test_a_pair_of_rates_may_be_a_list():
    model = pn.QLearning(2, dual_rates=True, learning_rate=[0.4, 0.2])
    assert model == pn.QLearning(2, dual_rates=True, learning_rate=(0.4, 0.2))
    assert "learning rate 0.4 and 0.2" in str(model)
