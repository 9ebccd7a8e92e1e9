"""`penchant fit --model`: histories of play, exactly and as the paper does."""

import csv as csv_reader
import json
from csv import reader

import pytest

from cli.plays import HEADER, UCL, Q, played
from cli.trips import csv
from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import grid
from penchant.inference.fit import fit
from penchant.inference.linearized_model import fit_linearized
from penchant.json_records import to_json
from penchant.models.learning.q_learning import QLearning
from penchant.models.spatial.ucl import UCL as UCLModel

MODEL = UCLModel(grid(4, 3), 2.5, 1.5, cooling="constant")


@pytest.fixture
def play(folder):
    """The table as play.csv, with columns that have other names if asked."""

    def _play(rows=None, header=HEADER):
        (folder / "play.csv").write_text(csv(played() if rows is None else rows, header))
        return "play.csv"

    return _play


def episodes(rows):
    """Episodes made by hand."""
    pairs = dict.fromkeys((row[0], row[1]) for row in rows)
    found = []
    for who, block in pairs:
        mine = [row for row in rows if (row[0], row[1]) == (who, block)]
        found.append(Episode([r[3] for r in mine], [r[4] for r in mine], subject=who, block=block))
    return found


def printed(ended):
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def estimates(document):
    return {p["name"]: p["estimate"] for p in document["parameters"]}


def test_every_subject_gets_the_estimate_of_the_library(penchant, play):
    found = printed(penchant("fit", play(), *UCL, "--json"))
    assert [one["subject"] for one in found] == ["ann", "bob"]
    for one in found:
        mine = [e for e in episodes(played()) if e.subject == one["subject"]]
        own = fit(mine, MODEL)
        assert one["status"] == own.status
        assert one["log_likelihood"] == own.log_likelihood
        assert estimates(one) == {p.name: p.estimate for p in own.parameters}


def test_pool_gives_one_estimate_of_all_subjects(penchant, play):
    ended = penchant("fit", play(), *UCL, "--pool", "--json")
    found = printed(ended)
    own = fit(episodes(played()), MODEL)
    assert found["subject"] is None
    assert found["n_decisions"] == 68
    assert estimates(found) == {p.name: p.estimate for p in own.parameters}


def test_a_table_without_subjects_gives_one_estimate(penchant, play):
    rows = [row[1:] for row in played(subjects=("ann",))]
    ended = penchant("fit", play(rows, HEADER[1:]), *UCL)
    assert ended.code == 0
    assert "Exact maximum likelihood\n" in ended.out
    assert "Data: 2 blocks, 34 trials included of 34 events" in ended.err


def test_q_learning_counts_the_options_in_the_file_unless_told(penchant, play):
    rows = [row for row in played() if row[0] == "ann"]
    ended = penchant("fit", play(rows), "--model", "q-learning", "--pool", "--json")
    assert ended.code == 2  # nobody chose 4 and 5
    assert "--options 0,1,2,3,4,5,6,7,8,9,10,11\n" in ended.err
    named = ["--options", "0,1,2,3,4,5,6,7,8,9,10,11"]
    ended = penchant("fit", "play.csv", "--model", "q-learning", *named, "--pool", "--json")
    own = fit(episodes(rows), QLearning(12))
    assert estimates(printed(ended)) == {p.name: p.estimate for p in own.parameters}
    more = penchant("fit", "play.csv", "--model", "q-learning", "--options", 15, "--pool")
    assert "15 options" in more.out


def test_usual_names_of_columns_are_found_and_said(penchant, play):
    names = ["participant", "round", "trial", "arm", "outcome"]
    ended = penchant("fit", play(header=names), *UCL, "--json")
    assert len(printed(ended)) == 2
    assert (
        "Columns: chosen = arm; reward = outcome; subject = participant; block = round; "
        "decision = trial\n"
    ) in ended.err


def test_columns_of_any_name_can_be_given(penchant, play):
    names = ["who", "part", "k", "tile", "points"]
    given = ["--subject", "who", "--block", "part", "--decision", "k", "--chosen", "tile"]
    ended = penchant("fit", play(header=names), *UCL, *given, "--reward", "points")
    assert ended.code == 0
    assert "Columns: chosen = tile; reward = points; subject = who; block = part" in ended.err
    assert ended.out == penchant("fit", play(), *UCL).out


def test_none_leaves_a_column_of_a_usual_name_aside(penchant, play):
    rows = [[1, *row] for row in played(subjects=("ann",), blocks=(1,))]
    ended = penchant("fit", play(rows, ["game", *HEADER]), *UCL, "--block", "none", "--pool")
    assert "block" not in ended.err.splitlines()[0]
    assert "Data: 1 subject, 1 block" in ended.err


def test_without_numbers_of_decisions_rows_are_in_order_of_time(penchant, play):
    rows = [[*row[:2], *row[3:]] for row in played()]
    ended = penchant("fit", play(rows, ["subject", "block", "chosen", "reward"]), *UCL)
    assert ended.out == penchant("fit", play(), *UCL).out
    assert "rows are taken to be in order of time" in ended.err


