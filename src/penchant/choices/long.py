"""A long table: one row per option of each decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.choices import notes
from penchant.choices.arrays import decision_weights
from penchant.choices.frames import (
    Table,
    check_columns,
    check_roles,
    column_flags,
    column_floats,
    column_labels,
    open_frame,
)
from penchant.choices.gaps import drop_sets, incomplete_rows
from penchant.choices.ids import Ids, read_ids
from penchant.choices.labels import used_labels, warn_similar
from penchant.choices.order import gather, repeated_rows, set_starts, sorted_rows
from penchant.choices.picked import (
    check_on_offer,
    check_one_each,
    chosen_rows,
    differs_within_set,
    reused_hint,
)
from penchant.errors import DataError, listing


@dataclass(frozen=True, kw_only=True)
class LongColumns:
    """Which column of a long table plays which part."""

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
    """One name or several as a tuple."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Sequence) else tuple(names)
    if not given:
        raise DataError(f"{role} must name at least one column; got none. Name one.")
    return given


def long_fields(
    frame: Any, columns: LongColumns, *, weight_kind: str, missing: str
) -> dict[str, Any]:
    """Fields of `Choices` from a long table."""
    if missing not in ("error", "drop_set"):
        raise DataError(f"missing must be 'error' or 'drop_set'; got {missing!r}. Choose one.")
    table = _checked(frame, columns)
    ids = read_ids(table, columns.decision, columns.option, columns.subject)
    warn_similar(ids.option.labels.tolist(), "option")
    on_offer = None
    if columns.available is not None:
        on_offer = column_flags(table, columns.available, "available")
    numbers = _numbers(table, columns)
    picked = column_labels(table, columns.chosen, f"chosen {columns.chosen!r}")
    gaps = incomplete_rows(numbers, picked.missing, columns.chosen, ids, on_offer, missing)
    kept, said = drop_sets(gaps, ids, on_offer, "missing values")
    flags, labelled = chosen_rows(picked, ids, kept, columns.chosen)
    check_on_offer(flags, on_offer, ids)
    if missing == "drop_set" and not labelled:
        kept, more = drop_sets(_undecided(flags, ids, kept), ids, kept, "no option chosen")
        said += more
    order = _order(ids, kept)
    check_one_each(flags, labelled, picked, ids, kept)
    first_row = set_starts(ids.decision, order, ids.n_decisions)
    fields = _arranged(numbers, columns, order)
    first = order[first_row[:-1]]
    weights = _weights(numbers, columns, ids, kept, first, weight_kind)
    option, option_labels = used_labels(ids.option.codes[order], ids.option.labels)
    fields |= _people(ids, first)
    fields |= {
        "first_row": first_row,
        "chosen": np.flatnonzero(flags[order]) - first_row[:-1],
        "names": tuple(str(name) for name in columns.explanatory),
        "weights": weights,
        "weight_kind": weight_kind,
        "option": option,
        "option_labels": option_labels,
        "decision_labels": ids.decision_labels(first, columns.decision),
    }
    said += notes.single_option_notes(np.diff(first_row)) + notes.weight_notes(weights)
    said += notes.repeat_notes(fields["explanatory"], first_row, fields["chosen"])
    return fields | {"notes": said}


def _checked(frame: Any, columns: LongColumns) -> Table:
    table = open_frame(frame)
    roles = columns.roles()
    check_columns(table, roles)
    apart = ("decision", "chosen", "weight", "available", "explanatory")
    check_roles({role: roles[role] for role in apart if role in roles})
    return table


def _numbers(table: Table, columns: LongColumns) -> dict[tuple[str, Any], Vector]:
    """Columns of numbers by part and name; all that hold something else are named at once."""
    named = [("explanatory", name) for name in columns.explanatory]
    named += [(r, getattr(columns, r)) for r in ("offset", "weight") if getattr(columns, r)]
    numbers, wrong = {}, []
    for role, name in named:
        try:
            numbers[role, name] = column_floats(table, name, role)
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        raise DataError(" ".join(wrong))
    return numbers


def _undecided(flags: BoolVector, ids: Ids, kept: BoolVector | None) -> IntVector:
    """Rows of decisions in which nothing is chosen."""
    decided = np.zeros(ids.n_decisions, dtype=bool)
    decided[ids.decision[flags]] = True
    without = ~decided[ids.decision]
    return np.flatnonzero(without if kept is None else without & kept)


def _order(ids: Ids, kept: BoolVector | None) -> IntVector:
    option = ids.option
    order = sorted_rows(ids.decision, option.codes, len(option), kept)
    n_kept = len(ids.decision) if kept is None else int(kept.sum())
    if len(order) == n_kept:
        return order
    pairs = repeated_rows(ids.decision, option.codes, len(option), kept)
    described = (f"row {a} and row {b} ({ids.place(b).partition('(')[2]}" for a, b in pairs)
    raise DataError(
        "option must differ between the rows of a decision; got the same twice at "
        f"{listing(described)}. Drop one.{reused_hint(ids, pairs[0][0])}"
    )


def _arranged(
    numbers: dict[tuple[str, Any], Vector], columns: LongColumns, order: IntVector
) -> dict[str, Any]:
    variables = [numbers["explanatory", name] for name in columns.explanatory]
    offset = numbers.get(("offset", columns.offset))
    return {
        "explanatory": gather(variables, order),
        "offset": None if offset is None else offset[order],
    }


def _people(ids: Ids, first: IntVector) -> dict[str, Any]:
    if ids.subject is None:
        return {}
    subject, labels = used_labels(ids.subject.codes[first], ids.subject.labels)
    return {"subject": subject, "subject_labels": labels}


def _weights(
    numbers: dict[tuple[str, Any], Vector],
    columns: LongColumns,
    ids: Ids,
    kept: BoolVector | None,
    first: IntVector,
    weight_kind: str,
) -> Vector | None:
    values = numbers.get(("weight", columns.weight))
    if values is None:
        return decision_weights(None, len(first), weight_kind)
    different = differs_within_set(values, ids, kept)
    if different.any():
        wrong = np.zeros(ids.n_decisions, dtype=bool)
        wrong[ids.decision[different]] = True
        raise DataError(
            "weight must be the same in all rows of a decision; got different weights at "
            f"{ids.listed(wrong)}. Give each decision one weight."
        )
    return decision_weights(
        values[first], len(first), weight_kind, lambda k: ids.decision_name(int(first[k]))
    )
