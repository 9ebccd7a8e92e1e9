"""Models of the catalogue as the command line spells them: --model NAME --settings a=1,b,c=free."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from penchant.cli.agent import locations
from penchant.cli.options import Agent
from penchant.cli.refusing import refuse
from penchant.cli.settings import made, refuse_twice, settings
from penchant.errors import DataError
from penchant.models.catalogue import Entry, entry_of

# Options of their own that a model takes, beside --settings.
PLACES = {"grid", "locations"}
TAKEN = {
    "ucl": {*PLACES, "noise_variance", "length_scale", "kernel", "cooling", "bonus", "clock"},
    "q-learning": {"initial_value"},
    "ucb1": {"initial_value"},
    "kalman": {"noise_variance"},
    "hybrid": {"noise_variance"},
    "gp-ucb": {*PLACES, "length_scale"},
    "locality": PLACES,
}


def model_named(agent: Agent, n_options: int) -> Any:
    """The model that is asked for, but ucl, with as many options.

    Parameters
    ----------
    agent
        Name, settings and other options of the command line.
    n_options
        How many options there are, where the model does not say it itself.
    """
    assert agent.model is not None
    entry = entry_of(agent.model)
    taken = TAKEN.get(entry.name, set())
    every = {option.name for option in fields(agent)} - {"model", "settings"}
    refuse(agent, f"with --model {entry.name}", _advice(entry), names=every - taken)
    given = settings(agent.settings, entry)
    for name in sorted(taken - PLACES):
        value = getattr(agent, name)
        if value is not None and value != getattr(Agent(), name):
            refuse_twice(name, given)
            _check_finite(name, value)
            given[name] = value
    if taken & PLACES:
        given["locations"] = locations(agent)
    if counts_options(agent):
        if n_options < 2:
            raise DataError(
                f"--options must be at least 2; got {n_options}. Say how many could be chosen."
            )
        given["n_options"] = n_options
    return made(entry, given, agent.settings)


def counts_options(agent: Agent) -> bool:
    """Whether the data, or --options, say how many options the model has."""
    assert agent.model is not None
    return "n_options" in {field.name for field in fields(entry_of(agent.model).model)}


def _check_finite(name: str, value: float) -> None:
    if not np.isfinite(value):
        raise DataError(f"--{name.replace('_', '-')} must be finite; got {value}. Correct it.")


def _advice(entry: Entry) -> str:
    return f"See penchant models {entry.name} for its settings"
