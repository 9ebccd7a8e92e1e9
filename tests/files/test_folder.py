"""Folders and patterns: many files as one table, each row with its line."""

import pytest

from penchant.errors import DataError
from penchant.files.folder import read_raw


def _file(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_files_of_a_folder_are_one_table_with_what_their_names_say(tmp_path):
    _file(tmp_path, "dataset_description.json", "{}")
    _file(tmp_path, "data/sub-01/sub-01_group-old_data.csv", "choice,reward\n1,2\n0,1\n")
    _file(tmp_path, "data/sub-02_group-young_data.csv", "choice,reward,note\n1,2.5,late\n")
    table = read_raw(tmp_path).table
    assert table["subject"].to_pylist() == ["01", "01", "02"]
    assert table["group"].to_pylist() == ["old", "old", "young"]
    assert table["reward"].to_pylist() == [2.0, 1.0, 2.5]
    assert table["note"].to_pylist() == [None, None, "late"]


def test_rows_are_told_by_line_and_file(tmp_path):
    _file(tmp_path, "a.csv", "x,y\n1,2\n3,4\n")
    last = _file(tmp_path, "b.csv", "x,y\n\n5,6\n")
    raw = read_raw(tmp_path / "*.csv")
    assert raw.word_in_lines("wrong at row 2") == f"wrong at line 3 of {last}"
    assert raw.word_in_lines("wrong at row 0", [2]) == f"wrong at line 3 of {last}"


def test_tables_of_two_kinds_are_shown_and_asked(tmp_path):
    _file(tmp_path, "task-bandit_data.csv", "choice,reward\n1,2\n")
    _file(tmp_path, "task-form_data.csv", "age,sex,hand\n30,f,r\n")
    with pytest.raises(DataError, match=r"(?s)one kind; got .*bandit.*; or .*form.*task-bandit\*"):
        read_raw(tmp_path)


@pytest.mark.parametrize(("inside", "said"), [(None, "has no .csv"), ("notes.txt", "has no .csv")])
def test_a_folder_without_tables_is_refused(tmp_path, inside, said):
    if inside:
        _file(tmp_path, inside, "hello")
    with pytest.raises(DataError, match=f"path must be a folder with tables.*{said}"):
        read_raw(tmp_path)


def test_text_files_are_read_where_a_folder_has_no_others(tmp_path):
    for name in ("a.txt", "b.txt", "README.txt"):
        _file(tmp_path, name, "R\tA\n1\t5\n")
    assert len(read_raw(tmp_path).pieces) == 2


def test_a_pattern_without_files_is_refused(tmp_path):
    with pytest.raises(DataError, match="path must match some files"):
        read_raw(tmp_path / "*.csv")


def test_a_table_of_participants_says_who_was_in_which_group(tmp_path):
    _file(tmp_path, "dataset_description.json", "{}")
    _file(tmp_path, "participants.tsv", "participant_id\tgroup\nsub-02\tyoung\nsub-01\told\n")
    _file(tmp_path, "data/sub-01_data.csv", "choice,reward\n1,2\n")
    _file(tmp_path, "data/sub-02_data.csv", "choice,reward\n0,1\n")
    table = read_raw(tmp_path).table
    assert table["subject"].to_pylist() == ["01", "02"]
    assert table["group"].to_pylist() == ["old", "young"]


def test_a_table_of_participants_may_stand_beside_the_data_of_psych_ds(tmp_path):
    _file(tmp_path, "dataset_description.json", "{}")
    for who in ("01", "02"):
        _file(tmp_path, f"data/participant-{who}_task-arms_data.csv", "choice,reward\n1,2\n0,1\n")
    _file(tmp_path, "data/participants.csv", "participant,arm\n01,drug\n02,placebo\n")
    assert read_raw(tmp_path).table["arm"].to_pylist() == ["drug"] * 2 + ["placebo"] * 2
