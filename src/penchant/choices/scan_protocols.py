"""Interfaces of data that do not fit in memory, which estimators rely on and scans implement.

`Chunks` yields decisions chunk by chunk, for estimators that add over decisions; `SubjectScan`
yields data by batches of whole subjects, for those that fit each. They are base classes rather than
protocols: `isinstance` of a protocol takes a tenth of the time of a small fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from penchant.choices import Choices

T = TypeVar("T")


class SubjectScan(ABC):
    """Subjects whose decisions do not fit in memory, read a batch at a time."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Kind of data: choices, play or offers."""

    @abstractmethod
    def describe(self) -> str:
        """Words for how much there is to read."""

    @abstractmethod
    def fit_subjects(
        self,
        work: Any,
        *,
        output: Any = None,
        overwrite: bool = False,
        engine: Any = None,
        threads: int | None = None,
    ) -> Any:
        """Write the rows that `work` returns for each batch of subjects to a file.

        `work` is picklable; `work.fit_subject(data, subject)` is the estimate of one subject.
        """

    @abstractmethod
    def load(self, description: str) -> Any:
        """Read all data into memory, or raise if they are too many for the work described."""

    @abstractmethod
    def map_subjects(self, work: Callable[[Any], T], description: str) -> Iterator[T]:
        """Yield the result of the work on each batch of subjects, in their order.

        `description` of the work is shown in the progress bar.
        """


class Chunks(ABC):
    """Decisions in chunks that are fixed once, and a way to map work over them.

    Work is picklable: chunks may be read in other processes.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    @abstractmethod
    def n_chunks(self) -> int:
        """Number of chunks."""

    @abstractmethod
    def with_engine(self, engine: Any, threads: int | None) -> Chunks:
        """Copy whose chunks are read by this engine."""

    @abstractmethod
    def map_chunks(
        self, work: Callable[[Choices], T], description: str, validated: bool = False
    ) -> Iterator[T]:
        """Yield the result of the work on each chunk, in the order of chunks whoever did it.

        `description` of the work is shown in the progress bar; `validated`: an earlier pass has
        checked all chunks.
        """

    @abstractmethod
    def describe(self) -> str:
        """Words for how much there is to read."""
