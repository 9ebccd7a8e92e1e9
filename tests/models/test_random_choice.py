"""Random choice: closed forms."""

import numpy as np
import pytest

import penchant as pn
import played


def test_biases_are_log_ratios_of_counts():
    episode = pn.Episode([0, 2, 1, 0, 2, 0, 0, None], [1.0] * 7 + [None])
    estimate = pn.fit(episode, pn.models.RandomChoice(3))
    np.testing.assert_allclose(estimate.theta, np.log([4 / 2, 1 / 2]), rtol=1e-9)
    share = np.array([4, 1, 2]) / 7
    assert estimate.log_likelihood == pytest.approx(7 * (share * np.log(share)).sum(), rel=1e-12)


def test_an_option_never_chosen_separates():
    assert pn.fit(pn.Episode([0, 1, 0], [1, 2, 3]), pn.models.RandomChoice(3)).status == "separated"


def test_rewards_do_not_matter():
    one = played.random_episode(1, 4)
    other = pn.Episode(one.chosen, 5 * one.rewards, is_choice=one.is_choice)
    model = pn.models.RandomChoice(4)
    np.testing.assert_array_equal(model.explanatory(one), model.explanatory(other))
    np.testing.assert_array_equal(model.explanatory(one)[3], np.eye(4)[:, :3])


@pytest.mark.parametrize("n_options", [1, 2.5, "many"])
def test_an_impossible_number_of_options_is_refused(n_options):
    with pytest.raises(pn.errors.DataError, match="n_options must be a whole number, 2 or more"):
        pn.models.RandomChoice(n_options)
