"""A small table of choices, and the command run on it inside this process."""

import hashlib
from dataclasses import dataclass

import pytest

from cli.trips import csv, simulated
from penchant.cli.main import run


@dataclass
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def error(self):
        """The one sentence that says what is wrong, and the remedy, which has its own line."""
        lines = self.err.splitlines()
        begins = [k for k, line in enumerate(lines) if line.startswith("penchant: ")]
        assert len(begins) == 1, self.err
        return " ".join(lines[begins[0] :])


@pytest.fixture
def rows():
    return simulated()


@pytest.fixture
def folder(tmp_path, monkeypatch, rows):
    """The current folder, with the table as trips.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trips.csv").write_text(csv(rows))
    return tmp_path


@pytest.fixture
def penchant(folder, capsys):
    """Run a command line in the folder."""

    def _run(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Ended(code, written.out, written.err)

    return _run


def contents(folder):
    """Every file of a folder, hidden ones too, by what it holds."""
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def refused(penchant, folder):
    """Expect exit code 2, one sentence on stderr, nothing on stdout, and no file touched."""

    def _refused(*arguments):
        before = contents(folder)
        ended = penchant(*arguments)
        assert contents(folder) == before
        assert (ended.code, ended.out) == (2, ""), ended.err
        assert ended.error.endswith((".", "?"))
        return ended.error

    return _refused
