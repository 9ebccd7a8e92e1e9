"""Source of a table: its path, its kind by first bytes, and its text as checked UTF-8."""

import codecs
import errno
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from penchant.errors import DataError, closest_match_hint, mark_argument

STDIN = "-"

# Pipes the shell has opened already, as for `penchant fit <(zcat trips.csv.gz)`.
_OPEN_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


@dataclass(frozen=True)
class TextSource:
    """A file, or the bytes of a pipe, which can be read only once.

    Attributes
    ----------
    name
        What messages call it.
    path
        The file; None for a pipe.
    content
        The bytes of a pipe; None for a file.
    stamp
        Size, time of change and identity of the file when it was first seen.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    stamp: tuple[int, ...] = ()

    def open(self) -> BinaryIO:
        """Return the bytes from the beginning, to be closed by the caller."""
        if self.path is None:
            return io.BytesIO(self.content or b"")
        try:
            return self.path.open("rb", buffering=0)
        except OSError as error:
            raise read_error(self.name, error) from None

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)

    def tail(self, n_bytes: int) -> bytes:
        """Return the last bytes."""
        with self.open() as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - n_bytes, 0))
            return stream.read(n_bytes)

    def check_unchanged(self) -> None:
        """Refuse what was read if the file has changed meanwhile."""
        if self.path is None:
            return
        try:
            stamp = _stamp(self.path.stat())
        except OSError:
            stamp = ()
        if stamp != self.stamp:
            raise DataError(
                self.name,
                "must not change while it is read",
                got="another size or time of change at the end",
                fix="Read it again when its writer has finished.",
            )


def source_from_path(path: Any) -> TextSource:
    """Return the source that a path names; '-' is the standard input."""
    if isinstance(path, TextSource):
        return path
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(
            "path",
            "must be the path of a file",
            got=type(path).__name__,
            fix="Pass data frames to Choices.from_frame.",
        )
    given = os.fsdecode(path)
    if given == STDIN:
        return _standard_input()
    try:
        file = Path(given).expanduser()
        status = file.stat()
    except FileNotFoundError:
        raise _missing_file_error(given) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise read_error(given, error) from None
    return _source_of_file(given, file, status)


def _source_of_file(given: str, file: Path, status: os.stat_result) -> TextSource:
    if stat.S_ISREG(status.st_mode):
        return TextSource(given, file, stamp=_stamp(status))
    if stat.S_ISDIR(status.st_mode):
        raise DataError(
            "path", "must be a file", got=f"the directory {given}", fix="Name a file in it."
        )
    if stat.S_ISFIFO(status.st_mode) and given.startswith(_OPEN_PIPES):
        return _check_nonempty(TextSource(given, content=file.read_bytes()))
    raise DataError(
        "path",
        "must be a regular file",
        got=f"{given}, a pipe or device",
        fix="Pipe it in and pass '-' as the path.",
    )


def _standard_input() -> TextSource:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise DataError(
            "stdin",
            "must be piped in where the path is '-'",
            got="none",
            fix="Use `command < file`.",
        )
    return _check_nonempty(TextSource("stdin", content=sys.stdin.buffer.read()))


def _check_nonempty(piped: TextSource) -> TextSource:
    if piped.content:
        return piped
    raise DataError(
        piped.name, "must hold a table", got="0 bytes", fix="Check the command that writes to it."
    )


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_size, status.st_mtime_ns, status.st_ino)


def _missing_file_error(given: str) -> DataError:
    file = Path(given).expanduser()
    if "://" in given:
        return DataError(
            "path", "must be a local file", got=f"the address {given}", fix="Download it first."
        )
    folder = next(parent for parent in file.parents if parent.is_dir())
    if folder != file.parent:
        return DataError(
            "path",
            "must be an existing file",
            got=f"{given}, but the directory {file.parent} does not exist",
            fix=closest_match_hint(_child(folder, file), _names(folder)) or "Correct it.",
        )
    hint = closest_match_hint(file.name, _names(folder))
    return DataError(
        "path",
        "must be an existing file",
        got=f"{given}, which does not exist",
        fix=hint or "Correct the path.",
    )


def _child(folder: Path, file: Path) -> str:
    return file.parts[len(folder.parts)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def read_error(name: str, error: Exception) -> DataError:
    """Return the error for a file that the system does not let us read."""
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return DataError(
            "path",
            "must be readable",
            got=f"no permission to read {name}",
            fix="Ask its owner, or change its permissions.",
        )
    reason = getattr(error, "strerror", None) or str(error)
    return DataError("path", "must be readable", got=f"{name!r}: {reason}", fix="Correct the path.")


Kind = Literal["csv", "gzip", "parquet", "arrow", "json"]

GZIP = b"\x1f\x8b"
HEAD_BYTES = 64  # holds every magic number below, even after a byte-order mark and blanks

_READ_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (GZIP, "gzip"),
)

_REFUSED_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive", "Unzip it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save it as xlsx, or the sheet as CSV"),
    (b"BZh", "compressed by bzip2", "Decompress it, or use gzip"),
    (b"\xfd7zXZ", "compressed by xz", "Decompress it, or use gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Decompress it, or use gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "Extract the table first"),
    (b"PARE", "an encrypted Parquet file", "Decrypt it first"),
    (b"FEA1", "a Feather file of version 1", "Save it as Parquet"),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV"),
    (b"\x89HDF", "an HDF5 file", "Export the table as CSV"),
    (b"MATLAB 7.3", "a Matlab file of version 7.3", "Use writetable in Matlab"),
    (b"RDX", "R's own data format", "Use write.csv in R"),
    (b"X\n\x00", "R's own data format", "Use write.csv in R"),
    (b"$FL", "an SPSS file", "Export it as CSV"),
    (b"<stata_dta>", "a Stata file", "Export it as CSV"),
    (b"%PDF", "a PDF document", "Find the table it was made from"),
    (b"version https://git-lfs", "a pointer to a file in Git LFS", "Run `git lfs pull`"),
    (b"<!doctype", "a web page", "Download the file itself"),
    (b"<html", "a web page", "Download the file itself"),
    (b"<?xml", "an XML document", "Export the table as CSV"),
)


def file_kind(head: bytes, name: str) -> Kind:
    """Return the kind of a file by its first bytes; refuse what is known not to be a table."""
    for magic, known in _READ_MAGIC:
        if head.startswith(magic):
            return known
    check_text(head, name)
    return "json" if _text_start(head).startswith((b"{", b"[")) else "csv"


def check_text(head: bytes, name: str) -> None:
    """Refuse bytes that begin as those of a known kind of file that is not CSV."""
    start = _text_start(head).lower()
    for magic, what, advice in _REFUSED_MAGIC:
        if head.startswith(magic) or start.startswith(magic.lower()):
            raise DataError(
                name,
                "must be CSV, Parquet, Arrow or JSON",
                got=f"{what}, by its first bytes",
                fix=f"{advice}.",
            )


def _text_start(head: bytes) -> bytes:
    """The first bytes of a text, without a byte-order mark and blanks."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \r\n\t")


