"""Decisions that are looked at piece by piece, as they do not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

from penchant.choices.choices import Choices

T = TypeVar("T")


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
