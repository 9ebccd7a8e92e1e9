"""From the link to the report: what simulated people are like comes back from the analysis."""

import csv
import shlex

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="penchant[task] is not installed")

import penchant as pn
from penchant.cli.main import run
from penchant.task.export import export
from task.conftest import come, take

STUDY = "[study]\nname = 'chain'\nseed = 4\n[[block]]\ntask = 'grid'\ndecisions = 90"
RANGES = {"decision_noise": (2.0, 8.0), "prior_mean": (30.0, 80.0), "prior_variance": (50.0, 500.0)}
QUICK = ["--exact-only", "--replicates", "0", "--figures", "none", "--no-performance"]
BANDIT = (
    "[conditions]\nvariance = [1, 9]\n[[block]]\ntask = 'bandit'\nmeans = [4, 9]\ndecisions = 25"
)


DELAYS = "".join(
    f"[[block.offer]]\namount = [{now}, 100]\ndelay = [0, {days}]\n"
    for now in range(10, 100, 15)
    for days in (7, 30, 120)
)
GAMBLES = "".join(
    f"[[block.offer]]\namount = [{sure}, 100]\nprobability = [1, {chance}]\n"
    for sure in range(10, 100, 15)
    for chance in (0.2, 0.5, 0.8)
)
ADVICE = "advice = 'suggest'\nadvice_mean = 30\nadvice_sd = 15"
LEARNERS = "temperature=4:8,learning_rate=0.2:0.6"
SPATIAL = ",".join(f"{name}={low:g}:{high:g}" for name, (low, high) in RANGES.items())
DISCOUNTERS = "temperature=8:15,discount_rate=0.005:0.05"
GAMBLERS = "temperature=8:15,curvature=0.7:1"
# For each kind of task its settings, how players choose, their parameters, what a table of it is.
EVERY_KIND = {
    "static": ("'bandit'\nmeans = [4, 8, 6]", "q-learning", LEARNERS, "play"),
    "restless": (
        "'bandit'\nmeans = [4, 8]\nrewards = 'restless'\nstep_sd = 1",
        *("q-learning", LEARNERS, "play"),
    ),
    "reversal": (
        "'bandit'\nmeans = [4, 8]\nrewards = 'reversal'\nreversals = [15]",
        *("q-learning", LEARNERS, "play"),
    ),
    "wins": (
        "'bandit'\nmeans = [0.3, 0.6]\nnoise = 'bernoulli'",
        *("q-learning", "temperature=0.2:0.5,learning_rate=0.2:0.6", "play"),
    ),
    "grid": ("'grid'\nwidth = 5\nheight = 4", "ucl", SPATIAL, "play"),
    "advice": (f"'grid'\nwidth = 5\nheight = 4\n{ADVICE}", "ucl", SPATIAL, "play"),
    "delays": (f"'offers'\n{DELAYS}", "hyperbolic", DISCOUNTERS, "offers"),
    "gambles": (f"'offers'\n{GAMBLES}", "expected-utility", GAMBLERS, "offers"),
    "adaptive delays": (
        f"'offers'\norder = 'adaptive'\n{DELAYS}",
        *("hyperbolic", DISCOUNTERS, "offers"),
    ),
    "adaptive gambles": (
        f"'offers'\norder = 'adaptive'\n{GAMBLES}",
        *("expected-utility", GAMBLERS, "offers"),
    ),
}


