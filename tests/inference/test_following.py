"""A play followed event by event: exact between nodes, by bounds that hold, equal to a fit."""

import numpy as np
import pytest

import penchant as pn
import played
from penchant.inference._kernels import prove
from penchant.inference.following import Bounds, Cells, Neighbourhood
from penchant.inference.profile.profiles import Problem
from penchant.inference.search.grid import searched_grids, whole_grids

LEARNER = pn.QLearning(3)
PLACES = pn.UCL(locations=pn.grid(5, 4), noise_variance=3.0, length_scale=1.7)
ALIKE = 1e-8  # in standard errors, relative, or log-units


def ucl_play(seed, n):
    rng = np.random.default_rng(seed)
    task = pn.Landscape(20.0 + 4.0 * rng.normal(size=20), pn.GaussianNoise(3.0))
    truth = {"decision_noise": 2.5, "prior_mean": 21.0, "prior_variance": 9.0}
    return pn.simulate(task, PLACES, truth, n_decisions=n, rng=rng)


def q_play(seed, n):
    rng = np.random.default_rng(seed)
    task = pn.Landscape([0.1, -0.3, 0.6], pn.GaussianNoise(0.3))
    truth = {"temperature": 0.25, "learning_rate": 0.35}
    model = pn.QLearning(3, initial_value=0.0)
    return pn.simulate(task, model, truth, n_decisions=n, rng=rng)


def is_fit_to_the_last_digits(now, fitted):
    assert now.status == fitted.status
    assert now.message == fitted.message
    assert now.log_likelihood == pytest.approx(fitted.log_likelihood, abs=ALIKE)
    if now.status not in ("converged", "at a bound"):
        return
    errors = fitted.standard_errors
    unit = np.where(np.isfinite(errors), errors, np.abs(fitted.theta) + 1e-12)
    np.testing.assert_allclose(now.theta / unit, fitted.theta / unit, rtol=0, atol=ALIKE)
    scale = np.nan_to_num(np.outer(unit, unit), nan=1.0)
    covariances = now.covariance / scale, fitted.covariance / scale
    np.testing.assert_allclose(*covariances, rtol=0, atol=ALIKE)
    np.testing.assert_allclose(now.interval(), fitted.interval(), rtol=ALIKE, atol=ALIKE)


@pytest.mark.parametrize(
    ("model", "play", "first"),
    [
        (PLACES, ucl_play, 24),
        (LEARNER, q_play, 34),
        (pn.QLearning(3, stickiness=True, forgetting="learning_rate"), q_play, 34),
        (pn.KalmanFilter(3, noise_variance=0.1), q_play, 44),
        (pn.QLearning(3, dual_rates=True), q_play, 44),
    ],
    ids=["UCL", "Q", "sticky", "Kalman", "two rates"],
)
def test_every_decision_of_several_blocks_is_the_fit_of_all_so_far(model, play, first):
    live, n_told = pn.live(model), 0
    for block, n in enumerate((first + 5, 5)):
        live.start_block()
        episode = play(block, n)
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            live.observe(int(option), float(reward))
            if block == 0 and t < first:
                continue
            now = live.estimate()
            n_told += now.status == "converged"
            is_fit_to_the_last_digits(now, pn.fit(list(live.episodes), model))
    assert n_told >= 5


@pytest.mark.parametrize(
    ("model", "play"), [(PLACES, ucl_play), (LEARNER, q_play)], ids=["UCL", "Q"]
)
def test_what_was_done_instead_is_learnt_from(model, play):
    live, episode = pn.live(model), play(2, 50)
    for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        done = (int(option) + 1) % 3 if t % 7 == 3 else None
        live.observe(int(option), float(reward), done)
        if t > 40:
            now = live.estimate()
    is_fit_to_the_last_digits(now, pn.fit(live.episode, model))


