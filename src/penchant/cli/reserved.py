"""The output file, kept for one process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penchant.errors import DataError
from penchant.io.atomic import check_writable
from penchant.io.lock import locked


@contextmanager
def reserved(
    output: Path | None, *, overwrite: bool, suffixes: Sequence[str], read: str | None = None
) -> Iterator[None]:
    """Keep the output for this process, from before the work until it is written.

    Parameters
    ----------
    output
        The file to be written, if any.
    overwrite
        Whether it may replace an existing file.
    suffixes
        Endings that it may have.
    read
        The file that is read, which it must not be.
    """
    if output is None:
        yield
        return
    if output.suffix.lower() not in suffixes:
        raise DataError(
            f"--output must end in {', '.join(suffixes)}; got {output.name!r}. Choose one."
        )
    target = check_writable(output, overwrite)
    if read is not None and target.exists() and _same(read, target):
        raise DataError(
            f"--output must not be the file that is read; got {output}. Choose another name."
        )
    with locked(target):
        yield


def _same(file: str, target: os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(os.path.expanduser(file), target)
    except (OSError, ValueError):
        return False
