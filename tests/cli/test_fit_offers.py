"""`penchant fit --model` on tables of offers: discounting and gambles."""

import json

import numpy as np
import pytest

import offered
from cli.trips import csv
from penchant.choices.offers import offers_from_frame
from penchant.inference.fit import fit
from penchant.models.offers.discounting import HyperbolicDiscounting
from penchant.models.offers.gambles import ProspectValue
from penchant.models.simulate import simulate

HEADER = ("subjID", "amount_sooner", "delay_sooner", "amount_later", "delay_later", "choice")
PATIENCE = {"ann": 0.01, "bob": 0.03}


def people():
    rule = {"temperature": 4.0}
    return {
        name: simulate(
            offered.delayed(n=40, seed=seed),
            HyperbolicDiscounting(),
            rule | {"discount_rate": rate},
            rng=np.random.default_rng(seed),
            subject=name,
        )
        for seed, (name, rate) in enumerate(PATIENCE.items())
    }


def rows():
    found = []
    for name, decisions in people().items():
        both = np.stack([decisions.offers["amount"], decisions.offers["delay"]], axis=2)
        cells = both.reshape(40, 4).tolist()
        chosen = decisions.chosen.tolist()
        found += [[name, *row, taken] for row, taken in zip(cells, chosen, strict=True)]
    return found


@pytest.fixture
def offers(folder):
    """The table as offers.csv, with columns of other names if asked."""

    def _offers(header=HEADER, changed=None):
        table = rows()
        for (line, column), cell in (changed or {}).items():
            table[line][column] = cell
        (folder / "offers.csv").write_text(csv(table, header))
        return "offers.csv"

    return _offers


def printed(ended):
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def estimates(document):
    return {p["name"]: p["estimate"] for p in document["parameters"]}


def test_every_subject_gets_the_estimate_of_the_library(penchant, offers):
    ended = penchant("fit", offers(), "--model", "hyperbolic", "--json")
    found = printed(ended)
    assert [one["subject"] for one in found] == ["ann", "bob"]
    for one in found:
        own = fit(people()[one["subject"]], HyperbolicDiscounting())
        assert one["status"] == own.status
        assert one["log_likelihood"] == pytest.approx(own.log_likelihood, rel=1e-12)
        assert estimates(one) == pytest.approx({p.name: p.estimate for p in own.parameters})
    assert "amount = amount_sooner, amount_later; delay = delay_sooner, delay_later" in ended.err
    assert "Data: 2 subjects, 80 trials included of 80, 2 options" in ended.err


def test_pool_gives_one_estimate_of_all_subjects(penchant, offers):
    found = printed(penchant("fit", offers(), "--model", "hyperbolic", "--pool", "--json"))
    own = fit(list(people().values()), HyperbolicDiscounting())
    assert found["log_likelihood"] == pytest.approx(own.log_likelihood, rel=1e-12)


def test_columns_with_other_names_are_named(penchant, offers):
    header = ("who", "now", "wait", "then", "days", "took")
    named = ["--subject", "who", "--chosen", "took"]
    named += ["--offers", "amount=now/then,delay=wait/days", "--options", "0,1"]
    usual = printed(penchant("fit", offers(), "--model", "hyperbolic", "--json"))
    other = printed(penchant("fit", offers(header), "--model", "hyperbolic", *named, "--json"))
    assert [estimates(one) for one in other] == [estimates(one) for one in usual]


def test_numbers_stand_for_what_is_always_the_same(penchant, offers):
    named = ["--offers", "amount=amount_sooner/amount_later,delay=0/delay_later"]
    found = printed(penchant("fit", offers(), "--model", "exponential", *named, "--json"))
    assert len(found) == 2


def test_gambles_against_a_sure_amount(penchant, folder):
    rng = np.random.default_rng(2)
    sure, gain, loss = rng.uniform(0, 6, 60), rng.uniform(2, 20, 60), rng.uniform(1, 9, 60)
    outcome = np.stack([np.column_stack([sure, 0 * sure]), np.column_stack([gain, -loss])], axis=1)
    p = np.broadcast_to([[1.0, 0.0], [0.5, 0.5]], (60, 2, 2))
    truth = {"temperature": 0.9, "loss_aversion": 1.6, "curvature": 0.8}
    played = {"outcome": outcome, "probability": p}
    decisions = simulate(played, ProspectValue(), truth, rng=rng)
    table = np.column_stack([gain, loss, sure, decisions.chosen]).tolist()
    (folder / "g.csv").write_text(csv(table, ("gain", "loss", "cert", "gamble")))
    found = printed(penchant("fit", "g.csv", "--model", "prospect", "--json"))
    assert found["log_likelihood"] == pytest.approx(
        fit(decisions, ProspectValue()).log_likelihood, rel=1e-9
    )
    own = ["--offers", "outcome=cert+0/gain+loss,probability=1+0/0.5+0.5"]
    ended = penchant("fit", "g.csv", "--model", "prospect", *own)
    assert ended.code == 1  # the losses of this file are positive: nothing is lost
    assert "not identified" in ended.out


