"""A schema is a record that TOML writes and reads, and that answers complete."""

import tomllib
from pathlib import Path

import pytest

import penchant as pn
from penchant.tables.schema import Question, Schema

WHOLE = {
    "kind": "choices",
    "file": {"delimiter": ";", "decimal": ",", "header": True},
    "rows": {"keep": "phase == 'test' and `a round` >= 2"},
    "columns": {
        "subject": ["id", "site"],
        "choice": "CHOICE",
        "reward": {"gain": "win", "loss": "lose"},
        "group": ["cond"],
        "weight": "Weight",
    },
    "choice": {"labels": [1, [2, "two"], 3], "names": ["train", "metro", "car"], "missed": [0, ""]},
    "attributes": {
        "time": ["TRAIN_TT", "SM_TT", 0],
        "outcome of it": [[0, 0], ["gain", "-loss"], [1.5, 0]],
    },
    "available": {"flags": ["TRAIN_AV", 'CarAvail != "3"', True]},
    "shown": {"first": 1},
}


def test_a_schema_comes_back_from_toml_as_it_was():
    schema = Schema.of(WHOLE)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.of(schema.to_dict()) == schema
    assert schema.to_dict() == WHOLE


def test_a_schema_is_read_from_a_file(tmp_path):
    file = tmp_path / "reading.toml"
    file.write_text(Schema.of(WHOLE).to_toml())
    assert Schema.of(file) == Schema.of(str(file)) == Schema.of(WHOLE)


def test_questions_are_comments_of_a_schema_file():
    draft = Schema.of({"kind": "episodes"})
    question = Question("columns.reward", "Which column says what was paid?", ("points", "score"))
    text = draft.to_toml([question])
    assert '#     columns.reward = "score"' in text
    assert Schema.from_toml(text) == draft


def test_answers_complete_a_schema():
    schema = Schema.of({"kind": "offers"}).with_answers(
        {
            "columns.choice": "took",
            "attributes": {"amount": ["now", "later"]},
            "shown": {"first": 2},
        }
    )
    again = schema.with_answers({"attributes.delay": [0, "days"]})
    assert again.columns.choice == "took"
    assert again.shown.first == 2
    assert again.attributes == {"amount": ("now", "later"), "delay": (0, "days")}


def test_what_a_schema_says_counts_before_what_fills_it():
    said = Schema.of({"columns": {"choice": "key"}})
    other = Schema.of({"kind": "episodes", "columns": {"choice": "arm", "reward": "won"}})
    found = said.filled_with(other)
    assert (found.kind, found.columns.choice, found.columns.reward) == ("episodes", "key", "won")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "play"}, "kind must be one of choices, episodes, offers"),
        ({"column": {}}, "Did you mean 'columns'"),
        ({"columns": {"rewrd": "x"}}, "Did you mean 'reward'"),
        ({"attributes": ["price"]}, "attributes must be {attribute: a column"),
        ({"available": {"flags": ["a"], "offered": ["b"]}}, "flags or offered"),
        (3, "schema must be a Schema"),
        ("no such file.toml", "schema must be a readable TOML file"),
    ],
)
def test_a_wrong_schema_is_refused_with_what_is_wrong(given, said):
    with pytest.raises(pn.DataError, match=said):
        Schema.of(given)


def test_toml_that_is_none_is_refused(tmp_path):
    file = tmp_path / "reading.toml"
    file.write_text("kind = \n")
    with pytest.raises(pn.DataError, match="sound TOML"):
        Schema.of(file)


def test_an_unknown_argument_of_read_is_refused():
    with pytest.raises(TypeError, match="Did you mean 'reward'"):
        pn.read(Path("x.csv"), rewrd="points")


def test_a_line_of_an_open_question_is_an_answer_without_its_mark():
    draft = Schema.of({"columns": {"choice": "key"}})
    questions = [
        Question("kind", "What is it?", ("episodes", "choices")),
        Question("columns.reward", "Which?", ("won",)),
        Question("choice.labels", "Which codes?", ([1, 2],)),
    ]
    text = draft.to_toml(questions)
    answers = {'kind = "episodes"', 'reward = "won"', "choice.labels = [1, 2]"}
    lines = [line[1:] if line[1:].strip() in answers else line for line in text.splitlines()]
    said = Schema.of(tomllib.loads("\n".join(lines)))
    assert (said.kind, said.columns.reward, said.choice.labels) == ("episodes", "won", (1, 2))
