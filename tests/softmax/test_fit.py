"""`fit`: statuses, options and refusals."""

import numpy as np
import pytest

import penchant as pn
import reference
from made import case, half_separated_case, separated_case


def _double(data):
    return pn.Choices.from_arrays([np.column_stack([x, x[:, 0]]) for x in data.sets], data.chosen)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_estimate_is_the_maximum_with_its_inverse_information(d):
    data = case(d=d, weighted=True, with_offset=True)
    estimate = pn.fit(data.choices)
    expected = reference.newton(*data.arguments)
    assert estimate.converged
    np.testing.assert_allclose(estimate.theta, expected, rtol=1e-9)
    information = reference.information(expected, data.sets, data.weights, data.offset)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(information), rtol=1e-9)
    value = reference.log_likelihood(expected, *data.arguments)
    assert estimate.log_likelihood == pytest.approx(value, rel=1e-13)
    null = reference.log_likelihood(np.zeros(d), *data.arguments)
    assert estimate.null_log_likelihood == pytest.approx(null, rel=1e-13)


def test_many_variables_are_estimated_as_well():
    rng = np.random.default_rng(3)
    data = case(theta=rng.normal(size=30) / 4, n=300, sizes=(5, 9))
    estimate = pn.fit(data.choices)
    assert estimate.converged
    slope = reference.gradient(estimate.theta, data.sets, data.chosen)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


@pytest.mark.parametrize("start", [5.0, -5.0, 50.0])
def test_the_start_does_not_matter(start):
    choices = case().choices
    best = pn.fit(choices)
    estimate = pn.fit(choices, start=[start, -start, start])
    np.testing.assert_allclose(estimate.theta, best.theta, rtol=1e-10)
    assert estimate.log_likelihood == pytest.approx(best.log_likelihood, rel=1e-13)


@pytest.mark.parametrize("start", [1e3, -1e3, 1e6])
def test_a_far_start_does_not_matter_either(start):
    choices = case(n=60, sizes=(4, 4)).choices
    estimate = pn.fit(choices, start=[start, start, -start])
    np.testing.assert_allclose(estimate.theta, pn.fit(choices).theta, rtol=1e-8)


@pytest.mark.parametrize("max_steps", [1, 2])
def test_too_few_steps_give_a_status_and_no_standard_error(max_steps):
    estimate = pn.fit(case().choices, max_steps=max_steps)
    assert estimate.status == "stopped early"
    assert np.isnan(estimate.standard_errors).all()
    assert np.isnan(estimate.p_values).all()
    assert "Allow more with max_steps" in estimate.message


@pytest.mark.parametrize("max_steps", [1, 2, 3])
def test_no_more_steps_are_taken_than_allowed(max_steps):
    assert pn.fit(case().choices, max_steps=max_steps).diagnostics.iterations <= max_steps


def test_strict_raises_the_class_that_fits():
    data = case()
    assert pn.fit(data.choices, strict=True).converged
    with pytest.raises(pn.errors.NotIdentifiedError, match="theta is not identified"):
        pn.fit(_double(data), strict=True)
    with pytest.raises(pn.errors.SeparationError, match="The choices are separated"):
        pn.fit(separated_case().choices, strict=True)
    with pytest.raises(pn.errors.NotConvergedError, match="Stopped after"):
        pn.fit(data.choices, strict=True, max_steps=1)
    near = [np.column_stack([x, x[:, 0] + 1e-6 * x[:, 1] ** 2]) for x in data.sets]
    with pytest.raises(pn.errors.NotConvergedError, match="weakly identified"):
        pn.fit(pn.Choices.from_arrays(near, data.chosen), strict=True)
    limits = pn.Constraints.at_most(data.choices.names, x1=0.1)
    assert pn.fit(data.choices, constraints=limits, strict=True).status == "at a bound"


