"""People to be simulated, as the command line describes them: a task, and ranges of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penchant.bandit.landscape import Landscape
from penchant.cli.checking_usage import check_seed
from penchant.cli.options import Agent, World
from penchant.cli.simulating import landscape_of
from penchant.cli.workflow_options import Simulated
from penchant.errors import DataError, nearest
from penchant.models.model import natural_parameters
from penchant.study.task import Task

PEOPLE = 100  # simulated where nobody says how many


def landscape_for(agent: Agent, simulated: Simulated) -> Landscape:
    """What the options pay."""
    return landscape_of(agent, World(landscape=simulated.landscape, means=simulated.means))


def task_of(landscape: Landscape, simulated: Simulated) -> Task:
    """What people do."""
    return Task(landscape, simulated.decisions, simulated.blocks)


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
