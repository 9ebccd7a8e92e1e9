"""Arrays become choices without a change of any number, or get one sentence."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from penchant.choices import Choices
from penchant.errors import DataError, PenchantWarning


def whole(n=4, m=3, d=2):
    return np.arange(n * m * d).reshape(n, m, d) * 3 % 11


CHOSEN = [0, 2, 1, 1]


@pytest.mark.parametrize(
    "dtype",
    ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", ">f8", ">i4", object],
)
def test_every_number_type_gives_the_same_as_float64(assert_same, dtype):
    x = whole().astype(dtype)
    before = x.copy()
    expected = Choices.from_arrays(whole().astype(float), CHOSEN)
    assert_same(Choices.from_arrays(x, CHOSEN), expected)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("number", [Fraction, Decimal, float])
def test_nested_lists_of_numbers_are_converted_exactly(assert_same, number):
    x = [[[number(int(v)) / 4 for v in row] for row in rows] for rows in whole()]
    assert_same(Choices.from_arrays(x, CHOSEN), Choices.from_arrays(whole() / 4, CHOSEN))


def test_float32_is_widened_without_a_change():
    x = np.random.default_rng(2).normal(size=(4, 3, 2)).astype(np.float32)
    np.testing.assert_array_equal(
        Choices.from_arrays(x, CHOSEN).explanatory, x.reshape(12, 2).astype(np.float64)
    )


def test_truth_values_are_numbers(assert_same):
    x = whole() > 4
    assert_same(Choices.from_arrays(x, CHOSEN), Choices.from_arrays(x.astype(float), CHOSEN))


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: list(map(np.array, x)),
        lambda x: [pd.DataFrame(rows) for rows in x],
    ],
)
def test_every_layout_gives_the_same(assert_same, layout):
    x = whole().astype(float)
    assert_same(Choices.from_arrays(layout(x), CHOSEN), Choices.from_arrays(x, CHOSEN))


def test_read_only_and_mapped_arrays_are_accepted(assert_same, tmp_path):
    x = whole().astype(float)
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=x.shape)
    mapped[:] = x
    x.flags.writeable = False
    assert_same(Choices.from_arrays(mapped, CHOSEN), Choices.from_arrays(x, CHOSEN))


def test_an_array_of_float64_is_not_copied():
    x = whole().astype(float)
    choices = Choices.from_arrays(x, CHOSEN)
    assert np.shares_memory(choices.explanatory, x)
    assert x.flags.writeable


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        pd.Series,
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.array(v, dtype="int64[pyarrow]"),
        pl.Series,
        pa.array,
        lambda v: np.array(v, dtype=np.uint8),
        lambda v: np.array(v, dtype=float),
        lambda v: np.eye(3, dtype=int)[v],
        lambda v: np.eye(3, dtype=bool)[v],
    ],
)
def test_chosen_may_come_in_any_container(assert_same, wrap):
    x = whole().astype(float)
    assert_same(Choices.from_arrays(x, wrap(CHOSEN)), Choices.from_arrays(x, CHOSEN))


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, pa.array, np.array])
def test_weights_and_subjects_may_come_in_any_container(assert_same, wrap):
    x = whole().astype(float)
    plain = Choices.from_arrays(x, CHOSEN, weights=[2, 1, 3, 1], subject=["b", "a", "b", "c"])
    given = Choices.from_arrays(
        x, CHOSEN, weights=wrap([2, 1, 3, 1]), subject=wrap(["b", "a", "b", "c"])
    )
    assert_same(given, plain)
    assert given.subject_labels == ("a", "b", "c")


def test_subjects_may_be_whole_floats_huge_integers_or_days():
    x = whole().astype(float)

    def labels(subject):
        return Choices.from_arrays(x, CHOSEN, subject=subject).subject_labels

    assert labels([4.0, 2.0, 4.0, 2.0]) == (2, 4)
    assert labels([2**70, 2**70 + 1, 5, 5]) == (5, 2**70, 2**70 + 1)
    assert len(labels(np.array(["2024-01-02"] * 3 + ["2023-05-01"], dtype="datetime64[D]"))) == 2


def test_subjects_that_mix_text_and_numbers_give_a_warning():
    with pytest.warns(PenchantWarning, match="subject mixes text"):
        choices = Choices.from_arrays(whole(), CHOSEN, subject=["7", 7, "07", 8])
    assert choices.subject_labels == ("07", "7", "8")


@pytest.mark.parametrize("kind", [bool, int, float, object])
def test_available_may_be_any_kind_of_truth_value(assert_same, kind):
    x = whole().astype(float)
    mask = np.ones((4, 3), dtype=bool)
    mask[0, 2] = mask[2, 0] = False
    x[~mask] = np.nan
    assert_same(
        Choices.from_arrays(x, CHOSEN, available=mask.astype(kind)),
        Choices.from_arrays(x, CHOSEN, available=mask),
    )


def test_arguments_with_an_index_are_put_in_the_order_of_chosen(assert_same):
    x = whole().astype(float)
    chosen = pd.Series(CHOSEN, index=["p", "q", "r", "s"])
    weights = pd.Series([2, 1, 3, 4], index=chosen.index)
    shuffled = weights[["s", "q", "p", "r"]]
    assert_same(
        Choices.from_arrays(x, chosen, weights=shuffled),
        Choices.from_arrays(x, CHOSEN, weights=[2, 1, 3, 4]),
    )


def test_equal_indexes_may_have_repeats(assert_same):
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 1), ("b", 2)])
    x = whole().astype(float)
    chosen, weights = pd.Series(CHOSEN, index=index), pd.Series([2, 1, 3, 4], index=index)
    assert_same(
        Choices.from_arrays(x, chosen, weights=weights),
        Choices.from_arrays(x, CHOSEN, weights=[2, 1, 3, 4]),
    )


def test_single_option_sets_and_zero_weights_are_noted():
    sets = [np.ones((2, 1)), np.ones((1, 1)), np.ones((3, 1))]
    choices = Choices.from_arrays(sets, [1, 0, 2], weights=[1, 2, 0])
    assert choices.notes == (
        "1 decision with a single option: uninformative.",
        "1 decision with weight 0: not counted.",
    )


def test_options_not_on_offer_do_not_count_as_options():
    mask = np.array([[True, False], [True, True]])
    choices = Choices.from_arrays(whole(2, 2), [0, 1], available=mask)
    assert choices.notes == ("1 decision with a single option: uninformative.",)


def test_sets_yet_to_be_decided_may_have_a_single_option():
    mask = np.array([[False, True], [False, True]])
    choices = Choices.from_arrays(whole(2, 2), None, available=mask)
    np.testing.assert_array_equal(choices.chosen, [1, 1])
    assert not choices.observed


def masked(x):
    return np.ma.masked_array(x, mask=x == x.max())


def text_cell():
    x = whole().astype(object)
    x[1, 2, 0] = "1,5"
    return x


@pytest.mark.parametrize(
    ("explanatory", "message"),
    [
        (whole()[:, :, 0], "got shape (4, 3).\nFor one variable use explanatory[:, :, None]."),
        (pd.DataFrame(whole()[:, :, 0]), "got shape (4, 3).\nFor a table use Choices.from_frame"),
        (whole()[:0], "must hold at least one decision, option and variable; got shape (0, 3, 2)"),
        (masked(whole()), "explanatory must be a plain array or table; got a masked array.\nPass"),
        (
            [masked(rows) for rows in whole()],
            "explanatory[0] must be a plain array or table; got a masked array.",
        ),
        (
            scipy.sparse.csr_array(whole()[0]),
            "got a sparse matrix.\nConvert it with .toarray().",
        ),
        (pl.LazyFrame({"x": [1]}), "got a lazy table.\nCall .collect() first."),
        (whole().astype("m8[s]"), "explanatory must hold numbers; got dtype timedelta64[s]."),
        (whole().astype("M8[s]"), "explanatory must hold numbers; got dtype datetime64[s]."),
        (whole() * 1j, "explanatory must hold numbers; got dtype complex128."),
        (whole().astype(str), "explanatory must hold numbers; got '0' at decision 0, option 0,"),
        (
            text_cell(),
            "got '1,5' at decision 1, option 2, variable 0.\nIt looks like decimal comma; pass",
        ),
        (
            [np.ones((2, 3)), np.ones((2, 2))],
            "got shape (2, 2) at decision 1, but (2, 3) at decision 0.\nUse the same columns",
        ),
        (
            np.where(whole() == 4, np.nan, whole()),
            "explanatory must be finite; got nan in x2 at decision 0, option 2, nan",
        ),
        (whole()[:, :1], "got 4 decisions with one option each: nothing to estimate."),
        (
            np.where(whole() == 4, 2**53 + 1, whole()),
            "must hold numbers that float64 can represent; got 9007199254740993 at decision",
        ),
        (
            np.where(whole() == 4, 2**63 - 1, whole()),
            "must hold numbers that float64 can represent; got 9223372036854775807 at decision",
        ),
    ],
)
def test_explanatory_that_cannot_be_used_is_refused(explanatory, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_arrays(explanatory, [0] * 4)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([0, 1, 2], "chosen must have shape (4,), one option per decision; got shape (3,)."),
        (
            [0, 1, 2, 3],
            "chosen must lie in 0..2; got 3 at decision 3.\nOptions are counted from 0.",
        ),
        ([1, 2, 3, 3], "It looks 1-based: subtract 1, options are counted from 0."),
        ([0, -1, 2, 2], "chosen must lie in 0..2; got -1 at decision 1."),
        ([0, 0.5, 2, 2], "chosen must be an option's index; got 0.5 at decision 1."),
        (["a", "b", "a", "a"], "chosen must hold numbers; got 'a' at"),
        (
            np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]]),
            "chosen must mark exactly one option per decision; got 2 at decision 1, 0 at decision",
        ),
        (np.ma.masked_array(CHOSEN, mask=[0, 1, 0, 0]), "chosen must be a plain array or table;"),
    ],
)
def test_chosen_that_cannot_be_used_is_refused(chosen, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_arrays(whole(), chosen)


FULL = np.ones((4, 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"available": FULL * 2}, "available must hold True or False; got 2.0."),
        ({"available": FULL * np.nan}, "available must hold True or False; got nan."),
        ({"available": FULL[:3] == 1}, "available must have shape (4, 3); got shape (3, 3)."),
        ({"available": FULL == 0}, "available must leave an option in every decision; got none at"),
        (
            {"available": np.arange(12).reshape(4, 3) != 5},
            "chosen must be an available option; got an unavailable one at decision 1.",
        ),
        ({"weights": [1, 2, 3]}, "weights must have shape (4,), one per decision; got shape (3,)."),
        ({"weights": [1, 2, -3, 1]}, "weights must be finite and not negative; got -3 at decision"),
        ({"weights": [1, 2, None, 1]}, "weights must be finite and not negative; got nan at"),
        ({"weights": [0, 0, 0, 0]}, "weights must not all be zero; got a sum of 0."),
        ({"weights": [1, 0.5, 1, 1]}, "weights must be whole numbers, as frequencies are; got 0.5"),
        ({"offset": FULL[:2]}, "offset must have shape (4, 3); got shape (2, 3)."),
        ({"offset": FULL * np.inf}, "offset must be finite; got inf in offset at decision 0"),
        ({"subject": ["a", "b"]}, "subject must have shape (4,), one per decision; got shape (2,)"),
        ({"subject": ["a", None, "b", np.nan]}, "got none at decision 1, decision 3."),
        ({"subject": [1.0, np.nan, 2.0, 2.0]}, "subject must not be missing; got none at decision"),
        ({"names": ["a"]}, "names must hold 2 names, one per variable; got ['a']."),
        ({"names": ["a", "a"]}, "names must differ; got a twice.\nRename one."),
        ({"weight_kind": "other"}, "weight_kind must be 'frequency' or 'probability'; got 'other'"),
    ],
)
def test_other_arguments_that_cannot_be_used_are_refused(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_arrays(whole(), CHOSEN, **arguments)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (
            [0, 1, 2, 4],
            "weights must have the same index labels as chosen; got 3, 4 in only one of them.",
        ),
        (
            [0, 1, 1, 2],
            "weights must have an index without repeats to be aligned; got 1 more than once.",
        ),
    ],
)
def test_indexes_that_do_not_match_are_refused(index, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Choices.from_arrays(whole(), pd.Series(CHOSEN), weights=pd.Series([1, 2, 3, 4], index))


def test_numbers_of_options_cannot_be_changed():
    choices = Choices.from_arrays(np.arange(12.0).reshape(3, 4, 1), [0, 3, 1])
    with pytest.raises(ValueError, match="read-only"):
        choices.n_options[0] = 7


def test_numbers_whose_squares_overflow_are_finite():
    explanatory = np.array([[[1e200], [-3e199]], [[2e180], [1e155]]])
    choices = Choices.from_arrays(explanatory, [0, 1])
    np.testing.assert_array_equal(choices.explanatory, explanatory.reshape(4, 1))
    explanatory[1, 0, 0] = -np.inf
    with pytest.raises(DataError, match="-inf in x1 at decision 1, option 0"):
        Choices.from_arrays(explanatory, [0, 1])


SETS = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2) + 0.5]


def test_sets_of_several_sizes_take_a_list_per_decision():
    listed = Choices.from_arrays(
        SETS, [0, 1], available=[[True, False, True], [1, 1]], offset=[[0.1, 0.2, 0.3], (0.4, 0.5)]
    )
    assert listed.available.tolist() == [True, False, True, True, True]
    assert listed.offset.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"available": [[True, True], [True, True, True]]},
            "available must give every decision one value per option; got 2 at decision 0, which "
            "has 3 options",
        ),
        (
            {"offset": [[0.1, 0.2, 0.3], [0.4]]},
            "offset must give every decision one value per option; got 1 at decision 1, which has "
            "2 options",
        ),
        ({"offset": [[1.0, 2.0, 3.0], [1.0, 2.0], [1.0]]}, "offset must have one list per dec"),
        ({"offset": [1.0, [2.0], 3.0, 4.0, 5.0]}, "offset must have rows of one length"),
        ({"weights": [[1.0], [1.0, 2.0]]}, "weights must have rows of one length; got 2 numbers"),
        ({"chosen": [[0], [0, 1]]}, "chosen must have rows of one length"),
        ({"subject": [["a"], ["a", "b"]]}, "subject must have rows of one length"),
        (
            {"explanatory": [[[1.0, 2.0], [3.0]], SETS[1]]},
            r"explanatory\[0\] must have rows of one",
        ),
    ],
)
def test_lists_of_unequal_lengths_are_refused_in_a_sentence(given, words):
    arguments = {"explanatory": SETS, "chosen": [0, 1], **given}
    with pytest.raises(DataError, match=words):
        Choices.from_arrays(**arguments)


def test_lists_of_unequal_lengths_are_refused_for_sets_of_one_size_too():
    x = np.arange(12.0).reshape(2, 3, 2)
    with pytest.raises(DataError, match="available must give every decision one value per opt"):
        Choices.from_arrays(x, [0, 1], available=[[True, True, True], [True]])
    with pytest.raises(DataError, match="explanatory"):
        Choices.from_arrays([[[1.0], [2.0, 3.0]], [[1.0], [2.0]]], [0, 1])
