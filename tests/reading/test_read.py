"""`read`: frames and files, what is asked, what is said."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penchant as pn
from laboratory_files import lists_over_options, savers
from penchant.errors import DataError

PLAY = {
    "subject": ["a", "a", "a", "b", "b", "b"],
    "trial": [1, 2, 3, 1, 2, 3],
    "choice": [0, 1, 1, 1, 0, 1],
    "reward": [1.0, 0.0, 1.0, 0.0, 1.0, 1.0],
    "group": ["x", "x", "x", "y", "y", "y"],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_kind_are_read_and_left_as_they_are(frame):
    table = frame(PLAY)
    reading = pn.read(table)
    assert [episode.chosen.tolist() for episode in reading.data] == [[0, 1, 1], [1, 0, 1]]
    assert reading.groups("group") == {"a": "x", "b": "y"}
    np.testing.assert_array_equal(np.asarray(table["trial"]), PLAY["trial"])


def test_a_reading_is_fitted_as_its_data_are():
    reading = pn.read(pa.table(PLAY))
    model = pn.QLearning(n_options=2)
    prior = pn.ScaledPrior()
    theta = pn.fit(reading, model, parameter_prior=prior).theta
    np.testing.assert_array_equal(theta, pn.fit(reading.data, model, parameter_prior=prior).theta)
    assert len(pn.fit_each(reading, model, parameter_prior=prior)) == 2


def test_the_summary_says_what_was_taken_for_what_and_what_to_do_next():
    assert pn.read(pa.table(PLAY)).summary().splitlines() == [
        "the table: task data (choices and rewards)",
        "Columns: chosen = choice; reward = reward; subject = subject; decision = trial",
        "Data: 2 subjects, 2 blocks, 6 trials included of 6 events",
        "Next: pn.fit_each(reading, pn.QLearning(n_options=2))",
    ]


def test_codes_are_in_their_own_order_unless_said_otherwise():
    table = pa.table(PLAY | {"choice": [1, 2, 2, 2, 1, 2]})
    assert pn.read(table).options == {"1": 1, "2": 2}
    turned = pn.read(table, labels=[2, 1])
    assert [one.chosen.tolist() for one in turned.data] == [[1, 0, 0], [0, 1, 0]]


def test_rewards_in_a_currency_are_numbers():
    table = pa.table(PLAY | {"reward": ["£1", "£0", "£1.50", "-£2", "£1", ""]})
    assert pn.read(table).data[0].rewards.tolist() == [1.0, 0.0, 1.5]


def test_a_reward_that_is_no_number_is_named_by_its_row():
    table = pa.table(PLAY | {"reward": ["1", "0", "won", "0", "1", "1"]})
    with pytest.raises(pn.errors.DataError, match="reward must hold numbers; got 'won' at row 2"):
        pn.read(table)


def test_rows_are_named_as_they_were_given_whatever_was_left_out():
    table = pa.table(PLAY | {"reward": ["1", "0", "1", "0", "won", "1"]})
    with pytest.raises(pn.DataError, match="reward must hold numbers; got 'won' at row 4"):
        pn.read(table, keep="subject == 'b'")


def test_choices_and_rewards_beside_attributes_make_the_kind_a_question():
    more = {"cost_left": [1, 2, 3, 4, 5, 6], "cost_right": [6, 5, 4, 3, 2, 1]}
    sides = ["left", "right", "right", "right", "left", "right"]
    table = pa.table(PLAY | more | {"choice": sides})
    with pytest.raises(pn.errors.SchemaQuestions) as raised:
        pn.read(table)
    assert raised.value.questions[0].role == "kind"
    assert pn.read(table, kind="episodes", choice="choice").kind == "play"
    assert pn.read(table, kind="choices", labels=["left", "right"]).data.names == ("cost",)


def test_what_every_option_paid_is_no_choice_experiment():
    more = {"payoff_0": [1, 2, 3, 4, 5, 6], "payoff_1": [6, 5, 4, 3, 2, 1]}
    assert pn.read(pa.table(PLAY | more)).kind == "play"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "bandit"}, "kind must be one of choices, episodes, offers; got 'bandit'"),
        ({"base": 2}, "choice.base must be the number of the first option, at most 1; got 2"),
        ({"keep": "group == 'z'"}, "must leave at least one row; got 0 of 6"),
        ({"choice": "pick"}, "columns.choice must name a column of the table; got 'pick'"),
        (
            {"kind": "episodes", "chosen": "group"},
            'must be left out of a schema of kind = "episodes"',
        ),
        ({"attributes": ["price"]}, "attributes must be {attribute: a column"),
        ({"labels": [0, 0]}, "choice.labels must list every code once; got 0 twice"),
        (
            {"labels": [0, 2]},
            "choice must hold the codes 0, 2, 9; got 1 at row 1",
        ),
    ],
)
def test_wrong_schemas_are_refused(given, said):
    with pytest.raises(pn.DataError, match=said):
        pn.read(pa.table(PLAY), missed=[9], **given)


def test_what_is_no_table_is_refused():
    with pytest.raises(pn.errors.DataError, match="source must be a file, a folder or a pandas"):
        pn.read([1, 2, 3])


def test_groups_must_not_vary_within_a_subject():
    reading = pn.read(pa.table(PLAY))
    with pytest.raises(
        pn.errors.DataError, match="same in all rows of a subject; got 1 and 2 in trial"
    ):
        reading.groups("trial")
    with pytest.raises(pn.errors.DataError, match=r"got 'grop'.*\nDid you mean 'group'"):
        reading.groups("grop")


def test_gambles_in_percent_are_offers():
    rows = [
        {"id": 1, "A_amount": 5, "A_probability": "100%", "B_amount": 20, "B_probability": "30%"}
        | {"answer": answer}
        for answer in ("A", "B", "A")
    ]
    reading = pn.read(pa.Table.from_pylist(rows), labels=["A", "B"])
    assert (reading.kind, reading.next) == (
        "offers",
        "pn.fit(reading, pn.models.ExpectedUtility())",
    )
    np.testing.assert_array_equal(reading.data[0].offers["probability"][0], [1.0, 0.3])
    assert reading.data[0].chosen.tolist() == [0, 1, 0]


def test_what_a_table_says_of_its_people_is_asked_by_name(tmp_path):
    rows = [
        {"who": who, "arm": arm, "age": age, "choice": t % 2, "reward": float(t % 3)}
        for who, arm, age in (("b", "x", 30), ("a", "y", 41), ("c", "x", 52))
        for t in range(6)
    ]
    reading = pn.read(pd.DataFrame(rows), subject="who")
    people = reading.people(["arm", "age"]).to_pydict()
    assert people == {"subject": ["b", "a", "c"], "arm": ["x", "y", "x"], "age": [30, 41, 52]}
    with pytest.raises(DataError, match="column must say the same in all rows of a subject"):
        reading.people(["reward"])


def test_groups_are_told_by_a_series_in_any_order(tmp_path):
    table = pd.DataFrame(
        {"subject": list("aabbccdd"), "choice": [0, 1] * 4, "reward": [1.0, 0.5] * 4}
    )
    reading = pn.read(table)
    estimates = pn.fit_each(reading, pn.models.RandomChoice(2), parameter_prior=pn.ScaledPrior())
    arms = pd.Series(["x", "y", "x", "y"], index=list("abcd"))
    found = [
        pn.compare_groups(estimates, by=by).differences[0].difference
        for by in (arms, arms[::-1], arms.reset_index(drop=True), arms.to_numpy(), dict(arms))
    ]
    assert len(set(found)) == 1


def test_a_population_takes_covariates_of_the_table_that_was_read():
    reading = pn.read(pa.Table.from_pylist(lists_over_options(savers(8, 20, missed=False))))
    model = pn.HyperbolicDiscounting()
    found = pn.fit_population(reading, model, covariates=["group"])
    people = reading.people(["group"])
    again = pn.fit_population(reading.data, model, covariates=["group"], people=people)
    assert found.coefficients.tolist() == again.coefficients.tolist()
    assert "discount_rate:group[young]" in found.names
