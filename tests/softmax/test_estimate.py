"""What comes back from a fit."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from made import case, half_separated_case, separated_case


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(case(weighted=True).choices)


@pytest.mark.parametrize("z", [0.0, 1.0, 1.96, 5.0, 40.0])
def test_p_values_are_twice_the_upper_tail(estimate, z):
    errors = estimate.standard_errors
    moved = dataclasses.replace(estimate, theta=z * errors * [1, -1, 1])
    np.testing.assert_allclose(moved.p_values, 2 * stats.norm.sf(z), rtol=1e-12)


def test_criteria_count_parameters_and_weights(estimate):
    value = estimate.log_likelihood
    assert estimate.aic == pytest.approx(6 - 2 * value)
    assert estimate.bic == pytest.approx(3 * np.log(estimate.total_weight) - 2 * value)
    assert estimate.pseudo_r2 == pytest.approx(1 - value / estimate.null_log_likelihood)
    assert estimate.total_weight == case(weighted=True).weights.sum()
    assert estimate.n_parameters == 3


def test_an_estimate_is_pickled_without_its_data_and_takes_it_back(estimate):
    stored = pickle.dumps(estimate)
    assert len(stored) < 4000
    again = pickle.loads(stored)
    assert again.choices is None
    assert again.summary() == estimate.summary()
    x = np.random.default_rng(1).normal(size=(6, 3, 3))
    np.testing.assert_array_equal(again.predict(x), estimate.predict(x))
    with pytest.raises(
        pn.errors.DataError, match=r"interval\(kind='profile'\) must have the choices"
    ):
        again.interval(kind="profile")
    attached = again.attach(case(weighted=True).choices)
    np.testing.assert_array_equal(
        attached.interval(kind="profile"), estimate.interval(kind="profile")
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.robust(),
        lambda e: e.clustered([0, 1]),
        lambda e: e.likelihood_ratio_test("x1"),
        lambda e: e.score_test("x1"),
        lambda e: e.log_likelihoods(),
        lambda e: e.bias,
    ],
)
def test_what_needs_the_data_says_so(estimate, ask):
    again = pickle.loads(pickle.dumps(estimate))
    with pytest.raises(
        pn.errors.DataError, match=r"must have the choices(?s:.*)attach\(choices\) first"
    ):
        ask(again)


def test_other_data_cannot_be_attached(estimate):
    again = pickle.loads(pickle.dumps(estimate))
    with pytest.raises(pn.errors.DataError, match="choices must be those of the fit"):
        again.attach(case(n=20).choices)


def test_log_likelihoods_sum_to_the_log_likelihood():
    estimate = pn.fit(case().choices)
    assert estimate.log_likelihoods().sum() == pytest.approx(estimate.log_likelihood, rel=1e-12)
    other = case(seed=5, n=9)
    assert estimate.log_likelihoods(other.choices).shape == (9,)


@pytest.mark.parametrize("ask", [lambda e: e.log_likelihoods(), lambda e: e.bias])
def test_what_needs_a_finite_estimate_names_itself(ask):
    with pytest.raises(pn.errors.DataError) as caught:
        ask(pn.fit(separated_case().choices))
    assert "robust" not in str(caught.value)


def test_reading_forms_show_names_status_and_numbers(estimate):
    text = estimate.summary()
    assert str(estimate) == text
    for word in ("Status: converged", "x1", "x3", "std. error", "95 % low", "AIC, BIC"):
        assert word in text
    assert repr(estimate).startswith("<Estimate converged: x1=")
    assert "<table>" in estimate._repr_html_()
    assert r"\toprule" in estimate.to_latex()
    assert "90 \\% low" in estimate.to_latex(level=0.9)


@pytest.mark.parametrize("make", [separated_case, half_separated_case])
def test_a_separated_estimate_can_be_read_in_every_form(make):
    estimate = pn.fit(make().choices)
    assert "inf" in estimate.summary()
    assert estimate.to_latex() and estimate._repr_html_() and estimate.to_dict()
    assert estimate.message.split(":")[0] in estimate.summary().replace("\n", " ")
    assert len(estimate.to_frame()) == 2


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_has_one_row_per_parameter(estimate, backend):
    pytest.importorskip(backend)
    table = estimate.to_frame(backend=backend)
    columns = table.column_names if backend == "pyarrow" else list(table.columns)
    assert columns == ["name", "estimate", "standard_error", "z", "p", "low", "high"]
    assert table.shape[0] == 3


def test_an_unknown_backend_is_refused(estimate):
    with pytest.raises(
        pn.errors.DataError, match="backend must be 'pandas', 'polars' or 'pyarrow'"
    ):
        estimate.to_frame(backend="excel")


def test_certain_choices_can_be_read():
    # An option that no one could miss: the null log-likelihood is 0.
    offset = np.tile([0.0, -1e4, -1e4], (5, 1))
    x = np.random.default_rng(3).normal(size=(5, 3, 1))
    estimate = pn.fit(pn.Choices.from_arrays(x, np.zeros(5, int), offset=offset))
    assert estimate.summary()
    assert estimate.to_dict()
