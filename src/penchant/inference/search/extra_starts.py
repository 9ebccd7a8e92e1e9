"""Additional starts of Newton's method where maxima are narrower than a cell of the grid.

Where a threshold is sharp, the profile over it has a step at every value that was offered, and a
maximum of its own may lie between any two of them. The model declares the values
(`Declared.steps`); the profile is evaluated at each of them and half-way between neighbours, for
every other point of the grid of the other shape parameters. Where two or more learning rates are
near 0, values follow their ratio, and a maximum is as narrow as the rates are small: the profile is
evaluated below the first step of the grid, too. Newton's method begins from the highest local
maxima of either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.inference.profile.profile_likelihood import SCREENING, ProfileProblems
from penchant.inference.search.grid_search import (
    ProfileGrids,
    best_cells,
    product_points,
    unconstrained_grid_steps,
)
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.projected_newton import newton_batch
from penchant.inference.small_learning_rates import rate_parameter_mask
from penchant.models.model import Declared


@dataclass(frozen=True, slots=True)
class ExtraStartOptions:
    """Placement of extra starts, and which are worth an iteration; heights in log-units."""

    # Steps of a profile looked at, at equal ranks: each is combined with a grid of the others.
    max_profile_jumps: int = 200
    n_starts: int = 8  # local maxima started from. Fewer: a higher one is missed; more: longer
    max_deficit: float = 6.0  # below the best value found: Newton steps rarely gain more than this
    # Most points at small rates lie on the slope of an optimum already found: be stricter there.
    max_deficit_small_rates: float = 2.0
    # Grid steps from 0: ridges of small rates are straight in a logarithm that the grid misses.
    small_rates: tuple[float, ...] = (0.01, 0.05, 0.25)
    # Only every fourth point of the other axes is combined with small rates, to bound the cost.
    coarsening: int = 4


EXTRA_STARTS = ExtraStartOptions()


def newton_from_profile_jumps(
    profiles: ProfileProblems, grids: ProfileGrids, subjects: IntVector, best: Optima
) -> None:
    """Start beside the steps that the model declares; `best` is improved in place."""
    declared = Declared(profiles.model).steps
    assert declared is not None
    for subject in subjects.tolist():
        found = [declared(episode) for episode in profiles.groups[subject]]
        for q, shape in enumerate(profiles.shape):
            values = [one[shape.name] for one in found if shape.name in one]
            if values:
                axis_values = _values_and_midpoints(
                    np.unique(np.concatenate(values)), shape.low, shape.high
                )
                _newton_from_values(profiles, grids, subject, q, axis_values, best)


def _values_and_midpoints(values: Vector, low: float, high: float) -> Vector:
    values = values[(values > low) & (values < high)]
    if len(values) > EXTRA_STARTS.max_profile_jumps:
        values = values[
            np.linspace(0, len(values) - 1, EXTRA_STARTS.max_profile_jumps).round().astype(int)
        ]
    ends = np.concatenate([[low], values, [high]])
    return np.unique(np.concatenate([values, (ends[1:] + ends[:-1]) / 2]))


def _newton_from_values(
    profiles: ProfileProblems,
    grids: ProfileGrids,
    subject: int,
    q: int,
    axis_values: Vector,
    best: Optima,
) -> None:
    axes = [shape.grid()[::2] for shape in profiles.shape]
    axes[q] = axis_values
    psi, subjects = product_points(axes), np.array([subject])
    start_theta = _weights_at_nearest_cells(profiles, grids, subject, psi)
    row, cell = _highest_local_maxima(
        profiles, subjects, axes, start_theta, EXTRA_STARTS.max_deficit, best
    )
    _newton_from_points(profiles, subjects[row], psi[cell], best)


def _highest_local_maxima(
    profiles: ProfileProblems,
    subjects: IntVector,
    axes: list[Vector],
    start_theta: Matrix | None,
    max_deficit: float,
    best: Optima,
) -> tuple[IntVector, IntVector]:
    """Highest local maxima over all combinations of values along axes: subjects' rows, points."""
    psi, n = product_points(axes), len(subjects)
    top = best.points.value[subjects]
    floor = np.repeat(top - EXTRA_STARTS.max_deficit, len(psi))
    pairs = np.repeat(subjects, len(psi)), np.tile(psi, (n, 1)), start_theta
    points = profiles.solve(*pairs, accuracy=replace(SCREENING, exact_above_height=floor))
    values = points.value.reshape(n, len(psi))
    cells, _ = best_cells(values, tuple(map(len, axes)), EXTRA_STARTS.n_starts)
    row, rank = np.nonzero(np.take_along_axis(values, cells, 1) > top[:, None] - max_deficit)
    return row, cells[row, rank]


def _newton_from_points(
    profiles: ProfileProblems, subjects: IntVector, psi: Matrix, best: Optima
) -> None:
    if len(subjects):
        newton = newton_batch(profiles, subjects, psi, finish=False)
        best.replace_by_highest(subjects, newton.optima(), np.arange(len(subjects)))


def _weights_at_nearest_cells(
    profiles: ProfileProblems, grids: ProfileGrids, subject: int, psi: Matrix
) -> Matrix:
    low = profiles.bounds[:, 0]
    rank = np.rint(
        (profiles.to_unconstrained(psi) - low) / unconstrained_grid_steps(profiles.shape)
    ).astype(int)
    rank = np.clip(rank, 0, np.array(grids.dimensions) - 1)
    return np.asarray(grids.theta[subject, np.ravel_multi_index(rank.T, grids.dimensions)])


def newton_from_small_rates(profiles: ProfileProblems, subjects: IntVector, best: Optima) -> None:
    """Start from rates below the first step of the grid; `best` is improved in place."""
    rates = rate_parameter_mask(profiles)
    steps = [shape.grid()[1] - shape.low for shape in profiles.shape]
    coarse = [shape.grid()[:: EXTRA_STARTS.coarsening] for shape in profiles.shape]
    axes = [
        np.concatenate([step * np.array(EXTRA_STARTS.small_rates), axis[1:]]) if rate else axis
        for rate, step, axis in zip(rates, steps, coarse, strict=True)
    ]
    psi, max_deficit = product_points(axes), EXTRA_STARTS.max_deficit_small_rates
    row, cell = _highest_local_maxima(profiles, subjects, axes, None, max_deficit, best)
    # Points without a small rate are on the grid itself, from which the search has started already.
    small = np.any(rates & (psi[cell] < steps), axis=1)
    _newton_from_points(profiles, subjects[row[small]], psi[cell[small]], best)
