"""Pooling rules against closed forms, invariances, and subjects that cannot be averaged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import penchant as pn

RULES = ["mean-pooled", "mean-sample", "fixed-effect", "random-effects", "dersimonian-laird"]
UNITS = np.array([3e-2, 7.0, 6e-7])  # as unlike as those of Table I


def subjects(seed, n=7, d=3, between=1.0):
    """Estimates and covariances of subjects that differ, in unlike units."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, d, d + 2))
    units = np.resize(UNITS, d)
    covariances = roots @ roots.transpose(0, 2, 1) * np.outer(units, units)
    errors = np.array([rng.multivariate_normal(np.zeros(d), c / units / units[:, None])
                       for c in covariances])  # fmt: skip
    truth = np.array([2.0, -1.0, 0.5])[:d]
    return units * (truth + between * rng.normal(size=(n, d)) + errors), covariances


def test_mean_pooled_is_the_mean_with_the_summed_covariance_over_n_squared():
    estimates, covariances = subjects(1)
    found = pn.pool(estimates, covariances, rule="mean-pooled")
    np.testing.assert_allclose(found.estimate, sum(estimates) / 7, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, sum(covariances) / 49, rtol=1e-12)
    assert found.degrees_of_freedom == np.inf
    half = 1.959963984540054 * found.standard_errors
    expected = np.column_stack([found.estimate - half, found.estimate + half])
    np.testing.assert_allclose(found.interval(), expected, rtol=1e-12)


def test_mean_sample_is_the_mean_with_its_standard_error_and_student_intervals():
    estimates, _ = subjects(2)
    found = pn.pool(estimates, rule="mean-sample")
    spread = sum(np.outer(e - estimates.mean(0), e - estimates.mean(0)) for e in estimates) / 6
    np.testing.assert_allclose(found.covariance, spread / 7, rtol=1e-10)
    for a in range(3):
        error = stats.sem(estimates[:, a])
        expected = stats.t.interval(0.9, 6, loc=estimates[:, a].mean(), scale=error)
        np.testing.assert_allclose(found.interval(0.9)[a], expected, rtol=1e-10)
    assert found.heterogeneity is None


def test_fixed_effect_is_the_hand_formula():
    estimates, covariances = subjects(3)
    found = pn.pool(estimates, covariances, rule="fixed-effect")
    scaled = [np.linalg.inv(c / np.outer(UNITS, UNITS)) for c in covariances]
    pulled = sum(w @ (e / UNITS) for w, e in zip(scaled, estimates, strict=True))
    expected = np.linalg.solve(sum(scaled), pulled) * UNITS
    np.testing.assert_allclose(found.estimate, expected, rtol=1e-9)
    inverse = np.linalg.inv(sum(scaled)) * np.outer(UNITS, UNITS)
    np.testing.assert_allclose(found.covariance, inverse, rtol=1e-9, atol=1e-12 * inverse.max())


def test_two_numbers_by_hand():
    found = pn.pool([1.0, 2.0], [0.25, 1.0], rule="fixed-effect")
    assert found.estimate[0] == pytest.approx((4 * 1 + 1 * 2) / 5)
    assert found.standard_errors[0] == pytest.approx(np.sqrt(1 / 5))
    assert found.heterogeneity.q == pytest.approx(4 * 0.2**2 + 0.8**2)


@pytest.mark.parametrize("rule", RULES)
def test_one_subject_is_that_subject(rule):
    estimates, covariances = subjects(4, n=1)
    found = pn.pool(estimates, covariances, rule=rule, subjects=["ann"])
    np.testing.assert_allclose(found.estimate, estimates[0], rtol=1e-12)
    assert found.subjects == ("ann",) and found.n_subjects == 1
    assert found.heterogeneity is None
    if rule in ("mean-pooled", "fixed-effect"):
        np.testing.assert_allclose(found.covariance, covariances[0], rtol=1e-10)
        assert found.status == "estimated"
    else:
        assert np.isnan(found.covariance).all() and np.isnan(found.interval()).all()
        assert found.status == "one subject"
        assert "no standard error" in found.summary()


@pytest.mark.parametrize("rule", RULES)
def test_no_subject_is_said_and_nothing_is_invented(rule):
    found = pn.pool(np.full((2, 2), np.nan), np.ones((2, 2, 2)), rule=rule)
    assert (found.status, found.n_subjects) == ("no subjects", 0)
    assert np.isnan(found.estimate).all() and np.isnan(found.covariance).all()
    assert len(found.left_out) == 2
    json.dumps(found.to_dict(), allow_nan=False)
    assert "nothing to average" in found.summary()


