"""The map somebody had in mind, read from what they chose."""

import re

import numpy as np
import pytest

import penchant as pn
from penchant.bandit.beliefs import GAUSSIAN
from penchant.bandit.landscape import distances
from penchant.errors import DataError
from penchant.inference.belief_map import _in_rewards
from small_study import table

GRID = pn.grid(10, 10)
ROOTS: dict[float, np.ndarray] = {}


def drawn(sd: float, rng: np.random.Generator):
    """A map with a squared-exponential covariance, which is not the basis's own."""
    if not ROOTS:
        ROOTS[2.5] = np.linalg.cholesky(GAUSSIAN(distances(GRID), 2.5) + 1e-9 * np.eye(100))
    return sd * ROOTS[2.5] @ rng.standard_normal(100)


def operator(seed, n_episodes, n_decisions=60, noise=12.0, sd=12.0, level=30.0, variance=150.0):
    """Play of somebody with a map, on landscapes that deviate from it; the map, and its level."""
    rng = np.random.default_rng(seed)
    truth = level + drawn(sd, rng)
    own = pn.MapBasis.of([truth])
    model = pn.UCL(locations=GRID, noise_variance=10.0, length_scale=4.0, prior_map=own)
    shape = truth - truth.mean()
    natural = {
        "decision_noise": noise,
        "prior_mean": truth.mean(),
        "prior_variance": variance,
        "map_1": shape.std(),
    }
    plays = []
    for _ in range(n_episodes):
        place = pn.Landscape(truth + drawn(8.0, rng), pn.GaussianNoise(10.0))
        plays.append(pn.simulate(place, model, natural, n_decisions=n_decisions, rng=rng))
    return plays, shape, float(truth.mean())


def model(n=16, **options):
    basis = pn.MapBasis.smooth(GRID, n=n)
    given = {"locations": GRID, "noise_variance": 10.0, "length_scale": 4.0, "prior_map": basis}
    return pn.UCL(**{**given, **options})


@pytest.fixture(scope="module")
def known():
    plays, truth, level = operator(21, 3)
    return pn.fit(plays, model(), parameter_prior=pn.MapPrior()), truth, level


def test_a_map_is_read_from_three_plays(known):
    estimate, truth, level = known
    found = estimate.belief_map()
    assert estimate.status == found.status == "converged"
    assert np.corrcoef(found.mean, truth)[0, 1] > 0.7
    assert abs(found.mean.mean()) < 1e-9
    assert abs(found.level - level) < 3 * found.level_sd
    assert 0.3 < found.removed < 1.0
    np.testing.assert_allclose(found.expected, found.level + found.mean)
    low, high = found.interval(0.9).T
    assert ((low < truth) & (truth < high)).mean() > 0.6


def test_the_evidence_has_a_peak_among_the_widths_that_are_weighed(known):
    fits = known[0].belief_map().fits
    evidence = [fit.log_evidence for fit in fits]
    assert 0 < np.argmax(evidence) < len(fits) - 1
    assert fits[0].sd < known[0].belief_map().width < fits[-1].sd


def test_draws_ask_for_a_generator(known):
    with pytest.raises(
        DataError, match=r"^rng must be a generator of NumPy; got NoneType\.\nWrite"
    ):
        known[0].belief_map().draws(None)


def test_draws_have_the_mean_and_the_spread_of_the_map(known):
    found = known[0].belief_map()
    draws = found.draws(np.random.default_rng(3), n=4000)
    assert draws.shape == (4000, 100)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean, atol=5 * found.sd.max() / 63)
    np.testing.assert_allclose(draws.std(axis=0), found.sd, rtol=0.15)
    again = found.draws(np.random.default_rng(3), n=4000)
    np.testing.assert_array_equal(draws, again)


def test_a_map_tells_its_numbers_as_words_table_and_json(known):
    found = known[0].belief_map()
    assert "Belief map of 100 options from 180 decisions: converged" in found.summary()
    assert found.to_dict()["mean"] == found.mean.tolist()
    assert list(found.to_frame().columns) == ["option", "x", "y", "mean", "sd"]


