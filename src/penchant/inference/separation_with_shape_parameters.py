"""Separation in weights and a shape parameter jointly: suprema at an end of its range.

At every psi the weights may have a finite maximum, and yet there is none over both: where a
learning rate goes to 1, values of options whose last rewards were equal differ by less and less,
and the likelihood rises while the inverse temperature grows so that these small differences still
count. Choices between different last rewards become certain in the limit. The choices are
separated, jointly in the weights and psi; no linear program at a single psi detects that, so the
profile is compared at distances from the end that shrink tenfold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile.profile_likelihood import CERTIFIED, ProfileProblems
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.projected_newton import newton_batch
from penchant.softmax.maximum_and_covariance import Solution


@dataclass(frozen=True, slots=True)
class JointSeparationOptions:
    """When the likelihood counts as rising for ever towards an end; heights in log-units."""

    # Shares of the range at which profiles are compared: near enough for the supremum to show to
    # 1e-4 log-units, and not so near that differences between values drown in rounding.
    distances: tuple[float, ...] = (1e-3, 1e-4, 1e-5, 1e-6)
    # Difference of utilities at which a choice counts as certain: exp(-30) is below rounding of a
    # sum of log-likelihoods.
    certain_utility: float = 30.0
    # Growth of utilities per step, ten times nearer to the end: weights diverge at least as a root.
    min_growth: float = 3.0
    fall_tol: float = 1e-7  # a rising profile may seem to fall by this much, because of rounding
    # The supremum may be this much above the profile at the last distance, which is near it.
    supremum_tol: float = 1e-4


JOINT_SEPARATION = JointSeparationOptions()


def find_joint_separation(
    profiles: ProfileProblems, optima: Optima, rows_to_examine: IntVector
) -> tuple[Optima, IntVector]:
    """Move optima near the end of a shape parameter towards which the likelihood rises for ever.

    Second, the index of that shape parameter, or -1: (n,). Only `rows_to_examine` rows are
    examined, and only ends of linear ranges: a logarithmic range has no end, only a place where the
    search stops.
    """
    diverging_shape_index = np.full(len(optima), -1)
    moved = False
    for q, shape in enumerate(profiles.shape):
        if shape.scale != "linear":
            continue
        for side in (0, 1):
            rows_to_examine = rows_to_examine[diverging_shape_index[rows_to_examine] < 0]
            rows, u = _rows_rising_towards_end(profiles, optima, rows_to_examine, q, side)
            if not len(rows):
                continue
            if not moved:
                optima, moved = optima.take(np.arange(len(optima))), True
            psi, subject = profiles.from_unconstrained(u), optima.points.subject[rows]
            there = newton_batch(profiles, subject, psi, max_steps=0, finish=False).optima()
            optima.improve(rows, there)
            optima.converged[rows], diverging_shape_index[rows] = True, q
    return optima, diverging_shape_index


def _rows_rising_towards_end(
    profiles: ProfileProblems, optima: Optima, rows: IntVector, q: int, side: int
) -> tuple[IntVector, Matrix]:
    """Rows whose profile and utilities grow towards an end of parameter q, and u near that end."""
    if not len(rows):
        return rows, optima.unconstrained_psi[rows]
    end, width = profiles.bounds[q, side], np.ptp(profiles.bounds[q])
    m = len(JOINT_SEPARATION.distances)
    u = np.repeat(optima.unconstrained_psi[rows][:, None], m, axis=1)
    u[:, :, q] = end + (1 - 2 * side) * width * np.array(JOINT_SEPARATION.distances)
    points = profiles.solve_points(optima.points.subject[rows], u, None, CERTIFIED)
    value = points.value.reshape(-1, m)
    with np.errstate(invalid="ignore"):
        size = _utility_range(points.theta, points.largest).reshape(-1, m)
        rises = (np.diff(value, axis=1) > -JOINT_SEPARATION.fall_tol).all(axis=1)
        rises &= value[:, -1] > optima.points.value[rows] - JOINT_SEPARATION.supremum_tol
        rises &= (size[:, -1] > JOINT_SEPARATION.certain_utility) & (
            size[:, 1:] > JOINT_SEPARATION.min_growth * size[:, :-1]
        ).all(axis=1)
    return rows[rises], u[rises, -1]


def _utility_range(theta: Matrix, largest_attributes: Matrix) -> Vector:
    return np.asarray((np.abs(theta) * largest_attributes[:, 1]).max(axis=1, initial=0.0))


def separated_solution(
    found: Solution, choices: Choices, theta: Vector, log_likelihood: float
) -> Solution:
    """Solution with infinite weights near the end of a shape parameter.

    `theta` are the weights there: those that make choices certain are infinite in the limit.
    """
    sizes = np.diff(choices.first_row)
    x = choices.explanatory - np.repeat(choices.explanatory[choices.chosen_row], sizes, 0)
    resolved = np.asarray(-(x @ theta) > JOINT_SEPARATION.certain_utility)
    grows = _diverging_weights(np.abs(x), theta, resolved)
    direction = np.where(grows, theta, 0.0)
    nothing = np.full((len(theta), len(theta)), np.nan)
    return replace(
        found,
        theta=np.where(grows, np.copysign(np.inf, theta), theta),
        log_likelihood=log_likelihood,
        covariance=nothing,
        unblanked_covariance=nothing,
        recession=direction / np.abs(direction).max(),
        vanishing_options=resolved,
        near_separation_direction=None,
        condition=np.inf,
        certificate=None,
    )


def _diverging_weights(attribute_sizes: Matrix, theta: Vector, resolved: BoolVector) -> BoolVector:
    """Weights without which some choice would not be certain, by how far they move utilities."""
    return np.asarray(
        (attribute_sizes[resolved] * np.abs(theta)).max(axis=0, initial=0.0)
        > JOINT_SEPARATION.certain_utility
    )
