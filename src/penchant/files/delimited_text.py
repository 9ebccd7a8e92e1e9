"""CSV files: typed columns that lose nothing of what the cells say; and copied as Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penchant.argument_checks import check_one_of
from penchant.errors import DataError, mark_argument
from penchant.files.csv_lines import (
    END_OF_FILE,
    Header,
    check_records,
    csv_read_error,
    no_rows_error,
)
from penchant.files.csv_lines import read_header as read_header
from penchant.files.text_source import MISSING_WORDS, TextSource, check_encoding, read_text_blocks

MISSING = ("", *MISSING_WORDS)
# In text, where NA may be a name: None of these is.
NO_TEXT = r"^[.]?$"
BLOCK_BYTES = 1 << 20  # that Arrow parses at a time, one whole line at least
MAX_LINE_BYTES = 1 << 26  # bytes of a line
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")
_LEADING_ZERO = r"^\s*[+-]?0[0-9xX]"
_PADDED_NUMBER = r"^\s*[+-]?0[0-9]+([eE][0-9]+)?\s*$"
_WHOLE_NUMBER = r"^\s*[+-]?[0-9]+\s*$"
_INT64_LIMIT_AS_FLOAT = 2.0**63
# Of whole numbers that int64 cannot hold: text, unless a later portion of the file has fractions.
_HUGE = pa.large_string()


def read_delimited(
    source: TextSource, *, delimiter: str | None, decimal: str, encoding: str, header: bool = True
) -> pa.Table:
    """Read a CSV file into typed columns.

    Notes
    -----
    Numbers become numbers unless that would change an identifier: a column of whole numbers stays
    text where some begin with a zero (07) or lie beyond 64 bits. Dates and times stay text. NA,
    null and the like are missing in columns of numbers, and text in columns of text.
    """
    check_encoding(encoding)
    text = b"".join(read_text_blocks(source, encoding))
    source = replace(source, path=None, content=text)  # errors look for lines in the same text
    top = read_header(source, delimiter=delimiter, named=header)
    check_one_of(decimal, "decimal", (".", ","))
    table = _read_portion(source, text, top, top.n_lines, decimal)
    n_quotes = text.count(b'"')
    if decimal == top.delimiter and not n_quotes:
        raise DataError(
            "decimal",
            "must differ from the delimiter, unless cells are quoted",
            got=f"{decimal!r} for both",
            fix=f"Pass the {mark_argument('delimiter')} that divides the columns, such as "
            f"{mark_argument('delimiter', ';')}.",
        )
    long_cells = n_quotes > 0 and _has_long_cells(table)
    _check_no_lost_rows(source, top, table.num_rows, n_quotes, long_cells)
    return _without_empty_text(table.cast(_final_schema(table.schema)))


def _read_portion(
    source: TextSource, text: bytes, top: Header, skipped: int, decimal: str = "."
) -> pa.Table:
    """Parse whole lines of a CSV file into columns of numbers and text."""
    table = _parse(source, text, top, skipped, _convert_options(decimal=decimal))
    doubtful = _doubtful_numbers(table, _has_leading_zero(text))
    if not doubtful:
        return table
    as_written = pa_csv.ConvertOptions(
        null_values=MISSING,
        include_columns=doubtful,
        column_types=dict.fromkeys(doubtful, pa.string()),
    )
    texts = _parse(source, text, top, skipped, as_written)
    for name in doubtful:
        kind = _text_type(table.schema.field(name).type, texts[name])
        if kind is not None:
            place = table.column_names.index(name)
            table = table.set_column(place, name, texts[name].cast(kind))
    return table


def _convert_options(
    types: dict[str, pa.DataType] | None = None, *, decimal: str = "."
) -> pa_csv.ConvertOptions:
    """Arrow's options for converting cells to values, with types inferred or given."""
    return pa_csv.ConvertOptions(
        null_values=MISSING,
        true_values=_TRUE,
        false_values=_FALSE,
        decimal_point=decimal,
        column_types=types,
    )


