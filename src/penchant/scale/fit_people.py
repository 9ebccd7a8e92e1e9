"""One estimate per subject of files: who looks at portions, and the file that results stream to.

Each portion is kept in a small file of its own, written whole or not at all, and says what it was
made from. When all are there they are joined, group by group of rows; only then the output exists.
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
from typing import Any, Protocol, TypeVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penchant._version import __version__
from penchant.arguments import check_threads
from penchant.errors import DataError, argument
from penchant.files.atomic import check_writable, locked, written
from penchant.output import Backend, FrameExport, Table, format_count, format_number, progress
from penchant.scale.portions import Limits, Portion, Span, portions_of
from penchant.scale.stored import StoredFile
from penchant.softmax.estimate import Estimate
from penchant.softmax.likelihood import available_threads

T = TypeVar("T")
AHEAD = 4  # tasks that each thread may be ahead of the one that is waited for
WAITING = 4096  # tasks that another engine has at a time: more than a cluster has processors


def check_engine(engine: Any, threads: int | None) -> None:
    """Whether it can look at chunks."""
    check_threads(threads)
    known = isinstance(engine, (Executor, str)) or hasattr(engine, "get_executor")
    if engine is not None and not known:
        raise DataError(
            "engine must be an executor of concurrent.futures, a client of dask.distributed or "
            f"its address; got {type(engine).__name__}. Leave it out for threads."
        )


def in_order(
    work: Callable[[T], Any], tasks: Iterable[T], engine: Any, threads: int | None
) -> Iterator[Any]:
    """Results of the tasks in their order, whoever did them and whichever was done first."""
    workers = available_threads() if threads is None else threads
    if engine is None and workers == 1:
        yield from map(work, tasks)
        return
    left = iter(tasks)
    ahead = AHEAD * workers if engine is None else WAITING
    with _executor(engine, workers) as executor:
        futures = deque(executor.submit(work, task) for task in islice(left, ahead))
        try:
            while futures:
                found = futures[0].result()
                futures.popleft()
                futures.extend(executor.submit(work, task) for task in islice(left, 1))
                yield found
        finally:
            for future in futures:
                future.cancel()


@contextmanager
def _executor(engine: Any, workers: int) -> Iterator[Any]:
    """What takes the tasks; ended afterwards if it was made here."""
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
                "engine must be an executor where dask.distributed is not installed; got "
                f"{engine!r}. Install it with pip install 'penchant[dask]'."
            ) from error
        with distributed.Client(engine) as client:
            yield client.get_executor(pure=False)
    else:
        yield engine.get_executor(pure=False)


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


ERROR = "_standard_error"
SOUND = ("converged", "at a bound")
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class StoredEstimates(FrameExport):
    """One row per subject in a Parquet file: status, parameters, errors, intervals, message.

    Nothing is in memory but what is asked for. `Estimates.to_frame` has the same columns.

    Attributes
    ----------
    path
        The file; one that is removed with this object, if no output was named.
    words
        What was fitted, to what.
    n_resumed
        Portions of subjects that an earlier call had done.
    """

    path: Path
    words: str
    n_resumed: int
    again: Callable[[int, Any], Estimate]
    kept: Any = None

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path).num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(pq.read_schema(self.path).names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(n.removesuffix(ERROR) for n in self.columns if n.endswith(ERROR))

    def __getitem__(self, column: str) -> Any:
        """A column of all subjects: an array of numbers, or of labels."""
        if column not in self.columns:
            raise DataError(
                f"column must be one of {', '.join(self.columns)}; got {column!r}. Correct it."
            )
        table = pq.read_table(self.path, columns=[column], partitioning=None)
        return table[column].to_numpy()

    def groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows as pyarrow tables, some hundred subjects in each."""
        return groups_of(self.path, columns)

    def to_frame(self, backend: Backend | None = None, columns: Sequence[str] | None = None) -> Any:
        """All rows in memory."""
        names = None if columns is None else list(columns)
        table = pq.read_table(self.path, columns=names, partitioning=None)
        table = table.replace_schema_metadata(None)
        if backend == "pyarrow":
            return table
        found = nw.from_native(table, eager_only=True)
        return found.to_polars() if backend == "polars" else found.to_pandas()

    def row(self, subject: Any) -> dict[str, Any]:
        """What the file says of one subject."""
        return self._found(subject)[1]

    def of(self, subject: Any) -> Estimate:
        """The estimate of one subject, made again from the scanned rows."""
        return self.again(self._found(subject)[0], subject)

    def _found(self, subject: Any) -> tuple[int, dict[str, Any]]:
        """The group of rows that a subject is in, and its row."""
        for g, labels in enumerate(self.groups(["subject"])):
            where = [k for k, label in enumerate(labels["subject"].to_pylist()) if label == subject]
            if where:
                with pq.ParquetFile(self.path) as stored:
                    rows = stored.read_row_group(g).slice(where[0], 1).to_pylist()
                return g, rows[0]
        raise DataError(
            f"subject must be one of the {len(self):,} fitted; got {subject!r}. Their labels are "
            "in the column subject."
        )

    @cached_property
    def _counts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for group in self.groups(["status"]):
            found.update(group["status"].to_pylist())
        return found

    def counts(self) -> dict[str, int]:
        """How many subjects have each status."""
        return dict(sorted(self._counts.items()))

    def quantiles(self) -> list[dict[str, Any]]:
        """How the estimates lie that are sound and finite, of one parameter after another."""
        sound = np.isin(self["status"].astype(str), SOUND)
        found = []
        for name in self.names:
            values = np.asarray(self[name][sound], dtype=np.float64)
            values = values[np.isfinite(values)]
            ends = np.quantile(values, SHARES).tolist() if len(values) else [np.nan] * len(SHARES)
            words = [f"{100 * share:g} %" for share in SHARES]
            found.append(
                {"name": name, "subjects": len(values), **dict(zip(words, ends, strict=True))}
            )
        return found

    def table(self) -> Table:
        """How the estimates lie, one parameter per row."""
        rows, header = [], ["", "subjects"]
        for one in self.quantiles():
            name, count, *ends = one.values()
            header = ["", "subjects", *list(one)[2:]]
            rows.append((name, f"{count:,}", *(format_number(end, 4) for end in ends)))
        facts = tuple((status, f"{count:,}") for status, count in self.counts().items())
        notes = (f"{self.words}. Estimates with status {' or '.join(SOUND)}, where finite.",)
        caption = f"Estimates of {format_count(len(self), 'subject')}"
        return Table(caption, facts, tuple(header), tuple(rows), notes)

    def summary(self) -> str:
        """How many there are of each status, and how the estimates lie."""
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self) -> str:
        """The table for a paper (booktabs)."""
        return self.table().latex()

    def to_dict(self) -> dict[str, Any]:
        """Counts and quantiles, ready for JSON."""
        return {
            "n_subjects": len(self),
            "counts": self.counts(),
            "output": None if self.kept is not None else str(self.path),
            "parameters": self.quantiles(),
        }

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        said = ", ".join(f"{count:,} {status}" for status, count in self.counts().items())
        return f"<StoredEstimates of {format_count(len(self), 'subject')}: {said}>"


