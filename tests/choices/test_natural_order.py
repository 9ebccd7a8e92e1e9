"""Labels in the order in which people read them."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penchant as pn
from penchant.tables.labels import array_codes, in_natural_order, natural_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["1", "2", "3", "10", "11"],
        ["s1", "s2", "s10", "s11"],
        ["block 9", "block 10 a", "block 10 b"],
        ["0.25 mg", "0.5 mg", "1 mg", "10 mg"],
        ["-1.5", "-1", "0.25", "3", "a"],
        ["1.2.9", "1.2.10", "2.1.1"],
        [2, 10, "2 b", "10 b", "b"],
        ["control", "patient"],
        ["s01", "s1", "s02", "s2"],
    ],
)
def test_numbers_are_sorted_as_numbers_also_within_text(ordered):
    rng = np.random.default_rng(5)
    for _ in range(4):
        mixed = [ordered[i] for i in rng.permutation(len(ordered))]
        assert in_natural_order(mixed) == ordered


@given(st.lists(st.text(alphabet="ab01279. -", max_size=8), max_size=8))
def test_the_order_does_not_depend_on_what_else_there_is(labels):
    ordered = in_natural_order(labels)
    for first, second in pairwise(ordered):
        assert natural_key(first) <= natural_key(second)
        assert in_natural_order([second, first]) == [first, second]


def test_codes_of_labels_follow_that_order():
    coded = array_codes(["s10", "s2", "s1", "s10"], "subject")
    assert coded.labels.tolist() == ["s1", "s2", "s10"]
    assert coded.codes.tolist() == [2, 1, 0, 2]


def test_subjects_and_blocks_of_a_table_are_listed_in_that_order():
    rows = [(who, block, 0, 1.0) for who in ("s10", "s9", "s1") for block in ("b10", "b2")]
    table = pd.DataFrame(rows, columns=["subject", "block", "choice", "reward"])
    data = pn.read_study(table)
    assert data.subjects == ("s1", "s9", "s10")
    assert [e.block for e in data.episodes] == ["b2", "b10"] * 3
