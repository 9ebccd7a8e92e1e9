"""`penchant distinguish`: which model is found when which one simulated."""

import json

import numpy as np
import pytest

import penchant as pn

TASK = ["--means", "0.2,0.8", "--noise-variance", "0.1", "--decisions", "50", "--seed", "4"]
LEARNER = ["--model", "q-learning", "--parameters", "temperature=0.05:0.1,learning_rate=0.3:0.6"]
HABIT = ["--model", "random", "--parameters", "bias_0=-0.3:0.3"]
MADE = ["distinguish", *LEARNER, *HABIT, *TASK, "--subjects", "8"]


def test_json_holds_what_the_library_finds(penchant):
    ended = penchant(*MADE, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    own = pn.recover_models(
        {"q-learning": pn.QLearning(2), "random": pn.models.RandomChoice(2)},
        pn.Task(pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1)), 50),
        {
            "q-learning": {"temperature": (0.05, 0.1), "learning_rate": (0.3, 0.6)},
            "random": {"bias_0": (-0.3, 0.3)},
        },
        n_subjects=8,
        rng=np.random.default_rng(4),
    )
    assert document["models"] == ["q-learning", "random"]
    assert document["counts"] == own.counts.tolist()
    np.testing.assert_allclose(document["confusion"], own.confusion)
    np.testing.assert_allclose(document["inversion"], own.inversion)
    assert document["n_simulated"] == [8, 8]


def test_both_matrices_are_printed_written_and_drawn(penchant, folder):
    ended = penchant(*MADE, "-o", "pairs.csv", "--figure", "confusion.png", "--folds", "2")
    assert ended.code == 0, ended.err
    assert "Recovery of 2 models by held-out loss" in ended.out
    assert ended.out.count("q-learning") == 3 and " | " in ended.out
    assert (folder / "pairs.csv").read_text().startswith('"simulated","found","n","confusion"')
    assert (folder / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert "Model: random: random choice" in ended.err


def test_models_of_places_and_others_share_a_task(penchant):
    ended = penchant(
        *("distinguish", "--grid", "4x3", "--landscape", "a", "--noise-variance", "4"),
        *("--length-scale", "2", "--decisions", "20", "--subjects", "2", "--seed", "1"),
        *("--model", "ucl", "--parameters", "decision_noise=3,prior_mean=30,prior_variance=250"),
        *("--model", "q-learning", "--parameters", "temperature=2,learning_rate=0.5", "--json"),
    )
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["n_simulated"] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["distinguish"], "--model must be given, once for each model; got none"),
        (["distinguish", *LEARNER, *TASK], "--model must be given twice or more"),
        (["distinguish", *LEARNER, *HABIT, *TASK[:-2]], "--seed must be a whole number"),
        (
            ["distinguish", *LEARNER, *HABIT[:2], *TASK],
            "--parameters must be given once for each --model, in the same order; got 1 for "
            "q-learning, random. Put one after each --model",
        ),
        (
            ["distinguish", *LEARNER[:3], "temperature=0.1", *HABIT, *TASK],
            "--model q-learning: --parameters must hold temperature, learning_rate; got none for",
        ),
        ([*MADE, "--folds", "halves"], "--folds must be a number or block for simulated people"),
        ([*MADE, "--criterion", "held-out"], "--criterion held-out must come with --folds"),
        ([*MADE[:-1], "0"], "--subjects must be at least 1; got 0"),
        (["distinguish", *LEARNER, *HABIT, *TASK[2:]], "--landscape or --means must be given"),
    ],
)
def test_wrong_usage_is_refused(refused, arguments, words):
    assert words in refused(*arguments)
