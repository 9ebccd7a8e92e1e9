"""The command as a process: exit codes, pipes, signals, letters."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cli.conftest import contents
from cli.processes import Process, ended
from cli.trips import HEADER, csv, simulated

COMMAND = [sys.executable, "-c", "from penchant.cli.main import main; main()"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX processes, signals and shells")


SEVERAL = """
import json, sys
from penchant.cli.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        for stream in (sys.stdout, sys.stderr):
            print("ended", end.code, end="\\f", file=stream, flush=True)
"""


def several(folder, *commands, environment):
    """Commands one after the other in an interpreter that begins in this environment."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=True,
    )
    streams = (done.stdout.decode().split("\f")[:-1], done.stderr.decode().split("\f")[:-1])
    for out, err in zip(*streams, strict=True):
        out, _, code = out.rpartition("ended ")
        yield int(code), out, err.rpartition("ended ")[0]


def from_scratch(folder, *arguments, environment):
    """The command in an interpreter that begins in this environment."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def at_work(folder, *arguments):
    """A process that has read the choices of many people and fits them one by one."""
    rows = [[f"s{k}", *row] for k in range(400) for row in simulated(30, seed=k)]
    (folder / "people.csv").write_text(csv(rows, ["subject", *HEADER]))
    process = Process(folder, "fit", *arguments)
    while b"Choices:" not in process.stderr.readline():
        assert process.poll() is None
    return process


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_process(folder):
    for begun in (ended, partial(from_scratch, environment={})):
        assert begun(folder, "fit", "trips.csv")[0] == 0
        assert begun(folder, "fit", "none.csv")[0] == 2


def test_a_table_may_be_piped_in(folder, rows):
    code, out, _ = ended(folder, "fit", "-", "--json", given=csv(rows).encode())
    assert code == 0
    assert json.loads(out)["n_decisions"] == len(rows) / 3


def test_lines_of_a_pipe_are_counted(folder, rows):
    rows[4][3] = ""
    code, _, err = ended(folder, "fit", "-", given=csv(rows).encode())
    assert code == 2
    assert "stdin: --explanatory must not be missing; got an empty cell in price at line 6" in err


def test_d40_an_empty_pipe_is_refused(folder):
    code, out, err = ended(folder, "fit", "-")
    assert (code, out) == (2, "")
    assert "stdin must hold a table; got 0 bytes" in err


def test_d70_a_reader_that_leaves_is_no_error(folder):
    process = Process(folder, "fit", "--example", "menu", "--json")
    process.stdout.close()
    assert process.wait(timeout=120) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        pytest.param({"LC_ALL": "C"}, marks=pytest.mark.slow),
        pytest.param({"NO_COLOR": "1"}, marks=pytest.mark.slow),
    ],
)
def test_d70_a_terminal_without_letters_or_colours_gets_the_same(folder, rows, environment):
    text = csv(rows, [*HEADER[:3], "prix €", "wait"])
    (folder / "x.csv").write_text(text, encoding="utf-8")
    commands = [["fit", "x.csv"], ["fit", "x.csv", "--json"], ["fit", "--help"]]
    printed, kept, helped = several(folder, *commands, environment=environment)
    code, out, err = printed
    assert code == 0, err
    assert "prix " in out and "\x1b" not in out + err
    assert json.loads(kept[1])["names"][0] == "prix €"
    assert helped[0] == 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_d63_an_interrupt_leaves_the_old_output_and_nothing_else(folder, sent):
    (folder / "out.csv").write_text("old")
    options = ["--subject", "subject", "--method", "firth", "-o", "out.csv", "--overwrite"]
    process = at_work(folder, "people.csv", *options)
    process.send_signal(sent)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out == b""
    assert b"penchant: interrupted; nothing was written." in err
    assert b"Traceback" not in err
    assert (folder / "out.csv").read_text() == "old"
    assert set(contents(folder)) == {Path("trips.csv"), Path("people.csv"), Path("out.csv")}


def test_d66_of_two_processes_one_writes_and_the_other_is_told(folder):
    options = ["people.csv", "--subject", "subject", "--method", "firth", "-o", "out.csv"]
    first = at_work(folder, *options)
    first.send_signal(signal.SIGSTOP)
    code, out, err = ended(folder, "fit", *options, "--overwrite")
    first.send_signal(signal.SIGCONT)
    assert (code, out) == (2, "")
    assert f"process {first.pid}" in err
    first.communicate(timeout=120)
    assert first.returncode == 0
    assert (folder / "out.csv").exists()
    assert not list(folder.glob(".*"))
