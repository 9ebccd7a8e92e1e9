"""Tables from files: CSV, Parquet, Arrow, JSON, Excel or Matlab, told apart by first bytes."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

import pyarrow as pa
import pyarrow.parquet as pq

from penchant._typing import FilePath
from penchant.errors import DataError
from penchant.files import text_source
from penchant.files.csv_lines import check_names
from penchant.files.delimited_text import read_delimited
from penchant.files.matlab import MATLAB_MAGIC, json_of_matlab
from penchant.files.output import parse_json
from penchant.files.text_source import Kind, TextSource, source_from_path

ZIP = b"PK\x03\x04"
MAX_SHEET_BYTES = 1 << 30  # bytes of a sheet, unpacked
_BOOK, _LINKS, _STRINGS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
_CELL = re.compile(r"([A-Z]+)(\d+)")


def sheet_as_text(origin: TextSource) -> TextSource:
    """Convert a workbook or a Matlab file to text; any other source stays as it is."""
    if origin.head(len(MATLAB_MAGIC)).startswith(MATLAB_MAGIC):
        return json_of_matlab(origin)
    return _sheet_as_text(origin) if origin.head(len(ZIP)).startswith(ZIP) else origin


def _sheet_as_text(origin: TextSource) -> TextSource:
    try:
        with origin.open() as stream, zipfile.ZipFile(io.BytesIO(stream.read())) as book:
            if _BOOK not in book.namelist():
                return origin
            sheets = {
                name: list(_sheet_rows(book, path)) for name, path in _visible_sheets(book).items()
            }
    except (zipfile.BadZipFile, Xml.ParseError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, zipfile.BadZipFile) and ".xls" not in origin.name.lower():
            return origin  # some other archive, told as such where tables are read
        raise DataError(
            origin.name,
            "must be a sound Excel workbook",
            got=f"a damaged one ({error})",
            fix="Save it again, or save the sheet as CSV.",
        ) from None
    tables = {name: rows for name, rows in sheets.items() if sum(map(bool, rows)) > 1}
    if len(tables) != 1:
        counts = ", ".join(f"{name} ({sum(map(bool, rows))} rows)" for name, rows in tables.items())
        raise DataError(
            origin.name,
            "must have one sheet with a table",
            got=counts or "none",
            fix="Save the sheet of decisions as CSV, or delete the others.",
        )
    (rows,) = tables.values()
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] if row else [] for row in rows]
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(filled)
    return TextSource(origin.name, None, text.getvalue().encode())


def _visible_sheets(book: zipfile.ZipFile) -> dict[str, str]:
    """Paths of the visible sheets of a workbook, by name."""
    links = {
        one.attrib["Id"]: one.attrib["Target"].removeprefix("/xl/")
        for one in Xml.fromstring(_read_part(book, _LINKS))
    }
    found = {}
    for one in Xml.fromstring(_read_part(book, _BOOK)).iter():
        if _has_tag(one, "sheet") and one.attrib.get("state", "visible") == "visible":
            link = next(v for key, v in one.attrib.items() if key.endswith("}id"))
            if "worksheet" in links[link]:
                found[one.attrib["name"]] = f"xl/{links[link]}"
    return found


def _read_part(book: zipfile.ZipFile, path: str) -> bytes:
    if book.getinfo(path).file_size > MAX_SHEET_BYTES:
        raise ValueError(f"more than {MAX_SHEET_BYTES >> 20} MB in {path}")
    return book.read(path)


def _has_tag(element: Xml.Element, name: str) -> bool:
    return element.tag.rpartition("}")[2] == name


def _sheet_rows(book: zipfile.ZipFile, path: str) -> Iterator[list[str]]:
    """Cells of every row as text, one list for each row of the sheet, empty ones too."""
    words: list[str] = []
    if _STRINGS in book.namelist():
        words = [
            _string_text(one)
            for one in Xml.fromstring(_read_part(book, _STRINGS))
            if _has_tag(one, "si")
        ]
    last = 0
    for row in (
        one for one in Xml.fromstring(_read_part(book, path)).iter() if _has_tag(one, "row")
    ):
        number = int(row.attrib.get("r", last + 1))
        yield from ([] for _ in range(number - last - 1))
        last = number
        cells: list[str] = []
        for cell in (one for one in row if _has_tag(one, "c")):
            place = _CELL.fullmatch(cell.attrib.get("r", ""))
            column = len(cells) if place is None else _column_index(place[1])
            cells += [""] * (column - len(cells))
            cells.append(_sheet_cell_text(cell, words))
        while cells and not cells[-1]:
            cells.pop()
        yield cells


def _column_index(letters: str) -> int:
    """Index of a column from its letters, from 0.

    >>> _column_index("A"), _column_index("Z"), _column_index("AB")
    (0, 25, 27)
    """
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def _string_text(element: Xml.Element) -> str:
    """Text of a shared or inline string on one line, without phonetic guides."""
    parts = [
        text.text or ""
        for part in element
        if not _has_tag(part, "rPh")
        for text in (part.iter() if _has_tag(part, "r") else [part])
        if _has_tag(text, "t")
    ]
    return " ".join("".join(parts).split())


def _sheet_cell_text(cell: Xml.Element, words: list[str]) -> str:
    kind = cell.attrib.get("t", "n")
    if kind == "inlineStr":
        return next((_string_text(one) for one in cell if _has_tag(one, "is")), "")
    value = next((one.text or "" for one in cell if _has_tag(one, "v")), None)
    if value is None:
        if any(_has_tag(one, "f") for one in cell):
            raise ValueError(f"no value of the formula in {cell.attrib.get('r')}")
        return ""
    if kind == "s":
        return words[int(value)]
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind == "e":  # #N/A and the like
        return ""
    if kind == "n":
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return " ".join(value.split())


# What programs call the object that holds the values proper; its keys are columns themselves.
_WRAPPER_KEYS = ("data", "trialdata")
RECORD = "source record"
MAX_JSON_DEPTH = 4  # levels of nested objects that become columns; deeper ones stay text
_INT64_LIMIT = 2**63  # integers outside [-limit, limit) do not fit a column of int64


def read_json_table(source: TextSource) -> pa.Table:
    """Read a JSON file whose objects are rows.

    Notes
    -----
    Taken are a list of objects; an object, or some, that hold such a list, whose other values are
    repeated in every row; a list of lists, or one list on each line, which are numbered in the
    column "source record"; an object of columns; and one object on each line.
    """
    with source.open() as stream:
        content = stream.read()
    rows = list(_rows(_document(content, source.name), {}))
    if not rows:
        raise DataError(
            source.name, "must hold one object per row", got="none", fix="Check what wrote it."
        )
    flat = [_flatten(row) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    apart = {".".join(name.split(".")[:k]) for name in names for k in range(1, name.count(".") + 1)}
    # null where there might be an object is no column of its own
    empty = {name for name in apart & {*names} if all(row.get(name) is None for row in flat)}
    names = dict.fromkeys(name for name in names if name not in empty)
    return pa.table({name: column_from_values([row.get(name) for row in flat]) for name in names})


def _document(content: bytes, name: str) -> Any:
    """Parse a JSON file; objects or lists one on each line make a list."""
    lines = [line for line in content.splitlines() if line.strip()]
    starts = [line.strip()[:1] for line in lines]
    if len(lines) > 1 and len({*starts}) == 1 and starts[0] in (b"{", b"["):
        ends = {line.strip()[-1:] for line in lines}
        if ends <= {b"}", b"]"}:
            return [parse_json(line, f"{name}, line {k + 1},") for k, line in enumerate(lines)]
    return parse_json(content, name)


def _rows(value: Any, known: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects that are rows, each with the values of the objects around it."""
    if isinstance(value, list):
        lists = [item for item in value if isinstance(item, list)]
        for k, item in enumerate(value):
            numbered = {RECORD: k + 1} if len(lists) > 1 else {}
            if isinstance(item, (list, dict)):
                yield from _rows(item, {**known, **numbered})
        return
    inner = {key: item for key, item in value.items() if _holds_rows(item)}
    if len(inner) == 1:
        key, item = next(iter(inner.items()))
        around = {name: own for name, own in value.items() if name != key}
        yield from _rows(item, {**known, **around})
    elif inner and len(inner) == len(value):
        for key, item in inner.items():
            yield from _rows(item, {**known, RECORD: key})
    elif _is_columns(value):
        for cells in zip(*value.values(), strict=True):
            yield {**known, **dict(zip(value, cells, strict=True))}
    else:
        yield {**known, **value}


