"""Sharing, effort, chances and magnitudes: variables against the equations, slopes, fits."""

import math

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.models.simulate import weights_and_shape

M = pn.models


def amounts(rng, n, low=1.0, high=60.0):
    return rng.uniform(low, high, (n, 2))


def shared(rng, n):
    return {"own": amounts(rng, n, 0, 20), "other": amounts(rng, n, 0, 20)}


def worked(rng, n):
    effort = np.column_stack([rng.uniform(0, 0.3, n), rng.uniform(0.2, 3.0, n)])
    effort[::7, 0] = 0.0
    reward = np.column_stack([rng.uniform(1, 4, n), rng.uniform(2, 12, n)])
    return {"reward": reward, "effort": effort}


def hidden(rng, n):
    return {
        "amount": np.column_stack([np.full(n, 5.0), rng.uniform(5, 60, n)]),
        "probability": np.column_stack([np.full(n, 0.5), rng.choice([0.13, 0.25, 0.5, 0.75], n)]),
        "ambiguity": np.column_stack([np.zeros(n), rng.choice([0, 0, 0.24, 0.5, 0.74], n)]),
    }


def peers(rng, n):
    return {
        "high": np.column_stack([rng.uniform(20, 30, n), rng.uniform(35, 60, n)]),
        "low": np.column_stack([rng.uniform(14, 19, n), rng.uniform(1, 6, n)]),
        "probability": np.repeat(rng.uniform(0.2, 0.8, (n, 1)), 2, axis=1),
        "condition": np.repeat(rng.choice([0, 1, 2, 3], (n, 1)), 2, axis=1),
    }


def unlikely(rng, n):
    return {
        "amount": np.column_stack([rng.uniform(2, 40, n), rng.uniform(40, 90, n)]),
        "probability": np.column_stack([np.ones(n), rng.choice([0.0, 0.1, 0.3, 0.6, 0.9], n)]),
        "delay": np.column_stack([np.zeros(n), rng.choice([0, 7, 30, 90], n)]),
    }


def delayed(rng, n):
    return {
        "amount": np.column_stack([rng.uniform(2, 90, n), rng.uniform(60, 300, n)]),
        "delay": np.column_stack([np.zeros(n), rng.choice([7, 30, 90, 365], n)]),
    }


def ultimatum(rng, n):
    return {"offer": np.column_stack([np.zeros(n), rng.integers(0, 20, n).astype(float)])}


def staked(rng, n):
    stakes, turn = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), rng.random(n) < 0.5
    share = rng.integers(5, 10, n) / 10
    return {
        "stake": np.where(turn[:, None], stakes, stakes[::-1]),
        "delay": np.tile(np.arange(5) / 4, (n, 1)),
        "points": np.repeat(rng.integers(20, 300, (n, 1)), 5, axis=1),
        "probability": np.repeat(share[:, None], 5, axis=1),
    }


def coloured(rng, n):
    share = rng.integers(1, 10, n) / 10
    return {"probability": np.column_stack([1 - share, share])}


# -- the equations, one option at a time -----------------------------------------------------------


def literal_effort(kind):
    def value(offer, i, *psi):
        r, e = offer["reward"][i], offer["effort"][i]
        if kind == "linear":
            return [r, -e]
        if kind == "quadratic":
            return [r, -e * e]
        if kind == "power":
            return [r, -(e ** psi[0])]
        if kind == "hyperbolic":
            return [r / (1 + psi[0] * e)]
        if kind == "exponential":
            return [r * math.exp(-psi[0] * e)]
        k, p = psi
        fall = (1 / (1 + math.exp(-k * (e - p))) - 1 / (1 + math.exp(k * p))) * (
            1 + 1 / math.exp(k * p)
        )
        return [r * (1 - fall)]

    return value


def literal_inequity(offer, i):
    own, other = offer["own"][i], offer["other"][i]
    return [own, -max(other - own, 0), -max(own - other, 0)]


