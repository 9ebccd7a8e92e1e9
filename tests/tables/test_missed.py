"""Decisions without a choice, as tables mark them."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from penchant.bandit.episode_table import episodes_from_frame
from penchant.errors import DataError

PLAY = {"subject": "who", "decision": "trial", "chosen": "choice", "reward": "points"}


def table(choice, points) -> pd.DataFrame:
    trial = np.arange(1, len(choice) + 1)
    return pd.DataFrame({"who": "ann", "trial": trial, "choice": choice, "points": points})


@pytest.mark.parametrize("nothing", [None, -1])
@pytest.mark.parametrize("filler", [None, 0, -1])
@pytest.mark.parametrize("base", [0, 1])
def test_a_missed_decision_may_have_a_reward_that_means_nothing(nothing, filler, base):
    choice = [2 + base, nothing, 0 + base, nothing]
    (episode,) = episodes_from_frame(table(choice, [7, filler, -3, filler]), **PLAY, base=base)
    assert episode.chosen.tolist() == [2, -1, 0, -1]
    np.testing.assert_array_equal(episode.rewards, [7, np.nan, -3, np.nan])
    assert episode.n_decisions == 2


def test_0_is_no_option_where_they_are_counted_from_1():
    (episode,) = episodes_from_frame(table([1, 0, 2, 0], [7, 0, 5, 0]), **PLAY, base=1)
    assert episode.chosen.tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize("rewards", [[7, 0, 5, 4], [7, 3, 5, 3]])
def test_rewards_that_mean_something_are_not_dropped(rewards):
    message = "chosen must be an option's index, counted from 1; got 0 at row 1"
    with pytest.raises(DataError, match=re.escape(message)):
        episodes_from_frame(table([1, 0, 2, 0], rewards), **PLAY, base=1)
    message = "rewards must be missing where nothing was chosen; got"
    with pytest.raises(DataError, match=re.escape(message)):
        episodes_from_frame(table([1, -1, 2, -1], rewards), **PLAY)


@pytest.mark.parametrize(
    ("choice", "points"),
    [([1, 0, 1, 0], [7, 0, 5, 0]), ([1, 0, 2, 0], [7, 0, 5, 1]), ([1, 0, 2, 0], [0, 0, 0, 0])],
    ids=["two options", "it paid once", "nothing ever paid"],
)
def test_other_zeros_are_options_like_others(choice, points):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (episode,) = episodes_from_frame(table(choice, points), **PLAY)
    assert episode.chosen.tolist() == choice


@pytest.mark.parametrize("word", ["timeout", "Missed", "no response", "NA"])
def test_words_say_that_nothing_was_chosen(word):
    frame = table(["A", word, "B", word], [7, 0, 5, 0])
    (episode,) = episodes_from_frame(frame, **PLAY, options=["A", "B"])
    assert episode.chosen.tolist() == [0, -1, 1, -1]


def test_a_play_may_be_named_by_session_and_block():
    frame = pd.DataFrame(
        {
            "who": ["bo"] * 6,
            "session": [1, 1, 1, 2, 2, 2],
            "block": [1, 2, 10, 1, 2, 10],
            "choice": [0, 1, 1, 0, 1, 1],
            "points": range(6),
        }
    )
    episodes = episodes_from_frame(
        frame, chosen="choice", reward="points", subject="who", block=("session", "block")
    )
    assert [episode.block for episode in episodes] == ["1/1", "1/2", "1/10", "2/1", "2/2", "2/10"]
    assert [episode.rewards.tolist() for episode in episodes] == [[r] for r in range(6)]
