"""Estimates while somebody plays."""

import numpy as np
import pytest

import penchant as pn

UCL = pn.UCL(locations=pn.grid(4, 3), noise_variance=2.0, length_scale=1.5)
TRUTH = {"decision_noise": 3.0, "prior_mean": 12.0, "prior_variance": 30.0}


def episode(n: int = 40) -> pn.Episode:
    place = pn.Landscape(np.linspace(5.0, 20.0, 12), pn.GaussianNoise(2.0))
    return pn.simulate(place, UCL, TRUTH, n_decisions=n, rng=np.random.default_rng(6))


@pytest.mark.parametrize("prior", [None, pn.ScaledPrior(2.0)])
def test_a_live_estimate_is_that_of_a_fit_on_the_same_history(prior):
    played, live = episode(), pn.live(UCL, parameter_prior=prior)
    for t, (chosen, reward) in enumerate(zip(played.chosen, played.rewards, strict=True), start=1):
        live.observe(chosen, reward)
        now = live.estimate()
        if t % 10 == 0:
            history = pn.Episode(played.chosen[:t], played.rewards[:t])
            fitted = pn.fit(history, UCL, parameter_prior=prior)
            assert now.status == fitted.status
            assert now.log_likelihood == pytest.approx(fitted.log_likelihood, abs=1e-7)


def test_a_history_that_tells_nothing_yet_raises_nothing():
    live = pn.live(UCL)
    assert live.estimate().status == "not identified"
    live.observe(3, 7.0, is_choice=False)
    assert live.estimate().n_decisions == 0
    live.observe(None)
    live.observe(5, 9.0)
    assert live.estimate().status in ("not identified", "separated")


def test_one_subject_after_another_is_fitted_as_by_itself():
    plays = [pn.Episode(episode(30).chosen, episode(30).rewards, subject=s) for s in "ab"]
    estimates = pn.fit_each([*plays, pn.Episode([], [], subject="c")], UCL, threads=2)
    assert estimates.subjects == ("a", "b", "c")
    assert estimates.status[2] == "not identified"
    np.testing.assert_array_equal(estimates[0].theta, pn.fit(plays[0], UCL).theta)
    assert estimates.to_frame(backend="pyarrow").num_rows == 3
