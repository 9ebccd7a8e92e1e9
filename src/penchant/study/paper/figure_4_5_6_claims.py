"""What the paper says of Figures 4, 5 and 6, held against a run."""

from __future__ import annotations

import numpy as np
from scipy import special

from penchant._typing import IntVector, Vector
from penchant.study.paper.claims import Claim
from penchant.study.paper.convergence import HALF_WIDTHS, Convergence
from penchant.study.paper.longer import LongerPlays
from penchant.study.paper.nominals import NominalComparison
from penchant.study.paper.plays import ExactEstimates
from penchant.study.paper.published import UCLSetting

CLOSE = 0.1  # relative error of a mean that has converged
EARLY = 30  # decisions after which the true value is said to be inside the interval
FEW = 0.05  # share of unusable estimates that one could overlook


def claims_of_estimable(
    setting: UCLSetting,
    found: Convergence,
    unusable: Vector,
    prior_variance: Vector,
    exact: tuple[ExactEstimates, ...],
    nominals: NominalComparison,
) -> tuple[Claim, ...]:
    """Claims of Figures 4 and 5."""
    return (
        _printed_truth(setting),
        _converges(found),
        _inside_early(found),
        _robust(setting, found, unusable, prior_variance, exact[-1]),
        _compare_by_likelihood(nominals),
    )


def claims_of_separated(
    setting: UCLSetting,
    found: Convergence,
    exact: ExactEstimates,
    distinct: IntVector,
    longer: LongerPlays,
) -> tuple[Claim, ...]:
    """Claims of Figure 6."""
    return (
        _printed_truth(setting),
        _has_estimates(found, exact, distinct),
        _more_data(found, longer),
    )


def _printed_truth(setting: UCLSetting) -> Claim:
    printed, truth = np.array(setting.printed_truth), np.array(setting.truth)
    gap = np.abs(printed / truth - 1.0)
    return Claim(
        f"Section VI.D, Figure {setting.name[-1]}",
        "The linearised objective has the true values theta = "
        + ", ".join(f"{v:g}" for v in printed)
        + ".",
        {f"theta{a + 1}": bool(g < 0.005) for a, g in enumerate(gap)},
        "Eq. (23) with noise variance 0.01 gives "
        + ", ".join(f"{v:.5g}" for v in truth)
        + "; the noise variance is not stated and follows from theta3.",
        {"truth": truth.tolist()},
    )


def _converges(found: Convergence) -> Claim:
    relative = found.mean[-1] / found.truth
    first, last = found.coverage[found.at(EARLY)], found.coverage[-1]
    parts = {f"theta{a + 1}": bool(abs(r - 1) < CLOSE) for a, r in enumerate(relative)}
    rest = " What linearisation leaves out does not vanish with data."
    return Claim(
        "Section VI.D",
        "The estimator converges to the true value of theta within the horizon T = 100.",
        parts,
        f"At T = {found.n[-1]} the means are "
        + ", ".join(f"{r:.0%}" for r in relative)
        + " of the true values, with 95 % intervals that hold the truth in "
        + ", ".join(f"{c:.0%}" for c in last)
        + f" of replicates ({', '.join(f'{c:.0%}' for c in first)} at t = {EARLY})."
        + ("" if all(parts.values()) else rest),
        {
            "mean_over_truth": relative.tolist(),
            "coverage": last.tolist(),
            f"coverage_at_{EARLY}": first.tolist(),
        },
        (30,),
    )


def _inside_early(found: Convergence) -> Claim:
    row = found.at(EARLY)
    half = HALF_WIDTHS * found.standard_error[row:]
    inside = np.asarray((np.abs(found.mean[row:] - found.truth) <= half).all(axis=0))
    size = half[0] / np.abs(found.truth)
    parts: dict[str, bool] = {}
    for a in range(len(found.truth)):
        parts[f"theta{a + 1} inside"] = bool(inside[a])
        parts[f"theta{a + 1}: the interval tells its sign"] = bool(size[a] < 1)
    return Claim(
        "Section VI.D",
        "The true value of the parameter is within the 95 % confidence interval after 30 observed "
        "choices, so the procedure can identify it in a statistically significant way.",
        parts,
        f"The interval around the mean holds the truth from t = {EARLY} on for "
        f"{int(inside.sum())} of {len(inside)} parameters, but at t = {EARLY} it reaches "
        + ", ".join(f"{s:.2g}" for s in size)
        + " times the true value to either side: where that is above 1 it tells nothing.",
        {"half_width_over_truth": size.tolist()},
        (30,),
    )


