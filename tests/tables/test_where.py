"""Rows by a condition: what it may say, and what it must not."""

import re

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penchant.errors import DataError
from penchant.tables.columns import in_condition
from penchant.tables.row_conditions import check_some_left, rows_where, used_columns

TABLE = nw.from_native(
    pa.table(
        {
            "phase": ["train", "test", None, "test "],
            "rt": [310, None, 420, 190],
            "ok": [True, False, None, True],
            "key": ["1", "2", "missed", None],
            "Reaction Time": [1.5, 2.0, 3.0, 4.5],
            "trials.thisN": [0, 1, 2, 3],
        }
    ),
    eager_only=True,
)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("phase == 'test'", [1, 3]),
        ("phase != 'test'", [0, 2]),
        ("phase in ['train', 'other']", [0]),
        ("phase not in ('train')", [1, 2, 3]),
        ("rt > 200", [0, 2]),
        ("rt == null", [1]),
        ("rt is not null", [0, 2, 3]),
        ("rt >= 310 and phase == 'train' or key == 2", [0, 1]),
        ("rt >= 310 and (phase == 'train' or key == 2)", [0]),
        ("not (rt >= 310)", [1, 3]),
        ("200 < rt <= 310", [0]),
        ("ok", [0, 3]),
        ("not ok", [1, 2]),
        ("ok == false", [1]),
        ("ok == 'true'", [0, 3]),
        ("key == 1", [0]),
        ("key != 'missed' and key > 1", [1]),
        ("`Reaction Time` > 2 and trials.thisN < 3", [2]),
        ("rt < `Reaction Time`", []),
        ("rt == '310'", [0]),
        ("rt > -1", [0, 2, 3]),
        ("phase == 'it\\'s'", []),
        ("phase == true", []),
        ("rt == true", []),
    ],
)
def test_a_condition_keeps_the_rows_that_it_says(where, rows):
    assert rows_where(TABLE, where).nonzero()[0].tolist() == rows


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("phase == test", "must name columns of the table; got 'test'.*Put text in quotes: 'test'"),
        ("phas == 'test'", "got 'phas'.*Did you mean 'phase'"),
        ("phase ==", "got its end at character 9"),
        ("rt + 1 == 2", r"got 'rt \+ 1' at character 1"),
        ("__import__('os').system('ls')", "got .* at character 1"),
        ("__import__('os') == 1", "got .* at character 1"),
        ("rt.__class__ == 1", "got 'rt.__class__'"),
        ("lambda: 1", "got 'lambda: 1' at character 1"),
        ("phase", "comparisons joined by and, or, not"),
        ("(rt > 1", r"got '\(rt' at character 1"),
        ('phase = "test"', "got 'phase' at character 1"),
        ("rt > 1 & ok", "got '1 & ok' at character 6"),
        ("rt > 1)", "got its end"),
        ("rt == 'slow'", "must compare rt with numbers, which it holds; got 'slow'"),
        ("key > 1", "must compare numbers by >; got 'missed' in key at row 2"),
        ("1 == 1", "must compare a column; got 1 == 1"),
        ("rt < null", "must compare with null by == or !=; got <"),
        ("rt > 1; drop", "got ';'"),
        ("  ", "must be a condition; got '  '"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(where, said):
    with pytest.raises(DataError, match=f"(?s)^keep {said}|^keep must.*{said}"):
        rows_where(TABLE, where)


def test_a_condition_that_keeps_nothing_shows_the_values_there_are():
    mask = rows_where(TABLE, "phase == 'tset'")
    with pytest.raises(DataError, match=r"got 0 of 4 for .*phase holds 'train', 'test', 'test '"):
        check_some_left(mask, TABLE, "phase == 'tset'")


def test_the_columns_of_a_condition_are_known():
    names = TABLE.columns
    assert used_columns("`Reaction Time` > 2 and ok", names) == {"Reaction Time", "ok"}
    assert used_columns(None, names) == set()


DATED = nw.from_native(
    pa.table({"day": ["2026-05-01", "2026-06-02"], "rt ms": [150.0, 250.0]}), eager_only=True
)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("DAY == '2026-05-01'", "Did you mean 'day'?"),
        ("rt ms > 200", "Put names with spaces in backticks: `rt ms`."),
        ("day >= 2026-05-15", "Put dates in quotes: '2026-05-15'."),
        (500 * "(" + "`rt ms` > 1" + 500 * ")", "must nest less deeply; got 500 parentheses"),
        ("__import__('os').system('true')", "must be comparisons joined by and, or, not"),
        ("`rt ms`.__class__ == 1", "must name columns of the table; got 'rt ms.__class__'"),
    ],
)
def test_what_is_meant_is_said(where, said):
    with pytest.raises(DataError, match=re.escape(said)):
        rows_where(DATED, where)


def test_values_are_shown_as_they_are_written():
    with pytest.raises(DataError, match="rt ms holds 150, 250"):
        check_some_left(np.zeros(2, dtype=bool), DATED, "`rt ms` == 3")


@pytest.mark.parametrize("name", ["class", "Reaction Time", "in", "\u00b5"])
def test_any_column_can_be_named_in_backticks(name):
    table = nw.from_native(pa.table({name: [1, 2]}), eager_only=True)
    assert rows_where(table, f"{in_condition(name)} == 2").tolist() == [False, True]
