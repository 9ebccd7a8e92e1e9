"""Joint covariance of weights and shape parameters: inverse of their observed information."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.inference.profile._inner_problem_kernels import MIN_INFORMATION
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.local_maxima import Optima, pseudoinverse

# Elasticity (per cent of a weight by one per cent of psi) beyond which the weight counts as known
# only together with psi: half-way between 0, independent, and 1, proportional.
MIN_ELASTICITY = 0.5


def joint_covariances(
    profiles: ProfileProblems, optima: Optima, weights_at_zero: BoolVector
) -> Matrix:
    """Inverse joint observed information of weights and psi, one for each optimum.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi at the end of its range and weights held at 0 have
    none, nor has any parameter where the curvature is not positive, nor have weights that depend
    on where the range of the search ends: see `_are_weights_set_by_range_end`.
    """
    d, q, n = profiles.n_weights, profiles.n_shape, len(optima)
    information, held, drift = optima.points.information, optima.at_bound, optima.weight_derivatives
    curvature, jacobian = optima.curvature, profiles.jacobian(optima.points.psi)
    closed = held[:, :, None] | held[:, None, :]
    shape = pseudoinverse(np.where(closed, np.eye(q), curvature)) * ~closed
    inner = pseudoinverse(information)
    covariance = np.empty((n, d + q, d + q))
    covariance[:, :d, :d] = inner + drift @ shape @ drift.transpose(0, 2, 1)
    mixed = drift @ shape * jacobian[:, None, :]
    covariance[:, :d, d:], covariance[:, d:, :d] = mixed, mixed.transpose(0, 2, 1)
    covariance[:, d:, d:] = shape * jacobian[:, :, None] * jacobian[:, None, :]
    without = np.concatenate([np.zeros((n, d), dtype=bool), held], axis=1)
    without[:, profiles.positive] |= weights_at_zero
    without[:, :d] |= _are_weights_set_by_range_end(profiles, optima)
    covariance[without[:, :, None] | without[:, None, :]] = np.nan
    flat = ~_are_positive_definite(np.where(closed, np.eye(q), curvature))
    covariance[flat | ~_are_positive_definite(information)] = np.nan
    return covariance


def _are_weights_set_by_range_end(profiles: ProfileProblems, optima: Optima) -> BoolVector:
    """Weights that follow a psi held where the search ended: (n, n_weights).

    A positive psi is held there at an end of a logarithmic range, or at the lower end of another
    one: it may go on to 0 or to infinity. A weight that changes in proportion to it, such as one
    over a learning rate, is known only together with it: its standard error would be that of where
    the range ends.
    """
    psi, theta = optima.points.psi, np.abs(optima.points.theta)
    decided = np.zeros(theta.shape, dtype=bool)
    for q, one in enumerate(profiles.shape):
        if one.low > 0:
            open_end = optima.at_bound[:, q] & ((one.scale == "log") | (psi[:, q] <= one.low))
            relative = psi[:, q] / np.broadcast_to(one.jacobian(psi[:, q]), len(psi))
            moves = np.abs(optima.weight_derivatives[:, :, q]) * relative[:, None]
            decided |= open_end[:, None] & (moves > MIN_ELASTICITY * theta)
    return decided


def _are_positive_definite(matrices: Matrix) -> BoolVector:
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    fine &= (diagonal > MIN_INFORMATION).all(axis=1)
    if not matrices.shape[1]:
        return fine
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, np.eye(matrices.shape[1]))
    values = np.linalg.eigvalsh(scaled / scale[:, :, None] / scale[:, None, :])
    return np.asarray(fine & (values[:, 0] > 0))
