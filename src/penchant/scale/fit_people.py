"""One estimate per subject of files: portion by portion, streamed to a file."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol, TypeVar

from penchant._progress import progress
from penchant.errors import DataError
from penchant.files.atomic import locked
from penchant.scale.engines import check_engine, in_order
from penchant.scale.portions import Limits, Portion, Span, portions_of
from penchant.scale.stored import StoredFile
from penchant.scale.stored_estimates import StoredEstimates
from penchant.scale.streamed import Output, output_at, streamed, typed

T = TypeVar("T")
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
