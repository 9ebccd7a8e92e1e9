"""Whose decisions rows are, where that can be read in two ways: asked about."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

import pyarrow as pa

from penchant.errors import DataError
from penchant.tables.columns import NO_COLUMN, SESSION, plain_name
from penchant.wording import argument

FEWEST = 5  # rows from which a label for each is more likely their number
# What people have that does not change from one session to the next.
_PERSONAL = frozenset(
    (
        *(
            "sex",
            "gender",
            "geschlecht",
            "sexe",
            "sexo",
            "age",
            "alter",
            "edad",
            "dob",
            "birthyear",
        ),
        *("yearofbirth", "handedness", "hand", "initials", "native", "nationality"),
    )
)


def ask_about_people(table: pa.Table, subject: str | None) -> None:
    """Refuse a column of subjects that is another in every row: it may number the rows.

    Parameters
    ----------
    table
        Of decisions.
    subject
        Its column of subjects, where one was recognised.
    """
    if subject is None or subject == NO_COLUMN or subject not in table.column_names:
        return
    cells = table[subject].to_pylist()
    if len(cells) >= FEWEST and len({*cells}) == len(cells):
        raise DataError(
            f"{argument('subject')} must be given, as {subject} differs in every row, which can be "
            f"read in two ways: as many people, with one decision each, or a number of the rows. "
            f"Pass {argument('subject', subject)} for the first, or {argument('subject', 'none')} "
            "for the second."
        )


def ask_about_sessions(table: pa.Table, subject: str | None, block: Any) -> None:
    """Refuse sessions of one label in which age, sex and the like differ: they may be two people.

    Parameters
    ----------
    table
        Of decisions.
    subject, block
        Its columns, as recognised.
    """
    blocks = (block,) if isinstance(block, str) else block or ()
    usual = {plain_name(name) for name in SESSION}
    session = next((name for name in blocks if plain_name(name) in usual), None)
    if subject is None or session is None:
        return
    who, when = table[subject].to_pylist(), table[session].to_pylist()
    for name in table.column_names:
        if plain_name(name) not in _PERSONAL:
            continue
        said: dict[Any, dict[Any, set[Any]]] = {}
        for label, time, cell in zip(who, when, table[name].to_pylist(), strict=True):
            said.setdefault(label, {}).setdefault(time, set()).add(cell)
        for label, times in said.items():
            own = [next(iter(cells)) for cells in times.values() if len(cells) == 1]
            far = len({*own}) > 1 and not _may_have_aged(own)
            if far:
                joined = f"{subject}+{session}"
                raise DataError(
                    f"{argument('subject')} must be given, as {name} of {subject} {label} differs "
                    f"between its labels of {session} ({', '.join(map(str, own))}), which can be "
                    "read in two ways: several people of one label, or one with a mistake. Pass "
                    f"{argument('subject', joined)} for the first, or "
                    f"{argument('subject', subject)} for the second."
                )


def _may_have_aged(cells: list[Any]) -> bool:
    """Whether numbers are a year or two apart, as ages of one person may be."""
    numbers = [cell for cell in cells if isinstance(cell, (int, float))]
    return len(numbers) == len(cells) and max(numbers) - min(numbers) <= 2


def may_be_people(table: pa.Table, used: Collection[str]) -> list[str]:
    """That a column may name people, where none has a usual name: its rows stand together."""
    found: dict[str, int] = {}
    for name in table.column_names:
        cells = table[name].to_pylist()
        runs = 1 + sum(a != b for a, b in pairwise(cells))
        if name not in used and 1 < runs == len({*cells}) <= len(cells) / 2:
            found[name] = runs
    if not found:
        return []
    most = max(found, key=lambda name: found[name])
    return [
        f"nobody is told apart: pass {argument('subject', most)} if {most} names {found[most]} "
        "people"
    ]
