"""How much subjects differ beyond what their own uncertainty explains: Q and I2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.softmax.document import plain
from penchant.tails import chi_square_tail


@dataclass(frozen=True, eq=False)
class Heterogeneity:
    """Cochran's Q, for all parameters together and for each by itself.

    Attributes
    ----------
    q, degrees_of_freedom, p_value
        sum_s (theta_s - theta)' C_s^-1 (theta_s - theta) about the inverse-variance mean, against
        chi-square: the test that subjects have the same theta.
    i2
        Share of Q beyond its degrees of freedom, 0 to 1.
    q_each, p_each, i2_each
        The same of each parameter by itself, with (n_subjects - 1) degrees of freedom.
    between
        Covariance of the parameters between subjects, where the rule estimates it; its diagonal
        is tau2.
    """

    q: float
    degrees_of_freedom: int
    p_value: float
    i2: float
    q_each: Vector
    p_each: Vector
    i2_each: Vector
    between: Matrix | None = None

    @property
    def tau2(self) -> Vector | None:
        """Variance of each parameter between subjects, where the rule estimates it."""
        return None if self.between is None else np.diag(self.between).copy()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {
            "q": plain(self.q),
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": plain(self.p_value),
            "i2": plain(self.i2),
            "q_each": plain(self.q_each),
            "p_each": plain(self.p_each),
            "i2_each": plain(self.i2_each),
            "between": plain(self.between),
        }

    def __str__(self) -> str:
        return (
            f"Q({self.degrees_of_freedom}) = {self.q:.4g}, p = {self.p_value:.3g}, "
            f"I2 = {100 * self.i2:.0f} %"
        )


def heterogeneity(
    estimates: Matrix, covariances: Matrix, between: Matrix | None = None
) -> Heterogeneity | None:
    """Q and I2 of at least two subjects; None of fewer."""
    n, d = estimates.shape
    if n < 2:
        return None
    q = cochran_q(estimates, covariances)
    each = np.array(
        [
            cochran_q(estimates[:, [a]], covariances[:, a : a + 1, a : a + 1])  # one at a time
            for a in range(d)
        ]
    )
    df = (n - 1) * d
    return Heterogeneity(
        q,
        df,
        float(chi_square_tail(q, df)),
        float(_beyond(np.array([q]), df)[0]),
        each,
        np.asarray(chi_square_tail(each, n - 1)),
        _beyond(each, n - 1),
        between,
    )


def cochran_q(estimates: Matrix, covariances: Matrix) -> float:
    """Squared distances from the inverse-variance mean, in units of each covariance."""
    precisions = np.linalg.inv(covariances)
    total = np.einsum("sab,sb->a", precisions, estimates)
    gaps = estimates - np.linalg.solve(precisions.sum(axis=0), total)
    return float(np.einsum("sa,sab,sb->", gaps, precisions, gaps))


def _beyond(q: Vector, df: int) -> Vector:
    return np.asarray(np.where(q > df, 1.0 - df / np.maximum(q, df), 0.0))
