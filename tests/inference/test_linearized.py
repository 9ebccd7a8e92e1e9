"""The paper's estimator: linearised about a nominal prior."""

import json

import numpy as np
import pytest

import penchant as pn

MODEL = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)


def play(prior_variance: float, seed: int = 5) -> pn.Episode:
    truth = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": prior_variance}
    rng = np.random.default_rng(seed)
    return pn.simulate(pn.landscape_a(), MODEL, truth, n_decisions=90, rng=rng)


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
@pytest.mark.parametrize("name", ["ucl_lam1b", "ucl_lam0"])
def test_certified_linearised_estimates_are_reproduced(evidence, name):
    exact = json.loads((evidence / "golden" / "ucl.json").read_text())[name]
    model = pn.UCL(exact["loc"], exact["sigma_s_sq"], length_scale=exact["true"]["lam"])
    nominal = pn.RewardPrior(exact["nominal"]["mu_bar"], exact["nominal"]["s0sq_bar"])
    episode = pn.Episode(exact["choices"], exact["rewards"])
    found = pn.fit_linearized(episode, model, nominal=nominal)
    np.testing.assert_allclose(found.theta, exact["linearised"]["mle"], rtol=1e-8)
    np.testing.assert_allclose(found.covariance, exact["linearised"]["cov"], rtol=1e-7)
    again = pn.relinearize(episode, model, nominal=nominal)
    assert again.log_likelihood == pytest.approx(exact["full_mle"]["loglik"], abs=1e-8)


@pytest.mark.parametrize("prior_variance", [100.0, 1000.0])
def test_far_from_the_nominal_point_the_variance_is_an_artefact_and_said_to_be(prior_variance):
    episode = play(prior_variance)
    with pytest.warns(pn.PenchantWarning, match="not a small deviation"):
        found = pn.fit_linearized(episode, MODEL, nominal=pn.RewardPrior(200, 1e6))
    assert not found.valid
    assert found.bounds == pytest.approx((-1.0, 2.0), abs=1e-3)
    assert found.parameters[2].estimate == pytest.approx(3.38e5, rel=0.02)
    exact = pn.fit(episode, MODEL).parameters[2]
    assert exact.estimate == pytest.approx(prior_variance, abs=4 * exact.standard_error)


def test_relinearised_estimates_are_exact_ones_and_one_shot_is_never_better():
    episode = play(1000.0)
    exact = pn.fit(episode, MODEL)
    again = pn.relinearize(episode, MODEL, nominal=pn.RewardPrior(200, 1e6))
    np.testing.assert_allclose(again.theta, exact.theta, rtol=1e-6)
    ranked = pn.compare_nominals(
        episode, MODEL, [pn.RewardPrior(200, 1e6), pn.RewardPrior(50, 800)]
    )
    values = [found.exact_log_likelihood for found in ranked]
    assert values == sorted(values, reverse=True)
    assert max(values) <= exact.log_likelihood + 1e-9
