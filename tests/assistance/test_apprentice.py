"""A machine that watched an expert, and goes on alone."""

import numpy as np
import pytest

from penchant.assistance.team import (
    BASELINES,
    CURRENT_PLAY,
    TRANSFERS,
    RecurringLandscapes,
    WatchedRewards,
    apprentice_gains,
)
from penchant.bandit.episode import Episode


def watched(hills=None):
    hills = RecurringLandscapes() if hills is None else hills
    plays = [Episode([3, 41, 41], [44.0, 20.0, 23.0]), Episode([41, 70], [33.0, 25.0])]
    return WatchedRewards.of(hills, plays)


def test_rewards_of_other_plays_count_as_far_as_a_landscape_stays():
    """The posterior is that of a Gaussian field over every play and option."""
    known = watched().observe(3, 51.0)
    hills, n = RecurringLandscapes(), 100
    correlation = hills.world.field.covariance() / hills.persistent_sd**2
    # three landscapes, the present one last
    joint = np.kron(np.ones((3, 3)), hills.persistent_sd**2 * correlation)
    joint += np.kron(np.eye(3), hills.new_sd**2 * correlation)
    at = np.array([3, 41, 41, n + 41, n + 70, 2 * n + 3])
    paid = np.array([44.0, 20.0, 23.0, 33.0, 25.0, 51.0])
    inner = joint[np.ix_(at, at)] + 10.0 * np.eye(6)
    gain = np.linalg.solve(inner, joint[at][:, 2 * n :]).T
    mean, sd = known.posterior()
    np.testing.assert_allclose(mean, 30 + gain @ (paid - 30), rtol=1e-9)
    variance = np.diag(joint)[2 * n :] - np.einsum("ij,ij->i", gain, joint[2 * n :][:, at])
    np.testing.assert_allclose(sd, np.sqrt(variance), rtol=1e-7)
    assert known.plays[-1] == CURRENT_PLAY


def test_a_map_that_rewards_follow_is_trusted_and_leaves_less_open():
    belief = np.linspace(-20, 20, 100)
    follows = WatchedRewards.of(
        RecurringLandscapes(),
        [Episode([2, 50, 97], [30 + belief[2], 30 + belief[50], 30 + belief[97]])],
    )
    against = WatchedRewards.of(
        RecurringLandscapes(),
        [Episode([2, 50, 97], [30 - belief[2], 30 - belief[50], 30 - belief[97]])],
    )
    right, wrong = follows.with_map(belief), against.with_map(belief)
    assert right.expected[97] > 40 and right.persistent_variance < follows.persistent_variance
    np.testing.assert_array_equal(wrong.expected, against.expected)  # below a fifth it is off
    assert wrong.persistent_variance == against.persistent_variance


def test_every_way_to_take_over_is_played_on_the_same_landscapes():
    found = apprentice_gains(
        1,
        n_experts=2,
        rng=np.random.default_rng(4),
        hills=RecurringLandscapes(n_decisions=6),
    )
    assert set(found.regret) == {*BASELINES, *TRANSFERS}
    assert all((each >= 0).all() and len(each) == 2 for each in found.regret.values())
    again = apprentice_gains(
        1,
        n_experts=2,
        rng=np.random.default_rng(4),
        hills=RecurringLandscapes(n_decisions=6),
    )
    np.testing.assert_array_equal(again.regret["map"], found.regret["map"])
    mean, half = found.difference("map", "no prior")
    assert mean == pytest.approx((found.regret["map"] - found.regret["no prior"]).mean())
    assert half > 0


@pytest.mark.slow
def test_a_map_of_four_plays_helps_and_adds_nothing_where_rewards_carry_over():
    found = apprentice_gains(4, n_experts=60, rng=np.random.default_rng(8))
    mean, half = found.difference("map", "no prior")
    assert mean + half < 0
    mean, half = found.difference("rewards and map", "rewards")
    assert mean - half < 0.25
