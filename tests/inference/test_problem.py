"""The profile: values, gradients, priors, several episodes."""

import numpy as np
import pytest
from scipy import optimize, special

import belief_reference as dense
import penchant as pn
import played
from penchant.models.model import weights_and_shape
from profile_problem import Problem

EPISODE = played.ucl_episode(seed=1)
CASES = {
    "one shape parameter": (played.ucl(), EPISODE, [(0.05,), (3e-4,), (7.0,)]),
    "two": (played.ucl(length_scale=None), EPISODE, [(0.05, 1.4), (3e-4, 0.5), (4.0, 6.0)]),
    "free bonus": (played.ucl(bonus="free"), EPISODE, [(0.05,), (2e-3,)]),
    "constant cooling": (played.ucl(cooling="constant"), EPISODE, [(0.05,), (2e-3,)]),
    "Q-learning": (pn.QLearning(4), played.q_episode(), [(0.2,), (0.35,), (0.8,)]),
    "user's": (played.Learner(), played.q_episode(), [(0.2,), (0.8,)]),
}
everywhere = pytest.mark.parametrize("name", CASES)
priors = pytest.mark.parametrize(
    "prior", [None, pn.ScaledPrior(c=2.0), pn.GaussianPrior(0.1, 0.5)], ids=str
)


def theta_value(problem, psi, theta):
    """Objective at any weights, spelt out: log-likelihood and prior, the latter 0 at 0."""
    x = problem.variables(np.asarray(psi))
    q = x @ theta
    log_p = q - special.logsumexp(q, axis=1, keepdims=True)
    value = log_p[np.arange(len(q)), problem.chosen].sum()
    if isinstance(problem.prior, pn.ScaledPrior):
        centred = x - x.mean(axis=1, keepdims=True)
        scale2 = (centred**2).sum(axis=(0, 1)) / (len(x) * x.shape[1])
        value -= 0.5 * problem.prior.c * (scale2 * theta**2).sum()
    if isinstance(problem.prior, pn.GaussianPrior):
        value -= 0.5 * ((theta - 0.1) ** 2 / 0.5).sum() - 0.5 * (0.1**2 / 0.5) * len(theta)
    return value


@everywhere
@priors
def test_weights_maximise_the_objective_at_every_psi(name, prior):
    model, episode, psis = CASES[name]
    problem = Problem(model, (episode,), prior)
    values, thetas = problem.values(np.array(psis))
    for psi, value, theta in zip(psis, values, thetas, strict=True):
        assert value == pytest.approx(theta_value(problem, psi, theta), abs=1e-8)
        point = problem.at(np.array(psi))
        # two routes to one concave maximum
        assert point.value == pytest.approx(value, abs=1e-8)
        np.testing.assert_allclose(point.theta, theta, rtol=1e-5)
        size = np.abs(theta)
        found = optimize.minimize(
            lambda u, psi=psi, size=size: -theta_value(problem, psi, u * size),
            np.sign(theta),
            method="BFGS",
        )
        assert -found.fun <= value + 1e-9
        assert -found.fun == pytest.approx(value, abs=1e-6)


@everywhere
@priors
def test_gradients_of_the_profile_equal_central_differences(name, prior):
    model, episode, psis = CASES[name]
    problem = Problem(model, (episode,), prior)
    for psi in psis:
        u = problem.to_unconstrained(psi)
        expected = np.empty(len(u))
        for q in range(len(u)):
            h = np.zeros(len(u))
            h[q] = 1e-4
            both = np.stack([problem.from_unconstrained(u + h), problem.from_unconstrained(u - h)])
            above, below = problem.values(both)[0]
            expected[q] = (above - below) / 2e-4
        # values solved to 1e-10, over steps of 1e-4: 1e-6; truncation 1e-8 times third derivatives
        np.testing.assert_allclose(
            problem.at(np.array(psi)).gradient, expected, rtol=2e-5, atol=2e-5
        )


