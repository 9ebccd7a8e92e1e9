"""Files of a data set: found by path, pattern or address, and read by ranges of rows.

Parquet and Arrow files are read where they are, locally or on any file system of pyarrow or fsspec;
text files are copied once to Parquet in a cache, keyed by what the file was.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.files.delimited_text import copy_delimited
from penchant.files.text_source import HEAD_BYTES, source_from_path
from penchant.files.text_source import file_kind as kind_of

# Rows at the start of a Parquet row group that are read alone: pages are decoded one by one, which
# is slower per row than reading the group, and pays only where few are wanted.
MAX_PARTIAL_ROWS = 65_536
# Columns of a sorted copy that say where its rows come from, so that errors name the user's files.
SOURCE_FILE_COLUMN, SOURCE_ROW_COLUMN = "penchant file", "penchant row"


@dataclass(frozen=True)
class StoredFile:
    """A Parquet or Arrow file, as it was when the scan began.

    Attributes
    ----------
    name
        Name in messages.
    path, system
        Location of its columns: the file itself, or its copy as Parquet.
    stamp
        Size and time of change.
    partition
        Columns given by folders called ``column=value`` (Hive partitioning).
    source_names, content_hash, are_decisions_per_file
        Of a sorted copy: names of the files that its rows come from, a hash of what they were, and
        whether equal names of decisions in two of these files mean different decisions.
    """

    name: str
    path: str
    system: fs.FileSystem
    kind: str
    stamp: tuple[int, Any]
    partition: Mapping[str, Any]
    source_names: tuple[str, ...] = ()
    content_hash: str = ""
    are_decisions_per_file: bool = False

    @property
    def fingerprint(self) -> tuple[Any, ...]:
        """Identifies the content, in another process, too, to tell whether it has changed."""
        return (self.content_hash,) if self.content_hash else (self.name, *self.stamp)

    @contextmanager
    def open_reader(self) -> Iterator[Any]:
        """Open the file; raise if it has changed since the scan began, or is damaged."""
        try:
            now = size_and_mtime(self.system, self.path)
            if now != self.stamp:
                raise DataError(
                    self.name,
                    "must stay as it is while it is scanned",
                    got=f"{now[0]:,} bytes, {self.stamp[0]:,} before",
                    fix="Scan it again when it is whole.",
                )
            with self.system.open_input_file(self.path) as stream:
                yield pq.ParquetFile(stream) if self.kind == "parquet" else pa.ipc.open_file(stream)
        except (pa.ArrowException, OSError) as error:
            # Arrow may append lines of details, which mean little to a user.
            reason = str(error).split("\n")[0][:200]
            raise DataError(
                self.name,
                f"must be a sound {self.kind.title()} file",
                got=f"a damaged one ({reason})",
                fix="Copy or write it again.",
            ) from None

    def schema(self) -> pa.Schema:
        """Names and types of its columns."""
        with self.open_reader() as file:
            schema: pa.Schema = file.schema_arrow if self.kind == "parquet" else file.schema
        for name, value in self.partition.items():
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.scalar(value).type))
        return schema

    def group_edges(self) -> list[int]:
        """First row of each row group, and the number of rows at the end."""
        edges = [0]
        with self.open_reader() as file:
            if self.kind == "parquet":
                for g in range(file.num_row_groups):
                    edges.append(edges[-1] + file.metadata.row_group(g).num_rows)
            else:
                for g in range(file.num_record_batches):
                    edges.append(edges[-1] + file.get_batch(g).num_rows)
        return edges

    def read(self, columns: Sequence[str], begin: int, end: int, edges: Sequence[int]) -> pa.Table:
        """Read rows begin..end of some columns, from the row groups that hold them only."""
        stored = [name for name in columns if name not in self.partition]
        pieces = []
        with self.open_reader() as file:
            for g, (first, last) in enumerate(pairwise(edges)):
                if last > begin and first < end:
                    piece = self._read_row_group(file, g, stored, min(end, last) - first)
                    pieces.append(piece.slice(max(begin - first, 0), end - max(begin, first)))
        table = pa.concat_tables(pieces)
        for name, value in self.partition.items():
            if name in columns:
                table = table.append_column(name, pa.repeat(value, len(table)))
        return table.select(list(columns))

    def _read_row_group(self, file: Any, g: int, columns: list[str], n_rows: int) -> pa.Table:
        """At least the first `n_rows` rows of row group `g`."""
        if self.kind == "arrow":
            return pa.Table.from_batches([file.get_batch(g)]).select(columns)
        if n_rows < min(MAX_PARTIAL_ROWS, file.metadata.row_group(g).num_rows):
            batches, found = [], 0
            for batch in file.iter_batches(n_rows, row_groups=[g], columns=columns):
                batches.append(batch)
                found += batch.num_rows
                if found >= n_rows:
                    return pa.Table.from_batches(batches)
        table: pa.Table = file.read_row_group(g, columns=columns)
        return table


def size_and_mtime(system: fs.FileSystem, path: str) -> tuple[int, Any]:
    """Size and time of change of a file."""
    info = system.get_file_info(path)
    return info.size or 0, info.mtime_ns


def stored_files(path: Any, cache: Any = None) -> tuple[StoredFile, ...]:
    """Find all files that a path, a pattern, a folder or a list of these name, sorted by name."""
    found = _with_integer_partitions(_expand_path(path, cache))
    if not found:
        raise DataError(
            "path", "must name files", got=f"none in {str(path)!r}", fix="Check the folder."
        )
    return found


def _expand_path(path: Any, cache: Any) -> list[StoredFile]:
    if isinstance(path, (list, tuple)):
        return [file for each in path for file in _expand_path(each, cache)]
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(
            "path",
            "must name files",
            got=type(path).__name__,
            fix="Tables in memory are read by pn.read(table).",
        )
    text: str = os.fspath(path)
    if "://" in text:
        return _remote_files(text, cache)
    if os.path.isdir(text):
        return _folder_files(text, cache)
    # A file whose name has brackets in it is that file, not a pattern.
    names = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if not names and glob.has_magic(text):
        raise DataError(
            "path", "must name files", got=f"{text!r}, which matches none", fix="Correct it."
        )
    fixed = _glob_root(text)
    return [_local_file(name, _hive_partition(name, fixed), cache) for name in names or [text]]


def _glob_root(pattern: str) -> str:
    """Folder before the first wildcard of a pattern; the file's own, without a wildcard."""
    parts = Path(pattern).parts
    magic = [k for k, part in enumerate(parts) if glob.has_magic(part)]
    return str(Path(*parts[: magic[0]])) if magic else str(Path(pattern).parent)


