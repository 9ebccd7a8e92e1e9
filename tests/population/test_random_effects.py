"""Random effects: published meta-analyses, a literal likelihood, moments, recovery."""

import numpy as np
import pytest
from scipy import optimize, stats

import penchant as pn
from penchant.population.meta_analysis import (
    WhitenedEstimates,
    dersimonian_laird,
    is_reml_maximum,
    reml_covariance_and_convergence,
    restricted_log_likelihood_and_gradient,
)

# Vaccination against tuberculosis, 13 trials: sick and well, treated and not (Colditz et al., 1994)
SICK = np.array([4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27])
WELL = np.array([119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886])
SICK_UNTREATED = np.array([11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29])
WELL_UNTREATED = np.array(
    [128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825]
)
# Attachment level and probing depth in 5 trials (Berkey et al., 1998)
BERKEY = np.array([[-0.32, 0.47], [-0.60, 0.20], [-0.12, 0.40], [-0.31, 0.26], [-0.39, 0.56]])
BERKEY_COVARIANCES = np.array(
    [
        [[0.0077, 0.0030], [0.0030, 0.0075]],
        [[0.0008, 0.0009], [0.0009, 0.0057]],
        [[0.0014, 0.0007], [0.0007, 0.0021]],
        [[0.0015, 0.0009], [0.0009, 0.0029]],
        [[0.0304, 0.0072], [0.0072, 0.0148]],
    ]
)


def tuberculosis():
    treated, untreated = SICK + WELL, SICK_UNTREATED + WELL_UNTREATED
    ratios = np.log(SICK / treated) - np.log(SICK_UNTREATED / untreated)
    return ratios, 1 / SICK - 1 / treated + 1 / SICK_UNTREATED - 1 / untreated


def literal_reml(estimates, covariances, between):
    """The restricted log-likelihood written out subject by subject."""
    d = estimates.shape[1]
    total, pulled, value = np.zeros((d, d)), np.zeros(d), 0.0
    for theta, covariance in zip(estimates, covariances, strict=True):
        inverse = np.linalg.inv(covariance + between)
        total += inverse
        pulled += inverse @ theta
        value += np.log(np.linalg.det(covariance + between))
    mean = np.linalg.inv(total) @ pulled
    for theta, covariance in zip(estimates, covariances, strict=True):
        value += (theta - mean) @ np.linalg.inv(covariance + between) @ (theta - mean)
    return -0.5 * (value + np.log(np.linalg.det(total)))


def drawn(rng, between, n, d=2):
    roots = rng.normal(size=(n, d, d + 1)) * rng.uniform(0.3, 1.2, (n, 1, 1))
    covariances = roots @ roots.transpose(0, 2, 1)
    spread = [rng.multivariate_normal(np.zeros(d), between + c) for c in covariances]
    return np.array([1.5, -0.7])[:d] + np.array(spread), covariances


def test_the_tuberculosis_trials_are_as_published():
    """As the metafor documentation prints them: REML, then DerSimonian and Laird."""
    ratios, variances = tuberculosis()
    found = pn.pool(ratios, variances)
    assert found.estimate[0] == pytest.approx(-0.7145, abs=5e-5)
    assert found.standard_errors[0] == pytest.approx(0.1798, abs=5e-5)
    assert found.heterogeneity.tau2[0] == pytest.approx(0.3132, abs=5e-5)
    assert found.heterogeneity.q == pytest.approx(152.2330, abs=5e-5)
    np.testing.assert_allclose(found.interval()[0], [-1.0669, -0.3622], atol=5e-5)
    moments = pn.pool(ratios, variances, rule="dersimonian-laird")
    assert moments.estimate[0] == pytest.approx(-0.7141, abs=5e-5)
    assert moments.heterogeneity.tau2[0] == pytest.approx(0.3088, abs=5e-5)
    assert moments.heterogeneity.i2 == pytest.approx(0.9212, abs=5e-5)


