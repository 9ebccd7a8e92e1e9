"""Figures 4, 5 and 6 in small, and their verdicts on made-up numbers both ways."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import penchant as pn
from penchant.errors import PenchantWarning
from penchant_paper.ensembles import Convergence, Ensemble
from penchant_paper.figure_4_5_6 import (
    claims_of_both,
    claims_of_estimable,
    claims_of_separated,
    estimable_plays,
    figure_4,
    figure_5,
    figure_6,
    linearized_prefixes,
)
from penchant_paper.plays import (
    ExactEstimates,
    LongerPlays,
    NominalComparison,
    Stopped,
    bfgs_stops,
    compare_nominals,
    first_decisions,
    linearized_ensembles,
    model_of,
    simulate_plays,
)
from penchant_paper.published import FIGURE_4, FIGURE_5, FIGURE_6
from penchant_paper.simulated_study import Growth

T = np.arange(1, 101)


@pytest.fixture(scope="module")
def plays():
    return simulate_plays(FIGURE_4, rng=np.random.default_rng(11), n_replicates=3, n_decisions=100)


@pytest.mark.parametrize("setting", [FIGURE_4, FIGURE_5], ids=lambda s: s.name)
def test_linearised_beginnings_are_those_of_the_estimator(plays, setting):
    found = linearized_prefixes(setting, plays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for r, t in ((0, 100), (1, 40), (2, 73)):
            (play,) = first_decisions([plays[r]], t)
            alone = pn.fit_linearized(play, model_of(setting), nominal=setting.nominal)
            np.testing.assert_allclose(found.theta[t - 1, r], alone.theta, rtol=1e-6)
            np.testing.assert_allclose(
                found.standard_errors[t - 1, r], alone.standard_errors, rtol=1e-6
            )


def test_many_plays_are_estimated_as_one_by_one(plays):
    (found,) = linearized_ensembles(FIGURE_5, plays, [60])
    whole = linearized_prefixes(FIGURE_5, plays)
    np.testing.assert_allclose(found.theta, whole.theta[59], rtol=1e-7)
    np.testing.assert_allclose(found.standard_errors, whole.standard_errors[59], rtol=1e-6)


def test_nominal_points_are_compared_by_both_likelihoods(plays):
    pairs = [(s, linearized_ensembles(s, plays, [100])[0]) for s in (FIGURE_4, FIGURE_5)]
    found = compare_nominals(plays, *pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for i in range(3):
            one, two = (
                pn.fit_linearized(plays[i], model_of(FIGURE_4), nominal=s.nominal)
                for s in (FIGURE_4, FIGURE_5)
            )
            gap = one.log_likelihood - two.log_likelihood
            assert found.linearized[i] == pytest.approx(gap, abs=1e-6)
            gap = one.validity.exact_log_likelihood - two.validity.exact_log_likelihood
            assert found.exact[i] == pytest.approx(gap, abs=1e-6, nan_ok=True)
            natural = [[p.estimate for p in fit.parameters] for fit in (one, two)]
            np.testing.assert_allclose(found.natural[:, i], natural, rtol=1e-5)


def test_agreement_is_of_plays_inside_the_model_only():
    natural = np.ones((2, 4, 3))
    natural[0, 2] = np.nan
    natural[1, 1, 2] = 3.0
    found = NominalComparison(
        np.array([1.0, -1.0, 2.0, 1.0]), np.array([0.5, 0.5, np.nan, -3.0]), natural
    )
    assert found.agrees.tolist() == [True, False, False]
    assert found.differences[:, 2].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert found.usable.sum(axis=1).tolist() == [3, 4]


def _ideal(setting, n_replicates=400):
    truth = np.array(setting.truth)
    z = np.random.default_rng(3).normal(size=(n_replicates, 3))
    return tuple(
        Ensemble(
            t,
            truth,
            truth + 0.2 * np.abs(truth) * z,
            np.tile(0.2 * np.abs(truth), (n_replicates, 1)),
            np.zeros(n_replicates),
        )
        for t in (30, 90, 100)
    )


def _few(drawn):
    return replace(
        drawn,
        theta=drawn.theta[:3],
        standard_errors=drawn.standard_errors[:3],
        log_likelihood=drawn.log_likelihood[:3],
    )


def _drawn(setting):
    truth = np.array(setting.truth)
    shape = (len(T), 3)
    return Convergence(
        n=T,
        n_replicates=50,
        truth=truth,
        missing=np.zeros(len(T), dtype=int),
        mean=np.broadcast_to(truth, shape),
        median=np.broadcast_to(truth, shape),
        low=truth - np.abs(truth),
        high=truth + np.abs(truth),
        error_of_mean=np.ones(shape),
        standard_error=np.ones(shape),
        coverage=np.full(shape, 0.95),
    )


EXACT = ExactEstimates(
    100, {"converged": 50}, np.tile([4.0, 200.0, 1.0], (50, 1)), np.ones((50, 3))
)
ALIKE = np.tile([4.0, 200.0, 1.0], (2, 400, 1))
AGREE = NominalComparison(np.ones(400), np.ones(400), ALIKE)
GROWTH = (Growth("A", 60.0, (0.1, 0.02), (0.8, 0.02)),)


def _verdicts(claims):
    return [claim.verdict for claim in claims]


def test_all_claims_hold_where_all_is_as_claimed():
    assert _verdicts(claims_of_estimable(FIGURE_4, _ideal(FIGURE_4))) == ["holds"] * 4
    assert _verdicts(claims_of_both(AGREE, EXACT, GROWTH)) == [
        "holds",
        "holds",
        "cannot be told from the paper",
    ]


@pytest.mark.parametrize(
    ("place", "change", "verdict"),
    [
        (1, lambda e: replace(e, theta=e.theta * [1, 1, 0.55]), "holds in part"),
        (1, lambda e: _few(e), "not enough replicates to tell"),
        (2, lambda e: replace(e, theta=e.theta * [1, 1, 3]), "holds in part"),
        (2, lambda e: replace(e, theta=e.theta * 3), "does not hold"),
        (3, lambda e: replace(e, standard_errors=e.standard_errors * [1, 1, 90]), "holds in part"),
    ],
)
def test_claims_fall_with_their_numbers(place, change, verdict):
    many = tuple(change(e) for e in _ideal(FIGURE_4))
    assert _verdicts(claims_of_estimable(FIGURE_4, many))[place] == verdict


def test_significance_is_that_of_the_ninety_choices_it_is_claimed_for():
    early, late, last = _ideal(FIGURE_4)
    vague = replace(early, standard_errors=early.standard_errors * 90)
    claim = claims_of_estimable(FIGURE_4, (vague, late, last))[3]
    assert claim.verdict == "holds"
    assert claim.statement.startswith("With 90 choices")


def test_robustness_and_likelihood_are_judged_once_for_both_points():
    apart = ALIKE.copy()
    apart[1, :, 2] = 0.5
    mostly = np.where(np.arange(400) < 280, 1.0, -1.0)
    for comparison, verdicts in (
        (replace(AGREE, natural=apart), ["holds in part", "holds"]),
        (replace(AGREE, linearized=mostly), ["holds", "holds in part"]),
        (replace(AGREE, linearized=-np.ones(400)), ["holds", "does not hold"]),
    ):
        assert _verdicts(claims_of_both(comparison, EXACT, GROWTH))[:2] == verdicts


def _bfgs(n):
    return Stopped(
        np.array([50, 100]),
        np.zeros((2, n, 3)),
        np.full((2, n, 3), 1e12),
        np.full((2, n), -363.7394),
        np.ones((2, n), dtype=bool),
    )


def test_figure_6_holds_only_where_estimates_exist():
    found = _drawn(FIGURE_6)
    size = np.abs(np.array(FIGURE_6.truth))
    precise = LongerPlays(160, np.tile(size / 10, (50, 1)))
    arguments = (_bfgs(50), np.full(50, 60))
    good = claims_of_separated(FIGURE_6, found, EXACT, *arguments, precise, GROWTH)
    assert _verdicts(good)[:3] == ["holds"] * 3
    none = replace(found, missing=np.full(100, 50))
    separated = replace(EXACT, statuses={"separated": 50}, values=np.empty((0, 3)))
    vague = LongerPlays(160, np.tile(size * [0.1, 90.0, 90.0], (50, 1)))
    bad = claims_of_separated(FIGURE_6, none, separated, *arguments, vague, GROWTH)
    assert _verdicts(bad)[:3] == ["holds", "does not hold", "holds in part"]
    assert "The choices are separated" in bad[1].why
    assert "reports success in 50 of 50 replicates at T = 100, at -363.7394" in bad[1].why
    assert "The choices are separated" not in good[1].why


def test_regret_on_a_landscape_that_the_paper_does_not_state_is_not_judged():
    claim = claims_of_both(AGREE, EXACT, GROWTH)[2]
    assert claim.statement.startswith("The parameters (200, 1, 1, 4) result in high performance")
    assert claim.untold == "the landscape and the rewards of the simulations"
    assert "10% ± 2% on A with rewards of up to 60" in claim.why


def test_bfgs_reports_success_where_there_is_no_maximum():
    x = np.random.default_rng(5).normal(size=(2, 12, 4, 2)) * [1.0, 1e5]
    larger = x[..., 1].argmax(axis=2)
    found = bfgs_stops(x, larger, [6, 12])
    assert found.success.all()
    assert (found.log_likelihood > -1e-3).all()  # the supremum, 0, is not reached
    assert (found.standard_errors[..., 0] > 10).all()
    columns = found.columns(("theta1", "theta2"))
    assert columns["success"] == [2, 2]
    drawn = np.random.default_rng(6).integers(4, size=(2, 12))
    own = pn.fit(pn.Choices.from_arrays(x[0, :, :, :1], drawn[0]))
    same = bfgs_stops(x[:1, :, :, :1], drawn[:1], [12])
    np.testing.assert_allclose(same.theta[0, 0], own.theta, atol=1e-4)
    np.testing.assert_allclose(same.standard_errors[0, 0], own.standard_errors, rtol=1e-3)


@pytest.mark.slow
def test_figures_4_and_5_share_their_plays_and_recover_nu_and_mu():
    plays = estimable_plays(rng=np.random.default_rng(12), n_replicates=12)
    first, second = figure_4(plays), figure_5(plays)
    for found in (first, second):
        assert found.found.missing[-1] == 0
        relative = found.found.mean[-1] / found.found.truth
        assert (np.abs(relative[:2] - 1) < 0.25).all()
        assert set(found.tables()) == {found.name, f"{found.name}-exact"}
        assert found.settings["replicates that decide"] == 72
    statements = [claim.statement for claim in (*first.claims, *second.claims)]
    assert sum("linearisation point" in said for said in statements) == 2  # once each, not twice
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
    assert found.claims[1].verdict != "holds"
    assert found.claims[1].evidence["without_repetition"] == 4
    assert found.claims[1].evidence["bfgs_success"] == 4
    assert found.claims[1].evidence["bfgs_log_likelihood"] == pytest.approx(-363.7394, abs=1e-4)
    assert found.claims[1].evidence["bfgs_standard_errors"][0] > 1e11
