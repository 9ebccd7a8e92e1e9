"""Files that are no tables: one sentence with file, line and what to do, and nothing touched."""

import gzip
import io
import os
import sys
import zipfile

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from penchant.errors import DataError
from penchant.files.table import read_table
from penchant.files.text_source import TextSource

CSV = b"subject,price\n7,1.5\n8,2.25\n"


@pytest.fixture
def refused(tmp_path):
    """Write a file, expect that it is refused, and that the folder stays as it was."""

    def _refused(content, match, name="trips.csv", **how):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = {entry: entry.read_bytes() for entry in tmp_path.iterdir()}
        with pytest.raises(DataError, match=match) as caught:
            read_table(file, **how)
        assert {entry: entry.read_bytes() for entry in tmp_path.iterdir()} == before
        message = str(caught.value)
        assert message.count("\n") <= 1 and message.endswith(".")
        return message

    return _refused


def pipe(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n", gzip.compress(b"", mtime=0)]
)
def test_an_empty_file_is_refused(refused, content):
    message = refused(content, "must hold a header and at least one row; got an empty file")
    assert "trips.csv" in message


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\r\n\r\n"])
def test_a_header_alone_is_refused(refused, content):
    refused(content, "at least one row; got 0 rows below the header")


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet must hold at least one row; got 0 rows"):
        read_table(tmp_path / "t.parquet")


def test_two_columns_of_one_name_are_refused(refused):
    refused("price,wait,price \n1,2,3\n", "its own name; got 'price' at columns 1 and 3")