def _parse(
    source: TextSource, text: bytes, top: Header, skipped: int, convert: pa_csv.ConvertOptions
) -> pa.Table:
    layout = pa_csv.ParseOptions(
        delimiter=top.delimiter, newlines_in_values=True, invalid_row_handler=_handle_short_row
    )
    for block_size in (BLOCK_BYTES, MAX_LINE_BYTES):
        # Threads of Arrow that still run while Python ends would abort the process.
        reading = pa_csv.ReadOptions(
            use_threads=False,
            column_names=list(top.names),
            skip_rows=skipped,
            block_size=block_size,
        )
        try:
            return pa_csv.read_csv(pa.BufferReader(text), reading, layout, convert)
        except pa.ArrowInvalid as error:
            if "block" not in str(error):  # as it says of a line that is longer than one
                raise csv_read_error(source, top, str(error)) from None
        check_records(source, top)  # an open quote may have swallowed many lines
    raise DataError(
        source.name,
        f"must have lines of at most {MAX_LINE_BYTES >> 20} MB",
        got="a longer one",
        fix="Leave out columns, or convert it to Parquet.",
    )


def _handle_short_row(row: Any) -> str:
    return "skip" if (row.text or "").strip() == END_OF_FILE else "error"


def _check_no_lost_rows(
    source: TextSource, top: Header, n_rows: int, n_quotes: int, long_cells: bool
) -> None:
    """Check that no row is lost: the table has rows, and no open quote has swallowed any."""
    if not n_rows:
        raise no_rows_error(source)
    if n_quotes % 2 or long_cells:
        check_records(source, top)


def _has_long_cells(table: pa.Table) -> bool:
    """Whether some cell runs over several lines."""
    columns = [column for column in table.columns if pa.types.is_string(column.type)]
    return any(
        pc.any(pc.match_substring(column, end)).as_py() for column in columns for end in "\r\n"
    )


def _has_leading_zero(text: bytes) -> bool:
    """Whether some cell may begin like 07 or 0x1F."""
    cells = np.frombuffer(text, dtype=np.uint8)
    zeros = np.flatnonzero(cells[:-1] == ord("0"))
    after = cells[zeros + 1]
    zeros = zeros[(after - np.uint8(ord("0")) < 10) | ((after | 32) == ord("x"))]
    before = np.where(zeros > 0, cells[zeros - 1], ord("\n"))
    return bool(((before < ord(".")) | (before > ord("9"))).any())


def _doubtful_numbers(table: pa.Table, leading_zeros: bool) -> list[str]:
    """Columns of numbers or dates whose text may hold more, such as leading zeros."""
    return [
        field.name
        for field, column in zip(table.schema, table.columns, strict=True)
        if pa.types.is_temporal(field.type)
        or (leading_zeros and pa.types.is_integer(field.type))
        or (pa.types.is_floating(field.type) and (leading_zeros or _is_huge(column)))
    ]


def _is_huge(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column).as_py()
    return any(
        abs(value) >= _INT64_LIMIT_AS_FLOAT for value in extremes.values() if value is not None
    )


def _text_type(inferred: pa.DataType, text: pa.ChunkedArray) -> pa.DataType | None:
    """Type of a column that must stay text, as numbers or dates would lose some of it; or None."""
    if pa.types.is_temporal(inferred):
        return pa.string()
    missing = pc.is_in(text, pa.array(MISSING))
    known = pc.if_else(missing, pa.scalar(None, pa.string()), text)
    padded = _LEADING_ZERO if pa.types.is_integer(inferred) else _PADDED_NUMBER
    if pc.any(pc.match_substring_regex(known, padded)).as_py():
        return pa.string()
    whole = pc.all(pc.match_substring_regex(known, _WHOLE_NUMBER)).as_py() is not False
    return _HUGE if whole and pa.types.is_floating(inferred) else None


