"""From the link to the report: what simulated people are like comes back from the analysis."""

import csv

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="penchant[task] is not installed")

import penchant as pn
from penchant.cli.main import run
from penchant.task.exporting import export
from task.conftest import come, take

STUDY = "[study]\nname = 'chain'\nseed = 4\n[[block]]\ntask = 'grid'\ndecisions = 90"
RANGES = {"decision_noise": (2.0, 8.0), "prior_mean": (30.0, 80.0), "prior_variance": (50.0, 500.0)}
QUICK = ["--exact-only", "--replicates", "0", "--figures", "none", "--no-performance"]
BANDIT = (
    "[conditions]\nvariance = [1, 9]\n[[block]]\ntask = 'bandit'\nmeans = [4, 9]\ndecisions = 25"
)


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