def test_the_example_shows_consistent_people(penchant):
    found = printed(penchant("fit", "--example", "delays", "--model", "hyperbolic", "--json"))
    separated = [one["subject"] for one in found if one["status"] == "separated"]
    assert separated == ["s04", "s09", "s12", "s17"]
    weak = ["--prior", "weak", "--json"]
    found = printed(penchant("fit", "--example", "delays", "--model", "hyperbolic", *weak))
    assert all(p["estimate"] is not None for one in found for p in one["parameters"])


def test_settings_widen_the_range_of_the_rate(penchant, offers):
    narrow = ["--settings", "rates=0.1/1", "--json"]
    found = printed(penchant("fit", offers(), "--model", "hyperbolic", *narrow))
    assert {one["status"] for one in found} == {"at a bound"}


@pytest.mark.parametrize(
    ("changed", "arguments", "words"),
    [
        ({(3, 4): -5}, [], ["line 5", "must not be negative", "-5"]),
        ({(3, 3): ""}, [], ["line 5", "got nan"]),
        (
            {(0, 5): 2},
            [],
            ["choice has 3 codes, but columns describe 2 options", "choice.missed = [0]"],
        ),
        ({}, ["--reward", "x"], ["--reward must be left out with --model hyperbolic"]),
        ({}, ["--explanatory", "x"], ["--explanatory must be left out"]),
        ({}, ["--chosen", "choise"], ["--chosen must name a column", "Did you mean 'choice'"]),
        ({}, ["--offers", "amount"], ["--offers must be NAME=COLUMN/COLUMN", "'amount'"]),
        ({}, ["--offers", "amount=a/b"], ["must name a column", "'a'"]),
        ({}, ["--example", "delays"], ["FILE must be given, or --example; got both"]),
        ({}, ["--base", "2"], ["--base must be 0 or 1"]),
    ],
)
def test_what_cannot_be_read_is_refused(refused, offers, changed, arguments, words):
    message = refused("fit", offers(changed=changed), "--model", "hyperbolic", *arguments)
    assert all(word in message for word in words), message


def test_offers_need_their_model_and_models_their_offers(refused, offers):
    message = refused("fit", "--example", "delays", "--model", "prospect")
    assert "outcome and probability" in message
    assert "Add --model hyperbolic" in refused("fit", "--example", "delays")
    message = refused("fit", "--example", "menu", "--model", "hyperbolic")
    assert "Try --example delays" in message
    assert "--model must be given with one-shot choices" in refused("fit", offers())
    assert "--offers must be left out without --model" in refused(
        "fit", offers(), "--offers", "amount=a/b"
    )


def test_the_table_is_the_one_that_the_library_reads(offers):
    import pyarrow.csv as pa_csv

    ann, bob = offers_from_frame(pa_csv.read_csv(offers()))
    assert (ann.subject, bob.subject) == ("ann", "bob")
    np.testing.assert_allclose(ann.offers["amount"], people()["ann"].offers["amount"])


def test_calibrated_intervals_are_those_of_the_library_and_say_what_they_are(penchant, offers):
    asked = ("fit", offers(), "--model", "hyperbolic", "--intervals", "calibrated", "--seed", "3")
    ann, _ = printed(penchant(*asked, "--json"))
    assert (ann["intervals"], ann["seed"]) == ("calibrated", 3)
    own = fit(people()["ann"], HyperbolicDiscounting())
    ends = own.interval(kind="calibrated", rng=np.random.default_rng(3))
    np.testing.assert_allclose([(p["low"], p["high"]) for p in ann["parameters"]], ends)


def test_calibrated_intervals_need_a_seed_and_others_take_none(refused, offers):
    asked = ("fit", offers(), "--model", "hyperbolic")
    words = "--seed must be a whole number, 0 or more with --intervals calibrated; got none"
    assert words in refused(*asked, "--intervals", "calibrated")
    assert "--seed must be left out without --intervals calibrated" in refused(*asked, "--seed", 1)


def test_a_fit_is_drawn_with_the_intervals_that_were_asked_for(penchant, folder):
    made = []
    for kind in ("wald", "profile"):
        command = ("fit", "--example", "delays", "--model", "hyperbolic", "--prior", "weak")
        ended = penchant(*command, "--intervals", kind, "--figure", f"{kind}.svg")
        assert ended.code == 0 and f"Written: {kind}.svg" in ended.err
        made.append((folder / f"{kind}.svg").read_text(encoding="utf-8"))
    assert all("discount rate" in text for text in made)
    assert made[0] != made[1]


def test_a_figure_that_exists_is_refused_by_its_own_name(penchant, folder):
    (folder / "kept.svg").write_text("mine")
    ended = penchant("fit", "--example", "travel-mode", "--figure", "kept.svg")
    assert ended.code == 2
    assert "--figure must not exist; got kept.svg" in ended.err
    assert (folder / "kept.svg").read_text() == "mine"