@pytest.mark.parametrize("bonus", ["known", "free"])
@pytest.mark.parametrize("cooling", ["logarithmic", "constant"])
def test_beliefs_followed_in_parts_are_those_of_the_whole_play(cooling, bonus):
    model = pn.UCL(
        locations=pn.grid(4, 3), noise_variance=2.0, length_scale=1.3, cooling=cooling, bonus=bonus
    )
    rng = np.random.default_rng(8)
    chosen, rewards = rng.integers(12, size=40), rng.normal(7.0, 3.0, 40)
    is_choice = rng.random(40) > 0.2
    episode = pn.Episode(chosen, rewards, is_choice=is_choice)
    episode = episode.extended(None).extended(4, 8.5)
    psi = np.array([[2e-8], [1e-3], [0.7], [90.0]])
    tracker = model.tracker(psi)
    parts = []
    for begin, end in ((0, 17), (17, 18), (18, 42)):
        known = pn.Episode(
            episode.chosen[:end], episode.rewards[:end], is_choice=episode.is_choice[:end]
        )
        parts.append(tracker.follow(known, begin))
    found = np.concatenate(parts, axis=1)
    for k, (delta,) in enumerate(psi):
        expected = model.explanatory(episode, delta)
        size = np.abs(expected).max()
        # beside beliefs of 1/delta: what is left of them has lost as many digits
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-13 * size)


