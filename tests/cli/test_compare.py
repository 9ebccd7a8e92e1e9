"""`penchant compare`: several models of one table."""

import csv as csv_reader
import json

import numpy as np
import pytest

import penchant as pn
from cli.plays import HEADER, played
from cli.trips import csv

MODELS = ["--model", "q-learning", "--model", "q-learning:stickiness", "--model", "random"]
TWO = ["--model", "random", "--model", "history"]


@pytest.fixture
def play(folder):
    def _play(rows=None, header=HEADER):
        (folder / "play.csv").write_text(csv(played() if rows is None else rows, header))
        return "play.csv"

    return _play


def _episodes(rows):
    pairs = dict.fromkeys((row[0], row[1]) for row in rows)
    return [
        pn.Episode(
            [r[3] for r in rows if (r[0], r[1]) == pair],
            [r[4] for r in rows if (r[0], r[1]) == pair],
            subject=pair[0],
            block=pair[1],
        )
        for pair in pairs
    ]


def _models():
    return {
        "q-learning": pn.QLearning(12),
        "q-learning:stickiness": pn.QLearning(12, stickiness=True),
        "random": pn.models.RandomChoice(12),
    }


@pytest.mark.parametrize("folds", ["4", "block"])
def test_json_holds_what_the_library_finds(penchant, play, folds):
    ended = penchant("compare", play(), *MODELS, "--folds", folds, "--nested", "1,2", "--json")
    assert ended.code == 0
    document = json.loads(ended.out)
    own = pn.compare_models(
        _models(),
        _episodes(played()),
        folds=int(folds) if folds.isdigit() else folds,
        nested=[("q-learning", "q-learning:stickiness")],
    )
    assert document["best"] == own.best
    for k, model in enumerate(document["models"]):
        assert model["bic"] == pytest.approx(own.bic[:, k].sum())
        assert model["held_out_log_likelihood"] == pytest.approx(
            own.held_out_log_likelihood[:, k].sum()
        )
    assert document["likelihood_ratios"][0]["df"] == 1
    assert "Options: 12, as the largest number says" in ended.err
    assert ended.err.count("Options: 12") == 1


def test_a_table_is_printed_and_files_are_written(penchant, play, folder):
    ended = penchant(
        *("compare", play(), *MODELS, "--folds", "3"),
        *("--decisions", "decisions.csv", "-o", "models.csv", "--figure", "models.svg"),
    )
    assert ended.code == 0
    assert "3 models of 2 subjects" in ended.out and "PXP" in ended.out
    with (folder / "models.csv").open() as file:
        rows = list(csv_reader.DictReader(file))
    assert [row["model"] for row in rows[:3]] == MODELS[1::2]
    with (folder / "decisions.csv").open() as file:
        decisions = list(csv_reader.DictReader(file))
    assert len(decisions) == 68
    total = sum(float(row["random"]) for row in decisions)
    own = pn.compare_models({"random": pn.models.RandomChoice(12)}, _episodes(played()), folds=3)
    assert total == pytest.approx(own.held_out_log_likelihood.sum())
    assert (folder / "models.svg").read_text().startswith("<?xml")


def test_folds_may_be_a_column(penchant, play):
    rows = [[*row, "ab"[k % 2]] for k, row in enumerate(played())]
    name = play(list(reversed(rows)), [*HEADER, "half"])
    ended = penchant("compare", name, *TWO, "--folds", "half", "--json")
    episodes = _episodes(played())
    labels = [
        [row[5] for row in rows if (row[0], row[1]) == (e.subject, e.block)] for e in episodes
    ]
    own = pn.compare_models({"random": pn.models.RandomChoice(12)}, episodes, folds=labels)
    found = json.loads(ended.out)["models"][0]["held_out_log_likelihood"]
    assert found == pytest.approx(own.held_out_log_likelihood.sum())


