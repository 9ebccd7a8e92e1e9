"""Files that are written whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penchant.errors import DataError, NotWrittenError, nearest
from penchant.io.leftovers import refuse_when_ending, removed_in_the_end
from penchant.io.lock import locked


def check_writable(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Refuse, before the work is done, an output path that could not be written after it.

    Parameters
    ----------
    path
        The file to be written.
    overwrite
        Whether it may replace an existing file.

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
            f"output must be a path; got {given!r}: {error}. Correct the path."
        ) from None
    if exists:
        _check_existing(given, file, overwrite)
    _check_folder(given, file.parent)
    return file


def _check_existing(given: str, file: Path, overwrite: bool) -> None:
    if file.is_dir():
        raise DataError(f"output must be a file; got the directory {given}. Add a file name.")
    if not stat.S_ISREG(file.stat().st_mode):
        raise DataError(
            f"output must be a regular file; got {given}, a pipe or device. Name a file."
        )
    if not overwrite:
        raise DataError(
            f"output must not exist; got {given}, which does. "
            "Choose another name, or pass overwrite to replace it."
        )
    if not os.access(file, os.W_OK):
        raise DataError(
            f"output must be writable; got {given}, which is read-only. "
            "Choose another name, or change its permissions."
        )


def _check_folder(given: str, folder: Path) -> None:
    if not folder.is_dir():
        hint = nearest(folder.name, os.listdir(folder.parent)) if folder.parent.is_dir() else ""
        raise DataError(
            f"output must lie in an existing directory; got {given}, but {folder} is none."
            f"{hint or ' Create it first.'}"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(
            f"output must lie in a directory that can be written to; got {given}, but {folder} "
            "cannot. Choose another, or change its permissions."
        )


@contextmanager
def written(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary file to write to; at the end it takes its place in one step.

    On any failure the old file stays as it was and the temporary one is removed.
    """
    file = check_writable(path, overwrite)
    temporary = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}.tmp")
    with locked(file), removed_in_the_end(temporary):
        _make(temporary, file)
        try:
            yield temporary
            _sync(temporary)
            _place(temporary, file, overwrite)
        except OSError as error:
            raise failed(file, error) from error
    _sync_folder(file.parent)


def failed(file: Path, error: OSError) -> NotWrittenError:
    """Return the error for a file that the system does not let us write."""
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
    left = "The file is as it was" if file.exists() else "No file was made"
    return NotWrittenError(
        f"output must be writable; got {file}, where writing failed: {reason}. "
        f"{left}: make room, or choose another place."
    )


def _make(temporary: Path, file: Path) -> None:
    """Make an empty file with the permissions that `file` has or would have."""
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise failed(file, error) from error
    with suppress(OSError):
        temporary.chmod(stat.S_IMODE(file.stat().st_mode))


def _sync(file: Path) -> None:
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


def _place(temporary: Path, file: Path, overwrite: bool) -> None:
    refuse_when_ending()
    if not overwrite and file.exists():
        raise FileExistsError(errno.EEXIST, "another program made this file meanwhile")
    os.replace(temporary, file)
