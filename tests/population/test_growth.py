"""Growth of regret: the curves against slow references, categories, doubts, bad input."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import penchant as pn
from penchant.population.regret_growth_categories import (
    ORDERS,
    best_orders,
    fit_growth_curves,
    wild_bootstrap_replicates,
)

T = np.arange(1.0, 91.0)
CURVES = {
    "linear": lambda t, a, b: a + b * t,
    "power": lambda t, a, b: a * t**b,
    "logarithmic": lambda t, a, b: a + b * np.log(t),
}
TRUTHS = {"linear": (70.0, 9.0), "power": (31.0, 0.62), "logarithmic": (45.0, 23.0)}


def growth_order(regret, subject=None, **options):
    return pn.results.growth_orders([regret], [subject], **options)[0]


def random_walk(seed, n=90):
    """A regret that follows no curve."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(8.0, n) * (rng.random(n) < rng.uniform(0.1, 0.9)))


def literal_residual(order, regret):
    """The best curve by many starts of a general optimiser."""
    t = np.arange(1.0, len(regret) + 1.0)
    if order != "power":
        x = np.column_stack([np.ones_like(t), t if order == "linear" else np.log(t)])
        return float(np.linalg.lstsq(x, regret, rcond=None)[1][0])

    def loss(b):
        u = t**b
        a = regret @ u / (u @ u)
        return float(((regret - a * u) ** 2).sum())

    ends = [optimize.minimize_scalar(loss, bounds=(b, b + 0.5), method="bounded",
                                     options={"xatol": 1e-10}).fun
            for b in np.arange(0.0, 20.0, 0.5)]  # fmt: skip
    return min(ends)


