"""The compiled sums equal the equations."""

import dataclasses

import numpy as np
import pytest

import penchant as pn
import reference
from made import case
from penchant.softmax.likelihood import likelihood_of

THETA = np.array([0.7, -1.1, 0.4])
CASES = {
    "plain": {},
    "weights": {"weighted": True},
    "offset": {"with_offset": True},
    "both": {"weighted": True, "with_offset": True, "sizes": (1, 11)},
}


def check_moments(data, theta):
    moments = likelihood_of(data.choices).moments(theta)
    # sums of some hundred terms of size 1: a few hundred units of rounding
    assert moments.log_likelihood == pytest.approx(
        reference.log_likelihood(theta, *data.arguments), rel=1e-13
    )
    slope = reference.gradient(theta, *data.arguments)
    np.testing.assert_allclose(moments.gradient, slope, rtol=0, atol=1e-12)
    expected = reference.information(theta, data.sets, data.weights, data.offset)
    np.testing.assert_allclose(moments.information, expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(moments.information, moments.information.T)


@pytest.mark.parametrize("kind", CASES)
def test_moments_equal_the_equations(kind):
    check_moments(case(**CASES[kind]), THETA)


@pytest.mark.parametrize("kind", CASES)
def test_moments_at_zero_equal_the_equations(kind):
    check_moments(case(**CASES[kind]), np.zeros(3))


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("kind", CASES)
def test_moments_of_pairs_equal_the_equations(kind, size):
    # 37 pairs: the last three lanes of the last block are empty
    check_moments(case(**CASES[kind] | {"sizes": (2, 2)}), size * THETA)


@pytest.mark.parametrize("d", [1, 2, 4, 5, 7])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 6)])
def test_moments_far_from_the_choices_equal_the_equations(sizes, d):
    theta = np.linspace(-0.6, 0.9, d)
    for size in (20.0, 60.0, 200.0, 1000.0):  # objectives of tens, around a hundred, of thousands
        check_moments(case(sizes=sizes, theta=theta, weighted=True), size * theta)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 6)])
def test_moments_of_more_variables_than_a_tile_equal_the_equations(sizes):
    theta = np.linspace(-0.6, 0.9, 7)
    check_moments(case(sizes=sizes, theta=theta), theta)
    check_moments(case(sizes=sizes, theta=theta), np.zeros(7))


def test_certain_decisions_do_not_drown_what_others_tell():
    rng = np.random.default_rng(11)
    x, theta = rng.normal(size=(160, 3, 7)), np.array([0.5, -0.8, 0.3, 1.1, -0.2, 0.7, 0.4])
    q = np.zeros((160, 3))
    q[::2, 1:] = -40.0  # chosen, and sure to be: the others have a probability of 4e-18
    q[1::2, 1] = 800.0  # sure to be another one: no double tells it from certain
    offset = q - x @ theta
    choices = pn.Choices.from_arrays(x, np.zeros(160, dtype=int), offset=offset)
    found = likelihood_of(choices).moments(theta).information
    apart = x[::2, 1:] - x[::2, :1]
    expected = np.exp(-40.0) * np.einsum("kia,kic->ac", apart, apart)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * expected.max())


@pytest.mark.parametrize("d", [13, 16, 24])
def test_moments_where_tiles_are_taken_in_a_loop_equal_the_equations(d):
    theta = np.linspace(-0.6, 0.9, d)
    for kind in ("plain", "both"):
        check_moments(case(**CASES[kind], theta=theta), theta)


@pytest.mark.parametrize("kind", CASES)
def test_spread_is_the_mean_within_set_scatter(kind):
    data = case(**CASES[kind])
    weights = np.ones(len(data.sets)) if data.weights is None else data.weights
    total = sum(w * len(x) for w, x in zip(weights, data.sets, strict=True))
    expected = reference.within_set_scatter(data.sets, data.weights) / total
    np.testing.assert_allclose(
        likelihood_of(data.choices).scatter_within_sets(), expected, rtol=1e-12
    )


@pytest.mark.parametrize("kind", CASES)
def test_moments_of_thirty_variables_equal_the_equations(kind):
    rng = np.random.default_rng(30)
    data = case(theta=rng.normal(size=30) / 3, n=41, **CASES[kind])
    check_moments(data, rng.normal(size=30) / 2)


def test_gradient_and_information_are_derivatives():
    data = case(weighted=True, with_offset=True, seed=12)
    likelihood = likelihood_of(data.choices)
    h = 1e-5
    for a in range(3):
        step = h * np.eye(3)[a]
        up, down = likelihood.moments(THETA + step), likelihood.moments(THETA - step)
        slope = (up.log_likelihood - down.log_likelihood) / (2 * h)
        here = likelihood.moments(THETA)
        # truncation h^2 = 1e-10 times a third derivative of some tens; rounding eps * 100 / h
        assert slope == pytest.approx(here.gradient[a], abs=2e-7)
        curve = -(up.gradient - down.gradient) / (2 * h)
        np.testing.assert_allclose(curve, here.information[a], atol=2e-7)


