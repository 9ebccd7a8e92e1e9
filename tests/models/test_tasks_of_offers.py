"""Sharing, effort, chances and magnitudes: variables against the equations, slopes, fits."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from offered_tasks import MODELS, delayed, hidden, ultimatum
from penchant.errors import DataError
from penchant.models.model import weights_and_shape
from penchant.models.record import Record

M = pn.models


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


@pytest.mark.parametrize("kind", ["exponential", "sigmoid"])
def test_rates_beyond_what_exponentials_hold_leave_values_as_they_are_in_the_limit(kind):
    model = M.Effort(kind)
    offers = {"reward": np.array([[3.0, 7.0]]), "effort": np.array([[0.0, 2.0]])}
    psi = [2000.0, 1.0][: len(model.shape)]
    x, slopes = model.explanatory_and_slopes(pn.Offers([0], offers), *psi)
    np.testing.assert_allclose(x[:, :, 0], [[3.0, 0.0]], atol=1e-12)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("name", ["levy", "peers", "inequity", "effort power"])
def test_values_of_somebody_who_does_not_care_for_amounts_are_not_known(name):
    model, decisions, truth = made(name, 9)
    psi = np.array([truth[s.name] for s in model.shape])
    theta = np.linspace(0.0, 1.0, len(model.weights))  # 1/tau = 0: other weights relative to it
    found = model.latent(decisions, theta, psi)["value"]
    assert found.shape == (9, 2)
    assert np.isnan(found).all()


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
def test_many_at_once_are_each_by_itself(name):
    model, *_ = MODELS[name]
    several = [made(name, n, seed=n)[1] for n in (9, 1, 30, 4)]
    which, rng = np.array([3, 2, 0, 0, 1, 2, 3]), np.random.default_rng(2)
    psi = np.array([s.from_unconstrained(rng.uniform(*s.search_range, 7)) for s in model.shape]).T
    psi = psi.reshape(7, len(model.shape))
    x, slopes = model.explanatory_many(Record.of(several), which, psi, True)
    pairs = zip(which, psi, strict=True)
    alone = [model.explanatory_and_slopes(several[e], *at) for e, at in pairs]
    np.testing.assert_array_equal(x, np.concatenate([a[0] for a in alone]))
    np.testing.assert_array_equal(slopes, np.concatenate([a[1] for a in alone], axis=1))


@EACH
def test_beliefs_are_the_objective_times_the_temperature_and_the_model_checks(name):
    model, decisions, truth = made(name, 40)
    theta, psi = weights_and_shape(model, truth)
    values = model.latent(decisions, theta, psi)["value"]
    q = model.explanatory(decisions, *psi) @ theta
    np.testing.assert_allclose(values / truth.get("temperature", 1.0), q, rtol=1e-10, atol=1e-10)
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
    slopes = M.Ultimatum("delta").explanatory_and_slopes(decisions, 0.3)[1]
    beside = [M.Ultimatum("delta").explanatory(decisions, 0.3 + h) for h in (1e-6, -1e-6)]
    rise = (beside[0] - beside[1]) / 2e-6
    np.testing.assert_allclose(slopes[0], rise, rtol=1e-6, atol=1e-6)
    assert np.abs(slopes).max() > 1.0


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
        (lambda: M.Inequity("own"), "kind must be 'fehr-schmidt' or 'erc'; got 'own'"),
        (lambda: M.Ultimatum("mean"), "norm must be 'bayes' or 'delta'; got 'mean'"),
        (lambda: M.Ultimatum(count=0), "first and count must be finite, the latter positive"),
        (lambda: M.Ambiguity("log"), "kind must be 'linear' or 'exponential'; got 'log'"),
        (lambda: M.MagnitudeDiscounting("size"), "kind must be 'rate' or 'utility'; got 'size'"),
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
