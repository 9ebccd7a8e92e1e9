"""Which words on the command line name several files that are scanned, rather than one file."""

from __future__ import annotations

import glob
import os

from penchant.files.folder import DESCRIPTION

COLUMNAR = (".parquet", ".arrow", ".feather")


def is_scanned(file: str, *, play: bool) -> bool:
    """Whether to scan: play only where files are columnar, as text files are made plain whole."""
    if not names_files(file):
        return False
    if not play or "://" in file or os.path.isdir(file):
        return True
    return any(name.endswith(COLUMNAR) for name in glob.iglob(file, recursive=True))


def names_files(file: str | None) -> bool:
    """Whether this is a pattern, an address or a folder of columnar files, rather than one file.

    A folder that describes itself (Psych-DS), or one of text files only, is read as a whole.
    """
    if file is None or os.path.isfile(file):
        return False
    if os.path.isdir(file):
        described = os.path.exists(os.path.join(file, DESCRIPTION))
        return not described and any(
            name.endswith(COLUMNAR) for _, _, names in os.walk(file) for name in names
        )
    return "://" in file or glob.has_magic(file)
