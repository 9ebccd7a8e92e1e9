"""One uninterrupted play: what is accepted, what is refused, and where."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penchant.bandit.episode import Episode
from penchant.errors import DataError


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def same(one: Episode, other: Episode) -> None:
    for name in ("chosen", "rewards", "is_choice", "scored"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.subject, one.block) == (other.subject, other.block)


def test_every_choice_is_observed_and_scored():
    episode = Episode([7, 3, 7], [12.5, -4.0, 13.0], subject="anna", block=2)
    assert (episode.n_events, episode.n_decisions) == (3, 3)
    assert episode.observed.all()
    np.testing.assert_array_equal(episode.scored_options, [7, 3, 7])
    np.testing.assert_array_equal(episode.times, [1, 2, 3])
    assert (episode.subject, episode.block, episode.notes) == ("anna", 2, ())
    assert repr(episode) == "Episode: 3 decisions scored of 3 events, subject anna, block 2"


@pytest.mark.parametrize("nothing", [-1, None, np.nan, pd.NA])
def test_a_decision_without_a_choice_takes_its_place_in_time_but_is_not_scored(nothing):
    episode = Episode([5, nothing, 9], [1.5, None, 2.5])
    np.testing.assert_array_equal(episode.chosen, [5, -1, 9])
    np.testing.assert_array_equal(episode.scored, [True, False, True])
    np.testing.assert_array_equal(episode.observed, [True, False, True])
    np.testing.assert_array_equal(episode.times, [1, 2, 3])
    assert episode.n_decisions == 2
    assert episode.notes == ("1 decision without a choice: counted in time, not scored.",)


def test_an_option_shown_is_observed_but_neither_scored_nor_counted_in_time():
    episode = Episode([4, 8, 4], [30.0, 41.0, 33.0], is_choice=[False, True, True])
    assert episode.observed.all()
    np.testing.assert_array_equal(episode.scored_options, [8, 4])
    np.testing.assert_array_equal(episode.times, [0, 1, 2])


def test_scored_leaves_out_more_and_never_less():
    episode = Episode(
        [4, 8, None, 6, 2],
        [30.0, 41.0, None, 33.0, 12.0],
        is_choice=[0, 1, 1, 1, 1],
        scored=[1, 0, 1, 1, 1],
    )
    np.testing.assert_array_equal(episode.scored, [False, False, False, True, True])


def test_the_last_reward_may_be_missing_and_its_choice_is_used():
    episode = Episode([4, 8], [30.0, np.nan])
    assert episode.n_decisions == 2
    np.testing.assert_array_equal(episode.observed, [True, False])
    assert episode.notes == ("The last reward is missing: the last choice is used all the same.",)


def test_an_episode_may_be_empty():
    episode = Episode([], [])
    assert (episode.n_events, episode.n_decisions, episode.notes) == (0, 0, ())
    assert episode.chosen.dtype == np.int64
    episode.check_options(1)


@pytest.mark.parametrize(
    "kind",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda v: np.array(v, dtype=np.uint8),
        lambda v: np.array(v, dtype=np.float32),
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: np.array(v, dtype=object),
    ],
)
def test_any_container_of_whole_numbers_gives_the_same_episode(kind):
    same(Episode(kind([3, 0, 250]), kind([4, 7, 1])), Episode([3, 0, 250], [4.0, 7.0, 1.0]))


def test_arrays_are_locked_copies():
    chosen, rewards = np.array([3, 1]), np.array([0.5, 1.5])
    shown, scored = np.array([True, True]), np.array([True, False])
    episode = Episode(chosen, rewards, is_choice=shown, scored=scored)
    chosen[:], rewards[:], shown[:], scored[:] = 0, 0.0, False, False
    same(episode, Episode([3, 1], [0.5, 1.5], scored=[True, False]))
    for name in ("chosen", "rewards", "is_choice", "scored"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(episode, name)[0] = 1


def test_series_are_put_into_one_order_by_their_index():
    rewards = pd.Series([5.0, 9.0, 7.0], index=["a", "c", "b"])
    episode = Episode(pd.Series([1, 2, 3], index=["a", "b", "c"]), rewards)
    np.testing.assert_array_equal(episode.rewards, [5.0, 7.0, 9.0])


def test_a_missing_reward_before_the_last_is_named_by_decision_subject_and_block():
    with refused(
        "rewards must not be missing before the last decision; got none at decision 1 of subject "
        "anna, block 2.\nFill them, or end the episode there: beliefs after a reward that is not "
        "known are not known either. With a table, missing_reward='truncate' does so; "
        "missing_reward='skip' leaves out these choices alone."
    ):
        Episode([4, 8, 4], [30.0, None, 31.0], subject="anna", block=2)


def test_missing_rewards_are_all_counted_and_ten_are_shown():
    rewards = [1.0] + [np.nan] * 12 + [2.0]
    with refused("at decision 1, decision 2, decision 3, decision 4, decision 5, decision 6"):
        Episode(range(14), rewards)
    with refused("decision 10 (... 12 in all).\nFill"):
        Episode(range(14), rewards)


def test_a_reward_before_a_decision_without_a_choice_is_not_the_last():
    with refused("got none at decision 1."):
        Episode([4, 8, None], [30.0, None, None])


def test_an_option_shown_needs_a_reward_even_at_the_end():
    with refused("rewards must not be missing before the last decision; got none at event 1."):
        Episode([4, 8], [30.0, None], is_choice=[True, False])


def test_an_option_shown_needs_a_name():
    with refused(
        "chosen must name the option that was shown where is_choice is False; got none at event 0."
    ):
        Episode([None, 8], [None, 3.0], is_choice=[False, True])


def test_nothing_chosen_is_paid_nothing():
    with refused(
        "rewards must be missing where nothing was chosen; got 0 at decision 1.\nWrite NaN there; "
        "-1 or an empty choice means that time ran out, so number options from 0."
    ):
        Episode([4, None, 8], [30.0, 0.0, 31.0])


@pytest.mark.parametrize("reward", [np.inf, -np.inf, 1e300, -2e100])
def test_rewards_off_any_scale_are_refused(reward):
    with refused(f"rewards must be finite and not beyond 1e100; got {reward:g} at decision 2."):
        Episode([4, 8, 5], [30.0, 2.0, reward])


def test_rewards_must_be_numbers():
    with refused("rewards must hold numbers; got '3,5' at decision 1 of subject 4.\nIt looks like"):
        Episode([4, 8], [30.0, "3,5"], subject=4)
    with refused("rewards must hold numbers; got dtype datetime64[D]"):
        Episode([4], np.array(["2024-01-01"], dtype="datetime64[D]"))


@pytest.mark.parametrize("chosen", [2.5, -2, np.inf, 1e17])
def test_an_option_is_a_whole_number_from_0(chosen):
    with refused(
        f"chosen must be an option's index, counted from 0; got {chosen:g} at decision 1.\nNumber "
        "the options so; leave the cell empty or write -1 where nothing was chosen."
    ):
        Episode([4, chosen], [30.0, 2.0])


def test_an_option_is_not_text():
    with refused("chosen must hold numbers; got 'NULL' at decision 1."):
        Episode([4, "NULL"], [30.0, None])


def test_shapes_must_agree():
    with refused("chosen must have shape (n_events,); got shape (2, 1)."):
        Episode([[1], [2]], [3.0, 4.0])
    with refused("rewards must have shape (2,), one per event, as chosen has; got shape (3,)."):
        Episode([1, 2], [3.0, 4.0, 5.0])
    with refused("is_choice must have shape (2,), one per event, as chosen has; got shape ()."):
        Episode([1, 2], [3.0, 4.0], is_choice=True)
    with refused("scored must have shape (2,), one per event, as chosen has; got shape (1,)."):
        Episode([1, 2], [3.0, 4.0], scored=[True])


@pytest.mark.parametrize("name", ["is_choice", "scored"])
@pytest.mark.parametrize("value", [2, 0.5, np.nan])
def test_masks_hold_true_and_false(name, value):
    with refused(f"{name} must hold True/False or 0/1; got {value:g} at "):
        Episode([1, 2], [3.0, 4.0], **{name: [1, value]})


@pytest.mark.parametrize("name", ["subject", "block"])
@pytest.mark.parametrize("labels", [[1, 1], np.array([1, 1]), pd.Series([1, 1])])
def test_an_episode_has_one_subject_and_one_block(name, labels):
    with refused(f"{name} must be one label for the whole episode; got {type(labels).__name__}."):
        Episode([1, 2], [3.0, 4.0], **{name: labels})


def test_masked_arrays_are_not_silently_filled():
    with refused("rewards must be a plain array or table; got a masked array."):
        Episode([1, 2], np.ma.masked_array([3.0, 4.0], [False, True]))


def test_options_beyond_the_last_are_named():
    episode = Episode([0, 12, None, 30], [1.0, 2.0, None, 3.0], subject=8)
    episode.check_options(31)
    with refused(
        "chosen must lie in 0..11; got 12 at decision 1 of subject 8, 30 at decision 3 of subject "
        "8.\nOptions are counted from 0."
    ):
        episode.check_options(12)


def test_options_that_look_counted_from_1_are_suspected():
    with refused("It looks 1-based: subtract 1, options are counted from 0."):
        Episode([1, None, 12], [1.0, None, 3.0]).check_options(12)
    with refused("Options are counted from 0."):
        Episode([0, None, 12], [1.0, None, 3.0]).check_options(12)


def test_an_episode_grown_event_by_event_is_the_episode_made_at_once():
    grown = Episode([], [], subject=3, block="b")
    grown = grown.extended(6, 20.5, is_choice=False)
    grown = grown.extended(4, 30.0, scored=False).extended(None).extended(np.int64(8), 2)
    whole = Episode(
        [6, 4, None, 8, 1],
        [20.5, 30.0, None, 2.0, None],
        is_choice=[0, 1, 1, 1, 1],
        scored=[1, 0, 1, 1, 1],
        subject=3,
        block="b",
    )
    same(grown.extended(1), whole)
    assert grown.n_events == 4
    assert not grown.extended(1).rewards.flags.writeable


def test_nothing_follows_a_choice_whose_reward_is_missing():
    with refused(
        "rewards must not be missing before the last decision; got none at decision 1 of subject 3."
    ):
        Episode([4, 8], [30.0, None], subject=3).extended(5, 2.0)


@pytest.mark.parametrize(
    ("chosen", "reward", "message"),
    [
        (2.5, 1.0, "chosen must be an option's index, counted from 0; got 2.5 at decision 2."),
        ("x", 1.0, "chosen must hold numbers; got 'x' at decision 2."),
        (3, np.inf, "rewards must be finite and not beyond 1e100; got inf at decision 2."),
        (None, 1.0, "rewards must be missing where nothing was chosen; got 1 at decision 2."),
    ],
)
def test_a_wrong_event_is_refused_with_its_place_in_time(chosen, reward, message):
    episode = Episode([4, 8], [30.0, 31.0])
    with refused(message):
        episode.extended(chosen, reward)
    same(episode, Episode([4, 8], [30.0, 31.0]))
