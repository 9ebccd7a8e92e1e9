"""Limits of models: ends of ranges that stand for 0, 1 or infinity, reached and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.peaks import Peak, Peaks
from penchant.models.model import Limit, Shape
from penchant.wording import either, profile_intervals

NEAR = 0.15  # share of a range within which a peak may belong to the limit at its end
ALIKE = 1e-5  # log-units by which a limit may be lower than a peak beside it to be the estimate


def settled_at_limits(profiles: Profiles, peaks: Peaks, lost: BoolVector) -> Peaks:
    """Peaks beside a limit that is as high are moved there: nothing tells them apart.

    Towards a limit profiles are flat, and a climb ends where steps gain nothing any more.
    """
    if not profiles.n_shape:
        return peaks
    width = np.ptp(profiles.bounds, axis=1)
    for q, shape in enumerate(profiles.shape):
        for upper in (False, True):
            if shape.limit(upper) is None:
                continue
            end = profiles.bounds[q, int(upper)]
            away = np.abs(peaks.u[:, q] - end)
            near = (away > 0) & (away < NEAR * width[q]) & ~lost & ~peaks.kinked
            _move(profiles, peaks, np.flatnonzero(near & peaks.converged), q, upper)
    return peaks


def _move(profiles: Profiles, peaks: Peaks, rows: IntVector, q: int, upper: bool) -> None:
    """Put those at the limit that lose nothing by it."""
    if not len(rows):
        return
    u = peaks.u[rows].copy()
    u[:, q] = profiles.bounds[q, int(upper)]
    points = profiles.solve(
        peaks.points.subject[rows],
        profiles.from_search(u),
        peaks.points.theta[rows],
        with_cross=True,
    )
    alike = points.value >= peaks.points.value[rows] - ALIKE
    peaks.points.put(rows[alike], points.take(alike))
    peaks.u[rows[alike]] = u[alike]
    peaks.at_bound[rows[alike], q] = True


def ends_reached(shape: Sequence[Shape], peak: Peak) -> Iterator[tuple[Shape, bool, Limit | None]]:
    """Shape parameters at an end of their range: which end, and what it stands for."""
    for q, one in enumerate(shape):
        if peak.at_bound[q]:
            upper = bool(peak.u[q] > np.mean(one.search_range))
            yield one, upper, one.limit(upper)


def at_limits(shape: Sequence[Shape], peak: Peak, psi: Vector) -> Vector:
    """Psi with the limits themselves, 0 or infinity, where their ends were reached."""
    found = psi.copy()
    for one, _, limit in ends_reached(shape, peak):
        q = list(shape).index(one)
        if limit is not None and np.isfinite(found[q]):
            found[q] = limit.value
    return found


def lost_there(shape: Sequence[Shape], peak: Peak) -> frozenset[str]:
    """Natural parameters that have no value of their own at the limits reached."""
    reached = (limit for _, _, limit in ends_reached(shape, peak) if limit is not None)
    return frozenset(name for limit in reached for name in limit.lost)


def at_bounds(profiles: Profiles, peak: Peak, held: Sequence[str]) -> str:
    """The sentence that says where the estimate lies, and what it means there."""
    reached = list(ends_reached(profiles.shape, peak))
    point = peak.point
    limits = [
        limit.words(s.name, float(point.psi[profiles.shape.index(s)]), point.theta)
        for s, _, limit in reached
        if limit is not None
    ]
    n_others = len(held) - len(limits)
    said = [f"The estimate lies at a limit of the model: {'; '.join(limits)}."] if limits else []
    if n_others:
        ends = [
            h for h in held if not any(h.startswith(f"{s.name} = ") for s, _, x in reached if x)
        ]
        said.append(
            f"The estimate lies at a bound ({', '.join(ends)}): the choices do not say how far "
            f"beyond. {profile_intervals()}, "
            + either(
                "widen the range, or hold it fixed.",
                "or hold it fixed (--settings, --length-scale).",
            )
        )
    else:
        said.append(f"Nothing lies beyond. {profile_intervals()}, or hold it fixed.")
    return " ".join(said)
