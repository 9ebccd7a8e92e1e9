"""`penchant predict`: a table beside the data, and a check of the model."""

import csv as csv_reader
import io
import json

import numpy as np
import pytest

import penchant as pn
from cli.plays import HEADER, played
from cli.trips import csv
from penchant.workflow.predictive_checks import PredictiveCheck

Q = ["--model", "q-learning", "--options", "12"]


@pytest.fixture
def play(folder):
    def _play(rows=None, header=HEADER):
        (folder / "play.csv").write_text(csv(played() if rows is None else rows, header))
        return "play.csv"

    return _play


def _read(text):
    return list(csv_reader.DictReader(io.StringIO(text)))


def _own():
    rows = played()
    pairs = dict.fromkeys((row[0], row[1]) for row in rows)
    episodes = [
        pn.Episode(
            [r[3] for r in rows if (r[0], r[1]) == pair],
            [r[4] for r in rows if (r[0], r[1]) == pair],
            subject=pair[0],
            block=pair[1],
        )
        for pair in pairs
    ]
    fits = pn.fit_each(episodes, pn.QLearning(12), parameter_prior=pn.ScaledPrior())
    return pn.beliefs(fits, episodes)


def test_the_table_has_the_rows_of_the_file_in_their_order(penchant, play):
    rows = played()
    order = np.random.default_rng(1).permutation(len(rows))
    ended = penchant("predict", play([rows[i] for i in order]), *Q)
    assert ended.code == 0, ended.err
    found = _read(ended.out)
    own = _own()
    for place, i in enumerate(order):
        assert found[place]["subject"].strip('"') == rows[i][0]
        assert int(found[place]["decision"]) == rows[i][2]
        for name in ("probability", "value", "prediction_error", "entropy"):
            assert float(found[place][name]) == pytest.approx(own[name][i], rel=1e-6), name
    assert "Predicted: 68 decisions, log-likelihood" in ended.err


def test_timeouts_have_empty_cells_and_columns_of_options_are_added(penchant, play, folder):
    rows = played()
    rows[5][3] = rows[5][4] = ""
    ended = penchant("predict", play(rows), *Q, "--all-options", "-o", "latent.csv")
    assert ended.code == 0 and ended.out == ""
    found = _read((folder / "latent.csv").read_text())
    assert found[5]["probability"] == "" and found[5]["prediction_error"] == ""
    assert float(found[5]["entropy"]) > 0
    total = sum(float(found[7][f"probability_{i}"]) for i in range(12))
    assert total == pytest.approx(1.0)


def test_rows_after_play_that_was_cut_short_have_empty_cells(penchant, play):
    rows = played()
    rows[5][4] = ""
    order = np.random.default_rng(1).permutation(len(rows))
    mixed = play([rows[i] for i in order])
    found = _read(penchant("predict", mixed, *Q, "--missing-reward", "truncate").out)
    assert len(found) == len(rows)
    empty = {int(i) for place, i in enumerate(order) if found[place]["probability"] == ""}
    assert empty == set(range(6, 17))


def test_what_is_printed_has_the_same_empty_cells_as_what_is_written(penchant, play):
    rows = played()
    rows[5][3] = rows[5][4] = ""
    found = _read(penchant("predict", play(rows), *Q).out)
    assert found[5]["probability"] == "" and found[5]["prediction_error"] == ""


def test_a_column_that_is_there_already_is_left_alone(penchant, play):
    rows = [[*row, 7] for row in played()]
    found = _read(penchant("predict", play(rows, [*HEADER, "value"]), *Q).out)
    assert found[0]["value"] == "7" and found[0]["model_value"] != ""


def test_json_holds_the_rows(penchant, play):
    rows = json.loads(penchant("predict", play(), *Q, "--json").out)
    assert len(rows) == 68 and {"probability", "prediction_error"} <= set(rows[0])


