"""Tests of R theta = r."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import reference
from made import case, separated_case


@pytest.fixture(scope="module")
def data():
    return case(n=60)


@pytest.fixture(scope="module")
def estimate(data):
    return pn.fit(data.choices)


def _without(data, columns, offset=None):
    sets = [x[:, columns] for x in data.sets]
    theta = reference.newton(sets, data.chosen, offset=offset)
    return theta, reference.log_likelihood(theta, sets, data.chosen, offset=offset)


def test_wald_of_one_parameter_is_the_square_of_z(estimate):
    found = estimate.wald_test("x2")
    assert found.statistic == pytest.approx(estimate.z_values[1] ** 2, rel=1e-12)
    assert found.p_value == pytest.approx(estimate.p_values[1], rel=1e-9)
    assert found.degrees_of_freedom == 1
    assert "wald test: chi-square(1)" in str(found)


def test_wald_of_several_is_their_distance(estimate):
    matrix, values = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0]]), np.array([0.3, -0.2])
    gap = matrix @ estimate.theta - values
    expected = gap @ np.linalg.inv(matrix @ estimate.covariance @ matrix.T) @ gap
    found = estimate.wald_test((matrix, values))
    assert found.statistic == pytest.approx(expected, rel=1e-10)
    assert found.p_value == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-9)


def test_likelihood_ratio_is_what_the_hypothesis_costs(data, estimate):
    _, value = _without(data, [0, 2])
    found = estimate.likelihood_ratio_test("x2")
    assert found.statistic == pytest.approx(2 * (estimate.log_likelihood - value), rel=1e-9)
    held = [0.25 * x[:, 1] for x in data.sets]
    _, value = _without(data, [0, 2], offset=held)
    found = estimate.likelihood_ratio_test({"x2": 0.25})
    assert found.statistic == pytest.approx(2 * (estimate.log_likelihood - value), rel=1e-9)


def test_score_is_the_length_of_the_gradient_at_the_restricted_estimate(data, estimate):
    theta, _ = _without(data, [0, 2])
    full = np.array([theta[0], 0.0, theta[1]])
    slope = reference.gradient(full, data.sets, data.chosen)
    expected = slope @ np.linalg.solve(reference.information(full, data.sets), slope)
    assert estimate.score_test(["x2"]).statistic == pytest.approx(expected, rel=1e-8)


def test_a_hypothesis_on_everything_is_tested_at_its_point(data, estimate):
    everything = {"x1": 0.2, "x2": -0.3, "x3": 0.1}
    value = reference.log_likelihood(list(everything.values()), data.sets, data.chosen)
    found = estimate.likelihood_ratio_test(everything)
    assert found.statistic == pytest.approx(2 * (estimate.log_likelihood - value), rel=1e-10)
    assert found.degrees_of_freedom == 3


def test_the_three_ways_to_say_a_hypothesis_agree(estimate):
    one = estimate.wald_test(["x1", "x3"])
    assert one == estimate.wald_test({"x1": 0.0, "x3": 0.0})
    assert one == estimate.wald_test(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))


def test_separated_choices_can_be_tested_by_likelihood_ratio():
    data = separated_case()
    estimate = pn.fit(data.choices)
    _, value = _without(data, [1])
    found = estimate.likelihood_ratio_test("x1")
    assert found.statistic == pytest.approx(-2 * value, rel=1e-8)
    with pytest.raises(
        pn.errors.DataError, match="hypothesis must concern parameters with a standard"
    ):
        estimate.wald_test("x1")


def test_a_hypothesis_that_restricts_nothing_costs_nothing(data):
    doubled = [np.column_stack([x, x[:, 1]]) for x in data.sets]
    estimate = pn.fit(pn.Choices.from_arrays(doubled, data.chosen))
    assert estimate.likelihood_ratio_test("x2").statistic == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"parameter_prior": pn.GaussianPrior(0.0, 0.01)},
        {"constraints": pn.Constraints([[-1.0, 0.0, 0.0]], [-0.1])},
    ],
)
def test_a_likelihood_ratio_needs_plain_maximum_likelihood(data, options):
    with pytest.raises(pn.errors.DataError, match="must have plain maximum likelihood"):
        pn.fit(data.choices, **options).likelihood_ratio_test("x3")


def test_no_hypothesis_is_refused(estimate):
    with pytest.raises(pn.errors.DataError, match="hypothesis must"):
        estimate.wald_test([])


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        ("x9", "hypothesis must be among x1, x2, x3; got 'x9'"),
        (np.ones((1, 2)), "hypothesis must have 3 columns and one value per row"),
        ((np.ones((1, 3)), [1.0, 2.0]), "hypothesis must have 3 columns and one value per row"),
        (np.ones((2, 3)), "hypothesis must have independent rows"),
    ],
)
def test_hypotheses_that_are_none_are_refused(estimate, hypothesis, words):
    with pytest.raises(pn.errors.DataError, match=words):
        estimate.wald_test(hypothesis)
