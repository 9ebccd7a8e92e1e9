"""Rows of a table, read and coded, arranged into the fields of `Choices`: gaps, choices, order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import (
    MAX_LISTED,
    DataError,
    closest_match_hint,
    format_list,
    mark_drop_set_argument,
    mark_quoted_argument,
)
from penchant.result_tables import (
    format_count,
    repeat_notes,
    single_option_notes,
    zero_weight_notes,
)
from penchant.tables.arrays import decision_weights
from penchant.tables.frames import Ids, gather, repeated_rows, set_starts, sorted_rows
from penchant.tables.labels import NONE_MISSING, Coded, python_values, used_labels

Cells = list[tuple[str, Any, IntVector]]


MOST_DROPPED = 0.05  # of the decisions: to leave more out changes what is estimated


def incomplete_rows(
    numbers: Mapping[tuple[str, Any], Vector],
    unchosen: IntVector,
    chosen: Any,
    ids: Ids,
    on_offer: BoolVector,
    missing: str,
) -> IntVector:
    """Rows on offer with a missing cell, if they may be dropped; infinite cells never may."""
    odd = _not_finite(numbers, on_offer)
    infinite = [(role, name, rows[np.isinf(numbers[role, name][rows])]) for role, name, rows in odd]
    if any(rows.size for *_, rows in infinite):
        raise DataError(
            _role(infinite),
            "must be finite",
            got=_described(infinite, ids, "inf"),
            fix=(
                f"Mark options that were not on offer in {mark_quoted_argument('available')}, or "
                "correct these cells."
            ),
        )
    empty = unchosen[on_offer[unchosen]]
    odd.append(("chosen", chosen, empty))
    if missing == "error" and any(rows.size for *_, rows in odd):
        lost = len(np.unique(ids.decision[np.concatenate([rows for *_, rows in odd])]))
        raise DataError(
            _role(odd),
            "must not be missing",
            got=_described(odd, ids, "an empty cell"),
            fix=(
                "Fill these cells, or mark options that were not on offer in "
                f"{mark_quoted_argument('available')}{_or_dropped(lost, ids)}."
            ),
        )
    return np.concatenate([rows for *_, rows in odd])


def _or_dropped(lost: int, ids: Ids) -> str:
    """The advice to leave decisions out, where they are few; otherwise how many they are."""
    if lost <= MOST_DROPPED * ids.n_decisions:
        return f", or pass {mark_drop_set_argument()} to leave these decisions out"
    return f": {lost} of {format_count(ids.n_decisions, 'decision')} are too many to leave out"


def _not_finite(numbers: Mapping[tuple[str, Any], Vector], on_offer: BoolVector) -> Cells:
    found = []
    for (role, name), values in numbers.items():
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.add.reduce(values)):
                continue
        found.append((role, name, np.flatnonzero(~np.isfinite(values) & on_offer)))
    return found


def _role(cells: Cells) -> str:
    return next(role for role, _, rows in cells if rows.size)


def _described(cells: Cells, ids: Ids, what: str) -> str:
    distinct = [(role, name, _table_rows(role, rows, ids)) for role, name, rows in cells]
    described = (
        f"{what} in {name} at {_locate_row(role, row, ids)}"
        for role, name, rows in distinct
        for row in rows[: MAX_LISTED + 1].tolist()
    )
    return format_list(described, sum(rows.size for *_, rows in distinct))


def _once_per_decision(role: str, ids: Ids) -> bool:
    """Whether a cell of the user's table speaks for all options of a decision."""
    return ids.per_row > 1 and role in ("chosen", "weight")


