"""Bias reduction after Firth: the likelihood times the square root of det I (Jeffreys' prior).

Finite for every identified data set, separated or not.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Maximum
from penchant.softmax.probabilities import expected_rows, log_probabilities

ENOUGH = 1e-12
NEARLY = 1e-7  # a decrement at which only rounding keeps the steps from going on
SCORING_STEPS = 15  # after these, Newton's steps
LONGEST = 100.0  # by which a step may change an objective


def information_slope(theta: Vector, choices: Choices, covariance: Matrix) -> Vector:
    """Half the derivative of log det I: (1/2) tr(I^-1 dI/dtheta_a), one per parameter."""
    p = np.exp(log_probabilities(theta, choices))
    centred = expected_rows(p, choices)
    leverage = np.einsum("ra,ra->r", centred @ covariance, centred)
    weights = (
        1.0 if choices.weights is None else np.repeat(choices.weights, np.diff(choices.first_row))
    )
    return np.asarray(0.5 * (weights * p * leverage) @ centred)


def first_order_bias(theta: Vector, choices: Choices, covariance: Matrix) -> Vector:
    """First-order bias of the maximum-likelihood estimate at theta: -I^-1 (1/2) tr(I^-1 dI)."""
    return -covariance @ information_slope(theta, choices, covariance)


def maximise_firth(
    choices: Choices,
    likelihood: Likelihood,
    origin: Vector | None = None,
    basis: Matrix | None = None,
    max_steps: int = 200,
) -> Maximum:
    """Maximise l + (1/2) log det I: steps I^-1 U*, halved while the value falls.

    With `origin` and `basis`, over the plane theta = origin + basis phi.
    """
    d = likelihood.n_parameters
    theta = np.zeros(d) if origin is None else np.array(origin)
    plane = np.eye(d) if basis is None else basis
    value, gradient, information = _penalised(theta, choices, likelihood)
    n_steps, decrement, ending = 0, np.inf, "out of steps"
    if not np.isfinite(value):
        return Maximum(theta, value, gradient, information, decrement, 0, "singular")
    largest = likelihood.largest[1]
    while n_steps <= max_steps:
        slope = plane.T @ gradient
        step = plane @ np.linalg.solve(plane.T @ information @ plane, slope)
        decrement = float(np.sqrt(max(float(gradient @ step), 0.0)))
        if decrement < ENOUGH:
            theta, ending = theta + step, "converged"
            break
        if n_steps >= SCORING_STEPS:
            step = _newton(theta, step, slope, plane, choices, likelihood)
        step = step * min(1.0, LONGEST / max(float(largest @ np.abs(step)), 1e-300))
        trial = _no_lower(theta, step, value, choices, likelihood)
        if trial is None:
            ending = "converged" if decrement < NEARLY else "stalled"
            break
        theta, (value, gradient, information) = trial
        n_steps += 1
    return Maximum(theta, value, gradient, information, decrement, n_steps, ending)


def _newton(
    theta: Vector,
    scoring: Vector,
    slope: Vector,
    plane: Matrix,
    choices: Choices,
    likelihood: Likelihood,
) -> Vector:
    """Newton's step with the penalised Hessian by differences; scoring's if that is not concave."""
    columns = []
    for direction in plane.T:
        size = 1e-4 * max(abs(float(direction @ theta)), 1e-2 / max(np.abs(direction).max(), 1e-9))
        up = _penalised(theta + size * direction, choices, likelihood)[1]
        down = _penalised(theta - size * direction, choices, likelihood)[1]
        columns.append(-(plane.T @ (up - down)) / (2 * size))
    curvature = np.column_stack(columns)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    if not values[0] > 0:
        return scoring
    return np.asarray(plane @ (vectors @ ((vectors.T @ slope) / values)))


def _no_lower(
    theta: Vector, step: Vector, value: float, choices: Choices, likelihood: Likelihood
) -> tuple[Vector, tuple[float, Vector, Matrix]] | None:
    """The longest of step, step/2, step/4 ... that does not lower the value, or None."""
    for _ in range(35):
        trial = _penalised(theta + step, choices, likelihood)
        if trial[0] >= value - 1e-13 * (1.0 + abs(value)):
            return theta + step, trial
        step = step / 2
    return None


def _penalised(
    theta: Vector, choices: Choices, likelihood: Likelihood
) -> tuple[float, Vector, Matrix]:
    """Penalised log-likelihood, its gradient, and the information; -inf where that is singular."""
    moments = likelihood.moments(theta)
    scale = np.sqrt(np.maximum(np.diag(moments.information), 0.0))
    if not (scale > 1e-150).all():  # whose square is a number
        return -np.inf, moments.gradient, moments.information
    sign, log_determinant = np.linalg.slogdet(moments.information / np.outer(scale, scale))
    if not sign > 0:
        return -np.inf, moments.gradient, moments.information
    half = 0.5 * float(log_determinant) + float(np.log(scale).sum())
    covariance = np.linalg.inv(moments.information / np.outer(scale, scale))
    covariance /= np.outer(scale, scale)
    slope = information_slope(theta, choices, covariance)
    return moments.log_likelihood + half, moments.gradient + slope, moments.information
