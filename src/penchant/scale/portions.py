"""Where the rows of each subject are: spans of files, sorted if they lie apart, in portions."""

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
from penchant.output import format_count, progress
from penchant.scale.chunk_rows import Rows, check_present, exact_column, plain, starts_of
from penchant.scale.stored import FILE, ROW, StoredFile, stamp_of

_ROW = re.compile(r"\brow (\d+)\b")


@dataclass(frozen=True)
class Span:
    """Rows begin..end of a file, whose groups of rows begin at `edges`.

    Attributes
    ----------
    size
        Rows of each decision, where all here have as many and it is known; else 0.
    """

    file: StoredFile
    begin: int
    end: int
    edges: tuple[int, ...]
    size: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def known_as(self) -> tuple[object, ...]:
        """What tells whether these are the rows of before."""
        return (*self.file.known_as, self.begin, self.end)

    def read(self, names: Sequence[str], places: bool = True) -> Rows:
        """These columns; and of a sorted copy where its rows come from, if these places matter."""
        origins = self.file.origins if places else ()
        more = [name for name in (FILE, ROW) if origins and name not in names]
        table = self.file.read([*names, *more], self.begin, self.end, self.edges)
        return Rows(table, self.file.name, self.begin, origins)


def joined(parts: Sequence[Rows], names: Sequence[str]) -> pa.Table:
    """All rows in one table, numbers of several types as the widest of them."""
    for name in names:
        kinds = {part.table.schema.field(name).type for part in parts}
        if any(map(pa.types.is_floating, kinds)):
            for part in parts:
                _check_exact(part, name)
    tables = [part.table.select(list(names)) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]


def _check_exact(rows: Rows, name: str) -> None:
    """Refuse whole numbers that would be rounded beside those of another file."""
    if pa.types.is_integer(rows.table.schema.field(name).type):
        exact_column(rows, name, "column")


def place_in(parts: Sequence[Rows], row: int) -> str:
    """Where a row of the joined table is."""
    for part in parts:
        if row < len(part.table):
            return part.place(row)
        row -= len(part.table)
    return f"row {row}"


@contextmanager
def located(parts: Sequence[Rows]) -> Iterator[None]:
    """Errors about rows of the joined table as errors about rows of files."""
    try:
        yield
    except DataError as error:
        words = _ROW.sub(lambda match: place_in(parts, int(match[1])), str(error))
        if words == str(error):
            words = f"{words} In {', '.join(dict.fromkeys(part.file for part in parts))}."
        raise DataError(words) from None


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
            f"{format_count(self.n_rows, 'row')} x {format_count(self.n_columns, 'column')}, about "
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
    refused: list[DataError] = []
    try:
        with duckdb.connect() as engine:
            engine.execute(f"SET memory_limit = '{MEMORY}'")
            engine.execute(f"SET temp_directory = {_text(spilled)}")
            engine.register("given", _reader(files, columns, refused))
            engine.execute(
                f"COPY (SELECT * FROM given ORDER BY {order}) TO {_text(unfinished)} "
                "(FORMAT parquet)"
            )
        os.replace(unfinished, path)
    except duckdb.Error:
        if refused:  # DuckDB words an error of the stream in its own way
            raise refused[0] from None
        raise
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


def _reader(
    files: Sequence[StoredFile], columns: Sequence[str], refused: list[DataError]
) -> pa.RecordBatchReader:
    """Stream all rows with the file and row of each; an error is also appended to `refused`."""
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
                    table = file.read(columns, begin, end, edges)
                    try:
                        for name in columns:
                            if pa.types.is_floating(schema.field(name).type):
                                _check_exact(Rows(table, file.name, begin), name)
                    except DataError as error:
                        refused.append(error)
                        raise
                    table = table.cast(schema, safe=False)
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


