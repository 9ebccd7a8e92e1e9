"""Profile log-likelihood of one natural parameter as a curve, for plots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Vector
from penchant.argument_checks import check_level, check_one_of
from penchant.errors import DataError
from penchant.inference.model_estimate import model_source, profile_along
from penchant.json_records import JsonDocument
from penchant.models.model import natural_parameters
from penchant.models.parameters import Parameter
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import check_estimates

# Half widths of the interval drawn beyond it, so that the curve is seen to fall through its target.
CURVE_MARGIN = 0.5
# Distance kept from the ends of a share, relative to the estimate's: weights are infinite there.
SHARE_MARGIN = 1e-3
# Factor of the estimate drawn towards an open end: without one the axis would be endless.
OPEN_RATIO = 30.0


@dataclass(frozen=True)
class ProfileCurve(JsonDocument):
    """Profile of a natural parameter.

    Attributes
    ----------
    name
        Which parameter.
    values
        Values of the parameter, increasing; the estimate is one of them.
    log_likelihoods
        Log-likelihood (log-posterior, with a prior on the weights) at each, maximised over all
        other parameters.
    estimate, low, high
        The maximum, and the profile interval; infinite where the data set no bound.
    """

    name: str
    values: Vector
    log_likelihoods: Vector
    estimate: float
    low: float
    high: float


def profile_curve(
    estimate: Estimate, name: str, *, level: float = 0.95, n_points: int = 41
) -> ProfileCurve:
    """Profile log-likelihood around the estimate, from somewhat below the interval to above it.

    Parameters
    ----------
    estimate
        Of a fit whose episodes are at hand.
    name
        Which natural parameter.
    level
        Of the interval.
    n_points
        How many values.
    """
    check_level(level)
    check_estimates(estimate)
    source = model_source(estimate)
    natural = _natural_named(estimate, name)
    if n_points < 3:
        raise DataError("n_points", "must be at least 3", got=n_points, fix="41 is usual.")
    centre = natural.value(estimate.weights, estimate.psi)
    defined = estimate.status not in ("separated", "not identified") and np.isfinite(centre)
    if not defined or estimate.episodes is None:
        why = f"status {estimate.status!r}" if not defined else "an estimate without its episodes"
        raise DataError(
            "estimate", f"must have a profile of {name}", got=why, fix="Fit other data."
        )
    low, high = (float(end) for end in estimate.interval(level, "profile", name)[0])
    values = _curve_values(estimate, natural, centre, (low, high), n_points)
    upward, downward = values[values >= centre], values[values < centre][::-1]
    start = source.optimum.points.psi[0]
    below = profile_along(source.profiles(), natural, downward, start)[::-1]
    above = profile_along(source.profiles(), natural, upward, start)
    return ProfileCurve(name, values, np.array(below + above), centre, low, high)


def _natural_named(estimate: Estimate, name: str) -> Parameter:
    known = {natural.name: natural for natural in natural_parameters(estimate.model)}
    check_one_of(name, "name", known)
    return known[name]


def _curve_values(
    estimate: Estimate,
    natural: Parameter,
    centre: float,
    interval: tuple[float, float],
    n_points: int,
) -> Vector:
    """Values on both sides of the estimate, in equal ratios for a positive parameter."""
    positive = natural.is_positive
    low, high = interval
    if positive:
        below = low / centre if low > 0 else 1 / OPEN_RATIO
        above = high / centre if np.isfinite(high) else OPEN_RATIO
        first, last = centre * below ** (1 + CURVE_MARGIN), centre * above ** (1 + CURVE_MARGIN)
    else:
        halves = [half for half in (centre - low, high - centre) if np.isfinite(half)]
        usual = max(halves, default=abs(centre) or 1.0)
        first = centre - (1 + CURVE_MARGIN) * (centre - low if np.isfinite(low) else 2 * usual)
        last = centre + (1 + CURVE_MARGIN) * (high - centre if np.isfinite(high) else 2 * usual)
    start, end = natural.ends
    room = SHARE_MARGIN * min(centre - start, end - centre) if natural.is_share else 0.0
    first, last = max(first, start + room), min(last, end - room)
    space = np.geomspace if positive else np.linspace
    half = n_points // 2
    sides = [space(first, centre, half + 1)[:-1], space(centre, last, n_points - half)]
    return np.unique(np.concatenate([sides[0], [centre], sides[1][1:]]))
