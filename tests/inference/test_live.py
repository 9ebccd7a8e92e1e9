"""Estimates while somebody plays: at every step what a fit on the same history gives."""

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
    peak = fitted.source.peak
    idle = peak.peaks.points.fisher[peak.row].diagonal() < 1e-200  # changes nothing
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
        observe(often, rng, 3, 0.5, 0.5)
        once.episode = often.episode
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


def test_models_of_offers_are_refused_before_the_play():
    with pytest.raises(pn.errors.DataError, match="model must learn from rewards; got Hyperbolic"):
        pn.live(pn.HyperbolicDiscounting())


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
