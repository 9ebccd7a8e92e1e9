"""`penchant recover`: what comes back of simulated people."""

import csv as csv_reader
import json

import numpy as np
import pytest

import penchant as pn

LEARNER = ["--model", "q-learning", "--means", "0.2,0.8", "--noise-variance", "0.1"]
RANGES = ["--parameters", "temperature=0.15:0.4,learning_rate=0.2:0.7"]
MADE = ["recover", *LEARNER, *RANGES, "--decisions", "60", "--subjects", "12", "--seed", "4"]


def test_json_holds_what_the_library_finds(penchant):
    ended = penchant(*MADE, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    own = pn.recover(
        pn.QLearning(2),
        pn.Task(pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1)), 60),
        {"temperature": (0.15, 0.4), "learning_rate": (0.2, 0.7)},
        n_subjects=12,
        rng=np.random.default_rng(4),
    )
    for found, parameter in zip(document["parameters"], own.parameters, strict=True):
        assert found["name"] == parameter.name
        assert found["rmse"] == pytest.approx(parameter.rmse)
        assert found["coverage"] == pytest.approx(parameter.coverage)
    assert document["statuses"] == own.counts()


def test_a_table_is_printed_and_files_are_written(penchant, folder):
    ended = penchant(*MADE, "-o", "people.csv", "--figure", "recovery.png")
    assert ended.code == 0, ended.err
    assert "Recovery of 2 parameters" in ended.out and "coverage" in ended.out
    with (folder / "people.csv").open() as file:
        rows = list(csv_reader.DictReader(file))
    assert len(rows) == 12 and "learning_rate_true" in rows[0]
    assert (folder / "recovery.png").read_bytes().startswith(b"\x89PNG")
    assert "Model: Q-learning, 2 options" in ended.err


def test_numbers_and_places_are_taken(penchant):
    ended = penchant(
        *("recover", "--model", "ucl", "--grid", "4x3", "--landscape", "a", "--length-scale", "2"),
        *("--noise-variance", "4", "--decisions", "30", "--subjects", "3", "--seed", "1"),
        *("--parameters", "decision_noise=3:6,prior_mean=30,prior_variance=250"),
        *("--intervals", "profile", "--blocks", "2"),
    )
    assert ended.code == 0, ended.err
    assert "profile, 95 %" in ended.out and "2 blocks of 30" in ended.out
    assert "Map: option = x + 4 * y" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (MADE[:-2], "--seed must be a whole number, 0 or more; got none"),
        ([*MADE, "--threads", "0"], "--threads must be at least 1; got 0"),
        ([*MADE, "--blocks", "0"], "--blocks must be at least 1; got 0"),
        (["recover", *RANGES, "--seed", "1"], "--model must be given"),
        (["recover", *LEARNER, "--seed", "1"], "Add temperature=LOW:HIGH,learning_rate=LOW:HIGH"),
        ([*MADE, "--parameters", "temprature=1"], "Did you mean 'temperature'"),
        ([*MADE, "--parameters", "temperature=1"], "must name temperature once"),
        (
            ["recover", *LEARNER, "--parameters", "temperature=1:2:3", "--seed", "1"],
            "a number or a range; got 'temperature=1:2:3'",
        ),
        ([*MADE, "--level", "95"], "--level must"),
    ],
)
def test_wrong_usage_is_refused(refused, arguments, words):
    assert words in refused(*arguments)
