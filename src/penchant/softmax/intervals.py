"""Intervals for single parameters: Wald, and by profile likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.choices import Choices
from penchant.softmax.constraints import Constraints, InfeasibleError, maximise_within, null_basis
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Quadratic, Restricted, maximise
from penchant.softmax.prior import maximise_firth
from penchant.tails import chi_square_point, normal_point

FURTHEST = 1e8  # objective differences beyond this are certainty for every purpose
PROFILE_STEPS = 3000  # parameters that run to infinity go one unit a step


def wald_interval(theta: Vector, standard_errors: Vector, level: float) -> Matrix:
    """theta -+ z standard errors; NaN where there is no standard error."""
    check_level(level)
    z = normal_point((1 - level) / 2)
    return np.column_stack([theta - z * standard_errors, theta + z * standard_errors])


@dataclass(frozen=True)
class Profile:
    """The objective maximised over all parameters but one.

    Parameters
    ----------
    choices, likelihood
        The data.
    quadratic
        Prior of a MAP estimate, or none.
    firth
        Profile the likelihood penalised after Firth.
    unidentified
        Directions of theta that change nothing; they are left out.
    scale
        Within-set root mean square of each variable.
    """

    choices: Choices
    likelihood: Likelihood
    quadratic: Quadratic
    firth: bool
    unidentified: Matrix
    scale: Vector
    constraints: Constraints | None = None

    def at(self, parameter: int, value: float, start: Vector) -> tuple[float, Vector]:
        """Maximum with theta[parameter] = value, and where it is."""
        d = self.likelihood.n_parameters
        origin = np.where(np.arange(d) == parameter, value, start)
        fixed = np.vstack([np.eye(d)[parameter], self.unidentified])
        basis = null_basis(fixed, d, self.scale)
        if self.firth:
            found = maximise_firth(self.choices, self.likelihood, origin, basis)
            return found.value, found.theta
        left = None if self.constraints is None else self.constraints.within(origin, basis)
        if not basis.shape[1]:
            moments = self.likelihood.moments(origin)
            return moments.log_likelihood + self.quadratic(origin), origin
        plane = Restricted(self.likelihood, origin, basis)
        quadratic = self.quadratic.within(origin, basis)
        if left is None:
            inner = maximise(plane, quadratic, max_steps=PROFILE_STEPS, patient=True)
        else:
            inner, _ = maximise_within(plane, left, quadratic)
        return inner.value, origin + basis @ inner.theta


@dataclass(frozen=True)
class LinearProfile:
    """Profile of theta = centre + factor phi in coordinates phi of unit information."""

    likelihood: Likelihood
    factor: Matrix
    centre: Vector

    def at(self, parameter: int, value: float) -> float:
        """Maximum with theta[parameter] = value."""
        row = self.factor[parameter]
        start = np.linalg.solve(self.factor, self.centre)
        origin = start + row * (value - self.centre[parameter]) / (row @ row)
        basis = null_basis(row[None], len(row))
        if not basis.shape[1]:
            return self.likelihood.moments(origin).log_likelihood
        plane = Restricted(self.likelihood, origin, basis)
        return maximise(plane, max_steps=PROFILE_STEPS, patient=True).value


def linear_interval(
    profile: LinearProfile, parameter: int, top: float, unit: float, level: float
) -> tuple[float, float]:
    """Profile interval in whitened coordinates."""
    drop = float(chi_square_point(1 - level, 1)) / 2
    centre = float(profile.centre[parameter])

    def height(value: float) -> float:
        return profile.at(parameter, value) - (top - drop)

    limit = abs(centre) + FURTHEST * unit
    return (
        _crossing(height, centre, -1.0, unit, limit),
        _crossing(height, centre, 1.0, unit, limit),
    )


def profile_interval(
    profile: Profile, parameter: int, top: float, theta: Vector, unit: float, level: float
) -> tuple[float, float]:
    """Values at which the profile is chi-square(level)/2 below its top; infinite where never.

    Parameters
    ----------
    top
        Maximum of the objective, or its supremum.
    theta
        Where the maximum is; theta[parameter] may be infinite.
    unit
        A step that matters: the standard error, or the reciprocal of the variable's scale.
    """
    check_level(level)
    drop = float(chi_square_point(1 - level, 1)) / 2
    start = np.where(np.isfinite(theta), theta, 0.0)
    centre = theta[parameter]
    limit = FURTHEST / max(float(profile.likelihood.largest[1][parameter]), 1e-300)
    seen = [start]

    def height(value: float) -> float:
        try:
            found, seen[0] = profile.at(parameter, value, seen[0])
        except InfeasibleError:  # no theta with this value satisfies the constraints
            return -1e6
        return found - (top - drop)

    return (
        _crossing(height, centre, -1.0, unit, limit),
        _crossing(height, centre, 1.0, unit, limit),
    )


def _crossing(
    height: Callable[[float], float], centre: float, side: float, unit: float, limit: float
) -> float:
    """Where a concave height falls through 0 on one side of its centre; infinite if nowhere."""
    if centre == side * np.inf:
        return side * np.inf
    inside = centre if np.isfinite(centre) else _inside(height, -side, unit, limit)
    if inside is None:
        return side * np.inf
    step = 2.0 * unit
    outside = inside + side * step
    while height(outside) > 0:
        inside = outside
        step *= 2
        outside = inside + side * step
        if abs(outside) > limit:
            return side * np.inf
    return falling_through(height, inside, outside, 1e-12 * unit)


def falling_through(
    height: Callable[[float], float], inside: float, outside: float, close: float
) -> float:
    """Root between inside (height positive) and outside (not), to about `close`.

    False position that halves the height of an end kept twice; heights are never asked for again,
    so that small inconsistencies of an inner maximum cannot lose the root.
    """
    height_in, height_out = height(inside), height(outside)
    if height_in <= 0:
        return inside
    kept = 0
    for _ in range(200):
        share = height_in / (height_in - height_out)
        middle = inside + (outside - inside) * min(max(share, 0.001), 0.999)
        found = height(middle)
        if abs(outside - inside) <= close + 1e-14 * abs(middle) or abs(found) < 1e-13:
            return float(middle)
        if found > 0:
            inside, height_in = middle, found
            height_out = height_out / 2 if kept == 1 else height_out
            kept = 1
        else:
            outside, height_out = middle, found
            height_in = height_in / 2 if kept == -1 else height_in
            kept = -1
    return float(middle)


def _inside(
    height: Callable[[float], float], towards: float, unit: float, limit: float
) -> float | None:
    """A finite value where the height is positive, on the way to its maximum at infinity."""
    value, step = 0.0, unit
    while height(value) <= 0:
        value += towards * step
        step *= 2
        if abs(value) > limit:
            return None
    return value
