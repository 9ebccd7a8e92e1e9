"""Asymptotic spread and bias at the truth, against slow loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penchant as pn
import reference
from penchant.softmax.prior import first_order_bias
from penchant_paper.figure_2_3 import asymptotics


def _information(x, theta):
    """Sum over decisions of the covariance of the variables, by loops."""
    d = len(theta)
    total = np.zeros((d, d))
    for options in x:
        p = reference.probabilities(theta, options)
        mean = sum(p[i] * options[i] for i in range(len(options)))
        for i in range(len(options)):
            total += p[i] * np.outer(options[i] - mean, options[i] - mean)
    return total


def test_standard_errors_are_those_of_the_summed_information():
    x, theta = np.random.default_rng(3).normal(size=(7, 4, 2)), np.array([0.7, -1.3])
    found = asymptotics(x, theta)
    for k in range(2, 8):
        covariance = np.linalg.inv(_information(x[:k], theta))
        np.testing.assert_allclose(
            found.standard_errors[k - 1], np.sqrt(np.diag(covariance)), rtol=1e-10
        )


def test_the_bias_is_that_of_the_slope_of_the_information():
    # Scalar: -I' / (2 I^2), the slope by central differences.
    x, theta, h = np.random.default_rng(4).exponential(size=(9, 5, 1)), np.array([0.8]), 1e-5
    found = asymptotics(x, theta)
    slope = (_information(x, theta + h) - _information(x, theta - h)) / (2 * h)
    expected = -slope[0, 0] / (2 * _information(x, theta)[0, 0] ** 2)
    assert found.bias[-1, 0] == pytest.approx(expected, rel=1e-7)  # h^2 of the differences


def test_the_bias_of_several_parameters_is_that_of_the_estimator():
    x, theta = np.random.default_rng(5).normal(size=(11, 6, 3)), np.array([1.0, 2.0, 3.0])
    choices = pn.Choices.from_arrays(x, np.zeros(11, dtype=int))
    covariance = np.linalg.inv(_information(x, theta))
    np.testing.assert_allclose(
        asymptotics(x, theta).bias[-1], first_order_bias(theta, choices, covariance), rtol=1e-9
    )


def test_too_few_decisions_have_no_spread():
    x = np.random.default_rng(6).normal(size=(4, 2, 3))  # one decision of two: rank 1
    found = asymptotics(x, np.array([0.3, 0.1, -0.2]))
    assert np.isnan(found.standard_errors[:2]).all()
    assert np.isfinite(found.standard_errors[2:]).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(-5, 5))
def test_what_all_options_share_changes_nothing(seed, shift):
    x = np.random.default_rng(seed).normal(size=(6, 4, 2))
    theta = np.array([0.5, -0.9])
    moved = asymptotics(x + shift, theta)
    here = asymptotics(x, theta)
    np.testing.assert_allclose(moved.bias[2:], here.bias[2:], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(moved.standard_errors[2:], here.standard_errors[2:], rtol=1e-8)
