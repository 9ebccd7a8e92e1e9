"""Relations of parameters to a score over subjects: slopes and correlations, with intervals.

Least squares with Student's t, Pearson's r with Fisher's z interval and Spearman's rank correlation
(Bonett and Wright 2000), each partial in covariates where there are some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.output import MAX_TABLE_WIDTH, Table, format_number, format_p_value
from penchant.population.subject_estimates import SubjectEstimates
from penchant.tails import normal_isf, t_isf, t_sf

MIN_CORRELATION_SUBJECTS = 4  # the variance of Fisher's z, 1 / (n - 3), is infinite with 3


@dataclass(frozen=True)
class Relation:
    """Relation of a parameter to a score over subjects.

    Attributes
    ----------
    slope, standard_error, low, high
        What one more of the score adds to the parameter: least squares, with its interval.
    statistic, degrees_of_freedom, p_value, adjusted_p_value
        Student's t of the slope, two-sided, as it is and adjusted for the number of parameters.
    correlation, correlation_low, correlation_high
        Pearson's, with Fisher's interval.
    rank_correlation, rank_correlation_low, rank_correlation_high, rank_p_value
        Spearman's, with the interval of Bonett and Wright (2000) and the p-value of its t.
    """

    name: str
    n_subjects: int
    slope: float
    standard_error: float
    low: float
    high: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    correlation: float
    correlation_low: float
    correlation_high: float
    rank_correlation: float
    rank_correlation_low: float
    rank_correlation_high: float
    rank_p_value: float


NAMES = tuple(field.name for field in fields(Relation))


Residuals = Callable[[Matrix], Matrix]


@dataclass(frozen=True)
class PartialOut:
    """Covariates to partial out: residuals of columns and of ranks, and the columns they cost."""

    residuals: Residuals
    residual_ranks: Residuals
    n_columns: int


def score_relations(
    usable: SubjectEstimates, scores: Vector, level: float, partial: PartialOut | None = None
) -> list[Relation]:
    """Each parameter against the scores, which are in the order of the subjects.

    Parameters
    ----------
    usable, scores, level
        Estimates, scores, and the level of the intervals.
    partial
        Covariates that slopes and correlations are partial in, if there are some.
    """
    return [
        _score_relation(name, values, scores, level, partial)
        for name, values in zip(usable.names, usable.estimates.T, strict=True)
    ]


def _score_relation(
    name: str, given: Vector, given_scores: Vector, level: float, partial: PartialOut | None
) -> Relation:
    both = np.column_stack([given, given_scores])
    ranked = np.column_stack([ranks(given), ranks(given_scores)])
    people, n = len(given), len(given)
    if partial is not None:
        both, ranked = partial.residuals(both), partial.residual_ranks(ranked)
        n = n - partial.n_columns
    values, scores = both.T
    away, df = scores - scores.mean(), n - 2.0
    spread = float(away @ away)
    slope = float(away @ values) / spread
    left = values - values.mean() - slope * away
    error = float(np.sqrt(left @ left / df / spread))
    half = float(t_isf((1 - level) / 2, df)) * error
    r, rank = _pearson_correlation(values, scores), _pearson_correlation(*ranked.T)
    t = slope / error if error > 0 else float(np.sign(slope)) * np.inf
    return Relation(
        name,
        people,
        slope,
        error,
        slope - half,
        slope + half,
        t,
        df,
        float(2 * t_sf(abs(t), df)),
        float("nan"),
        r,
        *_fisher_interval(r, 1.0, n, level),
        rank,
        *_fisher_interval(rank, 1.0 + rank**2 / 2, n, level),
        float(2 * t_sf(abs(rank) * np.sqrt(df / max(1 - rank**2, 1e-300)), df)),
    )


def _pearson_correlation(a: Vector, b: Vector) -> float:
    x, y = a - a.mean(), b - b.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / size, -1.0, 1.0)) if size > 0 else float("nan")


def ranks(values: Vector) -> Vector:
    """Ranks from 1, those of equal values averaged."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[place], dtype=np.float64)


def _fisher_interval(r: float, variance: float, n: int, level: float) -> tuple[float, float]:
    """Interval by the inverse hyperbolic tangent, whose variance is this over n - 3."""
    if n < MIN_CORRELATION_SUBJECTS or not abs(r) < 1:
        return (r, r) if abs(r) == 1 else (float("nan"), float("nan"))
    half = float(normal_isf((1 - level) / 2)) * np.sqrt(variance / (n - 3))
    low, high = np.tanh(np.arctanh(r) + half * np.array([-1.0, 1.0]))
    return float(low), float(high)


def relations_table(found: Sequence[Relation], score: str, level: float) -> Table:
    """The summary as a table, with a note for each correlation."""
    percent = f"{100 * level:g} %"
    header = ("", "slope", f"({percent})", "t", "df", "p", "adj. p", "r", "rank r")
    rows = tuple(
        (
            one.name,
            format_number(one.slope, 4),
            f"{format_number(one.low, 3)} to {format_number(one.high, 3)}",
            format_number(one.statistic, 3),
            format_number(one.degrees_of_freedom, 3),
            format_p_value(one.p_value),
            format_p_value(one.adjusted_p_value),
            format_number(one.correlation, 3),
            format_number(one.rank_correlation, 3),
        )
        for one in found
    )
    notes = tuple(
        f"{one.name}: r {format_number(one.correlation, 3)} ({percent} "
        f"{format_number(one.correlation_low, 3)} "
        f"to {format_number(one.correlation_high, 3)}), rank r "
        f"{format_number(one.rank_correlation, 3)} "
        f"({format_number(one.rank_correlation_low, 3)} to "
        f"{format_number(one.rank_correlation_high, 3)}, p {format_p_value(one.rank_p_value)})."
        for one in found
    )
    facts = (("Subjects", str(found[0].n_subjects)), ("Score", score))
    return Table(f"Parameters against {score}", facts, header, rows, notes, MAX_TABLE_WIDTH)
