"""Models of simulated players, made for the task that the server tells of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penchant.errors import DataError
from penchant.models.catalogue import entry_of


@dataclass(frozen=True)
class PlayerModel:
    """A model before the task is known.

    Attributes
    ----------
    name
        In the catalogue.
    make
        Gives the model for a grid ("10x10", or None) and a number of options.
    """

    name: str
    make: Callable[[str | None, int], Any]

    def for_task(self, task: Mapping[str, Any]) -> Any:
        """The model of a block; None, random choices, where it is of another kind."""
        offers = entry_of(self.name).data == "offers"
        if offers != (task["kind"] == "offers"):
            return None
        if task["kind"] == "grid":
            n = task["width"] * task["height"]
            return self.make(f"{task['width']}x{task['height']}", n)
        try:
            return self.make(None, task["options"])
        except DataError:
            if self.name in ("ucl", "gp-ucb", "locality"):  # options without places
                return None
            raise
