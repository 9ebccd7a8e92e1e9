"""One line on stderr when code is compiled for the first time on this machine."""

import sys
from typing import Any

from numba.core import event


class _FirstCompilation(event.Listener):
    """Says once per process that a kernel is being compiled; a kernel from the cache is silent."""

    said = False

    def on_start(self, event: Any) -> None:
        """Say it."""
        if not self.said and "penchant" in event.data["dispatcher"].py_func.__module__:
            self.said = True
            print(
                "penchant: compiling for this machine (only this once: it is kept on disk)",
                file=sys.stderr,
            )

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


def announce_compilation() -> None:
    """Watch for the first compilation."""
    event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
