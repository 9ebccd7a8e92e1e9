"""Probabilities of new choices."""

import numpy as np
import pytest

import penchant as pn
import reference
from made import case, separated_case


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(case().choices)


def test_predictions_equal_the_equation(estimate):
    x = np.random.default_rng(1).normal(size=(9, 4, 3))
    expected = [reference.probabilities(estimate.theta, one) for one in x]
    found = estimate.predict(x)
    assert found.shape == (9, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sets_of_different_sizes_give_one_number_per_row(estimate):
    data = case(seed=99, n=5)
    found = estimate.predict(data.choices)
    expected = np.concatenate([reference.probabilities(estimate.theta, x) for x in data.sets])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_variables_are_found_by_name_in_any_order(estimate):
    x = np.random.default_rng(2).normal(size=(6, 3, 3))
    turned = pn.Choices.from_arrays(x[:, :, ::-1], None, names=["x3", "x2", "x1"])
    np.testing.assert_array_equal(estimate.predict(turned), estimate.predict(x))


def test_unavailable_options_get_probability_zero(estimate):
    x = np.random.default_rng(2).normal(size=(6, 3, 3))
    available = np.ones((6, 3), bool)
    available[1, 0] = available[4, 2] = False
    found = estimate.predict(x, available)
    assert (found[~available] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_missing_variables_are_named(estimate):
    other = pn.Choices.from_arrays(np.ones((2, 2, 2)), None, names=["x1", "price"])
    with pytest.raises(pn.errors.DataError, match="got none named x2, x3 among x1, price"):
        estimate.predict(other)


def test_an_estimate_at_infinity_predicts_nothing():
    separated = pn.fit(separated_case().choices)
    with pytest.raises(pn.errors.DataError, match="predict must have a finite estimate"):
        separated.predict(np.ones((1, 2, 2)))
