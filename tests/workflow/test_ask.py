"""The next best question: information, beliefs, answers, and how fast they are right."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import special, stats

import penchant as pn
from penchant.errors import DataError

RATE, TEMPERATURE = 0.02, 7.0


def delays(n_now=13):
    now, days = (a.ravel() for a in np.meshgrid(np.linspace(6, 93, n_now), [7.0, 31.0, 90.0]))
    return {
        "amount": np.column_stack([now, np.full(len(now), 100.0)]),
        "delay": np.column_stack([np.zeros(len(now)), days]),
    }


def answered(asker, n, rng, rate=RATE, temperature=TEMPERATURE):
    for _ in range(n):
        offer = asker.next()
        value = offer["amount"] / (1 + rate * offer["delay"])
        asker.answer(offer, int(rng.random() < special.expit((value[1] - value[0]) / temperature)))
    return asker


def hyperbolic(offer, rate, temperature):
    value = offer["amount"] / (1 + rate * offer["delay"])
    return special.expit((value[1] - value[0]) / temperature)


def entropy(p):
    return -sum(q * np.log(q) for q in (p, 1 - p) if q > 0)


# -- information --------------------------------------------------------------------------------


@pytest.mark.parametrize("about", ["discount_rate", "temperature", None])
def test_information_is_the_literal_mutual_information_of_answer_and_parameters(about):
    offers = delays(4)
    grid = {"discount_rate": [0.003, 0.02, 0.11], "temperature": [2.0, 9.0]}
    asker = pn.ask(pn.HyperbolicDiscounting(), offers, about=about, grid=grid)
    asker.answer(5, chosen=1)
    asker.answer(9, chosen=0)
    row = {number: {n: v[number] for n, v in offers.items()} for number in range(12)}
    nodes = [(k, tau) for k in grid["discount_rate"] for tau in grid["temperature"]]
    weight = [hyperbolic(row[5], *node) * (1 - hyperbolic(row[9], *node)) for node in nodes]
    weight = np.array(weight) / sum(weight)
    asked = {"discount_rate": 0, "temperature": 1}
    groups = {}
    for number, node in enumerate(nodes):
        groups.setdefault(node if about is None else node[asked[about]], []).append(number)
    for number in range(12):
        p = np.array([hyperbolic(row[number], *node) for node in nodes])
        inside = 0.0
        for members in groups.values():
            mass = weight[members].sum()
            inside += mass * entropy((weight[members] * p[members]).sum() / mass)
        expected = entropy((weight * p).sum()) - inside
        assert asker.information()[number] == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_the_first_of_the_most_informative_offers_is_next_until_an_answer_comes():
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
    offer = asker.next()
    told = asker.information()
    assert offer.number == np.flatnonzero(told >= told.max() - 1e-9)[0]
    assert asker.next() == offer
    asker.answer(offer, chosen=1)
    assert asker.next() != offer


def test_what_tells_of_one_parameter_tells_no_less_of_both():
    one = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
    both = pn.ask(pn.HyperbolicDiscounting(), delays())
    for asker in (one, both):
        asker.answer(7, chosen=0)
    # nodes differ, so that information does by what is between them
    assert (both.information() > one.information() - 0.01).all()


# -- beliefs ------------------------------------------------------------------------------------


def dense(asker, log_prior, axes):
    """Mean and sd of each axis by the sum over a dense grid of logarithms."""
    mesh = np.meshgrid(*axes, indexing="ij")
    total = log_prior(*mesh)
    decisions = asker.answered()
    for t in range(decisions.n_events):
        offer = {name: values[t] for name, values in decisions.offers.items()}
        value = [offer["amount"][i] / (1 + np.exp(mesh[0]) * offer["delay"][i]) for i in (0, 1)]
        ahead = (value[1] - value[0]) / np.exp(mesh[1])
        total = total + special.log_expit(ahead if decisions.chosen[t] else -ahead)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    means = [float((weight * m).sum()) for m in mesh]
    sds = [float(np.sqrt((weight * (m - a) ** 2).sum())) for m, a in zip(mesh, means, strict=True)]
    return means, sds


@pytest.mark.parametrize("about", ["discount_rate", "temperature", None])
@pytest.mark.parametrize("n", [3, 15])
def test_the_posterior_is_that_of_a_dense_grid(about, n):
    prior = pn.NaturalPrior(
        discount_rate=stats.lognorm(1.7, scale=0.03), temperature=stats.lognorm(0.9, scale=5.0)
    )
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about=about, prior=prior)
    answered(asker, n, np.random.default_rng(n))
    means, sds = dense(
        asker,
        lambda k, tau: (
            stats.norm(np.log(0.03), 1.7).logpdf(k) + stats.norm(np.log(5.0), 0.9).logpdf(tau)
        ),
        (np.linspace(-11, 5, 641), np.linspace(-4, 7, 161)),
    )
    found = asker.posterior()
    assert found.names == ("discount_rate", "temperature")
    assert found.scales == ("log", "log")
    # nodes are a fraction of a standard deviation apart where most of the probability lies
    np.testing.assert_allclose(found.mean, means, atol=0.03 * max(sds))
    np.testing.assert_allclose(found.sd, sds, rtol=0.04)


def test_weights_of_many_attributes_are_believed_as_importance_sampling_says():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(60, 3, 5)) * [1.0, 2.0, 0.5, 1.0, 3.0]
    offers = {name: x[:, :, a] for a, name in enumerate("abcde")}
    prior = pn.GaussianPrior(np.full(5, 0.2), np.diag([1.0, 0.25, 2.0, 1.0, 0.3]))
    asker = pn.ask(list("abcde"), offers, about=["b", "d"], prior=prior)
    truth = np.array([0.7, -0.6, 0.4, 1.2, 0.3])
    for _ in range(12):
        offer = asker.next()
        p = special.softmax(np.column_stack([offer[n] for n in "abcde"]) @ truth)
        asker.answer(offer, chosen=int(rng.choice(3, p=p)))
    decisions = asker.answered()
    made = np.stack([decisions.offers[n] for n in "abcde"], axis=-1)
    draws = 0.2 + rng.normal(size=(60_000, 5)) * np.sqrt([1.0, 0.25, 2.0, 1.0, 0.3])
    q = np.einsum("tma,na->ntm", made, draws)
    log_p = (q - special.logsumexp(q, axis=2, keepdims=True))[:, range(12), decisions.chosen]
    weight = special.softmax(log_p.sum(axis=1))
    mean = weight @ draws
    sd = np.sqrt(weight @ (draws - mean) ** 2)
    found = asker.posterior()
    np.testing.assert_allclose(found.mean, mean, atol=0.15 * sd.max())  # both are draws
    np.testing.assert_allclose(found.sd, sd, rtol=0.12)
    assert found.about == (False, True, False, True, False)


def test_a_population_is_a_prior_and_draws_estimates_to_it():
    prior = pn.PopulationPrior(
        names=("temperature", "discount_rate"),
        mean=[np.log(6.0), np.log(0.05)],
        covariance=[[0.3, 0.1], [0.1, 0.04]],
        links=("log", "log"),
    )
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate", prior=prior)
    before = asker.posterior()["discount_rate"]
    assert before["mean"] == pytest.approx(np.log(0.05), abs=0.01)
    assert before["sd"] == pytest.approx(0.2, rel=0.03)


def test_a_positive_ratio_and_a_range_are_believed_within_their_limits():
    asker = pn.ask(pn.models.QuasiHyperbolicDiscounting(), delays(), about="present_bias")
    answered(asker, 4, np.random.default_rng(2))
    found = asker.posterior()["present_bias"]
    assert 0 < found["low"] < found["median"] < found["high"]


# -- answers ------------------------------------------------------------------------------------


def test_the_estimate_is_the_fit_of_the_answers_with_its_status():
    model = pn.HyperbolicDiscounting()
    asker = pn.ask(model, delays(), about="discount_rate")
    assert asker.estimate().status == "not identified"
    answered(asker, 1, np.random.default_rng(3))
    assert asker.estimate().status == "separated"
    answered(asker, 24, np.random.default_rng(3))
    estimate = asker.estimate()
    again = pn.fit(asker.answered(), model)
    assert isinstance(estimate, pn.Estimate)
    assert estimate.status == again.status == "converged"
    np.testing.assert_array_equal(estimate.theta, again.theta)


def test_enough_is_when_the_standard_deviation_is_small_enough():
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
    assert not asker.enough(sd=0.3)
    assert asker.enough(sd=0.3, most=0)
    while not asker.enough(sd=0.3, most=60):
        answered(asker, 1, np.random.default_rng(asker.n_answers))
    assert asker.posterior()["discount_rate"]["sd"] <= 0.3
    assert not asker.enough(sd=0.3 * asker.posterior()["discount_rate"]["sd"])


def test_the_same_answers_lead_to_the_same_questions_also_after_a_rest(tmp_path):
    prior = pn.NaturalPrior(discount_rate=stats.lognorm(s=2.0, scale=0.02))
    one = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate", prior=prior)
    other = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate", prior=prior)
    answered(one, 6, np.random.default_rng(4))
    answered(other, 6, np.random.default_rng(4))
    np.testing.assert_array_equal(one.information(), other.information())
    one.save(tmp_path / "asker.json")
    json.loads((tmp_path / "asker.json").read_text())
    resumed = pn.results.Asker.read(tmp_path / "asker.json")
    assert resumed.n_answers == 6
    np.testing.assert_array_equal(resumed.information(), one.information())
    assert resumed.next() == one.next()


@pytest.mark.parametrize(
    "prior",
    [None, pn.ScaledPrior(0.5), pn.GaussianPrior([0.1, 0.2], [[1.0, 0.3], [0.3, 2.0]])],
    ids=str,
)
def test_every_prior_and_model_of_the_library_survives_a_rest(prior):
    rng = np.random.default_rng(5)
    offers = {"price": rng.uniform(1, 9, (20, 2)), "size": rng.uniform(1, 9, (20, 2))}
    model = pn.models.Attributes(("price", "size"), price="price")
    asker = pn.ask(model, offers, about="size_worth", prior=prior)
    asker.answer(asker.next(), chosen=1)
    resumed = pn.results.Asker.from_dict(json.loads(json.dumps(asker.to_dict())))
    assert resumed.model == model
    np.testing.assert_array_equal(resumed.information(), asker.information())


class Shopper:
    """A model of one's own, in plain NumPy."""

    weights = ("price", "quality")
    shape = (pn.models.Shape("exponent", 0.2, 3.0, scale="log"),)

    def explanatory(self, decisions, exponent):
        price, quality = decisions.offers["price"], decisions.offers["quality"]
        return np.stack([price, quality**exponent], axis=-1)