def _table_rows(role: str, rows: IntVector, ids: Ids) -> IntVector:
    if not _once_per_decision(role, ids):
        return rows
    return np.unique(rows // ids.per_row) * ids.per_row


def _locate_row(role: str, row: int, ids: Ids) -> str:
    if not _once_per_decision(role, ids):
        return ids.locate_row(row)
    return f"{ids.row_place(row)} ({ids.decision_name(row)})"


def drop_sets(
    rows: IntVector, ids: Ids, kept: BoolVector, reason: str
) -> tuple[BoolVector, tuple[str, ...]]:
    """Leave out every decision that one of the rows belongs to, and say how many."""
    if not rows.size:
        return kept, ()
    dropped = ids.are_in(rows)
    leaving = dropped[ids.decision]
    staying = kept & ~leaving
    n_rows = int((leaving & kept).sum())
    said = (
        f"{format_count(int(dropped.sum()), 'decision')} ({format_count(n_rows, 'row')}) "
        f"dropped: {reason}."
    )
    if not staying.any():
        raise DataError(
            "frame",
            "must leave at least one decision",
            got=f"0 decisions after {said[:-1]}",
            fix="Fill the missing cells.",
        )
    return staying, (said,)


def chosen_rows(picked: Coded, ids: Ids, kept: BoolVector, name: Any) -> tuple[BoolVector, bool]:
    """Whether each row was chosen, and whether the column held labels."""
    values = python_values(picked.labels)
    options = {_key(label): i for i, label in enumerate(python_values(ids.option.labels))}
    as_option = np.array([options.get(_key(value), -1) for value in values], dtype=np.int64)
    flagged = all(type(value) in (bool, int) and value in (0, 1) for value in values)
    if flagged and not ((as_option >= 0).all() and _names_options(picked, ids, kept)):
        flags = np.array(values, dtype=bool)[picked.codes]
        flags[picked.missing] = False
        return flags, False
    if not flagged and (as_option < 0).any():
        raise _not_options(picked, as_option, options, ids, name)
    if not flagged:
        _check_constant(picked, ids, kept)
    flags = as_option[picked.codes] == ids.option.codes
    flags[picked.missing] = False
    return flags, True


def _key(label: Any) -> tuple[bool, Any]:
    # True equals 1 in Python, but a flag is not a label
    return isinstance(label, bool), label


def _names_options(picked: Coded, ids: Ids, kept: BoolVector) -> bool:
    """Whether 0/1 are labels: they are where every set of several rows repeats one of them."""
    several = np.bincount(ids.decision).max() > 1
    return bool(several) and not differs_within_set(picked.codes, ids, kept).any()


def differs_within_set(values: Any, ids: Ids, kept: BoolVector) -> BoolVector:
    """Rows whose value differs from that of the last row kept of the same decision."""
    last = np.zeros(ids.n_decisions, dtype=values.dtype)
    last[ids.decision[kept]] = values[kept]
    different: BoolVector = (values != last[ids.decision]) & kept
    return different


def _check_constant(picked: Coded, ids: Ids, kept: BoolVector) -> None:
    wrong = ids.are_in(differs_within_set(picked.codes, ids, kept))
    if not wrong.any():
        return
    raise DataError(
        "chosen",
        "must repeat the label of one option in every row of a decision",
        got=f"different labels at {ids.listed(wrong)}",
        fix="Repeat one label, or mark rows with 0/1.",
    )


def _not_options(
    picked: Coded, as_option: IntVector, options: dict[Any, int], ids: Ids, name: Any
) -> DataError:
    values = python_values(picked.labels)
    known = [str(label) for _, label in options]
    if not (as_option >= 0).any():
        return DataError(
            "chosen",
            "must hold 0/1, True/False or the label of the chosen option",
            got=f"{format_list(map(repr, values))} in column {name!r}",
            fix="Convert it to 0/1.",
        )
    wrong = np.flatnonzero(as_option[picked.codes] < 0)
    places = format_list(
        (f"{picked.at(r)!r} at {ids.locate_row(r)}" for r in wrong[:11].tolist()), wrong.size
    )
    hint = closest_match_hint(str(picked.at(wrong[0])), known) or " Correct it."
    return DataError(
        "chosen",
        f"must be one of the options {format_list(map(repr, known))}",
        got=places,
        fix=hint,
    )


def check_one_each(
    flags: BoolVector, labelled: bool, picked: Coded, ids: Ids, kept: BoolVector
) -> None:
    """Every decision has one row chosen, and it was on offer."""
    counts = np.bincount(ids.decision[flags & kept], minlength=ids.n_decisions)
    none = (counts == 0) & ids.are_in(kept)
    if none.any():
        raise _none_chosen(none, labelled, picked, ids)
    if (counts > 1).any():
        raise _several_chosen(counts, ids, kept)


def check_on_offer(flags: BoolVector, on_offer: BoolVector, ids: Ids) -> None:
    """Refuse choices of rows that were not on offer."""
    wrong = np.flatnonzero(flags & ~on_offer)
    if wrong.size:
        places = format_list((ids.locate_row(row) for row in wrong[:11].tolist()), wrong.size)
        raise DataError(
            "chosen",
            "must be an available option",
            got=f"an unavailable one at {places}",
            fix="Mark it available, or drop these decisions.",
        )


def _none_chosen(none: BoolVector, labelled: bool, picked: Coded, ids: Ids) -> DataError:
    if not labelled:
        return DataError(
            "chosen",
            "must mark one option of each decision",
            got=f"none at {ids.listed(none)}",
            fix=f"Mark one{_or_dropped(int(none.sum()), ids)}.",
        )
    described = (f"{picked.at(r)!r} at {ids.decision_name(r)}" for r in ids.first_rows(none))
    return DataError(
        "chosen",
        "must be one of the options of its decision",
        got=format_list(described, int(none.sum())),
        fix="Add its row, or drop these decisions.",
    )


def _several_chosen(counts: IntVector, ids: Ids, kept: BoolVector) -> DataError:
    wrong = counts > 1
    first = ids.first_rows(wrong)[0]
    return DataError(
        "chosen",
        "must mark one option of each decision",
        got=counts[ids.decision[first]],
        where=f"at {ids.listed(wrong)}",
        fix=f"Mark one.{reused_hint(ids, first)}",
    )


def reused_hint(ids: Ids, row: int) -> str:
    """Hint at reuse where the rows of a decision stand in blocks apart in the table."""
    rows = ids.rows_of(row)
    blocks = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    if len(blocks) < 2 or min(map(len, blocks)) < 2:
        return ""
    spans = format_list(f"{ids.row_place(block[0])} to {block[-1]}" for block in blocks)
    number = "two" if len(blocks) == 2 else f"{len(blocks):,}"
    return (
        f" D{ids.decision_name(row)[1:]} appears in {number} blocks ({spans}): if they are "
        f"different decisions, name {mark_quoted_argument('subject')} or more columns in "
        f"{mark_quoted_argument('decision')}."
    )


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Columns of a long table: one row per option of each decision, in table order.

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
    check_one_of(missing, "missing", ("error", "drop_set"))


def arranged(rows: Rows, *, weight_kind: str, missing: str) -> tuple[dict[str, Any], IntVector]:
    """Fields of `Choices` from rows in any order, and which of the rows each of theirs is."""
    ids = rows.ids
    flags, kept, order, notes = _complete_rows(rows, missing)
    first_row = set_starts(ids.decision, order, ids.n_decisions)
    first = order[first_row[:-1]]
    weights = _weights(rows, kept, first, weight_kind)
    option, option_labels = used_labels(ids.option.codes[order], ids.option.labels)
    explanatory = gather(list(rows.variables.values()), order)
    chosen = np.zeros(len(first), dtype=np.int64)
    if flags is not None:
        chosen = np.flatnonzero(flags[order]) - first_row[:-1]
        notes += single_option_notes(np.diff(first_row)) + zero_weight_notes(weights)
        notes += repeat_notes(explanatory, first_row, chosen)
    fields = _people(ids, first) | {
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
        "notes": notes,
    }
    return fields, order


class _CompleteRows(NamedTuple):
    """Rows of complete decisions.

    Attributes
    ----------
    flags
        Rows that were chosen, of all; None where nobody has chosen yet.
    kept
        Mask of the rows of complete decisions.
    order
        Indices of these rows, sorted by decision.
    notes
        Sentences on the decisions that were dropped.
    """

    flags: BoolVector | None
    kept: BoolVector
    order: IntVector
    notes: tuple[str, ...]


def _complete_rows(rows: Rows, missing: str) -> _CompleteRows:
    """Drop incomplete decisions, and check that each of the others has one choice."""
    ids, picked = rows.ids, rows.picked
    on_offer = np.ones(len(ids.decision), dtype=bool) if rows.on_offer is None else rows.on_offer
    unchosen = NONE_MISSING if picked is None else picked.missing
    gaps = incomplete_rows(rows.numbers(), unchosen, rows.chosen, ids, on_offer, missing)
    kept, notes = drop_sets(gaps, ids, on_offer, "missing values")
    if picked is None:
        return _CompleteRows(None, kept, _order(ids, kept), notes)
    flags, labelled = chosen_rows(picked, ids, kept, rows.chosen)
    check_on_offer(flags, on_offer, ids)
    if missing == "drop_set" and not labelled:
        kept, more = drop_sets(_undecided(flags, ids, kept), ids, kept, "no option chosen")
        notes += more
    order = _order(ids, kept)
    check_one_each(flags, labelled, picked, ids, kept)
    return _CompleteRows(flags, kept, order, notes)


def _undecided(flags: BoolVector, ids: Ids, kept: BoolVector) -> IntVector:
    """Rows of decisions in which nothing is chosen."""
    return np.flatnonzero(~ids.are_in(flags)[ids.decision] & kept)


def _order(ids: Ids, kept: BoolVector) -> IntVector:
    """Rows kept, by decision and option, each of which may appear once."""
    option = ids.option
    order = sorted_rows(ids.decision, option.codes, len(option), kept)
    if len(order) == np.count_nonzero(kept):
        return order
    pairs, total = repeated_rows(ids.decision, option.codes, len(option), kept)
    described = (f"row {a} and {ids.locate_row(b)}" for a, b in pairs)
    raise DataError(
        "option",
        "must differ between the rows of a decision",
        got=f"the same twice at {format_list(described, total)}",
        fix=f"Drop one.{reused_hint(ids, pairs[0][0])}",
    )


def _people(ids: Ids, first: IntVector) -> dict[str, Any]:
    if ids.subject is None:
        return {}
    subject, labels = used_labels(ids.subject.codes[first], ids.subject.labels)
    return {"subject": subject, "subject_labels": labels}


def _weights(rows: Rows, kept: BoolVector, first: IntVector, weight_kind: str) -> Vector | None:
    if rows.weight is None:
        return decision_weights(None, len(first), weight_kind)
    ids, values = rows.ids, rows.weight[1]
    wrong = ids.are_in(differs_within_set(values, ids, kept))
    if wrong.any():
        raise DataError(
            "weight",
            "must be the same in all rows of a decision",
            got=f"different weights at {ids.listed(wrong)}",
            fix="Give each decision one weight.",
        )
    return decision_weights(
        values[first], len(first), weight_kind, lambda k: ids.decision_name(int(first[k]))
    )
