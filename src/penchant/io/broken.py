"""Why a CSV file cannot be read: the lines at fault, found after a first attempt failed."""

import csv
from collections import Counter
from collections.abc import Iterator

from penchant.errors import SHOWN, DataError, listing
from penchant.io.header import Header, lines, quote_error
from penchant.io.source import Source


def records(source: Source, header: Header, encoding: str) -> Iterator[tuple[int, int, list[str]]]:
    """Return first line, last line and cells of every record after the header, blank ones aside.

    Quotes are read strictly: one that is not closed, or goes on after its end, is an error.
    """
    text = lines(source, encoding)
    for _ in range(header.n_lines):
        next(text, None)
    reader = csv.reader(text, delimiter=header.delimiter, strict=True)
    first = header.n_lines + 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise quote_error(source, first, str(error)) from None
        if cells is None:
            return
        last = header.n_lines + reader.line_num
        if cells:
            yield first, last, cells
        first = last + 1


def check_records(source: Source, header: Header, encoding: str) -> None:
    """Refuse lines that do not have as many cells as the header, and quotes left open."""
    width = len(header.names)
    places: list[str] = []
    seen: Counter[str] = Counter()
    for first, last, cells in records(source, header, encoding):
        seen["records"] += 1
        if len(cells) == width:
            continue
        seen["wrong"] += 1
        seen["one more"] += len(cells) == width + 1
        seen["one more, empty"] += len(cells) == width + 1 and not cells[-1]
        if seen["wrong"] <= SHOWN:
            places.append(_place(first, last, len(cells)))
    if not seen["records"]:
        raise no_rows(source)
    if seen["wrong"]:
        raise DataError(
            f"{source.name} must have as many cells on every line as its header, which has "
            f"{width}; got {listing(places, seen['wrong'])}. {_advice(header, seen)}"
        )


def explained(source: Source, header: Header, encoding: str, reason: str) -> DataError:
    """Return the error that says why the reader gave up."""
    try:
        check_records(source, header, encoding)
    except DataError as error:
        return error
    first_sentence = reason.split("\n")[0][:200]
    return DataError(
        f"{source.name} must be a CSV file; got one that cannot be read: {first_sentence}. "
        "Open and save it again, or convert it to Parquet."
    )


def no_rows(source: Source) -> DataError:
    """Return the error for a header with nothing below it."""
    return DataError(
        f"{source.name} must hold at least one row; got 0 rows below the header. "
        "Check the filter that wrote it."
    )


def _place(first: int, last: int, n_cells: int) -> str:
    runs_on = f", whose quoted cell runs on to line {last}" if last > first else ""
    return f"{n_cells} on line {first}{runs_on}"


def _advice(header: Header, seen: Counter[str]) -> str:
    if len(header.names) == 1:
        return "Remove the lines above the one that names the columns, or pass the delimiter."
    if seen["one more, empty"] == seen["records"]:
        return f"Every line ends in {header.delimiter!r} but the header: add one there."
    if seen["one more"] == seen["records"]:
        return (
            "The rows have a name that the header lacks: write the file with row.names = FALSE "
            "in R, or add a name for the first column."
        )
    return (
        f"Complete these lines, quote cells that hold {header.delimiter!r}, "
        "or pass another delimiter."
    )
