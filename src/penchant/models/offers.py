"""What is offered: numbers that describe the options of every decision, by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.choices.exact import Place, exact_floats
from penchant.errors import DataError, listing

LARGEST = 1e100
DELAY, PROBABILITY = "delay", "probability"
ROUNDING = 1e-9  # that probabilities written as decimals may be off in their sum


def read_offers(offers: Any, n: int, place: Place) -> dict[str, Matrix]:
    """Attributes of the options, as arrays of their own."""
    if not isinstance(offers, Mapping) or not offers:
        raise DataError(
            "offers must map names of attributes to numbers; got "
            f"{'none' if isinstance(offers, Mapping) else type(offers).__name__}. "
            'Write {"amount": ..., "delay": ...}.'
        )
    found: dict[str, Matrix] = {}
    for name, values in offers.items():
        if not isinstance(name, str) or not name:
            raise DataError(f"offers must be named by text; got {name!r}. Give it a name.")
        found[name] = _attribute(name, values, n, place)
    _check_options_agree(found)
    return found


def _attribute(name: str, values: Any, n: int, place: Place) -> Matrix:
    said = f"offers[{name!r}]"
    try:
        array = np.array(exact_floats(values, said))
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{said} must have as many options in every decision; got rows of different lengths. "
            "Make Trials of decisions with equally many options."
        ) from error
    if array.ndim not in (2, 3) or len(array) != n or 0 in array.shape:
        raise DataError(
            f"{said} must have shape ({n}, n_options), one row per decision, as chosen has, or "
            f"({n}, n_options, n_outcomes); got shape {array.shape}. Stack a column per option."
        )
    with np.errstate(invalid="ignore"):
        _refuse(~(np.abs(array) <= LARGEST), array, said, "be finite, not beyond 1e100", place)
        if name == DELAY:
            _refuse(array < 0, array, said, "not be negative", place)
        if name == PROBABILITY:
            _refuse((array < 0) | (array > 1), array, said, "lie in 0..1", place)
            _check_total(array, said, place)
    return array


def _refuse(wrong: Any, array: Matrix, said: str, rule: str, place: Place) -> None:
    where = np.argwhere(wrong)
    if not len(where):
        return
    cells = (
        f"{array[tuple(at)]:g} at {place(int(at[0]))}, option {int(at[1])}" for at in where[:11]
    )
    raise DataError(
        f"{said} must {rule}; got {listing(cells, len(where))}. Correct these cells, or leave the "
        "decisions out."
    )


def _check_total(array: Matrix, said: str, place: Place) -> None:
    total = array.reshape(*array.shape[:2], -1).sum(axis=2)
    where = np.argwhere(total > 1 + ROUNDING)
    if len(where):
        cells = (f"{total[t, i]:g} at {place(int(t))}, option {int(i)}" for t, i in where[:11])
        raise DataError(
            f"{said} must sum to at most 1 over the outcomes of an option; got "
            f"{listing(cells, len(where))}. Correct them."
        )


def _check_options_agree(found: Mapping[str, Matrix]) -> None:
    sizes = {name: array.shape[1] for name, array in found.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise DataError(
            f"offers must describe the same options by every attribute; got {said}. "
            "Give each attribute one column per option."
        )
