"""CSV files copied to Parquet a portion at a time are what they are when read whole."""

import gzip

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant.errors import DataError
from penchant.files.delimited_text import copy_delimited
from penchant.files.table import read_table
from penchant.files.text_source import source_from_path

CELLS = [
    ["1", "2", "30"],
    ["1", "2.5", "-3e4"],
    ["07", "12", "5"],
    ["0.5", "007", "2"],
    ["92233720368547758089", "1", "2"],
    ["1e300", "1", "2.5"],
    ["true", "False", ""],
    ["true", "1", "0"],
    ["NA", "", "null"],
    ["NA", "3", "."],
    ["NA", "x", ""],
    ["2024-05-01", "2024-05-02", ""],
    ["2024-05-01", "3", "4"],
    ["12:30:00", "1", "x"],
    ['"a, b"', '"say ""so"""', "c"],
    ['"two\nlines"', "one", '"\n"'],
    ["0x1F", "3", "4"],
    [" 5", "6 ", " 07"],
]


def copied(tmp_path, text, portion):
    file = tmp_path / "t.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    copy = tmp_path / "t.parquet"
    copy_delimited(source_from_path(file), copy, portion=portion)
    return pq.read_table(copy), read_table(file)


@given(
    columns=st.lists(
        st.sampled_from(CELLS).flatmap(
            lambda kind: st.lists(st.sampled_from(kind), min_size=12, max_size=12)
        ),
        min_size=2,
        max_size=4,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    portion=st.integers(1, 120),
    last=st.booleans(),
)
def test_portions_of_any_size_give_the_table_read_whole(
    tmp_path_factory, columns, end, portion, last
):
    lines = [",".join(f"c{k}" for k in range(len(columns)))]
    lines += [",".join(cells) for cells in zip(*columns, strict=True)]
    text = end.join(lines) + end * last
    part, whole = copied(tmp_path_factory.mktemp("copy"), text, portion)
    assert part.schema.equals(whole.schema)
    assert part.equals(whole)


@pytest.mark.parametrize("portion", [5, 40, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa;b\n1;x\n\n2;y\n",
        "sep=;\na;b\n1;x\n2;y\n",
        "a,b\r1,2\r3,4.5\r",
        "a,b\n1,2\n3,x\nEND OF FILE\n",
        "a,b\n" + "1,2\n" * 50 + "NA,\n",
    ],
    ids=["mark and blank line", "sep", "old ends", "end of file", "late gap"],
)
def test_what_files_begin_and_end_with(tmp_path, text, portion):
    part, whole = copied(tmp_path, text, portion)
    assert part.equals(whole)


def test_a_compressed_file(tmp_path):
    part, whole = copied(tmp_path, gzip.compress(b"a,b\n" + b"1,0.5\n" * 99 + b"x,1\n"), 64)
    assert part.equals(whole) and part.schema.field("a").type == "string"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 9 + "3\n", r"as many cells .* got 1 on line 11"),
        ("a,b\n" + "1,2\n" * 9 + '"3,4\n' + "5,6\n" * 9, r"line 11"),
        ("a,b\n", r"at least one row; got 0 rows"),
        ("a,b\n" + "1,2\n" * 9 + "\x00,1\n", r"NUL byte, line 11"),
    ],
)
def test_bad_lines_are_named_as_when_read_whole(tmp_path, text, message):
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=message) as whole:
        read_table(file)
    with pytest.raises(DataError, match=message) as part:
        copy_delimited(source_from_path(file), tmp_path / "t.parquet", portion=16)
    assert str(part.value) == str(whole.value)


def test_quotes_that_hide_every_end_of_line(tmp_path, monkeypatch):
    monkeypatch.setattr("penchant.files.delimited_text.MAX_LINE_BYTES", 100)
    file = tmp_path / "t.csv"
    file.write_text("a,b\n" + '5" x,1\n' + "1,2\n" * 99)
    with pytest.raises(DataError, match=r"(?s)t\.csv must close every quote.*Double the quotes"):
        copy_delimited(source_from_path(file), tmp_path / "t.parquet", portion=32)
