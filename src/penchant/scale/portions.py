"""Where the rows of each subject are: portions of whole subjects, whichever files they lie in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._progress import progress
from penchant.errors import DataError
from penchant.scale.chunk_rows import Rows, check_present, plain, starts_of
from penchant.scale.sorting import sorted_copy
from penchant.scale.spans import Span
from penchant.scale.stored import StoredFile


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
