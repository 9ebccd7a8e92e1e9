"""CSV files: typed columns that lose nothing of what the cells say; and copied as Parquet."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penchant.argument_checks import check_one_of
from penchant.errors import DataError, mark_argument
from penchant.files.lines import END_OF_FILE, Header, check_records, explained, no_rows
from penchant.files.lines import header as read_header
from penchant.files.text import MISSING_WORDS, TextSource, TextStream, check_encoding

MISSING = ("", *MISSING_WORDS)
# In text, where NA may be a name: None of these is.
NO_TEXT = r"^[.]?$"
MAX_LINE_BYTES = 1 << 26  # bytes of a line
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")
_LEADING_ZERO = r"^\s*[+-]?0[0-9xX]"
_PADDED_NUMBER = r"^\s*[+-]?0[0-9]+([eE][0-9]+)?\s*$"
_WHOLE_NUMBER = r"^\s*[+-]?[0-9]+\s*$"
_INT64_LIMIT_AS_FLOAT = 2.0**63


class _TooLongError(DataError):
    """A line is longer than what is read at once."""


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
    top = read_header(source, delimiter=delimiter, encoding=encoding, named=header)
    check_one_of(decimal, "decimal", (".", ","))
    try:
        return _read_whole(source, top, decimal, encoding)
    except _TooLongError:
        return _read_whole(source, replace(top, block_size=MAX_LINE_BYTES), decimal, encoding)


def _read_whole(source: TextSource, top: Header, decimal: str, encoding: str) -> pa.Table:
    with TextStream(source, encoding) as stream:
        table = _typed(source, stream, top, decimal, encoding)
        if decimal == top.delimiter and not stream.n_quotes:
            raise _ambiguous(decimal)
        _check_whole(source, stream, top, table, encoding)
        texts = doubtful_numbers(table, stream.leading_zeros)
    if texts:
        table = _with_texts(source, top, table, texts, encoding)
    return _without_null_type(without_empty_text(table))


def without_empty_text(table: pa.Table) -> pa.Table:
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
        "decimal",
        "must differ from the delimiter, unless cells are quoted",
        got=f"{decimal!r} for both",
        fix=(
            f"Pass the {mark_argument('delimiter')} that divides the columns, such as "
            f"{mark_argument('delimiter', ';')}."
        ),
    )


def _typed(
    source: TextSource, stream: TextStream, top: Header, decimal: str, encoding: str
) -> pa.Table:
    return _read(source, stream, top, typed_cells(decimal=decimal), encoding)


def typed_cells(
    types: dict[str, pa.DataType] | None = None, *, decimal: str = "."
) -> pa_csv.ConvertOptions:
    """How cells become values, with types as found or as given."""
    return pa_csv.ConvertOptions(
        null_values=MISSING,
        true_values=_TRUE,
        false_values=_FALSE,
        decimal_point=decimal,
        column_types=types,
    )


def text_cells(names: Sequence[str]) -> pa_csv.ConvertOptions:
    """Cells of some columns as they are written."""
    return pa_csv.ConvertOptions(
        null_values=MISSING,
        include_columns=list(names),
        column_types=dict.fromkeys(names, pa.string()),
    )


def _texts(source: TextSource, top: Header, names: Sequence[str], encoding: str) -> pa.Table:
    with TextStream(source, encoding) as stream:
        return _read(source, stream, top, text_cells(names), encoding)


def read_portion(
    source: TextSource, text: bytes, top: Header, convert: pa_csv.ConvertOptions, *, first: bool
) -> pa.Table:
    """Read some whole lines of a CSV file of UTF-8; the first ones hold its header."""
    skipped = top.n_lines if first else 0
    for block_size in (top.block_size, MAX_LINE_BYTES):
        with suppress(_TooLongError):
            sized = replace(top, block_size=block_size)
            return _read(source, pa.BufferReader(text), sized, convert, "utf-8", skipped)
    raise _too_long(source)


def _read(
    source: TextSource,
    stream: Any,
    top: Header,
    convert: pa_csv.ConvertOptions,
    encoding: str,
    skipped: int | None = None,
) -> pa.Table:
    layout = pa_csv.ParseOptions(
        delimiter=top.delimiter, newlines_in_values=True, invalid_row_handler=_of_short_row
    )
    # A thread of Arrow that lets go of the stream while Python ends would abort the process.
    reading = pa_csv.ReadOptions(
        use_threads=False,
        column_names=list(top.names),
        skip_rows=top.n_lines if skipped is None else skipped,
        block_size=top.block_size,
    )
    try:
        return pa_csv.read_csv(stream, reading, layout, convert)
    except pa.ArrowInvalid as error:
        if "block" not in str(error):  # as it says of a line that is longer than one
            raise explained(source, top, encoding, str(error)) from None
        check_records(source, top, encoding)  # an open quote may have swallowed many lines
        raise _too_long(source) from None


def _too_long(source: TextSource) -> _TooLongError:
    return _TooLongError(
        source.name,
        f"must have lines of at most {MAX_LINE_BYTES >> 20} MB",
        got="a longer one",
        fix="Leave out columns, or convert it to Parquet.",
    )


def _of_short_row(row: Any) -> str:
    return "skip" if (row.text or "").strip() == END_OF_FILE else "error"


def _check_whole(
    source: TextSource, stream: TextStream, top: Header, table: pa.Table, encoding: str
) -> None:
    """No row is missing: the table has rows, and no open quote has swallowed any."""
    if table.num_rows == 0:
        raise no_rows(source)
    if stream.n_quotes % 2 or (stream.n_quotes and has_long_cells(table)):
        check_records(source, top, encoding)


def has_long_cells(table: pa.Table) -> bool:
    """Whether some cell runs over several lines."""
    columns = [column for column in table.columns if pa.types.is_string(column.type)]
    return any(
        pc.any(pc.match_substring(column, end)).as_py() for column in columns for end in "\r\n"
    )


def doubtful_numbers(table: pa.Table, leading_zeros: bool) -> list[str]:
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
    return any(
        abs(value) >= _INT64_LIMIT_AS_FLOAT for value in extremes.values() if value is not None
    )


def _with_texts(
    source: TextSource, top: Header, table: pa.Table, names: list[str], encoding: str
) -> pa.Table:
    texts = _texts(source, top, names, encoding)
    places = {name: place for place, name in enumerate(table.column_names)}
    for name in names:
        place = places[name]
        if _shape(texts[name]).stays_text(table.schema.field(place).type):
            table = table.set_column(place, name, texts[name])
    return table


@dataclass(frozen=True)
class NumberShape:
    """How the cells of a column of numbers are written.

    Attributes
    ----------
    leading_zero, padded
        Whether some cell begins with a zero (07, 0x1F), or is a whole number that does.
    all_whole
        Whether all are whole numbers.
    """

    leading_zero: bool = False
    padded: bool = False
    all_whole: bool = True

    def stays_text(self, inferred: pa.DataType) -> bool:
        """Whether the text says more than the numbers or dates made of it."""
        if pa.types.is_integer(inferred):
            return self.leading_zero
        if pa.types.is_floating(inferred):
            return self.all_whole or self.padded
        return bool(pa.types.is_temporal(inferred))

    def joined(self, other: "NumberShape") -> "NumberShape":
        """That of both."""
        return NumberShape(
            self.leading_zero or other.leading_zero,
            self.padded or other.padded,
            self.all_whole and other.all_whole,
        )


def _shape(text: pa.ChunkedArray) -> NumberShape:
    missing = pc.is_in(text, pa.array(MISSING))
    known = pc.if_else(missing, pa.scalar(None, pa.string()), text)
    whole = pc.all(pc.match_substring_regex(known, _WHOLE_NUMBER)).as_py()
    return NumberShape(
        _any_match(known, _LEADING_ZERO), _any_match(known, _PADDED_NUMBER), whole is not False
    )


def number_shapes(table: pa.Table, texts: pa.Table | None) -> dict[str, NumberShape]:
    """How the numbers of each column are written, by the text of those in doubt."""
    doubtful = () if texts is None else texts.column_names
    return {
        each.name: _shape(texts[each.name])
        if texts is not None and each.name in doubtful
        else NumberShape(all_whole=not pa.types.is_floating(each.type))
        for each in table.schema
    }


def _any_match(text: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


def _without_null_type(table: pa.Table) -> pa.Table:
    """Columns without any value become numbers that are all missing."""
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.float64()))
    return table


TEXT_BYTES_IN_MEMORY = 1 << 25  # bytes of text that are in memory at a time


def copy_delimited(source: TextSource, path: Path, *, portion: int = TEXT_BYTES_IN_MEMORY) -> None:
    """Write a CSV file, also a gzipped one, as Parquet with the columns of `read_table`.

    The first look finds the types that all portions of a column allow, the second one writes them.
    """
    top = read_header(source, delimiter=None, encoding="utf-8")
    types = _types(source, top, portion)
    schema = pa.schema(list(types.items()))
    with TextStream(source, "utf-8") as stream, pq.ParquetWriter(path, schema) as writer:
        for k, text in enumerate(_portions(source, stream, top, portion)):
            table = read_portion(source, text, top, typed_cells(types), first=k == 0)
            writer.write_table(without_empty_text(table))
    source.check_unchanged()


def _types(source: TextSource, top: Header, portion: int) -> dict[str, pa.DataType]:
    """Type of each column by all that its cells say; an error where rows are missing."""
    types = dict.fromkeys(top.names, pa.null())
    shapes = dict.fromkeys(top.names, NumberShape())
    n_rows, long_cells = 0, False
    with TextStream(source, "utf-8") as stream:
        for k, text in enumerate(_portions(source, stream, top, portion)):
            first = k == 0
            table = read_portion(source, text, top, typed_cells(), first=first)
            doubtful = doubtful_numbers(table, stream.leading_zeros)
            cells = text_cells(doubtful)
            texts = read_portion(source, text, top, cells, first=first) if doubtful else None
            written = number_shapes(table, texts)
            for each in table.schema:
                types[each.name] = _joined(types[each.name], each.type)
                shapes[each.name] = shapes[each.name].joined(written[each.name])
            n_rows += table.num_rows
            long_cells = long_cells or (stream.n_quotes > 0 and has_long_cells(table))
        if not n_rows:
            raise no_rows(source)
        if stream.n_quotes % 2 or long_cells:
            check_records(source, top, "utf-8")
    return {name: _settled(found, shapes[name]) for name, found in types.items()}


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the cells of both as they are."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = all(pa.types.is_integer(each) or pa.types.is_floating(each) for each in (one, other))
    return pa.float64() if numbers else pa.string()


def _settled(found: pa.DataType, written: NumberShape) -> pa.DataType:
    if written.stays_text(found):
        return pa.string()
    return pa.float64() if pa.types.is_null(found) else found


def _portions(source: TextSource, stream: TextStream, top: Header, size: int) -> Iterator[bytes]:
    """The text in pieces that end where a line does, and no quote is open."""
    rest = b""
    while block := stream.read(size):
        text = rest + block
        end = _end_of_lines(text)
        if end:
            yield text[:end]
        elif len(text) > MAX_LINE_BYTES:
            check_records(source, top, "utf-8")
            raise DataError(
                source.name,
                f"must close every quote, and have lines of at most {MAX_LINE_BYTES >> 20} MB",
                got="more without a line that ends outside quotes",
                fix="Double the quotes inside cells, or convert it to Parquet.",
            )
        rest = text[end:]
    if rest.strip():
        yield rest


def _end_of_lines(text: bytes) -> int:
    """Where the last line ends that leaves no quote open; 0 if none does."""
    mark = b"\n" if b"\n" in text else b"\r"
    open_quotes, end = text.count(b'"'), len(text)
    while end:
        begin = text.rfind(mark, 0, end) + 1
        open_quotes -= text.count(b'"', begin, end)
        if begin and open_quotes % 2 == 0:
            return begin
        end = begin - 1 if begin else 0
    return 0
