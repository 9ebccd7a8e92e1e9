"""Where something cannot be written: what is said, what is printed all the same, what is left."""

import os
import subprocess
import sys

import pytest

from cli.conftest import contents
from cli.plays import HEADER, played
from cli.processes import ended
from cli.test_process import COMMAND
from cli.trips import csv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def limited(folder, size, *arguments):
    """The command where no file can be longer than `size` bytes."""
    return ended(folder, *arguments, size=size)


def closed(folder, *arguments):
    """The command with a stdout that is closed, as by `>&-`."""
    code, _, err = ended(folder, *arguments, closed=True)
    return code, err


@pytest.mark.parametrize("ending", ["csv", "json", "txt"])
def test_a_result_that_cannot_be_kept_is_printed_and_nothing_is_left(folder, ending):
    before = contents(folder)
    code, out, err = limited(folder, 0, "fit", "trips.csv", "-o", f"out.{ending}")
    assert code == 1
    assert "Status: converged" in out
    assert f"--output must be writable; got {folder / 'out'}.{ending}, where writing" in err
    assert "No file was made: make room, or choose another place." in err
    assert "stdout" not in err and "Traceback" not in err
    assert contents(folder) == before


def test_the_old_file_stays_where_the_new_one_cannot_be_written(folder):
    (folder / "out.csv").write_text("old")
    before = contents(folder)
    code, _, err = limited(folder, 0, "fit", "trips.csv", "-o", "out.csv", "--overwrite")
    assert code == 1
    assert "The file is as it was: make room" in err
    assert contents(folder) == before


def test_predictions_that_cannot_be_kept_are_printed(folder):
    (folder / "play.csv").write_text(csv(played(n=15), HEADER))
    code, out, err = limited(
        folder, 0, "predict", "play.csv", "--model", "q-learning", "-o", "out.csv"
    )
    assert code == 1
    assert len(out.splitlines()) == 61
    assert "out.csv, where writing failed" in err


def test_a_study_says_what_is_kept_and_goes_on_from_there(folder):
    (folder / "play.csv").write_text(csv(played(n=15, subjects="abc"), HEADER))
    options = ["play.csv", "--model", "q-learning", "--exact-only", "--intervals", "wald"]
    options += ["--replicates", "0", "--bootstrap", "0", "-o", "results"]
    code, out, err = limited(folder, 60_000, "study", *options)
    assert code == 1, err
    assert "Data: 3 subjects" in out
    assert f"got {folder / 'results'}" in err and "File too large" in err
    assert "1 of 1 parts are kept in results. The same command with --resume" in err
    assert "Nothing was changed" not in err
    assert not [path for path in contents(folder) if path.name.startswith(".")]
    code, _, err = ended(folder, "study", *options, "--resume")
    assert code == 0, err
    assert (folder / "results" / "report.html").exists()


def test_a_lock_left_by_an_earlier_process_of_the_same_number_is_taken_over(folder, penchant):
    (folder / ".out.csv.lock").write_text(f"process {os.getpid()} on {os.uname().nodename}")
    assert penchant("fit", "trips.csv", "-o", "out.csv").code == 0
    assert not (folder / ".out.csv.lock").exists()


@pytest.mark.parametrize("options", [(), ("--json",), ("-o", "out.csv")])
def test_a_closed_stdout_is_an_error_where_results_go_to_it(folder, options):
    code, err = closed(folder, "fit", "trips.csv", *options)
    assert code == 1
    assert "penchant: stdout must be writable; got: it is closed." in err
    assert "Traceback" not in err
    assert (folder / "out.csv").exists() == bool("-o" in options)


def test_a_closed_stdout_is_none_where_nothing_goes_to_it(folder):
    options = ["--model", "q-learning", "--means", "0.2,0.8", "--noise-variance", "0.1"]
    options += ["--parameters", "temperature=0.2,learning_rate=0.3", "--decisions", "9"]
    code, err = closed(folder, "simulate", *options, "--seed", "1", "-o", "play.csv")
    assert code == 0, err


def unbuffered(folder, *arguments, stdout):
    """The command in an interpreter that writes each letter at once: it begins anew for that."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    return done.returncode, "", done.stderr


@pytest.mark.parametrize("command", [ended, unbuffered])
def test_a_full_stdout_is_an_error(folder, command):
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is always full")
    with open("/dev/full", "wb") as full:
        code, _, err = command(folder, "fit", "trips.csv", stdout=full)
    assert code == 1
    assert "stdout must be writable; got: No space left on device." in err
    assert "Traceback" not in err


def test_an_internal_error_is_told_where_there_is_no_place_for_its_details(penchant, monkeypatch):
    def no_place(*_args, **_kwargs):
        raise FileNotFoundError("No usable temporary directory found")

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("tempfile.NamedTemporaryFile", no_place)
    monkeypatch.setattr("penchant.cli.fit_choices_command.load_choices", broken)
    done = penchant("fit", "trips.csv")
    assert done.code == 70
    assert "ZeroDivisionError" in done.err
    assert "details are above. Please report it with them." in done.err
