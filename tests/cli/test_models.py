"""`penchant models`, and `--model NAME` of all models of a history of play."""

import dataclasses
import json
from typing import get_args

import numpy as np
import pytest

import penchant as pn
from cli.plays import HEADER, played
from cli.trips import csv
from penchant.cli.options import ModelName
from penchant.models.catalogue import CATALOGUE
from penchant.models.model import natural_parameters

GRID = ["--grid", "4x3"]
# what one types, and the model it means
ASKED = {
    "random": ([], pn.models.RandomChoice(12)),
    "wsls": (["--settings", "win_above=9"], pn.models.WinStayLoseShift(12, win_above=9.0)),
    "history": (
        ["--settings", "reward_lags=2,choice_lags=1,bias"],
        pn.models.HistoryRegression(12, reward_lags=2, choice_lags=1, bias=True),
    ),
    "q-learning": (
        ["--settings", "learning_rate=0.4/0.2,dual_rates,stickiness", "--initial-value", "5"],
        pn.QLearning(12, 5.0, learning_rate=(0.4, 0.2), dual_rates=True, stickiness=True),
    ),
    "kalman": (
        ["--noise-variance", "2.5", "--settings", "initial_mean=free,prior_variance=20"],
        pn.KalmanFilter(12, 2.5, prior_variance=20.0, initial_mean=None),
    ),
    "ucb1": (["--settings", "initial_value=8"], pn.models.UCB1(12, 8.0)),
    "volatile-kalman": (["--initial-value", "8"], pn.models.VolatileKalman(12, 8.0)),
    "known-values": (
        ["--settings", "values=0/7/14/21/0/7/14/21/0/7/14/21,cooling=logarithmic"],
        pn.models.KnownValues([0, 7, 14, 21] * 3, cooling="logarithmic"),
    ),
    "gp-ucb": (
        [*GRID, "--length-scale", "1.5", "--settings", "prior_mean=10,locality=same,prior_sd=9"],
        pn.GPUCB(pn.grid(4, 3), ("same",), length_scale=1.5, prior_mean=10.0, prior_sd=9.0),
    ),
    "locality": (
        [*GRID, "--settings", "terms=distance/visited"],
        pn.models.Locality(pn.grid(4, 3), ("distance", "visited")),
    ),
}


@pytest.fixture
def file(folder):
    (folder / "play.csv").write_text(csv(played(), HEADER))
    return "play.csv"


def episodes():
    rows = played()
    found = []
    for label in dict.fromkeys((row[0], row[1]) for row in rows):
        mine = [row for row in rows if (row[0], row[1]) == label]
        found.append(pn.Episode([row[3] for row in mine], [row[4] for row in mine]))
    return found


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_fit_is_that_of_the_library(name, penchant, file):
    options, model = ASKED[name]
    counted = any(f.name == "n_options" and f.init for f in dataclasses.fields(model))
    given = ["--options", "12"] if counted else []
    ended = penchant(
        "fit", file, "--model", name, *options, *given, "--pool", "--prior", "weak", "--json"
    )
    assert ended.code == 0, ended.err
    own = pn.fit(episodes(), model, parameter_prior=pn.ScaledPrior())
    found = json.loads(ended.out)
    assert found["log_likelihood"] == pytest.approx(own.log_likelihood, rel=1e-9)
    assert [p["name"] for p in found["parameters"]] == [p.name for p in own.parameters]


def test_the_number_of_options_is_that_of_the_file_unless_told(penchant, file):
    ended = penchant("fit", file, "--model", "random", "--pool", "--prior", "weak", "--json")
    assert "Options: 12, as the largest number says" in ended.err
    assert len(json.loads(ended.out)["parameters"]) == 11
    ended = penchant(
        "fit", file, "--model", "random", "--options", 14, "--pool", "--prior", "weak", "--json"
    )
    assert len(json.loads(ended.out)["parameters"]) == 13


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["q-learning", "--settings", "dual_rate"], ["--settings must name", "'dual_rates'?"]),
        (["q-learning", "--settings", "forgetting"], ["must have a value", "forgetting=VALUE"]),
        (["q-learning", "--settings", "stickiness=2"], ["must be a flag", "'stickiness=2'"]),
        (["q-learning", "--settings", "forgetting=0.1,forgetting=free"], ["once", "twice"]),
        (["q-learning", "--settings", "learning_rate=3"], ["learning_rate must lie in 0..1"]),
        (
            ["q-learning", "--settings", "initial_value=2", "--initial-value", "3"],
            ["--initial-value must be given once; got it twice"],
        ),
        (["q-learning", "--noise-variance", "2"], ["--noise-variance must be left out"]),
        (["kalman", "--settings", "decay=slow"], ["decay must be a number; got 'slow'"]),
        (["kalman", "--noise-variance", "0"], ["noise-variance must be > 0; got 0"]),
        (["kalman", "--clock", "events"], ["--clock must be left out with --model kalman"]),
        (["hybrid"], ["--model hybrid must have every option that was chosen", "at line 2"]),
        (["hybrid", "--options", "2"], ["--options must be left out with --model hybrid"]),
        (["known-values"], ["--settings must give values", "values=VALUE"]),
        (["random", "--settings", "bias"], ["--settings must be left out with --model random"]),
        (
            ["random", "--options", "7"],
            ["whole numbers from 0 to 6; got 7 at line ", "There are 7 options"],
        ),
        (["gp-ucb"], ["--grid or --locations must be given with --model gp-ucb"]),
        (["gp-ucb", *GRID, "--settings", "kernel=round"], ["kernel", "gaussian", "'round'"]),
        (
            ["gp-ucb", *GRID, "--settings", "prior_sd=wide"],
            ["prior_sd must be a number; got 'wide'"],
        ),
        (
            ["ucl", *GRID, "--noise-variance", "2", "--settings", "alpha_power=fast"],
            ["alpha_power must be a number; got 'fast'"],
        ),
        (["ucl", *GRID, "--noise-variance", "2", "--settings", "bonus=free"], ["Use --bonus"]),
    ],
)
def test_settings_that_make_no_model_are_refused(options, words, refused, file):
    message = refused("fit", file, "--model", *options)
    assert all(word in message for word in words), message


