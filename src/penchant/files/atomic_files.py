"""Files that are written whole or not at all, by one writer, with nothing half written left."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from penchant.errors import DataError, NotWrittenError, closest_match_hint, mark_argument

if TYPE_CHECKING:  # NumPy takes a moment, and help needs none
    from penchant._typing import FilePath

_leftovers: set[Path] = set()
_end_requests: list[bool] = []


@contextmanager
def remove_at_end(path: Path) -> Iterator[None]:
    """Remove a file or folder when the work is over, and also if the process is ended before."""
    _leftovers.add(path)
    try:
        yield
    finally:
        _remove(path)
        _leftovers.discard(path)


def raise_if_ending() -> None:
    """Raise KeyboardInterrupt in a process that was told to end, even if the interrupt was lost."""
    if _end_requests:
        raise KeyboardInterrupt


def forbid_new_files() -> None:
    """Forbid that new files are begun, from now on."""
    _end_requests.append(True)


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


DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_held_locks: set[tuple[Path, int]] = set()


@contextmanager
def lock_file(file: Path) -> Iterator[None]:
    """Keep other processes from writing `file` meanwhile, by a lock file beside it.

    A process may lock a file again that it holds; a lock left by a process that has died on this
    machine is taken over. Where the disk is full there is no lock, or one that names nobody: the
    work goes on, and the file itself, which cannot be written there either, is what is told of.
    """
    lock = file.resolve().with_name(f".{file.name}.lock")
    raise_if_ending()
    if not _acquire_lock(lock, file):
        yield
        return
    _held_locks.add((lock, os.getpid()))
    try:
        with remove_at_end(lock):
            yield
    finally:
        _held_locks.discard((lock, os.getpid()))


def _acquire_lock(lock: Path, file: Path) -> bool:
    """Acquire the lock; False where this process holds it already or the disk is full."""
    if (lock, os.getpid()) in _held_locks:
        return False
    for _ in range(2):
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            holder = _lock_holder(lock)
            if holder != _own_process_name() and not _is_dead(
                holder
            ):  # not held, so of an earlier process
                break
            with suppress(FileNotFoundError):
                lock.unlink()
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS:
                return False
            raise DataError(
                "output",
                "must be writable",
                got=f"{file}, where no lock could be made: {error.strerror}",
                fix="Choose another place.",
            ) from None
        else:
            with suppress(OSError), os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(_own_process_name())
            return True
    raise DataError(
        "output",
        "must have one writer at a time",
        got=f"{file}, which {_lock_holder(lock) or 'another'} is writing",
        fix=f"Wait for it, or remove {lock} if no such process runs.",
    )


def _own_process_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _lock_holder(lock: Path) -> str:
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


def check_writable(path: FilePath, overwrite: bool) -> Path:
    """Refuse, before the work is done, an output path that could not be written after it.

    Returns
    -------
    The file that would be written, links followed.
    """
    given = os.fsdecode(path)
    try:
        file = Path(given).expanduser().resolve()
        exists = file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(
            "output", "must be a path", got=f"{given!r}: {error}", fix="Correct the path."
        ) from None
    if exists:
        _check_existing(given, file, overwrite)
    _check_folder(given, file.parent)
    return file


def _check_existing(given: str, file: Path, overwrite: bool) -> None:
    if file.is_dir():
        raise DataError(
            "output", "must be a file", got=f"the directory {given}", fix="Add a file name."
        )
    if not stat.S_ISREG(file.stat().st_mode):
        raise DataError(
            "output", "must be a regular file", got=f"{given}, a pipe or device", fix="Name a file."
        )
    if not overwrite:
        raise DataError(
            "output",
            "must not exist",
            got=f"{given}, which does",
            fix=f"Choose another name, or pass {mark_argument('overwrite')} to replace it.",
        )
    if not os.access(file, os.W_OK):
        raise DataError(
            "output",
            "must be writable",
            got=f"{given}, which is read-only",
            fix="Choose another name, or change its permissions.",
        )


def _check_folder(given: str, folder: Path) -> None:
    if not folder.is_dir():
        hint = (
            closest_match_hint(folder.name, os.listdir(folder.parent))
            if folder.parent.is_dir()
            else ""
        )
        raise DataError(
            "output",
            "must lie in an existing directory",
            got=f"{given}, but {folder} is none",
            fix=hint or "Create it first.",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(
            "output",
            "must lie in a directory that can be written to",
            got=f"{given}, but {folder} cannot",
            fix="Choose another, or change its permissions.",
        )


@contextmanager
def atomic_write(path: FilePath, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary file to write to; at the end it replaces the target in one step.

    On any failure the old file stays as it was and the temporary one is removed.
    """
    file = check_writable(path, overwrite)
    temporary = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}.tmp")
    with lock_file(file), remove_at_end(temporary):
        _make_temporary(temporary, file)
        try:
            yield temporary
            _sync_file(temporary)
            _replace_file(temporary, file, overwrite)
        except OSError as error:
            raise write_error(file, error) from error
    _sync_folder(file.parent)


def write_error(file: Path, error: OSError) -> NotWrittenError:
    """Return the error for a file that the system does not let us write."""
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
    left = "The file is as it was" if file.exists() else "No file was made"
    return NotWrittenError(
        "output",
        "must be writable",
        got=f"{file}, where writing failed: {reason}",
        fix=f"{left}: make room, or choose another place.",
    )


def _make_temporary(temporary: Path, file: Path) -> None:
    """Make an empty file with the permissions that `file` has or would have."""
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise write_error(file, error) from error
    with suppress(OSError):
        temporary.chmod(stat.S_IMODE(file.stat().st_mode))


def _sync_file(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    # Not every system can do that; the file itself is safe already.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace_file(temporary: Path, file: Path, overwrite: bool) -> None:
    raise_if_ending()
    if not overwrite and file.exists():
        raise FileExistsError(errno.EEXIST, "another program made this file meanwhile")
    os.replace(temporary, file)


def check_new_folder(path: FilePath) -> Path:
    """Refuse, before the work is done, a folder that exists or cannot be made."""
    folder = Path(path).expanduser().resolve()
    if folder.exists():
        raise DataError(
            "output",
            "must not exist",
            got=f"{path}, which does",
            fix="Choose another name: nothing is overwritten.",
        )
    _check_folder(os.fsdecode(path), folder.parent)
    return folder


@contextmanager
def new_folder(path: FilePath) -> Iterator[tuple[Path, Path]]:
    """Yield the path of a new folder, and of a hidden one that takes its place at the end."""
    folder = check_new_folder(path)
    place = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}.tmp")
    with remove_at_end(place):
        try:
            place.mkdir()
            yield folder, place
            if folder.exists():
                raise DataError(
                    "output",
                    "must not exist",
                    got=f"{path}, which was made meanwhile",
                    fix="Choose another name.",
                )
            os.rename(place, folder)
        except OSError as error:
            raise write_error(folder, error) from error