def _holds_rows(value: Any) -> bool:
    """Whether a value is a list of objects, or an object that has one."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) for item in value)
    return isinstance(value, dict) and any(map(_holds_rows, value.values()))


def _is_columns(value: Mapping[str, Any]) -> bool:
    """Whether an object holds lists of one length, of plain values: columns."""
    lists = [item for item in value.values() if isinstance(item, list)]
    lengths = {len(item) for item in lists}
    plain = all(not isinstance(cell, (dict, list)) for item in lists for cell in item)
    return len(lists) == len(value) > 1 and len(lengths) == 1 and lengths != {0} and plain


def _flatten(row: Mapping[str, Any], stem: str = "", depth: int = 0) -> dict[str, Any]:
    """Flatten an object: keys of inner objects follow theirs after a point."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{stem}{key}"
        if isinstance(value, dict) and value and depth < MAX_JSON_DEPTH:
            bare = not stem and key in _WRAPPER_KEYS and not {*value} & {*row}
            found |= _flatten(value, "" if bare else f"{name}.", depth + 1)
        elif isinstance(value, (dict, list)):
            found[name] = json.dumps(value, ensure_ascii=False)
        else:
            found[name] = value
    return found


def column_from_values(values: Sequence[Any]) -> pa.Array:
    """Build a column of one type from plain values; text where they are of several types.

    >>> column_from_values([1, None, 2.5]).type, column_from_values(["a", 2]).to_pylist()
    (DataType(double), ['a', '2'])
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(v is None or -_INT64_LIMIT <= v < _INT64_LIMIT for v in values):
        return pa.array(values, pa.int64())
    exact = all(type(v) is not int or abs(v) <= 2**53 for v in values)
    if kinds <= {int, float} and exact:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([_cell_text(value) for value in values], pa.string())


def _cell_text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


_MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_FORMAT_NAMES = {"parquet": "Parquet", "arrow": "Arrow"}


def read_columnar(source: TextSource, kind: Kind) -> pa.Table:
    """Read a Parquet or Arrow (Feather) file."""
    magic = _MAGIC[kind]
    end = source.tail(2 * len(magic))
    if len(end) < 2 * len(magic) or not end.endswith(magic):
        raise DataError(
            source.name,
            f"must be a whole {_FORMAT_NAMES[kind]} file",
            got="one that is truncated: its end is missing",
            fix="Copy or download it again.",
        )
    try:
        with _open_stream(source) as stream:
            table = _read_stream(stream, kind)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise DataError(
            source.name,
            f"must be a sound {_FORMAT_NAMES[kind]} file",
            got=f"a damaged one ({reason})",
            fix="Copy or write it again.",
        ) from None
    return _check_table(source, table)


def _open_stream(source: TextSource) -> Any:
    if source.path is None:
        return pa.BufferReader(source.content)
    return pa.OSFile(str(source.path), "rb")


def _read_stream(stream: Any, kind: Kind) -> pa.Table:
    if kind == "parquet":
        return pq.ParquetFile(stream, pre_buffer=True).read()
    return pa.ipc.open_file(stream).read_all()


def _check_table(source: TextSource, table: pa.Table) -> pa.Table:
    check_names(source.name, tuple(table.column_names))
    if table.num_rows == 0:
        raise DataError(
            source.name,
            "must hold at least one row",
            got="0 rows",
            fix="Check the filter that wrote it.",
        )
    return table


def read_table(
    path: FilePath | TextSource,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    header: bool = True,
) -> pa.Table:
    r"""Read a table from a CSV (also gzipped), Parquet, Arrow, JSON, Excel (xlsx) or .mat file.

    Parameters
    ----------
    path
        The file; "-" reads the standard input. Or a `TextSource` opened before.
    delimiter
        What divides the cells of a CSV file; found among ``, ; | \t`` where none is given.
    decimal
        Decimal point of a CSV file: "." or ",".
    encoding
        Encoding of a CSV file, by its Python name.
    header
        Whether the first line of a CSV file names its columns; else they are "1", "2" and so on.

    Returns
    -------
    pyarrow.Table

    Notes
    -----
    Empty cells and a single point are missing values, and so are NA, NaN, NULL and None in columns
    of numbers; in columns of text these are text, as somebody may be called so. Whole numbers stay
    whole; a column of whole numbers stays text where some begin with a zero or exceed 64 bits, and
    so do dates. A column without a name is called "column 1" by its place. A JSON file holds one
    object per row, in a list or one on each line; objects in objects become columns of their own,
    lists in objects become text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trips.csv")
    ...     _ = file.write_text("id;cost\n007;1,5\n008;NA\n")
    ...     read_table(file, decimal=",").to_pylist()
    [{'id': '007', 'cost': 1.5}, {'id': '008', 'cost': None}]
    """
    origin = sheet_as_text(source_from_path(path))
    kind = text_source.file_kind(origin.head(text_source.HEAD_BYTES), origin.name)
    if kind == "json":
        table = _check_table(origin, read_json_table(origin))
    elif kind in ("csv", "gzip"):
        table = read_delimited(
            origin, delimiter=delimiter, decimal=decimal, encoding=encoding, header=header
        )
    else:
        table = read_columnar(origin, kind)
    origin.check_unchanged()
    return table
