"""`penchant study`: from a table to a report, interrupted, resumed, refused."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.csv
import pytest

import penchant as pn
from penchant.cli import study_command
from penchant.report import study_files as folders
from penchant.studies import fitting
from small_study import MEANS, MODEL, table

FILE = "play.csv"
UCL = ["--grid", "4x3", "--noise-variance", "2.5", "--length-scale", "1.5"]
QUICK = [
    "--no-population",
    "--intervals",
    "wald",
    "--replicates",
    "2",
    "--bootstrap",
    "5",
    "--figures",
    "none",
]
POINTS = ["--nominal-low", "8,20,1", "--nominal-high", "10,60,2"]
STUDY = ["study", FILE, *UCL, "--condition", "landscape", *POINTS, *QUICK]


@pytest.fixture
def played(folder):
    """The table of the study, and the mean rewards, as files."""
    table().to_csv(folder / FILE, index=False)
    rows = ["landscape,option,mean_reward"]
    rows += [
        f"{place},{i},{mean}" for place, means in MEANS.items() for i, mean in enumerate(means)
    ]
    (folder / "means.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder to keep what `studied` made."""
    return tmp_path_factory.mktemp("done")


@pytest.fixture
def studied(penchant, played, done):
    """The study of the table in a folder of this name; it is made once, and copied."""

    def _studied(name):
        if not (done / "study").exists():
            assert penchant(*STUDY, "-o", "made").code == 0
            shutil.move(played / "made", done / "study")
        return shutil.copytree(done / "study", played / name)

    return _studied


