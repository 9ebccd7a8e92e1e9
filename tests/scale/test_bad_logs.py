"""Bad logs of many people: one sentence that names the file and the row, and nothing written."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, written
from penchant.scale import subject_estimates, subject_history_scan

PEOPLE = [f"s{k:02d}" for k in range(6)]
CHOICES = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
CHOICES |= {"explanatory": ["price", "wait"]}


@pytest.fixture
def folder(tmp_path):
    return written(play_of(PEOPLE), tmp_path / "logs", [40, 90])


def _fit(folder, **options):
    scanned = pn.scan(folder, subject="who")
    return pn.fit_each(scanned, pn.QLearning(2, initial_value=0.0), **options)


def _changed(path, column, change):
    table = pq.read_table(path)
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, change(table[column].to_pylist())), path)


def _with(row, value):
    return lambda cells: pa.array([*cells[:row], value, *cells[row + 1 :]])


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A thousand files of each kind, one of them broken."""
    made = {"play": play_of(["a"], n=4), "offers": offers_of_people(["a"], n=4)}
    made["choices"] = choices_of_people(["a"], n=2)
    folders = {}
    for kind, table in made.items():
        folders[kind] = tmp_path_factory.mktemp(kind)
        stream = pa.BufferOutputStream()
        pq.write_table(table, stream)
        content = stream.getvalue().to_pybytes()
        for k in range(1000):
            broken = k == 617
            path = folders[kind] / f"log{k:03d}.parquet"
            path.write_bytes(content[:-20] if broken else content)
    return folders


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_a_broken_file_among_a_thousand_is_named(thousand, kind):
    given = CHOICES if kind == "choices" else {"subject": "who"}
    with pytest.raises(
        pn.errors.DataError, match=r"log617.parquet must be a sound Parquet file; got a d"
    ):
        pn.scan(thousand[kind], **given)


def test_a_file_whose_pages_are_damaged_is_named_and_nothing_is_written(folder, tmp_path):
    scanned = pn.scan(folder, subject="who")
    path = folder / "log1.parquet"
    content, status = bytearray(path.read_bytes()), path.stat()
    content[4:1200] = b"\xff" * 1196
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as a failing disk leaves it
    with pytest.raises(
        pn.errors.DataError, match=r"log1.parquet must be a sound Parquet file; got a dam"
    ):
        pn.fit_each(scanned, pn.QLearning(2), output=tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_column_that_changes_its_type_is_named(folder):
    _changed(folder / "log1.parquet", "reward", lambda cells: pa.array(map(str, cells)))
    words = (
        r"reward must be of one type in all files; got text in .*log1.parquet, but numbers in .*"
    )
    with pytest.raises(pn.errors.DataError, match=words + r"log0.parquet.\nConvert it"):
        pn.scan(folder, subject="who")


def test_a_file_without_a_column_is_named(folder):
    path = folder / "log2.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["reward"]), path)
    with pytest.raises(
        pn.errors.DataError, match=r"reward must be a column of all files; got who, trial"
    ):
        pn.scan(folder, subject="who")


def test_a_choice_that_cannot_be_is_named_by_file_and_row(folder, tmp_path):
    _changed(folder / "log1.parquet", "choice", _with(13, 7))
    with pytest.raises(pn.errors.DataError, match=r"chosen must lie in 0..1; got 7"):
        _fit(folder, output=tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    _changed(folder / "log1.parquet", "choice", _with(13, 2.5))
    words = r"got 2.5 at row 13 of .*log1.parquet"
    with pytest.raises(pn.errors.DataError, match=words):
        _fit(folder)


def test_a_row_of_a_sorted_copy_is_named_by_where_it_comes_from(tmp_path):
    pytest.importorskip("duckdb")
    table = play_of(PEOPLE)
    order = np.argsort(np.arange(len(table)) % 24, kind="stable")  # people take turns
    folder = written(table.take(pa.array(order)), tmp_path / "logs", [71])
    _changed(folder / "log1.parquet", "choice", _with(33, 1.5))
    with (
        pytest.raises(pn.errors.DataError, match=r"got 1.5 at row 33 of .*log1.parquet \(subject"),
        pytest.warns(pn.errors.PenchantWarning, match="they are sorted first"),
    ):
        _fit(folder)


def test_an_empty_name_of_a_subject_is_named_by_file_and_row(folder):
    _changed(folder / "log2.parquet", "who", _with(5, None))
    words = r"subject must not be missing; got an empty cell in who at row 5 of .*log2.parquet"
    with pytest.raises(pn.errors.DataError, match=words):
        _fit(folder)


def test_files_without_rows_are_left_out(folder):
    pq.write_table(play_of(PEOPLE).slice(0, 0), folder / "log1b.parquet")
    assert len(_fit(folder)) == len(PEOPLE)


def test_a_file_of_no_bytes_is_named(folder):
    (folder / "log1b.parquet").write_bytes(b"")
    with pytest.raises(pn.errors.DataError, match=r"log1b.parquet"):
        pn.scan(folder, subject="who")


def test_a_file_that_grows_is_named(folder, tmp_path):
    scanned = pn.scan(folder, subject="who")
    pq.write_table(play_of(PEOPLE[:2]), folder / "log2.parquet")
    words = r"log2.parquet must stay as it is while it is scanned; got [\d,]+ bytes, [\d,]+ before"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit_each(scanned, pn.QLearning(2), output=tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_that_changes_between_portions_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 2)
    scanned = pn.scan(folder, subject="who")
    read = subject_history_scan.HistoryReader.__call__

    def grow(reader, portion):
        found = read(reader, portion)
        with (folder / "log2.parquet").open("ab") as file:
            file.write(b"more")
        return found

    monkeypatch.setattr(subject_history_scan.HistoryReader, "__call__", grow)
    with pytest.raises(
        pn.errors.DataError, match=r"log2.parquet must stay as it is while it is scanned"
    ):
        pn.fit_each(scanned, pn.QLearning(2), output=tmp_path / "out.parquet", threads=1)


def test_a_decision_cut_by_the_end_of_a_file_is_named(tmp_path):
    folder = written(choices_of_people(PEOPLE), tmp_path / "logs", [46])
    with pytest.raises(
        pn.errors.DataError, match=r"decision must lie in one file; got decision \('s01', "
    ):
        pn.scan(folder, **CHOICES)


def test_a_sort_without_duckdb_says_what_it_would_take(tmp_path, monkeypatch):
    table = choices_of_people(["b", "a"])
    for k in range(2):
        pq.write_table(table, tmp_path / f"{k}.parquet")
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    words = r"must stand together where DuckDB is not installed; (?s:.*)180 rows x 6 c"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit_each(pn.scan(tmp_path, **CHOICES))


def test_a_population_of_too_many_rows_says_what_to_do(folder, monkeypatch):
    monkeypatch.setattr(subject_estimates, "MAX_HISTORY_ROWS", 100)
    words = "data must have at most 100 rows for a population, which holds them in memory; got 144"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit_population(pn.scan(folder, subject="who"), pn.QLearning(2))
