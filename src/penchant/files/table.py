"""Tables from files: CSV, Parquet, Arrow or JSON, told apart by their first bytes."""

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.files import text
from penchant.files.delimited import read_delimited
from penchant.files.json_table import read_json_table
from penchant.files.lines import check_names
from penchant.files.source import Source, source
from penchant.files.text import Kind
from penchant.files.workbook import unbooked

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
