"""Figures 2 and 3 in small, and their verdicts on made-up numbers both ways."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from penchant_paper.ensembles import Convergence, Ensemble, ensembles, sample_choices
from penchant_paper.figure_2_3 import (
    Asymptotics,
    Counterexample,
    claims_of_figure_2,
    claims_of_figure_3,
    counterexample,
    figure_2,
    figure_3,
    overlap,
)

N = np.arange(1, 301)
AT = (20, 30, 40, 49, 101, 150, 200, 300)


def _ideal(truth, n_replicates=4000):
    """Estimates exactly as the paper says: normal, and biased as theory has it."""
    truth = np.array(truth)
    errors = 5.0 * truth / 4 / np.sqrt(N)[:, None]
    bias = 8.0 * truth / 4 / N[:, None]
    shape = (len(N), len(truth))
    found = Convergence(
        n=N,
        n_replicates=100,
        truth=truth,
        missing=np.zeros(len(N), dtype=int),
        mean=truth + bias,
        median=np.broadcast_to(truth, shape),
        low=truth - 1.96 * errors,
        high=truth + 1.96 * errors,
        error_of_mean=errors / 10,
        standard_error=errors,
        coverage=np.full(shape, 0.95),
    )
    z = stats.norm.isf((np.arange(n_replicates) + 0.5) / n_replicates)[:, None]
    z = np.random.default_rng(1).permutation(z)
    drawn = tuple(
        Ensemble(
            n,
            truth,
            truth + bias[n - 1] + errors[n - 1] * z,
            np.tile(errors[n - 1], (n_replicates, 1)),
            np.zeros(n_replicates),
        )
        for n in AT
    )
    return found, Asymptotics(errors, bias), drawn


UPWARD = Counterexample(0.25, 0.30, 0.002, 0.05, 0.3, 0, 10_000)
DOWNWARD = Counterexample(0.25, 0.23, 0.002, -0.02, 0.3, 0, 10_000)


def _verdicts(claims):
    return [claim.verdict for claim in claims]


def test_all_claims_of_figure_2_hold_where_all_is_as_claimed():
    found, expected, drawn = _ideal([4.0])
    assert _verdicts(claims_of_figure_2(found, expected, drawn, UPWARD)) == ["holds"] * 6


@pytest.mark.parametrize(
    ("place", "change", "verdict"),
    [
        (0, lambda e: replace(e, theta=e.theta + 1.0), "does not hold"),
        (1, lambda e: replace(e, theta=e.theta + 3.0), "does not hold"),
        (1, lambda e: replace(e, theta=e.theta + 3.0 * (e.n < 200)), "holds in part"),
        (2, lambda e: replace(e, standard_errors=e.standard_errors / 2), "does not hold"),
        (3, lambda e: replace(e, theta=e.theta - 20 / e.n), "does not hold"),
        (5, lambda e: replace(e, theta=np.full_like(e.theta, np.nan)), "holds in part"),
    ],
)
def test_a_claim_of_figure_2_falls_with_its_numbers(place, change, verdict):
    found, expected, drawn = _ideal([4.0])
    changed = tuple(change(one) for one in drawn)
    assert _verdicts(claims_of_figure_2(found, expected, changed, UPWARD))[place] == verdict


def test_replicates_without_an_estimate_refute_that_the_algorithm_converges():
    found, expected, drawn = _ideal([4.0])
    lost = replace(found, missing=7 * (found.n < 9))
    claim = claims_of_figure_2(lost, expected, drawn, UPWARD)[5]
    assert claim.verdict == "holds in part"
    assert claim.conditions["an estimate exists for every n"] is False


def test_few_replicates_leave_overlap_and_coverage_open():
    found, expected, drawn = _ideal([4.0], n_replicates=60)
    verdicts = _verdicts(claims_of_figure_2(found, expected, drawn, UPWARD))
    assert verdicts[1:3] == ["not enough replicates to tell"] * 2


def test_a_downward_bias_refutes_the_explanation_once_it_is_sure():
    found, expected, drawn = _ideal([4.0])
    unsure = replace(DOWNWARD, error_of_mean=0.01)
    for other, verdict in (
        (DOWNWARD, "does not hold"),
        (unsure, "not enough replicates to tell"),
    ):
        claim = claims_of_figure_2(found, expected, drawn, other)[4]
        assert claim.verdict == verdict


def test_widths_in_proportion_make_the_claim_of_figure_3_hold():
    found, expected, drawn = _ideal([1.0, 2.0, 3.0])
    assert _verdicts(claims_of_figure_3(found, expected, drawn)) == ["holds"] * 4
    last = drawn[-1]
    centred = last.theta - last.theta.mean(axis=0)
    for factors, verdict in (
        ([6.0, 2.0, 1.0], "does not hold"),
        ([1.0, 0.6, 0.53], "holds in part"),
    ):
        other = replace(last, theta=last.truth + centred * factors)
        claims = claims_of_figure_3(found, expected, (*drawn[:-1], other))
        assert claims[2].verdict == verdict


def test_bands_that_are_equal_overlap_wholly_and_bands_apart_not_at_all():
    _, expected, drawn = _ideal([4.0], n_replicates=40_000)
    one = replace(drawn[4], theta=drawn[4].theta - drawn[4].theta.mean() + 4.0)
    error = float(expected.standard_errors[one.n - 1, 0])
    assert overlap(one, error)[0] == pytest.approx(1.0, abs=0.01)
    assert overlap(replace(one, theta=one.theta + 1e3), error)[0] == 0


def test_choices_are_drawn_with_softmax_probabilities():
    x = np.array([[[0.0], [1.0], [2.0]]])
    chosen = sample_choices(x, np.array([0.7]), 20_000, np.random.default_rng(1))
    p = np.exp([0.0, 0.7, 1.4]) / np.exp([0.0, 0.7, 1.4]).sum()
    shares = np.bincount(chosen.ravel(), minlength=3) / 20_000
    assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_an_ensemble_counts_replicates_without_an_estimate():
    x = np.random.default_rng(6).normal(size=(6, 4, 1))
    few, more = ensembles(
        x,
        np.array([3.0]),
        [2, 6],
        rng=np.random.default_rng(7),
        n_replicates=60,
        what="Test",
        threads=1,
    )
    assert 0 < (~more.exists).sum() < (~few.exists).sum() < 60
    assert np.isnan(few.theta[~few.exists]).all()
    assert len(few.covers) == few.exists.sum()


def test_the_counterexample_is_biased_downwards_as_predicted():
    found = counterexample(rng=np.random.default_rng(2), n_replicates=8_000)
    assert found.bias < -3 * found.error_of_mean
    assert found.excess_picked > 0  # larger options are picked more often all the same
    assert abs(found.bias - found.predicted_bias) < 4 * found.error_of_mean


@pytest.mark.slow
@pytest.mark.parametrize("make", [figure_2, figure_3])
def test_a_small_figure_converges_and_counts_what_is_missing(make):
    found = make(rng=np.random.default_rng(3), n_replicates=12, n_decisions=60)
    d = len(found.setting.truth)
    assert found.found.mean.shape == (60, d)
    assert found.found.missing[0] > 0
    assert found.found.missing[-1] == 0
    gap = np.abs(found.found.mean[-1] - found.setting.truth)
    assert (gap < 5 * found.expected.standard_errors[-1] / np.sqrt(12) + 0.5).all()
    (columns,) = found.tables().values()
    assert {len(values) for values in columns.values()} == {60}
    verdicts = {claim.statement: claim.verdict for claim in found.claims}
    assert verdicts["The problem is convex, so the algorithm will converge."] == "holds in part"
