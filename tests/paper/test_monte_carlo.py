"""Monte Carlo errors are those of repeated simulations."""

import numpy as np
import pytest

from penchant_paper.published import mean_of, median_of, quantile_of, share_of


@pytest.mark.parametrize(
    "found",
    [
        mean_of,
        median_of,
        lambda values: quantile_of(values, 0.025),
        lambda values: share_of(values > 1.0),
    ],
    ids=["mean", "median", "quantile", "share"],
)
def test_errors_are_the_spread_over_repeated_simulations(found):
    draws = np.random.default_rng(4).exponential(size=(400, 500))
    values, errors = np.array([found(row) for row in draws]).T
    assert np.median(errors) == pytest.approx(values.std(), rel=0.15)


@pytest.mark.parametrize("found", [mean_of, median_of, share_of])
def test_nothing_is_known_of_nothing(found):
    value, error = found(np.empty(0))
    assert np.isnan(value) and np.isinf(error)


def test_missing_replicates_are_left_out():
    assert mean_of([1.0, np.nan, 3.0, np.inf])[0] == 2.0


def test_a_share_of_all_or_none_is_not_certain():
    for yes in ([True] * 20, [False] * 20):
        assert 0.02 < share_of(yes)[1] < 0.06