def test_folds_of_play_that_was_cut_short_are_those_of_what_is_left(penchant, play):
    rows = [[*row, "ab"[k % 2]] for k, row in enumerate(played())]
    rows[5][4] = ""
    name = play(rows, [*HEADER, "half"])
    cut = ["--missing-reward", "truncate", "--json"]
    ended = penchant("compare", name, *TWO, "--folds", "half", *cut)
    assert ended.code == 0, ended.err
    left = [[*row[:4], None if row[4] == "" else row[4], row[5]] for row in rows[:6] + rows[17:]]
    episodes = _episodes(left)
    labels = [
        [row[5] for row in left if (row[0], row[1]) == (e.subject, e.block)] for e in episodes
    ]
    own = pn.compare_models({"random": pn.models.RandomChoice(12)}, episodes, folds=labels)
    found = json.loads(ended.out)["models"][0]["held_out_log_likelihood"]
    assert found == pytest.approx(own.held_out_log_likelihood.sum())


def test_spatial_models_share_the_grid(penchant, play):
    ended = penchant(
        *("compare", play(), "--grid", "4x3", "--noise-variance", "2.5", "--length-scale", "1.5"),
        *("--model", "ucl:cooling=constant", "--model", "gp-ucb", "--model", "locality:terms=same"),
        *("--criterion", "aic", "--json"),
    )
    assert ended.code == 0, ended.err
    first = json.loads(ended.out)["models"][0]
    ucl = pn.UCL(pn.grid(4, 3), 2.5, 1.5, cooling="constant")
    fits = pn.fit_each(_episodes(played()), ucl)
    assert first["aic"] == pytest.approx(sum(e.aic for e in fits))
    assert ended.err.count("Map: option = x + 4 * y") == 1


def test_models_of_offers_are_compared(penchant, folder):
    rng = np.random.default_rng(0)
    lines = ["subject,amount_sooner,delay_sooner,amount_later,delay_later,choice"]
    for subject in (1, 2):
        for _ in range(40):
            later, delay = rng.uniform(15, 40), rng.integers(5, 200)
            p = 1 / (1 + np.exp(-(later / (1 + 0.02 * delay) - 10) / 3))
            lines.append(f"{subject},10,0,{later:.1f},{delay},{int(rng.random() < p)}")
    (folder / "delays.csv").write_text("\n".join(lines) + "\n")
    ended = penchant(
        *("compare", "delays.csv", "--model", "hyperbolic", "--model", "exponential"),
        *("--folds", "4"),
    )
    assert ended.code == 0, ended.err
    assert "2 models of 2 subjects" in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--model must be given; got none. Try --model q-learning for task data"),
        (["--model", "q-lerning"], "Did you mean 'q-learning'"),
        (["--model", "random", "--model", "random"], "--model must name each model once"),
        (["--model", "random", "--model", "hyperbolic"], "all of play, or all of offers; got both"),
        ([*TWO, "--grid", "4x3"], "--grid must be left out with these models"),
        ([*TWO, "--folds", "1"], "folds must be"),
        ([*TWO, "--folds", "halves"], "--folds must be a number, block, or a col"),
        ([*TWO, "--nested", "1"], "--nested must be two places of models"),
        ([*TWO, "--nested", "1,3"], "--nested must name models by their place"),
        ([*TWO, "--criterion", "held-out"], "--criterion held-out must come with --folds"),
        (["--model", "random", "--decisions", "d.csv"], "--decisions must come with --folds"),
        (["--model", "random", "--figure", "d.gif"], "--figure must end in .svg, .pdf, .png"),
        (["--model", "random", "--figure", "d.svg", "-o", "d.svg"], "--figure must not be the"),
        (["--model", "random", "--threads", "0"], "--threads must be at least 1; got 0"),
        (["--model", "random", "--prior", "strong"], "--prior must be none, weak"),
        (["--model", "random:stickiness", *TWO], "--settings must"),
    ],
)
def test_wrong_usage_is_refused(refused, play, arguments, words):
    name = play()
    assert words in refused("compare", name, *arguments)
