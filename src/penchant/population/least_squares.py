"""Least squares of all parameters on the same columns, with HC3 errors, and t tests.

HC3 (MacKinnon and White 1985) holds where groups differ in how far their people differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, format_names
from penchant.tail_probabilities import t_isf, t_sf


class TTest(NamedTuple):
    """t tests that each difference is 0, two-sided, with intervals."""

    difference: Vector
    standard_error: Vector
    statistic: Vector
    degrees_of_freedom: Vector
    low: Vector
    high: Vector
    p_value: Vector


def t_test(difference: Vector, error: Vector, degrees_of_freedom: Any, level: float) -> TTest:
    """Student's t test of differences with these standard errors; normal at infinite df."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = difference / error
    df = np.broadcast_to(np.asarray(degrees_of_freedom, dtype=np.float64), np.shape(difference))
    half = t_isf((1 - level) / 2, df) * error
    p = np.asarray(2 * t_sf(np.abs(statistic), df))
    return TTest(difference, error, statistic, df, difference - half, difference + half, p)


class LeastSquares(NamedTuple):
    """Every parameter regressed on the same columns.

    Attributes
    ----------
    coefficients
        (n_columns, n_parameters).
    bread
        (X'X)^-1.
    robust
        (n_parameters, n_columns, n_parameters, n_columns): covariances of all coefficients, HC3.
    residual_sd
        Of each parameter, with n - n_columns degrees of freedom.
    degrees_of_freedom
        n_subjects less n_columns.
    """

    coefficients: Matrix
    bread: Matrix
    robust: Any
    residual_sd: Vector
    degrees_of_freedom: float


def least_squares(x: Matrix, y: Matrix, names: Sequence[str]) -> LeastSquares:
    """Least squares with HC3 errors: residuals over 1 - h, h the leverage of each subject.

    HC3, as groups may differ in how far their people differ: (X'X)^-1 [sum x x' e^2 / (1 - h)^2]
    (X'X)^-1 (MacKinnon and White, 1985).
    """
    check_regressors(x, names)
    n, k = x.shape
    bread: Matrix = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    coefficients = bread @ x.T @ y
    left = y - x @ coefficients
    leverage = np.einsum("na,ab,nb->n", x, bread, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = left / (1.0 - leverage)[:, None]
    scores = np.einsum("ab,nb,np->npa", bread, x, scaled)
    return LeastSquares(
        coefficients,
        bread,
        np.einsum("npa,nqb->paqb", scores, scores),
        np.sqrt((left**2).sum(axis=0) / (n - k)),
        float(n - k),
    )


def check_regressors(x: Matrix, names: Sequence[str]) -> None:
    """Refuse columns that others determine, or that are as many as subjects."""
    n, k = x.shape
    if n <= k or np.linalg.matrix_rank(x) < k:
        raise DataError(
            "covariates",
            "must be told apart from the groups by more subjects than columns",
            got=f"{n} subjects, and {k} columns of groups and {format_names(names)}",
            fix="Leave one out.",
        )
