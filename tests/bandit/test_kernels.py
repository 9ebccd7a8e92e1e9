"""Correlation as a function of distance: values, derivatives, limits."""

import numpy as np
import pytest

import belief_reference as dense
from penchant.bandit.beliefs import EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52
from penchant.bandit.landscape import distances, grid

KERNELS = [EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52]
everywhere = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)


@everywhere
def test_correlations_equal_the_printed_formula(kernel):
    places = np.random.default_rng(1).normal(size=(9, 2)) * 3
    for scale in (0.17, 1.3, 40.0):
        expected = dense.correlations(places, scale, kernel.name)
        # exp(-x) has relative error 2 x eps, and x < 745 or it is 0
        np.testing.assert_allclose(
            kernel(distances(places), scale), expected, rtol=1e-12, atol=1e-300
        )


@everywhere
def test_derivative_in_the_length_scale_equals_central_differences(kernel):
    apart = np.random.default_rng(2).uniform(0.05, 6.0, size=(5, 7))
    for scale in (0.4, 1.9, 11.0):
        h = 1e-6 * scale
        expected = (kernel(apart, scale + h) - kernel(apart, scale - h)) / (2 * h)
        # rounding eps/h and truncation h^2, both about 1e-10 in units of 1/scale
        np.testing.assert_allclose(
            kernel.derivative(apart, scale), expected, rtol=1e-7, atol=2e-9 / scale
        )


@everywhere
def test_the_slope_is_the_derivative_of_the_correlation(kernel):
    u = np.linspace(0.05, 7.0, 50)
    h = 1e-6
    expected = (kernel.correlation(u + h) - kernel.correlation(u - h)) / (2 * h)
    np.testing.assert_allclose(kernel.slope(u), expected, rtol=1e-7, atol=1e-9)


@everywhere
def test_an_option_goes_fully_with_itself_and_less_with_those_further_away(kernel):
    apart = np.linspace(0.0, 9.0, 60)
    values = kernel(apart, 1.7)
    assert values[0] == 1.0
    assert (np.diff(values) < 0).all()
    assert (values > 0).all()


@everywhere
def test_length_scale_zero_means_independent_options(kernel):
    apart = distances(grid(3, 2))
    np.testing.assert_array_equal(kernel(apart, 0.0), np.eye(6))
    np.testing.assert_array_equal(kernel.derivative(apart, 0.0), np.zeros((6, 6)))


@everywhere
def test_small_length_scales_tend_to_zero(kernel):
    apart = distances(grid(3, 2))
    np.testing.assert_array_equal(kernel(apart, 1e-3), np.eye(6))
    np.testing.assert_array_equal(kernel.derivative(apart, 1e-3), np.zeros((6, 6)))


@everywhere
def test_tiny_length_scales_equal_zero_without_a_warning(kernel):
    apart = distances(grid(3, 2))
    for scale in (1e-100, 1e-200, 5e-324):
        np.testing.assert_array_equal(kernel(apart, scale), np.eye(6))
        np.testing.assert_array_equal(kernel.derivative(apart, scale), np.zeros((6, 6)))


@everywhere
def test_very_large_length_scales_make_all_options_one(kernel):
    apart = distances(grid(3, 2))
    np.testing.assert_allclose(kernel(apart, 1e12), np.ones((6, 6)), rtol=1e-11)
    assert np.isfinite(kernel.derivative(apart, 1e300)).all()


@everywhere
def test_correlations_are_symmetric_and_positive_semidefinite(kernel):
    places = np.random.default_rng(3).normal(size=(12, 2))
    for scale in (0.3, 2.0, 30.0):
        sigma = kernel(distances(places), scale)
        np.testing.assert_array_equal(sigma, sigma.T)
        assert np.linalg.eigvalsh(sigma)[0] > -1e-13  # rounding of twelve terms


@everywhere
def test_distances_are_left_as_they_are(kernel):
    apart = distances(grid(4, 2))
    before = apart.copy()
    kernel(apart, 1.3)
    kernel.derivative(apart, 1.3)
    np.testing.assert_array_equal(apart, before)
