"""Long tables, one row per option of each decision, as the fields of `Choices`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penchant.errors import DataError
from penchant.tables.decisions import Rows, arranged, check_missing
from penchant.tables.frames import (
    Table,
    check_columns,
    check_roles,
    column_flags,
    column_labels,
    open_frame,
    read_floats,
    read_ids,
)
from penchant.tables.labels import warn_similar, without_words


@dataclass(frozen=True, kw_only=True)
class LongColumns:
    """Columns of decision, option and choice of a long table."""

    decision: tuple[Any, ...]
    option: Any
    chosen: Any
    explanatory: tuple[Any, ...]
    weight: Any = None
    subject: Any = None
    available: Any = None
    offset: Any = None

    def roles(self) -> dict[str, tuple[Any, ...]]:
        """Columns by part, parts not given left out."""
        one = ("option", "chosen", "weight", "subject", "available", "offset")
        given = {role: (getattr(self, role),) for role in one if getattr(self, role) is not None}
        return {"decision": self.decision, "explanatory": self.explanatory} | given


def column_names(names: Any, role: str) -> tuple[Any, ...]:
    """Convert one column name or several to a tuple; refuse none."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    if not given:
        raise DataError(role, "must name at least one column", got="none", fix="Name one.")
    return given


def long_fields(
    frame: Any, columns: LongColumns, *, weight_kind: str, missing: str
) -> dict[str, Any]:
    """Fields of `Choices` from a long table."""
    check_missing(missing)
    table = _checked(frame, columns)
    return arranged(_long_rows(table, columns), weight_kind=weight_kind, missing=missing)[0]


def _long_rows(table: Table, columns: LongColumns) -> Rows:
    ids = read_ids(table, columns.decision, columns.option, columns.subject)
    warn_similar(ids.option.labels.tolist(), "option")
    named = [("explanatory", name) for name in columns.explanatory]
    parts = {role: getattr(columns, role) for role in ("offset", "weight", "available")}
    named += [(role, parts[role]) for role in ("offset", "weight") if parts[role] is not None]
    numbers = read_floats(table, named)
    known = {role: (name, numbers[role, name]) for role, name in named if role != "explanatory"}
    on_offer = parts["available"]
    return Rows(
        ids=ids,
        picked=None
        if columns.chosen is None
        else without_words(
            column_labels(table, columns.chosen, f"chosen {columns.chosen!r}"),
            ids.option.labels.tolist(),
        ),
        chosen=columns.chosen,
        variables={name: numbers["explanatory", name] for name in columns.explanatory},
        on_offer=None if on_offer is None else column_flags(table, on_offer, "available"),
        **known,
    )


def _checked(frame: Any, columns: LongColumns) -> Table:
    table = open_frame(frame)
    roles = columns.roles()
    check_columns(table, roles)
    apart = ("decision", "chosen", "weight", "available", "explanatory")
    check_roles({role: roles[role] for role in apart if role in roles})
    return table