@pytest.mark.parametrize("rule", RULES)
def test_equal_subjects_are_what_they_are(rule):
    """n equal estimates with equal C: mean as it is, covariance C / n (or none between)."""
    one = np.array([0.3, -2.0])
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    found = pn.pool(np.tile(one, (5, 1)), np.tile(covariance, (5, 1, 1)), rule=rule)
    np.testing.assert_allclose(found.estimate, one, rtol=1e-9)
    expected = 0 * covariance if rule == "mean-sample" else covariance / 5
    np.testing.assert_allclose(found.covariance, expected, atol=1e-9)
    assert found.heterogeneity.q == pytest.approx(0.0, abs=1e-12)
    assert found.heterogeneity.i2 == 0.0


@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 10_000))
def test_order_and_names_of_subjects_are_irrelevant(rule, seed):
    estimates, covariances = subjects(seed)
    order = np.random.default_rng(seed).permutation(7)
    one = pn.pool(estimates, covariances, rule=rule)
    other = pn.pool(estimates[order], covariances[order], rule=rule, subjects=list("abcdefg"))
    unit = one.standard_errors
    np.testing.assert_allclose(other.estimate / unit, one.estimate / unit, atol=1e-6)
    scale = np.outer(unit, unit)
    np.testing.assert_allclose(other.covariance / scale, one.covariance / scale, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 10_000))
def test_recombining_parameters_recombines_the_result(rule, seed):
    rng = np.random.default_rng(seed)
    estimates, covariances = subjects(seed)
    mix = (np.eye(3) + 0.4 * rng.normal(size=(3, 3))) @ np.diag(1 / UNITS)
    if np.linalg.cond(mix @ np.diag(UNITS)) > 50:
        return
    one = pn.pool(estimates, covariances, rule=rule)
    other = pn.pool(estimates @ mix.T, mix @ covariances @ mix.T, rule=rule)
    unit = other.standard_errors
    np.testing.assert_allclose(other.estimate / unit, mix @ one.estimate / unit, atol=1e-5)
    np.testing.assert_allclose(
        other.covariance / np.outer(unit, unit),
        mix @ one.covariance @ mix.T / np.outer(unit, unit),
        atol=1e-5,
    )
    assert other.heterogeneity.q == pytest.approx(one.heterogeneity.q, rel=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_a_subject_without_finite_numbers_is_listed_and_changes_nothing(rule):
    estimates, covariances = subjects(5)
    alone = pn.pool(estimates, covariances, rule=rule)
    worse = np.vstack([estimates, estimates[:3] + 1])
    worse[7, 1] = np.inf
    wider = np.concatenate([covariances, covariances[:3]])
    wider[8, 2, 2] = np.nan
    wider[9] = np.outer(UNITS, UNITS)  # of rank 1
    found = pn.pool(worse, wider, rule=rule, names=["nu", "mu", "delta"], subjects=range(10, 20))
    np.testing.assert_allclose(found.estimate, alone.estimate, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, alone.covariance, rtol=1e-12)
    assert [(left.subject, left.why) for left in found.left_out] == [
        (17, "no finite mu"),
        (18, "no finite covariance"),
        (19, "covariance not positive definite"),
    ]
    assert found.subjects == tuple(range(10, 17))
    assert "17 (no finite mu)" in found.summary()


def test_inputs_are_not_changed():
    estimates, covariances = subjects(6)
    before = estimates.copy(), covariances.copy()
    for rule in RULES:
        pn.pool(estimates, covariances, rule=rule)
    np.testing.assert_array_equal(estimates, before[0])
    np.testing.assert_array_equal(covariances, before[1])


def test_categories_are_pooled_one_by_one():
    estimates, covariances = subjects(8, n=9)
    labels = [("high", "A"), ("low", "A"), None] * 3
    found = pn.pool(estimates, covariances, categories=labels, rule="mean-pooled")
    assert list(found) == [("high", "A"), ("low", "A")]
    for i, label in enumerate(found):
        expected = pn.pool(estimates[i::3], covariances[i::3], rule="mean-pooled")
        np.testing.assert_allclose(found[label].estimate, expected.estimate)
        assert found[label].subjects == (i, i + 3, i + 6)
    table = found.to_frame(backend="pandas")
    assert list(table["category"]) == [("high", "A")] * 3 + [("low", "A")] * 3
    assert list(table["name"][:3]) == ["theta1", "theta2", "theta3"]
    assert len(found.to_dict()["categories"]) == 2 and "mean-pooled" in found.summary()
    with pytest.raises(
        pn.errors.DataError, match=r"categories must be one per subject \(9\); got 2"
    ):
        pn.pool(estimates, covariances, categories=["a", "b"])


def test_results_in_all_forms_hold_the_same_numbers():
    estimates, covariances = subjects(9)
    found = pn.pool(estimates, covariances)
    table = found.to_frame(level=0.9, backend="pandas")
    np.testing.assert_allclose(table["estimate"], found.estimate)
    np.testing.assert_allclose(table[["low", "high"]], found.interval(0.9))
    np.testing.assert_allclose(table["tau2"], np.diag(found.heterogeneity.between))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["parameters"][1]["estimate"] == found.estimate[1]
    assert document["heterogeneity"]["q"] == found.heterogeneity.q
    assert repr(found).startswith("<PopulationEstimate random-effects of 7 subjects: theta1=")
    assert found.summary() == str(found)
    assert "theta3" in found.to_latex() and "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        (([[1.0], [2.0]],), {}, "covariances must be given for rule 'random-effects'"),
        (([[1.0], [2.0]], [1, 1]), {"rule": "median"}, "rule must be one of mean-pooled"),
        (([[1.0], [2.0]], [1, 1]), {"rule": "fixed-efect"}, "Did you mean 'fixed-effect'"),
        (([[1.0], [2.0]], np.ones((2, 2, 2))), {}, r"covariances must have shape \(2, 1, 1\)"),
        (([[1.0], [2.0]], [1, 1]), {"subjects": ["a", "a"]}, "subjects must be there once each"),
        (([[1.0], [2.0]], [1, 1]), {"subjects": ["a"]}, "subjects and names must match"),
        (([[1.0], [2.0]], [1, 1]), {"scale": "log"}, "scale must be 'theta' or 'natural'"),
        (("people",), {}, "estimates must be fits or numbers; got str"),
        ((np.ones((2, 2, 2)),), {}, r"estimates must be \(n_subjects, n_parameters\)"),
        ((np.ones((1, 2)), [[[1.0, 0.3], [0.1, 1.0]]]), {}, "covariances must be symmetric"),
        (([[1.0], [2.0]], [1, 1]), {"rule": "joint"}, "must be of episodes"),
    ],
)
def test_bad_input_is_refused(arguments, options, match):
    with pytest.raises(pn.errors.DataError, match=match):
        pn.pool(*arguments, **options)


