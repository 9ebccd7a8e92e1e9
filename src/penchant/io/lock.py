"""One writer per output file."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penchant.errors import DataError
from penchant.io.leftovers import refuse_when_ending, removed_in_the_end

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_held: set[tuple[Path, int]] = set()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes from writing `file` meanwhile, by a lock file beside it.

    A process may lock a file again that it holds; a lock left by a process that has died on this
    machine is taken over. Where the disk is full there is no lock, or one that names nobody: the
    work goes on, and the file itself, which cannot be written there either, is what is told of.
    """
    lock = file.resolve().with_name(f".{file.name}.lock")
    refuse_when_ending()
    if not _acquired(lock, file):
        yield
        return
    _held.add((lock, os.getpid()))
    try:
        with removed_in_the_end(lock):
            yield
    finally:
        _held.discard((lock, os.getpid()))


def _acquired(lock: Path, file: Path) -> bool:
    """Whether the lock was made here; not so where this process holds it already."""
    if (lock, os.getpid()) in _held:
        return False
    for _ in range(2):
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            holder = _holder(lock)
            if holder != _own() and not _is_dead(holder):  # not held, so of an earlier process
                break
            with suppress(FileNotFoundError):
                lock.unlink()
        except OSError as error:
            if error.errno in FULL:
                return False
            raise DataError(
                f"output must be writable; got {file}, where no lock could be made: "
                f"{error.strerror}. Choose another place."
            ) from None
        else:
            with suppress(OSError), os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(_own())
            return True
    raise DataError(
        f"output must have one writer at a time; got {file}, which {_holder(lock) or 'another'} "
        f"is writing. Wait for it, or remove {lock} if no such process runs."
    )


def _own() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _holder(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    """Whether the process that `holder` names ran on this machine and has ended."""
    words = holder.split()
    if os.name != "posix" or len(words) != 4 or words[3] != socket.gethostname():
        return False
    try:
        os.kill(int(words[1]), 0)  # signal 0 only asks
    except (OSError, ValueError, OverflowError) as error:
        return getattr(error, "errno", None) == errno.ESRCH
    return False
