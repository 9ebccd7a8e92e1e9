"""Estimates from every beginning, against one fit after the other and other software."""

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
from penchant_paper.ensembles import FINITE, first_true, fit_prefixes


def _drawn(repeats, n, m, theta, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(repeats, n, m, len(theta)))
    noisy = x @ np.array(theta) + rng.gumbel(size=(repeats, n, m))
    return x, noisy.argmax(axis=2)


def _minus_log_likelihood(theta, x, chosen):
    total = 0.0
    for options, i in zip(x, chosen, strict=True):
        q = options @ theta
        total -= q[i] - q.max() - np.log(np.exp(q - q.max()).sum())
    return total


def test_every_beginning_is_fitted_as_by_itself():
    x, chosen = _drawn(3, 14, 5, (1.5, -2.0), 1)
    found = fit_prefixes(x, chosen, what="Test")
    for r in range(3):
        for k in range(1, 15):
            alone = pn.fit(pn.Choices.from_arrays(x[r, :k], chosen[r, :k]))
            assert found.exists[k - 1, r] == (alone.status in FINITE)
            if found.exists[k - 1, r]:
                np.testing.assert_allclose(found.theta[k - 1, r], alone.theta, rtol=1e-8)
                np.testing.assert_allclose(
                    found.standard_errors[k - 1, r], alone.standard_errors, rtol=1e-7
                )
            else:
                assert np.isnan(found.theta[k - 1, r]).all()
                assert np.isnan(found.covariance[k - 1, r]).all()


def test_estimates_are_those_of_a_general_optimiser():
    x, chosen = _drawn(2, 60, 4, (1.0, 2.0, -0.5), 2)
    found = fit_prefixes(x, chosen, what="Test")
    for r, k in ((0, 40), (1, 60)):
        other = optimize.minimize(
            _minus_log_likelihood, np.zeros(3), (x[r, :k], chosen[r, :k]), tol=1e-12
        )
        np.testing.assert_allclose(found.theta[k - 1, r], other.x, atol=2e-5)


def test_one_parameter_exists_once_choices_are_on_both_sides():
    # Separated while every choice is the largest, or every choice the smallest.
    x, chosen = _drawn(40, 12, 3, (2.0,), 3)
    found = fit_prefixes(x, chosen, what="Test")
    values = x[..., 0]
    largest, smallest = values.argmax(axis=2) == chosen, values.argmin(axis=2) == chosen
    k = np.arange(1, 13)
    separated = (largest.cumsum(axis=1) == k) | (smallest.cumsum(axis=1) == k)
    np.testing.assert_array_equal(found.exists.T, ~separated)
    np.testing.assert_array_equal(found.missing, separated.sum(axis=0))


def test_an_estimate_that_exists_stays():
    x, chosen = _drawn(30, 15, 6, (3.0, 1.0), 4)
    exists = fit_prefixes(x, chosen, what="Test").exists
    assert (np.diff(exists.astype(int), axis=0) >= 0).all()
    assert not exists[0].all()


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_digit(threads):
    x, chosen = _drawn(7, 30, 5, (1.0, -1.0), 5)
    here, there = (fit_prefixes(x, chosen, what="T", threads=t) for t in (2, threads))
    np.testing.assert_array_equal(here.theta, there.theta)
    np.testing.assert_array_equal(here.covariance, there.covariance)


def test_inputs_are_unchanged():
    x, chosen = _drawn(2, 8, 3, (1.0,), 6)
    before = x.copy(), chosen.copy()
    fit_prefixes(x, chosen, what="Test")
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(chosen, before[1])


def test_coverage_counts_existing_estimates_only():
    x, chosen = _drawn(25, 20, 4, (2.5,), 7)
    found = fit_prefixes(x, chosen, what="Test")
    share = found.covers(np.array([2.5]), 1.96)
    for k in (4, 19):
        rows = np.flatnonzero(found.exists[k])
        near = [
            abs(found.theta[k, r, 0] - 2.5) <= 1.96 * found.standard_errors[k, r, 0] for r in rows
        ]
        assert share[k, 0] == pytest.approx(np.mean(near))


@pytest.mark.parametrize("end", [1, 2, 9, 40])
def test_bisection_finds_every_first(end):
    for first in range(1, end + 1):
        asked = []

        def condition(k, first=first, asked=asked):
            asked.append(k)
            return k >= first

        assert first_true(condition, end) == first
        assert len(asked) <= 2 + np.log2(end + 1) + 1
