"""The analyst's prior."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import reference
from made import case, separated_case

MEAN = np.array([0.4, -0.2, 1.1])
COVARIANCE = np.array([[0.8, 0.1, 0.05], [0.1, 1.3, -0.2], [0.05, -0.2, 0.6]])


def test_map_is_the_maximum_of_the_posterior():
    data = case(weighted=True)
    estimate = pn.fit(data.choices, parameter_prior=pn.GaussianPrior(MEAN, COVARIANCE))
    precision = np.linalg.inv(COVARIANCE)
    expected = reference.newton(
        data.sets, data.chosen, data.weights, precision=precision, mean=MEAN
    )
    np.testing.assert_allclose(estimate.theta, expected, rtol=1e-10)
    information = reference.information(expected, data.sets, data.weights) + precision
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(information), rtol=1e-9)
    value = reference.log_likelihood(expected, data.sets, data.chosen, data.weights)
    assert estimate.log_likelihood == pytest.approx(value, rel=1e-12)
    density = stats.multivariate_normal(MEAN, COVARIANCE).logpdf(expected)
    assert estimate.log_posterior == pytest.approx(value + density, rel=1e-12)
    assert estimate.method == "MAP"


def test_a_wide_prior_gives_maximum_likelihood_and_a_narrow_one_its_mean():
    choices = case().choices
    wide = pn.fit(choices, parameter_prior=pn.GaussianPrior(MEAN, 1e10))
    np.testing.assert_allclose(wide.theta, pn.fit(choices).theta, rtol=1e-6)
    narrow = pn.fit(choices, parameter_prior=pn.GaussianPrior(MEAN, 1e-10))
    np.testing.assert_allclose(narrow.theta, MEAN, rtol=1e-6)


def test_one_number_stands_for_all_parameters():
    choices = case().choices
    one = pn.fit(choices, parameter_prior=pn.GaussianPrior(0.3, 0.7))
    all_ = pn.fit(choices, parameter_prior=pn.GaussianPrior([0.3] * 3, 0.7 * np.eye(3)))
    np.testing.assert_allclose(one.theta, all_.theta, rtol=1e-12)


def test_the_scaled_prior_does_not_depend_on_units():
    data = case()
    units = np.array([1e-8, 1e6, 3.0])
    scaled = pn.Choices.from_arrays([x * units for x in data.sets], data.chosen)
    one = pn.fit(data.choices, parameter_prior=pn.ScaledPrior(c=1.7))
    other = pn.fit(scaled, parameter_prior=pn.ScaledPrior(c=1.7))
    np.testing.assert_allclose(other.theta * units, one.theta, rtol=1e-10)
    scatter = reference.within_set_scatter(data.sets) / sum(len(x) for x in data.sets)
    precision = 1.7 * np.diag(np.diag(scatter))
    expected = reference.newton(data.sets, data.chosen, precision=precision)
    np.testing.assert_allclose(one.theta, expected, rtol=1e-10)


@pytest.mark.parametrize("prior", [pn.ScaledPrior(), pn.GaussianPrior(0.2, 2.0)])
def test_map_is_finite_for_separated_and_unidentified_choices(prior):
    separated = pn.fit(separated_case().choices, parameter_prior=prior)
    assert separated.status == "converged"
    data = case()
    doubled = [np.column_stack([x, x[:, 0], np.full(len(x), 4.0)]) for x in data.sets]
    estimate = pn.fit(pn.Choices.from_arrays(doubled, data.chosen), parameter_prior=prior)
    assert estimate.status == "converged"
    assert np.isfinite(estimate.standard_errors).all()
    assert estimate.theta[0] == pytest.approx(estimate.theta[3], rel=1e-8)


@pytest.mark.parametrize(("unit", "variance"), [(1e6, 1e4), (1.0, 1e18)])
def test_map_of_equal_columns_is_found_in_any_units(unit, variance):
    data = case(n=200, d=1)
    doubled = [unit * np.column_stack([x, x]) for x in data.sets]
    prior = pn.GaussianPrior(0.0, variance)
    estimate = pn.fit(pn.Choices.from_arrays(doubled, data.chosen), parameter_prior=prior)
    assert estimate.status == "converged"
    assert estimate.theta[0] == pytest.approx(estimate.theta[1], rel=1e-6)


def test_the_prior_turns_with_the_variables():
    data = case()
    turn = np.array([[1.2, 0.3, 0.0], [-0.4, 0.9, 0.2], [0.1, 0.0, 2.0]])
    back = np.linalg.inv(turn)
    one = pn.fit(data.choices, parameter_prior=pn.GaussianPrior(MEAN, COVARIANCE))
    turned = pn.fit(
        pn.Choices.from_arrays([x @ turn for x in data.sets], data.chosen),
        parameter_prior=pn.GaussianPrior(back @ MEAN, back @ COVARIANCE @ back.T),
    )
    np.testing.assert_allclose(turn @ turned.theta, one.theta, rtol=1e-9)


@pytest.mark.parametrize(
    ("mean", "covariance", "words"),
    [
        ([0.0, np.nan], 1.0, "mean must hold finite numbers"),
        ([[0.0]], 1.0, "mean must hold finite numbers"),
        (0.0, -1.0, "covariance must hold positive variances"),
        (0.0, [1.0, 0.0], "covariance must hold positive variances"),
        (0.0, np.ones((2, 3)), "covariance must be a square matrix or a vector"),
        (0.0, [[1.0, 0.5], [0.1, 1.0]], "covariance must be finite and symmetric"),
        (0.0, [[1.0, np.inf], [np.inf, 1.0]], "covariance must be finite and symmetric"),
        (0.0, [[1.0, 2.0], [2.0, 1.0]], "covariance must be positive definite"),
        (0.0, [[1.0, 1.0], [1.0, 1.0]], "covariance must be positive definite"),
    ],
)
def test_a_prior_that_is_none_is_refused(mean, covariance, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.GaussianPrior(mean, covariance)


@pytest.mark.parametrize("c", [0.0, -1.0, np.nan, np.inf])
def test_the_scaled_prior_needs_a_positive_strength(c):
    with pytest.raises(pn.errors.DataError, match="c must be positive"):
        pn.ScaledPrior(c)


def test_a_prior_of_another_size_is_refused():
    choices = case().choices
    with pytest.raises(
        pn.errors.DataError, match="mean must hold 3 numbers, one per parameter; got 2"
    ):
        pn.fit(choices, parameter_prior=pn.GaussianPrior([0.0, 1.0], 1.0))
    with pytest.raises(pn.errors.DataError, match="covariance must hold 3 numbers"):
        pn.fit(choices, parameter_prior=pn.GaussianPrior(0.0, [1.0, 2.0]))
    with pytest.raises(pn.errors.DataError, match=r"covariance must have shape \(3, 3\)"):
        pn.fit(choices, parameter_prior=pn.GaussianPrior(0.0, np.eye(2)))


def test_the_scaled_prior_says_what_it_needs():
    with pytest.raises(ValueError, match="scale must hold 2 numbers"):
        pn.ScaledPrior().quadratic(2, None)