def test_the_check_is_printed_and_drawn(penchant, play, folder):
    arguments = ["predict", play(), *Q, "--check", 20, "--seed", 3]
    ended = penchant(*arguments, "--figure", "check.pdf", "-o", "latent.parquet")
    assert ended.code == 0, ended.err
    assert "Posterior predictive check, given what happened" in ended.out
    assert "switches" in ended.out
    assert (folder / "check.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "latent.parquet").exists()
    again = penchant(*arguments)
    assert again.out == ended.out
    rows = json.loads(penchant(*arguments, "--json").out)
    assert rows[0]["statistic"] == "share of option 0"


def test_the_figure_of_the_check_counts_people_without_standard_errors():
    names = ("share of option 0", "switches")
    draws = np.random.default_rng(1).uniform(0.3, 0.6, (40, 2))
    check = PredictiveCheck(names, np.array([0.4, 0.5]), draws, 99, "given what happened", ("bo",))
    (axes,) = pn.figures.overview(check).axes
    assert axes.get_title(loc="right") == "left out, no standard errors: 1 subject"


def test_one_estimate_may_be_for_all(penchant, play):
    pooled, each = (_read(penchant("predict", play(), *Q, *more).out) for more in (["--pool"], []))
    assert pooled[3]["probability"] != each[3]["probability"]


def test_without_a_prior_people_without_an_estimate_are_named(penchant, play):
    rows = [["sure", 1, t, 0 if t == 1 else 1, 0.0 if t == 1 else 5.0] for t in range(1, 18)]
    ended = penchant(
        *("predict", play([*played(blocks=(1,)), *rows]), "--model", "q-learning"),
        *("--options", "12", "--settings", "learning_rate=0.5", "--prior", "none"),
    )
    assert ended.code == 0
    assert "Note: no finite estimate, and empty cells: sure" in ended.err


def test_offers_are_described_too(penchant, folder):
    lines = ["subject,amount_sooner,delay_sooner,amount_later,delay_later,choice"]
    lines += [f"1,10,0,{12 + 2 * k},{20 + 7 * (k % 5)},{int(k % 3 > 0)}" for k in range(20)]
    (folder / "delays.csv").write_text("\n".join(lines) + "\n")
    ended = penchant("predict", "delays.csv", "--model", "hyperbolic")
    assert ended.code == 0, ended.err
    found = _read(ended.out)
    assert "value" in found[0] and "prediction_error" not in found[0]


def test_offers_stand_beside_the_rows_of_the_file_in_their_order(penchant, folder):
    lines = ["id,ss_amt,ll_amt,ll_days,choice"]
    lines += [
        f"{'ba'[k % 2]},10,{12 + 2 * k},{20 + 7 * (k % 5)},{int(k % 3 > 0)}" for k in range(40)
    ]
    (folder / "delays.csv").write_text("\n".join(lines) + "\n")
    ended = penchant("predict", "delays.csv", "--model", "hyperbolic", "--all-options")
    assert ended.code == 0, ended.err
    found = _read(ended.out)
    assert [row["ll_amt"] for row in found] == [str(12 + 2 * k) for k in range(40)]
    assert [row["id"] for row in found] == ["b", "a"] * 20
    for person in "ab":  # one rate explains the values of all their rows
        mine = [row for row in found if row["id"] == person]
        amount, delay, value = (
            np.array([float(row[name]) for row in mine])
            for name in ("ll_amt", "ll_days", "value_1")
        )
        rates = (amount / value - 1) / delay
        np.testing.assert_allclose(rates, rates[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--model must be given; got none"),
        ([*Q, "--check", "0"], "--check must be at least 1; got 0"),
        ([*Q, "--check", "5"], "--seed must be a whole number, 0 or more with --check"),
        ([*Q, "--threads", "0"], "--threads must be at least 1; got 0"),
        ([*Q, "--seed", "5"], "--seed must be left out without --check"),
        ([*Q, "--figure", "x.svg"], "--figure must come with --check"),
        ([*Q, "--clock", "events"], "--clock must be left out with --model q-learning"),
        ([*Q, "-o", "x.tex"], "--output must end in .csv, .parquet, .json"),
    ],
)
def test_wrong_usage_is_refused(refused, play, arguments, words):
    name = play()
    assert words in refused("predict", name, *arguments)


@pytest.mark.parametrize("command", ["predict", "compare"])
def test_a_table_is_needed(refused, command):
    assert "FILE must be given; got none" in refused(command, "--model", "random")
