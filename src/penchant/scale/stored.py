"""Files of a data set: found, opened, and read by ranges of rows."""

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
from penchant.files.delimited import copy_delimited
from penchant.files.text import HEAD_BYTES, source
from penchant.files.text import kind as kind_of

SHORT = 65_536  # rows of a group that are read without the rest of it
FILE, ROW = "penchant file", "penchant row"  # of a sorted copy: where its rows come from


@dataclass(frozen=True)
class StoredFile:
    """A Parquet or Arrow file, as it was when the scan began.

    Attributes
    ----------
    name
        What messages call it.
    path, system
        Where its columns are: the file itself, or its copy as Parquet.
    stamp
        Size and time of change.
    partition
        Columns that its folder's name gives.
    origins, identity, apart
        Of a sorted copy: the files that its rows come from, what they were, and whether decisions
        of several files are apart, whatever their names.
    """

    name: str
    path: str
    system: fs.FileSystem
    kind: str
    stamp: tuple[int, Any]
    partition: Mapping[str, Any]
    origins: tuple[str, ...] = ()
    identity: str = ""
    apart: bool = False

    @property
    def known_as(self) -> tuple[Any, ...]:
        """What tells whether it is the same as before, in another process, too."""
        return (self.identity,) if self.identity else (self.name, *self.stamp)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The file, open for reading; it must be as it was, and sound."""
        try:
            now = stamp_of(self.system, self.path)
            if now != self.stamp:
                raise DataError(
                    f"{self.name} must stay as it is while it is scanned; got {now[0]:,} bytes, "
                    f"{self.stamp[0]:,} before. Scan it again when it is whole."
                )
            with self.system.open_input_file(self.path) as stream:
                yield pq.ParquetFile(stream) if self.kind == "parquet" else pa.ipc.open_file(stream)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n")[0][:200]
            raise DataError(
                f"{self.name} must be a sound {self.kind.title()} file; got a damaged one "
                f"({reason}). Copy or write it again."
            ) from None

    def schema(self) -> pa.Schema:
        """Names and types of its columns."""
        with self.opened() as file:
            schema = file.schema_arrow if self.kind == "parquet" else file.schema
        for name, value in self.partition.items():
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.scalar(value).type))
        return schema

    def group_edges(self) -> list[int]:
        """First row of each group of rows, and their number at the end."""
        edges = [0]
        with self.opened() as file:
            if self.kind == "parquet":
                for g in range(file.num_row_groups):
                    edges.append(edges[-1] + file.metadata.row_group(g).num_rows)
            else:
                for g in range(file.num_record_batches):
                    edges.append(edges[-1] + file.get_batch(g).num_rows)
        return edges

    def read(self, columns: Sequence[str], begin: int, end: int, edges: Sequence[int]) -> pa.Table:
        """Rows begin..end of some columns."""
        stored = [name for name in columns if name not in self.partition]
        pieces = []
        with self.opened() as file:
            for g, (first, last) in enumerate(pairwise(edges)):
                if last > begin and first < end:
                    piece = self._group(file, g, stored, min(end, last) - first)
                    pieces.append(piece.slice(max(begin - first, 0), end - max(begin, first)))
        table = pa.concat_tables(pieces)
        for name, value in self.partition.items():
            if name in columns:
                table = table.append_column(name, pa.repeat(value, len(table)))
        return table.select(list(columns))

    def _group(self, file: Any, g: int, columns: list[str], n_rows: int) -> pa.Table:
        """The first rows of a group."""
        if self.kind == "arrow":
            return pa.Table.from_batches([file.get_batch(g)]).select(columns)
        if n_rows < min(SHORT, file.metadata.row_group(g).num_rows):
            batches, found = [], 0
            for batch in file.iter_batches(n_rows, row_groups=[g], columns=columns):
                batches.append(batch)
                found += batch.num_rows
                if found >= n_rows:
                    return pa.Table.from_batches(batches)
        return file.read_row_group(g, columns=columns)


def stamp_of(system: fs.FileSystem, path: str) -> tuple[int, Any]:
    """Size and time of change of a file."""
    info = system.get_file_info(path)
    return info.size or 0, info.mtime_ns


def stored_files(path: Any, cache: Any = None) -> tuple[StoredFile, ...]:
    """All files that a path, a glob, a folder or several of these name, in the order of names."""
    found = _typed(_found(path, cache))
    if not found:
        raise DataError(f"path must name files; got none in {str(path)!r}. Check the folder.")
    return found


def _found(path: Any, cache: Any) -> list[StoredFile]:
    if isinstance(path, (list, tuple)):
        return [file for each in path for file in _found(each, cache)]
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(
            f"path must name files; got {type(path).__name__}. Tables in memory are read by "
            "pn.read(table)."
        )
    text: str = os.fspath(path)
    if "://" in text:
        return _remote(text, cache)
    if os.path.isdir(text):
        return _of_folder(text, cache)
    names = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if not names and glob.has_magic(text):
        raise DataError(f"path must name files; got {text!r}, which matches none. Correct it.")
    fixed = _fixed_part(text)
    return [_local(name, _partition(name, fixed), cache) for name in names or [text]]


def _fixed_part(pattern: str) -> str:
    """Folder that all files of a pattern are in; that of the file where it names one."""
    parts = Path(pattern).parts
    magic = [k for k, part in enumerate(parts) if glob.has_magic(part)]
    return str(Path(*parts[: magic[0]])) if magic else str(Path(pattern).parent)


def _remote(address: str, cache: Any) -> list[StoredFile]:
    """Files at an address that pyarrow or fsspec opens, such as s3://bucket/logs/*.parquet."""
    magic = glob.has_magic(address)
    fixed = address[: address.rindex("/", 0, _first_magic(address)) + 1] if magic else address
    try:
        system, path = _system(fixed)
        infos = [system.get_file_info(path)]
        if infos[0].type == fs.FileType.Directory:
            infos = system.get_file_info(fs.FileSelector(path, recursive=True))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0][:200]
        raise DataError(
            f"path must be an address that can be reached; got {address!r} ({reason}). Check the "
            "address, and what it needs to be opened."
        ) from None
    names = sorted(info.path for info in infos if info.type == fs.FileType.File)
    if magic:
        asked = _pattern(address[len(fixed) :])
        names = [name for name in names if asked.fullmatch(os.path.relpath(name, path))]
    folder = path if magic or len(names) > 1 else os.path.dirname(path)
    return [
        _at_address(name, system, _partition(name, folder), cache)
        for name in names
        if not _hidden(os.path.relpath(name, path))
    ]


