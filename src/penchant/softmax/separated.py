"""The limit of estimates along a direction that separates the choices."""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.identification import Identification
from penchant.softmax.solution import Solution, blank


def limit_along(
    choices: Choices, known: Identification, direction: Vector, rest: Solution
) -> tuple[Vector, Matrix]:
    """Parameters in the limit: infinite along the direction, finite where the rest identifies."""
    where = np.zeros(len(direction))
    if known.complete:
        where = separating.limits(choices, known.scale, direction)
    finite = rest.known.identified & (where == 0) & known.identified & np.isfinite(rest.theta)
    theta, covariance = blank(rest.theta, rest.covariance, finite)
    theta = np.where(np.isinf(where), where, theta)
    return theta, covariance


def cleaned(direction: Vector, known: Identification) -> Vector:
    """Entries that are rounding noise in standard units set to 0; the largest made 1."""
    size = np.abs(direction * known.scale)
    kept = np.where(size > 1e-8 * size.max(), direction, 0.0)
    return np.asarray(kept / np.abs(kept).max())