@pytest.mark.parametrize(("n_threads", "d"), [(2, 2), (3, 2), (3, 7)])
def test_threads_change_no_digit(n_threads, d):
    rng = np.random.default_rng(2)
    explanatory = rng.normal(size=(41_003, 3, d))
    choices = pn.Choices.from_arrays(explanatory, rng.integers(0, 3, size=41_003))
    theta = np.resize([0.3, -0.8], d)
    one = likelihood_of(choices, 1).moments(theta)
    many = likelihood_of(choices, n_threads).moments(theta)
    assert one.log_likelihood == many.log_likelihood
    np.testing.assert_array_equal(one.gradient, many.gradient)
    np.testing.assert_array_equal(one.information, many.information)


@pytest.mark.parametrize("size", [1e-98, 3e-8, 1.0, 1e5, 1e98])
def test_objectives_of_any_size_give_finite_sums(size):
    explanatory = size * np.random.default_rng(4).normal(size=(29, 5, 2))
    choices = pn.Choices.from_arrays(explanatory, np.arange(29) % 5)
    theta = np.array([1.3, -0.4])
    moments = likelihood_of(choices).moments(theta)
    sets = list(explanatory)
    assert moments.log_likelihood == pytest.approx(
        reference.log_likelihood(theta, sets, np.arange(29) % 5), rel=1e-13
    )
    assert moments.log_likelihood <= 0
    assert np.isfinite(moments.gradient).all() and np.isfinite(moments.information).all()


def test_a_set_of_a_hundred_thousand_options_is_summed_exactly():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(100_000, 1)) * 3
    theta = np.array([1.7])
    value = likelihood_of(pn.Choices.from_arrays([x], [17])).moments(theta).log_likelihood
    # 1e5 terms of one sign: rounding grows like the square root of their number
    assert value == pytest.approx(reference.log_likelihood(theta, [x], [17]), rel=1e-12)


def test_a_small_set_beside_a_huge_one_keeps_its_digits():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(100_000, 1)) * 3
    choices = pn.Choices.from_arrays([x, x[:7]], [17, 2])
    theta = np.array([1.7])
    expected = reference.log_likelihood(theta, [x, x[:7]], [17, 2])
    value = likelihood_of(choices).moments(theta).log_likelihood
    # 1e5 rows that fill up the block are added and taken out: 1e5 eps absolute
    assert value == pytest.approx(expected, rel=1e-10)


def test_a_filled_up_block_keeps_the_digits_of_its_smallest_set():
    # Seven sets of two options share a block with one of fifty thousand. The filling rows, each
    # as likely as the option chosen, are taken out again: an absolute error of 5e4 eps = 1e-11.
    rng = np.random.default_rng(9)
    pairs = [np.array([[0.0], [-40.0 - k]]) for k in range(7)]
    crowd = -60.0 - rng.random(size=(50_000, 1))
    crowd[0] = 0.0
    data = [*pairs, crowd], [0] * 8
    value = likelihood_of(pn.Choices.from_arrays(*data)).moments(np.array([1.0])).log_likelihood
    assert value == pytest.approx(reference.log_likelihood([1.0], *data), abs=1e-10)


def test_inputs_are_not_changed():
    explanatory = np.random.default_rng(1).normal(size=(11, 3, 2))
    chosen = np.arange(11) % 3
    before = explanatory.copy(), chosen.copy()
    pn.fit(pn.Choices.from_arrays(explanatory, chosen))
    np.testing.assert_array_equal(explanatory, before[0])
    np.testing.assert_array_equal(chosen, before[1])


@pytest.mark.parametrize("name", CASES)
def test_variables_in_other_units_are_packed_as_if_they_were_given_so(name):
    choices = case(seed=5, **CASES[name]).choices
    unit = np.array([0.25, 8.0, 0.5])
    scaled = dataclasses.replace(choices, explanatory=choices.explanatory * unit)
    found, expected = likelihood_of(choices, 1).in_units(unit), likelihood_of(scaled, 1)
    for part in ("log_likelihood", "gradient", "information"):
        mine, given = (getattr(one.moments(THETA), part) for one in (found, expected))
        np.testing.assert_array_equal(mine, given)
    np.testing.assert_array_equal(
        found.largest_values_and_differences, expected.largest_values_and_differences
    )
    np.testing.assert_array_equal(found.scatter_within_sets(), expected.scatter_within_sets())
