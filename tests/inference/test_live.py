"""Estimates while somebody plays: at every step what a fit on the same history gives."""

import json
import os
import subprocess
import sys
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penchant as pn
import played


class Coarse(played.Learner):
    """A user's model with few points in its grid, that knows what to do without a choice."""

    def __init__(self):
        super().__init__(3)
        self.shape = (pn.models.Shape("learning_rate", 0.001, 1.0, n_grid=5),)

    def explanatory(self, episode, learning_rate):
        values, x = np.zeros(3), np.empty((episode.n_events, 3, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            if option >= 0 and np.isfinite(reward):
                values[option] += learning_rate * (reward - values[option])
        return x


MODELS = {
    "UCL": (7, played.ucl(), 30.0, 15.0),
    "Q-learning": (3, pn.QLearning(3), 0.5, 0.5),
    "forgetting": (3, pn.QLearning(3, stickiness=True, forgetting=None), 0.5, 0.5),
    "no shape": (3, pn.QLearning(3, stickiness=True, learning_rate=0.2), 0.5, 0.5),
    "dual rates": (3, pn.QLearning(3, dual_rates=True), 0.5, 0.5),
    "Kalman": (3, pn.KalmanFilter(3, noise_variance=0.2), 0.5, 0.5),
    "user's": (3, Coarse(), 0.5, 0.5),
}


def observe(live, rng, n_options, mean, spread):
    """Something happens: a choice, mostly; a timeout; an option shown; one that is not scored."""
    kind = rng.random()
    option, reward = int(rng.integers(n_options)), float(rng.normal(mean, spread))
    if kind < 0.07:
        live.observe(None)
    elif kind < 0.14:
        live.observe(option, reward, is_choice=False)
    else:
        last = live.episode.chosen[-1] if live.episode.n_events else -1
        again = rng.random() < 0.5 and last >= 0
        live.observe(int(last) if again else option, reward, scored=bool(rng.random() > 0.1))


def is_fit(now, fitted):
    assert now.status == fitted.status
    assert now.n_decisions == fitted.n_decisions
    assert now.log_likelihood == pytest.approx(fitted.log_likelihood, abs=1e-7)
    assert now.diagnostics.bounds == fitted.diagnostics.bounds
    if now.status not in ("converged", "at a bound"):
        return
    errors = fitted.standard_errors
    unit = np.where(np.isfinite(errors), errors, np.abs(fitted.theta) + 1e-12)
    idle = fitted.source.optimum.points.psi_information[0].diagonal() < 1e-200  # changes nothing
    told = np.append(np.ones(len(unit) - len(idle), dtype=bool), ~idle)
    np.testing.assert_allclose((now.theta / unit)[told], (fitted.theta / unit)[told], atol=1e-4)
    np.testing.assert_array_equal(np.isnan(now.covariance), np.isnan(fitted.covariance))
    scale = np.nan_to_num(np.outer(unit, unit), nan=1.0)
    np.testing.assert_allclose(now.covariance / scale, fitted.covariance / scale, atol=1e-2)


@pytest.mark.parametrize("prior", [None, pn.ScaledPrior()], ids=["ml", "weak"])
@pytest.mark.parametrize("name", MODELS)
def test_a_live_estimate_is_that_of_a_fit_on_the_same_history(name, prior):
    n_options, model, mean, spread = MODELS[name]
    rng = np.random.default_rng(11)
    live = pn.live(model, parameter_prior=prior)
    for t in range(36):
        observe(live, rng, n_options, mean, spread)
        if t % 3 == 1:  # others are observed without asking
            now = live.estimate()
            if live.n_decisions and t % 2:
                is_fit(now, pn.fit(live.episode, model, parameter_prior=prior))


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), asked=st.integers(1, 7))
def test_it_never_raises_and_never_depends_on_when_it_was_asked(seed, asked):
    rng = np.random.default_rng(seed)
    often, once = pn.live(pn.QLearning(3)), pn.live(pn.QLearning(3))
    for t in range(int(rng.integers(3, 30))):
        state = rng.bit_generator.state
        observe(often, rng, 3, 0.5, 0.5)
        rng.bit_generator.state = state
        observe(once, rng, 3, 0.5, 0.5)
        if t % asked == 0:
            often.estimate()
    is_fit(often.estimate(), once.estimate())


