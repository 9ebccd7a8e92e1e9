"""Discounting: limits with known answers, points of indifference, consistent people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import offered
import penchant as pn

ONE_RATE = pytest.mark.parametrize(
    "model", [pn.HyperbolicDiscounting(), pn.models.ExponentialDiscounting()]
)
RULE = {"temperature": 0.0, "discount_rate": 0.02}


def consistent(model, seed=0, n=40, rate=0.02, n_options=2):
    offers = offered.delayed(n=n, seed=seed, n_options=n_options)
    rule = {"temperature": 0.0, "discount_rate": rate}
    return pn.simulate(offers, model, rule, rng=np.random.default_rng(seed))


def explains_all(model, decisions, rate):
    value = model.explanatory(decisions, rate)[:, :, 0]
    taken = value[np.arange(decisions.n_events), decisions.chosen]
    return bool((taken >= value.max(axis=1)).all())


def test_without_delay_everything_is_worth_its_amount():
    offers = {"amount": [[7.0, 9.0]], "delay": [[0.0, 0.0]]}
    decisions = pn.Offers([0], offers)
    for name in ("hyperbolic", "exponential", "constant-sensitivity"):
        model, _ = offered.STATIC[name]
        x = model.explanatory(decisions, *offered.psi_of(name))
        np.testing.assert_array_equal(x[0, :, 0], [7.0, 9.0])


def test_a_sensitivity_of_one_is_exponential():
    decisions = pn.Offers(np.zeros(30), offered.delayed(n=30))
    np.testing.assert_allclose(
        pn.models.ConstantSensitivityDiscounting().explanatory(decisions, 0.03, 1.0),
        pn.models.ExponentialDiscounting().explanatory(decisions, 0.03),
        rtol=1e-12,
    )


def test_without_present_bias_quasi_hyperbolic_is_exponential():
    decisions = pn.Offers(np.zeros(30), offered.delayed(n=30))
    x = pn.models.QuasiHyperbolicDiscounting().explanatory(decisions, 0.03)
    expected = pn.models.ExponentialDiscounting().explanatory(decisions, 0.03)[:, :, 0]
    np.testing.assert_allclose(x.sum(axis=2), expected, rtol=1e-12)
    assert ((x > 0).sum(axis=2) == 1).all()


@pytest.mark.parametrize("name", list(offered.DISCOUNTED))
def test_the_unit_of_delay_is_the_unit_of_the_rate(name):
    model, _ = offered.STATIC[name]
    days = offered.delayed(n=20)
    weeks = {"amount": days["amount"], "delay": days["delay"] / 7}
    rate, *others = offered.psi_of(name)
    one, other = pn.Offers(np.zeros(20), days), pn.Offers(np.zeros(20), weeks)
    np.testing.assert_allclose(
        model.explanatory(one, rate, *others),
        model.explanatory(other, 7 * rate, *others),
        rtol=1e-11,
    )


@ONE_RATE
@given(seed=st.integers(0, 10_000), n_options=st.integers(2, 3), power=st.floats(-4.0, -1.5))
def test_the_rate_of_a_consistent_person_lies_between_points_of_indifference(
    model, seed, n_options, power
):
    decisions = consistent(model, seed, rate=10.0**power, n_options=n_options)
    low, high = model.consistent_rates(decisions)
    assert low <= 10.0**power <= high
    assert explains_all(model, decisions, max(low, 1e-9) * (1 + 1e-9))
    assert explains_all(model, decisions, min(high, 1e3) * (1 - 1e-9))
    assert not low or not explains_all(model, decisions, low * (1 - 1e-6))
    assert not np.isfinite(high) or not explains_all(model, decisions, high * (1 + 1e-6))


@ONE_RATE
def test_one_contradiction_leaves_no_rate(model):
    decisions = consistent(model)
    low, high = model.consistent_rates(decisions)
    value = model.explanatory(decisions, np.sqrt(low * high))[:, :, 0]
    clear = int(np.argmax(np.abs(value[:, 0] - value[:, 1])))
    chosen = decisions.chosen.copy()
    chosen[clear] = 1 - chosen[clear]
    wrong = pn.Offers(chosen, decisions.offers)
    assert model.consistent_rates(wrong) is None
    ignored = pn.Offers(chosen, decisions.offers, scored=np.arange(len(chosen)) != clear)
    assert model.consistent_rates(ignored) is not None


@ONE_RATE
def test_always_sooner_and_always_later_leave_one_side_open(model):
    amount = np.tile([10.0, 15.0], (4, 1))
    delay = np.column_stack([np.zeros(4), [5.0, 20.0, 60.0, 200.0]])
    offers = {"amount": amount, "delay": delay}
    low, high = model.consistent_rates(pn.Offers([1, 1, 1, 1], offers))
    expected = 0.5 / 200 if isinstance(model, pn.HyperbolicDiscounting) else np.log(1.5) / 200
    assert (low, high) == (0.0, pytest.approx(expected, rel=1e-14))
    low, high = model.consistent_rates(pn.Offers([0, 0, 0, 0], offers))
    expected = 0.5 / 5 if isinstance(model, pn.HyperbolicDiscounting) else np.log(1.5) / 5
    assert (low, high) == (pytest.approx(expected, rel=1e-14), np.inf)


@ONE_RATE
def test_catch_questions_are_right_at_every_rate_or_at_none(model):
    offers = {"amount": [[10.0, 8.0], [10.0, 10.0]], "delay": [[0.0, 5.0], [0.0, 5.0]]}
    assert model.consistent_rates(pn.Offers([0, 0], offers)) == (0.0, np.inf)
    assert model.consistent_rates(pn.Offers([1, 0], offers)) is None
    assert model.consistent_rates(pn.Offers([0, 1], offers)) is None
    same = {"amount": [[10.0, 10.0]], "delay": [[5.0, 5.0]]}
    assert model.consistent_rates(pn.Offers([1], same)) == (0.0, np.inf)


@ONE_RATE
def test_blocks_of_a_person_are_taken_together(model):
    first, second = consistent(model, 1, n=15), consistent(model, 2, n=15)
    low, high = model.consistent_rates([first, second])
    ends = [model.consistent_rates(decisions) for decisions in (first, second)]
    assert (low, high) == (max(e[0] for e in ends), min(e[1] for e in ends))


@ONE_RATE
def test_a_fit_finds_the_interval_however_narrow(model):
    for seed in range(5):
        decisions = consistent(model, seed, n=400)
        low, high = model.consistent_rates(decisions)
        estimate = pn.fit(decisions, model)
        assert estimate.status == "separated"
        assert np.isnan(estimate.psi[0])
        assert low <= estimate.source.optimum.points.psi[0, 0] <= high
        assert estimate.interval()[1].tolist() == [low, high]


def test_somebody_who_is_nearly_separated_is_fitted_although_offers_pay_no_rewards():
    sooner = [61, 48, 28, 27, 28, 73, 37, 21, 39, 31, 71, 47, 21, 66, 18, 18, 27, 66, 71, 53, 63]
    later = [91, 92, 110, 34, 31, 82, 293, 521, 41, 39, 657, 100, 22, 71, 18, 174, 108, 120, 77]
    days = [103, 56, 31, 146, 117, 91, 94, 119, 8, 94, 68, 146, 13, 141, 31, 151, 142, 83, 78]
    sooner += [28, 17, 69, 46, 65, 58]
    later += [174, 64, 37, 38, 577, 197, 1006, 59]
    days += [66, 43, 147, 99, 165, 121, 93, 48]
    chosen = np.ones(27, dtype=int)
    chosen[[4, 5, 13, 14, 18, 20, 21, 26]] = 0
    offers = {
        "amount": np.column_stack([sooner, later]).astype(float),
        "delay": np.column_stack([np.zeros(27), days]),
    }
    found = pn.fit(pn.Offers(chosen, offers), pn.HyperbolicDiscounting())
    assert found.status == "weakly identified"
    assert all(np.isfinite(p.estimate) for p in found.parameters)
    assert "order of magnitude of temperature" in found.message
