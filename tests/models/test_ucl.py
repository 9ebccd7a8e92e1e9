"""Stochastic UCL: variables, derivatives, invariances, options, errors."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import belief_reference as dense
import penchant as pn
import played
from penchant.bandit.beliefs import EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52
from penchant.models.model import natural_parameters, weights_and_shape


def refused(message):
    return pytest.raises(pn.errors.DataError, match=re.escape(message))


def probabilities(model, episode, natural):
    """Choice probabilities as the model's variables give them."""
    theta, psi = weights_and_shape(model, natural)
    q = model.explanatory(episode, *psi) @ theta
    return special.softmax(q, axis=1)


EPISODE = played.random_episode(5, 7, n_events=30, shown=False)


def test_probabilities_equal_the_literal_formula():
    model = played.ucl(length_scale=None)
    expected = dense.ucl_log_probabilities(
        EPISODE.chosen, EPISODE.rewards, played.PLACES, played.NOISE_VARIANCE, played.NATURAL
    )
    found = probabilities(model, EPISODE, played.TRUTH)
    np.testing.assert_allclose(found, np.exp(expected), rtol=1e-10)


@given(seed=st.integers(0, 10_000), delta=st.floats(1e-3, 30.0), scale=st.floats(0.3, 5.0))
def test_variables_are_the_two_columns_of_the_linearisation_about_mean_zero(seed, delta, scale):
    episode = played.random_episode(seed, 7, shown=False)
    x = played.ucl(length_scale=scale).explanatory(episode, delta)
    literal = dense.linearised(
        episode.chosen, episode.rewards, played.PLACES, played.NOISE_VARIANCE, 0.0, delta, scale
    )
    size = np.abs(literal).max()
    np.testing.assert_allclose(x, literal[:, :, :2], rtol=0, atol=1e-11 * size)


@given(
    seed=st.integers(0, 10_000),
    log_delta=st.floats(-6.0, 3.0),
    scale=st.floats(0.3, 5.0),
    kernel=st.sampled_from([EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52]),
    bonus=st.sampled_from(["known", "free"]),
    cooling=st.sampled_from(["logarithmic", "constant"]),
)
def test_slopes_equal_central_differences(seed, log_delta, scale, kernel, bonus, cooling):
    episode = played.random_episode(seed, 7)
    model = played.ucl(length_scale=None, kernel=kernel, bonus=bonus, cooling=cooling)
    psi = np.array([10.0**log_delta, scale])
    x, slopes = model.explanatory_and_slopes(episode, *psi)
    np.testing.assert_array_equal(x, model.explanatory(episode, *psi))
    assert slopes.shape == (2, *x.shape)
    size = np.abs(x).max(axis=(0, 1))
    for q in range(2):
        h = np.zeros(2)
        h[q] = 1e-5 * psi[q]
        rise = model.explanatory(episode, *(psi + h)) - model.explanatory(episode, *(psi - h))
        # relative steps of 1e-5: truncation 1e-10 times third derivatives; rounding 1e-11
        np.testing.assert_allclose(slopes[q] * psi[q] / size, rise / 2e-5 / size, rtol=0, atol=1e-6)


def test_a_fixed_length_scale_has_one_slope_equal_to_the_first_of_two():
    fixed, free = played.ucl(), played.ucl(length_scale=None)
    _, one = fixed.explanatory_and_slopes(EPISODE, 0.07)
    _, two = free.explanatory_and_slopes(EPISODE, 0.07, 1.4)
    assert one.shape[0] == 1
    np.testing.assert_allclose(one[0], two[0], rtol=1e-14)


def test_the_first_choice_is_uniform_and_tells_nothing():
    model = played.ucl()
    x, slopes = model.explanatory_and_slopes(EPISODE, 0.07)
    np.testing.assert_array_equal(x[0], np.zeros((7, 2)))
    np.testing.assert_array_equal(slopes[:, 0], np.zeros((1, 7, 2)))
    np.testing.assert_array_equal(probabilities(model, EPISODE, played.TRUTH)[0], np.full(7, 1 / 7))


