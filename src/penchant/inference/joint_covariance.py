"""Joint covariances of weights and psi at the peaks of many profiles."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.inference.climbing import pseudoinverse
from penchant.inference.peaks import Peaks
from penchant.inference.profiles import Profiles

PROPORTIONAL = 0.5  # elasticity: by how many per cent a weight changes with one of psi


def joint_covariances(profiles: Profiles, peaks: Peaks, touched: BoolVector) -> Matrix:
    """Inverses of the joint observed information of weights and psi, one for each peak.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi at the end of its range and weights held at 0 have
    none; where the curvature is not positive nothing has. Nor have weights that would be others if
    the search had ended elsewhere: see `_artefacts`.
    """
    d, q, n = profiles.n_weights, profiles.n_shape, len(peaks)
    information, held, drift = peaks.points.information, peaks.at_bound, peaks.drift
    curvature, stretch = peaks.curvature, profiles.stretch(peaks.points.psi)
    closed = held[:, :, None] | held[:, None, :]
    shape = pseudoinverse(np.where(closed, np.eye(q), curvature)) * ~closed
    inner = pseudoinverse(information)
    covariance = np.empty((n, d + q, d + q))
    covariance[:, :d, :d] = inner + drift @ shape @ drift.transpose(0, 2, 1)
    mixed = drift @ shape * stretch[:, None, :]
    covariance[:, :d, d:], covariance[:, d:, :d] = mixed, mixed.transpose(0, 2, 1)
    covariance[:, d:, d:] = shape * stretch[:, :, None] * stretch[:, None, :]
    without = np.concatenate([np.zeros((n, d), dtype=bool), held], axis=1)
    without[:, profiles.positive] |= touched
    without[:, :d] |= _artefacts(profiles, peaks)
    covariance[without[:, :, None] | without[:, None, :]] = np.nan
    flat = ~_positive_definite(np.where(closed, np.eye(q), curvature))
    covariance[flat | ~_positive_definite(information)] = np.nan
    return covariance


def _artefacts(profiles: Profiles, peaks: Peaks) -> BoolVector:
    """Weights that follow a psi held where the search ended: (n, n_weights).

    A positive psi is held there at an end of a logarithmic range, or at the lower end of another
    one: it may go on to 0 or to infinity. A weight that changes in proportion to it, such as one
    over a learning rate, is known only together with it: its standard error would be that of where
    the range ends.
    """
    psi, theta = peaks.points.psi, np.abs(peaks.points.theta)
    decided = np.zeros(theta.shape, dtype=bool)
    for q, one in enumerate(profiles.shape):
        if one.low > 0:
            open_end = peaks.at_bound[:, q] & ((one.scale == "log") | (psi[:, q] <= one.low))
            relative = psi[:, q] / np.broadcast_to(one.stretch(psi[:, q]), len(psi))
            moves = np.abs(peaks.drift[:, :, q]) * relative[:, None]
            decided |= open_end[:, None] & (moves > PROPORTIONAL * theta)
    return decided


def _positive_definite(matrices: Matrix) -> BoolVector:
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    fine &= (diagonal > 0).all(axis=1)
    if not matrices.shape[1]:
        return fine
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, np.eye(matrices.shape[1]))
    values = np.linalg.eigvalsh(scaled / scale[:, :, None] / scale[:, None, :])
    return np.asarray(fine & (values[:, 0] > 0))
