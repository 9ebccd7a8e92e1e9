"""What an estimator found out, and the inverse of the information, Eqs. (7) and (9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Maximum


@dataclass(frozen=True)
class Solution:
    """Everything the estimator found out.

    Attributes
    ----------
    theta
        The maximum; its limit in a separated direction; NaN where not identified.
    covariance
        Inverse information of what is identified, NaN elsewhere.
    log_likelihood
        Of the choices alone, at theta or its supremum.
    recession
        Direction of separation in the user's units, or None.
    certainty
        Covariance before parameters were blanked: usable for identified combinations.
    point
        theta with a number everywhere, for which `certainty` holds.
    """

    theta: Vector
    covariance: Matrix
    log_likelihood: float
    log_posterior: float | None
    known: Identification
    ending: str
    decrement: float
    n_steps: int
    condition: float
    certificate: str | None
    recession: Vector | None
    resolved: BoolVector | None
    near: Vector | None
    active: BoolVector | None
    point: Vector
    certainty: Matrix


def scaled_inverse(information: Matrix) -> tuple[Matrix, float]:
    """Inverse of the information, and its condition number, both by way of a unit diagonal."""
    if not len(information):
        return information.copy(), 1.0
    if not (np.isfinite(information).all() and (np.diag(information) > 0).all()):
        return np.full_like(information, np.nan), np.inf
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if not values[0] > 0:
        return np.full_like(information, np.nan), np.inf
    with np.errstate(over="ignore"):  # far out, where no choice is left to chance
        inverse = (vectors / values) @ vectors.T / scale[:, None] / scale[None, :]
    if not np.isfinite(inverse).all():
        return np.full_like(information, np.nan), np.inf
    return np.asarray(inverse / 2 + inverse.T / 2), float(values[-1] / values[0])


def blank(theta: Vector, covariance: Matrix, keep: BoolVector) -> tuple[Vector, Matrix]:
    """NaN for the parameters not kept."""
    shown = np.where(keep, theta, np.nan)
    return shown, np.where(np.outer(keep, keep), covariance, np.nan)


def nothing_identified(likelihood: Likelihood, known: Identification) -> Solution:
    """No variable varies inside any set: the choices tell nothing of theta."""
    d = len(known.scale)
    moments = likelihood.moments(np.zeros(d))
    blank_matrix = np.full((d, d), np.nan)
    return Solution(
        theta=np.full(d, np.nan),
        covariance=blank_matrix,
        log_likelihood=moments.log_likelihood,
        log_posterior=None,
        known=known,
        ending="converged",
        decrement=0.0,
        n_steps=0,
        condition=np.inf,
        certificate=None,
        recession=None,
        resolved=None,
        near=None,
        active=None,
        point=np.zeros(d),
        certainty=np.zeros((d, d)),
    )


def penalised_solution(
    log_likelihood: float, known: Identification, maximum: Maximum, proof: str
) -> Solution:
    """A maximum that a prior or penalty makes exist, in the coordinates it was found in."""
    covariance, condition = scaled_inverse(maximum.information)
    return Solution(
        theta=maximum.theta,
        covariance=covariance,
        log_likelihood=log_likelihood,
        log_posterior=maximum.value,
        known=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        recession=None,
        resolved=None,
        near=None,
        active=None,
        point=maximum.theta,
        certainty=covariance,
    )
