"""Results of long simulations, one line of JSON each, so that an interrupted run goes on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Kept:
    """Lines that were computed before, by what they are of; new ones are added at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                if line.endswith("}"):  # the last may be torn
                    found = json.loads(line)
                    self._lines[found["of"]] = found
        path.parent.mkdir(parents=True, exist_ok=True)

    def __contains__(self, of: str) -> bool:
        return of in self._lines

    def add(self, of: str, values: dict[str, Any]) -> None:
        """Keep what was computed, on disk before anything else is."""
        line = {"of": of, **values}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._lines[of] = line

    def under(self, prefix: str) -> list[dict[str, Any]]:
        """Everything of one kind."""
        return [line for of, line in self._lines.items() if of.startswith(prefix + "/")]

    def missing(self, names: Iterable[str]) -> list[str]:
        """What is still to be computed."""
        return [name for name in names if name not in self]
