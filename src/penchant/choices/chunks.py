"""Decisions looked at piece by piece, as they do not fit in memory, or column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from penchant._typing import IntVector, Vector
from penchant.choices import Choices


@dataclass(frozen=True)
class ChoiceColumns:
    """Choices that are looked at once: no table of their variables is made.

    Attributes
    ----------
    variables
        One column for each, of all rows; every option of a decision was on offer.
    first_row, chosen
        As in `Choices`.
    weights
        Of decisions, or None.
    offset
        Of rows, or None.
    """

    variables: tuple[Vector, ...]
    first_row: IntVector
    chosen: IntVector
    weights: Vector | None = None
    offset: Vector | None = None


T = TypeVar("T")


@runtime_checkable
class ManyPeople(Protocol):
    """Subjects whose decisions do not fit in memory, read some at a time."""

    @property
    def kind(self) -> str:
        """What the files hold: choices, play or offers."""

    def described(self) -> str:
        """What there is to read, in words."""

    def fit_people(
        self,
        work: Any,
        *,
        output: Any = None,
        overwrite: bool = False,
        engine: Any = None,
        threads: int | None = None,
    ) -> Any:
        """Rows that the work makes of the data of some subjects at a time, in a file.

        `work` is picklable; `work.one(data, subject)` is the estimate of one of them.
        """

    def in_memory(self, what: str) -> Any:
        """All data at once, for what needs them so; an error where they are too many."""

    def portions(self, work: Callable[[Any], T], what: str) -> Iterator[T]:
        """Results of the work on the data of some subjects at a time, in their order.

        `what` is done, in words, for those who watch.
        """


@runtime_checkable
class Chunks(Protocol):
    """A fixed cutting of decisions into pieces, and a way to look at each.

    Work and changes are picklable: pieces may be looked at in other processes.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    def n_chunks(self) -> int:
        """Number of pieces."""

    def on(self, engine: Any, threads: int | None) -> Chunks:
        """The same pieces, looked at by this engine."""

    def each(self, work: Callable[[Choices], T], what: str, again: bool = False) -> Iterator[T]:
        """Results of work on each piece, in the order of pieces whoever did it.

        `what` is done, in words, for those who watch; `again`, if all pieces were looked at before
        and need not be checked.
        """

    def described(self) -> str:
        """What there is to read, in words."""
