"""Maxima of profiles at kinks: found, told as such, and without invented standard errors."""

import numpy as np
import pytest

import penchant as pn
from penchant.inference.search._bundle_method_kernels import (
    MIN_LINEARIZATION_ERROR,
    bundle_step,
    bundle_workspace,
)
from penchant.inference.search.bundle_method import BundleState
from penchant.inference.search.projected_newton import newton_batch
from profile_problem import Problem

MODEL = pn.QLearning(2, dual_rates=True)
WIDE = np.array([[-5.0, 5.0], [-5.0, 5.0]])


def kinked_episode(seed=227, n_decisions=40):
    """Choices and rewards with one decimal: values and rewards meet."""
    task = pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.2))
    truth = {"temperature": 0.1, "learning_rate_positive": 0.6, "learning_rate_negative": 0.3}
    rng = np.random.default_rng(seed)
    episode = pn.simulate(task, MODEL, truth, n_decisions=n_decisions, rng=rng)
    return pn.Episode(episode.chosen, np.asarray(episode.rewards).round(1))


def maximize_by_bundle(function, start, bounds):
    """Maximum of one function, which returns value and gradient; its curvature is taken as 1."""
    value, gradient = function(start)
    free, unknown = np.zeros((1, len(start)), dtype=bool), np.eye(len(start))[None]
    state = BundleState.start_at_points(
        bounds, free, start[None], np.array([value]), gradient[None], unknown
    )
    while True:
        rows, points = state.propose_trial_points(np.zeros(1, dtype=np.int64))
        if not len(rows):
            return state.u[0], float(state.value[0])
        found = [function(point) for point in points[0]]
        values, gradients = np.array([one[0] for one in found]), np.array([one[1] for one in found])
        state.update(rows, points, values, gradients)


def curved_ridge(u):
    """Falls steeply to both sides of the parabola u0 = u1^2, gently along it from u1 = 0.7."""
    side = np.sign(u[0] - u[1] ** 2)
    height = -3 * abs(u[0] - u[1] ** 2) - (u[1] - 0.7) ** 2
    return height, np.array([-3 * side, 6 * side * u[1] - 2 * (u[1] - 0.7)])


@pytest.mark.parametrize("start", [(3.0, -2.0), (0.0, 0.0), (4.001, 2.0), (-1.0, 1.5)])
def test_a_curved_ridge_is_climbed_to_its_top(start):
    u, height = maximize_by_bundle(curved_ridge, np.array(start), WIDE)
    assert height == pytest.approx(0.0, abs=1e-6)
    assert u == pytest.approx([0.49, 0.7], abs=1e-3)


def test_a_ridge_that_leads_out_of_the_range_is_climbed_to_the_bound():
    bounds = np.array([[-5.0, 5.0], [-5.0, 0.3]])
    u, height = maximize_by_bundle(curved_ridge, np.array([2.0, -1.0]), bounds)
    assert height == pytest.approx(-(0.4**2), abs=1e-6)
    assert u == pytest.approx([0.09, 0.3], abs=1e-3)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_a_step_leads_to_the_top_of_the_lowest_parabolas(q):
    rng = np.random.default_rng(q)
    n, m = 20, 6
    half = rng.normal(size=(n, q, q))
    curvature = half @ half.transpose(0, 2, 1) + 4.0 * np.eye(q)
    u, value = rng.normal(size=(n, q)), rng.normal(size=n)
    places = u[:, None] + 0.2 * rng.normal(size=(n, m, q))
    places[:, 0] = u
    heights, slopes = value[:, None] - 0.1 * rng.random((n, m)), rng.normal(size=(n, m, q))
    heights[:, 0], heights[::3, -1] = value, np.nan
    steps, promised = np.empty((n, q)), np.empty(n)
    wide, free = np.tile([-99.0, 99.0], (q, 1)), np.zeros((n, q), dtype=bool)
    known = places, heights, slopes
    workspace = bundle_workspace(m, q)
    climbs = u, value, curvature, np.ones(n)
    bundle_step(np.arange(n), climbs, (wide, free), known, steps, promised, workspace)

    def promise(k, step):
        """Literally: the lowest of parabolas through all places, none of them below the climb."""
        away = u[k] - places[k]
        bend = away @ curvature[k]
        there = heights[k] + (away * (slopes[k] - 0.5 * bend)).sum(axis=1)
        above = np.maximum(
            np.abs(there - value[k]), MIN_LINEARIZATION_ERROR * (away * bend).sum(axis=1)
        )
        lines = above + (slopes[k] - bend) @ step
        return np.nanmin(lines) - 0.5 * step @ curvature[k] @ step

    for k in range(n):
        assert promise(k, steps[k]) == pytest.approx(promised[k], rel=1e-6, abs=1e-9)
        for other in steps[k] + rng.normal(size=(50, q)) * 10.0 ** rng.uniform(-4, 0, (50, 1)):
            assert promise(k, other) <= promised[k] + 1e-9


