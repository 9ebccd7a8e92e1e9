"""Choices drawn from the model."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import reference


def test_frequencies_are_the_probabilities():
    x = np.random.default_rng(1).normal(size=(5, 2))
    theta = [1.1, -0.4]
    sets = pn.Choices.from_arrays(np.tile(x, (20_000, 1, 1)), None)
    drawn = pn.simulate(sets, theta, rng=np.random.default_rng(2))
    counts = np.bincount(drawn.chosen, minlength=5)
    expected = 20_000 * np.array(reference.probabilities(theta, x))
    assert stats.chisquare(counts, expected).pvalue > 1e-3  # fixed seed: no chance failure


def test_the_same_seed_draws_the_same_choices():
    sets = pn.Choices.from_arrays(np.random.default_rng(3).normal(size=(31, 4, 2)), None)
    one = pn.simulate(sets, [1.0, 2.0], rng=np.random.default_rng(4))
    two = pn.simulate(sets, [1.0, 2.0], rng=np.random.default_rng(4))
    np.testing.assert_array_equal(one.chosen, two.chosen)
    assert one.observed and not sets.observed


def test_only_available_options_are_drawn():
    rng = np.random.default_rng(5)
    x, available = rng.normal(size=(400, 3, 1)), rng.random((400, 3)) < 0.6
    available[:, 1] = True
    sets = pn.Choices.from_arrays(x, None, available=available)
    drawn = pn.simulate(sets, [0.8], rng=rng)
    assert available[np.arange(400), drawn.chosen].all()


@pytest.mark.parametrize("theta", [[1.0], [1.0, np.nan], [[1.0, 2.0]], [np.inf, 1.0]])
def test_theta_must_be_one_finite_number_per_variable(theta):
    sets = pn.Choices.from_arrays(np.random.default_rng(3).normal(size=(3, 4, 2)), None)
    with pytest.raises(pn.errors.DataError, match="theta must hold 2 finite numbers"):
        pn.simulate(sets, theta, rng=np.random.default_rng(4))
