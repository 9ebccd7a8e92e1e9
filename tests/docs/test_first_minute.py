"""The README's commands make an environment of their own, and what runs them runs what it names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n(python3 .*)\n```$", README, re.MULTILINE)
NAMED = re.findall(r'^  "(tests/\S+\.py)::(\w+)(?:\[.*\])?"$', CI, re.MULTILINE)


def test_the_readme_prints_one_command_to_try_and_one_to_test():
    assert len(COMMANDS) == 2
    assert COMMANDS[0].endswith(".venv/bin/penchant fit --example travel-mode")
    assert COMMANDS[1].endswith(".venv/bin/python -m pytest")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_installs_nothing_into_the_systems_python(command):
    made, *used = command.split(" && ")
    assert made == "python3 -m venv .venv"
    assert all(step.startswith(".venv/bin/") for step in used)
    assert ".venv/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_slow_tests_are_named_and_exist():
    assert NAMED
    for file, name in NAMED:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), name
        assert "pytest.mark.slow" in text, file


def test_the_first_page_names_who_it_is_for_and_shows_a_figure():
    first = README.partition("\n## ")[0]
    for word in ("hBayesDM", "statsmodels", "xlogit", "biogeme", "](docs/figures/first.svg)"):
        assert word in first
    assert len(first.splitlines()) < 50


def test_times_on_the_first_page_are_those_that_were_measured():
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    cells = [re.split(r"\s*\|\s*", line)[1:] for line in results.splitlines()]
    took = {tuple(row[:2]): row[3] for row in cells if len(row) > 4}
    assert f"in {_seconds(took['B', 'penchant']):.1f} s" in README
    assert f"takes {_seconds(took['B', 'xlogit']):.1f} s" in README
    models = (ROOT / "benchmarks" / "MODELS.md").read_text(encoding="utf-8")
    times = models.partition("\nWhat a cell costs")[0]
    (learning,) = re.findall(r"^\| Q-learning \| (\S+) \|", times, re.MULTILINE)
    assert f"500 Q-learners in {float(learning):.1f} s" in README


def test_the_table_of_alternatives_says_what_was_measured():
    page = (ROOT / "benchmarks" / "ALTERNATIVES.md").read_text(encoding="utf-8")
    travellers, certain, indifferent = (_rows(part) for part in page.split("\n## ")[1:])
    told = {row[0]: row[1:] for row in _rows(README.partition("\n## ")[0]).values()}
    libraries = ["penchant", "statsmodels", "xlogit", "biogeme"]
    assert [name.lower() for name in told["same task"]] == libraries
    digits = told["210 travellers: correct digits of weights, standard errors"]
    assert digits == [", ".join(travellers[name][2:4]) for name in libraries]
    for name, words in zip(
        libraries, told["perfectly consistent choices (separation)"], strict=True
    ):
        finite = name != "penchant" and certain[name][1] != "none"
        assert finite == words.startswith("finite weights")
        assert ("converged" in words) == ("converged=True" in certain[name][3])
    for name, words in zip(libraries, told["a weight that the data do not identify"], strict=True):
        assert ("converged" in words) == ("converged=True" in indifferent[name][3])
        assert words.startswith("an error") == (indifferent[name][1] == "none")


def _rows(text):
    """Rows of the tables in a text, by their first cell."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in cells}


def _seconds(time):
    number, unit = time.split()
    return float(number) * {"s": 1.0, "ms": 1e-3}[unit]
