"""Estimates of every subject of files, by batches of subjects, with results in a Parquet file.

Batches are done by threads, an executor or a cluster. The result of each goes to a small file of
its own, written whole or not at all, with a fingerprint (SHA-256) of what it was made from; a call
that was interrupted goes on from there. When all parts exist they are joined, a row group each, and
only then the output exists.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple, Protocol, TypeVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penchant._version import __version__
from penchant.argument_checks import check_one_of, check_threads
from penchant.choices.scan_protocols import SubjectScan
from penchant.errors import DataError
from penchant.files.atomic_files import atomic_write, check_writable, lock_file
from penchant.result_tables import (
    Backend,
    Table,
    TableExport,
    format_count,
    format_number,
    progress,
)
from penchant.scale.data_files import StoredFile
from penchant.scale.subject_batches import BatchLimits, FileRowRange, SubjectBatch, subject_batches
from penchant.softmax.estimate import Estimate
from penchant.softmax.likelihood import available_threads

T = TypeVar("T")
# Fewer would leave threads idle while a slow task is waited for; more would keep results waiting in
# memory, as they are yielded in order.
TASKS_AHEAD_PER_THREAD = 4
# Tasks sent to another engine at a time: more than a cluster has processors.
MAX_TASKS_SUBMITTED = 4096


def check_executor(engine: Any, threads: int | None) -> None:
    """Raise unless the engine can run tasks."""
    check_threads(threads)
    known = isinstance(engine, (Executor, str)) or hasattr(engine, "get_executor")
    if engine is not None and not known:
        raise DataError(
            "engine",
            (
                "must be an executor of concurrent.futures, a client of dask.distributed or "
                "its address"
            ),
            got=type(engine).__name__,
            fix="Leave it out for threads.",
        )


def map_in_order(
    work: Callable[[T], Any], tasks: Iterable[T], engine: Any, threads: int | None
) -> Iterator[Any]:
    """Yield the results of the tasks in their order, in whichever they are done."""
    workers = available_threads() if threads is None else threads
    if engine is None and workers == 1:
        yield from map(work, tasks)
        return
    left = iter(tasks)
    ahead = TASKS_AHEAD_PER_THREAD * workers if engine is None else MAX_TASKS_SUBMITTED
    with _executor(engine, workers) as executor:
        futures = deque(executor.submit(work, task) for task in islice(left, ahead))
        try:
            while futures:
                found = futures[0].result()
                futures.popleft()  # after `result`, so that an error leaves it to be cancelled
                futures.extend(executor.submit(work, task) for task in islice(left, 1))
                yield found
        finally:
            # Tasks are left where the caller stopped early, or after an error.
            for future in futures:
                future.cancel()


@contextmanager
def _executor(engine: Any, workers: int) -> Iterator[Any]:
    """Executor of an engine; shut down afterwards if it was made here."""
    if engine is None:
        with ThreadPoolExecutor(workers) as pool:
            yield pool
    elif isinstance(engine, Executor):
        yield engine
    elif isinstance(engine, str):
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise DataError(
                "engine",
                "must be an executor where dask.distributed is not installed",
                got=repr(engine),
                fix="Install it with pip install 'penchant[dask]'.",
            ) from error
        with distributed.Client(engine) as client:
            yield client.get_executor(pure=False)  # tasks read files: equal ones may differ
    else:
        yield engine.get_executor(pure=False)


FINGERPRINT_KEY = b"penchant made from"
TEXT_COLUMNS = ("status", "message", "intervals")
INTEGER_COLUMNS = ("n_decisions", "iterations")


@dataclass(frozen=True)
class OutputFile:
    """Parquet file of the results, and the folder of its parts until all are done."""

    file: Path
    overwrite: bool = False

    @property
    def parts_folder(self) -> Path:
        """Folder beside the file; hidden, so that a scan of the folder leaves it out."""
        return self.file.with_name(f".{self.file.name}.parts")


def check_output(path: Any, overwrite: bool, scanned: Sequence[str]) -> OutputFile:
    """Check that the output can be written, and is none of the files that are read."""
    if Path(os.fsdecode(path)).suffix.lower() != ".parquet":
        raise DataError(
            "output", "must end in .parquet for a scan", got=os.fsdecode(path), fix="Choose that."
        )
    # A file that exists may hold the results of this very fit, which are then reused.
    file = check_writable(path, overwrite=True)
    if str(file) in {os.path.realpath(name) for name in scanned}:
        raise DataError(
            "output",
            "must not be one of the files that are scanned",
            got=file,
            fix="Choose another name, in another folder.",
        )
    return OutputFile(file, overwrite)


def write_results(
    batches: Sequence[SubjectBatch],
    work: Callable[[SubjectBatch], pa.Table],
    about: Any,
    output: OutputFile,
    engine: Any,
    threads: int | None,
    progress_description: str,
) -> int:
    """Write the results of all batches to the output; return how many were done by earlier calls.

    Parameters
    ----------
    about
        All that the results depend on besides the rows: results of an earlier call are kept only if
        this was the same.
    progress_description
        Description of the work in the progress bar.
    """
    common = canonical_form(about)
    names = [_sha256_of_repr(common, batch.fingerprint) for batch in batches]
    whole = _sha256_of_repr(common, names)
    with lock_file(
        output.file
    ):  # two processes with the same output would remove each other's parts
        if output.file.exists():
            if _stored_fingerprint(output.file) == whole:
                shutil.rmtree(output.parts_folder, ignore_errors=True)
                return len(batches)
            if not output.overwrite:
                check_writable(output.file, overwrite=False)
        output.parts_folder.mkdir(exist_ok=True)
        done = {
            k for k, name in enumerate(names) if _stored_fingerprint(_part_path(output, k)) == name
        }
        _write_missing_parts(
            batches, done, work, names, output, engine, threads, progress_description
        )
        _join_parts(output, len(batches), whole)
        shutil.rmtree(output.parts_folder, ignore_errors=True)
    return len(done)


def _write_missing_parts(
    batches: Sequence[SubjectBatch],
    done: set[int],
    work: Callable[[SubjectBatch], pa.Table],
    names: Sequence[str],
    output: OutputFile,
    engine: Any,
    threads: int | None,
    description: str,
) -> None:
    left = [k for k in range(len(batches)) if k not in done]
    with progress(description, sum(batch.n_subjects for batch in batches)) as advance:
        advance(sum(batches[k].n_subjects for k in done))
        tables = map_in_order(work, (batches[k] for k in left), engine, threads)
        for k, table in zip(left, tables, strict=True):
            with atomic_write(_part_path(output, k), overwrite=True) as file:
                pq.write_table(_with_fingerprint(table, names[k]), file)
            advance(batches[k].n_subjects)


def _part_path(output: OutputFile, k: int) -> Path:
    return output.parts_folder / f"{k:06d}.parquet"


def _with_fingerprint(table: pa.Table, name: str) -> pa.Table:
    return table.replace_schema_metadata({FINGERPRINT_KEY: name.encode()})


def _stored_fingerprint(file: Path) -> str | None:
    """Fingerprint in a file of results; None if there is no such file, or it is damaged."""
    with suppress(OSError, pa.ArrowException):
        metadata = pq.read_schema(file).metadata or {}
        return bytes(metadata.get(FINGERPRINT_KEY, b"")).decode()
    return None


def _join_parts(output: OutputFile, n_parts: int, whole: str) -> None:
    """Join the parts to one file, a row group each, which `StoredEstimates.of` relies on."""
    schema = pa.unify_schemas(
        [pq.read_schema(_part_path(output, k)).remove_metadata() for k in range(n_parts)],
        promote_options="permissive",  # labels may be integers in one part, floats in others
    )
    schema = schema.with_metadata({FINGERPRINT_KEY: whole.encode()})
    with (
        atomic_write(output.file, overwrite=True) as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for k in range(n_parts):
            table = pq.read_table(_part_path(output, k)).replace_schema_metadata(None)
            writer.write_table(table.cast(schema))


def cast_result_columns(table: pa.Table) -> pa.Table:
    """Cast results to fixed types, as a column without numbers in a batch has none of its own."""
    for place, name in enumerate(table.column_names):
        kind = pa.float64()
        if name in TEXT_COLUMNS:
            kind = pa.string()
        elif name in INTEGER_COLUMNS:
            kind = pa.int64()
        elif name == "subject":  # labels may be of any type
            continue
        table = table.set_column(place, name, table[name].cast(kind))
    return table


def _sha256_of_repr(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def canonical_form(value: Any) -> Any:
    """Nested tuples of text that are equal for equal values, in any process, to be hashed.

    >>> canonical_form({"rate": np.array([0.5])})[1][0][0]
    "'rate'"
    """
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return "array", value.shape, str(value.dtype), content
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Fields that do not count in comparisons are caches, and change with use.
        compared = [field for field in dataclasses.fields(value) if field.compare]
        fields = {field.name: getattr(value, field.name) for field in compared}
        return type(value).__qualname__, canonical_form(fields)
    if isinstance(value, Mapping):
        pairs = tuple((repr(key), canonical_form(item)) for key, item in value.items())
        return "mapping", pairs, __version__  # results of another version are not reused
    if isinstance(value, (list, tuple)):
        return tuple(canonical_form(item) for item in value)
    if isinstance(value, (str, int, float, bool, type(None), np.generic)):
        return repr(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    inside = getattr(value, "__dict__", None)
    return (type(value).__qualname__, canonical_form(inside)) if inside else repr(value)


def row_groups(file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of a file of results."""
    with pq.ParquetFile(file) as stored:
        for g in range(stored.num_row_groups):
            names = None if columns is None else list(columns)
            yield stored.read_row_group(g, columns=names)