def _robust(
    setting: UCLSetting,
    found: Convergence,
    unusable: Vector,
    prior_variance: Vector,
    exact: ExactEstimates,
) -> Claim:
    existing = found.n_replicates - found.missing
    early, late = found.at(EARLY), len(found.n) - 1
    share = float(unusable[late] / max(existing[late], 1))
    median = float(np.median(prior_variance)) if len(prior_variance) else float("nan")
    truth = setting.prior.variance
    return Claim(
        "Section VI.D",
        "The procedure is at least somewhat robust to the choice of linearisation point.",
        {
            "theta1 converges": bool(abs(found.mean[-1, 0] / found.truth[0] - 1) < CLOSE),
            "nearly all estimates usable": share <= FEW,
            "sigma0^2 within 10 %": bool(abs(median / truth - 1) < CLOSE),
        },
        f"nu <= 0 or delta <= 0, outside the model, in {int(unusable[early])} of "
        f"{existing[early]} existing estimates at t = {EARLY} and in {int(unusable[late])} of "
        f"{existing[late]} at T = {found.n[late]}; the others map back to a median sigma0^2 of "
        f"{median:.3g} (true {truth:g}). Exact maximum likelihood, with no point to choose: "
        f"medians nu {exact.medians[0]:.3g}, mu0 {exact.medians[1]:.4g}, sigma0^2 "
        f"{exact.medians[2]:.3g}; {_statuses(exact)}.",
        {
            "unusable_early": int(unusable[early]),
            "unusable": int(unusable[late]),
            "median_prior_variance": median,
            "exact_medians": exact.medians.tolist(),
            "exact_coverage": exact.coverage.tolist(),
            "exact_statuses": exact.statuses,
        },
    )


def _compare_by_likelihood(nominals: NominalComparison) -> Claim:
    known, disagree = nominals.comparable, nominals.disagree
    return Claim(
        "Section VI.E",
        "Of two linearisation points the one with the higher likelihood is better.",
        {
            "the linearised likelihood mostly prefers the better point": 2 * disagree < known,
            "it always does": known > 0 and disagree == 0,
        },
        f"Of {known} plays where both linearised estimates lie inside the model, the linearised "
        f"likelihood prefers the point with the lower exact likelihood in {disagree}. Linearised "
        "likelihoods of different points belong to different models; only the exact one compares "
        "them.",
        {"comparable": known, "disagree": disagree},
        (27,),
    )


def _has_estimates(found: Convergence, exact: ExactEstimates, distinct: IntVector) -> Claim:
    n, horizon = found.n_replicates, int(found.n[-1])
    lost, early = int(found.missing[-1]), int(found.missing[found.at(EARLY)])
    separated = exact.statuses.get("separated", 0)
    supremum = -float(special.gammaln(horizon + 1))
    reason = (
        " The choices are separated: an agent who never repeats itself lets the likelihood rise "
        f"for ever towards that of drawing without replacement, -log({horizon}!) = "
        f"{supremum:.1f}. Widths and biases as printed are places where an optimiser stopped."
    )
    return Claim(
        "Section VI.D, Figure 6",
        "The estimate exists, with a confidence interval much wider than the parameter and a "
        "persistent bias of theta3.",
        {
            "most replicates have a linearised estimate": lost < n / 2,
            "most replicates have an exact estimate": separated < n / 2,
        },
        f"{early} of {n} replicates have no finite linearised estimate at t = {EARLY}, {lost} of "
        f"{n} at T = {horizon}, and {separated} of {n} no finite exact one; "
        f"{int((distinct == horizon).sum())} of {n} agents tried all {horizon} options."
        + (reason if lost >= n / 2 else ""),
        {
            "missing": lost,
            f"missing_at_{EARLY}": early,
            "exact_separated": separated,
            "without_repetition": int((distinct == horizon).sum()),
            "supremum": supremum,
        },
        (7,),
    )


def _more_data(found: Convergence, longer: LongerPlays) -> Claim:
    size = HALF_WIDTHS * longer.standard_errors / np.abs(found.truth)
    return Claim(
        "Section VI.D, Figure 6",
        "One must observe more data to shrink the confidence intervals and get precise estimates.",
        {f"theta{a + 1} within its own size": bool(s < 1) for a, s in enumerate(size)},
        f"With {longer.t} decisions, so that options are repeated, {longer.existing} of "
        f"{found.n_replicates} replicates have a finite linearised estimate; its 95 % interval "
        "reaches "
        + ", ".join(f"{s:.2g}" for s in size)
        + " times the true value to either side. Once an option was tried its reward says little "
        "of the prior.",
        {
            "decisions": longer.t,
            "existing": longer.existing,
            "half_width_over_truth": size.tolist(),
        },
        (7,),
    )


def _statuses(exact: ExactEstimates) -> str:
    return ", ".join(f"{count} {status}" for status, count in exact.statuses.items())
