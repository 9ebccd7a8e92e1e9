"""NA, null and None: nobody in a column of numbers, somebody in a column of names."""

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.files.table import read_table

NAMES = ["NA", "None", "null", "nan", "NULL", "NaN"]


def rows(names):
    return [
        (name, t, option, int(option == "ab"[t % 2]), price)
        for name in names
        for t in range(4)
        for option, price in (("a", 1.5 * t), ("b", 2.0 - t * t))
    ]


HEADER = ["subject", "decision", "option", "chosen", "price"]


def written(path, cells, quoted=()):
    def cell(name, value):
        return f'"{value}"' if name in quoted else str(value)

    lines = [
        ",".join(cell(name, value) for name, value in zip(HEADER, row, strict=True))
        for row in cells
    ]
    path.write_text("\n".join([",".join(HEADER), *lines]) + "\n")
    return path


def choices(frame):
    return pn.Choices.from_frame(
        frame,
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price"],
        subject="subject",
    )


@pytest.mark.parametrize("quoted", [(), ("subject", "option"), HEADER], ids=str)
def test_people_of_a_csv_file_may_be_called_na(tmp_path, quoted):
    file = written(tmp_path / "a.csv", rows([*NAMES, "bob"]), quoted)
    assert set(choices(read_table(file)).subject_labels) == {*NAMES, "bob"}


def test_people_of_parquet_files_and_frames_may_be_called_na(tmp_path):
    columns = dict(zip(HEADER, map(list, zip(*rows([*NAMES, "bob"]), strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    frames = [read_table(tmp_path / "a.parquet"), polars.DataFrame(columns)]
    pandas = pytest.importorskip("pandas")
    for frame in [*frames, pandas.DataFrame(columns)]:
        assert set(choices(frame).subject_labels) == {*NAMES, "bob"}


def test_options_may_be_called_none(tmp_path):
    cells = [(s, t, "None" if o == "a" else o, c, p) for s, t, o, c, p in rows(["ann"])]
    table = read_table(written(tmp_path / "a.csv", cells))
    assert choices(table).option_labels == ("None", "b")
    labelled = [(s, t, o, "None" if t % 2 == 0 else "b", p) for s, t, o, _, p in cells]
    table = read_table(written(tmp_path / "b.csv", labelled))
    assert pn.fit(choices(table)).n_decisions == 4


@pytest.mark.parametrize("word", [*NAMES, ".", "", '"NA"', '""'])
def test_numbers_may_be_missing_by_any_of_these_words(tmp_path, word):
    (tmp_path / "a.csv").write_text(f"x,y\n1.5,a\n{word},b\n2.5,c\n")
    assert read_table(tmp_path / "a.csv")["x"].to_pylist() == [1.5, None, 2.5]


def test_empty_cells_of_text_are_missing(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\na,1\n,2\n"",3\n.,4\nNA,5\n')
    assert read_table(tmp_path / "a.csv")["x"].to_pylist() == ["a", None, None, None, "NA"]
    file = written(tmp_path / "b.csv", rows(["ann", ""]))
    with pytest.raises(DataError, match="subject must not be missing; got an empty cell in"):
        choices(read_table(file))


def test_identifiers_with_leading_zeros_keep_na_beside_them(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n007,1\nNA,2\n008,3\n")
    assert read_table(tmp_path / "a.csv")["x"].to_pylist() == ["007", "NA", "008"]


def test_a_choice_that_is_na_is_missing_unless_an_option_is_called_so(tmp_path):
    cells = [(s, t, o, "NA" if t == 3 else "a", p) for s, t, o, _, p in rows(["ann"])]
    table = read_table(written(tmp_path / "a.csv", cells))
    with pytest.raises(DataError, match="chosen must not be missing; got an empty cell in chosen"):
        choices(table)
    kept = pn.Choices.from_frame(
        table,
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price"],
        missing="drop_set",
    )
    assert kept.n_decisions == 3


def test_one_word_among_a_thousand_numbers_is_the_one_that_is_named(tmp_path):
    cells = [[s, t, o, c, p] for s, t, o, c, p in rows([f"s{k}" for k in range(150)])]
    cells[899][4] = "oops"
    cells[17][4] = "NA"
    table = read_table(written(tmp_path / "a.csv", cells))
    said = "explanatory 'price' must hold numbers; got 'oops' at row 899.\nConvert or remove"
    with pytest.raises(DataError, match=said):
        choices(table)


def test_many_columns_and_long_lines_are_read(tmp_path):
    names = [f"{'a_long_name_' * 30}{k}" for k in range(3000)]
    assert len(",".join(names)) > 1 << 20
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["07", *["1"] * 2999]))
    table = read_table(tmp_path / "a.csv")
    assert table.num_columns == 3000
    assert table[names[0]].to_pylist() == ["07"]


def test_too_many_columns_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(f"c{k}" for k in range(200_000)) + "\n")
    said = r"must have at most 50,000 columns; got 200,000 on line 1\.\nKeep those"
    with pytest.raises(DataError, match=said):
        read_table(tmp_path / "a.csv")


def test_the_columns_of_a_wide_table_are_not_all_listed_in_an_error(tmp_path):
    table = pa.table({f"c{k}": [1] for k in range(5000)})
    with pytest.raises(DataError, match=r"c9 \(... 5000 in all\)") as caught:
        choices(table)
    assert len(str(caught.value)) < 500