def test_two_outcomes_of_five_trials_are_as_published():
    found = pn.pool(BERKEY, BERKEY_COVARIANCES)
    np.testing.assert_allclose(found.estimate, [-0.3392, 0.3534], atol=5e-5)
    np.testing.assert_allclose(found.standard_errors, [0.0879, 0.0588], atol=6e-5)
    np.testing.assert_allclose(found.heterogeneity.tau2, [0.0327, 0.0117], atol=5e-5)
    between = found.heterogeneity.between
    assert between[0, 1] / np.sqrt(between[0, 0] * between[1, 1]) == pytest.approx(0.6088, abs=5e-5)


@pytest.mark.comparison
def test_one_parameter_is_as_in_statsmodels():
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    ratios, variances = tuberculosis()
    theirs = meta.combine_effects(ratios, variances, method_re="dl")
    ours = pn.pool(ratios, variances, rule="dersimonian-laird")
    assert ours.heterogeneity.tau2[0] == pytest.approx(theirs.tau2, rel=1e-10)
    assert ours.estimate[0] == pytest.approx(theirs.mean_effect_re, rel=1e-10)
    assert ours.standard_errors[0] == pytest.approx(theirs.sd_eff_w_re, rel=1e-10)
    fixed = pn.pool(ratios, variances, rule="fixed-effect")
    assert fixed.estimate[0] == pytest.approx(theirs.mean_effect_fe, rel=1e-10)
    assert fixed.standard_errors[0] == pytest.approx(theirs.sd_eff_w_fe, rel=1e-10)
    assert fixed.heterogeneity.q == pytest.approx(theirs.q, rel=1e-10)
    assert fixed.heterogeneity.i2 == pytest.approx(theirs.i2, rel=1e-10)


def test_restricted_likelihood_and_its_derivative_are_those_written_out():
    rng = np.random.default_rng(3)
    estimates, covariances = drawn(rng, np.array([[0.8, 0.3], [0.3, 0.5]]), 6)
    white = WhitenedEstimates(estimates, covariances, np.eye(2))
    between = np.array([[0.7, 0.2], [0.2, 0.9]])
    value, slope = restricted_log_likelihood_and_gradient(between, white)
    assert value == pytest.approx(literal_reml(estimates, covariances, between), rel=1e-12)
    for a, b in ((0, 0), (0, 1), (1, 1)):
        step = np.zeros((2, 2))
        step[a, b] = step[b, a] = 1e-5
        up = literal_reml(estimates, covariances, between + step)
        down = literal_reml(estimates, covariances, between - step)
        along = slope[a, b] * (1 if a == b else 2)
        assert along == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_covariance_between_subjects_is_more_likely(seed):
    rng = np.random.default_rng(seed)
    estimates, covariances = drawn(rng, np.diag([rng.uniform(0, 2), 0.0]), 12)
    found = pn.pool(estimates, covariances)
    top = literal_reml(estimates, covariances, found.heterogeneity.between)

    def loss(flat):
        root = np.array([[flat[0], 0.0], [flat[1], flat[2]]])
        return -literal_reml(estimates, covariances, root @ root.T)

    starts = rng.normal(size=(4, 3))
    best = max(-optimize.minimize(loss, s, method="Nelder-Mead", options={"maxiter": 4000}).fun
               for s in starts)  # fmt: skip
    assert top >= best - 1e-7
    white = WhitenedEstimates.from_estimates(estimates, covariances)
    assert is_reml_maximum(reml_covariance_and_convergence(white)[0], white)
    assert not is_reml_maximum(reml_covariance_and_convergence(white)[0] + 0.3 * np.eye(2), white)


