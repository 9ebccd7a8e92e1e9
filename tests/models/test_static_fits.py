"""Fits of discounting and gambles: recovery, other optimisers, consistent people."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import offered
import penchant as pn

# Kirby's questionnaire is of this kind: 27 questions, rates of indifference some 2.5 times apart.
QUESTIONS = np.array(
    [
        [54, 55, 117], [55, 75, 61], [19, 25, 53], [31, 85, 7], [14, 25, 19], [47, 50, 160],
        [15, 35, 13], [25, 60, 14], [78, 80, 162], [40, 55, 62], [11, 30, 7], [67, 75, 119],
        [34, 35, 186], [27, 50, 21], [69, 85, 91], [49, 60, 89], [80, 85, 157], [24, 35, 29],
        [33, 80, 14], [28, 30, 179], [34, 50, 30], [25, 30, 80], [41, 75, 20], [54, 60, 111],
        [54, 80, 30], [22, 25, 136], [20, 55, 7],
    ]
)  # fmt: skip
QUESTIONNAIRE = {
    "amount": QUESTIONS[:, :2],
    "delay": np.column_stack([np.zeros(27), QUESTIONS[:, 2]]),
}
HYPERBOLIC = pn.HyperbolicDiscounting()


def simulated(name, n=500, seed=3, **changed):
    model, truth = offered.STATIC[name]
    rng = np.random.default_rng(seed)
    offers = offered.offers_of(name, n=n, seed=seed)
    return pn.simulate(offers, model, truth | changed, rng=rng)


def answers(rate, seed=0, temperature=0.0, offers=QUESTIONNAIRE, subject=None):
    rule = {"temperature": temperature, "discount_rate": rate}
    rng = np.random.default_rng(seed)
    return pn.simulate(offers, HYPERBOLIC, rule, rng=rng, subject=subject)


@pytest.mark.parametrize("name", list(offered.STATIC))
def test_truth_is_recovered(name):
    model, truth = offered.STATIC[name]
    estimate = pn.fit(simulated(name), model)
    assert estimate.status == "converged"
    for parameter in estimate.parameters:
        assert abs(parameter.estimate - truth[parameter.name]) < 4 * parameter.standard_error


@pytest.mark.slow
@pytest.mark.parametrize("name", list(offered.STATIC))
def test_no_other_optimiser_finds_more(name):
    model, _ = offered.STATIC[name]
    decisions = simulated(name, n=90, seed=11)
    estimate = pn.fit(decisions, model)
    d = len(model.weights)

    def lost(z):
        psi = [float(s.from_unconstrained(u)) for s, u in zip(model.shape, z[d:], strict=True)]
        x = offered.literal_variables(name, decisions.offers, psi)
        q = x @ np.concatenate([[np.exp(z[0])], z[1:d]])
        q -= q.max(axis=1, keepdims=True)
        return -(q[np.arange(len(q)), decisions.chosen] - np.log(np.exp(q).sum(axis=1))).sum()

    limits = [(-12.0, 6.0)] + [(-30.0, 30.0)] * (d - 1) + [s.search_range for s in model.shape]
    rng = np.random.default_rng(2)
    for _ in range(3):
        middle = [s.search_range[0] + rng.random() * np.ptp(s.search_range) for s in model.shape]
        start = np.concatenate([[-1.0], np.zeros(d - 1), middle])
        found = minimize(lost, start, method="L-BFGS-B", bounds=limits)
        assert estimate.log_likelihood >= -found.fun - 1e-6
    at = np.concatenate([[np.log(estimate.weights[0])], estimate.weights[1:]])
    at = np.concatenate(
        [at, [s.to_unconstrained(v) for s, v in zip(model.shape, estimate.psi, strict=True)]]
    )
    assert -lost(at) == pytest.approx(estimate.log_likelihood, rel=1e-9)


def test_each_subject_is_fitted_as_by_itself():
    people = [answers(0.02 * (s + 1), s, 4.0, subject=f"s{s}") for s in range(5)]
    together = pn.fit_each(people, HYPERBOLIC)
    assert together.subjects == ("s0", "s1", "s2", "s3", "s4")
    for decisions in people:
        alone = pn.fit(decisions, HYPERBOLIC)
        assert together.of(decisions.subject).status == alone.status
        np.testing.assert_allclose(together.of(decisions.subject).psi, alone.psi, rtol=1e-6)


def test_decisions_without_a_choice_and_not_scored_do_not_count():
    decisions = answers(0.02, 3, 4.0)
    chosen = np.append(decisions.chosen, [-1, 1, 0])
    offers = {name: np.vstack([array, array[:3]]) for name, array in decisions.offers.items()}
    scored = np.append(np.ones(28, dtype=bool), [False, False])
    more = pn.Offers(chosen, offers, scored=scored)
    one, other = pn.fit(decisions, HYPERBOLIC), pn.fit(more, HYPERBOLIC)
    assert one.n_decisions == other.n_decisions == 27
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)
    assert "1 decision without a choice: not scored." in other.summary()


@pytest.mark.parametrize("rate", [1e-5, 0.003, 0.02, 0.1, 10.0])
def test_a_consistent_person_is_separated_with_the_rate_between_indifference_points(rate):
    decisions = answers(rate)
    low, high = HYPERBOLIC.consistent_rates(decisions)
    estimate = pn.fit(decisions, HYPERBOLIC)
    assert estimate.status == "separated"
    assert np.isnan(estimate.psi[0])
    assert low <= estimate.source.optimum.points.psi[0, 0] <= high
    assert estimate.interval()[1].tolist() == [low, high]
    assert np.isinf(estimate.weights[0])
    assert np.isnan(estimate.standard_errors).all()
    assert estimate.log_likelihood == pytest.approx(0.0, abs=1e-9)
    assert "separated" in estimate.summary()


@pytest.mark.parametrize("rate", [1e-5, 0.003, 0.02, 0.1, 10.0])
def test_a_weak_prior_gives_a_consistent_person_a_finite_estimate(rate):
    decisions = answers(rate)
    low, high = HYPERBOLIC.consistent_rates(decisions)
    estimate = pn.fit(decisions, HYPERBOLIC, parameter_prior=pn.ScaledPrior())
    assert estimate.status in ("converged", "at a bound")
    assert np.isfinite(estimate.theta).all()
    ((_, _), (lowest, highest)) = estimate.interval(kind="profile")
    assert lowest < high
    assert highest > low
    assert (estimate.predict()[np.arange(27), decisions.chosen] > 0.4).all()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_an_interval_narrower_than_the_grid_is_not_missed(seed):
    rng = np.random.default_rng(seed)
    n = 150
    amount = np.column_stack([rng.uniform(1, 100, n), np.full(n, 100.0)])
    offers = {"amount": amount, "delay": np.column_stack([np.zeros(n), rng.uniform(1, 400, n)])}
    decisions = answers(10 ** rng.uniform(-3.5, -0.5), seed, offers=offers)
    low, high = HYPERBOLIC.consistent_rates(decisions)
    estimate = pn.fit(decisions, HYPERBOLIC)
    assert estimate.status == "separated"
    assert low <= estimate.source.optimum.points.psi[0, 0] <= high


@pytest.mark.parametrize("seed", [4, 57, 88])
def test_amounts_that_delays_make_worth_nothing_do_no_harm(seed):
    model, rng = pn.models.ConstantSensitivityDiscounting(), np.random.default_rng(seed)
    truth = {
        "temperature": np.exp(rng.normal(0.5, 1)),
        "discount_rate": np.exp(rng.uniform(-7, -1)),
        "time_sensitivity": np.exp(rng.uniform(-1.6, 1.4)),
    }
    offers = offered.delayed(n=40, seed=seed)
    decisions = pn.simulate(offers, model, truth, rng=rng)
    estimate = pn.fit(decisions, model)
    assert np.isfinite(estimate.log_likelihood)
    weak = pn.fit(decisions, model, parameter_prior=pn.ScaledPrior())
    assert np.isfinite(weak.theta).all()


@pytest.mark.parametrize("name", ["expected-utility", "prospect", "prelec"])
def test_consistent_gamblers_are_separated_and_finite_with_a_prior(name):
    model, _ = offered.STATIC[name]
    decisions = simulated(name, n=40, temperature=0.0)
    assert pn.fit(decisions, model).status == "separated"
    weak = pn.fit(decisions, model, parameter_prior=pn.ScaledPrior())
    assert np.isfinite(weak.theta).all()
    assert weak.status in ("converged", "at a bound", "weakly identified")


def test_no_losses_leave_loss_aversion_unknown_and_the_status_says_so():
    outcome = np.abs(offered.risky(n=80)["outcome"])
    offers = {"outcome": outcome, "probability": offered.risky(n=80)["probability"]}
    truth = {"temperature": 0.8, "loss_aversion": 1.9, "curvature": 0.75}
    decisions = pn.simulate(offers, pn.models.ProspectValue(), truth, rng=np.random.default_rng(0))
    assert pn.fit(decisions, pn.models.ProspectValue()).status == "not identified"
    assert pn.fit(decisions, pn.models.ProspectValue(losses=False)).status == "converged"
