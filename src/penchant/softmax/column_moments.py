"""Moments of decisions whose variables stand in columns, each read once and copied nowhere."""

from __future__ import annotations

import numpy as np

from penchant._typing import Vector
from penchant.choices.chunks import ChoiceColumns
from penchant.softmax import _column_kernels as kernels
from penchant.softmax._lanes import LANES, kind_of
from penchant.softmax.likelihood import (
    Moments,
    block_rows,
    by_size,
    locked,
    moments_from,
    n_moments,
    rooms_for,
    vectors,
)


def column_moments(
    choices: ChoiceColumns, theta: Vector, limits: Vector | None = None
) -> tuple[Moments, float]:
    """Log-likelihood, gradient and information, Eq. (5), as `PackedLikelihood` has them.

    Parameters
    ----------
    limits
        What a variable's difference from the chosen option's is small up to; None where the weight
        of such decisions, which is returned, too, is not asked for.
    """
    n_rows = np.diff(choices.first_row) - 1
    order = by_size(n_rows)
    if choices.weights is not None and not choices.weights.all():
        order = order[choices.weights[order] > 0]
    rows = block_rows(n_rows, order, np.arange(0, len(order), LANES))
    d, has_offset = len(choices.variables), choices.offset is not None
    columns = [*choices.variables, *([] if choices.offset is None else [choices.offset])]
    columns = [np.ascontiguousarray(column, dtype=np.float64) for column in columns]
    addresses = np.array([column.ctypes.data for column in columns], dtype=np.int64)
    most = max(int(rows[-1]), 1) if len(rows) else 1  # decisions are in order of size
    places = (
        np.empty((most, LANES), dtype=np.int64),
        np.empty(LANES, dtype=np.int64),
        vectors(2).reshape(1, 2 * LANES),
        vectors(most * len(columns)),
    )
    full = np.append(theta, 1.0) if has_offset else np.array(theta)
    rooms = rooms_for(most, max(len(rows), 1), d)
    sums = np.empty(n_moments(d))
    weights = np.empty(0) if choices.weights is None else choices.weights
    small = kernels.sum_columns(
        addresses,
        locked((choices.first_row, choices.chosen, weights)),
        order,
        rows,
        kind_of(d, has_offset),
        full,
        np.empty(0) if limits is None else np.array(limits),
        places,
        rooms,
        sums,
    )
    return moments_from(sums, d), float(small)
