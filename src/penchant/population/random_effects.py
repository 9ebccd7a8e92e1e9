"""Between-subject covariance of the model theta_s ~ N(theta, Omega + C_s)."""

from __future__ import annotations

import numpy as np
import scipy

from penchant._typing import Matrix, Vector
from penchant.population.whitening import Whitened, weighted_mean

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