def test_a_rate_that_is_fixed_stays_and_the_other_is_climbed_to_its_top_among_kinks():
    problem = Problem(MODEL, (kinked_episode(),))
    whose, held = np.zeros(5, dtype=np.int64), np.tile([True, False], (5, 1))
    start = np.column_stack([np.full(5, 0.37), [0.1, 0.3, 0.5, 0.7, 0.9]])
    climbs = newton_batch(problem.profiles, whose, start, fixed=held, finish=False)
    np.testing.assert_allclose(climbs.points.psi[:, 0], 0.37, rtol=1e-12)
    line = np.column_stack([np.full(20001, 0.37), np.linspace(1e-8, 1.0, 20001)])
    values, _ = problem.values(line)
    assert climbs.points.value.max() >= values.max() - 1e-9


@pytest.mark.parametrize(
    ("seed", "n_decisions", "status"), [(44, 80, "converged"), (227, 40, "weakly identified")]
)
def test_a_maximum_at_a_kink_says_so(seed, n_decisions, status):
    estimate = pn.fit(kinked_episode(seed, n_decisions), MODEL)
    assert estimate.status == status
    assert estimate.source.optimum.is_at_kink[0]
    assert "kink at its maximum" in estimate.message


def test_standard_errors_at_a_kink_are_those_of_the_expected_information():
    episode = kinked_episode()
    estimate = pn.fit(episode, MODEL)
    theta, psi = estimate.theta[:1], estimate.theta[1:]
    problem = Problem(MODEL, (episode,))
    x, slopes = problem.variables_and_slopes(psi)
    columns = np.stack([x[:, :, 0], *(theta[0] * s[:, :, 0] for s in slopes)], axis=2)
    utility = theta[0] * x[:, :, 0]
    p = np.exp(utility - utility.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    away = columns - (p[:, :, None] * columns).sum(axis=1, keepdims=True)
    information = np.einsum("ti,tia,tib->ab", p, away, away)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(information), rtol=1e-6)


def test_the_profile_falls_to_all_sides_of_a_kink_with_slopes_that_jump():
    episode = kinked_episode()
    estimate = pn.fit(episode, MODEL)
    problem = Problem(MODEL, (episode,))
    u, value = estimate.source.optimum.unconstrained_psi[0], estimate.source.optimum.points.value[0]
    angle = np.linspace(0, np.pi, 180, endpoint=False)
    ways = np.column_stack([np.cos(angle), np.sin(angle)])
    for far in (1e-2, 1e-3, 1e-4, 1e-5):
        forwards, backwards = (
            (problem.values(problem.profiles.from_unconstrained(u + sign * far * ways))[0] - value)
            / far
            for sign in (1, -1)
        )
        assert max(forwards.max(), backwards.max()) <= 1e-6 / far  # what is not worth a search
        assert (forwards + backwards).min() < -1e-3  # would fall with the distance if smooth


def test_a_dense_grid_around_a_kink_shows_nothing_higher():
    episode = kinked_episode()
    estimate = pn.fit(episode, MODEL)
    problem = Problem(MODEL, (episode,))
    for reach in (1.0, 0.03, 1e-3):
        offsets = np.linspace(-reach, reach, 61)
        mesh = np.stack(np.meshgrid(offsets, offsets), axis=-1).reshape(-1, 2)
        u = np.clip(estimate.source.optimum.unconstrained_psi[0] + mesh, *problem.bounds.T)
        heights = problem.values(problem.profiles.from_unconstrained(u))[0]
        assert heights.max() <= estimate.log_likelihood + 1e-6


def test_smooth_maxima_and_corners_of_the_range_are_no_kinks():
    episodes = [kinked_episode(seed) for seed in range(12)] + [kinked_episode(346)]
    for episode in episodes:
        assert not pn.fit(episode, MODEL).source.optimum.is_at_kink[0]


@pytest.mark.parametrize("seed", [141, 144])
def test_no_point_of_a_dense_grid_is_higher_among_kinks(seed):
    task = pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.2))
    truth = {"temperature": 0.2, "learning_rate_positive": 0.6, "learning_rate_negative": 0.3}
    rng = np.random.default_rng(seed)
    episode = pn.simulate(task, MODEL, truth, n_decisions=100, rng=rng)
    problem = Problem(MODEL, (episode,))
    axes = [np.linspace(*ends, 160) for ends in problem.bounds]
    places = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
    values, _ = problem.values(problem.profiles.from_unconstrained(places))
    near = places[values.argsort()[-20:]]
    around = np.random.default_rng(0).uniform(-0.08, 0.08, (20, 400, 2))
    beside = np.clip((near[:, None] + around).reshape(-1, 2), *problem.bounds.T)
    closer, _ = problem.values(problem.profiles.from_unconstrained(beside))
    found = pn.fit(episode, MODEL).log_likelihood
    assert found >= max(values.max(), closer.max()) - 1e-9


def test_no_estimate_lies_below_the_grid_it_was_looked_for_on():
    model, rng, people = pn.models.ConfirmationBias(), np.random.default_rng(10), []
    for subject in range(60):
        truth = {
            "temperature": rng.uniform(0.03, 0.15),
            "confirmatory_rate": rng.uniform(0.1, 0.9),
            "disconfirmatory_rate": rng.uniform(0.1, 0.9),
        }
        world = pn.models.FullFeedbackWorld(pn.models.reversal_schedule(120, rng=rng))
        task = pn.Task(world, 120)
        people.append(pn.simulate(task, model, truth, rng=rng, subject=subject))
    for estimate in pn.fit_each(people, model, threads=1):
        highest = estimate.source.search_grid.values.max()
        assert estimate.log_likelihood >= highest - 1e-6, estimate.subject