def test_a_published_table_keeps_what_it_does_not_say_unknown():
    found = pn.results.PopulationEstimate.from_summary(
        [0.4, -3.0], [0.1, 0.5], 12, names=["nu", "mu"]
    )
    assert np.isnan(found.covariance[0, 1])
    np.testing.assert_allclose(found.standard_errors, [0.1, 0.5])
    half = stats.t.isf(0.025, 11) * 0.1
    np.testing.assert_allclose(found.interval()[0], [0.4 - half, 0.4 + half])
    with pytest.raises(pn.errors.DataError, match="must be vectors of the same length"):
        pn.results.PopulationEstimate.from_summary([0.4], [0.0], 12)
    with pytest.raises(pn.errors.DataError, match="n_subjects must be at least 1"):
        pn.results.PopulationEstimate.from_summary([0.4], [0.1], 0)
    with pytest.raises(pn.errors.DataError, match="names must be one per estimate"):
        pn.results.PopulationEstimate.from_summary([0.4], [0.1], 5, names=["a", "b"])
    with pytest.raises(pn.errors.DataError, match="must have the variance between subjects"):
        found.prediction_interval()


def test_averages_that_may_be_off_say_so_and_why():
    theta = np.random.default_rng(2).normal(0, 0.1, size=(12, 1))
    vague = pn.pool(theta, np.full((12, 1, 1), 0.5))
    assert "much of how people differ in" in vague.caution
    assert "fit_population keeps everybody" in " ".join(vague.summary().split())
    sure = np.full((13, 1, 1), 1e-6)
    assert pn.pool(theta, sure[:12]).caution == ""
    left = pn.pool(np.vstack([theta, [[np.inf]]]), sure)
    assert "those left out are seldom like the others" in left.caution
    assert left.to_dict()["caution"] == left.caution
