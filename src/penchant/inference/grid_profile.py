"""The profiles of many subjects on the grid of psi, each point from its neighbour."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference import _grid_kernels as compiled
from penchant.inference.grids import CoarseGrid, Grids, grid_points, local_maxima
from penchant.inference.profiles import NUMBERS_AT_ONCE, Profiles
from penchant.softmax.likelihood import variables_tuple

NEAR = 1e-7  # squared Newton decrement from which one step more is as good as exact
CLOSE = 3.0  # log-units below the best within which no point of a grid is left out
DEEP = 12.0  # and within which all local maxima are looked at closely
ROUNDS = 2  # of looking closer
FEWEST = 9  # points along an axis of which some are left out at first


def whole_grids(profiles: Profiles) -> Grids:
    """The profile at every point of the grid."""
    psi, dimensions = grid_points(profiles.model)
    values, theta = _on_lines(profiles, psi, dimensions[-1] if dimensions else 1)
    return Grids(psi, values, theta, dimensions, np.ones(values.shape, dtype=bool))


def searched_grids(profiles: Profiles) -> Grids:
    """The profile on the grid where it may matter for its maximum; elsewhere about what it is.

    Few points along each axis are looked at, then those between them that lie beside points which
    are among the best, or local maxima; and again. In between values are linear, and weights those
    of a neighbour.
    """
    psi, dimensions = grid_points(profiles.model)
    return _searched(profiles, psi, dimensions, ROUNDS if dimensions else 0)


def _searched(profiles: Profiles, psi: Matrix, dimensions: tuple[int, ...], rounds: int) -> Grids:
    """The same of some grid, from one that is coarser by as many rounds."""
    if rounds == 0 or min(dimensions) < FEWEST:
        values, theta = _on_lines(profiles, psi, dimensions[-1] if dimensions else 1)
        return Grids(psi, values, theta, dimensions, np.ones(values.shape, dtype=bool))
    coarse = CoarseGrid.of(dimensions)
    found = _searched(profiles, psi[coarse.cells], coarse.shape, rounds - 1)
    values, theta = coarse.filled(found.values), found.theta[:, coarse.corners]
    looked = np.zeros(values.shape, dtype=bool)
    looked[:, coarse.cells] = found.looked
    wanted = coarse.around(_worth_a_look(found)) & ~looked
    subject, cell = np.nonzero(wanted)
    values[wanted], theta[wanted] = _one_by_one(profiles, subject, psi[cell], theta[wanted])
    return Grids(psi, values, theta, dimensions, looked | wanted)


def _worth_a_look(grids: Grids) -> BoolVector:
    """Points whose surroundings may hold the maximum."""
    below = grids.values.max(axis=1, keepdims=True) - grids.values
    top = local_maxima(grids.values, grids.dimensions)
    return np.asarray(grids.looked & ((below < CLOSE) | top & (below < DEEP)))


def _is_compiled(profiles: Profiles) -> bool:
    return profiles.prior is None and profiles.n_options >= 2


def _on_lines(profiles: Profiles, psi: Matrix, n_last: int) -> tuple[Matrix, Matrix]:
    """Objective (n_subjects, n_psi) and weights (n_subjects, n_psi, n_weights) of all subjects.

    psi (n_psi, n_shape) lie in lines of n_last neighbours each.
    """
    n, d = len(profiles.groups), profiles.n_weights
    values, theta = np.empty((n, len(psi))), np.empty((n, len(psi), d))
    everyone = np.arange(n)
    if not _is_compiled(profiles):
        pairs = np.repeat(everyone, len(psi)), np.tile(psi, (n, 1))
        points = profiles.solve(*pairs, with_slopes=False, patient=False)
        return points.value.reshape(n, -1), points.theta.reshape(theta.shape)
    for who, some in _portions(profiles, len(psi)):
        n_who, n_some = who.stop - who.start, some.stop - some.start
        subject = np.repeat(everyone[who], n_some)
        near = _neighbours(n_some, n_last, n_who)
        best = np.zeros((len(subject), d))
        found = _solve(profiles, subject, np.tile(psi[some], (n_who, 1)), near, best)
        values[who, some] = found.reshape(n_who, n_some)
        theta[who, some] = best.reshape(n_who, n_some, d)
    return values, theta


def _one_by_one(
    profiles: Profiles, subject: IntVector, psi: Matrix, start: Matrix
) -> tuple[Vector, Matrix]:
    """Objective and weights of pairs of a subject and a psi, each from weights of its own."""
    if not len(subject):
        return np.empty(0), start
    if not _is_compiled(profiles):
        points = profiles.solve(subject, psi, with_slopes=False, patient=False)
        return points.value, points.theta
    theta, afresh = start.copy(), np.full(len(subject), -1)
    parts = [
        _solve(profiles, subject[some], psi[some], afresh[some], theta[some])
        for some in (slice(*ends) for ends in profiles.portions(subject))
    ]
    return np.concatenate(parts), theta


def _portions(profiles: Profiles, n_psi: int) -> Iterator[tuple[slice, slice]]:
    """Subjects and psi whose variables fit into memory together.

    A subject's psi are split by its own size alone, so that no result depends on the company.
    """
    numbers = np.diff(profiles.first_event) * profiles.n_options * profiles.n_weights
    first = 0
    while first < len(numbers):
        at_once = max(1, NUMBERS_AT_ONCE // max(int(numbers[first]), 1))
        if at_once < n_psi:
            for begin in range(0, n_psi, at_once):
                yield slice(first, first + 1), slice(begin, min(begin + at_once, n_psi))
            first += 1
            continue
        whole = np.cumsum(numbers[first:]) * n_psi <= NUMBERS_AT_ONCE
        last = first + max(1, int(whole.sum()))
        yield slice(first, last), slice(0, n_psi)
        first = last


def _neighbours(n_psi: int, n_last: int, n_subjects: int) -> IntVector:
    """The pair whose weights each starts from: before it in its line, or where the last began."""
    point = np.arange(n_psi)
    before = point - np.where(point % n_last, 1, n_last)
    first = n_psi * np.arange(n_subjects)[:, None]
    return np.asarray(np.where(before >= 0, before + first, -1).ravel())


def _solve(
    profiles: Profiles, subject: IntVector, psi: Matrix, near: IntVector, theta: Matrix
) -> Vector:
    """The objective of pairs; theta, from where they start unless near others, is filled."""
    x, _ = profiles.variables(subject, psi, False)
    if not np.isfinite(x.sum()):
        profiles.check_finite(x, profiles.rows(subject))
    values = np.empty(len(subject))
    compiled.profile(
        np.ascontiguousarray(x),
        profiles.decisions,
        np.ascontiguousarray(subject),
        near,
        NEAR,
        profiles.positive,
        variables_tuple(profiles.n_weights),
        values,
        theta,
    )
    left = np.flatnonzero(np.isnan(values))
    if len(left):
        points = profiles.solve(subject[left], psi[left], with_slopes=False, patient=False)
        values[left], theta[left] = points.value, points.theta
    return values
