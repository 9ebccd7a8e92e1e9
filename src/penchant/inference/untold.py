"""Shape parameters that choices do not tell where a part of them is certain in the limit."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.inference.problem import Problem
from penchant.models.natural_prior import NaturalPrior
from penchant.softmax.solution import Solution

NONE = 1e-9  # of an information scaled to unit diagonal: what is left of none at all


def told(problem: Problem, psi: Vector, solution: Solution) -> BoolVector:
    """Shape parameters that the decisions left undecided along a separating direction tell.

    Decisions that are certain in the limit say nothing more of psi: it may move until one of them
    is lost. The others are the choices of a model of their own, of which psi may be identified. A
    density of the prior tells it, whatever the choices say.
    """
    assert solution.resolved is not None and solution.recession is not None
    x, slopes = problem.variables_and_slopes(psi)
    n, n_options, d = x.shape
    possible = ~solution.resolved.reshape(n, n_options)
    theta = np.where(np.isfinite(solution.point), solution.point, 0.0)
    moved = np.einsum("qnid,d->niq", slopes, theta)
    sharp = np.einsum("qnid,d->niq", slopes, solution.recession)
    information = _information(np.concatenate([x, moved], axis=2), x @ theta, possible)
    own = np.diag(_information(sharp, x @ theta, possible)) > 0
    return np.asarray(own | _identified(information)[d:] | _held(problem))


def _held(problem: Problem) -> BoolVector:
    """Shape parameters that the prior has a density of."""
    held = np.zeros(problem.n_shape, dtype=bool)
    if isinstance(problem.prior, NaturalPrior):
        named = [n for n in problem.profiles.natural if n.name in problem.prior.densities]
        held[[n.index for n in named if n.kind == "shape"]] = True
    return held


def _information(columns: Matrix, objective: Matrix, possible: BoolVector) -> Matrix:
    """Scatter of columns (n, n_options, c) among the options that are still possible."""
    top = np.where(possible, objective, -np.inf).max(axis=1, keepdims=True)
    p = np.where(possible, np.exp(np.where(possible, objective - top, 0.0)), 0.0)
    p /= p.sum(axis=1, keepdims=True)
    away = np.where(possible[:, :, None], columns, 0.0)
    away = away - np.einsum("ni,nic->nc", p, away)[:, None]
    found: Matrix = np.einsum("ni,nia,nib->ab", p, away, away)
    size = np.einsum("ni,nia,nia->a", p, columns, columns)
    noise = NONE**2 * np.sqrt(np.outer(size, size))  # what rounding leaves of equal columns
    return np.where(np.abs(found) > noise, found, 0.0)


def _identified(information: Matrix) -> BoolVector:
    """Parameters that no direction without information changes."""
    diagonal = np.diag(information)
    known = diagonal > 0
    scale = np.sqrt(np.where(known, diagonal, 1.0))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    null = vectors[:, values < NONE]
    return np.asarray(known & (np.abs(null) < np.sqrt(NONE)).all(axis=1))