def test_threads_change_no_digit():
    rng = np.random.default_rng(6)
    sets = pn.Choices.from_arrays(rng.normal(size=(41_003, 3, 2)), None)
    choices = pn.simulate(sets, [0.6, -0.3], rng=rng)
    one, two = pn.fit(choices, threads=1), pn.fit(choices, threads=2)
    np.testing.assert_array_equal(one.theta, two.theta)
    np.testing.assert_array_equal(one.covariance, two.covariance)
    assert one.log_likelihood == two.log_likelihood


def test_two_fits_of_the_same_data_are_identical():
    choices = half_separated_case().choices
    one, two = pn.fit(choices), pn.fit(choices)
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("unit", [1e-98, 1e-12, 1e-8, 1e8, 1e12, 1e98])
def test_units_do_not_matter(unit):
    data = case()
    units = np.array([unit, 1.0, 1.0])
    one = pn.fit(data.choices)
    other = pn.fit(pn.Choices.from_arrays([x * units for x in data.sets], data.chosen))
    assert other.status == "converged"
    np.testing.assert_allclose(other.theta * units, one.theta, rtol=1e-12)
    np.testing.assert_allclose(other.standard_errors * units, one.standard_errors, rtol=1e-12)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-13)


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e300])
def test_units_whose_square_is_no_number_are_refused(unit):
    data = case()
    units = np.array([unit, 1.0, 1.0])
    with pytest.raises(pn.errors.DataError, match=r"x1 of size .*\nChoose other units"):
        pn.fit(pn.Choices.from_arrays([x * units for x in data.sets], data.chosen))


@pytest.mark.parametrize("weight", [1e-6, 1e6, 1e12])
def test_the_size_of_probability_weights_does_not_matter(weight):
    data = case()
    choices = pn.Choices.from_arrays(
        data.sets, data.chosen, weights=np.full(37, weight), weight_kind="probability"
    )
    one, other = pn.fit(data.choices), pn.fit(choices)
    np.testing.assert_allclose(other.theta, one.theta, rtol=1e-9)
    np.testing.assert_allclose(other.covariance * weight, one.covariance, rtol=1e-9)


def test_many_decisions_of_many_options_are_estimated():
    rng = np.random.default_rng(2)
    sets = pn.Choices.from_arrays(rng.normal(size=(3, 40_000, 2)), None)
    choices = pn.simulate(sets, [1.5, -0.5], rng=rng)
    estimate = pn.fit(choices)
    moments = reference.gradient(
        estimate.theta, list(sets.explanatory.reshape(3, -1, 2)), choices.chosen
    )
    np.testing.assert_allclose(moments, 0.0, atol=1e-8)


@pytest.mark.parametrize("covariance", ["model", "robust"])
def test_the_covariance_asked_for_is_given(covariance):
    choices = case().choices
    estimate = pn.fit(choices, covariance=covariance)
    assert estimate.covariance_kind.startswith(covariance)


def test_an_unknown_kind_of_covariance_is_refused():
    with pytest.raises(pn.errors.DataError, match="covariance must be"):
        pn.fit(case().choices, covariance="hc0")


def test_separated_choices_have_no_robust_covariance():
    estimate = pn.fit(separated_case().choices, covariance="robust")
    assert estimate.status == "separated"
    assert np.isnan(estimate.standard_errors).all()
    with pytest.raises(pn.errors.DataError, match=r"robust\(\) must have a finite estimate"):
        estimate.robust()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "bayes"}, "method must be 'ml' or 'firth'; got 'bayes'"),
        ({"method": "firth", "parameter_prior": pn.ScaledPrior()}, "must stand alone"),
        ({"max_steps": 0}, "max_steps must be at least 1; got 0"),
        ({"start": [1.0, np.nan, 0.0]}, "start must hold 3 finite numbers"),
        ({"start": [1.0]}, "start must hold 3 finite numbers"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(case().choices, **options)


def test_only_choices_can_be_fitted():
    with pytest.raises(TypeError, match="choices must be Choices; got list"):
        pn.fit([1, 2])


def test_sets_without_choices_cannot_be_fitted():
    with pytest.raises(pn.errors.DataError, match="choices must say what was chosen"):
        pn.fit(pn.Choices.from_arrays(np.ones((2, 3, 1)), None))
