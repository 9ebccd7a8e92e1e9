"""One external sort: rows of a subject, or of a decision, that lie here and there, put together."""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs

from penchant._progress import progress
from penchant.errors import DataError, PenchantWarning
from penchant.output.notes import counted
from penchant.scale.stored import FILE, ROW, StoredFile, stamp_of

MEMORY = "1GB"  # beyond which rows go to the disk while they are sorted
MEGABYTE = 1e6


@dataclass(frozen=True)
class Cost:
    """What a sort takes.

    Attributes
    ----------
    n_bytes
        Of the columns, as they are in memory; the disk holds about twice as many for a while.
    """

    n_rows: int
    n_columns: int
    n_bytes: int

    def words(self) -> str:
        """In words."""
        size = max(self.n_bytes / MEGABYTE, 0.1)
        return (
            f"{counted(self.n_rows, 'row')} x {counted(self.n_columns, 'column')}, about "
            f"{size:,.1f} MB, and twice that on the disk for a while"
        )


def cost_of(files: Sequence[StoredFile], columns: Sequence[str]) -> Cost:
    """Rows and bytes that are sorted."""
    n_rows, n_bytes = 0, 0
    for file in files:
        rows = file.group_edges()[-1]
        n_rows += rows
        n_bytes += rows * sum(_width(file.schema().field(name).type) for name in columns)
    return Cost(n_rows, len(columns), n_bytes + 12 * n_rows)


def _width(kind: pa.DataType) -> int:
    try:
        return int(max(kind.bit_width // 8, 1))
    except ValueError:  # text
        return 16


def sorted_copy(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    by: Sequence[str],
    path: Path,
    why: str,
    apart: bool,
) -> StoredFile:
    """A Parquet file with these columns of all files, sorted; made unless it is there already.

    Rows that agree in `by` stay in the order of files and rows, which two more columns hold.
    """
    identity = _identity(files, columns, by)
    marked = path.with_name(f"{path.name}.{identity[:16]}")
    if not marked.exists():
        _sort(files, columns, by, marked, why)
    system = fs.LocalFileSystem()
    here = str(marked.resolve())
    return StoredFile(
        name=str(marked),
        path=here,
        system=system,
        kind="parquet",
        stamp=stamp_of(system, here),
        partition={},
        origins=tuple(file.name for file in files),
        identity=identity,
        apart=apart,
    )


def _identity(files: Sequence[StoredFile], columns: Sequence[str], by: Sequence[str]) -> str:
    words = repr(([file.known_as for file in files], tuple(columns), tuple(by)))
    return hashlib.sha256(words.encode()).hexdigest()


def _sort(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    by: Sequence[str],
    path: Path,
    why: str,
) -> None:
    cost = cost_of(files, columns)
    try:
        duckdb = import_module("duckdb")
    except ImportError as error:
        raise DataError(
            f"{why} must stand together where DuckDB is not installed; got files in which they do "
            f"not. Sort the files by {', '.join(by)}, or install it with "
            f"pip install 'penchant[scale]': it would sort {cost.words()}."
        ) from error
    _check_room(path, cost)
    warnings.warn(
        PenchantWarning(
            f"{why} do not stand together in the files: they are sorted first, {cost.words()}.",
            "sorting",
        ),
        stacklevel=2,
    )
    spilled, unfinished = path.with_suffix(".spill"), path.with_suffix(f".{os.getpid()}")
    order = ", ".join(_quoted(name) for name in (*by, FILE, ROW))
    try:
        with duckdb.connect() as engine:
            engine.execute(f"SET memory_limit = '{MEMORY}'")
            engine.execute(f"SET temp_directory = {_text(spilled)}")
            engine.register("given", _reader(files, columns))
            engine.execute(
                f"COPY (SELECT * FROM given ORDER BY {order}) TO {_text(unfinished)} "
                "(FORMAT parquet)"
            )
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
        shutil.rmtree(spilled, ignore_errors=True)


def _check_room(path: Path, cost: Cost) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if free < 2 * cost.n_bytes:
        raise DataError(
            f"{path.parent} must have room to sort {cost.words()}; got {free / MEGABYTE:,.0f} MB "
            "free. Make room, or sort the files."
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _reader(files: Sequence[StoredFile], columns: Sequence[str]) -> pa.RecordBatchReader:
    """All rows, one group of a file after another, with the file and the row of each."""
    schema = pa.unify_schemas(
        [pa.schema([_plain(file.schema().field(name)) for name in columns]) for file in files],
        promote_options="permissive",
    )
    whole = schema.append(pa.field(FILE, pa.int32())).append(pa.field(ROW, pa.int64()))

    def batches() -> Iterator[pa.RecordBatch]:
        with progress("Sorting", len(files)) as advance:
            for k, file in enumerate(files):
                edges = file.group_edges()
                for begin, end in pairwise(edges):
                    if begin == end:
                        continue
                    table = file.read(columns, begin, end, edges).cast(schema)
                    places: dict[str, Any] = {
                        FILE: pa.repeat(pa.scalar(k, pa.int32()), end - begin),
                        ROW: pa.array(range(begin, end), pa.int64()),
                    }
                    for name, place in places.items():
                        table = table.append_column(name, place)
                    yield from table.to_batches()
                advance(1)

    return pa.RecordBatchReader.from_batches(whole, batches())


def _plain(field: pa.Field) -> pa.Field:
    kind = field.type
    return pa.field(field.name, kind.value_type if pa.types.is_dictionary(kind) else kind)