class TwoSided:
    """Variables that explain choices near a = 0.1 at first, and near a = 0.9 later."""

    weights = ("w",)
    shape = (pn.models.Shape("a", 0.0, 1.0, n_grid=33),)

    def explanatory(self, episode, a):
        t, option = np.arange(episode.n_events), np.zeros((episode.n_events, 3))
        option[t, t % 3] = 1.0
        early, late = np.exp(-(((a - 0.1) / 0.1) ** 2)), np.exp(-(((a - 0.9) / 0.1) ** 2))
        noise = np.random.default_rng(5).normal(size=option.shape)  # keeps the weight in check
        return (np.roll(option, 1, axis=1) * early + option * late + 0.4 * noise)[:, :, None]


def test_a_second_peak_that_overtakes_is_found():
    model, rng = TwoSided(), np.random.default_rng(3)
    live, psi = pn.live(model), []
    for t in range(70):
        told = (t + 1) % 3 if t < 25 else t % 3
        live.observe(told if rng.random() < 0.7 else int(rng.integers(3)), 0.0)
        now = live.estimate()
        psi.append(float(now.psi[0]))
        if t > 20 and t % 4 == 0:
            is_fit(now, pn.fit(live.episode, model))
    assert abs(psi[24] - 0.1) < 0.15
    assert abs(psi[-1] - 0.9) < 0.15


def test_the_profile_of_a_live_estimate_is_that_of_its_own_history():
    live, model = pn.live(pn.QLearning(4)), pn.QLearning(4)
    episode = played.q_episode()
    for t in range(100):
        live.observe(episode.chosen[t], episode.rewards[t])
        now = live.estimate()
    live.observe(episode.chosen[100], episode.rewards[100])
    history = pn.Episode(episode.chosen[:100], episode.rewards[:100])
    expected = pn.fit(history, model)
    np.testing.assert_allclose(now.profile.values, expected.profile.values, rtol=1e-9)
    np.testing.assert_allclose(
        now.interval(kind="profile"), expected.interval(kind="profile"), rtol=1e-6
    )


def test_a_history_that_tells_nothing_yet_raises_nothing():
    live = pn.live(played.ucl())
    assert live.estimate().status == "not identified"
    live.observe(3, 7.0, is_choice=False)
    assert live.estimate().n_decisions == 0
    live.observe(None)
    live.observe(5, 9.0)
    assert live.estimate().status in ("not identified", "separated")


def test_what_cannot_be_is_refused_and_forgotten():
    live = pn.live(pn.QLearning(3))
    live.observe(1, 0.5)
    with pytest.raises(pn.errors.DataError, match="chosen"):
        live.observe(3, 0.5)
    with pytest.raises(pn.errors.DataError, match="rewards"):
        live.observe(1, np.inf)
    assert live.n_decisions == 1


@pytest.mark.parametrize(
    ("chosen", "reward", "words"),
    [
        (1, np.nan, "reward must be a number; got nan at decision 1"),
        (1, np.inf, "rewards must be finite"),
        (1, -np.inf, "rewards must be finite"),
        (3, 1.0, r"chosen must lie in 0..2; got 3"),
        (-2, 1.0, "chosen must be an option's index"),
        (0.5, 1.0, "chosen must be an option's index"),
        (1, "much", "rewards must hold numbers"),
        (None, 1.0, "rewards must be missing where nothing was chosen"),
    ],
)
def test_an_observation_that_is_refused_leaves_the_play_as_it_was(chosen, reward, words):
    live, other = pn.live(pn.QLearning(3)), pn.live(pn.QLearning(3))
    for one in (live, other):
        one.observe(1, 0.5)
    before = live.episode
    with pytest.raises(pn.errors.DataError, match=words):
        live.observe(chosen, reward)
    assert live.episode is before
    for one in (live, other):
        for option in (0, 2, 1):
            one.observe(option, 1.0)
    np.testing.assert_array_equal(live.estimate().theta, other.estimate().theta)


def test_no_choice_has_no_reward_however_that_is_written():
    live = pn.live(pn.QLearning(3))
    live.observe(None, np.nan)
    live.observe(-1, None)
    live.observe(2, 1.0)
    assert live.n_decisions == 1


def offered(rng):
    return {"amount": [20.0, float(rng.integers(21, 60))], "delay": [0.0, float(rng.integers(90))]}


