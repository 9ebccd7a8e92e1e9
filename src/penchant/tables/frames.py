"""Columns of a pandas, polars or pyarrow table: found by name, read as numbers or labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from penchant._typing import BoolVector, Vector
from penchant.errors import DataError, listing, named, nearest
from penchant.tables.labels import (
    NONE_MISSING,
    Coded,
    arrow_codes,
    float_codes,
    integer_codes,
    object_codes,
)
from penchant.tables.numbers import exact_floats, reject_containers
from penchant.wording import argument, either

Table = nw.DataFrame[Any]


def row_place(row: int) -> str:
    """Where a row is in the table, counted from 0."""
    return f"row {row}"


def open_frame(frame: Any) -> Table:
    """Return the table, if it is one and has rows."""
    reject_containers(frame, either("frame", "The table"))
    try:
        table: Table = nw.from_native(frame, eager_only=True)
    except DuplicateError as error:
        raise DataError(
            f"{either('frame', 'The table')} must have columns of different names; got "
            f"{_repeated(frame)} more than once. Rename or drop one."
        ) from error
    except TypeError as error:
        raise DataError(
            f"{either('frame', 'The table')} must be a pandas, polars or pyarrow table; got "
            f"{type(frame).__name__}. Convert it, e.g. with pandas.DataFrame."
        ) from error
    if not len(table):
        raise DataError(
            f"{either('frame', 'The table')} must hold at least one row; got 0 rows, so 0 "
            "decisions. Check the file, or the filter that removed them."
        )
    return table


def _repeated(frame: Any) -> str:
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    return listing(dict.fromkeys(repr(name) for name in names if names.count(name) > 1))


def check_columns(table: Table, roles: Mapping[str, Sequence[Any]]) -> None:
    """Every column named exists."""
    present = list(table.columns)
    unknown = [(role, name) for role, names in roles.items() for name in names]
    unknown = [(role, name) for role, name in unknown if name not in present]
    if not unknown:
        return
    first = unknown[0][0]
    got = listing(f"{name!r} for {role}" for role, name in unknown)
    hints = (nearest(str(name), map(str, present)) for _, name in unknown)
    raise DataError(
        f"{first if '[' in first else argument(first)} must name a column of the table; got {got}, "
        f"but the columns are {named(present)}.{next(filter(None, hints), ' Correct the name.')}"
    )


def check_roles(roles: Mapping[str, Sequence[Any]]) -> None:
    """No column plays two parts that exclude each other."""
    played: dict[Any, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in played:
                raise DataError(
                    f"{role} must not use a column twice; got {name!r}, which is used for "
                    f"{played[name]} already. Give each its own column."
                )
            played[name] = role


def column_labels(
    table: Table, name: Any, role: str, is_nothing: Callable[[str], bool] | None = None
) -> Coded:
    """Read a column as labels in sorted order; words for nothing may stand beside numbers."""
    series = table[name]
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return _integer_labels(series)
    if dtype.is_float():
        return float_codes(series.to_numpy())
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Boolean) or dtype.is_temporal():
        try:
            return arrow_codes(series.to_arrow())
        except (TypeError, ValueError):
            return object_codes(series.to_list(), role, is_nothing)
    return object_codes(series.to_list(), role, is_nothing)


def _integer_labels(series: Any) -> Coded:
    missing = NONE_MISSING
    if series.null_count():
        missing = np.flatnonzero(series.is_null().to_numpy())
        series = series.fill_null(series.max() if len(missing) < len(series) else 0)
    return Coded(*integer_codes(series.to_numpy()), missing)


def column_floats(table: Table, name: Any, role: str) -> Vector:
    """Read a column as float64, missing cells as NaN; not copied where it is float64 already."""
    series = table[name]
    dtype = series.dtype
    label = f"{role} {name!r}"
    if dtype.is_float():
        return exact_floats(series.to_numpy(), label, row_place)
    if dtype.is_integer() or dtype == nw.Boolean:
        return _filled_floats(series, label)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object) or dtype.is_decimal():
        return exact_floats(_objects(series.to_list()), label, row_place)
    raise DataError(
        f"{label} must hold numbers; got dtype {dtype}. Convert it to float, or leave it out."
    )


def read_floats(table: Table, named: Sequence[tuple[str, Any]]) -> dict[tuple[str, Any], Vector]:
    """Columns of numbers by part and name; all that hold something else are named at once."""
    numbers, wrong = {}, []
    for role, name in named:
        try:
            numbers[role, name] = column_floats(table, name, role)
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        raise DataError(" ".join(wrong))
    return numbers


def _filled_floats(series: Any, label: str) -> Vector:
    if not series.null_count():
        return exact_floats(_plain_numpy(series), label, row_place)
    missing = series.is_null().to_numpy()
    zero = False if series.dtype == nw.Boolean else 0
    floats = exact_floats(_plain_numpy(series.fill_null(zero)), label, row_place)
    floats[missing] = np.nan
    return floats


def _plain_numpy(series: Any) -> Any:
    values = series.to_numpy()
    if values.dtype == object:
        return values.astype(bool) if series.dtype == nw.Boolean else values
    return values


def _objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def column_flags(table: Table, name: Any, role: str) -> BoolVector:
    """Read a column of True/False or 0/1."""
    series = table[name]
    coded = column_labels(table, name, role)
    values = coded.labels.tolist()
    if coded.missing.size:
        places = listing(map(row_place, coded.missing[:11].tolist()), coded.missing.size)
        raise DataError(
            f"{role} {name!r} must not be missing; got an empty cell at {places}. "
            "Fill it with 0 or 1."
        )
    if not all(type(value) in (int, bool) and value in (0, 1) for value in values):
        raise DataError(
            f"{role} {name!r} must hold True/False or 0/1; got {listing(map(repr, values))} "
            f"(dtype {series.dtype}). Convert it."
        )
    return np.array(values, dtype=bool)[coded.codes]
