"""What every kind of task can say of itself."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from penchant.task.draws import Key

Past = tuple[tuple[int, int], ...]  # offers made so far, each by its place, and the options taken


class Task(Protocol):
    """A kind of task, with its settings.

    A key names what a random number is for; see `draws`.
    """

    kind: ClassVar[str]

    @property
    def n_decisions(self) -> int:
        """How many decisions a block of it has."""

    def n_options(self, decision: int) -> int:
        """How many options there are at a decision."""

    def shown(self) -> dict[str, Any]:
        """What the page is told before the first decision: never a mean reward."""

    @property
    def adapts(self) -> bool:
        """Whether what is offered depends on the choices before."""

    def place(self, decision: int, key: Key, past: Past) -> int | None:
        """Which offer of a list comes at a decision; None where there is no list."""

    def offer(self, decision: int, key: Key, past: Past = ()) -> dict[str, Any] | None:
        """What the page is told at a decision, in addition."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float | None:
        """What a choice pays; None where nothing is paid."""

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """What an export says of a decision in addition to what was chosen and paid.

        `place` is that of an offer that depended on choices, as it was kept.
        """

    def analysis(self) -> dict[str, Any]:
        """Settings of `penchant study` that follow from the task."""
