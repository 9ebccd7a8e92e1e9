"""What `recover` does: simulate people, fit them, show what came back."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant.arguments import check_level
from penchant.cli.model import prior
from penchant.cli.options import Agent
from penchant.cli.settings import map_words
from penchant.cli.showing import kept, of_table, shown
from penchant.cli.simulating import PEOPLE, check_counts, model_in, ranges, task_of, world_for
from penchant.cli.words import check_threads, say
from penchant.cli.workflow_options import People, Regained, Simulated, Written
from penchant.figures.recovery import recovery
from penchant.figures.style import figure
from penchant.models.model import Declared
from penchant.output.document import plain
from penchant.workflow.recover import QUANTITIES, Recovery, recover


def run_recover(
    agent: Agent,
    people: People,
    simulated: Simulated,
    regained: Regained,
    written: Written,
) -> int:
    """Simulate, fit, write, print; the exit code."""
    check_level(regained.level)
    check_counts(simulated)
    check_threads(regained.threads)
    weights = prior(regained.prior)
    with kept(written):
        world = world_for(agent, simulated)
        model = model_in(world, agent)
        given = ranges(people.parameters, model)
        say(f"Model: {model}.")
        if Declared(model).locations is not None:
            say(map_words(agent, model.locations))
        found = recover(
            model,
            task_of(world, simulated),
            given,
            n_subjects=simulated.subjects or PEOPLE,
            rng=np.random.default_rng(simulated.seed),
            parameter_prior=weights,
            level=regained.level,
            intervals=regained.intervals,
            threads=regained.threads,
        )
        result = of_table(
            found.table(), lambda: _document(found), lambda: found.subjects("pyarrow")
        )
        shown(result, written, lambda: recovery_figure(found))
    return 0


def _document(found: Recovery) -> dict[str, Any]:
    return {
        "format": "penchant-recovery",
        "version": 1,
        "model": str(found.model),
        "n_subjects": found.n_subjects,
        "statuses": found.counts(),
        "level": found.level,
        "intervals": found.intervals,
        "parameters": [
            {"name": p.name, **{q: plain(getattr(p, q)) for q in QUANTITIES}}
            for p in found.parameters
        ],
    }


def recovery_figure(found: Recovery) -> Any:
    """Estimated against true values of every parameter that varies."""
    n = len(found.parameters)
    drawn = figure(columns=2 if n > 1 else 1, height=3.4 * ((n + 1) // 2) if n > 1 else 3.4)
    axes = np.atleast_1d(drawn.subplots((n + 1) // 2, min(n, 2))).ravel()
    for one, p in zip(axes, found.parameters, strict=False):
        recovery(one, p.true, p.estimated, p.interval, name=p.name, logarithmic=p.positive)
    for spare in axes[n:]:
        spare.remove()
    return drawn
