"""What the options pay."""

import re

import numpy as np
import pytest

from penchant.bandit.landscape import (
    GaussianNoise,
    IntegerNoise,
    Landscape,
    landscape_a,
    landscape_b,
)
from penchant.errors import DataError


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def local_maxima(profile: np.ndarray) -> list[int]:
    """Positions counted from 1 that exceed their neighbours."""
    walled = np.concatenate([[-np.inf], profile, [-np.inf]])
    return [x for x in range(1, len(profile) + 1) if walled[x] > max(walled[x - 1], walled[x + 1])]


@pytest.mark.parametrize("landscape", [landscape_a(), landscape_b()])
def test_the_papers_landscapes_have_mean_30_and_maximum_60_and_are_flat_in_y(landscape):
    rows = landscape.mean_rewards.reshape(10, 10)  # option = x + 10 y
    assert (rows == rows[0]).all()
    assert landscape.mean_rewards.mean() == pytest.approx(30, rel=1e-15)
    assert landscape.best == 60
    assert landscape.noise == GaussianNoise(10.0)


def test_landscape_a_is_concave_with_its_one_maximum_at_6():
    profile = landscape_a().mean_rewards[:10]
    assert local_maxima(profile) == [6]
    assert (np.diff(profile, 2) <= 1e-12).all()  # rounding of the slopes


def test_landscape_b_has_local_maxima_at_1_and_10_the_latter_global():
    profile = landscape_b().mean_rewards[:10]
    assert local_maxima(profile) == [1, 10]
    assert profile[9] > profile[0]


@pytest.mark.parametrize("width", [3, 4, 11, 16])
@pytest.mark.parametrize("height", [1, 5])
def test_other_sizes_keep_the_shape(width, height):
    a, b = landscape_a(width, height), landscape_b(width, height)
    assert a.n_options == b.n_options == width * height
    assert local_maxima(a.mean_rewards[:width]) == [width // 2 + 1]
    assert local_maxima(b.mean_rewards[:width]) == [1, width]
    assert a.best == b.best == 60


@pytest.mark.parametrize("build", [landscape_a, landscape_b])
def test_a_profile_needs_three_columns_and_a_row(build):
    with refused("width must be a whole number, 3 or more; got 2."):
        build(width=2)
    with refused("height must be a whole number, 1 or more; got 0."):
        build(height=0)


@pytest.mark.parametrize("noise", [GaussianNoise(2.7), IntegerNoise(4)])
def test_rewards_scatter_around_the_mean_with_the_variance_stated(noise):
    landscape = Landscape([3.5, -20.0, 8.25], noise)
    rng = np.random.default_rng(5)
    rewards = np.array([landscape.draw(1, rng=rng) for _ in range(20_000)])
    # five standard errors of a mean and, for kurtosis at most 3, of a variance
    assert rewards.mean() == pytest.approx(-20.0, abs=5 * np.sqrt(noise.variance / 20_000))
    assert rewards.var() == pytest.approx(noise.variance, rel=5 * np.sqrt(2 / 20_000))


def test_integer_noise_takes_every_whole_number_up_to_the_largest():
    landscape = Landscape([7.0], IntegerNoise())
    rng = np.random.default_rng(6)
    rewards = {landscape.draw(0, rng=rng) for _ in range(1000)}
    assert rewards == {7.0 + k for k in range(-5, 6)}
    assert IntegerNoise().variance == np.var(np.arange(-5, 6))


def test_the_same_generator_draws_the_same_rewards():
    draws = [landscape_b().draw(44, rng=np.random.default_rng(9)) for _ in range(2)]
    assert draws[0] == draws[1]
    assert isinstance(draws[0], float)


def test_mean_rewards_are_a_locked_copy():
    given = np.array([1.5, 4.0])
    landscape = Landscape(given, GaussianNoise(3.0))
    given[0] = 100.0
    assert landscape.best == 4.0
    assert not landscape.mean_rewards.flags.writeable


@pytest.mark.parametrize("variance", [0, -1, np.nan, np.inf, None, "ten"])
def test_a_noise_variance_is_positive_and_finite(variance):
    with refused(f"got {variance!r}.\nGive sigma_s^2"):
        GaussianNoise(variance)


@pytest.mark.parametrize("largest", [0, 2.5, -5])
def test_the_largest_deviation_is_a_whole_number(largest):
    with refused(f"largest must be a whole number, 1 or more; got {largest!r}."):
        IntegerNoise(largest)


def test_noise_is_one_of_two_kinds():
    with refused("noise must be GaussianNoise or IntegerNoise; got 10.0.\nPass e.g."):
        Landscape([1.0, 2.0], 10.0)


def test_mean_rewards_are_one_finite_number_per_option():
    with refused("mean_rewards must have shape (n_options,); got shape (2, 3).\nFor a map"):
        Landscape(np.ones((2, 3)), GaussianNoise())
    with refused("mean_rewards must have shape (n_options,); got shape (0,)."):
        Landscape([], GaussianNoise())
    with refused("mean_rewards must be finite; got nan at option 1, -inf at option 2."):
        Landscape([1.0, np.nan, -np.inf], GaussianNoise())
    with refused("mean_rewards must hold numbers; got '3,5' at option 1."):
        Landscape([1.0, "3,5"], GaussianNoise())


@pytest.mark.parametrize("option", [-1, 3, 1.5, np.nan])
def test_only_options_of_the_landscape_pay(option):
    landscape = Landscape([1.0, 2.0, 3.0], GaussianNoise())
    with refused(f"option must lie in 0..2; got {option!r}.\nOptions are counted from 0."):
        landscape.draw(option, rng=np.random.default_rng(1))
