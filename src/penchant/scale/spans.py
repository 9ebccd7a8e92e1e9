"""Rows of files that are looked at together, and where they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from penchant.errors import DataError
from penchant.scale.chunk_rows import Rows
from penchant.scale.stored import FILE, ROW, StoredFile

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
    tables = [part.table.select(list(names)) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]


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
