"""The search over psi: grids, peaks, bounds, units."""

import numpy as np
import pytest

import penchant as pn
import played
from penchant.inference.search.multistart import best_optima, grids_and_best_cells, newton_from
from profile_problem import Problem


def test_the_peak_is_stationary_and_no_lower_than_the_grid():
    for model in (played.ucl(), played.ucl(length_scale=None)):
        problem = Problem(model, (played.ucl_episode(seed=2),))
        grids = grids_and_best_cells(problem.profiles)[0]
        peak = best_optima(problem.profiles, grids, np.zeros(1, dtype=bool))
        assert peak.converged
        assert not peak.at_bound.any()
        assert peak.points.value[0] >= grids.values.max()
        # a Newton step from there is below 1e-6 of a unconstrained unit
        assert np.abs(np.linalg.solve(peak.curvature[0], peak.points.gradient[0])).max() < 1e-6


def test_curvature_equals_second_differences_of_the_profile():
    problem = Problem(played.ucl(length_scale=None), (played.ucl_episode(seed=2),))
    peak = newton_from(problem.profiles, np.array([0.007, 5.0]))
    h = 0.02

    def value(*shift):
        return problem.values(
            problem.from_unconstrained(peak.unconstrained_psi[0] + np.array(shift))[None]
        )[0][0]

    middle = value(0, 0)
    first = (value(h, 0) - 2 * middle + value(-h, 0)) / h**2
    second = (value(0, h) - 2 * middle + value(0, -h)) / h**2
    mixed = (value(h, h) - value(h, -h) - value(-h, h) + value(-h, -h)) / (4 * h**2)
    expected = -np.array([[first, mixed], [mixed, second]])
    # truncation h^2 = 4e-4 of fourth derivatives
    np.testing.assert_allclose(peak.curvature[0], expected, rtol=5e-3, atol=5e-3)


def test_climbing_from_anywhere_near_ends_in_the_same_place():
    problem = Problem(played.ucl(), (played.ucl_episode(seed=1),))
    peaks = [
        newton_from(problem.profiles, np.array([d])).unconstrained_psi[0, 0]
        for d in (0.004, 0.02, 0.05, 0.3)
    ]
    np.testing.assert_allclose(peaks, peaks[0], atol=1e-6)


def test_a_climb_stays_inside_the_range_and_says_that_it_ends_there():
    model = played.ucl(precision_range=(1e-6, 1e-3))
    problem = Problem(model, (played.ucl_episode(seed=1),))
    peak = newton_from(problem.profiles, np.array([2e-4]))
    assert peak.at_bound.all()
    assert peak.converged
    assert peak.points.psi[0, 0] == 1e-3


def test_a_shape_parameter_held_stays():
    problem = Problem(played.ucl(length_scale=None), (played.ucl_episode(seed=1),))
    peak = newton_from(problem.profiles, np.array([0.4, 0.9]), fixed=np.array([True, False]))
    assert peak.points.psi[0, 0] == pytest.approx(0.4, rel=1e-14)
    assert peak.points.psi[0, 1] != pytest.approx(0.9, rel=1e-3)


class TwoPeaks:
    """One weight; the variable tells the choice at two values of `a`, better at the second."""

    weights = ("w",)
    shape = (pn.models.Shape("a", 0.0, 1.0, n_grid=25),)

    def __init__(self, apart):
        self.places = np.array([0.4, 0.4 + apart / 24])

    def explanatory(self, episode, a):
        near = np.exp(-0.5 * ((a - self.places) * 24 / 0.35) ** 2) @ [0.9, 1.0]
        x = 0.6 * np.random.default_rng(0).normal(size=(episode.n_events, 3, 1))
        x[np.arange(episode.n_events), episode.chosen, 0] += near
        return x


@pytest.mark.parametrize(
    "apart",
    [
        1.5,
        2.5,
        2.9,
        3.5,
        6.0,
    ],
)
def test_the_higher_of_two_sharp_peaks_is_found_however_far_apart(apart):
    rng = np.random.default_rng(2)
    episode = pn.Episode(rng.integers(0, 3, 80), rng.normal(size=80))
    estimate = pn.fit(episode, TwoPeaks(apart))
    fine, _ = Problem(TwoPeaks(apart), (episode,)).values(np.linspace(0, 1, 2001)[:, None])
    assert estimate.log_likelihood >= fine.max() - 1e-9


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_units_of_a_linear_shape_parameter_do_not_matter(unit):
    episode = played.q_episode()
    expected = pn.fit(episode, played.Learner())
    found = pn.fit(episode, played.Learner(unit=unit))
    assert found.status == expected.status == "converged"
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-10)
    scale = np.array([1.0, unit])
    np.testing.assert_allclose(found.theta / scale, expected.theta, rtol=1e-5)
    # second derivatives by differences
    np.testing.assert_allclose(found.standard_errors / scale, expected.standard_errors, rtol=1e-4)


def test_a_peak_inside_the_range_is_not_lost_to_a_lower_one_at_its_end():
    truth = {
        "decision_noise": 21.772124494076316,
        "prior_mean": 69.6516489373073,
        "prior_variance": 12.535107303670655,
        "length_scale": 0.6539285897507825,
    }
    rng = np.random.default_rng(55)
    rng.uniform(size=4)
    n_decisions = int(rng.integers(15, 80))
    model = played.ucl(length_scale=None, cooling="constant")
    episode = pn.simulate(played.landscape(), model, truth, n_decisions=n_decisions, rng=rng)
    estimate = pn.fit(episode, model)
    better = newton_from(Problem(model, (episode,)).profiles, np.array([5.8, 0.39]))
    assert better.converged
    assert not better.at_bound.any()
    assert estimate.log_likelihood >= better.points.value[0] - 1e-9
    assert not estimate.source.optimum.at_bound.any()
    low, _ = estimate.interval(kind="profile")[0]
    assert low < estimate.parameters[0].estimate / np.exp(1.96)  # of so much noise
    assert estimate.status == "weakly identified"
