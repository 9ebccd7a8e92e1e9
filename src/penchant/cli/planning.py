"""What `recover`, `distinguish` and `design` do: simulate people, call one function, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant.arguments import check_level, check_threads
from penchant.cli.model import prior
from penchant.cli.options import Agent, parts_of
from penchant.cli.places import map_words
from penchant.cli.rivals import rival_agents
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
from penchant.cli.words import check_criterion, refuse, say
from penchant.cli.workflow_options import (
    Goal,
    Judged,
    People,
    PeopleOfEach,
    Regained,
    Rivals,
    Simulated,
    Written,
)
from penchant.errors import DataError
from penchant.figures.results import overview
from penchant.models.model import Declared
from penchant.workflow.design import Differ, Narrow, design
from penchant.workflow.recover import recover
from penchant.workflow.recover_models import recover_models

NONE_FOUND = 1
OF_WIDTH, OF_AGAINST = {"relative", "share"}, {"tested", "power", "alpha"}


def run_recover(
    agent: Agent, people: People, simulated: Simulated, regained: Regained, written: Written
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
        result = of_table(found.table(), found.document, lambda: found.subjects("pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0


def run_distinguish(
    rivals: Rivals, people: PeopleOfEach, simulated: Simulated, judged: Judged, written: Written
) -> int:
    """Simulate, fit, write, print; the exit code."""
    agents = rival_agents(rivals, of_the_task={"grid", "noise_variance"})
    _check_pairs(list(agents), people.parameters)
    check_counts(simulated)
    check_threads(judged.threads)
    check_criterion(judged.criterion, judged.folds)
    weights, folds = prior(judged.prior), _folds(judged.folds)
    criterion: Any = judged.criterion and judged.criterion.replace("-", "_")
    with kept(written):
        noise = rivals.noise_variance  # of the task, which some models know
        first = next(iter(agents.values())).model
        world = world_for(Agent(model=first, grid=rivals.grid, noise_variance=noise), simulated)
        models = {
            name: model_in(world, replace(agent, noise_variance=noise))
            for name, agent in agents.items()
        }
        given = {
            name: _ranges(name, words, model)
            for (name, model), words in zip(models.items(), people.parameters, strict=True)
        }
        for name, model in models.items():
            say(f"Model: {name}: {model}.")
        found = recover_models(
            models,
            task_of(world, simulated),
            given,
            n_subjects=simulated.subjects or PEOPLE,
            rng=np.random.default_rng(simulated.seed),
            criterion=criterion,
            folds=folds,
            parameter_prior=weights,
            threads=judged.threads,
        )
        result = of_table(found.table(), found.document, lambda: found.to_frame("pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0


def _folds(words: str | None) -> Any:
    if words is None or words == "block":
        return words
    if not words.strip().isdigit():
        raise DataError(
            f"--folds must be a number or block for simulated people; got {words!r}. Try --folds 5."
        )
    return int(words)


def _check_pairs(models: Sequence[str], parameters: Sequence[str]) -> None:
    """Every model has parameters of its own."""
    if len(models) != len(parameters):
        raise DataError(
            "--parameters must be given once for each --model, in the same order; got "
            f"{len(parameters)} for {', '.join(models)}. Put one after each --model."
        )


def _ranges(name: str, words: str, model: Any) -> dict[str, Any]:
    try:
        return ranges(parts_of(words), model)
    except DataError as error:
        raise DataError(f"--model {name}: {error}") from None


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
    weights = prior(regained.prior)
    _check_goal(goal, simulated, regained)
    with kept(written):
        world = world_for(agent, simulated)
        model = model_in(world, agent)
        given = ranges(people.parameters, model)
        task = task_of(world, simulated)
        say(f"Model: {model}.")
        found = design(
            model,
            task,
            given,
            goal=_narrow(goal, regained) if goal.width is not None else _differ(goal, model),
            n_subjects=simulated.subjects,
            parameter_prior=weights,
            rng=np.random.default_rng(simulated.seed),
            threads=regained.threads,
        )
        result = of_table(found.table(), found.document, lambda: found.to_frame("pyarrow"))
        shown(result, written, lambda: overview(found))
    return NONE_FOUND if found.needed is None else 0


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


def _narrow(goal: Goal, regained: Regained) -> Narrow:
    name, _, value = (part.strip() for part in str(goal.width).partition("="))
    width = number_or_none(value)
    if width is None:
        raise DataError(
            f"--width must be NAME=WIDTH; got {goal.width!r}. Try --width learning_rate=0.2."
        )
    most = goal.most or Narrow.most
    return Narrow(
        name,
        width,
        relative=goal.relative,
        share=goal.share,
        level=regained.level,
        intervals=regained.intervals,
        first=min(Narrow.first, most),
        most=most,
    )


def _differ(goal: Goal, model: Any) -> Differ:
    differs = some_ranges(goal.against, model, "--against")
    if goal.tested is None and len(differs) > 1:
        raise DataError(
            f"--tested must be given where groups differ in {' and '.join(differs)}; got none. "
            f"Say which difference shall be found: --tested {next(iter(differs))}."
        )
    most = goal.most or Differ.most
    return Differ(differs, goal.tested, power=goal.power, alpha=goal.alpha, most=most)
