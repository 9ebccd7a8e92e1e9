"""Cost per decision from a thousand to a million decisions."""

from __future__ import annotations

import math
from functools import partial

import peers
from problems import problem
from report import Row, Target, duration, shape_text
from settings import Settings
from timing import interleaved

DECISIONS = (1_000, 10_000, 100_000, 1_000_000)
OPTIONS, VARIABLES = 10, 3
TARGET = Target(1.05, at_least=False)
FAST_TURN = 0.02


def scaling(settings: Settings) -> list[Row]:
    """Time the whole job at every number of decisions, in turns."""
    sizes = DECISIONS[:3] if settings.quick else DECISIONS
    problems = {n: problem(n, OPTIONS, VARIABLES) for n in sizes}
    runs = {str(n): partial(peers.penchant_fit, data) for n, data in problems.items()}
    for run in runs.values():
        run()
    found = interleaved(runs, settings.repeats, FAST_TURN)
    rows = [
        Row(
            "linear",
            "penchant",
            shape_text(n, OPTIONS, VARIABLES),
            found[str(n)],
            note=f"{duration(found[str(n)].median / n)} per decision",
        )
        for n in sizes
    ]
    slope = _slope([(n, found[str(n)].median) for n in sizes])
    return [
        *rows,
        Row(
            "linear",
            "slope of log time on log decisions",
            shape_text(sizes[0]) + " to " + shape_text(sizes[-1]),
            ratio=slope,
            target=TARGET,
            judged=not settings.quick,
            note="1 is linear; below 1, fixed costs still show",
        ),
    ]


def _slope(points: list[tuple[int, float]]) -> float:
    """Least-squares slope on logarithmic scales."""
    x = [math.log(n) for n, _ in points]
    y = [math.log(seconds) for _, seconds in points]
    middle = sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum(
        (a - middle) ** 2 for a in x
    )
