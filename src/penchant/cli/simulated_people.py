"""People to be simulated, as the command line describes them: a task, and ranges of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penchant.bandit.landscape import Landscape
from penchant.cli.checking_usage import check_seed
from penchant.cli.model_settings import model_named
from penchant.cli.offers import load_offers
from penchant.cli.options import Agent
from penchant.cli.options import World as PlayedWorld
from penchant.cli.refusing import refuse
from penchant.cli.simulating import landscape_of, model_of
from penchant.cli.workflow_options import Simulated
from penchant.errors import DataError, nearest
from penchant.models.catalogue import entry_of
from penchant.models.model import natural_parameters
from penchant.models.trials import Trials
from penchant.study.task import Task

PEOPLE, DECISIONS = 100, 100  # simulated where nobody says how many
OF_OFFERS = {"offers_from", "example", "offers"}

World = Landscape | list[Trials]


def world_for(agent: Agent, simulated: Simulated) -> World:
    """What the options pay, or what is offered."""
    if agent.model is not None and entry_of(agent.model).data == "trials":
        return _offers_for(agent, simulated)
    refuse(simulated, "with models of play", "They learn from rewards", names=OF_OFFERS)
    return landscape_of(agent, PlayedWorld(landscape=simulated.landscape, means=simulated.means))


def _offers_for(agent: Agent, simulated: Simulated) -> list[Trials]:
    named = f"with --model {agent.model}"
    refuse(simulated, named, "It is about offers, not rewards", names={"landscape", "means"})
    refuse(agent, named, names={"grid", "locations", "noise_variance"})
    if (simulated.offers_from is None) == (simulated.example is None):
        got = "neither" if simulated.example is None else "both"
        raise DataError(
            f"--offers-from or --example must be given {named}; got {got}. Name a table of "
            "decisions whose offers people shall have, or try --example delays."
        )
    return load_offers(simulated.offers_from, simulated.example, simulated.offers)


def model_in(world: World, agent: Agent) -> Any:
    """How people decide, for the options of the world."""
    if isinstance(world, Landscape):
        return model_of(agent, world)
    assert agent.model is not None
    if entry_of(agent.model).data != "trials":
        raise DataError(
            f"--model must be one of offers, as the first one is; got {agent.model}, which is for "
            "histories of play. penchant models lists both."
        )
    return model_named(agent, 0)


def task_of(world: World, simulated: Simulated) -> Task:
    """What people do."""
    if isinstance(world, Landscape):
        return Task(world, simulated.decisions or DECISIONS, simulated.blocks)
    return Task(world, simulated.decisions, simulated.blocks)


def check_counts(simulated: Simulated) -> None:
    """Refuse nobody, nothing to do, and randomness that could not be had again."""
    check_seed(simulated.seed)
    for name in ("decisions", "blocks", "subjects"):
        count = getattr(simulated, name)
        if count is not None and count < 1:
            raise DataError(f"--{name} must be at least 1; got {count}. Correct it.")


def ranges(words: Sequence[str], model: Any) -> dict[str, Any]:
    """Numbers and ranges by name, of all natural parameters."""
    found = some_ranges(words, model, "--parameters")
    wanted = [natural.name for natural in natural_parameters(model)]
    missing = [name for name in wanted if name not in found and name != "implied_noise_sd"]
    if missing:
        raise DataError(
            f"--parameters must hold {', '.join(wanted)}; got none for {', '.join(missing)}. "
            f"Add {','.join(f'{name}=LOW:HIGH' for name in missing)}."
        )
    return found


def some_ranges(words: Sequence[str], model: Any, option: str) -> dict[str, Any]:
    """Numbers and ranges by name, of some natural parameters."""
    wanted = [natural.name for natural in natural_parameters(model)]
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in wanted:
            raise DataError(
                f"{option} must name {', '.join(wanted)}; got {word!r}."
                f"{nearest(name, wanted) or ' Write NAME=VALUE or NAME=LOW:HIGH.'}"
            )
        if name in found:
            raise DataError(f"{option} must name {name} once; got it twice. Drop one.")
        numbers = tuple(map(number_or_none, value.split(":")))
        if None in numbers or len(numbers) > 2:
            raise DataError(
                f"{option} must give {name} a number or a range; got {word!r}. "
                f"Write {name}=VALUE or {name}=LOW:HIGH."
            )
        found[name] = numbers[0] if len(numbers) == 1 else numbers
    return found


def number_or_none(word: str) -> float | None:
    """The number that a word is, if it is one."""
    try:
        return float(word)
    except ValueError:
        return None
