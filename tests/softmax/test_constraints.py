"""Linear inequalities on theta."""

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
import reference
from made import case, half_separated_case, separated_case
from penchant.softmax import constraints
from penchant.softmax.constraints import InfeasibleError, maximise_on_plane, null_basis
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic, RestrictedLikelihood


def _best(data, constraints, start):
    """The constrained maximum by a general-purpose optimiser."""
    sets, chosen = data.sets, data.chosen
    found = optimize.minimize(
        lambda t: -reference.log_likelihood(t, sets, chosen),
        start,
        jac=lambda t: -reference.gradient(t, sets, chosen),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda t: constraints.matrix @ t - constraints.bound,
                "jac": lambda t: constraints.matrix,
            }
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 300},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("seed", range(12))
def test_the_constrained_maximum_is_that_of_a_general_optimiser(seed):
    data = case(n=15, seed=seed)
    rng = np.random.default_rng(seed)
    free = pn.fit(data.choices)
    if free.status != "converged":
        return
    matrix = rng.normal(size=(rng.integers(1, 4), 3))
    constraints = pn.Constraints(matrix, matrix @ (free.theta + 0.8 * rng.normal(size=3)))
    estimate = pn.fit(data.choices, constraints=constraints)
    expected = _best(data, constraints, constraints.feasible_point())
    assert estimate.status in ("converged", "at a bound")
    # the general optimiser stops at a change of 1e-13 of the value, 1e-6 of theta
    np.testing.assert_allclose(estimate.theta, expected, atol=1e-5)
    value = reference.log_likelihood(expected, data.sets, data.chosen)
    assert estimate.log_likelihood >= value - 1e-8
    assert (matrix @ estimate.theta - constraints.bound).min() > -1e-9


def test_constraints_hold_in_any_units():
    units = np.array([1e3, 1.0, 1e-4])
    matrix = np.array([[-1.03, 0.0, -0.6], [0.0, -0.58, 0.0], [0.62, 0.675, -0.696]])
    bound = np.array([-0.66, 0.149, 0.74])
    data = case(n=30)
    plain = pn.fit(data.choices, constraints=pn.Constraints(matrix, bound))
    scaled = pn.Choices.from_arrays([x * units for x in data.sets], data.chosen)
    estimate = pn.fit(scaled, constraints=pn.Constraints(matrix * units, bound))
    assert (matrix * units @ estimate.theta - bound).min() > -1e-8
    np.testing.assert_allclose(estimate.theta * units, plain.theta, rtol=1e-6)


def test_an_inactive_constraint_changes_nothing():
    choices = case().choices
    free = pn.fit(choices)
    held = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=30.0))
    assert held.status == "converged"
    assert held.diagnostics.bounds == ()
    np.testing.assert_allclose(held.theta, free.theta, rtol=1e-10)
    np.testing.assert_allclose(held.covariance, free.covariance, rtol=1e-9)


def test_a_parameter_at_its_bound_has_no_error_and_the_others_have_that_of_the_face():
    data = case()
    choices = data.choices
    estimate = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=0.3))
    assert estimate.status == "at a bound"
    assert estimate.theta[0] == pytest.approx(0.3, abs=1e-15)
    assert estimate.diagnostics.bounds == ("x1 <= 0.3",)
    assert "x1 <= 0.3" in estimate.message
    offset = [0.3 * x[:, 0] for x in data.sets]
    rest = pn.fit(
        pn.Choices.from_arrays(
            [x[:, 1:] for x in data.sets], data.chosen, offset=np.concatenate(offset)
        )
    )
    np.testing.assert_allclose(estimate.theta[1:], rest.theta, rtol=1e-9)
    np.testing.assert_allclose(estimate.standard_errors[1:], rest.standard_errors, rtol=1e-9)
    assert np.isnan(estimate.standard_errors[0])
    assert estimate.log_likelihood == pytest.approx(rest.log_likelihood, rel=1e-12)


def test_two_inequalities_make_an_equality():
    choices = case().choices
    both = pn.Constraints([[1, 0, 0], [-1, 0, 0]], [0.3, -0.3])
    one = pn.fit(choices, constraints=both)
    other = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=0.3))
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)


def test_a_constraint_said_three_times_is_one_constraint():
    choices = case().choices
    thrice = pn.Constraints([[-1, 0, 0], [-1, 0, 0], [-2, 0, 0]], [-0.3, -0.3, -0.6])
    one = pn.fit(choices, constraints=thrice)
    other = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=0.3))
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-9)


def test_a_bound_makes_the_estimate_of_separated_choices_finite():
    data = separated_case()
    limit = pn.Constraints.at_most(data.choices.names, x1=3.0)
    estimate = pn.fit(data.choices, constraints=limit)
    assert estimate.status == "at a bound"
    expected = _best(data, limit, np.zeros(2))
    np.testing.assert_allclose(estimate.theta, expected, atol=1e-5)


def test_the_limit_of_separated_choices_keeps_the_constraints():
    data = half_separated_case()
    free = pn.fit(data.choices)
    limit = free.theta[1] - 0.2
    constraints = pn.Constraints.at_most(data.choices.names, x2=limit)
    estimate = pn.fit(data.choices, constraints=constraints)
    assert estimate.status == "separated"
    assert estimate.theta[1] == pytest.approx(limit, abs=1e-9)
    assert estimate.log_likelihood < free.log_likelihood


