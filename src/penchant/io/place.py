"""Where a row of a table stands in its file."""

import os
from itertools import islice

from penchant.io import kinds
from penchant.io.broken import records
from penchant.io.header import header
from penchant.io.source import source


def line_of_row(row: int) -> int:
    """Return the line of a row of a CSV file: the header is line 1, so row 0 is line 2.

    Examples
    --------
    >>> line_of_row(17)
    19
    """
    return row + 2


def place_of_row(
    path: str | os.PathLike[str], row: int, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> str:
    """Return where a row stands in its file, in words: the line of a CSV file, else the row.

    Blank lines and cells of several lines are counted as the file has them.
    """
    if os.fspath(path) == "-":
        return f"line {line_of_row(row)} of stdin"
    origin = source(path)
    if kinds.kind(origin.head(kinds.HEAD), origin.name) not in ("csv", "gzip"):
        return f"row {row} of {origin.name}"
    top = header(origin, delimiter=delimiter, encoding=encoding)
    found = next(islice(records(origin, top, encoding), row, None), None)
    line = line_of_row(row) if found is None else found[0]
    return f"line {line} of {origin.name}"
