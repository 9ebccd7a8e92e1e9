"""Example 2: softmax with a known cooling schedule."""

import numpy as np
import pytest

import penchant as pn


def test_values_are_multiplied_by_the_logarithm_of_time():
    v = np.random.default_rng(1).normal(size=(6, 3))
    x = pn.paper.cooling_choices(v, None).explanatory.reshape(6, 3)
    for t in range(6):
        for i in range(3):
            assert x[t, i] == v[t, i] * np.log(t + 1)


def test_the_first_decision_tells_nothing():
    v = np.random.default_rng(2).normal(size=(40, 5))
    chosen = np.random.default_rng(3).integers(5, size=40)
    whole = pn.fit(pn.paper.cooling_choices(v, chosen))
    later = pn.fit(pn.paper.cooling_choices(v[1:], chosen[1:], times=np.arange(2, 41)))
    np.testing.assert_allclose(whole.theta, later.theta, rtol=1e-12)
    assert whole.log_likelihood == pytest.approx(later.log_likelihood - np.log(5), rel=1e-13)


def test_the_decision_noise_is_recovered_within_its_interval():
    rng = np.random.default_rng(4)
    sets = pn.paper.cooling_choices(rng.normal(size=(500, 4)), None)
    (noise,) = pn.fit(pn.simulate(sets, [1 / 3.0], rng=rng)).parameters
    assert noise.name == "decision_noise"
    assert noise.low < 3.0 < noise.high


def test_times_before_one_are_an_error():
    with pytest.raises(pn.errors.DataError, match="times must be at least 1; got 0 at decision 0"):
        pn.paper.cooling_choices(np.ones((2, 2)), [0, 1], times=[0, 1])


def test_times_must_be_one_per_decision():
    with pytest.raises(pn.errors.DataError, match=r"times must have shape \(2,\)"):
        pn.paper.cooling_choices(np.ones((2, 2)), [0, 1], times=[1, 2, 3])
