"""Options on offer: a mask of rows, and choices that respect it."""

from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.choices.exact import as_array, exact_floats
from penchant.errors import DataError, listing


def available_mask(
    available: Any, shape: tuple[int, int] | None, first_row: IntVector
) -> BoolVector | None:
    """Mask of the rows on offer, or None where all are; every decision has one."""
    if available is None:
        return None
    mask = _truth(one_by_one(available, "available", first_row))
    n_rows = int(first_row[-1])
    if mask.shape not in {(n_rows,), shape}:
        raise DataError(
            f"available must have shape {shape or (n_rows,)}; got shape {mask.shape}. "
            "Give one flag per option of each decision."
        )
    mask = np.ascontiguousarray(mask).reshape(-1)
    empty = np.flatnonzero(~np.logical_or.reduceat(mask, first_row[:-1]))
    if empty.size:
        places = listing((f"decision {k}" for k in empty[:11]), empty.size)
        raise DataError(
            f"available must leave an option in every decision; got none at {places}. "
            "Mark the options on offer, or drop these decisions."
        )
    return None if mask.all() else mask


def one_by_one(values: Any, name: str, first_row: IntVector) -> Any:
    """One value per option given as a list per decision, one after another; others unchanged."""
    if not isinstance(values, (list, tuple)) or not all(hasattr(v, "__len__") for v in values):
        return values
    sizes, lengths = np.diff(first_row), [len(row) for row in values]
    if len(set(lengths)) < 2:
        return values
    for k, (length, size) in enumerate(zip(lengths, sizes, strict=False)):
        if length != size:
            raise DataError(
                f"{name} must give every decision one value per option; got {length} at decision "
                f"{k}, which has {size} options. Give one list per decision."
            )
    if len(lengths) != len(sizes):
        raise DataError(
            f"{name} must have one list per decision ({len(sizes)}); got {len(lengths)}. "
            "Give one value per option of each decision."
        )
    return [value for row in values for value in row]


def _truth(available: Any) -> BoolVector:
    mask: BoolVector = as_array(available, "available")
    if mask.dtype == bool:
        return mask
    numbers = exact_floats(available, "available")
    odd = np.unique(numbers[(numbers != 0) & (numbers != 1)])
    if odd.size:
        raise DataError(
            f"available must hold True or False; got {listing(map(str, odd))}. "
            "Use a boolean mask (n_decisions, n_options)."
        )
    mask = numbers != 0
    return mask


def check_available(chosen: IntVector, available: BoolVector | None, first_row: IntVector) -> None:
    """Every chosen option was on offer."""
    if available is None:
        return
    missing = np.flatnonzero(~available[first_row[:-1] + chosen])
    if missing.size:
        places = listing((f"decision {k}" for k in missing[:11]), missing.size)
        raise DataError(
            f"chosen must be an available option; got an unavailable one at {places}. "
            "Mark it available, or drop these decisions."
        )


def available_counts(available: BoolVector, first_row: IntVector) -> IntVector:
    """Number of options on offer in each decision."""
    return np.add.reduceat(available.astype(np.int64), first_row[:-1])
