"""Batches of whole subjects, as spans of rows of files.

Files in which the rows of a subject are scattered are first sorted by an external merge sort, which
DuckDB does within a fixed memory limit, into a copy that remembers the file and row of each row.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as fs

from penchant.errors import DataError, PenchantWarning
from penchant.result_tables import format_count, progress
from penchant.scale.data_files import (
    SOURCE_FILE_COLUMN,
    SOURCE_ROW_COLUMN,
    StoredFile,
    size_and_mtime,
)
from penchant.scale.rows_to_choices import (
    FileRows,
    check_no_empty_cells,
    decision_starts,
    decoded_array,
    exact_float_column,
)

_ROW_IN_MESSAGE = re.compile(r"\brow (\d+)\b")


@dataclass(frozen=True)
class FileRowRange:
    """Rows begin..end of a file, whose groups of rows begin at `row_group_edges`."""

    file: StoredFile
    begin: int
    end: int
    row_group_edges: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Identifies these rows, in another process, too, to tell whether they have changed."""
        return (*self.file.fingerprint, self.begin, self.end)

    def read(self, names: Sequence[str]) -> FileRows:
        """Read these columns; from a sorted copy also each row's origin."""
        source_names = self.file.source_names
        more = [
            name
            for name in (SOURCE_FILE_COLUMN, SOURCE_ROW_COLUMN)
            if source_names and name not in names
        ]
        table = self.file.read([*names, *more], self.begin, self.end, self.row_group_edges)
        return FileRows(table, self.file.name, self.begin, source_names)


def concat_rows(parts: Sequence[FileRows], names: Sequence[str]) -> pa.Table:
    """Concatenate rows into one table; a number column has the widest type of its parts."""
    for name in names:
        kinds = {part.table.schema.field(name).type for part in parts}
        if any(map(pa.types.is_floating, kinds)):
            for part in parts:
                _check_exact_floats(part, name)
    tables = [part.table.select(list(names)) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]


def _check_exact_floats(rows: FileRows, name: str) -> None:
    """Refuse whole numbers that would be rounded beside those of another file."""
    if pa.types.is_integer(rows.table.schema.field(name).type):
        exact_float_column(rows, name, "column")


def locate_row(parts: Sequence[FileRows], row: int) -> str:
    """Words for the file and row that a row of the concatenated table comes from."""
    for part in parts:
        if row < len(part.table):
            return part.locate(row)
        row -= len(part.table)
    return f"row {row}"


@contextmanager
def locate_errors_in_files(parts: Sequence[FileRows]) -> Iterator[None]:
    """Reword errors about rows of the concatenated table to name files and their rows."""
    try:
        yield
    except DataError as error:
        located = error.rephrase(
            lambda text: _ROW_IN_MESSAGE.sub(lambda match: locate_row(parts, int(match[1])), text)
        )
        if located.text == error.text:  # it names no row, so the files are all that can be named
            located.fix += f" In {', '.join(dict.fromkeys(part.file for part in parts))}."
        raise located from None


SORT_MEMORY = "1GB"  # DuckDB spills to the disk beyond it: small machines can sort, too
BYTES_PER_MEGABYTE = 1e6  # decimal, as sizes of disks are told
# An int32 for the file and an int64 for the row; they count in the disk space needed.
SOURCE_BYTES_PER_ROW = 12
TEXT_BYTES = 16  # a guess, as the length of text is not known before it is read


@dataclass(frozen=True)
class SortCost:
    """Rows, columns and bytes of a sort.

    Attributes
    ----------
    n_bytes
        Of the columns, as they are in memory; the disk holds about twice as many for a while.
    """

    n_rows: int
    n_columns: int
    n_bytes: int

    def summary(self) -> str:
        """Size for messages."""
        size = max(self.n_bytes / BYTES_PER_MEGABYTE, 0.1)
        return (
            f"{format_count(self.n_rows, 'row')} x {format_count(self.n_columns, 'column')}, about "
            f"{size:,.1f} MB, and twice that on the disk for a while"
        )


def sort_cost(files: Sequence[StoredFile], columns: Sequence[str]) -> SortCost:
    """Estimate the size of a sort from types and counts, without reading a row."""
    n_rows, n_bytes = 0, 0
    for file in files:
        rows = file.group_edges()[-1]
        n_rows += rows
        n_bytes += rows * sum(_bytes_per_value(file.schema().field(name).type) for name in columns)
    return SortCost(n_rows, len(columns), n_bytes + SOURCE_BYTES_PER_ROW * n_rows)


