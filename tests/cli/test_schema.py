"""Commands take a schema, begin one, and say what is open."""

import json

import pytest

from penchant.tables.schema import Schema

ROWS = ["person,n,key,zz"] + [
    f"{who},{t},{'fj'[t % 2]},{t % 3}" for who in ("ann", "bob") for t in range(1, 21)
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("\n".join(ROWS) + "\n")
    return path


WHOLE = """kind = "episodes"
[columns]
subject = "person"
trial = "n"
choice = "key"
reward = "zz"
[choice]
labels = ["f", "j"]
"""


def test_a_schema_is_begun_with_open_questions_as_comments(penchant, file, tmp_path):
    written = tmp_path / "reading.toml"
    done = penchant("check", str(file), "--write", str(written))
    assert done.code == 1
    assert 'kind = "episodes"' in done.out
    assert "# If choices were paid" in written.read_text()
    assert Schema.read(written).columns.subject == "person"


def test_a_whole_schema_shows_decisions_as_they_were_read(penchant, file, tmp_path):
    schema = tmp_path / "reading.toml"
    schema.write_text(WHOLE)
    done = penchant("check", str(file), "--schema", str(schema))
    assert done.code == 0
    assert "subject ann, trial 1: chose j of f, j; received 1" in done.out
    assert "chosen: f 20, j 20" in done.out
    document = json.loads(penchant("check", str(file), "--schema", str(schema), "--json").out)
    assert document["questions"] == []
    assert document["schema"]["columns"]["reward"] == "zz"


def test_fit_takes_a_schema(penchant, file, tmp_path):
    schema = tmp_path / "reading.toml"
    schema.write_text(WHOLE)
    done = penchant("fit", str(file), "--schema", str(schema), "--model", "q-learning", "--json")
    assert done.code == 0, done.err
    assert [one["subject"] for one in json.loads(done.out)] == ["ann", "bob"]


def test_a_schema_of_another_kind_is_refused(penchant, file, tmp_path):
    schema = tmp_path / "reading.toml"
    schema.write_text(WHOLE)
    done = penchant("fit", str(file), "--schema", str(schema), "--model", "hyperbolic")
    assert done.code == 2
    assert "--schema must say what the command is for" in done.err
