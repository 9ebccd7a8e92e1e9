"""What every kind of task can say of itself."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from penchant.task.draws import Key


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

    def offer(self, decision: int, key: Key) -> dict[str, Any] | None:
        """What the page is told at a decision, in addition."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float | None:
        """What a choice pays; None where nothing is paid."""

    def columns(self, decision: int, walk: Key) -> dict[str, Any]:
        """What an export says of a decision in addition to what was chosen and paid."""

    def analysis(self) -> dict[str, Any]:
        """Settings of `penchant study` that follow from the task."""
