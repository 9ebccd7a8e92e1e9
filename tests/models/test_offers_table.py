"""Offers from tables, as people have them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penchant as pn
from penchant.tables.offer_columns import is_offers

DELAYS = {
    "subjID": [7, 7, 3, 3, 3],
    "delay_later": [6, 170, 28, 28, 85],
    "amount_later": [10.5, 38.3, 13.4, 31.4, 30.9],
    "delay_sooner": [0, 0, 2, 0, 0],
    "amount_sooner": [10.0, 10.0, 10.0, 10.0, 10.0],
    "choice": [1, 1, 0, 1, 0],
}
GAMBLES = {
    "subjID": ["a", "a", "b"],
    "gain": [9.0, 8.0, 12.0],
    "loss": [6.0, -7.0, 0.0],
    "cert": [0.0, 0.0, 3.0],
    "gamble": [1, 0, 1],
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_discounting_table_is_recognised(library):
    three, seven = pn.offers_from_frame(library(DELAYS))
    assert (three.subject, seven.subject) == (3, 7)
    assert three.chosen.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(three.offers["delay"], [[2, 28], [0, 28], [0, 85]])
    np.testing.assert_array_equal(seven.offers["amount"], [[10, 10.5], [10, 38.3]])


def test_numbers_beside_a_word_for_nothing_are_read_without_a_warning():
    choice = pd.Series([1, "na", 0, 1, "Missed"], dtype=object)
    three, seven = pn.offers_from_frame(pd.DataFrame(DELAYS).assign(choice=choice))
    assert (three.chosen.tolist(), seven.chosen.tolist()) == ([0, 1, -1], [1, -1])


def test_a_table_of_gambles_is_recognised_and_losses_are_lost():
    a, b = pn.offers_from_frame(pd.DataFrame(GAMBLES))
    np.testing.assert_array_equal(a.offers["outcome"], [[[0, 0], [9, -6]], [[0, 0], [8, -7]]])
    np.testing.assert_array_equal(b.offers["probability"], [[[1, 0], [0.5, 0.5]]])
    assert a.chosen.tolist() == [1, 0]


def test_gambles_without_losses_have_one_outcome():
    table = pd.DataFrame(
        {"gain": [9.0, 5.0], "sure": [3.0, 4.0], "p": [0.4, 0.9], "choice": [1, 0]}
    )
    (decisions,) = pn.offers_from_frame(table)
    np.testing.assert_array_equal(decisions.offers["outcome"], [[3, 9], [4, 5]])
    np.testing.assert_array_equal(decisions.offers["probability"], [[1, 0.4], [1, 0.9]])


@pytest.mark.parametrize(
    "names",
    [
        ("ss_amount", "ll_amount", "ll_delay", "participant", "chosen"),
        ("SSAmount", "LLAmount", "LLDelay", "Subject", "Choice"),
        ("sooner.amount", "later.amount", "delay", "subj", "response"),
    ],
)
def test_names_may_have_any_case_and_punctuation_and_sooner_may_be_now(names):
    values = ([10, 20], [30, 40], [5, 6], ["x", "y"], [1, 0])
    x, y = pn.offers_from_frame(pd.DataFrame(dict(zip(names, values, strict=True))))
    np.testing.assert_array_equal(x.offers["delay"], [[0, 5]])
    np.testing.assert_array_equal(y.offers["amount"], [[20, 40]])
    assert (x.subject, x.chosen[0], y.chosen[0]) == ("x", 1, 0)


def test_columns_may_be_named_and_numbers_given():
    table = pd.DataFrame({"now": [1.0, 2.0], "then": [3.0, 4.0], "took": [2, 1], "w": [7, 8]})
    (decisions,) = pn.offers_from_frame(
        table,
        chosen="took",
        base=1,
        offers={"amount": ["now", "then", 9.5], "delay": [0, "w", 30]},
    )
    assert decisions.chosen.tolist() == [1, 0]
    np.testing.assert_array_equal(decisions.offers["amount"], [[1, 3, 9.5], [2, 4, 9.5]])
    np.testing.assert_array_equal(decisions.offers["delay"], [[0, 7, 30], [0, 8, 30]])


def test_blocks_are_offers_of_their_own_and_none_switches_a_column_off():
    table = pd.DataFrame(DELAYS | {"block": [1, 2, 1, 1, 2]})
    found = [(t.subject, t.block, t.n_events) for t in pn.offers_from_frame(table)]
    assert found == [(3, 1, 2), (3, 2, 1), (7, 1, 1), (7, 2, 1)]
    found = [(t.subject, t.block) for t in pn.offers_from_frame(table, block="none")]
    assert found == [(3, None), (7, None)]


def test_empty_choices_are_not_scored():
    table = pd.DataFrame(DELAYS | {"choice": [1, None, 0, -1, 1]})
    three, seven = pn.offers_from_frame(table)
    assert three.chosen.tolist() == [0, -1, 1]
    assert seven.scored.tolist() == [True, False]


def test_decisions_may_be_left_out_by_a_column():
    table = pd.DataFrame(DELAYS | {"scored": [1, 0, 1, 1, 0]})
    assert [t.n_decisions for t in pn.offers_from_frame(table)] == [2, 1]


def test_words_for_options_are_understood():
    table = pd.DataFrame(DELAYS | {"choice": ["LL", "ss", "Sooner", "NA", "later"]})
    three, seven = pn.offers_from_frame(table)
    assert seven.chosen.tolist() == [1, 0]
    assert three.chosen.tolist() == [0, -1, 1]


def test_numbers_beside_null_are_numbers():
    table = pd.DataFrame(DELAYS | {"choice": ["1", "0", "NULL", "", "1"]})
    three, seven = pn.offers_from_frame(table)
    assert seven.chosen.tolist() == [1, 0]
    assert three.chosen.tolist() == [-1, -1, 1]
    truth = pd.DataFrame(DELAYS | {"choice": [True, False, True, True, False]})
    assert pn.offers_from_frame(truth)[1].chosen.tolist() == [1, 0]


def test_labels_are_those_named_in_options():
    table = pd.DataFrame(DELAYS | {"choice": ["blue", "red", "red", "blue", "blue"]})
    three, seven = pn.offers_from_frame(table, options=["red", "blue"])
    assert seven.chosen.tolist() == [1, 0]
    assert three.chosen.tolist() == [0, 1, 1]
    signs = pd.DataFrame(DELAYS | {"choice": [-1, 1, 1, -1, 1]})
    three, seven = pn.offers_from_frame(signs, options=[-1, 1])
    assert seven.chosen.tolist() == [0, 1]
    assert three.chosen.tolist() == [1, 0, 1]


def test_the_table_is_left_as_it_was():
    table = pd.DataFrame(DELAYS)
    before = table.copy()
    decisions = pn.offers_from_frame(table)
    pd.testing.assert_frame_equal(table, before)
    assert not decisions[0].chosen.flags.writeable


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"choice": [1, 2, 1, 2, 1]}, {}, r"(?s)among the options 0\.\.1; got 2 at row 1 .*base=1"),
        ({"choice": [1, 2, 1, 0, 1]}, {}, r"got 2 at row 1 \(subject 7\).\nCorrect it"),
        ({"choice": [-1, 1, -1, 1, 1]}, {}, r"got -1 and 1 only.\n.* pass options=\[-1, 1\]"),
        ({"choice": ["a", "b", "a", "a", "b"]}, {}, r"label named in `options`; got 'a', 'b'"),
        (
            {"choice": ["a", "b", "a", "a", "b"]},
            {"options": ["a", "c"]},
            r"among the options a, c; got 'b' at row 1",
        ),
        ({"choice": [0.5, 1, 0, 1, 1]}, {}, r"label named in `options`; got 0.0, 0.5, 1.0"),
        (
            {"delay_later": [6, -1, 28, 28, 85]},
            {},
            r"negative; got -1 at row 1 .subject 7",
        ),
        (
            {"amount_later": [6, None, 2, 8, 5]},
            {},
            r"got nan at row 1 .subject 7., option 1",
        ),
        ({"amount_later": ["6,5", "1", "2", "8", "5"]}, {}, r"(?s)'6,5' at row 0.*decimal comma"),
        ({"subjID": [1, None, 2, 2, 2]}, {}, r"subject must not be missing.*row 1"),
        ({}, {"chosen": "chose"}, r"(?s)chosen must name a column.*Did you mean 'choice'"),
        ({}, {"offers": {"amount": ["amount_soner", 3]}}, r"Did you mean 'amount_sooner'"),
        ({}, {"offers": {"amount": "amount_later"}}, r"list a column or a number for each option"),
        ({}, {"offers": {"amount": [["choice", 0], [1]]}}, r"as many outcomes for every option"),
        ({}, {"base": 2}, r"base must be 0 or 1; got 2"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(change, arguments, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.offers_from_frame(pd.DataFrame(DELAYS | change), **arguments)


def test_columns_that_nobody_knows_are_refused_with_what_to_write():
    with pytest.raises(
        pn.errors.DataError, match=r"offers must say .* got columns x, y.\nWrite offers="
    ):
        pn.offers_from_frame(pd.DataFrame({"x": [1], "y": [2]}))
    table = pd.DataFrame(DELAYS).drop(columns="choice")
    with pytest.raises(
        pn.errors.DataError, match=r"chosen must be given, as no column is called chosen"
    ):
        pn.offers_from_frame(table)
    with pytest.raises(pn.errors.DataError, match=r"loss and its gain a probability \('p'\)"):
        pn.offers_from_frame(pd.DataFrame(GAMBLES | {"p": [0.2, 0.3, 0.4]}))


@pytest.mark.parametrize(
    ("names", "delays"),
    [
        (("SSAmt", "LLAmt", "SSDelay", "LLDelay"), [[3, 5]]),
        (("X1", "X2", "T1", "T2"), [[3, 5]]),
        (("iamt", "damt", "other", "delay"), [[0, 5]]),
    ],
    ids=["smaller and larger", "numbered", "immediate and delayed"],
)
@pytest.mark.parametrize("chosen", ["LaterOptionChosen", "choose_ll", "Response"])
def test_names_of_laboratories_are_recognised(names, delays, chosen):
    table = pd.DataFrame([[10, 20, 3, 5]], columns=list(names)).assign(**{chosen: 1}, id="ann")
    (decisions,) = pn.offers_from_frame(table)
    np.testing.assert_array_equal(decisions.offers["amount"], [[10, 20]])
    np.testing.assert_array_equal(decisions.offers["delay"], delays)
    assert (decisions.subject, decisions.chosen.tolist()) == ("ann", [1])


def test_gains_and_losses_without_a_sure_amount_are_taken_or_left():
    table = pd.DataFrame({"sub": 3, "gain": [10, 20], "loss": [7, 5], "respcat": [0, -1]})
    (decisions,) = pn.offers_from_frame(table)
    np.testing.assert_array_equal(
        decisions.offers["outcome"], [[[0, 0], [10, -7]], [[0, 0], [20, -5]]]
    )
    np.testing.assert_array_equal(decisions.offers["probability"][0], [[1, 0], [0.5, 0.5]])
    assert (decisions.subject, decisions.chosen.tolist()) == (3, [0, -1])


def test_a_lottery_has_its_own_probability():
    table = pd.DataFrame(
        {"sure_amount": [5], "lottery_amount": [20], "lottery_prob": [0.4], "choice": ["lottery"]}
    )
    (decisions,) = pn.offers_from_frame(table)
    np.testing.assert_array_equal(decisions.offers["outcome"], [[5, 20]])
    np.testing.assert_array_equal(decisions.offers["probability"], [[1, 0.4]])
    assert decisions.chosen.tolist() == [1]


def test_0_is_no_option_where_they_are_counted_from_1():
    table = pd.DataFrame(DELAYS | {"choice": [1, 2, 0, 2, 1]})
    three, seven = pn.offers_from_frame(table, base=1)
    assert three.chosen.tolist() == [-1, 1, 0]
    assert seven.chosen.tolist() == [0, 1]
    with pytest.raises(
        pn.errors.DataError, match=r"(?s)got 2 at row 1 .* pass base=1 if options are counted"
    ):
        pn.offers_from_frame(table)


def test_options_counted_from_0_are_not_read_as_counted_from_1():
    message = (
        r"must count options from 1, as base says, .*; got 0, 1, and never 2.\nIf 0 is the fir"
    )
    with pytest.raises(pn.errors.DataError, match=message):
        pn.offers_from_frame(pd.DataFrame(DELAYS), base=1)


@pytest.mark.parametrize(
    ("names", "offers"),
    [
        (["subject_id", "ss_amount", "ll_amount", "ll_delay", "choice"], True),
        (["gain", "loss", "cert", "gamble"], True),
        (["gain", "loss", "cert", "choice"], True),
        (["gain", "loss", "accept"], True),
        (["gain", "loss", "choice"], False),
        (["subject", "trial", "choice", "reward"], False),
        (["decision", "option", "chosen", "gain", "cert"], False),
    ],
)
def test_offers_are_told_from_play_and_from_options(names, offers):
    assert is_offers(names) is offers


def test_codes_may_be_written_as_fractions_beside_words_for_nothing():
    table = pd.DataFrame(DELAYS | {"choice": ["1.0", "timeout", "0.0", "1.0", "NA"]})
    three, seven = pn.offers_from_frame(table)
    assert three.chosen.tolist() == [0, 1, -1]
    assert seven.chosen.tolist() == [1, -1]


def test_labels_that_look_like_numbers_are_the_labels_that_options_names():
    table = pd.DataFrame(DELAYS | {"choice": ["07", "07", "1.0", "07", "1.0"]})
    three, seven = pn.offers_from_frame(table, options=["1.0", "07"])
    assert three.chosen.tolist() == [0, 1, 0]
    assert seven.chosen.tolist() == [1, 1]
