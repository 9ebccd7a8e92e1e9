"""Subjects who were in several conditions: each is fitted once in every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import IntVector
from penchant.choices.frames import Table, column_labels, row_place
from penchant.choices.ids import joint_codes
from penchant.choices.labels import Coded
from penchant.choices.natural_order import in_natural_order
from penchant.errors import DataError, listing

UNIT = "subject in condition"


@dataclass(frozen=True)
class Units:
    """A table, the column of who is fitted, and whose each of these is.

    Attributes
    ----------
    table
        With a column more where conditions vary within subjects.
    subject
        Column of who is fitted: a subject, or a subject in one condition.
    people
        {subject in condition: subject}; None where every subject was in one condition.
    """

    table: Table
    subject: str
    people: dict[Any, Any] | None


def units_of(table: Table, subject: str, conditions: Sequence[str]) -> Units:
    """Tell apart what subjects did in different conditions, if any was in several.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = nw.from_native(pa.table({"who": ["al", "al", "bo"], "drug": ["no", "yes", "no"]}))
    >>> units_of(table, "who", ["drug"]).people
    {'al, no': 'al', 'al, yes': 'al', 'bo, no': 'bo'}
    """
    if not conditions or not _vary(table, subject, conditions):
        return Units(table, subject, None)
    cells = [nw.col(name).cast(nw.String) for name in (subject, *conditions)]
    split = table.with_columns(nw.concat_str(cells, separator=", ").alias(UNIT))
    names = split[UNIT].to_list()
    who = table[subject].to_list()
    people = dict(zip(names, who, strict=True))
    return Units(split, UNIT, {name: people[name] for name in in_natural_order(people)})


def full_labels(table: Table, name: str, role: str) -> Coded:
    """Labels of a column that every row must have."""
    coded = column_labels(table, name, f"{role} {name!r}")
    if coded.missing.size:
        places = listing(map(row_place, coded.missing[:11].tolist()), coded.missing.size)
        raise DataError(
            f"{role} {name!r} must not be missing; got an empty cell at {places}. Fill it."
        )
    return coded


def _vary(table: Table, subject: str, conditions: Sequence[str]) -> bool:
    """Whether a subject was in more than one condition."""
    person = column_labels(table, subject, "subject")
    assigned = [full_labels(table, name, "condition") for name in conditions]
    together: IntVector = joint_codes((person, *assigned))[0]
    return len(np.unique(together)) > len(np.unique(person.codes))


def check_plays(units: Units, subject: str, block: Any) -> None:
    """Refuse a play that goes on from one condition into the next: beliefs start afresh in each."""
    if units.people is None:
        return
    blocks = (block,) if isinstance(block, str) else tuple(block or ())
    names = (subject, *blocks)
    coded = tuple(column_labels(units.table, name, "block") for name in names)
    play: IntVector = joint_codes(coded)[0]
    unit = column_labels(units.table, UNIT, "condition").codes
    first: dict[int, int] = {}
    for row, (own, mine) in enumerate(zip(play.tolist(), unit.tolist(), strict=True)):
        if first.setdefault(own, mine) != mine:
            who = ", ".join(f"{name} {c.at(row)}" for name, c in zip(names, coded, strict=True))
            raise DataError(
                "condition must be the same in all rows of a play, in which beliefs go on; got "
                f"another at {row_place(row)} ({who}). Name the column that tells plays apart with "
                "`block`: it may be the condition's own."
            )
