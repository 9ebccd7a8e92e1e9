"""JSON files as tables, however they nest their rows."""

import json

import pytest

from penchant.errors import DataError
from penchant.files.table import read_table

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def _read(tmp_path, text):
    file = tmp_path / "trials.json"
    file.write_text(text, encoding="utf-8")
    return read_table(file).to_pylist()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\ufeff" + json.dumps(ROWS),
        "\n".join(json.dumps(row) for row in ROWS),
        json.dumps({"trials": ROWS}),
        json.dumps({"a": [1, 2], "b": ["x", None]}),
        json.dumps([{"data": row} for row in ROWS]),
    ],
)
def test_rows_are_found_wherever_they_are(tmp_path, text):
    assert _read(tmp_path, text) == ROWS


def test_what_stands_around_a_list_is_repeated_in_its_rows(tmp_path):
    people = [{"participant": "p1", "trials": ROWS}, {"participant": "p2", "trials": ROWS[:1]}]
    assert [row["participant"] for row in _read(tmp_path, json.dumps(people))] == ["p1", "p1", "p2"]


def test_several_lists_are_numbered(tmp_path):
    assert [row["source record"] for row in _read(tmp_path, json.dumps([ROWS, ROWS[:1]]))] == [
        1,
        1,
        2,
    ]
    lines = json.dumps(ROWS) + "\n" + json.dumps(ROWS[:1]) + "\n"
    assert [row["source record"] for row in _read(tmp_path, lines)] == [1, 1, 2]


def test_objects_in_objects_become_columns_and_lists_text(tmp_path):
    rows = [{"response": {"Q0": "yes"}, "shown": [5, 10]}, {"response": {"Q1": 3}}]
    assert _read(tmp_path, json.dumps(rows)) == [
        {"response.Q0": "yes", "response.Q1": None, "shown": "[5, 10]"},
        {"response.Q0": None, "response.Q1": 3, "shown": None},
    ]


def test_numbers_and_text_in_one_column_are_text(tmp_path):
    cells = _read(tmp_path, json.dumps([{"k": 1}, {"k": "j"}, {"k": True}]))
    assert [row["k"] for row in cells] == ["1", "j", "true"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1},\n {"a": }]', "got expecting value at line 2, column 8"),
        ('[{"a": NaN}]', "got the number NaN at .*a"),
        ('[{"a": 1, "a": 2}]', "got the same key twice"),
        ("[]", "must hold one object per row; got none"),
        ("[1, 2]", "must hold one object per row; got none"),
    ],
)
def test_damaged_files_are_refused_with_their_place(tmp_path, text, said):
    with pytest.raises(DataError, match=f"trials.json.*{said}"):
        _read(tmp_path, text)
