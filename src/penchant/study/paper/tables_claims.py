"""What the paper says of Tables I and II, held against their own numbers and against agents."""

from __future__ import annotations

import numpy as np

from penchant.population.comparison import Difference
from penchant.study.paper.artefact import Artefact
from penchant.study.paper.claims import Claim
from penchant.study.paper.mapped_back import MappedBack
from penchant.study.paper.published import EXPERIMENT_DECISIONS, GRID, NOMINALS, TABLES

CLOSE = 0.02  # Table II from Table I
SIGNIFICANT = 0.05
APART = 0.1  # relative difference of estimates that tell the subjects apart


def claims_of_tables(
    mapped: tuple[MappedBack, ...], differences: tuple[Difference, ...], shown: Artefact
) -> tuple[Claim, ...]:
    """Mapping, range of validity, meaning of sigma0^2, significance, fit."""
    return (
        _mapping(mapped),
        _validity(mapped),
        _prior_variance(mapped, shown),
        _landscapes_differ(differences),
        _low_alike(differences),
        _doubling(),
    )


def _mapping(mapped: tuple[MappedBack, ...]) -> Claim:
    largest = max(float(np.abs(found.deviation).max()) for found in mapped)
    wrong = [
        f"{found.category.name} {name} (printed {found.category.natural[j]}, from Table I "
        f"{found.low[j]:.4g} to {found.high[j]:.4g})"
        for found in mapped
        for j, name in enumerate(("nu", "mu0", "sigma0^2"))
        if not found.consistent[j]
    ]
    return Claim(
        "Section VII.B, Table II",
        "Table II holds the estimates of Table I in the original variables.",
        {
            "within 2 %": largest < CLOSE,
            "within the rounding of Table I": not wrong,
        },
        f"With noise variance 10, which is not stated, Table I maps back to Table II within "
        f"{largest:.1%}. Outside what the rounding of Table I allows: "
        + (", ".join(wrong) or "nothing")
        + ".",
        {
            "largest_deviation": largest,
            "natural": {found.category.name: found.natural.tolist() for found in mapped},
            "outside_rounding": wrong,
        },
        (24, 25),
    )


def _validity(mapped: tuple[MappedBack, ...]) -> Claim:
    ratios = {found.category.name: found.ratio for found in mapped}
    return Claim(
        "Section VI.C",
        "The linearisation is valid for a small deviation Delta_delta, at most 2 c/d.",
        {f"{name}: below the bound 2": -1.0 < ratio < 2.0 for name, ratio in ratios.items()}
        | {f"{name}: small": abs(ratio) < 1.0 for name, ratio in ratios.items()},
        "In units of the nominal value the deviations of Table I are "
        + ", ".join(f"{ratio:.4g} ({name})" for name, ratio in ratios.items())
        + "; the bound is 2 for an option that tells nothing of the others. The bound is stated "
        "and then not used.",
        {"ratios": ratios},
        (22,),
    )


def _prior_variance(mapped: tuple[MappedBack, ...], shown: Artefact) -> Claim:
    sure = shown.true_variances <= 1e3
    medians, ratios = shown.medians[sure], shown.median_ratios[sure]
    spread = float(medians.max() / medians.min() - 1.0)
    third = NOMINALS["high"].variance / 3.0
    printed = [found for found in mapped if found.category.performance == "high"]
    told, alike = ", ".join(f"{m:.3g}" for m in medians), spread <= APART
    return Claim(
        "Section VII.B, Table II",
        "High-performing subjects have a much larger prior variance sigma0^2 (3.3e5 against 5), "
        "so they are more uncertain and explore more.",
        {"the estimate tells true variances apart": not alike},
        "Linearised about 1e6, agents with true sigma0^2 = "
        + ", ".join(f"{v:g}" for v in shown.true_variances[sure])
        + f" come back as {told} (medians)"
        + (f": one third of the nominal value, {third:.3g}, whatever they believed" * alike)
        + ". Their deviations are "
        + ", ".join(f"{r:.4g}" for r in ratios)
        + " nominal values; Table I has "
        + " and ".join(f"{found.ratio:.4g}" for found in printed)
        + f". Agents with true sigma0^2 = {shown.true_variances[-1]:g} have "
        f"{shown.median_ratios[-1]:.3g}.",
        {
            "true": shown.true_variances.tolist(),
            "medians": shown.medians.tolist(),
            "ratios": shown.median_ratios.tolist(),
            "relative_spread": spread,
        },
        (23,),
    )


def _landscapes_differ(differences: tuple[Difference, ...]) -> Claim:
    high = [d for d in differences if str(d.first).startswith("high")]
    return Claim(
        "Section VII.B, Table I",
        "The values for high performance are significantly different between landscapes at the "
        "95 % level (Welch's test).",
        {f"theta{a + 1}": bool(d.p_value < SIGNIFICANT) for a, d in enumerate(high)},
        "With the printed sigma as standard errors of the means: "
        + _tests(high)
        + ". theta1 and theta3 are one degree of freedom here: theta3 is 2 delta theta1 to 0.3 %. "
        "What differs is the decision noise nu.",
        {"p_values": [d.p_value for d in high]},
        (26,),
    )


def _low_alike(differences: tuple[Difference, ...]) -> Claim:
    low = [d for d in differences if str(d.first).startswith("low")]
    return Claim(
        "Section VII.B, Table I",
        "For low performance the difference between landscapes is not significant.",
        {f"theta{a + 1}": bool(d.p_value >= SIGNIFICANT) for a, d in enumerate(low)},
        _tests(low) + ".",
        {"p_values": [d.p_value for d in low]},
    )


def _doubling() -> Claim:
    by_name = {category.name: category.log_likelihood for category in TABLES}
    gains = {
        place: float(
            np.exp((by_name[f"high {place}"] - by_name[f"low {place}"]) / EXPERIMENT_DECISIONS)
        )
        for place in ("A", "B")
    }
    uniform = -EXPERIMENT_DECISIONS * float(np.log(GRID[0] * GRID[1]))
    return Claim(
        "Section VII.B",
        "Between performance levels the fitted model's predictive power approximately doubles.",
        {f"landscape {place}": 1.8 < gain < 2.2 for place, gain in gains.items()},
        "The probability per choice rises by a factor of "
        + " and ".join(f"{gain:.2f} ({place})" for place, gain in gains.items())
        + f"; uniform choice has log-likelihood {uniform:.1f}.",
        {"factors": gains, "uniform_log_likelihood": uniform},
    )


def _tests(differences: list[Difference]) -> str:
    return "; ".join(
        f"{d.name} t = {d.statistic:.2g}, df = {d.degrees_of_freedom:.0f}, p = {d.p_value:.2g}"
        for d in differences
    )
