"""Results out: whole or not at all, one writer at a time."""

import errno
import json
import os
import socket
import stat
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penchant.errors import DataError
from penchant.files import atomic_files
from penchant.files.atomic_files import check_writable, lock_file
from penchant.files.output import write_table, write_text
from penchant.files.table import read_table

TABLE = pa.table(
    {
        "name": ["=1+1", '@x, "y"', None],
        "estimate": [1.5, float("nan"), 1 / 3],
        "n": [7, 8, 9007199254740993],
    }
)
ROWS = [
    {"name": "=1+1", "estimate": 1.5, "n": 7},
    {"name": '@x, "y"', "estimate": None, "n": 8},
    {"name": None, "estimate": 1 / 3, "n": 9007199254740993},
]
DEAD = 2**22 + 12345  # beyond the largest process number of Linux


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_text_is_written_as_it_is(tmp_path):
    write_text(tmp_path / "a.txt", "é\nß\n", overwrite=False)
    assert (tmp_path / "a.txt").read_bytes() == "é\nß\n".encode()
    assert names(tmp_path) == ["a.txt"]


def test_an_existing_file_is_replaced_only_when_asked_for(tmp_path):
    write_text(tmp_path / "a.txt", "old", overwrite=False)
    with pytest.raises(DataError, match=r"(?s)must not exist; got .*a.txt, which does.*overwrite"):
        write_text(tmp_path / "a.txt", "new", overwrite=False)
    assert (tmp_path / "a.txt").read_text() == "old"
    write_text(tmp_path / "a.txt", "new", overwrite=True)
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json", ".CSV"])
def test_tables_are_read_back_as_they_were_written(tmp_path, ending):
    file = tmp_path / f"out{ending}"
    write_table(file, TABLE, overwrite=False)
    if ending == ".json":
        assert json.loads(file.read_text()) == ROWS
    else:
        rows = read_table(file).to_pylist()
        assert str(rows) == str(TABLE.to_pylist() if ending == ".parquet" else ROWS)
    assert names(tmp_path) == [file.name]


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame])
def test_frames_of_every_library_are_written(tmp_path, make):
    write_table(tmp_path / "o.csv", make({"a": [1, 2], "b": ["x", "y"]}), overwrite=False)
    assert (tmp_path / "o.csv").read_text() == '"a","b"\n1,"x"\n2,"y"\n'


def test_the_index_of_a_pandas_frame_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=["r", "s"])
    write_table(tmp_path / "o.csv", frame, overwrite=False)
    assert read_table(tmp_path / "o.csv").column_names == ["a"]


def test_text_is_quoted_and_numbers_are_not(tmp_path):
    table = pa.table({"label": ["=cmd()", "+1", "-2", "@z", "plain"], "x": [-1.5, 2, 3, 4, 5]})
    write_table(tmp_path / "o.csv", table, overwrite=False)
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert lines[1:3] == ['"=cmd()",-1.5', '"+1",2']


def test_categories_are_written_as_text(tmp_path):
    table = pa.table({"mode": pa.array(["air", "car", "air"]).dictionary_encode()})
    write_table(tmp_path / "o.csv", table, overwrite=False)
    assert (tmp_path / "o.csv").read_text() == '"mode"\n"air"\n"car"\n"air"\n'


def test_infinities_are_null_in_json(tmp_path):
    write_table(tmp_path / "o.json", pa.table({"x": [float("inf"), 2.5]}), overwrite=False)
    assert json.loads((tmp_path / "o.json").read_text()) == [{"x": None}, {"x": 2.5}]


def test_a_table_needs_an_ending_that_says_what_it_is(tmp_path):
    with pytest.raises(DataError, match=r"must end in .csv, .parquet or .json; got .*out.xlsx"):
        write_table(tmp_path / "out.xlsx", TABLE, overwrite=False)
    assert names(tmp_path) == []


def test_a_missing_directory_is_refused_before_the_work(tmp_path):
    (tmp_path / "results").mkdir()
    with pytest.raises(DataError, match=r"(?s)existing directory; .*Did you mean 'results'"):
        check_writable(tmp_path / "result" / "a.csv", overwrite=False)
    with pytest.raises(DataError, match=r"(?s)existing directory; .*Create it first"):
        check_writable(tmp_path / "x" / "y" / "a.csv", overwrite=False)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(DataError, match="must be a file; got the directory"):
        check_writable(tmp_path, overwrite=True)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
