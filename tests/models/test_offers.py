"""Offers: what is kept, what is locked, what is refused."""

import pickle

import numpy as np
import pytest

import penchant as pn

OFFERS = {
    "amount": [[20, 50], [30, 35], [40, 60]],
    "delay": [[0, 30], [1, 90], [0, 7]],
}


def test_offers_keep_what_they_are_given():
    decisions = pn.Offers([1, 0, None], OFFERS, subject="anna", block=2)
    assert decisions.chosen.tolist() == [1, 0, -1]
    assert decisions.scored.tolist() == [True, True, False]
    assert decisions.scored_options.tolist() == [1, 0]
    assert (decisions.n_events, decisions.n_decisions, decisions.n_options) == (3, 2, 2)
    assert (decisions.subject, decisions.block) == ("anna", 2)
    np.testing.assert_array_equal(decisions.offers["delay"], [[0, 30], [1, 90], [0, 7]])
    assert decisions.offers["amount"].dtype == np.float64
    assert decisions.notes == ("1 decision without a choice: not scored.",)
    assert repr(decisions) == (
        "Offers: 2 decisions scored of 3, 2 options, amount and delay, subject anna, block 2"
    )


def test_decisions_that_shall_not_count_do_not():
    decisions = pn.Offers([1, 0, 1], OFFERS, scored=[True, False, True])
    assert decisions.n_decisions == 2
    assert decisions.scored_options.tolist() == [1, 1]
    assert decisions.notes == ()


def test_arrays_are_locked_and_are_not_those_given():
    amount = np.array([[20.0, 50.0], [30.0, 35.0]])
    chosen = np.array([1, 0])
    decisions = pn.Offers(chosen, {"amount": amount})
    amount[0, 0] = 99.0
    chosen[0] = 0
    assert decisions.offers["amount"][0, 0] == 20.0
    assert decisions.chosen[0] == 1
    for array in (decisions.chosen, decisions.scored, decisions.offers["amount"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        decisions.offers["amount"] = amount


def test_options_with_several_outcomes_have_a_third_axis():
    outcome = np.arange(12.0).reshape(2, 2, 3)
    decisions = pn.Offers([0, 1], {"outcome": outcome, "cost": [[1, 2], [3, 4]]})
    assert decisions.n_options == 2
    assert decisions.offers["outcome"].shape == (2, 2, 3)


def test_offers_survive_a_pickle():
    decisions = pn.Offers([1, None, 0], OFFERS, subject="anna")
    again = pickle.loads(pickle.dumps(decisions))
    np.testing.assert_array_equal(again.chosen, decisions.chosen)
    np.testing.assert_array_equal(again.offers["delay"], decisions.offers["delay"])
    assert not again.chosen.flags.writeable
    assert again.subject == "anna"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"chosen": [[1], [0], [1]]}, r"chosen must have shape \(n_events,\)"),
        ({"chosen": []}, r"one event or more; got shape \(0,\)"),
        ({"chosen": [1, 0.5, 0]}, r"counted from 0; got 0.5 at decision 1 of subject anna"),
        ({"chosen": [1, -3, 0]}, r"got -3 at decision 1"),
        ({"chosen": [1, 2, 1]}, r"(?s)must lie in 0\.\.1; got 2 at decision 1 .* looks 1-based"),
        (
            {"chosen": [0, 7, 1]},
            r"got 7 at decision 1 of subject anna.\nOptions are counted from 0",
        ),
        ({"chosen": ["LL", "SS", "LL"]}, r"chosen must hold numbers; got 'LL' at decision 0"),
        ({"offers": {}}, r"offers must map names of attributes to numbers; got none"),
        ({"offers": [[1, 2]]}, r"offers must map names of attributes to numbers; got list"),
        ({"offers": {1: [[1, 2]] * 3}}, r"offers must be named by text; got 1"),
        ({"offers": {"a": [1, 2, 3]}}, r"offers\['a'\] must have shape \(3, n_options\).*\(3,\)"),
        ({"offers": {"a": [[1, 2]] * 2}}, r"got shape \(2, 2\)"),
        ({"offers": {"a": [[1, 2], [3], [4, 5]]}}, r"got 1 numbers at row 1, but 2 at row 0"),
        (
            {"offers": {"a": [[1, 2], [3, None], [4, 5]]}},
            r"got nan at decision 1.*option 1",
        ),
        ({"offers": {"a": [[1, 2], [3, np.inf], [4, 5]]}}, r"got inf at decision 1"),
        ({"offers": {"a": [[1, 2], ["3,5", 4], [4, 5]]}}, r"decimal comma"),
        (
            {"offers": {"delay": [[1, 2], [3, -4], [4, 5]]}},
            r"negative; got -4 at decision 1",
        ),
        ({"offers": {"probability": [[1, 0.5], [0, 1.2], [0, 0]]}}, r"lie in 0\.\.1; got 1.2 at"),
        (
            {"offers": {"probability": np.full((3, 2, 2), 0.6)}},
            r"sum to at most 1 over the outcomes of an option; got 1.2 at decision 0",
        ),
        (
            {"offers": {"a": [[1, 2]] * 3, "b": [[1, 2, 3]] * 3}},
            r"same options by every attribute; got 2 of a, 3 of b",
        ),
        ({"scored": [1, 0]}, r"scored must have shape \(3,\)"),
        ({"scored": [1, 2, 0]}, r"scored must hold True/False or 0/1; got 2 at decision 1"),
        ({"subject": ["a", "b", "c"]}, r"subject must be one label for all decisions; got list"),
    ],
)
def test_what_cannot_be_offers_is_refused(given, message):
    arguments = {"chosen": [1, 0, 1], "offers": OFFERS, "subject": "anna", **given}
    with pytest.raises(pn.errors.DataError, match=message):
        pn.Offers(**arguments)
