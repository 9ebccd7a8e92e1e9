"""Figures 2 and 3 in small, and their verdicts on made-up numbers both ways."""

from dataclasses import replace

import numpy as np
import pytest

from penchant.study.paper.convergence import Convergence
from penchant.study.paper.counterexample import Counterexample, counterexample
from penchant.study.paper.figure_2_3 import drawn, figure_2, figure_3
from penchant.study.paper.figure_2_3_claims import (
    claims_of_figure_2,
    claims_of_figure_3,
    least_overlap,
    overlap,
)
from penchant.study.paper.information import Asymptotics

N = np.arange(1, 301)


def _ideal(truth):
    """Estimates exactly as the paper says: normal, and biased as theory has it."""
    truth = np.array(truth)
    errors = 5.0 * np.ones_like(truth) / np.sqrt(N)[:, None]
    bias = 8.0 * truth / N[:, None]
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
    return found, Asymptotics(errors, bias)


UPWARD = Counterexample(0.25, 0.30, 0.002, 0.05, 0.3, 0, 10_000)
DOWNWARD = Counterexample(0.25, 0.23, 0.002, -0.02, 0.3, 0, 10_000)


def _verdicts(claims):
    return [claim.verdict for claim in claims]


def test_all_claims_of_figure_2_hold_where_all_is_as_claimed():
    found, expected = _ideal([4.0])
    assert _verdicts(claims_of_figure_2(found, expected, UPWARD)) == ["holds"] * 6


@pytest.mark.parametrize(
    ("place", "change", "verdict"),
    [
        (0, {"mean": lambda f: f.mean + 1.0}, "does not hold"),
        (1, {"high": lambda f: f.high + 3.0}, "does not hold"),
        (1, {"high": lambda f: f.high + 3.0 * (f.n < 200)[:, None]}, "holds in part"),
        (2, {"coverage": lambda f: f.coverage - 0.1}, "does not hold"),
        (3, {"mean": lambda f: f.truth - 32 / f.n[:, None]}, "does not hold"),
        (5, {"missing": lambda f: f.missing + 7 * (f.n < 9)}, "holds in part"),
        (5, {"missing": lambda f: f.missing + 7}, "does not hold"),
    ],
)
def test_a_claim_of_figure_2_falls_with_its_numbers(place, change, verdict):
    found, expected = _ideal([4.0])
    changed = replace(found, **{name: make(found) for name, make in change.items()})
    assert _verdicts(claims_of_figure_2(changed, expected, UPWARD))[place] == verdict


def test_a_downward_bias_refutes_the_explanation():
    found, expected = _ideal([4.0])
    assert _verdicts(claims_of_figure_2(found, expected, DOWNWARD))[4] == "does not hold"


def test_widths_in_proportion_make_the_claim_of_figure_3_hold():
    found, expected = _ideal([1.0, 2.0, 3.0])
    assert _verdicts(claims_of_figure_3(found, expected))[2] == "does not hold"  # all the same
    grown = replace(expected, standard_errors=expected.standard_errors * [1.0, 1.2, 1.6])
    assert _verdicts(claims_of_figure_3(found, grown))[2] == "holds in part"
    scaled = replace(expected, standard_errors=expected.standard_errors * found.truth)
    assert _verdicts(claims_of_figure_3(found, scaled)) == ["holds"] * 4


def test_bands_that_are_equal_overlap_wholly_and_bands_apart_not_at_all():
    found, expected = _ideal([4.0])
    np.testing.assert_allclose(overlap(found, expected), 1.0, rtol=1e-4)
    apart = replace(found, low=found.low + 1e3, high=found.high + 1e3)
    assert (overlap(apart, expected) == 0).all()


def test_more_replicates_must_overlap_more():
    few, some, many = (least_overlap(n) for n in (20, 100, 1000))
    assert 0.5 < few < some < many < 1


def test_choices_are_drawn_with_softmax_probabilities():
    x = np.array([[[0.0], [1.0], [2.0]]])
    chosen = drawn(x, np.array([0.7]), 20_000, np.random.default_rng(1))
    p = np.exp([0.0, 0.7, 1.4]) / np.exp([0.0, 0.7, 1.4]).sum()
    shares = np.bincount(chosen.ravel(), minlength=3) / 20_000
    assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_the_counterexample_is_biased_downwards_as_predicted():
    found = counterexample(rng=np.random.default_rng(2), n_replicates=8_000)
    assert found.is_downward
    assert found.excess_picked > 0  # larger options are picked more often all the same
    assert abs(found.bias - found.predicted_bias) < 4 * found.error_of_mean


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
