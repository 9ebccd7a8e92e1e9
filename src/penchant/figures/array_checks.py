"""Validation of the arguments of figures: shapes, lengths, ranges, order of intervals.

Every function returns the checked array or raises `DataError` with the name of the argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError


def as_float_array(name: str, values: Any) -> Matrix:
    """Convert to a float array of any shape; NaN and infinity are allowed."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(values).__name__
        raise DataError(
            name, "must be an array of numbers", got=f"{kind} that is none", fix="Convert it first."
        ) from None


def check_vector(name: str, values: Any, length: int | None = None, item: str = "") -> Vector:
    """Convert to a float vector, of a length where that is given."""
    found = as_float_array(name, values)
    if found.ndim != 1 or (length is not None and len(found) != length):
        rule = (
            "be one-dimensional"
            if length is None
            else f"have shape ({length},), one number per {item}"
        )
        raise DataError(name, f"must {rule}", got=f"shape {found.shape}", fix="Correct its shape.")
    return found


def check_matrix(name: str, values: Any, shape: str, columns: int | None = None) -> Matrix:
    """Convert to a float matrix; `shape` describes it in errors: "(n_subjects, n_decisions)"."""
    found = as_float_array(name, values)
    if found.ndim != 2 or (columns is not None and found.shape[1] != columns):
        raise DataError(name, f"must have shape {shape}", got=found.shape, fix="Correct its shape.")
    return found


def check_intervals(name: str, values: Any, n_items: int, item: str) -> Matrix:
    """Convert to intervals (n_items, 2), low and high; all NaN for None."""
    if values is None:
        return np.full((n_items, 2), np.nan)
    found = as_float_array(name, values)
    if found.shape != (n_items, 2):
        raise DataError(
            name,
            f"must have shape ({n_items}, 2), low and high of each {item}",
            got=found.shape,
            fix="Stack them with np.column_stack([low, high]).",
        )
    wrong = np.flatnonzero(found[:, 0] > found[:, 1])
    if wrong.size:
        low, high = found[wrong[0]]
        raise DataError(
            name,
            "must go from low to high",
            got=f"{low:g} to {high:g} at {item} {wrong[0]}",
            fix="Swap the columns.",
        )
    return found


def check_labels(name: str, values: Any, n_items: int, item: str) -> list[str]:
    """Convert to n_items strings."""
    found = [str(value) for value in values]
    if len(found) != n_items:
        raise DataError(
            name,
            f"must have one label per {item}, {n_items} in all",
            got=len(found),
            fix="Correct it.",
        )
    return found


def values_or_repeated_default(values: Any, n_repeats: int, default: Any) -> Any:
    """Return the values, or the default repeated where there are none."""
    return [default] * n_repeats if values is None or not len(values) else values


def check_option_indices(name: str, values: Any, n_options: int) -> IntVector:
    """Convert to indices of options from 0; -1 is a decision without a choice."""
    found = check_vector(name, values)
    wrong = np.flatnonzero((found != np.floor(found)) | (found < -1) | (found >= n_options))
    if wrong.size:
        raise DataError(
            name,
            f"must lie in 0..{n_options - 1}",
            got=f"{found[wrong[0]]:g}",
            where=f"at decision {wrong[0]}",
            fix="Options are counted from 0; -1 means no choice.",
        )
    return found.astype(np.int64)


def check_proportions(name: str, values: Vector) -> Vector:
    """Refuse numbers outside 0..1; NaN passes as missing."""
    wrong = np.flatnonzero((values < 0) | (values > 1))
    if wrong.size:
        raise DataError(
            name,
            "must lie in 0..1",
            got=f"{values[wrong[0]]:g}",
            where=f"at {wrong[0]}",
            fix="Divide counts by their total.",
        )
    return values


def check_positive(name: str, values: Vector) -> Vector:
    """Refuse finite values at or below 0, which a logarithmic axis cannot show."""
    wrong = np.flatnonzero(np.isfinite(values) & (values <= 0))
    if wrong.size:
        raise DataError(
            name,
            "must be > 0 on a logarithmic axis",
            got=f"{values[wrong[0]]:g}",
            where=f"at {wrong[0]}",
            fix="Use logarithmic=False.",
        )
    return values