def test_ucl_takes_settings_that_have_no_option(penchant, file):
    ended = penchant(
        *("fit", file, "--model", "ucl", *GRID, "--noise-variance", "2.5", "--length-scale", "1.5"),
        *("--settings", "alpha_power=0.5", "--pool", "--prior", "weak", "--json"),
    )
    model = pn.UCL(pn.grid(4, 3), 2.5, 1.5, alpha_power=0.5)
    own = pn.fit(episodes(), model, parameter_prior=pn.ScaledPrior())
    assert json.loads(ended.out)["log_likelihood"] == pytest.approx(own.log_likelihood, rel=1e-9)


def test_agents_of_any_model_play(penchant):
    ended = penchant(
        *("simulate", "--model", "kalman", "--means", "0.2,0.5,0.8", "--noise-variance", "0.1"),
        *("--settings", "initial_mean=0.5,stickiness", "--decisions", "9", "--seed", "4"),
        *("--parameters", "temperature=0.2,prior_variance=0.3,uncertainty_bonus=1,stickiness=-1"),
    )
    assert ended.code == 0, ended.err
    episode = pn.simulate(
        pn.Landscape([0.2, 0.5, 0.8], pn.GaussianNoise(0.1)),
        pn.KalmanFilter(3, 0.1, initial_mean=0.5, stickiness=True),
        {
            **{"temperature": 0.2, "prior_variance": 0.3},
            **{"uncertainty_bonus": 1.0, "stickiness": -1.0},
        },
        n_decisions=9,
        rng=np.random.default_rng(4),
    )
    chosen = [int(line.split(",")[2]) for line in ended.out.splitlines()[1:]]
    assert chosen == episode.chosen.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["hybrid"], ["--means", "--model hybrid has 2 options"]),
        (["hyperbolic"], ["hyperbolic, which is for offers"]),
        (["q-learning", "--settings", "bias"], ["got none for", "bias_0=VALUE"]),
    ],
)
def test_agents_that_cannot_play_are_refused(options, words, refused):
    message = refused(
        *("simulate", "--model", *options, "--means", "1,2,3", "--noise-variance", "1"),
        *("--seed", "1", "--parameters", "temperature=1,learning_rate=0.5"),
    )
    assert all(word in message for word in words), message


def test_every_model_is_listed_with_its_natural_parameters(penchant):
    text = " ".join(penchant("models").out.split())
    for name, entry in CATALOGUE.items():
        names = [natural.name for natural in natural_parameters(entry.example())]
        shown = names if len(names) < 6 else [f"{names[0]} ... {names[-1]}"]
        assert f"{name} {entry.description}: {', '.join(shown)}" in text


def test_the_names_are_those_that_model_takes():
    assert set(get_args(ModelName)) == set(CATALOGUE)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_one_model_is_described(name, penchant):
    text = penchant("models", name).out
    entry = CATALOGUE[name]
    assert entry.model.__name__ in text
    for setting in entry.settings:
        assert f"  {setting.name} = " in text
        assert setting.description, setting.name
    found = json.loads(penchant("models", name, "--json").out)
    assert found["weights"] == list(entry.example().weights)


def test_json_holds_all_models(penchant):
    found = json.loads(penchant("models", "--json").out)
    assert [model["name"] for model in found] == list(CATALOGUE)
    (learner,) = [model for model in found if model["name"] == "q-learning"]
    assert learner["shape"] == [
        {"name": "learning_rate", "low": 1e-08, "high": 1.0, "scale": "linear"}
    ]


def test_an_unknown_model_is_refused(refused):
    assert "kalmann" in refused("models", "kalmann")


def test_the_list_of_models_is_no_wider_than_a_terminal(penchant):
    assert max(map(len, penchant("models").out.splitlines())) <= 80
    assert max(map(len, penchant("models", "--task", "two-step").out.splitlines())) <= 80
