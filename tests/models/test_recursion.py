"""Models defined by features and update: attributes, derivatives, agents, compiled code."""

import os
import subprocess
import sys
import textwrap
from math import exp, log, sqrt

import numpy as np
import pytest

import penchant as pn
from penchant.models.record import Record
from penchant.models.recursion import Recursion


class Everything(Recursion):
    """Uses every operation that the generated derivatives know, and a state of each kind."""

    n_options = 2
    weights = ("first", "second")
    shape = (pn.models.Shape("rate", 0.0, 1.0), pn.models.Shape("power", 0.2, 2.0))

    def state(self):
        return {"value": np.array([0.3, 0.6]), "seen": 0.5}

    def settings(self):
        return {"scale": 1.5}

    @staticmethod
    def features(s, e, psi, c, x):
        for i in range(2):
            x[i, 0] = c.scale * s.value[i] ** psi.power
        x[1, 1] = -exp(-s.seen) + log(1.0 + s.seen) / sqrt(s.seen + psi.power)

    @staticmethod
    def update(s, e, psi, c):
        error = e.reward - s.value[e.choice]
        is_better = (error > 0) == (psi.power > 0)
        gain = psi.rate if is_better else psi.rate * psi.power / 2
        s.value[e.choice] += gain * error
        shrunk, more = s.seen * (1.0 - psi.rate * max(s.seen, 0.2)), min(error, 0.5 * psi.power)
        s.seen = shrunk
        s.seen += abs(more)


def literal(episode, rate, power):
    """The same equations, event by event."""
    value, seen, rows = [0.3, 0.6], 0.5, []
    for choice, reward in zip(episode.chosen, episode.rewards, strict=True):
        second = -exp(-seen) + log(1 + seen) / sqrt(seen + power)
        rows.append([[1.5 * value[0] ** power, 0.0], [1.5 * value[1] ** power, second]])
        if choice < 0 or np.isnan(reward):
            continue
        error = reward - value[choice]
        value[choice] += (rate if error > 0 else rate * power / 2) * error
        seen *= 1 - rate * max(seen, 0.2)
        seen += abs(min(error, 0.5 * power))
    return np.array(rows)


@pytest.fixture(scope="module")
def episode():
    rng = np.random.default_rng(5)
    chosen, rewards = rng.integers(0, 2, 30), rng.uniform(0.1, 1.0, 30)
    chosen[7], rewards[7] = -1, np.nan
    return pn.Episode(chosen, rewards)


@pytest.mark.parametrize("psi", [(0.3, 0.8), (0.9, 1.7), (0.0, 0.2)])
def test_attributes_are_those_of_the_equations(episode, psi):
    found = Everything().explanatory(episode, *psi)
    np.testing.assert_allclose(found, literal(episode, *psi), rtol=1e-14)


@pytest.mark.parametrize("psi", [(0.3, 0.8), (0.9, 1.7)])
def test_derivatives_are_those_of_differences(episode, psi):
    _, slopes = Everything().explanatory_and_slopes(episode, *psi)
    step = 1e-6
    for m in range(2):
        ends = [np.array(psi), np.array(psi)]
        ends[0][m] -= step
        ends[1][m] += step
        below, above = (literal(episode, *end) for end in ends)
        np.testing.assert_allclose(slopes[m], (above - below) / (2 * step), atol=1e-7)


class Trusting(Recursion):
    """A Kalman filter whose first reward is believed almost wholly."""

    n_options = 2
    weights = ("variance",)
    shape = (pn.models.Shape("prior", 1e-9, 1e12, scale="log"),)

    def state(self):
        return {"variance": 0.0}

    @staticmethod
    def start(s, psi, c):
        s.variance = psi.prior

    @staticmethod
    def features(s, e, psi, c, x):
        x[0, 0] = s.variance

    @staticmethod
    def update(s, e, psi, c):
        s.variance = s.variance / (1.0 + s.variance)


