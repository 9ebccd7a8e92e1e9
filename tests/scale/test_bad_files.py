"""Bad input at scale: one sentence that names the file and the row."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from trips import COLUMNS, table_of

GIVEN = COLUMNS | {"explanatory": ["x1", "x2"]}


def _written(folder, n=4):
    for k in range(n):
        pq.write_table(table_of(k, n=30, first=100 * k), folder / f"log{k}.parquet")
    return folder


def _changed(folder, k, column, change):
    path = folder / f"log{k}.parquet"
    table = pq.read_table(path)
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, change(table[column])), path)
    return folder


def _with_cell(row, value):
    def change(column):
        cells = column.to_pylist()
        cells[row] = value
        return pa.array(cells)

    return change


def test_a_broken_file_among_many_is_named(tmp_path):
    folder = _written(tmp_path)
    path = folder / "log2.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(
        pn.errors.DataError, match=r"log2.parquet must be a sound Parquet file; got a dam"
    ):
        pn.scan(folder, **GIVEN)


def test_a_column_that_changes_type_is_named_with_its_file(tmp_path):
    folder = _changed(_written(tmp_path), 2, "x2", lambda c: c.cast(pa.string()))
    words = (
        r"x2 must be of one type in all files; got text in .*log2.parquet, but numbers in .*log0"
    )
    with pytest.raises(pn.errors.DataError, match=words):
        pn.scan(folder, **GIVEN)


def test_whole_numbers_in_some_files_and_others_elsewhere_are_numbers(tmp_path):
    folder = _changed(_written(tmp_path), 2, "x2", lambda c: c.cast(pa.int64(), safe=False))
    whole = pa.concat_tables(
        [pq.read_table(folder / f"log{k}.parquet") for k in range(4)],
        promote_options="permissive",
    )
    memory = pn.fit(pn.Choices.from_frame(whole, **GIVEN))
    np.testing.assert_allclose(pn.fit(pn.scan(folder, **GIVEN)).theta, memory.theta, rtol=1e-12)


def test_a_decision_cut_by_the_end_of_a_file_is_named(tmp_path):
    whole = table_of(n=30)
    pq.write_table(whole.slice(0, 40), tmp_path / "a.parquet")
    pq.write_table(whole.slice(40), tmp_path / "b.parquet")
    cut = whole["trip"][40].as_py()
    assert whole["trip"][39].as_py() == cut
    words = f"decision must lie in one file; got decision {cut} at the end of .*a.parquet and again"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.scan(tmp_path, **GIVEN)


def test_a_decision_whose_rows_stand_apart_is_named_with_its_row(tmp_path):
    table = table_of(n=30)
    apart = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    pq.write_table(apart, tmp_path / "a.parquet", row_group_size=7)
    last = len(table) - 1
    words = f"decision must have its rows together; got decision 0 again at row {last} of .*a.parq"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.scan(tmp_path, **GIVEN)


def test_an_empty_file_among_others_is_left_out(tmp_path):
    folder = _written(tmp_path)
    expected = pn.fit(pn.scan(folder, **GIVEN))
    pq.write_table(table_of().slice(0, 0), folder / "log9.parquet")
    found = pn.fit(pn.scan(folder, **GIVEN))
    assert found.theta.tobytes() == expected.theta.tobytes()


def test_files_without_any_row_are_refused(tmp_path):
    pq.write_table(table_of().slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(
        pn.errors.DataError, match="path must name files with rows; got 0 rows in all"
    ):
        pn.scan(tmp_path, **GIVEN)


def test_a_file_that_changes_while_it_is_scanned_is_named(tmp_path):
    folder = _written(tmp_path)
    scan = pn.scan(folder, **GIVEN)
    pq.write_table(table_of(1, n=60, first=100), folder / "log1.parquet")
    with pytest.raises(
        pn.errors.DataError, match=r"log1.parquet must stay as it is while it is scanned"
    ):
        pn.fit(scan)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("x1", None, "explanatory must not be missing; got an empty cell in x1 at row 50 of"),
        ("x1", float("inf"), "explanatory must be finite; got inf in x1 at row 50 of"),
        ("trip", None, "decision must not be missing; got an empty cell in trip at row 50 of"),
        ("taken", 7, "chosen must hold 0/1 or True/False; got 7 in taken at row 50 of"),
        ("mode", None, "option must not be missing; got an empty cell in mode at row 50 of"),
    ],
)
def test_a_bad_cell_is_named_with_file_and_row(tmp_path, column, value, words):
    folder = _changed(_written(tmp_path), 2, column, _with_cell(50, value))
    with pytest.raises(pn.errors.DataError, match=f"{words} .*log2.parquet"):
        pn.fit(pn.scan(folder, **GIVEN, chunk_rows=20))


def test_decisions_without_a_choice_or_with_two_are_named(tmp_path):
    folder = _written(tmp_path)
    none = _changed(folder, 3, "taken", lambda c: pa.array(np.zeros(len(c), dtype=np.int64)))
    words = "chosen must mark one option of each decision; got none at the decision from row 0 of"
    with pytest.raises(pn.errors.DataError, match=f"{words} .*log3.parquet"):
        pn.fit(pn.scan(none, **GIVEN))
    two = _changed(folder, 3, "taken", lambda c: pa.array(np.ones(len(c), dtype=np.int64)))
    with pytest.raises(
        pn.errors.DataError, match=r"one option of each decision; got [2-5] at the decision"
    ):
        pn.fit(pn.scan(two, **GIVEN))


def test_an_option_that_appears_twice_is_named(tmp_path):
    folder = _changed(_written(tmp_path), 1, "mode", lambda c: pa.array(["bus"] * len(c)))
    words = "option must differ between the rows of a decision; got 'bus' twice at row 1 of"
    with pytest.raises(pn.errors.DataError, match=f"{words} .*log1.parquet"):
        pn.fit(pn.scan(folder, **GIVEN))


def test_weights_that_differ_within_a_decision_are_named(tmp_path):
    folder = _changed(_written(tmp_path), 1, "times", _with_cell(1, 99))
    words = "weight must be the same in all rows of a decision; got different weights at row 1 of"
    with pytest.raises(pn.errors.DataError, match=f"{words} .*log1.parquet"):
        pn.fit(pn.scan(folder, **GIVEN, weight="times"))


def test_weights_that_are_no_frequencies_are_named(tmp_path):
    folder = _changed(_written(tmp_path), 1, "times", lambda c: pa.array(np.full(len(c), 0.5)))
    words = "weights must be whole numbers, as frequencies are; got 0.5 at row 0 of .*log1.parquet"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(pn.scan(folder, **GIVEN, weight="times"))


def test_weights_of_some_chunks_may_all_be_zero_but_not_of_all(tmp_path):
    folder = _written(tmp_path, 3)
    _changed(folder, 1, "times", lambda c: pa.array(np.zeros(len(c), dtype=np.int64)))
    whole = pa.concat_tables([pq.read_table(folder / f"log{k}.parquet") for k in range(3)])
    given = GIVEN | {"weight": "times"}
    memory = pn.fit(pn.Choices.from_frame(whole, **given))
    passed = pn.fit(pn.scan(folder, **given, chunk_rows=90))
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=1e-12)
    assert passed.notes[0] == memory.notes[0]
    nothing = [folder / "log1.parquet"]
    with pytest.raises(pn.errors.DataError, match="weights must not all be zero"):
        pn.fit(pn.scan(nothing, **given))


def test_names_of_columns_and_files_are_checked(tmp_path):
    folder = _written(tmp_path)
    with pytest.raises(
        pn.errors.DataError, match=r"explanatory must name a column; got 'x8', but .*log0"
    ):
        pn.scan(folder, **COLUMNS, explanatory=["x1", "x8"])
    with pytest.raises(pn.errors.DataError, match="which matches none"):
        pn.scan(os.path.join(folder, "*.csv"), **GIVEN)
    (tmp_path / "empty").mkdir()
    with pytest.raises(pn.errors.DataError, match="path must name files; got none in"):
        pn.scan(tmp_path / "empty", **GIVEN)


def test_arguments_are_checked(tmp_path):
    folder = _written(tmp_path)
    with pytest.raises(pn.errors.DataError, match="chunk_rows must be at least 1; got 0"):
        pn.scan(folder, **GIVEN, chunk_rows=0)
    scan = pn.scan(folder, **GIVEN)
    with pytest.raises(
        pn.errors.DataError, match=r"engine must be an executor of concurrent.futures"
    ):
        pn.fit(scan, engine=3)
    with pytest.raises(
        pn.errors.DataError, match="engine must be left out for data in memory; got int"
    ):
        pn.fit(pn.Choices.from_frame(table_of(), **GIVEN), engine=3)
    with pytest.raises(
        pn.errors.DataError, match="method must be 'ml', without constraints, for a scan"
    ):
        pn.fit(scan, method="firth")
    with pytest.raises(
        pn.errors.DataError, match="subject must be given for clustered errors of a scan"
    ):
        pn.fit(scan, covariance="clustered")
