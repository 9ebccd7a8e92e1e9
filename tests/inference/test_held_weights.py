"""Separated choices under a prior that leaves weights free."""

import numpy as np
import pytest
from scipy import optimize, stats

import penchant as pn
from profile_problem import Problem

RATES = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.5, 1.0])


def _answers():
    """Ten answers that every discount rate between 0.05 and 0.1 explains."""
    later, delay = np.full(10, 100.0), np.full(10, 30.0)
    amounts = np.column_stack([later / (1 + RATES * delay), later])
    delays = np.column_stack([np.zeros(10), delay])
    return pn.Offers(np.where(RATES <= 0.05, 0, 1), {"amount": amounts, "delay": delays})


def _rate_alone(mode):
    return pn.NaturalPrior(discount_rate=stats.lognorm(0.5, scale=mode * np.exp(0.25)))


@pytest.mark.parametrize(("mode", "expected"), [(0.02, 0.05), (0.07, 0.07), (0.3, 0.1)])
def test_the_mode_is_that_of_the_prior_among_rates_that_explain_all(mode, expected):
    estimate = pn.fit(_answers(), pn.HyperbolicDiscounting(), parameter_prior=_rate_alone(mode))
    assert estimate.status == "separated"
    assert estimate.weights[0] == np.inf
    assert estimate.psi[0] == pytest.approx(expected, rel=1e-4)
    assert estimate.log_likelihood == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(estimate.standard_errors).all()
    np.testing.assert_array_equal(estimate.interval(), estimate.interval(kind="profile"))
    assert "Give temperature a density too" in estimate.message
    assert "firth" not in estimate.message


def _lowest_log_posterior(rate, prior):
    """Log-posterior of a rate at its best temperature, by plain search."""
    amounts = _answers().offers["amount"]
    worth = amounts / (1 + rate * _answers().offers["delay"])
    other = np.where(RATES <= 0.05, worth[:, 1] - worth[:, 0], worth[:, 0] - worth[:, 1])
    found = optimize.minimize_scalar(
        lambda log_size: np.logaddexp(0.0, np.exp(log_size) * other).sum(),
        bounds=(-20.0, 12.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -found.fun + float(prior.densities["discount_rate"].logpdf(rate))


def test_the_interval_of_the_rate_ends_where_the_posterior_has_fallen():
    prior = _rate_alone(0.07)
    estimate = pn.fit(_answers(), pn.HyperbolicDiscounting(), parameter_prior=prior)
    (cool, hot), (low, high) = estimate.interval(kind="profile")
    assert cool == 0
    assert np.isfinite(hot)
    top = float(prior.densities["discount_rate"].logpdf(0.07))
    for end in (low, high):
        fallen = top - _lowest_log_posterior(end, prior)
        assert fallen == pytest.approx(stats.chi2.isf(0.05, 1) / 2, abs=1e-4)
    assert low < 0.05 and high > 0.1


def _consistent_play():
    return pn.Episode([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1])


def test_learning_with_stickiness_is_separated_under_a_prior_on_the_rate_alone():
    prior = pn.NaturalPrior(learning_rate=stats.beta(2, 2))
    model = pn.QLearning(2, stickiness=True)
    estimate = pn.fit(_consistent_play(), model, parameter_prior=prior)
    assert estimate.status == "separated"
    assert np.isinf(estimate.weights).all()
    assert estimate.log_likelihood == pytest.approx(-np.log(2), rel=1e-9)  # the first is by chance
    many = pn.fit_each([_consistent_play()], model, parameter_prior=prior)
    assert many.status == ("separated",)


@pytest.mark.parametrize(
    "prior",
    [
        pn.NaturalPrior(discount_rate=stats.lognorm(0.5, scale=0.07), temperature=stats.gamma(2)),
        pn.NaturalPrior(temperature=stats.gamma(2)),
    ],
)
def test_a_density_of_the_temperature_leaves_a_maximum(prior):
    estimate = pn.fit(_answers(), pn.HyperbolicDiscounting(), parameter_prior=prior)
    assert estimate.status in ("converged", "weakly identified")
    assert np.isfinite(estimate.theta).all()


def test_a_density_of_one_weight_does_not_hold_the_other():
    prior = pn.NaturalPrior(stickiness=stats.norm(0, 1))
    model = pn.QLearning(2, stickiness=True)
    play = pn.Episode([0, 1, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 1, 1, 1, 1])
    estimate = pn.fit(play, model, parameter_prior=prior)
    assert estimate.status == "separated"
    assert estimate.weights[0] == np.inf
    assert np.isfinite(estimate.weights[1])
    assert "Give temperature a density too" in estimate.message


@pytest.mark.parametrize("sd", [0.3, 1.0, 3.0])
def test_a_temperature_that_goes_to_0_as_the_rate_goes_to_1_is_weak_if_no_density_holds_it(sd):
    prior = pn.NaturalPrior(stickiness=stats.norm(0, sd))
    model = pn.QLearning(2, stickiness=True)
    estimate = pn.fit(_consistent_play(), model, parameter_prior=prior)
    assert estimate.status == "weakly identified"
    assert estimate.diagnostics.near_separation == {"inverse_temperature": 1.0}
    assert "separated along inverse_temperature" in estimate.message
    assert "give temperature a density too" in estimate.message
    assert "firth" not in estimate.message
    many = pn.fit_each([_consistent_play()], model, parameter_prior=prior)
    assert many.status == ("weakly identified",)
    # plain search: nearer and nearer to 1 the posterior rises, and so does the weight
    problem = Problem(model, (_consistent_play(),), prior)
    away = np.array([1e-1, 1e-2, 1e-3, 1e-4])
    points = problem.profiles.solve(np.zeros(4, dtype=int), 1 - away[:, None])
    assert (np.diff(points.value) > 0).all() and (points.theta[:, 0] * away > 1).all()


def test_a_density_that_holds_all_weights_leaves_a_maximum_at_a_rate_near_1():
    prior = pn.NaturalPrior(stickiness=stats.norm(0, 1), temperature=stats.gamma(2, scale=0.2))
    estimate = pn.fit(_consistent_play(), pn.QLearning(2, stickiness=True), parameter_prior=prior)
    assert estimate.diagnostics.near_separation is None
    assert estimate.status in ("converged", "at a bound")


def test_answers_that_contradict_leave_the_maximum_of_before():
    decisions = _answers()
    chosen = decisions.chosen.copy()
    chosen[[1, 8]] = 1 - chosen[[1, 8]]
    noisy = pn.Offers(chosen, decisions.offers)
    prior = _rate_alone(0.07)
    estimate = pn.fit(noisy, pn.HyperbolicDiscounting(), parameter_prior=prior)
    assert estimate.status == "converged"
    assert np.isfinite(estimate.standard_errors).all()
