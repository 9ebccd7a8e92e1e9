"""Tests of linear hypotheses R theta = r: Wald, likelihood ratio, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, nearest
from penchant.softmax.constraints import null_basis
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Restricted, maximise
from penchant.softmax.solution import unit_weights
from penchant.tails import chi_square_tail


@dataclass(frozen=True)
class TestResult:
    """A chi-square test.

    Attributes
    ----------
    kind
        "wald", "likelihood ratio" or "score".
    """

    __test__ = False  # not for pytest to collect

    kind: str
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def __str__(self) -> str:
        return (
            f"{self.kind} test: chi-square({self.degrees_of_freedom}) = {self.statistic:.4g}, "
            f"p = {self.p_value:.3g}"
        )


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """R theta = r."""

    matrix: Matrix
    values: Vector

    @classmethod
    def of(cls, hypothesis: Any, names: Sequence[str]) -> Hypothesis:
        """From names (all 0), {name: value}, a matrix R (r = 0), or a pair (R, r)."""
        if isinstance(hypothesis, str):
            hypothesis = [hypothesis]
        if hasattr(hypothesis, "__len__") and len(hypothesis) == 0:
            raise DataError("hypothesis must name at least one parameter; got none. Name one.")
        if isinstance(hypothesis, Mapping):
            return cls._of_names(dict(hypothesis), names)
        if isinstance(hypothesis, (list, tuple)) and all(isinstance(h, str) for h in hypothesis):
            return cls._of_names(dict.fromkeys(hypothesis, 0.0), names)
        if isinstance(hypothesis, tuple) and len(hypothesis) == 2:
            return cls._of_matrix(*hypothesis, len(names))
        return cls._of_matrix(hypothesis, None, len(names))

    @classmethod
    def _of_names(cls, values: dict[str, float], names: Sequence[str]) -> Hypothesis:
        matrix = np.zeros((len(values), len(names)))
        for i, name in enumerate(values):
            if name not in names:
                raise DataError(
                    f"hypothesis must name parameters; got {name!r}, but they are "
                    f"{', '.join(names)}.{nearest(name, names) or ' Correct it.'}"
                )
            matrix[i, list(names).index(name)] = 1.0
        return cls(matrix, np.array(list(values.values()), dtype=np.float64))

    @classmethod
    def _of_matrix(cls, matrix: Any, values: Any, n_parameters: int) -> Hypothesis:
        rows = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        right = np.zeros(len(rows)) if values is None else np.atleast_1d(values).astype(np.float64)
        if rows.shape[1] != n_parameters or right.shape != (len(rows),):
            raise DataError(
                f"hypothesis must have {n_parameters} columns and one value per row; got shapes "
                f"{rows.shape} and {right.shape}. Match the parameters."
            )
        if np.linalg.matrix_rank(rows) < len(rows):
            raise DataError("hypothesis must have independent rows; got dependent ones. Drop one.")
        return cls(rows, right)

    def point(self) -> Vector:
        """Some theta that satisfies it."""
        return np.asarray(np.linalg.lstsq(self.matrix, self.values, rcond=None)[0])


def _result(kind: str, statistic: float, df: int) -> TestResult:
    p = float(chi_square_tail(statistic, df)) if df else 1.0
    return TestResult(kind, statistic if df else 0.0, df, p)


def wald_test(theta: Vector, covariance: Matrix, hypothesis: Hypothesis) -> TestResult:
    """Distance of R theta from r in the metric of its covariance."""
    involved = (hypothesis.matrix != 0).any(axis=0)
    rows = hypothesis.matrix[:, involved]
    gap = rows @ theta[involved] - hypothesis.values
    spread = rows @ covariance[np.ix_(involved, involved)] @ rows.T
    if not (np.isfinite(spread).all() and np.isfinite(gap).all()):
        raise DataError(
            "hypothesis must concern parameters with a standard error; got one without. "
            "Use the likelihood-ratio test."
        )
    statistic = float(gap @ np.linalg.solve(spread, gap))
    return _result("wald", statistic, len(hypothesis.values))


def identified_plane(rows: Matrix, unidentified: Matrix, scale: Vector) -> Matrix:
    """Basis of the plane rows @ v = 0, less directions in it that change nothing."""
    plane = null_basis(rows, len(scale), scale)
    if not len(unidentified) or not plane.shape[1]:
        return plane
    unit = np.where(scale > 0, scale, 1.0)
    null, _ = np.linalg.qr((unidentified * unit).T)
    inside = plane * unit[:, None]
    _, singular, right = np.linalg.svd(inside - null @ (null.T @ inside))
    kept = int((singular > 1e-9).sum())
    return np.ascontiguousarray(plane @ right[:kept].T)


def restricted_maximum(
    likelihood: Likelihood, hypothesis: Hypothesis, unidentified: Matrix, scale: Vector
) -> tuple[Vector, Maximum, int]:
    """Maximum under the hypothesis, and how many identified directions that takes away."""
    origin = hypothesis.point()
    d = likelihood.n_parameters
    basis = identified_plane(hypothesis.matrix, unidentified, scale)
    df = d - len(unidentified) - basis.shape[1]
    if not basis.shape[1]:
        moments = likelihood.moments(origin)
        at = Maximum(
            origin, moments.log_likelihood, moments.gradient, moments.information, 0.0, 0, "fixed"
        )
        return origin, at, df
    inner = maximise(Restricted(likelihood, origin, basis), patient=True)
    return origin + basis @ inner.theta, inner, df


def likelihood_ratio_test(
    log_likelihood: float,
    choices: Choices,
    hypothesis: Hypothesis,
    unidentified: Matrix,
    scale: Vector,
) -> TestResult:
    """Twice the log-likelihood that the hypothesis costs."""
    work, unit = unit_weights(choices)
    _, inner, df = restricted_maximum(likelihood_of(work), hypothesis, unidentified, scale)
    return _result("likelihood ratio", 2 * (log_likelihood / unit - inner.value) * unit, df)


def score_test(
    choices: Choices, hypothesis: Hypothesis, unidentified: Matrix, scale: Vector
) -> TestResult:
    """Length of the gradient at the restricted estimate: needs no unrestricted one."""
    work, unit = unit_weights(choices)
    likelihood = likelihood_of(work)
    theta, _, df = restricted_maximum(likelihood, hypothesis, unidentified, scale)
    moments = likelihood.moments(theta)
    plane = identified_plane(np.empty((0, len(theta))), unidentified, scale)
    slope = plane.T @ moments.gradient
    statistic = float(slope @ np.linalg.solve(plane.T @ moments.information @ plane, slope))
    return _result("score", statistic * unit, df)