def table(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_an_exported_folder_is_analysed_as_it_is(serving, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    service, rng = serving(file, BANDIT), np.random.default_rng(2)
    for person in range(4):
        token = come(service, f"p{person}")
        for t in range(25):
            take(service, token, t, int(rng.random() < 0.6))
    export(service.store, tmp_path / "collected")
    words = ["study", "collected", "-o", "results", "--intervals", "wald", "--seed", "1", *QUICK]
    assert run(words) == 0
    assert "Do variance 1 and variance 9 differ" in capsys.readouterr().out
    rows = table(tmp_path / "results" / "tables" / "subjects.csv")
    assert len(rows) == 4 and all(row["n_decisions"] == "25" for row in rows)


def commands_said(words):
    """The commands that an export prints, as one types them after `penchant`."""
    lines = [line for line in words.splitlines() if line.startswith("Next: penchant ")]
    return [shlex.split(line)[2:] for line in lines]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_kind_of_task_comes_from_its_file_to_estimates(
    kind, process, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    settings, model, parameters, read_as = EVERY_KIND[kind]
    decisions = "" if read_as == "offers" else "\ndecisions = 30"
    server = process(f"[study]\nname = 'chain'\nseed = 4\n[[block]]\ntask = {settings}{decisions}")
    words = ["play", server.address, "--players", "4", "--at-once", "1", "--seed", "2"]
    words += ["--model", model, "--parameters", parameters]
    words += ["--noise-variance", "10", "--length-scale", "4"] if model == "ucl" else []
    assert run(words) == 0
    assert run(["export", "study.sqlite", "-o", "collected"]) == 0
    (command,) = commands_said(capsys.readouterr().err)
    assert command == ["study", "collected", "-o", "results"]  # as documented
    assert run([*command, "--figures", "none"]) == 0
    rows = table(tmp_path / "results" / "tables" / "subjects.csv")
    first = parameters.split("=")[0]
    assert len(rows) == 4 and any(row[first] and row[f"{first}_low"] for row in rows)
    (data,) = (tmp_path / "collected" / "data").glob("*_data.csv")
    assert pn.read(data).kind == read_as


def collect(service, folder, options):
    """Four people who choose at random, exported."""
    rng = np.random.default_rng(3)
    for person in range(4):
        token = come(service, f"p{person}")
        for t in range(service.plan.cells[0].blocks[0].task.n_decisions):
            take(service, token, t, int(rng.integers(options)))
    export(service.store, folder)


@pytest.mark.parametrize(
    ("settings", "n_chosen", "model", "n_options"),
    [
        ("'grid'\ndecisions = 20\nwidth = 4\nheight = 3", 6, "q-learning", 12),
        ("'grid'\ndecisions = 20\nwidth = 4\nheight = 3", 6, "gp-ucb", 12),
        ("'bandit'\ndecisions = 20\nmeans = [4, 8, 6]", 2, "kalman", 3),
        (f"'offers'\n{GAMBLES}", 2, "probability", 2),
    ],
)
def test_another_model_is_told_what_the_task_knows(
    settings, n_chosen, model, n_options, serving, file, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    collect(serving(file, f"[[block]]\ntask = {settings}"), tmp_path / "collected", n_chosen)
    words = ["study", "collected", "-o", "results", "--model", model, "--figures", "none"]
    assert run([*words, "--intervals", "wald"]) in (0, 1)  # 1: nobody has a finite estimate
    row = table(tmp_path / "results" / "tables" / "subjects.csv")[0]
    by_chance = -int(row["n_decisions"]) * np.log(n_options)
    assert float(row["null_log_likelihood"]) == pytest.approx(by_chance)


def test_an_attribute_that_the_model_leaves_out_is_said(
    serving, file, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    both = GAMBLES.replace("probability", "delay = [0, 30]\nprobability")
    collect(serving(file, f"[[block]]\ntask = 'offers'\n{both}"), tmp_path / "collected", 2)
    run(["study", "collected", "-o", "results", "--figures", "none", "--intervals", "wald"])
    said = capsys.readouterr().err
    assert "Warning: --model hyperbolic takes no account of probability." in said


def test_conditions_that_are_lists_are_compared(serving, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "[conditions]\nmeans = [[4, 8], [8, 4]]\n[[block]]\ntask = 'bandit'\ndecisions = 20"
    collect(serving(file, text), tmp_path / "collected", 2)
    run(["study", "collected", "-o", "results", "--intervals", "wald", *QUICK])
    assert "Do 4 | 8 and 8 | 4 differ (means)?" in capsys.readouterr().out


@pytest.mark.slow
def test_sixty_players_come_back_as_from_recover(process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = process(STUDY)
    words = ["play", server.address, "--players", "60", "--seed", "2", "--model", "ucl"]
    words += ["--noise-variance", "10", "--length-scale", "4", "-o", "truth.csv"]
    given = ",".join(f"{name}={low:g}:{high:g}" for name, (low, high) in RANGES.items())
    assert run([*words, "--parameters", given]) == 0
    assert run(["export", "study.sqlite", "-o", "collected", "--with-ids"]) == 0
    assert run(["study", "collected", "-o", "results", "--intervals", "wald", *QUICK]) == 0
    (data,) = (tmp_path / "collected" / "data").glob("*_data.csv")
    who = {row["subject"]: row["platform_id"] for row in table(data)}
    true = {row["player"]: row for row in table(tmp_path / "truth.csv")}
    subjects = table(tmp_path / "results" / "tables" / "subjects.csv")
    assert len(subjects) == len(true) == 60
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    people = {name: np.array([float(row[name]) for row in true.values()]) for name in RANGES}
    task = pn.Task(pn.paper.landscape_a(noise=pn.GaussianNoise(10.0)), 90)
    rng = np.random.default_rng(7)
    direct = pn.recover(model, task, people, n_subjects=60, rng=rng, intervals="wald")
    for parameter in direct.parameters:
        pairs = [
            (float(row[parameter.name] or "nan"), float(true[who[row["subject"]]][parameter.name]))
            for row in subjects
        ]
        found, wanted = np.array(pairs).T
        ok = np.isfinite(found) & (found > 0)
        error = np.abs(np.log(found[ok] / wanted[ok]))
        reference = np.abs(np.log(parameter.estimated / parameter.true))
        reference = reference[np.isfinite(reference)]
        assert ok.sum() > 45
        # medians of 60 errors each: the standard error of their log ratio is about 0.25
        assert np.median(error) < 2 * np.median(reference)
        assert np.corrcoef(np.log(found[ok]), np.log(wanted[ok]))[0, 1] > 0.7
