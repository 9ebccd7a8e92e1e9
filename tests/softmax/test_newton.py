"""Newton's method reaches the maximum and says how it ended."""

import numpy as np
import pytest

import reference
from made import case, separated_case
from penchant.choices import Choices
from penchant.softmax.fit import fit_choices
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic, RestrictedLikelihood, maximise

PRECISION = np.array([[2.0, 0.3, 0.1], [0.3, 1.4, -0.2], [0.1, -0.2, 0.7]])
MEAN = np.array([0.4, -0.2, 1.1])


def test_the_maximum_is_that_of_the_reference():
    data = case(weighted=True, with_offset=True)
    found = maximise(likelihood_of(data.choices))
    assert found.ending == "converged"
    assert found.decrement < 1e-10
    # both end when a Newton step is below rounding
    np.testing.assert_allclose(found.theta, reference.newton(*data.arguments), rtol=1e-10)


def test_a_quadratic_is_added_once():
    data = case()
    quadratic = Quadratic.from_precision(MEAN, PRECISION)
    found = maximise(likelihood_of(data.choices), quadratic)
    expected = reference.newton(data.sets, data.chosen, precision=PRECISION, mean=MEAN)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-10)
    gap = found.theta - MEAN
    value = reference.log_likelihood(found.theta, *data.arguments) - 0.5 * gap @ PRECISION @ gap
    assert found.value == pytest.approx(value, rel=1e-12)


def test_the_log_density_of_a_quadratic_is_that_of_the_normal():
    quadratic = Quadratic.from_precision(MEAN, PRECISION)
    for theta in (np.zeros(3), np.array([0.3, 2.0, -0.7])):
        gap = theta - MEAN
        assert quadratic(theta) == pytest.approx(-0.5 * gap @ PRECISION @ gap, rel=1e-12)


def test_a_quadratic_on_a_plane_takes_the_values_of_the_whole():
    basis = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 2.0]])
    quadratic = Quadratic.from_precision(MEAN, PRECISION)
    phi = np.array([0.7, -0.4])
    inside = quadratic.restricted_to(MEAN + 1.0, basis)
    assert inside(phi) == pytest.approx(quadratic(MEAN + 1.0 + basis @ phi), rel=1e-12)


def test_separated_choices_end_as_slow_unless_patient():
    likelihood = likelihood_of(separated_case().choices)
    assert maximise(likelihood).ending in ("slow", "converged", "singular")
    assert maximise(likelihood, max_steps=3).ending == "out of steps"


class StepByStep:
    """A likelihood that the compiled loops do not know."""

    def __init__(self, whole):
        self.moments, self.scatter_within_sets = whole.moments, whole.scatter_within_sets
        self.largest_values_and_differences = whole.largest_values_and_differences
        self.n_parameters = whole.n_parameters


@pytest.mark.parametrize("patient", [False, True])
@pytest.mark.parametrize("make", [case, separated_case])
def test_steps_on_a_plane_are_the_same_in_one_compiled_call(make, patient):
    whole = likelihood_of(make().choices)
    d = whole.n_parameters
    basis = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 2.0]])[:d]
    origin = np.array([0.3, -0.4, 0.1])[:d]
    along = np.array([[0.6], [-0.3]])  # a line on that plane
    quadratic = Quadratic(0.01 * np.eye(1), np.array([0.2]), 0.5)
    for limits in ({"max_steps": 3}, {}):
        found, slow = (
            maximise(
                RestrictedLikelihood(
                    RestrictedLikelihood(one, origin, basis), np.array([0.1, 0.7]), along
                ),
                quadratic,
                ignore_slow_steps=patient,
                **limits,
            )
            for one in (whole, StepByStep(whole))
        )
        assert found.ending == slow.ending
        assert found.n_steps == slow.n_steps
        assert found.value == pytest.approx(slow.value, rel=1e-12)
        np.testing.assert_allclose(found.theta, slow.theta, rtol=1e-9)  # products in another order


def test_a_restricted_likelihood_has_the_derivatives_along_its_plane():
    data = case()
    whole = likelihood_of(data.choices)
    basis = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 2.0]])
    plane = RestrictedLikelihood(whole, MEAN, basis)
    phi = np.array([0.3, -0.2])
    at = whole.moments(MEAN + basis @ phi)
    found = plane.moments(phi)
    assert found.log_likelihood == at.log_likelihood
    np.testing.assert_allclose(found.gradient, basis.T @ at.gradient, rtol=1e-14)
    np.testing.assert_allclose(found.information, basis.T @ at.information @ basis, rtol=1e-14)
    np.testing.assert_allclose(
        plane.scatter_within_sets(), basis.T @ whole.scatter_within_sets() @ basis, rtol=1e-14
    )
    assert plane.n_parameters == 2


@pytest.mark.parametrize("n_options", [2, 3, 121, 5000])
@pytest.mark.parametrize("n_taken", [1, 50, 90, 96, 99])
def test_an_option_taken_often_among_many_has_its_log_odds(n_options, n_taken):
    """The first full step goes so far that every choice is certain: it must not be taken."""
    explanatory = np.zeros((100, n_options, 1))
    explanatory[:, 1] = 1.0
    chosen = np.where(np.arange(100) < n_taken, 1, 0)
    found = fit_choices(Choices.from_arrays(explanatory, chosen))
    assert found.status == "converged"
    odds = n_taken * (n_options - 1) / (100 - n_taken)
    np.testing.assert_allclose(found.theta, np.log(odds), rtol=1e-9)
