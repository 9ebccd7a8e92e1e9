"""Ctrl-C ends a command whatever it is at, and leaves nothing half-written."""

import os
import signal
import subprocess
import sys

import pytest

from cli.plays import HEADER, played
from cli.test_process import COMMAND
from cli.trips import csv

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")

DEAF = """
import time
from penchant.cli.terminal import install_interrupt_handlers, message_if_interrupted
from penchant.files.output import atomic_write

install_interrupt_handlers()
with (
    message_if_interrupted(lambda: "half is kept."),
    atomic_write("out.csv", overwrite=True) as file,
):
    file.write_text("half")
    while True:
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:  # lost, as in the calls of a compiler
            print("lost", flush=True)
"""
LATE = """
import signal
from penchant.cli.terminal import install_interrupt_handlers
from penchant.files.output import atomic_write

install_interrupt_handlers()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
try:
    with atomic_write("out.csv", overwrite=True) as file:
        file.write_text("new")
except KeyboardInterrupt:
    print("heeded")
"""

HALF_BUILT = """
import signal
from penchant.cli.terminal import install_interrupt_handlers

class Built:
    def __init__(self):
        signal.raise_signal(signal.SIGINT)
        self.part = 1

    def __del__(self):
        self.part

install_interrupt_handlers()
try:
    Built()
except KeyboardInterrupt:
    pass
"""


def deaf(folder):
    """A process that loses every interrupt while a file is half written."""
    (folder / "out.csv").write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def assert_ended(process, folder):
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err == "penchant: interrupted; half is kept.\n"
    assert (folder / "out.csv").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["out.csv"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_is_lost_ends_the_process_all_the_same(tmp_path, sent):
    process = deaf(tmp_path)
    process.send_signal(sent)
    assert_ended(process, tmp_path)


def test_a_second_interrupt_ends_the_process_at_once(tmp_path):
    process = deaf(tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "lost\n"
    process.send_signal(signal.SIGINT)
    assert_ended(process, tmp_path)


def test_no_file_is_begun_after_an_interrupt_that_was_lost(tmp_path):
    ended = subprocess.run([sys.executable, "-c", LATE], cwd=tmp_path, capture_output=True, text=1)
    assert ended.stdout == "heeded\n", ended.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_said_of_what_an_interrupt_left_half_built():
    ended = subprocess.run([sys.executable, "-c", HALF_BUILT], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("threads", [[], ["--threads", "1"]], ids=["pool", "main"])
def test_an_interrupt_while_compiling_is_not_lost(folder, threads):
    (folder / "play.csv").write_text(csv(played(), HEADER))
    before = set(folder.iterdir())
    cold = {"NUMBA_CACHE_DIR": str(folder.parent / f"cold-{len(threads)}")}
    command = ["compare", "play.csv", "--model", "q-learning", "--model", "random"]
    process = subprocess.Popen(
        [*COMMAND, *command, "-o", "out.csv", "--options", "12", *threads],
        cwd=folder,
        env={**os.environ, **cold},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while b"compiling" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out == b"" and b"penchant: interrupted; nothing was written." in err
    assert set(folder.iterdir()) == before