def test_a_small_length_scale_tends_to_zero_and_zero_is_no_division():
    zero = played.ucl(length_scale=0.0).explanatory(EPISODE, 0.07)
    tiny = played.ucl(length_scale=1e-3).explanatory(EPISODE, 0.07)
    np.testing.assert_array_equal(zero, tiny)
    _, slopes = played.ucl(length_scale=0.0).explanatory_and_slopes(EPISODE, 0.07)
    assert np.isfinite(slopes).all()


def test_adding_a_constant_to_rewards_and_prior_mean_changes_nothing():
    shifted = pn.Episode(EPISODE.chosen, EPISODE.rewards + 57.0)
    more = {**played.TRUTH, "prior_mean": played.TRUTH["prior_mean"] + 57.0}
    model = played.ucl(length_scale=None)
    one = probabilities(model, EPISODE, played.TRUTH)
    np.testing.assert_allclose(probabilities(model, shifted, more), one, rtol=1e-11)


@pytest.mark.parametrize("c", [1e-6, 0.37, 1e5])
def test_scaling_everything_that_is_a_reward_changes_nothing(c):
    scaled = pn.Episode(EPISODE.chosen, EPISODE.rewards * c)
    truth = played.TRUTH
    natural = {
        "decision_noise": truth["decision_noise"] * c,
        "prior_mean": truth["prior_mean"] * c,
        "prior_variance": truth["prior_variance"] * c**2,
        "length_scale": truth["length_scale"],
    }
    model = played.ucl(length_scale=None, noise_variance=played.NOISE_VARIANCE * c**2)
    one = probabilities(played.ucl(length_scale=None), EPISODE, truth)
    np.testing.assert_allclose(probabilities(model, scaled, natural), one, rtol=1e-11)


def test_rotating_reflecting_and_moving_the_places_changes_nothing():
    one = probabilities(played.ucl(), EPISODE, played.TRUTH)
    a = 0.83
    turned = played.PLACES @ np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    for places in (turned + np.array([3.0, -8.0]), played.PLACES * [-1, 1], played.PLACES[:, ::-1]):
        found = probabilities(played.ucl(locations=places), EPISODE, played.TRUTH)
        np.testing.assert_allclose(found, one, rtol=1e-11)


def test_stretching_places_and_length_scale_changes_nothing():
    one = probabilities(played.ucl(), EPISODE, played.TRUTH)
    model = played.ucl(locations=played.PLACES * 250.0, length_scale=1.4 * 250.0)
    np.testing.assert_allclose(probabilities(model, EPISODE, played.TRUTH), one, rtol=1e-11)


def test_relabelling_options_permutes_probabilities():
    order = np.random.default_rng(2).permutation(7)
    new = np.argsort(order)
    moved = pn.Episode(np.where(EPISODE.chosen < 0, -1, new[EPISODE.chosen]), EPISODE.rewards)
    one = probabilities(played.ucl(), EPISODE, played.TRUTH)
    other = probabilities(played.ucl(locations=played.PLACES[order]), moved, played.TRUTH)
    np.testing.assert_allclose(other, one[:, order], rtol=1e-11)


def test_the_range_of_length_scales_does_not_depend_on_labels():
    places = np.array([[0.0, 0.0], [5.0, 0.0], [5.5, 0.0], [5.0, 1.0], [6.0, 1.0], [0.0, 3.0]])
    ranges = {
        (model.shape[1].low, model.shape[1].high)
        for k in range(6)
        for model in [played.ucl(locations=np.roll(places, k, axis=0), length_scale=None)]
    }
    assert len(ranges) == 1


def test_the_range_of_length_scales_is_that_of_the_spacing_of_a_grid():
    shape = played.ucl(locations=pn.grid(5, 4) * 3.0, length_scale=None).shape[1]
    assert (shape.low, shape.high) == pytest.approx((0.6, 60.0))
    given = played.ucl(length_scale=None, length_scale_range=(0.7, 3.0)).shape[1]
    assert (given.low, given.high) == (0.7, 3.0)


