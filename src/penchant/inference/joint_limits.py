"""Suprema approached where a shape parameter and the weights go to their ends together.

At every psi the weights may have a finite maximum, and yet there is none over both: where a
learning rate goes to 1, values of options whose last rewards were equal differ by less and less,
and the likelihood rises while the inverse temperature grows so that these small differences still
count. Choices between different last rewards become certain in the limit. The choices are
separated, jointly in the weights and psi; no linear program at a single psi can tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.climb import climb_together
from penchant.inference.search.peaks import Peaks
from penchant.softmax.solution import Solution

# Shares of a range at which profiles are compared: near enough for the supremum to show to 1e-4
# log-units, and not so near that differences between values drown in rounding.
DISTANCES = (1e-3, 1e-4, 1e-5, 1e-6)
CERTAIN = 30.0  # difference of objectives: what it leaves of a probability is below rounding
GROWTH = 3.0  # times that objectives grow from one distance to the next, ten times nearer
LEVEL = 1e-7  # log-units by which a profile that rises may seem to fall
BELOW = 1e-4  # log-units that the supremum may still lie above the last of the distances


def follow_to_ends(profiles: Profiles, peaks: Peaks, some: IntVector) -> tuple[Peaks, IntVector]:
    """Peaks, moved near the end of a shape parameter if the likelihood rises towards it for ever.

    Second, which shape parameter that is, -1 where there is none: (n,). Only some rows are asked,
    and only ends of linear ranges: those of logarithmic ones are where the search stops.
    """
    towards = np.full(len(peaks), -1)
    moved = False
    for q, shape in enumerate(profiles.shape):
        if shape.scale != "linear":
            continue
        for side in (0, 1):
            some = some[towards[some] < 0]
            rows, u = _rising(profiles, peaks, some, q, side)
            if not len(rows):
                continue
            if not moved:
                peaks, moved = peaks.take(np.arange(len(peaks))), True
            psi, subject = profiles.from_search(u), peaks.points.subject[rows]
            there = climb_together(profiles, subject, psi, max_steps=0, finish=False).peaks()
            peaks.improve(rows, there)
            peaks.converged[rows], towards[rows] = True, q
    return peaks, towards


def _rising(
    profiles: Profiles, peaks: Peaks, rows: IntVector, q: int, side: int
) -> tuple[IntVector, Matrix]:
    """Those whose profile and objectives grow towards an end of parameter q; a place near it."""
    if not len(rows):
        return rows, peaks.u[rows]
    end, width = profiles.bounds[q, side], np.ptp(profiles.bounds[q])
    m = len(DISTANCES)
    u = np.repeat(peaks.u[rows][:, None], m, axis=1)
    u[:, :, q] = end + (1 - 2 * side) * width * np.array(DISTANCES)
    subject = np.repeat(peaks.points.subject[rows], m)
    points = profiles.solve(subject, profiles.from_search(u.reshape(-1, u.shape[2])))
    value = points.value.reshape(-1, m)
    with np.errstate(invalid="ignore"):
        size = _objectives(points.theta, points.largest).reshape(-1, m)
        rises = (np.diff(value, axis=1) > -LEVEL).all(axis=1)
        rises &= value[:, -1] > peaks.points.value[rows] - BELOW
        rises &= (size[:, -1] > CERTAIN) & (size[:, 1:] > GROWTH * size[:, :-1]).all(axis=1)
    return rows[rises], u[rises, -1]


def _objectives(theta: Matrix, largest: Matrix) -> Vector:
    """About how far apart the objectives of two options are at most."""
    return np.asarray((np.abs(theta) * largest[:, 1]).max(axis=1, initial=0.0))


def without_maximum(
    found: Solution, choices: Choices, theta: Vector, log_likelihood: float
) -> Solution:
    """The solution where weights near the end of a shape parameter go on growing to infinity.

    `theta` are the weights there: those that make choices certain are infinite in the limit.
    """
    sizes = np.diff(choices.first_row)
    x = choices.explanatory - np.repeat(choices.explanatory[choices.chosen_row], sizes, 0)
    resolved = np.asarray(-(x @ theta) > CERTAIN)
    grows = _grown(np.abs(x), theta, resolved)
    direction = np.where(grows, theta, 0.0)
    nothing = np.full((len(theta), len(theta)), np.nan)
    return replace(
        found,
        theta=np.where(grows, np.copysign(np.inf, theta), theta),
        log_likelihood=log_likelihood,
        covariance=nothing,
        certainty=nothing,
        recession=direction / np.abs(direction).max(),
        resolved=resolved,
        near=None,
        condition=np.inf,
        certificate=None,
    )


def _grown(sizes: Matrix, theta: Vector, resolved: BoolVector) -> BoolVector:
    """Weights without which some choice would not be certain: as far as they move objectives."""
    return np.asarray((sizes[resolved] * np.abs(theta)).max(axis=0, initial=0.0) > CERTAIN)
