"""Stochastic UCL in 60-digit arithmetic, read from where PENCHANT_EVIDENCE points."""

import json

import numpy as np
import pytest
from scipy import special

import belief_reference as dense
import penchant as pn
from penchant.models.model import weights_and_shape

pytestmark = pytest.mark.evidence
CASES = ["ucl_lam1", "ucl_lam1b", "ucl_lam0"]


@pytest.fixture(params=CASES)
def case(request, evidence):
    return json.loads((evidence / "golden" / "ucl.json").read_text())[request.param]


def model_and_episode(case, length_scale="true"):
    scale = case["true"]["lam"] if length_scale == "true" else length_scale
    model = pn.UCL(locations=case["loc"], noise_variance=case["sigma_s_sq"], length_scale=scale)
    return model, pn.Episode(case["choices"], case["rewards"])


def linearised_columns(case):
    """x1 to x4 from the beliefs, about the nominal point."""
    nominal = case["nominal"]
    model, episode = model_and_episode(case, None)
    delta, mean = nominal["delta_bar"], nominal["mu_bar"]
    known = model.beliefs(episode, (delta, nominal["lam"]), 2)
    t = np.arange(1.0, episode.n_events + 1)[:, None]
    z, log_t = model.credible_z(t), np.log(t)
    sd = np.sqrt(case["sigma_s_sq"] * known.variance[0])
    columns = [(known.mean(mean) + sd * z) * log_t, known.f[0] * log_t]
    for q in (1, 2):
        slope = case["sigma_s_sq"] * known.variance[q] / (2 * sd)
        columns.append((known.b[q] + mean * known.f[q] + slope * z) * log_t)
    return np.stack(columns, axis=-1)


def test_beliefs_before_choices_are_the_exact_ones(case):
    model, episode = model_and_episode(case, None)
    true = case["true"]
    delta = case["sigma_s_sq"] / true["s0sq"]
    known = model.beliefs(episode, (delta, true["lam"]))
    mean, sd = known.mean(true["mu0"]), known.standard_deviation(case["sigma_s_sq"])
    for t, expected in case["belief_before_choice"].items():
        # the evidence is rounded to doubles; two dozen observations
        np.testing.assert_allclose(mean[int(t) - 1], expected["mu"], rtol=1e-13)
        np.testing.assert_allclose(sd[int(t) - 1], expected["sd"], rtol=1e-13)


def test_linearised_columns_are_the_exact_ones(case):
    columns = linearised_columns(case)
    for t, expected in case["features"].items():
        found, exact = columns[int(t) - 1], np.array(expected)
        size = np.where(np.abs(exact).max(axis=0) > 0, np.abs(exact).max(axis=0), 1.0)
        np.testing.assert_allclose(found / size, exact / size, rtol=0, atol=1e-10)


def test_the_reference_has_the_exact_columns_too(case):
    nominal = case["nominal"]
    columns = dense.linearised(
        case["choices"],
        case["rewards"],
        case["loc"],
        case["sigma_s_sq"],
        nominal["mu_bar"],
        nominal["delta_bar"],
        nominal["lam"],
    )
    for t, expected in case["features"].items():
        exact = np.array(expected)
        size = np.where(np.abs(exact).max(axis=0) > 0, np.abs(exact).max(axis=0), 1.0)
        np.testing.assert_allclose(columns[int(t) - 1] / size, exact / size, rtol=0, atol=1e-10)


def test_the_linearised_log_likelihood_is_the_exact_one(case):
    theta = np.array(case["linearised"]["theta"])
    q = linearised_columns(case)[:, :, :3] @ theta
    log_p = q - special.logsumexp(q, axis=1, keepdims=True)
    found = log_p[np.arange(len(q)), case["choices"]].sum()
    assert found == pytest.approx(case["linearised"]["loglik"], rel=1e-12)


def test_the_log_likelihood_at_the_truth_is_the_exact_one(case):
    model, episode = model_and_episode(case)
    true = case["true"]
    theta, psi = weights_and_shape(
        model,
        {"decision_noise": true["nu"], "prior_mean": true["mu0"], "prior_variance": true["s0sq"]},
    )
    q = model.explanatory(episode, *psi) @ theta
    log_p = q - special.logsumexp(q, axis=1, keepdims=True)
    found = log_p[np.arange(len(q)), case["choices"]].sum()
    assert found == pytest.approx(case["exact_loglik_at_truth"], rel=1e-12)
    literal = dense.ucl_log_likelihood(
        case["choices"],
        case["rewards"],
        case["loc"],
        case["sigma_s_sq"],
        (true["nu"], true["mu0"], true["s0sq"], true["lam"]),
    )
    assert literal == pytest.approx(case["exact_loglik_at_truth"], rel=1e-12)


def test_exact_estimates_are_reproduced_or_said_not_to_exist(case):
    model, episode = model_and_episode(case)
    estimate = pn.fit(episode, model)
    assert estimate.log_likelihood >= case["exact_loglik_at_truth"]
    if case["separated"]:
        assert estimate.status == "separated"
        assert np.isnan(estimate.standard_errors).all()
        return
    expected = case["full_mle"]
    assert estimate.status == "converged"
    # ucl_lam0 has 15 decisions for 3 parameters, and says so
    few = len(case["choices"]) < 16
    assert any("too few to rest on standard errors" in note for note in estimate.notes) == few
    assert estimate.log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)
    found = {p.name: p.estimate for p in estimate.parameters}
    # the evidence: "float64, ~1e-6 relative in delta"
    assert found["decision_noise"] == pytest.approx(expected["nu"], rel=1e-6)
    assert found["prior_mean"] == pytest.approx(expected["mu0"], rel=2e-6)
    assert found["prior_variance"] == pytest.approx(expected["s0sq"], rel=2e-6)
    assert estimate.psi[0] == pytest.approx(expected["delta"], rel=2e-6)