def test_values_do_not_depend_on_which_psi_are_asked_together():
    problem = Problem(played.ucl(length_scale=None), (EPISODE,))
    psis = np.exp(np.random.default_rng(1).uniform([-8, -1], [3, 2], size=(9, 2)))
    together, _ = problem.values(psis)
    order = np.array([4, 0, 8, 2, 1, 3, 7, 6, 5])
    np.testing.assert_allclose(problem.values(psis[order])[0], together[order], rtol=1e-13)
    alone = [problem.values(psi[None])[0][0] for psi in psis]
    np.testing.assert_allclose(alone, together, rtol=1e-13)


def test_a_weight_that_must_be_positive_is():
    """The agent runs from rewards: the best positive weight is 0."""
    means = np.array([5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    rng = np.random.default_rng(2)
    chosen = np.concatenate(
        [np.arange(7), rng.choice(7, 60, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])]
    )
    episode = pn.Episode(chosen, means[chosen] + rng.normal(0, 1, 67))
    problem = Problem(played.ucl(), (episode,))
    psis = np.array([[0.02], [0.5], [20.0]])
    values, thetas = problem.values(psis)
    assert (np.abs(thetas[:, 0]) < 1e-12).all()
    for psi, value in zip(psis, values, strict=True):
        # the other weight alone, by a scalar search of the concave objective
        best = optimize.minimize_scalar(
            lambda w, psi=psi: -theta_value(problem, psi, np.array([0.0, w])),
            options={"xtol": 1e-12},
        )
        assert value == pytest.approx(-best.fun, abs=1e-7)
        assert problem.at(psi).value == pytest.approx(value, abs=1e-9)


def test_episodes_that_share_parameters_add_up():
    episodes = tuple(played.ucl_episode(seed=s, n_decisions=20 + 7 * s) for s in (1, 2, 3))
    together = Problem(played.ucl(), episodes)
    point = together.at(np.array([0.05]))
    alone = sum(theta_value(Problem(played.ucl(), (e,)), (0.05,), point.theta) for e in episodes)
    assert point.log_likelihood == pytest.approx(alone, rel=1e-12)


def test_only_decisions_scored_count_and_the_rest_teaches():
    model = played.ucl()
    scored = np.random.default_rng(3).random(70) < 0.6
    part = pn.Episode(EPISODE.chosen, EPISODE.rewards, scored=scored)
    problem = Problem(model, (part,))
    assert len(problem.chosen) == scored.sum()
    x = problem.variables(np.array([0.05]))
    np.testing.assert_array_equal(x, model.explanatory(EPISODE, 0.05)[scored])
    log_p = dense.ucl_log_probabilities(
        EPISODE.chosen, EPISODE.rewards, played.PLACES, played.NOISE_VARIANCE, played.NATURAL
    )
    theta, psi = weights_and_shape(model, played.TRUTH)
    expected = log_p[np.arange(70), EPISODE.chosen][scored].sum()
    assert theta_value(problem, psi, theta) == pytest.approx(expected, rel=1e-11)


def test_search_units_are_there_and_back():
    problem = Problem(played.ucl(length_scale=None), (EPISODE,))
    psi = np.array([0.0123, 2.7])
    np.testing.assert_allclose(
        problem.from_unconstrained(problem.to_unconstrained(psi)), psi, rtol=1e-14
    )
    assert problem.bounds.shape == (2, 2)


@pytest.mark.parametrize("shape", [(70, 4), (69, 4, 1), (70, 4, 2)])
def test_a_model_whose_variables_have_another_shape_is_told(shape):
    class Wrong(played.Learner):
        def explanatory(self, episode, learning_rate):
            return np.zeros(shape)

    message = r"explanatory of a model must return shape .* = \(70, n_options, 1\); got"
    with pytest.raises(pn.errors.DataError, match=message):
        pn.fit(played.q_episode(n_decisions=70), Wrong())


def test_a_model_whose_variables_are_not_numbers_is_told():
    class Wrong(played.Learner):
        def explanatory(self, episode, learning_rate):
            return super().explanatory(episode, learning_rate) * np.nan

    with pytest.raises(pn.errors.DataError, match="explanatory must be finite"):
        pn.fit(played.q_episode(n_decisions=70), Wrong())
