"""The order of columns never decides which option a choice means."""

import re

import numpy as np
import pyarrow as pa
import pytest

from penchant.errors import DataError
from penchant.reading.read import read_by_arguments as by_args

N = 40
ORDERS = ("as counted", "turned", "by attribute")
NUMBERED = [
    *(("1", "2"), ("1", "2", "3"), ("0", "1"), ("01", "02")),
    tuple(str(k) for k in range(1, 12)),
]
LETTERS = [("A", "B"), ("a", "b", "c"), ("left", "right"), ("L", "R"), ("top", "bottom")]
NAMES = ["{a}.{o}", "{a}_{o}", "{o}_{a}", "opt{o}_{a}", "{a}_option{o}"]


class Wide:
    """A wide table of random decisions, and what the options that were taken have."""

    def __init__(self, options, attributes, name, order, codes):
        rng = np.random.default_rng(len(options))
        self.cells = {
            (o, a): np.round(rng.uniform(2, 50, N), 1) for o in options for a in attributes
        }
        keys = [*self.cells]
        if order == "turned":
            keys = [(o, a) for o in reversed(options) for a in attributes]
        elif order == "by attribute":
            keys = [(o, a) for a in attributes for o in reversed(options)]
        taken = rng.integers(0, len(options), N)
        taken[: len(options)] = range(len(options))
        columns = {name.format(o=o, a=a): self.cells[o, a] for o, a in keys}
        person = {"subject": np.repeat(["ann", "bob"], N // 2)}
        self.table = pa.table({**person, **columns, "choice": [codes[k] for k in taken]})
        self.taken = {
            a: [self.cells[options[k], a][row] for row, k in enumerate(taken)] for a in attributes
        }


def taken_in(reading):
    """Attributes of the options that were taken, by what was read."""
    data = reading.data
    if reading.kind == "choices":
        rows = data.explanatory[data.chosen_row]
        return {name: rows[:, k].tolist() for k, name in enumerate(data.names)}
    return {
        name: [x for own in data for x in own.offers[name][np.arange(own.n_events), own.chosen]]
        for name in data[0].offers
    }


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", NUMBERED, ids="-".join)
def test_numbered_options_are_ordered_by_number(options, name, order):
    for start in (0, 1):
        codes = range(start, start + len(options))
        wide = Wide(options, ("price", "quality"), name, order, codes)
        assert taken_in(by_args(wide.table)) == wide.taken


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [("first", "second"), ("one", "two", "three")], ids="-".join)
def test_options_that_are_counted_in_words_are_ordered_so(options, order):
    wide = Wide(options, ("price", "quality"), "{o}_{a}", order, range(len(options)))
    assert taken_in(by_args(wide.table)) == wide.taken


@pytest.mark.parametrize("order", ORDERS)
def test_numbered_offers_are_ordered_by_number(order):
    wide = Wide(("1", "2"), ("amount", "delay"), "{a}_{o}", order, (0, 1))
    reading = by_args(wide.table)
    assert reading.kind == "offers"
    assert taken_in(reading) == wide.taken


@pytest.mark.parametrize("attributes", [("price", "quality"), ("amount", "delay"), ("amount",)])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", LETTERS, ids="-".join)
def test_numbers_of_letters_and_sides_are_asked_and_both_answers_are_heard(
    options, order, attributes
):
    for start in (0, 1):
        codes = [str(k) for k in range(start, start + len(options))]
        wide = Wide(options, attributes, "{o}_{a}", order, codes)
        with pytest.raises(DataError, match="options must say what") as error:
            by_args(wide.table)
        answers = re.findall(r"options=(\{[^}]*\})", str(error.value))
        assert answers[0] == repr(dict(zip(codes, options, strict=True)))
        assert len(answers) == 2 and answers[1] != answers[0]
        reading = by_args(wide.table, options=dict(zip(codes, options, strict=True)))
        assert taken_in(reading) == wide.taken


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES[:3])
@pytest.mark.parametrize("options", LETTERS, ids="-".join)
def test_letters_and_sides_in_the_choices_need_no_question(options, name, order):
    wide = Wide(options, ("price", "quality"), name, order, options)
    assert taken_in(by_args(wide.table)) == wide.taken


def test_a_mapping_to_options_that_do_not_exist_is_refused():
    wide = Wide(("A", "B"), ("price", "quality"), "{a}_{o}", "turned", (0, 1))
    with pytest.raises(DataError, match="options must say what"):
        by_args(wide.table, options={"0": "x", "1": "w"})


@pytest.mark.parametrize("order", ORDERS)
def test_what_the_option_taken_paid_is_found_by_its_number(order):
    wide = Wide(("1", "2"), ("reward",), "{a}_{o}", order, (0, 1))
    episodes = by_args(wide.table, reward="reward[choice]").data
    assert [x for e in episodes for x in e.rewards] == wide.taken["reward"]


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_side_paid_is_asked_where_choices_are_numbers(order):
    wide = Wide(("left", "right"), ("reward",), "{a}_{o}", order, (0, 1))
    with pytest.raises(DataError, match="must say which column each number of choice means"):
        by_args(wide.table, reward="reward[choice]")
    said = "reward[choice: 0=reward_left, 1=reward_right]"
    episodes = by_args(wide.table, reward=said).data
    assert [x for e in episodes for x in e.rewards] == wide.taken["reward"]
