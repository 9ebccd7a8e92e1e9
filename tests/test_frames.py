"""Frames are of pandas, or of the kind that is asked for, whatever the data came in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penchant as pn

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
WEAK = pn.ScaledPrior()


def made(kind, columns):
    return pa.table(columns) if kind == "pyarrow" else KINDS[kind](columns)


def delays(kind):
    table = pn.datasets.load("delays").to_pydict()
    kept = [
        k
        for k, who in enumerate(table["subject"])
        if who in ("s01", "s02", "s03", "s04", "s05", "s06")
    ]
    assert kept
    return made(kind, {name: [cells[k] for k in kept] for name, cells in table.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_of_the_kind_asked_for_whatever_the_data_came_in(kind):
    model = pn.HyperbolicDiscounting()
    people = pn.offers_from_frame(delays(kind))
    estimates = pn.fit_each(people, model, parameter_prior=WEAK)
    labels = ["a", "a", "a", "b", "b", "b"]
    rivals = {"h": model, "e": pn.models.ExponentialDiscounting()}
    compared = pn.compare_models(rivals, people)
    population = pn.fit_population(people, model)
    found = [
        estimates,
        estimates[0],
        estimates["s02"],
        next(iter(estimates)),
        estimates[1:3],
        pn.fit(people[0], model, parameter_prior=WEAK),
        pn.beliefs(estimates, people),
        pn.compare_groups(estimates, by=labels),
        pn.pool(estimates, rule="mean-sample"),
        compared,
        compared.selection,
        population,
        population.subjects,
        pn.predictive_check(estimates, n_draws=5, rng=np.random.default_rng(1)),
    ]
    for one in found:
        assert isinstance(one.to_frame(), pd.DataFrame), type(one).__name__
        assert isinstance(one.to_pandas(), pd.DataFrame)
        assert isinstance(one.to_polars(), pl.DataFrame)
        assert isinstance(one.to_frame(backend="pyarrow"), pa.Table)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_read_and_gives_a_pandas_frame(kind):
    menu = made(kind, pn.datasets.load("menu").slice(0, 360).to_pydict())
    roles = {"decision": "decision", "option": "option", "chosen": "chosen", "subject": "subject"}
    choices = pn.Choices.from_frame(menu, explanatory=["price", "quality"], **roles)
    reading = pn.read(menu)
    play = made(
        kind,
        {
            "subject": ["a"] * 6,
            "choice": [0, 1, 1, 0, 1, 1],
            "reward": [1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        },
    )
    episodes = pn.episodes_from_frame(play, chosen="choice", reward="reward")
    found = [
        pn.fit(choices.select(["price"]), parameter_prior=WEAK),
        pn.fit_each(reading, parameter_prior=WEAK),
        pn.fit(reading.data, parameter_prior=WEAK),
        pn.compare_models({"all": "all", "constants": "1"}, reading, pool=True),
        pn.fit(episodes, pn.QLearning(2), parameter_prior=WEAK),
        pn.fit(pn.read(play), pn.QLearning(2), parameter_prior=WEAK),
    ]
    assert [type(one.to_frame()) for one in found] == [pd.DataFrame] * len(found)


def test_nothing_is_written_onto_data_or_results():
    """The data of two kinds of table are the same records, whatever was done with them."""
    kinds = [pn.offers_from_frame(delays(kind)) for kind in ("pandas", "polars")]
    for people in kinds:
        before = [set(vars(one)) for one in people]
        fits = pn.fit_each(people, pn.HyperbolicDiscounting(), parameter_prior=WEAK)
        fits.to_frame(backend="polars")
        assert [set(vars(one)) for one in people] == before
        assert set(vars(fits[0])) == set(vars(pn.fit(people[0], pn.HyperbolicDiscounting())))


def test_files_and_arrays_come_back_as_pandas(tmp_path):
    file = tmp_path / "menu.csv"
    pn.datasets.load("menu").slice(0, 240).to_pandas().to_csv(file, index=False)
    reading = pn.read(file)
    assert isinstance(pn.fit(reading, parameter_prior=WEAK).to_frame(), pd.DataFrame)
    assert isinstance(pn.fit(reading.data, parameter_prior=WEAK).to_frame(), pd.DataFrame)
    arrays = pn.Choices.from_arrays(np.random.default_rng(2).normal(size=(40, 3, 2)), [1] * 40)
    assert isinstance(pn.fit(arrays, parameter_prior=WEAK).to_frame(), pd.DataFrame)
