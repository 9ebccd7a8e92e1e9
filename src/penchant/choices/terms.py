"""Terms made from what is known: constants of options, and a person's attributes by option."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.errors import DataError, listing, nearest
from penchant.tables.numbers import exact_floats
from penchant.wording import argument, either


def option_of_rows(
    option: IntVector | None, labels: tuple[Any, ...] | None, first_row: IntVector
) -> tuple[IntVector, tuple[Any, ...]]:
    """Code of each row's option and the labels; the position in the set where none are given."""
    if option is not None and labels is not None:
        return option, labels
    sizes = np.diff(first_row)
    position = np.arange(first_row[-1]) - np.repeat(first_row[:-1], sizes)
    return position, tuple(range(int(sizes.max())))


def options_compared(
    labels: tuple[Any, ...], options: Sequence[Any] | None, reference: Any
) -> list[int]:
    """Codes of the options that get a column: those named, or all but the reference."""
    typed = either("reference", "--constants")
    if options is None:
        left_out = 0 if reference is None else _code(reference, labels, typed)
        return [i for i in range(len(labels)) if i != left_out]
    if reference is not None:
        raise DataError(
            f"{typed} must not be given together with options; got {reference!r}. Give one of them."
        )
    codes = [_code(label, labels, argument("options")) for label in options]
    if not codes or len(codes) == len(labels) or len(set(codes)) < len(codes):
        raise DataError(
            f"{argument('options')} must name some options, each once, and leave one out to "
            f"compare with; got {listing(map(repr, options)) or 'none'}. The options are "
            f"{listing(map(repr, labels))}."
        )
    return codes


def _code(label: Any, labels: tuple[Any, ...], name: str) -> int:
    if label not in labels:
        raise DataError(
            f"{name} must be among the options {listing(map(repr, labels))}; got "
            f"{label!r}.{nearest(str(label), map(str, labels)) or ' Correct it.'}"
        )
    return labels.index(label)


def indicators(option: IntVector, codes: Sequence[int]) -> Matrix:
    """Columns of 0 and 1: whether each row is that option."""
    return np.where(option[:, None] == np.array(codes), 1.0, 0.0)


def by_indicator(values: Vector, option: IntVector, codes: Sequence[int]) -> Matrix:
    """Columns that hold the row's value for that option and 0 for the others."""
    return np.where(option[:, None] == np.array(codes), values[:, None], 0.0)


def attribute(values: Any, labels: Sequence[Any] | None, codes: IntVector | None, n: int) -> Vector:
    """Return a number per decision, from an array or from a mapping of subjects to numbers."""
    if isinstance(values, Mapping):
        values = _of_subjects(values, labels)[codes]
    array = exact_floats(values, "values", lambda k: f"decision {k}")
    if array.shape != (n,):
        raise DataError(
            f"values must have shape ({n},), one per decision; got shape {array.shape}. "
            "Give a number per decision, or map each subject to one."
        )
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        places = listing((f"{array[k]} at decision {k}" for k in wrong[:11]), wrong.size)
        raise DataError(f"values must be finite; got {places}. Fill or drop these decisions.")
    return array


def _of_subjects(values: Mapping[Any, Any], labels: Sequence[Any] | None) -> Vector:
    if labels is None:
        raise DataError(
            "values must be an array, as the choices name no subjects; got a mapping. "
            "Give a number per decision."
        )
    unknown = [repr(label) for label in labels if label not in values]
    if unknown:
        raise DataError(
            f"values must have a number for every subject; got none for {listing(unknown)}. "
            "Add them, or drop these subjects."
        )
    return exact_floats([values[label] for label in labels], "values")


def constant_in_sets(
    column: Vector, first_row: IntVector, available: BoolVector | None, name: str
) -> Vector:
    """Return the value of each decision of a variable that is the same for all its options."""
    decision = np.repeat(np.arange(len(first_row) - 1), np.diff(first_row))
    rows = np.arange(len(column)) if available is None else np.flatnonzero(available)
    values = np.empty(len(first_row) - 1)
    values[decision[rows]] = column[rows]
    wrong = np.unique(decision[rows[column[rows] != values[decision[rows]]]])
    if wrong.size:
        places = listing((f"decision {k}" for k in wrong[:11]), wrong.size)
        raise DataError(
            f"{name} must be the same for all options of a decision; got different values at "
            f"{places}. "
            + either("Pass `values`, one per decision.", "Give it one value per decision.")
        )
    return values
