"""Bases of models whose variables come from a compiled loop over events, and how it is run.

A loop writes the variables and, where they are asked for, their derivatives in the shape
parameters: it carries those of all that it knows from event to event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.clinic._kernels import SIDE_BY_SIDE
from penchant.models.record import Record, empty

FEW = 5  # pairs, of which fewer are unfolded one after another
# as many as a loop has lanes: its code depends on it
ALONE: tuple[int, ...] = (0,)
TOGETHER: tuple[int, ...] = (0,) * SIDE_BY_SIDE


def in_groups(
    loop: Callable[..., None],
    record: Record,
    which: IntVector,
    psi: Matrix,
    n_slopes: int,
    size: tuple[int, int],
    start: Sequence[float],
    n_state: int,
    *seen: Any,
) -> tuple[Matrix, Matrix | None]:
    """Attributes of pairs, by a loop whose lanes have episodes of their own, equally long.

    For loops that compute so much that it does not matter where events are read from. n_state:
    lines of lanes that the loop asks for.
    """
    record.check_options(size[0])
    lengths = record.lengths(which)
    ends = lengths.cumsum()
    begins, rows, lanes = record.starts[which], ends - lengths, ALONE
    groups = np.ones((len(which), 2), dtype=np.int64)
    groups[:, 1] = lengths
    if len(which) >= FEW:
        first, lanes = _firsts(lengths, SIDE_BY_SIDE), TOGETHER
        groups = groups[first]
        groups[:, 0] = n = np.diff(first, append=len(which))
        pair = first[:, None] + np.minimum(np.arange(SIDE_BY_SIDE), n[:, None] - 1)
        begins, rows, psi = begins[pair], rows[pair], psi[pair].transpose(0, 2, 1)
    at = np.ascontiguousarray(psi).reshape(len(groups), -1, len(lanes))
    places = begins.reshape(len(groups), -1), rows.reshape(len(groups), -1)
    x = empty(int(ends[-1]) if len(ends) else 0, *size)
    slopes = empty(n_slopes, *x.shape) if n_slopes else None
    state = np.empty(n_state * len(lanes))
    loop(*seen, groups, *places, at, np.asarray(start), lanes, state, x, slopes)
    return x, slopes


def _firsts(which: IntVector, most: int) -> IntVector:
    """Where those begin that share an episode, or a length, so many in a row at most."""
    begins = np.flatnonzero(np.concatenate(([True], which[1:] != which[:-1]))[: len(which)])
    if len(begins) == len(which):
        return begins
    place = np.arange(len(which)) - np.repeat(begins, np.diff(begins, append=len(which)))
    return np.flatnonzero(place % most == 0)


def in_turn(
    loop: Callable[..., None],
    record: Record,
    which: IntVector,
    psi: Matrix,
    n_slopes: int,
    size: tuple[int, int],
    n_state: int,
    *seen: Any,
    settings: tuple[Any, ...] = (),
) -> tuple[Matrix, Matrix | None]:
    """Variables of pairs, and derivatives in the first so many psi, by a loop over pair by pair.

    n_state : numbers that are known of a pair before an event
    """
    record.check_options(size[0])
    rows, width = int(record.lengths(which).sum()), size[0] * size[1]
    x, at = empty(rows, width), np.ascontiguousarray(psi, dtype=np.float64)
    given = (*seen, record.starts, which, at, *settings, np.empty(n_state))
    if not n_slopes:
        loop(*given, None, x, None)
        return x.reshape(rows, *size), None
    slopes = empty(n_slopes, rows, width)
    loop(*given, np.empty((n_slopes, n_state)), x, slopes)
    return x.reshape(rows, *size), slopes.reshape(n_slopes, rows, *size)


def given(parameters: Mapping[str, float], name: str, otherwise: float) -> float:
    """A parameter that agents may have, or what is taken without it."""
    return float(parameters.get(name, otherwise))


def column(x: Any, weights: tuple[str, ...], theta: Vector, *names: str) -> Matrix:
    """Sum of some weighted variables: (n_events, n_options)."""
    places = [weights.index(name) for name in names]
    return np.asarray(x[:, :, places] @ theta[places])