def test_a_model_of_ones_own_is_asked_with_and_must_be_given_after_a_rest():
    rng = np.random.default_rng(6)
    offers = {"price": rng.uniform(1, 9, (30, 3)), "quality": rng.uniform(1, 9, (30, 3))}
    asker = pn.ask(Shopper(), offers, about="exponent")
    asker.answer(asker.next(), chosen=2)
    document = asker.to_dict()
    with pytest.raises(DataError, match="model must be given, as the session was kept with one"):
        pn.results.Asker.from_dict(document)
    assert pn.results.Asker.from_dict(document, Shopper()).next() == asker.next()


def test_gambles_with_several_outcomes_are_offers_too():
    rng = np.random.default_rng(7)
    gain, loss = rng.uniform(5, 60, (2, 25))
    outcome = np.zeros((25, 2, 2))
    outcome[:, 1, 0], outcome[:, 1, 1] = gain, -loss
    probability = np.tile([[1.0, 0.0], [0.5, 0.5]], (25, 1, 1))
    offers = {"outcome": outcome, "probability": probability}
    asker = pn.ask(pn.models.ProspectValue(), offers, about="loss_aversion")
    for _ in range(15):
        offer = asker.next()
        gained, lost = offer["outcome"][1]
        asker.answer(offer, chosen=int(gained**0.9 > 2.0 * (-lost) ** 0.9))
    found = asker.posterior()["loss_aversion"]
    assert found["low"] < 2.0 < found["high"] < 6.0


