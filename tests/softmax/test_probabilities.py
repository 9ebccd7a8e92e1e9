"""Probabilities of every row, Eqs. (1) to (3)."""

import numpy as np
import pytest

import penchant as pn
import reference
from made import case
from penchant.softmax.probabilities import (
    decision_log_likelihoods,
    log_probabilities,
    option_utilities,
    rows_less_expectation,
    scores,
)

THETA = np.array([0.7, -1.1, 0.4])


@pytest.mark.parametrize("with_offset", [False, True])
def test_probabilities_equal_the_equation(with_offset):
    data = case(with_offset=with_offset)
    expected = np.concatenate(
        [
            reference.probabilities(THETA, x, None if data.offset is None else data.offset[k])
            for k, x in enumerate(data.sets)
        ]
    )
    found = np.exp(log_probabilities(THETA, data.choices))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_objectives_are_relative_to_the_option_chosen():
    data = case()
    found = option_utilities(THETA, data.choices)
    np.testing.assert_array_equal(found[data.choices.chosen_row], 0.0)
    x = data.sets[0]
    expected = np.array(reference.objective(THETA, x)) - (x @ THETA)[data.chosen[0]]
    np.testing.assert_allclose(found[: len(x)], expected, rtol=1e-12, atol=1e-14)


def test_decisions_have_the_log_probability_of_what_was_chosen():
    data = case()
    expected = [
        reference.log_likelihood(THETA, [x], [c])
        for x, c in zip(data.sets, data.chosen, strict=True)
    ]
    np.testing.assert_allclose(decision_log_likelihoods(THETA, data.choices), expected, rtol=1e-13)


def test_scores_are_the_gradient_of_each_decision():
    data = case(with_offset=True)
    expected = reference.scores(THETA, data.sets, data.chosen, data.offset)
    np.testing.assert_allclose(scores(THETA, data.choices), expected, rtol=1e-11, atol=1e-14)


def test_expected_rows_have_mean_zero_in_every_set():
    data = case()
    p = np.exp(log_probabilities(THETA, data.choices))
    centred = rows_less_expectation(p, data.choices)
    sums = np.add.reduceat(p[:, None] * centred, data.choices.first_row[:-1])
    np.testing.assert_allclose(sums, 0.0, atol=1e-15)  # a few units of rounding


@pytest.mark.parametrize("hole", [np.nan, np.inf, -1e300])
def test_an_option_not_on_offer_has_no_probability_whatever_it_holds(hole):
    x = np.random.default_rng(2).normal(size=(7, 4, 3))
    available = np.ones((7, 4), dtype=bool)
    available[2, 1] = available[5, 3] = False
    holed = np.where(available[:, :, None], x, hole)
    chosen = [0, 1, 2, 3, 0, 1, 2]
    choices = pn.Choices.from_arrays(holed, chosen, available=available)
    p = np.exp(log_probabilities(THETA, choices)).reshape(7, 4)
    assert (p[~available] == 0).all()
    expected = reference.probabilities(THETA, x[2][[0, 2, 3]])
    np.testing.assert_allclose(p[2][[0, 2, 3]], expected, rtol=1e-13)


@pytest.mark.parametrize("size", [1e-98, 1.0, 1e5, 1e98])
def test_log_probabilities_are_finite_and_never_positive(size):
    x = size * np.random.default_rng(3).normal(size=(11, 6, 1))
    found = log_probabilities(np.array([1.0]), pn.Choices.from_arrays(x, None))
    assert np.isfinite(found).all() and (found <= 0).all()
    sums = np.exp(found).reshape(11, 6).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=6e-15)  # 1e-15 times m
