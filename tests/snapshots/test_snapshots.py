"""What the commands print and write for a seed, kept: whoever changes it changes it for users.

The kept texts are in ``kept/``, one file per command. Words must be the same to the character and
numbers to eight digits (another processor may move the last ones). ``PENCHANT_SNAPSHOTS=exact``
counts every byte, and ``PENCHANT_SNAPSHOTS=write`` writes the texts anew.
"""

import math
import os
import re
from pathlib import Path

import pytest

from penchant.cli.main import run

KEPT = Path(__file__).parent / "kept"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")
DIGITS = 1e-8
NOTHING = 1e-9  # below it a number is rounding: a gradient, a decrement
SECONDS = re.compile(r'"(seconds|share)": \{[^}]*\}')
LONGEST = 40_000  # characters, beyond which lines count: those of digits differ
LINES = 1400
PAGE = re.compile(r"<(style|script|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)
BANDIT = ("--model", "q-learning", "--means", "0.2,0.8", "--noise-variance", "0.1")
SEEDED = ("--decisions", "60", "--seed", "4")
ONE = (*BANDIT, *SEEDED, "--agents", "6", "--parameters", "temperature=0.2,learning_rate=0.4")
PEOPLE = ("--parameters", "temperature=0.1:0.4,learning_rate=0.2:0.7")
MADE = (*BANDIT, *SEEDED, "--subjects", "6", *PEOPLE)
PLAY = ("play.csv", "--model", "q-learning")
OFFERS = "amount_sooner,amount_later,delay_later\n" + "".join(
    f"{amount},100,{days}\n" for amount in (20, 50, 80) for days in (7, 30, 180)
)
COMMANDS = {
    "fit": ("fit", "--example", "travel-mode"),
    "fit-json": ("fit", "--example", "travel-mode", "--json"),
    "fit-offers": ("fit", "--example", "delays", "--model", "hyperbolic"),
    "fit-offers-json": ("fit", "--example", "delays", "--model", "hyperbolic", "--json"),
    "fit-play": ("fit", *PLAY, "--intervals", "profile"),
    "fit-play-json": ("fit", *PLAY, "--json"),
    "check": ("check", "--example", "travel-mode"),
    "check-json": ("check", "--example", "travel-mode", "--json"),
    "check-play-json": ("check", "play.csv", "--json"),
    "models": ("models",),
    "models-json": ("models", "--json"),
    "model-json": ("models", "ucl", "--json"),
    "compare": ("compare", *PLAY, "--model", "random", "--folds", "3"),
    "compare-json": ("compare", *PLAY, "--model", "random", "--folds", "3", "--json"),
    "predict-json": ("predict", *PLAY, "--json"),
    "simulate": ("simulate", *ONE),
    "recover-json": ("recover", *MADE, "--json"),
    "distinguish-json": (
        *("distinguish", *MADE, "--model", "random", "--parameters", "bias_0=-0.3:0.3", "--json"),
    ),
    "design-json": (
        *("design", "--model", "random", "--means", "0,0", "--noise-variance", "1", "--seed", "3"),
        *("--parameters", "bias_0=0", "--width", "bias_0=1", "--most", "200", "--json"),
    ),
    "study": ("study", "play.csv", "--model", "q-learning", "--seed", "1", "-o", "made"),
    "study-json": (
        "study",
        "play.csv",
        "--model",
        "q-learning",
        "--seed",
        "1",
        "--json",
        "-o",
        "made",
    ),
    "population-json": ("population", *PLAY, "--json"),
    "ask-json": (
        *("ask", "--model", "hyperbolic", "--offers", "offers.csv", "--about", "discount_rate"),
        "--json",
    ),
    "believe-json": (
        *("believe", "play.csv", "--grid", "2x1", "--noise-variance", "0.1", "--length-scale", "1"),
        *("--map", "2", "--json"),
    ),
    "assist-json": (
        *("assist", "play.csv", "--grid", "2x1", "--noise-variance", "0.1", "--length-scale", "1"),
        "--json",
    ),
    "reproduce": ("reproduce", "--only", "tables", "-o", "made"),
    "reproduce-json": ("reproduce", "--only", "tables", "--json", "-o", "made"),
}


TWICE = {"reproduce", "study"}  # --json runs the same, and writes the same files
LONG = {"reproduce-json"}
MARKED = [pytest.param(n, marks=pytest.mark.slow) if n in TWICE | LONG else n for n in COMMANDS]


@pytest.mark.parametrize("name", MARKED)
def test_a_command_says_what_it_said(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *ONE, "-o", "play.csv"]) == 0
    Path("offers.csv").write_text(OFFERS)
    capsys.readouterr()
    code = run(list(COMMANDS[name]))
    found = f"exit code {code}\n{_cut(capsys.readouterr().out)}{_written(tmp_path / 'made')}"
    found = SECONDS.sub(r'"\1": {}', found)
    kept = KEPT / f"{name}.txt"
    if os.environ.get("PENCHANT_SNAPSHOTS") == "write":
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(found)
    _same(found, kept.read_text())


def _cut(printed):
    """What was printed, or its first lines, whose number no digit changes."""
    if len(printed) <= LONGEST:
        return printed
    return "".join(printed.splitlines(keepends=True)[:LINES])


def _written(folder):
    """Every text in a folder; of a page, its words."""
    parts = []
    for path in sorted(folder.rglob("*")) if folder.exists() else []:
        parts.append(f"=== {path.relative_to(folder)}\n")
        if path.suffix in {".csv", ".json", ".md", ".txt", ".tex"}:
            parts.append(path.read_text())
        elif path.suffix == ".html":
            words = PAGE.sub(" ", path.read_text()).split()
            parts.append("\n".join(words) + "\n")
    return "".join(parts)


def _same(found, kept):
    if os.environ.get("PENCHANT_SNAPSHOTS") == "exact":
        assert found == kept
        return
    assert NUMBER.sub("#", found) == NUMBER.sub("#", kept)
    pairs = zip(NUMBER.findall(found), NUMBER.findall(kept), strict=True)
    moved = [pair for pair in pairs if not _near(*map(float, pair))]
    assert not moved


def _near(found, kept):
    return math.isclose(found, kept, rel_tol=DIGITS, abs_tol=NOTHING)
