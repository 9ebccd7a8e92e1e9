"""Weights of any size: the same estimate, and a covariance in proportion."""

import numpy as np
import pytest

import penchant as pn
from exact_maximum import exact_maximum

SIZES = [2.0**-990, 1e-100, 1e-30, 1e-20, 1e20, 1e100, 2.0**1016]


def _drawn():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3, 2))
    drawn = pn.simulate(pn.Choices.from_arrays(x, None), [1.0, -0.5], rng=rng)
    return x, drawn.chosen, rng.uniform(0.5, 2.0, 60)


def _weighted(size, **given):
    x, chosen, weights = _drawn()
    return pn.Choices.from_arrays(
        x, chosen, weights=weights * size, weight_kind="probability", **given
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_estimate_does_not_depend_on_the_size_of_weights(size):
    plain, scaled = pn.fit(_weighted(1.0)), pn.fit(_weighted(size))
    assert scaled.status == "converged"
    assert scaled.theta == pytest.approx(plain.theta, rel=1e-13)
    assert scaled.covariance * size == pytest.approx(plain.covariance, rel=1e-12)
    assert scaled.log_likelihood / size == pytest.approx(plain.log_likelihood, rel=1e-12)
    assert scaled.pseudo_r2 == pytest.approx(plain.pseudo_r2, rel=1e-12)


def test_tiny_weights_have_the_estimate_of_forty_digits():
    x, chosen, weights = _drawn()
    theta, errors, _ = exact_maximum(x, chosen, weights=weights * 1e-30)
    found = pn.fit(_weighted(1e-30))
    assert found.theta == pytest.approx([float(t) for t in theta], rel=1e-12)
    assert found.standard_errors == pytest.approx([float(e) for e in errors], rel=1e-11)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["robust", "clustered"])
def test_robust_errors_do_not_depend_on_the_size_of_weights(size, kind):
    people = np.arange(60) % 7
    plain = pn.fit(_weighted(1.0, subject=people), covariance=kind)
    scaled = pn.fit(_weighted(size, subject=people), covariance=kind)
    assert scaled.standard_errors == pytest.approx(plain.standard_errors, rel=1e-12)


@pytest.mark.parametrize("size", [2**30, 2**52])
def test_frequencies_of_any_size_divide_the_covariance(size):
    x, chosen, _ = _drawn()
    counts = 1 + np.arange(60) % 3
    plain = pn.Choices.from_arrays(x, chosen, weights=counts)
    often = pn.Choices.from_arrays(x, chosen, weights=counts * size)
    for kind in ("model", "robust"):
        once, many = pn.fit(plain, covariance=kind), pn.fit(often, covariance=kind)
        assert many.theta == pytest.approx(once.theta, rel=1e-13)
        assert many.covariance * size == pytest.approx(once.covariance, rel=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_every_subject_may_have_weights_of_its_own_size(size):
    x, chosen, weights = _drawn()
    people = np.repeat(["ann", "bob"], 30)
    own = np.where(people == "ann", 1.0, size) * weights
    choices = pn.Choices.from_arrays(
        x, chosen, weights=own, weight_kind="probability", subject=people
    )
    plain = pn.Choices.from_arrays(
        x, chosen, weights=weights, weight_kind="probability", subject=people
    )
    found, expected = pn.fit_each(choices), pn.fit_each(plain)
    assert found.status == ("converged", "converged")
    assert found.theta == pytest.approx(expected.theta, rel=1e-12)
    units = np.array([1.0, size])
    assert found.log_likelihood / units == pytest.approx(expected.log_likelihood, rel=1e-12)
    # The information is that before the last step.
    assert found.covariance * units[:, None, None] == pytest.approx(expected.covariance, rel=1e-9)
    assert found.of("bob").covariance * size == pytest.approx(expected.covariance[1], rel=1e-9)


@pytest.mark.parametrize("size", [1e-20, 1e-12, 1e12, 1e20])
def test_a_prior_keeps_its_size_beside_weights_of_any(size):
    x, chosen, weights = _drawn()
    prior = pn.GaussianPrior(0.0, 1.0 / size)
    exact = exact_maximum(x, chosen, weights=weights * size, ridge=[size, size])[0]
    people = np.repeat(["ann"], 60)
    choices = _weighted(size, subject=people)
    for found in (
        pn.fit(choices, parameter_prior=prior),
        pn.fit_each(choices, parameter_prior=prior)[0],
    ):
        assert found.theta == pytest.approx([float(t) for t in exact], rel=1e-12)


@pytest.mark.parametrize("size", [1e-20, 1e-9, 1e9])
def test_tests_of_hypotheses_are_in_proportion_to_weights(size):
    plain, scaled = pn.fit(_weighted(1.0)), pn.fit(_weighted(size))
    for test in ("likelihood_ratio_test", "score_test", "wald_test"):
        one, other = getattr(plain, test)("x2"), getattr(scaled, test)("x2")
        assert other.statistic / size == pytest.approx(one.statistic, rel=1e-9)


def test_weights_near_the_largest_number_leave_an_estimate():
    scaled = pn.fit(_weighted(8e307))
    assert scaled.theta == pytest.approx(pn.fit(_weighted(1.0)).theta, rel=1e-13)
    assert scaled.status == "converged"
    assert scaled.log_likelihood == -np.inf  # no number is as large


def test_separation_does_not_depend_on_the_size_of_weights():
    x = np.zeros((21, 2, 1))
    x[:, 0, 0] = np.arange(1, 22)
    for size in SIZES:
        choices = pn.Choices.from_arrays(
            x, [0] * 21, weights=np.full(21, size), weight_kind="probability"
        )
        estimate = pn.fit(choices)
        assert (estimate.status, estimate.log_likelihood) == ("separated", 0.0)
