"""Rewards, losses and distances, decision by decision, against a loop over the table."""

import math

import numpy as np
import pytest

import penchant as pn
from penchant.studies.landscapes import Measurer, Measures, average_measures, landscapes_of, mean_of
from small_study import HEIGHT, MEANS, N_OPTIONS, WIDTH, data, table

PLACES = pn.grid(WIDTH, HEIGHT)


def measurer(frame=None, known=MEANS, locations=PLACES):
    read = data(frame)
    return Measurer(read, landscapes_of(read, N_OPTIONS, locations, known), locations)


def test_measures_are_those_of_a_loop_over_the_rows():
    found = measurer().subject("b02")
    rows = table()[table().subject == "b02"].choice.tolist()
    regret = 0.0
    for t, option in enumerate(rows):
        mean = MEANS["B"][option]
        regret += 13.0 - mean
        assert found.reward[t] == mean
        assert found.loss[t] == 13.0 - mean
        assert found.regret[t] == pytest.approx(regret, rel=1e-12)
        if t:
            before = rows[t - 1]
            apart = math.hypot(option % 4 - before % 4, option // 4 - before // 4)
            assert found.distance[t] == pytest.approx(apart, rel=1e-12)
    assert math.isnan(found.distance[0])


def test_regret_equals_that_of_the_library():
    one = measurer()
    landscape = pn.Landscape(MEANS["A"], pn.GaussianNoise(2.5))
    np.testing.assert_allclose(
        one.subject("a01").regret,
        pn.results.cumulative_regret(one.data.episodes[1], landscape),
        rtol=1e-12,
    )


def test_with_unknown_means_rewards_received_count():
    one = measurer(known=None)
    found = one.subject("a00")
    episode = one.data.episodes[0]
    np.testing.assert_array_equal(found.reward, episode.rewards)
    np.testing.assert_array_equal(found.loss, one.landscapes.best[0] - episode.rewards)


def test_without_places_a_step_is_to_another_option_or_none():
    found = measurer(locations=None).subject("a00")
    rows = table()[table().subject == "a00"].choice.to_numpy()
    np.testing.assert_array_equal(found.distance[1:], rows[1:] != rows[:-1])


def test_a_decision_without_a_choice_loses_nothing_and_is_no_step():
    frame = table().astype({"choice": float})
    frame.loc[4, ["choice", "reward"]] = np.nan
    found = measurer(frame).subject("a00")
    assert np.isnan(found.loss[4])
    assert found.regret[4] == found.regret[3]
    assert np.isnan(found.distance[[4, 5]]).all()
    assert np.isfinite(found.distance[[3, 6]]).all()


def test_episodes_are_averaged_where_they_have_a_decision():
    frame = table().assign(block=np.where(table().trial <= 12, 1, 2))
    frame["trial"] = np.where(frame.block == 1, frame.trial, frame.trial - 12)
    one = measurer(frame)
    first, second = one.episode(0), one.episode(1)
    both = one.subject("a00")
    assert len(both.reward) == 18
    np.testing.assert_allclose(both.loss[:12], (first.loss + second.loss[:12]) / 2, rtol=1e-12)
    np.testing.assert_array_equal(both.loss[12:], second.loss[12:])


def test_what_is_not_known_is_left_out_of_means():
    made = mean_of([np.array([1.0, np.nan, 5.0]), np.array([3.0, np.nan])])
    np.testing.assert_array_equal(made, [2.0, np.nan, 5.0])
    one = Measures(np.array([1.0]), np.array([2.0]), np.array([np.nan]))
    assert average_measures([one, one]).reward.tolist() == [1.0]
