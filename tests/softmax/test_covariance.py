"""Robust and clustered covariances."""

import numpy as np
import pytest

import penchant as pn
import reference
from made import case


def test_hc0_equals_the_sandwich():
    data = case()
    estimate = pn.fit(data.choices)
    expected = reference.hc0(estimate.theta, data.sets, data.chosen)
    np.testing.assert_allclose(estimate.robust().covariance, expected, rtol=1e-10)
    assert estimate.robust().covariance_kind == "robust (HC0)"


@pytest.mark.parametrize(("kind", "power"), [("frequency", 1), ("probability", 2)])
def test_frequency_and_probability_weights_enter_differently(kind, power):
    data = case(weighted=True)
    data.weight_kind = kind
    estimate = pn.fit(data.choices)
    expected = reference.hc0(estimate.theta, data.sets, data.chosen, data.weights, power)
    np.testing.assert_allclose(estimate.robust().covariance, expected, rtol=1e-10)


def test_a_frequency_of_two_is_a_decision_twice_for_the_sandwich_too():
    data = case(weighted=True)
    sets, chosen = [], []
    for x, c, w in zip(data.sets, data.chosen, data.weights, strict=True):
        sets += [x] * int(w)
        chosen += [c] * int(w)
    one = pn.fit(data.choices).robust()
    other = pn.fit(pn.Choices.from_arrays(sets, chosen)).robust()
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-10)


def test_clusters_sum_their_scores():
    data = case(weighted=True)
    cluster = [f"c{k % 7}" for k in range(37)]
    estimate = pn.fit(data.choices)
    expected = reference.clustered(estimate.theta, data.sets, data.chosen, cluster, data.weights)
    found = estimate.clustered(cluster)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)
    assert found.covariance_kind == "clustered"
    order = np.random.default_rng(1).permutation(37)
    turned = pn.fit(data.choices.subset(order)).clustered([cluster[k] for k in order])
    np.testing.assert_allclose(turned.covariance, expected, rtol=1e-9)


def test_every_decision_its_own_cluster_is_hc0():
    estimate = pn.fit(case().choices)
    np.testing.assert_allclose(
        estimate.clustered(np.arange(37)).covariance, estimate.robust().covariance, rtol=1e-12
    )


def test_subjects_are_the_clusters_unless_others_are_given():
    data = case()
    data.subject = [k % 5 for k in range(37)]
    estimate = pn.fit(data.choices, covariance="clustered")
    by_hand = pn.fit(data.choices).clustered([k % 5 for k in range(37)])
    np.testing.assert_array_equal(estimate.covariance, by_hand.covariance)


def test_a_sandwich_of_a_sandwich_is_the_same_sandwich():
    robust = pn.fit(case().choices).robust()
    np.testing.assert_allclose(robust.robust().covariance, robust.covariance, rtol=1e-12)


def test_clustering_a_robust_estimate_is_clustering_the_estimate():
    estimate = pn.fit(case().choices)
    cluster = np.arange(37) % 7
    np.testing.assert_allclose(
        estimate.robust().clustered(cluster).covariance,
        estimate.clustered(cluster).covariance,
        rtol=1e-12,
    )


def test_the_bias_does_not_depend_on_the_covariance_shown():
    estimate = pn.fit(case().choices)
    np.testing.assert_allclose(estimate.robust().bias, estimate.bias, rtol=1e-12)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ([1] * 36, r"cluster must have one label per decision \(37\)"),
        ([1] * 37, "cluster must name at least two clusters"),
        ([np.nan] * 37, "cluster must not be missing; got 37 missing, first at decision 0"),
        (
            ["a"] * 30 + [None] * 7,
            "got 7 missing, first at decision 30",
        ),
        (None, "cluster must be given where the choices have no subject"),
    ],
)
def test_clusters_that_are_none_are_refused(cluster, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(case().choices).clustered(cluster)
