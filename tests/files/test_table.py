"""Tables as they come: typed columns from CSV, Parquet and Arrow files."""

import gzip
import io
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from penchant.errors import DataError
from penchant.files import delimited_text
from penchant.files.csv_lines import line_of_row, lines_of_rows
from penchant.files.table import read_table

CSV = "subject,price,label\n7,1.5,air\n8,2.25,car\n"
ROWS = [
    {"subject": 7, "price": 1.5, "label": "air"},
    {"subject": 8, "price": 2.25, "label": "car"},
]


@pytest.fixture
def write(tmp_path):
    def _write(content, name="trips.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return _write


def column(write, *cells, name="id"):
    text = f"{name},other\n" + "".join(f"{cell},1\n" for cell in cells)
    return read_table(write(text))[name]


def pipe(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(write, end):
    assert read_table(write(CSV.replace("\n", end))).to_pylist() == ROWS


@pytest.mark.parametrize("end", ["", "\n\n", "\r\n\r\n"])
def test_the_end_of_the_file_may_be_blank_lines_or_none(write, end):
    assert read_table(write(CSV.rstrip("\n") + end)).to_pylist() == ROWS


def test_blank_lines_anywhere_are_no_rows(write):
    assert read_table(write("\n" + CSV.replace("\n8", "\n\n\n8"))).to_pylist() == ROWS


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(write, delimiter):
    assert read_table(write(CSV.replace(",", delimiter))).to_pylist() == ROWS


@pytest.mark.parametrize("spelled", ["\t", r"\t", "tab"])
def test_a_tab_may_be_spelled(write, spelled):
    assert read_table(write(CSV.replace(",", "\t")), delimiter=spelled).to_pylist() == ROWS


def test_any_one_character_may_be_the_delimiter(write):
    assert read_table(write(CSV.replace(",", " ")), delimiter="space").to_pylist() == ROWS


def test_the_delimiter_is_the_one_that_divides_all_lines_alike(write):
    text = "name, first;price\nDoe, Jane;1,5\nRoe;2\n"
    assert read_table(write(text)).column_names == ["name, first", "price"]


@pytest.mark.parametrize("delimiter", [";", "\t", "~"])
def test_the_delimiter_may_be_told_by_a_line_of_excel(write, delimiter):
    text = f"sep={delimiter}\r\n" + CSV.replace(",", delimiter)
    assert read_table(write(text)).to_pylist() == ROWS
    assert lines_of_rows(write(text), [1]) == {1: 4}


def test_commas_inside_cells_lose_a_tie(write):
    assert read_table(write("id;last, first\n1;Doe, Jane\n")).column_names == ["id", "last, first"]


def test_a_delimiter_inside_quotes_does_not_divide(write):
    table = read_table(write('"a;b;c",d\n"1;2;3",4\n'))
    assert table.to_pylist() == [{"a;b;c": "1;2;3", "d": 4}]


def test_decimal_commas_are_numbers_when_asked_for(write):
    table = read_table(write("price;wait\n1,5;2\n-2,25;3\n"), decimal=",")
    assert table["price"].to_pylist() == [1.5, -2.25]


def test_decimal_commas_stay_text_when_not_asked_for(write):
    assert read_table(write("price;wait\n1,5;2\n"))["price"].to_pylist() == ["1,5"]


def test_comments_above_the_header_are_passed_over(write):
    comment = "# {'date': '2017', 'expName': 'x', 'participant': '10'}\n# second\n"
    assert read_table(write(comment + "a,b\n1,2\n")).to_pylist() == [{"a": 1, "b": 2}]
    assert read_table(write(comment + "#a,b\n1,2\n")).to_pylist() == [{"#a": 1, "b": 2}]


def _matlab(folder, **values):
    savemat(folder / "data.mat", values)
    return folder / "data.mat"


def test_structs_and_named_matrices_of_matlab_are_tables(tmp_path):
    rows = [{"choice": 1, "reward": 0.5}, {"choice": 2, "reward": None}]
    columns = {"choice": np.array([[1.0], [2.0]]), "reward": np.array([0.5, np.nan])}
    assert read_table(_matlab(tmp_path, data=columns, n=3)).to_pylist() == rows
    assert read_table(_matlab(tmp_path, **columns)).to_pylist() == rows
    matrix = np.array([[1.0, 0.5], [2.0, np.nan]])
    names = np.array(["choice", "reward"], dtype=object)
    assert read_table(_matlab(tmp_path, M=matrix, names=names)).to_pylist() == rows


def test_matlab_files_of_other_variables_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(DataError, match=r"got M, k\.\nUse writetable in Matlab"):
        read_table(_matlab(tmp_path, M=np.eye(3), k=np.arange(4)))
    path = _matlab(tmp_path, M=np.eye(3))
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(DataError, match="must be a sound Matlab file"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_unicode_is_read_with_or_without_a_byte_order_mark(write, encoding):
    text = "Größe,naïve\n3,é\n"
    given = "utf-8" if encoding == "utf-8-sig" else encoding
    table = read_table(write(text.encode(encoding)), encoding=given)
    assert table.to_pylist() == [{"Größe": 3, "naïve": "é"}]


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_that_says_so_is_read_unasked(write, mark):
    table = read_table(write("\ufeffGröße\tnaïve\r\n3\té\r\n".encode(mark)))
    assert table.to_pylist() == [{"Größe": 3, "naïve": "é"}]


def test_another_encoding_is_read_when_named(write):
    table = read_table(write("option,price\ncafé,2\n".encode("cp1252")), encoding="cp1252")
    assert table["option"].to_pylist() == ["café"]


def test_a_letter_cut_in_two_by_a_block_is_whole_again(write):
    n = (1 << 20) - 4
    text = "a,b\n" + "x" * (n - 2) + ",é1\n" + "y,é2\n"
    for shift in range(3):
        table = read_table(write("z" * shift + text))
        assert table["b"].to_pylist() == ["é1", "é2"]


@pytest.mark.parametrize("word", ["", "NA", "NaN", "nan", "NULL", "null", "None", ".", '""'])
def test_words_for_nothing_are_missing_in_numbers_and_names_in_text(write, word):
    table = read_table(write(f"x,n,name\n1.5,3,bus\n{word},{word},{word}\n"))
    assert [str(field.type) for field in table.schema] == ["double", "int64", "string"]
    name = None if word in ("", ".", '""') else word
    assert table.to_pylist()[1] == {"x": None, "n": None, "name": name}


def test_a_column_without_any_value_is_numbers_all_missing(write):
    assert column(write, "", "NA").type == pa.float64()


def test_whole_numbers_stay_whole(write):
    largest = 2**63 - 1
    assert column(write, largest, -(2**63), 9007199254740993).to_pylist() == [
        largest,
        -(2**63),
        9007199254740993,
    ]


def test_identifiers_beyond_64_bits_stay_text(write):
    ids = ["18446744073709551616", "18446744073709551617", "7"]
    assert column(write, *ids).to_pylist() == ids


def test_large_measurements_stay_numbers(write):
    assert column(write, "1e20", "18446744073709551616", "2.5").type == pa.float64()


@pytest.mark.parametrize("first", ["07", "007", "00", "-07", "0x1F", '"07"', " 07"])
def test_whole_numbers_that_begin_with_zero_stay_text(write, first):
    assert column(write, first, "12").to_pylist() == [first.strip('"'), "12"]


@pytest.mark.parametrize("first", ["07", "00e1"])
def test_codes_that_begin_with_zero_stay_text_among_fractions(write, first):
    assert column(write, first, "2.5").to_pylist() == [first, "2.5"]


@pytest.mark.parametrize("place", [1, 70_000, (1 << 20) // 9 - 1, (1 << 20) // 9])
def test_a_leading_zero_is_seen_wherever_it_stands(write, place):
    cells = [str(10**6 + k) for k in range(150_000)]
    cells[place] = "0" + cells[place][1:]
    assert column(write, *cells).to_pylist() == cells


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_leading_zero_is_seen_after_every_delimiter(write, delimiter):
    table = read_table(write("a,b\n1,05\n".replace(",", delimiter)))
    assert table.to_pylist() == [{"a": 1, "b": "05"}]


def test_zeros_and_fractions_are_numbers(write):
    assert column(write, "0", "10", "-0").to_pylist() == [0, 10, 0]
    assert column(write, "0.05", "10.0", "00.5").to_pylist() == [0.05, 10.0, 0.5]


def test_text_with_a_leading_zero_elsewhere_changes_no_number(write):
    table = read_table(write("a,b\n5,07h\n6,08h\n"))
    assert table.to_pylist() == [{"a": 5, "b": "07h"}, {"a": 6, "b": "08h"}]


def test_only_true_and_false_are_booleans(write):
    assert column(write, "true", "FALSE", "True").to_pylist() == [True, False, True]
    assert column(write, "1", "0").to_pylist() == [1, 0]
    assert column(write, "yes", "no").to_pylist() == ["yes", "no"]
    assert column(write, "true", "1").to_pylist() == ["true", "1"]


@pytest.mark.parametrize("cell", ["2024-01-05", "12:30", "2024-01-05 12:30:00"])
def test_dates_and_times_stay_text(write, cell):
    assert column(write, cell).to_pylist() == [cell]


def test_numbers_are_read_to_the_last_digit(write):
    cells = ["0.1", "1e-300", "-2.2250738585072014e-308", "123456789.123456789"]
    assert column(write, *cells).to_pylist() == [float(cell) for cell in cells]


def test_names_lose_the_space_around_them(write):
    assert read_table(write("a , b\n1,2\n")).column_names == ["a", "b"]


def test_columns_without_a_name_are_called_by_their_place(write):
    assert read_table(write(",price,\n0,1.5,\n")).column_names == ["column 1", "price", "column 3"]


def test_cells_may_hold_several_lines(write):
    table = read_table(write('a,note\n1,"x\ny"\n2,"say ""hi"""\n'))
    assert table["note"].to_pylist() == ["x\ny", 'say "hi"']


def test_a_quote_inside_a_cell_is_a_character(write):
    assert read_table(write('a,b\n1,5" pipe\n2,x\n'))["b"].to_pylist() == ['5" pipe', "x"]


def test_cells_of_several_lines_may_cross_a_block(write):
    long = '"' + "line\n" * 20_000 + '"'
    table = read_table(write("a,b\n" + "".join(f"{k},{long}\n" for k in range(40))))
    assert table["a"].to_pylist() == list(range(40))


@pytest.mark.parametrize("name", ["trips.csv.gz", "trips.csv", "trips"])
def test_gzip_is_told_by_its_bytes(write, name):
    assert read_table(write(gzip.compress(CSV.encode()), name)).to_pylist() == ROWS


def test_gzip_may_have_several_members(write):
    packed = gzip.compress(CSV[:25].encode()) + gzip.compress(CSV[25:].encode())
    assert read_table(write(packed)).to_pylist() == ROWS


@pytest.mark.parametrize("name", ["trips.parquet", "trips.csv"])
def test_parquet_is_told_by_its_bytes(tmp_path, name):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / name)
    assert read_table(tmp_path / name).to_pylist() == ROWS


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_arrow_files_are_read(tmp_path, compression):
    pa.feather.write_feather(
        pa.Table.from_pylist(ROWS), str(tmp_path / "t.arrow"), compression=compression
    )
    assert read_table(tmp_path / "t.arrow").to_pylist() == ROWS


@pytest.mark.parametrize("name", ["with space.csv", "größe-表.csv", "a%20b#c?.csv", "x=1.csv"])
def test_paths_may_have_any_name(write, name):
    assert read_table(str(write(CSV, name))).to_pylist() == ROWS


def test_parquet_takes_no_column_from_the_name_of_its_folder(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "t.parquet")
    assert read_table(folder / "t.parquet").to_pylist() == ROWS


def test_a_tilde_is_the_home_directory(write, monkeypatch):
    monkeypatch.setenv("HOME", str(write(CSV).parent))
    assert read_table("~/trips.csv").to_pylist() == ROWS


def test_the_standard_input_is_read(monkeypatch):
    pipe(monkeypatch, CSV.encode())
    assert read_table("-").to_pylist() == ROWS


def test_the_standard_input_may_be_gzip_or_parquet(monkeypatch):
    pipe(monkeypatch, gzip.compress(CSV.encode()))
    assert read_table("-").to_pylist() == ROWS
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    pipe(monkeypatch, sink.getvalue())
    assert read_table("-").to_pylist() == ROWS


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd")
def test_a_pipe_that_the_shell_opened_is_read():
    reader, writer = os.pipe()
    os.write(writer, CSV.encode())
    os.close(writer)
    try:
        assert read_table(f"/dev/fd/{reader}").to_pylist() == ROWS
    finally:
        os.close(reader)


def test_a_large_file_is_read_as_a_small_one_is(write):
    n = 200_000
    text = "k,x,name\n" + "".join(f"{k},{k / 8},n{k % 7}\n" for k in range(n))
    table = read_table(write(text))
    assert table["k"].to_pylist() == list(range(n))
    assert table["x"].to_pylist() == [k / 8 for k in range(n)]


def test_row_zero_stands_on_line_two():
    assert line_of_row(0) == 2


def test_the_line_of_a_row_counts_blank_lines_and_long_cells(write):
    file = write('a,b\n1,"x\ny"\n\n2,z\n')
    assert lines_of_rows(file, [0, 1]) == {0: 2, 1: 5}


def test_rows_of_parquet_files_have_no_line(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    assert lines_of_rows(tmp_path / "t.parquet", [1]) is None


def test_quoted_cells_may_hold_the_delimiter_as_decimal_point(write):
    table = read_table(write('id,price\n7,"1,5"\n8,"2,25"\n'), decimal=",")
    assert table.to_pydict() == {"id": [7, 8], "price": [1.5, 2.25]}


def test_no_thread_of_arrow_holds_the_stream_when_python_ends(tmp_path, monkeypatch):
    threads = []

    def read_csv(stream, reading, *more):
        threads.append(reading.use_threads)
        return unpatched(stream, reading, *more)

    unpatched = delimited_text.pa_csv.read_csv
    monkeypatch.setattr(delimited_text.pa_csv, "read_csv", read_csv)
    file = tmp_path / "table.csv"
    file.write_text("who,price\n07,1.5\n08,2.5\n")
    assert read_table(file)["who"].to_pylist() == ["07", "08"]
    assert threads == [False, False]
