"""Draws of a population's mean and spread."""

import numpy as np
import pytest
from scipy import integrate, stats

import penchant as pn
from penchant.population.hierarchy.sampling import (
    SpreadPrior,
    fit_generalized_pareto,
    smoothed_weights_and_pareto_k,
)
from peopled import MODEL, q_learners


@pytest.fixture(scope="module")
def people():
    return pn.fit_population(q_learners(40, 60, np.random.default_rng(1))[1], MODEL)


def test_draws_lie_where_the_likelihood_is(people):
    found = people.sample(1000, rng=np.random.default_rng(1))
    assert found.names[:2] == people.names
    assert found.pareto_k < 0.5
    assert found.effective_size > 400
    apart = np.abs(found.mean[:2] - people.coefficients) / people.standard_errors
    assert apart.max() < 0.3
    np.testing.assert_allclose(found.sd[:2], people.standard_errors, rtol=0.2)
    low, high = found.interval()[0]
    assert low < found["learning_rate"].mean() < high
    assert "Pareto k" in repr(found)


def test_draws_about_people_who_tell_nothing_are_numbers_with_a_pareto_k_that_says_so():
    silent = [pn.Episode([0] * 8, [1.0] * 8, subject=i) for i in range(7)]
    found = pn.fit_population(silent, MODEL).sample(200, rng=np.random.default_rng(3))
    assert np.isfinite(found.draws).all()
    assert found.pareto_k > 0.7


def test_the_posterior_of_one_mean_and_sd_is_that_of_a_grid():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20 * 12, 2, 1))
    subject = np.repeat(np.arange(20), 12)
    weights = rng.normal(0.8, 0.9, 20)
    utility = (x * weights[subject][:, None, None]).sum(-1) + rng.gumbel(size=(240, 2))
    choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=["gain"])
    people = pn.fit_population(choices, estimator="ml")
    found = people.sample(4000, rng=rng)
    from penchant.population.hierarchy.sampling import LogPosterior

    target = LogPosterior.around_optimum(people.source.optimum, people.source.likelihoods)
    means = np.linspace(-0.6, 2.2, 31)
    logs = np.linspace(-2.5, 1.5, 41)
    grid = np.array([[target.log_posterior(np.array([m, s])) for s in logs] for m in means])
    p = np.exp(grid - grid.max())
    p /= p.sum()
    assert found.mean[0] == pytest.approx((p.sum(axis=1) * means).sum(), abs=0.1 * found.sd[0])
    assert found.mean[1] == pytest.approx((p.sum(axis=0) * np.exp(logs)).sum(), rel=0.05)


def test_the_prior_of_spreads_is_the_density_it_says():
    """Of one standard deviation half-t, of two an LKJ correlation with the Jacobian."""
    one = SpreadPrior(np.array([2.5]), False)
    total, _ = integrate.quad(lambda u: np.exp(one(np.array([u]))), -12, 8)
    mass, _ = integrate.quad(lambda u: np.exp(one(np.array([u]))), -12, np.log(2.0))
    expected = 2 * (stats.t(3).cdf(2.0 / 2.5) - 0.5)
    assert mass / total == pytest.approx(expected, rel=1e-4)
    two = SpreadPrior(np.array([1.0, 1.0]), True)
    grid = np.linspace(-3, 3, 15)
    t = np.linspace(-30, 30, 1001)
    density = np.zeros(len(t))
    for i, value in enumerate(t):
        # integrate over the second level at each t: only the part that t changes matters
        log_n = 0.5 * np.log1p(value**2)
        levels = grid - log_n
        density[i] = np.exp([two(np.array([0.0, a, value])) for a in levels]).sum()
    r = t / np.sqrt(1 + t**2)
    share = density[np.abs(r) < 0.5].sum() / density.sum()
    expected = stats.beta(2, 2).cdf(0.75) - stats.beta(2, 2).cdf(0.25)  # LKJ(2) in two dimensions
    assert share == pytest.approx(expected, abs=0.01)


def test_the_posterior_at_many_places_is_that_at_each(people):
    from penchant.population.hierarchy.sampling import LogPosterior

    target = LogPosterior.around_optimum(people.source.optimum, people.source.likelihoods)
    x = people.source.optimum.x + 0.2 * np.random.default_rng(4).normal(size=(5, 5))
    each = [target.log_posterior(one) for one in x]
    np.testing.assert_allclose(target.log_posteriors(x), each, rtol=1e-10)


def test_pareto_tails_are_told():
    rng = np.random.default_rng(3)
    for k in (0.2, 0.8):
        sample = np.sort(stats.genpareto(k).rvs(3000, random_state=rng))
        assert fit_generalized_pareto(sample)[0] == pytest.approx(k, abs=0.1)
    assert smoothed_weights_and_pareto_k(rng.normal(size=2000) * 0.3)[1] < 0.3
    assert smoothed_weights_and_pareto_k(stats.t(2).rvs(2000, random_state=rng))[1] > 0.7


def test_methods_that_are_none_are_refused(people):
    with pytest.raises(
        pn.errors.DataError, match="method must be 'importance' or 'nuts'; got 'gibbs'"
    ):
        people.sample(200, rng=np.random.default_rng(1), method="gibbs")
    with pytest.raises(
        pn.errors.DataError, match="draws must be a whole number, 100 or more; got 5"
    ):
        people.sample(5, rng=np.random.default_rng(1))


def test_nuts_agrees_with_importance_draws(people):
    pytest.importorskip("nutpie")
    one = people.sample(2000, rng=np.random.default_rng(1))
    other = people.sample(1000, rng=np.random.default_rng(2), method="nuts")
    assert (np.abs(one.mean - other.mean) < 0.15 * one.sd).all()
    np.testing.assert_allclose(one.sd, other.sd, rtol=0.15)
