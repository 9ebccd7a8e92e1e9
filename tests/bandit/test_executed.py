"""Proposed and executed apart: choices are scored on the one, beliefs move with the other."""

import re

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_softmax
from tests import played
from tests.learners import CASES

import penchant as pn
from penchant.errors import DataError
from penchant.models.simulate import play_like
from penchant.models.task import Task
from penchant.workflow.model_selection import copy_with_scored_mask

CHOSEN = [4, 2, 6, 1, 3, 0, 5, 2]
EXECUTED = [4, 5, 6, 3, 3, 1, 5, 4]
REWARDS = [31.0, 22.5, 18.0, 44.0, 39.5, 27.0, 35.0, 41.0]


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def assisted(seed: int, n_options: int, n_events: int = 60, spread: float = 1.0):
    """Random proposals, of which a third are executed otherwise."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, n_options, n_events)
    other = rng.integers(0, n_options, n_events)
    executed = np.where(rng.random(n_events) < 0.35, other, chosen)
    return pn.Episode(chosen, spread * rng.random(n_events), executed=executed)


def test_choices_are_those_proposed_and_what_is_learnt_from_is_that_executed():
    episode = pn.Episode(chosen=CHOSEN, executed=EXECUTED, rewards=REWARDS)
    np.testing.assert_array_equal(episode.scored_options, CHOSEN)
    np.testing.assert_array_equal(episode.executed_episode.chosen, EXECUTED)
    np.testing.assert_array_equal(episode.executed_episode.rewards, REWARDS)
    assert episode.executed_episode.executed_episode is episode.executed_episode
    assert episode.notes == (
        "4 decisions executed otherwise than chosen: the choice is scored, what was executed is "
        "learnt from.",
    )
    assert not episode.executed.flags.writeable


def test_an_episode_executed_as_chosen_is_the_same_as_one_that_does_not_say():
    silent = pn.Episode(CHOSEN, REWARDS)
    said = pn.Episode(CHOSEN, REWARDS, executed=CHOSEN)
    assert said.executed_episode is said and silent.executed_episode is silent
    assert said.notes == silent.notes == ()


def test_a_proposal_that_was_not_executed_is_scored_and_an_act_without_one_is_learnt_from():
    episode = pn.Episode(
        chosen=[4, 2, None, 3], executed=[4, None, 5, 3], rewards=[9.0, None, 7.0, None]
    )
    np.testing.assert_array_equal(episode.scored, [True, True, False, True])
    np.testing.assert_array_equal(episode.observed, [True, False, True, False])
    np.testing.assert_array_equal(episode.executed_episode.chosen, [4, -1, 5, 3])
    np.testing.assert_array_equal(episode.times, [1, 2, 3, 4])


def test_what_was_executed_must_be_possible():
    with refused("executed must have shape (3,), one per event, as chosen has; got shape (2,)."):
        pn.Episode([1, 2, 0], [5.0, 6.0, 7.0], executed=[1, 2])
    with refused("executed must be an option's index, counted from 0; got 1.5 at decision 1."):
        pn.Episode([1, 2], [5.0, 6.0], executed=[1, 1.5])
    with refused("rewards must be missing where nothing was executed; got 6 at decision 1."):
        pn.Episode([1, 2], [5.0, 6.0], executed=[1, -1])
    with refused("rewards must not be missing before the last decision; got none at decision 0."):
        pn.Episode([1, 2], [None, 6.0], executed=[0, 2])
    with refused(
        "executed must be the option that was shown where is_choice is False; got 2 at event 0."
    ):
        pn.Episode([1, 2], [5.0, 6.0], executed=[2, 2], is_choice=[False, True])
    with refused("executed must lie in 0..3; got 6 at decision 1."):
        pn.Episode([1, 2], [5.0, 6.0], executed=[1, 6]).check_options(4)


def overruled(model, truth, task, seed=3, n_decisions=60):
    """Agents of a model, of whose proposals a third are executed otherwise."""
    rng, other = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def execute(t, option):
        return int(other.integers(task.n_options)) if other.random() < 0.35 else option

    return pn.simulate(task, model, truth, n_decisions=n_decisions, rng=rng, execute=execute)


GP = pn.GPUCB(played.PLACES, ("distance", "visited"), prior_mean=30.0, length_scale=1.4)
NEAR = {"temperature": 9.0, "bonus": 1.5, "distance": -0.4, "visited": -0.5}
SPATIAL = {
    "ucl": (played.ucl(length_scale=None), played.TRUTH, played.landscape()),
    "gp-ucb": (GP, NEAR, played.landscape()),
}
BLIND = ("random", "known values", "known values, cooling")  # learn nothing
MODELS = {name: case for name, case in CASES.items() if name not in BLIND} | SPATIAL


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_learner_moves_with_what_was_executed_and_is_scored_on_what_was_proposed(name):
    model, truth, task = MODELS[name]
    episode = overruled(model, truth, task)
    lived = pn.Episode(episode.executed, episode.rewards)
    found = pn.fit(episode, model, parameter_prior=pn.ScaledPrior())
    x = found.model.explanatory(lived, *found.psi)
    np.testing.assert_array_equal(found.model.explanatory(episode, *found.psi), x)
    log_p = log_softmax(x @ found.weights, axis=1)
    at = np.arange(episode.n_events)
    proposed = log_p[at, episode.chosen].sum()
    assert found.log_likelihood == pytest.approx(proposed, rel=1e-9)
    assert abs(proposed - log_p[at, episode.executed].sum()) > 1e-3


def test_an_own_model_is_given_what_was_executed():
    task = pn.Landscape([0.2, 0.55, 0.9, 0.4], pn.GaussianNoise(0.07))
    model = pn.QLearning(4, initial_value=0.0)
    episode = overruled(model, {"temperature": 0.3, "learning_rate": 0.35}, task, n_decisions=150)
    ours, theirs = pn.fit(episode, model), pn.fit(episode, played.Learner())
    assert theirs.log_likelihood == pytest.approx(ours.log_likelihood, rel=1e-7)
    alone = pn.fit(pn.Episode(episode.chosen, episode.rewards), played.Learner())
    assert abs(alone.log_likelihood - theirs.log_likelihood) > 0.1


def test_live_estimates_what_a_fit_does_where_others_are_executed():
    episode = assisted(7, 4)
    model = pn.QLearning(4, initial_value=0.0)
    live = pn.live(model)
    for chosen, executed, reward in zip(
        episode.chosen, episode.executed, episode.rewards, strict=True
    ):
        live.observe(int(chosen), float(reward), executed=int(executed))
    np.testing.assert_array_equal(live.episode.executed, episode.executed)
    assert live.estimate().log_likelihood == pytest.approx(
        pn.fit(episode, model).log_likelihood, rel=1e-10
    )
    live.observe(1, None, -1)
    live.observe(2, 0.5)
    np.testing.assert_array_equal(live.episode.executed[-2:], [-1, 2])


def test_agents_are_paid_for_and_learn_from_what_is_executed():
    place = pn.Landscape([0.0, 50.0], pn.GaussianNoise(1e-6))
    model = pn.QLearning(2, initial_value=0.0)
    rule = {"temperature": 0.5, "learning_rate": 0.4}
    play = pn.simulate(
        place,
        model,
        rule,
        n_decisions=40,
        rng=np.random.default_rng(4),
        execute=lambda t, option: 0 if t < 20 else option,
    )
    assert set(play.executed[:20].tolist()) == {0} and set(play.chosen[:20].tolist()) == {0, 1}
    assert (play.rewards[:20] < 1).all()
    np.testing.assert_array_equal(play.executed[20:], play.chosen[20:])
    several = pn.simulate(
        place,
        model,
        rule,
        n_decisions=9,
        n_subjects=3,
        rng=np.random.default_rng(4),
        execute=lambda t, option: 1,
    )
    assert all((one.executed == 1).all() for one in several)
    nothing = pn.simulate(
        place,
        model,
        rule,
        n_decisions=9,
        rng=np.random.default_rng(4),
        execute=lambda t, option: -1 if t == 3 else option,
    )
    assert np.flatnonzero(np.isnan(nothing.rewards)).tolist() == [3]
    with refused("execute must give an option from 0 to 1, or -1 for none; got 7 at decision 0."):
        pn.simulate(
            place,
            model,
            rule,
            n_decisions=9,
            rng=np.random.default_rng(4),
            execute=lambda t, option: 7,
        )


@pytest.mark.parametrize("labelled", [False, True])
def test_a_table_says_what_was_executed(labelled):
    names = np.array([f"tile {i}" for i in range(7)])
    table = pa.table(
        {
            "subject": ["bo"] * 8,
            "trial": np.arange(8),
            "choice": names[CHOSEN] if labelled else CHOSEN,
            "executed": names[EXECUTED] if labelled else EXECUTED,
            "reward": REWARDS,
        }
    )
    options = list(names) if labelled else None
    (episode,) = pn.episodes_from_frame(
        table,
        chosen="choice",
        reward="reward",
        subject="subject",
        decision="trial",
        executed="executed",
        options=options,
    )
    np.testing.assert_array_equal(episode.executed, EXECUTED)
    np.testing.assert_array_equal(episode.chosen, CHOSEN)
    codes = {"labels": list(names) if labelled else list(range(7)), "first": 0}
    (read,) = pn.read(table, **codes).data
    np.testing.assert_array_equal(read.executed, EXECUTED)
    (without,) = pn.read(table, **codes, executed="").data
    np.testing.assert_array_equal(without.executed, CHOSEN)


def test_regret_is_of_what_was_executed():
    place = pn.Landscape([10.0, 40.0, 25.0], pn.GaussianNoise(4.0))
    episode = pn.Episode([2, 0, 1], [41.0, 8.0, 27.0], executed=[1, 0, 2])
    np.testing.assert_array_equal(pn.results.cumulative_regret(episode, place), [0.0, 30.0, 45.0])


def test_beliefs_and_prediction_errors_are_of_what_was_executed():
    episode = pn.Episode([0, 1, 1], [1.0, 0.5, 0.25], executed=[0, 0, 1])
    model = pn.QLearning(2, learning_rate=0.5, initial_value=0.0)
    found = pn.beliefs(pn.fit(episode, model, parameter_prior=pn.ScaledPrior()))
    np.testing.assert_allclose(found["prediction_error"], [1.0, 0.0, 0.25])
    np.testing.assert_array_equal(found["executed"], [0, 0, 1])


def test_decisions_left_out_keep_what_was_executed():
    episode = assisted(9, 4)
    other = copy_with_scored_mask(episode, np.arange(60) % 3 == 0, "someone")
    np.testing.assert_array_equal(other.executed, episode.executed)
    np.testing.assert_array_equal(other.scored_options, episode.chosen[::3])


def test_somebody_in_the_place_of_another_is_not_given_what_was_not_executed():
    episode = pn.Episode([0, 1, None, 1], [1.0, 3.0, 2.0, 1.0], executed=[0, 2, 2, 1])
    place = pn.Landscape([1.0, 2.0, 3.0], pn.GaussianNoise(0.1))
    again = play_like(
        episode,
        Task(place, n_decisions=4),
        pn.QLearning(3, initial_value=0.0),
        {"temperature": 0.5, "learning_rate": 0.4},
        np.random.default_rng(2),
    )
    np.testing.assert_array_equal(again.executed[1:3], [2, 2])
    assert again.chosen[2] == -1 and again.executed[0] == again.chosen[0]
