"""Every result is read as text, in a notebook and in a paper, is a frame, and comes back."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import every_model
import penchant as pn
from penchant._typing import BoolVector, IntVector, Matrix
from penchant.assistance.poor_performance_warning import FEATURES, Calibration, EarlyWarning
from penchant.inference.belief_map import MapFit
from penchant.json_records import read_value, write_value
from penchant.result_tables import FrameExport

HOLD_DATA = {"Reading", "Study", "StudyData", "StoredEstimates", "Offer"}
SESSIONS = {"Live", "Asker", "Helper"}


def classes():
    found = {name: getattr(pn.results, name) for name in dir(pn.results)}
    return {name: kind for name, kind in found.items() if isinstance(kind, type)}


def estimates():
    offers = pn.offers_from_frame(pn.datasets.load("delays").to_pandas())
    return pn.fit_each(offers[:6], pn.HyperbolicDiscounting(), parameter_prior=pn.ScaledPrior())


def episodes(n=2):
    rng = np.random.default_rng(5)
    return [
        pn.Episode(rng.integers(0, 2, 40), rng.normal(size=40), subject=f"s{k}") for k in range(n)
    ]


def made():
    """One of each kind of result, as cheap as can be."""
    people, rng = estimates(), np.random.default_rng(3)
    values = rng.normal(size=(9, 2))
    play, model = episodes(), pn.QLearning(2)
    weak = pn.ScaledPrior()
    fits = pn.fit_each(play, model, parameter_prior=weak)
    task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=30)
    ranges = {"temperature": (0.1, 0.4), "learning_rate": (0.1, 0.8)}
    recovery = pn.recover(model, task, ranges, n_subjects=3, rng=rng)
    rivals = {"q": model, "random": pn.models.RandomChoice(2)}
    orders = pn.results.growth_orders(np.cumsum(rng.uniform(size=(2, 40)), axis=1))
    population = pn.fit_population(
        pn.offers_from_frame(pn.datasets.load("delays").to_pandas())[:8], pn.HyperbolicDiscounting()
    )
    return [
        people,
        people[0],
        pn.pool(values, rule="mean-sample"),
        pn.results.PopulationEstimates(
            {
                "a": pn.pool(values[:4], rule="mean-sample"),
                "b": pn.pool(values[4:], rule="mean-sample"),
            }
        ),
        pn.compare_groups({"a": values[:4], "b": values[4:]}),
        pn.compare_groups(people, by=[21.5, 30.0, 44.0, 18.0, 25.5, 61.0]),
        orders,
        orders[0],
        pn.beliefs(fits, play),
        pn.models.check_model(model, episodes(1), rng=rng),
        pn.compare_models(rivals, play, parameter_prior=weak),
        pn.results.select_models(rng.normal(size=(5, 2)), names=["a", "b"]),
        pn.predictive_check(fits, n_draws=5, rng=rng),
        recovery,
        pn.results.ModelRecovery(("a", "b"), np.array([[3, 1], [0, 4]]), np.array([0, 0]), "aic"),
        population,
        population.subjects,
        pn.results.PopulationComparison({"one": population, "again": population}),
        pn.results.PopulationSample(("a", "b"), rng.normal(size=(50, 2)), "importance", 0.4, 41.0),
        pn.results.Contrast("group", "a - b", ("x", "y"), ("log", "identity"), *rng.random((7, 2))),
        pn.results.PopulationMixture(
            ("one",), {"one": population}, (0, 1), *map(np.ones, ((1,), (2, 1), (2, 1))), -9.0, True
        ),
        pn.design(
            pn.models.RandomChoice(2),
            task,
            {"bias_0": (-0.5, 0.5)},
            goal=pn.NarrowIntervals("bias_0", 9.0),
            n_subjects=2,
            rng=rng,
        ),
        *of_machines(rng),
    ]


def of_machines(rng):
    """What assistance and questions give."""
    offers = pd.DataFrame(
        {"amount_sooner": [5.0, 9.0], "amount_later": [20.0, 12.0], "delay_later": [30.0, 9.0]}
    )
    asked = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate")
    asked.answer(asked.next(), chosen=1)
    places = pn.grid(3, 2)
    model = pn.UCL(locations=places, noise_variance=4.0, length_scale=1.0)
    field = pn.Field(places, mean=3, sd=2, length_scale=1.0, noise_variance=4.0)
    helper = pn.assist(model, field, rng=5)
    advice = helper.proposed(1)
    helper.executed(1, reward=2.5)
    live = pn.live(pn.QLearning(2), parameter_prior=pn.ScaledPrior())
    for chosen, reward in [(0, 1.0), (1, 0.5), (1, 0.0), (0, 1.5)]:
        live.observe(chosen, reward)
    map_fit = MapFit(0.5, 1, -3.0, np.ones((3, 1)), np.zeros((3, 0)), np.ones(2), np.eye(2), 0.3)
    n_features = len(FEATURES["both"])
    checked = Calibration(0.7, 0.2, 0.25, 0.9, rng.uniform(size=4))
    return [
        asked.posterior(),
        asked,
        live,
        helper,
        advice,
        EarlyWarning(
            *("search", 20, "both", model),
            *(rng.normal(size=n_features), rng.uniform(1, 2, n_features)),
            *(rng.normal(size=n_features + 1), np.eye(n_features + 1), 40, 0.3, checked),
        ),
        pn.results.BeliefMap.from_fits((map_fit,), "converged", "", 12, pn.grid(3, 1)),
        pn.results.PoorPlayWarning(0.4, (0.2, 0.7), ("few options tried",)),
    ]


MADE = {}


@pytest.fixture(scope="module")
def results():
    MADE.update({type(one).__name__: one for one in made()})
    return MADE


def test_every_class_of_results_can_be_shown_and_kept():
    kinds = {name for name, kind in classes().items() if not issubclass(kind, FrameExport)}
    assert kinds <= HOLD_DATA
    kept = {*classes()} - {"StoredEstimates"}
    assert all(hasattr(classes()[name], "from_dict") for name in kept)


def test_one_of_every_class_is_tried_here(results):
    assert {*classes()} - HOLD_DATA <= {*results}


def test_studies_and_readings_are_read_in_every_form_too():
    frame = pl.DataFrame(
        {"subject": list("aabb") * 6, "choice": [0, 1, 1, 1] * 6, "reward": [1.0, 0, 0, 1] * 6}
    )
    reading = pn.read(frame)
    assert str(reading) == reading.summary() and "<pre>" in reading._repr_html_()
    assert isinstance(reading.to_polars(), pl.DataFrame) and len(reading.to_frame()) == 24
    study = pn.study(pn.read_study(reading), pn.models.RandomChoice(2), n_replicates=0)
    assert study.summary().startswith("Data: 2 subjects") and str(study) == study.summary()
    assert "<li>Data: 2 subjects" in study._repr_html_() and r"\toprule" in study.to_latex()
    assert isinstance(study.to_polars(), pl.DataFrame) and len(study.to_frame()) == 2


def back(one):
    return type(one).from_dict(json.loads(json.dumps(one.to_dict())))


def test_studies_their_data_and_readings_come_back_from_json(tmp_path):
    rng = np.random.default_rng(6)
    rows = [
        {"who": f"p{k}", "group": "ab"[k % 2], "choice": "LR"[int(c)], "reward": float(r)}
        for k in range(4)
        for c, r in rng.integers(0, 2, (30, 2))
    ]
    file = tmp_path / "play.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    reading = pn.read(file, subject="who")
    again = back(reading)
    assert again.summary() == reading.summary() and again.table.equals(reading.table)
    assert again.group_columns == reading.group_columns == ("group",)
    assert [one.chosen.tolist() for one in again.data] == [o.chosen.tolist() for o in reading.data]
    data = pn.read_study(reading, conditions=["group"])
    assert back(data).conditions == data.conditions and repr(back(data)) == repr(data)
    weak = pn.ScaledPrior()
    study = pn.study(back(data), pn.QLearning(2), parameter_prior=weak, n_replicates=2, seed=1)
    kept = back(study)
    assert kept.summary() == study.summary() and kept.to_latex() == study.to_latex()
    for name in ("subjects", "populations", "comparison", "forward"):
        first, second = (one.to_frame(name, "pyarrow").to_pydict() for one in (study, kept))
        assert repr(first) == repr(second), name
    kept.write(tmp_path / "again", figures="none")
    study.write(tmp_path / "once", figures="none")
    pages = [(tmp_path / name / "report.html").read_text() for name in ("again", "once")]
    assert pages[0] == pages[1]


def test_choices_and_offers_that_were_read_come_back_from_json():
    survey = pd.DataFrame(
        {
            "id": list("aabb"),
            "A_price": ["£3", "£5", "£4", "£2"],
            "B_price": ["£4", "£2", "£3", "£6"],
            "choice": ["A", "B", "neither", "B"],
        }
    )
    for reading in (pn.read(survey), pn.read(pn.datasets.load("delays"))):
        again = back(reading)
        assert again.summary() == reading.summary() and again.kind == reading.kind
        fits = [
            pn.fit(one.data, parameter_prior=pn.ScaledPrior())
            if one.kind == "choices"
            else pn.fit(one.data[0], pn.HyperbolicDiscounting(), parameter_prior=pn.ScaledPrior())
            for one in (reading, again)
        ]
        assert fits[0].log_likelihood == fits[1].log_likelihood


def test_a_live_session_goes_on_from_json_as_if_nothing_had_happened():
    rng = np.random.default_rng(4)
    places = pn.grid(4, 1)
    priors = (None, pn.ScaledPrior(), pn.NaturalPrior(learning_rate=stats.beta(2, 3)))
    for prior in priors:
        live = pn.live(pn.QLearning(2), parameter_prior=prior)
        for _ in range(2):
            for _ in range(15):
                live.observe(int(rng.integers(2)), float(rng.normal()), executed=rng.integers(2))
            live.start_block()
        again = back(live)
        for one in (live, again):
            one.observe(1, 0.25)
        assert again.n_decisions == 31 and len(again.episodes) == 3
        # a search from the beginning stops within what the search has as its tolerance
        np.testing.assert_allclose(again.estimate().theta, live.estimate().theta, rtol=1e-6)
    own = pn.live(pn.UCL(locations=places, noise_variance=2.0, length_scale=1.0))
    own.observe(2, 1.5)
    assert back(own).estimate().status == own.estimate().status


def test_every_model_comes_back_with_its_settings():
    for name, (model, *_) in every_model.EVERY.items():
        written = json.loads(json.dumps(write_value(model)))
        again = read_value(written)
        assert type(again) is type(model) and write_value(again) == written, name


def test_a_session_with_a_model_or_prior_of_ones_own_asks_for_it():
    class Own(pn.QLearning):
        pass

    live = pn.live(Own(2))
    live.observe(0, 1.0)
    written = json.loads(json.dumps(live.to_dict()))
    with pytest.raises(pn.errors.DataError, match="model must be given, as the session was kept"):
        pn.results.Live.from_dict(written)
    assert pn.results.Live.from_dict(written, model=Own(2)).n_decisions == 1
    with pytest.raises(pn.errors.DataError, match=r"document must be what Live\.to_dict wrote"):
        pn.results.Live.from_dict({"format": "penchant-asker"})


def test_a_machine_goes_on_from_json_with_the_same_advice():
    places = pn.grid(5, 4)
    rng = np.random.default_rng(8)
    model = pn.UCL(locations=places, noise_variance=4.0, length_scale=1.5)
    field = pn.Field(places, mean=30, sd=9, length_scale=1.5, noise_variance=4.0)
    truth = 30 + 9 * rng.normal(size=20)
    first = pn.assist(model, field, mode="suggest", rng=3)
    for helper in (first, first.copy_with_operator_knowledge("decide", pn.Trust(0.6, 0.2))):
        for _ in range(2):
            for _ in range(12):
                option = int(rng.integers(20))
                advice = helper.proposed(option)
                done = option if advice.option is None else advice.option
                helper.executed(done, reward=float(truth[done] + rng.normal()))
            helper.end_episode()
        helper.proposed(7)
        again = back(helper)
        assert again.last == 7 and again.log == helper.log
        for one in (helper, again):
            one.record_unassisted(3, reward=31.5)  # what nobody had proposed or advised
        later = [one.proposed(11) for one in (helper, back(again))]
        assert later[0] == later[1] and again.trust == helper.trust
        helper.record_unassisted(11, reward=30.0)


def test_results_are_read_in_every_form(results):
    for one in results.values():
        assert str(one) and repr(one).startswith("<")
        assert "<table" in one._repr_html_()
        assert r"\toprule" in one.to_latex()


def test_tables_fit_80_columns(results):
    for name, one in results.items():
        if hasattr(one, "table"):
            lines = one.table().text(80).splitlines()
            assert max(map(len, lines)) <= 80, (name, max(lines, key=len))


def test_frames_are_of_the_kind_asked_for_whatever_is_installed(results):
    for one in results.values():
        assert isinstance(one.to_frame(), pd.DataFrame)
        assert isinstance(one.to_pandas(), pd.DataFrame)
        assert isinstance(one.to_polars(), pl.DataFrame)
        assert isinstance(one.to_frame(backend="pyarrow"), pa.Table)


def test_results_come_back_from_json(results):
    for name, one in results.items():
        again = type(one).from_dict(json.loads(json.dumps(one.to_dict())))
        assert type(again).__name__ == name
        # all fields of a result are in its document, so that equal documents are equal results
        assert json.dumps(again.to_dict()) == json.dumps(one.to_dict()), name
        assert again.summary() == one.summary()
        first, second = (kept.to_frame(backend="pyarrow").to_pydict() for kept in (one, again))
        assert repr(first) == repr(second), name


def test_records_that_results_give_come_back_from_json(results):
    one, population = results["Estimate"], results["PopulationFit"]
    records = [
        one.parameters[0],
        one.wald_test("temperature"),
        pn.results.profile_curve(one, "temperature", n_points=3),
        results["GrowthOrder"].curves[0],
        results["GroupComparison"].differences[0]
        if results["GroupComparison"].differences
        else None,
        results["Recovery"].parameters[0],
        population.compare(population),
        population.subjects[population.subjects.labels[0]],
    ]
    for record in filter(None, records):
        written = json.loads(json.dumps(record.to_dict()))
        again = type(record).from_dict(written)
        assert repr(again) == repr(record)
        assert json.loads(json.dumps(again.to_dict())) == written


def test_an_estimate_read_back_is_written_as_it_was():
    episode = pn.Episode([0, 2, 1, 0, 0, 2], [3.0, 1.0, 2.5, 4.0, 2.0, 0.5])
    model = pn.UCL(locations=pn.grid(3, 1), noise_variance=2.0, length_scale=1.0)
    for one in (pn.fit(episode, model, parameter_prior=pn.ScaledPrior()), estimates()[0]):
        written = json.loads(json.dumps(one.to_dict()))
        again = pn.Estimate.from_dict(written)
        assert json.loads(json.dumps(again.to_dict())) == written
        assert again.summary() == one.summary()


def test_what_another_class_wrote_is_refused(results):
    kept = results["ModelRecovery"].to_dict()
    with pytest.raises(pn.errors.DataError, match=r"document must be what Recovery\.to_dict"):
        pn.results.Recovery.from_dict(kept)
    with pytest.raises(pn.errors.DataError, match=r"got list.\nName the class"):
        pn.results.Recovery.from_dict([])


def test_no_code_of_others_runs_when_a_file_is_read():
    strange = ("os.system", "penchant.errors.DataError", "penchant.result_tables.encode")
    for name in (*strange, "penchant.elsewhere.Study"):
        with pytest.raises(pn.errors.DataError, match="type must be one of a result of Penchant"):
            read_value({"type": name, "value": {}})


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        "x",
        2.5,
        float("inf"),
        ("a", 1),
        [1, (2,)],
        {1: "a", ("b", 2): None},
        {"k": float("-inf")},
    ],
)
def test_values_come_back_as_they_were(value):
    assert read_value(json.loads(json.dumps(write_value(value)))) == value


def test_arrays_come_back_with_their_kind():
    for array in (np.arange(6).reshape(2, 3), np.array([np.nan, 1.5]), np.array([True, False])):
        again = read_value(json.loads(json.dumps(write_value(array))))
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (tuple[float, ...], (1.5, float("-inf"))),
        (float | None, None),
        (dict[str, float], {"type": 2.0, "b": 1.0}),
        (dict[object, int], {("a", 1): 2, 3: 4}),
        (frozenset[str], frozenset("ab")),
        (pn.GaussianNoise | pn.ScaledPrior, pn.ScaledPrior(2.0)),
    ],
)
def test_values_come_back_by_their_annotation(hint, value):
    assert read_value(json.loads(json.dumps(write_value(value, hint))), hint) == value


def test_missing_numbers_and_empty_arrays_come_back_by_their_annotation():
    large = np.array([2**62 + 1, 0])
    for hint, array in (
        (Matrix, np.zeros((0, 3))),
        (BoolVector, np.array([True, False])),
        (IntVector, large),
    ):
        again = read_value(json.loads(json.dumps(write_value(array, hint))), hint)
        np.testing.assert_array_equal(again, array, strict=True)
    for hint in (float, float | None, object):
        assert np.isnan(read_value(write_value(float("nan"), hint), hint))


@pytest.mark.parametrize("content", [[0.5], ["a"], [None], 3, [[1], [2, 3]]])
def test_arrays_of_another_kind_are_refused(content):
    for hint in (IntVector, BoolVector):
        with pytest.raises(pn.errors.DataError, match="value must hold"):
            read_value(content, hint)


def test_results_without_a_table_of_their_own_are_shown_as_their_frame(results):
    lines = results["GrowthOrders"].summary().splitlines()
    assert lines[0].startswith("GrowthOrders of 2 subjects")
    assert lines[2].split()[:4] == ["subject", "status", "order", "category"]