def _remote_files(address: str, cache: Any) -> list[StoredFile]:
    """Find the files at an address such as s3://bucket/logs/*.parquet."""
    magic = glob.has_magic(address)
    fixed = (
        address[: address.rindex("/", 0, _first_glob_character(address)) + 1] if magic else address
    )
    try:
        system, path = _open_filesystem(fixed)
        infos = [system.get_file_info(path)]
        if infos[0].type == fs.FileType.Directory:
            infos = system.get_file_info(fs.FileSelector(path, recursive=True))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0][:200]
        raise DataError(
            "path",
            "must be an address that can be reached",
            got=f"{address!r} ({reason})",
            fix="Check the address, and what it needs to be opened.",
        ) from None
    names = sorted(info.path for info in infos if info.type == fs.FileType.File)
    if magic:
        asked = _glob_regex(address[len(fixed) :])
        names = [name for name in names if asked.fullmatch(os.path.relpath(name, path))]
    folder = path if magic or len(names) > 1 else os.path.dirname(path)
    return [
        _remote_file(name, system, _hive_partition(name, folder), cache)
        for name in names
        if not _is_hidden(os.path.relpath(name, path))
    ]


def _first_glob_character(text: str) -> int:
    return min(text.index(mark) for mark in "*?[" if mark in text)


