"""A long table that cannot be used gets one sentence: what, where, and what to do."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penchant.choices import Choices
from penchant.errors import DataError, PenchantWarning

COLUMNS = {"decision": "trip", "option": "mode", "chosen": "taken", "explanatory": ["price"]}


def table(**changes):
    frame = pd.DataFrame(
        {
            "trip": [4, 4, 5, 5, 6, 6],
            "mode": ["bus", "car", "bus", "car", "bus", "car"],
            "taken": [0, 1, 1, 0, 0, 1],
            "price": [2.5, 7.0, 1.5, 6.0, 2.0, 5.5],
            "times": [3, 3, 2, 2, 1, 1],
        }
    )
    return frame.assign(**changes)


def assert_refused(frame, message, **columns):
    before = frame.copy(deep=True)
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_frame(frame, **COLUMNS | columns)
    pd.testing.assert_frame_equal(frame, before)
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_frame(pl.from_pandas(frame), **COLUMNS | columns)


def test_a_missing_cell_is_named_by_row_column_decision_and_option():
    assert_refused(
        table(price=[2.5, np.nan, 1.5, 6.0, np.nan, 5.5]),
        "explanatory must not be missing; got an empty cell in price at row 1 (decision 4, option "
        "car), an empty cell in price at row 4 (decision 6, option bus).\nFill these cells, or "
        "mark options that were not on offer in `available`: 2 of 3 decisions are too many to "
        "leave out.",
    )


def test_missing_cells_of_all_columns_are_reported_at_once():
    frame = table(wait=[1.0, np.nan, 3, 4, 5, 6], times=[3, 3, 2, np.nan, 1, 1])
    frame["price"] = frame["price"].where(frame.index != 5)
    message = (
        "got an empty cell in price at row 5 (decision 6, option car), an empty cell in wait at "
        "row 1 (decision 4, option car), an empty cell in times at row 3 (decision 5, option car)."
    )
    assert_refused(frame, message, explanatory=["price", "wait"], weight="times")


def test_ten_missing_cells_are_shown_and_all_are_counted():
    frame = pd.DataFrame(
        {
            "trip": np.repeat(np.arange(25), 2),
            "mode": np.tile([1, 2], 25),
            "taken": np.tile([0, 1], 25),
            "price": np.tile([np.nan, 1.0], 25),
        }
    )
    assert_refused(frame, "row 18 (decision 9, option 1) (... 25 in all).")


def test_an_infinite_cell_is_refused_even_where_sets_may_be_dropped():
    message = (
        "explanatory must be finite; got inf in price at row 2 (decision 5, option bus).\nMark "
        "options that were not on offer in `available`, or correct these cells."
    )
    assert_refused(table(price=[1, 2, -np.inf, 3, 4, np.nan]), message, missing="drop_set")


def test_decisions_without_a_choice_are_listed():
    assert_refused(
        table(taken=[0, 1, 0, 0, 0, 0]),
        "chosen must mark one option of each decision; got none at decision 5 (row 2, row 3), "
        "decision 6 (row 4, row 5).\nMark one: 2 of 3 decisions are too many to leave out.",
    )


def test_decisions_with_two_choices_are_listed():
    assert_refused(
        table(taken=[1, 1, 1, 0, 0, 1]),
        "chosen must mark one option of each decision; got 2 at decision 4 (row 0, row 1).\nMark",
    )


def test_ids_used_again_are_shown_as_two_blocks():
    frame = table(trip=[4, 4, 5, 5, 4, 4], mode=["bus", "car", "bus", "car", "tram", "boat"])
    assert_refused(
        frame,
        "Decision 4 appears in two blocks (row 0 to 1, row 4 to 5): if they are different "
        "decisions, name `subject` or more columns in `decision`.",
    )


def test_an_option_twice_in_a_decision_is_shown_with_both_rows():
    assert_refused(
        table(mode=["bus", "car", "car", "car", "bus", "car"]),
        "option must differ between the rows of a decision; got the same twice at row 2 and row 3 "
        "(decision 5, option car).\nDrop one.",
    )
    spread = table(trip=[10**15, 10**15, 5, 5, 6, 6], mode=["bus", "car", "car", "car", "bus", "x"])
    assert_refused(spread, "got the same twice at row 2 and row 3 (decision 5, option car).")


@pytest.mark.parametrize(
    ("taken", "shown"),
    [
        (["no", "yes", "yes", "no", "no", "yes"], "'no', 'yes'"),
        ([-1, 1, 1, -1, -1, 1], "-1, 1"),
        ([0.0, 0.5, 1.0, 0.0, 0.0, 1.0], "0.0, 0.5, 1.0"),
    ],
)
def test_chosen_that_is_neither_flag_nor_label_shows_its_values(taken, shown):
    assert_refused(
        table(taken=taken),
        "chosen must hold 0/1, True/False or the label of the chosen option; "
        f"got {shown} in column 'taken'.\nConvert it to 0/1.",
    )


def test_a_chosen_label_that_is_no_option_gets_the_nearest_one():
    assert_refused(
        table(taken=["car", "car", "buss", "buss", "car", "car"]),
        "chosen must be one of the options 'bus', 'car'; got 'buss' at row 2 (decision 5, option "
        "bus), 'buss' at row 3 (decision 5, option car).\nDid you mean 'bus'?",
    )


def test_a_chosen_label_that_is_no_option_of_its_set_is_refused():
    frame = table(
        mode=["bus", "car", "bus", "car", "bus", "tram"],
        taken=["tram", "tram", "car", "car", "bus", "bus"],
    )
    assert_refused(
        frame,
        "chosen must be one of the options of its decision; got 'tram' at decision 4.\nAdd its",
    )


def test_chosen_labels_that_differ_inside_a_set_are_refused():
    assert_refused(
        table(taken=["bus", "car", "car", "car", "car", "car"]),
        "chosen must repeat the label of one option in every row of a decision; got different "
        "labels at decision 4 (row 0, row 1).\nRepeat one label, or mark rows with 0/1.",
    )


def test_a_missing_choice_is_refused():
    assert_refused(
        table(taken=[0, 1, 1, np.nan, 0, 1]),
        "chosen must not be missing; got an empty cell in taken at row 3 (decision 5, option car).",
    )


def test_a_choice_that_was_not_on_offer_is_refused():
    assert_refused(
        table(here=[1, 0, 1, 1, 1, 1]),
        "chosen must be an available option; got an unavailable one at row 1 (decision 4, option "
        "car).\nMark it available, or drop these decisions.",
        available="here",
    )


def test_available_must_be_true_or_false():
    assert_refused(
        table(here=[1, 2, 1, 1, 1, 1]),
        "available 'here' must hold True/False or 0/1; got 1, 2",
        available="here",
    )
    assert_refused(
        table(here=[1, None, 1, 1, 1, 1]),
        "available 'here' must not be missing; got an empty cell at row 1.\nFill it with 0 or 1.",
        available="here",
    )


@pytest.mark.parametrize(
    ("cell", "advice"),
    [
        ("1,5", "It looks like decimal comma; pass decimal=',' when reading."),
        ("1 000", "It looks like a thousands separator; remove it."),
        ("3%", "It looks like a percentage; remove the sign and divide by 100."),
        ("12.5", "It looks like a number stored as text; convert the column to float."),
        ("NULL", "Convert or remove these cells."),
    ],
)
def test_numbers_as_text_say_what_they_look_like(cell, advice):
    frame = table(price=pd.Series([2.5, cell, 1.5, 6.0, 2.0, 5.5], dtype=object))
    with pytest.raises(DataError) as error:
        Choices.from_frame(frame, **COLUMNS)
    assert str(error.value) == (
        f"explanatory 'price' must hold numbers; got {cell!r} at row 1.\n{advice}"
    )
    text = frame.assign(price=frame["price"].astype(str))
    assert_refused(text, f"{cell!r} at row 1")


def test_columns_of_text_are_all_named_at_once():
    frame = table(colour=["red"] * 6, size=["s"] * 6)
    assert_refused(frame, "explanatory 'size' must", explanatory=["price", "colour", "size"])
    assert_refused(frame, "explanatory 'colour' must", explanatory=["price", "colour", "size"])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pd.to_timedelta(range(6), unit="h"), "Duration"),
        (pd.date_range("2024-01-01", periods=6), "Datetime"),
    ],
)
def test_times_are_no_numbers(values, dtype):
    assert_refused(table(price=values), f"explanatory 'price' must hold numbers; got dtype {dtype}")


def test_complex_numbers_are_refused():
    with pytest.raises(DataError, match="explanatory 'price' must hold numbers; got dtype"):
        Choices.from_frame(table(price=np.arange(6) * 1j), **COLUMNS)


def test_integers_that_float64_cannot_hold_are_refused():
    assert_refused(
        table(price=[1, 2, 2**53 + 1, 4, 5, 6]),
        "explanatory 'price' must hold numbers that float64 can represent; got 9007199254740993 at "
        "row 2.\nSubtract a constant or rescale it first.",
    )


@pytest.mark.parametrize("role", ["decision", "option", "subject"])
def test_missing_ids_are_refused(role):
    name = {"decision": "trip", "option": "mode", "subject": "who"}[role]
    frame = table(who=["a", "a", "b", "b", "b", "b"])
    frame[name] = frame[name].where(frame.index != 3)
    remedy = ', such as by keep="trip >= 4" when reading' if role == "decision" else ""
    assert_refused(
        frame,
        f"{role} must not be missing; got an empty cell in {role} {name!r} at row 3.\nFill or drop "
        f"these rows{remedy}.",
        subject="who",
    )


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", object, "string"])
def test_a_column_of_missing_ids_is_refused(dtype):
    frame = table(trip=pd.Series([None] * 6, dtype=dtype))
    with pytest.raises(DataError, match=r"decision must not be missing.*row 0.*row 5"):
        Choices.from_frame(frame, **COLUMNS)


def test_an_unknown_column_lists_those_present_and_the_nearest():
    assert_refused(
        table(),
        "explanatory must name a column of the table; got 'prize' for explanatory, but the columns "
        "are trip, mode, taken, price, times.\nDid you mean 'price'?",
        explanatory=["prize"],
    )
    assert_refused(table(), "got 'x' for explanatory, 'y' for weight", explanatory="x", weight="y")


def test_explanatory_must_name_a_column():
    assert_refused(table(), "explanatory must name at least one column; got none", explanatory=[])


def test_duplicate_columns_are_refused():
    frame = pd.concat([table(), table()[["price"]]], axis=1)
    message = "frame must have columns of different names; got 'price' more than once.\nRename"
    with pytest.raises(DataError, match=message):
        Choices.from_frame(frame, **COLUMNS)
    arrow = pa.Table.from_pandas(table(), preserve_index=False)
    arrow = arrow.append_column("price", arrow["price"])
    with pytest.raises(DataError, match=message):
        Choices.from_frame(arrow, **COLUMNS)


@pytest.mark.parametrize("explanatory", [["price", "taken"], ["price", "price"], ["trip"]])
def test_a_column_cannot_play_two_parts(explanatory):
    name = explanatory[-1]
    assert_refused(
        table(),
        f"explanatory must not use a column twice; got {name!r}, which is used for",
        explanatory=explanatory,
    )


def test_variables_may_be_named_like_keywords():
    frame = table().rename(columns={"price": "weight", "mode": "subject"})
    choices = Choices.from_frame(
        frame, decision="trip", option="subject", chosen="taken", explanatory=["weight"]
    )
    assert choices.names == ("weight",)
    assert choices.weights is None


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([3, 3, 2, 1, 1, 1], "weight must be the same in all rows of a decision; got different"),
        ([3, 3, -2, -2, 1, 1], "weights must be finite and not negative; got -2 at decision 5."),
        ([0, 0, 0, 0, 0, 0], "weights must not all be zero; got a sum of 0."),
        (
            [3, 3, 0.5, 0.5, 1, 1],
            "weights must be whole numbers, as frequencies are; got 0.5 at decision 5.",
        ),
        ([3, 3, np.nan, 2, 1, 1], "weight must not be missing; got an empty cell in times at row"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(times, message):
    assert_refused(table(times=times), message, weight="times")


def test_an_unknown_weight_kind_is_refused():
    assert_refused(table(), "weight_kind must be 'frequency' or 'probability'", weight_kind="sure")


def test_an_unknown_treatment_of_missing_values_is_refused():
    assert_refused(table(), "missing must be 'error' or 'drop_set'; got 'mean'.", missing="mean")


def test_a_table_without_rows_is_refused():
    assert_refused(table()[:0], "frame must hold at least one row; got 0 rows, so 0 decisions.")


def test_dropping_every_decision_is_refused():
    assert_refused(
        table(price=[np.nan, 1, np.nan, 1, 1, np.nan]),
        "frame must leave at least one decision; got 0 decisions after 3 decisions (6 rows) "
        "dropped: missing values.\nFill the missing cells.",
        missing="drop_set",
    )


def test_decisions_that_all_have_one_option_are_refused():
    assert_refused(
        table()[[False, True, True, False, False, True]],
        "explanatory must offer two or more options in some decision; got 3 decisions with one "
        "option each: nothing to estimate.",
    )


def test_a_lazy_table_is_refused():
    with pytest.raises(DataError, match=r"frame must be .* got a lazy table.\nCall \.collect\(\)"):
        Choices.from_frame(pl.from_pandas(table()).lazy(), **COLUMNS)


@pytest.mark.parametrize("frame", [{"a": [1]}, np.ones((2, 2)), pd.Series([1.0]), "trips.csv"])
def test_what_is_no_table_is_refused(frame):
    with pytest.raises(DataError, match="frame must be a pandas, polars or pyarrow table; got"):
        Choices.from_frame(frame, **COLUMNS)


def test_ids_that_mix_text_and_numbers_are_compared_as_text_with_a_warning():
    frame = table(trip=pd.Series([7, "7", "07", "07", 6.0, 6], dtype=object))
    with pytest.warns(PenchantWarning, match="decision 'trip' mixes text") as caught:
        choices = Choices.from_frame(frame, **COLUMNS)
    assert caught[0].message.code == "mixed-ids"
    assert choices.decision_labels.tolist() == ["6", "07", "7"]


def test_option_labels_that_differ_by_case_or_space_give_a_warning():
    frame = table(mode=["bus", "Car ", "bus", "car", "bus", "car"])
    with pytest.warns(PenchantWarning, match="'Car ' and 'car'") as caught:
        choices = Choices.from_frame(frame, **COLUMNS)
    assert caught[0].message.code == "similar-labels"
    assert choices.option_labels == ("Car ", "bus", "car")


def test_ids_that_start_afresh_are_shown_as_blocks():
    frame = pd.concat([table(), table(), table()], ignore_index=True)
    assert_refused(
        frame,
        "Decision 4 appears in 3 blocks (row 0 to 1, row 6 to 7, row 12 to 13): if they are "
        "different decisions, name `subject` or more columns in `decision`.",
    )


def test_labels_keep_their_case_in_messages():
    frame = pd.concat([table(trip=list("AABBCC"))] * 2, ignore_index=True)
    assert_refused(frame, "Decision A appears in two blocks (row 0 to 1, row 6 to 7)")
