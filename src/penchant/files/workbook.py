"""Excel workbooks: the sheet that holds a table, as text with a line for every row."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree as Xml

from penchant.errors import DataError
from penchant.files.text import Source

ZIP = b"PK\x03\x04"
LARGEST = 1 << 30  # bytes of a sheet, unpacked
_BOOK, _LINKS, _WORDS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
_CELL = re.compile(r"([A-Z]+)(\d+)")


def unbooked(origin: Source) -> Source:
    """The sheet of a workbook that holds a table, as text; any other source as it is."""
    if not origin.head(len(ZIP)).startswith(ZIP):
        return origin
    try:
        with origin.open() as stream, zipfile.ZipFile(io.BytesIO(stream.read())) as book:
            if _BOOK not in book.namelist():
                return origin
            sheets = {name: list(_rows(book, path)) for name, path in _sheets(book).items()}
    except (zipfile.BadZipFile, Xml.ParseError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, zipfile.BadZipFile) and ".xls" not in origin.name.lower():
            return origin  # some other archive, told as such where tables are read
        raise DataError(
            f"{origin.name} must be a sound Excel workbook; got a damaged one ({error}). Save it "
            "again, or save the sheet as CSV."
        ) from None
    held = {name: rows for name, rows in sheets.items() if sum(map(bool, rows)) > 1}
    if len(held) != 1:
        said = ", ".join(f"{name} ({sum(map(bool, rows))} rows)" for name, rows in held.items())
        raise DataError(
            f"{origin.name} must have one sheet with a table; got {said or 'none'}. Save the sheet "
            "of decisions as CSV, or delete the others."
        )
    (rows,) = held.values()
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] if row else [] for row in rows]
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(filled)
    return Source(origin.name, None, text.getvalue().encode())


def _sheets(book: zipfile.ZipFile) -> dict[str, str]:
    """Sheets that are shown, and the file of each."""
    links = {
        one.attrib["Id"]: one.attrib["Target"].removeprefix("/xl/")
        for one in Xml.fromstring(_text(book, _LINKS))
    }
    found = {}
    for one in Xml.fromstring(_text(book, _BOOK)).iter():
        if _is(one, "sheet") and one.attrib.get("state", "visible") == "visible":
            link = next(v for key, v in one.attrib.items() if key.endswith("}id"))
            if "worksheet" in links[link]:
                found[one.attrib["name"]] = f"xl/{links[link]}"
    return found


def _text(book: zipfile.ZipFile, path: str) -> bytes:
    if book.getinfo(path).file_size > LARGEST:
        raise ValueError(f"more than {LARGEST >> 20} MB in {path}")
    return book.read(path)


def _is(element: Xml.Element, name: str) -> bool:
    return element.tag.rpartition("}")[2] == name


def _rows(book: zipfile.ZipFile, path: str) -> Iterator[list[str]]:
    """Cells of every row as text, one list for each row of the sheet, empty ones too."""
    words: list[str] = []
    if _WORDS in book.namelist():
        words = [_words(one) for one in Xml.fromstring(_text(book, _WORDS)) if _is(one, "si")]
    last = 0
    for row in (one for one in Xml.fromstring(_text(book, path)).iter() if _is(one, "row")):
        number = int(row.attrib.get("r", last + 1))
        yield from ([] for _ in range(number - last - 1))
        last = number
        cells: list[str] = []
        for cell in (one for one in row if _is(one, "c")):
            place = _CELL.fullmatch(cell.attrib.get("r", ""))
            column = len(cells) if place is None else _column(place[1])
            cells += [""] * (column - len(cells))
            cells.append(_cell(cell, words))
        while cells and not cells[-1]:
            cells.pop()
        yield cells


def _column(letters: str) -> int:
    """Place of a column, from 0.

    >>> _column("A"), _column("Z"), _column("AB")
    (0, 25, 27)
    """
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def _words(element: Xml.Element) -> str:
    """Text without what says how it is spoken, on one line."""
    parts = [
        text.text or ""
        for part in element
        if not _is(part, "rPh")
        for text in (part.iter() if _is(part, "r") else [part])
        if _is(text, "t")
    ]
    return " ".join("".join(parts).split())


def _cell(cell: Xml.Element, words: list[str]) -> str:
    kind = cell.attrib.get("t", "n")
    if kind == "inlineStr":
        return next((_words(one) for one in cell if _is(one, "is")), "")
    value = next((one.text or "" for one in cell if _is(one, "v")), None)
    if value is None:
        if any(_is(one, "f") for one in cell):
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