LEARNERS = {
    "plain": pn.QLearning(3, initial_value=0.2),
    "estimated start, sticky, biased": pn.QLearning(
        3, initial_value=None, stickiness=True, bias=True
    ),
    "forgetting, choice kernel": pn.QLearning(
        3, initial_value=0.1, forgetting="learning_rate", choice_kernel=True, choice_rate=0.3
    ),
    "fictitious, two rates": pn.QLearning(
        3, initial_value=0.0, fictitious="learning_rate", dual_rates="outcome"
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_values_followed_in_parts_are_those_of_the_whole_play(name):
    model, rng = LEARNERS[name], np.random.default_rng(8)
    chosen, rewards = rng.integers(3, size=30), rng.normal(0.2, 0.5, 30)
    episode = pn.Episode(chosen, rewards, is_choice=rng.random(30) > 0.2)
    episode = episode.extended(None).extended(1, 0.4).extended(2)
    psi = rng.uniform(0.05, 0.95, (4, len(model.shape)))
    tracker = model.tracker(psi)
    parts = [tracker.follow(*part) for part in _grown(episode, (17, 18, 33))]
    found = np.concatenate(parts, axis=1)
    for k, at in enumerate(psi):
        np.testing.assert_allclose(
            found[k], model.explanatory(episode, *at), rtol=1e-13, atol=1e-15
        )


def _grown(episode, ends):
    """The episode as far as it went at some time, and what was known of it before."""
    for begin, end in zip((0, *ends), ends, strict=False):
        yield (
            pn.Episode(
                episode.chosen[:end], episode.rewards[:end], is_choice=episode.is_choice[:end]
            ),
            begin,
        )


def test_what_proves_a_peak_is_that_of_numpy():
    rng = np.random.default_rng(1)
    for d in (1, 2, 3, 5):
        half = rng.normal(size=(d + 1, d + 4)) * np.exp(rng.normal(size=(d + 1, 1)))
        joint = half @ half.T
        scatter = np.cov(rng.normal(size=(d, d + 6))).reshape(d, d)
        largest = np.exp(rng.normal(size=(2, d)))
        sums = np.zeros((d + 4, d + 1))
        sums[2 : 3 + d] = np.tril(joint)
        inverse, drift, facts = np.empty((d, d)), np.empty(d), np.empty(7)
        assert prove(sums, largest, scatter, np.empty((d + 2, d)), inverse, drift, facts)
        information = joint[:d, :d]
        np.testing.assert_allclose(inverse, np.linalg.inv(information), rtol=1e-9)
        np.testing.assert_allclose(drift, -np.linalg.solve(information, joint[:d, d]), rtol=1e-9)
        ends = [
            np.linalg.eigvalsh(matrix / scale / scale[:, None])[[0, -1]]
            for matrix, scale in (
                (scatter, np.sqrt(np.diag(scatter))),
                (information, np.sqrt(np.diag(information))),
                (information, largest[1]),
            )
        ]
        found = facts[[0, 1, 2, 3]]
        np.testing.assert_allclose(found, [ends[0][0], *ends[1], ends[2][0]], rtol=1e-9)
        moved = 2 * np.sqrt(largest[1] @ np.abs(np.linalg.inv(information)) @ largest[1])
        np.testing.assert_allclose(facts[4], moved, rtol=1e-9)
        np.testing.assert_allclose(facts[5], 1 / np.linalg.inv(joint)[d, d], rtol=1e-9)


def test_cells_that_are_followed_are_those_of_the_grid():
    episode = q_play(4, 60)
    model = pn.fit(episode, LEARNER).model
    before, now = (
        Problem(model, (pn.Episode(episode.chosen[:n], episode.rewards[:n]),)).profiles
        for n in (40, 60)
    )
    cells = Cells(before, searched_grids(before))
    near = Neighbourhood(before, 3.0, np.array([4.0]), cells)
    for profiles in (before, now):
        assert near.follow(profiles)
        cells.rise_to(near.u, near.height)
        found, expected = cells.grid(), whole_grids(profiles)[0]
        assert found.looked.sum() > 5
        here = found.looked
        np.testing.assert_allclose(found.values[here], expected.values[here], atol=1e-9)
        np.testing.assert_allclose(found.theta[here], expected.theta[here], rtol=1e-5)
        assert (found.values >= expected.values - 1e-9).all()


def test_a_peak_far_from_the_nodes_is_found_all_the_same():
    episode = q_play(3, 90)
    fitted = pn.fit(episode, LEARNER)
    model = fitted.model
    profiles = Problem(model, (episode,)).profiles
    u = float(fitted.source.peak.u[0])
    near = Neighbourhood(profiles, u + 1.5, fitted.weights * 0.8)
    assert near.follow(profiles)
    assert near.u == pytest.approx(u, abs=1e-8)
    assert near.height == pytest.approx(fitted.log_likelihood, abs=1e-9)


def test_after_a_rest_all_goes_on_as_before():
    episode = q_play(5, 70)
    rested, other = pn.live(LEARNER), pn.live(LEARNER)
    for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        for live in (rested, other):
            live.observe(int(option), float(reward))
        if t > 45:
            now = rested.estimate(), other.estimate()
            is_fit_to_the_last_digits(*now)
            rested.rest()


def test_bounds_stay_above_the_profile_while_decisions_are_added():
    episode = ucl_play(1, 60)
    profiles = [
        Problem(PLACES, (pn.Episode(episode.chosen[:n], episode.rewards[:n]),)).profiles
        for n in (40, 42, 60)
    ]
    bounds, answers = Bounds(searched_grids(profiles[0])), []
    bounds.all_anew(profiles[0])
    for now in profiles:
        exact = whole_grids(now)[0]
        best = int(exact.values.argmax())
        u = float(now.to_search(exact.psi[best : best + 1])[0, 0])
        answers.append(bounds.is_far_below(now, u, float(exact.values[best])))
        away = np.abs(np.arange(len(exact.values)) - best) > 3
        # it may not know yet, but what it says is so
        assert not answers[-1] or (exact.values[away] < exact.values[best] - 6.0).all()
    assert any(answers)


def test_curvature_is_that_of_the_profile_where_weights_all_but_make_up_for_psi():
    rng = np.random.default_rng(0)
    task = pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.2))
    model = pn.QLearning(2, initial_value=0.0)
    truth = {"temperature": 0.05, "learning_rate": 0.02}
    episode = pn.simulate(task, model, truth, n_decisions=150, rng=rng)
    fitted = pn.fit(episode, model)
    peak, profiles = fitted.source.peak, Problem(model, (episode,)).profiles
    step = 1e-3 * float(peak.u[0])
    u = peak.u + np.array([[-step], [step]])
    around = profiles.solve(np.zeros(2, dtype=np.int64), profiles.from_search(u))
    expected = (around.gradient[0] - around.gradient[1]) / (2 * step)
    assert not peak.at_bound.any()
    np.testing.assert_allclose(peak.curvature[0], expected, rtol=1e-5)


def test_a_choice_like_most_is_added_as_any_other():
    quick, slow = played.q_episode(), played.q_episode()
    quick = quick.extended(1, 0.25).extended(0, 2.0)
    slow = slow.extended(np.int64(1), np.float64(0.25)).extended(np.float64(0), 2)
    for name in ("chosen", "rewards", "is_choice", "scored"):
        one, other = getattr(quick, name), getattr(slow, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
        assert not one.flags.writeable
