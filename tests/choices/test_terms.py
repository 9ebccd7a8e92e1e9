"""Constants of options and attributes by option, as columns."""

import numpy as np
import pandas as pd
import pytest

from penchant.choices import Choices
from penchant.errors import DataError


def framed():
    frame = pd.DataFrame(
        {
            "who": ["b", "b", "b", "a", "a", "a", "a", "a"],
            "trip": [1, 1, 1, 2, 2, 3, 3, 3],
            "mode": ["bus", "car", "tram", "car", "tram", "tram", "car", "bus"],
            "taken": [1, 0, 0, 0, 1, 0, 1, 0],
            "price": [2.0, 3.5, 7.0, 1.5, 4.0, 6.5, 5.0, 2.5],
            "income": [3.0, 3.0, 3.0, 8.0, 8.0, 5.0, 5.0, 5.0],
        }
    )
    return Choices.from_frame(
        frame,
        decision="trip",
        option="mode",
        chosen="taken",
        subject="who",
        explanatory=["price", "income"],
    )


def arrayed(available=None):
    x = np.arange(24.0).reshape(4, 3, 2) ** 1.5
    return Choices.from_arrays(x, [0, 2, 1, 1], available=available, names=["price", "wait"])


def test_every_option_but_the_first_gets_a_constant():
    choices = framed().with_constants()
    assert choices.names == ("price", "income", "constant:car", "constant:tram")
    modes = np.array(["car", "tram", "bus", "car", "tram", "bus", "car", "tram"])
    np.testing.assert_array_equal(choices.explanatory[:, 2], modes == "car")
    np.testing.assert_array_equal(choices.explanatory[:, 3], modes == "tram")
    np.testing.assert_array_equal(choices.explanatory[:, :2], framed().explanatory)


def test_the_reference_is_the_option_without_a_constant():
    choices = framed().with_constants(reference="car")
    assert choices.names == ("price", "income", "constant:bus", "constant:tram")


def test_in_arrays_the_position_is_the_option():
    choices = arrayed().with_constants(reference=1)
    assert choices.names == ("price", "wait", "constant:0", "constant:2")
    np.testing.assert_array_equal(choices.explanatory[:, 2], np.tile([1, 0, 0], 4))
    np.testing.assert_array_equal(choices.explanatory[:, 3], np.tile([0, 0, 1], 4))


def test_ragged_arrays_have_constants_of_positions():
    sets = [np.ones((2, 1)), np.ones((3, 1))]
    choices = Choices.from_arrays(sets, [1, 2]).with_constants()
    assert choices.names == ("x1", "constant:1", "constant:2")
    np.testing.assert_array_equal(choices.explanatory[:, 2], [0, 0, 0, 0, 1])


def test_a_number_per_decision_acts_option_by_option():
    values = np.array([2.0, 3.0, 5.0, 7.0])
    choices = arrayed().with_interaction("age", values)
    assert choices.names == ("price", "wait", "age:1", "age:2")
    np.testing.assert_array_equal(choices.explanatory[:, 2].reshape(4, 3)[:, 1], values)
    np.testing.assert_array_equal(choices.explanatory[:, 2].reshape(4, 3)[:, [0, 2]], 0)
    np.testing.assert_array_equal(choices.explanatory[:, 3].reshape(4, 3)[:, 2], values)


def test_a_variable_constant_in_each_set_is_replaced_by_its_interactions():
    choices = framed().with_interaction("income", options=["tram"])
    assert choices.names == ("price", "income:tram")
    np.testing.assert_array_equal(choices.explanatory[:, 1], [0, 8, 0, 0, 5, 0, 0, 3])


def test_the_only_variable_may_be_replaced_by_its_interactions():
    choices = framed().select(["income"]).with_interaction("income")
    assert choices.names == ("income:car", "income:tram")


def test_a_number_per_subject_is_found_by_label():
    choices = framed().with_interaction("age", {"b": 30, "a": 60, "c": 1}, reference="tram")
    assert choices.names == ("price", "income", "age:bus", "age:car")
    np.testing.assert_array_equal(choices.explanatory[:, 3], [60, 0, 0, 60, 0, 0, 30, 0])


def test_an_attribute_may_multiply_a_variable():
    choices = framed().with_interaction("income", by="price")
    assert choices.names == ("price", "income:price")
    before = framed().explanatory
    np.testing.assert_array_equal(choices.explanatory[:, 1], before[:, 0] * before[:, 1])


def test_options_not_on_offer_do_not_have_to_share_the_attribute():
    x = np.array([[[1.0], [1.0], [np.nan]], [[4.0], [4.0], [4.0]]])
    available = np.array([[True, True, False], [True, True, True]])
    choices = Choices.from_arrays(x, [0, 2], available=available, names=["age"])
    added = choices.with_interaction("age")
    np.testing.assert_array_equal(added.explanatory[:2, 0], [0, 1])


def test_the_choices_are_unchanged():
    choices = framed()
    before = choices.explanatory.copy()
    choices.with_constants().with_interaction("income")
    np.testing.assert_array_equal(choices.explanatory, before)
    assert choices.names == ("price", "income")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda c: c.with_constants(reference="trm"),
            "reference must be among the options 'bus', 'car', 'tram'; got 'trm'.\n"
            "Did you mean 'tram'",
        ),
        (
            lambda c: c.with_constants().with_constants(),
            "names must differ; got constant:car, constant:tram twice",
        ),
        (
            lambda c: c.with_interaction("price"),
            "price must be the same for all options of a decision; got different values at "
            "decision 0, decision 1, decision 2.\nGive it one value per decision",
        ),
        (lambda c: c.with_interaction("age"), "names must be variables; got 'age'"),
        (
            lambda c: c.with_interaction("age", [1.0, 2.0]),
            r"values must have shape \(3,\), one per decision; got shape \(2,\)",
        ),
        (
            lambda c: c.with_interaction("age", [1.0, np.nan, 2.0]),
            "values must be finite; got nan at decision 1",
        ),
        (
            lambda c: c.with_interaction("age", ["x", 1, 2]),
            "values must hold numbers; got 'x' at decision 0",
        ),
        (
            lambda c: c.with_interaction("age", {"a": 1.0}),
            "values must have a number for every subject; got none for 'b'",
        ),
        (
            lambda c: c.with_interaction("income", options=["car"], reference="bus"),
            "reference must not be given together with options; got 'bus'",
        ),
        (
            lambda c: c.with_interaction("income", by="price", reference="bus"),
            "by must not be given together with options or reference; got 'price'",
        ),
        (
            lambda c: c.with_interaction("income", options=["car", "bus", "tram"]),
            "options must name some options, each once, and leave one out to compare with",
        ),
    ],
)
def test_terms_that_cannot_be_made_are_refused(call, message):
    with pytest.raises(DataError, match=message):
        call(framed())


def test_a_mapping_needs_subjects():
    with pytest.raises(DataError, match="values must be an array, as the choices name no subjects"):
        arrayed().with_interaction("age", {"a": 1.0})
