"""Data and models that calls take, and what to write where they are given something else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from penchant.choices import Choices
from penchant.choices.offers import offers_of_choices
from penchant.errors import DataError
from penchant.models.model import Declared, Model
from penchant.tables.reading import Reading

HISTORY = ("scored_options", "n_events")


def is_history(data: Any) -> bool:
    """Whether a model can describe it: an episode, or static decisions."""
    kind = type(data)  # whose properties need not be worked out
    return all(hasattr(kind, name) or hasattr(data, name) for name in HISTORY)


def data_of(given: Any) -> Any:
    """The data of a reading; anything else as it is."""
    return given.data if isinstance(given, Reading) else given


def refuse_no_model(model: Any) -> None:
    """Say what to write where a name or a class stands for a model."""
    if isinstance(model, str):
        known = import_module("penchant.models.catalogue").CATALOGUE
        entry = known.get(model) or known.get(model.lower().replace("_", "-").replace(" ", "-"))
        written = "pn.QLearning(n_options=2)" if entry is None else _call(entry.model)
        raise DataError(
            "model", "must be a model, not its name", got=repr(model), fix=f"Write model={written}."
        )
    if isinstance(model, type):
        raise DataError(
            "model",
            "must be a model, not its class",
            got=model.__name__,
            fix=f"Write model={_call(model)}.",
        )
    if model is not None and not isinstance(model, Model):
        raise DataError(
            "model",
            "must be a model",
            got=type(model).__name__,
            fix="Write model=pn.QLearning(n_options=2), or another of pn.models.",
        )


def needs_model(given: Any) -> DataError:
    """The error for data that a model has to explain, with what to write."""
    advice = "Pass UCL(...) or QLearning(...)."
    if isinstance(given, Reading):
        advice = f"Write {given.next}, or another model of pn.models."
    return DataError("model", "must be given with episodes", got="none", fix=advice)


def _call(kind: type) -> str:
    """Python expression that makes a model of a class with its required arguments."""
    at_top = kind.__name__ in ("UCL", "QLearning", "KalmanFilter", "HyperbolicDiscounting", "GPUCB")
    needed = {"n_options": "n_options=2", "locations": "locations=pn.grid(10, 10)"}
    own = getattr(kind, "__dataclass_fields__", {})
    said = ", ".join(words for name, words in needed.items() if name in own)
    return f"pn.{'' if at_top else 'models.'}{kind.__name__}({said})"


def refuse_word(prior: Any) -> None:
    """Say what to write where a word, a number or a class stands for a prior."""
    weak = "Write parameter_prior=pn.ScaledPrior() for a weak one, or None for maximum likelihood."
    if isinstance(prior, str):
        raise DataError("parameter_prior", "must be a prior, not a word", got=repr(prior), fix=weak)
    if isinstance(prior, type):
        raise DataError(
            "parameter_prior",
            "must be a prior, not its class",
            got=prior.__name__,
            fix=f"Write parameter_prior=pn.{prior.__name__}(...).",
        )
    if isinstance(prior, (int, float, Mapping, list, tuple)):
        raise DataError("parameter_prior", "must be a prior", got=repr(prior), fix=weak)


def as_described(data: Any, model: Model | None) -> Any:
    """A choice experiment as offers where a model of attributes is given; other data as they are.

    Choices need no model: one of their attributes says what these are worth.
    """
    refuse_no_model(model)
    describes = model is not None and bool(Declared(model).attributes)
    return as_episodes(data) if describes and isinstance(data, Choices) else data


def as_episodes(episodes: Any) -> tuple[Any, ...]:
    """Convert the argument `episodes` (one history or several) to a tuple of histories.

    What `read` returns is taken, too, and a choice experiment, whose variables are attributes.
    """
    episodes = data_of(episodes)
    if isinstance(episodes, Choices):
        return tuple(offers_of_choices(episodes))
    named = isinstance(episodes, (str, os.PathLike))
    if named or not (is_history(episodes) or isinstance(episodes, Sequence)):
        raise DataError(
            "episodes",
            "must be an Episode or some of them",
            got=type(episodes).__name__,
            fix="Read a table first: pn.read(table)."
            if named or hasattr(episodes, "columns")
            else "Make them with Episode(chosen, rewards).",
        )
    found = (episodes,) if is_history(episodes) else tuple(episodes)
    if not found or not all(is_history(e) for e in found):
        raise DataError(
            "episodes",
            "must be an Episode or some of them",
            got=f"{type(episodes).__name__} with {len(found)} entries",
            fix="Make them with Episode(chosen, rewards).",
        )
    return found
