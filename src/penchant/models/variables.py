"""What the variables of many models have in common: their arrays, and controls beside learning.

Controls say what a player does whatever was learnt: repeat the last choice (stickiness), or prefer
an option for itself (bias). Each is a column, so that adding one keeps a model linear.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError
from penchant.models._kernels import last_choice
from penchant.models.model import Natural
from penchant.models.record import Record


def blank_variables(
    record: Record, which: IntVector, n_options: int, n_weights: int, n_slopes: int
) -> tuple[Matrix, Matrix]:
    """Zeros for the variables of some episodes, and for their derivatives."""
    record.check_options(n_options)
    shape = (int(record.lengths(which).sum()), n_options, n_weights)
    return np.zeros(shape), np.zeros((n_slopes, *shape))


def control_names(n_options: int, stickiness: bool, bias: bool) -> tuple[str, ...]:
    """Names of the controls' weights; the last option has no bias."""
    return (("stickiness",) if stickiness else ()) + (bias_names(n_options) if bias else ())


def bias_names(n_options: int) -> tuple[str, ...]:
    """bias_0, bias_1 ... of all options but the last, which the others are compared with."""
    return tuple(f"bias_{i}" for i in range(n_options - 1))


def fill_controls(
    record: Record, which: IntVector, x: Matrix, stickiness: bool, bias: bool
) -> None:
    """Fill the last columns: 1 for the last choice made; 1 for each option but the last."""
    n_biases = x.shape[1] - 1 if bias else 0
    first = x.shape[2] - n_biases
    if stickiness:
        last_choice(record.chosen, record.is_choice, record.starts, which, first - 1, x)
    if bias:
        x[:, :, first:] = np.eye(x.shape[1])[:, :-1]


def in_units_of_temperature(weights: tuple[str, ...]) -> list[Natural]:
    """tau, and the natural parameter of every weight after the first, 1/tau.

    A weight called name/temperature stands for the ratio to 1/tau; others for themselves.
    """
    found = [Natural("temperature", "reciprocal", 0)]
    for a, weight in enumerate(weights[1:], start=1):
        name = weight.removesuffix("/temperature")
        ratio = name != weight
        found.append(Natural(name, "ratio", a, 0) if ratio else Natural(name, "weight", a))
    return found


def known_number(value: object, name: str, advice: str) -> None:
    """Refuse what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise DataError(f"{name} must be a number; got {value!r}. {advice}")
    if not np.isfinite(value):
        raise DataError(f"{name} must be finite; got {value}. {advice}")
