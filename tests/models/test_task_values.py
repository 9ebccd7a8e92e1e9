"""Defaults in units of rewards: chosen when the rewards are known, and said."""

import numpy as np
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.models.record import for_task
from restless import people

OPEN = {
    "q": pn.QLearning(4),
    "ucb1": pn.models.UCB1(4),
    "kalman": pn.KalmanFilter(4, prior_variance=3.0),
    "dual": pn.QLearning(4, dual_rates=True),
    "win-stay": pn.models.WinStayLoseShift(4),
}
ESTIMATED = {"q": "initial_value", "ucb1": "initial_value", "kalman": "initial_mean"}


def played(rewards, n_options=4):
    rng = np.random.default_rng(2)
    chosen = rng.integers(n_options, size=len(rewards))
    return pn.Episode(chosen, np.asarray(rewards, dtype=float))


@pytest.fixture(scope="module")
def restless():
    return people(6, seed=4, n_decisions=80)


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("rewards", [[0, 1, 1, 0, 1, 1, 1], [-3.5, 2.0, 1.0, -7.0], [0.0, -5.0]])
def test_0_is_expected_before_play_where_0_is_among_the_rewards(name, rewards):
    model = for_task(OPEN[name], [played(rewards)])
    assert (model.win_above if name == "win-stay" else _start(model)) == 0.0
    assert "0 (0 is among the rewards)" in str(model)


def _start(model):
    return model.initial_mean if isinstance(model, pn.KalmanFilter) else model.initial_value


@pytest.mark.parametrize("name", ESTIMATED)
@pytest.mark.parametrize("rewards", [[31, 64, 98, 1], [-2.5, -9.0, -4.0]])
def test_what_is_expected_is_estimated_where_0_is_not_among_the_rewards(name, rewards):
    model = for_task(OPEN[name], [played(rewards)])
    assert f"{ESTIMATED[name]}/temperature" in model.weights
    ends = f"{min(rewards):g} to {max(rewards):g}"
    assert f"estimated (0 is not among the rewards, {ends})" in str(model)


def test_a_model_that_must_know_it_takes_the_median():
    episode = played([31.0, 64.0, 98.0, 7.0, 70.0])
    assert for_task(OPEN["dual"], [episode]).initial_value == 64.0
    assert for_task(OPEN["win-stay"], [episode]).win_above == 64.0
    two = pn.Episode([0, 1, 1, 0, 1], episode.rewards)
    assert for_task(pn.models.GershmanHybrid(), [two]).initial_mean == 64.0
    said = "64 (the median reward: 0 is not among the rewards, 7 to 98)"
    assert said in pn.fit(two, pn.models.GershmanHybrid()).summary().replace("\n", " ")


def test_a_zero_that_hardly_ever_comes_is_said_to_be_at_the_edge():
    rewards = np.arange(1.0, 101.0)
    rewards[:2] = 0.0
    model = for_task(pn.QLearning(4), [played(rewards)])
    assert model.initial_value == 0.0
    assert (
        "0 is among the rewards, at the edge of them: initial_value can be estimated, too"
        in str(model)
    )
    rewards[:3] = 0.0
    assert "edge" not in str(for_task(pn.QLearning(4), [played(rewards)]))


@pytest.mark.parametrize("name", OPEN)
def test_the_default_fits_as_the_same_number_given(name, restless):
    found = pn.fit(restless, OPEN[name])
    again = pn.fit(restless, for_task(OPEN[name], restless))
    assert found.log_likelihood == again.log_likelihood
    assert found.names == again.names
    words = " ".join(found.summary().split())
    assert "0 is not among the rewards" in words


def test_an_estimated_start_is_more_likely_than_0(restless):
    free = pn.fit_each(restless, pn.QLearning(4), threads=1)
    held = pn.fit_each(restless, pn.QLearning(4, initial_value=0.0), threads=1)
    gains = [a.log_likelihood - b.log_likelihood for a, b in zip(free, held, strict=True)]
    assert min(gains) >= 0
    assert sum(gains) > 10


