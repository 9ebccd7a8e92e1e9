"""Arguments that carry an index of their own, put into one order or refused."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError, format_list, mark_argument
from penchant.files.text_source import MISSING_WORDS

EXACT_INTEGERS = 2**53

Place = Callable[[int], str]


def position(i: int) -> str:
    """Text that names element i of a flat array, for messages."""
    return f"position {i}"


def exact_floats(values: Any, name: str, place: Place = position) -> Matrix:
    """Return `values` as float64, without a copy where they are float64 already.

    Integers beyond 2**53 that float64 cannot hold, text, dates and complex numbers are errors;
    float32 and smaller types are widened, which changes no value.
    """
    array = as_array(values, name)
    kind = array.dtype.kind
    if array.dtype == np.float64:
        return array
    if kind == "b" or (kind == "f" and array.dtype.itemsize <= 8):
        return array.astype(np.float64)
    if kind in "iu":
        return _exact_integers(array, name, place)
    if kind in "OUST":
        return _exact_objects(np.asarray(values, dtype=object), name, place)
    raise DataError(
        name,
        "must hold numbers",
        got=f"dtype {array.dtype}",
        fix="Convert it to float, or leave it out.",
    )


def as_array(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Values as an array of one shape, of whatever type."""
    reject_containers(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        other = next((k for k, n in enumerate(lengths) if n != lengths[0]), 0)
        raise DataError(
            name,
            "must have rows of one length",
            got=f"{lengths[other]} numbers at row {other}, but {lengths[0]} at row 0",
            fix="Give every row the same.",
        ) from None


def reject_containers(values: Any, name: str) -> None:
    """Masked, sparse and lazy containers are refused rather than silently filled."""
    home = type(values).__module__.partition(".")[0]
    if isinstance(values, np.ma.MaskedArray):
        got, advice = "a masked array", "Pass .data, and its mask as `available=~mask`."
    elif home == "scipy" and hasattr(values, "toarray"):
        got, advice = "a sparse matrix", "Convert it with .toarray()."
    elif home == "dask":
        got, advice = "a lazy dask object", "Convert it with .compute()."
    elif hasattr(values, "collect") and hasattr(values, "collect_schema"):
        got, advice = "a lazy table", "Call .collect() first."
    else:
        return
    raise DataError(name, "must be a plain array or table", got=got, fix=advice)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return not isinstance(value, (str, bytes)) and bool(value != value)


def _exact_integers(array: np.ndarray[Any, Any], name: str, place: Place) -> Vector:
    floats = array.astype(np.float64)
    if array.dtype.itemsize < 8 or array.size == 0:
        return floats
    if int(array.min()) >= -EXACT_INTEGERS and int(array.max()) <= EXACT_INTEGERS:
        return floats
    wrong = _rounded(array.ravel(), floats.ravel())
    if not wrong.size:
        return floats
    raise _not_exact([(array.flat[i], place(i)) for i in wrong[:11].tolist()], wrong.size, name)


def _not_exact(cells: Sequence[tuple[Any, str]], total: int, name: str) -> DataError:
    places = format_list((f"{value} at {where}" for value, where in cells), total)
    return DataError(
        name,
        "must hold numbers that float64 can represent",
        got=places,
        fix="Subtract a constant or rescale it first.",
    )


def _rounded(integers: np.ndarray[Any, Any], floats: Vector) -> IntVector:
    # the largest integers round up to a power of two that their own type cannot hold
    fits = floats < float(2 ** (63 if integers.dtype.kind == "i" else 64))
    back = np.where(fits, floats, 0.0).astype(integers.dtype)
    return np.flatnonzero(~fits | (back != integers))


def _exact_objects(array: np.ndarray[Any, Any], name: str, place: Place) -> Vector:
    floats = np.empty(array.shape, dtype=np.float64)
    flat = floats.reshape(-1)
    wrong = []
    for i, value in enumerate(array.ravel()):
        number = _exact_number(value)
        if number is None:
            wrong.append(i)
        else:
            flat[i] = number
    if wrong:
        wrong = _culprits(array, wrong)
        cells = [(array.flat[i], place(i)) for i in wrong[:11]]
        rounded = all(isinstance(value, (int, Decimal)) for value, _ in cells)
        raise (_not_exact if rounded else _not_numbers)(cells, len(wrong), name)
    return floats


def _culprits(array: np.ndarray[Any, Any], wrong: list[int]) -> list[int]:
    """The cells that keep a column from being numbers: not those that it made text of numbers."""
    given = [i for i in wrong if str(array.flat[i]).strip() not in MISSING_WORDS]
    return [i for i in given if not _reads_as_number(array.flat[i])] or wrong


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return isinstance(value, str)


def _exact_number(value: Any) -> float | None:
    if is_missing(value):
        return float("nan")
    if isinstance(value, (str, bytes, complex, np.datetime64, np.timedelta64)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if isinstance(value, Decimal) and abs(value) < EXACT_INTEGERS:
        return number
    return None if isinstance(value, (int, Decimal)) and int(number) != value else number


def _not_numbers(cells: Sequence[tuple[Any, str]], total: int, name: str) -> DataError:
    places = format_list((f"{value!r} at {place}" for value, place in cells), total)
    return DataError(name, "must hold numbers", got=places, fix=text_advice(cells[0][0]))


def text_advice(value: Any) -> str:
    """Say what to do about a cell that should have been a number.

    >>> from penchant.errors import format_for_python
    >>> format_for_python(text_advice("1,5"))
    "It looks like decimal comma; pass decimal=',' when reading."
    """
    text = str(value).strip()
    if re.fullmatch(r"[+-]?[\d.]*,\d+", text):
        return f"It looks like decimal comma; pass {mark_argument('decimal', ',')} when reading."
    if re.fullmatch(r"[+-]?\d{1,3}([ '_\u00a0\u202f]\d{3})+([.,]\d+)?", text):
        return "It looks like a thousands separator; remove it."
    if re.fullmatch(r"[+-]?[\d.,]+\s*%", text):
        return "It looks like a percentage; remove the sign and divide by 100."
    if re.fullmatch(r"[+-]?\d+\.?\d*([eE][+-]?\d+)?", text) and isinstance(value, str):
        return "It looks like a number stored as text; convert the column to float."
    return "Convert or remove these cells."


def aligned(arguments: dict[str, Any]) -> dict[str, Any]:
    """Put pandas arguments into the order of the first that has an index.

    Their indexes must hold the same labels, each once; equal indexes are taken as they are.
    """
    indexed = [name for name, values in arguments.items() if _has_index(values)]
    if len(indexed) < 2:
        return arguments
    first = arguments[indexed[0]].index
    ordered = {name: _in_order(name, arguments[name], indexed[0], first) for name in indexed[1:]}
    return arguments | ordered


def _has_index(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "reindex")


def _in_order(name: str, values: Any, leader: str, index: Any) -> Any:
    if index.equals(values.index):
        return values
    for who, labels in ((leader, index), (name, values.index)):
        if not labels.is_unique:
            twice = format_list(map(repr, labels[labels.duplicated()].unique()))
            raise DataError(
                who,
                "must have an index without repeats to be aligned",
                got=f"{twice} more than once",
                fix="Call .reset_index(drop=True), or pass .to_numpy().",
            )
    odd = index.symmetric_difference(values.index, sort=False)
    if len(odd):
        raise DataError(
            name,
            f"must have the same index labels as {leader}",
            got=f"{format_list(map(repr, odd))} in only one of them",
            fix="Select the same decisions in both, or pass .to_numpy().",
        )
    return values.reindex(index)
