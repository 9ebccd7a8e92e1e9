"""One log-likelihood with gradient and Hessian, against the limits of the machine."""

from __future__ import annotations

import time
from functools import partial

import limits
import numpy as np
from problems import problem, size_of
from report import Row, Target, shape_text
from settings import Settings
from timing import Timing, interleaved

import penchant as pn
from penchant.softmax.likelihood import PackedLikelihood

TARGET = Target(3, at_least=False)
JUDGED = ("M", "L")
FAST_TURN = 0.05


def evaluations(settings: Settings) -> list[Row]:
    """Time an evaluation and its limits at every size."""
    return [row for name in ("S", "W", "M", "L") for row in _evaluation(name, settings)]


def _evaluation(name: str, settings: Settings) -> list[Row]:
    data = problem(*size_of(name, settings.quick))
    n, m, _ = data.shape
    packed = PackedLikelihood.from_choices(
        pn.Choices.from_arrays(data.explanatory, data.chosen), threads=1
    )
    values = packed.packed[0]
    numbers = np.linspace(-20.0, 0.0, limits.IN_CACHE)
    target = np.empty(limits.IN_CACHE)
    runs = {
        "evaluation": partial(packed.moments, data.theta),
        "reading": partial(limits.read_all, values, target),
        "exponentials": partial(limits.exponentials, numbers, n * (m - 1), target),
    }
    for run in runs.values():
        run()
    found = interleaved(runs, settings.repeats, FAST_TURN, clock=time.thread_time)
    done = found["exponentials"]
    excess = n * (m - 1) / done.result
    exponentials = Timing(tuple(s * excess for s in done.seconds))
    reading = found["reading"]
    limit = max(reading.median, exponentials.median)
    size = shape_text(*data.shape)
    speed = f"{values.nbytes / reading.median / 1e9:.1f} GB/s"
    pace = f"{exponentials.median / (n * (m - 1)) * 1e9:.2f} ns each"
    return [
        Row(
            f"limit {name}",
            "log-likelihood, gradient, Hessian",
            size,
            found["evaluation"],
            ratio=found["evaluation"].median / limit,
            target=TARGET if name in JUDGED else None,
            judged=not settings.quick,
            note="ratio to the larger of the two below",
        ),
        Row(f"limit {name}", "reading the packed variables", size, reading, note=speed),
        Row(f"limit {name}", "n (m - 1) exponentials", size, exponentials, note=pace),
    ]