def written(folder):
    """Every file of a study but how long it took, by what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timings.json"
    }


def test_a_table_becomes_a_report_tables_and_numbers(penchant, played):
    ended = penchant(*STUDY, "--landscape", "means.csv", "-o", "out")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "Data: 9 subjects, 9 blocks, 270 trials included."
    assert ended.out.splitlines()[-1] == "Report: out/report.html"
    assert "Columns: chosen = choice; reward = reward; subject = subject; decision" in ended.err
    kept = pyarrow.csv.read_csv(played / "out" / "tables" / "subjects.csv").to_pydict()
    for i, episode in enumerate(pn.read_study(table()).episodes):
        expected = pn.fit(episode, MODEL).parameters[0].estimate
        assert kept["decision_noise"][i] == pytest.approx(expected, rel=1e-6)
    text = reported(played / "out")
    assert "mean rewards that are known (2 landscapes)" in text
    assert "penchant study play.csv --condition landscape --landscape means.csv" in text
    assert set(json.loads((played / "out" / "timings.json").read_text())["seconds"]) >= {
        "exact fits",
        "linearised fits",
        "forward simulation",
    }


def reported(folder):
    """The page, without the marks of words that do not break."""
    text = (folder / "report.html").read_text()
    return re.sub(r'<span class="whole-word">(.*?)</span>', r"\1", text)


def test_the_command_in_the_report_makes_the_same_study(penchant, played):
    penchant(*STUDY, "--seed", "5", "-o", "one")
    text = reported(played / "one")
    command = text.split("<pre><code>penchant ")[1].split("</code>")[0]
    words = command.replace("&#39;", "'").split()
    assert words[-2:] == ["--output", "FOLDER"]
    assert penchant(*words[:-1], "two").code == 0
    assert written(played / "one") == written(played / "two")


def test_threads_do_not_change_a_byte(penchant, played):
    penchant(*STUDY, "--threads", "1", "-o", "one")
    penchant(*STUDY, "--threads", "2", "-o", "two")
    assert written(played / "one") == written(played / "two")


def test_json_tells_what_was_found(penchant, played):
    ended = penchant(*STUDY, "--json", "-o", "out")
    found = json.loads(ended.out)
    assert found["n_subjects"] == 9
    assert sum(found["statuses"].values()) == 9
    assert sum(group["n_subjects"] for group in found["groups"]) == 9


def test_other_names_labels_and_a_decimal_comma(penchant, played, studied):
    names = [f"tile {i:02d}" for i in range(12)]
    frame = table().assign(choice=[names[i] for i in table().choice])
    renamed = frame.rename(columns={"subject": "subjID", "choice": "response", "reward": "outcome"})
    renamed.to_csv(played / "other.csv", index=False, sep=";", decimal=",")
    studied("one")
    ended = penchant("study", "other.csv", *STUDY[2:], "--decimal", ",", "-o", "two")
    assert ended.code == 0, ended.err
    assert "chosen = response; reward = outcome; subject = subjID" in ended.err
    assert "Options: tile 00, tile 01, " in ended.err
    tables = [written(played / name / "tables") for name in ("one", "two")]
    assert tables[0] == tables[1]


def test_a_table_as_it_comes(penchant, played):
    """Byte-order mark, semicolons, decimal commas, NULL, options from 1, ids with gaps."""
    frame = table().astype({"choice": object, "reward": object})
    ids = {name: 3 * i + 2 for i, name in enumerate(sorted(set(frame.subject)))}
    frame["subject"] = frame.subject.map(ids)
    frame["choice"] = frame.choice + 1
    frame["reward"] = [f"{reward:.6f}".replace(".", ",") for reward in frame.reward]
    frame.loc[[3, 44], ["choice", "reward"]] = "NULL"
    frame = frame.assign(block=1 + (frame.trial > 14)).drop(index=[70, 71])
    text = frame.to_csv(index=False, sep=";")
    (played / "raw.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    options = ["--base", "1", "--decimal", ",", "--gaps", "timeout"]
    ended = penchant("study", "raw.csv", *STUDY[2:], *options, "-o", "out")
    assert ended.code == 0, ended.err
    assert "Note: 4 decisions without a choice, in 3 subjects (2, 5, 8)" in ended.err
    assert ended.out.startswith("Data: 9 subjects, 18 blocks, 266 trials included.")
    kept = pyarrow.csv.read_csv(played / "out" / "tables" / "subjects.csv").to_pydict()
    assert kept["subject"] == sorted(ids.values())


def test_places_instead_of_numbers(penchant, played, studied):
    frame = table().assign(x=table().choice % 4 + 1, y=table().choice // 4 + 1)
    frame.drop(columns="choice").to_csv(played / "places.csv", index=False)
    studied("one")
    ended = penchant("study", "places.csv", *STUDY[2:], "--base", "1", "-o", "two")
    assert ended.code == 0, ended.err
    assert written(played / "one" / "tables") == written(played / "two" / "tables")


def test_q_learning_without_a_grid(penchant, played):
    command = ["study", FILE, "--model", "q-learning", "--options", "12", *QUICK, "-o", "out"]
    ended = penchant(*command, "--nominal-low", "learning_rate=0.3")
    assert ended.code == 0, ended.err
    table_1 = (played / "out" / "tables" / "table-1.csv").read_text()
    assert "theta2" in table_1 and "theta3" not in table_1


def test_payoffs_of_every_option_let_agents_play_the_task_as_it_was(penchant, played):
    frame = table()
    rng = np.random.default_rng(1)
    paid = rng.normal(8, 3, (len(frame), 12)).round(3)
    frame["reward"] = paid[np.arange(len(frame)), frame.choice]
    frame.loc[2, "reward"] = 44.25
    for i in range(12):
        frame[f"pay_{i + 1}"] = paid[:, i]
    frame.rename(columns=lambda name: name.replace("pay_", "money")).to_csv(
        played / "paid.csv", index=False
    )
    command = ["study", "paid.csv", "--model", "q-learning", *QUICK]
    ended = penchant(*command, "--payoffs", "money*", "-o", "out")
    assert ended.code == 0, ended.err
    assert "Note: Payoffs of every option at every decision (as named)" in ended.err
    assert "Note: 1 reward of 270 cannot come from the payoff of the option chosen" in ended.err
    assert "is 44.25 at line 4 (subject a00)" in ended.err
    forward = (played / "out" / "tables" / "forward.csv").read_text()
    assert '"payoffs"' in forward and "one step ahead" not in forward
    text = reported(played / "out")
    assert "--payoffs &#39;money*&#39;" in text
    without = penchant(*command, "-o", "alone")
    assert "Prediction one step ahead: " in without.out


def test_exact_only_has_no_linearised_tables(penchant, played):
    words = [word for word in STUDY if word not in POINTS]
    assert penchant(*words, "--exact-only", "-o", "out").code == 0
    assert not (played / "out" / "tables" / "table-1.csv").exists()


# -- the groups that are named, and performance ---------------------------------------------------

GROUPS = ["study", FILE, *UCL, "--condition", "landscape", "--intervals", "wald"]
GROUPS += ["--replicates", "0", "--figures", "none"]


def test_named_groups_are_compared_directly_in_the_first_lines(penchant, played):
    ended = penchant(*GROUPS, "-o", "out")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[1].startswith(("Left out of the tests of means", "The tests of means (landscape)"))
    assert lines[2].startswith("Do A and B differ (landscape)? ")
    assert lines[3].startswith("decision noise: A ") and "Hedges' g" in lines[3]
    assert not any("egret" in line for line in lines)
    rows = pyarrow.csv.read_csv(played / "out" / "tables" / "comparison.csv").to_pydict()
    assert set(zip(rows["first"], rows["second"], strict=True)) == {("A", "B")}
    left = pyarrow.csv.read_csv(played / "out" / "tables" / "left-out.csv").to_pydict()
    assert left["n_subjects"] == [5, 4]
    text = reported(played / "out")
    assert text.index("Do the groups differ?") < text.index("Estimates of subjects")
    assert not (played / "out" / "tables" / "growth.csv").exists()
    assert not (played / "out" / "tables" / "table-1.csv").exists()


def test_performance_is_asked_for_and_turned_off_and_the_command_says_so(penchant, played):
    assert penchant(*GROUPS, "--performance", "--bootstrap", "0", "-o", "yes").code == 0
    assert (played / "yes" / "tables" / "table-1.csv").exists()
    text = reported(played / "yes")
    assert "--performance --" in text and "Tests by performance" in text
    more = ["--landscape", "means.csv", "--no-performance", "--bootstrap", "7"]
    ended = penchant(*GROUPS, *more, "-o", "no")
    assert ended.code == 0, ended.err
    assert "Note: --bootstrap has no effect without performance" in ended.err
    assert "--no-performance" in reported(played / "no")
    assert not (played / "no" / "tables" / "growth.csv").exists()


def test_points_by_performance_are_refused_without_it(refused, played):
    message = "--no-performance must be left out with --nominal-low and --nominal-high; got both."
    assert message in refused(*STUDY, "--no-performance", "-o", "out")


# -- interrupted and resumed -----------------------------------------------------------------------


class Stop:
    """Raises KeyboardInterrupt at the n-th call of any of some functions."""

    def __init__(self, monkeypatch, places, n):
        self.left = n
        for module, name in places:
            monkeypatch.setattr(module, name, self.around(getattr(module, name)))

    def around(self, work):
        def stopped(*arguments, **options):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return work(*arguments, **options)

        return stopped


WHOLE = {}  # the files of the study that was not interrupted
POINTS_TO_STOP = [
    (fitting, "fit_each_model"),
    (fitting.Estimate, "detached"),
    (fitting, "fit_linearized"),
    (fitting, "simulate_subject"),
    (folders, "write_json"),
    (study_command.Study, "write"),
]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9, 13, 17, 21, 24, 27, 29])
def test_a_study_interrupted_anywhere_and_resumed_equals_one_that_was_not(
    penchant, played, monkeypatch, n
):
    monkeypatch.setattr(fitting, "SUBJECTS_PER_PART", 4)
    command = [*STUDY, "--threads", "1"]
    if not WHOLE:
        assert penchant(*command, "-o", "whole").code == 0
        WHOLE.update(written(played / "whole"))
    with monkeypatch.context() as patched:
        stop = Stop(patched, POINTS_TO_STOP, n)
        ended = penchant(*command, "-o", "parts")
    assert stop.left <= 0, "the study ended before the stop"
    assert (ended.code, ended.out) == (130, "")
    assert "interrupted;" in ended.error
    assert "parts are kept in parts. The same command with --resume goes on." in ended.error
    assert penchant(*command, "-o", "parts", "--resume").code == 0
    assert written(played / "parts") == WHOLE


def test_a_study_that_is_done_may_be_resumed_without_a_change(penchant, played, studied):
    before = written(studied("out"))
    assert penchant(*STUDY, "-o", "out", "--resume").code == 0
    assert written(played / "out") == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_stopped_or_killed_leaves_what_is_done(penchant, played, kind):
    table(n_a=30, n_b=30).to_csv(played / FILE, index=False)
    command = [*STUDY, "--threads", "1"]
    started = subprocess.Popen(
        [sys.executable, "-m", "penchant", *command, "-o", "parts"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=played,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    first = played / "parts" / "parts" / "part-0001.json"
    deadline = time.monotonic() + 120
    while not first.exists() and started.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(kind)
    started.communicate(timeout=60)
    assert first.exists()
    assert not (played / "parts" / "report.html").exists() or started.returncode == 0
    assert penchant(*command, "-o", "whole").code == 0
    assert penchant(*command, "-o", "parts", "--resume").code == 0
    assert written(played / "whole") == written(played / "parts")


# -- refused ---------------------------------------------------------------------------------------


def test_an_existing_folder_is_not_overwritten(refused, studied):
    studied("out")
    message = refused(*STUDY, "-o", "out")
    assert "output must not exist, or be empty; got out, which holds files." in message
    assert "--resume" in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--seed", "4"], "seed 4, was 0"),
        (["--level", "0.9"], "level 0.9, was 0.95"),
        (["--cooling", "constant"], "temperature nu constant"),
        (["--landscape", "means.csv"], "other landscapes"),
        (["--joint"], "joint True, was False"),
    ],
)
def test_another_study_is_not_resumed(refused, studied, changes, words):
    studied("out")
    message = refused(*STUDY, *changes, "-o", "out", "--resume")
    assert "--resume must go on with the data and settings that out was begun with" in message
    assert words in message


def test_other_data_are_not_resumed(refused, played, studied):
    studied("out")
    frame = table()
    frame.loc[0, "reward"] += 0.5
    frame.to_csv(played / FILE, index=False)
    assert "got other data" in refused(*STUDY, "-o", "out", "--resume")


REFUSED = {
    "no file": (["study", *UCL, "-o", "out"], "FILE must be given; got none."),
    "no folder": (["study", FILE, *UCL], "--output must name a folder for the results; got none."),
    "no grid": (
        ["study", FILE, "--model", "ucl", "--noise-variance", "1", "-o", "out"],
        "--grid or --locations must be given with --model ucl; got neither.",
    ),
    "no noise": (
        ["study", FILE, "--grid", "4x3", "-o", "out"],
        "--noise-variance must be given with --model ucl; got none.",
    ),
    "a condition that varies": (
        [*STUDY, "--condition", "trial", "-o", "out"],
        "play.csv: --condition must be the same in all rows of a play, in which beliefs go on; got "
        "another at line 3 (subject a00). Name the column that tells plays apart with --block",
    ),
    "no such condition": (
        ["study", FILE, *UCL, "--condition", "landscpe", "-o", "out"],
        "play.csv: --condition must name a column of the table; got 'landscpe' for condition",
    ),
    "a small grid": (
        ["study", FILE, *UCL[2:], "--grid", "3x3", "-o", "out"],
        "choice must hold whole numbers from 0 to 8; got 9 at line 7, 11 at line 8",
    ),
    "a point that is none": (
        ["study", FILE, *UCL, "--nominal-low", "8", "-o", "out"],
        "--nominal-low must be MEAN,VARIANCE or MEAN,VARIANCE,LENGTH; got '8'.",
    ),
    "a rate that is none": (
        ["study", FILE, "--model", "q-learning", "--nominal-low", "0.3", "-o", "out"],
        "--nominal-low must be NAME=VALUE,...; got '0.3'. Try --nominal-low learning_rate=0.3.",
    ),
    "a point for nothing": (
        [*STUDY, "--exact-only", "-o", "out"],
        "--nominal-low must be left out with --exact-only; got 8,20,1.",
    ),
    "a negative seed": ([*STUDY, "--seed", "-1", "-o", "out"], "--seed must be a whole number, 0"),
    "no thread": ([*STUDY, "--threads", "0", "-o", "out"], "--threads must be at least 1; got 0."),
    "a level in per cent": ([*STUDY, "--level", "95", "-o", "out"], "--level must"),
    "another base": ([*STUDY, "--base", "2", "-o", "out"], "--base must be 0 or 1; got 2."),
    "means twice": (
        [*STUDY, "--landscape", "means.csv", "--expected", "reward", "-o", "out"],
        "--expected must be left out with --landscape; got both.",
    ),
    "payoffs of some options": (
        [*STUDY, "--payoffs", "reward,trial", "-o", "out"],
        "play.csv: --payoffs must be a column for each of 12 options; got 2 columns.",
    ),
    "noise of nothing": (
        [*STUDY, "--payoff-noise", "2", "-o", "out"],
        "play.csv: --payoffs must be given with payoff_noise; got none.",
    ),
    "a folder nowhere": ([*STUDY, "-o", "no/where"], "output must lie in an existing directory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_usage_and_data_are_refused_before_anything_is_written(case, refused, played):
    command, message = REFUSED[case]
    assert message in refused(*command)


LANDSCAPES = {
    "no option": ("place,mean_reward\nA,1\n", "--landscape must have a column option or arm; got"),
    "no mean": ("landscape,option\nA,1\n", "--landscape must have a column mean_reward or mean;"),
    "twice": (
        "option,mean_reward\n0,1\n0,2\n",
        "--landscape must have every option once; got 0 again in bad.csv.",
    ),
    "a gap": (
        "option,mean_reward\n0,1\n2,2\n",
        "--landscape must number the options from 0 or 1 without a gap; got 0, 2 in bad.csv.",
    ),
    "too few": (
        "option,mean_reward\n0,1\n1,2\n",
        "one mean reward for each of 12 options; got shape (2,)",
    ),
    "not all": (
        "landscape,option,mean_reward\n" + "".join(f"A,{i},{i}\n" for i in range(12)),
        "for every landscape that was played; got none for B.",
    ),
}


@pytest.mark.parametrize("case", LANDSCAPES)
def test_a_landscape_file_that_does_not_fit_is_refused(case, refused, played):
    content, message = LANDSCAPES[case]
    (played / "bad.csv").write_text(content)
    assert message in refused(*STUDY, "--landscape", "bad.csv", "-o", "out")


# -- check -----------------------------------------------------------------------------------------


def test_check_recognises_a_history_of_play(penchant, played):
    ended = penchant("check", FILE)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "Task data: 9 subjects, 9 blocks, 270 trials included of 270 events.",
        "Trials per block: 30.",
        ended.out.splitlines()[2],
        "The table can be used by penchant fit --model and penchant study.",
        "Next: penchant fit play.csv --model q-learning",
        "Groups: penchant study play.csv --model q-learning --condition landscape -o results",
    ]
    assert ended.out.splitlines()[2].startswith("Options chosen: 12, from 0 to 11; rewards from ")


def test_check_names_what_is_wrong(refused, played):
    text = (played / FILE).read_text().replace("a00,A,3,", "a00,A,5,")
    (played / FILE).write_text(text)
    assert (
        "decision must differ between the rows of an episode; got 5 again at line 6 (subject a00)."
    ) in refused("check", FILE)


def test_check_counts_options_from_1_and_doubts_repeats(penchant, played):
    table().assign(choice=table().choice + 1).to_csv(played / FILE, index=False)
    said = penchant("check", FILE)
    assert said.code == 0 and "Options chosen: 12, from 1 to 12" in said.out
    frame = table()
    frame.loc[frame.subject == "b01", ["choice", "reward"]] = [7, 9.0]
    frame.to_csv(played / FILE, index=False)
    said = penchant("check", FILE).out
    assert "Note: More than 80 % of the choices repeat the one before: b01." in said


def test_check_against_a_grid(refused, penchant, played):
    assert "whole numbers from 0 to 8; got 9 at line 7" in refused(
        "check", FILE, "--model", "ucl", "--grid", "3x3", "--noise-variance", "1"
    )
    ended = penchant("check", FILE, "--model", "ucl", *UCL, "--json")
    assert json.loads(ended.out)["decisions_per_episode"] == [30]


@pytest.mark.evidence
@pytest.mark.slow
def test_real_people_go_through_the_command(penchant, evidence, folder):
    data = evidence / "data" / "gridsearch2d"
    if not (data / "choices.csv").is_file():
        pytest.skip("the choices of real people are not there")
    ended = penchant(
        *("study", data / "choices.csv", "--grid", "11x11", "--noise-variance", "1"),
        *("--length-scale", "2", "--cooling", "constant", "--condition", "environment"),
        *("--landscape", data / "landscapes.csv", "--exact-only", *QUICK, "-o", "out"),
    )
    assert ended.code == 0, ended.err
    assert ended.out.startswith("Data: 40 subjects, 320 blocks, 9,600 trials included.")
    assert "agree with this map" in ended.err
    subjects = pyarrow.csv.read_csv(folder / "out" / "tables" / "subjects.csv").to_pydict()
    assert subjects["status"].count("converged") >= 36
    assert np.isfinite(subjects["regret"]).all()


# -- choices among offers, and conditions within subjects ------------------------------------------


def sooner_or_later(folder, split=None):
    """The example of delays, whose decisions are in two conditions; by subject unless split."""
    table = pn.datasets.load("delays")
    names = table.column_names
    rows = [[row[name] for name in names] for row in table.to_pylist()]
    who = sorted({row[0] for row in rows})
    arm = [split(k) if split else "ab"[who.index(row[0]) % 2] for k, row in enumerate(rows)]
    lines = [",".join([*names, "arm"])]
    lines += [",".join(map(str, [*row, own])) for row, own in zip(rows, arm, strict=True)]
    (folder / "delays.csv").write_text("\n".join(lines))
    return ["study", "delays.csv", "--model", "hyperbolic", "--prior", "weak", "-o", "out"]


def test_choices_among_offers_are_studied(penchant, folder):
    command = [*sooner_or_later(folder), "--intervals", "wald", "--figures", "svg"]
    ended = penchant(*command, "--condition", "arm", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert document["n_subjects"] == 20
    assert [group["condition"] for group in document["groups"]] == ["a", "b"]
    assert {group["performance"] for group in document["groups"]} == {None}
    report = (folder / "out" / "report.html").read_text()
    assert "Estimates of subjects" in report and "Do the groups differ?" in report
    assert "egret" not in report
    assert "agents" not in report
    assert {row["name"] for row in document["comparison"]} == {
        "log temperature",
        "log discount_rate",
    }
    assert [row["n_subjects"] for row in document["left_out"]] == [10, 10]
    names = {path.stem for path in (folder / "out" / "figures").glob("*.svg")}
    assert names == {"subjects", "scatter", "groups"}
    assert not (folder / "out" / "tables" / "growth.csv").exists()


def test_conditions_within_subjects_are_compared_as_pairs(penchant, folder):
    command = sooner_or_later(folder, split=lambda k: "ab"[k % 2])
    ended = penchant(*command, "--condition", "arm", "--intervals", "wald", "--figures", "none")
    assert ended.code == 0, ended.err
    assert "Note: arm varies within 20 of 20 subjects" in ended.err
    assert "Data: 20 subjects, 1,191 trials included." in ended.out
    assert "Do a and b differ within subjects (arm)? No difference is shown in" in ended.out
    report = (folder / "out" / "report.html").read_text()
    assert "Do conditions differ within subjects?" in report and "Wilcoxon p" in report
    table = (folder / "out" / "tables" / "paired-tests.csv").read_text()
    assert table.startswith('"first","second","name","n_pairs"') and '"a","b",' in table


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--landscape", "m.csv"], "--landscape must be left out with --model hyperbolic"),
        (["--expected", "chosen"], "--expected must be left out with --model hyperbolic"),
        (["--payoffs", "a,b"], "--payoffs must be left out with --model hyperbolic"),
        (["--replicates", "3"], "--replicates must be left out with --model hyperbolic; got 3"),
        (["--nominal-low", "x=1"], "--nominal-low must be left out with --model hyperbolic"),
        (["--reward", "chosen"], "--reward must be left out with --model hyperbolic"),
        (["--condition", "dose"], "condition must name a column"),
    ],
)
def test_offers_have_nothing_of_play(refused, folder, more, words):
    assert words in refused(*sooner_or_later(folder), *more)
