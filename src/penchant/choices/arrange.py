"""Rows of a table, read and coded, arranged into the fields of `Choices`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.choices import notes
from penchant.choices.arrays import decision_weights
from penchant.choices.gaps import drop_sets, incomplete_rows
from penchant.choices.ids import Ids
from penchant.choices.labels import NONE_MISSING, Coded, python_values, used_labels
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
class Rows:
    """One row per option of each decision, in the order of the table.

    Attributes
    ----------
    ids
        Decision, option and subject of each row.
    picked, chosen
        The column that says what was chosen, and its name; None where nobody has chosen yet.
    variables
        Numbers by name.
    offset, weight
        Numbers and their column's name, or None.
    on_offer
        Rows that could be chosen; None where all could.
    """

    ids: Ids
    picked: Coded | None
    chosen: Any
    variables: Mapping[Any, Vector]
    offset: tuple[Any, Vector] | None = None
    weight: tuple[Any, Vector] | None = None
    on_offer: BoolVector | None = None

    def numbers(self) -> dict[tuple[str, Any], Vector]:
        """Columns of numbers by part and name."""
        numbers = {("explanatory", name): values for name, values in self.variables.items()}
        for role, column in (("offset", self.offset), ("weight", self.weight)):
            if column is not None:
                numbers[role, column[0]] = column[1]
        return numbers


def check_missing(missing: str) -> None:
    """Whether `missing` is one of the treatments there are."""
    if missing not in ("error", "drop_set"):
        raise DataError(f"missing must be 'error' or 'drop_set'; got {missing!r}. Choose one.")


def arranged(rows: Rows, *, weight_kind: str, missing: str) -> dict[str, Any]:
    """Fields of `Choices` from rows in any order."""
    ids = rows.ids
    flags, kept, order, said = _complete(rows, missing)
    first_row = set_starts(ids.decision, order, ids.n_decisions)
    first = order[first_row[:-1]]
    weights = _weights(rows, kept, first, weight_kind)
    option, option_labels = ids.option.codes[order], python_values(ids.option.labels)
    if kept is not None:
        option, option_labels = used_labels(option, ids.option.labels)
    explanatory = gather(list(rows.variables.values()), order)
    chosen = np.zeros(len(first), dtype=np.int64)
    if flags is not None:
        chosen = np.flatnonzero(flags[order]) - first_row[:-1]
        said += notes.single_option_notes(np.diff(first_row)) + notes.weight_notes(weights)
        said += notes.repeat_notes(explanatory, first_row, chosen)
    return _people(ids, first) | {
        "explanatory": explanatory,
        "first_row": first_row,
        "chosen": chosen,
        "observed": flags is not None,
        "names": tuple(str(name) for name in rows.variables),
        "weights": weights,
        "weight_kind": weight_kind,
        "offset": None if rows.offset is None else rows.offset[1][order],
        "option": option,
        "option_labels": option_labels,
        "decision_labels": ids.decision_labels(first),
        "notes": said,
    }


def _complete(
    rows: Rows, missing: str
) -> tuple[BoolVector | None, BoolVector | None, IntVector, tuple[str, ...]]:
    """Rows chosen, kept and in order, and what was left out; each decision has one choice."""
    ids, on_offer, picked = rows.ids, rows.on_offer, rows.picked
    unchosen = NONE_MISSING if picked is None else picked.missing
    gaps = incomplete_rows(rows.numbers(), unchosen, rows.chosen, ids, on_offer, missing)
    kept, said = drop_sets(gaps, ids, on_offer, "missing values")
    if picked is None:
        return None, kept, _order(ids, kept), said
    flags, labelled = chosen_rows(picked, ids, kept, rows.chosen)
    check_on_offer(flags, on_offer, ids)
    if missing == "drop_set" and not labelled:
        kept, more = drop_sets(_undecided(flags, ids, kept), ids, kept, "no option chosen")
        said += more
    order = _order(ids, kept)
    check_one_each(flags, labelled, picked, ids, kept)
    return flags, kept, order, said


def _undecided(flags: BoolVector, ids: Ids, kept: BoolVector | None) -> IntVector:
    """Rows of decisions in which nothing is chosen."""
    decided = np.zeros(ids.n_decisions, dtype=bool)
    decided[ids.decision[flags]] = True
    without = ~decided[ids.decision]
    return np.flatnonzero(without if kept is None else without & kept)


def _order(ids: Ids, kept: BoolVector | None) -> IntVector:
    """Rows kept, by decision and option, each of which may appear once."""
    option = ids.option
    order = sorted_rows(ids.decision, option.codes, len(option), kept)
    n_kept = len(ids.decision) if kept is None else int(kept.sum())
    if len(order) == n_kept:
        return order
    pairs, total = repeated_rows(ids.decision, option.codes, len(option), kept)
    described = (f"row {a} and {ids.place(b)}" for a, b in pairs)
    raise DataError(
        "option must differ between the rows of a decision; got the same twice at "
        f"{listing(described, total)}. Drop one.{reused_hint(ids, pairs[0][0])}"
    )


def _people(ids: Ids, first: IntVector) -> dict[str, Any]:
    if ids.subject is None:
        return {}
    subject, labels = used_labels(ids.subject.codes[first], ids.subject.labels)
    return {"subject": subject, "subject_labels": labels}


def _weights(
    rows: Rows, kept: BoolVector | None, first: IntVector, weight_kind: str
) -> Vector | None:
    if rows.weight is None:
        return decision_weights(None, len(first), weight_kind)
    ids, values = rows.ids, rows.weight[1]
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
