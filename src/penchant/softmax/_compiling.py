"""One line on stderr when code is compiled for the first time on this machine."""

from typing import Any

from numba.core import event

from penchant._compiled import compiling_words, say_once


class _FirstCompilation(event.Listener):
    """Says once per process that a kernel is being compiled; a kernel from the cache is silent."""

    said = False

    def on_start(self, event: Any) -> None:
        """Say it, and where it is kept."""
        dispatcher = event.data["dispatcher"]
        if not self.said and "penchant" in dispatcher.py_func.__module__:
            self.said = True
            say_once(compiling_words(dispatcher.stats.cache_path))

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


def announce_compilation() -> None:
    """Watch for the first compilation."""
    event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
