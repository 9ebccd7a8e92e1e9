"""Where maxima are flat, or at the end of what a spread may be."""

import dataclasses

import numpy as np
import pytest
import scipy.stats

import penchant as pn
from penchant.population.hierarchy.marginal_likelihood import LogCholesky
from penchant.population.hierarchy.marginal_maximization import evidences_on_other_nodes
from peopled import MODEL, discounters, q_learners


@pytest.mark.parametrize("seed", [22, 33])
def test_few_short_lived_people_settle(seed):
    _, episodes = q_learners(15, 30, np.random.default_rng(seed))
    found = pn.fit_population(episodes, MODEL)
    assert "stopped early" not in found.status
    assert np.isfinite(found.covariance).all()


@pytest.mark.slow
@pytest.mark.parametrize("n, n_trials", [(8, 40), (15, 30), (20, 40), (40, 25)])
def test_searches_settle_on_flat_ridges(n, n_trials):
    for seed in range(15):
        _, episodes = q_learners(n, n_trials, np.random.default_rng([n, seed]))
        found = pn.fit_population(episodes, MODEL)
        assert found.source.optimum.converged, (seed, found.message)


@pytest.mark.slow
def test_a_spread_that_is_not_there_is_left_out_and_the_search_settles():
    flat = 0
    for seed in range(12):
        rng = np.random.default_rng([5, seed])
        _, episodes = q_learners(20, 40, rng, sd=(1e-9, 0.5), rho=0.0)
        found = pn.fit_population(episodes, MODEL)
        assert found.source.optimum.converged
        flat += found.status == "no spread in learning_rate"
    assert flat >= 4


@pytest.fixture(scope="module")
def without_spread():
    _, episodes = q_learners(20, 40, np.random.default_rng([5, 4]), sd=(1e-9, 0.5), rho=0.0)
    return pn.fit_population(episodes, MODEL)


def test_people_of_whom_no_spread_was_found_are_not_known_like_their_mean(without_spread):
    found = without_spread
    assert found.status == "no spread in learning_rate"
    assert found.spread[0, 0] == 0
    rate = found.names.index("learning_rate")
    assert (found.subjects.sd[:, 0] > 1.2 * found.standard_errors[rate]).all()
    assert found.prior.covariance[0, 0] > found.covariance[rate, rate]
    assert "spread_prior='gamma'" in found.summary()
    drawn = found.subjects.draws(40, rng=np.random.default_rng(0))
    assert (drawn.std(axis=1) > 0).all()
    sample = found.sample(500, rng=np.random.default_rng(0))
    assert sample["sd learning_rate"].min() > 0


def test_a_spread_is_left_out_only_where_that_costs_nothing(without_spread):
    found = without_spread
    about = found.source.descriptive_optimum
    task = dataclasses.replace(
        found.source.problem,
        structure=about.marginal.structure,
        nodes_per_dimension=15,
        restricted=True,
    )
    assert evidences_on_other_nodes(task, about).sum() < found.log_likelihood + 0.3


def test_a_prior_keeps_spreads_from_vanishing(without_spread):
    episodes = without_spread.source.data
    found = pn.fit_population(episodes, MODEL, spread_prior="gamma")
    assert not found.status.startswith("no spread")
    assert found.spread[0, 0] > 0.01
    assert any("spread_prior" in note for note in found.notes)
    with pytest.raises(pn.errors.DataError, match="spread_prior must be 'gamma'; got 'flat'"):
        pn.fit_population(episodes, MODEL, spread_prior="flat")


def test_the_prior_of_a_spread_is_what_it_says():
    rng = np.random.default_rng(3)
    spread = LogCholesky(3, True, 2)
    numbers = rng.normal(size=spread.n_parameters)
    value, gradient, hessian = spread.log_prior(numbers)
    expected = 0.0
    for matrix in spread.covariance_matrices(numbers):
        sd = np.sqrt(np.diag(matrix))
        expected += np.log(sd).sum() + np.linalg.slogdet(matrix / np.outer(sd, sd))[1]
    assert value == pytest.approx(expected, rel=1e-12)
    step = 1e-6 * np.eye(len(numbers))
    slopes = [
        (spread.log_prior(numbers + e)[0] - spread.log_prior(numbers - e)[0]) / 2e-6 for e in step
    ]
    np.testing.assert_allclose(gradient, slopes, atol=1e-8)
    bends = [
        (spread.log_prior(numbers + e)[1] - spread.log_prior(numbers - e)[1]) / 2e-6 for e in step
    ]
    np.testing.assert_allclose(hessian, bends, atol=1e-8)


@pytest.mark.slow
def test_people_are_covered_although_no_spread_is_found():
    inside, n_flat = [], 0
    for seed in range(40):
        h, episodes = q_learners(12, 40, np.random.default_rng([9, seed]), sd=(0.3, 0.4), rho=0.0)
        found = pn.fit_population(episodes, MODEL, estimator="reml")
        if not found.status.startswith("no spread"):
            continue
        n_flat += 1
        inside.append((np.abs(h - found.subjects.mean) < 1.96 * found.subjects.sd).mean(axis=0))
    assert n_flat >= 10
    assert (np.mean(inside, axis=0) > 0.86).all()


def test_discounters_with_few_offers_settle():
    _, offers = discounters(12, 20, np.random.default_rng(1))
    found = pn.fit_population(offers, pn.HyperbolicDiscounting())
    assert found.status != "stopped early"
    assert abs(found.coefficients[0] + 4.4) < 2.5


def test_people_do_not_run_away_where_rates_lie_at_their_bound():
    task = pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.3))
    truth = {"temperature": 0.3, "learning_rate": 0.6}
    rng, model = np.random.default_rng(1), pn.QLearning(2)
    play = [pn.simulate(task, model, truth, n_decisions=30, rng=rng) for _ in range(10)]
    people = [pn.Episode(e.chosen, e.rewards, subject=i) for i, e in enumerate(play)]
    found = pn.fit_population(people, model)
    assert found.status == "no spread in learning_rate"
    low, high = found.interval()[found.names.index("learning_rate")]
    on_link = found.subjects.mean[:, found.subjects.names.index("learning_rate")]
    assert (low < on_link).all() and (on_link < high).all()


def test_no_interval_of_an_sd_is_narrower_than_if_parameters_were_known():
    """The profile jumped where its climb began beyond the interval: 0.846 in [0.708, 1.30]."""
    n, n_decisions, size, rng = 20, 15, 4, np.random.default_rng(3)
    x, subject = rng.normal(size=(n * n_decisions, 4, size)), np.repeat(np.arange(n), n_decisions)
    loadings = rng.normal(size=(size, size)) * 0.35
    weights = rng.normal(size=(n, size)) @ loadings.T + np.linspace(-1, 1, size)
    utility = np.einsum("ijk,ik->ij", x, weights[subject]) + rng.gumbel(size=x.shape[:2])
    choices = pn.Choices.from_arrays(x, utility.argmax(axis=1), subject=subject)
    found = pn.fit_population(choices, spread="full")
    sd = np.sqrt(np.diag(found.spread))
    known = np.sqrt((n - 1) / scipy.stats.chi2.ppf([0.975, 0.025], n - 1))
    assert (found.sd_limits[0, :, 0] <= sd * known[0] + 1e-9).all()
    assert (found.sd_limits[0, :, 1] >= sd * known[1] - 1e-9).all()
    assert found.sd_limits[0, 2, 0] < 0.6
