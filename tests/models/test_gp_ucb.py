"""Gaussian-process UCB: features against dense inverses, derivatives, limits, agents, recovery."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import belief_reference as dense
import penchant as pn
import played
from penchant.bandit.beliefs import EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52
from penchant.models.model import natural_parameters, weights_and_shape
from penchant.models.record import Record

KERNELS = {kernel.name: kernel for kernel in (GAUSSIAN, MATERN32, MATERN52, EXPONENTIAL)}
TERMS = ("distance", "log_distance", "same", "visited")


def literal(episode, places, kernel, length_scale, ratio, prior_mean, prior_sd):
    """Mean and predictive sd of every option before each event, by np.linalg.inv."""
    sigma = dense.correlations(places, length_scale, kernel)
    means, deviations = [], []
    for t in range(episode.n_events):
        seen = [k for k in range(t) if not math.isnan(episode.rewards[k])]
        options, rewards = episode.chosen[seen], episode.rewards[seen]
        inverse = np.linalg.inv(sigma[np.ix_(options, options)] + ratio * np.eye(len(seen)))
        mean, deviation = [], []
        for i in range(len(places)):
            k = sigma[i, options]
            mean.append(prior_mean + k @ inverse @ (rewards - prior_mean))
            deviation.append(prior_sd * math.sqrt(1 + ratio - k @ inverse @ k))
        means.append(mean)
        deviations.append(deviation)
    return np.array(means), np.array(deviations)


@given(
    seed=st.integers(0, 10_000),
    kernel=st.sampled_from(sorted(KERNELS)),
    length_scale=st.floats(0.2, 6.0),
    ratio=st.floats(1e-3, 2.0),
    prior_mean=st.floats(-20.0, 60.0),
)
def test_mean_and_sd_equal_the_dense_formulas(seed, kernel, length_scale, ratio, prior_mean):
    episode = played.random_episode(seed, 7)
    model = pn.GPUCB(
        played.PLACES, kernel=KERNELS[kernel], noise_ratio=None, prior_mean=prior_mean, prior_sd=3.5
    )
    mean, sd = literal(episode, played.PLACES, kernel, length_scale, ratio, prior_mean, 3.5)
    x = model.explanatory(episode, length_scale, ratio)
    np.testing.assert_allclose(x[:, :, 0], mean, rtol=1e-8, atol=1e-7)  # K is near singular
    np.testing.assert_allclose(x[:, :, 1], sd, rtol=1e-8)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_an_estimated_prior_mean_is_linear(kernel):
    episode = played.random_episode(3, 7)
    free = pn.GPUCB(played.PLACES, kernel=KERNELS[kernel]).explanatory(episode, 1.3)
    for mean in (-4.0, 37.5):
        model = pn.GPUCB(played.PLACES, kernel=KERNELS[kernel], prior_mean=mean)
        fixed = model.explanatory(episode, 1.3)
        np.testing.assert_allclose(free[:, :, 0] + mean * free[:, :, 2], fixed[:, :, 0], rtol=1e-11)
        np.testing.assert_array_equal(free[:, :, 1], fixed[:, :, 1])


@given(
    seed=st.integers(0, 10_000),
    kernel=st.sampled_from(sorted(KERNELS)),
    length_scale=st.floats(0.3, 5.0),
    ratio=st.floats(0.01, 2.0),
)
def test_derivatives_equal_differences(seed, kernel, length_scale, ratio):
    episode = played.random_episode(seed, 7)
    model = pn.GPUCB(
        played.PLACES, locality=("same",), kernel=KERNELS[kernel], noise_ratio=None, prior_sd=2.0
    )
    x, slopes = model.explanatory_and_slopes(episode, length_scale, ratio)
    assert slopes.shape == (2, *x.shape)
    np.testing.assert_array_equal(x, model.explanatory(episode, length_scale, ratio))
    for q, (a, b) in enumerate(((1e-5 * length_scale, 0.0), (0.0, 1e-5 * ratio))):
        above = model.explanatory(episode, length_scale + a, ratio + b)
        below = model.explanatory(episode, length_scale - a, ratio - b)
        expected = (above - below) / (2 * (a + b))
        size = np.abs(expected).max(initial=1e-3)
        np.testing.assert_allclose(slopes[q], expected, rtol=1e-5, atol=1e-6 * size)


@pytest.mark.parametrize(
    ("fixed", "derivatives"),
    [
        ({}, [0]),
        ({"noise_ratio": None, "length_scale": 1.7}, [1]),
        ({"length_scale": 1.7}, []),
    ],
)
def test_what_is_fixed_has_no_derivative(fixed, derivatives):
    episode = played.random_episode(4, 7)
    whole = {"length_scale": 1.7, "noise_ratio": 1e-4}
    everything = pn.GPUCB(played.PLACES, noise_ratio=None)
    model = pn.GPUCB(played.PLACES, **fixed)
    psi = [whole[s.name] for s in model.shape]
    x, slopes = model.explanatory_and_slopes(episode, *psi)
    expected, all_slopes = everything.explanatory_and_slopes(episode, 1.7, 1e-4)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(slopes, all_slopes[derivatives])


def test_terms_of_locality_stand_last_and_change_nothing_else():
    episode = played.random_episode(6, 7)
    plain = pn.GPUCB(played.PLACES).explanatory(episode, 1.1)
    for terms in (("visited",), ("same", "distance"), TERMS):
        model = pn.GPUCB(played.PLACES, locality=terms)
        x, slopes = model.explanatory_and_slopes(episode, 1.1)
        near = pn.models.Locality(played.PLACES, terms).explanatory(episode)
        np.testing.assert_array_equal(x, np.concatenate([plain, near], axis=2))
        np.testing.assert_array_equal(slopes[:, :, :, 3:], 0.0)
        assert model.weights[3:] == terms


def test_before_anything_is_known_all_options_are_alike():
    episode = played.random_episode(7, 7)
    x = pn.GPUCB(played.PLACES, TERMS, noise_ratio=0.3, prior_sd=2.0).explanatory(episode, 1.1)
    first = [0.0, 2.0 * math.sqrt(1.3), 1.0, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(x[0], np.tile(first, (7, 1)), rtol=1e-14)


def test_independent_options_learn_only_of_themselves():
    """Length scale 0: the mean tracker, with n rewards the mean is sum / (n + delta)."""
    episode = pn.Episode([1, 4, 1, 2], [3.0, 5.0, 6.0, 1.0])
    model = pn.GPUCB(played.PLACES, length_scale=0.0, noise_ratio=0.5, prior_mean=0.0)
    x = model.explanatory(episode)
    np.testing.assert_allclose(x[3, :, 0], [0, 9 / 2.5, 0, 0, 5 / 1.5, 0, 0], rtol=1e-14)
    variance = np.array([1, 0.5 / 2.5, 1, 1, 0.5 / 1.5, 1, 1]) + 0.5
    np.testing.assert_allclose(x[3, :, 1], np.sqrt(variance), rtol=1e-14)


def test_a_huge_length_scale_makes_all_options_one():
    episode = pn.Episode([1, 4, 1, 2], [3.0, 5.0, 6.0, 1.0])
    model = pn.GPUCB(played.PLACES, length_scale=1e7, noise_ratio=0.5, prior_mean=0.0)
    np.testing.assert_allclose(model.explanatory(episode)[3, :, 0], 14 / 3.5, rtol=1e-9)


def test_timeouts_teach_nothing_and_options_shown_do():
    plain = pn.Episode([1, 2, 0], [3.0, 5.0, 2.0])
    gaps = pn.Episode([1, None, 2, 0], [3.0, None, 5.0, 2.0], is_choice=[False, True, True, True])
    model = pn.GPUCB(played.PLACES, TERMS)
    one, other = model.explanatory(plain, 1.2), model.explanatory(gaps, 1.2)
    np.testing.assert_array_equal(other[[0, 2, 3]], one)
    np.testing.assert_array_equal(other[1], other[2])


def test_units_of_rewards_and_places_change_units_only():
    episode = played.random_episode(8, 7)
    scaled = pn.Episode(episode.chosen, 10 * episode.rewards, is_choice=episode.is_choice)
    x = pn.GPUCB(played.PLACES, prior_sd=3.0).explanatory(episode, 1.2)
    y = pn.GPUCB(4 * played.PLACES, prior_sd=30.0).explanatory(scaled, 4.8)
    np.testing.assert_allclose(y, x * [10.0, 10.0, 1.0], rtol=1e-9, atol=1e-9)


def test_the_future_is_not_known():
    episode = played.random_episode(9, 7)
    cut = pn.Episode(episode.chosen[:12], episode.rewards[:12], is_choice=episode.is_choice[:12])
    model = pn.GPUCB(played.PLACES, TERMS)
    np.testing.assert_allclose(
        model.explanatory(episode, 0.9)[:12], model.explanatory(cut, 0.9), rtol=1e-9, atol=1e-9
    )


def test_many_episodes_at_once_are_each_by_itself():
    episodes = [played.random_episode(seed, 7, n_events=8 + seed) for seed in range(3)]
    which, psi = np.array([1, 0, 2, 1]), np.array([[0.4, 0.1], [1.0, 0.2], [2.0, 0.3], [5.0, 0.4]])
    model = pn.GPUCB(played.PLACES, TERMS, noise_ratio=None)
    x, slopes = model.explanatory_many(Record.of(episodes), which, psi, True)
    alone = [model.explanatory_and_slopes(episodes[e], *p) for e, p in zip(which, psi, strict=True)]
    np.testing.assert_array_equal(x, np.concatenate([a[0] for a in alone]))
    np.testing.assert_array_equal(slopes, np.concatenate([a[1] for a in alone], axis=1))


def test_natural_parameters_have_their_meaning():
    model = pn.GPUCB(played.PLACES, ("same",), noise_ratio=None)
    truth = {
        "temperature": 4.0,
        "bonus": 0.5,
        "prior_mean": 12.0,
        "same": -0.3,
        "length_scale": 1.5,
        "noise_ratio": 0.02,
    }
    theta, psi = weights_and_shape(model, truth)
    np.testing.assert_allclose(theta, [0.25, 0.125, 3.0, -0.3])
    found = {n.name: n.value(theta, psi) for n in natural_parameters(model)}
    assert found == pytest.approx(truth)
    assert list(found) == list(truth)


def test_it_says_what_it_is():
    assert str(pn.GPUCB(pn.grid(3, 2), ("same", "visited"), prior_mean=50, length_scale=2)) == (
        "Gaussian-process UCB, 6 options, gaussian kernel, length scale 2, noise ratio 0.0001, "
        "prior mean 50, prior sd 1, locality: same, visited"
    )


def test_a_model_can_be_stored():
    episode = played.random_episode(3, 7)
    model = pn.GPUCB(played.PLACES, TERMS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.explanatory(episode, 1.2), again.explanatory(episode, 1.2))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"length_scale": -1.0}, "length_scale must be >= 0; got -1.0"),
        ({"length_scale": np.nan}, "length_scale must be >= 0"),
        ({"noise_ratio": 0.0}, "noise_ratio must be > 0; got 0.0"),
        ({"noise_ratio": "small"}, "noise_ratio must be a number"),
        ({"prior_mean": np.inf}, "prior_mean must be finite; got inf"),
        ({"prior_sd": None}, "prior_sd must be a number; got None"),
        ({"prior_sd": -2}, "prior_sd must be > 0; got -2"),
        ({"kernel": "rbf"}, "kernel must be one of penchant.bandit.beliefs; got 'rbf'"),
        ({"locality": ("samee",)}, "locality must be among distance.*got 'samee'"),
        ({"length_scale_range": (2.0, 1.0)}, "length_scale_range must go up from above 0"),
        ({"locations": [[1.0]]}, "length_scale must be given for a single option"),
    ],
)
def test_impossible_settings_are_refused(wrong, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.GPUCB(**{"locations": played.PLACES, **wrong})


def test_options_beyond_the_last_are_refused():
    with pytest.raises(
        pn.errors.DataError, match=r"chosen must lie in 0\.\.6; got 9 at decision 1"
    ):
        pn.GPUCB(played.PLACES).explanatory(pn.Episode([0, 9], [1.0, 2.0]), 0.3)


# -- play ----------------------------------------------------------------------------------------

TRUTH = {
    "temperature": 9.0,
    "bonus": 0.7,
    "prior_mean": 30.0,
    "distance": -0.2,
    "log_distance": -0.3,
    "same": 0.6,
    "visited": -0.5,
    "length_scale": 1.2,
    "noise_ratio": 0.05,
}


def play(model, truth, n_agents, n_decisions, seed):
    names = {n.name for n in natural_parameters(model)}
    return pn.simulate(
        played.landscape(),
        model,
        {name: value for name, value in truth.items() if name in names},
        n_decisions=n_decisions,
        n_subjects=n_agents,
        rng=np.random.default_rng(seed),
    )


def g_test(episodes, model, truth):
    """Of the options by rank of their probability."""
    theta, psi = weights_and_shape(model, truth)
    p = np.concatenate(
        [special.softmax(model.explanatory(e, *psi) @ theta, axis=1) for e in episodes]
    )
    order = np.argsort(p, axis=1, kind="stable")
    chosen = np.concatenate([e.chosen for e in episodes])
    observed = np.bincount(np.argmax(order == chosen[:, None], axis=1), minlength=p.shape[1])
    expected = np.take_along_axis(p, order, axis=1).sum(axis=0)
    return stats.chi2.sf(2 * special.rel_entr(observed, expected).sum(), p.shape[1] - 1)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_agents_choose_with_the_probabilities_of_the_likelihood(kernel):
    model = pn.GPUCB(played.PLACES, TERMS, kernel=KERNELS[kernel], noise_ratio=None, prior_sd=20.0)
    episodes = play(model, TRUTH, 600, 12, 1)
    assert g_test(episodes, model, TRUTH) > 1e-3
    for name, factor in (("temperature", 1.4), ("bonus", 4.0), ("visited", -1.0)):
        assert g_test(episodes, model, {**TRUTH, name: factor * TRUTH[name]}) < 1e-3, name


def test_agents_know_what_the_likelihood_knows():
    model = pn.GPUCB(played.PLACES, TERMS, prior_mean=31.0, prior_sd=15.0)
    (episode,) = play(model, TRUTH, 1, 30, 4)
    theta, psi = weights_and_shape(model, TRUTH)
    expected = special.softmax(model.explanatory(episode, *psi) @ theta, axis=1)
    agents = model.agents({n.name: TRUTH[n.name] for n in natural_parameters(model)}, 1)
    for t in range(30):
        np.testing.assert_allclose(agents.probabilities()[0], expected[t], rtol=1e-8)
        agents.observe(episode.chosen[t : t + 1], episode.rewards[t : t + 1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.0}, "temperature must be > 0; got 0.0"),
        ({"length_scale": -1.0}, "length_scale must be >= 0; got -1.0"),
        ({"bonus": np.nan}, "bonus must be finite; got nan"),
        ({"same": np.inf}, "same must be finite; got inf"),
    ],
)
def test_impossible_parameters_are_refused(wrong, message):
    model = pn.GPUCB(played.PLACES, TERMS, noise_ratio=None)
    with pytest.raises(pn.errors.DataError, match=message):
        play(model, {**TRUTH, **wrong}, 1, 3, 1)


@pytest.mark.slow
def test_parameters_are_recovered():
    model = pn.GPUCB(played.PLACES, ("distance", "visited"), noise_ratio=0.05, prior_sd=20.0)
    inside = total = 0
    for seed in range(12):
        estimate = pn.fit(play(model, TRUTH, 10, 30, seed), model)
        assert estimate.status == "converged"
        for parameter in estimate.parameters:
            inside += parameter.low <= TRUTH[parameter.name] <= parameter.high
            total += 1
    assert inside / total > 0.85


@pytest.mark.slow
def test_the_fit_is_no_worse_than_ten_starts_of_a_general_optimiser():
    from scipy import optimize

    model = pn.GPUCB(played.PLACES, ("visited",), noise_ratio=0.05)
    episodes = play(model, {**TRUTH, "bonus": 8.0}, 4, 30, 2)
    found = pn.fit(episodes, model)

    def negative(at):
        total = 0.0
        for e in episodes:
            q = model.explanatory(e, math.exp(at[-1])) @ at[:-1]
            total -= special.log_softmax(q, axis=1)[np.arange(e.n_events), e.chosen].sum()
        return total

    rng = np.random.default_rng(1)
    bounds = [(0, 5), (-9, 9), (-9, 9), (-9, 9), tuple(model.shape[0].search_range)]
    starts = [[rng.uniform(max(a, -2), min(b, 2)) for a, b in bounds] for _ in range(10)]
    lowest = min(
        optimize.minimize(negative, start, method="L-BFGS-B", bounds=bounds).fun for start in starts
    )
    assert -found.log_likelihood <= lowest + 1e-6