def test_rows_in_any_order_give_the_same(penchant, play):
    first = penchant("fit", play(), *UCL).out
    assert penchant("fit", play(played()[::-1]), *UCL).out == first


def test_options_counted_from_1_give_the_same_with_base_1(penchant, play):
    first = penchant("fit", play(), *UCL).out
    rows = [[*row[:3], row[3] + 1, row[4]] for row in played()]
    ended = penchant("fit", play(rows), *UCL, "--base", 1)
    assert ended.out == first
    assert "Map: option = x + 4 * y + 1: option 1 is at (0, 0)" in ended.err


def test_locations_in_a_file_equal_the_grid(penchant, play, folder):
    first = penchant("fit", play(), *UCL).out
    (folder / "places.csv").write_text("y,x\n" + "".join(f"{i // 4},{i % 4}\n" for i in range(12)))
    options = [*UCL[:2], "--locations", "places.csv", *UCL[4:]]
    ended = penchant("fit", "play.csv", *options)
    assert ended.out == first
    assert "Map: option 0 is at (0, 0), option 11 at (3, 2)." in ended.err


def test_d54_the_map_is_said(penchant, play):
    ended = penchant("fit", play(), *UCL)
    assert (
        "Map: option = x + 4 * y: option 0 is at (0, 0), option 1 at (1, 0), option 4 at (0, 1), "
        "option 11 at (3, 2).\n"
    ) in ended.err


