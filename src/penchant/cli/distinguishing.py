"""What `distinguish` does: simulate people of every model, fit all, show which one is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant.cli.model import prior
from penchant.cli.options import Agent, parts_of
from penchant.cli.rivals import rival_agents
from penchant.cli.showing import kept, of_table, shown
from penchant.cli.simulating import (
    PEOPLE,
    SimulatedWorld,
    check_counts,
    model_in,
    ranges,
    task_of,
    world_for,
)
from penchant.cli.words import check_criterion, check_threads, say
from penchant.cli.workflow_options import Judged, PeopleOfEach, Rivals, Simulated, Written
from penchant.errors import DataError
from penchant.figures.recovery import confusion
from penchant.figures.style import figure, heading
from penchant.output.document import plain
from penchant.workflow.recover_models import ModelRecovery, recover_models


def run_distinguish(
    rivals: Rivals,
    people: PeopleOfEach,
    simulated: Simulated,
    judged: Judged,
    written: Written,
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
        shared = Agent(
            model=next(iter(agents.values())).model,
            grid=rivals.grid,
            noise_variance=rivals.noise_variance,
        )
        world = world_for(shared, simulated)
        models = {name: _model(agent, world, shared) for name, agent in agents.items()}
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
        result = of_table(
            found.table(), lambda: _document(found), lambda: found.to_frame("pyarrow")
        )
        shown(result, written, lambda: distinguished_figure(found))
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


def _model(agent: Agent, world: SimulatedWorld, shared: Agent) -> Any:
    """A model for the options of the task, whose noise it knows if it is one that does."""
    return model_in(world, replace(agent, noise_variance=shared.noise_variance))


def _ranges(name: str, words: str, model: Any) -> dict[str, Any]:
    try:
        return ranges(parts_of(words), model)
    except DataError as error:
        raise DataError(f"--model {name}: {error}") from None


def _document(found: ModelRecovery) -> dict[str, Any]:
    return {
        "format": "penchant-model-recovery",
        "version": 1,
        "models": list(found.names),
        "criterion": found.criterion,
        "n_simulated": (found.n_simulated + found.undecided).tolist(),
        "undecided": found.undecided.tolist(),
        "counts": found.counts.tolist(),
        "confusion": plain(found.confusion),
        "standard_errors": plain(found.standard_errors),
        "inversion": plain(found.inversion),
    }


def distinguished_figure(found: ModelRecovery) -> Any:
    """The confusion matrix, and the inversion matrix beside it."""
    drawn = figure(columns=2)
    left, right = drawn.subplots(1, 2)
    confusion(left, found.confusion, found.names, counts=found.n_simulated)
    confusion(right, found.inversion, found.names)
    heading(left, "p(found | simulated)")
    heading(right, "p(simulated | found)")
    return drawn
