"""Example data: whole, documented, and what their script makes."""

import importlib.util
from pathlib import Path

import pyarrow.compute as pc
import pytest

import penchant as pn
from penchant.datasets import dataset, load, names
from penchant.errors import DataError


def made(name):
    place = Path(__file__).with_name("make.py")
    spec = importlib.util.spec_from_file_location("make_datasets", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TABLES[name]()


def choices(name):
    known = dataset(name)
    return pn.Choices.from_frame(
        load(name),
        decision=known.decision,
        option=known.option,
        chosen=known.chosen,
        explanatory=known.explanatory,
        subject=known.subject,
    )


def test_the_names_are_sorted():
    assert names() == tuple(sorted(names())) == ("delays", "menu", "travel-mode")


@pytest.mark.parametrize("name", ["menu", "travel-mode"])
def test_every_role_is_a_column(name):
    known = dataset(name)
    roles = {known.decision, known.option, known.chosen, *known.explanatory}
    roles |= {known.subject} if known.subject else set()
    assert roles <= set(load(name).column_names)


@pytest.mark.parametrize("name", ["delays", "menu", "travel-mode"])
def test_description_source_and_licence_are_given(name):
    known = dataset(name)
    assert known.name == name
    assert known.description and known.source and known.licence


@pytest.mark.parametrize("name", ["menu", "travel-mode"])
def test_every_decision_has_one_chosen_option(name):
    known = dataset(name)
    counts = load(name).group_by(known.decision).aggregate([(known.chosen, "sum")])
    assert set(counts[f"{known.chosen}_sum"].to_pylist()) == {1}


def test_an_underscore_names_the_same_data():
    assert load("travel_mode").equals(load("travel-mode"))


def test_unknown_data_are_refused_with_the_nearest_name():
    with pytest.raises(DataError, match=r"menu, travel-mode; got 'travel'.\nDid you mean"):
        load("travel")
    with pytest.raises(DataError, match=r"got 3.\nChoose one of them"):
        dataset(3)


def test_the_travel_data_are_those_of_greene():
    table = load("travel-mode")
    assert (table.num_rows, table.num_columns) == (840, 9)
    taken = table.filter(pc.equal(table["chosen"], 1))["mode"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in taken} == {
        "air": 58,
        "train": 63,
        "bus": 30,
        "car": 59,
    }


@pytest.mark.comparison
def test_the_travel_data_are_what_the_script_makes():
    pytest.importorskip("statsmodels")
    assert load("travel-mode").equals(made("travel_mode"))


def test_the_menus_are_what_the_script_makes():
    assert load("menu").equals(made("menu"))


def test_the_delays_are_what_the_script_makes():
    assert load("delays").equals(made("delays"))


def test_the_delays_are_offers_by_their_roles_and_by_their_names():
    known, table = dataset("delays"), load("delays")
    offers = {attribute: list(columns) for attribute, columns in known.offers}
    assert {known.decision, known.chosen, known.subject} <= set(table.column_names)
    named = pn.offers_from_frame(
        table, subject=known.subject, chosen=known.chosen, offers=offers, block="none"
    )
    found = pn.offers_from_frame(table)
    assert [repr(decisions) for decisions in named] == [repr(decisions) for decisions in found]
    assert len(found) == 20
    assert {decisions.n_events for decisions in found} == {60}
    assert [t.subject for t in found if t.n_decisions < 60] == ["s18"]


def test_the_delays_show_every_status_of_a_subject():
    people = pn.offers_from_frame(load("delays"))
    model = pn.HyperbolicDiscounting()
    estimates = pn.fit_each(people, model)
    special = {e.subject: e.status for e in estimates if e.status != "converged"}
    assert special == {
        "s04": "separated",
        "s09": "separated",
        "s12": "separated",
        "s15": "at a bound",
        "s17": "separated",
        "s20": "weakly identified",
    }
    consistent = [p.subject for p in people if model.consistent_rates(p) is not None]
    assert consistent == ["s04", "s09", "s12", "s17"]


def test_the_travel_data_are_choices():
    travels = choices("travel-mode")
    assert (travels.n_decisions, travels.n_parameters) == (210, 2)


def test_the_menus_show_every_status_of_a_subject():
    menus = choices("menu")
    statuses = {
        subject: pn.fit(menus.subset(menus.subject == k)).status
        for k, subject in enumerate(menus.subject_labels)
    }
    special = {subject: status for subject, status in statuses.items() if status != "converged"}
    assert special == {
        "s05": "separated",
        "s08": "weakly identified",
        "s11": "separated",
        "s14": "not identified",
        "s17": "separated",
    }
