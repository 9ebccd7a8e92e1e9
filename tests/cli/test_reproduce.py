"""`penchant reproduce`: verdicts on stdout, a folder that is whole or not there."""

import json
import xml.etree.ElementTree as ET

import pytest

from cli.conftest import contents
from penchant.cli import reproduce_command
from penchant_paper import report as reproduction_files
from penchant_paper.published import VERDICTS

SMALL = ("reproduce", "--replicates", "10", "--quick")


def test_verdicts_and_their_reasons_are_printed(penchant):
    ended = penchant(*SMALL, "--only", "tables")
    assert ended.code == 0
    assert "HOLDS IN PART: Table II holds the estimates of Table I" in ended.out
    assert "p = 0.41" in ended.out
    assert "A quick run has few replicates: a full one decides." in ended.out
    assert "±: Monte Carlo standard error" in ended.out
    assert "CANNOT BE TOLD FROM THE PAPER: The values of both nu and sigma0^2" in ended.out
    assert "[1/1] tables ..." in ended.err


def test_only_may_be_repeated_or_separated_by_commas(penchant):
    one = penchant("reproduce", "--only", "figure-1", "--only", "landscapes")
    two = penchant("reproduce", "--only", "landscapes,figure-1")
    assert one.code == two.code == 0
    assert one.out == two.out
    assert "Figure 1: two options" in one.out


def test_json_holds_every_number_and_verdict(penchant):
    ended = penchant(*SMALL, "--only", "figure-2", "--json")
    document = json.loads(ended.out)
    (found,) = document["experiments"]
    assert found["name"] == "figure-2"
    assert {c["verdict"] for c in found["claims"]} <= set(VERDICTS)
    for claim in found["claims"]:
        assert set(claim["measured"]) <= set(claim["conditions"])
        assert all(m["monte_carlo_error"] > 0 for m in claim["measured"].values())
    assert sum(len(claim["measured"]) for claim in found["claims"]) >= 5
    table = found["tables"]["figure-2"]
    assert len(table["n"]) == len(table["theta_mean"]) == 150
    assert table["missing"][0] > 0
    assert sum(document["verdicts"].values()) == len(found["claims"])
    assert not any("nan" in claim["why"] for claim in found["claims"])


@pytest.mark.slow
def test_the_folder_holds_figures_tables_results_and_a_page(penchant, folder):
    ended = penchant(*SMALL, "--only", "figure-2,tables", "-o", "out")
    assert ended.code == 0
    names = {str(path) for path in contents(folder / "out")}
    figures = {
        f"figures/{name}.{kind}" for name in ("figure-2", "tables") for kind in ("svg", "pdf")
    }
    tables = {f"tables/{name}.csv" for name in ("figure-2", "table-2", "welch", "artefact")}
    assert names == figures | tables | {"index.html", "results.json"}
    ET.parse(folder / "out" / "figures" / "figure-2.svg")
    results = json.loads((folder / "out" / "results.json").read_text())
    assert [found["name"] for found in results["experiments"]] == ["figure-2", "tables"]
    page = (folder / "out" / "index.html").read_text()
    assert page.count('role="img"') == 2
    assert "does not hold" in page
    assert "penchant reproduce --seed 1 --only figure-2 --only tables" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


@pytest.mark.slow
def test_the_same_command_gives_the_same_files(penchant, folder):
    for name, threads in (("one", 1), ("two", 2)):
        penchant(*SMALL, "--only", "figure-3", "--threads", threads, "-o", f"{name}/../{name}")
        (folder / name).rename(folder / f"{name}-kept")
    one, two = (contents(folder / f"{name}-kept") for name in ("one", "two"))
    assert {k: v for k, v in one.items() if k.name != "index.html"} == {
        k: v for k, v in two.items() if k.name != "index.html"
    }


def test_an_existing_folder_is_not_touched(refused, folder):
    (folder / "out").mkdir()
    said = refused("reproduce", "--only", "figure-1", "-o", "out")
    assert said.startswith("penchant: --output must not exist; got out, which does.")


def test_a_folder_in_no_place_is_refused(refused):
    said = refused("reproduce", "--only", "figure-1", "-o", "nowhere/out")
    assert "must lie in an existing directory" in said


def test_an_unknown_experiment_is_refused_before_any_work(refused):
    said = refused("reproduce", "--only", "figure-9")
    assert said.startswith("penchant: --only must name experiments among figure-1, figure-2")
    assert "got 'figure-9'" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--replicates", "3"), "--replicates must be at least 10"),
        (("--replicates", "many"), "must be a whole number; got 'many'"),
        (("--seed", "-3"), "--seed must be 0 or more; got -3"),
        (("--threads", "0"), "--threads must be at least 1; got 0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(refused, arguments, words):
    assert words in refused("reproduce", "--only", "figure-1", *arguments)


@pytest.mark.parametrize("where", ["reproduce", "reproduction_page"])
def test_an_interruption_leaves_nothing(penchant, folder, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    module = reproduce_command if where == "reproduce" else reproduction_files
    monkeypatch.setattr(module, where, interrupted)
    before = contents(folder)
    ended = penchant("reproduce", "--only", "figure-1", "-o", "out")
    assert ended.code == 130
    assert "interrupted; nothing was written" in ended.err
    assert contents(folder) == before
    assert not (folder / "out").exists()


def test_a_full_disk_leaves_nothing(penchant, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reproduction_files, "write_json", full)
    before = contents(folder)
    ended = penchant("reproduce", "--only", "figure-1", "-o", "out")
    assert (ended.code, contents(folder)) == (1, before)
    assert "the disk is full" in ended.err


@pytest.mark.slow
def test_a_quick_run_does_everything(penchant, folder):
    ended = penchant("reproduce", "--quick", "--replicates", "10", "-o", "out")
    assert ended.code == 0
    results = json.loads((folder / "out" / "results.json").read_text())
    verdicts = {
        claim["statement"]: claim["verdict"]
        for found in results["experiments"]
        for claim in found["claims"]
    }
    assert len(results["experiments"]) == 11
    assert len(list((folder / "out" / "figures").glob("*.svg"))) == 11
    assert set(verdicts.values()) == set(VERDICTS)
    (figure_6,) = [s for s in verdicts if s.startswith("The estimates have confidence intervals")]
    assert verdicts[figure_6] == "does not hold"
    assert "Processor time of one update: linearised estimate: median" in ended.err
    assert "Processor time" not in (folder / "out" / "index.html").read_text()
