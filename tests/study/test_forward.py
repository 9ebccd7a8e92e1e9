"""Agents that play again: in the same task, by their own choices."""

import numpy as np
import pandas as pd
import pytest

import penchant as pn
from penchant.studies.fitting import simulate_agents
from penchant.studies.landscapes import Measurer, landscapes_of
from small_study import HEIGHT, MEANS, MODEL, N_OPTIONS, WIDTH, data, table

TRUTH = {"decision_noise": 3.0, "prior_mean": 9.0, "prior_variance": 25.0}
PLACES = pn.grid(WIDTH, HEIGHT)


def measurer(frame=None, known=MEANS):
    read = data(frame)
    return Measurer(read, landscapes_of(read, N_OPTIONS, PLACES, known), PLACES)


def again(one, subject="a00", n=40, seed=1, model=MODEL, parameters=TRUTH):
    rng = np.random.default_rng(seed)
    return simulate_agents(subject, parameters, model, one, n_replicates=n, rng=rng)


def test_the_seed_alone_decides():
    one, other, third = again(measurer()), again(measurer()), again(measurer(), seed=2)
    np.testing.assert_array_equal(one.reward, other.reward)
    assert (one.reward != third.reward).any()


def test_agents_do_what_simulated_agents_do():
    found = again(measurer(), n=600)
    landscape = pn.Landscape(MEANS["A"], pn.GaussianNoise(2.5))
    played = pn.simulate(
        landscape, MODEL, TRUTH, n_decisions=30, n_subjects=600, rng=np.random.default_rng(9)
    )
    rewards = MEANS["A"][np.array([e.chosen for e in played])]
    error = rewards.std(axis=0) * np.sqrt(2 / 600)
    assert (np.abs(found.reward - rewards.mean(axis=0)) < 4.5 * error + 1e-9).all()


def test_decisions_that_were_missed_are_missed_again():
    frame = table().astype({"choice": float})
    frame.loc[[3, 4], ["choice", "reward"]] = np.nan
    found = again(measurer(frame))
    assert np.isnan(found.reward[[3, 4]]).all()
    assert np.isfinite(found.reward[[2, 5]]).all()


def test_what_was_shown_is_shown_again_and_takes_no_time():
    frame = table().assign(is_choice=1)
    shown = frame[frame.trial == 1].assign(trial=0, is_choice=0, choice=7, reward=15.0)
    told = measurer(pd.concat([frame, shown]))
    sure = TRUTH | {"decision_noise": 1e-3}
    found = again(told, parameters=sure, n=300)
    assert len(found.reward) == 30
    # the first choice is at t = 1, where log t = 0: uniform, whatever was shown
    error = MEANS["A"].std() / np.sqrt(300)
    assert abs(found.reward[0] - MEANS["A"].mean()) < 4.5 * error


class Bare:
    """A learner as a user writes one, without agents of its own."""

    weights = ("inverse_temperature",)
    shape = (pn.models.Shape("learning_rate", 0.01, 1.0),)

    def explanatory(self, episode, learning_rate):
        values = np.zeros(N_OPTIONS)
        x = np.empty((episode.n_events, N_OPTIONS, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            if option >= 0:
                values[option] += learning_rate * (reward - values[option])
        return x


def test_a_model_of_ones_own_plays_again_as_the_one_with_agents():
    frame = table().astype({"choice": float}).assign(is_choice=1)
    frame.loc[[3, 4], ["choice", "reward"]] = np.nan
    shown = frame[frame.trial == 1].assign(trial=0, is_choice=0, choice=7, reward=15.0)
    told = measurer(pd.concat([frame, shown]))
    rule = {"inverse_temperature": 0.4, "learning_rate": 0.3}
    ours = again(told, model=Bare(), parameters=rule, n=2)
    rule = {"temperature": 2.5, "learning_rate": 0.3}
    theirs = again(told, model=pn.QLearning(N_OPTIONS, initial_value=0.0), parameters=rule, n=2)
    np.testing.assert_allclose(ours.reward, theirs.reward, rtol=1e-12)


def test_rewards_of_0_and_1_are_drawn_as_such():
    frame = table().assign(reward=(table().reward > 8).astype(float))
    one = measurer(frame, known=None)
    learner = pn.QLearning(N_OPTIONS)
    found = again(one, model=learner, parameters={"temperature": 0.5, "learning_rate": 0.3}, n=1)
    assert set(np.unique(found.reward)) <= {0.0, 1.0}


def test_every_episode_of_a_subject_is_played():
    frame = table().assign(block=np.where(table().trial <= 12, 1, 2))
    found = again(measurer(frame))
    assert len(found.reward) == 18


@pytest.mark.parametrize("missing", ["prior_mean", "decision_noise"])
def test_parameters_must_be_complete(missing):
    parameters = {k: v for k, v in TRUTH.items() if k != missing}
    with pytest.raises(pn.errors.DataError, match=f"got none for {missing}"):
        again(measurer(), parameters=parameters)
