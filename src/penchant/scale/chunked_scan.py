"""`scan`: decisions in files that do not fit in memory, read in chunks of whole decisions.

The chunks are fixed once, from the columns that name decisions. Every pass of an estimator then
maps its work over the chunks and adds the results in their order (map-reduce), so that sums of
floats are the same bits with any number of threads, processes or machines. Files are read with
pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector
from penchant.choices import Choices
from penchant.choices.scan_protocols import Chunks
from penchant.errors import DataError, format_names
from penchant.result_tables import format_count, progress
from penchant.scale.data_files import SOURCE_FILE_COLUMN, StoredFile, cache_folder, stored_files
from penchant.scale.rows_to_choices import (
    ChoiceLayout,
    FileRows,
    check_column_names,
    check_no_empty_cells,
    check_types_agree,
    choice_part,
    chosen_holds_labels,
    decision_starts,
    merge_choices,
)
from penchant.scale.subject_batches import BatchLimits, FileRowRange, SubjectBatch, sorted_copy
from penchant.scale.subject_estimates import (
    SubjectFiles,
    SubjectScanBase,
    check_executor,
    map_in_order,
)
from penchant.scale.subject_history_scan import HistoryScan, scan_histories
from penchant.tables.arrays import decision_weights
from penchant.tables.episode_order import Gaps, MissingReward
from penchant.tables.layouts import LongColumns, column_names
from penchant.tables.offer_columns import is_offers
from penchant.tables.play_columns import ColumnNames, is_play
from penchant.tables.reading import TITLES, ReadingKind

T = TypeVar("T")
CHUNK_ROWS = 1_000_000  # some 100 MB with ten variables: small beside memory, large beside overhead
# Many subjects per batch, as compiled loops fit them together and a batch has fixed costs;
# larger ones need more memory, and an interruption loses more work.
MAX_CHOOSERS_PER_BATCH = 8192


@dataclass(frozen=True)
class ChunkTask:
    """Read a chunk and apply `work` to it; picklable, so that any worker process can call it.

    FileRows that an earlier pass has checked are `validated`, and are not checked again.
    """

    layout: ChoiceLayout
    work: Callable[[Choices], Any]
    validated: bool

    def __call__(self, spans: tuple[FileRowRange, ...]) -> Any:
        """Result of the work on the chunk."""
        return self.work(read_chunk(spans, self.layout, self.validated))


def read_chunk(
    spans: Sequence[FileRowRange], layout: ChoiceLayout, validated: bool = False
) -> Choices:
    """Read the decisions of a chunk; once validated, without columns only checks need."""
    names = [
        name for name in layout.columns_to_read if not validated or name in layout.required_names
    ]
    parts = []
    for span in spans:
        parts.append(choice_part(span.read(names), layout, validated))
    return merge_choices(parts, layout)


@dataclass(frozen=True)
class ChoicesReader:
    """Reader of the rows of a batch of subjects as `Choices`."""

    layout: ChoiceLayout
    limits: BatchLimits

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self.layout.columns_to_read

    @property
    def subject(self) -> str | None:
        """Column that names the subject, or None."""
        subject: str | None = self.layout.columns.subject
        return subject

    def __call__(self, batch: SubjectBatch) -> Choices:
        """Read the decisions of these subjects, in the order of their rows."""
        layout = self.layout
        # Each file may number its decisions from 1 again, so in a sorted copy the file is part of
        # the name.
        if batch.spans[0].file.are_decisions_per_file:
            names = replace(layout.columns, decision=(*layout.columns.decision, SOURCE_FILE_COLUMN))
            layout = replace(layout, columns=names)
        return read_chunk(batch.spans, layout)


@dataclass(frozen=True, repr=False)
class Scan(SubjectScanBase, Chunks):
    """Decisions in files, looked at chunk by chunk; make one with `scan`.

    Attributes
    ----------
    chunks
        Where the rows of each chunk are: whole decisions, the same whoever looks at them.
    """

    layout: ChoiceLayout
    chunks: tuple[tuple[FileRowRange, ...], ...]
    files: tuple[StoredFile, ...]
    chunk_rows: int
    engine: Any = None
    threads: int | None = None

    @property
    def kind(self) -> str:
        """Kind of data: choices."""
        return "choices"

    @property
    def n_files(self) -> int:
        """Number of files."""
        return len(self.files)

    @property
    def subjects(self) -> SubjectFiles:
        """Subjects of the files, and how their rows are read."""
        reader = ChoicesReader(self.layout, BatchLimits(self.chunk_rows, MAX_CHOOSERS_PER_BATCH))
        return SubjectFiles(self.files, reader, f"of {self.describe()}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(str(name) for name in self.layout.columns.explanatory)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.chunks)

    @property
    def n_rows(self) -> int:
        """Number of rows in all files."""
        return sum(span.end - span.begin for chunk in self.chunks for span in chunk)

    def with_engine(self, engine: Any, threads: int | None) -> Scan:
        """Copy of this scan whose chunks are read by this engine."""
        check_executor(engine, threads)
        return replace(self, engine=engine, threads=threads)

    def map_chunks(
        self, work: Callable[[Choices], T], description: str, validated: bool = False
    ) -> Iterator[T]:
        """Yield the result of the work on each chunk, in the order of chunks."""
        task = ChunkTask(self.layout, work, validated)
        with progress(description, self.n_chunks) as advance:
            for result in map_in_order(task, self.chunks, self.engine, self.threads):
                advance(1)
                yield result

    def describe(self) -> str:
        """Words for how many rows, files and chunks there are."""
        files, chunks = format_count(self.n_files, "file"), format_count(self.n_chunks, "chunk")
        return f"{format_count(self.n_rows, 'row')} of {files} in {chunks}"

    def __repr__(self) -> str:
        return f"Scan: {self.describe()}, {format_count(len(self.names), 'variable')} " + (
            f"({', '.join(self.names)})"
        )


@overload
def scan(
    path: Any,
    *,
    decision: Any,
    option: str,
    chosen: str,
    explanatory: Sequence[str],
    weight: str | None = None,
    subject: str | None = None,
    available: str | None = None,
    offset: str | None = None,
    weight_kind: Literal["frequency", "probability"] = "frequency",
    sort: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    cache: Any = None,
) -> Scan: ...
@overload
def scan(
    path: Any,
    *,
    kind: ReadingKind | None = None,
    decision: str | None = None,
    chosen: Any = None,
    subject: str | None = None,
    reward: str | tuple[str, str] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    block: ColumnNames | None = None,
    is_choice: str | None = None,
    scored: str | None = None,
    executed: ColumnNames | None = None,
    base: int | None = None,
    options: Sequence[Any] | None = None,
    locations: Any = None,
    gaps: Gaps | None = None,
    shown: int | None = None,
    missing_reward: MissingReward | None = None,
    chunk_rows: int = CHUNK_ROWS,
    cache: Any = None,
) -> HistoryScan: ...
def scan(
    path: Any,
    *,
    kind: ReadingKind | None = None,
    decision: Any = None,
    option: str | None = None,
    chosen: Any = None,
    explanatory: Sequence[str] | None = None,
    weight: str | None = None,
    subject: str | None = None,
    available: str | None = None,
    offset: str | None = None,
    weight_kind: Literal["frequency", "probability"] = "frequency",
    reward: str | tuple[str, str] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    block: ColumnNames | None = None,
    is_choice: str | None = None,
    scored: str | None = None,
    executed: ColumnNames | None = None,
    base: int | None = None,
    options: Sequence[Any] | None = None,
    locations: Any = None,
    gaps: Gaps | None = None,
    shown: int | None = None,
    missing_reward: MissingReward | None = None,
    sort: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    cache: Any = None,
) -> Any:
    r"""Decisions in Parquet, Arrow or CSV files that need not fit in memory.

    Of choices, only the columns that name decisions are read at once, to find where each begins.
    The rows of a decision stand together in one file; names may start afresh in each file. The
    rows of a subject may lie anywhere.

    Parameters
    ----------
    path
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address that pyarrow or fsspec
        opens (``s3://...``), or a list of these. Folders called ``column=value`` give that column.
    kind
        "choices", "play" or "offers"; told by the columns that are named, or by their usual names.
    decision, option, chosen, explanatory, weight, subject, available, offset, weight_kind
        Columns of choices, as in `Choices.from_frame`.
    reward, block, is_choice, scored, executed
        Columns of play, with `chosen`, `subject` and `decision`, as in `episodes_from_frame`; those
        that are not named are recognised.
    base, options, locations, gaps, shown, missing_reward
        How play is read, as in `episodes_from_frame`.
    offers
        Of offers, as in `offers_from_frame`, with `subject`, `block`, `chosen`, `scored`, `options`
        and `base`.
    sort
        Of choices: rows of a decision lie anywhere, also in several files, in which names mean the
        same. They are put together once, by DuckDB, in a copy in `cache`.
    chunk_rows
        About how many rows are in memory at a time for each worker. Sums are added in the order of
        chunks: the last digits depend on this, and on nothing else.
    cache
        Folder for sorted copies, and for copies of CSV files as Parquet; one of the user's, if not
        given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import penchant as pn
    >>> folder = tempfile.TemporaryDirectory()
    >>> trips = pathlib.Path(folder.name, "trips.csv")
    >>> rows = ["trip,mode,taken,price", "1,bus,0,2", "1,car,1,5", "2,bus,1,1", "2,car,0,6"]
    >>> _ = trips.write_text("\n".join(rows))
    >>> pn.scan(
    ...     trips, decision="trip", option="mode", chosen="taken", explanatory=["price"],
    ...     cache=folder.name,
    ... )
    Scan: 4 rows of 1 file in 1 chunk, 1 variable (price)
    >>> folder.cleanup()
    """
    if chunk_rows < 1:
        raise DataError("chunk_rows", "must be at least 1", got=f"{chunk_rows}. 1,000,000 is usual")
    # Arguments are grouped by the kind of data they belong to, so that those of another kind can be
    # refused instead of ignored.
    own = {"option": option, "explanatory": explanatory, "weight": weight, "offset": offset}
    own |= {"available": available}
    columns = {"subject": subject, "chosen": chosen, "decision": decision, "scored": scored}
    columns |= {"reward": reward, "block": block, "is_choice": is_choice, "offers": offers}
    columns |= {"executed": executed}
    policies = {"base": base, "options": options, "locations": locations, "gaps": gaps}
    policies |= {"shown": shown, "missing_reward": missing_reward}
    policies = {name: value for name, value in policies.items() if value is not None}
    files = stored_files(path, cache)
    # The kind is inferred from arguments or names of columns: reading the rows of large files first
    # would take long.
    found = kind or _infer_kind(files[0], {**own, **columns})
    if found == "choices":
        _refuse_arguments(
            found, columns, ("reward", "block", "is_choice", "scored", "executed", "offers")
        )
        _refuse_arguments(found, policies, tuple(policies))
        layout = _choice_layout({**own, **columns}, weight_kind, files[0])
        _check_column_types_agree(files, layout)
        if sort:
            folder = cache_folder() if cache is None else Path(cache)
            path = folder / "sorted.parquet"
            files = (
                sorted_copy(
                    files,
                    layout.columns_to_read,
                    layout.decision_columns,
                    path,
                    "rows of a decision",
                    separate_decisions=False,
                ),
            )
        return _scan_choices(files, layout, chunk_rows)
    if found not in ("play", "offers"):
        raise DataError(
            "kind", f"must be one of {', '.join(TITLES)}", got=repr(kind), fix="Choose one."
        )
    _refuse_arguments(found, own, tuple(own))
    if found == "offers":
        _refuse_arguments(found, columns, ("reward", "is_choice", "decision", "executed"))
        _refuse_arguments(found, policies, ("locations", "gaps", "shown", "missing_reward"))
    else:
        _refuse_arguments(found, columns, ("offers",))
    return scan_histories(files, found, columns, policies, chunk_rows)


def _infer_kind(file: StoredFile, arguments: Mapping[str, Any]) -> str:
    """Kind of data, inferred from the arguments given, else from the names of columns."""
    if arguments["offers"] is not None:
        return "offers"
    if arguments["reward"] is not None:
        return "play"
    if arguments["explanatory"] is not None or arguments["option"] is not None:
        return "choices"
    names = list(file.schema().names)
    if is_offers(names):  # the stricter test first: names of offers may also pass that of play
        return "offers"
    return "play" if is_play(names) else "choices"


def _refuse_arguments(kind: str, arguments: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if arguments.get(name) is not None:
            raise DataError(
                name,
                f"must be left out, as the files hold {TITLES[kind]}",
                got=repr(arguments[name]),
                fix="Leave it out, or say what they are with `kind`.",
            )


def _choice_layout(
    arguments: Mapping[str, Any], weight_kind: str, first: StoredFile
) -> ChoiceLayout:
    """Check and collect the roles of the columns of choices."""
    for name in ("decision", "option", "chosen", "explanatory"):
        if arguments[name] is None:
            raise DataError(
                name,
                "must be given for a scan of choices",
                got=f"none, and columns {format_names(first.schema().names)}",
                fix="Name its column; of play, name that of the reward.",
            )
    columns = LongColumns(
        decision=column_names(arguments["decision"], "decision"),
        option=arguments["option"],
        chosen=arguments["chosen"],
        explanatory=column_names(arguments["explanatory"], "explanatory"),
        weight=arguments["weight"],
        subject=arguments["subject"],
        available=arguments["available"],
        offset=arguments["offset"],
    )
    # An unknown kind is refused before files are read, which may take long.
    decision_weights(None, 0, weight_kind)
    return ChoiceLayout(columns, weight_kind)


def _scan_choices(files: tuple[StoredFile, ...], layout: ChoiceLayout, chunk_rows: int) -> Scan:
    """Find where decisions begin in every file, and fix the chunks."""
    spans: list[FileRowRange] = []
    before: _DecisionStarts | None = None
    with progress("Looking for decisions", len(files)) as advance:
        for file in files:
            cutting = _DecisionStarts.from_file(file, layout)
            if cutting.n_rows:
                if before is not None:
                    _check_decision_in_one_file(before, cutting)
                spans += cutting.spans(chunk_rows)
                before = cutting
            advance(1)
    if not spans:
        raise DataError(
            "path", "must name files with rows", got="0 rows in all", fix="Check the filter."
        )
    first = spans[0]
    # Decided once, so that no later chunk, in which labels happen to be 0 and 1, is read otherwise.
    rows = first.file.read(layout.columns_to_read, first.begin, first.end, first.row_group_edges)
    chosen_is_label = chosen_holds_labels(FileRows(rows, first.file.name, first.begin), layout)
    layout = replace(layout, chosen_is_label=chosen_is_label)
    return Scan(layout, _merge_small_spans(spans, chunk_rows), files, chunk_rows)


def _merge_small_spans(
    spans: Sequence[FileRowRange], chunk_rows: int
) -> tuple[tuple[FileRowRange, ...], ...]:
    """Group consecutive spans into chunks of up to `chunk_rows` rows, so small files share one."""
    chunks: list[tuple[FileRowRange, ...]] = []
    room = 0
    for span in spans:
        n_rows = span.end - span.begin
        if chunks and n_rows <= room:
            chunks[-1] = (*chunks[-1], span)
            room -= n_rows
        else:
            chunks.append((span,))
            room = chunk_rows - n_rows
    return tuple(chunks)


def _check_column_types_agree(files: Sequence[StoredFile], layout: ChoiceLayout) -> None:
    """Raise if a column is missing in some file, or has another type there."""
    labels = {*layout.decision_columns, layout.columns.option, layout.columns.chosen}
    seen: dict[str, tuple[str, str]] = {}
    for file in files:
        schema = file.schema()
        check_column_names(file.name, schema, layout.columns)
        check_types_agree(seen, file.name, schema, layout.columns_to_read, labels)


@dataclass(frozen=True)
class _DecisionStarts:
    """First rows of the decisions of a file.

    Attributes
    ----------
    row_group_edges
        First row of each group of rows, and their number.
    starts, first, last
        First row of each decision, and the names of the first and the last of them.
    """

    file: StoredFile
    row_group_edges: tuple[int, ...]
    starts: IntVector
    first: tuple[Any, ...]
    last: tuple[Any, ...]

    @classmethod
    def from_file(cls, file: StoredFile, layout: ChoiceLayout) -> _DecisionStarts:
        """Read the columns that name decisions, one row group at a time."""
        edges = tuple(file.group_edges())
        starts, labels = [], []
        last: tuple[Any, ...] | None = None
        for begin, end in pairwise(edges):
            if begin == end:
                continue
            table = file.read(layout.decision_columns, begin, end, edges)
            for name in layout.decision_columns:
                role = "subject" if name == layout.columns.subject else "decision"
                check_no_empty_cells(FileRows(table, file.name, begin), name, role)
            here = decision_starts(table, layout.decision_columns)
            # A decision that goes on from the row group before must not be counted twice.
            if last == _decision_name_at(table, layout.decision_columns, 0):
                here = here[1:]
            starts.append(here + begin)
            labels.append(table.take(pa.array(here)))
            last = _decision_name_at(table, layout.decision_columns, len(table) - 1)
        if last is None:
            return cls(file, edges, np.empty(0, dtype=np.int64), (), ())
        found, names = np.concatenate(starts), pa.concat_tables(labels)
        _check_contiguous(file, names, found, layout)
        return cls(file, edges, found, _decision_name_at(names, layout.decision_columns, 0), last)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.row_group_edges[-1]

    def spans(self, chunk_rows: int) -> list[FileRowRange]:
        """Divide the file into spans of `chunk_rows` to twice as many rows."""
        # A row group is decompressed as a whole, so spans end with row groups where they can.
        wanted, begin = [0], 0
        for first, last in pairwise(self.row_group_edges):
            while last - max(begin, first) > 2 * chunk_rows or last - begin > 2 * chunk_rows:
                begin += chunk_rows
                wanted.append(begin)
            if last - begin >= chunk_rows:
                begin = last
                wanted.append(begin)
        at = np.searchsorted(self.starts, wanted)
        decisions = np.unique(np.append(at, len(self.starts)))
        rows = np.append(self.starts, self.n_rows)[decisions].tolist()
        return [
            FileRowRange(self.file, one, other, self.row_group_edges)
            for one, other in pairwise(rows)
        ]


def _decision_name_at(table: pa.Table, key: Sequence[str], row: int) -> tuple[Any, ...]:
    return tuple(table[name][row].as_py() for name in key)


def _check_contiguous(
    file: StoredFile, names: pa.Table, starts: IntVector, layout: ChoiceLayout
) -> None:
    """Raise if rows of a decision are separated by those of another."""
    key = list(layout.decision_columns)
    distinct = names.group_by(key).aggregate([]).num_rows
    if distinct == len(names):  # Arrow counts quickly; the loop below only finds what to report
        return
    seen: set[tuple[Any, ...]] = set()
    for k, name in enumerate(zip(*(names[part].to_pylist() for part in key), strict=True)):
        if name in seen:
            raise DataError(
                "decision",
                "must have its rows together",
                got=f"decision {_format_name(name)} again at row {starts[k]} of {file.name}",
                fix=f"Sort the file by {', '.join(key)}, or pass sort=True.",
            )
        seen.add(name)


def _check_decision_in_one_file(before: _DecisionStarts, after: _DecisionStarts) -> None:
    """Raise if the last decision of a file goes on in the next."""
    if before.last == after.first:
        raise DataError(
            "decision",
            "must lie in one file",
            got=(
                f"decision {_format_name(after.first)} at the end of {before.file.name} and "
                f"again at row 0 of {after.file.name}"
            ),
            fix="Put its rows in one file, or pass sort=True.",
        )


def _format_name(name: tuple[Any, ...]) -> str:
    return str(name[0]) if len(name) == 1 else str(name)