ERROR_SUFFIX = "_standard_error"
SUMMARISED_STATUSES = ("converged", "at a bound")
SUMMARY_QUANTILES = (0.1, 0.5, 0.9)  # the median, and where four in five estimates lie


@dataclass(frozen=True, eq=False, repr=False)
class StoredEstimates(TableExport):
    """Parquet file with a row per subject: status, parameters, errors, intervals, message.

    Only the columns asked for are read into memory. `Estimates.to_frame` has the same columns.

    Attributes
    ----------
    path
        The file; one that is removed with this object, if no output was named.
    words
        Model and data, in words.
    n_resumed
        Batches of subjects that an earlier call had done.
    """

    path: Path
    words: str
    n_resumed: int
    refit: Callable[[int, Any], Estimate]
    temporary: Any = None

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path).num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(pq.read_schema(self.path).names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(n.removesuffix(ERROR_SUFFIX) for n in self.columns if n.endswith(ERROR_SUFFIX))

    def __getitem__(self, column: str) -> Any:
        """A column of all subjects: an array of numbers, or of labels."""
        check_one_of(column, "column", self.columns)
        table = pq.read_table(self.path, columns=[column], partitioning=None)
        return table[column].to_numpy()

    def groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows as pyarrow tables, some hundred subjects in each."""
        return row_groups(self.path, columns)

    def to_frame(self, backend: Backend = "pandas", columns: Sequence[str] | None = None) -> Any:
        """Data frame with all rows."""
        names = None if columns is None else list(columns)
        table = pq.read_table(self.path, columns=names, partitioning=None)
        table = table.replace_schema_metadata(None)
        if backend == "pyarrow":
            return table
        found = nw.from_native(table, eager_only=True)
        return found.to_polars() if backend == "polars" else found.to_pandas()

    def row(self, subject: Any) -> dict[str, Any]:
        """Row of one subject."""
        return self._find_row(subject)[1]

    def of(self, subject: Any) -> Estimate:
        """Estimate of one subject, fitted again from the scanned rows."""
        return self.refit(self._find_row(subject)[0], subject)

    def _find_row(self, subject: Any) -> tuple[int, dict[str, Any]]:
        """Row group and row of a subject."""
        # A scan of one column: a file of a million subjects needs no index.
        for g, labels in enumerate(self.groups(["subject"])):
            where = [k for k, label in enumerate(labels["subject"].to_pylist()) if label == subject]
            if where:
                with pq.ParquetFile(self.path) as stored:
                    rows = stored.read_row_group(g).slice(where[0], 1).to_pylist()
                return g, rows[0]
        raise DataError(
            "subject",
            f"must be one of the {len(self):,} fitted",
            got=repr(subject),
            fix="Their labels are in the column subject.",
        )

    @cached_property
    def _counts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for group in self.groups(["status"]):
            found.update(group["status"].to_pylist())
        return found

    def counts(self) -> dict[str, int]:
        """Number of subjects with each status."""
        return dict(sorted(self._counts.items()))

    def quantiles(self) -> list[dict[str, Any]]:
        """Quantiles of the finite estimates of each parameter, over subjects of sound status."""
        sound = np.isin(self["status"].astype(str), SUMMARISED_STATUSES)
        found = []
        for name in self.names:
            values = np.asarray(self[name][sound], dtype=np.float64)
            values = values[np.isfinite(values)]
            ends = (
                np.quantile(values, SUMMARY_QUANTILES).tolist()
                if len(values)
                else [np.nan] * len(SUMMARY_QUANTILES)
            )
            words = [f"{100 * share:g} %" for share in SUMMARY_QUANTILES]
            found.append(
                {"name": name, "subjects": len(values), **dict(zip(words, ends, strict=True))}
            )
        return found

    def table(self) -> Table:
        """Table of the quantiles, one parameter per row."""
        rows, header = [], ["", "subjects"]
        for one in self.quantiles():
            name, count, *ends = one.values()
            header = ["", "subjects", *list(one)[2:]]
            rows.append((name, f"{count:,}", *(format_number(end, 4) for end in ends)))
        facts = tuple((status, f"{count:,}") for status, count in self.counts().items())
        notes = (
            f"{self.words}. Estimates with status {' or '.join(SUMMARISED_STATUSES)}, where "
            "finite.",
        )
        caption = f"Estimates of {format_count(len(self), 'subject')}"
        return Table(caption, facts, tuple(header), tuple(rows), notes)

    def to_dict(self) -> dict[str, Any]:
        """Counts and quantiles, ready for JSON."""
        return {
            "n_subjects": len(self),
            "counts": self.counts(),
            "output": None if self.temporary is not None else str(self.path),
            "parameters": self.quantiles(),
        }

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        said = ", ".join(f"{count:,} {status}" for status, count in self.counts().items())
        return f"<StoredEstimates of {format_count(len(self), 'subject')}: {said}>"


MAX_HISTORY_ROWS = 20_000_000  # some GB as histories: about what a laptop can hold


class SubjectReader(Protocol):
    """Reader of the rows of a batch as data; picklable."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns that are read."""

    @property
    def subject(self) -> str | None:
        """Column that names the subject, or None."""

    @property
    def limits(self) -> BatchLimits:
        """Size of batches."""

    def __call__(self, batch: SubjectBatch) -> Any:
        """Read the data of these subjects, in the order of their rows."""


class TemporaryFolder:
    """Temporary folder that is removed with this object."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="penchant"))
        # finalize, unlike __del__, also runs at the end of the interpreter.
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@dataclass(frozen=True)
class BatchTask:
    """Read a batch and apply `work` to it; picklable, so that any worker process can call it."""

    reader: SubjectReader
    work: Callable[[Any], Any]

    def __call__(self, batch: SubjectBatch) -> Any:
        """Result of the work; the columns of estimates are cast to fixed types."""
        found = self.work(self.reader(batch))
        # `one` marks work that estimates; other work, such as predictions, has its own columns.
        return cast_result_columns(found) if hasattr(self.work, "one") else found


class OutputTarget(NamedTuple):
    """File to write to, and the temporary folder that is removed with it; None if it is kept."""

    file: OutputFile
    temporary_folder: TemporaryFolder | None


@dataclass(frozen=True)
class SubjectFiles:
    """Subjects in files, and the reader of their rows."""

    files: tuple[StoredFile, ...]
    reader: SubjectReader
    description: str

    def fit(
        self, work: Any, *, output: Any, overwrite: bool, engine: Any, threads: int | None
    ) -> StoredEstimates:
        """Write estimates of all subjects to a file; `work.one` estimates one subject again."""
        target, temporary = self.output_target(output, overwrite)
        batches, n_done = self.write_batch_results(
            work, target, engine, threads, "Fitting subjects"
        )

        def refit(group: int, subject: Any) -> Any:
            return work.fit_subject(self.reader(batches[group]), subject)

        return StoredEstimates(target.file, f"{work} {self.description}", n_done, refit, temporary)

    def load_all_rows(self, description: str) -> Any:
        """Read all data into memory, in the order of the files; raise if they are too many."""
        spans = []
        for file in self.files:
            edges = tuple(file.group_edges())
            if edges[-1]:
                spans.append(FileRowRange(file, 0, edges[-1], edges))
        n_rows = sum(span.n_rows for span in spans)
        if n_rows > MAX_HISTORY_ROWS:
            raise DataError(
                "data",
                (
                    f"must have at most {MAX_HISTORY_ROWS:,} rows for {description}, which holds "
                    "them in memory"
                ),
                got=f"{n_rows:,}",
                fix="Scan the files of some subjects: some thousand tell as much of it.",
            )
        return self.reader(SubjectBatch(tuple(spans), 0))

    def map_batches(self, work: Callable[[Any], T], description: str) -> Iterator[T]:
        """Yield the result of the work on each batch; on all data at once without subjects."""
        if self.reader.subject is None:
            yield work(self.load_all_rows("one history"))
            return
        temporary = TemporaryFolder()  # a sorted copy must last until the last batch is read
        batches = subject_batches(
            self.files,
            self.reader.columns,
            self.reader.subject,
            self.reader.limits,
            temporary.folder,
        )
        with progress(description, sum(batch.n_subjects for batch in batches)) as advance:
            found = map_in_order(BatchTask(self.reader, work), batches, None, None)
            for batch, result in zip(batches, found, strict=True):
                advance(batch.n_subjects)
                yield result

    def output_target(self, output: Any, overwrite: bool) -> OutputTarget:
        """File to write results to; without an output a temporary one."""
        if output is not None:
            file = check_output(output, overwrite, [file.path for file in self.files])
            return OutputTarget(file, None)
        temporary = TemporaryFolder()
        return OutputTarget(OutputFile(temporary.folder / "results.parquet"), temporary)

    def write_batch_results(
        self, work: Any, output: OutputFile, engine: Any, threads: int | None, description: str
    ) -> tuple[tuple[SubjectBatch, ...], int]:
        """Write the results of all batches; return these, and how many were done before."""
        check_executor(engine, threads)
        reader = self.reader
        if reader.subject is None:
            raise DataError(
                "subject",
                "must be given for one estimate per subject of a scan",
                got="None",
                fix="Name its column in scan(..., subject=).",
            )
        # The sorted copy lies in the folder of parts, which another process may be removing.
        with lock_file(output.file) if output.file.parent.exists() else nullcontext():
            batches = subject_batches(
                self.files, reader.columns, reader.subject, reader.limits, output.parts_folder
            )
            about = {"reader": reader, "work": work}
            task = BatchTask(reader, work)
            return batches, write_results(
                batches, task, about, output, engine, threads, description
            )


class SubjectScanBase(SubjectScan):
    """Implementation of `SubjectScan` for scans that have `subjects`."""

    @property
    def subjects(self) -> SubjectFiles:
        """Subjects of the files, and how their rows are read."""
        raise NotImplementedError

    def fit_subjects(
        self,
        work: Any,
        *,
        output: Any = None,
        overwrite: bool = False,
        engine: Any = None,
        threads: int | None = None,
    ) -> Any:
        """Write estimates of all subjects to a file."""
        return self.subjects.fit(
            work, output=output, overwrite=overwrite, engine=engine, threads=threads
        )

    def load(self, description: str) -> Any:
        """Read all data into memory."""
        return self.subjects.load_all_rows(description)

    def map_subjects(self, work: Callable[[Any], T], description: str) -> Iterator[T]:
        """Yield the result of the work on each batch of subjects."""
        return self.subjects.map_batches(work, description)