def _final_schema(schema: pa.Schema) -> pa.Schema:
    """Types of a table: columns without any value become numbers that are all missing."""
    kinds = {pa.null(): pa.float64(), _HUGE: pa.string()}
    return pa.schema([field.with_type(kinds.get(field.type, field.type)) for field in schema])


def _without_empty_text(table: pa.Table) -> pa.Table:
    """Replace empty cells of text columns by missing values."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(place)
            empty = pc.match_substring_regex(column, NO_TEXT)
            if pc.any(empty).as_py():
                nothing = pa.scalar(None, field.type)
                table = table.set_column(place, field.name, pc.if_else(empty, nothing, column))
    return table


def copy_delimited(source: TextSource, path: Path, *, portion: int = 1 << 25) -> None:
    """Write a CSV file, also a gzipped one, as Parquet with the columns of `read_table`.

    The first look finds the types that all portions of a column allow, the second one writes them.
    """
    top = read_header(source, delimiter=None)
    kinds = [pa.null()] * len(top.names)
    n_rows, n_quotes, long_cells = 0, 0, False
    for text, skipped in _portions(source, top, portion):
        table = _read_portion(source, text, top, skipped)
        kinds = [*map(common_type, zip(kinds, table.schema.types, strict=True))]
        n_rows, n_quotes = n_rows + table.num_rows, n_quotes + text.count(b'"')
        long_cells = long_cells or (n_quotes > 0 and _has_long_cells(table))
    _check_no_lost_rows(source, top, n_rows, n_quotes, long_cells)
    schema = _final_schema(pa.schema([*zip(top.names, kinds, strict=True)]))
    cells = _convert_options(dict(zip(top.names, schema.types, strict=True)))
    with pq.ParquetWriter(path, schema) as writer:
        for text, skipped in _portions(source, top, portion):
            writer.write_table(_without_empty_text(_parse(source, text, top, skipped, cells)))
    source.check_unchanged()


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The type that holds the cells of columns of several types as they are.

    >>> common_type([pa.int64(), pa.null(), pa.float64()]), common_type([pa.int64(), pa.string()])
    (DataType(double), DataType(string))
    """
    known = {kind for kind in kinds if not pa.types.is_null(kind)}
    if len(known) < 2:
        return next(iter(known), pa.null())
    numbers = {kind for kind in known if pa.types.is_integer(kind) or pa.types.is_floating(kind)}
    if known - numbers == {_HUGE}:
        return pa.float64() if any(map(pa.types.is_floating, numbers)) else _HUGE
    return pa.float64() if numbers == known else pa.string()


def _portions(source: TextSource, top: Header, size: int) -> Iterator[tuple[bytes, int]]:
    """Pieces of text that end where a line does and no quote is open, and lines to skip in each."""
    rest, skipped = b"", top.n_lines
    for block in read_text_blocks(source, "utf-8", size):
        text = rest + block
        end = _end_of_lines(text)
        if end:
            yield text[:end], skipped
            skipped = 0
        elif len(text) > MAX_LINE_BYTES:
            check_records(source, top)
            raise DataError(
                source.name,
                f"must close every quote, and have lines of at most {MAX_LINE_BYTES >> 20} MB",
                got="more without a line that ends outside quotes",
                fix="Double the quotes inside cells, or convert it to Parquet.",
            )
        rest = text[end:]
    if rest.strip():
        yield rest, skipped


def _end_of_lines(text: bytes) -> int:
    """Offset of the end of the last line that leaves no quote open; 0 if there is none."""
    mark = b"\n" if b"\n" in text else b"\r"
    open_quotes, end = text.count(b'"'), len(text)
    while end:
        begin = text.rfind(mark, 0, end) + 1
        open_quotes -= text.count(b'"', begin, end)
        if begin and open_quotes % 2 == 0:
            return begin
        end = begin - 1 if begin else 0
    return 0