def test_a_wide_map_is_not_shrunk_by_the_noise_of_a_fit_without_one():
    """A player without a map looks far noisier: with that noise a map is shrunk to nothing."""
    plays, truth, _ = operator(5, 2, noise=4.0, sd=30.0)
    bare = pn.fit(plays, model(prior_map=None), parameter_prior=pn.ScaledPrior(0.01))
    found = pn.fit(plays, model(), parameter_prior=pn.MapPrior())
    assert 1 / bare.weights[0] > 2 * 4.0
    assert 1 / found.weights[0] < 1.25 * 4.0
    read = found.belief_map()
    assert np.corrcoef(read.mean, truth)[0, 1] > 0.7
    assert read.mean @ truth > 0.5 * truth @ truth  # with that noise: 0.32, and looks converged
    low, high = read.interval(0.9).T
    assert ((low < truth) & (truth < high)).mean() > 0.8  # 0.43


def test_a_width_that_is_known_is_divided_by_the_noise_of_the_map_itself():
    """By that of a fit without a map, three times as large, the map would come back at 0.58."""
    plays, truth, _ = operator(6, 1, noise=1.5, sd=20.0)
    found = pn.fit(plays, model(), parameter_prior=pn.MapPrior(sd=20.0)).belief_map()
    assert 0.75 * truth @ truth < found.mean @ truth < 1.1 * truth @ truth


def test_the_precision_is_climbed_to_and_not_left_on_a_cell():
    """On the cell of a coarse grid the bonus is wrong, and the level makes up for it."""
    plays, _, _ = operator(8, 3)
    found = pn.fit(plays, model(), parameter_prior=pn.MapPrior())
    at = model(precision_range=(found.psi[0] / 1.3, found.psi[0] * 1.3))
    again = pn.fit(plays, at, parameter_prior=pn.MapPrior())
    assert again.psi[0] == pytest.approx(found.psi[0], rel=2e-2)
    assert again.belief_map().level == pytest.approx(found.belief_map().level, rel=2e-2)


def test_units_of_rewards_do_not_matter():
    plays, _, _ = operator(8, 2)
    cents = [pn.Episode(e.chosen, 100 * e.rewards) for e in plays]
    own = model(4)
    large = pn.UCL(locations=GRID, noise_variance=1e5, length_scale=4.0, prior_map=own.prior_map)
    found = pn.fit(plays, own, parameter_prior=pn.MapPrior()).belief_map()
    other = pn.fit(cents, large, parameter_prior=pn.MapPrior()).belief_map()
    np.testing.assert_allclose(other.mean, 100 * found.mean, rtol=2e-2, atol=2.0)
    assert other.removed == pytest.approx(found.removed, abs=0.02)


def test_a_width_that_is_known_is_taken():
    plays, _, _ = operator(8, 1)
    found = pn.fit(plays, model(4), parameter_prior=pn.MapPrior(sd=7.5)).belief_map()
    assert [fit.sd for fit in found.fits] == [7.5]


def test_as_many_functions_are_taken_as_the_data_speak_for():
    """Somebody without a map is not given one; somebody with one is."""
    flat, _, _ = operator(3, 1, sd=0.5)
    few = pn.fit(flat, model(9), parameter_prior=pn.MapPrior(n="evidence")).belief_map()
    assert few.n_functions <= 4 and np.abs(few.mean).max() < 6.0
    rich, _, _ = operator(3, 2)
    many = pn.fit(rich, model(9), parameter_prior=pn.MapPrior(n="evidence")).belief_map()
    assert many.n_functions == 9


@pytest.mark.parametrize("landscapes", [3.0, None, "hill", ["a", "b"]])
def test_landscapes_that_are_no_numbers_are_refused(landscapes):
    with pytest.raises(DataError, match="landscapes must be mean rewards of the same options"):
        pn.MapBasis.of(landscapes)


def test_what_is_no_width_kernel_or_level_is_refused(known):
    for wrong in (True, [1.0], -2.0):
        with pytest.raises(DataError, match="sd must be > 0, or 'evidence' or 'prediction'; got"):
            pn.MapPrior(sd=wrong)
    with pytest.raises(DataError, match="others must be a number; got 'weak'"):
        pn.MapPrior(others="weak")
    with pytest.raises(DataError, match=r"kernel must be one of penchant\.bandit\.beliefs; got 'g"):
        pn.MapBasis.smooth(GRID, kernel="gaussian")
    with pytest.raises(DataError, match=re.escape("level must lie between 0 and 1; got 90.")):
        known[0].belief_map().interval(90)


