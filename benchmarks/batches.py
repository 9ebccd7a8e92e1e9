"""B, T, PB: many of separate fits through `fit_each`, beside loops over the other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import peers
from fits import relative_gap
from problems import Problem, batch_of
from report import Row, Target, shape_text
from settings import Settings
from timing import interleaved


@dataclass(frozen=True)
class _Loop:
    """A peer run subject by subject, on at most so many."""

    fit: Callable[..., peers.Answer]
    inputs: Callable[[Problem], object]
    at_most: int


def _itself(problem: Problem) -> Problem:
    return problem


LOOPS = {
    "B": {
        "xlogit": _Loop(peers.xlogit, peers.long_input, 1_000),
        "NumPy Newton": _Loop(peers.numpy_newton, _itself, 1_000),
        "scipy BFGS": _Loop(peers.scipy_bfgs, _itself, 1_000),
        "statsmodels PHReg": _Loop(peers.statsmodels_phreg, peers.long_input, 50),
    },
    "PB": {
        "xlogit": _Loop(peers.xlogit, peers.long_input, 200),
        "NumPy Newton": _Loop(peers.numpy_newton, _itself, 200),
        "scipy BFGS": _Loop(peers.scipy_bfgs, _itself, 200),
    },
    "T": {
        "scipy BFGS": _Loop(peers.scipy_bfgs, _itself, 10_000),
        "NumPy Newton": _Loop(peers.numpy_newton, _itself, 10_000),
        "xlogit": _Loop(peers.xlogit, peers.long_input, 2_000),
        "statsmodels PHReg": _Loop(peers.statsmodels_phreg, peers.long_input, 200),
        "statsmodels ConditionalLogit": _Loop(peers.statsmodels_conditional, peers.long_input, 200),
    },
}
TARGETS = {("B", "xlogit"): 50, ("T", "scipy BFGS"): 100, ("PB", "xlogit"): 50}


def batches(name: str, settings: Settings) -> list[Row]:
    """Time one batch."""
    data = batch_of(name, settings.quick)
    peers.penchant_fit_each(data.one(0))
    n_fits = {who: min(loop.at_most, data.n_subjects) for who, loop in LOOPS[name].items()}
    runs = {
        "penchant": partial(peers.penchant_fit_each, data),
        "penchant, every Estimate made": partial(peers.penchant_fit_each_unfolded, data),
    }
    for who, loop in LOOPS[name].items():
        peers.one_by_one(loop.fit, loop.inputs, data, 1)()
        runs[who] = peers.one_by_one(loop.fit, loop.inputs, data, n_fits[who])
    found = interleaved(runs, settings.repeats)
    ours = found["penchant"]
    first = {n: peers.penchant_fit_each(_first_subjects(data, n)) for n in set(n_fits.values())}
    rows = []
    for who, timing in found.items():
        done = n_fits.get(who, data.n_subjects)
        bound = TARGETS.get((name, who))
        rows.append(
            Row(
                section=name,
                what=who,
                size=f"{done:,} fits of {shape_text(*data.one(0).shape)}",
                timing=timing,
                ratio=timing.median / done * data.n_subjects / ours.median,
                gap=relative_gap(first[done], timing.result) if who in n_fits else None,
                target=None if bound is None else Target(bound, at_least=True),
                judged=not settings.quick,
                note="" if done == data.n_subjects else "part of the fits; ratio per fit",
            )
        )
    return rows


def _first_subjects(data: Problem, n_subjects: int) -> Problem:
    return data.first(0, int(np.searchsorted(data.subject, n_subjects)))