MOST_ROWS = 20_000_000  # that are read at once


class Reader(Protocol):
    """How the rows of a portion become data; picklable."""

    @property
    def columns(self) -> Sequence[str]:
        """What is read."""

    @property
    def subject(self) -> str | None:
        """Column that says whose rows they are."""

    @property
    def limits(self) -> Limits:
        """How large portions are."""

    def __call__(self, portion: Portion) -> Any:
        """Data of these subjects, in the order in which they come."""


class Kept:
    """A folder that is removed with this object."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="penchant"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Doing:
    """Work on a portion, to be done wherever its files can be read; estimates have one type."""

    reader: Reader
    work: Callable[[Any], Any]

    def __call__(self, portion: Portion) -> Any:
        """Read it and do the work."""
        found = self.work(self.reader(portion))
        return typed(found) if hasattr(self.work, "one") else found


@dataclass(frozen=True)
class People:
    """Subjects in files, and how to read them."""

    files: tuple[StoredFile, ...]
    reader: Reader
    described: str

    def fit(
        self, work: Any, *, output: Any, overwrite: bool, engine: Any, threads: int | None
    ) -> StoredEstimates:
        """The work on all portions, in a file; `work.one` is an estimate of one subject."""
        kept, place = self.place(output, overwrite)
        portions, n_done = self.stream(work, place, engine, threads, "Fitting subjects")

        def again(group: int, subject: Any) -> Any:
            return work.one(self.reader(portions[group]), subject)

        return StoredEstimates(place.file, f"{work} {self.described}", n_done, again, kept)

    def in_memory(self, what: str) -> Any:
        """All data at once, as they lie in the files."""
        spans = []
        for file in self.files:
            edges = tuple(file.group_edges())
            if edges[-1]:
                spans.append(Span(file, 0, edges[-1], edges))
        n_rows = sum(span.n_rows for span in spans)
        if n_rows > MOST_ROWS:
            raise DataError(
                f"data must have at most {MOST_ROWS:,} rows for {what}, which holds them in "
                f"memory; got {n_rows:,}. Scan the files of some subjects: some thousand tell as "
                "much of it."
            )
        return self.reader(Portion(tuple(spans), 0))

    def each(self, work: Callable[[Any], T], what: str) -> Iterator[T]:
        """Results of the work on each portion, in order; on all at once, where nobody is named."""
        if self.reader.subject is None:
            yield work(self.in_memory("one history"))
            return
        kept = Kept()  # for a sorted copy, until all is done
        portions = portions_of(
            self.files, self.reader.columns, self.reader.subject, self.reader.limits, kept.folder
        )
        with progress(what, sum(portion.n_subjects for portion in portions)) as advance:
            found = in_order(Doing(self.reader, work), portions, None, None)
            for portion, result in zip(portions, found, strict=True):
                advance(portion.n_subjects)
                yield result

    def place(self, output: Any, overwrite: bool) -> tuple[Any, Output]:
        """Where results go; to a folder that is removed with what is returned, if nowhere."""
        if output is not None:
            return None, output_at(output, overwrite, [file.path for file in self.files])
        kept = Kept()
        return kept, Output(kept.folder / "results.parquet")

    def stream(
        self, work: Any, output: Output, engine: Any, threads: int | None, what: str
    ) -> tuple[tuple[Portion, ...], int]:
        """The portions, and how many of them were done before."""
        check_engine(engine, threads)
        reader = self.reader
        if reader.subject is None:
            raise DataError(
                "subject must be given for one estimate per subject of a scan; got None. "
                "Name its column in scan(..., subject=)."
            )
        with locked(output.file) if output.file.parent.exists() else nullcontext():
            portions = portions_of(
                self.files, reader.columns, reader.subject, reader.limits, output.parts
            )
            about = {"reader": reader, "work": work}
            doing = Doing(reader, work)
            return portions, streamed(portions, doing, about, output, engine, threads, what)


class OfPeople:
    """Base of scans whose rows are those of subjects."""

    @property
    def people(self) -> People:
        """The subjects."""
        raise NotImplementedError

    def fit_people(
        self,
        work: Any,
        *,
        output: Any = None,
        overwrite: bool = False,
        engine: Any = None,
        threads: int | None = None,
    ) -> Any:
        """Estimates of all subjects, in a file."""
        return self.people.fit(
            work, output=output, overwrite=overwrite, engine=engine, threads=threads
        )

    def in_memory(self, what: str) -> Any:
        """All data at once."""
        return self.people.in_memory(what)

    def portions(self, work: Callable[[Any], T], what: str) -> Iterator[T]:
        """Results of the work on some subjects after others."""
        return self.people.each(work, what)
