"""Lists in cells and numbered columns: one value in a cell, one decision in a row."""

import pyarrow as pa
import pytest

from penchant.errors import DataError
from penchant.tables.unfolding import one_row_per_decision, unfolded, without_single_lists


def test_lists_over_decisions_become_rows():
    table = pa.table(
        {"who": ["a", "b"], "choices": ["[0, 1, 1]", "[1, null]"], "rewards": ["[5,6,7]", "[8, 9]"]}
    )
    found = unfolded(table)
    assert found.table["choices"].to_pylist() == [0, 1, 1, 1, None]
    assert found.table["decision"].to_pylist() == [1, 2, 3, 1, 2]
    assert found.rows.tolist() == [0, 0, 0, 1, 1]


def test_lists_over_options_become_columns():
    table = pa.table({"choice": [0, 1], "amounts": ["[5, 10]", None]})
    assert unfolded(table).table.to_pydict() == {
        "choice": [0, 1],
        "amounts_0": [5, None],
        "amounts_1": [10, None],
    }


def test_labels_of_buttons_are_no_decisions():
    table = pa.table({"response": [0, 1], "choices": ['["red","blue"]', '["red","blue"]']})
    assert len(unfolded(table).table) == 2


def test_lists_of_different_lengths_are_refused_with_their_row():
    lists = {"choices": ["[0,1]"], "rewards": ["[1,0]"], "rts": ["[1,2,3,4,5,6,7]"]}
    with pytest.raises(DataError, match=r"rts must list as many items as choices.*7 and 2 at row"):
        unfolded(pa.table(lists))


def test_a_list_of_one_item_is_that_item():
    table = pa.table({"keys": ["['left']", "['None']", None]})
    assert without_single_lists(table)["keys"].to_pylist() == ["left", "None", None]


def test_numbered_columns_become_rows_where_every_row_is_another_subject():
    columns = {f"T{t}_{o}_cost": [t, 10 * t] for t in (1, 2) for o in "AB"}
    table = pa.table(
        {"id": ["a", "b"], **columns, "T1_choice": ["A", "B"], "T2_choice": ["B", "A"]}
    )
    found = one_row_per_decision(table, "id").table
    assert found["choice"].to_pylist() == ["A", "B", "B", "A"]
    assert found["A_cost"].to_pylist() == [1, 2, 10, 20]
    again = pa.table({"id": ["a", "a"], "choice1": [0, 1], "choice2": [1, 0], "reward1": [1, 1]})
    assert one_row_per_decision(again, "id").table is again
