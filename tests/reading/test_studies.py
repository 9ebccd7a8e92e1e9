"""From a file as a laboratory has it to a study of two groups, in three calls."""

import json

import pytest
from pyarrow import Table

import penchant as pn
from laboratory_files import (
    as_csv,
    gorilla_offers,
    jspsych_play,
    players,
    psychopy_play,
    savers,
    shoppers,
    survey,
)

PLAYERS, SAVERS = players(), savers()


def _file(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.json", json.dumps(jspsych_play(PLAYERS))),
        ("data.csv", as_csv(psychopy_play(PLAYERS))),
    ],
)
def test_play_of_two_groups_is_a_study(tmp_path, name, text):
    reading = pn.read(_file(tmp_path, text, name))
    data = pn.read_study(reading, conditions=["group"])
    assert data.is_play
    assert len(data.subjects) == len(PLAYERS)
    assert {s: data.condition(s) for s in data.subjects} == {p.name: p.group for p in PLAYERS}
    assert sum(e.n_decisions for e in data.episodes) == reading.n_decisions


def test_offers_of_two_groups_are_a_study(tmp_path):
    reading = pn.read(_file(tmp_path, as_csv(gorilla_offers(SAVERS)), "data.csv"))
    data = pn.read_study(reading, conditions=["group"])
    assert not data.is_play
    assert sorted(data.condition(s) for s in data.subjects) == ["old"] * 3 + ["young"] * 3
    first = data.episodes[0]
    assert first.offers["delay"][:, 1].tolist() == [days for *_, days in SAVERS[0].offers]


def test_a_choice_experiment_of_two_groups_is_a_study():
    reading = pn.read(Table.from_pylist(survey(shoppers())))
    data = pn.read_study(reading, conditions=["group"])
    assert not data.is_play
    assert {data.condition(s) for s in data.subjects} == {"young", "old"}
    assert data.episodes[0].n_decisions == 12


def test_models_of_a_choice_experiment_are_compared_and_say_what_attributes_are_worth():
    reading = pn.read(Table.from_pylist(survey(shoppers(n_people=4, n_decisions=40))))
    names = reading.data.names
    models = {
        "all": pn.models.Attributes(names, price="price"),
        "no brand": pn.models.Attributes([name for name in names if name != "brand:Zen"]),
    }
    found = pn.compare_models(models, reading)
    assert {*found.names} == {"all", "no brand"}
    each = pn.fit_each(reading, models["all"], parameter_prior=pn.ScaledPrior())
    assert [p.name for p in each[0].parameters][1] == "time_worth"
