"""Tables in which a choice is a place (x, y), where nobody said which places there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.cli.episodes import named_columns
from penchant.cli.options import Data, History
from penchant.tables.columns import COORDINATES
from penchant.tables.frames import column_floats, open_frame

ANYWHERE: Matrix = np.empty((0, len(COORDINATES)))


def places_in(table: Any, data: Data, history: History) -> Matrix | None:
    """Places that are chosen in the table, sorted; None where its options are no places."""
    columns = named_columns(list(table.column_names), data, history, ANYWHERE)
    if isinstance(columns.chosen, str):
        return None
    frame = open_frame(table)
    there = np.column_stack([column_floats(frame, name, "chosen") for name in columns.chosen])
    given = there[~np.isnan(there).any(axis=1)]
    return np.unique(given, axis=0) - history.base


def grid_words(places: Matrix) -> str:
    """The options that say where these places lie.

    >>> grid_words(np.array([[1.0, 1.0], [5.0, 3.0]]))
    '--grid 5x3 --base 1'
    >>> grid_words(np.array([[0.5, 1.0]]))
    '--locations FILE'
    """
    low, high = places.min(axis=0), places.max(axis=0)
    if places.shape[1] != 2 or (places != np.floor(places)).any() or low.min() < 0:
        return "--locations FILE"
    base = 1 if low.min() >= 1 else 0
    width, height = (high - base + 1).astype(int)
    return f"--grid {width}x{height}{' --base 1' if base else ''}"
