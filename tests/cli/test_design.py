"""`penchant design`: how many decisions, or subjects, a goal needs."""

import json

import numpy as np
import pytest

import penchant as pn

TASK = ["--means", "0,0", "--noise-variance", "1", "--seed", "1"]
HABIT = ["--model", "random", "--parameters", "bias_0=0"]
NARROW = ["design", *HABIT, *TASK, "--subjects", "20", "--width", "bias_0=1"]
DIFFER = ["design", *HABIT, *TASK, "--subjects", "30", "--decisions", "60", "--against", "bias_0=1"]
LEARNER = ["design", "--model", "q-learning", *TASK]
LEARNER += ["--parameters", "temperature=0.2,learning_rate=0.5"]


def test_decisions_until_an_interval_is_narrow(penchant, folder):
    ended = penchant(*NARROW, "--json", "-o", "design.csv")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert document["unit"] == "decisions"
    assert document["needed"] == pytest.approx((2 * 1.96) ** 2 * 4, rel=0.2)  # p = 1/2
    assert (folder / "design.csv").read_text().startswith('"n"')
    assert [one["n"] for one in document["tried"]][:2] == [25, 50]


def test_subjects_until_a_difference_is_found(penchant, folder):
    ended = penchant(*DIFFER, "--figure", "subjects.png", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    own = pn.design(
        pn.models.RandomChoice(2),
        pn.Task(pn.Landscape([0.0, 0.0], pn.GaussianNoise(1.0)), 60),
        {"bias_0": 0.0},
        goal=pn.DetectDifference({"bias_0": 1.0}),
        n_subjects=30,
        rng=np.random.default_rng(1),
    )
    assert document == json.loads(json.dumps(own.document()))
    assert (document["needed"], document["unit"]) == (own.needed, "subjects in each group")
    assert document["goal"] == "a difference in bias_0 at p < 0.05"
    assert (folder / "subjects.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_is_printed_with_the_columns_that_mean_something(penchant):
    said = penchant(*NARROW, "--most", "100").out
    assert said.startswith("Trials needed: 6") and "median width" in said
    said = penchant(*DIFFER, "--power", "0.5").out
    assert said.startswith("Subjects in each group needed: ") and "median width" not in said


def test_a_goal_that_nothing_tried_reaches_is_exit_code_1(penchant):
    ended = penchant(*NARROW, "--most", "30")
    assert ended.code == 1
    assert "Trials needed: none up to 30" in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", *HABIT, *TASK], "--width or --against must be given; got neither"),
        ([*NARROW, "--against", "bias_0=1"], "--width or --against must be given; got both"),
        ([*NARROW, "--decisions", "60"], "--decisions must be left out with --width; got 60"),
        ([*NARROW, "--power", "0.9"], "--power must be left out with --width; got 0.9"),
        ([*DIFFER, "--share", "0.9"], "--share must be left out with --against; got 0.9"),
        ([*DIFFER, "--level", "0.9"], "--level must be left out with --against; got 0.9"),
        ([*DIFFER, "--power", "2"], "power must lie between 0 and 1; got 2"),
        ([*NARROW[:-1], "bias_0"], "--width must be NAME=WIDTH; got 'bias_0'"),
        ([*NARROW[:-1], "bias=1"], "parameter must be 'bias_0'"),
        ([*NARROW, "--most", "1"], "--most must be at least 2; got 1"),
        ([*LEARNER, "--against", "rate=1"], "--against must name temperature, learning_rate"),
        (
            [*LEARNER, "--against", "temperature=0.3,learning_rate=0.4"],
            "--tested must be given where groups differ in temperature and learning_rate",
        ),
        (["design", *HABIT[:2], *TASK, "--width", "bias_0=1"], "got none for bias_0. Add bias_0="),
        (["design", *NARROW[1:5], "--width", "bias_0=1"], "--seed must be a whole number"),
    ],
)
def test_wrong_usage_is_refused(refused, arguments, words):
    assert words in refused(*arguments)
