"""Section V of the paper: simulations with one and three parameters.

A fixed design for each number of decisions, many draws of the choices. All statements about
estimates are given that the maximum exists.
"""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import reference
from penchant.softmax.prior import first_order_bias

pytestmark = pytest.mark.slow


def _repeated(n, m, theta, repeats, seed, fresh=False):
    """Fits of `repeats` draws of n decisions, as subjects of one call, and the choices."""
    rng = np.random.default_rng(seed)
    d = len(theta)
    designs = repeats if fresh else 1
    x = rng.normal(size=(designs, n, m, d))
    x = np.broadcast_to(x, (repeats, n, m, d)).reshape(repeats * n, m, d)
    subject = np.repeat(np.arange(repeats), n)
    sets = pn.Choices.from_arrays(np.ascontiguousarray(x), None, subject=subject)
    choices = pn.simulate(sets, theta, rng=rng)
    return pn.fit_each(choices), choices.subset(np.arange(n))


SETTINGS = [(10, (4.0,)), (100, (1.0, 2.0, 3.0))]


@pytest.mark.parametrize(("m", "theta"), SETTINGS)
@pytest.mark.parametrize("n", [50, 100, 200])
def test_intervals_cover_the_truth_as_often_as_they_say(m, theta, n):
    repeats = 600
    estimates, _ = _repeated(n, m, theta, repeats, seed=n + m)
    exists = np.array(estimates.status) == "converged"
    assert exists.sum() > 0.98 * repeats
    gap = np.abs(estimates.theta[exists] - theta)
    covered = (gap < stats.norm.ppf(0.975) * estimates.standard_errors[exists]).sum(axis=0)
    # binomial bounds at one in a thousand; Wald intervals of skewed estimates are off by O(1/n)
    low = stats.binom.ppf(0.001, exists.sum(), 0.95 - 0.5 / n)
    high = stats.binom.ppf(0.999, exists.sum(), 0.95 + 0.5 / n)
    assert ((covered >= low) & (covered <= high)).all(), covered / exists.sum()


@pytest.mark.parametrize(("m", "theta"), SETTINGS)
@pytest.mark.parametrize("n", [50, 100])
def test_the_bias_is_the_first_order_bias(m, theta, n):
    repeats = 1500
    estimates, design = _repeated(n, m, theta, repeats, seed=3 * n + m)
    exists = np.array(estimates.status) == "converged"
    found = estimates.theta[exists].mean(axis=0) - theta
    noise = estimates.theta[exists].std(axis=0) / np.sqrt(exists.sum())
    truth = np.array(theta)
    from_design = pn.fit(design, parameter_prior=pn.GaussianPrior(truth, 1e-12))
    information = np.linalg.inv(from_design.covariance) - 1e12 * np.eye(len(theta))
    expected = first_order_bias(truth, design, np.linalg.inv(information))
    # four Monte Carlo errors, and the next order: a fifth of the first at n = 50
    assert (np.abs(found - expected) < 4 * noise + 10 / n * np.abs(expected)).all()
    assert (found.sum() > 0) and (expected > 0).all()


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_one_parameter_is_separated_as_often_as_its_probabilities_say(n):
    # With one variable a sample is separated where all decisions take its largest value, or all
    # its smallest: a product of probabilities, different for every design (0.2 to 0.9 at n = 2).
    estimates, design = _repeated(n, 10, (4.0,), 800, seed=11 * n)
    x = design.explanatory.reshape(n, 10)
    p = np.array([reference.probabilities([4.0], row[:, None]) for row in x])
    rows = np.arange(n)
    share = p[rows, x.argmax(axis=1)].prod() + p[rows, x.argmin(axis=1)].prod()
    found = sum(status == "separated" for status in estimates.status)
    assert stats.binomtest(found, 800, share).pvalue > 1e-3  # fixed seed


@pytest.mark.parametrize(("n", "share"), [(1, 0.95), (2, 0.54), (3, 0.49), (5, 0.08), (8, 0.01)])
def test_three_parameters_are_separated_as_often_as_reported(n, share):
    # The reported shares are of 100 draws on one design each; here every draw has its own.
    repeats = 300
    estimates, _ = _repeated(n, 100, (1.0, 2.0, 3.0), repeats, seed=7 * n + 100, fresh=True)
    found = np.mean([s == "separated" for s in estimates.status])
    error = np.sqrt(share * (1 - share) / 100 + found * (1 - found) / repeats)
    assert abs(found - share) < 3.3 * error + 0.02, found
