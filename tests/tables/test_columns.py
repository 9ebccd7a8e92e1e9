"""Which column of a table of play is what."""

import re

import pytest

from penchant.errors import DataError
from penchant.tables.play_columns import columns_used, describe_columns, is_play, play_columns


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["subjID", "trial", "choice", "outcome"],
            {"subject": "subjID", "decision": "trial", "chosen": "choice", "reward": "outcome"},
        ),
        (
            ["trial", "subjID", "choice", "gain", "loss"],
            {"subject": "subjID", "reward": ("gain", "loss"), "chosen": "choice"},
        ),
        (
            ["rt", "response", "trial_index", "subject_id", "points", "block"],
            {
                "subject": "subject_id",
                "decision": "trial_index",
                "chosen": "response",
                "reward": "points",
                "block": "block",
            },
        ),
        (
            ["Participant.ID", "Round", "Trial Number", "Choice", "Reward"],
            {
                "subject": "Participant.ID",
                "block": "Round",
                "decision": "Trial Number",
                "chosen": "Choice",
                "reward": "Reward",
            },
        ),
    ],
    ids=["hBayesDM", "hBayesDM, gain and loss", "jsPsych", "by hand"],
)
def test_usual_names_are_recognised(names, expected):
    found = play_columns(names)
    assert {part: found[part] for part in expected} == expected


def test_a_name_that_is_meant_literally_goes_before_one_that_is_like_it():
    assert play_columns(["Choice", "choice", "reward"])["chosen"] == "choice"


def test_what_is_given_is_not_found():
    found = play_columns(["choice", "arm", "reward"], {"chosen": "arm"})
    assert found["chosen"] == "arm"


def test_none_leaves_a_column_out():
    found = play_columns(["choice", "reward", "trial"], {"decision": "none"})
    assert found["decision"] is None


def test_a_column_given_for_the_option_is_not_found_for_another_part():
    assert play_columns(["t", "reward", "trial"], {"chosen": "t"})["decision"] == "trial"


def test_coordinates_say_the_option_only_where_options_have_places():
    names = ["subject", "x", "y", "reward"]
    assert play_columns(names, coordinates=2)["chosen"] == ("x", "y")
    message = "`chosen` must be given, as no column is called chosen or choice or option; got"
    with pytest.raises(DataError, match=re.escape(message)):
        play_columns(names)


def test_an_unknown_column_is_named_with_the_nearest():
    message = "`reward` must name a column; got 'rewrd', but they are choice, reward.\nDid you mean"
    with pytest.raises(DataError, match=re.escape(message)):
        play_columns(["choice", "reward"], {"reward": "rewrd"})


def test_words_say_every_part_once():
    found = play_columns(["x", "y", "gain", "loss", "t"], coordinates=2)
    assert describe_columns(found) == "chosen = (x, y); reward = gain - |loss|; decision = t"
    assert columns_used(found) == {"x", "y", "gain", "loss", "t"}


@pytest.mark.parametrize(
    ("names", "play"),
    [
        (["subject", "trial", "choice", "reward"], True),
        (["who", "x", "y", "points"], True),
        (["subject", "option", "payoff"], True),
        (["decision", "option", "chosen", "reward"], False),
        (["chid", "alt", "choice", "gain"], False),
        (["subject", "choice", "price"], False),
    ],
)
def test_a_history_of_play_is_told_from_options_on_offer(names, play):
    assert is_play(names) is play


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["id", "round", "trial", "x", "y", "z", "score"],
            {"subject": "id", "chosen": ("x", "y"), "reward": "score"},
        ),
        (
            ["sub_id", "trial_num", "stim_chosen", "reward_received"],
            {"subject": "sub_id", "decision": "trial_num", "chosen": "stim_chosen"},
        ),
        (["subj_idx", "response", "feedback"], {"subject": "subj_idx", "reward": "feedback"}),
        (["id", "subject", "choice", "reward"], {"subject": "subject"}),
    ],
    ids=["a grid", "an experiment", "HDDM", "a number of each row"],
)
def test_names_of_laboratories_are_recognised(names, expected):
    found = play_columns(names, coordinates=2)
    assert {part: found[part] for part in expected} == expected


def test_blocks_are_told_apart_by_session_and_number():
    names = ["subject", "session", "block", "choice", "reward"]
    found = play_columns(names)
    assert found["block"] == ("session", "block")
    assert describe_columns(found).endswith("subject = subject; block = (session, block)")
    assert play_columns(["subject", "Session", "choice", "reward"])["block"] == "Session"
    assert play_columns(names, {"block": "block"})["block"] == "block"
    assert play_columns(names, {"block": "none"})["block"] is None


def test_a_forced_choice_is_no_choice():
    names = ["subject", "game", "trial", "forced", "choice", "reward"]
    found = play_columns(names)
    assert found["is_choice"] == "not forced"
    assert describe_columns(found).endswith("is_choice = not forced")
    assert columns_used(found) == set(names)
    assert play_columns([*names, "is_choice"])["is_choice"] == "is_choice"
    assert play_columns(names, {"is_choice": "none"})["is_choice"] is None
    assert play_columns(names, {"scored": "not trial"})["scored"] == "not trial"
    with pytest.raises(DataError, match="`scored` must name a column; got 'not tril'"):
        play_columns(names, {"scored": "not tril"})
