"""Beliefs before each event: against dense formulas, many digits, differences and limits."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belief_reference as dense
import played
from penchant.bandit.beliefs import (
    EXPONENTIAL,
    GAUSSIAN,
    MATERN32,
    MATERN52,
    ObservedSequence,
    posterior_beliefs,
)
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import distances_to_options, grid

KERNELS = [EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52]
EPS = np.finfo(float).eps


def believed(episode, places, delta, scale, kernel=EXPONENTIAL, n_derivatives=2):
    apart = distances_to_options(
        np.asarray(places, dtype=float), ObservedSequence.from_episode(episode).options
    )
    return posterior_beliefs(episode, apart, delta, scale, kernel, n_derivatives)


def finally_believed(chosen, rewards, places, delta, scale, kernel=EXPONENTIAL):
    """b, f, variance and derivatives after all events."""
    last = Episode([*chosen, 0], [*rewards, np.nan])
    found = believed(last, places, delta, scale, kernel)
    return np.stack([found.b[:, -1], found.f[:, -1], found.variance[:, -1]])


@given(
    seed=st.integers(0, 10_000),
    log_delta=st.floats(-3.0, 3.0),
    scale=st.sampled_from([0.0, 0.3, 1.1, 2.7]),
    kernel=st.sampled_from(KERNELS),
)
def test_beliefs_equal_the_dense_formulas(seed, log_delta, scale, kernel):
    rng = np.random.default_rng(seed)
    places = grid(4, 3)[rng.permutation(12)[: rng.integers(2, 13)]]
    episode = played.random_episode(seed, len(places), n_events=int(rng.integers(1, 40)))
    delta = 10.0**log_delta
    found = believed(episode, places, delta, scale, kernel, 0)
    b, f, variance = dense.beliefs(
        episode.chosen, episode.rewards, places, delta, scale, kernel.name
    )
    # the dense formula inverts Sigma, of condition below 1e7 here
    np.testing.assert_allclose(found.b[0], b, rtol=0, atol=1e-8 * max(1.0, np.abs(b).max()))
    np.testing.assert_allclose(found.f[0], f, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-7)


@pytest.fixture(scope="module")
def mp():
    library = pytest.importorskip("mpmath")
    with library.workdps(60):
        yield library.mp


def worst(mp, found, exact):
    """Largest difference, in units of the largest exact entry."""
    gaps = [abs(mp.mpf(float(a)) - e) for a, e in zip(found, exact, strict=True)]
    return float(max(gaps) / max(abs(e) for e in exact))


def worst_ratio(mp, found, exact):
    """Largest relative difference of single entries."""
    pairs = zip(found, exact, strict=True)
    return float(max(abs(mp.mpf(float(a)) - e) / abs(e) for a, e in pairs))


EVENTS = list(
    zip(
        [3, 3, 0, 5, 7, 3, 1, 5, 8, 0, 2, 3, 7, 7, 4, 1],
        [
            21.3,
            18.9,
            35.2,
            4.4,
            50.3,
            20.2,
            33.0,
            6.1,
            44.4,
            30.7,
            29.8,
            19.4,
            52.5,
            49.1,
            11.2,
            36.6,
        ],
        strict=True,
    )
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("scale", [0.0, 0.4, 3.0, 20.0, 1e6])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2, 3.0, 1e9])
def test_beliefs_keep_their_digits_at_the_ends_of_the_range(mp, kernel, scale, delta):
    places = grid(4, 3)
    options, rewards = zip(*EVENTS, strict=True)
    b, f, variance = finally_believed(options, rewards, places, delta, scale, kernel)[:, 0]
    exact = dense.exact_beliefs(mp, EVENTS, places, delta, scale, kernel.name)
    # Sigma/delta is rounded to eps/delta in units of the noise: 16 times that for 16 observations
    tolerance = 1e-12 + 16 * EPS / delta
    assert worst(mp, b, exact[0]) < tolerance
    assert worst(mp, f, exact[1]) < tolerance
    assert worst_ratio(mp, variance, exact[2]) < tolerance
    assert (variance > 0).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("scale", [0.4, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.3, 1e9])
def test_derivatives_keep_their_digits_at_the_ends_of_the_range(mp, kernel, scale, delta):
    places = grid(4, 3)
    options, rewards = zip(*EVENTS, strict=True)
    found = finally_believed(options, rewards, places, delta, scale, kernel)
    h = mp.mpf(10) ** -20  # relative: truncation 1e-40, rounding 1e-40 at 60 digits

    def exact(d, lam):
        return dense.exact_beliefs(mp, EVENTS, places, d, lam, kernel.name)

    def slope(above, below, width):
        return [
            [(a - b) / width for a, b in zip(*p, strict=True)]
            for p in zip(above, below, strict=True)
        ]

    d, lam = mp.mpf(delta), mp.mpf(scale)
    in_delta = slope(exact(d * (1 + h), lam), exact(d * (1 - h), lam), 2 * h * d)
    in_scale = slope(exact(d, lam * (1 + h)), exact(d, lam * (1 - h)), 2 * h * lam)
    # as for the beliefs, and a derivative of a smooth kernel cancels once more
    tolerance = 1e-10 + 300 * EPS / delta
    for k in range(3):
        assert worst(mp, found[k, 1], in_delta[k]) < tolerance
        assert worst(mp, found[k, 2], in_scale[k]) < tolerance


@given(
    seed=st.integers(0, 10_000),
    log_delta=st.floats(-3.0, 2.0),
    scale=st.floats(0.3, 4.0),
    kernel=st.sampled_from(KERNELS),
)
def test_derivatives_equal_central_differences(seed, log_delta, scale, kernel):
    places = played.PLACES
    episode = played.random_episode(seed, len(places))
    delta = 10.0**log_delta
    found = believed(episode, places, delta, scale, kernel)

    def stacked(d, lam):
        at = believed(episode, places, d, lam, kernel, 0)
        return np.stack([at.b[0], at.f[0], at.variance[0]])

    h = 1e-5
    in_delta = (stacked(delta * (1 + h), scale) - stacked(delta * (1 - h), scale)) / (2 * h)
    in_scale = (stacked(delta, scale * (1 + h)) - stacked(delta, scale * (1 - h))) / (2 * h)
    size = np.abs(stacked(delta, scale)).max(axis=(1, 2), keepdims=True)
    ours = np.stack([found.b, found.f, found.variance])
    # relative steps of 1e-5: truncation 1e-10 times higher derivatives, rounding 1e-11
    np.testing.assert_allclose(ours[:, 1] * delta / size, in_delta / size, atol=2e-7)
    np.testing.assert_allclose(ours[:, 2] * scale / size, in_scale / size, atol=2e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_the_order_of_observations_does_not_matter_in_the_end(kernel):
    options, rewards = map(np.array, zip(*EVENTS, strict=True))
    first = finally_believed(options, rewards, grid(4, 3), 0.02, 1.3, kernel)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(options))
        again = finally_believed(options[order], rewards[order], grid(4, 3), 0.02, 1.3, kernel)
        size = np.abs(first).max(axis=-1, keepdims=True)
        # T50: 1e-9 of the prior's scale
        np.testing.assert_allclose(again / size, first / size, atol=1e-11)


def test_variance_decreases_with_every_observation_and_stays_positive():
    for seed in range(8):
        episode = played.random_episode(seed, 7, n_events=60)
        for delta in (1e-8, 1e-3, 1.0, 1e5):
            variance = believed(episode, played.PLACES, delta, 1.4, n_derivatives=0).variance[0]
            assert (variance > 0).all()
            # rounding of a number of size 1/delta
            assert (np.diff(variance, axis=0) <= 4 * EPS / delta).all()


def test_before_any_observation_the_belief_is_the_prior():
    found = believed(Episode([2, None], [3.5, None]), played.PLACES, 0.05, 1.2)
    np.testing.assert_array_equal(found.b[:, 0], np.zeros((3, 7)))
    np.testing.assert_array_equal(found.f[0, 0], np.ones(7))
    np.testing.assert_array_equal(found.variance[0, 0], np.full(7, 1 / 0.05))
    np.testing.assert_allclose(found.variance[1, 0], np.full(7, -1 / 0.05**2), rtol=1e-15)
    np.testing.assert_array_equal(found.variance[2, 0], np.zeros(7))
    np.testing.assert_array_equal(found.mean(17.5)[0], np.full(7, 17.5))
    np.testing.assert_allclose(found.standard_deviation(6.0)[0], np.sqrt(6.0 / 0.05), rtol=1e-15)


def test_independent_options_never_visited_keep_the_prior_and_others_have_closed_forms():
    options, rewards = map(np.array, zip(*EVENTS, strict=True))
    delta = 0.37
    b, f, variance = finally_believed(options, rewards, grid(4, 3), delta, 0.0)[:, 0]
    n = np.bincount(options, minlength=12)
    s = np.bincount(options, weights=rewards, minlength=12)
    np.testing.assert_allclose(b, s / (delta + n), rtol=1e-14)
    np.testing.assert_allclose(f, delta / (delta + n), rtol=1e-14)
    np.testing.assert_allclose(variance, 1 / (delta + n), rtol=1e-14)
    assert (f[n == 0] == 1).all()
    assert (variance[n == 0] == 1 / delta).all()


def test_events_that_observe_nothing_change_no_belief():
    options, rewards = [4, 1, 4, 6], [10.0, 12.5, 9.5, 31.0]
    plain = believed(Episode(options, rewards), played.PLACES, 0.1, 1.4)
    gaps = believed(
        Episode([4, None, None, 1, 4, None, 6], [10.0, None, None, 12.5, 9.5, None, 31.0]),
        played.PLACES,
        0.1,
        1.4,
    )
    for one, other in zip(
        (plain.b, plain.f, plain.variance), (gaps.b, gaps.f, gaps.variance), strict=True
    ):
        np.testing.assert_array_equal(one, other[:, [0, 3, 4, 6]])
        np.testing.assert_array_equal(other[:, 1], other[:, 3])
        np.testing.assert_array_equal(other[:, 2], other[:, 3])


def test_what_is_shown_teaches_as_much_as_what_is_chosen():
    options, rewards = [4, 1, 4, 6], [10.0, 12.5, 9.5, 31.0]
    chosen = believed(Episode(options, rewards), played.PLACES, 0.1, 1.4)
    shown = Episode(options, rewards, is_choice=[False, True, False, True])
    found = believed(shown, played.PLACES, 0.1, 1.4)
    np.testing.assert_array_equal(chosen.b, found.b)
    np.testing.assert_array_equal(chosen.variance, found.variance)


def test_a_single_option_has_the_mean_of_its_rewards():
    rewards = [3.0, 5.5, 4.0, 8.0]
    found = believed(Episode([0] * 4, rewards), [[1.0, 2.0]], 0.8, 2.5)
    for t in range(4):
        assert found.b[0, t, 0] == pytest.approx(sum(rewards[:t]) / (0.8 + t), rel=1e-14)
        assert found.f[0, t, 0] == pytest.approx(0.8 / (0.8 + t), rel=1e-14)
        assert found.variance[0, t, 0] == pytest.approx(1 / (0.8 + t), rel=1e-14)
        assert found.variance[1, t, 0] == pytest.approx(-1 / (0.8 + t) ** 2, rel=1e-14)
    np.testing.assert_array_equal(found.variance[2], np.zeros((4, 1)))


def test_a_thousand_visits_of_two_options_keep_thirteen_digits():
    rng = np.random.default_rng(4)
    options = rng.integers(0, 2, 1000)
    rewards = rng.normal(20, 5, 1000)
    for delta in (1e-8, 0.1, 50.0):
        b, f, variance = finally_believed(options, rewards, played.PLACES[:2], delta, 0.9)[:, 0]
        n, s = np.bincount(options), np.bincount(options, weights=rewards)
        sigma = dense.correlations(played.PLACES[:2], 0.9)
        a = delta * np.linalg.inv(sigma) + np.diag(n)
        # a thousand updates, each rounded once: 1000 eps
        np.testing.assert_allclose(variance, np.diag(np.linalg.inv(a)), rtol=3e-13)
        np.testing.assert_allclose(b, np.linalg.solve(a, s), rtol=3e-13)
        np.testing.assert_allclose(
            f, delta * np.linalg.solve(a, np.linalg.solve(sigma, [1, 1])), rtol=3e-12
        )


def test_all_options_in_one_with_an_infinite_length_scale():
    options, rewards = map(np.array, zip(*EVENTS, strict=True))
    with np.errstate(invalid="ignore"):
        b, f, variance = finally_believed(options, rewards, grid(4, 3), 0.5, 1e300)[:, 0]
    np.testing.assert_allclose(b, rewards.sum() / (0.5 + 16), rtol=1e-13)
    np.testing.assert_allclose(f, 0.5 / 16.5, rtol=1e-12)
    np.testing.assert_allclose(variance, 1 / 16.5, rtol=1e-13)


def test_options_very_close_together_keep_a_positive_variance():
    """Two options 1e-9 apart are one but for rounding; delta at the low end of the usual range."""
    places = np.array([[0.0, 0.0], [1e-9, 0.0], [1.0, 0.0], [1.0, 1e-9]])
    rng = np.random.default_rng(5)
    episode = Episode(rng.integers(0, 4, 80), rng.normal(10, 3, 80))
    for kernel in KERNELS:
        variance = believed(episode, places, 1.5e-8, 2.0, kernel, 0).variance[0]
        assert (variance > 0).all()


def test_fewer_derivatives_give_the_same_beliefs():
    episode = played.random_episode(3, 7)
    full = believed(episode, played.PLACES, 0.07, 1.4)
    for n in (0, 1):
        part = believed(episode, played.PLACES, 0.07, 1.4, n_derivatives=n)
        assert part.b.shape == (n + 1, episode.n_events, 7)
        np.testing.assert_array_equal(part.b, full.b[: n + 1])
        np.testing.assert_array_equal(part.f, full.f[: n + 1])
        np.testing.assert_array_equal(part.variance, full.variance[: n + 1])


@pytest.mark.parametrize("n_options", [31, 32, 33, 65])
def test_numbers_of_options_around_the_width_of_a_block_are_all_filled(n_options):
    places = np.random.default_rng(6).normal(size=(n_options, 2)) * 4
    episode = played.random_episode(7, n_options, n_events=50)
    found = believed(episode, places, 0.2, 1.5, n_derivatives=0)
    b, f, variance = dense.beliefs(episode.chosen, episode.rewards, places, 0.2, 1.5)
    np.testing.assert_allclose(found.b[0], b, atol=1e-9 * np.abs(b).max())
    np.testing.assert_allclose(found.f[0], f, atol=1e-10)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-10)


def test_relabelling_options_permutes_beliefs():
    episode = played.random_episode(8, 7)
    order = np.random.default_rng(9).permutation(7)  # new option k is old option order[k]
    new = np.argsort(order)
    moved = Episode(
        np.where(episode.chosen < 0, -1, new[episode.chosen]),
        episode.rewards,
        is_choice=episode.is_choice,
    )
    one = believed(episode, played.PLACES, 0.3, 1.2)
    other = believed(moved, played.PLACES[order], 0.3, 1.2)
    for a, b in ((one.b, other.b), (one.f, other.f), (one.variance, other.variance)):
        np.testing.assert_allclose(b, a[..., order], rtol=1e-12, atol=1e-12)


def test_two_thousand_options_need_no_square_matrix():
    places = grid(50, 40)
    rng = np.random.default_rng(10)
    episode = Episode(rng.integers(0, 2000, 60), rng.normal(30, 10, 60))
    believed(Episode([0, 1], [1.0, 2.0]), places, 0.01, 3.0)  # compiled
    apart = distances_to_options(places, ObservedSequence.from_episode(episode).options)
    tracemalloc.start()
    began = time.perf_counter()
    found = posterior_beliefs(episode, apart, 0.01, 3.0)
    took = time.perf_counter() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.b.shape == (3, 60, 2000)
    # results 3 x 3 x 60 x 2000 doubles = 8.6 MB, correlations about 1 MB each; N x N would be 32 MB
    assert peak < 16e6
    assert took < 5.0


def test_nothing_given_is_changed():
    episode = played.random_episode(11, 7)
    apart = distances_to_options(played.PLACES, ObservedSequence.from_episode(episode).options)
    before = apart.copy(), episode.chosen.copy(), episode.rewards.copy()
    posterior_beliefs(episode, apart, 0.3, 1.2)
    np.testing.assert_array_equal(apart, before[0])
    np.testing.assert_array_equal(episode.chosen, before[1])
    np.testing.assert_array_equal(episode.rewards, before[2])


def test_an_episode_without_observations_or_events_is_fine():
    empty = believed(Episode([], []), played.PLACES, 0.3, 1.2)
    assert empty.b.shape == (3, 0, 7)
    waited = believed(Episode([None, None], [None, None]), played.PLACES, 0.3, 1.2)
    np.testing.assert_array_equal(waited.f[0], np.ones((2, 7)))
