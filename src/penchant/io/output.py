"""Results out: text, and tables as CSV, Parquet or JSON by the name of the file."""

import json
import os
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.io.atomic import check_writable, written

__all__ = ["check_table_name", "check_writable", "write_table", "write_text"]

TABLES = (".csv", ".parquet", ".json")


def write_text(path: str | os.PathLike[str], text: str, *, overwrite: bool) -> None:
    """Write text as UTF-8, whole or not at all.

    Parameters
    ----------
    path
        The file.
    text
        What it shall hold.
    overwrite
        Whether it may replace an existing file.
    """
    with written(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(text.encode())


def check_table_name(path: str | os.PathLike[str]) -> str:
    """Return the kind of table that the name of a file asks for; refuse others."""
    suffix = Path(os.fsdecode(path)).suffix.lower()
    if suffix in TABLES:
        return suffix
    raise DataError(
        f"output must end in {', '.join(TABLES[:-1])} or {TABLES[-1]}; "
        f"got {os.fsdecode(path)}. Choose one of them."
    )


def write_table(path: str | os.PathLike[str], frame: Any, *, overwrite: bool) -> None:
    """Write a table as CSV, Parquet or JSON (a list of rows), whole or not at all.

    Parameters
    ----------
    path
        The file; its ending says which.
    frame
        An Arrow table, or a data frame of pandas or polars.
    overwrite
        Whether it may replace an existing file.

    Notes
    -----
    In CSV all text is quoted and no number is; missing values and NaN are empty cells. Text is
    never altered, so that what is read back is what was written.
    """
    suffix = check_table_name(path)
    data = nw.from_native(frame, eager_only=True)
    table = data.to_arrow().select(data.columns)  # without an index that pandas adds
    with written(path, overwrite=overwrite) as temporary:
        _WRITERS[suffix](table, temporary)


def _write_csv(table: pa.Table, file: Path) -> None:
    # Python's own stream, as Arrow's does not report a full disk on every system.
    with file.open("wb") as stream:
        pa_csv.write_csv(without_nan(_plain_text(table)), stream)


def _write_parquet(table: pa.Table, file: Path) -> None:
    with file.open("wb") as stream:
        pq.write_table(table, stream)


def _write_json(table: pa.Table, file: Path) -> None:
    rows = without_nan(table, infinite=True).to_pylist()
    text = json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    file.write_bytes(text.encode() + b"\n")


def _plain_text(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, plain)
    return table


def without_nan(table: pa.Table, infinite: bool = False) -> pa.Table:
    """The table with empty cells where numbers are NaN, or infinite, if asked."""
    for place, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(place)
            known = pc.is_finite(column) if infinite else pc.invert(pc.is_nan(column))
            nothing = pa.scalar(None, field.type)
            table = table.set_column(place, field.name, pc.if_else(known, column, nothing))
    return table


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
