"""Figures 2 and 3: convergence of the estimate with one parameter and with three, and the claims.

The paper explains the upward bias of Figure 2 by the choice of larger options. The first-order bias
is -I'/(2 I^2) instead: its sign is that of the third moment of the variables. With positively
skewed variables and small theta0 > 0, where larger options are still picked more often, information
rises with theta and the bias points down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penchant import Choices
from penchant._typing import Matrix, Vector
from penchant.softmax.fit_each import fit_each_choices
from penchant_paper.ensembles import (
    FINITE,
    HALF_WIDTHS,
    Convergence,
    Ensemble,
    convergence,
    ensembles,
    fit_prefixes,
    sample_choices,
)
from penchant_paper.published import (
    FIGURE_2,
    FIGURE_3,
    PAPER_LEVEL,
    PAPER_REPLICATES,
    SOFTMAX_DECISIONS,
    Claim,
    Measured,
    Part,
    SoftmaxSetting,
    ValueWithError,
    mean_of,
    quantile_of,
    share_of,
)


@dataclass(frozen=True, eq=False)
class Asymptotics:
    """Spread and bias of the estimate from the first k decisions, at the true theta.

    Attributes
    ----------
    standard_errors
        Roots of the diagonal of the inverse information, Eq. (9): (n_decisions, n_parameters).
    bias
        First-order bias -I^-1 tr(I^-1 dI)/2 of the same shape.
    """

    standard_errors: Matrix
    bias: Matrix


def asymptotics(explanatory: Matrix, theta: Vector) -> Asymptotics:
    """Asymptotic spread and bias for every number of decisions.

    Parameters
    ----------
    explanatory
        Variables of every decision: (n_decisions, n_options, n_parameters).
    theta
        The true weights.

    Notes
    -----
    Paper: J is the expected Hessian of the whole log-likelihood and the covariance J^-1 / n, which
    divides by n twice; the covariance is the inverse of the summed information. NaN where the first
    decisions do not identify theta.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant_paper.figure_2_3 import asymptotics
    >>> found = asymptotics(np.array([[[1.0], [0.0]], [[1.0], [0.0]]]), np.zeros(1))
    >>> found.standard_errors.ravel() ** -2          # each decision adds p (1 - p)
    array([0.25, 0.5 ])
    """
    q = explanatory @ theta
    p = np.exp(q - q.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    centred = explanatory - np.einsum("ki,kia->ka", p, explanatory)[:, None]
    weighted = p[..., None] * centred
    information = np.cumsum(np.einsum("kia,kib->kab", weighted, centred), axis=0)
    third = np.cumsum(np.einsum("kia,kib,kic->kabc", weighted, centred, centred), axis=0)
    covariance = _inverses(information)
    slope = np.einsum("kabc,kbc->ka", third, covariance) / 2.0
    return Asymptotics(
        standard_errors=np.sqrt(covariance.diagonal(0, 1, 2)),
        bias=-np.einsum("kab,kb->ka", covariance, slope),
    )


def _inverses(information: Matrix) -> Matrix:
    """Inverse of each matrix; NaN where it has none to working precision."""
    regular = np.linalg.cond(information) < 1e12
    inverse = np.full_like(information, np.nan)
    inverse[regular] = np.linalg.inv(information[regular])
    return inverse


OPTIONS, DECISIONS_OF_CASE, THETA = 10, 20, 0.25


@dataclass(frozen=True)
class Counterexample:
    """Estimates with exponential variables, theta0 = 0.25, ten options, twenty decisions.

    `excess_picked` is the mean variable of the options picked less that of all options.
    """

    truth: float
    mean: float
    error_of_mean: float
    predicted_bias: float
    excess_picked: float
    missing: int
    n_replicates: int

    @property
    def bias(self) -> float:
        """Mean estimate less the truth."""
        return self.mean - self.truth


def counterexample(
    *, rng: np.random.Generator, n_replicates: int, threads: int | None = None
) -> Counterexample:
    """Estimate theta from choices among options with exponential variables on one design."""
    x = rng.exponential(size=(DECISIONS_OF_CASE, OPTIONS, 1))
    q = THETA * x[..., 0]
    noisy = q + rng.gumbel(size=(n_replicates, DECISIONS_OF_CASE, OPTIONS))
    chosen = noisy.argmax(axis=2)
    picked = np.take_along_axis(x[None, ..., 0], chosen[..., None], axis=2)[..., 0]
    choices = Choices.from_arrays(
        np.tile(x, (n_replicates, 1, 1)),
        chosen.ravel(),
        subject=np.repeat(np.arange(n_replicates), DECISIONS_OF_CASE),
    )
    estimates = fit_each_choices(choices, threads=threads)
    exists = np.isin(estimates.status, FINITE)
    theta = estimates.theta[exists, 0]
    return Counterexample(
        truth=THETA,
        mean=float(theta.mean()),
        error_of_mean=float(theta.std() / np.sqrt(len(theta))),
        predicted_bias=float(asymptotics(x, np.array([THETA])).bias[-1, 0]),
        excess_picked=float(picked.mean() - x.mean()),
        missing=int((~exists).sum()),
        n_replicates=n_replicates,
    )


MAX_RELATIVE_ERROR_CONVERGED = 0.05  # relative error of a mean that has converged
MIN_INTERVAL_OVERLAP = 0.7  # part of their common length that intervals share which overlap closely
ACCURATE_COVERAGE = (0.93, 0.97)  # coverage of 95 % intervals that a test can rely on
MAX_WIDTH_DEVIATION = 0.15  # relative deviation of widths that scale roughly with theta
BIASED_BELOW_DECISIONS, UNBIASED_ABOVE_DECISIONS = (
    50,
    100,
)  # decisions below which there is a bias, and above which none counts
MAX_SHARE_WITHOUT_ESTIMATE = 0.05  # share of replicates without an estimate that nobody would meet


def claims_of_figure_2(
    found: Convergence,
    expected: Asymptotics,
    drawn: Sequence[Ensemble],
    other: Counterexample,
) -> tuple[Claim, ...]:
    """Claims on convergence, overlap of the bands, bias and its explanation, existence."""
    return (
        _converges(drawn, "Section V.A"),
        _bands_overlap(drawn, expected),
        _tests_are_accurate(drawn),
        _biased_above(drawn, expected, "Section V.A"),
        _explanation(drawn, expected, other),
        _always_exists(found, drawn, "Section V.A"),
    )


def claims_of_figure_3(
    found: Convergence, expected: Asymptotics, drawn: Sequence[Ensemble]
) -> tuple[Claim, ...]:
    """Claims on convergence, bias, widths of the intervals, existence."""
    return (
        _converges(drawn, "Section V.B"),
        _biased_above(drawn, expected, "Section V.B"),
        _widths(drawn[-1], expected),
        _always_exists(found, drawn, "Section V.B"),
    )


def _converges(drawn: Sequence[Ensemble], where: str) -> Claim:
    last = drawn[-1]
    means = [mean_of(column) for column in last.theta.T]
    parts: dict[str, Part] = {
        f"{name}: mean over true value at n = {last.n}": Measured(
            mean / true,
            error / true,
            1 - MAX_RELATIVE_ERROR_CONVERGED,
            1 + MAX_RELATIVE_ERROR_CONVERGED,
        )
        for name, (mean, error), true in zip(_names(last), means, last.truth, strict=True)
    }
    return Claim(
        where,
        "The mean estimate converges to the true value.",
        parts,
        f"At n = {last.n} the mean of the existing estimates of {len(last.theta)} replicates is "
        f"{_format_with_errors(means)} (true {_format_numbers(last.truth)}).",
        {"mean": [mean for mean, _ in means], "monte_carlo_error": [error for _, error in means]},
    )


def overlap(drawn: Ensemble, standard_error: float) -> ValueWithError:
    """Length shared by the empirical and the asymptotic band over that of both together."""
    low, low_error = quantile_of(drawn.theta[:, 0], (1 - PAPER_LEVEL) / 2)
    high, high_error = quantile_of(drawn.theta[:, 0], (1 + PAPER_LEVEL) / 2)
    centre, half = float(drawn.truth[0]), HALF_WIDTHS * standard_error
    whole = max(high, centre + half) - min(low, centre - half)
    shared = min(high, centre + half) - max(low, centre - half)
    return max(shared, 0.0) / whole, float(np.hypot(low_error, high_error)) / whole


def _bands_overlap(drawn: Sequence[Ensemble], expected: Asymptotics) -> Claim:
    shares = {e.n: overlap(e, expected.standard_errors[e.n - 1, 0]) for e in drawn}
    late = {n: share for n, share in shares.items() if n > UNBIASED_ABOVE_DECISIONS} or {
        UNBIASED_ABOVE_DECISIONS + 1: (np.nan, np.inf)
    }
    first, (early, error) = next(iter(shares.items()))
    return Claim(
        "Section V.A, Figure 2",
        "For n greater than 100 the empirical and the asymptotic 95 % intervals overlap closely.",
        {
            f"length shared at n = {n}": Measured(*share, low=MIN_INTERVAL_OVERLAP)
            for n, share in late.items()
        },
        f"Of their common length the intervals share {_shares(late)} of "
        f"{len(drawn[0].theta)} replicates, against {early:.0%} ± {error:.1%} at n = {first}.",
        {"shared": {str(n): share for n, (share, _) in shares.items()}},
    )


def _tests_are_accurate(drawn: Sequence[Ensemble]) -> Claim:
    late = [e for e in drawn if e.n > UNBIASED_ABOVE_DECISIONS]
    everywhere = np.all([e.exists for e in late], axis=0) if late else np.zeros(0, dtype=bool)
    inside = [
        (np.abs(e.theta - e.truth) <= HALF_WIDTHS * e.standard_errors)[everywhere] for e in late
    ]
    coverage, error = mean_of(np.mean(inside, axis=0)) if late else (np.nan, np.inf)
    low, high = ACCURATE_COVERAGE
    return Claim(
        "Section V.A",
        "Tests based on the asymptotic distribution will be accurate for n greater than 100.",
        {"coverage of 95 % intervals": Measured(coverage, error, low, high)},
        f"95 % intervals hold the truth in {coverage:.1%} ± {error:.1%} of {everywhere.sum()} "
        f"replicates, averaged over n = {', '.join(str(e.n) for e in late)}."
        if late
        else "No n greater than 100 was run.",
        {"coverage": coverage, "monte_carlo_error": error},
        (9,),
    )


def _biased_above(drawn: Sequence[Ensemble], expected: Asymptotics, where: str) -> Claim:
    parts: dict[str, Part] = {}
    said, numbers = [], {}
    for few in (e for e in drawn if e.n < BIASED_BELOW_DECISIONS):
        biases = [mean_of(column - t) for column, t in zip(few.theta.T, few.truth, strict=True)]
        for name, bias in zip(_names(few), biases, strict=True):
            parts[f"{name}: bias at n = {few.n}"] = Measured(*bias, low=0.0)
        predicted = _format_numbers(expected.bias[few.n - 1])
        lost = int((~few.exists).sum())
        without = f", {lost} without an estimate" if lost else ""
        said.append(
            f"{_format_with_errors(biases)} at n = {few.n} (first-order bias {predicted}{without})"
        )
        numbers[str(few.n)] = [bias for bias, _ in biases]
    later = expected.bias[min(BIASED_BELOW_DECISIONS, len(expected.bias)) - 1]
    return Claim(
        where,
        "For small amounts of data, n < 50, the mean estimate is biased above the true value.",
        parts,
        f"Mean of the existing estimates of {len(drawn[0].theta)} replicates less the truth: "
        + "; ".join(said)
        + f". The bias falls as 1/n and does not stop at n = 50, where it is still "
        f"{_format_numbers(later)} to first order. For very small n the mean does not exist: see "
        "below.",
        {"bias": numbers},
    )


def _explanation(drawn: Sequence[Ensemble], expected: Asymptotics, other: Counterexample) -> Claim:
    few = drawn[0]
    bias = mean_of(few.theta[:, 0] - few.truth[0])
    return Claim(
        "Section V.A",
        "The bias points upwards because the option with the larger objective is more likely "
        "to be picked.",
        {
            "bias where larger options are picked more": Measured(
                other.bias, other.error_of_mean, low=0.0
            )
        },
        "The bias is -I'/(2 I^2), upwards where information falls with theta: it predicts "
        f"{_format_numbers(expected.bias[few.n - 1])} at n = {few.n}, where "
        f"{_format_with_errors([bias])} was found. "
        f"With exponential variables and theta0 = {other.truth:g} larger options are still picked "
        f"more often (by {other.excess_picked:.2f} on average), but the bias is {other.bias:.4f} "
        f"± {other.error_of_mean:.4f} (predicted {other.predicted_bias:.4f}).",
        {
            "counterexample_bias": other.bias,
            "counterexample_error": other.error_of_mean,
            "counterexample_first_order_bias": other.predicted_bias,
            "counterexample_replicates": other.n_replicates,
        },
        (29,),
    )


def _widths(last: Ensemble, expected: Asymptotics) -> Claim:
    ends = [
        [quantile_of(c, p) for p in ((1 - PAPER_LEVEL) / 2, (1 + PAPER_LEVEL) / 2)]
        for c in last.theta.T
    ]
    widths = np.array([high - low for (low, _), (high, _) in ends])
    errors = np.array([np.hypot(one, two) for (_, one), (_, two) in ends])
    ratios, wanted = widths / widths[0], last.truth / last.truth[0]
    spread = ratios * np.hypot(errors / widths, errors[0] / widths[0])
    parts: dict[str, Part] = {}
    for a in range(1, len(widths)):
        ratio, error, asked = float(ratios[a]), float(spread[a]), float(wanted[a])
        name = f"width of theta{a + 1} over that of theta1"
        parts[f"{name}, wider"] = Measured(ratio, error, low=1.0)
        parts[f"{name}, in proportion"] = Measured(
            ratio, error, asked * (1 - MAX_WIDTH_DEVIATION), asked * (1 + MAX_WIDTH_DEVIATION)
        )
    at_truth = expected.standard_errors[last.n - 1]
    # Spherical variables make the information a uu' + b (1 - uu'): variances are affine in theta^2.
    squares = last.truth**2
    share = (squares[1] - squares[0]) / (squares[-1] - squares[0])
    middle = float(np.sqrt(at_truth[0] ** 2 + share * (at_truth[-1] ** 2 - at_truth[0] ** 2)))
    return Claim(
        "Section V.B",
        "The width of the confidence intervals scales roughly with the true value of theta_i.",
        parts,
        f"At n = {last.n} the empirical 95 % intervals of {len(last.theta)} replicates are "
        f"{_format_numbers(widths)} wide, as {_format_numbers(ratios)}, not as "
        f"{_format_numbers(wanted)}; asymptotic standard "
        f"errors are {_format_numbers(at_truth)}. For such variables the variance is a + b "
        "theta_i^2, which "
        f"predicts {middle:.3g} for the middle one.",
        {
            "asymptotic_errors": at_truth.tolist(),
            "empirical_widths": widths.tolist(),
            "ratios": ratios.tolist(),
            "predicted_middle": middle,
        },
        (28,),
    )


def _always_exists(found: Convergence, drawn: Sequence[Ensemble], where: str) -> Claim:
    lost = np.flatnonzero(found.missing > 0)
    end = int(found.n[lost[-1]]) if len(lost) else 0
    shown: dict[str, Any] = {
        str(n): int(found.missing[found.at(n)]) for n in (1, 2, 3, 5, 8, 10, 20) if n <= found.n[-1]
    }
    counts = ", ".join(f"{count} at n = {n}" for n, count in shown.items())
    last = drawn[-1]
    why = (
        f"Of {found.n_replicates} replicates these have no finite estimate, because some direction "
        f"of theta predicts every choice: {counts}; the last at n = {end}. Convexity is not "
        "enough, and one such replicate is proof. They are counted here and enter no mean."
    )
    return Claim(
        where,
        "The problem is convex, so the algorithm will converge.",
        {
            "an estimate exists for every n": not len(lost),
            f"share without an estimate at n = {last.n}": Measured(
                *share_of(~last.exists), high=MAX_SHARE_WITHOUT_ESTIMATE
            ),
        },
        why if len(lost) else "Every replicate has a finite estimate at every n.",
        {"missing": shown, "last_n_with_missing": end},
        (7,),
    )


def _names(drawn: Ensemble) -> list[str]:
    d = len(drawn.truth)
    return ["theta"] if d == 1 else [f"theta{a + 1}" for a in range(d)]


def _format_with_errors(found: Sequence[ValueWithError]) -> str:
    """Format numbers with their Monte Carlo errors."""
    return ", ".join(str(Measured(*one)) for one in found)


def _shares(shares: dict[int, ValueWithError]) -> str:
    return ", ".join(
        f"{share:.0%} ± {error:.1%} at n = {n}" for n, (share, error) in shares.items()
    )


def _format_numbers(values: Vector) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


DECIDED_AT = {
    "figure-2": (20, 30, 40, 49, 101, 150, 200, 300),
    "figure-3": (20, 30, 40, 49, 300),
}  # n at which many replicates decide what the text says of n < 50, of n > 100 and of the end

REPLICATE_FACTORS = {"figure-2": 100, "figure-3": 20}  # times the replicates of the figure


@dataclass(frozen=True, eq=False)
class SoftmaxFigure:
    """Figure 2 or 3: estimates at every n, beside the asymptotic distribution at the truth.

    `drawn` holds many more replicates at some n: they decide the claims.
    """

    setting: SoftmaxSetting
    found: Convergence
    expected: Asymptotics
    drawn: tuple[Ensemble, ...]
    claims: tuple[Claim, ...]
    counterexample: Counterexample | None = None

    @property
    def name(self) -> str:
        """figure-2 or figure-3."""
        return self.setting.name

    @property
    def title(self) -> str:
        """Title for headings."""
        number, what = {"figure-2": (2, "scalar"), "figure-3": (3, "vector")}[self.name]
        return f"Figure {number}: convergence of a {what} parameter"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """theta, or theta1 theta2 theta3."""
        d = len(self.setting.truth)
        return ("theta",) if d == 1 else tuple(f"theta{a + 1}" for a in range(d))

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
        return {
            "options": self.setting.n_options,
            "theta0": list(self.setting.truth),
            "decisions": int(self.found.n[-1]),
            "replicates": self.found.n_replicates,
            "replicates that decide": len(self.drawn[0].theta),
        }

    def tables(self) -> dict[str, dict[str, Sequence[float]]]:
        """Tables of the estimates by number of decisions."""
        columns = self.found.columns(self.parameter_names)
        for a, name in enumerate(self.parameter_names):
            columns[f"{name}_asymptotic_error"] = self.expected.standard_errors[:, a].tolist()
            columns[f"{name}_first_order_bias"] = self.expected.bias[:, a].tolist()
        return {self.name: columns}


def figure_2(
    *,
    rng: np.random.Generator,
    n_replicates: int = PAPER_REPLICATES,
    n_decisions: int = SOFTMAX_DECISIONS,
    threads: int | None = None,
) -> SoftmaxFigure:
    """Figure 2: m = 10 options, theta0 = 4.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Draws of the choices on one design.
    n_decisions
        The estimator is applied to the first 1, 2 ... of these.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    found, expected, drawn = _simulate_estimates(FIGURE_2, rng, n_replicates, n_decisions, threads)
    other = counterexample(rng=rng, n_replicates=300 * n_replicates, threads=threads)
    claims = claims_of_figure_2(found, expected, drawn, other)
    return SoftmaxFigure(FIGURE_2, found, expected, drawn, claims, other)


