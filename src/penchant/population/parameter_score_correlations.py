"""Relations of parameters to a score over subjects: slopes and correlations, with intervals.

Least squares with Student's t, Pearson's r with Fisher's z interval and Spearman's rank correlation
(Bonett and Wright 2000), each partial in covariates where there are some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import scipy

from penchant._typing import Matrix, Vector
from penchant.population.least_squares import check_regressors, t_test
from penchant.population.subject_estimates import SubjectEstimates
from penchant.result_tables import (
    MAX_TABLE_WIDTH,
    Column,
    Table,
    attribute_columns,
    format_columns,
    format_number,
    format_p_value,
)
from penchant.tail_probabilities import normal_isf, t_sf

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


def score_relations(
    usable: SubjectEstimates,
    scores: Vector,
    covariates: Matrix,
    covariate_names: Sequence[str],
    level: float,
) -> list[Relation]:
    """Each parameter against the scores, which are in the order of the subjects.

    Slopes and correlations are partial in the columns of covariates, of which there may be none:
    residuals of least squares on these, which cost their number of degrees of freedom.
    """
    ranks = scipy.stats.rankdata  # loaded here: its import takes longer than most fits
    x, x_of_ranks = (
        np.column_stack([np.ones(len(scores)), columns])
        for columns in (covariates, ranks(covariates, axis=0) if covariates.size else covariates)
    )
    check_regressors(x, covariate_names)
    found = []
    for name, values in zip(usable.names, usable.estimates.T, strict=True):
        both = _residuals_after_covariates(np.column_stack([values, scores]), x)
        ranked = _residuals_after_covariates(
            np.column_stack([ranks(values), ranks(scores)]), x_of_ranks
        )
        found.append(_score_relation(name, both, ranked, len(x) - covariates.shape[1], level))
    return found


def _residuals_after_covariates(values: Matrix, x: Matrix) -> Matrix:
    return np.asarray(values - x @ np.linalg.lstsq(x, values, rcond=None)[0])


def _score_relation(
    name: str, residual_pairs: Matrix, ranked: Matrix, n: int, level: float
) -> Relation:
    """Relation of the first column of residuals to the second, worth n observations."""
    values, scores = residual_pairs.T
    df, spread = n - 2.0, float(scores @ scores)
    slope = float(scores @ values) / spread
    left = values - slope * scores
    error = float(np.sqrt(left @ left / df / spread))
    found = t_test(np.array([slope]), np.array([error]), df, level)
    r, rank = _pearson_correlation(values, scores), _pearson_correlation(*ranked.T)
    return Relation(
        name,
        len(residual_pairs),
        slope,
        error,
        float(found.low[0]),
        float(found.high[0]),
        float(found.statistic[0]),
        df,
        float(found.p_value[0]),
        float("nan"),
        r,
        *_fisher_interval(r, 1.0, n, level),
        rank,
        *_fisher_interval(rank, 1.0 + rank**2 / 2, n, level),
        float(2 * t_sf(abs(rank) * np.sqrt(df / max(1 - rank**2, 1e-300)), df)),
    )


def _pearson_correlation(x: Vector, y: Vector) -> float:
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / size, -1.0, 1.0)) if size > 0 else float("nan")


def _fisher_interval(r: float, variance: float, n: int, level: float) -> tuple[float, float]:
    """Interval by the inverse hyperbolic tangent, whose variance is this over n - 3."""
    if n < MIN_CORRELATION_SUBJECTS or not abs(r) < 1:
        return (r, r) if abs(r) == 1 else (float("nan"), float("nan"))
    half = float(normal_isf((1 - level) / 2)) * np.sqrt(variance / (n - 3))
    low, high = np.tanh(np.arctanh(r) + half * np.array([-1.0, 1.0]))
    return float(low), float(high)


COLUMNS = (
    Column("name", ""),
    Column("slope", "slope", 4),
    Column("ends", "({})"),
    Column("statistic", "t", 3),
    Column("degrees_of_freedom", "df", 3),
    Column("p_value", "p", format_p_value),
    Column("adjusted_p_value", "adj. p", format_p_value),
    Column("correlation", "r", 3),
    Column("rank_correlation", "rank r", 3),
)


def relations_table(found: Sequence[Relation], score: str, level: float) -> Table:
    """The summary as a table, with a note for each correlation."""
    percent = f"{100 * level:g} %"
    columns = attribute_columns(found, *NAMES)
    ends = zip(columns["low"], columns["high"], strict=True)
    columns["ends"] = [f"{format_number(a, 3)} to {format_number(b, 3)}" for a, b in ends]
    header, rows = format_columns(columns, COLUMNS, level)
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
