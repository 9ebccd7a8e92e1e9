"""Bias reduction."""

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
import reference
from made import case, separated_case
from penchant.softmax.prior import first_order_bias, jeffreys_gradient

THETA = np.array([0.7, -1.1, 0.4])


def _penalised(theta, data):
    information = reference.information(theta, data.sets, data.weights)
    value = reference.log_likelihood(theta, data.sets, data.chosen, data.weights)
    return value + 0.5 * np.linalg.slogdet(information)[1]


def test_the_slope_of_the_penalty_equals_the_third_derivatives():
    data = case(weighted=True, n=13)
    covariance = np.linalg.inv(reference.information(THETA, data.sets, data.weights))
    found = jeffreys_gradient(THETA, data.choices, covariance)
    expected = reference.firth_term(THETA, data.sets, data.weights)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    h = 1e-5
    for a in range(3):
        step = h * np.eye(3)[a]
        up = np.linalg.slogdet(reference.information(THETA + step, data.sets, data.weights))[1]
        down = np.linalg.slogdet(reference.information(THETA - step, data.sets, data.weights))[1]
        # truncation of order h^2, rounding of order eps / h
        assert found[a] == pytest.approx(0.25 * (up - down) / h, abs=1e-8)


def test_the_estimate_maximises_the_penalised_likelihood():
    data = case(n=15, weighted=True)
    estimate = pn.fit(data.choices, method="firth")
    assert estimate.status == "converged"
    assert estimate.method == "Firth"
    value = _penalised(estimate.theta, data)
    assert estimate.log_posterior == pytest.approx(value, rel=1e-11)
    best = optimize.minimize(
        lambda t: -_penalised(t, data),
        estimate.theta,
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-12, "maxfev": 300},
    )
    assert -best.fun <= value + 1e-10


def test_separated_choices_have_a_finite_estimate():
    data = separated_case()
    estimate = pn.fit(data.choices, method="firth")
    assert estimate.status == "converged"
    assert np.isfinite(estimate.theta).all() and np.isfinite(estimate.standard_errors).all()
    slope = reference.gradient(estimate.theta, data.sets, data.chosen)
    slope += reference.firth_term(estimate.theta, data.sets)
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)


def test_two_decisions_have_an_estimate_that_is_reached():
    sets = [
        np.array([[0.279, -0.666], [0.276, -1.578], [1.331, -0.513], [-1.581, -0.224]]),
        np.array([[-0.371, 0.152]]),
    ]
    assert pn.fit(pn.Choices.from_arrays(sets, [2, 0]), method="firth").status == "converged"


def test_units_and_turns_of_the_variables_change_nothing():
    data = case(n=20)
    turn = np.array([[1.0, 0.3, 0.0], [-0.4, 0.1, 0.0], [0.1, 0.0, 2.0]]) * [1e4, 1e-3, 1.0]
    one = pn.fit(data.choices, method="firth")
    other = pn.fit(
        pn.Choices.from_arrays([x @ turn for x in data.sets], data.chosen), method="firth"
    )
    np.testing.assert_allclose(turn @ other.theta, one.theta, rtol=1e-9)


@pytest.mark.slow
def test_correlated_variables_are_estimated_too():
    data = case(n=20)
    turn = np.array([[1.0, 0.997, 0.0], [0.0, 0.003, 0.0], [0.1, 0.0, 2.0]])
    choices = pn.Choices.from_arrays([x @ turn for x in data.sets], data.chosen)
    estimate = pn.fit(choices, method="firth")
    assert estimate.status == "converged"


def test_unidentified_choices_say_so_and_estimate_the_rest():
    data = case(n=25)
    doubled = [np.column_stack([x, 2 * x[:, 1]]) for x in data.sets]
    estimate = pn.fit(pn.Choices.from_arrays(doubled, data.chosen), method="firth")
    assert estimate.status == "not identified"
    whole = pn.fit(data.choices, method="firth")
    np.testing.assert_allclose(estimate.theta[[0, 2]], whole.theta[[0, 2]], rtol=1e-8)


def test_first_order_bias_is_minus_half_the_relative_slope_of_the_information():
    data = case(d=1, n=30)
    estimate = pn.fit(data.choices)
    information = reference.information(estimate.theta, data.sets)[0, 0]
    slope = -reference.third_derivative(estimate.theta, data.sets)[0, 0, 0]
    assert estimate.bias[0] == pytest.approx(-slope / (2 * information**2), rel=1e-9)
    direct = first_order_bias(estimate.theta, data.choices, estimate.covariance)
    np.testing.assert_array_equal(estimate.bias, direct)
