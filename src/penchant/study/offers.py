"""The data of a study of choices among offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penchant.errors import DataError, named
from penchant.models.offers.table import offers_from_frame
from penchant.study.data import StudyData, full_labels, units_of
from penchant.tables.frames import check_columns, column_labels, open_frame
from penchant.tables.offer_columns import offer_columns


def study_trials(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    conditions: Sequence[str] = (),
    options: Sequence[Any] | None = None,
    base: int = 0,
) -> StudyData:
    """Read the table of a study of choices among offers: one row per decision.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    columns
        {part: column} for those that have no usual name: subject, block, chosen, scored.
    offers, options, base
        As for `offers_from_frame`.
    conditions
        Columns of what subjects were assigned to. Where a subject was in several, each is fitted by
        itself, and conditions are compared within subjects.

    Examples
    --------
    >>> import penchant as pn
    >>> data = pn.study_trials(pn.datasets.load("delays"))
    >>> data
    <StudyData: 20 subjects, 20 episodes, 1191 decisions scored>
    """
    table = open_frame(frame)
    given = dict(columns or {})
    found = offer_columns(list(table.columns), given, offers)
    if found.subject is None:
        raise DataError(
            "`subject` must be given, as no column is called subject or participant; got columns "
            f"{named(table.columns)}. Name the column that says who chose."
        )
    check_columns(table, {"condition": conditions})
    units = units_of(table, found.subject, conditions)
    decisions = offers_from_frame(
        units.table.to_native(),
        **(given | {"subject": units.subject}),
        offers=offers,
        options=options,
        base=base,
    )
    who = column_labels(units.table, units.subject, "subject")
    first = {who.at(row): row for row in reversed(range(len(table)))}
    assigned = {name: full_labels(units.table, name, "condition") for name in conditions}
    return StudyData(
        tuple(decisions),
        {name: {s: coded.at(row) for s, row in first.items()} for name, coded in assigned.items()},
        columns=found,
        options=None if options is None else tuple(options),
        people=units.people,
    )
