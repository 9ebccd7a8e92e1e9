"""What `fit` does with a folder, a pattern or an address of files: scan, fit, show."""

from __future__ import annotations

from penchant.cli.loading import long_roles
from penchant.cli.options import Data, Terms
from penchant.cli.words import refuse, say
from penchant.scale.scan import Scan, scan
from penchant.scale.stored import stored_files

NOT_SCANNED = {"example", "wide", "options", "missing", "delimiter", "decimal", "encoding"}
NOT_SCANNED |= {"where", "attributes", "opt_out", "reference", "units"}


def load_scan(file: str, data: Data, terms: Terms) -> Scan:
    """Scan the files, all with the same columns."""
    refuse(data, "with several files", names=NOT_SCANNED)
    refuse(terms, "with several files")
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