def test_constraints_hold_where_theta_is_not_identified():
    data = case()
    doubled = [np.column_stack([x, x[:, 1]]) for x in data.sets]
    choices = pn.Choices.from_arrays(doubled, data.chosen)
    estimate = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=0.1))
    assert estimate.theta[0] <= 0.1 + 1e-12


def test_map_estimates_can_be_constrained():
    data = case()
    prior = pn.GaussianPrior([0.5, 0.2, -0.1], 0.7)
    limits = pn.Constraints.at_least(data.choices.names, x2=-0.2)
    estimate = pn.fit(data.choices, parameter_prior=prior, constraints=limits)
    assert estimate.status == "at a bound"
    assert estimate.theta[1] == pytest.approx(-0.2, abs=1e-12)
    moved = pn.fit(data.choices, parameter_prior=prior)
    assert estimate.log_posterior < moved.log_posterior


def test_bounds_can_be_joined():
    names = ["gain", "risk"]
    both = pn.Constraints.at_least(names, gain=0.2) & pn.Constraints.at_most(names, risk=1.5)
    np.testing.assert_array_equal(both.matrix, [[1.0, 0.0], [0.0, -1.0]])
    np.testing.assert_array_equal(both.bound, [0.2, -1.5])
    assert both.labels == ("gain >= 0.2", "risk <= 1.5")


def test_the_feasible_point_is_the_nearest_to_zero():
    point = pn.Constraints([[3.0, 4.0]], [10.0]).feasible_point()
    np.testing.assert_allclose(point, [1.2, 1.6], rtol=1e-12)
    np.testing.assert_array_equal(pn.Constraints([[3.0, 4.0]], [-1.0]).feasible_point(), 0.0)


def test_null_basis_is_orthogonal_to_the_rows():
    rows = np.random.default_rng(1).normal(size=(2, 5))
    basis = null_basis(rows, 5, np.array([1.0, 3.0, 0.2, 7.0, 0.0]))
    assert basis.shape == (5, 3)
    np.testing.assert_allclose(rows @ basis, 0.0, atol=1e-14)


def test_contradicting_constraints_are_refused():
    with pytest.raises(InfeasibleError, match="contradict each other"):
        pn.fit(case().choices, constraints=pn.Constraints([[1, 0, 0], [-1, 0, 0]], [1.0, 1.0]))


def test_a_row_of_zeros_is_refused():
    with pytest.raises(pn.errors.DataError, match="constraints must"):
        pn.Constraints([[0.0, 0.0]], [1.0])


@pytest.mark.parametrize(
    ("matrix", "bound", "words"),
    [
        ([[1.0, 2.0]], [1.0, 2.0], "constraints must be a matrix"),
        ([[1.0, np.nan]], [1.0], "constraints must be a matrix"),
        ([[1.0, 2.0]], [np.inf], "bound must be finite"),
    ],
)
def test_malformed_constraints_are_refused(matrix, bound, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.Constraints(matrix, bound)


def test_bounds_on_unknown_variables_are_refused():
    with pytest.raises(pn.errors.DataError, match=r"got 'prise'(?s:.*)Did you mean 'price'"):
        pn.Constraints.at_least(["price", "wait"], prise=0.5)


def test_constraints_of_another_size_are_refused():
    with pytest.raises(pn.errors.DataError, match="constraints must have 3 columns; got 2"):
        pn.fit(case().choices, constraints=pn.Constraints([[1.0, 0.5]], [0.1]))


def test_a_value_that_the_constraints_exclude_is_infeasible_on_its_plane():
    limits = pn.Constraints([[1.0, 0.0]], [0.5])
    with pytest.raises(InfeasibleError, match="constraints must hold on the plane asked for"):
        limits.restricted_to(np.array([0.2, 0.0]), np.array([[0.0], [1.0]]))


def test_copies_of_a_variable_leave_the_bounds_of_the_others_named():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 3, 3))
    x[:, :, 2] = x[:, :, 1]
    chosen = (x @ [-1.0, 0.5, 0.5] + rng.gumbel(size=(80, 3))).argmax(axis=1)
    choices = pn.Choices.from_arrays(x, chosen, names=["a", "b", "copy"])
    positive = pn.Constraints.at_least(choices.names, b=0.0, copy=0.0, a=0.0)
    estimate = pn.fit(choices, constraints=positive)
    assert estimate.status == "not identified"
    assert estimate.diagnostics.bounds == ("a >= 0",)


def test_a_plane_so_far_out_that_nothing_is_left_to_chance_is_reached_by_few_others(monkeypatch):
    looked = []
    own = constraints.maximise

    def counted(plane, *given, **options):
        looked.append(float(np.abs(plane.origin).max()))
        return own(plane, *given, **options)

    monkeypatch.setattr(constraints, "maximise", counted)
    rng = np.random.default_rng(3)
    choices = pn.Choices.from_arrays(rng.normal(size=(40, 3, 2)), rng.integers(3, size=40))
    likelihood = likelihood_of(choices, 1)
    whole = RestrictedLikelihood(likelihood, np.zeros(2), np.eye(2))
    ratios = []
    for far in (1e4, 1e60):
        looked.clear()
        out = np.array([far, 0.0])
        found = maximise_on_plane(whole, Quadratic.none(2), out, np.array([[0.0], [1.0]]))
        assert len(looked) <= 2 + constraints.ACTIVE_SET.max_continuations and looked[-1] == far
        assert found.theta[0] == far
        ratios.append(found.theta[1] / far)
    assert ratios[1] == pytest.approx(ratios[0], rel=1e-2)  # where differences change sign