def test_an_offer_is_not_made_again_where_repeats_are_not_wanted():
    offers = delays(2)
    asker = pn.ask(pn.HyperbolicDiscounting(), offers, repeats=False)
    seen = []
    for _ in range(6):
        offer = asker.next()
        seen.append(offer.number)
        asker.answer(offer, chosen=0)
    assert sorted(seen) == list(range(6))
    with pytest.raises(DataError, match="offers must be left to ask; got answers to all 6"):
        asker.next()


def test_history_says_what_answers_were_expected_to_tell_and_told():
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
    expected = asker.information().max()
    offer = asker.next()
    p = asker.probabilities(offer)
    told = []
    for chosen in (0, 1):
        twin = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
        twin.answer(twin.next(), chosen)
        assert twin.history[0]["expected_information"] == pytest.approx(expected)
        told.append(twin.history[0]["information"])
    assert p.sum() == pytest.approx(1.0)
    assert p @ told == pytest.approx(expected, rel=1e-9)  # that is what expected means


# -- what offers come as ------------------------------------------------------------------------


def test_tables_and_arrays_of_the_same_offers_lead_to_the_same_question():
    offers = delays()
    columns = {
        "amount_sooner": offers["amount"][:, 0],
        "amount_later": offers["amount"][:, 1],
        "delay_later": offers["delay"][:, 1],
    }
    numbered = {f"{n}_{i + 1}": v[:, i] for n, v in offers.items() for i in (0, 1)}
    own = {"amount": ["amount_sooner", "amount_later"], "delay": [0, "delay_later"]}
    ways = [
        (offers, None),
        (columns, None),
        (numbered, None),
        (pd.DataFrame(columns), None),
        (pl.DataFrame(columns), None),
        (pa.table(columns), own),
        (pn.Offers(np.zeros(39, dtype=int), offers), None),
    ]
    first = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate").next()
    for given, named in ways:
        asker = pn.ask(pn.HyperbolicDiscounting(), given, about="discount_rate", columns=named)
        assert asker.next().to_dict() == first.to_dict()


