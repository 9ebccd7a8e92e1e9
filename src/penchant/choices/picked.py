"""Which row of each decision was chosen, from 0/1 flags or from the chosen option's label."""

from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.choices.ids import Ids
from penchant.choices.labels import Coded, python_values
from penchant.errors import DataError, listing, nearest


def chosen_rows(
    picked: Coded, ids: Ids, kept: BoolVector | None, name: Any
) -> tuple[BoolVector, bool]:
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


def _names_options(picked: Coded, ids: Ids, kept: BoolVector | None) -> bool:
    """Whether 0/1 are labels: they are where every set of several rows repeats one of them."""
    several = np.bincount(ids.decision).max() > 1
    return bool(several) and not _varying(picked, ids, kept).any()


def _varying(picked: Coded, ids: Ids, kept: BoolVector | None) -> BoolVector:
    """Rows whose cell differs from another of the same decision."""
    return differs_within_set(picked.codes, ids, kept)


def differs_within_set(values: Any, ids: Ids, kept: BoolVector | None) -> BoolVector:
    """Rows whose value differs from that of the last row kept of the same decision."""
    last = np.zeros(ids.n_decisions, dtype=values.dtype)
    different: BoolVector
    if kept is None:
        last[ids.decision] = values
        different = values != last[ids.decision]
        return different
    last[ids.decision[kept]] = values[kept]
    different = (values != last[ids.decision]) & kept
    return different


def _check_constant(picked: Coded, ids: Ids, kept: BoolVector | None) -> None:
    rows = _varying(picked, ids, kept)
    if not rows.any():
        return
    wrong = np.zeros(ids.n_decisions, dtype=bool)
    wrong[ids.decision[rows]] = True
    raise DataError(
        "chosen must repeat the label of one option in every row of a decision; "
        f"got different labels at {ids.listed(wrong)}. Repeat one label, or mark rows with 0/1."
    )


def _not_options(
    picked: Coded, as_option: IntVector, options: dict[Any, int], ids: Ids, name: Any
) -> DataError:
    values = python_values(picked.labels)
    known = [str(label) for _, label in options]
    if not (as_option >= 0).any():
        return DataError(
            "chosen must hold 0/1, True/False or the label of the chosen option; "
            f"got {listing(map(repr, values))} in column {name!r}. Convert it to 0/1."
        )
    wrong = np.flatnonzero(as_option[picked.codes] < 0)
    places = listing((f"{picked.at(r)!r} at {ids.place(r)}" for r in wrong[:11]), wrong.size)
    hint = nearest(str(picked.at(wrong[0])), known) or " Correct it."
    return DataError(
        f"chosen must be one of the options {listing(map(repr, known))}; got {places}.{hint}"
    )


def check_one_each(
    flags: BoolVector, labelled: bool, picked: Coded, ids: Ids, kept: BoolVector | None
) -> None:
    """Every decision has one row chosen, and it was on offer."""
    decided = ids.decision if kept is None else ids.decision[kept]
    sizes = np.bincount(decided, minlength=ids.n_decisions)
    marked = flags if kept is None else flags & kept
    counts = np.bincount(ids.decision[marked], minlength=ids.n_decisions)
    none = (counts == 0) & (sizes > 0)
    if none.any():
        raise _none_chosen(none, labelled, picked, ids)
    if (counts > 1).any():
        raise _several_chosen(counts, ids, kept)


def check_on_offer(flags: BoolVector, on_offer: BoolVector | None, ids: Ids) -> None:
    """No row was chosen that was not on offer."""
    if on_offer is None:
        return
    wrong = np.flatnonzero(flags & ~on_offer)
    if wrong.size:
        places = listing((ids.place(row) for row in wrong[:11]), wrong.size)
        raise DataError(
            f"chosen must be an available option; got an unavailable one at {places}. "
            "Mark it available, or drop these decisions."
        )


def _none_chosen(none: BoolVector, labelled: bool, picked: Coded, ids: Ids) -> DataError:
    if not labelled:
        return DataError(
            f"chosen must mark one option of each decision; got none at {ids.listed(none)}. "
            "Mark one, or pass missing='drop_set' to leave these decisions out."
        )
    described = (f"{picked.at(r)!r} at {ids.decision_name(r)}" for r in ids.first_rows(none))
    return DataError(
        "chosen must be one of the options of its decision; "
        f"got {listing(described, int(none.sum()))}. Add its row, or drop these decisions."
    )


def _several_chosen(counts: IntVector, ids: Ids, kept: BoolVector | None) -> DataError:
    wrong = counts > 1
    first = ids.first_rows(wrong)[0]
    return DataError(
        f"chosen must mark one option of each decision; got {counts[ids.decision[first]]} "
        f"at {ids.listed(wrong)}. Mark one.{reused_hint(ids, first)}"
    )


def reused_hint(ids: Ids, row: int) -> str:
    """Hint at reuse where the rows of a decision stand in blocks apart in the table."""
    rows = ids.rows_of(row)
    blocks = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    if len(blocks) < 2 or min(map(len, blocks)) < 2:
        return ""
    spans = listing(f"{ids.row_place(block[0])} to {block[-1]}" for block in blocks)
    number = "two" if len(blocks) == 2 else f"{len(blocks):,}"
    return (
        f" D{ids.decision_name(row)[1:]} appears in {number} blocks ({spans}): if they "
        "are different decisions, name `subject` or more columns in `decision`."
    )
