"""Functions of theta."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from made import case, half_separated_case
from penchant.softmax.intervals_and_tests import fieller_interval, numerical_jacobian


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(case(n=80).choices)


def test_the_delta_method_has_the_analytic_derivatives(estimate):
    t = estimate.theta
    jacobian = np.array([[-1 / t[0] ** 2, 0, 0], [-t[1] / t[0] ** 2, 1 / t[0], 0]])
    expected = np.sqrt(np.diag(jacobian @ estimate.covariance @ jacobian.T))
    one, two = estimate.transform(lambda t: [1 / t[0], t[1] / t[0]], ["nu", "mu0"])
    assert (one.name, two.name) == ("nu", "mu0")
    assert one.estimate == pytest.approx(1 / t[0])
    # Richardson: error of order (1e-3)^4
    assert [one.standard_error, two.standard_error] == pytest.approx(expected, rel=1e-8)
    z = stats.norm.ppf(0.975)
    assert one.high == pytest.approx(one.estimate + z * one.standard_error, rel=1e-12)


def test_functions_are_numbered_where_no_names_are_given(estimate):
    (only,) = estimate.transform(lambda t: t[0] + t[2])
    assert only.name == "f1"
    variance = estimate.covariance[np.ix_([0, 2], [0, 2])].sum()
    assert only.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_the_numerical_jacobian_is_exact_for_cubics():
    def function(t):
        return np.array([t[0] ** 3 * t[1], t[1] ** 2])

    theta = np.array([0.7, -300.0])
    expected = [[3 * 0.49 * -300.0, 0.343], [0.0, -600.0]]
    np.testing.assert_allclose(
        numerical_jacobian(function, theta, np.zeros(2)), expected, rtol=1e-10
    )


def test_the_delta_method_is_right_for_a_parameter_near_zero(estimate):
    near = dataclasses.replace(estimate, theta=np.array([1e-13, 0.5, 0.3]))
    (only,) = near.transform(lambda t: [np.exp(t[0]) + 5.0])
    assert only.standard_error == pytest.approx(near.standard_errors[0], rel=1e-8)


def test_functions_of_the_finite_parameters_of_separated_choices_are_given():
    estimate = pn.fit(half_separated_case().choices)
    (only,) = estimate.transform(lambda t: 2.0 * t[1])
    assert only.standard_error == pytest.approx(2 * estimate.standard_errors[1], rel=1e-8)


def test_natural_parameters_are_shown_where_the_model_has_them():
    natural = pn.models.NaturalParameters(
        ("tau", "x2", "x3"),
        lambda t: np.array([1 / t[0], t[1], t[2]]),
        lambda t: np.diag([-1 / t[0] ** 2, 1.0, 1.0]),
    )
    choices = dataclasses.replace(case(n=80).choices, natural=natural)
    estimate = pn.fit(choices)
    tau = estimate.parameters[0]
    assert tau.name == "tau"
    assert tau.estimate == pytest.approx(1 / estimate.theta[0])
    error = estimate.standard_errors[0] / estimate.theta[0] ** 2
    assert tau.standard_error == pytest.approx(error, rel=1e-12)
    assert "tau = " in estimate.summary()


def test_without_natural_parameters_theta_is_shown(estimate):
    assert [p.name for p in estimate.parameters] == list(estimate.names)
    low_high = estimate.interval()
    assert [p.low for p in estimate.parameters] == pytest.approx(low_high[:, 0])


def _gap(a, numerator, denominator, covariance, level):
    z = stats.norm.isf((1 - level) / 2)
    variance = covariance[0, 0] - 2 * a * covariance[0, 1] + a * a * covariance[1, 1]
    return (numerator - a * denominator) ** 2 - z**2 * variance


COVARIANCE = np.array([[0.04, 0.01], [0.01, 0.09]])


@pytest.mark.parametrize(
    ("denominator", "kind"), [(2.0, "bounded"), (0.4, "excluded"), (0.1, "unbounded")]
)
def test_fieller_ends_where_the_ratio_is_just_rejected(denominator, kind):
    numerator = 0.9 if kind != "unbounded" else 0.1
    found = fieller_interval(numerator, denominator, COVARIANCE, 0.95)
    assert found.kind == kind
    assert found.estimate == pytest.approx(numerator / denominator)
    if kind == "unbounded":
        assert (found.low, found.high) == (-np.inf, np.inf)
        return
    for end in (found.low, found.high):
        gap = _gap(end, numerator, denominator, COVARIANCE, 0.95)
        assert gap == pytest.approx(0.0, abs=1e-9)
    inside = _gap(0.5 * (found.low + found.high), numerator, denominator, COVARIANCE, 0.95)
    assert (inside < 0) == (kind == "bounded")


def test_ratios_of_an_estimate_use_its_covariance(estimate):
    found = estimate.ratio("x2", "x1", level=0.9)
    block = estimate.covariance[np.ix_([1, 0], [1, 0])]
    assert found == fieller_interval(estimate.theta[1], estimate.theta[0], block, 0.9)
    with pytest.raises(pn.errors.DataError, match="parameters must be among"):
        estimate.ratio("x2", "price")


def test_a_ratio_with_an_infinite_part_is_unknown():
    found = pn.fit(half_separated_case().choices).ratio("x1", "x2")
    assert found.kind == "unknown"
    assert np.isnan(found.low)
