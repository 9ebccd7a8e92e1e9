"""Numbers as they come, converted to float64 exactly or not at all."""

from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError, listing

EXACT_INTEGERS = 2**53


def exact_floats(values: Any, name: str) -> Vector:
    """Return `values` as float64, without a copy where they are float64 already.

    Integers beyond 2**53 that float64 cannot hold, text, dates and complex numbers are errors;
    float32 and smaller types are widened, which changes no value.
    """
    array = np.asarray(values)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8):
        return array.astype(np.float64)
    if array.dtype.kind in "iu":
        return _exact_integers(array, name)
    if array.dtype.kind == "O":
        return _exact_objects(array, name)
    raise DataError(
        f"{name} must hold numbers; got dtype {array.dtype}. Convert it to float, or leave it out."
    )


def _exact_integers(array: np.ndarray[Any, Any], name: str) -> Vector:
    floats = array.astype(np.float64)
    if array.dtype.itemsize < 8 or array.size == 0:
        return floats
    if -EXACT_INTEGERS <= int(array.min()) and int(array.max()) <= EXACT_INTEGERS:
        return floats
    flat, flat_floats = array.ravel(), floats.ravel()
    wrong = [i for i in range(flat.size) if int(flat_floats[i]) != int(flat[i])]
    if not wrong:
        return floats
    places = listing(f"{int(flat[i])} at position {i}" for i in wrong)
    raise DataError(
        f"{name} must hold numbers that float64 can represent; got {places}. "
        "Subtract a constant or rescale it first."
    )


def _exact_objects(array: np.ndarray[Any, Any], name: str) -> Vector:
    floats = np.empty(array.shape, dtype=np.float64)
    flat, flat_floats = array.ravel(), floats.reshape(-1)
    wrong: list[str] = []
    for i, value in enumerate(flat):
        if value is None:
            flat_floats[i] = np.nan
        elif isinstance(value, (str, bytes, complex)):
            wrong.append(f"{value!r} at position {i}")
        else:
            try:
                flat_floats[i] = float(value)
            except (TypeError, ValueError):
                wrong.append(f"{value!r} at position {i}")
    if wrong:
        raise DataError(
            f"{name} must hold numbers; got {listing(wrong)}. Convert or remove these cells."
        )
    return floats
