"""The marginal likelihood, its derivatives and its maximum, where the answer is known."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.inference.predict import random_rotations
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.marginal_likelihood import LogCholesky, MarginalLikelihood
from penchant.population.hierarchy.marginal_maximization import evidences_on_other_nodes
from penchant.population.hierarchy.quadrature import QuadratureRule
from penchant.population.hierarchy.subject_likelihoods import ChoiceLikelihoods
from peopled import MODEL, Quadratic, mixed_choices, q_learners, searched


def normal_people(seed, n=23, p=2, between=1.0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, p, p + 3)) / 3
    covariances = roots @ roots.transpose(0, 2, 1)
    truth = between * rng.normal(size=(n, p)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
    errors = np.array([rng.multivariate_normal(np.zeros(p), c) for c in covariances])
    return Quadratic(np.array([2.0, -1.0]) + truth + errors, covariances)


def test_normal_likelihoods_have_the_restricted_maximum_that_pooling_has():
    people = normal_people(3)
    task, found = searched(people, restricted=True)
    pooled = pn.pool(people.estimates, people.covariances, rule="random-effects")
    np.testing.assert_allclose(found.x[:2], pooled.estimate, rtol=1e-6)
    spread = task.structure.spread.covariance_matrices(found.x[2:])[0]
    np.testing.assert_allclose(np.diag(spread), pooled.heterogeneity.tau2, rtol=1e-6)


def test_normal_likelihoods_have_the_log_likelihood_of_the_closed_form():
    people = normal_people(4)
    task, found = searched(people)
    spread = task.structure.spread.covariance_matrices(found.x[2:])[0]
    exact = sum(
        stats.multivariate_normal(found.x[:2], spread + c).logpdf(e)
        for e, c in zip(people.estimates, people.covariances, strict=True)
    )
    assert found.evaluation.value == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("k", [3, 4, 7, 12])
def test_every_number_of_nodes_gives_normal_likelihoods_the_same_value(k):
    people = normal_people(5)
    task, found = searched(people)
    assert evidences_on_other_nodes(
        dataclasses.replace(task, nodes_per_dimension=k), found
    ).sum() == pytest.approx(found.evaluation.value, abs=1e-7)


@pytest.mark.parametrize("fixed", [(), (0,), (1,)])
def test_gradient_and_hessian_equal_differences(fixed):
    _, choices = mixed_choices(9, 12, np.random.default_rng(1), covariance=((2, 0.2), (0.2, 3)))
    people = ChoiceLikelihoods(choices, coordinates=Coordinates.of_variables(choices.names))
    design = np.zeros((9, 2, 3))
    design[:, 0, 0] = design[:, 1, 1] = 1.0
    design[:, 1, 2] = np.linspace(-1.3, 0.9, 9)
    _, found = searched(people, k=4, design=design, fixed=fixed)
    rng = np.random.default_rng(2)
    x = found.x + 0.2 * rng.normal(size=len(found.x))
    marginal = found.marginal
    known = marginal.evaluate(x)

    def difference(what, direction, step):
        sides = (getattr(marginal.evaluate(x + sign * step * direction), what) for sign in (1, -1))
        above, below = sides
        return (above - below) / (2 * step)

    for a, direction in enumerate(np.eye(len(x))):
        for what, slope in (("value", known.gradient[a]), ("gradient", known.hessian[a])):
            near, far = (difference(what, direction, step) for step in (1e-4, 2e-4))
            refined = (4 * near - far) / 3  # error of order step^4
            np.testing.assert_allclose(slope, refined, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("order", [(), (2, 0, 1)])
@pytest.mark.parametrize("correlated", [True, False])
def test_slopes_of_a_spread_equal_differences(order, correlated):
    spread = LogCholesky(3, correlated, 1, order)
    rng = np.random.default_rng(0)
    block = rng.normal(size=spread.n_per_group)
    root = rng.normal(size=(3, 3))
    pull = root + root.T
    _, first = spread.factor_and_covariance_slopes(block)
    step = 1e-5
    for a, direction in enumerate(np.eye(len(block))):
        above, below = (
            spread.covariance_matrices(block + step * direction),
            spread.covariance_matrices(block - step * direction),
        )
        np.testing.assert_allclose(first[a], (above - below)[0] / (2 * step), atol=1e-8)
        bends = [
            np.einsum(
                "xy,kyx->k",
                pull,
                spread.factor_and_covariance_slopes(block + sign * step * direction)[1],
            )
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(
            spread.contract_second_derivatives(block, pull)[a],
            (bends[0] - bends[1]) / (2 * step),
            atol=1e-7,
        )
    np.testing.assert_allclose(
        spread.parametrize(spread.covariance_matrices(block)), block, atol=1e-12
    )


def test_integrals_agree_with_a_million_draws():
    _, episodes = q_learners(5, 40, np.random.default_rng(7))
    found = pn.fit_population(episodes, MODEL, spread="diagonal", nodes=15)
    source = found.source
    rng = np.random.default_rng(8)
    sd = np.sqrt(np.diag(found.spread))
    i = int(np.argmax(found.evidence))
    h = found.coefficients + rng.normal(size=(100, 100, 2)) * sd  # 100 rates, 100 temperatures
    h[:, :, 0] = h[:, :1, 0]
    values = source.likelihoods.log_likelihoods(np.array([i]), h[None])[0]
    likelihood = np.exp(values - found.evidence[i])
    by_rate = likelihood.mean(axis=1)
    assert abs(by_rate.mean() - 1) < 4 * by_rate.std() / 10


def test_drawn_nodes_integrate_a_normal_density():
    rule = QuadratureRule.for_dimensions(1, 4, 5, 4096)
    rng = np.random.default_rng(1)
    root = np.tril(rng.normal(size=(5, 5)), -1) + np.diag([1.3, 0.7, 2.0, 0.4, 1.1])
    posterior = root @ root.T
    shapes, first = rule.shape_nodes(np.ones((1, 5)), root[None])
    middle = 1 + np.einsum("ab,kb->ka", root[1:, :1], rule.standard_nodes[:, 0, :1])[None]
    width = np.broadcast_to(root[1:, 1:], (1, 5, 4, 4))
    drawn, second = rule.importance_draws(
        middle, width, np.zeros((1, 5, 4)), 2 * width, random_rotations(1, 4)
    )
    h = np.concatenate([np.broadcast_to(shapes[:, :, None], (1, 5, 4096, 1)), drawn], axis=-1)
    density = stats.multivariate_normal(np.ones(5), posterior).logpdf(h[0].reshape(-1, 5))
    total = np.exp((first[:, :, None] + second).ravel() + density).sum()
    assert total == pytest.approx(1.0, abs=0.02)  # quasi-random error of 4096 places


@pytest.mark.parametrize("correlated", [True, False])
def test_many_coordinates_reach_the_maximum_of_the_closed_form(correlated):
    """Where nodes are draws: no parameter is far, in standard errors, from where it should be."""
    rng = np.random.default_rng(12)
    n, p = 41, 6
    roots = rng.normal(size=(n, p, p + 3)) / 6
    within = roots @ roots.transpose(0, 2, 1)
    root = np.eye(p) + 0.5 * np.tril(rng.normal(size=(p, p)), -1) * correlated
    truth = rng.normal(size=(n, p)) @ root.T
    errors = np.array([rng.multivariate_normal(np.zeros(p), c) for c in within])
    people = Quadratic(np.linspace(-2, 3, p) + truth + errors, within)
    task, found = searched(people, k=1, correlated=correlated)
    assert found.converged

    def exact(x):
        spread = task.structure.spread.covariance_matrices(x[p:])[0]
        away, whole = people.estimates - x[:p], spread + within
        squares = np.einsum("na,nab,nb->n", away, np.linalg.inv(whole), away)
        return -0.5 * (squares + np.linalg.slogdet(2 * np.pi * whole)[1]).sum()

    step = 1e-4 * np.eye(len(found.x))
    slope = np.array([(exact(found.x + d) - exact(found.x - d)) / 2e-4 for d in step])
    covariance = np.linalg.inv(found.information)
    assert np.abs(covariance @ slope / np.sqrt(np.diag(covariance))).max() < 0.3
    assert found.evaluation.value == pytest.approx(exact(found.x), abs=0.5)


def test_units_of_variables_change_coefficients_and_nothing_else():
    _, choices = mixed_choices(20, 8, np.random.default_rng(3))
    scaled = dataclasses.replace(choices, explanatory=choices.explanatory * [1e3, 1e-4])
    one, other = pn.fit_population(choices), pn.fit_population(scaled)
    np.testing.assert_allclose(one.coefficients, other.coefficients * [1e3, 1e-4], rtol=1e-4)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-5)


def test_the_order_of_people_and_the_number_of_threads_change_nothing():
    _, episodes = q_learners(12, 40, np.random.default_rng(4))
    one = pn.fit_population(episodes, MODEL, threads=1)
    other = pn.fit_population(episodes[::-1], MODEL, threads=2)
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-5)
    np.testing.assert_allclose(one.spread, other.spread, rtol=1e-4)
    np.testing.assert_allclose(one.evidence, other.evidence[::-1], rtol=1e-6)


def test_a_weight_that_is_the_same_for_all_has_the_maximum_of_the_whole():
    """With no random weight the population is one person."""
    _, choices = mixed_choices(30, 6, np.random.default_rng(5))
    found = pn.fit_population(choices, random=[])
    alone = pn.fit(choices)
    np.testing.assert_allclose(found.coefficients, alone.theta, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, alone.covariance, rtol=1e-5)
    assert found.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_fixed_weights_are_at_a_maximum_of_the_integrated_likelihood():
    _, choices = mixed_choices(25, 8, np.random.default_rng(6))
    found = pn.fit_population(choices, random=["price"], nodes=15, estimator="ml")
    source = found.source
    people, task = source.likelihoods, source.problem

    def value(x):
        moved = source.optimum._replace(x=x)
        return evidences_on_other_nodes(
            dataclasses.replace(task, nodes_per_dimension=15), moved
        ).sum()

    best = value(source.optimum.x)
    for a in range(len(source.optimum.x)):
        for sign in (1, -1):
            x = source.optimum.x.copy()
            x[a] += sign * 0.02
            assert value(x) < best
    assert people.coordinates.names == ("price", "quality")


def test_marginal_likelihoods_leave_their_nodes_as_they_are():
    people = normal_people(9)
    _, found = searched(people)
    before = found.marginal.nodes.log_mass.copy()
    MarginalLikelihood(found.marginal.nodes, found.marginal.structure).evaluate(found.x + 0.1)
    np.testing.assert_array_equal(found.marginal.nodes.log_mass, before)
