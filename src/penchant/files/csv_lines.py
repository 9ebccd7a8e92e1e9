"""Lines of a CSV file: its header, those at fault, and where a row of the table stands."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from penchant._typing import FilePath
from penchant.errors import MAX_LISTED, DataError, format_list, mark_argument
from penchant.files import text_source
from penchant.files.text_source import TextSource, source_from_path

# In this order where two of them divide the file equally well: commas also stand inside cells.
DELIMITERS = ("\t", ";", "|", ",")
MAX_COLUMNS = 50_000  # a line with more is no header: the file has another delimiter
END_OF_FILE = "END OF FILE"  # as Gorilla writes after the last row
_LINES_SAMPLED = 20  # to find the delimiter: enough rows, and quick on files of any length
# The file that data were exported from, which E-Prime writes above the names of columns.
_FILE_NAME = re.compile(r"[^\t]*\.(?:edat|emrg)[23]?\s*", re.IGNORECASE)
_DELIMITER_NAMES = {r"\t": "\t", "tab": "\t", "space": " "}


@dataclass(frozen=True)
class Header:
    """Layout of a CSV file: its delimiter, its columns, the lines before its first row."""

    delimiter: str
    names: tuple[str, ...]
    n_lines: int


def read_lines(source: TextSource, encoding: str = "utf-8") -> Iterator[str]:
    """Return the lines of the text, with their ends, whichever of LF, CRLF and CR those are."""
    rest = b""
    for block in text_source.read_text_blocks(source, encoding):
        *whole, rest = (rest + block).splitlines(keepends=True) or [b""]
        yield from map(bytes.decode, whole)
    if rest:
        yield rest.decode()


def read_header(
    source: TextSource, *, delimiter: str | None, encoding: str = "utf-8", named: bool = True
) -> Header:
    """Return the header of a CSV file; the delimiter is found where none is given.

    Where its first line does not name the columns they are called "1", "2" and so on.
    """
    sample = list(islice(read_lines(source, encoding), _LINES_SAMPLED))
    if not any(line.strip() for line in sample):
        raise DataError(
            source.name,
            "must hold a header and at least one row",
            got="an empty file",
            fix="Check what wrote it.",
        )
    hint = re.fullmatch(r"sep=(.)\s*", sample[0])  # Excel's own first line
    above = _count_comment_lines(sample)
    if hint or _FILE_NAME.fullmatch(sample[0]):
        above = 1
    del sample[:above]
    if named:
        _refuse_titles(source, sample)
    divided = _check_or_detect_delimiter(
        hint[1] if hint and delimiter is None else delimiter, sample
    )
    cells, n_lines = _first_record(source, sample, divided)
    if len(cells) == 1:
        _check_single_column(source, divided, sample)
    if not named:
        return Header(divided, tuple(str(k + 1) for k in range(len(cells))), above)
    return Header(divided, _column_names(source, cells), n_lines + above)


def _count_comment_lines(sample: list[str]) -> int:
    """Count the comment lines (#) above the column names, which may themselves begin with #."""
    rest = [line for line in sample if not line.startswith("#")]
    n_above = next((k for k, line in enumerate(sample) if not line.startswith("#")), 0)
    if not n_above:
        return 0
    delimiter = _detect_delimiter(rest)
    width = max(_count_cells(rest, delimiter))
    names_last = max(_count_cells(sample[n_above - 1 : n_above], delimiter)) == width
    return n_above - names_last


def _refuse_titles(source: TextSource, sample: list[str]) -> None:
    """Refuse titles above the names of columns, as spreadsheets have them."""
    for delimiter in DELIMITERS:
        try:
            reader = csv.reader(sample, delimiter=delimiter)
            records = [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error:
            continue
        filled = [[cell.strip() for cell in cells if cell.strip()] for _, cells in records]
        for k in range(1, len(records) - 1):
            names, wide = filled[k], len(records[k][1])
            # others are found by their width
            padded = filled[0] and (len(records[0][1]) == wide or delimiter != ",")
            alone = padded and all(len(own) < 2 for own in filled[:k])
            named = len({*names}) == wide > 2 and not any(map(_is_number, names))
            if alone and named and len(records[k + 1][1]) == wide:
                raise DataError(
                    source.name,
                    "must name its columns on its first line",
                    got=(
                        f"a title, {filled[0][0]!r}, and what look like names "
                        f"on line {records[k][0]} ({', '.join(names[:3])} ...)"
                    ),
                    fix=f"Delete the lines above line {records[k][0]}.",
                )


def _check_or_detect_delimiter(given: str | None, sample: list[str]) -> str:
    if given is None:
        return _detect_delimiter(sample)
    delimiter = _DELIMITER_NAMES.get(given, given)
    if len(delimiter) == 1 and delimiter.isascii() and delimiter not in '\r\n"\0':
        return delimiter
    raise DataError(
        "delimiter",
        "must be one character",
        got=repr(given),
        fix="Use ',', ';', '|' or '\\t', or leave it out to have it found.",
    )


def _detect_delimiter(sample: list[str]) -> str:
    widths = {delimiter: _count_cells(sample, delimiter) for delimiter in DELIMITERS}
    dividing = [delimiter for delimiter in DELIMITERS if widths[delimiter][0] > 1]
    steady = [delimiter for delimiter in dividing if len(set(widths[delimiter])) == 1]
    return max(steady or dividing or [","], key=lambda delimiter: widths[delimiter][0])


def _count_cells(sample: list[str], delimiter: str) -> list[int]:
    """Count the cells of the header and of the records after it."""
    try:
        widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
    except csv.Error:
        widths = []
    # The last record may go on after the sample.
    return (widths[:-1] if len(sample) == _LINES_SAMPLED and len(widths) > 1 else widths) or [0]


def _first_record(source: TextSource, sample: list[str], delimiter: str) -> tuple[list[str], int]:
    reader = csv.reader(sample, delimiter=delimiter, strict=True)
    try:
        cells = next((cells for cells in reader if cells), [])
    except csv.Error as error:
        raise quote_error(source, 1, str(error)) from None
    return cells, reader.line_num


def quote_error(source: TextSource, line: int, reason: str) -> DataError:
    """Return the error for quotes that the csv module refuses in the record of that line."""
    if "expected after" in reason:
        return DataError(
            source.name,
            "must have a delimiter after a closing quote",
            got=f"other text in the record that begins on line {line}",
            fix="Double the quotes inside a cell, or close it.",
        )
    if "field limit" in reason:
        return DataError(
            source.name,
            f"must have cells of at most {csv.field_size_limit()} characters",
            got=f"a longer one in the record that begins on line {line}",
            fix="Close its quote if it has one.",
        )
    return DataError(
        source.name,
        "must close every quote",
        got=f"one opened on line {line} that is never closed",
        fix="Close it, or double the quotes inside a cell.",
    )


def _check_single_column(source: TextSource, delimiter: str, sample: list[str]) -> None:
    for other in (*DELIMITERS, " ", ":"):
        widths = _count_cells(sample, other)
        divides = widths[0] > 1 and (other in DELIMITERS or set(widths) == {widths[0]})
        if other != delimiter and divides:
            raise DataError(
                "delimiter",
                f"must divide the header of {source.name} into columns",
                got=(
                    f"{delimiter!r}, which leaves one column on line 1, where {other!r} would "
                    f"make {widths[0]}"
                ),
                fix=f"Pass {mark_argument('delimiter', other)}.",
            )


def _column_names(source: TextSource, cells: list[str]) -> tuple[str, ...]:
    if len(cells) > MAX_COLUMNS:
        raise DataError(
            source.name,
            f"must have at most {MAX_COLUMNS:,} columns",
            got=f"{len(cells):,} on line 1",
            fix="Keep those that tell of decisions; one row per option needs fewest.",
        )
    names = tuple(cell.strip() or f"column {k + 1}" for k, cell in enumerate(cells))
    if _are_values(cells):
        kind = "numbers" if all(_is_number(cell) for cell in cells) else "values"
        raise DataError(
            source.name,
            "must name its columns on its first line",
            got=f"{kind} ({', '.join(cells[:8])}{', ...' if len(cells) > 8 else ''})",
            fix="Add a header line.",
        )
    check_names(source.name, names)
    return names


def check_names(source_name: str, names: tuple[str, ...]) -> None:
    """Refuse two columns of the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not twice:
        return
    places = "; ".join(
        f"{name!r} at columns "
        + " and ".join(str(k + 1) for k, other in enumerate(names) if other == name)
        for name in twice[:10]
    )
    raise DataError(
        source_name, "must give every column its own name", got=places, fix="Rename or remove one."
    )


def _are_values(cells: list[str]) -> bool:
    """Whether a first line holds data: all or most are numbers, and these do not rise."""
    numbers = [float(cell.replace(",", ".")) for cell in cells if _is_number(cell)]
    rising = all(a < b for a, b in pairwise(numbers))
    return len(numbers) == len(cells) or (2 * len(numbers) > len(cells) and not rising)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*", cell) is not None


class Record(NamedTuple):
    """Cells of a record of a CSV file, and the first and the last line that it takes, from 1."""

    first_line: int
    last_line: int
    cells: list[str]


def read_records(source: TextSource, header: Header, encoding: str = "utf-8") -> Iterator[Record]:
    """Return the records of a CSV file after its header, without blank lines.

    Quotes are read strictly: one that is not closed, or goes on after its end, is an error.
    """
    rest = islice(read_lines(source, encoding), header.n_lines, None)
    reader = csv.reader(rest, delimiter=header.delimiter, strict=True)
    first = header.n_lines + 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise quote_error(source, first, str(error)) from None
        if cells is None:
            return
        last = header.n_lines + reader.line_num
        if cells and cells != [END_OF_FILE]:
            yield Record(first, last, cells)
        first = last + 1


def check_records(source: TextSource, header: Header) -> None:
    """Refuse lines that do not have as many cells as the header, and quotes left open."""
    width = len(header.names)
    places: list[str] = []
    seen: Counter[str] = Counter()
    for first, last, cells in read_records(source, header):
        seen["records"] += 1
        if len(cells) == width:
            continue
        seen["wrong"] += 1
        seen["one more"] += len(cells) == width + 1
        seen["one more, empty"] += len(cells) == width + 1 and not cells[-1]
        if seen["wrong"] <= MAX_LISTED:
            places.append(_record_text(first, last, len(cells)))
    if not seen["records"]:
        raise no_rows_error(source)
    if seen["wrong"]:
        raise DataError(
            source.name,
            f"must have as many cells on every line as its header, which has {width}",
            got=format_list(places, seen["wrong"]),
            fix=_cell_count_advice(header, seen),
        )


def csv_read_error(source: TextSource, header: Header, reason: str) -> DataError:
    """Return the error for a CSV file at which Arrow's reader failed."""
    try:
        check_records(source, header)
    except DataError as error:
        return error
    first_sentence = reason.split("\n")[0][:200]
    return DataError(
        source.name,
        "must be a CSV file",
        got=f"one that cannot be read: {first_sentence}",
        fix="Open and save it again, or convert it to Parquet.",
    )


def no_rows_error(source: TextSource) -> DataError:
    """Return the error for a header with nothing below it."""
    return DataError(
        source.name,
        "must hold at least one row",
        got="0 rows below the header",
        fix="Check the filter that wrote it.",
    )


def _record_text(first: int, last: int, n_cells: int) -> str:
    runs_on = f", whose quoted cell runs on to line {last}" if last > first else ""
    return f"{n_cells} on line {first}{runs_on}"


def _cell_count_advice(header: Header, seen: Counter[str]) -> str:
    if len(header.names) == 1:
        typed = mark_argument("delimiter")
        return f"Remove the lines above the one that names the columns, or pass {typed}."
    if seen["one more, empty"] == seen["records"]:
        return f"Every line ends in {header.delimiter!r} but the header: add one there."
    if seen["one more"] == seen["records"]:
        return (
            "The rows have a name that the header lacks: write the file with row.names = FALSE "
            "in R, or add a name for the first column."
        )
    return (
        f"Complete these lines, quote cells that hold {header.delimiter!r}, or pass another "
        f"{mark_argument('delimiter')}."
    )


def line_of_row(row: int) -> int:
    """Return the line of a row of a CSV file: the header is line 1, so row 0 is line 2.

    Examples
    --------
    >>> line_of_row(17)
    19
    """
    return row + 2


def lines_of_rows(
    path: FilePath | TextSource,
    rows: Collection[int],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    named: bool = True,
) -> dict[int, int] | None:
    """Return the line of each row of a CSV file; None where the file has no lines.

    Blank lines and cells of several lines are counted as the file has them.
    """
    origin = source_from_path(path)
    if text_source.file_kind(origin.head(text_source.HEAD_BYTES), origin.name) not in (
        "csv",
        "gzip",
    ):
        return None
    found = {row: line_of_row(row) for row in rows}
    if not rows:
        return found
    last = max(rows)
    top = read_header(origin, delimiter=delimiter, encoding=encoding, named=named)
    for row, record in enumerate(read_records(origin, top, encoding)):
        if row in found:
            found[row] = record.first_line
        if row == last:
            break
    return found
