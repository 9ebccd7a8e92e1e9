"""The data of a study: conditions, landscapes, expected rewards, and what tables have wrong."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.files.output import write_table
from small_study import MEANS, data, table

BACKENDS = [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas]


def refused(message, frame=None, **options):
    frame = table() if frame is None else frame
    before = frame.copy(deep=True)
    with pytest.raises(DataError, match=re.escape(message)):
        data(frame, **options)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_subjects_episodes_and_conditions_are_read_from_any_frame(backend):
    found = data(backend(table()))
    assert found.subjects == ("a00", "a01", "a02", "a03", "a04", "b00", "b01", "b02", "b03")
    assert len(found.episodes) == 9
    assert found.condition("a03") == "A"
    assert found.condition("b00") == "B"
    assert found.landscapes == (("A",),) * 5 + (("B",),) * 4
    assert found.columns == (
        "chosen = choice; reward = reward; subject = subject; decision = trial"
    )
    assert repr(found) == "<StudyData: 9 subjects, 9 episodes, 270 decisions scored>"


def test_without_conditions_all_subjects_are_one():
    assert data(conditions=[]).condition("a00") == "all subjects"


def test_several_conditions_are_one_label():
    frame = table().assign(drug=np.where(table().subject.str.endswith("1"), "dopa", "placebo"))
    assert data(frame, conditions=["landscape", "drug"]).condition("b01") == "B, dopa"


def test_the_order_of_rows_does_not_matter():
    shuffled = table().sample(frac=1, random_state=4)
    for one, other in zip(data().episodes, data(shuffled).episodes, strict=True):
        assert one.subject == other.subject
        np.testing.assert_array_equal(one.chosen, other.chosen)
        np.testing.assert_array_equal(one.rewards, other.rewards)


def test_a_condition_is_one_for_all_rows_of_a_play():
    frame = table()
    frame.loc[[0, 3], "landscape"] = "B"
    refused(
        "condition must be the same in all rows of a play, in which beliefs go on; got another at "
        "row 1 (subject a00).\nName the column that tells plays apart with `block`",
        frame,
        landscape_by=[],
        conditions=["landscape"],
    )


def test_a_condition_is_not_missing():
    frame = table()
    frame.loc[4, "landscape"] = None
    refused("condition 'landscape' must not be missing; got an empty cell at row 4.\nFill", frame)


def test_a_landscape_is_one_for_all_rows_of_an_episode():
    frame = table().assign(place=["x"] * 7 + ["y"] * (len(table()) - 7))
    refused(
        "landscape_by 'place' must be the same in all rows of an episode; got x and y at row 7 "
        "(subject a00, block None).",
        frame,
        landscape_by=["place"],
    )


def test_columns_must_exist():
    refused(
        "condition must name a column of the table; got 'landscpe' for condition, but the columns "
        "are subject, landscape, trial, choice, reward.\nDid you mean 'landscape'?",
        conditions=["landscpe"],
    )


def test_a_study_has_subjects():
    refused(
        "`subject` must be given, as no column is called subject or participant; got columns "
        "label, ",
        table().rename(columns={"subject": "label"}),
    )


def test_expected_rewards_stand_beside_every_choice():
    frame = table()
    frame["mean"] = [MEANS[p][c] for p, c in zip(frame.landscape, frame.choice, strict=True)]
    found = data(frame, expected="mean")
    for episode, expected, (place,) in zip(
        found.episodes, found.expected, found.landscapes, strict=True
    ):
        np.testing.assert_array_equal(expected, MEANS[place][episode.chosen])
    frame.loc[3, "mean"] = np.nan
    refused(
        "expected 'mean' must be a number where an option was chosen; got nan at row 3 (subject "
        "a00).\nFill it, or leave the column out.",
        frame,
        expected="mean",
    )


def test_play_that_is_cut_short_keeps_the_expected_rewards_of_what_is_left():
    frame = table()
    frame["mean"] = [MEANS[p][c] for p, c in zip(frame.landscape, frame.choice, strict=True)]
    frame.loc[4, "reward"] = np.nan
    found = data(frame, expected="mean", missing_reward="truncate", shown=1)
    assert found.episodes[0].n_events == len(found.expected[0]) == 5
    assert [int(e.is_choice.sum()) for e in found.episodes][:2] == [4, 29]


def test_timeouts_and_absent_rows_are_told():
    frame = table().astype({"choice": float})
    frame.loc[[5, 6], ["choice", "reward"]] = np.nan
    frame = frame.drop(index=[40, 41])
    found = data(frame, gaps="timeout")
    assert found.notes == (
        "4 decisions without a choice, in 2 subjects (a00, a01): counted in time, not scored.",
    )
    assert found.episodes[1].chosen[10:12].tolist() == [-1, -1]
    refused("decision must count on without a gap; got 13 after 10 at row 40", frame.reset_index())


def test_a_last_reward_that_is_missing_and_silent_subjects_are_told():
    frame = table().astype({"choice": float})
    frame.loc[29, "reward"] = np.nan
    frame.loc[frame.subject == "b03", ["choice", "reward"]] = np.nan
    notes = data(frame).notes
    assert notes[1] == (
        "The last reward is missing in 1 episode (subject a00): the last choice is used all the "
        "same."
    )
    assert notes[2] == "No decision to score, and no estimate: 1 subject (b03)."


def test_names_of_other_programs_give_the_same_data():
    frame = table().assign(choice=table().choice + 1)
    names = {"subject": "subjID", "reward": "outcome", "landscape": "condition"}
    found = data(frame.rename(columns=names), conditions=["condition"], base=1)
    for one, other in zip(data().episodes, found.episodes, strict=True):
        np.testing.assert_array_equal(one.chosen, other.chosen)


def test_blocks_of_different_horizons_whose_numbers_run_on():
    frame = table().assign(block=np.where(table().trial <= 12, 1, 2))
    found = data(frame)
    assert len(found.episodes) == 18
    assert [e.n_events for e in found.episodes[:2]] == [12, 18]
    assert found.of("a01") == [2, 3]


@pytest.mark.evidence
def test_real_people_go_through_unchanged(evidence):
    path = evidence / "data" / "gridsearch2d" / "choices.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    found = pn.read_study(
        pd.read_csv(path),
        conditions=["environment"],
        landscape_by=["environment", "env_id"],
        locations=pn.grid(11, 11),
    )
    assert repr(found) == "<StudyData: 40 subjects, 320 episodes, 9600 decisions scored>"
    assert found.notes == ("320 options shown before or between choices: learnt from.",)


def test_the_columns_tell_play_from_offers(tmp_path):
    offers = pn.datasets.load("delays")
    assert not pn.read_study(offers).is_play
    assert data().is_play
    file = tmp_path / "delays.parquet"
    write_table(file, offers, overwrite=False)
    again = pn.read_study(file)
    assert repr(again) == repr(pn.read_study(offers, kind="offers"))
    with pytest.raises(pn.errors.DataError, match="kind must be 'play' or 'offers'; got 'trials'"):
        pn.read_study(offers, kind="trials")
    with pytest.raises(
        pn.errors.DataError, match="expected must be left out for choices among offers"
    ):
        pn.read_study(offers, expected="delay_later")
    with pytest.raises(pn.errors.DataError, match="offers must be left out for play; got some"):
        pn.read_study(table(), kind="play", offers={"amount": ["a", "b"]})
