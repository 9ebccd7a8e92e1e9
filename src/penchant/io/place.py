"""Where a row of a table stands in its file."""

import os
from collections.abc import Collection

from penchant.io import kinds
from penchant.io.broken import records
from penchant.io.header import header
from penchant.io.source import STDIN, Source, source


def line_of_row(row: int) -> int:
    """Return the line of a row of a CSV file: the header is line 1, so row 0 is line 2.

    Examples
    --------
    >>> line_of_row(17)
    19
    """
    return row + 2


def lines_of_rows(
    path: str | os.PathLike[str] | Source,
    rows: Collection[int],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> dict[int, int] | None:
    """Return the line of each row of a CSV file; None where the file has no lines.

    Blank lines and cells of several lines are counted as the file has them.
    """
    origin = source(path)
    if kinds.kind(origin.head(kinds.HEAD), origin.name) not in ("csv", "gzip"):
        return None
    found = {row: line_of_row(row) for row in rows}
    if not rows:
        return found
    last = max(rows)
    top = header(origin, delimiter=delimiter, encoding=encoding)
    for row, (line, *_) in enumerate(records(origin, top, encoding)):
        if row in found:
            found[row] = line
        if row == last:
            break
    return found


def place_of_row(
    path: str | os.PathLike[str] | Source,
    row: int,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> str:
    """Return where a row stands in its file, in words: the line of a CSV file, else the row."""
    if path == STDIN:  # read already
        return f"line {line_of_row(row)} of stdin"
    origin = source(path)
    lines = lines_of_rows(origin, [row], delimiter=delimiter, encoding=encoding)
    return f"row {row} of {origin.name}" if lines is None else f"line {lines[row]} of {origin.name}"
