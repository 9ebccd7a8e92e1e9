"""A CSV file as Parquet, a portion at a time, with the columns that reading it whole would give."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penchant.errors import DataError
from penchant.files.delimited import (
    LONGEST,
    NumberShape,
    doubtful_numbers,
    has_long_cells,
    number_shapes,
    read_portion,
    text_cells,
    typed_cells,
    without_empty_text,
)
from penchant.files.lines import Header, check_records, header, no_rows
from penchant.files.source import Source
from penchant.files.text import TextStream

PORTION = 1 << 25  # bytes of text that are in memory at a time


def copy_delimited(source: Source, path: Path, *, portion: int = PORTION) -> None:
    """Write a CSV file, also a gzipped one, as Parquet with the columns of `read_table`.

    The first look finds the types that all portions of a column allow, the second one writes them.
    """
    top = header(source, delimiter=None, encoding="utf-8")
    types = _types(source, top, portion)
    schema = pa.schema(list(types.items()))
    with TextStream(source, "utf-8") as stream, pq.ParquetWriter(path, schema) as writer:
        for k, text in enumerate(_portions(source, stream, top, portion)):
            table = read_portion(source, text, top, typed_cells(types), first=k == 0)
            writer.write_table(without_empty_text(table))
    source.check_unchanged()


def _types(source: Source, top: Header, portion: int) -> dict[str, pa.DataType]:
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


def _portions(source: Source, stream: TextStream, top: Header, size: int) -> Iterator[bytes]:
    """The text in pieces that end where a line does, and no quote is open."""
    rest = b""
    while block := stream.read(size):
        text = rest + block
        end = _end_of_lines(text)
        if end:
            yield text[:end]
        elif len(text) > LONGEST:
            check_records(source, top, "utf-8")
            raise DataError(
                f"{source.name} must close every quote, and have lines of at most "
                f"{LONGEST >> 20} MB; got more without a line that ends outside quotes. Double "
                "the quotes inside cells, or convert it to Parquet."
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