def test_two_columns_of_one_name_are_refused_in_parquet(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.feather.write_feather(table, str(tmp_path / "t.arrow"))
    with pytest.raises(DataError, match="its own name; got 'a' at columns 1 and 2"):
        read_table(tmp_path / "t.arrow")


def test_a_file_without_header_is_refused(refused):
    refused("1,2.5,-3\n4,5,6\n", r"must name its columns on its first line; got numbers \(1, 2.5")


def test_bytes_that_are_not_utf_8_are_refused_with_their_place(refused):
    content = "option,price\ncar,1\ncafé,2\n".encode("latin-1")
    refused(content, "got byte 0xe9 at byte offset 22, line 3.\nPass .*encoding='cp1252'")


def test_bytes_that_are_not_utf_8_are_found_far_into_the_file(refused):
    content = b"k,name\n" + b"12,abc\n" * 300_000 + b"13,\xff\n"
    refused(content, "got byte 0xff at byte offset 2100010, line 300002")


def test_bytes_that_are_not_utf_8_are_found_in_gzip(refused):
    refused(gzip.compress(b"a,b\n1,\xe9x\n"), "byte 0xe9 at byte offset 6, line 2")


def test_a_letter_cut_off_by_the_end_is_refused(refused):
    refused("a,b\n1,é".encode()[:-1], "got byte 0xc3 at byte offset 6, line 2")


def test_a_wrong_name_in_the_header_is_refused(refused):
    refused("prix €,b\n1,2\n".encode("cp1252"), "byte 0x80 at byte offset 5, line 1")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(refused, encoding):
    refused(
        "option,price\ncar,1\n".encode(encoding), "line 1.\nIt looks like UTF-16: pass encoding="
    )


def test_half_a_letter_of_utf_16_is_refused(refused):
    refused("a,b\n1,2\n".encode("utf-16")[:-1], "must be utf-16 text", encoding="utf-16")


def test_an_unknown_encoding_is_refused(refused):
    refused(CSV, "encoding must be one that Python knows; got 'utf-9'", encoding="utf-9")


def test_an_encoding_of_bytes_is_refused(refused):
    refused(CSV, "encoding must be one that Python knows; got 'base64'", encoding="base64")


@pytest.mark.parametrize(("given", "right"), [(",", ";"), (";", ","), ("|", "\t")])
def test_a_wrong_delimiter_is_refused_and_the_right_one_named(refused, given, right):
    content = f"a{right}b{right}c\n1{right}2{right}3\n"
    message = refused(content, "leaves one column on line 1", delimiter=given)
    assert message.endswith(f"would make 3.\nPass delimiter={right!r}.")


def test_columns_divided_by_spaces_are_recognised(refused):
    refused("a b\n1 2\n3 4\n", "where ' ' would make 2.\nPass delimiter=' '")


def test_a_delimiter_of_two_characters_is_refused(refused):
    refused(CSV, "delimiter must be one character; got '::'", delimiter="::")


def test_a_decimal_that_is_the_delimiter_is_refused(refused):
    refused(CSV, "must differ from the delimiter, .*; got ',' for both", decimal=",")


def test_an_unknown_decimal_is_refused(refused):
    refused(CSV, r"decimal must be '\.' or ','; got '·'", decimal="·")


def test_lines_with_too_few_or_too_many_cells_are_listed(refused):
    content = "a,b,c\n1,2,3\n1,2\n\n1,2,3\n1,2,3,4\n"
    refused(content, "as its header, which has 3; got 2 on line 3, 4 on line 6")


def test_ten_ragged_lines_are_listed_and_all_counted(refused):
    refused("a,b\n" + "1\n" * 25, r"1 on line 2, .*1 on line 11 \(... 25 in all\)")


def test_ragged_lines_are_found_far_into_the_file(refused):
    refused("a,b\n" + "10,20\n" * 400_000 + "1,2,3\n", "got 3 on line 400002")


def test_ragged_lines_are_found_where_lines_end_in_cr(refused):
    refused("a,b\r1,2\r3\r", "got 1 on line 3")


def test_row_names_of_r_are_recognised(refused):
    refused('"a","b"\n"1",2,3\n"2",4,5\n', "row.names = FALSE")


def test_a_delimiter_at_the_end_of_every_line_is_recognised(refused):
    refused("a,b\n1,2,\n3,4,\n", "Every line ends in ',' but the header")


def test_lines_above_the_header_are_recognised(refused):
    refused("My export\na,b,c\n1,2,3\n", "(?s)got 3 on line 2.*Remove the lines above")


def test_a_quote_that_is_never_closed_is_refused_with_its_line(refused):
    refused('a,b\n1,x\n2,"y\n3,z\n', "got one opened on line 3 that is never closed")


def test_two_open_quotes_swallow_no_rows(refused):
    refused('a,b\n1,"x\n2,y\n3,"z\n4,w\n', "other text in the record that begins on line 2")


def test_an_open_quote_in_the_header_is_refused(refused):
    refused('a,"b\n1,2\n3,4\n', "got one opened on line 1 that is never closed")


def test_an_open_quote_in_a_large_file_is_refused(refused):
    refused('a,b\n1,"x\n' + "2,y\n" * 600_000, "longer one in the record that begins on line 2")


def test_a_quoted_cell_that_runs_on_is_described(refused):
    refused(
        'a,b,c\n1,"x\ny",3\n2,"u\nv"\n4,5,6\n',
        "got 2 on line 4, whose quoted cell runs on to line 5",
    )


def test_nul_bytes_are_refused_with_their_line(refused):
    refused(b"a,b\n1,2\n3,\x004\n", "got a NUL byte, line 3")


def test_a_line_too_long_for_any_table_is_refused(refused):
    refused("a,b\n1," + "x" * 5_000_000 + "\n", "cells of at most 131072 char.* line 2")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook"),
        (b"BZh91AY", "compressed by bzip2"),
        (b"\xfd7zXZ\0", "compressed by xz"),
        (b"\x28\xb5\x2f\xfd..", "compressed by zstd"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\n<HTML>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1", "a pointer to a file in Git LFS"),
    ],
)
def test_other_kinds_of_file_are_named(refused, content, what):
    refused(content, f"must be CSV, Parquet, Arrow or JSON; got {what}")


def test_a_zip_archive_is_refused(refused):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("trips.csv", CSV)
    refused(sink.getvalue(), "(?s)got a zip archive.*Unzip it")


def test_what_gzip_holds_is_looked_at(refused):
    refused(gzip.compress(b"RDX3\nX\n"), "The file inside .*trips.csv must be CSV.* R's own data")


