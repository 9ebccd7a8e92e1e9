"""What weights that follow psi make of curvatures, and how far they run."""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile.pairs import Planes, Points
from penchant.inference.profile.profiles import Profiles

NOTHING = compiled.NOTHING


def expected_drift(profiles: Profiles, points: Points, planes: Planes | None = None) -> Matrix:
    """Derivative of the best weights in psi, as it is expected: (n, n_weights, n_shape)."""
    return np.asarray(-free_inverse(profiles, points, planes) @ points.mixed)


def expected_curvature(points: Points, drift: Matrix) -> Matrix:
    """Minus the Hessian of profiles, as it is expected if weights follow psi like `drift`."""
    return np.asarray(points.fisher + points.mixed.transpose(0, 2, 1) @ drift)


def run_off(points: Points, drift: Matrix) -> Vector:
    """How many times their own size the best weights move along a search unit, at points.

    Where psi comes to an edge at which variables vanish, weights grow without end.
    """
    moved = np.einsum("kaq,kab,kbq->kq", drift, points.information, drift)
    size = np.einsum("ka,kab,kb->k", points.theta, points.information, points.theta)
    least = np.finfo(np.float64).tiny
    return np.asarray(np.sqrt(moved.max(axis=1) / np.maximum(size, least)))


def free_inverse(profiles: Profiles, points: Points, planes: Planes | None = None) -> Matrix:
    """Inverse information of the weights that may move: not held at 0, and on their planes."""
    held = np.zeros(points.theta.shape, dtype=bool)
    held[:, profiles.positive] = points.theta[:, profiles.positive] <= 0
    cut = np.where(held[:, :, None] | held[:, None, :], 0.0, points.information)
    if planes is None:
        return pseudoinverse(cut)
    across = planes.basis.transpose(0, 2, 1)
    return np.asarray(planes.basis @ pseudoinverse(across @ cut @ planes.basis) @ across)


def pseudoinverse(matrices: Matrix) -> Matrix:
    """Inverses by way of a unit diagonal; zeros for directions without information."""
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    scale = np.sqrt(np.where(diagonal > NOTHING, diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, 0.0) / scale[:, :, None] / scale[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    large = values > 1e-14
    inverted = np.where(large, 1.0 / np.where(large, values, 1.0), 0.0)
    inverse = (vectors * inverted[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(inverse / scale[:, :, None] / scale[:, None, :])
