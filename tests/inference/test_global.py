"""The highest peak: nothing on a fine grid, polished, is better."""

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
import played
from profile_problem import Problem


def brute_force(model, episode, n_points):
    """The highest profile of a fine grid, polished by Nelder-Mead from its three best places."""
    problem = Problem(model, (episode,))
    low, high = problem.bounds.T
    axes = [np.linspace(a, b, n_points) for a, b in problem.bounds]
    mesh = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    values, _ = problem.values(problem.profiles.from_unconstrained(mesh))
    starts = []
    for i in np.argsort(-values)[:60]:
        if all(np.abs(mesh[i] - mesh[j]).max() > 0.4 for j in starts):
            starts.append(i)

    def negative(u):
        inside = np.clip(u, low, high)
        return -problem.values(problem.profiles.from_unconstrained(inside[None]))[0][0]

    best = float(values.max())
    for i in starts[:3]:
        options = {"maxfev": 120, "xatol": 1e-6, "fatol": 1e-10}
        best = max(
            best, -optimize.minimize(negative, mesh[i], options=options, method="Nelder-Mead").fun
        )
    return best


def learner(seed, model, n, **truth):
    return pn.simulate(
        pn.Landscape([0.2, 0.55, 0.9], pn.GaussianNoise(0.2)),
        model,
        {"temperature": 0.3, **truth},
        n_decisions=n,
        rng=np.random.default_rng(seed),
    )


FORGETS = pn.QLearning(3, forgetting=None, stickiness=True)
TRACE = pn.QLearning(3, forgetting=None, choice_kernel=True)
DUAL = pn.QLearning(3, dual_rates=True)


@pytest.mark.parametrize("seed", range(6))
def test_one_rate(seed):
    episode = learner(seed, pn.QLearning(3), 20 + 12 * seed, learning_rate=0.1 + 0.15 * seed)
    found = pn.fit(episode, pn.QLearning(3)).log_likelihood
    assert found >= brute_force(pn.QLearning(3), episode, 801) - 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_choices_without_sense(seed):
    episode = played.random_episode(seed, 5, 14 + 3 * seed)
    found = pn.fit(episode, pn.QLearning(5)).log_likelihood
    assert found >= brute_force(pn.QLearning(5), episode, 801) - 1e-7
    episode = played.random_episode(seed, 7, 14 + 3 * seed)
    found = pn.fit(episode, played.ucl()).log_likelihood
    assert found >= brute_force(played.ucl(), episode, 401) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_two_rates(seed):
    truth = {"learning_rate": 0.05 + 0.1 * seed, "forgetting": 0.9 - 0.1 * seed, "stickiness": 0.4}
    episode = learner(seed, FORGETS, 30 + 10 * seed, **truth)
    found = pn.fit(episode, FORGETS).log_likelihood
    assert found >= brute_force(FORGETS, episode, 61) - 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_dual_rates_whose_profile_has_kinks(seed):
    rates = {"learning_rate_positive": 0.1 + 0.1 * seed, "learning_rate_negative": 0.9 - 0.1 * seed}
    episode = learner(seed, DUAL, 30 + 10 * seed, **rates)
    # kinks make peaks of any size: what is missed between them is far below one log-unit
    assert pn.fit(episode, DUAL).log_likelihood >= brute_force(DUAL, episode, 81) - 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_three_rates(seed):
    rates = {"learning_rate": 0.2 + 0.2 * seed, "forgetting": 0.2, "choice_rate": 0.3}
    episode = learner(seed, TRACE, 60 + 20 * seed, choice_kernel=0.6, **rates)
    found = pn.fit(episode, TRACE).log_likelihood
    assert found >= brute_force(TRACE, episode, 21) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_ucl_with_its_length_scale(seed):
    episode = played.ucl_episode(seed=seed, n_decisions=20 + 10 * (seed % 6))
    model = played.ucl(length_scale=None)
    assert pn.fit(episode, model).log_likelihood >= brute_force(model, episode, 71) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_kalman_filter(seed):
    model = pn.KalmanFilter(3, noise_variance=0.2, decay=None)
    episode = learner(seed, pn.QLearning(3), 40 + 15 * seed, learning_rate=0.3)
    n = {1: 601, 2: 41, 3: 17}[len(model.shape)]
    assert pn.fit(episode, model).log_likelihood >= brute_force(model, episode, n) - 1e-6
