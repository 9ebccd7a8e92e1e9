"""What decisions tell of theta at its true value: information, asymptotic spread, bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector


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
    >>> from penchant.study.paper.information import asymptotics
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
