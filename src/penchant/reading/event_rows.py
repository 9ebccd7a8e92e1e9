"""Index of the table row that each event of task data comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import IntVector
from penchant.tables.reading import Reading


def event_rows(reading: Reading) -> list[IntVector]:
    """Rows of the table that each event of each subject comes from; -1 where it has no row."""
    rows: list[IntVector] = reading.arguments["rows"]
    return rows


def event_labels(reading: Reading, column: str) -> list[Any]:
    """Labels of a table column at each event, one array per episode."""
    labels = np.array([*reading.table[column].to_pylist(), None], dtype=object)
    return [labels[rows] for rows in event_rows(reading)]
