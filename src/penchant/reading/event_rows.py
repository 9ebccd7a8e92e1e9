"""Which row of its table each event of task data comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import IntVector
from penchant.bandit.episode_table import episode_rows
from penchant.tables.columns import NO_COLUMN
from penchant.tables.reading import Reading


def event_rows(reading: Reading) -> list[IntVector]:
    """Rows of the table that each event of each subject comes from; -1 where it has no row."""
    known = reading.arguments
    parts = {part: known.get(part) for part in ("subject", "block", "decision")}
    told = {part: None if name == NO_COLUMN else name for part, name in parts.items()}
    rows = episode_rows(reading.table, **told, gaps=known.get("gaps", "error"))
    return [own[: one.n_events] for own, one in zip(rows, reading.data, strict=True)]


def event_labels(reading: Reading, column: str) -> list[Any]:
    """What a column of the table says of each event of each subject."""
    labels = np.array([*reading.table[column].to_pylist(), None], dtype=object)
    return [labels[rows] for rows in event_rows(reading)]
