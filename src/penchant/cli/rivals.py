"""Models as `compare` spells them, NAME:SETTINGS, and the data that they share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from penchant.cli.fitting import model_for, ready_model
from penchant.cli.naming import is_scanned
from penchant.cli.options import Agent, Data, History
from penchant.cli.people import check_people, scanned
from penchant.cli.settings import PLACES, TAKEN, model_named
from penchant.cli.tables import load_offers, load_play
from penchant.cli.workflow_options import Rivals
from penchant.errors import DataError
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.reading.played import event_labels
from penchant.tables.reading import Reading

SHARED = ("grid", "locations", "noise_variance", "length_scale")
OF_UCL = {*PLACES, "noise_variance", "length_scale"}
GAMBLES = ("expected-utility", "prospect")
SETTINGS_OF_UCL = ("kernel", "cooling", "bonus")  # options of their own elsewhere


@dataclass(frozen=True)
class Contenders:
    """Models by name, and the choices that they explain.

    Attributes
    ----------
    models
        By what was typed.
    data
        Choices of all subjects; a scan, where they are in several files.
    reading
        The table that they come from; None for several files.
    """

    models: dict[str, Any]
    data: Any
    reading: Reading | None


def contenders(
    file: str | None, data: Data, history: History, rivals: Rivals, *, alone: bool = False
) -> Contenders:
    """Read the table and make the models for it; one model will do where it may stand alone."""
    agents = rival_agents(rivals, alone=alone)
    kinds = {entry_of(str(agent.model)).data for agent in agents.values()}
    if len(kinds) > 1:
        raise DataError(
            "--model must be all of play, or all of offers; got both. Compare those of one kind: "
            "penchant models lists them."
        )
    if file is not None and is_scanned(file, play=True):
        every = {name: scanned(file, data, history, agent) for name, agent in agents.items()}
        found = next(iter(every.values()))
        check_people(found)
        return Contenders({name: one.model for name, one in every.items()}, found.scan, None)
    if kinds == {"offers"}:
        models = {name: model_named(agent, 0) for name, agent in agents.items()}
        offered = load_offers(file, data, history, next(iter(agents)))
        return Contenders(models, offered.data, offered)
    ready = {name: ready_model(agent, data, history) for name, agent in agents.items()}
    places = next((m.locations for m in ready.values() if Declared(m).locations is not None), None)
    counted = any(model is None for model in ready.values())
    reading = load_play(file, data, history, places, is_counted=counted)
    return Contenders(_models(agents, ready, reading), reading.data, reading)


def _models(agents: dict[str, Agent], ready: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """The models for these data; assumptions about the options are reported once."""
    found: dict[str, Any] = {}
    said: set[str] = set()
    for name, agent in agents.items():
        model = ready[name]
        placed = Declared(model).locations is not None
        kind = "counted" if model is None else "placed" if placed else "own"
        if kind == "counted" and kind in said:
            found[name] = model_named(agent, reading.n_options)
        elif kind == "placed" and kind in said:
            found[name] = model
        else:
            found[name] = model_for(model, reading, agent)
        said.add(kind)
    sizes = {name: model.n_options for name, model in found.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise DataError(
            f"--model must be of the same options; got {told}. Give --options for those that count."
        )
    return found


def refuse_one_alone(rivals: Rivals) -> None:
    """One model is not compared, whatever the table is."""
    if len(rivals.model) == 1:
        raise DataError(
            f"--model must be given twice or more; got {rivals.model[0]} alone. "
            f"{_rival(rivals.model[0])}; or use penchant fit for one model, and --group to compare "
            "groups under it."
        )


def rival_agents(
    rivals: Rivals, of_the_task: Collection[str] = (), *, alone: bool = False
) -> dict[str, Agent]:
    """What `fit` would be told of each model, by what was typed.

    Parameters
    ----------
    rivals
        The models.
    of_the_task
        Options that say something of the task, too: no model need take them.
    alone
        One model will do.
    """
    if not rivals.model:
        raise DataError(
            "--model must be given, once for each model; got none. "
            "Try --model q-learning --model random."
        )
    if not alone:
        refuse_one_alone(rivals)
    found: dict[str, Agent] = {}
    used: set[str] = set(of_the_task)
    for words in rivals.model:
        if words in found:
            raise DataError(f"--model must name each model once; got {words} twice. Drop one.")
        name, _, settings = words.partition(":")
        taken = OF_UCL if name == "ucl" else TAKEN.get(entry_of(name).name, set())
        given = {option: getattr(rivals, option) for option in SHARED if option in taken}
        used |= taken
        found[words] = _agent(name, [part for part in settings.split(",") if part], given)
    for option in SHARED:
        if getattr(rivals, option) is not None and option not in used:
            raise DataError(
                f"--{option.replace('_', '-')} must be left out with these models; got "
                f"{getattr(rivals, option)}. None of them takes it."
            )
    return found


def _rival(words: str) -> str:
    """A model to compare this one with: one that learns nothing, or another of its kind."""
    name = words.partition(":")[0]
    if entry_of(name).data == "offers":
        kin = ("hyperbolic", "exponential")
        kin = kin if name in (*kin, "quasi-hyperbolic", "constant-sensitivity") else GAMBLES
        return f"Add another, such as --model {next(other for other in kin if other != name)}"
    if name == "random":
        return "Add another, such as --model q-learning"
    return "Add another, such as --model random, which learns nothing"


def _agent(name: str, settings: list[str], given: dict[str, Any]) -> Agent:
    """What `fit` would be told of one model."""
    if name == "ucl":
        for word in list(settings):
            setting, _, value = word.partition("=")
            if setting in SETTINGS_OF_UCL:
                given[setting] = value
                settings.remove(word)
    return Agent(model=name, settings=settings, **given)  # type: ignore[arg-type]  # checked


def fold_labels(reading: Reading | None, column: str) -> list[Any]:
    """The fold of every event, by a column of the table."""
    if reading is None or reading.kind != "play":
        raise DataError(
            f"--folds must be a number or block for choices among offers; got {column!r}. "
            "Try --folds 5."
        )
    if column not in reading.table.column_names:
        raise DataError(
            f"--folds must be a number, block, or a column; got {column!r}, but the columns are "
            f"{', '.join(reading.table.column_names)}. Correct it."
        )
    return event_labels(reading, column)
