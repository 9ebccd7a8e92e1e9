"""The folder of a study: new or resumed, never another one's, never shared."""

import re

import pytest

from penchant.errors import DataError
from penchant.report.study_files import StudyFolder

PRINT = {"data": "a1", "seed": 3}


def refused(message, path, **options):
    with pytest.raises(DataError, match=re.escape(message)):
        StudyFolder(path, **options)


def test_nothing_is_written_before_the_work_begins(tmp_path):
    with StudyFolder(tmp_path / "new"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_there_when_resumed(tmp_path):
    with StudyFolder(tmp_path / "new") as folder:
        folder.begin(PRINT)
        assert folder.read("part-0001") is None
        folder.store("part-0001", {"numbers": [0.1, None, "inf"]})
    with StudyFolder(tmp_path / "new", resume=True) as again:
        again.begin(PRINT)
        assert again.read("part-0001") == {"numbers": [0.1, None, "inf"]}
        assert again.n_stored == 1
    assert not list(tmp_path.glob("**/*.lock"))
    assert not list(tmp_path.glob("**/*.tmp"))


def test_an_empty_folder_is_new_and_one_that_is_not_there_may_be_resumed(tmp_path):
    StudyFolder(tmp_path)
    StudyFolder(tmp_path / "none", resume=True)


def test_a_study_that_was_killed_before_it_began_leaves_no_trace(tmp_path):
    for resume in (False, True):
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / ".study.json.a1b2c3d4.tmp").write_text("half")
        with StudyFolder(tmp_path, resume=resume) as folder:
            folder.begin(PRINT)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "study.json"]
        (tmp_path / "study.json").unlink()


def test_a_folder_with_files_is_not_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    refused("output must not exist, or be empty; got", tmp_path)
    refused("which has no study.json.\nChoose another name.", tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_no_folder_and_its_parent_must_exist(tmp_path):
    (tmp_path / "file").write_text("x")
    refused("output must be a folder; got", tmp_path / "file")
    refused("output must lie in an existing directory; got", tmp_path / "no" / "where")


def test_other_data_or_settings_are_refused_by_name(tmp_path):
    with StudyFolder(tmp_path / "new") as folder:
        folder.begin(PRINT)
    with StudyFolder(tmp_path / "new", resume=True) as again:
        message = "was begun with; got other data; seed 4, was 3.\nGive the same, or choose another"
        with pytest.raises(DataError, match=re.escape(message)):
            again.begin({"data": "b2", "seed": 4})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": "other"}', "must be a penchant-study file; got format 'other'"),
        ('{"format": "penchant-study", "version": 9}', "A newer penchant wrote it"),
        ('{"format": "penchant-study", "version": 1}', "must have a field 'fingerprint'; got none"),
    ],
)
def test_a_foreign_damaged_or_newer_file_is_named(tmp_path, content, message):
    (tmp_path / "study.json").write_text(content)
    folder = StudyFolder(tmp_path, resume=True)
    with folder, pytest.raises(DataError, match=message):
        folder.begin(PRINT)


def test_two_processes_do_not_share_a_folder(tmp_path):
    with StudyFolder(tmp_path / "new") as folder:
        folder.begin(PRINT)
    lock = tmp_path / "new" / ".study.json.lock"
    lock.write_text("process 1 on elsewhere")
    other = StudyFolder(tmp_path / "new", resume=True)
    with pytest.raises(DataError, match="output must have one writer at a time"):
        other.begin(PRINT)
    lock.unlink()
