"""Parquet and Arrow files."""

from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.io.header import check_names
from penchant.io.kinds import Kind
from penchant.io.source import Source

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
