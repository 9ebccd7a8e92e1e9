"""What `fit` does with a folder, a pattern or an address of files: scan, fit, show."""

from __future__ import annotations

import glob
import os

from penchant.cli.loading import long_roles
from penchant.cli.options import Data, Terms
from penchant.cli.words import refuse, say
from penchant.errors import DataError
from penchant.scale.scan import Scan, scan
from penchant.scale.stored import stored_files

NOT_SCANNED = {"example", "wide", "options", "missing", "delimiter", "decimal", "encoding"}


def names_files(file: str | None) -> bool:
    """Whether this is a folder, a pattern or an address rather than one file."""
    if file is None or os.path.isfile(file):
        return False
    return os.path.isdir(file) or "://" in file or glob.has_magic(file)


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