def test_attributes_are_all_of_the_offers_where_no_model_is_given():
    rng = np.random.default_rng(9)
    offers = {"price": rng.uniform(1, 9, (40, 2)), "comfort": rng.uniform(1, 5, (40, 2))}
    asker = pn.ask(None, offers)
    assert asker.about == ("price", "comfort")
    assert pn.ask(["price"], offers).about == ("price",)


def test_offers_and_answers_that_are_given_stay_as_they_are():
    offers = delays()
    kept = {name: values.copy() for name, values in offers.items()}
    asker = pn.ask(pn.HyperbolicDiscounting(), offers)
    offer = asker.next()
    offer["amount"][0] = -1.0
    asker.next()["delay"][1] = 4.0
    for name, values in offers.items():
        np.testing.assert_array_equal(values, kept[name])
    assert asker.next()["amount"][0] > 0


@pytest.mark.parametrize(
    ("model", "offers", "options", "message"),
    [
        (
            pn.HyperbolicDiscounting(),
            {"amount": [[1.0, 2.0]]},
            {},
            "offers must have amount and delay for HyperbolicDiscounting; got amount",
        ),
        (
            pn.HyperbolicDiscounting(),
            {"amount": [[1.0, np.nan]], "delay": [[0.0, 1.0]]},
            {},
            r"offers\['amount'\] must be finite, not beyond 1e100; got nan at offer 0, option 1",
        ),
        (pn.HyperbolicDiscounting(), delays(2), {"about": "discount"}, "Did you mean"),
        (
            pn.HyperbolicDiscounting(),
            delays(2),
            {"about": ["discount_rate"] * 2},
            "about must name one parameter or more, each once",
        ),
        (
            pn.HyperbolicDiscounting(),
            delays(2),
            {"prior": 3},
            "prior must be a NaturalPrior, a PopulationPrior, a GaussianPrior, a ScaledPrior",
        ),
        (
            pn.HyperbolicDiscounting(),
            delays(2),
            {"prior": pn.NaturalPrior(rate=stats.norm(0, 1))},
            "prior must name parameters that are asked about; got 'rate'",
        ),
        (
            pn.HyperbolicDiscounting(),
            {"amount": [[20.0, 20.0]], "delay": [[3.0, 3.0]]},
            {},
            "offers must differ in what tells discount_rate and temperature; got 1 of which none",
        ),
        (
            pn.HyperbolicDiscounting(),
            delays(2),
            {"grid": {"discount_rate": [0.1]}},
            "grid must have values of discount_rate and temperature; got those of discount_rate",
        ),
        (
            pn.HyperbolicDiscounting(),
            delays(2),
            {"grid": {"discount_rate": [-0.1], "temperature": [1.0]}},
            r"grid\['discount_rate'\] must hold values that discount_rate may have; got \[-0.1\]",
        ),
        ("hyperbolic", delays(2), {}, "model must be a model of offers, a list of attributes, or"),
        (pn.HyperbolicDiscounting, delays(2), {}, "got the class HyperbolicDiscounting"),
        (None, {}, {}, "offers must map names of attributes to numbers; got none"),
        (None, {"price": [[1.0], [2.0]]}, {}, "offers must have two options or more; got 1"),
        (None, 5, {}, "must be a pandas, polars or pyarrow table; got int"),
    ],
)
def test_what_cannot_be_asked_is_refused(model, offers, options, message):
    with pytest.raises(DataError, match=message):
        pn.ask(model, offers, **options)


