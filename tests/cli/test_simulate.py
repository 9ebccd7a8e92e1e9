"""`penchant simulate`: a table of play that `fit` reads."""

import numpy as np
import pytest

from penchant.bandit.landscape import GaussianNoise, grid, landscape_b
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL

AGENT = ["--model", "ucl", "--grid", "5x3", "--noise-variance", "4", "--length-scale", "1.5"]
PRIOR = "decision_noise=3,prior_mean=30,prior_variance=250"
MADE = [*AGENT, "--landscape", "b", "--parameters", PRIOR, "--decisions", "12", "--agents", "2"]
LEARNER = ["--model", "q-learning", "--means", "0.2,0.5,0.8", "--noise-variance", "0.1"]
LEARNER += ["--parameters", "temperature=0.2,learning_rate=0.3", "--decisions", "40"]


def rows(text):
    header, *lines = text.splitlines()
    return header.replace('"', ""), [[float(cell) for cell in line.split(",")] for line in lines]


def test_the_table_is_the_play_of_the_library(penchant):
    ended = penchant("simulate", *MADE, "--seed", 7)
    assert ended.code == 0
    header, found = rows(ended.out)
    assert header == "subject,decision,chosen,reward,x,y"
    played = simulate(
        landscape_b(5, 3, GaussianNoise(4.0)),
        UCL(grid(5, 3), 4.0, 1.5),
        {"decision_noise": 3.0, "prior_mean": 30.0, "prior_variance": 250.0},
        n_decisions=12,
        n_subjects=2,
        rng=np.random.default_rng(7),
    )
    own = [
        [e.subject, t + 1, i, r, i % 5, i // 5]
        for e in played
        for t, (i, r) in enumerate(zip(e.chosen, e.rewards, strict=True))
    ]
    assert found == own


def test_the_same_seed_gives_the_same_table_and_another_one_does_not(penchant):
    tables = [penchant("simulate", *MADE, "--seed", seed).out for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]


def test_words_go_to_stderr(penchant):
    ended = penchant("simulate", *MADE, "--seed", 7)
    assert "Model: stochastic UCL, 15 options" in ended.err
    assert "Map: option = x + 5 * y" in ended.err
    assert "Play: 2 agents, 12 decisions each, seed 7" in ended.err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_written_can_be_fitted(penchant, kind):
    made = penchant("simulate", *LEARNER, "--agents", 3, "--seed", 2, "-o", f"q.{kind}")
    assert (made.code, made.out) == (0, "")
    assert f"Written: q.{kind}" in made.err
    ended = penchant("fit", f"q.{kind}", "--model", "q-learning")
    assert ended.code == 0
    assert "3 subjects, 3 blocks, 120 trials included" in ended.err


def test_the_same_is_printed_and_written(penchant, folder):
    printed = penchant("simulate", *LEARNER, "--seed", 2).out
    penchant("simulate", *LEARNER, "--seed", 2, "-o", "q.csv")
    assert rows((folder / "q.csv").read_text()) == rows(printed)


def test_means_may_be_given_on_a_grid(penchant):
    means = ",".join(str(1.5 * i) for i in range(15))
    options = [*AGENT, "--means", means, "--parameters", PRIOR, "--decisions", 4, "--seed", 1]
    assert len(rows(penchant("simulate", *options).out)[1]) == 4


def changed(name, value, options=MADE):
    """The options with another value, or none."""
    place = options.index(name)
    return [*options[:place], *([] if value is None else [name, value]), *options[place + 2 :]]


SEED = ["--seed", "1"]
CASES = {
    "no seed": (MADE, ["--seed must be a whole number", "none"]),
    "seed below 0": ([*MADE, "--seed", "-1"], ["--seed", "-1"]),
    "seed not whole": ([*MADE, "--seed", "1.5"], ["--seed", "1.5"]),
    "no model": ([*changed("--model", None), *SEED], ["--model", "none"]),
    "no parameters": (
        [*changed("--parameters", None), *SEED],
        ["decision_noise=VALUE,prior_mean=VALUE,prior_variance=VALUE"],
    ),
    "a parameter missing": (
        [*changed("--parameters", "decision_noise=3,prior_mean=2"), *SEED],
        ["none for prior_variance"],
    ),
    "a parameter of another model": (
        [*changed("--parameters", PRIOR + ",learning_rate=1"), *SEED],
        ["'learning_rate=1'"],
    ),
    "a parameter misspelt": (
        [*changed("--parameters", "decision_nois=3"), *SEED],
        ["mean 'decision_noise'"],
    ),
    "a parameter twice": (
        [*changed("--parameters", PRIOR + ",prior_mean=1"), *SEED],
        ["prior_mean once"],
    ),
    "a parameter of letters": (
        [*changed("--parameters", "prior_mean=high"), *SEED],
        ["prior_mean", "'prior_mean=high'"],
    ),
    "D55 decision noise": (
        [*changed("--parameters", PRIOR.replace("noise=3", "noise=-1")), *SEED],
        ["decision_noise must be", "-1"],
    ),
    "D55 prior variance": (
        [*changed("--parameters", PRIOR.replace("250", "0")), *SEED],
        ["prior_variance must be > 0", "0"],
    ),
    "D55 noise": ([*changed("--noise-variance", "-4"), *SEED], ["--noise-variance must be > 0"]),
    "D55 no noise": ([*changed("--noise-variance", None), *SEED], ["--noise-variance", "none"]),
    "D55 scale": ([*changed("--length-scale", "-4"), *SEED], ["--length-scale must be >= 0"]),
    "no landscape": ([*changed("--landscape", None), *SEED], ["--landscape or --means", "neither"]),
    "no grid": ([*changed("--grid", None), *SEED], ["--grid", "10x10"]),
    "narrow grid": ([*changed("--grid", "2x9"), *SEED], ["--grid", "3 wide"]),
    "means of another number": (
        [*AGENT, "--means", "1,2", "--parameters", PRIOR, *SEED],
        ["--means", "2", "15 options"],
    ),
    "means of letters": ([*changed("--means", "1,x", LEARNER), *SEED], ["--means", "1,x"]),
    "one mean": ([*changed("--means", "1", LEARNER), *SEED], ["--means must be two or more"]),
    "no decisions": ([*changed("--decisions", "0"), *SEED], ["--decisions", "at least 1"]),
    "no agents": ([*changed("--agents", "0"), *SEED], ["--agents", "at least 1"]),
    "unknown ending": ([*MADE, *SEED, "-o", "x.txt"], ["--output", "x.txt"]),
    "no folder": ([*MADE, *SEED, "-o", "none/x.csv"], ["--output", "none"]),
    "exists": ([*MADE, *SEED, "-o", "trips.csv"], ["trips.csv", "--overwrite"]),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_usage_is_refused_and_nothing_written(case, refused):
    options, words = CASES[case]
    message = refused("simulate", *options)
    assert all(word in message for word in words), message


def test_overwrite_replaces_a_file(penchant, folder):
    (folder / "x.csv").write_text("old")
    assert penchant("simulate", *MADE, *SEED, "-o", "x.csv", "--overwrite").code == 0
    assert (folder / "x.csv").read_text().startswith('"subject"')