def figure_3(
    *,
    rng: np.random.Generator,
    n_replicates: int = PAPER_REPLICATES,
    n_decisions: int = SOFTMAX_DECISIONS,
    threads: int | None = None,
) -> SoftmaxFigure:
    """Figure 3: m = 100 options, theta0 = (1, 2, 3). Parameters are those of `figure_2`."""
    found, expected, drawn = _simulate_estimates(FIGURE_3, rng, n_replicates, n_decisions, threads)
    claims = claims_of_figure_3(found, expected, drawn)
    return SoftmaxFigure(FIGURE_3, found, expected, drawn, claims)


class _SimulatedEstimates(NamedTuple):
    """Estimates of a figure by number of decisions, what asymptotics predict, and ensembles."""

    convergence: Convergence
    asymptotics: Asymptotics
    ensembles: tuple[Ensemble, ...]


def _simulate_estimates(
    setting: SoftmaxSetting,
    rng: np.random.Generator,
    n_replicates: int,
    n_decisions: int,
    threads: int | None,
) -> _SimulatedEstimates:
    truth = np.array(setting.truth)
    x = rng.normal(size=(n_decisions, setting.n_options, len(truth)))
    chosen = sample_choices(x, truth, n_replicates, rng)
    repeated = np.ascontiguousarray(np.broadcast_to(x, (n_replicates, *x.shape)))
    what = f"Figure {setting.name[-1]}"
    estimates = fit_prefixes(repeated, chosen, what=what, threads=threads)
    many = ensembles(
        x,
        truth,
        sorted({n for n in DECIDED_AT[setting.name] if n < n_decisions} | {n_decisions}),
        rng=rng,
        n_replicates=REPLICATE_FACTORS[setting.name] * n_replicates,
        what=what,
        threads=threads,
    )
    return _SimulatedEstimates(convergence(estimates, truth), asymptotics(x, truth), many)
