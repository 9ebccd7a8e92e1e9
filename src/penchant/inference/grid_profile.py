"""The profiles of many subjects at all points of a grid, each point from its neighbour."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.inference import _grid_kernels as compiled
from penchant.inference.profiles import NUMBERS_AT_ONCE, Profiles
from penchant.softmax.likelihood import variables_tuple

NEAR = 1e-7  # squared Newton decrement from which one step more is as good as exact


def profiles_on_grid(profiles: Profiles, psi: Matrix, n_last: int) -> tuple[Matrix, Matrix]:
    """The objective (n_subjects, n_psi) and the best weights (n_subjects, n_psi, n_weights).

    Parameters
    ----------
    profiles
        Of the subjects.
    psi
        Points (n_psi, n_shape), in lines of neighbours.
    n_last
        Points of such a line.
    """
    n, d = len(profiles.groups), profiles.n_weights
    values, theta = np.empty((n, len(psi))), np.empty((n, len(psi), d))
    everyone = np.arange(n)
    if profiles.prior is not None or profiles.n_options < 2:
        pairs = np.repeat(everyone, len(psi)), np.tile(psi, (n, 1))
        points = profiles.solve(*pairs, with_slopes=False, patient=False)
        return points.value.reshape(n, -1), points.theta.reshape(theta.shape)
    for who, some in _portions(profiles, len(psi)):
        subject = np.repeat(everyone[who], some.stop - some.start)
        at = np.tile(psi[some], (who.stop - who.start, 1))
        near = _neighbours(some.stop - some.start, n_last, who.stop - who.start)
        found = _solve(profiles, subject, at, near)
        values[who, some] = found[0].reshape(who.stop - who.start, -1)
        theta[who, some] = found[1].reshape(who.stop - who.start, -1, d)
    return values, theta


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
    profiles: Profiles, subject: IntVector, psi: Matrix, near: IntVector
) -> tuple[Vector, Matrix]:
    x, _ = profiles.variables(subject, psi, False)
    if not np.isfinite(x.sum()):
        profiles.check_finite(x, profiles.rows(subject))
    values, theta = profile_at(profiles, x, subject, near, NEAR)
    left = np.flatnonzero(np.isnan(values))
    if len(left):
        points = profiles.solve(subject[left], psi[left], with_slopes=False, patient=False)
        values[left], theta[left] = points.value, points.theta
    return values, theta


def profile_at(
    profiles: Profiles, x: Matrix, subject: IntVector, near: IntVector, enough: float
) -> tuple[Vector, Matrix]:
    """The objective and the best weights of pairs with variables x; NaN where it is not told."""
    values, theta = np.empty(len(subject)), np.empty((len(subject), profiles.n_weights))
    compiled.profile(
        np.ascontiguousarray(x),
        profiles.decisions,
        subject,
        near,
        enough,
        profiles.positive,
        variables_tuple(profiles.n_weights),
        values,
        theta,
    )
    return values, theta