def test_d54_coordinates_in_the_file_are_compared_with_the_map(penchant, play):
    right = [[*row, row[3] % 4 + 1, row[3] // 4 + 1] for row in played()]
    ended = penchant("fit", play(right, [*HEADER, "x", "y"]), *UCL)
    assert "Columns x and y of the file agree with this map." in ended.err
    wrong = [[*row, row[3] // 3, row[3] % 3] for row in played()]
    ended = penchant("fit", play(wrong, [*HEADER, "x", "y"]), *UCL)
    assert "Warning: columns x and y of the file disagree with this map" in ended.err


def test_options_shown_before_play_are_learnt_from_and_not_scored(penchant, play):
    rows = [[*row, int(row[2] > 1)] for row in played()]
    ended = penchant("fit", play(rows, [*HEADER, "is_choice"]), *UCL)
    assert "is_choice = is_choice" in ended.err
    assert "64 trials included of 68 events" in ended.err


def test_options_shown_may_be_counted_where_no_column_says_so(penchant, play):
    flagged = [[*row, int(row[2] > 1)] for row in played()]
    by_column = penchant("fit", play(flagged, [*HEADER, "is_choice"]), *UCL, "--json")
    assert printed(penchant("fit", play(), *UCL, "--shown", "1", "--json")) == printed(by_column)


def test_a_block_may_end_where_a_reward_is_missing(penchant, play):
    rows = played()
    rows[9][4] = ""
    error = penchant("fit", play(rows), *UCL).error
    assert "--missing-reward truncate does so; --missing-reward skip leaves out" in error
    found = printed(penchant("fit", play(rows), *UCL, "--missing-reward", "truncate", "--json"))
    made = [[*row[:4], row[4] or None] for row in rows[:10]]
    ann = fit(episodes(made + rows[17:34]), MODEL)
    assert estimates(found[0])["prior_mean"] == pytest.approx(to_json(ann.parameters[1].estimate))


def test_a_choice_without_a_reward_may_be_skipped(penchant, play):
    rows, empty = played(), played()
    rows[9][4] = ""
    empty[9][3:] = ["", ""]
    skipped = printed(penchant("fit", play(rows), *UCL, "--missing-reward", "skip", "--json"))
    assert skipped == printed(penchant("fit", play(empty), *UCL, "--json"))


def test_d49_a_missing_last_reward_is_noted(penchant, play):
    rows = played()
    rows[16][4] = ""
    ended = penchant("fit", play(rows), *UCL)
    assert ended.code == 0
    assert (
        "Note: The last reward is missing in 1 episode (subject ann, block 1): the last choice is "
        "used all the same."
    ) in ended.err


def test_a_decision_without_a_choice_is_noted(penchant, play):
    rows = played()
    rows[4][3:] = ["", ""]
    ended = penchant("fit", play(rows), *UCL)
    said = "Note: 1 decision without a choice, in 1 subject (ann): counted in time, not scored."
    assert said in ended.err
    assert "67 trials included of 68 events" in ended.err


def test_d51_a_subject_without_decisions_is_listed(penchant, play):
    rows = [*played(), *(["cat", 1, t, "", ""] for t in range(1, 4))]
    ended = penchant("fit", play(rows), *UCL, "-o", "all.csv")
    assert ended.code == 0
    assert "Note: No decision to score, and no estimate: 1 subject (cat)." in ended.err
    row, *more = (line.split() for line in ended.out.splitlines() if line.startswith("cat"))
    assert row[:5] == ["cat", "not", "identified", "0", "0.00"]
    assert [cell for part in (row[5:], *more) for cell in part if cell != "cat"] == [*"------"]
    with open("all.csv") as file:
        last = list(csv_reader.DictReader(file))[-1]
    assert (last["subject"], last["status"], last["prior_mean"]) == ("cat", "not identified", "")


def test_choices_that_fit_every_prior_exit_with_1(penchant, play):
    rows = [["ann", 1, t, 5, 3.5 + 0.1 * t] for t in range(1, 6)]
    asked = penchant("fit", play(rows), *UCL, "--pool")
    assert asked.code == 2 and "chosen is the same in all rows of a person." in asked.err
    own = [*UCL, "--pool", "--chosen", "chosen"]
    ended = penchant("fit", "play.csv", *own)
    assert ended.code == 1
    assert "Status: separated" in ended.out
    assert "--prior weak" in ended.out
    assert penchant("fit", "play.csv", *own, "--prior", "weak").code == 0


def test_profile_intervals_are_those_of_the_library(penchant, play):
    found = printed(
        penchant("fit", play(), *Q, "--pool", "--intervals", "profile", "--level", 0.9, "--json")
    )
    own = to_json(fit(episodes(played()), QLearning(12)).interval(0.9, kind="profile"))
    assert found["intervals"] == "profile"
    assert [[p["low"], p["high"]] for p in found["parameters"]] == own


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "tex", "txt"])
@pytest.mark.parametrize("options", [[], ["--pool"], ["--linearized", "9,30"]])
def test_a_result_can_be_kept_in_any_form(penchant, play, folder, kind, options):
    ended = penchant("fit", play(), *UCL, *options, "-o", f"out.{kind}")
    assert ended.code == 0
    assert (folder / f"out.{kind}").stat().st_size > 100


def test_the_paper_s_estimator_gives_the_numbers_of_the_library(penchant, play):
    ended = penchant("fit", play(), *UCL, "--pool", "--linearized", "15,3", "--json")
    found = printed(ended)
    own = fit_linearized(episodes(played()), MODEL, nominal=RewardPrior(15, 3))
    assert found["theta"] == own.theta.tolist()
    validity = found["validity"]
    assert validity["ratio"] == own.validity.ratio
    assert validity["bounds"] == list(own.validity.bounds)
    assert validity["exact_log_likelihood"] == own.validity.exact_log_likelihood
    assert validity["nominal"] == {"mean": 15, "variance": 3, "length_scale": None}
    assert own.validity.valid and validity["valid"]
    assert "Warning" not in ended.err


def test_the_paper_s_estimator_says_its_range_of_validity(penchant, play):
    ended = penchant("fit", play(), *UCL, "--pool", "--linearized", "15,3")
    assert "Linearised about prior mean 15, variance 3" in ended.out
    assert "Linearised: Delta / nominal = " in ended.out
    assert "Exact log-likelihood there: " in ended.out


@pytest.mark.parametrize("pool", [[], ["--pool"]])
def test_d57_a_far_nominal_point_is_warned_of(penchant, play, pool):
    ended = penchant("fit", play(), *UCL, *pool, "--linearized", "10,50")
    assert ended.code == 0
    assert "Warning: " in ended.err and "bounds -1 and 2" in ended.err
    assert "Linearise about another prior, or use the exact fit" in ended.err
    assert "relinearize" not in ended.out + ended.err


def test_a_prior_variance_out_of_range_has_no_standard_error(penchant, play):
    ended = penchant("fit", play(), *UCL, "--pool", "--linearized", "10,50")
    said = " ".join(ended.out.split("prior_variance = ")[1].split())
    assert "no standard error: it means nothing, as Delta / nominal = " in said
    assert "std. error" not in said
    found = printed(penchant("fit", play(), *UCL, "--pool", "--linearized", "10,50", "--json"))
    by_name = {p["name"]: p for p in found["parameters"]}
    assert not found["validity"]["valid"]
    assert by_name["prior_variance"]["estimate"] > 0
    assert [by_name["prior_variance"][w] for w in ("standard_error", "low", "high")] == [None] * 3
    assert by_name["decision_noise"]["standard_error"] > 0


def test_prior_variances_of_subjects_out_of_range_are_without_errors(penchant, play, folder):
    penchant("fit", play(), *UCL, "--linearized", "10,50", "-o", "out.csv")
    header, *rows = reader((folder / "out.csv").read_text().splitlines())
    place = header.index("prior_variance_standard_error")
    far = [abs(float(row[header.index("ratio")])) >= 1 for row in rows]
    assert any(far)
    assert [row[place] in ("", "nan") for row in rows] == far


@pytest.mark.parametrize(("pool", "prior"), [([], "10,0.001"), (["--pool"], "-3,0.02")])
def test_d56_parameters_outside_the_model_are_blank(penchant, play, pool, prior):
    ended = penchant("fit", play(), *UCL, *pool, "--linearized", prior, "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    for one in [found] if pool else found:
        assert one["status"] == "outside the model"
        assert one["parameters"][2]["estimate"] is None
        assert all(isinstance(theta, float) for theta in one["theta"])
        assert one["validity"]["exact_log_likelihood"] is None


def test_a_history_may_be_piped_in(penchant, play, monkeypatch, folder):
    first = penchant("fit", play(), *UCL).out
    with open("play.csv") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert penchant("fit", *UCL, "-").out == first