def literal_erc(offer, i):
    own, other = offer["own"][i], offer["other"][i]
    return [own, -((own / (own + other) - 0.5) ** 2)]


def literal_levy(offer, i, alpha):
    v, p, a = (offer[name][i] for name in ("amount", "probability", "ambiguity"))
    return [p * v**alpha, -(a / 2) * v**alpha]


def literal_exponent(offer, i, alpha, beta):
    v, p, a = (offer[name][i] for name in ("amount", "probability", "ambiguity"))
    return [p ** (1 + beta * a) * v**alpha]


def literal_peers(offer, i, rho):
    p = offer["probability"][i]
    value = p * offer["high"][i] ** rho + (1 - p) * offer["low"][i] ** rho
    return [value, float(offer["condition"][i] == (1 if i == 0 else 3))]


def literal_odds(offer, i, h):
    a, p = offer["amount"][i], offer["probability"][i]
    return [0.0 if p == 0 else a / (1 + h * (1 - p) / p)]


def literal_odds_and_delay(offer, i, k, h):
    return [literal_odds(offer, i, h)[0] / (1 + k * offer["delay"][i])]


def literal_magnitude(offer, i, k, m):
    a, d = offer["amount"][i], offer["delay"][i]
    return [a / (1 + k * a**-m * d)]


def literal_utility(offer, i, k, s):
    return [offer["amount"][i] ** s / (1 + k * offer["delay"][i])]


def literal_stakes(offer, i, rho):
    s, points, q = offer["stake"][i], offer["points"][i] / 100, offer["probability"][i]
    won = math.log(1 + points * (1 + s))
    lost = math.log(1 + rho * points * (1 - s))
    return [q * won + (1 - q) * lost, -offer["delay"][i]]


def literal_colours(offer, i):
    return [math.log(offer["probability"][i]), float(i == 0)]


MODELS = {
    **{
        f"effort {kind}": (M.Effort(kind), worked, literal_effort(kind), truth)
        for kind, truth in (
            ("linear", {"temperature": 0.7, "effort_cost": 1.9}),
            ("quadratic", {"temperature": 0.7, "effort_cost": 1.1}),
            ("power", {"temperature": 0.7, "effort_cost": 1.4, "effort_power": 1.6}),
            ("hyperbolic", {"temperature": 0.5, "effort_rate": 0.8}),
            ("exponential", {"temperature": 0.5, "effort_rate": 0.6}),
            ("sigmoid", {"temperature": 0.5, "effort_rate": 2.2, "effort_turn": 1.3}),
        )
    },
    "inequity": (
        M.Inequity(),
        shared,
        literal_inequity,
        {"temperature": 2.0, "envy": 0.8, "guilt": 0.35},
    ),
    "erc": (M.Inequity("erc"), shared, literal_erc, {"temperature": 2.0, "equality": 30.0}),
    "levy": (
        M.Ambiguity(),
        hidden,
        literal_levy,
        {"temperature": 0.5, "ambiguity_aversion": 0.6, "curvature": 0.8},
    ),
    "ambiguity in an exponent": (
        M.Ambiguity("exponential"),
        hidden,
        literal_exponent,
        {"temperature": 0.5, "curvature": 0.8, "ambiguity_aversion": 0.7},
    ),
    "peers": (
        M.PeerInfluence(),
        peers,
        literal_peers,
        {"temperature": 0.6, "peer_influence": 0.9, "curvature": 0.7},
    ),
    "odds": (
        M.ProbabilityDiscounting(),
        unlikely,
        literal_odds,
        {"temperature": 4.0, "odds_rate": 1.7},
    ),
    "odds and delay": (
        M.ProbabilityDiscounting(delays=True),
        unlikely,
        literal_odds_and_delay,
        {"temperature": 4.0, "discount_rate": 0.02, "odds_rate": 1.7},
    ),
    "magnitude": (
        M.MagnitudeDiscounting(),
        delayed,
        literal_magnitude,
        {"temperature": 8.0, "discount_rate": 0.2, "magnitude_effect": 0.5},
    ),
    "utility": (
        M.MagnitudeDiscounting("utility"),
        delayed,
        literal_utility,
        {"temperature": 2.0, "discount_rate": 0.01, "curvature": 0.7},
    ),
    "cambridge, stakes": (
        M.CambridgeGamble(),
        staked,
        literal_stakes,
        {"temperature": 0.1, "impatience": 0.2, "loss_sensitivity": 1.7},
    ),
    "cambridge, colours": (
        M.CambridgeGamble("colours"),
        coloured,
        literal_colours,
        {"probability_distortion": 1.4, "colour_bias": 0.6},
    ),
}
EACH = pytest.mark.parametrize("name", list(MODELS))


