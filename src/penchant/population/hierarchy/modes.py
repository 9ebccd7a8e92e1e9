"""Where each subject's posterior is highest, and how wide it is: damped Fisher scoring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.likelihoods import People

MOST_STEPS = 40
ENOUGH = 1e-6  # gain promised by a step
LONGEST = 2.0  # standard deviations of the population in one step
ON_GRID = {1: 11, 2: 6, 3: 4}  # points of each shape parameter to start from


class Modes(NamedTuple):
    """Highest places (n, p), their log-posteriors, informations of likelihood alone (n, p, p)."""

    h: Matrix
    value: Vector
    information: Matrix


def find_modes(
    people: People,
    which: IntVector,
    h: Matrix,
    mean: Matrix,
    precision: Matrix,
    free: IntVector,
    *,
    most_steps: int = MOST_STEPS,
    on_shape: bool = True,
) -> Modes:
    """The modes of log-likelihood plus log N(mean, precision^-1) in the free coordinates.

    Parameters
    ----------
    which, h
        Subjects, and where to begin: (n,), (n, p).
    mean, precision
        (n, r) and (n, r, r), of the free coordinates.
    free
        Which coordinates move; the others stay as they are.
    on_shape
        False where no shape parameter is free.
    """
    h = h.copy()
    n = len(which)
    first = people.derivatives(which, h[:, None, None], on_shape)
    gradient, information = first.gradient[:, 0, 0], first.information[:, 0, 0]
    value = first.value[:, 0, 0] + _prior(h[:, free], mean, precision)
    limit = LONGEST / np.sqrt(np.einsum("naa->na", precision))
    active, fraction = np.arange(n), np.ones(n)
    step = np.zeros((n, len(free)))
    fresh = np.ones(n, dtype=bool)
    for _ in range(most_steps):
        mine = active[fresh[active]]
        pull = np.einsum("nab,nb->na", precision[mine], h[mine][:, free] - mean[mine])
        slope = gradient[mine][:, free] - pull
        curvature = information[mine][:, free][:, :, free] + precision[mine]
        found = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        scale = np.maximum(np.abs(found / limit[mine]).max(axis=1, initial=0.0), 1.0)
        step[mine] = found / scale[:, None]
        promised = (found * slope).sum(axis=1)
        done = np.zeros(n, dtype=bool)
        done[mine] = promised < ENOUGH
        done |= fraction < 1e-4
        active = active[~done[active]]
        if not len(active):
            break
        trial = h[active]
        trial[:, free] += fraction[active, None] * step[active]
        tried = people.derivatives(which[active], trial[:, None, None], on_shape)
        new = tried.value[:, 0, 0] + _prior(trial[:, free], mean[active], precision[active])
        up = new > value[active]
        went = active[up]
        h[went], value[went] = trial[up], new[up]
        gradient[went] = tried.gradient[up, 0, 0]
        information[went] = tried.information[up, 0, 0]
        fresh[active] = up
        fraction[active] = np.where(up, 1.0, fraction[active] / 3)
    return Modes(h, value, information)


def starting_places(people: People) -> Matrix:
    """The best of a coarse grid over the shapes for every subject, with weights to match."""
    coordinates, (centre, sd) = people.coordinates, people.typical
    n, p, q = len(people.subjects), len(coordinates), coordinates.n_shape
    grid = shape_grid(coordinates)
    weights = np.arange(q, p)
    which = np.repeat(np.arange(n), len(grid))
    h = np.tile(centre, (len(which), 1))
    h[:, :q] = np.tile(grid, (n, 1))
    precision = np.broadcast_to(np.diag(1 / sd[q:] ** 2), (len(which), p - q, p - q))
    mean = np.broadcast_to(centre[q:], (len(which), p - q))
    found = find_modes(people, which, h, mean, precision, weights, most_steps=6, on_shape=False)
    value = found.value - 0.5 * (((h[:, :q] - centre[:q]) / sd[:q]) ** 2).sum(axis=1)
    best = value.reshape(n, len(grid)).argmax(axis=1)
    return np.asarray(found.h.reshape(n, len(grid), p)[np.arange(n), best])


def shape_grid(coordinates: Coordinates) -> Matrix:
    """Points over the ranges of the shape parameters: (n_points, q)."""
    q = coordinates.n_shape
    if not q:
        return np.zeros((1, 0))
    axes = []
    own = sum(c.link.name != "identity" for c in coordinates.each[:q])
    for c in coordinates.each[:q]:
        count = ON_GRID.get(own, 3)
        if c.link.name == "identity":  # a difference between conditions
            axes.append(np.zeros(1))
        elif c.link.name == "logit":
            axes.append(np.linspace(-4.0, 3.5, count))
        else:
            shape = coordinates.shape[c.natural.index]
            inside = np.linspace(*shape.search_range, count + 2)[1:-1]
            psi = np.asarray(shape.from_search(inside))
            axes.append(c.link.coordinate(c.natural.scale * psi**c.natural.power))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)


def _prior(h: Matrix, mean: Matrix, precision: Matrix) -> Vector:
    away = h - mean
    return np.asarray(-0.5 * np.einsum("na,nab,nb->n", away, precision, away))