@pytest.mark.parametrize("order", ORDERS)
def test_known_orders_and_their_numbers_are_recovered(order):
    a, b = TRUTHS[order]
    found = growth_order(CURVES[order](T, a, b))
    assert found.order == order
    assert found.category == ("high" if order == "logarithmic" else "low")
    assert (found.curve().a, found.curve().b) == pytest.approx((a, b), rel=1e-9)
    np.testing.assert_allclose(found.curve().at(T), CURVES[order](T, a, b), rtol=1e-9)
    assert found.category_weight == pytest.approx(1.0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_orders_are_recovered_through_noise(order, seed):
    rng = np.random.default_rng(seed)
    clean = CURVES[order](T, *TRUTHS[order])
    found = growth_order(clean + rng.normal(0, 0.02 * np.ptp(clean), len(T)))
    assert found.order == order


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("order", ORDERS)
def test_residuals_are_the_least_there_are(order, seed):
    regret = random_walk(seed)
    found = growth_order(regret).curve(order)
    assert found.residual == pytest.approx(literal_residual(order, regret), rel=1e-9)
    shown = CURVES[order](T, found.a, found.b)
    assert found.residual == pytest.approx(float(((regret - shown) ** 2).sum()), rel=1e-9)


@given(seed=st.integers(0, 10_000), scale=st.floats(1e-6, 1e6))
def test_units_of_reward_change_nothing_but_the_units(seed, scale):
    regret = random_walk(seed, 40) + 1.0
    one, other = growth_order(regret), growth_order(scale * regret)
    assert one.order == other.order
    for mine, yours in zip(one.curves, other.curves, strict=True):
        assert yours.weight == pytest.approx(mine.weight, rel=1e-5, abs=1e-12)
        assert yours.residual == pytest.approx(scale**2 * mine.residual, rel=1e-7)


def test_weights_are_those_of_aic_written_out():
    regret = random_walk(4)
    found = growth_order(regret)
    aic = [len(T) * np.log(literal_residual(o, regret) / len(T)) + 6.0 for o in ORDERS]
    assert [c.aic for c in found.curves] == pytest.approx(aic, abs=1e-6)
    likely = np.exp(-0.5 * (np.array(aic) - min(aic)))
    assert [c.weight for c in found.curves] == pytest.approx(likely / likely.sum(), abs=1e-7)
    ranked = sorted(aic)
    assert found.margin == pytest.approx(ranked[1] - ranked[0], abs=1e-6)
    assert found.category_margin == pytest.approx(abs(min(aic[:2]) - aic[2]), abs=1e-6)


def test_linear_against_power_is_said_to_be_arbitrary():
    found = growth_order(12.5 * T)
    assert (found.order, found.category, found.margin) == ("linear", "low", 0.0)
    assert [c.weight for c in found.curves[:2]] == pytest.approx([0.5, 0.5])
    assert found.words.endswith("Linear against power is close to arbitrary; both are low.")
    clear = growth_order(CURVES["power"](T, 31.0, 0.62))
    assert "arbitrary" not in clear.words


def test_a_category_that_could_be_the_other_is_said_to_be_arbitrary():
    wobble = 2.0 * np.sin(T)
    ends = [CURVES[order](T, *TRUTHS[order]) for order in ("logarithmic", "power")]

    def mixed(share):
        return growth_order(share * ends[0] + (1 - share) * ends[1] + wobble)

    def lead(share):
        linear, power, logarithmic = (curve.aic for curve in mixed(share).curves)
        return min(linear, power) - logarithmic

    even = optimize.brentq(lead, 0.0, 1.0)
    assert mixed(even).category_margin < 1e-6
    assert "The category is close to arbitrary" in mixed(even).words
    assert "The category is close to arbitrary" not in mixed(1.0).words
    assert (mixed(0.0).category, mixed(1.0).category) == ("low", "high")


@pytest.mark.parametrize("regret", [0 * T, 0 * T + 7.25, 10.0 - T, -(T**0.5)])
def test_regret_that_does_not_grow_has_no_order_and_is_high(regret):
    found = growth_order(regret, n_bootstrap=20, rng=np.random.default_rng(0))
    assert (found.status, found.order, found.category) == ("not growing", "none", "high")
    assert "does not grow" in found.words
    assert np.isnan(found.category_weight)
    with pytest.raises(pn.errors.DataError, match="order must be one that was fitted; got 'none'"):
        found.curve()


@pytest.mark.parametrize("n", range(4))
def test_too_few_decisions_tell_nothing(n):
    found = growth_order(T[:n])
    assert (found.status, found.order, found.category) == ("too few decisions", "none", None)
    assert found.curves == ()
    assert np.isnan(found.margin) and np.isnan(found.category_margin)
    assert found.words == f"4 decisions are needed to tell how regret grows; got {n}."
    assert growth_order(T[:4]).order == "linear"


def test_a_last_reward_that_is_missing_is_left_out_and_nothing_else():
    regret = random_walk(3)
    found = growth_order(np.append(regret, np.nan))
    assert found.to_dict() == growth_order(regret).to_dict()
    broken = regret.copy()
    broken[41] = np.nan
    with pytest.raises(pn.errors.DataError, match="regret must be finite; got nan at decision 41"):
        growth_order(broken)
    with pytest.raises(pn.errors.DataError, match="got inf at decision 90 of subject ann"):
        growth_order(np.append(regret, np.inf), subject="ann")


def test_other_bad_input_is_refused():
    with pytest.raises(pn.errors.DataError, match="rng must be given with a bootstrap"):
        growth_order(T, n_bootstrap=10)
    with pytest.raises(pn.errors.DataError, match="n_bootstrap must be at least 0; got -1"):
        growth_order(T, n_bootstrap=-1, rng=np.random.default_rng(0))
    with pytest.raises(
        pn.errors.DataError, match=r"must be one number per decision; got shape \(3, 2\)"
    ):
        growth_order(np.ones((3, 2)))
    with pytest.raises(pn.errors.DataError, match="regret must be numbers"):
        growth_order(["much", "more"])
    with pytest.raises(pn.errors.DataError, match="subjects must be one per regret"):
        pn.results.growth_orders([T, T], ["ann"])


def test_many_subjects_are_those_one_by_one_whatever_their_horizons():
    regrets = {f"s{i}": random_walk(i, n) for i, n in enumerate([90, 40, 90, 3, 61, 40])}
    together = pn.results.growth_orders(regrets)
    assert together.subjects == tuple(regrets)
    for subject, regret in regrets.items():
        mine, one = together.of(subject), growth_order(regret, subject=subject)
        assert (mine.subject, mine.order, mine.words) == (subject, one.order, one.words)
        assert len(json.dumps(mine.to_dict())) > 100
        for found, alone in zip(mine.curves, one.curves, strict=True):
            assert found.residual == pytest.approx(alone.residual, rel=1e-10)  # sums of T terms
            assert (found.a, found.b) == pytest.approx((alone.a, alone.b), rel=1e-8)
    table = together.to_frame(backend="pandas")
    assert list(table["subject"]) == list(regrets)
    assert list(table["order"]) == [found.order for found in together]
    assert table["power_b"][0] == together[0].curve("power").b
    assert np.isnan(table["power_b"][3])
    assert sum(together.counts().values()) == len(together) == 6
    assert together.categories[3] is None
    with pytest.raises(
        pn.errors.DataError, match="subject must be one of s0, s1, s2, s3, s4, s5; got 'zoe'"
    ):
        together.of("zoe")


def test_regret_is_not_changed():
    regret = random_walk(1)
    before = regret.copy()
    growth_order(regret, n_bootstrap=5, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(regret, before)


def test_bootstrap_keeps_the_size_of_what_each_decision_added_and_its_blocks():
    regret = random_walk(7)
    fitted = growth_order(regret).curve().at(T)
    again = wild_bootstrap_replicates(regret, fitted, 50, np.random.default_rng(3))
    added = np.diff(regret - fitted, prepend=0.0)
    redone = np.diff(again - fitted, axis=1, prepend=0.0)
    np.testing.assert_allclose(np.abs(redone), np.tile(np.abs(added), (50, 1)), atol=1e-9)
    turned = np.sign(redone) != np.sign(added)
    changes = (np.diff(turned[:, np.abs(added) > 1e-6].astype(int)) != 0).sum(axis=1)
    assert changes.max() <= 90 // 5 + 1  # blocks of ceil(90^(1/3)) = 5


def test_shares_count_replicates_and_the_confidence_is_that_of_the_category():
    regret = random_walk(11)
    found = growth_order(regret, n_bootstrap=300, rng=np.random.default_rng(5))
    again = wild_bootstrap_replicates(regret, found.curve().at(T), 300, np.random.default_rng(5))
    best = best_orders(fit_growth_curves(again), again)
    for k, order in enumerate((*ORDERS, "none")):
        assert found.shares[order] == pytest.approx((best == k).mean(), abs=1e-12)
    low = found.shares["linear"] + found.shares["power"]
    assert found.confidence == pytest.approx(low if found.category == "low" else 1 - low)
    assert np.isnan(growth_order(regret).confidence)


def test_players_who_explore_forever_and_those_who_learn_are_told_apart():
    rng = np.random.default_rng(8)
    place = pn.paper.landscape_a()
    anything = [pn.Episode(rng.integers(0, 100, 90), rng.random(90)) for _ in range(20)]
    worse = 60 * np.exp(-T / 12)  # chance in per cent of a random option
    best = int(np.argmax(place.mean_rewards))
    learned = [
        pn.Episode(np.where(100 * rng.random(90) < worse, rng.integers(0, 100, 90), best), T)
        for _ in range(20)
    ]
    regrets = [pn.results.cumulative_regret(e, place) for e in anything + learned]
    found = pn.results.growth_orders(regrets).categories
    assert found[:20].count("low") == 20
    assert found[20:].count("high") >= 15
