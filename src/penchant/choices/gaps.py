"""Missing and infinite cells of a table: where they are, and leaving out their decisions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.choices.ids import Ids
from penchant.choices.notes import counted
from penchant.errors import SHOWN, DataError, listing

Cells = list[tuple[str, Any, IntVector]]


def incomplete_rows(
    numbers: Mapping[tuple[str, Any], Vector],
    unchosen: IntVector,
    chosen: Any,
    ids: Ids,
    on_offer: BoolVector | None,
    missing: str,
) -> IntVector:
    """Rows on offer with a missing cell, if they may be dropped; infinite cells never may."""
    odd = _not_finite(numbers, on_offer)
    infinite = [(role, name, rows[np.isinf(numbers[role, name][rows])]) for role, name, rows in odd]
    if any(rows.size for *_, rows in infinite):
        raise DataError(
            f"{_role(infinite)} must be finite; got {_described(infinite, ids, 'inf')}. "
            "Mark options that were not on offer in `available`, or correct these cells."
        )
    empty = unchosen if on_offer is None else unchosen[on_offer[unchosen]]
    odd.append(("chosen", chosen, empty))
    if missing == "error" and any(rows.size for *_, rows in odd):
        raise DataError(
            f"{_role(odd)} must not be missing; got {_described(odd, ids, 'an empty cell')}. "
            "Fill these cells, mark options that were not on offer in `available`, or pass "
            "missing='drop_set' to leave their decisions out."
        )
    return np.concatenate([rows for *_, rows in odd])


def _not_finite(numbers: Mapping[tuple[str, Any], Vector], on_offer: BoolVector | None) -> Cells:
    found = []
    for (role, name), values in numbers.items():
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.add.reduce(values)):
                continue
        wrong = ~np.isfinite(values)
        rows = np.flatnonzero(wrong if on_offer is None else wrong & on_offer)
        found.append((role, name, rows))
    return found


def _role(cells: Cells) -> str:
    return next(role for role, _, rows in cells if rows.size)


def _described(cells: Cells, ids: Ids, what: str) -> str:
    distinct = [(role, name, _table_rows(role, rows, ids)) for role, name, rows in cells]
    described = (
        f"{what} in {name} at {_place(role, row, ids)}"
        for role, name, rows in distinct
        for row in rows[: SHOWN + 1].tolist()
    )
    return listing(described, sum(rows.size for *_, rows in distinct))


def _once_per_decision(role: str, ids: Ids) -> bool:
    """Whether a cell of the user's table speaks for all options of a decision."""
    return ids.per_row > 1 and role in ("chosen", "weight")


def _table_rows(role: str, rows: IntVector, ids: Ids) -> IntVector:
    if not _once_per_decision(role, ids):
        return rows
    return np.unique(rows // ids.per_row) * ids.per_row


def _place(role: str, row: int, ids: Ids) -> str:
    if not _once_per_decision(role, ids):
        return ids.place(row)
    return f"{ids.row_place(row)} ({ids.decision_name(row)})"


def drop_sets(
    rows: IntVector, ids: Ids, kept: BoolVector | None, reason: str
) -> tuple[BoolVector | None, tuple[str, ...]]:
    """Leave out every decision that one of the rows belongs to, and say how many."""
    if not rows.size:
        return kept, ()
    dropped = np.zeros(ids.n_decisions, dtype=bool)
    dropped[ids.decision[rows]] = True
    leaving = dropped[ids.decision]
    staying = ~leaving if kept is None else kept & ~leaving
    n_rows = int((leaving if kept is None else leaving & kept).sum())
    said = (
        f"{counted(int(dropped.sum()), 'decision')} ({counted(n_rows, 'row')}) dropped: {reason}."
    )
    if not staying.any():
        raise DataError(
            f"frame must leave at least one decision; got 0 decisions after {said[:-1]}. "
            "Fill the missing cells."
        )
    return staying, (said,)
