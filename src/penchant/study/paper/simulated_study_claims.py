"""What Section VII concludes, held against a study whose subjects are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penchant._typing import Vector
from penchant.population.comparison import Difference, GroupComparison
from penchant.study.paper.alike import Alike
from penchant.study.paper.claims import Claim, Measured, Part
from penchant.study.paper.length_scales import NATURAL, LengthScales
from penchant.study.paper.monte_carlo import share_of
from penchant.study.paper.published import TABLES
from penchant.study.populations import LinearizedGroup
from penchant.study.study import Study
from penchant.study.subject_fit import Fitted

MOST = 0.9  # of the subjects classified as they were drawn
FACTOR = 2.0  # an estimate further from the truth than this tells nothing of it
ROBUST = 0.25  # relative change of an estimate that is fairly robust
CHANGED = {"low": (0.1, (0.05, 0.2)), "high": (4.0, (2.0, 8.0))}  # the paper's, halved and doubled
ESTIMATED = ("converged", "weakly identified", "at a bound")
SUBJECTS = "the choices of its subjects"

Truth = Mapping[str, Mapping[str, float]]


def claims_of_study(
    study: Study,
    drawn: Mapping[str, str],
    truth: Truth,
    scales: Mapping[str, LengthScales],
    studies: Alike,
) -> tuple[Claim, ...]:
    """Categories, Table II, differences between landscapes, length scale."""
    return (
        _categories(study, drawn),
        _table_2(study, truth),
        _matched(study, studies),
        _length_scale(scales),
    )


def _categories(study: Study, drawn: Mapping[str, str]) -> Claim:
    found = {s: study.growth.of(s).category for s in study.subjects}
    right = {
        who: share_of([found[s] == who for s in study.subjects if drawn[s] == who])
        for who in ("high", "low")
    }
    margins = np.array([study.growth.of(s).category_margin for s in study.subjects])
    likely = {c.group.label: c.mean_log_likelihood for c in study.linearized}
    printed = ", ".join(f"{c.log_likelihood:g} ({c.name})" for c in TABLES)
    return Claim(
        "Section VII.A",
        "Participants' performance can be classified by the growth of cumulative regret.",
        {
            f"share of agents drawn as {who} that are classified so": Measured(*share, low=MOST)
            for who, share in right.items()
        },
        "Of agents drawn as high performers "
        f"{right['high'][0]:.0%} ± {right['high'][1]:.0%} are classified as such, of low ones "
        f"{right['low'][0]:.0%} ± {right['low'][1]:.0%}; for {np.mean(margins < 2):.0%} of all the "
        "curves of both categories fit within 2 units of AIC. But the agents' parameters were "
        "chosen for this, on reconstructed landscapes: it says nothing of the subjects. Mean "
        "log-likelihoods are "
        + ", ".join(f"{value:.0f} ({label})" for label, value in likely.items())
        + f"; Table I has {printed}.",
        {
            "classified_as_drawn": {who: share for who, (share, _) in right.items()},
            "close_calls": float(np.mean(margins < 2)),
            "mean_log_likelihoods": likely,
        },
        untold=SUBJECTS,
    )


def _table_2(study: Study, truth: Truth) -> Claim:
    parts: dict[str, Part] = {}
    words = []
    values: dict[str, list[float]] = {}
    for column in study.linearized:
        label = column.group.label
        true = list(truth[str(column.group.performance)].values())[: len(NATURAL)]
        found, errors = column.natural.estimate, column.natural.standard_errors
        values[label] = found.tolist()
        for name, value, error, right in zip(NATURAL, found, errors, true, strict=True):
            parts[f"{label}: {name} over its true value"] = Measured(
                float(value / right), float(error / right), 1 / FACTOR, FACTOR
            )
        shown = ", ".join(
            f"{name} {value:.3g} (true {right:g})"
            for name, value, right in zip(NATURAL, found, true, strict=True)
        )
        words.append(f"{label}: {shown}, {_ratio(column)}")
    exact = _exact_variances(study)
    return Claim(
        "Section VII.B, Table II",
        "Table II presents the estimates in the original variables, in which they are directly "
        "comparable.",
        parts,
        "Agents whose parameters are known, linearised and averaged as in Table II. "
        + "; ".join(words)
        + ". Exact maximum likelihood, median sigma0^2 over subjects: "
        + ", ".join(f"{value:.3g} ({label})" for label, value in exact.items())
        + " ("
        + ", ".join(f"{count} {status}" for status, count in study.counts().items())
        + ").",
        {"linearised": values, "exact_medians": exact, "exact_statuses": study.counts()},
        (22, 23),
    )


def _ratio(column: LinearizedGroup) -> str:
    return f"deviation {column.ratio:.4g} nominal values"


def prior_variances(fits: Sequence[Fitted | None]) -> Vector:
    """sigma0^2 of those fits that have one; NaN for the others.

    An estimate at a bound counts: it is mostly the length scale that lies there, which cannot be
    told from 0 where neighbours are not correlated.
    """
    return np.array(
        [
            fit.natural[fit.natural_names.index("prior_variance")]
            if fit is not None and fit.status in ESTIMATED
            else np.nan
            for fit in fits
        ]
    )


def _exact_variances(study: Study) -> dict[str, float]:
    found = {}
    for group in study.groups:
        values = prior_variances([study.fits[subject].exact for subject in group.subjects])
        known = values[np.isfinite(values)]
        found[group.label] = float(np.median(known)) if len(known) else float("nan")
    return found


def _matched(study: Study, studies: Alike) -> Claim:
    exact = _between_landscapes(study.exact_tests)
    rejected = ", ".join(f"{share:.0%} ± {error:.0%}" for share, error in studies.rejected)
    return Claim(
        "Section VII.B",
        "The fitting procedure is able to distinguish that the high-performing subjects have "
        "strategies that are matched to the landscape.",
        {},
        "The procedure also distinguishes agents who are alike: all high-performing agents here "
        "have the same parameters on both landscapes, and Welch's tests of theta1, theta2, theta3, "
        f"as in the paper, are significant in {rejected} of {len(studies.p_values)} studies of its "
        "size, where 5 % would be due. Of the exact estimates of one study: "
        + (_tests(exact) or "none possible")
        + "; adjusted for the number of tests, at least "
        + f"{min((d.adjusted_p_value for d in exact), default=float('nan')):.2g}. The landscapes "
        "are reconstructions: whether the subjects did match theirs is not shown either way.",
        {
            "rejected": [share for share, _ in studies.rejected],
            "monte_carlo_error": [error for _, error in studies.rejected],
            "exact_p_values": {d.name: d.p_value for d in exact},
        },
        (26,),
        untold=SUBJECTS,
    )


def _between_landscapes(comparison: GroupComparison | None) -> list[Difference]:
    if comparison is None:
        return []
    return [
        d
        for d in comparison.differences
        if d.first.startswith("high") and d.second.startswith("high")
    ]


def _tests(differences: list[Difference]) -> str:
    return ", ".join(f"{d.name} p = {d.p_value:.2g}" for d in differences)


def _length_scale(scales: Mapping[str, LengthScales]) -> Claim:
    parts: dict[str, Part] = {}
    said = []
    for performance, (usual, others) in CHANGED.items():
        found = scales[performance]
        for other in others:
            changes = found.changes(usual, other)
            for name, change in zip(NATURAL, changes, strict=True):
                parts[
                    f"{performance}: change of {name} from length scale {usual:g} to {other:g}"
                ] = Measured(*change, high=ROBUST)
            shown = ", ".join(f"{v:.1%} ± {e:.1%}" for v, e in changes)
            said.append(f"{shown} from {usual:g} to {other:g} ({performance})")
    low = scales["low"]
    widest = low.changes(0.1, 1.0)
    return Claim(
        "Section VII.B",
        "The estimates for each performance category were fairly robust to changes in the value "
        "of lambda.",
        parts,
        f"Of {low.theta.shape[1]} agents of either category, population estimates of nu, mu0 and "
        "sigma0^2 change by "
        + "; ".join(said)
        + ". For low performance that is automatic: at 0.1 neighbouring options are correlated by "
        f"e^-10 = {float(np.exp(-10)):.1g}, which is none. From there to 1 they change by "
        + ", ".join(f"{v:.0%}" for v, _ in widest)
        + ". For high performance sigma0^2 stays at a third of its nominal value.",
        {
            performance: {
                "length_scales": found.scales.tolist(),
                "natural": found.natural.tolist(),
                "best": found.best,
            }
            for performance, found in scales.items()
        },
        (31,),
    )
