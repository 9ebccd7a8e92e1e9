"""S, W, M, L, P, E: one fit, from arrays to an `Estimate`, beside the other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import peers
from problems import STRONG, Problem, problem, size_of
from report import Row, Target, shape_text
from settings import Settings
from timing import interleaved

Run = Callable[[], peers.Answer]

TARGETS = {"S": 10, "W": 25, "M": 20, "L": 25, "P": 25}
SLOW_FITS = 2_000  # decisions for a peer whose time on all would be many minutes
FAST_TURN = 0.02


def fits(name: str, settings: Settings) -> list[Row]:
    """Time one size."""
    data = problem(*size_of(name, settings.quick), weights=STRONG.get(name))
    runs, notes = _competitors(name, data)
    small = problem(200, data.shape[1], data.shape[2])
    for run in _competitors(name, small)[0].values():
        run()
    found = interleaved(runs, settings.repeats, FAST_TURN)
    ours = found["penchant"]
    rows = []
    for who, timing in found.items():
        whole = who not in notes
        n_done = data.shape[0] if whole else min(SLOW_FITS, data.shape[0])
        gap = None
        if who != "penchant" and whole:
            gap = relative_gap(ours.result, timing.result)
        rows.append(
            Row(
                section=name,
                what=who,
                size=shape_text(n_done, *data.shape[1:]),
                timing=timing,
                ratio=timing.median / n_done * data.shape[0] / ours.median,
                gap=gap,
                target=Target(TARGETS[name], at_least=True)
                if who == "xlogit" and name in TARGETS
                else None,
                judged=not settings.quick,
                note=notes.get(who, ""),
            )
        )
    return rows


def relative_gap(ours: peers.Answer, theirs: peers.Answer) -> float:
    """How much higher our log-likelihood is, relative to theirs."""
    return (ours.log_likelihood - theirs.log_likelihood) / abs(theirs.log_likelihood)


def _competitors(name: str, data: Problem) -> tuple[dict[str, Run], dict[str, str]]:
    """What to run at this size, and remarks on those that do less than the whole."""
    arrays = peers.long_input(data)
    runs: dict[str, Run] = {
        "penchant": partial(peers.penchant_fit, data),
        "xlogit": partial(peers.xlogit, arrays),
        "NumPy Newton": partial(peers.numpy_newton, data),
    }
    notes: dict[str, str] = {}
    if name == "L":
        return runs, notes
    runs["xlogit, num_hess=False"] = partial(peers.xlogit_rough, arrays)
    runs["scipy BFGS"] = partial(peers.scipy_bfgs, data)
    runs["statsmodels PHReg"] = partial(peers.statsmodels_phreg, arrays)
    part = data.first(0, min(SLOW_FITS, data.shape[0]))
    runs["statsmodels ConditionalLogit"] = partial(
        peers.statsmodels_conditional, peers.long_input(part)
    )
    if part.shape != data.shape:
        notes["statsmodels ConditionalLogit"] = "part of the data; ratio per decision"
    return runs, notes
