"""Files and folders that must not outlive the process: locks, and what is half written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

_leftovers: set[Path] = set()
_ending: list[bool] = []


@contextmanager
def removed_in_the_end(path: Path) -> Iterator[None]:
    """Remove a file or folder when the work is over, and also if the process is ended before."""
    _leftovers.add(path)
    try:
        yield
    finally:
        _remove(path)
        _leftovers.discard(path)


def refuse_when_ending() -> None:
    """Begin nothing new in a process that was told to end, even if the interrupt was lost."""
    if _ending:
        raise KeyboardInterrupt


def end_soon() -> None:
    """Let no file be begun from now on."""
    _ending.append(True)


def end_at_once(code: int) -> NoReturn:
    """End the process without waiting for threads, and leave nothing behind."""
    for path in tuple(_leftovers):
        _remove(path)
    os._exit(code)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