@pytest.mark.parametrize("seed", range(12))
def test_subjects_known_to_a_thousandth_or_to_a_thousand_have_the_highest_peak(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    variances = 10.0 ** rng.uniform(-6, 6, (n, 1, 1))
    tau2 = 10.0 ** rng.uniform(-4, 4) * (seed % 3 > 0)
    estimates = rng.normal(size=(n, 1)) * np.sqrt(variances[:, 0] + tau2)
    white = WhitenedEstimates.from_estimates(estimates, variances)
    between, arrived = reml_covariance_and_convergence(white)
    assert arrived
    top, _ = restricted_log_likelihood_and_gradient(between, white)
    for size in np.append(0.0, 10.0 ** np.linspace(-6, 14, 300)):
        assert restricted_log_likelihood_and_gradient(np.array([[size]]), white)[0] <= top + 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_the_search_arrives_whatever_the_units_and_the_spread_of_errors(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    units = 10.0 ** rng.uniform(-7, 3, d)
    roots = rng.normal(size=(n, d, d + 1)) * 10.0 ** rng.uniform(-3, 3, (n, 1, 1))
    covariances = roots @ roots.transpose(0, 2, 1)
    estimates = np.einsum("sab,sb->sa", roots, rng.normal(size=(n, d + 1)))
    estimates += 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(n, d))
    found = pn.pool(estimates * units, covariances * np.outer(units, units))
    assert found.message == ""
    assert np.isfinite(found.standard_errors).all()


def test_moments_are_right_on_average():
    """E[Q] leads to Omega: over many draws the mean of the raw estimate is the truth."""
    rng = np.random.default_rng(1)
    between = np.array([[3.0, 1.0], [1.0, 2.0]])  # so large that nothing is cut off
    _, covariances = drawn(rng, between, 10)
    roots = np.linalg.cholesky(between + covariances)
    made = []
    for _ in range(2000):
        estimates = np.einsum("sab,sb->sa", roots, rng.normal(size=(10, 2)))
        white = WhitenedEstimates.from_estimates(estimates, covariances)
        made.append(white.unwhiten_covariance(dersimonian_laird(white)))
    error = np.std(made, axis=0) / np.sqrt(len(made))
    assert (np.abs(np.mean(made, axis=0) - between) < 4 * error + 0.02).all()


def test_subjects_who_are_alike_have_no_variance_between_them():
    estimates = np.array([[0.50, 1.0], [0.51, 1.1], [0.49, 0.95], [0.5, 1.02]])
    covariances = np.tile(np.array([[0.04, 0.01], [0.01, 0.3]]), (4, 1, 1))
    fixed = pn.pool(estimates, covariances, rule="fixed-effect")
    for rule in ("random-effects", "dersimonian-laird"):
        found = pn.pool(estimates, covariances, rule=rule)
        np.testing.assert_array_equal(found.heterogeneity.between, np.zeros((2, 2)))
        np.testing.assert_allclose(found.covariance, fixed.covariance, rtol=1e-9)
    assert fixed.heterogeneity.tau2 is None


def test_prediction_interval_adds_the_variance_between_subjects():
    ratios, variances = tuberculosis()
    found = pn.pool(ratios, variances)
    spread = np.sqrt(found.heterogeneity.tau2[0] + found.standard_errors[0] ** 2)
    half = stats.t.isf(0.05, 11) * spread
    centre = found.estimate[0]
    np.testing.assert_allclose(found.prediction_interval(0.9)[0], [centre - half, centre + half])
    two = pn.pool(ratios[:2], variances[:2])
    assert np.isnan(two.prediction_interval()).all()


@pytest.mark.slow
def test_intervals_cover_the_mean_of_the_population():
    rng = np.random.default_rng(6)
    between = np.array([[0.9, 0.4], [0.4, 0.6]])
    inside = np.zeros(2)
    n = 150
    for _ in range(n):
        found = pn.pool(*drawn(rng, between, 40)).interval(0.95)
        inside += (found[:, 0] < [1.5, -0.7]) & (found[:, 1] > [1.5, -0.7])
    # binomial bounds about .95, less a little as the normal interval is short with 40 subjects
    assert (inside / n > 0.88).all() and (inside / n < 0.995).all()
