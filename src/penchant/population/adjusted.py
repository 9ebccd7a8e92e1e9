"""Groups and scores compared at the same covariates: least squares over subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, named
from penchant.population.comparison import Difference, PairTest, hedges_correction, joint_test
from penchant.population.people import labels_by
from penchant.population.scores import ranks
from penchant.population.subjects import SubjectEstimates
from penchant.tails import normal_point, t_point, t_tail


class Covariates(NamedTuple):
    """What else is known of each subject.

    Attributes
    ----------
    names
        As they were given.
    columns
        (n_subjects, n_columns): numbers less their mean; of words, 0/1 for each but the first.
    """

    names: tuple[str, ...]
    columns: Matrix

    def ranked(self) -> Covariates:
        """The same by their ranks, as rank correlations hold them."""
        return Covariates(self.names, np.apply_along_axis(ranks, 0, self.columns))


def read_covariates(estimates: Any, covariates: Any, people: Any) -> Covariates:
    """Columns of people, or {name: labels}, as columns of numbers."""
    if isinstance(covariates, str):
        covariates = [covariates]
    given: Mapping[str, Any]
    if isinstance(covariates, Mapping):
        given = covariates
    elif isinstance(covariates, Sequence) and all(isinstance(one, str) for one in covariates):
        given = {name: name for name in covariates}
    else:
        raise DataError(
            "covariates must be names of columns, or {name: values}; got "
            f"{type(covariates).__name__}. Write covariates=['age', 'sex']."
        )
    if not given:
        raise DataError("covariates must name at least one; got none. Leave it out.")
    columns = []
    for name, by in given.items():
        try:
            labels = labels_by(estimates, by, people)
        except DataError as error:
            said = str(error).replace("by must", f"covariates[{name!r}] must", 1)
            raise DataError(said) from None
        columns += _coded(name, labels)
    return Covariates(tuple(given), np.column_stack(columns))


def _coded(name: str, labels: Sequence[Any]) -> list[Vector]:
    if all(isinstance(one, int | float | np.number) for one in labels):
        values = np.array(labels, dtype=np.float64)
        if np.ptp(values) == 0:
            raise DataError(
                f"covariates must differ between subjects; got {values[0]:g} for all in {name!r}. "
                "Leave it out."
            )
        return [values - values.mean()]
    levels = sorted({str(one) for one in labels})
    if len(levels) < 2:
        raise DataError(
            f"covariates must differ between subjects; got {levels[0]!r} for all in {name!r}. "
            "Leave it out."
        )
    words = np.array([str(one) for one in labels])
    return [(words == level).astype(np.float64) for level in levels[1:]]


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
    n, k = x.shape
    if n <= k or np.linalg.matrix_rank(x) < k:
        raise DataError(
            f"covariates must be told apart from the groups by more subjects than columns; got {n} "
            f"subjects, and {k} columns of groups and {named(names)}. Leave one out."
        )
    bread: Matrix = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    coefficients = bread @ x.T @ y
    left = y - x @ coefficients
    leverage = np.einsum("na,ab,nb->n", x, bread, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = left / (1.0 - leverage)[:, None]
    scores = np.einsum("ab,nb,np->npa", bread, x, scaled)  # what each subject adds
    return LeastSquares(
        coefficients,
        bread,
        np.einsum("npa,nqb->paqb", scores, scores),
        np.sqrt((left**2).sum(axis=0) / (n - k)),
        float(n - k),
    )


def adjusted_differences(
    usable: SubjectEstimates,
    labels: Sequence[Any],
    pairs: Sequence[tuple[Any, Any]],
    covariates: Covariates,
    level: float,
) -> tuple[list[Difference], list[PairTest]]:
    """Differences between groups at the same covariates, and all parameters at once.

    Parameters
    ----------
    usable
        Estimates that can be averaged.
    labels
        Group of each of them, in their order.
    pairs
        Groups to compare.
    covariates
        Of the same subjects.
    level
        Of the intervals.
    """
    groups = list(dict.fromkeys(label for pair in pairs for label in pair))
    inside = np.array([[own == group for group in groups] for own in labels])
    kept = inside.any(axis=1)
    x = np.column_stack([inside[kept].astype(np.float64), covariates.columns[kept]])
    fit = least_squares(x, usable.estimates[kept], covariates.names)
    counts = inside.sum(axis=0)
    differences, tests = [], []
    for first, second in pairs:
        a, b = groups.index(first), groups.index(second)
        contrast = np.zeros(x.shape[1])
        contrast[[a, b]] = 1.0, -1.0
        gap = contrast @ fit.coefficients
        covariance = np.einsum("a,paqb,b->pq", contrast, fit.robust, contrast)
        found = _rows(fit, contrast, gap, np.sqrt(np.diag(covariance)), level)
        enough = min(counts[a], counts[b]) > 1
        differences += [
            Difference(
                first,
                second,
                name,
                **{k: float(v[i]) if enough else np.nan for k, v in found.items()},
            )
            for i, name in enumerate(usable.names)
        ]
        none = np.zeros_like(covariance)
        joint = joint_test(gap, (covariance, none), (fit.degrees_of_freedom, np.inf))
        tests.append(PairTest(first, second, joint, np.nan))
    return differences, tests


def _rows(
    fit: LeastSquares, contrast: Vector, gap: Vector, error: Vector, level: float
) -> dict[str, Vector]:
    """Everything of the differences of one pair: t tests, intervals, and sizes of effects.

    Hedges' g is in standard deviations that are left within groups at the same covariates; its
    variance is J^2 [c'(X'X)^-1 c + (g/J)^2 / (2 f)], which without covariates is the usual one.
    """
    df = fit.degrees_of_freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = gap / error
        plain = np.where(fit.residual_sd > 0, gap / fit.residual_sd, np.nan)
    half = t_point((1 - level) / 2, df) * error
    correction = hedges_correction(df)
    spread = np.sqrt(contrast @ fit.bread @ contrast + plain**2 / (2 * df))
    wide = normal_point((1 - level) / 2) * correction * spread
    return {
        "difference": gap,
        "standard_error": error,
        "statistic": statistic,
        "degrees_of_freedom": np.full(len(gap), df),
        "low": gap - half,
        "high": gap + half,
        "p_value": np.asarray(2 * t_tail(np.abs(statistic), df)),
        "adjusted_p_value": np.full(len(gap), np.nan),
        "hedges_g": correction * plain,
        "hedges_g_low": correction * plain - wide,
        "hedges_g_high": correction * plain + wide,
    }


def without(values: Matrix, covariates: Covariates) -> Matrix:
    """What is left of values once the covariates are taken out of them by least squares.

    >>> import numpy as np
    >>> age = Covariates(("age",), np.array([[-1.0], [0.0], [1.0]]))
    >>> without(np.array([[1.0], [2.0], [3.0]]), age).round(12).ravel()
    array([0., 0., 0.])
    """
    x = np.column_stack([np.ones(len(values)), covariates.columns])
    least_squares(x, values, covariates.names)  # refuses what cannot be told apart
    return np.asarray(values - x @ np.linalg.lstsq(x, values, rcond=None)[0])
