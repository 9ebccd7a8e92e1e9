"""Columns beside what is learnt, so that a model that has them stays linear.

Controls: to repeat the last choice (stickiness), and to prefer an option for itself (bias). Initial
values that are estimated have a column of their own, too.
"""

from __future__ import annotations

import numpy as np

from penchant._numba_cache import njit
from penchant._typing import IntVector, Matrix, Vector
from penchant.models.record import Record


def control_names(n_options: int, stickiness: bool, bias: bool) -> tuple[str, ...]:
    """Names of the controls' weights; the last option has no bias."""
    return (("stickiness",) if stickiness else ()) + (bias_names(n_options) if bias else ())


def control_words(stickiness: bool, bias: bool) -> tuple[str, ...]:
    """The controls in words."""
    return (("stickiness",) if stickiness else ()) + (("option bias",) if bias else ())


def bias_names(n_options: int) -> tuple[str, ...]:
    """bias_0, bias_1 ... of all options but the last, which the others are compared with."""
    return tuple(f"bias_{i}" for i in range(n_options - 1))


def fill_controls(
    record: Record, which: IntVector, x: Matrix, stickiness: bool, bias: bool
) -> None:
    """Fill the last columns: 1 for the last choice made; 1 for each option but the last."""
    if stickiness:
        column = _stickiness_column(x, bias)
        _mark_last_choice(record.chosen, record.is_choice, record.starts, which, column, x)
    if bias:
        _fill_biases(x)


@njit(cache=True, nogil=True, error_model="numpy")
def _mark_last_choice(chosen, is_choice, starts, which, column, x):  # type: ignore[no-untyped-def]
    row = 0
    for k in range(len(which)):
        last = -1
        for t in range(starts[which[k]], starts[which[k] + 1]):
            if last >= 0:
                x[row, last, column] = 1.0
            row += 1
            if is_choice[t] and chosen[t] >= 0:
                last = chosen[t]


def fill_agents_controls(x: Matrix, last: IntVector, stickiness: bool, bias: bool) -> None:
    """Fill the last columns of agents whose last choices are these, -1 before the first."""
    if stickiness:
        made = np.flatnonzero(last >= 0)
        x[made, last[made], _stickiness_column(x, bias)] = 1.0
    if bias:
        _fill_biases(x)


def _stickiness_column(x: Matrix, bias: bool) -> int:
    _, n_options, n_weights = x.shape
    return int(n_weights - (n_options if bias else 1))


def _fill_biases(x: Matrix) -> None:
    x[:, :, 1 - x.shape[1] :] = np.eye(x.shape[1])[:, :-1]


def with_starts(weights: tuple[str, ...], x: Matrix, theta: Vector, *starts: str) -> Matrix:
    """The first variable, with what each start that is estimated adds, in units of rewards."""
    value = x[:, :, 0].copy()
    for name in starts:
        if f"{name}/temperature" in weights:
            column = weights.index(f"{name}/temperature")
            value += theta[column] / theta[0] * x[:, :, column]
    return np.asarray(value)
