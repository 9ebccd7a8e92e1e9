"""Weights that must be positive: maxima on the boundary of what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.inference import _grid_kernels as grid
from penchant.inference import _kernels as compiled
from penchant.inference.rows import Rows, ranges
from penchant.softmax.batch import Batch, fit_table
from penchant.softmax.likelihood import variables_tuple
from penchant.softmax.prior import GaussianPrior, ParameterPrior

if TYPE_CHECKING:
    from penchant.inference.points import Points
    from penchant.inference.profiles import Profiles

EXACT = 1e-20  # squared Newton decrement


def keep_positive(profiles: Profiles, points: Points, x: Matrix, rows: Rows, batch: Batch) -> None:
    """Solve again, with the weight held at 0, where one that must be positive is not.

    The objective is concave: if a single weight leaves the range, its best value inside is 0.
    """
    must = profiles.positive
    wrong = points.theta[:, must] <= 0
    if not wrong.any():
        return
    for pattern in np.unique(wrong[wrong.any(axis=1)], axis=0):
        which = np.flatnonzero((wrong == pattern).all(axis=1))
        if len(must) == 1:
            _hold(profiles, points, which, must[pattern], x, rows, batch)
        else:
            held = on_faces(profiles, points, which, x, rows)
            profiles.follow(points, which[~held], x, rows)


def on_faces(
    profiles: Profiles, points: Points, which: IntVector, x: Matrix, rows: Rows
) -> BoolVector:
    """Solve some pairs where weights must not be negative; returns which of them are solved."""
    if not len(which) or profiles.prior is not None or x.shape[1] < 2:
        return np.zeros(len(which), dtype=bool)
    n, d = len(which), profiles.n_weights
    mine = rows.only(which)
    values, theta, afresh = np.empty(n), np.zeros((n, d)), np.full(n, -1)
    subject = np.ascontiguousarray(points.subject[which])
    pairs = x[ranges(rows.events, which)], profiles.decisions, subject, afresh
    grid.profile(*pairs, EXACT, profiles.positive, variables_tuple(d), values, theta)
    found = np.isfinite(values)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *mine.scored, theta, sums, gradient, information)
    done = which[found]
    points.theta[done], points.value[done] = theta[found], sums[found]
    points.information[done] = information[found]
    points.settled[done] = True
    points.decrement[done] = np.inf  # on a boundary Newton's method proves nothing
    return found


def _hold(
    profiles: Profiles,
    points: Points,
    which: IntVector,
    held: IntVector,
    x: Matrix,
    rows: Rows,
    batch: Batch,
) -> None:
    """Maximum on the face where the weights held are 0."""
    d = profiles.n_weights
    free = np.setdiff1d(np.arange(d), held)
    mine = rows.only(which)
    theta = np.zeros((len(which), d))
    settled = np.ones(len(which), dtype=bool)
    if len(free):
        prior = _prior_of(profiles.weight_prior, free, d)
        face = fit_table(x[:, :, free], rows.chosen, mine.grouping, prior)
        theta[:, free], settled = face.theta, face.converged
    n = len(which)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *mine.scored, theta, sums, gradient, information)
    spread = batch.spread[which]
    points.theta[which] = theta
    points.value[which] = sums + profiles.prior_value(theta, spread)
    points.information[which] = information + profiles.precision(spread)
    points.settled[which] = settled
    points.decrement[which] = np.inf  # on a boundary Newton's method proves nothing


def _prior_of(prior: ParameterPrior | None, free: IntVector, d: int) -> ParameterPrior | None:
    """The prior of some weights, given that the others are 0."""
    if not isinstance(prior, GaussianPrior):
        return prior
    quadratic = prior.quadratic(d, None)
    precision = quadratic.precision[np.ix_(free, free)]
    covariance = np.linalg.inv(precision)
    return GaussianPrior(covariance @ quadratic.linear[free], (covariance + covariance.T) / 2)
