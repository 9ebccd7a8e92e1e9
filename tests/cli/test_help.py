"""Help: every command and option has it, and it comes at once."""

import subprocess
import sys

import pytest

from penchant._version import __version__
from penchant.cli.main import app

COMMANDS = ["fit", "check", "simulate", "study", "models", "reproduce"]
COMMANDS += ["recover", "compare", "predict", "distinguish", "design", "population"]
COMMANDS += ["ask", "serve", "play", "export", "forget", "backup"]


def test_every_command_is_listed_and_no_other(penchant):
    ended = penchant("--help")
    assert ended.code == 0
    assert sorted(name for name in app if not name.startswith("-")) == sorted(COMMANDS)
    assert all(f" {name} " in ended.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_explained(penchant, command):
    ended = penchant(command, "--help")
    assert ended.code == 0
    for argument in app[command].assemble_argument_collection(parse_docstring=True):
        if not argument.children:
            assert argument.parameter.help, argument.name
            assert argument.name in ended.out


def test_options_of_fit_are_grouped(penchant):
    text = penchant("fit", "--help").out
    places = [
        text.index(f" {group} ")
        for group in ("Data", "Terms", "Model", "Agent", "Task data", "Output")
    ]
    assert places == sorted(places)
    assert "--no-" not in text and "--empty-" not in text and "[default: []]" not in text


def test_the_version_is_printed(penchant):
    assert penchant("--version").out.strip() == __version__


def test_no_command_shows_help(penchant):
    ended = penchant()
    assert ended.code == 0
    assert "Usage: penchant COMMAND" in ended.out


def test_an_unknown_command_is_refused_with_those_there_are(refused):
    assert "fit, check, models" in refused("fti", "trips.csv")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["fit", "--help"], ["simulate", "--help"], ["fit", "--levl", "2"]],
)
def test_help_and_wrong_usage_load_no_numerical_library(arguments):
    code = (
        "import sys; from penchant.cli.main import run; run(sys.argv[1:]);"
        "print(sorted({'numpy', 'scipy', 'numba', 'pyarrow', 'narwhals', 'pandas'}"
        " & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"