def test_truncated_gzip_is_refused_with_the_last_line(refused):
    rows = b"".join(b"%d,%d\n" % (k, k * k % 977) for k in range(50_000))
    packed = gzip.compress(b"a,b\n" + rows)
    message = refused(packed[: len(packed) // 2], r"got one that is truncated after line \d+")
    line = int(message.split("after line ")[1].split(".")[0])
    assert 10_000 < line < 40_000


def test_damaged_gzip_is_refused(refused):
    packed = bytearray(gzip.compress(CSV * 1000))
    packed[len(packed) // 2] ^= 0xFF
    refused(bytes(packed), "must be a sound gzip file; got damaged bytes after line|truncated")


def test_gzip_with_a_wrong_checksum_is_refused(refused):
    packed = bytearray(gzip.compress(CSV))
    packed[-6] ^= 0xFF
    refused(bytes(packed), "got damaged bytes after line 3")


@pytest.mark.parametrize("keep", [5, 300, -1])
def test_truncated_parquet_is_refused(tmp_path, refused, keep):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(99))}), sink)
    refused(sink.getvalue()[:keep], "whole Parquet file; got one that is truncated")


def test_truncated_arrow_is_refused(refused):
    sink = io.BytesIO()
    pa.feather.write_feather(pa.table({"a": list(range(99))}), sink)
    refused(sink.getvalue()[:-20], "whole Arrow file; got one that is truncated")


def test_damaged_parquet_is_refused(refused):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(99))}), sink)
    content = bytearray(sink.getvalue())
    content[-60:-8] = b"\xff" * 52
    refused(bytes(content), "must be a sound Parquet file; got a damaged one")


def test_every_byte_missing_from_the_end_of_a_parquet_file_is_noticed(refused):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), sink)
    for keep in range(4, len(sink.getvalue())):
        refused(sink.getvalue()[:keep], "truncated")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "trips.csv"
    file.write_bytes(CSV)
    opened = TextSource.open

    def open_and_append(self):
        stream = opened(self)
        with file.open("ab") as other:
            other.write(b"9,3.5\n")
        return stream

    monkeypatch.setattr(TextSource, "open", open_and_append)
    with pytest.raises(DataError, match=r"trips.csv must not change while it is read"):
        read_table(file)


def test_a_file_that_disappears_while_it_is_read_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "trips.csv"
    file.write_bytes(CSV)
    unchanged = TextSource.check_unchanged

    def remove_first(self):
        file.unlink()
        unchanged(self)

    monkeypatch.setattr(TextSource, "check_unchanged", remove_first)
    with pytest.raises(DataError, match="must not change while it is read"):
        read_table(file)


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    (tmp_path / "trips.csv").write_bytes(CSV)
    with pytest.raises(
        DataError, match=r"trip.csv, which does not exist.\nDid you mean 'trips.csv'"
    ):
        read_table(tmp_path / "trip.csv")
    with pytest.raises(DataError, match=r"which does not exist.\nCorrect the path"):
        read_table(tmp_path / "zzz")


def test_a_missing_directory_is_named_with_the_nearest_one(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError, match=r"does not exist.\nDid you mean 'data'"):
        read_table(tmp_path / "dta" / "trips.csv")


def test_a_missing_file_by_a_relative_path_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"got absent.csv, which does not exist"):
        read_table("absent.csv")


def test_an_address_is_refused():
    with pytest.raises(DataError, match="must be a local file; got the address https://"):
        read_table("https://example.org/trips.csv")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(DataError, match="must be a file; got the directory"):
        read_table(tmp_path)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, ""])
def test_an_impossible_path_is_refused(path):
    with pytest.raises(DataError, match="path must be"):
        read_table(path)


def test_what_is_no_path_is_refused():
    with pytest.raises(DataError, match="path must be the path of a file; got Table"):
        read_table(pa.table({"a": [1]}))


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "trips.csv"
    file.write_bytes(CSV)

    def deny(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(file), "open", deny)
    with pytest.raises(DataError, match=r"got no permission to read .*trips.csv"):
        read_table(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"(?s)must be a regular file; .*pass '-' as the path"):
        read_table(tmp_path / "pipe")


def test_an_empty_standard_input_is_refused(monkeypatch):
    pipe(monkeypatch, b"")
    with pytest.raises(DataError, match="stdin must hold a table; got 0 bytes"):
        read_table("-")


def test_a_standard_input_without_pipe_is_refused(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(CSV))
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", stream)
    with pytest.raises(DataError, match="stdin must be piped in"):
        read_table("-")


def test_errors_in_the_standard_input_name_it(monkeypatch):
    pipe(monkeypatch, b"a,b\n1\n")
    with pytest.raises(DataError, match=r"stdin must have as many cells.* has 2; got 1 on line 2"):
        read_table("-")
