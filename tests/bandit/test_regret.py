"""What was lost by not choosing the best option."""

import re

import numpy as np
import pytest

from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, cumulative_regret
from penchant.errors import DataError

LANDSCAPE = Landscape([10.0, 42.0, 25.5, 31.0], GaussianNoise(4.0))


def played(n: int = 40, seed: int = 2) -> Episode:
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, 4, size=n)
    return Episode(chosen, [LANDSCAPE.draw(i, rng=rng) for i in chosen])


@pytest.mark.parametrize("kind", ["expected", "received"])
def test_regret_is_the_literal_sum(kind):
    episode = played()
    total, sums = 0.0, []
    for i, r in zip(episode.chosen, episode.rewards, strict=True):
        total += 42.0 - (LANDSCAPE.mean_rewards[i] if kind == "expected" else r)
        sums.append(total)
    # the same sums in the same order
    np.testing.assert_allclose(cumulative_regret(episode, LANDSCAPE, kind), sums, rtol=1e-14)


def test_expected_regret_never_falls_and_is_the_default():
    regret = cumulative_regret(played(), LANDSCAPE)
    assert (np.diff(regret) >= 0).all()
    np.testing.assert_array_equal(regret, cumulative_regret(played(), LANDSCAPE, "expected"))


def test_always_choosing_the_best_option_is_never_regretted():
    assert not cumulative_regret(Episode([1] * 5, [40.0] * 5), LANDSCAPE).any()


@pytest.mark.parametrize("kind", ["expected", "received"])
def test_a_decision_without_a_choice_adds_nothing_but_takes_its_place(kind):
    whole = Episode([2, 0, 3], [24.0, 11.0, 30.5])
    late = Episode([2, None, 0, 3, None], [24.0, None, 11.0, 30.5, None])
    a, b, c = cumulative_regret(whole, LANDSCAPE, kind)
    np.testing.assert_array_equal(cumulative_regret(late, LANDSCAPE, kind), [a, a, b, c, c])


@pytest.mark.parametrize("kind", ["expected", "received"])
def test_options_shown_are_not_regretted_and_unscored_choices_are(kind):
    shown = Episode([3, 2, 0], [30.0, 24.0, 11.0], is_choice=[0, 1, 1], scored=[1, 0, 1])
    plain = Episode([2, 0], [24.0, 11.0])
    np.testing.assert_array_equal(
        cumulative_regret(shown, LANDSCAPE, kind), cumulative_regret(plain, LANDSCAPE, kind)
    )


def test_a_last_reward_that_is_missing_leaves_the_last_regret_unknown():
    episode = Episode([2, 0], [24.0, np.nan])
    np.testing.assert_array_equal(cumulative_regret(episode, LANDSCAPE, "received"), [18, np.nan])
    np.testing.assert_array_equal(cumulative_regret(episode, LANDSCAPE), [16.5, 48.5])


def test_an_episode_without_events_has_no_regret():
    assert cumulative_regret(Episode([], []), LANDSCAPE).shape == (0,)


def test_regret_is_expected_or_received():
    with pytest.raises(DataError, match="kind must be 'expected' or 'received'; got 'mean'"):
        cumulative_regret(played(), LANDSCAPE, "mean")


def test_only_options_of_the_landscape_can_be_regretted():
    with pytest.raises(DataError, match=re.escape("chosen must lie in 0..3; got 7 at decision 1")):
        cumulative_regret(Episode([0, 7], [1.0, 2.0]), LANDSCAPE)
