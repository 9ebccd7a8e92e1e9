"""Help: every command and option has it, and it comes at once."""

import contextlib
import io
import subprocess
import sys
from functools import cache

import pytest

from penchant._version import __version__
from penchant.cli import main
from penchant.cli.main import EXAMPLES, USUAL_OPTIONS, app, options_by_topic, run

COMMANDS = ["fit", "check", "simulate", "study", "models", "reproduce"]
COMMANDS += ["recover", "compare", "predict", "distinguish", "design", "population"]
COMMANDS += ["ask", "assist", "believe", "serve", "play", "export", "forget", "backup"]
COMMANDS += ["completion"]
FOUND = main._command_arguments


@cache
def arguments(command):
    """All that a command takes, with the words about it."""
    return FOUND(app, command)


@pytest.fixture(scope="module", autouse=True)
def found_once():
    """Find what a command takes once for all pages about it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(main, "_command_arguments", lambda _, command: arguments(command))
        yield


def test_every_command_is_listed_and_no_other(penchant):
    ended = penchant("--help")
    assert ended.code == 0
    assert sorted(name for name in app if not name.startswith("-")) == sorted(COMMANDS)
    assert all(f" {name} " in ended.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_explained(penchant, command):
    ended = penchant(command, "--help-all")
    assert ended.code == 0
    for argument in arguments(command):
        if not argument.children:
            assert argument.parameter.help, argument.name
            assert argument.name in ended.out


def test_options_of_fit_are_grouped(penchant):
    text = penchant("fit", "--help-all").out
    places = [
        text.index(f" {group} ")
        for group in ("Columns", "Terms", "Model", "Agent", "Task data", "Output")
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


def test_help_and_wrong_usage_load_no_numerical_library():
    asked = [["--help"], ["fit", "--help"], ["simulate", "--help"], ["fit", "--levl", "2"]]
    code = (
        f"import sys; from penchant.cli.main import run; codes = [run(one) for one in {asked}];"
        "print(codes, sorted({'numpy', 'scipy', 'numba', 'pyarrow', 'narwhals', 'pandas'}"
        " & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[0, 0, 0, 2] []"


@pytest.mark.parametrize("command", USUAL_OPTIONS)
def test_the_first_screen_of_help_fits_one_and_has_an_example(penchant, command):
    lines = penchant(command, "--help").out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    first = EXAMPLES[command][0].splitlines()[0]
    assert f"  {first}" in lines and f"{command} --help-all" in lines[-1]
    shown = {line.split()[0] for line in lines if line.startswith("  --")}
    assert shown == {f"--{name.replace('_', '-')}" for name in USUAL_OPTIONS[command]}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in USUAL_OPTIONS])
def test_small_commands_say_all_on_one_screen(penchant, command):
    lines = penchant(command, "--help").out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert not any(line.endswith(" ") for line in lines)
    text = "\n".join(lines)
    assert "Examples:\n  penchant " + command in text and "Parameters" not in text
    for argument in arguments(command):
        assert argument.children or f"  {argument.name} " in text


def test_help_may_come_first(penchant):
    assert penchant("help", "fit").out == penchant("fit", "--help").out
    assert penchant("help", "fit", "columns").out == penchant("fit", "--help=columns").out
    assert penchant("help").out == penchant("--help").out


def test_options_are_told_with_their_short_names_defaults_and_the_files_they_take(penchant):
    assert "--level LEVEL\n      Confidence level of the intervals. [default: 0.95]" in (
        penchant("fit", "--help=output").out
    )
    assert "--output -o FILE\n      Also write a page with the maps to this file: .html." in (
        penchant("believe", "--help=map").out
    )
    assert "Write the table to this file: .csv, .parquet or .json." in (
        penchant("predict", "--help").out
    )
    assert "FILE" not in penchant("simulate", "--help").out


@cache
def completion(shell):
    """What a shell reads to complete the command."""
    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert run(["completion", shell]) == 0
    return written.getvalue()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_and_models(shell):
    script = completion(shell)
    assert all(word in script for word in ("compare", "missing-reward", "quasi-hyperbolic"))


def test_bash_understands_what_completes_it():
    script = completion("bash")
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def in_bash(line):
    """What bash offers for a line, in a folder with one file."""
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    script = (
        f"{completion('bash')}\nCOMP_WORDS=({' '.join(w or chr(39) * 2 for w in words)})\n"
        f"COMP_CWORD={len(words) - 1}\nCOMP_LINE='{line}'\nCOMP_POINT={len(line)}\n"
        '_penchant penchant "${COMP_WORDS[COMP_CWORD]}"\necho "${COMPREPLY[@]}"\n'
    )
    ended = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    return ended.stdout.split()


def test_bash_completes_commands_options_models_and_leaves_files_to_itself():
    assert in_bash("penchant co") == ["compare", "completion"]
    assert in_bash("penchant fit --mod") == ["--model"]
    assert in_bash("penchant fit --model hy") == ["hybrid", "hyperbolic"]
    assert in_bash("penchant fit pla") == []
    assert "complete -o bashdefault -o default -F _penchant penchant" in completion("bash")


def test_zsh_runs_what_it_finds_in_fpath_and_completes_files():
    script = completion("zsh")
    assert script.rstrip().endswith("compdef _cyclopts_penchant penchant\nfi")
    assert '"$funcstack[1]" == _penchant ]]; then\n  _cyclopts_penchant "$@"' in script
    alone = [line for line in script.splitlines() if line.lstrip().startswith("'1:CSV")]
    assert alone and all(line.endswith(":_files' \\") for line in alone)


@pytest.mark.parametrize("command", USUAL_OPTIONS)
def test_the_first_screen_lists_topics_that_tell_every_option(penchant, command):
    first = penchant(command, "--help").out
    told = ""
    for topic, options in options_by_topic(app, command).items():
        assert f"{topic} ({len(options)})" in first
        page = penchant(command, f"--help={topic}")
        assert page.code == 0 and max(map(len, page.out.splitlines())) <= 80
        told += page.out
    for argument in arguments(command):
        if not argument.children and argument.name.startswith("-"):
            assert f"  {argument.name}" in told


def test_a_topic_may_stand_apart_and_an_unknown_one_is_refused(penchant, refused):
    assert penchant("fit", "--help", "columns").out == penchant("fit", "--help=columns").out
    assert "Did you mean 'columns'?" in refused("fit", "--help=colums")
    assert "--help must be followed by a topic of penchant fit" in refused("fit", "--help=x")


@pytest.mark.parametrize("command", USUAL_OPTIONS)
def test_examples_of_help_use_options_that_there_are(command):
    known = {name for argument in arguments(command) for name in argument.names}
    for example in EXAMPLES[command]:
        words = [word for word in example.split() if word.startswith("--")]
        assert example.startswith(f"penchant {command} ") and {*words} <= known


def test_names_that_shells_complete_are_those_there_are():
    from typing import get_args

    import penchant as pn
    from penchant.cli import options
    from penchant.models.catalogue import CATALOGUE
    from penchant.reading.tasks import TASKS

    def names(annotated):
        return {*get_args(get_args(get_args(annotated)[0])[0])}

    assert names(options.ExampleName) == {*pn.datasets.names()}
    assert names(options.TaskName) == {*TASKS}
    assert {*get_args(options.ModelName)} == {*CATALOGUE}


def test_bash_completes_values_of_examples_tasks_and_models():
    script = completion("bash")
    for option, value in (("--example", "travel-mode"), ("--task", "two-step")):
        place = script.index(f"{option})")
        assert value in script[place : place + 400]
    compare = script[script.index('"--criterion"') :]
    assert "quasi-hyperbolic" in compare[compare.index("--model)") :][:1500]
