"""People simulated among the offers of a table: `recover`, `distinguish` and `design`."""

import json

import numpy as np
import pytest

import penchant as pn
from cli.trips import csv

RANGES = "temperature=0.5:5,discount_rate=0.002:0.2"
GIVEN = {"temperature": (0.5, 5.0), "discount_rate": (0.002, 0.2)}
HYPERBOLIC = ["--model", "hyperbolic", "--parameters", RANGES]
EXPONENTIAL = ["--model", "exponential", "--parameters", RANGES]
DELAYS = ["--example", "delays", "--subjects", "6", "--seed", "3"]
HEADER = ["id", "now", "later", "days"]
ROWS = [[who, 20, 25 + 3 * k, 5 * k + 1] for who in "ab" for k in range(25 + (who == "b"))]
COLUMNS = ["--offers", "amount=now/later,delay=0/days"]


@pytest.fixture
def design(folder):
    """A table of offers among which nobody has chosen yet."""
    (folder / "offers.csv").write_text(csv(ROWS, HEADER))
    return ["--offers-from", "offers.csv", *COLUMNS, "--subjects", "6", "--seed", "3"]


def test_recover_gives_what_the_library_finds(penchant):
    ended = penchant("recover", *HYPERBOLIC, *DELAYS, "--json")
    assert ended.code == 0, ended.err
    assert "Offers: amount = amount_sooner, amount_later; delay = " in ended.err
    own = pn.recover(
        pn.HyperbolicDiscounting(),
        pn.Task(pn.offers_from_frame(pn.datasets.load("delays"))),
        GIVEN,
        n_subjects=6,
        rng=np.random.default_rng(3),
    )
    found = json.loads(ended.out)["parameters"]
    assert [one["rmse"] for one in found] == pytest.approx([p.rmse for p in own.parameters])


def test_a_table_without_choices_will_do(penchant, design):
    ended = penchant("recover", *HYPERBOLIC, *design)
    assert ended.code == 0, ended.err
    assert "Trials each: 25" in ended.out
    assert "Offers: amount = now, later; delay = 0, days; subject = id" in ended.err


def test_more_decisions_than_offers_begin_again(penchant, design):
    assert "Trials each: 70" in penchant("recover", *HYPERBOLIC, *design, "--decisions", 70).out


def test_models_of_offers_are_told_apart(penchant):
    ended = penchant("distinguish", *HYPERBOLIC, *EXPONENTIAL, *DELAYS, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["n_simulated"] == [6, 6]


def test_design_counts_decisions_among_offers(penchant):
    wanted = ["--width", "discount_rate=1", "--relative", "--most", "200"]
    ended = penchant("design", *HYPERBOLIC, *DELAYS, *wanted)
    assert ended.code == 0, ended.err
    assert "Trials needed: " in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["recover", *HYPERBOLIC, "--seed", "1"],
            "--offers-from or --example must be given with --model hyperbolic; got neither",
        ),
        (["recover", *HYPERBOLIC, *DELAYS, "--offers-from", "f.csv"], "got both"),
        (["recover", *HYPERBOLIC, *DELAYS, "--means", "1,2"], "--means must be left out with"),
        (["recover", *HYPERBOLIC, *DELAYS, "--grid", "2x2"], "--grid must be left out with"),
        (["recover", *HYPERBOLIC, *DELAYS[2:], "--offers-from", "f.csv"], "f.csv"),
        (
            ["recover", "--model", "q-learning", *DELAYS],
            "--example must be left out with models of play; got delays",
        ),
        (
            ["distinguish", *HYPERBOLIC, "--model", "random", "--parameters", "", *DELAYS],
            "--model must be one of offers, as the first one is; got random",
        ),
        (
            ["simulate", "--model", "hyperbolic", "--seed", "1"],
            "got hyperbolic, which is for offers. Use simulate in Python",
        ),
    ],
)
def test_wrong_usage_is_refused(refused, arguments, words):
    assert words in refused(*arguments)
