"""Results of many portions in one Parquet file, in order; what is interrupted goes on later.

Each portion is kept in a small file of its own, written whole or not at all, and says what it was
made from. When all are there they are joined, group by group of rows; only then the output exists.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penchant._progress import progress
from penchant._version import __version__
from penchant.errors import DataError
from penchant.files.atomic import check_writable, locked, written
from penchant.scale.engines import in_order
from penchant.scale.portions import Portion
from penchant.wording import argument

MADE_FROM = b"penchant made from"
TEXT = ("status", "message", "intervals")
WHOLE = ("n_decisions", "iterations")


@dataclass(frozen=True)
class Output:
    """Where results go.

    Attributes
    ----------
    file
        The Parquet file.
    parts
        Folder for what is done, until all is.
    """

    file: Path
    overwrite: bool = False

    @property
    def parts(self) -> Path:
        """Hidden beside the file, so that nobody scans it."""
        return self.file.with_name(f".{self.file.name}.parts")


def output_at(path: Any, overwrite: bool, scanned: Sequence[str]) -> Output:
    """An output that can be written, and is none of the files that are read."""
    if Path(os.fsdecode(path)).suffix.lower() != ".parquet":
        raise DataError(
            f"{argument('output')} must end in .parquet for a scan; got {os.fsdecode(path)}. "
            "Choose that."
        )
    file = check_writable(path, overwrite=True)  # one that exists may be of this very fit
    if str(file) in {os.path.realpath(name) for name in scanned}:
        raise DataError(
            f"{argument('output')} must not be one of the files that are scanned; got {file}. "
            "Choose another name, in another folder."
        )
    return Output(file, overwrite)


def streamed(
    portions: Sequence[Portion],
    work: Callable[[Portion], pa.Table],
    about: Any,
    output: Output,
    engine: Any,
    threads: int | None,
    what: str,
) -> int:
    """Do the work on every portion that is not done yet, and join; how many were done before.

    Parameters
    ----------
    about
        All that the results depend on besides the rows: what was done before is taken only if this
        was the same.
    what
        Is done, for those who watch.
    """
    common = description(about)
    names = [_digest(common, portion.known_as) for portion in portions]
    whole = _digest(common, names)
    with locked(output.file):
        if output.file.exists():
            if _made_from(output.file) == whole:
                shutil.rmtree(output.parts, ignore_errors=True)
                return len(portions)
            if not output.overwrite:
                check_writable(output.file, overwrite=False)  # says what to do
        output.parts.mkdir(exist_ok=True)
        done = {k for k, name in enumerate(names) if _made_from(_part(output, k)) == name}
        _do(portions, done, work, names, output, engine, threads, what)
        _join(output, len(portions), whole)
        shutil.rmtree(output.parts, ignore_errors=True)
    return len(done)


def _do(
    portions: Sequence[Portion],
    done: set[int],
    work: Callable[[Portion], pa.Table],
    names: Sequence[str],
    output: Output,
    engine: Any,
    threads: int | None,
    what: str,
) -> None:
    left = [k for k in range(len(portions)) if k not in done]
    with progress(what, sum(portion.n_subjects for portion in portions)) as advance:
        advance(sum(portions[k].n_subjects for k in done))
        tables = in_order(work, (portions[k] for k in left), engine, threads)
        for k, table in zip(left, tables, strict=True):
            with written(_part(output, k), overwrite=True) as file:
                pq.write_table(_marked(table, names[k]), file)
            advance(portions[k].n_subjects)


def _part(output: Output, k: int) -> Path:
    return output.parts / f"{k:06d}.parquet"


def _marked(table: pa.Table, name: str) -> pa.Table:
    return table.replace_schema_metadata({MADE_FROM: name.encode()})


def _made_from(file: Path) -> str | None:
    """What a file of results was made from; None where it is none, or damaged."""
    with suppress(OSError, pa.ArrowException):
        metadata = pq.read_schema(file).metadata or {}
        return bytes(metadata.get(MADE_FROM, b"")).decode()
    return None


def _join(output: Output, n_parts: int, whole: str) -> None:
    """All parts in one file, each a group of rows."""
    schema = pa.unify_schemas(
        [pq.read_schema(_part(output, k)).remove_metadata() for k in range(n_parts)],
        promote_options="permissive",
    )
    schema = schema.with_metadata({MADE_FROM: whole.encode()})
    with (
        written(output.file, overwrite=True) as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for k in range(n_parts):
            table = pq.read_table(_part(output, k)).replace_schema_metadata(None)
            writer.write_table(table.cast(schema))


def typed(table: pa.Table) -> pa.Table:
    """Results with the types that every portion has, also where it knows no number."""
    for place, name in enumerate(table.column_names):
        kind = pa.float64()
        if name in TEXT:
            kind = pa.string()
        elif name in WHOLE:
            kind = pa.int64()
        elif name == "subject":
            continue
        table = table.set_column(place, name, table[name].cast(kind))
    return table


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def description(value: Any) -> Any:
    """All that a value is, in plain words and numbers: two of them are alike if it is.

    >>> description({"rate": np.array([0.5])})[1][0][0]
    "'rate'"
    """
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return "array", value.shape, str(value.dtype), content
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # what does not count when two are compared is remembered, not given
        told = [field for field in dataclasses.fields(value) if field.compare]
        fields = {field.name: getattr(value, field.name) for field in told}
        return type(value).__qualname__, description(fields)
    if isinstance(value, Mapping):
        pairs = tuple((repr(key), description(item)) for key, item in value.items())
        return "mapping", pairs, __version__
    if isinstance(value, (list, tuple)):
        return tuple(description(item) for item in value)
    if isinstance(value, (str, int, float, bool, type(None), np.generic)):
        return repr(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    inside = getattr(value, "__dict__", None)
    return (type(value).__qualname__, description(inside)) if inside else repr(value)


def groups_of(file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Groups of rows of a file of results, one after another."""
    with pq.ParquetFile(file) as stored:
        for g in range(stored.num_row_groups):
            names = None if columns is None else list(columns)
            yield stored.read_row_group(g, columns=names)
