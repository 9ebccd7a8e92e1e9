"""Lists in cells and numbered columns: one value in a cell, one decision in a row."""

import numpy as np
import pyarrow as pa

import penchant as pn
from penchant.files.folder import RawTable
from penchant.tables.source_table import SourceTable
from penchant.tables.unfolding import unfold_lists, unfold_numbered


def source(**columns):
    return SourceTable.of(RawTable(pa.table(columns)))


def test_lists_over_decisions_become_rows():
    found = unfold_lists(
        source(who=["a", "b"], choices=["[0, 1, 1]", "[1, null]"], rewards=["[5,6,7]", "[8, 9]"])
    )
    assert found.table["choices"].to_pylist() == [0, 1, 1, 1, None]
    assert found.table["trial"].to_pylist() == [1, 2, 3, 1, 2]
    assert found.rows.tolist() == [0, 0, 0, 1, 1]


def test_lists_over_options_become_columns():
    found = unfold_lists(source(choice=[0, 1], amounts=["[5, 10]", None]))
    assert found.table.to_pydict() == {
        "choice": [0, 1],
        "amounts_0": [5, None],
        "amounts_1": [10, None],
    }


def test_lists_of_different_lengths_are_left_alone():
    lists = {"choices": ["[0,1]"], "rewards": ["[1,0]"], "rts": ["[1,2,3,4,5,6,7]"]}
    assert len(unfold_lists(source(**lists))) == 1


def test_a_list_of_one_word_is_that_word():
    found = unfold_lists(source(keys=["['left']", "['None']", None, "right"], shown=[1, 2, 3, 4]))
    assert found.table["keys"].to_pylist() == ["left", "None", None, "right"]


def test_numbered_columns_become_rows_where_one_says_what_was_chosen():
    columns = {f"T{t}_{o}_cost": [t, 10 * t] for t in range(1, 6) for o in "AB"}
    columns |= {f"T{t}_choice": ["AB"[t % 2], "A"] for t in range(1, 6)}
    found = unfold_numbered(source(id=["a", "b"], **columns))
    assert found.table["choice"].to_pylist()[:5] == ["B", "A", "B", "A", "B"]
    assert found.table["A_cost"].to_pylist()[5:7] == [10, 20]
    np.testing.assert_array_equal(found.rows, np.repeat([0, 1], 5))


def test_a_row_per_person_with_numbered_columns_is_read():
    rng = np.random.default_rng(2)
    columns = {f"choice_{t}": rng.integers(0, 2, 3) for t in range(1, 13)}
    columns |= {f"reward_{t}": rng.integers(0, 9, 3) for t in range(1, 13)}
    reading = pn.read(pa.table({"subject": [1, 2, 3], **columns}))
    assert [one.n_decisions for one in reading.data] == [12] * 3
    assert reading.data[1].chosen.tolist() == [int(columns[f"choice_{t}"][1]) for t in range(1, 13)]
