"""JSON documents: strict in what they accept, finite in what they write."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.files.output import document_field, json_text, read_document, read_json, write_json


@pytest.fixture
def write(tmp_path):
    def _write(text):
        file = tmp_path / "estimate.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return _write


def test_a_document_is_read_back_as_it_was_written(tmp_path):
    document = {"theta": [0.1, -2.5e-300, 3], "names": ["größe"], "ok": True, "none": None, "a": {}}
    write_json(tmp_path / "d.json", document, overwrite=False)
    assert read_json(tmp_path / "d.json") == document
    assert list(read_json(tmp_path / "d.json")) == list(document)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.json"]


def test_what_is_not_finite_is_written_as_null():
    assert json_text([float("nan"), np.inf, -np.inf, np.float64("nan")]).split() == [
        "[",
        "null,",
        "null,",
        "null,",
        "null",
        "]",
    ]


def test_arrays_and_numbers_of_numpy_are_written(write):
    document = {"x": np.array([[1.5, np.nan]]), "n": np.int64(3), "b": np.bool_(True), "t": (1, 2)}
    assert read_json(write(json_text(document))) == {
        "x": [[1.5, None]],
        "n": 3,
        "b": True,
        "t": [1, 2],
    }


def test_what_json_does_not_have_is_refused_with_its_field():
    with pytest.raises(TypeError, match=r"got object at parameters\[1\]\.value"):
        json_text({"parameters": [{}, {"value": object()}]})
    with pytest.raises(TypeError, match="got int at counts, as a key"):
        json_text({"counts": {1: 2}})


def test_nothing_is_written_where_the_document_is_refused(tmp_path):
    with pytest.raises(TypeError, match="got set at its top"):
        write_json(tmp_path / "d.json", {1, 2}, overwrite=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_refused_with_their_field(write, word):
    with pytest.raises(
        DataError, match=rf"estimate.json must .*; got the number {word} at theta\[1\]"
    ):
        read_json(write(f'{{"theta": [1, {word}]}}'))


@pytest.mark.parametrize("number", ["1e400", "-1e309"])
def test_numbers_beyond_float64_are_refused(write, number):
    with pytest.raises(DataError, match=f"the number {number}, beyond float64 at a.b"):
        read_json(write(f'{{"a": {{"b": {number}}}}}'))


@pytest.mark.parametrize("n_digits", [400, 9000])
def test_whole_numbers_beyond_float64_are_refused(write, n_digits):
    with pytest.raises(
        DataError, match=f"a number of {n_digits} digits, beyond float64 at its top"
    ):
        read_json(write("9" * n_digits))


def test_a_key_given_twice_is_refused(write):
    with pytest.raises(DataError, match=r"every key once; got the same key twice at a\[0\]\.nu"):
        read_json(write('{"a": [{"nu": 1, "nu": 1}]}'))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "an empty file"),
        (" \n", "an empty file"),
        ('{"a": 1', "at line 1, column 8"),
        ('{"a": 1}\n{', "extra data at line 2, column 1"),
        ("[1,]", "at line 1, column"),
        (b'{"a": "\xff"}', "byte 0xff at byte offset 7"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(write, text, problem):
    with pytest.raises(DataError, match=f"estimate.json must be a JSON file; got .*{problem}"):
        read_json(write(text))


def test_a_byte_order_mark_is_no_part_of_the_document(write):
    assert read_json(write(b"\xef\xbb\xbf[1]")) == [1]


def test_a_missing_document_is_refused(tmp_path):
    with pytest.raises(DataError, match="which does not exist"):
        read_json(tmp_path / "d.json")


def test_a_document_of_ours_is_read(write):
    file = write('{"format": "penchant-estimate", "version": 1, "theta": [2.5]}')
    assert read_document(file, "penchant-estimate", version=2)["theta"] == [2.5]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1, 2]", "must be a penchant-estimate file; got no field 'format'"),
        ('{"theta": 1}', "must be a penchant-estimate file; got no field 'format'"),
        ('{"format": "penchant-study", "version": 1}', "got format 'penchant-study'"),
        ('{"format": "penchant-estimate"}', "must have a field 'version'; got none"),
        ('{"format": "penchant-estimate", "version": "1"}', "int in its field 'version'; got str"),
        ('{"format": "penchant-estimate", "version": true}', "'version'; got bool"),
        ('{"format": "penchant-estimate", "version": 0}', "version 1 or newer; got version 0"),
    ],
)
def test_a_foreign_document_is_refused_with_file_and_field(write, text, problem):
    with pytest.raises(DataError, match=f"estimate.json .*{problem}"):
        read_document(write(text), "penchant-estimate", version=1)


def test_a_newer_document_is_refused_with_the_way_out(write):
    file = write('{"format": "penchant-estimate", "version": 3}')
    with pytest.raises(DataError, match=r"(?s)version 2 or older; got version 3.*upgrade penchant"):
        read_document(file, "penchant-estimate", version=2)


def test_a_missing_field_is_named_with_the_nearest_one():
    with pytest.raises(
        DataError, match=r"d.json must have a field 'theta'; got none.\nDid you mean"
    ):
        document_field({"teta": 1}, "theta", list, "d.json")


def test_a_field_of_the_wrong_kind_is_named():
    with pytest.raises(DataError, match="must have int or float in its field 'nu'; got str"):
        document_field({"nu": "1"}, "nu", (int, float), "d.json")


def test_a_field_is_returned():
    assert document_field({"nu": 2.5}, "nu", (int, float), "d.json") == 2.5
    assert document_field({"ok": False}, "ok", bool, "d.json") is False