def _bytes_per_value(kind: pa.DataType) -> int:
    try:
        return int(max(kind.bit_width // 8, 1))
    except ValueError:  # text and binary types have no fixed width
        return TEXT_BYTES


def sorted_copy(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    by: Sequence[str],
    path: Path,
    unsorted_rows: str,
    separate_decisions: bool,
) -> StoredFile:
    """Parquet file with these columns of all files, sorted by `by`; reused if it exists already.

    FileRows that agree in `by` stay in the order of files and rows, which two more columns hold.
    """
    # The hash is part of the name: a copy of files that have changed since is not reused.
    content_hash = _content_hash(files, columns, by)
    hashed = path.with_name(f"{path.name}.{content_hash[:16]}")
    if not hashed.exists():
        _write_sorted(files, columns, by, hashed, unsorted_rows)
    system = fs.LocalFileSystem()
    here = str(hashed.resolve())
    return StoredFile(
        name=str(hashed),
        path=here,
        system=system,
        kind="parquet",
        stamp=size_and_mtime(system, here),
        partition={},
        source_names=tuple(file.name for file in files),
        content_hash=content_hash,
        are_decisions_per_file=separate_decisions,
    )


def _content_hash(files: Sequence[StoredFile], columns: Sequence[str], by: Sequence[str]) -> str:
    words = repr(([file.fingerprint for file in files], tuple(columns), tuple(by)))
    return hashlib.sha256(words.encode()).hexdigest()


def _write_sorted(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    by: Sequence[str],
    path: Path,
    unsorted_rows: str,
) -> None:
    cost = sort_cost(files, columns)
    try:
        duckdb = import_module("duckdb")
    except ImportError as error:
        raise DataError(
            unsorted_rows,
            "must stand together where DuckDB is not installed",
            got="files in which they do not",
            fix=(
                f"Sort the files by {', '.join(by)}, or install it with pip install "
                f"'penchant[scale]': it would sort {cost.summary()}."
            ),
        ) from error
    _check_disk_space(path, cost)
    warnings.warn(
        PenchantWarning(
            f"{unsorted_rows} do not stand together in the files: they are sorted first, "
            f"{cost.summary()}.",
            "sorting",
        ),
        stacklevel=2,
    )
    # Written under another name and renamed, so that a copy that exists is complete.
    spilled, unfinished = path.with_suffix(".spill"), path.with_suffix(f".{os.getpid()}")
    order = ", ".join(
        _sql_identifier(name) for name in (*by, SOURCE_FILE_COLUMN, SOURCE_ROW_COLUMN)
    )
    refused: list[DataError] = []
    try:
        with duckdb.connect() as engine:
            engine.execute(f"SET memory_limit = '{SORT_MEMORY}'")
            engine.execute(f"SET temp_directory = {_sql_string(spilled)}")
            engine.register("given", _stream_rows(files, columns, refused))
            engine.execute(
                f"COPY (SELECT * FROM given ORDER BY {order}) TO {_sql_string(unfinished)} "
                "(FORMAT parquet)"
            )
        os.replace(unfinished, path)
    except duckdb.Error:
        if refused:
            raise refused[0] from None
        raise
    finally:
        unfinished.unlink(missing_ok=True)
        shutil.rmtree(spilled, ignore_errors=True)


def _check_disk_space(path: Path, cost: SortCost) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if free < 2 * cost.n_bytes:  # DuckDB spills all rows before it writes the copy
        raise DataError(
            str(path.parent),
            f"must have room to sort {cost.summary()}",
            got=f"{free / BYTES_PER_MEGABYTE:,.0f} MB free",
            fix="Make room, or sort the files.",
        )


def _sql_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_string(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _stream_rows(
    files: Sequence[StoredFile], columns: Sequence[str], collected_errors: list[DataError]
) -> pa.RecordBatchReader:
    """Stream all rows with the file and row of each; errors are added to `collected_errors`."""
    schema = pa.unify_schemas(
        [
            pa.schema([_without_dictionary(file.schema().field(name)) for name in columns])
            for file in files
        ],
        promote_options="permissive",
    )
    whole = schema.append(pa.field(SOURCE_FILE_COLUMN, pa.int32())).append(
        pa.field(SOURCE_ROW_COLUMN, pa.int64())
    )

    def record_batches() -> Iterator[pa.RecordBatch]:
        with progress("Sorting", len(files)) as advance:
            for k, file in enumerate(files):
                edges = file.group_edges()
                for begin, end in pairwise(edges):
                    if begin == end:
                        continue
                    table = file.read(columns, begin, end, edges)
                    try:
                        for name in columns:
                            if pa.types.is_floating(schema.field(name).type):
                                _check_exact_floats(FileRows(table, file.name, begin), name)
                    except DataError as error:
                        # Kept, as DuckDB passes on its text only, not the exception.
                        collected_errors.append(error)
                        raise
                    # Floats are checked above; `safe` would refuse values that the checks allow.
                    table = table.cast(schema, safe=False)
                    places: dict[str, Any] = {
                        SOURCE_FILE_COLUMN: pa.repeat(pa.scalar(k, pa.int32()), end - begin),
                        SOURCE_ROW_COLUMN: pa.array(range(begin, end), pa.int64()),
                    }
                    for name, place in places.items():
                        table = table.append_column(name, place)
                    yield from table.to_batches()
                advance(1)

    return pa.RecordBatchReader.from_batches(whole, record_batches())


def _without_dictionary(field: pa.Field) -> pa.Field:
    kind = field.type
    # Some files may encode text by a dictionary and others not, while the sort needs one type.
    return pa.field(field.name, kind.value_type if pa.types.is_dictionary(kind) else kind)


@dataclass(frozen=True)
class SubjectBatch:
    """Spans that hold all rows of some subjects, and no others."""

    spans: tuple[FileRowRange, ...]
    n_subjects: int

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Identifies these rows, in another process, too, to tell whether they have changed."""
        return tuple(span.fingerprint for span in self.spans)


@dataclass(frozen=True)
class BatchLimits:
    """Rows and subjects at which a batch is full; the last subject is still taken whole."""

    rows: int
    subjects: int


def subject_batches(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    subject: str,
    limits: BatchLimits,
    folder: Path,
) -> tuple[SubjectBatch, ...]:
    """Divide the files into batches of whole subjects.

    If rows of a subject do not stand together, a sorted copy of `columns` is made in `folder`.
    """
    found = _BatchBuilder(subject, limits)
    with progress("Looking for subjects", len(files)) as advance:
        for file in files:
            found.add_file(file)
            advance(1)
    if not found.has_repeated_subjects():
        return found.batches()
    path = folder / "sorted.parquet"
    copy = sorted_copy(
        files, columns, [subject], path, "rows of a subject", separate_decisions=True
    )
    rebuilt = _BatchBuilder(subject, limits)
    rebuilt.add_file(copy)
    return rebuilt.batches()


@dataclass
class _BatchBuilder:
    """Batches of the subjects read so far.

    For every run of rows of one subject only a key of 8 or 16 bytes is kept, so that millions of
    subjects fit in memory; a key that occurs twice means that a subject's rows are scattered.
    """

    subject: str
    limits: BatchLimits
    last: Any = None
    keys: list[Any] = field(default_factory=list)
    closed_batches: list[SubjectBatch] = field(default_factory=list)
    spans: list[FileRowRange] = field(default_factory=list)
    n_subjects: int = 0
    n_rows: int = 0

    def add_file(self, file: StoredFile) -> None:
        """Add the subjects of a file, reading their column one row group at a time."""
        edges = tuple(file.group_edges())
        begin = 0
        for first, end in pairwise(edges):
            if first == end:
                continue
            table = file.read([self.subject], first, end, edges)
            check_no_empty_cells(FileRows(table, file.name, first), self.subject, "subject")
            starts = decision_starts(table, [self.subject])
            column = decoded_array(table[self.subject])
            labels = column.take(pa.array(starts))
            # A subject who goes on from the row group or file before must not be counted twice.
            if self.last is not None and labels[0].as_py() == self.last:
                starts, labels = starts[1:], labels.slice(1)
            self.keys.append(_integer_or_hash_keys(labels))
            for start in (starts + first).tolist():
                if self._is_full(start - begin):
                    self._add(file, begin, start, edges)
                    self._close_batch()
                    begin = start
                self.n_subjects += 1
            self.last = column[len(column) - 1].as_py()
        self._add(file, begin, edges[-1], edges)  # the batch stays open: files may be small

    def _is_full(self, n_more: int) -> bool:
        many = self.n_rows + n_more >= self.limits.rows or self.n_subjects >= self.limits.subjects
        return self.n_subjects > 0 and many

    def _add(self, file: StoredFile, begin: int, end: int, edges: tuple[int, ...]) -> None:
        if end > begin:
            self.spans.append(FileRowRange(file, begin, end, edges))
            self.n_rows += end - begin

    def _close_batch(self) -> None:
        if self.spans:
            self.closed_batches.append(SubjectBatch(tuple(self.spans), self.n_subjects))
        self.spans, self.n_subjects, self.n_rows = [], 0, 0

    def has_repeated_subjects(self) -> bool:
        """Whether rows of some subject are separated by those of others."""
        if not self.keys:
            return False
        keys = np.concatenate(self.keys)
        return len(np.unique(keys)) < len(keys)

    def batches(self) -> tuple[SubjectBatch, ...]:
        """Close the last batch and return all."""
        self._close_batch()
        if not self.closed_batches:
            raise DataError(
                "path", "must name files with rows", got="0 rows in all", fix="Check the filter."
            )
        return tuple(self.closed_batches)


def _integer_or_hash_keys(labels: pa.Array) -> Any:
    """Short keys of labels: integers themselves, else hashes of 128 bits, which never collide."""
    if pa.types.is_integer(labels.type):
        return np.asarray(labels.cast(pa.int64()).to_numpy(zero_copy_only=False))
    # repr, as the subjects 1 and "1" are different, but equal as text.
    words = [repr(label).encode() for label in labels.to_pylist()]
    short = b"".join(hashlib.blake2b(word, digest_size=16).digest() for word in words)
    return np.frombuffer(short, dtype="V16").view([("a", np.uint64), ("b", np.uint64)])
