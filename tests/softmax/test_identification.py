"""Which directions of theta the choices can tell."""

import numpy as np
import pytest

import penchant as pn
import reference
from made import case
from penchant.softmax.identification import integer_variables, reduced_echelon


def _arrays(n=40, m=4, d=3, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m, d)), rng.integers(0, m, size=n)


def test_rank_is_that_of_the_within_set_scatter():
    data = case()
    scatter = reference.within_set_scatter(data.sets)
    assert pn.fit(data.choices).diagnostics.rank == np.linalg.matrix_rank(scatter)


def test_a_duplicate_column_is_named_and_the_sum_is_estimated():
    x, chosen = _arrays()
    x[:, :, 2] = 3.0 * x[:, :, 1]
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.status == "not identified"
    assert estimate.diagnostics.rank == 2
    (null,) = estimate.diagnostics.null_directions
    assert null["x2"] / null["x3"] == pytest.approx(-3.0, rel=1e-9)
    single = pn.fit(pn.Choices.from_arrays(x[:, :, :2], chosen))
    assert estimate.theta[0] == pytest.approx(single.theta[0], rel=1e-10)
    assert np.isnan(estimate.theta[1:]).all()
    assert estimate.log_likelihood == pytest.approx(single.log_likelihood, rel=1e-12)
    (combination,) = estimate.diagnostics.combinations
    weight = combination.weights["x2"]
    assert combination.estimate / weight == pytest.approx(single.theta[1], rel=1e-9)
    assert combination.standard_error / weight == pytest.approx(single.standard_errors[1], rel=1e-9)


def test_a_variable_constant_in_every_set_is_named():
    x, chosen = _arrays()
    x[:, :, 1] = np.arange(40)[:, None] * 1.3
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen, names=["gain", "income", "risk"]))
    assert estimate.status == "not identified"
    assert "income does not vary inside any choice set" in estimate.message
    assert "interact income with the options" in estimate.message
    rest = pn.fit(pn.Choices.from_arrays(x[:, :, [0, 2]], chosen))
    np.testing.assert_allclose(estimate.theta[[0, 2]], rest.theta, rtol=1e-10)
    np.testing.assert_allclose(estimate.standard_errors[[0, 2]], rest.standard_errors, rtol=1e-9)


def test_dummies_that_sum_to_one_are_not_identified():
    x, chosen = _arrays(m=3)
    dummies = np.broadcast_to(np.eye(3), (40, 3, 3))
    both = np.concatenate([x[:, :, :2], dummies], axis=2)
    estimate = pn.fit(pn.Choices.from_arrays(both, chosen))
    assert estimate.diagnostics.rank == 4
    (null,) = estimate.diagnostics.null_directions
    assert set(null) == {"x3", "x4", "x5"}
    assert len(set(np.round(list(null.values()), 9))) == 1


def test_zeros_everywhere_leave_nothing_to_estimate():
    estimate = pn.fit(pn.Choices.from_arrays(np.zeros((6, 5, 2)), [0, 1, 2, 3, 4, 0]))
    assert estimate.status == "not identified"
    assert estimate.diagnostics.rank == 0
    assert estimate.log_likelihood == pytest.approx(-6 * np.log(5), rel=1e-15)


def test_more_variables_than_differences_asks_for_more_decisions():
    rng = np.random.default_rng(1)
    choices = pn.Choices.from_arrays(rng.normal(size=(1, 3, 5)), [1])
    estimate = pn.fit(choices)
    assert estimate.diagnostics.rank == 2  # (m - 1) n, not m n
    assert estimate.diagnostics.decisions_needed == 2  # 3 more directions, 2 from each decision
    assert "collect at least 2 more decisions" in estimate.message


def test_rank_does_not_depend_on_units_or_common_shifts():
    x, chosen = _arrays()
    x[:, :, 2] = x[:, :, 0] - 2 * x[:, :, 1]
    units = np.array([1e-8, 1e7, 3.0])
    shift = np.random.default_rng(2).normal(size=(40, 1, 3)) * 100
    for changed in (x * units, x + shift, (x + shift) * units):
        estimate = pn.fit(pn.Choices.from_arrays(changed, chosen))
        assert estimate.diagnostics.rank == 2
        assert estimate.status == "not identified"


def test_a_tiny_but_real_difference_is_identified():
    x, chosen = _arrays()
    x[:, :, 2] = x[:, :, 0] + 1e-7 * x[:, :, 2]
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.diagnostics.rank == 3
    assert estimate.status == "weakly identified"
    assert "the effects of x1, x3 are hardly identifiable separately" in estimate.message


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-7, 1e-8])
def test_nearly_equal_columns_are_estimated_as_their_difference_is(size):
    # The same model in well-conditioned variables u = x1, v = (x2 - x1)/size, whose difference is
    # formed from the columns as stored: the truth to about eps / size.
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 4, 2))
    x[:, :, 1] = x[:, :, 0] + size * rng.normal(size=(200, 4))
    good = np.stack([x[:, :, 0], (x[:, :, 1] - x[:, :, 0]) / size], axis=2)
    choices = pn.simulate(
        pn.Choices.from_arrays(good, None), [0.9, 0.4], rng=np.random.default_rng(9)
    )
    best = pn.fit(choices)
    expected = np.array([best.theta[0] - best.theta[1] / size, best.theta[1] / size])
    turn = np.array([[1.0, -1 / size], [0.0, 1 / size]])
    errors = np.sqrt(np.diag(turn @ best.covariance @ turn.T))
    estimate = pn.fit(pn.Choices.from_arrays(x, choices.chosen))
    assert estimate.status == "weakly identified"
    np.testing.assert_allclose(estimate.theta, expected, rtol=1e-6)
    np.testing.assert_allclose(estimate.standard_errors, errors, rtol=1e-6)
    # theta ~ 1/size multiplies rounded differences: eps / size in every objective
    assert estimate.log_likelihood == pytest.approx(best.log_likelihood, abs=1e-15 / size * 200)


def test_a_column_that_varies_only_where_the_weight_is_zero_is_not_identified():
    x, chosen = _arrays()
    x[5:, :, 2] = 0.7
    weights = np.where(np.arange(40) < 5, 0, 2)
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen, weights=weights))
    removed = pn.fit(pn.Choices.from_arrays(x[5:], chosen[5:], weights=weights[5:]))
    assert estimate.status == removed.status == "not identified"
    np.testing.assert_allclose(estimate.theta, removed.theta, rtol=1e-12)


def test_not_identified_and_separated_at_once_says_both():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20, 3, 3))
    x[:, :, 2] = -2 * x[:, :, 1]
    choices = pn.Choices.from_arrays(x, x[:, :, 0].argmax(axis=1))
    estimate = pn.fit(choices)
    assert estimate.status == "not identified"
    assert estimate.diagnostics.separation is not None
    assert estimate.log_likelihood == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(estimate.standard_errors).all()


def test_reduced_echelon_spans_the_same_space():
    rows = np.random.default_rng(5).normal(size=(2, 5))
    found = reduced_echelon(rows)
    assert np.linalg.matrix_rank(np.vstack([rows, found]), tol=1e-9) == 2
    np.testing.assert_allclose(found[:, :2], np.eye(2), atol=1e-14)


def test_a_variable_is_of_whole_numbers_only_if_its_last_rows_are_too():
    x = np.arange(6000.0).reshape(1000, 2, 3)
    x[999, 1, 1] += 0.25
    choices = pn.Choices.from_arrays(x, np.zeros(1000, dtype=int))
    assert integer_variables(choices).tolist() == [True, False, True]
