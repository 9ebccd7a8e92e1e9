"""One server per file: a lock that the system takes back when a process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penchant.errors import DataError


@contextmanager
def owned(file: Path) -> Iterator[None]:
    """Keep a second server from serving the same file."""
    lock = file.resolve().with_name(f".{file.name}.serving")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise DataError(
            f"--store must lie where files can be written; got {file}: {error.strerror}. "
            "Choose another place."
        ) from None
    try:
        if not _locked(handle):
            raise DataError(
                f"--store must be served by one server; got {file}, which another serves. "
                "Stop that one, or use PostgreSQL for several."
            )
        yield
    finally:
        os.close(handle)  # which frees it


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:  # another system than Unix
        import msvcrt

        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
            return True
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
