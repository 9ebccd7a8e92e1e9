"""Tables with one row per subject are refused with a line that makes them long."""

import re

import pandas as pd
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.tables.columns import refuse_one_row_per_subject
from penchant.tables.play_columns import play_columns


def wide(*stems, divider="_", n=8):
    cells = {f"{stem}{divider}{k}": [k % 2, (k + 1) % 2] for stem in stems for k in range(1, n + 1)}
    return pd.DataFrame(cells)


def said(table):
    with pytest.raises(DataError) as error:
        play_columns(list(table.columns))
    return str(error.value)


@pytest.mark.parametrize("divider", ["_", "", ".", "-", " "])
@pytest.mark.parametrize("subject", [None, "id"])
def test_what_is_advised_makes_the_table_long(divider, subject):
    table = wide("Choice", "Reward", divider=divider)
    if subject:
        table.insert(0, subject, ["ann", "bob"])
    words = said(table)
    ends = [f"{stem}{divider}1 to {stem}{divider}8" for stem in ("Choice", "Reward")]
    assert f"got one row per subject, columns {' and '.join(ends)}.\nMake it long" in words
    advice = re.search(r"pd\.wide_to_long\(.*\)\.reset_index\(\)", words)[0]
    long = eval(advice, {"pd": pd, "table": table})
    columns = play_columns(list(long.columns))
    episodes = pn.episodes_from_frame(long, **columns.arguments())
    assert [e.n_events for e in episodes] == [8, 8]
    assert episodes[1].chosen.tolist() == [0, 1] * 4


def test_offers_say_the_same():
    names = [*wide("MCQ", divider="", n=27).columns, "id"]
    with pytest.raises(
        DataError, match=r"one row per subject, and answers in columns MCQ1 to MCQ27"
    ):
        pn.offers_from_frame(pd.DataFrame([[0] * 28], columns=names))


@pytest.mark.parametrize(
    "names",
    [
        ["id", "x1", "x2", "a1", "a2"],  # two options each
        ["id", "q1", "q2", "q3", "q7", "q9", "q12"],  # numbers with gaps
        ["price_car", "price_bus", "price_air", "price_tram", "price_walk"],
        ["1", "2", "3", "4", "5", "6"],
    ],
)
def test_other_tables_are_left_to_other_words(names):
    refuse_one_row_per_subject(names)