def made(name, n, seed=3):
    model, offers, _, truth = MODELS[name]
    rng = np.random.default_rng(seed)
    return model, pn.simulate(offers(rng, n), model, truth, rng=rng), truth


@EACH
def test_variables_are_those_of_the_equation(name):
    model, offers, literal, truth = MODELS[name]
    described = offers(np.random.default_rng(5), 23)
    psi = [truth[s.name] for s in model.shape]
    found = model.explanatory(pn.Offers(np.zeros(23), described), *psi)
    for t in range(23):
        row = {attribute: values[t] for attribute, values in described.items()}
        for i in range(found.shape[1]):
            np.testing.assert_allclose(found[t, i], literal(row, i, *psi), rtol=1e-11, atol=1e-13)


@EACH
def test_slopes_equal_differences(name):
    model, decisions, truth = made(name, 31)
    psi = np.array([truth[s.name] for s in model.shape])
    x, slopes = model.explanatory_and_slopes(decisions, *psi)
    assert slopes.shape == (len(psi), *x.shape)
    for q, value in enumerate(psi):
        step = np.zeros(len(psi))
        step[q] = 1e-5 * value
        above, below = (model.explanatory(decisions, *(psi + s)) for s in (step, -step))
        differences = (above - below) / (2 * step[q])
        size = np.abs(differences).max()
        np.testing.assert_allclose(slopes[q], differences, rtol=1e-6, atol=1e-8 * size)


@EACH
def test_values_are_the_objective_times_the_temperature_and_the_model_checks(name):
    model, decisions, truth = made(name, 40)
    theta, psi = weights_and_shape(model, truth)
    values = model.option_values(decisions.offers, truth)
    q = model.explanatory(decisions, *psi) @ theta
    values = values / truth.get("temperature", 1.0)
    values, q = (each - each[:, :1] for each in (values, q))  # what is added to all changes nothing
    np.testing.assert_allclose(values, q, rtol=1e-10, atol=1e-10)
    found = M.check_model(model, decisions, rng=np.random.default_rng(1))
    assert found.ok, found.summary()


@EACH
def test_a_fit_finds_no_less_than_the_truth_explains(name):
    model, decisions, truth = made(name, 400)
    estimate = pn.fit(decisions, model)
    theta, psi = weights_and_shape(model, truth)
    q = model.explanatory(decisions, *psi) @ theta
    q -= q.max(axis=1, keepdims=True)
    log_p = q - np.log(np.exp(q).sum(axis=1, keepdims=True))
    at_truth = log_p[np.arange(400), decisions.chosen].sum()
    assert estimate.log_likelihood >= at_truth
    assert estimate.log_likelihood < at_truth + 8.0  # half a chi-square of 3 or fewer
    assert estimate.status in ("converged", "weakly identified")