def test_a_length_scale_cannot_be_estimated_from_one_option():
    with pytest.raises(pn.errors.DataError, match="length_scale"):
        _ = played.ucl(locations=[[0.0, 1.0]], length_scale=None).shape


def test_credible_limits_are_those_of_the_paper():
    z = played.ucl().credible_z(np.array([1.0, 2.0, 100.0]))
    # six decimals
    np.testing.assert_allclose(z, [0.699977, 1.170075, 2.817533], atol=5e-7)
    other = played.ucl(alpha_scale=3.0, alpha_power=2.0).credible_z(np.array([1.0, 4.0]))
    np.testing.assert_allclose(other, special.ndtri([1 - 1 / 3, 1 - 1 / 48]), rtol=1e-12)


def test_the_bonus_keeps_its_digits_after_a_million_decisions():
    (z,) = played.ucl().credible_z(np.array([1e12]))
    assert special.ndtr(-z) == pytest.approx(
        1 / (math.sqrt(2 * math.pi * math.e) * 1e12), rel=1e-10
    )


def test_constant_cooling_is_logarithmic_cooling_without_the_logarithm():
    log = played.ucl().explanatory(EPISODE, 0.07)
    constant = played.ucl(cooling="constant").explanatory(EPISODE, 0.07)
    t = np.arange(1, EPISODE.n_events + 1)
    np.testing.assert_allclose(log, constant * np.log(t)[:, None, None], rtol=1e-14)
    assert np.ptp(constant[0, :, 0]) == 0.0  # the prior is the same everywhere


SHOWN = pn.Episode(
    [3, 1, None, 4, 4, 0],
    [12.0, 20.0, None, 31.0, 29.0, 7.0],
    is_choice=[False, True, True, False, True, True],
)


def test_the_clock_counts_choices_or_events():
    np.testing.assert_array_equal(played.ucl().times(SHOWN), [1, 1, 2, 2, 3, 4])
    np.testing.assert_array_equal(played.ucl(clock="events").times(SHOWN), [1, 2, 3, 4, 5, 6])


def test_the_clock_decides_whether_the_first_choice_after_a_tile_shown_is_uniform():
    choices = probabilities(played.ucl(), SHOWN, played.TRUTH)
    events = probabilities(played.ucl(clock="events"), SHOWN, played.TRUTH)
    np.testing.assert_array_equal(choices[1], np.full(7, 1 / 7))
    assert np.ptp(events[1]) > 0.01
    expected = dense.ucl_log_probabilities(
        SHOWN.chosen, SHOWN.rewards, played.PLACES, played.NOISE_VARIANCE, played.NATURAL
    )
    np.testing.assert_allclose(events, np.exp(expected), rtol=1e-10)
    counted = dense.ucl_log_probabilities(
        SHOWN.chosen,
        SHOWN.rewards,
        played.PLACES,
        played.NOISE_VARIANCE,
        played.NATURAL,
        times=[1, 1, 2, 2, 3, 4],
    )
    np.testing.assert_allclose(choices, np.exp(counted), rtol=1e-10)


def test_a_free_bonus_at_the_implied_weight_is_the_known_bonus():
    free = played.ucl(bonus="free", length_scale=None)
    known = probabilities(played.ucl(length_scale=None), EPISODE, played.TRUTH)
    assert len(free.weights) == 3
    np.testing.assert_allclose(probabilities(free, EPISODE, played.TRUTH), known, rtol=1e-12)
    sd = math.sqrt(played.NOISE_VARIANCE)
    same = probabilities(free, EPISODE, {**played.TRUTH, "implied_noise_sd": sd})
    np.testing.assert_allclose(same, known, rtol=1e-12)
    double = probabilities(free, EPISODE, {**played.TRUTH, "implied_noise_sd": 2 * sd})
    expected = dense.ucl_log_probabilities(
        EPISODE.chosen,
        EPISODE.rewards,
        played.PLACES,
        played.NOISE_VARIANCE,
        played.NATURAL,
        bonus=2,
    )
    np.testing.assert_allclose(double, np.exp(expected), rtol=1e-10)