@pytest.mark.parametrize(
    ("offer", "chosen", "message"),
    [
        ({"amount": [1, 2]}, 0, "offer must have amount and delay, as the offers have; got amount"),
        (3.5, 0, "offer must have amount and delay, as the offers have; got float"),
        (39, 0, r"offer must lie in 0\.\.38; got 39"),
        (
            {"amount": [1, 2, 3], "delay": [0, 1, 2]},
            0,
            r"offer\['amount'\] must have shape \(2,\), as in the offers; got \(3,\)",
        ),
        ({"amount": [1, 2], "delay": [0, -1]}, 0, r"offers\['delay'\] must not be negative"),
        (0, 2, r"chosen must lie in 0\.\.1; got 2 at answer 0"),
        (0, None, r"chosen must lie in 0\.\.1; got None"),
        (0, 0.5, r"chosen must lie in 0\.\.1; got 0\.5"),
        (0, True, r"chosen must lie in 0\.\.1; got True"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_nothing_is_learnt(offer, chosen, message):
    asker = pn.ask(pn.HyperbolicDiscounting(), delays())
    with pytest.raises(DataError, match=message):
        asker.answer(offer, chosen)
    assert asker.n_answers == 0


class Habit:
    """A model in which an offer depends on the one before."""

    weights = ("amount",)
    shape = ()

    def explanatory(self, decisions):
        amount = decisions.offers["amount"]
        return (amount - np.vstack([amount[:1], amount[:-1]]))[:, :, None]


def test_a_model_that_remembers_offers_is_refused():
    with pytest.raises(DataError, match="model must describe every offer by itself; got Habit"):
        pn.ask(Habit(), {"amount": [[1.0, 2.0], [4.0, 2.0], [3.0, 7.0]]})


def test_limits_that_make_no_sense_are_refused():
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(), about="discount_rate")
    with pytest.raises(DataError, match="sd must be positive, for parameters among discount_rate"):
        asker.enough(sd=0)
    with pytest.raises(DataError, match=r"got 0\.2 for temperature"):
        asker.enough(sd={"temperature": 0.2})
    with pytest.raises(DataError, match="level must lie between 0 and 1; got 95"):
        asker.posterior(level=95)
    with pytest.raises(DataError, match=r"document must be what Asker\.to_dict wrote"):
        pn.results.Asker.from_dict({"format": "penchant-asker"})


@pytest.mark.slow
def test_ten_adaptive_offers_tell_more_than_forty_two_random_ones_and_stopping_keeps_coverage():
    rng = np.random.default_rng(10)
    offers = delays(31)
    prior = pn.NaturalPrior(
        discount_rate=stats.lognorm(1.5, scale=0.02), temperature=stats.lognorm(0.8, scale=4.0)
    )
    errors, held = {"adaptive": [], "random": []}, []
    for _ in range(120):
        rate, temperature = 0.02 * np.exp(1.5 * rng.normal()), 4.0 * np.exp(0.8 * rng.normal())
        asker = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate", prior=prior)
        stopped = False
        for t in range(25):
            answered(asker, 1, rng, rate, temperature)
            if t == 9:
                known = asker.posterior()["discount_rate"]
                errors["adaptive"].append(known["mean"] - np.log(rate))
            if not stopped and asker.enough(sd=0.25):
                stopped = True
                known = asker.posterior(0.9)["discount_rate"]
                held.append(known["low"] <= rate <= known["high"])
        asker = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate", prior=prior)
        for number in rng.integers(len(offers["amount"]), size=42):
            row = {name: values[number] for name, values in offers.items()}
            p = hyperbolic(row, rate, temperature)
            asker.answer(int(number), int(rng.random() < p))
        errors["random"].append(asker.posterior()["discount_rate"]["mean"] - np.log(rate))
    rmse = {rule: float(np.sqrt(np.mean(np.square(e)))) for rule, e in errors.items()}
    assert rmse["adaptive"] < rmse["random"]
    assert len(held) > 60
    low, high = stats.binom(len(held), 0.9).interval(0.999)
    assert low <= sum(held) <= high


@pytest.mark.parametrize("made", [dict, pa.table, pl.DataFrame, pd.DataFrame])
def test_a_table_is_asked_row_by_row_and_answers_may_be_rows(made, tmp_path):
    now = [20.0, 40.0, 55.0, 70.0, 90.0]
    columns = {"amount_sooner": now, "delay_later": [7, 30, 60, 90, 180], "item": list("abcde")}
    table = made({**columns, "amount_later": [100.0] * 5, "delay_sooner": [0] * 5})
    asker = pn.ask(pn.HyperbolicDiscounting(), table, about="discount_rate")
    offer = asker.next()
    assert set(offer) == {*columns, "amount_later", "delay_sooner"}
    assert offer["item"] == "abcde"[offer.number]
    assert offer["amount_sooner"] == now[offer.number] == offer["amount"][0]
    asker.answer(offer, chosen=1)
    again = pn.ask(pn.HyperbolicDiscounting(), table, about="discount_rate")
    again.answer(dict(offer), chosen=1)
    assert again.posterior()["discount_rate"] == asker.posterior()["discount_rate"]
    asker.save(tmp_path / "asker.json")
    assert pn.results.Asker.read(tmp_path / "asker.json").next() == asker.next()
    with pytest.raises(
        pn.errors.DataError, match="offer must have amount and delay, as the offers have"
    ):
        asker.answer({"amount_sooner": 5.0}, chosen=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": pn.QLearning(2)}, "got QLearning, which learns from rewards.\nUse live"),
        ({"model": pn.UCL(locations=pn.grid(2, 1), noise_variance=1.0)}, "got UCL, which learns"),
        ({"about": 3}, "about must name parameters of the model, discount_rate, temperature; got"),
        ({"offers": None}, "offers must be attributes by name, or a pandas, polars or pyarrow tab"),
        ({"offers": [1, 2]}, "offers must be attributes by name, or a pandas, polars or pyarrow t"),
        ({"offers": {name: v[:0] for name, v in delays().items()}}, "offers must hold one offer"),
        ({"offers": pd.DataFrame({"amount_1": []})}, "must hold at least one row; got 0 rows"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(given, message):
    asked = {"model": pn.HyperbolicDiscounting(), "offers": delays(), **given}
    with pytest.raises(DataError, match=message):
        pn.ask(asked.pop("model"), asked.pop("offers"), **asked)


def test_a_negative_number_of_answers_is_not_enough():
    asker = pn.ask(pn.HyperbolicDiscounting(), delays(3))
    with pytest.raises(DataError, match="most must be a whole number, 0 or more; got -1"):
        asker.enough(sd=0.2, most=-1)
