"""Settings in units of rewards: defaults are the same for all data; summaries name odd ones."""

import numpy as np
import pytest

import penchant as pn
from penchant.cli.option_wording import word_as_options
from penchant.errors import DataError, format_for_python
from penchant.models.model import natural_parameters
from restless import people

STARTS = {
    "q": (pn.QLearning(4), "initial_value"),
    "ucb1": (pn.models.UCB1(4), "initial_value"),
    "kalman": (pn.KalmanFilter(4, prior_variance=3.0), "initial_mean"),
    "dual": (pn.QLearning(4, dual_rates=True), "initial_value"),
    "volatile": (pn.models.VolatileKalman(4), "initial_value"),
}


def played(rewards, n_options=4, **more):
    rng = np.random.default_rng(2)
    chosen = rng.integers(n_options, size=len(rewards))
    return pn.Episode(chosen, np.asarray(rewards, dtype=float), **more)


@pytest.fixture(scope="module")
def restless():
    return people(6, seed=4, n_decisions=80)


@pytest.mark.parametrize("name", STARTS)
def test_the_default_is_0(name):
    model, setting = STARTS[name]
    assert getattr(model, setting) == 0.0
    assert setting not in [natural.name for natural in natural_parameters(model)]
    assert pn.models.WinStayLoseShift(4).win_above == 0.0
    assert pn.models.GershmanHybrid().initial_mean == 0.0


@pytest.mark.parametrize("name", ["q", "ucb1", "kalman", "dual"])
def test_the_list_of_parameters_is_the_same_whatever_is_paid(name, restless):
    model, _ = STARTS[name]
    paid = [[0, 1, 1, 0, 1, 1, 1], [-3.5, 2.0, 1.0, -7.0], [31, 64, 98, 1], [-2.5, -9.0, -4.0]]
    names = {pn.fit(played(rewards), model).names for rewards in paid}
    assert names == {pn.fit(restless, model).names}
    assert pn.fit(restless, model).model == model


def test_the_list_of_parameters_is_the_same_all_through_a_live_session():
    live = pn.live(pn.QLearning(2))
    names = {live.estimate().names}
    for chosen, reward in [(0, 5.0), (1, 3.0), (0, 0.0), (1, -2.0)]:
        live.observe(chosen, reward)
        names.add(live.estimate().names)
    assert names == {("inverse_temperature", "learning_rate")}


def test_groups_have_the_same_model_whatever_each_is_paid(restless):
    zero = [played(np.tile([0.0, 1.0, 0.0], 20), subject=f"z{k}") for k in range(4)]
    one, other = (pn.fit_each(group, pn.QLearning(4), threads=1) for group in (restless, zero))
    assert one.names == other.names
    assert one[0].model == other[0].model


@pytest.mark.parametrize("name", ["q", "ucb1", "kalman"])
def test_none_estimates_it_for_all_data(name, restless):
    model, setting = STARTS[name]
    free = type(model)(4, **{setting: None})
    for episode in (restless[0], played([0, 1, 1, 0, 1, 1, 1])):
        assert f"{setting}/temperature" in pn.fit(episode, free).names


def test_an_estimated_start_is_more_likely_than_0(restless):
    free = pn.fit_each(restless, pn.QLearning(4, initial_value=None), threads=1)
    held = pn.fit_each(restless, pn.QLearning(4), threads=1)
    gains = [a.log_likelihood - b.log_likelihood for a, b in zip(free, held, strict=True)]
    assert min(gains) >= 0
    assert sum(gains) > 10


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", STARTS)
def test_a_start_outside_the_rewards_is_said_with_the_remedies(name, sign):
    model, setting = STARTS[name]
    rewards = sign * np.array([31.0, 64.0, 98.0, 7.0, 70.0])
    low, high = rewards.min(), rewards.max()
    said = " ".join(model.doubts([played(rewards)]))
    notes = format_for_python(said)
    assert f"{setting} = 0 lies outside the rewards ({low:g} to {high:g})" in notes
    assert f"the middle of the rewards ({setting}={sign * 52.5:g})" in notes
    assert (f"Estimate it ({setting}=None), or give" in notes) == (name in ("q", "ucb1", "kalman"))
    typed = word_as_options(said)
    assert f"--settings {setting}={sign * 52.5:g}" in typed
    assert f"{setting}=None" not in typed


@pytest.mark.parametrize("rewards", [[0, 1, 1], [-3.5, 2.0], [0.0, -5.0], [0.0, np.nan]])
def test_a_start_among_the_rewards_is_no_doubt(rewards):
    assert pn.QLearning(4).doubts([played(rewards)]) == ()


def test_every_summary_says_that_0_lies_outside_the_rewards(restless):
    model = pn.QLearning(4)
    said = "initial_value = 0 lies outside the rewards"
    models = {"learner": model, "random": pn.models.RandomChoice(4)}
    for found in (
        pn.fit(restless[0], model),
        pn.fit(restless, model),
        pn.fit_each(restless, model, threads=1),
        pn.fit_population(restless, model, threads=1),
        pn.compare_models(models, restless, threads=1),
    ):
        words = " ".join(found.summary().split())
        assert said in words
        assert "initial_value=None" in words
        assert "the middle of the rewards" in words
    assert pn.fit(restless[0], pn.QLearning(4, initial_value=50.0)).notes == ()


def test_fit_live_predict_and_compare_agree(restless):
    episode = restless[2]
    model = pn.QLearning(4, initial_value=None)
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


def test_agents_expect_what_the_model_says():
    task = pn.Landscape([40.0, 60.0], pn.GaussianNoise(9.0))
    rule = {"temperature": 5.0, "learning_rate": 0.3}
    rng = np.random.default_rng(3)
    free = rule | {"initial_value": 45.0}
    pn.simulate(task, pn.QLearning(2, initial_value=None), free, n_decisions=3, rng=rng)
    with pytest.raises(DataError, match="initial_value"):
        pn.simulate(task, pn.QLearning(2), free, n_decisions=3, rng=rng)


def test_recovery_fits_what_it_simulates():
    task = pn.Task(np.repeat([[40.0, 60.0], [60.0, 40.0]], 20, axis=0))
    ranges = {"temperature": (3.0, 8.0), "learning_rate": (0.3, 0.6)}
    rng = np.random.default_rng(1)
    plain = pn.recover(pn.QLearning(2), task, ranges, n_subjects=4, rng=rng)
    assert [p.name for p in plain.parameters] == ["temperature", "learning_rate"]
    ranges["initial_value"] = (30.0, 60.0)
    model = pn.QLearning(2, initial_value=None)
    free = pn.recover(model, task, ranges, n_subjects=4, rng=rng)
    assert [p.name for p in free.parameters] == ["temperature", "initial_value", "learning_rate"]


def test_a_threshold_outside_the_rewards_is_said(restless):
    found = pn.fit(restless[0], pn.models.WinStayLoseShift(4))
    said = [note for note in found.notes if "win_above = 0 makes every reward a win" in note]
    assert len(said) == 1
    assert "the middle of the rewards (win_above=" in said[0]


@pytest.mark.parametrize("word", ["mean", "task"])
@pytest.mark.parametrize(
    "make", [pn.QLearning, pn.models.UCB1, pn.KalmanFilter, pn.models.WinStayLoseShift]
)
def test_words_are_refused(make, word):
    name = {pn.KalmanFilter: "initial_mean", pn.models.WinStayLoseShift: "win_above"}
    name = name.get(make, "initial_value")
    with pytest.raises(DataError, match=f"{name} must be a number; got '{word}'"):
        make(4, **{name: word})
