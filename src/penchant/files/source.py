"""Where a table comes from: a file, or bytes that were piped in."""

import errno
import io
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from penchant.errors import DataError, nearest
from penchant.wording import either

STDIN = "-"

# Pipes the shell has opened already, as for `penchant fit <(zcat trips.csv.gz)`.
_OPEN_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


@dataclass(frozen=True)
class Source:
    """A file, or the bytes of a pipe, which can be read only once.

    Attributes
    ----------
    name
        What messages call it.
    path
        The file; None for a pipe.
    content
        The bytes of a pipe; None for a file.
    stamp
        Size, time of change and identity of the file when it was first seen.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    stamp: tuple[int, ...] = ()

    def open(self) -> BinaryIO:
        """Return the bytes from the beginning, to be closed by the caller."""
        if self.path is None:
            return io.BytesIO(self.content or b"")
        try:
            return self.path.open("rb", buffering=0)
        except OSError as error:
            raise unreadable(self.name, error) from None

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)

    def tail(self, n_bytes: int) -> bytes:
        """Return the last bytes."""
        with self.open() as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - n_bytes, 0))
            return stream.read(n_bytes)

    def check_unchanged(self) -> None:
        """Refuse what was read if the file has changed meanwhile."""
        if self.path is None:
            return
        try:
            stamp = _stamp(self.path.stat())
        except OSError:
            stamp = ()
        if stamp != self.stamp:
            raise DataError(
                f"{self.name} must not change while it is read; got another size or time of "
                "change at the end. Read it again when its writer has finished."
            )


def source(path: Any) -> Source:
    """Return the source that a path names; '-' is the standard input."""
    if isinstance(path, Source):
        return path
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(
            f"{either('path', 'FILE')} must be the path of a file; got {type(path).__name__}. Pass "
            "data frames to Choices.from_frame."
        )
    given = os.fsdecode(path)
    if given == STDIN:
        return _standard_input()
    try:
        file = Path(given).expanduser()
        status = file.stat()
    except FileNotFoundError:
        raise _missing(given) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise unreadable(given, error) from None
    return _checked(given, file, status)


def _checked(given: str, file: Path, status: os.stat_result) -> Source:
    if stat.S_ISREG(status.st_mode):
        return Source(given, file, stamp=_stamp(status))
    if stat.S_ISDIR(status.st_mode):
        raise DataError(
            f"{either('path', 'FILE')} must be a file; got the directory {given}. Name a file in "
            "it."
        )
    if stat.S_ISFIFO(status.st_mode) and given.startswith(_OPEN_PIPES):
        return _nonempty(Source(given, content=file.read_bytes()))
    raise DataError(
        f"{either('path', 'FILE')} must be a regular file; got {given}, a pipe or device. Pipe it "
        "in and pass '-' as the path."
    )


def _standard_input() -> Source:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise DataError(
            "stdin must be piped in where the path is '-'; got none. Use `command < file`."
        )
    return _nonempty(Source("stdin", content=sys.stdin.buffer.read()))


def _nonempty(piped: Source) -> Source:
    if piped.content:
        return piped
    raise DataError(
        f"{piped.name} must hold a table; got 0 bytes. Check the command that writes to it."
    )


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_size, status.st_mtime_ns, status.st_ino)


def _missing(given: str) -> DataError:
    file = Path(given).expanduser()
    if "://" in given:
        return DataError(
            f"{either('path', 'FILE')} must be a local file; got the address {given}. Download it "
            "first."
        )
    folder = next(parent for parent in file.parents if parent.is_dir())
    if folder != file.parent:
        return DataError(
            f"{either('path', 'FILE')} must be an existing file; got {given}, but the directory "
            f"{file.parent} does not "
            f"exist.{nearest(_child(folder, file), _names(folder)) or ' Correct it.'}"
        )
    hint = nearest(file.name, _names(folder))
    return DataError(
        f"{either('path', 'FILE')} must be an existing file; got {given}, which does not "
        f"exist.{hint or ' Correct the path.'}"
    )


def _child(folder: Path, file: Path) -> str:
    return file.parts[len(folder.parts)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def unreadable(name: str, error: Exception) -> DataError:
    """Return the error for a file that the system does not let us read."""
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return DataError(
            f"{either('path', 'FILE')} must be readable; got no permission to read {name}. Ask its "
            "owner, or change its permissions."
        )
    reason = getattr(error, "strerror", None) or str(error)
    return DataError(
        f"{either('path', 'FILE')} must be readable; got {name!r}: {reason}. Correct the path."
    )