def test_decisions_among_offers_are_the_fit_of_all_so_far():
    rng, model = np.random.default_rng(2), pn.HyperbolicDiscounting()
    live = pn.live(model)
    assert live.estimate().status == "not identified"
    for t in range(30):
        chosen = None if t == 7 else int(rng.random() < 0.6)
        live.observe(chosen, offers=offered(rng), scored=t != 9)
        if t % 10 == 4:
            live.start_block()
            assert live.episode is None
        now, fitted = live.estimate(), pn.fit(list(live.episodes), model)
        is_fit(now, fitted)
        np.testing.assert_array_equal(now.theta, fitted.theta)
    assert live.n_decisions == 28 and len(live.episodes) == 4
    again = pn.results.Live.from_dict(json.loads(json.dumps(live.to_dict())))
    np.testing.assert_array_equal(again.estimate().theta, live.estimate().theta)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "offers must be given for HyperbolicDiscounting; got none"),
        ({"reward": 1.0}, "must be given for a model of offers"),
        ({"offers": {"amount": [1, 2]}}, "offers must hold delay for this model; got amount"),
        ({"offers": [1, 2]}, "offers must map names"),
        ({"offers": {"amount": [1, 2, 3], "delay": [1, 2, 3]}}, r"got shape \(3,\) after shape"),
    ],
)
def test_an_offer_that_is_refused_leaves_the_decisions_as_they_were(given, words):
    live = pn.live(pn.HyperbolicDiscounting())
    live.observe(1, offers={"amount": [20, 50], "delay": [0, 30]})
    with pytest.raises(pn.errors.DataError, match=words):
        live.observe(0, **given)
    assert live.n_decisions == 1


def test_offers_are_refused_where_rewards_are_learnt_from():
    with pytest.raises(pn.errors.DataError, match="offers must be left out"):
        pn.live(pn.QLearning(2)).observe(1, 1.0, offers={"amount": [1, 2]})


ODD = {
    "values of 0 on both sides of rewards": pn.QLearning(2, initial_value=0.0),
    "stickiness": pn.QLearning(2, initial_value=0.0, stickiness=True),
    "go/no-go": pn.models.GoNoGo(),
    "two rates": pn.QLearning(3, initial_value=0.0, dual_rates=True),
    "UCL": pn.UCL(locations=pn.grid(3, 2), noise_variance=1.0, length_scale=1.5),
}


def odd_history(model, seed, n):
    """Few options, rewards of few values: histories that hardly tell anything."""
    rng = np.random.default_rng([seed, n])
    favourite = rng.random() < 0.5
    for _ in range(n):
        option = 1 if favourite and rng.random() < 0.8 else int(rng.integers(model.n_options))
        given = {name: int(rng.integers(4)) for name in getattr(model, "before", ())}
        yield option, float(rng.choice([-1.0, 1.0])), {"before": given or None}


def check_odd_history(model, seed, n):
    live = pn.live(model)
    for option, reward, others in odd_history(model, seed, n):
        live.observe(option, reward, **others)
        now, fitted = live.estimate(), pn.fit(live.episode, model)
        assert (now.status, now.message) == (fitted.status, fitted.message)
        assert now.log_likelihood == fitted.log_likelihood
        np.testing.assert_array_equal(now.theta, fitted.theta)
        np.testing.assert_array_equal(now.covariance, fitted.covariance)


@pytest.mark.parametrize("name", ODD)
def test_every_estimate_of_an_odd_history_is_that_of_a_fit(name):
    check_odd_history(ODD[name], 0, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ODD)
def test_every_estimate_of_many_odd_histories_is_that_of_a_fit(name, seed):
    check_odd_history(ODD[name], seed, 40)


def test_no_estimate_leaves_the_model():
    """Asked after every decision, the weight went to -1.9e9 and the likelihood above its limit."""
    live = pn.live(pn.QLearning(2, initial_value=0.0))
    for reward in (-1.0, 1.0, -1.0):
        live.observe(1, reward)
        now = live.estimate()
        assert now.log_likelihood <= -live.n_decisions * np.log(2) + 1e-12
        assert not now.theta[0] < 0
    assert now.log_likelihood == pytest.approx(-2.079, abs=1e-3)


