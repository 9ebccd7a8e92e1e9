"""Between-subject covariance of the model theta_s ~ N(theta, Omega + C_s)."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from penchant._typing import Matrix, Vector
from penchant.population.whitening import Whitened, weighted_mean

FLAT = 1e-6  # gradient per subject, in whitened units, at which REML has arrived
NOTHING = 1e-9  # whitened variance that is no variance


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

    The search is over a root L of Omega = L L', from the moments' answer, from the spread of the
    estimates and from a small one; the highest end is taken.
    """
    n, d = white.estimates.shape
    spread = np.atleast_2d(np.cov(white.estimates.T))
    starts = (dersimonian_laird(white) + 0.01 * np.eye(d), spread + 0.01 * np.eye(d))

    def loss(flat: Vector) -> tuple[float, Vector]:
        root = flat.reshape(d, d)
        value, slope = restricted_log_likelihood(root @ root.T, white)
        return -value / n, (-2.0 * slope @ root / n).ravel()

    def search(between: Matrix) -> tuple[float, Matrix]:
        start = np.linalg.cholesky(between).ravel()
        found = optimize.minimize(
            loss, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 2000}
        )
        root = found.x.reshape(d, d)
        return float(found.fun), root @ root.T

    _, best = min((search(start) for start in starts), key=lambda end: end[0])
    between = positive_part(best)
    return between, is_maximum(between, white)


def is_maximum(between: Matrix, white: Whitened) -> bool:
    """Whether no direction raises the restricted likelihood, the cut-off ones included."""
    _, slope = restricted_log_likelihood(between, white)
    slope = slope / len(white.estimates)
    rising = float(np.linalg.eigvalsh((slope + slope.T) / 2).max())
    return rising < FLAT and float(np.abs(slope @ between).max()) < FLAT


def positive_part(matrix: Matrix) -> Matrix:
    """The nearest covariance: negative and negligible directions set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > NOTHING, values, 0.0)
    return np.asarray((vectors * kept) @ vectors.T)
