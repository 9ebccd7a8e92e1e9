"""The profile log-likelihood as a curve."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

import penchant as pn
from penchant.errors import DataError
from played import ucl, ucl_episode


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(ucl_episode(), ucl())


def slow_height(estimate, value):
    """Best log-likelihood with this prior mean, over the noise and the precision, by search."""
    (episode,) = estimate.episodes

    def lost(at):
        noise, delta = np.exp(at)
        x = estimate.model.explanatory(episode, delta)[episode.scored]
        q = x @ np.array([1 / noise, value / noise])
        chosen = episode.chosen[episode.scored]
        log_p = q - np.logaddexp.reduce(q, axis=1)[:, None]
        return -log_p[np.arange(len(chosen)), chosen].sum()

    start = np.log([1 / estimate.theta[0], estimate.psi[0]])
    found = optimize.minimize(
        lost, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
    )
    return -found.fun


def test_heights_are_those_of_a_search_by_brute_force(estimate):
    curve = pn.results.profile_curve(estimate, "prior_mean", n_points=5)
    for value, height in zip(curve.values, curve.log_likelihoods, strict=True):
        assert height == pytest.approx(slow_height(estimate, value), abs=1e-5)


@pytest.mark.parametrize("name", ["decision_noise", "prior_mean", "prior_variance"])
def test_the_curve_peaks_at_the_estimate_and_falls_to_both_sides(estimate, name):
    curve = pn.results.profile_curve(estimate, name, n_points=11)
    assert curve.name == name
    assert (np.diff(curve.values) > 0).all()
    top = int(np.argmax(curve.log_likelihoods))
    assert curve.values[top] == pytest.approx(curve.estimate)
    assert curve.log_likelihoods[top] == pytest.approx(estimate.log_likelihood, abs=1e-6)
    steps = np.diff(curve.log_likelihoods)
    assert (steps[:top] > 0).all()
    assert (steps[top:] < 0).all()


def test_the_interval_ends_where_the_curve_has_lost_the_quantile(estimate):
    curve = pn.results.profile_curve(estimate, "decision_noise", level=0.9, n_points=61)
    drop = stats.chi2.ppf(0.9, 1) / 2
    for end in (curve.low, curve.high):
        height = np.interp(end, curve.values, curve.log_likelihoods)
        assert height == pytest.approx(estimate.log_likelihood - drop, abs=0.01)
    assert curve.values[0] < curve.low < curve.high < curve.values[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name": "prior_meen"},
            "name must be 'decision_noise', 'prior_mean' or 'prior_variance'",
        ),
        ({"n_points": 2}, "n_points must be at least 3; got 2"),
        ({"level": 1.5}, "level"),
    ],
)
def test_wrong_arguments_are_named(estimate, options, message):
    with pytest.raises(DataError, match=message):
        pn.results.profile_curve(estimate, **{"name": "prior_mean", **options})


def test_an_estimate_that_does_not_exist_has_no_profile(estimate):
    with pytest.raises(
        DataError, match="estimate must have a profile of prior_mean; got status 'sep"
    ):
        pn.results.profile_curve(replace(estimate, status="separated"), "prior_mean")
    with pytest.raises(DataError, match="got an estimate without its episodes"):
        pn.results.profile_curve(
            replace(estimate, source=estimate.source.without_data_for_pickling()), "prior_mean"
        )
