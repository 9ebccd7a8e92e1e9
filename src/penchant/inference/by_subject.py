"""Estimates of many subjects: by position, or by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from penchant.errors import DataError

One = TypeVar("One")


@dataclass(frozen=True, eq=False, repr=False)
class BySubject(Sequence[One], Generic[One]):
    """One estimate per subject; each has a status and a message."""

    subjects: tuple[Any, ...]
    estimates: tuple[One, ...]

    def __len__(self) -> int:
        return len(self.estimates)

    @overload
    def __getitem__(self, index: int) -> One: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[One, ...]: ...
    def __getitem__(self, index: int | slice) -> One | tuple[One, ...]:
        return self.estimates[index]

    def __iter__(self) -> Iterator[One]:
        return iter(self.estimates)

    def of(self, subject: Any) -> One:
        """The estimate of one subject, by label."""
        if subject not in self.subjects:
            raise DataError(
                f"subject must be one of the {len(self)} fitted; got {subject!r}. "
                "See `estimates.subjects`."
            )
        return self.estimates[self.subjects.index(subject)]

    @property
    def status(self) -> tuple[str, ...]:
        """One status per subject."""
        return tuple(e.status for e in self.estimates)  # type: ignore[attr-defined]

    @property
    def messages(self) -> tuple[str, ...]:
        """What the statuses mean."""
        return tuple(e.message for e in self.estimates)  # type: ignore[attr-defined]

    def counts(self) -> dict[str, int]:
        """How many subjects have each status."""
        return {status: self.status.count(status) for status in sorted(set(self.status))}
