"""What a file is, told by its first bytes and not by its name."""

from typing import Literal

from penchant.errors import DataError

Kind = Literal["csv", "gzip", "parquet", "arrow"]

GZIP = b"\x1f\x8b"
HEAD = 64

_READ: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (GZIP, "gzip"),
)

_REFUSED: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Unzip it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "Save the sheet as CSV"),
    (b"BZh", "compressed by bzip2", "Decompress it, or use gzip"),
    (b"\xfd7zXZ", "compressed by xz", "Decompress it, or use gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Decompress it, or use gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "Extract the table first"),
    (b"PARE", "an encrypted Parquet file", "Decrypt it first"),
    (b"FEA1", "a Feather file of version 1", "Save it as Parquet"),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV"),
    (b"\x89HDF", "an HDF5 file", "Export the table as CSV"),
    (b"MATLAB 5.0", "a Matlab file", "Use writetable in Matlab"),
    (b"RDX", "R's own data format", "Use write.csv in R"),
    (b"X\n\x00", "R's own data format", "Use write.csv in R"),
    (b"$FL", "an SPSS file", "Export it as CSV"),
    (b"<stata_dta>", "a Stata file", "Export it as CSV"),
    (b"%PDF", "a PDF document", "Find the table it was made from"),
    (b"version https://git-lfs", "a pointer to a file in Git LFS", "Run `git lfs pull`"),
    (b"<!doctype", "a web page", "Download the file itself"),
    (b"<html", "a web page", "Download the file itself"),
    (b"<?xml", "an XML document", "Export the table as CSV"),
    (b"{", "JSON", "Save the table as CSV or Parquet"),
    (b"[", "JSON", "Save the table as CSV or Parquet"),
)


def kind(head: bytes, name: str) -> Kind:
    """Return the kind of a file by its first bytes; refuse what is known not to be a table."""
    for magic, known in _READ:
        if head.startswith(magic):
            return known
    check_text(head, name)
    return "csv"


def check_text(head: bytes, name: str) -> None:
    """Refuse bytes that begin as those of a known kind of file that is not CSV."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \r\n\t").lower()
    for magic, what, advice in _REFUSED:
        if head.startswith(magic) or start.startswith(magic.lower()):
            raise DataError(
                f"{name} must be CSV, Parquet or Arrow; got {what}, by its first bytes. {advice}."
            )
