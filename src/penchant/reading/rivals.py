"""Sets of attributes that are compared: read once, with the variables of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penchant.choices import Choices
from penchant.errors import DataError
from penchant.models.offers.attributes import Attributes
from penchant.reading.read import reading_of
from penchant.tables.reading import TITLES, Reading
from penchant.wording import either

CONSTANTS = "1"  # the formula of options that differ by nothing but themselves
Attributed = str | Sequence[str] | Attributes


def is_set(model: Any) -> bool:
    """Whether a model is a set of attributes: a formula, a list of names, or `Attributes`."""
    listed = isinstance(model, Sequence) and all(isinstance(name, str) for name in model)
    return listed or isinstance(model, Attributes)


def rival_sets(
    data: Reading | Choices, models: Mapping[str, Attributed]
) -> tuple[Choices, dict[str, Attributes]]:
    """The decisions with the variables of every set, and which variables each set has.

    Parameters
    ----------
    data
        A choice experiment, as `read` returned it, whose sets may be formulas; or its choices,
        whose sets are names of variables.
    models
        {name: attributes}; "all" stands for all that tell options apart, "1" for constants alone.
    """
    if isinstance(data, Reading) and not all(isinstance(m, Attributes) for m in models.values()):
        again = read_rivals(data, {name: _given(model) for name, model in models.items()})
        own: Mapping[str, Sequence[str]] = again.arguments["sets"]
        return again.data, {name: Attributes(tuple(names)) for name, names in own.items()}
    choices: Choices = data.data if isinstance(data, Reading) else data
    named = {name: _names(model, choices.names) for name, model in models.items()}
    return choices, {name: Attributes(names) for name, names in named.items()}


def read_rivals(reading: Reading, formulas: Mapping[str, str | Sequence[str]]) -> Reading:
    """The same choice experiment, with the variables of every set in `formulas`."""
    if reading.kind != "choices" or reading.raw is None or reading.asked is None:
        raise DataError(
            f"{either('data', 'FILE')} must hold {TITLES['choices']} for sets of attributes; got "
            f"{TITLES[reading.kind]}. Give models instead."
        )
    asked, where = reading.asked
    told = replace(asked, attributes=None, rivals=dict(formulas))
    return reading_of(reading.raw, told, where=where, kind="choices")


def _given(model: Attributed) -> str | Sequence[str]:
    """A set as `read` is asked for it."""
    return tuple(model.attributes) if isinstance(model, Attributes) else model


def _names(model: Attributed, known: Sequence[str]) -> tuple[str, ...]:
    """Names of variables, for choices that are variables already."""
    given = _given(model)
    if given == "all":
        return tuple(known)
    names = (given,) if isinstance(given, str) else tuple(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DataError(
            f"models must be names of the variables of these choices; got {unknown[0]!r}, but they "
            f"are {', '.join(known)}. Formulas are for what `read` returns."
        )
    return names
