"""Fresh processes: import, help, first compilation, and the cache after it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from report import Row
from settings import Settings
from timing import Timing, interleaved

REPEATS = 5

FIRST_FITS = """
import json, time
import numpy as np
import penchant as pn
rng = np.random.default_rng(0)
seconds = {}
def timed(what, d, run):
    x = rng.normal(size=(200, 5, d))
    choices = pn.Choices.from_arrays(x, rng.integers(5, size=200), subject=np.arange(200) // 50)
    begin = time.perf_counter()
    run(choices)
    seconds[what] = time.perf_counter() - begin
begin = time.perf_counter()
pn.fit
seconds["loading of the estimators"] = time.perf_counter() - begin
timed("first fit, 3 variables", 3, pn.fit)
timed("first fit, another number of variables", 4, pn.fit)
timed("second fit", 3, pn.fit)
timed("first fit_each, 3 variables", 3, pn.fit_each)
print(json.dumps(seconds))
"""


def start(settings: Settings) -> list[Row]:
    """Time what a user waits for before anything is computed."""
    return _processes() + _compilation()


def _processes() -> list[Row]:
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "python -c 'import penchant'": [sys.executable, "-c", "import penchant"],
    }
    rows = []
    program = Path(sys.executable).with_name("penchant")
    if find_spec("penchant.cli.main") is not None and program.exists():
        commands["penchant --help"] = [str(program), "--help"]
    else:
        rows.append(Row("start", "penchant --help", note="not built yet"))
    found = interleaved({what: _process(command) for what, command in commands.items()}, REPEATS)
    return [Row("start", what, timing=timing) for what, timing in found.items()] + rows


def _process(command: list[str]):
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _compilation() -> list[Row]:
    """One process with an empty cache, and one after it."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for when in ("nothing compiled yet", "compiled code on disk"):
            for what, seconds in _first_fits(cache).items():
                rows.append(Row("compile", what, timing=Timing((seconds,)), note=when))
    return rows


def _first_fits(cache: str) -> dict[str, float]:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FITS],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    whole = time.perf_counter() - begin
    return {**json.loads(done.stdout), "the whole process": whole}
