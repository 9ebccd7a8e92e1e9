"""Wide surveys: which part of a column's name is the option."""

import pytest
from penchant.tables.surveys import refuse_unknown_words, wide_layout

from penchant.errors import DataError

COST = {"cost": ("cost_A", "cost_B"), "time": ("time_A", "time_B")}


@pytest.mark.parametrize(
    "names",
    [
        ["A_cost", "A_time", "B_cost", "B_time"],
        ["cost_A", "cost_B", "time_A", "time_B"],
        ["cost.A", "time.A", "cost.B", "time.B"],
        ["A cost", "B cost", "A time", "B time"],
        ["time-B", "time-A", "cost-B", "cost-A"],
        ["costA", "costB", "timeA", "timeB"],
        ["OptionACost", "OptionATime", "OptionBCost", "OptionBTime"],
        ["opt_A_cost", "opt_B_cost", "opt_A_time", "opt_B_time"],
    ],
)
def test_options_are_found_before_and_after_the_attribute(names):
    layout = wide_layout(names, ["Option A", "Option B"])
    attributes = {name.lower(): own for name, own in layout.attributes.items()}
    assert {*attributes} == {"cost", "time"}
    first = layout.words["Option A"]
    own = [attributes[name][layout.options.index(first)] for name in ("cost", "time")]
    assert all("A" in name for name in own)


def test_sides_keys_and_numbers_are_options():
    names = ["amount_left", "amount_right"]
    assert wide_layout(names, ["ArrowLeft", "ArrowRight"]).words["ArrowRight"] == "right"
    assert wide_layout(names, ["1", "2"]).words == {"1": "left", "2": "right"}
    assert wide_layout(names, ["0", "1"]).words == {"0": "left", "1": "right"}
    assert wide_layout(["x1", "x2"], ["2", "1"]).words == {"1": "1", "2": "2"}
    said = wide_layout(names, ["f", "j"], options={"f": "right", "j": "left"})
    assert said.words == {"f": "right", "j": "left"}


def test_attributes_that_only_some_options_have_are_kept():
    layout = wide_layout(["price_bus", "price_car", "wait_bus"], ["bus", "car"])
    assert layout.attributes["wait"] == ("wait_bus", None)


def test_an_option_that_is_none_of_those_shown_is_found():
    assert wide_layout(["cost_A", "cost_B"], ["A", "B", "Neither"]).opt_out == "Neither"
    assert wide_layout(["cost_A", "cost_B"], ["A", "opt-out"]).opt_out == "opt-out"


def test_none_may_be_an_option_or_nothing_and_is_asked():
    names, words = ["cost_A", "cost_B"], ["A", "B", "none"]
    with pytest.raises(DataError, match=r"opt_out must be given, as 'none' in choice .*two ways"):
        wide_layout(names, words, column="choice")
    assert wide_layout(names, words, opt_out="none").opt_out == "none"


def test_two_readings_of_the_columns_are_shown_and_asked():
    names = ["a_x", "a_y", "b_x", "b_y"]
    with pytest.raises(DataError, match=r"2 ways: options a, b.*; or options x, y.*options=\['a'"):
        wide_layout(names, ["1", "2"])
    assert wide_layout(names, ["1", "2"], options=["x", "y"]).options == ("x", "y")


def test_numbers_that_do_not_say_where_they_begin_are_asked():
    names = ["price_plan01", "price_plan02", "price_plan03"]
    with pytest.raises(
        DataError, match=r"base must be given.*from 0 \(1 is plan02\) or from 1 \(1 is plan01"
    ):
        wide_layout(names, ["1", "2"])
    assert wide_layout(names, ["1", "2"], base=1).words == {"1": "plan01", "2": "plan02"}


def test_columns_that_only_look_alike_are_no_options():
    assert wide_layout(["start_time", "end_time", "rt_1", "rt_2"], ["f", "j"]) is None


def test_words_without_an_option_are_asked():
    with pytest.raises(DataError, match=r"what 'f', 'j' in response mean.*\{'f': 'left', 'j': 'ri"):
        refuse_unknown_words(["cost_left", "cost_right"], ["f", "j"], "response")
    with pytest.raises(DataError, match="opt_out must be given, as choice holds 1, 2, 3"):
        refuse_unknown_words(["cost_A", "cost_B"], ["1", "2", "3"], "choice")
    with pytest.raises(DataError, match="got none for 'k'"):
        wide_layout(["c_left", "c_right"], ["f", "k"], options={"f": "left", "j": "right"})
