"""Certified results: 256-bit arithmetic, read from where PENCHANT_EVIDENCE points."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import penchant as pn
import reference
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.prior import jeffreys_gradient

pytestmark = pytest.mark.evidence


def _names():
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder:
        return []
    return sorted(path.stem for path in Path(folder, "golden").glob("*.csv"))


def _read(evidence, name):
    content = json.loads((evidence / "golden" / f"{name}.json").read_text())
    table = pyarrow.csv.read_csv(evidence / "golden" / f"{name}.csv")
    choices = pn.Choices.from_frame(
        table,
        decision="obs",
        option="alt",
        chosen="chosen",
        explanatory=content["covariates"],
        weight="weight" if "weight" in table.column_names else None,
    )
    return content, choices


CERTIFIED = [name for name in _names() if not name.startswith("separation_")]
SEPARATED = [name for name in _names() if name.startswith("separation_")]


def _nested_floats(values):
    return np.array(values, dtype=float)


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_estimates_are_reproduced(evidence, name):
    content, choices = _read(evidence, name)
    certified = content["certified"]
    estimate = pn.fit(choices)
    assert estimate.status == "converged"
    # tolerances of the certification: log-likelihood 1e-11, coefficients 1e-8, errors 1e-7
    assert estimate.log_likelihood == pytest.approx(float(certified["loglik"]), rel=1e-11)
    assert estimate.null_log_likelihood == pytest.approx(float(certified["loglik_zero"]), rel=1e-11)
    np.testing.assert_allclose(estimate.theta, _nested_floats(certified["coef"]), rtol=1e-8)
    np.testing.assert_allclose(estimate.standard_errors, _nested_floats(certified["se"]), rtol=1e-7)
    if "vcov" in certified:
        expected = _nested_floats(certified["vcov"])
        size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        np.testing.assert_allclose(estimate.covariance / size, expected / size, atol=1e-7)


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_robust_errors_are_reproduced(evidence, name):
    content, choices = _read(evidence, name)
    if "se_robust_hc0" not in content["certified"]:
        pytest.skip("no robust errors certified")
    found = pn.fit(choices, covariance="robust").standard_errors
    np.testing.assert_allclose(
        found, _nested_floats(content["certified"]["se_robust_hc0"]), rtol=1e-7
    )


@pytest.mark.parametrize("name", SEPARATED)
def test_separated_sets_have_no_estimate_but_a_supremum_and_a_direction(evidence, name):
    content, choices = _read(evidence, name)
    expected = content["expected"]
    estimate = pn.fit(choices)
    assert estimate.status == "separated"
    assert not estimate.converged
    found = estimate.diagnostics.separation
    assert found.kind == expected["separation"]
    assert found.supremum == pytest.approx(float(expected["sup_loglik"].split()[0]), rel=1e-11)
    for name_of, where in expected["direction_of_recession"].items():
        assert estimate.theta[estimate.names.index(name_of)] == float(where)
        assert np.sign(found.direction[name_of]) == np.sign(float(where))
    assert np.isnan(estimate.standard_errors[np.isinf(estimate.theta)]).all()
    null = float(expected["loglik_zero"].split()[0])
    assert estimate.null_log_likelihood == pytest.approx(null, rel=1e-11)


@pytest.fixture(scope="module")
def exact(evidence):
    return json.loads((evidence / "golden" / "ucl.json").read_text())


def test_small_softmax_case_has_its_exact_derivatives(exact):
    small = exact["softmax_small"]
    choices = pn.Choices.from_arrays(np.array(small["X"]), small["y"])
    theta = np.array(small["theta_eval"])
    moments = likelihood_of(choices).moments(theta)
    assert moments.log_likelihood == pytest.approx(small["loglik"], rel=1e-14)
    np.testing.assert_allclose(moments.gradient, small["gradient"], rtol=1e-13)
    np.testing.assert_allclose(-moments.information, small["hessian"], rtol=1e-13)
    slope = jeffreys_gradient(theta, choices, np.linalg.inv(moments.information))
    np.testing.assert_allclose(slope, small["firth_term"], rtol=1e-12)


def test_the_reference_has_the_exact_derivatives_too(exact):
    small = exact["softmax_small"]
    theta = small["theta_eval"]
    sets = [np.array(x) for x in small["X"]]
    value = reference.log_likelihood(theta, sets, small["y"])
    assert value == pytest.approx(small["loglik"], rel=1e-14)
    np.testing.assert_allclose(
        reference.gradient(theta, sets, small["y"]), small["gradient"], rtol=1e-13
    )
    np.testing.assert_allclose(-reference.information(theta, sets), small["hessian"], rtol=1e-13)
    np.testing.assert_allclose(reference.firth_term(theta, sets), small["firth_term"], rtol=1e-12)


def test_small_softmax_case_has_its_exact_estimates(exact):
    small = exact["softmax_small"]
    choices = pn.Choices.from_arrays(np.array(small["X"]), small["y"])
    estimate = pn.fit(choices)
    assert estimate.log_likelihood == pytest.approx(small["loglik_mle"], rel=1e-13)
    np.testing.assert_allclose(estimate.theta, small["mle"], rtol=1e-11)
    np.testing.assert_allclose(estimate.covariance, small["cov"], rtol=1e-11)
    np.testing.assert_allclose(estimate.standard_errors, small["se"], rtol=1e-11)
    firth = pn.fit(choices, method="firth")
    # its quasi-Newton steps end at a decrement of 1e-12 standard errors
    np.testing.assert_allclose(firth.theta, small["firth_estimate"], rtol=0, atol=1e-11)


def test_separated_case_has_its_exact_firth_estimate(exact):
    small = exact["separated_firth"]
    choices = pn.Choices.from_arrays(np.array(small["X"]), small["y"])
    assert pn.fit(choices).status == "separated"
    assert pn.fit(choices).diagnostics.separation.kind == "complete"
    firth = pn.fit(choices, method="firth")
    assert firth.status == "converged"
    np.testing.assert_allclose(firth.theta, small["firth_estimate"], rtol=1e-11)


@pytest.mark.parametrize("raw", ["train_sp_rawunits"])
def test_units_change_no_test_statistic(evidence, raw):
    _, scaled = _read(evidence, "train_sp_binary")
    _, units = _read(evidence, raw)
    one, other = pn.fit(scaled), pn.fit(units)
    # prices and times differ by a rounded factor: the data agree to about 1e-15 only
    np.testing.assert_allclose(one.z_values, other.z_values, rtol=1e-7)
    np.testing.assert_allclose(one.p_values, other.p_values, rtol=1e-7)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-11)
