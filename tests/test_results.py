"""Every result is read as text, in a notebook and in a paper, is a frame, and comes back."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penchant as pn
from penchant.output.shown import Framed, decoded, encoded

HOLD_DATA = {"Live", "Reading", "Study", "StudyData", "StoredEstimates"}
HOLD_DATA |= {"Asker", "Offer", "Posterior", "Advice", "Helper"}  # a conversation
HOLD_DATA |= {"BeliefMap", "Gains"}  # of a model with a map of its own, and simulated
HOLD_DATA |= {"Apprenticeship", "EarlyWarning", "Warned", "WarningScores"}


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
    ]


MADE = {}


@pytest.fixture(scope="module")
def results():
    MADE.update({type(one).__name__: one for one in made()})
    return MADE


def test_every_class_of_results_can_be_shown_and_kept():
    kinds = {name for name, kind in classes().items() if not issubclass(kind, Framed)}
    assert kinds <= HOLD_DATA
    assert all(hasattr(classes()[name], "from_dict") for name in {*classes()} - HOLD_DATA)


def test_results_are_read_in_every_form(results):
    for one in results.values():
        assert str(one) and repr(one).startswith("<")
        assert "<table" in one._repr_html_() if hasattr(one, "_repr_html_") else True
        if hasattr(one, "to_latex"):
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
        assert again.summary() == one.summary() if hasattr(one, "summary") else True
        first, second = (kept.to_frame(backend="pyarrow").to_pydict() for kept in (one, again))
        assert repr(first) == repr(second), name


def test_what_another_class_wrote_is_refused(results):
    kept = results["ModelRecovery"].to_dict()
    with pytest.raises(pn.errors.DataError, match=r"document must be what Recovery\.to_dict"):
        pn.results.Recovery.from_dict(kept)
    with pytest.raises(pn.errors.DataError, match=r"got list. Name the class"):
        pn.results.Recovery.from_dict([])


def test_no_code_of_others_runs_when_a_file_is_read():
    for name in ("os.system", "penchant.errors.DataError", "penchant.output.shown.encoded"):
        with pytest.raises(pn.errors.DataError, match="class must be one of a result of Penchant"):
            decoded({"class": name, "fields": {}})


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
    assert decoded(json.loads(json.dumps(encoded(value)))) == value


def test_arrays_come_back_with_their_kind():
    for array in (np.arange(6).reshape(2, 3), np.array([np.nan, 1.5]), np.array([True, False])):
        again = decoded(json.loads(json.dumps(encoded(array))))
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype


def test_results_without_a_table_of_their_own_are_shown_as_their_frame(results):
    lines = results["GrowthOrders"].summary().splitlines()
    assert lines[0].startswith("GrowthOrders of 2 subjects")
    assert lines[2].split()[:4] == ["subject", "status", "order", "category"]
