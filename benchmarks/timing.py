"""Clock: competitors take turns, so that what else the machine does hits all alike."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PATIENCE = 25.0  # seconds after which a competitor is not run again


@dataclass(frozen=True)
class Timing:
    """Seconds of each run, and what the last run returned."""

    seconds: tuple[float, ...]
    result: Any = None

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)


def interleaved(
    competitors: Mapping[str, Callable[[], Any]],
    repeats: int,
    at_least: float = 0.0,
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Run competitors round-robin, each already warm.

    Parameters
    ----------
    competitors
        What to run, by name, in order.
    repeats
        Rounds. A competitor that has used up `patience` seconds sits out the others.
    at_least
        A turn repeats a fast competitor until this many seconds have passed, and counts the mean.
    clock
        Seconds that count; `time.thread_time` for work in one thread, while others keep it waiting.
    """
    seconds: dict[str, list[float]] = {name: [] for name in competitors}
    results: dict[str, Any] = {}
    for turn in range(repeats):
        for name, run in competitors.items():
            if sum(seconds[name]) > patience:
                continue
            _say(f"  round {turn + 1}/{repeats}: {name}")
            taken, results[name] = _turn(run, at_least, clock)
            seconds[name].append(taken)
    _say("")
    return {name: Timing(tuple(seconds[name]), results[name]) for name in competitors}


def _say(what: str) -> None:
    """Show progress on a terminal, and nothing in a file."""
    if sys.stderr.isatty():
        print(f"{what:<70}", end="\r", file=sys.stderr)


def _turn(run: Callable[[], Any], at_least: float, clock: Callable[[], float]) -> tuple[float, Any]:
    """Mean seconds of one turn."""
    gc.collect()
    n_runs = 0
    begin = clock()
    while True:
        result = run()
        n_runs += 1
        passed = clock() - begin
        if passed >= at_least:
            return passed / n_runs, result