@pytest.mark.parametrize("prior", [1e-9, 1.0, 1e12])
def test_the_derivative_of_a_share_is_exact_where_it_is_almost_1(prior):
    _, slopes = Trusting().explanatory_and_slopes(pn.Episode([0, 1], [1.0, 0.0]), prior)
    np.testing.assert_allclose(slopes[0, :, 0, 0], [1.0, (1 + prior) ** -2], rtol=1e-14)


def test_pairs_side_by_side_are_the_pairs_one_by_one(episode):
    model, rng = Everything(), np.random.default_rng(2)
    short = pn.Episode(episode.chosen[:11], episode.rewards[:11])
    record = Record.of([episode, short])
    which = np.array([0] * 11 + [1] * 3 + [0])
    psi = np.column_stack([rng.uniform(0, 1, 15), rng.uniform(0.3, 1.9, 15)])
    x, slopes = model.explanatory_many(record, which, psi, True)
    one_by_one = [
        model.explanatory_and_slopes((episode, short)[e], *at)
        for e, at in zip(which, psi, strict=True)
    ]
    assert np.array_equal(x, np.concatenate([one for one, _ in one_by_one]))
    assert np.array_equal(slopes, np.concatenate([two for _, two in one_by_one], axis=1))
    assert np.array_equal(x, model.explanatory_many(record, which, psi, False)[0])


def test_agents_choose_by_the_attributes_of_their_own_play(episode):
    model, n = Everything(), 3
    truth = {"first": 2.0, "second": -1.0, "rate": 0.4, "power": 0.9}
    agents = model.agents(truth, n)
    x = model.explanatory(episode, 0.4, 0.9)
    for t, (chosen, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        utility = x[t] @ [2.0, -1.0]
        expected = np.exp(utility - utility.max())
        np.testing.assert_allclose(
            agents.probabilities(), np.tile(expected / expected.sum(), (n, 1)), rtol=1e-12
        )
        agents.observe(np.full(n, chosen), np.full(n, reward))


class Waiting(Everything):
    """Forgets the last choice where none is made, which update has to see."""

    optional = ("choice", "reward")

    def state(self):
        return {"last": -1.0}

    @staticmethod
    def features(s, e, psi, c, x):
        for i in range(2):
            x[i, 0] = psi.rate if s.last == i else 0.0

    @staticmethod
    def update(s, e, psi, c):
        s.last = e.choice if e.reward == e.reward else -1.0


class Colliding(Everything):
    """Calls its variables as the loop over pairs and events calls its own."""

    @staticmethod
    def features(s, e, psi, c, x):
        for k in range(2):
            row = s.value[k] ** psi.power
            x[k, 0] = c.scale * row
        end = -exp(-s.seen)
        x[1, 1] = end + log(1.0 + s.seen) / sqrt(s.seen + psi.power)


def test_variables_of_a_model_may_have_any_name(episode):
    record, psi = Record.of([episode, episode]), np.array([[0.3, 0.8]] * 3)
    found = (
        kind().explanatory_many(record, np.array([0, 0, 1]), psi, True)
        for kind in (Everything, Colliding)
    )
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_update_runs_where_only_optional_fields_are_missing(episode):
    found = Waiting().explanatory(episode, 0.4, 1.0)[:, :, 0]
    last = np.append(-1, episode.chosen[:-1])
    np.testing.assert_array_equal(found, 0.4 * (last[:, None] == np.arange(2)))


class Fading(Recursion):
    """Values that fade with every decision, chosen or not, beside controls."""

    n_options = 3
    weights = ("value", "stickiness", "bias_0", "bias_1")
    shape = (pn.models.Shape("decay", 0.0, 1.0),)
    optional = ("choice", "reward")

    def controls(self):
        return self.weights[1:]

    def state(self):
        return {"value": np.zeros(3)}

    @staticmethod
    def features(s, e, psi, c, x):
        for i in range(3):
            x[i, 0] = s.value[i]

    @staticmethod
    def update(s, e, psi, c):
        for i in range(3):
            s.value[i] *= psi.decay
        if e.choice >= 0 and e.reward == e.reward:
            s.value[e.choice] += e.reward


WITH_GAPS = pn.Episode([0, None, 2, 1], [2.0, None, 3.0, None], is_choice=[1, 1, 0, 1])


def test_controls_are_the_last_choice_made_and_an_indicator_of_each_option_but_the_last():
    x, slopes = Fading().explanatory_and_slopes(WITH_GAPS, 0.5)
    np.testing.assert_array_equal(x[:, :, 1], [[0, 0, 0]] + [[1, 0, 0]] * 3)
    np.testing.assert_array_equal(x[:, :, 2:], [np.eye(3)[:, :2]] * 4)
    assert not slopes[..., 1:].any()


def test_agents_have_the_controls_of_the_model():
    truth = {"value": 0.3, "stickiness": 0.8, "bias_0": -0.5, "bias_1": 0.2, "decay": 0.5}
    theta = np.array([*truth.values()][:4])
    x, agents = Fading().explanatory(WITH_GAPS, 0.5), Fading().agents(truth, 2)
    for t, option in enumerate(WITH_GAPS.chosen):
        utility = np.exp(x[t] @ theta)
        np.testing.assert_allclose(agents.probabilities(), [utility / utility.sum()] * 2)
        reward = np.full(2, WITH_GAPS.rewards[t])
        agents.observe(np.full(2, option), reward, is_choice=bool(WITH_GAPS.is_choice[t]))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("rate", 1.2, "rate must lie in 0..1; got 1.2"), ("first", np.inf, "first must be finite")],
)
def test_agents_with_parameters_outside_the_model_are_refused(name, value, words):
    truth = {"first": 2.0, "second": -1.0, "rate": 0.4, "power": 0.9, name: value}
    with pytest.raises(pn.DataError, match=words):
        Everything().agents(truth, 1)


