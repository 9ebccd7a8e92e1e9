"""Bayesian model selection, against hand-computed cases and exact sums."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import penchant as pn
from penchant.workflow.model_selection import (
    exceedance_probabilities,
    free_energy,
    null_log_evidence,
)


def _certain(counts, gap=400.0):
    """Evidence that leaves no doubt about each person's model."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return np.where(np.arange(len(counts)) == owners[:, None], 0.0, -gap)


def _exact_evidence(evidence, alpha0=1.0):
    """log p(y) under Dirichlet(alpha0) frequencies: the sum over all assignments of models."""
    n, k = evidence.shape
    terms = []
    for owners in itertools.product(range(k), repeat=n):
        counts = np.bincount(owners, minlength=k)
        frequencies = special.gammaln(k * alpha0) - special.gammaln(k * alpha0 + n)
        frequencies += (special.gammaln(alpha0 + counts) - special.gammaln(alpha0)).sum()
        terms.append(frequencies + evidence[np.arange(n), owners].sum())
    return special.logsumexp(terms)


def test_people_of_known_models_are_counted():
    found = pn.results.select_models(_certain([5, 2, 1]))
    assert found.alpha == pytest.approx([6.0, 3.0, 2.0], abs=1e-9)
    assert found.frequencies == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert found.responsibilities == pytest.approx(np.eye(3)[[0] * 5 + [1] * 2 + [2]])


def test_with_known_models_the_omnibus_risk_is_a_ratio_of_multinomials():
    # p(y | equal) = 3^-8; p(y | unequal) = 2! 5! 2! 1! / 10!
    found = pn.results.select_models(_certain([5, 2, 1]))
    unequal = 2 * 120 * 2 / 3628800
    by_hand = 3.0**-8 / (3.0**-8 + unequal)
    assert found.equal_probability == pytest.approx(by_hand, rel=1e-8)
    protected = (1 - by_hand) * found.exceedance + by_hand / 3
    assert found.protected_exceedance == pytest.approx(protected)


def test_of_two_models_exceedance_is_the_beta_distribution():
    # Beta(3, 2): P(r > 1/2) = 1 - (6/16 + 1/16 - ...) = 11/16 by the binomial sum
    assert exceedance_probabilities(np.array([3.0, 2.0])) == pytest.approx([11 / 16, 5 / 16])
    assert exceedance_probabilities(np.array([7.3, 7.3])) == pytest.approx([0.5, 0.5])


@given(st.lists(st.floats(0.3, 60.0), min_size=3, max_size=5))
def test_exceedance_of_more_models_is_what_draws_show(alpha):
    alpha = np.array(alpha)
    found = exceedance_probabilities(alpha)
    drawn = np.random.default_rng(5).dirichlet(alpha, 20_000).argmax(axis=1)
    shares = np.bincount(drawn, minlength=len(alpha)) / 20_000
    assert found == pytest.approx(shares, abs=0.02)  # five standard errors of a share
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_third_model_that_is_never_the_largest_changes_nothing():
    # the share of the third is about 1e-6: the comparison of the others is that of two
    three = exceedance_probabilities(np.array([4.0, 6.0, 1e-5]))
    assert three[:2] == pytest.approx(exceedance_probabilities(np.array([4.0, 6.0])), abs=1e-4)


def test_exceedance_of_many_people_does_not_lose_its_sharp_edge():
    found = exceedance_probabilities(np.array([2000.0, 2040.0, 500.0]))
    # r_1 - r_2 is nearly normal: mean -40/4540, variance (a1 + a2) / A^2
    z = 40 / np.sqrt(4040)
    assert found[1] == pytest.approx(stats.norm.cdf(z), abs=2e-3)


def test_exceedance_does_not_depend_on_the_order_of_models():
    alpha = np.array([3.3, 1.2, 8.1, 5.0])
    order = [2, 0, 3, 1]
    assert exceedance_probabilities(alpha[order]) == pytest.approx(
        exceedance_probabilities(alpha)[order], abs=1e-9
    )


@given(st.integers(0, 1000), st.integers(2, 5), st.integers(2, 3))
def test_free_energy_is_a_lower_bound_near_the_exact_evidence(seed, n, k):
    evidence = np.random.default_rng(seed).normal(0.0, 3.0, (n, k))
    found = pn.results.select_models(evidence)
    bound = free_energy(evidence, found.alpha, found.responsibilities)
    exact = _exact_evidence(evidence)
    assert bound <= exact + 1e-9
    assert bound > exact - 0.5 * n


def test_the_evidence_of_equal_frequencies_is_a_product_of_means():
    evidence = np.log([[0.2, 0.4], [0.1, 0.5]])
    assert null_log_evidence(evidence) == pytest.approx(np.log(0.3 * 0.3))


def test_evidence_that_tells_nothing_leaves_all_as_likely():
    found = pn.results.select_models(np.zeros((6, 3)))
    assert found.exceedance == pytest.approx([1 / 3] * 3)
    assert found.protected_exceedance == pytest.approx([1 / 3] * 3)
    assert found.equal_probability > 0.5


@given(st.integers(0, 1000), st.floats(-1e4, 1e4))
def test_evidence_may_be_shifted_for_each_person(seed, shift):
    rng = np.random.default_rng(seed)
    evidence = rng.normal(0.0, 2.0, (7, 3))
    moved = evidence + shift * rng.random((7, 1))
    before, after = pn.results.select_models(evidence), pn.results.select_models(moved)
    assert after.alpha == pytest.approx(before.alpha, rel=1e-6)
    assert after.equal_probability == pytest.approx(before.equal_probability, abs=1e-6)


def test_tables_say_what_was_found():
    found = pn.results.select_models(_certain([9, 1]), ["learner", "habit"])
    assert "learner" in found.summary() and "protected" in found.summary()
    frame = found.to_frame(backend="pyarrow")
    assert frame.column("model").to_pylist() == ["learner", "habit"]
    assert repr(found).startswith("<ModelSelection: learner most frequent")


@pytest.mark.parametrize(
    ("evidence", "options", "words"),
    [
        ([1.0, 2.0], {}, r"log_evidence must have shape \(n_subjects, n_models\); got \(2,\)"),
        ([[0.0, -np.inf]], {}, "log_evidence must be finite; got -inf at person 0, model 1"),
        ([[0.0, 1.0]], {"names": ["a"]}, "names must be 2"),
        ([[0.0, 1.0]], {"prior_count": 0.0}, "prior_count must be > 0; got 0.0"),
    ],
)
def test_wrong_input_is_refused(evidence, options, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.results.select_models(evidence, **options)
