"""The map somebody has in mind: its variables, its basis, and agents who have one."""

import re

import numpy as np
import pytest
from tests import played

import penchant as pn
from penchant.bandit.landscape import distances
from penchant.errors import DataError

GRID = pn.grid(6, 5)
EPISODE = played.random_episode(4, 30, n_events=35)


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def model(**options):
    given = {"locations": GRID, "noise_variance": 7.0, "length_scale": 2.3}
    return pn.UCL(**{**given, **options})


def dense_shares(functions, episode, own, delta):
    """F = delta S Sigma^-1 Phi by the inverse of the whole matrix, cooled."""
    inverse = np.linalg.inv(own.kernel(distances(own.locations), own.length_scale))
    count = np.zeros(own.n_options)
    rows = []
    for t, cooled in enumerate(np.log(own.times(episode))):
        precision = delta * inverse + np.diag(count)
        rows.append(delta * np.linalg.solve(precision, inverse @ functions) * cooled)
        if episode.observed[t]:
            count[episode.executed[t]] += 1
    return np.array(rows)


@pytest.mark.parametrize("delta", [3e-3, 0.11, 2.7])
def test_what_is_left_of_a_map_equals_the_dense_inverse(delta):
    basis = pn.MapBasis.smooth(GRID, n=7)
    own = model(prior_map=basis)
    expected = dense_shares(basis.functions, EPISODE, own, delta)
    found = own.explanatory(EPISODE, delta)[:, :, own.map_weights]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_derivatives_of_the_map_equal_differences():
    own = model(prior_map=pn.MapBasis.smooth(GRID, n=4), length_scale=None, locality=("distance",))
    psi = np.array([0.13, 1.9])
    _, slopes = own.explanatory_and_slopes(EPISODE, *psi)
    for q, step in enumerate((1e-6, 1e-5)):
        away = step * np.eye(2)[q]
        above, below = (own.explanatory(EPISODE, *(psi + s * away)) for s in (1, -1))
        expected = (above - below) / (2 * step)
        np.testing.assert_allclose(slopes[q], expected, atol=1e-6 * np.abs(expected).max())


def test_a_constant_function_is_the_share_of_the_prior_mean():
    """The column that the model has for mu0 is that of a map which is 1 everywhere."""
    own = model()
    ones = dense_shares(np.ones((30, 1)), EPISODE, own, 0.4)[:, :, 0]
    np.testing.assert_allclose(own.explanatory(EPISODE, 0.4)[:, :, 1], ones, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("level", [pn.MapBasis.smooth(GRID, n=0), pn.MapBasis.of([[3.0] * 30])])
def test_a_map_that_is_a_level_alone_changes_no_digit(level):
    truth = {"decision_noise": 9.0, "prior_mean": 35.0, "prior_variance": 120.0}
    place = pn.Landscape(np.linspace(10, 50, 30), pn.GaussianNoise(7.0))
    episode = pn.simulate(place, model(), truth, n_decisions=60, rng=np.random.default_rng(2))
    with_map, without = pn.fit(episode, model(prior_map=level)), pn.fit(episode, model())
    np.testing.assert_array_equal(with_map.theta, without.theta)
    np.testing.assert_array_equal(with_map.covariance, without.covariance)
    assert with_map.summary() == without.summary()


@pytest.mark.parametrize(
    "basis",
    [
        pn.MapBasis.smooth(GRID, n=9),
        pn.MapBasis.of(np.random.default_rng(1).normal(40, 9, (3, 30))),
        pn.MapBasis.of([pn.Landscape(np.arange(30.0), pn.GaussianNoise(1.0))]),
        pn.MapBasis.plane(GRID),
    ],
)
def test_functions_have_no_level_and_together_a_variance_of_one(basis):
    np.testing.assert_allclose(basis.functions.mean(axis=0), 0.0, atol=1e-12)
    assert (basis.functions**2).sum(axis=1).mean() == pytest.approx(1.0)
    assert basis.functions.shape == (30, basis.n)


def test_fewer_functions_are_the_first_ones_and_the_rest_is_kept_in_mind():
    basis = pn.MapBasis.smooth(GRID, n=12)
    fewer = basis.leading(5)
    ratio = fewer.functions / basis.functions[:, :5]
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert fewer.rest.shape[1] == 29 - 5
    assert (fewer.rest**2).sum() > (basis.rest**2).sum()


def test_what_cannot_be_a_basis_is_refused():
    with refused("n must be below the number of options, 30; got 30."):
        pn.MapBasis.smooth(GRID, n=30)
    with refused("landscapes must not follow from each other"):
        pn.MapBasis.of([np.arange(30.0), 5 - 2 * np.arange(30.0)])
    with refused("landscapes must be finite"):
        pn.MapBasis.of([[1.0, np.nan, 3.0]])
    with refused("prior_map must be of the 30 options of the model; got one of 9."):
        model(prior_map=pn.MapBasis.plane(pn.grid(3, 3)))
    with refused("sd must be > 0, or 'evidence' or 'prediction'; got -2."):
        pn.MapPrior(sd=-2)
    with refused("model must have a prior_map where parameter_prior is a MapPrior; got none."):
        pn.fit(EPISODE, model(), parameter_prior=pn.MapPrior())


def test_agents_with_a_map_choose_as_the_variables_say():
    basis = pn.MapBasis.smooth(GRID, n=3)
    own = model(prior_map=basis, locality=("distance", "visited"), clock="events")
    natural = {"decision_noise": 6.0, "prior_mean": 31.0, "prior_variance": 90.0}
    natural |= {"map_1": 4.0, "map_2": -7.0, "map_3": 2.5, "distance": -0.3, "visited": 0.4}
    agents = own.agents(natural, 1)
    rng = np.random.default_rng(5)
    chosen, rewards = rng.integers(0, 30, 12), rng.normal(30, 9, 12)
    nu = natural["decision_noise"]
    theta = np.array([1.0, 31.0, 4.0, -7.0, 2.5, -0.3 * nu, 0.4 * nu]) / nu
    x = own.explanatory(pn.Episode(chosen, rewards), 7.0 / 90.0)
    q = x @ theta
    expected = np.exp(q - q.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    for t in range(12):
        np.testing.assert_allclose(agents.probabilities()[0], expected[t], rtol=1e-8)
        agents.observe(chosen[t : t + 1], rewards[t : t + 1])
