"""What Section VII concludes, held against a study whose subjects are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penchant._typing import Vector
from penchant.population.comparison import Difference, GroupComparison
from penchant.study.paper.claims import Claim
from penchant.study.paper.length_scales import LengthScales
from penchant.study.paper.published import TABLES
from penchant.study.populations import LinearizedGroup
from penchant.study.study import Study
from penchant.study.subject_fit import Fitted

MOST = 0.9  # of the subjects classified as they were drawn
FACTOR = 2.0  # an estimate further from the truth than this tells nothing of it
SIGNIFICANT = 0.05
CORRELATED = 0.01  # correlation of neighbours that is more than none
SAME_FIT = 0.1  # log-units
ESTIMATED = ("converged", "weakly identified", "at a bound")

Truth = Mapping[str, Mapping[str, float]]


def claims_of_study(
    study: Study, drawn: Mapping[str, str], truth: Truth, scales: LengthScales
) -> tuple[Claim, ...]:
    """Categories, precision, Table II, differences between landscapes, length scale."""
    return (
        _categories(study, drawn),
        _precision(study),
        _table_2(study, truth),
        _matched(study),
        _length_scale(scales),
    )


def _categories(study: Study, drawn: Mapping[str, str]) -> Claim:
    found = {s: study.growth.of(s).category for s in study.subjects}
    right = {
        who: float(np.mean([found[s] == who for s in study.subjects if drawn[s] == who]))
        for who in ("high", "low")
    }
    margins = np.array([study.growth.of(s).category_margin for s in study.subjects])
    return Claim(
        "Section VII.A",
        "Performance can be classified by the growth of cumulative regret.",
        {f"drawn as {who}": share >= MOST for who, share in right.items()},
        f"Of agents drawn as high performers {right['high']:.0%} are classified as such, of low "
        f"ones {right['low']:.0%}; for {np.mean(margins < 2):.0%} of all subjects the curves of "
        "both categories fit within 2 units of AIC.",
        {"classified_as_drawn": right, "close_calls": float(np.mean(margins < 2))},
    )


def _precision(study: Study) -> Claim:
    errors = {
        column.group.label: float(column.theta.standard_errors[0] / abs(column.theta.estimate[0]))
        for column in study.linearized
    }
    high = [error for label, error in errors.items() if label.startswith("high")]
    low = [error for label, error in errors.items() if label.startswith("low")]
    likely = {c.group.label: c.mean_log_likelihood for c in study.linearized}
    printed = ", ".join(f"{c.log_likelihood:g} ({c.name})" for c in TABLES)
    return Claim(
        "Section VII.B, Table I",
        "The estimates are much more precise for high performance, and fit better.",
        {
            "smaller relative errors of theta1": bool(high and low and max(high) < min(low)),
            "higher log-likelihood": _all_above(likely),
        },
        "Relative standard errors of theta1: "
        + ", ".join(f"{error:.2g} ({label})" for label, error in errors.items())
        + "; mean log-likelihoods "
        + ", ".join(f"{value:.0f} ({label})" for label, value in likely.items())
        + f"; Table I has {printed}.",
        {"relative_errors": errors, "mean_log_likelihoods": likely},
    )


def _all_above(likely: Mapping[str, float]) -> bool:
    high = [value for label, value in likely.items() if label.startswith("high")]
    low = [value for label, value in likely.items() if label.startswith("low")]
    return bool(high and low and min(high) > max(low))


def _table_2(study: Study, truth: Truth) -> Claim:
    parts: dict[str, bool] = {}
    words = []
    variances: dict[str, float] = {}
    for column in study.linearized:
        true = truth[str(column.group.performance)]["prior_variance"]
        found = float(column.natural.estimate[2])
        variances[column.group.label] = found
        parts[column.group.label] = bool(true / FACTOR < found < true * FACTOR)
        words.append(f"{found:.3g} for {column.group.label} (true {true:g}, {_ratio(column)})")
    exact = _exact_variances(study)
    return Claim(
        "Section VII.B, Table II",
        "The prior variances sigma0^2 of Table II describe the subjects: much larger for high "
        "performance.",
        parts,
        "Linearised and averaged, sigma0^2 is "
        + "; ".join(words)
        + ". Exact maximum likelihood, median over subjects: "
        + ", ".join(f"{value:.3g} ({label})" for label, value in exact.items())
        + " ("
        + ", ".join(f"{count} {status}" for status, count in study.counts().items())
        + ").",
        {"linearised": variances, "exact_medians": exact, "exact_statuses": study.counts()},
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


def _matched(study: Study) -> Claim:
    linear = [
        d
        for comparison in study.linearized_tests
        for d in comparison.differences
        if d.first.startswith("high")
    ]
    exact = _between_landscapes(study.exact_tests)
    return Claim(
        "Section VII.B",
        "A significant difference between landscapes shows that high-performing subjects match "
        "their strategies to the landscape.",
        {
            f"{d.name}: agents who are alike do not differ": bool(d.p_value >= SIGNIFICANT)
            for d in linear
        }
        or {"both landscapes have high-performing subjects": False},
        "Here all high-performing agents have the same parameters. Welch's tests of the "
        "linearised estimates, as in the paper: "
        + (_tests(linear) or "none possible")
        + ". Of the exact estimates: "
        + (_tests(exact) or "none possible")
        + "; adjusted for the number of tests, at least "
        + f"{min((d.adjusted_p_value for d in exact), default=float('nan')):.2g}.",
        {
            "linearised_p_values": {d.name: d.p_value for d in linear},
            "exact_p_values": {d.name: d.p_value for d in exact},
        },
        (26,),
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


def _length_scale(scales: LengthScales) -> Claim:
    place = int(np.flatnonzero(scales.scales == 0.1)[0])
    correlation, change = float(scales.correlations[place]), float(scales.differences[place])
    return Claim(
        "Section VII.B",
        "Estimates for low performance (length scale 0.1) are fairly robust to the length scale.",
        {
            "the fit is that of length scale 0": change < SAME_FIT,
            "neighbours are correlated at 0.1, so that this is a finding": correlation > CORRELATED,
        },
        f"At 0.1 neighbouring options are correlated by e^-10 = {correlation:.1g}, which is none: "
        f"log-likelihoods differ from those at 0 by at most {change:.2g}. At length scale 1 they "
        f"differ by up to {scales.differences[-2]:.3g}.",
        {
            "length_scales": scales.scales.tolist(),
            "largest_change": scales.differences.tolist(),
        },
        (31,),
    )
