"""What a second thread brings, on L and B."""

from __future__ import annotations

from functools import partial

import peers
from problems import batch_of, problem, size_of
from report import Row, Target, shape_text
from settings import Settings
from timing import interleaved

TARGET = Target(1.6, at_least=True)


def threads(settings: Settings) -> list[Row]:
    """Time one thread and two, in turns."""
    one_fit = problem(*size_of("L", settings.quick))
    rows = _pair("L", peers.penchant_fit, one_fit, shape_text(*one_fit.shape), settings)
    del one_fit
    many = batch_of("B", settings.quick)
    size = f"{many.n_subjects:,} fits of {shape_text(*many.one(0).shape)}"
    return rows + _pair("B", peers.penchant_fit_each, many, size, settings)


def _pair(name, fit, data, size, settings) -> list[Row]:
    runs = {f"{k} threads" if k > 1 else "1 thread": partial(fit, data, k) for k in (1, 2)}
    for run in runs.values():
        run()
    found = interleaved(runs, settings.repeats)
    one, two = found.values()
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
    ]