def test_a_statement_that_has_no_derivative_is_refused():
    class Odd(Everything):
        @staticmethod
        def update(s, e, psi, c):
            while s.seen > 1:
                s.seen *= psi.rate

    with pytest.raises(pn.DataError, match="features and update must consist of assignments"):
        Odd().explanatory(pn.Episode([0, 1], [1.0, 0.0]), 0.5, 1.0)


USER_MODEL = """
import numpy as np
import penchant as pn
from penchant.models.recursion import Recursion


class Learner(Recursion):
    n_options = 2
    weights = ("inverse_temperature",)
    shape = (pn.models.Shape("rate", 0.0, 1.0),)

    def state(self):
        return {"value": np.zeros(2)}

    @staticmethod
    def features(s, e, psi, c, x):
        for i in range(2):
            x[i, 0] = s.value[i]

    @staticmethod
    def update(s, e, psi, c):
        s.value[e.choice] += psi.rate * (e.reward - s.value[e.choice])  # RULE
"""
SCRIPT = """
import penchant as pn
from learner import Learner

episode = pn.Episode([0, 1, 0], [1.0, 0.5, 0.0])
model = Learner()
x, slopes = model.explanatory_and_slopes(episode, 0.5)
model.explanatory(episode, 0.5)
loops = model._program().module
used = loops.attributes.stats, loops.attributes_and_slopes.stats
hits = [sum(one.cache_hits.values()) for one in used]
misses = [sum(one.cache_misses.values()) for one in used]
print(hits, misses, x[2, 0, 0])
"""


def test_compiled_code_of_a_users_model_is_found_again_until_the_model_changes(tmp_path):
    (tmp_path / "learner.py").write_text(USER_MODEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])

    def run():
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(SCRIPT)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert run() == "[0, 0] [1, 1] 0.5"
    assert run() == "[1, 1] [0, 0] 0.5"
    changed = USER_MODEL.replace("  # RULE", " / 2")
    (tmp_path / "learner.py").write_text(changed)
    assert run() == "[0, 0] [1, 1] 0.25"