BEGIN = """
import gc, numpy as np, penchant as pn
from numba.core.dispatcher import Dispatcher

def made():
    every = (one for one in gc.get_objects() if isinstance(one, Dispatcher))
    ours = [one for one in every if one.py_func.__module__.startswith("penchant")]
    return {(one.py_func.__qualname__, str(s)) for one in ours for s in one.overloads}

rng = np.random.default_rng(1)
"""
END = "print(len(before) > 10, sorted(made() - before))"
PROGRAMS = {
    "play": """
live = pn.live(pn.QLearning(3, initial_value=0.0, stickiness=True))
before = made()
for block in range(12):
    live.start_block()
    for t in range(6):
        option = 0 if block % 3 == 0 else int(rng.integers(3))
        live.observe(option, float(rng.choice([-1.0, 0.0, 1.0, 40.0])))
        live.estimate()
live = pn.results.Live.from_dict(live.to_dict())
""",
    "offers": """
class Shopper:
    weights, attributes = ("price", "quality"), ("price", "quality")
    shape = (pn.models.Shape("exponent", 0.2, 3.0, scale="log"),)

    def explanatory(self, decisions, exponent):
        price, quality = (decisions.offers[name] for name in self.attributes)
        return np.stack([price**exponent, quality], axis=2)

several = {n: pn.live(Shopper()) for n in (2, 3)}
before = made()
for n, live in several.items():
    for t in range(24):
        offers = {"price": rng.random(n), "quality": rng.random(n)}
        live.observe(0 if t < 6 else int(rng.integers(n)), offers=offers)
        live.estimate()
""",
    "assistance": """
places = pn.grid(4, 4)
model = pn.UCL(locations=places, noise_variance=10.0, length_scale=2.0)
field = pn.Field(places, mean=30, sd=15, length_scale=1.5, noise_variance=10)
helper = pn.assist(model, field)
before = made()
for episode in range(3):
    for t in range(12):
        option = int(rng.integers(16))
        helper.proposed(option)
        helper.executed(option, reward=float(rng.normal(30, 15)))
    helper.end_episode()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_compiled_or_loaded_after_the_start(name):
    command = [sys.executable, "-c", BEGIN + PROGRAMS[name] + END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "True []\n", done.stdout + done.stderr


def test_what_is_compiled_at_the_start_is_announced(tmp_path):
    program = """
from penchant._numba_cache import with_compilation_announcement, njit
from pathlib import Path

@njit(cache=True)
def twice(x):
    return 2 * x

with with_compilation_announcement("for later"):
    pass
print("nothing", flush=True)
with with_compilation_announcement("for later"):
    twice(1), twice(1.5)
"""
    (tmp_path / "twofold.py").write_text(program)
    command = [sys.executable, "twofold.py"]
    given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run = partial(subprocess.run, command, cwd=tmp_path, env=given, text=True, timeout=300)
    first, again = (run(stdout=-1, stderr=subprocess.STDOUT).stdout for _ in range(2))
    assert first.startswith("nothing\nfor later\n") and first.count("for later") == 1
    assert again == "nothing\n"


class Cued:
    """A user's model that knows the cues of its own experiment only."""

    weights, shape, n_options, before = ("w",), (), 2, ("cue",)
    known: ClassVar = {7.0: 0.0, 9.0: 1.0}

    def explanatory(self, episode):
        side = np.array([self.known[cue] for cue in episode.before["cue"]])
        return np.stack([side, 1 - side], axis=1)[:, :, None]


def test_a_model_that_refuses_what_is_made_up_for_compilation_is_followed():
    live = pn.live(Cued())
    for option, cue in ((0, 7.0), (1, 9.0), (1, 7.0), (1, 9.0), (0, 7.0)):
        live.observe(option, 1.0, before={"cue": cue})
    assert live.estimate().log_likelihood == pn.fit(live.episode, Cued()).log_likelihood


@pytest.mark.parametrize("name", ["UCL", "Q-learning"])
def test_several_blocks_are_the_fit_of_all(name):
    n_options, model, mean, spread = MODELS[name]
    rng, live = np.random.default_rng(5), pn.live(model)
    live.start_block()  # nothing was played yet: the same block
    for block in range(3):
        for _ in range(9):
            observe(live, rng, n_options, mean, spread)
            live.estimate()
        is_fit(live.estimate(), pn.fit(list(live.episodes), model))
        assert len(live.episodes) == block + 1
        live.start_block()
    assert live.episode.n_events == 0
