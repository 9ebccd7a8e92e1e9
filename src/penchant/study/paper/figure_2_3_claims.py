"""What the paper says of Figures 2 and 3, held against a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.study.paper.claims import Claim
from penchant.study.paper.convergence import HALF_WIDTHS, Convergence
from penchant.study.paper.counterexample import Counterexample
from penchant.study.paper.information import Asymptotics
from penchant.study.paper.published import LEVEL

CLOSE = 0.05  # relative error of a mean that has converged
ACCURATE = (0.93, 0.97)  # coverage of 95 % intervals that a test can rely on
PROPORTIONAL = 0.15  # relative deviation of widths that scale roughly with theta
NOISE = 2.0  # Monte Carlo errors


def claims_of_figure_2(
    found: Convergence, expected: Asymptotics, other: Counterexample
) -> tuple[Claim, ...]:
    """Convergence, overlap of the bands, bias and its explanation, existence."""
    return (
        _converges(found, "Section V.A"),
        _bands_overlap(found, expected),
        _tests_are_accurate(found),
        _biased_above(found, expected, "Section V.A"),
        _explanation(found, expected, other),
        _always_exists(found, "Section V.A"),
    )


def claims_of_figure_3(found: Convergence, expected: Asymptotics) -> tuple[Claim, ...]:
    """Convergence, bias, widths of the intervals, existence."""
    return (
        _converges(found, "Section V.B"),
        _biased_above(found, expected, "Section V.B"),
        _widths(found, expected),
        _always_exists(found, "Section V.B"),
    )


def _converges(found: Convergence, where: str) -> Claim:
    relative = np.abs(found.mean[-1] / found.truth - 1.0)
    parts = {f"theta{a + 1} within 5 % at the end": bool(r < CLOSE) for a, r in enumerate(relative)}
    return Claim(
        where,
        "The mean estimate converges to the true value.",
        parts,
        f"At n = {found.n[-1]} the mean of the existing estimates is {_words(found.mean[-1])} "
        f"(true {_words(found.truth)}).",
        {"mean": found.mean[-1].tolist(), "relative_error": relative.tolist()},
    )


def overlap(found: Convergence, expected: Asymptotics) -> Vector:
    """Length shared by the empirical and the asymptotic band over the length of both together."""
    half = HALF_WIDTHS * expected.standard_errors
    low, high = found.truth - half, found.truth + half
    shared = np.minimum(high, found.high) - np.maximum(low, found.low)
    whole = np.maximum(high, found.high) - np.minimum(low, found.low)
    return np.asarray((np.maximum(shared, 0.0) / whole).mean(axis=1))


def least_overlap(n_replicates: int) -> float:
    """Overlap that 19 of 20 ensembles reach whose estimates are exactly normal.

    Percentiles of few replicates are noisy: bands that share less than this differ by more.
    """
    draws = np.random.default_rng(0).normal(size=(2000, n_replicates))
    low, high = np.percentile(draws, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=1)
    shared = np.minimum(high, HALF_WIDTHS) - np.maximum(low, -HALF_WIDTHS)
    whole = np.maximum(high, HALF_WIDTHS) - np.minimum(low, -HALF_WIDTHS)
    return float(np.percentile(shared / whole, 5))


def _bands_overlap(found: Convergence, expected: Asymptotics) -> Claim:
    shared, least = overlap(found, expected), least_overlap(found.n_replicates)
    ranges = {"100 < n <= 200": _between(found, 101, 200), "n > 200": _between(found, 201, None)}
    reached = {word: rows for word, rows in ranges.items() if rows.any()} or ranges
    median = {word: _median(shared[rows]) for word, rows in reached.items()}
    early = _median(shared[_between(found, 10, 49)])
    return Claim(
        "Section V.A, Figure 2",
        "For n greater than 100 the empirical and the asymptotic 95 % intervals overlap closely.",
        {word: bool(value >= least) for word, value in median.items()},
        "They share "
        + " and ".join(f"{value:.0%} of their length for {word}" for word, value in median.items())
        + f" (medians), against {early:.0%} for 10 <= n < 50. If estimates were exactly normal, "
        f"19 of 20 ensembles of {found.n_replicates} replicates would share {least:.0%} or more.",
        {"shared": median, "shared_10_to_49": early, "least_if_normal": least},
    )


def _tests_are_accurate(found: Convergence) -> Claim:
    rows = _between(found, 101, None)
    coverage = float(np.nanmean(found.coverage[rows])) if rows.any() else float("nan")
    low, high = ACCURATE
    return Claim(
        "Section V.A",
        "Tests based on the asymptotic distribution will be accurate for n greater than 100.",
        {"coverage between 93 % and 97 %": low <= coverage <= high},
        f"95 % intervals hold the truth in {coverage:.1%} of replicates, averaged over n > 100.",
        {"coverage": coverage},
        (9,),
    )


def _biased_above(found: Convergence, expected: Asymptotics, where: str) -> Claim:
    rows = _between(found, 10, 49)
    bias, predicted = _mean_bias(found, rows), expected.bias[rows].mean(axis=0)
    later = expected.bias[found.at(50)] if found.n[-1] >= 50 else np.full_like(bias, np.nan)
    noise = np.nanmean(found.error_of_mean[rows], axis=0)
    names = [f"theta{a + 1}" for a in range(len(bias))]
    above = bias > NOISE * noise
    return Claim(
        where,
        "For small amounts of data, n < 50, the mean estimate is biased above the true value.",
        {f"{name} above": bool(yes) for name, yes in zip(names, above, strict=True)},
        f"Averaged over 10 <= n < 50 the existing estimates lie {_words(bias)} above the truth; "
        f"the first-order bias predicts {_words(predicted)}. It falls as 1/n and does not stop at "
        f"n = 50, where it is still {_words(later)}. For smaller n the mean does not exist: see "
        "below.",
        {"bias": bias.tolist(), "first_order_bias": predicted.tolist()},
    )


def _explanation(found: Convergence, expected: Asymptotics, other: Counterexample) -> Claim:
    rows = _between(found, 25, 99)
    bias, predicted = _mean_bias(found, rows), expected.bias[rows].mean(axis=0)
    return Claim(
        "Section V.A",
        "The bias points upwards because the option with the larger objective is more likely "
        "to be picked.",
        {"no downward bias where larger options are picked more": not other.is_downward},
        "The bias is -I'/(2 I^2), upwards where information falls with theta: it predicts "
        f"{_words(predicted)} for 25 <= n < 100, where {_words(bias)} was found. With exponential "
        f"variables and theta0 = {other.truth:g} larger options are still picked more often (by "
        f"{other.excess_picked:.2f} on average), but the bias is {other.bias:.4f} "
        f"(Monte Carlo error {other.error_of_mean:.4f}, predicted {other.predicted_bias:.4f}).",
        {
            "bias": bias.tolist(),
            "first_order_bias": predicted.tolist(),
            "counterexample_bias": other.bias,
            "counterexample_error": other.error_of_mean,
            "counterexample_first_order_bias": other.predicted_bias,
            "counterexample_replicates": other.n_replicates,
        },
        (29,),
    )


def _widths(found: Convergence, expected: Asymptotics) -> Claim:
    widths = expected.standard_errors[-1]
    empirical = (found.high - found.low)[-1]
    ratios, wanted = widths / widths[0], found.truth / found.truth[0]
    deviation = np.abs(ratios / wanted - 1.0)
    # Spherical variables make the information a uu' + b (1 - uu'): variances are affine in theta^2.
    squares = found.truth**2
    share = (squares[1] - squares[0]) / (squares[-1] - squares[0])
    middle = float(np.sqrt(widths[0] ** 2 + share * (widths[-1] ** 2 - widths[0] ** 2)))
    return Claim(
        "Section V.B",
        "The width of the confidence intervals scales roughly with the true value of theta_i.",
        {
            "wider for larger theta": bool((np.diff(widths) > 0).all()),
            "in proportion": bool((deviation[1:] < PROPORTIONAL).all()),
        },
        f"At n = {found.n[-1]} asymptotic standard errors are {_words(widths)}, as "
        f"{_words(ratios)}, not as {_words(wanted)}; empirical widths are {_words(empirical)}. "
        "For such variables the variance is a + b theta_i^2, which predicts "
        f"{middle:.3g} for the middle one.",
        {
            "asymptotic_errors": widths.tolist(),
            "empirical_widths": empirical.tolist(),
            "ratios": ratios.tolist(),
            "predicted_middle": middle,
        },
        (28,),
    )


def _always_exists(found: Convergence, where: str) -> Claim:
    lost = np.flatnonzero(found.missing > 0)
    last = int(found.n[lost[-1]]) if len(lost) else 0
    shown: dict[str, Any] = {
        str(n): int(found.missing[found.at(n)]) for n in (1, 2, 3, 5, 8, 10, 20) if n <= found.n[-1]
    }
    counts = ", ".join(f"{count} at n = {n}" for n, count in shown.items())
    why = (
        f"Of {found.n_replicates} replicates these have no finite estimate, because some direction "
        f"of theta predicts every choice: {counts}; the last at n = {last}. Convexity is not "
        "enough. They are counted here and enter no mean."
    )
    return Claim(
        where,
        "The problem is convex, so the algorithm will converge.",
        {
            "an estimate exists for every n": not len(lost),
            "an estimate exists at the end": bool(found.missing[-1] == 0),
        },
        why if len(lost) else "Every replicate has a finite estimate at every n.",
        {"missing": shown, "last_n_with_missing": last},
        (7,),
    )


def _between(found: Convergence, low: int, high: int | None) -> BoolVector:
    return np.asarray((found.n >= low) & (found.n <= (found.n[-1] if high is None else high)))


def _mean_bias(found: Convergence, rows: BoolVector) -> Vector:
    if not rows.any():
        return np.full(len(found.truth), np.nan)
    return np.asarray(np.nanmean(found.mean[rows], axis=0) - found.truth)


def _median(values: Vector) -> float:
    return float(np.nanmedian(values)) if len(values) else float("nan")


def _words(values: Vector) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
