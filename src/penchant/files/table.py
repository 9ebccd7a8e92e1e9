"""Tables from files: CSV, Parquet, Arrow or JSON, told apart by their first bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.files import text
from penchant.files.delimited import read_delimited
from penchant.files.lines import check_names
from penchant.files.output import parsed
from penchant.files.text import Kind, Source, source
from penchant.files.workbook import unbooked

# What programs call the object that holds the values proper; its keys are columns themselves.
_UNWRAPPED = ("data", "trialdata")
RECORD = "source record"
DEEPEST = 4
_INTEGERS = 2**63


def read_json_table(source: Source) -> pa.Table:
    """Read a JSON file whose objects are rows.

    Notes
    -----
    Taken are a list of objects; an object, or some, that hold such a list, whose other values are
    repeated in every row; a list of lists, or one list on each line, which are numbered in the
    column "source record"; an object of columns; and one object on each line.
    """
    with source.open() as stream:
        content = stream.read()
    rows = list(_rows(_document(content, source.name), {}))
    if not rows:
        raise DataError(
            f"{source.name} must hold one object per row; got none. Check what wrote it."
        )
    flat = [_flat(row) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    apart = {".".join(name.split(".")[:k]) for name in names for k in range(1, name.count(".") + 1)}
    # null where there might be an object is no column of its own
    empty = {name for name in apart & {*names} if all(row.get(name) is None for row in flat)}
    names = dict.fromkeys(name for name in names if name not in empty)
    return pa.table({name: typed([row.get(name) for row in flat]) for name in names})


def _document(content: bytes, name: str) -> Any:
    """What the file says; objects or lists one on each line make a list."""
    lines = [line for line in content.splitlines() if line.strip()]
    starts = [line.strip()[:1] for line in lines]
    if len(lines) > 1 and len({*starts}) == 1 and starts[0] in (b"{", b"["):
        ends = {line.strip()[-1:] for line in lines}
        if ends <= {b"}", b"]"}:
            return [parsed(line, f"{name}, line {k + 1},") for k, line in enumerate(lines)]
    return parsed(content, name)


def _rows(value: Any, known: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Objects that are rows, each with what is known of all rows around it."""
    if isinstance(value, list):
        lists = [item for item in value if isinstance(item, list)]
        for k, item in enumerate(value):
            numbered = {RECORD: k + 1} if len(lists) > 1 else {}
            if isinstance(item, (list, dict)):
                yield from _rows(item, {**known, **numbered})
        return
    inner = {key: item for key, item in value.items() if _holds_rows(item)}
    if len(inner) == 1:
        key, item = next(iter(inner.items()))
        around = {name: own for name, own in value.items() if name != key}
        yield from _rows(item, {**known, **around})
    elif inner and len(inner) == len(value):
        for key, item in inner.items():
            yield from _rows(item, {**known, RECORD: key})
    elif _is_columns(value):
        for cells in zip(*value.values(), strict=True):
            yield {**known, **dict(zip(value, cells, strict=True))}
    else:
        yield {**known, **value}


def _holds_rows(value: Any) -> bool:
    """Whether a value is a list of objects, or an object that has one."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) for item in value)
    return isinstance(value, dict) and any(map(_holds_rows, value.values()))


def _is_columns(value: Mapping[str, Any]) -> bool:
    """Whether an object holds lists of one length, of plain values: columns."""
    lists = [item for item in value.values() if isinstance(item, list)]
    lengths = {len(item) for item in lists}
    plain = all(not isinstance(cell, (dict, list)) for item in lists for cell in item)
    return len(lists) == len(value) > 1 and len(lengths) == 1 and lengths != {0} and plain


def _flat(row: Mapping[str, Any], stem: str = "", depth: int = 0) -> dict[str, Any]:
    """An object without objects in it: their keys follow theirs after a point."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{stem}{key}"
        if isinstance(value, dict) and value and depth < DEEPEST:
            bare = not stem and key in _UNWRAPPED and not {*value} & {*row}
            found |= _flat(value, "" if bare else f"{name}.", depth + 1)
        elif isinstance(value, (dict, list)):
            found[name] = json.dumps(value, ensure_ascii=False)
        else:
            found[name] = value
    return found