def test_itch_is_a_logistic_regression_on_differences():
    rng = np.random.default_rng(6)
    offers = delayed(rng, 300)
    offers["delay"][:, 0] = rng.choice([0.0, 2.0, 5.0], 300)
    truth = dict(zip(M.ITCH().weights, (0.3, 0.01, 1.1, -0.004, -0.9), strict=True))
    decisions = pn.simulate(offers, M.ITCH(), truth, rng=rng)
    found = M.ITCH().explanatory(decisions)
    for t in (0, 17):
        (x1, x2), (t1, t2) = offers["amount"][t], offers["delay"][t]
        expected = [1.0, x2 - x1, (x2 - x1) / ((x1 + x2) / 2), t2 - t1, (t2 - t1) / ((t1 + t2) / 2)]
        np.testing.assert_allclose(found[t, 1] - found[t, 0], expected, rtol=1e-12)
    assert pn.fit(decisions, M.ITCH()).status == "converged"


def test_ultimatum_norms_are_learnt_offer_by_offer():
    rng = np.random.default_rng(7)
    offers = ultimatum(rng, 25)
    chosen = rng.integers(0, 2, 25)
    chosen[4] = -1
    decisions = pn.Offers(chosen, offers)
    bayes = M.Ultimatum().explanatory(decisions)
    delta = M.Ultimatum("delta").explanatory(decisions, 0.3)
    seen, f = [10.0] * 4, 10.0
    for t in range(25):
        o = offers["offer"][t, 1]
        norm = (sum(seen) + o) / (len(seen) + 1)
        np.testing.assert_allclose(
            bayes[t, 1], [o, -max(norm - o, 0), -max(o - norm, 0)], rtol=1e-12, atol=1e-14
        )
        np.testing.assert_allclose(delta[t, 1], [o, -max(f - o, 0)], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(bayes[t, 0], 0.0)
        if t != 4:  # an offer without an answer teaches nothing
            seen.append(o)
            f += 0.3 * (o - f)


@pytest.mark.parametrize(
    ("model", "truth"),
    [
        (M.Ultimatum(), {"temperature": 4.0, "envy": 0.9, "guilt": 0.4}),
        (M.Ultimatum("delta"), {"temperature": 1.5, "envy": 0.9, "norm_rate": 0.25}),
    ],
    ids=["bayes", "delta"],
)
def test_ultimatum_is_simulated_fitted_and_checked(model, truth):
    rng = np.random.default_rng(8)
    decisions = pn.simulate(ultimatum(rng, 400), model, truth, rng=rng)
    theta, psi = weights_and_shape(model, truth)
    values = model.option_values(decisions.offers, truth)
    q = model.explanatory(decisions, *psi) @ theta
    np.testing.assert_allclose(values / truth["temperature"], q, atol=1e-12)
    estimate = pn.fit(decisions, model)
    assert estimate.status in ("converged", "weakly identified")
    found = M.check_model(model, decisions, rng=rng)
    assert found.ok, found.summary()
    with pytest.raises(DataError, match="model must describe every offer by itself"):
        pn.ask(model, ultimatum(rng, 20))


def test_prospect_value_with_a_known_curvature_is_loss_aversion_alone():
    rng = np.random.default_rng(9)
    outcome = np.zeros((200, 2, 2))
    outcome[:, 1] = np.column_stack([rng.uniform(5, 40, 200), -rng.uniform(3, 30, 200)])
    offers = {"outcome": outcome, "probability": np.tile([[1.0, 0.0], [0.5, 0.5]], (200, 1, 1))}
    held, free = M.ProspectValue(curvature=1.0), M.ProspectValue()
    truth = {"temperature": 3.0, "loss_aversion": 1.6}
    decisions = pn.simulate(offers, held, truth, rng=rng)
    assert held.shape == ()
    np.testing.assert_allclose(
        held.explanatory(decisions), free.explanatory(decisions, 1.0), rtol=1e-12
    )
    estimate = pn.fit(decisions, held)
    assert estimate.status == "converged"
    assert estimate.log_likelihood <= pn.fit(decisions, free).log_likelihood
    bent = M.ProspectValue("prelec", curvature=0.7)
    x, slopes = bent.explanatory_and_slopes(decisions, 0.6)
    whole, both = M.ProspectValue("prelec").explanatory_and_slopes(decisions, 0.7, 0.6)
    np.testing.assert_array_equal(x, whole)
    np.testing.assert_array_equal(slopes[0], both[1])
    with pytest.raises(DataError, match="curvature must be positive, or None to estimate it"):
        M.ProspectValue(curvature=-1.0)


@pytest.mark.parametrize(
    ("columns", "model"),
    [
        (
            {"prob": [0.25, 0.5], "ambig": [0.0, 0.5], "reward_var": [20, 8], "reward_fix": [5, 5]},
            M.Ambiguity(),
        ),
        (
            {
                "condition": [0, 3],
                "p_gamble": [0.4, 0.6],
                "safe_Hpayoff": [25, 26],
                "safe_Lpayoff": [15, 16],
                "risky_Hpayoff": [45, 46],
                "risky_Lpayoff": [1, 2],
            },
            M.PeerInfluence(),
        ),
        ({"offer": [4, 9]}, M.Ultimatum()),
    ],
    ids=["levy", "peers", "ultimatum"],
)
def test_tables_of_other_tools_are_recognised(columns, model):
    took = "accept" if "offer" in columns else "choice"
    table = pa.table({"subjID": [1, 1], **columns, took: [1, 0]})
    (decisions,) = pn.offers_from_frame(table)
    assert set(decisions.offers) == set(model.attributes)
    assert decisions.chosen.tolist() == [1, 0]
    psi = [s.grid()[s.n_grid // 2] for s in model.shape]
    assert np.isfinite(model.explanatory(decisions, *psi)).all()
    (read,) = pn.read(table).data
    assert set(read.offers) == set(model.attributes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: M.Effort("cubic"), "kind must be one of linear, quadratic, power"),
        (lambda: M.Inequity("own"), "kind must be one of fehr-schmidt, erc; got 'own'"),
        (lambda: M.Ultimatum("mean"), "norm must be one of bayes, delta; got 'mean'"),
        (lambda: M.Ultimatum(count=0), "first and count must be finite, the latter positive"),
        (lambda: M.Ambiguity("log"), "kind must be one of linear, exponential; got 'log'"),
        (lambda: M.MagnitudeDiscounting("size"), "kind must be one of rate, utility; got 'size'"),
    ],
)
def test_settings_that_are_none_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_they_work_with_everything_around_a_fit():
    rng = np.random.default_rng(11)
    model = M.Ambiguity()
    truth = {"temperature": (0.3, 0.6), "ambiguity_aversion": (0.2, 0.9), "curvature": (0.6, 1.0)}
    people = pn.recover(model, pn.Task(hidden(rng, 150)), truth, n_subjects=6, rng=rng)
    assert "ambiguity_aversion" in people.summary()
    one = {"temperature": 0.5, "ambiguity_aversion": 0.6, "curvature": 0.8}
    decisions = [
        pn.simulate(hidden(rng, 90), model, one, rng=rng, subject=f"s{i}") for i in range(4)
    ]
    assert len(pn.fit_each(decisions, model)) == 4
    compared = pn.compare_models({"levy": model, "exponent": M.Ambiguity("exponential")}, decisions)
    assert "levy" in compared.summary()
    beliefs = pn.beliefs(pn.fit(decisions[0], model))
    assert np.isfinite(beliefs["value"]).all()
    asker = pn.ask(model, hidden(rng, 60), about="ambiguity_aversion")
    asker.answer(asker.next(), chosen=1)


@pytest.mark.slow
@EACH
def test_intervals_hold_the_truth(name):
    model, offers, _, truth = MODELS[name]
    rng = np.random.default_rng(12)
    people = [pn.simulate(offers(rng, 250), model, truth, rng=rng, subject=i) for i in range(60)]
    held = []
    for estimate in pn.fit_each(people, model):
        if estimate.status in ("converged", "weakly identified"):
            found = estimate.parameters
            held += [p.low <= truth[p.name] <= p.high for p in found if np.isfinite(p.low + p.high)]
    assert len(held) >= 60
    assert np.mean(held) > 0.88  # 0.95 of Wald intervals, which are short where decisions are few
