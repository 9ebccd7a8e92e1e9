"""What a command costs the first time and every later time, in units of `import numba`.

    python benchmarks/commands.py [--rounds 3] [--markdown benchmarks/START.md]

Processor seconds of fresh processes, whatever waits for the processor meanwhile. "First" has an
empty folder of compiled code, "later" the one that was filled. Commands take turns, round after
round, each beside `import numba`, by which it is divided.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machine import about, load

from penchant import datasets

DELAYS = Path(datasets.__file__).with_name("delays.csv")
WEIGHTS = ("generalised_cost", "wait", "vehicle_cost", "travel_time")


@dataclass(frozen=True)
class Command:
    """What is typed after `penchant`, and what its units ought to be at most."""

    what: str
    arguments: Sequence[str]
    first: float | None = None
    later: float | None = None
    before: Sequence[str] = ()  # typed first, to fill the folder of compiled code


def commands(play: Path) -> list[Command]:
    """The commands, of data that come with Penchant and of a table of play."""
    delays, simulated = str(DELAYS), str(play.with_name("simulated.csv"))
    return [
        Command(
            "fit --example delays --model hyperbolic",
            ("fit", "--example", "delays", "--model", "hyperbolic"),
            first=50,
            later=6.5,
        ),
        Command("fit --example travel-mode", ("fit", "--example", "travel-mode"), 18, 5.5),
        Command("fit PLAY --model q-learning", ("fit", str(play), "--model", "q-learning")),
        Command("check delays.csv --model hyperbolic", ("check", delays, "--model", "hyperbolic")),
        Command(
            "compare delays.csv, two models, 3 folds",
            (
                *("compare", delays, "--folds", "3"),
                *("--model", "hyperbolic", "--model", "exponential"),
            ),
        ),
        Command(
            "simulate play of q-learning",
            (
                *("simulate", "--model", "q-learning", "--means", "0.2,0.8"),
                *("--noise-variance", "0.1", "--decisions", "50", "--seed", "1"),
                *("--parameters", "temperature=0.2,learning_rate=0.3"),
                *("--output", simulated, "--overwrite"),
            ),
        ),
        Command(
            "fit of 4 weights, after one of 6",
            ("fit", "--example", "travel-mode", "--explanatory", ",".join(WEIGHTS)),
            before=("fit", "--example", "travel-mode"),
        ),
    ]


@dataclass(frozen=True)
class Run:
    """Processor seconds of one round; `unit` are those of `import numba` beside it."""

    first: float
    later: float
    unit: float


def processor_seconds(command: Sequence[str], cache: Path) -> float:
    """Processor seconds of a process and its children."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(command: Command, cache: Path) -> Run:
    """One round of a command: `import numba`, first, `import numba`, later."""

    def penchant(arguments: Sequence[str]) -> float:
        return processor_seconds([sys.executable, "-m", "penchant", *arguments], cache)

    def unit() -> float:
        return processor_seconds([sys.executable, "-c", "import numba"], cache)

    shutil.rmtree(cache, ignore_errors=True)
    if command.before:
        penchant(command.before)
    before, first, between, later = (
        unit(),
        penchant(command.arguments),
        unit(),
        penchant(command.arguments),
    )
    return Run(first, later, (before + between) / 2)


def write_play(path: Path) -> None:
    """Six people who choose 60 times between two options, one of which pays more."""
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["subject", "chosen", "reward"])
        for subject in range(6):
            worth = np.zeros(2)
            for _ in range(60):
                chosen = int(rng.random() < 1 / (1 + np.exp(4 * (worth[0] - worth[1]))))
                reward = rng.normal((0.2, 0.8)[chosen], 0.3)
                worth[chosen] += 0.3 * (reward - worth[chosen])
                table.writerow([f"s{subject}", chosen, f"{reward:.3f}"])


def page(found: dict[Command, list[Run]], facts: dict[str, str]) -> str:
    """The table, as a page."""
    lines = [
        "| command | first, s | first, units | asked | later, s | later, units | asked |",
        "|---|---|---|---|---|---|---|",
    ]
    for command, runs in found.items():
        first, later = ([getattr(r, name) for r in runs] for name in ("first", "later"))
        units = [r.unit for r in runs]
        if command.before:
            new = [(f - s) / u for f, s, u in zip(first, later, units, strict=True)]
            in_units, asked = f"{spread(new)} more than later", "2"
        else:
            in_units = spread([f / u for f, u in zip(first, units, strict=True)])
            asked = "" if command.first is None else f"{command.first:g}"
        slow = [s / u for s, u in zip(later, units, strict=True)]
        lines.append(
            f"| `{command.what}` | {statistics.median(first):.2f} | {in_units} | {asked} "
            f"| {statistics.median(later):.2f} | {spread(slow)} "
            f"| {'' if command.later is None else f'{command.later:g}'} |"
        )
    unit = statistics.median(r.unit for runs in found.values() for r in runs)
    rounds = max(len(runs) for runs in found.values())
    about_it = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    return f"""# What a command costs

Made by `python benchmarks/commands.py --markdown benchmarks/START.md`.

Processor seconds of fresh processes: "first" with nothing compiled yet, "later" with compiled code
on disk; units are those of `import numba` beside it in the same round, {unit:.2f} s in the median.
Medians of {rounds} round{"s" * (rounds > 1)}, the range of units in brackets. PLAY is a table of
six people and 60 choices each. The last row is what a new number of weights
costs where another number was fitted before.

{about_it}

{chr(10).join(lines)}
"""


def spread(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.1f} ({min(values):.1f}-{max(values):.1f})"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    asked = parser.parse_args()
    facts = about("")
    facts["command"] = f"python benchmarks/commands.py --rounds {asked.rounds}"
    with tempfile.TemporaryDirectory() as folder:
        play = Path(folder) / "play.csv"
        write_play(play)
        found: dict[Command, list[Run]] = {command: [] for command in commands(play)}
        for turn in range(asked.rounds):
            for command, runs in found.items():
                print(f"round {turn + 1}: {command.what}", file=sys.stderr)
                runs.append(run(command, Path(folder) / "compiled"))
            text = page(found, {**facts, "load after": load()})
            if asked.markdown:  # after every round: whoever interrupts it keeps what there is
                asked.markdown.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
