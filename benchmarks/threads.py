"""What a second thread brings, on L and B."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import limits
import numpy as np
import peers
from problems import Problem, batch_of, problem, size_of
from report import Row, Target, shape_text
from settings import Settings
from timing import interleaved

TARGET = Target(1.6, at_least=True)
CONTROL = 100_000_000
NUMBERS = np.linspace(-20.0, 0.0, limits.IN_CACHE)


def threads(settings: Settings) -> list[Row]:
    """Time one thread and two, in turns."""
    one_fit = problem(*size_of("L", settings.quick))
    rows = _pair("L", peers.penchant_fit, one_fit, shape_text(*one_fit.shape), settings)
    del one_fit
    many = batch_of("B", settings.quick)
    size = f"{many.n_subjects:,} fits of {shape_text(*many.one(0).shape)}"
    return rows + _pair("B", peers.penchant_fit_each, many, size, settings)


def _pair(
    name: str,
    fit: Callable[[Problem, int], peers.Answer],
    data: Problem,
    size: str,
    settings: Settings,
) -> list[Row]:
    runs = {f"fit {k}": partial(fit, data, k) for k in (1, 2)}
    runs |= {f"control {k}": partial(_exponentials, k) for k in (1, 2)}
    for run in runs.values():
        run()
    found = interleaved(runs, settings.repeats)
    one, two = found["fit 1"], found["fit 2"]
    control = found["control 1"].median / found["control 2"].median
    return [
        Row(f"threads {name}", "1 thread", size, one),
        Row(
            f"threads {name}",
            "2 threads",
            size,
            two,
            ratio=one.median / two.median,
            target=TARGET,
            judged=not settings.quick,
            note="ratio: one thread's time to two threads'",
        ),
        Row(
            f"threads {name}",
            "2 threads, exponentials only",
            timing=found["control 2"],
            ratio=control,
            note="control: near 2 if the second core was free",
        ),
    ]


def _exponentials(k: int) -> None:
    """Exponentials of numbers in the cache, shared by k threads."""

    def share(_: int) -> None:
        limits.exponentials(NUMBERS, CONTROL // k, np.empty(limits.IN_CACHE))

    with ThreadPoolExecutor(k) as pool:
        list(pool.map(share, range(k)))
