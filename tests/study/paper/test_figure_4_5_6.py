"""Figures 4, 5 and 6 in small, and their verdicts on made-up numbers both ways."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import penchant as pn
from penchant.errors import PenchantWarning
from penchant.study.paper.convergence import Convergence
from penchant.study.paper.figure_4_5_6 import (
    estimable_plays,
    figure_4,
    figure_5,
    figure_6,
    linearized_prefixes,
)
from penchant.study.paper.figure_4_5_6_claims import claims_of_estimable, claims_of_separated
from penchant.study.paper.longer import LongerPlays
from penchant.study.paper.nominals import NominalComparison, compared_nominals
from penchant.study.paper.plays import ExactEstimates, beginnings, model_of, played
from penchant.study.paper.published import FIGURE_4, FIGURE_5, FIGURE_6

T = np.arange(1, 101)


@pytest.fixture(scope="module")
def plays():
    return played(FIGURE_4, rng=np.random.default_rng(11), n_replicates=3, n_decisions=100)


@pytest.mark.parametrize("setting", [FIGURE_4, FIGURE_5], ids=lambda s: s.name)
def test_linearised_beginnings_are_those_of_the_estimator(plays, setting):
    found = linearized_prefixes(setting, plays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for r, t in ((0, 100), (1, 40), (2, 73)):
            (play,) = beginnings([plays[r]], t)
            alone = pn.fit_linearized(play, model_of(setting), nominal=setting.nominal)
            np.testing.assert_allclose(found.theta[t - 1, r], alone.theta, rtol=1e-6)
            np.testing.assert_allclose(
                found.standard_errors[t - 1, r], alone.standard_errors, rtol=1e-6
            )


def test_nominal_points_are_compared_by_both_likelihoods(plays):
    found = compared_nominals(model_of(FIGURE_4), plays, FIGURE_4.nominal, FIGURE_5.nominal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        one, two = (
            pn.fit_linearized(plays[1], model_of(FIGURE_4), nominal=s.nominal)
            for s in (FIGURE_4, FIGURE_5)
        )
    assert found.linearized[1] == pytest.approx(one.log_likelihood - two.log_likelihood)
    if np.isfinite(found.exact[1]):
        gap = one.exact_log_likelihood - two.exact_log_likelihood
        assert found.exact[1] == pytest.approx(gap)


def test_disagreement_counts_plays_inside_the_model_only():
    found = NominalComparison(np.array([1.0, -1.0, 2.0, 1.0]), np.array([0.5, 0.5, np.nan, -3.0]))
    assert (found.comparable, found.disagree) == (3, 2)


def _ideal(setting):
    truth = np.array(setting.truth)
    errors = 0.2 * np.abs(truth) * 10 / np.sqrt(T)[:, None]
    shape = (len(T), 3)
    return Convergence(
        n=T,
        n_replicates=50,
        truth=truth,
        missing=np.zeros(len(T), dtype=int),
        mean=np.broadcast_to(truth, shape),
        median=np.broadcast_to(truth, shape),
        low=truth - errors,
        high=truth + errors,
        error_of_mean=errors / 7,
        standard_error=errors,
        coverage=np.full(shape, 0.95),
    )


EXACT = ExactEstimates(
    100, {"converged": 50}, np.tile([4.0, 200.0, 1.0], (50, 1)), np.ones((50, 3))
)
AGREE = NominalComparison(np.ones(50), np.ones(50))
USABLE = np.zeros(100, dtype=int)
VARIANCE = np.ones(50)


def _verdicts(claims):
    return [claim.verdict for claim in claims]


def test_all_claims_hold_where_all_is_as_claimed():
    claims = claims_of_estimable(FIGURE_4, _ideal(FIGURE_4), USABLE, VARIANCE, (EXACT,), AGREE)
    assert _verdicts(claims) == ["holds"] * 5


def test_claims_fall_with_their_numbers():
    found = _ideal(FIGURE_4)
    half = replace(found, mean=found.mean * [1.0, 1.0, 0.55])
    wide = replace(found, standard_error=found.standard_error * [1.0, 1.0, 90.0])
    against = NominalComparison(np.array([1.0, 1.0, -1.0]), np.array([1.0, 1.0, 1.0]))
    lost = NominalComparison(np.array([1.0]), np.array([-1.0]))
    arguments = (USABLE, VARIANCE, (EXACT,))
    verdicts = _verdicts(claims_of_estimable(FIGURE_4, half, *arguments, against))
    assert verdicts[1] == "holds in part"
    assert verdicts[4] == "holds in part"
    assert _verdicts(claims_of_estimable(FIGURE_4, wide, *arguments, lost))[2:5:2] == [
        "holds in part",
        "does not hold",
    ]
    poor = claims_of_estimable(FIGURE_4, found, USABLE + 20, 3 * VARIANCE, (EXACT,), AGREE)
    assert poor[3].verdict == "holds in part"
    assert dict(poor[3].parts) == {
        "theta1 converges": True,
        "nearly all estimates usable": False,
        "sigma0^2 within 10 %": False,
    }


def test_figure_6_holds_only_where_estimates_exist():
    found = _ideal(FIGURE_6)
    precise = LongerPlays(160, 50, np.abs(np.array(FIGURE_6.truth)) / 10)
    distinct = np.full(50, 60)
    good = claims_of_separated(FIGURE_6, found, EXACT, distinct, precise)
    assert _verdicts(good) == ["holds"] * 3
    none = replace(found, missing=np.full(100, 50))
    separated = replace(EXACT, statuses={"separated": 50}, values=np.empty((0, 3)))
    vague = LongerPlays(160, 50, np.abs(np.array(FIGURE_6.truth)) * [0.1, 90.0, 90.0])
    bad = claims_of_separated(FIGURE_6, none, separated, np.full(50, 100), vague)
    assert _verdicts(bad) == ["holds", "does not hold", "holds in part"]
    assert "The choices are separated" in bad[1].why
    assert "The choices are separated" not in good[1].why


@pytest.mark.slow
def test_figures_4_and_5_share_their_plays_and_recover_nu_and_mu():
    plays = estimable_plays(rng=np.random.default_rng(12), n_replicates=12)
    first, second = figure_4(plays), figure_5(plays)
    for found in (first, second):
        assert found.found.missing[-1] == 0
        relative = found.found.mean[-1] / found.found.truth
        assert (np.abs(relative[:2] - 1) < 0.25).all()
        assert set(found.tables()) == {found.name, f"{found.name}-exact"}
    assert first.exact is second.exact
    nu, mean, variance = first.exact[-1].medians
    assert abs(nu - 4) < 0.8
    assert abs(mean - 200) < 4
    assert 0.4 < variance < 2.5  # skewed: medians of twelve


@pytest.mark.slow
def test_figure_6_is_separated():
    found = figure_6(rng=np.random.default_rng(13), n_replicates=4)
    assert (found.found.missing == 4).all()
    assert found.exact[0].statuses == {"separated": 4}
    assert np.isnan(found.found.mean).all()
    assert found.claims[1].verdict == "does not hold"
    assert found.claims[1].evidence["without_repetition"] == 4