@pytest.mark.parametrize("bonus", ["known", "free"])
@pytest.mark.parametrize("length_scale", [1.4, None])
def test_natural_parameters_and_weights_are_there_and_back(bonus, length_scale):
    model = played.ucl(bonus=bonus, length_scale=length_scale)
    theta, psi = weights_and_shape(model, {**played.TRUTH, "implied_noise_sd": 3.3})
    assert len(theta) == len(model.weights)
    assert len(psi) == len(model.shape)
    back = {n.name: n.value(theta, psi) for n in natural_parameters(model)}
    expected = {**played.TRUTH, "implied_noise_sd": 3.3}
    assert back == pytest.approx({name: expected[name] for name in back}, rel=1e-14)
    assert ("length_scale" in back) == (length_scale is None)
    assert ("implied_noise_sd" in back) == (bonus == "free")


def test_the_model_says_what_it_is():
    said = str(played.ucl(clock="events", bonus="free", length_scale=None))
    for words in (
        "7 options",
        "noise variance 6",
        "estimated",
        "nu / log t",
        "every event",
        "free",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_variance": 0.0}, "noise_variance must be > 0; got 0.0"),
        ({"noise_variance": -1.0}, "noise_variance must be > 0; got -1.0"),
        ({"noise_variance": math.nan}, "noise_variance must be > 0; got nan"),
        ({"noise_variance": math.inf}, "noise_variance must be finite; got inf"),
        ({"length_scale": -0.5}, "length_scale must be >= 0; got -0.5"),
        ({"length_scale": math.nan}, "length_scale must be >= 0; got nan"),
        ({"length_scale": math.inf}, "length_scale must be finite; got inf"),
        ({"cooling": "log"}, "cooling must be 'logarithmic' or 'constant'; got 'log'"),
        ({"clock": "time"}, "clock must be 'choices' or 'events'; got 'time'"),
        ({"bonus": "none"}, "bonus must be 'known' or 'free'; got 'none'"),
        ({"locations": [[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]]}, "locations must differ between"),
        ({"locations": [[0.0, 1.0], [math.nan, 1.0]]}, "locations must be finite; got nan"),
        ({"locations": [0.0, 1.0]}, "locations must have shape (n_options, n_coordinates)"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with refused(message):
        played.ucl(**options)


def test_options_beyond_the_places_are_refused():
    with refused("chosen must lie in 0..6; got 7 at decision 1"):
        played.ucl().explanatory(pn.Episode([0, 7], [1.0, 2.0]), 0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha_scale": 0.5},
        {"alpha_scale": math.nan},
        {"alpha_scale": -1.0},
        {"alpha_power": -1.0},
        {"kernel": "gaussian"},
        {"noise_variance": "10"},
        {"precision_range": (0.0, 1.0)},
        {"length_scale": None, "length_scale_range": (0.0, 1.0)},
    ],
    ids=str,
)
def test_wrong_settings_are_refused_when_the_model_is_made(options):
    with pytest.raises(
        pn.errors.DataError, match=next(name for name in options if name != "length_scale")
    ):
        played.ucl(**options)


def test_the_same_episode_is_described_the_same_way_twice_and_by_two_models():
    model = played.ucl()
    first = model.explanatory(EPISODE, 0.07)
    model.explanatory(played.random_episode(9, 7), 3.0)
    np.testing.assert_array_equal(model.explanatory(EPISODE, 0.07), first)
    np.testing.assert_array_equal(played.ucl().explanatory(EPISODE, 0.07), first)


def test_rows_do_not_know_the_future():
    whole = played.ucl().explanatory(EPISODE, 0.07)
    part = pn.Episode(EPISODE.chosen[:12], EPISODE.rewards[:12])
    # other options are still to be observed, so sums are taken in another order
    np.testing.assert_allclose(played.ucl().explanatory(part, 0.07), whole[:12], rtol=1e-12)
