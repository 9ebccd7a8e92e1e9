"""What `design` does: simulate more and more, show how much data reach the goal."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant.arguments import check_level
from penchant.cli.model import prior
from penchant.cli.options import Agent
from penchant.cli.showing import kept, of_table, shown
from penchant.cli.simulating import (
    PEOPLE,
    check_counts,
    model_in,
    number_or_none,
    ranges,
    some_ranges,
    task_of,
    world_for,
)
from penchant.cli.words import check_threads, refuse, say
from penchant.cli.workflow_options import Goal, People, Regained, Simulated, Written
from penchant.errors import DataError
from penchant.figures.recovery import data_needed
from penchant.figures.style import figure
from penchant.models.task import Task
from penchant.output.document import plain
from penchant.workflow.design import Design, Differ, Narrow, design

DONE, NONE_FOUND = 0, 1
OF_WIDTH, OF_AGAINST = {"relative", "share"}, {"tested", "power", "alpha"}


def run_design(
    goal: Goal,
    agent: Agent,
    people: People,
    simulated: Simulated,
    regained: Regained,
    written: Written,
) -> int:
    """Simulate, search, write, print; the exit code."""
    check_level(regained.level)
    check_counts(simulated)
    check_threads(regained.threads)
    prior(regained.prior)
    _check_goal(goal, simulated, regained)
    with kept(written):
        world = world_for(agent, simulated)
        model = model_in(world, agent)
        given = ranges(people.parameters, model)
        task = task_of(world, simulated)
        say(f"Model: {model}.")
        if goal.width is not None:
            found = _decisions(goal, model, task, given, simulated, regained)
        else:
            found = _subjects(goal, model, task, given, simulated, regained)
        result = of_table(
            found.table(), lambda: _document(found), lambda: found.to_frame("pyarrow")
        )
        shown(result, written, lambda: design_figure(found))
    return NONE_FOUND if found.needed is None else DONE


def _check_goal(goal: Goal, simulated: Simulated, regained: Regained) -> None:
    if (goal.width is None) == (not goal.against):
        got = "neither" if goal.width is None else "both"
        raise DataError(
            f"--width or --against must be given; got {got}. Try --width learning_rate=0.2 for "
            "decisions, or --against learning_rate=0.4 for subjects in two groups."
        )
    if goal.width is not None:
        refuse(goal, "with --width", names=OF_AGAINST)
        advice = "How many it takes is what is looked for; --most is the largest number"
        refuse(simulated, "with --width", advice, names={"decisions"})
    else:
        refuse(goal, "with --against", names=OF_WIDTH)
        refuse(regained, "with --against", names={"level", "intervals"})
    if goal.most is not None and goal.most < 2:
        raise DataError(f"--most must be at least 2; got {goal.most}. Correct it.")


def _decisions(
    goal: Goal, model: Any, task: Task, given: Any, simulated: Simulated, regained: Regained
) -> Design:
    name, width = _width(str(goal.width))
    most = goal.most or 6400
    narrow = Narrow(
        name,
        width,
        relative=goal.relative,
        share=goal.share,
        level=regained.level,
        intervals=regained.intervals,
        first=min(25, most),
        most=most,
    )
    return design(
        model,
        task,
        given,
        goal=narrow,
        n_subjects=simulated.subjects or PEOPLE,
        parameter_prior=prior(regained.prior),
        rng=np.random.default_rng(simulated.seed),
        threads=regained.threads,
    )


def _subjects(
    goal: Goal, model: Any, task: Task, given: Any, simulated: Simulated, regained: Regained
) -> Design:
    differs = some_ranges(goal.against, model, "--against")
    if goal.tested is None and len(differs) > 1:
        raise DataError(
            f"--tested must be given where groups differ in {' and '.join(differs)}; got none. "
            f"Say which difference shall be found: --tested {next(iter(differs))}."
        )
    return design(
        model,
        task,
        given,
        goal=Differ(differs, goal.tested, goal.power, goal.alpha, most=goal.most or 1000),
        n_subjects=simulated.subjects,
        parameter_prior=prior(regained.prior),
        rng=np.random.default_rng(simulated.seed),
        threads=regained.threads,
    )


def _width(words: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in words.partition("="))
    width = number_or_none(value)
    if width is None:
        raise DataError(
            f"--width must be NAME=WIDTH; got {words!r}. Try --width learning_rate=0.2."
        )
    return name, width


def _document(found: Design) -> dict[str, Any]:
    return {
        "format": "penchant-design",
        "version": 1,
        "needed": found.needed,
        "unit": found.unit,
        "goal": found.goal,
        "target": found.target,
        "bracket": list(found.bracket),
        "tried": [
            {"n": t.n, "share": t.share, "error": t.error, "typical": plain(t.typical)}
            for t in found.tried
        ],
    }


def design_figure(found: Design) -> Any:
    """Shares that reach the goal at every number tried."""
    drawn = figure(columns=1)
    data_needed(
        drawn.subplots(),
        [t.n for t in found.tried],
        [t.share for t in found.tried],
        errors=[t.error for t in found.tried],
        target=found.target,
        unit=found.unit,
    )
    return drawn
