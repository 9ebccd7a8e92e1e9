"""Data are made as the schema says, rule by rule, and every row is used or counted."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn

PLAY = pa.table(
    {
        "id": ["b", "b", "b", "a", "a", "a"],
        "site": ["x"] * 6,
        "run": [1, 1, 1, 1, 1, 1],
        "t": [2, 1, 3, 1, 2, 3],
        "key": ["f", "j", "f", "j", "", "j"],
        "won": [3, 0, 2, 5, None, 1],
        "lost": [0, 4, -1, 0, None, 0],
        "half": [0, 0, 1, 0, 0, 1],
    }
)
ROLES = {"subject": "id", "trial": "t", "choice": "key", "reward": "won"}


def episodes(columns=None, **sections):
    schema = {"kind": "episodes", "columns": {**ROLES, **(columns or {})}, **sections}
    schema.setdefault("choice", {"labels": ["f", "j"]})
    return pn.read(PLAY, schema)


def test_rows_are_put_in_order_of_trials_and_people():
    a, b = episodes().data
    assert (a.subject, b.subject) == ("a", "b")
    assert b.chosen.tolist() == [1, 0, 0]
    assert b.rewards.tolist() == [0, 3, 2]
    assert a.chosen.tolist() == [1, -1, 1]


def test_several_columns_together_name_a_subject_or_a_block():
    assert [one.subject for one in episodes({"subject": ["id", "site"]}).data] == ["a/x", "b/x"]
    assert len(episodes({"block": ["run", "half"]}).data) == 4


def test_a_loss_in_a_column_of_its_own_is_lost_whatever_its_sign():
    _, b = episodes({"reward": {"gain": "won", "loss": "lost"}}).data
    assert b.rewards.tolist() == [-4, 3, 1]


def test_a_condition_keeps_rows_and_the_others_are_counted():
    reading = episodes(rows={"keep": "half == 0"})
    assert reading.n_decisions == 3
    assert reading.excluded == {"not half == 0": 2}


def test_first_rows_that_were_shown_are_no_choices():
    a, b = episodes(shown={"first": 1}).data
    assert b.is_choice.tolist() == [False, True, True]
    assert a.scored.tolist() == [False, False, True]


def test_several_codes_may_mean_one_option_and_some_none():
    table = PLAY.set_column(4, "key", pa.array(["f", "F", "j", "J", "late", "f"]))
    schema = {"kind": "episodes", "columns": ROLES}
    codes = {"labels": [["f", "F"], ["j", "J"]], "names": ["left", "right"], "missed": ["late"]}
    reading = pn.read(table, schema | {"choice": codes})
    assert [one.chosen.tolist() for one in reading.data] == [[1, -1, 0], [0, 0, 1]]
    assert reading.n_missed == 1
    assert reading.options["F"] == "left"


def test_an_unknown_code_is_refused_with_its_line(tmp_path):
    file = tmp_path / "play.csv"
    file.write_text("id,key,won\n1,f,1\n1,x,2\n1,j,0\n")
    schema = {"kind": "episodes", "columns": {"subject": "id", "choice": "key", "reward": "won"}}
    with pytest.raises(pn.DataError, match=r"key must hold the codes .* got 'x' at line 3"):
        pn.read(file, schema | {"choice": {"labels": ["f", "j"], "missed": ["late"]}})


def test_an_unknown_column_is_refused_with_the_nearest_name():
    with pytest.raises(pn.DataError, match=r"(?s)columns\.reward .*'wonn'.*Did you mean 'won'"):
        episodes({"reward": "wonn"})


def test_a_file_without_a_header_is_read_by_the_numbers_of_its_columns(tmp_path):
    file = tmp_path / "play.csv"
    file.write_text("1;f;1,5\n1;j;2,5\n")
    schema = {
        "kind": "episodes",
        "file": {"header": False, "delimiter": ";", "decimal": ","},
        "columns": {"subject": "1", "choice": "2", "reward": "3"},
    }
    (episode,) = pn.read(file, schema).data
    assert episode.rewards.tolist() == [1.5, 2.5]


def test_which_options_are_on_offer_is_said_by_flags_conditions_or_columns():
    table = pa.table(
        {
            "id": [1, 1, 1],
            "arm": [1, 3, 2],
            "won": [1.0, 2.0, 3.0],
            "left": [1, 3, 3],
            "right": [2, 1, 2],
            "second": [1, 0, 1],
        }
    )
    roles = {"subject": "id", "choice": "arm", "reward": "won"}
    by_columns = {"offered": ["left", "right"]}
    by_flags = {"flags": ["right != 2 or left == 1", "second", "left == 3"]}
    for available in (by_columns, by_flags):
        schema = {"kind": "episodes", "columns": roles, "choice": {"labels": [1, 2, 3]}}
        (episode,) = pn.read(table, schema | {"available": available}).data
        assert episode.available.tolist() == [
            [True, True, False],
            [True, False, True],
            [False, True, True],
        ]


def test_a_two_step_task_has_two_choices_in_a_row():
    table = pa.table(
        {
            "who": [1] * 4,
            "first": [1, 2, 1, 2],
            "planet": [1, 2, 1, 2],
            "second": [2, 1, 1, None],
            "paid": [1, 0, 1, None],
        }
    )
    schema = {
        "kind": "episodes",
        "task": "two-step",
        "columns": {"subject": "who", "choice": ["first", "second"], "state": "planet",
                    "reward": "paid"},
    }  # fmt: skip
    reading = pn.read(table, schema)
    (episode,) = reading.data
    assert episode.chosen.tolist() == [0, 1, 1, 0, 0, 0]
    assert episode.before["state"].tolist() == [0, 1, 0, 2, 0, 1]
    assert reading.n_missed == 1


# --- choices -------------------------------------------------------------------------------------

TRIPS = pa.table(
    {
        "who": [1, 1, 2, 2],
        "mode": [1, 2, 0, 2],
        "t_bus": [10.0, 12.0, 9.0, 8.0],
        "t_car": [5.0, 6.0, 7.0, 9.0],
        "car_av": [1, 1, 1, 0],
        "w": [1.5, 0.5, 1.0, 2.0],
    }
)
WIDE = {
    "kind": "choices",
    "columns": {"subject": "who", "choice": "mode"},
    "choice": {"labels": [1, 2], "names": ["bus", "car"], "missed": [0]},
    "attributes": {"time": ["t_bus", "t_car"], "fare": [2, 0]},
}


def test_attributes_are_columns_or_constants_of_each_option():
    reading = pn.read(TRIPS, WIDE)
    assert reading.data.names == ("time", "fare")
    assert reading.data.explanatory[:2].tolist() == [[10, 2], [5, 0]]
    assert (reading.n_missed, reading.excluded) == (1, {"nobody decided": 1})
    assert reading.data.option_labels == ("bus", "car")


def test_an_option_that_was_not_on_offer_has_no_row_and_choices_of_it_are_left_out():
    reading = pn.read(TRIPS, WIDE | {"available": {"flags": [True, "car_av"]}})
    assert reading.excluded["the option taken was not on offer"] == 1
    assert reading.data.n_decisions == 2


def test_weights_that_are_no_counts_are_sampling_weights():
    columns = {**WIDE["columns"], "weight": "w"}
    data = pn.read(TRIPS, WIDE | {"columns": columns}).data
    assert data.weights.tolist() == [1.5, 0.5, 2.0]
    assert data.weight_kind == "probability"


def test_one_row_per_option_has_attributes_in_columns():
    table = pa.table(
        {
            "id": [1, 1, 1, 2, 2],
            "alt": ["a", "b", "c", "a", "b"],
            "taken": [False, True, False, True, False],
            "price": [3.0, 2.0, 4.0, 1.0, 5.0],
            "colour": ["red", "blue", "red", "red", "blue"],
        }
    )
    schema = {
        "kind": "choices",
        "columns": {"decision": "id", "option": "alt", "chosen": "taken"},
        "attributes": {"columns": ["price", "colour"]},
    }
    data = pn.read(table, schema).data
    assert data.names == ("price", "colour:red")
    assert data.n_options.tolist() == [3, 2]
    assert data.chosen.tolist() == [1, 0]


# --- offers --------------------------------------------------------------------------------------


def test_outcomes_of_gambles_are_lists_and_a_minus_is_a_loss():
    table = pa.table({"id": [1, 1], "gain": [20, 10], "loss": [5, 8], "yes": [1, -1]})
    schema = {
        "kind": "offers",
        "columns": {"subject": "id", "choice": "yes"},
        "choice": {"labels": [0, 1], "missed": [-1]},
        "attributes": {
            "outcome": [[0, 0], ["gain", "-loss"]],
            "probability": [[1, 0], [0.5, 0.5]],
        },
    }
    reading = pn.read(table, schema)
    (decisions,) = reading.data
    assert decisions.offers["outcome"][0].tolist() == [[0, 0], [20, -5]]
    assert decisions.chosen.tolist() == [1, -1]
    assert reading.n_missed == 1


def test_a_questionnaire_has_a_row_per_person_and_a_column_per_item():
    answers = {f"q{k + 1}": [k % 2, 1] for k in range(27)}
    table = pa.table({"id": [1, 2], **answers})
    schema = {
        "kind": "offers",
        "task": "MCQ-27",
        "columns": {"subject": "id", "choice": list(answers)},
        "choice": {"labels": [0, 1]},
    }
    first, second = pn.read(table, schema).data
    assert first.chosen.tolist() == [k % 2 for k in range(27)]
    assert second.offers["amount"][0].tolist() == [54, 55]
    assert second.offers["delay"][:2].tolist() == [[0, 117], [0, 61]]


def test_a_schema_reads_its_own_table_again():
    for table, schema in ((PLAY, {"kind": "episodes", "columns": ROLES}), (TRIPS, WIDE)):
        reading = pn.read(table, schema)
        again = pn.read(table, reading.schema.to_dict())
        assert again.schema == reading.schema
        assert again.n_decisions == reading.n_decisions
        np.testing.assert_array_equal(again.rows, reading.rows)
