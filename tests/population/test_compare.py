"""Tests between groups: scipy, statsmodels, closed forms, levels under the null hypothesis."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gamma

import penchant as pn
from penchant.population.group_tests import SpreadWithinGroups, hedges_g, joint_difference_test

SPREAD = np.array([[1.0, 0.3, -0.2], [0.0, 2.0, 0.5], [0.0, 0.0, 0.7]])


def groups(seed, n=17, m=53, shift=0.0, d=3):
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, 3)) @ SPREAD + [1.0, -2.0, 0.4]
    second = 2.2 * rng.normal(size=(m, 3)) @ SPREAD.T + [1.0 + shift, -2.0, 0.4]
    return first[:, :d], second[:, :d]


@given(seed=st.integers(0, 10_000), n=st.integers(2, 30), m=st.integers(2, 30))
def test_raw_estimates_give_welch_of_scipy(seed, n, m):
    first, second = groups(seed, n, m)
    found = pn.compare_groups({"A": first, "B": second}).differences
    for a, difference in enumerate(found):
        theirs = stats.ttest_ind(first[:, a], second[:, a], equal_var=False)
        assert difference.statistic == pytest.approx(theirs.statistic, rel=1e-10)
        assert difference.degrees_of_freedom == pytest.approx(theirs.df, rel=1e-10)
        assert difference.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        low, high = theirs.confidence_interval(0.95)
        assert (difference.low, difference.high) == pytest.approx((low, high), rel=1e-8)


def test_summaries_give_welch_of_scipy():
    means, sds, counts = (0.7, 0.2), (0.4, 0.9), (53, 17)
    populations = {
        label: pn.results.PopulationEstimate.from_summary([mean], [sd / np.sqrt(n)], n)
        for label, mean, sd, n in zip("AB", means, sds, counts, strict=True)
    }
    theirs = stats.ttest_ind_from_stats(
        means[0], sds[0], counts[0], means[1], sds[1], counts[1], equal_var=False
    )
    (found,) = pn.compare_groups(populations).differences
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-10)
    assert np.isnan(found.hedges_g)


def test_raw_estimates_and_their_mean_sample_population_give_the_same():
    first, second = groups(3)
    raw = pn.compare_groups({"A": first, "B": second})
    pooled = {k: pn.pool(v, rule="mean-sample") for k, v in (("A", first), ("B", second))}
    assert pn.compare_groups(pooled).to_dict() == raw.to_dict()


def test_model_based_errors_are_tested_against_the_normal_unless_asked_otherwise():
    rng = np.random.default_rng(2)
    first, second = groups(2)
    spread = {n: np.tile(np.diag(rng.uniform(0.5, 2.0, 3)), (n, 1, 1)) for n in (17, 53)}
    pooled = {
        "A": pn.pool(first, spread[17], rule="mean-pooled"),
        "B": pn.pool(second, spread[53], rule="mean-pooled"),
    }
    normal = pn.compare_groups(pooled).differences[0]
    assert normal.p_value == pytest.approx(2 * stats.norm.sf(abs(normal.statistic)), rel=1e-9)
    student = pn.compare_groups(pooled, degrees_of_freedom="subjects").differences[0]
    v, u = (p.covariance[0, 0] for p in pooled.values())
    df = (v + u) ** 2 / (v**2 / 16 + u**2 / 52)
    assert student.degrees_of_freedom == pytest.approx(df)
    assert student.p_value == pytest.approx(2 * stats.t.sf(abs(normal.statistic), df))
    joint = pn.compare_groups(pooled).joint[0].test
    total = pooled["A"].covariance + pooled["B"].covariance
    gap = pooled["A"].estimate - pooled["B"].estimate
    assert joint.kind == "chi-square"
    assert joint.statistic == pytest.approx(gap @ np.linalg.inv(total) @ gap)
    assert joint.p_value == pytest.approx(stats.chi2.sf(joint.statistic, 3))


def test_joint_test_of_one_parameter_is_welch():
    first, second = groups(5, d=1)
    found = pn.compare_groups({"A": first, "B": second})
    one, all_of_them = found.differences[0], found.joint[0].test
    assert all_of_them.kind == "F"
    assert all_of_them.statistic == pytest.approx(one.statistic**2)
    assert all_of_them.degrees_of_freedom == pytest.approx((1.0, one.degrees_of_freedom))
    assert all_of_them.p_value == pytest.approx(one.p_value)


def test_joint_test_is_krishnamoorthy_and_yu_written_out():
    first, second = groups(6, 12, 20)
    v, u = np.cov(first.T) / 12, np.cov(second.T) / 20
    inverse = np.linalg.inv(v + u)
    gap = first.mean(0) - second.mean(0)
    spread = 0.0
    for mine, n in ((v, 12), (u, 20)):
        share = mine @ inverse
        spread += (np.trace(share @ share) + np.trace(share) ** 2) / (n - 1)
    df = (3 + 9) / spread
    statistic = gap @ inverse @ gap * (df - 2) / (3 * df)
    found = pn.compare_groups({"A": first, "B": second}).joint[0].test
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.degrees_of_freedom == pytest.approx((3, df - 2), rel=1e-9)
    assert found.p_value == pytest.approx(stats.f.sf(statistic, 3, df - 2), rel=1e-9)


@given(seed=st.integers(0, 10_000))
def test_joint_test_does_not_depend_on_units_or_combinations(seed):
    first, second = groups(seed, 9, 14)
    mix = np.diag([1e-2, 1.0, 1e-7]) @ np.array([[1, 2, 0], [0, 1, 0], [1, 0, 1.0]])
    one = pn.compare_groups({"A": first, "B": second}).joint[0].test
    other = pn.compare_groups({"A": first @ mix.T, "B": second @ mix.T}).joint[0].test
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6)


@pytest.mark.slow
def test_tests_reject_a_true_hypothesis_as_often_as_they_say():
    n = 1500
    small = np.zeros(4)
    for seed in range(n):
        first, second = groups(seed, 10, 25)
        found = pn.compare_groups({"A": first, "B": second}, adjust="none")
        small[:3] += [d.p_value < 0.05 for d in found.differences]
        small[3] += found.joint[0].test.p_value < 0.05
    error = np.sqrt(0.05 * 0.95 / n)
    assert (np.abs(small / n - 0.05) < 4 * error).all()


def test_a_real_difference_is_found():
    found = pn.compare_groups(dict(zip("AB", groups(1, 60, 90, shift=4.0), strict=True)))
    assert found.of("theta1")[0].adjusted_p_value < 1e-6
    assert found.joint[0].test.p_value < 1e-6
    assert found.of("theta1")[0].high < 0


@pytest.mark.comparison
def test_hedges_g_is_the_formula_and_close_to_statsmodels():
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    first, second = groups(4, 12, 9)
    sds = first.std(0, ddof=1), second.std(0, ddof=1)
    gap = first.mean(0) - second.mean(0)
    found = hedges_g(gap, SpreadWithinGroups.of_groups(sds, (12, 9)), 0.9)
    pooled = np.sqrt((11 * sds[0] ** 2 + 8 * sds[1] ** 2) / 19)
    correction = gamma(9.5) / (np.sqrt(9.5) * gamma(9.0))
    np.testing.assert_allclose(found.hedges_g, correction * gap / pooled, rtol=1e-10)
    error = correction * np.sqrt(21 / 108 + (gap / pooled) ** 2 / 38)
    np.testing.assert_allclose(
        found.hedges_g_high - found.hedges_g, 1.6448536269514722 * error, rtol=1e-10
    )
    theirs, variance = meta.effectsize_smd(
        first.mean(0), sds[0], np.full(3, 12), second.mean(0), sds[1], np.full(3, 9)
    )
    np.testing.assert_allclose(found.hedges_g, theirs, rtol=1e-3)  # they approximate the correction
    np.testing.assert_allclose(error, np.sqrt(variance), rtol=0.06)  # and leave it out of this
    shown = pn.compare_groups({"A": first, "B": second}, level=0.9).differences
    np.testing.assert_allclose([d.hedges_g for d in shown], found.hedges_g, rtol=1e-9)
    np.testing.assert_allclose([d.hedges_g_low for d in shown], found.hedges_g_low, rtol=1e-9)


@pytest.mark.slow
def test_intervals_of_hedges_g_cover_it():
    rng = np.random.default_rng(3)
    inside, n = 0, 2000
    for _ in range(n):
        first, second = rng.normal(0.8, 1.0, 14), rng.normal(0.0, 1.0, 20)
        sds = np.array([first.std(ddof=1)]), np.array([second.std(ddof=1)])
        within = SpreadWithinGroups.of_groups(sds, (14, 20))
        found = hedges_g(np.array([first.mean() - second.mean()]), within, 0.95)
        inside += found.hedges_g_low[0] < 0.8 < found.hedges_g_high[0]
    assert abs(inside / n - 0.95) < 0.02


@pytest.mark.comparison
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")],
)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_values_are_those_of_statsmodels(ours, theirs, p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    expected = multitest.multipletests(p, method=theirs)[1]
    np.testing.assert_allclose(
        pn.results.adjusted_p_values(p, ours), expected, rtol=1e-12, atol=1e-300
    )


def test_a_test_that_could_not_be_done_does_not_count():
    found = pn.results.adjusted_p_values([0.01, np.nan, 0.04], "bonferroni")
    np.testing.assert_allclose(found, [0.02, np.nan, 0.08])
    np.testing.assert_allclose(pn.results.adjusted_p_values([0.01, 0.04], "none"), [0.01, 0.04])
    assert len(pn.results.adjusted_p_values([])) == 0
    with pytest.raises(pn.errors.DataError, match="adjust must be one of holm"):
        pn.results.adjusted_p_values([0.1], "sidak")
    with pytest.raises(pn.errors.DataError, match=r"p_values must lie between 0 and 1; got 1\.2"):
        pn.results.adjusted_p_values([0.1, 1.2])


def test_all_pairs_are_one_family():
    first, second = groups(7)
    third, _ = groups(8, 11, 5)
    found = pn.compare_groups({"A": first, "B": second, "C": third})
    assert [(d.first, d.second) for d in found.differences[::3]] == [
        ("A", "B"),
        ("A", "C"),
        ("B", "C"),
    ]
    given = [d.p_value for d in found.differences]
    expected = pn.results.adjusted_p_values(given)
    np.testing.assert_allclose([d.adjusted_p_value for d in found.differences], expected)
    one = pn.compare_groups({"A": first, "B": second, "C": third}, [("C", "A")])
    assert len(one.differences) == 3
    assert one.differences[0].difference == -found.differences[3].difference


def test_groups_without_enough_subjects_are_said_and_nothing_is_invented():
    first, second = groups(9)
    lost = np.full((4, 3), np.nan)
    found = pn.compare_groups({"A": first, "B": second[:1], "C": lost})
    assert all(np.isnan(d.p_value) and np.isnan(d.hedges_g) for d in found.differences)
    assert all(t.test.kind == "none" for t in found.joint)
    text = found.summary()
    assert "B: One subject tells nothing" in text and "C: No subject has a finite" in text
    json.dumps(found.to_dict(), allow_nan=False)
    few = pn.compare_groups({"A": first[:2], "B": second[:2]})
    assert "no joint test" in str(few.joint[0])
    again = pn.compare_groups({"A": first, "B": second[:1]}, degrees_of_freedom="subjects")
    assert np.isnan(again.differences[0].p_value)
    zero = joint_difference_test(np.ones(2), (np.eye(2), np.eye(2)), (3.0, 0.0))
    assert zero.note == "one subject tells nothing of how subjects differ"


def test_results_in_all_forms_hold_the_same_numbers():
    first, second = groups(10)
    found = pn.compare_groups({"A": first, "B": second})
    table = found.to_frame(backend="pandas")
    assert list(table["p_value"]) == [d.p_value for d in found.differences]
    assert list(table.columns[:4]) == ["first", "second", "name", "difference"]
    document = json.loads(json.dumps(found.to_dict()))
    assert document["differences"][2]["hedges_g"] == found.differences[2].hedges_g
    assert document["joint"][0]["test"]["p_value"] == found.joint[0].test.p_value
    assert "A - B\n  theta1" in found.summary() and "theta2" in found.to_latex()
    assert repr(found) == "<GroupComparison of A, B: 3 differences>"


def test_bad_input_is_refused():
    first, second = groups(11)
    with pytest.raises(pn.errors.DataError, match="groups must be at least two; got 1"):
        pn.compare_groups({"A": first})
    with pytest.raises(pn.errors.DataError, match="groups must have the same names"):
        pn.compare_groups({"A": first, "B": second[:, :2]})
    with pytest.raises(pn.errors.DataError, match="pairs must be of two groups among A, B"):
        pn.compare_groups({"A": first, "B": second}, [("A", "C")])
    with pytest.raises(pn.errors.DataError, match="degrees_of_freedom must be 'own' or 'subjects'"):
        pn.compare_groups({"A": first, "B": second}, degrees_of_freedom="none")
    with pytest.raises(pn.errors.DataError, match="level must lie between 0 and 1"):
        pn.compare_groups({"A": first, "B": second}, level=95)
    natural = pn.results.PopulationEstimate.from_summary([1, 2, 3], [1, 1, 1], 9, scale="natural")
    with pytest.raises(pn.errors.DataError, match="groups must have the same scale"):
        pn.compare_groups({"A": first, "B": natural})


def test_who_is_left_out_of_a_mean_is_named_with_how_many_of_how_many():
    first, second = groups(3, n=9, m=8)
    first[[2, 5]] = np.nan
    said = pn.compare_groups({"A": first, "B": second}).summary()
    assert "A: 7 subjects" in said
    assert "Left out of A, 2 of 9: 2 (no finite theta1, theta2, theta3), 5 (no finite" in said
    assert "Left out of B" not in said
