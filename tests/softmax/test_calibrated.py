"""Calibrated intervals of weights: against an exact enumeration."""

import numpy as np
import pytest
from scipy import special, stats

import penchant as pn
from penchant.errors import DataError


def exact_ends(taken, n, level=0.95):
    """Log-odds whose exact mid-p value of the likelihood ratio is 1 - level, by enumeration."""
    k = np.arange(n + 1)

    def ratio(counts, odds):
        p = special.expit(odds)
        at = special.xlogy(counts, p) + special.xlogy(n - counts, 1 - p)
        best = special.xlogy(counts, counts / n) + special.xlogy(n - counts, 1 - counts / n)
        return best - at

    def excess(odds):
        chance = stats.binom.pmf(k, n, special.expit(odds))
        others, own = ratio(k, odds), ratio(taken, odds)
        above, same = others > own + 1e-9, np.abs(others - own) <= 1e-9
        return chance[above].sum() + chance[same].sum() / 2 - (1 - level)

    odds = np.linspace(-8, 8, 3201)
    inside = odds[[excess(at) > 0 for at in odds]]
    return inside.min(), inside.max()


def tosses(taken, n):
    x = np.zeros((n, 2, 1))
    x[:, 1] = 1.0
    return pn.Choices.from_arrays(x, (np.arange(n) < taken).astype(int), names=["bias"])


@pytest.mark.parametrize("taken", [5, 9, 13])
def test_ends_are_those_of_an_exact_enumeration(taken):
    found = pn.fit(tosses(taken, 14)).interval(
        kind="calibrated", rng=np.random.default_rng(1), n_drawn=4999
    )
    # 5,000 draws and ends found to a tenth of the root of the likelihood ratio
    np.testing.assert_allclose(found[0], exact_ends(taken, 14), atol=0.12)


def test_separated_choices_have_a_bound_on_one_side():
    estimate = pn.fit(tosses(11, 11))
    assert estimate.status == "separated"
    ((low, high),) = estimate.interval(
        kind="calibrated", rng=np.random.default_rng(1), n_drawn=4999
    )
    assert high == np.inf
    np.testing.assert_allclose(low, exact_ends(11, 11)[0], atol=0.12)


def test_sets_of_different_sizes_and_options_not_on_offer_are_redrawn_as_they_are():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30, 4, 2))
    available = np.ones((30, 4), dtype=bool)
    available[::3, 2:] = False
    sets = pn.Choices.from_arrays(x, None, available=available, names=["gain", "risk"])
    estimate = pn.fit(pn.simulate(sets, [1.1, -0.7], rng=rng))
    found = estimate.interval(kind="calibrated", rng=np.random.default_rng(1))
    assert (found[:, 0] < estimate.theta).all() and (estimate.theta < found[:, 1]).all()
    np.testing.assert_allclose(found, estimate.interval(kind="profile"), atol=0.5)
    assert "Intervals: calibrated" in estimate.summary(
        kind="calibrated", rng=np.random.default_rng(1)
    )


def test_weighted_decisions_and_priors_are_refused():
    rng = np.random.default_rng(1)
    weighted = pn.Choices.from_arrays(
        tosses(5, 9).explanatory.reshape(9, 2, 1), [0, 1] * 4 + [0], weights=np.full(9, 2.0)
    )
    with pytest.raises(DataError, match="choices must count once each with kind='calibrated'"):
        pn.fit(weighted).interval(kind="calibrated", rng=rng)
    with pytest.raises(DataError, match="kind='calibrated' must have plain maximum likelihood"):
        pn.fit(tosses(5, 9), method="firth").interval(kind="calibrated", rng=rng)