def test_a_device_is_never_replaced():
    with pytest.raises(DataError, match="must be a regular file; got /dev/null"):
        check_writable("/dev/null", overwrite=True)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_refused(path):
    with pytest.raises(DataError, match="output must be a path"):
        check_writable(path, overwrite=True)


def test_a_directory_without_permission_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    with pytest.raises(DataError, match="a directory that can be written to; got"):
        check_writable(tmp_path / "a.csv", overwrite=False)


def test_a_read_only_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, _mode: path == tmp_path)
    with pytest.raises(DataError, match="which is read-only"):
        check_writable(tmp_path / "a.csv", overwrite=True)


def test_checking_touches_nothing(tmp_path):
    assert check_writable(tmp_path / "a.csv", overwrite=False) == tmp_path / "a.csv"
    assert names(tmp_path) == []


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_text("~/größe 1.txt", "x", overwrite=False)
    assert names(tmp_path) == ["größe 1.txt"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_text(tmp_path / "link.txt", "new", overwrite=True)
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_permissions_are_those_of_the_file_replaced(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    file.chmod(0o640)
    write_text(file, "new", overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_permissions_of_a_new_file_follow_the_umask(tmp_path):
    (tmp_path / "plain.txt").write_text("x")
    write_text(tmp_path / "a.txt", "x", overwrite=False)
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def full_disk(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(
        DataError, match=r"writing failed: the disk is full.\nThe file is as it was"
    ):
        write_table(tmp_path / "a.csv", TABLE, overwrite=True)
    assert (tmp_path / "a.csv").read_text() == "old"
    assert names(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_that_does_not_fit_leaves_nothing(tmp_path, ending):
    program = (
        "import resource, signal, sys\n"
        "import pyarrow as pa\n"
        "from penchant.files.output import write_table\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.dont_write_bytecode = True\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "table = pa.table({'a': [f'{k * 7919 % 10007}' for k in range(9999)]})\n"
        "write_table(sys.argv[1], table, overwrite=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / f"a{ending}")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "writing failed" in done.stderr.splitlines()[-2]
    assert names(tmp_path) == []


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with (
        pytest.raises(KeyboardInterrupt),
        atomic_files.atomic_write(tmp_path / "a.txt", overwrite=True) as temporary,
    ):
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_made_meanwhile_is_not_replaced(tmp_path):
    with (
        pytest.raises(DataError, match="another program made this file meanwhile"),
        atomic_files.atomic_write(tmp_path / "a.txt", overwrite=False) as temporary,
    ):
        temporary.write_text("mine")
        (tmp_path / "a.txt").write_text("theirs")
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert names(tmp_path) == ["a.txt"]


def test_a_second_process_is_refused_and_told_who_writes(tmp_path):
    file = tmp_path / "a.txt"
    program = (
        "import sys; from penchant.files.output import write_text\n"
        "write_text(sys.argv[1], 'theirs', overwrite=True)\n"
    )
    with lock_file(file):
        done = subprocess.run(
            [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert "must have one writer at a time" in done.stderr
    assert f"process {os.getpid()} on {socket.gethostname()} is writing" in done.stderr
    assert names(tmp_path) == []


def test_who_holds_the_lock_may_write(tmp_path):
    with lock_file(tmp_path / "a.txt"):
        write_text(tmp_path / "a.txt", "mine", overwrite=False)
        assert names(tmp_path) == [".a.txt.lock", "a.txt"]
    assert names(tmp_path) == ["a.txt"]


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    (tmp_path / ".a.txt.lock").write_text(f"process {DEAD} on {socket.gethostname()}")
    write_text(tmp_path / "a.txt", "x", overwrite=False)
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("holder", ["process 1 on elsewhere", "", "process x on y"])
def test_the_lock_of_an_unknown_process_is_kept(tmp_path, holder):
    (tmp_path / ".a.txt.lock").write_text(holder)
    with pytest.raises(DataError, match=r"(?s)one writer at a time.*remove .*\.a\.txt\.lock if no"):
        write_text(tmp_path / "a.txt", "x", overwrite=False)
    assert names(tmp_path) == [".a.txt.lock"]


def test_a_lock_that_cannot_be_made_is_explained(tmp_path):
    with pytest.raises(DataError, match="where no lock could be made"):
        write_text(tmp_path / ("x" * 253), "x", overwrite=False)