def test_a_map_is_asked_only_of_a_model_that_has_one():
    episode = operator(8, 1)[0]
    with pytest.raises(DataError, match=re.escape("belief_map must be asked of a model with a")):
        pn.fit(episode, model(prior_map=None)).belief_map()
    with pytest.raises(
        DataError, match=re.escape("got MapPrior.\nMaps belong to models of places.")
    ):
        sets = pn.Choices.from_arrays(np.ones((3, 2, 1)) * [[0.0], [1.0]], [0, 1, 1])
        pn.fit(sets, parameter_prior=pn.MapPrior())


@pytest.mark.slow
@pytest.mark.parametrize(("n_episodes", "least"), [(1, 0.60), (2, 0.78), (4, 0.87)])
def test_maps_come_back_from_a_few_plays_with_intervals_that_hold_them(n_episodes, least):
    correlations, covered = [], []
    for seed in range(30):
        plays, truth, _ = operator(500 + seed, n_episodes)
        found = pn.fit(plays, model(), parameter_prior=pn.MapPrior()).belief_map()
        correlations.append(np.corrcoef(found.mean, truth)[0, 1])
        low, high = found.interval(0.9).T
        covered.append(((low < truth) & (truth < high)).mean())
    assert np.mean(correlations) > least
    assert 0.83 < np.mean(covered) < 0.97


def summed(theta, covariance, sd, noise):
    """Level and one map weight by brute force: the ratio of the priors at every point of a grid."""
    spread = np.sqrt(np.diag(covariance))
    axes = [np.linspace(m - 6 * s, m + 6 * s, 121) for m, s in zip(theta, spread, strict=True)]
    axes[0] = axes[0][axes[0] > 0.1 * theta[0]]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    away = points - theta
    fitted = np.exp(-0.5 * np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away))
    own = np.exp(-0.5 * (points[:, 2] / (points[:, 0] * sd)) ** 2) / (points[:, 0] * sd)
    plugged = np.exp(-0.5 * (points[:, 2] * noise / sd) ** 2) * noise / sd
    weights = fitted * own / plugged / (points[:, 0] * noise)
    rewards = points[:, 1:] / points[:, :1]
    mean = weights @ rewards / weights.sum()
    both = (weights[:, None] * (rewards - mean)).T @ (rewards - mean) / weights.sum()
    return np.log(weights.sum() / fitted.sum()), mean, both


def test_a_prior_in_rewards_is_that_whatever_the_noise():
    theta = np.array([0.1, 3.0, 0.6])
    root = np.array([[0.012, 0, 0], [0.2, 0.5, 0], [0.03, -0.1, 0.4]])
    covariance = root @ root.T
    more, mean, both = _in_rewards(theta, covariance, [1, 2], 8.0, 11.0)
    literal = summed(theta, covariance, 8.0, 11.0)
    assert more == pytest.approx(literal[0], abs=2e-3)
    np.testing.assert_allclose(mean, literal[1], rtol=2e-3)
    np.testing.assert_allclose(both, literal[2], rtol=1e-2, atol=0.02)


def test_a_known_noise_changes_nothing():
    theta = np.array([0.1, 3.0, 0.6])
    covariance = np.diag([1e-12, 0.3, 0.2])
    more, mean, both = _in_rewards(theta, covariance, [1, 2], 8.0, 10.0)
    assert abs(more) < 1e-6
    np.testing.assert_allclose(mean, [30.0, 6.0], rtol=1e-6)
    np.testing.assert_allclose(both, np.diag([30.0, 20.0]), rtol=1e-5, atol=1e-6)


def test_no_width_explains_choices_better_than_their_best_weights():
    """A normal shape carried beyond its reach made one width 120 log-units likelier than others."""
    mine = table(8, 7, 40)
    mine = mine[mine.subject == "b06"]
    play = pn.Episode(mine.choice.to_numpy(), mine.reward.to_numpy())
    places = pn.grid(4, 3)
    basis = pn.MapBasis.smooth(places, n=11)
    own = pn.UCL(locations=places, noise_variance=2.5, length_scale=1.5, prior_map=basis)
    found = pn.fit(play, own, parameter_prior=pn.MapPrior())
    told = [fit.log_evidence for fit in found.belief_map().fits]
    assert len(told) > 3 and max(told) < found.log_likelihood < 0
    assert np.abs(np.diff(told)).max() < 5  # widths 1.6 apart