READ_BLOCK_BYTES = 1 << 20  # large enough that the cost of a call does not count


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know."""
    try:
        codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, TypeError):
        raise DataError(
            "encoding",
            "must be one that Python knows",
            got=repr(encoding),
            fix="Use 'utf-8', 'cp1252', 'latin-1' or 'utf-16'.",
        ) from None


def read_text_blocks(
    source: TextSource, encoding: str, size: int = READ_BLOCK_BYTES
) -> Iterator[bytes]:
    """Return the text in blocks of valid UTF-8, without a byte-order mark.

    Broken compression, bytes that the encoding does not have and NUL characters are errors that
    name the line.
    """
    texts = _decoded_blocks(source, encoding, size)
    first = next(texts, b"").removeprefix(codecs.BOM_UTF8)
    if is_gzipped(source):
        file_kind(first[:HEAD_BYTES], f"The file inside {source.name}")
    for block in chain((first,), texts):
        if b"\0" in block:
            raise _nul_error(source, encoding, block)
        yield block


def is_gzipped(source: TextSource) -> bool:
    """Whether the file is compressed by gzip."""
    return source.head(2) == GZIP


def _line_of(texts: Iterable[bytes], end: bytes | int) -> int:
    """Line of the first place where `end` occurs, or of the byte with that number."""
    line = 1
    offset = 0
    for text in texts:
        at = text.find(end) if isinstance(end, bytes) else end - offset
        before = text[:at] if 0 <= at < len(text) else text
        line += before.count(b"\n") or before.count(b"\r")
        if len(before) < len(text):
            break
        offset += len(text)
    return line


def _raw_blocks(source: TextSource, size: int = READ_BLOCK_BYTES) -> Iterator[bytes]:
    with source.open() as file:
        if is_gzipped(source):
            yield from _unpacked_blocks(file, source.name, size)
            return
        try:
            while block := file.read(size):
                yield block
        except OSError as error:
            raise read_error(source.name, error) from None


def _unpacked_blocks(file: BinaryIO, name: str, size: int) -> Iterator[bytes]:
    n_lines = 0
    stream = gzip.GzipFile(fileobj=file)
    try:
        while block := stream.read1(size):
            n_lines += block.count(b"\n") or block.count(b"\r")
            yield block
    except EOFError:
        raise DataError(
            name,
            "must be a whole gzip file",
            got=f"one that is truncated after line {n_lines}",
            fix="Copy or download it again.",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            name,
            "must be a sound gzip file",
            got=f"damaged bytes after line {n_lines} ({error})",
            fix="Copy or download it again.",
        ) from None


def _decoded_blocks(
    source: TextSource, encoding: str, size: int = READ_BLOCK_BYTES
) -> Iterator[bytes]:
    if encoding == "utf-8" and _is_marked_utf_16(source):
        encoding = "utf-16"  # its mark says so, and no UTF-8 begins like it
    decoder = codecs.getincrementaldecoder(encoding)()
    plain = codecs.lookup(encoding).name == "utf-8"
    offset = 0
    for block in chain(_raw_blocks(source, size), (b"",)):
        pending: bytes = decoder.getstate()[0]
        if plain and block and not pending and block.isascii():
            yield block
        else:
            try:
                yield decoder.decode(block, final=not block).encode()
            except UnicodeDecodeError as error:
                at = offset - len(pending) + error.start
                raise _wrong_encoding_error(source, encoding, error, at) from None
        offset += len(block)


def _is_marked_utf_16(source: TextSource) -> bool:
    head = source.head(4)
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return head.startswith(marks) and head != codecs.BOM_UTF32_LE


def _wrong_encoding_error(
    source: TextSource, encoding: str, error: UnicodeDecodeError, at: int
) -> DataError:
    advice = (
        f"Pass the {mark_argument('encoding')} it was saved in, such as "
        f"{mark_argument('encoding', 'cp1252')} or {mark_argument('encoding', 'latin-1')}."
    )
    got = error.object[error.start : error.start + 1].hex()
    return DataError(
        source.name,
        f"must be {encoding} text",
        got=f"byte 0x{got} at byte offset {at}, line {_line_of(_raw_blocks(source), at)}",
        fix=advice,
    )


def _nul_error(source: TextSource, encoding: str, block: bytes) -> DataError:
    around = block[max(block.index(b"\0") - 64, 0) :][:128]
    utf_16 = around.count(b"\0") > len(around) // 3
    advice = (
        f"It looks like UTF-16: pass {mark_argument('encoding', 'utf-16-le')} or "
        + f"{mark_argument('encoding', 'utf-16-be')}."
        if utf_16
        else "Remove it, or write the file again: it may be damaged."
    )
    line = _line_of(_decoded_blocks(source, encoding), b"\0")
    return DataError(source.name, "must be text", got=f"a NUL byte, line {line}", fix=advice)


# Words for nothing in a column of numbers; in a column of labels they may be somebody's name.
MISSING_WORDS = ("NA", "NaN", "nan", "NULL", "null", "None", ".")
