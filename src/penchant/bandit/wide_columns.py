"""Tables with one row per subject and a column for every decision, which must be made long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from penchant.errors import DataError

FEWEST = 5  # columns that are numbered on, below which they may be anything
_NUMBERED = re.compile(r"(.*?[^\W\d_].*?)([ _.\-]?)(\d+)")


class _Run(NamedTuple):
    """Columns with one name, numbered on."""

    stem: str
    divider: str
    first: str
    last: str


def refuse_one_row_per_subject(names: Sequence[str], subject: str | None = None) -> None:
    """Raise an error that says how to make a table long, if its columns number the decisions.

    Parameters
    ----------
    names
        Columns of a table in which those that are needed were not found.
    subject
        Column that names the subject, if there is one.
    """
    runs = _runs(names)
    if not runs:
        return
    columns = " and ".join(f"{run.first} to {run.last}" for run in runs)
    table, who = (
        ("table", subject) if subject else ('table.reset_index(names="subject")', "subject")
    )
    stems = ", ".join(f'"{run.stem}"' for run in runs)
    raise DataError(
        "The table must have one row per decision, with what was chosen and what it paid, or what "
        f"was offered; got one row per subject, columns {columns}. Make it long, with pandas by "
        f'pd.wide_to_long({table}, [{stems}], i="{who}", j="decision", '
        f'sep="{runs[0].divider}").reset_index(), or in R by tidyr::pivot_longer, and name the '
        "columns."
    )


def _runs(names: Sequence[str]) -> list[_Run]:
    """Columns that are numbered on, as many of each name, divided alike."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(str(name))
        if match is not None:
            found.setdefault((match[1], match[2]), []).append((int(match[3]), str(name)))
    runs = {key: sorted(own) for key, own in found.items() if _counts_on([n for n, _ in own])}
    if not runs:
        return []
    most = max(map(len, runs.values()))
    divider = next(key[1] for key, own in runs.items() if len(own) == most)
    return [
        _Run(stem, by, own[0][1], own[-1][1])
        for (stem, by), own in runs.items()
        if len(own) == most and by == divider
    ]


def _counts_on(numbers: Sequence[int]) -> bool:
    n = len(numbers)
    return n >= FEWEST and max(numbers) - min(numbers) == n - 1 == len(set(numbers)) - 1
