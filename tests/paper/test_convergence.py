"""Summaries of replicates: those without an estimate are counted and never averaged."""

import numpy as np
import pytest

from penchant_paper.ensembles import Prefixes, convergence


@pytest.fixture
def estimates():
    """Three numbers of decisions, six replicates: none, four and six exist."""
    rng = np.random.default_rng(8)
    theta = rng.normal(3.0, 0.5, size=(3, 6, 2))
    covariance = np.tile(np.diag([0.2, 0.4]), (3, 6, 1, 1)) * rng.uniform(1, 2, (3, 6, 1, 1))
    exists = np.ones((3, 6), dtype=bool)
    exists[0] = False
    exists[1, [1, 4]] = False
    theta[~exists], covariance[~exists] = np.nan, np.nan
    return Prefixes(theta, covariance, exists)


def test_summaries_are_of_those_that_exist(estimates):
    found = convergence(estimates, np.array([3.0, 2.0]))
    assert found.missing.tolist() == [6, 2, 0]
    for k in (1, 2):
        mine = [r for r in range(6) if estimates.exists[k, r]]
        for a in range(2):
            values = [estimates.theta[k, r, a] for r in mine]
            errors = [np.sqrt(estimates.covariance[k, r, a, a]) for r in mine]
            assert found.mean[k, a] == pytest.approx(sum(values) / len(values))
            assert found.median[k, a] == pytest.approx(np.median(values))
            assert found.low[k, a] == pytest.approx(np.percentile(values, 2.5))
            assert found.high[k, a] == pytest.approx(np.percentile(values, 97.5))
            assert found.standard_error[k, a] == pytest.approx(np.median(errors))


def test_nothing_is_said_where_none_exists(estimates):
    found = convergence(estimates, np.array([3.0, 2.0]))
    for word in ("mean", "median", "low", "high", "standard_error", "coverage"):
        assert np.isnan(getattr(found, word)[0]).all()


def test_columns_have_a_row_per_number_of_decisions(estimates):
    columns = convergence(estimates, np.array([3.0, 2.0])).columns(("a", "b"))
    assert {len(values) for values in columns.values()} == {3}
    assert columns["missing"] == [6, 2, 0]
    assert columns["b_true"] == [2.0, 2.0, 2.0]
