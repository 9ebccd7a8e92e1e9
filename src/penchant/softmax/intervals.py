"""Intervals for single parameters: Wald, and by profile likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.softmax.constraints import (
    Constraints,
    InfeasibleError,
    maximise_within,
    null_basis,
)
from penchant.softmax.firth import maximise_firth
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Quadratic, Restricted, maximise

FURTHEST = 1e4  # objective differences beyond this are certainty for every purpose


def check_level(level: float) -> None:
    """A confidence level lies between 0 and 1."""
    if isinstance(level, bool) or not 0 < level < 1:
        hint = f" Did you mean {level / 100:g}?" if 1 < level < 100 else " Use 0.95, for example."
        raise DataError(f"level must lie between 0 and 1; got {level}.{hint}")


def wald_interval(theta: Vector, standard_errors: Vector, level: float) -> Matrix:
    """theta -+ z standard errors; NaN where there is no standard error."""
    check_level(level)
    z = stats.norm.isf((1 - level) / 2)
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
            inner = maximise(plane, quadratic, patient=True)
        else:
            inner, _ = maximise_within(plane, left, quadratic)
        return inner.value, origin + basis @ inner.theta


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
    drop = float(stats.chi2.isf(1 - level, 1)) / 2
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
    low, high = sorted((inside, outside))
    return float(optimize.brentq(height, low, high, xtol=1e-12 * unit, rtol=1e-14))


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
