"""A wide table gives the choices that the same decisions give as a long one."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penchant.choices import Choices
from penchant.errors import DataError, PenchantWarning

MODES = ["train", "bus", "car"]
COLUMNS = {"chosen": "taken", "explanatory": ["price", "wait"], "options": MODES}


def table(n=6, seed=9):
    rng = np.random.default_rng(seed)
    columns = {f"{v}_{mode}": rng.normal(4, 2, n) for v in ("price", "wait") for mode in MODES}
    columns |= {f"here_{mode}": np.ones(n, dtype=int) for mode in MODES}
    taken = rng.choice(MODES, n)
    who = np.arange(n) % 2 + 3
    return pd.DataFrame({"trip": np.arange(n)[::-1] + 5, "taken": taken, "who": who, **columns})


def as_long(frame):
    rows = [
        {
            "trip": row["trip"],
            "who": row["who"],
            "mode": mode,
            "taken": row["taken"],
            **{v: row[f"{v}_{mode}"] for v in ("price", "wait", "here")},
        }
        for row in frame.to_dict("records")
        for mode in MODES
    ]
    return pd.DataFrame(rows)


def from_long(frame, **columns):
    given = {"decision": "trip", "option": "mode", "chosen": "taken"}
    return Choices.from_frame(as_long(frame), **given, explanatory=["price", "wait"], **columns)


@pytest.mark.parametrize("library", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_wide_and_long_tables_give_the_same_choices(assert_same, library):
    frame = table()
    wide = Choices.from_wide(library(frame), **COLUMNS, decision="trip", subject="who")
    assert_same(wide, from_long(frame, subject="who"))


def test_rows_in_any_order_give_the_same_choices(assert_same):
    frame = table()
    assert_same(
        Choices.from_wide(frame, **COLUMNS, decision="trip"),
        Choices.from_wide(frame.sample(frac=1, random_state=4), **COLUMNS, decision="trip"),
    )


@pytest.mark.parametrize(
    "explanatory",
    [
        {"price": "price", "wait": "wait"},
        {v: [f"{v}_{mode}" for mode in MODES] for v in ("price", "wait")},
        {v: {mode: f"{v}_{mode}" for mode in reversed(MODES)} for v in ("price", "wait")},
    ],
)
def test_columns_may_be_named_by_stem_list_or_mapping(assert_same, explanatory):
    frame = table()
    assert_same(
        Choices.from_wide(frame, **COLUMNS | {"explanatory": explanatory}),
        Choices.from_wide(frame, **COLUMNS),
    )


def test_options_may_be_left_out_where_a_mapping_says_them(assert_same):
    frame = table()
    explanatory = {v: {mode: f"{v}_{mode}" for mode in MODES} for v in ("price", "wait")}
    assert_same(
        Choices.from_wide(frame, chosen="taken", explanatory=explanatory),
        Choices.from_wide(frame, **COLUMNS),
    )


def test_lists_of_columns_label_the_options_by_index():
    frame = table().assign(taken=[0, 2, 1, 1, 0, 2])
    explanatory = {"price": [f"price_{mode}" for mode in MODES]}
    choices = Choices.from_wide(frame, chosen="taken", explanatory=explanatory)
    assert choices.option_labels == (0, 1, 2)
    np.testing.assert_array_equal(choices.chosen, frame["taken"])
    np.testing.assert_array_equal(
        choices.explanatory[:, 0], frame[explanatory["price"]].to_numpy().ravel()
    )


def test_chosen_may_be_an_index_into_the_options(assert_same):
    frame = table()
    index = frame.assign(taken=[MODES.index(mode) for mode in frame["taken"]])
    assert_same(Choices.from_wide(index, **COLUMNS), Choices.from_wide(frame, **COLUMNS))


def test_without_a_decision_column_the_row_names_the_decision():
    choices = Choices.from_wide(table(), **COLUMNS, subject="who")
    np.testing.assert_array_equal(choices.decision_labels, [0, 2, 4, 1, 3, 5])
    np.testing.assert_array_equal(choices.subject, [0, 0, 0, 1, 1, 1])


def test_options_not_on_offer_are_left_out_whatever_they_hold(assert_same):
    frame = table()
    frame.loc[frame["taken"] != "bus", ["price_bus", "here_bus"]] = [np.nan, 0]
    frame = frame.astype({"here_bus": int})
    for available in ("here", [f"here_{m}" for m in MODES], {m: f"here_{m}" for m in MODES}):
        assert_same(
            Choices.from_wide(frame, **COLUMNS, decision="trip", available=available),
            from_long(frame, available="here"),
        )


def test_weights_and_offsets_follow_their_decision():
    frame = table().assign(times=np.arange(6) + 1)
    choices = Choices.from_wide(
        frame, **COLUMNS, decision="trip", weight="times", offset="price", weight_kind="probability"
    )
    np.testing.assert_array_equal(choices.weights, np.arange(6)[::-1] + 1)
    np.testing.assert_array_equal(choices.offset, choices.explanatory[:, 0])


def test_decisions_with_a_missing_cell_may_be_dropped():
    frame = table()
    frame.loc[2, "wait_car"] = np.nan
    frame.loc[4, "taken"] = None
    choices = Choices.from_wide(frame, **COLUMNS, missing="drop_set")
    np.testing.assert_array_equal(choices.decision_labels, [0, 1, 3, 5])
    assert choices.notes == ("2 decisions (6 rows) dropped: missing values.",)


def test_the_table_is_unchanged():
    frame = table()
    before = frame.copy(deep=True)
    Choices.from_wide(frame, **COLUMNS, available="here")
    pd.testing.assert_frame_equal(frame, before)


def assert_refused(frame, message, **columns):
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_wide(frame, **COLUMNS | columns)


def test_a_missing_cell_is_named_by_row_and_option():
    frame = table()
    frame.loc[2, "wait_car"] = np.nan
    assert_refused(
        frame,
        "explanatory must not be missing; got an empty cell in wait at row 2 (decision 8, option "
        "car).",
        decision="trip",
    )


def test_a_missing_choice_is_named_once_per_row():
    frame = table()
    frame.loc[[1, 4], "taken"] = None
    assert_refused(
        frame,
        "chosen must not be missing; got an empty cell in taken at row 1 (decision 1), an "
        "empty cell in taken at row 4 (decision 4).\nFill",
    )


def test_an_index_that_looks_one_based_says_so():
    assert_refused(
        table().assign(taken=[1, 2, 3, 3, 2, 1]),
        "chosen must be one of the options 'train', 'bus', 'car' or an index in 0..2; got 1..3 in "
        "column 'taken'.\nIt looks 1-based: subtract 1, options are counted from 0.",
    )


@pytest.mark.parametrize("wrong", [7, -1])
def test_an_index_out_of_range_is_refused(wrong):
    assert_refused(
        table().assign(taken=[0, 1, wrong, 1, 2, 0]),
        f"or an index in 0..2; got {wrong} at row 2.",
    )


def test_a_chosen_label_that_is_no_option_gets_the_nearest_one():
    frame = table()
    frame.loc[[3, 5], "taken"] = "trian"
    assert_refused(
        frame,
        "chosen must be one of the options 'train', 'bus', 'car' or an index in 0..2; "
        "got 'trian' at row 3, 'trian' at row 5.\nDid you mean 'train'?",
    )


def test_a_choice_that_was_not_on_offer_is_refused():
    frame = table()
    mode = frame["taken"][1]
    frame.loc[1, f"here_{mode}"] = 0
    assert_refused(
        frame,
        f"got an unavailable one at row 1 (decision 1, option {mode}).",
        available="here",
    )


def test_a_column_that_is_not_there_is_named():
    assert_refused(
        table().drop(columns="wait_bus"),
        "explanatory must name a column of the table; got 'wait_bus' for explanatory, but",
    )


def test_a_decision_in_two_rows_is_refused():
    assert_refused(
        table().assign(trip=[4, 5, 6, 5, 7, 8]),
        "decision must differ between rows; got 5 at row 1 and row 3.\nDrop one, or name `subject`",
        decision="trip",
    )


@pytest.mark.parametrize(
    ("explanatory", "message"),
    [
        (
            {"price": {"bus": "price_bus"}},
            "explanatory 'price' must map every option to its column",
        ),
        ({"price": ["price_bus"]}, "explanatory 'price' must list 3 columns, one per option; got"),
        ({}, "explanatory must name at least one variable; got none."),
    ],
)
def test_columns_that_do_not_match_the_options_are_refused(explanatory, message):
    assert_refused(table(), message, explanatory=explanatory)


@pytest.mark.parametrize("options", [None, "bus"])
def test_options_must_be_known(options):
    assert_refused(table(), "options must list the labels of the options; got", options=options)


@pytest.mark.parametrize("options", [["bus"], ["bus", "bus"]])
def test_options_must_be_two_or_more(options):
    assert_refused(table(), "options must hold two or more different labels", options=options)


def test_options_that_differ_by_case_only_give_a_warning():
    frame = table().rename(columns={f"{v}_car": f"{v}_Bus" for v in ("price", "wait")})
    frame = frame.assign(taken="bus")
    with pytest.warns(PenchantWarning, match="'bus' and 'Bus'") as caught:
        Choices.from_wide(frame, **COLUMNS | {"options": ["train", "bus", "Bus"]})
    assert caught[0].message.code == "similar-labels"


def test_sets_yet_to_be_decided_need_no_choice(assert_same):
    frame = table()
    open_sets = Choices.from_wide(frame.drop(columns="taken"), **COLUMNS | {"chosen": None})
    assert not open_sets.observed
    assert_same(open_sets, Choices.from_wide(frame, **COLUMNS), but=("chosen", "observed"))