@dataclass(frozen=True)
class Portion:
    """Rows of some subjects, all of theirs and nobody else's."""

    spans: tuple[Span, ...]
    n_subjects: int

    @property
    def known_as(self) -> tuple[object, ...]:
        """What tells whether these are the rows of before."""
        return tuple(span.known_as for span in self.spans)


@dataclass(frozen=True)
class Limits:
    """How many rows and subjects a portion may have, about; a subject is never cut."""

    rows: int
    subjects: int


def portions_of(
    files: Sequence[StoredFile],
    columns: Sequence[str],
    subject: str,
    limits: Limits,
    folder: Path,
) -> tuple[Portion, ...]:
    """Portions of the files as they are, where subjects stand together; of a sorted copy, if not.

    Parameters
    ----------
    columns
        What a sorted copy has to hold.
    folder
        Where it is put.
    """
    found = _Finding(subject, limits)
    with progress("Looking for subjects", len(files)) as advance:
        for file in files:
            found.look_at(file)
            advance(1)
    if not found.came_again():
        return found.portions()
    path = folder / "sorted.parquet"
    copy = sorted_copy(files, columns, [subject], path, "rows of a subject", apart=True)
    again = _Finding(subject, limits)
    again.look_at(copy)
    return again.portions()


@dataclass
class _Finding:
    """Subjects found so far: 8 or 16 bytes for each tell whether anybody comes again."""

    subject: str
    limits: Limits
    last: Any = None
    keys: list[Any] = field(default_factory=list)
    closed: list[Portion] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    n_subjects: int = 0
    n_rows: int = 0

    def look_at(self, file: StoredFile) -> None:
        """Go through the subjects of one file, group by group of rows."""
        edges = tuple(file.group_edges())
        begin = 0
        for first, end in pairwise(edges):
            if first == end:
                continue
            table = file.read([self.subject], first, end, edges)
            check_present(Rows(table, file.name, first), self.subject, "subject")
            starts = starts_of(table, [self.subject])
            column = plain(table[self.subject])
            labels = column.take(pa.array(starts))
            if self.last is not None and labels[0].as_py() == self.last:
                starts, labels = starts[1:], labels.slice(1)
            self.keys.append(_keys(labels))
            for start in (starts + first).tolist():
                if self._is_full(start - begin):
                    self._add(file, begin, start, edges)
                    self._close()
                    begin = start
                self.n_subjects += 1
            self.last = column[len(column) - 1].as_py()
        self._add(file, begin, edges[-1], edges)

    def _is_full(self, n_more: int) -> bool:
        many = self.n_rows + n_more >= self.limits.rows or self.n_subjects >= self.limits.subjects
        return self.n_subjects > 0 and many

    def _add(self, file: StoredFile, begin: int, end: int, edges: tuple[int, ...]) -> None:
        if end > begin:
            self.spans.append(Span(file, begin, end, edges))
            self.n_rows += end - begin

    def _close(self) -> None:
        if self.spans:
            self.closed.append(Portion(tuple(self.spans), self.n_subjects))
        self.spans, self.n_subjects, self.n_rows = [], 0, 0

    def came_again(self) -> bool:
        """Whether somebody's rows are in two places."""
        if not self.keys:
            return False
        keys = np.concatenate(self.keys)
        return len(np.unique(keys)) < len(keys)

    def portions(self) -> tuple[Portion, ...]:
        """All of them."""
        self._close()
        if not self.closed:
            raise DataError("path must name files with rows; got 0 rows in all. Check the filter.")
        return tuple(self.closed)


def _keys(labels: pa.Array) -> Any:
    """Something short that differs where labels do."""
    if pa.types.is_integer(labels.type):
        return np.asarray(labels.cast(pa.int64()).to_numpy(zero_copy_only=False))
    words = [repr(label).encode() for label in labels.to_pylist()]
    short = b"".join(hashlib.blake2b(word, digest_size=16).digest() for word in words)
    return np.frombuffer(short, dtype="V16").view([("a", np.uint64), ("b", np.uint64)])
