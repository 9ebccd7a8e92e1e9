"""Scans of play and of offers: tables with one row per event or decision, read by whole subjects.

Models of learning need the whole history of a subject, so the unit of work is a batch of subjects
rather than a chunk of decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from penchant.bandit.episode_table import episodes_from_frame
from penchant.choices.offers import offers_from_frame
from penchant.errors import DataError, closest_match_hint, format_names
from penchant.result_tables import format_count, progress
from penchant.scale.data_files import StoredFile
from penchant.scale.rows_to_choices import FileRows, check_types_agree
from penchant.scale.subject_batches import (
    BatchLimits,
    SubjectBatch,
    concat_rows,
    locate_errors_in_files,
)
from penchant.scale.subject_estimates import SubjectFiles, SubjectScanBase
from penchant.tables.columns import NO_COLUMN, flagged
from penchant.tables.offer_columns import offer_columns
from penchant.tables.play_columns import PARTS, columns_used, play_columns

T = TypeVar("T")
# Subjects whose searches run together: more are no faster, and an interruption loses a batch.
MAX_SUBJECTS_PER_BATCH = 256
OFFER_ROLES = ("subject", "block", "chosen", "scored")


@dataclass(frozen=True)
class HistoryReader:
    """Reader of the rows of a batch of subjects as episodes or offers.

    Attributes
    ----------
    kind
        "play" or "offers".
    arguments
        Of `episodes_from_frame`, or of `offers_from_frame`.
    """

    kind: str
    arguments: Mapping[str, Any]
    columns: tuple[str, ...]
    subject: str | None
    limits: BatchLimits

    def __call__(self, batch: SubjectBatch) -> list[Any]:
        """Read the episodes or offers of these subjects, in the order of their rows."""
        parts = [span.read(self.columns) for span in batch.spans]
        table = concat_rows(parts, self.columns)
        with locate_errors_in_files(parts):
            found: list[Any] = self._read(table)
        if self.subject is None:
            return found
        # The readers sort subjects by label; results are written in the order of the files.
        order: dict[Any, int] = {}
        for label in table[self.subject].unique().to_pylist():
            order.setdefault(label, len(order))
        return sorted(found, key=lambda one: order.get(one.subject, 0))

    def _read(self, table: pa.Table) -> list[Any]:
        if self.kind == "play":
            return list(episodes_from_frame(table, **self.arguments))
        return list(offers_from_frame(table, **self.arguments))


@dataclass(frozen=True, repr=False)
class HistoryScan(SubjectScanBase):
    """Play or offers in files, read a batch of subjects at a time; make one with `scan`."""

    files: tuple[StoredFile, ...]
    reader: HistoryReader
    n_rows: int

    @property
    def kind(self) -> str:
        """Kind of data: play or offers."""
        return self.reader.kind

    @property
    def subjects(self) -> SubjectFiles:
        """Subjects of the files, and how their rows are read."""
        return SubjectFiles(self.files, self.reader, f"of {self.describe()}")

    def describe(self) -> str:
        """Words for how many rows and files there are."""
        return f"{format_count(self.n_rows, 'row')} of {format_count(len(self.files), 'file')}"

    def __repr__(self) -> str:
        whose = "" if self.reader.subject is None else f", subjects in {self.reader.subject}"
        return f"Scan of {self.kind}: {self.describe()}{whose}"

    def distinct(self, column: str) -> list[Any]:
        """Distinct values of a column, in the order of their first rows."""
        found: dict[Any, None] = {}
        for rows in self._row_groups([column], f"Looking at {column}"):
            found.update(dict.fromkeys(rows.table[column].unique().to_pylist()))
        return [value for value in found if value is not None]

    def with_arguments(self, **new_arguments: Any) -> HistoryScan:
        """Copy of this scan that is read with other arguments."""
        return replace(
            self, reader=replace(self.reader, arguments={**self.reader.arguments, **new_arguments})
        )

    def _row_groups(self, columns: Sequence[str], description: str) -> Iterator[FileRows]:
        with progress(description, len(self.files)) as advance:
            for file in self.files:
                edges = file.group_edges()
                for begin, end in pairwise(edges):
                    if end > begin:  # Parquet allows empty row groups
                        yield FileRows(file.read(columns, begin, end, edges), file.name, begin)
                advance(1)


def scan_histories(
    files: tuple[StoredFile, ...],
    kind: str,
    columns_by_role: Mapping[str, Any],
    policies: Mapping[str, Any],
    chunk_rows: int,
) -> HistoryScan:
    """Scan play or offers; columns that are not given are recognised by their names."""
    names = list(files[0].schema().names)
    if kind == "play":
        locations = policies.get("locations")
        sides = 0 if locations is None else np.shape(locations)[1]
        found = play_columns(
            names, {part: columns_by_role.get(part) for part in PARTS}, coordinates=sides
        )
        arguments: dict[str, Any] = {**found, **policies}
        # In the order of the file, as the order is part of the fingerprint.
        columns = sorted(columns_used(found), key=names.index)
        subject = found["subject"]
    else:
        parts = {part: columns_by_role.get(part) for part in OFFER_ROLES}
        offered = offer_columns(names, parts, columns_by_role.get("offers"))
        arguments = {part: getattr(offered, part) or NO_COLUMN for part in OFFER_ROLES}
        arguments |= {"offers": columns_by_role.get("offers"), **policies}
        used = {name for part in offered.roles().values() for name in part}
        columns, subject = sorted(used, key=names.index), offered.subject
    n_rows = _check_columns_and_count_rows(files, columns)
    reader = HistoryReader(
        kind, arguments, tuple(columns), subject, BatchLimits(chunk_rows, MAX_SUBJECTS_PER_BATCH)
    )
    return HistoryScan(files, reader, n_rows)


def _check_columns_and_count_rows(files: Sequence[StoredFile], columns: Sequence[str]) -> int:
    """Number of rows of all files; raise if a column is missing in one, or of another type."""
    # "not forced" asks for the column "forced", with its flags reversed.
    plain = [flagged(name)[0] for name in columns]
    seen: dict[str, tuple[str, str]] = {}
    n_rows = 0
    for file in files:
        schema = file.schema()
        for name in plain:
            if name not in schema.names:
                hint = closest_match_hint(name, schema.names) or " Name files that have it."
                raise DataError(
                    name,
                    "must be a column of all files",
                    got=format_names(schema.names),
                    where=f"in {file.name}",
                    fix=hint,
                )
        check_types_agree(seen, file.name, schema, plain)
        n_rows += file.group_edges()[-1]
    if not n_rows:
        raise DataError(
            "path", "must name files with rows", got="0 rows in all", fix="Check the filter."
        )
    return n_rows
