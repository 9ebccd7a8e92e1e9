"""Example 1: softmax with unknown temperature."""

import numpy as np
import pytest

import penchant as pn


def values(seed: int, n: int = 350, m: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(2.0, 1.3, size=(n, m))


def test_the_weight_is_the_inverse_temperature_of_known_values():
    v = values(1)
    sets = pn.paper.temperature_choices(v, None)
    assert sets.names == ("inverse_temperature",)
    np.testing.assert_array_equal(sets.explanatory[:, 0], v.ravel())


def test_the_temperature_lies_in_its_interval_as_often_as_it_should():
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sets = pn.paper.temperature_choices(values(100 + seed), None)
        (temperature,) = pn.fit(pn.simulate(sets, [1 / 0.7], rng=rng)).parameters
        assert temperature.name == "temperature"
        covered += temperature.low < 0.7 < temperature.high
    assert covered >= 51  # of 60 at 95 %: fewer has probability 0.001


def test_the_standard_error_of_the_temperature_is_that_of_the_delta_method():
    rng = np.random.default_rng(4)
    choices = pn.simulate(pn.paper.temperature_choices(values(5), None), [1.9], rng=rng)
    estimate = pn.fit(choices)
    (temperature,) = estimate.parameters
    (numerical,) = estimate.transform(lambda theta: 1 / theta)
    assert temperature.estimate == pytest.approx(1 / estimate.theta[0], rel=1e-14)
    # differences of 1/theta refined once: error of order h^4 = 1e-12
    assert temperature.standard_error == pytest.approx(numerical.standard_error, rel=1e-9)


def test_values_must_be_a_matrix():
    with pytest.raises(
        pn.errors.DataError, match=r"values must have shape \(n_decisions, n_options\)"
    ):
        pn.paper.temperature_choices([1.0, 2.0], [0, 1])
