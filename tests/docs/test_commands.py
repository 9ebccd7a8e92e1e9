"""Commands in the documents are commands that exist, and those shown with output print it."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from penchant.cli.main import app, run
from penchant.models.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
COMMANDS = [name for name in app if not name.startswith("-")]
BLOCK = re.compile(r"^```(?!python)\w*\n(.*?)^```$|((?:^    .*\n)+)", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUICK = ("$ penchant fit", "$ penchant check", "$ penchant models")
PLACEHOLDERS = {"COMMAND", "NAME"}


def commands_in(text):
    """Commands of code blocks and of words in code, with lines that go on joined."""
    whole = text.replace("\\\n", " ")
    lines = [
        line.strip().removeprefix("$ ").split("&& ")[-1].split(" > ")[0]
        for block in BLOCK.findall(whole)
        for line in "".join(block).splitlines()
    ]
    lines += re.findall(r"`(penchant [^`\n]+)`", whole)
    return [line for line in lines if line.startswith("penchant ")]


def sessions():
    """Blocks of the console in the documents; those that take seconds are slow."""
    for path in DOCUMENTS:
        for i, block in enumerate(SESSION.findall(path.read_text(encoding="utf-8"))):
            quick = all(line.startswith(QUICK) for line in block.splitlines() if line[:2] == "$ ")
            marks = () if quick else pytest.mark.slow
            yield pytest.param(block, id=f"{path.relative_to(ROOT)}-{i}", marks=marks)


def steps(block):
    """Commands of a block, with what they print."""
    for part in block.split("$ ")[1:]:
        command, _, printed = part.replace("\\\n", " ").partition("\n")
        yield shlex.split(command)[1:], printed


def test_commands_are_found_in_blocks_and_in_words():
    text = "    penchant fit a.csv \\\n        --wide\n\nSee `penchant models`.\n\n"
    text += "```\n$ penchant check b\n```\n"
    assert [line.split() for line in commands_in(text)] == [
        ["penchant", "fit", "a.csv", "--wide"],
        ["penchant", "check", "b"],
        ["penchant", "models"],
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_can_be_typed_as_it_stands(path):
    for line in commands_in(path.read_text(encoding="utf-8")):
        words = shlex.split(line)[1:]
        if PLACEHOLDERS.isdisjoint(words):
            app.parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_told_in_the_documents(command):
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert f"| `{command}` |" in text
    assert re.search(rf"\bpenchant {command}\b", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_told_in_a_sentence(command):
    for option in app[command].assemble_argument_collection(parse_docstring=True):
        if not option.children:
            assert len(option.parameter.help.split()) >= 2, option.name


@pytest.mark.parametrize("block", list(sessions()))
def test_sessions_print_what_the_document_says(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, printed in steps(block):
        assert run(words) == 0, words
        found = capsys.readouterr().out
        same = doctest.OutputChecker().check_output(printed, found, doctest.ELLIPSIS)
        assert same, f"{words}\n{found}"


def test_the_readme_counts_the_models():
    assert "[more than thirty models]" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(CATALOGUE) > 30