def _first_magic(text: str) -> int:
    return min(text.index(mark) for mark in "*?[" if mark in text)


def _pattern(text: str) -> re.Pattern[str]:
    """The names that a pattern below a folder means: `**` crosses folders, `*` does not."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", text)
    return re.compile(
        "".join(
            marks.get(part, part if part.startswith("[") else re.escape(part)) for part in parts
        )
    )


def _system(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it: pyarrow's own, else one of fsspec."""
    try:
        system, path = fs.FileSystem.from_uri(address)
        return system, path
    except pa.ArrowInvalid:
        try:
            import fsspec

            system, path = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise DataError(
                f"path must be an address that pyarrow or fsspec opens; got {address!r} ({error}). "
                "Install the package that opens it, or copy the files here."
            ) from None
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path.rstrip("/") or "/"


def _at_address(
    name: str, system: fs.FileSystem, partition: Mapping[str, Any], cache: Any
) -> StoredFile:
    with system.open_input_stream(name) as stream:
        kind = _scannable(stream.read(HEAD_BYTES), name)
    if kind not in ("csv", "gzip"):
        return StoredFile(name, name, system, kind, stamp_of(system, name), partition)
    here = fs.LocalFileSystem()
    with _kept_copy((name, *stamp_of(system, name)), cache) as (copy, unfinished):
        if unfinished is not None:
            text = unfinished.with_suffix(".text")
            try:
                fs.copy_files(
                    name, str(text), source_filesystem=system, destination_filesystem=here
                )
                copy_delimited(replace(source(text), name=name), unfinished)
            finally:
                text.unlink(missing_ok=True)
    return StoredFile(name, str(copy), here, "parquet", stamp_of(here, str(copy)), partition)


def _of_folder(folder: str, cache: Any) -> list[StoredFile]:
    """Files of a folder and its folders; those whose name begins with . or _ are left out."""
    names = sorted(
        os.path.join(here, name)
        for here, _, files in os.walk(folder)
        for name in files
        if not _hidden(os.path.relpath(os.path.join(here, name), folder))
    )
    return [_local(name, _partition(name, folder), cache) for name in names]


def _hidden(name: str) -> bool:
    return any(part.startswith(("_", ".")) and part != "." for part in Path(name).parts)


def _partition(name: str, folder: str) -> Mapping[str, Any]:
    """Columns that folders called `column=value` inside this one give."""
    inside = Path(os.path.relpath(name, folder)).parent.parts
    pairs = (part.split("=", 1) for part in inside if "=" in part)
    return {key: unquote(value) for key, value in pairs}


def _typed(files: list[StoredFile]) -> tuple[StoredFile, ...]:
    """Values of partitions as whole numbers, where all of a column are."""
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


def _local(path: str, partition: Mapping[str, Any], cache: Any) -> StoredFile:
    """A file of this machine; one of text is copied to Parquet once."""
    system, here = fs.LocalFileSystem(), os.path.abspath(path)
    kind = _scannable(source(path).head(HEAD_BYTES), path)
    if kind in ("csv", "gzip"):
        here, kind = _as_parquet(here, cache), "parquet"
    return StoredFile(path, here, system, kind, stamp_of(system, here), partition)


def _scannable(head: bytes, name: str) -> str:
    """Kind of a file by its first bytes; one that is read whole only is refused."""
    kind = kind_of(head, name)
    if kind == "json":
        raise DataError(
            f"{name} must be Parquet, Arrow or CSV to be scanned; got JSON, by its first bytes. "
            "Read it with pn.read, or write it as Parquet."
        )
    return str(kind)


def _as_parquet(path: str, cache: Any) -> str:
    """Copy of a file of text, made once for what it is now."""
    status = os.stat(path)
    made_of = (path, status.st_size, status.st_mtime_ns, status.st_ino)
    with _kept_copy(made_of, cache) as (copy, unfinished):
        if unfinished is not None:
            copy_delimited(source(path), unfinished)
    return str(copy)


@contextmanager
def _kept_copy(made_of: tuple[Any, ...], cache: Any) -> Iterator[tuple[Path, Path | None]]:
    """Where a copy is kept, and the file to write first where there is none yet."""
    folder = Path(cache) if cache is not None else cache_folder()
    words = "\0".join(map(str, made_of))
    copy = folder / f"{hashlib.sha256(words.encode()).hexdigest()[:32]}.parquet"
    if copy.exists():
        yield copy, None
        return
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = copy.with_suffix(f".{os.getpid()}")
    try:
        yield copy, unfinished
        os.replace(unfinished, copy)
    finally:
        unfinished.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where copies are kept, unless another folder is given."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "penchant", "scans")
