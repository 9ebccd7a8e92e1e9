"""Tests by rank that keep people of whom only a range is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from penchant.population.group_tests import welch_anova, welch_t_test
from penchant.population.rank_tests import (
    gehan_scores,
    rank_test,
    signed_rank_p_value,
    smallest_certain_differences,
)


def points(values):
    return np.column_stack([values, values])


def drawn(seed, *sizes, digits=6):
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(0.3 * i, 1 + 0.2 * i, n), digits) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("sizes", [(5, 9), (8, 7), (3, 4)])
def test_small_groups_of_points_have_mann_whitneys_exact_p_value(sizes):
    first, second = drawn(1, *sizes)
    found = rank_test([points(first), points(second)])
    known = stats.mannwhitneyu(first, second, method="exact")
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-12)
    assert found.superiority == pytest.approx(known.statistic / np.prod(sizes), rel=1e-12)
    assert found.n == sizes


@pytest.mark.parametrize("digits", [1, 6])
def test_larger_groups_of_points_have_the_usual_tests_with_ties(digits):
    groups = drawn(2, 31, 44, 27, digits=digits)
    two = rank_test([points(g) for g in groups[:2]])
    known = stats.mannwhitneyu(*groups[:2], use_continuity=False, method="asymptotic")
    assert two.p_value == pytest.approx(known.pvalue, rel=1e-10)
    three = rank_test([points(g) for g in groups])
    kruskal = stats.kruskal(*groups)
    assert three.statistic == pytest.approx(kruskal.statistic, rel=1e-10)
    assert three.p_value == pytest.approx(kruskal.pvalue, rel=1e-10)


def literal_scores(places):
    n = len(places)
    return [
        sum((places[i][0] > places[j][1]) - (places[i][1] < places[j][0]) for j in range(n))
        for i in range(n)
    ]


RANGE = st.tuples(st.integers(-4, 4), st.integers(0, 3)).map(lambda r: (r[0], r[0] + r[1]))


@given(st.lists(RANGE, min_size=2, max_size=9))
def test_scores_count_who_is_certainly_lower_and_higher(ranges):
    places = np.array(ranges, dtype=float)
    assert gehan_scores(places).tolist() == literal_scores(ranges)


@settings(deadline=None)
@given(st.lists(RANGE, min_size=3, max_size=6), st.lists(RANGE, min_size=2, max_size=6))
def test_swapping_groups_and_turning_the_scale_change_nothing_but_the_side(one, other):
    first, second = np.array(one, dtype=float), np.array(other, dtype=float)
    found, swapped = rank_test([first, second]), rank_test([second, first])
    turned = rank_test([-first[:, ::-1], -second[:, ::-1]])
    assert found.p_value == pytest.approx(swapped.p_value)
    assert found.p_value == pytest.approx(turned.p_value)
    assert found.superiority == pytest.approx(1 - swapped.superiority)
    assert found.superiority == pytest.approx(1 - turned.superiority)


def test_people_at_the_end_of_the_scale_rank_there_and_are_tied():
    first = np.array([[-np.inf, -np.inf]] * 4 + [[0.2, 0.2], [0.5, 0.5]])
    second = points(np.array([0.3, 0.7, 0.8, 1.1, 1.4]))
    found = rank_test([first, second])
    ranked = np.array([-9.0] * 4 + [0.2, 0.5])
    above = sum(a > b for a in ranked for b in second[:, 0])
    assert found.superiority == pytest.approx(above / 30)
    assert found.p_value < 0.05


def test_who_may_lie_anywhere_takes_no_part():
    first = np.array([[0.3, 0.3], [np.nan, np.nan], [0.5, 0.5]])
    second = points(np.array([0.1, 0.6]))
    assert rank_test([first, second]).n == (2, 2)
    assert np.isnan(rank_test([first[1:2], second]).p_value)


def test_the_least_certain_difference_is_what_pairs_are_ranked_by():
    first = np.array([[-np.inf, -np.inf], [0.4, 0.9], [0.4, 0.9], [2.0, 2.0], [-np.inf, -np.inf]])
    second = np.array([[0.3, 0.3], [0.1, 0.1], [0.5, 0.5], [np.nan, np.nan], [-np.inf, -np.inf]])
    found = smallest_certain_differences(first, second)
    np.testing.assert_allclose(found, [-np.inf, 0.3, 0.0, np.nan, 0.0])


def test_the_signed_rank_test_is_scipys_and_takes_infinite_differences():
    apart = np.random.default_rng(3).normal(0.4, 1, 14)
    known = stats.wilcoxon(apart).pvalue
    assert signed_rank_p_value(apart) == pytest.approx(known, rel=1e-12)
    largest = np.where(apart == np.abs(apart).max(), np.inf, apart)
    assert signed_rank_p_value(largest) == pytest.approx(known, rel=1e-12)
    assert np.isnan(signed_rank_p_value(np.array([0.0, np.nan])))


def test_the_signed_rank_test_of_few_tied_pairs_counts_all_signs():
    apart = np.array([0.5, -0.5, 1.0, 1.0, 0.0, 2.5, -1.0])
    assert signed_rank_p_value(apart) == pytest.approx(stats.wilcoxon(apart).pvalue, rel=1e-12)


def test_welchs_test_of_two_means_is_the_square_of_t():
    first, second = drawn(4, 9, 13)
    errors = [g.std(ddof=1) / np.sqrt(len(g)) for g in (first, second)]
    means = np.array([first.mean(), second.mean()])
    several = welch_anova(means, np.array(errors), np.array([8, 12]))
    two = welch_t_test(
        means[:1] - means[1:], (np.array(errors[:1]), np.array(errors[1:])), (8, 12), 0.95
    )
    assert several.statistic == pytest.approx(float(two.statistic[0]) ** 2, rel=1e-10)
    assert several.p_value == pytest.approx(float(two.p_value[0]), rel=1e-10)


def test_welchs_test_of_several_means_is_scipys():
    groups = drawn(5, 9, 13, 21)
    means = np.array([g.mean() for g in groups])
    errors = np.array([g.std(ddof=1) / np.sqrt(len(g)) for g in groups])
    found = welch_anova(means, errors, np.array([len(g) - 1 for g in groups]))
    known = stats.f_oneway(*groups, equal_var=False)
    assert found.statistic == pytest.approx(known.statistic, rel=1e-10)
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-10)
    blank = welch_anova(means, np.array([0.1, np.nan, 0.2]), np.array([8, 12, 20]))
    assert np.isnan(blank.p_value)