def _glob_regex(text: str) -> re.Pattern[str]:
    """Regular expression of a pattern: `**` crosses folders, `*` does not (as `glob` has it)."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", text)
    return re.compile(
        "".join(
            marks.get(part, part if part.startswith("[") else re.escape(part)) for part in parts
        )
    )


def _open_filesystem(address: str) -> tuple[fs.FileSystem, str]:
    """File system of an address and the path in it: pyarrow's own, which is faster, or fsspec's."""
    try:
        system, path = fs.FileSystem.from_uri(address)
        return system, path
    except pa.ArrowInvalid:  # fsspec knows more schemes than pyarrow
        try:
            import fsspec

            system, path = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise DataError(
                "path",
                "must be an address that pyarrow or fsspec opens",
                got=f"{address!r} ({error})",
                fix="Install the package that opens it, or copy the files here.",
            ) from None
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path.rstrip("/") or "/"


def _remote_file(
    name: str, system: fs.FileSystem, partition: Mapping[str, Any], cache: Any
) -> StoredFile:
    with system.open_input_stream(name) as stream:
        kind = _scannable_kind(stream.read(HEAD_BYTES), name)
    if kind not in ("csv", "gzip"):
        return StoredFile(name, name, system, kind, size_and_mtime(system, name), partition)
    here = fs.LocalFileSystem()
    with _cached_and_unfinished_paths((name, *size_and_mtime(system, name)), cache) as (
        copy,
        unfinished,
    ):
        if unfinished is not None:
            text = unfinished.with_suffix(".text")
            try:
                fs.copy_files(
                    name, str(text), source_filesystem=system, destination_filesystem=here
                )
                copy_delimited(replace(source_from_path(text), name=name), unfinished)
            finally:
                text.unlink(missing_ok=True)
    return StoredFile(name, str(copy), here, "parquet", size_and_mtime(here, str(copy)), partition)


def _folder_files(folder: str, cache: Any) -> list[StoredFile]:
    """Find the files below a folder, except those that begin with . or _, which engines write."""
    names = sorted(
        os.path.join(here, name)
        for here, _, files in os.walk(folder)
        for name in files
        if not _is_hidden(os.path.relpath(os.path.join(here, name), folder))
    )
    return [_local_file(name, _hive_partition(name, folder), cache) for name in names]


def _is_hidden(name: str) -> bool:
    # Hive and Spark write such files beside the data (_SUCCESS, _metadata, .part), and skip them.
    return any(part.startswith(("_", ".")) and part != "." for part in Path(name).parts)


def _hive_partition(name: str, folder: str) -> Mapping[str, Any]:
    """Columns given by folders called `column=value` between `folder` and the file."""
    inside = Path(os.path.relpath(name, folder)).parent.parts
    pairs = (part.split("=", 1) for part in inside if "=" in part)
    return {key: unquote(value) for key, value in pairs}


def _with_integer_partitions(files: list[StoredFile]) -> tuple[StoredFile, ...]:
    """Convert a partition column to integers, if it holds integers in all files."""
    keys = {key for file in files for key in file.partition}
    whole = {
        key
        for key in keys
        if all(
            str(value).removeprefix("-").isdecimal()
            for file in files
            if (value := file.partition.get(key)) is not None
        )
    }
    return tuple(
        replace(file, partition={k: int(v) if k in whole else v for k, v in file.partition.items()})
        for file in files
    )


def _local_file(path: str, partition: Mapping[str, Any], cache: Any) -> StoredFile:
    """Describe a local file; one of text is copied to Parquet first."""
    system, here = fs.LocalFileSystem(), os.path.abspath(path)
    kind = _scannable_kind(source_from_path(path).head(HEAD_BYTES), path)
    if kind in ("csv", "gzip"):
        here, kind = _parquet_copy(here, cache), "parquet"
    return StoredFile(path, here, system, kind, size_and_mtime(system, here), partition)


def _scannable_kind(head: bytes, name: str) -> str:
    """Kind of a file by its first bytes; JSON is refused, as it has no ranges of rows."""
    kind = kind_of(head, name)
    if kind == "json":
        raise DataError(
            name,
            "must be Parquet, Arrow or CSV to be scanned",
            got="JSON, by its first bytes",
            fix="Read it with pn.read, or write it as Parquet.",
        )
    return str(kind)


def _parquet_copy(path: str, cache: Any) -> str:
    """Path of the Parquet copy of a text file, made once for its present content."""
    status = os.stat(path)
    # The inode, too: a file replaced within the clock's resolution has the same size and time.
    made_of = (path, status.st_size, status.st_mtime_ns, status.st_ino)
    with _cached_and_unfinished_paths(made_of, cache) as (copy, unfinished):
        if unfinished is not None:
            copy_delimited(source_from_path(path), unfinished)
    return str(copy)


@contextmanager
def _cached_and_unfinished_paths(
    content_key: tuple[Any, ...], cache: Any
) -> Iterator[tuple[Path, Path | None]]:
    """Yield the path of a cached copy and, if there is none yet, the file to write it to."""
    folder = Path(cache) if cache is not None else cache_folder()
    words = "\0".join(map(str, content_key))
    copy = folder / f"{hashlib.sha256(words.encode()).hexdigest()[:32]}.parquet"
    if copy.exists():
        yield copy, None
        return
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = copy.with_suffix(f".{os.getpid()}")  # two processes may write the same copy
    try:
        yield copy, unfinished
        os.replace(unfinished, copy)  # only after success: a copy is always complete
    finally:
        unfinished.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Default folder of cached copies, by the XDG base directory specification."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "penchant", "scans")
