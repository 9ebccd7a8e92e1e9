"""What a type checker knows of a user's own code."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import penchant as pn

choices: pn.Choices
play: list[pn.Episode]
reveal_type(pn.fit(choices, method="firth"))
reveal_type(pn.fit(play, pn.QLearning(2), parameter_prior=pn.ScaledPrior()))
reveal_type(pn.fit_each(choices))
reveal_type(pn.fit_each(play, pn.QLearning(2)))
reveal_type(pn.fit_each(play, pn.QLearning(2))["s01"]["learning_rate"].estimate)
pn.fit(choices, pn.QLearning(2))
pn.fit(play)
pn.fit(play, pn.QLearning(2), method="firth")
pn.fit(choices, methd="ml")
"""
KNOWN = {
    6: "penchant.softmax.estimate.Estimate",
    7: "penchant.softmax.estimate.Estimate",
    8: "penchant.softmax.estimate_collection.Estimates",
    9: "penchant.softmax.estimate_collection.Estimates",
    10: "float",
}


@pytest.mark.slow
def test_a_type_checker_knows_what_a_fit_returns_and_takes(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "user.py"
    script.write_text(SCRIPT)
    settings = Path(__file__).parents[2] / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", settings, script]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    revealed = [f'user.py:{line}: note: Revealed type is "{kind}"' for line, kind in KNOWN.items()]
    assert [words for words in revealed if words not in said] == []
    wrong = {int(line.split(":")[1]) for line in said.splitlines() if ": error: " in line}
    assert wrong == {11, 12, 13, 14}
