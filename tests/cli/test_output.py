"""`--output`: the result in a file, whole or not at all, never over another unasked."""

import json
import os
import sys

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import penchant as pn
from cli.conftest import contents
from penchant.cli import fit_choices_command
from penchant.cli import result_output as result
from penchant.errors import DataError


def test_each_ending_gets_its_form(penchant, folder):
    for ending in ("json", "csv", "parquet", "tex", "txt"):
        ended = penchant("fit", "trips.csv", "-o", f"out.{ending}")
        assert ended.code == 0
        assert f"Written: out.{ending}" in ended.err
    content = json.loads((folder / "out.json").read_text())
    assert pn.Estimate.from_dict(content).summary() == ended.out.rstrip("\n")
    assert (folder / "out.txt").read_text() == ended.out
    assert "\\begin{tabular}" in (folder / "out.tex").read_text()
    table = pa_csv.read_csv(folder / "out.csv")
    assert table.column("name").to_pylist() == ["price", "wait"]
    assert table.column("estimate").to_pylist() == content["theta"]
    assert pq.read_table(folder / "out.parquet").equals(table)


def test_a_file_holds_all_subjects(penchant, folder):
    rows = [
        f"{who},{k},{option},{int((option == 'a') == (k % 3 > 0))},{k * (option == 'a') + who % 7}"
        for who in range(70)
        for k in range(1, 5)
        for option in "ab"
    ]
    header = "subject,decision,option,chosen,price"
    (folder / "people.csv").write_text("\n".join([header, *rows]) + "\n")
    options = ["people.csv", "--subject", "subject", "--overwrite"]
    ended = penchant("fit", *options, "-o", "out.txt")
    assert "60 of 70 subjects shown" in ended.out
    assert "\n69 " in (folder / "out.txt").read_text()
    penchant("fit", *options, "-o", "out.csv")
    table = pa_csv.read_csv(folder / "out.csv")
    assert table.num_rows == 70
    wald = table.column("price_low").to_pylist()
    penchant("fit", *options, "-o", "out.csv", "--intervals", "profile")
    profile = pa_csv.read_csv(folder / "out.csv").column("price_low").to_pylist()
    assert all(a != b for a, b in zip(wald, profile, strict=True))


def test_an_existing_file_is_replaced_only_when_asked_for(penchant, refused, folder):
    (folder / "out.csv").write_text("old")
    assert "--overwrite" in refused("fit", "trips.csv", "-o", "out.csv")
    assert penchant("fit", "trips.csv", "-o", "out.csv", "--overwrite").code == 0
    assert (folder / "out.csv").read_text() != "old"


def test_paths_may_have_spaces_letters_and_a_tilde(penchant, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    (folder / "my trips é.csv").write_bytes((folder / "trips.csv").read_bytes())
    ended = penchant("fit", "~/my trips é.csv", "-o", "~/résultat 1.csv")
    assert ended.code == 0, ended.err
    assert (folder / "résultat 1.csv").exists()


def test_a_result_is_written_also_where_there_is_no_valid_estimate(penchant, folder):
    (folder / "sure.csv").write_text("decision,option,chosen,price\n1,a,1,2.5\n1,b,0,4\n")
    assert penchant("fit", "sure.csv", "-o", "out.json").code == 1
    assert json.loads((folder / "out.json").read_text())["status"] == "separated"


def test_d61_a_result_that_cannot_be_written_is_still_printed(penchant, folder, monkeypatch):
    def full(path, text, *, overwrite):
        got = f"{path}, where the disk is full"
        raise DataError("output", "must be writable", got=got, fix="Make room.")

    before = contents(folder)
    monkeypatch.setattr(result, "write_text", full)
    ended = penchant("fit", "trips.csv", "-o", "out.txt")
    assert ended.code == 2
    assert "--output must be writable" in ended.error
    assert "Status: converged" in ended.out
    assert contents(folder) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_d61_a_folder_without_permission_is_refused(refused, folder):
    (folder / "locked").mkdir(mode=0o500)
    assert "can be written to" in refused("fit", "trips.csv", "-o", "locked/out.csv")


def test_d66_a_file_that_another_process_is_writing_is_refused(refused, folder):
    holder = f"process {os.getppid()} on {os.uname().nodename}"
    (folder / ".out.csv.lock").write_text(holder)
    assert holder in refused("fit", "trips.csv", "-o", "out.csv")


def test_d72_labels_are_quoted_and_escaped(penchant, folder):
    text = (folder / "trips.csv").read_text().replace("price", '"=1+1,$_<b>"', 1)
    (folder / "odd.csv").write_text(text)
    assert penchant("fit", "odd.csv", "-o", "out.csv").code == 0
    assert '"=1+1,$_<b>",-' in (folder / "out.csv").read_text()
    assert penchant("fit", "odd.csv", "-o", "out.tex").code == 0
    assert r"=1+1,\$\_\textless{}b\textgreater{}" in (folder / "out.tex").read_text()


def test_d69_a_number_that_is_none_is_a_fault_and_no_result(penchant, folder, monkeypatch):
    def broken(choices, **options):
        estimate = pn.fit(choices)
        object.__setattr__(estimate, "theta", estimate.theta * float("nan"))
        return estimate

    monkeypatch.setattr(fit_choices_command, "fit_choices", broken)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    ended = penchant("fit", "trips.csv", "-o", "out.csv")
    assert (ended.code, ended.out) == (70, "")
    assert not (folder / "out.csv").exists()
    report = next(folder.glob("penchant-error-*.txt"))
    assert str(report) in ended.error
    assert "arguments: ['fit', 'trips.csv'" in report.read_text()
    assert "AssertionError" in report.read_text()


def test_a_table_beyond_memory_is_refused_in_words(penchant, monkeypatch):
    def too_large(*arguments):
        raise MemoryError

    monkeypatch.setattr(fit_choices_command, "load_choices", too_large)
    ended = penchant("fit", "trips.csv")
    assert ended.code == 2
    assert "must fit into memory" in ended.error


def test_words_that_nobody_can_read_are_no_error_and_results_are(penchant, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", None)
        assert penchant("fit", "trips.csv").code == 0
    monkeypatch.setattr(sys, "stdout", None)
    assert penchant("fit", "trips.csv").code == 1
