"""Tail probabilities against scipy.stats, in the middle and far out."""

import numpy as np
import pytest
from scipy import stats

from penchant import tail_probabilities

POINTS = np.array([-40.0, -3.3, -0.2, 0.0, 0.7, 1.96, 5.0, 12.0, 37.0])
TAILS = np.array([1e-300, 1e-12, 0.003, 0.025, 0.17, 0.5, 0.83, 0.999])
FREEDOM = np.array([0.7, 1.0, 2.5, 7.0, 89.0, 1234.5])


def _close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)  # the same functions, called directly


def test_normal_tails_and_points_are_those_of_scipy():
    _close(tail_probabilities.normal_sf(POINTS), stats.norm.sf(POINTS))
    _close(tail_probabilities.normal_isf(TAILS), stats.norm.isf(TAILS))


@pytest.mark.parametrize("df", FREEDOM)
def test_chi_square_tails_and_points_are_those_of_scipy(df):
    _close(tail_probabilities.chi_square_sf(POINTS, df), stats.chi2.sf(POINTS, df))
    _close(tail_probabilities.chi_square_isf(TAILS, df), stats.chi2.isf(TAILS, df))


@pytest.mark.parametrize("df", [*FREEDOM, np.inf])
def test_t_tails_and_points_are_those_of_scipy(df):
    _close(tail_probabilities.t_sf(POINTS, df), stats.t.sf(POINTS, df))
    _close(tail_probabilities.t_isf(TAILS[1:], df), stats.t.isf(TAILS[1:], df))


@pytest.mark.parametrize("df", FREEDOM)
def test_f_tails_are_those_of_scipy(df):
    _close(tail_probabilities.f_sf(POINTS, 3.0, df), stats.f.sf(POINTS, 3.0, df))


def test_what_is_not_a_number_stays_so():
    assert np.isnan(tail_probabilities.t_sf(np.nan, 3.0))
    assert np.isnan(tail_probabilities.chi_square_sf(np.nan, 3.0))
    assert np.isnan(tail_probabilities.t_isf(0.025, np.nan))