def typed(values: Sequence[Any]) -> pa.Array:
    """Plain values as a column of one type: text where they are of several.

    >>> typed([1, None, 2.5]).type, typed(["a", 2]).to_pylist()
    (DataType(double), ['a', '2'])
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(v is None or -_INTEGERS <= v < _INTEGERS for v in values):
        return pa.array(values, pa.int64())
    exact = all(type(v) is not int or abs(v) <= 2**53 for v in values)
    if kinds <= {int, float} and exact:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


_MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_TITLE = {"parquet": "Parquet", "arrow": "Arrow"}


def read_columnar(source: Source, kind: Kind) -> pa.Table:
    """Read a Parquet or Arrow (Feather) file."""
    magic = _MAGIC[kind]
    end = source.tail(2 * len(magic))
    if len(end) < 2 * len(magic) or not end.endswith(magic):
        raise DataError(
            f"{source.name} must be a whole {_TITLE[kind]} file; got one that is truncated: its "
            "end is missing. Copy or download it again."
        )
    try:
        with _opened(source) as stream:
            table = _read(stream, kind)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise DataError(
            f"{source.name} must be a sound {_TITLE[kind]} file; got a damaged one ({reason}). "
            "Copy or write it again."
        ) from None
    return _checked(source, table)


def _opened(source: Source) -> Any:
    if source.path is None:
        return pa.BufferReader(source.content)
    return pa.OSFile(str(source.path), "rb")


def _read(stream: Any, kind: Kind) -> pa.Table:
    if kind == "parquet":
        return pq.ParquetFile(stream, pre_buffer=True).read()
    return pa.ipc.open_file(stream).read_all()


def _checked(source: Source, table: pa.Table) -> pa.Table:
    check_names(source.name, tuple(table.column_names))
    if table.num_rows == 0:
        raise DataError(
            f"{source.name} must hold at least one row; got 0 rows. Check the filter that wrote it."
        )
    return table


def read_table(
    path: str | os.PathLike[str] | Source,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> pa.Table:
    r"""Read a table from a CSV (also gzipped), Parquet, Arrow, JSON or Excel (xlsx) file.

    Parameters
    ----------
    path
        The file; "-" reads the standard input. Or a `Source` opened before.
    delimiter
        What divides the cells of a CSV file; found among ``, ; | \t`` where none is given.
    decimal
        Decimal point of a CSV file: "." or ",".
    encoding
        Encoding of a CSV file, by its Python name.

    Returns
    -------
    pyarrow.Table

    Notes
    -----
    Empty cells and a single point are missing values, and so are NA, NaN, NULL and None in columns
    of numbers; in columns of text these are text, as somebody may be called so. Whole numbers stay
    whole; a column of whole numbers stays text where some begin with a zero or exceed 64 bits, and
    so do dates. A column without a name is called "column 1" by its place. A JSON file holds one
    object per row, in a list or one on each line; objects in objects become columns of their own,
    lists in objects become text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trips.csv")
    ...     _ = file.write_text("id;cost\n007;1,5\n008;NA\n")
    ...     read_table(file, decimal=",").to_pylist()
    [{'id': '007', 'cost': 1.5}, {'id': '008', 'cost': None}]
    """
    origin = unbooked(source(path))
    kind = text.kind(origin.head(text.HEAD), origin.name)
    if kind == "json":
        table = _checked(origin, read_json_table(origin))
    elif kind in ("csv", "gzip"):
        table = read_delimited(origin, delimiter=delimiter, decimal=decimal, encoding=encoding)
    else:
        table = read_columnar(origin, kind)
    origin.check_unchanged()
    return table
