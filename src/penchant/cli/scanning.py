"""What `fit` does with a folder, a pattern or an address of files: scan, fit, show."""

from __future__ import annotations

import glob
import os

from penchant.cli.loading import long_roles
from penchant.cli.options import Data, Terms
from penchant.cli.words import refuse, say
from penchant.errors import DataError
from penchant.files.folder import DESCRIPTION
from penchant.scale.scan import Scan, scan
from penchant.scale.stored import stored_files

COLUMNAR = (".parquet", ".arrow", ".feather")
NOT_SCANNED = {"example", "wide", "options", "missing", "delimiter", "decimal", "encoding"}


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


def load_scan(file: str, data: Data, terms: Terms, covariance: str) -> Scan:
    """Scan the files, all with the same columns."""
    refuse(data, "with several files", names=NOT_SCANNED)
    refuse(terms, "with several files")
    if data.subject is not None and covariance != "clustered":
        raise DataError(
            f"--subject must go with --covariance clustered for several files; got {data.subject} "
            "alone. Leave it out for one estimate."
        )
    files = stored_files(file)
    roles = long_roles(list(files[0].schema().names), data, terms)
    assert roles.option is not None and roles.chosen is not None  # found, or an error
    found = scan(
        file,
        decision=roles.decision,
        option=roles.option,
        chosen=roles.chosen,
        explanatory=roles.explanatory,
        weight=roles.weight,
        subject=roles.subject,
        available=roles.available,
        offset=roles.offset,
        weight_kind=roles.weight_kind,
    )
    say(repr(found))
    return found
