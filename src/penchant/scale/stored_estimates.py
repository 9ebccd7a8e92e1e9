"""Estimates of many subjects in a file, of which a few are in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penchant._frames import Backend
from penchant.errors import DataError
from penchant.output.notes import counted
from penchant.output.shown import Framed
from penchant.output.table import Table, number
from penchant.scale.streamed import groups_of
from penchant.softmax.estimate import Estimate

ERROR = "_standard_error"
SOUND = ("converged", "at a bound")
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class StoredEstimates(Framed):
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
            rows.append((name, f"{count:,}", *(number(end, 4) for end in ends)))
        facts = tuple((status, f"{count:,}") for status, count in self.counts().items())
        notes = (f"{self.words}. Estimates with status {' or '.join(SOUND)}, where finite.",)
        caption = f"Estimates of {counted(len(self), 'subject')}"
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
        return f"<StoredEstimates of {counted(len(self), 'subject')}: {said}>"