def test_people_who_are_fitted_one_by_one_share_what_is_chosen(restless):
    lucky = pn.Episode([0, 1, 2, 3, 0, 1], [0.0, 0.0, 5.0, 7.0, 0.0, 9.0], subject="lucky")
    found = pn.fit_each([*restless, lucky], pn.QLearning(4), threads=2)
    assert {e.model.initial_value for e in found} == {0.0}
    assert pn.fit(restless[0], pn.QLearning(4)).model.initial_value is None


def test_fit_live_predict_and_compare_agree(restless):
    episode = restless[2]
    model = pn.QLearning(4)
    found = pn.fit(episode, model)
    live = pn.live(model)
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        live.observe(c, r)
        if live.n_decisions in (1, 2, 40):
            so_far = pn.Episode(episode.chosen[: live.n_decisions], live.episode.rewards)
            assert live.estimate().names == pn.fit(so_far, model).names
    assert live.estimate().log_likelihood == pytest.approx(found.log_likelihood, abs=1e-9)
    p = found.predict(episode)
    predicted = np.log(p[np.arange(len(p)), episode.chosen]).sum()
    assert predicted == pytest.approx(found.log_likelihood, abs=1e-9)
    compared = pn.compare_models({"learner": model, "random": pn.models.RandomChoice(4)}, restless)
    assert compared.n_parameters[0] == 3
    each = pn.fit_each(restless, model, threads=1)
    assert compared.log_likelihood[:, 0].tolist() == [e.log_likelihood for e in each]


def test_agents_expect_0_or_what_their_parameters_say():
    task = pn.Landscape([40.0, 60.0], pn.GaussianNoise(9.0))
    rule = {"temperature": 5.0, "learning_rate": 0.3}

    def chosen(model, more):
        rng = np.random.default_rng(3)
        return pn.simulate(task, model, rule | more, n_decisions=30, rng=rng).chosen.tolist()

    known, free = pn.QLearning(2, initial_value=0.0), pn.QLearning(2, initial_value=None)
    assert chosen(pn.QLearning(2), {}) == chosen(known, {})
    start = {"initial_value": 45.0}
    assert chosen(pn.QLearning(2), start) == chosen(free, start)
    assert chosen(pn.QLearning(2), start) != chosen(known, {})


def test_recovery_fits_what_it_simulates():
    task = pn.Task(np.repeat([[40.0, 60.0], [60.0, 40.0]], 20, axis=0))
    ranges = {"temperature": (3.0, 8.0), "learning_rate": (0.3, 0.6)}
    rng = np.random.default_rng(1)
    plain = pn.recover(pn.QLearning(2), task, ranges, n_subjects=4, rng=rng)
    assert [p.name for p in plain.parameters] == ["temperature", "learning_rate"]
    ranges["initial_value"] = (30.0, 60.0)
    free = pn.recover(pn.QLearning(2), task, ranges, n_subjects=4, rng=rng)
    assert [p.name for p in free.parameters] == ["temperature", "initial_value", "learning_rate"]


def test_a_start_outside_the_rewards_is_said(restless):
    found = pn.fit(restless[0], pn.QLearning(4, initial_value=0.0))
    low, high = restless[0].rewards.min(), restless[0].rewards.max()
    said = f"initial_value = 0 lies outside the rewards ({low:g} to {high:g})"
    assert any(said in note for note in found.notes)
    assert pn.fit(restless[0], pn.QLearning(4, initial_value=50.0)).notes == ()


def test_a_threshold_outside_the_rewards_is_said(restless):
    found = pn.fit(restless[0], pn.models.WinStayLoseShift(4, win_above=0.0))
    assert any("win_above = 0 makes every reward a win" in note for note in found.notes)


@pytest.mark.parametrize(
    "make", [pn.QLearning, pn.models.UCB1, pn.KalmanFilter, pn.models.WinStayLoseShift]
)
def test_other_words_are_refused(make):
    name = {pn.KalmanFilter: "initial_mean", pn.models.WinStayLoseShift: "win_above"}
    name = name.get(make, "initial_value")
    with pytest.raises(DataError, match=f"{name} must be a number; got 'mean'"):
        make(4, **{name: "mean"})
