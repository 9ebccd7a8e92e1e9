"""CSV files: typed columns that lose nothing of what the cells say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from penchant.errors import DataError
from penchant.files.lines import END_OF_FILE, Header, check_records, explained, header, no_rows
from penchant.files.source import Source
from penchant.files.text import MISSING_WORDS, TextStream, check_encoding
from penchant.wording import argument

MISSING = ("", *MISSING_WORDS)
# In text, where NA may be a name: None of these is.
NO_TEXT = r"^[.]?$"
LONGEST = 1 << 26  # bytes of a line
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")
_LEADING_ZERO = r"^\s*[+-]?0[0-9xX]"
_PADDED_NUMBER = r"^\s*[+-]?0[0-9]+([eE][0-9]+)?\s*$"
_WHOLE_NUMBER = r"^\s*[+-]?[0-9]+\s*$"
_BEYOND_INTEGERS = 2.0**63


class _TooLongError(DataError):
    """A line is longer than what is read at once."""


def read_delimited(
    source: Source, *, delimiter: str | None, decimal: str, encoding: str
) -> pa.Table:
    """Read a CSV file into typed columns.

    Notes
    -----
    Numbers become numbers unless that would change an identifier: a column of whole numbers stays
    text where some begin with a zero (07) or lie beyond 64 bits. Dates and times stay text. NA,
    null and the like are missing in columns of numbers, and text in columns of text.
    """
    check_encoding(encoding)
    top = header(source, delimiter=delimiter, encoding=encoding)
    if decimal not in (".", ","):
        raise DataError(f"{argument('decimal')} must be '.' or ','; got {decimal!r}. Choose one.")
    try:
        return _read_whole(source, top, decimal, encoding)
    except _TooLongError:
        return _read_whole(source, replace(top, block_size=LONGEST), decimal, encoding)


def _read_whole(source: Source, top: Header, decimal: str, encoding: str) -> pa.Table:
    with TextStream(source, encoding) as stream:
        table = _typed(source, stream, top, decimal, encoding)
        if decimal == top.delimiter and not stream.n_quotes:
            raise _ambiguous(decimal)
        _check_whole(source, stream, top, table, encoding)
        texts = _doubtful(table, stream.leading_zeros)
    if texts:
        table = _with_texts(source, top, table, texts, encoding)
    return _without_null_type(_without_empty_text(table))


def _without_empty_text(table: pa.Table) -> pa.Table:
    """Text with missing values in place of empty cells."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(place)
            empty = pc.match_substring_regex(column, NO_TEXT)
            if pc.any(empty).as_py():
                nothing = pa.scalar(None, field.type)
                table = table.set_column(place, field.name, pc.if_else(empty, nothing, column))
    return table


def _ambiguous(decimal: str) -> DataError:
    return DataError(
        f"{argument('decimal')} must differ from the delimiter, unless cells are quoted; got "
        f"{decimal!r} for both. Pass the {argument('delimiter')} that divides the columns, such as "
        f"{argument('delimiter', ';')}."
    )


def _typed(
    source: Source, stream: TextStream, top: Header, decimal: str, encoding: str
) -> pa.Table:
    convert = pa_csv.ConvertOptions(
        null_values=MISSING,
        true_values=_TRUE,
        false_values=_FALSE,
        decimal_point=decimal,
    )
    return _read(source, stream, top, convert, encoding)


def _texts(source: Source, top: Header, names: Sequence[str], encoding: str) -> pa.Table:
    convert = pa_csv.ConvertOptions(
        null_values=MISSING,
        include_columns=list(names),
        column_types=dict.fromkeys(names, pa.string()),
    )
    with TextStream(source, encoding) as stream:
        return _read(source, stream, top, convert, encoding)


def _read(
    source: Source, stream: TextStream, top: Header, convert: pa_csv.ConvertOptions, encoding: str
) -> pa.Table:
    layout = pa_csv.ParseOptions(
        delimiter=top.delimiter, newlines_in_values=True, invalid_row_handler=_of_short_row
    )
    # A thread of Arrow that lets go of the stream while Python ends would abort the process.
    reading = pa_csv.ReadOptions(
        use_threads=False,
        column_names=list(top.names),
        skip_rows=top.n_lines,
        block_size=top.block_size,
    )
    try:
        return pa_csv.read_csv(stream, reading, layout, convert)
    except pa.ArrowInvalid as error:
        if "block" not in str(error):  # as it says of a line that is longer than one
            raise explained(source, top, encoding, str(error)) from None
        check_records(source, top, encoding)  # an open quote may have swallowed many lines
        raise _TooLongError(
            f"{source.name} must have lines of at most {LONGEST >> 20} MB; got a longer one. "
            "Leave out columns, or convert it to Parquet."
        ) from None


def _of_short_row(row: Any) -> str:
    return "skip" if (row.text or "").strip() == END_OF_FILE else "error"


def _check_whole(
    source: Source, stream: TextStream, top: Header, table: pa.Table, encoding: str
) -> None:
    """No row is missing: the table has rows, and no open quote has swallowed any."""
    if table.num_rows == 0:
        raise no_rows(source)
    if stream.n_quotes % 2 or (stream.n_quotes and _has_long_cells(table)):
        check_records(source, top, encoding)


def _has_long_cells(table: pa.Table) -> bool:
    columns = [column for column in table.columns if pa.types.is_string(column.type)]
    return any(
        pc.any(pc.match_substring(column, end)).as_py() for column in columns for end in "\r\n"
    )


def _doubtful(table: pa.Table, leading_zeros: bool) -> list[str]:
    """Columns whose text may say more than the numbers or dates made of it."""
    return [
        field.name
        for field, column in zip(table.schema, table.columns, strict=True)
        if pa.types.is_temporal(field.type)
        or (leading_zeros and pa.types.is_integer(field.type))
        or (pa.types.is_floating(field.type) and (leading_zeros or _is_huge(column)))
    ]


def _is_huge(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column).as_py()
    return any(abs(value) >= _BEYOND_INTEGERS for value in extremes.values() if value is not None)


def _with_texts(
    source: Source, top: Header, table: pa.Table, names: list[str], encoding: str
) -> pa.Table:
    texts = _texts(source, top, names, encoding)
    places = {name: place for place, name in enumerate(table.column_names)}
    for name in names:
        place = places[name]
        missing = pc.is_in(texts[name], pa.array(MISSING))
        known = pc.if_else(missing, pa.scalar(None, pa.string()), texts[name])
        if _stays_text(table.schema.field(place).type, known):
            table = table.set_column(place, name, texts[name])
    return table


def _stays_text(inferred: pa.DataType, text: pa.ChunkedArray) -> bool:
    if pa.types.is_integer(inferred):
        return _any_match(text, _LEADING_ZERO)
    if pa.types.is_floating(inferred):
        whole = pc.match_substring_regex(text, _WHOLE_NUMBER)
        return bool(pc.all(whole).as_py()) or _any_match(text, _PADDED_NUMBER)
    return True


def _any_match(text: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


def _without_null_type(table: pa.Table) -> pa.Table:
    """Columns without any value become numbers that are all missing."""
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.float64()))
    return table
