"""Between-subject covariance of the model theta_s ~ N(theta, Omega + C_s), and heterogeneity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import Matrix, Vector
from penchant.output.document import plain
from penchant.tails import chi_square_tail


@dataclass(frozen=True, eq=False)
class Whitened:
    """Estimates and covariances in units of their pooled precision.

    z = R theta with R'R the mean of the precisions C_s^-1. Parameters as unlike in size as 1e-7 and
    10 become alike, and no result depends on their units or on how they are combined.
    """

    estimates: Matrix
    covariances: Matrix
    root: Matrix

    @classmethod
    def of(cls, estimates: Matrix, covariances: Matrix, between: Matrix | None = None) -> Whitened:
        """The units of these subjects; with what is `between` them added to each covariance."""
        spread = covariances if between is None else covariances + between
        unit = np.exp(0.5 * np.log(spread.diagonal(0, 1, 2)).mean(axis=0))
        precision = np.linalg.inv(spread / np.outer(unit, unit)).mean(axis=0)
        root = np.linalg.cholesky((precision + precision.T) / 2).T / unit
        return cls(estimates @ root.T, np.einsum("ab,sbc,dc->sad", root, covariances, root), root)

    def covariance_here(self, covariance: Matrix) -> Matrix:
        """A covariance of the user's units in these."""
        made = self.root @ covariance @ self.root.T
        return np.asarray((made + made.T) / 2)

    def mean_back(self, mean: Vector) -> Vector:
        """A mean in the units of the user."""
        return np.asarray(np.linalg.solve(self.root, mean))

    def covariance_back(self, covariance: Matrix) -> Matrix:
        """A covariance in the units of the user."""
        inverse = np.linalg.inv(self.root)
        made = inverse @ covariance @ inverse.T
        return np.asarray((made + made.T) / 2)


def weighted_mean(estimates: Matrix, covariances: Matrix) -> tuple[Vector, Matrix]:
    """Inverse-variance mean and its covariance: C = (sum C_s^-1)^-1, C sum C_s^-1 theta_s."""
    precisions = np.linalg.inv(covariances)
    covariance = np.linalg.inv(precisions.sum(axis=0))
    return covariance @ np.einsum("sab,sb->a", precisions, estimates), covariance


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


FLAT = 1e-6  # gradient per subject, in whitened units, at which REML has arrived
NOTHING = 1e-9  # whitened variance that is no variance
SMALL = 1e-2  # whitened variance to begin with where there is none
ROUNDS = 8


def dersimonian_laird(white: Whitened) -> Matrix:
    """Method of moments, for several parameters at once (Jackson, White and Riley, 2013).

    With W_s = C_s^-1, A = sum W_s and Q = sum W_s (theta_s - theta)(theta_s - theta)', the
    expectation of Q is (n - 1) I + (A - sum W_s A^-1 W_s) Omega. For one parameter this is
    DerSimonian and Laird's formula. Negative directions are cut off.
    """
    weights = np.linalg.inv(white.covariances)
    total = weights.sum(axis=0)
    mean, _ = weighted_mean(white.estimates, white.covariances)
    gaps = white.estimates - mean
    n, d = white.estimates.shape
    q = np.einsum("sab,sb,sc->ac", weights, gaps, gaps)
    lost = np.einsum("sab,bc,scd->ad", weights, np.linalg.inv(total), weights)
    raw = np.linalg.solve(total - lost, q - (n - 1) * np.eye(d))
    return positive_part((raw + raw.T) / 2)


def restricted_log_likelihood(between: Matrix, white: Whitened) -> tuple[float, Matrix]:
    """REML and its derivative in Omega.

    -1/2 [sum log|V_s| + sum r_s' V_s^-1 r_s + log|sum V_s^-1|] with V_s = C_s + Omega, and
    1/2 sum V_s^-1 (r_s r_s' + P - V_s) V_s^-1 with P = (sum V_s^-1)^-1.
    """
    spread = white.covariances + between
    inverse = np.linalg.inv(spread)
    mean, certainty = weighted_mean(white.estimates, spread)
    gaps = white.estimates - mean
    pulls = np.einsum("sab,sb->sa", inverse, gaps)
    value = np.linalg.slogdet(spread)[1].sum() + (gaps * pulls).sum()
    value -= np.linalg.slogdet(certainty)[1]
    slope = np.einsum("sa,sb->ab", pulls, pulls) - inverse.sum(axis=0)
    slope += np.einsum("sab,bc,scd->ad", inverse, certainty, inverse)
    return -0.5 * float(value), 0.5 * slope


def reml(white: Whitened) -> tuple[Matrix, bool]:
    """Omega of largest restricted likelihood, and whether the search arrived.

    The search is over a root L of Omega = L L'. It begins at the most likely of some covariances of
    all sizes, and is repeated in units of what it found, as subjects may be known to a thousandth
    or to a thousand of what is between them.
    """
    between = max(_candidates(white), key=lambda omega: restricted_log_likelihood(omega, white)[0])
    for _ in range(ROUNDS):
        own = Whitened.of(white.estimates, white.covariances, between)
        peak = _climb(own.covariance_here(between), own)
        between = own.covariance_back(positive_part(peak))
        if is_maximum(between, white):
            return between, True
    return between, False


def _candidates(white: Whitened) -> list[Matrix]:
    """Covariances from nothing to the spread of all estimates, and the moments' answer."""
    spread = np.atleast_2d(np.cov(white.estimates.T))
    moments = dersimonian_laird(white)
    sizes = 10.0 ** np.arange(-2.0, np.log10(max(float(np.trace(spread)), 1.0)) + 1.0, 0.5)
    return [moments, spread, *(size * np.eye(len(spread)) for size in sizes)]


def _climb(start: Matrix, white: Whitened) -> Matrix:
    """The nearest maximum of the restricted likelihood."""
    n, d = white.estimates.shape

    def loss(flat: Vector) -> tuple[float, Vector]:
        root = flat.reshape(d, d)
        value, slope = restricted_log_likelihood(root @ root.T, white)
        return -value / n, (-2.0 * slope @ root / n).ravel()

    begin = np.linalg.cholesky(start + SMALL * np.eye(d)).ravel()
    options = {"gtol": 1e-9, "maxiter": 500}
    found = scipy.optimize.minimize(loss, begin, jac=True, method="BFGS", options=options)
    root = found.x.reshape(d, d)
    return np.asarray(root @ root.T)


def is_maximum(between: Matrix, white: Whitened) -> bool:
    """Whether no direction raises the restricted likelihood, the cut-off ones included."""
    own = Whitened.of(white.estimates, white.covariances, between)
    here = own.covariance_here(between)
    _, slope = restricted_log_likelihood(here, own)
    slope = slope / len(own.estimates)
    rising = float(np.linalg.eigvalsh((slope + slope.T) / 2).max())
    return rising < FLAT and float(np.abs(slope @ here).max()) < FLAT


def positive_part(matrix: Matrix) -> Matrix:
    """The nearest covariance: negative and negligible directions set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > NOTHING, values, 0.0)
    return np.asarray((vectors * kept) @ vectors.T)
